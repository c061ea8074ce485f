"""Arc sine, arc cosine, arc tangent and the angle of a point, of doubles."""

from __future__ import annotations

import math

from poplite.vertex.compute.mathematics.doubles.pairs import (
    Pair,
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
    words,
)

_HALF_PI = Pair(1.5707963267948966, 6.123233995736766e-17)
_PI = Pair(3.141592653589793, 1.2246467991473532e-16)

_ASIN = (
    *(0.16666666666666763, 0.07499999999970261, 0.044642857175122425, 0.030381942683543675),
    *(0.0223722156621377, 0.017351600063576788, 0.013980961736334363, 0.011397774052133582),
    *(0.010786537973710474, 0.0036830145301967607, 0.021763552953197415),
    *(-0.021077352629667496, 0.032676919084087624),
)
"""(asin(s) - s) / s^3 in s^2 for |s| <= 1/2; error of the arc sine 2^-59.8."""


def _difference(a: Pair, b: Pair) -> Value:
    high, low = sum_of(a.high, -b.high)
    return high + (low + (a.low - b.low))


def _asin_parts(on: Evaluator, size: Value) -> tuple[Value, Pair]:
    """Return whether a size is above 1/2, and its arc sine, or there half of the arc cosine."""
    is_large = size > 0.5
    z = on.choose(is_large, 0.5 - size * 0.5, size * size)
    root = on.sqrt(z)
    high, low = product_of(on, root, root)
    rounded = ((z - high) - low) / on.choose(z > 0.0, root + root, 1.0)
    s = on.choose(is_large, root, size)
    tail = s * z * polynomial(z, _ASIN)
    return is_large, Pair(s, tail + on.choose(is_large, rounded, 0.0))


def asin(on: Evaluator, x: Value) -> Value:
    """Return the arc sine, from -pi/2 to pi/2."""
    is_large, part = _asin_parts(on, abs(x))
    above = _difference(_HALF_PI, Pair(part.high + part.high, part.low + part.low))
    return with_sign(on, on.choose(is_large, above, part.high + part.low), x)


def acos(on: Evaluator, x: Value) -> Value:
    """Return the arc cosine, from 0 to pi."""
    is_large, part = _asin_parts(on, abs(x))
    twice = Pair(part.high + part.high, part.low + part.low)
    large = on.choose(x < 0.0, _difference(_PI, twice), twice.high + twice.low)
    part = Pair(*(on.choose(x < 0.0, -each, each) for each in part))
    return on.choose(is_large, large, _difference(_HALF_PI, part))


_ATAN = (
    *(-0.3333333333333333, 0.1999999999999902, -0.14285714284094686, 0.11111109880062105),
    *(-0.09090435808582195, 0.07602694582737562),
)
"""(atan(u) - u) / u^3 in u^2 for |u| <= 0.0626; error of the arc tangent 2^-72.8."""

_UPPER = words(
    [
        *(0.0, 0.12435499454676144, 0.24497866312686414, 0.35877067027057225, 0.4636476090008061),
        *(0.5585993153435624, 0.6435011087932844, 0.7188299996216245, 0.7853981633974483),
    ]
)
"""The arc tangents of 0, 1/8, ... 1."""

_LOWER = words(
    [
        *(0.0, -3.1253241424539383e-18, 1.0698755618734451e-17, -2.4623815582638635e-17),
        *(2.2698777452961687e-17, -5.4556305485916264e-18, 1.5834785051444286e-17),
        *(-2.1478388444456983e-17, 3.061616997868383e-17),
    ]
)
"""What is missing of them."""


def _angle(on: Evaluator, small: Value, large: Value) -> Pair:
    """Return atan(small / large) for 0 <= small <= large; the large one is from 2^-900 to 2^900.

    With c the nearest eighth it is atan(c) + atan(u), u = (small - c large) / (large + c small).
    """
    ratio = small / large
    shifted = ratio * 8.0 + MAGIC
    c = (shifted - MAGIC) * 0.125
    place = on.bits(shifted) - MAGIC_BITS
    place = on.choose((place > 0) & (place < 9), place, 0)
    high, low = product_of(on, c, large)
    above = sum_of(small - high, -low)
    high, low = product_of(on, c, small)
    below = sum_of(large, high)
    u = quotient_of(on, above, Pair(below.high, below.low + low))
    z = u.high * u.high
    tail = u.low + u.high * z * polynomial(z, _ATAN)
    high, low = sum_of(on.floats(on.lookup(_UPPER, place)), u.high)
    low = low + (on.floats(on.lookup(_LOWER, place)) + tail)
    is_least = ratio < 2.0**-200  # and its angle; the rest of a quotient might be below all doubles
    return Pair(on.choose(is_least, ratio, high), on.choose(is_least, 0.0, low))


def _steep(on: Evaluator, is_steep: Value, angle: Pair) -> Pair:
    """Return what is left to pi/2 where a point is nearer to the other axis."""
    high, low = sum_of(_HALF_PI.high, -angle.high)
    return Pair(
        on.choose(is_steep, high, angle.high),
        on.choose(is_steep, low + (_HALF_PI.low - angle.low), angle.low),
    )


def atan(on: Evaluator, x: Value) -> Value:
    """Return the arc tangent, from -pi/2 to pi/2."""
    size = abs(x)
    size = on.choose(size > 2.0**100, 2.0**100, size)
    is_large = size > 1.0
    angle = _angle(on, on.choose(is_large, 1.0, size), on.choose(is_large, size, 1.0))
    high, low = _steep(on, is_large, angle)
    return on.choose(x == x, with_sign(on, high + low, x), x)


def atan2(on: Evaluator, y: Value, x: Value) -> Value:
    """Return the angle of a point (x, y), from -pi to pi; special cases as in C99, F.9.1.4."""
    height, width = abs(y), abs(x)
    is_steep = height > width
    large, small = on.choose(is_steep, height, width), on.choose(is_steep, width, height)
    # Of infinities only the direction counts, and of zeros their sign.
    is_equal = (small == large) & (large > 0.0)
    small = on.choose(large == math.inf, on.choose(is_equal, 1.0, large * 0.0), small)
    small = on.choose(small == small, small, 0.0)
    large = on.choose((large == 0.0) | (large == math.inf), 1.0, large)
    scale = on.choose(
        large > 2.0**900, 2.0**-200, on.choose(large < 2.0**-700, 2.0**200, large * 0.0 + 1.0)
    )
    angle = _steep(on, is_steep, _angle(on, small * scale, large * scale))
    high, low = sum_of(_PI.high, -angle.high)
    result = on.choose(on.bits(x) < 0, high + (low + (_PI.low - angle.low)), angle.high + angle.low)
    is_number = (y == y) & (x == x)
    return with_sign(on, on.choose(is_number, result, height + width), y)
