"""The rules of kinds: widening is an order, and operations never narrow."""

from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from poplite.vertex.compute.arithmetic import Kind, binary_kind
from poplite.vertex.compute.typing.facts import NumberValue, meet_numbers

kinds = st.sampled_from(list(Kind))
fresh = st.tuples(kinds, st.booleans()).map(lambda n: NumberValue(n[0], n[1] and n[0] < Kind.FLOAT))
numbers = fresh | st.builds(meet_numbers, fresh, fresh)
symbols = st.sampled_from(["+", "-", "*", "/", "//", "%"])


@given(symbols, kinds, kinds, kinds)
def test_wider_operands_give_no_narrower_result(
    symbol: str, left: Kind, right: Kind, other: Kind
) -> None:
    # Loops are typed by widening until nothing changes; that ends only if this holds.
    narrow = binary_kind(symbol, left, right)
    wide = binary_kind(symbol, max(left, other), right)
    assert narrow is not None
    assert wide is not None
    assert narrow <= wide


@given(numbers, numbers)
def test_meeting_is_symmetric_and_never_narrows(one: NumberValue, other: NumberValue) -> None:
    met = meet_numbers(one, other)
    assert met == meet_numbers(other, one)
    assert met.kind is max(one.kind, other.kind)


@given(numbers)
def test_a_number_that_meets_itself_stays(number: NumberValue) -> None:
    assert meet_numbers(number, number) == number


@given(fresh, fresh, fresh)
def test_a_clash_is_found_in_whatever_order_numbers_meet(
    one: NumberValue, other: NumberValue, last: NumberValue
) -> None:
    orders = {
        (met.kind, met.clash)
        for a, b, c in itertools.permutations((one, other, last))
        for met in (meet_numbers(meet_numbers(a, b), c), meet_numbers(a, meet_numbers(b, c)))
    }
    assert len(orders) == 1


def test_an_int_and_an_unsigned_int_clash_with_a_float() -> None:
    both = meet_numbers(NumberValue(Kind.INT), NumberValue(Kind.UINT))
    assert not both.clash
    for wide in (Kind.FLOAT, Kind.F32):
        assert meet_numbers(both, NumberValue(wide)).clash
        assert not meet_numbers(NumberValue(Kind.UINT), NumberValue(wide)).clash


def test_only_a_long_int_widened_to_a_float_clashes_with_float32() -> None:
    long = meet_numbers(NumberValue(Kind.INT, long=True), NumberValue(Kind.FLOAT))
    short = meet_numbers(NumberValue(Kind.INT), NumberValue(Kind.FLOAT))
    assert meet_numbers(long, NumberValue(Kind.F32)).clash
    assert not meet_numbers(short, NumberValue(Kind.F32)).clash
    assert not meet_numbers(NumberValue(Kind.INT, long=True), NumberValue(Kind.F32)).clash
