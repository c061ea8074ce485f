"""Number functions and integer arithmetic in compiled code, by `docs/arithmetic.md`.

Numba implements `min`, `int` and the like for users, under its own typing rules; these take
their place and follow ours.  They are few: `abs`, `float`, `int`, `max`, `min`.  Where Numba
leaves a result undefined, its code is replaced: it promises LLVM that signed integers never
overflow, and rounds what no integer can hold.

Importing this module imports Numba.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, signature

from poplite.jit.instructions import call_named
from poplite.jit.numba_context import lowerings, overrides, replacements, typing_rules
from poplite.simulator.codegen.accessors import INDEX, NUMBER, OF_DOUBLE, storage_type
from poplite.types import BOOL, FLOAT, HALF, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.compute.bits import (
    float_bits,
    float_from_bits,
    half_bits,
    half_from_bits,
)
from poplite.vertex.compute.mathematics.functions import KERNELS, PAIRS
from poplite.vertex.compute.parse.dialect import FUSED, STORED

Emit = Callable[[Any, ir.IRBuilder, Any, Sequence[Any]], Any]


def _define(
    function: Any, result: Callable[[Any, Sequence[Any]], Any], *, casts: bool
) -> Callable[[Emit], Emit]:
    """Register a function of numbers, `function` as `compute` calls it.

    `result` returns the result type for a typing context and argument types, None to refuse;
    `casts` says whether arguments are cast to that type first.
    """

    def stub(*args: Any) -> Any:
        raise NotImplementedError("stands for emitted instructions")

    replacements[function] = stub

    class _Call(AbstractTemplate):
        key = stub

        def generic(self, args: Any, kws: Any) -> Any:
            plain = [types.unliteral(arg) for arg in args]
            if kws or not all(isinstance(t, (types.Number, types.Boolean)) for t in plain):
                return None
            kind = result(self.context, plain)
            if kind is None:
                return None
            return signature(kind, *([kind] * len(plain) if casts else plain))

    typing_rules.register_global(stub, types.Function(_Call))

    def register(emit: Emit) -> Emit:
        @lowerings.lower(stub, types.VarArg(types.Any))
        def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return emit(context, builder, sig, args)

        return emit

    return register


def _joined(context: Any, args: Sequence[Any]) -> Any:
    if len(args) < 2:
        return None
    kind = context.unify_types(*args)
    return types.int64 if kind == types.boolean else kind


def _magnitude(context: Any, args: Sequence[Any]) -> Any:
    if len(args) != 1:
        return None
    return args[0] if args[0] != types.boolean else types.int64


def _as_float(context: Any, args: Sequence[Any]) -> Any:
    if len(args) != 1:
        return None
    return types.float32 if args[0] == types.float32 else types.float64


def _whole(context: Any, args: Sequence[Any]) -> Any:
    return types.int64 if len(args) == 1 else None


def _emit_extreme(compare: Any) -> Emit:
    def emit(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        # Python's rule: a later argument wins only if it compares so, which decides NaN.
        kind = sig.return_type
        better = context.get_function(compare, signature(types.boolean, kind, kind))
        chosen = args[0]
        for arg in args[1:]:
            chosen = builder.select(better(builder, (arg, chosen)), arg, chosen)
        return chosen

    return emit


_define(max, _joined, casts=True)(_emit_extreme(operator.gt))
_define(min, _joined, casts=True)(_emit_extreme(operator.lt))


@_define(abs, _magnitude, casts=True)
def _emit_abs(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    (value,) = args
    if isinstance(sig.return_type, types.Float):
        intrinsic = builder.module.declare_intrinsic("llvm.fabs", [value.type])
        return builder.call(intrinsic, [value])
    if sig.return_type == types.uint64:
        return value
    negative = builder.icmp_signed("<", value, value.type(0))
    return builder.select(negative, builder.neg(value), value)


@_define(float, _as_float, casts=True)
def _emit_float(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    return args[0]


@_define(int, _whole, casts=False)
def _emit_int(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    (kind,) = sig.args
    if not isinstance(kind, types.Float):
        return context.cast(builder, args[0], kind, types.int64)
    return _saturated(builder, args[0])


# -- element types, and functions of `math` -----------------------------------------------


def _of_kind(kind: Any) -> Callable[[Any, Sequence[Any]], Any]:
    return lambda context, args: kind if len(args) == 1 else None


def _emit_stored(element: type[ElementType[Any]]) -> Emit:
    """Return what emits an integer that an element would hold, read again."""

    def emit(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        (value,), (kind,) = args, sig.args
        if element is BOOL:
            return context.cast(builder, value, kind, types.boolean)
        if isinstance(kind, types.Float):
            return _whole_unsigned(builder, value)
        value = context.cast(builder, value, kind, types.int64)
        if element.size_bytes == INDEX.width // 8:
            return value
        widen = builder.zext if element.dtype.kind == "u" else builder.sext
        return widen(builder.trunc(value, storage_type(element)), INDEX)

    return emit


def _whole_unsigned(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit a float as an int from -2**63 to 2**64 - 1, cut to 64 bits."""
    half = value.type(2.0**63)
    is_high = builder.fcmp_ordered(">=", value, half)
    whole = _saturated(builder, builder.select(is_high, builder.fsub(value, half), value))
    return builder.add(whole, builder.select(is_high, whole.type(-(2**63)), whole.type(0)))


def _emit_half(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    return _number_call(builder, "half", args)


def _emit_function(name: str) -> Emit:
    """Return what emits a function of `math`."""

    def emit(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        return _number_call(builder, name, args)

    return emit


def _number_call(builder: ir.IRBuilder, name: str, args: Sequence[Any]) -> Any:
    """Emit a call of a function of floats that each use of `compute` defines."""
    kind = args[0].type
    name = f"{NUMBER}{name}{OF_DOUBLE if kind == ir.DoubleType() else ''}"
    return call_named(builder, name, kind, args)


def _at_least_double(count: int) -> Callable[[Any, Sequence[Any]], Any]:
    def result(context: Any, args: Sequence[Any]) -> Any:
        if len(args) != count:
            return None
        return types.float32 if types.float32 in args else types.float64

    return result


def _emit_whole(intrinsic: str) -> Emit:
    def emit(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        return builder.call(builder.module.declare_intrinsic(intrinsic, [args[0].type]), args)

    return emit


def _emit_fused(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    return builder.fma(*args)  # never `fmuladd`, which may be two operations


def _emit_chosen(compare: Any) -> Emit:
    """Return what emits the larger, or smaller, of two numbers, or NaN if one is."""

    def emit(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        a, b = args
        kind = sig.return_type
        better = context.get_function(compare, signature(types.boolean, kind, kind))
        is_chosen = better(builder, (a, b))
        if isinstance(kind, types.Float):
            is_chosen = builder.or_(is_chosen, builder.fcmp_unordered("uno", a, a))
        return builder.select(is_chosen, a, b)

    return emit


for _element in STORED:
    if not _element.is_floating_point:
        _kind = {BOOL: types.boolean, UNSIGNED_LONGLONG: types.uint64}.get(_element, types.int64)
        _define(_element, _of_kind(_kind), casts=False)(_emit_stored(_element))
_define(FLOAT, _of_kind(types.float32), casts=True)(_emit_float)
_define(HALF, _of_kind(types.float32), casts=True)(_emit_half)
for _name in KERNELS:
    _count = 2 if _name in PAIRS else 1
    _define(getattr(math, _name), _at_least_double(_count), casts=True)(_emit_function(_name))
for _function, _intrinsic in (
    (np.floor, "llvm.floor"),
    (np.ceil, "llvm.ceil"),
    (np.trunc, "llvm.trunc"),
    (np.rint, "llvm.rint"),
):
    _define(_function, _at_least_double(1), casts=True)(_emit_whole(_intrinsic))
for _fused in FUSED:
    _define(_fused, _at_least_double(3), casts=True)(_emit_fused)
_define(np.maximum, _joined, casts=True)(_emit_chosen(operator.gt))
_define(np.minimum, _joined, casts=True)(_emit_chosen(operator.lt))


WORD, SINGLE = ir.IntType(32), ir.FloatType()


def _as_single(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    return context.cast(builder, args[0], sig.args[0], types.float32)


def _as_word(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    value = context.cast(builder, args[0], sig.args[0], types.int64)
    return builder.trunc(value, WORD)


@_define(float_bits, _of_kind(types.int64), casts=False)
def _emit_float_bits(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    value = _as_single(context, builder, sig, args)
    is_nan = builder.fcmp_unordered("uno", value, value)
    bits = builder.select(is_nan, WORD(0x7FC00000), builder.bitcast(value, WORD))
    return builder.zext(bits, INDEX)


@_define(float_from_bits, _of_kind(types.float32), casts=False)
def _emit_float_from_bits(
    context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]
) -> Any:
    return builder.bitcast(_as_word(context, builder, sig, args), SINGLE)


@_define(half_bits, _of_kind(types.int64), casts=False)
def _emit_half_bits(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    """Emit integer operations on the bits of a half that is held as a float32."""
    value = _number_call(builder, "half", [_as_single(context, builder, sig, args)])
    word = builder.bitcast(value, WORD)
    sign = builder.and_(builder.lshr(word, WORD(16)), WORD(0x8000))
    size = builder.and_(word, WORD(0x7FFFFFFF))
    usual = builder.lshr(builder.sub(size, WORD(0x38000000)), WORD(13))
    units = builder.fmul(builder.bitcast(size, SINGLE), SINGLE(2.0**24))
    is_small = builder.icmp_unsigned("<", size, WORD(0x38800000))
    units = builder.select(is_small, units, SINGLE(0.0))  # of others it does not fit
    bits = builder.select(is_small, builder.fptosi(units, WORD), usual)
    is_infinite = builder.icmp_unsigned("==", size, WORD(0x7F800000))
    bits = builder.or_(sign, builder.select(is_infinite, WORD(0x7C00), bits))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.zext(builder.select(is_nan, WORD(0x7E00), bits), INDEX)


@_define(half_from_bits, _of_kind(types.float32), casts=False)
def _emit_half_from_bits(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
    word = _as_word(context, builder, sig, args)
    sign = builder.shl(builder.and_(word, WORD(0x8000)), WORD(16))
    size = builder.and_(word, WORD(0x7FFF))
    usual = builder.add(builder.shl(size, WORD(13)), WORD(0x38000000))
    small = builder.bitcast(builder.fmul(builder.sitofp(size, SINGLE), SINGLE(2.0**-24)), WORD)
    bits = builder.select(builder.icmp_unsigned("<", size, WORD(0x400)), small, usual)
    is_infinite = builder.icmp_unsigned("==", size, WORD(0x7C00))
    bits = builder.or_(sign, builder.select(is_infinite, WORD(0x7F800000), bits))
    is_nan = builder.icmp_unsigned(">", size, WORD(0x7C00))
    return builder.bitcast(builder.select(is_nan, WORD(0x7FC00000), bits), SINGLE)


def _saturated(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit the conversion of a float to int64 that saturates and makes 0 of NaN."""
    name = f"llvm.fptosi.sat.i64.{value.type.intrinsic_name}"
    kind = ir.FunctionType(ir.IntType(64), [value.type])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value])


def _replace_rounding(function: Callable[..., Any], intrinsic: str) -> None:
    @overrides.lower(function, types.float32)
    @overrides.lower(function, types.float64)
    def _lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        rounding = builder.module.declare_intrinsic(intrinsic, [args[0].type])
        rounded = builder.call(rounding, args)
        # Numba's own `//` expects the rounded float.
        return rounded if isinstance(sig.return_type, types.Float) else _saturated(builder, rounded)

    @overrides.lower(function, types.int64)
    def _lower_int(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return args[0]  # Numba's goes by way of a double


def _replace_arithmetic(function: Callable[..., Any], instruction: str) -> None:
    @overrides.lower(function, types.int64, types.int64)
    @overrides.lower(function, types.uint64, types.uint64)
    def _lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


_replace_rounding(math.floor, "llvm.floor")
_replace_rounding(math.ceil, "llvm.ceil")
_replace_arithmetic(operator.add, "add")
_replace_arithmetic(operator.sub, "sub")
_replace_arithmetic(operator.mul, "mul")
