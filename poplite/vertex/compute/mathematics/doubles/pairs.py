"""Numbers as sums of two doubles: what a rounding takes away is kept in the lower one.

    high, low = sum_of(1.0, 2.0**-60)       1.0, 2**-60

Source: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971;
D. E. Knuth, "The Art of Computer Programming", volume 2, for the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.vertex.compute.mathematics.evaluator import Evaluator, Value

_UPPER_HALF = -(1 << 27)
"""The bits of sign, exponent and the upper 25 of the fraction."""


class Pair(NamedTuple):
    """A number as the sum of two: the first is its nearest double, or next to that."""

    high: Value
    low: Value


def upper_half(value: float) -> float:
    """Return the upper 26 bits of a plain number."""
    return float((np.float64(value).view(np.int64) & _UPPER_HALF).view(np.float64))


def halves(on: Evaluator, value: Value) -> Pair:
    """Return a double as the sum of one with 26 bits and one with 27."""
    is_number = type(value) is float
    upper = upper_half(value) if is_number else on.floats(on.bits(value) & _UPPER_HALF)
    return Pair(upper, value - upper)


def sum_of(a: Value, b: Value) -> Pair:
    """Return the sum of two doubles, exactly.

    >>> sum_of(1.0, 2.0**-60)
    Pair(high=1.0, low=8.673617379884035e-19)
    """
    total = a + b
    rest = total - a
    return Pair(total, (a - (total - rest)) + (b - rest))


def normal(high: Value, low: Value) -> Pair:
    """Return the same number with the nearest double first; `low` is the smaller one."""
    total = high + low
    return Pair(total, low - (total - high))


def product_of(on: Evaluator, a: Value, b: Value) -> Pair:
    """Return the product of two doubles to 105 bits, if it is normal and finite."""
    product = a * b
    a_high, a_low = halves(on, a)
    b_high, b_low = halves(on, b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return Pair(product, rest)


def times(on: Evaluator, a: Pair, b: Pair) -> Pair:
    """Return the product of two pairs, to some 100 bits."""
    high, low = product_of(on, a.high, b.high)
    return normal(high, low + (a.high * b.low + a.low * b.high))


def quotient_of(on: Evaluator, a: Pair, b: Pair) -> Pair:
    """Return the quotient of two pairs, to some 100 bits."""
    quotient = a.high / b.high
    high, low = product_of(on, quotient, b.high)
    rest = ((a.high - high) - low) + (a.low - quotient * b.low)
    return normal(quotient, rest / b.high)
