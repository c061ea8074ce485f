"""Vertices that several modules run; what a class declares."""

from __future__ import annotations

import poplite as pl


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
