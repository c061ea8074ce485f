"""Large machines by simulation, and many mappings of a small one.

S1   64 mappings of matvec.py by two workers that have run before, and one after the other
S2   64 IPUs of 1,472 tiles with 6 vertices a tile, in blocks: built and compiled, and the peak
S3   the same 565,248 vertices, added one by one
S4   a vertex in a step of 64 IPUs, and of 8
S5   the plan of one of two ranks for the blocks of S2, and compiling them

A slice of 16 numbers is blended with its neighbours on a ring, there and back: two compute sets
in blocks, one where vertices are added one by one.  Rows but the first are of processes of their
own.

python benchmarks/scale.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import poplite as pl
from poplite.mpi.message_packing import owners_of
from poplite.mpi.rank_plan import equal_cut, rank_plan
from rows import Row, run

SLICE, VERTICES = 16, 6
"""Numbers of a slice, and slices of a tile."""

STEPS = 10
"""Executions of each compute set in a run, as a step alone is short at 8 IPUs."""

NAMES = (
    "S1 64 mappings, 2 workers / in turn",
    "S2 64 IPUs in blocks, built and compiled",
    "S2 64 IPUs in blocks, the most memory",
    "S3 64 IPUs one by one, built and compiled",
    "S3 64 IPUs one by one, the most memory",
    "S4 step of a vertex, 64 IPUs / 8",
    "S5 plan of a rank / compile, 64 IPUs",
)


class Blend(pl.Vertex):
    """A slice of a ring, each number blended with both its neighbours."""

    left: pl.Input[pl.FLOAT]
    old: pl.Input[pl.Vector[pl.FLOAT]]
    right: pl.Input[pl.FLOAT]
    new: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Blend them."""
        last = len(self.old) - 1
        for i in range(len(self.old)):
            before = self.left if i == 0 else self.old[i - 1]
            after = self.right if i == last else self.old[i + 1]
            self.new[i] = 0.5 * self.old[i] + 0.25 * (before + after)


def ring(ipus: int, tiles: int, *, singly: bool) -> tuple[pl.Graph, pl.Program]:
    """Return a ring of slices on all tiles, and its program."""
    graph = pl.Graph(pl.Target(tiles=ipus * tiles, ipus=ipus))
    count = ipus * tiles * VERTICES
    x, y = (graph.add_variable(pl.FLOAT, (count, SLICE), name) for name in "xy")
    for variable in (x, y):
        pl.map_linearly(graph, variable, grain=SLICE)
    parts: list[pl.Program] = []
    for old, new in ((x, y),) if singly else ((x, y), (y, x)):
        work = graph.add_compute_set()
        left = pl.concat([old[-1:, -1], old[:-1, -1]])
        right = pl.concat([old[1:, 0], old[:1, 0]])
        if singly:
            for k in range(count):
                graph.add_vertex(
                    work,
                    Blend,
                    tile=k // VERTICES,
                    left=left[k],
                    old=old[k],
                    right=right[k],
                    new=new[k],
                )
        else:
            at = np.arange(count) // VERTICES
            graph.add_vertices(work, Blend, tile=at, left=left, old=old, right=right, new=new)
        parts.append(pl.Execute(work))
    return graph, pl.Repeat(STEPS, pl.Sequence(parts))


def measure(ipus: int, tiles: int, how: str, samples: int) -> dict[str, Any]:
    """Build, compile, run and report in this process; return seconds and bytes."""
    begin = time.perf_counter()
    graph, program = ring(ipus, tiles, singly=how == "singly")
    built = time.perf_counter()
    executable = pl.compile_graph(graph, program, "fast")
    compiled = time.perf_counter()
    engine = pl.Engine(executable)
    ready = time.perf_counter()
    steps = []
    for _ in range(samples):
        start = time.perf_counter()
        engine.run()
        steps.append(time.perf_counter() - start)
    cycles = engine.report().cycles
    assert cycles is not None
    assert cycles > 0
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plans = []
    for _ in range(min(samples, 3) if how == "blocks" else 0):
        start = time.perf_counter()
        owners = owners_of(executable.layout, equal_cut(executable, 2))
        rank_plan(executable, owners, 1, is_poisoned=False)
        plans.append(time.perf_counter() - start)
    vertices = STEPS * len(executable.steps) * ipus * tiles * VERTICES
    return {
        "build": ready - begin,
        "compile": compiled - built,
        "step": min(steps) / vertices,
        "steps": steps,
        "peak": peak,
        "plans": plans,
    }


def ran(ipus: int, tiles: int, how: str, samples: int) -> dict[str, Any]:
    """Return the results of a separate process."""
    words = [sys.executable, __file__, "--measure", str(ipus), str(tiles), how, str(samples)]
    done = subprocess.run(words, env=os.environ, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sweeps(small: bool, samples: int) -> Row:
    """A sweep by two workers against a sequential one."""
    if importlib.util.find_spec("joblib") is None:
        return Row.skipped(NAMES[0])
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))  # of workers too
    build = importlib.import_module("matvec").build
    grid = {"split": range(1, 5 if small else 65)}
    pl.sweep(build, grid, workers=2)  # they start, and load what they need
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(max(1, samples // 3)):  # in turn
        for workers, into in ((2, ours), (1, theirs)):
            begin = time.perf_counter()
            found = pl.sweep(build, grid, workers=workers)
            into.append(time.perf_counter() - begin)
            assert not found.num_failed, found["error"]
    return Row(NAMES[0], min(ours) / min(theirs), "x", "<=", 0.65, ours, theirs)


def make(small: bool, samples: int) -> list[Row]:
    """Return the rows."""
    few, many, tiles = (1, 2, 8) if small else (8, 64, 1472)
    ran(few, tiles, "blocks", 1)  # fills the cache of compiled code
    blocks, singly = ran(many, tiles, "blocks", samples), ran(many, tiles, "singly", 1)
    eight = ran(few, tiles, "blocks", samples)
    gib = 1 << 30
    times = blocks["steps"], eight["steps"]
    ratio, plan = blocks["step"] / eight["step"], min(blocks["plans"]) / blocks["compile"]
    built = [blocks["build"]], [singly["build"]]
    return [
        sweeps(small, samples),
        Row(NAMES[1], blocks["build"], "s", "<=", 15, *built),
        Row(NAMES[2], blocks["peak"] / gib, "GiB", "<=", 1, *built),
        Row(NAMES[3], singly["build"], "s", "<=", 60, *built[::-1]),
        Row(NAMES[4], singly["peak"] / gib, "GiB", "<=", 2, *built[::-1]),
        Row(NAMES[5], ratio, "x", "<=", 2.5, *times),
        Row(NAMES[6], plan, "x", "<=", 0.15, blocks["plans"], [blocks["compile"]]),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        ipus, tiles, samples = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[5])
        print(json.dumps(measure(ipus, tiles, sys.argv[4], samples)))
    else:
        sys.exit(run("Measure large machines, and many mappings.", make))
