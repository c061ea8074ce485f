"""Which tile every element lives on.

A variable's mapping is kept as sorted breaks with one tile between each two, so that its
size depends on how the elements are spread, not on how many there are::

    elements   0        96     128        breaks  0, 96, 128
               |--------|-------|
               tile 0    no tile          tiles   0, NO_TILE

Setting a mapping only appends to a log; the log is painted over the breaks when somebody
asks, the last writer on top.  So 10^6 edits cost one sort.

What is asked of a tensor is a `TileMapping`: for each tile the intervals of the *flattened
view*, in compressed rows (three arrays, never a list per tile).

    >>> mapping = VariableMapping(10)
    >>> mapping.paint(0, 10, 1)
    >>> mapping.paint(4, 6, 0)
    >>> [a.tolist() for a in mapping.pieces()]
    [[0, 4, 6, 10], [1, 0, 1]]

Semantics: Poplar API reference, `Graph::setTileMapping`, `getTileMapping`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import index

import numpy as np
import numpy.typing as npt

from poplite.errors import SHOWN_FAULTS, InvalidTileMapping
from poplite.intervals import Int64, merge, overlay, paint
from poplite.source import SourceLocation
from poplite.view.space import Interval
from poplite.words import clipped, counted

NO_TILE = -1
"""Stands where a tile number is missing."""


class VariableMapping:
    """The tiles of one variable's elements; edited by painting.

    Args:
        num_elements: elements of the variable.

    Attributes:
        num_elements: elements of the variable.
    """

    __slots__ = ("_breaks", "_log", "_tiles", "num_elements")

    def __init__(self, num_elements: int) -> None:
        self.num_elements = num_elements
        self._breaks = np.array([0, num_elements] if num_elements else [0], np.int64)
        self._tiles = np.full(1 if num_elements else 0, NO_TILE, np.int64)
        self._log: array[int] | None = None

    def paint(self, begin: int, end: int, tile: int) -> None:
        """Put elements `[begin, end)` on one tile.

        >>> mapping = VariableMapping(4)
        >>> mapping.paint(0, 4, 2)
        >>> mapping.is_complete
        True
        """
        if self._log is None or (begin == 0 and end == self.num_elements):
            self._log = array("q", (begin, end, tile))  # hides what was there, or is the first
        else:
            self._log.extend((begin, end, tile))

    def paint_many(self, begin: Int64, end: Int64, tile: Int64) -> None:
        """Put many intervals on tiles, in order.

        Args:
            begin: int64[n], first elements.
            end: int64[n], one past the last elements.
            tile: int64[n], tile of each interval.

        >>> mapping = VariableMapping(4)
        >>> mapping.paint_many(np.array([0, 2]), np.array([2, 4]), np.array([0, 1]))
        >>> mapping.tiles_used().tolist()
        [0, 1]
        """
        if self._log is None:
            self._log = array("q")
        self._log.frombytes(np.stack([begin, end, tile], axis=1).astype(np.int64).tobytes())

    def pieces(self) -> tuple[Int64, Int64]:
        """Return the mapping as breaks and tiles.

        Returns:
            `(breaks, tiles)`, int64[m + 1] and int64[m]: elements `breaks[k]` up to
            `breaks[k + 1]` are on `tiles[k]`, or on none where that is `NO_TILE`.
            Neighbours differ.

        >>> [a.tolist() for a in VariableMapping(3).pieces()]
        [[0, 3], [-1]]
        """
        if self._log is not None and self._is_one():
            self._breaks, self._tiles = np.array([0, self._log[1]]), np.array([self._log[2]])
            self._log = None
        elif self._log is not None:
            log = np.frombuffer(self._log, np.int64).reshape(-1, 3)
            begin, end, tile = paint(
                np.concatenate([self._breaks[:-1], log[:, 0]]),
                np.concatenate([self._breaks[1:], log[:, 1]]),
                np.concatenate([self._tiles, log[:, 2]]),
            )
            self._breaks, self._tiles = np.append(begin, self.num_elements), tile
            self._log = None
        return self._breaks, self._tiles

    def _is_one(self) -> bool:
        """Whether the log is one edit that covers everything, as for most constants."""
        log = self._log
        return log is not None and len(log) == 3 and 0 == log[0] < log[1] == self.num_elements

    def tiles_used(self) -> Int64:
        """Return the tiles that hold an element, sorted.

        >>> VariableMapping(3).tiles_used().tolist()
        []
        """
        tiles = self.pieces()[1]
        return np.unique(tiles[tiles != NO_TILE])

    @property
    def is_complete(self) -> bool:
        """Whether every element has a tile."""
        return not (self.pieces()[1] == NO_TILE).any()

    def unmapped(self) -> list[Interval]:
        """Return the elements without a tile, as intervals.

        >>> VariableMapping(3).unmapped()
        [Interval(begin=0, end=3)]
        """
        breaks, tiles = self.pieces()
        return [
            Interval(int(breaks[k]), int(breaks[k + 1])) for k in np.flatnonzero(tiles == NO_TILE)
        ]


class TileMapping:
    """For each tile, the elements of a flattened view that live on it.

    `mapping[t]` is a list of intervals, as `set_tile_mapping` takes it; `len(mapping)` is
    the number of tiles of the graph.  Compares equal to any nested list of intervals with
    the same content; tiles beyond the end of the list hold nothing.

    Args:
        num_tiles: tiles of the graph.
        tile: int64[n], tile of each piece of the view, or `NO_TILE`.
        length: int64[n], elements of each piece; the pieces follow each other.

    Attributes:
        num_elements: elements of the view.
        ptr: int64[tiles + 1]; the intervals of tile `t` are `ptr[t]` up to `ptr[t + 1]`.
        begin: int64[n], first elements of the intervals, by tile.
        end: int64[n], one past their last elements.
        unmapped: intervals of the elements that have no tile.

    >>> mapping = TileMapping(3, np.array([1, 0, 1]), np.array([2, 3, 4]))
    >>> mapping[1]
    [Interval(begin=0, end=2), Interval(begin=5, end=9)]
    >>> mapping == [[(2, 5)], [(0, 2), (5, 9)]]
    True
    """

    __slots__ = ("begin", "end", "num_elements", "ptr", "unmapped")
    __hash__ = None  # type: ignore[assignment]  # equal to lists, which are not hashable

    def __init__(self, num_tiles: int, tile: Int64, length: Int64) -> None:
        end = np.cumsum(length, dtype=np.int64)
        self.num_elements = int(end[-1]) if len(end) else 0
        begin, end, tile = merge(end - length, end, tile)
        holes = tile == NO_TILE
        self.unmapped = [
            Interval(int(a), int(b)) for a, b in zip(begin[holes], end[holes], strict=True)
        ]
        order = np.argsort(tile, kind="stable")[np.count_nonzero(holes) :]
        self.begin, self.end = begin[order], end[order]
        self.ptr = np.searchsorted(tile[order], np.arange(num_tiles + 1))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, tile: int) -> list[Interval]:
        if not -len(self) <= tile < len(self):
            raise IndexError(f"tile {tile} of {len(self)}")
        tile %= len(self)
        mine = slice(self.ptr[tile], self.ptr[tile + 1])
        pairs = zip(self.begin[mine].tolist(), self.end[mine].tolist(), strict=True)
        return [Interval(a, b) for a, b in pairs]

    def __iter__(self) -> Iterator[list[Interval]]:
        return (self[tile] for tile in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TileMapping | list | tuple):
            return NotImplemented
        mine, theirs = ([list(map(tuple, tile)) for tile in mapping] for mapping in (self, other))
        longer = max(len(mine), len(theirs))
        return all(
            (mine[t] if t < len(mine) else []) == (theirs[t] if t < len(theirs) else [])
            for t in range(longer)
        )

    @property
    def tiles(self) -> Int64:
        """The tiles that hold an element, sorted."""
        return np.flatnonzero(np.diff(self.ptr))

    @property
    def elements_per_tile(self) -> Int64:
        """int64[tiles]: how many elements of the view each tile holds."""
        total = np.concatenate([[0], np.cumsum(self.end - self.begin)])
        return np.diff(total[self.ptr])

    @property
    def num_unmapped(self) -> int:
        """How many elements have no tile."""
        return sum(hole.end - hole.begin for hole in self.unmapped)

    @property
    def is_complete(self) -> bool:
        """Whether every element has a tile."""
        return not self.unmapped

    def __repr__(self) -> str:
        per_tile = self.elements_per_tile[self.tiles]
        spread = f"max {per_tile.max():,} min {per_tile.min():,}, " if len(per_tile) else ""
        return (
            f"<TileMapping {counted(self.num_elements, 'element')}, "
            f"{counted(len(per_tile), 'tile')}, {spread}{counted(len(self.begin), 'interval')}"
            + (f", {self.num_unmapped:,} unmapped>" if self.unmapped else ">")
        )

    def _repr_html_(self) -> str:
        from poplite.viz.notebook import mapping_cell

        return mapping_cell(self)


def split(
    mappings: Sequence[tuple[int, VariableMapping]], begin: Int64, length: Int64
) -> tuple[Int64, Int64, Int64]:
    """Cut runs of element addresses where the tile changes.

    Args:
        mappings: `(base, mapping)` of the variables touched; element `i` of a variable has
            the address `base + i`, and no two variables share or touch addresses.
        begin: int64[n], first address of each run.
        length: int64[n], elements of each run, at least one.

    Returns:
        `(tile, begin, length)` of the pieces, in the order of the runs.

    >>> mapping = VariableMapping(10)
    >>> mapping.paint(0, 4, 1)
    >>> [a.tolist() for a in split([(100, mapping)], np.array([102]), np.array([5]))]
    [[1, -1], [102, 104], [2, 3]]
    """
    if not len(begin):
        return begin, begin, length
    breaks: list[Int64] = []
    tiles: list[npt.ArrayLike] = []
    for base, mapping in sorted(mappings, key=lambda pair: pair[0]):
        own_breaks, own_tiles = mapping.pieces()
        breaks.append(own_breaks + base)
        tiles += [own_tiles, [NO_TILE]]  # the gap to the next variable
    _, segment, piece_begin, piece_end = overlay(begin, begin + length, np.concatenate(breaks))
    return np.concatenate(tiles)[segment], piece_begin, piece_end - piece_begin


def intervals_of(
    mapping: TileMapping | Iterable[Iterable[tuple[int, int]]],
    num_tiles: int,
    num_elements: int,
    *,
    what: str,
    at: SourceLocation | None = None,
) -> tuple[Int64, Int64, Int64]:
    """Return a nested mapping as arrays, after checking it.

    Args:
        mapping: for each tile, intervals over the flattened view.
        num_tiles: tiles of the graph.
        num_elements: elements of the view.
        what: the view's name, for the message.
        at: the user's line, for the message.

    Returns:
        `(begin, end, tile)`, sorted by begin, without empty intervals.

    Raises:
        InvalidTileMapping: for tiles the graph does not have, intervals that are not
            within the view, and elements that are given to two tiles.

    >>> [a.tolist() for a in intervals_of([[(3, 4)], [(0, 3)]], 2, 4, what="'a'")]
    [[0, 3], [3, 4], [1, 0]]
    """
    try:
        rows = [(t, index(a), index(b)) for t, held in enumerate(mapping) for a, b in held]
    except (TypeError, ValueError):
        raise InvalidTileMapping(
            f"{what}: {clipped(mapping, 60)} is not a tile mapping",
            at=at,
            fix="a tile number, or for each tile a list of intervals: [[(0, 4)], [(4, 8)]]",
        ) from None
    rows = sorted((row for row in rows if row[1] != row[2]), key=lambda row: row[1])
    for tile, begin, end in rows:
        if tile >= num_tiles:
            raise no_such_tile(what, tile, num_tiles, at)
        if not 0 <= begin <= end <= num_elements:
            raise InvalidTileMapping(
                f"{what}: interval [{begin}, {end}) of tile {tile} is not within "
                f"the view's {counted(num_elements, 'element')}",
                at=at,
                fix=f"intervals count elements of the flattened view, 0 to {num_elements}",
            )
    for (tile, _, end), (other, begin, _) in zip(rows, rows[1:], strict=False):
        if begin < end:
            raise InvalidTileMapping(
                f"{what}: element {begin} is given to tile {tile} and to tile {other}",
                at=at,
                fix="intervals of one mapping may not overlap; set the second one afterwards",
            )
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 1], table[:, 2], table[:, 0]


def unmapped_error(
    name: str,
    mapping: TileMapping,
    num_tiles: int,
    at: SourceLocation | None,
    where: str = "",
    *,
    view: bool = False,
) -> InvalidTileMapping:
    """Return the error for elements without a tile.

    Args:
        name: the variable's name.
        mapping: where its elements live.
        num_tiles: tiles of the graph.
        at: the user's line that made it.
        where: the program step that uses it.
        view: whether the mapping counts elements of a view, not of all of the variable.

    >>> answer = TileMapping(4, np.array([0, NO_TILE]), np.array([96, 32]))
    >>> print(unmapped_error("bias", answer, 4, None))
    'bias': elements [96, 128) of 128 have no tile
      mapped so far: [0, 96) on tile 0; the graph has 4 tiles
      try: graph.set_tile_mapping(bias.flatten()[96:128], tile), or mapping="linear"
    """
    first = mapping.unmapped[0]
    tensor = "view" if view else name.rpartition("/")[2]
    holes = ", ".join(f"[{hole.begin}, {hole.end})" for hole in mapping.unmapped[:SHOWN_FAULTS])
    more = len(mapping.unmapped) - SHOWN_FAULTS
    mapped = [f"[{a}, {b})" for a, b in zip(mapping.begin[:3], mapping.end[:3], strict=True)] + [
        "..."
    ] * (len(mapping.begin) > 3)
    so_far = f"{', '.join(mapped)} on {_tiles(mapping)}" if mapped else "nothing"
    title = f"view of '{name}'" if view else f"'{name}'"
    rest = f" and {counted(more, 'more interval')}" if more > 0 else ""
    return InvalidTileMapping(
        f"{title}: elements {holes}{rest} of {mapping.num_elements:,} have no tile",
        at=at,
        where=where,
        found=f"mapped so far: {so_far}; the graph has {counted(num_tiles, 'tile')}",
        fix=f"graph.set_tile_mapping({tensor}.flatten()[{first.begin}:{first.end}], tile), "
        'or mapping="linear"',
    )


def _tiles(mapping: TileMapping) -> str:
    return f"tile{'s' * (len(mapping.tiles) != 1)} {ranges(mapping.tiles)}"


def no_such_tile(
    what: str, tile: object, num_tiles: int, at: SourceLocation | None
) -> InvalidTileMapping:
    """Return the error for a tile the graph does not have.

    >>> print(no_such_tile("'a'", 4, 4, None))
    'a': tile 4, but the graph has 4 tiles
      tiles are 0-3
      try: a smaller tile number, or Graph(Target(tiles=5))
    """
    larger = isinstance(tile, int) and tile >= 0
    return InvalidTileMapping(
        f"{what}: tile {tile}, but the graph has {counted(num_tiles, 'tile')}",
        at=at,
        found=f"tiles are {ranges(range(num_tiles))}",
        fix=f"a smaller tile number, or Graph(Target(tiles={tile + 1}))"  # type: ignore[operator]
        if larger
        else "a whole number from 0",
    )


def ranges(numbers: Iterable[int], limit: int = 4) -> str:
    """Return sorted whole numbers as ranges.

    Args:
        numbers: rising numbers.
        limit: ranges shown before the rest is cut off.

    >>> ranges([0, 1, 2, 7, 9, 10])
    '0-2, 7, 9-10'
    """
    values = np.fromiter(numbers, np.int64)
    if not len(values):
        return "none"
    cuts = np.flatnonzero(np.diff(values) != 1) + 1
    parts = [(part[0], part[-1]) for part in np.split(values, cuts)]
    shown = [f"{a}" if a == b else f"{a}-{b}" for a, b in parts[:limit]]
    return ", ".join([*shown, "..."] if len(parts) > limit else shown)
