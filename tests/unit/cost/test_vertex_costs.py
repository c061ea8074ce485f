"""What vertices cost as far as it is known without compiling them: shapes, formulas, estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.arrays.series import Steps, constant
from poplite.cost.model import vertex_costs
from poplite.cost.step_cost import VertexCosts
from poplite.graph.compute_sets.cycles_method import distinct, shapes_of, words_of
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.vertex.fields import fields_of

TARGET = pl.Target(tiles=8)


class Gather(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]
    n: pl.State[pl.INT]
    scale: pl.State[pl.FLOAT]
    taps: pl.State[pl.Vector[pl.SHORT]]

    def compute(self) -> None:
        self.y = self.x[self.n]


class Twice(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]


class Counted(Twice):
    first: pl.State[pl.INT]

    def cycles(self, target: pl.Target) -> int:
        return 5 + 2 * len(self.x)


def costs_of(graph: pl.Graph, work: pl.ComputeSet) -> tuple[VertexCosts, ...]:
    return vertex_costs(graph, edge_table(work))


def gather(
    graph: pl.Graph, work: pl.ComputeSet, x: int, rows: list[int], n: int, scale: float, taps: int
) -> pl.VertexInstance:
    data = graph.add_variable(pl.FLOAT, (x + 1,), mapping=0)
    parts = [graph.add_variable(pl.FLOAT, (length,), mapping=0) for length in rows]
    fields: dict[str, Any] = {"x": data[:x], "rows": parts, "y": data[x], "n": n}
    return graph.add_vertex(work, Gather, tile=0, scale=scale, taps=[1] * taps, **fields)


def test_words_of_every_kind_of_field() -> None:
    told = [(field.name, field.kind, field.first_word) for field in fields_of(Gather)]
    assert told == [
        *[("x", "length", 0), ("rows", "rows", 1), ("y", "nothing", 3)],
        *[("n", "value", 3), ("scale", "nothing", 4), ("taps", "length", 4)],
    ]
    graph = pl.Graph(TARGET)
    work = graph.add_compute_set("work")
    gather(graph, work, 5, [2, 4], -3, 0.5, 3)
    gather(graph, work, 5, [6], 2, 0.5, 3)
    gather(graph, work, 5, [], 2, 0.5, 3)
    gather(graph, work, 5, [3, 3], -3, 1.5, 3)
    (family,) = edge_table(work).families
    columns = words_of(family)
    assert [each if isinstance(each, int) else each.tolist() for each in columns] == [
        *[5, [2, 1, 0, 2], [6, 6, 0, 6], [-3, 2, 2, -3], 3]
    ]
    shapes, shape = shapes_of(columns, 4)
    assert shapes.tolist() == [[5, 2, 6, -3, 3], [5, 1, 6, 2, 3], [5, 0, 0, 2, 3]]
    assert shape.array().tolist() == [0, 1, 2, 0]


def test_state_of_64_bits_wraps_and_truth_is_a_number() -> None:
    class Flags(pl.Vertex):
        y: pl.Output[pl.FLOAT]
        big: pl.State[pl.UNSIGNED_LONGLONG]
        on: pl.State[pl.BOOL]

        def compute(self) -> None:
            self.y = 1

    graph = pl.Graph(TARGET)
    y = graph.add_variable(pl.FLOAT, (6,), mapping=0)
    work = graph.add_compute_set("work")
    big = np.array([1, 2**64 - 1, 2**63], np.uint64)
    graph.add_vertices(work, Flags, tile=0, y=y[:3], big=big, on=True)
    graph.add_vertices(work, Flags, tile=0, y=y[3:], big=2**64 - 2, on=[True, False, True])
    found = [words_of(family) for family in edge_table(work).families]
    told = [[each if isinstance(each, int) else each.tolist() for each in row] for row in found]
    assert told == [[[1, -1, -(2**63)], 1], [-2, [1, 0, 1]]]


def test_regular_vertices_take_no_memory_by_vertex() -> None:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.FLOAT, (1000, 7), mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertices(work, Twice, tile=3, x=x)
    (costs,) = costs_of(graph, work)
    assert (costs.source, costs.slots, costs.flops) == ("automatic", None, None)
    assert costs.shapes is not None
    assert costs.shapes.tolist() == [[7]]
    assert costs.shape == constant(0, 1000)
    assert (costs.tiles.count, costs.tiles.at(999)) == (1000, 3)


@pytest.mark.parametrize("count", [20, 3000])
def test_irregular_vertices_are_told_apart(count: int) -> None:
    # Few are compared in Python, many by the kernel.
    made = np.random.default_rng(count)
    small, large = made.integers(0, 4, count), made.integers(-3, 3, count) << 40
    first, kind = distinct([small, 9, large], count)
    rows = [(small[k], large[k]) for k in range(count)]
    assert first.tolist() == sorted(rows.index(row) for row in set(rows))
    assert [rows[first[k]] for k in kind.array()] == rows


def singles(graph: pl.Graph, lengths: list[int]) -> tuple[pl.ComputeSet, list[pl.VertexInstance]]:
    work = graph.add_compute_set("work")
    made = []
    for k, length in enumerate(lengths):
        x = graph.add_variable(pl.FLOAT, (length,), mapping=0)
        made.append(graph.add_vertex(work, Twice, tile=k % 8, x=x))
    return work, made


def test_vertices_with_numbers_of_their_own_are_apart() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4, 3, 5, 4])
    graph.set_perf_estimate(vertices[1], 50, flops=8)
    graph.set_perf_estimate(vertices[3], 60)
    given, rest = costs_of(graph, work)
    assert (given.source, rest.source) == ("given", "automatic")
    assert (given.numbers.array().tolist(), rest.numbers.array().tolist()) == ([1, 3], [0, 2, 4])
    assert (given.tiles.array().tolist(), rest.tiles.array().tolist()) == ([1, 3], [0, 2, 4])
    assert given.slots is not None
    assert given.flops is not None
    assert (given.slots.array().tolist(), given.flops.array().tolist()) == ([50, 60], [8, 0])
    assert (given.shapes, given.shape) == (None, None)
    assert rest.shapes is not None
    assert rest.shape is not None
    assert rest.shapes.tolist() == [[3], [4]]
    assert rest.shape.array().tolist() == [0, 0, 1]


def test_all_have_numbers_of_their_own() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4])
    for cycles, vertex in enumerate(vertices):
        graph.set_perf_estimate(vertex, cycles)
    x = graph.add_variable(pl.FLOAT, (3, 2), mapping=0)
    graph.set_perf_estimate(graph.add_vertices(work, Twice, tile=1, x=x), [7, 8, 9], flops=2)
    single, block = costs_of(graph, work)
    assert single.slots is not None
    assert (single.source, single.slots.array().tolist(), single.flops) == ("given", [0, 1], None)
    assert block.slots is not None
    assert (block.slots.array().tolist(), block.flops) == ([7, 8, 9], Steps(2, ((3, 0),)))
    assert block.numbers == Steps(2, ((3, 1),))


def test_a_formula_is_asked_once_for_what_it_looks_at() -> None:
    asked = []

    class Noted(Counted):
        def cycles(self, target: pl.Target) -> int:
            asked.append(len(self.x))
            return super().cycles(target) + 100 * target.workers

    graph = pl.Graph(pl.Target(tiles=8, workers=4))
    x = graph.add_variable(pl.FLOAT, (1200,), mapping=0)
    work = graph.add_compute_set("work")
    parts = [x[6 * k : 6 * k + 3 + k % 3] for k in range(200)]
    graph.add_vertices(work, Noted, tile=np.arange(200) % 8, x=parts, first=np.arange(200) * 1000)
    (costs,) = costs_of(graph, work)
    assert costs.source == "formula"
    assert costs.slots is not None
    assert costs.slots.array().tolist() == [405 + 2 * (3 + k % 3) for k in range(200)]
    assert len(asked) <= 5  # the first, and one of each length; 200 differ in `first`
    assert (costs.shapes, costs.shape, costs.flops) == (None, None, None)


def test_an_estimator_is_asked_once_for_equal_sizes_and_state() -> None:
    graph = pl.Graph(TARGET)
    work = graph.add_compute_set("work")
    given: list[tuple[list[int], float, int]] = [
        *[([2, 4], 0.5, 2), ([3, 3], 0.5, 2), ([2, 4], 1.5, 2), ([2, 4], 0.5, 3), ([2, 4], 0.5, 2)]
    ]
    for rows, scale, taps in given:
        gather(graph, work, 5, rows, 1, scale, taps)
    asked = []

    def cost(vertex: pl.VertexInstance, target: pl.Target) -> pl.VertexPerfEstimate:
        asked.append(vertex.index)
        scale = vertex.field_info("scale").initial_value
        assert scale is not None
        return pl.VertexPerfEstimate(
            int(100 * scale) + vertex.field_info("rows").size_at(0), flops=target.workers
        )

    graph.register_perf_estimator(Gather, cost)
    (costs,) = costs_of(graph, work)
    assert costs.source == "formula"
    assert costs.slots is not None
    assert costs.slots.array().tolist() == [52, 53, 152, 52, 52]
    assert costs.flops == constant(6, 5)
    assert asked == [0, 1, 2, 3]


def test_an_estimator_is_asked_for_one_of_a_block() -> None:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.FLOAT, (1000, 4), mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertices(work, Counted, tile=0, x=x, first=7)
    asked = []

    def cost(vertex: pl.VertexInstance, target: pl.Target) -> int:
        asked.append(vertex.index)
        return 9 * vertex.field_info("x").size

    graph.register_perf_estimator(Twice, cost)
    assert costs_of(graph, work)[0].slots == constant(13, 1000)  # that of the nearer class
    graph.register_perf_estimator(Counted, cost)
    assert costs_of(graph, work)[0].slots == constant(36, 1000)
    assert asked == [0]


def test_only_vertices_without_a_number_ask_the_estimator() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4, 5])
    graph.set_perf_estimate(vertices[0], 1)
    graph.register_perf_estimator(Twice, lambda vertex, target: 10 * vertex.index)
    given, rest = costs_of(graph, work)
    assert given.slots == constant(1, 1)
    assert rest.slots is not None
    assert rest.slots.array().tolist() == [10, 20]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (
            "12",
            pl.ElementTypeError,
            "estimator of vertex 0 of 'Twice' on tile 0: cycles='12' is not a whole",
        ),
        (
            -4,
            pl.SizeOverflowError,
            "estimator of vertex 0 of 'Twice' on tile 0: cycles=-4, but at least 0",
        ),
    ],
)
def test_an_estimator_returns_a_number(
    answer: Any, error: type[pl.PopliteError], message: str
) -> None:
    graph = pl.Graph(TARGET)
    work, _ = singles(graph, [3])
    graph.register_perf_estimator(Twice, lambda vertex, target: answer)
    with pytest.raises(error, match=message):
        costs_of(graph, work)


def added_on(make: Callable[[pl.Graph], pl.Graph]) -> list[int]:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    part = make(graph)
    work = part.add_compute_set("work")
    x = part.add_variable(pl.FLOAT, (4, 3), mapping=0)
    for k in (2, 1):
        part.add_vertex(work, Counted, tile=k, x=x[k], first=0)
    part.add_vertices(work, Counted, tile=[3, 0], x=x[::3], first=0)
    return [
        tile
        for costs in vertex_costs(graph.top_level_graph, edge_table(work))
        for tile in costs.tiles.array().tolist()
    ]


def test_tiles_are_those_of_the_top_level_graph() -> None:
    assert added_on(lambda graph: graph) == [2, 1, 3, 0]
    assert added_on(lambda graph: graph.create_virtual_graph(4, 8)) == [6, 5, 7, 4]
    assert added_on(lambda graph: graph.create_virtual_graph([6, 5, 1, 0])) == [1, 5, 0, 6]


def test_costs_of_replicas_are_those_of_one() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2), replication_factor=2)
    work = graph.add_compute_set("work")
    graph.add_vertex(
        work, Counted, tile=3, x=graph.add_variable(pl.FLOAT, (2,), mapping=0), first=0
    )
    (costs,) = costs_of(graph, work)
    assert (costs.tiles.num_tiles, costs.tiles.array().tolist()) == (4, [3])
