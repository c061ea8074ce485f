"""Blocks of linear algebra that one worker factors or solves: rows of matrices of FLOAT.

Larger matrices are cut into such blocks by `poplite.ops.linalg`, which does the rest by products.
Cholesky and triangles take the cycles of PopLibs' vertices `Cholesky` and `TriangularSolve`, which
has a diagonal of 1; a block of LU, for which PopLibs has none alike, takes those of its code.
"""

from __future__ import annotations

import math

from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT
from poplite.vertex.vertex import InOut, Input, State, Vector, Vertex
from poplite.vertices.estimators.poplibs import binary
from poplite.vertices.estimators.poplibs_tile import cholesky, triangular_solve


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

    def cycles(self, target: Target) -> int:
        """Return its slots, by PopLibs' fit to the machine."""
        return -(-cholesky(len(self.a), target) // target.workers)


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


class SolveColumn(Vertex):
    """Replaces a column x by the solution y of `a y = x`, where a is triangular.

    Only that triangle of a is looked at, and not its diagonal where it is `unit`.
    """

    a: Input[Vector[Vector[FLOAT]]]
    x: InOut[Vector[FLOAT]]
    lower: State[BOOL]
    unit: State[BOOL]

    def compute(self) -> None:
        """Solve row after row: from the first one for a lower triangle, else from the last."""
        rows = len(self.x)
        for step in range(rows):
            i = step if self.lower else rows - 1 - step
            rest = self.x[i]
            for k in range(0 if self.lower else i + 1, i if self.lower else rows):
                rest -= self.a[i][k] * self.x[k]
            self.x[i] = rest if self.unit else rest / self.a[i][i]

    def cycles(self, target: Target) -> int:
        """Return its slots, by PopLibs' fit to the machine, and by its quotients of vectors."""
        rows = len(self.x)
        slots = -(-triangular_solve(rows, target, lower=self.lower) // target.workers)
        return slots + (0 if self.unit else binary("divide", FLOAT, rows, target, in_place=True))
