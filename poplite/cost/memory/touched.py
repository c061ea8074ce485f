"""Which addresses a step may touch, as few intervals, and which of them it certainly touches.

    x[2:6]                  touched [2, 6)      covered [2, 6)
    x[::2] of 10^6          touched [0, 10^6)   covered nothing

Addresses that would take many intervals are described by a few that contain them, of which none is
certain to be touched: liveness computed from them is still safe.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import union
from poplite.view import Storage, View, num_runs, runs, storages

if TYPE_CHECKING:
    from poplite.arrays.digits import Digit
    from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges

LISTED = 4096
"""Most runs of a view or a field that are listed."""


class AddressIntervals(NamedTuple):
    """Addresses: sorted, disjoint intervals, no two touching.

    Attributes:
        begin: int64[n], first addresses.
        end: int64[n], one past the last.
    """

    begin: Int64
    end: Int64


class TouchedAddresses(NamedTuple):
    """Addresses that a step reads, or writes.

    Attributes:
        some: intervals that contain all of them.
        all: intervals in which it touches every address.
    """

    some: AddressIntervals
    all: AddressIntervals


NONE = AddressIntervals(np.zeros(0, np.int64), np.zeros(0, np.int64))
NOTHING = TouchedAddresses(NONE, NONE)


def of_views(views: Iterable[View]) -> TouchedAddresses:
    """Return the addresses that some views touch.

    >>> from poplite.view import all_of
    >>> matrix = all_of(Storage(0, 100, 12), (3, 4))
    >>> [each.tolist() for each in of_views([matrix.slice(1, 2, 0), matrix.slice(2, 3, 0)]).all]
    [[104], [112]]
    """
    return joined([_of_view(view) for view in views if view.num_elements])


def of_edges(table: EdgeTable) -> tuple[TouchedAddresses, TouchedAddresses]:
    """Return what vertices read, and what they write; no two edges write the same element."""
    reads, writes = [], []
    for part in table.fields:
        if part.field.reads:
            reads.append(_of_edges(part, disjoint=False))
        if part.field.writes:
            writes.append(_of_edges(part, disjoint=True))
    return joined(reads), joined(writes)


def joined(parts: Sequence[TouchedAddresses]) -> TouchedAddresses:
    """Return the addresses that any of several touches."""
    if not parts:
        return NOTHING
    if len(parts) == 1:
        return parts[0]
    return TouchedAddresses(
        _union([part.some for part in parts]),
        _union([part.all for part in parts]),
    )


def _union(parts: Sequence[AddressIntervals]) -> AddressIntervals:
    begin, end = (np.concatenate(side) for side in zip(*parts, strict=True))
    return AddressIntervals(*union(begin, end)) if len(begin) else NONE


def solid(view: View) -> tuple[int, int] | None:
    """Return the interval that a view of some elements touches completely, None where not obvious.

    >>> from poplite.view import all_of
    >>> solid(all_of(Storage(0, 100, 12), (3, 4)).slice(1, 2, 0))
    (104, 108)
    """
    space = view.space
    if not isinstance(space, Storage):
        return None
    digits = view.flat_digits()
    if len(digits) == 1 and digits[0][1] == 1:
        first = space.base + view.off
        return first, first + digits[0][0]
    return _span(space.base + view.off, digits) if is_solid(digits) else None


def _of_view(view: View) -> TouchedAddresses:
    span = solid(view)
    if span is not None:
        return _solid(*span)
    if num_runs(view) <= LISTED:
        begin, size = runs(view)
        return _listed(begin, begin + size)
    owners = storages(view)
    begin = np.sort(np.array([storage.base for storage in owners]))
    end = np.sort(np.array([storage.base + storage.num_elements for storage in owners]))
    return TouchedAddresses(AddressIntervals(begin, end), NONE)


def _of_edges(part: FieldEdges, *, disjoint: bool) -> TouchedAddresses:
    """Return what the edges of a field touch; `disjoint` where no two share an element."""
    edges = part.edges
    if edges.num_vertices == 1 and edges.start is not None and edges.length.count == 1:
        return _solid(edges.start.low, edges.start.low + edges.length.low)
    elements = edges.elements()
    if elements is not None and is_solid(elements.digits):
        return _solid(elements.low, elements.high + 1)
    low, high = part.envelope
    if disjoint and edges.num_elements == high - low:
        return _solid(low, high)
    if elements is not None and elements.count > LISTED:
        return TouchedAddresses(AddressIntervals(np.array([low]), np.array([high])), NONE)
    _, begin, size = part.runs
    return _listed(begin, begin + size)


def _listed(begin: Int64, end: Int64) -> TouchedAddresses:
    intervals = AddressIntervals(*union(begin, end))
    return TouchedAddresses(intervals, intervals)


def _solid(begin: int, end: int) -> TouchedAddresses:
    intervals = AddressIntervals(np.array([begin]), np.array([end]))
    return TouchedAddresses(intervals, intervals)


def _span(first: int, digits: Sequence[Digit]) -> tuple[int, int]:
    reach = [(extent - 1) * stride for extent, stride in digits]
    return first + sum(min(0, r) for r in reach), first + sum(max(0, r) for r in reach) + 1


def is_solid(digits: Sequence[Digit]) -> bool:
    """Tell whether regular addresses, of digits (extent, stride), have no gaps.

    >>> is_solid([(3, 4), (4, 1)]), is_solid([(3, 4), (2, 1)]), is_solid([(3, 4), (6, 1)])
    (True, False, True)
    """
    reach = 1
    for extent, stride in sorted(digits, key=lambda digit: abs(digit[1])):
        if extent > 1:
            if abs(stride) > reach:
                return False
            reach += (extent - 1) * abs(stride)
    return True


class IntervalLists:
    """Intervals of many steps, one after the other."""

    def __init__(self) -> None:
        self._leaf, self._begin, self._end = array("q"), array("q"), array("q")

    def add(self, leaf: int, intervals: AddressIntervals) -> None:
        """Add the intervals of a step."""
        begin, end = intervals
        self._begin.frombytes(np.ascontiguousarray(begin).data.cast("B"))
        self._end.frombytes(np.ascontiguousarray(end).data.cast("B"))
        self._leaf.extend(repeat(leaf, len(begin)))

    def add_one(self, leaf: int, begin: int, end: int) -> None:
        """Add one interval, [begin, end), of a step."""
        self._leaf.append(leaf)
        self._begin.append(begin)
        self._end.append(end)

    def ends(self) -> tuple[Int64, Int64]:
        """Return the first addresses, and one past the last."""
        return _int64(self._begin), _int64(self._end)

    def leaves(self) -> Int64:
        """Return the number of the step of each interval."""
        return _int64(self._leaf)


def _int64(values: array[int]) -> Int64:
    return np.array(values, np.int64)
