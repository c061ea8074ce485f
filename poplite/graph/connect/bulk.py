"""Connecting many vertices in one atomic call.

The tensors of one edge field become edges::

    a tensor             t.shape == (n, ...)         vertex k gets t[k]
    slices of a tensor   t.slices(array)             vertex k gets slice k; no tensor is created
    a list               [t0, t1, ...]               vertex k gets item k; for a list of edges, a
                                                     2-D tensor or a list of 1-D tensors
    lists of slices      SliceLists(slices, first)   vertex k gets a list of slices

Numbers and tiles are given as one for all vertices, or one per vertex::

    tile=0       tile=[0, 0, 1]
    k=7          k=[1, 2, 3]                            scalar State or Input
                 v=array of (3, 2)  v=[[1], [], [2, 3]]     State of a Vector

The rules for single vertices (`poplite.graph.connect.rules`) are checked for all at once::

    names, missing fields  ->  number of vertices  ->  tiles  ->  element types
    ->  field by field  ->  written elements  ->  constants for numbers  ->  a VertexBlock

When a rule is broken, the check of a single vertex is applied to the first faulty vertex, and
raises the error for it. A `Probe` represents the vertex that a message would name::

    probe.refuse([3, 7, 9], check)      check(3) raises for vertex 3; the message also names 7 and 9
    probe.check_each(check)             the same for all vertices that the rule refuses

Layers of a network cut their tensors in the same way: if views and slices differ only in the
variable, the earlier edges are moved and reused (`poplite.graph.compute_sets.edge_table`).

Source: Poplar user guide, "Connecting vertices".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NoReturn, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant, counting
from poplite.errors import SHOWN_FAULTS, GraphConnectionError, InvalidTileMapping, PopliteError
from poplite.expr.operand import as_read
from poplite.graph.compute_sets.compute_set import (
    ComputeSet,
    StateValues,
    Vectors,
    check_sizes,
    new_vertex,
)
from poplite.graph.compute_sets.edge_table import form_of_view, may_move, moved_edges
from poplite.graph.compute_sets.vertex_block import (
    Edges,
    VertexBlock,
    VertexTiles,
    edge_cuts,
    edges_of_views,
    listed_edges,
    of_slices,
    of_view,
    paired,
)
from poplite.graph.connect.connect import check_declared
from poplite.graph.connect.rules import (
    as_state,
    check_open,
    check_overlaps,
    check_tensor,
    deduced,
    takes_number,
)
from poplite.graph.host_values import element_array, scalar
from poplite.graph.space import Space, Variable, check_same_metadata, same_meaning
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileNumbers, no_such_tile
from poplite.graph.variables import add_metadata, add_number, add_numbers
from poplite.source import SourceLocation
from poplite.text import amount, clipped
from poplite.types import QuarterMetadata, metadata_edge, unmasked
from poplite.vertex.fields import PLAIN, Field
from poplite.vertex.vertex import RESERVED_NAMES, Vertex
from poplite.view import View, address_at, concat_slices, is_contiguous, runs, storages

Rule = Callable[[int], None]
"""A check of one vertex, by its position among those added, that raises its error."""


class Probe:
    """A representative of the vertices that are being added: the one that a message would name.

    Attributes:
        vertex: the representative; `move_to` changes its number.
        count: number of vertices, once known.
        tiles: their tiles, once known.
    """

    def __init__(
        self, compute_set: ComputeSet, vertex_class: type[Vertex], at: SourceLocation
    ) -> None:
        self.vertex = new_vertex(compute_set, vertex_class, at)
        self.graph, self._first = compute_set.graph, self.vertex.index
        self.count = 0
        self.tiles: VertexTiles | None = None

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.vertex.vertex_class.__name__

    @property
    def names(self) -> str:
        """The range of numbers of all vertices and their class."""
        return f"vertices {self._first} to {self._first + self.count - 1} of '{self.name}'"

    def move_to(self, k: int) -> None:
        """Make the probe represent vertex `k`."""
        self.vertex.index = self._first + k
        if self.tiles is not None and self.count:
            self.vertex.tile = self.tiles.at(k)

    def check_each(self, check: Rule) -> None:
        """Apply a rule to all vertices."""
        faulty = []
        for k in range(self.count):
            try:
                check(k)
            except PopliteError:
                faulty.append(k)
        self.refuse(faulty, check)

    def refuse(self, faulty: Sequence[int] | Int64, check: Rule) -> None:
        """Raise the rule's error for the first faulty vertex, if any; `faulty` is ascending."""
        if not len(faulty):
            return
        self.move_to(int(faulty[0]))
        try:
            check(int(faulty[0]))
        except PopliteError as error:
            self._raise(error, faulty)
        raise AssertionError(f"the rule for one vertex passes {self.vertex}")

    def _raise(self, error: PopliteError, faulty: Sequence[int] | Int64) -> NoReturn:
        others = [self._first + int(k) for k in faulty[1:SHOWN_FAULTS]]
        if not others:
            raise error
        more = len(faulty) - 1 - len(others)
        names = ", ".join(map(str, others)) + (f" and {more:,} more" if more else "")
        which = f"{'vertex' if len(faulty) == 2 else 'vertices'} {names} of '{self.name}'"
        raise type(error)(
            error.what,
            at=error.at,
            found=f"{error.found}\nthe same problem: {which}".lstrip("\n"),
            fix=error.fix,
        ) from None


NOBODY = np.zeros(0, np.int64)


def doubly_written(space: Space, written: Mapping[str, Edges], constants: Iterable[str]) -> Int64:
    """Return the ascending positions of vertices that write an element twice, or a constant.

    `constants` are the names of written fields that may contain constants.
    """
    filled = [edges for edges in written.values() if edges.num_elements]
    faulty = [_of_constants(space, written[name]) for name in constants]
    disjoint = all(_is_one_run(edges) or edges.surely_disjoint() for edges in filled)
    spans = [edges.envelope() for edges in filled]
    if not disjoint or any(a < d and c < b for (a, b), (c, d) in combinations(spans, 2)):
        faulty.append(_overlapping(filled))
    return np.unique(np.concatenate([NOBODY, *faulty]))


def _is_one_run(edges: Edges) -> bool:
    """Return whether every vertex has one edge of consecutive elements."""
    return edges.start is not None and edges.rows.only == 1


def _overlapping(filled: list[Edges]) -> Int64:
    """Return the vertices with two overlapping runs among fields that have elements."""
    columns = [_runs_by_vertex(edges) for edges in filled]
    vertex, begin, end = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((begin, vertex))
    vertex, begin, end = vertex[order], begin[order], end[order]
    # Sorted intervals overlap only if two neighbours do.
    meet = (vertex[1:] == vertex[:-1]) & (begin[1:] < end[:-1])
    return np.unique(vertex[1:][meet])


def _runs_by_vertex(edges: Edges) -> tuple[Int64, Int64, Int64]:
    runs = edges.runs()
    vertex = np.repeat(np.arange(edges.num_vertices), edges.rows.array())
    return vertex[runs.edge()], runs.begin, runs.begin + runs.size


def _of_constants(space: Space, edges: Edges) -> Int64:
    vertex, begin, _ = _runs_by_vertex(edges)
    is_constant = np.array([variable.constant for variable in space.variables])
    return np.unique(vertex[is_constant[space.owners(begin)]])


def metadata_of(space: Space, edges: Edges) -> tuple[Series | None, Int64]:
    """Return the address of a QUARTER field's metadata for each vertex, and the faulty vertices.

    The addresses are None if no edge has elements. A vertex is faulty if its elements have no
    metadata, or different metadata.
    """
    if not edges.num_elements:
        return None, NOBODY
    low, high = edges.envelope()
    vertex, owners = np.arange(edges.num_vertices), space.owners(np.array([low, high - 1]))
    if owners[0] != owners[1]:
        vertex, begin, _ = _runs_by_vertex(edges)
        owners = space.owners(begin)
    used, place = np.unique(owners, return_inverse=True)
    metadata = [space.variables[owner].metadata for owner in used.tolist()]
    kinds = [_first_equivalent(space, metadata, each) for each in metadata]
    of_run = np.array(kinds)[place if len(used) > 1 else 0]
    lowest = np.full(edges.num_vertices, len(kinds))
    highest = np.full(edges.num_vertices, -2)  # unchanged without elements
    np.minimum.at(lowest, vertex, of_run)
    np.maximum.at(highest, vertex, of_run)
    faulty = (highest != -2) & ((highest != lowest) | (lowest < 0))
    if faulty.any():
        return None, np.flatnonzero(faulty)
    addresses = [address_at(each, 0) for each in metadata if each is not None]
    return compact(np.array(addresses)[np.maximum(highest, 0)]), NOBODY


def _first_equivalent(space: Space, metadata: Sequence[View | None], one: View | None) -> int:
    """Return the position of the first equivalent metadata; -1 for none."""
    if one is None:
        return -1
    return next(k for k, other in enumerate(metadata) if same_meaning(space, other, one))


FieldValue = Tensor | Slices | SliceLists | Sequence[object]
"""The value of one field of many vertices; a list has tensors or lists of tensors."""

Array = npt.NDArray[Any]


def count_of(probe: Probe, field: Field, value: Any) -> int | None:
    """Return the number of vertices that a value is for; None if it fits any number."""
    if not field.is_edge:
        return _count_of_state(probe, field, value)
    value = as_read(value)
    if isinstance(value, Tensor):
        if value.rank != field.depth + 1:
            raise _misshapen(probe, field, f"'{value.name}' has shape {value.shape}", value.shape)
        return value.shape[0]
    if isinstance(value, Slices | SliceLists | list | tuple):
        return len(value)
    if isinstance(value, np.ndarray) and field.role == "input" and field.depth == 0:
        return _count_of_array(probe, field, value)
    if not takes_number(field, value):
        check_tensor(probe.vertex, field, value, field.depth)  # always raises
    return None


def _count_of_state(probe: Probe, field: Field, value: Any) -> int | None:
    what = f"{probe.vertex}: field '{field.name}'"
    if isinstance(value, Tensor | Slices | SliceLists):
        as_state(probe.vertex, field, value)  # always raises
    if field.depth and isinstance(value, list | tuple):
        if not all(np.ndim(item) == 1 for item in value):
            unmasked(value, what)
            raise _misshapen(probe, field, "the items of the list are not lists")
        return len(value)
    try:
        array = np.asarray(unmasked(value, what))
    except ValueError:  # lists of different lengths
        raise _misshapen(probe, field, f"{clipped(value)} is given") from None
    return _count_of_array(probe, field, array)


def _count_of_array(probe: Probe, field: Field, array: Array) -> int | None:
    if array.ndim == 0 and field.depth == 0:
        return None
    if array.ndim != field.depth + 1:
        raise _misshapen(probe, field, f"an array of shape {array.shape} is given", array.shape)
    return len(array)


def _misshapen(
    probe: Probe, field: Field, what: str, actual: tuple[int, ...] = ()
) -> GraphConnectionError:
    shape = ("(n,)", "(n, length)", "(n, rows, length)")[field.depth]
    of_state = f"an array of shape {shape}" + (", or a list of lists" if field.depth else "")
    return GraphConnectionError(
        f"{probe.name}: for n vertices, field '{field.name}' needs shape {shape}, but {what}",
        found=f"declared {field}",
        fix=_for_each_vertex(field, actual) if field.is_edge else of_state,
    )


def _for_each_vertex(field: Field, shape: tuple[int, ...]) -> str:
    """Return a suggestion for a tensor with one element, row or matrix per vertex."""
    depth = field.depth
    if math.prod(shape) == 1:
        part = ("one element", "a row", "a matrix")[depth]
        if field.writes:
            return f"pass a tensor with more elements: {part} for each vertex"
        broadcast = f"t.reshape({(1,) * (depth + 1)}).broadcast(n, 0)"
        return f"pass {part} for each vertex; repeat one for all with {broadcast}"
    if depth == 0:
        return "pass one element for each vertex, such as t.flatten()"
    if depth == 1 and len(shape) < 2:
        return "t.reshape((n, length)), or t.slices(intervals)"
    if len(shape) < 3:
        return "t.reshape((n, rows, length))"
    if depth == 1:
        return f"t.reshape({(shape[0], math.prod(shape[1:]))}), a row for each vertex"
    return f"t.reshape({(shape[0], math.prod(shape[1:-1]), shape[-1])}), a matrix for each vertex"


# Tensors


def tensors_of(value: FieldValue) -> Iterator[object]:
    """Yield the tensors that determine the element type; other items are yielded unchanged."""
    if isinstance(value, Tensor | Slices | SliceLists):
        yield tensor_of(value)
        return
    for item in value:
        if isinstance(item, Slices | list | tuple):
            yield from tensors_of(item)
        else:
            yield item


def item_of(value: FieldValue, k: int) -> object:
    """Return the value for vertex `k`: a tensor, or a tuple of the rows of a list."""
    item = value[k]
    return tuple(item) if isinstance(item, Slices | list | tuple) else item


def tensor_of(value: Tensor | Slices | SliceLists) -> Tensor:
    """Return the tensor whose parts the vertices get."""
    if isinstance(value, Tensor):
        return value
    return (value.slices if isinstance(value, SliceLists) else value).tensor


def has_constants(value: Tensor | Slices | SliceLists) -> bool:
    """Return whether elements may belong to constants."""
    return any(storage.constant for storage in storages(tensor_of(value).view))


def edges_of(value: FieldValue, field: Field) -> Edges:
    """Return the edges of a field whose tensors have been checked.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (8,))
    >>> from poplite.vertex.fields import Field
    >>> edges_of(t.slices([(0, 2), (2, 6)]), Field("x", "input", pl.FLOAT, 1)).length.array()
    array([2, 4])
    """
    edges: Edges | None = None
    if isinstance(value, Tensor):
        edges = of_view(value.view, field.depth)
    elif isinstance(value, Slices | SliceLists):
        lists = value.first if isinstance(value, SliceLists) else None
        slices = value.slices if isinstance(value, SliceLists) else value
        tensor = slices.tensor
        found = edges_of_slices(tensor.graph, tensor.view, slices, lists, field.depth)
        if found is not None:
            return found
    if edges is None:
        edges = _of_list(list(value), field.depth)
    return paired(edges) if field.depth == 2 else edges


def _of_list(items: Sequence[object], depth: int) -> Edges:
    views: list[View] = []
    counts: list[int] = []
    for item in items:
        before = len(views)
        if not isinstance(item, Tensor):
            assert isinstance(item, Slices | list | tuple)
            views += [row.view for row in item if isinstance(row, Tensor)]
        elif depth == 2:
            views += [item.view.index(row) for row in range(item.shape[0])]
        else:
            views.append(item.view)
        counts.append(len(views) - before)
    return edges_of_views(views, compact(np.array(counts, np.int64)))


# Numbers and tiles


def is_numbers(field: Field, value: Any) -> bool:
    """Return whether the value of an edge field consists of plain numbers for a scalar Input."""
    if isinstance(value, list | tuple):
        return bool(value) and all(takes_number(field, item) for item in value)
    return isinstance(value, np.ndarray) or takes_number(field, value)


def numbers_of(probe: Probe, field: Field, value: Any) -> Any:
    """Return one number for all vertices, or an array with one for each, in the field's type."""
    what = f"{probe.vertex}: field '{field.name}'"
    if np.ndim(value):
        return _stored(probe, field, np.asarray(unmasked(value, what)))
    return scalar(field.element, value, what=what)


def state_of(probe: Probe, field: Field, value: Any) -> StateValues:
    """Return the values of a state field in the form in which a block stores them."""
    if field.depth == 0:
        numbers: StateValues = numbers_of(probe, field, value)
        return numbers
    if isinstance(value, np.ndarray):
        stored = _stored(probe, field, value)
        return Vectors(stored.reshape(-1), constant(value.shape[1], probe.count))
    vectors: list[Array] = []

    def check(k: int) -> None:
        vectors.append(np.asarray(as_state(probe.vertex, field, value[k])))

    probe.check_each(check)
    lengths = compact(np.array([len(vector) for vector in vectors], np.int64))
    joined = np.concatenate([np.empty(0, field.element.dtype), *vectors])
    joined.flags.writeable = False
    return Vectors(joined, lengths)


def _stored(probe: Probe, field: Field, array: Array) -> Array:
    """Return an array as elements of the field's type."""

    def check(k: int) -> None:
        what = f"{probe.vertex}: field '{field.name}'"
        element_array(field.element, array[k] if array.ndim else array[()], what=what)

    try:
        stored = element_array(field.element, array, what=field.name)
    except PopliteError:
        probe.check_each(check)
        raise
    stored.flags.writeable = False
    return stored


def listed_tiles(probe: Probe, tile: object) -> object:
    """Return the user's `tile`, with a list converted to an array."""
    try:
        given = unmasked(tile, f"{probe.name}: tile")
        return np.asarray(given) if isinstance(given, list | tuple) else given
    except ValueError:
        raise InvalidTileMapping(
            f"{probe.name}: tile is {clipped(tile, 60)}, lists of different lengths",
            found="tiles are whole numbers",
            fix="pass one tile for all, or an integer array with one tile for each vertex",
        ) from None


def tiles_of(probe: Probe, numbers: TileNumbers, tile: object) -> VertexTiles:
    """Return the tiles of all vertices, as top-level numbers."""
    num_tiles, all_tiles = numbers.num_tiles, probe.graph.space.num_tiles
    if tile is None:
        raise InvalidTileMapping(
            f"{probe.name}: add_vertices needs tile=",
            found="the tiles of vertices added together cannot be set later",
            fix="pass tile=0, or an array with one tile for each vertex",
        )
    if np.ndim(tile) == 0:  # type: ignore[arg-type]
        number = numbers.checked(tile, probe.names)
        return VertexTiles.constant(number, probe.count, all_tiles)
    tiles = np.asarray(tile)
    if tiles.ndim != 1 or (tiles.dtype.kind not in "iu" and len(tiles)):
        raise InvalidTileMapping(
            f"{probe.name}: tile is an array of shape {tiles.shape} of {tiles.dtype}",
            found=f"{amount(probe.count, 'vertex', 'vertices')}; tiles are whole numbers",
            fix="pass one tile for all, or an integer array with one tile for each vertex",
        )

    def check(k: int) -> None:
        raise no_such_tile(probe.vertex.label, int(tiles[k]), num_tiles)

    probe.refuse(np.flatnonzero((tiles < 0) | (tiles >= num_tiles)), check)
    return VertexTiles.of(numbers.to_top_level(tiles), all_tiles)


# -- edges of slices -------------------------------------------------------------------------------


MOST_SLICES = 1 << 14
"""Maximum number of slices whose edges are cached: few tensors have more."""

MOST_KNOWN = 256
"""Maximum number of edges that are cached per graph."""

_known: WeakKeyDictionary[object, dict[Hashable, tuple[Edges, int]]] = WeakKeyDictionary()
"""By graph: edges, and the address at which their variable begins."""


class SliceCuts(Protocol):
    """The intervals of `poplite.graph.tensor.tensor.Slices`."""

    begin: Int64
    end: Int64
    dim: int
    first: Int64 | None

    def __len__(self) -> int: ...

    def sizes(self) -> Int64:
        """Return the sizes of the slices."""


def edges_of_slices(
    graph: object, view: View, cuts: SliceCuts, lists: Int64 | None, depth: int
) -> Edges | None:
    """Return the edges of slices of a tensor; None if that requires a tensor for each slice.

    `lists` are the positions of the first slice of each list, if vertices get lists of slices.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (8,)) for _ in "xy")
    >>> slices = x.slices([(0, 2), (2, 6), (1, 2)])
    >>> one, other = (edges_of_slices(graph, t.view, slices, None, 1) for t in (x, y))
    >>> other.start.array() - one.start.array(), other.length is one.length
    (array([9, 9, 9]), True)
    """
    below = storages(view)
    if len(below) != 1 or len(cuts.begin) > MOST_SLICES:
        return made_edges(view, cuts, lists, depth)
    (storage,) = below
    known = _known.setdefault(graph, {})
    arrays = cuts.begin, cuts.end, cuts.first, lists
    bits = [None if each is None else each.tobytes() for each in arrays]
    key = depth, cuts.dim, form_of_view(view), *bits
    if key in known:
        edges, base = known[key]
        return moved_edges(edges, storage.base - base, storage)
    made = made_edges(view, cuts, lists, depth)
    if made is not None and may_move(made):
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = made, storage.base
    return made


def made_edges(view: View, cuts: SliceCuts, lists: Int64 | None, depth: int) -> Edges | None:
    """Return the edges, computed without reusing earlier ones."""
    made = _of_slices(view, cuts, depth) if lists is None else _of_lists(view, cuts, lists)
    return paired(made) if made is not None and depth == 2 else made


def _of_slices(view: View, cuts: SliceCuts, depth: int) -> Edges | None:
    """Return the edges of slices without creating a tensor for each; None if impossible."""
    if cuts.dim or len(view.shape) != max(depth, 1):
        return None
    if cuts.first is None:
        edges = of_slices(view, cuts.begin, cuts.end, depth)
        if edges is not None:
            return edges
    sizes = compact(cuts.sizes())
    joined = concat_slices(view, cuts.begin, cuts.end, 0, 0)
    flat = joined.reshape((joined.num_elements,))
    if depth < 2:
        return _of_flat(flat, sizes, constant(1, len(cuts)))
    return _of_flat(flat, constant(view.shape[1], sizes.total()), sizes)


def _of_lists(view: View, cuts: SliceCuts, lists: Int64) -> Edges:
    rows = compact(np.diff(lists))
    edges = of_slices(view, cuts.begin, cuts.end, 1)
    if edges is not None:
        return Edges(rows, edges.length, edges.start)
    joined = concat_slices(view, cuts.begin, cuts.end, 0, 0)
    return _of_flat(joined.reshape((joined.num_elements,)), compact(cuts.sizes()), rows)


def _of_flat(flat: View, length: Series, rows: Series) -> Edges:
    """Return edges whose elements are consecutive in a view."""
    apart = Edges(rows, length, None, flat)
    # Edges usually resemble each other: if the first shows that elements are not consecutive, no
    # runs are listed; nor are runs cut at the edges if there are more runs than edges.
    first = int(length.array()[0]) if length.count else 0
    if not is_contiguous(flat.slice(0, first, 0)):
        return apart
    begin, count = runs(flat)
    if len(begin) > length.count:
        return apart
    found = edge_cuts(begin, count, length)
    return apart if (np.diff(found.first) > 1).any() else listed_edges(found.begin, length, rows)


# -- the call --------------------------------------------------------------------------------------


Values = Mapping[str, Any]
"""The user's values, by field name."""


def block_of(
    tiles: TileNumbers,
    compute_set: ComputeSet,
    vertex_class: type[Vertex],
    tile: object,
    values: Values,
    at: SourceLocation,
) -> VertexBlock:
    """Return vertices with all their fields connected, not yet added to the compute set."""
    probe = Probe(compute_set, vertex_class, at)
    tile = listed_tiles(probe, tile)
    first = tile.flat[0] if isinstance(tile, np.ndarray) and tile.size else tile
    if isinstance(first, int | np.integer) and 0 <= first < tiles.num_tiles:
        # Before all tiles are checked, for messages about other faults.
        probe.vertex.tile = tiles.checked(first, probe.name)
    _check_complete(probe, values)
    probe.count = _common_count(probe, tile, values)
    placed = tiles_of(probe, tiles, tile)
    probe.tiles = placed
    probe.move_to(0)
    fields = _typed_fields(probe, values)
    edges: dict[str, Edges] = {}
    state: dict[str, StateValues] = dict(probe.vertex.state)
    numbers: dict[str, Any] = {}
    for name, value in values.items():
        field = fields[name]
        if not field.is_edge:
            state[name] = values_ = state_of(probe, field, value)
            if field.layout is not PLAIN and isinstance(values_, Vectors):
                _check_lengths(probe, field, values_.length, value)
        elif is_numbers(field, value):
            numbers[name] = numbers_of(probe, field, value)
        else:
            _check_items(probe, field, value)
            edges[name] = edges_of(value, field)
            if field.layout is not PLAIN:
                _check_lengths(probe, field, edges[name].length, value, edges[name].rows)
    _check_written(probe, values, edges)
    metadata = {
        name: _metadata(probe, name, values[name], each)
        for name, each in edges.items()
        if fields[name].element.requires_metadata
    }
    # Nothing is refused from here on, so that a failed call creates no constants.
    constants: list[Tensor] = []
    for name, number in numbers.items():
        variable = _constant(probe, fields[name], number, placed)
        constants.append(Tensor(probe.graph, variable.element_type, variable.view))
        of_each = isinstance(number, np.ndarray)
        edges[name] = _edges_to(variable, placed, of_each=of_each)
    for name, addresses in metadata.items():
        if addresses is None:  # no elements, so any metadata is suitable
            variable = add_metadata(
                probe.graph.space,
                f"{probe.vertex.vertex_class.__name__} {probe.vertex.index}/{name}",
                _ANY,
                0,
            )
            edges[metadata_edge(name)] = _edges_to(variable, placed, of_each=False)
        else:
            edges[metadata_edge(name)] = _one_each(addresses)
    in_order = {name: edges[name] for name in fields if name in edges}
    cls = probe.vertex.vertex_class
    return VertexBlock(compute_set, cls, placed, in_order, state, constants, at)


_ANY = QuarterMetadata("F143")


# -- fields, number of vertices, class -------------------------------------------------------------


def _check_complete(probe: Probe, values: Values) -> None:
    """Refuse names that are not fields, and missing fields."""
    for name, value in values.items():
        field = check_declared(probe.vertex, name)
        if name in RESERVED_NAMES:
            as_state(probe.vertex, field, value)  # always raises
    for name, field in probe.vertex.vertex_class.fields.items():
        if name in values or name in RESERVED_NAMES or field.is_implicit:
            continue
        raise GraphConnectionError(
            f"{probe.name}: field '{name}' is missing, but add_vertices needs all fields",
            found=f"declared {field}; given: {', '.join(values) or 'none'}",
            fix=f"add_vertices(cs, {probe.name}, tile=..., {name}=...)",
        )


def _common_count(probe: Probe, tile: object, values: Values) -> int:
    """Return the number of vertices that all values are for."""
    counts: dict[str, int] = {}
    if tile is not None and np.ndim(tile) == 1:  # type: ignore[arg-type]
        counts["tile"] = len(tile)  # type: ignore[arg-type]
    for name, field in probe.vertex.vertex_class.fields.items():
        count = count_of(probe, field, values[name]) if name in values else None
        if count is not None:
            counts[name] = count
    if not counts:
        raise GraphConnectionError(
            f"{probe.name}: the number of vertices to add is not known",
            found="tile and the values of all fields are single numbers",
            fix="pass tile=np.full(n, tile) for n vertices",
        )
    (one, first), *others = counts.items()
    for other, count in others:
        if count != first:
            raise GraphConnectionError(
                f"{probe.name}: '{one}' is for {amount(first, 'vertex', 'vertices')}, "
                f"but '{other}' for {count:,}",
                found="vertices: " + ", ".join(f"{k} {n:,}" for k, n in counts.items()),
                fix="pass as many tensors, rows or numbers for every field as there are vertices",
            )
    return first


def _typed_fields(probe: Probe, values: Values) -> Mapping[str, Field]:
    """Deduce the element types of a template, and return its fields."""
    vertex = probe.vertex
    if vertex.template is not None:
        shown = {
            name: list(tensors_of(value))
            for name, value in values.items()
            if isinstance(value, Tensor | Slices | SliceLists | list | tuple)
        }
        vertex.vertex_class = deduced(vertex, shown)
        if vertex.vertex_class.type_variables:
            check_open(vertex, values)
    return vertex.vertex_class.fields


# -- rules -----------------------------------------------------------------------------------------


def _check_items(probe: Probe, field: Field, value: FieldValue) -> None:
    """Refuse tensors with the wrong graph, element type or rank."""

    def check(k: int) -> None:
        _check_item(probe, field, value, k)

    if not isinstance(value, Tensor | Slices | SliceLists):
        probe.check_each(check)
        return
    tensor = tensor_of(value)
    if tensor.graph is not probe.graph or tensor.element_type is not field.element:
        probe.refuse(range(probe.count), check)
    elif isinstance(value, Slices) and field.depth == 0:
        others = tensor.num_elements // max(tensor.shape[value.dim], 1)
        probe.refuse(np.flatnonzero(value.sizes() * others != 1), check)
    elif isinstance(value, Slices | SliceLists):
        is_listed = isinstance(value, SliceLists)
        if (tensor.rank, field.depth) != ((1, 2) if is_listed else (field.depth, field.depth)):
            probe.refuse(range(probe.count), check)


def _check_item(probe: Probe, field: Field, value: FieldValue, k: int) -> None:
    item = item_of(value, k)
    if field.depth == 2 and isinstance(item, tuple):
        for row in item:
            check_tensor(probe.vertex, field, row, 1)
    else:
        check_tensor(probe.vertex, field, item, field.depth)


def _check_lengths(
    probe: Probe, field: Field, length: Series, value: Any, rows: Series | None = None
) -> None:
    """Refuse vectors longer than the layout of a field can count."""
    if not length.count or length.high <= field.layout.limit:
        return
    owner = np.arange(probe.count)
    if rows is not None:
        owner = np.repeat(owner, rows.array())

    def check(k: int) -> None:
        check_sizes(probe.vertex, field, item_of(value, k))

    probe.refuse(np.unique(owner[length.array() > field.layout.limit]), check)


def _check_written(probe: Probe, values: Values, edges: Mapping[str, Edges]) -> None:
    """Refuse constants, and elements that one vertex writes twice."""
    fields = probe.vertex.vertex_class.fields
    written = {name: each for name, each in edges.items() if fields[name].writes}
    constants = [
        name
        for name in written
        if isinstance(values[name], Tensor | Slices | SliceLists) and has_constants(values[name])
    ]

    def check(k: int) -> None:
        for name in written:
            _check_item(probe, fields[name], values[name], k)
        connections: dict[str, Any] = {name: item_of(values[name], k) for name in written}
        check_overlaps(probe.vertex, connections)

    probe.refuse(doubly_written(probe.graph.space, written, constants), check)


def _metadata(probe: Probe, name: str, value: FieldValue, edges: Edges) -> Series | None:
    """Return the addresses of the metadata of a QUARTER field; None if any is suitable."""
    addresses, faulty = metadata_of(probe.graph.space, edges)

    def check(k: int) -> None:
        item = item_of(value, k)
        rows = item if isinstance(item, tuple) else (item,)
        views = [row.view for row in rows if isinstance(row, Tensor)]
        check_same_metadata(f"{probe.vertex}: field '{name}'", probe.graph.space, *views)

    probe.refuse(faulty, check)
    return addresses


# -- constants for numbers -------------------------------------------------------------------------


def _constant(probe: Probe, field: Field, number: Any, tiles: VertexTiles) -> Variable:
    """Create the constant for a number: an element per vertex, or per tile for equal numbers."""
    space, at = probe.graph.space, probe.vertex.location
    if isinstance(number, np.ndarray):
        return add_numbers(space, field.element, number, *tiles.runs(), at)
    used = tiles.used()
    if len(used) == 1:
        return add_number(space, field.element, number, int(used[0]), at)
    values = np.full(len(used), number, field.element.dtype)
    begin = np.arange(len(used))
    return add_numbers(space, field.element, values, begin, begin + 1, used, at)


def _edges_to(numbers: Variable, tiles: VertexTiles, *, of_each: bool) -> Edges:
    """Return the edges of each vertex to its own number, or to the number of its tile."""
    first = numbers.storage.base
    if of_each:
        return _one_each(counting(first, tiles.count))
    if numbers.num_elements == 1:
        return _one_each(constant(first, tiles.count))
    place = np.zeros(tiles.num_tiles, np.int64)
    used = tiles.used()
    place[used] = np.arange(first, first + len(used))
    return _one_each(compact(place[tiles.array()]))


def _one_each(addresses: Series) -> Edges:
    one = constant(1, addresses.count)
    return Edges(one, one, addresses)
