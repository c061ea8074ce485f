"""Data that move between tiles: stretches of memory, each from one tile to another.

A piece goes to a tile that touches elements which it does not have::

    x on tiles 0 0 0 1 1 1      a vertex of tile 1 reads x[1:5]     piece 0 -> 1   x[1:3]
                                and has x[3:5]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact
from poplite.arrays.sweep import sorted_order, sorted_with_order
from poplite.cost.step_cost import at_few, at_tile, times
from poplite.report.execution import TilePairs
from poplite.report.per_tile import PerTile

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
    """Return runs in the order of tiles and places, and the new part of each.

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


# -- bytes from tile to tile -----------------------------------------------------------------------
#
#     pieces   5 words 0 -> 2, 3 words 0 -> 2, 5 words 0 -> 7        in one exchange
#     pairs    32 B 0 -> 2, 20 B 0 -> 7
#
# A word that one tile sends to several others is sent once, but counted for each of them here: a
# tile receives the sum over its sources, and may send less than the sum over its destinations.
# Of very many pairs only sums over blocks of tiles and the largest pairs are kept.


MOST_PAIRS = 10_000
"""Most pairs of tiles that are kept."""

MOST_BLOCKS = 64
"""Most blocks of tiles, where there are more pairs."""

LARGEST = 50
"""Largest pairs that are kept beside blocks."""


class PairSums:
    """Adds up the bytes of pieces by pair of tiles; those that stay on their tile do not count.

    >>> sums = PairSums(8)
    >>> source, to = np.array([0, 0, 0]), np.array([2, 2, 7])
    >>> four = np.array([4, 4, 4])
    >>> sums.add(MovedPieces(source, to, four, np.array([5, 3, 5]), four, source == 0))
    >>> [column.tolist() for column in sums.pairs().columns()]
    [[2, 7], [0, 0], [32, 20]]
    """

    def __init__(self, num_tiles: int) -> None:
        self._num_tiles = num_tiles
        self._keys: list[Int64] = []
        self._bytes: list[Int64] = []

    def add(self, pieces: MovedPieces) -> None:
        """Add pieces that move within a replica."""
        moves = pieces.to != pieces.source
        self.add_moving(pieces if moves.all() else pieces.kept(moves))

    def add_moving(self, pieces: MovedPieces) -> None:
        """Add pieces that all move, be it to the same tile of another replica."""
        key, size = _summed(pieces.to * self._num_tiles + pieces.source, pieces.bytes)
        self._keys.append(key)
        self._bytes.append(size)

    def pairs(self) -> TilePairs | None:
        """Return what was added; None for nothing."""
        if not self._keys:
            return None
        key, size = self._keys[0], self._bytes[0]
        if len(self._keys) > 1:
            key, size = _summed(np.concatenate(self._keys), np.concatenate(self._bytes))
        return _kept(self._num_tiles, key, size)


def pairs_of_few(num_tiles: int, pieces: Iterable[Sequence[int]]) -> TilePairs | None:
    """Return the pairs of a few pieces: source, to, and bytes of each; None for no pairs."""
    sums: dict[int, int] = {}
    for source, to, size in pieces:
        if source != to:
            key = to * num_tiles + source
            sums[key] = sums.get(key, 0) + size
    if not sums:
        return None
    if len(sums) == 1:
        ((key, total),) = sums.items()
        return TilePairs(1, at_tile(num_tiles**2, key, total))
    keys = sorted(sums)
    return TilePairs(1, at_few(num_tiles**2, keys, [sums[key] for key in keys]))


def sum_of_pairs(num_tiles: int, parts: Iterable[TilePairs | None]) -> TilePairs | None:
    """Return the sum of pairs of parts of one exchange, that are kept alike or in blocks."""
    several = [each for each in parts if each is not None]
    if not several:
        return None
    block = max(each.block for each in several)
    blocks = -(-num_tiles // block)
    keys, sizes = [], []
    for each in several:
        to, source, size = each.columns()
        if each.block < block:
            to, source = to // block, source // block
        keys.append(to * blocks + source)
        sizes.append(size)
    key, size = _summed(np.concatenate(keys), np.concatenate(sizes))
    if block == 1:
        return _kept(num_tiles, key, size)
    largest = sorted((pair for each in several for pair in each.largest), key=lambda p: -p[2])
    return TilePairs(block, _of_blocks(blocks, key, size), tuple(largest[:LARGEST]))


def pairs_of_several(pairs: TilePairs, factor: int) -> TilePairs | None:
    """Return the bytes of several executions; None for none."""
    if not factor:
        return None
    largest = tuple((source, to, size * factor) for source, to, size in pairs.largest)
    return TilePairs(pairs.block, times(pairs.bytes, factor), largest)


def _summed(key: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return each key once, ascending, with the sum of its sizes."""
    if not len(key):
        return key, size
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")  # fast on keys that are nearly in order
        key, size = key[order], size[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return key[first], np.add.reduceat(size, first)


def _kept(num_tiles: int, key: Int64, size: Int64) -> TilePairs | None:
    """Return pairs as they are kept, from ascending keys."""
    if not len(key):
        return None
    if len(key) <= MOST_PAIRS:
        return TilePairs(1, _of_blocks(num_tiles, key, size))
    to, source = np.divmod(key, num_tiles)
    most = np.argsort(-size, kind="stable")[:LARGEST]
    columns = (column[most].tolist() for column in (source, to, size))
    block = -(-num_tiles // MOST_BLOCKS)
    blocks = -(-num_tiles // block)
    key, size = _summed(to // block * blocks + source // block, size)
    largest = tuple(zip(*columns, strict=True))
    return TilePairs(block, _of_blocks(blocks, key, size), largest)


def _of_blocks(blocks: int, key: Int64, size: Int64) -> PerTile:
    return PerTile(blocks * blocks, compact(key), compact(size))
