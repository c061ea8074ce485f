"""What estimators see of a vertex, and what vertices are said to cost."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl

T = TypeVar("T", pl.FLOAT, pl.HALF)


class Blend(pl.Vertex, Generic[T]):
    x: pl.Input[pl.Vector[T]]
    rows: pl.InOut[pl.Vector[pl.Vector[T]]]
    y: pl.Output[T]
    k: pl.State[pl.INT]
    table: pl.State[pl.Vector[pl.SHORT]]

    def compute(self) -> None:
        self.y = self.x[0]


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def blend(graph: pl.Graph, **fields: Any) -> pl.VertexInstance:
    x = graph.add_variable(pl.HALF, (10,), mapping=0)
    given = {"x": x, "rows": [x[:3], x[3:8]], "y": x[9], "k": -7, "table": [4, 5]} | fields
    return graph.add_vertex(graph.add_compute_set("blend"), Blend, tile=0, **given)


def test_fields_are_seen(graph: pl.Graph) -> None:
    vertex = blend(graph)
    x, rows, y, k, table = (vertex.field_info(name) for name in Blend.fields)
    assert [each.size for each in (x, rows, y, k, table)] == [10, 2, 1, 1, 2]
    assert [each.rank for each in (x, rows, y, k, table)] == [1, 2, 0, 0, 1]
    assert [each.role for each in (x, rows, y, k, table)] == [
        *("input", "inout", "output", "state", "state"),
    ]
    assert (x.element_type, k.element_type, table.element_type) == (pl.HALF, pl.INT, pl.SHORT)
    assert rows.sizes.tolist() == [rows.size_at(0), rows.getSizeAtIndex(1)] == [3, 5]
    assert (k.initial_value, k.getInitialValue()) == (-7, -7)
    assert table.initial_values is not None
    assert table.initial_values.dtype == np.int16
    assert table.initial_values.tolist() == [4, 5]
    assert table.initial_value is None
    assert x.initial_values is x.getInitialValues() is None
    assert x.layout == pl.Layout()
    matrix = blend(graph, rows=graph.add_variable(pl.HALF, (3, 4), mapping=0))
    assert matrix.getFieldInfo("rows").sizes.tolist() == [4, 4, 4]


def test_what_is_not_there_is_refused(graph: pl.Graph) -> None:
    vertex = blend(graph)
    with pytest.raises(pl.UnknownField, match="has no field 'z'"):
        vertex.field_info("z")
    with pytest.raises(pl.TensorIndexError, match="field 'rows' has no vector 2 .*\n.*2 vectors"):
        vertex.field_info("rows").size_at(2)
    with pytest.raises(pl.TensorIndexError, match="field 'x' has no vector 0 .*\n.*not a list"):
        vertex.field_info("x").size_at(0)
    bare = graph.add_vertex(graph.add_compute_set("bare"), Blend[pl.FLOAT], tile=0)
    with pytest.raises(pl.NoSizeSpecified, match="field 'x' has nothing connected"):
        bare.field_info("x")
    assert bare.field_info("k").initial_values is None


def test_an_estimate_of_a_vertex_comes_first(graph: pl.Graph) -> None:
    vertex, seen = blend(graph), []

    def cost(given: pl.VertexInstance, target: pl.Target) -> int:
        seen.append((given, target))
        return 10 + given.field_info("x").size

    assert graph.perf_estimate(vertex) is None
    graph.register_perf_estimator(Blend, cost)
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(20)
    assert seen == [(vertex, graph.target)]
    graph.register_perf_estimator(
        Blend[pl.HALF], lambda given, target: pl.VertexPerfEstimate(target.workers, 3)
    )
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(6, 3)
    graph.set_perf_estimate(vertex, 99, flops=4)
    assert graph.create_virtual_graph([3]).perf_estimate(vertex) == pl.VertexPerfEstimate(99, 4)
    graph.set_perf_estimate(vertex, pl.VertexPerfEstimate(1, 2))
    assert graph.getPerfEstimate(vertex) == pl.VertexPerfEstimate(1, 2)


def test_a_block_has_estimates_of_each(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (6,), mapping="linear")
    block = graph.add_vertices(
        graph.add_compute_set("blend"), Blend, tile=0, x=x.reshape((3, 2)), rows=[[], [], []],
        y=x[3:], k=1, table=[[1]] * 3,
    )  # fmt: skip
    assert graph.perf_estimate(block[1]) is None
    graph.set_perf_estimate(block, np.array([5, 6, 7], np.uint8), flops=2)
    assert [graph.perf_estimate(vertex) for vertex in block] == [
        pl.VertexPerfEstimate(cycles, 2) for cycles in (5, 6, 7)
    ]
    graph.set_perf_estimate(block, pl.VertexPerfEstimate(8))
    assert graph.perf_estimate(block[2]) == pl.VertexPerfEstimate(8)
    with pytest.raises(pl.GraphConnectionError, match="^vertex 0 of 'Blend.* is one of 3 vertices"):
        graph.set_perf_estimate(block[0], 5)
    with pytest.raises(pl.ElementTypeError, match=r"cycles is an array of shape \(2,\) .* 3 vert"):
        graph.set_perf_estimate(block, [1, 2])
    with pytest.raises(pl.ElementTypeError, match=r"flops is an array of .*float64.* 3 vertices"):
        graph.set_perf_estimate(block, 1, flops=[1.0, 2.0, 3.0])  # type: ignore[list-item]
    with pytest.raises(pl.SizeOverflowError, match=r"^Blend.* 1: cycles=-4, but at least 0"):
        graph.set_perf_estimate(block, [1, -4, 3])
    with pytest.raises(pl.GraphConnectionError, match="is not a vertex of"):
        graph.perf_estimate(block)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cycles", "flops", "error", "why"),
    [
        (1.5, 0, pl.ElementTypeError, "cycles=1.5 is not a whole number"),
        ("9", 0, pl.ElementTypeError, "cycles='9' is not a whole number"),
        (9, None, pl.ElementTypeError, "flops=None is not a whole number"),
        (-1, 0, pl.SizeOverflowError, "cycles=-1, but at least 0 is needed"),
        (9, -2, pl.SizeOverflowError, "flops=-2, but at least 0 is needed"),
        (2**40 + 1, 0, pl.SizeOverflowError, "cycles=1,099,511,627,777, but 1,099,"),
        (pl.VertexPerfEstimate(-3), 0, pl.SizeOverflowError, "cycles=-3, but at least 0"),
    ],
)
def test_estimates_are_whole_numbers(
    graph: pl.Graph, cycles: Any, flops: Any, error: type[pl.PopliteError], why: str
) -> None:
    vertex = blend(graph)
    with pytest.raises(error, match=f"^vertex 0 of 'Blend.* on tile 0: {why}"):
        graph.set_perf_estimate(vertex, cycles, flops)
    assert vertex.estimate is None


def test_estimators_are_checked(graph: pl.Graph) -> None:
    vertex = blend(graph)
    with pytest.raises(pl.ElementTypeError, match="^register_perf_estimator: 12 cannot be called"):
        graph.register_perf_estimator(Blend, 12)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="0 vertex classes called 'Blended'"):
        graph.register_perf_estimator("Blended", lambda v, t: 1)
    graph.register_perf_estimator(Blend, lambda v, t: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(
        pl.ElementTypeError, match="^estimator of vertex 0 of 'Blend.*: cycles=None is not a whole"
    ):
        graph.perf_estimate(vertex)
    with pytest.raises(pl.GraphConnectionError, match="is not a vertex of .*\n.*of another graph"):
        pl.Graph().set_perf_estimate(vertex, 1)
    with pytest.raises(pl.GraphConnectionError, match="3 is not a vertex of .*\n.*type is int"):
        graph.set_perf_estimate(3, 1)  # type: ignore[arg-type]
