"""Accesses of `compute` to `self`: their types and their code.

Every access is a call to a small function that `accessors` defines later. So a class is typed and
lowered once, and the same code can run with or without checks, in any mode of floating-point
arithmetic, and can be priced::

    x.inside.0(index, length, about)    whether an index is inside field 0; if not, compute ends
    row.1(rows, index)                  the start of row `index` of list 1, and its length
    load.0(address)                     an element, widened to the type in compute
    store.2(address, value)             stores a value, narrowed to the element type
    state.3(value, address)             scalar state

Stored values differ from those that `compute` sees (`docs/arithmetic.md`): INT is four bytes in
memory and a 64-bit integer in arithmetic, HALF two bytes and a float32. Indices do not wrap around,
since LLVM could then not load consecutive elements as one vector.

`self` is a struct in registers: an address for a scalar edge, address and length for a
vector, the value for scalar state. No memory is allocated and no value is boxed::

    self ─┬─ x: Input[Vector[FLOAT]]             {data, length}
          ├─ rows: Input[Vector[Vector[FLOAT]]]  {data, rows, stride, length, table}
          ├─ y: Output[FLOAT]                    {data}
          └─ n: State[INT]                       {data, value}

The types are the same for all uses of the code. Parts that a use does not need (such as the table
for evenly spaced rows) are left undefined, and disappear when LLVM has inlined the code.

Values through which elements are accessed also carry the address of the vertex record (`about`),
and for a field of QUARTER its metadata byte, read once for each vertex.

Importing this module imports Numba, and registers the rules with `poplite.jit.rules`.
"""

from __future__ import annotations

import inspect
import operator
from itertools import count
from types import FunctionType
from typing import Any
from weakref import ref

from llvmlite import ir
from numba import TypingError, types

from poplite.jit.kernel_code import OUTSIDE_STATUS, call_named, on_stack
from poplite.jit.numba_context import Emission, referred
from poplite.jit.rules import (
    code_for,
    code_for_attributes,
    code_for_next,
    code_for_stores,
    code_for_walk,
    function_type,
    held_in_one,
    held_in_parts,
    method_type,
    rule_for,
    rule_for_attributes,
)
from poplite.simulator.codegen.accessors import (
    EVEN,
    HOLDS,
    INDEX,
    INSIDE,
    LOAD,
    ROW,
    STATE,
    STORE,
    TRUTH,
    storage_type,
)
from poplite.types import BOOL, HALF, QUARTER, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.compute import bounds as guards
from poplite.vertex.vertex import Field, Vertex

# -- types -----------------------------------------------------------------------------------------


_NUMBERS = count()


def value_type(element: type[ElementType[Any]]) -> Any:
    """Return the Numba type that `compute` sees for an element type."""
    if element.is_floating_point:
        return types.float32
    if element is UNSIGNED_LONGLONG:
        return types.uint64
    return types.boolean if element is BOOL else types.int64


class VectorType(types.IterableType):
    """An edge of many elements; `number` is the position of the field in its class."""

    def __init__(self, field: Field, number: int) -> None:
        self.element, self.number, self.writable = field.element, number, field.writes
        self.value = value_type(field.element)
        super().__init__(f"Vector({field.element!r}, {number}, {field.writes})")

    @property
    def iterator_type(self) -> Any:
        """The type of an iterator over the elements."""
        return VectorIteratorType(self)


class VectorIteratorType(types.SimpleIteratorType):
    """An iterator over the elements of a vector."""

    def __init__(self, vector: VectorType) -> None:
        self.vector = vector
        super().__init__(f"iter({vector.name})", vector.value)


class RowsType(types.Type):
    """A list of edges; `vector` is the type of a row."""

    def __init__(self, vector: VectorType) -> None:
        self.vector = vector
        super().__init__(f"Rows({vector.name})")


class ScalarType(types.Type):
    """A scalar edge, which is the address of one element, or scalar state, also with its value."""

    def __init__(self, vector: VectorType, *, is_state: bool) -> None:
        self.vector, self.is_state = vector, is_state
        super().__init__(f"Scalar({vector.name}, {is_state})")


class SelfType(types.Type):
    """The type of `self` in one vertex class."""

    def __init__(self, cls: type[Vertex]) -> None:
        self._cls = ref(cls)  # weak, since Numba keeps types forever
        fields = cls.fields.values()
        self.members = [(f.name, _member_type(f, number)) for number, f in enumerate(fields)]
        self.by_name = dict(self.members)
        # For Numba, types with equal names are equal, even if the class of the first is deleted.
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
        """Reject `self.name = value` if it is not a store to a scalar edge.

        Raises `TypingError` with the reason; Numba adds the user's line.
        """
        member = self.by_name.get(name)
        if not isinstance(member, ScalarType) or member.is_state:
            raise TypingError(f"self.{name} cannot be assigned: it is not a scalar Output or InOut")
        stored_type(member.vector, value, f"self.{name}")


def _member_type(field: Field, number: int) -> Any:
    vector = VectorType(field, number)
    if field.depth == 0:
        return ScalarType(vector, is_state=field.role == "state")
    return vector if field.depth == 1 else RowsType(vector)


def stored_type(vector: VectorType, value: Any, what: str) -> Any:
    """Return the Numba type to which a stored value is cast; `what` is its target in messages.

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


# -- representation in memory ----------------------------------------------------------------------


class _Stored(types.Type):
    """An element as stored in memory."""

    def __init__(self, element: type[ElementType[Any]]) -> None:
        self.element = element
        super().__init__(f"stored({element!r})")


@held_in_one(_Stored)
def _register_of_stored(kind: _Stored) -> ir.Type:
    return storage_type(kind.element)


def _members(vector: VectorType, *own: tuple[str, Any]) -> list[tuple[str, Any]]:
    """Return the members of a type with elements: address, own members, members for accesses."""
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


_UNKNOWN = TRUTH(0)
"""Marks the missing guard of an access."""

# -- calls to accessors ----------------------------------------------------------------------------


def companions(vector: VectorType, parts: Any) -> list[Any]:
    """Return the arguments that loads and stores need in addition to the element's address."""
    return [parts.metadata] if vector.element.requires_metadata else []


def _check_range(
    code: Emission, vector: VectorType, parts: Any, index: Any, length: Any, is_inside: Any
) -> None:
    """Emit the range check of an access, unless a guard has made it already.

    A fault is recorded and `compute` returns; its driver then returns as well, so that the
    first fault of a chunk is reported and no element outside a field is accessed.
    """
    builder, name = code.builder, f"{INSIDE}{vector.number}"
    with builder.if_then(builder.not_(is_inside)):
        inside = call_named(builder, name, TRUTH, [index, length, parts.about])
        with builder.if_then(builder.not_(inside), likely=False):
            code.stop(OUTSIDE_STATUS)


def _load(code: Emission, vector: VectorType, parts: Any, at: Any) -> Any:
    name, kind = f"{LOAD}{vector.number}", code.register(vector.value)
    return call_named(code.builder, name, kind, [at, parts.about, *companions(vector, parts)])


def _store(code: Emission, vector: VectorType, parts: Any, at: Any, value: Any) -> None:
    arguments = [at, value, parts.about, *companions(vector, parts)]
    found = call_named(code.builder, f"{STORE}{vector.number}", ir.IntType(32), arguments)
    if code.watch is not None and vector.element in (HALF, QUARTER):
        code.watch.stored(code, found)


def _element(code: Emission, vector: Any, index: Any, is_inside: Any) -> tuple[Any, Any]:
    """Emit the check of an index; return the members of the vector and the element's address."""
    kind = code.kinds[0]
    parts = code.parts(kind, vector)
    _check_range(code, kind, parts, index, parts.length, is_inside)
    return parts, code.builder.gep(parts.data, [index], inbounds=True)


def _place_of_row(code: Emission, kind: RowsType, parts: Any, index: Any) -> tuple[Any, Any]:
    """Emit the address of a row of a list, and its length."""
    name, place = f"{ROW}{kind.vector.number}", ir.LiteralStructType([INDEX, INDEX])
    arguments = [parts.stride, parts.length, parts.table, index]
    row = call_named(code.builder, name, place, arguments)
    return code.builder.extract_value(row, 0), code.builder.extract_value(row, 1)


# -- typing ----------------------------------------------------------------------------------------


@rule_for(operator.getitem)
def _type_get(owner: Any, index: Any) -> Any:
    return _type_element(owner, index) if _has_elements(owner) and _is_int(index) else None


@rule_for(operator.setitem)
def _type_set(owner: Any, index: Any, value: Any) -> Any:
    if isinstance(owner, VectorType) and _is_int(index):
        return _type_store(owner, index, value)
    return None


@rule_for(len)
def _type_len(owner: Any) -> Any:
    return (types.int64, owner) if _has_elements(owner) else None


@rule_for(guards.element)
def _type_element(owner: Any, index: Any, *guard: Any) -> Any:
    result = owner.vector if isinstance(owner, RowsType) else owner.value
    return result, owner, types.int64, *([types.boolean] * len(guard))


@rule_for(guards.store)
def _type_store(owner: Any, index: Any, value: Any, *guard: Any) -> Any:
    stored = stored_type(owner, value, "the field")
    return types.none, owner, types.int64, stored, *([types.boolean] * len(guard))


@rule_for(guards.holds)
def _type_holds(guard: Any) -> Any:
    return types.boolean, types.boolean


@rule_for(guards.fits, guards.row_fits, guards.rows_fit, guards.is_small)
def _type_guard(*args: Any) -> Any:
    return types.boolean, *(types.int64 if _is_int(each) else each for each in args)


def _has_elements(kind: Any) -> bool:
    return isinstance(kind, (VectorType, RowsType))


def _is_int(kind: Any) -> bool:
    return isinstance(types.unliteral(kind), types.Integer)


@rule_for_attributes(SelfType)
def _type_attribute(kind: SelfType, name: str) -> Any:
    if name in kind.by_name:
        member = kind.by_name[name]
        return member.vector.value if isinstance(member, ScalarType) else member
    method = inspect.getattr_static(kind.cls, name, None)
    if isinstance(method, FunctionType):
        return method_type(method, kind)
    if isinstance(method, staticmethod):
        return function_type(method.__func__)
    constant = kind.constant(name)
    return None if constant is None else _constant_type(constant)


def _constant_type(value: float) -> Any:
    if isinstance(value, bool):
        return types.boolean
    return types.int64 if isinstance(value, int) else types.float64


# -- code ------------------------------------------------------------------------------------------


@code_for(operator.getitem, VectorType, types.Integer)
@code_for(guards.element, VectorType, types.Integer, types.Boolean)
def _emit_get(code: Emission, vector: Any, index: Any, is_inside: Any = _UNKNOWN) -> Any:
    parts, address = _element(code, vector, index, is_inside)
    return _load(code, code.kinds[0], parts, address)


@code_for(operator.setitem, VectorType, types.Integer, types.Any)
@code_for(guards.store, VectorType, types.Integer, types.Any, types.Boolean)
def _emit_set(
    code: Emission, vector: Any, index: Any, value: Any, is_inside: Any = _UNKNOWN
) -> None:
    parts, address = _element(code, vector, index, is_inside)
    _store(code, code.kinds[0], parts, address, value)


@code_for(operator.getitem, RowsType, types.Integer)
@code_for(guards.element, RowsType, types.Integer, types.Boolean)
def _emit_row(code: Emission, rows: Any, index: Any, is_inside: Any = _UNKNOWN) -> Any:
    kind = code.kinds[0]
    parts, row = code.parts(kind, rows), code.parts(kind.vector)
    _check_range(code, kind.vector, parts, index, parts.rows, is_inside)
    offset, length = _place_of_row(code, kind, parts, index)
    row.data = code.builder.gep(parts.data, [offset], inbounds=True)
    row.length, row.about = length, parts.about
    if kind.vector.element.requires_metadata:
        row.metadata = parts.metadata
    return code.value_of(row)


@code_for(guards.fits, VectorType, types.Integer, types.Integer)
def _emit_fits(code: Emission, owner: Any, least: Any, most: Any) -> Any:
    return _is_between(code.builder, least, most, _emit_vector_len(code, owner))


@code_for(guards.fits, RowsType, types.Integer, types.Integer)
def _emit_rows_fits(code: Emission, owner: Any, least: Any, most: Any) -> Any:
    return _is_between(code.builder, least, most, _emit_rows_len(code, owner))


@code_for(guards.row_fits, RowsType, types.Integer, types.Integer, types.Integer)
def _emit_row_fits(code: Emission, rows: Any, row: Any, least: Any, most: Any) -> Any:
    builder, owner = code.builder, code.parts(code.kinds[0], rows)
    found = on_stack(builder, TRUTH)
    builder.store(TRUTH(0), found)
    with builder.if_then(builder.icmp_unsigned("<", row, owner.rows)):
        _, length = _place_of_row(code, code.kinds[0], owner, row)
        builder.store(_is_between(builder, least, most, length), found)
    return builder.load(found)


@code_for(guards.rows_fit, RowsType, types.Integer, types.Integer)
def _emit_all_rows_fit(code: Emission, rows: Any, least: Any, most: Any) -> Any:
    kind, name = code.kinds[0], f"{EVEN}{code.kinds[0].vector.number}"
    even = call_named(code.builder, name, INDEX, [code.parts(kind, rows).length])
    return _is_between(code.builder, least, most, even)


@code_for(guards.holds, types.Boolean)
def _emit_holds(code: Emission, guard: Any) -> Any:
    return call_named(code.builder, HOLDS, TRUTH, [guard])


@code_for(guards.is_small, types.Integer)
def _emit_is_small(code: Emission, number: Any) -> Any:
    limit = 1 << guards.NUMBER_BITS
    moved = code.builder.add(number, INDEX(limit))
    return code.builder.icmp_unsigned("<", moved, INDEX(2 * limit))


def _is_between(builder: ir.IRBuilder, least: Any, most: Any, length: Any) -> Any:
    is_inside = builder.icmp_signed("<", most, length)
    return builder.and_(builder.icmp_signed(">=", least, INDEX(0)), is_inside)


@code_for(len, VectorType)
def _emit_vector_len(code: Emission, owner: Any) -> Any:
    return code.parts(code.kinds[0], owner).length


@code_for(len, RowsType)
def _emit_rows_len(code: Emission, owner: Any) -> Any:
    return code.parts(code.kinds[0], owner).rows


@code_for_walk(VectorType)
def _emit_walk(code: Emission, vector: Any) -> Any:
    walk = code.parts(code.result)
    walk.vector, walk.position = vector, on_stack(code.builder, INDEX)
    code.builder.store(INDEX(0), walk.position)
    return code.value_of(walk)


@code_for_next(VectorIteratorType)
def _emit_next(code: Emission, walk: Any, found: Any) -> None:
    builder, kind = code.builder, code.kinds[0].vector
    parts = code.parts(code.kinds[0], walk)
    vector, position = code.parts(kind, parts.vector), builder.load(parts.position)
    found.second = more = builder.icmp_signed("<", position, vector.length)
    with builder.if_then(more):
        address = builder.gep(vector.data, [position], inbounds=True)
        found.first = _load(code, kind, vector, address)
        builder.store(builder.add(position, INDEX(1)), parts.position)


def _member(code: Emission, owner: Any, name: str) -> Any:
    """Emit one field of `self`, without a copy of `self`, which may have hundreds of fields."""
    place = [each for each, _ in code.kinds[0].members].index(name)
    return code.builder.extract_value(owner, place)


@code_for_attributes(SelfType)
def _emit_attribute(code: Emission, owner: Any, name: str) -> Any:
    (kind,) = code.kinds
    if name not in kind.by_name:
        if isinstance(inspect.getattr_static(kind.cls, name), staticmethod):
            return None
        constant = kind.constant(name)
        assert constant is not None, "typing accepts only fields, methods and constants"
        return code.constant(_constant_type(constant), constant)
    member, held = kind.by_name[name], _member(code, owner, name)
    if not isinstance(member, ScalarType):
        return held
    scalar = code.parts(member, held)
    if member.is_state:
        name, value = f"{STATE}{member.vector.number}", scalar.value
        return call_named(code.builder, name, value.type, [value, scalar.data])
    return _load(code, member.vector, scalar, scalar.data)


@code_for_stores(SelfType)
def _emit_store(code: Emission, owner: Any, value: Any, name: str) -> None:
    member = code.kinds[0].by_name[name]
    scalar = code.parts(member, _member(code, owner, name))
    _store(code, member.vector, scalar, scalar.data, value)
