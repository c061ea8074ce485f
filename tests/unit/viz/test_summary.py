"""The summary: what is counted, the verdict, and how it is drawn."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import poplite as pl
from helpers.random_reports import random_report
from poplite import FLOAT, INT, Input, Output, Target, Vector, Vertex
from poplite.errors import GraphMemoryAllocationError
from poplite.graph import Graph
from poplite.program import Copy, Execute, Repeat, Sequence
from poplite.simulator.engine import Engine
from poplite.viz import summary_svg, summary_text
from poplite.viz.draw.words import cells
from poplite.viz.summary import ProgramLength, Summary, overview_of, summary_of
from poplite.viz.tile_map import judged_load

STACKS = 3168
"""Bytes of the stacks of a tile: of six workers and the supervisor."""

SVG = "{http://www.w3.org/2000/svg}"


class Sum(Vertex):
    """Adds rows and a number."""

    rows: Input[Vector[Vector[FLOAT]]]
    start: Input[FLOAT]
    total: Output[FLOAT]

    def compute(self) -> None:
        self.total = self.start


class Fill(Vertex):
    """Writes one number."""

    x: Output[FLOAT]

    def compute(self) -> None:
        self.x = 1.0


@pytest.fixture
def graph() -> Graph:
    """Four tiles: 8 floats on tile 2, 4 spread, a constant on tile 0; three vertices."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (2, 4), "x", mapping=2)
    y = graph.add_variable(FLOAT, (4,), "y", mapping="linear")
    start = graph.add_constant(FLOAT, (), 1.5, "start", mapping=0)
    sums, fills = graph.add_compute_set("sums"), graph.add_compute_set("fills")
    graph.add_vertex(sums, Sum, tile=2, rows=[x[0], x[1]], start=start, total=y[0])
    graph.add_vertex(fills, Fill, tile=1, x=y[1])
    graph.add_vertex(fills, Fill, tile=1, x=y[2])
    return graph


def rows(summary: Summary) -> dict[str, str]:
    return dict(summary.rows())


def test_counts_what_the_graph_holds(graph: Graph) -> None:
    summary = summary_of(graph)
    assert (summary.variables, summary.variable_bytes) == (2, 48)
    assert (summary.constants, summary.constant_bytes) == (1, 4)
    assert summary.compute_sets == 2
    assert summary.classes == (("Fill", 2), ("Sum", 1))
    assert summary.edges == 4 + 2  # two rows, a start and a total; two single fields
    assert (summary.vertex_tiles, summary.used_tiles) == (2, 4)
    assert (summary.worst_tile, summary.worst_bytes) == (2, STACKS + 36)
    assert summary.kinds == (("stack", STACKS), ("variable", 36))
    assert summary.program is None


def test_rows_of_a_list_connected_so_far_are_edges(graph: Graph) -> None:
    vertex = graph.add_vertex(graph.compute_sets[0], Sum)
    graph.connect(vertex["rows"][1], graph.add_variable(FLOAT, (3,), "z", mapping=0))
    assert summary_of(graph).edges == 6 + 1
    graph.connect(vertex["rows"][0], graph.add_variable(FLOAT, (3,)))
    assert summary_of(graph).edges == 6 + 2  # connected, and each row still counts once


def test_rows_in_words(graph: Graph) -> None:
    fills = Execute(graph.compute_sets[1])
    told = rows(summary_of(graph, Sequence(fills, Repeat(9, fills))))
    assert told == {
        "target": "Mk2 tiles: 4 tiles of 638,976 B, 6 worker threads each",
        "variables": "2 (48 B)",
        "constants": "1 (4 B)",
        "compute sets": "2",
        "vertices": "3 on 2 tiles: Fill 2, Sum 1",
        "edges": "6",
        "program": "2 steps, run 10 times in all",
        "mapping": "complete",
        "tiles used": "4 of 4",
        "worst tile": "tile 1: 3,332 B of 638,976 B, 0.5 %",
        "memory": "stack 3,168 B, control code 48 B, vertex code 48 B, "
        "internal exchange code 28 B, control table 16 B, vertex instance state 8 B, "
        "variable 4 B, message 4 B, gaps 8 B",
    }


@pytest.mark.parametrize(
    ("target", "machine"),
    [
        (Target(), "Mk2 (GC200): 1,472 tiles"),
        (Target(tiles=1), "Mk2 tiles: 1 tile of"),
        (Target(ipus=2), "Mk2 (GC200): 2 IPUs of 1,472 tiles of 638,976 B, 6"),
        (Target(tiles=8, ipus=2), "Mk2 tiles: 2 IPUs of 4 tiles of"),
        (Target(workers=1), "custom: 1,472 tiles of 638,976 B, 1 worker thread each"),
    ],
)
def test_the_machine_is_named(target: Target, machine: str) -> None:
    assert rows(summary_of(Graph(target)))["target"].startswith(machine)


def test_an_empty_graph_fits() -> None:
    summary = summary_of(Graph())
    assert summary.verdict == "variables fit; no program given"
    told = rows(summary)
    assert told["vertices"] == "0"
    assert told["program"] == "none given"
    assert told["worst tile"] == "tile 0: 3,168 B of 638,976 B, 0.5 %"
    assert told["memory"] == "stack 3,168 B"


def test_a_tile_is_full_before_it_is_over() -> None:
    def verdict(limit: int) -> str:
        graph = Graph(Target(tiles=8, tile_memory_bytes=limit))
        graph.add_variable(FLOAT, (100,), "x", mapping=3)
        return summary_of(graph, Sequence()).verdict

    assert verdict(STACKS + 400) == "fits"
    assert verdict(STACKS + 396) == ("does not fit: tile 3 needs 3,568 B, has 3,564 B (4 B over)")


class Reads(Vertex):
    """Reads many numbers of other tiles."""

    x: Input[Vector[FLOAT]]
    total: Output[FLOAT]

    def compute(self) -> None:
        self.total = self.x[0]


def test_messages_count_as_they_do_for_the_engine() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable(FLOAT, (150_000,), "x", mapping=1)
    y = graph.add_variable(FLOAT, (75_000,), "y", mapping=0)
    totals = graph.add_variable(FLOAT, (1,), "totals", mapping=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Reads, tile=1, x=y, total=totals[0])
    program = Execute(work)
    assert summary_of(graph).verdict == "variables fit; no program given"  # nothing is sent yet
    summary = summary_of(graph, program)
    with pytest.raises(GraphMemoryAllocationError) as caught:
        Engine(graph, program)
    assert f"tile 1 is out of memory: it needs {summary.worst_bytes:,} B" in caught.value.what
    assert summary.verdict.startswith("does not fit: tile 1 needs 90")
    assert dict(summary.kinds)["message"] == 300_000
    assert dict(summary.kinds)["variable"] == x.num_elements * 4 + 4
    assert sum(dict(summary.kinds).values()) == summary.worst_bytes
    texts = ET.fromstring(summary_svg(graph, program)).iter(f"{SVG}text")
    assert "! tile 1" in [text.text for text in texts]


def test_programs_by_name_need_what_the_engine_says() -> None:
    """What one leaves for the other is always live; run one after the other it is not."""
    graph = Graph(Target(tiles=1))
    x, y, first, second = (graph.add_variable(FLOAT, (1000,), n, mapping=0) for n in "xyfs")
    one, two = Copy(x, first), Sequence(Copy(first, y), Copy(y, second), Copy(second, x))
    programs = {"one": one, "two": two}
    summary = summary_of(graph, programs)
    needed = Engine(graph, programs).report().compilation.memory.including_gaps
    assert summary.worst_bytes == needed.most
    assert needed.most - summary_of(graph, Sequence(one, two)).worst_bytes > 3000
    assert summary.program == ProgramLength(4, 4)
    load = judged_load(graph, programs)
    assert load.needed_bytes is not None
    assert load.needed_bytes.tolist() == [needed.most]


def test_a_graph_that_cannot_be_compiled_says_what_is_counted() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable(FLOAT, (4,), "x", mapping=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Fill, tile=1)
    summary = summary_of(graph, Execute(work))
    assert summary.verdict.startswith("variables fit; the rest is not known: ")
    assert "'x'" in summary.verdict
    assert rows(summary)["memory"].startswith("of variables and constants alone: ")
    assert summary.worst_bytes == 4 * x.num_elements


def test_a_program_may_grow_after_it_is_summarised(graph: Graph) -> None:
    program = Sequence(Execute(graph.compute_sets[1]))
    summary_of(graph, program)
    program.add(Execute(graph.compute_sets[0]))
    assert summary_of(graph, program).program == ProgramLength(2, 2)


def test_the_fullest_tile_is_named_with_the_number_of_others() -> None:
    graph = Graph(Target(tiles=8, tile_memory_bytes=STACKS + 100))
    for tile, count in ((1, 30), (5, 1000), (6, 40)):
        graph.add_variable(INT, (count,), mapping=tile)
    summary = summary_of(graph)
    assert summary.verdict == (
        "does not fit: tile 5 needs 7,168 B, has 3,268 B (3,900 B over), and 2 more tiles"
    )
    assert rows(summary)["worst tile"] == "! tile 5: 7,168 B of 3,268 B, 219.3 %"
    assert summary_text(graph).startswith("! summary: does not fit: tile 5 needs")


def test_holes_are_told(graph: Graph) -> None:
    graph.add_variable(FLOAT, (5,), "nowhere")
    hole = graph.add_variable(FLOAT, (6,), "partly")
    graph.set_tile_mapping(hole[:5], 0)
    graph.add_vertex(graph.compute_sets[1], Fill)
    summary = summary_of(graph)
    assert summary.verdict == "fits so far: 6 elements have no tile"
    assert (
        rows(summary)["mapping"] == "! 6 elements have no tile (2 variables); 1 vertex has no tile"
    )


def test_many_classes_are_cut_short(graph: Graph) -> None:
    for k in range(7):
        other = type(f"Fill{k}", (Fill,), {"__module__": __name__})
        graph.add_vertex(graph.compute_sets[1], other, tile=0, x=graph.add_variable(FLOAT, ()))
    told = rows(summary_of(graph))["vertices"]
    assert told == (
        "10 on 3 tiles: Fill 2, Sum 1, Fill0 1, Fill1 1, Fill2 1, Fill3 1, 3 more classes"
    )
    assert len(json.loads(summary_of(graph).json())["classes"]) == 9


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_text_fits_its_width(graph: Graph, width: int) -> None:
    for name in ("F\n<il>'", "広" * 60, "x" * 200):
        other = type(name, (Fill,), {"__module__": __name__})
        graph.add_vertex(graph.compute_sets[1], other, tile=0, x=graph.add_variable(FLOAT, ()))
    lines = summary_text(graph, width=width).splitlines()
    assert max(map(cells, lines)) <= max(width, 60)
    assert all(line.isprintable() for line in lines)
    assert len(lines) <= 26


def test_text_in_colour_says_the_same(graph: Graph) -> None:
    graph.add_variable(FLOAT, (5,), "nowhere")
    plain, colored = summary_text(graph), summary_text(graph, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    assert "\x1b[1;31m! 5 elements have no tile" in colored


def test_svg_says_all_rows(graph: Graph) -> None:
    other = type("<b>&\x01", (Fill,), {"__module__": __name__})
    graph.add_vertex(graph.compute_sets[1], other, tile=0, x=graph.add_variable(FLOAT, ()))
    picture = summary_svg(graph)
    said = [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]
    assert said[0] == "summary: fits so far: 1 element has no tile"
    assert "4 on 3 tiles: Fill 2, Sum 1, <b>&\\x01 1" in said
    assert "stack 3,168 B, variable 36 B" in said
    assert picture == summary_svg(graph)


@pytest.mark.parametrize(("elements", "shares"), [(208, [0.5]), (1208, [1.0]), (3208, [0.5, 0.5])])
def test_svg_bar_is_as_long_as_the_worst_tile_is_full(elements: int, shares: list[float]) -> None:
    graph = Graph(Target(tiles=2, tile_memory_bytes=8000))
    graph.add_variable(FLOAT, (elements,), "x", mapping=1)
    _, _, *filled = ET.fromstring(summary_svg(graph)).iter(f"{SVG}rect")
    whole = {r.get("class"): float(r.get("width") or 0) for r in filled}
    frame = [r for r in ET.fromstring(summary_svg(graph)).iter(f"{SVG}rect")][1]
    full = float(frame.get("width") or 0)
    assert [width / full for width in whole.values()] == pytest.approx(shares, abs=0.01)
    assert ("over" in whole) == (STACKS + 4 * elements > 8000)


def test_json_holds_the_numbers(graph: Graph) -> None:
    text = summary_of(graph, Execute(graph.compute_sets[1])).json()
    data = json.loads(text)
    assert text.endswith("}\n")
    assert list(data) == sorted(data)
    assert (data["poplite"], data["version"]) == ("summary", 1)
    assert data["target"]["tile_memory_bytes"] == 638_976
    assert data["classes"] == [{"name": "Fill", "vertices": 2}, {"name": "Sum", "vertices": 1}]
    assert data["program"] == {"runs": 1, "steps": 1}
    assert (data["fits"], data["verdict"], data["unmodelled"]) == (True, "fits", "")
    assert sum(data["kinds"].values()) == data["worst_bytes"]


def test_replicas_are_named_where_there_are_several(graph: Graph) -> None:
    assert "replicas" not in rows(summary_of(graph))
    replicated = Graph(Target(tiles=8, ipus=2), replication_factor=2)
    summary = summary_of(replicated)
    assert rows(summary)["replicas"] == "2, each with all of this"
    assert rows(summary)["target"].startswith("Mk2 tiles: 4 tiles of")
    assert json.loads(summary.json())["replicas"] == 2
    assert "2, each with all of this" in summary_text(replicated)
    assert "2, each with all of this" in summary_svg(replicated)


# -- the overview of a report ----------------------------------------------------------------------


def copied(runs: int) -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(a.reverse(0), b)), checks="fast")
    for _ in range(runs):
        engine.run()
    return engine.report()


def test_parts_add_up_to_all_cycles_and_to_what_the_fullest_tile_needs() -> None:
    report = copied(runs=2)
    shown = overview_of(report)
    assert sum(size for _, size in shown.time) == report.cycles
    used = report.compilation.memory.including_gaps
    assert shown.tile == used.worst_tile
    assert sum(size for _, size in shown.memory) == used.most


def test_what_has_not_run_is_shown_as_one_run() -> None:
    planned, ran = (overview_of(copied(runs=runs)) for runs in range(2))
    assert replace(planned, note="") == ran
    assert planned.note == "as compiled, of one run"
    assert ">as compiled, of one run</text>" in planned.svg()


def test_findings_stand_with_their_share_and_line() -> None:
    report = copied(runs=1)
    first, *_ = report.insights.findings
    picture = overview_of(report).svg()
    assert f"{100 * first.share:.1f}%" in picture
    words = " ".join(re.findall(r">([^<]+)</text>", picture)).replace("    ", "")
    assert first.kind in words
    assert "test_summary.py" in words


def test_it_is_small_on_a_large_machine() -> None:
    assert len(random_report(1472, 20, 0)._repr_html_()) < 100_000
