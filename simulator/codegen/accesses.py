"""Loads, stores and what else `compute` does with `self` and its fields, as types and as code.

Three rules make this fast (measured against Numba's own arrays): no wrap-around of negative
indices, which costs LLVM its plain vector loads; alias scopes on every load and store, as the
race check proves that fields of one compute set do not overlap; pointers formed by GEP from a
typed base.  A checked vector carries a fault record instead of trusting the index.

What is stored and what `compute` sees differ (`docs/arithmetic.md`): INT is four bytes in
memory and a 64-bit integer in arithmetic, HALF two bytes and a float32.  A QUARTER field also
carries its metadata byte, read once for each vertex.

Importing this module imports Numba, and registers the rules with `poplite.jit.numba_context`.
"""

from __future__ import annotations

import inspect
import operator
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.imputils import RefType, iternext_impl
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, signature

from poplite.jit.inlined import function_type, method_type
from poplite.jit.numba_context import lowerings, typing_rules
from poplite.machine.floating_point import INVALID, OVERFLOW, OVERFLOW_NAN, STOCHASTIC
from poplite.simulator.codegen import codecs
from poplite.simulator.codegen.field_types import (
    INDEX,
    RowsType,
    ScalarType,
    Scope,
    SelfType,
    VectorIteratorType,
    VectorType,
    storage_type,
    stored_type,
)
from poplite.simulator.codegen.rounding import half_by_mode, quarter_by_mode, random_bits
from poplite.types import BOOL, FLOAT, HALF, QUARTER

# -- loads and stores ------------------------------------------------------------------------


def _mark(builder: ir.IRBuilder, access: Any, scope: Scope | None) -> Any:
    if scope is None:
        return access
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
    if vector.scope is None and element in (HALF, QUARTER):
        return codecs.decode_in_one(builder, stored)
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
    held: Any,
) -> None:
    """Emit a store of one value, narrowed to the element type.

    Args:
        context: target context of the code being compiled.
        builder: where.
        vector: how the element is stored.
        address: of the element.
        value: what `compute` gives, of the type it sees.
        held: the proxy of the vector or scalar that is stored to.
    """
    element = vector.element
    if vector.scope is None and element in (HALF, QUARTER):
        value = codecs.encode_in_one(builder, value, storage_type(element))
    elif element in (HALF, QUARTER):
        value = _encoded(context, builder, vector, value, held)
    elif element is BOOL:
        value = builder.zext(value, ir.IntType(8))
    elif element is not FLOAT:
        value = builder.trunc(value, storage_type(element))
    _mark(builder, builder.store(value, address, align=element.size_bytes), vector.scope)


def _encoded(context: Any, builder: ir.IRBuilder, vector: VectorType, value: Any, held: Any) -> Any:
    """Emit the HALF or QUARTER that stands for a float, by the mode of its store."""
    random = random_bits(builder, held.random) if vector.is_random else None
    if vector.element is HALF:
        hardware, by_mode = _half_in_hardware(context), half_by_mode
        code = codecs.encode_half(builder, value, hardware=hardware, random=random)
    else:
        by_mode = quarter_by_mode
        code = codecs.encode_quarter(builder, value, held.metadata, random)
    if not vector.mode & ~STOCHASTIC:
        return code
    code, found = by_mode(builder, code, value, vector.mode)
    if vector.mode & (OVERFLOW | (INVALID if vector.mode & OVERFLOW_NAN else 0)):
        context.typing_context.watch.note(context, builder, found)
    return code


def _half_in_hardware(context: Any) -> bool:
    return codecs.half_in_hardware(llvm.get_process_triple(), context.codegen()._tm_features)


def _metadata(vector: VectorType, proxy: Any) -> Any:
    return proxy.metadata if vector.element.requires_metadata else None


def record_fault(builder: ir.IRBuilder, faults: Any, *words: Any) -> None:
    """Emit the stores of a fault record.

    Args:
        builder: where.
        faults: address of the record.
        words: vertex, field, index, length; see `poplite.executable.opcodes`.
    """
    for number, word in enumerate((INDEX(1), *words)):
        builder.store(word, builder.gep(faults, [INDEX(number)]))


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
        record_fault(builder, proxy.faults, proxy.vertex, INDEX(fault), index, length)
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
    store_element(context, builder, kind, address, value, proxy)


def _row(context: Any, builder: ir.IRBuilder, kind: RowsType, rows: Any, index: Any) -> Any:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=rows)
    vector = cgutils.create_struct_proxy(kind.vector)(context, builder)
    _check_range(context, builder, proxy, kind.vector.fault, index, proxy.rows)
    if kind.vector.fault is not None:
        vector.faults, vector.vertex = proxy.faults, proxy.vertex
    if kind.vector.element.requires_metadata:
        vector.metadata = proxy.metadata
    if kind.vector.is_random:
        vector.random = proxy.random
    if kind.form == "stride":
        offset, length = builder.mul(index, proxy.stride), proxy.length
    else:
        entry = builder.gep(proxy.table, [builder.shl(index, INDEX(1))])
        pair = builder.load(entry), builder.load(builder.gep(entry, [INDEX(1)]))
        if kind.vector.scope is None:  # no store changes a table, which no scope says here
            for word in pair:
                word.set_metadata("invariant.load", builder.module.add_metadata([]))
        offset, length = (builder.zext(word, INDEX) for word in pair)
    vector.data = builder.gep(proxy.data, [offset], inbounds=True)
    vector.length = length
    return vector._getvalue()


# -- typing ----------------------------------------------------------------------------------


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
            stored = stored_type(owner, value, "the field")
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
    store_element(context, builder, member.vector, scalar.data, args[1], scalar)
