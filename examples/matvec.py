"""A matrix times a vector, cut by a small cost model: into few long pieces of work, or many short?

A *dot* vertex multiplies a row of a segment of columns by its part of x, a *sum* vertex adds up a
row.  With one segment half of the workers do nothing; with many, starting vertices takes longest.
"""

import numpy as np

import poplite as pl

ROWS, COLUMNS, TILES, WORKERS = 96, 160, 32, 6
A = ((7 * np.arange(ROWS)[:, None] + 3 * np.arange(COLUMNS)) % 11 - 5).astype(np.float32)
X = (np.arange(COLUMNS) % 5 - 2).astype(np.float32)  # small whole numbers: all sums are exact


class Dot(pl.Vertex):
    """The product of a part of a row and a part of x."""

    row: pl.Input[pl.Vector[pl.FLOAT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    partial: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.row)):
            total += self.row[i] * self.x[i]
        self.partial = total


class Sum(pl.Vertex):
    """The sum of what the segments of a row came to."""

    partials: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for partial in self.partials:
            total += partial
        self.y = total


def cost(split: int) -> tuple[int, int]:
    """Return compute and exchange cycles; a vertex takes 5 to start, then 1 for two elements."""
    dots, columns = -(-ROWS * split // TILES), -(-COLUMNS // split)  # of a tile, which has 3 sums
    turns = -(-dots // WORKERS) * (5 + (columns + 1) // 2) + 5 + (split + 1) // 2
    return WORKERS * turns, -(-dots // ROWS) * columns + 3 * split


def build(split: int = 2) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=TILES, workers=WORKERS))
    matrix = graph.add_variable(pl.FLOAT, A.shape, "matrix", initial_value=A)
    x = graph.add_variable(pl.FLOAT, X.shape, "x", mapping="linear", initial_value=X)
    partials = graph.add_variable(pl.FLOAT, (ROWS, split), "partials")
    y = graph.add_variable(pl.FLOAT, (ROWS,), "y", mapping="linear")
    dots, sums = map(graph.add_compute_set, ("dots", "sums"))
    for i, row in np.ndindex(split, ROWS):
        segment = slice(pl.cut(i, COLUMNS, split), pl.cut(i + 1, COLUMNS, split))
        tile = (ROWS * i + row) * TILES // (ROWS * split)
        part, partial = matrix[row, segment], partials[row, i]
        graph.set_tile_mapping(part, tile)
        graph.set_tile_mapping(partial, tile)
        dot = graph.add_vertex(dots, Dot, tile=tile, row=part, x=x[segment], partial=partial)
        graph.set_perf_estimate(dot, 5 + (len(part) + 1) // 2, flops=2 * len(part))
    block = graph.add_vertices(sums, Sum, tile=np.arange(ROWS) // 3, partials=partials, y=y)
    graph.set_perf_estimate(block, 5 + (split + 1) // 2, flops=split)
    return graph, pl.Sequence(pl.Execute(dots), pl.Execute(sums)), y


def main() -> None:
    for split in (1, min(range(1, COLUMNS), key=lambda n: sum(cost(n))), 40):
        graph, program, y = build(split)
        engine = pl.Engine(graph, program)
        engine.run()
        np.testing.assert_array_equal(engine.read(y), A @ X)
        print(f"{split} segments: {cost(split)} by the formula, {engine.report().cycles} cycles")


if __name__ == "__main__":
    main()
