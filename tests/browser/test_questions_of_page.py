"""Every question of docs/viewing.md that names a tab is answered there, with numbers of the report.

What a command answers is looked for in `tests/cli/test_viz_questions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import poplite as pl
from helpers import answers
from helpers.answers import Line, cycles_of, fullest, missing, share
from poplite.tools.viz.load_report import load
from poplite.viz.page import report_page
from poplite.viz.tiles.quantities import quantity_map

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
    least = int(needed.array().min())
    tile = needed.worst_tile
    return [(f"most {needed.most:,} B on tile {tile}", f"least {least:,} B", f"balance {balance}")]


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
        "compute": "vertices compute",
        "copy": "copied on its tile",
        "exchange": "exchange in the IPU",
    }
    found: list[Line] = []
    for kind, words in names.items():
        ran = (phase for step in report.execution.steps for phase in step.phases)
        total = sum(phase.tile_cycles.total for phase in ran if phase.kind == kind)
        found.append((words, share(total / report.tiles, cycles_of(report))))
    return found


def waited(report: pl.Report) -> list[Line]:
    value = quantity_map(report, "waited").value
    return [(f"most {value.max():,} cycles on tile {value.argmax()}", f"least {value.min():,}")]


def exchanged(report: pl.Report) -> list[Line]:
    found = answers.causes(report)
    rows = [(what.replace(" comes", "\tcomes"), f"{size} B", at) for what, size, at in found]
    pairs = [(str(source), "1", "32 B") for source in answers.sources(report, 1)[:1]]
    return [(f"received {answers.received(report):,} B",), *rows, *pairs]


def findings(report: pl.Report) -> list[Line]:
    found = report.insights.findings
    shares = [(share(each.cycles, cycles_of(report)),) for each in found]
    return [*shares, *((f"{each.cycles:,} cycles", each.at.split("/")[1][:13]) for each in found)]


def program(report: pl.Report) -> list[Line]:
    """Each step in its order; the cost stands on a line of its own."""
    ran = report.execution.steps
    names = [(f"Execute {step.name}", f"× {step.executions}") for step in ran]
    return [*names, *((share(step.cycles, cycles_of(report)),) for step in ran)]


def lines(report: pl.Report) -> list[Line]:
    return [(at,) for at in answers.lines(report)]


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
    "what do all tiles do, in time?": [],  # test_the_pointer_tells_what_a_tile_does_when
    "who waits for whom?": [("tab=tiles&by=waited", waited)],
    "how much is exchanged, why, from where to where?": [("tab=exchange", exchanged)],
    "what do I look at first?": [("tab=overview", findings)],
    "what runs after what, and what does it cost?": [("tab=program", program)],
    "what reads and writes what?": [("tab=graph", accesses)],
    "which line of mine is it?": [("tab=steps", lines), ("tab=overview", lines)],
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
