"""Vertices of the stencils that were measured, written like their C++ (simehaa/IPU, and a thesis).

Where that handles two cells as a vector, so does this: an element represents a vector of two.
"""

from __future__ import annotations

import poplite as pl


class Heat3D(pl.Vertex):
    """One step of heat in three dimensions, as simehaa/IPU's HeatEquationSimple writes it."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend every cell with its six neighbours."""
        beta = 1.0 - 6.0 * self.alpha
        wide = self.width + 2
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 1) * wide + y + 1
                for z in range(self.depth):
                    around = self.old[at + wide][z + 1] + self.old[at - wide][z + 1]
                    around += self.old[at + 1][z + 1] + self.old[at - 1][z + 1]
                    around += self.old[at][z + 2] + self.old[at][z]
                    middle = beta * self.old[at][z + 1]
                    self.new[x * self.width + y][z] = middle + self.alpha * around


class Heat3DPairs(pl.Vertex):
    """The same by pairs of cells (HeatEquationOptimized): an element is a vector of two."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    pairs: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend pairs with their neighbours; the two lanes are stored one by one."""
        beta = 1.0 - 6.0 * self.alpha
        wide = self.width + 2
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 1) * wide + y + 1
                for z in range(1, self.pairs):
                    left = self.old[at][z - 1] + self.old[at][z]
                    right = self.old[at][z] + self.old[at][z + 1]
                    around = left + self.old[at - wide][z] + self.old[at + wide][z]
                    around += self.old[at - 1][z] + self.old[at + 1][z]
                    self.new[x * self.width + y][2 * z - 1] = (
                        beta * self.old[at][z] + self.alpha * around
                    )
                    self.new[x * self.width + y][2 * z] = right


class Heat2DPairs(pl.Vertex):
    """One step of heat on a plate by pairs of cells, an element a vector of two."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    pairs: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend pairs with their neighbours; the two lanes are stored one by one."""
        beta = 1.0 - 4.0 * self.alpha
        for r in range(self.height):
            for j in range(1, self.pairs):
                left = self.old[r + 1][j - 1] + self.old[r + 1][j]
                right = self.old[r + 1][j] + self.old[r + 1][j + 1]
                around = self.old[r][j] + left + self.old[r + 2][j]
                self.new[r][2 * j - 1] = beta * self.old[r + 1][j] + self.alpha * around
                self.new[r][2 * j] = right


class AlievPanfilov(pl.Vertex):
    """One step of the Aliev-Panfilov model of the heart (simehaa/IPU)."""

    e_in: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    e_out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    r: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    delta: pl.State[pl.FLOAT]
    epsilon: pl.State[pl.FLOAT]
    my1: pl.State[pl.FLOAT]
    my2: pl.State[pl.FLOAT]
    h: pl.State[pl.FLOAT]
    dt: pl.State[pl.FLOAT]
    k: pl.State[pl.FLOAT]
    a: pl.State[pl.FLOAT]
    b: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Excite and recover every cell."""
        d_h2 = self.delta / (self.h * self.h)
        b_plus_one = self.b + 1.0
        for i in range(self.height):
            for j in range(self.width):
                e = self.e_in[i + 1][j + 1]
                around = self.e_in[i + 2][j + 1] + self.e_in[i][j + 1]
                around += self.e_in[i + 1][j + 2] + self.e_in[i + 1][j]
                change = d_h2 * (-4.0 * e + around)
                change -= self.k * e * (e - self.a) * (e - 1.0)
                change -= e * self.r[i][j]
                self.e_out[i][j] = e + change * self.dt
                recovery = -self.epsilon - self.my1 * self.r[i][j] / (self.my2 + e)
                recovery *= self.r[i][j] + self.k * e * (e - b_plus_one)
                self.r[i][j] = self.r[i][j] + recovery * self.dt


class Diffusion(pl.Vertex):
    """One step of diffusion in three dimensions, by differences of the fourth order."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]
    dt: pl.State[pl.FLOAT]
    r0: pl.State[pl.FLOAT]
    r1: pl.State[pl.FLOAT]
    r2: pl.State[pl.FLOAT]
    r3: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend every cell with two neighbours on each of its six sides."""
        wide = self.width + 4
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 2) * wide + y + 2
                for z in range(self.depth):
                    e = self.old[at][z + 2]
                    middle = -2.5 * e
                    far = self.old[at - 2 * wide][z + 2] + self.old[at + 2 * wide][z + 2]
                    near = self.old[at - wide][z + 2] + self.old[at + wide][z + 2]
                    change = self.r1 * (middle - 0.083333333 * far + 1.3333333 * near)
                    far = self.old[at - 2][z + 2] + self.old[at + 2][z + 2]
                    near = self.old[at - 1][z + 2] + self.old[at + 1][z + 2]
                    change += self.r2 * (middle - 0.083333333 * far + 1.3333333 * near)
                    far = self.old[at][z] + self.old[at][z + 4]
                    near = self.old[at][z + 1] + self.old[at][z + 3]
                    change += self.r3 * (middle - 0.083333333 * far + 1.3333333 * near)
                    self.new[x * self.width + y][z] = self.dt * (self.alpha * change + self.r0 * e)


class Wave(pl.Vertex):
    """One step of a damped wave in three dimensions, by differences of the fourth order."""

    now: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    before: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    damp: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    speed: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    r0: pl.State[pl.FLOAT]
    r1: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Move every cell on by what it and its neighbours are and were."""
        wide = self.width + 4
        for x in range(self.height):
            for y in range(self.width):
                row, at = x * self.width + y, (x + 2) * wide + y + 2
                for z in range(self.depth):
                    e, damp = self.now[at][z + 2], self.damp[row][z]
                    r2 = 1.0 / (self.speed[row][z] * self.speed[row][z])
                    inertia = r2 * (2.0 * self.r0 * e - self.r0 * self.before[row][z])
                    far = self.now[at - 2 * wide][z + 2] + self.now[at - 2][z + 2]
                    far += self.now[at][z] + self.now[at][z + 4]
                    far += self.now[at + 2][z + 2] + self.now[at + 2 * wide][z + 2]
                    near = self.now[at - wide][z + 2] + self.now[at - 1][z + 2]
                    near += self.now[at][z + 1] + self.now[at][z + 3]
                    near += self.now[at + 1][z + 2] + self.now[at + wide][z + 2]
                    pull = 0.013333333 * near - 0.00083333332 * far - 0.075 * e
                    force = self.r1 * damp * e + inertia + pull
                    self.new[row][z] = force / (self.r0 * r2 + self.r1 * damp)
