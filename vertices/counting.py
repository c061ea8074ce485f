"""Counting on a tile: the vertices behind `poplite.ops.loop.counted_loop`.

CountFrom    index = begin,  goes_on = begin < end
CountOn      index += step,  goes_on = index < end          never beyond end, so nothing wraps
"""

from __future__ import annotations

from typing import Any

from poplite.machine.target import Target
from poplite.types import BOOL, UNSIGNED_INT
from poplite.vertex.vertex import InOut, Input, Output, State, Vertex


class CountFrom(Vertex):
    """Sets an index to its beginning, and finds whether that is before the end."""

    begin: Input[UNSIGNED_INT]
    """the first number"""
    end: Input[UNSIGNED_INT]
    """the first number that is too large"""
    index: Output[UNSIGNED_INT]
    """the number counted to"""
    goes_on: Output[BOOL]
    """whether it is before the end"""

    def compute(self) -> None:
        """Set the index."""
        self.index = self.begin
        self.goes_on = self.begin < self.end

    @classmethod
    def reference(cls, begin: Any, end: Any) -> dict[str, Any]:
        """Return `begin`, and whether `begin < end`."""
        return {"index": begin, "goes_on": begin < end}

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `ForLoopCounter`, which increments."""
        return int(target.cost("loop_counter"))


class CountOn(Vertex):
    """Increments an index, at most to the end, and finds whether it is still before that."""

    step: State[UNSIGNED_INT]
    """what is added"""
    end: Input[UNSIGNED_INT]
    """the first number that is too large"""
    index: InOut[UNSIGNED_INT]
    """the number counted to"""
    goes_on: Output[BOOL]
    """whether it is before the end"""

    def compute(self) -> None:
        """Increment the index."""
        self.goes_on = self.index + self.step < self.end
        self.index = min(self.index + self.step, self.end)

    @classmethod
    def reference(cls, step: int, end: Any, index: Any) -> dict[str, Any]:
        """Return `min(index + step, end)`, and whether `index + step < end`."""
        beyond = int(index) + int(step)
        return {"index": min(beyond, int(end)), "goes_on": beyond < int(end)}

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `ForLoopCounter`."""
        return int(target.cost("loop_counter"))


def count_reference(begin: int, end: int, step: int) -> list[int]:
    """Return the values that an index goes through.

    Args:
        begin: the first, unless it is `end` or beyond.
        end: the first that is too large.
        step: what is added, above 0.

    >>> count_reference(2, 9, 3)
    [2, 5, 8]
    """
    return list(range(begin, end, step))
