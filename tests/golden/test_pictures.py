"""Pictures as files: any change of a byte shows in review.

Those that name the user's lines are drawn of scripts: `net.py`, `fan.py` and `ring.py`.

`POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them anew; look at them, in
light and dark, before they are committed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from helpers.small_report import small_report, without_addresses
from poplite import FLOAT, INT, Engine, Target
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.program import Program
from poplite.report import Report
from poplite.tools.viz.load_target import load_target
from poplite.viz import (
    graph_dot,
    graph_svg,
    graph_text,
    program_svg,
    program_text,
    summary_svg,
    summary_text,
    tensor_html,
    tensor_svg,
    tensor_text,
    tiles_svg,
    tiles_text,
)
from poplite.viz.compare import Comparison, outcomes, parsed
from poplite.viz.dataflow.graph import dataflow_of
from poplite.viz.dataflow.picture import DataflowPicture
from poplite.viz.draw.words import Style, cells
from poplite.viz.exchange import traffic_of
from poplite.viz.lines import line_list
from poplite.viz.memory import live_steps, memory_bars
from poplite.viz.one_tile import tile_contents
from poplite.viz.painters import PictureData
from poplite.viz.program import program_tree
from poplite.viz.steps import scope_tree, step_list, timeline_of
from poplite.viz.summary import summary_of
from poplite.viz.tensors.frame_picture import RegionsPicture
from poplite.viz.tensors.frames import frames_of, frames_of_field
from poplite.viz.tensors.views import read_operation
from poplite.viz.tile_map import quantity_map

HERE = Path(__file__).parent


def plate() -> Tensor:
    """A 64 x 128 plate in 4 x 4 blocks."""
    tensor = Graph(Target(tiles=16)).add_variable(FLOAT, (64, 128), "plate")
    for tile in range(16):
        row, column = divmod(tile, 4)
        block = tensor[16 * row : 16 * row + 16, 32 * column : 32 * column + 32]
        tensor.graph.set_tile_mapping(block, tile)
    return tensor


def bias() -> Tensor:
    """Four tiles, three elements each, and two elements forgotten."""
    tensor = Graph(Target(tiles=4)).add_variable(INT, (2, 7), "head/bias")
    for tile in range(4):
        tensor.graph.set_tile_mapping(tensor.flatten()[3 * tile : 3 * tile + 3], tile)
    return tensor


def mapping() -> TileMapping:
    """Where the elements of `bias` live."""
    tensor = bias()
    return tensor.graph.tile_mapping(tensor, require_complete=False)


def two_ipus() -> Graph:
    """A variable over the first IPU, and one over half of the second."""
    graph = Graph(Target(tiles=144, ipus=2))
    graph.create_virtual_graph(72).add_variable(FLOAT, (72,), "x", mapping="linear")
    graph.create_virtual_graph(72, 108).add_variable(FLOAT, (360,), "y", mapping="linear")
    return graph


def spread() -> Graph:
    """More on every tile than on the one before; the last three hold too much."""
    graph = Graph(Target(tiles=100, tile_memory_bytes=3556))
    for tile in range(100):
        graph.add_variable(FLOAT, (tile,), f"x{tile}", mapping=tile)
    return graph


def machine() -> Graph:
    """A photograph's worth of elements over a whole Mk2."""
    graph = Graph()
    graph.add_variable(FLOAT, (427, 640, 4), "image/a", mapping="linear")
    graph.add_variable(FLOAT, (500,), "image/row", mapping="linear")
    return graph


def net() -> tuple[Graph, Program]:
    """The graph and the program of `net.py`."""
    graph, program = load_target(f"{HERE / 'net.py'}:build")
    assert program is not None
    return graph, program


def fan() -> tuple[Graph, Program]:
    """The graph and the program of `fan.py`."""
    graph, program = load_target(f"{HERE / 'fan.py'}:build")
    assert program is not None
    return graph, program


def every() -> tuple[Graph, Program]:
    """The graph and the program of `every.py`."""
    graph, program = load_target(f"{HERE / 'every.py'}:build")
    assert program is not None
    return graph, program


@cache
def ring(most: int = 900) -> Report:
    """The report of a run of `ring.py`."""
    graph, program = load_target(f"{HERE / 'ring.py'}:build", [("most", most)])
    assert program is not None
    engine = Engine(graph, program, interpret=True)
    engine.run()
    return engine.report()


def text_of(forms: PictureData, width: int = 80, **style: bool) -> str:
    """A picture as text, in a terminal with so many columns."""
    return forms.text(Style(width=width, **style))


def ring_steps(sort: str = "cycles") -> PictureData:
    """What the steps of the ring take."""
    return step_list(ring(), sort=sort)


def ring_timeline() -> PictureData:
    """All tiles of the ring in time."""
    return timeline_of(ring())


def ring_exchange(top: int = 10) -> PictureData:
    """What tiles of the ring send each other."""
    return traffic_of(ring(), top=top)


def ring_lines(*, source: bool = True) -> PictureData:
    """What the lines of the ring take, with their text."""
    return line_list(ring(), source=source)


def ring_change(top: int = 20) -> Comparison:
    """What a faster ring changes, with checks that pass and fail."""
    checks = [parsed(text) for text in ("cycles>+5%", "balance<80", "kind:message>+0")]
    checked = tuple(outcomes(ring(), ring(400), checks))
    return Comparison(("ring.json", "faster|ring.json"), ring().diff(ring(400)), checked, top)


def rows() -> RegionsPicture:
    """Every other column of some rows, turned and repeated."""
    x = Graph(Target(tiles=4)).add_variable(FLOAT, (6, 8), "x", mapping="linear")
    chain = "1:5, ::2", "dimShuffle(1, 0)", "reverse 0", "broadcast 2 1"
    return RegionsPicture(frames_of(x, list(map(read_operation, chain))))


def joined() -> RegionsPicture:
    """Two variables put together, one of them without tiles."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (4, 6), "model/x", mapping="linear")
    graph.add_variable(FLOAT, (2, 6), "広い <y>")
    chain = "1:3", "concat 広い <y>", "flatten", "subSample 3 0"
    return RegionsPicture(frames_of(x, list(map(read_operation, chain))))


def large() -> RegionsPicture:
    """A plate in blocks, of which columns are taken."""
    operations = map(read_operation, ("8:40", "dimShuffle 1,0"))
    return RegionsPicture(frames_of(plate(), list(operations)))


def field() -> RegionsPicture:
    """A field of a vertex."""
    return RegionsPicture(frames_of_field(net()[0], "back#3.x"))


PICTURES: dict[str, Callable[[], str]] = {
    "steps_ring.txt": lambda: text_of(ring_steps()),
    "steps_ring_40.txt": lambda: text_of(ring_steps(), 40, ascii_only=True),
    "steps_ring_160.txt": lambda: text_of(ring_steps("program"), 160, color=True),
    "steps_ring.svg": lambda: ring_steps().svg(),
    "steps_ring.json": lambda: step_list(ring()).json(),
    "timeline_ring.txt": lambda: text_of(ring_timeline()),
    "timeline_ring_40.txt": lambda: text_of(ring_timeline(), 40, ascii_only=True),
    "timeline_ring_160.txt": lambda: text_of(ring_timeline(), 160),
    "timeline_ring.svg": lambda: ring_timeline().svg(),
    "timeline_ring.json": lambda: timeline_of(ring()).json(),
    "exchange_ring.txt": lambda: text_of(ring_exchange()),
    "exchange_ring_40.txt": lambda: text_of(ring_exchange(2), 40, ascii_only=True),
    "exchange_ring_160.txt": lambda: text_of(ring_exchange(), 160, color=True),
    "exchange_ring.svg": lambda: ring_exchange(3).svg(),
    "exchange_ring.json": lambda: traffic_of(ring()).json(),
    "ops_ring.txt": lambda: text_of(scope_tree(ring())),
    "ops_ring_40.txt": lambda: text_of(scope_tree(ring()), 40, ascii_only=True),
    "ops_ring.csv": lambda: scope_tree(ring(), depth=5, sort="program").csv(),
    "ops_ring.svg": lambda: scope_tree(ring()).svg(),
    "ops_ring.json": lambda: scope_tree(ring()).json(),
    "lines_ring.txt": lambda: text_of(ring_lines()),
    "lines_ring_40.txt": lambda: text_of(ring_lines(), 40, ascii_only=True),
    "lines_ring_160.txt": lambda: text_of(ring_lines(), 160, color=True),
    "lines_ring.csv": lambda: ring_lines(source=False).csv(),
    "lines_ring.svg": lambda: ring_lines().svg(),
    "lines_ring.json": lambda: ring_lines().json(),
    "diff_ring.txt": lambda: ring_change().text(),
    "diff_ring_40.txt": lambda: ring_change(1).text(Style(width=40, ascii_only=True)),
    "diff_ring_160.txt": lambda: ring_change().text(Style(width=160, color=True)),
    "diff_ring.md": lambda: ring_change(1).markdown(),
    "diff_ring.html": lambda: ring_change().page("poplite-viz diff"),
    "diff_ring.svg": lambda: ring_change().svg(),
    "diff_ring.json": lambda: ring_change().json(),
    "tiles_spread.txt": lambda: tiles_text(spread()),
    "tiles_spread_40.txt": lambda: tiles_text(spread(), ascii_only=True, width=40),
    "tiles_spread_color.txt": lambda: tiles_text(spread(), color=True),
    "tiles_spread.svg": lambda: tiles_svg(spread()),
    "tiles_ipus.txt": lambda: tiles_text(two_ipus()),
    "tiles_ipus.svg": lambda: tiles_svg(two_ipus()),
    "program_every.txt": lambda: program_text(every()[1], counts=True),
    "program_every.svg": lambda: program_svg(every()[1]),
    "program_every.html": lambda: every()[1]._repr_html_(),
    "graph_every.txt": lambda: graph_text(*every()),
    "graph_every.svg": lambda: graph_svg(*every()),
    "summary_every.txt": lambda: summary_text(*every()),
    "tiles_machine.txt": lambda: tiles_text(machine()),
    "tiles_few.svg": lambda: tiles_svg(bias().graph),
    "tensor_plate.txt": lambda: tensor_text(plate()),
    "tensor_plate.svg": lambda: tensor_svg(plate()),
    "tensor_plate_view.txt": lambda: tensor_text(plate(), "10:40, 20:100:8"),
    "tensor_plate_view.svg": lambda: tensor_svg(plate(), "10:40, 20:100:8"),
    "tensor_bias_view.txt": lambda: tensor_text(bias(), "0:2, ::2"),
    "tensor_bias_view.svg": lambda: tensor_svg(bias(), "0:2, ::2"),
    "tensor_bias_40.txt": lambda: tensor_text(bias(), "0, 1:5", ascii_only=True, width=40),
    "tensor_bias_color.txt": lambda: tensor_text(bias(), "0, 1:5", color=True),
    "tensor_bias_view.html": lambda: tensor_html(bias(), "0:2, ::2"),
    "notebook_tensor.html": lambda: bias()._repr_html_(),
    "notebook_mapping.html": lambda: mapping()._repr_html_(),
    "notebook_compute_set.html": lambda: net()[0].compute_sets[0]._repr_html_(),
    "summary_net.txt": lambda: summary_text(*net()),
    "summary_net_40.txt": lambda: summary_text(*net(), color=True, width=40),
    "summary_net.svg": lambda: summary_svg(*net()),
    "summary_net.json": lambda: summary_of(*net()).json(),
    "summary_machine.txt": lambda: summary_text(machine()),
    "summary_machine.svg": lambda: summary_svg(machine()),
    "program_net.txt": lambda: program_text(net()[1]),
    "program_net_40.txt": lambda: program_text(net()[1], counts=True, width=40),
    "program_net_color.txt": lambda: program_text(net()[1], depth=2, color=True),
    "program_net.svg": lambda: program_svg(net()[1], counts=True),
    "program_net_copies.svg": lambda: program_svg(net()[1], match="Copy"),
    "program_net.json": lambda: program_tree(net()[1]).json(),
    "graph_net.txt": lambda: graph_text(*net()),
    "graph_net_40.txt": lambda: graph_text(*net(), width=40),
    "graph_net_around_color.txt": lambda: graph_text(*net(), around="image", color=True),
    "graph_net.svg": lambda: graph_svg(*net()),
    "graph_net_around.svg": lambda: graph_svg(*net(), around="there", hops=1),
    "graph_net.dot": lambda: graph_dot(*net()),
    "graph_net.json": lambda: DataflowPicture(dataflow_of(*net())).json(),
    "graph_fan.svg": lambda: graph_svg(*fan()),
    "graph_fan_collapsed.txt": lambda: graph_text(*fan(), max_nodes=10),
    "graph_fan_collapsed.svg": lambda: graph_svg(*fan(), max_nodes=10),
    "regions_rows.txt": lambda: rows().text(Style()),
    "regions_rows_40.txt": lambda: text_of(rows(), 40, ascii_only=True),
    "regions_rows.svg": lambda: rows().svg(),
    "regions_rows.json": lambda: rows().json(),
    "regions_joined.txt": lambda: joined().text(Style()),
    "regions_joined.svg": lambda: joined().svg(),
    "regions_large.txt": lambda: large().text(Style()),
    "regions_field.txt": lambda: field().text(Style()),
    "tensor_machine.txt": lambda: tensor_text(tensor_of(machine()), "100:200, 300:400"),
}


def tensor_of(graph: Graph) -> Tensor:
    """A new variable of the graph, mapped like a photograph."""
    return graph.add_variable(FLOAT, (427, 640, 4), "image/b", mapping="linear")


@pytest.fixture(autouse=True)
def in_the_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures name files as they are called from there; what the scripts add is taken back."""
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("net", "fan", "ring"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_as_before(name: str) -> None:
    path, picture = HERE / name, PICTURES[name]().encode()
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        path.write_bytes(picture)
    assert path.is_file(), "POPLITE_UPDATE_GOLDEN=1 writes it"
    assert picture.decode() == path.read_bytes().decode()


@pytest.mark.parametrize("name", [name for name in PICTURES if name.endswith(".txt")])
def test_text_keeps_to_its_columns(name: str) -> None:
    ending = name.removesuffix(".txt").rpartition("_")[2]
    text = re.sub("\x1b\\[[0-9;]*m", "", (HERE / name).read_text())
    assert max(map(cells, text.splitlines())) <= {"40": 40, "160": 160}.get(ending, 80)


def test_every_file_is_compared() -> None:
    files = {path.name for path in HERE.iterdir() if path.is_file() and path.suffix != ".py"}
    assert files == set(PICTURES)


# -- memory and tiles ------------------------------------------------------------------------------
# `POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them anew; look at them, in light
# and dark, before they are committed.


MEMORY = Path(__file__).parent / "memory"

STYLES = {
    "80": Style(),
    "40": Style(width=40),
    "160": Style(width=160),
    "ascii": Style(ascii_only=True),
    "color": Style(color=True),
}


def subjects() -> dict[str, PictureData]:
    """The pictures of a report, and of some variations."""
    report = small_report()
    over = small_report(tile_memory_bytes=2400)
    many = small_report(tiles=600)
    return {
        "memory": memory_bars(report, top=4),
        "memory_over": memory_bars(over, stack="variable", sort="size", top=3),
        "memory_many": memory_bars(many, stack="live", top=2),
        "tile": tile_contents(report, 1),
        "tile_step": tile_contents(report, 0, step="1"),
        "tile_old": tile_contents(without_addresses(over), 1),
        "liveness": live_steps(report),
        "liveness_top": live_steps(over, 4, top=1),
        "tiles_memory": quantity_map(report),
        "tiles_over": quantity_map(over, scale="zero"),
        "tiles_waited": quantity_map(report, "waited", step="2"),
        "tiles_part": quantity_map(many, "cycles", tiles=range(1, 41)),
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
        if (MEMORY / f"{name}.csv").is_file():
            assert forms.csv is not None
            found[f"{name}.csv"] = forms.csv
    return found


MEMORY_PICTURES = pictures()


@pytest.mark.parametrize("name", MEMORY_PICTURES)
def test_picture_of_memory_is_as_before(name: str) -> None:
    path, picture = MEMORY / name, MEMORY_PICTURES[name]().encode()
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        path.write_bytes(picture)
    assert path.is_file(), "POPLITE_UPDATE_GOLDEN=1 writes it"
    assert picture.decode() == path.read_bytes().decode()


def test_every_file_of_memory_is_compared() -> None:
    assert {path.name for path in MEMORY.iterdir()} == set(MEMORY_PICTURES)


@pytest.mark.parametrize("name", [name for name in MEMORY_PICTURES if name.endswith(".txt")])
def test_text_of_memory_keeps_to_its_columns(name: str) -> None:
    width = {"40": 40, "160": 160}.get(name.removesuffix(".txt").rpartition("_")[2], 80)
    text = MEMORY_PICTURES[name]()
    if "color" not in name:
        assert max(map(len, text.splitlines())) <= width
    if "ascii" in name:
        assert text.isascii()
