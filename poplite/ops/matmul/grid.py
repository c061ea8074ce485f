"""Which tile multiplies which blocks of two matrices: what a plan says.

    [rows, depth] x [depth, columns]            grid 2 x 3 x 2 over 12 tiles

                        columns                 tile (i, j, l) multiplies block (i, j) of the left
                        +-----+-----+           by block (j, l) of the right matrix
            depth       |     |     | j
         +---+---+---+  +-----+-----+           so block (i, l) of the product comes in 3 partials,
    rows | i, j  |   |  | j, l|     |           one from each tile (i, *, l), which add up a third
         +---+---+---+  +-----+-----+           of it each
         |   |   |   |  |     |     |
         +---+---+---+  +-----+-----+

Tiles (*, j, l) follow each other: the two of a pair want the same block of the right matrix, and
take it together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poplite.arrays.intervals import Int64
from poplite.ops.matmul.blocks import Blocks
from poplite.text import amount
from poplite.types import ElementType

Three = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class MatMulPlan:
    """How a product of [rows, depth] and [depth, columns] is shared among tiles.

    Attributes:
        element_type: of both matrices and the product.
        partials: of what tiles come to before it is added up.
        rows: of the left matrix, and of the product.
        depth: columns of the left matrix, rows of the right one.
        columns: of the right matrix, and of the product.
        block: rows, depth and columns of the blocks of a tile.
        grid: tiles by rows, by depth and by columns.
        passes: how often the grid goes over the rows, and over the columns.
        exchange_cycles: of a pass, for operands that lie as the plan wants them.
        product_cycles: of a pass.
        reduce_cycles: of a pass; with their exchange.
        bytes: of the blocks and partials of a tile.
    """

    element_type: type[ElementType[Any]]
    partials: type[ElementType[Any]]
    rows: int
    depth: int
    columns: int
    block: Three
    grid: Three
    passes: tuple[int, int]
    exchange_cycles: int
    product_cycles: int
    reduce_cycles: int
    bytes: int

    @property
    def tiles(self) -> int:
        """Tiles that take part."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cycles(self) -> int:
        """Cycles of all passes, as far as the plan knows."""
        one = self.exchange_cycles + self.product_cycles + self.reduce_cycles
        return self.passes[0] * self.passes[1] * one

    @property
    def has_partials(self) -> bool:
        """Whether tiles write partials, which are added up or rounded afterwards."""
        return self.grid[1] > 1 or self.partials is not self.element_type

    @property
    def left(self) -> Blocks:
        """How the left matrix is cut."""
        return Blocks(self.rows, self.depth, self.block[0], self.block[1])

    @property
    def right(self) -> Blocks:
        """How the right matrix is cut."""
        return Blocks(self.depth, self.columns, self.block[1], self.block[2])

    @property
    def product(self) -> Blocks:
        """How the product is cut."""
        return Blocks(self.rows, self.columns, self.block[0], self.block[2])

    def tile(self, row: Int64, depth: Int64, column: Int64) -> Int64:
        """Return the tiles that multiply blocks; those that share a right block follow each other.

        Args:
            row: int64[n], block from top to bottom.
            depth: int64[n], block along the depth.
            column: int64[n], block from left to right.
        """
        across = column % self.grid[2] * self.grid[1] + depth
        tile: Int64 = across * self.grid[0] + row % self.grid[0]
        return tile

    def __str__(self) -> str:
        def by(numbers: tuple[int, ...]) -> str:
            return " x ".join(f"{n:,}" for n in numbers)

        passes = self.passes[0] * self.passes[1]
        one = self.exchange_cycles + self.product_cycles + self.reduce_cycles
        each = f"{one:,}" if passes == 1 else f"{passes:,} passes of {one:,}"
        return "\n".join(
            (
                f"{by((self.rows, self.depth))} times {by((self.depth, self.columns))}, "
                f"{self.element_type!r} with partials of {self.partials!r}",
                f"  grid    {by(self.grid)}, {amount(self.tiles, 'tile')}",
                f"  block   {by(self.block[:2])} times {by(self.block[1:])}, {self.bytes:,} B",
                f"  cycles  {each} = exchange {self.exchange_cycles:,} + product "
                f"{self.product_cycles:,} + addition {self.reduce_cycles:,}",
            )
        )
