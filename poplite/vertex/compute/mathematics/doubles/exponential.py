"""Powers of e and 2, and the hyperbolic functions, of doubles."""

from __future__ import annotations

from typing import NamedTuple

from poplite.vertex.compute.mathematics.doubles.pairs import (
    Pair,
    normal,
    product_of,
    quotient_of,
    sum_of,
)
from poplite.vertex.compute.mathematics.evaluator import (
    MAGIC,
    MAGIC_BITS,
    Evaluator,
    Value,
    polynomial,
    with_sign,
    within,
)

LOG2_E = 1.4426950408889634

LN_2 = Pair(0.6931471805599453, 2.3190468138462996e-17)

LN_2_PARTS = Pair(0.6931471805598903, 5.497923018708371e-14)
"""ln(2), its upper part of 42 bits: products with exponents are exact."""

LEAST, MOST = -746.0, 710.0
"""Below, e^x is less than half of the least double; above, it is more than the greatest."""

_EXP = (
    *(0.5, 0.16666666666666682, 0.041666666666666095, 0.0083333333333169, 0.0013888888889115319),
    *(0.0001984126989672009, 2.4801586927860926e-05, 2.7557234521753524e-06, 2.755758026075708e-07),
    *(2.511215691951381e-08, 2.0827279538963678e-09),
)
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; error of e^r 2^-64."""


class Power(NamedTuple):
    """A number as 2^exponent times a pair near 1; the exponent is an int64."""

    pair: Pair
    exponent: Value


def power_of_two(on: Evaluator, exponent: Value) -> Value:
    """Return 2^n for an int64 from -1022 to 1023."""
    return on.floats((exponent + 1023) << 52)


def scaled(on: Evaluator, value: Value, exponent: Value) -> Value:
    """Return a double near 1 times 2^n, in two steps: 2^n may be no double where the product is."""
    half = exponent >> 1
    return value * power_of_two(on, half) * power_of_two(on, exponent - half)


def _exp_within(r: Pair) -> Pair:
    """Return e^r for |r| <= ln(2) / 2."""
    high, low = normal(1.0, r.high)
    tail = r.high * r.high * polynomial(r.high, _EXP) + (r.high * r.low + r.low)
    return normal(high, low + tail)


def exp_of(on: Evaluator, x: Pair) -> Power:
    """Return e^x for a pair from -1400 to 1400."""
    shifted = x.high * LOG2_E + MAGIC
    n = shifted - MAGIC
    r = sum_of(x.high - n * LN_2_PARTS.high, x.low - n * LN_2_PARTS.low)
    return Power(_exp_within(r), on.bits(shifted) - MAGIC_BITS)


def exp(on: Evaluator, x: Value) -> Value:
    """Return e^x."""
    power, n = exp_of(on, Pair(within(on, x, LEAST, MOST), 0.0))
    return scaled(on, power.high, n)


def exp2(on: Evaluator, x: Value) -> Value:
    """Return 2^x."""
    x = within(on, x, -1076.0, 1025.0)
    shifted = x + MAGIC
    r = x - (shifted - MAGIC)
    high, low = product_of(on, r, LN_2.high)
    power = _exp_within(Pair(high, low + r * LN_2.low))
    return scaled(on, power.high, on.bits(shifted) - MAGIC_BITS)


_USUAL = 64.0
"""Above, e^x - 1 is rounded as e^x is."""


def _expm1_of(on: Evaluator, x: Value) -> Pair:
    """Return e^x - 1 for a double up to `_USUAL`."""
    (high, low), n = exp_of(on, Pair(within(on, x, -_USUAL, _USUAL), 0.0))
    scale = power_of_two(on, n)
    less, rest = sum_of(scale * high, -1.0)
    return normal(less, scale * low + rest)


def expm1(on: Evaluator, x: Value) -> Value:
    """Return e^x - 1."""
    less = on.choose(x > _USUAL, exp(on, x), _expm1_of(on, x).high)
    return with_sign(on, abs(less), x)


_SINH = (
    *(0.16666666666666666, 0.008333333333333333, 0.0001984126984126959, 2.7557319224120245e-06),
    *(2.5052108345641214e-08, 1.6059050705903782e-10),
    *(7.646476358796814e-13, 2.8483983529572528e-15),
)
"""(sinh(x) - x) / x^3 in x^2 for |x| <= 1; error of the sine 2^-73.6."""


def _half_power(on: Evaluator, size: Value) -> Pair:
    """Return e^x / 2 for a double that is not negative, and inf where that is too large."""
    (high, low), n = exp_of(on, Pair(within(on, size, 0.0, 712.0), 0.0))
    return Pair(scaled(on, high, n - 1), scaled(on, low, n - 1))


def sinh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic sine."""
    size = abs(x)
    half = _half_power(on, size)
    large = half.high + (half.low - 0.25 / half.high)
    small = on.choose(size > 1.0, 1.0, size)
    z = small * small
    result = on.choose(size > 1.0, large, small * z * polynomial(z, _SINH) + small)
    return with_sign(on, on.choose(size == size, result, size), x)


def cosh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic cosine."""
    half = _half_power(on, abs(x))
    return half.high + (half.low + 0.25 / half.high)


def tanh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic tangent."""
    size = abs(x)
    less = _expm1_of(on, size + size)
    more = sum_of(less.high, 2.0)
    result, _ = quotient_of(on, less, Pair(more.high, more.low + less.low))
    return with_sign(on, result, x)
