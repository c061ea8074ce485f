"""Strided sets of integers, beside the same sets listed element by element."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, strategies as st

from poplite.errors import SizeOverflowError
from poplite.view import strided_sets

Digits = list[tuple[int, int]]

digits = st.lists(st.tuples(st.integers(2, 6), st.integers(-40, 40)), max_size=4)
irregular = st.lists(st.tuples(st.integers(2, 9), st.integers(20, 90)), min_size=2, max_size=4)


def members(base: int, digits: Digits) -> list[int]:
    places = product(*[range(extent) for extent, _ in digits])
    return [base + sum(i * s for i, (_, s) in zip(at, digits, strict=True)) for at in places]


@given(digits | irregular)
def test_repeats_is_whether_a_listed_number_occurs_twice(digits: Digits) -> None:
    numbers = members(0, digits)
    assert strided_sets.repeats(digits) == (len(set(numbers)) < len(numbers))


@given(st.integers(-50, 50), digits | irregular, digits | irregular)
def test_meet_is_whether_the_listed_sets_share_a_number(base: int, a: Digits, b: Digits) -> None:
    assert strided_sets.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))


@pytest.mark.parametrize("compiled_steps", [100_000, 2, 0])
@given(base=st.integers(-50, 50), a=irregular, b=irregular)
def test_the_compiled_search_and_bit_sets_give_the_same_answers(
    compiled_steps: int, base: int, a: Digits, b: Digits
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided_sets, "FIRST_STEPS", 0)
        patch.setattr(strided_sets, "SEARCH_STEPS", compiled_steps)
        assert strided_sets.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))
        numbers = members(0, a)
        assert strided_sets.repeats(a) == (len(set(numbers)) < len(numbers))


@given(
    *[st.integers(2**33, 2**57)] * 2,
    st.lists(st.integers(2, 7), min_size=4, max_size=4),
    *[st.integers(1, 6)] * 2,
)
def test_the_search_does_not_overflow(
    one: int, other: int, extents: list[int], x: int, y: int
) -> None:
    """A stride is the sum of a few of two others, which the extents reach or not."""
    digits = list(zip(extents, (one, other, x * one + y * other, one - other), strict=True))
    numbers = members(0, digits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided_sets, "FIRST_STEPS", 0)
        assert strided_sets.repeats(digits) == (len(set(numbers)) < len(numbers))


@given(st.lists(st.tuples(st.integers(2, 40), st.integers(1, 99)), min_size=1, max_size=5))
def test_repeats_agrees_with_islpy(digits: Digits) -> None:
    islpy = pytest.importorskip("islpy")
    names = [f"x{i}" for i in range(len(digits))]
    terms = " + ".join(f"{s} * {name}" for name, (_, s) in zip(names, digits, strict=True))
    bounds = " and ".join(f"0 <= {name} < {e}" for name, (e, _) in zip(names, digits, strict=True))
    indexing = islpy.Map(f"{{ [{', '.join(names)}] -> [{terms}] : {bounds} }}")
    assert strided_sets.repeats(digits) == (not indexing.is_injective())


@given(st.integers(-50, 50), digits)
def test_span_is_the_least_and_the_greatest_number(base: int, digits: Digits) -> None:
    numbers = members(base, digits)
    assert strided_sets.span(base, digits) == (min(numbers), max(numbers))


def test_the_hard_instance_of_the_numpy_manual_is_answered_exactly() -> None:
    """`numpy.shares_memory`: "may take many seconds" on these two."""
    a = [(1049, 36674), (1049, 61119), (1049, 85569)]
    b = [(1049, 12223), (1049, 12224)]
    assert not strided_sets.meet(0, a, 64_023_025, b)
    assert not strided_sets.meet(64_023_025, b, 0, a)
    member = 3 * 36674 + 5 * 61119 + 7 * 85569
    assert strided_sets.meet(member, a, 2 * member - 11 * 12223, b)
    assert strided_sets.repeats(a)


def test_too_hard_and_too_wide_raises_with_the_span_and_the_limit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for steps in ("FIRST_STEPS", "SEARCH_STEPS", "LAST_STEPS"):
            patch.setattr(strided_sets, steps, 0)
        patch.setattr(strided_sets, "LARGEST_SPAN", 1000)
        with pytest.raises(SizeOverflowError, match=r"over 1,193 addresses .*at most 1,000"):
            strided_sets.repeats([(8, 101), (6, 97)])
        with pytest.raises(SizeOverflowError, match=r"over 1,193 addresses .*at most 1,000"):
            strided_sets.meet(0, [(8, 101), (6, 97)], 0, [(7, 103), (5, 89)])
