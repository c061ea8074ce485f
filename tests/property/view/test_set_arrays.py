"""Many strided sets at once, beside the same sets listed element by element."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.jit.build import address, native
from poplite.jit.kernels.aliasing import MARK, TEST, add_multiples, visit
from poplite.view import aliases

Comb = tuple[int, list[tuple[int, int]]]

strides = st.just(0) | st.integers(-9, 40)
digits = st.lists(st.tuples(st.integers(1, 4), strides), min_size=3, max_size=3)
grid = st.tuples(st.integers(0, 30), st.just([(7, 32), (1, 8), (2, 1)]))
interval = st.tuples(st.integers(0, 300), st.integers(1, 9).map(lambda n: [(1, 0), (1, 4), (n, 1)]))
combs = st.lists(st.tuples(st.integers(0, 300), digits) | grid | interval, min_size=1, max_size=9)
intervals = st.lists(interval, min_size=1, max_size=30)
grids = st.lists(grid, min_size=1, max_size=12)


def members(comb: Comb) -> list[int]:
    base, digits = comb
    places = product(*[range(extent) for extent, _ in digits])
    return [base + sum(i * s for i, (_, s) in zip(at, digits, strict=True)) for at in places]


def sets_of(combs: list[Comb]) -> aliases.Sets:
    extent = np.array([[e for e, _ in digits] for _, digits in combs], np.int64)
    stride = np.array([[s for _, s in digits] for _, digits in combs], np.int64)
    return aliases.sets_of(np.array([base for base, _ in combs], np.int64), extent, stride)


def injective(combs: list[Comb]) -> list[Comb]:
    return [comb for comb in combs if len(set(members(comb))) == len(members(comb))]


RUNGS = {
    "as it comes": {},
    "marks": {"MANY": 0, "FEW_PAIRS": 0, "ELEMENTS_PER_PAIR": 10**12, "ADDRESSES_PER_SET": 10**12},
    "pairs": {"LARGEST_SPAN": 0},
}


@pytest.fixture(params=RUNGS)
def rung(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer by one of the means only."""
    for name, value in RUNGS[request.param].items():
        monkeypatch.setattr(aliases, name, value)


@pytest.mark.usefixtures("rung")
class TestOnEveryRung:
    """Hypothesis draws many examples for each rung."""

    @given(combs.map(injective).filter(bool) | intervals | grids)
    def test_sets_meet_each_other(self, combs: list[Comb]) -> None:
        expected = any(set(members(a)) & set(members(b)) for a, b in combinations(combs, 2))
        assert aliases.any_meet(sets_of(combs)) == expected

    @given(combs | intervals | grids, combs | intervals | grids)
    def test_sets_meet_those_of_another_group(self, a: list[Comb], b: list[Comb]) -> None:
        everything = [{n for comb in group for n in members(comb)} for group in (a, b)]
        assert aliases.any_meet(sets_of(a), sets_of(b)) == bool(everything[0] & everything[1])


def test_a_set_whose_residues_go_round_does_not_meet_itself() -> None:
    """Ten columns of a matrix, and a set far from them with more residues than there are."""
    columns: list[Comb] = [(i, [(9, 10), (1, 0)]) for i in range(10)]
    assert not aliases.any_meet(sets_of([*columns, (1000, [(2, 10), (4, 7)])]))


@given(combs)
def test_the_bitmap_holds_the_members(combs: list[Comb]) -> None:
    numbers = sorted({n for comb in combs for n in members(comb)})
    group = sets_of(combs)
    low, high = numbers[0], numbers[-1]
    bits = np.zeros((high - low >> 3) + 1, np.uint8)
    index = np.empty(3, np.int64)
    arrays = [address(part) for part in (group.low, group.extent, group.stride)]
    where = address(bits), low, *arrays, len(combs), 3, address(index)
    assert native(visit)(*where, TEST) == 0
    assert native(visit)(*where, MARK) == 0
    marked = np.flatnonzero(np.unpackbits(bits, bitorder="little")) + low
    assert marked.tolist() == numbers
    assert native(visit)(*where, TEST) == 1


@given(st.lists(st.tuples(st.integers(2, 30), st.integers(1, 70)), max_size=4))
def test_sums_are_those_listed(digits: list[tuple[int, int]]) -> None:
    numbers = sorted(set(members((0, digits))))
    bits = np.zeros((numbers[-1] >> 6) + 1, np.int64)
    bits[0] = 1
    for extent, stride in digits:
        native(add_multiples)(address(bits), len(bits), extent, stride)
    found = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
    assert found.tolist() == numbers
