"""Functions of `math` in poplite's own arithmetic, bit-identical on every processor.

The results of a C library depend on its version and on the processor. These kernels are branch-free
sequences of operations that IEEE 754 rounds once, so that LLVM turns loops over them into vector
instructions::

    mathematics_singles    functions of float32, and the language of kernels: evaluated by NumPy
                           here, as LLVM instructions elsewhere
    mathematics_doubles    functions of doubles

All functions of float32 except `exp` compute in double and round once, so their error is little
more than that of the rounding, half a unit in the last place. Polynomials minimise the greatest
error on their interval, found with the Remez exchange algorithm in 40 digits; each is followed by
that error. `python -m poplite.testing.mathematics` measures every function on all 2^32 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.vertex.compute import mathematics_doubles as doubles, mathematics_singles as singles
from poplite.vertex.compute.mathematics_singles import NumPyEvaluator, Value

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
