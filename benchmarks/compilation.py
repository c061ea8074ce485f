"""Compiling: a new vertex type and one from the cache, against `@njit`; many Copies and vertices.

    python benchmarks/compilation.py [--samples 9] [--json FILE] [--small]

For a vertex type both sides compile the same loop, each time as a new function, in a process where
Numba is loaded and has compiled before.  Everything else that an engine needs is already compiled.

For many vertices, each is added by a call with two slices and a number; the baseline is an object
that holds two slices of NumPy arrays and the number.

The last rows are graphs and programs of many small parts, built and compiled. Every sample is a
separate process with a full cache, which reports its time and its peak memory. The baseline stores
the same parts as plain objects, in a process with NumPy.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

import poplite as pl
from rows import Row, in_turn, run

SOURCE = '''
import poplite as pl


class Axpy{number}(pl.Vertex):
    """`y = a * x + y`."""

    a: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i{number} in range(len(self.y)):  # equal code is compiled once: this name is new
            self.y[i{number}] += self.a * self.x[i{number}]


def axpy(vertices, a, x, y):
    for v in range(vertices):
        for i in range(y.shape[1]):
            y[v, i] += a[v] * x[v, i]
'''


_numbers = itertools.count()


def module(folder: Path, number: int) -> ModuleType:
    """Write and import a module with a new vertex class and a new function."""
    path = folder / f"axpy_{number}.py"
    path.write_text(SOURCE.format(number=number))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made  # its vertex class looks up its module
    spec.loader.exec_module(made)
    return made


class Compilation:
    """Compiles new vertex types and new functions, one a call.

    Args:
        folder: for the modules.
        checks: of the engines.
    """

    def __init__(self, folder: Path, checks: str) -> None:
        self._folder, self._checks = folder, checks

    def next(self) -> Any:
        """A module from which nothing has been compiled yet."""
        return module(self._folder, next(_numbers))

    def vertex(self, made: Any) -> None:
        """Make an engine for the vertex class of a module, and run it."""
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0, initial_value=1.0)
        y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=0, initial_value=0.0)
        work = graph.add_compute_set("work")
        cls = getattr(made, f"Axpy{made.__name__.removeprefix('axpy_')}")
        graph.add_vertex(work, cls, tile=0, a=0.5, x=x, y=y)
        engine = pl.Engine(graph, pl.Execute(work), checks=self._checks)  # type: ignore[arg-type]
        engine.run()
        assert engine.read(y).tolist() == [0.5] * 8

    def function(self, made: Any) -> None:
        """Compile the function of a module with Numba, and run it."""
        y = np.zeros((1, 8), np.float32)
        numba.njit(made.axpy)(1, np.full(1, 0.5, np.float32), np.ones_like(y), y)
        assert y.tolist() == [[0.5] * 8]


def forget() -> None:
    """Let the next engine look for compiled code on disk."""
    from poplite.jit.build import _known

    _known.clear()


def compiled_row(samples: int, checks: str, folder: Path) -> Row:
    """R17: compiling against `@njit`."""
    work = Compilation(folder, checks)
    made = [work.next() for _ in range(2 * (samples + 1))]
    ours, hand = in_turn(
        lambda: work.vertex(made.pop()), lambda: work.function(made.pop()), samples
    )
    name = f"R17 new vertex type, {checks} checks / new @njit"
    return Row(name, min(ours) / min(hand), "x", "<=", 3.0, ours, hand)


def cached_row(samples: int, checks: str, folder: Path) -> Row:
    """R18: loading from the cache against compiling."""
    work = Compilation(folder, checks)
    made = [work.next() for _ in range(samples + 1)]
    known = work.next()
    work.vertex(known)

    def cached() -> None:
        forget()
        work.vertex(known)

    ours, compiling = in_turn(cached, lambda: work.vertex(made.pop()), samples)
    name = f"R18 vertex type from the cache, {checks} checks / compiled"
    return Row(name, min(ours) / min(compiling), "x", "<=", 0.2, ours, compiling)


def copies_row(samples: int, count: int) -> Row:
    """Building and compiling many small Copies, with and without costs; microseconds per Copy."""
    from poplite.compile.compiler import compile_graph

    def compiled(instrument: bool) -> None:
        graph = pl.Graph()
        tensors = [
            graph.add_variable(pl.FLOAT, (10,), mapping=k % graph.target.tiles)
            for k in range(count + 1)
        ]
        program = pl.Sequence(*(pl.Copy(a, b) for a, b in itertools.pairwise(tensors)))
        compile_graph(graph, program, options={"debug.instrument": instrument})

    ours, without = in_turn(lambda: compiled(True), lambda: compiled(False), samples)
    name = f"Copy of 10 elements with its costs, of {count:,}"
    return Row(name, 1e6 * min(ours) / count, "us", "<=", 100.0, ours, without)


class Scale(pl.Vertex):
    """A vertex with two slices and a number."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.INT]

    def compute(self) -> None:
        """Multiply all elements."""
        for i in range(len(self.y)):
            self.y[i] = self.n * self.x[i]


class Chunk:
    """The data that a hand-written program keeps for a piece of work."""

    __slots__ = ("n", "tile", "x", "y")

    def __init__(self, tile: int, x: Any, y: Any, n: int) -> None:
        self.tile, self.x, self.y, self.n = tile, x, y, n


def vertices_row(samples: int, count: int) -> Row:
    """Adding vertices one at a time, with slices; microseconds per call."""

    def ours() -> None:
        graph = pl.Graph()
        x = graph.add_variable(pl.FLOAT, (16 * count,), "x", mapping="linear")
        y = graph.add_variable(pl.FLOAT, (16 * count,), "y", mapping="linear")
        work, tiles = graph.add_compute_set("work"), graph.target.tiles
        for k in range(count):
            i, j = 16 * k, 16 * k + 16
            graph.add_vertex(work, Scale, tile=k % tiles, x=x[i:j], y=y[i:j], n=3)

    def hand() -> None:
        x = np.zeros(16 * count, np.float32)
        y = np.zeros(16 * count, np.float32)
        work = []
        for k in range(count):
            i, j = 16 * k, 16 * k + 16
            work.append(Chunk(k % 1472, x[i:j], y[i:j], 3))

    added, made = in_turn(ours, hand, samples, before=gc.collect)
    name = f"add_vertex with two slices and a number, of {count:,}"
    return Row(name, 1e6 * min(added) / count, "us", "<=", 20.0, added, made)


# -- many small parts ------------------------------------------------------------------------------


MEASURED = """
import json, resource, sys, time

count, start = int(sys.argv[1]), time.perf_counter()
work()
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([time.perf_counter() - start, most * (1 if sys.platform == "darwin" else 1024)]))
"""

COMPUTE_SETS = """
import poplite as pl


class Increment(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0


def work():
    graph = pl.Graph(pl.Target(tiles=16))
    x = graph.add_variable(pl.FLOAT, (1024,), "x", mapping="linear")
    steps = []
    for k in range(count):
        i = 8 * k % 1024
        compute_set = graph.add_compute_set(f"step{k}")
        graph.add_vertex(compute_set, Increment, tile=i // 64, x=x[i : i + 8])
        steps.append(pl.Execute(compute_set))
    pl.Engine(graph, pl.Sequence(*steps), options={"debug.allowOutOfMemory": True})
"""

VARIABLES = """
import poplite as pl


def work():
    graph = pl.Graph()
    made = [
        graph.add_variable(pl.FLOAT, (1,), f"v{k}", mapping=k % graph.target.tiles)
        for k in range(count)
    ]
    pl.Engine(graph, pl.Copy(made[0], made[-1]))
"""

CALLS = """
import poplite as pl


class Increment(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0


def work():
    graph = pl.Graph(pl.Target(tiles=16))
    x = graph.add_variable(pl.FLOAT, (1024,), "x", mapping="linear")
    steps = []
    for k in range(100):
        compute_set = graph.add_compute_set(f"step{k}")
        graph.add_vertex(compute_set, Increment, tile=8 * k // 64, x=x[8 * k : 8 * k + 8])
        steps.append(pl.Execute(compute_set))
    function = graph.add_function(pl.Sequence(*steps))
    pl.Engine(graph, pl.Sequence(*[pl.Call(function) for _ in range(count // 100)]))
"""

OBJECTS = """
import numpy as np


def work():
    x = np.zeros(1024, np.float32)
    made = [(f"step{k}", k % 16, x[8 * k % 1024 : 8 * k % 1024 + 8]) for k in range(count)]
"""


def measured(text: str, count: int, cache: str) -> tuple[float, float]:
    """Run a program; return its seconds and peak memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", text + MEASURED, str(count)],
        env={**os.environ, "POPLITE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"a program of {count:,} parts failed:\n{done.stderr}")
    seconds, most = json.loads(done.stdout)
    return seconds, most


def building_rows(small: bool, samples: int) -> list[Row]:
    """Graphs and programs of many small parts."""
    samples = 1 if small else min(samples, 3)
    scale = 1000 if small else 1
    programs = [
        ("compute sets of one vertex", COMPUTE_SETS, 10_000, 4.0),
        ("compute sets of one vertex", COMPUTE_SETS, 100_000, 40.0),
        ("variables of one element", VARIABLES, 1_000_000, 15.0),
        ("Executes of 100 compute sets, by calls", CALLS, 1_000_000, 1.0),
    ]
    made = []
    with tempfile.TemporaryDirectory() as cache:
        measured(COMPUTE_SETS, 1, cache)
        for what, text, count, target in programs:
            count = max(count // scale, 100)
            pairs = [
                (measured(text, count, cache), measured(OBJECTS, count, cache))
                for _ in range(samples)
            ]
            ours, baseline = [ours[0] for ours, _ in pairs], [hand[0] for _, hand in pairs]
            name = f"{count:,} {what}, built and compiled"
            made.append(Row(name, min(ours), "s", "<=", target, ours, baseline))
            if count == 100_000:
                most = min(ours[1] for ours, _ in pairs) / 2**30
                name = f"{count:,} {what}, the most memory"
                made.append(Row(name, most, "GiB", "<=", 1.0, ours, baseline))
    return made


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    samples = min(samples, 1) if small else samples
    with tempfile.TemporaryDirectory() as name:
        os.environ["POPLITE_CACHE_DIR"] = str(Path(name) / "cache")
        made: list[Row] = []
        for make in (compiled_row, cached_row):
            made += [make(samples, checks, Path(name)) for checks in ("strict", "fast")]
        made.append(copies_row(samples, 100 if small else 10_000))
        made.append(vertices_row(samples, 100 if small else 10_000))
    return [*made, *building_rows(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
