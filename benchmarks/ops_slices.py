"""Rows of a table by number against NumPy: ratios.

    python benchmarks/ops_slices.py [--samples 9] [--json FILE] [--small]

200,000 rows of 64 FLOAT out of 100,000, on 1,472 tiles: the table lies as its plan says, and all of
it fits into the memory of the tiles. NumPy works on one core.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import poplite as pl
from ops_maps import least
from rows import SETTLING, Row, in_turn, run


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
