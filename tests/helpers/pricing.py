"""Vertices that several modules price, and the price of one by the sizes of its fields."""

from __future__ import annotations

import numpy as np

import poplite as pl
from poplite.simulator.pricing import slots_of
from poplite.vertex.fields import fields_of

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
