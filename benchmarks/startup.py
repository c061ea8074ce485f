"""Start-up: the costs of importing poplite, of `--help`, and of a whole small program.

    python benchmarks/startup.py [--samples 9] [--json FILE] [--small]

Every sample is a separate process.  In the first rows the code is on disk for both sides; in those
after them nothing is, except for poplite's own kernels where the row says so.

The last rows are the costs of compiling: processes with an empty cache folder, and with a full one.
They measure processor time of a process and its children, unless they say otherwise. The baseline
of a product is the same with a full cache; that of classes is their bodies under `@njit`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rows import Row, in_turn, run, seconds

CLASSES = Path(__file__).resolve().parent / "startup_classes.py"
PI = Path(__file__).resolve().parents[1] / "examples" / "pi.py"

HAND_WRITTEN = """
import numpy as np
from numba import njit


@njit(cache=True)
def pi(slices):
    total = 0.0
    for i in range(slices):
        x = (i + 0.5) / slices
        total += 4.0 / (1.0 + x * x)
    return total / slices


found = pi(64_000)
print(f"pi = {found:.5f}")
np.testing.assert_allclose(found, np.pi, atol=1e-4)
"""

FIRST = """
import poplite as pl


class Increment(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0


graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.FLOAT, (10,), "x", mapping=0, initial_value=1)
work = graph.add_compute_set("work")
graph.add_vertex(work, Increment, tile=0, x=x)
engine = pl.Engine(graph, pl.Execute(work))
engine.run()
print(engine.read(x)[0])
"""

FIRST_HAND_WRITTEN = """
import numpy as np
from numba import njit, prange


@njit(parallel=True)
def increment(x):
    for i in prange(len(x)):
        x[i] += 1.0


x = np.ones(10, np.float32)
increment(x)
print(x[0])
"""

OWN_KERNELS = """
import poplite as pl


class Count(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    n: pl.Output[pl.INT]

    def compute(self) -> None:
        n = 0
        while n < len(self.x) and self.x[n] > 0:
            n += 1
        self.n = n


graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.INT, (10,), "x", mapping=0, initial_value=1)
n = graph.add_variable(pl.INT, (), "n", mapping=0)
work = graph.add_compute_set("work")
graph.add_vertex(work, Count, tile=0, x=x, n=n)
pl.Engine(graph, pl.Execute(work)).run()
"""

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
"""Option of prctl: orphaned processes become children of this one, so their time is counted."""


def python(*arguments: str, cache: Path) -> str:
    """Run one process that keeps its byte code, as Python does; return what it prints."""
    environment = {**os.environ, "POPLITE_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    samples = min(samples, 1) if small else samples
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        hand = cache / "hand_written.py"
        hand.write_text(HAND_WRITTEN)
        first = [python(str(script), cache=cache).splitlines()[0] for script in (PI, hand)]
        if first != ["pi = 3.14159"] * 2:
            sys.exit(f"the two programs print {first}")
        imports, numpy = in_turn(
            lambda: python("-c", "import poplite; poplite.Graph, poplite.Engine", cache=cache),
            lambda: python("-c", "import numpy", cache=cache),
            samples,
        )
        program, numba = in_turn(
            lambda: python(str(PI), cache=cache), lambda: python(str(hand), cache=cache), samples
        )
        helps, bare = in_turn(
            lambda: python("-m", "poplite.tools.viz", "--help", cache=cache),
            lambda: python("-c", "pass", cache=cache),
            samples,
        )
        cold = first_rows(cache, samples)
    beyond = min(imports) - min(numpy)
    help_beyond = min(helps) - min(bare)
    return [
        Row("import poplite, beyond import numpy", beyond, "s", "<=", 0.15, imports, numpy),
        Row("poplite-viz --help, beyond Python", help_beyond, "s", "<=", 0.15, helps, bare),
        Row(
            "examples/pi.py / script with one cached Numba kernel",
            min(program) / min(numba),
            "x",
            "<=",
            1.5,
            program,
            numba,
        ),
        *cold,
        *compiled_rows(samples),
    ]


def first_rows(folder: Path, samples: int) -> list[Row]:
    """Rows in which vertex classes are compiled, and one in which they were."""
    texts = {"first": FIRST, "prange": FIRST_HAND_WRITTEN, "own": OWN_KERNELS}
    scripts = {name: folder / f"{name}.py" for name in (*texts, "functions")}
    for name, text in texts.items():
        scripts[name].write_text(text)
    scripts["functions"].write_text(python(str(CLASSES), "functions", cache=folder))
    own, used, full = folder / "own", folder / "used", folder / "full"
    python(str(scripts["own"]), cache=own)
    python(str(CLASSES), "strict", cache=full)

    def renew() -> None:
        shutil.rmtree(used, ignore_errors=True)
        shutil.copytree(own, used)

    def compared(
        name: str, target: float, ours: Sequence[str], baseline: Sequence[str], cache: Path
    ) -> Row:
        mine, other = [], []
        for _ in range(samples):
            if cache is used:
                renew()
            elif cache is not full:
                shutil.rmtree(cache, ignore_errors=True)
            mine.append(seconds(lambda: python(*ours, cache=cache)))
            other.append(seconds(lambda: python(*baseline, cache=cache)))
        return Row(name, min(mine) / min(other), "x", "<=", target, mine, other)

    functions = [str(scripts["functions"])]
    return [
        compared(
            "11 vertex classes, cold, strict / 11 @njit",
            1.5,
            [str(CLASSES), "strict"],
            functions,
            used,
        ),
        compared(
            "11 vertex classes, cold, fast / 11 @njit", 1.2, [str(CLASSES), "fast"], functions, used
        ),
        compared(
            "11 vertex classes from a full cache / import numba",
            2.0,
            [str(CLASSES), "strict"],
            ["-c", "import numba"],
            full,
        ),
        compared(
            "first engine on a machine / one @njit(parallel=True)",
            1.3,
            [str(scripts["first"])],
            [str(scripts["prange"])],
            folder / "nothing",
        ),
    ]


# -- what compiling costs --------------------------------------------------------------------------


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the processes that the work starts, and of their children."""
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
        """Return a function that runs a process with an empty cache."""

        def work() -> str:
            shutil.rmtree(self._empty, ignore_errors=True)
            return python(*arguments, cache=self._empty)

        return work

    def full(self, *arguments: str) -> Callable[[], str]:
        """Return a function that runs a process with a full cache."""

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


def compiled_rows(samples: int) -> list[Row]:
    """Rows of processor time, from an empty cache and from a full one."""
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
