"""Half-open intervals of element numbers, many at a time, as NumPy arrays.

Tile mappings are intervals with a tile, and a view cuts its variables into intervals::

    overlay   intervals  [-----------)   [---)        merge   intervals  [--)[--)[--) [--)
              breaks     |    |    |   |      |               values      a   a   b    b
              pieces     [----)[---)   [---)                  result     [------)[--) [--)
              source      0     0       1

`poplite.arrays.sweep` paints intervals over each other, which takes a sort.
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
