"""MultiVertex: `compute` once for each worker of the tile, in both forms."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from poplite.vertex.compute import code_identity

T = TypeVar("T", bound=pl.ElementType[Any])


class Sum(pl.MultiVertex, Generic[T]):
    """Each worker adds every n-th element."""

    x: pl.Input[pl.Vector[T]]
    partials: pl.InOut[pl.Vector[T]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.partials[worker] += self.x[i]


class Log(pl.MultiVertex):
    """Writes down who runs when."""

    turn: pl.InOut[pl.INT]
    turns: pl.Output[pl.Vector[pl.INT]]
    half: pl.Output[pl.FLOAT]

    def compute(self, worker: int) -> None:
        if worker == 3:
            return
        self.turns[worker] = self.turn
        self.half = worker / 2
        worker += 1
        self.turn = 10 * worker + self.num_workers


class First(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[0] = -1


def ran(graph: pl.Graph, work: pl.ComputeSet, interpret: bool, **options: Any) -> pl.Engine:
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, **options)
    engine.run()
    return engine


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("workers", [1, 4, 6])
def test_every_worker_of_the_target_runs(workers: int, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=3, workers=workers))
    work = graph.add_compute_set("sum")
    expected = []
    partials = []
    for tile, element in enumerate((pl.FLOAT, pl.INT, pl.FLOAT)):
        values = np.arange(20) * (tile + 1)
        x = graph.add_variable(element, (20,), mapping=tile, initial_value=values)
        partials.append(graph.add_variable(element, (workers,), mapping=tile, initial_value=0))
        graph.add_vertex(work, Sum, tile=tile, x=x, partials=partials[-1])
        expected.append([values[worker::workers].sum() for worker in range(workers)])
    engine = ran(graph, work, interpret)
    assert [engine.read(p).tolist() for p in partials] == expected


def test_workers_run_in_rising_order() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    turn = graph.add_variable(pl.INT, (), "turn", mapping=0, initial_value=0)
    turns = graph.add_variable(pl.INT, (6,), "turns", mapping=0, initial_value=7)
    half = graph.add_variable(pl.FLOAT, (), "half", mapping=0, initial_value=0)
    work = graph.add_compute_set("log")
    graph.add_vertex(work, Log, tile=0, turn=turn, turns=turns, half=half)
    for interpret in (False, True):
        engine = ran(graph, work, interpret, checks="fast")  # strict checks refuse such a race
        assert engine.read(turns).tolist() == [0, 16, 26, 7, 36, 56]
        assert engine.read(turn) == 66
        assert engine.read(half) == 2.5


@pytest.mark.parametrize("interpret", [False, True])
def test_vertices_of_both_bases_share_a_compute_set(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2, 6), "x", mapping=0, initial_value=1)
    ones = graph.add_constant(pl.INT, (12,), 1, mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, First, tile=0, x=x[0])
    graph.add_vertex(work, Sum, tile=1, x=ones, partials=x[1])
    engine = ran(graph, work, interpret)
    assert engine.read(x).tolist() == [[-1, 1, 1, 1, 1, 1], [3, 3, 3, 3, 3, 3]]


@pytest.mark.parametrize("interpret", [False, True])
def test_a_fault_names_the_worker_and_leaves_memory(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2, workers=4))
    x = graph.add_constant(pl.INT, (8,), 1, mapping=1)
    partials = graph.add_variable(pl.INT, (3,), "partials", mapping=1, initial_value=0)
    work = graph.add_compute_set("sum")
    graph.add_vertex(work, Sum, tile=1, x=x[0:3], partials=partials)
    engine = ran(graph, work, interpret)
    assert engine.read(partials).tolist() == [1, 1, 1]
    again = graph.add_compute_set("again")
    vertex = graph.add_vertex(again, Sum, tile=1, x=x, partials=partials)
    engine = pl.Engine(graph, pl.Execute(again), interpret=interpret, options=values_only())
    line = Sum.compute.__code__.co_firstlineno + 2
    message = (
        r"^Sum\[INT\] 0 on tile 1, worker 3: 'Sum\[INT\]\.partials': index 3 of 3 elements  "
        rf"\(.*test_multi_vertex\.py:{line} in compute\)"
    )
    with pytest.raises(pl.TensorIndexError, match=message) as caught:
        engine.run()
    assert str(vertex.location) in caught.value.found
    assert engine.read(partials).tolist() == [0, 0, 0]


def test_one_driver_serves_all_targets() -> None:
    identities = set()
    for workers in (2, 6):
        graph = pl.Graph(pl.Target(tiles=1, workers=workers))
        x = graph.add_constant(pl.INT, (8,), 1, mapping=0)
        partials = graph.add_variable(pl.INT, (workers,), mapping=0, initial_value=0)
        vertex = graph.add_vertex(graph.add_compute_set(), Sum, tile=0, x=x, partials=partials)
        assert vertex.state == {"num_workers": workers}
        identities.add(repr(code_identity(vertex.vertex_class)))
    assert len(identities) == 1


def test_the_number_of_workers_is_the_target_s() -> None:
    graph = pl.Graph(pl.Target(tiles=1, workers=5))
    work = graph.add_compute_set("work")
    message = "Log 0 on tile 0: field 'num_workers' is not set by hand"
    with pytest.raises(pl.GraphConnectionError, match=message) as caught:
        graph.add_vertex(work, Log, tile=0, num_workers=3)
    assert caught.value.found == "it is 5, the worker threads of a tile of the target"
    vertex = graph.add_vertex(work, Log)
    with pytest.raises(pl.GraphConnectionError, match="'num_workers' is not set by hand"):
        graph.set_initial_value(vertex["num_workers"], 3)
    with pytest.raises(pl.GraphConnectionError, match="'num_workers' is state, not an edge"):
        graph.connect(vertex["num_workers"], graph.add_constant(pl.INT, (), 3))


def test_num_workers_of_a_vertex() -> None:
    class Plain(pl.Vertex):
        n: pl.Output[pl.INT]

        def compute(self) -> None:
            self.n = self.num_workers  # type: ignore[attr-defined]

    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Plain, tile=0, n=graph.add_variable(pl.INT, (), mapping=0))
    with pytest.raises(pl.VertexCompileError, match="'Plain' has no num_workers: one") as caught:
        pl.Engine(graph, pl.Execute(work), options=values_only())
    assert caught.value.fix.startswith("class Plain(MultiVertex), with def compute(self, worker")


def test_num_workers_is_read_only() -> None:
    class Changed(pl.MultiVertex):
        def compute(self, worker: int) -> None:
            self.num_workers = 3

    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Changed, tile=0)
    with pytest.raises(pl.VertexCompileError, match="field 'num_workers' is read only"):
        pl.Engine(graph, pl.Execute(work), options=values_only())


def test_compute_takes_the_worker() -> None:
    message = r"vertex class 'V': compute\(self\) .* takes other arguments than self and worker"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(pl.MultiVertex):
            def compute(self) -> None:  # type: ignore[override]
                pass

    assert "def compute(self, worker: int) -> None: ..., or derive it from Vertex" in str(
        caught.value
    )


def test_the_base_itself_is_no_vertex_class() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    with pytest.raises(pl.VertexDefinitionError, match="'MultiVertex' has no compute") as caught:
        graph.add_vertex(graph.add_compute_set(), pl.MultiVertex, tile=0)
    assert caught.value.found == "MultiVertex is the base of vertex classes"

    class W(pl.MultiVertex):
        x: pl.Input[pl.FLOAT]

    with pytest.raises(pl.VertexDefinitionError, match="'W' has no compute") as caught:
        graph.add_vertex(graph.add_compute_set(), W, tile=0)
    assert caught.value.fix.startswith("def compute(self, worker: int) -> None in it, or in a cl")
    with pytest.raises(NotImplementedError):
        pl.MultiVertex.compute(None, 0)  # type: ignore[arg-type]
