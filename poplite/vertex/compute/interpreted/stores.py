"""What HALF and QUARTER elements hold after a store, where a program says how they are rounded.

Stochastic rounding adds random bits below the last place that is kept, and cuts::

    1 + 1/4 of a last place     1 with probability 3/4, the next number with 1/4

The bits depend only on the seed, how many compute sets have run, the vertex, the worker and
how many such stores it has made before.  So they are the same however vertices are distributed
over threads, and in compiled code (`poplite.simulator.codegen.codecs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.machine.floating_point import INVALID, OVERFLOW, OVERFLOW_MAX, OVERFLOW_NAN, STOCHASTIC
from poplite.types import FLOAT, HALF, NAN_CODE, ElementType, QuarterFormat, QuarterMetadata, encode
from poplite.vertex.compute.arithmetic import Number
from poplite.vertex.compute.interpreted.trapping import trap, trapping

GOLDEN = 0x9E37_79B9_7F4A_7C15
MIX = ((30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB), (31, 1))
"""Shifts and factors of splitmix64 (Steele, Lea, Flood, 2014), which makes keys from numbers."""

SMALL_GOLDEN = 0x9E37_79B9
SMALL_MIX = ((16, 0x7FEB_352D), (15, 0x846C_A68B), (16, 1))
"""The same for 32 bits (Wellons, "Hash Prospector", 2018), which makes random bits from a key."""

WORKERS = 64
"""More than the workers of a tile; the keys of a vertex are numbered by worker."""

HALF_LARGEST, HALF_INFINITY, HALF_NAN, QUIET_BIT = 0x7BFF, 0x7C00, 0x7E00, 0x200
HALF_BIAS, HALF_MANTISSA = 15, 10


def mixed(value: int) -> int:
    """Return 64 bits that look random.

    >>> hex(mixed(GOLDEN))
    '0xe220a8397b1dcdaf'
    """
    value %= 1 << 64
    for shift, factor in MIX:
        value = (value ^ value >> shift) * factor % (1 << 64)
    return value


def vertex_key(seed: int, executions: int, vertex: int, worker: int) -> int:
    """Return the key of the random bits of one worker.

    `executions` is how many compute sets have run, `vertex` the position in its compute set;
    `worker` is 0 for a vertex without workers of its own.
    """
    launch = mixed(seed + executions * GOLDEN)
    return mixed(launch + (vertex * WORKERS + worker) * GOLDEN)


def random_bits(key: int, count: int) -> int:
    """Return 32 random bits for one store; `count` is how many the worker has made before."""
    low, high = key % (1 << 32), key >> 32
    bits = (low + count * SMALL_GOLDEN) % (1 << 32)
    for number, (shift, factor) in enumerate(SMALL_MIX):
        bits = (bits ^ bits >> shift) * factor % (1 << 32)
        if number == 0:
            bits ^= high
    return bits


class Stores:
    """How one worker stores to FLOAT, HALF and QUARTER elements.

    `mode` is of `poplite.machine.floating_point`, `key` that of the worker.
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

        Raises `FloatingPointTrap` when the value is too large, and that stops the program.
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
    """Return exponent and mantissa of a smaller float, with random bits below cut off.

    `value` is finite and not negative; `mantissa` is in bits; `bits` are 32 random bits, of which
    the lowest are used.
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
