"""Vertices like a * x + y on the engine: bounds, steps, floating point, accounts.

python benchmarks/engine_axpy.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Generic, Literal, TypeVar

import numba
import numpy as np

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run

# -- a * x + y -------------------------------------------------------------------------------------


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


def rows_of_axpy(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    return [
        prange_row("R1", size, 64, 1.25, samples),
        prange_row("R2", size, 16, 1.4, samples),
        half_row(size, samples),
        checked_row(size, samples),
    ]


# -- bounds ----------------------------------------------------------------------------------------


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


def row_of_bounds(name: str, cls: type[pl.Vertex], size: Size, target: float, samples: int) -> Row:
    """Fast checks against none."""
    (checked, ours), (bare, theirs) = (engine(cls, size, kind) for kind in ("fast", "none"))
    checked.run()
    bare.run()
    name = f"{name}: bounds checked / not"
    check(name, checked.read(ours), bare.read(theirs))
    times = in_turn(checked.run, bare.run, samples, warm_up=size.warm_up)
    return Row(name, min(times[0]) / min(times[1]), "x", "<=", target, *times)


def rows_of_bounds(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    many = f"{size.vertices:,} vertices of {LENGTH}"
    return [
        row_of_bounds(f"R26 axpy, {many}", Axpy, size, 1.1, samples),
        row_of_bounds(f"R27 axpy, {many}, count in memory", AxpyOfSome, size, 3.0, samples),
        row_of_bounds(f"R28 gather, {many}", Gather, size, 2.0, samples),
    ]


# -- steps -----------------------------------------------------------------------------------------
# Row R25 compares an interpreted vertex and the same loop in plain Python, over lists of floats.
#
# Row R22 compares the costs of loops themselves: a RepeatWhileTrue with an empty condition and a
# Repeat. The body of both is a Sync, which the engine only counts, since a Repeat of nothing is
# left out. Neither ends by itself: each runs for a while, is stopped, and its time is divided by
# that count.
#
# Rows R23 and R24 are the microseconds that strict checks add to one execution of twelve small
# vertices: while it is checked each time, because it copies unwritten data, and after checks end.


@numba.njit  # type: ignore[untyped-decorator]
def axpy_serial(a: Any, x: Any, y: Any) -> None:
    """One small step; all its vertices are neighbours, and so one loop."""
    for i in range(len(x)):
        y[i] += a * x[i]


@numba.njit  # type: ignore[untyped-decorator]
def axpy_loop(a: Any, x: Any, y: Any, times: int) -> None:
    """All steps, compiled."""
    for _ in range(times):
        axpy_serial(a, x, y)


class Pass(pl.Vertex):
    """Copies a few elements."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Copy all elements."""
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


LOOKED_AT = 900
"""Executions, of the first 1,000, in which strict checks look at a step that stays unwritten."""


def strict_row(title: str, target: float, written: int, times: int, samples: int) -> Row:
    """The additional time of an execution with strict checks.

    Args:
        title: of the row.
        target: microseconds.
        written: how many of eight elements are written of what each vertex copies.
        times: executions of a sample.
        samples: of each side.
    """
    graph = pl.Graph(pl.Target(tiles=12))
    x, y = (graph.add_variable(pl.FLOAT, (12, 8), name, mapping="linear") for name in "xy")
    work = graph.add_compute_set("pass")
    for v in range(12):
        graph.add_vertex(work, Pass, tile=v, x=x[v], y=y[v])
    program = pl.Repeat(times, pl.Execute(work))
    strict = pl.Engine(graph, program, checks="strict")
    fast = pl.Engine(graph, program, checks="fast")
    values = np.arange(12 * written, dtype=np.float32).reshape(12, written)
    for engine in (strict, fast):
        engine.write(x[:, :written], values)
    ours, theirs = in_turn(strict.run, fast.run, samples)
    check(title, strict.read(y[:, :written]), fast.read(y[:, :written]))
    looks = times * (samples + 1) if written < 8 else 1
    if strict.report().runs_again != 2 * looks - (written == 8):
        sys.exit(f"{title}: {strict.report().runs_again:,} runs again")
    ours, theirs = ([each / times for each in side] for side in (ours, theirs))
    return Row(title, 1e6 * (min(ours) - min(theirs)), "us", "<=", target, ours, theirs)


def strict_rows(small: bool, samples: int) -> list[Row]:
    """Rows R23 and R24."""
    looked_at, many = max(1, LOOKED_AT // (samples + 1)), 1_000 if small else 100_000
    return [
        strict_row("R23 strict step that is looked at, beyond fast", 100, 5, looked_at, samples),
        strict_row("R24 strict step that is not any more, beyond fast", 5, 8, many, samples),
    ]


def python_line(a: float, x: list[float], y: list[float]) -> None:
    """The loop of `Axpy` over lists, in doubles."""
    for i in range(len(y)):
        y[i] = a * x[i] + y[i]


def interpreted_row(samples: int) -> Row:
    """An interpreted vertex against plain Python; values are exact in float32 and in double."""
    graph, length = pl.Graph(pl.Target(tiles=1)), 1024
    values = np.arange(length, dtype=np.float32)
    x = graph.add_variable(pl.FLOAT, (length,), "x", mapping=0, initial_value=values)
    y = graph.add_variable(pl.FLOAT, (length,), "y", mapping=0, initial_value=1)
    step = graph.add_compute_set("line")
    graph.add_vertex(step, Axpy, tile=0, a=0.5, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(step), checks="fast", interpret=True)
    list_x, list_y = values.tolist(), [1.0] * length
    ours, theirs = in_turn(engine.run, lambda: python_line(0.5, list_x, list_y), samples)
    title = "R25 interpreted axpy of 1,024 elements: poplite / Python lists"
    check(title, engine.read(y), np.array(list_y, np.float32))
    return Row(title, min(ours) / min(theirs), "x", "<=", 25.0, ours, theirs)


def loop_row(small: bool, samples: int) -> Row:
    """A step of a While loop against one of a Repeat; condition and body are empty."""
    graph = pl.Graph(pl.Target(tiles=1))
    true = graph.add_variable(pl.BOOL, (), mapping=0, initial_value=True)
    sync = pl.Sync(pl.SyncType.INTERNAL)
    programs = {
        "while": pl.RepeatWhileTrue(pl.Sequence(), true, sync),
        "repeat": pl.Repeat(2**32 - 1, sync),
    }
    engine = pl.Engine(graph, programs)

    loaded: Any = engine._loaded

    def step_seconds(name: str) -> float:
        before = int(loaded.runs.counts[name].sum())
        timer = threading.Timer(0.01 if small else 0.3, engine.stop)
        start = time.perf_counter()
        timer.start()
        engine.run(name)
        taken = time.perf_counter() - start
        timer.join()
        return taken / (int(loaded.runs.counts[name].sum()) - before)

    pairs = [(step_seconds("while"), step_seconds("repeat")) for _ in range(samples + 1)][1:]
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    title = "R22 empty While step: poplite / empty Repeat step"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.5, ours, theirs)


def rows_of_steps(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    times = 1000 if small else 100_000
    engine, tensor, x, y = axpy_engine(6, 8, times, 1, checks="fast")
    a, x, y = np.float32(0.5), x.reshape(-1), y.reshape(-1)
    expected = y.copy()

    def compiled_loop() -> None:
        axpy_loop(a, x, y, times)

    def python_loop() -> None:
        for _ in range(times):
            axpy_serial(a, x, y)

    engine.run()
    axpy_loop(a, x, expected, times)
    python_loop()
    name = f"{times:,} Executes of six vertices"
    check(name, engine.read(tensor).reshape(-1), expected)
    check(name, y, expected)
    made = []
    for number, baseline, title, target in (
        ("R10", compiled_loop, "compiled loop", 5.0),
        ("R11", python_loop, "Python loop", 0.25),
    ):
        ours, theirs = in_turn(engine.run, baseline, samples)
        title = f"{number} {name}: poplite / {title}"
        made.append(Row(title, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    return [*made, loop_row(small, samples), *strict_rows(small, samples), interpreted_row(samples)]


# -- floating point --------------------------------------------------------------------------------


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


def row_of_floats(
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


def rows_of_floats(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    axpy = f"axpy, {size.vertices:,} vertices of 64"
    rounding = pl.SetStochasticRounding(True)
    return [
        row_of_floats(
            f"{axpy}: traps / none",
            pl.FLOAT,
            pl.SetFloatingPointBehaviour(TRAPS),
            6.0,
            size,
            samples,
        ),
        row_of_floats(f"{axpy}, HALF: stochastic / nearest", pl.HALF, rounding, 8.0, size, samples),
    ]


# -- accounts --------------------------------------------------------------------------------------
# Axpy is priced before it runs, and its rows are counted anyway.  How long a search takes depends
# on data, so that its vertices count while they run.  Of it there are more samples, as few are
# undisturbed: its loop is at the limit of what a core does, which others may share.


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


def row_of_accounting(
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
    return row_of_accounting(name, graph, program, ty, size.warm_up, samples)


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
    return row_of_accounting(
        name, graph, pl.Repeat(4, pl.Execute(work)), steps, size.warm_up, 3 * samples
    )


def rows_of_accounting(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size = Size(small)
    return [axpy(size, samples), search(size, samples)]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = (rows_of_axpy, rows_of_bounds, rows_of_steps, rows_of_floats, rows_of_accounting)
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
