"""How a graph numbers tiles: from 0, and a virtual graph from 0 again.

    machine               0  1  2  3 | 4  5  6  7        two IPUs of four tiles
    top-level graph       0  1  2  3   4  5  6  7        AllTiles
    virtual graph (4, 8)               0  1  2  3        SomeTiles
    of that, [3, 1]                       1     0        SomeTiles

Storage knows only the numbers of the top-level graph: what a virtual graph is given is
converted on its way down (`to_top_level`), what it answers on its way up (`from_top_level`).

Source: Poplar API reference, "Graph::createVirtualGraph".
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidTileMapping
from poplite.graph.mapping.tile_mapping import NO_TILE, TileMapping, ranges
from poplite.graph.mapping.user_mapping import tile_number
from poplite.source import SourceLocation
from poplite.text import amount, clipped, integer_or_none

if TYPE_CHECKING:
    from poplite.machine.target import Target


class AllTiles:
    """The tile numbers of a top-level graph: those of its machine.

    Args:
        num_tiles: how many there are.

    >>> from poplite.source import here
    >>> AllTiles(4).checked(3, "'x'", here())
    3
    """

    __slots__ = ("num_tiles",)

    def __init__(self, num_tiles: int) -> None:
        self.num_tiles = num_tiles

    def checked(self, tile: object, what: str, at: SourceLocation) -> int:
        """Return the top-level graph's number of a tile that a user gave.

        Args:
            tile: what the user gave.
            what: the name of what is put there, for the message.
            at: the user's line.

        Raises:
            InvalidTileMapping: when it is no whole number, or the graph has no such tile.
        """
        return tile_number(tile, what, self.num_tiles, at)

    def in_range(self, tile: object) -> int | None:
        """Return the same of an int that is a tile; None where `checked` is to look closer."""
        return tile if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str, at: SourceLocation) -> int:
        """Return this graph's number of a tile of the top-level graph that a user gave.

        Args:
            tile: what the user gave.
            call: the method, for the message.
            at: the user's line.

        Raises:
            InvalidTileMapping: when the top-level graph has no such tile, or this graph is not
                over it.
        """
        return tile_number(tile, call, self.num_tiles, at)

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level graph's numbers of tiles of this graph."""
        return tiles

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of tiles of the top-level graph; `NO_TILE` of others."""
        return tiles

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph in this graph's numbers."""
        return mapping

    def check_complete(
        self, name: str, mapping: TileMapping, top_level: TileMapping, at: SourceLocation
    ) -> None:
        """Refuse elements that are on tiles of other graphs only.

        Args:
            name: of the tensor.
            mapping: where its elements live, in this graph's numbers.
            top_level: the same in those of the top-level graph, where all have a tile.
            at: the user's line.

        Raises:
            InvalidTileMapping: when there are some.
        """


class SomeTiles:
    """The tile numbers of a virtual graph, which messages call as its repr does.

    Args:
        tiles: the top-level graph's number of each tile.
        top_level: the top-level graph, for messages.
        num_top_level: how many tiles that has.

    >>> import poplite as pl
    >>> from poplite.source import here
    >>> tiles = SomeTiles(np.array([6, 4]), pl.Graph(pl.Target(tiles=8)), 8)
    >>> tiles.checked(1, "'x'", here()), tiles.number_of(4, "call", here())
    (4, 1)
    """

    __slots__ = ("_from", "_to", "_top_level", "num_tiles")

    def __init__(self, tiles: Int64, top_level: object, num_top_level: int) -> None:
        self.num_tiles, self._to, self._top_level = len(tiles), tiles, top_level
        # A last entry, for `NO_TILE`.
        self._from = np.full(num_top_level + 1, NO_TILE)
        self._from[tiles] = np.arange(len(tiles))

    def checked(self, tile: object, what: str, at: SourceLocation) -> int:
        """Return the top-level graph's number of a tile that a user gave; see `AllTiles`."""
        number = integer_or_none(tile)
        if number is not None and number >= self.num_tiles:
            raise InvalidTileMapping(
                f"{what}: tile {number}, but the virtual graph has "
                f"{amount(self.num_tiles, 'tile')}",
                at=at,
                found=f"it counts from 0: {self!r}",
                fix=f"virtual.convert_top_level_graph_tile_to_tile({number}), if that is a "
                "number of the top-level graph",
            )
        return int(self._to[tile_number(tile, what, self.num_tiles, at)])

    def in_range(self, tile: object) -> int | None:
        """Return the same of an int that is a tile; see `AllTiles`."""
        return int(self._to[tile]) if type(tile) is int and 0 <= tile < self.num_tiles else None

    def number_of(self, tile: object, call: str, at: SourceLocation) -> int:
        """Return this graph's number of a tile of the top-level graph; see `AllTiles`."""
        number = tile_number(tile, call, len(self._from) - 1, at)
        own = int(self._from[number])
        if own == NO_TILE:
            raise InvalidTileMapping(
                f"tile {number} of the top-level graph is none of this virtual graph's "
                f"{self.num_tiles:,}",
                at=at,
                found=f"it is over tiles {ranges(np.sort(self._to))}",
                fix=f"one of these, or create_virtual_graph with tile {number} among its tiles",
            )
        return own

    def to_top_level(self, tiles: Int64) -> Int64:
        """Return the top-level graph's numbers of tiles of this graph."""
        return self._to[tiles]

    def from_top_level(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of tiles of the top-level graph; `NO_TILE` of others."""
        return self._from[tiles]

    def renumbered(self, mapping: TileMapping) -> TileMapping:
        """Return a mapping of the top-level graph in this graph's numbers."""
        return mapping.renumbered(self._from[:-1], self.num_tiles)

    def check_complete(
        self, name: str, mapping: TileMapping, top_level: TileMapping, at: SourceLocation
    ) -> None:
        """Refuse elements that are on tiles of other graphs only; see `AllTiles`."""
        if mapping.is_complete:
            return
        first = mapping.unmapped[0]
        others = top_level.tiles[self._from[top_level.tiles] == NO_TILE]
        raise InvalidTileMapping(
            f"'{name}': {mapping.num_unmapped:,} of "
            f"{amount(mapping.num_elements, 'element')}, the first [{first.begin}, "
            f"{first.end}), are on no tile of this virtual graph",
            at=at,
            found=f"top-level graph: on tile{'s' * (len(others) > 1)} {ranges(others)}; {self!r}",
            fix="graph.top_level_graph.tile_mapping(tensor), or require_complete=False",
        )

    def __repr__(self) -> str:
        rising = (np.diff(self._to) > 0).all()
        names = ranges(self._to) if rising else clipped(self._to.tolist(), 40).strip("[]")
        return f"<VirtualGraph of tiles {names} of {self._top_level!r}>"


TileNumbers = AllTiles | SomeTiles
"""How a graph numbers its tiles."""


def tile_of_pair(target: Target, ipu: object, tile: object, at: SourceLocation) -> int:
    """Return the machine's number of a tile of an IPU, after checking both.

    Args:
        target: the machine.
        ipu: the IPU that the user gave.
        tile: the tile, counted from the IPU's first.
        at: the user's line.

    Raises:
        InvalidTileMapping: when there is no such IPU, or it has no such tile.

    >>> from poplite.machine.target import Target
    >>> from poplite.source import here
    >>> tile_of_pair(Target(tiles=8, ipus=2), 1, 3, here())
    7
    """
    numbers = []
    for what, number, count in (("IPU", ipu, target.ipus), ("tile", tile, target.tiles_per_ipu)):
        if not isinstance(number, SupportsIndex) or not 0 <= index(number) < count:
            raise InvalidTileMapping(
                f"{what} {clipped(number)} of a pair (IPU, tile), but there "
                f"{'is' if count == 1 else 'are'} {amount(count, what)}",
                at=at,
                found=repr(target),
                fix=f"a whole number from 0 to {count - 1}",
            )
        numbers.append(index(number))
    return numbers[0] * target.tiles_per_ipu + numbers[1]
