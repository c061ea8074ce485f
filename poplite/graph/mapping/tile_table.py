"""The tile of every address, as sorted breaks, and views cut by tile.

    addresses    0        96     128        breaks  0, 96, 128
                 |--------|-------|
                 tile 0    no tile          tiles   0, NO_TILE

A `Cut` is a view together with such a table. It computes results on demand: the number of elements
on each tile takes one pass over the view and no memory; the list of those elements takes another
pass, and memory for the pieces.

    >>> table = TileTable(np.array([0, 2, 4]), np.array([1, 0]))
    >>> cut = cut_strided(table, [(2, 1), (2, 2)], 0)      # elements 0 2 1 3
    >>> cut.totals(2).tolist()                             # (pieces, elements): no tile, tiles 0, 1
    [[0, 0], [2, 2], [2, 2]]
    >>> [a.tolist() for a in cut.pieces(2)[1:]]
    [[1, 0, 1, 0], [1, 2, 3, 4]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, overlay
from poplite.errors import SizeOverflowError
from poplite.jit.kernels.tile_table import (
    cut_runs as cut_runs_kernel,
    cut_strided as cut_strided_kernel,
)
from poplite.jit.native import address, native

if TYPE_CHECKING:
    from poplite.arrays.digits import Digit

Int32 = npt.NDArray[np.int32]

NO_TILE = -1
"""Stands where a tile number is missing."""

CAREFREE_PIECES = 2**26
"""Up to this number, pieces get memory before they are counted: untouched pages cost nothing."""

MOST_PIECES = 2**28
"""Largest number of pieces that are listed; each takes 28 bytes."""


class TilePieces(Protocol):
    """The tiles of one variable's `num_elements` elements, as breaks and the tiles between them."""

    num_elements: int

    def pieces(self) -> tuple[Int64, Int32]:
        """Return all breaks, and the tile or `NO_TILE` between each two."""

    def pieces_within(self, begin: int, end: int) -> tuple[Int64, Int32]:
        """Return the pieces that have elements of `[begin, end)`."""


class TileTable:
    """The tiles of a range of addresses; never changed.

    Attributes:
        breaks: int64[m + 1], ascending.
        tiles: int32[m]; addresses `breaks[k]` to `breaks[k + 1]` are on `tiles[k]`.
        shift: each bucket holds `1 << shift` addresses, which makes about four buckets per break.
        buckets: int32[b + 1]; `buckets[i]` breaks are before bucket `i`.
    """

    __slots__ = ("breaks", "buckets", "shift", "tiles")

    def __init__(self, breaks: Int64, tiles: npt.NDArray[np.integer]) -> None:
        self.breaks, self.tiles = np.ascontiguousarray(breaks), tiles.astype(np.int32)
        addresses = int(breaks[-1] - breaks[0])
        self.shift = (addresses // (4 * len(breaks))).bit_length()
        most = (max(addresses - 1, 0) >> self.shift) + 1
        held = np.bincount((breaks[:-1] - breaks[0]) >> self.shift, minlength=most)
        self.buckets = np.empty(len(held) + 1, np.int32)
        self.buckets[0] = 0
        np.cumsum(held, out=self.buckets[1:])


def joined_table(mappings: Iterable[tuple[int, TilePieces]]) -> TileTable:
    """Make the table of several variables from `(base, mapping)` of each, by ascending base.

    Addresses between variables are on no tile.
    """
    breaks: list[npt.ArrayLike] = []
    tiles: list[npt.ArrayLike] = []
    for base, mapping in mappings:
        own_breaks, own_tiles = mapping.pieces()
        breaks.append(own_breaks + base)
        tiles += [own_tiles, [NO_TILE]]
    return TileTable(np.concatenate(breaks), np.concatenate(tiles[:-1]))


class Cut(NamedTuple):
    """A view and the table that cuts it.

    Attributes:
        table: the tiles.
        num_elements: elements of the view.
        most: an upper bound of the number of pieces.
        kernel: cuts the view.
        arguments: the first arguments of the kernel; it gets arrays by address.
    """

    table: TileTable
    num_elements: int
    most: int
    kernel: Callable[..., int]
    arguments: tuple[Int64 | int, ...]

    def totals(self, num_tiles: int) -> Int64:
        """Return the numbers of pieces and elements, int64[num_tiles + 1, 2].

        Row 0 is what has no tile, row `t + 1` is tile `t`.
        """
        return self._run(num_tiles, np.empty(0, np.int32), np.empty(0, np.int64))[0]

    def pieces(self, num_tiles: int) -> tuple[Int64, Int32, Int64]:
        """Return the totals, and `(tile, end)` of each piece in the order of the view.

        Neighbours differ in tile.
        """
        room = self.most
        if room > CAREFREE_PIECES:
            room = int(self.totals(num_tiles)[:, 0].sum())
        if room > MOST_PIECES:
            raise SizeOverflowError(
                f"the view changes tiles {room:,} times, more than {MOST_PIECES:,}",
                at=None,
                found=f"it has {self.num_elements:,} elements",
                fix="elements_per_tile and is_complete need no list; or ask for slices of the view",
            )
        tile, end = np.empty(room, np.int32), np.empty(room, np.int64)
        totals, count = self._run(num_tiles, tile, end)
        return totals, tile[:count], end[:count]

    def _run(self, num_tiles: int, tile: Int32, end: Int64) -> tuple[Int64, int]:
        table = self.table
        totals = np.zeros((num_tiles + 1, 2), np.int64)
        assert table.tiles.max() < num_tiles, "tiles are checked where they are set"
        arguments = [x if isinstance(x, int) else address(x) for x in self.arguments]
        places = (address(table.breaks), address(table.buckets), table.shift, address(table.tiles))
        room = (address(totals), address(tile), address(end), len(end))
        return totals, native(self.kernel)(*arguments, *places, *room)


def cut_strided(table: TileTable, digits: Sequence[Digit], first: int) -> Cut:
    """Cut a strided view of at least one element: its coalesced digits, outermost first."""
    run, rest = (digits[-1][0], digits[:-1]) if digits and digits[-1][1] == 1 else (1, digits)
    levels: list[int] = []
    low, high, size = 0, run - 1, run
    for extent, stride in reversed(rest):
        levels += [extent, stride, 0, low, high, size]
        low, high = (
            low + min(0, (extent - 1) * stride),
            high + max(0, (extent - 1) * stride),
        )
        size *= extent
    levels += [1, 0, 0, low, high, size]
    # A run has at most one piece for each break, and one for each element.
    most = size // run * min(run, len(table.tiles))
    return Cut(table, size, most, cut_strided_kernel, (np.array(levels), len(rest), first))


def cut_runs(table: TileTable, begin: Int64, length: Int64) -> Cut:
    """Cut runs of addresses, at least one, in the order of a view; `length` may be broadcast."""
    step = length.strides[0] // length.itemsize
    lengths = np.ascontiguousarray(length) if step > 1 else length
    total = int(length.sum())
    most = min(total, len(begin) * len(table.tiles))
    arguments = (np.ascontiguousarray(begin), lengths, min(step, 1), len(begin))
    return Cut(table, total, most, cut_runs_kernel, arguments)


def split(
    mappings: Sequence[tuple[int, TilePieces]], begin: Int64, length: Int64
) -> tuple[Int64, Int64, Int64]:
    """Cut a few runs of addresses where the tile changes.

    `mappings` has `(base, mapping)` of the variables touched: element `i` has the address
    `base + i`, and variables neither share nor touch addresses. Runs have at least one element.
    Returns `(tile, begin, length)` of the pieces, in the order of the runs.

    >>> from poplite.graph.mapping.variable_mapping import VariableMapping
    >>> mapping = VariableMapping(10)
    >>> mapping.paint(0, 4, 1)
    >>> [a.tolist() for a in split([(100, mapping)], np.array([102]), np.array([5]))]
    [[1, -1], [102, 104], [2, 3]]
    """
    if not len(begin):
        return begin, begin, length
    low, high = int(begin.min()), int((begin + length).max())
    breaks: list[Int64] = []
    tiles: list[npt.ArrayLike] = []
    for base, mapping in sorted(mappings, key=lambda pair: pair[0]):
        first, last = max(low - base, 0), min(high - base, mapping.num_elements)
        if first < last:
            own_breaks, own_tiles = mapping.pieces_within(first, last)
            breaks.append(own_breaks + base)
            tiles += [own_tiles, [NO_TILE]]
    _, segment, piece_begin, piece_end = overlay(begin, begin + length, np.concatenate(breaks))
    tile = np.concatenate(tiles)[segment].astype(np.int64)
    return tile, piece_begin, piece_end - piece_begin
