"""Strided sets of integers, beside the same sets listed element by element."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poplite.errors import SizeOverflowError
from poplite.view import strided

Digits = list[tuple[int, int]]

digits = st.lists(st.tuples(st.integers(2, 6), st.integers(-40, 40)), max_size=4)
irregular = st.lists(st.tuples(st.integers(2, 9), st.integers(20, 90)), min_size=2, max_size=4)


def members(base: int, digits: Digits) -> list[int]:
    places = product(*[range(extent) for extent, _ in digits])
    return [base + sum(i * s for i, (_, s) in zip(at, digits, strict=True)) for at in places]


@given(digits | irregular)
def test_repeats_is_whether_a_listed_number_occurs_twice(digits: Digits) -> None:
    numbers = members(0, digits)
    assert strided.repeats(digits) == (len(set(numbers)) < len(numbers))


@given(st.integers(-50, 50), digits | irregular, digits | irregular)
def test_meet_is_whether_the_listed_sets_share_a_number(base: int, a: Digits, b: Digits) -> None:
    assert strided.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))


@given(st.integers(-50, 50), irregular, irregular)
def test_bit_sets_give_the_answers_of_the_search(base: int, a: Digits, b: Digits) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided, "SEARCH_STEPS", 0)
        assert strided.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))
        numbers = members(0, a)
        assert strided.repeats(a) == (len(set(numbers)) < len(numbers))


@given(st.integers(-50, 50), digits)
def test_span_is_the_least_and_the_greatest_number(base: int, digits: Digits) -> None:
    numbers = members(base, digits)
    assert strided.span(base, digits) == (min(numbers), max(numbers))


def test_the_hard_instance_of_the_numpy_manual_is_answered_exactly() -> None:
    """`numpy.shares_memory`: "may take many seconds" on these two."""
    a = [(1049, 36674), (1049, 61119), (1049, 85569)]
    b = [(1049, 12223), (1049, 12224), (1049, 1)]
    assert not strided.meet(0, a, 64_023_025, b)
    assert strided.repeats(a)


def test_too_hard_and_too_wide_raises_with_the_span_and_the_limit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided, "SEARCH_STEPS", 0)
        patch.setattr(strided, "LARGEST_SPAN", 1000)
        with pytest.raises(SizeOverflowError, match=r"over 1,193 addresses .*at most 1,000"):
            strided.repeats([(8, 101), (6, 97)])
