"""Counted vertices against their estimates, and where runs are left in the middle."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.counting import Long, interrupted
from helpers.running import simulated
from poplite.executable.executable import Checks
from poplite.report.execution import ExecutionStep
from poplite.vertex.compute import DataFlow


class Triangle(pl.Vertex):
    """Sums that get longer, of which lengths decide."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.HALF]]
    most: pl.State[pl.INT]
    scale: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.y)):
            total = 0.0
            for j in range(min(i, self.most)):
                if j % 3 != 1:
                    total += self.scale * self.x[j]
            self.y[i] = total


class Choose(pl.Vertex):
    """One of many constants for each number."""

    k: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            k = self.k[i]
            value = 0.5
            if k == 0:
                value = 1.0
            elif k == 1:
                value = 7.0
            elif k == 2:
                value = 3.5
            elif k == 3:
                value = 2.25
            elif k == 4:
                value = 9.0
            j = 0
            while j < k:
                j += 1
                value += 0.25
            self.y[i] = value


def total_of(engine: pl.Engine) -> ExecutionStep:
    """Return what the only step took that executes something."""
    (found,) = [total for total in simulated(engine).accounts.totals() if total.kind == "execute"]
    return found


@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_where_both_exist_the_count_is_the_estimate(
    checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def total(checks: Checks) -> ExecutionStep:
        graph = pl.Graph(pl.Target(tiles=3))
        work = graph.add_compute_set("work")
        for k, length in enumerate((1, 5, 12, 0, 30, 7)):
            x, y = (
                graph.add_variable(kind, (length,), name, mapping=k % 3, initial_value=1.5)
                for kind, name in ((pl.FLOAT, "x"), (pl.HALF, "y"))
            )
            graph.add_vertex(work, Triangle, tile=k % 3, x=x, y=y, most=9, scale=2.0)
        engine = pl.Engine(graph, pl.Repeat(3, pl.Execute(work)), checks=checks)
        engine.run()
        return total_of(engine)

    estimated = total("fast")
    monkeypatch.setattr(DataFlow, "may_depend_on_data", True)
    monkeypatch.setattr("poplite.simulator.pricing.is_data_dependent", lambda *_: True)
    counted = total(checks)
    assert (estimated.vertex_types[0].source, counted.vertex_types[0].source) == (
        "estimated",
        "counted",
    )
    assert counted.vertex_types[0].cycles == estimated.vertex_types[0].cycles
    assert counted.cycles == estimated.cycles


def test_chosen_constants_are_counted() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    numbers = np.arange(-1, 7, dtype=np.int32)
    k = graph.add_variable(pl.INT, (8,), "k", mapping=0, initial_value=numbers)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=0)
    work = graph.add_compute_set("choose")
    graph.add_vertex(work, Choose, tile=0, k=k, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    engine.run()
    assert total_of(engine).vertex_types[0].source == "counted"
    assert engine.read(y).tolist() == [0.5, 1.0, 7.25, 4.0, 3.0, 10.0, 1.75, 2.0]


def test_an_execution_that_was_done_when_the_run_was_left_is_counted() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=100_000_000)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    work = graph.add_compute_set("long")
    graph.add_vertex(work, Long, tile=0, n=n, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    # Python hears of it once the vertex has run, behind which the slice is over.
    with pytest.raises(KeyboardInterrupt), interrupted(0.01):
        engine.run()
    left = total_of(engine)
    assert left.executions == 1
    assert left.vertex_types[0].cycles > 100_000_000
    engine.write(n, 3)
    engine.run()
    assert total_of(engine).executions == 2
    assert 0 < total_of(engine).vertex_types[0].cycles - left.vertex_types[0].cycles < 3_000


def test_targets_count_by_their_own_prices() -> None:
    slots = []
    for price in (270, 500, 270):
        target = pl.Target(tiles=1, costs={"slot_integer_divide": price})
        graph = pl.Graph(target)
        n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=10)
        y = graph.add_variable(pl.INT, (), "y", mapping=0)
        work = graph.add_compute_set("long")
        graph.add_vertex(work, Long, tile=0, n=n, y=y)
        engine = pl.Engine(graph, pl.Execute(work))
        engine.run()
        slots.append(total_of(engine).vertex_types[0].cycles)
    assert slots[0] == slots[2] < slots[1]
