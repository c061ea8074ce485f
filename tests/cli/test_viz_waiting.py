"""What commands of poplite-viz do while their users wait: progress, time limits, long listings."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import poplite as pl
from helpers.random_reports import random_report
from poplite.tools.viz import main, progress, running
from poplite.tools.viz.commands import STEP_SORTS
from poplite.tools.viz.progress import CurrentWork, doing
from poplite.viz.steps import SORTS, step_list

ENDLESS = """\
import poplite as pl

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1)
            for name in "ab")
    on = graph.add_variable(pl.BOOL, (), "on", mapping=0, initial_value=True)
    turn = pl.Copy(a.reverse(0), b)
    return graph, {"spin": pl.RepeatWhileTrue(pl.Sequence(), on, turn)}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("endless.py").write_text(ENDLESS)
    return tmp_path


# -- progress --------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["summary", "report -o page.html", "steps"])
def test_what_takes_long_is_told(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random_report(4, 3, 0).save("run.json")
    command, *others = words.split()
    monkeypatch.setattr(CurrentWork, "__enter__", entered_late)
    assert main([command, "run.json", *others]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["poplite-viz: reading run.json", "poplite-viz: drawing"]
    assert main([command, "run.json", *others, "-q"]) == 0
    assert "poplite-viz:" not in capsys.readouterr().err


def entered_late(self: CurrentWork) -> CurrentWork:
    """Enter a command that already takes long, unless it is quiet."""
    self._token = progress._current.set(self)
    self._is_late = self._is_shown
    return self


def test_what_runs_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(CurrentWork, "__enter__", entered_late)
    assert main(["steps", "endless.py:build", "--timeout", "0.05"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("poplite-viz: ")][:3] == [
        "poplite-viz: building endless.py:build",
        "poplite-viz: compiling endless.py:build",
        "poplite-viz: running program 'spin'",
    ]


def test_what_is_quick_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with CurrentWork("poplite-viz", is_shown=True):
        doing("reading run.json")
    doing("drawing")
    assert capsys.readouterr().err == ""


def test_the_first_line_is_what_is_done_when_patience_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with CurrentWork("poplite-viz", is_shown=True) as shown:
        doing("reading run.json")
        shown._timer.join()
        doing("drawing")
        doing("drawing")
    lines = ["poplite-viz: reading run.json", "poplite-viz: drawing"]
    assert capsys.readouterr().err.splitlines() == lines


# -- time limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["steps", "tile 0", "ops", "exchange", "report -o e.html", "trace"]
)
def test_a_program_without_an_end_is_ended(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, *others = words.split()
    assert main([command, "endless.py:build", *others, "--timeout", "0.1"]) == 1
    said = capsys.readouterr().err
    start = "poplite-viz: 'endless.py:build' cannot be run: program 'spin' did not end within 0.1 s"
    assert start in said  # after what is told of compiling, where that takes long
    assert said.endswith("as compiled, or a longer --timeout\n")


def test_the_step_that_ran_most_often_is_told() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping=0, initial_value=1) for name in "ab")
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Repeat(7, pl.Copy(b, a))))
    found = running.over_time(engine, "0", 2.5).found
    assert found == ""
    engine.run()
    error = running.over_time(engine, "0", 2.5)
    assert error.what == "program '0' did not end within 2.5 s"
    assert error.found.startswith("it ran 8 steps, most often step 2 'b to a' (")
    assert error.found.endswith("), 7 times")


def test_a_program_with_an_end_is_not_ended(capsys: pytest.CaptureFixture[str]) -> None:
    Path("short.py").write_text(ENDLESS.replace("initial_value=True", "initial_value=False"))
    assert main(["steps", "short.py:build", "--timeout", "1000"]) == 0
    assert main(["steps", "endless.py:build", "--no-run", "--timeout", "0.001"]) == 0
    assert "poplite-viz" not in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "inf"])
def test_a_wrong_limit_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["steps", "endless.py:build", f"--timeout={seconds}"])
    assert "must be a number of seconds above 0" in capsys.readouterr().err


# -- long listings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["steps", "ops"])
def test_the_largest_are_listed_unless_all_are_asked_for(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = [graph.add_variable(pl.INT, (4,), f"x{k}", mapping=0) for k in range(60)]
    copies = [pl.Copy(x[k], x[k - 1]) for k in range(60)]
    pl.Engine(graph, pl.Sequence(*copies)).report().save("many.json")
    noun = "steps" if command == "steps" else "scopes"
    assert main([command, "many.json"]) == 0
    text = capsys.readouterr().out
    assert f"... 20 more {noun}; --all lists them" in text
    assert main([command, "many.json", "--all"]) == 0
    whole = capsys.readouterr().out
    assert "more" not in whole
    assert len(whole.splitlines()) == len(text.splitlines()) + 19
    assert main([command, "many.json", "-q", "-o", "many.txt"]) == 0
    assert "--all" not in Path("many.txt").read_text()
    assert main([command, "many.json", "-f", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["steps"] if command == "steps" else data["inside"]) == 60
    if command == "ops":
        assert main([command, "many.json", "-f", "csv"]) == 0
        assert len(list(csv.reader(capsys.readouterr().out.splitlines()))) == 61


@pytest.mark.parametrize("sort", SORTS)
def test_steps_are_sorted_by_every_part_of_time(
    sort: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tuple(SORTS) == STEP_SORTS
    report = random_report(4, 20, 0)
    report.save("run.json")
    assert main(["steps", "run.json", "--sort", sort]) == 0
    rows, _ = capsys.readouterr().out.split("\nop/cycle: ")  # the limits of the machine follow
    lines = rows.splitlines()
    numbers = [int(line.split()[0]) for line in lines if line.strip()[:1].isdigit()]
    listed = [row.step.number for row in step_list(report, sort=sort).steps]
    assert [number for number in numbers if number in listed] == listed


def test_the_steps_that_are_listed_take_most(capsys: pytest.CaptureFixture[str]) -> None:
    report = random_report(4, 60, 0)
    report.save("many.json")
    assert main(["steps", "many.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    numbers = [
        int(line.split()[0].replace(",", "")) for line in lines if line[:3].strip().isdigit()
    ]
    largest = sorted(report.shown.steps, key=lambda step: -step.cycles)[:40]
    assert numbers == [step.number for step in largest]
