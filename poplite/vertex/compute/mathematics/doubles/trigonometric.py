"""Sine, cosine and tangent of doubles.

An angle is measured in quarters of a turn, as for float32: x * 2 / pi is an integer, of which two
bits count, and a fraction, which may begin with 60 zeros for a double: 124 bits of it are kept. The
product is made of digits to the base 2^28, of which int64 holds products and their sums::

    x, up to 81 bits               d2 d1 d0
    2 / pi, from the right place   w0 w1 w2 w3 w4 w5 w6 w7
    column m                       d2 w(m + 2) + d1 w(m + 1) + d0 w(m)

Source of the method: M. Payne, R. Hanek, "Radian Reduction for Trigonometric Functions", 1983.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poplite.vertex.compute.mathematics.doubles.pairs import (
    Pair,
    normal,
    product_of,
    quotient_of,
    sum_of,
)
from poplite.vertex.compute.mathematics.evaluator import SIGN, Evaluator, Value, polynomial
from poplite.vertex.compute.mathematics.trigonometric import TWO_OVER_PI, TWO_OVER_PI_BITS

_DIGIT = 28
_MASK = (1 << _DIGIT) - 1

_COLUMNS = 6

_LEAST_EXPONENT = -53
"""That of the lowest bit of pi/4: angles below are not reduced."""

_LARGEST_PLACE = (971 - _LEAST_EXPONENT + 1) // _DIGIT

_DIGITS = tuple(
    (TWO_OVER_PI >> (TWO_OVER_PI_BITS - 29 - _DIGIT * k)) & _MASK
    for k in range(-2, _LARGEST_PLACE + _COLUMNS)
)
"""Digits of 2 / pi, the lowest bit of the third one standing for 2^-29."""

_PI_4 = 0.7853981633974483

_HALF_PI = Pair(1.5707963267948966, 6.123233995736766e-17)

_SIN = (
    *(-0.16666666666666666, 0.008333333333333323, -0.0001984126984125512, 2.7557319214219196e-06),
    *(-2.5052104919240387e-08, 1.6058367621775062e-10, -7.578748075340762e-13),
)
"""(sin(r) - r) / r^3 in r^2 for |r| <= pi/4; error of the sine 2^-68.8."""

_COS = (
    *(0.041666666666666664, -0.0013888888888888874, 2.4801587301571523e-05),
    *(-2.7557319215387636e-07, 2.0876754368801604e-09),
    *(-1.1470293564456014e-11, 4.7381224168276264e-14),
)
"""(cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= pi/4; error of the cosine 2^-75.2."""


def _columns(on: Evaluator, size: Value) -> list[Value]:
    """Return digits of x * 2 / pi: two bits that count and 26 of the fraction, then 28 each."""
    bits = on.bits(size)
    shift = (bits >> 52) - (1075 + _LEAST_EXPONENT)
    shift = on.choose(shift > 0, shift, 0)
    place = shift * 2341 >> 16  # the shift is up to 1025, and 2341 is 2^16 / 28
    shift = shift - place * _DIGIT
    fraction = (bits & ((1 << 52) - 1)) | (1 << 52)
    low = (fraction & _MASK) << shift
    high = ((fraction >> _DIGIT) << shift) + (low >> _DIGIT)
    d0, d1, d2 = low & _MASK, high & _MASK, high >> _DIGIT
    w = [on.lookup(_DIGITS, place + k) for k in range(_COLUMNS + 2)]
    columns, carry = [], 0
    for m in reversed(range(_COLUMNS)):
        total = d2 * w[m + 2] + d1 * w[m + 1] + d0 * w[m] + carry
        columns.append(total & _MASK)
        carry = total >> _DIGIT
    return columns[::-1]


class _Angle(NamedTuple):
    """A quarter of the turn, as int64 of which two bits count, and an angle up to pi/4 on."""

    quarter: Value
    rest: Pair


def _reduced(on: Evaluator, size: Value) -> _Angle:
    """Return where an angle without sign points."""
    c0, c1, c2, c3, c4, _ = _columns(on, size)
    upper = (c0 << 36) | (c1 << 8) | (c2 >> 20)
    lower = ((c2 & ((1 << 20) - 1)) << 42) | (c3 << 14) | (c4 >> 14)
    quarter = (upper + (1 << 61)) >> 62
    rest = upper - (quarter << 62)
    # int64 has more bits than a double: two of 31 bits, then the lower ones.
    high = on.double(rest >> 31) * 2.0**-31
    middle = on.double(rest & ((1 << 31) - 1)) * 2.0**-62
    high, low = normal(high, middle)
    high, least = sum_of(high, on.double(lower) * 2.0**-124)
    low = low + least
    angle, rounded = product_of(on, high, _HALF_PI.high)
    angle, rounded = normal(angle, rounded + (high * _HALF_PI.low + low * _HALF_PI.high))
    is_small = size < _PI_4
    return _Angle(
        on.choose(is_small, 0, quarter),
        Pair(on.choose(is_small, size, angle), on.choose(is_small, 0.0, rounded)),
    )


def _sine(r: Pair) -> Pair:
    z = r.high * r.high
    return normal(r.high, r.high * z * polynomial(z, _SIN) + (r.low - r.low * z * 0.5))


def _cosine(on: Evaluator, r: Pair) -> Pair:
    z, rest = product_of(on, r.high, r.high)
    high, low = normal(1.0, z * -0.5)
    return normal(high, z * z * polynomial(z, _COS) + (low - rest * 0.5 - r.high * r.low))


def _turned(on: Evaluator, x: Value, result: Value, sign: Value) -> Value:
    """Return a result with its sign turned by the upper bit of an int64; NaN beside the domain."""
    result = on.floats(on.bits(result) ^ (sign & SIGN))
    return on.choose(abs(x) < math.inf, result, x - x)


def sin(on: Evaluator, x: Value) -> Value:
    """Return the sine of an angle in radians."""
    quarter, r = _reduced(on, abs(x))
    result = on.choose((quarter & 1) == 1, _cosine(on, r).high, _sine(r).high)
    return _turned(on, x, result, (quarter << 62) ^ on.bits(x))


def cos(on: Evaluator, x: Value) -> Value:
    """Return the cosine of an angle in radians."""
    quarter, r = _reduced(on, abs(x))
    result = on.choose((quarter & 1) == 1, _sine(r).high, _cosine(on, r).high)
    return _turned(on, x, result, (quarter + 1) << 62)


def tan(on: Evaluator, x: Value) -> Value:
    """Return the tangent of an angle in radians."""
    quarter, r = _reduced(on, abs(x))
    sine, cosine = _sine(r), _cosine(on, r)
    is_odd = (quarter & 1) == 1
    above = Pair(*(on.choose(is_odd, -c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Pair(*(on.choose(is_odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    # A sine of 0 is not divided by: it stands at 0 only, where the quarter is 0.
    return _turned(on, x, quotient_of(on, above, below).high, on.bits(x))
