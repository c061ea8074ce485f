"""The operations of `compute` against unlimited ints, fractions and NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import INT_MAX, INT_MIN, Kind, Number, binary_kind

EDGES = [0, 1, -1, 2, 63, 2**31, -(2**31), 2**53 + 1, INT_MAX, INT_MIN, INT_MIN + 1]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, 3e38, math.inf, -math.inf, math.nan]

ints = st.sampled_from(EDGES) | st.integers(INT_MIN, INT_MAX)
doubles = st.sampled_from(SPECIAL) | st.floats()
singles = (st.sampled_from(SPECIAL) | st.floats(width=32)).map(np.float32)
numbers: st.SearchStrategy[Number] = st.booleans() | ints | doubles | singles

SYMBOLS: dict[str, Callable[[Number, Number], Number]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "//": arithmetic.floor_divide,
    "%": arithmetic.modulo,
}
UFUNCS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def same(one: Number, other: Number) -> bool:
    """Whether two values have one type and equal bits; all NaNs are one."""
    if type(one) is not type(other):
        return False
    if one != one or other != other:
        return one != one and other != other
    return one == other and math.copysign(1, one) == math.copysign(1, other)


@given(left=ints, right=ints)
def test_ints_are_two_s_complement(left: int, right: int) -> None:
    exact = {"+": left + right, "-": left - right, "*": left * right}
    if right and (left, right) != (INT_MIN, -1):
        exact |= {"//": left // right, "%": left % right}
    for symbol, value in exact.items():
        result = SYMBOLS[symbol](left, right)
        assert isinstance(result, int)
        assert INT_MIN <= result <= INT_MAX
        assert (result - value) % 2**64 == 0
    assert arithmetic.floor_divide(left, 0) == arithmetic.modulo(left, 0) == 0


@given(left=numbers, right=numbers)
def test_every_operation_has_the_kind_that_typing_expects(left: Number, right: Number) -> None:
    one, other = arithmetic.kind_of(left), arithmetic.kind_of(right)
    for symbol, operation in SYMBOLS.items():
        assert arithmetic.kind_of(operation(left, right)) is binary_kind(symbol, one, other)
    for operation in (arithmetic.minimum, arithmetic.maximum):
        assert arithmetic.kind_of(operation(left, right)) is max(one, other, Kind.INT)


@given(left=numbers, right=singles, swap=st.booleans())
def test_with_a_float32_all_is_float32(left: Number, right: np.float32, swap: bool) -> None:
    pair = (right, left) if swap else (left, right)
    one, other = (np.array([arithmetic.as_f32(value)]) for value in pair)
    for symbol, operation in SYMBOLS.items():
        expected = UFUNCS[symbol](one, other)
        assert expected.dtype == np.float32
        assert same(operation(*pair), expected[0]), symbol
    assert arithmetic.less(*pair) == bool((one < other)[0])
    assert arithmetic.equal(*pair) == bool((one == other)[0])


@given(left=doubles | ints, right=doubles)
def test_without_a_float32_floats_are_doubles(left: Number, right: float) -> None:
    one, other = np.array([float(left)]), np.array([right])
    for symbol, operation in SYMBOLS.items():
        expected = float(UFUNCS[symbol](one, other)[0])
        assert same(operation(left, right), expected), symbol


@given(value=ints)
def test_an_int_becomes_float32_in_one_rounding(value: int) -> None:
    rounded = arithmetic.as_f32(value)
    below, above = (np.nextafter(rounded, np.float32(end)) for end in (-math.inf, math.inf))
    error = abs(Fraction(float(rounded)) - value)
    assert error <= abs(Fraction(float(below)) - value)
    assert error <= abs(Fraction(float(above)) - value)


@given(value=doubles | singles)
def test_conversions_to_int_saturate(value: Number) -> None:
    for function, rounding in (
        (arithmetic.truncate, math.trunc),
        (arithmetic.floor, math.floor),
        (arithmetic.ceil, math.ceil),
    ):
        if value != value:
            expected = 0
        elif math.isinf(value):
            expected = INT_MAX if value > 0 else INT_MIN
        else:
            expected = min(max(rounding(float(value)), INT_MIN), INT_MAX)
        assert function(value) == expected


@given(value=singles)
def test_functions_of_a_float32_are_correctly_rounded(value: np.float32) -> None:
    assert same(arithmetic.sqrt(value), np.sqrt(value))
    for name in ("exp", "log", "sin", "cos", "tanh"):
        result = getattr(arithmetic, name)(value)
        double = getattr(np, name)(np.float64(value))
        assert isinstance(result, np.float32)
        assert same(result, np.float32(double)) or abs(result - double) <= abs(np.spacing(result))


@given(value=singles, kind=st.sampled_from([Kind.F32]))
def test_widening_what_is_wide_changes_nothing(value: np.float32, kind: Kind) -> None:
    assert same(arithmetic.cast(value, kind), value)


@given(
    start=st.integers(-20, 20), stop=st.integers(-20, 20), step=st.sampled_from([-3, -1, 1, 2, 7])
)
def test_indices_are_those_of_range(start: int, stop: int, step: int) -> None:
    assert list(arithmetic.indices(start, stop, step)) == list(range(start, stop, step))
    assert list(arithmetic.indices(start, stop)) == list(range(start, stop))
    assert list(arithmetic.indices(stop)) == list(range(stop))


@given(base=ints | doubles | singles, exponent=st.integers(0, 64))
def test_powers_are_products(base: Number, exponent: int) -> None:
    expected = arithmetic.cast(1, arithmetic.kind_of(base))
    if isinstance(base, int):
        for _ in range(exponent):
            expected = arithmetic.multiply(expected, base)
        assert arithmetic.power(base, exponent) == expected
    elif exponent <= 2:
        for _ in range(exponent):
            expected = arithmetic.multiply(expected, base)
        assert same(arithmetic.power(base, exponent), expected)


@given(value=ints, count=st.integers(0, 63))
def test_shifts(value: int, count: int) -> None:
    assert (arithmetic.left_shift(value, count) - value * 2**count) % 2**64 == 0
    assert arithmetic.right_shift(value, count) == value // 2**count
