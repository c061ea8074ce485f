"""Which tile multiplies which blocks of two matrices.

    [m, k] x [k, n]             grid 2 x 3 x 2 over 12 tiles

                           n            tile (i, j, l) multiplies block (i, j) of the left
                        +-----+-----+   by block (j, l) of the right matrix
             k          |     |     | j
         +---+---+---+  +-----+-----+   so block (i, l) of the product comes in 3 partials,
       m | i, j  |   |  | j, l|     |   one from each tile (i, *, l), which add up a third
         +---+---+---+  +-----+-----+   of it each
         |   |   |   |  |     |     |
         +---+---+---+  +-----+-----+

Tiles (*, j, l) follow each other: the two of a pair want the same block of the right matrix, and
take it together. Of several products, groups, each set of tiles of a grid makes every `sets`-th.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.arrays.intervals import Int64
from poplite.ops.matmul.blocks import MatrixBlocks
from poplite.ops.matmul.request import ProductRequest

Three = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ProductLayout:
    """One way to share a product among tiles, and what it takes.

    Attributes:
        request: what is multiplied.
        block: rows of the left, depth, and columns of the right of the blocks of a tile.
        grid: tiles by m, k and n.
        sets: how many grids there are; each makes some of the groups.
        passes: how often the grid goes over m, and over n.
        cycles: of one pass: exchange of operands, products, and the addition of partials.
        held: bytes of a tile: of the left block, the right block, partials, and partials that
            arrive; None for those that do not exist.
        exact: cycles of all passes by the cost model; None where they were not asked for.
    """

    request: ProductRequest
    block: Three
    grid: Three
    sets: int
    passes: tuple[int, int]
    cycles: Three
    held: tuple[int, int, int, int]
    exact: int | None = None

    @property
    def tiles(self) -> int:
        """Tiles that take part."""
        return self.sets * self.tiles_of_set

    @property
    def tiles_of_set(self) -> int:
        """Tiles of a grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def num_passes(self) -> int:
        """How many passes there are."""
        return self.passes[0] * self.passes[1]

    @property
    def total_cycles(self) -> int:
        """Cycles of all passes: by the cost model, or by the formulas of the search."""
        return self.num_passes * sum(self.cycles) if self.exact is None else self.exact

    @property
    def bytes(self) -> int:
        """Bytes of the blocks and partials of a tile."""
        return sum(self.held)

    @property
    def slots(self) -> int:
        """Groups of which a tile has a block in each pass."""
        return -(-self.request.groups // self.sets)

    @property
    def has_partials(self) -> bool:
        """Whether tiles write partials, which are added up or rounded afterwards."""
        return self.grid[1] > 1 or self.request.partials is not self.request.result

    @property
    def left(self) -> MatrixBlocks:
        """How the left matrices are cut."""
        request = self.request
        return MatrixBlocks(request.groups, request.m, request.k, self.block[0], self.block[1])

    @property
    def right(self) -> MatrixBlocks:
        """How the right matrices are cut."""
        request = self.request
        return MatrixBlocks(request.groups, request.k, request.n, self.block[1], self.block[2])

    @property
    def product(self) -> MatrixBlocks:
        """How the products are cut."""
        request = self.request
        return MatrixBlocks(request.groups, request.m, request.n, self.block[0], self.block[2])

    def tile(self, group: Int64, i: Int64, j: Int64, l: Int64) -> Int64:  # noqa: E741
        """Return the tiles that multiply blocks (i, j) and (j, l) of groups.

        Those that share a right block follow each other.
        """
        across = l % self.grid[2] * self.grid[1] + j
        tile: Int64 = across * self.grid[0] + i % self.grid[0]
        return tile + group % self.sets * self.tiles_of_set
