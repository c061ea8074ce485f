"""`report.step`: one place of a program, by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import poplite as pl


@pytest.fixture(scope="module")
def report() -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=2))
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0, initial_value=0) for name in "ab")
    forth, back = pl.Copy(a, b), pl.Copy(b, a)
    once = pl.Sequence(forth, back)
    programs = {"once": once, "often": pl.Repeat(5, forth), "twice": pl.Sequence(back, back)}
    engine = pl.Engine(graph, programs)
    for name in programs:
        engine.run(name)
    return engine.report()


def test_a_step_of_a_program(report: pl.Report) -> None:
    step = report.step("a to b", program="often")
    assert (step.program_name, step.executions) == ("often", 5)
    assert report.step("a to b", program=0).executions == 1
    first, second = (s for s in report.execution.steps if s.program_name == "twice")
    assert (first.name, first.row) == (second.name, second.row - 1) == ("b to a", first.row)
    assert report.step("b to a", program="twice", row=second.row) == second


def test_a_name_in_several_places(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to b")
    assert caught.value.what == "report.step('a to b'): 2 steps have that name"
    assert "program 'once', row 0, run 1 time" in caught.value.found
    assert "run 5 times" in caught.value.found
    with pytest.raises(pl.UnknownName, match="no step of that name is in row 99"):
        report.step("a to b", row=99)


def test_a_number_is_answered_with_the_name(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName, match="chosen by name, not by number") as caught:
        report.step(3)  # type: ignore[arg-type]
    assert caught.value.found == "step 3 is 'a to b'"
    assert caught.value.fix.startswith("report.step('a to b', program='often', row=")


def test_the_text_says_the_program_of_a_step(report: pl.Report) -> None:
    assert re.search(r"Largest step: +often: a to b, ", str(report))
    assert "  twice: b to a (" in str(report)


def test_unknown_names_come_with_the_nearest(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to bb")
    assert caught.value.what == (
        "report.step('a to bb'): no step of that name has run (did you mean 'a to b'?)"
    )
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to b", program="offen")
    assert caught.value.what == (
        "report.step('a to b'): there is no program 'offen' (did you mean 'often'?)"
    )
    assert caught.value.found == "programs: 'once', 'often', 'twice'"


def test_a_program_by_its_position(report: pl.Report) -> None:
    second: Any = np.int64(1)
    assert report.step("a to b", program=second).executions == 5
    for program in (True, 3, -1, 1.0):
        with pytest.raises(pl.UnknownName, match=f"there is no program {program}"):
            report.step("a to b", program=program)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownName, match="no step .* of that name is in row False"):
        report.step("a to b", program="once", row=False)


def test_a_program_by_its_name(report: pl.Report) -> None:
    programs = report.compilation.programs
    assert programs["often"] is programs.get("often")
    assert "offen" not in programs
    assert programs.get("offen") is None
    with pytest.raises(pl.UnknownName) as caught:
        programs["offen"]
    assert caught.value.what == "there is no program 'offen' (did you mean 'often'?)"
    assert caught.value.found == "programs: 'once', 'often', 'twice'"


def test_without_costs_there_are_no_steps() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    engine = pl.Engine(graph, pl.Sequence(), options={"debug.instrument": False})
    with pytest.raises(pl.ControlProgramError, match=r"report.step\('x'\): cycles are not modell"):
        engine.report().step("x")
