"""What floating-point control costs: axpy with traps, and of HALF with stochastic rounding.

python benchmarks/engine_floats.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import poplite as pl
from engine_axpy import Axpy, Size
from rows import Row, check, in_turn, run

TRAPS = pl.FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=False)


def engines(
    size: Size, element: type[pl.ElementType[float]], step: pl.Program
) -> list[tuple[pl.Engine, pl.Tensor]]:
    """Return two engines of the same vertices: one after the step, and one without it."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((size.vertices, 64)).astype(element.dtype)
    graph = pl.Graph(pl.Target(tiles=size.tiles))
    tx = graph.add_variable(element, x.shape, "x", mapping="linear", initial_value=x)
    ty = graph.add_variable(element, x.shape, "y", mapping="linear", initial_value=x)
    work = graph.add_compute_set("axpy")
    for v in range(size.vertices):
        tile = v * size.tiles // size.vertices
        graph.add_vertex(work, Axpy, tile=tile, a=1e-3, x=tx[v], y=ty[v])
    steps = pl.Repeat(size.times, pl.Execute(work))
    programs: list[pl.Program] = [pl.Sequence(step, steps), steps]
    return [(pl.Engine(graph, program, checks="fast"), ty) for program in programs]


def row(
    name: str,
    element: type[pl.ElementType[float]],
    step: pl.Program,
    target: float,
    size: Size,
    samples: int,
) -> Row:
    """Axpy after a step against without it, both in poplite."""
    (ours, tensor), (plain, _) = engines(size, element, step)
    ours.run()
    plain.run()
    got, expected = ours.read(tensor), plain.read(tensor)
    if element is pl.HALF:  # equal on average only: chance adds what rounding to nearest drops
        is_near = abs(got.astype(float) - exact(size)).mean() < 0.01
        check(name, np.array(is_near), np.array(True))
    else:
        check(name, got, expected)
    times = in_turn(ours.run, plain.run, samples, warm_up=size.warm_up)
    return Row(name, min(times[0]) / min(times[1]), "x", "<=", target, *times)


def exact(size: Size) -> Any:
    """Return what all steps give without rounding."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((size.vertices, 64)).astype(np.float16).astype(float)
    return x * (1 + size.times * 1e-3)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    axpy = f"axpy, {size.vertices:,} vertices of 64"
    rounding = pl.SetStochasticRounding(True)
    return [
        row(
            f"{axpy}: traps / none",
            pl.FLOAT,
            pl.SetFloatingPointBehaviour(TRAPS),
            6.0,
            size,
            samples,
        ),
        row(f"{axpy}, HALF: stochastic / nearest", pl.HALF, rounding, 8.0, size, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
