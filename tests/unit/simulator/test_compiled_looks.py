"""Looks that compiled code does in place of Python: they are begun, cut and undone as those."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import poplite as pl
from helpers.running import simulated
from poplite import ops
from poplite.executable import opcodes as op
from poplite.simulator.compiled_program import CompiledProgram
from poplite.simulator.run import threads
from poplite.simulator.strict import checks, kernel_forms


@pytest.fixture(autouse=True)
def _compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_forms, "CALLS_IN_NUMPY", 1)


VERTICES = 16


class Slow(pl.Vertex):
    """Counts on in its first element, after a while; its last element is not used."""

    x: pl.InOut[pl.Vector[pl.INT]]
    rounds: pl.Input[pl.INT]

    def compute(self) -> None:
        at = self.x[0]
        for i in range(self.rounds):
            at = (at * 5 + i) % 1_000_003
        self.x[0] = self.x[0] + 1 + min(at, 0)


def looks(engine: pl.Engine, program: str = "0") -> int:
    """How many rows of a program compiled code looks at."""
    found = simulated(engine).runs.programs[program]
    assert isinstance(found, CompiledProgram)
    return int(np.count_nonzero(found._ops[:, 0] == op.LOOK))


def slow(turns: int) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (VERTICES, 2), "x", mapping="linear")
    rounds = graph.add_variable(pl.INT, (), "rounds", mapping=0, initial_value=0)
    work = graph.add_compute_set("slow")
    for number in range(VERTICES):
        graph.add_vertex(work, Slow, tile=number // 8, x=x[number], rounds=rounds)
    program = pl.Repeat(turns, pl.Execute(work))
    engine = pl.Engine(graph, {"0": program, "once": pl.Execute(work)}, checks="strict")
    engine.write(x[:, 0], 0)
    return engine, x[:, 0], rounds


def test_an_execution_that_is_interrupted_in_a_look_is_undone() -> None:
    threads.pays_ns()  # Numba must not be interrupted while it is imported
    engine, x, rounds = slow(turns=300)
    engine.run("0")
    assert looks(engine) == 1
    for again in range(3):
        engine.write(rounds, 2_000_000)
        timer = threading.Timer(0.2 + 0.1 * again, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            engine.run("0")
        timer.join()
        (turns,) = set(engine.read(x).tolist())  # all vertices ran, or none
        engine.write(rounds, 0)
        engine.run("once")
        assert engine.read(x).tolist() == [turns + 1] * VERTICES


@pytest.mark.parametrize("turns", [1, 3, 30])
def test_a_look_counts_what_python_counts(turns: int) -> None:
    engine, x, _ = slow(turns)
    engine.run("0")
    assert looks(engine) == 1
    assert engine.read(x).tolist() == [turns] * VERTICES
    report = engine.report()
    assert (report.steps, report.runs_again) == (turns, 2 * turns)


class Part(pl.MultiVertex):
    """Each worker writes an element."""

    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x + i


def test_what_is_undefined_in_each_turn_is_looked_at_without_python() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    parts = graph.add_variable(pl.FLOAT, (6,), "parts", mapping=0)
    work = graph.add_compute_set("parts")
    graph.add_vertex(work, Part, tile=0, x=x, y=parts)
    with graph.steps() as add:
        ops.map(ops.sum(parts) * 0.1, out=x)
    body = pl.Sequence(pl.WriteUndef(parts), pl.Execute(work), add)
    engine = pl.Engine(graph, pl.Repeat(20, body), checks="strict")
    fast = pl.Engine(graph, pl.Repeat(20, body), checks="fast")
    engine.run()
    fast.run()
    assert engine.read(x) == fast.read(x)
    assert looks(engine) >= 3
    assert engine.report().steps == fast.report().steps


@pytest.mark.parametrize("most", [4, 1_000])
def test_a_table_that_is_full_is_looked_at_no_more(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MOST_LOOKS", most)
    graph = pl.Graph(pl.Target(tiles=2))
    table = graph.add_variable(pl.FLOAT, (12, 3), "table", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (1, 3), "row", mapping=0, initial_value=2)
    with graph.steps() as program, ops.repeat(12) as i:
        ops.dynamic_update(table, row, i, [0], [1])
    engine = pl.Engine(graph, program, checks="strict")
    engine.run()
    assert looks(engine) == 1
    engine.run()
    assert looks(engine) == 0
    assert engine.read(table).tolist() == [[2.0] * 3] * 12
