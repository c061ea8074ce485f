"""Poisson's equation, 4 u - (up + down + left + right) = b in a square, by multigrid.

A level has every other point of the one above; its function calls that of the next: a V-cycle.  A
loop runs these until 10^-6 of b is left, beyond float32: u is the sum of two, `high` and `low`.
"""

from itertools import product

import numpy as np

import poplite as pl
from poplite import ops

IN = (slice(1, -1), slice(1, -1))  # the points of a level, which has the edge around them
# Rows before, at and after those of the next level, with weights; rows between two, and at one.
FINER = [(slice(1, -2, 2), 0.5), (slice(2, -1, 2), 1.0), (slice(3, None, 2), 0.5)]
COARSER = [(slice(1, -1, 2), (slice(-1), slice(1, None))), (slice(2, -1, 2), (slice(1, -1),))]


def around(t: pl.Tensor) -> pl.Expr:
    return t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:]


def build(size: int = 63, grid: tuple[int, int] = (4, 4)) -> tuple[pl.Graph, pl.Program]:
    graph = pl.Graph(pl.Target(tiles=grid[0] * grid[1]))

    def variable(name: str, points: int) -> pl.Tensor:
        made = graph.add_variable(pl.FLOAT, (points + 2, points + 2), name, initial_value=0)
        pl.map_blocks(graph, made, (min(grid[0], points), min(grid[1], points)), halo=1)
        return made

    def level(size: int, b: pl.Tensor, e: pl.Tensor) -> pl.Function:
        r, half = variable(f"r{size}", size), size // 2
        with graph.steps() as steps:
            ops.assign(e[IN], 0.24 * b[IN] + 0.04 * around(b))  # two sweeps from e = 0
            if size > 1:
                ops.assign(r[IN], b[IN] + around(e) - 4 * e[IN])
                coarse_b, coarse_e = variable(f"b{half}", half), variable(f"e{half}", half)
                terms = [u * v * r[rows, cols] for rows, u in FINER for cols, v in FINER]
                ops.assign(coarse_b[IN], sum(terms[1:], terms[0]))
                steps.add(pl.Call(level(half, coarse_b, coarse_e)))
                for (rows, i), (cols, j) in product(COARSER, repeat=2):
                    near = [coarse_e[row, col] for row in i for col in j]
                    ops.assign(e[rows, cols], e[rows, cols] + sum(near[1:], near[0]) / len(near))
            for old, new in ((e, r), (r, e)):  # two more, of damped Jacobi
                ops.assign(new[IN], 0.2 * (old[IN] + around(old) + b[IN]))
        return graph.add_function(steps, f"level of {size}")

    b, r, e, high, low = (variable(name, size) for name in ("b", "r", "e", "high", "low"))
    norm = graph.add_variable(pl.FLOAT, (), "norm", mapping=0, initial_value=1)
    with graph.steps("solve") as program:
        ops.assign(r, b)
        with ops.while_(norm > 1e-6):
            program.add(pl.Call(level(size, r, e)))
            new = ops.map(high + e)  # what high has no digits for goes to low
            taken = ops.map(new - high)
            ops.assign(low, low + (high - (new - taken)) + (e - taken))
            ops.assign(high, new)
            u = high[IN]  # differences of neighbours are nearly exact, so they are taken first
            across = (u - high[1:-1, :-2]) - (high[1:-1, 2:] - u)
            along = (u - high[:-2, 1:-1]) - (high[2:, 1:-1] - u)
            ops.assign(r[IN], b[IN] - (across + along + (4 * low[IN] - around(low))))
            ops.assign(norm, ops.norm(r) / ops.norm(b))
    return graph, program


def main(size: int = 1023, grid: tuple[int, int] = (92, 16)) -> None:
    b = np.zeros((size + 2, size + 2), np.float32)
    b[tuple(np.random.default_rng(1).integers(1, size + 1, (2, 24)))] = np.resize([1, -1], 24)
    engine = pl.Engine(*build(size, grid), checks="fast")
    engine.write("b", b)
    engine.run()
    u = engine.read("high").astype(float) + engine.read("low")
    left = b[IN] - (4 * u[IN] - (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))
    print(f"{np.linalg.norm(left) / np.linalg.norm(b):.1e} of b is left")
    assert np.linalg.norm(left) <= 1.01e-6 * np.linalg.norm(b)


if __name__ == "__main__":
    main()
