"""Blocks of linear algebra that one worker factors or solves: rows of matrices of FLOAT.

Larger matrices are cut into such blocks by `poplite.ops.linalg`, which does the rest by products.
"""

from __future__ import annotations

import math

from poplite.types import BOOL, FLOAT
from poplite.vertex.vertex import InOut, Input, State, Vector, Vertex

SMALL, LARGE = 2.0**-40, 2.0**40
"""Between them squares of FLOAT, and sums of many, neither vanish nor overflow."""

UP, DOWN = 2.0**86, 2.0**-86
"""Factors that bring what is below and above there; powers of two, which round nothing."""


class CholeskyBlock(Vertex):
    """Replaces the lower triangle of `a` by L with L L' = a; what is above it is not looked at.

    NaN from the first row on for which a is not positive definite.
    """

    a: InOut[Vector[Vector[FLOAT]]]

    def compute(self) -> None:
        """Make row after row."""
        for i in range(len(self.a)):
            for j in range(i + 1):
                rest = self.a[i][j]
                for k in range(j):
                    rest -= self.a[i][k] * self.a[j][k]
                if i > j:
                    self.a[i][j] = rest / self.a[j][j]
                else:
                    self.a[i][j] = math.sqrt(rest) if rest > 0.0 else math.nan


class LuBlock(Vertex):
    """Replaces a square by L and U with L U = a: L has 1 on its diagonal, which is not kept."""

    a: InOut[Vector[Vector[FLOAT]]]

    def compute(self) -> None:
        """Make row after row, without exchanging any."""
        for i in range(len(self.a)):
            for k in range(i):
                factor = self.a[i][k] / self.a[k][k]
                self.a[i][k] = factor
                for j in range(k + 1, len(self.a[i])):
                    self.a[i][j] -= factor * self.a[k][j]


class SolveBlock(Vertex):
    """Replaces columns x by the solution y of `a y = x`, where a is triangular.

    Only that triangle of a is looked at, and not its diagonal where it is `unit`.
    """

    a: Input[Vector[Vector[FLOAT]]]
    x: InOut[Vector[Vector[FLOAT]]]
    lower: State[BOOL]
    unit: State[BOOL]

    def compute(self) -> None:
        """Solve row after row: from the first one for a lower triangle, else from the last."""
        rows = len(self.x)
        for step in range(rows):
            i = step if self.lower else rows - 1 - step
            first = 0 if self.lower else i + 1
            end = i if self.lower else rows
            for k in range(first, end):
                factor = self.a[i][k]
                for j in range(len(self.x[i])):
                    self.x[i][j] -= factor * self.x[k][j]
            if not self.unit:
                for j in range(len(self.x[i])):
                    self.x[i][j] /= self.a[i][i]


class HouseholderBlock(Vertex):
    """Replaces columns `a` by R, and finds V and T with `a = (I - V T V') R`.

    Column j of V is 0 above row j and 1 there, and T is upper triangular: the reflectors
    I - tau v v' of all columns in one (LAPACK's `geqrt`). `sums` is room for one row.
    """

    a: InOut[Vector[Vector[FLOAT]]]
    v: InOut[Vector[Vector[FLOAT]]]
    t: InOut[Vector[Vector[FLOAT]]]
    sums: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        """Reflect column after column."""
        columns = len(self.sums)
        for j in range(columns):
            tau = self.reflect(j)
            for c in range(columns):
                self.sums[c] = 0.0
            # What V' v is in columns before j, and v' a in those behind.
            for i in range(j, len(self.a)):
                factor = self.v[i][j]
                for c in range(j):
                    self.sums[c] += self.v[i][c] * factor
                for c in range(j + 1, columns):
                    self.sums[c] += self.a[i][c] * factor
            for i in range(j, len(self.a)):
                factor = tau * self.v[i][j]
                for c in range(j + 1, columns):
                    self.a[i][c] -= factor * self.sums[c]
            for k in range(columns):
                total = 0.0
                for l in range(k, j):  # noqa: E741
                    total += self.t[k][l] * self.sums[l]
                self.t[k][j] = -tau * total if k < j else (tau if k == j else 0.0)

    def reflect(self, j: int) -> float:
        """Make column j of R and of V, and return tau."""
        rows = len(self.a)
        largest = 0.0
        for i in range(j, rows):
            largest = max(largest, abs(self.a[i][j]))
        # As LAPACK's `larfg` and `nrm2`: squares of 1e-25 are 0, those of 1e25 infinite.
        factor = UP if largest < SMALL else (DOWN if largest > LARGE else 1.0)
        squares = 0.0
        for i in range(j + 1, rows):
            self.a[i][j] *= factor
            squares += self.a[i][j] * self.a[i][j]
        first = self.a[j][j] * factor
        length = math.sqrt(first * first + squares)
        reflected = -length if first >= 0.0 else length
        if squares == 0.0:
            reflected = first
        tau = 0.0 if squares == 0.0 else (reflected - first) / reflected
        scale = 0.0 if squares == 0.0 else 1.0 / (first - reflected)
        for i in range(rows):
            self.v[i][j] = self.a[i][j] * scale if i > j else 0.0
        self.v[j][j] = 1.0
        for i in range(j + 1, rows):
            self.a[i][j] = 0.0
        self.a[j][j] = reflected / factor
        return tau
