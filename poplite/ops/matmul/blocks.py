"""Matrices cut into blocks that lie one behind the other.

    matrix [4, 6], blocks [2, 4]          flat
    0  1  2  3 | 4  5                     0 1 2 3  6 7 8 9 | 4 5  10 11 | 12 13 14 15 ...
    6  7  8  9 | 10 11                    block (0, 0)       (0, 1)       (1, 0)
    -----------+------
    12 13 14 15| 16 17
    18 19 20 21| 22 23

So a block is one range of elements, whatever the matrix looks like; blocks at the lower and right
edges are smaller. Of several matrices the blocks of the first come first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor


@dataclass(frozen=True, slots=True)
class MatrixBlocks:
    """How matrices are cut: `groups` of them, each of `rows` by `columns`.

    Attributes:
        height: rows of a block, at least 1.
        width: columns of a block, at least 1.
    """

    groups: int
    rows: int
    columns: int
    height: int
    width: int

    @property
    def down(self) -> int:
        """Blocks from top to bottom; at least one, which may be empty."""
        return max(1, -(-self.rows // self.height))

    @property
    def across(self) -> int:
        """Blocks from left to right; at least one, which may be empty."""
        return max(1, -(-self.columns // self.width))

    def all(self) -> tuple[Int64, Int64, Int64]:
        """Return group, row and column of every block, in their order."""
        group, block = np.divmod(np.arange(self.groups * self.down * self.across), self.in_group)
        return group, *np.divmod(block, self.across)

    @property
    def in_group(self) -> int:
        """Blocks of a matrix."""
        return self.down * self.across

    def sizes(self, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return heights and widths of blocks.

        >>> blocks = MatrixBlocks(1, 4, 6, 2, 4)
        >>> [a.tolist() for a in blocks.sizes(np.array([0, 1]), np.array([0, 1]))]
        [[2, 2], [4, 2]]
        """
        return (
            np.minimum(self.height, self.rows - row * self.height),
            np.minimum(self.width, self.columns - column * self.width),
        )

    def spans(self, group: Int64, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return where blocks begin and end in the flat order.

        >>> blocks = MatrixBlocks(2, 4, 6, 2, 4)
        >>> [a.tolist() for a in blocks.spans(*np.array([[0, 1], [0, 1], [1, 0]]))]
        [[8, 36], [12, 44]]
        """
        height, width = self.sizes(row, column)
        begin = (group * self.rows + row * self.height) * self.columns
        begin = begin + height * column * self.width
        return begin, begin + height * width

    def flat(self, matrices: Tensor) -> Tensor:
        """Return the elements of a tensor of shape (groups, rows, columns) in flat order."""
        if not matrices.num_elements:
            return matrices.flatten()
        groups, parts = self.groups, []
        for top, end, height in _equal_parts(self.rows, self.height):
            count, band = (end - top) // height, []
            for left, right, width in _equal_parts(self.columns, self.width):
                across = (right - left) // width
                part = matrices[:, top:end, left:right]
                part = part.reshape((groups, count, height, across, width))
                part = part.dim_shuffle((0, 1, 3, 2, 4))
                band.append(part.reshape((groups, count, height * (right - left))))
            parts.append(concat(band, 2).reshape((groups, (end - top) * self.columns)))
        return concat(parts, 1).flatten()

    def matrices(self, flat: Tensor) -> Tensor:
        """Return the tensor of shape (groups, rows, columns) whose elements are in flat order."""
        if not flat.num_elements:
            return flat.reshape((self.groups, self.rows, self.columns))
        groups, parts = self.groups, []
        flat = flat.reshape((groups, self.rows * self.columns))
        for top, end, height in _equal_parts(self.rows, self.height):
            count, band = (end - top) // height, []
            rows = flat[:, top * self.columns : end * self.columns]
            rows = rows.reshape((groups, count, height * self.columns))
            for left, right, width in _equal_parts(self.columns, self.width):
                across = (right - left) // width
                part = rows[:, :, height * left : height * right]
                part = part.reshape((groups, count, across, height, width))
                part = part.dim_shuffle((0, 1, 3, 2, 4))
                band.append(part.reshape((groups, end - top, right - left)))
            parts.append(concat(band, 2))
        return concat(parts, 1)


def _equal_parts(size: int, part: int) -> list[tuple[int, int, int]]:
    """Cut a size where parts stop being complete; return begin, end and the size of parts."""
    complete = size // part * part
    pieces = [(0, complete, part), (complete, size, size - complete)]
    return [piece for piece in pieces if piece[0] < piece[1]]
