"""What an operation made belongs to it: in the graph, in reports, in pictures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only
from helpers.made import tiles_made
from poplite import ops
from poplite.ipu.codelet_file import codelet_file
from poplite.ops import linalg, nn, random
from poplite.ops.control import counted_loop
from poplite.ops.fuse.classes import class_of, display_name
from poplite.ops.fuse.recipe import Body, Line, MapRecipe, OperandPart, ReductionRecipe, SumRecipe
from poplite.types import FLOAT, HALF, INT
from poplite.vertex.from_source import made_from_source
from poplite.viz.dataflow.graph import Excerpt, dataflow_of


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


# -- tiles of a virtual graph ----------------------------------------------------------------------


TOP = pl.Graph(pl.Target(tiles=24))
OUTER = TOP.create_virtual_graph(6, 16)
NESTED = OUTER.create_virtual_graph([6, 2, 4, 3, 5])  # tiles 12, 8, 10, 9 and 11


class Operands:
    """Tensors that a graph makes."""

    def __init__(self, graph: pl.Graph) -> None:
        def made(*shape: int, kind: Any = pl.FLOAT) -> pl.Tensor:
            return graph.add_variable(kind, shape, "t", mapping="linear")

        self.graph = graph
        self.x, self.square, self.row, self.column = made(30, 40), made(40, 40), made(40), made(30)
        self.few = graph.add_variable(pl.FLOAT, (30, 40), "few", mapping=1)
        self.image, self.weights, self.made = made(2, 8, 9, 9), made(4, 8, 3, 3), made(2, 4, 7, 7)
        self.indices = made(30, kind=pl.UNSIGNED_INT)
        self.one, self.flags = made(1, kind=pl.UNSIGNED_INT), made(30, 40, kind=pl.BOOL)
        self.sequence, self.state = made(3, 2, 5), nn.LstmState(made(2, 6), made(2, 6))
        self.gates = nn.RecurrentWeights(made(4, 5, 6), made(4, 6, 6), made(4, 6))
        self.three = nn.RecurrentWeights(*(each[:3] for each in self.gates))
        self.attended, self.outputs = made(2, 3, 8), made(3, 2, 6)
        self.projections = nn.AttentionWeights(*(made(8, 8) for _ in range(4)))
        self.key = random.key(graph, seed=1)
        self.pattern = ops.SparsePattern((3, 30), [0, 2, 2, 3], [1, 3, 0])
        self.values = made(3)
        self.channels, self.channel_squares = made(8), made(8)
        self.moved = nn.adam_state(self.x)


def _weighted(o: Operands) -> pl.Tensor:
    return ops.convolution(o.image, o.weights)


def _looped(o: Operands) -> None:
    with ops.repeat(3) as i:
        ops.assign(o.one, o.one + i)
    with ops.if_(o.one[0] > 1):
        ops.map(o.x @ o.square)


def _function(o: Operands) -> Any:
    @pl.graph_function
    def product(a: pl.Tensor, b: pl.Tensor) -> pl.Tensor:
        return ops.map(a @ b)

    return product(o.x, o.square)


def _lstm(o: Operands) -> nn.Lstm:
    return nn.lstm(o.sequence, o.gates, o.state)


def _attention(o: Operands) -> Any:
    return nn.multi_head_attention(o.attended, o.attended, o.attended, o.projections, heads=2)


CALLS: dict[str, Callable[[Operands], Any]] = {
    "map": lambda o: ops.map(o.x + o.row),
    "broadcast": lambda o: ops.map(o.row * ops.map(o.column.reshape((30, 1)) + 0)),
    "map of few": lambda o: ops.map(o.few + 1),
    "views": lambda o: ops.map(o.x.T),
    "copy": lambda o: ops.copy(o.square[:30], o.x),
    "lower": lambda o: ops.lower(o.x.graph, [o.x @ o.square, ops.sum(o.x, 1)]),
    "reduction": lambda o: ops.map(ops.sum(o.x * o.x)),
    "rows": lambda o: ops.map(ops.max(o.x, 1)),
    "reduction of few": lambda o: ops.map(ops.sum(o.few, 0)),
    "position": lambda o: ops.map(ops.argmax(o.x, 0)),
    "long positions": lambda o: ops.map(
        ops.sum(ops.cast(ops.iota((30, 40), pl.INT), pl.FLOAT) * o.x)
    ),
    "variance": lambda o: ops.map(ops.variance(o.x, 0)),
    "reduce_many": lambda o: ops.reduce_many([("min", o.x, 0), ("add", o.x, [0, 1])]),
    "scan": lambda o: ops.scan(lambda h, x: (h + x, h), o.row, o.x),
    "triangle": lambda o: ops.map(ops.tril(o.square)),
    "transpose": lambda o: ops.transpose(o.x * 2),
    "pad": lambda o: ops.map(ops.pad(o.x, (1, 1), value=3.0)),
    "matmul": lambda o: ops.map(o.x @ o.square),
    "sums of products": lambda o: ops.map(ops.maximum(o.row @ o.square + o.row, 0)),
    "outer": lambda o: ops.map(ops.outer(o.row, o.column)),
    "groups": lambda o: ops.map(
        ops.matmul(o.image[0], o.image[0].dim_shuffle((0, 2, 1)), partials=pl.FLOAT)
    ),
    "fill": lambda o: ops.fill(o.x, 2.0),
    "zero": lambda o: ops.zero(o.flags),
    "assign": lambda o: ops.assign(o.x, o.x @ o.square),
    "sort": lambda o: ops.sort(o.x, 0),
    "argsort": lambda o: ops.argsort(o.row),
    "sort_key_value": lambda o: ops.sort_key_value(o.row, o.row + 1),
    "top_k": lambda o: ops.top_k(o.x, 3, 1),
    "unique_sorted": lambda o: ops.unique_sorted(o.row),
    "cumulative_sum": lambda o: ops.cumulative_sum(o.x, 0),
    "cumulative_product": lambda o: ops.cumulative_product(o.row),
    "take_along_axis": lambda o: ops.take_along_axis(o.x, o.indices.reshape((30, 1)), 1),
    "multi_slice": lambda o: ops.multi_slice(o.x, o.indices),
    "embedding": lambda o: ops.embedding(o.x, o.indices[:4]),
    "multi_update": lambda o: ops.multi_update(o.x, o.x, o.indices),
    "multi_update_add": lambda o: ops.multi_update_add(o.x, o.x * 2, o.indices, scale=0.5),
    "multi_update_mul": lambda o: ops.multi_update_mul(o.square, o.x + 1, o.indices),
    "multi_update_max": lambda o: ops.multi_update_max(o.square, o.x, o.indices),
    "dynamic_slice": lambda o: ops.dynamic_slice(o.x, o.one, [1], [7]),
    "dynamic_update": lambda o: ops.dynamic_update(o.x, o.x[:2], o.one, [0], [2]),
    "one_hot": lambda o: ops.one_hot(o.indices, 50),
    "select_from_rows": lambda o: ops.select_from_rows(o.x, o.indices),
    "update_from_rows": lambda o: ops.update_from_rows(o.x, o.indices),
    "uniform": lambda o: random.uniform(o.key, (70,)),
    "normal": lambda o: random.normal(o.key, (70,)),
    "truncated_normal": lambda o: random.truncated_normal(o.key, (70,)),
    "bernoulli": lambda o: random.bernoulli(o.key, (70,)),
    "integers": lambda o: random.integers(o.key, (70,)),
    "permutation": lambda o: random.permutation(o.key, 2000),
    "categorical": lambda o: random.categorical(o.key, o.x),
    "dropout": lambda o: random.dropout(o.key, o.x, 0.5),
    "dropout gradient": lambda o: random.dropout_gradient(o.key, o.x, 0.5),
    "cholesky": lambda o: linalg.cholesky(o.square),
    "triangular_solve": lambda o: linalg.triangular_solve(o.square, o.square),
    "lu": lambda o: linalg.lu(o.square),
    "qr": lambda o: linalg.qr(o.square[:9, :9]),
    "inverse": lambda o: linalg.inverse(o.square[:9, :9]),
    "cumulative_max": lambda o: ops.cumulative_max(o.x, 1),
    "searchsorted": lambda o: ops.searchsorted(o.row, o.x),
    "bincount": lambda o: ops.bincount(o.indices, 20),
    "few in many bins": lambda o: ops.bincount(o.indices, 200, o.column),
    "histogram": lambda o: ops.histogram(o.x, [0, 1, 2]),
    "reduce_window": lambda o: ops.reduce_window(o.x, (1, 20), "add", padding=1),
    "einsum": lambda o: ops.einsum("ij,jk,ik->k", o.x, o.square, o.x * 2),
    "einsum gradient": lambda o: ops.einsum_gradient("ij,j->i", o.column, o.x, o.row),
    "tensordot": lambda o: ops.tensordot(o.x, o.square, 1),
    "convolution": _weighted,
    "strided convolution": lambda o: ops.convolution(o.image, o.weights, stride=2, padding=1),
    "input gradient": lambda o: ops.convolution_input_gradient(o.made, o.weights, (9, 9)),
    "weights gradient": lambda o: ops.convolution_weights_gradient(
        o.made, o.image, (3, 3), padding=0
    ),
    "max_pool": lambda o: nn.max_pool(o.image, 2),
    "average_pool": lambda o: nn.average_pool(o.image, 3, padding=1),
    "sum_pool": lambda o: nn.sum_pool(o.image, 2),
    "max_pool gradient": lambda o: nn.max_pool_gradient(
        o.made[:, :, :4, :4], o.image[:, :4], o.made[:, :, :4, :4], 2
    ),
    "average_pool gradient": lambda o: nn.average_pool_gradient(o.made, (8, 8), 2, stride=1),
    "sum_pool gradient": lambda o: nn.sum_pool_gradient(o.made, (8, 8), 2, stride=1),
    "sparse_matmul": lambda o: ops.sparse_matmul(o.pattern, o.values, o.x),
    "sparse gradient": lambda o: ops.sparse_matmul_gradient(o.pattern, o.x[:3], o.x),
    "softmax": lambda o: ops.map(nn.softmax(o.x, 1)),
    "layer_norm": lambda o: ops.map(nn.layer_norm(o.x, 1)),
    "batch_norm": lambda o: ops.map(nn.batch_norm(o.image)),
    "running_statistics": lambda o: nn.running_statistics(o.image, o.channels, o.channel_squares),
    "cross_entropy": lambda o: ops.map(nn.cross_entropy(o.x, o.indices)),
    "clip_by_global_norm": lambda o: nn.clip_by_global_norm([o.x, o.row], 1.0),
    "sgd": lambda o: nn.sgd(o.x, o.x @ o.square, 0.5),
    "adam": lambda o: nn.adam(o.x, o.x * 2, o.moved),
    "lstm": _lstm,
    "gru": lambda o: nn.gru(o.sequence, o.three, o.state.output),
    "lstm gradient": lambda o: nn.lstm_gradient(o.sequence, o.gates, _lstm(o), o.outputs),
    "gru gradient": lambda o: nn.gru_gradient(
        o.sequence, o.three, nn.gru(o.sequence, o.three, o.state.output), o.outputs
    ),
    "attention": _attention,
    "attention gradient": lambda o: nn.multi_head_attention_gradient(
        o.attended, o.attended, o.attended, o.projections, 2, _attention(o), o.attended
    ),
    "loop": _looped,
    "function": _function,
}


def test_all_recorded_operations_are_tried() -> None:
    called = {name for call in CALLS.values() for name in call.__code__.co_names}
    for module in (ops, nn, linalg, random):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if "program" in inspect.signature(function).parameters:
                assert name in called, f"{module.__name__}.{name}"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "graph", [pytest.param(OUTER, marks=deep), NESTED], ids=["outer", "nested"]
)
def test_steps_of_a_virtual_graph_keep_to_its_tiles(graph: pl.Graph, name: str) -> None:
    own = {graph.convert_tile_to_top_level_graph_tile(k) for k in range(graph.target.tiles)}
    operands = Operands(graph)
    with graph.steps():
        assert tiles_made(graph, partial(CALLS[name], operands)) <= own
    operands = Operands(graph)
    with TOP.steps():
        if name != "loop":  # its operands decide only where it has some: an index is of the block
            assert tiles_made(graph, partial(CALLS[name], operands)) <= own
    operands = Operands(TOP)  # which lie everywhere
    with graph.steps():
        assert tiles_made(graph, partial(CALLS[name], operands)) <= own


def test_mappings_count_the_tiles_of_the_steps() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    part = graph.create_virtual_graph(4, 8)
    x = part.add_variable(pl.FLOAT, (4,), "x", mapping="linear", initial_value=[4, 1, 3, 2])
    with part.steps() as step:
        one = ops.map(x + 1, mapping=1)
        spread = ops.map(ops.sort(x), mapping="linear")
        drawn = random.uniform(random.key(part, seed=1), (4,), mapping=3)
        with pytest.raises(pl.InvalidTileMapping, match="tile 5, but the virtual graph has 4"):
            ops.map(x + 1, mapping=5)
        with graph.steps():
            other = ops.map(x + 1, mapping=1)
    with graph.steps():
        outside = ops.map(x + 1, mapping=1)
        everywhere = ops.map(ops.sort(x), mapping="linear")
    found = [graph.tile_mapping(t).tiles.tolist() for t in (one, drawn, other, outside)]
    assert found == [[5], [7], [1], [1]]
    assert graph.tile_mapping(spread).tiles.tolist() == [4, 5, 6, 7]
    assert graph.tile_mapping(everywhere).tiles.tolist() == [0, 1, 2, 3]
    engine = pl.Engine(graph, step, interpret=True, options=values_only())
    engine.run()
    assert engine.read(spread).tolist() == [1, 2, 3, 4]


def test_operands_decide_where_nothing_else_does() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    outer = graph.create_virtual_graph(2, 8)
    inner = outer.create_virtual_graph(2, 4)  # tiles 4 and 5
    again = graph.create_virtual_graph(4, 6)
    x, y, z, w = (
        each.add_variable(pl.FLOAT, (64, 64), "x", mapping="linear", initial_value=1)
        for each in (inner, again, outer, graph)
    )
    plan = ops.plan_matmul(outer, m=64, k=64, n=64)

    separate = pl.Sequence()

    def tiles(expr: Any, **more: Any) -> list[int]:
        made = tiles_made(graph, lambda: ops.map(expr, program=separate, **more))
        return sorted(made)

    assert tiles(x @ y) == [4, 5]  # two virtual graphs over the same tiles
    assert tiles(x @ z) == [2, 3, 4, 5]  # of nested ones it is the outer one
    assert tiles(x @ w) == [*range(8)]
    assert tiles(ops.matmul(x, y, plan)) == [2, 3, 4, 5]
    assert tiles(graph.clone(x).T @ y) == [4, 5]
    with inner.steps():  # a program without a graph of its own
        assert tiles(x @ w) == [4, 5]
    assert tiles(x @ y, out=w) == [4, 5]
    assert 0 in tiles(x @ y, mapping="linear")


def test_what_lies_elsewhere_is_read_and_written_from_the_graphs_tiles() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    part = graph.create_virtual_graph(4, 6)
    numbers = np.arange(40, dtype=np.float32).reshape(8, 5)
    x = graph.add_variable(pl.FLOAT, (8, 5), "x", mapping="linear", initial_value=numbers)
    y = graph.add_variable(pl.FLOAT, (8, 5), "y", mapping=7, initial_value=0)
    k = graph.add_variable(pl.UNSIGNED_INT, (2,), "k", mapping=1, initial_value=[6, 1])
    results: list[pl.Tensor] = []
    step = part.steps()

    def record() -> None:
        with step:
            ops.assign(y, y + x * 2)
            ops.multi_update(y, y[2:4], k)
            ops.dynamic_update(y, x[:1], k[:1], [0], [1])
            results.extend([ops.map(ops.sum(x, 0)), ops.map(ops.max(x)), ops.map(x @ x.T)])
            results.append(ops.map(ops.sum(x * y)))

    assert tiles_made(graph, record) <= {4, 5}
    engine = pl.Engine(graph, step, interpret=True, options=values_only())
    engine.run()
    changed = numbers * 2
    changed[[6, 1]] = changed[[2, 3]]
    changed[6] = numbers[0]
    np.testing.assert_array_equal(engine.read(y), changed)
    expected = [numbers.sum(0), numbers.max(), numbers @ numbers.T, (numbers * changed).sum()]
    for made, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(engine.read(made), right)


def test_each_virtual_graph_has_a_function_of_its_own() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])

    @pl.graph_function
    def total(a: pl.Tensor) -> pl.Tensor:
        return ops.map(ops.sum(a))

    made = []
    for part in (graph, graph.create_virtual_graph(2, 3), graph.create_virtual_graph(2, 3)):
        with part.steps() as step:
            made.append(total(x))
    assert [graph.tile_mapping(each).tiles.tolist() for each in made] == [[0], [2], [2]]
    assert len(graph.compute_sets) == 2
    engine = pl.Engine(graph, step, interpret=True, options=values_only())
    engine.run()
    assert int(engine.read(made[2])) == 10


def test_scalars_and_constants_do_not_move_results_off_a_virtual_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    own = graph.create_virtual_graph([9, 5, 6])
    x = own.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    scalar = own.add_variable(pl.FLOAT, (), "scalar", mapping=2)
    taps = own.add_constant(pl.FLOAT, (8,), range(8), mapping="linear")
    whole = graph.add_variable(pl.FLOAT, (8,), "whole", mapping="linear")
    three = graph.add_constant(pl.FLOAT, (), 3, mapping=15)
    table = graph.add_constant(pl.FLOAT, (8,), range(8), mapping="linear")
    one = graph.add_variable(pl.FLOAT, (1,), "one", mapping=14)
    used = [
        (x * three, {5, 6, 9}),
        (three * x, {5, 6, 9}),
        (x * one, {5, 6, 9}),
        (x * table, {5, 6, 9}),
        (x * whole[3], {5, 6, 9}),
        (x @ table * one, {5, 6, 9}),
        (ops.where(x > three, x, one), {5, 6, 9}),
        (scalar * one, {6}),
        (taps * one, {5, 6, 9}),
        (x * whole, {*range(8)}),
        (whole * scalar, {*range(8)}),
        (whole * taps, {*range(8)}),
        (one * three, {14}),
    ]
    at = graph.add_variable(pl.UNSIGNED_INT, (1,), "at", mapping=0)
    with graph.steps():
        for call in (
            partial(ops.dynamic_slice, x, at, [0], [3]),
            partial(ops.dynamic_update, x, x[:2] * three, at, [0], [2]),
        ):
            assert tiles_made(graph, call) <= {5, 6, 9}
        for expr, tiles in used:
            found = tiles_made(graph, partial(ops.map, expr))
            assert found <= tiles, expr
        assert tiles_made(graph, partial(graph.clone, own.add_constant(pl.INT, (), 1, mapping=1)))


def test_a_loop_is_counted_where_its_steps_run() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    own, other = graph.create_virtual_graph([9, 5, 6]), graph.create_virtual_graph([3])
    x = own.add_variable(pl.UNSIGNED_INT, (8,), "x", mapping="linear", initial_value=0)
    y = other.add_variable(pl.UNSIGNED_INT, (8,), "y", mapping=0, initial_value=0)
    z = graph.add_variable(pl.UNSIGNED_INT, (8,), "z", mapping=12, initial_value=0)

    def loop(*tensors: pl.Tensor) -> None:
        with ops.repeat(3) as i, ops.repeat(2) as j:
            for each in tensors:
                ops.assign(each, each + 10 * i + j)

    def last_moved() -> None:
        with ops.repeat(3) as i:
            graph.set_tile_mapping(i.tensor, 7)
            ops.assign(z, z + i)

    with graph.steps() as step:
        assert tiles_made(graph, partial(loop, x)) == {5, 6, 9}
        assert tiles_made(graph, partial(loop, y)) == {3}
        assert tiles_made(graph, partial(loop, z)) == {0, 12}
        assert tiles_made(graph, partial(loop, x, y)) == {3, 5, 6, 9}
        assert 7 in tiles_made(graph, last_moved)
    with own.steps():
        assert tiles_made(graph, partial(loop, y)) <= {5, 6, 9}
    bound = own.add_constant(pl.UNSIGNED_INT, (), 3, mapping=1)
    far = graph.add_constant(pl.UNSIGNED_INT, (), 3, mapping=15)
    for end in (bound, far):
        made = partial(counted_loop, own, 0, end, 1, pl.Sequence())
        assert tiles_made(graph, made) <= {5, 6, 9}
    engine = pl.Engine(graph, step, interpret=True)
    engine.run()
    assert engine.read(x).tolist() == [126] * 8
    assert engine.read(y).tolist() == [126] * 8
    assert engine.read(z).tolist() == [66] * 8
