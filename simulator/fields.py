"""Numba types of `self` and of its fields, and the code they turn into.

`self` is a struct held in registers: a pointer for a scalar edge, pointer and length for a
vector, the value itself for scalar state.  Nothing is allocated and nothing is boxed::

    self ─┬─ x: Input[Vector[FLOAT]]           {float* data, i64 length}
          ├─ rows: Input[Vector[Vector[FLOAT]]]  {float* data, i64 rows, i64 stride, i64 length}
          │        (or, where rows are not evenly spaced: {float* base, i64* table, i64 rows})
          ├─ y: Output[FLOAT]                  float*
          └─ n: State[INT]                     i64

Three rules make this fast (measured against Numba's own arrays): no wrap-around of negative
indices, which costs LLVM its plain vector loads; alias scopes on every load and store, as the
race check proves that fields of one compute set do not overlap; pointers formed by GEP from a
typed base.  A checked vector carries a fault record instead of trusting the index.

What is stored and what `compute` sees differ (`docs/arithmetic.md`): INT is four bytes in
memory and a 64-bit integer in arithmetic, HALF two bytes and a float32.  A QUARTER field also
carries its metadata byte, read once for each vertex.

Importing this module imports Numba.
"""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError
from numba.core.imputils import RefType, iternext_impl
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, signature

from poplite.compile.descriptor import RowForm
from poplite.jit.context import lowerings, typing_rules
from poplite.jit.inlined import function_type, method_type
from poplite.simulator import codecs
from poplite.types import BOOL, FLOAT, HALF, QUARTER, UNSIGNED_LONGLONG, ElementType
from poplite.vertex import Field, Vertex

INDEX = ir.IntType(64)


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
        scope: for alias analysis.
        writable: whether `compute` may store to it.
        fault: field number that a checked access records; None for unchecked access.
    """

    def __init__(
        self, element: type[ElementType[Any]], scope: Scope, writable: bool, fault: int | None
    ) -> None:
        self.element, self.scope, self.writable, self.fault = element, scope, writable, fault
        self.value = value_type(element)
        super().__init__(f"Vector({element!r}, {scope}, {writable}, {fault})")

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
        checked: whether accesses are checked.
    """

    def __init__(self, cls: type[Vertex], forms: tuple[RowForm | None, ...], checked: bool) -> None:
        self.cls, self.forms, self.checked = cls, forms, checked
        self.members = [
            (field.name, _member_type(cls, field, number if checked else None, form))
            for number, (field, form) in enumerate(zip(cls.fields.values(), forms, strict=True))
        ]
        self.by_name = dict(self.members)
        super().__init__(f"{cls.__module__}.{cls.__qualname__}({id(cls)}, {forms}, {checked})")

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
        _stores(member.vector, value, f"self.{name}")


def element_access(cls: type[Vertex], field: Field, fault: int | None = None) -> VectorType:
    """Return the type under which elements of a field are loaded and stored.

    Args:
        cls: the vertex class.
        field: one of its fields.
        fault: see `VectorType`.
    """
    names = {name: f"{cls.__module__}.{cls.__qualname__}.{name}" for name in cls.fields}
    own = names.pop(field.name)
    return VectorType(field.element, Scope(own, tuple(names.values())), field.writes, fault)


def _member_type(cls: type[Vertex], field: Field, fault: int | None, form: RowForm | None) -> Any:
    if field.role == "state" and field.depth == 0:
        return value_type(field.element)
    vector = element_access(cls, field, fault)
    if field.depth == 0:
        return ScalarType(vector)
    return vector if field.depth == 1 else RowsType(vector, form or "stride")


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


def _metadata_members(vector: VectorType) -> list[tuple[str, Any]]:
    return [("metadata", types.uint8)] if vector.element.requires_metadata else []


def _companions(vector: VectorType) -> list[tuple[str, Any]]:
    """Members that accesses by index need beside the address."""
    members = _metadata_members(vector)
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
            members += [("table", types.CPointer(types.int64))]
        super().__init__(manager, kind, members + _companions(kind.vector))


@register_default(ScalarType)
class _ScalarModel(models.StructModel):
    def __init__(self, manager: Any, kind: ScalarType) -> None:
        members = [("data", _pointer(kind.vector)), *_metadata_members(kind.vector)]
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


# -- loads and stores ------------------------------------------------------------------------


def _mark(builder: ir.IRBuilder, access: Any, scope: Scope) -> Any:
    module = builder.module
    domain = module.add_metadata(["poplite"])

    def scopes(names: tuple[str, ...]) -> Any:
        return module.add_metadata([module.add_metadata([name, domain]) for name in names])

    access.set_metadata("alias.scope", scopes((scope.own,)))
    if scope.others:
        access.set_metadata("noalias", scopes(scope.others))
    return access


def load_element(
    context: Any, builder: ir.IRBuilder, vector: VectorType, address: Any, metadata: Any = None
) -> Any:
    """Emit a load of one element, widened to what `compute` sees.

    Args:
        context: target context of the code being compiled.
        builder: where.
        vector: how the element is stored.
        address: of the element.
        metadata: i8, for QUARTER.
    """
    element = vector.element
    stored = _mark(builder, builder.load(address, align=element.size_bytes), vector.scope)
    if element is FLOAT:
        return stored
    if element is HALF:
        return codecs.decode_half(builder, stored, hardware=_half_in_hardware(context))
    if element is QUARTER:
        return codecs.decode_quarter(builder, stored, metadata)
    if element is BOOL:
        return builder.icmp_unsigned("!=", stored, stored.type(0))
    widen = builder.zext if element.dtype.kind == "u" else builder.sext
    return widen(stored, INDEX)


def store_element(
    context: Any,
    builder: ir.IRBuilder,
    vector: VectorType,
    address: Any,
    value: Any,
    metadata: Any = None,
) -> None:
    """Emit a store of one value, narrowed to the element type.

    Args:
        context: target context of the code being compiled.
        builder: where.
        vector: how the element is stored.
        address: of the element.
        value: what `compute` gives, of the type it sees.
        metadata: i8, for QUARTER.
    """
    element = vector.element
    if element is HALF:
        value = codecs.encode_half(builder, value, hardware=_half_in_hardware(context))
    elif element is QUARTER:
        value = codecs.encode_quarter(builder, value, metadata)
    elif element is BOOL:
        value = builder.zext(value, ir.IntType(8))
    elif element is not FLOAT:
        value = builder.trunc(value, storage_type(element))
    _mark(builder, builder.store(value, address, align=element.size_bytes), vector.scope)


def _half_in_hardware(context: Any) -> bool:
    return codecs.half_in_hardware(llvm.get_process_triple(), context.codegen()._tm_features)


def _metadata(vector: VectorType, proxy: Any) -> Any:
    return proxy.metadata if vector.element.requires_metadata else None


def _check_range(
    context: Any, builder: ir.IRBuilder, proxy: Any, fault: int | None, index: Any, length: Any
) -> None:
    """Emit the range check of a checked access.

    A fault is recorded and `compute` returns; its driver then returns as well, so that the
    first fault of a chunk is the one reported and nothing outside a field is touched.
    """
    if fault is None:
        return
    inside = builder.icmp_unsigned("<", index, length)
    with builder.if_then(builder.not_(inside), likely=False):
        for word, item in enumerate((INDEX(1), proxy.vertex, INDEX(fault), index, length)):
            builder.store(item, builder.gep(proxy.faults, [INDEX(word)]))
        context.call_conv._return_errcode_raw(builder, RETCODE_EXC)


def _get(context: Any, builder: ir.IRBuilder, kind: VectorType, vector: Any, index: Any) -> Any:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=vector)
    _check_range(context, builder, proxy, kind.fault, index, proxy.length)
    address = builder.gep(proxy.data, [index], inbounds=True)
    return load_element(context, builder, kind, address, _metadata(kind, proxy))


def _set(
    context: Any, builder: ir.IRBuilder, kind: VectorType, vector: Any, index: Any, value: Any
) -> None:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=vector)
    _check_range(context, builder, proxy, kind.fault, index, proxy.length)
    address = builder.gep(proxy.data, [index], inbounds=True)
    store_element(context, builder, kind, address, value, _metadata(kind, proxy))


def _row(context: Any, builder: ir.IRBuilder, kind: RowsType, rows: Any, index: Any) -> Any:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=rows)
    vector = cgutils.create_struct_proxy(kind.vector)(context, builder)
    _check_range(context, builder, proxy, kind.vector.fault, index, proxy.rows)
    if kind.vector.fault is not None:
        vector.faults, vector.vertex = proxy.faults, proxy.vertex
    if kind.vector.element.requires_metadata:
        vector.metadata = proxy.metadata
    if kind.form == "stride":
        offset, length = builder.mul(index, proxy.stride), proxy.length
    else:
        entry = builder.gep(proxy.table, [builder.shl(index, INDEX(1))])
        offset, length = builder.load(entry), builder.load(builder.gep(entry, [INDEX(1)]))
    vector.data = builder.gep(proxy.data, [offset], inbounds=True)
    vector.length = length
    return vector._getvalue()


# -- typing ----------------------------------------------------------------------------------


def _stores(vector: VectorType, value: Any, what: str) -> Any:
    """Type a store, or refuse it with a reason."""
    if not vector.writable:
        raise TypingError(f"{what} is read-only")
    value = types.unliteral(value)
    numeric = isinstance(value, (types.Integer, types.Boolean))
    is_float = vector.element.is_floating_point and isinstance(value, types.Float)
    if not (numeric or is_float):
        raise TypingError(f"{what} holds {vector.element!r} and cannot store {value}")
    return vector.value


@typing_rules.register_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        owner, index = args
        if isinstance(types.unliteral(index), types.Integer):
            if isinstance(owner, VectorType):
                return signature(owner.value, owner, types.int64)
            if isinstance(owner, RowsType):
                return signature(owner.vector, owner, types.int64)
        return None


@typing_rules.register_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        owner, index, value = args
        if isinstance(owner, VectorType) and isinstance(types.unliteral(index), types.Integer):
            stored = _stores(owner, value, "the field")
            return signature(types.none, owner, types.int64, stored)
        return None


@typing_rules.register_global(len)
class _Len(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], (VectorType, RowsType)):
            return signature(types.int64, args[0])
        return None


@typing_rules.register_attr
class _SelfAttributes(AttributeTemplate):
    key = SelfType

    def generic_resolve(self, kind: SelfType, name: str) -> Any:
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


# -- lowering --------------------------------------------------------------------------------


@lowerings.lower(operator.getitem, VectorType, types.Integer)
def _lower_vector_get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _get(context, builder, sig.args[0], *args)


@lowerings.lower(operator.getitem, RowsType, types.Integer)
def _lower_rows_get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _row(context, builder, sig.args[0], *args)


@lowerings.lower(operator.setitem, VectorType, types.Integer, types.Any)
def _lower_vector_set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    _set(context, builder, sig.args[0], *args)
    return context.get_dummy_value()


@lowerings.lower(len, VectorType)
def _lower_vector_len(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).length


@lowerings.lower(len, RowsType)
def _lower_rows_len(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).rows


@lowerings.lower("getiter", VectorType)
def _lower_iter(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    walk = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    walk.vector = args[0]
    walk.position = cgutils.alloca_once_value(builder, INDEX(0))
    return walk._getvalue()


@lowerings.lower("iternext", VectorIteratorType)
@iternext_impl(RefType.UNTRACKED)
def _lower_next(context: Any, builder: Any, sig: Any, args: Any, result: Any) -> None:
    kind = sig.args[0]
    walk = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    vector = cgutils.create_struct_proxy(kind.vector)(context, builder, value=walk.vector)
    position = builder.load(walk.position)
    more = builder.icmp_signed("<", position, vector.length)
    result.set_valid(more)
    with builder.if_then(more):
        address = builder.gep(vector.data, [position], inbounds=True)
        metadata = _metadata(kind.vector, vector)
        result.yield_(load_element(context, builder, kind.vector, address, metadata))
        builder.store(builder.add(position, INDEX(1)), walk.position)


@lowerings.lower_getattr_generic(SelfType)
def _lower_getattr(context: Any, builder: Any, kind: SelfType, value: Any, name: str) -> Any:
    if name not in kind.by_name:
        if isinstance(inspect.getattr_static(kind.cls, name), staticmethod):
            return context.get_dummy_value()
        constant = kind.constant(name)
        assert constant is not None, "typing admits fields, methods and constants only"
        return context.get_constant(_constant_type(constant), constant)
    member = kind.by_name[name]
    held = getattr(cgutils.create_struct_proxy(kind)(context, builder, value=value), name)
    if not isinstance(member, ScalarType):
        return held
    scalar = cgutils.create_struct_proxy(member)(context, builder, value=held)
    return load_element(
        context, builder, member.vector, scalar.data, _metadata(member.vector, scalar)
    )


@lowerings.lower_setattr_generic(SelfType)
def _lower_setattr(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    kind, member = sig.args[0], sig.args[0].by_name[name]
    held = getattr(cgutils.create_struct_proxy(kind)(context, builder, value=args[0]), name)
    scalar = cgutils.create_struct_proxy(member)(context, builder, value=held)
    store_element(
        context, builder, member.vector, scalar.data, args[1], _metadata(member.vector, scalar)
    )
