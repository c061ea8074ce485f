"""Painting, cutting, joining and grouping intervals."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from helpers.made import made
from poplite.arrays.intervals import Intervals, StridedIntervals, merge, overlay
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


def listed(groups: list[StridedIntervals]) -> list[tuple[int, int]]:
    """All intervals of groups, one by one."""
    found = []
    for begin, size, digits in groups:
        starts = np.array([begin])
        for count, step in digits:
            starts = np.add.outer(starts, np.arange(count) * step).ravel()
        found += [(int(start), int(start) + size) for start in starts]
    return found


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 2)), max_size=30))
def test_groups_are_the_same_intervals_in_the_same_order(pairs: list[tuple[int, int]]) -> None:
    begin = np.array([b for b, _ in pairs], np.int64)
    intervals = made(Intervals, begin, begin + np.array([size for _, size in pairs], np.int64))
    groups = intervals.strided()
    assert listed(groups) == intervals
    assert sum([group.count for group in groups]) == len(pairs)


@pytest.mark.parametrize(
    ("begin", "shown"),
    [
        (np.arange(96).reshape(8, 12).T, "[0, 1) 8 times every 12, 12 times every 1"),
        (
            np.arange(60).reshape(3, 4, 5).transpose(2, 0, 1),
            "[0, 1) 12 times every 5, 5 times every 1",
        ),
        (np.array([0, 2, 4, 9, 7]), "[0, 1) 3 times every 2; [9, 10); [7, 8)"),
        (np.array([3, 3, 3, 3]), "[3, 4) 4 times"),
        (np.arange(20) ** 2, "[0, 1); [1, 2); [4, 5); [9, 10); [16, 17); [25, 26); 14 more"),
    ],
)
def test_many_intervals_print_as_groups(begin: npt.NDArray[np.int64], shown: str) -> None:
    flat = begin.ravel()
    assert repr(made(Intervals, flat, flat + 1)) == f"<{len(flat)} intervals: {shown}>"


def test_few_intervals_print_as_a_list() -> None:
    assert repr(made(Intervals, np.array([0, 6]), np.array([3, 8]))) == (
        "[Interval(begin=0, end=3), Interval(begin=6, end=8)]"
    )
