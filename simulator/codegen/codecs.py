"""Conversion between elements in memory and numbers of `compute`, as LLVM IR.

    HALF      i16  <->  float    one instruction if the processor has it, else bit code
    QUARTER   i8   <->  float    bit code; the format and scale are the tensor's metadata byte

Bit code is free of branches, so that LLVM can vectorize its loops. It relies on two facts about
float32. The bits of a narrower float, moved to the exponent and mantissa of a float32, represent
its value times a power of two, even below its normal range. Adding 2**23 to a small float32 rounds
it to an integer, ties to even.

Both directions agree exactly with NumPy and ml_dtypes (`tests/unit/simulator/test_every_type.py`).

If a program sets the rounding of stores, results are bit-identical to
`poplite.vertex.compute.arithmetic`, which explains them.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from poplite.executable import encoding as op
from poplite.machine.floating_point import OVERFLOW_MAX, OVERFLOW_NAN
from poplite.types import FORMAT_BIT, NAN_CODE, SCALE_BITS, QuarterFormat
from poplite.vertex.compute.arithmetic import (
    GOLDEN,
    HALF_BIAS,
    HALF_INFINITY,
    HALF_LARGEST,
    HALF_MANTISSA,
    HALF_NAN,
    MIX,
    QUIET_BIT,
    SMALL_GOLDEN,
    SMALL_MIX,
    WORKERS,
)

FLOAT = ir.FloatType()
BITS = ir.IntType(32)

FLOAT_MANTISSA = 23
FLOAT_BIAS = 127
MAGNITUDE = 0x7FFF_FFFF
INFINITY = 0x7F80_0000


def half_in_hardware(triple: str, features: str) -> bool:
    """Return whether LLVM turns `half` conversions into instructions.

    Otherwise it calls a function of the compiler's run-time library, which a Python process
    does not have.

    >>> half_in_hardware("x86_64-unknown-linux-gnu", "+avx,-f16c")
    False
    >>> half_in_hardware("aarch64-unknown-linux-gnu", "")
    True
    """
    machine = triple.split("-")[0]
    return machine in ("aarch64", "arm64") or "+f16c" in features.split(",")


def _float(value: float) -> ir.Constant:
    return ir.Constant(FLOAT, value)


def _int(value: int) -> ir.Constant:
    return ir.Constant(BITS, value)


def decode_half(builder: ir.IRBuilder, code: Any, *, hardware: bool) -> Any:
    """Emit the float32 value of a half (i16)."""
    if hardware:
        return builder.fpext(builder.bitcast(code, ir.HalfType()), FLOAT)
    wide = builder.zext(code, BITS)
    magnitude = builder.and_(wide, _int(0x7FFF))
    moved = builder.shl(magnitude, _int(FLOAT_MANTISSA - HALF_MANTISSA))
    scaled = builder.fmul(builder.bitcast(moved, FLOAT), _float(2.0 ** (FLOAT_BIAS - HALF_BIAS)))
    special = builder.icmp_unsigned(">=", magnitude, _int(HALF_INFINITY))
    bits = builder.select(
        special, builder.or_(moved, _int(INFINITY)), builder.bitcast(scaled, BITS)
    )
    sign = builder.shl(builder.lshr(wide, _int(15)), _int(31))
    return builder.bitcast(builder.or_(bits, sign), FLOAT)


def decode_in_one(builder: ir.IRBuilder, code: Any) -> Any:
    """Emit the single conversion that a tile needs for the i16 of a half, or for an i8."""
    half = ir.IntType(16)
    code = code if code.type == half else builder.zext(code, half)
    return builder.fpext(builder.bitcast(code, ir.HalfType()), FLOAT)


def encode_in_one(builder: ir.IRBuilder, value: Any, kind: ir.Type) -> Any:
    """Emit a single conversion of a float to i16 or i8, like `decode_in_one`."""
    half = ir.IntType(16)
    code = builder.bitcast(builder.fptrunc(value, ir.HalfType()), half)
    return code if kind == half else builder.trunc(code, kind)


def encode_half(builder: ir.IRBuilder, value: Any, *, hardware: bool, random: Any = None) -> Any:
    """Emit a float32 as half (i16), rounded to nearest even, or stochastically by random bits."""
    half = ir.IntType(16)
    if hardware and random is None:
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), half)
    bits = builder.bitcast(value, BITS)
    magnitude = builder.and_(bits, _int(MAGNITUDE))
    code = _rounded(builder, magnitude, _int(HALF_MANTISSA), _int(HALF_BIAS), random)
    overflown = builder.icmp_unsigned(">=", code, _int(HALF_INFINITY))
    code = builder.select(overflown, _int(HALF_INFINITY), code)
    payload = builder.lshr(magnitude, _int(FLOAT_MANTISSA - HALF_MANTISSA))
    nan = builder.or_(builder.and_(payload, _int(0x3FF)), _int(HALF_INFINITY | QUIET_BIT))
    is_nan = builder.icmp_unsigned(">", magnitude, _int(INFINITY))
    code = builder.select(is_nan, nan, code)
    sign = builder.lshr(builder.and_(bits, _int(0x8000_0000)), _int(16))
    return builder.trunc(builder.or_(code, sign), half)


def _rounded(builder: ir.IRBuilder, magnitude: Any, mantissa: Any, bias: Any, random: Any) -> Any:
    """Emit the exponent and mantissa of a value rounded to a narrower float.

    A value that is too large gets a result beyond the float's codes. All arguments are i32: bits of
    a float32 without its sign, number of mantissa bits and bias of the narrower float, and random
    bits for stochastic rounding; None rounds to nearest.
    """
    drop = builder.sub(_int(FLOAT_MANTISSA), mantissa)
    least_normal = builder.shl(builder.sub(_int(FLOAT_BIAS + 1), bias), _int(FLOAT_MANTISSA))
    is_tiny = builder.icmp_unsigned("<", magnitude, least_normal)
    shift = builder.shl(builder.sub(_int(FLOAT_BIAS), bias), mantissa)
    if random is not None:
        cut = _cut(builder, magnitude, drop, random)
        tiny = _tiny(builder, magnitude, drop, bias, random)
        return builder.select(is_tiny, tiny, builder.sub(cut, shift))
    # Normal: add half of the last place, minus one bit unless the last place is odd, and truncate.
    last = builder.and_(builder.lshr(magnitude, drop), _int(1))
    half = builder.sub(builder.shl(_int(1), builder.sub(drop, _int(1))), _int(1))
    cut = builder.lshr(builder.add(builder.add(magnitude, half), last), drop)
    normal = builder.sub(cut, shift)
    # Below the normal range all values are multiples of a step, so round to such a multiple.
    steps_exponent = builder.sub(builder.add(bias, mantissa), _int(1))
    steps = builder.fmul(builder.bitcast(magnitude, FLOAT), _power_of_two(builder, steps_exponent))
    rounded = builder.fadd(steps, _float(2.0**FLOAT_MANTISSA))
    tiny = builder.and_(builder.bitcast(rounded, BITS), _int((1 << FLOAT_MANTISSA) - 1))
    return builder.select(is_tiny, tiny, normal)


def _cut(builder: ir.IRBuilder, value: Any, shift: Any, random: Any) -> Any:
    """Emit a value without its lowest bits, stochastically rounded; all i32."""
    mask = builder.sub(builder.shl(_int(1), shift), _int(1))
    return builder.lshr(builder.add(value, builder.and_(random, mask)), shift)


def _tiny(builder: ir.IRBuilder, magnitude: Any, drop: Any, bias: Any, random: Any) -> Any:
    """Emit a subnormal number as a count of steps, stochastically rounded; all i32."""
    exponent = builder.lshr(magnitude, _int(FLOAT_MANTISSA))
    shift = builder.sub(builder.sub(builder.add(drop, _int(FLOAT_BIAS + 1)), bias), exponent)
    beyond = _clamped(builder, builder.sub(shift, _int(31)))
    significand = builder.or_(
        builder.and_(magnitude, _int((1 << FLOAT_MANTISSA) - 1)), _int(1 << FLOAT_MANTISSA)
    )
    significand = builder.lshr(significand, beyond)
    shift = _clamped(builder, shift)
    return _cut(builder, significand, shift, random)


def _clamped(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit a shift amount clamped to the valid range for i32."""
    value = builder.select(builder.icmp_signed("<", value, _int(0)), _int(0), value)
    return builder.select(builder.icmp_signed(">", value, _int(31)), _int(31), value)


def _power_of_two(builder: ir.IRBuilder, exponent: Any) -> Any:
    """Emit 2**exponent as float32, for exponents in the normal range."""
    bits = builder.shl(builder.add(exponent, _int(FLOAT_BIAS)), _int(FLOAT_MANTISSA))
    return builder.bitcast(bits, FLOAT)


def decode_quarter(builder: ir.IRBuilder, code: Any, metadata: Any) -> Any:
    """Emit the exact float32 value of a quarter (i8), by its tensor's metadata (i8)."""
    mantissa, bias, scale = _parts(builder, metadata)
    wide = builder.zext(code, BITS)
    shift = builder.sub(_int(FLOAT_MANTISSA), mantissa)
    moved = builder.shl(builder.and_(wide, _int(0x7F)), shift)
    unbiased = _power_of_two(builder, builder.sub(_int(FLOAT_BIAS), bias))
    value = builder.fmul(builder.bitcast(moved, FLOAT), unbiased)
    value = builder.fmul(value, _power_of_two(builder, scale))
    sign = builder.shl(builder.and_(wide, _int(0x80)), _int(24))
    value = builder.bitcast(builder.or_(builder.bitcast(value, BITS), sign), FLOAT)
    is_nan = builder.icmp_unsigned("==", wide, _int(NAN_CODE))
    return builder.select(is_nan, _float(float("nan")), value)


def encode_quarter(builder: ir.IRBuilder, value: Any, metadata: Any, random: Any = None) -> Any:
    """Emit the quarter (i8) nearest to a float32, ties to even; NaN if the value is too large.

    `metadata` is an i8; with `random` bits (i32), rounding is stochastic.
    """
    mantissa, bias, scale = _parts(builder, metadata)
    shrink = _power_of_two(builder, builder.sub(_int(0), scale))
    bits = builder.bitcast(builder.fmul(value, shrink), BITS)
    magnitude = builder.and_(bits, _int(MAGNITUDE))
    code = _rounded(builder, magnitude, mantissa, bias, random)
    sign = builder.lshr(builder.and_(bits, _int(0x8000_0000)), _int(24))
    # There is no negative zero: its code is the NaN.
    signed = builder.select(
        builder.icmp_unsigned("==", code, _int(0)), code, builder.or_(code, sign)
    )
    lost = builder.or_(
        builder.icmp_unsigned(">", code, _int(0x7F)),
        builder.icmp_unsigned(">=", magnitude, _int(INFINITY)),
    )
    return builder.trunc(builder.select(lost, _int(NAN_CODE), signed), ir.IntType(8))


def _parts(builder: ir.IRBuilder, metadata: Any) -> tuple[Any, Any, Any]:
    """Emit mantissa bits, bias and scale of a metadata byte, all i32."""
    f143, f152 = QuarterFormat.F143, QuarterFormat.F152
    wide = builder.zext(metadata, BITS)
    is_152 = builder.icmp_unsigned("!=", builder.and_(wide, _int(FORMAT_BIT)), _int(0))
    mantissa = builder.select(is_152, _int(f152.mantissa_bits), _int(f143.mantissa_bits))
    bias = builder.select(is_152, _int(f152.bias), _int(f143.bias))
    top = _int(32 - SCALE_BITS)
    return mantissa, bias, builder.ashr(builder.shl(wide, top), top)


# -- stores by mode --------------------------------------------------------------------------------


WORD = ir.IntType(64)


def launch_key(builder: ir.IRBuilder, floats: Any) -> Any:
    """Emit the part of the key that all vertices of a launch share, from the state at `floats`."""
    seed, executions = (
        builder.load(builder.gep(floats, [WORD(word)]))
        for word in (op.FLOAT_SEED, op.FLOAT_EXECUTIONS)
    )
    return _mixed(builder, builder.add(seed, builder.mul(executions, WORD(GOLDEN))))


def vertex_key(builder: ir.IRBuilder, launch: Any, vertex: Any, worker: Any) -> Any:
    """Emit the key for the random bits of one worker; all are i64."""
    number = builder.add(builder.mul(vertex, WORD(WORKERS)), worker)
    return _mixed(builder, builder.add(launch, builder.mul(number, WORD(GOLDEN))))


def begin(builder: ir.IRBuilder, random: Any, key: Any) -> None:
    """Emit the initialization of a worker: `random` gets three i32, its key and a store counter."""
    high = builder.lshr(key, WORD(32))
    for number, word in enumerate((builder.trunc(key, BITS), builder.trunc(high, BITS), BITS(0))):
        builder.store(word, builder.gep(random, [BITS(number)]))


def random_bits(builder: ir.IRBuilder, random: Any) -> Any:
    """Emit 32 random bits for one store, and count it."""
    places = [builder.gep(random, [BITS(number)]) for number in range(3)]
    low, high, count = (builder.load(place) for place in places)
    builder.store(builder.add(count, BITS(1)), places[2])
    bits = builder.add(low, builder.mul(count, BITS(SMALL_GOLDEN)))
    for number, (shift, factor) in enumerate(SMALL_MIX):
        bits = builder.mul(builder.xor(bits, builder.lshr(bits, BITS(shift))), BITS(factor))
        if number == 0:
            bits = builder.xor(bits, high)
    return bits


def _mixed(builder: ir.IRBuilder, value: Any) -> Any:
    for shift, factor in MIX:
        value = builder.mul(builder.xor(value, builder.lshr(value, WORD(shift))), WORD(factor))
    return value


def appears(builder: ir.IRBuilder, found: Any, *operands: Any) -> Any:
    """Emit an i32 that is negative if a condition holds and all operands are finite floats."""
    for operand in operands:
        found = builder.and_(found, builder.not_(exceeds(builder, operand)))
    return found


def exceeds(builder: ir.IRBuilder, value: Any, by: int = 0) -> Any:
    """Emit an i32 that is negative if a float or double is infinite or NaN.

    With `by` 1, it is negative only for NaN, whose bits exceed those of infinity.
    """
    width, mantissa = (32, 23) if value.type == FLOAT else (64, 52)
    kind = ir.IntType(width)
    magnitude = builder.and_(builder.bitcast(value, kind), kind((1 << width - 1) - 1))
    bits = builder.add(magnitude, kind((1 << mantissa) - by))
    return bits if width == 32 else builder.trunc(builder.lshr(bits, kind(32)), BITS)


def half_by_mode(builder: ir.IRBuilder, code: Any, value: Any, mode: int) -> tuple[Any, Any]:
    """Emit the code (i16) of a rounded HALF by mode, and an i32, negative if it was too large.

    The argument `code` is an infinity for a value that is too large.
    """
    half = code.type
    magnitude = builder.zext(builder.and_(code, half(0x7FFF)), BITS)
    reaches = builder.shl(builder.add(magnitude, BITS(0x8000 - HALF_INFINITY)), BITS(16))
    found = appears(builder, reaches, value)
    if mode & (OVERFLOW_NAN | OVERFLOW_MAX):
        large = half(HALF_NAN if mode & OVERFLOW_NAN else HALF_LARGEST)
        signed = builder.or_(builder.and_(code, half(0x8000)), large)
        code = builder.select(builder.icmp_signed("<", found, BITS(0)), signed, code)
    return code, found


def quarter_by_mode(builder: ir.IRBuilder, code: Any, value: Any, mode: int) -> tuple[Any, Any]:
    """Emit the code (i8) of a rounded QUARTER by mode, and an i32, negative if it was too large.

    The argument `code` is NaN for a value that is too large.
    """
    is_number = builder.fcmp_ordered("ord", value, value)
    lost = builder.icmp_unsigned("==", code, code.type(NAN_CODE))
    overflows = builder.and_(is_number, lost)
    if mode & OVERFLOW_MAX:
        is_negative = builder.fcmp_ordered("<", value, FLOAT(0.0))
        large = builder.select(is_negative, code.type(0xFF), code.type(0x7F))
        code = builder.select(overflows, large, code)
    return code, builder.sext(overflows, BITS)
