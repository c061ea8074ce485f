"""Arrays of NumPy with a mask, which no element type has: refused wherever values come in."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from poplite.errors import ElementTypeError
from poplite.source import SourceLocation, here
from poplite.text import amount

T = TypeVar("T")


def unmasked(value: T, what: str, at: SourceLocation | None = None) -> T:
    """Return what a user gave as values; refuse it, or its parts, where it is a masked array.

    >>> unmasked([1, 2], "engine.write")
    [1, 2]
    """
    parts = value if isinstance(value, list | tuple) else (value,)
    for part in parts:
        if isinstance(part, np.ma.MaskedArray):
            raise ElementTypeError(
                f"{what}: a masked array, but elements have no mask",
                at=at or here(),
                found=f"{amount(int(np.ma.getmaskarray(part).sum()), 'element')} of "
                f"{part.size:,} masked",
                fix="array.filled(0), with the number that masked elements are to have",
            )
    return value
