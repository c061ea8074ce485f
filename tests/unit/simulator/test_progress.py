"""What is told while the engine works: on standard error, and only there."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from poplite.simulator import running

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
