"""Values that every function refuses, such as arrays with a mask."""

from __future__ import annotations

from collections import UserList, deque
from typing import Any, TypeGuard, TypeVar

import numpy as np

from poplite.errors import ElementTypeError
from poplite.text import amount

T = TypeVar("T")


class HoldsNoValues:
    """What users may take for values, and is not: its class says what to write instead."""

    __slots__ = ()

    def refused(self, what: str) -> ElementTypeError:
        """Return the error of a call, `what`, that was given it."""
        raise NotImplementedError


_PLAIN = frozenset({np.ndarray, int, float, bool})
_LISTS = (list, tuple, deque, UserList)
_NESTS = (*_LISTS, HoldsNoValues)
_DEEPEST = 65
"""Levels of lists that can become an array: NumPy's most dimensions, and what these hold."""


def unmasked(value: T, what: str) -> T:
    """Return what a user gave as numbers; refuse a masked array, also in lists of any depth.

    So is an object that holds no values, such as the `==` of two tensors.

    >>> unmasked([1, 2], "engine.write")
    [1, 2]
    """
    if type(value) in _PLAIN:
        return value
    part = _refused_part(value)
    if isinstance(part, HoldsNoValues):
        raise part.refused(what)
    if part is not None:
        raise ElementTypeError(
            f"{what}: a masked array, but elements have no mask",
            found=f"{amount(int(np.ma.getmaskarray(part).sum()), 'element')} of "
            f"{part.size:,} masked",
            fix="array.filled(0), with the number that masked elements are to have",
        )
    return value


def _may_be_refused(kind: type) -> bool:
    """Return whether objects of this class are refused, or may hold or make such objects."""
    is_plain = kind is np.ndarray or issubclass(kind, np.generic)
    return issubclass(kind, _NESTS) or (not is_plain and hasattr(kind, "__array__"))


def _is_masked(value: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether an array has a mask; naming `np.ma` loads it, which takes 10 ms."""
    is_of_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    return is_of_subclass and isinstance(value, np.ma.MaskedArray)


def _refused_part(value: object) -> np.ma.MaskedArray[Any, Any] | HoldsNoValues | None:
    """Return the first part that is refused; a list of numbers is seen by its types."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        below: dict[int, Any] = {}  # a list may hold one row often, or itself
        for part in level:
            if isinstance(part, HoldsNoValues) or _is_masked(part):
                return part
            if not isinstance(part, _LISTS) and _may_be_refused(type(part)):
                made = part.__array__()  # np.asarray would drop its mask
                if _is_masked(made):
                    return made
            if isinstance(part, _LISTS) and any(
                _may_be_refused(kind) for kind in set(map(type, part))
            ):
                below |= {id(each): each for each in part if _may_be_refused(type(each))}
        level = list(below.values())
        if not level:
            break
    return None
