"""Which rank owns each byte of the arena, and runs each vertex.

    tiles        0 ... 367          368 ... 735        736 ... 1471
    ranks        0                  1                  2
    variables    by the tiles of their elements
    blocks       0: what the host reads and writes
    constants    everyone's, as they never change; state of vertices too

An element has one true place, which is its owner's arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.executable.layout import ArenaLayout, StoredVariable
from poplite.executable.step import Origins

Integers = npt.NDArray[np.int64]

EVERYONE = -1
"""In place of a rank: each has its own copy, which never changes."""

HOST = 0
"""The rank of the host, which also owns what has no tile."""


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The owner of every byte in front of the temporaries.

    Attributes:
        begin: int64[runs], first byte of each run; all up to the next one have one owner.
        rank: int64[runs], their owner.
        end: the byte after all.
        cut: the first tile of each rank but the first, rising.
    """

    begin: Integers
    rank: Integers
    end: int
    cut: Integers

    @property
    def stops(self) -> Integers:
        """The byte after each run: int64[runs]."""
        return np.append(self.begin[1:], self.end)

    @property
    def num_ranks(self) -> int:
        """Number of ranks."""
        return len(self.cut) + 1

    def runs_of(self, rank: int) -> tuple[Integers, Integers]:
        """Return begin and end of the runs that a rank owns, or has its own copy of."""
        own = (self.rank == rank) | (self.rank == EVERYONE)
        return self.begin[own], self.stops[own]

    def hold(self, rank: Integers, begin: Integers, end: Integers) -> npt.NDArray[np.bool_]:
        """Tell which runs of bytes lie within what their ranks own, or have their own copy of."""
        run = np.searchsorted(self.begin, begin, side="right") - 1
        owner = self.rank[run]
        return np.asarray((end <= self.stops[run]) & ((owner == rank) | (owner == EVERYONE)))

    def of_byte(self, position: int) -> int:
        """Return the owner of one byte."""
        return int(self.rank[np.searchsorted(self.begin, position, side="right") - 1])

    def of_vertices(self, origins: Origins) -> Integers:
        """Return the rank of each vertex of a compute set, int64[vertices]."""
        return ranks_of(origins.tile_of.array(), self.cut)


def owners_of(layout: ArenaLayout, cut: Sequence[int]) -> Owners:
    """Return the owners of the bytes of an arena; `cut` is the first tile of ranks 1, 2, ..."""
    firsts = np.array(cut, np.int64)
    bases = layout.byte_positions(np.array([v.base for v in layout.variables], np.int64))
    begins, ranks = [np.zeros(1, np.int64)], [np.full(1, HOST)]
    for variable, base in zip(layout.variables, bases.tolist(), strict=True):
        if variable.num_elements:
            first, rank = _pieces(variable, firsts)
            begins.append(base + first * variable.element_type.size_bytes)
            ranks.append(rank)
    blocks = layout.blocks
    begins.append(np.array([blocks.start, blocks.stop]))
    ranks.append(np.array([HOST, EVERYONE]))
    begin, rank = np.concatenate(begins), np.concatenate(ranks)
    # Of runs without bytes, the last one says who owns what comes next.
    is_last = np.append(begin[1:] > begin[:-1], True)
    begin, rank = begin[is_last], rank[is_last]
    changes = np.append(True, rank[1:] != rank[:-1])
    return Owners(begin[changes], rank[changes], layout.temporary_base, firsts)


def _pieces(variable: StoredVariable, cut: Integers) -> tuple[Integers, Integers]:
    """Return the first element and the rank of each piece of a variable."""
    if variable.constant:
        return np.zeros(1, np.int64), np.full(1, EVERYONE)
    if variable.pieces is None:
        return np.zeros(1, np.int64), np.full(1, HOST)
    tile = variable.pieces.tile.array()
    return variable.pieces.first.array(), np.where(tile < 0, HOST, ranks_of(tile, cut))


def ranks_of(tiles: Integers, cut: Integers) -> Integers:
    """Return the ranks that own tiles.

    >>> ranks_of(np.array([0, 5, 3]), np.array([3, 5])).tolist()
    [0, 2, 1]
    """
    return np.searchsorted(cut, tiles, side="right")
