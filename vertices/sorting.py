"""Sorting the elements of a vector, or their positions, by one worker.

Source: G. Gonnet, R. Baeza-Yates, "Handbook of Algorithms and Data Structures" (1991), for Shell's
method with distances 5/11 of the ones before.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertex.vertex import InOut, Input, Vector, Vertex

T = TypeVar("T", bound=ElementType[Any])

Array = npt.NDArray[Any]


def is_before(a: Any, b: Any) -> Any:
    """Return whether a is less than b; a NaN is greater than all numbers."""
    return a < b or (b != b and a == a)  # noqa: PLR0124  (only a NaN differs from itself)


class Sort(Vertex, Generic[T]):
    """Sorts `x` in place, the least first and NaN last; equal elements in any order."""

    x: InOut[Vector[T]]
    """any number of elements"""

    def compute(self) -> None:
        """Sort by Shell's method."""
        size = len(self.x)
        gap = size
        while gap > 1:
            gap = max(1, (5 * gap) // 11)
            for i in range(gap, size):
                element = self.x[i]
                hole = i
                while hole >= gap:
                    if not is_before(element, self.x[hole - gap]):
                        break
                    self.x[hole] = self.x[hole - gap]
                    hole -= gap
                self.x[hole] = element

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.sort(x)`."""
        return np.sort(x)


class ArgSort(Vertex, Generic[T]):
    """`out` has the positions in x of the elements in order; equal ones in the order of x."""

    x: Input[Vector[T]]
    """as many elements as out"""
    out: InOut[Vector[UNSIGNED_INT]]
    """any number of elements; what they hold before does not matter"""

    def compute(self) -> None:
        """Sort positions by Shell's method."""
        size = len(self.out)
        for i in range(size):
            self.out[i] = i
        gap = size
        while gap > 1:
            gap = max(1, (5 * gap) // 11)
            for i in range(gap, size):
                place = self.out[i]
                hole = i
                while hole >= gap:
                    other = self.out[hole - gap]
                    a, b = self.x[place], self.x[other]
                    is_less = is_before(a, b) or (not is_before(b, a) and place < other)
                    if not is_less:
                        break
                    self.out[hole] = other
                    hole -= gap
                self.out[hole] = place

    @classmethod
    def reference(cls, x: Array, out: Array) -> Array:  # noqa: ARG003
        """Return `np.argsort(x, kind="stable")`."""
        return np.argsort(x, kind="stable").astype(np.uint32)
