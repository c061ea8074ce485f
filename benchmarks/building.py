"""Graphs and programs of many small parts: what building and compiling them takes.

    python benchmarks/building.py [--samples 3] [--json FILE] [--small]

Every sample is a process of its own, from a full cache, which says how long it worked and the most
memory it held. The baseline keeps what was asked for as plain objects, in a process with NumPy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from rows import Row, run

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
    """Run a program; return its seconds and the most bytes it held."""
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


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
