"""What programs mean on the engine, compiled and interpreted, against NumPy."""

from __future__ import annotations

import io
import math
import re
import signal
import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms, simulated


class Sum(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for value in self.x:
            total += value
        self.total = total


class Shift(pl.Vertex):
    """Writes each element to the next place: wrong if it sees its own writes."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Increment(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x += 1


class WriteFirst(pl.Vertex):
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.y[0] = 99


class RowSums(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    sums: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for r in range(len(self.rows)):
            total = 0
            for i in range(len(self.rows[r])):
                total += self.rows[r][i]
            self.sums[r] = total


class Polynomial(pl.Vertex):
    weights: pl.State[pl.Vector[pl.FLOAT]]
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for weight in self.weights:
            total = total * self.x + weight
        self.y = total


class Scale(pl.Vertex):
    a: pl.State[pl.FLOAT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.a * self.x[i] + 0.1


def graph_of(tiles: int = 4) -> pl.Graph:
    return pl.Graph(pl.Target(tiles=tiles))


@both_forms
def test_input_that_is_not_contiguous_is_gathered(interpret: bool) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    totals = graph.add_variable(pl.FLOAT, (6,), "totals", mapping=1)
    compute_set = graph.add_compute_set("columns")
    for column in range(6):
        graph.add_vertex(compute_set, Sum, tile=1, x=x[:, column], total=totals[column])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    engine.write(x, np.arange(24).reshape(4, 6))
    engine.run()
    assert engine.read(totals).tolist() == [36, 40, 44, 48, 52, 56]
    assert engine.report().bytes_gathered == 24 * 4


@both_forms
@pytest.mark.parametrize("reverse", [False, True])
def test_input_that_overlaps_an_output_reads_the_values_from_before(
    interpret: bool, reverse: bool
) -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (6,), "a", mapping=0, initial_value=[1, 2, 3, 4, 5, 6])
    view = a.reverse(0) if reverse else a
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Shift, tile=0, x=view[:5], y=view[1:])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    engine.run()
    assert engine.read(view).tolist() == ([6, 6, 5, 4, 3, 2] if reverse else [1, 1, 2, 3, 4, 5])


@both_forms
@pytest.mark.parametrize("stride", [1, 2])
def test_output_elements_that_are_not_written_keep_their_value(
    interpret: bool, stride: int
) -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (6,), "a", mapping=0, initial_value=[1, 2, 3, 4, 5, 6])
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, WriteFirst, tile=0, y=a.sub_sample(stride, 0))
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    match = r"vertex 0 of 'WriteFirst' on tile 0 leaves 'WriteFirst.y'\[1\] unwritten"
    with pytest.warns(pl.UnwrittenOutputWarning, match=match):
        engine.run()
    assert engine.read(a).tolist() == [99, 2, 3, 4, 5, 6]


@both_forms
def test_lists_of_rows_even_jagged_and_gathered(interpret: bool) -> None:
    graph = graph_of()
    m = graph.add_variable(pl.INT, (4, 5), "m", mapping=0)
    sums = graph.add_variable(pl.INT, (4, 4), "sums", mapping=0)
    compute_set = graph.add_compute_set()
    lists = [
        m[:, 1:4],  # even rows
        [m[0], m[1, :2], m[3, 3:], m[2, 1:1]],  # each its own length, one empty
        [m[0, ::2], m[:, 1], m[3, ::-1], m[1]],  # strided, a column, reversed, contiguous
        m.transpose()[:4],
    ]
    for number, rows in enumerate(lists):
        graph.add_vertex(compute_set, RowSums, tile=0, rows=rows, sums=sums[number])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    n = np.arange(20, dtype=np.int32).reshape(4, 5) ** 2
    engine.write(m, n)
    engine.run()
    assert engine.read(sums).tolist() == [
        n[:, 1:4].sum(1).tolist(),
        [n[0].sum(), n[1, :2].sum(), n[3, 3:].sum(), 0],
        [n[0, ::2].sum(), n[:, 1].sum(), n[3].sum(), n[1].sum()],
        n.T[:4].sum(1).tolist(),
    ]


@both_forms
def test_state_vectors_may_differ_in_length_from_vertex_to_vertex(interpret: bool) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[2, 3, 4])
    y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    for i, weights in enumerate([[1, 0, 1], [], [5]]):
        graph.add_vertex(compute_set, Polynomial, tile=i, weights=weights, x=x[i], y=y[i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    engine.run()
    assert engine.read(y).tolist() == [5, 0, 5]


largest = max


@both_forms
def test_functions_mean_the_same_under_another_name(interpret: bool) -> None:
    whole = int

    class Renamed(pl.Vertex):
        x: pl.Input[pl.FLOAT]
        y: pl.Output[pl.FLOAT]
        n: pl.Output[pl.INT]

        def compute(self) -> None:
            self.y = largest(self.x, 0.1)
            self.n = whole(self.x) >> 40

    graph = graph_of()
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=0, initial_value=0)
    n = graph.add_variable(pl.INT, (2,), "n", mapping=0)
    compute_set = graph.add_compute_set()
    for i, x in enumerate([-1.0, 1e30]):
        graph.add_vertex(compute_set, Renamed, tile=0, x=x, y=y[i], n=n[i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    engine.run()
    assert engine.read(y).tolist() == [np.float32(0.1), np.float32(1e30)]
    assert engine.read(n).tolist() == [-1, (2**63 - 1) >> 40]


@both_forms
def test_number_connected_to_an_input_is_a_constant(interpret: bool) -> None:
    graph = graph_of()
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Polynomial, tile=0, weights=[1, 1], x=2.5, y=y)
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    engine.run()
    assert engine.read(y) == 3.5


@both_forms
def test_repeats_nest_and_zero_times_is_never(interpret: bool) -> None:
    graph = graph_of()
    n = graph.add_variable(pl.INT, (2,), "n", mapping=0, initial_value=0)
    sets = [graph.add_compute_set(), graph.add_compute_set()]
    for i, compute_set in enumerate(sets):
        graph.add_vertex(compute_set, Increment, tile=0, x=n[i])
    first, second = map(pl.Execute, sets)
    body = pl.Sequence(first, pl.Repeat(4, second), pl.Repeat(0, first))
    engine = pl.Engine(graph, pl.Repeat(3, pl.Sequence(body, body)), interpret=interpret)
    engine.run()
    assert engine.read(n).tolist() == [6, 24]
    engine.run()  # values are kept between runs
    assert engine.read(n).tolist() == [12, 48]
    report = engine.report()
    assert (report.runs, report.steps, report.vertices) == (2, 60, 60)


def test_long_repeat_returns_to_python_and_goes_on() -> None:
    graph = graph_of()
    n = graph.add_variable(pl.INT, (1,), "n", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Increment, tile=0, x=n[0])
    engine = pl.Engine(graph, pl.Repeat(100_000, pl.Execute(compute_set)))
    engine.run()
    assert engine.read(n).tolist() == [100_000]


@both_forms
def test_copies_between_shapes_and_tiles(interpret: bool) -> None:
    graph = graph_of()
    a = graph.add_variable(pl.FLOAT, (3, 4), "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, (4, 3), "b", mapping=2)
    c = graph.add_variable(pl.FLOAT, (2, 12), "c", mapping=3, initial_value=0)
    program = pl.Sequence(pl.Copy(a.transpose(), b), pl.Copy(b.reverse(0), c[1].reshape((4, 3))))
    engine = pl.Engine(graph, program, interpret=interpret)
    n = np.arange(12, dtype=np.float32).reshape(3, 4)
    engine.write(a, n)
    engine.run()
    assert np.array_equal(engine.read(b), n.T)
    assert np.array_equal(engine.read(c), np.stack([np.zeros(12), n.T[::-1].ravel()]))
    assert engine.report().bytes_copied == 2 * 12 * 4


@both_forms
@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_launch_that_threads_share_gives_the_same_bits(
    interpret: bool, checks: Literal["fast", "strict"]
) -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.FLOAT, (600, 200), "x", mapping="linear")
    compute_set = graph.add_compute_set()
    for i in range(600):
        graph.add_vertex(compute_set, Scale, tile=i, a=0.5 + i, x=x[i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret, checks=checks)
    start = np.random.default_rng(3).normal(size=(600, 200)).astype(np.float32)
    engine.write(x, start)
    engine.run()
    a = (0.5 + np.arange(600, dtype=np.float32))[:, None]
    assert engine.read(x).tobytes() == (a * start + np.float32(0.1)).tobytes()


def test_programs_by_name_and_number() -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (2,), "a", mapping=0, initial_value=[1, 2])
    b = graph.add_variable(pl.INT, (2,), "b", mapping=0)
    engine = pl.Engine(graph, {"load": pl.Copy(a, b), "clear": pl.Copy(b.reverse(0), a)})
    engine.run("load")
    engine.run(1)
    assert engine.read(a).tolist() == [2, 1]
    with pytest.raises(pl.UnknownName, match=r"no program 'laod' \(did you mean 'load'\?\)"):
        engine.run("laod")
    with pytest.raises(pl.UnknownName, match="no program 2"):
        engine.run(2)


@both_forms
def test_print_tensor_writes_to_the_stream(interpret: bool) -> None:
    graph = graph_of()
    v = graph.add_variable(pl.FLOAT, (2,), "v1", mapping=0, initial_value=[1, 1.5])
    n = graph.add_variable(pl.INT, (2, 2), "n", mapping=0, initial_value=[[1, 2], [3, 4]])
    program = pl.Repeat(2, pl.Sequence(pl.PrintTensor(v), pl.PrintTensor("matrix", n)))
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.print_stream = io.StringIO()
    engine.run()
    once = "v1: [1.0000000 1.5000000]\nmatrix: [\n  [1 2]\n  [3 4]\n]\n"
    assert engine.print_stream.getvalue() == 2 * once


class Reach(pl.Vertex):
    where: pl.State[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y[self.where] = self.x[0]


@both_forms
@pytest.mark.parametrize("where", [3, -1])
def test_index_out_of_range_is_named(interpret: bool, where: int) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (2, 3), "y", mapping=0, initial_value=np.ones((2, 3)))
    compute_set = graph.add_compute_set("reach")
    graph.add_vertex(compute_set, Reach, tile=0, where=0, x=x, y=y[0])
    graph.add_vertex(compute_set, Reach, tile=2, where=where, x=x, y=y[1])
    program = pl.Sequence(pl.Repeat(0, pl.PrintTensor(x)), pl.Execute(compute_set))
    engine = pl.Engine(graph, program, interpret=interpret)
    line = Reach.compute.__code__.co_firstlineno + 1
    for _ in range(2):  # the engine still works afterwards
        with pytest.raises(pl.TensorIndexError) as caught:
            engine.run()
        assert str(caught.value).splitlines() == [
            f"vertex 1 of 'Reach' on tile 2: 'Reach.y': index {where} of 3 elements"
            f"  (tests/unit/simulator/test_engine.py:{line} in compute)",
            "  at step 2 of 2: Execute 'reach'",
            "  'Reach.y' is 'y'[1, 0:3]",
            f"  the vertex was added at {compute_set.vertices[1].location}",
            "  try: keep the index from 0 to 2",
        ]
        assert engine.read(y).tolist() == [[1, 1, 1], [1, 1, 1]]  # as before the compute set


class Walk(pl.Vertex):
    row: pl.State[pl.INT]
    column: pl.State[pl.INT]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.rows[self.row][self.column]


WALKS: dict[str, tuple[Callable[[pl.Tensor], Any], int, int, str, str]] = {
    "rows": (lambda x: x, 6, 0, "'Walk.rows': index 6 of 6 rows", "'Walk.rows' is 'x'[0:6, 0:8]"),
    "row": (
        lambda x: x,
        2,
        8,
        r"'Walk.rows[2]': index 8 of 8 elements",
        "'Walk.rows[2]' is 'x'[2, 0:8]",
    ),
    "part of a row": (
        lambda x: [x[5, 2:6], x[1]],
        0,
        4,
        "'Walk.rows[0]': index 4 of 4 elements",
        "'Walk.rows[0]' is 'x'[5, 2:6]",
    ),
    "column": (
        lambda x: x.T[2:4],
        1,
        -1,
        "'Walk.rows[1]': index -1 of 6 elements",
        "'Walk.rows[1]' is 'x'[0:6, 3]",
    ),
    "every other column": (
        lambda x: x[1:, ::2],
        5,
        0,
        "'Walk.rows': index 5 of 5 rows",
        "'Walk.rows' is 'x'[1:6, 0:7:2]",
    ),
    "across rows": (
        lambda x: [x.flatten()[3:10]],
        0,
        7,
        "'Walk.rows[0]': index 7 of 7 elements",
        "'Walk.rows[0]' is 'x'[0, 3] to 'x'[1, 1]",
    ),
    "scattered": (
        lambda x: [pl.concat([x[0, :1], x[3, 4:7]])],
        0,
        4,
        "'Walk.rows[0]': index 4 of 4 elements",
        "'Walk.rows[0]' is 'x'[0, 0] to 'x'[3, 6], gathered",
    ),
    "no rows": (lambda x: x[:0], 0, 0, "'Walk.rows': index 0 of 0 rows", "the vertex was added"),
}


@both_forms
@pytest.mark.parametrize("name", WALKS)
def test_the_tensor_behind_a_field_is_named(interpret: bool, name: str) -> None:
    view, row, column, what, behind = WALKS[name]
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (6, 8), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    walk = graph.add_compute_set("walk")
    graph.add_vertex(walk, Walk, tile=0, row=row, column=column, rows=view(x), y=y)
    with pytest.raises(pl.TensorIndexError) as caught:
        pl.Engine(graph, pl.Execute(walk), interpret=interpret).run()
    assert caught.value.what == f"vertex 0 of 'Walk' on tile 0: {what}"
    assert caught.value.found.startswith(behind)


class Twin(Reach):
    """The same work under another name."""


@both_forms
def test_first_fault_in_the_order_of_vertices_is_named(interpret: bool) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (3, 3), "y", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    for i, (cls, where) in enumerate([(Reach, 0), (Twin, 3), (Reach, 3)]):
        graph.add_vertex(compute_set, cls, tile=0, where=where, x=x, y=y[i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    with pytest.raises(pl.TensorIndexError, match="^vertex 1 of 'Twin' on tile 0: "):
        engine.run()
    assert not engine.read(y).any()


def test_interpreted_faults_leave_memory_whatever_the_checks() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=[4, 5])
    y = graph.add_variable(pl.FLOAT, (2, 3), "y", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    for i, where in enumerate([0, 3]):
        graph.add_vertex(compute_set, Reach, tile=0, where=where, x=x, y=y[i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=True, checks="fast")
    with pytest.raises(pl.TensorIndexError, match="vertex 1 of 'Reach'"):
        engine.run()
    assert not engine.read(y).any()


class Threshold(pl.Vertex):
    """Faults where e^x exceeds a limit."""

    LIMIT = 0.0
    x: pl.Input[pl.FLOAT]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y[0] = 9.0
        if math.exp(self.x) > self.LIMIT:
            self.y[len(self.y)] = 1.0


def test_fault_that_only_the_compiled_form_has(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=0, initial_value=[7, 8])
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Threshold, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(compute_set))
    # Stands for a number that another vertex writes meanwhile.
    monkeypatch.setitem(simulated(engine).runs.computes, Threshold, lambda vertex: None)
    with pytest.raises(pl.TensorIndexError, match="'Threshold.y': index 2 of 2 elements") as caught:
        engine.run()
    assert "as plain Python, it does not stop" in caught.value.found
    assert "'Threshold.y' is 'y'[0:2]" in caught.value.found
    assert engine.read(y).tolist() == [7, 8]


@both_forms
def test_numbers_outside_stay_as_they_were_when_the_engine_was_made(
    interpret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=0, initial_value=[7, 8])
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Threshold, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    monkeypatch.setattr(Threshold, "LIMIT", 50.0)
    with pytest.raises(pl.TensorIndexError, match="index 2 of 2 elements"):
        engine.run()


class Smear(pl.Vertex):
    """Counts up in place until it falls off the end of `x`."""

    at: pl.InOut[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]
    gathered: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        while self.at < 10:
            self.x[self.at] = 7
            self.gathered[0] = self.at
            self.at += 1


@both_forms
def test_fault_at_an_index_that_the_vertex_itself_advances(interpret: bool) -> None:
    graph = graph_of()
    at = graph.add_variable(pl.INT, (2,), "at", mapping=0, initial_value=[8, 1])
    x = graph.add_variable(pl.INT, (2, 10), "x", mapping=0, initial_value=0)
    g = graph.add_variable(pl.INT, (4, 2), "g", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    for i, size in enumerate([10, 4]):
        graph.add_vertex(compute_set, Smear, tile=i, at=at[i], x=x[i, :size], gathered=g[:, i])
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    with pytest.raises(
        pl.TensorIndexError, match="vertex 1 of 'Smear' on tile 1: .* index 4 of 4 elements"
    ):
        engine.run()
    assert engine.read(at).tolist() == [8, 1]
    assert not engine.read(x).any()
    assert not engine.read(g).any()


def test_first_fault_of_many_is_reported() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (9, 3), "y", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    for i in range(9):
        graph.add_vertex(compute_set, Reach, tile=i % 4, where=i, x=x, y=y[i])
    with pytest.raises(pl.TensorIndexError, match="vertex 3 of 'Reach' on tile 3: .* index 3 of 3"):
        pl.Engine(graph, pl.Execute(compute_set)).run()


def test_first_fault_of_many_threads_is_reported() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (30_000, 3), "y", mapping="linear", initial_value=0)
    compute_set = graph.add_compute_set()
    for i in range(30_000):
        where = 3 if i in (7_000, 29_000) else 0
        graph.add_vertex(compute_set, Reach, tile=i % 1472, where=where, x=x, y=y[i])
    engine = pl.Engine(graph, pl.Execute(compute_set))
    for _ in range(3):
        with pytest.raises(
            pl.TensorIndexError, match="vertex 7000 of 'Reach' on tile 1112: .* index 3 of 3"
        ):
            engine.run()


class Search(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    found: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        while self.x[i] < 5.0:
            i += 1
        self.found = i


@both_forms
def test_compute_stops_at_a_fault(interpret: bool) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
    found = graph.add_variable(pl.INT, (), "found", mapping=0, initial_value=-1)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Search, tile=0, x=x, found=found)
    engine = pl.Engine(graph, pl.Execute(compute_set), interpret=interpret)
    with pytest.raises(pl.TensorIndexError, match="index 4 of 4 elements"):
        engine.run()
    assert engine.read(found) == -1


def test_variable_added_after_the_engine_is_refused() -> None:
    graph = graph_of()
    early = graph.add_variable(pl.INT, (8,), "early", mapping=0)
    engine = pl.Engine(graph, pl.Sequence())
    late = graph.add_variable(pl.INT, (8,), "late", mapping=0)
    for tensor in (late, late[3], pl.concat([early, late])):
        with pytest.raises(pl.GraphConnectionError, match="'late' was added .* after this engine"):
            engine.read(tensor)
        with pytest.raises(pl.GraphConnectionError, match="'late' was added .* after this engine"):
            engine.write(tensor, 3)


@both_forms
def test_print_stream_that_raises_or_runs_the_engine(interpret: bool) -> None:
    graph = graph_of()
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Increment, tile=0, x=n)
    program = pl.Repeat(3, pl.Sequence(pl.Execute(compute_set), pl.PrintTensor(n)))
    engine = pl.Engine(graph, program, interpret=interpret)

    class Again(io.StringIO):
        def write(self, text: str) -> int:
            engine.run()
            return len(text)

    engine.print_stream = Again()
    with pytest.raises(pl.ControlProgramError, match="the engine is already running"):
        engine.run()
    assert engine.read(n) == 1
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.read(n) == 4


def test_large_copies_are_shared_by_threads() -> None:
    graph = graph_of()
    a = graph.add_variable(pl.FLOAT, (700, 800), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (700, 800), "b", mapping=1)
    c = graph.add_variable(pl.FLOAT, (800, 700), "c", mapping=1)
    both = pl.Sequence(pl.Copy(a, b), pl.Copy(a.transpose(), c))
    engine = pl.Engine(graph, both, options={"debug.allowOutOfMemory": True})
    n = np.random.default_rng(0).normal(size=(700, 800)).astype(np.float32)
    engine.write(a, n)
    engine.run()
    assert np.array_equal(engine.read(b), n)
    assert np.array_equal(engine.read(c), n.T)


def test_write_refuses_what_does_not_fit() -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (2, 3), "a", mapping=0)
    c = graph.add_constant(pl.INT, (2,), [1, 2], "c", mapping=0)
    engine = pl.Engine(graph, pl.Copy(c, a[0, :2]))
    engine.write(a, 7)
    assert engine.read(a).tolist() == [[7] * 3] * 2
    shapes = re.escape("shape (2, 3); found (3, 2)")
    with pytest.raises(pl.TensorCreationError, match=shapes):
        engine.write(a, np.zeros((3, 2), np.int32))
    with pytest.raises(pl.ElementTypeError, match="float64"):
        engine.write(a, np.zeros((2, 3)))
    with pytest.raises(pl.SizeOverflowError, match="2147483648 does not fit INT"):
        engine.write(a, np.full((2, 3), 2**31))
    with pytest.raises(pl.GraphConnectionError, match="'c'.* is constant") as caught:
        engine.write(c, [3, 4])
    assert "graph.add_variable(INT, (2,), mapping=...)" in caught.value.fix
    with pytest.raises(pl.GraphConnectionError, match="contains some elements more than once"):
        engine.write(a[0].broadcast(2, 0), np.zeros(6, np.int32))
    with pytest.raises(pl.GraphConnectionError, match="this engine's graph"):
        engine.read(graph_of().add_variable(pl.INT, (2,), "b"))
    assert engine.read(a).tolist() == [[7] * 3] * 2


def test_views_are_written_and_read_through() -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (4, 6), "a", mapping="linear")
    engine = pl.Engine(graph, pl.Sequence())
    n = np.arange(24, dtype=np.int32).reshape(4, 6)
    flat = pl.concat([a.reverse(1)[2:], a[:2]]).reshape((6, 4))
    engine.write(flat, n.reshape(6, 4))
    expected = np.concatenate([n[2:], n[:2, ::-1]])
    assert np.array_equal(engine.read(a), expected)
    assert np.array_equal(engine.read(flat), n.reshape(6, 4))
    assert engine.read(a[0:0]).shape == (0, 6)
    assert engine.read(a[1, 2]).shape == ()


def test_constants_and_initial_values_are_loaded_once() -> None:
    graph = graph_of()
    a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=[1, 2, 3])
    c = graph.add_constant(pl.INT, (3,), 5, "c", mapping=0)
    engine = pl.Engine(graph, pl.Copy(c, a))
    assert engine.read(a).tolist() == [1, 2, 3]
    engine.run()
    assert engine.read(a).tolist() == [5, 5, 5]


def test_disabled_jit_is_refused_with_the_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of()
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(pl.ControlProgramError, match=r"(?s)NUMBA_DISABLE_JIT=1.*interpret=True"):
        pl.Engine(graph, pl.Sequence())
    pl.Engine(graph, pl.Sequence(), interpret=True).run()


def test_bad_arguments_of_an_engine() -> None:
    graph = graph_of()
    with pytest.raises(pl.InvalidOption, match="found 'loose'"):
        pl.Engine(graph, pl.Sequence(), checks="loose")  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="program 'main' is 3"):
        pl.Engine(graph, {"main": 3})
    with pytest.raises(pl.ControlProgramError, match=r"(?s)'adds' .*is not a program.*Execute"):
        pl.Engine(graph, graph.add_compute_set("adds"))  # type: ignore[arg-type]
    with pytest.raises(
        pl.ControlProgramError, match="the name of a program must be a string; found 1"
    ):
        pl.Engine(graph, {1: pl.Sequence()})  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownName, match="at least one program"):
        pl.Engine(graph, [])
    with pytest.raises(pl.ControlProgramError, match="None is not a graph"):
        pl.Engine(None, pl.Sequence())  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="engine.read: 3 is not a tensor"):
        pl.Engine(graph, pl.Sequence()).read(3)  # type: ignore[call-overload]
    many: pl.Program = pl.PrintTensor(graph.add_variable(pl.INT, (1,), mapping=0))
    for _ in range(30):
        many = pl.Sequence(many, many)
    with pytest.raises(pl.ControlProgramError, match="1,073,741,824 steps"):
        pl.Engine(graph, many)


def test_program_as_deep_as_it_is_long() -> None:
    graph = graph_of()
    n = graph.add_variable(pl.INT, (1,), "n", mapping=0, initial_value=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Increment, tile=0, x=n[0])
    program: pl.Program = pl.Sequence()
    for _ in range(5000):
        program = pl.Sequence(program, pl.Execute(compute_set))
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(n).tolist() == [5000]


class Spin(pl.Vertex):
    rounds: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for _ in range(self.rounds):
            for i in range(len(self.x)):
                self.x[i] = self.x[i] * 0.5 + 1.0


def test_interrupt_is_seen_between_steps_and_leaves_the_engine_usable() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4, 1000), "x", mapping="linear", initial_value=0)
    compute_set = graph.add_compute_set()
    for i in range(4):
        graph.add_vertex(compute_set, Spin, tile=i, rounds=1, x=x[i])
    endless = pl.Repeat(2**32 - 1, pl.Execute(compute_set))
    engine = pl.Engine(graph, {"endless": endless, "once": pl.Execute(compute_set)})
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the timer must not fire outside)
        timer.start()
        engine.run("endless")
    timer.join()
    engine.run("once")
    assert engine.report().runs == 1
    assert np.allclose(engine.read(x), 2)


def test_report_and_repr() -> None:
    graph = graph_of()
    graph.add_variable(pl.INT, (10,), "a", mapping=0)
    graph.add_variable(pl.INT, (4,), "b", mapping="linear")
    engine = pl.Engine(graph, pl.Sequence())
    graph.add_variable(pl.INT, (40,), "later", mapping=2)
    assert repr(engine) == "<Engine 1 program on 4 tiles, compiled, strict checks>"
    assert engine.report().elements_per_tile == (1, 11)
    assert repr(engine.report()) == "<Report 0 runs, 0 steps, 0 vertices, 0 cycles>"


def test_checks_are_fast_beyond_a_million_elements() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (1_000_001,), "x", mapping=0)
    total = graph.add_variable(pl.FLOAT, (), "total", mapping=0)
    compute_set = graph.add_compute_set()
    graph.add_vertex(compute_set, Sum, tile=0, x=x, total=total)
    engine = pl.Engine(graph, pl.Execute(compute_set), options={"debug.allowOutOfMemory": True})
    assert engine.checks == "fast"


def test_memory_that_cannot_be_had_is_named() -> None:
    graph = graph_of()
    graph.add_variable(pl.FLOAT, (1 << 45,), "huge", mapping=0)
    options = {"debug.allowOutOfMemory": True}
    with pytest.raises(pl.SizeOverflowError, match=r"cannot allocate 140,737,488,355,\d\d\d B"):
        pl.Engine(graph, pl.Sequence(), options=options)
    for size in (1 << 59, 1 << 60):
        graph.add_variable(pl.FLOAT, (size,), "beyond", mapping=0)
    with pytest.raises(pl.SizeOverflowError, match="(?s)be addressed.*largest is 'beyond"):
        pl.Engine(graph, pl.Sequence())


def test_views_that_are_made_and_dropped_are_told_apart() -> None:
    """An access is kept by the tensor's id, which Python gives to another one once it is free."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (700,), "x", mapping=0)
    engine = pl.Engine(graph, pl.Sequence())
    for k in range(700):
        engine.write(x[k], k)
    assert [int(engine.read(x[k])) for k in range(700)] == [*range(700)]
    values = np.arange(700, dtype=np.int32)
    engine.write(x, values)
    values[:] = 0
    assert engine.read(x)[699] == 699
    with pytest.raises(pl.GraphReplicationError, match="replica 3"):
        engine.read(x, replica=3)
