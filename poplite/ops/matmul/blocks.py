"""A matrix cut into blocks that lie one behind the other.

    matrix [4, 6], blocks [2, 4]          flat
    0  1  2  3 | 4  5                     0 1 2 3  6 7 8 9 | 4 5  10 11 | 12 13 14 15 ...
    6  7  8  9 | 10 11                    block (0, 0)       (0, 1)       (1, 0)
    -----------+------
    12 13 14 15| 16 17
    18 19 20 21| 22 23

So a block is one range of elements, whatever the matrix looks like; blocks at the lower and right
edges are smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a matrix is cut.

    Args:
        rows: of the matrix.
        columns: of the matrix.
        height: rows of a block, at least 1.
        width: columns of a block, at least 1.
    """

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

    def sizes(self, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return heights and widths of blocks.

        Args:
            row: int64[n], from 0 to `down` - 1.
            column: int64[n], from 0 to `across` - 1.

        >>> [a.tolist() for a in Blocks(4, 6, 2, 4).sizes(np.array([0, 1]), np.array([0, 1]))]
        [[2, 2], [4, 2]]
        """
        return (
            np.minimum(self.height, self.rows - row * self.height),
            np.minimum(self.width, self.columns - column * self.width),
        )

    def spans(self, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return where blocks begin and end in the flat order.

        Args:
            row: int64[n], from 0 to `down` - 1.
            column: int64[n], from 0 to `across` - 1.

        >>> [a.tolist() for a in Blocks(4, 6, 2, 4).spans(np.array([0, 1]), np.array([1, 0]))]
        [[8, 12], [12, 20]]
        """
        height, width = self.sizes(row, column)
        begin = row * self.height * self.columns + height * column * self.width
        return begin, begin + height * width

    def flat(self, matrix: Tensor) -> Tensor:
        """Return the elements of a matrix in flat order, as a view.

        Args:
            matrix: of shape (rows, columns).
        """
        if not matrix.num_elements:
            return matrix.flatten()
        parts = []
        for top, end, height in _equal_parts(self.rows, self.height):
            count, band = (end - top) // height, []
            for left, right, width in _equal_parts(self.columns, self.width):
                across = (right - left) // width
                part = matrix[top:end, left:right].reshape((count, height, across, width))
                part = part.dim_shuffle((0, 2, 1, 3))
                band.append(part.reshape((count, height * (right - left))))
            parts.append(concat(band, 1).flatten())
        return concat(parts)

    def matrix(self, flat: Tensor) -> Tensor:
        """Return the matrix whose elements are in flat order, as a view.

        Args:
            flat: of shape (rows * columns,).
        """
        if not flat.num_elements:
            return flat.reshape((self.rows, self.columns))
        parts = []
        for top, end, height in _equal_parts(self.rows, self.height):
            count, band = (end - top) // height, []
            rows = flat[top * self.columns : end * self.columns]
            rows = rows.reshape((count, height * self.columns))
            for left, right, width in _equal_parts(self.columns, self.width):
                across = (right - left) // width
                part = rows[:, height * left : height * right]
                part = part.reshape((count, across, height, width)).dim_shuffle((0, 2, 1, 3))
                band.append(part.reshape((end - top, right - left)))
            parts.append(concat(band, 1))
        return concat(parts)


def _equal_parts(size: int, part: int) -> list[tuple[int, int, int]]:
    """Cut a size where parts stop being whole; return begin, end and the size of parts of each."""
    whole = size // part * part
    pieces = [(0, whole, part), (whole, size, size - whole)]
    return [piece for piece in pieces if piece[0] < piece[1]]
