"""Row R15: what accounting of cycles and memory costs while a program runs.

    python benchmarks/engine_accounting.py [--samples 9] [--json FILE] [--small]

Axpy is priced before it runs, and its rows are counted anyway.  How long a search takes depends on
data, so that its vertices count while they run.  Of it there are more samples, as few are
undisturbed: its loop is at the limit of what a core does, which others may share.
"""

from __future__ import annotations

import sys

import numpy as np

import poplite as pl
from engine_axpy import Axpy, Size
from rows import Row, check, in_turn, run


class Collatz(pl.Vertex):
    """How many steps each number takes to reach one."""

    numbers: pl.Input[pl.Vector[pl.INT]]
    steps: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Follow every number."""
        for i in range(len(self.steps)):
            number = self.numbers[i]
            steps = 0
            while number > 1:
                number = number // 2 if number % 2 == 0 else 3 * number + 1
                steps += 1
            self.steps[i] = steps


def row(
    name: str, graph: pl.Graph, program: pl.Program, result: pl.Tensor, warm_up: float, samples: int
) -> Row:
    """One program with accounting against without, both in poplite."""
    engines = [
        pl.Engine(graph, program, checks="fast", options={"debug.instrument": wanted})
        for wanted in (True, False)
    ]
    for engine in engines:
        engine.run()
    check(name, *(engine.read(result) for engine in engines))
    ours, without = in_turn(engines[0].run, engines[1].run, samples, warm_up=warm_up)
    assert engines[0].report().cycles, "it was accounted"
    return Row(name, min(ours) / min(without), "x", "<=", 1.05, ours, without)


def axpy(size: Size, samples: int) -> Row:
    """Vertices whose lengths decide."""
    x = np.random.default_rng(1).standard_normal((size.vertices, 64)).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=size.tiles))
    tx = graph.add_variable(pl.FLOAT, x.shape, "x", mapping="linear", initial_value=x)
    ty = graph.add_variable(pl.FLOAT, x.shape, "y", mapping="linear", initial_value=x)
    work = graph.add_compute_set("axpy")
    tiles = np.arange(size.vertices) * size.tiles // size.vertices
    graph.add_vertices(work, Axpy, tile=tiles, a=1e-3, x=tx, y=ty)
    name = f"R15 axpy, {size.vertices:,} vertices of 64: accounted / not"
    program = pl.Repeat(size.times, pl.Execute(work))
    return row(name, graph, program, ty, size.warm_up, samples)


def search(size: Size, samples: int) -> Row:
    """Vertices whose data decide."""
    numbers = np.random.default_rng(2).integers(1, 10_000, (size.vertices, 16), np.int32)
    graph = pl.Graph(pl.Target(tiles=size.tiles))
    t = graph.add_variable(pl.INT, numbers.shape, "n", mapping="linear", initial_value=numbers)
    steps = graph.add_variable(pl.INT, numbers.shape, "steps", mapping="linear")
    work = graph.add_compute_set("collatz")
    tiles = np.arange(size.vertices) * size.tiles // size.vertices
    graph.add_vertices(work, Collatz, tile=tiles, numbers=t, steps=steps)
    name = f"R15 Collatz, {size.vertices:,} vertices of 16: counted / not"
    return row(name, graph, pl.Repeat(4, pl.Execute(work)), steps, size.warm_up, 3 * samples)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    return [axpy(size, samples), search(size, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
