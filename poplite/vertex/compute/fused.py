"""`pl.fma`: a product and a sum that are rounded once, where a vertex says so.

    total = self.a[k] * self.b[k] + total          rounded twice, always
    total = pl.fma(self.a[k], self.b[k], total)    rounded once, always

Nothing else is contracted, so the bits follow from the text alone. A processor that has such an
instruction takes one for the product and the sum; another one calls a function of its library, with
the same bits. An IPU has none for a codelet (docs/arithmetic.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.vertex.compute import arithmetic, lanes
from poplite.vertex.compute.mathematics.fused import fused


def fma(x: Any, y: Any, z: Any) -> Any:
    """Return `x * y + z`, rounded once: numbers, lanes of float32, or NumPy arrays.

    Of numbers the result is a float32 if one of them is, else a Python float; weak numbers are
    rounded to float32 before. A lane that x or y lacks stays as z has it; one that z lacks is
    `x * y`. Arrays are all float32 or all float64, and numbers beside them become such; so a
    reference in NumPy has the bits of a vertex. In `compute` numbers and lanes are taken.

    Poplar: `ipu::fma`. Python 3.13: `math.fma`, which raises where this gives an infinity or NaN;
    `compute` takes it for this one.

    Raises `TypeError` for arrays of other types.

    >>> import numpy as np
    >>> third = np.float32(1) / np.float32(3)
    >>> fma(third, 3.0, -1.0), third * 3 - 1
    (np.float32(2.9802322e-08), np.float32(0.0))
    """
    values = (x, y, z)
    if any(isinstance(each, lanes.Lanes) for each in values):
        return lanes.fused(arithmetic.fma, x, y, z)
    types = {each.dtype for each in values if isinstance(each, np.ndarray)}
    if not types:
        with np.errstate(all="ignore"):
            return arithmetic.fma(*map(_number, values))
    if types not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        found = " and ".join(sorted(map(str, types)))
        raise TypeError(f"fma takes arrays of float32, or of float64, not of {found}")
    (dtype,) = types
    return fused(*(np.asarray(each, dtype) for each in values))


def _number(value: Any) -> arithmetic.Number:
    """Return a value of the arithmetic: NumPy's other numbers are Python's."""
    known = isinstance(value, bool | int | float | np.float32 | np.uint64)
    number: arithmetic.Number = value if known else value.item()
    return float(number) if isinstance(number, np.float64) else number
