"""What compiling costs: processes with an empty cache folder, and with a full one.

    python benchmarks/startup_cold.py [--samples 9] [--json FILE] [--small]

A row is of processor time, of a process and of all that it starts, unless it says otherwise. The
baseline of a product is the same with a full cache; that of classes are their bodies under `@njit`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rows import Row, run, seconds
from startup import CLASSES, python

FIVE = "5"

PRODUCT = """
import poplite as pl
from poplite import ops

graph = pl.Graph(pl.Target(tiles=64))
a, b = (
    graph.add_variable(pl.{element}, (64, 64), name, mapping="linear", initial_value=1)
    for name in "ab"
)
with graph.steps() as step:
    c = ops.map(ops.matmul(a, b), name="c")
engine = pl.Engine(graph, step)
engine.run()
assert (engine.read(c) == 64).all()
"""

ADOPTS_ORPHANS = 36
"""Of prctl: processes whose parent ended become children, so that their time is counted."""


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the processes that start meanwhile, and of theirs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    with suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Processes:
    """Runs scripts in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._empty = folder, folder / "empty"

    def cold(self, *arguments: str) -> Callable[[], str]:
        """Return what runs a process whose cache is empty."""

        def work() -> str:
            shutil.rmtree(self._empty, ignore_errors=True)
            return python(*arguments, cache=self._empty)

        return work

    def full(self, *arguments: str) -> Callable[[], str]:
        """Return what runs a process whose cache is full."""

        def work() -> str:
            return python(*arguments, cache=self._folder / "full")

        work()
        return work


def product_rows(processes: Processes, folder: Path, element: str, samples: int) -> list[Row]:
    """The first product of a machine."""
    script = folder / f"{element}.py"
    script.write_text(PRODUCT.format(element=element))
    cold, full = processes.cold(str(script)), processes.full(str(script))
    spent, spent_full, waited, waited_full = [], [], [], []
    for _ in range(samples):
        spent.append(processor_seconds(cold))
        spent_full.append(processor_seconds(full))
        waited.append(seconds(cold))
        waited_full.append(seconds(full))
    beyond, name = min(spent) - min(spent_full), f"first product of {element}"
    return [
        Row(f"{name}, beyond a full cache", beyond, "s", "<=", 1.2, spent, spent_full),
        Row(f"{name}, time on the clock", min(waited), "s", "<=", 2.0, waited, waited_full),
    ]


def class_rows(processes: Processes, folder: Path, samples: int) -> list[Row]:
    """Five hand-written classes."""
    script = folder / "functions.py"
    script.write_text(python(str(CLASSES), "functions", FIVE, cache=folder / "full"))
    ours = [str(CLASSES), "strict", FIVE]
    cold, full, hand = processes.cold(*ours), processes.full(*ours), processes.cold(str(script))
    spent, spent_full, by_hand = [], [], []
    for _ in range(samples):
        spent.append(processor_seconds(cold))
        spent_full.append(processor_seconds(full))
        by_hand.append(processor_seconds(hand))
    return [
        Row(f"5 classes, {how} / 5 @njit", min(own) / min(by_hand), "x", "<=", limit, own, by_hand)
        for how, own, limit in (("cold", spent, 2.0), ("from the cache", spent_full, 1.2))
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    samples = min(samples, 1) if small else samples
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPTS_ORPHANS, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = Processes(folder)
        made = [
            row
            for element in ("FLOAT", "HALF")
            for row in product_rows(processes, folder, element, samples)
        ]
        return [*made, *class_rows(processes, folder, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
