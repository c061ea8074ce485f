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
import numpy.typing as npt

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.vertex.compute import arithmetic, lanes
from poplite.vertex.compute.mathematics.fused import fused
from poplite.vertex.compute.outside import no_number, number_of
from poplite.vertex.compute.typing.kinds import Kind


def fma(x: Any, y: Any, z: Any) -> Any:
    """Return `x * y + z`, rounded once: numbers, lanes of float32, or NumPy arrays.

    Of numbers the result is a float32 if one of them is, else a Python float; weak numbers are
    rounded to float32 before. A lane that x or y lacks stays as z has it; one that z lacks is
    `x * y`. Arrays are all float32 or all float64, and numbers beside them become such; so a
    reference in NumPy has the bits of a vertex. float16 counts as float32, as HALF does. In
    `compute` numbers and lanes are taken.

    Poplar: `ipu::fma`. Python 3.13: `math.fma`, which raises where this gives an infinity or NaN;
    `compute` takes it for this one.

    Raises:
        ElementTypeError: for what is no number, tensors among it; for arrays of other types, and
            beside lanes; and for lanes of another kind.
        SizeOverflowError: for an int that does not fit 64 bits.
        TensorCreationError: for arrays that do not broadcast.

    >>> import numpy as np
    >>> third = np.float32(1) / np.float32(3)
    >>> fma(third, 3.0, -1.0), third * 3 - 1
    (np.float32(2.9802322e-08), np.float32(0.0))
    """
    values = [_taken(*each) for each in (("x", x), ("y", y), ("z", z))]
    if any(isinstance(each, lanes.Lanes) for each in values):
        values = [lanes.beside_lanes("pl.fma", each) for each in values]
        kind = lanes.together("pl.fma", *values)
        if kind is not Kind.F32:
            raise lanes.of_kind("pl.fma", kind, "x * y + z, which is exact")
        return lanes.fused(arithmetic.fma, *values)
    arrays = [each for each in values if isinstance(each, np.ndarray)]
    with np.errstate(all="ignore"):
        if not arrays:
            return arithmetic.fma(*values)
        kind = _kind_of(arrays)
        columns = [
            np.asarray(each if isinstance(each, np.ndarray) else arithmetic.cast(each, kind))
            for each in values
        ]
        return fused(*columns)


def _taken(name: str, value: Any) -> Any:
    """Return lanes, an array or a number of the arithmetic, or refuse what is none."""
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        return value.astype(np.float32) if value.dtype == np.float16 else value
    number = value if isinstance(value, lanes.Lanes) else number_of(value)
    if number is None:
        raise no_number(f"pl.fma: {name}", value, "a number, lanes of float32, or a NumPy array")
    return number


def _kind_of(arrays: list[npt.NDArray[Any]]) -> Kind:
    """Return the kind of numbers that arrays have, or refuse them."""
    types = {each.dtype for each in arrays}
    if types not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        raise ElementTypeError(
            f"pl.fma of arrays of {' and '.join(sorted(map(str, types)))}",
            found="arrays are all float32 or all float64; float16 counts as float32",
            fix="x.astype(np.float32)",
        )
    try:
        np.broadcast_shapes(*(each.shape for each in arrays))
    except ValueError:
        raise TensorCreationError(
            f"pl.fma of arrays of shapes {' and '.join(str(each.shape) for each in arrays)}",
            found="they do not broadcast",
            fix="arrays of one shape",
        ) from None
    return Kind.F32 if types == {np.dtype(np.float32)} else Kind.FLOAT
