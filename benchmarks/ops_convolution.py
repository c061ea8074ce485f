"""A convolution on tiles against NumPy: ratios.

    python benchmarks/ops_convolution.py [--samples 9] [--json FILE] [--small]

3 x 3 taps, 64 to 64 channels, 56 x 56 places, a batch of 8, in float32. NumPy copies what each tap
lies on into a matrix, and multiplies it by the weights with BLAS.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

import poplite as pl
from ops_maps import Floats, least, target
from poplite import ops
from poplite.ops.convolutions.plan import ConvolutionPlan, cheapest_ways, exact_cycles, ranked
from rows import BLAS_SPINS, SETTLING, Row, in_turn, run


def by_numpy(x: Floats, weights: Floats) -> Floats:
    """Return the convolution of a padded input."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    columns = seen.transpose(1, 4, 5, 0, 2, 3).reshape(weights[0].size, -1)
    return weights.reshape(len(weights), -1) @ columns


def rows(small: bool, samples: int) -> list[Row]:
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
        cheapest_ways(graph.target, plan.request)
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
            exact_cycles.cache_clear()
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
