"""Errors of the functions of `math` in `compute`.

    python -m poplite.testing.mathematics                       all functions of one number: hours
    python -m poplite.testing.mathematics --function gelu       one of several operations
    python -m poplite.testing.mathematics --function exp sin    these
    python -m poplite.testing.mathematics --step 1009           every 1,009th number: seconds
    python -m poplite.testing.mathematics --double              functions of Python floats: a minute

A compiled vertex computes every function of all numbers that float32 has; what it gives is compared
with the C library's in double, rounded to float32. For doubles see `double_functions`. An error is
said in units in the last place, those of the true value: correct rounding is 0.5. The exit code is
1 when an error is above its limit, or a result has a wrong sign.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite import ops
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.program import Sequence as Steps
from poplite.simulator.engine import Engine
from poplite.testing import double_functions
from poplite.testing.worst_errors import Worst
from poplite.types import FLOAT
from poplite.vertex.compute.mathematics.functions import PAIRS

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

CHUNK = 1 << 22
"""Numbers in a run."""

LIMITS = {
    **{"exp": 1.0, "atan": 0.51, "atan2": 0.51, "expm1": 0.51},
    **{"gelu": 250.0, "gelu_erf": 220.0, "rsqrt": 1.5, "sigmoid": 2.5, "softplus": 1.5},
    "swish": 60.0,
}
"""Errors that are promised, in units in the last place; `USUAL` for the others."""

USUAL = 0.505

_NUMPY = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}

_BY_NUMBA = ("erf", "erfc")
"""Functions that NumPy does not have."""


def _times_sigmoid(x: Doubles, inner: Doubles) -> Doubles:
    """Return x times the sigmoid of another number; the limit at the lower end is -0.0."""
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
"""Functions of `poplite.ops` that are several operations, in double."""

FUNCTIONS = (
    *("acos", "asin", "atan", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
)
"""Functions of one number."""


def in_double(name: str) -> Callable[..., Doubles]:
    """Return a function of `math` for arrays of doubles, by the C library.

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
    """Return how far results are from true values, in units in the last place of those.

    A result that should be NaN and is none, or the other way round, an infinity too many or too
    few, and a wrong sign are infinitely wrong.

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
    """Return the largest error of a function over every `step`-th number."""
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each function; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--function", nargs="+", choices=(*FUNCTIONS, *COMPOSITES, *sorted(PAIRS)))
    parser.add_argument("--step", type=int, default=1, help="of float32, try every STEP-th number")
    parser.add_argument("--double", action="store_true", help="measure the functions of doubles")
    parser.add_argument("--samples", type=int, default=20_000, help="of doubles, try so many")
    asked: Any = parser.parse_args(arguments)
    names = asked.function or (*FUNCTIONS, *(sorted(PAIRS) if asked.double else COMPOSITES))
    if not asked.double and (pairs := PAIRS.intersection(names)):
        parser.error(f"{min(pairs)} of float32 has too many operands to try all; see --double")
    is_right = True
    for name in names:
        if asked.double:
            found = double_functions.worst(name, asked.samples)
        else:
            found = worst(name, asked.step)
        is_right &= found.is_right
        print(found, flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
