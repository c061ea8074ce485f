"""Multigrid by vertices: seven classes, and a solver of levels that are functions.

Points of a level lie in blocks, whose rows the workers of a tile share; blocks begin at odd rows
and columns, as the points of the next level lie at even ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite import ops

if TYPE_CHECKING:
    from poplite.expr.tree import Expr

Floats = npt.NDArray[np.float32]

SIZE, GRID = 1023, (92, 16)
"""Blocks are wide, since memory holds the square by rows."""

REDUCTION = 1e-6
MOST_CYCLES = 30


class Residual(pl.Vertex):
    """`r = b - A (high + low)`.

    Differences of neighbours are small and nearly exact, so they are taken first.
    """

    high: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    low: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    r: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Inputs but b are a point wider than r on every side, here and below."""
        for i in range(len(self.r)):
            for j in range(len(self.r[i])):
                u = self.high[i + 1][j + 1]
                across = (u - self.high[i + 1][j]) - (self.high[i + 1][j + 2] - u)
                along = (u - self.high[i][j + 1]) - (self.high[i + 2][j + 1] - u)
                sides = self.low[i + 1][j] + self.low[i + 1][j + 2]
                around = (self.low[i][j + 1] + self.low[i + 2][j + 1]) + sides
                rest = 4.0 * self.low[i + 1][j + 1] - around
                self.r[i][j] = self.b[i][j] - ((across + along) + rest)


class Start(pl.Vertex):
    """Two sweeps from e = 0: the first makes 0.2 b everywhere."""

    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    e: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Blend every point of b with its neighbours."""
        for i in range(len(self.e)):
            for j in range(len(self.e[i])):
                around = self.b[i][j + 1] + self.b[i + 2][j + 1]
                around = around + self.b[i + 1][j] + self.b[i + 1][j + 2]
                self.e[i][j] = 0.24 * self.b[i + 1][j + 1] + 0.04 * around


class Smooth(pl.Vertex):
    """One sweep of damped Jacobi."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Blend every point with its neighbours and b."""
        for i in range(len(self.new)):
            for j in range(len(self.new[i])):
                around = self.old[i][j + 1] + self.old[i + 2][j + 1]
                around = around + self.old[i + 1][j] + self.old[i + 1][j + 2]
                self.new[i][j] = 0.2 * (self.old[i + 1][j + 1] + around + self.b[i][j])


class Defect(pl.Vertex):
    """`r = b - A e`."""

    e: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    r: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """What the neighbours leave of b."""
        for i in range(len(self.r)):
            for j in range(len(self.r[i])):
                around = self.e[i][j + 1] + self.e[i + 2][j + 1]
                around = around + self.e[i + 1][j] + self.e[i + 1][j + 2]
                self.r[i][j] = self.b[i][j] + around - 4.0 * self.e[i + 1][j + 1]


class Restrict(pl.Vertex):
    """b of the next level: 4 times the mean of r, whose weights are 1 2 1, 2 4 2, 1 2 1."""

    r: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """A point of b lies on the point 2 i + 1, 2 j + 1 of r."""
        for i in range(len(self.b)):
            for j in range(len(self.b[i])):
                left = self.r[2 * i][2 * j] + self.r[2 * i + 2][2 * j]
                left = left + 2.0 * self.r[2 * i + 1][2 * j]
                here = self.r[2 * i][2 * j + 1] + self.r[2 * i + 2][2 * j + 1]
                here = here + 2.0 * self.r[2 * i + 1][2 * j + 1]
                right = self.r[2 * i][2 * j + 2] + self.r[2 * i + 2][2 * j + 2]
                right = right + 2.0 * self.r[2 * i + 1][2 * j + 2]
                self.b[i][j] = 0.25 * (left + right + 2.0 * here)


class Correct(pl.Vertex):
    """Add e of the next level: its points, and the means of two and four of them between."""

    coarse: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    e: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Rows and columns 0, 2, ... of e lie between two of the next level."""
        for i in range(len(self.e)):
            above, below = (i + 1) // 2, i // 2 + 1
            n = len(self.e[i])
            for j in range(n // 2):
                before = 0.5 * (self.coarse[above][j] + self.coarse[below][j])
                there = 0.5 * (self.coarse[above][j + 1] + self.coarse[below][j + 1])
                self.e[i][2 * j] += 0.5 * (before + there)
                self.e[i][2 * j + 1] += there
            if n % 2 == 1:
                before = 0.5 * (self.coarse[above][n // 2] + self.coarse[below][n // 2])
                there = 0.5 * (self.coarse[above][n // 2 + 1] + self.coarse[below][n // 2 + 1])
                self.e[i][n - 1] += 0.5 * (before + there)


class Add(pl.Vertex):
    """`high + low += e`: what high has no digits for goes to low."""

    e: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    high: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]
    low: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """The exact error of each sum is a float32 as well."""
        for i in range(len(self.e)):
            for j in range(len(self.e[i])):
                old, more = self.high[i][j], self.e[i][j]
                new = old + more
                taken = new - old
                self.low[i][j] += (old - (new - taken)) + (more - taken)
                self.high[i][j] = new


def charges(size: int) -> Floats:
    """Return charges of 1 and -1 at 24 places of the square: float32[size, size]."""
    places = np.random.default_rng(1).random((24, 2))
    b = np.zeros((size, size), np.float32)
    b[tuple((places * size).astype(int).T)] = np.resize([1, -1], len(places))
    return b


class Level:
    """Points of one level, with the edge around them, and who works on which block.

    Args:
        graph: gets the variables.
        number: of the level.
        size: points of a side: one less than a power of two.
        grid: blocks along rows and along columns.
    """

    def __init__(self, graph: pl.Graph, number: int, size: int, grid: tuple[int, int]) -> None:
        self.graph, self.size = graph, size
        pairs = (size + 1) // 2  # a block begins at an odd row and column, as the next level does
        along_rows, along_columns = (min(each, max(1, pairs // 2)) for each in grid)
        self.blocks = [
            tuple(slice(2 * each.start + 1, min(2 * each.stop, size) + 1) for each in block)
            for block in pl.grid_blocks((pairs, pairs), (along_rows, along_columns))
        ]
        self.e, self.other, self.b = (self.variable(f"{name}{number}") for name in ("e", "r", "b"))

    def variable(self, name: str) -> pl.Tensor:
        """Add a variable of all points, 0 at first, mapped in blocks."""
        end = self.size + 1
        made = self.graph.add_variable(pl.FLOAT, (end + 1,) * 2, name, initial_value=0)
        for tile, block in enumerate(self.blocks):
            with_edge = (
                slice(each.start - (each.start == 1), each.stop + (each.stop == end))
                for each in block
            )
            self.graph.set_tile_mapping(made[tuple(with_edge)], tile)
        return made

    def step(self, vertex: type[pl.Vertex], **fields: tuple[pl.Tensor, str]) -> pl.Execute:
        """Return a step on all points.

        Args:
            vertex: for the rows of a worker.
            fields: a variable and how a vertex sees it: "points", or "around" with a point more
                on every side; of the next "finer" or "coarser" level likewise.
        """
        work = self.graph.add_compute_set(vertex.__name__.lower())
        workers = self.graph.target.workers
        for tile, (rows, columns) in enumerate(self.blocks):
            pairs = (rows.stop - rows.start + 1) // 2
            for worker in range(min(workers, pairs)):
                begin = rows.start + 2 * pl.cut(worker, pairs, min(workers, pairs))
                end = rows.start + 2 * pl.cut(worker + 1, pairs, min(workers, pairs))
                part = slice(begin, min(end, rows.stop))
                self.graph.add_vertex(
                    work,
                    vertex,
                    tile=tile,
                    **{
                        name: tensor[seen(part, how), seen(columns, how)]
                        for name, (tensor, how) in fields.items()
                    },
                )
        return pl.Execute(work)


def seen(part: slice, how: str) -> slice:
    """Return the part of a row or a column that a vertex sees, counted with the edge."""
    if how == "points":
        return part
    if how == "around":
        return slice(part.start - 1, part.stop + 1)
    if how == "finer":
        return slice(2 * part.start - 1, 2 * part.stop)
    return slice(part.start // 2, part.stop // 2 + 1)


class Solver:
    """The graph, and the program that solves.

    Args:
        size: points of a side: one less than a power of two, at least 3.
        grid: blocks of the finest level along rows and along columns, one on each tile.

    Attributes:
        b: charges, [size, size].
        high, low: whose sum is the potential, likewise.
        limit: to which the norm of the residual is reduced.
        cycles: how many V-cycles that took.
        norms: of the residual before each.
    """

    def __init__(self, size: int, grid: tuple[int, int]) -> None:
        graph = self.graph = pl.Graph(pl.Target(tiles=grid[0] * grid[1]))
        self.levels = [
            Level(graph, number, 2**power - 1, grid)
            for number, power in enumerate(range((size + 1).bit_length() - 1, 0, -1))
        ]
        finest, inside = self.levels[0], slice(1, -1)
        b, high, low = (finest.variable(name) for name in ("b", "high", "low"))
        self.b, self.high, self.low = (each[inside, inside] for each in (b, high, low))
        self.limit = graph.add_variable(pl.FLOAT, (), "limit", mapping=0)
        self.cycles = graph.add_variable(pl.UNSIGNED_INT, (), "cycles", mapping=0)
        self.norms = graph.add_variable(pl.FLOAT, (MOST_CYCLES + 1,), "norms", mapping=0)
        r = finest.b[inside, inside]
        left = finest.step(
            Residual,
            high=(high, "around"),
            low=(low, "around"),
            b=(b, "points"),
            r=(finest.b, "points"),
        )
        add = finest.step(Add, e=(finest.e, "points"), high=(high, "points"), low=(low, "points"))
        cycle = self.cycle_from(0)
        with graph.steps("solve") as self.program:
            for each in (self.cycles, self.norms, self.high, self.low):
                ops.zero(each)

            def is_left() -> Expr:
                self.program.add(left)
                norm = ops.map(ops.norm(r), name="norm")
                is_now = ops.equal(ops.iota((MOST_CYCLES + 1,), pl.UNSIGNED_INT), self.cycles)
                ops.assign(self.norms, ops.select(norm, self.norms, is_now))
                return ops.logical_and(norm > self.limit, self.cycles < MOST_CYCLES)

            with ops.while_(is_left):
                self.program.add(pl.Call(cycle))
                self.program.add(add)
                ops.assign(self.cycles, self.cycles + 1)

    def cycle_from(self, number: int) -> pl.Function:
        """Return the function that makes e of a level from its b."""
        level, name = self.levels[number], f"level {number}"
        if level.size == 1:
            point = pl.Sequence()
            ops.assign(level.e[1, 1], 0.25 * level.b[1, 1], program=point)
            return self.graph.add_function(point, name)
        e, other, b = level.e, level.other, level.b
        coarser = self.levels[number + 1]
        steps = [
            level.step(Start, b=(b, "around"), e=(e, "points")),
            level.step(Defect, e=(e, "around"), b=(b, "points"), r=(other, "points")),
            coarser.step(Restrict, r=(other, "finer"), b=(coarser.b, "points")),
            pl.Call(self.cycle_from(number + 1)),
            level.step(Correct, coarse=(coarser.e, "coarser"), e=(e, "points")),
            *(
                level.step(Smooth, old=(old, "around"), b=(b, "points"), new=(new, "points"))
                for old, new in ((e, other), (other, e))
            ),
        ]
        return self.graph.add_function(pl.Sequence(*steps), name)
