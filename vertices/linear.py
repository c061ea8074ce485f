"""Blocks of linear algebra that one worker factors or solves: rows of matrices of FLOAT.

Larger matrices are cut into such blocks by `poplite.ops.linalg`, which does the rest by products.
Cholesky takes the cycles of PopLibs' vertex; the others take those of their compiled code, as
PopLibs' `TriangularSolve` has one column and a diagonal of 1, and it has no vertex for LU alike.
"""

from __future__ import annotations

import math

from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT
from poplite.vertex.vertex import InOut, Input, State, Vector, Vertex
from poplite.vertices.estimators.poplibs_tile import cholesky


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
