"""Powers of e and 2, and the hyperbolic functions."""

from __future__ import annotations

import numpy as np

from poplite.vertex.compute.mathematics.evaluator import (
    MAGIC,
    Evaluator,
    Value,
    polynomial,
    with_sign,
    within,
)

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453

LEAST, MOST = -104.0, 89.0
"""Below, e^x is less than half of the least float32; above, it is more than the greatest."""

_LEAST_SINGLE, _MOST_SINGLE, _LOG2_E_SINGLE = map(np.float32, (LEAST, MOST, LOG2_E))

_EXP = tuple(map(np.float32, (0.49999994, 0.16666521, 0.04166839, 0.0083687166, 0.001381461)))
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, in float32; error of e^r 2^-28.3."""

_LN_2_HIGH, _LN_2_LOW = map(np.float32, (0.693359375, -2.12194440e-4))
"""ln(2) in two parts, of which the first has 9 bits; W. J. Cody, W. Waite, "Software Manual for the
Elementary Functions", 1980."""

_ONE, _SINGLE_MAGIC = map(np.float32, (1.0, 12582912.0))
"""`_SINGLE_MAGIC` is 1.5 * 2^23, as `MAGIC` for float32."""

_SINGLE_MAGIC_BITS, _BIAS, _FRACTION = map(np.int32, (0x4B400000, 127, 23))


def exp(on: Evaluator, x: Value) -> Value:
    """Return e^x, in float32: at most 1 unit in the last place from the true value.

    e^x is 2^n e^r, with n the integer next to x / ln(2). It is the function that others are made of
    and vertices call most, and twice as many float32 fit a vector.
    """
    x = on.choose(x < LEAST, LEAST, x)
    x = on.choose(x > MOST, MOST, x)
    shifted = x * LOG2_E + _SINGLE_MAGIC
    n = shifted - _SINGLE_MAGIC
    r = (x - n * _LN_2_HIGH) - n * _LN_2_LOW
    power = (r * r * polynomial(r, _EXP) + r) + _ONE
    # In two steps, as 2^n itself may be none of float32's: both are exact but for the last one.
    whole = on.bits(shifted) - _SINGLE_MAGIC_BITS
    half = whole >> np.int32(1)
    most = on.floats((half + _BIAS) << _FRACTION)
    return power * most * on.floats((whole - half + _BIAS) << _FRACTION)


_EXPM1 = (
    *(0.5000000046413875, 0.1666666681708558, 0.04166635466337786),
    *(0.008333273048241416, 0.0013941008315714615, 0.00019914170911948208),
)
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; error of e^r - 1 2^-32."""


def expm1_parts(on: Evaluator, x: Value) -> tuple[Value, Value]:
    """Return e^x - 1 for a double x from -150 to 700, and e^x."""
    shifted = x * LOG2_E + MAGIC
    r = x - (shifted - MAGIC) * LN_2
    part = r * r * polynomial(r, _EXPM1) + r
    scale = power_of_two(on, shifted)
    scaled = scale * part
    return scaled + (scale - 1.0), scaled + scale


def power_of_two(on: Evaluator, shifted: Value) -> Value:
    """Return 2^n as double, where n was rounded by adding `MAGIC`; n is from -1022 to 1023."""
    return on.floats(((on.bits(shifted) + 1023) & 0x7FF) << 52)


def expm1(on: Evaluator, x: Value) -> Value:
    """Return e^x - 1."""
    wide = on.double(x)
    result, _ = expm1_parts(on, within(on, wide, LEAST, 90.0))
    return on.single(with_sign(on, abs(result), wide))


_EXP2 = (
    *(0.6931471805416315, 0.24022651076305224, 0.0555041096267993, 0.009618036837458092),
    *(0.0013333430686273814, 0.00015467135709427177, 1.531497204658105e-05),
)
"""(2^r - 1) / r for |r| <= 1/2; error of 2^r 2^-34."""


def exp2_of(on: Evaluator, x: Value) -> Value:
    """Return 2^x for a double, as double; beyond float32 one that rounds to 0 or inf."""
    x = within(on, x, -151.0, 129.0)
    shifted = x + MAGIC
    r = x - (shifted - MAGIC)
    return (polynomial(r, _EXP2) * r + 1.0) * power_of_two(on, shifted)


def exp2(on: Evaluator, x: Value) -> Value:
    """Return 2^x."""
    return on.single(exp2_of(on, on.double(x)))


def sinh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic sine."""
    wide = on.double(x)
    less, power = expm1_parts(on, within(on, abs(wide), 0.0, 90.0))
    return on.single(with_sign(on, (less + less / power) * 0.5, wide))


def cosh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic cosine."""
    _, power = expm1_parts(on, within(on, abs(on.double(x)), 0.0, 90.0))
    return on.single((power + 1.0 / power) * 0.5)


def tanh(on: Evaluator, x: Value) -> Value:
    """Return the hyperbolic tangent."""
    wide = on.double(x)
    less, _ = expm1_parts(on, within(on, abs(wide) * 2.0, 0.0, 90.0))
    return on.single(with_sign(on, less / (less + 2.0), wide))
