"""Axpy of many small vectors: against prange, in HALF against FLOAT, checked against not.

python benchmarks/engine_axpy.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
from typing import Any, Generic, Literal, TypeVar

import numba
import numpy as np

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run

T = TypeVar("T", bound=pl.ElementType[float])


class Axpy(pl.Vertex, Generic[T]):
    """`y = a * x + y`."""

    a: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[T]]
    y: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        """Add a multiple of x."""
        for i in range(len(self.y)):
            self.y[i] += self.a * self.x[i]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def axpy_chunks(a: Any, x: Any, y: Any, times: int) -> None:
    """What a Numba user writes: all chunks in parallel, the loop over steps compiled."""
    for _ in range(times):
        for chunk in numba.prange(x.shape[0]):
            for i in range(x.shape[1]):
                y[chunk, i] += a * x[chunk, i]


def axpy_engine(
    vertices: int,
    length: int,
    times: int,
    tiles: int,
    element: type[pl.ElementType[float]] = pl.FLOAT,
    checks: Literal["strict", "fast"] = "fast",
) -> tuple[pl.Engine, pl.Tensor, Any, Any]:
    """Return an engine of `times` steps of `vertices` vertices, its tensor y, and both arrays."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((vertices, length)).astype(element.dtype)
    y = rng.standard_normal((vertices, length)).astype(element.dtype)
    graph = pl.Graph(pl.Target(tiles=tiles))
    tx = graph.add_variable(element, x.shape, "x", mapping="linear", initial_value=x)
    ty = graph.add_variable(element, y.shape, "y", mapping="linear", initial_value=y)
    work = graph.add_compute_set("axpy")
    for v in range(vertices):
        graph.add_vertex(work, Axpy, tile=v * tiles // vertices, a=0.5, x=tx[v], y=ty[v])
    return pl.Engine(graph, pl.Repeat(times, pl.Execute(work)), checks=checks), ty, x, y


class Size:
    """How many vertices and steps there are, and how long they warm up.

    Args:
        small: whether to be tiny.
    """

    def __init__(self, small: bool) -> None:
        self.vertices, self.times, self.tiles = (96, 3, 16) if small else (8832, 200, 1472)
        self.warm_up = 0.0 if small else SETTLING

    def engine(self, length: int, **options: Any) -> tuple[pl.Engine, pl.Tensor, Any, Any]:
        """Return the engine of this many vertices, as `axpy_engine`."""
        return axpy_engine(self.vertices, length, self.times, self.tiles, **options)


def prange_row(number: str, size: Size, length: int, target: float, samples: int) -> Row:
    """Vertices of a length against prange over the same chunks."""
    engine, tensor, x, y = size.engine(length)
    a = np.float32(0.5)

    def hand() -> None:
        axpy_chunks(a, x, y, size.times)

    engine.run()
    hand()
    name = f"{number} axpy, {size.vertices:,} vertices of {length}: poplite / prange"
    check(name, engine.read(tensor), y)
    ours, theirs = in_turn(engine.run, hand, samples, warm_up=size.warm_up)
    return Row(name, min(ours) / min(theirs), "x", "<=", target, ours, theirs)


def half_row(size: Size, samples: int) -> Row:
    """HALF against FLOAT, both in poplite."""
    half, tensor, x, y = size.engine(64, element=pl.HALF)
    single, *_ = size.engine(64)
    half.run()
    for _ in range(size.times):
        product = np.float32(0.5) * x.astype(np.float32)
        y = (y.astype(np.float32) + product).astype(np.float16)
    name = f"R14 axpy, {size.vertices:,} vertices of 64: HALF / FLOAT"
    check(name, half.read(tensor), y)
    ours, theirs = in_turn(half.run, single.run, samples, warm_up=size.warm_up)
    return Row(name, min(ours) / min(theirs), "x", "<=", 1.1, ours, theirs)


def checked_row(size: Size, samples: int) -> Row:
    """Indices checked against not, both in poplite."""
    strict, tensor, *_ = size.engine(64, checks="strict")
    fast, other, *_ = size.engine(64)
    strict.run()
    fast.run()
    name = f"R21 axpy, {size.vertices:,} vertices of 64: strict / fast checks"
    check(name, strict.read(tensor), fast.read(other))
    ours, theirs = in_turn(strict.run, fast.run, samples, warm_up=size.warm_up)
    return Row(name, min(ours) / min(theirs), "x", "<=", 5.0, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    return [
        prange_row("R1", size, 64, 1.25, samples),
        prange_row("R2", size, 16, 1.4, samples),
        half_row(size, samples),
        checked_row(size, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
