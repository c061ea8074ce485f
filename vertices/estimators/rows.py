"""The slots of vertices that read and change rows of a table, of one worker each.

PopLibs has no vertex that sorts indices by owner; those figures are ours.

Source: PopLibs, `lib/popops/PerformanceEstimation.cpp`: `MultiSlice` and `MultiUpdateAdd`.
"""

from __future__ import annotations

from typing import Any

from poplite.machine.target import Target
from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertices.estimators.poplibs_tile import multi_slice

Element = type[ElementType[Any]]

LIST_ENTRY = 30
"""Slots to start sorting indices."""

LIST_INDEX = 20
"""Slots of an index that is sorted: it is divided twice, and stored with its place."""

LIST_OWNER = 9
"""Slots of an owner, in the loops over all of them."""

LISTED_LIST = 10
"""Slots to find an owner's part of a list."""

CHECK_ENTRY = 10
"""Slots to start comparing indices with a size."""

CHECK_INDEX = 3
"""Slots of an index that is compared."""


def check_rows(indices: int) -> int:
    """Return the slots of comparing indices with the rows that there are.

    Args:
        indices: of the worker.

    >>> check_rows(100)
    310
    """
    return CHECK_ENTRY + indices * CHECK_INDEX


def gather_rows(element: Element, indices: int, width: int, target: Target) -> int:
    """Return the slots of `MultiSlice`, of indices that are all in range.

    Args:
        element: the element type.
        indices: of the worker.
        width: elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> gather_rows(FLOAT, 10, 4, Target())
    260
    """
    if element.size_bytes > UNSIGNED_INT.size_bytes:
        element, width = UNSIGNED_INT, 2 * width
    return multi_slice(element, width, indices, 0, target) // target.workers


def update_rows(element: Element, inside: int, outside: int, width: int, target: Target) -> int:
    """Return the slots of `MultiUpdateAdd`.

    Args:
        element: the element type.
        inside: indices of rows that the worker has.
        outside: other indices, which it looks at.
        width: elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> update_rows(FLOAT, 2, 8, 4, Target())
    115
    """
    cost = target.cost
    atoms = max(1, -(-width * element.size_bytes // UNSIGNED_INT.size_bytes))
    each = cost("multi_update_each") + cost("multi_update_loop") * (atoms - 1)
    slots = cost("multi_update_entry") + inside * each + outside * cost("multi_update_outside")
    return int(slots)


def list_rows(indices: int, owners: int) -> int:
    """Return the slots of sorting indices by owner.

    Args:
        indices: of the worker.
        owners: to whom rows belong.

    >>> list_rows(100, 10)
    2120
    """
    return LIST_ENTRY + indices * LIST_INDEX + owners * LIST_OWNER


def update_listed(
    element: Element, indices: int, owners: int, lists: int, width: int, target: Target
) -> int:
    """Return the slots of changing those rows that lists have for one owner.

    Args:
        element: the element type.
        indices: of all owners; they are taken to be spread evenly.
        owners: how many there are.
        lists: how many parts the list has.
        width: elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> update_listed(FLOAT, 1000, 10, 2, 4, Target())
    2153
    """
    inside = -(-indices // max(1, owners))
    return update_rows(element, inside, 0, width, target) + LISTED_LIST * lists
