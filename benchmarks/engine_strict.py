"""Strict checks of loops that fill a table row by row, against fast ones: rows R29 and R30.

    python benchmarks/engine_strict.py [--samples 9] [--json FILE] [--small]

Each sample is the first run of an engine, in which strict checks look at everything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

import poplite as pl
from poplite import ops
from rows import Row, check, run

MOST_SAMPLES = 3
"""An engine is made for each sample."""

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


def row(name: str, make: Make, samples: int) -> Row:
    """First runs, strict against fast."""
    times: dict[Literal["strict", "fast"], list[float]] = {"strict": [], "fast": []}
    for _ in range(1 + min(samples, MOST_SAMPLES)):  # the first one compiles
        results = []
        for checks, own in times.items():
            engine, tensor = make(checks)
            begin = time.perf_counter()
            engine.run()
            own.append(time.perf_counter() - begin)
            results.append(engine.read(tensor))
        check(name, *results)
    ours, theirs = times["strict"][1:], times["fast"][1:]
    return Row(name, min(ours) / min(theirs), "x", "<=", 5.0, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
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
        row(f"R30 lstm, {steps:,} steps: strict / fast", partial(lstm, steps), samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
