"""Products of sparse and dense matrices: rows of non-zeros, and rows of the dense matrix they meet.

    row   0        1  2              starts   0 2 3 ...      the non-zeros of row r are numbers
    k     5 9      5  -              places   0 1 0 ...      starts[r] to starts[r + 1]; number i
    x     rows 5 and 9 of the dense matrix, once each        meets row places[i] of x

Worker w has the rows from `shares[w]` to `shares[w + 1]`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT
from poplite.vertex.compute import lanes
from poplite.vertex.faster import faster
from poplite.vertex.vertex import Input, MultiVertex, Output, State, Vector
from poplite.vertices.estimators.sparse import sparse_dots, sparse_rows

T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)


class SparseRows(MultiVertex, Generic[T, U]):
    """`out[r] = sum of values[i] * x[places[i]]` over the non-zeros i of row r, in their order.

    `out` is rows of `columns` elements; `busiest` is how many non-zeros the busiest worker has.
    """

    values: Input[Vector[T]]
    x: Input[Vector[Vector[T]]]
    starts: Input[Vector[UNSIGNED_INT]]
    places: Input[Vector[UNSIGNED_INT]]
    shares: Input[Vector[UNSIGNED_INT]]
    out: Output[Vector[U]]
    columns: State[UNSIGNED_INT]
    busiest: State[UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        """Add up row after row."""
        columns = self.columns
        for row in range(self.shares[worker], self.shares[worker + 1]):
            for column in range(columns):
                self.out[row * columns + column] = self.one(row, column)

    def one(self, row: int, column: int) -> Any:
        """Return an element."""
        total = 0.0
        for i in range(self.starts[row], self.starts[row + 1]):
            total += self.values[i] * self.x[self.places[i]][column]
        return total

    @faster(bits="equal")
    def in_registers(self, worker: int) -> None:
        """Make 64 columns of a row at a time, then 32, then 16: each sum in a lane.

        The last 16 columns are made with some before them once more, which has the same result.
        """
        columns = self.columns
        many = columns // 64 * 64
        rows = self.shares[worker + 1] if columns > 0 else 0
        for row in range(self.shares[worker], rows):
            for column in range(0, many, 64):
                self.wide(row, column)
            if columns < 16 or self.starts[row] >= self.starts[row + 1]:
                self.short(row, many)
            else:
                rest = many
                if columns - many >= 32:
                    self.half(row, many)
                    rest = many + 32
                if columns - rest >= 16:
                    self.narrow(row, rest)
                if columns % 16 > 0:
                    self.narrow(row, columns - 16)

    def wide(self, row: int, column: int) -> None:
        """Make 64 elements."""
        total = lanes.full(0.0)
        for i in range(self.starts[row], self.starts[row + 1]):
            total += self.values[i] * self.x[self.places[i]].lanes(column, 64)
        self.out.set_lanes(row * self.columns + column, total)

    def half(self, row: int, column: int) -> None:
        """Make 32 elements of a row with non-zeros."""
        first = self.starts[row]
        total = self.values[first] * self.x[self.places[first]].lanes(column, 32) + 0.0
        for i in range(first + 1, self.starts[row + 1]):
            total += self.values[i] * self.x[self.places[i]].lanes(column, 32)
        self.out.set_lanes(row * self.columns + column, total)

    def narrow(self, row: int, column: int) -> None:
        """Make 16 elements of a row with non-zeros."""
        first = self.starts[row]
        total = self.values[first] * self.x[self.places[first]].lanes(column, 16) + 0.0
        for i in range(first + 1, self.starts[row + 1]):
            total += self.values[i] * self.x[self.places[i]].lanes(column, 16)
        self.out.set_lanes(row * self.columns + column, total)

    def short(self, row: int, column: int) -> None:
        """Make the elements from a column on: fewer than 16, or those of an empty row."""
        first, end, columns = self.starts[row], self.starts[row + 1], self.columns
        if columns - column == 1 or first >= end:
            for j in range(column, columns):
                self.out[row * columns + j] = self.one(row, j)
        elif column < columns:
            total = self.values[first] * self.x[self.places[first]].lanes(0, columns) + 0.0
            for i in range(first + 1, end):
                total += self.values[i] * self.x[self.places[i]].lanes(0, columns)
            self.out.set_lanes(row * columns, total)

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        rows = -(-(len(self.starts) - 1) // target.workers)
        element = self.fields["values"].element
        return int(sparse_rows(element, rows, self.busiest, self.columns, target))


class SparseDots(MultiVertex, Generic[T, U]):
    """`out[i]` is the product of row r of `gradient` with `x[places[i]]`, for each non-zero i of r.

    Lane j of 64 adds up the products j, j + 64, ...; then halves are added, as lanes are.
    """

    gradient: Input[Vector[T]]
    x: Input[Vector[Vector[T]]]
    starts: Input[Vector[UNSIGNED_INT]]
    places: Input[Vector[UNSIGNED_INT]]
    shares: Input[Vector[UNSIGNED_INT]]
    out: Output[Vector[U]]
    columns: State[UNSIGNED_INT]
    busiest: State[UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        """Multiply non-zero after non-zero."""
        columns = self.columns
        many = columns // 64 * 64
        for row in range(self.shares[worker], self.shares[worker + 1]):
            for i in range(self.starts[row], self.starts[row + 1]):
                total = lanes.full(0.0)
                for column in range(0, many, 64):
                    g = self.gradient.lanes(row * columns + column, 64)
                    total += g * self.x[self.places[i]].lanes(column, 64)
                if many < columns:
                    rest = self.gradient.lanes(row * columns + many, columns - many)
                    total += rest * self.x[self.places[i]].lanes(many, columns - many)
                self.out[i] = total.sum()

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        rows = -(-(len(self.starts) - 1) // target.workers)
        element = self.fields["gradient"].element
        return int(sparse_dots(element, rows, self.busiest, self.columns, target))
