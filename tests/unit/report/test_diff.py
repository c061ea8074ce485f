"""Differences of reports: parts of time, steps of one name at several lines, what fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

import poplite as pl
from poplite.report import Report
from poplite.report.diff import Change, ReportDiff
from poplite.viz.compare import Comparison, outcomes, parsed

HALF = 42 * 9.6 / 2
"""Pixels of the longest bar, to one side."""


class Square(pl.Vertex):
    """Takes as long as its field is."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * self.x[i]


def ran(lengths: Sequence[Sequence[int]], *, memory: int = 600_000) -> Report:
    """Return the report of two steps of one name, of which the second squares these lengths."""
    graph = pl.Graph(pl.Target(tiles=len(lengths), tile_memory_bytes=memory))
    x = graph.add_variable(pl.FLOAT, (len(lengths) * 10,), "x", mapping="linear", initial_value=1)
    first = graph.add_compute_set("step")
    for tile in range(len(lengths)):
        graph.add_vertex(first, Square, tile=tile, x=x[10 * tile :][:10])
    second = graph.add_compute_set("step")
    for tile, own in enumerate(lengths):
        for length in own:
            y = graph.add_variable(pl.FLOAT, (length,), mapping=tile, initial_value=1.0)
            graph.add_vertex(second, Square, tile=tile, x=y)
    program = pl.Sequence(pl.Execute(first), pl.Execute(second))
    allowed = {"debug.allowOutOfMemory": True}
    engine = pl.Engine(graph, program, checks="fast", options=allowed)
    engine.run()
    return engine.report()


UNEVEN, EVEN = [[900], *[[90] * 6] * 3], [[105] * 6] * 4


def test_waiting_and_idle_workers_are_parts_of_time() -> None:
    before, after = ran(UNEVEN), ran(EVEN)
    phases = {each.name: each for each in before.diff(after).phases}
    for name in ("waiting", "idle workers", "work", "sync"):
        spent = [dict(report.shown.time_parts())[name] for report in (before, after)]
        assert [phases[name].before, phases[name].after] == [round(each) for each in spent]
    assert phases["waiting"].change < -1_000
    totals = {each.name: each for each in before.diff(after).totals}
    changed = sum(each.change for each in phases.values())
    assert changed == pytest.approx(totals["cycles"].change, abs=len(phases))


def test_waiting_and_idle_workers_are_checked() -> None:
    before, after = ran(EVEN), ran(UNEVEN)
    checks = [parsed(f"{name}>+5%") for name in ("waiting", "idle workers", "work")]
    assert [each.failed for each in outcomes(before, after, checks)] == [True, True, False]
    assert not any(each.failed for each in outcomes(before, before, checks))


def copied(*lengths: int) -> Report:
    """Return the report of two Copies between the same variables, made at two lines."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4_000,), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (4_000,), "y", mapping=1)
    copies = [pl.Copy(x[: lengths[0]], y[: lengths[0]])]
    copies += [pl.Copy(x[:length], y[:length]) for length in lengths[1:]]
    engine = pl.Engine(graph, pl.Sequence(*copies))
    engine.run()
    return engine.report()


def test_steps_of_one_name_are_matched_by_line() -> None:
    before, after = copied(100, 1_000), copied(100, 4_000)
    cycles = [[step.cycles for step in report.shown.steps] for report in (before, after)]
    large, small = before.diff(after).steps
    found = [(each.before, each.after) for each in (small, large)]
    assert found == list(zip(*cycles, strict=True))
    assert small.change == 0 < large.change
    names = [
        re.fullmatch(r"x to y \(test_diff.py:(\d+) in .*\)", each.name) for each in (small, large)
    ]
    lines = [int(name[1]) for name in names if name]
    assert lines[0] + 1 == lines[1]
    ((one,), (other,)) = (report.diff(report).steps for report in (copied(100), copied(4_000)))
    assert (one.name, other.name) == ("x to y", "x to y")


def test_whether_it_fits_is_told() -> None:
    small, large = ran(EVEN), ran(EVEN, memory=4_000)
    note = small.diff(large).note()
    assert note == "before fits, after does not fit: 4 tiles over 4,000 B"
    assert large.diff(small).note(("a", "b")) == ("a does not fit: 4 tiles over 4,000 B, b fits")
    assert f"! {note}" in str(small.diff(large))
    assert f"! {note}" in drawn(small.diff(large))
    assert small.diff(small).note() == large.diff(large).note() == ""


def drawn(diff: ReportDiff) -> str:
    return Comparison(("before", "after"), diff).svg()


def test_bars_of_all_sections_have_one_scale() -> None:
    totals = Change("cycles", 20_000, 1_412), Change("all tiles, B", 7_000_000, 6_300_000)
    steps, memory = (Change("slow", 18_601, 0), Change("blur", 200, 213)), Change("x", 700_000, 0)
    diff = ReportDiff(totals, steps, (Change("work", 90, 103),), (memory,))
    picture = drawn(diff)
    bars = re.findall(
        r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="14"[^>]*><title>', picture
    )
    wide = [float(bar) for bar in bars]
    assert wide == pytest.approx(
        [
            HALF,
            HALF * 13 / 18_601,
            HALF * 13 / 18_601,
            HALF * 700_000 / 7_000_000 * 20_000 / 18_601,
        ],
        abs=0.1,
    )
