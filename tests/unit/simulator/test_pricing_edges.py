"""Automatic estimates of code that is written seldom: they end, and leave nothing out."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.simulator.pricing import is_data_dependent, slots_of
from poplite.vertex.compute import flow_of

MK2 = pl.Target()
MOST = 1 << 27


class Misses(pl.Vertex):
    """Ends for even numbers only."""

    n: pl.State[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        steps = 0
        while i != self.n:
            i += 2
            steps += 1
        self.y = steps


class MissesLength(pl.Vertex):
    """The same, and its hardware loop would be free."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        while i != len(self.x):
            i += 2
        self.y = i


class Often(pl.Vertex):
    """Runs longer than anybody waits, where all data are zero."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        count = 0
        for i in range(2_000_000_000 - self.x[0]):
            for j in range(2_000_000_000 - self.x[1]):
                if self.x[2] == 7 + i * j:
                    count += 1
                    break
        self.y = count


class All(pl.Vertex):
    """Only returns something."""

    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):  # noqa: SIM110  (compiled: there are no generators)
            if self.x[i] < 0:
                return False
        return True


class Refuses(pl.Vertex):
    """Does nothing but raise exceptions."""

    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.x[i] < 0:
                raise ValueError("less than none")


class Quotients(pl.Vertex):
    """Divides by data."""

    a: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.a[i] // self.b[i]


class Remainders(pl.Vertex):
    """The remainders of floats, and numbers that stop at zero."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.UNSIGNED_INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.a[i] % 2.5 + float(max(self.b[i], 7) - 7)


class Between(pl.Vertex):
    """Compares three values."""

    a: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 0 < self.a[i] < self.a[i + 1]


@deep
def test_loops_that_miss_their_bound_are_left() -> None:
    priced = slots_of(Misses, np.array([[8], [-3]]), MK2)
    assert (priced.source, priced.formula) == ("guessed", None)
    assert priced.slots[0] < 30
    assert priced.slots[1] == MOST
    assert slots_of(Misses, np.array([[8]]), MK2).source == "estimated"


@deep
def test_loops_of_nothing_are_left_as_well() -> None:
    taken = slots_of(MissesLength, np.array([[8], [7]]), MK2).slots.tolist()
    assert taken[0] < 30
    assert taken[1] == MOST


def test_what_takes_too_long_on_zeros_is_left() -> None:
    assert slots_of(Often, np.array([[5]]), MK2).slots.tolist() == [MOST]


@pytest.mark.parametrize("cls", [All, Refuses])
def test_what_only_decides_how_it_ends_is_priced(cls: type[pl.Vertex]) -> None:
    assert is_data_dependent(cls, MK2)
    short, long = slots_of(cls, np.array([[10], [110]]), MK2).slots.tolist()
    assert 200 < long - short < 1200


def test_zeros_are_divided_by_like_other_numbers() -> None:
    assert not is_data_dependent(Quotients, MK2)
    short, long = slots_of(Quotients, np.array([[9, 9, 10], [9, 9, 20]]), MK2).slots.tolist()
    divide = int(MK2.cost("slot_integer_divide"))
    assert 10 * divide < long - short < 20 * divide + 200


def test_remainders_and_saturating_numbers_have_prices() -> None:
    short, long = slots_of(Remainders, np.array([[9, 9, 10], [9, 9, 20]]), MK2).slots.tolist()
    assert long - short > 10 * MK2.cost("slot_integer_divide")


def test_comparisons_of_three_values_may_hang_on_data() -> None:
    assert is_data_dependent(Between, MK2)
    assert flow_of(Between).may_depend_on_data


class NamedLikeOurs(pl.Vertex):
    """Fields with words that the counting function may have for itself; data decide its steps."""

    taken: pl.Input[pl.Vector[pl.INT]]
    nowhere: pl.Input[pl.Vector[pl.INT]]
    arena: pl.Input[pl.Vector[pl.INT]]
    budget: pl.State[pl.INT]
    entry: pl.State[pl.INT]
    copy: pl.InOut[pl.Vector[pl.INT]]
    over: pl.Output[pl.INT]

    def compute(self) -> None:
        total = self.budget + self.entry
        while total < self.taken[0]:
            total += 1 + self.nowhere[total % len(self.nowhere)] + self.arena[0]
            self.copy[0] += 1
        self.over = total


def test_fields_may_have_any_names() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    names = ("taken", "nowhere", "arena", "copy")
    fields = {n: graph.add_variable(pl.INT, (3,), n, mapping=0, initial_value=9) for n in names}
    over = graph.add_variable(pl.INT, (), "over", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, NamedLikeOurs, tile=0, budget=1, entry=2, over=over, **fields)
    engine = pl.Engine(graph, pl.Execute(work))
    engine.run()
    assert engine.read(over) == 22
    assert engine.report().cycles
