"""What is refused wherever values come in: arrays with a mask, and objects that hold no values."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from poplite.errors import ElementTypeError
from poplite.source import SourceLocation, here
from poplite.text import amount

T = TypeVar("T")


class HoldsNoValues:
    """What users may take for values, and is not: its class says what to write instead."""

    __slots__ = ()

    def refused(self, what: str, at: SourceLocation | None = None) -> ElementTypeError:
        """Return the error of a call, `what`, that was given it."""
        raise NotImplementedError


_REFUSED = np.ma.MaskedArray, HoldsNoValues


def unmasked(value: T, what: str, at: SourceLocation | None = None) -> T:
    """Return what a user gave as values; refuse it, or its parts, where it is a masked array.

    So is an object that holds no values, such as the `==` of two tensors.

    >>> unmasked([1, 2], "engine.write")
    [1, 2]
    """
    parts = value if isinstance(value, list | tuple) else (value,)
    for part in parts:
        if isinstance(part, _REFUSED):
            if isinstance(part, HoldsNoValues):
                raise part.refused(what, at)
            raise ElementTypeError(
                f"{what}: a masked array, but elements have no mask",
                at=at or here(),
                found=f"{amount(int(np.ma.getmaskarray(part).sum()), 'element')} of "
                f"{part.size:,} masked",
                fix="array.filled(0), with the number that masked elements are to have",
            )
    return value
