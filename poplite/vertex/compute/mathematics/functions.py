"""All kernels by their names in `math`, and their interpreted form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from poplite.vertex.compute.mathematics import errors, exponential, logarithms, trigonometric
from poplite.vertex.compute.mathematics.evaluator import NumPyEvaluator, Value

Kernel = Callable[..., Value]
"""Takes an evaluator and one float32 or two."""

KERNELS: Mapping[str, Kernel] = {
    kernel.__name__: kernel
    for kernel in (
        *(exponential.cosh, exponential.exp, exponential.exp2, exponential.expm1),
        *(exponential.sinh, exponential.tanh),
        *(logarithms.cbrt, logarithms.log, logarithms.log10, logarithms.log1p),
        *(logarithms.log2, logarithms.pow),
        *(trigonometric.acos, trigonometric.asin, trigonometric.atan, trigonometric.atan2),
        *(trigonometric.cos, trigonometric.sin, trigonometric.tan),
        *(errors.erf, errors.erfc),
    )
}

PAIRS = frozenset({"atan2", "pow"})
"""Functions of two numbers."""

EVALUATOR = NumPyEvaluator()


def evaluate(name: str, *values: Value) -> Value:
    """Return a function of float32 scalars or arrays, with the bits that compiled code has.

    >>> evaluate("exp", np.float32(0.5))
    np.float32(1.6487212)
    """
    with np.errstate(all="ignore"):
        return KERNELS[name](EVALUATOR, *values)
