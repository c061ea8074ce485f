"""The largest of ten million elements against NumPy: ratios.

    python benchmarks/ops_order.py [--samples 9] [--json FILE] [--small]

FLOAT elements on 1,472 tiles. NumPy's `argpartition` finds the positions of the largest, in any
order, on one core.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import poplite as pl
from ops_maps import least
from rows import SETTLING, Row, in_turn, run

SEED = 7


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
