"""What moves between tiles: stretches of memory, each with the tiles that it leaves and reaches.

x on tiles 0 0 0 1 1 1      a vertex of tile 1 reads x[1:5]     piece 0 -> 1   x[1:3]
and has                    x[3:5]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order, sorted_with_order

Mask = npt.NDArray[np.bool_]


class MovedPieces(NamedTuple):
    """Stretches of elements that move, each in one go.

    Attributes:
        source: int64[n], the tile that each leaves.
        to: int64[n], the tile that it reaches; ascending, and in the order in which it lies there.
        at: int64[n], the place of the first element (`poplite.cost.exchange.locations`).
        size: int64[n], elements, at least one.
        width: int64[n], bytes of an element.
        jumps: bool[n], whether it does not land directly behind the previous piece; the first piece
            that reaches a tile never does.
    """

    source: Int64
    to: Int64
    at: Int64
    size: Int64
    width: Int64
    jumps: Mask

    def ordered(self, order: Int64) -> MovedPieces:
        """Return the pieces with these numbers, in this order."""
        return MovedPieces._make(column[order] for column in self)

    def kept(self, chosen: Mask) -> MovedPieces:
        """Return some of the pieces, bool[n]; one that lands behind an omitted one jumps."""
        kept = MovedPieces._make(column[chosen] for column in self)
        behind = np.zeros(len(chosen), np.bool_)
        behind[1:] = ~chosen[:-1] & (self.to[1:] == self.to[:-1])
        return kept._replace(jumps=kept.jumps | behind[chosen])

    @property
    def bytes(self) -> Int64:
        """int64[n], the bytes of each piece."""
        return self.size * self.width

    def merged(self) -> MovedPieces:
        """Return fragments: pieces joined where they leave in one stretch and land in one."""
        goes_on = np.zeros(len(self.to), np.bool_)
        if len(self.to) > 1:
            behind = self.at[1:] == self.at[:-1] + self.size[:-1]
            alike = (self.source[1:] == self.source[:-1]) & (self.to[1:] == self.to[:-1])
            goes_on[1:] = behind & alike & (self.width[1:] == self.width[:-1]) & ~self.jumps[1:]
        if not goes_on.any():
            return self
        first = np.flatnonzero(~goes_on)
        return self.ordered(first)._replace(size=np.add.reduceat(self.size, first))


def joined(several: Sequence[MovedPieces]) -> MovedPieces:
    """Return pieces of several fields by receiving tile; a tile receives an element once."""
    if len(several) == 1:
        return several[0]
    every = MovedPieces._make(np.concatenate(column) for column in zip(*several, strict=True))
    order, fresh = by_place(every.to, every.at, every.size)
    every = every.ordered(order)
    every = every._replace(at=every.at + every.size - fresh, size=fresh)
    return by_source(MovedPieces._make(column[fresh > 0] for column in every))


def by_source(pieces: MovedPieces) -> MovedPieces:
    """Return pieces in an order in which a receiver seldom turns to another source."""
    if not len(pieces.to):
        return pieces
    order = sorted_order(pieces.to * (int(pieces.source.max()) + 1) + pieces.source)
    return pieces.ordered(order)


def by_place(tile: Int64, at: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return runs in the order of tiles and places, and what is new in each.

    `tile`, `at` (first places) and `size` (elements, at least one) are int64[n]. Returns the order,
    and for each run in that order the number of its last elements that no run before it has.

    >>> by_place(np.array([1, 0, 1]), np.array([6, 6, 4]), np.array([4, 2, 3]))[1].tolist()
    [2, 3, 3]
    """
    span = int((at + size).max()) + 1
    begin, order = sorted_with_order(tile * span + at)
    end = begin + size[order]
    fresh = end - begin
    furthest = np.maximum.accumulate(end)
    fresh[1:] = np.maximum(end[1:] - np.maximum(begin[1:], furthest[:-1]), 0)
    return order, fresh


def sent_home(pieces: MovedPieces) -> MovedPieces:
    """Return pieces, each element read by one tile, that go back to where they came from."""
    if not len(pieces.to):
        return pieces
    back = pieces._replace(source=pieces.to, to=pieces.source)
    back = back.ordered(by_place(back.to, back.at, back.size)[0])
    jumps = np.ones(len(back.to), np.bool_)
    jumps[1:] = (back.to[1:] != back.to[:-1]) | (back.at[1:] != (back.at + back.size)[:-1])
    return back._replace(jumps=jumps)
