"""Products of sparse matrices with dense matrices.

    row   0        1  2              starts   0 2 3 ...      non-zeros starts[r] to starts[r + 1]
    k     5 9      5  -              places   0 1 0 ...      belong to row r; non-zero i is
    x     rows 5 and 9 of the dense matrix, once each        multiplied by row places[i] of x

Worker w computes the rows from `shares[w]` to `shares[w + 1]`.

Source of the cycles: PopLibs, `lib/popsparse/PerformanceEstimation.hpp`,
`sparseDenseElementwiseMultiply` and `sparseDenseGradWElementwiseMultiply`, without the cost of
buckets, which a fixed pattern does not have, and without the shorter entries for exactly two, four
or eight columns. If the last step has only two columns, the first function counts all columns once
more; here it does not.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.vertex import Input, MultiVertex, Output, State, Vector, faster

Element = type[ElementType[Any]]
Count = int | Int64


FOUR, EIGHT = 4, 8
"""Columns per step of the inner loops, for FLOAT and for HALF."""


def sparse_rows(
    element: Element, rows: Count, values: Count, columns: int, target: Target
) -> Int64:
    """Return the tile cycles of summing rows of a dense matrix for each row of a sparse matrix.

    Args:
        element: element type of both matrices, FLOAT or HALF.
        rows: number of rows of the sparse matrix on the busiest worker.
        values: number of non-zeros in them.
        columns: number of columns of the dense matrix.
        target: the machine.

    >>> int(sparse_rows(FLOAT, 2, 20, 64, Target()))     # 30 + 6 * (27 + 2 * 25 + 20 * 48)
    6252
    """
    cost = target.cost
    if element is FLOAT:
        fours, pairs, rest = columns // FOUR, columns // 2 % 2, columns % 2
        each = cost("sparse_float_row") + (cost("sparse_float_four") if fours else 0)
        each += (pairs + rest) * cost("sparse_float_rest")
        each += cost("sparse_float_rest_end" if pairs + rest else "sparse_float_end")
        value = fours * cost("sparse_float_four_each")
        value += (pairs + rest) * cost("sparse_float_rest_each")
        entry = cost("sparse_float_entry")
    else:
        eights, four, rest = columns // EIGHT, columns // FOUR % 2, columns % FOUR
        each = cost("sparse_half_row") + (cost("sparse_half_eight") if eights else 0)
        each += four * cost("sparse_half_four") + (cost("sparse_half_rest") if rest else 0)
        value = eights * cost("sparse_half_eight_each")
        value += (four + rest) * cost("sparse_half_rest_each")
        entry = cost("sparse_half_entry")
    slots = entry + rows * each + values * value
    return np.asarray(cost("sparse_launch") + target.workers * slots, np.int64)


def sparse_dots(
    element: Element, rows: Count, values: Count, columns: int, target: Target
) -> Int64:
    """Return the tile cycles of multiplying rows of two dense matrices, for each non-zero.

    Args:
        element: element type of both matrices, FLOAT or HALF.
        rows: number of rows of the sparse matrix on the busiest worker.
        values: number of non-zeros in them.
        columns: number of columns of the dense matrices.
        target: the machine.

    >>> int(sparse_dots(FLOAT, 2, 20, 64, Target()))     # 37 + 6 * (32 + 2 * 7 + 20 * 41)
    5233
    """
    cost = target.cost
    kind = "float" if element is FLOAT else "half"
    value = cost(f"sparse_dots_{kind}_value")
    if element is FLOAT:
        value += (columns // 2 + columns % 2) * cost("sparse_dots_loop")
    else:
        value += columns // FOUR * cost("sparse_dots_loop")
        value += columns // 2 % 2 * cost("sparse_dots_half_two")
        value += columns % 2 * cost("sparse_dots_half_one")
    each = cost(f"sparse_dots_{kind}_row")
    slots = cost(f"sparse_dots_{kind}_entry") + rows * each + values * value
    return np.asarray(cost("sparse_dots_launch") + target.workers * slots, np.int64)


T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)


class SparseRows(MultiVertex, Generic[T, U]):
    """`out[r] = sum of values[i] * x[places[i]]` over the non-zeros i of row r, in their order.

    `out` holds rows of `columns` elements; `busiest` is the number of non-zeros of the busiest
    worker.
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
        """Compute row after row."""
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
        """Compute 64 columns of a row at a time, then 32, then 16: each sum in a lane.

        The last 16 columns are computed again together with some before them, with the same result.
        Rows of x may differ in length, so each is checked when it is looked up, in a function of
        its own: one check before the loop is then enough for the values and places of a row.

        The row of `benchmarks/ops.py` measures this form.
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
        """Compute 64 elements."""
        first, end = self.starts[row], self.starts[row + 1]
        total = lanes.full(0.0)
        for i in range(first, end):
            total += self.values[i] * self.part_of_64(self.places[i], column)
        self.out.set_lanes(row * self.columns + column, total)

    def half(self, row: int, column: int) -> None:
        """Compute 32 elements of a row with non-zeros."""
        first, end = self.starts[row], self.starts[row + 1]
        total = self.values[first] * self.x[self.places[first]].lanes(column, 32) + 0.0
        for i in range(first + 1, end):
            total += self.values[i] * self.part_of_32(self.places[i], column)
        self.out.set_lanes(row * self.columns + column, total)

    def narrow(self, row: int, column: int) -> None:
        """Compute 16 elements of a row with non-zeros."""
        first, end = self.starts[row], self.starts[row + 1]
        total = self.values[first] * self.x[self.places[first]].lanes(column, 16) + 0.0
        for i in range(first + 1, end):
            total += self.values[i] * self.part_of_16(self.places[i], column)
        self.out.set_lanes(row * self.columns + column, total)

    def part_of_64(self, place: int, column: int) -> Any:
        """Return 64 columns of a row of x."""
        return self.x[place].lanes(column, 64)

    def part_of_32(self, place: int, column: int) -> Any:
        """Return 32 columns of a row of x."""
        return self.x[place].lanes(column, 32)

    def part_of_16(self, place: int, column: int) -> Any:
        """Return 16 columns of a row of x."""
        return self.x[place].lanes(column, 16)

    def short(self, row: int, column: int) -> None:
        """Compute the elements from a column on: fewer than 16, or all elements of an empty row."""
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

    Lane j of 64 sums the products j, j + 64, ...; then the lanes are summed by halves, as usual.
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
