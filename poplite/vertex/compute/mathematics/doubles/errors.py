"""The error function and its complement, of doubles."""

from __future__ import annotations

from poplite.vertex.compute.mathematics.doubles.exponential import Power, exp_of, scaled
from poplite.vertex.compute.mathematics.doubles.pairs import (
    Pair,
    normal,
    product_of,
    quotient_of,
    sum_of,
    times,
)
from poplite.vertex.compute.mathematics.evaluator import Evaluator, Value, polynomial, with_sign

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
    """Return 1 less the error function, of its own accuracy where that is near 1."""
    is_small, small, tail = _parts(on, x)
    is_negative = x < 0.0
    less, rest = sum_of(1.0, on.choose(is_negative, small.high, -small.high))
    near = less + (rest + on.choose(is_negative, small.low, -small.low))
    return on.choose(is_small, near, on.choose(is_negative, 2.0 - tail, tail))
