"""Many small steps: Executes of six vertices in a Repeat, against a compiled and a Python loop.

Row R25 compares an interpreted vertex and the same loop in plain Python, over lists of floats.

Row R22 compares what loops themselves cost: a RepeatWhileTrue with an empty condition and a Repeat.
The body of both is a Sync, which the engine only counts, since a Repeat of nothing is left out.
Neither ends by itself: each runs for a while, is stopped, and its time is divided by that count.

Rows R23 and R24 are microseconds that strict checks add to one execution of twelve small vertices:
while it is looked at each time, as it copies what nothing has written, and once it is not any more.

python benchmarks/engine_steps.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numba
import numpy as np

import poplite as pl
from engine_axpy import Axpy, axpy_engine
from rows import Row, check, in_turn, run


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
    """What an execution takes longer with strict checks.

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


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
