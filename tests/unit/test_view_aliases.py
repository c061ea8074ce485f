"""Aliases and intersections of concatenations of many pieces: one test for each rung."""

from __future__ import annotations

from random import Random

import pytest

from poplite.view import Storage, View, aliases, concat, contains_aliases, intersects, whole

SPACE = Storage(0, 0, 64 * 256)
MATRIX = whole(SPACE, (64, 256))


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

    monkeypatch.setattr(aliases, "_marks_meet", refuse)


def test_pieces_whose_spans_are_apart(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(rows(0, 64), 0))
    assert contains_aliases(shuffled([*rows(0, 64), MATRIX.slice(9, 10, 0)], 0))
    assert not intersects(shuffled(rows(0, 30), 0), shuffled(rows(30, 64), 0))
    assert intersects(shuffled(rows(0, 31), 0), shuffled(rows(30, 64), 0))


def test_columns_are_apart_by_their_residues(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(columns(0, 256), 1))
    assert not intersects(shuffled(columns(0, 100), 1), shuffled(columns(100, 256), 1))


def test_overlapping_columns_are_found() -> None:
    assert contains_aliases(shuffled([*columns(0, 256), MATRIX.slice(7, 8, 1)], 1))
    assert intersects(shuffled(columns(0, 101), 1), shuffled(columns(100, 256), 1))


def test_irregular_pieces_are_marked_in_a_bitmap() -> None:
    apart = [*ragged(0, 120), *ragged(120, 251)]
    assert not contains_aliases(shuffled(apart, 0))
    assert contains_aliases(shuffled([*apart, MATRIX.index(3)], 0))
    assert not intersects(shuffled(ragged(0, 120), 0), shuffled(ragged(120, 251), 0))
    assert intersects(shuffled(ragged(0, 121), 0), shuffled(ragged(120, 251), 0))
    row = shuffled([*ragged(0, 120), MATRIX.index(3).slice(0, 1, 0)], 0)
    assert contains_aliases(row) == (3 * 256 % 251 < 120)


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
    other = whole(Storage(1, 64 * 256 + 1, 256), (1, 256))
    assert not contains_aliases(concat([MATRIX, other], 0))
    assert contains_aliases(concat([MATRIX, other, MATRIX.slice(63, 64, 0)], 0))
    assert intersects(concat([MATRIX, other], 0), other.slice(0, 1, 1))
