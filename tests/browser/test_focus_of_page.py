"""The report page is drawn anew with each choice: what has the focus keeps it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import poplite as pl

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


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
