"""Painting and cutting intervals."""

import numpy as np

from poplite.intervals import merge, overlay, paint


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
