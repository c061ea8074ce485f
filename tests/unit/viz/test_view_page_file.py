"""The report page as a file: its code, its size, what it loads, and what it says without code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from helpers.random_reports import MARKUP, random_report
from helpers.view_page import ViewPage
from poplite.viz.draw.colors import OVER_LIMIT
from poplite.viz.draw.html import escaped
from poplite.viz.page import document, report_page

VIEW = Path(document.__file__).parents[1] / "assets" / "view"
CODE = sorted(VIEW.glob("*.js"))

MOST_LINES, MOST_COLUMNS = 250, 110
MOST_CODE = 64_000
"""Bytes of the page's own code, as it stands in a page."""


def small(**options: object) -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    engine = pl.Engine(
        graph, pl.Repeat(3, pl.Copy(a.reverse(0), b)), checks="fast", options=options
    )
    engine.run()
    return engine.report()


def test_files_of_code_are_short_and_all_in_the_page() -> None:
    assert {each.name for each in CODE} == {*document.SCRIPTS, "boot.js"}
    lines = {each.name: each.read_text().splitlines() for each in VIEW.iterdir()}
    assert {name: len(each) for name, each in lines.items() if len(each) > MOST_LINES} == {}
    assert [line for each in lines.values() for line in each if len(line) > MOST_COLUMNS] == []


def test_the_code_takes_little_of_a_page() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    html = report_page(pl.Engine(graph, pl.Sequence()).report())
    text = re.search("<noscript>.*</noscript>", html, re.DOTALL)
    assert text is not None
    assert len(html.encode()) - len(text[0].encode()) < MOST_CODE


def test_nothing_is_loaded() -> None:
    html = small().to_html()
    policy = re.search(r'Content-Security-Policy"\s+content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "script-src 'unsafe-inline'",
        "img-src data: blob:",
    ]
    page = ViewPage(html)
    code = page.text(page.shown["script"])
    for text in (html, code):
        outside = set(re.findall(r"https?://[^\s\"'<)]*", text)) - {"http://www.w3.org/2000/svg"}
        assert outside == set()
        assert not re.search(r"\b(src|href)=|@import|\bfetch\(|XMLHttpRequest|new Worker", text)


def test_without_code_the_page_tells_the_report_as_text() -> None:
    report = small()
    html = report.to_html(title="a < b")
    assert "<title>a &lt; b</title>" in html
    assert f"<noscript><pre>\n{escaped(str(report))}\n</pre></noscript>" in html


def test_names_cannot_leave_their_place() -> None:
    html = random_report(4, 2, 0).to_html(title=MARKUP)
    assert html.count("<script") == 3
    assert ViewPage(html).reports[0]["steps"][0]["name"].endswith(MARKUP)


def test_names_do_not_turn_what_stands_beside_them() -> None:
    report = random_report(4, 2, 0, names="\u202e\n")
    html = report_page(report, before=report)
    assert "\u202e" not in html
    page = ViewPage(html)
    assert page.reports[0]["steps"][0]["name"].endswith(r"\u202e\n")
    assert page.shown["diff"]["steps"][0][0].endswith(r"\u202e\n")


def test_what_has_not_run_is_shown_as_one_run() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(a.reverse(0), b)))
    shown = ViewPage(engine.report().to_html()).reports[0]
    assert (shown["run"], shown["steps"][0]["times"]) == (False, 3)
    engine.write(a, range(64))
    engine.run()
    ran = ViewPage(engine.report().to_html()).reports[0]
    assert (ran["run"], ran["cycles"]) == (True, shown["cycles"])


def test_what_is_not_modelled_has_no_numbers() -> None:
    shown = ViewPage(small(**{"debug.instrument": False}).to_html()).reports[0]
    assert (shown["modelled"], shown["memory"], shown["steps"]) == (False, None, [])


def test_two_reports_share_their_arrays_and_say_what_changed() -> None:
    report = small()
    page = ViewPage(report_page(report, before=report, names=("old", "new")))
    assert page.reports[0] == page.reports[1]
    assert page.shown["names"] == ["old", "new"]
    assert page.shown["diff"]["totals"][0] == ["cycles", report.cycles, report.cycles]


def test_what_would_be_too_large_is_kept_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    report = random_report(1000, 4, 3)
    exact = ViewPage(report.to_html())
    assert (exact.reports[0]["rough"], exact.reports[0]["memory"]["addressed"]) == (0, True)
    step = report.execution.steps[0]
    monkeypatch.setattr(document, "MOST_BLOCK", 150_000)
    rounded = ViewPage(report.to_html())
    assert (rounded.reports[0]["rough"], rounded.reports[0]["memory"]["addressed"]) == (2, False)
    busy = rounded.array(rounded.reports[0]["steps"][0]["phases"][0]["busy"], 1000)
    assert busy == pytest.approx(step.phases[0].tile_cycles.array(), rel=0.005)
    monkeypatch.setattr(document, "MOST_BLOCK", 60_000)
    rough = ViewPage(report.to_html())
    assert (rough.reports[0]["rough"], rough.reports[0]["memory"]["addressed"]) == (3, False)
    busy = rough.array(rough.reports[0]["steps"][0]["phases"][0]["busy"], 1000)
    assert len(busy) == 1000
    assert busy.mean() == pytest.approx(step.phases[0].tile_cycles.mean, rel=0.02)


def test_vermilion_is_for_what_is_over_the_limit() -> None:
    css = (VIEW / "view.css").read_text()
    light = css.partition('data-theme="dark"')[0]
    assert re.findall(rf"(--[\w-]+): {OVER_LIMIT};", light) == ["--over"]
