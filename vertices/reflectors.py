"""Householder's reflectors of some columns, found by several workers: columns of FLOAT.

    worker 0    a a a      each has some rows of all columns, as a vector for each column
    worker 1    a a a
                           for each column:
    UpdateColumns          a -= tau v (v' a), the reflector before; what the next column is long
    ReflectColumn          v and tau of that column, from what all workers found; parts of v' a

What workers find is added in their order, on each of them: so all have the same tau. Reflectors
are those of LAPACK's `larfg`, I - tau v v', where v is 0 above row j of column j, and 1 there.
"""

from __future__ import annotations

import math

from poplite.types import FLOAT, INT
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex

SMALL, LARGE = 2.0**-40, 2.0**40
"""Between them squares of FLOAT, and sums of many, neither vanish nor overflow."""

UP, DOWN = 2.0**86, 2.0**-86
"""Factors that bring what is below and above there; powers of two, which round nothing."""

FOUND = 4
"""Numbers that a worker finds of a column: the largest, what is on the diagonal, squares of what is
below it times a factor, and one over that factor."""


class UpdateColumns(Vertex):
    """Applies the reflector of the column before, and measures column `column`.

    `a` and `v` are columns of the worker's rows, from row `first` on. `dots` has v' a of each
    of the `workers`. Squares are of numbers times a factor, by the largest, as in LAPACK's `nrm2`.
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
        """Subtract, column after column; then measure."""
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
        largest = 0.0  # not of NaN, which the squares keep
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
    """Makes a column of V, its tau, and its number of R; and its products with columns behind.

    `found` has what each worker found in `UpdateColumns`, which has the other fields. What is below
    the diagonal of `a` stays, and counts for 0. In the end `column` is the next one.
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
    """Finds row `row` of the upper triangle T with `I - V T V'` all reflectors in one, from V' V.

    Source of the rule: LAPACK, `larft`; rows of T do not depend on each other.
    """

    products: Input[Vector[Vector[FLOAT]]]
    taus: Input[Vector[FLOAT]]
    t: InOut[Vector[FLOAT]]
    row: State[INT]

    def compute(self) -> None:
        """Make number after number."""
        for j in range(len(self.taus)):
            total = 0.0
            for l in range(self.row, j):  # noqa: E741
                total += self.t[l] * self.products[j][l]
            tau = self.taus[j]
            self.t[j] = -tau * total if j > self.row else (tau if j == self.row else 0.0)
