"""The edges of compute sets as tables: the elements that their vertices access.

Vertices of one class form *families*: each block is a family, and all single vertices of the class
form another. The edges of each field of a family are arrays
(`poplite.graph.compute_sets.vertex_block`), so that a regular block costs the same at any size::

    family   vertices    field   start              length
    Add      0 ... 99    x       0, 16, 32 ...      16
                         y       1601, 1617 ...     16
    Sum      100, 101    x       1601, 1701         (1601, 100) (1701, 50) (1800, 50): a gather

Both the checks and the lowering start from this table.

Edges that overlap written elements are found by sorting and sweeping. Fields are first compared by
their address ranges: runs are not listed for a field whose range is disjoint from all written
ranges, nor for a regular field that cannot overlap itself::

    x  reads  [0, 1000)      ---------
    y  writes [1001, 2001)              ---------        disjoint: nothing to do
    z  writes [3000, 3900)                          -----
    z  reads  [3100, 3200)                           --  listed, sorted, swept

Listed runs are sorted by address. Written runs overlap only if two neighbours do; once they are
known to be disjoint, one pass over reads and writes finds the reads that overlap a write. Vertices
are looked up only for those runs.

Compute sets that differ only in their variables, such as the layers of a network or the steps of a
solver, share one *form*::

    Add(x=a[0:64], out=b[0:64])    form   Add(x=0[0:64], out=1[0:64])    variables a, b
    Add(x=c[0:64], out=d[0:64])           the same                                 c, d

A form numbers its variables by address and keeps only the size of each and the tiles of its
elements. The overlapping edges, the moves between tiles, and the elements gathered there are the
same for all compute sets of a form, and are found once.

The same is true for edges of single variables: those of another variable differ only in where
they start::

    x[0:4], x[4:8], x[8:12]     of variable x, at 0          start 0, step 4      length 4
    y[0:4], y[4:8], y[8:12]     of variable y, at 1001       start 1001, step 4   length 4
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Mask, repeated, sorted_with_order
from poplite.arrays.series import NARROW, Listed, Series, Steps, compact, constant, counting
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, StateValues, Vectors, VertexInstance
from poplite.graph.compute_sets.vertex_block import (
    EdgeRuns,
    Edges,
    VertexBlock,
    VertexTiles,
    edge_cuts,
    edges_of_rows,
    edges_of_views,
    listed_edges,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.build import run_kernel
from poplite.jit.kernels_intervals import OWN, foreign_writes, meet_writes
from poplite.view import Cat, Storage, View, runs_of_many, storages
from poplite.view.concatenation import SlicedViews
from poplite.view.concatenation_leaves import MOST_RUNS

if TYPE_CHECKING:
    from poplite.graph.space import Space
    from poplite.vertex.fields import Field
    from poplite.vertex.vertex import Vertex


class FieldEdges:
    """The edges of one field of a family.

    Attributes:
        numbers: position of each vertex in the compute set.
        position: position of the field in the vertex class.
    """

    numbers: Series
    position: int
    field: Field
    edges: Edges

    def __init__(self, numbers: Series, position: int, field: Field, edges: Edges) -> None:
        self.numbers, self.position, self.field, self.edges = numbers, position, field, edges

    @cached_property
    def runs(self) -> EdgeRuns:
        """The runs of all edges; computed on first access."""
        return self.edges.runs()

    @cached_property
    def envelope(self) -> tuple[int, int]:
        """An interval of addresses that contains all elements, one or more."""
        spread = self.edges.spread()
        if spread is not None:
            return spread
        _, begin, size = self.runs
        return int(begin.min()), int((begin + size).max())

    def vertex(self) -> Int64:
        """Return int64[edges], the position of each edge's vertex in the compute set."""
        vertex = self.numbers.array()
        return vertex if self.edges.rows.only == 1 else np.repeat(vertex, self.edges.rows.array())

    def row(self) -> Int64:
        """Return int64[edges], the row of each edge in its list."""
        return repeated(self.edges.rows.array())[1]


@frozen(eq=False)
class Family:
    """Vertices of one class with a common description.

    Attributes:
        cls: their class.
        vertices: the vertices; a block creates each on access.
        numbers: position of each vertex in the compute set.
        fields: the edges of each edge field.
        state: the values of each state field, by name.
    """

    cls: type[Vertex]
    vertices: Sequence[VertexInstance]
    numbers: Series
    fields: tuple[FieldEdges, ...]
    state: Mapping[str, StateValues]

    def tiles(self, num_tiles: int) -> VertexTiles:
        """Return the tile of each vertex; all must have one."""
        vertices = self.vertices
        if isinstance(vertices, VertexBlock):
            return vertices.tiles
        if len(vertices) == 1:
            kind = np.min_scalar_type(num_tiles - 1)
            return VertexTiles(num_tiles, None, np.array([vertices[0].tile], kind))
        return VertexTiles.of(np.array([vertex.tile for vertex in vertices], np.int64), num_tiles)


class EdgeTable:
    """The edges of a compute set, by family: single vertices by class, then blocks.

    Attributes:
        families: the families.
        alike: the table of a compute set that differs only in its variables
            (`poplite.graph.compute_sets.edge_table`), or None.
    """

    def __init__(self, families: Sequence[Family]) -> None:
        self.families: tuple[Family, ...] = tuple(families)
        self.alike: EdgeTable | None = None

    @cached_property
    def fields(self) -> tuple[FieldEdges, ...]:
        """The edges of every field that is connected to at least one element."""
        parts = chain.from_iterable(family.fields for family in self.families)
        return tuple([part for part in parts if part.edges.num_elements])

    @cached_property
    def num_elements(self) -> int:
        """Number of connected elements, including repetitions."""
        return sum([part.edges.num_elements for part in self.fields])

    @cached_property
    def crossings(self) -> Crossings:
        """Overlapping edges of the compute set; computed on first access."""
        theirs = None if self.alike is None else self.alike.crossings
        if self.alike is not None and theirs is not None and theirs.are_harmless:
            return theirs.of_fields(dict(zip(self.alike.fields, self.fields, strict=True)))
        return find_crossings(self.fields)


def edge_table(compute_set: ComputeSet) -> EdgeTable:
    """Collect the edges of a compute set whose fields are all connected."""
    by_class: dict[type[Vertex], list[VertexInstance]] = {}
    for vertex in compute_set.vertices.singles():
        by_class.setdefault(vertex.vertex_class, []).append(vertex)
    families = [_family_of_singles(cls, vertices) for cls, vertices in by_class.items()]
    families += [_family_of_block(block) for block in compute_set.vertices.blocks() if len(block)]
    return EdgeTable(families)


def _family_of_block(block: VertexBlock) -> Family:
    numbers = counting(block.first, len(block))
    return _family(block.vertex_class, block, numbers, block.edges, block.state)


def _family_of_singles(cls: type[Vertex], vertices: Sequence[VertexInstance]) -> Family:
    numbers = compact(np.array([vertex.index for vertex in vertices], np.int64))
    edges: dict[str, Edges] = {}
    state: dict[str, StateValues] = {}
    for name, field in cls.fields.items():
        if field.is_edge:
            edges[name] = _edges(field, [vertex.connections[name] for vertex in vertices])
        else:
            state[name] = _state(field, [vertex.state[name] for vertex in vertices])
    return _family(cls, vertices, numbers, edges, state)


def _family(
    cls: type[Vertex],
    vertices: Sequence[VertexInstance],
    numbers: Series,
    edges: Mapping[str, Edges],
    state: Mapping[str, StateValues],
) -> Family:
    fields = tuple(
        FieldEdges(numbers, position, field, edges[name])
        for position, (name, field) in enumerate(cls.fields.items())
        if field.is_edge
    )
    return Family(cls, vertices, numbers, fields, state)


def _edges(field: Field, connected: Sequence[Tensor | tuple[Tensor, ...]]) -> Edges:
    if field.depth < 2:
        views = [tensor.view for tensor in connected if isinstance(tensor, Tensor)]
        return edges_of_views(views, constant(1, len(views)))
    return _edges_of_lists(
        [
            [rows.view] if isinstance(rows, Tensor) else [row.view for row in rows]
            for rows in connected
        ]
    )


def _edges_of_lists(lists: Sequence[Sequence[View]]) -> Edges:
    """Return the edges of vertices with several edges each.

    For each vertex, `lists` contains the rows of its list, or one 2-D view with all of them.
    """
    views = list(chain.from_iterable(lists))
    counts = [sum([_num_rows(view) for view in several]) for several in lists]
    rows = compact(np.array(counts, np.int64))
    plain = edges_of_rows(views, rows)
    if plain is not None:
        return plain
    sizes = [size for view in views for size in [view.shape[-1]] * _num_rows(view)]
    length = compact(np.array(sizes, np.int64))
    if length.total() > MOST_RUNS:  # pass rows one by one: the error for too many counts them
        each = [[v.index(k) for k in range(v.shape[0])] if len(v.shape) > 1 else [v] for v in views]
        return edges_of_views(list(chain.from_iterable(each)), rows)
    _, begin, count = runs_of_many(views)
    runs = edge_cuts(begin, count, length)
    if (np.diff(runs.first) > 1).any():
        return Edges(rows, length, None, runs)
    return listed_edges(runs.begin, length, rows)


def _num_rows(view: View) -> int:
    return view.shape[0] if len(view.shape) > 1 else 1


def _state(field: Field, values: Sequence[Any]) -> StateValues:
    if field.depth == 0:
        return np.array(values, field.element.dtype)
    vectors = [np.asarray(value) for value in values]
    lengths = compact(np.array([len(vector) for vector in vectors], np.int64))
    return Vectors(np.concatenate(vectors).astype(field.element.dtype), lengths)


_NONE = np.zeros(0, np.int64)


class FieldRuns(NamedTuple):
    """The runs of some fields.

    Attributes:
        fields: the fields of the runs.
        stops: int64[fields], one past the last run of each field.
        begin: int64[runs], first address of each run.
        size: int64[runs], number of elements; may be one number, broadcast.
    """

    fields: Sequence[FieldEdges]
    stops: Int64
    begin: Int64
    size: Int64

    def edges(self, runs: Int64) -> Int64:
        """Return the vertex, field position and row of the edge of each run, int64[n, 3].

        Sorted, they are in the order of declaration.
        """
        edge = np.zeros((len(runs), 3), np.int64)
        first = 0
        for field, stop in zip(self.fields, self.stops.tolist(), strict=True):
            mine = np.flatnonzero((runs >= first) & (runs < stop))
            if len(mine):
                number = field.runs.edge()[runs[mine] - first]
                edge[mine, 0], edge[mine, 1] = field.vertex()[number], field.position
                edge[mine, 2] = field.row()[number]
            first = stop
        return edge


@frozen(eq=False)
class Crossings:
    """The overlaps of the edges of a compute set.

    Attributes:
        written: runs of written fields that may overlap something.
        read: runs of fields that only read, and may overlap something written.
        double: pairs of overlapping runs of `written` that belong to different vertices.
        foreign: pairs of overlapping runs of `written` and `read` that belong to different
            vertices; computed only if `double` is empty.
        own: for fields that only read, a mask of the edges that overlap elements written by their
            own vertex; no mask if there are none.
        shared: pairs of overlapping runs of `written` and `read` of one vertex, where the written
            field is an InOut; computed only if `double` is empty. Metadata of QUARTER is
            omitted, since a vertex reads it only once, at its start.
    """

    written: FieldRuns
    read: FieldRuns
    double: tuple[Int64, Int64]
    foreign: tuple[Int64, Int64]
    own: Mapping[FieldEdges, Mask]
    shared: tuple[Int64, Int64]

    @property
    def are_harmless(self) -> bool:
        """Whether no two vertices race, and none overwrites in place what another edge reads."""
        return not any(len(pairs[0]) for pairs in (self.double, self.foreign, self.shared))

    def of_fields(self, fields: Mapping[FieldEdges, FieldEdges]) -> Crossings:
        """Return the same overlaps, without runs, for a compute set with corresponding fields."""
        own = {fields[field]: mask for field, mask in self.own.items()}
        return replace(self, written=_NO_RUNS, read=_NO_RUNS, own=own)


_NO_RUNS = FieldRuns((), _NONE, _NONE, _NONE)

NO_CROSSINGS = Crossings(_NO_RUNS, _NO_RUNS, (_NONE, _NONE), (_NONE, _NONE), {}, (_NONE, _NONE))


def find_crossings(fields: Sequence[FieldEdges]) -> Crossings:
    """Find the overlaps of a compute set; `fields` are all that have elements."""
    if _all_disjoint(fields):
        return NO_CROSSINGS
    written, read = (_listed(chosen) for chosen in _candidates(fields))
    writes = _sorted(written)
    double = _double_writes(written, writes)
    if len(double[0]) or not len(writes.order) or not len(read.begin):
        return Crossings(written, read, double, (_NONE, _NONE), {}, (_NONE, _NONE))
    reads = _sorted(read)
    met, first = _meet_writes(writes, reads)
    if not len(met):
        return Crossings(written, read, double, (_NONE, _NONE), {}, (_NONE, _NONE))
    readers = reads.order[met]
    found = _foreign_writes(writes, written, first, reads.end[met], read.edges(readers)[:, 0])
    foreign = np.flatnonzero(found != OWN)
    # Sort into the order in which the reads were listed.
    foreign = foreign[np.argsort(readers[foreign], kind="stable")]
    pairs = writes.order[found[foreign]], readers[foreign]
    is_own = found == OWN
    in_place = _in_place(written, writes, first[is_own], reads.end[met[is_own]])
    in_place[_of_each_run(read, [f.field.is_implicit for f in read.fields])[readers[is_own]]] = -1
    shared = writes.order[in_place[in_place >= 0]], readers[is_own][in_place >= 0]
    return Crossings(written, read, double, pairs, _own(read, readers[is_own]), shared)


def _all_disjoint(fields: Sequence[FieldEdges]) -> bool:
    """Return whether a cheap test shows that no two edges overlap, as in most small sets."""
    spans = sorted(field.envelope for field in fields)
    return all(end <= begin for (_, end), (begin, _) in pairwise(spans)) and all(
        field.edges.surely_disjoint() for field in fields if field.field.writes
    )


def _candidates(fields: Sequence[FieldEdges]) -> tuple[list[FieldEdges], list[FieldEdges]]:
    """Return the written fields that may overlap others, and the read fields they may overlap."""
    spans = np.array([field.envelope for field in fields], np.int64).reshape(-1, 2)
    writes = np.array([field.field.writes for field in fields], np.bool_)
    (low, high), (others_low, others_high) = spans[writes].T, spans[~writes].T
    itself = [not field.edges.surely_disjoint() for field in fields if field.field.writes]
    chosen = np.array(itself, np.bool_) | _meets_any(low, high, others_low, others_high)
    order = np.argsort(low, kind="stable")
    behind = low[order][1:] < np.maximum.accumulate(high[order])[:-1]
    ahead = low[order][1:] < high[order][:-1]
    chosen[order[1:][behind]] = True
    chosen[order[:-1][ahead]] = True
    readers = _meets_any(others_low, others_high, low, high)
    both = np.zeros(len(fields), np.bool_)
    both[writes], both[~writes] = chosen, readers
    found = [field for field, is_chosen in zip(fields, both.tolist(), strict=True) if is_chosen]
    return [f for f in found if f.field.writes], [f for f in found if not f.field.writes]


def _meets_any(low: Int64, high: Int64, other_low: Int64, other_high: Int64) -> Mask:
    """Return which intervals overlap any of the others."""
    if not len(other_low):
        return np.zeros(len(low), np.bool_)
    order = np.argsort(other_low, kind="stable")
    furthest = np.maximum.accumulate(other_high[order])
    before = np.searchsorted(other_low[order], high, side="left")
    return (before > 0) & (furthest[before - 1] > low)


def _listed(fields: Sequence[FieldEdges]) -> FieldRuns:
    runs = [field.runs for field in fields]
    stops = np.cumsum([len(each.begin) for each in runs], dtype=np.int64)
    sizes = [each.size for each in runs]
    begin = np.concatenate([_NONE, *(each.begin for each in runs)])
    repeated = {None if size.strides[0] else int(size[0]) for size in sizes}
    if len(repeated) == 1 and None not in repeated:
        return FieldRuns(fields, stops, begin, np.broadcast_to(sizes[0][0], begin.shape))
    return FieldRuns(fields, stops, begin, np.concatenate([_NONE, *sizes]))


class _Sorted(NamedTuple):
    """Runs by ascending begin; runs with the same begin keep their order."""

    order: Int64
    begin: Int64
    end: Int64


def _sorted(runs: FieldRuns) -> _Sorted:
    begin, size = runs.begin, runs.size
    if (begin[1:] >= begin[:-1]).all():
        return _Sorted(np.arange(len(begin)), begin, begin + size)
    begin, order = sorted_with_order(begin)
    return _Sorted(order, begin, begin + (size[order] if size.strides[0] else size))


def _double_writes(written: FieldRuns, writes: _Sorted) -> tuple[Int64, Int64]:
    """Return pairs of written runs of different vertices that overlap."""
    if not (writes.begin[1:] < writes.end[:-1]).any():
        return _NONE, _NONE  # sorted runs overlap only if two neighbours do
    # If two runs have the same begin, the one declared first becomes the first of the pair.
    edges = written.edges(np.arange(len(written.begin)))
    order = np.lexsort((*edges.T[::-1], written.begin))
    begin, end = written.begin[order], (written.begin + written.size)[order]
    furthest = np.maximum.accumulate(end)
    new = np.concatenate([[True], end[1:] > furthest[:-1]])
    holder = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    second = np.flatnonzero(begin[1:] < furthest[:-1]) + 1
    first, second = order[holder[second - 1]], order[second]
    differ = edges[first, 0] != edges[second, 0]
    return first[differ], second[differ]


def _meet_writes(writes: _Sorted, reads: _Sorted) -> tuple[Int64, Int64]:
    """Return the reads that overlap writes, and the first write that each overlaps."""
    count, most = len(writes.begin), len(reads.begin)
    met, first = np.empty(most, np.int64), np.empty(most, np.int64)
    columns = reads.begin, reads.end, most, met, first
    done = _run(meet_writes, writes.begin, writes.end, count, *columns)
    return met[:done].copy(), first[:done].copy()


def _foreign_writes(
    writes: _Sorted, written: FieldRuns, first: Int64, read_end: Int64, reader: Int64
) -> Int64:
    """Return the first write of another vertex for each read that overlaps writes, or OWN."""
    vertex, found = written.edges(writes.order)[:, 0], np.empty(len(first), np.int64)
    columns = len(vertex), first, read_end, reader, len(first), found
    _run(foreign_writes, writes.begin, vertex, *columns)
    return found


def _in_place(written: FieldRuns, writes: _Sorted, first: Int64, read_end: Int64) -> Int64:
    """Return the first write of an InOut for each read that overlaps writes, or -1."""
    reads_too = [field.field.reads for field in written.fields]
    if not any(reads_too):
        return np.full(len(first), -1)
    is_inout = _of_each_run(written, reads_too)[writes.order]
    places = np.append(np.flatnonzero(is_inout), len(is_inout))
    found = places[places.searchsorted(first)]
    met = writes.begin[np.minimum(found, len(is_inout) - 1)] < read_end
    return np.where((found < len(is_inout)) & met, found, -1)


def _of_each_run(runs: FieldRuns, of_fields: Sequence[bool]) -> Mask:
    """Return, for each run, the value of its field."""
    return np.repeat(np.array(of_fields, np.bool_), np.diff(runs.stops, prepend=0))


def _run(kernel: Callable[..., int], *arguments: Int64 | int) -> int:
    arrays = [x if isinstance(x, int) else np.ascontiguousarray(x) for x in arguments]
    return run_kernel(kernel, max([len(x) for x in arrays if not isinstance(x, int)]), *arrays)


def _own(read: FieldRuns, runs: Int64) -> dict[FieldEdges, Mask]:
    """Return a mask of the edges of these runs, for each field that has any."""
    own: dict[FieldEdges, Mask] = {}
    first = 0
    for field, stop in zip(read.fields, read.stops.tolist(), strict=True):
        mine = runs[(runs >= first) & (runs < stop)] - first
        first = stop
        if len(mine):
            own[field] = np.zeros(len(field.runs.first) - 1, np.bool_)
            own[field][field.runs.edge()[mine]] = True
    return own


# -- compute sets that differ only in their variables ----------------------------------------------


def form_of_view(view: View) -> Hashable:
    """Return a key for the elements of a view of one variable; equal if only the variable differs.

    >>> from poplite.view import all_of
    >>> x, y = (all_of(Storage(number, 100 * number, 6), (2, 3)) for number in range(2))
    >>> form_of_view(x.dim_shuffle((1, 0))) == form_of_view(y.dim_shuffle((1, 0)))
    True
    """
    space = view.space
    if isinstance(space, Storage):
        return view.shape, view.dims, view.off
    kids = space.kids
    if isinstance(kids, tuple):
        below: Hashable = tuple([form_of_view(kid) for kid in kids])
    else:
        below = form_of_view(kids.template), kids.extent.tobytes(), kids.off.tobytes()
    return view.shape, view.dims, view.off, space.outer, below


def moved_view(view: View, storage: Storage) -> View:
    """Return the same view, of another variable."""
    space: Storage | Cat = storage
    if not isinstance(view.space, Storage):
        kids = view.space.kids
        if isinstance(kids, tuple):
            parts: tuple[View, ...] | SlicedViews = tuple(
                [moved_view(kid, storage) for kid in kids]
            )
        else:
            parts = SlicedViews(moved_view(kids.template, storage), kids.extent, kids.off)
        space = Cat(parts, view.space.outer)
    return View(view.shape, view.dims, view.off, space)


def may_move(edges: Edges) -> bool:
    """Return whether moved edges have the same representation as edges created in the new place."""
    return not isinstance(edges.start, Listed) or edges.start.offset.dtype == NARROW


def moved_edges(edges: Edges, distance: int, storage: Storage) -> Edges:
    """Return the same edges in another variable, which begins `distance` addresses later."""
    start, pieces = edges.start, edges.pieces
    if start is not None and edges.num_elements:
        start = start.moved(distance)
    if isinstance(pieces, EdgeRuns):
        pieces = pieces._replace(begin=pieces.begin + distance)
    elif pieces is not None:
        pieces = moved_view(pieces, storage)
    return Edges(edges.rows, edges.length, start, pieces, edges.pairs)


MOST_EDGES = 1 << 14
"""Maximum edges of a field for which a form is sought: there are few large compute sets."""


Role = Literal["any", "written", "input"]
"""A selection of the fields of a compute set: all, those written, or those only read."""


class Form(NamedTuple):
    """A compute set with its variables left open.

    Attributes:
        key: equal for compute sets that differ only in their variables.
        variables: the numbers of the variables, ascending.
    """

    key: Hashable
    variables: tuple[int, ...]


class EdgeTables:
    """The edge tables of the compute sets of a graph, whose mapping must not change meanwhile.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> for name in "xy":
    ...     x = graph.add_variable(pl.FLOAT, (10,), name, mapping="linear")
    ...     _ = graph.add_vertices(graph.add_compute_set(), Double, tile=0, x=x)
    >>> tables = EdgeTables(graph.space)
    >>> first, second = map(tables, graph.compute_sets)
    >>> second.alike is first, tables.owners(second)
    (True, (1,))
    >>> tables.owners(second, "written")
    (1,)
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._tables: dict[ComputeSet, EdgeTable] = {}
        self._forms: dict[EdgeTable, Form] = {}
        self._first: dict[Hashable, EdgeTable] = {}
        self._owners: dict[tuple[EdgeTable, Role], tuple[int, ...]] = {}
        self._mappings: dict[int, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def __call__(self, compute_set: ComputeSet) -> EdgeTable:
        """Return the edges of a compute set whose fields are all connected."""
        found = self._tables.get(compute_set)
        if found is None:
            found = self._tables[compute_set] = edge_table(compute_set)
            form = self._form(found)
            if form is not None:
                self._forms[found] = form
                first = self._first.setdefault(form.key, found)
                found.alike = None if first is found else first
        return found

    def owners(self, table: EdgeTable, role: Role = "any") -> tuple[int, ...]:
        """Return the numbers of the variables underlying a compute set's fields, ascending.

        `role` selects the fields: all, those that are written, or those that are only read.
        """
        found = self._owners.get((table, role))
        if found is None:
            found = self._owners[table, role] = self._found_owners(table, role)
        return found

    def _found_owners(self, table: EdgeTable, role: Role) -> tuple[int, ...]:
        if table.alike is None:
            writes = {"any": (True, False), "written": (True,), "input": (False,)}[role]
            fields = [each for each in table.fields if each.field.writes in writes]
            return tuple(_owners(self._space, fields))
        theirs, own = self._forms[table.alike].variables, self._forms[table].variables
        to = dict(zip(theirs, own, strict=True))
        return tuple([to[number] for number in self.owners(table.alike, role)])

    def _form(self, table: EdgeTable) -> Form | None:
        """Return the form of a compute set; None for vertices that were added one by one."""
        if not all(_may_have_form(family) for family in table.families):
            return None
        seen = _Seen(self._space)
        families = []
        for family in table.families:
            fields = [_form_of_edges(part.edges, seen) for part in family.fields]
            if None in fields:
                return None
            families.append((family.cls, _series(family.numbers), _tiles(family), *fields))
        variables, places = seen.numbered()
        mappings = tuple([self._mapping(number) for number in variables])
        return Form((tuple(families), places, mappings), variables)

    def _mapping(self, number: int) -> int:
        """Return a number that identifies the size and tiles of a variable."""
        found = self._mappings.get(number)
        if found is None:
            breaks, tiles = self._space.variables[number].mapping.pieces()
            key = breaks.tobytes(), tiles.tobytes()
            found = self._mappings[number] = self._numbers.setdefault(key, len(self._numbers))
        return found


class _Seen:
    """Collects the variables that the fields of a compute set access, field by field."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._owners: list[int | Int64] = []

    def steps(self, steps: Steps) -> Hashable:
        """Add regular addresses, and return their offsets within their variables."""
        first = self._space.owner(steps.low)
        if first != self._space.owner(steps.high):
            return self.addresses(steps.array())
        self._owners.append(first)
        return steps.first - self._space.variables[first].base, steps.digits

    def addresses(self, addresses: Int64) -> Hashable:
        """Add addresses, and return their offsets within their variables."""
        first = self._space.owner(int(addresses.min()))
        if first == self._space.owner(int(addresses.max())):
            self._owners.append(first)
            return (addresses - self._space.variables[first].base).tobytes()
        owners = self._space.owners(addresses)
        self._owners.append(owners)
        numbers, which = np.unique(owners, return_inverse=True)
        bases = np.array([self._space.variables[number].base for number in numbers.tolist()])
        within: Int64 = addresses - bases[which]
        return within.tobytes()

    @property
    def is_of_several(self) -> bool:
        """Whether the addresses added last belong to several variables."""
        return not isinstance(self._owners[-1], int)

    def storage(self, storage: Storage) -> None:
        """Add a variable."""
        self._owners.append(storage.id)

    def numbered(self) -> tuple[tuple[int, ...], Hashable]:
        """Return all variables, ascending, and the position of each owner among them."""
        every: set[int] = set()
        for each in self._owners:
            every.update([each] if isinstance(each, int) else each.tolist())
        variables = sorted(every)
        number = {each: position for position, each in enumerate(variables)}
        array = np.array(variables, np.int64)
        places = [
            number[each] if isinstance(each, int) else np.searchsorted(array, each).tobytes()
            for each in self._owners
        ]
        return tuple(variables), tuple(places)


def _may_have_form(family: Family) -> bool:
    """Return whether vertices were added together, with few edges."""
    is_block = isinstance(family.vertices, VertexBlock)
    return is_block and all(part.edges.length.count <= MOST_EDGES for part in family.fields)


def _tiles(family: Family) -> Hashable:
    assert isinstance(family.vertices, VertexBlock)
    tiles = family.vertices.tiles
    return None if tiles.stops is None else tiles.stops.tobytes(), tiles.tiles.tobytes()


def _series(series: Series) -> Hashable:
    if isinstance(series, Steps):
        return series.first, series.digits
    return series.base, series.offset.tobytes()


def _form_of_edges(edges: Edges, seen: _Seen) -> Hashable:
    """Return a key for edges relative to their variables.

    The key is None if elements of several variables are gathered: their distances on a tile depend
    on the tile's whole memory.
    """
    counts, start, pieces = (_series(edges.rows), _series(edges.length)), edges.start, edges.pieces
    if not edges.num_elements:
        return counts
    if isinstance(start, Steps):
        return counts, seen.steps(start)
    if start is not None:
        return counts, seen.addresses(start.array())
    if isinstance(pieces, EdgeRuns):
        begin = pieces.begin
        within = seen.addresses(begin)
        if seen.is_of_several:
            return None
        return counts, pieces.first.tobytes(), pieces.size.tobytes(), within
    assert pieces is not None
    below = storages(pieces)
    if len(below) > 1:
        return None
    seen.storage(below[0])
    return counts, form_of_view(pieces)


def _owners(space: Space, fields: Sequence[FieldEdges]) -> list[int]:
    owners: set[int] = set()
    for field in fields:
        low, high = field.envelope
        first, last = space.owner(low), space.owner(high - 1)
        if first != last:
            owners.update(np.unique(space.owners(field.runs.begin)).tolist())
        else:
            owners.add(first)
    return sorted(owners)
