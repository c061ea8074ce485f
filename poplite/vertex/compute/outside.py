"""What the functions of `compute` take where they are called outside of it, to try them.

pl.fma(np.float16(3), 2, 1)      NumPy's numbers are those of `compute`: this is a float32
pl.lanes.full(1.0) + None        no number: refused
"""

from __future__ import annotations

import numpy as np

from poplite.errors import ElementTypeError, PopliteError, SizeOverflowError
from poplite.text import clipped, of_type
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Number


def number_of(value: object) -> Number | None:
    """Return a number of Python or NumPy as a value of `compute`; None for what is none there.

    >>> number_of(np.float16(0.5)), number_of(np.int8(3)), number_of(2**64), number_of("3")
    (np.float32(0.5), 3, None, None)
    """
    if isinstance(value, np.float32 | np.uint64):
        return value
    if isinstance(value, np.float16):
        return np.float32(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value) if arithmetic.INT_MIN <= value <= arithmetic.INT_MAX else None
    return float(value) if isinstance(value, float) else None


def no_number(what: str, value: object, asked: str) -> PopliteError:
    """Return the error for what is no number; `asked` is what to write instead."""
    if isinstance(value, int):
        return SizeOverflowError(
            f"{what} is {clipped(value)}",
            found="ints reach from -2**63 to 2**63 - 1",
            fix="a float, or a smaller int",
        )
    if hasattr(type(value), "element_type"):  # tensors and expressions, of which no layer here is
        asked = "x * y + z, which graphs compute; pl.fma and lanes are for a vertex's compute"
    return ElementTypeError(f"{what} is {clipped(value)}", found=of_type(value), fix=asked)
