"""Locations of elements in the memory of tiles: a *place* for each, in memory order.

    addresses    x  0 1 2 3 4 5     tiles   0 0 1 1 0 1
    places          0 1 3 4 2 5             tile 0  x0 x1 x4  .  tile 1  x2 x3 x5  .

The elements of a variable on one tile are contiguous in its memory, in the order of the variable:
the rows of a block on a tile are adjacent. Elements with consecutive places on one tile are
contiguous in its memory.

The places of a variable are a permutation of its addresses, independent of all other variables, so
they are computed only for variables that are requested. Only distances between variables in the
memory of a tile, which are seldom needed, depend on all variables (`Locations.in_memory`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from poplite.arrays.intervals import Int64, sorted_order
from poplite.graph.variable_mapping import NO_TILE, Int32, TileTable
from poplite.jit.build import address, native

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.report.execution import TilePairs
    from poplite.report.per_tile import PerTile

FEW = 32
"""Maximum number of segments and runs of a Copy that are handled without compiled code.

Needed by benchmarks/compilation.py: `Copy of 10 elements with its costs, of 10,000`, at most 100
us.
"""

_ONE_BUCKET = 63
"""The shift that puts all addresses in one bucket."""


_Lists = tuple[list[int], list[int], list[int]]
"""Breaks, tiles and places of a few segments."""


class Segments(NamedTuple):
    """Tiles and places of addresses, for kernels; the fields are all lists, or all arrays.

    Attributes:
        breaks: the address at which each segment starts, and the end of the last one.
        buckets: the index to find a segment, as in a `TileTable`.
        shift: number of bits by which addresses are shifted to get their buckets.
        tiles: the tile of each segment.
        places: the distance from the addresses of each segment to its places.
    """

    breaks: Any
    buckets: Any
    shift: int
    tiles: Any
    places: Any


class Locations:
    """The tiles and places of the elements of a graph; the graph is not kept alive.

    Attributes:
        version: the version of the mapping for which this is valid.
        exchanges: results of exchanges of a few pieces, by these pieces.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.INT, (6,), mapping=[[(0, 2), (4, 5)], [(2, 4), (5, 6)]])
    >>> locations_of(graph).few([3], [5])
    Segments(breaks=[2, 4, 5], buckets=(0, 3), shift=63, tiles=[1, 0], places=[1, -2])
    """

    def __init__(self, graph: Graph) -> None:
        self.version = graph.space.version.number
        self._graph = ref(graph)
        self._variables = graph.variables
        self._bases = [variable.base for variable in self._variables]
        self.exchanges: dict[object, tuple[tuple[PerTile, ...], TilePairs | None]] = {}
        self._few: dict[int, _Lists] = {}
        self._places: dict[int, Int64] = {}
        variables = self._variables
        self._is_complete = cache(lambda number: variables[number].mapping.is_complete)
        self._spent, self._has_whole = 0, False

    def few(self, begin: Sequence[int], end: Sequence[int]) -> Segments | None:
        """Return the segments that contain runs, as lists; None if there are more than `FEW`."""
        if len(begin) > FEW:
            return None
        spans: dict[int, tuple[int, int]] = {}
        for low, high in zip(begin, end, strict=True):
            number = bisect_right(self._bases, low) - 1
            if number in spans:
                low, high = min(low, spans[number][0]), max(high, spans[number][1])
            spans[number] = low, high
        breaks: list[int] = []
        tiles: list[int] = []
        places: list[int] = []
        for number in sorted(spans):
            own = self._own(number, *spans[number])
            if own is None or len(tiles) + len(own[1]) > FEW:
                return None
            if tiles:
                tiles.append(NO_TILE)
                places.append(0)
            breaks += own[0]
            tiles += own[1]
            places += own[2]
        return Segments(breaks, (0, len(breaks)), _ONE_BUCKET, tiles, places)

    def _own(self, number: int, low: int, high: int) -> _Lists | None:
        """Return the segments of a variable that contain [low, high); None if there are many."""
        own = self._few.get(number)
        if own is None:
            breaks, tiles = self._variables[number].mapping.pieces()
            base, first, last = self._bases[number], 0, len(tiles)
            is_part = last > FEW
            if is_part:
                around = breaks.searchsorted([low - base + 1, high - base])
                first, last = (around - (1, 0)).tolist()
                if last - first > FEW:
                    return None
            places = self._distances(number)[first:last].tolist() if len(tiles) > 1 else [0]
            own = (breaks[first : last + 1] + base).tolist(), tiles[first:last].tolist(), places
            if is_part:
                return own
            self._few[number] = own
        if len(own[1]) == 1:
            return own
        first, last = bisect_right(own[0], low) - 1, bisect_left(own[0], high)
        return own[0][first : last + 1], own[1][first:last], own[2][first:last]

    def _columns(self, number: int) -> tuple[Int64, Int32, Int64]:
        """Return all breaks, tiles and places of a variable."""
        breaks, tiles = self._variables[number].mapping.pieces()
        return breaks + self._bases[number], tiles, self._distances(number)

    def _distances(self, number: int) -> Int64:
        """Return the distance from the addresses of each segment of a variable to places."""
        found = self._places.get(number)
        if found is None:
            breaks, tiles = self._variables[number].mapping.pieces()
            # All zeros, which take no memory.
            zeros = np.broadcast_to(np.int64(0), len(tiles))
            found = zeros if (tiles[1:] > tiles[:-1]).all() else places_of(breaks, tiles)
            self._places[number] = found
        return found

    def hold(self, begin: int, end: int, tile: int) -> bool:
        """Return whether elements are easily seen to be contiguous in the memory of a tile."""
        number = bisect_right(self._bases, begin) - 1
        own = self._own(number, begin, end)
        return own is not None and own[1] == [tile] and end <= own[0][1]

    def many(self, begin: Int64) -> Segments:
        """Return, as arrays, the segments of all variables in which int64[n] runs start; n > 0."""
        if not self._has_whole:
            # Tables of a few variables are made until their total cost reaches that of a table of
            # all variables.
            self._spent += len(begin)
            if self._spent < self._num_pieces:
                owners = np.unique(self._bases_array.searchsorted(begin, side="right") - 1)
                columns = [self._columns(number) for number in owners.tolist()]
                self._spent += sum(len(tiles) for _, tiles, _ in columns)
                return _joined(columns)
            self._has_whole = True
        return self._whole

    @cached_property
    def _bases_array(self) -> Int64:
        return np.array(self._bases, np.int64)

    @cached_property
    def _num_pieces(self) -> int:
        return sum(variable.mapping.num_pieces for variable in self._variables)

    @cached_property
    def _whole(self) -> Segments:
        graph = self._graph()
        assert graph is not None, "callers have a reference to the graph"
        table = graph.space.full_table()
        return _segments(table, places_of(table.breaks, table.tiles))

    def in_memory(self, at: Int64) -> Int64:
        """Return numbers for places, int64[n], whose differences are distances in a tile's memory.

        >>> import poplite as pl
        >>> graph = pl.Graph()
        >>> for tile in (0, 1, 0):
        ...     x = graph.add_variable(pl.INT, (4,), mapping=tile)
        >>> np.diff(locations_of(graph).in_memory(np.array([0, 3, 10]))).tolist()
        [3, 2]
        """
        low, high = self._bases_array.searchsorted([at.min(), at.max()], side="right").tolist()
        if low == high and self._is_complete(low - 1):
            return at
        first, distance = self._memory
        found: Int64 = at + distance[first.searchsorted(at, side="right") - 1]
        return found

    @cached_property
    def _memory(self) -> tuple[Int64, Int64]:
        """int64[m], ascending places, and the offset of all places up to the next one."""
        breaks, places, tiles = self._whole.breaks, self._whole.places, self._whole.tiles
        size, group = np.diff(breaks), np.cumsum(tiles == NO_TILE)
        key = (tiles.astype(np.int64) + 1) * (int(group[-1]) + 1) + group
        order = sorted_order(key)
        within = np.empty_like(size)
        within[order] = np.cumsum(size[order]) - size[order]
        # Gaps between variables, and between elements without a tile.
        within[order] += np.cumsum(np.diff(key[order], prepend=key[order[0]]) != 0)
        first = breaks[:-1] + places
        by_place = sorted_order(first)
        return first[by_place], (within - first)[by_place]


_known: WeakKeyDictionary[Graph, Locations] = WeakKeyDictionary()


def locations_of(graph: Graph) -> Locations:
    """Return the locations of the elements of a graph, cached until its mapping changes."""
    known = _known.get(graph)
    if known is None or known.version != graph.space.version.number:
        known = _known[graph] = Locations(graph)
    return known


def places_of(breaks: Int64, tiles: Int32) -> Int64:
    """Return the distance from the addresses of each segment to places, int64[m].

    Breaks are int64[m + 1]; tiles are int32[m], with `NO_TILE` between two variables.

    >>> places_of(np.array([0, 2, 4, 5, 6]), np.array([0, 1, 0, 1], np.int32)).tolist()
    [0, 1, -2, 0]
    """
    has_none = tiles == NO_TILE
    size, group = np.where(has_none, 0, np.diff(breaks)), np.cumsum(has_none)
    order = sorted_order(group * (int(tiles.max()) + 2) + tiles.astype(np.int64) + 1)
    before = np.cumsum(size[order]) - size[order]
    # The start of the elements after the same gap; the gap itself comes first.
    first = np.flatnonzero(np.diff(group, prepend=-1))
    begin = np.where(has_none[first], breaks[first + 1], breaks[first])
    place = np.empty_like(size)
    place[order] = before + (begin - before[first])[group - group[0]]
    return place - breaks[:-1]


def _joined(columns: Sequence[tuple[Int64, Int32, Int64]]) -> Segments:
    """Return the segments of several variables, by ascending address, with gaps between them."""
    every = [(breaks, np.append(t, NO_TILE), np.append(p, 0)) for breaks, t, p in columns]
    breaks, tiles, places = (np.concatenate(column) for column in zip(*every, strict=True))
    return _segments(TileTable(breaks, tiles[:-1]), places[:-1])


def _segments(table: TileTable, places: Int64) -> Segments:
    return Segments(table.breaks, table.buckets, table.shift, table.tiles, places)


def walk(segments: Segments, kernel: Callable[..., int], *given: Any) -> int:
    """Run a kernel of `poplite.jit.kernels_tiles`: interpreted on lists, otherwise compiled.

    The kernel gets the segments, then the other arguments: numbers, and lists or contiguous arrays.
    """
    if isinstance(segments.breaks, list):
        return int(kernel(*segments, *given))
    every = (*segments, *given)
    return native(kernel)(*[each if isinstance(each, int) else address(each) for each in every])
