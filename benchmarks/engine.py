"""Warm runs against hand-written code: the photograph, axpy in two types, many small steps.

    python benchmarks/engine.py [--samples 9] [--json FILE] [--small]

Every row first checks that both sides give the same bits, then times them in turn.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any, Generic, TypeVar

import numba
import numpy as np

import poplite as pl
from rows import Row, in_turn, run

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


@numba.njit  # type: ignore[untyped-decorator]
def axpy_serial(a: Any, x: Any, y: Any) -> None:
    """One small step, to be called from a Python loop."""
    for chunk in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[chunk, i] += a * x[chunk, i]


def axpy_engine(
    vertices: int,
    length: int,
    times: int,
    tiles: int,
    element: type[pl.ElementType[float]] = pl.FLOAT,
) -> tuple[Any, Any, Any, Any]:
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
    return pl.Engine(graph, pl.Repeat(times, pl.Execute(work))), ty, x, y


def check(name: str, ours: Any, baseline: Any) -> None:
    """Stop when the two sides differ in a bit."""
    if ours.tobytes() != baseline.tobytes():
        sys.exit(f"{name}: {np.count_nonzero(ours != baseline):,} of {ours.size:,} values differ")


def photo_row(small: bool, samples: int) -> Row:
    """The main job of examples/photo.py against its oracle."""
    path = Path(__file__).resolve().parents[1] / "examples" / "photo.py"
    spec = importlib.util.spec_from_file_location("example_photo", path)
    assert spec is not None
    assert spec.loader is not None
    photo = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = photo  # its vertex class looks its module up
    spec.loader.exec_module(photo)

    steps, tiles = (2, 24) if small else (20, 1472)
    picture = photo.read_picture(None)[: 40 if small else None]
    graph, program, buffer, inside = photo.build(picture, steps, tiles)
    engine = pl.Engine(graph, program)
    engine.run()
    check("photo", engine.read(inside), photo.nine_taps(picture, steps))
    engine.write(buffer, photo.with_border(picture))
    ours, oracle = in_turn(engine.run, lambda: photo.nine_taps(picture, steps), samples)
    name = f"photo, {2 * steps} blurs: NumPy oracle / poplite"
    return Row(name, min(oracle) / min(ours), "x", ">=", 6.0, ours, oracle)


def axpy_row(small: bool, samples: int) -> Row:
    """Vertices of 64 floats against prange over the same chunks."""
    vertices, times, tiles = (96, 3, 16) if small else (8832, 200, 1472)
    engine, tensor, x, y = axpy_engine(vertices, 64, times, tiles)
    a = np.float32(0.5)
    engine.run()
    axpy_chunks(a, x, y, times)
    check("axpy", engine.read(tensor), y)
    ours, hand = in_turn(engine.run, lambda: axpy_chunks(a, x, y, times), samples)
    name = f"axpy, {vertices:,} vertices of 64: poplite / prange"
    return Row(name, min(ours) / min(hand), "x", "<=", 1.5, ours, hand)


def half_row(small: bool, samples: int) -> Row:
    """The same vertices on HALF against FLOAT, both in poplite."""
    vertices, times, tiles = (96, 3, 16) if small else (8832, 200, 1472)
    half, tensor, x, y = axpy_engine(vertices, 64, times, tiles, pl.HALF)
    single, *_ = axpy_engine(vertices, 64, times, tiles)
    half.run()
    for _ in range(times):
        product = np.float32(0.5) * x.astype(np.float32)
        y = (y.astype(np.float32) + product).astype(np.float16)
    check("axpy of HALF", half.read(tensor), y)
    ours, other = in_turn(half.run, single.run, samples)
    name = f"axpy, {vertices:,} vertices of 64: HALF / FLOAT"
    return Row(name, min(ours) / min(other), "x", "<=", 1.1, ours, other)


def small_steps_row(small: bool, samples: int) -> Row:
    """Executes of six small vertices against a Python loop over a compiled kernel."""
    times = 1000 if small else 100_000
    engine, tensor, x, y = axpy_engine(6, 4, times, 1)
    a = np.float32(0.5)

    def python_loop() -> None:
        for _ in range(times):
            axpy_serial(a, x, y)

    engine.run()
    python_loop()
    check("small steps", engine.read(tensor), y)
    ours, hand = in_turn(engine.run, python_loop, samples)
    name = f"{times:,} Executes of six vertices: poplite / Python loop"
    return Row(name, min(ours) / min(hand), "x", "<=", 0.25, ours, hand)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [make(small, samples) for make in (photo_row, axpy_row, half_row, small_steps_row)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
