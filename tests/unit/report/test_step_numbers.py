"""One numbering of steps: of messages, programs, reports and liveness."""

from __future__ import annotations

from pathlib import Path

import pytest

import poplite as pl
from poplite.program import Program, walk


class Count(pl.Vertex):
    """n += 1, and tell whether that is enough."""

    n: pl.InOut[pl.INT]
    goes_on: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.n = self.n + 1
        self.goes_on = self.n < 3


class Work:
    """Named steps on one tile."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.n = self.graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
        self.goes_on = self.graph.add_variable(pl.BOOL, (), "goes on", mapping=0)
        self.other = self.graph.add_variable(pl.INT, (), "other", mapping=1)

    def step(self, name: str) -> pl.Execute:
        compute_set = self.graph.add_compute_set(name)
        self.graph.add_vertex(compute_set, Count, tile=0, n=self.n, goes_on=self.goes_on)
        return pl.Execute(compute_set)


def nested(work: Work) -> Program:
    """A condition before its body, functions within functions, a copy between."""
    inner = work.graph.add_function(pl.Sequence(work.step("in 1"), work.step("in 2")))
    outer = work.graph.add_function(pl.Sequence(work.step("out"), pl.Call(inner)))
    return pl.Sequence(
        pl.RepeatWhileTrue(work.step("test"), work.goes_on, work.step("body")),
        pl.Copy(work.n, work.other),
        pl.Call(outer),
        pl.Repeat(2, pl.Call(inner)),
        pl.Call(outer),
    )


def shared(work: Work) -> Program:
    """One step in several places."""
    step = work.step("shared")
    return pl.Sequence(work.step("first"), step, pl.Repeat(2, pl.Sequence(step, work.step("own"))))


@pytest.mark.parametrize("made", [nested, shared])
def test_steps_have_the_numbers_of_their_programs(made) -> None:  # type: ignore[no-untyped-def]
    work = Work()
    program = made(work)
    engine = pl.Engine(work.graph, program)
    engine.run()
    report = engine.report()
    of_program = {step.number: str(step.program) for step in walk(program)}
    steps = report.execution.steps
    assert [step.number for step in steps] == sorted(step.number for step in steps)
    for step in steps:
        assert step.name.split(" to ")[0] in of_program[step.number]
    assert report.compilation.modelled is not None
    planned = report.compilation.modelled.steps
    for live in planned:
        assert live.name == f"step {live.number} of {program.num_steps}: {of_program[live.number]}"
    rows = [row for live in planned for row in live.rows]
    assert sorted(rows) == sorted({step.row for step in steps})


def test_a_step_of_a_function_has_the_number_of_its_first_call() -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    engine.run()
    found = {step.name: (step.number, step.executions) for step in engine.report().execution.steps}
    assert found == {
        "test": (1, 2),
        "body": (2, 1),
        "n to other": (3, 1),
        "out": (4, 2),
        "in 1": (5, 4),
        "in 2": (6, 4),
    }


def test_a_step_in_two_places_is_planned_once() -> None:
    work = Work()
    engine = pl.Engine(work.graph, shared(work))
    engine.run()
    report = engine.report()
    found = [(step.number, step.name, step.executions) for step in report.execution.steps]
    assert found == [(1, "first", 1), (2, "shared", 1), (3, "shared", 2), (4, "own", 2)]
    assert report.compilation.modelled is not None
    live = {step.number: len(step.rows) for step in report.compilation.modelled.steps}
    assert live == {1: 1, 2: 2, 4: 1}


def test_programs_know_their_lines_roles_and_counts() -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    (tree,) = engine.report().compilation.programs.values()
    loop, copy, call, repeat, again = tree.children
    assert [(node.role, node.name, node.count) for node in loop.children] == [
        ("condition", "test", None),
        ("body", "body", None),
    ]
    assert (loop.count, copy.count, call.count) == (1, 1, 1)
    assert (repeat.name, repeat.count, repeat.children[0].count) == ("2 times", 1, 2)
    outer, (inner,) = call.children[0], repeat.children[0].children
    assert again.children[0] is outer
    assert (outer.count, inner.count) == (2, 4)  # in all calls
    assert all("test_step_numbers.py" in node.at for node in (loop, copy, call, repeat))


def test_branches_have_roles() -> None:
    work = Work()
    three = pl.Switch(work.n, {3: work.step("three")}, work.step("other"))
    program = pl.Sequence(
        pl.If(work.goes_on, work.step("yes"), work.step("no")),
        pl.Repeat(5, pl.If(work.goes_on, work.step("only"), pl.Sequence())),
        three,
    )
    (tree,) = pl.Engine(work.graph, program).report().compilation.programs.values()
    found = [
        (node.role, node.count, [leaf.name for leaf in node.walk() if not leaf.children])
        for node in tree.walk()
        if node.role
    ]
    assert found == [
        ("then", None, ["yes"]),
        ("else", None, ["no"]),
        ("then", None, ["only"]),
        ("case 3", None, ["three"]),
        ("default", None, ["other"]),
    ]


def test_what_has_not_run_says_what_a_run_would_take() -> None:
    work = Work()
    program = pl.Sequence(pl.Repeat(3, work.step("often")), pl.Copy(work.n, work.other))
    engine = pl.Engine(work.graph, program, options={"debug.allowOutOfMemory": True})
    report = engine.report()
    assert not report.is_run
    assert report.compilation.options == (("debug.allowOutOfMemory", "true"),)
    planned = report.compilation.planned
    again = pl.Report.from_json(report.to_json())
    engine.run()
    ran = engine.report()
    assert ran.is_run
    assert [(step.name, step.executions) for step in planned] == [("often", 3), ("n to other", 1)]
    assert tuple(planned) == tuple(again.compilation.planned) == ran.execution.steps
    assert ran.compilation.planned == ()


def test_what_data_decide_is_planned_once() -> None:
    work = Work()
    report = pl.Engine(work.graph, nested(work)).report()
    found = {step.name: step.executions for step in report.compilation.planned}
    assert found == {"test": 1, "body": 1, "n to other": 1, "out": 2, "in 1": 4, "in 2": 4}


def test_the_order_of_a_trace_is_kept(tmp_path: Path) -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    earlier = engine.report()
    with engine.tracing() as trace:
        engine.run()
    report = engine.report()
    report.save(tmp_path / "run.json", trace)
    order = pl.Report.load(tmp_path / "run.json").order
    names = [report.execution.steps[place].name for place, times in order for _ in range(times)]
    assert names == [step.name for step in trace.steps]
    assert names[:5] == ["test", "body", "test", "n to other", "out"]
    assert report.order == ()
    with pytest.raises(pl.UnknownName, match="'test' of the trace is not a step of it") as caught:
        earlier.save(tmp_path / "no.json", trace)
    assert caught.value.found == "step 1 of program '0'"
    assert not (tmp_path / "no.json").exists()
    sets = report.compilation.compute_sets
    for step in report.execution.steps:
        assert (step.compute_set is None) == (step.kind == "copy")
        assert step.compute_set is None or sets[step.compute_set].name == step.name
