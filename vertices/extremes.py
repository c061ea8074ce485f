"""The greatest or least element of rows, and where it is first: two numbers at once.

    x   3 9 2 9 | 1 1 0 5      two rows of four, of which the first elements are 8 in their rows
        9 9     | 5 11         the greatest of each, and its position

A NaN is the greatest and the least, and of several the first. `FirstGreatestRows` goes through
rows, `FirstGreatest` through what several vertices found in one row, in any order.

Source of the prices: PopLibs, `ReduceMaxClassGather` and `ReduceMaxClassSparse`, whose loop takes
three instructions for an element, of FLOAT and HALF; other types are priced by the compiled code.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT
from poplite.vertex.vertex import Input, Output, State, Vector, Vertex

T = TypeVar("T", FLOAT, HALF)

Array = npt.NDArray[Any]


class _Greatest(Vertex):
    """Looks for the greatest."""

    FIND: ClassVar[Any] = np.argmax

    def is_beyond(self, a: float, b: float) -> bool:
        """Return whether one number takes the place of another."""
        return a > b


class _Least(Vertex):
    """Looks for the least."""

    FIND: ClassVar[Any] = np.argmin

    def is_beyond(self, a: float, b: float) -> bool:
        """Return whether one number takes the place of another."""
        return a < b


class FirstGreatestRows(_Greatest, Generic[T]):
    """The greatest elements of equally long parts of x, of at least one element, and where."""

    x: Input[Vector[T]]
    """the parts, one after the other"""
    value: Output[Vector[T]]
    """one element for each part"""
    position: Output[Vector[UNSIGNED_INT]]
    """of it, the first of equal ones"""
    first: State[UNSIGNED_INT]
    """position of the first element of each part"""

    def compute(self) -> None:
        """Go through part by part."""
        length = len(self.x) // len(self.value)
        for row in range(len(self.value)):
            begin = row * length
            best = self.x[begin]
            place = 0
            for i in range(1, length):
                if best == best:  # else a NaN, which is final
                    element = self.x[begin + i]
                    if self.is_beyond(element, best) or element != element:
                        best = element
                        place = i
            self.value[row] = best
            self.position[row] = self.first + place

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `ReduceMaxClassGather`, part by part."""
        rows, elements = len(self.value), len(self.x)
        cost = target.cost
        slots = cost("extreme_entry") + rows * cost("extreme_row")
        slots += (elements - rows) * cost("extreme_element")
        return VertexPerfEstimate(int(slots), elements)

    @classmethod
    def reference(cls, x: Array, first: int, size: int) -> dict[str, Array]:
        """Return the extremes of `x.reshape(size, -1)` along its rows, and their positions."""
        rows = x.reshape(size, -1)
        place = cls.FIND(rows, axis=1)
        value = rows[np.arange(size), place]
        return {"value": value, "position": (place + first).astype(np.uint32)}


class FirstLeastRows(_Least, FirstGreatestRows[T]):
    """The least elements of equally long parts of x, of at least one element, and where."""


class FirstGreatest(_Greatest, Generic[T]):
    """The greatest of some elements of a row, whose positions are known, and its position."""

    values: Input[Vector[T]]
    """at least one element"""
    positions: Input[Vector[UNSIGNED_INT]]
    """of each of them"""
    value: Output[Vector[T]]
    """one element"""
    position: Output[Vector[UNSIGNED_INT]]
    """of it, the least of those of equal elements"""

    def compute(self) -> None:
        """Go through them."""
        best = self.values[0]
        place = self.positions[0]
        for i in range(1, len(self.values)):
            element = self.values[i]
            position = self.positions[i]
            is_same = element == best or (element != element and best != best)
            is_new = best == best and (self.is_beyond(element, best) or element != element)
            if is_new or (is_same and position < place):
                best = element
                place = position
        self.value[0] = best
        self.position[0] = place

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `ReduceMaxClassSparse`."""
        elements, cost = len(self.values), target.cost
        slots = cost("extreme_sparse_entry") + (elements - 1) * cost("extreme_element")
        return VertexPerfEstimate(int(slots), elements)

    @classmethod
    def reference(cls, values: Array, positions: Array) -> dict[str, Array]:
        """Return the extreme of `values` in the order of `positions`, and its position."""
        order = np.argsort(positions, kind="stable")
        place = order[cls.FIND(values[order])]
        return {"value": values[[place]], "position": positions[[place]]}


class FirstLeast(_Least, FirstGreatest[T]):
    """The least of some elements of a row, whose positions are known, and its position."""
