"""Copy records: what moves where, in few rows.

A copy pairs the runs of its source with the runs of its destination, both in view order.
The common pieces become blocks, and blocks at even distances one strided record::

    source       [-----)[---)[---)
    destination  [---)[----)[----)
    pieces       [---)[)[--)[)[--)

A record is (destination, source, rows, bytes, destination stride, source stride), in bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poplite.compile.affine import affine_runs

RECORD_WORDS = 6

Integers = npt.NDArray[np.int64]
Runs = tuple[Integers, Integers]
"""Byte position and size in bytes of each run, in view order."""


def copy_records(destination: Runs, source: Runs) -> Integers:
    """Return the records that copy one sequence of bytes onto another.

    Args:
        destination: runs to write.
        source: runs to read, of as many bytes altogether.

    Returns:
        int64[records, 6].

    >>> copy_records((np.array([0]), np.array([8])), (np.array([100, 200]), np.array([4, 4])))
    array([[  0, 100,   2,   4,   4, 100]])
    """
    ends = [np.cumsum(size) for _, size in (destination, source)]
    stops = _merged(*ends)
    starts = np.concatenate([np.zeros(min(1, len(stops)), np.int64), stops[:-1]])
    sizes = stops - starts
    to, start = (
        _position(runs, end, starts) for runs, end in zip((destination, source), ends, strict=True)
    )
    blocks = np.stack([to, start], axis=1)
    first, rows, steps = affine_runs(blocks, sizes[:, None])
    return np.column_stack([to[first], start[first], rows, sizes[first], steps])


def _merged(first: Integers, second: Integers) -> Integers:
    """Merge two rising sequences into one without repeats."""
    if np.array_equal(first, second):
        return first
    both = np.concatenate([first, second])
    both.sort(kind="stable")  # merges rising stretches in one pass
    return np.asarray(both[np.append(both[1:] != both[:-1], True)])


def _position(runs: Runs, ends: Integers, starts: Integers) -> Integers:
    begin, size = runs
    run = np.searchsorted(ends, starts, side="right")
    return np.asarray(begin[run] + starts - (ends[run] - size[run]))
