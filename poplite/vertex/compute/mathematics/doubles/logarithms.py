"""Logarithms of doubles, and the powers that are made by them.

A logarithm has a table of 1 / c and log(c), for 128 numbers c: with the nearest one, x is
2^n c (1 + g) and g is small. It is made as a pair, of some 68 bits, as a power y log(x) needs.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import cache
from typing import NamedTuple

import numpy as np

from poplite.vertex.compute.mathematics.doubles.exponential import (
    LEAST,
    LN_2_PARTS,
    MOST,
    exp_of,
    power_of_two,
    scaled,
)
from poplite.vertex.compute.mathematics.doubles.pairs import (
    Pair,
    halves,
    normal,
    product_of,
    sum_of,
    times,
    upper_half,
)
from poplite.vertex.compute.mathematics.evaluator import (
    SIGN,
    Evaluator,
    Value,
    polynomial,
    with_sign,
    within,
    words,
)

_LOG2_E = Pair(1.4426950408889634, 2.0355273740931033e-17)
_LOG10_E = Pair(0.4342944819032518, 1.098319650216765e-17)

_LOG = (
    *(0.3333333333333333, -0.2500000000000001, 0.19999999999999948, -0.1666666666347059),
    *(0.14285714291778154, -0.1250032066031636, 0.1111102999828638),
)
"""(log(1 + g) - g + g^2 / 2) / g^3 for |g| < 0.00396; error of the logarithm 2^-82.6."""

_CELL_BITS = 45
"""A cell is so many bits of a fraction: there are 128 of them between a number and its double."""

_CELLS = 1 << (52 - _CELL_BITS)

_ONE_BITS = 1023 << 52

_FIRST_BITS = _ONE_BITS - (75 << _CELL_BITS) - (1 << (_CELL_BITS - 1))
"""The bits of the least c, 0.705: 1 stands within a cell, where c is 1 and g is exact."""


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


def _beside_its_domain(on: Evaluator, x: Value, result: Value) -> Value:
    """Return a logarithm, or what it is of 0, of an infinity, of negative numbers and of NaN."""
    result = on.choose(x < math.inf, result, x)
    return on.choose(x > 0.0, result, on.choose(x == 0.0, -math.inf, (x - x) / (x - x)))


def log(on: Evaluator, x: Value) -> Value:
    """Return the natural logarithm."""
    return _beside_its_domain(on, x, log_of(on, x).high)


def log2(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2."""
    return _beside_its_domain(on, x, times(on, log_of(on, x), _LOG2_E).high)


def log10(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 10."""
    return _beside_its_domain(on, x, times(on, log_of(on, x), _LOG10_E).high)


def log1p(on: Evaluator, x: Value) -> Value:
    """Return log(1 + x)."""
    total, rest = sum_of(1.0, x)
    rest = on.choose(total > 2.0**54, 0.0, rest)
    result = _beside_its_domain(on, total, _log_of(on, total, rest, 0.0).high)
    return with_sign(on, abs(result), x)


_CBRT = (
    *(0.4212637322094337, 1.0581167528084645, -0.8401657481090129, 0.5149090618335684),
    *(-0.18143266803693753, 0.027307822722105708),
)
"""The cube root from 0.704 to 1.412; error 2^-19.6, of which each step squares some 2^-19."""

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
    upper = _beside_its_domain(on, size, logarithm.high)
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
