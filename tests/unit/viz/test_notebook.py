"""What a notebook shows: well formed, with the text inside, and at once whatever the size."""

from __future__ import annotations

import html
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from helpers.random_reports import random_report
from poplite import FLOAT, INT, Output, PopliteError, Target, Vertex, concat
from poplite.display import Displayed, ReportPart
from poplite.graph import Graph
from poplite.graph.graph import VirtualGraph
from poplite.graph.tile_mapping import TileMapping
from poplite.program import Copy, Execute, PrintTensor, Program, Repeat, Sequence
from poplite.report import Report
from poplite.simulator.engine import Engine
from poplite.viz import graph_dot, notebook
from poplite.viz.colours import DARK, LIGHT

NASTY = "a</pre></div><script>\"'&\nb\x00"


class Zero(Vertex):
    """Writes one number."""

    x: Output[FLOAT]

    def compute(self) -> None:
        self.x = 0.0


class Cell(HTMLParser):
    """Reads a cell: every element is closed, in order; the fallback and the rest are kept."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.open: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.fallback = self.rich = ""
        self.deepest = 0
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append((tag, dict(attrs).get("class") or ""))
        self.deepest = max(self.deepest, len(self.open))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        kinds = [kind for _, kind in self.open]
        if "poplite-text" in kinds:
            self.fallback += data
        elif "poplite-rich" in kinds and self.open[-1][0] != "style":
            self.rich += data


def a_report() -> Report:
    """The report of an engine without programs."""
    return Engine(Graph(Target(tiles=4)), Sequence()).report()


def everything(name: str = "x") -> list[object]:
    """An object of each kind that a notebook shows, all called the same."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8, 6), name, mapping="linear")
    y = graph.add_constant(FLOAT, (8, 6), 1, f"{name}, constant", mapping=0)
    lost = graph.add_variable(INT, (3,), f"{name}, lost")
    work = graph.add_compute_set(name)
    copy, shown = Copy(y, x), PrintTensor(name, x)
    program = Sequence(Repeat(3, Sequence(Execute(work), copy)), shown, name=name)
    steps = [Program(), Execute(work), copy, shown, Repeat(2, copy), program]
    report = a_report()
    mappings = [graph.tile_mapping(x), graph.tile_mapping(lost, require_complete=False)]
    return [graph, Graph(), work, x, x[2:5, ::2].T, y, lost, x[0:0], *mappings, *steps, report]


def cell(item: object) -> Cell:
    shown = item._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(shown, str)
    return Cell(shown)


@pytest.mark.parametrize("name", ["x", NASTY])
def test_every_kind_is_well_formed_and_holds_its_text(name: str) -> None:
    for item in everything(name):
        shown = cell(item)
        assert shown.fallback.strip()
        assert shown.rich.strip()
        assert not {"script", "link", "iframe"} & set(shown.tags)
        assert shown.tags.count("pre") == 1
        assert "\x00" not in shown.html
        assert not re.search(r"@import|https?://(?!www\.w3\.org/2000/svg)| on\w+=", shown.html)


def test_the_text_is_seen_without_style_sheets() -> None:
    shown = Graph()._repr_html_()
    pre = re.search(r"<pre[^>]*>", shown)
    assert pre is not None
    assert "none" not in pre[0]
    assert '<div class="poplite-rich" style="display:none">' in shown
    rules = shown[shown.index("<style>") : shown.index("</style>")]
    assert ".poplite > .poplite-text { display: none; }" in rules
    assert ".poplite > .poplite-rich { display: block !important; }" in rules


def test_rules_and_ids_are_kept_to_the_picture() -> None:
    cells = "".join(item._repr_html_() for item in everything())  # type: ignore[attr-defined]
    for sheet in re.findall(r"<style>(.*?)</style>", cells, re.S):
        inner = re.sub(r":(not|where)\(:where\([^)]*\) \*\)", "", sheet)
        inner = re.sub(r"@media[^{]*\{", "", inner)
        for selectors in re.findall(r"([^{}]+)\{[^}]*\}", inner):
            assert all(s.strip().startswith(".poplite") for s in selectors.split(","))
    ids = re.findall(r' id="([^"]*)"', cells)
    assert all(name.startswith("poplite-") for name in ids)
    assert len(ids) == len(set(ids))


def test_a_tensor_shows_its_facts_and_its_picture() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8, 6), "head/bias", mapping="linear")
    shown = cell(x[2:4])
    assert "head/bias" in shown.rich
    assert "float32[2, 6]" in shown.rich
    assert "on 1 tile (1), 48 B" in shown.rich
    assert "svg" in shown.tags
    assert "'head/bias' float32[2, 6]\non 1 tile (1), 48 B\n" in shown.fallback


def test_a_mapping_shows_elements_of_every_tile() -> None:
    mapping = TileMapping(4, np.array([1, 0, 1, -1]), np.array([2, 3, 4, 5]))
    shown = cell(mapping)
    assert "tile 1: 6 elements, 2 intervals" in shown.rich
    assert "tile 2: 0 elements, 0 intervals" in shown.rich
    assert "most 6, least 3" in shown.rich
    assert "! 5 elements" in shown.rich
    assert "9 elements on 2 tiles" in shown.rich
    assert "scale: blank 0 elements" in shown.fallback
    assert "over" not in shown.rich


def test_a_compute_set_shows_its_classes_and_the_vertices_of_every_tile() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (4,), "x", mapping="linear")
    work = graph.add_compute_set("layer1/work")
    for tile in (3, 3, 1, None):
        graph.add_vertex(work, Zero, tile=tile, x=x[0])
    graph.add_vertex(work, type("Other", (Zero,), {"__module__": __name__}), tile=3)
    shown = cell(work)
    assert "layer1/work" in shown.rich
    assert "Zero 4, Other 1" in shown.rich
    assert "4 vertices on 2 of 4 tiles (1, 3)" in shown.rich
    assert "! 1 vertex has no tile" in shown.rich
    assert "tile 3: 3 vertices" in shown.rich
    assert "tile 1: 1 vertex" in shown.rich
    assert "  0 │ ▃ █│" in shown.fallback
    huge = cell(Graph(Target(tiles=6000)).add_compute_set("work"))
    assert "none: more than 5,000 tiles" in huge.rich
    assert "svg" not in huge.tags


def test_a_mapping_over_too_many_tiles_is_told_in_words() -> None:
    shown = cell(TileMapping(6000, np.array([7]), np.array([3])))
    assert "1 of 6,000 (7)" in shown.rich
    assert "none: more than 5,000 tiles" in shown.rich
    assert "svg" not in shown.tags


def test_a_graph_lists_what_is_in_it() -> None:
    graph = Graph(Target(tiles=4, tile_memory_bytes=3182))
    for k in range(5):
        graph.add_variable(FLOAT, (k + 1,), f"w{k}", mapping=k % 4)
    shown = cell(graph)
    assert "5 variables" in shown.rich
    assert (
        "does not fit: tile 0 needs 3,196 B, has 3,182 B (14 B over), and 1 more tile" in shown.rich
    )
    assert "variables5 (60 B)" in shown.rich
    assert "w4float32[5]200" in shown.rich
    for k in range(5, 103):
        graph.add_variable(FLOAT, (1,), f"w{k}", mapping=0)
    shown = cell(graph)
    assert "w99" in shown.rich
    assert "w100" not in shown.rich
    assert "... 3 more" in shown.rich


def test_a_program_is_a_tree_with_step_numbers() -> None:
    graph = Graph()
    blur, sharpen = (Execute(graph.add_compute_set(name)) for name in ("blur", "sharpen"))
    program = Sequence(Repeat(9, Sequence(blur, blur)), sharpen, name="main")
    shown = cell(program)
    assert shown.tags.count("details") == 3
    place = f"{Path(sharpen.location.file).name}:{sharpen.location.line}"
    assert [
        re.sub(rf" *{Path(__file__).name}:\d+$", "", line) for line in shown.fallback.splitlines()
    ] == [
        "program: 3 steps",
        "",
        "step  program" + "where".rjust(67),
        "      Sequence 'main'",
        "        Repeat 9 times",
        "          Sequence",
        "   1        Execute 'blur'  0 vertices",
        "   2        Execute 'blur'  0 vertices",
        "   3    Execute 'sharpen'  0 vertices",
    ]
    assert f"Execute 'sharpen'0 verticesstep 3{place}" in shown.rich


def test_large_programs_are_cut() -> None:
    graph = Graph()
    blur = Execute(graph.add_compute_set("blur"))
    flat = cell(Sequence([blur] * 10_000))
    assert flat.tags.count("li") == notebook.MOST_LINES
    assert "... 9,801 more lines; poplite-viz program lists all" in flat.rich
    assert flat.fallback.endswith("... 9,801 more lines; poplite-viz program lists all\n")
    deep: Program = blur
    for _ in range(10_000):
        deep = Sequence(deep, blur)
    shown = cell(deep)
    assert "9,989 steps on 19,976 lines folded" in shown.rich
    assert shown.deepest < 60
    doubled: Program = blur
    for _ in range(60):
        doubled = Sequence(doubled, doubled)
    shared = cell(doubled)
    assert 20 < shared.tags.count("li") < notebook.MOST_LINES
    assert "as steps 1 on" in shared.rich


def test_a_huge_tensor_is_drawn_or_told_in_words() -> None:
    graph = Graph()
    huge = graph.add_variable(FLOAT, (1000, 1000, 1000), "huge", mapping="linear")
    assert "svg" in cell(huge).tags
    assert "svg" in cell(huge[:900].broadcast(20, 0)).tags
    for fine, reason in (
        (huge.broadcast(100, 0), "147,200 separate parts"),
        (huge.T, "1,000,000,000 separate parts; draw a slice of it"),
        (huge[:, ::2, ::2], "250,000,000 separate parts"),
        (concat([huge, huge.T], dim=1), "a large tensor of several parts"),
    ):
        shown = cell(fine)
        assert "svg" not in shown.tags
        assert reason in shown.rich
        assert reason in shown.fallback
    speckled = graph.add_variable(FLOAT, (400_000,), "speckled")
    start = np.arange(0, 400_000, 4)
    graph.variables[-1].mapping.paint_many(start, start + 4, start // 4 % 1472)
    assert "100,000 separate parts" in cell(speckled).rich


def test_a_huge_graph_is_listed_in_part() -> None:
    graph = Graph(Target(tiles=4))
    for k in range(notebook.MOST_VARIABLES + 1):
        graph.add_variable(FLOAT, (1,), mapping=k % 4)
    shown = cell(graph)
    assert "2,001 variables8,004 B on 4 of 4 tiles" in shown.rich
    assert "most 2,004 B (tile 0), least 2,000 B (tile 1), mean 2,001 B" in shown.rich
    assert "not counted here, for more than 2,000 variables" in shown.rich
    assert "2,001 variables" in shown.rich
    assert "... 1,901 more" in shown.rich


def test_a_report_shows_its_numbers_and_where_time_and_memory_go() -> None:
    report = a_report()
    shown = cell(report)
    assert shown.fallback == str(report)
    for name, value in report.rows().items():
        assert f"{name}{value}" in shown.rich
    assert shown.tags.count("svg") == 1
    assert "what fills tile 0, the fullest: 3,168 B" in shown.rich
    assert "stacks 100.0%" in shown.rich
    assert "time goes" not in shown.rich  # nothing takes any
    unmodelled = Engine(Graph(), Sequence(), options={"debug.instrument": False}).report()
    assert "svg" not in cell(unmodelled).tags


def test_a_graph_of_many_vertices_has_their_classes_and_the_bytes_of_its_variables() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (4,), "x", mapping="linear")
    many = graph.add_compute_set("many")
    for _ in range(notebook.MOST_VERTICES + 1):
        graph.add_vertex(many, Zero, tile=3, x=x[3])
    shown = cell(graph)
    assert "vertices20,001: Zero 20,001" in shown.rich
    assert "manyZero 20,0013" in shown.rich
    assert "16 B on 4 of 4 tiles" in shown.rich
    assert "20,001" in cell(many).rich


def test_parts_of_a_report_are_tables() -> None:
    graph = Graph(Target(tiles=4))
    x, y = (graph.add_variable(INT, (8,), name, mapping="linear") for name in "xy")
    engine = Engine(graph, Copy(x.reverse(0), y))
    engine.run()
    report = engine.report()
    step = report.execution.steps[0]
    parts: list[tuple[ReportPart, list[str]]] = [
        (report.compilation, ["target4 tiles, 6 workers", "graph: num variables2"]),
        (report.execution, ["runs1", "cycles153", "1 step", "x to ycopy0"]),
        (step, ["namex to y", "kindcopy", "1 phase", "exchange6390"]),
        (step.phases[0], ["received32 on 4 of 4 tiles", "1 cause"]),
        (report.insights, ["fullesttile 0 needs 3,264 B", "41.2%exchange: 63 cycles"]),
        (report.insights.findings[0], ["kindexchange", "what'x' -> 'y'", "steps0"]),
    ]
    for part, texts in parts:
        shown = cell(part)
        assert "dict" not in shown.rich
        for text in texts:
            assert text in shown.rich


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_any_report_are_well_formed(seed: int) -> None:
    report = random_report(6, 4, seed)
    phases = [phase for step in report.execution.steps for phase in step.phases]
    parts = [report.compilation, report.execution, *report.execution.steps, *phases]
    for part in [*parts, report.insights, *report.insights.findings]:
        assert "script" not in cell(part).tags


def test_the_page_of_a_report_is_put_in_a_frame() -> None:
    page = a_report().show(height=300, title="a < b")._repr_html_()
    frame = Cell(page)
    assert frame.tags == ["iframe"]
    assert "height:300px" in page
    (attributes,) = re.findall(r"<iframe ([^>]*)>", page)
    assert 'sandbox="allow-scripts allow-downloads"' in attributes
    inner = html.unescape(re.findall(r'srcdoc="([^"]*)"', page)[0])
    assert inner.replace('\n<base href="about:srcdoc">', "") == a_report().to_html(title="a < b")
    with pytest.raises(PopliteError, match="report.show: height"):
        a_report().show(height="tall")  # type: ignore[arg-type]


def test_colors_follow_the_theme_of_the_notebook() -> None:
    sheet = re.search(r"<style>(.*?)</style>", everything()[3]._repr_html_(), re.S)  # type: ignore[attr-defined]
    assert sheet is not None
    by_system, by_notebook = (
        re.findall(rf"(?m)^\.poplite \.ink{condition}[^{{]*{{fill:(.*)}}$", sheet[1])
        for condition in (r":not\(:where\(\[data-jp-theme-light=true", r":where\(:where\(\[data")
    )
    assert by_system == by_notebook == [DARK["ink"]]
    assert re.findall(r"(?m)^\.poplite \.ink{fill:(.*)}$", sheet[1]) == [LIGHT["ink"]]


# -- one picture of each class ---------------------------------------------------------------------


def displayed() -> dict[type[Displayed], tuple[Displayed, str]]:
    """One value of every class that a notebook shows, and a text of its picture."""
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (8, 6), "bias", mapping="linear")
    work = graph.add_compute_set("work")
    return {
        type(value): (value, text)
        for value, text in (
            (graph, "1 variable"),
            (x, "float32[8, 6]"),
            (graph.tile_mapping(x), "elements of a used tile"),
            (work, "vertices per tile: &#x27;work&#x27;"),
            (Program(), "</i>Program<span>empty"),
            (Engine(graph, Program()).report(), "what fills tile 0, the fullest"),
        )
    } | {ReportPart: (Engine(graph, Program()).report().execution, "runs")}


def test_every_displayed_class_has_a_picture_of_its_own() -> None:
    below = [kind for kind in Displayed.__subclasses__() if kind.__module__.startswith("poplite.")]
    assert {kind.__name__ for kind in below} == {kind.__name__ for kind in displayed()}
    for kind, (value, text) in displayed().items():
        assert kind in notebook.html.registry
        assert value._repr_html_() == notebook.html(value)
        assert text in value._repr_html_()


def test_programs_of_all_kinds_show_their_tree() -> None:
    program = Execute(Graph().add_compute_set("work"))
    assert "Execute &#x27;work&#x27;" in program._repr_html_()


def test_a_virtual_graph_shows_its_top_level_graph() -> None:
    graph = Graph(Target(tiles=4))
    part = graph.create_virtual_graph([1, 3])
    assert isinstance(part, VirtualGraph)
    assert part._repr_html_() == graph._repr_html_()


def test_what_had_slots_still_has_no_dictionary() -> None:
    values = [value for value, _ in displayed().values() if not isinstance(value, Graph)]
    assert [value for value in values if hasattr(value, "__dict__")] == []
    assert any(isinstance(value, TileMapping) for value in values)


def test_a_displayed_class_without_a_picture_is_named() -> None:
    class Chart(Displayed):
        """Of nothing."""

    with pytest.raises(NotImplementedError, match="no picture of Chart"):
        Chart()._repr_html_()


def test_the_vertex_graph_is_what_the_command_draws() -> None:
    graph = Graph(Target(tiles=4))
    x, y = (graph.add_variable(FLOAT, (4,), name, mapping=0) for name in "xy")
    there, back = Copy(x, y), Copy(y[:2], x[2:])
    for write, programs in (
        (graph.output_vertex_graph, [there]),
        (graph.outputVertexGraph, [there, back]),
        (graph.outputComputeGraph, [Sequence(there, back)]),
        (graph.outputComputeGraph, []),
    ):
        stream = io.StringIO()
        write(stream, programs)
        program = Sequence(*programs) if programs else None
        assert stream.getvalue() == graph_dot(graph, program)
    assert 'label="Copy\\n[:2] -> [2:], 8 B\\nstep 2"' in graph_dot(graph, Sequence(there, back))
