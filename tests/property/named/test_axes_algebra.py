"""The algebra of axes against that of Python's lists and sets."""

from __future__ import annotations

from hypothesis import given, strategies as st

import poplite.named as ng
from poplite.named.axes import joint_order

ALL = [ng.make_axis(length, name) for length, name in enumerate("ABCDEF")]

some = st.lists(st.sampled_from(ALL), unique=True, max_size=5)


@given(one=some, other=some)
def test_as_lists_and_sets(one: list[ng.Axis], other: list[ng.Axis]) -> None:
    a, b = ng.make_axes(one), ng.make_axes(other)
    assert list(a - b) == [each for each in one if each not in other]
    assert list(a & b) == [each for each in one if each in other]
    assert list(a | b) == [*one, *(each for each in other if each not in one)]
    assert a.is_sub_set(b) == (set(one) <= set(other))
    assert a.is_super_set(b) == (set(one) >= set(other))
    assert a.is_equal_set(b) == (set(one) == set(other)) != a.is_not_equal_set(b)
    assert (a == b) == (one == other)
    assert (a == b) <= (hash(a) == hash(b))
    assert (a | b) - b == a - b
    assert ((a - b) + (a & b)).is_equal_set(a)
    if not set(one) & set(other):
        assert list(a + b) == one + other


@given(one=some, other=some)
def test_the_order_of_operands_follows_the_rules(one: list[ng.Axis], other: list[ng.Axis]) -> None:
    a, b = ng.make_axes(one), ng.make_axes(other)
    found = list(joint_order(a, b))
    if set(other) <= set(one):
        assert found == one
    elif set(one) < set(other):
        assert found == other
    else:
        assert found == [*one, *(each for each in other if each not in one)]
    assert set(found) == set(joint_order(b, a))
