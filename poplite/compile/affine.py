"""Runs of rows that change by a constant step: the one compression of the compiler.

Vertices of a regular graph, and blocks of a regular copy, are rows of numbers of which some
grow by the same amount from row to row and the others stay.  `affine_runs` cuts a table of
such rows into maximal runs, greedily from the top::

    start  length        first  count  step of start
      0      4
     64      4             0      3         64
    128      4
    500      4             3      2         10
    510      4
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def affine_runs(moving: Integers, fixed: Integers) -> tuple[Integers, Integers, Integers]:
    """Cut rows into runs in which `moving` steps evenly and `fixed` stays.

    Args:
        moving: int64[rows, m].
        fixed: int64[rows, f].

    Returns:
        First row of each run, rows of each run, and int64[runs, m] of steps; the step of a
        run of one row is 0.

    >>> first, count, step = affine_runs(np.array([[0], [64], [128], [9]]), np.ones((4, 1)))
    >>> first.tolist(), count.tolist(), step.tolist()
    ([0, 3], [3, 1], [[64], [0]])
    """
    rows = len(moving)
    if rows == 0:
        return _empty(), _empty(), np.zeros((0, moving.shape[1]), np.int64)
    steps = np.diff(moving, axis=0)
    joins = (np.diff(fixed, axis=0) == 0).all(axis=1)
    alike = joins[1:] & joins[:-1] & (steps[1:] == steps[:-1]).all(axis=1)
    # For the step behind each row: the last row that the same step still reaches.
    ends = np.flatnonzero(np.append(~alike, True)) + 1 if rows > 1 else _empty()
    reach = ends[np.searchsorted(ends, np.arange(rows - 1), side="right")].tolist()
    joined = joins.tolist()
    first, last, row = [], [], 0
    while row < rows:
        end = reach[row] if row < rows - 1 and joined[row] else row
        first.append(row)
        last.append(end)
        row = end + 1
    begin, stop = np.array(first, np.int64), np.array(last, np.int64)
    stepped = np.zeros((len(begin), moving.shape[1]), np.int64)
    several = stop > begin
    stepped[several] = steps[begin[several]]
    return begin, stop - begin + 1, stepped


def _empty() -> Integers:
    return np.zeros(0, np.int64)
