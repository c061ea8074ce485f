"""Pages: of one picture, of a report, and of a comparison with its checks."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.random_reports import MARKUP, random_report
from helpers.view_page import ViewPage
from poplite import FLOAT, Target
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.viz import tensor_html, tiles_html
from poplite.viz.colours import OVER_LIMIT
from poplite.viz.compare import Check, CheckOutcome, Comparison, numbers_of, outcomes, parsed
from poplite.viz.draw.words import Style
from poplite.viz.page import document, report_page
from poplite.viz.paint_html import escaped

# -- one picture -----------------------------------------------------------------------------------


NAMES = [
    "a<b>\"c\"'d'&e",
    "</script><script>alert(1)</script>",
    "</pre></style></title>",
    "two\nlines\x00\x1b[31m",
    "\ud800 alone",
    "<!-- a ]]> b",
]


class Reader(HTMLParser):
    """Reads a page: every element is closed, in order; text and data are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: dict[str, str] = {}
        self.links: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.text[inside] = self.text.get(inside, "") + data


def embedded(page: str) -> dict[str, object]:
    """The JSON of a page."""
    found = re.findall(r'<script type="application/json" id="data">\n(.*?)</script>', page, re.S)
    assert len(found) == 1
    data: dict[str, object] = json.loads(found[0])
    return data


def variable(name: str = "x", tiles: int = 4) -> Tensor:
    return Graph(Target(tiles=tiles)).add_variable(FLOAT, (8, 6), name, mapping="linear")


@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_break_a_page(name: str) -> None:
    x = variable(name)
    pages = tensor_html(x), tensor_html(x, "1:3"), tiles_html(x.graph, [name])
    for page in pages:
        tags = Reader(page).tags
        assert page.encode()
        assert "\x00" not in page
        assert "\x1b" not in page
        assert tags.count("script") == 2
        assert not {"b", "pre"} & set(tags[: tags.index("details")])
    assert embedded(pages[0])["name"] == name


def test_a_page_needs_nothing_else() -> None:
    page = tensor_html(variable())
    assert Reader(page).links == []
    assert not re.search(r"@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", page)


def test_a_page_says_what_it_shows() -> None:
    x = variable("head/bias")
    page = Reader(tensor_html(x, "2:4"))
    assert page.text["title"].startswith("Tiles of a tensor: 'head/bias' float32[8, 6]")
    assert "[2:4]: shape [2, 6], 12 elements on 1 tile (1)" in page.text["td"]
    assert "Rest the pointer" in page.text["p"]
    assert "'head/bias' float32[8, 6]\non 4 tiles (0-3), 192 B" in page.text["pre"]


def test_every_used_tile_has_a_row_with_its_share() -> None:
    graph = Graph(Target(tiles=4, tile_memory_bytes=3300))
    graph.add_variable(FLOAT, (20,), "x", mapping=1)
    graph.add_variable(FLOAT, (40,), "y", mapping=3)
    page = tiles_html(graph)
    assert "<tr><td>1</td><td>20</td><td>80</td><td>3,248</td><td>98.4%</td></tr>" in page
    assert "<tr><td>3</td><td>40</td><td>160</td><td>3,328</td><td>100.8% !</td></tr>" in page
    assert "<details open><summary>Numbers of 4 used tiles</summary>" in page
    assert "<td>1 tile over its 3,300 B (3)</td>" in page
    assert "most 3,328 B (tile 3), least 3,168 B (tile 0)" in page
    page = tiles_html(graph, ["x"])
    assert "<tr><td>1</td><td>20</td><td>80</td><td>2.4%</td></tr>" in page
    assert "<details open><summary>Numbers of 1 used tile</summary>" in page


def test_intervals_are_listed_up_to_four() -> None:
    x = Graph(Target(tiles=2)).add_variable(FLOAT, (40,), "x")
    for start in range(0, 32, 4):
        x.graph.set_tile_mapping(x[start : start + 2], 1)
    page = tensor_html(x)
    listed = " ".join(f"[{start}, {start + 2})" for start in range(0, 16, 4))
    assert f"<td>1</td><td>16</td><td>64 B</td><td>{listed} and 4 more</td>" in page
    assert "<td>none</td><td>24</td><td>96 B</td>" in page


def test_data_is_that_of_the_graph() -> None:
    x = variable()
    data = embedded(tiles_html(x.graph))
    assert (data["poplite"], data["version"]) == ("tiles", 1)
    assert data["elements"] == x.graph.tile_mapping(x).elements_per_tile.tolist()
    assert data["size_bytes"] == (4 * x.graph.tile_mapping(x).elements_per_tile).tolist()
    x = Graph(Target(tiles=2)).add_variable(FLOAT, (8,), "x")
    x.graph.set_tile_mapping(x[2:5], 1)
    data = embedded(tensor_html(x, "1:7:3"))
    assert (data["begin"], data["length"], data["tile"]) == ([0, 2, 5], [2, 3, 3], [None, 1, None])
    assert data["view"] == {"index": "1:7:3", "shape": [2], "begin": [1, 4], "length": [1, 1]}


def test_a_long_table_is_cut_and_says_so() -> None:
    graph = Graph(Target(tiles=2038))
    x = graph.add_variable(FLOAT, (2038,), "x")
    start, tiles = np.arange(2038), np.random.default_rng(1).permutation(2038)
    graph.variables[0].mapping.paint_many(start, start + 1, tiles)
    page = tensor_html(x)
    assert page.count("<tr><td>") == 2000
    assert "<p>... 38 more; the JSON has all</p>" in page
    assert "<details><summary>intervals of each tile</summary>" in page
    assert embedded(page)["tile"] == tiles.tolist()


def test_data_too_long_for_a_page_is_left_out() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable(FLOAT, (60_000,), "x", mapping=0)
    odd = np.arange(1, 60_000, 2)
    graph.variables[0].mapping.paint_many(odd, odd + 1, np.ones_like(odd))
    page = tensor_html(x)
    assert 'id="data"' not in page
    assert re.search(r"would take 1,\d+,\d+ characters more, .*<code>-o FILE.json</code>", page)
    assert len(page) < 500_000


def test_a_whole_machine_stays_small() -> None:
    graph = Graph()
    x = graph.add_variable(FLOAT, (427, 640, 4), "image", mapping="linear")
    assert graph.target.tiles == 1472
    assert len(tiles_html(graph).encode()) < 500_000
    assert len(tensor_html(x).encode()) < 500_000


def test_pictures_of_nothing() -> None:
    graph = Graph(Target(tiles=3))
    empty = graph.add_variable(FLOAT, (0, 4), "empty")
    for page in (tiles_html(graph, ["empty"]), tensor_html(empty)):
        assert "Numbers of" not in page
        Reader(page)
    unmapped = graph.add_variable(FLOAT, (4,), "lost")
    assert "4 elements have no tile" in Reader(tiles_html(graph)).text["td"]
    assert "on no tile, 16 B" in Reader(tensor_html(unmapped)).text["td"]


def test_equal_input_gives_equal_bytes() -> None:
    assert tensor_html(variable(), "2:4") == tensor_html(variable(), np.s_[2:4])
    assert tiles_html(variable().graph) == tiles_html(variable().graph)


def test_hatching_is_found_in_its_own_picture() -> None:
    pages = [tensor_html(Graph().add_variable(FLOAT, (n,), "x")) for n in (4, 5)]
    ids = [re.findall(r'id="(poplite-[^"]+)"', page) for page in pages]
    used = [re.findall(r"url\(#([^)]+)\)", page) for page in pages]
    assert ids == used
    assert not set(ids[0]) & set(ids[1])


# -- the report page -------------------------------------------------------------------------------


VIEW = Path(document.__file__).parents[1] / "assets" / "view"
CODE = sorted(VIEW.glob("*.js"))

MOST_LINES, MOST_COLUMNS, MOST_IN_ALL = 250, 100, 4_000
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
    assert sum(map(len, lines.values())) <= MOST_IN_ALL
    others = [each.read_text().splitlines() for each in VIEW.parent.iterdir() if each.is_file()]
    wide = [
        line for each in (*lines.values(), *others) for line in each if len(line) > MOST_COLUMNS
    ]
    assert wide == []


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
    assert " ".join(policy[1].split()).split("; ") == [
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


# -- comparisons -----------------------------------------------------------------------------------


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
        text = compared().text(Style(width=width, ascii_only=ascii_only))
        assert max(map(len, text.splitlines())) <= max(width, 60)
        assert text.isascii() or not ascii_only
    assert "×30" in compared().text()
    assert "FAILED  cycles>+5%: " in text


def test_markdown_is_one_table_and_the_checks() -> None:
    lines = compared().markdown().splitlines()
    assert lines[0] == r"| | a\|b.json | &lt;b&gt;.json | change | |"
    rows = [line for line in lines if line.startswith("|")]
    cells = [line.replace(r"\|", "").count("|") for line in rows]
    assert set(cells) == {6, 3}
    assert r"| a to &lt;script&gt;\|\*b\*\\n | 0 |" in "\n".join(lines)
    assert sum("**FAILED**" in line for line in lines) == 1
    assert "| ... 1 more | | | | |" in compared(top=1).markdown().splitlines()


def test_pages_escape_names_and_keep_all_numbers() -> None:
    page = compared().page("poplite-viz diff a b")
    assert "<script>|" not in page
    assert "&lt;script&gt;|*b*\\n" in page
    data = json.loads(compared(top=1).json())
    assert {each["name"] for each in data["steps"]} == {"a to b", "a to <script>|*b*\n"}
    assert [each["failed"] for each in data["checks"]] == [True, False]
    picture = compared().svg()
    ET.fromstring(picture)
    assert all(name in picture for name in ("a|b.json", "&lt;b&gt;.json", "FAILED"))


def test_no_change_is_drawn() -> None:
    report = report_of(1)
    same = Comparison(("a", "b"), report.diff(report))
    assert "no change" in same.page("")
    assert same.text().count("no change") == 3
    assert same.markdown().count("\n| **") == 1
    assert (
        CheckOutcome(parsed("x>1"), 1.5, None).text(("a", "b"))
        == "FAILED  x>1: 1.5 -> none (not in b)"
    )
