"""MultiVertex: `compute` once for each worker of the tile; fields that stand in other bases."""

from __future__ import annotations

import abc
import sys
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.running import both_forms
from helpers.vertices import declared
from poplite.vertex.compute.meaning import meaning_of

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
        r"^vertex 0 of 'Sum\[INT\]' on tile 1, worker 3: 'Sum\[INT\]\.partials': "
        r"index 3 of 3 elements  "
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
        identities.add(repr(meaning_of(vertex.vertex_class).identity))
    assert len(identities) == 1


def test_the_number_of_workers_is_the_target_s() -> None:
    graph = pl.Graph(pl.Target(tiles=1, workers=5))
    work = graph.add_compute_set("work")
    message = "vertex 0 of 'Log' on tile 0: field 'num_workers' cannot be set"
    with pytest.raises(pl.GraphConnectionError, match=message) as caught:
        graph.add_vertex(work, Log, tile=0, num_workers=3)
    assert caught.value.found == "it is 5, the target's number of workers per tile"
    vertex = graph.add_vertex(work, Log)
    with pytest.raises(pl.GraphConnectionError, match="'num_workers' cannot be set"):
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
    with pytest.raises(
        pl.VertexCompileError, match="'Plain' has no num_workers: a Vertex"
    ) as caught:
        pl.Engine(graph, pl.Execute(work), options=values_only())
    assert caught.value.fix.startswith("class Plain(MultiVertex), with def compute(self, worker")


def test_num_workers_is_read_only() -> None:
    class Changed(pl.MultiVertex):
        def compute(self, worker: int) -> None:
            self.num_workers = 3

    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Changed, tile=0)
    with pytest.raises(pl.VertexCompileError, match="field 'num_workers' is read-only"):
        pl.Engine(graph, pl.Execute(work), options=values_only())


def test_compute_takes_the_worker() -> None:
    message = r"vertex class 'V': compute\(self\) .* has arguments other than self and worker"
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
    assert caught.value.found == "MultiVertex is a base of vertex classes"

    class W(pl.MultiVertex):
        x: pl.Input[pl.FLOAT]

    with pytest.raises(pl.VertexDefinitionError, match="'W' has no compute") as caught:
        graph.add_vertex(graph.add_compute_set(), W, tile=0)
    assert caught.value.fix.startswith(
        "define compute(self, worker: int) -> None in it, or in a cl"
    )
    with pytest.raises(NotImplementedError):
        pl.MultiVertex.compute(None, 0)  # type: ignore[arg-type]


# -- vertex classes whose fields are in bases that are not vertex classes --------------------------


R = TypeVar("R")
U = TypeVar("U")


class Whole:
    a: pl.State[pl.INT]


class Real:
    a: pl.State[pl.FLOAT]


class RealVertex(pl.Vertex):
    a: pl.State[pl.FLOAT]


class Row(Generic[R]):
    x: pl.Input[pl.Vector[R]]
    y: pl.Output[R]

    def last(self) -> Any:
        return self.x[len(self.x) - 1]


class LaterRow(Row[U], Generic[U]):
    offset: pl.State[U]


def test_a_class_decides_what_its_bases_declare_in_two_ways() -> None:
    class OfMixins(Whole, Real, pl.Vertex):
        a: pl.State[pl.BOOL]

    class OfVertex(Whole, RealVertex):
        a: pl.State[pl.BOOL]

    class Derived(Real):
        a: pl.State[pl.HALF]

    class OfDerived(Derived, pl.Vertex):
        pass

    assert declared(OfMixins) == declared(OfVertex) == ["a: State[BOOL]"]
    assert declared(OfDerived) == ["a: State[HALF]"]
    with pytest.raises(pl.VertexDefinitionError, match="declare field 'a' differently") as caught:

        class V(Whole, RealVertex):  # type: ignore[misc]
            pass

    assert caught.value.fix == "declare 'a' in V itself, or in only one base"


@both_forms
def test_a_generic_mixin_made_concrete(interpret: bool) -> None:
    class Last(Row[pl.FLOAT], pl.Vertex):
        def compute(self) -> None:
            self.y = self.last()

    class First(pl.Vertex, LaterRow[np.int32]):
        def compute(self) -> None:
            self.y = self.x[0] + self.offset

    assert declared(Last) == ["x: Input[Vector[FLOAT]]", "y: Output[FLOAT]"]
    assert declared(First) == ["x: Input[Vector[INT]]", "y: Output[INT]", "offset: State[INT]"]
    graph = pl.Graph(pl.Target(tiles=1))
    cs, ends = graph.add_compute_set("cs"), []
    for cls, element, state in ((Last, pl.FLOAT, {}), (First, pl.INT, {"offset": 5})):
        x = graph.add_variable(element, (3,), "x", mapping=0, initial_value=[1, 2, 4])
        ends.append(graph.add_variable(element, (), "y", mapping=0))
        graph.add_vertex(cs, cls, tile=0, x=x, y=ends[-1], **state)
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert [engine.read(y) for y in ends] == [4, 6]


def test_a_generic_mixin_of_a_template() -> None:
    class V(pl.Vertex, LaterRow[R], Generic[R]):
        pass

    assert declared(V[pl.HALF]) == [
        "x: Input[Vector[HALF]]",
        "y: Output[HALF]",
        "offset: State[HALF]",
    ]
    with pytest.raises(pl.VertexDefinitionError, match="Generic precedes Vertex") as caught:

        class W(Row[R], pl.Vertex):
            pass

    assert caught.value.fix == "class W(Vertex, Row[R])"


def test_a_generic_mixin_that_is_left_open() -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'x' has R, a type variable") as caught:

        class V(pl.Vertex, Row):  # type: ignore[type-arg]
            pass

    assert caught.value.fix == "class V(Vertex, Row[FLOAT])"


def test_a_generic_mixin_of_a_type_that_it_does_not_take() -> None:
    W = TypeVar("W", pl.FLOAT, pl.HALF)

    class Real(Generic[W]):
        x: pl.Input[W]

    message = "'x' of Real cannot have type BOOL"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(Real[pl.BOOL], pl.Vertex):  # type: ignore[type-var]
            pass

    assert caught.value.found == "W must be one of FLOAT, HALF"


@pytest.mark.parametrize("base", [Real, RealVertex])
def test_a_value_that_hides_a_field_of_a_base(base: Any) -> None:
    with pytest.raises(pl.VertexDefinitionError, match="'a = 3.0' hides field 'a'") as caught:

        class V(base, pl.Vertex):  # type: ignore[misc]
            a = 3.0

    assert caught.value.found == "field a: State[FLOAT]; class V has a = 3.0"


def test_a_field_takes_the_place_of_a_constant() -> None:
    class B(pl.Vertex):
        a = 3.0

    class V(B):
        a: pl.State[pl.FLOAT]

    assert declared(V) == ["a: State[FLOAT]"]


@pytest.mark.parametrize("annotation", [pl.Vector[pl.FLOAT], pl.FLOAT, "pl.Vector[pl.FLOAT]"])
def test_an_annotation_of_a_mixin_without_its_role(annotation: object) -> None:
    mixin = type("A", (), {"__annotations__": {"z": annotation}, "__module__": __name__})
    message = r"field 'z' has the annotation (Vector\[FLOAT\]|FLOAT)"
    with pytest.raises(pl.VertexDefinitionError, match=message) as caught:

        class V(mixin, pl.Vertex):  # type: ignore[misc, valid-type]
            pass

    assert caught.value.fix.startswith("use Input[...], Output[...], InOut[...] or State[...]")


def test_a_misspelt_compute() -> None:
    class V(pl.Vertex):
        def comptue(self) -> None:
            pass

    graph = pl.Graph(pl.Target(tiles=1))
    message = r"^vertex class 'V' has no compute, but 'comptue' \(did you mean 'compute'\?\)  \("
    with pytest.raises(pl.VertexDefinitionError, match=message):
        graph.add_vertex(graph.add_compute_set("cs"), V, tile=0)


def test_an_abstract_mixin_has_the_line_of_the_class() -> None:
    class A(abc.ABC):  # noqa: B024
        x: pl.Input[pl.FLOAT]

    line = sys._getframe().f_lineno + 2

    class V(A, pl.Vertex):
        pass

    assert (V.location.file, V.location.line) == (__file__, line)
