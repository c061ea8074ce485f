"""Functions of `math` in poplite's own arithmetic, bit-identical on every processor.

The results of a C library depend on its version and on the processor. These kernels are branch-free
sequences of operations that IEEE 754 rounds once, so that LLVM turns loops over them into vector
instructions.  `poplite.vertex.compute.mathematics_singles` contains the functions for float32, and
the language of kernels: evaluated by NumPy here, as LLVM instructions elsewhere.

All functions of float32 except `exp` compute in double and round once, so their error is little
more than that of the rounding, half a unit in the last place. Polynomials minimise the greatest
error on their interval, found with the Remez exchange algorithm in 40 digits; each is followed by
that error. `python -m poplite.testing.mathematics` measures every function on all 2^32 numbers.

The functions of doubles have errors of about 1 last place. They are written like those of float32,
but not for vectorisation. Where a double is not precise enough, a number is the sum of two: the
lower one is the rounding error::

    high, low = sum_of(1.0, 2.0**-60)       1.0, 2**-60

A logarithm has a table of 1 / c and log(c), for 128 numbers c: with the nearest one, x is
2^n c (1 + g) and g is small. It is computed as a pair of about 68 bits, as a power needs y log(x).

An angle is measured in quarters of a turn, as for float32: x * 2 / pi is an integer, whose low two
bits are used, and a fraction, which may begin with 60 zeros for a double, so it has 124 bits. The
product is computed in digits to the base 2^28, whose products and their sums fit int64::

    x, up to 81 bits               d2 d1 d0
    2 / pi, from the right place   w0 w1 w2 w3 w4 w5 w6 w7
    column m                       d2 w(m + 2) + d1 w(m + 1) + d0 w(m)

Their polynomials are found in 78 digits; each is followed by its error, relative to the function.
`python -m poplite.testing.mathematics --double` measures every function.

Sources: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971, and
D. E. Knuth, "The Art of Computer Programming", volume 2, for sums of doubles; M. Payne, R. Hanek,
"Radian Reduction for Trigonometric Functions", 1983, for angles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.vertex.compute import mathematics_singles as singles
from poplite.vertex.compute.mathematics_singles import (
    MAGIC,
    MAGIC_BITS,
    SIGN,
    TWO_OVER_PI,
    TWO_OVER_PI_BITS,
    Evaluator,
    NumPyEvaluator,
    Value,
    outside_domain,
    polynomial,
    with_sign,
    within,
    words,
)

# -- sums of two doubles ---------------------------------------------------------------------------


_UPPER_HALF = -(1 << 27)
"""The bits of sign, exponent and the upper 25 of the fraction."""


class Pair(NamedTuple):
    """A number as the sum of two doubles: the first is the nearest to it, or adjacent to that."""

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


# -- powers of e and 2, and hyperbolic functions ---------------------------------------------------


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
    """Return a double near 1 times 2^n, in two steps, as 2^n may be out of range."""
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
"""Above this, e^x - 1 rounds to the same double as e^x."""


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
    """Return e^x / 2 for a non-negative double, or inf if that is too large."""
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


# -- logarithms, and powers computed from them -----------------------------------------------------


_LOG2_E = Pair(1.4426950408889634, 2.0355273740931033e-17)
_LOG10_E = Pair(0.4342944819032518, 1.098319650216765e-17)

_LOG = (
    *(0.3333333333333333, -0.2500000000000001, 0.19999999999999948, -0.1666666666347059),
    *(0.14285714291778154, -0.1250032066031636, 0.1111102999828638),
)
"""(log(1 + g) - g + g^2 / 2) / g^3 for |g| < 0.00396; error of the logarithm 2^-82.6."""

_CELL_BITS = 45
"""Bits of the fraction within a cell; there are 128 cells between a number and its double."""

_CELLS = 1 << (52 - _CELL_BITS)

_ONE_BITS = 1023 << 52

_FIRST_BITS = _ONE_BITS - (75 << _CELL_BITS) - (1 << (_CELL_BITS - 1))
"""The bits of the least c, 0.705: 1 is within a cell, where c is 1 and g is exact."""


class _Cells(NamedTuple):
    """The bits of 1 / c for each cell, and of log(c) as the sum of two doubles."""

    inverses: tuple[int, ...]
    upper: tuple[int, ...]
    lower: tuple[int, ...]


@cache
def _cells() -> _Cells:
    digits = Context(prec=50)
    rows = []
    for first in range(_FIRST_BITS, _FIRST_BITS + (_CELLS << _CELL_BITS), 1 << _CELL_BITS):
        middle = np.int64(first + (1 << (_CELL_BITS - 1))).view(np.float64)
        inverse = upper_half(float(1.0 / middle))
        logarithm = digits.minus(digits.ln(Decimal(inverse)))
        # As `LN_2_PARTS`, so that n ln(2) + log(c) is exact in the upper part.
        upper = math.floor(logarithm * 2**42) / 2**42
        rows.append((inverse, upper, float(digits.subtract(logarithm, Decimal(upper)))))
    return _Cells(*map(words, zip(*rows, strict=True)))


def _log_of(on: Evaluator, x: Value, rest: Value, less: Value) -> Pair:
    """Return the logarithm of 2^-less (x + rest); x is normal, and the rest below its bits."""
    bits = on.bits(x)
    place = bits - _FIRST_BITS
    n, cell = place >> 52, (place >> _CELL_BITS) & (_CELLS - 1)
    inverses, upper, lower = (on.floats(on.lookup(table, cell)) for table in _cells())
    m = halves(on, on.floats(bits - (n << 52)))
    rest = rest * power_of_two(on, 0 - on.choose(n < 64, n, 64))  # it is 0 for larger numbers
    # Both products are exact, as 1 / c has 26 bits.
    first = sum_of(m.high * inverses - 1.0, m.low * inverses)
    g, low = sum_of(first.high, rest * inverses)
    g_rest = low + first.low
    square, square_rest = product_of(on, g, g)
    tail = g_rest - g * g_rest - square_rest * 0.5 + g * square * polynomial(g, _LOG)
    whole = on.double(n) - less
    first = sum_of(whole * LN_2_PARTS.high + upper, g)
    second = sum_of(first.high, square * -0.5)
    small = whole * LN_2_PARTS.low + lower + tail
    return normal(second.high, first.low + second.low + small)


_LEAST_NORMAL = 2.0**-1022


def log_of(on: Evaluator, x: Value) -> Pair:
    """Return the logarithm of a positive double, as a pair."""
    is_tiny = x < _LEAST_NORMAL
    zero = x * 0.0
    return _log_of(on, on.choose(is_tiny, x * 2.0**54, x), zero, on.choose(is_tiny, 54.0, zero))


def log(on: Evaluator, x: Value) -> Value:
    """Return the natural logarithm."""
    return outside_domain(on, x, log_of(on, x).high)


def log2(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2."""
    return outside_domain(on, x, times(on, log_of(on, x), _LOG2_E).high)


def log10(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 10."""
    return outside_domain(on, x, times(on, log_of(on, x), _LOG10_E).high)


def log1p(on: Evaluator, x: Value) -> Value:
    """Return log(1 + x)."""
    total, rest = sum_of(1.0, x)
    rest = on.choose(total > 2.0**54, 0.0, rest)
    result = outside_domain(on, total, _log_of(on, total, rest, 0.0).high)
    return with_sign(on, abs(result), x)


_CBRT = (
    *(0.4212637322094337, 1.0581167528084645, -0.8401657481090129, 0.5149090618335684),
    *(-0.18143266803693753, 0.027307822722105708),
)
"""The cube root from 0.704 to 1.412; error 2^-19.6; each step squares about 2^-19 of it."""

_ROOTS = words([1.0, 1.2599210498948732, 1.5874010519681996])
"""The cube roots of 1, 2 and 4."""


def cbrt(on: Evaluator, x: Value) -> Value:
    """Return the cube root, by two steps of Newton's method; cubes have exact roots."""
    size = abs(x)
    is_tiny = size < _LEAST_NORMAL
    bits = on.bits(on.choose(is_tiny, size * 2.0**54, size))
    n = (bits - _FIRST_BITS) >> 52
    third = ((n + 1200) * 21846 >> 16) - 400  # n is above -1200, and 21846 is 2^16 / 3
    left = n - third * 3
    m = on.floats(bits - (n << 52))
    power = m * power_of_two(on, left)
    root = polynomial(m, _CBRT) * on.floats(on.lookup(_ROOTS, left))
    root = root - (root * root * root - power) / (root * root * 3.0)
    square = product_of(on, root, root)
    cube = times(on, square, Pair(root, 0.0))
    root = root - ((cube.high - power) + cube.low) / (square.high * 3.0)
    root = root * power_of_two(on, third) * on.choose(is_tiny, 2.0**-18, size * 0.0 + 1.0)
    is_usual = (size > 0.0) & (size < math.inf)
    return with_sign(on, on.choose(is_usual, root, size), x)


def pow(on: Evaluator, base: Value, exponent: Value) -> Value:  # noqa: A001  (the name in `math`)
    """Return a power; special cases as in C99, F.9.4.4."""
    x, y = base, exponent
    size = abs(x)
    logarithm = log_of(on, size)
    upper = outside_domain(on, size, logarithm.high)
    high, low = product_of(on, upper, y)
    low = on.choose(abs(high) < 1000.0, low + logarithm.low * y, 0.0)
    power, n = exp_of(on, Pair(within(on, high, LEAST, MOST), low))
    result = scaled(on, power.high, n)
    half = y * 0.5
    is_odd = (on.rint(y) == y) & (on.rint(half) != half)
    result = on.floats(on.bits(result) | on.choose(is_odd, on.bits(x) & SIGN, 0))
    is_undefined = (x < 0.0) & (x > -math.inf) & (abs(on.rint(y) - y) > 0.0)
    result = on.choose(is_undefined, (y - y) / (y - y), result)
    is_one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (abs(y) == math.inf))
    return on.choose(is_one, 1.0, result)


# -- trigonometric functions -----------------------------------------------------------------------


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
    """Return digits of x * 2 / pi: two integer bits and 26 of the fraction, then 28 each."""
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
    """A quarter turn, as an int64 whose low two bits count, and an angle up to pi/4."""

    quarter: Value
    rest: Pair


def _reduced(on: Evaluator, size: Value) -> _Angle:
    """Return the reduction of a non-negative angle."""
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
    """Return a result, its sign flipped by the upper bit of an int64; NaN outside the domain."""
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
    # There is no division by a sine of 0, which occurs only at 0, where the quarter is 0.
    return _turned(on, x, quotient_of(on, above, below).high, on.bits(x))


# -- the error function ----------------------------------------------------------------------------


_TWO_BY_ROOT_PI = Pair(1.1283791670955126, 1.533545961316588e-17)

_ERF = (
    *(-0.37612638903183754, 0.11283791670955043, -0.026866170645095545, 0.005223977624677745),
    *(-0.0008548326929374229, 0.00012055325814930579, -1.4925300804187235e-05),
    *(1.645116221541348e-06, -1.615187984731698e-07, 1.2411329046457746e-08),
)
"""(erf(x) - 2 / sqrt(pi) x) / x^3 in x^2 for |x| <= 0.625; error 2^-65.9."""

_TAIL_FIRST = Pair(1.2530080582697296, 4.526457899896573e-17)

_TAIL = (
    *(-0.1356211061245812, -0.04756229435345118, 0.12964515870276272, -0.11927366341527446),
    *(0.06830802734391773, -0.0237705149196479, 0.0025293918168369633, 0.001888690373447673),
    *(-0.000779832277215949, -0.00010515991367455958, 0.00012509937112499889),
    *(4.950043104585335e-06, -2.0100604514648714e-05, -7.332822782542716e-07, 3.47243923635903e-06),
    *(3.6056018328385977e-07, -6.166120548372287e-07, -1.467483626574167e-07),
    *(1.0178301780818013e-07, 4.6320557491091574e-08, -1.3266017408246936e-08),
    *(-1.0772414130116764e-08, 9.76146282347062e-10, 1.3855868014526108e-09),
)
"""With `_TAIL_FIRST` before it, (1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3) for x from 0.5
to 27.3; error 2^-65.9.

Source of the form: N. Juffa, "A simple and accurate erfcf", of the factor 1 + 2 x.
"""

_LEAST, _MOST = 0.5625, 27.5
"""From the first on the tail is used; from the second on it is less than half of any double."""


def _series(on: Evaluator, size: Value) -> Pair:
    """Return the error function of a double from 0 to 0.5625."""
    z = size * size
    # Of products that are not normal the rest is lost.
    scale = on.choose(size < 2.0**-900, 2.0**200, size * 0.0 + 1.0)
    large = size * scale
    high, low = product_of(on, large, _TWO_BY_ROOT_PI.high)
    low = low + large * _TWO_BY_ROOT_PI.low + large * z * polynomial(z, _ERF)
    high, low = normal(high, low)
    return Pair(high / scale, low / scale)


def _tail(on: Evaluator, size: Value) -> Power:
    """Return the complement of the error function for a double from 0.5625 on."""
    size = on.choose(size > _MOST, _MOST, size)
    high, low = product_of(on, size, size)
    power, exponent = exp_of(on, Pair(-high, -low))
    t = (size - 3.0) / (size + 3.0)
    factor = sum_of(_TAIL_FIRST.high, t * polynomial(t, _TAIL))
    product = times(on, power, Pair(factor.high, factor.low + _TAIL_FIRST.low))
    return Power(quotient_of(on, product, sum_of(size + size, 1.0)), exponent)


def _parts(on: Evaluator, x: Value) -> tuple[Value, Pair, Value]:
    """Return whether |x| < 0.5625, its error function there, and the complement elsewhere."""
    size = abs(x)
    is_small = size < _LEAST
    pair, exponent = _tail(on, on.choose(is_small, _LEAST, size))
    small = _series(on, on.choose(is_small, size, _LEAST))
    return is_small, small, scaled(on, pair.high, exponent)


def erf(on: Evaluator, x: Value) -> Value:
    """Return the error function."""
    is_small, small, tail = _parts(on, x)
    return with_sign(on, on.choose(is_small, small.high, 1.0 - tail), x)


def erfc(on: Evaluator, x: Value) -> Value:
    """Return 1 minus the error function, accurately even where that is near 1."""
    is_small, small, tail = _parts(on, x)
    is_negative = x < 0.0
    less, rest = sum_of(1.0, on.choose(is_negative, small.high, -small.high))
    near = less + (rest + on.choose(is_negative, small.low, -small.low))
    return on.choose(is_small, near, on.choose(is_negative, 2.0 - tail, tail))


# -- inverse trigonometric functions ---------------------------------------------------------------


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
    """Return whether a magnitude is above 1/2, and its arc sine, or half its arc cosine if so."""
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
"""The lower parts of these."""


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
    """Return pi/2 minus the angle if a point is nearer to the other axis."""
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
    # For infinities only the direction matters, and for zeros only the sign.
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


Kernel = Callable[..., Value]
"""Takes an evaluator and one float32 or two, or doubles."""

_NAMES = (
    *("cosh", "exp", "exp2", "expm1", "sinh", "tanh"),
    *("cbrt", "log", "log10", "log1p", "log2", "pow"),
    *("acos", "asin", "atan", "atan2", "cos", "sin", "tan"),
    *("erf", "erfc"),
)

KERNELS: Mapping[str, Kernel] = {name: getattr(singles, name) for name in _NAMES}
"""Functions of float32."""

DOUBLES: Mapping[str, Kernel] = {name: globals()[name] for name in _NAMES}
"""The same functions of doubles."""

PAIRS = frozenset({"atan2", "pow"})
"""Functions of two numbers."""

EVALUATOR = NumPyEvaluator()


def evaluate(name: str, *values: Value) -> Value:
    """Evaluate a function of scalars or arrays, bit for bit as compiled code does.

    Args:
        name: of the function, in `math`.
        values: one or two, both float32 or both float64.

    >>> evaluate("exp", np.float32(0.5)), evaluate("exp", np.float64(0.5))
    (np.float32(1.6487212), np.float64(1.6487212707001282))
    """
    kernels = DOUBLES if values[0].dtype == np.float64 else KERNELS
    with np.errstate(all="ignore"):
        return kernels[name](EVALUATOR, *values)


# -- x * y + z -------------------------------------------------------------------------------------
# It is rounded once, on scalars and arrays, on every processor.  A product of two float32 numbers
# is exact in double. Its sum with a third is rounded to odd there, and then to float32, which is
# one rounding of the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
# IEEE Transactions on Computers, 2008):
#
#     x * y + z = 1.5 + 2^-24 + 2^-60     nearest double        1.5 + 2^-24            a tie
#                                         the adjacent odd one  1.5 + 2^-24 + 2^-52    above it
#
# Doubles are computed as fractions.


Array = npt.NDArray[Any]

_ONE_AND_TIES = 1 << 25
"""float32 numbers, and midpoints of two, are multiples of 1 / this, times a power of 2.

As doubles, their last bit is even.
"""


def fused_single(x: float, y: float, z: float) -> float:
    """Return a double that rounds to the float32 of `x * y + z` for three float32 numbers.

    >>> fused_single(1 + 2**-12, 1 + 2**-12, -1 - 2**-11) == 2**-24
    True
    """
    product = x * y
    total = product + z
    back = total - product
    error = (product - (total - back)) + (z - back)
    if error and not math.frexp(total)[0] * _ONE_AND_TIES % 1:  # NaN for infinities
        return math.nextafter(total, math.copysign(math.inf, error))
    return total


def fused_double(x: float, y: float, z: float) -> float:
    """Return `x * y + z` of doubles.

    >>> fused_double(0.1, 10.0, -1.0), fused_double(1e300, 1e300, -math.inf)
    (5.551115123125783e-17, -inf)
    """
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    (a, b), (c, d), (e, f) = (each.as_integer_ratio() for each in (x, y, z))
    total = a * c * f + e * b * d
    if total == 0:  # its sign is that of the operation
        return x * y + z
    try:
        return total / (b * d * f)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def fused(x: Array, y: Array, z: Array) -> Array:
    """Return `x * y + z` of arrays that broadcast, all float32 or all float64.

    >>> fused(*np.float32([[1e30, 3], [1e30, 5], [np.inf, 0.5]]))
    array([ inf, 15.5], dtype=float32)
    """
    if x.dtype == np.float64:
        results: Array = _fused_doubles(x, y, z)
        return results
    with np.errstate(all="ignore"):
        product = np.multiply(x, y, dtype=np.float64)
        total: Array = product + z
        back = total - product
        error = (product - (total - back)) + (z - back)
        is_even = (total.view(np.int64) & 1) == 0
        is_wrong = is_even & ((error > 0) | (error < 0))
        odd = np.nextafter(total, np.copysign(np.inf, error))
        return np.where(is_wrong, odd, total).astype(np.float32)


_fused_doubles = np.vectorize(fused_double, otypes=[np.float64])
