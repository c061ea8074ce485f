"""Access to rows of a table by index, to read or update them.

    MultiSlice        out[k] = x[index[k] - first]           0 where the vertex has no such row
    MultiUpdate       x[index[k] - first] = s[k]             in the order of k: the last k wins
    MultiUpdateAdd    x[index[k] - first] += scale * s[k]    also MultiUpdateMax, MultiUpdateMul
    ListRows          a part of the indices, sorted by the vertex that updates the row
    SetListed ...     like MultiUpdate, for the rows that the list has for the vertex

A vertex holds the rows from `first` on, `width` elements each, one after another. With many
indices it would take each vertex long to find its own. Then `ListRows` sorts them once, and each
vertex reads its part of that list. Equal rows remain in the order of the indices, so results are
bit-identical both ways::

    index 7 0 2 5 1    share 3     owner 0: rows 0 2 1    owner 1: row 5    owner 2: row 7
                                   row   0 2 1  2  1      counted from the owner's first
                                   place 1 2 4  3  0
                                   ends  3 4 5

`TakePart` and similar classes take elements of one row at positions that are known at run time.
If that row is too long for a tile, vertices read one part of it after another, and take the
elements that each part contains.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.machine.target import Target
from poplite.types import UNSIGNED_INT, UNSIGNED_SHORT, ElementType
from poplite.vertex.vertex import InOut, Input, Output, State, Vector, Vertex
from poplite.vertices.estimators import (
    check_rows,
    gather_rows,
    list_rows,
    update_listed,
    update_rows,
)

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Array = npt.NDArray[Any]


class CheckIndices(Vertex, Generic[T]):
    """Stops the program if an index is out of range for `size` rows; writes nothing."""

    index: Input[Vector[T]]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Check all indices."""
        for k in range(len(self.index)):
            if not 0 <= self.index[k] < self.size:
                raise IndexError(f"index {self.index[k]} of {self.size} rows")

    def cycles(self, target: Target) -> int:
        """Return the slots of a loop with one unsigned comparison."""
        return check_rows(len(self.index))


class MultiSlice(Vertex, Generic[T]):
    """`out[k]` is row `index[k] - first` of x, or 0 where x has no such row."""

    x: Input[Vector[T]]
    """rows of the table, one after another, at least one"""
    index: Input[Vector[UNSIGNED_INT]]
    """row indices"""
    out: Output[Vector[T]]
    """one row for each index"""
    first: State[UNSIGNED_INT]
    """the index of the first row of x"""
    width: State[UNSIGNED_INT]
    """number of elements in a row"""

    def compute(self) -> None:
        """Copy row by row; all reads are within x for any index."""
        first = self.first
        last = len(self.x) // self.width - 1
        if self.width == 1:
            for k in range(len(self.index)):
                row = self.index[k] - first
                at = max(0, min(row, last))
                value = self.x[at]
                self.out[k] = value if row == at else 0
        else:
            self.copy_rows()

    def copy_rows(self) -> None:
        """Copy rows of several elements."""
        first, width = self.first, self.width
        last = len(self.x) // width - 1
        for k in range(len(self.index)):
            row = self.index[k] - first
            at = max(0, min(row, last))
            for j in range(width):
                value = self.x[at * width + j]
                self.out[k * width + j] = value if row == at else 0

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `MultiSlice`, with all indices in range."""
        return gather_rows(self.fields["x"].element, len(self.index), self.width, target)

    @classmethod
    def reference(cls, x: Array, index: Array, first: int, width: int) -> Array:
        """Return `x.reshape(-1, width)[index - first].ravel()`, with 0 where there is no row."""
        return gather_reference(x.reshape(-1, width), index, first).ravel()


class MultiUpdate(Vertex, Generic[T]):
    """`x[index[k] - first] = s[k]`, where x has such a row, in the order of k."""

    x: InOut[Vector[T]]
    """rows of the table, one after another, at least one"""
    index: Input[Vector[UNSIGNED_INT]]
    """row indices"""
    s: Input[Vector[T]]
    """one row for each index"""
    first: State[UNSIGNED_INT]
    """the index of the first row of x"""
    width: State[UNSIGNED_INT]
    """number of elements in a row"""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return new

    def compute(self) -> None:
        """Update row by row."""
        first, width = self.first, self.width
        last = len(self.x) // width - 1
        for k in range(len(self.index)):
            row = self.index[k] - first
            at = max(0, min(row, last))
            if row == at:
                for j in range(width):
                    self.x[at * width + j] = self.join(
                        self.x[at * width + j], self.s[k * width + j]
                    )

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `MultiUpdateAdd`, as if each row had one index."""
        element, rows = self.fields["x"].element, len(self.x) // max(1, self.width)
        inside = min(len(self.index), rows)
        return update_rows(element, inside, len(self.index) - inside, self.width, target)

    @staticmethod
    def joined(old: Array, new: Array) -> Array:
        """Return the new values of a row, in NumPy."""
        return new

    @classmethod
    def reference(
        cls, x: Array, index: Array, s: Array, first: int, width: int, scale: Any = 1
    ) -> Array:
        """Return x with the rows updated, one k after the other."""
        wide = [_wide(each).reshape(-1, width) for each in (x, s)]
        table, rows = wide[0], wide[1] * wide[1].dtype.type(scale)

        def join(old: Array, new: Array) -> Array:
            return _wide(np.asarray(cls.joined(old, new)).astype(x.dtype))

        return update_reference(join, table, index, rows, first).astype(x.dtype).ravel()


class MultiUpdateAdd(MultiUpdate[T]):
    """`x[index[k] - first] += scale * s[k]`, where x has such a row, in the order of k."""

    scale: Input[T]
    """one number"""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return old + self.scale * new

    @staticmethod
    def joined(old: Array, new: Array) -> Array:
        """Return the new values of a row, in NumPy."""
        return np.add(old, new)


class MultiUpdateMax(MultiUpdate[T]):
    """`x[index[k] - first]` becomes the larger of itself and `s[k]`, where x has such a row."""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return np.maximum(old, new)

    @staticmethod
    def joined(old: Array, new: Array) -> Array:
        """Return the new values of a row, in NumPy."""
        return np.maximum(old, new)


class MultiUpdateMul(MultiUpdate[T]):
    """`x[index[k] - first] *= s[k]`, where x has such a row, in the order of k."""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return old * new

    @staticmethod
    def joined(old: Array, new: Array) -> Array:
        """Return the new values of a row, in NumPy."""
        return np.multiply(old, new)


class ListRows(Vertex):
    """Sorts a part of the indices by owner: owner `b` owns rows `b * share` to `(b + 1) * share`.

    There are `size` rows, so the last owner may have fewer; out-of-range indices are skipped. The
    indices of owner b are `row[k]` and `place[k]` for k from `ends[b - 1]` to before `ends[b]`; for
    owner 0, from `begin`, the start of the part in the list. Rows are counted from the first row of
    their owner, and places from the start of the part.
    """

    index: Input[Vector[UNSIGNED_INT]]
    row: Output[Vector[UNSIGNED_SHORT]]
    place: Output[Vector[UNSIGNED_SHORT]]
    ends: InOut[Vector[UNSIGNED_INT]]
    begin: State[UNSIGNED_INT]
    share: State[UNSIGNED_INT]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Count the rows of each owner, then put each row into its position."""
        owners, begin = len(self.ends), self.begin
        size = min(self.size, owners * self.share)
        for b in range(owners):
            self.ends[b] = 0
        for k in range(len(self.index)):
            if self.index[k] < size:
                self.ends[self.index[k] // self.share] += 1
        total = 0
        for b in range(owners):
            count = self.ends[b]
            self.ends[b] = begin + total
            total += count
        for k in range(len(self.index)):
            if self.index[k] < size:
                owner = self.index[k] // self.share
                at = self.ends[owner] - begin
                self.row[at] = self.index[k] - owner * self.share
                self.place[at] = k
                self.ends[owner] += 1
        for k in range(total, len(self.index)):
            self.row[k] = 0
            self.place[k] = 0

    def cycles(self, target: Target) -> int:
        """Return the slots of both loops over the indices, and over the owners."""
        return list_rows(len(self.index), len(self.ends))


class SetListed(Vertex, Generic[T]):
    """`x[row] = s[place]` for the rows that the parts of a list hold for an owner, in order."""

    x: InOut[Vector[T]]
    s: Input[Vector[T]]
    row: Input[Vector[UNSIGNED_SHORT]]
    place: Input[Vector[UNSIGNED_SHORT]]
    ends: Input[Vector[UNSIGNED_INT]]
    width: State[UNSIGNED_INT]
    owner: State[UNSIGNED_INT]
    owners: State[UNSIGNED_INT]
    length: State[UNSIGNED_INT]

    _scattered = "x"

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return new

    def compute(self) -> None:
        """Update row by row, part by part; all accesses are in range for any list."""
        width, owner = self.width, self.owner
        last, latest = len(self.x) // width - 1, len(self.s) // width - 1
        most, final = len(self.row), len(self.ends) - 1
        for part in range(len(self.ends) // self.owners):
            slot, first = part * self.owners + owner, part * self.length
            before = self.ends[max(0, min(slot - 1, final))]
            begin = max(0, min(before if owner > 0 else first, most))
            end = max(0, min(self.ends[max(0, min(slot, final))], most))
            if width == 1:
                for k in range(begin, end):
                    at = max(0, min(self.row[k], last))
                    new = self.s[max(0, min(self.place[k] + first, latest))]
                    self.x[at] = self.join(self.x[at], new)
            elif width == 2:
                for k in range(begin, end):
                    at = 2 * max(0, min(self.row[k], last))
                    place = 2 * max(0, min(self.place[k] + first, latest))
                    self.x[at] = self.join(self.x[at], self.s[place])
                    self.x[at + 1] = self.join(self.x[at + 1], self.s[place + 1])
            else:
                for k in range(begin, end):
                    at = max(0, min(self.row[k], last))
                    place = max(0, min(self.place[k] + first, latest))
                    for j in range(width):
                        self.x[at * width + j] = self.join(
                            self.x[at * width + j], self.s[place * width + j]
                        )

    def cycles(self, target: Target) -> int:
        """Return the slots for rows that are spread evenly over the owners."""
        element, lists = self.fields["x"].element, len(self.ends) // max(1, self.owners)
        return update_listed(element, len(self.row), self.owners, lists, self.width, target)


class AddListed(SetListed[T]):
    """`SetListed` with `x += scale * s`."""

    scale: Input[T]

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return old + self.scale * new


class MaxListed(SetListed[T]):
    """`SetListed` with the larger of the old and the new element; NaN if one is."""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return np.maximum(old, new)


class MulListed(SetListed[T]):
    """`SetListed` with the product of the old and the new element."""

    def join(self, old: Any, new: Any) -> Any:
        """Return the new value of an element."""
        return old * new


_JOINS = [each.join for each in (MultiUpdate, MultiUpdateAdd, MultiUpdateMax, MultiUpdateMul)]


def gathers_rows(vertex: type[Vertex]) -> bool:
    """Return whether a class does what `MultiSlice` does."""
    return issubclass(vertex, MultiSlice) and (vertex.compute, vertex.copy_rows) == (
        MultiSlice.compute,
        MultiSlice.copy_rows,
    )


def updates_rows(vertex: type[Vertex]) -> bool:
    """Return whether a class does what `MultiUpdate` or one of its subclasses does."""
    return (
        issubclass(vertex, MultiUpdate)
        and vertex.compute is MultiUpdate.compute
        and any(vertex.join is each for each in _JOINS)
    )


def needs_old_rows(vertex: type[Vertex]) -> bool:
    """Return whether a class that updates rows computes new values from the old ones."""
    return issubclass(vertex, MultiUpdate) and vertex.join is not MultiUpdate.join


def _wide(x: Array) -> Array:
    """Return elements as `compute` reads them."""
    return x.astype(np.float32) if x.dtype.kind == "f" else x


def gather_reference(x: Array, index: npt.ArrayLike, first: int = 0) -> Array:
    """Return what `MultiSlice` writes: dtype[len(index), width].

    Args:
        x: [rows, width].
        index: indices of rows, from `first` on.
        first: the index of the first row.

    >>> gather_reference(np.array([[1, 2], [3, 4]], np.uint32), [5, 4, 3], first=4)
    array([[3, 4],
           [1, 2],
           [0, 0]], dtype=uint32)
    """
    row = np.asarray(index, np.int64) - first
    is_here = (row >= 0) & (row < len(x))
    found: Array = np.where(is_here[:, None], x[np.where(is_here, row, 0)], x.dtype.type(0))
    return found


def update_reference(join: Any, x: Array, index: npt.ArrayLike, s: Array, first: int = 0) -> Array:
    """Return x as the classes that update rows leave it: dtype[rows, width].

    Args:
        join: a function of the old and the new row, such as `np.maximum`.
        x: [rows, width].
        index: indices of rows, from `first` on; others are skipped.
        s: [len(index), width].
        first: the index of the first row.

    >>> update_reference(np.add, np.float32([[1], [2]]), [1, 1, 9], np.float32([[5], [6], [7]]))
    array([[ 1.],
           [13.]], dtype=float32)
    """
    x = x.copy()
    with np.errstate(over="ignore"):
        for row, new in zip(np.asarray(index, np.int64) - first, s, strict=True):
            if 0 <= row < len(x):
                x[row] = join(x[row], new)
    return x


def list_reference(
    index: npt.ArrayLike, owners: int, share: int, size: int, begin: int = 0
) -> tuple[Array, Array, Array]:
    """Return what `ListRows` writes: row, place and ends.

    >>> [each.tolist() for each in list_reference([7, 0, 2, 8, 5, 1], owners=3, share=3, size=8)]
    [[0, 2, 1, 2, 1, 0], [1, 2, 5, 4, 0, 0], [3, 4, 5]]
    """
    number = np.asarray(index, np.uint32)
    owner = number // share
    order = np.argsort(np.where(number < size, owner, owners), kind="stable")
    order = order[: int((number < size).sum())]
    row, place = np.zeros_like(number, np.uint16), np.zeros_like(number, np.uint16)
    row[: len(order)], place[: len(order)] = (number % share)[order], order
    ends = np.cumsum(np.bincount(owner[order], minlength=owners)) + begin
    return row, place, ends.astype(np.uint32)


# -- elements of a row by position -----------------------------------------------------------------


class TakePart(Vertex, Generic[T, U]):
    """`out[i] = row[indices[i]]` if that is in x, which begins with element `first` of the row.

    Negative indices count from the end of the row.
    """

    x: Input[Vector[T]]
    indices: Input[Vector[U]]
    out: InOut[Vector[T]]
    first: State[UNSIGNED_INT]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Take the elements; an index outside the row stops the program."""
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
    """The elements of x that differ from the one before them, packed and followed by zeros.

    0.0 and -0.0 count as equal, and so do any two NaNs.
    """

    x: Input[Vector[T]]
    before: Input[Vector[T]]
    """the element before x, or none: x[:0]"""
    out: Output[Vector[T]]
    """as many elements as x"""
    count: Output[UNSIGNED_INT]
    """the number of these elements"""

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
    """Elements `first`, `first + 1`, ... of those that are packed in blocks, if x contains them.

    Block b is `size` elements of x, and only the first `starts[b + 1] - starts[b]` count: they are
    elements `starts[b]`, `starts[b] + 1`, ... overall.
    """

    x: Input[Vector[T]]
    starts: Input[Vector[UNSIGNED_INT]]
    out: InOut[Vector[T]]
    first: State[UNSIGNED_INT]
    size: State[UNSIGNED_INT]

    def compute(self) -> None:
        """Find the block of an element by bisection, and continue from there to its end."""
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
    """Compute in NumPy what `TakePart` leaves in `out`: dtype[len(indices)].

    Args:
        out: its elements before.
        x: elements `first`, `first + 1`, ... of the row.
        indices: positions in the row, from `-size` to before `size`.
        first: the position of x in the row.
        size: number of elements of the row.

    >>> take_reference(np.zeros(3, int), np.array([7, 8]), np.array([2, 0, -1]), first=2, size=4)
    array([7, 0, 8])
    """
    place = indices.astype(np.int64) % size - first
    is_here = (place >= 0) & (place < len(x))
    made = out.copy()
    made[is_here] = x[place[is_here]]
    return made


def pack_reference(x: Array, before: Array) -> tuple[Array, int]:
    """Compute in NumPy what `PackUnique` writes: dtype[len(x)], and the number that count.

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
    """Compute in NumPy what `TakeRanks` leaves in `out`: dtype[len(out)].

    Args:
        out: its elements before, for elements `first`, `first + 1`, ...
        x: blocks.
        starts: the number of the first element of each block, and the end of the last; integers.
        first: the number of the first element to take.
        size: number of elements of a block.

    >>> ranks_reference(np.zeros(2, int), np.array([4, 0, 6, 9]), [5, 6, 8], first=6, size=2)
    array([6, 9])
    """
    made, begin = out.copy(), np.asarray(starts, np.int64)
    for block, (start, end) in enumerate(zip(begin[:-1], begin[1:], strict=True)):
        for rank in range(max(start, first), min(end, first + len(out))):
            made[rank - first] = x[block * size + rank - start]
    return made


def pack_slots(elements: int) -> int:
    """Return the approximate slots of `PackUnique`.

    >>> pack_slots(10)
    220
    """
    return 30 + 19 * elements


def rank_slots(elements: int, blocks: int, met: int) -> int:
    """Return the approximate slots of `TakeRanks`.

    Args:
        elements: number of elements that it takes.
        blocks: number of its blocks.
        met: number of blocks that contain elements that it takes.

    >>> rank_slots(10, 64, 2)
    270
    """
    return 30 + 10 * elements + 10 * blocks.bit_length() * met
