"""C++ codelets in a program: a product with a vector, a stencil, and a maximum by all workers.

    pip install "poplite[cpp]"
    python examples/cpp/run.py

The codelets are in codelets.cpp, as they would be given to Poplar. Each result is compared with
NumPy to the last bit.
"""

from pathlib import Path

import numpy as np

import poplite as pl

CODELETS = Path(__file__).with_name("codelets.cpp")
ROWS, COLUMNS, TILES = 64, 48, 8
MATRIX = ((7 * np.arange(ROWS)[:, None] + 3 * np.arange(COLUMNS)) % 11 - 5).astype(np.float32)
VECTOR = (np.arange(COLUMNS) % 5 - 2).astype(np.float32)  # whole numbers: all sums are exact
RATE = np.float32(0.2)


def product(graph: pl.Graph, matrix: pl.Tensor) -> tuple[pl.Program, pl.Tensor]:
    """Return the program of a matrix-vector product, eight rows on each tile, and its result."""
    x = graph.add_variable(pl.FLOAT, (COLUMNS,), "x", mapping="linear", initial_value=VECTOR)
    y = graph.add_variable(pl.FLOAT, (ROWS,), "y", mapping="linear")
    step = graph.add_compute_set("product")
    for tile in range(TILES):
        rows = slice(ROWS * tile // TILES, ROWS * (tile + 1) // TILES)
        graph.add_vertex(step, "MatVec<float>", tile=tile, rows=list(matrix[rows]), x=x, y=y[rows])
    return pl.Execute(step), y


def heat(graph: pl.Graph, grid: pl.Tensor) -> tuple[pl.Program, pl.Tensor]:
    """Return the program of a step of the heat equation inside of a grid, and its result."""
    after = graph.add_variable(pl.FLOAT, (ROWS - 2, COLUMNS - 2), "after", mapping="linear")
    step = graph.add_compute_set("heat")
    for tile in range(TILES):
        first, last = (ROWS - 2) * tile // TILES, (ROWS - 2) * (tile + 1) // TILES
        rows, out = list(grid[first : last + 2]), list(after[first:last])
        vertex = graph.add_vertex(step, "Heat", tile=tile, out=out, rate=RATE)
        graph.connect(vertex["in"], rows)  # `in` is a keyword of Python
    return pl.Execute(step), after


def largest(graph: pl.Graph, matrix: pl.Tensor) -> tuple[pl.Program, pl.Tensor]:
    """Return the program of the maxima of all workers, and its result."""
    workers = graph.target.workers
    maxima = graph.add_variable(pl.FLOAT, (TILES, workers), "maxima", mapping="linear")
    step = graph.add_compute_set("largest")
    for tile in range(TILES):
        rows = slice(ROWS * tile // TILES, ROWS * (tile + 1) // TILES)
        part = matrix[rows].flatten()
        graph.add_vertex(step, "Largest", tile=tile, x=part, partials=maxima[tile])
    return pl.Execute(step), maxima


def build() -> tuple[pl.Graph, pl.Program, list[pl.Tensor]]:
    """Return the graph, the program of all three, and their results."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    graph.add_codelets(CODELETS)
    matrix = graph.add_variable(
        pl.FLOAT, (ROWS, COLUMNS), "matrix", mapping="linear", initial_value=MATRIX
    )
    parts = [part(graph, matrix) for part in (product, heat, largest)]
    return graph, pl.Sequence(*[program for program, _ in parts]), [result for _, result in parts]


def main() -> None:
    """Run the program, and compare its results with NumPy."""
    graph, program, results = build()
    engine = pl.Engine(graph, program)
    engine.run()
    y, after, maxima = map(engine.read, results)
    np.testing.assert_array_equal(y, MATRIX @ VECTOR)
    here = MATRIX[1:-1, 1:-1]
    around = MATRIX[:-2, 1:-1] + MATRIX[2:, 1:-1] + MATRIX[1:-1, :-2] + MATRIX[1:-1, 2:]
    np.testing.assert_array_equal(after, here + RATE * (around - 4 * here))
    parts = MATRIX.reshape(TILES, -1)
    np.testing.assert_array_equal(maxima.max(axis=1), parts.max(axis=1))
    print(engine.report())


if __name__ == "__main__":
    main()
