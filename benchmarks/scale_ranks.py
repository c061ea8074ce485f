"""Programs on ranks of an MPI job, compared with the same programs in one process.

M1   heat on a plate, 100 steps: two ranks of one thread, and one process of two threads
M2   bytes that the ranks of M1 send in a step, and the cells at their common edge
M3   small steps that need data of the other rank: microseconds of each
M4   a small step that needs nothing from the other rank, on two ranks and on one: the additional
     time of a run with more steps, since ranks synchronise once at the end of a run
M5   memory of a rank: one of four, and the only one

Rows are measured in separate processes, started alternately; each takes the best of several runs.

python benchmarks/scale_ranks.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import poplite as pl
from poplite.mpi.device import OnRank
from poplite.tools.command import mpiexec
from rows import Row, run

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS, SMALL_RUNS = 3, 30
"""Runs of each process (the best counts): of a plate, and of small steps."""


NAMES = (
    "M1 heat, 2 ranks / 2 threads",
    "M2 bytes sent / the halo",
    "M3 small remote step",
    "M4 small own step, 2 ranks / 1",
    "M5 resident, of 4 ranks / of 1",
)


class Diffuse(pl.Vertex):
    """One step of heat on some rows; `old` is a cell wider than `new` on every side."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Blend every cell with its four neighbours."""
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                above_below = self.old[r][c + 1] + self.old[r + 2][c + 1]
                around = above_below + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = 0.6 * self.old[r + 1][c + 1] + 0.1 * around


class Add(pl.Vertex):
    """Adds up two numbers."""

    x: pl.Input[pl.INT]
    y: pl.InOut[pl.INT]

    def compute(self) -> None:
        """Add one to the other."""
        self.y += self.x


def heat(cells: int, steps: int) -> tuple[pl.Graph, pl.Program]:
    """Return a square plate in bands, one a tile, and its program."""
    tiles = min(1472, cells // 8)
    graph = pl.Graph(pl.Target(tiles=tiles))
    plates = [graph.add_variable(pl.FLOAT, (cells + 2, cells + 2), name) for name in "ab"]
    edges = [pl.cut(tile, cells, tiles) for tile in range(tiles + 1)]
    for tile, (top, bottom) in enumerate(zip(edges, edges[1:], strict=False)):
        rows = slice(0 if tile == 0 else top + 1, bottom + 2 if tile == tiles - 1 else bottom + 1)
        for plate in plates:
            graph.set_tile_mapping(plate[rows], tile)
    parts = []
    for old, new in (plates, plates[::-1]):
        work = graph.add_compute_set()
        for tile, (top, bottom) in enumerate(zip(edges, edges[1:], strict=False)):
            graph.add_vertex(
                work,
                Diffuse,
                tile=tile,
                old=old[top : bottom + 2],
                new=new[top + 1 : bottom + 1, 1:-1],
            )
        parts.append(pl.Execute(work))
    return graph, pl.Repeat(steps // 2, pl.Sequence(parts))


def small_steps(steps: int, *, is_remote: bool) -> tuple[pl.Graph, pl.Program]:
    """Return steps of two vertices, which read from the other tile or from their own."""
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping="linear") for name in "xy")
    there, back = graph.add_compute_set("there"), graph.add_compute_set("back")
    for tile in range(2):
        other = 1 - tile if is_remote else tile
        graph.add_vertex(there, Add, tile=tile, x=x[other], y=y[tile])
        graph.add_vertex(back, Add, tile=tile, x=y[other], y=x[tile])
    body = pl.Sequence(pl.Execute(there), pl.Execute(back))
    return graph, pl.Repeat(steps // 2, body)


PROGRAMS: dict[str, Callable[[int, int], tuple[pl.Graph, pl.Program]]] = {
    "heat": heat,
    "remote": lambda size, steps: small_steps(steps, is_remote=True),
    "own": lambda size, steps: small_steps(steps, is_remote=False),
}


def measure(kind: str, size: int, steps: int, ranks: int) -> None:
    """Run a program in this process, or on this rank, and print what it took."""
    graph, program = PROGRAMS[kind](size, steps)
    device: Any = pl.mpi.Device() if ranks else None
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, program, checks="fast", options=options, device=device)
    best = float("inf")
    for _ in range(RUNS if kind == "heat" else SMALL_RUNS):
        begin = time.perf_counter()
        engine.run()
        best = min(best, time.perf_counter() - begin)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    found = {"seconds": best, "resident": pages * os.sysconf("SC_PAGE_SIZE")}
    each: Any = [found]
    if device is not None:
        from mpi4py import MPI

        found["sent"] = sent_bytes(engine)
        each = MPI.COMM_WORLD.gather(found)  # None on all ranks but the first
    if each is not None:
        print(json.dumps(each))


def sent_bytes(engine: pl.Engine) -> int:
    """Return what this rank sends when each exchange is done once."""
    loaded = engine._loaded
    assert isinstance(loaded, OnRank)
    return loaded.sent_bytes


def ran(kind: str, size: int, steps: int, ranks: int) -> list[dict[str, float]]:
    """Return what each rank of a program took; 0 is one process without MPI."""
    words = [sys.executable, __file__, "--measure", kind, str(size), str(steps), str(ranks)]
    program = mpiexec()
    if ranks and program is not None:
        words = [program, "-n", str(ranks), *words]
    library = "" if program is None else str(Path(program).resolve().parents[1] / "lib")
    variables = {"NUMBA_NUM_THREADS": "1" if ranks else "2", "LD_LIBRARY_PATH": library}
    done = subprocess.run(
        words, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    found: list[dict[str, float]] = json.loads(done.stdout)
    return found


def per_step(count: int, ranks: int) -> float:
    """Return the seconds of a step that needs nothing of another rank, without those of a run."""
    few, many = (
        max(r["seconds"] for r in ran("own", 0, steps, ranks)) for steps in (count, 21 * count)
    )
    return (many - few) / (20 * count)


def make(small: bool, samples: int) -> list[Row]:
    """Return the rows."""
    if mpiexec() is None:
        return [Row.skipped(name) for name in NAMES]
    turns = max(1, samples // RUNS)

    def best(*arguments: Any) -> tuple[float, list[float]]:
        each = [max(r["seconds"] for r in ran(*arguments)) for _ in range(turns)]
        return min(each), each

    cells, steps, count = (128, 10, 1000) if small else (4096, 100, 10_000)
    ours, theirs = [], []
    for _ in range(turns):  # in turn
        ours.append(max(r["seconds"] for r in ran("heat", cells, steps, 2)))
        theirs.append(ran("heat", cells, steps, 0)[0]["seconds"])
    two = ran("heat", cells, 2, 2)
    halo = 4 * cells + 8  # a row, with the cells at both ends
    sent = max(r["sent"] for r in two) / 2
    remote, remote_each = best("remote", 0, count, 2)
    own_each, alone_each = [], []
    for _ in range(turns):  # in turn
        own_each.append(per_step(count, 2))
        alone_each.append(per_step(count, 1))
    size = 512 if small else 16_384
    four = [r["resident"] for r in ran("heat", size, 2, 4)]
    only = ran("heat", size, 2, 1)[0]["resident"]
    return [
        Row(NAMES[0], min(ours) / min(theirs), "x", "<=", 1.15, ours, theirs),
        Row(NAMES[1], sent / halo, "x", "<=", 1, ours, theirs),
        Row(NAMES[2], 1e6 * remote / count, "us", "<=", 6, remote_each, alone_each),
        Row(NAMES[3], min(own_each) / min(alone_each), "x", "<=", 1.05, own_each, alone_each),
        Row(NAMES[4], max(four) / only, "x", "<=", 0.32, ours, theirs),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        sys.exit(run("Measure programs on ranks.", make))
