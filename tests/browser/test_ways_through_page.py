"""Ways through the report page: names, numbers, filters, sorts and keys that readers rely on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import poplite as pl
from helpers.random_reports import random_report
from poplite.tools.viz.load_report import load

if TYPE_CHECKING:
    from playwright.sync_api import Page


pytestmark = pytest.mark.browser

Open = Callable[..., Any]

EXAMPLES = Path(__file__).parents[2] / "examples"


def branches() -> pl.Report:
    """Two programs, not in the order of their names, with a branch that is not taken."""
    graph = pl.Graph(pl.Target(tiles=4))
    a, b, c = (
        graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1) for name in "abc"
    )
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=False)
    branch = pl.If(flag, pl.Copy(a, b), pl.Copy(b, c))
    second = pl.Sequence(pl.WriteUndef(a), pl.Copy(b, a), branch)
    first = pl.Repeat(2, pl.Copy(a.reverse(0), c))
    engine = pl.Engine(graph, {"second": second, "first": first}, checks="fast")
    engine.run("second")
    engine.run("first")
    return engine.report()


def deep(levels: int) -> pl.Report:
    """A program within so many others."""
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "ab")
    program: pl.Program = pl.Copy(a.reverse(0), b)
    for _ in range(levels):
        program = pl.Repeat(1, pl.Sequence(program, pl.Copy(b, a)))
    return pl.Engine(graph, program, checks="fast").report()


@pytest.fixture
def written(tmp_path: Path) -> Callable[[pl.Report], Path]:
    def write(report: pl.Report) -> Path:
        path = tmp_path / "page.html"
        path.write_text(report.to_html())
        return path

    return write


@pytest.fixture(scope="session")
def bfs(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.Report, Path]:
    report = load(f"{EXAMPLES / 'bfs.py'}:build").report
    path = tmp_path_factory.mktemp("pages") / "bfs.html"
    path.write_text(report.to_html())
    return report, path


def view(page: Page) -> str:
    return page.locator("#view").inner_text()


def address(page: Page) -> str:
    return str(page.evaluate("location.href"))


# -- names and numbers -----------------------------------------------------------------------------


def test_steps_have_their_numbers_in_the_program(
    opened: Open, written: Callable[[pl.Report], Path]
) -> None:
    """Those that did not run and those that take nothing have theirs, too."""
    page = opened(written(branches()), "#tab=program").page
    names = [each.strip() for each in page.locator(".tree .leaf .name").all_inner_texts()]
    assert names == [
        "1 WriteUndef 'a'",
        "2 Copy b to a × 1",
        "3 Copy a to b not run",
        "4 Copy b to c × 1",
        "5 Copy a to c × 2",
    ]
    roots = page.locator(".tree > details > summary .name").all_inner_texts()
    assert [each.split()[-1] for each in roots[:1]] == ["second"]
    page.keyboard.press("5")
    rows = page.locator("#view tbody tr td:first-child").all_inner_texts()
    assert rows == ["2", "4", "5"]


def test_a_line_is_a_file_and_a_number(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    """All of it, with the functions, is told where it is pointed at."""
    report, path = bfs
    for tab in ("overview", "steps", "program", "variables", "exchange"):
        page = opened(path, f"#tab={tab}").page
        shown = page.locator("#view .at")
        words = {each.removesuffix("copy").strip() for each in shown.all_text_contents()}
        assert words
        assert all(re.fullmatch(r"\w+\.py:\d+", each) for each in words)
        assert " in " in (shown.first.get_attribute("title") or "")
    assert "in build" not in view(opened(path).page)
    assert any(" in " in each.at for each in report.shown.steps)


def test_no_name_of_a_class_is_a_number(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    page = opened(bfs[1]).page
    names = page.locator("h3:text-is('Cycles by vertex class') + * tbody td:first-child")
    assert names.count() == len(bfs[0].shown.vertex_types())
    assert not [name for name in names.all_inner_texts() if re.search(r"[0-9a-f]{6}", name)]


# -- tables ----------------------------------------------------------------------------------------


def test_a_sort_stays_in_its_tab(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    page = opened(bfs[1], "#tab=steps").page
    page.locator("th button", has_text="cycles").click()
    assert "sort=cycles" in address(page)
    page.keyboard.press("8")
    assert "sort=" not in address(page)
    assert "bytes ↓" in view(page)
    page = opened(bfs[1], "#tab=variables&sort=waiting").page
    assert "bytes ↓" in view(page)


def test_rows_that_are_left_out_can_be_shown(
    opened: Open, written: Callable[[pl.Report], Path]
) -> None:
    page = opened(written(random_report(4, 450, 0)), "#tab=steps").page
    rows = page.locator("#view tbody tr")
    assert rows.count() == 400
    assert "… 50 more" in view(page)
    page.locator("#view").get_by_role("button", name="show more").click()
    assert rows.count() == 450
    assert "show more" not in view(page)


def test_a_long_program_is_drawn_in_parts(
    opened: Open, written: Callable[[pl.Report], Path]
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "ab")
    program = pl.Sequence(*(pl.Copy(a, b) for _ in range(1000)))
    page = opened(written(pl.Engine(graph, program).report()), "#tab=program").page
    lines = page.locator(".tree .name")
    assert lines.count() == 400
    more = page.locator("#view").get_by_role("button", name="show more")
    more.click()
    assert lines.count() == 800
    more.click()
    assert lines.count() == 1001
    assert more.count() == 0
    page.get_by_role("searchbox", name="keep lines with").fill("no such step")
    assert lines.count() == 0


def test_a_row_of_variables_shows_where_it_lies(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    page = opened(bfs[1], "#tab=variables").page
    page.locator("#view tbody tr").last.click()
    heading = page.locator("#view h3", has_text="Where")
    box = heading.bounding_box()
    assert box is not None
    assert 0 <= box["y"] <= 900 - box["height"]


# -- finding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["line of steps", "line of variables", "operation"])
def test_lines_and_operations_are_found(
    kind: str, opened: Open, bfs: tuple[pl.Report, Path]
) -> None:
    report, path = bfs
    asked = {
        "line of steps": report.shown.steps[0].at.split(" ")[0].split("/")[-1],
        "line of variables": report.compilation.variables[0].at.split(" ")[0].split("/")[-1],
        "operation": report.execution.operations()[0].name,
    }[kind]
    page = opened(path).page
    page.locator("#find").fill(asked)
    page.locator("#hits div", has_text=kind).first.dispatch_event("mousedown")
    tab = "Variables" if kind == "line of variables" else "Steps"
    assert page.locator("#view").get_attribute("aria-label") == tab
    rows = page.locator("#view tbody tr")
    assert 0 < rows.count() <= len(report.compilation.memory.held)
    assert page.locator("#view input[type=search]").input_value().find(asked) >= 0


# -- pointer and keys ------------------------------------------------------------------------------


def test_a_double_click_chooses_nothing(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    page = opened(bfs[1], "#tab=steps&tile=3&step=1").page
    canvas = page.locator("canvas[aria-label='Time of all tiles']")
    canvas.click(position={"x": 500, "y": 60})
    assert "tile=3" not in address(page)
    page = opened(bfs[1], "#tab=steps&tile=3&step=1&win=0-500").page
    canvas = page.locator("canvas[aria-label='Time of all tiles']")
    canvas.dblclick(position={"x": 500, "y": 60})
    assert address(page).endswith("#tab=steps&tile=3&step=1")


def test_arrows_turn_the_tabs(opened: Open, bfs: tuple[pl.Report, Path]) -> None:
    page = opened(bfs[1]).page
    label, focused = page.locator("#view"), page.locator("nav :focus")
    page.locator("nav [aria-selected=true]").focus()
    for key, tab in (("ArrowRight", "Tiles"), ("End", "Source"), ("ArrowRight", "Overview")):
        page.keyboard.press(key)
        assert label.get_attribute("aria-label") == tab
        assert tab in focused.inner_text()
    page.keyboard.press("ArrowLeft")
    assert label.get_attribute("aria-label") == "Source"
    page.keyboard.press("Home")
    assert label.get_attribute("aria-label") == "Overview"
    stops = page.locator("nav [role=tab][tabindex='0']")
    assert stops.count() == 1


# -- narrow pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [380, 420, 1280])
def test_a_deep_program_leaves_room_for_words(
    width: int, opened: Open, written: Callable[[pl.Report], Path]
) -> None:
    page = opened(written(deep(24)), "#tab=program", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = page.locator(".tree .name").evaluate_all(
        "(names) => names.map((each) => each.getBoundingClientRect().width)"
    )
    assert len(found) >= 2 * 24
    assert min(found) >= 90


def test_nothing_is_wider_than_a_small_telephone(
    opened: Open, bfs: tuple[pl.Report, Path], written: Callable[[pl.Report], Path]
) -> None:
    for path in (bfs[1], written(branches())):
        page = opened(path, width=380).page
        for key in "123456789":
            page.keyboard.press(key)
            assert page.evaluate("document.documentElement.scrollWidth") <= 380, key


AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"

SERIOUS = """async () => (await axe.run()).violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes[0].html])"""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed")
@pytest.mark.parametrize("dark", [False, True])
def test_every_tab_can_be_used_without_seeing_it(
    dark: bool, opened: Open, bfs: tuple[pl.Report, Path]
) -> None:
    page = opened(bfs[1], dark=dark).page
    page.evaluate(AXE.read_text())
    for key in "123456789":
        page.keyboard.press(key)
        assert page.evaluate(SERIOUS) == [], key


def test_headings_and_buttons_are_not_within_others(
    opened: Open, bfs: tuple[pl.Report, Path]
) -> None:
    """What axe-core would say, of which it is a part."""
    page = opened(bfs[1]).page
    for key in "123456789":
        page.keyboard.press(key)
        inside = "button button, summary button, [role=button] button, a button"
        assert page.locator(inside).count() == 0
        assert page.locator("[role=img]:not([aria-label]), [role=img][aria-label='']").count() == 0
        levels = page.locator("h1, h2, h3").evaluate_all("(all) => all.map((h) => h.tagName)")
        assert levels[:2] == ["H1", "H2"]


# -- words within pictures -------------------------------------------------------------------------

OUTSIDE = """(svg) => {
    const shown = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    const pen = document.createElement("canvas").getContext("2d");
    const wide = Number(shown.getAttribute("width"));
    const found = [];
    for (const text of shown.querySelectorAll("text")) {
        const of = (name) => text.getAttribute(name);
        pen.font = `${of("font-size")}px ${of("font-family")}`;
        const width = pen.measureText(text.textContent).width;
        const part = { start: 0, middle: 0.5, end: 1 }[of("text-anchor")];
        const left = Number(of("x")) - part * width;
        if (left < -1 || left + width > wide + 1) found.push(text.textContent);
    }
    return found;
}"""


def saved(page: Page, number: int) -> str:
    """Return a picture of a tab as SVG."""
    plot = page.locator("#view .plot").nth(number)
    plot.hover()
    with page.expect_download() as download:
        plot.locator(".saves button", has_text="SVG").click()
    return Path(download.value.path()).read_text()


@pytest.mark.parametrize("width", [420, 1280])
@pytest.mark.parametrize(
    "address", ["tab=memory&rows=most", "tab=memory", "tab=tiles", "tab=exchange", "tab=liveness"]
)
def test_no_words_are_cut(
    address: str, width: int, opened: Open, bfs: tuple[pl.Report, Path]
) -> None:
    page = opened(bfs[1], f"#{address}", width=width).page
    for number in range(page.locator("#view .plot:has(button:text('SVG'))").count()):
        assert page.evaluate(OUTSIDE, saved(page, number)) == []


@pytest.mark.parametrize("tile", [0, 700, 1471])
def test_the_name_of_a_tile_is_above_the_bars(
    tile: int, opened: Open, written: Callable[[pl.Report], Path]
) -> None:
    report = random_report(1472, 3, 0)
    page = opened(written(report), f"#tab=tiles&tile={tile}").page
    svg = saved(page, 1)
    name = re.search(rf'<text [^>]*y="([\d.]+)"[^>]*>tile {tile:,}</text>', svg)
    assert name is not None
    bars = [float(y) for y in re.findall(r'<rect [^>]*y="([\d.]+)"', svg)]
    assert float(name[1]) < min(y for y in bars if y)
