"""How a graph numbers tiles: from 0, and a virtual graph from 0 again.

    machine               0  1  2  3 | 4  5  6  7        two IPUs of four tiles
    top-level graph       0  1  2  3   4  5  6  7
    virtual graph (4, 8)               0  1  2  3
    of that, [3, 1]                       1     0

Storage knows only the numbers of the top-level graph: what a virtual graph is given is
converted on its way down (`_tile`, `_top_level_tiles`), what it answers on its way up.

Source: Poplar API reference, "Graph::createVirtualGraph".
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidTileMapping
from poplite.graph.mapping.tile_mapping import NO_TILE, ranges
from poplite.graph.tensor.placement import tile_number
from poplite.source import SourceLocation, here
from poplite.text import clipped, counted

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.machine.target import Target


class TileNumbers:
    """The tile numbers of a graph; here those of a top-level graph.

    Attributes:
        target: the machine, with as many tiles as the graph has.
    """

    target: Target

    @property
    def top_level_graph(self) -> Graph:
        """The graph over all tiles, which variables, compute sets and functions belong to.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(2).top_level_graph is graph
        True
        """
        return cast("Graph", self)

    def convert_tile_to_top_level_graph_tile(self, tile: int) -> int:
        """Return the top-level graph's number of a tile of this graph.

        Args:
            tile: a tile of this graph.

        Raises:
            InvalidTileMapping: when this graph has no such tile.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(4, 8).convert_tile_to_top_level_graph_tile(1)
        5
        """
        return self._tile(tile, "convert_tile_to_top_level_graph_tile", here())

    def convert_top_level_graph_tile_to_tile(self, tile: int) -> int:
        """Return this graph's number of a tile of the top-level graph.

        Args:
            tile: a tile of the top-level graph.

        Raises:
            InvalidTileMapping: when the top-level graph has no such tile, or this graph is not
                over it.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8))
        >>> graph.create_virtual_graph(4, 8).convert_top_level_graph_tile_to_tile(5)
        1
        """
        at = here()
        call = "convert_top_level_graph_tile_to_tile"
        number = self.top_level_graph._tile(tile, call, at)
        own = int(self._own_tiles(np.array([number]))[0])
        if own == NO_TILE:
            tiles = self._top_level_tiles(np.arange(self.target.tiles))
            raise InvalidTileMapping(
                f"tile {number} of the top-level graph is none of this virtual graph's "
                f"{self.target.tiles:,}",
                at=at,
                found=f"it is over tiles {ranges(np.sort(tiles))}",
                fix=f"one of these, or create_virtual_graph with tile {number} among its tiles",
            )
        return own

    def convert_virtual_tile_to_physical_tile(self, tile: int) -> int:
        """Return the machine's number of a tile of this graph.

        The modelled machine numbers its tiles as the top-level graph does.

        Args:
            tile: a tile of this graph.

        Raises:
            InvalidTileMapping: when this graph has no such tile.
        """
        return self.convert_tile_to_top_level_graph_tile(tile)

    def convert_physical_tile_to_virtual_tile(
        self, tile: int, tile_of_ipu: int | None = None
    ) -> int:
        """Return this graph's number of a tile of the machine.

        Args:
            tile: the machine's number of the tile; where `tile_of_ipu` is given, an IPU.
            tile_of_ipu: a tile of that IPU, counted from 0.

        Raises:
            InvalidTileMapping: when the machine has no such IPU or tile, or this graph is not
                over it.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=8, ipus=2))
        >>> graph.create_virtual_graph([5, 0]).convert_physical_tile_to_virtual_tile(1, 1)
        0
        """
        if tile_of_ipu is not None:
            tile = _tile_of(self.top_level_graph.target, tile, tile_of_ipu, here())
        return self.convert_top_level_graph_tile_to_tile(tile)

    def _tile(self, tile: object, what: str, at: SourceLocation) -> int:
        """Return the top-level graph's number of a tile that a user gave, after checking it."""
        return tile_number(tile, what, self.target.tiles, at)

    def _top_level_tiles(self, tiles: Int64) -> Int64:
        """Return the top-level graph's numbers of tiles of this graph."""
        return tiles

    def _own_tiles(self, tiles: Int64) -> Int64:
        """Return this graph's numbers of tiles of the top-level graph; `NO_TILE` of others."""
        return tiles

    # C++ spelling

    convertTileToTopLevelGraphTile = convert_tile_to_top_level_graph_tile
    convertTopLevelGraphTileToTile = convert_top_level_graph_tile_to_tile
    convertVirtualTileToPhysicalTile = convert_virtual_tile_to_physical_tile
    convertPhysicalTileToVirtualTile = convert_physical_tile_to_virtual_tile

    def getTopLevelGraph(self) -> Graph:
        """C++ spelling of `top_level_graph`."""
        return self.top_level_graph


def _tile_of(target: Target, ipu: SupportsIndex, tile: SupportsIndex, at: SourceLocation) -> int:
    """Return the machine's number of a tile of an IPU, after checking both."""
    for what, number, count in (("IPU", ipu, target.ipus), ("tile", tile, target.tiles_per_ipu)):
        if not isinstance(number, SupportsIndex) or not 0 <= index(number) < count:
            raise InvalidTileMapping(
                f"{what} {clipped(number)} of a pair (IPU, tile), but there "
                f"{'is' if count == 1 else 'are'} {counted(count, what)}",
                at=at,
                found=repr(target),
                fix=f"a whole number from 0 to {count - 1}",
            )
    return index(ipu) * target.tiles_per_ipu + index(tile)
