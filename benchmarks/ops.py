"""Operations over tensors against NumPy and prange: reductions, fused maps, ratios.

    python benchmarks/ops.py [--samples 9] [--json FILE] [--small]

The tensors lie on 1,472 tiles in order, about 680 elements each.  So a row of 1,000 is on two or
three tiles; and of a column no tile has two elements, which makes the sums along columns a matter
of exchange.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import ops_building
import ops_convolution
import ops_maps
import ops_mathematics
import ops_matmul
import ops_multigrid
import ops_network
import ops_order
import ops_random
import ops_slices
import ops_sparse
import ops_sums
import poplite as pl
from rows import SETTLING, Row, in_turn, run

if TYPE_CHECKING:
    import numpy.typing as npt

CASES = (
    ("rows", (1000, 1000), 1, 2.0),
    ("columns", (1000, 1000), 0, 10.0),
    ("short rows", (100_000, 10), 1, 1.0),
    ("few columns", (100_000, 10), 0, 1.0),
)
"""The operand of a sum, its shape, the dimension that disappears, and the target."""


def engine_of(x: npt.NDArray[Any], dim: int, tiles: int) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine that sums along a dimension, and the tensor of its sums."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    tensor = graph.add_variable(pl.FLOAT, x.shape, "x", mapping="linear", initial_value=x)
    sums = pl.ops.map(pl.ops.sum(tensor, dim), name="reduce", program=program)
    return pl.Engine(graph, program, checks="fast"), sums


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    made = []
    for title, shape, dim, target in CASES:
        if small:
            shape = (shape[0] // 50, shape[1])
        # Whole numbers, so that no order of adding loses anything.
        x = np.random.default_rng(dim).integers(-9, 10, shape).astype(np.float32)
        engine, sums = engine_of(x, dim, 20 if small else 1472)
        engine.run()
        if engine.read(sums).tobytes() != np.add.reduce(x, axis=dim).tobytes():
            sys.exit(f"{title}: the sums differ")
        warm_up = 0.0 if small else SETTLING
        numpy = partial(np.add.reduce, x, axis=dim)
        ours, theirs = in_turn(engine.run, numpy, samples, warm_up=warm_up)
        name = f"sums of {title}, {shape[0]:,} x {shape[1]:,}: poplite / NumPy"
        made.append(Row(name, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    others = (
        *(ops_sums, ops_maps, ops_mathematics, ops_random, ops_matmul, ops_network, ops_order),
        *(ops_slices, ops_building, ops_convolution, ops_multigrid, ops_sparse),
    )
    return [*made, *(row for each in others for row in each.rows(small, samples))]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
