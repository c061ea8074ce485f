"""All kernels by their names in `math`, and their interpreted form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from poplite.vertex.compute.mathematics import (
    errors,
    exponential,
    logarithms,
    trigonometric,
)
from poplite.vertex.compute.mathematics.doubles import (
    errors as double_errors,
    exponential as double_exponential,
    inverse_trigonometric as double_inverse,
    logarithms as double_logarithms,
    trigonometric as double_trigonometric,
)
from poplite.vertex.compute.mathematics.evaluator import NumPyEvaluator, Value

Kernel = Callable[..., Value]
"""Takes an evaluator and one float32 or two, or doubles."""

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
"""Functions of float32."""

DOUBLES: Mapping[str, Kernel] = {
    kernel.__name__: kernel
    for kernel in (
        *(double_exponential.cosh, double_exponential.exp, double_exponential.exp2),
        *(double_exponential.expm1, double_exponential.sinh, double_exponential.tanh),
        *(double_logarithms.cbrt, double_logarithms.log, double_logarithms.log10),
        *(double_logarithms.log1p, double_logarithms.log2, double_logarithms.pow),
        *(double_inverse.acos, double_inverse.asin),
        *(double_inverse.atan, double_inverse.atan2),
        *(double_trigonometric.cos, double_trigonometric.sin, double_trigonometric.tan),
        *(double_errors.erf, double_errors.erfc),
    )
}
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
