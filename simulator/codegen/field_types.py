"""Numba types of `self` and of its fields, and how they lie in registers.

`self` is a struct held in registers: an address for a scalar edge, address and length for a
vector, the value for scalar state.  Nothing is allocated and nothing is boxed::

    self ─┬─ x: Input[Vector[FLOAT]]             {data, length}
          ├─ rows: Input[Vector[Vector[FLOAT]]]  {data, rows, stride, length, table}
          ├─ y: Output[FLOAT]                    {data}
          └─ n: State[INT]                       {data, value}

The types are the same however the code is used: `accesses` emits calls of small functions for
every access, and `accessors` defines these for one use.  What a use does not need (the table of
rows that are evenly spaced, say) is left undefined, and vanishes when LLVM has inlined them.

What reads or writes elements also carries the address of the vertex record (`about`), and a field
of QUARTER its metadata byte, read once for each vertex.

Importing this module imports Numba.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

from numba import TypingError, types

from poplite.jit.numba_context import referred
from poplite.jit.rules import held_in_one, held_in_parts
from poplite.simulator.codegen.accessors import storage_type
from poplite.types import BOOL, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.vertex import Field, Vertex

if TYPE_CHECKING:
    from llvmlite import ir

_NUMBERS = count()


def value_type(element: type[ElementType[Any]]) -> Any:
    """Numba type that `compute` sees for an element type."""
    if element.is_floating_point:
        return types.float32
    if element is UNSIGNED_LONGLONG:
        return types.uint64
    return types.boolean if element is BOOL else types.int64


class VectorType(types.IterableType):
    """One edge of many elements; `number` is that of the field in its class."""

    def __init__(self, field: Field, number: int) -> None:
        self.element, self.number, self.writable = field.element, number, field.writes
        self.value = value_type(field.element)
        super().__init__(f"Vector({field.element!r}, {number}, {field.writes})")

    @property
    def iterator_type(self) -> Any:
        """Type of a walk over the elements."""
        return VectorIteratorType(self)


class VectorIteratorType(types.SimpleIteratorType):
    """A walk over the elements of a vector."""

    def __init__(self, vector: VectorType) -> None:
        self.vector = vector
        super().__init__(f"iter({vector.name})", vector.value)


class RowsType(types.Type):
    """A list of edges; `vector` is the type of a row."""

    def __init__(self, vector: VectorType) -> None:
        self.vector = vector
        super().__init__(f"Rows({vector.name})")


class ScalarType(types.Type):
    """A scalar edge, the address of one element; or scalar state, which has its value beside it."""

    def __init__(self, vector: VectorType, *, is_state: bool) -> None:
        self.vector, self.is_state = vector, is_state
        super().__init__(f"Scalar({vector.name}, {is_state})")


class SelfType(types.Type):
    """`self` of one vertex class."""

    def __init__(self, cls: type[Vertex]) -> None:
        self._cls = ref(cls)  # Numba keeps types for ever
        fields = cls.fields.values()
        self.members = [(f.name, _member_type(f, number)) for number, f in enumerate(fields)]
        self.by_name = dict(self.members)
        # Types of equal names are equal to Numba, even when the class of the first is gone.
        super().__init__(f"{cls.__module__}.{cls.__qualname__}({next(_NUMBERS)})")

    @property
    def cls(self) -> type[Vertex]:
        """The vertex class."""
        return referred(self._cls)

    def constant(self, name: str) -> int | float | bool | None:
        """A number that the class defines, usable as a constant in `compute`."""
        value = getattr(self.cls, name, None)
        return value if isinstance(value, (bool, int, float)) else None

    def check_store(self, name: str, value: Any) -> None:
        """Refuse `self.name = value` where it is no store to a scalar edge.

        Raises `TypingError` with the reason; Numba adds the user's line.
        """
        member = self.by_name.get(name)
        if not isinstance(member, ScalarType) or member.is_state:
            raise TypingError(f"self.{name} cannot be assigned: it is no scalar Output or InOut")
        stored_type(member.vector, value, f"self.{name}")


def _member_type(field: Field, number: int) -> Any:
    vector = VectorType(field, number)
    if field.depth == 0:
        return ScalarType(vector, is_state=field.role == "state")
    return vector if field.depth == 1 else RowsType(vector)


def stored_type(vector: VectorType, value: Any, what: str) -> Any:
    """Return the Numba type that a stored value is cast to; messages say `what` is stored to.

    Raises `TypingError` with the reason; Numba adds the user's line.
    """
    if not vector.writable:
        raise TypingError(f"{what} is read-only")
    value = types.unliteral(value)
    numeric = isinstance(value, (types.Integer, types.Boolean))
    is_float = vector.element.is_floating_point and isinstance(value, types.Float)
    if not (numeric or is_float):
        raise TypingError(f"{what} holds {vector.element!r} and cannot store {value}")
    return vector.value


# -- what they are in memory -----------------------------------------------------------------


class _Stored(types.Type):
    """An element as it lies in memory."""

    def __init__(self, element: type[ElementType[Any]]) -> None:
        self.element = element
        super().__init__(f"stored({element!r})")


@held_in_one(_Stored)
def _register_of_stored(kind: _Stored) -> ir.Type:
    return storage_type(kind.element)


def _members(vector: VectorType, *own: tuple[str, Any]) -> list[tuple[str, Any]]:
    """Return the members of a type with elements: their address, its own, those accesses need."""
    members = [("data", types.CPointer(_Stored(vector.element))), *own]
    if vector.element.requires_metadata:
        members.append(("metadata", types.uint8))
    return [*members, ("about", types.CPointer(types.int64))]


@held_in_parts(VectorType)
def _parts_of_vector(kind: VectorType) -> list[tuple[str, Any]]:
    return _members(kind, ("length", types.int64))


@held_in_parts(RowsType)
def _parts_of_rows(kind: RowsType) -> list[tuple[str, Any]]:
    numbers = [(name, types.int64) for name in ("rows", "stride", "length")]
    return _members(kind.vector, *numbers, ("table", types.voidptr))


@held_in_parts(ScalarType)
def _parts_of_scalar(kind: ScalarType) -> list[tuple[str, Any]]:
    return _members(kind.vector, *([("value", kind.vector.value)] if kind.is_state else []))


@held_in_parts(SelfType)
def _parts_of_self(kind: SelfType) -> list[tuple[str, Any]]:
    return kind.members


@held_in_parts(VectorIteratorType)
def _parts_of_walk(kind: VectorIteratorType) -> list[tuple[str, Any]]:
    return [("vector", kind.vector), ("position", types.EphemeralPointer(types.int64))]
