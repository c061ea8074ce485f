"""Loads, stores and what else `compute` does with `self` and its fields, as types and as code.

Every access is a call of a small function that `accessors` defines later.  So a class is typed and
lowered once, and the same code is run with or without checks, in any mode of floating-point
arithmetic, and priced::

    x.inside.0(index, length, about)    whether an index lies in field 0; where not, compute ends
    row.1(rows, index)                  where row `index` of list 1 begins, and its length
    load.0(address)                     an element, widened to what compute sees
    store.2(address, value)             the other way
    state.3(value, address)             scalar state

What is stored and what `compute` sees differ (`docs/arithmetic.md`): INT is four bytes in
memory and a 64-bit integer in arithmetic, HALF two bytes and a float32.  No index wraps around,
as LLVM could then not load consecutive elements as one vector.

Importing this module imports Numba, and registers the rules with `poplite.jit.numba_context`.
"""

from __future__ import annotations

import inspect
import operator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.imputils import RefType, iternext_impl
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, signature

from poplite.jit.inlined import function_type, method_type
from poplite.jit.instructions import call_named, on_stack
from poplite.jit.numba_context import lowerings, typing_rules
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
)
from poplite.simulator.codegen.field_types import (
    RowsType,
    ScalarType,
    SelfType,
    VectorIteratorType,
    VectorType,
    stored_type,
)
from poplite.types import HALF, QUARTER
from poplite.vertex.compute.bounds import functions as guards

if TYPE_CHECKING:
    from collections.abc import Callable

_UNKNOWN = TRUTH(0)
"""Stands for the guard of an access that has none."""

# -- calls of accessors ----------------------------------------------------------------------


def companions(vector: VectorType, proxy: Any) -> list[Any]:
    """Return what loads and stores need beside the address of the element."""
    return [proxy.metadata] if vector.element.requires_metadata else []


def _check_range(
    context: Any,
    builder: ir.IRBuilder,
    vector: VectorType,
    proxy: Any,
    index: Any,
    length: Any,
    is_inside: Any,
) -> None:
    """Emit the range check of an access, which a guard may have made already.

    A fault is recorded and `compute` returns; its driver then returns as well, so that the
    first fault of a chunk is the one reported and nothing outside a field is touched.
    """
    name = f"{INSIDE}{vector.number}"
    with builder.if_then(builder.not_(is_inside)):
        inside = call_named(builder, name, TRUTH, [index, length, proxy.about])
        with builder.if_then(builder.not_(inside), likely=False):
            context.call_conv._return_errcode_raw(builder, RETCODE_EXC)


def _load(context: Any, builder: ir.IRBuilder, vector: VectorType, proxy: Any, at: Any) -> Any:
    kind = context.get_value_type(vector.value)
    name = f"{LOAD}{vector.number}"
    return call_named(builder, name, kind, [at, proxy.about, *companions(vector, proxy)])


def _store(
    context: Any, builder: ir.IRBuilder, vector: VectorType, proxy: Any, at: Any, value: Any
) -> None:
    arguments = [at, value, proxy.about, *companions(vector, proxy)]
    found = call_named(builder, f"{STORE}{vector.number}", ir.IntType(32), arguments)
    watch = context.typing_context.watch
    if watch is not None and vector.element in (HALF, QUARTER):
        watch.stored(context, builder, found)


def _get(
    context: Any,
    builder: ir.IRBuilder,
    kind: VectorType,
    vector: Any,
    index: Any,
    is_inside: Any = _UNKNOWN,
) -> Any:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=vector)
    _check_range(context, builder, kind, proxy, index, proxy.length, is_inside)
    address = builder.gep(proxy.data, [index], inbounds=True)
    return _load(context, builder, kind, proxy, address)


def _set(
    context: Any,
    builder: ir.IRBuilder,
    kind: VectorType,
    vector: Any,
    index: Any,
    value: Any,
    is_inside: Any = _UNKNOWN,
) -> None:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=vector)
    _check_range(context, builder, kind, proxy, index, proxy.length, is_inside)
    address = builder.gep(proxy.data, [index], inbounds=True)
    _store(context, builder, kind, proxy, address, value)


def _row(
    context: Any,
    builder: ir.IRBuilder,
    kind: RowsType,
    rows: Any,
    index: Any,
    is_inside: Any = _UNKNOWN,
) -> Any:
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=rows)
    vector = cgutils.create_struct_proxy(kind.vector)(context, builder)
    _check_range(context, builder, kind.vector, proxy, index, proxy.rows, is_inside)
    offset, length = _place_of_row(builder, kind, proxy, index)
    vector.data = builder.gep(proxy.data, [offset], inbounds=True)
    vector.length, vector.about = length, proxy.about
    if kind.vector.element.requires_metadata:
        vector.metadata = proxy.metadata
    return vector._getvalue()


def _place_of_row(builder: ir.IRBuilder, kind: RowsType, proxy: Any, index: Any) -> tuple[Any, Any]:
    """Emit where a row of a list begins, and its length."""
    name, place = f"{ROW}{kind.vector.number}", ir.LiteralStructType([INDEX, INDEX])
    row = call_named(builder, name, place, [proxy.stride, proxy.length, proxy.table, index])
    return builder.extract_value(row, 0), builder.extract_value(row, 1)


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


def _typed(*functions: object) -> Callable[[Callable[[Any], Any]], object]:
    """Register what types calls of some functions of `poplite.vertex.compute.bounds`."""

    def register(rule: Callable[[Any], Any]) -> object:
        for each in functions:

            class _Call(AbstractTemplate):
                key = each

                def generic(self, args: Any, kws: Any) -> Any:
                    return rule(args)

            typing_rules.register_global(each, types.Function(_Call))
        return rule

    return register


@_typed(guards.element)
def _type_element(args: Any) -> Any:
    owner = args[0]
    result = owner.vector if isinstance(owner, RowsType) else owner.value
    return signature(result, owner, types.int64, types.boolean)


@_typed(guards.store)
def _type_store(args: Any) -> Any:
    owner, _, value, _ = args
    stored = stored_type(owner, value, "the field")
    return signature(types.none, owner, types.int64, stored, types.boolean)


@_typed(guards.holds)
def _type_holds(args: Any) -> Any:
    return signature(types.boolean, types.boolean)


@_typed(guards.fits, guards.row_fits, guards.rows_fit, guards.is_small)
def _type_guard(args: Any) -> Any:
    return signature(types.boolean, *(types.int64 if _is_int(each) else each for each in args))


def _is_int(kind: Any) -> bool:
    return isinstance(types.unliteral(kind), types.Integer)


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


@lowerings.lower(guards.element, VectorType, types.Integer, types.Boolean)
def _lower_element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _get(context, builder, sig.args[0], *args)


@lowerings.lower(guards.element, RowsType, types.Integer, types.Boolean)
def _lower_row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _row(context, builder, sig.args[0], *args)


@lowerings.lower(guards.store, VectorType, types.Integer, types.Any, types.Boolean)
def _lower_store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    _set(context, builder, sig.args[0], *args)
    return context.get_dummy_value()


@lowerings.lower(guards.fits, VectorType, types.Integer, types.Integer)
def _lower_fits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    owner = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    return _is_between(builder, args[1], args[2], owner.length)


@lowerings.lower(guards.fits, RowsType, types.Integer, types.Integer)
def _lower_rows_fits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    owner = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    return _is_between(builder, args[1], args[2], owner.rows)


@lowerings.lower(guards.row_fits, RowsType, types.Integer, types.Integer, types.Integer)
def _lower_row_fits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    rows, row, least, most = args
    owner = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=rows)
    found = on_stack(builder, TRUTH)
    builder.store(TRUTH(0), found)
    with builder.if_then(builder.icmp_unsigned("<", row, owner.rows)):
        _, length = _place_of_row(builder, sig.args[0], owner, row)
        builder.store(_is_between(builder, least, most, length), found)
    return builder.load(found)


@lowerings.lower(guards.rows_fit, RowsType, types.Integer, types.Integer)
def _lower_all_rows_fit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    owner = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    even = call_named(builder, f"{EVEN}{sig.args[0].vector.number}", INDEX, [owner.length])
    return _is_between(builder, args[1], args[2], even)


@lowerings.lower(guards.holds, types.Boolean)
def _lower_holds(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return call_named(builder, HOLDS, TRUTH, args)


@lowerings.lower(guards.is_small, types.Integer)
def _lower_is_small(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    limit = 1 << guards.NUMBER_BITS
    moved = builder.add(args[0], INDEX(limit))
    return builder.icmp_unsigned("<", moved, INDEX(2 * limit))


def _is_between(builder: ir.IRBuilder, least: Any, most: Any, length: Any) -> Any:
    is_inside = builder.icmp_signed("<", most, length)
    return builder.and_(builder.icmp_signed(">=", least, INDEX(0)), is_inside)


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
    walk.position = on_stack(builder, INDEX)
    builder.store(INDEX(0), walk.position)
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
        result.yield_(_load(context, builder, kind.vector, vector, address))
        builder.store(builder.add(position, INDEX(1)), walk.position)


def _member(builder: ir.IRBuilder, kind: SelfType, value: Any, name: str) -> Any:
    """Take one field out of `self`, without a copy of `self`: it may have hundreds of fields."""
    return builder.extract_value(value, [each for each, _ in kind.members].index(name))


@lowerings.lower_getattr_generic(SelfType)
def _lower_getattr(context: Any, builder: Any, kind: SelfType, value: Any, name: str) -> Any:
    if name not in kind.by_name:
        if isinstance(inspect.getattr_static(kind.cls, name), staticmethod):
            return context.get_dummy_value()
        constant = kind.constant(name)
        assert constant is not None, "typing admits fields, methods and constants only"
        return context.get_constant(_constant_type(constant), constant)
    member = kind.by_name[name]
    held = _member(builder, kind, value, name)
    if not isinstance(member, ScalarType):
        return held
    scalar = cgutils.create_struct_proxy(member)(context, builder, value=held)
    if member.is_state:
        name = f"{STATE}{member.vector.number}"
        return call_named(builder, name, scalar.value.type, [scalar.value, scalar.data])
    return _load(context, builder, member.vector, scalar, scalar.data)


@lowerings.lower_setattr_generic(SelfType)
def _lower_setattr(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    kind, member = sig.args[0], sig.args[0].by_name[name]
    held = _member(builder, kind, args[0], name)
    scalar = cgutils.create_struct_proxy(member)(context, builder, value=held)
    _store(context, builder, member.vector, scalar, scalar.data, args[1])
