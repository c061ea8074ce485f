"""Vertices of which data decide what they take: counted while they run, the same in all forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.running import simulated
from helpers.vertices import Sort
from poplite.executable.executable import Checks
from poplite.report.execution import ExecutionStep
from poplite.simulator.accounts import Accounts
from poplite.simulator.codegen.compute_code import MOST_COUNTED
from poplite.simulator.pricing.class_slots import slots_of
from poplite.vertex.vertex import Vertex


class Collatz(pl.MultiVertex):
    """How many steps each number takes to reach one."""

    numbers: pl.Input[pl.Vector[pl.INT]]
    steps: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.steps), self.num_workers):
            number = self.numbers[i]
            steps = 0
            while number > 1:
                number = number // 2 if number % 2 == 0 else 3 * number + 1
                steps += 1
            self.steps[i] = steps


class Find(pl.Vertex):
    """Where a number stands; raises an exception for none."""

    x: pl.Input[pl.Vector[pl.INT]]
    wanted: pl.State[pl.INT]
    at: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        while self.x[i] != self.wanted:
            i += 1
            if i == len(self.x):
                raise ValueError("not there")
        self.at = i


def total_of(engine: pl.Engine, row: int = 0) -> ExecutionStep:
    """Return what the first step took that executes something."""
    accounts: Accounts = simulated(engine).accounts
    return [total for total in accounts.totals() if total.kind == "execute"][row]


def sorting(
    values: npt.NDArray[np.float32], replicas: int = 1
) -> tuple[pl.Graph, pl.ComputeSet, pl.Tensor]:
    target = pl.Target(tiles=4 * replicas, ipus=replicas)
    graph = pl.Graph(target, replication_factor=replicas)
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    work = graph.add_compute_set("sort")
    tiles = np.arange(len(values)) % 4
    graph.add_vertices(work, Sort, tile=tiles, x=x)
    return graph, work, x


def slots_of_sorting(values: npt.ArrayLike, **options: object) -> int:
    graph, work, _ = sorting(np.array(values, np.float32))
    engine = pl.Engine(graph, pl.Execute(work), **options)  # type: ignore[arg-type]
    engine.run()
    (found,) = total_of(engine).vertex_types
    assert found.source == "counted"
    return found.cycles


def test_each_exchange_of_neighbours_costs_the_same() -> None:
    order = [[1, 2, 3, 4, 5], [1, 2, 3, 5, 4], [1, 2, 5, 3, 4], [1, 5, 4, 3, 2]]
    slots = [slots_of_sorting([row], checks="fast") for row in order]
    one = slots[1] - slots[0]
    assert 5 <= one <= 20
    # Rounded once for each vertex.
    assert slots[2] - slots[0] == pytest.approx(2 * one, abs=3)
    assert slots[3] - slots[0] == pytest.approx(6 * one, abs=6)


def test_on_zeros_the_count_is_the_guess() -> None:
    zeros = np.zeros((3, 9), np.float32)
    graph, work, _ = sorting(zeros)
    (guess,) = slots_of(Sort, np.array([[9]]), graph.target).slots
    assert slots_of_sorting(zeros) == 3 * guess


@pytest.mark.parametrize("vertices", [3, 20_000])  # the latter are shared by threads, if any
def test_checks_and_repeats_change_no_count(vertices: int) -> None:
    values = np.random.default_rng(vertices).standard_normal((vertices, 12)).astype(np.float32)
    found = []
    runs: tuple[Checks, ...] = ("fast", "strict", "fast")
    for checks in runs:
        graph, work, x = sorting(values)
        engine = pl.Engine(graph, pl.Execute(work), checks=checks)
        engine.run()
        engine.load()
        engine.run()
        found.append(total_of(engine))
        assert np.array_equal(engine.read(x), np.sort(values))
    first = found[0]
    assert first.executions == 2
    for other in found[1:]:
        assert (other.cycles, other.vertex_types) == (first.cycles, first.vertex_types)
        assert [p.cycles for p in other.phases] == [p.cycles for p in first.phases]
        for mine, its in zip(first.phases, other.phases, strict=True):
            assert np.array_equal(mine.tile_cycles.array(), its.tile_cycles.array())


def test_the_sorted_take_less_the_second_time() -> None:
    values = np.arange(40, dtype=np.float32)[::-1].reshape(1, 40)
    graph, work, _ = sorting(values)
    once, twice = (pl.Engine(graph, pl.Execute(work)) for _ in range(2))
    once.run()
    twice.run()
    twice.run()
    first, both = total_of(once).cycles, total_of(twice).cycles
    assert first < both < 1.3 * first


def test_each_place_of_a_program_has_its_own_count() -> None:
    values = np.arange(40, dtype=np.float32)[::-1].reshape(1, 40)
    graph, work, _ = sorting(values)
    engine = pl.Engine(graph, pl.Sequence(pl.Execute(work), pl.Repeat(3, pl.Execute(work))))
    engine.run()
    reverse, ordered = total_of(engine, 0), total_of(engine, 1)
    assert (reverse.executions, ordered.executions) == (1, 3)
    assert reverse.cycles > ordered.cycles
    assert ordered.cycles % 3 == 0  # three times the same
    assert simulated(engine).accounts.cycles() == reverse.cycles + ordered.cycles


def test_the_tile_that_takes_longest_decides() -> None:
    values = np.tile(np.arange(10, dtype=np.float32), (4, 1))
    values[2] = values[2, ::-1]
    graph, work, _ = sorting(values)
    engine = pl.Engine(graph, pl.Execute(work))
    engine.run()
    (compute,) = [phase for phase in total_of(engine).phases if phase.kind == "compute"]
    tiles = compute.tile_cycles.array()
    assert compute.cycles == tiles[2] > tiles[0] == tiles[1] == tiles[3]
    assert compute.cycles % 6 == 0


@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_workers_of_a_multivertex_are_counted(checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    numbers = np.full(12, 1, np.int32)
    x = graph.add_variable(pl.INT, (12,), "x", mapping=0, initial_value=numbers)
    y = graph.add_variable(pl.INT, (12,), "y", mapping=0)
    work = graph.add_compute_set("collatz")
    graph.add_vertex(work, Collatz, tile=0, numbers=x, steps=y)
    engine = pl.Engine(graph, pl.Execute(work), checks=checks)
    taken = []
    for last in (1, 7, 27):  # of one worker: 0, 16 and 111 steps
        numbers[5] = last
        engine.write(x, numbers)
        before = total_of(engine).vertex_types[0].cycles
        engine.run()
        taken.append(total_of(engine).vertex_types[0].cycles - before)
    assert engine.read(y)[5] == 111
    overhead = int(graph.target.cost("supervisor_overhead"))
    assert all((each - overhead) % 6 == 0 for each in taken)
    assert (taken[2] - taken[0]) / (taken[1] - taken[0]) == pytest.approx(111 / 16, rel=0.1)


def test_vertices_that_may_raise_are_counted_and_raise() -> None:
    def found(wanted: int, checks: Checks) -> pl.Engine:
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.INT, (50,), "x", mapping=0, initial_value=np.arange(50))
        y = graph.add_variable(pl.INT, (), "y", mapping=0)
        work = graph.add_compute_set("find")
        graph.add_vertex(work, Find, tile=0, x=x, wanted=wanted, at=y)
        engine = pl.Engine(graph, pl.Execute(work), checks=checks)
        engine.run()
        assert engine.read(y) == wanted
        return engine

    near, far = (total_of(found(wanted, "fast")).vertex_types[0] for wanted in (3, 33))
    assert far.source == "counted"
    assert far == total_of(found(33, "strict")).vertex_types[0]
    each = (far.cycles - near.cycles) / 30
    assert 3 <= each <= 10
    with pytest.raises(pl.ApplicationRuntimeError, match="not there"):
        found(77, "strict")


def test_an_index_out_of_range_is_found_as_ever() -> None:
    class Beyond(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            i = 0
            while self.x[i] < 100:
                self.x[i] += 1
                i += 1

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (5,), "x", mapping=0, initial_value=np.zeros(5, np.int32))
    work = graph.add_compute_set("beyond")
    graph.add_vertex(work, Beyond, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(work), checks="strict")
    with pytest.raises(pl.TensorIndexError, match="5"):
        engine.run()
    assert engine.read(x).tolist() == [0] * 5


def test_replicas_count_apart_and_the_slowest_decides() -> None:
    values = np.arange(10, dtype=np.float32).reshape(1, 10)
    graph, work, x = sorting(values, replicas=2)
    engine = pl.Engine(graph, pl.Execute(work))
    taken = []
    for reverse in ([], [0], [1], [0, 1]):
        for replica in (0, 1):
            own = values[:, ::-1] if replica in reverse else values
            engine.write(x, own, replica=replica)
        before = total_of(engine).cycles
        engine.run()
        taken.append(total_of(engine).cycles - before)
    assert taken[0] < taken[1] == taken[2] == taken[3]


def test_a_saved_executable_counts_alike(tmp_path: Path) -> None:
    values = np.random.default_rng(4).standard_normal((5, 9)).astype(np.float32)
    graph, work, _ = sorting(values)
    executable = pl.compile_graph(graph, pl.Execute(work))
    executable.save(tmp_path / "sort.poplite")
    loaded = pl.Executable.load(tmp_path / "sort.poplite", [Sort])
    engines = [pl.Engine(executable), pl.Engine(loaded)]
    for engine in engines:
        engine.run()
    mine, its = map(total_of, engines)
    assert mine.vertex_types == its.vertex_types
    assert mine.cycles == its.cycles


def test_given_estimates_win() -> None:
    graph, work, _ = sorting(np.ones((2, 5), np.float32))
    block = work.vertices[0].block
    assert block is not None
    graph.set_perf_estimate(block, 1234)
    engine = pl.Engine(graph, pl.Execute(work))
    engine.run()
    (found,) = total_of(engine).vertex_types
    assert (found.source, found.cycles) == ("given", 2468)


def test_nothing_is_counted_without_accounts() -> None:
    graph, work, _ = sorting(np.ones((2, 5), np.float32))
    rows = [
        len(pl.compile_graph(graph, pl.Execute(work), options=options).programs["0"].ops)
        for options in ({}, {"debug.instrument": False})
    ]
    assert rows[0] == rows[1] + 2


# -- vertices that take very long, or would never end: counted as far as promised, in all forms ----


SLOTS_OF_ONE = 549
"""What an iteration of `Dear` takes: nearly all of it is a division of 64 bits."""


class Dear(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    n: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        k = 7
        for i in range(self.n):
            if self.x[i & 1] > 0:
                k = k // (i + 3) + 5
        self.y = k


class DearWorkers(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    n: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        k = 7
        if worker == 1:
            for i in range(self.n):
                if self.x[i & 1] > 0:
                    k = k // (i + 3) + 5
        self.y[worker] = k


class Waits(pl.Vertex):
    """Goes on for ever where `go` is 0, which LLVM sees."""

    go: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        while self.go == 0:
            pass
        self.y = 1


class WaitsInside(pl.Vertex):
    """The same in loops within each other."""

    go: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = 1
        while True:
            if self.go == 1:
                break
            while self.go == 2:
                while self.go == 2:
                    pass


def only(vertex: type[Vertex], checks: Any, **values: Any) -> pl.Engine:
    """Return an engine with one vertex; `values` are initial values of INT."""
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {
        name: graph.add_variable(
            pl.INT,
            (len(value),) if isinstance(value, list) else (),
            mapping="linear",
            initial_value=value,
        )
        for name, value in values.items()
    }
    step = graph.add_compute_set("step")
    graph.add_vertex(step, vertex, tile=0, **fields)
    return pl.Engine(graph, pl.Execute(step), checks=checks)


def taken(vertex: type[Vertex], checks: Any, **values: Any) -> tuple[int | None, int, str]:
    """Return all cycles, what the only vertex took, and who says so."""
    engine = only(vertex, checks, **values)
    engine.run()
    return engine.report().cycles, *of_type(engine)


def of_type(engine: pl.Engine) -> tuple[int, str]:
    """Return what the only vertex took, and who says so; 0 before it ran."""
    found = [each for total in simulated(engine).accounts.totals() for each in total.vertex_types]
    return sum(each.cycles for each in found), found[0].source


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_vertex_of_more_than_2_27_slots_is_counted_to_its_end(checks: str) -> None:
    n = 300_000
    slots = 12 + SLOTS_OF_ONE * n
    assert slots > 1 << 27
    found = taken(Dear, checks, x=[1, 1], n=n, y=0)
    assert found == (6 * slots, slots, "counted")


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_beyond_the_most_that_is_counted_it_is_a_guess(checks: str) -> None:
    n = 1 + MOST_COUNTED // SLOTS_OF_ONE
    found = taken(Dear, checks, x=[1, 1], n=n, y=0)
    assert found == (6 * MOST_COUNTED, MOST_COUNTED, "guessed")


def test_the_most_of_a_worker_is_the_same_in_all_forms() -> None:
    n = 1 + MOST_COUNTED // SLOTS_OF_ONE
    strict, fast = (
        taken(DearWorkers, checks, x=[1, 1], n=n, y=[0] * 6) for checks in ("strict", "fast")
    )
    assert strict == fast
    assert strict[1:] == (MOST_COUNTED * 6 + 11, "guessed")


def test_only_the_class_that_takes_more_is_a_guess() -> None:
    """Others of the compute set were counted; each execution is looked at for each class."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (2,), mapping=0, initial_value=1)
    n = graph.add_variable(pl.INT, (2,), mapping=0, initial_value=[1, 1])
    y = graph.add_variable(pl.INT, (2,), mapping=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, Dear, tile=0, x=x, n=n[0], y=y[0])
    graph.add_vertex(step, Waits, tile=1, go=n[1], y=y[1])
    engine = pl.Engine(graph, pl.Execute(step), checks="fast")
    sources = []
    for rounds in (1, 1 + MOST_COUNTED // SLOTS_OF_ONE, 1):
        engine.write(n[0], rounds)
        engine.run()
        (found,) = engine.report().places
        sources.append({each.name: each.source for each in found.vertex_types})
    counted, guessed = {"Dear": "counted"}, {"Dear": "guessed"}
    others = {"Waits": "counted"}
    assert sources == [counted | others, guessed | others, guessed | others]
    (finding,) = [each for each in engine.report().insights.findings if each.kind == "guessed"]
    assert finding.names == ("Dear",)


@pytest.mark.parametrize("checks", ["strict", "fast"])
@pytest.mark.parametrize(("vertex", "slots"), [(Waits, 12), (WaitsInside, 25)])
def test_a_loop_that_would_never_end_has_a_price_where_it_does_not_run(
    vertex: type[Vertex], slots: int, checks: str
) -> None:
    assert taken(vertex, checks, go=1, y=0) == (6 * slots, slots, "counted")


def test_the_price_of_what_would_never_end_is_a_guess() -> None:
    priced = slots_of(Waits, np.zeros((1, 0), np.int64), pl.Target())
    assert (priced.slots.tolist(), priced.source) == ([1 << 27], "guessed")
