"""Streams, named programs, and a compiled program that another process runs.

    python examples/streams.py [--load FILE]

(a) Four named programs over one graph: `write` streams x, y and z in, `custom` adds x and y by a
    vertex of our own, `reduce` adds them by the library, as a reduction of two columns,
    and `read` streams the sum z out.  Which of them run, and in which order, is up to the host::

        x  tile 0   1 2 3 4                      write, custom, read      5 5 5 5
        y  tile 1   4 3 2 1    -> z  tile 2      write, reduce, read      5 5 5 5

    The compiled program is then saved, and a new process loads it (`--load`) and runs the same.
    There is no graph any more: handles of streams and names of programs are what is left of it.

(b) A loop on the machine that takes a block from the host, adds 1, and gives it back; two
    functions of ours are called for each block, and see what the machine needs or has.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

X, Y = [1, 2, 3, 4], [4, 3, 2, 1]
EXPECTED_SUM = [5, 5, 5, 5]

ROUNDS, VALUES, EXPECTED_VALUES = 5, [1, 3, 3, 9, 9], [2, 4, 4, 10, 10]

Check = tuple[str, object, object]
"""What was looked at, what it is, and what it should be."""


class Add(pl.Vertex):
    """`z[i] = x[i] + y[i]`."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.z)):
            self.z[i] = self.x[i] + self.y[i]


class Increment(pl.Vertex):
    """Adds 1 to all elements, in place."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.x)):
            self.x[i] += 1


def build() -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return the graph of (a) and its programs."""
    graph = pl.Graph(pl.Target(tiles=3))
    x, y, z = (graph.add_variable(pl.FLOAT, (4,), "xyz"[k], mapping=k) for k in range(3))
    write = pl.Sequence()
    for tensor in (x, y, z):
        stream = graph.add_host_to_device_fifo(f"{tensor.name} in", pl.FLOAT, 4)
        write.add(pl.Copy(stream, tensor))

    add = graph.add_compute_set("add")
    graph.add_vertex(add, Add, tile=0, x=x, y=y, z=z)

    reduce = pl.Sequence()
    columns = pl.concat([x.reshape((4, 1)), y.reshape((4, 1))], 1)
    pl.ops.map(pl.ops.sum(columns, 1), out=z, name="reduce", program=reduce)

    read = pl.Copy(z, graph.add_device_to_host_fifo("z out", pl.FLOAT, 4))
    return graph, {"write": write, "custom": pl.Execute(add), "reduce": reduce, "read": read}


def run_programs(engine: pl.Engine, where: str) -> list[Check]:
    """(a) Add in both ways; `engine` has the programs, wherever they come from."""
    result = np.zeros(4, np.float32)
    engine.connect_stream("x in", np.array(X, np.float32))
    engine.connect_stream("y in", np.array(Y, np.float32))
    engine.connect_stream("z in", np.full(4, -1, np.float32))
    engine.connect_stream("z out", result)
    checks: list[Check] = []
    for way in ("custom", "reduce"):
        engine.run("write")
        engine.run("read")
        before = result.tolist()
        engine.run(way)
        engine.run("read")
        checks.append((f"z before {way}, {where}", before, [-1] * 4))
        checks.append((f"x + y by {way}, {where}", result.tolist(), EXPECTED_SUM))
    return checks


def run_callbacks() -> list[Check]:
    """(b) Let functions give and take the blocks of a loop."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    increment = graph.add_compute_set("increment")
    graph.add_vertex(increment, Increment, tile=0, x=x)
    blocks_in = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    blocks_out = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    step = pl.Sequence(pl.Copy(blocks_in, x), pl.Execute(increment), pl.Copy(x, blocks_out))
    engine = pl.Engine(graph, pl.Repeat(ROUNDS, step))

    given: list[list[float]] = []
    taken: list[list[float]] = []

    def give(block: npt.NDArray[Any]) -> None:
        block[:] = VALUES[len(given) // ROUNDS]
        given.append(block.tolist())

    def take(block: npt.NDArray[Any]) -> None:
        taken.append(block.tolist())  # the array itself is valid during the call only

    engine.connect_stream_to_callback("in", give)
    engine.connect_stream_to_callback("out", take)
    for _ in VALUES:
        engine.run()
    expected = [[v] * 8 for v in EXPECTED_VALUES for _ in range(ROUNDS)]
    return [
        ("blocks given", len(given), ROUNDS * len(VALUES)),
        ("blocks taken", len(taken), ROUNDS * len(VALUES)),
        (
            "blocks taken, first element of each run",
            [b[0] for b in taken[::ROUNDS]],
            EXPECTED_VALUES,
        ),
        ("all elements of all blocks agree", taken == expected, True),
    ]


def in_new_process(engine: pl.Engine) -> tuple[str, bool]:
    """Save the programs; return what a new process that runs them prints, and whether it agrees."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "programs.poplite"
        engine.executable.save(file)
        done = subprocess.run(
            [sys.executable, __file__, "--load", file], capture_output=True, text=True, check=False
        )
    return done.stdout + done.stderr, done.returncode == 0


def report(checks: list[Check]) -> bool:
    """Print what was looked at; return whether all of it is as expected."""
    for title, got, expected in checks:
        verdict = "as expected" if got == expected else f"WRONG, expected {expected}"
        print(f"{title}: {got}  {verdict}")
    return all(got == expected for _, got, expected in checks)


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Stream data, save a program, load it again.")
    parser.add_argument("--load", type=Path, metavar="FILE", help="run (a) as it was saved")
    options = parser.parse_args(argv)
    if options.load is not None:
        loaded = pl.Engine(pl.Executable.load(options.load))
        return 0 if report(run_programs(loaded, "loaded")) else 1

    engine = pl.Engine(*build())
    right = report(run_programs(engine, "built"))
    text, agrees = in_new_process(engine)
    print(text, end="")
    return 0 if report(run_callbacks()) and right and agrees else 1


if __name__ == "__main__":
    sys.exit(main())
