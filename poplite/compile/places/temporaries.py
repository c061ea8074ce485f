"""Copies to another place and back: into temporaries, and of memory that a fault must not change.

    x[0:4] x[8:12]      ->   t[0:8]       gather, save
    y[0:4] y[8:12]      <-   u[0:8]       scatter, restore

Where both sides are regular, no run is listed.
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Steps
from poplite.compile.copies import NO_MOVES, Side, copied_runs, copied_views
from poplite.executable.moves import Moves

_Columns = tuple[Int64, Int64, Int64]


class Swaps:
    """Collects copies, field by field, and turns them into moves."""

    def __init__(self) -> None:
        self._moves: tuple[list[Moves], list[Moves]] = [], []
        self._runs: tuple[list[_Columns], list[_Columns]] = [], []

    def add_regular(self, here: Steps, there: Steps, size: int, *, back: bool) -> bool:
        """Add elements at regular distances, and return whether that was possible.

        They are copied from `there` to `here`, and `back` where asked: positions in elements of
        `size` bytes from the start of the arena.
        """
        sides = _side(here, size), _side(there, size)
        into = copied_views(*sides, size)
        out = copied_views(*sides[::-1], size) if back else into
        if into is None or out is None:
            return False
        self._moves[0].append(into)
        if back:
            self._moves[1].append(out)
        return True

    def add_runs(self, here: Int64, there: Int64, size: Int64, *, back: bool) -> None:
        """Add runs that are copied from `there` to `here`, and `back` where asked.

        All are int64[runs]: first bytes, and bytes.
        """
        self._runs[0].append((here, there, size))
        if back:
            self._runs[1].append((here, there, size))

    def moves(self) -> tuple[Moves, Moves]:
        """Return the copies to the other place, and those back."""
        into, back = NO_MOVES, NO_MOVES
        if self._runs[0]:
            here, there, size = _joined(self._runs[0])
            into = copied_runs((here, size), (there, size))
        if self._runs[1]:
            here, there, size = _joined(self._runs[1])
            back = copied_runs((there, size), (here, size))
        return _together(into, self._moves[0]), _together(back, self._moves[1])


def _side(elements: Steps, size: int) -> Side:
    digits = [(extent, stride * size) for extent, stride in elements.digits if extent != 1]
    return elements.first * size, digits


def _joined(columns: list[_Columns]) -> _Columns:
    here, there, size = (np.concatenate(column) for column in zip(*columns, strict=True))
    return here, there, size


def _together(runs: Moves, views: list[Moves]) -> Moves:
    """Put moves of views behind those of runs, which alone have a list of pieces."""
    if not views:
        return runs
    if len(views) == 1 and not len(runs.records):
        return views[0]
    return Moves(np.concatenate([runs.records, *(each.records for each in views)]), runs.pieces)
