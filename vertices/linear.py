"""Linear algebra: factorisations of blocks, triangular systems, reflectors, sparse products.

`CholeskyBlock`, `LuBlock` and `SolveColumn` run on one worker, and take rows of FLOAT matrices.
Larger matrices are cut into such blocks by `poplite.ops.linalg`, which combines them by products.
Cholesky blocks and triangular systems cost as much as PopLibs' vertices `Cholesky` and
`TriangularSolve`, whose diagonal is 1; a block of LU, which has no counterpart in PopLibs, is
priced by its code.

Several workers compute the Householder reflectors of FLOAT columns::

    worker 0    a a a      each holds some rows of all columns, as a vector for each column
    worker 1    a a a
                           for each column:
    UpdateColumns          a -= tau v (v' a), the previous reflector; squares of the next column
    ReflectColumn          v and tau of that column, from the results of all workers; parts of v' a

Each worker adds the results of all workers in the same order, so all get the same tau. Reflectors
are those of LAPACK's `larfg`, I - tau v v', where v of column j is 0 above row j, and 1 in row j.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex, faster
from poplite.vertices.estimators import binary, cholesky, triangular_solve


class CholeskyBlock(Vertex):
    """Replaces the lower triangle of `a` by L with L L' = a; the upper triangle is not read.

    L is NaN from the first row on at which a is not positive definite.
    """

    a: InOut[Vector[Vector[FLOAT]]]

    def compute(self) -> None:
        """Compute row after row."""
        for i in range(len(self.a)):
            for j in range(i + 1):
                rest = self.a[i][j]
                for k in range(j):
                    rest -= self.a[i][k] * self.a[j][k]
                if i > j:
                    self.a[i][j] = rest / self.a[j][j]
                else:
                    self.a[i][j] = math.sqrt(rest) if rest > 0.0 else math.nan

    def cycles(self, target: Target) -> int:
        """Return its slots, from PopLibs' fit to the machine."""
        return -(-cholesky(len(self.a), target) // target.workers)


class LuBlock(Vertex):
    """Replaces a square by L and U with L U = a; the diagonal of L is 1 and is not stored."""

    a: InOut[Vector[Vector[FLOAT]]]

    def compute(self) -> None:
        """Compute row after row, without row exchanges."""
        for i in range(len(self.a)):
            for k in range(i):
                factor = self.a[i][k] / self.a[k][k]
                self.a[i][k] = factor
                for j in range(k + 1, len(self.a[i])):
                    self.a[i][j] -= factor * self.a[k][j]


class SolveColumn(Vertex):
    """Replaces a column x by the solution y of `a y = x`, where a is triangular.

    Only that triangle of `a` is read, without its diagonal if `unit` is true.
    """

    a: Input[Vector[Vector[FLOAT]]]
    x: InOut[Vector[FLOAT]]
    lower: State[BOOL]
    unit: State[BOOL]

    def compute(self) -> None:
        """Solve row after row: from the first row for a lower triangle, else from the last."""
        rows = len(self.x)
        for step in range(rows):
            i = step if self.lower else rows - 1 - step
            rest = self.x[i]
            for k in range(0 if self.lower else i + 1, i if self.lower else rows):
                rest -= self.a[i][k] * self.x[k]
            self.x[i] = rest if self.unit else rest / self.a[i][i]

    def cycles(self, target: Target) -> int:
        """Return its slots, from PopLibs' fit to the machine and its vector divisions."""
        rows = len(self.x)
        slots = -(-triangular_solve(rows, target, lower=self.lower) // target.workers)
        return slots + (0 if self.unit else binary("divide", FLOAT, rows, target, in_place=True))


# -- reflectors ------------------------------------------------------------------------------------

SMALL, LARGE = 2.0**-40, 2.0**40
"""Limits between which squares of FLOAT and sums of many squares do not underflow or overflow."""

UP, DOWN = 2.0**86, 2.0**-86
"""Factors that bring smaller and larger numbers into that range; powers of two, so exact."""

FOUND = 4
"""Numbers that a worker finds for a column: the largest, the one on the diagonal, the sum of the
squares of those below it times a factor, and the reciprocal of that factor."""


class UpdateColumns(Vertex):
    """Applies the reflector of the previous column, and sums the squares of column `column`.

    `a` and `v` are columns of the worker's rows, from row `first` on. `dots` holds v' a of each of
    the `workers`. Before they are squared, numbers are scaled by a factor that depends on the
    largest, as in LAPACK's `nrm2`.
    """

    a: InOut[Vector[Vector[FLOAT]]]
    v: Input[Vector[Vector[FLOAT]]]
    dots: Input[Vector[FLOAT]]
    taus: Input[Vector[FLOAT]]
    column: Input[INT]
    found: Output[Vector[FLOAT]]
    first: State[INT]
    workers: State[INT]

    def compute(self) -> None:
        """Subtract, column after column; then sum squares."""
        j, columns = self.column, len(self.taus)
        for c in range(j, columns if j > 0 else 0):
            total = 0.0
            for worker in range(self.workers):
                total += self.dots[worker * columns + c]
            total *= self.taus[j - 1]
            for i in range(len(self.a[c])):
                self.a[c][i] -= self.v[j - 1][i] * total
        rows = len(self.a[j])
        diagonal = min(max(j - self.first, -1), rows)
        largest = 0.0  # ignores NaN, which the squares propagate
        for i in range(max(diagonal, 0), rows):
            size = abs(self.a[j][i])
            if size > largest:
                largest = size
        is_small, is_large = largest < SMALL, largest > LARGE
        factor = UP if is_small else (DOWN if is_large else 1.0)
        squares = 0.0
        for i in range(diagonal + 1, rows):
            scaled = self.a[j][i] * factor
            squares += scaled * scaled
        self.found[0] = largest
        self.found[1] = self.a[j][diagonal] if 0 <= diagonal < rows else 0.0
        self.found[2] = squares
        self.found[3] = DOWN if is_small else (UP if is_large else 1.0)


class ReflectColumn(Vertex):
    """Computes a column of V, its tau and its diagonal element of R; products with later columns.

    `found` holds what each worker found in `UpdateColumns`, which describes the other fields.
    Elements below the diagonal of `a` are not changed, and are taken as 0. At the end, `column` is
    incremented.
    """

    a: InOut[Vector[Vector[FLOAT]]]
    v: InOut[Vector[Vector[FLOAT]]]
    found: Input[Vector[FLOAT]]
    dots: InOut[Vector[FLOAT]]
    taus: InOut[Vector[FLOAT]]
    column: InOut[INT]
    first: State[INT]
    workers: State[INT]

    def compute(self) -> None:
        """Reflect the column."""
        j = self.column
        largest, first = 0.0, 0.0
        for worker in range(self.workers):
            if self.found[worker * FOUND] > largest:
                largest = self.found[worker * FOUND]
            first += self.found[worker * FOUND + 1]
        factor = UP if largest < SMALL else (DOWN if largest > LARGE else 1.0)
        squares = 0.0
        for worker in range(self.workers):
            ratio = factor * self.found[worker * FOUND + 3]
            squares += self.found[worker * FOUND + 2] * ratio * ratio
        first *= factor
        length = math.sqrt(first * first + squares)
        reflected = -length if first >= 0.0 else length
        if squares == 0.0:
            reflected = first
        self.taus[j] = 0.0 if squares == 0.0 else (reflected - first) / reflected
        scale = 0.0 if squares == 0.0 else 1.0 / (first - reflected)
        rows = len(self.a[j])
        diagonal = min(max(j - self.first, -1), rows)
        for i in range(rows):
            self.v[j][i] = self.a[j][i] * factor * scale if i > diagonal else 0.0
        if 0 <= diagonal < rows:
            self.v[j][diagonal] = 1.0
            self.a[j][diagonal] = reflected / factor
        for c in range(j + 1, len(self.taus)):
            total = 0.0
            for i in range(max(diagonal, 0), rows):
                total += self.v[j][i] * self.a[c][i]
            self.dots[c] = total
        self.column = j + 1


class JoinReflectors(Vertex):
    """Computes row `row` of the upper triangular T from V' V; `I - V T V'` joins all reflectors.

    Source of the rule: LAPACK, `larft`; rows of T do not depend on each other.
    """

    products: Input[Vector[Vector[FLOAT]]]
    taus: Input[Vector[FLOAT]]
    t: InOut[Vector[FLOAT]]
    row: State[INT]

    def compute(self) -> None:
        """Compute element after element."""
        for j in range(len(self.taus)):
            total = 0.0
            for l in range(self.row, j):  # noqa: E741
                total += self.t[l] * self.products[j][l]
            tau = self.taus[j]
            self.t[j] = -tau * total if j > self.row else (tau if j == self.row else 0.0)


Element = type[ElementType[Any]]
Count = int | Int64


FOUR, EIGHT = 4, 8
"""Columns per step of the inner loops, for FLOAT and for HALF."""


# -- products of sparse matrices with dense matrices -----------------------------------------------
#
#     row   0        1  2              starts   0 2 3 ...      non-zeros starts[r] to starts[r + 1]
#     k     5 9      5  -              places   0 1 0 ...      belong to row r; non-zero i is
#     x     rows 5 and 9 of the dense matrix, once each        multiplied by row places[i] of x
#
# Worker w computes the rows from `shares[w]` to `shares[w + 1]`.
#
# Source of the cycles: PopLibs, `lib/popsparse/PerformanceEstimation.hpp`,
# `sparseDenseElementwiseMultiply` and `sparseDenseGradWElementwiseMultiply`, without the cost of
# buckets, which a fixed pattern does not have, and without the shorter entries for exactly two,
# four or eight columns. If the last step has only two columns, the first function counts all
# columns once more; here it does not.


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
