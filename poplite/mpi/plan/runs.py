"""Runs of bytes: cut where other runs begin and end, and joined where they overlap.

pieces      [--------)     [---)           0: 0-9     1: 15-19
runs        [---)[-----------)             0: 0-4     1: 4-17
crossings   [---)[---)     [-)             0, 0    0, 1    1, 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RunOverlaps:
    """What pieces and runs have in common.

    Attributes:
        piece: int64[n], number of the piece, rising.
        run: int64[n], number of the run.
        begin: int64[n], first byte.
        end: int64[n], the byte after the last.
    """

    piece: Integers
    run: Integers
    begin: Integers
    end: Integers


def crossings(begin: Integers, end: Integers, starts: Integers, stops: Integers) -> RunOverlaps:
    """Return what each piece, in any order, has in common with runs, which rise and are disjoint.

    >>> pieces = np.array([0, 15]), np.array([9, 19])
    >>> found = crossings(*pieces, np.array([0, 4]), np.array([4, 17]))
    >>> found.piece.tolist(), found.run.tolist()
    ([0, 0, 1], [0, 1, 1])
    >>> found.begin.tolist(), found.end.tolist()
    ([0, 4, 15], [4, 9, 17])
    """
    first = np.searchsorted(stops, begin, side="right")
    last = np.searchsorted(starts, end, side="left")
    count = np.where(end > begin, np.maximum(last - first, 0), 0)
    piece = np.repeat(np.arange(len(begin)), count)
    run = first[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    return RunOverlaps(
        piece, run, np.maximum(begin[piece], starts[run]), np.minimum(end[piece], stops[run])
    )


def joined(key: Integers, begin: Integers, end: Integers) -> tuple[Integers, Integers, Integers]:
    """Return pieces by rising key and begin; those of one key that overlap or touch become one.

    >>> begin, end = np.array([4, 0, 0]), np.array([9, 5, 2])
    >>> [each.tolist() for each in joined(np.array([1, 1, 0]), begin, end)]
    [[0, 1], [0, 0], [2, 9]]
    """
    order = np.lexsort((begin, key))
    key, begin, end = key[order], begin[order], end[order]
    if not len(key):
        return key, begin, end
    room = int(end.max()) + 1  # so that pieces of two keys never touch
    reached = np.maximum.accumulate(end + key * room)
    is_first = np.append(True, begin[1:] + key[1:] * room > reached[:-1])
    first = np.flatnonzero(is_first)
    stops = reached[np.append(first[1:], len(key)) - 1] - key[first] * room
    return key[first], begin[first], stops
