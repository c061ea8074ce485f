"""Measure the errors of the functions of `math` in `compute`.

    python -m poplite.testing.mathematics                       all functions of one operand: hours
    python -m poplite.testing.mathematics --function gelu       a composite function
    python -m poplite.testing.mathematics --function exp sin    two functions
    python -m poplite.testing.mathematics --step 1009           every 1,009th number: seconds
    python -m poplite.testing.mathematics --double              functions of doubles: a minute

A compiled vertex computes each function for all float32 numbers; the results are compared with
the double-precision results of the C library. Functions of doubles are tried at random numbers.
Errors are in units in the last place of the true value; with correct rounding, they are at most
0.5. The exit code is 1 if an error exceeds its limit, or a result has the wrong sign.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite import ops
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.program import Sequence as Steps
from poplite.simulator.engine import Engine
from poplite.types import FLOAT
from poplite.vertex.compute.mathematics import PAIRS, evaluate

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

CHUNK = 1 << 22
"""Number of operands per run."""

LIMITS = {
    **{"exp": 1.0, "atan": 0.51, "atan2": 0.51, "expm1": 0.51},
    **{"gelu": 250.0, "gelu_erf": 220.0, "rsqrt": 1.5, "sigmoid": 2.5, "softplus": 1.5},
    "swish": 60.0,
}
"""Guaranteed error bounds, in units in the last place; other functions have `USUAL`."""

USUAL = 0.505

_NUMPY = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}

_BY_NUMBA = ("erf", "erfc")
"""Functions that NumPy does not have."""


class Worst(NamedTuple):
    """The maximum error of a function.

    Attributes:
        name: name of the function.
        error: the error, in units in the last place.
        at: the operand or operands with that error.
        tried: number of operands that were tried.
        limit: the guaranteed bound.

    >>> print(Worst("exp", 0.75, 2.5, 1000, 1.0))
    exp    0.7500 <= 1.0 units in the last place, at 2.5, among 1,000 numbers  ok
    """

    name: str
    error: float
    at: float | tuple[float, ...]
    tried: int
    limit: float

    @property
    def is_right(self) -> bool:
        """Whether the error is within the limit."""
        return self.error <= self.limit

    def __str__(self) -> str:
        verdict = "ok" if self.is_right else "WRONG"
        return (
            f"{self.name:<6} {self.error:.4f} <= {self.limit} units in the last place, "
            f"at {self.at!r}, among {self.tried:,} numbers  {verdict}"
        )


def _times_sigmoid(x: Doubles, inner: Doubles) -> Doubles:
    """Return x times the sigmoid of `inner`; at -inf, the limit, -0.0."""
    return np.where(np.isneginf(x), -0.0, x / (1 + np.exp(-inner)))


def _gelu(x: Doubles) -> Doubles:
    return _times_sigmoid(x, math.sqrt(8 / math.pi) * x * (1 + 0.044715 * x * x))


def _gelu_erf(x: Doubles) -> Doubles:
    return np.where(np.isneginf(x), -0.0, 0.5 * x * in_double("erfc")(-x / math.sqrt(2)))


COMPOSITES: Mapping[str, Callable[[Doubles], Doubles]] = {
    "gelu": _gelu,
    "gelu_erf": _gelu_erf,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "swish": lambda x: _times_sigmoid(x, x),
}
"""Functions of `poplite.ops` that consist of several operations, computed in double."""

FUNCTIONS = (
    *("acos", "asin", "atan", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
)
"""Functions of one operand."""


def in_double(name: str) -> Callable[..., Doubles]:
    """Return a function of arrays of doubles, as the C library computes it.

    >>> in_double("exp")(np.array([0.0, 1.0])).tolist()
    [1.0, 2.718281828459045]
    """
    if name in COMPOSITES:
        return COMPOSITES[name]
    if name not in _BY_NUMBA:
        found: Callable[..., Doubles] = getattr(np, _NUMPY.get(name, name))
        return found
    import numba

    function = getattr(math, name)

    def of_one(value: float) -> Any:
        return function(value)

    compiled: Callable[..., Doubles] = numba.vectorize(["float64(float64)"])(of_one)
    return compiled


def errors(found: Floats, true: Doubles) -> Doubles:
    """Return the distance of results from true values, in units in the last place of the latter.

    The error is infinite if only one of the two is NaN or infinite, or if the sign is wrong.

    >>> errors(np.array([1, 1], np.float32), np.array([1.0, 1.0 + 2.0**-24])).tolist()
    [0.0, 0.5]
    """
    with np.errstate(all="ignore"):
        rounded = true.astype(np.float32)
        exponent = np.frexp(true)[1]
        unit = np.ldexp(1.0, np.maximum(exponent - 24, -149))
        error = np.abs(found - true) / unit
        is_alike = (found == rounded) & (np.signbit(found) == np.signbit(rounded))
        error = np.where(is_alike & np.isinf(found), np.where(np.isinf(true), 0.0, 0.5), error)
        has_wrong_sign = (np.signbit(found) != np.signbit(rounded)) & (found == found)
        error = np.where(has_wrong_sign | np.isnan(error), np.inf, error)
    return np.where(np.isnan(found) & np.isnan(true), 0.0, error)


def worst(name: str, step: int) -> Worst:
    """Return the maximum error of a function over every `step`-th number."""
    graph, program = Graph(Target(tiles=64)), Steps()
    x = graph.add_variable(FLOAT, (CHUNK,), "x", mapping="linear")
    y = ops.map(getattr(ops, name)(x), name="y", program=program)
    engine = Engine(graph, program, checks="fast", options={"debug.allowOutOfMemory": True})
    reference = in_double(name)
    found = Worst(name, 0.0, 0.0, 0, LIMITS.get(name, USUAL))
    for first in range(0, 1 << 32, CHUNK * step):
        bits = np.arange(first, min(first + CHUNK * step, 1 << 32), step, dtype=np.uint32)
        numbers = np.zeros(CHUNK, np.float32)
        numbers[: len(bits)] = bits.view(np.float32)
        engine.write(x, numbers)
        engine.run()
        numbers = numbers[: len(bits)]
        with np.errstate(all="ignore"):
            error = errors(engine.read(y)[: len(bits)], reference(numbers.astype(np.float64)))
        at = int(error.argmax())
        found = found._replace(tried=found.tried + len(bits))
        if error[at] > found.error:
            found = found._replace(error=float(error[at]), at=float(numbers[at]))
    return found


# -- functions of doubles --------------------------------------------------------------------------
# There are too many doubles to try all of them, and the C library's functions are no more accurate
# than poplite's own, so true values are computed by mpmath with 40 digits. Some numbers are random
# bit patterns, which cover all exponents equally; others are where functions are used: within
# `DOMAINS`, near 1, and near multiples of pi/2.


DOUBLE_LIMITS = {"erf": 1.1, "erfc": 1.1}
"""Guaranteed error bounds, in units in the last place; other functions have `USUAL_DOUBLE`."""

USUAL_DOUBLE = 1.0

_PRECISION = 140
"""Precision of true values, in bits."""

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
"""Ranges in which results are finite and vary, so that errors can be measured."""

EDGES = (
    *(5e-324, 2.225e-308, 2.2250738585072014e-308, 1e-300, 1e-20, 1 / 3, 0.5, 1 - 2**-53, 1.0),
    *(1 + 2**-52, math.pi / 4, math.pi / 2, 2.0, 3.0, math.pi, 26.5, 709.78, 1e22, 1e300, _LARGEST),
    6381956970095103 * 2.0**797,
)
"""Numbers that are always tried; the last is the double closest to a multiple of pi/2."""


def drawn_doubles(name: str, count: int, seed: int) -> tuple[Doubles, ...]:
    """Return about `count` values for each operand of a function, each as an array.

    >>> [len(x) > 1_000 for x in drawn_doubles("atan2", 1_000, seed=1)]
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
    if name == "pow":  # choose exponents for which the power is within range
        return x, random.uniform(-744, 709, len(x)) / np.where(x == 1, 1, np.log(x))
    return (x,)


def _true_function(library: ModuleType, name: str) -> Callable[..., Any]:
    """Return the mpmath function for a name in `math`."""
    number = library.mpf
    others: dict[str, Callable[..., Any]] = {
        "cbrt": lambda x: library.sign(x) * library.cbrt(abs(x)),
        "exp2": lambda x: number(2) ** x,
        "log2": lambda x: library.log(x, 2),
        "pow": library.power,
    }
    return others.get(name) or getattr(library, name)


def worst_double(name: str, count: int, seed: int = 0) -> Worst:
    """Return the maximum error of a function for about `count` numbers.

    Raises:
        ModuleNotFoundError: if mpmath is missing; `pip install "poplite[test]"` installs it.
    """
    import mpmath

    operands = drawn_doubles(name, count, seed)
    found = evaluate(name, *operands)
    result = Worst(name, 0.0, 0.0, len(found), DOUBLE_LIMITS.get(name, USUAL_DOUBLE))
    function = _true_function(mpmath, name)
    with mpmath.workprec(_PRECISION):
        for *numbers, value in zip(*(x.tolist() for x in operands), found.tolist(), strict=True):
            error = _double_error(mpmath, value, function(*map(mpmath.mpf, numbers)))
            if error > result.error:
                at = tuple(numbers) if name in PAIRS else numbers[0]
                result = result._replace(error=error, at=at)
    return result


def _double_error(library: ModuleType, found: float, true: Any) -> float:
    """Return the distance of a double from a true value, in units in the latter's last place."""
    if not math.isfinite(found):
        largest = library.mpf(2) ** 1024 - library.mpf(2) ** 970
        return 0.0 if math.isinf(found) and found * true > 0 and abs(true) >= largest else math.inf
    if true == 0:
        return 0.0 if found == 0 else math.inf
    exponent = max(library.frexp(true)[1] - 53, -1074)
    return float(abs(library.mpf(found) - true) / library.mpf(2) ** exponent)


# -- the command -----------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each function; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--function", nargs="+", choices=(*FUNCTIONS, *COMPOSITES, *sorted(PAIRS)))
    parser.add_argument("--step", type=int, default=1, help="try every STEP-th float32 number")
    parser.add_argument("--double", action="store_true", help="measure the functions for doubles")
    parser.add_argument("--samples", type=int, default=20_000, help="number of doubles to try")
    asked: Any = parser.parse_args(arguments)
    names = asked.function or (*FUNCTIONS, *(sorted(PAIRS) if asked.double else COMPOSITES))
    if not asked.double and (pairs := PAIRS.intersection(names)):
        parser.error(f"{min(pairs)} has too many pairs of float32 operands to try; use --double")
    is_right = True
    for name in names:
        found = worst_double(name, asked.samples) if asked.double else worst(name, asked.step)
        is_right &= found.is_right
        print(found, flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
