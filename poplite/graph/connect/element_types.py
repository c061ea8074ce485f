"""The element types of a template's vertex, deduced from the tensors connected to it.

    class Add(Vertex, Generic[T]):      add_vertex(cs, Add, tile=0)        Add, still open
        x: Input[Vector[T]]             connect(vertex["k"], 2)            waits for its type
        k: Input[T]                     connect(vertex["x"], x)            x is FLOAT: Add[FLOAT]
                                                                           k is FLOAT 2.0

Only tensors determine types; a plain number or a state value takes the type that they determine.
Every call considers all connected tensors, so the order of the calls does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

from poplite.errors import ElementTypeError
from poplite.expr.operand import Operand
from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.tensor.tensor import Tensor
from poplite.text import clipped
from poplite.vertex.templates import example, refusal, specialise
from poplite.vertex.vertex import Field, Vertex


class _Seen(NamedTuple):
    """A tensor connected to a field of a type variable."""

    field: Field
    tensor: Tensor

    def __str__(self) -> str:
        return f"{self.field} is given '{self.tensor.name}', {self.tensor.element_type!r}"


def deduced(vertex: VertexInstance, values: Mapping[str, object]) -> type[Vertex]:
    """Return the class of a vertex added with a template; the template while types are open."""
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
                fix=f"a tensor of one of these, as for {example(template)}",
            )
    if len(seen) < len(template.type_variables):
        return template
    types = [seen[variable].tensor.element_type for variable in template.type_variables]
    made: type[Vertex] = specialise(template, types)
    return made


def check_open(vertex: VertexInstance, values: Mapping[str, object]) -> None:
    """Refuse a vertex whose element types can no longer be deduced.

    This happens when all edges of a type variable are connected to plain numbers.
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
            f"{vertex}: nothing connected tells which element type {name} is",
            found="\n".join([*numbers, *map(str, seen)]) or f"no field is of {name}",
            fix=f"name it: {example(template)} in place of {template.__name__}",
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
        f"fields '{one.field.name}' and '{other.field.name}' are both of {name}"
        if one.field is not other.field
        else f"all rows of field '{one.field.name}' are of {name}"
    )
    return ElementTypeError(
        f"{vertex}: {where}, but '{one.tensor.name}' is {one.tensor.element_type!r} "
        f"and '{other.tensor.name}' is {other.tensor.element_type!r}",
        found=f"declared {one.field}, and {other.field}"
        if one.field is not other.field
        else f"declared {one.field}",
        fix=f"tensors of one element type, or a type variable besides {name} for one of the fields",
    )
