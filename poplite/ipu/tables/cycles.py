"""The vertex that subtracts one cycle counter from another, as `cycle_count` needs it.

Poplar's `cycleStamp` gives a counter as two words, the low one first, and subtracts none.
"""

from __future__ import annotations

from poplite.types import UNSIGNED_INT
from poplite.vertex import Input, Output, Vector, Vertex


class CyclesSince(Vertex):
    """Cycles from one counter to another, each of two words with the low one first."""

    before: Input[Vector[UNSIGNED_INT]]
    now: Input[Vector[UNSIGNED_INT]]
    taken: Output[Vector[UNSIGNED_INT]]

    def compute(self) -> None:
        """Subtract the earlier counter, with a borrow from the high word."""
        borrow = 1 if self.now[0] < self.before[0] else 0
        self.taken[0] = self.now[0] - self.before[0]
        self.taken[1] = self.now[1] - self.before[1] - borrow
