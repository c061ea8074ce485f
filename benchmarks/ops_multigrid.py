"""Whole programs of operations, compared with NumPy: multigrid, networks.

python benchmarks/ops_multigrid.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from ops_maps import least
from poplite import ops
from rows import BLAS_SPINS, SETTLING, Row, check, example, in_turn, run

if TYPE_CHECKING:
    from poplite.expr.tree import Expr


# -- levels by hand --------------------------------------------------------------------------------
# Points of a level are divided into blocks, whose rows the workers of a tile share; blocks begin at
# odd rows and columns, since the points of the next level are at even ones.


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
        """Point i, j of b coincides with point 2 i + 1, 2 j + 1 of r."""
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
        """Rows and columns 0, 2, ... of e are between two of the next level."""
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


def charges_of(size: int) -> Floats:
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
        high, low: two tensors of that shape, whose sum is the potential.
        limit: to which the norm of the residual is reduced.
        cycles: the number of V-cycles that took.
        norms: of the residual before each V-cycle.
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


# -- multigrid -------------------------------------------------------------------------------------
# The vertices of `ops_multigrid.py` against the same cycle by a user of Numba: rows of
# every step in parallel, the norm of the residual in the loop that makes it, all V-cycles in one
# compiled call.


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def residual(high: Any, low: Any, b: Any, r: Any) -> Any:
    total = 0.0
    four = np.float32(4)
    for i in numba.prange(1, r.shape[0] - 1):
        squares: Any = np.float32(0)
        for j in range(1, r.shape[1] - 1):
            u = high[i, j]
            across = (u - high[i, j - 1]) - (high[i, j + 1] - u)
            along = (u - high[i - 1, j]) - (high[i + 1, j] - u)
            sides = low[i, j - 1] + low[i, j + 1]
            rest = four * low[i, j] - ((low[i - 1, j] + low[i + 1, j]) + sides)
            r[i, j] = b[i, j] - ((across + along) + rest)
        for j in range(1, r.shape[1] - 1):
            squares += r[i, j] * r[i, j]
        total += squares
    return np.sqrt(total)


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def start(b: Any, e: Any) -> None:
    middle, side = np.float32(0.24), np.float32(0.04)
    for i in numba.prange(1, e.shape[0] - 1):
        for j in range(1, e.shape[1] - 1):
            around = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
            e[i, j] = middle * b[i, j] + side * around


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def smooth(old: Any, b: Any, new: Any) -> None:
    fifth = np.float32(0.2)
    for i in numba.prange(1, new.shape[0] - 1):
        for j in range(1, new.shape[1] - 1):
            around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
            new[i, j] = fifth * (old[i, j] + around + b[i, j])


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def defect(e: Any, b: Any, r: Any) -> None:
    four = np.float32(4)
    for i in numba.prange(1, r.shape[0] - 1):
        for j in range(1, r.shape[1] - 1):
            around = e[i - 1, j] + e[i + 1, j] + e[i, j - 1] + e[i, j + 1]
            r[i, j] = b[i, j] + around - four * e[i, j]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def restrict(r: Any, b: Any) -> None:
    two, quarter = np.float32(2), np.float32(0.25)
    for i in numba.prange(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            y, x = 2 * i, 2 * j
            left = r[y - 1, x - 1] + r[y + 1, x - 1] + two * r[y, x - 1]
            here = r[y - 1, x] + r[y + 1, x] + two * r[y, x]
            right = r[y - 1, x + 1] + r[y + 1, x + 1] + two * r[y, x + 1]
            b[i, j] = quarter * (left + right + two * here)


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def correct(coarse: Any, e: Any) -> None:
    half = np.float32(0.5)
    for i in numba.prange(1, e.shape[0] - 1):
        above, below = i // 2, (i + 1) // 2
        for j in range((e.shape[1] - 2) // 2 + 1):
            before = half * (coarse[above, j] + coarse[below, j])
            there = half * (coarse[above, j + 1] + coarse[below, j + 1])
            e[i, 2 * j + 1] += half * (before + there)
            if 2 * j + 2 < e.shape[1] - 1:
                e[i, 2 * j + 2] += there


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add(e: Any, high: Any, low: Any) -> None:
    for i in numba.prange(1, e.shape[0] - 1):
        for j in range(1, e.shape[1] - 1):
            old, more = high[i, j], e[i, j]
            new = old + more
            taken = new - old
            low[i, j] += (old - (new - taken)) + (more - taken)
            high[i, j] = new


@numba.njit  # type: ignore[untyped-decorator]
def v_cycle(e: Any, other: Any, b: Any) -> None:
    """One V-cycle; levels are lists of arrays."""
    last = len(e) - 1
    for k in range(last):
        start(b[k], e[k])
        defect(e[k], b[k], other[k])
        restrict(other[k], b[k + 1])
    e[last][1, 1] = np.float32(0.25) * b[last][1, 1]
    for k in range(last - 1, -1, -1):
        correct(e[k + 1], e[k])
        smooth(e[k], b[k], other[k])
        smooth(other[k], b[k], e[k])


@numba.njit  # type: ignore[untyped-decorator]
def solve(b: Any, high: Any, low: Any, levels: Any, limit: float) -> int:
    """What a Numba user writes; returns how many cycles it took."""
    e, other, right = levels
    high[:], low[:] = 0, 0
    cycles = 0
    while residual(high, low, b, right[0]) > limit:
        v_cycle(e, other, right)
        add(e[0], high, low)
        cycles += 1
    return cycles


def rows_of_multigrid(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size, grid = (31, (4, 2)) if small else (SIZE, GRID)
    solver = Solver(size, grid)
    engine = pl.Engine(solver.graph, solver.program, checks="fast")
    charges = charges_of(size)
    limit = REDUCTION * float(np.linalg.norm(charges))
    engine.write(solver.b, charges)
    engine.write(solver.limit, limit)
    sides = [2**power + 1 for power in range((size + 1).bit_length() - 1, 0, -1)]
    levels = tuple(
        numba.typed.List([np.zeros((side, side), np.float32) for side in sides]) for _ in range(3)
    )
    b = np.pad(charges, 1)
    high, low = np.zeros_like(b), np.zeros_like(b)

    def hand() -> int:
        return int(solve(b, high, low, levels, limit))

    engine.run()
    if int(engine.read(solver.cycles)) != hand():
        sys.exit("multigrid: the numbers of cycles differ")
    for name, tensor, by_hand in (("high", solver.high, high), ("low", solver.low, low)):
        check(f"multigrid, {name}", engine.read(tensor), by_hand[1:-1, 1:-1].copy())
    ours, theirs = in_turn(engine.run, hand, samples, warm_up=0.0 if small else SETTLING)
    name = f"multigrid {size} x {size}: poplite / prange"
    return [Row(name, least(ours, theirs), "x", "<=", 2.0, ours, theirs)]


# -- networks --------------------------------------------------------------------------------------
# An epoch of `examples/digits.py`: 22 steps of batches of 64 pictures, in float32. Eight steps of
# an LSTM and of a GRU of 256 inputs and 256 units, 64 sequences at a time, against as many
# products a step in NumPy. Each side runs a layer several times in its turn, since the first time
# finds its threads asleep, whether ours or those of BLAS; ours begin when those of BLAS sleep.


TILES = 16

TOLERANCE = 1e-3
"""Tolerance for the loss of an epoch against NumPy's, since numbers are added in another order."""

IN_A_ROW = 16
"""Layers of a turn."""


def rows_of_networks(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    layers = [a_recurrent_layer(kind, small, samples) for kind in ("LSTM", "GRU")]
    return [an_epoch(small, samples), *layers]


def sigmoid(x: Floats) -> Floats:
    """The sigmoid of each element."""
    result: Floats = np.reciprocal(1 + np.exp(-x))
    return result


def numpy_lstm(x: Floats, weights: Floats, bias: Floats) -> Floats:
    """The outputs of an LSTM, whose weights are one matrix."""
    h = c = np.zeros((x.shape[1], len(bias) // 4), np.float32)
    outputs = []
    for part in x:
        f, i, a, o = np.split(np.concatenate([part, h], 1) @ weights + bias, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(a)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs)


def numpy_gru(x: Floats, of_gates: Floats, of_candidate: Floats, bias: Floats) -> Floats:
    """The outputs of a GRU, whose weights are two matrices."""
    units = len(bias) // 3
    h = np.zeros((x.shape[1], units), np.float32)
    outputs = []
    for part in x:
        gates = np.concatenate([part, h], 1) @ of_gates + bias[: 2 * units]
        r, u = np.split(sigmoid(gates), 2, 1)
        a = np.tanh(np.concatenate([part, r * h], 1) @ of_candidate + bias[2 * units :])
        h = u * h + (1 - u) * a
        outputs.append(h)
    return np.stack(outputs)


def a_recurrent_layer(kind: str, small: bool, samples: int) -> Row:
    """Steps of an LSTM or a GRU."""
    steps, batch, units = (2, 4, 8) if small else (8, 64, 256)
    graph = pl.Graph(pl.Target(tiles=TILES))
    plan_of = ops.nn.plan_lstm if kind == "LSTM" else ops.nn.plan_gru
    plan = plan_of(graph, batch=batch, inputs=units, units=units)
    x, weights = plan.create_input(steps, "x"), plan.create_weights("weights")
    random = np.random.default_rng(1)
    values: list[Any] = []
    for each in (x, *weights):
        values.append((0.1 * random.standard_normal(each.shape)).astype(np.float32))
        graph.set_initial_value(each, values[-1])
    with graph.steps("layer") as layer:
        layer_of = ops.nn.lstm if kind == "LSTM" else ops.nn.gru
        outputs = layer_of(x, weights, inference=True).outputs
    engine = pl.Engine(graph, layer, checks="fast")
    engine.run()
    both = np.concatenate(values[1:3], 1).transpose(1, 0, 2)
    parts = np.split(both.reshape(2 * units, -1), [] if kind == "LSTM" else [2 * units], 1)
    matrices, bias = [np.ascontiguousarray(part) for part in parts], values[3].ravel()
    numpy_layer: Callable[..., Floats] = numpy_lstm if kind == "LSTM" else numpy_gru
    by_numpy = partial(numpy_layer, values[0], *matrices, bias)
    if abs(engine.read(outputs) - by_numpy()).max() > 1e-5:
        sys.exit("the outputs differ")
    calls, warm_up, rest = (1, 0.0, 0.0) if small else (IN_A_ROW, SETTLING, BLAS_SPINS)
    before = partial(time.sleep, rest)
    ours, theirs = in_turn(engine.run, by_numpy, samples, before, warm_up, calls)
    what = f"{kind} of 256 units x 64: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


def numpy_step(
    digits: Any, x: Floats, labels: Any, weights: list[Floats], speeds: list[Floats]
) -> np.float32:
    """Train on one batch, in place, as a step of digits.py does; return its loss."""
    w0, b0, w1, b1 = weights
    hidden = np.maximum(x @ w0 + b0, 0)
    logits = hidden @ w1 + b1
    less = logits - logits.max(1, keepdims=True)
    powers = np.exp(less)
    sums = powers.sum(1, keepdims=True)
    row = np.arange(len(x))
    loss: np.float32 = (np.log(sums[:, 0]) - less[row, labels]).mean()
    by_logits = powers / sums
    by_logits[row, labels] -= 1
    by_logits /= np.float32(len(x))
    by_hidden = np.where(hidden > 0, by_logits @ w1.T, np.float32(0))
    gradients = (x.T @ by_hidden, by_hidden.sum(0), hidden.T @ by_logits, by_logits.sum(0))
    for each, gradient, speed in zip(weights, gradients, speeds, strict=True):
        speed *= np.float32(digits.MOMENTUM)
        speed += gradient
        each -= np.float32(digits.RATE) * speed
    return loss


def an_epoch(small: bool, samples: int) -> Row:
    """An epoch of training."""
    digits = example("digits")
    size, (pictures, labels) = digits.BATCH, (each[digits.TESTS :] for each in digits.load())
    batches = 2 if small else len(pictures) // size
    graph, programs = digits.build(batches, TILES)
    engine = pl.Engine(graph, programs["train"], checks="fast")
    x, labels = pictures[: batches * size], labels[: batches * size]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    weights = [engine.read(name) for name in digits.FIRST]
    speeds = [np.zeros_like(each) for each in weights]

    def by_numpy() -> float:
        parts = (slice(k, k + size) for k in range(0, len(x), size))
        steps = [numpy_step(digits, x[part], labels[part], weights, speeds) for part in parts]
        return float(np.mean(steps))

    engine.run()
    if abs(float(engine.read("loss")) / by_numpy() - 1) > TOLERANCE:
        sys.exit("the losses differ")
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
    what = "an epoch of digits.py: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = (rows_of_multigrid, rows_of_networks)
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
