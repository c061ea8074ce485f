"""The engine against hand-written code: rows R1 to R30, a photograph, floating point, Pallas.

    python benchmarks/engine.py [--samples 9] [--json FILE] [--small]

Every row first checks that both sides give the same bits, then times them alternately.  Rows R17
and R18, compiling a vertex and loading it, are in compilation.py; R20 uses several processes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt

import engine_axpy
import engine_kernels
import poplite as pl
from engine_axpy import axpy_engine
from engine_kernels import SquareProduct, matmul_engine, operands
from poplite import ops
from rows import SETTLING, Row, check, example, in_turn, run

# -- faster forms ----------------------------------------------------------------------------------


class AddProduct(pl.Vertex):
    """`c += a b`, of matrices."""

    a: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    c: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Add up the products of one element after the other."""
        for i in range(len(self.c)):
            for j in range(len(self.c[i])):
                total = self.c[i][j]
                for k in range(len(self.b)):
                    total += self.a[i][k] * self.b[k][j]
                self.c[i][j] = total

    @pl.faster(bits="equal")
    def by_rows(self) -> None:
        """Add multiples of rows of b to rows of c."""
        for i in range(len(self.c)):
            for k in range(len(self.b)):
                for j in range(len(self.c[i])):
                    self.c[i][j] += self.a[i][k] * self.b[k][j]


def rows_of_faster_forms(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    blocks, size, times = (2, 9, 1) if small else (64, 64, 4)
    graph = pl.Graph(pl.Target(tiles=blocks))
    drawn = np.random.default_rng(0)
    a, b, c = (
        graph.add_variable(
            pl.FLOAT,
            (blocks, size, size),
            name,
            mapping="linear",
            initial_value=drawn.standard_normal((blocks, size, size)).astype(np.float32),
        )
        for name in "abc"
    )
    product = graph.add_compute_set("product")
    for block in range(blocks):
        graph.add_vertex(product, AddProduct, tile=block, a=a[block], b=b[block], c=c[block])
    program = pl.Repeat(times, pl.Execute(product))

    def engine(faster: bool) -> Any:
        return pl.Engine(graph, program, checks="fast", faster=faster)

    faster, defined = engine(True), engine(False)
    faster.run()
    defined.run()
    name = f"faster form, {blocks} products of {size} x {size}: by rows / compute"
    check(name, faster.read(c), defined.read(c))
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(faster.run, defined.run, samples, warm_up=warm_up)
    return [Row(name, min(ours) / min(theirs), "x", "<=", 0.5, ours, theirs)]


# -- reductions ------------------------------------------------------------------------------------
# Six vertices on each of 1,472 tiles, then one vertex a tile, then one for each of 46 tiles, then
# one.  Every vertex adds from left to right in float32, and so does the baseline, stage by stage.


class Sum(pl.Vertex):
    """The sum of x from left to right."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add one element after the other."""
        total = 0.0
        for element in self.x:
            total += element
        self.total = total


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def sums_prange(x: Any, totals: Any) -> None:
    """One stage of many sums: what a Numba user writes."""
    for row in numba.prange(x.shape[0]):
        total = np.float32(0)
        for i in range(x.shape[1]):
            total += x[row, i]
        totals[row] = total


@numba.njit  # type: ignore[untyped-decorator]
def sums_serial(x: Any, totals: Any) -> None:
    """One stage of few sums."""
    for row in range(x.shape[0]):
        total = np.float32(0)
        for i in range(x.shape[1]):
            total += x[row, i]
        totals[row] = total


@numba.njit  # type: ignore[untyped-decorator]
def sum_by_hand(stages: Any, totals: Any) -> None:
    """All stages, without Python between them."""
    sums_prange(stages[0], totals[0])
    for stage in range(1, len(stages)):
        sums_serial(stages[stage], totals[stage])


def tree(
    x: npt.NDArray[np.float32], counts: tuple[int, ...], tiles: int
) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine of a reduction tree, and the tensor of its one result.

    Args:
        x: float32[n].
        counts: vertices of each stage; each divides the one before.
        tiles: of the machine.
    """
    graph = pl.Graph(pl.Target(tiles=tiles))
    stage = graph.add_variable(pl.FLOAT, x.shape, "x", mapping="linear", initial_value=x)
    steps = []
    for count in counts:
        totals = graph.add_variable(pl.FLOAT, (count,), "totals", mapping="linear")
        sums = graph.add_compute_set("sums")
        for v, part in enumerate(stage.reshape((count, stage.num_elements // count))):
            graph.add_vertex(sums, Sum, tile=v * tiles // count, x=part, total=totals[v])
        steps.append(pl.Execute(sums))
        stage = totals
    return pl.Engine(graph, pl.Sequence(*steps), checks="fast"), stage


def rows_of_reductions(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    tiles, counts, length = (6, (36, 6, 2, 1), 20) if small else (1472, (8832, 1472, 46, 1), 1024)
    x = np.random.default_rng(1).random(counts[0] * length, np.float32)
    engine, total = tree(x, counts, tiles)
    totals = tuple(np.empty(count, np.float32) for count in counts)
    inputs = (x, *totals[:-1])
    stages = tuple(part.reshape(count, -1) for part, count in zip(inputs, counts, strict=True))

    def hand() -> None:
        sum_by_hand(stages, totals)

    engine.run()
    hand()
    name = f"R9 sum of {x.size:,} in {len(counts)} stages"
    check(name, engine.read(total), totals[-1])
    ours, theirs = in_turn(engine.run, hand, samples, warm_up=0.0 if small else SETTLING)
    title = f"{name}: poplite / prange"
    return [Row(title, min(ours) / min(theirs), "x", "<=", 1.2, ours, theirs)]


# -- copies ----------------------------------------------------------------------------------------
# The pieces are in order but at uneven distances, so that no stride describes them; they are
# packed into one variable.


TILES = 1472


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def copy_segments(destination: Any, source: Any, to: Any, start: Any, length: int) -> None:
    """A Numba user's version; positions are unsigned, as signed ones need a test for wrapping."""
    for piece in numba.prange(len(to)):
        here, there = to[piece], start[piece]
        for i in range(length):
            destination[here + i] = source[there + i]


def whole_row(small: bool, samples: int) -> Row:
    """One variable to another."""
    mebibytes = 1 if small else 64
    values = np.random.default_rng(1).random(mebibytes << 18, np.float32)
    graph = pl.Graph(pl.Target(tiles=TILES))
    a = graph.add_variable(pl.FLOAT, values.shape, "a", mapping="linear", initial_value=values)
    b = graph.add_variable(pl.FLOAT, values.shape, "b", mapping="linear")
    engine = pl.Engine(graph, pl.Copy(a, b))
    copied = np.zeros_like(values)
    engine.run()
    np.copyto(copied, values)
    name = f"R12 Copy of {mebibytes} MiB"
    check(name, engine.read(b), copied)
    ours, theirs = in_turn(
        engine.run, lambda: np.copyto(copied, values), samples, warm_up=0.0 if small else SETTLING
    )
    title = f"{name}: poplite / np.copyto"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.1, ours, theirs)


def segments_row(small: bool, samples: int) -> Row:
    """Pieces of 16 elements, packed."""
    pieces, length = (256 if small else 262_144), 16
    rng = np.random.default_rng(1)
    start = np.cumsum(length + rng.integers(1, 9, pieces)) - length
    values = rng.random(int(start[-1]) + length, np.float32)
    graph = pl.Graph(pl.Target(tiles=TILES))
    a = graph.add_variable(pl.FLOAT, values.shape, "a", mapping="linear", initial_value=values)
    b = graph.add_variable(pl.FLOAT, (pieces * length,), "b", mapping="linear")
    source = pl.concat(a.slices(np.stack([start, start + length], axis=1), 0))
    engine = pl.Engine(graph, pl.Copy(source, b))
    copied = np.zeros(pieces * length, np.float32)
    to = np.arange(0, pieces * length, length, dtype=np.uint32)
    positions = (copied, values, to, start.astype(np.uint32), length)
    engine.run()
    copy_segments(*positions)
    name = f"R13 Copy of {pieces:,} pieces of {length}"
    check(name, engine.read(b), copied)
    ours, theirs = in_turn(
        engine.run, lambda: copy_segments(*positions), samples, warm_up=0.0 if small else SETTLING
    )
    title = f"{name}: poplite / prange"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.3, ours, theirs)


def rows_of_copies(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [whole_row(small, samples), segments_row(small, samples)]


# -- Pallas ----------------------------------------------------------------------------------------
# Pallas runs the same grid of blocks, compiled by `jax.jit` before the samples.  The rows are
# skipped where jax is not installed; nothing but these rows uses it.


Floats = npt.NDArray[np.float32]


class Pallas:
    """The functions of jax that the rows use.

    Raises:
        ImportError: if jax is not installed.
    """

    def __init__(self) -> None:
        self.jax = import_module("jax")
        self._pallas = import_module("jax.experimental.pallas")

    def matmul(self, n: int, block: int) -> Any:
        """Return the product of n x n matrices, by square blocks of whole rows times columns."""

        def kernel(a: Any, b: Any, c: Any) -> None:
            c[...] = a[...] @ b[...]

        specs = self._pallas.BlockSpec
        return self._jitted(
            kernel,
            grid=(n // block, n // block),
            out_shape=self.jax.ShapeDtypeStruct((n, n), np.float32),
            in_specs=[
                specs((block, n), lambda i, j: (i, 0)),
                specs((n, block), lambda i, j: (0, j)),
            ],
            out_specs=specs((block, block), lambda i, j: (i, j)),
        )

    def axpy(self, a: float, vertices: int, length: int) -> Any:
        """Return `a * x + y`, one grid step a row."""

        def kernel(x: Any, y: Any, out: Any) -> None:
            out[...] = y[...] + np.float32(a) * x[...]

        row = self._pallas.BlockSpec((1, length), lambda v: (v, 0))
        return self._jitted(
            kernel,
            grid=(vertices,),
            out_shape=self.jax.ShapeDtypeStruct((vertices, length), np.float32),
            in_specs=[row, row],
            out_specs=row,
        )

    def _jitted(self, kernel: Any, **options: Any) -> Any:
        call = self.jax.jit(self._pallas.pallas_call(kernel, interpret=True, **options))
        return lambda *arrays: self.jax.block_until_ready(call(*arrays))


def matmul_row(pallas: Pallas, small: bool, samples: int) -> Row:
    """1024^3 in blocks of 32 x 32."""
    n, block = 64 if small else 1024, SquareProduct.ROWS
    a, b = operands(n, block)
    engine, tensor = matmul_engine(a, b, SquareProduct)
    plain = np.ascontiguousarray(b.transpose(1, 0, 2)).reshape(n, n)
    x, y = (pallas.jax.device_put(value) for value in (a, plain))
    product = pallas.matmul(n, block)
    engine.run()
    c = engine.read(tensor).reshape(n // block, -1, block, block).transpose(0, 2, 1, 3)
    # It adds in a different order, so results are only equal to the accuracy of float32.
    np.testing.assert_allclose(c.reshape(n, n), np.asarray(product(x, y)), rtol=0, atol=1e-6 * n)
    ours, theirs = in_turn(engine.run, lambda: product(x, y), samples)
    name = f"matmul {n}^3, {block} x {block} blocks: Pallas interpret / poplite"
    return Row(name, min(theirs) / min(ours), "x", ">=", 3.0, ours, theirs)


def axpy_row(pallas: Pallas, small: bool, samples: int) -> Row:
    """8,832 vertices of 64."""
    vertices, tiles = (96, 16) if small else (8832, 1472)
    times = 10
    engine, tensor, x, y = axpy_engine(vertices, 64, times, tiles)
    once, result, *_ = axpy_engine(vertices, 64, 1, tiles)
    axpy = pallas.axpy(0.5, vertices, 64)
    once.run()
    left, right = (pallas.jax.device_put(value) for value in (x, y))
    name = f"axpy, {vertices:,} vertices of 64: Pallas interpret / poplite"
    check(name, once.read(result), np.asarray(axpy(left, right)))
    ours, theirs = in_turn(engine.run, lambda: axpy(left, right), min(samples, 5))
    ours = [sample / times for sample in ours]
    return Row(name, min(theirs) / min(ours), "x", ">=", 1000.0, ours, theirs)


def rows_of_pallas(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    try:
        pallas = Pallas()
    except ImportError:
        names = ("matmul, 32 x 32 blocks", "axpy, 8,832 vertices of 64")
        return [Row.skipped(f"{name}: Pallas interpret / poplite") for name in names]
    return [make(pallas, small, samples) for make in (matmul_row, axpy_row)]


# -- strict checks ---------------------------------------------------------------------------------
# Each sample is the first run of an engine, in which strict checks look at everything, or the
# second, in which everything that it needs is written.


MOST_SAMPLES = 3
"""Maximum number of samples, each of which needs a new engine."""

Made = tuple[pl.Engine, pl.Tensor]
Make = Callable[[Literal["strict", "fast"]], Made]


def filled(rows: int, checks: Literal["strict", "fast"]) -> Made:
    """An engine that fills a table of 64 columns row by row."""
    graph = pl.Graph(pl.Target(tiles=64))
    table = graph.add_variable(pl.FLOAT, (rows, 64), "table", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (1, 64), "row", mapping="linear", initial_value=1)
    with graph.steps() as program, ops.repeat(rows) as i:
        ops.dynamic_update(table, row, i, [0], [1])
    return pl.Engine(graph, program, checks=checks), table


def lstm(steps: int, checks: Literal["strict", "fast"]) -> Made:
    """An engine that runs an LSTM of 16 units."""
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    weights = ops.nn.plan_lstm(graph, batch=4, inputs=8, units=16).create_weights()
    x = graph.add_variable(pl.FLOAT, (steps, 4, 8), "x", mapping="linear", initial_value=1)
    outputs = ops.nn.lstm(x, weights, program=program).outputs
    engine = pl.Engine(graph, program, checks=checks)
    for each in weights:
        engine.write(each, np.full(each.shape, 0.1, np.float32))
    return engine, outputs


def row(name: str, make: Make, samples: int, *, again: bool = False) -> Row:
    """First or second runs, strict against fast."""
    times: dict[Literal["strict", "fast"], list[float]] = {"strict": [], "fast": []}
    for _ in range(1 + min(samples, MOST_SAMPLES)):  # the first one compiles
        results = []
        for checks, own in times.items():
            engine, tensor = make(checks)
            if again:
                engine.run()
            begin = time.perf_counter()
            engine.run()
            own.append(time.perf_counter() - begin)
            results.append(engine.read(tensor))
        check(name, *results)
    ours, theirs = times["strict"][1:], times["fast"][1:]
    return Row(name, min(ours) / min(theirs), "x", "<=", 5.0, ours, theirs)


def rows_of_strict_checks(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    sizes = (20, 30) if small else (300, 1000)
    steps = 20 if small else 1000
    return [
        *[
            row(
                f"R29 a table of {size:,} rows, filled: strict / fast checks",
                partial(filled, size),
                samples,
            )
            for size in sizes
        ],
        row(
            f"R29 a table of {3 * sizes[-1]:,} rows, filled again: strict / fast checks",
            partial(filled, 3 * sizes[-1]),
            samples,
            again=True,
        ),
        row(f"R30 lstm, {steps:,} steps: strict / fast", partial(lstm, steps), samples),
    ]


# -- all -------------------------------------------------------------------------------------------


def nine_taps(photo: Any, picture: np.ndarray, steps: int) -> np.ndarray:
    """The blurred picture by NumPy, in the order of the vertex, without new arrays."""
    rows, cols, _ = picture.shape
    x, y = photo.with_border(picture), photo.with_border(picture)
    tap = np.empty_like(picture)
    for _ in range(2 * steps):
        total = y[1:-1, 1:-1]
        for r, c in np.ndindex(3, 3):
            out = tap if r or c else total
            np.multiply(x[r : r + rows, c : c + cols], photo.WEIGHTS[r, c], out=out)
            if r or c:
                np.add(total, tap, out=total)
        x, y = y, x
    return np.asarray(x[1:-1, 1:-1])


def photo_row(small: bool, samples: int) -> Row:
    """The main job of examples/photo.py against its oracle."""
    photo = example("photo")
    steps, tiles = (2, 24) if small else (20, 1472)
    picture = photo.photograph()[: 40 if small else None]
    graph, program, buffer = photo.build(picture, steps, tiles)
    engine = pl.Engine(graph, program)
    engine.run()
    check("photo", engine.read(buffer)[1:-1, 1:-1].copy(), nine_taps(photo, picture, steps).copy())
    engine.write(buffer, photo.with_border(picture))
    ours, oracle = in_turn(engine.run, lambda: nine_taps(photo, picture, steps), samples)
    name = f"photo, {2 * steps} blurs: NumPy oracle / poplite"
    return Row(name, min(oracle) / min(ours), "x", ">=", 6.0, ours, oracle)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of all parts."""
    parts = (
        engine_axpy.rows_of_axpy,
        engine_axpy.rows_of_bounds,
        engine_kernels.rows_of_bulk,
        engine_kernels.rows_of_heat,
        engine_kernels.rows_of_products,
        rows_of_faster_forms,
        rows_of_reductions,
        engine_axpy.rows_of_steps,
        rows_of_copies,
        engine_axpy.rows_of_floats,
        engine_axpy.rows_of_accounting,
        rows_of_pallas,
        rows_of_strict_checks,
    )
    return [
        photo_row(small, samples),
        *[row for part in parts for row in part(small, samples)],
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
