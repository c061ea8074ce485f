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

from poplite.arrays.sweep import FEW
from poplite.jit.kernels.crossings import go_on
from poplite.jit.native import address, native

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
    begin, last = _runs(joins, alike)
    stepped = np.zeros((len(begin), moving.shape[1]), np.int64)
    several = last > begin
    stepped[several] = steps[begin[several]]
    return begin, last - begin + 1, stepped


def _runs(joins: npt.NDArray[np.bool_], alike: npt.NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Return the first and the last row of each run."""
    rows = len(joins) + 1
    if rows <= FEW:
        first, last = [0] * rows, [0] * rows
        count = go_on(joins.tolist(), alike.tolist(), rows, first, last)
        return np.array(first[:count], np.int64), np.array(last[:count], np.int64)
    out = np.empty((2, rows), np.int64)
    flags = address(joins.view(np.uint8)), address(alike.view(np.uint8))
    count = native(go_on)(*flags, rows, address(out[0]), address(out[1]))
    return out[0, :count].copy(), out[1, :count].copy()


def _empty() -> Integers:
    return np.zeros(0, np.int64)
