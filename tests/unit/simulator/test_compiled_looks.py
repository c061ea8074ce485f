"""Looks of strict checks that compiled code does in place of Python, in loops."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.simulator.run import interpreted_vertices, launches
from poplite.simulator.strict import checks
from poplite.simulator.strict.checks import LOOKS_IN_PYTHON, StrictChecks
from poplite.simulator.strict.replay import Replay

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
