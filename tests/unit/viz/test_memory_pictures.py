"""Pictures of memory, of one tile and of quantities: their numbers, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from PIL import Image

import poplite as pl
from helpers.small_report import not_modelled, small_report, without_addresses
from poplite import FLOAT, INT, Input, Output, Target, Vector, Vertex
from poplite.errors import InvalidOption, InvalidTileMapping, UnknownName
from poplite.graph import Graph
from poplite.program import Copy, Execute
from poplite.viz import tensor_svg, tensor_text, tiles_svg, tiles_text
from poplite.viz.colours import OVER_LIMIT
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.words import DEFAULT_STYLE, Style, cells
from poplite.viz.marks import Histogram, Picture
from poplite.viz.memory import SORTS, STACKS, Stack, live_steps, memory_bars
from poplite.viz.one_tile import tile_contents
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text
from poplite.viz.summary import overview_of
from poplite.viz.tile_map import (
    QUANTITIES,
    Quantity,
    TileLoad,
    judged_load,
    quantity_map,
    tile_load,
)


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
    rows = [*csv.DictReader(io.StringIO(bars.csv()))]
    needed = report.compilation.memory.including_gaps.array()
    assert [int(row["tile"]) for row in rows] == np.argsort(-needed, kind="stable").tolist()
    assert all(int(row["needed bytes"]) == needed[int(row["tile"])] for row in rows)
    data = json.loads(bars.json())
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
    assert "│!!!!!!!!!!!!!!!!        " in bars.text()
    picture = bars.svg()
    assert 'class="over"><title>tile 1: 312 B over the limit</title>' in picture
    pixels = np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGB"))
    over = (pixels == [int(OVER_LIMIT[k : k + 2], 16) for k in (1, 3, 5)]).all(axis=2)
    assert over.any()


def test_one_tile_and_the_overview_end_at_the_limit_too() -> None:
    report = small_report(tile_memory_bytes=2400)
    tile = tile_contents(report, 1)
    text = tile.text()
    assert "! over the limit of 2,400 B" in text
    assert text.count("!!") >= 1
    assert ' class="over"' in overview_of(report).svg()
    report = small_report()
    assert "!" not in tile_contents(report, 1).text()
    assert ' class="over"' not in overview_of(report).svg()


def test_what_fits_has_nothing_over() -> None:
    bars = memory_bars(small_report())
    assert "!" not in bars.text()
    assert 'class="over' not in bars.svg()


def test_many_tiles_are_few_shapes() -> None:
    bars = memory_bars(small_report(tiles=1470))
    picture = bars.svg()
    assert len(picture) < 100_000
    assert "each column is the fullest of 23 tiles" in bars.text()


def test_numbers_of_one_replica_are_called_that() -> None:
    assert memory_bars(small_report(replicas=2)).heading.endswith("; of one of 2 replicas")
    assert live_steps(small_report(replicas=2)).heading.endswith("; of one of 2 replicas")


def test_liveness_names_the_largest_thing_and_the_peak() -> None:
    live = live_steps(small_report(), 0)
    assert [(row.bytes, row.largest, row.is_peak) for row in live.steps] == [
        (0, "", False),
        (320, "'hidden'", False),
        (768, "rearrangement", True),
    ]
    assert not live.is_worst
    assert live_steps(small_report()).tile == 1
    rows = [*csv.DictReader(io.StringIO(live.csv()))]
    assert [row["rearranged copies"] for row in rows] == ["0", "0", "512"]


def test_a_tile_that_never_needs_more_has_no_peak() -> None:
    live = live_steps(small_report(), 5)
    assert not any(row.is_peak for row in live.steps)
    assert "peak" not in live.text()


def test_only_the_largest_steps_in_their_order() -> None:
    live = live_steps(small_report(), 1, top=2)
    assert [row.number for row in live.steps] == [2, 3]
    assert "... 1 more steps need less" in live.text()


def test_a_program_without_steps_has_pictures_too() -> None:
    report = pl.Engine(pl.Graph(pl.Target(tiles=2)), pl.Sequence()).report()
    assert tile_contents(report, 1).moment().startswith("everything is always live")
    assert "no cycles" in tile_contents(report, 1).text()
    assert live_steps(report).steps == ()
    assert live_steps(report).heading == "liveness of tile 0, the fullest: 3,168 B always live"
    assert "where everything is always live" in memory_bars(report).place()
    assert live_steps(report).svg().startswith("<svg")
    with pytest.raises(UnknownName, match="there are no steps"):
        tile_contents(report, 1, step="1")


@pytest.mark.parametrize("step", [None, "1", "2", "scale", "Execute 'sum <b>'"])
def test_cycles_of_a_tile_add_up(step: str | None) -> None:
    for number in range(6):
        tile = tile_contents(small_report(), number, step=step)
        assert sum(tile.cycles.values()) == tile.elapsed_cycles > 0


def test_a_strip_shows_what_is_live_where_it_lies() -> None:
    tile = tile_contents(small_report(), 0, step="3")
    cells = tile.strip().cells(tile.extent)
    strip = ["" if part is None else part.role.words for part in cells]
    assert strip[:800] == ["stacks"] * 800
    assert set(strip[800:808]) == {""}
    for thing in tile.things:
        assert thing.address is not None
        if thing.is_live:
            assert set(strip[thing.address : thing.address + thing.bytes]) == {thing.kind}
    assert tile.live_bytes == sum(kind != "" for kind in strip)


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
    assert "address" in tile_contents(small_report(), 1).svg()


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
        assert json.loads(quantity_map(report, by).json())["values"] == values
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
    for forms in (memory_bars(small_report(), sort=sort, top=9) for sort in SORTS):
        assert "</script>" not in forms.svg().replace("&lt;", "")
        assert forms.svg().png()[1:4] == b"PNG"


# -- the tile map ----------------------------------------------------------------------------------


SVG = "{http://www.w3.org/2000/svg}"


def load(*sizes: int, limit: int = 638_976, unmapped: int = 0) -> TileLoad:
    """Tiles of float32 elements that take these bytes."""
    size = np.array(sizes, np.int64)
    return TileLoad("a graph", size // 4, size, unmapped, limit)


def bare(counted: TileLoad) -> Picture:
    """The map alone, in colours from 0."""
    picture = replace(counted, scale="zero").picture()
    marks = tuple(mark for mark in picture.marks if not isinstance(mark, Histogram))
    return replace(picture, marks=marks)


def draw_tiles_text(counted: TileLoad, style: Style = DEFAULT_STYLE) -> str:
    return paint_text(bare(counted), style)


def draw_tiles_svg(counted: TileLoad) -> SvgText:
    return paint_svg(bare(counted))


@pytest.fixture
def graph() -> Graph:
    """Four tiles: 8 floats spread, 6 integers on tile 2, 3 floats nowhere."""
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (8,), "x", mapping="linear")
    graph.add_variable(INT, (2, 3), "y", mapping=2)
    graph.add_variable(FLOAT, (3,), "z")
    return graph


def test_counts_every_variable(graph: Graph) -> None:
    counted = tile_load(graph)
    assert counted.elements.tolist() == [2, 2, 8, 2]
    assert counted.size_bytes.tolist() == [8, 8, 32, 8]
    assert counted.unmapped_elements == 3
    assert counted.title == "3 variables"


def test_counts_constants_too(graph: Graph) -> None:
    graph.add_constant(FLOAT, (4,), [1, 2, 3, 4], "c", mapping=3)
    assert tile_load(graph).size_bytes.tolist() == [8, 8, 32, 24]
    assert tile_load(graph).title == "3 variables and 1 constant"


def test_counts_only_the_variables_named_and_each_once(graph: Graph) -> None:
    counted = tile_load(graph, ["y", "y"])
    assert counted.size_bytes.tolist() == [0, 0, 24, 0]
    assert counted.title == "'y'"


def test_an_unknown_name_lists_the_known_ones(graph: Graph) -> None:
    message = r"no variable 'yy' \(did you mean 'y'\?\)(.|\n)*y  int32\[2, 3\](.|\n)*try: "
    with pytest.raises(UnknownName, match=message):
        tile_load(graph, ["yy"])


def test_a_name_that_cannot_be_printed_is_escaped(graph: Graph) -> None:
    name, shown = "two\nlines<&\x00", r"two\nlines<&\x00"
    graph.add_variable(FLOAT, (1,), name, mapping=0)
    assert tiles_text(graph, [name]).splitlines()[0] == f"bytes of variables per tile: '{shown}'"
    root = ET.fromstring(tiles_svg(graph, [name]))
    assert root.attrib["aria-label"] == f"bytes of variables per tile: '{shown}'"
    with pytest.raises(UnknownName) as caught:
        tile_load(graph, ["none"])
    assert f"\n  {shown}  float32[1]" in str(caught.value)


def test_a_graph_without_variables_says_so() -> None:
    with pytest.raises(UnknownName, match=r"it has none(.|\n)*add_variable"):
        tile_load(Graph(), ["x"])
    text = tiles_text(Graph())
    assert "bytes needed per tile: 0 variables, no program\n" in text
    assert "0 B on 0 of 1,472 tiles" in text


def test_text_has_64_tiles_a_line_and_23_lines_for_the_default_target() -> None:
    lines = [line for line in draw_tiles_text(load(*[4] * 1472)).splitlines() if "│" in line]
    assert len(lines) == 23
    assert {line.split("│")[1] for line in lines} == {"█" * 64}
    assert [line.split("│")[0].strip() for line in lines][:3] == ["0", "64", "128"]
    assert lines[-1].startswith("1,408")


@pytest.mark.parametrize("width", [60, 79, 80, 200])
def test_text_fits_the_width(width: int) -> None:
    sizes = (np.arange(1472) * 431).tolist()
    text = draw_tiles_text(load(*sizes, unmapped=99, limit=600_000), Style(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert sum(len(line.split("│")[1]) for line in text.splitlines() if "│" in line) == 1472


def test_shades_rise_with_the_bytes_and_zero_is_blank() -> None:
    row = draw_tiles_text(load(0, 1, 100, 101, 400, 799, 800)).split("│")[1]
    assert row == " ▁▁▂▄██"


def test_over_the_limit_is_an_exclamation_mark() -> None:
    text = draw_tiles_text(load(4, 12, 16, limit=12))
    assert text.split("│")[1].endswith("!")
    assert text.split("│")[1].count("!") == 1
    assert "! 1 tile over its 12 B (2)" in text
    text = replace(load(4, 16, 16, limit=12), tiles=range(1, 2)).drawn.text()
    assert "of tiles 1 to 1\n16 B on 1 tile, mean 16 B\n! 1 tile over its 12 B (1)\n" in text


def test_ascii_text_is_ascii() -> None:
    assert draw_tiles_text(load(0, 1, 5, 8), style=Style(ascii_only=True)).isascii()


def test_colour_is_only_added() -> None:
    colored = draw_tiles_text(load(0, 4, 12, 16, limit=12), style=Style(color=True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == draw_tiles_text(load(0, 4, 12, 16, limit=12))


def test_the_extremes_are_named() -> None:
    assert load(0, 8, 4, 12).balance() == (
        "most 12 B (tile 3), least 4 B (tile 2), mean 8 B a used tile"
    )
    assert load(0, 8, 8).balance() == "8 B on each used tile"
    assert load(0, 0).balance() == ""


def test_svg_has_a_tooltip_for_every_tile(graph: Graph) -> None:
    root = ET.fromstring(tiles_svg(graph, ["x", "y"]))
    tips = [tip.text for tip in root.iter(f"{SVG}title")]
    assert tips[:4] == [
        "tile 0: 8 B, 2 elements",
        "tile 1: 8 B, 2 elements",
        "tile 2: 32 B, 8 elements",
        "tile 3: 8 B, 2 elements",
    ]
    graph.set_tile_mapping(graph.tensor("z"), 3)
    assert "tile 3: 3,188 B, variables 20 B" in tiles_svg(graph)


def test_svg_shades_by_bytes() -> None:
    root = ET.fromstring(draw_tiles_svg(load(0, 1, 600, 1200, 2400, limit=2000)))
    kinds = [r.get("class") for r in root.iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    assert kinds == ["none", "q0", "q2", "q5", "over"]


def test_svg_of_the_default_target_is_small() -> None:
    picture = draw_tiles_svg(load(*[638_976] * 1472))
    assert len(picture.encode()) < 200_000
    assert picture.count("<title>") == 1472


def test_svg_is_the_same_every_time(graph: Graph) -> None:
    assert tiles_svg(graph) == tiles_svg(graph)


def test_names_are_escaped_in_svg() -> None:
    graph = Graph(Target(tiles=1))
    name = 'a<b> & "c"'
    graph.add_variable(FLOAT, (1,), name, mapping=0)
    root = ET.fromstring(tiles_svg(graph, [name]))
    assert root.get("aria-label") == f"bytes of variables per tile: '{name}'"
    assert f"bytes of variables per tile: '{name}'" in [
        text.text for text in root.iter(f"{SVG}text")
    ]


@pytest.mark.parametrize(
    ("sizes", "scale"),
    [
        ((1,), "scale: blank 0 B, █ up to 1 B"),
        ((2, 1), "scale: blank 0 B, ▄ up to 1 B, █ up to 2 B"),
        ((16, 4), "scale: blank 0 B, ▁ up to 2 B, █ up to 16 B"),
    ],
)
def test_the_scale_shows_what_the_map_shows(sizes: tuple[int, ...], scale: str) -> None:
    text = draw_tiles_text(load(*sizes))
    assert scale in text
    if 1 in sizes:
        row = text.splitlines()[-3]
        assert row[row.index("│") + len(sizes)] == scale[len("scale: blank 0 B, ")]


@pytest.mark.parametrize("largest", [1, 2, 5, 11, 12, 40])
def test_the_scale_of_svg_has_no_colour_that_nothing_can_have(largest: int) -> None:
    root = ET.fromstring(draw_tiles_svg(load(*range(largest + 1))))
    squares, scale = set[str](), set[str]()
    for rect in root.iter(f"{SVG}rect"):
        kind = rect.get("class", "")
        if kind.startswith("q"):
            (squares if rect.find(f"{SVG}title") is not None else scale).add(kind)
    assert min(squares, key=lambda kind: int(kind[1:])) in scale
    assert squares <= scale
    lowest = min(scale, key=lambda kind: int(kind[1:]))
    assert lowest in squares


@pytest.mark.parametrize("name", ["x" * 10_000, "広" * 90])
def test_a_long_name_widens_no_picture(name: str) -> None:
    graph = Graph(Target(tiles=4))
    tensor = graph.add_variable(FLOAT, (8,), name, mapping="linear")
    for text in (tiles_text(graph, [name], width=60), tensor_text(tensor, "1:3", width=60)):
        assert max(map(cells, text.splitlines())) <= 60
    for picture in (tiles_svg(graph, [name]), tensor_svg(tensor)):
        root = ET.fromstring(picture)
        assert float(root.attrib["width"]) < 1200
        assert name in root.attrib["aria-label"]


def test_tiles_of_several_ipus_stand_apart() -> None:
    machine = Graph(Target(tiles=144, ipus=2))
    part = machine.create_virtual_graph(72, 144)
    part.add_variable(FLOAT, (72,), "x", mapping="linear")
    assert tile_load(part).size_bytes.tolist() == [0] * 72 + [4] * 72
    lines = tiles_text(part, ascii_only=True).splitlines()
    start = lines.index("IPU 0")
    assert lines[start : start + 6] == [
        "IPU 0",
        "  0 |" + 64 * "." + "|",
        " 64 |" + 8 * "." + "|",
        "IPU 1",
        " 72 |" + 64 * "#" + "|",
        "136 |" + 8 * "#" + "|",
    ]
    assert tiles_text(machine) == tiles_text(part)
    drawn = ET.fromstring(tiles_svg(machine))
    texts = {text.text: text for text in drawn.iter(f"{SVG}text")}
    assert float(texts["IPU 1"].get("y", "")) > float(texts["64"].get("y", ""))
    tips = [(rect, rect.find(f"{SVG}title")) for rect in drawn.iter(f"{SVG}rect")]
    boxes = [rect for rect, tip in tips if tip is not None and "near" not in str(tip.text)]
    assert len(boxes) == 144
    assert len({(box.get("x"), box.get("y")) for box in boxes}) == 144
    assert max(float(box.get("y", "")) for box in boxes) < float(drawn.get("height", "0")) - 140


def test_messages_count_for_what_a_tile_needs() -> None:
    class First(Vertex):
        x: Input[Vector[FLOAT]]
        total: Output[FLOAT]

        def compute(self) -> None:
            self.total = self.x[0]

    graph = Graph(Target(tiles=2, tile_memory_bytes=9_300))
    x = graph.add_variable(FLOAT, (1500,), "x", mapping=0)
    total = graph.add_variable(FLOAT, (), "total", mapping=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, First, tile=1, x=x, total=total)
    assert not [line for line in tiles_text(graph).splitlines() if line.startswith("!")]
    judged = judged_load(graph, Execute(work))
    assert judged.size_bytes.tolist() == [6000, 4]
    assert judged.needed_bytes is not None
    least, most = judged.needed_bytes.tolist()
    assert most > 9_300 > least > 6000  # x, and x once more as a message beside the code
    text = tiles_text(graph, program=Execute(work))
    assert f"most {most:,} B (tile 1), least {least:,} B (tile 0)" in text
    assert "! 1 tile over its 9,300 B (1)" in text
    assert "of these variables: 6,004 B on 2 of 2 tiles" in text
    drawn = ET.fromstring(tiles_svg(graph, program=Execute(work)))
    squares = [rect for rect in drawn.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert [rect.get("class") for rect in squares[:2]] == ["q0", "over"]
    assert "most 6,000 B (tile 0)" in tiles_text(graph, ["x", "total"], program=Execute(work))


def test_what_cannot_be_compiled_says_what_is_not_counted(graph: Graph) -> None:
    text = tiles_text(graph, program=Copy(graph.tensor("z"), graph.tensor("x")[:3]))
    assert text.startswith("bytes of variables per tile: 3 variables\n56 B on 4 of 4 tiles\n")
    assert "! 3 elements have no tile\n! code, messages and stacks are not counted: " in text
