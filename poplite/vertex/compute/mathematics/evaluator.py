"""What kernels are written in: operators, and the functions of an evaluator.

    def half_or_none(on, x):
        return on.choose(x > 0, x * 0.5, 0.0)

A kernel takes an evaluator and float32 values, and returns one. Values have the operators of
numbers; plain numbers beside them take their type. By NumPy the values are scalars or arrays, so
that one text is the interpreted form and checks millions of numbers at once; the evaluator of
`poplite.simulator.codegen.mathematics` emits the instructions of the same operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

Value = Any
"""A number, or an array, or what stands for a number in emitted code."""


class Evaluator(Protocol):
    """The functions that kernels use beside operators; integers wrap around."""

    def choose(self, condition: Value, one: Value, other: Value) -> Value:
        """Return `one` where a condition holds, else `other`; one of them may be a plain number."""

    def bits(self, value: Value) -> Value:
        """Return the bits of a float32 as int32, of a double as int64."""

    def floats(self, bits: Value) -> Value:
        """Return the float32 of the bits in an int32, the double of those in an int64."""

    def double(self, value: Value) -> Value:
        """Return a float32, or the nearest to an int64, as double."""

    def single(self, value: Value) -> Value:
        """Return a double rounded to float32."""

    def sqrt(self, value: Value) -> Value:
        """Return a square root, correctly rounded."""

    def rint(self, value: Value) -> Value:
        """Return the nearest whole number, the even one of two."""

    def lookup(self, table: Sequence[int], index: Value) -> Value:
        """Return the int64 at an index of a table."""


class NumPyEvaluator:
    """Evaluates kernels on NumPy's scalars and arrays, under `np.errstate(all="ignore")`."""

    def choose(self, condition: Value, one: Value, other: Value) -> Value:
        """See `Evaluator`."""
        strong: Value = one if isinstance(one, np.generic | np.ndarray) else other
        kind = strong.dtype.type
        if isinstance(condition, np.ndarray):
            chosen: Value = np.where(condition, one, other)
            return chosen.astype(kind, copy=False)
        return kind(one if condition else other)

    def bits(self, value: Value) -> Value:
        """See `Evaluator`."""
        return value.view(f"i{value.dtype.itemsize}")

    def floats(self, bits: Value) -> Value:
        """See `Evaluator`."""
        return bits.view(f"f{bits.dtype.itemsize}")

    def double(self, value: Value) -> Value:
        """See `Evaluator`."""
        return value.astype(np.float64)

    def single(self, value: Value) -> Value:
        """See `Evaluator`."""
        return value.astype(np.float32)

    def sqrt(self, value: Value) -> Value:
        """See `Evaluator`."""
        return np.sqrt(value)

    def rint(self, value: Value) -> Value:
        """See `Evaluator`."""
        return np.rint(value)

    def lookup(self, table: Sequence[int], index: Value) -> Value:
        """See `Evaluator`."""
        return _array(tuple(table))[index]


@cache
def _array(table: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(table, np.int64)


def polynomial(x: Value, coefficients: Sequence[Value]) -> Value:
    """Return the value of a polynomial, its coefficients from that of x^0 on, by Horner's rule.

    >>> polynomial(np.float64(2), [1.0, 0.0, 3.0])
    np.float64(13.0)
    """
    result = coefficients[-1] * x + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result = result * x + coefficient
    return result


def within(on: Evaluator, x: Value, least: float, most: float) -> Value:
    """Return the nearest number of an interval; NaN stays."""
    x = on.choose(x < least, least, x)
    return on.choose(x > most, most, x)


def words(values: Sequence[float]) -> tuple[int, ...]:
    """Return the bits of doubles, for a table.

    >>> words([0.0, 1.0]) == (0, 1023 << 52)
    True
    """
    return tuple(np.array(values, np.float64).view(np.int64).tolist())


def with_sign(on: Evaluator, magnitude: Value, sign: Value) -> Value:
    """Return a magnitude, which is not negative, with the sign of another number of its type."""
    return on.floats(on.bits(magnitude) | (on.bits(sign) & SIGN))


SIGN = -(1 << 63)
"""The sign of a double, as int64."""

MAGIC = 6755399441055744.0
"""1.5 * 2^52: a double to which it is added has no fraction left, and its integer in the low bits.

Source: D. Goldberg, "What Every Computer Scientist Should Know", for rounding by addition.
"""

MAGIC_BITS = 0x4338000000000000
"""The bits of `MAGIC`."""
