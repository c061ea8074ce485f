"""What moves from tile to tile: stretches of memory, each with the tile it leaves and reaches.

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


class Pieces(NamedTuple):
    """Stretches of elements that move, each at once.

    Attributes:
        source: int64[n], the tile that each leaves.
        to: int64[n], the tile that it reaches; rising, and in the order in which it lies there.
        at: int64[n], the place of the first element (`poplite.cost.exchange.locations`).
        size: int64[n], elements, at least one.
        width: int64[n], bytes of an element.
        jumps: bool[n], whether it does not land right behind the piece before it; the first that
            reaches a tile does not in any case.
    """

    source: Int64
    to: Int64
    at: Int64
    size: Int64
    width: Int64
    jumps: Mask

    def ordered(self, order: Int64) -> Pieces:
        """Return them in another order.

        Args:
            order: int64[n], their numbers.
        """
        return Pieces._make(column[order] for column in self)

    def kept(self, chosen: Mask) -> Pieces:
        """Return some of them; one that lands behind one that is left out jumps.

        Args:
            chosen: bool[n].
        """
        kept = Pieces._make(column[chosen] for column in self)
        behind = np.zeros(len(chosen), np.bool_)
        behind[1:] = ~chosen[:-1] & (self.to[1:] == self.to[:-1])
        return kept._replace(jumps=kept.jumps | behind[chosen])

    @property
    def bytes(self) -> Int64:
        """int64[n], of each."""
        return self.size * self.width

    def merged(self) -> Pieces:
        """Return the fragments: what leaves a tile in one stretch and lands in one."""
        goes_on = np.zeros(len(self.to), np.bool_)
        if len(self.to) > 1:
            behind = self.at[1:] == self.at[:-1] + self.size[:-1]
            alike = (self.source[1:] == self.source[:-1]) & (self.to[1:] == self.to[:-1])
            goes_on[1:] = behind & alike & (self.width[1:] == self.width[:-1]) & ~self.jumps[1:]
        if not goes_on.any():
            return self
        first = np.flatnonzero(~goes_on)
        return self.ordered(first)._replace(size=np.add.reduceat(self.size, first))


def joined(several: Sequence[Pieces]) -> Pieces:
    """Return pieces together, by the tile that they reach, each element once.

    Args:
        several: at least one; of each, a tile receives an element once.
    """
    if len(several) == 1:
        return several[0]
    every = Pieces._make(np.concatenate(column) for column in zip(*several, strict=True))
    order, fresh = by_place(every.to, every.at, every.size)
    every = every.ordered(order)
    every = every._replace(at=every.at + every.size - fresh, size=fresh)
    return by_source(Pieces._make(column[fresh > 0] for column in every))


def by_source(pieces: Pieces) -> Pieces:
    """Return pieces in an order in which a receiver seldom turns to another source.

    Args:
        pieces: by the tile that they reach; those that jump do so in any order.
    """
    if not len(pieces.to):
        return pieces
    order = sorted_order(pieces.to * (int(pieces.source.max()) + 1) + pieces.source)
    return pieces.ordered(order)


def by_place(tile: Int64, at: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return runs in the order of tiles and places, and what is new in each.

    Args:
        tile: int64[n], from 0.
        at: int64[n], first places.
        size: int64[n], elements, at least one.

    Returns:
        The order, and of each run in that order the elements that none before it has on its tile;
        they are its last ones.

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


def sent_home(pieces: Pieces) -> Pieces:
    """Return the pieces that go back to where elements live.

    Args:
        pieces: that came from there, each element to one tile.
    """
    if not len(pieces.to):
        return pieces
    back = pieces._replace(source=pieces.to, to=pieces.source)
    back = back.ordered(by_place(back.to, back.at, back.size)[0])
    jumps = np.ones(len(back.to), np.bool_)
    jumps[1:] = (back.to[1:] != back.to[:-1]) | (back.at[1:] != (back.at + back.size)[:-1])
    return back._replace(jumps=jumps)
