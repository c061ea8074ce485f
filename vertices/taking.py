"""Elements of a row by positions that are known when the program runs.

A row may be too long for a tile: then vertices see one part of it after the other, and take from
each what it has.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertex.vertex import InOut, Input, State, Vector, Vertex

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Array = npt.NDArray[Any]


class TakePart(Vertex, Generic[T, U]):
    """`out[i] = row[indices[i]]` where that is in x, which begins with element `first` of the row.

    Indices count from the end of the row where they are negative.
    """

    x: Input[Vector[T]]
    indices: Input[Vector[U]]
    out: InOut[Vector[T]]
    first: State[UNSIGNED_INT]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Take what is there; an index outside of the row stops the program."""
        for i in range(len(self.out)):
            place = self.indices[i]
            if place < 0:
                place += self.size
            if place < 0 or place >= self.size:
                raise IndexError(f"index {self.indices[i]} of {self.size} elements")
            place -= self.first
            if place >= 0 and place < len(self.x):
                self.out[i] = self.x[place]


class PackUnique(Vertex, Generic[T]):
    """Elements that differ from the one before, packed: numbers `first`, `first + 1`, ... of them.

    `ranks[i]` is how many such elements there are before x[i]; there is one more of them.
    """

    x: Input[Vector[T]]
    ranks: Input[Vector[UNSIGNED_INT]]
    out: InOut[Vector[T]]
    first: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Find the first one by bisection, then go on from there."""
        low, high = 0, len(self.x)
        while low < high:
            middle = (low + high) // 2
            if self.ranks[middle + 1] > self.first:
                high = middle
            else:
                low = middle + 1
        for i in range(low, len(self.x)):
            place = self.ranks[i] - self.first
            if place >= len(self.out):
                break
            if self.ranks[i + 1] > self.ranks[i] and place >= 0:
                self.out[place] = self.x[i]


def take_reference(out: Array, x: Array, indices: Array, first: int, size: int) -> Array:
    """Return what `TakePart` makes of `out`, in NumPy: dtype[len(indices)].

    Args:
        out: what there is before.
        x: elements `first`, `first + 1`, ... of the row.
        indices: of the row, from `-size` to before `size`.
        first: the place of x in the row.
        size: elements of the row.

    >>> take_reference(np.zeros(3, int), np.array([7, 8]), np.array([2, 0, -1]), first=2, size=4)
    array([7, 0, 8])
    """
    place = indices.astype(np.int64) % size - first
    is_here = (place >= 0) & (place < len(x))
    made = out.copy()
    made[is_here] = x[place[is_here]]
    return made


def pack_reference(out: Array, x: Array, ranks: npt.ArrayLike, first: int) -> Array:
    """Return what `PackUnique` makes of `out`, in NumPy: dtype[len(out)].

    Args:
        out: what there is before, in the places of elements `first`, `first + 1`, ...
        x: some elements of a row.
        ranks: integers [len(x) + 1], how many elements that differ from the one before them there
            are up to each of x, and to its end.
        first: the number of the first one that is wanted.

    >>> pack_reference(np.zeros(2, int), np.array([4, 4, 6, 9]), [5, 6, 6, 7, 8], first=6)
    array([6, 9])
    """
    rank = np.asarray(ranks, np.int64)
    place = rank[:-1] - first
    is_wanted = (np.diff(rank) > 0) & (place >= 0) & (place < len(out))
    made = out.copy()
    made[place[is_wanted]] = x[is_wanted]
    return made
