"""Launches: the order in which the vertices of a compute set run."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.compile import places
from poplite.compile.compiler import compile_graph
from poplite.executable.encoding import NUMBER
from poplite.executable.parts import ComputeStep, Vertices
from poplite.simulator.run import launches
from poplite.simulator.run.launches import in_order_of_memory
from poplite.simulator.run.touched import numbers_of


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices of little work are sorted, too."""
    monkeypatch.setattr(launches, "LEAST_WORK", 1)


class Twice(pl.Vertex):
    """Doubles as many elements as it writes."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 2 * self.x[i]


class TwiceAt(Twice):
    """Doubles elements, after a look at one that may be outside."""

    at: pl.State[pl.INT]

    def compute(self) -> None:
        first = self.x[self.at]
        for i in range(len(self.y)):
            self.y[i] = first - first + 2 * self.x[i]


def pieces(
    lengths: list[int], order: list[int]
) -> tuple[pl.Graph, pl.Tensor, pl.Tensor, list[tuple[int, int]]]:
    """Return a graph with two vectors, and begin and end of pieces of both in another order."""
    graph = pl.Graph(pl.Target(tiles=4))
    size = sum(lengths)
    x = graph.add_variable(
        pl.INT, (size,), "x", mapping="linear", initial_value=np.arange(size, dtype=np.int32)
    )
    y = graph.add_variable(pl.INT, (size,), "y", mapping="linear")
    ends = np.cumsum(lengths)
    bounds = [(int(ends[k]) - lengths[k], int(ends[k])) for k in order]
    return graph, x, y, bounds


def described(group: Vertices) -> list[tuple[int, ...]]:
    """Return number, starts and lengths of each vertex, in the order in which they run."""
    parts, _ = numbers_of(group)
    columns = [parts[NUMBER]["number"], *(parts[k][p] for k in (0, 1) for p in ("start", "length"))]
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


@examples(60, quick=10)
@given(data=st.data(), lengths=st.lists(st.integers(1, 9), min_size=2, max_size=40))
def test_vertices_are_sorted_by_place_and_stay_the_same(
    data: st.DataObject, lengths: list[int]
) -> None:
    order = data.draw(st.permutations(range(len(lengths))))
    graph, x, y, bounds = pieces(lengths, order)
    work = graph.add_compute_set("work")
    for begin, end in bounds:
        graph.add_vertex(work, Twice, tile=0, x=x[begin:end], y=y[begin:end])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "FEW_VERTICES", 1)
        (step,) = compile_graph(graph, pl.Execute(work), checks="fast").steps
        assert isinstance(step, ComputeStep)
        for group in step.groups:
            found = in_order_of_memory(group)
            assert sorted(described(found)) == sorted(described(group))
            if any(column.kind == "flat" for column in group.columns):
                starts = [start for _, start, *_ in described(found)]
                assert starts == sorted(starts)


def test_vertices_that_are_in_order_stay_as_they_are() -> None:
    count = places.FEW_VERTICES + 8
    lengths = np.random.default_rng(0).integers(1, 9, count).tolist()
    graph, x, y, bounds = pieces(lengths, list(range(count)))
    work, others = graph.add_compute_set("work"), bounds[::-1]
    for (begin, _), (there, _) in zip(bounds, others, strict=True):
        graph.add_vertex(work, Twice, tile=0, x=x[there : there + 1], y=y[begin : begin + 1])
    (step,) = compile_graph(graph, pl.Execute(work), checks="fast").steps
    assert isinstance(step, ComputeStep)
    assert [in_order_of_memory(group) for group in step.groups] == list(step.groups)


def test_vertices_of_little_work_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "FEW_VERTICES", 1)
    for least, is_sorted in ((18, True), (19, False)):  # 8, and five elements of two fields
        monkeypatch.setattr(launches, "LEAST_WORK", least)
        graph, x, y, bounds = pieces([5, 4, 6, 5], [2, 0, 3, 1])
        work = graph.add_compute_set("work")
        for begin, end in bounds:
            graph.add_vertex(work, Twice, tile=0, x=x[begin:end], y=y[begin:end])
        (step,) = compile_graph(graph, pl.Execute(work), checks="fast").steps
        assert isinstance(step, ComputeStep)
        (group,) = step.groups
        assert (in_order_of_memory(group) is not group) == is_sorted


def test_vertices_without_edges_stay_as_they_are() -> None:
    class Nothing(pl.Vertex):
        n: pl.State[pl.INT]

        def compute(self) -> None:
            pass

    class Other(Nothing):
        """Between the others, whose numbers are in tables then."""

    graph = pl.Graph(pl.Target(tiles=2))
    work = graph.add_compute_set("work")
    for number in range(40):
        graph.add_vertex(work, Other if number % 3 else Nothing, tile=0, n=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "FEW_VERTICES", 1)
        pl.Engine(graph, pl.Execute(work), checks="fast").run()


def test_many_vertices_in_any_order_give_the_same() -> None:
    count, rng = places.FEW_VERTICES + 100, np.random.default_rng(1)
    lengths = rng.integers(1, 9, count).tolist()
    graph, x, y, bounds = pieces(lengths, rng.permutation(count).tolist())
    work = graph.add_compute_set("work")
    for number, (begin, end) in enumerate(bounds):
        graph.add_vertex(work, Twice, tile=number % 4, x=x[begin:end], y=y[begin:end])
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    engine.run()
    assert engine.read(y).tolist() == (2 * np.arange(sum(lengths))).tolist()


@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_the_first_of_many_that_may_stop_is_named_in_any_order(
    checks: Literal["fast", "strict"],
) -> None:
    count = places.FEW_VERTICES + 100
    lengths = [8, 5] * (count // 2)
    graph, x, y, bounds = pieces(lengths, list(range(count))[::-1])
    work = graph.add_compute_set("work")
    for number, (begin, end) in enumerate(bounds):
        at = 9 if number in (7, 8, 9) else 0  # of which one chunk has two
        graph.add_vertex(work, TwiceAt, tile=0, x=x[begin:end], y=y[begin:end], at=at)
    engine = pl.Engine(graph, pl.Execute(work), checks=checks)
    with pytest.raises(pl.TensorIndexError, match="^vertex 7 of 'TwiceAt' on tile 0: "):
        engine.run()
