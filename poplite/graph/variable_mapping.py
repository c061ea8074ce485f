"""The tile mapping of one variable, edited by painting.

A mapping is stored as sorted breaks with one tile between neighbours, so that its size depends on
the distribution of the elements, not on their number; a linear spread is the three numbers of
`Linear`.

Setting a mapping only appends to a log. The log is painted over the breaks when the mapping is
read, the last writer on top, so that 10^6 edits cost one sort.

    >>> mapping = VariableMapping(10)
    >>> mapping.paint(0, 10, 1)
    >>> mapping.paint(4, 6, 0)
    >>> [a.tolist() for a in mapping.pieces()]
    [[0, 4, 6, 10], [1, 0, 1]]

A `TileTable` lists the tile of every address of some variables, in the same form::

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

Semantics: Poplar API reference, `Graph::setTileMapping`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, Interval, merge, overlay, paint, sorted_order
from poplite.errors import SizeOverflowError
from poplite.jit.build import address, native
from poplite.jit.kernels_tiles import cut_runs as cut_runs_kernel, cut_strided as cut_strided_kernel

if TYPE_CHECKING:
    from poplite.arrays.series import Digit


Int32 = npt.NDArray[np.int32]

NO_TILE = -1
"""Marks a missing tile number."""

CAREFREE_PIECES = 2**26
"""Number of pieces up to which memory is reserved without counting: untouched pages are free."""

MOST_PIECES = 2**28
"""Maximum number of pieces that are listed; each takes 28 bytes."""


class TileTable:
    """The tiles of a range of addresses; immutable.

    Attributes:
        breaks: int64[m + 1], ascending.
        tiles: int32[m]; addresses `breaks[k]` to `breaks[k + 1]` are on `tiles[k]`.
        shift: each bucket has `1 << shift` addresses, which gives about four buckets per break.
        buckets: int32[b + 1]; `buckets[i]` breaks are before bucket `i`.
    """

    __slots__ = ("breaks", "buckets", "shift", "tiles")
    breaks: Int64
    tiles: npt.NDArray[np.int32]

    def __init__(self, breaks: Int64, tiles: npt.NDArray[np.integer]) -> None:
        self.breaks, self.tiles = np.ascontiguousarray(breaks), tiles.astype(np.int32)
        addresses = int(breaks[-1] - breaks[0])
        self.shift: int = (addresses // (4 * len(breaks))).bit_length()
        count = (max(addresses - 1, 0) >> self.shift) + 1
        per_bucket = np.bincount((breaks[:-1] - breaks[0]) >> self.shift, minlength=count)
        self.buckets: npt.NDArray[np.int32] = np.empty(len(per_bucket) + 1, np.int32)
        self.buckets[0] = 0
        np.cumsum(per_bucket, out=self.buckets[1:])


def joined_table(mappings: Iterable[tuple[int, VariableMapping]]) -> TileTable:
    """Build the table for several variables from their `(base, mapping)`, by ascending base.

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
        kernel: the function that cuts the view.
        arguments: the first arguments of the kernel, which takes arrays by address.
    """

    table: TileTable
    num_elements: int
    most: int
    kernel: Callable[..., int]
    arguments: tuple[Int64 | int, ...]

    def totals(self, num_tiles: int) -> Int64:
        """Return the numbers of pieces and elements, int64[num_tiles + 1, 2].

        Row 0 is for elements without a tile, row `t + 1` for tile `t`.
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
                fix="use elements_per_tile or is_complete, which need no list, or slice the view",
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
    # A run has at most one piece per break, and at most one per element.
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
    mappings: Sequence[tuple[int, VariableMapping]], begin: Int64, length: Int64
) -> tuple[Int64, Int64, Int64]:
    """Cut a few runs of addresses where the tile changes.

    `mappings` contains the `(base, mapping)` of each variable that is accessed: element `i` has the
    address `base + i`, and no two variables have equal or adjacent addresses. Runs have at least
    one element. Returns `(tile, begin, length)` of the pieces, in the order of the runs.

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


class VariableMapping:
    """The tiles of one variable's elements, edited by painting.

    `tile` is the tile of all elements, or `NO_TILE`; `version` is the counter of the graph.
    """

    __slots__ = (
        "_below",
        "_log",
        "_mapped",
        "_table",
        "_version",
        "_whole",
        "num_elements",
    )

    def __init__(
        self, num_elements: int, version: Version | None = None, tile: int = NO_TILE
    ) -> None:
        self.num_elements: int = num_elements
        # One tile (or `NO_TILE`) for all elements, a linear spread, or breaks and tiles.
        self._below: int | Linear | tuple[Int64, Int32] = tile
        self._whole: tuple[Int64, Int32] | None = None  # the only piece, if all are on one tile
        self._log: array[int] | None = None
        self._table: TileTable | None = None
        self._mapped: npt.NDArray[np.bool_] | None = None
        self._version = Version() if version is None else version

    def paint(self, begin: int, end: int, tile: int) -> None:
        """Put elements `[begin, end)` on one tile."""
        if begin == 0 and end == self.num_elements:
            self._replace(tile)
            return
        log = self._log
        if log is None:
            log = self._opened()
        log.extend((begin, end, tile))
        if self._mapped is not None:
            self._mapped[begin:end] = True

    def paint_runs(self, begin: Iterable[int], length: Iterable[int], tile: int) -> None:
        """Put a few intervals on one tile."""
        log = self._log
        if log is None:
            log = self._opened()
        for first, count in zip(begin, length, strict=True):
            log.extend((first, first + count, tile))
            if self._mapped is not None:
                self._mapped[first : first + count] = True

    def paint_many(self, begin: Int64, end: Int64, tile: Int64) -> None:
        """Put many intervals on tiles, in order: all three arrays are int64[n]."""
        rows = np.stack([begin, end, tile], axis=1).astype(np.int64, copy=False)
        (self._log if self._log is not None else self._opened()).frombytes(rows.view(np.uint8).data)
        if self._mapped is not None:
            length = end - begin
            first = np.repeat(begin - np.cumsum(length) + length, length)
            self._mapped[first + np.arange(len(first))] = True

    def paint_linearly(self, linear: Linear) -> None:
        """Spread all elements evenly and in order."""
        self._replace(linear)

    def _opened(self) -> array[int]:
        """Start an empty log; everything derived from the mapping becomes outdated."""
        self._table = None
        self._version.number += 1
        self._log = array("q")
        return self._log

    def _replace(self, tiles: int | Linear) -> None:
        """Put all elements on tiles, replacing all earlier edits."""
        self._table = self._log = self._mapped = None
        self._version.number += 1
        self._below, self._whole = tiles, None

    def pieces(self) -> tuple[Int64, Int32]:
        """Return the mapping as breaks, int64[m + 1], and tiles, int32[m].

        Elements `breaks[k]` to `breaks[k + 1]` are on `tiles[k]`, `NO_TILE` for none; neighbouring
        tiles differ.
        """
        log = self._log
        if log is None:
            return self._pieces_below()
        rows = np.frombuffer(log, np.int64).reshape(-1, 3)
        begin, _, tile = self._as_pieces(*rows.T) or self._painted(rows)
        painted = np.append(begin, self.num_elements), tile.astype(np.int32)
        self._below, self._log = painted, None
        return painted

    def _as_pieces(
        self, begin: Int64, end: Int64, tile: Int64
    ) -> tuple[Int64, Int64, Int64] | None:
        """Return the intervals of the log as pieces, if every element is in exactly one."""
        if int((end - begin).sum()) != self.num_elements or not self.num_elements:
            return None
        order = sorted_order(begin)
        begin, end, tile = begin[order], end[order], tile[order]
        if begin[0] or (begin[1:] != end[:-1]).any():
            return None
        return merge(begin, end, tile)

    def _painted(self, rows: Int64) -> tuple[Int64, Int64, Int64]:
        """Return the pieces below, overwritten by the log above them."""
        below, tiles = self._pieces_below()
        return paint(
            np.concatenate([below[:-1], rows[:, 0]]),
            np.concatenate([below[1:], rows[:, 1]]),
            np.concatenate([tiles, rows[:, 2]]),
        )

    @property
    def only_tile(self) -> int | None:
        """The tile of all elements, if only one was ever set; None if that is not known."""
        below = self._below
        if self._log is not None or not isinstance(below, int) or below == NO_TILE:
            return None
        return below

    @property
    def num_pieces(self) -> int:
        """Number of pieces."""
        if self.only_tile is not None:
            return int(self.num_elements > 0)
        linear = self._linear
        return len(self.pieces()[1]) if linear is None else linear.tiles

    @property
    def _linear(self) -> Linear | None:
        """The linear spread, if nothing was painted over it."""
        below = self._below
        return below if isinstance(below, Linear) and self._log is None else None

    def _pieces_below(self) -> tuple[Int64, Int32]:
        """Return the pieces below the log."""
        below = self._below
        if isinstance(below, Linear):
            breaks, numbers = below.pieces()
            return breaks, numbers.astype(np.int32)
        if not isinstance(below, int):
            return below
        if self._whole is None:
            some = self.num_elements > 0
            breaks = np.array([0, self.num_elements] if some else [0], np.int64)
            self._whole = breaks, np.full(int(some), below, np.int32)
        return self._whole

    def pieces_within(self, begin: int, end: int) -> tuple[Int64, Int32]:
        """Return the pieces with elements in `[begin, end)`, as `pieces` does.

        >>> mapping = VariableMapping(10)
        >>> mapping.paint_linearly(Linear.over(10, 5))
        >>> [a.tolist() for a in mapping.pieces_within(3, 5)]
        [[2, 4, 6], [1, 2]]
        """
        linear = self._linear
        if linear is not None:
            first, last = linear.tile_of(begin), linear.tile_of(end - 1)
            numbers = np.arange(first, last + 2)
            return linear.begin_of(numbers), numbers[:-1].astype(np.int32)
        breaks, tiles = self.pieces()
        if len(tiles) > 1:
            first = int(np.searchsorted(breaks, begin, side="right")) - 1
            last = int(np.searchsorted(breaks, end, side="left"))
            breaks, tiles = breaks[first : last + 1], tiles[first:last]
        return breaks, tiles

    def table(self) -> TileTable:
        """Return the mapping as a table for views with many runs; cached until the next edit."""
        if self._table is None or self._log is not None:
            self._table = TileTable(*self.pieces())
        return self._table

    def tiles_used(self) -> Int64:
        """Return the tiles that store an element, sorted."""
        tiles = self.pieces()[1]
        return np.unique(tiles[tiles != NO_TILE]).astype(np.int64)

    @property
    def is_complete(self) -> bool:
        """Whether every element has a tile."""
        if self._linear is not None or self.only_tile is not None:
            return True
        return not (self.pieces()[1] == NO_TILE).any()

    @property
    def is_new(self) -> bool:
        """Whether no element can have a tile yet."""
        below = self._below
        if self._log is not None or isinstance(below, Linear):
            return False
        if isinstance(below, int):
            return below == NO_TILE or not self.num_elements
        return len(below[1]) == 0 or (len(below[1]) == 1 and bool(below[1][0] == NO_TILE))

    def any_mapped(self, elements: slice | Int64) -> bool:
        """Return whether any of these elements has a tile; fast between edits of few runs."""
        if self._mapped is None:
            breaks, tiles = self.pieces()
            self._mapped = np.repeat(tiles != NO_TILE, np.diff(breaks))
        return bool(self._mapped[elements].any())

    def unmapped(self) -> list[Interval]:
        """Return the elements without a tile, as intervals."""
        breaks, tiles = self.pieces()
        return [
            Interval(int(breaks[k]), int(breaks[k + 1])) for k in np.flatnonzero(tiles == NO_TILE)
        ]


class Linear(NamedTuple):
    """Elements spread evenly and in order over the first tiles, in closed form.

    Tile `i` of `tiles` begins at grain `i * grains // tiles`, so that no list is needed to find
    the tile of an element or the elements of a tile::

        10 elements in grains of 2 on 3 tiles      0 1 | 2 3 4 5 | 6 7 8 9
        begin_of(i)                                0     2         6         10

    Attributes:
        tiles: number of tiles that store elements.
        grain: number of elements that stay together.

    >>> linear = Linear.over(10, 3, grain=2)
    >>> linear.begin_of(np.arange(4)).tolist(), linear.tile_of(5)
    ([0, 2, 6, 10], 1)
    """

    num_elements: int
    tiles: int
    grain: int

    @classmethod
    def over(
        cls, num_elements: int, tiles: int, *, grain: int = 1, min_elements: int = 1
    ) -> Linear:
        """Spread elements over as many tiles as the number of elements allows.

        Cuts are at multiples of `grain`. A tile gets at least `min_elements` if there are enough,
        so that few elements use few tiles.

        >>> Linear.over(10, 3, min_elements=4)
        Linear(num_elements=10, tiles=2, grain=1)
        """
        least = -(-min_elements // grain) * grain
        used = min(tiles, num_elements // least or min(1, num_elements))
        return cls(num_elements, used, min(grain, max(num_elements, 1)))

    def begin_of(self, tile: Int64) -> Int64:
        """Return the first elements of tiles; for tile `tiles`, the end."""
        whole, rest = divmod(-(-self.num_elements // self.grain), self.tiles)
        grains = tile * whole + tile * rest // self.tiles  # no product exceeds `num_elements`
        begin: Int64 = np.minimum(grains * self.grain, self.num_elements)
        return begin

    def tile_of(self, element: int) -> int:
        """Return the tile of an element."""
        grains = -(-self.num_elements // self.grain)
        return ((element // self.grain + 1) * self.tiles - 1) // grains

    def pieces(self) -> tuple[Int64, Int64]:
        """Return the breaks, int64[tiles + 1], and the tiles, int64[tiles]."""
        numbers = np.arange(self.tiles + 1)
        return (self.begin_of(numbers) if self.tiles else np.zeros(1, np.int64)), numbers[:-1]


class Version:
    """A counter that changes with a graph's mappings, to recognise outdated data."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number: int = 0
