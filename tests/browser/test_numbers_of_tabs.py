"""The report page in a browser: one number of each tab that Python computed too, and what lasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.report.execution import BetweenRanks
from poplite.tools.viz.load_report import load
from poplite.viz.dataflow.of_report import dataflow_of_report
from poplite.viz.tiles.quantities import quantity_map

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

Open = Callable[..., Any]

EXAMPLES = Path(__file__).parents[2] / "examples"


def view(page: Page) -> str:
    return page.locator("#view").inner_text()


def shown(number: float) -> str:
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
    assert f"mean {shown(waited.mean())} cycles" in view(page)


def test_cycles_by_line(opened: Open, matvec: pl.Report, path: Path) -> None:
    page = opened(path).page
    assert "Cycles by line" in view(page)
    lines: dict[str, int] = defaultdict(int)
    for step in matvec.execution.steps:
        lines[step.at] += step.cycles
    rows = page.locator("h3:text-is('Cycles by line') + * tbody tr").all_inner_texts()
    assert len(rows) == len(lines)
    for row, cycles in zip(rows, sorted(lines.values(), reverse=True), strict=True):
        assert f"{cycles:,}" in row


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
    meant = ["\n".join([node.title, *node.facts()]) for node in dataflow_of_report(matvec).nodes]
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
    for address in ("", "&step=1"):
        page = opened(file, "#tab=exchange" + address).page
        assert "the host takes part" in view(page)
        assert "Rows add up" not in view(page)
    assert "Rows add up to what tiles receive" in view(opened(file, "#tab=exchange&step=2").page)


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
