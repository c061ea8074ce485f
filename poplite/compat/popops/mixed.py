"""A tensor of HALF times one of FLOAT with one element: the one product of two types in popops.

    mul(graph, h, f, prog)       HALF, of the shape of h; so is mul(graph, f, h, prog)
    mulInPlace(graph, h, f, prog)

The scalar is rounded to HALF where that changes it by less than its share `tolerance`, and stays
FLOAT otherwise. Each product is rounded to HALF once.

Source: PopLibs, lib/popops/ScalarMultiply.cpp, codelets/ScalarMultiply.cpp and
codelets/CheckAccuracyWhenCast.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplite import ops
from poplite.compat.popops.options import Options
from poplite.errors import InvalidOption
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.text import clipped
from poplite.types import FLOAT, HALF

TOLERANCE = "scalarMultiplyFloatToHalfTolerance"
"""The option that says how much of the scalar may be lost; 1e-6 where it is left out."""


def product_of_half(
    what: str, values: Sequence[Any], options: Options, *, in_place: bool
) -> Operand | None:
    """Return the product of two operands, or None unless their types and sizes are those two."""
    tolerance = _tolerance(what, options)
    for h, f in (values,) if in_place else (values, values[::-1]):
        if _are_mixed(h, f):
            return ops.cast(ops.cast(h, FLOAT) * _rounded(f.reshape(()), tolerance), HALF)
    return None


def _are_mixed(h: object, f: object) -> bool:
    if not isinstance(h, Tensor) or not isinstance(f, Tensor):
        return False
    return h.element_type is HALF and f.element_type is FLOAT and f.num_elements == 1


def _rounded(f: Operand, tolerance: float) -> Operand:
    near = ops.cast(ops.cast(f, HALF), FLOAT)
    return ops.where(ops.less(abs(near - f), abs(f) * tolerance), near, f)


def _tolerance(what: str, options: Options) -> float:
    given = (options or {}).get(TOLERANCE, "1e-6")
    try:
        tolerance = float(given)
        if tolerance >= 0:  # which NaN is not
            return tolerance
        raise ValueError
    except (TypeError, ValueError):
        raise InvalidOption(
            f"popops.{what}: option {TOLERANCE!r} is {clipped(given)}",
            found="no number from 0",
            fix=f'{{{TOLERANCE!r}: "1e-6"}}',
        ) from None
