"""The arithmetic on digits, beside the numbers it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from poplite.arrays.digits import (
    cut_digits,
    locate,
    regroup,
    sub_sample_digits,
)
from poplite.view import Cat, Storage, View, all_of, concat, num_runs, runs
from poplite.view.view import compose

DIGITS = [(2, 50), (3, 9), (4, 1)]
VALUES = [locate(DIGITS, i) for i in range(24)]


def values(digits: Sequence[tuple[int, int]], size: int, offset: int = 0) -> list[int]:
    return [offset + locate(digits, i) for i in range(size)]


@pytest.mark.parametrize("end", range(1, 25))
def test_the_pieces_of_a_range_are_all_of_the_range(end: int) -> None:
    for begin in range(end):
        pieces = cut_digits(tuple(DIGITS), begin, end, 1000)
        assert len(pieces) <= 2 * len(DIGITS) - 1
        found = [value for digits, size, offset in pieces for value in values(digits, size, offset)]
        assert found == [1000 + value for value in VALUES[begin:end]]


def test_a_range_of_whole_digits_is_one_piece() -> None:
    assert cut_digits(tuple(DIGITS), 4, 12) == [(((2, 9), (4, 1)), 8, 9)]
    assert cut_digits(tuple(DIGITS), 17, 20) == [(((3, 1),), 3, 60)]
    assert cut_digits((), 0, 1, 7) == [((), 1, 7)]
    assert [size for _, size, _ in cut_digits(tuple(DIGITS), 5, 23)] == [3, 4, 8, 3]


@pytest.mark.parametrize("step", range(1, 30))
def test_every_step_th_value_or_none_where_the_step_does_not_divide(step: int) -> None:
    digits = sub_sample_digits(DIGITS, step)
    expected = VALUES[::step]
    if step in {1, 2, 4, 12, 24}:
        assert digits is not None
        assert values(digits, len(expected)) == expected
    else:
        assert digits is None


def test_regroup_needs_boundaries_that_divide() -> None:
    assert regroup([(6, 1), (4, 6)], (2, 3, 4)) == (3, 1, 6)
    assert regroup([(6, 1), (4, 6)], (12, 2)) == (((6, 1), (2, 12)), 6)
    assert regroup([(6, 1), (4, 6)], (3, 8)) == (2, ((2, 1), (4, 6)))
    assert regroup([(6, 1), (4, 6)], (8, 3)) is None
    assert regroup([], (1, 1)) == (0, 0)


KID = [(4, 100), (6, 10), (2, 1)]
KID_VALUES = values(KID, 48)


@pytest.mark.parametrize(
    ("shape", "dims", "off"),
    [
        ((4, 12), (12, 1), 0),
        ((2, 3), (-12, 4), 36),
        ((3, 2), (0, -1), 7),
        ((3, 5), (0, 2), 2),
        ((24,), (2,), 0),
        ((12,), (-4,), 44),
        ((4,), (((2, -24), (2, 4)),), 24),
        ((1, 2), (7, 24), 5),
    ],
)
def test_a_composition_shows_what_both_views_show(
    shape: tuple[int, ...], dims: tuple[int, ...], off: int
) -> None:
    found = compose(shape, dims, off, KID, 1000)
    assert found is not None
    space = Storage(0, 0, 2000)
    for index in product(*map(range, shape)):
        view = View(shape, dims, off, space)
        place = View(shape, found[0], found[1], space)
        for i in index:
            view, place = view.index(i), place.index(i)
        assert place.off == 1000 + KID_VALUES[view.off]


def test_a_composition_that_may_carry_is_refused() -> None:
    assert compose((5,), (3,), 0, KID, 0) is None
    assert compose((2,), (1,), 1, KID, 0) is None
    assert compose((7,), (2,), 4, KID, 0) is None


def test_pieces_that_join_but_fit_no_shape_get_a_layer() -> None:
    rows = all_of(Storage(0, 0, 300), (3, 100)).slice(0, 4, 1)
    a, b, c = (rows.index(i) for i in range(3))
    first = concat([a, b.slice(0, 2, 0)], 0).reshape((1, 6))
    second = concat([b.slice(2, 4, 0), c], 0).reshape((1, 6))
    joined = concat([first, second], 0)
    assert isinstance(joined.space, Cat)
    assert len(joined.space.kids) == 1
    assert joined.reshape((3, 4)) == rows


def test_equal_lengths_of_many_runs_take_no_memory() -> None:
    begin, length = runs(all_of(Storage(0, 0, 10_000), (100, 100)).dim_shuffle((1, 0)))
    assert len(begin) == len(length) == 10_000
    assert length.strides == (0,)


def test_views_print_what_they_are_made_of() -> None:
    constant = Storage(3, 40, 12, constant=True)
    assert repr(constant) == "<Storage constant 3, 12 elements at 40>"
    view = all_of(constant, (3, 4)).dim_shuffle((1, 0)).slice(1, 4, 0)
    assert repr(view) == f"View(shape=(3, 3), dims=(1, 4), off=1, space={constant!r})"
    joined = concat([view, view.reverse(0)], 0)
    assert repr(joined.space) == "<Cat of 2 views, 1 times, 18 elements>"
    assert view != "view"
    assert num_runs(joined) == 18
