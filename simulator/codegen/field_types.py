"""Numba types of `self` and of its fields, and how they lie in registers.

`self` is a struct held in registers: a pointer for a scalar edge, pointer and length for a
vector, the value itself for scalar state.  Nothing is allocated and nothing is boxed::

    self ─┬─ x: Input[Vector[FLOAT]]           {float* data, i64 length}
          ├─ rows: Input[Vector[Vector[FLOAT]]]  {float* data, i64 rows, i64 stride, i64 length}
          │        (or, where rows are not evenly spaced: {float* base, i32* table, i64 rows})
          ├─ y: Output[FLOAT]                  float*
          └─ n: State[INT]                     i64

A vector that is checked carries the fault record beside its address, one of QUARTER its metadata
byte, read once for each vertex.  `accesses` is the code that loads and stores.

Importing this module imports Numba.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import ref

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError

from poplite.executable.descriptor import RowForm
from poplite.jit.numba_context import referred
from poplite.machine.floating_point import STOCHASTIC
from poplite.simulator.codegen.variant import Variant
from poplite.types import BOOL, FLOAT, HALF, QUARTER, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.vertex import Field, Vertex

INDEX, NARROW = ir.IntType(64), ir.IntType(32)
_NUMBERS = count()


@dataclass(frozen=True)
class Scope:
    """Which loads and stores belong together: one field of one vertex class.

    Attributes:
        own: unique name of the field.
        others: names of the class's other fields, none of which overlaps it.
    """

    own: str
    others: tuple[str, ...]


def value_type(element: type[ElementType[Any]]) -> Any:
    """Numba type that `compute` sees for an element type."""
    if element.is_floating_point:
        return types.float32
    if element is UNSIGNED_LONGLONG:
        return types.uint64
    return types.boolean if element is BOOL else types.int64


def storage_type(element: type[ElementType[Any]]) -> ir.Type:
    """LLVM type of an element in memory."""
    return ir.FloatType() if element is FLOAT else ir.IntType(8 * element.size_bytes)


class VectorType(types.IterableType):
    """One edge of many elements.

    Args:
        element: its element type.
        scope: for alias analysis; None where code is to be priced.
        writable: whether `compute` may store to it.
        fault: field number that a checked access records; None for unchecked access.
        mode: how stores behave (`poplite.machine.floating_point`).
    """

    def __init__(
        self,
        element: type[ElementType[Any]],
        scope: Scope | None,
        writable: bool,
        fault: int | None,
        mode: int = 0,
    ) -> None:
        self.element, self.scope, self.writable, self.fault = element, scope, writable, fault
        self.mode = mode if writable and element in (HALF, QUARTER) else 0
        self.value = value_type(element)
        super().__init__(f"Vector({element!r}, {scope}, {writable}, {fault}, {self.mode})")

    @property
    def is_random(self) -> bool:
        """Whether stores round by chance."""
        return bool(self.mode & STOCHASTIC)

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
    """A list of edges.

    Args:
        vector: type of a row.
        form: how rows are found.
    """

    def __init__(self, vector: VectorType, form: RowForm) -> None:
        self.vector, self.form = vector, form
        super().__init__(f"Rows({vector.name}, {form})")


class ScalarType(types.Type):
    """A scalar edge: the address of one element."""

    def __init__(self, vector: VectorType) -> None:
        self.vector = vector
        super().__init__(f"Scalar({vector.name})")


class SelfType(types.Type):
    """`self` of one vertex class.

    Args:
        cls: the vertex class.
        forms: form of each list field, None for other fields.
        variant: what its driver does.
        mode: how floating-point arithmetic behaves (`poplite.machine.floating_point`).
    """

    def __init__(
        self,
        cls: type[Vertex],
        forms: tuple[RowForm | None, ...],
        variant: Variant,
        mode: int = 0,
    ) -> None:
        self._cls = ref(cls)  # Numba keeps types for ever
        self.forms, self.variant, self.mode = forms, variant, mode
        self.members = [
            (field.name, _member_type(cls, field, number, form, variant, mode))
            for number, (field, form) in enumerate(zip(cls.fields.values(), forms, strict=True))
        ]
        self.by_name = dict(self.members)
        name = f"{cls.__module__}.{cls.__qualname__}"
        # Numba takes types of one name for one, also when the class of the first is gone.
        super().__init__(f"{name}({next(_NUMBERS)}, {forms}, {variant}, {mode})")

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

        Raises:
            TypingError: with the reason; Numba adds the user's line.
        """
        member = self.by_name.get(name)
        if not isinstance(member, ScalarType):
            raise TypingError(f"self.{name} cannot be assigned: it is no scalar Output or InOut")
        stored_type(member.vector, value, f"self.{name}")


def element_access(
    cls: type[Vertex],
    field: Field,
    fault: int | None = None,
    mode: int = 0,
    *,
    priced: bool = False,
) -> VectorType:
    """Return the type under which elements of a field are loaded and stored.

    Args:
        cls: the vertex class.
        field: one of its fields.
        fault: see `VectorType`.
        mode: see `VectorType`.
        priced: whether the code is to be priced.
    """
    if priced:
        return VectorType(field.element, None, field.writes, fault, mode)
    names = {name: f"{cls.__module__}.{cls.__qualname__}.{name}" for name in cls.fields}
    own = names.pop(field.name)
    return VectorType(field.element, Scope(own, tuple(names.values())), field.writes, fault, mode)


def pair_type(form: RowForm) -> ir.Type:
    """LLVM type of the numbers in a table of rows."""
    return NARROW if form == "pairs" else INDEX


def _member_type(
    cls: type[Vertex],
    field: Field,
    number: int,
    form: RowForm | None,
    variant: Variant,
    mode: int,
) -> Any:
    in_memory = variant.priced and field.element.is_floating_point
    if field.role == "state" and field.depth == 0 and not in_memory:
        return value_type(field.element)
    fault = number if variant.checked else None
    vector = element_access(cls, field, fault, mode, priced=variant.priced)
    if field.depth == 0:
        return ScalarType(vector)
    return vector if field.depth == 1 else RowsType(vector, form or "stride")


def stored_type(vector: VectorType, value: Any, what: str) -> Any:
    """Return the Numba type that a stored value is cast to.

    Args:
        vector: how the element is stored.
        value: Numba type of the value.
        what: what is stored to, for the message.

    Raises:
        TypingError: with the reason; Numba adds the user's line.
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


def _pointer(vector: VectorType) -> Any:
    return types.CPointer(_Stored(vector.element))


class _Stored(types.Type):
    """An element as it lies in memory."""

    def __init__(self, element: type[ElementType[Any]]) -> None:
        self.element = element
        super().__init__(f"stored({element!r})")


@register_default(_Stored)
class _StoredModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Stored) -> None:
        super().__init__(manager, kind, storage_type(kind.element))


def _store_members(vector: VectorType) -> list[tuple[str, Any]]:
    """Members that stores need beside the address; loads of QUARTER need the first."""
    members = [("metadata", types.uint8)] if vector.element.requires_metadata else []
    if vector.is_random:
        members += [("random", types.CPointer(types.int32))]
    return members


def _companions(vector: VectorType) -> list[tuple[str, Any]]:
    """Members that accesses by index need beside the address."""
    members = _store_members(vector)
    if vector.fault is not None:
        members += [("faults", types.CPointer(types.int64)), ("vertex", types.int64)]
    return members


@register_default(VectorType)
class _VectorModel(models.StructModel):
    def __init__(self, manager: Any, kind: VectorType) -> None:
        members = [("data", _pointer(kind)), ("length", types.int64), *_companions(kind)]
        super().__init__(manager, kind, members)


@register_default(RowsType)
class _RowsModel(models.StructModel):
    def __init__(self, manager: Any, kind: RowsType) -> None:
        members = [("data", _pointer(kind.vector)), ("rows", types.int64)]
        if kind.form == "stride":
            members += [("stride", types.int64), ("length", types.int64)]
        else:
            pair = types.uint32 if kind.form == "pairs" else types.int64
            members += [("table", types.CPointer(pair))]
        super().__init__(manager, kind, members + _companions(kind.vector))


@register_default(ScalarType)
class _ScalarModel(models.StructModel):
    def __init__(self, manager: Any, kind: ScalarType) -> None:
        members = [("data", _pointer(kind.vector)), *_store_members(kind.vector)]
        super().__init__(manager, kind, members)


@register_default(SelfType)
class _SelfModel(models.StructModel):
    def __init__(self, manager: Any, kind: SelfType) -> None:
        super().__init__(manager, kind, kind.members)


@register_default(VectorIteratorType)
class _VectorIteratorModel(models.StructModel):
    def __init__(self, manager: Any, kind: VectorIteratorType) -> None:
        members = [("vector", kind.vector), ("position", types.EphemeralPointer(types.int64))]
        super().__init__(manager, kind, members)
