"""How the rows of a sparse matrix are shared: among tiles, and among the workers of each.

    non-zeros    | tile 0    | tile 1    | tile 2    |       about as many slots on each tile,
    of rows      | 0 1 2 3 4 | 5 6       | 7 8 ...   |       as rows that stay whole allow

Each tile gets those rows of the dense matrix that its non-zeros meet, once each. Where there are
more tiles than rows need, or rows of the dense matrix are long, its columns are cut as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.partition import cut
from poplite.machine.target import Target
from poplite.ops.sparse.pattern import SparsePattern
from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertices.estimators.sparse import sparse_rows

Element = type[ElementType[Any]]

CUTS_TRIED = 8
"""Numbers of parts of the columns that are tried, from 1 up."""

WORTH = 1.25
"""More parts have to save so much: each repeats the lists of rows, and what exchanges them."""

MEMORY = 0.8
"""The share of a tile's memory that rows, values and results may take."""

_NUMBER = UNSIGNED_INT.size_bytes


@dataclass(frozen=True, eq=False)
class SparseLayout:
    """Rows of a pattern on tiles, for some columns of a dense matrix.

    Attributes:
        target: the machine.
        pattern: of the sparse matrix.
        element: the type of both matrices.
        columns: of the dense matrix.
        parts: into which these are cut.
    """

    target: Target
    pattern: SparsePattern
    element: Element
    columns: int
    parts: int

    @property
    def widths(self) -> list[tuple[int, int]]:
        """The first column of each part, and the one behind its last."""
        ends = [cut(part, self.columns, self.parts) for part in range(self.parts + 1)]
        return list(zip(ends[:-1], ends[1:], strict=True))

    @property
    def width(self) -> int:
        """Columns of the widest part."""
        return -(-self.columns // self.parts)

    @cached_property
    def blocks(self) -> Int64:
        """int64[blocks + 1]: the first row of each tile's block of rows."""
        tiles = max(1, min(self.target.tiles // self.parts, self.pattern.shape[0]))
        return self._shared(np.array([0, self.pattern.shape[0]]), tiles).reshape(-1)

    @cached_property
    def shares(self) -> Int64:
        """int64[blocks, workers + 1]: the first row of each worker."""
        return self._shared(self.blocks, self.target.workers)

    @cached_property
    def busiest(self) -> Int64:
        """The most non-zeros of a worker, by block."""
        most: Int64 = np.diff(self.pattern.row_starts[self.shares], axis=1).max(1)
        return most

    @cached_property
    def met(self) -> tuple[Int64, Int64, Int64]:
        """Rows of the dense matrix that blocks meet, where each block's begin, and their places.

        The places are those of each non-zero's row among the rows of its block.
        """
        pattern, number = self.pattern, len(self.blocks) - 1
        block = np.repeat(np.arange(number), np.diff(pattern.row_starts[self.blocks]))
        size = max(1, pattern.shape[1])
        found, place = np.unique(block * size + pattern.columns, return_inverse=True)
        first = np.searchsorted(found // size, np.arange(number + 1))
        return found % size, first, place.reshape(-1) - first[block]

    @cached_property
    def cycles(self) -> int:
        """Cycles of the rows that arrive at the tile that gets most, and of the busiest tile."""
        _, first, _ = self.met
        arriving = int(np.diff(first).max(initial=0)) * self.width * self.element.size_bytes
        arriving += self._values * self.element.size_bytes
        cost = self.target.cost
        moved = cost("sync_cycles") + cost("latency_cycles")
        moved += arriving / self.target.exchange_bytes_per_cycle
        rows = np.diff(self.shares, axis=1).max(1)
        made = sparse_rows(self.element, rows, self.busiest, self.width, self.target)
        return int(moved + made.max(initial=0))

    @cached_property
    def bytes(self) -> int:
        """Bytes of the fullest tile."""
        _, first, _ = self.met
        size = self.element.size_bytes
        values = np.diff(self.pattern.row_starts[self.blocks])
        held = np.diff(first) * (self.width * size + _NUMBER) + values * (size + _NUMBER)
        held = held + np.diff(self.blocks) * (self.width * size + _NUMBER)
        return int(held.max(initial=0))

    @property
    def excess(self) -> float:
        """Bytes of the fullest tile that are too many."""
        return max(0.0, self.bytes - MEMORY * self.target.tile_memory_bytes)

    def tile(self, part: int) -> Int64:
        """The tile of each block, for a part of the columns."""
        return np.arange(len(self.blocks) - 1) * self.parts + part

    @property
    def _values(self) -> int:
        return int(np.diff(self.pattern.row_starts[self.blocks]).max(initial=0))

    def _shared(self, ends: Int64, number: int) -> Int64:
        """Cut rows between `ends` each into a number of shares of about equal slots."""
        pattern = self.pattern
        values = np.arange(3)
        none, one, two = (
            sparse_rows(self.element, *pair, self.width, self.target)
            for pair in zip(values[[0, 1, 0]], values[[0, 0, 1]], strict=True)
        )
        lengths = np.diff(pattern.row_starts)
        weight = np.r_[0, np.cumsum((one - none) + (two - none) * lengths)]
        low, high = weight[ends[:-1], None], weight[ends[1:], None]
        wanted = low + (high - low) * np.arange(number + 1) // number
        found = np.searchsorted(weight, wanted)
        # The row over which a share ends goes to the side that has more of it.
        before = np.maximum(found - 1, 0)
        nearer = np.abs(weight[before] - wanted) < np.abs(weight[found] - wanted)
        shared: Int64 = np.where(nearer, before, found)
        shared[:, 0], shared[:, -1] = ends[:-1], ends[1:]
        return shared


@lru_cache(maxsize=16)
def best_layout(
    target: Target, pattern: SparsePattern, element: Element, columns: int
) -> SparseLayout:
    """Return the layout with the fewest parts, of those that fit and are nearly the quickest."""
    most = max(1, min(columns, target.tiles))
    numbers = np.unique(np.geomspace(1, most, CUTS_TRIED).round().astype(int)).tolist()
    tried = [SparseLayout(target, pattern, element, columns, number) for number in numbers]
    least = min(layout.excess for layout in tried)
    fit = [layout for layout in tried if layout.excess == least]
    quickest = min(layout.cycles for layout in fit)
    return next(layout for layout in fit if layout.cycles <= WORTH * quickest)
