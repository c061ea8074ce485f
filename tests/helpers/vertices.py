"""Vertices that several modules run or price, with their slots; what a class declares."""

from __future__ import annotations

import numpy as np

import poplite as pl
from poplite.simulator.pricing import slots_of
from poplite.vertex.fields import fields_of


def declared(vertex: type[pl.Vertex]) -> list[str]:
    """Return the fields of a class as texts."""
    return [str(field) for field in vertex.fields.values()]


class Count(pl.Vertex):
    """Counts how often it runs."""

    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += 1


class Spin(pl.Vertex):
    """Takes about a nanosecond a round, and leaves 2 in `x` when it is done."""

    rounds: pl.State[pl.INT]
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 1.0
        total = 4.0
        for _ in range(self.rounds):
            total = total * 0.5 + 1.0
        self.x = total


MK2 = pl.Target()


class Dot(pl.Vertex):
    """A row of a matrix by a vector."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.b[i] * self.a[i]
        self.y = total


class Sort(pl.Vertex):
    """Insertion sort: what is done depends on data."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(1, len(self.x)):
            j = i
            while j > 0 and self.x[j - 1] > self.x[j]:
                larger = self.x[j - 1]
                self.x[j - 1] = self.x[j]
                self.x[j] = larger
                j -= 1


def slots(cls: type[pl.Vertex], target: pl.Target = MK2, **words: int | tuple[int, int]) -> int:
    """Return the slots of one vertex; a list is (rows, length of each)."""
    shape: list[int] = []
    for field in fields_of(cls):
        given = words.get(field.name, target.workers if field.name == "num_workers" else 0)
        if field.kind == "rows":
            rows, length = given if isinstance(given, tuple) else (0, 0)
            shape += [rows, rows * length]
        elif field.kind != "nothing":
            assert isinstance(given, int)
            shape.append(given)
    return int(slots_of(cls, np.array([shape], np.int64), target).slots[0])
