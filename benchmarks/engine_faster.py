"""The faster form of docs/vertices.md, a matrix product along rows, against its definition.

python benchmarks/engine_faster.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run


class AddProduct(pl.Vertex):
    """`c += a b`, of matrices."""

    a: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    c: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Add up the products of one element after the other."""
        for i in range(len(self.c)):
            for j in range(len(self.c[i])):
                total = self.c[i][j]
                for k in range(len(self.b)):
                    total += self.a[i][k] * self.b[k][j]
                self.c[i][j] = total

    @pl.faster(bits="equal")
    def by_rows(self) -> None:
        """Add multiples of rows of b to rows of c."""
        for i in range(len(self.c)):
            for k in range(len(self.b)):
                for j in range(len(self.c[i])):
                    self.c[i][j] += self.a[i][k] * self.b[k][j]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    blocks, size, times = (2, 9, 1) if small else (64, 64, 4)
    graph = pl.Graph(pl.Target(tiles=blocks))
    drawn = np.random.default_rng(0)
    a, b, c = (
        graph.add_variable(
            pl.FLOAT,
            (blocks, size, size),
            name,
            mapping="linear",
            initial_value=drawn.standard_normal((blocks, size, size)).astype(np.float32),
        )
        for name in "abc"
    )
    product = graph.add_compute_set("product")
    for block in range(blocks):
        graph.add_vertex(product, AddProduct, tile=block, a=a[block], b=b[block], c=c[block])
    program = pl.Repeat(times, pl.Execute(product))

    def engine(faster: bool) -> Any:
        return pl.Engine(graph, program, checks="fast", faster=faster)

    faster, defined = engine(True), engine(False)
    faster.run()
    defined.run()
    name = f"faster form, {blocks} products of {size} x {size}: by rows / compute"
    check(name, faster.read(c), defined.read(c))
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(faster.run, defined.run, samples, warm_up=warm_up)
    return [Row(name, min(ours) / min(theirs), "x", "<=", 0.5, ours, theirs)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
