"""Tile numbers of graphs: a virtual graph numbers its own tiles from 0 again.

    machine               0  1  2  3 | 4  5  6  7        two IPUs of four tiles
    top-level graph       0  1  2  3   4  5  6  7        AllTiles
    virtual graph (4, 8)               0  1  2  3        SomeTiles
    of that, [3, 1]                       1     0        SomeTiles
    the same, for operations      0  1  0  1   0  1  1  0        NearTiles

Storage has only top-level numbers: the arguments of a virtual graph are converted to them
(`to_top_level`), and its results from them (`from_top_level`).

Source: Poplar API reference, "Graph::createVirtualGraph".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidTileMapping
from poplite.graph.mapping.tile_mapping import NO_TILE, TileMapping, ranges, tile_number
from poplite.text import amount, clipped, integer_or_none

if TYPE_CHECKING:
    from poplite.machine.target import Target


class AllTiles:
    """The tile numbers of a top-level graph: those of its machine."""

    __slots__ = ("num_tiles",)

    home: SomeTiles | None = None
    """The virtual graph whose variables are made with these numbers."""

    def __init__(self, num_tiles: int) -> None:
        self.num_tiles = num_tiles

    def checked(self, tile: object, what: str) -> int:
        """Return the top-level number of a user's tile, or refuse it; `what` is put there."""
        return tile_number(tile, what, self.num_tiles)

    def in_range(self, tile: object) -> int | None:
        """Return the top-level number of an int that is a tile; None where `checked` must look."""
        return tile if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str) -> int:
        """Return this graph's number of a top-level tile, or refuse it."""
        return tile_number(tile, call, self.num_tiles)

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level numbers of tiles of this graph."""
        return tiles

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of top-level tiles; `NO_TILE` for tiles of others."""
        return tiles

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone of elements on some tiles: the same."""
        return tiles

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph in this graph's numbers."""
        return mapping

    def check_complete(self, name: str, mapping: TileMapping, top_level: TileMapping) -> None:
        """Refuse elements that are only on tiles of other graphs; here, no element is."""


class SomeTiles:
    """The tile numbers of a virtual graph; its repr is the virtual graph's in messages.

    `tiles` has the top-level number of each tile, `num_top_level` is the number of top-level tiles.

    >>> import poplite as pl
    >>> tiles = SomeTiles(np.array([6, 4]), pl.Graph(pl.Target(tiles=8)), 8)
    >>> tiles.checked(1, "'x'"), tiles.number_of(4, "call")
    (4, 1)
    """

    __slots__ = ("_from", "_to", "_top_level", "num_tiles")

    def __init__(self, tiles: Int64, top_level: object, num_top_level: int) -> None:
        self.num_tiles, self._to, self._top_level = len(tiles), tiles, top_level
        # The last entry, at index -1, is for `NO_TILE`.
        self._from = np.full(num_top_level + 1, NO_TILE)
        self._from[tiles] = np.arange(len(tiles))

    @property
    def home(self) -> SomeTiles | None:
        """The virtual graph whose variables are made with these numbers."""
        return self

    @property
    def tiles(self) -> Int64:
        """The top-level number of each tile."""
        return self._to

    def checked(self, tile: object, what: str) -> int:
        """Return the top-level number of a user's tile, or refuse it."""
        number = integer_or_none(tile)
        if number is not None and number >= self.num_tiles:
            raise InvalidTileMapping(
                f"{what}: tile {number}, but the virtual graph has "
                f"{amount(self.num_tiles, 'tile')}",
                found=f"it counts from 0: {self!r}",
                fix=f"virtual.convert_top_level_graph_tile_to_tile({number}), if that is a "
                "number of the top-level graph",
            )
        return int(self._to[tile_number(tile, what, self.num_tiles)])

    def in_range(self, tile: object) -> int | None:
        """Return the top-level number of an int that is a tile; else None."""
        return int(self._to[tile]) if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str) -> int:
        """Return this graph's number of a top-level tile, or refuse it."""
        number = tile_number(tile, call, len(self._from) - 1)
        own = int(self._from[number])
        if own == NO_TILE:
            raise InvalidTileMapping(
                f"tile {number} of the top-level graph is not among this virtual graph's "
                f"{self.num_tiles:,}",
                found=f"it is over tiles {ranges(np.sort(self._to))}",
                fix=f"one of these, or create_virtual_graph with tile {number} among its tiles",
            )
        return own

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level numbers of tiles of this graph."""
        return self._to[tiles]

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of top-level tiles; `NO_TILE` for tiles of others."""
        return self._from[tiles]

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone of elements on some tiles: the same."""
        return tiles

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph in this graph's numbers."""
        return mapping.renumbered(self._from[:-1], self.num_tiles)

    def check_complete(self, name: str, mapping: TileMapping, top_level: TileMapping) -> None:
        """Refuse elements that are only on tiles of other graphs.

        `top_level` is the same mapping in top-level numbers, where all elements have a tile.
        """
        if mapping.is_complete:
            return
        first = mapping.unmapped[0]
        others = top_level.tiles[self._from[top_level.tiles] == NO_TILE]
        raise InvalidTileMapping(
            f"'{name}': {mapping.num_unmapped:,} of "
            f"{amount(mapping.num_elements, 'element')}, the first [{first.begin}, "
            f"{first.end}), are on no tile of this virtual graph",
            found=f"top-level graph: on tile{'s' * (len(others) > 1)} {ranges(others)}; {self!r}",
            fix="graph.top_level_graph.tile_mapping(tensor), or require_complete=False",
        )

    def __repr__(self) -> str:
        rising = (np.diff(self._to) > 0).all()
        names = ranges(self._to) if rising else clipped(self._to.tolist(), 40).strip("[]")
        return f"<VirtualGraph of tiles {names} of {self._top_level!r}>"


class NearTiles(SomeTiles):
    """The tile numbers of a virtual graph for its operations, which count other tiles as its own.

    Elements on other tiles are read and written from tiles of the graph: those tiles take turns, in
    the order of the others.

    >>> import poplite as pl
    >>> tiles = NearTiles(SomeTiles(np.array([6, 4]), pl.Graph(pl.Target(tiles=8)), 8))
    >>> tiles.from_top_level(np.arange(8)).tolist()
    [0, 1, 0, 1, 1, 0, 0, 1]
    """

    __slots__ = ("_own",)

    def __init__(self, own: SomeTiles) -> None:
        super().__init__(own._to, own._top_level, len(own._from) - 1)
        others = np.flatnonzero(self._from[:-1] == NO_TILE)
        self._from[others] = np.arange(len(others)) % self.num_tiles
        self._own = own

    def of_clone(self, tiles: Int64) -> Int64:
        """Return the top-level tiles of a clone: of elements elsewhere the graph's own."""
        return np.where(tiles == NO_TILE, NO_TILE, self._to[self._from[tiles]])

    @property
    def home(self) -> SomeTiles | None:
        """The virtual graph whose variables are made with these numbers."""
        return self._own


TileNumbers = AllTiles | SomeTiles
"""The tile numbers of a graph."""


def tile_of_pair(target: Target, ipu: object, tile: object) -> int:
    """Return the machine's number of a tile of an IPU, after checking both."""
    numbers = []
    for what, number, count in (("IPU", ipu, target.ipus), ("tile", tile, target.tiles_per_ipu)):
        whole = integer_or_none(number)
        if whole is None or not 0 <= whole < count:
            raise InvalidTileMapping(
                f"{what} {clipped(number)} of a pair (IPU, tile), but there "
                f"{'is' if count == 1 else 'are'} {amount(count, what)}",
                found=repr(target),
                fix=f"a whole number from 0 to {count - 1}",
            )
        numbers.append(whole)
    return numbers[0] * target.tiles_per_ipu + numbers[1]
