"""Painting, cutting and joining intervals."""

import numpy as np

from poplite.arrays.intervals import merge, overlay
from poplite.arrays.sweep import intersection, paint, union


def test_overlay_cuts_at_breaks_only() -> None:
    pieces = overlay(np.array([0, 4, 9]), np.array([4, 9, 10]), np.array([0, 4, 6, 10]))
    assert [a.tolist() for a in pieces] == [
        [0, 1, 1, 2],
        [0, 1, 2, 2],
        [0, 4, 6, 9],
        [4, 6, 9, 10],
    ]


def test_paint_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert [len(a) for a in paint(none, none, none)] == [0, 0, 0]


def test_paint_of_many_nested_intervals_shows_each_rim() -> None:
    n = 100
    begin, end = np.arange(n), 2 * n - np.arange(n)
    first, last, value = paint(begin, end, np.arange(n))
    assert value.tolist() == [*range(n), *range(n - 2, -1, -1)]
    assert first[n - 1] == n - 1
    assert last[n - 1] == n + 1


def test_paint_covers_what_is_below_for_good() -> None:
    arrays = paint(np.array([2, 0]), np.array([3, 9]), np.array([1, 2]))
    assert [a.tolist() for a in arrays] == [[0], [9], [2]]


def test_merge_joins_only_what_touches_and_is_equal() -> None:
    arrays = merge(np.array([0, 2, 5, 6]), np.array([2, 4, 6, 7]), np.array([1, 1, 1, 2]))
    assert [a.tolist() for a in arrays] == [[0, 5, 6], [4, 6, 7], [1, 1, 2]]


def test_union_joins_what_touches_or_lies_inside() -> None:
    arrays = union(np.array([8, 0, 2, 5, 1]), np.array([9, 2, 4, 5, 3]))
    assert [a.tolist() for a in arrays] == [[0, 8], [4, 9]]


def test_intersection_with_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert [len(a) for a in intersection(none, none, np.array([0]), np.array([9]))] == [0, 0]
    apart = intersection(np.array([0, 6]), np.array([2, 9]), np.array([2]), np.array([6]))
    assert [len(a) for a in apart] == [0, 0]
