"""Pages of one picture: whole, escaped, capped, small, the same every time."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from poplite import FLOAT, Target
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.viz import tensor_html, tiles_html

NAMES = [
    "a<b>\"c\"'d'&e",
    "</script><script>alert(1)</script>",
    "</pre></style></title>",
    "two\nlines\x00\x1b[31m",
    "\ud800 alone",
    "<!-- a ]]> b",
]


class Reader(HTMLParser):
    """Reads a page: every element is closed, in order; text and data are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: dict[str, str] = {}
        self.links: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.text[inside] = self.text.get(inside, "") + data


def embedded(page: str) -> dict[str, object]:
    """The JSON of a page."""
    found = re.findall(r'<script type="application/json" id="data">\n(.*?)</script>', page, re.S)
    assert len(found) == 1
    data: dict[str, object] = json.loads(found[0])
    return data


def variable(name: str = "x", tiles: int = 4) -> Tensor:
    return Graph(Target(tiles=tiles)).add_variable(FLOAT, (8, 6), name, mapping="linear")


@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_break_a_page(name: str) -> None:
    x = variable(name)
    pages = tensor_html(x), tensor_html(x, "1:3"), tiles_html(x.graph, [name])
    for page in pages:
        tags = Reader(page).tags
        assert page.encode()
        assert "\x00" not in page
        assert "\x1b" not in page
        assert tags.count("script") == 2
        assert not {"b", "pre"} & set(tags[: tags.index("details")])
    assert embedded(pages[0])["name"] == name


def test_a_page_needs_nothing_else() -> None:
    page = tensor_html(variable())
    assert Reader(page).links == []
    assert not re.search(r"@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", page)


def test_a_page_says_what_it_shows() -> None:
    x = variable("head/bias")
    page = Reader(tensor_html(x, "2:4"))
    assert page.text["title"].startswith("Tiles of a tensor: 'head/bias' float32[8, 6]")
    assert "[2:4]: shape [2, 6], 12 elements on 1 tile (1)" in page.text["td"]
    assert "Rest the pointer" in page.text["p"]
    assert "'head/bias' float32[8, 6]\non 4 tiles (0-3), 192 B" in page.text["pre"]


def test_every_used_tile_has_a_row_with_its_share() -> None:
    graph = Graph(Target(tiles=4, tile_memory_bytes=3300))
    graph.add_variable(FLOAT, (20,), "x", mapping=1)
    graph.add_variable(FLOAT, (40,), "y", mapping=3)
    page = tiles_html(graph)
    assert "<tr><td>1</td><td>20</td><td>80</td><td>3,248</td><td>98.4%</td></tr>" in page
    assert "<tr><td>3</td><td>40</td><td>160</td><td>3,328</td><td>100.8% !</td></tr>" in page
    assert "<details open><summary>Numbers of 4 used tiles</summary>" in page
    assert "<td>1 tile over its 3,300 B (3)</td>" in page
    assert "most 3,328 B (tile 3), least 3,168 B (tile 0)" in page
    page = tiles_html(graph, ["x"])
    assert "<tr><td>1</td><td>20</td><td>80</td><td>2.4%</td></tr>" in page
    assert "<details open><summary>Numbers of 1 used tile</summary>" in page


def test_intervals_are_listed_up_to_six() -> None:
    x = Graph(Target(tiles=2)).add_variable(FLOAT, (40,), "x")
    for start in range(0, 32, 4):
        x.graph.set_tile_mapping(x[start : start + 2], 1)
    page = tensor_html(x)
    listed = " ".join(f"[{start}, {start + 2})" for start in range(0, 24, 4))
    assert f"<td>1</td><td>16</td><td>64</td><td>{listed} and 2 more</td>" in page
    assert "<td>none</td><td>24</td><td>96</td>" in page


def test_data_is_that_of_the_graph() -> None:
    x = variable()
    data = embedded(tiles_html(x.graph))
    assert (data["poplite"], data["version"]) == ("tiles", 1)
    assert data["elements"] == x.graph.tile_mapping(x).elements_per_tile.tolist()
    assert data["size_bytes"] == (4 * x.graph.tile_mapping(x).elements_per_tile).tolist()
    x = Graph(Target(tiles=2)).add_variable(FLOAT, (8,), "x")
    x.graph.set_tile_mapping(x[2:5], 1)
    data = embedded(tensor_html(x, "1:7:3"))
    assert (data["begin"], data["length"], data["tile"]) == ([0, 2, 5], [2, 3, 3], [None, 1, None])
    assert data["view"] == {"index": "1:7:3", "shape": [2], "begin": [1, 4], "length": [1, 1]}


def test_a_long_table_is_cut_and_says_so() -> None:
    x = Graph(Target(tiles=2038)).add_variable(FLOAT, (2038,), "x", mapping="linear")
    page = tensor_html(x)
    assert page.count("<tr><td>") == 2000
    assert "<p>38 more tiles are left out here; the JSON has all.</p>" in page
    assert "<details><summary>Numbers of 2,038 tiles</summary>" in page
    assert embedded(page)["tile"] == list(range(2038))


def test_data_too_long_for_a_page_is_left_out() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable(FLOAT, (60_000,), "x", mapping=0)
    odd = np.arange(1, 60_000, 2)
    graph.variables[0].mapping.paint_many(odd, odd + 1, np.ones_like(odd))
    page = tensor_html(x)
    assert 'id="data"' not in page
    assert re.search(r"would take 1,\d+,\d+ characters more, .*<code>-o FILE.json</code>", page)
    assert len(page) < 500_000


def test_a_whole_machine_stays_small() -> None:
    graph = Graph()
    x = graph.add_variable(FLOAT, (427, 640, 4), "image", mapping="linear")
    assert graph.target.tiles == 1472
    assert len(tiles_html(graph).encode()) < 500_000
    assert len(tensor_html(x).encode()) < 500_000


def test_pictures_of_nothing() -> None:
    graph = Graph(Target(tiles=3))
    empty = graph.add_variable(FLOAT, (0, 4), "empty")
    for page in (tiles_html(graph, ["empty"]), tensor_html(empty)):
        assert "Numbers of" not in page
        Reader(page)
    unmapped = graph.add_variable(FLOAT, (4,), "lost")
    assert "4 elements have no tile" in Reader(tiles_html(graph)).text["td"]
    assert "on no tile, 16 B" in Reader(tensor_html(unmapped)).text["td"]


def test_equal_input_gives_equal_bytes() -> None:
    assert tensor_html(variable(), "2:4") == tensor_html(variable(), np.s_[2:4])
    assert tiles_html(variable().graph) == tiles_html(variable().graph)


def test_hatching_is_found_in_its_own_picture() -> None:
    pages = [tensor_html(Graph().add_variable(FLOAT, (n,), "x")) for n in (4, 5)]
    ids = [re.findall(r'id="(poplite-[^"]+)"', page) for page in pages]
    used = [re.findall(r"url\(#([^)]+)\)", page) for page in pages]
    assert ids == used
    assert not set(ids[0]) & set(ids[1])
