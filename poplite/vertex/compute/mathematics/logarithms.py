"""Logarithms, and the powers that are made by them."""

from __future__ import annotations

import math

from poplite.vertex.compute.mathematics.evaluator import (
    MAGIC,
    MAGIC_BITS,
    SIGN,
    Evaluator,
    Value,
    polynomial,
    with_sign,
)
from poplite.vertex.compute.mathematics.exponential import LN_2, LOG2_E, exp2_of

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
    """Return a small int64 as double: processors of before AVX-512 convert one at a time."""
    return on.floats(n + MAGIC_BITS) - MAGIC


def _beside_its_domain(on: Evaluator, x: Value, result: Value) -> Value:
    """Return a logarithm, or what it is of 0, of an infinity, of negative numbers and of NaN."""
    result = on.choose(x < math.inf, result, x)
    return on.choose(x > 0.0, result, on.choose(x == 0.0, -math.inf, (x - x) / (x - x)))


def log(on: Evaluator, x: Value) -> Value:
    """Return the natural logarithm."""
    wide = on.double(x)
    n, m = _parts(on, wide)
    return on.single(_beside_its_domain(on, wide, _whole(on, n) * LN_2 + _log_of(m - 1.0)))


def log2_of(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2 of a double, as double."""
    n, m = _parts(on, x)
    return _beside_its_domain(on, x, _log_of(m - 1.0) * LOG2_E + _whole(on, n))


def log2(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 2."""
    return on.single(log2_of(on, on.double(x)))


def log10(on: Evaluator, x: Value) -> Value:
    """Return the logarithm to base 10."""
    wide = on.double(x)
    n, m = _parts(on, wide)
    result = (_whole(on, n) * LN_2 + _log_of(m - 1.0)) * LOG10_E
    return on.single(_beside_its_domain(on, wide, result))


def log1p(on: Evaluator, x: Value) -> Value:
    """Return log(1 + x)."""
    wide = on.double(x)
    sum_ = wide + 1.0
    n, m = _parts(on, sum_)
    f = on.choose(n == 0, wide, m - 1.0)  # the sum drops bits of a small x
    result = _beside_its_domain(on, sum_, _whole(on, n) * LN_2 + _log_of(f))
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
