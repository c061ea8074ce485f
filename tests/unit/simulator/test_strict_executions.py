"""Steps that strict checks look at more than once: what changes, which rows they move."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms
from helpers.vertices import Count
from poplite import ops
from poplite.executable.parts import ComputeStep
from poplite.ops.control import LoopIndex
from poplite.simulator.run import interpreted_vertices, launches
from poplite.simulator.strict import checks
from poplite.simulator.strict.checks import LOOKS_IN_PYTHON, StrictChecks
from poplite.simulator.strict.replay import Replay
from poplite.vertices.slices import MultiUpdate, updates_rows


class At(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[self.at] + 1


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


class Mixed(pl.Vertex):
    """Passes on elements of all sizes; uses some of one."""

    a: pl.Input[pl.Vector[pl.LONGLONG]]
    b: pl.Input[pl.Vector[pl.HALF]]
    c: pl.Input[pl.BOOL]
    d: pl.Input[pl.FLOAT]
    e: pl.InOut[pl.Vector[pl.LONGLONG]]
    f: pl.Output[pl.Vector[pl.HALF]]
    g: pl.Output[pl.BOOL]
    h: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.a)):
            self.e[i] = self.a[len(self.a) - 1 - i]
        for i in range(len(self.b)):
            self.f[i] = self.b[i]
        self.g = self.c
        self.h = self.d * 2.0


class Positive(pl.Vertex):
    """Tells whether an element is positive, and passes another on."""

    x: pl.Input[pl.INT]
    y: pl.Input[pl.INT]
    z: pl.Output[pl.INT]

    def compute(self) -> bool:
        self.z = self.y
        return self.x > 0


class Race(pl.MultiVertex):
    """Adds 15; as soon as `scale` is not 1, all workers do, in an order that matters."""

    scale: pl.Input[pl.INT]
    x: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        if worker == 0:
            self.x += 15
        elif self.scale != 1:
            self.x = self.x * self.scale + worker


def variable(graph: pl.Graph, shape: Any, name: str, value: Any = None, kind: Any = pl.INT) -> Any:
    return graph.add_variable(kind, shape, name, mapping=0, initial_value=value)


def step(graph: pl.Graph, cls: type[pl.Vertex], **fields: Any) -> pl.Execute:
    work = graph.add_compute_set(cls.__name__)
    graph.add_vertex(work, cls, tile=1, **fields)
    return pl.Execute(work)


def looked_at(graph: pl.Graph, name: str) -> pl.Program:
    """A step that is looked at each time: it passes on what nothing writes."""
    x, y = variable(graph, (3,), f"{name}.x"), variable(graph, (3,), f"{name}.y")
    return step(graph, Pass, x=x, y=y)


def new_graph(**options: Any) -> pl.Graph:
    replicas = options.get("replication_factor", 1)
    return pl.Graph(pl.Target(tiles=2 * replicas, ipus=replicas), **options)


@both_forms
def test_a_step_that_goes_wrong_late(interpret: bool) -> None:
    graph = new_graph()
    x, y = variable(graph, (64,), "x"), variable(graph, (), "y")
    at = variable(graph, (), "at", -1)
    program = pl.Sequence(step(graph, Count, n=at), step(graph, At, at=at, x=x, y=y))
    engine = pl.Engine(graph, pl.Repeat(60, program), interpret=interpret)
    engine.write(x[:50], np.arange(50) * 7)
    match = r"reads 'At.x'\[50\], which is 'x'\[50\], but nothing has written it"
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    assert engine.read(at) == 50
    assert engine.read(y) == 49 * 7 + 1  # as before the execution that is wrong
    engine.write(x[50:], 3)
    engine.write(at, -1)
    engine.run()
    assert engine.read(y) == 4


@both_forms
def test_workers_that_race_late(interpret: bool) -> None:
    graph = new_graph()
    x, scale = variable(graph, (), "x", 0), variable(graph, (), "scale", -8)
    ones = variable(graph, (), "ones", 1)
    race = {"scale": step(graph, Count, n=scale), "race": step(graph, Race, scale=scale, x=x)}
    safe = step(graph, Race, scale=ones, x=x)
    engine = pl.Engine(graph, {**race, "safe": pl.Repeat(5, safe)}, interpret=interpret)
    engine.run("safe")
    assert engine.read(x) == 5 * 15
    engine.write(scale, 1)
    engine.run("race")
    assert engine.read(x) == 6 * 15
    engine.run("scale")
    with pytest.raises(pl.WorkerRaceError, match="worker 1 reads 'Race.x', which worker 0"):
        engine.run("race")
    assert engine.read(x) == 6 * 15


@both_forms
def test_values_and_costs_of_a_step_that_stays_looked_at(interpret: bool) -> None:
    graph = new_graph()
    x, y, z = (variable(graph, (4, 6), name) for name in "xyz")
    work = graph.add_compute_set("columns")
    for column in range(6):  # no elements in a row on either side: gathered and scattered
        graph.add_vertex(work, Pass, tile=1, x=x[:, column], y=y[:, column])
    program = pl.Repeat(20, pl.Sequence(pl.Execute(work), pl.Copy(y, z)))
    engine = pl.Engine(graph, program, interpret=interpret)
    values = np.arange(24).reshape(4, 6) * 3 + 1
    engine.write(x[1:], values[1:])
    engine.run()
    assert engine.report().runs_again == 2 * 20
    for each in (y, z):
        assert engine.read(each[1:]).tolist() == values[1:].tolist()
        with pytest.warns(pl.UninitializedWarning, match="nothing has written 6 of 24 elements"):
            assert not engine.read(each)[0].any()
    engine.write(x[:1], values[:1])
    engine.run()
    assert engine.report().runs_again == 2 * 20  # its Outputs are written in one run
    assert engine.read(z).tolist() == values.tolist()


@both_forms
def test_elements_of_all_sizes_in_one_step(interpret: bool) -> None:
    graph = new_graph()
    a, e = (variable(graph, (3,), name, kind=pl.LONGLONG) for name in "ae")
    b, f = (variable(graph, (5,), name, kind=pl.HALF) for name in "bf")
    c, g = (variable(graph, (), name, kind=pl.BOOL) for name in "cg")
    d, h = (variable(graph, (), name, kind=pl.FLOAT) for name in "dh")
    mixed = step(graph, Mixed, a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h)
    engine = pl.Engine(graph, mixed, interpret=interpret)
    large = -(2**62) - 12345
    engine.write(a[1:], [large, 2**62 + 1])
    engine.write(b[3:], [0.5, -0.25])
    for _ in range(3):
        with pytest.raises(pl.UninitializedReadError, match="reads 'Mixed.d', which is 'd'"):
            engine.run()
    engine.write(d, 1.5)
    for _ in range(3):
        engine.run()
    assert engine.read(e[:2]).tolist() == [2**62 + 1, large]
    assert engine.read(f[3:]).tolist() == [0.5, -0.25]
    assert engine.read(h) == 3.0
    for tensor, count in ((e, "1 of 3"), (f, "3 of 5"), (g, "1 of 1")):
        with pytest.warns(pl.UninitializedWarning, match=f"written {count} element"):
            engine.read(tensor)
    engine.write(a, [1, 2, 3])
    engine.write(b, 2.0)
    engine.write(c, True)
    engine.run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine.read(e).tolist() == [3, 2, 1]
        assert engine.read(g)


@both_forms
def test_what_vertices_return_while_a_step_is_looked_at(interpret: bool) -> None:
    graph = new_graph()
    x, y, z = (variable(graph, (4,), name) for name in "xyz")
    work = graph.add_compute_set("positive")
    for i in range(4):
        graph.add_vertex(work, Positive, tile=i % 2, x=x[i], y=y[i], z=z[i])
    all_true = variable(graph, (), "all_true", kind=pl.BOOL)
    engine = pl.Engine(graph, pl.Repeat(3, pl.Execute(work, all_true)), interpret=interpret)
    for values in ([1, 2, 3, 4], [1, -2, 3, 4], [5, 6, 7, 8]):
        engine.write(x, values)
        engine.run()
        assert engine.read(all_true) == (min(values) > 0)
    assert engine.report().runs_again == 3 * 3 * 2


@both_forms
def test_a_result_that_vertices_return(interpret: bool) -> None:
    graph = new_graph()
    x, y, z = variable(graph, (), "x"), variable(graph, (), "y", 1), variable(graph, (), "z")
    work = graph.add_compute_set("positive")
    graph.add_vertex(work, Positive, tile=0, x=x, y=y, z=z)
    all_true = variable(graph, (), "all_true", kind=pl.BOOL)
    engine = pl.Engine(graph, pl.Execute(work, all_true), interpret=interpret)
    for _ in range(2):
        with pytest.raises(pl.UninitializedReadError, match=r"(?s)'Positive.x'.*a different value"):
            engine.run()
    engine.write(x, 1)
    engine.run()
    assert engine.read(all_true)


@both_forms
def test_each_place_of_a_step_is_named(interpret: bool) -> None:
    graph = new_graph()
    at, x, y = variable(graph, (), "at", 0), variable(graph, (4,), "x"), variable(graph, (), "y")
    read, count = step(graph, At, at=at, x=x, y=y), step(graph, Count, n=at)
    function = graph.add_function(pl.Sequence(looked_at(graph, "first"), read, count))
    other = looked_at(graph, "other")
    programs = {
        "twice": pl.Sequence(other, pl.Call(function), other, pl.Call(function)),
        "once": pl.Sequence(read, other),
    }
    engine = pl.Engine(graph, programs, interpret=interpret)
    engine.write(x[:3], 2)
    engine.run("twice")
    engine.run("once")
    assert engine.read(at) == 2
    with pytest.raises(pl.UninitializedReadError, match="at step 7 of 8: Execute 'At'"):
        engine.run("twice")
    with pytest.raises(pl.UninitializedReadError, match="at step 1 of 2: Execute 'At'"):
        engine.run("once")
    engine.write(at, 3)
    with pytest.raises(pl.UninitializedReadError, match="at step 3 of 8: Execute 'At'"):
        engine.run("twice")


@both_forms
def test_loading_between_executions(interpret: bool) -> None:
    graph = new_graph()
    at, x, y = variable(graph, (), "at", 2), variable(graph, (4,), "x"), variable(graph, (), "y")
    program = pl.Sequence(looked_at(graph, "pass"), step(graph, At, at=at, x=x, y=y))
    engine = pl.Engine(graph, program, interpret=interpret)
    for _ in range(3):
        with pytest.raises(pl.UninitializedReadError, match=r"which is 'x'\[2\]"):
            engine.run()
        engine.write(x[1:], 5)
        engine.run()
        engine.run()
        assert engine.read(y) == 6
        engine.load()


@both_forms
def test_what_is_forgotten_each_time(interpret: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poplite.simulator.strict.checks.MOST_KEPT", 0)
    graph = new_graph()
    n, k = variable(graph, (2, 2), "n", 0), variable(graph, (), "k", 0)
    part = n.T.flatten()[1:3]  # elements that lie apart
    zero = pl.Copy(variable(graph, (2,), "zero", 0), part)
    counts = [step(graph, Count, n=each) for each in (n[0, 1], k)]
    steps = [pl.WriteUndef(part), zero, *counts, pl.WriteUndef(part)]
    programs = {"loop": pl.Repeat(5, pl.Sequence(*steps)), "count": counts[0]}
    engine = pl.Engine(graph, programs, interpret=interpret)
    engine.run("loop")
    assert engine.read(k) == 5
    assert engine.report().runs_again == 0
    with pytest.raises(pl.UninitializedReadError, match=r"reads 'Count.n', which is 'n'\[0, 1\]"):
        engine.run("count")
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 2 of 4 elements"):
        engine.read(n)


@both_forms
def test_replicas_differ_in_what_is_written(interpret: bool) -> None:
    graph = new_graph(replication_factor=3)
    at, x, y = variable(graph, (), "at", 1), variable(graph, (3,), "x"), variable(graph, (), "y")
    program = pl.Sequence(looked_at(graph, "pass"), step(graph, At, at=at, x=x, y=y))
    engine = pl.Engine(graph, pl.Repeat(2, program), interpret=interpret)
    for replica in range(3):
        engine.write(x[replica:], replica + 1, replica=replica)
    with pytest.raises(pl.UninitializedReadError, match=r"replica 2 reads 'At.x'\[1\]"):
        engine.run()
    engine.write(x[1], 9, replica=2)
    engine.run()
    assert engine.read(y).tolist() == [2, 3, 10]
    engine.write(at, 0, replica=0)
    engine.run()
    assert engine.read(y).tolist() == [2, 3, 10]
    with pytest.warns(pl.UninitializedWarning, match=r"(?s)3 elements.*in replicas 1-2"):
        engine.read(x)


@both_forms
def test_a_copy_of_unwritten_elements_to_another_replica(interpret: bool) -> None:
    graph = new_graph(replication_factor=2)
    x, y = variable(graph, (4,), "x"), variable(graph, (4,), "y", 1)
    total = variable(graph, (), "total")
    at = variable(graph, (), "at", 3)
    crossing = pl.CrossReplicaCopy(x, y, {0: 1, 1: 0})
    programs = {"cross": crossing, "read": step(graph, At, at=at, x=y, y=total)}
    engine = pl.Engine(graph, programs, interpret=interpret)
    engine.write(x[:3], 4)
    engine.write(x, 4, replica=0)
    engine.run("read")
    for _ in range(2):
        engine.run("cross")
        with pytest.raises(pl.UninitializedReadError, match=r"replica 0 reads 'At.x'\[3\]"):
            engine.run("read")
    engine.write(x, 4)
    engine.run("cross")
    engine.run("read")
    assert engine.read(total).tolist() == [5, 5]


# -- strict checks of vertices that move rows by number: they look at rows, and find the same ------


ROWS, WIDTH = 60, 3


class Rows:
    """A graph with a table that nothing has written, and a row that is or is not."""

    def __init__(self, rows: int = ROWS, row: float | None = 7) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.table = self.graph.add_variable(pl.FLOAT, (rows, WIDTH), "table", mapping="linear")
        self.row = self.graph.add_variable(
            pl.FLOAT, (1, WIDTH), "row", mapping=0, initial_value=row
        )
        self.out = self.graph.add_variable(pl.FLOAT, (1, WIDTH), "out", mapping=1)

    def engine(self, turns: int, *body: Callable[[Rows, LoopIndex], object]) -> pl.Engine:
        with self.graph.steps() as program, ops.repeat(turns) as i:
            for each in body:
                each(self, i)
        return pl.Engine(self.graph, program, checks="strict")


def put(at: Rows, i: LoopIndex) -> None:
    ops.dynamic_update(at.table, at.row, i, [0], [1])


def put_apart(at: Rows, i: LoopIndex) -> None:
    """Two rows at numbers from a table, the first of them from the end."""
    numbers = pl.stack([ops.map(ROWS - 1 - i), ops.map(i + 0)])
    ops.multi_update(at.table, pl.concat([at.row, at.row]), numbers)


def add(at: Rows, i: LoopIndex) -> None:
    ops.multi_update_add(at.table, at.row, i.tensor.reshape((1,)))


def get(at: Rows, i: LoopIndex) -> None:
    ops.assign(at.out, ops.dynamic_slice(at.table, i, [0], [1]) + 1)


def get_next(at: Rows, i: LoopIndex) -> None:
    """Row 0, from turn 50 on the row after that of the turn, which nothing has written."""
    ops.assign(at.out, ops.dynamic_slice(at.table, ops.where(i + 0 < 50, 0, i + 1), [0], [1]) + 1)


@pytest.mark.parametrize("rows", [100, 400])
def test_a_loop_that_fills_rows_is_looked_at_by_rows(rows: int) -> None:
    at = Rows(rows)
    engine = at.engine(rows, put, get)
    engine.run()
    assert engine.read(at.table).tolist() == [[7.0] * WIDTH] * rows
    assert engine.read(at.out).tolist() == [[8.0] * WIDTH]
    assert 0 < engine.report().runs_again <= rows // 2  # 4 in a turn, by whole tables


def found(engine: pl.Engine, at: Rows) -> tuple[str, list[str], list[Any]]:
    """What a program raises and warns of, and what the table holds."""
    raised = ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            engine.run()
            engine.run()
        except pl.UninitializedReadError as error:
            raised = str(error)
        table = [] if raised else engine.read(at.table).tolist()
    return raised, [str(each.message) for each in warned], table


CASES: dict[str, tuple[int, float | None, tuple[Callable[[Rows, LoopIndex], object], ...]]] = {
    "all rows": (ROWS, 7, (put, get)),
    "some rows": (ROWS - 1, 7, (put, get)),
    "two in a turn": (ROWS // 2, 7, (put_apart,)),
    "two in a turn, not all": (ROWS // 2 - 1, 7, (put_apart, get)),
    "a row that nothing has written": (ROWS, None, (put,)),
    "its sum": (ROWS, None, (put, get)),
    "added to nothing": (ROWS, 7, (add,)),
    "added to what is written": (ROWS, 7, (put, add, get)),
    "read before": (ROWS - 1, 7, (put, get_next)),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_give_what_whole_tables_give(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, row, body = CASES[case]
    results = []
    for by_rows in (True, False):
        if not by_rows:
            monkeypatch.setattr(Replay, "run_by_rows", lambda *_, **__: False)
        at = Rows(row=row)
        results.append(found(at.engine(turns, *body), at))
    assert results[0] == results[1]


# -- looks of compiled code ------------------------------------------------------------------------


VERTICES = 16


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that Python looks at, one after the other."""
    found: list[int] = []
    executed = StrictChecks._executed

    def noted(self: StrictChecks, number: int, *arguments: Any) -> bool:
        found.append(number)
        return executed(self, number, *arguments)

    monkeypatch.setattr(StrictChecks, "_executed", noted)
    return found


class Slow(pl.MultiVertex):
    """Each worker counts on in an element, after a while."""

    x: pl.InOut[pl.Vector[pl.INT]]
    rounds: pl.Input[pl.INT]

    def compute(self, worker: int) -> None:
        for k in range(worker, len(self.x), self.num_workers):
            at = self.x[k]
            for i in range(self.rounds):
                at = (at * 5 + i) % 1_000_003
            self.x[k] = self.x[k] + 1 + min(at, 0)


def slow(turns: int) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (VERTICES, 4), "x", mapping="linear", initial_value=0)
    rounds = graph.add_variable(pl.INT, (), "rounds", mapping=0, initial_value=0)
    work = graph.add_compute_set("slow")
    for number in range(VERTICES):
        graph.add_vertex(work, Slow, tile=number // 8, x=x[number], rounds=rounds)
    program = pl.Repeat(turns, pl.Execute(work))
    engine = pl.Engine(graph, {"0": program, "once": pl.Execute(work)}, checks="strict")
    return engine, x, rounds


def test_an_execution_that_is_interrupted_in_a_look_is_undone() -> None:
    launches.pays_ns()  # Numba must not be interrupted while it is imported
    engine, x, rounds = slow(turns=300)
    engine.run("0")
    for again in range(3):
        engine.write(rounds, 2_000_000)
        timer = threading.Timer(0.2 + 0.1 * again, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            engine.run("0")
        timer.join()
        (turns,) = set(engine.read(x).ravel().tolist())  # all workers ran, or none
        engine.write(rounds, 0)
        engine.run("once")
        assert (engine.read(x) == turns + 1).all()


@pytest.mark.parametrize("rounds", [0, 400_000])
def test_a_look_that_takes_long_is_left_to_python(rounds: int, in_python: list[int]) -> None:
    turns = 2 * LOOKS_IN_PYTHON
    engine, x, number = slow(turns)
    engine.write(number, rounds)
    engine.run("0")
    assert (engine.read(x) == turns).all()
    report = engine.report()
    assert (report.steps, report.runs_again) == (turns, 0)
    assert len(in_python) == (turns if rounds else LOOKS_IN_PYTHON)


class Part(pl.MultiVertex):
    """Each worker writes an element."""

    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x + i


def test_what_is_undefined_in_each_turn_is_looked_at_without_python(in_python: list[int]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    parts = graph.add_variable(pl.FLOAT, (6,), "parts", mapping=0)
    work = graph.add_compute_set("parts")
    graph.add_vertex(work, Part, tile=0, x=x, y=parts)
    with graph.steps() as add:
        ops.map(ops.sum(parts) * 0.1, out=x)
    body = pl.Sequence(pl.WriteUndef(parts), pl.Execute(work), add)
    engine = pl.Engine(graph, pl.Repeat(40, body), checks="strict")
    fast = pl.Engine(graph, pl.Repeat(40, body), checks="fast")
    engine.run()
    fast.run()
    assert engine.read(x) == fast.read(x)
    assert engine.report().steps == fast.report().steps
    most = max(in_python.count(number) for number in set(in_python))
    assert most == LOOKS_IN_PYTHON


@pytest.mark.parametrize("columns", [slice(0, 3), slice(1, 4)])  # in place; gathered
@pytest.mark.parametrize("most", [4, 1_000])
def test_a_table_that_is_full_is_looked_at_no_more(
    columns: slice, most: int, monkeypatch: pytest.MonkeyPatch, in_python: list[int]
) -> None:
    monkeypatch.setattr(checks, "MOST_LOOKS", most)
    graph = pl.Graph(pl.Target(tiles=2))
    wide = graph.add_variable(pl.FLOAT, (60, columns.stop), "table", mapping="linear")
    table = wide[:, columns]
    row = graph.add_variable(pl.FLOAT, (1, 3), "row", mapping=0, initial_value=2)
    with graph.steps() as program, ops.repeat(60) as i:
        ops.dynamic_update(table, row, i, [0], [1])
    engine = pl.Engine(graph, program, checks="strict")
    engine.run()
    looks = len(in_python)
    assert looks < 20
    engine.run()
    engine.run()
    assert len(in_python) <= looks + 2
    assert engine.read(table).tolist() == [[2.0] * 3] * 60


class Grow(pl.Vertex):
    """Adds to its Output what it was, as long as that fits."""

    n: pl.InOut[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]
    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.n = self.n + 1
        for i in range(len(self.y)):
            self.y[i] = self.n
            if self.n == 30 and i == 1:
                self.y[i] = self.x[self.n]


def growing(body: Callable[[pl.Tensor, pl.Program], pl.Program]) -> tuple[pl.Engine, Any]:
    graph = pl.Graph(pl.Target(tiles=2))
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
    x, y = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "xy")
    work = graph.add_compute_set("grow")
    graph.add_vertex(work, Grow, tile=0, n=n, y=y, x=x)
    with graph.steps() as fill:
        ops.assign(x, 7)
    program = pl.Sequence(fill, pl.Repeat(100, body(y, pl.Execute(work))))
    return pl.Engine(graph, program, checks="strict"), (n, y)


@pytest.mark.parametrize("most", [8, 1_000])  # trusted before it faults, or not
@pytest.mark.parametrize("undefines", [False, True])
def test_a_fault_in_a_step_that_is_looked_at_is_raised_once(
    most: int, undefines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MOST_LOOKS", most)
    if undefines:
        engine, (n, y) = growing(lambda y, step: pl.Sequence(pl.WriteUndef(y), step))
    else:
        engine, (n, y) = growing(lambda y, step: step)
    for _ in range(2):
        with pytest.raises(pl.TensorIndexError, match="index 30 of 3"):
            engine.run()
        assert engine.read(n) == 29
        engine.write(n, 0)
    if undefines and most == 1_000:  # otherwise what it writes counts as written
        with pytest.warns(pl.UninitializedWarning, match="3 of 3"):
            engine.read(y)
    elif not undefines:
        assert engine.read(y).tolist() == [29] * 3


@pytest.mark.parametrize("turn", [1, 20])
def test_rows_that_were_written_remain_after_ctrl_c(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    table = graph.add_variable(pl.FLOAT, (30, 3), "table", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (1, 3), "row", mapping=0, initial_value=2)
    with graph.steps() as program, ops.repeat(30) as i:
        ops.dynamic_update(table, row, i, [0], [1])
    engine = pl.Engine(graph, program, checks="strict", interpret=True)
    run_vertices = vars(interpreted_vertices)["run_vertices"]
    turns = iter(range(turn + 1))

    def interrupted(group: Any, *arguments: Any, **options: Any) -> Any:
        returned = run_vertices(group, *arguments, **options)
        if group.cls.__name__.startswith("MultiUpdate") and next(turns, None) is None:
            raise KeyboardInterrupt
        return returned

    monkeypatch.setattr(interpreted_vertices, "run_vertices", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    with pytest.warns(pl.UninitializedWarning, match=f"{3 * (29 - turn)} of 90"):
        held = engine.read(table)
    assert held[: turn + 1].tolist() == [[2.0] * 3] * (turn + 1)
    assert not held[turn + 1 :].any()


def copies_before(kind: str) -> int:
    """Return the number of copies that save a table before an operation updates two rows."""
    graph = pl.Graph(pl.Target(tiles=2))
    table = graph.add_variable(pl.FLOAT, (30, 3), "table", mapping="linear")
    rows = graph.add_variable(pl.FLOAT, (2, 3), "rows", mapping=0, initial_value=2)
    index = graph.add_constant(pl.UNSIGNED_INT, (2,), [3, 4], mapping=0)
    with graph.steps() as program:
        getattr(ops, kind)(table, rows, index)
    executable = pl.compile_graph(graph, program, checks="strict")
    steps = [each for each in executable.steps if isinstance(each, ComputeStep)]
    (update,) = [each for each in steps if any(updates_rows(g.cls) for g in each.groups)]
    return len(update.save.records)


def test_a_table_is_not_saved_before_rows_are_copied_to_it() -> None:
    """In a loop over the rows, the time would grow with the square of their number."""
    assert copies_before("multi_update") == 0
    assert copies_before("multi_update_add") > 0  # it may trap


def test_a_table_is_as_before_when_rows_that_are_missing_are_copied() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (6,), "x", mapping=0, initial_value=range(6))
    s = graph.add_variable(pl.FLOAT, (3,), "s", mapping=0, initial_value=7)
    index = graph.add_constant(pl.UNSIGNED_INT, (2,), [0, 1], mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, MultiUpdate[pl.FLOAT], tile=0, x=x, s=s, index=index, first=0, width=2)
    engine = pl.Engine(graph, pl.Execute(work), checks="strict")
    with pytest.raises(pl.TensorIndexError, match="index 3 of 3"):
        engine.run()
    assert engine.read(x).tolist() == [0, 1, 2, 3, 4, 5]


class First(pl.Vertex):
    """Takes the first element, and is connected to more."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[0]


def test_unwritten_elements_that_are_only_read_keep_what_they_hold() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    work = graph.add_compute_set("first")
    graph.add_vertex(work, First, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Repeat(3, pl.Execute(work)), checks="strict")
    engine.write(x[:1], [5])
    engine.run()
    with pytest.warns(pl.UninitializedWarning):
        assert engine.read(x).tolist() == [5, 0, 0]


def test_a_step_that_leaves_elements_unwritten_is_looked_at_by_python_alone(
    in_python: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(Replay, "compile_look", lambda *args, **options: compiled.append(args))
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    work = graph.add_compute_set("first")
    graph.add_vertex(work, First, tile=0, x=x, y=y)
    engine = pl.Engine(graph, pl.Repeat(20, pl.Execute(work)), checks="strict")
    engine.write(x[:1], [5])
    engine.run()
    assert len(in_python) == 20
    assert not compiled  # it would refuse, and undo what it did, each time
    engine.write(x, [1, 2, 3])
    engine.run()
    assert len(in_python) == 21
    assert engine.read(y) == 1
