"""Connecting the fields of vertices; each call is atomic.

    bind(vertex, {"x": x, "a": 2.0}, at)         edges and state by name
    bind_row(vertex["rows"][2], t, at)           one row of a list of edges

The rules are in `poplite.graph.connect.rules`. A vertex of a template gets its class here, as soon
as the connected tensors determine it.

Source: Poplar user guide, "Connecting vertices".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from inspect import isfunction
from typing import Any

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    PopliteError,
    UnknownField,
    UnknownVertexType,
    VertexDefinitionError,
    did_you_mean,
    listed,
)
from poplite.expr.operand import Operand
from poplite.graph.compute_sets.compute_set import (
    FieldRef,
    VertexInstance,
    check_row,
    check_sizes,
    set_size,
)
from poplite.graph.connect.rules import (
    as_number,
    as_state,
    check_open,
    check_overlaps,
    check_tensor,
    deduced,
    takes_number,
)
from poplite.graph.space import check_same_metadata
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_mapping import paint_view
from poplite.graph.tile_mapping import TileNumbers
from poplite.graph.variables import add_metadata, add_number
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped
from poplite.types import QuarterMetadata, metadata_edge
from poplite.vertex.fields import PLAIN
from poplite.vertex.from_source import is_of_graph, refusal_of_vertices, why_missing
from poplite.vertex.vertex import RESERVED_NAMES, Field, MultiVertex, Vertex, field_of, has_compute
from poplite.view import View
from poplite.walks import top_down


def vertex_class_of(value: object, codelets: Mapping[str, type[Vertex]]) -> type[Vertex]:
    """Return a vertex class, given as the class or its name, after checking for `compute`.

    `codelets` are the classes that only the graph knows by name, without blanks.
    """
    if isinstance(value, str):
        value = codelets.get(value.replace(" ", "")) or _class_named(value, codelets)
    if not (isinstance(value, type) and issubclass(value, Vertex)):
        raise UnknownVertexType(
            f"{clipped(value, 100)} is not a vertex class",
            found=f"its type is {type(value).__name__}",
            fix=f"class {value.__name__}(pl.Vertex): ..."
            if isinstance(value, type)
            else "pass the class itself: add_vertex(cs, Add, tile=0, ...)",
        )
    if not has_compute(value):
        raise _no_compute(value)
    if (refusal := refusal_of_vertices(value)) is not None:
        raise refusal
    return value


def not_by_name(cls: type[Vertex], surplus: tuple[object, ...]) -> ElementTypeError:
    """Return the error for fields of a vertex that are not given by name."""
    fields = cls.fields.values()
    named = [f"{field.name}=..." for field in fields if not field.is_implicit]
    return ElementTypeError(
        "graph.add_vertex: fields are given by name",
        found=f"given {clipped(surplus[0], 80)} after the class",
        fix=f"graph.add_vertex(cs, V, {', '.join(['tile=0', *named])})",
    )


def has_codelet(value: object, codelets: Mapping[str, type[Vertex]]) -> bool:
    """Return whether a vertex class is known; see `Graph.hasCodelet`."""
    if isinstance(value, str):
        return value.replace(" ", "") in codelets or bool(classes_named(value))
    return isinstance(value, type) and issubclass(value, Vertex)


def classes_named(name: str) -> list[type[Vertex]]:
    """Return the vertex classes with a name that have been defined and still exist."""
    known = top_down(Vertex.__subclasses__(), type.__subclasses__)
    named = [cls for cls in known if cls.__name__ == name]
    return [cls for cls in named if why_missing(cls) is None and not is_of_graph(cls)]


def _class_named(name: str, codelets: Iterable[str]) -> type[Vertex]:
    found = classes_named(name)
    if len(found) == 1:
        return found[0]
    places = sorted(f"{cls.__module__}.{cls.__qualname__} ({cls.location})" for cls in found)
    raise UnknownVertexType(
        f"{amount(len(found), 'vertex class', 'vertex classes')} called {clipped(name, 60)}"
        f"{did_you_mean(name, codelets)}",
        found=listed(places, "classes") if found else "no class with that name is defined",
        fix="pass the class itself: add_vertex(cs, Add, tile=0, ...)",
    )


def _no_compute(cls: type[Vertex]) -> VertexDefinitionError:
    what = f"vertex class '{cls.__name__}' has no compute"
    if cls in (Vertex, MultiVertex):
        return VertexDefinitionError(
            what,
            found=f"{cls.__name__} is a base of vertex classes",
            fix="declare fields and def compute(self) -> None in a class derived from Vertex",
        )
    methods = [
        name
        for base in cls.__mro__
        if base not in (Vertex, MultiVertex, object)
        for name, value in vars(base).items()
        if isfunction(value) and name != "compute"
    ]
    nearest = get_close_matches("compute", methods, n=1)
    if nearest:
        what += f", but '{nearest[0]}' (did you mean 'compute'?)"
    worker = ", worker: int" if issubclass(cls, MultiVertex) else ""
    return VertexDefinitionError(
        what,
        found=f"class {cls.__name__} ({cls.location})",
        fix=f"define compute(self{worker}) -> None in it, or in a class derived from it",
    )


def field_ref(field: object) -> FieldRef:
    """Return the field that a call names: `vertex["x"]`, `vertex["x"][2]` or `(vertex, "x")`."""
    if isinstance(field, FieldRef):
        return field
    if isinstance(field, tuple) and len(field) == 2 and isinstance(field[0], VertexInstance):
        return field[0][field[1]]
    raise GraphConnectionError(
        f"connect: {clipped(field, 80)} is not a field of a vertex",
        found=f"its type is {type(field).__name__}"
        + (f" of {field.vertex_class.__name__}" if isinstance(field, VertexInstance) else ""),
        fix="graph.connect(vertex['x'], tensor), with vertex['x'][2] for a row of a list of edges",
    )


def bind(vertex: VertexInstance, values: Mapping[str, object], at: SourceLocation) -> None:
    """Connect edges and set state of a vertex by field name, atomically.

    Constants are created for numbers, with the user's line `at`.
    """
    check_single(vertex)
    if vertex.template is None:
        _bind(vertex, values, at)
        return
    with _deducing(vertex, values, at):
        _bind(vertex, values, at)


def check_single(vertex: VertexInstance) -> None:
    """Refuse to change a vertex that was added together with others."""
    if vertex.block is None:
        return
    raise GraphConnectionError(
        f"{vertex} is one of {len(vertex.block):,} vertices that were added together, and cannot "
        "be changed",
        found=f"connected and put on tiles by add_vertices at {vertex.location}",
        fix="pass other fields or tiles to add_vertices, or add this vertex with add_vertex",
    )


def bind_edge(ref: FieldRef, value: object, at: SourceLocation) -> None:
    """Connect an edge of a vertex, or a row of a list of edges; see `Graph.connect`."""
    if not ref.field.is_edge:
        raise GraphConnectionError(
            f"{ref.vertex}: field '{ref.field.name}' is state, not an edge",
            found=f"declared {ref.field}",
            fix=f"graph.set_initial_value(vertex['{ref.field.name}'], value)",
        )
    if ref.index is None:
        bind(ref.vertex, {ref.field.name: value}, at)
    else:
        bind_row(ref, value, at)


def bind_state(ref: FieldRef, value: object) -> None:
    """Set a state field of a vertex; see `Graph.set_initial_value`."""
    if ref.field.is_edge:
        raise GraphConnectionError(
            f"{ref.vertex}: field '{ref.field.name}' is an edge, not state",
            found=f"declared {ref.field}",
            fix=f"graph.connect(vertex['{ref.field.name}'], tensor)",
        )
    bind(ref.vertex, {ref.field.name: value}, here())


def set_field_size(ref: FieldRef, size: int) -> None:
    """Set the number of rows or values of a field; a list of 0 rows is connected at once."""
    check_single(ref.vertex)
    set_size(ref, size)
    if size == 0 and ref.field.is_edge and ref.field.name not in ref.vertex.connections:
        bind(ref.vertex, {ref.field.name: ()}, here())


def put_on_tile(vertex: VertexInstance, tiles: TileNumbers, tile: object) -> None:
    """Put a vertex on a tile, with the constants that were created for its numbers."""
    check_single(vertex)
    vertex.tile = tiles.checked(tile, vertex.label)
    for constant in vertex.constants:
        paint_view(vertex.graph.space, constant.view, vertex.tile)


def _bind(vertex: VertexInstance, values: Mapping[str, object], at: SourceLocation) -> None:
    edges: dict[str, Tensor | tuple[Tensor, ...]] = {}
    numbers: dict[str, bool | int | float] = {}
    state: dict[str, Any] = {}
    waiting: dict[str, object] = {}
    written, rows, quarters = 0, False, False
    fields = vertex.vertex_class.fields
    is_new = not (vertex.connections or vertex.rows or vertex.waiting)
    for name, value in values.items():
        field = fields.get(name)
        if field is None or field.is_implicit:
            field = check_declared(vertex, name)  # always raises
        if not field.is_edge:
            if field.variable is None or isinstance(value, Tensor):
                state[name] = _state(vertex, field, value)
            else:
                waiting[name] = copy(value)
            continue
        if not is_new:
            _check_free(vertex, field)
        written += field.writes
        quarters = quarters or (field.variable is None and field.element.requires_metadata)
        if type(value) is Tensor or isinstance(value, Operand):
            if type(value) is not Tensor and not field.writes:  # such as the index of a loop
                value = value._read_as()  # noqa: PLW2901
            edges[name] = check_tensor(vertex, field, value, field.depth)
            if field.layout is not PLAIN or vertex.sizes:
                check_sizes(vertex, field, value)
        elif field.depth == 2 and isinstance(value, list | tuple):
            for row in value:
                check_tensor(vertex, field, row, 1)
            check_sizes(vertex, field, value)
            edges[name] = tuple(value)
            rows = True
        elif field.variable is None or not takes_number(field, value):
            numbers[name] = as_number(vertex, field, value)
        else:
            waiting[name] = value
    if vertex.vertex_class.type_variables:
        check_open(vertex, values)
    if written > 1 or (written and (rows or vertex.connections)):
        check_overlaps(vertex, vertex.connections | edges)
    if quarters:
        edges |= _metadata_edges(vertex, edges)
    vertex.connections.update(edges)
    if state:
        vertex.state.update(state)
    if waiting:
        vertex.waiting = {**vertex.waiting, **waiting}
    if numbers:
        _connect_numbers(vertex, numbers, at)


def _state(vertex: VertexInstance, field: Field, value: object) -> object:
    stored = as_state(vertex, field, value)
    if field.depth:
        check_sizes(vertex, field, stored)
    return stored


def _metadata_edges(
    vertex: VertexInstance,
    edges: Mapping[str, Tensor | tuple[Tensor, ...]],
) -> dict[str, Tensor]:
    """Return the tensors of the metadata edges of QUARTER fields; the rows of a list share one."""
    found: dict[str, Tensor] = {}
    for name, value in edges.items():
        field = vertex.vertex_class.fields[name]
        if field.variable is None and field.element.requires_metadata:
            rows = value if isinstance(value, tuple) else (value,)
            views = [row.view for row in rows]
            check_same_metadata(f"{vertex}: field '{name}'", vertex.graph.space, *views)
            # The metadata of rows without elements does not matter.
            filled_first = sorted(rows, key=lambda row: row.view.num_elements == 0)
            metadata = next((row.metadata for row in filled_first if row.has_metadata()), None)
            if metadata is None:  # no elements, so any metadata is suitable
                any_ = QuarterMetadata("F143")
                variable = add_metadata(
                    vertex.graph.space,
                    f"{vertex.vertex_class.__name__} {vertex.index}/{name}",
                    any_,
                    0,
                )
                metadata = Tensor(vertex.graph, variable.element_type, variable.view)
            found[metadata_edge(name)] = metadata
    return found


def _connect_numbers(
    vertex: VertexInstance, numbers: Mapping[str, bool | int | float], at: SourceLocation
) -> None:
    graph, fields = vertex.graph, vertex.vertex_class.fields
    for name, number in numbers.items():
        element = fields[name].element
        variable = add_number(graph.space, element, number, vertex.tile, at)
        vertex.connections[name] = Tensor(graph, element, View((), (), 0, variable))
    vertex.numbers = (*vertex.numbers, *numbers)


@contextmanager
def _deducing(
    vertex: VertexInstance, values: Mapping[str, object], at: SourceLocation
) -> Iterator[None]:
    """Set the class of a template's vertex once it is known, and convert waiting numbers.

    The class is restored when the body of the `with` block fails.
    """
    numbers: dict[str, bool | int | float] = {}
    state: dict[str, Any] = {}
    metadata: dict[str, Tensor] = {}
    before = vertex.vertex_class
    vertex.vertex_class = deduced(vertex, values)
    is_known = not vertex.vertex_class.type_variables
    try:
        if is_known:
            metadata = _metadata_edges(vertex, vertex.connections)
        for name, value in vertex.waiting.items() if is_known else ():
            field = vertex.vertex_class.fields[name]
            if field.is_edge:
                numbers[name] = as_number(vertex, field, value)
            elif name not in values:  # otherwise a new value replaces it
                state[name] = _state(vertex, field, value)
        yield
    except PopliteError:
        vertex.vertex_class = before
        raise
    if is_known:
        vertex.waiting = {}
        vertex.state.update(state)
        vertex.connections.update(metadata)
        _connect_numbers(vertex, numbers, at)


def bind_row(ref: FieldRef, value: object, at: SourceLocation) -> None:
    """Connect one row of a list of edges.

    The field counts as connected once its rows have no gap and their number is the size that was
    set, if any.
    """
    check_single(ref.vertex)
    if ref.vertex.template is None:
        _bind_row(ref, value)
        return
    with _deducing(ref.vertex, {ref.field.name: value}, at):
        _bind_row(ref, value)


def _bind_row(ref: FieldRef, value: object) -> None:
    vertex, name = ref.vertex, ref.field.name
    field = vertex.vertex_class.fields[name]
    assert ref.index is not None
    rows = vertex.rows.get(name, {})
    if ref.index in rows or (name in vertex.connections and not rows):
        raise _connected_already(vertex, f"{name}[{ref.index}]")
    check_tensor(vertex, field, value, 1)
    assert isinstance(value, Tensor)
    check_row(ref, value)
    rows = {**rows, ref.index: value}
    in_order = tuple(rows[i] for i in sorted(rows))
    if field.writes:
        check_overlaps(vertex, vertex.connections | {name: in_order})
    vertex.connections.update(_metadata_edges(vertex, {name: in_order}))
    vertex.rows = {**vertex.rows, name: rows}
    vertex.connections.pop(name, None)
    if max(rows) == len(rows) - 1 and len(rows) == vertex.sizes.get(name, len(rows)):
        vertex.connections[name] = in_order


def check_declared(vertex: VertexInstance, name: str) -> Field:
    """Return a field that may be connected by name, or refuse the name."""
    declared = vertex.vertex_class.fields.get(name)
    if declared is not None and declared.is_implicit:
        raise _connected_implicitly(vertex, declared)
    if declared is not None:
        return declared
    if name in RESERVED_NAMES:
        raise UnknownField(
            f"'{vertex.vertex_class.__name__}' has no field '{name}', which is not a valid "
            "field name",
            found="declared: "
            + (", ".join(map(str, vertex.vertex_class.fields.values())) or "none"),
            fix=f"add_vertex(cs, {vertex.vertex_class.__name__}, tile=0, ...) with declared fields"
            + ("; messages name a vertex by its class and number" if name == "name" else ""),
        )
    return field_of(vertex.vertex_class, name)


def _connected_implicitly(vertex: VertexInstance, field: Field) -> GraphConnectionError:
    owner = field.name.partition(".")[0]
    return GraphConnectionError(
        f"{vertex}: '{field.name}' is connected with '{owner}', and cannot be connected alone",
        found=f"declared {vertex.vertex_class.fields[owner]}",
        fix=f"connect '{owner}' to a QUARTER tensor, which also connects its metadata",
    )


def _check_free(vertex: VertexInstance, field: Field) -> None:
    name = field.name
    if name in vertex.connections or name in vertex.rows or name in vertex.waiting:
        raise _connected_already(vertex, field.name)


def _connected_already(vertex: VertexInstance, edge: str) -> GraphConnectionError:
    return GraphConnectionError(
        f"{vertex}: field '{edge}' is already connected",
        found=f"vertex added at {vertex.location}",
        fix="connect each edge once; join several tensors with pl.concat",
    )
