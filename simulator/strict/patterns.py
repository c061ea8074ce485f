"""What stands in for elements that nothing has written, and what comes of it.

A compute set runs as memory is, then again with other values in their place.  What comes out
tells of each element that vertices may write::

    first run   again   and again
    7           7       7             written: the result is the same
    0           -24415  32638         still unwritten: it holds what stood there before
    0           -24415  32638         or what stood at another such element: that was passed on
    3           -24412  32641         the result depends on what nothing has written
    1           0       1             and so does `n < 1`

Elements beside each other get other values, so that comparing them shows as well.  The values of
the two runs part on sign, on size and on parity::

                again           and again
    integer     -24415  24410   32638  -31999     unsigned   1    2     32638  31999
    float       -inf    inf     24576  -24448

An infinite one is lost in no sum.  Integers are not larger, as loops may count with them: in
loops in each other a hundred turns of each are enough.  Where data decide how often a loop turns,
floats are finite; where a `while` may wait for one certain number, as in `while n != 0`, no value
is negative.  An element that holds the value by chance gets another one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.simulator.strict.class_text import NO_LOOPS, Loops
from poplite.types import ElementType

Values = npt.NDArray[np.int64]
"""The bits of elements of any size."""

Numbers = npt.NDArray[Any]

Mask = npt.NDArray[np.bool_]

FIRST, SECOND, OUTPUT = range(3)
"""Values for the first and the second run again; and for an Output, whatever it holds."""

FILLS = FIRST, SECOND
"""Those for elements that nothing has written."""

_OUTPUTS = {"f": (-3.25, -5.25), "i": (4, 5)}

_TRUTHS = True, False

# For the first and the second run: of each variant the value, and what stands in for that.
_Pairs = tuple[tuple[tuple[float, float], tuple[float, float]], ...]

_SIGNED: _Pairs = ((-24415, -24413), (24410, 24406)), ((32638, 32634), (-31999, -31993))
_UNSIGNED: _Pairs = ((1, 3), (2, 4)), ((32638, 32634), (31999, 31993))
_INFINITE: _Pairs = ((-np.inf, -32768), (np.inf, 32768)), ((24576, 20480), (-24448, -20352))
_FINITE: _Pairs = ((-1023.5, -1021.5), (1022.5, 1020.5)), ((24576, 20480), (-24448, -20352))
_POSITIVE: _Pairs = ((1, 3), (2, 4)), ((24576, 20480), (24448, 20352))

# The same for elements of one byte, and for loops in each other.
_SHORT_SIGNED: _Pairs = ((-95, -93), (90, 86)), ((126, 122), (-119, -113))
_SHORT_UNSIGNED: _Pairs = ((1, 3), (2, 4)), ((126, 122), (119, 113))
_SHORT_FINITE: _Pairs = ((-95.5, -93.5), (90.5, 86.5)), ((126, 122), (-119, -113))
_SHORT_POSITIVE: _Pairs = _SHORT_UNSIGNED


def values_of(
    element: type[ElementType[Any]], fill: int, variant: int = 0, loops: Loops = NO_LOOPS
) -> Values:
    """Return the two values of a type, as bits.

    Args:
        element: the type.
        fill: what they are for.
        variant: of which elements.
        loops: of the vertices that find them.

    >>> from poplite.types import HALF
    >>> values_of(HALF, SECOND).astype(np.uint16).view(np.float16).tolist()
    [24576.0, 20480.0]
    """
    return as_bits(numbers_of(element, fill, variant, loops), element)


def numbers_of(element: type[ElementType[Any]], fill: int, variant: int, loops: Loops) -> Numbers:
    """Return the two values of a type, as numbers; see `values_of`."""
    kind, size = element.dtype.kind, element.size_bytes
    if kind == "b":
        return np.array(_TRUTHS)
    if fill == OUTPUT:
        return np.array(_OUTPUTS["f" if kind == "f" else "i"])
    may_be_negative = loops.ends != "perhaps"
    is_short = size == 1 or loops.depth > 1
    if kind != "f":
        has_sign = kind == "i" and may_be_negative
        pairs = (_SHORT_SIGNED, _SIGNED) if has_sign else (_SHORT_UNSIGNED, _UNSIGNED)
    elif not may_be_negative:
        pairs = _SHORT_POSITIVE, _POSITIVE
    else:
        pairs = _SHORT_FINITE, _FINITE if loops.depth else _INFINITE
    return np.array(pairs[0 if is_short else 1][fill][variant])


def as_bits(numbers: Numbers, element: type[ElementType[Any]]) -> Values:
    """Return numbers as the bits of elements of a type.

    Args:
        numbers: float64 or bool, whole ones for an integer type.
        element: the type.
    """
    whole = numbers if element.dtype.kind in "fb" else numbers.astype(np.int64)
    size = element.size_bytes
    return whole.astype(element.dtype).view(f"u{size}").astype(np.uint64).view(np.int64)


@cache
def passed(
    source: type[ElementType[Any]], element: type[ElementType[Any]], variant: int, loops: Loops
) -> Values | None:
    """Return what an element of one type holds to which one of another was passed on.

    Args:
        source: the other type.
        element: the type.
        variant: of the element that was passed on.
        loops: of the vertices.

    Returns:
        Two values for each of FILLS and OUTPUT; None where it is not passed on as it stands.
    """
    kinds = source.dtype.kind, element.dtype.kind
    is_same_kind = kinds == ("f", "f") or set(kinds) <= {"i", "u"}
    if not is_same_kind and source.size_bytes != element.size_bytes:
        return None
    to = element if is_same_kind else source
    numbers = [numbers_of(source, fill, variant, loops) for fill in (*FILLS, OUTPUT)]
    return np.array([as_bits(each, to) for each in numbers])


def filled(element: type[ElementType[Any]], fill: int, old: Values) -> Values:
    """Return other values than these.

    Args:
        element: their type.
        fill: what they are for.
        old: what elements hold.
    """
    one, other = values_of(element, fill)
    return np.asarray(np.where(old == one, other, one))
