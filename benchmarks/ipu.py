"""Tables for real IPUs: their size and the time to write them, for a million vertices.

    python benchmarks/ipu.py [--samples 9] [--json FILE] [--small]

Each vertex has two edges and a state. In the regular program vertex k works on the rows k of two
variables; in the irregular one offsets, lengths, tiles and states are random. The baseline of sizes
is a program of a thousand regular vertices on as many tiles; that of times is building the graph,
or, for the export in a separate process, importing poplite.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import poplite as pl
from poplite.ipu.tables import Tables, tables_of
from rows import Row, in_turn, run

PHOTO = Path(__file__).resolve().parents[1] / "examples" / "photo.py"

TILES = 1472

ROW = 4
"""Elements of a row of the variables."""

SHORT = 8
"""Factor by which rows of milliseconds, as short as a time slice, take more samples."""


class Axpy(pl.Vertex):
    """`y = factor * x + y`."""

    factor: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add a multiple of one vector to the other."""
        for i in range(len(self.y)):
            self.y[i] += self.factor * self.x[i]


Built = tuple[pl.Graph, pl.Program]


def regular(count: int) -> Built:
    """Return a program with regular vertices.

    Args:
        count: its vertices.
    """
    graph = pl.Graph(pl.Target(tiles=TILES))
    x, y = (graph.add_variable(pl.FLOAT, (count, ROW), name, mapping="linear") for name in "xy")
    work = graph.add_compute_set("axpy")
    tiles = np.arange(count) * TILES // count
    graph.add_vertices(work, Axpy, tile=tiles, x=x, y=y, factor=2.0)
    return graph, pl.Execute(work)


def irregular(count: int) -> Built:
    """Return a program with everything at random.

    Args:
        count: its vertices.
    """
    random = np.random.default_rng(1)
    graph = pl.Graph(pl.Target(tiles=TILES))
    x, y = (graph.add_variable(pl.FLOAT, count * ROW, name, mapping="linear") for name in "xy")
    work = graph.add_compute_set("axpy")
    lengths = random.integers(1, ROW + 1, count)
    begins = ROW * random.permutation(count), ROW * np.arange(count)
    edges = [np.stack([begin, begin + lengths], axis=1) for begin in begins]
    tiles, factors = random.integers(TILES, size=count), random.random(count)
    parts = dict(zip("xy", (x.slices(edges[0]), y.slices(edges[1])), strict=True))
    graph.add_vertices(work, Axpy, tile=tiles, factor=factors, **parts)
    return graph, pl.Execute(work)


def rows(small: bool, samples: int) -> list[Row]:
    """Return the rows.

    Args:
        small: whether to try tiny programs only.
        samples: of each side.
    """
    few, many = 1_000, 2_000 if small else 1_000_000
    made = {count: regular(count) for count in (few, many)}
    ours, baseline = (lambda count=count: tables_of(*made[count]) for count in (many, few))
    seconds = in_turn(ours, baseline, SHORT * samples, gc.collect)
    sizes = {count: _size(tables_of(*each)) for count, each in made.items()}
    ratio = sizes[many] / sizes[few]
    found = [Row(f"bytes of {many:,} regular vertices", ratio, "x", "<=", 2.0, *seconds)]
    for what, build in (("regular", regular), ("irregular", irregular)):
        one = build(many)
        ours, baseline = lambda one=one: tables_of(*one), lambda build=build: build(many)
        more = SHORT if what == "regular" else 1
        seconds = in_turn(ours, baseline, more * samples, gc.collect)
        if what == "irregular":
            each = (_size(tables_of(*one)) - sizes[few]) / many
            found.append(Row("bytes of an irregular vertex", each, "B", "<=", 48.0, *seconds))
        spent = min(seconds[0]) / min(seconds[1])
        found.append(Row(f"time to write {what} vertices", spent, "x", "<=", 0.5, *seconds))
    return [*found, cold_export(min(samples, 1) if small else samples)]


def cold_export(samples: int) -> Row:
    """Return the row of exporting examples/photo.py in a new process, with nothing compiled.

    Times are the processor's: those of the clock are as busy as the machine.

    Args:
        samples: of each side.
    """
    with tempfile.TemporaryDirectory() as folder:

        def export() -> None:
            words = ["export", f"{PHOTO}:build", f"{folder}/out", "--quiet"]
            python("-m", "poplite.tools.command", *words, cache=f"{folder}/cache")
            shutil.rmtree(f"{folder}/cache", ignore_errors=True)

        def imports() -> None:
            python("-c", "import poplite; poplite.Engine", cache=f"{folder}/cache")

        sides = [(of_processor(export), of_processor(imports)) for _ in range(samples)]
        ours, baseline = ([each[n] for each in sides] for n in range(2))
    name = "export of examples/photo.py, nothing compiled"
    return Row(name, min(ours), "s", "<=", 5.0, ours, baseline)


def of_processor(work: Callable[[], None]) -> float:
    """Return the seconds of a processor that the processes of some work take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def python(*arguments: str, cache: str) -> None:
    """Run one process.

    Args:
        arguments: of Python.
        cache: folder of compiled code.
    """
    environment = {**os.environ, "POPLITE_CACHE_DIR": cache}
    subprocess.run([sys.executable, *arguments], env=environment, check=True)


def _size(tables: Tables) -> int:
    return len(tables.data)


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
