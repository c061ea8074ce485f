"""Pi by the midpoint rule: 64 tiles, 1,000 slices each, partial sums read back.

Run it with `python examples/pi.py [--tiles 64] [--slices 1000]`.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TILES = 1_000_000
MOST_SLICES = 2**31 - 1  # INT numbers them
TOLERANCE = 1e-4  # float32 partial sums


class Slice(pl.Vertex):
    """Midpoint rule over one slice of [0, 1]."""

    first: pl.State[pl.INT]
    count: pl.State[pl.INT]
    step: pl.State[pl.FLOAT]
    partial: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Sum the curve 4 / (1 + x * x) at the middle of each step."""
        total = 0.0
        for i in range(self.first, self.first + self.count):
            x = (i + 0.5) * self.step
            total += 4.0 / (1.0 + x * x)
        self.partial = total * self.step


def build(tiles: int = 64, slices: int = 1000) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    """Return the graph, its program, and the tensor of partial sums."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    partials = graph.add_variable(pl.FLOAT, (tiles,), mapping="linear", name="partials")
    work = graph.add_compute_set("slices")
    for tile in range(tiles):
        graph.add_vertex(
            work,
            Slice,
            tile=tile,
            first=slices * tile,
            count=slices,
            step=1 / (slices * tiles),
            partial=partials[tile],
        )
    return graph, pl.Execute(work), partials


def positive(text: str) -> int:
    """Read a whole number from 1; argparse reports what is none."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compute pi on many tiles.")
    parser.add_argument("--tiles", type=positive, default=64, help="number of tiles (default 64)")
    parser.add_argument("--slices", type=positive, default=1000, help="per tile (default 1000)")
    options = parser.parse_args(argv)
    if options.tiles > MOST_TILES:
        parser.error(f"argument --tiles: at most {MOST_TILES:,}")
    if options.tiles * options.slices > MOST_SLICES:
        parser.error(f"argument --slices: at most {MOST_SLICES:,} on all tiles")

    graph, program, partials = build(options.tiles, options.slices)
    engine = pl.Engine(graph, program)
    engine.run()
    pi = engine.read(partials).sum(dtype=np.float64)
    print(f"pi = {pi:.5f}")
    print(engine.report())
    if not abs(pi - np.pi) < TOLERANCE:
        print(f"WRONG: off by {pi - np.pi:.2e}, allowed {TOLERANCE:.0e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
