"""Copies piece by piece: what each brings from where to where, whole or in part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.compile.copies import copied_runs
from poplite.executable.moves import Moves, joined
from poplite.mpi.plan.runs import crossings

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CopiedPieces:
    """Pieces of bytes that are copied.

    Attributes:
        to: int64[pieces], first byte of each destination.
        start: int64[pieces], first byte of each source.
        size: int64[pieces], bytes.
    """

    to: Integers
    start: Integers
    size: Integers

    def __len__(self) -> int:
        return len(self.size)

    def chosen(self, which: npt.NDArray[np.bool_] | Integers) -> CopiedPieces:
        """Return some of the pieces."""
        return CopiedPieces(self.to[which], self.start[which], self.size[which])

    def cut_at_sources(self, starts: Integers, stops: Integers) -> tuple[CopiedPieces, Integers]:
        """Return what comes from some runs, and the number of the run of each piece."""
        found = crossings(self.start, self.start + self.size, starts, stops)
        before = found.begin - self.start[found.piece]
        to = self.to[found.piece] + before
        return CopiedPieces(to, found.begin, found.end - found.begin), found.run

    def cut_at_destinations(
        self, starts: Integers, stops: Integers
    ) -> tuple[CopiedPieces, Integers]:
        """Return what goes to some runs, and the number of the run of each piece."""
        there, run = CopiedPieces(self.start, self.to, self.size).cut_at_sources(starts, stops)
        return CopiedPieces(there.start, there.to, there.size), run

    def moves(self) -> Moves:
        """Return the copies in few rows."""
        return copied_runs((self.to, self.size), (self.start, self.size))


def reach(moves: Moves) -> tuple[Integers, Integers, Integers, Integers]:
    """Return first byte and the byte after the last of each record: of destination and source."""
    records = moves.records
    if not len(records):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    found = []
    to, start, rows, size, far, near = records.T
    for first, step in ((to, far), (start, near)):
        across = np.where(size == 0, 0, (rows - 1) * step)
        found += [first + np.minimum(across, 0), first + np.maximum(across, 0) + size]
    for record in np.flatnonzero(size == 0).tolist():
        listed = moves.pieces[far[record] : far[record] + rows[record]].astype(np.int64)
        for side, first in enumerate((to, start)):
            found[2 * side + 1][record] = first[record] + (listed[:, side] + listed[:, 2]).max()
    return found[0], found[1], found[2], found[3]


def together(*several: Moves) -> Moves:
    """Return several copies as one."""
    return joined(several)
