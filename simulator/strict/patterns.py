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

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.types import ElementType

Values = npt.NDArray[np.int64]
"""The bits of elements of any size."""

Mask = npt.NDArray[np.bool_]

FIRST, SECOND, OUTPUT = range(3)
"""Values for the first and the second run again; and for an Output, whatever it holds."""

FILLS = FIRST, SECOND
"""Those for elements that nothing has written."""

_FLOATS = ((np.nan, 1.40625), (24576.0, 20480.0), (-3.25, -5.25))

_INTEGERS = ((1, 0), (0x7F7F, 0x5F5F), (4, 5))
"""Types of one byte get the lower one."""

_TRUTHS = True, False


def values_of(element: type[ElementType[Any]], fill: int) -> Values:
    """Return the two values of a type, as bits.

    Args:
        element: the type.
        fill: what they are for.

    >>> from poplite.types import HALF
    >>> values_of(HALF, SECOND).astype(np.uint16).view(np.float16).tolist()
    [24576.0, 20480.0]
    """
    kind, size = element.dtype.kind, element.size_bytes
    if kind not in "fb":
        values = np.array(_INTEGERS[fill]).astype(f"u{size}")
    else:
        values = np.array(_FLOATS[fill] if kind == "f" else _TRUTHS, element.dtype).view(f"u{size}")
    return values.astype(np.uint64).view(np.int64)


def filled(element: type[ElementType[Any]], fill: int, old: Values) -> Values:
    """Return other values than these.

    Args:
        element: their type.
        fill: what they are for.
        old: what elements hold.
    """
    one, other = values_of(element, fill)
    return np.asarray(np.where(old == one, other, one))
