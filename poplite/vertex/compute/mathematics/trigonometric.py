"""Sine, cosine, tangent, and their inverses.

An angle is measured in quarters of a turn: x * 2 / pi is an integer, of which two bits count, and a
fraction. For all float32 at once, up to 2^128, the product is made in integers: 24 bits of x by
the 96 bits of 2 / pi that its exponent moves to their place; higher ones are whole turns.

Source of the method: M. Payne, R. Hanek, "Radian Reduction for Trigonometric Functions", 1983.
"""

from __future__ import annotations

import math

from poplite.vertex.compute.mathematics.evaluator import (
    SIGN,
    Evaluator,
    Value,
    polynomial,
    with_sign,
)

TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0"
    "06492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F4"
    "9C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D"
    "7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D",
    16,
)
"""2 / pi times 2^`TWO_OVER_PI_BITS`, rounded down; doubles need them all."""

TWO_OVER_PI_BITS = 1280

_LOW_BITS = 32
"""Bits of the lower part: processors have a product of two numbers of 32 bits, in 64."""

_FRACTION_BITS = 62
"""Bits of a fraction in the upper part; the two above say which quarter of the turn."""

_FIRST = 1020
"""The exponent, as a double has it, of 1/8: angles below pi/4 are not reduced."""


_MORE = 1023 - 127
"""By how much the exponent of a double is larger than that of the same float32."""


def _places() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return upper and lower parts of 2 / pi for the lowest bit of x at each exponent."""
    upper, lower = [0] * 256, [0] * 256
    for exponent in range(_FIRST, 1023 + 128):
        scale = exponent - 1023 - 23 + _FRACTION_BITS + _LOW_BITS - TWO_OVER_PI_BITS
        bits = (TWO_OVER_PI >> -scale) & ((1 << (64 + _LOW_BITS)) - 1)
        word = bits >> _LOW_BITS
        upper[exponent - _MORE] = word - (1 << 64) if word >> 63 else word
        lower[exponent - _MORE] = bits & ((1 << _LOW_BITS) - 1)
    return tuple(upper), tuple(lower)


_UPPER, _LOWER = _places()

_PI_4 = 0.7853981633974483

_SCALE = math.pi / 2 * 2.0**-_FRACTION_BITS

_SIN = (
    *(-0.16666666641606892, 0.008333329383563513),
    *(-0.00019839334077267846, 2.7183041791961067e-06),
)
"""(sin(r) - r) / r^3 in r^2 for |r| <= pi/4; error of the sine 2^-37.6."""

_COS = (0.04166664685460358, -0.0013887366910035424, 2.4438379479637176e-05)
"""(cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= pi/4; error of the cosine 2^-33."""


def _reduced(on: Evaluator, x: Value, size: Value) -> tuple[Value, Value]:
    """Return for a float32, and its size as a double, the quarter as int64, and r, up to pi/4."""
    bits = on.bits(size)
    place = (on.bits(x) >> 23) & 255
    digits = ((bits & ((1 << 52) - 1)) | (1 << 52)) >> 29
    lower = on.lookup(_LOWER, place) & ((1 << _LOW_BITS) - 1)  # compilers know now how large it is
    product = digits * on.lookup(_UPPER, place) + (digits * lower >> _LOW_BITS)
    quarter = (product + (1 << (_FRACTION_BITS - 1))) >> _FRACTION_BITS
    rest = on.double(product - (quarter << _FRACTION_BITS)) * _SCALE
    return quarter, on.choose(size < _PI_4, size, rest)  # below, it is quarter 0


def _sin_cos(on: Evaluator, r: Value) -> tuple[Value, Value]:
    z = r * r
    return r * z * polynomial(z, _SIN) + r, z * z * polynomial(z, _COS) + (1.0 - z * 0.5)


def sin(on: Evaluator, x: Value) -> Value:
    """Return the sine of an angle in radians."""
    wide = on.double(x)
    size = abs(wide)
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(on, r)
    result = on.choose((quarter & 1) == 1, cosine, sine)
    sign = ((quarter & 2) << 62) ^ (on.bits(wide) & SIGN)
    result = on.floats(on.bits(result) ^ sign)
    return on.single(on.choose(size < math.inf, result, wide - wide))


def cos(on: Evaluator, x: Value) -> Value:
    """Return the cosine of an angle in radians."""
    size = abs(on.double(x))
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(on, r)
    result = on.choose((quarter & 1) == 1, sine, cosine)
    result = on.floats(on.bits(result) ^ (((quarter + 1) & 2) << 62))
    return on.single(on.choose(size < math.inf, result, size - size))


def tan(on: Evaluator, x: Value) -> Value:
    """Return the tangent of an angle in radians."""
    wide = on.double(x)
    size = abs(wide)
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(on, r)
    is_odd = (quarter & 1) == 1
    result = on.choose(is_odd, -cosine, sine) / on.choose(is_odd, sine, cosine)
    result = on.floats(on.bits(result) ^ (on.bits(wide) & SIGN))
    return on.single(on.choose(size < math.inf, result, wide - wide))


# -- inverses ------------------------------------------------------------------------------------

_ASIN = (
    *(0.16666667191553686, 0.07499948008152343, 0.04466020559417463, 0.03010970750207181),
    *(0.024621913748557666, 0.007457813174192352, 0.03470699225088815),
)
"""(asin(s) - s) / s^3 in s^2 for |s| <= 1/2; error of the arc sine 2^-35.8."""

_HALF_PI = math.pi / 2


def _asin_parts(on: Evaluator, size: Value) -> tuple[Value, Value]:
    """Return whether a size is above 1/2, and its arc sine, or there half of the arc cosine."""
    is_large = size > 0.5
    z = on.choose(is_large, 0.5 - size * 0.5, size * size)
    s = on.choose(is_large, on.sqrt(z), size)
    return is_large, s * z * polynomial(z, _ASIN) + s


def asin(on: Evaluator, x: Value) -> Value:
    """Return the arc sine, from -pi/2 to pi/2."""
    wide = on.double(x)
    is_large, part = _asin_parts(on, abs(wide))
    result = on.choose(is_large, _HALF_PI - (part + part), part)
    return on.single(with_sign(on, result, wide))


def acos(on: Evaluator, x: Value) -> Value:
    """Return the arc cosine, from 0 to pi."""
    wide = on.double(x)
    is_large, part = _asin_parts(on, abs(wide))
    below = on.choose(wide < 0.0, math.pi - (part + part), part + part)
    return on.single(on.choose(is_large, below, _HALF_PI - with_sign(on, part, wide)))


_ATAN = (
    *(-0.33333327433900006, 0.19999692631849558, -0.1428013102821179, 0.11060246485460161),
    *(-0.0881885572015174, 0.06759589238774368, -0.04494668922362096, 0.022760549552069288),
    *(-0.007422736490886732, 0.0011348981803085971),
)
"""(atan(t) - t) / t^3 in t^2 for |t| <= 1; error of the arc tangent 2^-31.4."""


def _atan_of(t: Value) -> Value:
    """Return the arc tangent of a double from 0 to 1."""
    z = t * t
    return t * z * polynomial(z, _ATAN) + t


def atan(on: Evaluator, x: Value) -> Value:
    """Return the arc tangent, from -pi/2 to pi/2."""
    wide = on.double(x)
    size = abs(wide)
    is_large = size > 1.0
    angle = _atan_of(on.choose(is_large, 1.0, size) / on.choose(is_large, size, 1.0))
    return on.single(with_sign(on, on.choose(is_large, _HALF_PI - angle, angle), wide))


def atan2(on: Evaluator, y: Value, x: Value) -> Value:
    """Return the angle of a point (x, y), from -pi to pi; special cases as in C99, F.9.1.4."""
    up, along = on.double(y), on.double(x)
    height, width = abs(up), abs(along)
    is_steep = height > width
    large, small = on.choose(is_steep, height, width), on.choose(is_steep, width, height)
    ratio = small / on.choose(large == 0.0, 1.0, large)
    angle = _atan_of(on.choose((small == large) & (large > 0.0), 1.0, ratio))
    angle = on.choose(is_steep, _HALF_PI - angle, angle)
    angle = on.choose(on.bits(along) < 0, math.pi - angle, angle)
    is_number = (y == y) & (x == x)
    return on.single(with_sign(on, on.choose(is_number, angle, height + width), up))
