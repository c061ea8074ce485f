"""Errors of the functions of `math` for Python floats, on numbers drawn at random.

There are too many doubles to try all, and the C library's functions are no better than poplite's
own, so that true values are those of mpmath, of 40 digits::

    worst("exp", 1_000)     the largest error on 1,000 numbers and the usual edge cases

Numbers are drawn by their bits, which gives all exponents equally, and where functions are used:
between the ends of `DOMAINS`, near 1, and near multiples of pi/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.testing.worst_errors import Worst
from poplite.vertex.compute.mathematics.functions import PAIRS, evaluate

Doubles = npt.NDArray[np.float64]

LIMITS = {"erf": 1.1, "erfc": 1.1}
"""Errors that are promised, in units in the last place; `USUAL` for the others."""

USUAL = 1.0

_PRECISION = 140
"""Bits of true values."""

_LARGEST = 1.7976931348623157e308

DOMAINS = {
    **dict.fromkeys(("acos", "asin"), (-1.0, 1.0)),
    **dict.fromkeys(("cosh", "sinh"), (-710.47, 710.47)),
    **dict.fromkeys(("log", "log10", "log2"), (5e-324, _LARGEST)),
    "erf": (-7.0, 7.0),
    "erfc": (-7.0, 27.5),
    "exp": (-746.0, 709.78),
    "exp2": (-1076.0, 1023.99),
    "expm1": (-60.0, 709.78),
    "log1p": (-1 + 2.0**-53, _LARGEST),
    "pow": (5e-324, _LARGEST),
    "tanh": (-25.0, 25.0),
}
"""Where results are finite, and not all the same; elsewhere there is nothing to measure."""

EDGES = (
    *(5e-324, 2.225e-308, 2.2250738585072014e-308, 1e-300, 1e-20, 1 / 3, 0.5, 1 - 2**-53, 1.0),
    *(1 + 2**-52, math.pi / 4, math.pi / 2, 2.0, 3.0, math.pi, 26.5, 709.78, 1e22, 1e300, _LARGEST),
    6381956970095103 * 2.0**797,
)
"""Numbers that are always tried; of all doubles the last is the nearest to a multiple of pi/2."""


def drawn(name: str, count: int, seed: int) -> tuple[Doubles, ...]:
    """Return some `count` operands of a function, each an array.

    >>> [len(x) > 1_000 for x in drawn("atan2", 1_000, seed=1)]
    [True, True]
    """
    random = np.random.default_rng(seed)
    few = count // 5
    spread = random.integers(0, 1 << 64, 2 * few, np.uint64).view(np.float64)
    usual = random.standard_normal(few) * random.choice([1e-3, 0.5, 2, 10, 50], few)
    near_one = 1 + random.standard_normal(few) * 2.0 ** -random.integers(1, 52, few)
    turns = random.integers(1, 1 << 40, few) * (math.pi / 2)
    x = np.concatenate([spread, usual, near_one, turns, EDGES, -np.array(EDGES)])
    x = x[np.isfinite(x)]
    least, most = DOMAINS.get(name, (-_LARGEST, _LARGEST))
    outside = (x < least) | (x > most)
    x[outside] = random.uniform(max(least, -1e3), min(most, 1e3), outside.sum())
    if name == "atan2":
        return x, random.permutation(x)
    if name == "pow":  # an exponent with which the power is a double
        return x, random.uniform(-744, 709, len(x)) / np.where(x == 1, 1, np.log(x))
    return (x,)


def _true_function(library: ModuleType, name: str) -> Callable[..., Any]:
    """Return a function of mpmath by its name in `math`."""
    number = library.mpf
    others: dict[str, Callable[..., Any]] = {
        "cbrt": lambda x: library.sign(x) * library.cbrt(abs(x)),
        "exp2": lambda x: number(2) ** x,
        "log2": lambda x: library.log(x, 2),
        "pow": library.power,
    }
    return others.get(name) or getattr(library, name)


def worst(name: str, count: int, seed: int = 0) -> Worst:
    """Return the largest error of a function on some `count` numbers.

    Raises:
        ModuleNotFoundError: without mpmath, which `pip install "poplite[test]"` installs.
    """
    import mpmath

    operands = drawn(name, count, seed)
    found = evaluate(name, *operands)
    result = Worst(name, 0.0, 0.0, len(found), LIMITS.get(name, USUAL))
    function = _true_function(mpmath, name)
    with mpmath.workprec(_PRECISION):
        for *numbers, value in zip(*(x.tolist() for x in operands), found.tolist(), strict=True):
            error = _error(mpmath, value, function(*map(mpmath.mpf, numbers)))
            if error > result.error:
                at = tuple(numbers) if name in PAIRS else numbers[0]
                result = result._replace(error=error, at=at)
    return result


def _error(library: ModuleType, found: float, true: Any) -> float:
    """Return how far a double is from a true value, in units in the last place of that."""
    if not math.isfinite(found):
        largest = library.mpf(2) ** 1024 - library.mpf(2) ** 970
        return 0.0 if math.isinf(found) and found * true > 0 and abs(true) >= largest else math.inf
    if true == 0:
        return 0.0 if found == 0 else math.inf
    exponent = max(library.frexp(true)[1] - 53, -1074)
    return float(abs(library.mpf(found) - true) / library.mpf(2) ** exponent)
