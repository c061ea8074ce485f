"""The report page in a browser: every tab with numbers that Python computed, and what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.planted import Planted
from helpers.random_reports import MARKUP, random_report
from poplite.report.execution import between_syncs
from poplite.report.per_tile import PerTile
from poplite.tools.viz.load_report import load
from poplite.viz.page import report_page
from poplite.viz.tile_map import quantity_map

if TYPE_CHECKING:
    from playwright.sync_api import Page


pytestmark = pytest.mark.browser

Open = Callable[..., Any]

EXAMPLES = Path(__file__).parents[2] / "examples"
TABS = ["Overview", "Tiles", "Memory", "Liveness", "Steps", "Exchange"]
TABS += ["Program", "Variables", "Graph"]


def copies(target: pl.Target, *, count: int = 3, replicas: int = 1, **options: object) -> pl.Report:
    """Return the report of copies between all tiles of a machine."""
    graph = pl.Graph(target, replication_factor=replicas)
    a, b = (
        graph.add_variable(pl.INT, (graph.target.tiles * 8,), name, mapping="linear")
        for name in "ab"
    )
    program = pl.Repeat(count, pl.Copy(a.reverse(0), b))
    engine = pl.Engine(graph, program, checks="fast", options=options)
    engine.run()
    return engine.report()


def over_the_limit(tiles: int = 4) -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=tiles))
    a = graph.add_variable(pl.INT, (200_000,), "much", mapping=1)
    b = graph.add_variable(pl.INT, (8,), "few", mapping=0)
    options = {"debug.allowOutOfMemory": True}
    return pl.Engine(graph, pl.Copy(b, a[:8]), checks="fast", options=options).report()


def one_program_of_two() -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "ab")
    there, back = pl.Copy(a.reverse(0), b), pl.Copy(b.reverse(0), a)
    engine = pl.Engine(graph, {"one": pl.Sequence(there, back), "two": pl.Sequence(back, there)})
    engine.run("two")
    return engine.report()


CASES: dict[str, Callable[[], pl.Report]] = {
    "matvec": lambda: load(f"{EXAMPLES / 'matvec.py'}:build").report,
    "bfs": lambda: load(f"{EXAMPLES / 'bfs.py'}:build").report,
    "one tile": lambda: copies(pl.Target(tiles=1)),
    "empty": lambda: pl.Engine(pl.Graph(pl.Target(tiles=4)), pl.Sequence()).report(),
    "four IPUs": lambda: copies(pl.Target(tiles=32, ipus=4)),
    "replicated": lambda: copies(pl.Target(tiles=8, ipus=2), replicas=2),
    "over the limit": over_the_limit,
    "one program of two": one_program_of_two,
    "not modelled": lambda: copies(pl.Target(tiles=4), **{"debug.instrument": False}),
    "without accesses": lambda: without_accesses(copies(pl.Target(tiles=4))),
    "markup in names": lambda: random_report(16, 3, 0),
    "200 steps": lambda: random_report(1472, 200, 1),
    "a slow tile of many": lambda: Planted(frozenset(["overloaded"]), steps=4).report(),
}


def without_accesses(report: pl.Report) -> pl.Report:
    """A report as an older poplite saved it."""
    return replace(report, compilation=replace(report.compilation, variables=(), accesses=()))


@cache
def report_of(case: str) -> pl.Report:
    return CASES[case]()


@pytest.fixture(scope="session")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def write(case: str) -> Path:
        path = folder / f"{case.replace(' ', '_')}.html"
        path.write_text(report_page(report_of(case), title=case))
        return path

    return write


def view(page: Page) -> str:
    return page.locator("#view").inner_text()


def side(page: Page) -> str:
    return page.locator("#side").inner_text()


def address(page: Page) -> str:
    """The address as the page has it: `page.url` follows when the browser has said so."""
    return str(page.evaluate("location.href"))


def sized(size: float) -> str:
    return f"{size:,.1f}".removesuffix(".0") + " B"


@pytest.mark.parametrize("case", CASES)
def test_it_opens_from_disk_and_every_tab_is_drawn_at_every_width(
    case: str, opened: Open, file_of: Callable[[str], Path]
) -> None:
    for width in (420, 900, 1400):
        found = opened(file_of(case), width=width)
        page = found.page
        for number, name in enumerate(TABS, 1):
            page.keyboard.press(str(number))
            assert page.locator("#view").get_attribute("aria-label") == name
            assert len(view(page)) >= 10
            tab = page.locator("nav [aria-selected=true]").bounding_box()
            assert tab is not None
            assert 0 <= tab["x"] <= width - tab["width"]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                name,
                width,
            )
        assert found.requests == [file_of(case).as_uri()]
        assert found.complaints == []
        assert page.locator("h1").inner_text() == case


@pytest.mark.parametrize("case", ["matvec", "bfs", "four IPUs"])
def test_tabs_tell_what_the_report_does(
    case: str, opened: Open, file_of: Callable[[str], Path]
) -> None:
    report, page = report_of(case), opened(file_of(case)).page
    memory = report.compilation.memory
    fullest = memory.including_gaps
    needed = sized(fullest.most)
    assert fullest.worst_tile is not None
    assert f"{report.cycles:,}" in view(page)
    assert f"fullest tile {fullest.worst_tile:,}" in view(page)
    page.keyboard.press("2")
    assert f"most {needed} on tile {fullest.worst_tile:,}" in view(page)
    page.keyboard.press("3")
    assert f"On tile {fullest.worst_tile:,}: {needed} with gaps" in view(page)
    page.keyboard.press("4")
    assert f"always live {sized(memory.always_live[fullest.worst_tile])}" in view(page)
    page.keyboard.press("5")
    shown = view(page)
    for step in report.execution.steps[:20]:
        assert f"{step.cycles:,}" in shown
    page.keyboard.press("6")
    phases = [phase for step in report.execution.steps for phase in step.phases]
    assert f"received {sized(sum(phase.received.total for phase in phases))}" in view(page)
    page.keyboard.press("8")
    assert all(held.name in view(page) for held in memory.held[:10])


def test_findings_stand_first_with_their_share(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    report, page = report_of("matvec"), opened(file_of("matvec")).page
    rows = page.locator(".finding").all_inner_texts()
    findings = report.insights.findings
    assert len(rows) == len(findings)
    for row, finding in zip(rows, findings, strict=True):
        assert f"{100 * finding.share:.1f} %" in row
        assert f"{finding.cycles:,} cycle" in row
        assert finding.at.split(" ")[0].rpartition("/")[2] in row
    page.locator(".finding").first.click()
    assert "tab=" in address(page)
    assert f"step={report.execution.steps[findings[0].steps[0]].number}" in address(page)
    assert report.execution.steps[findings[0].steps[0]].name in side(page)


def centre_of(page: Page, tile: int, columns: int) -> tuple[float, float]:
    """Return where a tile is drawn on the map."""
    canvas = page.locator("#view canvas").first
    box = canvas.bounding_box()
    assert box is not None
    wide = min(28, int(box["width"] - 50) // columns)
    return (
        box["x"] + 46 + (tile % columns + 0.5) * wide,
        box["y"] + (tile // columns + 0.5) * wide,
    )


def test_a_tile_that_is_clicked_is_chosen_everywhere(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("matvec"), "#tab=tiles").page
    page.mouse.click(*centre_of(page, 7, 32))
    assert side(page).startswith("Tile 7")
    assert "tile=7" in address(page)
    page.keyboard.press("3")
    assert "On tile 7" in view(page)
    page.keyboard.press("4")
    assert page.locator("#view input[type=number]").input_value() == "7"
    page.keyboard.press("]")
    assert side(page).startswith("Tile 8")
    page.keyboard.press("[")
    assert side(page).startswith("Tile 7")


def test_an_address_shows_what_its_sender_saw(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("bfs")).page
    page.keyboard.press("5")
    page.keyboard.press("j")
    page.keyboard.press("]")
    seen, chosen = (view(page), side(page)), address(page)
    page.reload()
    assert (view(page), side(page)) == seen
    page.keyboard.press("1")
    page.go_back()
    assert address(page) == chosen
    assert (view(page), side(page)) == seen
    other = opened(file_of("bfs"), "#tab=nowhere&tile=99999999&step=12345&by=nothing").page
    assert other.locator("#view").get_attribute("aria-label") == "Overview"
    assert side(other).startswith(f"Tile {report_of('bfs').tiles - 1:,}")


def test_a_step_has_the_number_of_the_commands_where_only_the_second_program_ran(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("one program of two"), "#tab=steps&step=3").page
    assert "Step 3" in side(page)
    assert "b to a" in side(page)
    assert "all tiles" in side(page)  # of sync, which no tile is busy with
    page.keyboard.press("j")
    assert "Step 4" in side(page)
    assert "step=4" in address(page)
    assert "4\ta to b" in view(page)


def test_keys_choose_steps_units_theme_and_help(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("bfs"), "#tab=steps").page
    steps = report_of("bfs").execution.steps
    for step in steps[:3]:
        page.keyboard.press("j")
        assert step.name in side(page)
    page.keyboard.press("k")
    assert f"Step {steps[1].number}" in side(page)
    page.keyboard.press("Escape")
    assert "Choose a step" in side(page)
    assert "KiB" not in side(page)
    page.keyboard.press("u")
    assert "KiB" in side(page)
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_names_and_numbers_are_found(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("matvec")).page
    page.keyboard.press("/")
    page.keyboard.type("partials")
    page.keyboard.press("Enter")
    assert page.locator("#view").get_attribute("aria-label") == "Variables"
    page.keyboard.press("/")
    page.keyboard.type("tile 12")
    page.keyboard.press("Enter")
    assert side(page).startswith("Tile 12")
    page.keyboard.press("/")
    page.keyboard.type("nothing of this name")
    assert "nothing has such a name" in page.locator("#hits").inner_text()


def test_markup_in_names_is_text(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("markup in names"), "#tab=steps").page
    assert MARKUP in view(page)
    assert page.evaluate("document.scripts.length") <= 4


@pytest.mark.parametrize("tab", ["memory", "steps"])
def test_dragging_looks_closer_and_a_double_click_shows_all(
    tab: str, opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("200 steps"), f"#tab={tab}").page
    box = page.locator("#view canvas").first.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 300, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, middle, steps=4)
    page.mouse.up()
    assert ("zoom=" if tab == "memory" else "win=") in address(page)
    # The browser counts clicks; that a page takes long to draw the first is not seen as two.
    page.clock.install()
    page.mouse.click(box["x"] + 400, middle)
    assert ("zoom=" if tab == "memory" else "win=") in address(page)
    page.clock.fast_forward(5_000)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    assert "zoom=" not in address(page)
    assert "win=" not in address(page)


COUNT_COLORS = """(names) => {
    const canvas = document.querySelector("#view canvas");
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const found = {};
    for (let k = 0; k < data.length; k += 4) {
        const hex = "#" + [0, 1, 2].map((c) => data[k + c].toString(16).padStart(2, "0")).join("");
        found[hex] = (found[hex] ?? 0) + 1;
    }
    const style = getComputedStyle(document.documentElement);
    const of = (name) => found[style.getPropertyValue("--" + name).trim()] ?? 0;
    const parts = names.map((name) => [name, of(name)]);
    return [Object.fromEntries(parts), Object.keys(found).length];
}"""


def test_all_tiles_in_time_are_drawn_to_scale(opened: Open, file_of: Callable[[str], Path]) -> None:
    """Between syncs each tile goes on by itself: areas of colours are sums of busy cycles."""
    report, page = report_of("matvec"), opened(file_of("matvec"), "#tab=steps").page
    names = ["compute", "copy", "exchange"]
    pixels, _ = page.evaluate(COUNT_COLORS, [f"phase-{name}" for name in names])
    area = dict.fromkeys(names, 0.0)
    for step in report.execution.steps:
        for phase in step.phases:
            area[phase.kind] += phase.tile_cycles.total / step.executions
    whole = 0
    for step in report.execution.steps:
        for group in between_syncs(step.phases):
            busy = np.sum([phase.tile_cycles.array() for phase in group], axis=0)
            whole += group[0].sync + int(busy.max())
    assert whole == report.cycles
    drawn = np.array([pixels[f"phase-{name}"] for name in names])
    meant = np.array([area[name] for name in names])
    assert drawn / drawn.sum() == pytest.approx(meant / meant.sum(), abs=0.01)


PIXELS = """([label, x]) => {
    const canvas = document.querySelector(`canvas[aria-label^="${label}"]`);
    const ratio = window.devicePixelRatio;
    const [left, wide] = x === null ? [74 * ratio, canvas.width - 82 * ratio] : [x * ratio, 1];
    const found = canvas.getContext("2d").getImageData(left, 0, wide, canvas.height).data;
    const hex = (each) => each.toString(16).padStart(2, "0");
    const color = (k) => "#" + [...found.slice(k, k + 3)].map(hex).join("");
    return Array.from({ length: found.length / 4 }, (_, k) => color(4 * k));
}"""

TIME, ROWS = "Time of all tiles", slice(22, 342)
"""The picture of tiles in time, and its rows where there are many."""


def width_of_time(page: Page) -> int:
    """Return how wide the picture of tiles in time is without what is written beside it."""
    box = page.locator(f"canvas[aria-label='{TIME}']").bounding_box()
    assert box is not None
    return int(box["width"]) - 82


def test_no_row_hides_the_tile_that_others_wait_for(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    report = report_of("a slow tile of many")
    page = opened(file_of("a slow tile of many"), "#tab=steps").page
    slow = max(report.execution.steps, key=lambda step: step.cycles)
    end = sum(step.cycles for step in report.execution.steps[: slow.number])
    assert report.cycles is not None
    x = 74 + int((end - slow.cycles / 4) / report.cycles * width_of_time(page))
    column = page.evaluate(PIXELS, [TIME, x])
    compute = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--phase-compute').trim()"
    )
    (row,) = (number for number, each in enumerate(column[ROWS]) if each == compute)
    assert row == 700 * 320 // 1472
    # Below: who decides, the slowest and the chosen tile.
    assert column[ROWS.stop :].count(compute) == 3 * 12
    page.locator(f"canvas[aria-label='{TIME}']").click(position={"x": x, "y": ROWS.stop + 10})
    assert side(page).startswith("Tile 700")
    assert slow.name in side(page)


def test_the_chosen_step_is_marked_beside_what_tiles_do(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("a slow tile of many"), "#tab=steps&tile=9").page
    before = np.array(page.evaluate(PIXELS, [TIME, None])).reshape(-1, width_of_time(page))
    page.keyboard.press("j")
    after = np.array(page.evaluate(PIXELS, [TIME, None])).reshape(before.shape)
    assert (before[ROWS] == after[ROWS]).all()
    assert (before != after).any()


def test_time_is_looked_at_by_wheel_keys_and_drag(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("a slow tile of many"), "#tab=steps").page
    canvas = page.locator(f"canvas[aria-label='{TIME}']")
    box = canvas.bounding_box()
    assert box is not None

    def shown(name: str) -> list[int]:
        found = re.search(rf"{name}=(\d+)-(\d+)", address(page))
        return [int(each) for each in found.groups()] if found else []

    page.mouse.move(box["x"] + 400, box["y"] + 100)
    page.mouse.wheel(0, -100)
    first = shown("win")
    assert first
    page.mouse.wheel(0, -100)
    closer = shown("win")
    assert first[0] < closer[0] < closer[1] < first[1]
    canvas.focus()
    page.keyboard.press("ArrowRight")
    later = shown("win")
    assert later[0] > closer[0]
    assert later[1] - later[0] == closer[1] - closer[0]
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 400, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 100, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert shown("win")[0] < later[0]
    page.keyboard.press("PageUp")
    rows = shown("zoom")
    assert rows[1] - rows[0] == 736
    page.keyboard.press("ArrowDown")
    assert shown("zoom")[0] > rows[0]
    page.keyboard.press("PageDown")
    assert shown("zoom") == []
    for _ in range(8):
        page.keyboard.press("-")
    assert shown("win") == []


def test_a_range_of_time_is_summed_up(opened: Open, file_of: Callable[[str], Path]) -> None:
    report = report_of("matvec")
    begin = 0
    for step in report.execution.steps:
        end = begin + step.cycles // step.executions
        page = opened(file_of("matvec"), f"#tab=steps&win={begin}-{end}").page
        parts = {part: cycles / step.cycles for part, cycles in step.time_parts().items() if cycles}
        shown = page.locator("#view .tools .legend").inner_text()
        found = [float(each) for each in re.findall(r"([\d.]+) %", shown)]
        assert sum(found) == pytest.approx(100, abs=0.3)
        assert sorted(found) == pytest.approx(
            sorted(100 * share for share in parts.values()), abs=0.11
        )
        begin = end
    # Half of a step and the rest of it are all of it.
    page = opened(file_of("matvec"), f"#tab=steps&win=0-{begin // 2}").page
    shown = page.locator("#view .tools .legend").inner_text()
    assert sum(map(float, re.findall(r"([\d.]+) %", shown))) == pytest.approx(100, abs=0.3)


def test_legends_name_what_their_pictures_show(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    """In time tiles compute or wait; the bars of steps say of that which workers were idle."""
    in_time, of_steps = (
        opened(file_of("matvec"), "#tab=steps").page.locator("#view > .legend").all()
    )
    names = [each.locator("span").all_inner_texts() for each in (in_time, of_steps)]
    words = ["copied on its tile", "exchange", "waiting for other tiles", "sync"]
    assert names == [["compute", *words], ["work", "idle workers", *words]]


def test_the_mark_of_the_chosen_tile_leaves_what_it_receives_free(
    opened: Open, tmp_path: Path
) -> None:
    report = report_of("a slow tile of many")
    numbers = PerTile.of(5000 * (np.arange(report.tiles) == 700))
    step = report.execution.steps[0]
    phases = (replace(step.phases[0], kind="exchange", received=numbers),)
    execution = replace(report.execution, steps=(replace(step, phases=phases),))
    path = tmp_path / "page.html"
    path.write_text(report_page(replace(report, execution=execution)))
    page = opened(path, "#tab=exchange&tile=700").page
    pixels, _ = page.evaluate(COUNT_COLORS, ["phase-exchange"])
    assert pixels["phase-exchange"] > 60


def test_one_ipu_at_a_time(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("four IPUs"), "#tab=steps").page
    page.get_by_role("button", name="IPU 2").click()
    assert "zoom=16-24" in address(page)
    assert page.get_by_role("button", name="rank 0").count() == 0


def test_one_rank_at_a_time(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(report_page(replace(report_of("four IPUs"), cut=(5, 24))))
    page = opened(path, "#tab=steps").page
    for rank, tiles in enumerate(("0-5", "5-24", "24-32")):
        page.get_by_role("button", name=f"rank {rank}").click()
        assert f"zoom={tiles}" in address(page)


def test_steps_of_columns_and_lanes_stand_below_each_other(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("bfs"), "#tab=liveness").page
    columns, lanes = page.locator("#view canvas").all()
    for x in (300, 500, 700):
        chosen = []
        for canvas in (columns, lanes):
            canvas.click(position={"x": x, "y": 10})
            chosen.append(re.search(r"step=(\d+)", address(page)))
        assert chosen[0] is not None
        assert chosen[1] is not None
        assert chosen[0][1] == chosen[1][1]


def test_the_mark_of_the_chosen_tile_leaves_its_bar_free(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(report_page(over_the_limit(1472), title="over"))
    page = opened(path, "#tab=memory").page
    pixels, _ = page.evaluate(COUNT_COLORS, ["over"])
    assert pixels["over"] > 30


def test_the_map_has_more_than_one_colour(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("200 steps"), "#tab=tiles&by=busy").page
    busy = quantity_map(report_of("200 steps"), "cycles").value
    shown = re.search(r"most ([\d,]+) cycles", view(page))
    assert shown is not None
    assert int(shown[1].replace(",", "")) == pytest.approx(busy.max(), rel=0.005)
    assert "tiles to three digits" in page.locator("#verdict").inner_text()
    _, colours = page.evaluate(COUNT_COLORS, [])
    assert colours > 8


def test_what_is_over_the_limit_is_said_and_drawn(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("over the limit")).page
    assert "! does not fit: 1 tile over" in page.locator("#verdict").inner_text()
    assert "! over 638,976 B by" in view(page)
    for place in ("#side", "#view"):
        assert "! over the limit" in page.locator(f"{place} .stack:has(.over)").aria_snapshot()
    page.keyboard.press("3")
    strip = page.locator("canvas[aria-label='Addresses of tile 1']")
    assert strip.evaluate(
        """canvas => {
            const [x, y] = [canvas.width - 20, canvas.height * 0.6];
            const shown = canvas.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3);
            return [...shown];
        }"""
    ) == [0xD5, 0x5E, 0x00]
    assert "! 1 tile over the limit of 638,976 B" in view(page)
    pixels, _ = page.evaluate(COUNT_COLORS, ["over"])
    assert pixels["over"] > 100


@pytest.mark.parametrize(
    ("note", "runs", "words"),
    [
        ("", 0, "fits · as compiled, of one run"),
        ("nothing has written 'c'", 0, "fits · as compiled, of one run; nothing has written 'c'"),
        ("with zeros: nothing has written 'c'", 1, "fits · with zeros: nothing has written 'c'"),
        ("no program given", 1, "variables fit; no program given"),
    ],
)
def test_the_verdict_says_what_the_numbers_are_of(
    note: str, runs: int, words: str, opened: Open, tmp_path: Path
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0, initial_value=1) for name in "ab")
    engine = pl.Engine(graph, pl.Copy(a, b))
    for _ in range(runs):
        engine.run()
    path = tmp_path / "page.html"
    path.write_text(report_page(replace(engine.report(), note=note), title="noted"))
    page = opened(path, width=420).page
    assert page.locator("#verdict").inner_text() == words
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_not_there_is_said(opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("not modelled"), "#tab=memory").page
    assert "debug.instrument" in view(page)
    assert page.locator("#verdict").inner_text() == "memory not modelled"
    replicas = opened(file_of("replicated")).page
    assert "of one of 2 replicas" in replicas.locator("#verdict").inner_text()
    graph = opened(file_of("matvec"), "#tab=graph").page
    assert graph.locator(".graphRoot svg").count() == 1
    without = opened(file_of("without accesses"), "#tab=graph").page
    assert "saved without the dataflow graph" in view(without)


CONTRASTS = """() => {
    const channel = (c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
    const behind = (part) => {
        for (; part; part = part.parentElement) {
            const [r, g, b, a = 1] = numbers(getComputedStyle(part).backgroundColor);
            if (a === 1) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const part = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !part.checkVisibility()) continue;
        if (/^(SCRIPT|STYLE|NOSCRIPT)$/.test(part.tagName) || part.closest("svg, .pale")) continue;
        const [one, other] = [light(numbers(getComputedStyle(part).color)), light(behind(part))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) found.push([walker.currentNode.data.slice(0, 40), ratio]);
    }
    return found;
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(dark: bool, opened: Open, file_of: Callable[[str], Path]) -> None:
    page = opened(file_of("bfs"), dark=dark).page
    for number in range(1, len(TABS) + 1):
        page.keyboard.press(str(number))
        assert page.evaluate(CONTRASTS) == []


def test_two_reports_are_compared(opened: Open, tmp_path: Path) -> None:
    before, after = (copies(pl.Target(tiles=8), count=count) for count in (3, 5))
    path = tmp_path / "both.html"
    path.write_text(report_page(after, before=before, names=("a.json", "b.json"), title="both"))
    page = opened(path, "#by=busy").page
    page.keyboard.press("0")
    assert page.locator("#view").get_attribute("aria-label") == "Compare"
    assert f"{before.cycles:,}" in view(page)
    assert f"{after.cycles:,}" in view(page)
    page.locator("#view canvas").last.hover(position={"x": 100, "y": 15})
    tile, more = re.findall(r"tile (\d)\n\+([\d,]+) cycles", page.locator("#tip").inner_text())[0]
    busy = [quantity_map(each, "cycles").value[int(tile)] for each in (before, after)]
    assert more == f"{busy[1] - busy[0]:,}"
    first, last = (quantity_map(each, "cycles").value for each in (before, after))
    assert f"from +{(last - first).min():,} cycles to +{(last - first).max():,} cycles" in view(
        page
    )


def test_a_side_without_steps_and_one_of_more_runs_are_compared(
    opened: Open, tmp_path: Path
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (8,), name, mapping="linear") for name in "ab")
    nothing = pl.Engine(graph, pl.Sequence())
    engine = pl.Engine(graph, pl.Copy(a, b))
    reports = [engine.report()]
    for engine_of in (nothing, engine):
        engine_of.run()
        reports.append(engine_of.report())
    planned, empty, ran = reports
    path = tmp_path / "both.html"
    path.write_text(report_page(ran, before=empty, names=("a.json", "b.json")))
    shown = view(opened(path).page)
    assert "Cycles of steps" in shown
    assert "Bytes of all tiles, by kind" in shown
    assert "!" not in shown
    path.write_text(report_page(ran, before=planned, names=("a.json", "b.json")))
    found = opened(path)
    words = "one run as compiled, b.json has 1 run"
    assert f"! different runs: a.json has {words}" in view(found.page)
    assert found.complaints == []


def test_a_tile_that_shares_nothing_has_no_chart_of_it(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("one tile"), "#tab=liveness").page
    held = report_of("one tile").compilation.memory.held
    assert all(each.steps is None for each in held)
    assert page.locator("#view canvas").count() == 0
    assert "all of it is always live" in view(page)
    page.locator("[data-focus='live all']").click()
    assert page.locator("#view canvas").count() == 1


def test_a_page_of_one_report_has_no_tab_that_compares(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    found = opened(file_of("matvec"), "#tab=compare")
    label = found.page.locator("#view")
    assert label.get_attribute("aria-label") == "Overview"
    for key in "50]":
        found.page.keyboard.press(key)
        assert label.get_attribute("aria-label") == "Steps"
    found.page.keyboard.press("s")
    assert label.get_attribute("aria-label") == "Source"
    assert found.complaints == []


def test_print_has_what_is_shown_and_no_buttons(
    opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("matvec"), "#tab=memory").page
    page.emulate_media(media="print")
    assert page.locator("#view canvas").first.is_visible()
    assert page.locator("#side").is_visible()
    assert not [each for each in ("nav", "#find", "#units", ".tools") if page.is_visible(each)]


@pytest.mark.parametrize(("kind", "begin"), [("PNG", b"\x89PNG"), ("SVG", b"<svg")])
def test_pictures_are_saved(
    kind: str, begin: bytes, opened: Open, file_of: Callable[[str], Path]
) -> None:
    page = opened(file_of("matvec"), "#tab=memory").page
    page.locator(".plot").first.hover()
    with page.expect_download() as download:
        page.locator(".saves button", has_text=kind).first.click()
    assert download.value.suggested_filename == f"memory-of-tiles.{kind.lower()}"
    assert Path(download.value.path()).read_bytes().startswith(begin)


# -- what has the focus keeps it -------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    graph = pl.Graph(pl.Target(tiles=128))
    names = ("weights", "steps")
    a, b = (graph.add_variable(pl.INT, (1024,), name, mapping="linear") for name in names)
    engine = pl.Engine(graph, pl.Copy(a.reverse(0), b), checks="fast")
    engine.run()
    file = tmp_path / "page.html"
    file.write_text(engine.report().to_html())
    return file


def test_what_is_typed_into_a_filter_stays_in_order(opened: Open, path: Path) -> None:
    page = opened(path, "#tab=variables").page
    field = page.get_by_role("searchbox", name="keep what has")
    field.focus()
    page.keyboard.type("weigh")
    assert field.input_value() == "weigh"
    assert page.locator("#view tbody tr td:first-child").all_inner_texts() == ["weights"]
    page.keyboard.press("Home")
    page.keyboard.type("no ")
    assert field.input_value() == "no weigh"
    assert page.locator("#view tbody tr").count() == 0


def test_arrows_go_on_through_the_map(opened: Open, path: Path) -> None:
    page = opened(path, "#tab=tiles&tile=40").page
    page.locator("canvas").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator("#side h2").first.inner_text() == "Tile 41"


def test_a_filter_stays_in_its_tab(opened: Open, path: Path) -> None:
    page = opened(path, "#tab=variables&q=weights").page
    page.get_by_role("tab", name="Program").click()
    assert "weights to steps" in page.locator(".tree").inner_text()
    assert "q=" not in page.evaluate("location.hash")


@pytest.mark.parametrize("case", ["bfs", "matvec"])
def test_steps_are_ordered_by_a_part_of_time(
    case: str, opened: Open, file_of: Callable[[str], Path]
) -> None:
    report = report_of(case)
    page = opened(file_of(case), "#tab=steps").page
    for part, words in (
        ("waiting", "waiting for other tiles"),
        ("exchange", "exchange"),
    ):
        page.get_by_label("most of").select_option(words)
        numbers = [int(n) for n in page.locator("#view tbody tr td:first-child").all_inner_texts()]
        steps = {step.number: step.time_parts()[part] for step in report.shown.steps}  # type: ignore[index]
        assert numbers == sorted(steps, key=lambda number: -steps[number])


TIME_OF_TILE = """() => {
  const heads = [...document.querySelectorAll("#side h3")];
  const rows = heads.find((head) => head.innerText.startsWith("Its time")).nextSibling;
  return [...rows.querySelectorAll("tr")].map((row) =>
    [...row.querySelectorAll("td, th")].map((cell) => cell.innerText).filter((text) => text));
}"""


MADE = [case for case in CASES if case != "200 steps"]
"""Reports whose cycles are those of their phases, not drawn."""


@pytest.mark.parametrize("case", thinned(MADE, keep=["matvec", "bfs", "four IPUs"]))
def test_the_parts_of_time_add_up(case: str, opened: Open, file_of: Callable[[str], Path]) -> None:
    """On the overview, and of each of some tiles beside it."""
    report = report_of(case)
    if not report.shown.steps:
        return
    spent, whole = report.shown.time_parts(), report.shown.cycles or 0
    page = opened(file_of(case), "#tab=overview").page
    legend = page.locator("#view .legend").first.inner_text()
    shares = [float(share) for share in re.findall(r"([\d.]+) %", legend)]
    assert sum(shares) == pytest.approx(100, abs=0.06 * len(shares))
    for words, cycles in (("work", spent["work"]), ("idle workers", spent["idle workers"])):
        if cycles >= whole / 100:
            assert re.search(rf"{words}\s+{100 * cycles / whole:.1f} %", legend)
    for tile in {0, report.tiles // 2, report.tiles - 1}:
        page = opened(file_of(case), f"#tab=memory&tile={tile}").page
        shown = [int(row[1].replace(",", "")) for row in page.evaluate(TIME_OF_TILE)]
        assert sum(shown) == pytest.approx(whole, abs=len(shown))
