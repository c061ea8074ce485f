"""Copies on tiles: a vector that a vertex reads, but that lies in several places, is gathered.

    on its tile              . . . a a a . . . b b b . . .      columns of a block
    from elsewhere           c                 d                a halo
                                  c a a a d b b b               what `self.x` is

Exchange puts elements from other tiles directly in their places.  The others are copied, row by
row, each time before the compute set runs; what a vertex writes to several places is copied back
after it has run.  A vector in one place costs nothing, and neither does one that comes entirely
from other tiles.

    cycles of a tile = call of its workers + cycles per row + bytes / 8

Single elements at even distances are one strided copy.  With one fitted constant, the cycles per
row, the model is within 6 % of the four copies on the largest tile of a Gaussian blur
(thorbenlouw/lbm-graphcore, experiments: 282 rows of up to 10 pixels gathered for six workers that
share 45 columns, and 282 of 8 scattered) and of two copies measured alone (ipu-stack, cost.rs: 8 B,
8 KiB).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.step_cost import NOTHING, PhaseCost
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import Cause

if TYPE_CHECKING:
    from poplite.machine.target import Target

_Bytes = TypeVar("_Bytes", int, Int64)


class CopiedRows(NamedTuple):
    """Copies on tiles, row by row.

    Attributes:
        tile: int64[n], the tile.
        group: int64[n], a number for rows that belong together, which follow each other.
        at: int64[n], the place where each row lies.
        into: int64[n], the place where it is put, on the same scale as `at`.
        size: int64[n], elements.
        width: int64[n], bytes of an element.
    """

    tile: Int64
    group: Int64
    at: Int64
    into: Int64
    size: Int64
    width: Int64

    @property
    def bytes(self) -> Int64:
        """int64[n], the bytes of each row."""
        return self.size * self.width


def joined_rows(several: Sequence[CopiedRows]) -> CopiedRows:
    """Return the rows of several fields."""
    numbers = np.cumsum([0, *(int(rows.group.max()) + 1 for rows in several)])
    distinct = [
        rows._replace(group=rows.group + number)
        for rows, number in zip(several, numbers.tolist(), strict=False)
    ]
    return CopiedRows(*(np.concatenate(column) for column in zip(*distinct, strict=True)))


def copy_phase(
    target: Target, rows: CopiedRows, causes: tuple[Cause, ...], buffers: PerTile = NOTHING
) -> PhaseCost:
    """Return the phase in which rows are copied; `buffers` are bytes to gather them in."""
    num_bytes = _sums(rows.tile, rows.bytes, target.tiles)
    cycles = _sums(rows.tile, cycles_of(target, rows), target.tiles)
    cycles[num_bytes > 0] += _row_costs(target)[0]
    return PhaseCost(
        "copy", PerTile.of(cycles), copied=PerTile.of(num_bytes), buffers=buffers, causes=causes
    )


def cycles_of(target: Target, rows: CopiedRows) -> Int64:
    """Return int64[n], the cycles of each row.

    >>> from poplite.machine.target import Target
    >>> one = np.ones(4, np.int64)                   # four floats of a column, then a row of four
    >>> column = CopiedRows(one, one, 100 * np.arange(4), np.arange(4), one, 4 * one)
    >>> cycles_of(Target(), column).tolist()
    [10, 2, 2, 2]
    >>> row = CopiedRows(one[:1], one[:1], one[:1], one[:1], 4 * one[:1], 4 * one[:1])
    >>> cycles_of(Target(), row).tolist()
    [11]
    """
    num_bytes = rows.bytes
    separate = _row_cycles(target, num_bytes)
    word = int(target.cost("data_path_bytes"))
    alike = np.zeros(len(num_bytes), np.bool_)
    alike[1:] = (num_bytes[1:] <= word) & (num_bytes[1:] == num_bytes[:-1])
    alike[1:] &= (rows.group[1:] == rows.group[:-1]) & (rows.tile[1:] == rows.tile[:-1])
    # The first two rows of a series set its distances; the others must have the same.
    steps, paces = np.diff(rows.at), np.diff(rows.into)
    goes_on = alike.copy()
    goes_on[2:] &= (steps[1:] == steps[:-1]) & (paces[1:] == paces[:-1]) | ~alike[1:-1]
    strided = -(-word // int(target.cost("strided_copy_bytes_per_cycle")))
    return np.where(goes_on, strided, separate)


def one_row_cycles(target: Target, num_bytes: int) -> int:
    """Return the cycles in which a tile copies one row of so many bytes."""
    return _row_costs(target)[0] + _row_cycles(target, num_bytes)


def _row_cycles(target: Target, num_bytes: _Bytes) -> _Bytes:
    """Return the cycles of rows by themselves, without the call of workers."""
    _, piece, bytes_per_cycle = _row_costs(target)
    return piece - (-num_bytes // bytes_per_cycle)


@lru_cache(maxsize=8)
def _row_costs(target: Target) -> tuple[int, int, int]:
    names = "worker_call", "copy_piece_cycles", "memcpy_bytes_per_cycle"
    call, piece, bytes_per_cycle = (int(target.cost(name)) for name in names)
    return call, piece, bytes_per_cycle


def _sums(tile: Int64, values: Int64, num_tiles: int) -> Int64:
    return np.bincount(tile, values, num_tiles).astype(np.int64)
