"""All kernels by their names in `math`, and their interpreted form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from poplite.vertex.compute.mathematics import doubles, singles
from poplite.vertex.compute.mathematics.evaluator import NumPyEvaluator, Value

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

DOUBLES: Mapping[str, Kernel] = {name: getattr(doubles, name) for name in _NAMES}
"""The same functions of doubles."""

PAIRS = frozenset({"atan2", "pow"})
"""Functions of two numbers."""

EVALUATOR = NumPyEvaluator()


def evaluate(name: str, *values: Value) -> Value:
    """Return a function of scalars or arrays, with the bits that compiled code has.

    Args:
        name: of the function, in `math`.
        values: one or two, both float32 or both float64.

    >>> evaluate("exp", np.float32(0.5)), evaluate("exp", np.float64(0.5))
    (np.float32(1.6487212), np.float64(1.6487212707001282))
    """
    kernels = DOUBLES if values[0].dtype == np.float64 else KERNELS
    with np.errstate(all="ignore"):
        return kernels[name](EVALUATOR, *values)
