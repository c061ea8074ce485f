"""The rules about what may be connected to a field, checked at the call.

An edge takes one tensor, of exactly its element type::

    Input[T]                  one element, any rank, or a plain number
    Input[Vector[T]]          rank 1
    Input[Vector[Vector[T]]]  rank 2 (its rows), or a list of rank 1

A written tensor may not be constant or hold an element twice, and no two written fields of one
vertex may overlap, since it would be open which value remains. An Input may overlap an Output of
the same vertex: it reads a copy of the values from before the compute set. Overlaps with an InOut,
and between vertices of a compute set, are checked when everything is connected
(`poplite.compile.races`).

Source: Poplar user guide, "Connecting vertices"; PopLibs' tests for the refusals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from poplite.errors import ElementTypeError, GraphConnectionError, SizeOverflowError
from poplite.expr.tree import stored_first
from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.storage.host_values import elements, held_number, scalar
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import shared, type_and_shape, why_not_writeable
from poplite.text import amount, clipped
from poplite.vertex.vertex import RESERVED_NAMES, Field
from poplite.view import View, concat as concat_views, contains_aliases, intersects
from poplite.view.contiguous.nested import MOST_RUNS


def check_tensor(vertex: VertexInstance, field: Field, value: object, rank: int) -> None:
    """Refuse a tensor that a field cannot be connected to.

    A field of a type variable takes any element type. `rank` 0 means one element of any rank.
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
            found=f"the vertex is of {vertex.graph!r}, the tensor of {value.graph!r}",
            fix="make the variable with this graph's add_variable",
        )
    if value.element_type is not field.element and field.variable is None:
        raise ElementTypeError(
            f"{vertex}: field '{field.name}' needs {field.element!r}, "
            f"but '{value.name}' is {value.element_type!r}",
            found=f"declared {field}",
            fix=f"a variable of {field.element!r}, or declare the field of {value.element_type!r}",
        )
    shape = value.view.shape
    if math.prod(shape) != 1 if rank == 0 else len(shape) != rank:
        raise _wrong_rank(vertex, field, value, rank)
    if rank == 2 and shape[0] > MOST_RUNS:
        raise SizeOverflowError(
            f"{vertex}: field '{field.name}' is given {shape[0]:,} rows; at most {MOST_RUNS:,} are "
            "edges of one vertex",
            found=f"connected {type_and_shape(value)}",
            fix="connect fewer rows, or one vertex for each part of them",
        )
    if field.writes and not value.is_parallel_writeable():
        raise _not_writeable(vertex, field, value)


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
    """Return a suggestion of how to make the rank that a field needs."""
    if rank == 0:
        return f"connect one element, or declare {field.name} as a Vector"
    if rank == 1:
        return "t.flatten()" + (", or one vertex for each row" if shape else " for one element")
    if len(shape) < 2:
        return f"t.reshape({(1, math.prod(shape))}) for a list of one edge"
    rows = math.prod(shape[:-1])
    return f"t.reshape({(rows, shape[-1])}) for a list of {amount(rows, 'edge')}"


def _not_writeable(vertex: VertexInstance, field: Field, tensor: Tensor) -> GraphConnectionError:
    reason, fact = why_not_writeable(tensor)
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' writes '{tensor.name}', which {reason}",
        found=f"declared {field}; connected {type_and_shape(tensor)}\n{fact}",
        fix="a constant is never written: make a variable (graph.add_variable), and Copy the "
        "constant to it first where its values are needed"
        if tensor.contains_constant()
        else "connect the view before broadcast, upsample or concat with itself",
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


def as_number(vertex: VertexInstance, field: Field, value: object) -> bool | int | float:
    """Return a plain number in the type of an Input, or refuse anything else."""
    if takes_number(field, value):
        held = held_number(field.element, value)
        if held is not None:
            return held
        what = f"{vertex}: field '{field.name}'"
        return scalar(field.element, value, what=what)  # type: ignore[arg-type]
    check_tensor(vertex, field, value, field.depth)
    raise AssertionError("a tensor is no number")


def takes_number(field: Field, value: object) -> bool:
    """Tell whether a field takes a value as a plain number, which becomes a constant."""
    return field.role == "input" and field.depth == 0 and isinstance(value, _NUMBERS)


_NUMBERS = (int, float, np.generic)


def as_state(vertex: VertexInstance, field: Field, value: object) -> object:
    """Return the value of a state field as it is stored."""
    if field.depth == 0 and field.name not in RESERVED_NAMES:
        held = held_number(field.element, value)
        if held is not None:
            return held
    what = f"{vertex}: field '{field.name}'"
    if field.name in RESERVED_NAMES:
        raise GraphConnectionError(
            f"{what} is not set by hand",
            found=f"it is {vertex.state[field.name]}, the worker threads of a tile of the target",
            fix="Graph(Target(workers=...)) for another number",
        )
    if isinstance(value, Tensor):
        raise ElementTypeError(
            f"{what} is given tensor '{value.name}', but it is state",
            found=f"declared {field}",
            fix=f"a number, or declare {field.name} as Input[...]",
        )
    if field.depth == 0:
        return scalar(field.element, value, what=what)  # type: ignore[arg-type]
    values = elements(field.element, value, what=what)  # type: ignore[arg-type]
    if values.ndim != 1:
        raise GraphConnectionError(
            f"{what} needs values of rank 1, but is given rank {values.ndim}",
            found=f"declared {field}; given shape {values.shape}",
            fix="a list of numbers, or array.ravel()",
        )
    values.flags.writeable = False
    return values


def _tensor_instead(field: Field, value: object) -> str:
    kind, number = field.element_name, isinstance(value, int | float | np.generic)
    if field.depth == 2:
        if isinstance(value, Iterator):
            return f"{field.name}=list(...), a list of 1-D tensors"
        return "a list of 1-D tensors, or a 2-D tensor"
    if field.writes:
        shape = "()" if field.depth == 0 else "(n,)"
        return f"a tensor to write to: graph.add_variable({kind}, {shape}, mapping=tile)"
    if field.depth == 0:
        return "a plain number, or a tensor of one element such as x[0]"
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
