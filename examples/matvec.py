"""A matrix times a vector, cut by a small cost model: into few long pieces of work, or many short?

    python examples/matvec.py

The 96 x 160 matrix is cut into segments of columns.  A *dot* vertex multiplies a row of a segment
by its part of x, and a *sum* vertex adds up what the segments of a row came to::

    split 2     [ dot of 80 columns ][ dot of 80 columns ]      over 32 tiles, 6 a tile
                         |__________________|
                           sum of 2 partials                    3 a tile

    split 1     3 long dots a tile, so 3 of its 6 workers do nothing, and all of x on every tile
    split 2     6 dots of half the length a tile, and half of x
    split 40    120 dots of 4 columns a tile: starting them takes longer than what they do, and
                40 partials of every row have to travel

`cost` is that thought as a formula, of compute and exchange alone.  The engine's model knows where
every element lies.  It finds the same compute cycles, and what the formula leaves out: waiting for
the slowest tile, the way from tile to tile, and copies of what comes together from several places.
On a matrix this small those decide: with a single segment the sums need nothing from elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS, COLUMNS, TILES, WORKERS = 96, 160, 32, 6
SPLITS = (1, 2, 40)  # whose profiles are printed

# Worked out by hand-written Python.
EXPECTED_SPLIT, EXPECTED_COST, EXPECTED_WHOLE = 2, 392, 709
EXPECTED_FIRST = [3, 3, 14, 3, 3, -8]
EXPECTED_SUM, EXPECTED_LEAST, EXPECTED_GREATEST = 13, -8, 14


class Dot(pl.Vertex):
    """The product of a part of a row and a part of x."""

    row: pl.Input[pl.Vector[pl.FLOAT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    partial: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add up the products."""
        total = 0.0
        for i in range(len(self.row)):
            total += self.row[i] * self.x[i]
        self.partial = total


class Sum(pl.Vertex):
    """The sum of what the segments of a row came to."""

    partials: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add them up in order."""
        total = 0.0
        for partial in self.partials:
            total += partial
        self.y = total


def slots(length: int) -> int:
    """Return what a worker takes for a vertex: a start, then two elements at a time."""
    return 5 + (length + 1) // 2


def compute_cycles(split: int) -> int:
    """Return what a tile computes; its six workers take turns, so a slot takes six cycles."""
    vertices, sums = -(-ROWS * split // TILES), -(-ROWS // TILES)  # of a tile
    columns = -(-COLUMNS // split)
    dots = -(-vertices // WORKERS) * WORKERS * slots(columns)
    return dots + -(-sums // WORKERS) * WORKERS * slots(split)


def exchange_cycles(split: int) -> int:
    """Return what a tile receives: parts of x, then partials; 4 bytes, an element, in a cycle."""
    vertices, sums = -(-ROWS * split // TILES), -(-ROWS // TILES)
    return -(-vertices // ROWS) * -(-COLUMNS // split) + sums * split


def cost(split: int) -> int:
    """Return the cycles of a split into so many segments of columns."""
    return compute_cycles(split) + exchange_cycles(split)


def plan() -> int:
    """Return the split that costs least, the first of equals."""
    return min(range(1, COLUMNS), key=cost)


def operands() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the matrix and x: small whole numbers, so that every sum is exact."""
    rows, columns = np.arange(ROWS)[:, None], np.arange(COLUMNS)
    return (
        ((7 * rows + 3 * columns) % 11 - 5).astype(np.float32),
        (columns % 5 - 2).astype(np.float32),
    )


def build(split: int = EXPECTED_SPLIT) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    """Return the graph, its program, and y.

    Args:
        split: segments that columns are cut into, 1 to 159; the best number when left out.
    """
    graph = pl.Graph(pl.Target(tiles=TILES, workers=WORKERS))
    a, b = operands()
    matrix = graph.add_variable(pl.FLOAT, a.shape, "matrix", initial_value=a)
    x = graph.add_variable(pl.FLOAT, b.shape, "x", mapping="linear", initial_value=b)
    partials = graph.add_variable(pl.FLOAT, (ROWS, split), "partials")
    y = graph.add_variable(pl.FLOAT, (ROWS,), "y", mapping="linear")

    dots = graph.add_compute_set("dots")
    for i in range(split):
        segment = slice(pl.cut(i, COLUMNS, split), pl.cut(i + 1, COLUMNS, split))
        for row in range(ROWS):
            tile = (ROWS * i + row) * TILES // (ROWS * split)
            part, partial = matrix[row, segment], partials[row, i]
            graph.set_tile_mapping(part, tile)
            graph.set_tile_mapping(partial, tile)
            dot = graph.add_vertex(dots, Dot, tile=tile, row=part, x=x[segment], partial=partial)
            graph.set_perf_estimate(dot, slots(part.num_elements))

    sums = graph.add_compute_set("sums")
    tiles = np.arange(ROWS) * TILES // ROWS
    block = graph.add_vertices(sums, Sum, tile=tiles, partials=partials, y=y)
    graph.set_perf_estimate(block, slots(split))
    return graph, pl.Sequence(pl.Execute(dots), pl.Execute(sums)), y


def faults(split: int, y: npt.NDArray[np.float32]) -> list[str]:
    """Compare with NumPy, and with the numbers above."""
    matrix, x = operands()
    found = []
    different = int(np.count_nonzero(y != matrix @ x))
    if different:
        found.append(f"split {split}: {different} of {ROWS} rows differ from NumPy")
    for what, got, expected in (
        ("first rows", y[:6].tolist(), EXPECTED_FIRST),
        ("sum", y.sum(), EXPECTED_SUM),
        ("least", y.min(), EXPECTED_LEAST),
        ("greatest", y.max(), EXPECTED_GREATEST),
    ):
        if got != expected:
            found.append(f"split {split}: {what} {got}, expected {expected}")
    return found


HEADING = """
         formula                      engine
split    total  compute  exchange     total  compute  exchange   copies  waiting"""


def comparison(split: int, report: pl.Report) -> str:
    """Return a line of the table: the formula's cycles beside the engine's."""
    phases = [phase for step in report.execution.steps for phase in step.phases]
    compute, exchange, copies = (
        sum(phase.cycles for phase in phases if phase.kind == kind)
        for kind in ("compute", "exchange", "copy")
    )
    waiting = sum(phase.sync for phase in phases)
    return (
        f"{split:5} {cost(split):8,} {compute_cycles(split):8,} {exchange_cycles(split):9,} "
        f"{report.cycles:9,} {compute:8,} {exchange:9,} {copies:8,} {waiting:8,}"
    )


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Multiply a matrix by a vector on 32 tiles.")
    parser.parse_args(argv)
    best, problems, lines = plan(), [], []
    for what, got, expected in (
        ("best split", best, EXPECTED_SPLIT),
        ("its cost", cost(best), EXPECTED_COST),
        ("cost of split 1", cost(1), EXPECTED_WHOLE),
    ):
        if got != expected:
            problems.append(f"{what}: {got}, expected {expected}")
    for split in SPLITS:
        graph, program, y = build(split)
        engine = pl.Engine(graph, program)
        engine.run()
        problems += faults(split, engine.read(y))
        report = engine.report()
        print(f"Split {split}\n{report}\n")
        lines.append(comparison(split, report))
    print(f"By the formula, the best split is {best}, at {cost(best)} cycles.\n{HEADING}")
    print("\n".join(lines))
    for problem in problems:
        print(f"WRONG: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
