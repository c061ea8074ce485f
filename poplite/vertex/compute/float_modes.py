"""The arithmetic of `compute` under the floating-point mode of a program.

Stochastic rounding adds random bits below the last place of the result, and truncates::

    1 + 1/4 of a last place     1 with probability 3/4, the next number with 1/4

The bits depend only on the seed, the number of compute sets that have run, the vertex, the worker
and the number of its earlier stores.  So they do not depend on the distribution of vertices over
threads, and are the same in compiled code (`poplite.simulator.codegen.codecs`).

For programs that floating-point exceptions can stop, every operation of
`poplite.vertex.compute.arithmetic` has a version with the same name that then checks its operands
and its result::

    divide(as_f32(1), 0)      FLOATING_POINT_DIVIDE_BY_ZERO: 1.0 / 0

`poplite.simulator.codegen.lowered` emits the same tests for compiled code; the rules are those of
docs/arithmetic.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import ErrorCode, FloatingPointTrap
from poplite.machine.floating_point import (
    DIVIDE_BY_ZERO,
    INVALID,
    OVERFLOW,
    OVERFLOW_MAX,
    OVERFLOW_NAN,
    STOCHASTIC,
    TRAPS,
)
from poplite.types import FLOAT, HALF, NAN_CODE, ElementType, QuarterFormat, QuarterMetadata, encode
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import OPERATORS_OF_FLOATS, Kind, Number, as_f32, kind_of
from poplite.vertex.compute.mathematics import KERNELS

# -- traps -----------------------------------------------------------------------------------------


SYMBOLS = {row.name: row.symbol for row in OPERATORS_OF_FLOATS}
"""Operations of two numbers that trap, and their symbols."""

DIVISIONS = frozenset({"divide", "floor_divide"})
"""Operations that divide by zero when their right operand is zero."""

COMPARISONS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "minimum", "maximum"}
)
"""Operations that are invalid if an operand is NaN, with any result."""

EXTREMES = frozenset({"larger", "smaller"})
"""Operations in which NaN is not an exception, but a double is rounded next to a float32."""

FUNCTIONS = frozenset({"sqrt", *KERNELS})
"""Functions of one or two floats."""

FUSED = frozenset({"fma"})
"""The operation of three numbers."""

POLES = frozenset({"log", "log2", "log10", "log1p"})
"""Functions that divide by zero where they are infinite."""

MOST = {**dict.fromkeys(("truncate", "floor", "ceil"), 2.0**63), "as_UNSIGNED_LONGLONG": 2.0**64}
"""Conversions to int, with the smallest float that is too large to be valid."""

_CASTING = COMPARISONS | EXTREMES | FUSED | SYMBOLS.keys() - {"power"}
"""Operations that round a double to float32 if the other operand is a float32."""

_CODES = {
    INVALID: ErrorCode.FLOATING_POINT_INVALID_OPERATION,
    DIVIDE_BY_ZERO: ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO,
    OVERFLOW: ErrorCode.FLOATING_POINT_OVERFLOW,
}

_FIXES = {
    INVALID: "find where the NaN comes from, or test the operands first",
    DIVIDE_BY_ZERO: "test the divisor first, for instance: y / x if x != 0 else 0.0",
    OVERFLOW: "scale the values down, or use a type of larger range",
}


def trap(bits: int, enabled: int, what: str) -> None:
    """Raise `FloatingPointTrap` for the first of the exceptions in `bits` that is enabled, if any.

    >>> trap(OVERFLOW, INVALID, "1e38 * 10.0")
    """
    for bit, code in _CODES.items():
        if bits & enabled & bit:
            raise FloatingPointTrap(f"{code.name}: {what}", code=code, fix=_FIXES[bit])


@cache
def trapping(enabled: int) -> Any:
    """Return the replacement of `poplite.vertex.compute.arithmetic` if these bits of a mode trap.

    >>> trapping(DIVIDE_BY_ZERO).divide(1.0, 2)
    0.5
    """
    if not enabled & TRAPS:
        return arithmetic
    names = {*SYMBOLS, *COMPARISONS, *EXTREMES, *FUSED, *FUNCTIONS, *MOST, "as_f32"}
    tested = {name: _tested(name, getattr(arithmetic, name), enabled) for name in names}
    return SimpleNamespace(**{**vars(arithmetic), **tested})


def _tested(name: str, operation: Callable[..., Number], enabled: int) -> Callable[..., Number]:
    def checked(*operands: Number) -> Number:
        result = operation(*operands)
        bits = happened(name, operands, result)
        if bits & enabled:
            trap(bits, enabled, _text(name, operands))
        return result

    return checked


def happened(name: str, operands: tuple[Number, ...], result: Number) -> int:
    """Return the exceptions that an operation of the arithmetic raised, as bits of a mode.

    >>> happened("divide", (as_f32(1), 0), as_f32(math.inf)) == DIVIDE_BY_ZERO
    True
    """
    floats = [float(x) for x in operands if kind_of(x) > Kind.UINT]
    if not floats and name not in DIVISIONS | FUNCTIONS:
        return 0
    if name in MOST:
        return 0 if -(2.0**63) <= floats[0] < MOST[name] else INVALID
    narrowed = 0
    if name == "as_f32" or (name in _CASTING and Kind.F32 in map(kind_of, operands)):
        doubles = [x for x in operands if kind_of(x) is Kind.FLOAT and math.isfinite(x)]
        if any(math.isinf(as_f32(x)) for x in doubles):
            narrowed = OVERFLOW
            floats.append(math.inf)
    if name == "as_f32" or name in EXTREMES:
        return narrowed
    if name in COMPARISONS:
        return narrowed | (INVALID if any(map(math.isnan, floats)) else 0)
    if kind_of(result) <= Kind.UINT:
        return narrowed
    if math.isnan(result):
        return narrowed | INVALID
    if not math.isinf(result) or name == "modulo" or not all(map(math.isfinite, floats)):
        return narrowed
    is_pole = name in POLES or (name in DIVISIONS and operands[1] == 0)
    return DIVIDE_BY_ZERO if is_pole else OVERFLOW


def _text(name: str, operands: tuple[Number, ...]) -> str:
    shown = [str(x) for x in operands]
    if name in SYMBOLS:
        return f"{shown[0]} {SYMBOLS[name]} {shown[1]}"
    if name == "as_f32":
        return f"{shown[0]} as a float32"
    known = {"truncate": "int", "minimum": "min", "maximum": "max"}
    known |= {"smaller": "minimum", "larger": "maximum"}
    return f"{known.get(name, name)}({', '.join(shown)})"


# -- stores ----------------------------------------------------------------------------------------


GOLDEN = 0x9E37_79B9_7F4A_7C15
MIX = ((30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB), (31, 1))
"""Shifts and factors of splitmix64 (Steele, Lea, Flood, 2014), which maps numbers to keys."""

SMALL_GOLDEN = 0x9E37_79B9
SMALL_MIX = ((16, 0x7FEB_352D), (15, 0x846C_A68B), (16, 1))
"""The same for 32 bits (Wellons, "Hash Prospector", 2018), which maps a key to random bits."""

WORKERS = 64
"""A number above the maximum number of workers of a tile; a vertex has one key for each worker."""

HALF_LARGEST, HALF_INFINITY, HALF_NAN, QUIET_BIT = 0x7BFF, 0x7C00, 0x7E00, 0x200
HALF_BIAS, HALF_MANTISSA = 15, 10


def mixed(value: int) -> int:
    """Return 64 pseudo-random bits for a number.

    >>> hex(mixed(GOLDEN))
    '0xe220a8397b1dcdaf'
    """
    value %= 1 << 64
    for shift, factor in MIX:
        value = (value ^ value >> shift) * factor % (1 << 64)
    return value


def vertex_key(seed: int, executions: int, vertex: int, worker: int) -> int:
    """Return the key of the random bits of one worker.

    `executions` is the number of compute sets that have run, `vertex` the position in its compute
    set; `worker` is 0 for a vertex that runs on one worker.
    """
    launch = mixed(seed + executions * GOLDEN)
    return mixed(launch + (vertex * WORKERS + worker) * GOLDEN)


def random_bits(key: int, count: int) -> int:
    """Return 32 random bits for one store; `count` is the number of earlier ones of the worker."""
    low, high = key % (1 << 32), key >> 32
    bits = (low + count * SMALL_GOLDEN) % (1 << 32)
    for number, (shift, factor) in enumerate(SMALL_MIX):
        bits = (bits ^ bits >> shift) * factor % (1 << 32)
        if number == 0:
            bits ^= high
    return bits


class Stores:
    """Stores of one worker to FLOAT, HALF and QUARTER elements.

    `mode` is a value of `poplite.machine.floating_point`, `key` is the key of the worker.
    """

    def __init__(self, mode: int, key: int) -> None:
        self._mode, self._key, self._count = mode, key, 0

    def store(
        self,
        element: type[ElementType[Any]],
        memory: npt.NDArray[Any],
        index: int,
        value: Number,
        metadata: QuarterMetadata | None,
    ) -> None:
        """Write a value as an element of floating point; `index` is in range.

        Raises `FloatingPointTrap` if the value is too large and overflow traps.
        """
        single: np.float32 = trapping(self._mode).as_f32(value)
        if element is FLOAT:
            memory[index] = single
            return
        bits = 0
        if self._mode & STOCHASTIC:
            bits = random_bits(self._key, self._count)
            self._count += 1
        if element is HALF:
            code, overflows = self._half(single, bits)
        else:
            assert metadata is not None
            code, overflows = self._quarter(single, bits, metadata)
        if overflows:
            what = OVERFLOW | (INVALID if self._mode & OVERFLOW_NAN else 0)
            trap(what, self._mode, f"{single!s} as {element!r}")
        memory.view(np.uint16 if element is HALF else np.uint8)[index] = code

    def _half(self, value: np.float32, bits: int) -> tuple[int, bool]:
        if not np.isfinite(value):
            quiet = QUIET_BIT if np.isnan(value) else 0
            return int(np.float16(value).view(np.uint16)) | quiet, False
        sign = int(value.view(np.uint32)) >> 16 & 0x8000
        if self._mode & STOCHASTIC:
            code = _cut(abs(value), HALF_MANTISSA, HALF_BIAS, bits)
        else:
            code = int(np.float16(abs(value)).view(np.uint16))
        if code < HALF_INFINITY:
            return sign | code, False
        large = HALF_INFINITY
        if self._mode & (OVERFLOW_NAN | OVERFLOW_MAX):
            large = HALF_NAN if self._mode & OVERFLOW_NAN else HALF_LARGEST
        return sign | large, True

    def _quarter(self, value: np.float32, bits: int, metadata: QuarterMetadata) -> tuple[int, bool]:
        if np.isnan(value):
            return NAN_CODE, False
        scaled = np.ldexp(value, np.int32(-metadata.scale))
        if self._mode & STOCHASTIC:
            format: QuarterFormat = metadata.format
            code = _cut(abs(scaled), format.mantissa_bits, format.bias, bits)
        else:
            code = int(encode(np.array([abs(value)]), metadata)[0])
        overflows = code > 0x7F
        if overflows:
            if not self._mode & OVERFLOW_MAX:
                return NAN_CODE, True
            code = 0x7F
        return code | (0x80 if code and value < 0 else 0), overflows


def _cut(value: np.float32, mantissa: int, bias: int, bits: int) -> int:
    """Return exponent and mantissa of a smaller float, rounded stochastically.

    `value` is finite and not negative; `mantissa` is its width in bits; the lowest of the 32 random
    `bits` are used.
    """
    magnitude = int(value.view(np.uint32))
    drop, least = 23 - mantissa, 128 - bias
    exponent = magnitude >> 23
    if exponent >= least:
        cut = (magnitude + bits % (1 << drop)) >> drop
        return cut - (127 - bias << mantissa)
    # Below the normal range all numbers are multiples of one step.
    shift = drop + least - exponent
    significand = (magnitude & 0x7F_FFFF | 0x80_0000) >> max(0, shift - 31)
    shift = min(shift, 31)
    return (significand + bits % (1 << shift)) >> shift
