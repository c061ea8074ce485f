"""Checks of what changed, and the forms of a comparison."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

import poplite as pl
from poplite.viz.compare.checks import Check, CheckOutcome, numbers_of, outcomes, parsed
from poplite.viz.compare.forms import (
    Comparison,
    comparison_html,
    comparison_json,
    comparison_markdown,
    comparison_svg,
    comparison_text,
)
from poplite.viz.draw.terminal import Style


def report_of(times: int, name: str = "b", *, modelled: bool = True) -> pl.Report:
    """The report of a copy that runs so often."""
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (
        graph.add_variable(pl.INT, (64,), each, mapping=tile, initial_value=1)
        for each, tile in (("a", 0), (name, 2))
    )
    engine = pl.Engine(
        graph, pl.Repeat(times, pl.Copy(a, b)), options={"debug.instrument": modelled}
    )
    engine.run()
    return engine.report()


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("cycles>+5%", Check("cycles>+5%", "cycles", True, "percent", 5)),
        ("cycles > -5 %", Check("cycles > -5 %", "cycles", True, "percent", -5)),
        ("fullest>600000", Check("fullest>600000", "fullest", True, "value", 600_000)),
        ("bytes<+1_000", Check("bytes<+1_000", "bytes", False, "change", 1000)),
        ("balance<80%", Check("balance<80%", "balance", False, "value", 80)),
        ("step:a > b>+1,000", Check("step:a > b>+1,000", "step:a > b", True, "change", 1000)),
        (
            "global exchange>0.5",
            Check("global exchange>0.5", "global exchange", True, "value", 0.5),
        ),
    ],
)
def test_checks_are_read(text: str, check: Check) -> None:
    assert parsed(text) == check


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cycles",
        "cycles>",
        ">5",
        "cycles=5",
        "cycles>five",
        "cycles>5x",
        "cycles>>",
        "cycles>+-5",
    ],
)
def test_what_is_no_check_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME>AMOUNT"):
        parsed(text)


def test_percent_needs_a_sign() -> None:
    with pytest.raises(ValueError, match=r"percent of what\? Write cycles>\+"):
        parsed("cycles>5%")


@pytest.mark.parametrize(
    ("text", "before", "after", "fails"),
    [
        ("x>+5%", 100, 105, False),
        ("x>+5%", 100, 106, True),
        ("x>-5%", 100, 96, True),
        ("x<-5%", 100, 95, False),
        ("x<-5%", 100, 94, True),
        ("x>+10", 100, 110, False),
        ("x>+10", 100, 111, True),
        ("x<-10", 100, 89, True),
        ("x>50", 100, 50, False),
        ("x>50", 0, 51, True),
        ("x<50", 0, 49, True),
        ("x>+5%", 0, 0, False),
        ("x>+5%", 0, 1, True),
    ],
)
def test_a_check_fails_beyond_its_amount(text: str, before: int, after: int, fails: bool) -> None:
    assert parsed(text).fails(before, after) is fails


def test_numbers_are_those_of_the_report() -> None:
    report = report_of(3)
    numbers, memory = numbers_of(report), report.compilation.memory
    execution = report.execution
    assert numbers["cycles"] == numbers["step:a to b"] == report.cycles
    assert numbers["fullest"] == memory.including_gaps.most
    assert numbers["bytes"] == memory.including_gaps.total
    assert numbers["sync"] == execution.sync_cycles
    assert numbers["exchange"] == execution.phase_cycles()["exchange"] > 0
    assert numbers["balance"] == 100 * execution.tile_cycles.mean() / execution.tile_cycles.max()
    assert numbers["kind:variable"] == 2 * 64 * 4


def test_what_is_missing_on_one_side_fails() -> None:
    checks = [parsed("step:a to b>+5%"), parsed("step:a to c<0"), parsed("cycles>+5%")]
    here, there = report_of(1), report_of(1, "c")
    found = outcomes(here, there, checks)
    assert [each.failed for each in found] == [True, True, False]
    names = "base.json", "pr.json"
    assert found[0].text(names) == (
        f"FAILED  step:a to b>+5%: {here.cycles:,} -> none (not in pr.json)"
    )
    assert found[1].text(names).endswith("(not in base.json)")
    assert found[2].text(names) == f"passed  cycles>+5%: {here.cycles:,} -> {there.cycles:,}"
    unmodelled = report_of(1, modelled=False)
    for report in (here, unmodelled):
        (outcome,) = outcomes(report, unmodelled, [parsed("cycles>+5%")])
        assert outcome.failed


def test_unknown_names_are_refused_with_the_nearest() -> None:
    report = report_of(1)
    for wrong, nearest in (("cycle", "cycles"), ("step:a too b", "step:a to b")):
        with pytest.raises(pl.UnknownName, match=f"did you mean '{nearest}'"):
            outcomes(report, report, [parsed(f"{wrong}>+5%")])


def compared(top: int = 20) -> Comparison:
    """A comparison with names that mean something in Markdown and HTML."""
    before, after = report_of(1), report_of(30, "<script>|*b*\n")
    checks = outcomes(before, after, [parsed("cycles>+5%"), parsed("bytes>+90%")])
    return Comparison(("a|b.json", "<b>.json"), before.diff(after), tuple(checks), top)


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_fits_its_columns(width: int) -> None:
    for ascii_only in (False, True):
        text = comparison_text(compared(), Style(width=width, ascii_only=ascii_only))
        assert max(map(len, text.splitlines())) <= max(width, 60)
        assert text.isascii() or not ascii_only
    assert "×30" in comparison_text(compared())
    assert "FAILED  cycles>+5%: " in text


def test_markdown_is_one_table_and_the_checks() -> None:
    lines = comparison_markdown(compared()).splitlines()
    assert lines[0] == r"| | a\|b.json | &lt;b&gt;.json | change | |"
    rows = [line for line in lines if line.startswith("|")]
    cells = [line.replace(r"\|", "").count("|") for line in rows]
    assert set(cells) == {6, 3}
    assert r"| a to &lt;script&gt;\|\*b\*\\n | 0 |" in "\n".join(lines)
    assert sum("**FAILED**" in line for line in lines) == 1
    assert "| ... 1 more | | | | |" in comparison_markdown(compared(top=1)).splitlines()


def test_pages_escape_names_and_keep_all_numbers() -> None:
    page = comparison_html(compared(), "poplite-viz diff a b")
    assert "<script>|" not in page
    assert "&lt;script&gt;|*b*\\n" in page
    data = json.loads(comparison_json(compared(top=1)))
    assert {each["name"] for each in data["steps"]} == {"a to b", "a to <script>|*b*\n"}
    assert [each["failed"] for each in data["checks"]] == [True, False]
    picture = comparison_svg(compared())
    ET.fromstring(picture)
    assert all(name in picture for name in ("a|b.json", "&lt;b&gt;.json", "FAILED"))


def test_no_change_is_drawn() -> None:
    report = report_of(1)
    same = Comparison(("a", "b"), report.diff(report))
    assert "no change" in comparison_html(same, "")
    assert comparison_text(same).count("no change") == 3
    assert comparison_markdown(same).count("\n| **") == 1
    assert (
        CheckOutcome(parsed("x>1"), 1.5, None).text(("a", "b"))
        == "FAILED  x>1: 1.5 -> none (not in b)"
    )
