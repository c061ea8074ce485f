"""Vertices that several modules run."""

from __future__ import annotations

import poplite as pl


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
