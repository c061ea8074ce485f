"""The overview of a report: its bars are all cycles and all bytes."""

from __future__ import annotations

import re
from dataclasses import replace

import poplite as pl
from helpers.random_reports import random_report
from poplite.viz.overview import draw_overview_svg, overview_of


def copied(runs: int) -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(a.reverse(0), b)), checks="fast")
    for _ in range(runs):
        engine.run()
    return engine.report()


def test_parts_add_up_to_all_cycles_and_to_what_the_fullest_tile_needs() -> None:
    report = copied(runs=2)
    shown = overview_of(report)
    assert sum(part.size for part in shown.time) == report.cycles
    used = report.compilation.memory.including_gaps
    assert shown.tile == used.worst_tile
    assert sum(part.size for part in shown.memory) == used.most


def test_what_has_not_run_is_shown_as_one_run() -> None:
    planned, ran = (overview_of(copied(runs=runs)) for runs in range(2))
    assert replace(planned, note="") == ran
    assert planned.note == "as compiled, of one run"
    assert ">as compiled, of one run</text>" in draw_overview_svg(planned)


def test_findings_stand_with_their_share_and_line() -> None:
    report = copied(runs=1)
    first, *_ = report.insights.findings
    picture = draw_overview_svg(overview_of(report))
    assert f"{100 * first.share:.1f}%" in picture
    words = " ".join(re.findall(r">([^<]+)</text>", picture)).replace("    ", "")
    assert first.kind in words
    assert "test_overview.py" in words


def test_it_is_small_on_a_large_machine() -> None:
    assert len(random_report(1472, 20, 0)._repr_html_()) < 100_000
