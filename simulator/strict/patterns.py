"""What stands in for elements that nothing has written, and what comes of it.

A compute set runs as memory is, then again with other values in their place.  What comes out
tells of each element that vertices may write::

    first run   again   and again
    7           7       7             written: the result is the same
    0           NaN     24576         still unwritten: it holds what stood there before
    0           NaN     24576         or what stood at another such element: that was passed on
    3           NaN     24579         the result depends on what nothing has written

NaN is lost in no sum, a large number in few comparisons, divisions and shifts; integers are not
larger, as loops may count with them.  An element that holds the value by chance gets the other
one of the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.types import ElementType

Bits = npt.NDArray[Any]
"""Elements as unsigned integers of their size."""

Mask = npt.NDArray[np.bool_]

Fill = Literal["first", "second", "output"]
"""Values for the first and the second run again; and for an Output, whatever it holds."""

FILLS: tuple[Fill, ...] = ("first", "second")
"""Those for elements that nothing has written."""

_FLOATS: dict[Fill, tuple[float, float]] = {
    "first": (np.nan, 1.40625),
    "second": (24576.0, 20480.0),
    "output": (-3.25, -5.25),
}

_INTEGERS: dict[Fill, tuple[int, int]] = {
    "first": (1, 0),
    "second": (0x7F7F, 0x5F5F),  # types of one byte get the lower one
    "output": (4, 5),
}

_TRUTHS = True, False


def values_of(element: type[ElementType[Any]], fill: Fill) -> Bits:
    """Return the two values of a type, as bits.

    Args:
        element: the type.
        fill: what they are for.

    >>> from poplite.types import HALF
    >>> values_of(HALF, "second").view(np.float16).tolist()
    [24576.0, 20480.0]
    """
    kind, size = element.dtype.kind, element.size_bytes
    if kind not in "fb":
        return np.array(_INTEGERS[fill]).astype(f"u{size}")
    return np.array(_FLOATS[fill] if kind == "f" else _TRUTHS, element.dtype).view(f"u{size}")


def filled(element: type[ElementType[Any]], fill: Fill, old: Bits) -> Bits:
    """Return other values than these.

    Args:
        element: their type.
        fill: what they are for.
        old: what elements hold.
    """
    one, other = values_of(element, fill)
    return np.asarray(np.where(old == one, other, one))


def is_passed_on(
    element: type[ElementType[Any]], old: Bits, result: Bits, others: Sequence[Bits]
) -> Mask:
    """Tell which results are what stood at some such element.

    Args:
        element: their type.
        old: what such elements held.
        result: what came of the first run.
        others: what came of the first and of the second run again.
    """
    first, second = (
        other == filled(element, fill, result) for other, fill in zip(others, FILLS, strict=True)
    )
    return np.asarray(np.isin(result, old) & first & second)
