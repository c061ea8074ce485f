"""Blocks of linear algebra: factorisations, triangular systems, Householder reflectors.

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

from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, INT
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex
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
