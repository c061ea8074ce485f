"""Load mutated files: `PYTHONPATH=tests python -m helpers.fuzz_files --kind report --seed 1`.

A file of a program with a bit of everything is changed at random (`helpers.mutated_files`), and
loaded.  Each is refused with a `FileLoadError`, or accepted, and then used as such a
file is::

    executable    run for a moment; its report printed and drawn; saved again
    state         loaded into an engine, which continues from it for a moment, as before
    graph         printed, drawn, compiled, saved again
    report        written as text, page and JSON, drawn, compared with itself
    sweep         printed, drawn, saved again

This is done by processes of their own, as a fault of the simulator would end one.  The first file
that ends its process, takes too long or too much memory, or ends in another error than those of
poplite, ends the run with a report, and stays on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from helpers.mutated_files import mutated, report_forms
from poplite import ops
from poplite.codec.file_formats import LEAST_BYTES
from poplite.compile.compiler import compile_graph
from poplite.errors import (
    FileLoadError,
    PopliteError,
    StreamConnectionError,
)
from poplite.executable.executable import Executable
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.program import (
    AssumeEqualAcrossReplicas,
    Call,
    Copy,
    CrossReplicaCopy,
    Execute,
    If,
    PrintTensor,
    Program,
    Repeat,
    RepeatWhileTrue,
    Sequence as Steps,
    Switch,
    cycle_count,
)
from poplite.report.report import Report
from poplite.report.sweep import MEASURES, Sweep
from poplite.simulator.engine import Engine
from poplite.types import BOOL, FLOAT, HALF, INT
from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex
from poplite.viz import graph_text, program_text, summary_text, tiles_text
from poplite.viz.compare import sweep_grid
from poplite.viz.draw.words import Style

MOST_BYTES = LEAST_BYTES
"""Memory that a process may take beyond what it has when it begins to load."""

LARGEST_RUN = 32 << 20
"""Memory of a program that is run: one of more is loaded only."""

ADDRESSES = 16 << 30
"""Bytes of addresses of a process, so that a program of huge variables is refused at once."""

RUN_SECONDS = 0.2
"""How long an accepted program runs."""

HANG_SECONDS = 120.0
"""Without a new file for so long, a process hangs; compiling takes seconds on a busy machine."""

FILES_AT_ONCE = 250


class Blend(Vertex):
    """`x = a * x`."""

    a: State[FLOAT]
    x: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        """Scale."""
        for i in range(len(self.x)):
            self.x[i] = self.a * self.x[i]


class Total(Vertex):
    """The sum of all rows."""

    x: Input[Vector[Vector[FLOAT]]]
    total: Output[FLOAT]

    def compute(self) -> None:
        """Add."""
        total = 0.0
        for row in range(len(self.x)):
            for i in range(len(self.x[row])):
                total += self.x[row][i]
        self.total = total


class AddOne(MultiVertex):
    """Adds one, and tells whether that is few."""

    x: InOut[Vector[INT]]

    def compute(self, worker: int) -> None:
        """Add one."""
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] += 1

    def cycles(self, target: Target) -> int:
        """Return what it takes."""
        return 20 + len(self.x)


class Halve(Vertex):
    """Halves a number that is too large, however often."""

    x: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        """Divide until all numbers are small."""
        for i in range(len(self.x)):
            while self.x[i] > 1:
                self.x[i] = 0.5 * self.x[i]


def program() -> tuple[Graph, dict[str, Program]]:
    """Return a graph and programs with a bit of everything."""
    graph = Graph(Target(tiles=32, ipus=2), replication_factor=2)
    x = graph.add_variable(FLOAT, (16, 24), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(FLOAT, (24, 16), "y", mapping="linear", initial_value=0)
    n = graph.add_variable(INT, (40,), "n", mapping=3, initial_value=0)
    h = graph.add_variable(HALF, (9,), "h", mapping=2, initial_value=np.arange(9))
    more = graph.add_variable(BOOL, (), "more", mapping=0, initial_value=False)
    names = "blend", "total", "count", "halve"
    blend, total, count, halve = (graph.add_compute_set(name) for name in names)
    sums = graph.add_variable(FLOAT, (20,), "sums", mapping="linear", initial_value=0)
    random = np.random.default_rng(1)
    spread = y.flatten().slices([(int(k), int(k) + 3) for k in random.permutation(48) * 8], 0)
    graph.add_vertices(blend, Blend, tile=np.arange(16), x=x, a=random.random(16))
    graph.add_vertices(blend, Blend, tile=np.arange(48) % 16, x=spread, a=0.5)
    for k in range(8):
        graph.add_vertex(total, Total, tile=k, x=x[k : k + 3, :k], total=sums[k])
        graph.add_vertex(total, Total, tile=k, x=[x[k, j:9] for j in range(k)], total=sums[8 + k])
    graph.add_vertex(total, Total, tile=0, x=[y[:5, k] for k in range(4)], total=sums[19])
    graph.add_vertex(count, AddOne, tile=3, x=n)
    graph.add_vertices(halve, Halve, tile=np.arange(16), x=x)
    graph.add_vertices(halve, Blend, tile=np.arange(24) % 16, x=y, a=0.5)
    fifo = graph.add_host_to_device_fifo("in", FLOAT, 24)
    out = graph.add_device_to_host_fifo("out", INT, 40)
    rows = graph.add_remote_buffer("rows", FLOAT, 24, 4)
    sort = graph.add_host_function("sort", [(INT, 40)], [(INT, 40)])
    graph.create_host_read("y", y)
    graph.create_host_write("h", h)
    twice = graph.add_function(Repeat(2, Execute(blend)))
    there = graph.add_variable(INT, (7,), "there", mapping=1, initial_value={1: 5})
    operations = Steps()
    ops.map(ops.cast((x - y.T) * 0.5, HALF), name="difference", program=operations)
    ops.map(ops.sum((x - 1) ** 2, 1), name="loss", program=operations)
    main = Steps(
        operations,
        Copy(fifo, x[3]),
        Call(twice),
        Execute(total),
        Execute(halve),
        Copy(x.T, y),
        Switch(n[0], {0: Execute(count), 3: Call(twice)}),
        If(more, Execute(count), Steps(Execute(count), Call(twice))),
        RepeatWhileTrue(Steps(), more, Execute(count)),
        PrintTensor("h", h),
        Copy(x[2], rows),
        Copy(rows, x[7]),
        Call(sort, [n], [n]),
        CrossReplicaCopy(n[::6], there, [1, 0]),
        AssumeEqualAcrossReplicas(there),
        Copy(n, out),
    )
    cycle_count(graph, main, 3)
    return graph, {"main": main, "back": Copy(y.T, x)}


# -- trying files ----------------------------------------------------------------------------------


class Outcomes(NamedTuple):
    """What became of some files.

    Attributes:
        refused: were not loaded.
        ran: were, and ran.
        stopped: were, and ended with an error.
    """

    refused: int = 0
    ran: int = 0
    stopped: int = 0

    def plus(self, other: Outcomes) -> Outcomes:
        """Add up.

        >>> Outcomes(1, 2).plus(Outcomes(3, 0, 1))
        Outcomes(refused=4, ran=2, stopped=1)
        """
        return Outcomes(*(a + b for a, b in zip(self, other, strict=True)))


class _TooLong(BaseException):
    """An accepted program runs for long, which it may."""


def try_file(path: Path) -> Outcomes:
    """Load a file, and run the result for a moment.

    Args:
        path: the file.

    Raises:
        Exception: for any error but a `FileLoadError` that does not end a program.
    """
    try:
        executable = Executable.load(path)
    except FileLoadError:
        return Outcomes(refused=1)
    memory = executable.layout.replicas * executable.layout.size_bytes
    if executable.checks == "none" or memory > LARGEST_RUN:
        return Outcomes(stopped=1)  # vertices may go anywhere, as their code says; or it takes long
    try:
        engine = Engine(executable)
    except PopliteError:  # an accepted file may be nonsense
        return Outcomes(stopped=1)
    outcomes = Outcomes(ran=1)
    try:
        _run(engine)
    except PopliteError:
        outcomes = Outcomes(stopped=1)
    except _TooLong:
        pass
    report = engine.report()
    assert Report.from_json(report.to_json()) == report
    _make_all(report)
    executable.save(path.with_suffix(".again"))
    Executable.load(path.with_suffix(".again"))
    return outcomes


def _try(load: Callable[[], Any], use: Callable[[Any], object]) -> Outcomes:
    """Load a file and use what it holds, which may be nonsense."""
    try:
        loaded = load()
    except (FileLoadError, StreamConnectionError):  # of a state, whose arrays are not connected
        return Outcomes(refused=1)
    try:
        use(loaded)
    except PopliteError:
        return Outcomes(stopped=1)
    except _TooLong:
        pass
    return Outcomes(ran=1)


@cache
def _engine() -> Engine:
    return Engine(*program(), interpret=True)


def _try_state(path: Path) -> Outcomes:
    engine = _engine()

    def use(_: object) -> None:
        try:
            _run(engine)
        finally:
            report = engine.report()
            assert str(report)
            assert report.to_html()
            assert Report.from_json(report.to_json()) == report
            engine.save_state(path.with_suffix(".again"))

    return _try(lambda: engine.load_state(path), use)


def _try_graph(path: Path) -> Outcomes:
    def use(loaded: tuple[Graph, dict[str, Program]]) -> None:
        graph, programs = loaded
        graph.save(path.with_suffix(".again"), programs)
        graph.output_vertex_graph(io.StringIO(), list(programs.values()))
        for each in programs.values():
            for draw in (graph_text, summary_text):
                assert draw(graph, each)
            assert program_text(each)
            assert tiles_text(graph, program=each)
        elements = sum(variable.num_elements for variable in graph.variables)
        if elements < LARGEST_RUN >> 2:
            compile_graph(graph, programs)

    return _try(lambda: Graph.load(path), use)


def _try_report(path: Path) -> Outcomes:
    try:
        report = Report.load(path)
    except FileLoadError:
        return Outcomes(refused=1)
    _make_all(report)
    return Outcomes(ran=1)


def _make_all(report: Report) -> None:
    """Make all that there is of a report."""
    for make in report_forms(report, report).values():
        with contextlib.suppress(PopliteError):  # of what older files do not know
            make()


def _try_sweep(path: Path) -> Outcomes:
    def use(sweep: Sweep) -> None:
        sweep.save(path.with_suffix(".again"))
        forms = sweep_grid(sweep)
        for printed in (repr(sweep), forms.svg(), forms.text(Style())):
            assert printed

    return _try(lambda: Sweep.load(path), use)


class FileKind(NamedTuple):
    """A kind of files.

    Attributes:
        write: writes one.
        use: loads one that was changed, and uses it.
    """

    write: Callable[[Path], object]
    use: Callable[[Path], Outcomes]


def _write_graph(path: Path) -> None:
    graph, programs = program()
    graph.save(path, programs)


def _write_sweep(path: Path) -> None:
    rows = [{"n": n, "kind": "even", **dict.fromkeys(MEASURES, n), "error": ""} for n in range(20)]
    Sweep(["n", "kind"], rows).save(path)


KINDS = {
    "executable": FileKind(lambda path: compile_graph(*program()).save(path), try_file),
    "state": FileKind(lambda path: _engine().save_state(path), _try_state),
    "graph": FileKind(_write_graph, _try_graph),
    "report": FileKind(lambda path: _engine().report().save(path), _try_report),
    "sweep": FileKind(_write_sweep, _try_sweep),
}
"""Kinds of files, by name."""


def _run(engine: Engine) -> None:
    def stop(*_: object) -> None:
        raise _TooLong

    engine.print_stream = io.StringIO()
    for handle in engine.list_streams():
        engine.connect_stream_to_callback(handle, _fill)
    with contextlib.suppress(StreamConnectionError):  # its handle may have changed
        engine.connect_host_function("sort", _sorted)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, RUN_SECONDS, RUN_SECONDS)
    try:
        for name in engine.executable.programs:
            engine.run(name)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _fill(block: Any) -> None:
    if block.flags.writeable:  # of a stream to the device
        block[:] = 0


def _sorted(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    outputs[0][:] = np.resize(np.sort(inputs[0]), len(outputs[0]))  # a changed file may have others


def try_files(folder: Path, kind: str, seed: int, files: range, now: Any, outcomes: Any) -> None:
    """Try some files; in a process of its own.

    Args:
        folder: holds `unchanged`, and the file that is tried.
        kind: of the file.
        seed: of the whole run.
        files: their numbers.
        now: where the number of the file is noted.
        outcomes: where what became of them is noted.
    """
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    import_module("numba")  # the alarm that ends a run would leave it imported in part
    content = (folder / "unchanged").read_bytes()
    use = KINDS[kind].use
    use(folder / "unchanged")
    before = _peak_bytes()
    counts = Outcomes()
    for number in files:
        now.value = number
        path = folder / "tried.poplite"
        path.write_bytes(mutated(content, Random(f"{seed} {number}")))
        counts = counts.plus(use(path))
        if _peak_bytes() - before > MOST_BYTES:
            sys.exit(f"memory grew by {_peak_bytes() - before:,} B")
    outcomes[:] = counts


def _peak_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def fuzz(files: int, seed: int, folder: Path, kind: str = "executable") -> tuple[Outcomes, str]:
    """Try files until there are enough, or one fails.

    Args:
        files: how many.
        seed: what the changes depend on.
        folder: where files are written.
        kind: which files, of `KINDS`.

    Returns:
        What became of them, and the report of the first that failed, or nothing.
    """
    KINDS[kind].write(folder / "unchanged")
    context = multiprocessing.get_context("spawn")
    total = Outcomes()
    for first in range(0, files, FILES_AT_ONCE):
        now, outcomes = context.Value("q", first), context.Array("q", 3)
        numbers = range(first, min(first + FILES_AT_ONCE, files))
        process = context.Process(
            target=try_files, args=(folder, kind, seed, numbers, now, outcomes)
        )
        process.start()
        seen, since = -1, time.monotonic()
        while process.is_alive():
            process.join(1.0)
            if now.value != seen:
                seen, since = now.value, time.monotonic()
            elif time.monotonic() - since > HANG_SECONDS:
                process.kill()
        process.join()
        if process.exitcode != 0:
            kept = folder / "tried.poplite"
            return total, f"file {now.value} of seed {seed} ended with {process.exitcode}: {kept}"
        total = total.plus(Outcomes(*outcomes[:]))
        print(f"{numbers.stop:,} files: {total}", flush=True)
    return total, ""


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz from the command line.

    Args:
        argv: the command line.

    Returns:
        0 when no file did harm, otherwise 1.
    """
    parser = argparse.ArgumentParser(description="Load mutated files.")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="executable", help="which files")
    parser.add_argument("--files", type=int, default=10_000, help="of each kind (default 10000)")
    parser.add_argument("--seed", type=int, default=1, help="what changes depend on (default 1)")
    options = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="poplite-fuzz-"))
    for kind in KINDS if options.kind == "all" else [options.kind]:
        _, failure = fuzz(options.files, options.seed, folder, kind)
        if failure:
            print(failure)
            return 1
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return 0


if __name__ == "__main__":
    # The classes are those of the module, not of `__main__`, which no other process can import.
    from helpers import fuzz_files

    sys.exit(fuzz_files.main())
