"""The types that a user's program gets from poplite, for mypy and basedpyright in strict mode.

`.ci/run` checks this file with both, beside an installed poplite, as a user would.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import poplite as pl
import poplite.compat.popnn.ln as layer_norm
import poplite.named as ng
from poplite import ops, report as reports, viz
from poplite.compat import poplin, popnn, popops, poputil
from poplite.compat.popnn import gn, in_, lstm, pooling
from poplite.compat.popnn.bn import createBatchNormParams
from poplite.compat.popnn.in_ import createInstanceNormParams
from poplite.compat.popnn.pooling import PoolingType, PoolParams
from poplite.compat.popops import embedding, expr
from poplite.compat.popops.embedding import plan
from poplite.ops import linalg, nn, random
from poplite.program import StreamCopy
from poplite.testing import assert_vertex, tiles_of

Values = npt.NDArray[Any]
ARCHITECTURE = pl.Target(tiles=4)


class Scale(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    factor: pl.State[pl.INT]
    out: pl.Output[pl.Vector[pl.FLOAT]]
    last: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = self.x[i] * self.factor
        self.last = self.last + self.factor


class Twice(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = 2 * self.x[i]


class Largest(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.HALF]]
    out: pl.Output[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.out), self.num_workers):
            self.out[i] = 1 if self.x[i] > 0 else 0


def fields(scale: Scale, largest: Largest) -> None:
    """What `compute` works with; it is checked, and never called."""
    assert_type(scale.x[0], float)
    assert_type(scale.factor, int)
    assert_type(scale.last, float)
    assert_type(len(scale.out), int)
    assert_type(largest.x[0], float)
    assert_type(largest.out[0], int)
    assert_type(largest.num_workers, int)


def scaled(tiles: int) -> tuple[pl.Graph, pl.Program]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(pl.FLOAT, (6,), "x", mapping="linear", initial_value=1)
    out = graph.add_variable(pl.FLOAT, (6,), "out", mapping="linear", initial_value=0)
    last = graph.add_variable(pl.FLOAT, (), "last", mapping=0, initial_value=0)
    scale = graph.add_compute_set("scale")
    graph.add_vertex(scale, Scale, tile=0, x=x, factor=2, out=out, last=last)
    return graph, pl.Execute(scale)


def test_graphs_variables_and_views() -> None:
    graph = pl.Graph(ARCHITECTURE)
    assert_type(graph.target, pl.Target)
    assert_type(graph.target.tiles, int)
    x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    assert_type(x, pl.Tensor)
    assert_type(graph.add_constant(pl.INT, (2,), [1, 2]), pl.Tensor)
    for view in (x[0], x[1:, ::2], x.T, x.reshape(2, -1), x.flatten(), pl.concat([x, x])):
        assert_type(view, pl.Tensor)
    rows: int = x.shape[0]
    elements: int = x.num_elements
    assert (rows, elements, len(x.shape)) == (4, 24, 2)
    assert_type(x.is_contiguous(), bool)
    assert_type(x == x.T, bool)
    assert_type(graph.tile_mapping(x), pl.TileMapping)
    assert_type(graph.variables, tuple[pl.Variable, ...])
    number: type[pl.ElementType[Any]] = x.element_type
    assert number is pl.FLOAT


def test_vertices_and_programs() -> None:
    graph, program = scaled(2)
    assert_type(graph.compute_sets, tuple[pl.ComputeSet, ...])
    more = graph.add_compute_set("more")
    assert_type(more, pl.ComputeSet)
    x = graph.add_variable(pl.FLOAT, (6,), "more/x", mapping="linear", initial_value=1)
    last = graph.add_variable(pl.FLOAT, (), "more/last", mapping=0, initial_value=0)
    vertex = graph.add_vertex(more, Scale, tile=0, x=x[:3], factor=3, out=x[3:], last=last)
    assert_type(vertex, pl.VertexInstance)
    assert_type(vertex["x"], pl.FieldRef)
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 6)
    assert_type(stream, pl.DataStream)
    copy: StreamCopy = pl.Copy(stream, x)
    sequence = pl.Sequence(copy, program, pl.Repeat(2, pl.Execute(more)))
    assert_type(sequence, pl.Sequence)
    assert_type(graph.add_function(sequence), pl.Function)


def test_engines_and_reports() -> None:
    graph, program = scaled(2)
    engine = pl.Engine(graph, program, interpret=True)
    assert_type(engine, pl.Engine)
    engine.write("x", np.arange(6, dtype=np.float32))
    assert_type(engine.run(), None)
    assert_type(engine.read("out"), Values)
    assert engine.read("out").tolist() == [0, 2, 4, 6, 8, 10]
    report = engine.report()
    assert_type(report, pl.Report)
    assert_type(report.cycles, int | None)
    assert_type(report.execution, reports.Execution)
    assert_type(report.to_json(), str)
    assert_type(report.diff(report), reports.ReportDiff)
    assert_type(report.insights, reports.Insights)
    assert_type(engine.executable, pl.Executable)


def test_sweeps() -> None:
    sweep = pl.sweep(scaled, {"tiles": [1, 2]})
    assert_type(sweep, pl.Sweep)
    assert_type(sweep["cycles"], Values)
    assert_type(sweep.best(), dict[str, Any])
    assert_type(sweep.parameters, tuple[str, ...])


def test_operations() -> None:
    graph = pl.Graph(ARCHITECTURE)
    x = graph.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear", initial_value=1)
    for expression in (x + 1, 2 - x, x * x, x / x, -x, x @ x, x > 1, x.sum(0), ops.exp(x)):
        assert_type(expression, pl.Expr)
    assert_type(ops.sum(x * x, 0), pl.Expr)
    with graph.steps() as step:
        assert_type(ops.map(ops.tanh(x) + 1), pl.Tensor)
        assert_type(ops.assign(x, x + 1), pl.Tensor)
        assert_type(ops.sort(x), pl.Tensor)
        best, places = ops.top_k(x, 2)
        assert_type(best, pl.Tensor)
        assert_type(places, pl.Tensor)
        assert_type(linalg.cholesky(x), pl.Tensor)
        assert_type(random.uniform(random.key(graph, 1), (4,)), pl.Tensor)
    program: pl.Sequence = step
    assert pl.Engine(graph, program, interpret=True).report() is not None
    assert_type(ops.plan_matmul(graph, m=4, k=4, n=4), ops.MatMulPlan)


def test_networks() -> None:
    graph = pl.Graph(ARCHITECTURE)
    x = graph.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear", initial_value=1)
    assert_type(nn.softmax(x), pl.Expr)
    assert_type(nn.relu(x), pl.Expr)
    with graph.steps():
        state = nn.adam_state(x)
        assert_type(state, nn.AdamState)
        assert_type(nn.adam(x, x, state), pl.Tensor)
        assert_type(nn.max_pool(x.reshape(1, 1, 4, 4), 2), pl.Tensor)


@pl.graph_function
def doubled(x: pl.Tensor) -> pl.Tensor:
    return ops.map(x + x)


def test_functions_of_graphs() -> None:
    graph = pl.Graph(ARCHITECTURE)
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear", initial_value=1)
    with graph.steps():
        assert_type(doubled(x), pl.Tensor)


def test_named_axes() -> None:
    row, column = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    assert_type(row, ng.Axis)
    assert_type(ng.make_axes([row, column]), ng.Axes)
    image = ng.placeholder([row, column], name="image")
    scale = ng.variable([row], 2, name="scale")
    made: tuple[ng.Op, ...] = (image * scale, ng.exp(image), ng.dot(image, scale), image[row, 0])
    for each in made:
        assert_type(each.axes, ng.Axes)
    assert_type(ng.mean(image, reduction_axes=[row]), ng.Op)
    loss = ng.sum(image * scale, ...)
    assert_type(ng.deriv(loss, scale), ng.Op)
    assert_type(ng.deriv(loss, [scale]), list[ng.Op])
    with ng.make_transformer(tiles=4) as device:
        assert_type(device, ng.Transformer)
        brightness = device.computation(ng.mean(image * scale, out_axes=[row]), image)
        assert_type(brightness, ng.Computation)
        assert_type(brightness.explain(), str)
        assert_type(brightness.tensor(image), pl.Tensor)


def test_names_of_poplar() -> None:
    graph = pl.Graph(ARCHITECTURE)
    x = graph.addVariable(pl.FLOAT, (4, 2), "x")
    assert_type(x, pl.Tensor)
    assert_type(x.dimShuffle([1, 0]), pl.Tensor)
    assert_type(graph.getTarget(), pl.Target)
    assert_type(graph.addComputeSet("set"), pl.ComputeSet)
    assert_type(pl.versionString(), str)
    assert issubclass(pl.poplar_error, Exception)


def refused_of_poplibs(graph: pl.Graph, x: pl.Tensor, program: pl.Sequence) -> None:
    """Calls that type checkers refuse; they are checked, and never made."""
    popops.add(graph, x, x)  # type: ignore[call-arg]
    popops.addInPlace(graph, 1, x, program)  # type: ignore[arg-type]
    popops.mulWithOutput(graph, x, x, program)  # type: ignore[call-arg, arg-type]


def test_names_of_poplibs() -> None:
    graph, program = pl.Graph(ARCHITECTURE), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (8, 8), "x", mapping="linear", initial_value=1)
    total = popops.add(graph, x, 1, prog=program, debug_context="sum")
    assert_type(total, pl.Tensor)
    assert_type(popops.add(graph, x, x, program, "sum", {}), pl.Tensor)
    assert_type(popops.negInPlace(graph, x, program), None)
    assert_type(popops.clampWithOutput(graph, x, 0, 1, total, program), None)
    assert_type(popops.map(graph, expr.PlaceHolder(1) * expr.Const(2), [x], program), pl.Tensor)
    assert_type(popnn.nonLinearity(graph, popnn.NonLinearityType.RELU, x, program), pl.Tensor)
    assert_type(poplin.matMul(graph, x, x, program, pl.FLOAT), pl.Tensor)
    assert_type(poputil.mapTensorLinearly(graph, x), None)
    regions = poputil.splitRegions([(0, 9)], 1, 3)
    assert_type(regions, list[list[pl.Interval]])


def test_namespaces_of_poplibs_are_modules() -> None:
    graph, program = pl.Graph(ARCHITECTURE), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (2, 4, 6), "x", mapping="linear", initial_value=1)
    params = createBatchNormParams(graph, x)
    assert_type(params, tuple[pl.Tensor, pl.Tensor])
    assert_type(popnn.bn.createBatchNormParams(graph, x), tuple[pl.Tensor, pl.Tensor])
    assert_type(gn.createGroupNormParams(graph, x), tuple[pl.Tensor, pl.Tensor])
    assert_type(layer_norm.createLayerNormParams(graph, x), tuple[pl.Tensor, pl.Tensor])
    assert in_.createInstanceNormParams is createInstanceNormParams
    assert (lstm.LstmParams, pooling.PoolParams) == (popnn.lstm.LstmParams, PoolParams)
    window = PoolParams(PoolingType.MAX, [6], [2], [2], [0], [0], 4, 2, pl.FLOAT)
    assert_type(pooling.pool(graph, window, x, program), pl.Tensor)
    assert_type(plan(graph, pl.FLOAT, 8, 4, 2), ops.EmbeddingPlan)
    assert_type(embedding.plan(graph, pl.FLOAT, 8, 4, 2), ops.EmbeddingPlan)


def test_pictures_and_tests() -> None:
    graph, program = scaled(2)
    picture: viz.SvgText = viz.graph_svg(graph, program)
    text: str = picture
    assert text.startswith("<svg")
    x = graph.add_variable(pl.FLOAT, (4,), "more", mapping=0)
    assert_type(viz.tensor_text(x), str)
    assert_type(tiles_of(graph), npt.NDArray[np.int64])
    signal = np.arange(4, dtype=np.float32)
    assert_type(assert_vertex(Twice, {"x": signal}, {"out": 2 * signal}), None)
