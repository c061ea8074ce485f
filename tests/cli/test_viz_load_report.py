"""From TARGET or a saved file to a report: what runs, what does not, and what is refused."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

import poplite as pl
from helpers.scripts import go_to
from poplite.errors import FileLoadError, InvalidTileMapping, UnknownName
from poplite.tools.viz.flags import add_report, add_run, build_flags
from poplite.tools.viz.load_report import load, load_report

SCRIPT = """
import poplite as pl

class Double(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2

def build(times=3, size=8):
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping=1)
    double = graph.add_compute_set("double")
    graph.add_vertex(double, Double, tile=1, x=x)
    return graph, pl.Repeat(times, pl.Execute(double))

def streams():
    graph, program = build()
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0)
    copy = pl.Copy(graph.add_host_to_device_fifo("numbers", pl.FLOAT, 4), y)
    host = graph.add_host_function("ask", [(pl.FLOAT, 4)], [(pl.FLOAT, 4)])
    return graph, {"fill": pl.Sequence(copy, pl.Call(host, [y], [y])), "double": program}

def unplaced():
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.FLOAT, (4,), name) for name in "xy")
    return graph, pl.Copy(x, y)

def failing():
    graph, program = build()
    always = graph.add_constant(pl.BOOL, (), True, mapping=0)
    return graph, pl.Sequence(program, pl.ErrorProgram("no luck", always))

def alone():
    return build()[0]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `work.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, work=SCRIPT)


def test_a_target_runs_once_unless_that_is_not_wanted() -> None:
    ran = load("work.py:build", [("times", 5)])
    assert (ran.report.runs, ran.report.step("double").executions) == (1, 5)
    assert ran.graph is not None
    assert [name for name, _ in ran.programs] == ["0"]
    compiled = load("work.py:build", run=False).report
    assert (compiled.is_run, compiled.compilation.planned[0].executions) == (False, 3)
    assert load("work.py:alone").report.execution.steps == ()


def test_what_needs_data_runs_only_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    first = load("work.py:streams")
    assert not first.report.is_run
    assert "2 streams or host functions ('numbers', 'ask') give" in first.note
    assert load("work.py:streams", run=True).report.runs == 2
    assert load("work.py:streams", (), "double", run=True).report.runs == 1
    parser = argparse.ArgumentParser()
    add_report(parser, formats=("txt",))
    add_run(parser)
    words = ["work.py:streams", "--program", "double", "--run", "--vertices", "work"]
    arguments = parser.parse_args(words)
    assert build_flags(arguments) == ["--program", "double", "--vertices", "work", "--run"]
    assert load_report(arguments).runs == 1
    load_report(parser.parse_args(["work.py:streams"]))
    assert capsys.readouterr().err.count("poplite-viz: work.py:streams is shown as compiled") == 1
    load_report(parser.parse_args(["work.py:streams", "-q"]))
    assert capsys.readouterr().err == ""


def test_what_does_not_fit_has_a_report() -> None:
    report = load("work.py:build", [("size", 200_000)], run=False).report
    assert report.compilation.memory.num_over(report.compilation.target.tile_memory_bytes) == 1


def test_saved_files_are_read_and_not_run(tmp_path: Path) -> None:
    ran = load("work.py:build")
    ran.report.save("run.json")
    assert load("run.json").report == ran.report
    assert ran.graph is not None
    pl.compile_graph(ran.graph, dict(ran.programs)).save("program.poplite")
    (tmp_path / "work.py").write_text(SCRIPT)
    sys.modules.pop("work", None)
    saved = load("program.poplite", vertices=["work.py"])
    assert saved.graph is None
    assert not saved.report.is_run
    assert saved.report.compilation.planned[0].executions == 3


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("run.json", {}, "cannot read 'run.json': No such file"),
        ("work.py", {}, "'work.py' names no callable"),
        ("text.json", {}, "'text.json' cannot be loaded as a report"),
        ("text.json", {"run": True}, "--run is for a TARGET, and 'text.json' is a saved file"),
        ("text.json", {"given": [("a", 1)]}, "--arg is for a TARGET"),
        ("work.py:failing", {}, "'work.py:failing' cannot be run: .*no luck"),
    ],
)
def test_faults(target: str, options: dict[str, object], message: str) -> None:
    Path("text.json").write_text("a text")
    with pytest.raises(FileLoadError, match=message) as caught:
        load(target, **options)  # type: ignore[arg-type]  # one of several keywords
    assert caught.value.fix


def test_faults_of_the_graph_are_its_own() -> None:
    with pytest.raises(InvalidTileMapping):
        load("work.py:unplaced")
    with pytest.raises(UnknownName, match="there is no program 'dubble'"):
        load("work.py:streams", (), "dubble")


def test_unknown_vertex_classes_name_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    from poplite.executable.file import vertex_classes

    ran = load("work.py:build")
    assert ran.graph is not None
    pl.compile_graph(ran.graph, dict(ran.programs)).save("program.poplite")
    monkeypatch.setattr(vertex_classes, "defined_classes", lambda _: iter(()))
    with pytest.raises(FileLoadError, match="cannot be found") as caught:
        load("program.poplite")
    assert "--vertices" in caught.value.fix

    class Add(pl.Vertex):
        out: pl.Output[pl.INT]

        def compute(self) -> None:
            self.out = 1

    graph = pl.Graph(pl.Target(tiles=1))
    compute_set = graph.add_compute_set("one")
    x = graph.add_variable(pl.INT, (), "x", mapping=0)
    graph.add_vertex(compute_set, Add, tile=0, out=x)
    pl.compile_graph(graph, pl.Execute(compute_set)).save("add.poplite")
    with pytest.raises(FileLoadError, match="1 vertex class of it cannot be found") as caught:
        load("add.poplite")
    assert caught.value.found == "Add: that of poplite.vertices.elementwise is another one"
    assert "--vertices" in caught.value.fix
