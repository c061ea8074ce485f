"""Pictures of memory and of tiles as files, of a report that is written by hand.

`POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them anew; look at them, in
light and dark, before they are committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.small_report import small_report, without_addresses
from poplite.viz.draw.terminal import Style
from poplite.viz.forms import Forms, liveness_forms, memory_forms, quantity_forms, tile_forms
from poplite.viz.liveness.live_steps import live_steps
from poplite.viz.memory.memory_bars import memory_bars
from poplite.viz.one_tile.tile_contents import tile_contents
from poplite.viz.tiles.quantities import quantity_map

HERE = Path(__file__).parent / "memory"

STYLES = {
    "80": Style(),
    "40": Style(width=40),
    "160": Style(width=160),
    "ascii": Style(ascii_only=True),
    "color": Style(color=True),
}


def subjects() -> dict[str, Forms]:
    """The pictures of a report, and of some variations."""
    report = small_report()
    over = small_report(tile_memory_bytes=2400)
    many = small_report(tiles=600)
    return {
        "memory": memory_forms(memory_bars(report), 4),
        "memory_over": memory_forms(memory_bars(over, stack="variable", sort="size"), 3),
        "memory_many": memory_forms(memory_bars(many, stack="live"), 2),
        "tile": tile_forms(tile_contents(report, 1)),
        "tile_step": tile_forms(tile_contents(report, 0, step="1")),
        "tile_old": tile_forms(tile_contents(without_addresses(over), 1)),
        "liveness": liveness_forms(live_steps(report)),
        "liveness_top": liveness_forms(live_steps(over, 4, top=1)),
        "tiles_memory": quantity_forms(quantity_map(report), "memory"),
        "tiles_over": quantity_forms(quantity_map(over, scale="zero"), "memory"),
        "tiles_waited": quantity_forms(quantity_map(report, "waited", step="2"), "waited"),
        "tiles_part": quantity_forms(quantity_map(many, "cycles", tiles=range(1, 41)), "cycles"),
    }


FULL = ("memory", "tile", "liveness", "tiles_waited")
"""Subjects that are drawn in every form and width."""


def pictures() -> dict[str, Callable[[], str]]:
    """The files by name."""
    found: dict[str, Callable[[], str]] = {}
    for name, forms in subjects().items():
        styles = STYLES if name in FULL else {"80": STYLES["80"]}
        for style_name, style in styles.items():
            found[f"{name}_{style_name}.txt"] = lambda f=forms, s=style: f.text(s)  # type: ignore[misc]
        found[f"{name}.svg"] = forms.svg
        if name in FULL:
            assert forms.json is not None
            found[f"{name}.json"] = forms.json
        if name in FULL and forms.csv is not None:
            found[f"{name}.csv"] = forms.csv
    return found


PICTURES = pictures()


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_as_before(name: str) -> None:
    path, picture = HERE / name, PICTURES[name]().encode()
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        path.write_bytes(picture)
    assert path.is_file(), "POPLITE_UPDATE_GOLDEN=1 writes it"
    assert picture.decode() == path.read_bytes().decode()


def test_every_file_is_compared() -> None:
    assert {path.name for path in HERE.iterdir()} == set(PICTURES)


@pytest.mark.parametrize("name", [name for name in PICTURES if name.endswith(".txt")])
def test_text_keeps_to_its_columns(name: str) -> None:
    width = {"40": 40, "160": 160}.get(name.removesuffix(".txt").rpartition("_")[2], 80)
    text = PICTURES[name]()
    if "color" not in name:
        assert max(map(len, text.splitlines())) <= width
    if "ascii" in name:
        assert text.isascii()
