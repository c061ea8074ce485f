"""What an operation made belongs to it: in the graph, in reports, in pictures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from poplite import ops
from poplite.ipu.codelets.file_text import codelet_file
from poplite.ops.fuse.classes import class_of, display_name
from poplite.ops.fuse.recipe import Body, Line, MapRecipe, OperandPart, ReductionRecipe, SumRecipe
from poplite.types import FLOAT, HALF, INT
from poplite.vertex.from_source import made_from_source
from poplite.viz.dataflow.fold import Excerpt
from poplite.viz.dataflow.graph import dataflow_of


class Bench:
    """A graph with operations, some in a scope, some of one name, and a compute set by hand."""

    def __init__(self) -> None:
        graph = self.graph = pl.Graph(pl.Target(tiles=16))
        x = self.x = graph.add_variable(
            pl.FLOAT, (30, 40), "x", mapping="linear", initial_value=np.ones((30, 40))
        )
        with graph.steps("main") as self.program:
            with graph.scope("layer"):
                self.soft = ops.map(ops.nn.softmax(x), name="soft")
            with ops.repeat(3):
                self.first = ops.map(ops.sum(self.soft), name="loss")
                self.second = ops.map(ops.sum(self.soft * 2), name="loss")
            ops.copy(x, self.soft)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_operations_own_what_they_made(bench: Bench) -> None:
    found = {each.name: each for each in bench.graph.operations}
    assert list(found) == ["layer/soft", "loss", "loss_1"]
    soft, first, second = (found[name] for name in ("layer/soft", "loss", "loss_1"))
    assert [each.name for each in soft.results] == ["layer/soft"]
    assert all(each.name.startswith("layer/soft/") for each in soft.temporaries)
    assert [each.name for each in first.results] == ["loss"]
    assert [each.name for each in second.results] == ["loss_1"]
    assert {each.name for each in second.temporaries} & {
        each.name for each in first.temporaries
    } == set()
    made = [each for operation in found.values() for each in operation.compute_sets]
    assert made == list(bench.graph.compute_sets)
    assert soft.location.file.endswith("test_operations.py")


def test_an_operation_of_operations_is_one(bench: Bench) -> None:
    graph = bench.graph
    before = len(graph.operations)
    with graph.steps():
        ops.random.dropout(ops.random.key(graph, 1), bench.x * 2, 0.5)
        with ops.together():
            ops.map(bench.x + 1, name="one")
            ops.map(ops.sum(bench.x), name="two")
        ops.map(bench.x - 1, name="dropout")
    made = graph.operations[before:]
    assert [each.name for each in made] == ["dropout", "one + two", "dropout_1"]
    assert len(made[0].compute_sets) == 3


def test_reports_add_up_operations(bench: Bench, tmp_path: Path) -> None:
    engine = pl.Engine(bench.graph, bench.program)
    engine.run()
    report = engine.report()
    totals = report.execution.operations()
    assert {each.name for each in totals} == {"layer/soft", "loss", "loss_1"}
    copied = sum(each.cycles for each in report.execution.steps if each.kind == "copy")
    assert sum(each.cycles for each in totals) + copied == report.cycles
    assert [each.cycles for each in totals] == sorted((e.cycles for e in totals), reverse=True)
    by_name = {each.name: each for each in totals}
    steps = [each for each in report.execution.steps if each.name.startswith("loss/")]
    own = [each for each in steps if each.operation == "loss"]
    assert {each.operation for each in steps} == {"loss", "loss_1"}
    assert all(each.executions == 3 for each in steps)
    assert by_name["loss"].steps == len(own)
    assert by_name["loss"].cycles == sum(each.cycles for each in own)
    assert by_name["loss"].bytes_received == sum(int(e.bytes_received.sum()) for e in own)
    made = {each.name: each for each in report.compilation.operations}
    assert made["loss"].result_bytes == 4
    assert made["layer/soft"].result_bytes == 30 * 40 * 4
    names = [report.compilation.compute_sets[k].name for k in made["loss_1"].compute_sets]
    assert names == ["loss/tiles_1", "loss/workers", "loss/final_1"]
    lines = str(report).split("Operations:\n")[1].split("\n\n")[0].splitlines()
    assert lines[0].endswith("steps  received B  memory B  operation")
    assert len(lines) == 4
    assert [line.split(" (")[0].split()[-1] for line in lines[1:]] == [e.name for e in totals]
    report.save(tmp_path / "report.json")
    assert pl.Report.load(tmp_path / "report.json").execution.operations() == totals


def test_saved_programs_know_their_operations(bench: Bench, tmp_path: Path) -> None:
    pl.compile_graph(bench.graph, bench.program).save(tmp_path / "main.poplite")
    engines = [
        pl.Engine(bench.graph, bench.program),
        pl.Engine(pl.Executable.load(tmp_path / "main.poplite")),
    ]
    for engine in engines:
        engine.run()
    first, second = (engine.report().execution.operations() for engine in engines)
    assert first == second


def test_a_report_without_operations_does_not_name_them() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    engine = pl.Engine(graph, pl.Copy(a, b))
    engine.run()
    assert engine.report().execution.operations() == ()
    assert "Operations:" not in str(engine.report())


def test_pictures_show_an_operation_as_one_box(bench: Bench) -> None:
    flow = dataflow_of(bench.graph, bench.program)
    boxes = {node.name: node for node in flow.nodes}
    assert {"x", "layer/soft", "loss", "loss_1"} <= set(boxes)
    assert not [name for name in boxes if "partials" in name]
    operations = [node for node in flow.nodes if node.kind == "operation"]
    assert [node.name for node in operations] == ["layer/soft", "loss", "loss_1"]
    assert operations[0].step == 1
    assert operations[0].place.startswith("on 16 tiles")
    assert flow.notice == ""
    soft = next(k for k, node in enumerate(flow.nodes) if node.kind == "operation")
    around = {edge.tail for edge in flow.edges if edge.head == soft}
    assert [flow.nodes[k].name for k in around] == ["x"]


def test_a_scope_looks_into_an_operation(bench: Bench) -> None:
    flow = dataflow_of(bench.graph, bench.program, excerpt=Excerpt(scope="layer/soft"))
    names = [node.name for node in flow.nodes]
    assert "layer/soft/max/tiles/partials" in names
    assert sum(node.kind == "compute" for node in flow.nodes) > 2
    outer = dataflow_of(bench.graph, bench.program, excerpt=Excerpt(scope="layer"))
    assert "layer/soft/max/tiles/partials" not in [node.name for node in outer.nodes]


def test_operations_are_folded_by_their_scopes_in_small_pictures(bench: Bench) -> None:
    flow = dataflow_of(bench.graph, bench.program, excerpt=Excerpt(max_nodes=4))
    assert len(flow.nodes) <= 4
    assert "collapsed" in flow.notice


# -- names -----------------------------------------------------------------------------------------
# What generated vertex classes and steps are called in reports, messages and C++.


SCALED = Body(
    (
        Line("subtract", FLOAT, ("a0", "a1")),
        Line("multiply", FLOAT, ("v0", "k0")),
        Line("add", FLOAT, ("v1", "k1")),
    ),
    "v2",
    (FLOAT, FLOAT),
    (FLOAT, FLOAT),
)
PRODUCT = Body((Line("multiply", HALF, ("a0", "a1")),), "v0", (HALF, HALF), ())
CAST = Body((Line("cast", FLOAT, ("a0",)),), "v0", (INT,), ())
BOTH = (OperandPart.ELEMENTS, OperandPart.ELEMENTS)


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (MapRecipe(SCALED, BOTH, FLOAT), "(x0 - x1) * k0 + k1"),
        (MapRecipe(SCALED, BOTH, FLOAT, in_place=1), "(x0 - out) * k0 + k1"),
        (
            MapRecipe(SCALED, (OperandPart.ROWS, OperandPart.COLUMN), FLOAT),
            "(x0 - x1) * k0 + k1 (x0 rows, x1 a column)",
        ),
        (
            MapRecipe(CAST, (OperandPart.NUMBER,), FLOAT),
            "cast(x0, FLOAT) [INT -> FLOAT] (x0 a number)",
        ),
        (
            ReductionRecipe(PRODUCT, (1,), "add", HALF, True),
            "sum(x0 * x1) of columns [HALF] (x1 a number)",
        ),
        (ReductionRecipe(SCALED, (), "max", FLOAT, False), "max((x0 - x1) * k0 + k1) of rows"),
        (SumRecipe(SCALED, BOTH, FLOAT, 0), "(sum(slices) - x1) * k0 + k1"),
    ],
)
def test_a_class_is_called_after_its_formula(recipe: object, name: str) -> None:
    assert display_name(recipe) == name  # type: ignore[arg-type]


def test_a_formula_that_shares_parts_is_cut() -> None:
    """Written out, it would have 2**40 operands."""
    twice = ["a0", *(f"v{n}" for n in range(39))]
    lines = tuple(Line("add", FLOAT, (each, each)) for each in twice)
    name = display_name(MapRecipe(Body(lines, "v39", (FLOAT,), ()), (OperandPart.ELEMENTS,), FLOAT))
    assert "..." in name
    assert len(name) < 300


def test_files_and_codelets_take_the_name_of_letters() -> None:
    cls = class_of(MapRecipe(SCALED, BOTH, FLOAT))
    assert cls.__name__ == "(x0 - x1) * k0 + k1"
    assert cls.__qualname__.isidentifier()
    file = codelet_file([cls])
    assert file.names[cls] == cls.__qualname__
    assert f"class {cls.__qualname__}" in file.text


def test_texts_of_one_shown_name_lie_in_files_of_their_own() -> None:
    text = "import poplite as pl\nclass {0}(pl.Vertex):\n    def compute(self): pass\n"
    one = made_from_source(text.format("One"), "One", "the same")
    two = made_from_source(text.format("Two"), "Two", "the same")
    assert one.__name__ == two.__name__ == "the same"
    assert one.location.file == "<poplite the same>"
    assert re.fullmatch(r"<poplite the same [0-9a-f]+>", two.location.file)


def test_reports_name_formulas_and_targets() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, b, y = (
        graph.add_variable(pl.FLOAT, (8,), name, mapping="linear", initial_value=1)
        for name in ("x", "b", "net/y")
    )
    with graph.steps() as program:
        ops.assign(y, (x - b) * 0.5 + 1)
        ops.assign(y, (x - b) * 0.25 + 2)  # of the same class
        ops.assign(pl.concat([x, y]), pl.concat([b, b]) * 2)
        ops.assign(x, y, name="back")
    engine = pl.Engine(graph, program)
    engine.run()
    report = engine.report()
    names = [step.name for step in report.execution.steps]
    assert names == ["y[out]", "y[out]_1", "assign[out]", "net/y to x"]
    types = [each.name for each in report.execution.vertex_types()]
    assert sorted(types) == ["(x0 - x1) * k0 + k1", "x0 * k0"]
    assert not re.search(r"_[0-9a-f]{8}", str(report))


def test_classes_of_one_name_are_told_apart() -> None:
    """Also where a function makes them, so that their modules and qualified names are equal."""

    def made(factor: float) -> type[pl.Vertex]:
        class Scale(pl.Vertex):
            x: pl.InOut[pl.Vector[pl.FLOAT]]

            def compute(self) -> None:
                self.x[0] *= factor

        return Scale

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=1)
    both = graph.add_compute_set("both")
    for n, factor in enumerate((2.0, 3.0)):
        graph.add_vertex(both, made(factor), tile=0, x=x[n : n + 1])
    engine = pl.Engine(graph, pl.Execute(both), interpret=True)
    engine.run()
    names = [each.name for each in engine.report().execution.vertex_types()]
    assert sorted(name.rpartition(".")[2] for name in names) == ["Scale, class 1", "Scale, class 2"]
    assert engine.read(x).tolist() == [2, 3]
