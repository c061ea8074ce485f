"""The vertices of one rank: descriptor rows cut where its vertices begin and end.

    row        6 vertices from number 10, x.start 0, +64      ranks 0 0 0 1 1 1
    rank 1     3 vertices from number 13, x.start 192, +64

Affine columns begin later, flat ones later in their table; tables stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poplite.executable.descriptor import COUNT, positions
from poplite.executable.step import Vertices


def taken(group: Vertices, is_taken: npt.NDArray[np.bool_]) -> Vertices:
    """Return some vertices of a group: bool[vertices], run by run; there may be none.

    A group without vertices still names its class.
    """
    counts = group.rows[:, COUNT]
    if is_taken.all():
        return group
    row = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    goes_on = np.append(False, (row[1:] == row[:-1]) & is_taken[:-1]) if len(row) else is_taken
    first = np.flatnonzero(is_taken & ~goes_on)
    count = np.diff(np.append(np.cumsum(is_taken)[first] - 1, np.count_nonzero(is_taken)))
    rows, skipped = group.rows[row[first]], within[first]
    for column, at in positions(group.columns):
        if column.kind == "affine":
            rows[:, at] += skipped * rows[:, at + 1]
        elif column.kind == "flat":
            rows[:, at + 1] += skipped
    rows[:, COUNT] = count
    weights = np.maximum(group.weights[row[first]] * count // counts[row[first]], 1)
    return replace(group, rows=rows, weights=weights)
