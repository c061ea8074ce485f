"""Ranges of outputs, and which tile joins the elements of which of them.

The pieces that are joined at once form a *group*: those on one tile, or on several, or all.  Within
a group outputs fall into *ranges*, cut where the set of pieces that hold elements of them changes::

    pieces of a group        [------)              ranges           0   1   2
                                [--------)         pieces of each   1   2   1

A range is dealt out to the tiles of its pieces, or to those where its outputs are wanted.  Where
its group has all elements of its outputs, what comes out are these; otherwise partial results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, distinct
from poplite.ops.reduce.pieces import OutputPieces, joined, repeated

Mask = npt.NDArray[np.bool_]


class Ranges(NamedTuple):
    """Ranges of outputs, each with the pieces that hold elements of it.

    Attributes:
        low: int64[n], the first output.
        high: int64[n], one past the last.
        ptr: int64[n + 1], range `r` has the pieces `ptr[r]` up to `ptr[r + 1]`.
        pieces: cut to the ranges, in the order of their elements.
    """

    low: Int64
    high: Int64
    ptr: Int64
    pieces: OutputPieces

    @property
    def rows(self) -> Int64:
        """int64[n], how many rows of elements each range has."""
        return np.add.reduceat(self.pieces.rows, self.ptr[:-1])

    def followed_by(self, other: Ranges) -> Ranges:
        """Return these ranges and others, which come behind them."""
        return Ranges(
            np.append(self.low, other.low),
            np.append(self.high, other.high),
            np.append(self.ptr, self.ptr[-1] + other.ptr[1:]),
            joined([self.pieces, other.pieces]),
        )


def ranges_of(pieces: OutputPieces, group: Int64) -> tuple[Ranges, Mask]:
    """Find the ranges of each group, and which of them have all elements of their outputs.

    Args:
        pieces: what is left to be joined.
        group: int64[pieces], the group of each.

    >>> numbers = [0, 0, 1], [0, 2, 5], [4, 6, 7], [0, 4, 8], [1, 1, 1]
    >>> three = OutputPieces(*map(np.array, numbers))
    >>> found, is_whole = ranges_of(three, three.tile)
    >>> found.low.tolist(), found.high.tolist(), is_whole.tolist()
    ([0, 2, 4, 5, 5, 6], [2, 4, 5, 6, 6, 7], [True, True, True, False, False, True])
    """
    if not len(group):
        return Ranges(group, group, np.zeros(1, np.int64), pieces), np.zeros(0, np.bool_)
    found = _cut(pieces, group)
    one = np.ones_like(found.low)
    at, groups = OutputPieces(one, found.low, found.high, one, one).elements_by_output()
    changes = at[1:][np.diff(groups == 1)]
    if (np.searchsorted(changes, found.low, "right") < np.searchsorted(changes, found.high)).any():
        pieces, source = pieces.cut(changes)
        found = _cut(pieces, group[source])
    return found, groups[np.searchsorted(at, found.low, "right") - 1] == 1


def _cut(pieces: OutputPieces, group: Int64) -> Ranges:
    base = group * (int(pieces.high.max()) + 1)
    cuts = distinct(np.r_[base + pieces.low, base + pieces.high])
    first = np.searchsorted(cuts, base + pieces.low)
    source, copy = repeated(np.searchsorted(cuts, base + pieces.high) - first)
    number = first[source] + copy
    low, high = cuts[number] - base[source], cuts[number + 1] - base[source]
    begin = pieces.begin[source] + low - pieces.low[source]
    order = np.lexsort((begin, number))
    heads = np.flatnonzero(np.diff(number[order], prepend=-1))
    parts = OutputPieces(pieces.tile[source], low, high, begin, pieces.rows[source]).take(order)
    return Ranges(parts.low[heads], parts.high[heads], np.append(heads, len(order)), parts)


class RangeParts(NamedTuple):
    """Parts of ranges, each dealt to a tile; all int64[n] but the last.

    Attributes:
        range: which range it is a part of.
        tile: which tile joins its elements.
        low: the first output.
        high: one past the last.
        is_here: bool[n], whether all its elements are on that tile.
    """

    range: Int64
    tile: Int64
    low: Int64
    high: Int64
    is_here: Mask

    def followed_by(self, other: RangeParts) -> RangeParts:
        """Return these parts and others."""
        return RangeParts(*(np.concatenate(columns) for columns in zip(self, other, strict=True)))


def cut(width: Int64, part: Int64, parts: Int64, grain: int | Int64) -> Int64:
    """Return where parts of outputs begin that are cut evenly, at multiples of the grain.

    >>> cut(np.array([26] * 4), np.arange(4), np.array([3] * 4), 4).tolist()
    [0, 8, 16, 26]
    """
    found: Int64 = np.minimum(-(-width // grain) * part // parts * grain, width)
    return found


def dealt(found: Ranges, chosen: Int64, least: int, grain: int, home: Int64 | None) -> RangeParts:
    """Deal ranges out to tiles.

    Args:
        found: the ranges.
        chosen: int64[k], the numbers of those that are dealt out.
        least: elements for which it is worth to take one more tile.
        grain: outputs that stay together, where there are so many.
        home: int64[ranges], the tile of each; left out, the tiles of its pieces get equal parts.

    >>> two = OutputPieces(*(np.array(k) for k in ([4, 7], [0, 0], [6, 6], [0, 6], [1, 1])))
    >>> parts = dealt(ranges_of(two, np.array([0, 0]))[0], np.array([0]), 6, 1, None)
    >>> parts.tile.tolist(), parts.low.tolist(), parts.high.tolist()
    ([4, 7], [0, 3], [3, 6])
    """
    of, _ = repeated(np.diff(found.ptr))
    order = np.lexsort((found.pieces.tile, of))
    of, tile = of[order], found.pieces.tile[order]
    new = np.append(True, (np.diff(of) != 0) | (np.diff(tile) != 0))
    of, tile = of[new], tile[new]  # the tiles of each range, once
    first = np.searchsorted(of, np.arange(len(found.low) + 1))
    tiles, width = np.diff(first)[chosen], (found.high - found.low)[chosen]
    count = np.ones_like(tiles)
    if home is None:
        count = found.rows[chosen] * width // least
        count = np.clip(count, 1, np.minimum(tiles, -(-width // grain)))
    source, copy = repeated(count)
    number, parts, width = chosen[source], count[source], width[source]
    # Where there are fewer outputs than tiles, ranges begin with different ones.
    turn = (found.low[number] + copy) % tiles[source]
    to = tile[first[number] + turn] if home is None else home[number]
    low, high = (found.low[number] + cut(width, copy + k, parts, grain) for k in (0, 1))
    is_here = (tiles[source] == 1) & (tile[first[number]] == to)
    return RangeParts(number, to, low, high, is_here)
