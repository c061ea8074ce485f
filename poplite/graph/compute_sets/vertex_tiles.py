"""The tiles of many vertices: runs where neighbours share one, else the smallest integer type.

    0 0 0 0 1 1 1 1 1 2      stops 4 9 10, tiles 0 1 2
    17 3 1400 22 ...         uint16[vertices]

>>> tiles = VertexTiles.of(np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]), 4)
>>> tiles.at(8), tiles.counts().tolist()
(1, [4, 5, 7, 0])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen

Numbers = npt.NDArray[np.integer[Any]]


@frozen(eq=False)
class VertexTiles:
    """The tile of each of many vertices.

    Attributes:
        stops: int64[runs], one past the last vertex of each run; None where each vertex has its
            own number.
        tiles: unsigned[runs] or [vertices].
    """

    num_tiles: int
    stops: Int64 | None
    tiles: Numbers

    @classmethod
    def of(cls, tiles: Numbers, num_tiles: int) -> VertexTiles:
        """Return the shortest form of int[vertices] tiles."""
        kind = np.min_scalar_type(num_tiles - 1)
        changes = np.flatnonzero(tiles[1:] != tiles[:-1])
        if (len(changes) + 1) * (8 + kind.itemsize) >= len(tiles) * kind.itemsize:
            return cls(num_tiles, None, tiles.astype(kind))
        stops = np.append(changes + 1, len(tiles))
        return cls(num_tiles, stops, tiles[stops - 1].astype(kind))

    @classmethod
    def alike(cls, tile: int, count: int, num_tiles: int) -> VertexTiles:
        """Return one tile for all vertices."""
        kind = np.min_scalar_type(num_tiles - 1)
        return cls(num_tiles, np.array([count]), np.array([tile], kind))

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.tiles) if self.stops is None else int(self.stops[-1])

    def at(self, vertex: int) -> int:
        """Return the tile of one vertex."""
        if self.stops is not None:
            vertex = int(np.searchsorted(self.stops, vertex, side="right"))
        return int(self.tiles[vertex])

    def runs(self) -> tuple[Int64, Int64, Int64]:
        """Return the vertices of each run of equal tiles: begin, end and tile, int64[runs]."""
        stops = self.stops
        if stops is None:
            stops = np.arange(1, len(self.tiles) + 1)
        return np.append(0, stops[:-1]), stops, self.tiles.astype(np.int64)

    def array(self) -> Int64:
        """Return the tile of each vertex, int64[vertices]."""
        tiles = self.tiles.astype(np.int64)
        return tiles if self.stops is None else np.repeat(tiles, np.diff(self.stops, prepend=0))

    def used(self) -> Int64:
        """Return the tiles that run any vertex, ascending."""
        return np.flatnonzero(self.counts())

    def counts(self) -> Int64:
        """Return the number of vertices on each tile, int64[num_tiles]."""
        if self.stops is None:
            return np.bincount(self.tiles, minlength=self.num_tiles)
        counts = np.zeros(self.num_tiles, np.int64)
        np.add.at(counts, self.tiles, np.diff(self.stops, prepend=0))
        return counts
