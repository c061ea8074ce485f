"""Arithmetic in compiled code, by the rules of `docs/arithmetic.md`.

Numba implements `abs`, `float`, `int`, `max` and `min` by its own typing rules; the functions of
this module replace them and follow poplite's rules. Numba's arithmetic on integers is replaced
because it promises LLVM that signed integers never overflow, and its conversions of floats to
integers because they are undefined for floats that fit no integer.

Importing this module imports Numba.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from poplite.jit.kernel_code import call_named
from poplite.jit.numba_context import Emission, common_type, replacements
from poplite.jit.rules import code_for, code_in_place_of, rule_for
from poplite.simulator.codegen.accessors import INDEX, NUMBER, OF_DOUBLE, storage_type
from poplite.types import BOOL, FLOAT, HALF, UNSIGNED_LONGLONG, ElementType
from poplite.vertex.compute.dialect import FUSED, STORED
from poplite.vertex.compute.mathematics import KERNELS, PAIRS
from poplite.vertex.compute.number_functions import (
    float_bits,
    float_from_bits,
    half_bits,
    half_from_bits,
)

Emit = Callable[..., Any]
"""Emits a function of numbers, for an `Emission` and their values."""

ResultType = Callable[[Sequence[Any]], Any]
"""Returns the type of a result for types of arguments, or None to reject them."""


def _define(function: Any, result: ResultType, *, casts: bool) -> Callable[[Emit], Emit]:
    """Register the code for `function`, a function of numbers that `compute` calls.

    With `casts`, arguments are first cast to the type of the result.
    """

    def stub(*args: Any) -> Any:
        raise NotImplementedError("this function represents emitted instructions")

    replacements[function] = stub

    @rule_for(stub)
    def rule(*args: Any) -> Any:
        plain = [types.unliteral(arg) for arg in args]
        if not all(isinstance(each, (types.Number, types.Boolean)) for each in plain):
            return None
        kind = result(plain)
        return None if kind is None else (kind, *([kind] * len(plain) if casts else plain))

    return code_for(stub)


def _joined(args: Sequence[Any]) -> Any:
    if len(args) < 2:
        return None
    kind = common_type(args)
    return types.int64 if kind == types.boolean else kind


def _magnitude(args: Sequence[Any]) -> Any:
    if len(args) != 1:
        return None
    return args[0] if args[0] != types.boolean else types.int64


def _as_float(args: Sequence[Any]) -> Any:
    if len(args) != 1:
        return None
    return types.float32 if args[0] == types.float32 else types.float64


def _whole(args: Sequence[Any]) -> Any:
    return types.int64 if len(args) == 1 else None


def _emit_extreme(compare: Any) -> Emit:
    def emit(code: Emission, *args: Any) -> Any:
        # Python's rule, also for NaN: a later argument is chosen only if the comparison is true.
        better = code.operation(compare, types.boolean, code.result, code.result)
        chosen = args[0]
        for arg in args[1:]:
            chosen = code.builder.select(better(arg, chosen), arg, chosen)
        return chosen

    return emit


_define(max, _joined, casts=True)(_emit_extreme(operator.gt))
_define(min, _joined, casts=True)(_emit_extreme(operator.lt))


@_define(abs, _magnitude, casts=True)
def _emit_abs(code: Emission, value: Any) -> Any:
    builder = code.builder
    if isinstance(code.result, types.Float):
        intrinsic = builder.module.declare_intrinsic("llvm.fabs", [value.type])
        return builder.call(intrinsic, [value])
    if code.result == types.uint64:
        return value
    negative = builder.icmp_signed("<", value, value.type(0))
    return builder.select(negative, builder.neg(value), value)


@_define(float, _as_float, casts=True)
def _emit_float(code: Emission, value: Any) -> Any:
    return value


@_define(int, _whole, casts=False)
def _emit_int(code: Emission, value: Any) -> Any:
    (kind,) = code.kinds
    if not isinstance(kind, types.Float):
        return code.cast(value, kind, types.int64)
    return _saturated(code.builder, value)


# -- element types, and functions of `math` --------------------------------------------------------


def _of_kind(kind: Any) -> ResultType:
    return lambda args: kind if len(args) == 1 else None


def _emit_stored(element: type[ElementType[Any]]) -> Emit:
    """Return an emitter of an integer that is stored in an element and read back."""

    def emit(code: Emission, value: Any) -> Any:
        builder, (kind,) = code.builder, code.kinds
        if element is BOOL:
            return code.cast(value, kind, types.boolean)
        if isinstance(kind, types.Float):
            return _whole_unsigned(builder, value)
        value = code.cast(value, kind, types.int64)
        if element.size_bytes == INDEX.width // 8:
            return value
        widen = builder.zext if element.dtype.kind == "u" else builder.sext
        return widen(builder.trunc(value, storage_type(element)), INDEX)

    return emit


def _whole_unsigned(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit a float as an int from -2**63 to 2**64 - 1, truncated to 64 bits."""
    half = value.type(2.0**63)
    is_high = builder.fcmp_ordered(">=", value, half)
    whole = _saturated(builder, builder.select(is_high, builder.fsub(value, half), value))
    return builder.add(whole, builder.select(is_high, whole.type(-(2**63)), whole.type(0)))


def _emit_half(code: Emission, value: Any) -> Any:
    return _number_call(code.builder, "half", [value])


def _emit_function(name: str) -> Emit:
    """Return an emitter of a function of `math`."""

    def emit(code: Emission, *args: Any) -> Any:
        return _number_call(code.builder, name, args)

    return emit


def _number_call(builder: ir.IRBuilder, name: str, args: Sequence[Any]) -> Any:
    """Emit a call to a function of floats, which each use of `compute` defines."""
    kind = args[0].type
    name = f"{NUMBER}{name}{OF_DOUBLE if kind == ir.DoubleType() else ''}"
    return call_named(builder, name, kind, args)


def _at_least_double(count: int) -> ResultType:
    def result(args: Sequence[Any]) -> Any:
        if len(args) != count:
            return None
        return types.float32 if types.float32 in args else types.float64

    return result


def _emit_whole(intrinsic: str) -> Emit:
    def emit(code: Emission, value: Any) -> Any:
        rounding = code.builder.module.declare_intrinsic(intrinsic, [value.type])
        return code.builder.call(rounding, [value])

    return emit


def _emit_fused(code: Emission, *args: Any) -> Any:
    return code.builder.fma(*args)  # not `fmuladd`, which may be two operations


def _emit_chosen(compare: Any) -> Emit:
    """Return an emitter of the larger, or smaller, of two numbers, or of NaN if either is NaN."""

    def emit(code: Emission, a: Any, b: Any) -> Any:
        builder, kind = code.builder, code.result
        is_chosen = code.operation(compare, types.boolean, kind, kind)(a, b)
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


def _as_single(code: Emission, value: Any) -> Any:
    return code.cast(value, code.kinds[0], types.float32)


def _as_word(code: Emission, value: Any) -> Any:
    return code.builder.trunc(code.cast(value, code.kinds[0], types.int64), WORD)


@_define(float_bits, _of_kind(types.int64), casts=False)
def _emit_float_bits(code: Emission, number: Any) -> Any:
    builder, value = code.builder, _as_single(code, number)
    is_nan = builder.fcmp_unordered("uno", value, value)
    bits = builder.select(is_nan, WORD(0x7FC00000), builder.bitcast(value, WORD))
    return builder.zext(bits, INDEX)


@_define(float_from_bits, _of_kind(types.float32), casts=False)
def _emit_float_from_bits(code: Emission, bits: Any) -> Any:
    return code.builder.bitcast(_as_word(code, bits), SINGLE)


@_define(half_bits, _of_kind(types.int64), casts=False)
def _emit_half_bits(code: Emission, number: Any) -> Any:
    """Emit integer operations on the bits of a half that is represented by a float32."""
    builder = code.builder
    value = _number_call(builder, "half", [_as_single(code, number)])
    word = builder.bitcast(value, WORD)
    sign = builder.and_(builder.lshr(word, WORD(16)), WORD(0x8000))
    size = builder.and_(word, WORD(0x7FFFFFFF))
    usual = builder.lshr(builder.sub(size, WORD(0x38000000)), WORD(13))
    units = builder.fmul(builder.bitcast(size, SINGLE), SINGLE(2.0**24))
    is_small = builder.icmp_unsigned("<", size, WORD(0x38800000))
    units = builder.select(is_small, units, SINGLE(0.0))  # larger values are out of range
    bits = builder.select(is_small, builder.fptosi(units, WORD), usual)
    is_infinite = builder.icmp_unsigned("==", size, WORD(0x7F800000))
    bits = builder.or_(sign, builder.select(is_infinite, WORD(0x7C00), bits))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.zext(builder.select(is_nan, WORD(0x7E00), bits), INDEX)


@_define(half_from_bits, _of_kind(types.float32), casts=False)
def _emit_half_from_bits(code: Emission, bits: Any) -> Any:
    builder, word = code.builder, _as_word(code, bits)
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
    """Emit the conversion of a float to int64 that saturates, with 0 for NaN."""
    name = f"llvm.fptosi.sat.i64.{value.type.intrinsic_name}"
    kind = ir.FunctionType(ir.IntType(64), [value.type])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value])


def _replace_rounding(function: Callable[..., Any], intrinsic: str) -> None:
    emit_whole = _emit_whole(intrinsic)

    @code_in_place_of(function, types.float32)
    @code_in_place_of(function, types.float64)
    def _emit(code: Emission, value: Any) -> Any:
        rounded = emit_whole(code, value)
        # Numba's own `//` expects the rounded float.
        is_float = isinstance(code.result, types.Float)
        return rounded if is_float else _saturated(code.builder, rounded)

    @code_in_place_of(function, types.int64)
    def _emit_int(code: Emission, value: Any) -> Any:
        return value  # Numba's own code converts through a double


def _replace_arithmetic(function: Callable[..., Any], instruction: str) -> None:
    @code_in_place_of(function, types.int64, types.int64)
    @code_in_place_of(function, types.uint64, types.uint64)
    def _emit(code: Emission, a: Any, b: Any) -> Any:
        return getattr(code.builder, instruction)(a, b)


_replace_rounding(math.floor, "llvm.floor")
_replace_rounding(math.ceil, "llvm.ceil")
_replace_arithmetic(operator.add, "add")
_replace_arithmetic(operator.sub, "sub")
_replace_arithmetic(operator.mul, "mul")
