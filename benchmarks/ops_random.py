"""Random numbers of a key against NumPy's Philox: ratios.

    python benchmarks/ops_random.py [--samples 9] [--json FILE] [--small]

Ten million FLOAT elements on 1,472 tiles. NumPy draws on one core, as its generators do.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import poplite as pl
from ops_maps import least
from poplite.vertices.random import words_reference
from rows import SETTLING, Row, in_turn, run

SEED = 7


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
