"""Elements of a row by positions that are known when the program runs.

A row may be too long for a tile: then vertices see one part of it after the other, and take from
each what it has.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex

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
    """The elements of x that differ from the one before them, packed, with zeros behind them.

    Equal are 0.0 and -0.0, and any two NaNs.
    """

    x: Input[Vector[T]]
    before: Input[Vector[T]]
    """the element before x, or none: x[:0]"""
    out: Output[Vector[T]]
    """as many elements as x"""
    count: Output[UNSIGNED_INT]
    """how many there are"""

    def compute(self) -> None:
        """Pack."""
        count = 0
        for i in range(len(self.x)):
            element = self.x[i]
            is_new = i == 0 and len(self.before) == 0
            if not is_new:
                last = self.x[i - 1] if i > 0 else self.before[0]
                is_new = element != last and (element == element or last == last)  # noqa: PLR0124
            if is_new:
                self.out[count] = element
                count += 1
        for i in range(count, len(self.out)):
            self.out[i] = 0
        self.count = count


class TakeRanks(Vertex, Generic[T]):
    """Elements `first`, `first + 1`, ... of those that blocks have in front, as far as x has them.

    Block b is `size` elements of x, of which the first `starts[b + 1] - starts[b]` count: they are
    elements `starts[b]`, `starts[b] + 1`, ... of all.
    """

    x: Input[Vector[T]]
    starts: Input[Vector[UNSIGNED_INT]]
    out: InOut[Vector[T]]
    first: State[UNSIGNED_INT]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Find the block of an element by bisection, and go on from there as far as it goes."""
        blocks = len(self.starts) - 1
        low = max(self.first, self.starts[0])
        high = min(self.first + len(self.out), self.starts[blocks])
        block, end, shift = 0, low, 0
        for rank in range(low, high):
            if rank >= end:
                above = blocks
                while above - block > 1:
                    middle = (block + above) >> 1
                    if self.starts[middle] <= rank:
                        block = middle
                    else:
                        above = middle
                end = self.starts[block + 1]
                shift = block * self.size - self.starts[block]
            self.out[rank - self.first] = self.x[rank + shift]


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


def pack_reference(x: Array, before: Array) -> tuple[Array, int]:
    """Return what `PackUnique` makes, in NumPy: dtype[len(x)], and how many elements count.

    >>> pack_reference(np.array([4, 4, 6, 9]), np.array([4]))
    (array([6, 9, 0, 0]), 2)
    """
    last = np.append(before, x)[:-1] if len(before) else x[:-1]
    is_new = np.ones(len(x), np.bool_)
    both = np.isnan(x[len(x) - len(last) :]) & np.isnan(last)
    is_new[len(x) - len(last) :] = (x[len(x) - len(last) :] != last) & ~both
    count = int(is_new.sum())
    made = np.zeros_like(x)
    made[:count] = x[is_new]
    return made, count


def ranks_reference(out: Array, x: Array, starts: npt.ArrayLike, first: int, size: int) -> Array:
    """Return what `TakeRanks` makes of `out`, in NumPy: dtype[len(out)].

    Args:
        out: what there is before, in the places of elements `first`, `first + 1`, ...
        x: blocks.
        starts: integers, which number the first element of each block has, and that behind all.
        first: the number of the first element that is wanted.
        size: of a block.

    >>> ranks_reference(np.zeros(2, int), np.array([4, 0, 6, 9]), [5, 6, 8], first=6, size=2)
    array([6, 9])
    """
    made, begin = out.copy(), np.asarray(starts, np.int64)
    for block, (start, end) in enumerate(zip(begin[:-1], begin[1:], strict=True)):
        for rank in range(max(start, first), min(end, first + len(out))):
            made[rank - first] = x[block * size + rank - start]
    return made


def pack_slots(elements: int) -> int:
    """Return about how many slots `PackUnique` takes.

    >>> pack_slots(10)
    220
    """
    return 30 + 19 * elements


def rank_slots(elements: int, blocks: int, met: int) -> int:
    """Return about how many slots `TakeRanks` takes.

    Args:
        elements: that it takes.
        blocks: that it has.
        met: how many of them have elements that it takes.

    >>> rank_slots(10, 64, 2)
    270
    """
    return 30 + 10 * elements + 10 * blocks.bit_length() * met
