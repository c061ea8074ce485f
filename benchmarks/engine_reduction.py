"""The sum of nine million numbers in four stages, each sum strictly in order.

    python benchmarks/engine_reduction.py [--samples 9] [--json FILE] [--small]

Six vertices on each of 1,472 tiles, then one vertex a tile, then one for each of 46 tiles, then
one.  Every vertex adds from left to right in float32, and so does the baseline, stage by stage.
"""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run


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


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
