"""Half-open ranges of elements: one as a pair, many as two arrays that behave like a list.

    >>> ranges = Intervals(np.array([0, 6]), np.array([3, 8]))
    >>> ranges[1], ranges == [(0, 3), (6, 8)], ranges.end.tolist()
    (Interval(begin=6, end=8), True, [3, 8])

Many equally spaced intervals are shown as a few `StridedIntervals`, also on request:

    >>> Intervals(np.arange(0, 96, 12), np.arange(4, 96, 12))
    <8 intervals: [0, 4) 8 times every 12>

Tile mappings are intervals with tiles, and a view cuts its variables into intervals::

    overlay   intervals  [-----------)   [---)        merge   intervals  [--)[--)[--) [--)
              breaks     |    |    |   |      |               values      a   a   b    b
              pieces     [----)[---)   [---)                  result     [------)[--) [--)
              source      0     0       1

A sweep costs one sort, for intervals of any lengths::

    paint     first   aaaaaaaa            union     [---)    [-)       intersection   [-----)  [--)
              second     bbb                           [---)                             [-------)
              third           ccc         result    [------) [-)       result            [--)  [-)
              result  aaabbbaacc c
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorIndexError, made_by
from poplite.jit.build import address, native, run_kernel
from poplite.jit.kernels_intervals import DIGIT_BITS, common, sort_by_digit, topmost
from poplite.poplar.callable_values import CalledInt
from poplite.text import clipped, integer_or_none

Int64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SHOWN = 6
"""Maximum number of intervals, or groups of intervals, that a repr lists."""

MOST_GROUPED = 2**16
"""Maximum number of intervals that a repr searches for groups, in some tens of milliseconds."""


class _Bounds(NamedTuple):
    begin: int = 0
    end: int = 0


class Interval(_Bounds):
    """The half-open range [begin, end).

    >>> begin, end = Interval(2, 5)
    >>> end - begin
    3
    """

    __slots__ = ()

    @property
    def begin(self) -> CalledInt:
        """The first number."""
        return _called(self[0])

    @property
    def end(self) -> CalledInt:
        """One past the last number."""
        return _called(self[1])

    @property
    def size(self) -> CalledInt:
        """Number of integers in the range."""
        begin, end = integer_or_none(self.begin), integer_or_none(self.end)
        if begin is None or end is None:
            raise TensorIndexError(
                f"Interval: [{clipped(self.begin)}, {clipped(self.end)}) needs whole numbers",
                fix="Interval(0, 4)",
            )
        return CalledInt(end - begin)


def _called(bound: Any) -> CalledInt:
    """Return a bound that can also be called; other values than whole numbers are checked later."""
    return CalledInt(bound) if type(bound) is int or isinstance(bound, np.integer) else bound


@made_by("tensor.contiguous_regions(), or a list of pl.Interval(begin, end)")
class Intervals(Sequence[Interval]):
    """Intervals stored as two arrays; behaves, prints and compares like a list of `Interval`.

    Args:
        begin: int64[n], first elements.
        end: int64[n], one past the last elements.

    >>> np.asarray(Intervals(np.array([0, 6]), np.array([3, 8]))).tolist()
    [[0, 3], [6, 8]]
    """

    __slots__ = ("begin", "end")
    begin: Int64
    end: Int64
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equal to lists, which are not hashable

    def __init__(self, begin: Int64, end: Int64) -> None:
        self.begin, self.end = begin, end

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, index: int) -> Interval: ...

    @overload
    def __getitem__(self, index: slice) -> Intervals: ...

    def __getitem__(self, index: int | slice) -> Interval | Intervals:
        if isinstance(index, slice):
            return Intervals(self.begin[index], self.end[index])
        i = place(index, len(self), "interval")
        return Interval(int(self.begin[i]), int(self.end[i]))

    def __iter__(self) -> Iterator[Interval]:
        return map(Interval, self.begin.tolist(), self.end.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Intervals):
            same = np.array_equal(self.begin, other.begin)
            return same and np.array_equal(self.end, other.end)
        if not isinstance(other, list | tuple):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(map(tuple, other))

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.stack([self.begin, self.end], axis=1).astype(dtype or np.int64, copy=False)

    def strided(self) -> list[StridedIntervals]:
        """Return the same intervals, in the same order, as a few equally spaced groups.

        >>> begin = np.arange(96).reshape(8, 12).T.ravel()
        >>> Intervals(begin, begin + 1).strided()
        [StridedIntervals(begin=0, size=1, digits=((12, 1), (8, 12)))]
        """
        return strided(self.begin, self.end)

    def __repr__(self) -> str:
        if len(self) <= SHOWN // 2:
            return repr(list(self))
        return f"<{len(self):,} intervals: {strided_text(self.begin, self.end)}>"


class StridedIntervals(NamedTuple):
    """Equally spaced intervals of one size.

    Attributes:
        begin: first element of the first interval.
        size: number of elements of each interval.
        digits: (count, step) of each level, the outermost first; a level has `count` items that
            begin `step` elements apart.

    >>> print(StridedIntervals(0, 1, ((12, 1), (8, 12))))
    [0, 1) 8 times every 12, 12 times every 1
    >>> StridedIntervals(0, 1, ((12, 1), (8, 12))).count
    96
    """

    begin: int
    size: int
    digits: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:  # type: ignore[override]  # of intervals, not of equal fields
        """Number of intervals."""
        return math.prod([count for count, _ in self.digits])

    def __str__(self) -> str:
        levels = [
            f"{count:,} times" + (f" every {step:,}" if step else "")
            for count, step in reversed(self.digits)
        ]
        bounds = f"[{self.begin:,}, {self.begin + self.size:,})"
        return " ".join([bounds, ", ".join(levels)]) if levels else bounds


def strided(begin: Int64, end: Int64) -> list[StridedIntervals]:
    """Return intervals as equally spaced groups, found from left to right, level by level."""
    shapes: list[tuple[int, tuple[tuple[int, int], ...]]]  # size and digits of each kind of group
    sizes, shape = np.unique(end - begin, return_inverse=True)
    shapes = [(size, ()) for size in sizes.tolist()]
    while True:
        first, count, step = _progressions(begin, shape)
        if len(first) == len(begin):
            groups = zip(begin.tolist(), shape.tolist(), strict=True)
            return [each for b, k in groups for each in _without_pairs(b, *shapes[k])]
        found: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        numbers = []
        for k, n, distance in zip(shape[first].tolist(), count, step, strict=True):
            size, digits = shapes[k]
            group = (size, ((n, distance), *digits) if n > 1 else digits)
            numbers.append(found.setdefault(group, len(found)))
        begin, shape, shapes = begin[first], np.array(numbers, np.int64), list(found)


def _without_pairs(
    begin: int, size: int, digits: tuple[tuple[int, int], ...]
) -> Iterator[StridedIntervals]:
    """Yield a group, or both intervals of a pair separately, as any two have a regular distance."""
    if len(digits) == 1 and digits[0][0] == 2:
        yield StridedIntervals(begin, size, ())
        yield StridedIntervals(begin + digits[0][1], size, ())
    else:
        yield StridedIntervals(begin, size, digits)


def _progressions(begin: Int64, shape: Int64) -> tuple[list[int], list[int], list[int]]:
    """Cut groups into progressions: the first group of each, their number, and their distance."""
    distance = np.diff(begin)
    is_same = shape[1:] == shape[:-1]
    changes = (distance[1:] != distance[:-1]) | ~is_same[1:]
    lasts = np.flatnonzero(np.append(changes, True)) + 1 if len(begin) > 1 else begin[:0]
    ends = iter(lasts.tolist())
    last = next(ends, 0)
    first, count, step = [], [], []
    at, total = 0, len(begin)
    while at < total:
        while last <= at and last < total - 1:
            last = next(ends)
        joined = at < total - 1 and bool(is_same[at])
        first.append(at)
        count.append(last - at + 1 if joined else 1)
        step.append(int(distance[at]) if joined else 0)
        at += count[-1]
    return first, count, step


def strided_text(begin: Int64, end: Int64) -> str:
    """Return the text of many intervals, by the first of their groups."""
    groups = strided(begin[:MOST_GROUPED], end[:MOST_GROUPED])
    shown = "; ".join(map(str, groups[:SHOWN]))
    listed = sum([group.count for group in groups[:SHOWN]])
    return f"{shown}; {len(begin) - listed:,} more" if listed < len(begin) else shown


def place(key: object, count: int, noun: str) -> int:
    """Return the index, from 0, of an item in a list; negative keys count from the end.

    `noun` is the word for an item in error messages.

    >>> place(-1, 3, "group")
    2
    """
    fix = f"use an index from {-count} to {count - 1}" if count else "do not index an empty list"
    number = None if isinstance(key, np.ndarray) else integer_or_none(key)
    if number is None:
        what = f"{noun} {clipped(key)}, not a whole number"
        raise TensorIndexError(what, fix=fix)
    if -count <= number < count:
        return number % count
    raise TensorIndexError(f"{noun} {number} does not exist; there are {count:,}", fix=fix)


def overlay(begin: Int64, end: Int64, breaks: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """Cut non-empty intervals at the breaks inside them.

    Segment `k` is `[breaks[k], breaks[k + 1])`; all intervals are within the segments. Returns
    `(source, segment, begin, end)` of the pieces, in the order of the intervals.

    >>> [a.tolist() for a in overlay(np.array([1]), np.array([7]), np.array([0, 4, 9]))]
    [[0, 0], [0, 1], [1, 4], [4, 7]]
    """
    first = np.searchsorted(breaks, begin, side="right") - 1
    count = np.searchsorted(breaks, end, side="left") - first
    if (count == 1).all():
        return np.arange(len(begin)), first, begin, end
    source, within = repeated(count)
    segment = first[source] + within
    return (
        source,
        segment,
        np.maximum(begin[source], breaks[segment]),
        np.minimum(end[source], breaks[segment + 1]),
    )


def distinct(values: Int64) -> Int64:
    """Return each value once, in ascending order; faster than `np.unique`.

    >>> distinct(np.array([5, 2, 5])).tolist()
    [2, 5]
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    found: Int64 = ordered[first]
    return found


def repeated(count: Int64) -> tuple[Int64, Int64]:
    """Return the number and the index of each copy, for `count[k]` copies of each number k.

    >>> [a.tolist() for a in repeated(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    number = np.arange(len(count))
    if (count == 1).all():
        return number, np.zeros_like(number)
    source = np.repeat(number, count)
    return source, np.arange(len(source)) - (np.cumsum(count) - count)[source]


def merge(begin: Int64, end: Int64, value: Int64) -> tuple[Int64, Int64, Int64]:
    """Join neighbouring intervals that touch and have equal values, preserving the order.

    >>> [a.tolist() for a in merge(np.array([0, 2]), np.array([2, 3]), np.array([5, 5]))]
    [[0], [3], [5]]
    """
    if not len(begin):
        return begin, end, value
    starts = np.ones(len(begin) + 1, np.bool_)
    starts[1:-1] = (begin[1:] != end[:-1]) | (value[1:] != value[:-1])
    return begin[starts[:-1]], end[starts[1:]], value[starts[:-1]]


# -- sweeps over sorted intervals ------------------------------------------------------------------

FEW = 2048
"""Maximum number of numbers that NumPy sorts; a kernel sorts more.

Without the limit, small programs in benchmarks/startup.py would compile the kernel; without the
kernel, T11 and T15 of benchmarks/views.py take five times as long.
"""


def paint(begin: Int64, end: Int64, value: Int64) -> tuple[Int64, Int64, Int64]:
    """Paint intervals over each other; the last one is on top.

    All arguments are int64[n] and not negative; intervals may be empty. Returns
    `(begin, end, value)`, sorted and disjoint; touching intervals of equal value are joined.

    >>> edits = np.array([0, 3]), np.array([8, 5]), np.array([7, 9])
    >>> [a.tolist() for a in paint(*edits)]
    [[0, 3, 5], [3, 5, 8], [7, 9, 7]]
    """
    some = begin < end
    if not some.all():
        begin, end, value = begin[some], end[some], value[some]
    order = sorted_order(begin)
    begin, end, value = begin[order], end[order], value[order]
    if not (begin[1:] < end[:-1]).any():
        return merge(begin, end, value)
    return _topmost(begin, end, value, order)


def _topmost(begin: Int64, end: Int64, value: Int64, rank: Int64) -> tuple[Int64, Int64, Int64]:
    """Sweep over the intervals, with those that have begun in a heap."""
    count = len(begin)
    columns = [np.ascontiguousarray(column, np.int64) for column in (rank, begin, end, value)]
    heap, out = np.empty(count, np.int64), np.empty((3, 2 * count), np.int64)
    done = run_kernel(topmost, count, *columns, count, heap, *out)
    return out[0, :done].copy(), out[1, :done].copy(), out[2, :done].copy()


def union(begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Return the union of intervals, int64[n] and not negative; intervals may be empty.

    The result is sorted and disjoint, and no two of its intervals touch.

    >>> [a.tolist() for a in union(np.array([2, 0, 3]), np.array([3, 1, 9]))]
    [[0, 2], [1, 9]]
    """
    some = begin < end
    begin, end = ascending(begin[some]), ascending(end[some])
    # There is a gap before a begin if as many intervals have ended as have begun before it.
    starts = np.ones(len(begin) + 1, np.bool_)
    np.greater(begin[1:], end[:-1], out=starts[1:-1])
    return begin[starts[:-1]], end[starts[1:]]


def intersection(
    begin: Int64, end: Int64, other_begin: Int64, other_end: Int64
) -> tuple[Int64, Int64]:
    """Return the intersection of two lists of sorted, disjoint intervals, sorted and disjoint.

    >>> arrays = np.array([0, 6]), np.array([4, 9]), np.array([2]), np.array([8])
    >>> [a.tolist() for a in intersection(*arrays)]
    [[2, 6], [4, 8]]
    """
    count, others = len(begin), len(other_begin)
    room = count + others
    own, other = (
        [np.ascontiguousarray(column, np.int64) for column in columns]
        for columns in ((begin, end), (other_begin, other_end))
    )
    out = np.empty((2, room + 1), np.int64)
    done = run_kernel(common, room, *own, count, *other, others, *out)
    return out[0, :done].copy(), out[1, :done].copy()


def sorted_order(numbers: Int64) -> Int64:
    """Return the stable order of non-negative int64[n], like `np.argsort(numbers, kind="stable")`.

    >>> sorted_order(np.array([5, 0, 5])).tolist()
    [1, 0, 2]
    """
    return sorted_with_order(numbers)[1]


def sorted_with_order(numbers: Int64) -> tuple[Int64, Int64]:
    """Return non-negative int64[n] in ascending order, and their stable order.

    >>> [a.tolist() for a in sorted_with_order(np.array([5, 0, 5]))]
    [[0, 5, 5], [1, 0, 2]]
    """
    # The low bits are each number's index: one array is moved, and equal numbers keep their order.
    bits = len(numbers).bit_length()
    top = int(numbers.max()).bit_length() if len(numbers) else 0
    if len(numbers) <= FEW or bits + top > 62:
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order
    packed = numbers << bits
    packed |= np.arange(len(numbers))
    packed = _by_digits(packed, bits, bits + top)
    order = packed & ((1 << bits) - 1)
    packed >>= bits
    return packed, order


def ascending(numbers: Int64) -> Int64:
    """Return non-negative int64[n] in ascending order, like `np.sort(numbers)`.

    >>> ascending(np.array([5, 0, 5])).tolist()
    [0, 5, 5]
    """
    if len(numbers) <= FEW:
        return np.sort(numbers)
    return _by_digits(np.array(numbers, np.int64), 0, int(numbers.max()).bit_length())


def _by_digits(numbers: Int64, low: int, high: int) -> Int64:
    """Sort by the bits from `low` to `high` only."""
    other, places = np.empty_like(numbers), np.empty(1 << DIGIT_BITS, np.int64)
    for shift in range(low, high, DIGIT_BITS):
        native(sort_by_digit)(
            address(numbers), len(numbers), shift, address(places), address(other)
        )
        numbers, other = other, numbers
    return numbers
