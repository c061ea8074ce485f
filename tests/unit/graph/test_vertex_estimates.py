"""Estimates of vertices: the method `cycles`, and functions that are registered."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from poplite.graph.compute_sets.perf_estimates import cycles_of
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertices.estimators import of_tile

# -- the method `cycles` ---------------------------------------------------------------------------


T = TypeVar("T", pl.FLOAT, pl.HALF)
TARGET = pl.Target(tiles=2)


class Blend(pl.Vertex, Generic[T]):
    x: pl.Input[pl.Vector[T]]
    rows: pl.InOut[pl.Vector[pl.Vector[T]]]
    y: pl.Output[T]
    k: pl.State[pl.INT]
    on: pl.State[pl.BOOL]
    scale: pl.State[pl.FLOAT]
    table: pl.State[pl.Vector[pl.SHORT]]
    START = 7

    def compute(self) -> None:
        self.y = self.x[0]

    def each(self, count: int) -> int:
        return 10 * count

    def cycles(self, target: pl.Target) -> pl.VertexPerfEstimate:
        slots = self.START + self.each(len(self.x)) + 100 * len(self.rows)
        for row in self.rows:
            slots += 1000 * len(row)
        assert [len(row) for row in self.rows] == [len(self.rows[i]) for i in range(len(self.rows))]
        slots += 100_000 * self.k + 1_000_000 * len(self.table) if self.on else 0
        return pl.VertexPerfEstimate(slots, self.fields["x"].element.size_bytes)


def blend(**fields: Any) -> tuple[pl.Graph, pl.VertexInstance]:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.HALF, (10,), mapping=0)
    given = {"x": x, "rows": [x[:3], x[3:8]], "y": x[9], "k": -7, "on": True, "scale": 0.5}
    given |= {"table": [4, 5]} | fields
    return graph, graph.add_vertex(graph.add_compute_set("blend"), Blend, tile=0, **given)


def test_it_sees_lengths_and_whole_numbers_of_state() -> None:
    graph, vertex = blend(k=3)
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(2_308_307, 2)
    graph, vertex = blend(on=False)
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(8_307, 2)


def test_what_it_looked_at_is_known() -> None:
    read: set[int] = set()
    words = [10, 2, 8, 3, False, 2]
    assert cycles_of(Blend[pl.FLOAT], words, TARGET, read).cycles == 8_307
    assert read == {0, 1, 2, 4}
    words[4] = True
    assert cycles_of(Blend[pl.FLOAT], words, TARGET, read).flops == 4
    assert read == {0, 1, 2, 3, 4, 5}


def test_rows_of_a_list_count_as_equally_long() -> None:
    class Lengths(pl.Vertex):
        rows: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]

        def compute(self) -> None:
            self.rows[0][0] = 1

        def cycles(self, target: pl.Target) -> int:
            return int("0" + "".join(str(len(row)) for row in self.rows))

    found = [cycles_of(Lengths, words, TARGET, set()).cycles for words in ([3, 8], [2, 8], [0, 0])]
    assert found == [332, 44, 0]
    assert Lengths.cycles is vars(Lengths)["cycles"]


def test_it_is_inherited_and_extended_as_any_method() -> None:
    class Longer(Blend[pl.FLOAT]):
        START = 8

        def each(self, count: int) -> int:
            return super().each(count) + 1

        def cycles(self, target: pl.Target) -> pl.VertexPerfEstimate:
            return pl.VertexPerfEstimate(super().cycles(target).cycles + target.workers)

    words = [10, 0, 0, 0, True, 0]
    assert cycles_of(Blend[pl.FLOAT], words, TARGET, set()).cycles == 107
    assert cycles_of(Longer, words, TARGET, set()) == pl.VertexPerfEstimate(108 + 1 + 6)


def test_names_are_the_users() -> None:
    class Private(pl.Vertex):
        _fields: pl.InOut[pl.Vector[pl.FLOAT]]
        _words: pl.State[pl.INT]

        def compute(self) -> None:
            self._fields[0] = 1

        def _value(self) -> int:
            return 100 * self._words

        @staticmethod
        def _known(count: int) -> int:
            return count + 1

        def cycles(self, target: pl.Target) -> int:
            return self._value() + self._known(len(self._fields))

    assert cycles_of(Private, [8, 3], TARGET, set()).cycles == 309


def test_largest_whole_numbers_keep_their_value() -> None:
    class Long(pl.Vertex):
        n: pl.State[pl.UNSIGNED_LONGLONG]
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            self.y = 1

        def cycles(self, target: pl.Target) -> int:
            return self.n >> 60

    graph = pl.Graph(TARGET)
    y = graph.add_variable(pl.FLOAT, (1,), mapping=0)
    vertex = graph.add_vertex(graph.add_compute_set("s"), Long, tile=0, n=2**64 - 1, y=y[0])
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(15)


def test_of_a_multi_vertex_it_counts_tile_cycles() -> None:
    class Total(pl.MultiVertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self, worker: int) -> None:
            self.x[worker] = 1

        def cycles(self, target: pl.Target) -> int:
            assert self.num_workers == target.workers
            return of_tile(20 + len(self.x), target)

    assert cycles_of(Total, [6, 4], TARGET, set()).cycles == 11 + 6 * 24


def refused(cycles: Callable[[Any, Any], object]) -> pl.VertexDefinitionError:
    """Return the error of a class with this method."""

    class Bad(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]
        rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
        a: pl.Input[pl.FLOAT]
        k: pl.State[pl.FLOAT]
        n: pl.State[pl.INT]

        def compute(self) -> None:
            self.x[0] = self.a

    Bad.cycles = cycles  # type: ignore[attr-defined]
    with pytest.raises(pl.VertexDefinitionError) as caught:
        cycles_of(Bad, [8, 2, 6, 5], TARGET, set())
    return caught.value


def first_line(function: Callable[..., object]) -> int:
    return function.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("cycles", "what"),
    [
        (lambda self, target: int(self.a), "self.a"),
        (lambda self, target: int(self.k), "self.k"),
        (lambda self, target: int(self.x[3]), "an element of 'x'"),
        (lambda self, target: int(self.rows[1][2]), "an element of 'rows'"),
        (lambda self, target: sum(self.x), "the elements of 'x'"),
        (lambda self, target: sum(sum(row) for row in self.rows), "the elements of 'rows'"),
        (lambda self, target: self.x.__setitem__(0, 1), "an element of 'x'"),
    ],
)
def test_data_are_refused(cycles: Callable[[Any, Any], object], what: str) -> None:
    error = refused(cycles)
    assert error.what == (
        f"vertex class 'Bad': cycles reads {what}, but may depend only on lengths and integer state"
    )
    assert "len(self." in error.fix
    assert error.found.startswith("declared ")
    assert error.at is not None
    assert error.at.line == first_line(cycles)


@pytest.mark.parametrize("value", [2.5, None, True, -1, (1 << 40) + 1, "12"])
def test_what_is_no_count_is_refused(value: object) -> None:
    def cycles(self: Any, target: Any) -> object:
        return value

    error = refused(cycles)
    assert f"'Bad': cycles returns cycles={value!r}, which is not a whole number" in error.what
    assert error.found == (
        f"its type is {type(value).__name__}\n"
        "a vertex with x of 8 elements, rows of 2 rows, 6 elements in total, n=5"
    )
    assert error.at is not None
    assert (error.at.line, error.at.function) == (first_line(cycles), "cycles")
    assert "flops=-3" in refused(lambda self, target: pl.VertexPerfEstimate(1, -3)).what


def test_what_it_raises_is_told_with_its_line() -> None:
    def cycles(self: Any, target: Any) -> object:
        return 100 // (len(self.x) - 8)

    error = refused(cycles)
    assert error.what == (
        "vertex class 'Bad': cycles raises ZeroDivisionError: integer division or modulo by zero"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.at is not None
    assert error.at.line == first_line(cycles) + 1
    assert "x of 8 elements" in error.found
    missing = refused(lambda self, target: self.y)
    assert "AttributeError: 'Bad' has no field and no attribute 'y'" in missing.what


def test_a_row_that_is_not_there_is_refused() -> None:
    words = [8, 2, 6, 5]

    class Rows(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]
        rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
        n: pl.State[pl.INT]

        def compute(self) -> None:
            self.x[0] = 1

        def cycles(self, target: pl.Target) -> int:
            return len(self.rows[self.n])

    with pytest.raises(pl.TensorIndexError, match=r"'Rows': cycles reads row 5 of 'rows', "):
        cycles_of(Rows, words, TARGET, set())


def test_it_stores_nothing() -> None:
    def cycles(self: Any, target: Any) -> object:
        self.total = 3
        return self.total

    assert refused(cycles).what == "vertex class 'Bad': cycles assigns self.total"


@pytest.mark.parametrize(
    ("cycles", "what"),
    [
        (12, "cycles is of type int, not a function"),
        (lambda self: 12, "cycles(self) has arguments other than self and target"),
        (lambda self, where: 12, "cycles(self, where) has arguments other than"),
    ],
)
def test_a_class_is_refused_at_once(cycles: object, what: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=re.escape(f"'Bad': {what}")):
        type(
            "Bad",
            (pl.Vertex,),
            {"compute": Blend.compute, "cycles": cycles, "__module__": __name__},
        )


def test_it_is_no_part_of_what_is_compiled() -> None:
    class Double(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 2.0 * self.x

    before = meaning_of(Double).identity, meaning_of(Double).code
    Double.cycles = lambda self, target: 12  # type: ignore[attr-defined]
    assert (meaning_of(Double).identity, meaning_of(Double).code) == before
    assert cycles_of(Double, [], TARGET, set()).cycles == 12


def test_an_estimate_needs_sizes_and_values() -> None:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.FLOAT, (8,), mapping=0)
    vertex = graph.add_vertex(graph.add_compute_set("s"), Blend[pl.FLOAT], tile=0, x=x, y=x[0])
    with pytest.raises(pl.NoSizeSpecified, match="field 'rows' has nothing connected"):
        graph.perf_estimate(vertex)
    graph.connect(vertex["rows"], [x[1:]])
    with pytest.raises(pl.GraphConnectionError, match="Blend.* on tile 0: field 'k' has no value"):
        graph.perf_estimate(vertex)


def test_the_nearer_of_estimator_and_method_counts() -> None:
    class Base(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = 1

        def cycles(self, target: pl.Target) -> int:
            return 1

    class Middle(Base):
        pass

    class Near(Middle):
        def cycles(self, target: pl.Target) -> int:
            return 3

    class Without(Base):
        cycles = None  # type: ignore[assignment]

    def told(registered: type[pl.Vertex] | None) -> list[int | None]:
        graph = pl.Graph(TARGET)
        x = graph.add_variable(pl.FLOAT, (4,), mapping=0)
        work = graph.add_compute_set("work")
        if registered is not None:
            graph.register_perf_estimator(registered, lambda vertex, target: 2)
        classes = enumerate((Base, Middle, Near, Without))
        vertices = [graph.add_vertex(work, cls, tile=0, x=x[k]) for k, cls in classes]
        estimates = [graph.perf_estimate(vertex) for vertex in vertices]
        return [None if each is None else each.cycles for each in estimates]

    assert told(None) == [1, 1, 3, None]
    assert told(Base) == [2, 2, 3, None]
    assert told(Middle) == [1, 2, 3, None]
    assert told(Near) == [1, 1, 2, None]
    assert told(Without) == [1, 1, 3, 2]


# -- registered estimators -------------------------------------------------------------------------


class Estimated(pl.Vertex, Generic[T]):
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


def estimated(graph: pl.Graph, **fields: Any) -> pl.VertexInstance:
    x = graph.add_variable(pl.HALF, (10,), mapping=0)
    given = {"x": x, "rows": [x[:3], x[3:8]], "y": x[9], "k": -7, "table": [4, 5]} | fields
    return graph.add_vertex(graph.add_compute_set("estimated"), Estimated, tile=0, **given)


def test_fields_are_seen(graph: pl.Graph) -> None:
    vertex = estimated(graph)
    x, rows, y, k, table = (vertex.field_info(name) for name in Estimated.fields)
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
    matrix = estimated(graph, rows=graph.add_variable(pl.HALF, (3, 4), mapping=0))
    assert matrix.getFieldInfo("rows").sizes.tolist() == [4, 4, 4]


def test_what_is_not_there_is_refused(graph: pl.Graph) -> None:
    vertex = estimated(graph)
    with pytest.raises(pl.UnknownField, match="has no field 'z'"):
        vertex.field_info("z")
    with pytest.raises(pl.TensorIndexError, match="field 'rows' has no vector 2 .*\n.*2 vectors"):
        vertex.field_info("rows").size_at(2)
    with pytest.raises(pl.TensorIndexError, match="field 'x' has no vector 0 .*\n.*not a list"):
        vertex.field_info("x").size_at(0)
    bare = graph.add_vertex(graph.add_compute_set("bare"), Estimated[pl.FLOAT], tile=0)
    with pytest.raises(pl.NoSizeSpecified, match="field 'x' has nothing connected"):
        bare.field_info("x")
    assert bare.field_info("k").initial_values is None


def test_an_estimate_of_a_vertex_comes_first(graph: pl.Graph) -> None:
    vertex, seen = estimated(graph), []

    def cost(given: pl.VertexInstance, target: pl.Target) -> int:
        seen.append((given, target))
        return 10 + given.field_info("x").size

    assert graph.perf_estimate(vertex) is None
    graph.register_perf_estimator(Estimated, cost)
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(20)
    assert seen == [(vertex, graph.target)]
    graph.register_perf_estimator(
        Estimated[pl.HALF], lambda given, target: pl.VertexPerfEstimate(target.workers, 3)
    )
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(6, 3)
    graph.set_perf_estimate(vertex, 99, flops=4)
    assert graph.create_virtual_graph([3]).perf_estimate(vertex) == pl.VertexPerfEstimate(99, 4)
    graph.set_perf_estimate(vertex, pl.VertexPerfEstimate(1, 2))
    assert graph.getPerfEstimate(vertex) == pl.VertexPerfEstimate(1, 2)


def test_a_block_has_estimates_of_each(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (6,), mapping="linear")
    block = graph.add_vertices(
        graph.add_compute_set("estimated"), Estimated, tile=0, x=x.reshape((3, 2)),
        rows=[[], [], []], y=x[3:], k=1, table=[[1]] * 3,
    )  # fmt: skip
    assert graph.perf_estimate(block[1]) is None
    graph.set_perf_estimate(block, np.array([5, 6, 7], np.uint8), flops=2)
    assert [graph.perf_estimate(vertex) for vertex in block] == [
        pl.VertexPerfEstimate(cycles, 2) for cycles in (5, 6, 7)
    ]
    graph.set_perf_estimate(block, pl.VertexPerfEstimate(8))
    assert graph.perf_estimate(block[2]) == pl.VertexPerfEstimate(8)
    with pytest.raises(
        pl.GraphConnectionError, match="^vertex 0 of 'Estimated.* is one of 3 vertices"
    ):
        graph.set_perf_estimate(block[0], 5)
    with pytest.raises(pl.ElementTypeError, match=r"cycles is an array of shape \(2,\) .* 3 vert"):
        graph.set_perf_estimate(block, [1, 2])
    with pytest.raises(pl.ElementTypeError, match=r"flops is an array of .*float64.* 3 vertices"):
        graph.set_perf_estimate(block, 1, flops=[1.0, 2.0, 3.0])  # type: ignore[list-item]
    with pytest.raises(pl.SizeOverflowError, match=r"^Estimated.* 1: cycles=-4, but at least 0"):
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
        (2**40 + 1, 0, pl.SizeOverflowError, "cycles=1,099,511,627,777, but the maximum is 1,099,"),
        (pl.VertexPerfEstimate(-3), 0, pl.SizeOverflowError, "cycles=-3, but at least 0"),
    ],
)
def test_estimates_are_whole_numbers(
    graph: pl.Graph, cycles: Any, flops: Any, error: type[pl.PopliteError], why: str
) -> None:
    vertex = estimated(graph)
    with pytest.raises(error, match=f"^vertex 0 of 'Estimated.* on tile 0: {why}"):
        graph.set_perf_estimate(vertex, cycles, flops)
    assert vertex.estimate is None


def test_estimators_are_checked(graph: pl.Graph) -> None:
    vertex = estimated(graph)
    with pytest.raises(pl.ElementTypeError, match="^register_perf_estimator: 12 cannot be called"):
        graph.register_perf_estimator(Estimated, 12)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="0 vertex classes called 'Blended'"):
        graph.register_perf_estimator("Blended", lambda v, t: 1)
    graph.register_perf_estimator(Estimated, lambda v, t: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(
        pl.ElementTypeError,
        match="^estimator of vertex 0 of 'Estimated.*: cycles=None is not a whole",
    ):
        graph.perf_estimate(vertex)
    with pytest.raises(pl.GraphConnectionError, match="is not a vertex of .*\n.*to another graph"):
        pl.Graph().set_perf_estimate(vertex, 1)
    with pytest.raises(pl.GraphConnectionError, match="3 is not a vertex of .*\n.*type is int"):
        graph.set_perf_estimate(3, 1)  # type: ignore[arg-type]
