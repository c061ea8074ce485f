"""Aliases and intersections of concatenations of many pieces: one test for each rung."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from poplite.errors import SizeOverflowError
from poplite.view import (
    Storage,
    View,
    address_sets,
    aliases,
    all_of,
    concat,
    concat_slices,
    contains_aliases,
    contains_constant,
    intersects,
)

SPACE = Storage(0, 0, 64 * 256)
MATRIX = all_of(SPACE, (64, 256))


def shuffled(pieces: list[View], axis: int, seed: int = 1) -> View:
    """The pieces in an order that no stride describes."""
    order = list(pieces)
    Random(seed).shuffle(order)
    return concat(order, axis)


def columns(begin: int, end: int) -> list[View]:
    return [MATRIX.slice(i, i + 1, 1) for i in range(begin, end)]


def rows(begin: int, end: int) -> list[View]:
    return [MATRIX.slice(i, i + 1, 0) for i in range(begin, end)]


def ragged(begin: int, end: int) -> list[View]:
    """Every 251st element from each begin: no common step with the matrix's rows."""
    flat = MATRIX.reshape((64 * 256,))
    return [flat.slice(i, 64 * 256, 0).sub_sample(251, 0) for i in range(begin, end)]


@pytest.fixture
def no_bitmap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a test should be answered without marking elements."""

    def refuse(*_: object, **__: object) -> bool:
        raise AssertionError("marked elements")

    monkeypatch.setattr(aliases, "marks_meet", refuse)


def test_pieces_whose_spans_are_apart(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(rows(0, 64), 0))
    assert contains_aliases(shuffled([*rows(0, 64), MATRIX.slice(9, 10, 0)], 0))
    assert not intersects(shuffled(rows(0, 30), 0), shuffled(rows(30, 64), 0))
    assert intersects(shuffled(rows(0, 31), 0), shuffled(rows(30, 64), 0))


def test_columns_are_apart_by_their_residues(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(columns(0, 256), 1))
    assert not intersects(shuffled(columns(0, 100), 1), shuffled(columns(100, 256), 1))


def test_overlapping_columns_are_found(no_bitmap: None) -> None:
    assert contains_aliases(shuffled([*columns(0, 256), MATRIX.slice(7, 8, 1)], 1))
    assert intersects(shuffled(columns(0, 101), 1), shuffled(columns(100, 256), 1))


def test_irregular_pieces_are_compared_exactly() -> None:
    apart = [*ragged(0, 120), *ragged(120, 251)]
    assert not contains_aliases(shuffled(apart, 0))
    assert contains_aliases(shuffled([*apart, MATRIX.index(3)], 0))
    assert not intersects(shuffled(ragged(0, 120), 0), shuffled(ragged(120, 251), 0))
    assert intersects(shuffled(ragged(0, 121), 0), shuffled(ragged(120, 251), 0))
    row = shuffled([*ragged(0, 120), MATRIX.index(3).slice(0, 1, 0)], 0)
    assert contains_aliases(row) == (3 * 256 % 251 < 120)


def test_many_overlapping_spans_are_marked_in_a_bitmap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "FEW_PAIRS", 0)
    monkeypatch.setattr(aliases, "ELEMENTS_PER_PAIR", 10**9)
    test_irregular_pieces_are_compared_exactly()


def test_part_of_an_aliased_concatenation_is_judged_by_itself() -> None:
    joined = shuffled([*rows(0, 20), MATRIX.slice(5, 6, 0)], 0)
    assert contains_aliases(joined)
    assert not contains_aliases(joined.slice(0, 100, 1).sub_sample(7, 1).slice(0, 3, 0))
    assert contains_aliases(joined.slice(0, 100, 1))


def test_parts_of_concatenations_intersect_by_their_runs() -> None:
    joined = shuffled(rows(0, 20), 0)
    left, right = joined.slice(0, 100, 1), joined.slice(100, 256, 1)
    assert not intersects(left, right)
    assert intersects(left, joined.slice(99, 256, 1))
    assert not intersects(left, shuffled(rows(20, 64), 0).slice(0, 100, 1))
    assert not contains_aliases(concat([left, right], 1))
    assert contains_aliases(concat([left, right, joined.slice(40, 45, 1)], 1))


def test_a_single_repeated_element_counts_for_concatenations_of_variables() -> None:
    other = all_of(Storage(1, 64 * 256 + 1, 256), (1, 256))
    assert not contains_aliases(concat([MATRIX, other], 0))
    assert contains_aliases(concat([MATRIX, other, MATRIX.slice(63, 64, 0)], 0))
    assert intersects(concat([MATRIX, other], 0), other.slice(0, 1, 1))


def permuted(size: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).permutation(size)


def test_many_shuffled_slices() -> None:
    line = all_of(Storage(0, 0, 2**17), (2**17,))
    begin = permuted(2**13) * 16
    assert not contains_aliases(concat_slices(line, begin, begin + 16, 0, 0))
    some, others = (concat_slices(line, b, b + 16, 0, 0) for b in np.split(begin, [5000]))
    assert not intersects(some, others)
    begin[77] = begin[4321] + 15
    assert contains_aliases(concat_slices(line, begin, begin + 16, 0, 0))
    some, others = (concat_slices(line, b, b + 16, 0, 0) for b in np.split(begin, [4000]))
    assert intersects(some, others)


def test_slices_of_different_lengths() -> None:
    line = all_of(Storage(0, 0, 2**17), (2**17,))
    begin = permuted(2**13) * 16
    end = begin + np.random.default_rng(2).integers(1, 17, begin.size)
    assert not contains_aliases(concat_slices(line, begin, end, 0, 0))
    end[begin == 160] = 177
    assert contains_aliases(concat_slices(line, begin, end, 0, 0))


@pytest.mark.parametrize("axis", [0, 1])
def test_pieces_of_a_matrix_too_large_to_mark(no_bitmap: None, axis: int) -> None:
    matrix = all_of(Storage(0, 0, 2**40), (2**20, 2**20))
    begin = permuted(2**10) * 1024
    pieces = concat_slices(matrix, begin, begin + 5, axis, axis)
    assert not contains_aliases(pieces)
    assert not intersects(pieces, matrix.slice(5, 1024, axis))
    assert intersects(pieces, matrix.slice(4, 1024, axis))
    assert contains_aliases(concat([pieces, matrix.slice(1028, 1029, axis)], axis))


def test_views_of_a_space_without_aliases_are_compared_by_position(no_bitmap: None) -> None:
    matrix = all_of(Storage(0, 0, 2**40), (2**20, 2**20))
    begin = permuted(2**10) * 1024
    space = concat_slices(matrix, begin, begin + 5, 1, 1)
    left, right = space.slice(0, 99, 1), space.slice(99, 5120, 1)
    assert not intersects(left, right)
    assert intersects(left, space.slice(98, 5120, 1))
    assert not contains_aliases(concat([right, left, left.slice(0, 0, 1)], 1))
    assert contains_aliases(concat([right, left, left.slice(7, 8, 1)], 1))
    order = permuted(1024, seed=2) * 5
    assert not contains_aliases(concat_slices(space, order, order + 3, 1, 1))
    assert contains_aliases(concat_slices(space, order, order + np.where(order, 3, 6), 1, 1))


def test_positions_say_nothing_where_the_space_has_aliases() -> None:
    order = [*rows(0, 10), *rows(10, 20)[::-1], MATRIX.slice(5, 6, 0)]
    space = concat([order[i] for i in (3, 0, 7, 5, 1, 9, 2, 4, 8, 6, *range(10, 21))], 0)
    first, second = (space.slice(a, b, 0).slice(0, 100, 1) for a, b in ((0, 10), (10, 21)))
    assert not contains_aliases(first)
    assert not contains_aliases(second)
    assert contains_aliases(concat([second, first], 0))
    assert intersects(first, second)


def test_overlapping_windows_of_a_space_do_not_read_all_of_it() -> None:
    space = shuffled(rows(0, 12), 0).reshape((12 * 256,))
    windows = concat([space.slice(0, 6 * 256, 0), space.slice(3 * 256, 9 * 256, 0)], 0)
    assert windows.num_elements == space.num_elements
    assert intersects(windows, space.slice(8 * 256, 12 * 256, 0).reshape((4, 256)).slice(3, 9, 1))
    last = concat([space.slice(9 * 256, 10 * 256, 0), MATRIX.index(60), space.slice(0, 0, 0)], 0)
    assert not intersects(windows, last)


def test_one_longer_slice_of_overlapping_windows() -> None:
    line = all_of(Storage(0, 0, 2**12), (2**12,))
    windows = concat([line.slice(i, i + 5, 0).reshape((1, 5)) for i in range(2**11)], 0)
    begin = permuted(200) * 10
    assert not contains_aliases(concat_slices(windows, begin, begin + 1, 0, 0))
    end = begin + np.where(begin == 70, 2, 1)
    assert contains_aliases(concat_slices(windows, begin, end, 0, 0))


def test_parts_with_too_many_runs_to_list_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MOST_RUNS", 10)
    test_part_of_an_aliased_concatenation_is_judged_by_itself()
    test_parts_of_concatenations_intersect_by_their_runs()


def test_constants_that_a_view_may_reach() -> None:
    constant = all_of(Storage(1, 2**41, 256, constant=True), (256,))
    line = all_of(Storage(0, 0, 2**40), (2**40,))
    joined = concat([line, constant, line], 0)
    assert contains_constant(joined)
    assert contains_constant(joined.slice(5, 2**40 + 1, 0).sub_sample(2**40 - 5, 0))
    assert not contains_constant(joined.sub_sample(2**40 + 300, 0))


def test_pieces_too_many_and_too_wide_raise_with_the_numbers() -> None:
    """A thousand combs without a common step, over 2^40 addresses."""
    line = all_of(Storage(0, 0, 2**40), (2**40,))
    combs = [line.slice(i, 2**40, 0).sub_sample(2**20 + i, 0) for i in range(1500)]
    fix = "compare smaller slices"
    with pytest.raises(
        SizeOverflowError,
        match=r"too hard to compare: 1,500 strided pieces over 1,09\d.* \(at most 1,048,576 pairs",
    ) as caught:
        contains_aliases(concat(combs, 0))
    assert fix in str(caught.value)
    with pytest.raises(
        SizeOverflowError, match="too hard to compare: .* over 8,589,934,593 addresses"
    ):
        aliases.marks_meet([[]], 0, address_sets.LARGEST_SPAN)
