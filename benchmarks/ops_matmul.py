"""Products of matrices against prange by hand, BLAS, and measured hardware.

    python benchmarks/ops_matmul.py [--samples 9] [--json FILE] [--small]

The numbers of rows are those of the operations' design: 13 and 14 run a planned product of FLOAT
matrices, 15 plans one of HALF that fits no pass, and compiles it for its cycles, 21 prices products
that were measured on a Bow (`fidelity_matmul`), and compares cycles.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

import poplite as pl
from engine_matmul import Product, matmul_prange, operands
from fidelity_matmul import HALF
from ops_maps import Floats, least, target
from poplite import ops
from poplite.ops.products.matmul import planned
from poplite.ops.products.search import cheapest_ways, exact_cycles
from rows import BLAS_SPINS, SETTLING, Row, in_turn, run

MEASURED = 4096
"""The largest m and n of row 21."""


def engine_of(x: Floats, y: Floats, small: bool, faster: bool) -> tuple[pl.Engine, pl.Tensor]:
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
    engine, product = engine_of(x, y, small, faster=True)
    defined, same = engine_of(x, y, small, faster=False)
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


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [*running(small, samples), *planning(small, samples), *fidelity(small)]


if __name__ == "__main__":
    sys.exit(run(__doc__, rows))
