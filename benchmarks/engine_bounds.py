"""Indices checked against not: axpy of known lengths, axpy of a count in memory, a gather.

python benchmarks/engine_bounds.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np

import poplite as pl
from engine_axpy import Axpy, Size
from rows import Row, check, in_turn, run

LENGTH = 64


class AxpyOfSome(pl.Vertex):
    """`y = a * x + y` for the first elements; how many is read from memory."""

    a: pl.State[pl.FLOAT]
    count: pl.Input[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add a multiple of x."""
        for i in range(self.count):
            self.y[i] += self.a * self.x[i]


class Gather(pl.Vertex):
    """`y = x[index]`."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    index: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Take elements."""
        for i in range(len(self.y)):
            self.y[i] = self.x[self.index[i]]


def engine(
    cls: type[pl.Vertex], size: Size, checks: Literal["fast", "none"]
) -> tuple[pl.Engine, pl.Tensor]:
    """Return an engine of many steps of vertices of a class, and the tensor that they write."""
    rng, shape = np.random.default_rng(1), (size.vertices, LENGTH)
    graph = pl.Graph(pl.Target(tiles=size.tiles))
    x, y = (
        graph.add_variable(
            pl.FLOAT,
            shape,
            name,
            mapping="linear",
            initial_value=rng.standard_normal(shape).astype(np.float32),
        )
        for name in "xy"
    )
    more: dict[str, pl.Tensor] = {}
    if cls is AxpyOfSome:
        more["count"] = graph.add_variable(
            pl.INT, shape[:1], "count", mapping="linear", initial_value=LENGTH
        )
    if cls is Gather:
        places = rng.integers(0, LENGTH, shape, dtype=np.int32)
        more["index"] = graph.add_variable(
            pl.INT, shape, "index", mapping="linear", initial_value=places
        )
    work = graph.add_compute_set("work")
    for v in range(size.vertices):
        state = {} if cls is Gather else {"a": 0.5}
        edges = {"x": x[v], "y": y[v], **{name: tensor[v] for name, tensor in more.items()}}
        graph.add_vertex(work, cls, tile=v * size.tiles // size.vertices, **state, **edges)
    return pl.Engine(graph, pl.Repeat(size.times, pl.Execute(work)), checks=checks), y


def row(name: str, cls: type[pl.Vertex], size: Size, target: float, samples: int) -> Row:
    """Fast checks against none."""
    (checked, ours), (bare, theirs) = (engine(cls, size, kind) for kind in ("fast", "none"))
    checked.run()
    bare.run()
    name = f"{name}: bounds checked / not"
    check(name, checked.read(ours), bare.read(theirs))
    times = in_turn(checked.run, bare.run, samples, warm_up=size.warm_up)
    return Row(name, min(times[0]) / min(times[1]), "x", "<=", target, *times)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    many = f"{size.vertices:,} vertices of {LENGTH}"
    return [
        row(f"R26 axpy, {many}", Axpy, size, 1.1, samples),
        row(f"R27 axpy, {many}, count in memory", AxpyOfSome, size, 3.0, samples),
        row(f"R28 gather, {many}", Gather, size, 2.0, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
