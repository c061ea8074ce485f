"""Vertices that take very long, or would never end: counted as far as promised, in all forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import simulated
from poplite.simulator.codegen.compute_code import MOST_COUNTED
from poplite.simulator.pricing import slots_of
from poplite.vertex.vertex import Vertex

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
