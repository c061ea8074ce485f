"""Accounts: how often steps ran, what they cost, what cycle counters read of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import simulated
from poplite.compile.compiler import compile_graph
from poplite.cost.step_cost import PhaseCost, StepCost
from poplite.executable.executable import Executable
from poplite.executable.parts import Stamp
from poplite.report.per_tile import PerTile
from poplite.viz import graph_text, program_text


class Bench:
    """A graph with a Copy to measure; the same in all forms."""

    def __init__(self, *, ipus: int = 1) -> None:
        target = pl.Target(tiles=4 * ipus, ipus=ipus)
        self.graph = pl.Graph(target, replication_factor=ipus)
        a, b, self.n = (
            self.graph.add_variable(pl.INT, (8,), name, mapping=tile, initial_value=1)
            for tile, name in enumerate("abn")
        )
        self.copy = pl.Copy(a, b)

    @property
    def stamp(self) -> int:
        """Cycles that reading the counter takes."""
        return int(self.graph.target.cost("cycle_stamp_cycles"))

    def cycles(self, program: pl.Program) -> int:
        """Return what a program takes by itself."""
        engine = pl.Engine(self.graph, program)
        engine.run()
        found = engine.report().cycles
        assert found is not None
        return found


def counted(engine: pl.Engine, tensor: pl.Tensor) -> int:
    """Return a counter that was stored, of the only replica."""
    low, high = engine.read(tensor).tolist()
    return int(low + (high << 32))


FORMS = [
    pytest.param({"interpret": interpret, "checks": checks}, id=f"{checks}-{form}")
    for interpret, form in ((False, "compiled"), (True, "interpreted"))
    for checks in ("strict", "fast")
]
forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_a_count_is_what_the_sequence_takes(form: dict[str, Any]) -> None:
    bench = Bench()
    taken = bench.cycles(bench.copy)
    assert taken > 100  # an exchange
    sequence = pl.Sequence(pl.Repeat(3, bench.copy))
    cycles = pl.cycle_count(bench.graph, sequence, 2)
    engine = pl.Engine(bench.graph, pl.Repeat(2, sequence), **form)
    engine.run()
    assert counted(engine, cycles) == 3 * taken + bench.stamp
    assert engine.report().cycles == 2 * (3 * taken + 2 * bench.stamp)
    engine.run()
    assert counted(engine, cycles) == 3 * taken + bench.stamp  # not what came before


@forms
def test_stamps_in_functions_and_branches(form: dict[str, Any]) -> None:
    bench = Bench()
    taken = bench.cycles(bench.copy)
    body = pl.Sequence(bench.copy)
    inside = pl.cycle_stamp(bench.graph, body, 3, pl.SyncType.GLOBAL, "inside")
    function = bench.graph.add_function(body)
    program = pl.Sequence()
    before = pl.cycle_stamp(bench.graph, program, name="before")
    program.add(pl.If(bench.n[0], pl.Call(function), pl.Sequence())).add(pl.Call(function))
    after = pl.cycle_stamp(bench.graph, program, name="after")
    engine = pl.Engine(bench.graph, program, **form)
    engine.run()
    assert counted(engine, before) == bench.stamp
    assert counted(engine, inside) == bench.stamp + 2 * (taken + bench.stamp)
    assert counted(engine, after) == counted(engine, inside) + bench.stamp
    assert counted(engine, after) == engine.report().cycles
    engine.run()  # the counter goes on
    assert counted(engine, before) == 4 * bench.stamp + 2 * taken + bench.stamp


def test_two_stamps_in_a_row_differ_as_on_hardware() -> None:
    bench, program = Bench(), pl.Sequence()
    first, second = (pl.cycle_stamp(bench.graph, program) for _ in range(2))
    engine = pl.Engine(bench.graph, program)
    engine.run()
    assert 30 <= counted(engine, second) - counted(engine, first) <= 150


def test_counts_beyond_32_bits() -> None:
    target = pl.Target(tiles=4, costs={"sync_cycles": 10**8})
    graph = pl.Graph(target)
    a = graph.add_variable(pl.INT, (8,), "a", mapping=0, initial_value=1)
    b = graph.add_variable(pl.INT, (8,), "b", mapping=1)
    sequence = pl.Sequence(pl.Repeat(100, pl.Copy(a, b)))
    cycles = pl.cycle_count(graph, sequence)
    engine = pl.Engine(graph, sequence)
    engine.run()
    assert engine.read(cycles)[1] > 0
    total = engine.report().cycles
    assert total is not None
    assert counted(engine, cycles) == total - int(target.cost("cycle_stamp_cycles"))


def test_each_replica_gets_the_count() -> None:
    bench = Bench(ipus=2)
    sequence = pl.Sequence(bench.copy)
    cycles = pl.cycle_count(bench.graph, sequence)
    engine = pl.Engine(bench.graph, sequence)
    engine.run()
    taken = bench.cycles(bench.copy) + bench.stamp
    assert engine.read(cycles).tolist() == [[taken, 0], [taken, 0]]


def test_virtual_graphs_number_their_tiles() -> None:
    bench, sequence = Bench(), pl.Sequence()
    virtual = bench.graph.create_virtual_graph([3, 1])
    cycles = pl.cycle_stamp(virtual, sequence, 0)
    assert bench.graph.tile_mapping(cycles).tiles.tolist() == [3]
    engine = pl.Engine(bench.graph, sequence)
    engine.run()
    (step,) = engine.report().execution.steps
    assert step.tile_cycles.tolist() == [0, 0, 0, bench.stamp]


def test_counters_are_kept_in_files(tmp_path: Path) -> None:
    bench = Bench()
    sequence = pl.Sequence(bench.copy)
    cycles = pl.cycle_count(bench.graph, sequence)
    bench.graph.create_host_read("cycles", cycles)
    engine = pl.Engine(bench.graph, sequence)
    engine.run()
    engine.executable.save(tmp_path / "count.poplite")
    again = pl.Engine(pl.Executable.load(tmp_path / "count.poplite"))
    again.run()
    assert again.read("cycles").tolist() == engine.read(cycles).tolist()


@pytest.mark.parametrize(
    ("change", "found"),
    [({"shape": (5,)}, "UNSIGNED_INT[5]"), ({"element_type": pl.INT}, "INT[2]")],
)
def test_files_whose_counters_cannot_be_held_are_refused(
    change: dict[str, Any], found: str, tmp_path: Path
) -> None:
    bench, sequence = Bench(), pl.Sequence()
    pl.cycle_stamp(bench.graph, sequence)
    executable = pl.compile_graph(bench.graph, sequence)
    (stamp,) = executable.actions
    assert isinstance(stamp, Stamp)
    other = replace(stamp, tensor=replace(stamp.tensor, **change))
    replace(executable, actions=(other,)).save(tmp_path / "bad.poplite")
    with pytest.raises(pl.FileLoadError, match=re.escape(f"is {found}, which cannot store")):
        pl.Executable.load(tmp_path / "bad.poplite")


def test_counters_are_drawn() -> None:
    bench = Bench()
    sequence = pl.Sequence(bench.copy)
    pl.cycle_count(bench.graph, sequence, name="taken")
    text = program_text(sequence)
    assert "CycleStamp 'taken/begin'" in text
    assert "CycleStamp 'taken'" in text
    assert "taken" in graph_text(bench.graph, sequence)


# -- faults ----------------------------------------------------------------------------------------


def test_counters_need_the_model() -> None:
    bench, sequence = Bench(), pl.Sequence()
    pl.cycle_stamp(bench.graph, sequence)
    with pytest.raises(
        pl.ControlProgramError, match=r"'cycle_stamp': cycles are not modelled(.|\n)*instrument"
    ):
        pl.Engine(bench.graph, sequence, options={"debug.instrument": False})


def test_wrong_arguments() -> None:
    bench = Bench()
    with pytest.raises(pl.ControlProgramError, match="cycle_count: 3 is not a graph"):
        pl.cycle_count(3, pl.Sequence())  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="cycle_stamp: <Copy .* is not a sequence"):
        pl.cycle_stamp(bench.graph, bench.copy)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="cycle_count: 'internal' is not in SyncType"):
        pl.cycle_count(bench.graph, pl.Sequence(), 0, "internal")
    with pytest.raises(pl.InvalidTileMapping, match="tile 4, but the graph has 4 tiles"):
        pl.cycle_count(bench.graph, pl.Sequence(), 4)
    used = pl.Sequence()
    pl.Sequence(used)
    with pytest.raises(pl.ControlProgramError, match="program 0 cannot be added to a program"):
        pl.cycle_count(bench.graph, used)


# -- accounts: how often steps ran, times what they cost -------------------------------------------


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
