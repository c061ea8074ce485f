"""Control of runs: they are ended from outside, and report their progress."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.running import SOON, both_forms
from helpers.vertices import Count, Spin
from poplite.simulator import running
from poplite.simulator.running import Running, Stopped

# -- `engine.stop()` -------------------------------------------------------------------------------


Checks = Literal["fast", "strict"]


class Both(pl.Vertex):
    """Writes an output in place and one that is scattered, and returns."""

    x: pl.Input[pl.Vector[pl.INT]]
    near: pl.Output[pl.Vector[pl.INT]]
    far: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):
            self.near[i] = self.x[i] + 1
            self.far[i] = self.x[i] + 2
        return self.x[0] % 2 == 1


class Bench:
    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.n = self.graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
        self.one = self.graph.add_variable(pl.BOOL, (), "one", mapping=0, initial_value=True)
        cs = self.graph.add_compute_set("count")
        self.graph.add_vertex(cs, Count, tile=0, n=self.n)
        self.count = pl.Execute(cs)

    def engine(
        self, program: pl.Program, interpret: bool = False, checks: Checks = "fast"
    ) -> pl.Engine:
        programs = {"long": program, "once": self.count}
        return pl.Engine(self.graph, programs, checks=checks, interpret=interpret)

    def works_on(self, engine: pl.Engine) -> bool:
        before = int(engine.read(self.n))
        engine.run("once")
        return int(engine.read(self.n)) == before + 1


@pytest.fixture
def bench() -> Bench:
    return Bench()


@contextmanager
def stopped(engine: pl.Engine, after: float = 0.2, times: int = 1) -> Iterator[None]:
    """Call stop from another thread while the block runs, and expect it to end soon.

    It is called again and again, as the first call may come before the run.
    """
    has_ended = threading.Event()

    def stop() -> None:
        while not has_ended.wait(after):
            for _ in range(times):
                engine.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    began = time.monotonic()
    yield
    has_ended.set()
    thread.join()
    assert time.monotonic() - began < SOON


PROGRAMS: dict[str, Callable[[Bench], pl.Program]] = {
    "empty loop": lambda b: pl.Loop(pl.Sequence()),
    "loop": lambda b: pl.Loop(b.count),
    "nested loops": lambda b: pl.Repeat(3, pl.Loop(pl.Sequence(b.count, pl.Loop(b.count)))),
    "endless while": lambda b: pl.RepeatWhileTrue(pl.Sequence(), b.one, pl.Sequence()),
    "while of steps": lambda b: pl.RepeatWhileTrue(b.count, b.one, pl.Sync(pl.SyncType.GLOBAL)),
    "repeat": lambda b: pl.Repeat(2**32 - 1, b.count),
    "in a function": lambda b: pl.Call(b.graph.add_function(pl.Loop(b.count))),
    "prints": lambda b: pl.Loop(pl.PrintTensor(b.n)),
}
CASES = [(checks, name) for name in PROGRAMS for checks in ("fast", "strict")]
KEPT = [("fast", "loop"), ("strict", "loop"), ("fast", "endless while"), ("fast", "in a function")]


@both_forms
@pytest.mark.parametrize(("checks", "name"), thinned(CASES, KEPT))
def test_stop_from_another_thread(bench: Bench, interpret: bool, checks: Checks, name: str) -> None:
    engine = bench.engine(PROGRAMS[name](bench), interpret, checks)
    engine.print_stream = io.StringIO()
    for times in (1, 2):
        with stopped(engine, after=0.05, times=times):
            engine.run("long")
        assert bench.works_on(engine)
    assert engine.report().runs == 4


def test_stop_in_one_long_launch_leaves_vertices_run_or_not(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (5000,), "x", mapping="linear")
    cs = bench.graph.add_compute_set("slow")
    for k in range(5000):
        bench.graph.add_vertex(cs, Spin, tile=k % 4, rounds=5_000_000, x=x[k])
    engine = bench.engine(pl.Execute(cs))
    for _ in range(2):
        engine.write(x, 7)
        with stopped(engine):
            engine.run("long")
        assert set(engine.read(x).tolist()) == {2.0, 7.0}
        assert bench.works_on(engine)


def test_an_interpreted_launch_is_undone(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (3000,), "x", mapping=0, initial_value=7)
    cs = bench.graph.add_compute_set("slow")
    for k in range(3000):
        bench.graph.add_vertex(cs, Spin, tile=0, rounds=50_000, x=x[k])
    engine = bench.engine(pl.Execute(cs), interpret=True)
    with stopped(engine):
        engine.run("long")
    assert set(engine.read(x).tolist()) == {7.0}
    assert bench.works_on(engine)


@both_forms
def test_stop_from_a_callback_ends_the_run_behind_its_step(bench: Bench, interpret: bool) -> None:
    program = pl.Loop(pl.Sequence(bench.count, pl.PrintTensor(bench.n), bench.count))
    engine = bench.engine(program, interpret)

    class StopAtFive(io.StringIO):
        def write(self, text: str) -> int:
            if text == "n: 5":
                engine.stop()
                engine.stop()
            return len(text)

    engine.print_stream = StopAtFive()
    for _ in range(2):
        engine.write(bench.n, 0)
        engine.run("long")
        assert engine.read(bench.n) == 5
    assert bench.works_on(engine)


class Whole:
    """A program whose steps have several parts each: moves, vertices, callbacks."""

    def __init__(self, interpret: bool, checks: Checks) -> None:
        graph = pl.Graph(pl.Target(tiles=2))
        self.x = graph.add_variable(pl.INT, (20,), "x", mapping="linear", initial_value=0)
        self.all = graph.add_variable(pl.BOOL, (2,), "all", mapping=1, initial_value=False)
        source = graph.add_host_to_device_fifo("in", pl.INT, 4)
        double = graph.add_host_function("double", inputs=[(pl.INT, 4)], outputs=[(pl.INT, 4)])
        table = graph.add_remote_buffer("table", pl.INT, 4)
        both = graph.add_compute_set("both")
        odd, even = self.x[1:8:2], self.x[:8:2]
        graph.add_vertex(both, Both, tile=0, x=even, near=self.x[8:12], far=odd)
        steps = [
            pl.Copy(source, even),
            pl.Execute(both, self.all[0]),
            pl.Call(double, [odd], [self.x[12:20:2]]),
            pl.Copy(odd, table),
            pl.Copy(table, self.x[13:20:2]),
            pl.If(self.all[0], pl.Execute(both, self.all[1]), pl.Sequence()),
        ]
        body = pl.Sequence(steps)
        self.engine = pl.Engine(graph, pl.Repeat(2, body), checks=checks, interpret=interpret)
        self.engine.connect_stream_to_callback("in", self.fetch)
        self.engine.connect_host_function("double", self.double)
        self.on_call: Callable[[str], object] = lambda what: None

    def fetch(self, array: np.ndarray[Any, Any]) -> None:
        array[:] = self.engine.read(self.x)[:8:2] + [1, 2, 3, 4]
        self.on_call("fetch")

    def double(self, inputs: Any, outputs: Any) -> None:
        outputs[0][:] = 2 * inputs[0]
        self.on_call("double")

    def state(self) -> list[int]:
        read = self.engine.read
        return [*read(self.x).tolist(), *read(self.all).tolist()]

    def states(self) -> list[list[int]]:
        """What memory holds at first and behind each step."""
        x, flags = np.zeros(20, int), [False, False]
        found = [[*x.tolist(), *flags]]

        def execute(flag: int) -> None:
            x[8:12], x[1:8:2] = x[:8:2] + 1, x[:8:2] + 2
            flags[flag] = bool(x[0] % 2 == 1)

        def step(number: int) -> None:
            if number == 0:
                x[:8:2] += [1, 2, 3, 4]
            elif number == 1:
                execute(0)
            elif number == 2:
                x[12:20:2] = 2 * x[1:8:2]
            elif number == 4:
                x[13:20:2] = x[1:8:2]
            elif number == 5 and flags[0]:
                execute(1)

        for number in [*range(6), *range(6)]:
            step(number)
            found.append([*x.tolist(), *flags])
        return found


@both_forms
@pytest.mark.parametrize("checks", ["fast", "strict"])
@pytest.mark.parametrize(("what", "steps"), [("fetch", 1), ("double", 3)])
def test_a_step_that_calls_the_host_is_whole_when_the_host_stops_it(
    interpret: bool, checks: Checks, what: str, steps: int
) -> None:
    whole = Whole(interpret, checks)
    whole.on_call = lambda called: whole.engine.stop() if called == what else None
    whole.engine.run()
    assert whole.state() == whole.states()[steps]
    whole.on_call = lambda called: None
    whole.engine.load()
    whole.engine.run()
    assert whole.state() == whole.states()[-1]


@both_forms
@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_a_stop_never_leaves_a_step_that_is_half_done(
    interpret: bool, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the run looks whether it is to end."""
    whole, looks, last = Whole(interpret, checks), 0, 0

    def watch(running: Running) -> None:
        nonlocal looks
        looks += 1
        if looks == last:
            raise Stopped

    monkeypatch.setattr(Running, "watch", watch)
    expected = whole.states()
    while looks == last:
        last += 1
        looks = 0
        whole.engine.load()
        whole.engine.run()
        assert whole.state() in expected
    assert last > 6
    assert whole.state() == expected[-1]


@both_forms
def test_an_error_in_a_callback_that_stopped_the_run_is_raised(
    bench: Bench, interpret: bool
) -> None:
    engine = bench.engine(pl.Loop(pl.PrintTensor(bench.n)), interpret)

    class StopAndRaise(io.StringIO):
        def write(self, text: str) -> int:
            engine.stop()
            raise OSError("disk full")

    engine.print_stream = StopAndRaise()
    with pytest.raises(OSError, match="disk full"):
        engine.run("long")
    assert bench.works_on(engine)


@both_forms
def test_a_stop_while_nothing_runs_does_nothing(bench: Bench, interpret: bool) -> None:
    engine = bench.engine(pl.Repeat(5, bench.count), interpret)
    engine.stop()
    engine.run("long")
    engine.stop()
    engine.run("long")
    assert engine.read(bench.n) == 10


@both_forms
def test_stops_that_race_with_the_end_reach_no_later_run(bench: Bench, interpret: bool) -> None:
    """Another thread stops all the time; every run is whole, or ends early between two steps."""
    engine = bench.engine(pl.Repeat(20, pl.Sequence(bench.count, bench.count)), interpret)
    quiet = threading.Event()

    def stop() -> None:
        while not quiet.is_set():
            engine.stop()
            time.sleep(0.0001)

    thread = threading.Thread(target=stop)
    thread.start()
    for _ in range(200):
        engine.write(bench.n, 0)
        engine.run("long")
        assert 0 <= int(engine.read(bench.n)) <= 40
    quiet.set()
    thread.join()
    engine.write(bench.n, 0)
    engine.run("long")
    assert engine.read(bench.n) == 40


@both_forms
def test_stop_with_progress_shown(
    bench: Bench, interpret: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = bench.engine(pl.Loop(bench.count), interpret)
    with stopped(engine):
        engine.run("long", progress=True)
    steps = int(engine.read(bench.n))
    assert f"run 'long': {steps:,} steps" in capsys.readouterr().err


def test_loops_hold_programs() -> None:
    with pytest.raises(
        pl.ControlProgramError, match=r"(?s)Loop, body: 3 is not a program.*type int"
    ):
        pl.Loop(3)  # type: ignore[arg-type]
    loop = pl.Loop(pl.Sequence())
    assert not loop.is_empty
    assert (repr(loop), str(loop), loop.num_steps) == ("<Loop 0 steps>", "Loop", 0)


# -- progress --------------------------------------------------------------------------------------


build: Any = importlib.import_module("poplite.jit.build")  # the package has a function of this name


class Halve(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = self.x * 0.5


class Terminal(io.StringIO):
    """Standard error where a person looks on."""

    def isatty(self) -> bool:
        return True


def program_of(graph: pl.Graph, cls: type[pl.Vertex] = Halve) -> tuple[pl.Tensor, pl.Execute]:
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, cls, tile=0, x=x)
    return x, pl.Execute(work)


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing compiled before counts."""
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))


def vertices_of(told: str) -> list[str]:
    return [line for line in told.splitlines() if "vertex" in line]


def test_compiling_is_told_when_it_takes_long(
    graph: pl.Graph,
    cold: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    class First(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = self.x * 0.5 + 1.25

    class Second(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = self.x * 0.5 + 2.25

    monkeypatch.setattr(running, "PATIENCE", 0.0)
    steps = [program_of(graph, cls)[1] for cls in (First, Second, First)]
    pl.Engine(graph, steps)
    out, err = capfd.readouterr()
    assert out == ""
    assert vertices_of(err) == [
        "poplite: compiling vertex class 1 of 2: First",
        "poplite: compiling vertex class 2 of 2: Second",
    ]
    pl.Engine(graph, steps)  # compiled already
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("is_kept", [True, False])
def test_kernels_are_compiled_once_on_a_machine_where_they_are_kept(
    is_kept: bool,
    graph: pl.Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "cache"
    if not is_kept:
        place.write_text("a file in its place")
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(place))
    monkeypatch.setattr(build, "_known", {})  # as in a new process
    monkeypatch.setattr(running, "PATIENCE", 0.0)
    expected = contextlib.nullcontext() if is_kept else pytest.warns(pl.CacheWarning)
    with expected:
        pl.Engine(graph, program_of(graph)[1])
    told = {line for line in capfd.readouterr().err.splitlines() if "own kernels" in line}
    once = ", once on this machine" if is_kept else ""
    assert told == {f"poplite: compiling poplite's own kernels{once}"}


def test_quick_compiling_is_not_told(
    graph: pl.Graph,
    cold: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Quick(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = self.x * 0.5 + 3.25

    monkeypatch.setattr(running, "PATIENCE", 1000.0)
    pl.Engine(graph, program_of(graph, Quick)[1]).run()
    assert capfd.readouterr() == ("", "")


def test_lines_where_nobody_looks_on(
    graph: pl.Graph, cold: None, capfd: pytest.CaptureFixture[str]
) -> None:
    class Third(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = self.x * 0.5 + 4.25

    x, step = program_of(graph, Third)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0, initial_value=0)
    body = pl.Sequence(step, pl.Copy(x, y))
    engine = pl.Engine(graph, {"main": pl.Repeat(600, body)}, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "poplite: engine: checking and lowering"
    assert "poplite: engine: compiling vertex class 1 of 1: Third" in lines
    assert re.fullmatch(r"poplite: engine: 1 of 1 vertex classes, \d+ s", lines[-1])
    engine.run()
    engine.run("main", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"poplite: run 'main': 1,200 of 1,200 steps, \d+ s\n", err)


@both_forms
def test_steps_that_data_decide_on_have_no_total(
    graph: pl.Graph, interpret: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    class Down(pl.Vertex):
        n: pl.InOut[pl.INT]

        def compute(self) -> None:
            self.n -= 1

    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=40)
    cs = graph.add_compute_set("down")
    graph.add_vertex(cs, Down, tile=0, n=n)
    loop = pl.RepeatWhileTrue(pl.Sequence(), n, pl.Execute(cs))
    engine = pl.Engine(graph, loop, interpret=interpret)
    capfd.readouterr()
    engine.run(progress=True)
    assert re.fullmatch(r"poplite: run '0': 40 steps, \d+ s\n", capfd.readouterr().err)


def test_a_line_is_written_when_the_last_one_is_old(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([100.0, 100.5, 101.2, 101.2, 101.2, 101.9, 102.3, 102.3, 102.3, 102.3])
    monkeypatch.setattr(running, "monotonic", lambda: next(times))
    lines = running.shown("run", "steps", 9, wanted=True)
    counts = iter([2, 4, 4])
    for _ in range(4):
        lines.update(lambda: next(counts))
    lines.close()
    assert capsys.readouterr().err.splitlines() == [
        "poplite: run: 2 of 9 steps, 1 s",
        "poplite: run: 4 of 9 steps, 2 s",
        "poplite: run: 4 of 9 steps, 2 s",
    ]


def test_a_bar_where_a_person_looks_on(graph: pl.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    _, step = program_of(graph)
    engine = pl.Engine(graph, pl.Repeat(1500, step), progress=True)
    engine.run(progress=True)
    drawn = terminal.getvalue()
    assert "engine: " in drawn
    assert "1 of 1 vertex classes" in drawn
    assert "run '0'" in drawn
    assert "1,500 of 1,500 steps" in drawn
    assert "━" in drawn


@pytest.mark.parametrize("reason", ["dumb", "no rich"])
def test_lines_where_no_bar_can_be_drawn(
    graph: pl.Graph, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.setenv("TERM", "dumb" if reason == "dumb" else "xterm")
    if reason == "no rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    engine = pl.Engine(graph, program_of(graph)[1])
    engine.run(progress=True)
    lines = terminal.getvalue().splitlines()
    assert re.fullmatch(r"poplite: run '0': 1 of 1 steps, \d+ s", lines[-1])


def test_the_bar_ends_with_an_error(graph: pl.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    mode = graph.add_variable(pl.INT, (), "mode", mapping=0, initial_value=0)
    engine = pl.Engine(graph, pl.Switch.with_bounds_checking(mode, {3: program_of(graph)[1]}))
    for _ in range(2):  # a bar that is still there would refuse a second one
        with pytest.raises(pl.ApplicationRuntimeError, match="no case for 0"):
            engine.run(progress=True)


def test_library_calls_leave_standard_output_alone(
    pi: ModuleType,
    heat: ModuleType,
    photo: ModuleType,
    first_tiles: ModuleType,
    capfd: pytest.CaptureFixture[str],
) -> None:
    picture = np.zeros((8, 9, 4), np.float32)
    for graph, program, *tensors in (
        pi.build(8),
        heat.build(1),
        photo.build(picture, 1, 12),
        first_tiles.build(),
    ):
        for interpret in (False, True):
            engine = pl.Engine(graph, program, interpret=interpret, progress=True)
            engine.write(tensors[0], 1)
            engine.run(progress=True)
            for thing in (graph, program, engine, *tensors, engine.report()):
                repr(thing)
                getattr(thing, "_repr_html_", str)()
            tensors[0].explain()
    assert capfd.readouterr().out == ""


class Notebook:
    """What IPython has in a notebook: a kernel, a count of cells, and displays."""

    kernel = object()
    execution_count = 7

    def __init__(self) -> None:
        self.shown: list[tuple[str, str, bool]] = []
        self.display_pub = self

    def publish(self, data: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        self.shown.append((data["text/plain"], transient["display_id"], update))


def test_a_notebook_shows_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    line = running.Lines("run 'main'", "steps", 8)
    line.note("compiling vertex class 1 of 2: Blur")
    line.note("compiling vertex class 2 of 2: Sum")
    shell.execution_count = 8
    line.note("compiling the program")
    assert [(text, update) for text, _, update in shell.shown] == [
        ("poplite: run 'main': compiling vertex class 1 of 2: Blur", False),
        ("poplite: run 'main': compiling vertex class 2 of 2: Sum", True),
        ("poplite: run 'main': compiling the program", False),
    ]
    assert len({display for _, display, _ in shell.shown}) == 2
    assert capsys.readouterr().err == ""
    monkeypatch.delattr(Notebook, "kernel")  # IPython in a terminal
    line.note("compiling the program")
    assert capsys.readouterr().err == "poplite: run 'main': compiling the program\n"
