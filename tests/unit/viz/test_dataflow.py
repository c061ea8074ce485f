"""The dataflow graph: who reads and writes what, drawn with any name."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep
from poplite.errors import UnknownName
from poplite.viz import SvgText, graph_dot, graph_svg, graph_text
from poplite.viz.dataflow.graph import (
    Dataflow,
    Edge,
    Excerpt,
    Node,
    dataflow_of,
    dataflow_of_report,
)
from poplite.viz.dataflow.picture import DataflowPicture, dataflow_dot
from poplite.viz.draw.layouts import GAP, WIDEST, LayoutLink, layered
from poplite.viz.draw.words import Style, cells
from poplite.viz.steps import SCOPE_SORTS, ScopeCost, scope_tree

# -- reads, writes, order --------------------------------------------------------------------------


class Blend(pl.Vertex):
    """Reads, writes, updates."""

    k: pl.Input[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    z: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Leave everything as it is."""


class Rows(pl.Vertex):
    """Reads a list of edges."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        """Leave everything as it is."""


def flows(flow: Dataflow) -> dict[tuple[str, str], tuple[int, int]]:
    """Edges by the titles of their ends."""
    return {
        (flow.nodes[e.tail].title, flow.nodes[e.head].title): (e.forward_bytes, e.backward_bytes)
        for e in flow.edges
    }


def titles(flow: Dataflow) -> list[str]:
    return [node.title for node in flow.nodes]


def test_bytes_are_summed_over_vertices() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (8,), name, mapping=0) for name in "xy")
    z = graph.add_variable(pl.FLOAT, (6,), "z", mapping=0)
    work = graph.add_compute_set("work")
    for k in range(2):  # both read x[3] and x[4]
        part = {"x": x[3 * k : 3 * k + 5], "y": y[4 * k : 4 * k + 4], "z": z[3 * k : 3 * k + 3]}
        graph.add_vertex(work, Blend, tile=k, k=0.5, **part)
    flow = dataflow_of(graph, pl.Execute(work))
    assert flows(flow) == {
        ("x", "work"): (40, 0),
        ("work", "y"): (32, 0),
        ("z", "work"): (24, 24),
        ("work numbers", "work"): (8, 0),
    }
    assert titles(flow) == ["x", "z", "work numbers", "work", "y"]
    assert flow.title == "dataflow: 3 variables, 2 constants, 1 compute set"
    assert flow.nodes[3].lines()[:3] == ["2 Blend", "on 2 tiles (0-1)", "step 1"]
    assert flow.nodes[3].facts.location.endswith("in test_bytes_are_summed_over_vertices")


def test_an_edge_over_several_variables_counts_for_each() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (4, 6), name, mapping=0) for name in "ab")
    both = pl.concat([a, b], 1)[1:, 3:8].T  # columns 3 to 5 of a, 0 and 1 of b
    addresses = np.arange(48).reshape(2, 4, 6).transpose(1, 0, 2).reshape(4, 12)[1:, 3:8]
    of_b = int((addresses >= 24).sum())
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Rows, tile=0, rows=both)
    graph.add_vertex(work, Rows, tile=1, rows=[a[0], b[1, :2]])
    size = {"a": 4 * (addresses.size - of_b + 6), "b": 4 * (of_b + 2)}
    assert flows(dataflow_of(graph)) == {(name, "work"): (size[name], 0) for name in "ab"}


def test_nothing_flows_through_an_empty_tensor() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4, 6), "x", mapping=0)
    graph.add_vertex(graph.add_compute_set("work"), Rows, tile=0, rows=x[:, :0])
    assert dataflow_of(graph).edges == ()


def test_nodes_stand_in_program_order() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    idle = graph.add_compute_set("idle")
    a, b, c, unused = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcd")
    second, first = graph.add_compute_set("second"), graph.add_compute_set("first")
    graph.add_vertex(first, Rows, tile=0, rows=a.expand([0]))
    graph.add_vertex(second, Rows, tile=0, rows=c.expand([0]))
    again = pl.Execute(first)
    program = pl.Sequence(
        pl.Repeat(9, pl.Sequence(again, pl.Copy(b, c), again)), pl.Execute(second), again
    )
    flow = dataflow_of(graph, program)
    assert titles(flow) == ["a", "first", "b", "Copy", "c", "second", "idle", unused.name]
    assert [node.step for node in flow.nodes] == [0, 1, 0, 2, 0, 4, 0, 0]
    assert flow.num_steps == 5
    assert titles(dataflow_of(graph)) == [idle.name, "c", "second", "a", "first", "b", "d"]


def test_repeated_copies_are_one_node_and_prints_are_shown() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "ab")
    copies = [pl.Copy(a, b), pl.Copy(a, b), pl.Copy(a[:2], b[2:])]
    flow = dataflow_of(graph, pl.Sequence(*copies, pl.PrintTensor("result", b), pl.Copy(a, b[:])))
    assert titles(flow) == ["a", "a -> b", "b", "Print result"]
    (copy,) = (node for node in flow.nodes if node.kind == "copy")
    assert (copy.detail, copy.step_text) == ("2 copies, 24 B", "steps 1, 2 ... 5")
    assert flows(flow) == {
        ("a", "a -> b"): (24, 0),
        ("a -> b", "b"): (24, 0),
        ("b", "Print result"): (16, 0),
    }
    assert flow.notice == ""


def test_copies_with_something_in_between_are_not_joined() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b, c = (graph.add_variable(pl.INT, (2, 4), name, mapping=0) for name in "abc")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Rows, tile=0, rows=b)
    halves = pl.Copy(a[0], b[0]), pl.Copy(b, c), pl.Copy(a[1], b[1])
    flow = dataflow_of(graph, pl.Sequence(*halves, pl.Execute(work), pl.Copy(a[:, ::2], b[:, 2:])))
    copies = [(n.title, n.detail, n.steps) for n in flow.nodes if n.kind == "copy"]
    assert copies == [
        ("a -> b", "2 copies, 32 B", (1, 3)),
        ("Copy", "32 B", (2,)),
        ("Copy", "[:, ::2] -> [:, 2:], 16 B", (5,)),
    ]


def test_edges_of_a_compute_set_keep_their_fields_apart() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (8,), name, mapping=0) for name in "xy")
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Blend, tile=0, k=x[0], x=x[1:4], y=y[:2], z=y[2:5])
    graph.add_vertex(work, Blend, tile=1, k=x[4], x=x[5:], y=y[5:7], z=y[7:])
    read, both = dataflow_of(graph, pl.Execute(work)).edges
    assert read.fields == (("k", 8, 0), ("x", 24, 0))
    assert (read.label, read.label_by_field) == ("32 B", "k 8 B, x 24 B")
    assert set(both.fields) == {("z", 16, 16), ("y", 0, 16)}


def test_what_shares_data_runs_one_after_the_other() -> None:
    nodes = (Node("variable", "x"), *(Node("compute", name) for name in "abcd"))
    edges = (Edge(0, 1, 4), Edge(0, 2, 4), Edge(0, 3, 4, 4), Edge(0, 4, 4))
    flow = Dataflow("", nodes, edges, 4, "", 5)
    assert flow.dependences() == [(1, 3), (2, 3), (3, 4)]  # a and b only read


def layers(count: int) -> pl.Graph:
    """Variables `net/layer<k>/w` and `net/layer<k>/tmp/t`, each pair read by one compute set."""
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.scope("net"):
        for k in range(count):
            with graph.scope(f"layer{k}"):
                w = graph.add_variable(pl.INT, (4,), "w", mapping=0)
                with graph.scope("tmp"):
                    t = graph.add_variable(pl.INT, (2, 3), "t", mapping=0)
                work = graph.add_compute_set("work")
                graph.add_vertex(work, Rows, tile=0, rows=[w, t[0]])
    return graph


def test_what_fits_is_not_collapsed() -> None:
    flow = dataflow_of(layers(4), excerpt=Excerpt(max_nodes=12))
    assert (len(flow.nodes), flow.notice, flow.full_size) == (12, "", 12)


def test_scopes_are_collapsed_deepest_first_down_to_the_shared_one() -> None:
    flow = dataflow_of(layers(4), excerpt=Excerpt(max_nodes=11))
    assert titles(flow) == [f"net/layer{k}/" for k in range(4)]
    assert flow.nodes[0].detail == "2 variables, 1 compute set"
    assert flow.nodes[0].size_bytes == 40
    assert flow.notice == "12 nodes collapsed to 4, by scope"
    graph = layers(4)
    with graph.scope("net/layer0/tmp"):
        graph.add_variable(pl.INT, (4,), "u", mapping=0)
    deep = dataflow_of(graph, excerpt=Excerpt(max_nodes=12))
    assert "net/layer0/tmp/" in titles(deep)
    assert "net/layer1/tmp/t" in titles(deep)  # a scope of one thing stays that thing


def test_scopes_are_collapsed_no_further_than_needed() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    for k in range(12):
        with graph.scope(f"a{k % 2}/b{k % 4}/c{k % 6}"):
            graph.add_variable(pl.INT, (4,), f"x{k}", mapping=0)
    graph.add_variable(pl.INT, (4,), "free", mapping=0)
    assert len(dataflow_of(graph, excerpt=Excerpt(max_nodes=13)).nodes) == 13
    assert titles(dataflow_of(graph, excerpt=Excerpt(max_nodes=12)))[0] == "a0/b0/"
    assert len(dataflow_of(graph, excerpt=Excerpt(max_nodes=5)).nodes) == 5
    assert titles(dataflow_of(graph, excerpt=Excerpt(max_nodes=4))) == ["a0/", "a1/", "free"]
    alone = pl.Graph(pl.Target(tiles=4))
    for k in range(12):
        alone.add_variable(pl.INT, (4,), f"a{k}/x", mapping=0)
    assert (
        dataflow_of(alone, excerpt=Excerpt(max_nodes=10)).notice
        == "12 nodes collapsed to 1, by number"
    )


def test_numbered_names_are_collapsed_the_most_frequent_first() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    for k in range(20):
        graph.add_variable(pl.INT, (4,), f"x{k}", mapping=0)
    for k in range(3):
        graph.add_variable(pl.INT, (4,), f"b{k}", mapping=0)
    flow = dataflow_of(graph, excerpt=Excerpt(max_nodes=10))
    assert titles(flow) == ["x0 ... x19", "b0", "b1", "b2"]
    assert flow.nodes[0].lines() == ["20 variables, 320 B"]
    assert flow.notice == "23 nodes collapsed to 4, by number"
    assert titles(dataflow_of(layers(20), excerpt=Excerpt(max_nodes=10))) == [
        "net/layer0/ ... net/layer19/"
    ]


def test_the_rest_is_collapsed_by_kind() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    for letter in "abcdefghijklmnop":
        graph.add_variable(pl.INT, (4,), letter, mapping=0)
    graph.add_compute_set("one")
    graph.add_compute_set("two")
    flow = dataflow_of(graph, excerpt=Excerpt(max_nodes=10))
    assert titles(flow) == ["one", "two", "variables"]
    assert flow.notice == "18 nodes collapsed to 3, by kind"


def test_too_many_edges_are_collapsed_too() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    data = [graph.add_variable(pl.INT, (4,), f"x{k}", mapping=0) for k in range(10)]
    for k in range(10):
        work = graph.add_compute_set(f"work{k}")
        graph.add_vertex(work, Rows, tile=0, rows=data)
    flow = dataflow_of(graph, excerpt=Excerpt(max_nodes=20))  # 20 nodes, but 100 edges
    assert flow.notice == "20 nodes collapsed to 11, by number"
    assert flow.full_size == 25
    assert dataflow_of(graph, excerpt=Excerpt(max_nodes=25)).notice == ""


def many(count: int) -> pl.Graph:
    """Variables `x0`, `x1`, ... that one compute set reads."""
    graph = pl.Graph(pl.Target(tiles=4))
    data = [graph.add_variable(pl.INT, (4,), f"x{k}", mapping=0) for k in range(count)]
    graph.add_vertex(graph.add_compute_set("work"), Rows, tile=0, rows=data)
    return graph


def test_what_was_asked_for_is_not_collapsed() -> None:
    flow = dataflow_of(many(40), excerpt=Excerpt(around="x3", max_nodes=10))
    assert titles(flow) == ["x0 ... x39", "x3", "work"]
    assert [node.focus for node in flow.nodes] == [False, True, False]
    assert flow.nodes[0].detail == "39 variables"


@pytest.mark.parametrize(
    ("hops", "shown"),
    [
        (0, ["b"]),
        (1, ["Copy", "b", "Copy"]),
        (2, ["a", "Copy", "b", "Copy", "c"]),
        (99, ["a", "Copy", "b", "Copy", "c", "Copy", "d"]),
    ],
)
def test_around_a_name(hops: int, shown: list[str]) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b, c, d, _ = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcde")
    program = pl.Sequence(pl.Copy(a, b), pl.Copy(b, c), pl.Copy(c, d))
    flow = dataflow_of(graph, program, excerpt=Excerpt(around="b", hops=hops))
    assert titles(flow) == shown
    assert [node.title for node in flow.nodes if node.focus] == ["b"]
    assert flow.title.endswith(", around 'b'")


def test_in_a_scope() -> None:
    flow = dataflow_of(layers(3), excerpt=Excerpt(scope="net/layer1/tmp"))
    assert titles(flow) == ["net/layer1/tmp/t", "net/layer1/work"]
    assert len(dataflow_of(layers(3), excerpt=Excerpt(scope="net")).nodes) == 9


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match=r"no variable or compute set 'net/layer1/v'.*mean") as e:
        dataflow_of(layers(3), excerpt=Excerpt(around="net/layer1/v"))
    assert "... and 4 more names" in str(e.value)
    with pytest.raises(UnknownName, match=r"no scope 'net/layr1' \(did you mean 'net/layer1'"):
        dataflow_of(layers(3), excerpt=Excerpt(scope="net/layr1"))
    with pytest.raises(UnknownName, match="no scope 'net'\n  no name in it has a scope"):
        dataflow_of(many(2), excerpt=Excerpt(scope="net"))
    with pytest.raises(UnknownName, match="no variable or compute set 'x'\n  it is empty"):
        dataflow_of(pl.Graph(), excerpt=Excerpt(around="x"))


@deep
def test_a_hundred_thousand_nodes_are_a_few() -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    for k in range(100_000):
        graph.add_variable(pl.FLOAT, (4,), f"x{k}", mapping=k % 64)
    work = graph.add_compute_set("work")
    graph.add_vertex(
        work, Rows, tile=0, rows=graph.add_variable(pl.INT, (4,), "i", mapping=0).expand([0])
    )
    flow = dataflow_of(graph)
    assert titles(flow) == ["i", "work", "x0 ... x99999"]
    assert flow.notice == "100,002 nodes collapsed to 3, by number"
    assert flow.full_size == 100_002


def test_json_has_names_verbatim_and_edges_by_position() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a = graph.add_variable(pl.INT, (2, 2), 'a "<\n\x00', mapping=1)
    b = graph.add_variable(pl.INT, (4,), "b", mapping=0)
    said = json.loads(DataflowPicture(dataflow_of(graph, pl.Copy(a, b))).json())
    assert (said["poplite"], said["version"], said["num_steps"]) == ("graph", 1, 1)
    assert said["edges"] == [
        {"from": 0, "to": 1, "bytes": 16, "bytes_back": 0, "fields": []},
        {"from": 1, "to": 2, "bytes": 16, "bytes_back": 0, "fields": []},
    ]
    first = said["nodes"][0]
    assert (first["name"], first["shape"], first["tiles"]) == ('a "<\n\x00', [2, 2], "1")
    assert said["notice"] is None


def test_rows_of_a_list_with_gaps_are_edges() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.INT, (6,), "x")
    vertex = graph.add_vertex(graph.add_compute_set("work"), Rows)
    graph.connect(vertex["rows"][2], x[:5])
    assert flows(dataflow_of(graph)) == {("x", "work"): (20, 0)}


def test_a_program_of_another_graph_is_refused() -> None:
    graph, other = pl.Graph(), pl.Graph(pl.Target(tiles=4))
    x, y = (other.add_variable(pl.INT, (2,), name) for name in ("x\x1b", "y"))
    for leaf in (pl.Copy(x, y), pl.PrintTensor(x), pl.Execute(other.add_compute_set("x\x1b"))):
        with pytest.raises(pl.ControlProgramError) as caught:
            dataflow_of(graph, pl.Sequence(leaf))
        assert "another graph than <Graph 1,472 tiles, 0 variables" in str(caught.value)
        assert "step 1 of 1: " in str(caught.value)
        assert "\x1b" not in str(caught.value)


def test_a_decision_has_no_number_of_a_step() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=True)
    a, b = (graph.add_variable(pl.INT, (2,), name, mapping=0) for name in "ab")
    program = pl.If(flag, pl.Copy(a, b), pl.Copy(b, a))
    for flow in (
        dataflow_of(graph, program),
        dataflow_of_report(pl.Engine(graph, program).report()),
    ):
        steps = [(node.kind, node.steps) for node in flow.nodes if not node.is_data]
        assert steps == [("control", ()), ("copy", (1,)), ("copy", (2,))]


# -- drawings --------------------------------------------------------------------------------------


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
        assert "\n".join([node.title, *node.lines()]) in tips
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
    tips = ["\n".join([node.title, *node.lines()]) for node in flow.nodes]
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


def test_each_name_has_a_row_with_its_bytes() -> None:
    names = [f"variable{k:02}" for k in range(12)]
    nodes = (*(Node("variable", name) for name in names), Node("compute", "work"))
    edges = tuple(Edge(k, 12, 1000 * (k + 1)) for k in range(12))
    text = DataflowPicture(Dataflow("dataflow", nodes, edges, 0, "", 13)).text(Style())
    listed = text.split("\n\ndata ")[0].splitlines()[4:]
    assert re.findall(r"'(\w+)' +([\d,]+) B", "\n".join(listed)) == [
        (name, f"{1000 * (k + 1):,}") for k, name in enumerate(names)
    ]


def test_text_says_what_goes_both_ways_and_what_is_idle() -> None:
    nodes = (Node("variable", "x"), Node("compute", "a", steps=(1,)), Node("compute", "b"))
    edges = (Edge(0, 1, 16, 16), Edge(0, 2, 16, 8))
    text = DataflowPicture(Dataflow("dataflow", nodes, edges, 1, "", 3)).text(Style())
    said = re.sub(" +", " ", text)
    assert " 1 'a' no vertices\n 'x' 16 B 16 B\n" in said
    assert " 'b' no vertices, in no step of the program\n" in said
    assert " 'x' 16 B 8 B\n" in said


@pytest.mark.parametrize(
    ("shape", "part", "said"),
    [
        ((4, 6), lambda x: x, ""),
        ((4, 6), lambda x: x[1:3, ::2], "[1:3, ::2]"),
        ((4, 6), lambda x: x[:, 2:4].T, "[:, 2:4].T"),
        ((4, 6), lambda x: x[3], "[3]"),
        ((4, 6), lambda x: x.flatten()[3:20:5], ".flatten()[3:19:5]"),
        ((4,), lambda x: x.broadcast(2, 0), ".broadcast(2, 0)"),
    ],
)
def test_parts_of_copies_are_as_written(
    shape: tuple[int, ...], part: Callable[[pl.Tensor], pl.Tensor], said: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    source = part(graph.add_variable(pl.INT, shape, "x", mapping=0))
    flow = dataflow_of(graph, pl.Copy(source, graph.add_variable(pl.INT, source.shape, "y")))
    (copy,) = (node for node in flow.nodes if node.kind == "copy")
    assert copy.facts.parts == (f"{said} -> all" if said else "")


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
    assert arrows(DataflowPicture(Dataflow("", nodes, edges, 0, "", 3)).svg()) == 3
    assert arrows(DataflowPicture(Dataflow("", nodes, (), 0, "", 3)).svg()) == 0


def test_a_wide_graph_is_put_into_rows() -> None:
    nodes = (Node("compute", "all"), *(Node("variable", f"y{k}") for k in range(299)))
    edges = tuple(Edge(0, k, 4) for k in range(1, 300))
    picture = DataflowPicture(Dataflow("", nodes, edges, 0, "", 300)).svg()
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


# -- scopes of names -------------------------------------------------------------------------------


def report_of(names: dict[str, str], kind: Literal["execute", "copy"] = "execute") -> pl.Report:
    """The report of copies, which are renamed; `names` maps theirs to the operation of each."""
    graph = pl.Graph(pl.Target(tiles=2))
    with graph.scope("net/layer1"):
        a, b = (graph.add_variable(pl.INT, (8,), name, mapping=k) for k, name in enumerate("ab"))
    engine = pl.Engine(graph, pl.Sequence(*(pl.Copy(a, b) for _ in names)))
    report = engine.report()
    made = zip(report.places, names.items(), strict=True)
    steps = tuple(
        replace(place, name=name, operation=operation, kind=kind)
        for place, (name, operation) in made
    )
    execution = replace(report.execution, runs=1, steps=steps)
    return replace(report, execution=execution)


def listed(report: pl.Report, depth: int = 9) -> list[tuple[int, str, int]]:
    """Level, name and steps of the scopes, in the order of the program."""
    rows = scope_tree(report, depth=depth, sort="program").rows()
    return [(level, scope.name, scope.steps) for level, scope in rows]


def test_steps_are_where_their_names_say() -> None:
    report = report_of({"net/layer1/dot": "", "net/layer1/add": "", "net/loss": "", "end": ""})
    assert listed(report) == [
        (0, "net", 3),
        (1, "layer1", 2),
        (2, "dot", 1),
        (2, "add", 1),
        (1, "loss", 1),
        (0, "end", 1),
    ]
    assert listed(report, depth=1) == [(0, "net", 3), (0, "end", 1)]


def test_steps_of_an_operation_are_in_it() -> None:
    report = report_of(
        {"m/softmax/exp": "m/softmax", "sums": "m/softmax", "m/softmax": "m/softmax"}
    )
    assert listed(report) == [
        (0, "m/softmax", 3),
        (1, "exp", 1),
        (1, "sums", 1),
        (0, "net/layer1", 0),  # of the variables
    ]


def test_a_copy_is_in_the_scope_that_its_tensors_share() -> None:
    report = report_of(
        {"net/a/x to net/a/y": "", "net/a/x to net/b": "", "x to y": ""}, kind="copy"
    )
    assert listed(report) == [
        (0, "net", 2),
        (1, "a/x to y", 1),
        (1, "a/x to b", 1),
        (1, "layer1", 0),
        (0, "x to y", 1),
    ]


def every(scope: ScopeCost) -> list[ScopeCost]:
    return [scope, *(inner for each in scope.inside for inner in every(each))]


@pytest.mark.parametrize("sort", SCOPE_SORTS)
def test_a_scope_is_the_sum_of_what_is_inside(sort: str) -> None:
    report = report_of({"net/layer1/dot": "", "net/layer1/add": "", "net/loss": "", "end": ""})
    tree = scope_tree(report, sort=sort)
    assert tree.whole.cycles == sum(step.cycles for step in report.places)
    assert tree.whole.memory == 2 * 8 * 4
    for scope in every(tree.whole):
        if scope.inside:
            assert scope.cycles == sum(each.cycles for each in scope.inside)
            assert scope.received == sum(each.received for each in scope.inside)
            assert scope.num_inside() == len(every(scope)) - 1
            keys = [SCOPE_SORTS[sort](each) for each in scope.inside]
            assert keys == sorted(keys)


def test_forms_agree() -> None:
    report = report_of({"net/layer1/dot": "", "net/\x1bloss": "", "end": ""})
    tree = scope_tree(report, depth=1)
    text = tree.text(Style(ascii_only=True))
    assert text.isascii()
    assert "net  (+3)" in text
    assert "--depth 2 shows them" in text
    whole = scope_tree(report, depth=9).text()
    assert "shows them" not in whole
    assert "\\x1bloss" in whole
    rows = list(csv.reader(io.StringIO(scope_tree(report, depth=9).csv())))
    assert len(rows) == 1 + len(every(tree.whole)) - 1
    data = json.loads(tree.json())
    assert data["cycles"] == sum(each["cycles"] for each in data["inside"]) == tree.whole.cycles


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_text_fits_its_columns(width: int) -> None:
    report = report_of({f"{'scope/' * 20}{'x' * 50}": "", f"{'scope/' * 20}y": "", "end": ""})
    for depth in (1, 2, 9):
        text = scope_tree(report, depth=depth).text(Style(width=width))
        assert max(map(len, text.splitlines())) <= max(width, 60)


def test_nothing_ran() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    tree = scope_tree(pl.Engine(graph, pl.Sequence()).report())
    text = tree.text()
    assert text == "operations: 0 steps, 0 cycles; as compiled, of one run\n"
