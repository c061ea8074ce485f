"""Planted faults are the findings, and doing what these say saves what they promise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from html import unescape
from itertools import combinations

import numpy as np
import pytest

import poplite as pl
from helpers import planted
from helpers.depth import thinned
from helpers.planted import FAULTS, Planted
from helpers.view_page import ViewPage
from poplite import ops
from poplite.report import Report
from poplite.report.findings import Finding
from poplite.viz.summary import overview_of

ALL = Planted(frozenset(FAULTS))
SMALL = Planted(
    frozenset(FAULTS), tiles=320, steps=40, length=64, tile=150, places=290, table=560, seed=7
)


def drawn(seed: int) -> Planted:
    """Return a program with two faults, whose kinds, places and sizes are drawn."""
    random = np.random.default_rng(seed)
    tiles = int(random.integers(280, 400))
    pairs = list(combinations(FAULTS, 2))
    return Planted(
        frozenset(pairs[int(random.integers(len(pairs)))]),
        tiles=tiles,
        steps=int(random.integers(38, 42)),
        length=int(random.integers(62, 66)),
        tile=int(random.integers(tiles)),
        extra=int(random.integers(18, 36)),
        places=int(random.integers(7 * tiles // 10, 95 * tiles // 100)),
        table=2 * int(random.integers(85_000, 100_000) // tiles),
        seed=seed,
    )


PLANS = {
    "all five": ALL,
    "all five, on fewer tiles": SMALL,
    **{f"two, seed {seed}": drawn(seed) for seed in range(6)},
}

SHOWN = thinned(PLANS, keep=[name for name in PLANS if name != "all five"])

report_of = cache(Planted.report)


def fault_of(finding: Finding) -> str:
    """Return the fault that a finding is of, by its kind and what it moves."""
    of_kind = [name for name, kind in FAULTS.items() if kind == finding.kind]
    if len(of_kind) == 1:
        return of_kind[0]
    return (
        "gathered"
        if finding.tiles < finding.of_tiles / 2 or finding.bytes < 10_000
        else "all-to-all"
    )


@pytest.mark.parametrize("name", SHOWN)
def test_the_findings_are_the_faults(name: str) -> None:
    """Memory is first, the others are in the order of their costs."""
    plan = PLANS[name]
    found = report_of(plan).insights.findings
    assert {fault_of(each) for each in found} == plan.faults
    assert len(found) == len(plan.faults)
    costs = [float("inf") if each.kind == "out of memory" else each.cycles for each in found]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("name", SHOWN)
def test_each_finding_leads_to_its_tile_its_step_and_its_line(name: str) -> None:
    plan = PLANS[name]
    report, source = report_of(plan), inspect.getsource(planted)
    for finding in report.insights.findings:
        fault = fault_of(finding)
        if fault in ("memory", "overloaded"):
            assert finding.tile == plan.tile
            assert f"tile {plan.tile:,}" in finding.text
        if fault == "gathered":
            assert report.shown.steps[finding.steps[0]].bytes_received[plan.tile] == finding.bytes
            assert f"in {plan.places:,} pieces" in finding.text
        if fault != "memory":
            assert finding.names == (f"layer {plan.at[fault]}",)
            assert [report.shown.steps[n].name for n in finding.steps] == list(finding.names)
        line = re.search(PLACES[fault], source, re.M)
        assert line is not None
        number = source.count("\n", 0, line.start()) + 1
        assert f"planted.py:{number} in" in finding.text


PLACES = {
    "memory": r'^ .*"table", initial_value',
    "overloaded": r"^ +self.graph.add_vertex\(step, Work, tile=plan.tile",
    "idle": r"^ +self.graph.add_vertices\(step, Work",
    "all-to-all": r"^ +self.graph.add_vertices\(step, Read, tile=self.all",
    "gathered": r"^ +self.graph.add_vertex\(step, Read, tile=plan.tile",
}
"""The line of each fault in `helpers.planted`."""


@pytest.mark.parametrize("name", SHOWN)
def test_doing_what_a_finding_says_saves_what_it_promises(name: str) -> None:
    """Cycles within a third; bytes exactly."""
    plan = PLANS[name]
    before = report_of(plan)
    for finding in before.insights.findings:
        after = plan.report([fault_of(finding)])
        assert finding.remedy in finding.text
        if finding.kind == "out of memory":
            sizes = [each.compilation.memory.including_gaps for each in (before, after)]
            assert (
                finding.bytes == sizes[0][plan.tile] - before.compilation.target.tile_memory_bytes
            )
            assert finding.freed == sizes[0][plan.tile] - sizes[1][plan.tile]
            assert f"frees {finding.freed:,} B there" in finding.text
            assert before.diff(after).note().endswith("after fits")
            continue
        gain = (before.execution.cycles or 0) - (after.execution.cycles or 0)
        assert finding.cycles == pytest.approx(gain, rel=1 / 3)
        if finding.kind == "exchange":
            moved = [sum(s.bytes_received.sum() for s in e.shown.steps) for e in (before, after)]
            assert finding.bytes == moved[0] - moved[1]


@pytest.mark.parametrize("name", SHOWN)
def test_without_its_faults_a_program_has_no_finding(name: str) -> None:
    plan = PLANS[name]
    assert plan.report(plan.faults).insights.findings == ()


def test_exchange_code_that_fills_a_tile_is_that_of_a_step() -> None:
    small = Planted(frozenset(["all-to-all"]), tiles=320, steps=40, length=64, memory=10_000)
    report = small.report()
    first = report.insights.findings[0]
    assert (first.kind, first.names) == ("out of memory", ("internal exchange code",))
    name = f"layer {small.at['all-to-all']}"
    step = report.shown.steps[first.steps[0]]
    assert step.name == name
    code = max(phase.code_bytes for phase in step.phases)
    assert f"longer pieces in '{name}', which has up to {code:,} B of it" in first.text
    (held,) = (e for e in report.compilation.memory.held if e.category == "internal_exchange_code")
    assert held.bytes.most == sum(
        max(phase.code_bytes for phase in each.phases) for each in report.shown.steps
    )
    assert first.at == step.at


def test_every_surface_has_the_findings_with_their_remedies() -> None:
    report = report_of(SMALL)
    text, page = str(report), ViewPage(report.to_html())
    for finding, shown in zip(report.insights.findings, page.reports[0]["findings"], strict=True):
        assert finding.text in text
        assert finding.remedy in shown["sentence"]
    drawn = re.sub(r"(<[^>]*>|\s)+", " ", overview_of(report).svg())
    for finding in report.insights.findings:
        assert finding.remedy in unescape(drawn)


class Mean(pl.Vertex):
    """The mean of each cell's neighbours above, below and to the right, and of itself."""

    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.y)):
            for i in range(len(self.y[r])):
                beside = self.x[r + 1][i] + self.x[r + 1][i + 1]
                self.y[r][i] = 0.25 * (self.x[r][i] + self.x[r + 2][i] + beside)


def stencil() -> Report:
    """Whole rows on each tile, as many for each worker; two rows of neighbours are exchanged."""
    tiles, rows, cols = 16, 16 * 6 * 8, 128
    graph = pl.Graph(pl.Target(tiles=tiles))
    a, b = (graph.add_variable(pl.FLOAT, (rows + 2, cols), n, initial_value=1) for n in "ab")
    steps = []
    for x, y in ((a, b), (b, a)):
        pl.map_blocks(graph, x, (tiles, 1))
        step = graph.add_compute_set(f"{x.name} to {y.name}")
        for tile, own, around in pl.halo_blocks(x.shape, (tiles, 1), workers=6):
            graph.add_vertex(step, Mean, tile=tile, x=x[around[0]], y=y[own[0]][:, : cols - 1])
        steps.append(pl.Execute(step))
    engine = pl.Engine(graph, pl.Repeat(50, pl.Sequence(*steps)), checks="fast")
    engine.run()
    return engine.report()


def product() -> Report:
    """A product in the layout of its plan."""
    graph, program = pl.Graph(pl.Target(tiles=16)), pl.Sequence()
    plan = ops.plan_matmul(graph, m=6144, k=64, n=64)
    a, b = plan.create_left("a"), plan.create_right("b")
    ops.map(ops.matmul(a, b, plan=plan), program=program)
    engine = pl.Engine(graph, program, checks="fast")
    for operand in (a, b):
        engine.write(operand, np.ones(operand.shape, np.float32))
    engine.run()
    return engine.report()


@pytest.mark.parametrize("make", [stencil, product])
def test_a_program_without_faults_has_no_finding_above_three_percent(
    make: Callable[[], Report],
) -> None:
    assert all(each.share < 0.03 for each in make().insights.findings)
