"""Half-open intervals of element numbers, many at a time, as NumPy arrays.

Tile mappings are intervals with a tile, edits of mappings are intervals painted over each
other, and a view cuts its variables into intervals.  Two operations carry all of it:
`paint` resolves what lies on top, `overlay` cuts intervals at given breaks::

    paint     first   aaaaaaaa            overlay   intervals  [-----------)   [---)
              second     bbb                        breaks     |    |    |   |      |
              third           ccc                   pieces     [----)[---)   [---)
              result  aaabbbaacc c        source               0     0      1

Both work on sorted arrays and cost O((n + m) log m), whatever the intervals' lengths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]


def overlay(begin: Int64, end: Int64, breaks: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """Cut intervals wherever a break lies inside them.

    Args:
        begin: int64[n], first elements; every interval has at least one element.
        end: int64[n], one past the last elements.
        breaks: int64[m + 1], rising; segment `k` is `[breaks[k], breaks[k + 1])`.
            Intervals lie within `[breaks[0], breaks[m])`.

    Returns:
        `(source, segment, begin, end)` of the pieces, in the order of the intervals: the
        interval a piece was cut from, and the segment it lies in.

    >>> [a.tolist() for a in overlay(np.array([1]), np.array([7]), np.array([0, 4, 9]))]
    [[0, 0], [0, 1], [1, 4], [4, 7]]
    """
    first = np.searchsorted(breaks, begin, side="right") - 1
    count = np.searchsorted(breaks, end, side="left") - first
    source = np.repeat(np.arange(len(begin)), count)
    within = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    segment = first[source] + within
    return (
        source,
        segment,
        np.maximum(begin[source], breaks[segment]),
        np.minimum(end[source], breaks[segment + 1]),
    )


def paint(begin: Int64, end: Int64, value: Int64) -> tuple[Int64, Int64, Int64]:
    """Paint intervals over each other; the last one given lies on top.

    Args:
        begin: int64[n], first elements; empty intervals are allowed.
        end: int64[n], one past the last elements.
        value: int64[n], what each interval paints.

    Returns:
        `(begin, end, value)`: sorted and disjoint; neighbours of equal value are one.

    >>> edits = np.array([0, 3]), np.array([8, 5]), np.array([7, 9])
    >>> [a.tolist() for a in paint(*edits)]
    [[0, 3, 5], [3, 5, 8], [7, 9, 7]]
    """
    some = begin < end
    begin, end, value = begin[some], end[some], value[some]
    order = np.argsort(begin, kind="stable")
    begin, end, value = begin[order], end[order], value[order]
    if (begin[1:] < end[:-1]).any():
        begin, end, value = _topmost(begin, end, value, order)
    return merge(begin, end, value)


def merge(begin: Int64, end: Int64, value: Int64) -> tuple[Int64, Int64, Int64]:
    """Join neighbouring intervals that touch and have equal values.

    Args:
        begin: int64[n], first elements.
        end: int64[n], one past the last elements.
        value: int64[n].

    Returns:
        `(begin, end, value)`, in the same order.

    >>> [a.tolist() for a in merge(np.array([0, 2]), np.array([2, 3]), np.array([5, 5]))]
    [[0], [3], [5]]
    """
    if not len(begin):
        return begin, end, value
    starts = np.ones(len(begin) + 1, np.bool_)
    starts[1:-1] = (begin[1:] != end[:-1]) | (value[1:] != value[:-1])
    return begin[starts[:-1]], end[starts[1:]], value[starts[:-1]]


def _topmost(begin: Int64, end: Int64, value: Int64, rank: Int64) -> tuple[Int64, Int64, Int64]:
    """Cut at every end point, and keep in each cell the interval of the highest rank.

    An interval of `s` cells is marked twice, on two overlapping stretches of 2**k <= s
    cells; one pass per k, from the longest, hands marks down to the two halves.
    """
    points = np.unique(np.concatenate([begin, end]))
    first, last = np.searchsorted(points, begin), np.searchsorted(points, end)
    level = np.frexp((last - first).astype(np.float64))[1] - 1
    top = np.full(len(points) - 1, -1, np.int64)
    for k in range(int(level.max()), -1, -1):
        at = np.flatnonzero(level == k)
        np.maximum.at(top, first[at], rank[at])
        np.maximum.at(top, last[at] - (1 << k), rank[at])
        if k:
            half = 1 << (k - 1)
            upper = top[:-half].copy()
            top[half:] = np.maximum(top[half:], upper)
    seen = top >= 0
    by_rank = np.empty(len(rank), np.int64)
    by_rank[rank] = value
    return points[:-1][seen], points[1:][seen], by_rank[top[seen]]
