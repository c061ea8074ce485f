"""Pictures of drawn graphs hold the numbers of the graph and of its report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep
from helpers.random_reports import random_report
from helpers.view_page import ViewPage
from poplite.arrays.intervals import Int64
from poplite.program import TensorCopy
from poplite.report import Report
from poplite.tools.viz.load_report import load
from poplite.viz.dataflow.graph import dataflow_of
from poplite.viz.dataflow.picture import DataflowPicture
from poplite.viz.page.pack import BLOCKS, Arrays
from poplite.viz.page.report_data import report_data
from poplite.viz.program import program_tree
from poplite.viz.program_nodes import MOST
from poplite.viz.summary import summary_of
from poplite.viz.tensors.frame_picture import RegionsPicture
from poplite.viz.tensors.frames import Frame, frames_of
from poplite.viz.tensors.views import TensorOperation, applied, read_operation

# -- counts ----------------------------------------------------------------------------------------


class Blend(pl.Vertex):
    """Reads, writes and updates, a number among it."""

    k: pl.Input[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Leave everything as it is."""


class Rows(pl.MultiVertex):
    """Lists of edges, one of them connected row by row."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self, worker: int) -> None:
        """Leave everything as it is."""


class Quarters(pl.Vertex):
    """Has edges for metadata that nobody connects."""

    x: pl.Input[pl.Vector[pl.QUARTER]]
    y: pl.InOut[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        """Leave everything as it is."""


class Drawn:
    """A graph and a program drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.graph = pl.Graph(pl.Target(tiles=4))
        own = self.graph.add_variable(pl.QUARTER_METADATA, (), "own", mapping=0)
        self.floats = [
            self.graph.add_variable(pl.FLOAT, (20,), f"x{k}", mapping=self._tile())
            for k in range(3)
        ]
        kinds: list[pl.Tensor | pl.QuarterMetadata] = [own, own, pl.QuarterMetadata("F152")]
        self.quarters = [
            self.graph.add_variable(pl.QUARTER, (20,), f"q{k}", mapping=1, metadata=metadata)
            for k, metadata in enumerate(kinds)
        ]
        self.sets = [self.graph.add_compute_set(f"work{k}") for k in range(3)]
        self.vertices = [self._vertex() for _ in range(self.random.randrange(8))]
        pool: list[pl.Program] = [self._leaf() for _ in range(4)]
        for _ in range(self.random.randrange(9)):
            pool.append(
                pl.Repeat(self.random.choice([0, 1, 7, 10**6]), self.random.choice(pool))
                if self.random.random() < 0.4
                else pl.Sequence(self.random.choices(pool[-5:], k=self.random.randrange(4)))
            )
        self.program = pl.Sequence(pool[-3:])

    def _tile(self) -> int | None:
        tiles: list[int | None] = [None, 0, 1, 2, 3]
        return self.random.choice(tiles)

    def _cut(self, tensors: list[pl.Tensor], size: int = 4) -> pl.Tensor:
        begin = self.random.randrange(16)
        return self.random.choice(tensors)[begin : begin + size]

    def _vertex(self) -> pl.VertexInstance:
        graph, cs, tile = self.graph, self.random.choice(self.sets), self._tile()
        kind = self.random.randrange(3)
        if kind == 0:
            x = pl.concat([self._cut(self.floats), self._cut(self.floats)])
            y = self.random.choice(self.floats)[: self.random.randrange(1, 9)]
            return graph.add_vertex(cs, Blend, tile=tile, k=0.5, x=x, y=y)
        if kind == 1:
            rows = [self._cut(self.floats, 2) for _ in range(self.random.randrange(3))]
            vertex = graph.add_vertex(cs, Rows, tile=tile, rows=rows)
            for row in self.random.sample(range(4), 2):  # mostly with gaps
                graph.connect(vertex["out"][row], self.floats[2][4 * row : 4 * row + 4])
            return vertex
        x, y = self._cut(self.quarters), self._cut(self.quarters[:1])
        return graph.add_vertex(cs, Quarters, tile=tile, x=x.reverse(0), y=y)

    def _leaf(self) -> pl.Program:
        kind = self.random.randrange(3)
        if kind == 0:
            return pl.Execute(self.random.choice(self.sets))
        if kind == 1:
            return pl.PrintTensor(f"p{self.random.random()}", self._cut(self.floats))
        return pl.Copy(self._cut(self.floats[:2]), self._cut(self.floats[2:]))


def edges(vertex: pl.VertexInstance) -> Iterator[tuple[str, pl.Tensor]]:
    """Every edge of a vertex with its field, rows one by one."""
    for name in vertex.vertex_class.fields:
        value = vertex.connections.get(name, ())
        rows = vertex.rows[name].values() if name in vertex.rows else value
        for tensor in rows if isinstance(value, tuple) else (value,):
            yield name, tensor


def sizes(tensor: pl.Tensor) -> Counter[str]:
    """Bytes of each variable in a tensor."""
    counts: Counter[str] = Counter()
    for variable, begin, end in tensor.var_regions():
        counts[variable.name] += (end - begin) * variable.element_type.size_bytes
    return counts


def leaves(program: pl.Program, times: int = 1) -> Iterator[tuple[pl.Program, int]]:
    """Every leaf in every place, and how often it runs there."""
    if isinstance(program, pl.Execute | pl.Copy | pl.PrintTensor):
        yield program, times
    inner = times * program.count if isinstance(program, pl.Repeat) else times
    for child in program.children:
        yield from leaves(child, inner)


@given(st.integers(0, 1 << 32).map(Drawn))
def test_summary(drawn: Drawn) -> None:
    told = json.loads(summary_of(drawn.graph, drawn.program).json())
    vertices = drawn.vertices
    assert told["edges"] == sum(1 for vertex in vertices for _ in edges(vertex))
    assert told["vertices"] == len(vertices)
    names = Counter(vertex.vertex_class.__name__ for vertex in vertices)
    assert {entry["name"]: entry["vertices"] for entry in told["classes"]} == names
    assert told["vertex_tiles"] == len({vertex.tile for vertex in vertices} - {None})
    assert told["unplaced_vertices"] == sum(vertex.tile is None for vertex in vertices)
    runs = [times for _, times in leaves(drawn.program)]
    assert told["program"] == {"runs": min(sum(runs), MOST), "steps": len(runs)}


@given(st.integers(0, 1 << 32).map(Drawn))
def test_dataflow(drawn: Drawn) -> None:
    flow = json.loads(DataflowPicture(dataflow_of(drawn.graph, drawn.program)).json())
    names = [node["name"] for node in flow["nodes"]]
    told: Counter[tuple[str, str]] = Counter()
    for edge in flow["edges"]:
        told[names[edge["from"]], names[edge["to"]]] += edge["bytes"]
        told[names[edge["to"]], names[edge["from"]]] += edge["bytes_back"]
    wanted: Counter[tuple[str, str]] = Counter()
    for vertex in drawn.vertices:
        work = vertex.compute_set.name
        for name, tensor in edges(vertex):
            field = vertex.vertex_class.fields[name]
            for variable, size in sizes(tensor).items():
                owner = f"{work} numbers" if name == "k" else variable
                wanted[owner, work] += size * field.reads
                wanted[work, owner] += size * field.writes
    for leaf in dict.fromkeys(leaf for leaf, _ in leaves(drawn.program)):
        if isinstance(leaf, pl.PrintTensor):
            wanted += Counter({(name, leaf.title): n for name, n in sizes(leaf.tensor).items()})
    copies = {(leaf.source, leaf.destination) for leaf, _ in leaves(drawn.program)
              if isinstance(leaf, TensorCopy)}  # fmt: skip
    for source, end in copies:
        title = f"{source.name} -> {end.name}"
        wanted += Counter({(name, title): n for name, n in sizes(source).items()})
        wanted += Counter({(title, name): n for name, n in sizes(end).items()})
    assert +told == +wanted


@given(st.integers(0, 1 << 32).map(Drawn))
def test_program(drawn: Drawn) -> None:
    places = [(str(leaf), min(times, MOST)) for leaf, times in leaves(drawn.program)]
    told = set()
    for row in json.loads(program_tree(drawn.program).json())["rows"]:
        steps = range(row["first_step"], row["first_step"] + row["num_steps"])
        if row["kind"] != "control":
            assert (row["title"], row["runs"]) == places[row["first_step"] - 1]
        told |= set(steps)
    assert told == set(range(1, len(places) + 1))


# -- frames of operations --------------------------------------------------------------------------


SHAPE, OTHER = (4, 6), (2, 6)


def graph_of(tiles: list[int]) -> tuple[pl.Graph, pl.Tensor]:
    """Two variables; the element k of both together lies on `tiles[k]`, or nowhere for -1."""
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, SHAPE, "x")
    y = graph.add_variable(pl.FLOAT, OTHER, "a y")
    flat = pl.concat([x.flatten(), y.flatten()])
    for k, tile in enumerate(tiles):
        if tile >= 0:
            graph.set_tile_mapping(flat[k], tile)
    return graph, x


@st.composite
def operation(draw: st.DrawFn, array: Int64) -> tuple[str, Int64]:
    """An operation as text, and what NumPy makes of an array of positions by it."""
    rank = array.ndim
    if not rank:
        return "flatten", array.reshape(-1)
    axis = draw(st.integers(0, rank - 1))
    size = array.shape[axis]
    kinds = ["index", "slice", "dimShuffle", "reverse", "sub_sample", "flatten", "reshape"]
    kinds += ["broadcast", "upsample"] * (array.size <= 100)
    kinds += ["concat"] * (array.shape[1:] == OTHER[1:] and rank == 2)
    match draw(st.sampled_from(kinds)):
        case "index":
            step = draw(st.integers(1, 3))
            begin = draw(st.integers(0, size - 1))
            text = ", ".join([":"] * axis + [f"{begin}::{step}"])
            return text, array[(slice(None),) * axis + (slice(begin, None, step),)]
        case "slice":
            begin = draw(st.integers(0, size - 1))
            end = draw(st.integers(begin + 1, size))
            return f"slice {begin} {end} {axis}", array.take(range(begin, end), axis)
        case "dimShuffle":
            order = draw(st.permutations(range(rank)))
            return f"dimShuffle({', '.join(map(str, order))})", array.transpose(order)
        case "reverse":
            return f"reverse {axis}", np.flip(array, axis)
        case "sub_sample":
            step = draw(st.integers(1, 3))
            return f"sub_sample {step},{axis}", array.take(range(0, size, step), axis)
        case "reshape":
            parts = draw(
                st.sampled_from([k for k in range(1, array.size + 1) if not array.size % k])
            )
            return f"reshape [{parts}, {array.size // parts}]", array.reshape(parts, -1)
        case "broadcast":
            return f"broadcast 2 {axis}", np.concatenate([array, array], axis)
        case "upsample":
            return f"upsample 2 {axis}", np.repeat(array, 2, axis)
        case "concat":
            other = np.arange(24, 36).reshape(OTHER)
            return "concat a y 0", np.concatenate([array, other])
    return "flatten", array.reshape(-1)


@st.composite
def chain(draw: st.DrawFn) -> tuple[list[str], list[Int64]]:
    """Operations one after the other, and the positions after each."""
    texts, arrays = list[str](), [np.arange(24).reshape(SHAPE)]
    for _ in range(draw(st.integers(0, 5))):
        text, array = draw(operation(arrays[-1]))
        texts.append(text)
        arrays.append(array)
    return texts, arrays


def positions(frame: Frame) -> Int64:
    """The positions of a frame's elements, in order."""
    spans = [np.arange(b, b + n) for b, n in zip(frame.begin, frame.length, strict=True)]
    return np.concatenate(spans)


@given(chain(), st.lists(st.integers(-1, 3), min_size=36, max_size=36))
def test_intervals_are_the_regions_of_the_tensor(
    drawn: tuple[list[str], list[Int64]], tiles: list[int]
) -> None:
    texts, arrays = drawn
    _, x = graph_of(tiles)
    operations = [read_operation(text) for text in texts]
    shown = frames_of(x, operations)
    said = json.loads(RegionsPicture(shown).json())
    assert len(shown.frames) == len(arrays)
    tensor = x
    for k, (frame, array) in enumerate(zip(shown.frames, arrays, strict=True)):
        tensor = applied(tensor, operations[k - 1]) if k else tensor
        assert frame.shape == array.shape
        np.testing.assert_array_equal(positions(frame), array.ravel())
        regions = tensor.contiguous_regions()
        np.testing.assert_array_equal(np.cumsum(frame.length), regions.end)
        owner = np.repeat(frame.pieces.tile, frame.pieces.length)
        np.testing.assert_array_equal(owner, np.array(tiles)[array.ravel()])
        intervals = said["frames"][k]["intervals"]
        of_variables = zip(*intervals.values(), strict=True)  # begin, length, variable
        names = [variable["name"] for variable in said["variables"]]
        assert [(names[v], b, b + n) for b, n, v in of_variables] == [
            (v.name, b, e) for v, b, e in tensor.var_regions()
        ]


@given(chain())
def test_operations_are_read_as_they_are_shown(drawn: tuple[list[str], list[Int64]]) -> None:
    for text in drawn[0]:
        operation: TensorOperation = read_operation(text)
        assert read_operation(operation.text) == operation


# -- numbers of the report page --------------------------------------------------------------------


EXAMPLES = Path(__file__).parents[3] / "examples"
MOST_BYTES = 300_000
"""Of the page of an example."""

reports = st.builds(
    random_report,
    tiles=st.sampled_from([1, 2, 7, 64, 100]),
    steps=st.integers(0, 4),
    seed=st.integers(0, 2**32),
)


def arrays_of(report: Report, shown: dict[str, Any]) -> list[tuple[dict[str, int], Any]]:
    """Return each array of a page with the numbers of the report that it stands for."""
    found = []
    for step, data in zip(report.places, shown["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            found += [
                (kept["busy"], phase.tile_cycles.array()),
                (kept["received"], phase.received.array()),
                (kept["sent"], phase.sent.array()),
                (kept["copied"], phase.copied.array()),
            ]
    memory = report.compilation.memory
    found.append((shown["memory"]["needed"], memory.including_gaps.array()))
    for held, address, data in zip(
        memory.held, memory.addresses, shown["memory"]["held"], strict=True
    ):
        found += [(data["bytes"], held.bytes.array()), (data["address"], address.array())]
    for each, data in zip(report.compilation.compute_sets, shown["computeSets"], strict=True):
        for kind, (_, count, at) in zip(each.vertices, data["types"], strict=True):
            found.append((count, kind.count_by_tile.array()))
            assert at == kind.at
    return found


@given(report=reports)
def test_arrays_of_a_page_are_those_of_the_report(report: Report) -> None:
    page = ViewPage(report.to_html())
    for found, numbers in arrays_of(report, page.reports[0]):
        np.testing.assert_array_equal(page.array(found, report.tiles), numbers)


@pytest.mark.parametrize(
    "name",
    ["pi", "named_l2", *(pytest.param(each, marks=deep) for each in ("heat", "matvec", "photo"))],
)
def test_pages_of_examples_are_small_and_hold_all_numbers(name: str) -> None:
    report = load(f"{EXAMPLES / name}.py:build", run=False).report
    html = report.to_html()
    assert len(html.encode()) < MOST_BYTES
    page = ViewPage(html)
    assert len(page.reports[0]["steps"]) > 0
    for found, numbers in arrays_of(report, page.reports[0]):
        np.testing.assert_array_equal(page.array(found, report.tiles), numbers)
    pieces = {each["name"]: each["pieces"] for each in page.reports[0]["memory"]["held"]}
    for each in report.compilation.variables:
        kept = pieces[each.name]
        assert each.first is not None
        assert each.tiles is not None
        begins = np.cumsum(page.array(kept["steps"], kept["count"]).astype(int))
        np.testing.assert_array_equal(begins, each.first.array())
        np.testing.assert_array_equal(
            page.array(kept["tiles"], kept["count"]), each.tiles.array() + 1
        )


@given(report=reports)
def test_pairs_of_a_page_are_those_of_the_report(report: Report) -> None:
    page = ViewPage(report.to_html())
    for step, data in zip(report.execution.steps, page.reports[0]["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            assert phase.pairs is not None
            pairs = kept["pairs"]
            matrix = np.zeros(pairs["blocks"] ** 2, np.int64)
            places = np.cumsum(page.array(pairs["steps"], pairs["count"])).astype(int)
            matrix[places] = page.array(pairs["bytes"], pairs["count"])
            np.testing.assert_array_equal(matrix, phase.pairs.bytes.array())


@given(report=reports)
def test_equal_reports_are_equal_bytes_without_markup(report: Report) -> None:
    html = report.to_html(title="<b>")
    assert Report.from_json(report.to_json()).to_html(title="<b>") == html
    assert "<" not in ViewPage(html).json
    assert html.count("</script>") == 3
    assert "<!--" not in html


@given(numbers=st.lists(st.integers(0, 10**15), min_size=1) | st.lists(st.integers(0, 10**4)))
def test_rounded_arrays_have_three_digits(numbers: list[int]) -> None:
    arrays = Arrays()
    found = arrays.add_rounded(np.array(numbers, np.int64))
    page = object.__new__(ViewPage)
    page.shown, page._block = {"table": arrays.table}, b"".join(arrays._parts)
    rounded = page.array(found, len(numbers)).astype(np.int64).tolist()
    for number, kept in zip(numbers, rounded, strict=True):
        assert abs(kept - number) * 200 <= number
        assert len(str(kept).rstrip("0")) <= 3 or kept == number


@given(report=reports)
def test_rough_arrays_are_means_of_blocks(report: Report) -> None:
    arrays = Arrays()
    shown = report_data(report, arrays, rough=3)
    assert not shown["memory"]["addressed"]
    run = -(-report.tiles // BLOCKS)
    for _, count in ((kind, count) for kind, _, count in arrays.table):
        assert count in (report.tiles, -(-report.tiles // run)) or count <= BLOCKS**2
    for step, data in zip(report.execution.steps, shown["steps"], strict=True):
        for phase, kept in zip(step.phases, data["phases"], strict=True):
            assert kept["cycles"] == phase.cycles
            assert kept["busy"].get("run", run) == run
