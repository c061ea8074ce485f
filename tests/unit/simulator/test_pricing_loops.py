"""Automatic estimates: the loops that the model was fitted to, as vertices."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.pricing import MK2, Dot, slots
from poplite.graph.compute_sets.shape_fields import fields_of
from poplite.simulator.pricing import slots_of

MK1 = pl.Target(architecture="gc2")


class Triad(pl.Vertex):
    """STREAM triad with a constant factor and a bound that the compiler does not know."""

    n: pl.State[pl.INT]
    a: pl.Output[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(self.n):
            self.a[i] = self.b[i] + 3.0 * self.c[i]


class Shift(pl.Vertex):
    """x += c, up to a number."""

    n: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(self.n):
            self.x[i] += 1.5


class Heat3(pl.Vertex):
    """A row of the heat equation in three dimensions, its neighbours being rows of their own."""

    alpha: pl.State[pl.FLOAT]
    depth: pl.State[pl.INT]
    centre: pl.Input[pl.Vector[pl.FLOAT]]
    north: pl.Input[pl.Vector[pl.FLOAT]]
    south: pl.Input[pl.Vector[pl.FLOAT]]
    east: pl.Input[pl.Vector[pl.FLOAT]]
    west: pl.Input[pl.Vector[pl.FLOAT]]
    new: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        beta = 1.0 - 6.0 * self.alpha
        for z in range(1, self.depth - 1):
            near = self.north[z] + self.south[z] + self.east[z] + self.west[z]
            near = self.centre[z - 1] + self.centre[z + 1] + near
            self.new[z] = beta * self.centre[z] + self.alpha * near


class Blur(pl.Vertex):
    """Gaussian blur of pixels of four channels."""

    width: pl.State[pl.INT]
    height: pl.State[pl.INT]
    old: pl.Input[pl.Vector[pl.FLOAT]]
    new: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        row = 4 * self.width
        for y in range(1, self.height - 1):
            for x in range(1, self.width - 1):
                for channel in range(4):
                    i = y * row + 4 * x + channel
                    north = self.old[i - row - 4] + self.old[i - row + 4]
                    south = self.old[i + row - 4] + self.old[i + row + 4]
                    sides = self.old[i - row] + self.old[i - 4]
                    sides = sides + self.old[i + 4] + self.old[i + row]
                    edges = 0.0625 * (north + south) + 0.125 * sides
                    self.new[i] = edges + 0.25 * self.old[i]


class Heat2(pl.Vertex):
    """The heat equation on rows."""

    alpha: pl.State[pl.FLOAT]
    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                near = self.old[r][c + 1] + self.old[r + 2][c + 1]
                near = near + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = self.alpha * self.old[r + 1][c + 1] + 0.1 * near


# What the reference model says of the loops that it was fitted to, per unit: auto-cycles, section
# 4.  Blur is of four channels, priced for a machine of one pipe; addresses are free in it, where
# the reference left seven additions.
@pytest.mark.parametrize(
    ("cls", "target", "name", "model"),
    [
        (Blur, MK1, "width", 85.0),
        (Triad, MK1, "n", 6.0),
        (Dot, MK2, "a", 4.0),
        (Shift, MK2, "n", 4.0),
        (Heat3, MK2, "depth", 14.1),
    ],
)
def test_loops_are_priced_as_the_reference_model_does(
    cls: type[pl.Vertex], target: pl.Target, name: str, model: float
) -> None:
    few = slots(cls, target, **{name: 100, "height": 3})
    more = slots(cls, target, **{name: 1100, "height": 3})
    assert (more - few) / 1000 == pytest.approx(model, rel=0.05)


def test_a_pair_of_pipes_saves_what_the_share_of_pairs_allows() -> None:
    one, two = slots(Triad, MK1, n=1000), slots(Triad, MK2, n=1000)
    # Of 6 instructions of an iteration, 5 slots if all is paired that can be.
    assert (one - two) / 1000 == pytest.approx(0.65, abs=0.01)
    all_pairs = pl.Target(costs={"pairing": 1.0})
    assert slots(Triad, all_pairs, n=1000) - slots(Triad, all_pairs, n=0) == 5 * 1000


@pytest.mark.parametrize(
    ("cls", "formula"),
    [
        (Dot, "11 + 4 len(a)"),
        (Heat2, "11 + 18 len(new) + 10.41 len(new) len(new[0])"),
        (Shift, "10 + 4 n"),
    ],
)
def test_affine_loops_have_formulas(cls: type[pl.Vertex], formula: str) -> None:
    words = sum({"rows": 2, "nothing": 0}.get(each.kind, 1) for each in fields_of(cls))
    priced = slots_of(cls, np.ones((1, words), np.int64), MK2)
    assert (priced.formula, priced.source) == (formula, "estimated")


def test_formulas_are_what_is_taken() -> None:
    # 11 + 18 R + 10.41 R C, with 10.40625 in full.
    for rows, columns in ((1, 1), (2, 7), (40, 31)):
        expected = 11 + 18 * rows + (10 + 26 / 64) * rows * columns
        assert slots(Heat2, new=(rows, columns), old=(rows + 2, columns + 2)) == round(expected)


def test_the_hardware_repeats_loops_within_its_counter_only() -> None:
    limit = int(MK2.cost("repeat_limit"))
    within, beyond = slots(Dot, a=limit), slots(Dot, a=limit + 1)
    assert within == 11 + 4 * limit
    assert beyond == 11 + 5 * (limit + 1)
    assert slots(Dot, MK1, a=100) - slots(Dot, MK1, a=99) == 5  # there are no repeats on Mk1
