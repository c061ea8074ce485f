"""The rules for connecting values to a field, checked at the call.

An edge takes one tensor with exactly its element type::

    Input[T]                  one element, any rank, or a plain number
    Input[Vector[T]]          rank 1
    Input[Vector[Vector[T]]]  rank 2 (its rows), or a list of rank 1

A written tensor may not be constant or contain an element twice, and no two written fields of one
vertex may overlap, since the result would be undefined. An Input may overlap an Output of
the same vertex: it reads a copy of the values from before the compute set. Overlaps with an InOut,
and between vertices of a compute set, are checked when everything is connected
(`poplite.compile.checks`).

The element types of a template's vertex are deduced from the tensors that are connected to it::

    class Add(Vertex, Generic[T]):      add_vertex(cs, Add, tile=0)        Add, not yet known
        x: Input[Vector[T]]             connect(vertex["k"], 2)            waits for its type
        k: Input[T]                     connect(vertex["x"], x)            x is FLOAT: Add[FLOAT]
                                                                           k is FLOAT 2.0

Only tensors determine types; a plain number or a state value takes the type that they determine.
Every call considers all connected tensors, so the order of the calls does not matter.

Source: Poplar user guide, "Connecting vertices"; for refused cases, PopLibs' tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import NamedTuple, TypeVar

import numpy as np

from poplite.errors import ElementTypeError, GraphConnectionError, SizeOverflowError
from poplite.expr.operand import Operand
from poplite.expr.tree import stored_first
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.host_values import converted_number, element_array, scalar
from poplite.graph.tensor.tensor import AnyGraph, Tensor, check_own
from poplite.graph.tensor.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.text import amount, clipped
from poplite.vertex.fields import example, refusal, specialise
from poplite.vertex.vertex import RESERVED_NAMES, Field, Vertex
from poplite.view import View, concat as concat_views, contains_aliases, intersects
from poplite.view.concatenation_leaves import MOST_RUNS


def check_tensor(vertex: VertexInstance, field: Field, value: object, rank: int) -> Tensor:
    """Return a tensor if it can be connected to a field, or refuse it.

    A field with a type variable takes any element type. `rank` 0 means one element of any rank.
    """
    if not isinstance(value, Tensor):
        raise ElementTypeError(
            f"{vertex}: field '{field.name}' is given {_shown(value)}, not a tensor",
            found=f"declared {field}",
            fix=stored_first(value, _tensor_instead(field, value)),
        )
    if value.graph is not vertex.graph:
        raise GraphConnectionError(
            f"{vertex}: field '{field.name}': '{value.name}' belongs to another graph",
            found=f"the vertex is in {vertex.graph!r}, the tensor in {value.graph!r}",
            fix="create the variable with this graph's add_variable",
        )
    if value.element_type is not field.element and field.variable is None:
        raise ElementTypeError(
            f"{vertex}: field '{field.name}' needs {field.element!r}, "
            f"but '{value.name}' is {value.element_type!r}",
            found=f"declared {field}",
            fix=f"pass {field.element!r} elements, or declare the field as {value.element_type!r}",
        )
    shape = value.view.shape
    if math.prod(shape) != 1 if rank == 0 else len(shape) != rank:
        raise _wrong_rank(vertex, field, value, rank)
    if rank == 2 and shape[0] > MOST_RUNS:
        raise SizeOverflowError(
            f"{vertex}: field '{field.name}' is given {shape[0]:,} rows; a vertex has at most "
            f"{MOST_RUNS:,} edges",
            found=f"connected {type_and_shape(value)}",
            fix="connect fewer rows, or use several vertices",
        )
    if field.writes and not value.is_parallel_writeable():
        raise _not_writeable(vertex, field, value)
    return value


def _wrong_rank(
    vertex: VertexInstance, field: Field, tensor: Tensor, rank: int
) -> GraphConnectionError:
    needed = ("exactly 1 element", "rank 1", "rank 2, or a list of tensors of rank 1")[rank]
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' needs {needed}, but '{tensor.name}' has "
        f"rank {tensor.rank} and {amount(tensor.num_elements, 'element')}",
        found=f"declared {field}; connected {type_and_shape(tensor)}",
        fix=_of_rank(field, tensor.shape, rank),
    )


def _of_rank(field: Field, shape: tuple[int, ...], rank: int) -> str:
    """Return a suggestion for a tensor with the rank that a field needs."""
    if rank == 0:
        return f"connect one element, or declare {field.name} as a Vector"
    if rank == 1:
        return "t.flatten()" + (", or use one vertex for each row" if shape else " for one element")
    if len(shape) < 2:
        return f"t.reshape({(1, math.prod(shape))}) for a list of one edge"
    rows = math.prod(shape[:-1])
    return f"t.reshape({(rows, shape[-1])}) for a list of {amount(rows, 'edge')}"


def _not_writeable(vertex: VertexInstance, field: Field, tensor: Tensor) -> GraphConnectionError:
    reason, fact = why_not_writeable(tensor)
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' writes '{tensor.name}', which {reason}",
        found=f"declared {field}; connected {type_and_shape(tensor)}\n{fact}",
        fix="use a variable (graph.add_variable), and Copy the constant to it first if its values "
        "are needed"
        if tensor.contains_constant()
        else "connect the view as it was before broadcast, upsample or concat with itself",
    )


def check_overlaps(
    vertex: VertexInstance,
    connections: Mapping[str, Tensor | tuple[Tensor, ...]],
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
        found=f"both contain {shared(edges[first][1], edges[second][1])}",
        fix="connect each output to separate elements, or use InOut for a value read and written",
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


def as_number(vertex: VertexInstance, field: Field, value: object) -> bool | int | float:
    """Return a plain number converted to the type of an Input, or refuse anything else."""
    if takes_number(field, value):
        number = converted_number(field.element, value)
        if number is not None:
            return number
        what = f"{vertex}: field '{field.name}'"
        return scalar(field.element, value, what=what)  # type: ignore[arg-type]
    check_tensor(vertex, field, value, field.depth)
    raise AssertionError("a tensor is not a number")


def takes_number(field: Field, value: object) -> bool:
    """Return whether a value is a plain number that a field accepts, as a constant."""
    return field.role == "input" and field.depth == 0 and isinstance(value, _NUMBERS)


_NUMBERS = (int, float, np.generic)


def as_state(vertex: VertexInstance, field: Field, value: object) -> object:
    """Return the value of a state field as it is stored."""
    if field.depth == 0 and field.name not in RESERVED_NAMES:
        number = converted_number(field.element, value)
        if number is not None:
            return number
    what = f"{vertex}: field '{field.name}'"
    if field.name in RESERVED_NAMES:
        raise GraphConnectionError(
            f"{what} cannot be set",
            found=f"it is {vertex.state[field.name]}, the target's number of workers per tile",
            fix="change the target: Graph(Target(workers=...))",
        )
    if isinstance(value, Tensor):
        raise ElementTypeError(
            f"{what} is state, but was given tensor '{value.name}'",
            found=f"declared {field}",
            fix=f"pass a number, or declare {field.name} as Input[...]",
        )
    if field.depth == 0:
        return scalar(field.element, value, what=what)  # type: ignore[arg-type]
    values = element_array(field.element, value, what=what)  # type: ignore[arg-type]
    if values.ndim != 1:
        raise GraphConnectionError(
            f"{what} needs values of rank 1, but is given rank {values.ndim}",
            found=f"declared {field}; given shape {values.shape}",
            fix="pass a list of numbers, or array.ravel()",
        )
    values.flags.writeable = False
    return values


def _tensor_instead(field: Field, value: object) -> str:
    kind, number = field.element_name, isinstance(value, int | float | np.generic)
    if field.depth == 2:
        if isinstance(value, Iterator):
            return f"pass {field.name}=list(...), a list of 1-D tensors"
        return "pass a list of 1-D tensors, or a 2-D tensor"
    if field.writes:
        shape = "()" if field.depth == 0 else "(n,)"
        return f"pass a tensor to write to: graph.add_variable({kind}, {shape}, mapping=tile)"
    if field.depth == 0:
        return "pass a plain number, or a tensor with one element such as x[0]"
    if number:
        return (
            f"graph.add_constant({kind}, (n,), {value}, mapping=tile) for n equal elements; "
            f"for a plain number, declare {field.name}: Input[{kind}]"
        )
    if isinstance(value, list | tuple):
        return "join tensors with pl.concat(...), or pass numbers to graph.add_constant"
    return f"graph.add_constant({kind}, array.shape, array, mapping=tile)"


def _shown(value: object) -> str:
    return clipped(value) if isinstance(value, int | float | str) else f"a {type(value).__name__}"


class _Seen(NamedTuple):
    """A tensor connected to a field with a type variable."""

    field: Field
    tensor: Tensor

    def __str__(self) -> str:
        return f"{self.field} is given '{self.tensor.name}', {self.tensor.element_type!r}"


def deduced(vertex: VertexInstance, values: Mapping[str, object]) -> type[Vertex]:
    """Return the class of a template's vertex, or the template if its types are not all known."""
    template = vertex.template
    assert template is not None
    seen: dict[TypeVar, _Seen] = {}
    for new in _tensors(vertex, template, values):
        variable = new.field.variable
        assert variable is not None
        first = seen.setdefault(variable, new)
        if new.tensor.element_type is not first.tensor.element_type:
            raise _conflict(vertex, variable, first, new)
        why = refusal(variable, new.tensor.element_type) if new is first else ""
        if why:
            raise ElementTypeError(
                f"{vertex}: '{new.tensor.name}' is {new.tensor.element_type!r}, but {why}",
                found=f"declared {new.field}",
                fix=f"pass a tensor of one of these types, for example for {example(template)}",
            )
    if len(seen) < len(template.type_variables):
        return template
    types = [seen[variable].tensor.element_type for variable in template.type_variables]
    specialised: type[Vertex] = specialise(template, types)
    return specialised


def check_open(vertex: VertexInstance, values: Mapping[str, object]) -> None:
    """Refuse a vertex whose element types can no longer be deduced.

    This happens if plain numbers are connected to all edges with a type variable.
    """
    template = vertex.vertex_class
    seen = list(_tensors(vertex, template, values))
    connected = {**vertex.connections, **vertex.waiting, **values}
    known = {each.field.variable for each in seen}
    for variable in template.type_variables:
        fields = [field for field in template.fields.values() if field.variable is variable]
        if variable in known or any(f.is_edge and f.name not in connected for f in fields):
            continue
        numbers = [
            f"{field} is given {clipped(connected[field.name])}"
            for field in fields
            if field.name in connected
        ]
        name = variable.__name__
        raise ElementTypeError(
            f"{vertex}: the connected values do not determine the element type {name}",
            found="\n".join([*numbers, *map(str, seen)]) or f"no field has type {name}",
            fix=f"name the type: {example(template)} in place of {template.__name__}",
        )


def _tensors(
    vertex: VertexInstance, template: type[Vertex], values: Mapping[str, object]
) -> Iterator[_Seen]:
    for name, field in template.fields.items():
        if field.variable is None or not field.is_edge:
            continue
        rows = vertex.rows.get(name, {}).values()
        for value in (vertex.connections.get(name), tuple(rows), values.get(name)):
            for tensor in value if isinstance(value, list | tuple) else (value,):
                if isinstance(tensor, Operand) and isinstance(read := tensor._read_as(), Tensor):
                    yield _Seen(field, read)


def _conflict(
    vertex: VertexInstance, variable: TypeVar, one: _Seen, other: _Seen
) -> ElementTypeError:
    name = variable.__name__
    where = (
        f"fields '{one.field.name}' and '{other.field.name}' both have type {name}"
        if one.field is not other.field
        else f"all rows of field '{one.field.name}' have type {name}"
    )
    return ElementTypeError(
        f"{vertex}: {where}, but '{one.tensor.name}' is {one.tensor.element_type!r} "
        f"and '{other.tensor.name}' is {other.tensor.element_type!r}",
        found=f"declared {one.field}, and {other.field}"
        if one.field is not other.field
        else f"declared {one.field}",
        fix=f"use tensors of one element type, or declare a second type variable besides {name}",
    )


def check_mapped(graph: AnyGraph, target: object) -> None:
    """Refuse anything but a tensor or a vertex of a graph as the target of a mapping."""
    if not isinstance(target, VertexInstance):
        call = _MAP_FIRST.get(type(target), _MAP_TENSOR)
        check_own(graph, target, "set_tile_mapping", call)
    elif target.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{target} belongs to another graph",
            fix="use the graph of the vertex: vertex.graph",
        )


_MAP_TENSOR = "pass the tensor first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)",
    VertexBlock: "pass the tiles of many vertices to add_vertices(cs, V, tile=...)",
}


def check_compute_set(graph: AnyGraph, value: object, call: str) -> None:
    """Refuse anything but a compute set of a graph."""
    if type(value) is ComputeSet and value.graph is graph.top_level_graph:
        return
    is_class = isinstance(value, type) and issubclass(value, Vertex)
    raise GraphConnectionError(
        f"{clipped(value, 100)} is not a compute set of {graph!r}",
        found="it belongs to another graph"
        if isinstance(value, ComputeSet)
        else f"its type is {type(value).__name__}",
        fix=f"pass the compute set first, then the class: {call}(cs, {value.__name__}, tile=0, ...)"  # type: ignore[attr-defined]
        if is_class
        else f"{call}(graph.add_compute_set(name), vertex_class, tile=0, ...)",
    )


def check_vertex(graph: AnyGraph, vertex: object, kind: type | UnionType, call: str) -> None:
    """Reject anything but a vertex or a block of vertices of this graph, as `kind` allows."""
    its = vertex.graph if isinstance(vertex, VertexInstance | VertexBlock) else None
    if isinstance(vertex, kind) and its is graph.top_level_graph:
        return
    other = its is not None and its is not graph.top_level_graph
    raise GraphConnectionError(
        f"{call}: {clipped(vertex, 100)} is not a vertex of {graph!r}",
        found="it belongs to another graph" if other else f"its type is {type(vertex).__name__}",
        fix="pass a vertex of this graph: the result of add_vertex, or block[0] of a block",
    )
