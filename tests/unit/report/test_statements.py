"""Every sentence of insights, and every number of ops and diff, is held against the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.report import Report
from poplite.report.execution import ExecutionStep, Phase
from poplite.report.findings import Finding
from poplite.tools.viz.load_report import load
from poplite.viz.ops.scopes import Scope, scope_tree

EXAMPLES = Path(__file__).parents[3] / "examples"


class Total(pl.Vertex):
    """Adds five fields up."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]
    d: pl.Input[pl.Vector[pl.FLOAT]]
    e: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] + self.b[i] + self.c[i] + self.d[i] + self.e[i]
        self.y = total


class Work(pl.Vertex):
    """Works as long as its field is."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * self.x[i]


def five_fields(*, stays: bool) -> Report:
    """Five fields of unlike lengths, put together on their tile or brought from another one."""
    graph = pl.Graph(pl.Target(tiles=4))
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=1)
    work = graph.add_compute_set("total")
    fields = {}
    for number, name in enumerate("abcde"):
        tensor = graph.add_variable(
            pl.FLOAT, (8 * (number + 1),), name, mapping=1 if stays else 2, initial_value=1
        )
        fields[name] = tensor.reverse(0) if stays else tensor
    graph.add_vertex(work, Total, tile=1, y=y, **fields)
    return ran(graph, pl.Repeat(3, pl.Execute(work)))


def uneven() -> Report:
    """One tile works longer than others in the first set, another one in the second."""
    graph = pl.Graph(pl.Target(tiles=4))
    sets = []
    for slow in (0, 3):
        work = graph.add_compute_set("work")
        for tile in range(4):
            size = 800 if tile == slow else 100
            x = graph.add_variable(pl.FLOAT, (size,), mapping=tile, initial_value=1)
            graph.add_vertex(work, Work, tile=tile, x=x)
        sets.append(pl.Execute(work))
    return ran(graph, pl.Repeat(3, pl.Sequence(*sets)))


def ran(graph: pl.Graph, program: pl.program.Program) -> Report:
    engine = pl.Engine(graph, program)
    engine.run()
    return engine.report()


def example(name: str) -> Callable[[], Report]:
    return lambda: load(f"{EXAMPLES / name}.py:build").report


PROGRAMS: dict[str, Callable[[], Report]] = {
    "fields put together": lambda: five_fields(stays=True),
    "fields from elsewhere": lambda: five_fields(stays=False),
    "uneven": uneven,
    "matvec": example("matvec"),
    "bfs": example("bfs"),
    "heat": example("heat"),
    "multigrid": example("multigrid"),
}


SHOWN = thinned(PROGRAMS, keep=["fields put together", "fields from elsewhere", "uneven", "matvec"])


@cache
def report_of(name: str) -> Report:
    return PROGRAMS[name]()


KIND = {"waiting": "compute", "idle workers": "compute", "copied on its tile": "copy"}


def parts(report: Report, finding: Finding) -> Iterator[tuple[ExecutionStep, Phase]]:
    """Yield the phases that a finding is of."""
    for number in finding.steps:
        step = report.shown.steps[number]
        for phase in step.phases:
            if phase.kind == KIND.get(finding.kind, finding.kind):
                yield step, phase


def of_cause(finding: Finding, step: ExecutionStep, phase: Phase) -> tuple[int, int]:
    """Return the bytes of a finding's cause, and of all causes, over all executions."""
    own = sum(
        each.bytes
        for each in phase.causes
        if (each.what, each.why, each.at or step.at) == (finding.what, finding.why, finding.at)
    )
    return own * step.executions, sum(each.bytes for each in phase.causes) * step.executions


@pytest.mark.parametrize("name", SHOWN)
def test_findings_say_what_the_report_says(name: str) -> None:
    report = report_of(name)
    whole = report.shown.cycles
    assert whole
    for finding in report.insights.findings:
        if finding.kind == "guessed":
            continue
        text, found = finding.text, list(parts(report, finding))
        assert text.startswith(
            f"{finding.kind}: {finding.cycles:,} cycles ({100 * finding.cycles / whole:.1f}%)"
        )
        others = len(set(finding.steps)) - 1
        assert (f"and {others:,} other step" in text) == (others > 0)
        assert set(finding.names) == {report.shown.steps[n].name for n in finding.steps}
        lines = {step.at for step, _ in found} | {c.at for _, p in found for c in p.causes}
        assert finding.at in lines
        if finding.kind == "waiting":
            check_waiting(finding, found)
        elif finding.kind == "idle workers":
            busy = sum(phase.tile_cycles.total / phase.tile_cycles.num_used for _, phase in found)
            issued = sum(
                sum(each.cycles for each in step.vertex_types) / phase.tile_cycles.num_used
                for step, phase in found
            )
            assert f"{100 * (1 - issued / busy):.1f}% of the time of workers" in text
            assert finding.cycles == pytest.approx(busy - issued, abs=1)
        else:
            check_moved(finding, found)


def check_waiting(finding: Finding, found: list[tuple[ExecutionStep, Phase]]) -> None:
    mean = sum(phase.tile_cycles.mean for _, phase in found)
    slowest = {phase.tile_cycles.worst_tile for _, phase in found}
    of = sum(phase.cycles for _, phase in found)
    assert f"as tiles have {100 * mean / of:.1f}% of its work on average" in finding.text
    assert finding.cycles <= of - mean + 1
    if len(slowest) == 1:
        assert f"for tile {slowest.pop()}, " in finding.text
    else:
        assert "for the slowest of each, " in finding.text


def check_moved(finding: Finding, found: list[tuple[ExecutionStep, Phase]]) -> None:
    expected = 0
    for step, phase in found:
        total = max(phase.received.total, phase.sent.total, phase.copied.total)
        own, every = of_cause(finding, step, phase)
        if finding.kind == "copied on its tile":
            assert every == total  # all causes are there
        expected += round(total * own / every)
    assert finding.bytes == expected
    assert f" for {expected:,} B in " in finding.text
    assert finding.tiles == max(phase.tile_cycles.num_used for _, phase in found)
    assert finding.cycles <= sum(phase.cycles for _, phase in found)
    assert f": {finding.what} {finding.why}" in finding.text


def test_what_is_planted_is_said() -> None:
    copied = report_of("fields put together").insights.findings
    bytes_of = {each.what: each.bytes for each in copied if each.kind == "copied on its tile"}
    assert bytes_of == {
        "field 'e' of Total": 3 * 160,
        "field 'd' of Total": 3 * 128,
        "field 'c' of Total": 3 * 96,
        "each of 2 other fields": 3 * (64 + 32),
    }
    moved = report_of("fields from elsewhere").insights.findings
    bytes_of = {each.what: each.bytes for each in moved if each.kind == "exchange"}
    assert bytes_of["field 'e' of Total"] == 3 * 160
    assert bytes_of["each of 2 other fields"] == 3 * (64 + 32)
    (waiting,) = [e for e in report_of("uneven").insights.findings if e.kind == "waiting"]
    assert (waiting.tile, len(waiting.steps)) == (None, 2)
    assert "and 1 other step for the slowest of each, as tiles have " in waiting.text


@pytest.mark.parametrize("name", SHOWN)
def test_the_worst_tiles_are_those_of_the_report(name: str) -> None:
    report = report_of(name)
    busy = np.zeros(report.tiles, np.int64)
    for step in report.shown.steps:
        for phase in step.phases:
            busy += phase.tile_cycles.array() if phase.kind == "compute" else 0
    assert report.insights.busiest is not None
    assert report.insights.busiest.tile == int(busy.argmax())
    assert (report.insights.busiest.most, report.insights.busiest.mean) == (busy.max(), busy.mean())
    needed = report.compilation.memory.including_gaps.array()
    assert report.insights.fullest is not None
    assert report.insights.fullest.tile == int(needed.argmax())
    assert report.insights.fullest.most == needed.max()


@pytest.mark.parametrize("name", SHOWN)
def test_operations_add_up_to_the_report(name: str) -> None:
    report = report_of(name)
    tree = scope_tree(report, depth=99)
    steps = report.shown.steps
    received = sum(phase.received.total for step in steps for phase in step.phases)
    assert (tree.whole.steps, tree.whole.cycles) == (len(steps), report.shown.cycles)
    assert tree.whole.received == received
    assert re.match(
        rf"operations: {len(steps):,} steps?, {report.shown.cycles:,} cycles", tree.heading
    )

    def adds_up(scope: Scope) -> None:
        if scope.inside:
            for number in ("steps", "cycles", "received"):
                total = sum(getattr(each, number) for each in scope.inside)
                assert total <= getattr(scope, number)
                if not scope.name or all(each.steps for each in scope.inside):
                    assert total == getattr(scope, number)
        assert scope.share == pytest.approx(scope.cycles / (report.shown.cycles or 1))
        for each in scope.inside:
            adds_up(each)

    adds_up(tree.whole)
    for operation in report.shown.operations():
        own = [step for step in steps if step.operation == operation.name]
        assert operation.cycles == sum(step.cycles for step in own)
        assert operation.steps == len(own)


@pytest.mark.parametrize(
    ("before", "after"),
    thinned(
        [("matvec", "uneven"), ("uneven", "uneven"), ("multigrid", "bfs"), ("heat", "matvec")],
        keep=[("matvec", "uneven"), ("uneven", "uneven")],
    ),
)
def test_what_changed_is_the_difference_of_the_reports(before: str, after: str) -> None:
    one, other = report_of(before), report_of(after)
    found = one.diff(other)
    totals = {each.name: (each.before, each.after) for each in found.totals}
    assert totals["cycles"] == (one.shown.cycles, other.shown.cycles)
    sizes = [each.compilation.memory.including_gaps for each in (one, other)]
    assert totals["fullest tile, B"] == tuple(each.most for each in sizes)
    assert totals["all tiles, B"] == tuple(each.total for each in sizes)
    cycles = [Counter[str](), Counter[str]()]
    for count, report in zip(cycles, (one, other), strict=True):
        for step in report.shown.steps:
            count[step.name] += step.cycles
    assert {each.name: (each.before, each.after) for each in found.steps} == {
        name: (cycles[0][name], cycles[1][name]) for name in cycles[0] | cycles[1]
    }
    for each in found.phases:
        for report, said in ((one, each.before), (other, each.after)):
            expected = report.shown.sync_cycles
            if each.name != "sync":
                expected = round(dict(report.shown.phase_cycles())[each.name])  # type: ignore[index]
            assert said == expected
    assert (found.note() == "") == (one.is_run == other.is_run)
    if before == after:
        assert not any(found.sections().values())
