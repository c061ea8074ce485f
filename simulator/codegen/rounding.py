"""Stores to HALF and QUARTER elements where a program says how they are rounded, as LLVM IR.

Bit for bit what `poplite.vertex.compute.interpreted.stores` does, which says why.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from poplite.executable import opcodes as op
from poplite.machine.floating_point import OVERFLOW_MAX, OVERFLOW_NAN
from poplite.types import NAN_CODE
from poplite.vertex.compute.interpreted.stores import (
    GOLDEN,
    HALF_INFINITY,
    HALF_LARGEST,
    HALF_NAN,
    MIX,
    SMALL_GOLDEN,
    SMALL_MIX,
    WORKERS,
)

WORD, BITS, FLOAT = ir.IntType(64), ir.IntType(32), ir.FloatType()


def launch_key(builder: ir.IRBuilder, floats: Any) -> Any:
    """Emit the part of the key that all vertices of a launch share, from the state's address."""
    seed, executions = (
        builder.load(builder.gep(floats, [WORD(word)]))
        for word in (op.FLOAT_SEED, op.FLOAT_EXECUTIONS)
    )
    return _mixed(builder, builder.add(seed, builder.mul(executions, WORD(GOLDEN))))


def vertex_key(builder: ir.IRBuilder, launch: Any, vertex: Any, worker: Any) -> Any:
    """Emit what the random bits of one worker depend on; all i64."""
    number = builder.add(builder.mul(vertex, WORD(WORKERS)), worker)
    return _mixed(builder, builder.add(launch, builder.mul(number, WORD(GOLDEN))))


def begin(builder: ir.IRBuilder, random: Any, key: Any) -> None:
    """Emit the beginning of a worker: `random` gets three i32, its key and the number of stores."""
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
    """Emit whether something holds (i32, negative if so) while all operands are finite floats."""
    for operand in operands:
        found = builder.and_(found, builder.not_(exceeds(builder, operand)))
    return found


def exceeds(builder: ir.IRBuilder, value: Any, by: int = 0) -> Any:
    """Emit whether a float or double is infinite or NaN, as an i32 that is negative where so.

    `by` is 1 for NaN alone, whose bits exceed those of infinity.
    """
    width, mantissa = (32, 23) if value.type == FLOAT else (64, 52)
    kind = ir.IntType(width)
    magnitude = builder.and_(builder.bitcast(value, kind), kind((1 << width - 1) - 1))
    bits = builder.add(magnitude, kind((1 << mantissa) - by))
    return bits if width == 32 else builder.trunc(builder.lshr(bits, kind(32)), BITS)


def half_by_mode(builder: ir.IRBuilder, code: Any, value: Any, mode: int) -> tuple[Any, Any]:
    """Emit the code (i16) of a rounded HALF by mode, and an i32, negative where it was too large.

    The `code` passed is an infinity for a value that is too large.
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
    """Emit the code (i8) of a rounded QUARTER by mode, and an i32, negative where it was too large.

    The `code` passed is NaN for a value that is too large.
    """
    is_number = builder.fcmp_ordered("ord", value, value)
    lost = builder.icmp_unsigned("==", code, code.type(NAN_CODE))
    overflows = builder.and_(is_number, lost)
    if mode & OVERFLOW_MAX:
        is_negative = builder.fcmp_ordered("<", value, FLOAT(0.0))
        large = builder.select(is_negative, code.type(0xFF), code.type(0x7F))
        code = builder.select(overflows, large, code)
    return code, builder.sext(overflows, BITS)
