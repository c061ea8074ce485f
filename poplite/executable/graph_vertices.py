"""Vertices in the file of a graph.

Vertices that were added together are arrays, like in the graph:

    x = t of shape (n, ...)       the view of `t`
    consecutive elements          start and length of every edge; a few numbers if regular
    other elements                the runs of each edge

Addresses are those of consecutive variables with gaps of one element. The reader makes tensors
from these, and connects them by the rules of `add_vertex` and `add_vertices`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.series import Series, Steps, coalesce, compact, pack
from poplite.codec.file_formats import Malformed, check_room, take_room
from poplite.errors import FileLoadError, VertexCompileError, VertexDefinitionError
from poplite.executable.executable_file import (
    LIBRARY,
    VertexSource,
    classes_of_user,
    defined_classes,
    library_classes,
    local_name,
    template_of,
)
from poplite.executable.graph_references import tensor_of
from poplite.executable.recipes import ClassRecipe, class_of_recipe, recipe_of_class
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import (
    ComputeSet,
    FieldRef,
    StateValues,
    Vectors,
    VertexInstance,
    new_vertex,
    set_size,
)
from poplite.graph.compute_sets.perf_estimates import checked_estimate, checked_estimates
from poplite.graph.compute_sets.vertex_block import Edges, VertexBlock
from poplite.graph.connect.bulk import block_of, edges_of
from poplite.graph.connect.connect import bind, bind_row, check_declared
from poplite.graph.graph import Graph
from poplite.graph.space import Space, Variable
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor, of_variable
from poplite.graph.tile_mapping import AllTiles
from poplite.source import SourceLocation
from poplite.types import QUARTER_METADATA, ElementType
from poplite.vertex.compute.identity import ClassCode, cycles_code
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import PLAIN, Field, Layout, Role, specialise
from poplite.vertex.from_source import saved_as, stand_in, why_missing
from poplite.vertex.vertex import MultiVertex, Vertex
from poplite.view import View, empty, storages

# -- vertex classes --------------------------------------------------------------------------------
# Descriptions of vertex classes in the file of a graph, and the classes to which they refer.
#
# A file names a class by its module and its name in it, a template also by its element types, and
# contains its declared fields and a fingerprint of its code. A class is looked up among the
# classes that the user passes, then among those already defined in that module, then among those of
# `poplite.vertices`; no name in a file is ever imported. A function may have made several classes
# with one name, so the class with the same code is used. If there is none, a class without code
# replaces it (`poplite.vertex.from_source`). For `poplite.vertices`, the name suffices.


@frozen(eq=False)
class DeclaredField:
    """The declaration of a field in a class."""

    name: str
    role: Role
    element: type[ElementType[Any]]
    depth: int
    layout: Layout = PLAIN


@frozen(eq=False)
class DeclaredClass:
    """The description of a vertex class in a file.

    Attributes:
        module: the module that defines it.
        name: its name within its module, or within the function that defines it.
        elements: the element types of a template.
        fields: its declared fields.
        is_multi: whether all workers run it.
        recipe: the recipe it was generated from; None for a handwritten class.
        code: an identification of `compute` and `cycles` of a handwritten class; None if it
            cannot be compiled.
    """

    module: str
    name: str
    elements: tuple[type[ElementType[Any]], ...]
    fields: tuple[DeclaredField, ...]
    is_multi: bool = False
    recipe: ClassRecipe | None = None
    code: ClassCode | None = None

    @property
    def full_name(self) -> str:
        """Its name with its element types."""
        return self.name + (f"[{', '.join(map(repr, self.elements))}]" if self.elements else "")

    @property
    def declaration(self) -> tuple[object, ...]:
        """A key that is equal for two classes if either can be the class of a vertex."""
        fields = tuple((f.name, f.role, f.element, f.depth, f.layout) for f in self.fields)
        return fields, self.is_multi, self.elements

    def is_of_library_as(self, other: DeclaredClass) -> bool:
        """Return whether both are in one module of `poplite.vertices`, where names are unique."""
        return self.module == other.module and self.module.startswith(f"{LIBRARY}.")


def declared_class(cls: type[Vertex]) -> DeclaredClass:
    """Return the description of a class; reject a template with open types.

    >>> from poplite.types import HALF
    >>> from poplite.vertices.elementwise import Add
    >>> declared_class(Add[HALF]).full_name
    'Add[HALF]'
    """
    if why_missing(cls) is not None:
        declared: DeclaredClass = saved_as(cls)
        return declared
    if cls.type_variables:
        variables = ", ".join(str(each) for each in cls.type_variables)
        raise FileLoadError(
            f"cannot save a graph with a vertex of template '{cls.__name__}' yet",
            at=cls.location,
            found=f"the element types {variables} are not determined",
            fix="connect the fields that determine them, or save a graph without the vertex",
        )
    template, elements = template_of(cls)
    fields = tuple(
        DeclaredField(each.name, each.role, each.element, each.depth, each.layout)
        for each in cls.fields.values()
        if not each.is_implicit
    )
    is_multi = issubclass(cls, MultiVertex)
    name, recipe = local_name(template), recipe_of_class(cls)
    code = None if recipe is not None else _code_of(cls)
    return DeclaredClass(template.__module__, name, elements, fields, is_multi, recipe, code)


def _code_of(cls: type[Vertex]) -> ClassCode | None:
    try:
        code = meaning_of(cls).code
    except VertexCompileError:
        return None
    return replace(code, functions=(*code.functions, *cycles_code(cls)))


def known_classes(
    declared: Sequence[DeclaredClass], sources: Iterable[VertexSource], *, codelets: bool
) -> list[type[Vertex]]:
    """Return the classes that a file names, or replacements for missing ones."""
    given = list(classes_of_user(sources, "Graph.load"))
    defined = list(dict.fromkeys(defined_classes(Vertex)))
    found = []
    for each in declared:
        cls, why = _first_alike(each, _candidates(each, given, defined, codelets))
        found.append(cls or _stand_in(each, why))
    return found


def _candidates(
    declared: DeclaredClass,
    given: Iterable[type[Vertex]],
    defined: Iterable[type[Vertex]],
    codelets: bool,
) -> Iterator[type[Vertex]]:
    if declared.recipe is not None:
        yield class_of_recipe(declared.recipe, declared.full_name, codelets=codelets)
    yield from (cls for cls in given if local_name(cls) == declared.name)
    for cls in defined:
        if local_name(cls) == declared.name and cls.__module__ == declared.module:
            yield cls
    if declared.module.startswith(f"{LIBRARY}."):
        yield from (cls for cls in library_classes() if local_name(cls) == declared.name)


def _first_alike(
    declared: DeclaredClass, candidates: Iterable[type[Vertex]]
) -> tuple[type[Vertex] | None, str]:
    """Return the first class with the same declaration and code, else why there is none."""
    why = "no class with that name was passed or imported when its graph was loaded"
    others: list[tuple[type[Vertex], ClassCode | None]] = []
    for candidate in candidates:
        try:
            is_template = bool(candidate.type_variables and declared.elements)
            cls = specialise(candidate, declared.elements) if is_template else candidate
            own = None if cls.type_variables else declared_class(cls)
        except VertexDefinitionError as error:
            why = error.what
            continue
        if own is None or own.declaration != declared.declaration:
            why = f"{cls.__name__} ({cls.location}) declares different fields"
        elif own.code == declared.code or own.is_of_library_as(declared):
            return cls, ""
        else:
            others.append((cls, own.code))
    return _of_others(declared, others) if others else (None, why)


def _of_others(
    declared: DeclaredClass, others: Sequence[tuple[type[Vertex], ClassCode | None]]
) -> tuple[type[Vertex] | None, str]:
    """Return the class that a file without code refers to, else why no class is chosen."""
    cls, code = others[0]
    if declared.code is not None:
        difference = "it cannot be compiled"
        if code is not None:
            difference = code.differences(declared.code)[0]
        return None, (
            f"the code of {cls.__name__} ({cls.location}) has changed since the graph was saved, "
            f"{difference}"
        )
    if all(own == code for _, own in others):
        return cls, ""
    differing = next(other for other, own in others if own != code)
    return None, (
        f"{cls.__name__} ({cls.location}) and another class ({differing.location}) have that name, "
        "and the file does not say which one it means"
    )


def _stand_in(declared: DeclaredClass, why: str) -> type[Vertex]:
    deepest = max((each.depth for each in declared.fields), default=0)
    if not 0 <= deepest <= 2:
        raise Malformed(
            f"vertex class {declared.full_name}: a field has {deepest:,} nested vectors"
        )
    fields = [Field(f.name, f.role, f.element, f.depth, layout=f.layout) for f in declared.fields]
    try:
        return stand_in(
            declared.full_name,
            declared.module,
            fields,
            is_multi=declared.is_multi,
            why=why,
            saved=declared,
        )
    except VertexDefinitionError as error:
        raise Malformed(error.what) from None


# -- vertices --------------------------------------------------------------------------------------

MOST_EDGES = 1 << 26
"""Maximum number of vertices in a block, and of edges of a field, that a few numbers in a file may
represent. A vertex needs only 12 B while it is connected, so any file may have this number."""

BYTES_AN_EDGE = 56
"""Memory for an edge while it is connected, in bytes, unless edges are evenly spaced."""

BYTES_A_VECTOR = 200
"""Memory for a vector of a State field while it is connected, in bytes, if lengths differ."""

Array = npt.NDArray[Any]


@frozen(eq=False)
class SavedEdges:
    """The edges of one field; see `poplite.graph.compute_sets.vertex_block.Edges`.

    Attributes:
        view: a view of shape (vertices, ...).
        runs: int64[edges + 1], int64[runs] and int64[runs]: the first run of each edge, the first
            address of each run, and its size.
    """

    rows: Series
    length: Series
    start: Series | None = None
    view: View | None = None
    runs: tuple[Array, Array, Array] | None = None


@frozen(eq=False)
class SavedBlock:
    """Vertices that were added together.

    Attributes:
        stops: one past the last vertex of each run of vertices on the same tile.
        tiles: the tile of each run.
        estimates: cycles and flops of each vertex, if they were set.
    """

    vertex_class: type[Vertex]
    location: SourceLocation
    stops: Array
    tiles: Array
    edges: Mapping[str, SavedEdges]
    state: Mapping[str, StateValues]
    constants: tuple[Variable, ...] = ()
    estimates: tuple[Array, Array] | None = None


def saved_block(block: VertexBlock) -> SavedBlock:
    """Return the data of a block."""
    tiles = block.tiles.array()
    ends = np.append(np.flatnonzero(tiles[1:] != tiles[:-1]) + 1, len(tiles))
    stops = ends[: len(tiles)]  # empty for a block without vertices
    gaps = _gaps(block.graph.space)
    constants, estimates = [], block.estimates
    for constant in block.constants:
        assert isinstance(constant.view.space, Variable)
        constants.append(constant.view.space)
    return SavedBlock(
        block.vertex_class,
        block.location,
        stops,
        tiles[stops - 1],
        {name: _saved_edges(block.graph.space, edges, gaps) for name, edges in block.edges.items()},
        {name: value for name, value in block.state.items() if name != "num_workers"},
        tuple(constants),
        None if estimates is None else (np.array(estimates[0]), np.array(estimates[1])),
    )


def _gaps(space: Space) -> Array | None:
    """Return the offset of each variable from its start in a file; None if all are 0."""
    sizes = np.array([variable.num_elements + 1 for variable in space.variables], np.int64)
    gaps = np.array([variable.base for variable in space.variables], np.int64)
    gaps -= np.cumsum(sizes) - sizes
    return gaps if gaps.any() else None


def _saved_edges(space: Space, edges: Edges, gaps: Array | None) -> SavedEdges:
    start, view, runs = edges.start, None, None
    if start is not None and gaps is not None:
        addresses = start.array()
        start = compact(addresses - gaps[space.owners(addresses)])
    if isinstance(edges.pieces, View) and len(edges.pieces.shape) > 1:
        view = edges.pieces
    elif start is None:
        first, begin, size = edges.runs()
        runs = first, begin if gaps is None else begin - gaps[space.owners(begin)], size
    length = edges.length if edges.length.count else compact(np.zeros(0, np.int64))
    return SavedEdges(edges.rows, length, start, view, runs)


# -- reading ---------------------------------------------------------------------------------------


def add_block(graph: Graph, compute_set: ComputeSet, saved: SavedBlock) -> VertexBlock:
    """Return a block made from unchecked data; it is not yet added to the compute set."""
    stops, tiles = saved.stops, saved.tiles
    if stops.dtype != np.int64 or stops.ndim != 1 or stops.shape != tiles.shape:
        raise Malformed("a block of vertices must have a tile for each run")
    if (np.diff(stops, prepend=0) < 0).any() or (stops > MOST_EDGES).any():
        raise Malformed("a block has too many vertices")
    if tiles.dtype.kind != "i":
        raise Malformed("the tiles of a block are not whole numbers")
    count = int(stops[-1]) if len(stops) else 0
    fields, values, beside = saved.vertex_class.fields, dict[str, Any](), dict[str, Edges]()
    for name, edges in saved.edges.items():
        field = fields.get(name)
        if field is None or not field.is_edge:
            raise Malformed(f"{saved.vertex_class.__name__} has no edge field '{name}'")
        value = _connected(graph, field, edges, count)
        if field.is_implicit:
            beside[name] = _metadata_edges(graph, value, field)
        else:
            values[name] = value
    for name, held in saved.state.items():
        values[name] = _vectors(held, count) if isinstance(held, Vectors) else held
    tile = np.repeat(tiles, np.diff(stops, prepend=0))
    numbers = AllTiles(graph.target.tiles)
    at = saved.location
    block = block_of(numbers, compute_set, saved.vertex_class, tile, values, at)
    # Fields without elements were given their own metadata, which is among the variables.
    block.edges.update(beside)
    if not all(variable.constant for variable in saved.constants):
        raise Malformed("the numbers of a block must be constants")
    block.constants = tuple(of_variable(graph, variable) for variable in saved.constants)
    if saved.estimates is not None:
        name = saved.vertex_class.__name__
        block.estimates = checked_estimates(name, *saved.estimates, count)
    return block


def _vectors(held: Vectors, count: int) -> Any:
    """Return the vectors of a State field in the form that `add_vertices` takes."""
    length = held.length
    _check_series(length, count, "its vectors")
    if held.values.ndim != 1 or length.total() != len(held.values):
        raise Malformed("the values of a field do not match the lengths of its vectors")
    if length.only is not None:
        return held.values.reshape(count, length.only)
    check_room(BYTES_A_VECTOR * count, f"{count:,} vectors of a field")
    return np.split(held.values, np.cumsum(length.array())[:-1])


def _check_series(series: Series, count: int, what: str) -> None:
    """Reject numbers if their count is wrong, or if any is negative or too large for sums."""
    if series.count != count or count > MOST_EDGES:
        raise Malformed(f"{what}: {count:,} numbers are needed; found {series.count:,}")
    if count and (series.low < 0 or series.high >= 1 << 62):
        raise Malformed(f"{what} are negative, or too large")


def _metadata_edges(graph: Graph, value: Tensor | Slices | SliceLists, field: Field) -> Edges:
    tensor = value if isinstance(value, Tensor) else getattr(value, "tensor", None)
    assert isinstance(tensor, Tensor), "metadata is one element"
    variables = [graph.space.variable_of(storage) for storage in storages(tensor.view)]
    if not all(variable.element_type is QUARTER_METADATA for variable in variables):
        raise Malformed(f"'{field.name}' is not valid metadata")
    return edges_of(value, field)


def _connected(
    graph: Graph, field: Field, edges: SavedEdges, count: int
) -> Tensor | Slices | SliceLists:
    """Return the argument of `add_vertices` for the edges of a field."""
    if edges.view is not None:
        return tensor_of(graph, field.element, edges.view)
    _check_series(edges.rows, count, f"rows of '{field.name}'")
    num_edges = edges.rows.total()
    _check_series(edges.length, num_edges, f"lengths of '{field.name}'")
    if field.depth < 2 and edges.rows.only not in (1, None):
        raise Malformed(f"'{field.name}' is not a valid list of edges")
    if field.depth == 0 and num_edges and edges.length.only != 1:
        raise Malformed(f"'{field.name}' must have one element")
    if edges.start is not None:
        _check_series(edges.start, num_edges, f"addresses of '{field.name}'")
        regular = _regular(graph, field, edges, count)
        if regular is not None:
            return regular
    check_room(BYTES_AN_EDGE * num_edges, f"{num_edges:,} edges of '{field.name}'")
    if edges.start is not None:
        size = edges.length.array()
        tensor, begin = _cut_from(graph, field, edges.start.array(), size)
    else:
        tensor, begin, size = _of_runs(graph, field, edges)
    slices = Slices(tensor, 0, begin, begin + size)
    if field.depth < 2:
        return slices
    return SliceLists(slices, np.append(0, np.cumsum(edges.rows.array())))


def _of_runs(graph: Graph, field: Field, edges: SavedEdges) -> tuple[Tensor, Array, Array]:
    """Return a tensor of the elements of all edges, with the start and size of each edge."""
    if edges.runs is None:
        raise Malformed(f"'{field.name}' has no elements")
    first, begin, count = edges.runs
    size = edges.length.array()
    is_whole = all(each.dtype == np.int64 and each.ndim == 1 for each in edges.runs)
    if not is_whole or len(first) != len(size) + 1 or len(begin) != len(count):
        raise Malformed(f"'{field.name}' has runs that do not belong to edges")
    if first[0] or first[-1] != len(begin) or (np.diff(first) < 0).any():
        raise Malformed(f"'{field.name}' has runs that do not belong to edges")
    if len(count) and (count.min() < 1 or begin.min() < 0 or count.max() >= 1 << 31):
        raise Malformed(f"'{field.name}' has runs without elements")
    tensor, at = _cut_from(graph, field, begin, count)
    every = np.append(0, np.cumsum(count))[first]
    if (np.diff(every) != size).any():
        raise Malformed(f"'{field.name}' has edges whose lengths differ from those of their runs")
    return concat(Slices(tensor, 0, at, at + count)), every[:-1], size


def _cut_from(graph: Graph, field: Field, begin: Array, size: Array) -> tuple[Tensor, Array]:
    """Return a tensor with the elements of intervals, and the start of each interval in it.

    Each interval is in one variable; the variables that are used are concatenated in the tensor.
    """
    filled = size > 0
    if not filled.any():
        return Tensor(graph, field.element, empty((0,))), np.zeros_like(size)
    variables = graph.space.variables
    owner = graph.space.owners(np.where(filled, begin, begin[filled][0]))
    base = np.array([variable.base for variable in variables], np.int64)
    length = np.array([variable.num_elements for variable in variables], np.int64)
    if (filled & (begin - base[owner] + size > length[owner])).any():
        raise Malformed(f"an edge of '{field.name}' exceeds its variable")
    used = np.unique(owner)
    place = np.zeros(len(variables), np.int64)
    place[used] = np.cumsum(length[used]) - length[used]
    wholes = [
        tensor_of(graph, field.element, variables[k].view.reshape((variables[k].num_elements,)))
        for k in used.tolist()
    ]
    at = np.where(filled, begin - base[owner] + place[owner], 0)
    return (concat(wholes) if len(wholes) > 1 else wholes[0]), at


def _regular(graph: Graph, field: Field, edges: SavedEdges, count: int) -> Tensor | None:
    """Return evenly spaced edges in one variable as one tensor; None for any other edges."""
    start, rows, size = edges.start, edges.rows.only, edges.length.only
    if not isinstance(start, Steps) or not start.count or rows is None or not size:
        return None
    owner = graph.space.variables[graph.space.owner(start.low)]
    if start.low < owner.base or start.high + size > owner.base + owner.num_elements:
        return None
    outer, inner = ((start.digits, ()) if field.depth < 2 else start.split(count)) or (None, ())
    if outer is None:
        return None
    vertices, lists = (
        pack(coalesce([digit for digit in each if digit[0] > 1])) for each in (outer, inner)
    )
    shape = ((count,), (count, size), (count, rows, size))[field.depth]
    dims = ((vertices,), (vertices, 1), (vertices, lists, 1))[field.depth]
    return tensor_of(graph, field.element, View(shape, dims, start.first - owner.base, owner))


StateValue = bool | int | float | npt.NDArray[Any]


@frozen(eq=False)
class SavedVertex:
    """A vertex that was added by itself.

    Attributes:
        edges: the connection of each field: a tensor, or one tensor for each row.
        state: the value of each state field that has one.
        rows: for lists of edges with gaps, the rows that are connected.
        numbers: fields that were connected to plain numbers.
        sizes: the sizes of fields that were set.
        estimate: cycles and flops, if they were set.
    """

    vertex_class: type[Vertex]
    location: SourceLocation
    tile: int | None = None
    edges: Mapping[str, View | tuple[View, ...]] | None = None
    state: Mapping[str, StateValue] | None = None
    rows: Mapping[str, Mapping[int, View]] | None = None
    numbers: tuple[str, ...] = ()
    sizes: Mapping[str, int] | None = None
    estimate: tuple[int, int] | None = None


@frozen(eq=False)
class SavedComputeSet:
    """A compute set: vertices that were added one by one, and blocks of vertices, in order."""

    name: str
    location: SourceLocation
    parts: tuple[tuple[SavedVertex, ...] | SavedBlock, ...]


def saved_compute_set(compute_set: ComputeSet) -> SavedComputeSet:
    """Return the data of a compute set."""
    parts = tuple(
        tuple(map(_saved_vertex, part)) if isinstance(part, list) else saved_block(part)
        for part in compute_set.vertices.parts
    )
    return SavedComputeSet(compute_set.name, compute_set.location, parts)


def _saved_vertex(vertex: VertexInstance) -> SavedVertex:
    edges = {
        name: tuple(row.view for row in value) if isinstance(value, tuple) else value.view
        for name, value in vertex.connections.items()
        if name not in vertex.rows
    }
    rows = {
        name: {number: row.view for number, row in held.items()}
        for name, held in vertex.rows.items()
    }
    estimate = vertex.estimate
    state = {name: value for name, value in vertex.state.items() if name != _WORKERS}
    return SavedVertex(
        vertex.vertex_class,
        vertex.location,
        vertex.tile,
        edges or None,
        state or None,
        rows or None,
        vertex.numbers,
        dict(vertex.sizes) or None,
        None if estimate is None else (estimate.cycles, estimate.flops),
    )


_WORKERS = "num_workers"


def add_vertices(graph: Graph, compute_set: ComputeSet, saved: SavedComputeSet) -> None:
    """Add vertices from unchecked data to an empty compute set."""
    for part in saved.parts:
        if isinstance(part, SavedBlock):
            compute_set.vertices.append_block(add_block(graph, compute_set, part))
            continue
        for each in part:
            compute_set.vertices.append(_vertex(graph, compute_set, each))
    if len(compute_set.vertices.parts) > 1:
        _check_together(list(compute_set.vertices.blocks()))


def _check_together(blocks: Sequence[VertexBlock]) -> None:
    """Reject too many edges, since the edges of several blocks are not stored compactly."""
    edges = sum(each.rows.total() for block in blocks for each in block.edges.values())
    count = sum(map(len, blocks)) + edges
    check_room(BYTES_AN_EDGE * count, f"{count:,} vertices and edges of several blocks")


def _vertex(graph: Graph, compute_set: ComputeSet, saved: SavedVertex) -> VertexInstance:
    at = saved.location
    vertex = new_vertex(compute_set, saved.vertex_class, at)
    if saved.tile is not None:
        if not 0 <= saved.tile < graph.target.tiles:
            raise Malformed(f"{vertex} is on tile {saved.tile:,} of {graph.target.tiles:,}")
        vertex.tile = saved.tile
    edges, rows, sizes = saved.edges or {}, saved.rows or {}, saved.sizes or {}
    for name, size in sizes.items():
        set_size(_ref(vertex, name), size)
    values: dict[str, Any] = dict(saved.state or {})
    beside = {}
    for name, held in edges.items():
        field = _edge(vertex, name)
        if isinstance(held, View) and field.depth == 2 and len(held.shape) == 2:
            rows_bytes = BYTES_AN_EDGE * held.shape[0]
            take_room(rows_bytes, f"{held.shape[0]:,} rows of '{name}' of {vertex}")
        tensors = (
            tuple(tensor_of(graph, field.element, row) for row in held)
            if isinstance(held, tuple)
            else tensor_of(graph, field.element, held)
        )
        if field.is_implicit:
            beside[name] = _metadata(tensors)
        else:
            values[name] = tensors
    bind(vertex, values, at)
    for name, some in rows.items():
        for number, view in some.items():
            ref = FieldRef(vertex, _edge(vertex, name), number)
            if number < 0 or ref.field.depth != 2:
                raise Malformed(f"{vertex}: field '{name}' has no row {number:,}")
            bind_row(ref, tensor_of(graph, ref.field.element, view), at)
    # A field without elements has its own metadata, which is among the variables.
    vertex.connections.update(beside)
    for name in saved.numbers:
        if not _is_number(vertex.connections.get(name)):
            raise Malformed(f"{vertex}: field '{name}' must be connected to a number")
    vertex.numbers = saved.numbers
    if saved.estimate is not None:
        vertex.estimate = checked_estimate(f"{vertex}", *saved.estimate)
    return vertex


def _ref(vertex: VertexInstance, name: str) -> FieldRef:
    return FieldRef(vertex, check_declared(vertex, name))


def _edge(vertex: VertexInstance, name: str) -> Field:
    field = vertex.vertex_class.fields.get(name)
    if field is None or not field.is_edge:
        raise Malformed(f"{vertex} has no edge field '{name}'")
    return field


def _metadata(tensor: object) -> Tensor:
    if not isinstance(tensor, Tensor) or tensor.num_elements != 1 or tensor.rank:
        raise Malformed("metadata is one element")
    assert tensor.element_type is QUARTER_METADATA
    return tensor


def _is_number(tensor: object) -> bool:
    """Return whether a tensor is a whole one-element constant, as for a plain number."""
    if not isinstance(tensor, Tensor) or tensor.num_elements != 1:
        return False
    return isinstance(tensor.view.space, Variable) and tensor.view.space.constant
