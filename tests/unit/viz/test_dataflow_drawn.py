"""Drawings of the dataflow graph: the built-in layout, text, SVG and DOT with any name."""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.viz import SvgText, graph_dot, graph_svg, graph_text
from poplite.viz.dataflow.dot import dataflow_dot
from poplite.viz.dataflow.graph import Dataflow, Edge, dataflow_of
from poplite.viz.dataflow.nodes import Node
from poplite.viz.dataflow.svg import draw_dataflow_svg
from poplite.viz.dataflow.text import draw_dataflow_text
from poplite.viz.draw.columns import cells
from poplite.viz.draw.layered_layout import GAP, WIDEST, LayoutLink, layered

SVG = "{http://www.w3.org/2000/svg}"
NAMES = (
    "<b>bold</b>",
    "<",
    '"quoted" \\"',
    "back\\slash\\",
    r"\N \G \l",
    "two\nlines\r\x00\x1b",
    "&amp; &lt;script&gt; ]]>",
    "</title></svg><script>",
    "עברית/广い/😀",
    "-> a -> b",
    "long/" * 60,
    "% {} ' //",
)


def hostile() -> tuple[pl.Graph, pl.Program]:
    """Variables of all names, copied round."""
    graph = pl.Graph(pl.Target(tiles=4))
    data = [graph.add_variable(pl.INT, (4,), name, mapping=0) for name in NAMES]
    copies = [pl.Copy(a, b) for a, b in pairwise(data)]
    prints = [pl.PrintTensor(name, tensor) for name, tensor in zip(NAMES, data, strict=True)]
    return graph, pl.Sequence(*copies, *prints)


def strings(dot: str, attribute: str) -> list[str]:
    """The values of an attribute in DOT text, with escapes taken apart once."""
    raw = re.findall(attribute + r'="((?:[^"\\]|\\.)*)"', dot, re.S)
    shown = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "&amp;": "&"}
    return [re.sub(r'\\\\|\\"|\\n|&amp;', lambda m: shown[m.group()], text) for text in raw]


def test_svg_with_any_name() -> None:
    graph, program = hostile()
    root = ET.fromstring(graph_svg(graph, program))
    tips = [title.text or "" for title in root.iter(f"{SVG}title")]
    flow = dataflow_of(graph, program)
    for node in flow.nodes:
        assert "\n".join([node.title, *node.facts()]) in tips
    drawn = [text.text for text in root.iter(f"{SVG}text")]
    assert {"<b>bold</b>", '"quoted" \\"', "&amp; &lt;script&gt; ]]>"} <= set(drawn)
    assert not list(root.iter(f"{SVG}script"))


def test_dot_with_any_name() -> None:
    graph, program = hostile()
    flow = dataflow_of(graph, program)
    dot = graph_dot(graph, program)
    assert "label=<" not in dot
    assert "tooltip=<" not in dot
    labels = ["\n".join(filter(None, (n.title, n.detail, n.step_text))) for n in flow.nodes]
    assert labels == strings(dot, "label")[1 : len(labels) + 1]  # the first is the graph's
    tips = ["\n".join([node.title, *node.facts()]) for node in flow.nodes]
    taken_apart = [tip.replace("\\\\", "\\") for tip in strings(dot, "tooltip")]
    assert tips == taken_apart[: len(tips)]
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot.split("\n", 1)[1], flags=re.S)
    assert outside.isascii()
    assert "\\" not in outside


@pytest.mark.parametrize("width", [60, 80, 100])
def test_text_with_any_name_fits(width: int) -> None:
    text = graph_text(*hostile(), width=width)
    for line in text.splitlines():
        assert cells(line) <= width
        assert not any(unicodedata.category(c) == "Cc" for c in line)
    assert text.count("Copy") >= len(NAMES) - 1


def test_long_lists_are_broken_between_names() -> None:
    names = [f"variable{k:02}" for k in range(12)]
    nodes = (*(Node("variable", name) for name in names), Node("compute", "work"))
    edges = tuple(Edge(k, 12, 1000 * (k + 1)) for k in range(12))
    text = draw_dataflow_text(Dataflow("dataflow", nodes, edges, 0, "", 13))
    listed = text.split("\n\ndata\n")[0].splitlines()[3:]
    assert all(
        re.fullmatch(r"(  reads:  |          )( '\w+' [\d,]+ B,?)+", line) for line in listed
    )
    assert re.findall(r"'(\w+)'", "\n".join(listed)) == names


def test_text_says_what_goes_both_ways_and_what_is_idle() -> None:
    nodes = (Node("variable", "x"), Node("compute", "a", steps=(1,)), Node("compute", "b"))
    edges = (Edge(0, 1, 16, 16), Edge(0, 2, 16, 8))
    text = draw_dataflow_text(Dataflow("dataflow", nodes, edges, 1, "", 3))
    assert "step 1  'a'  no vertices\n  updates: 'x' 16 B\n" in text
    assert "'b'  no vertices, in no step of the program\n" in text
    assert "  updates: 'x' 16 B read, 8 B written\n" in text


def test_dot_marks_what_goes_both_ways() -> None:
    nodes = (Node("variable", "x", focus=True), Node("compute", "a"), Node("scope", "s/"))
    dot = dataflow_dot(Dataflow("dataflow", nodes, (Edge(0, 1, 16, 8), Edge(1, 2, 4)), 0, "", 3))
    assert 'n0 -> n1 [label="16 B, back 8 B" dir=both tooltip="x <-> a: 16 B, back 8 B"]' in dot
    assert 'n1 -> n2 [label="4 B" tooltip="a -> s/: 4 B"]' in dot
    assert "penwidth=3" in dot.split("n0 [")[1].split("\n")[0]


def test_no_step_stands_above_an_earlier_one() -> None:
    links = [
        LayoutLink(0, 1),
        LayoutLink(1, 2),
        LayoutLink(2, 3),
        LayoutLink(4, 5),
    ]  # 4 and 5 share nothing with the rest
    is_step = [False, True, False, True, False, True]
    row = layered([80.0] * 6, links, [], is_step).row[:6]
    assert row[1] < row[3] <= row[5]
    assert row[4] == row[5] - 1
    free = layered([80.0] * 6, links, []).row[:6]
    assert free[5] < free[3]


def arrows(picture: SvgText) -> int:
    """Count arrow heads."""
    return len(re.findall(r'class="ink"/>', picture))


def test_svg_has_an_arrow_for_each_way() -> None:
    nodes = (Node("variable", "x"), Node("compute", "a"), Node("variable", "y"))
    edges = (Edge(0, 1, 16, 16), Edge(1, 2, 4))
    assert arrows(draw_dataflow_svg(Dataflow("", nodes, edges, 0, "", 3))) == 3
    assert arrows(draw_dataflow_svg(Dataflow("", nodes, (), 0, "", 3))) == 0


def test_a_wide_graph_is_put_into_rows() -> None:
    nodes = (Node("compute", "all"), *(Node("variable", f"y{k}") for k in range(299)))
    edges = tuple(Edge(0, k, 4) for k in range(1, 300))
    picture = draw_dataflow_svg(Dataflow("", nodes, edges, 0, "", 300))
    assert float(ET.fromstring(picture).get("width", "0")) < 1.5 * WIDEST


@st.composite
def drawn_graphs(
    draw: st.DrawFn,
) -> tuple[list[float], list[LayoutLink], list[tuple[int, int]]]:
    widths = draw(st.lists(st.floats(20, 400), max_size=30))
    if len(widths) < 2:
        return widths, [], []
    node = st.integers(0, len(widths) - 1)
    pairs = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
    unique = draw(st.lists(pairs, max_size=60, unique_by=lambda pair: frozenset(pair)))
    links = [LayoutLink(a, b, draw(st.integers(0, 1))) for a, b in unique]
    order = [(min(pair), max(pair)) for pair in draw(st.lists(pairs, max_size=10))]
    return widths, links, order


@given(drawn_graphs())
def test_layout_keeps_the_order_and_lets_nothing_overlap(
    drawn: tuple[list[float], list[LayoutLink], list[tuple[int, int]]],
) -> None:
    widths, links, order = drawn
    layout = layered(widths, links, order)
    for a, b in [*((min(a, b), max(a, b)) for a, b, _ in links), *order]:
        assert layout.row[a] < layout.row[b]
    rows: dict[int, list[tuple[float, float]]] = {}
    for k, (row, center) in enumerate(zip(layout.row, layout.center, strict=True)):
        half = widths[k] / 2 if k < len(widths) else 0.0
        rows.setdefault(row, []).append((center - half, center + half))
    for boxes in rows.values():
        for (_, right), (left, _) in pairwise(sorted(boxes)):
            assert left - right >= GAP - 1e-6
        assert min(boxes)[0] >= -1e-6
        assert max(right for _, right in boxes) <= layout.width + 1e-6


@given(drawn_graphs())
def test_every_edge_is_a_path_from_row_to_row(
    drawn: tuple[list[float], list[LayoutLink], list[tuple[int, int]]],
) -> None:
    widths, links, order = drawn
    layout = layered(widths, links, order)
    for number, (tail, head, kind) in enumerate(links):
        used = [s for s in layout.segments if number in s.links]
        upper, lower = sorted((tail, head), key=layout.row.__getitem__)
        at = {s.upper: s.lower for s in used}
        assert len(at) == len(used) == layout.row[lower] - layout.row[upper]
        node = upper
        while node != lower:
            assert layout.row[at[node]] == layout.row[node] + 1
            node = at[node]
            assert node == lower or node >= len(widths)  # on the way only trunks
        for segment in used:
            ways = {(links[k].kind, links[k].tail, links[k].head) for k in segment.links}
            assert {way[0] for way in ways} == {kind}
            assert len({way[1] for way in ways}) == 1 or len({way[2] for way in ways}) == 1
