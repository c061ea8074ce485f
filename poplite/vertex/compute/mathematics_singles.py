"""Functions of float32, by their names in `math`.

An angle is measured in quarters of a turn: x * 2 / pi is an integer, whose low two bits are
used, and a fraction. For all float32 numbers, up to 2^128, the product is computed in integers: 24
bits of x times the 96 bits of 2 / pi that its exponent selects; higher bits are complete turns.

Source of the method: M. Payne, R. Hanek, "Radian Reduction for Trigonometric Functions", 1983.

Kernels are written with operators and the functions of an evaluator::

    def half_or_none(on, x):
        return on.choose(x > 0, x * 0.5, 0.0)

A kernel takes an evaluator and float32 values, and returns one. Values have the operators of
numbers; plain numbers combined with them take their type. With NumPy, values are scalars or arrays,
so that the same text is the interpreted form and can check millions of numbers at once; the
evaluator of `poplite.simulator.codegen.accessors` emits instructions for the same operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

# -- the language of kernels -----------------------------------------------------------------------


Value = Any
"""A number, an array, or the value of a number in emitted code."""


class Evaluator(Protocol):
    """The functions that kernels use besides operators; integers wrap around."""

    def choose(self, condition: Value, one: Value, other: Value) -> Value:
        """Return `one` where a condition holds, else `other`; one of them may be a plain number."""

    def bits(self, value: Value) -> Value:
        """Return the bits of a float32 as int32, of a double as int64."""

    def floats(self, bits: Value) -> Value:
        """Return the float32 of the bits in an int32, the double of those in an int64."""

    def double(self, value: Value) -> Value:
        """Return a float32 or an int64 converted to double."""

    def single(self, value: Value) -> Value:
        """Return a double rounded to float32."""

    def sqrt(self, value: Value) -> Value:
        """Return a square root, correctly rounded."""

    def rint(self, value: Value) -> Value:
        """Return the nearest integer; ties go to the even one."""

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
    """Evaluate a polynomial by Horner's rule, with its coefficients in ascending order.

    >>> polynomial(np.float64(2), [1.0, 0.0, 3.0])
    np.float64(13.0)
    """
    result = coefficients[-1] * x + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result = result * x + coefficient
    return result


def within(on: Evaluator, x: Value, least: float, most: float) -> Value:
    """Return a number clamped to an interval; NaN is unchanged."""
    x = on.choose(x < least, least, x)
    return on.choose(x > most, most, x)


def words(values: Sequence[float]) -> tuple[int, ...]:
    """Return the bits of doubles, for a table.

    >>> words([0.0, 1.0]) == (0, 1023 << 52)
    True
    """
    return tuple(np.array(values, np.float64).view(np.int64).tolist())


def with_sign(on: Evaluator, magnitude: Value, sign: Value) -> Value:
    """Return a non-negative magnitude with the sign of another number of its type."""
    return on.floats(on.bits(magnitude) | (on.bits(sign) & SIGN))


SIGN = -(1 << 63)
"""The sign of a double, as int64."""

MAGIC = 6755399441055744.0
"""1.5 * 2^52: adding it to a double rounds off the fraction and leaves the integer in the low bits.

Source: D. Goldberg, "What Every Computer Scientist Should Know", for rounding by addition.
"""

MAGIC_BITS = 0x4338000000000000
"""The bits of `MAGIC`."""


# -- powers of e and 2, and hyperbolic functions ---------------------------------------------------


LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453

LEAST, MOST = -104.0, 89.0
"""Below, e^x is less than half of the least float32; above, it is more than the greatest."""

_EXP = tuple(map(np.float32, (0.49999994, 0.16666521, 0.04166839, 0.0083687166, 0.001381461)))
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, in float32; error of e^r 2^-28.3."""

_LN_2_HIGH, _LN_2_LOW = map(np.float32, (0.693359375, -2.12194440e-4))
"""ln(2) in two parts, the first with 9 bits; W. J. Cody, W. Waite, "Software Manual for the
Elementary Functions", 1980."""

_ONE, _SINGLE_MAGIC = map(np.float32, (1.0, 12582912.0))
"""`_SINGLE_MAGIC` is 1.5 * 2^23, as `MAGIC` for float32."""

_SINGLE_MAGIC_BITS, _BIAS, _FRACTION = map(np.int32, (0x4B400000, 127, 23))


def exp(on: Evaluator, x: Value) -> Value:
    """Return e^x, in float32: at most 1 unit in the last place from the true value.

    e^x is 2^n e^r, with n the integer nearest to x / ln(2). It uses float32, not
    doubles, since twice as many fit in a vector, and vertices and other functions call it most.
    """
    x = on.choose(x < LEAST, LEAST, x)
    x = on.choose(x > MOST, MOST, x)
    shifted = x * LOG2_E + _SINGLE_MAGIC
    n = shifted - _SINGLE_MAGIC
    r = (x - n * _LN_2_HIGH) - n * _LN_2_LOW
    power = (r * r * polynomial(r, _EXP) + r) + _ONE
    # In two steps, as 2^n itself may be out of range: both are exact except the last rounding.
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
    """Return 2^x for a double, as double; out of float32's range, one that rounds to 0 or inf."""
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


# -- logarithms, and powers computed from them -----------------------------------------------------


LOG10_E = 0.4342944819032518

_LOG = (
    *(0.6666666667580926, 0.3999999561892647, 0.28572109475034524),
    *(0.2217617510494171, 0.1958435252508689),
)
"""(log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, for 1 + f from sqrt(1/2) to sqrt(2) and
s = f / (2 + f); error of the logarithm 2^-44.9."""

_ROOT_BITS = 0x3FE6A09E667F3BCD
"""The bits of sqrt(1/2)."""


def _parts(on: Evaluator, x: Value) -> tuple[Value, Value]:
    """Return n as int64 and m, from sqrt(1/2) to sqrt(2), for a positive double 2^n m."""
    bits = on.bits(x)
    n = (bits - _ROOT_BITS) >> 52
    return n, on.floats(bits - (n << 52))


def _log_of(f: Value) -> Value:
    """Return log(1 + f)."""
    s = f / (f + 2.0)
    z = s * s
    return s * z * polynomial(z, _LOG) + (s + s)


def _whole(on: Evaluator, n: Value) -> Value:
    """Return a small int64 as double; without AVX-512, processors only convert one at a time."""
    return on.floats(n + MAGIC_BITS) - MAGIC


def outside_domain(on: Evaluator, x: Value, result: Value) -> Value:
    """Return a logarithm, corrected for 0, infinity, negative numbers and NaN."""
    result = on.choose(x < math.inf, result, x)
    return on.choose(x > 0.0, result, on.choose(x == 0.0, -math.inf, (x - x) / (x - x)))


def log(on: Evaluator, x: Value) -> Value:
    """Return the natural logarithm."""
    wide = on.double(x)
    n, m = _parts(on, wide)
    return on.single(outside_domain(on, wide, _whole(on, n) * LN_2 + _log_of(m - 1.0)))


def log2_of(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2 of a double, as double."""
    n, m = _parts(on, x)
    return outside_domain(on, x, _log_of(m - 1.0) * LOG2_E + _whole(on, n))


def log2(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2."""
    return on.single(log2_of(on, on.double(x)))


def log10(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 10."""
    wide = on.double(x)
    n, m = _parts(on, wide)
    result = (_whole(on, n) * LN_2 + _log_of(m - 1.0)) * LOG10_E
    return on.single(outside_domain(on, wide, result))


def log1p(on: Evaluator, x: Value) -> Value:
    """Return log(1 + x)."""
    wide = on.double(x)
    sum_ = wide + 1.0
    n, m = _parts(on, sum_)
    f = on.choose(n == 0, wide, m - 1.0)  # the sum drops bits of a small x
    result = outside_domain(on, sum_, _whole(on, n) * LN_2 + _log_of(f))
    return on.single(with_sign(on, abs(result), wide))


def cbrt(on: Evaluator, x: Value) -> Value:
    """Return the cube root."""
    wide = on.double(x)
    size = abs(wide)
    root = exp2_of(on, log2_of(on, size) * (1.0 / 3.0))
    is_usual = (size > 0.0) & (size < math.inf)
    return on.single(with_sign(on, on.choose(is_usual, root, size), wide))


def pow(on: Evaluator, base: Value, exponent: Value) -> Value:  # noqa: A001  (the name in `math`)
    """Return a power; special cases as in C99, F.9.4.4."""
    x, y = on.double(base), on.double(exponent)
    size = abs(x)
    result = exp2_of(on, log2_of(on, size) * y)
    half = y * 0.5
    is_odd = (on.rint(y) == y) & (on.rint(half) != half)
    sign = on.choose(is_odd, on.bits(x) & SIGN, 0)
    result = on.floats(on.bits(result) | sign)
    is_undefined = (x < 0.0) & (x > -math.inf) & (abs(on.rint(y) - y) > 0.0)
    result = on.choose(is_undefined, (y - y) / (y - y), result)
    is_one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (abs(y) == math.inf))
    return on.single(on.choose(is_one, 1.0, result))


# -- trigonometric functions -----------------------------------------------------------------------


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
"""Bits of a fraction in the upper part; the two above them are the quarter of the turn."""

_FIRST = 1020
"""The biased exponent of 1/8 as a double: angles below pi/4 are not reduced."""


_MORE = 1023 - 127
"""The difference between the biased exponents of a double and of the same float32."""


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
    """Return the quarter as int64, and r, up to pi/4; `size` is the magnitude of x as double."""
    bits = on.bits(size)
    place = (on.bits(x) >> 23) & 255
    digits = ((bits & ((1 << 52) - 1)) | (1 << 52)) >> 29
    lower = on.lookup(_LOWER, place) & ((1 << _LOW_BITS) - 1)  # tells compilers its range
    product = digits * on.lookup(_UPPER, place) + (digits * lower >> _LOW_BITS)
    quarter = (product + (1 << (_FRACTION_BITS - 1))) >> _FRACTION_BITS
    rest = on.double(product - (quarter << _FRACTION_BITS)) * _SCALE
    return quarter, on.choose(size < _PI_4, size, rest)  # below, it is quarter 0


def _sin_cos(r: Value) -> tuple[Value, Value]:
    z = r * r
    return r * z * polynomial(z, _SIN) + r, z * z * polynomial(z, _COS) + (1.0 - z * 0.5)


def sin(on: Evaluator, x: Value) -> Value:
    """Return the sine of an angle in radians."""
    wide = on.double(x)
    size = abs(wide)
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(r)
    result = on.choose((quarter & 1) == 1, cosine, sine)
    sign = ((quarter & 2) << 62) ^ (on.bits(wide) & SIGN)
    result = on.floats(on.bits(result) ^ sign)
    return on.single(on.choose(size < math.inf, result, wide - wide))


def cos(on: Evaluator, x: Value) -> Value:
    """Return the cosine of an angle in radians."""
    size = abs(on.double(x))
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(r)
    result = on.choose((quarter & 1) == 1, sine, cosine)
    result = on.floats(on.bits(result) ^ (((quarter + 1) & 2) << 62))
    return on.single(on.choose(size < math.inf, result, size - size))


def tan(on: Evaluator, x: Value) -> Value:
    """Return the tangent of an angle in radians."""
    wide = on.double(x)
    size = abs(wide)
    quarter, r = _reduced(on, x, size)
    sine, cosine = _sin_cos(r)
    is_odd = (quarter & 1) == 1
    result = on.choose(is_odd, -cosine, sine) / on.choose(is_odd, sine, cosine)
    result = on.floats(on.bits(result) ^ (on.bits(wide) & SIGN))
    return on.single(on.choose(size < math.inf, result, wide - wide))


# -- inverses --------------------------------------------------------------------------------------

_ASIN = (
    *(0.16666667191553686, 0.07499948008152343, 0.04466020559417463, 0.03010970750207181),
    *(0.024621913748557666, 0.007457813174192352, 0.03470699225088815),
)
"""(asin(s) - s) / s^3 in s^2 for |s| <= 1/2; error of the arc sine 2^-35.8."""

_HALF_PI = math.pi / 2


def _asin_parts(on: Evaluator, size: Value) -> tuple[Value, Value]:
    """Return whether a magnitude is above 1/2, and its arc sine, or half its arc cosine if so."""
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


# -- the error function ----------------------------------------------------------------------------


_ERF = (
    *(1.1283791670577346, -0.37612638431529466, 0.11283781919250917, -0.026865396455195534),
    *(0.005220934336510862, -0.0008482653627225804, 0.00011255582696574368),
    -9.637355397251216e-06,
)
"""erf(x) / x in x^2 for |x| <= 1; error 2^-34.8."""

_TAIL = (
    *(1.2530080580195038, -0.13562110530457427, -0.04756224674306831, 0.12964509549263273),
    *(-0.11927511005077458, 0.06830955400525475, -0.023755094572736786),
    *(0.0025136214923856016, 0.0018211909008608211, -0.0007073750133841592),
)
"""(1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3) for x from 1 to 10.3; error 2^-32.

Source of the form: N. Juffa, "A simple and accurate erfcf", of the factor 1 + 2 x.
"""

_FARTHEST = 10.2
"""From here on the complement is less than half of the least float32."""


def _tail_of(on: Evaluator, size: Value) -> Value:
    """Return the complement of the error function for a double from 1 on."""
    size = on.choose(size > _FARTHEST, _FARTHEST, size)
    t = (size - 3.0) / (size + 3.0)
    _, power = expm1_parts(on, -(size * size))
    return polynomial(t, _TAIL) * power / (size + size + 1.0)


def _erf_parts(on: Evaluator, x: Value) -> tuple[Value, Value, Value]:
    """Return whether |x| < 1, the error function of |x| there, and the complement elsewhere."""
    size = abs(x)
    return size < 1.0, size * polynomial(size * size, _ERF), _tail_of(on, size)


def erf(on: Evaluator, x: Value) -> Value:
    """Return the error function."""
    wide = on.double(x)
    is_small, small, tail = _erf_parts(on, wide)
    return on.single(with_sign(on, on.choose(is_small, small, 1.0 - tail), wide))


def erfc(on: Evaluator, x: Value) -> Value:
    """Return 1 minus the error function, accurately even where that is near 1."""
    wide = on.double(x)
    is_small, small, tail = _erf_parts(on, wide)
    near = 1.0 - with_sign(on, small, wide)
    return on.single(on.choose(is_small, near, on.choose(wide < 0.0, 2.0 - tail, tail)))
