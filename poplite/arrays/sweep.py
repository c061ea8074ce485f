"""Sweeps over sorted intervals: what lies on top, what any covers, what two lists share.

    paint     first   aaaaaaaa            union     [---)    [-)       intersection   [-----)  [--)
              second     bbb                           [---)                             [-------)
              third           ccc         result    [------) [-)       result            [--)  [-)
              result  aaabbbaacc c

Every function costs one sort, whatever the intervals' lengths.

    >>> [a.tolist() for a in union(np.array([5, 0, 2]), np.array([7, 3, 4]))]
    [[0, 5], [4, 7]]
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64, merge
from poplite.jit.build import address, native, run_kernel
from poplite.jit.kernels.intervals import DIGIT_BITS, common, sort_by_digit, topmost

FEW = 2048
"""Numbers up to which NumPy sorts.

Kept for benchmarks/startup_cold.py, where small programs would compile the kernel, and others for
benchmarks/views.py: NumPy takes five times as long for T11 and T15.
"""


def paint(begin: Int64, end: Int64, value: Int64) -> tuple[Int64, Int64, Int64]:
    """Paint intervals over each other; the last one lies on top.

    All are int64[n], from 0; intervals may be empty. Returns `(begin, end, value)`: sorted and
    disjoint, and neighbours of equal value are one.

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
    """Sweep over the intervals, those that have begun in a heap."""
    count = len(begin)
    columns = [np.ascontiguousarray(column, np.int64) for column in (rank, begin, end, value)]
    heap, out = np.empty(count, np.int64), np.empty((3, 2 * count), np.int64)
    done = run_kernel(topmost, count, *columns, count, heap, *out)
    return out[0, :done].copy(), out[1, :done].copy(), out[2, :done].copy()


def union(begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Return what any of the intervals covers; they are int64[n], from 0, and may be empty.

    The result is sorted and disjoint, and its neighbours do not touch.

    >>> [a.tolist() for a in union(np.array([2, 0, 3]), np.array([3, 1, 9]))]
    [[0, 2], [1, 9]]
    """
    some = begin < end
    begin, end = ascending(begin[some]), ascending(end[some])
    # A gap lies before the begin at which as many intervals have ended as have begun.
    starts = np.ones(len(begin) + 1, np.bool_)
    np.greater(begin[1:], end[:-1], out=starts[1:-1])
    return begin[starts[:-1]], end[starts[1:]]


def intersection(
    begin: Int64, end: Int64, other_begin: Int64, other_end: Int64
) -> tuple[Int64, Int64]:
    """Return what two lists of sorted, disjoint intervals have in common, sorted and disjoint.

    >>> arrays = np.array([0, 6]), np.array([4, 9]), np.array([2]), np.array([8])
    >>> [a.tolist() for a in intersection(*arrays)]
    [[2, 6], [4, 8]]
    """
    count, others = len(begin), len(other_begin)
    most = count + others
    own, other = (
        [np.ascontiguousarray(column, np.int64) for column in columns]
        for columns in ((begin, end), (other_begin, other_end))
    )
    out = np.empty((2, most + 1), np.int64)
    done = run_kernel(common, most, *own, count, *other, others, *out)
    return out[0, :done].copy(), out[1, :done].copy()


def sorted_order(numbers: Int64) -> Int64:
    """Return the stable order of int64[n] from 0, as `np.argsort(numbers, kind="stable")`.

    >>> sorted_order(np.array([5, 0, 5])).tolist()
    [1, 0, 2]
    """
    return sorted_with_order(numbers)[1]


def sorted_with_order(numbers: Int64) -> tuple[Int64, Int64]:
    """Return int64[n], from 0, in ascending order, and that order; equal ones keep theirs.

    >>> [a.tolist() for a in sorted_with_order(np.array([5, 0, 5]))]
    [[0, 5, 5], [1, 0, 2]]
    """
    # Each number with its place below it: one array to move, and equal numbers keep their order.
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
    """Return int64[n], from 0, in ascending order, as `np.sort(numbers)`.

    >>> ascending(np.array([5, 0, 5])).tolist()
    [0, 5, 5]
    """
    if len(numbers) <= FEW:
        return np.sort(numbers)
    return _by_digits(np.array(numbers, np.int64), 0, int(numbers.max()).bit_length())


def _by_digits(numbers: Int64, low: int, high: int) -> Int64:
    """Sort by the bits from `low` to `high`, in place of the numbers."""
    other, places = np.empty_like(numbers), np.empty(1 << DIGIT_BITS, np.int64)
    for shift in range(low, high, DIGIT_BITS):
        native(sort_by_digit)(
            address(numbers), len(numbers), shift, address(places), address(other)
        )
        numbers, other = other, numbers
    return numbers
