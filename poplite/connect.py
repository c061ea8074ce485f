"""What may stand behind a field: every rule of connecting, checked at the call.

An edge takes exactly one tensor of exactly its element type::

    Input[T]                  one element, any rank, or a plain number
    Input[Vector[T]]          rank 1
    Input[Vector[Vector[T]]]  rank 2 (its rows), or a list of rank 1

Whatever is written may not be constant, may not hold an element twice, and no two written
fields of one vertex may overlap: each would leave open which value stays.  An Input may
overlap an Output of the same vertex; it reads the values from before the compute set.

Source: Poplar user guide, "Connecting vertices"; tests of poplibs for the refusals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from poplite.compute_set import FieldRef, VertexInstance
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    UnknownField,
    VertexDefinitionError,
)
from poplite.source import SourceLocation
from poplite.tensor import Tensor
from poplite.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.values import elements, scalar
from poplite.vertex import RESERVED_NAMES, Field, Vertex, field_of
from poplite.view import View, contains_aliases, intersects
from poplite.view import concat as concat_views
from poplite.words import clipped, counted


def vertex_class_of(value: object, at: SourceLocation) -> type[Vertex]:
    """Return a vertex class after checking that vertices of it can run.

    Args:
        value: what the user gave.
        at: the user's line.

    Raises:
        ElementTypeError: when it is no class derived from Vertex.
        VertexDefinitionError: when it has no `compute`.

    >>> import poplite as pl
    >>> class Nothing(pl.Vertex):
    ...     def compute(self) -> None:
    ...         pass
    >>> vertex_class_of(Nothing, Nothing.location).__name__
    'Nothing'
    """
    if not (isinstance(value, type) and issubclass(value, Vertex)):
        raise ElementTypeError(
            f"{clipped(value, 100)} is no vertex class",
            at=at,
            found=f"its type is {type(value).__name__}",
            fix="pass the class itself: add_vertex(cs, Add, tile=0, ...)",
        )
    if value.compute is Vertex.compute:
        raise VertexDefinitionError(
            f"vertex class '{value.__name__}' has no compute",
            at=at,
            found="Vertex is the base of vertex classes"
            if value is Vertex
            else f"class {value.__name__} ({value.location})",
            fix="declare fields and def compute(self) -> None in a class derived from Vertex",
        )
    return value


def field_ref(field: object, at: SourceLocation) -> FieldRef:
    """Return the field that a call names.

    Args:
        field: `vertex["x"]`, `vertex["x"][2]`, or a pair `(vertex, "x")`.
        at: the user's line.

    Raises:
        GraphConnectionError: when it is something else.
        UnknownField: for a name the class does not declare.

    >>> import poplite as pl
    >>> class Zero(pl.Vertex):
    ...     x: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 0.0
    >>> graph = pl.Graph()
    >>> vertex = graph.add_vertex(graph.add_compute_set("zero"), Zero)
    >>> field_ref((vertex, "x"), vertex.location)
    <FieldRef 'x' of Zero 0 on no tile>
    """
    if isinstance(field, FieldRef):
        return field
    if isinstance(field, tuple) and len(field) == 2 and isinstance(field[0], VertexInstance):
        return field[0][field[1]]
    raise GraphConnectionError(
        f"connect: {clipped(field, 80)} is no field of a vertex",
        at=at,
        found=f"its type is {type(field).__name__}"
        + (f" of {field.vertex_class.__name__}" if isinstance(field, VertexInstance) else ""),
        fix="graph.connect(vertex['x'], tensor), or vertex['x'][2] for a row of a list of edges",
    )


def bind(vertex: VertexInstance, values: Mapping[str, object], at: SourceLocation) -> None:
    """Connect edges and set state of a vertex, all or nothing.

    Args:
        vertex: the vertex.
        values: what goes behind each field, by name.
        at: the user's line.

    Raises:
        UnknownField: for a name the class does not declare.
        GraphConnectionError: for an edge connected already, or that may not be written.
        ElementTypeError: for another element type, or something that is no tensor.
        SizeOverflowError: for a number outside the range of the field.

    >>> import poplite as pl
    >>> class Fill(pl.Vertex):
    ...     value: pl.Input[pl.FLOAT]
    ...     x: pl.Output[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] = self.value
    >>> graph = pl.Graph()
    >>> vertex = graph.add_vertex(graph.add_compute_set("fill"), Fill, tile=0)
    >>> bind(vertex, {"value": 1.5, "x": graph.add_variable(pl.FLOAT, (4,))}, vertex.location)
    >>> sorted(vertex.connections)
    ['value', 'x']
    """
    edges: dict[str, Tensor | tuple[Tensor, ...]] = {}
    numbers: dict[str, bool | int | float] = {}
    state: dict[str, Any] = {}
    declared = vertex.vertex_class.fields
    written, rows = 0, False
    for name, value in values.items():
        field = declared.get(name) or _field(vertex, name, at)
        if field.role == "state":
            state[name] = _state(vertex, field, value, at)
            continue
        _check_free(vertex, field, at)
        written += field.writes
        if isinstance(value, Tensor):
            _check_tensor(vertex, field, value, field.depth, at)
            edges[name] = value
        elif field.depth == 2 and isinstance(value, list | tuple):
            for row in value:
                _check_tensor(vertex, field, row, 1, at)
            edges[name] = tuple(value)
            rows = True
        else:
            numbers[name] = _number(vertex, field, value, at)
    if written > 1 or (written and (rows or vertex.connections)):
        _check_overlaps(vertex, vertex.connections | edges, at)
    vertex.connections.update(edges)
    vertex.state.update(state)
    for name, number in numbers.items():
        constant = vertex.graph._add_number(declared[name].element, number, vertex.tile, at)
        vertex.connections[name] = constant
        vertex.constants.append(constant)


def bind_row(ref: FieldRef, value: object, at: SourceLocation) -> None:
    """Connect one row of a list of edges.

    The field counts as connected once the rows seen so far have no gap.

    Args:
        ref: the row.
        value: a 1-D tensor.
        at: the user's line.

    Raises:
        GraphConnectionError: when that row is connected already, or may not be written.
        ElementTypeError: for another element type, or something that is no tensor.

    >>> import poplite as pl
    >>> class Sum(pl.Vertex):
    ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    ...     def compute(self) -> None:
    ...         pass
    >>> graph = pl.Graph()
    >>> vertex = graph.add_vertex(graph.add_compute_set("sum"), Sum, tile=0)
    >>> bind_row(vertex["rows"][0], graph.add_variable(pl.FLOAT, (4,)), vertex.location)
    >>> len(vertex.connections["rows"])
    1
    """
    vertex, field, name = ref.vertex, ref.field, ref.field.name
    assert ref.index is not None
    rows = vertex.rows.get(name, {})
    if ref.index in rows or (name in vertex.connections and not rows):
        raise _connected_already(vertex, f"{name}[{ref.index}]", at)
    _check_tensor(vertex, field, value, 1, at)
    assert isinstance(value, Tensor)
    rows = rows | {ref.index: value}
    in_order = tuple(rows[i] for i in sorted(rows))
    if field.writes:
        _check_overlaps(vertex, vertex.connections | {name: in_order}, at)
    vertex.rows[name] = rows
    vertex.connections.pop(name, None)
    if max(rows) == len(rows) - 1:
        vertex.connections[name] = in_order


def _field(vertex: VertexInstance, name: str, at: SourceLocation) -> Field:
    if name in RESERVED_NAMES:
        raise UnknownField(
            f"'{vertex.vertex_class.__name__}' has no field '{name}', and no field can be "
            "called so",
            at=at,
            found="declared: "
            + (", ".join(map(str, vertex.vertex_class.fields.values())) or "none"),
            fix=f"add_vertex(cs, {vertex.vertex_class.__name__}, tile=0, ...) with declared fields"
            + ("; a vertex is called by its class and number" if name == "name" else ""),
        )
    return field_of(vertex.vertex_class, name, at=at)


def _check_free(vertex: VertexInstance, field: Field, at: SourceLocation) -> None:
    if field.name in vertex.connections or field.name in vertex.rows:
        raise _connected_already(vertex, field.name, at)


def _connected_already(
    vertex: VertexInstance, edge: str, at: SourceLocation
) -> GraphConnectionError:
    return GraphConnectionError(
        f"{vertex}: field '{edge}' is connected already",
        at=at,
        found=f"vertex added at {vertex.location}",
        fix="connect each edge once; several tensors go together with pl.concat",
    )


def _check_tensor(
    vertex: VertexInstance, field: Field, value: object, rank: int, at: SourceLocation
) -> None:
    if not isinstance(value, Tensor):
        raise ElementTypeError(
            f"{vertex}: field '{field.name}' is given {_shown(value)}, not a tensor",
            at=at,
            found=f"declared {field}",
            fix=_tensor_instead(field, value),
        )
    if value.graph is not vertex.graph:
        raise GraphConnectionError(
            f"{vertex}: field '{field.name}': '{value.name}' belongs to another graph",
            at=at,
            found=f"the vertex is of {vertex.graph!r}, the tensor of {value.graph!r}",
            fix="make the variable with this graph's add_variable",
        )
    if value.element_type is not field.element:
        raise ElementTypeError(
            f"{vertex}: field '{field.name}' needs {field.element!r}, "
            f"but '{value.name}' is {value.element_type!r}",
            at=at,
            found=f"declared {field}",
            fix=f"a variable of {field.element!r}, or declare the field of {value.element_type!r}",
        )
    if value.num_elements != 1 if rank == 0 else value.rank != rank:
        raise _wrong_rank(vertex, field, value, rank, at)
    if field.writes and not value.is_parallel_writeable():
        raise _not_writeable(vertex, field, value, at)


def _wrong_rank(
    vertex: VertexInstance, field: Field, tensor: Tensor, rank: int, at: SourceLocation
) -> GraphConnectionError:
    needed = ("exactly 1 element", "rank 1", "rank 2, or a list of tensors of rank 1")[rank]
    remedy = (
        f"connect one element, or declare {field.name} as a Vector",
        "t.flatten(), or one vertex for each row",
        "t.expand([0]) for a list of one edge",
    )[rank]
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' needs {needed}, but '{tensor.name}' has "
        f"rank {tensor.rank} and {counted(tensor.num_elements, 'element')}",
        at=at,
        found=f"declared {field}; connected {type_and_shape(tensor)}",
        fix=remedy,
    )


def _not_writeable(
    vertex: VertexInstance, field: Field, tensor: Tensor, at: SourceLocation
) -> GraphConnectionError:
    reason, fact = why_not_writeable(tensor)
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' writes '{tensor.name}', which {reason}",
        at=at,
        found=f"declared {field}; connected {type_and_shape(tensor)}\n{fact}",
        fix="a constant is never written: make a variable (graph.add_variable), and Copy the "
        "constant to it first where its values are needed"
        if tensor.contains_constant()
        else "connect the view before broadcast, upsample or concat with itself",
    )


def _check_overlaps(
    vertex: VertexInstance,
    connections: Mapping[str, Tensor | tuple[Tensor, ...]],
    at: SourceLocation,
) -> None:
    """Refuse two written edges of one vertex that share an element."""
    edges = list(_written(vertex, connections))
    if len(edges) < 2:
        return
    views = [_flat(tensor) for _, tensor in edges]
    if len(views) == 2:
        if not intersects(*views):
            return
    elif not contains_aliases(concat_views(views, 0)):
        return
    first, second = next(
        (a, b) for b in range(len(views)) for a in range(b) if intersects(views[a], views[b])
    )
    raise GraphConnectionError(
        f"{vertex}: fields '{edges[first][0]}' and '{edges[second][0]}' both write "
        f"elements of '{edges[first][1].name}'",
        at=at,
        found=f"both hold {shared(edges[first][1], edges[second][1])}",
        fix="give each output its own elements; InOut if it is one value read and written",
    )


def _written(
    vertex: VertexInstance, connections: Mapping[str, Tensor | tuple[Tensor, ...]]
) -> Iterator[tuple[str, Tensor]]:
    fields = vertex.vertex_class.fields
    for name, value in connections.items():
        if not fields[name].writes:
            continue
        if isinstance(value, tuple):
            yield from ((f"{name}[{row}]", tensor) for row, tensor in enumerate(value))
        else:
            yield name, value


def _flat(tensor: Tensor) -> View:
    return tensor.flatten().view


def _number(
    vertex: VertexInstance, field: Field, value: object, at: SourceLocation
) -> bool | int | float:
    if field.role == "input" and field.depth == 0 and isinstance(value, int | float | np.generic):
        what = f"{vertex}: field '{field.name}'"
        return scalar(field.element, value, what=what, at=at)
    _check_tensor(vertex, field, value, field.depth, at)
    raise AssertionError("a tensor is no number")


def _state(vertex: VertexInstance, field: Field, value: object, at: SourceLocation) -> object:
    what = f"{vertex}: field '{field.name}'"
    if isinstance(value, Tensor):
        raise ElementTypeError(
            f"{what} is given tensor '{value.name}', but it is state",
            at=at,
            found=f"declared {field}",
            fix=f"a number, or declare {field.name} as Input[...]",
        )
    if field.depth == 0:
        return scalar(field.element, value, what=what, at=at)  # type: ignore[arg-type]
    values = elements(field.element, value, what=what, at=at)  # type: ignore[arg-type]
    if values.ndim != 1:
        raise GraphConnectionError(
            f"{what} needs values of rank 1, but is given rank {values.ndim}",
            at=at,
            found=f"declared {field}; given shape {values.shape}",
            fix="a list of numbers, or array.ravel()",
        )
    values.flags.writeable = False
    return values


def _tensor_instead(field: Field, value: object) -> str:
    kind, number = repr(field.element), isinstance(value, int | float | np.generic)
    if field.depth == 2:
        if isinstance(value, Iterator):
            return f"{field.name}=list(...), a list of 1-D tensors"
        return "a list of 1-D tensors, or a 2-D tensor"
    if field.writes:
        shape = "()" if field.depth == 0 else "(n,)"
        return f"a tensor to write to: graph.add_variable({kind}, {shape}, mapping=tile)"
    if number:
        return (
            f"graph.add_constant({kind}, (n,), {value}, mapping=tile) for n equal elements; "
            f"a plain number goes to {field.name}: Input[{kind}]"
        )
    if isinstance(value, list | tuple):
        return "pl.concat(...) of the tensors, or graph.add_constant of the numbers"
    return f"graph.add_constant({kind}, array.shape, array, mapping=tile)"


def _shown(value: object) -> str:
    return clipped(value) if isinstance(value, int | float | str) else f"a {type(value).__name__}"
