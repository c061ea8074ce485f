"""Pictures of memory, of one tile and of quantities: their numbers, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
from typing import get_args

import numpy as np
import pytest
from PIL import Image

import poplite as pl
from helpers.small_report import not_modelled, small_report, without_addresses
from poplite.errors import InvalidOption, InvalidTileMapping, UnknownName
from poplite.viz.draw.colors import OVER_LIMIT
from poplite.viz.forms import memory_forms
from poplite.viz.liveness.live_steps import live_steps, liveness_csv
from poplite.viz.liveness.svg import draw_liveness_svg
from poplite.viz.liveness.text import draw_liveness_text
from poplite.viz.memory.memory_bars import (
    SORTS,
    STACKS,
    Stack,
    memory_bars,
    memory_csv,
    memory_json,
)
from poplite.viz.memory.svg import draw_memory_svg
from poplite.viz.memory.text import draw_memory_text
from poplite.viz.one_tile.svg import draw_tile_svg
from poplite.viz.one_tile.text import draw_tile_text
from poplite.viz.one_tile.tile_contents import tile_contents
from poplite.viz.overview import draw_overview_svg, overview_of
from poplite.viz.tiles.quantities import QUANTITIES, Quantity, quantity_json, quantity_map


@pytest.mark.parametrize("stack", STACKS)
def test_parts_add_up_to_what_each_tile_needs(stack: Stack) -> None:
    bars = memory_bars(small_report(), stack=stack)
    total = np.sum([part.sizes for part in bars.parts], axis=0)
    assert total.tolist() == bars.needed.tolist()
    assert min(part.sizes.min() for part in bars.parts) >= 0


def test_a_tile_is_drawn_in_its_own_fullest_step() -> None:
    bars = memory_bars(small_report())
    assert bars.step.tolist() == [3, 2, 3, 3, 1, 0]
    assert bars.tile == 1
    assert bars.when == "step 2, Execute 'scale'"
    assert sum(thing.bytes for thing in bars.things) == bars.needed[1] - 6 * 8


def test_rows_and_arrays_are_those_of_the_report() -> None:
    report = small_report()
    bars = memory_bars(report, sort="size")
    rows = [*csv.DictReader(io.StringIO(memory_csv(bars)))]
    needed = report.compilation.memory.including_gaps.array()
    assert [int(row["tile"]) for row in rows] == np.argsort(-needed, kind="stable").tolist()
    assert all(int(row["needed bytes"]) == needed[int(row["tile"])] for row in rows)
    data = json.loads(memory_json(bars))
    assert data["needed_bytes"] == needed.tolist()
    assert {each["name"]: each["bytes"] for each in data["parts"]}["messages"] == [
        0,
        900,
        0,
        0,
        48,
        0,
    ]


def test_what_does_not_fit_is_said_and_drawn_beyond_the_limit() -> None:
    bars = memory_bars(small_report(tile_memory_bytes=2400))
    assert bars.heading == (
        "! memory: does not fit; tile 1: 2,712 B of 2,400 B, 113.0%, 312 B over, and 1 more tile"
    )
    assert "│!!!!!!!!!!!!!!!!        " in draw_memory_text(bars, top=1)
    picture = draw_memory_svg(bars, top=1)
    assert 'class="over"><title>tile 1: 312 B over the limit</title>' in picture
    pixels = np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGB"))
    over = (pixels == [int(OVER_LIMIT[k : k + 2], 16) for k in (1, 3, 5)]).all(axis=2)
    assert over.any()


def test_one_tile_and_the_overview_end_at_the_limit_too() -> None:
    report = small_report(tile_memory_bytes=2400)
    tile = tile_contents(report, 1)
    text = draw_tile_text(tile)
    assert "! over the limit of 2,400 B" in text
    assert text.count("!!") >= 1
    assert ' class="over"' in draw_overview_svg(overview_of(report))
    report = small_report()
    assert "!" not in draw_tile_text(tile_contents(report, 1))
    assert ' class="over"' not in draw_overview_svg(overview_of(report))


def test_what_fits_has_nothing_over() -> None:
    bars = memory_bars(small_report())
    assert "!" not in draw_memory_text(bars, top=1)
    assert 'class="over' not in draw_memory_svg(bars, top=1)


def test_many_tiles_are_few_shapes() -> None:
    bars = memory_bars(small_report(tiles=1470))
    picture = draw_memory_svg(bars, top=3)
    assert len(picture) < 100_000
    assert "each column is the fullest of 23 tiles" in draw_memory_text(bars, top=3)


def test_numbers_of_one_replica_are_called_that() -> None:
    assert memory_bars(small_report(replicas=2)).heading.endswith("; of one of 2 replicas")
    assert live_steps(small_report(replicas=2)).heading.endswith("; of one of 2 replicas")


def test_liveness_names_the_largest_thing_and_the_peak() -> None:
    live = live_steps(small_report(), 0)
    assert [(row.bytes, row.largest, row.is_peak) for row in live.rows] == [
        (0, "", False),
        (320, "'hidden'", False),
        (768, "rearrangement", True),
    ]
    assert not live.is_worst
    assert live_steps(small_report()).tile == 1
    rows = [*csv.DictReader(io.StringIO(liveness_csv(live)))]
    assert [row["rearranged copies"] for row in rows] == ["0", "0", "512"]


def test_a_tile_that_never_needs_more_has_no_peak() -> None:
    live = live_steps(small_report(), 5)
    assert not any(row.is_peak for row in live.rows)
    assert "peak" not in draw_liveness_text(live)


def test_only_the_largest_steps_in_their_order() -> None:
    live = live_steps(small_report(), 1, top=2)
    assert [row.number for row in live.rows] == [2, 3]
    assert live.hidden() == "... 1 more steps need less"


def test_a_program_without_steps_has_pictures_too() -> None:
    report = pl.Engine(pl.Graph(pl.Target(tiles=2)), pl.Sequence()).report()
    assert tile_contents(report, 1).moment().startswith("everything is always live")
    assert "no cycles" in draw_tile_text(tile_contents(report, 1))
    assert live_steps(report).rows == ()
    assert live_steps(report).heading == "liveness of tile 0, the fullest: 3,168 B always live"
    assert "where everything is always live" in memory_bars(report).place()
    assert draw_liveness_svg(live_steps(report)).startswith("<svg")
    with pytest.raises(UnknownName, match="there are no steps"):
        tile_contents(report, 1, step="1")


@pytest.mark.parametrize("step", [None, "1", "2", "scale", "Execute 'sum <b>'"])
def test_cycles_of_a_tile_add_up(step: str | None) -> None:
    for number in range(6):
        tile = tile_contents(small_report(), number, step=step)
        assert sum(tile.cycles.values()) == tile.elapsed > 0


def test_a_strip_shows_what_is_live_where_it_lies() -> None:
    tile = tile_contents(small_report(), 0, step="3")
    strip = tile.strip(tile.extent)
    assert strip[:800] == ["stacks"] * 800
    assert set(strip[800:808]) == {""}
    for thing in tile.things:
        assert thing.address is not None
        if thing.is_live:
            assert set(strip[thing.address : thing.address + thing.bytes]) == {thing.kind}
    assert tile.live == sum(kind != "" for kind in strip)


def test_a_step_shows_its_vertices_alone() -> None:
    of_all = tile_contents(small_report(), 0)
    assert [(each.type, each.count) for each in of_all.vertices] == [("Scale", 2), ("Sum", 1)]
    of_one = tile_contents(small_report(), 0, step="3")
    assert [each.type for each in of_one.vertices] == ["Sum"]
    assert not of_one.step.startswith("main")
    assert of_one.is_peak


def test_a_report_without_addresses_has_no_strip() -> None:
    tile = tile_contents(without_addresses(small_report()), 1)
    assert not tile.is_addressed
    assert [thing.bytes for thing in tile.things] == sorted(
        (thing.bytes for thing in tile.things), reverse=True
    )
    assert "address" in draw_tile_svg(tile_contents(small_report(), 1))


@pytest.mark.parametrize("number", [-1, 6, "6", "first", None])
def test_no_such_tile(number: object) -> None:
    with pytest.raises(InvalidTileMapping, match=r"tiles are 0 to 5"):
        tile_contents(small_report(), number)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", ["0", "4", "scales"])
def test_no_such_step(step: str) -> None:
    with pytest.raises(UnknownName, match=r"steps are numbered 1 to 3"):
        tile_contents(small_report(), 0, step=step)


def test_memory_that_is_not_modelled_is_refused() -> None:
    report = not_modelled(small_report())
    for draw in (memory_bars, live_steps, quantity_map):
        with pytest.raises(InvalidOption, match=r"not modelled"):
            draw(report)


def test_every_quantity_is_that_of_the_report() -> None:
    report = small_report()
    steps = report.execution.steps
    expected: dict[Quantity, list[int]] = {
        "free": (4096 - report.compilation.memory.including_gaps.array()).tolist(),
        "vertices": [3, 2, 2, 2, 2, 0],
        "cycles": report.execution.tile_cycles.tolist(),
        "sent": np.sum([step.bytes_sent for step in steps], axis=0).tolist(),
        "received": [64, 900, 64, 64, 48, 0],
        "copied": [512, 96, 96, 96, 0, 0],
        "waited": [(40 + 1630 + 500) - int(busy) for busy in report.execution.tile_cycles.tolist()],
    }
    for by, values in expected.items():
        assert json.loads(quantity_json(quantity_map(report, by), by))["values"] == values
    assert get_args(Quantity) == QUANTITIES


def test_colors_begin_at_the_least_where_tiles_are_nearly_even() -> None:
    report = small_report()
    assert quantity_map(report, "memory").base == 0
    assert quantity_map(report, "memory", tiles=range(1, 4)).base > 0
    assert quantity_map(report, "memory", scale="least").base == 936
    assert quantity_map(report, "memory", scale="zero", tiles=range(1, 4)).base == 0
    assert quantity_map(report, "vertices", tiles=range(1, 4)).base == 0  # all have two


def test_maps_of_a_step_and_of_some_tiles() -> None:
    waited = quantity_map(small_report(), "waited", step="2", tiles=range(2, 6))
    assert waited.value.tolist() == [1630 - 800, 1630 - 790, 1630 - 705, 1630]
    assert waited.heading.endswith("in step 2, of tiles 2 to 5")
    assert waited.notes[1].startswith("most 1,630 cycles (tile 5)")
    assert quantity_map(small_report(), "vertices", step="3").value.tolist() == [1, 0, 0, 0, 0, 0]


def test_maps_that_mean_nothing_are_refused() -> None:
    report = small_report()
    with pytest.raises(InvalidOption, match=r"--step is for what runs"):
        quantity_map(report, "free", step="1")
    with pytest.raises(InvalidOption, match=r"no tiles 4 to 9(.|\n)*0 to 5"):
        quantity_map(report, "free", tiles=range(4, 10))
    with pytest.raises(UnknownName, match=r"no step '7'"):
        quantity_map(report, "sent", step="7")


def test_every_form_of_names_is_safe() -> None:
    for forms in (memory_forms(memory_bars(small_report(), sort=sort), 9) for sort in SORTS):
        assert "</script>" not in forms.svg().replace("&lt;", "")
        assert forms.svg().png()[1:4] == b"PNG"
