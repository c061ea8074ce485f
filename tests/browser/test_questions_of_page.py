"""Every question of docs/viewing.md that names a tab is answered there, with numbers of the report.

What a command answers is looked for in `tests/cli/test_viz_questions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pytest

import poplite as pl
from helpers import answers
from helpers.answers import Line, cycles_of, fullest, missing, share
from helpers.depth import deep
from poplite.machine.target import limits_of
from poplite.report.execution import BetweenRanks
from poplite.tools.viz.load_report import load
from poplite.viz.dataflow.graph import dataflow_of_report
from poplite.viz.lines import line_list
from poplite.viz.page import report_page
from poplite.viz.steps import limits_text, rates_of
from poplite.viz.tile_map import quantity_map

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Lines = Callable[[pl.Report], Iterable[Line]]

EXAMPLES = Path(__file__).parents[2] / "examples"
MATVEC, BFS = (f"{EXAMPLES / name}.py:build" for name in ("matvec", "bfs"))
TILE = 5


def fits(report: pl.Report) -> list[Line]:
    needed = report.compilation.memory.including_gaps
    part = share(needed.most, 638_976)
    return [(f"fullest tile {needed.worst_tile}",), (f"{needed.most:,} B",), (part, "of 638,976 B")]


def on_the_tile(report: pl.Report) -> list[Line]:
    memory = report.compilation.memory
    beside = max(answers.live_bytes(report, TILE))
    needed, always = memory.including_gaps[TILE], memory.always_live[TILE]
    words = f"{needed:,} B with gaps", f"{always:,} B always live", f"{beside:,} B beside it"
    things = answers.on_tile(report, TILE)
    return [(f"On tile {TILE}", *words), *((each.name, f"{size:,} B") for each, _, size in things)]


def uneven(report: pl.Report) -> list[Line]:
    needed = report.compilation.memory.including_gaps
    balance = share(needed.total / report.tiles, needed.most)
    on_tiles, tile = needed.array(), needed.worst_tile
    least = f"least {on_tiles.min():,} B on tile {on_tiles.argmin()}"
    return [(f"most {needed.most:,} B on tile {tile}", least, f"balance {balance}")]


def gaps(report: pl.Report) -> list[Line]:
    free = report.compilation.memory.including_gaps[TILE] - answers.peak(report, TILE)
    return [(f"{free:,} B between things are free",)]


def live(report: pl.Report) -> list[Line]:
    tile = fullest(report)
    always, peak = report.compilation.memory.always_live[tile], answers.peak(report, tile)
    return [(f"always live {always:,} B", f"peak {peak:,} B", "in dots")]


def steps(report: pl.Report) -> list[Line]:
    return [
        (step.name, f"{step.cycles:,}", share(step.cycles, cycles_of(report)))
        for step in report.execution.steps
    ]


def phases(report: pl.Report) -> list[Line]:
    """The shares of what tiles do on average."""
    names = {
        "compute": "work",
        "copy": "copied on its tile",
        "exchange": "exchange",
    }
    found: list[Line] = []
    for kind, words in names.items():
        ran = (phase for step in report.execution.steps for phase in step.phases)
        total = sum(phase.tile_cycles.total for phase in ran if phase.kind == kind)
        if kind == "compute":
            idle = total / report.tiles - report.execution.worker_cycles()
            found.append(("idle workers", share(idle, cycles_of(report))))
            total -= round(idle * report.tiles)
        found.append((words, share(total / report.tiles, cycles_of(report))))
    return found


def waited(report: pl.Report) -> list[Line]:
    value = quantity_map(report, "waited").value
    least = f"least {value.min():,} cycles on tile {value.argmin()}"
    return [(f"most {value.max():,} cycles on tile {value.argmax()}", least)]


def exchanged(report: pl.Report) -> list[Line]:
    found = answers.causes(report)
    rows = [(what.replace(" comes", "\tcomes"), f"{size} B", at) for what, size, at in found]
    pairs = [(str(source), "1", "32 B") for source in answers.sources(report, 1)[:1]]
    return [(f"received {answers.received(report):,} B",), *rows, *pairs]


def findings(report: pl.Report) -> list[Line]:
    found = report.insights.findings
    shares = [(share(each.cycles, cycles_of(report)),) for each in found]
    return [
        *shares,
        *((f"{each.cycles:,} cycles", each.at.split("/")[1].split(" ")[0]) for each in found),
    ]


def program(report: pl.Report) -> list[Line]:
    """Each step in its order; the cost stands on a line of its own."""
    ran = report.execution.steps
    names = [(f"Execute {step.name}", f"× {step.executions}") for step in ran]
    return [*names, *((share(step.cycles, cycles_of(report)),) for step in ran)]


def lines(report: pl.Report) -> list[Line]:
    return [(at,) for at in answers.lines(report)]


def rates(report: pl.Report) -> list[Line]:
    assert any(step.flops for step in report.execution.steps)
    return [tuple(filter(None, rates_of(step))) for step in report.execution.steps] + [
        (line,) for line in limits_text(limits_of(report.compilation.target))
    ]


def numbers(report: pl.Report) -> list[Line]:
    return [(file.name,) for file in line_list(report).files] + [
        (f"{line.cycles:,}", f"{line.received:,} B", f"{line.memory:,} B", f"{line.number}")
        for file in line_list(report).files
        for line in file.lines
    ]


def elements(report: pl.Report) -> list[Line]:
    ((begin, end),) = answers.intervals(report, "x", TILE)
    words = f"{end - begin} elements in 1 interval: [{begin}, {end})"
    return [("Where x lies: on 32 tiles",), (f"Tile {TILE} has {words}",)]


def gathered(report: pl.Report) -> list[Line]:
    found = [each for each in report.insights.findings if "is gathered from" in each.why]
    return [(each.what, each.why, f"{each.bytes:,} B") for each in found]


def accesses(report: pl.Report) -> list[Line]:
    """What each step reads and writes, as the edges of the graph tell."""
    names = [each.name for each in report.compilation.variables]
    return [
        (f"{names[each.variable]} -> {step.name}:", f"{each.read:,} B")
        if each.read
        else (f"{step.name} -> {names[each.variable]}:", f"{each.written:,} B")
        for step in report.compilation.accesses
        for each in step.accesses
    ]


def operations(report: pl.Report) -> list[Line]:
    return [(f"{each.steps}", f"{each.cycles:,}") for each in report.execution.operations()]


def changed(report: pl.Report) -> list[Line]:
    later = load(MATVEC, [("split", 8)]).report
    cycles = cycles_of(report), cycles_of(later)
    steps = zip(report.execution.steps, later.execution.steps, strict=True)
    return [
        (
            "cycles",
            *(f"{each:,}" for each in cycles),
            f"+{share(cycles[1] - cycles[0], cycles[0])}",
        ),
        *((one.name, f"{one.cycles:,}", f"{other.cycles:,}") for one, other in steps),
    ]


ANSWERS: dict[str, list[tuple[str, Lines]]] = {
    "does it fit, and by how much?": [("tab=overview", fits)],
    "what is on this tile at its peak?": [(f"tab=memory&tile={TILE}", on_the_tile)],
    "what fills the tiles?": [
        ("tab=memory", lambda r: [("limit 638,976 B", "most", fits(r)[1][0])])
    ],
    "which tiles are worst, how uneven is it?": [("tab=tiles&by=memory", uneven)],
    "when is memory needed, who frees late?": [("tab=liveness&tile=31", live)],
    "where on the tile does it lie, where are gaps?": [(f"tab=memory&tile={TILE}", gaps)],
    "where do cycles go?": [("tab=steps", steps), ("tab=overview", phases)],
    "how near is it to the limits of a tile?": [("tab=steps", rates)],
    "what do all tiles do, in time?": [],  # test_the_pointer_tells_what_a_tile_does_when
    "who waits for whom?": [("tab=tiles&by=waited", waited)],
    "how much is exchanged, why, from where to where?": [("tab=exchange", exchanged)],
    "what do I look at first?": [("tab=overview", findings)],
    "what runs after what, and what does it cost?": [("tab=program", program)],
    "what reads and writes what?": [("tab=graph", accesses)],
    "which line of mine is it?": [("tab=steps", lines), ("tab=source", numbers)],
    "where does a variable lie?": [(f"tab=variables&held=10&tile={TILE}", elements)],
    "why is this field gathered from several places?": [("tab=exchange", gathered)],
    "which operation or layer takes it?": [("bfs: tab=overview", operations)],
    "what ran in which order?": [],  # test_the_pointer_tells_what_ran_when
    "did my change help?": [("later: tab=compare", changed)],
    "can I send what I see?": [],  # test_an_address_shows_what_its_sender_saw
}
"""The addresses that a question is answered at, by default in the page of matvec.py."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[pl.Report, Path]]:
    """The pages by name, each with its report."""
    folder = tmp_path_factory.mktemp("pages")
    matvec, later = (load(MATVEC, given).report for given in ([], [("split", 8)]))
    ran = load(BFS, tracing=1000)
    ran.report.save(folder / "bfs.json", ran.trace)
    bfs = pl.Report.load(folder / "bfs.json")
    written = {
        "matvec": (matvec, report_page(matvec)),
        "later": (matvec, report_page(later, before=matvec)),
        "bfs": (bfs, report_page(bfs)),
    }
    found = {}
    for name, (report, html) in written.items():
        path = folder / f"{name}.html"
        path.write_text(html)
        found[name] = report, path
    return found


SHOW = """async (address) => {
    if (location.hash === address) return;
    const drawn = new Promise((done) => addEventListener("popstate", done, { once: true }));
    location.hash = address;
    await drawn;
}"""
"""Goes to an address; the page's own listener was there first, so that all is drawn then."""

Pages = dict[str, tuple[pl.Report, Path]]


@pytest.fixture(scope="module")
def shown(browser: Browser, pages: Pages) -> Iterator[Callable[[str, str], str]]:
    """What a page, which is opened once, shows at an address."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    found = {name: context.new_page() for name in pages}
    for name, (_, path) in pages.items():
        found[name].goto(path.as_uri())
        found[name].wait_for_selector("html[data-ready]", state="attached")

    def of(name: str, address: str) -> str:
        page = found[name]
        page.evaluate(SHOW, f"#{address}")
        drawn = page.locator(".graphRoot svg title").all_text_contents()
        return "\n".join([page.locator("#view").inner_text(), *drawn])

    yield of
    context.close()


def test_every_question_that_names_a_tab_is_here(root: Path) -> None:
    table = (root / "docs" / "viewing.md").read_text()
    rows = re.findall(r"^\| ([a-z][^|]+\?) \|[^|]*\|([^|]*)\|", table, re.MULTILINE)
    assert [question for question, tab in rows if tab.strip()] == list(ANSWERS)


@pytest.mark.parametrize("question", [each for each, where in ANSWERS.items() if where])
def test_the_answer_is_in_the_tab(
    question: str, shown: Callable[[str, str], str], pages: Pages
) -> None:
    for place, wanted in ANSWERS[question]:
        name, _, address = place.rpartition(": ")
        report, _ = pages[name or "matvec"]
        told = list(wanted(report))
        assert told
        assert missing(shown(name or "matvec", address), told) == []


def pointed(page: Page, x: float, y: float) -> str:
    """Return what the pointer is told on the picture of time, at parts of its width and height."""
    box = page.locator("#view canvas").first.bounding_box()
    assert box is not None
    left, top, below = 74, 22, 22
    wide, tall = box["width"] - left - 8, box["height"] - top - below
    page.mouse.move(box["x"] + left + x * wide, box["y"] + top + y * tall)
    return page.locator("#tip").inner_text()


def test_the_pointer_tells_what_a_tile_does_when(opened: Open, pages: Pages) -> None:
    """Tiles 0 and 31 copy before the second step; all others wait for them."""
    report, path = pages["matvec"]
    page = opened(path, "#tab=steps").page
    first, second = report.execution.steps
    copied = second.phases[0]
    assert copied.kind == "copy"
    time = (first.cycles + copied.cycles / 2) / cycles_of(report)
    for tile in (0, 1, 17, 31):
        kind = "copied on its tile" if copied.tile_cycles[tile] else "waiting for other tiles"
        said = pointed(page, time, (tile + 0.5) / 32).splitlines()
        assert second.name in said[0]
        assert said[1] == f"tile {tile}: {kind}"


def test_the_pointer_tells_what_ran_when(opened: Open, pages: Pages) -> None:
    report, path = pages["bfs"]
    page = opened(path, "#tab=steps&run=ran").page
    order = [number for number, count in report.order for _ in range(count)]
    once = [step.cycles / step.executions for step in report.execution.steps]
    ends = np.cumsum([once[number] for number in order])
    for place in (0, len(order) // 2, len(order) - 1):
        time = (ends[place] - once[order[place]] / 2) / ends[-1]
        assert report.execution.steps[order[place]].name in pointed(page, time, 0.5)


# -- a number of each tab --------------------------------------------------------------------------


def view(page: Page) -> str:
    return page.locator("#view").inner_text()


def with_commas(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


@pytest.fixture
def matvec() -> pl.Report:
    return load(f"{EXAMPLES / 'matvec.py'}:build").report


@pytest.fixture
def path(matvec: pl.Report, tmp_path: Path) -> Path:
    file = tmp_path / "matvec.html"
    file.write_text(matvec.to_html())
    return file


def test_waiting_by_tile(opened: Open, matvec: pl.Report, path: Path) -> None:
    page = opened(path, "#tab=tiles&by=waited").page
    waited = quantity_map(matvec, "waited").value
    assert f"most {waited.max():,} cycles on tile {waited.argmax()}" in view(page)
    assert f"mean {with_commas(waited.mean())} cycles" in view(page)


def test_a_line_leads_to_its_steps_vertices_and_memory(
    opened: Open, matvec: pl.Report, path: Path
) -> None:
    (file,) = line_list(matvec).files
    line = max(file.lines, key=lambda line: (line.steps, line.cycles))
    page = opened(path, "#tab=source").page
    assert page.locator(".lines tbody tr").count() == len(file.lines)
    page.locator(f".lines tbody tr:has(td:nth-child(5):text-is('{line.number}'))").click()
    assert f"line={quote(f'{file.name}:{line.number}', safe='')}" in page.url

    def behind(name: str) -> list[str]:
        own = page.locator(f".lines td table:has(th:text-is('{name}')) tbody tr")
        return list(own.all_inner_texts())

    is_here = re.compile(rf"(^|, called at ){re.escape(file.name)}:{line.number}( |$)")
    steps = [step for step in matvec.execution.steps if is_here.search(step.at)]
    ordered = sorted(steps, key=lambda step: -step.cycles)
    assert [row.split("\t")[1] for row in behind("step")] == [f"{s.cycles:,}" for s in ordered]
    held = [each for each in matvec.compilation.memory.held if is_here.search(each.at)]
    assert len(behind("in memory")) == len(held)
    sets = [matvec.compilation.compute_sets[step.compute_set or 0] for step in steps]
    vertices = [each for one in sets for each in one.vertices if is_here.search(each.at)]
    counts = sorted((f"{each.count_by_tile.total:,}" for each in vertices), key=len)
    assert sorted((row.split("\t")[1] for row in behind("vertices")), key=len) == counts
    page.locator(".lines td table tbody tr").first.click()
    assert f"tab=steps&tile={int(ordered[0].tile_cycles.argmax())}" in page.url
    assert f"step={ordered[0].number}" in page.url


def test_text_of_lines_is_there_where_it_was_asked_for(
    opened: Open, matvec: pl.Report, path: Path, tmp_path: Path
) -> None:
    lines = Path(MATVEC.partition(":")[0]).read_text().split("\n")
    shown = tmp_path / "shown.html"
    shown.write_text(matvec.to_html(source=True))
    (file,) = line_list(matvec, source=True).files
    page = opened(shown, "#tab=source").page
    codes = page.locator(".lines td > code")
    assert [text.rstrip() for text in codes.all_text_contents()] == [
        lines[number - 1].rstrip() for number, _ in file.text
    ]
    assert f"SHA-256 {file.digest}" in view(page)
    page.get_by_role("button", name="memory").click()  # sorted: lines around are left out
    assert codes.count() == len(file.lines)
    assert "--source" in view(opened(path, "#tab=source").page)
    assert lines[file.lines[0].number - 1].strip() not in path.read_text()


def test_shares_of_the_program(opened: Open, matvec: pl.Report, path: Path) -> None:
    page = opened(path, "#tab=program").page
    found = page.locator(".tree .leaf")
    assert found.count() == len(matvec.execution.steps)
    for step, row in zip(matvec.execution.steps, found.all_inner_texts(), strict=True):
        assert step.name in row
        assert matvec.cycles is not None
        assert f"{100 * step.cycles / matvec.cycles:.1f} %" in row


def test_elements_of_a_variable_by_tile(opened: Open, matvec: pl.Report, path: Path) -> None:
    held = [each.name for each in matvec.compilation.memory.held]
    page = opened(path, f"#tab=variables&held={held.index('matrix')}&tile=7").page
    variable = next(v for v in matvec.compilation.variables if v.name == "matrix")
    assert variable.first is not None
    assert variable.tiles is not None
    begins, tiles = variable.first.array(), variable.tiles.array()
    ends = np.append(begins[1:], 96 * 160)
    own = [f"[{begins[k]:,}, {ends[k]:,})" for k in np.flatnonzero(tiles == 7)]
    elements = int((ends - begins)[tiles == 7].sum())
    words = f"Tile 7 has {elements} elements in {len(own)} intervals: {', '.join(own[:4])}"
    assert words in view(page)
    box = page.locator("#view canvas").first.bounding_box()
    assert box is not None
    row, column = 40, 120
    x = box["x"] + 8 + (column + 0.5) * (box["width"] - 16) / 160
    page.mouse.click(x, box["y"] + 2 + (row + 0.5) * (box["height"] - 6) / 96)
    owner = tiles[np.searchsorted(begins, row * 160 + column, "right") - 1]
    assert page.locator("#side").inner_text().startswith(f"Tile {owner}")
    assert f"Tile {owner} has" in view(page)


def test_the_graph_has_all_nodes(opened: Open, matvec: pl.Report, path: Path) -> None:
    page = opened(path, "#tab=graph").page
    drawn = page.locator(".graphRoot svg .node > title").all_text_contents()
    meant = ["\n".join([node.title, *node.lines()]) for node in dataflow_of_report(matvec).nodes]
    assert sorted(drawn) == sorted(meant)


def test_from_where_to_where_is_not_drawn_where_the_host_takes_part(
    opened: Open, tmp_path: Path
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    stream = graph.add_host_to_device_fifo("in", pl.INT, 64)
    program = pl.Sequence(pl.Copy(stream, a), pl.Copy(a.reverse(0), b))
    file = tmp_path / "stream.html"
    file.write_text(pl.Engine(graph, program).report().to_html())
    page = opened(file, "#tab=exchange&step=1").page
    assert "the host takes part" in view(page)
    assert "Rows add up" not in view(page)
    for address in ("", "&step=2"):
        page = opened(file, "#tab=exchange" + address).page
        assert "Rows add up to what tiles receive" in view(page)
        rows = page.locator("h3:text-is('The largest pairs of tiles') + * tbody tr")
        assert rows.all_inner_texts()[0].endswith("64 B")
    assert "What the host sends, 256 B, is not drawn" in view(opened(file, "#tab=exchange").page)
    assert "What the host sends" not in view(page)


def test_what_ranks_sent_each_other(opened: Open, matvec: pl.Report, path: Path) -> None:
    first, second = matvec.execution.steps
    sent = tuple(
        BetweenRanks(each.name, each.program_name, each.row, each.number, each.at, 1, 3, size)
        for each, size in ((first, 1_234), (second, 98_765))
    )
    file = path.with_name("ranks.html")
    file.write_text(replace(matvec, between_ranks=sent).to_html())
    page = opened(file, "#tab=exchange").page
    assert "99,999 B in 6 messages" in view(page)
    rows = "h3:text-is('Sent between ranks') ~ .table tbody tr"
    assert [second.name in row for row in page.locator(rows).all_inner_texts()] == [True, False]
    page.locator(rows).last.click()
    assert page.locator("#side").inner_text().count(first.name)
    assert "1,234 B in 3 messages" in view(page)
    assert "Sent between ranks" not in view(opened(path, "#tab=exchange").page)


def test_what_is_folded_stays_so(opened: Open, path: Path) -> None:
    page = opened(path, "#tab=program").page
    page.locator(".tree summary").first.click()
    assert page.locator(".tree .leaf").first.is_hidden()
    for key in ("j", "1", "7"):
        page.keyboard.press(key)
    assert page.locator(".tree .leaf").first.is_hidden()
    page.locator(".tree summary").first.click()
    page.keyboard.press("j")
    assert page.locator(".tree .leaf").first.is_visible()


def test_the_graph_stays_where_it_was_moved(opened: Open, path: Path) -> None:
    page = opened(path, "#tab=graph", width=420).page
    for _ in range(3):
        page.get_by_role("button", name="+", exact=True).click()
    box = page.locator(".graph")
    box.evaluate(
        "async (box) => { box.scrollTo(60, 40); await new Promise(requestAnimationFrame); }"
    )
    for keys in ("j", "12", "9"):
        for key in keys:
            page.keyboard.press(key)
    assert box.evaluate("(box) => [box.scrollLeft, box.scrollTop]") == [60, 40]


@deep
def test_a_page_of_1472_tiles(opened: Open, tmp_path: Path) -> None:
    report = load(f"{EXAMPLES / 'photo.py'}:build").report
    file = tmp_path / "photo.html"
    file.write_text(report.to_html())
    found = opened(file)
    assert f"{report.cycles:,}" in view(found.page)
    for number in range(1, 10):
        found.page.keyboard.press(str(number))
        assert len(view(found.page)) >= 10
    assert found.complaints == []
