"""Accounts: how often steps ran, times what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import poplite as pl
from helpers.running import simulated
from poplite.compile.compiler import compile_graph
from poplite.cost.step_cost import PhaseCost, StepCost
from poplite.executable.executable import Executable
from poplite.report.per_tile import PerTile


def spread(*numbers: int) -> PerTile:
    """Return a number for each tile."""
    return PerTile.of(np.array(numbers, np.int64))


COPY = StepCost(
    before=(
        PhaseCost("copy", spread(40, 0, 10), copied=spread(320, 0, 80)),
        PhaseCost("exchange", spread(30, 70, 0), 90, spread(0, 280, 0), spread(120, 0, 160)),
        PhaseCost("copy", spread(5, 50, 60), copied=spread(8, 8, 8)),
    )
)
"""40, then a wait of 90, then the slowest of 35, 120 and 60."""

BACK = StepCost(before=(PhaseCost("exchange", spread(7), 3),))


def priced(program: str = "main", *, interpret: bool = False) -> pl.Engine:
    """Return an engine of two Copies with costs by hand: three times there, once back."""
    graph = pl.Graph(pl.Target(tiles=3))
    a, b = (graph.add_variable("int32", (3,), name, mapping="linear") for name in "ab")
    graph.create_host_write("a", a)
    there, back = pl.Copy(a, b), pl.Copy(b, a)
    programs = {"main": pl.Sequence(pl.Repeat(3, there), back), "only": there}
    executable: Executable = compile_graph(graph, programs, interpret=interpret)
    made = replace(executable, costs=(COPY, BACK))
    engine = pl.Engine(made, interpret=interpret)
    engine.write("a", [1, 2, 3])
    engine.run(program)
    return engine


@pytest.mark.parametrize("interpret", [False, True])
def test_cycles_are_costs_times_executions(interpret: bool) -> None:
    assert simulated(priced(interpret=interpret)).accounts.cycles() == 3 * (40 + 90 + 120) + 10


def test_each_row_is_told_apart_by_program() -> None:
    totals = simulated(priced("only")).accounts.totals()
    told = [(t.program_name, t.name, t.kind, t.executions, t.cycles) for t in totals]
    assert told == [
        ("main", "a to b", "copy", 0, 0),
        ("main", "b to a", "copy", 0, 0),
        ("only", "a to b", "copy", 1, 250),
    ]


def test_phases_are_summed_over_executions() -> None:
    there, _, _ = simulated(priced()).accounts.totals()
    assert [(p.kind, p.cycles, p.sync) for p in there.phases] == [
        ("copy", 120, 0),
        ("exchange", 210, 270),
        ("copy", 180, 0),
    ]
    first, exchange, _ = there.phases
    assert first.copied.array().tolist() == [960, 0, 240]
    assert exchange.received.array().tolist() == [0, 840, 0]
    assert exchange.sent.array().tolist() == [360, 0, 480]
    assert exchange.tile_cycles.array().tolist() == [90, 210, 0]


def test_nothing_ran_nothing_was_taken() -> None:
    engine = priced("only")
    total = simulated(engine).accounts.totals()[0]
    assert total.executions == 0
    assert total.phases[0].tile_cycles.num_used == 0
