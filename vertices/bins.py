"""Positions among sorted numbers, and counts of numbers by bin.

    SearchSorted    out[i] = position of v[i] among the numbers of x, which are sorted
    CountBins       out[x[i]] += 1
    AddToBins       out[x[i]] += weights[i]

Bins that do not exist are skipped, so that a vertex may own a part of all bins.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import BOOL, UNSIGNED_INT, ElementType
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Array = npt.NDArray[Any]


class SearchSorted(Vertex, Generic[T]):
    """The number of elements of x that are less than each v, or not greater with `right`.

    A NaN is greater than all numbers, as in NumPy's sort.
    """

    x: Input[Vector[T]]
    """in ascending order"""
    v: Input[Vector[T]]
    out: Output[Vector[UNSIGNED_INT]]
    """as many elements as v"""
    right: State[BOOL]

    def is_before(self, item: Any, value: Any) -> Any:
        """Return whether an element counts for a value."""
        both = (item == value) | (value != value)  # noqa: PLR0124
        return (item < value) | (self.right & both) | ((value != value) & (item == item))  # noqa: PLR0124

    def compute(self) -> None:
        """Find each position by bisection."""
        for i in range(len(self.v)):
            value, low, left = self.v[i], 0, len(self.x)
            while left > 1:
                half = left >> 1  # without a branch that depends on elements
                low += half if self.is_before(self.x[low + half - 1], value) else 0
                left -= half
            if left > 0:
                low += 1 if self.is_before(self.x[low], value) else 0
            self.out[i] = low


class CountBins(Vertex):
    """Adds to each bin `0`, `1`, ... how often it occurs in x."""

    x: Input[Vector[UNSIGNED_INT]]
    out: InOut[Vector[UNSIGNED_INT]]

    def compute(self) -> None:
        """Count."""
        for i in range(len(self.x)):
            if self.x[i] < len(self.out):
                self.out[self.x[i]] += 1


class AddToBins(Vertex, Generic[T, U]):
    """Adds to each bin `0`, `1`, ... the weights of its elements, in the order of x."""

    x: Input[Vector[UNSIGNED_INT]]
    weights: Input[Vector[T]]
    """as many elements as x"""
    out: InOut[Vector[U]]
    """FLOAT for weights of HALF, else of their type"""

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.x)):
            if self.x[i] < len(self.out):
                self.out[self.x[i]] += self.weights[i]


def bins_reference(x: Array, out: Array, weights: Array | None = None) -> Array:
    """Compute in NumPy what `CountBins` or `AddToBins` leaves in `out`.

    Args:
        x: the bins of elements.
        out: the bins before.
        weights: the weights of elements, or None to count them.

    >>> bins_reference(np.uint32([3, 0, 3, 9]), np.uint32([0, 0, 0, 5]))
    array([1, 0, 0, 7], dtype=uint32)
    """
    kept, made = x < len(out), out.copy()
    np.add.at(made, x[kept], 1 if weights is None else weights[kept].astype(out.dtype))
    return made


def search_slots(elements: int, size: int) -> int:
    """Return the approximate slots of `SearchSorted` for so many positions among `size` numbers.

    >>> search_slots(10, 100)
    1030
    """
    return 30 + elements * (16 + 12 * max(1, size).bit_length())


def bin_slots(elements: int) -> int:
    """Return the approximate slots of `CountBins` and `AddToBins`.

    >>> bin_slots(10)
    100
    """
    return 30 + 7 * elements
