"""Operations over tensors against NumPy and prange: reductions, fused maps, ratios.

    python benchmarks/ops.py [--samples 9] [--json FILE] [--small]

The tensors are spread over 1,472 tiles in order, about 680 elements each.  So a row of 1,000 is on
two or three tiles; and no tile has two elements of a column, so that sums along columns consist
mostly of exchange.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

import ops_maps
import ops_multigrid
import poplite as pl
from engine_kernels import Product, matmul_prange, operands
from fidelity_networks import HALF
from ops_maps import Floats, engine_of, least, target
from poplite import ops
from poplite.ops.products.convolution_plan import (
    ConvolutionPlan,
    cheapest_ways as convolution_ways,
    exact_cycles as exact_convolution_cycles,
    ranked,
)
from poplite.ops.products.matmul import planned
from poplite.ops.products.matmul_plan import cheapest_ways, exact_cycles
from poplite.vertices.random import words_reference
from rows import BLAS_SPINS, SETTLING, Row, check, in_turn, run

if TYPE_CHECKING:
    import numpy.typing as npt


# -- sums of expressions ---------------------------------------------------------------------------
# FLOAT elements on 1,472 tiles. The loops may add in any order; poplite's order is fixed. So that
# the sums can be compared in bits, they are of whole numbers, with which no order loses anything.


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sum_of_all(x: Any, out: Any) -> None:
    """The sum of a matrix, row after row."""
    total = np.float32(0)
    for i in numba.prange(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
    out[0] = total


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sums_of_rows(x: Any, out: Any) -> None:
    """The sum of each row."""
    for i in numba.prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sums_of_columns(x: Any, out: Any) -> None:
    """The sum of each column: each core sums its own rows."""
    cores = numba.get_num_threads()
    partials = np.zeros((cores, x.shape[1]), np.float32)
    for core in numba.prange(cores):
        for i in range(core * len(x) // cores, (core + 1) * len(x) // cores):
            for j in range(x.shape[1]):
                partials[core, j] += x[i, j]
    out[:] = partials.sum(0)


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sums_of_columns_by_tiles(partials: Any, x: Any, out: Any) -> None:
    """The sum of each column in the two stages of the machine: sums in each tile, then of tiles."""
    elements, (tiles, columns) = x.reshape(-1), partials.shape
    for tile in numba.prange(tiles):
        at, end = tile * len(elements) // tiles, (tile + 1) * len(elements) // tiles
        partials[tile] = 0
        while at < end:
            row = elements[at : min(end, at + columns - at % columns)]
            total = partials[tile, at % columns : at % columns + len(row)]
            for i in range(len(row)):
                total[i] += row[i]
            at += len(row)
    cores = numba.get_num_threads()
    for core in numba.prange(cores):
        total = out[core * columns // cores : (core + 1) * columns // cores]
        total[:] = 0
        for tile in range(tiles):
            part = partials[tile, core * columns // cores : (core + 1) * columns // cores]
            for i in range(len(part)):
                total[i] += part[i]


def rows_of_sums(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    warm_up = 0.0 if small else SETTLING
    shape = (100, 100) if small else (10_000, 1_000)
    x: Floats = np.random.default_rng(7).integers(-2, 3, shape).astype(np.float32)
    two_stages = partial(sums_of_columns_by_tiles, np.empty((1472, shape[1]), np.float32))
    made = []
    for what, dims, hand, limit in (
        ("7 sum of 10^7", None, sum_of_all, 1.4),
        ("8 sums of rows, 10^4 x 10^3", 1, sums_of_rows, 1.6),
        # The partial sums of 1,472 tiles are 15 % of the operand: written once and read once.
        ("8 sums of columns, 10^4 x 10^3", 0, sums_of_columns, 1.3),
        ("8 the same, in two stages", 0, two_stages, 1.2),
    ):
        engine, result = engine_of(small, {"x": x}, partial(ops.sum, dims=dims))
        expected = np.atleast_1d(x.sum(dims, dtype=np.float32))
        out = np.empty_like(expected)
        engine.run()
        hand(x, out)
        for found in (np.atleast_1d(engine.read(result)), out):
            if found.tobytes() != expected.tobytes():
                sys.exit(f"{what}: the sums differ")
        ours, theirs = in_turn(engine.run, partial(hand, x, out), samples, warm_up=warm_up)
        name = f"{what}: poplite / fast-math prange"
        made.append(Row(name, least(ours, theirs), "x", "<=", limit, ours, theirs))
    return made


# -- random numbers --------------------------------------------------------------------------------
# Ten million FLOAT elements on 1,472 tiles. NumPy draws on one core, as its generators do.


SEED = 7


def rows_of_random_numbers(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = 100_000 if small else 10_000_000
    generator = np.random.Generator(np.random.Philox(SEED))
    out = np.empty(size, np.float32)
    made = []
    for name, draw, theirs, limit in (
        ("uniform", pl.ops.random.uniform, generator.random, 1.0),
        ("normal", pl.ops.random.normal, generator.standard_normal, 1.0),
    ):
        graph, program = pl.Graph(pl.Target(tiles=20 if small else 1472)), pl.Sequence()
        x = draw(pl.ops.random.key(graph, SEED), (size,), program=program)
        options = {"debug.allowOutOfMemory": True}
        engine = pl.Engine(graph, program, checks="fast", options=options)
        engine.run()
        units = (words_reference(size, [SEED, 0, 0, 0]) >> 8).astype(np.float32) * 2.0**-24
        if name == "uniform" and not np.array_equal(engine.read(x), units.astype(np.float32)):
            sys.exit("uniform: the numbers are not those of Philox")
        by_numpy = partial(theirs, dtype=np.float32, out=out)
        warm_up = 0.0 if small else SETTLING
        mine, other = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
        what = f"{name} numbers, 10^7: poplite / NumPy's Philox"
        made.append(Row(what, least(mine, other), "x", "<=", limit, mine, other))
    return made


# -- products --------------------------------------------------------------------------------------
# The numbers of rows are those of the operations' design: 13 and 14 run a planned product of
# FLOAT matrices, 15 plans one of HALF that fits no pass, and compiles it for its cycles, 21
# prices products that were measured on a Bow (`fidelity_networks`), and compares cycles.


MEASURED = 4096
"""The largest m and n of row 21."""


def product_engine(x: Floats, y: Floats, small: bool, faster: bool) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine of a planned product, and its result."""
    graph = pl.Graph(target(small))
    plan = ops.plan_matmul(graph, m=len(x), k=len(y), n=y.shape[1])
    a, b = plan.create_left("a"), plan.create_right("b")
    with graph.steps() as step:
        product = ops.map(ops.matmul(a, b, plan), name="product")
    engine = pl.Engine(graph, step, checks="fast", faster=faster)
    engine.write(a, x)
    engine.write(b, y)
    engine.run()
    return engine, product


def running(small: bool, samples: int) -> list[Row]:
    """Rows 13 and 14."""
    n, warm_up = (128, 0.0) if small else (1024, SETTLING)
    x, blocks = operands(n, Product.COLS)
    y = np.ascontiguousarray(blocks.transpose(1, 0, 2)).reshape(n, n)
    engine, product = product_engine(x, y, small, faster=True)
    defined, same = product_engine(x, y, small, faster=False)
    if engine.read(product).tobytes() != defined.read(same).tobytes():
        sys.exit("14: the forms differ")
    if not np.allclose(engine.read(product), x @ y, rtol=1e-3, atol=1e-3):
        sys.exit("13: the products differ")
    hand = matmul_prange(Product.ROWS, Product.COLS)
    out = np.empty((n // Product.ROWS * len(blocks), Product.ROWS, Product.COLS), np.float32)
    made = []
    for name, baseline, limit, rest in (
        ("prange by hand", lambda: hand(x, blocks, out), 1.2, 0.0),
        ("BLAS", lambda: x @ y, 1.6, 0.0 if small else BLAS_SPINS),
    ):
        ours, theirs = in_turn(engine.run, baseline, samples, partial(time.sleep, rest), warm_up)
        title = f"13 matmul {n}^3, planned: poplite / {name}"
        made.append(Row(title, least(ours, theirs), "x", "<=", limit, ours, theirs))
    ours, theirs = in_turn(engine.run, defined.run, samples)
    title = f"14 matmul {n}^3: compute only / faster form"
    made.append(Row(title, least(theirs, ours), "x", ">=", 1.1, ours, theirs))
    return made


def planning(small: bool, samples: int) -> list[Row]:
    """Row 15, and the time in which the same product is planned and compiled."""
    n, size = (256, 10**5) if small else (4096, 10**7)
    numbers = np.random.default_rng(2).standard_normal(size).astype(np.float32)

    def plan() -> None:
        for each in (planned, cheapest_ways, exact_cycles):
            each.cache_clear()
        ops.plan_matmul(pl.Graph(), m=n, k=n, n=n, type=pl.HALF)

    def compile_it() -> None:
        for each in (planned, cheapest_ways, exact_cycles):
            each.cache_clear()
        graph = pl.Graph()
        found = ops.plan_matmul(graph, m=n, k=n, n=n, type=pl.HALF)
        with graph.steps() as step:
            ops.map(ops.matmul(found.create_left(), found.create_right(), found))
        pl.compile_graph(graph, [step])

    ours, theirs = in_turn(plan, lambda: np.sort(numbers), min(samples, 3))
    name = f"15 plan of {n}^3 halves: poplite / a sort of {size:,}"
    took, _ = in_turn(compile_it, plan, min(samples, 3))
    return [
        Row(name, least(ours, theirs), "x", "<=", 30, ours, theirs),
        Row(f"15 {n}^3 halves, planned and compiled", min(took), "s", "<=", 5.0, took, ours),
    ]


def fidelity(small: bool) -> list[Row]:
    """Row 21: the mean and the worst error of planned cycles, in percent of those measured."""
    bow, errors, took = pl.Target(architecture="bow"), [], []
    for m, rates in [*HALF.items()][: 1 if small else 3]:
        for n, rate in rates.items():
            if n > (16 if small else MEASURED):
                continue
            start = time.perf_counter()
            plan = ops.plan_matmul(pl.Graph(bow), m=m, k=m, n=n, type=pl.HALF, partials=pl.HALF)
            took.append(time.perf_counter() - start)
            measured = 2 * m * m * n / (rate * 1e12) * bow.clock_hz
            errors.append(100 * abs(plan.cycles / measured - 1))
    name = f"21 cycles of {len(errors)} plans against a Bow"
    return [
        Row(f"{name}: mean error", float(np.mean(errors)), "%", "<=", 10, took, took),
        Row(f"{name}: worst error", max(errors), "%", "<=", 35, took, took),
    ]


def rows_of_products(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [*running(small, samples), *planning(small, samples), *fidelity(small)]


# -- order -----------------------------------------------------------------------------------------
# FLOAT elements on 1,472 tiles. NumPy's `argpartition` finds the positions of the largest, in any
# order, on one core.


def rows_of_order(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = 100_000 if small else 10_000_000
    values = np.random.default_rng(SEED).standard_normal(size, np.float32)
    made = []
    for k, limit in ((16, 0.5), (128, 4.0)):
        graph, program = pl.Graph(pl.Target(tiles=20 if small else 1472)), pl.Sequence()
        x = graph.add_variable(pl.FLOAT, (size,), "x", mapping="linear", initial_value=values)
        top = pl.ops.top_k(x, k, program=program)
        options = {"debug.allowOutOfMemory": True}
        engine = pl.Engine(graph, program, checks="fast", options=options)
        engine.run()
        if not np.array_equal(engine.read(top.values), np.sort(values)[: -k - 1 : -1]):
            sys.exit(f"top {k}: these are not the largest elements")
        by_numpy = partial(np.argpartition, values, size - k)
        warm_up = 0.0 if small else SETTLING
        mine, other = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
        what = f"22 top {k} of 10^7: poplite / np.argpartition"
        made.append(Row(what, least(mine, other), "x", "<=", limit, mine, other))
    return made


# -- slices ----------------------------------------------------------------------------------------
# 200,000 rows of 64 FLOAT out of 100,000, on 1,472 tiles: the table is mapped by its plan, and
# all of it fits into the memory of the tiles. NumPy works on one core.


def rows_of_slices(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    entries, width, lookups = (1000, 64, 2000) if small else (100_000, 64, 200_000)
    rng = np.random.default_rng(0)
    table = rng.integers(-9, 10, (entries, width)).astype(np.float32)
    added = rng.standard_normal((lookups, width), np.float32)
    numbers = rng.integers(0, entries, lookups).astype(np.uint32)
    warm_up = 0.0 if small else SETTLING
    made = []

    graph, program = pl.Graph(pl.Target(tiles=64 if small else 1472)), pl.Sequence()
    planned = partial(pl.ops.plan_embedding, entries=entries, width=width, lookups=lookups)
    plan = planned(graph, used_for="read")
    x = plan.create_table("x")
    i = graph.add_variable(pl.UNSIGNED_INT, (lookups,), "i", mapping="linear")
    found = pl.ops.multi_slice(x, i, plan=plan, program=program)
    engine = pl.Engine(graph, program, checks="fast")
    engine.write(x, table)
    engine.write(i, numbers)
    engine.run()
    if not np.array_equal(engine.read(found), table[numbers]):
        sys.exit("gather: the rows differ")
    mine, other = in_turn(engine.run, partial(np.take, table, numbers, 0), samples, warm_up=warm_up)
    what = f"gather {lookups:,} rows of {width}: poplite / np.take"
    made.append(Row(what, least(mine, other), "x", "<=", 0.6, mine, other))

    graph, program = pl.Graph(graph.target), pl.Sequence()
    plan = planned(graph, used_for="change")
    x, s = plan.create_table("x"), plan.create_updates("s")
    i = graph.add_variable(pl.UNSIGNED_INT, (lookups,), "i", mapping="linear")
    pl.ops.multi_update_add(x, s, i, plan=plan, program=program)
    engine = pl.Engine(graph, program, checks="fast")
    for tensor, values in ((x, table), (s, added), (i, numbers)):
        engine.write(tensor, values)
    engine.run()
    np.add.at(table, numbers, added)
    if engine.read(x).tobytes() != table.tobytes():
        sys.exit("scatter: the sums differ")
    scatter = partial(np.add.at, table, numbers, added)
    mine, other = in_turn(engine.run, scatter, samples, warm_up=warm_up)
    what = f"scatter-add {lookups:,} rows of {width}: poplite / np.add.at"
    made.append(Row(what, least(mine, other), "x", "<=", 0.3, mine, other))
    return made


# -- convolutions ----------------------------------------------------------------------------------
# 3 x 3 taps, 64 to 64 channels, 56 x 56 places, a batch of 8, in float32. NumPy copies what each
# tap covers into a matrix, and multiplies it by the weights with BLAS.


def by_numpy(x: Floats, weights: Floats) -> Floats:
    """Return the convolution of a padded input."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    columns = seen.transpose(1, 4, 5, 0, 2, 3).reshape(weights[0].size, -1)
    return weights.reshape(len(weights), -1) @ columns


def rows_of_convolutions(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    batch, channels, size = (2, 16, 8) if small else (8, 64, 56)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((batch, channels, size, size)).astype(np.float32)
    weights = rng.standard_normal((channels, channels, 3, 3)).astype(np.float32)
    graph = pl.Graph(target(small))
    plan = ops.plan_convolution(
        graph,
        batch=batch,
        field=(size, size),
        inputs=channels,
        outputs=channels,
        kernel=(3, 3),
        padding=1,
    )
    a, b = plan.create_input("x"), plan.create_weights("weights")
    with graph.steps() as step:
        y = ops.convolution(a, b, plan, padding=1)
    engine = pl.Engine(graph, step, checks="fast")
    engine.write(a, x)
    engine.write(b, weights)
    engine.run()
    expected = by_numpy(x, weights).reshape(channels, batch, size, size).transpose(1, 0, 2, 3)
    if not np.allclose(engine.read(y), expected, rtol=1e-3, atol=1e-3):
        sys.exit("the convolutions differ")
    warm_up, rest = (0.0, 0.0) if small else (SETTLING, BLAS_SPINS)
    ours, theirs = in_turn(
        engine.run, lambda: by_numpy(x, weights), samples, partial(time.sleep, rest), warm_up
    )
    name = f"convolution 3 x 3, {channels} channels, {size} x {size} x {batch}: poplite / NumPy"
    found = [Row(name, least(ours, theirs), "x", "<=", 2.0, ours, theirs)]
    took = []
    for _ in range(min(samples, 3)):
        begin = time.perf_counter()
        convolution_ways(graph.target, plan.request)
        took.append(time.perf_counter() - begin)
    found.append(Row("plan of a convolution", min(took), "s", "<=", 1.0, took, took))
    return [*found, *first_layer(small, min(samples, 3))]


def first_layer(small: bool, samples: int) -> list[Row]:
    """Plans of a first layer of ResNet-50 and of its gradient by x, with their exact cycles."""
    graph, size, rows = pl.Graph(pl.Target()), 28 if small else 224, []
    for what in ("itself", "its gradient by x"):
        took = []
        for _ in range(samples):
            ranked.cache_clear()
            exact_convolution_cycles.cache_clear()
            begin = time.perf_counter()
            plan = ops.plan_convolution(
                graph, batch=4, field=(size, size), inputs=4, outputs=64, kernel=(7, 7), stride=2,
                padding=3, type=pl.HALF,
            )  # fmt: skip
            if what != "itself":
                plan = ConvolutionPlan(graph, plan.request.inverse)
            if plan.cycles <= 0:
                sys.exit("a plan takes no cycles")
            took.append(time.perf_counter() - begin)
        name = f"plan and price of 7 x 7 / 2, 4 to 64: {what}"
        rows.append(Row(name, min(took), "s", "<=", 1.0, took, took))
    return rows


# -- sparse products -------------------------------------------------------------------------------
# 1 % of 4096 x 4096 elements are not zero; the dense matrix has 64 columns, in float32. SciPy, a
# dependency of scikit-learn, multiplies compressed rows in one thread; both sides have equal
# bits.


def rows_of_sparse(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size, columns = (64, 64) if small else (4096, 64)
    name = f"1 % of {size} x {size} times {columns} columns: poplite / SciPy"
    if importlib.util.find_spec("scipy") is None:
        return [Row.skipped(name)]
    from scipy import sparse

    rng = np.random.default_rng(1)
    matrix = sparse.random_array(
        (size, size), density=0.01, format="csr", dtype=np.float32, rng=rng
    )
    dense = rng.standard_normal((size, columns)).astype(np.float32)
    graph = pl.Graph(target(small))
    pattern = ops.SparsePattern.of(matrix)
    values = ops.plan_sparse_matmul(graph, pattern, columns).create_values("values")
    x = graph.add_variable(pl.FLOAT, dense.shape, "x", mapping="linear")
    with graph.steps() as step:
        y = ops.sparse_matmul(pattern, values, x)
    engine = pl.Engine(graph, step, checks="fast")
    engine.write(values, matrix.data)
    engine.write(x, dense)
    engine.run()
    check("sparse matmul", engine.read(y), matrix @ dense)
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, lambda: matrix @ dense, samples, warm_up=warm_up)
    return [Row(name, least(ours, theirs), "x", "<=", 1.5, ours, theirs)]


# -- graphs of 200 mixed operations on 1,472 tiles -------------------------------------------------
# A network of 20 layers of ten operations: products with a bias and an activation, reductions along
# rows and columns, softmax, random numbers, slices, rows by number, the largest elements, copies,
# losses, and steps of optimizers. Its layers are all equal, or no two have the same shapes: then 49
# products have to be planned instead of one. No engine is made, and every sample plans its products
# anew. The baseline keeps what was asked for as plain objects.


LAYERS = 20
OPERATIONS = 10
"""Of a layer."""

LARGEST = 8


class Network:
    """Layers that are recorded one after the other, in a program of their graph.

    Attributes:
        graph: where they go.
        rows: of a batch.
    """

    def __init__(self, rows: int, *, small: bool) -> None:
        self.graph = pl.Graph(target(small))
        self.rows = rows
        self._key = ops.random.key(self.graph, seed=1)
        self._numbers = self.graph.add_variable(pl.INT, (rows,), "numbers", mapping="linear")

    def variable(self, shape: tuple[int, ...], name: str) -> pl.Tensor:
        """Return a variable on all tiles."""
        return self.graph.add_variable(pl.FLOAT, shape, name, mapping="linear")

    def layer(self, x: pl.Tensor, width: int, *, is_even: bool) -> pl.Tensor:
        """Record the operations of a layer on rows, `x[rows, n]`; return rows of its width."""
        rising, square = (
            self.variable((x.shape[1], width), "rising"),
            self.variable((width,) * 2, "square"),
        )
        bias, gain, shift = (self.variable((width,), name) for name in ("bias", "gain", "shift"))
        hidden = ops.map(ops.relu(x @ rising + bias), name="hidden")
        mixed = ops.map(hidden @ square, name="mixed")
        scaled = ops.map(ops.nn.layer_norm(mixed, gain, shift), name="scaled")
        y = ops.map(hidden + 0.5 * scaled, name="y")
        mean = ops.map(ops.mean(y, 0), name="mean")
        return self._chosen(y, gain, mean) if is_even else self._trained(hidden, square, y)

    def _chosen(self, y: pl.Tensor, gain: pl.Tensor, mean: pl.Tensor) -> pl.Tensor:
        """Record the last five operations of every other layer."""
        shares = ops.map(ops.nn.softmax(y), name="shares")
        ops.top_k(shares, LARGEST)
        ops.transpose(shares)
        ops.nn.adam(gain, mean, ops.nn.adam_state(gain))
        return ops.random.dropout(self._key, y, 0.1)[0]

    def _trained(self, hidden: pl.Tensor, square: pl.Tensor, y: pl.Tensor) -> pl.Tensor:
        """Record the last five operations of the others."""
        width = y.shape[1]
        found = ops.multi_slice(self.variable((4 * width, width), "table"), self._numbers)
        ops.assign(y[:, : width // 2], y[:, width - width // 2 :] - found[:, : width // 2 * 2 : 2])
        ops.map(ops.mean(ops.nn.cross_entropy(y, self._numbers)), name="loss")
        ops.nn.sgd(square, hidden.T @ y, rate=0.01)
        ops.random.normal(self._key, y.shape, deviation=0.1)
        return y


def build(rows: int, widths: Sequence[int], *, small: bool) -> None:
    """Record a network of layers of these widths, and plan its products."""
    for each in (planned, cheapest_ways, exact_cycles):
        each.cache_clear()
    network = Network(rows, small=small)
    with network.graph.steps("network"):
        x = network.variable((rows, widths[0]), "x")
        for number, width in enumerate(widths):
            x = network.layer(x, width, is_even=number % 2 == 0)


def objects(rows: int, widths: Sequence[int]) -> list[tuple[str, int, tuple[int, int]]]:
    """Return a name, a number and a shape for each operation."""
    return [(f"operation {k}", k, (rows, width)) for width in widths for k in range(OPERATIONS)]


def rows_of_building(small: bool, samples: int) -> list[Row]:
    """Networks of mixed operations."""
    size, step, layers = (32, 2, 2) if small else (512, 16, LAYERS)
    made = []
    for what, widths, limit in (
        ("layers alike", [size] * layers, 2.0),
        ("layers all different", [size + (-1) ** k * step * k for k in range(layers)], 3.5),
    ):
        work = partial(build, size, widths, small=small)
        ours, baseline = in_turn(work, partial(objects, size, widths), min(samples, 3))
        name = f"{OPERATIONS * layers} mixed operations, {what}, planned and built"
        made.append(Row(name, min(ours), "s", "<=", limit, ours, baseline))
    return made


# -- all -------------------------------------------------------------------------------------------


CASES = (
    ("rows", (1000, 1000), 1, 2.0),
    ("columns", (1000, 1000), 0, 10.0),
    ("short rows", (100_000, 10), 1, 1.0),
    ("few columns", (100_000, 10), 0, 1.0),
)
"""The operand of a sum, its shape, the dimension that disappears, and the target."""


def sum_engine(x: npt.NDArray[Any], dim: int, tiles: int) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine that sums along a dimension, and the tensor of its sums."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    tensor = graph.add_variable(pl.FLOAT, x.shape, "x", mapping="linear", initial_value=x)
    sums = pl.ops.map(pl.ops.sum(tensor, dim), name="reduce", program=program)
    return pl.Engine(graph, program, checks="fast"), sums


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    made = []
    for title, shape, dim, limit in CASES:
        if small:
            shape = (shape[0] // 50, shape[1])
        # Whole numbers, so that no order of adding loses anything.
        x = np.random.default_rng(dim).integers(-9, 10, shape).astype(np.float32)
        engine, sums = sum_engine(x, dim, 20 if small else 1472)
        engine.run()
        if engine.read(sums).tobytes() != np.add.reduce(x, axis=dim).tobytes():
            sys.exit(f"{title}: the sums differ")
        warm_up = 0.0 if small else SETTLING
        numpy = partial(np.add.reduce, x, axis=dim)
        ours, theirs = in_turn(engine.run, numpy, samples, warm_up=warm_up)
        name = f"sums of {title}, {shape[0]:,} x {shape[1]:,}: poplite / NumPy"
        made.append(Row(name, min(ours) / min(theirs), "x", "<=", limit, ours, theirs))
    others = (
        *(rows_of_sums, ops_maps.rows_of_maps, ops_maps.rows_of_mathematics),
        *(rows_of_random_numbers, rows_of_products, ops_multigrid.rows_of_networks),
        *(rows_of_order, rows_of_slices, rows_of_building, rows_of_convolutions),
        *(ops_multigrid.rows_of_multigrid, rows_of_sparse),
    )
    return [*made, *(row for each in others for row in each(small, samples))]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
