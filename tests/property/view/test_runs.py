"""Runs of views and strided sets against dense address arrays."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from itertools import combinations, product
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Digit, coalesce, pack
from poplite.errors import SizeOverflowError
from poplite.jit.build import address, native
from poplite.jit.kernels_views import MARK, TEST, add_multiples, visit
from poplite.view import (
    Storage,
    View,
    address_at,
    address_sets,
    addresses,
    aliases,
    chunks,
    empty,
    is_contiguous,
    num_runs,
    runs,
    runs_of_many,
    storages,
)
from poplite.view.concatenation import SlicedViews
from poplite.view.intervals_of_view import few_runs
from poplite.view.view import Cat

# -- runs ------------------------------------------------------------------------------------------
# Views are built from digits, not by operations, so that every kind of leaf, step and carry turns
# up.  The limits below which no kernel is used are lowered, so that small views meet all kernels.


Pair = tuple[View, Int64]

randoms = st.randoms(use_true_random=False)

LIMITS = {
    "as they are": (64, 4096, 1024, 8, 2**18),
    "all by kernels": (-1, 4096, 1024, 8, 2**18),
    "small blocks": (-1, 12, 5, 8, 100),
    "spaces never lowered to runs": (-1, 8, 3, 10**9, 0),
    "spaces always lowered to runs": (2, 6, 2, 0, 10),
}
"""`FEW` of runs and of kernels, `SMALL` and `BLOCK`, `ELEMENTS_PER_RUN`, `FEW_LEAVES`."""


@contextlib.contextmanager
def limits(name: str) -> Iterator[None]:
    few, small, block, per_run, leaves = LIMITS[name]
    with (
        mock.patch("poplite.view.intervals_of_view.FEW", few),
        mock.patch("poplite.jit.build.FEW", few),
        mock.patch("poplite.arrays.series.SMALL", small),
        mock.patch("poplite.arrays.series.BLOCK", block),
        mock.patch("poplite.view.concatenation_leaves.ELEMENTS_PER_RUN", per_run),
        mock.patch("poplite.view.concatenation_leaves.FEW_LEVELS", 1),
        mock.patch("poplite.view.concatenation_leaves.FEW_LEAVES", leaves),
    ):
        yield


def dense(digits: list[Digit], base: int) -> Int64:
    """Every number that digits write."""
    values = np.array([base])
    for extent, stride in digits:
        values = (values[:, None] + np.arange(extent) * stride).reshape(-1)
    return values


def random_digits(random: Random, size: int, room: int) -> list[Digit]:
    """Digits of `size` indices whose numbers span at most `room`, not coalesced."""
    extents = []
    while size > 1:
        extent = random.choice([d for d in range(2, size + 1) if size % d == 0])
        extents.append(extent)
        size //= extent
    digits = []
    for extent in extents:
        # Often row-major, so that runs and joins turn up, otherwise anything that fits.
        most = (room - 1) // (extent - 1)
        stride = random.choice([1, 1, math.prod(extents), random.randint(0, 9)])
        stride = min(stride, most) * random.choice([1, 1, 1, -1])
        room -= abs(stride) * (extent - 1)
        digits.append((extent, stride))
    random.shuffle(digits)
    return digits


def lowest(digits: list[Digit]) -> int:
    return sum([(e - 1) * s for e, s in digits if s < 0])


def span(digits: list[Digit]) -> int:
    return sum([(e - 1) * abs(s) for e, s in digits]) + 1


def random_set(random: Random, size: int) -> Pair:
    """A strided set of `size` addresses, flat."""
    digits = random_digits(random, size, 500)
    storage = Storage(0, random.choice([0, 7]), span(digits) + 5)
    off = random.randint(0, 5) - lowest(digits)
    view = View((size,), (pack(coalesce(digits)),), off, storage)
    return view, dense(digits, storage.base + off)


STORAGES = tuple(Storage(k, 701 * k, 700) for k in range(3))


def random_space(random: Random, below: list[Pair]) -> tuple[Storage | Cat, Int64]:
    """A variable or a space made before, and its addresses."""
    if below and random.random() < 0.4:
        view, numbers = random.choice(below)
        return view.space, numbers
    storage = random.choice(STORAGES)
    return storage, np.arange(storage.base, storage.base + storage.num_elements)


def random_kid(random: Random, outer: int, chunk: int, below: list[Pair]) -> Pair:
    """A view (outer, chunk)."""
    space, numbers = random_space(random, below)
    heads = random_digits(random, outer, len(numbers))
    tails = random_digits(random, chunk, len(numbers) - span(heads) + 1)
    digits = heads + tails
    off = random.randint(0, len(numbers) - span(digits)) - lowest(digits)
    dims = (pack(coalesce(heads)), pack(coalesce(tails)))
    found = numbers[dense(digits, off)].reshape(outer, chunk)
    return View((outer, chunk), dims, off, space), found


def random_pieces(random: Random, outer: int, below: list[Pair]) -> tuple[SlicedViews, list[Int64]]:
    """Slices of one view (outer, axis, inner)."""
    space, numbers = random_space(random, below)
    heads = random_digits(random, outer, len(numbers))
    axis, inner = random.randint(1, 9), random.randint(1, 6)
    step = random.choice([inner, inner + 1, 1, 2])
    if span([*heads, (axis, step), (inner, 1)]) > len(numbers):
        axis, inner, step = 1, 1, 1
    off = -lowest(heads)
    shape = (outer, axis, inner)
    template = View(shape, (pack(coalesce(heads)), step, 1), off, space)
    where = numbers[dense([*heads, (axis, step), (inner, 1)], off)].reshape(shape)
    begin = np.array([random.randrange(axis) for _ in range(random.randint(1, 12))])
    extent = np.array([random.randint(1, axis - b) for b in begin.tolist()])
    slices = zip(begin.tolist(), extent.tolist(), strict=True)
    parts = [where[:, b : b + n].reshape(outer, n * inner) for b, n in slices]
    return SlicedViews(template, extent, off + begin * step), parts


def random_cat(random: Random, below: list[Pair]) -> Pair:
    """A space read from end to end, and its addresses."""
    outer = random.choice([1, 1, 2, 3, 6])
    kids: tuple[View, ...] | SlicedViews
    if random.random() < 0.4:
        kids, parts = random_pieces(random, outer, below)
    else:
        chunks = [random.choice([1, 2, 3, 8, 12, 20, 30]) for _ in range(random.randint(1, 6))]
        pairs = [random_kid(random, outer, chunk, below) for chunk in chunks]
        kids, parts = tuple([kid for kid, _ in pairs]), [found for _, found in pairs]
    cat = Cat(kids, outer)
    found = np.concatenate(parts, 1).reshape(-1)
    return View((cat.num_elements,), (1,), 0, cat), found


def random_view_of(random: Random, whole: View, numbers: Int64) -> Pair:
    """A random strided view of a space."""
    size = len(numbers)
    wanted = random.choice([1, 4, 12, 36, 60, 128, 240])
    digits = random_digits(random, wanted, size)
    if random.random() < 0.4:
        # As a matrix, transposed: steps to neighbours outside a step over many leaves.
        columns = random.choice([16, 17, 20, 40])
        rows = size // columns
        if rows > 1:
            digits = [(columns, 1), (rows, columns)]
    off = random.randint(0, size - span(digits)) - lowest(digits)
    total = math.prod([e for e, _ in digits])
    view = View((total,), (pack(coalesce(digits)),), off, whole.space)
    return view, numbers[dense(digits, off)]


def check(view: View, found: Int64, random: Random) -> None:
    """Every question about runs has the answer of the dense array."""
    first = np.flatnonzero(np.append(True, np.diff(found) != 1))
    begins = found[first].tolist()
    lengths = np.diff(first, append=len(found)).tolist()
    assert [a.tolist() for a in runs(view)] == [begins, lengths]
    assert few_runs(view) in (None, (begins, lengths))
    assert num_runs(view) == len(begins)
    assert is_contiguous(view) == (len(begins) == 1)
    assert addresses(view).tolist() == found.tolist()
    at = random.randrange(len(found))
    assert address_at(view, at) == found[at]
    most = random.randint(1, 50)
    parts = list(chunks(view, most))
    assert [len(part) for part, _ in parts if not 0 < len(part) <= most] == []
    assert [x for part, _ in parts for x in part.tolist()] == begins
    assert [x for _, part in parts for x in part.tolist()] == lengths


@pytest.mark.parametrize("name", LIMITS)
@given(random=randoms)
def test_strided_sets_are_listed_as_their_addresses(name: str, random: Random) -> None:
    with limits(name):
        for _ in range(3):
            check(*random_set(random, random.choice([1, 7, 24, 60, 96, 210, 256])), random)


@pytest.mark.parametrize("name", LIMITS)
@given(random=randoms)
def test_concatenations_are_listed_as_their_addresses(name: str, random: Random) -> None:
    with limits(name):
        below: list[Pair] = []
        for _ in range(3):
            whole, numbers = random_cat(random, below)
            below.append((whole, numbers))
            check(whole, numbers, random)
            view, found = random_view_of(random, whole, numbers)
            check(view, found, random)
            used = {int(a) // 701 for a in found}
            assert {storage.id for storage in storages(view)} == used


@pytest.mark.parametrize("name", LIMITS)
@given(random=randoms)
def test_runs_of_many_views_are_those_of_each(name: str, random: Random) -> None:
    views = [random_set(random, random.choice([1, 4, 12, 30]))[0] for _ in range(6)]
    views.append(empty((0, 2)))
    views += [random_view_of(random, *random_cat(random, []))[0] for _ in range(2)]
    random.shuffle(views)
    with limits(name):
        first, begin, length = runs_of_many(views)
        assert len(first) == len(views) + 1
        for i, view in enumerate(views):
            part = slice(first[i], first[i + 1])
            assert [begin[part].tolist(), length[part].tolist()] == [a.tolist() for a in runs(view)]


# -- strided sets ----------------------------------------------------------------------------------


Digits = list[tuple[int, int]]

digits = st.lists(st.tuples(st.integers(2, 6), st.integers(-40, 40)), max_size=4)
irregular = st.lists(st.tuples(st.integers(2, 9), st.integers(20, 90)), min_size=2, max_size=4)


def members(base: int, digits: Digits) -> list[int]:
    places = product(*[range(extent) for extent, _ in digits])
    return [base + sum(i * s for i, (_, s) in zip(at, digits, strict=True)) for at in places]


@given(digits | irregular)
def test_repeats_is_whether_a_listed_number_occurs_twice(digits: Digits) -> None:
    numbers = members(0, digits)
    assert address_sets.repeats(digits) == (len(set(numbers)) < len(numbers))


@given(st.integers(-50, 50), digits | irregular, digits | irregular)
def test_meet_is_whether_the_listed_sets_share_a_number(base: int, a: Digits, b: Digits) -> None:
    assert address_sets.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))


@pytest.mark.parametrize("compiled_steps", [100_000, 2, 0])
@given(base=st.integers(-50, 50), a=irregular, b=irregular)
def test_the_compiled_search_and_bit_sets_give_the_same_answers(
    compiled_steps: int, base: int, a: Digits, b: Digits
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(address_sets, "FIRST_STEPS", 0)
        patch.setattr(address_sets, "SEARCH_STEPS", compiled_steps)
        assert address_sets.meet(base, a, 0, b) == bool(set(members(base, a)) & set(members(0, b)))
        numbers = members(0, a)
        assert address_sets.repeats(a) == (len(set(numbers)) < len(numbers))


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
        patch.setattr(address_sets, "FIRST_STEPS", 0)
        assert address_sets.repeats(digits) == (len(set(numbers)) < len(numbers))


@given(st.lists(st.tuples(st.integers(2, 40), st.integers(1, 99)), min_size=1, max_size=5))
def test_repeats_agrees_with_islpy(digits: Digits) -> None:
    islpy = pytest.importorskip("islpy")
    names = [f"x{i}" for i in range(len(digits))]
    terms = " + ".join(f"{s} * {name}" for name, (_, s) in zip(names, digits, strict=True))
    bounds = " and ".join(f"0 <= {name} < {e}" for name, (e, _) in zip(names, digits, strict=True))
    indexing = islpy.Map(f"{{ [{', '.join(names)}] -> [{terms}] : {bounds} }}")
    assert address_sets.repeats(digits) == (not indexing.is_injective())


@given(st.integers(-50, 50), digits)
def test_span_is_the_least_and_the_greatest_number(base: int, digits: Digits) -> None:
    numbers = members(base, digits)
    assert address_sets.span(base, digits) == (min(numbers), max(numbers))


def test_the_hard_instance_of_the_numpy_manual_is_answered_exactly() -> None:
    """`numpy.shares_memory`: "may take many seconds" on these two."""
    a = [(1049, 36674), (1049, 61119), (1049, 85569)]
    b = [(1049, 12223), (1049, 12224)]
    assert not address_sets.meet(0, a, 64_023_025, b)
    assert not address_sets.meet(64_023_025, b, 0, a)
    member = 3 * 36674 + 5 * 61119 + 7 * 85569
    assert address_sets.meet(member, a, 2 * member - 11 * 12223, b)
    assert address_sets.repeats(a)


def test_too_hard_and_too_wide_raises_with_the_span_and_the_limit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for steps in ("FIRST_STEPS", "SEARCH_STEPS", "LAST_STEPS"):
            patch.setattr(address_sets, steps, 0)
        patch.setattr(address_sets, "LARGEST_SPAN", 1000)
        with pytest.raises(SizeOverflowError, match=r"over 1,193 addresses .*at most 1,000"):
            address_sets.repeats([(8, 101), (6, 97)])
        with pytest.raises(SizeOverflowError, match=r"over 1,193 addresses .*at most 1,000"):
            address_sets.meet(0, [(8, 101), (6, 97)], 0, [(7, 103), (5, 89)])


# -- many strided sets at once ---------------------------------------------------------------------


Comb = tuple[int, list[tuple[int, int]]]

strides = st.just(0) | st.integers(-9, 40)
three_digits = st.lists(st.tuples(st.integers(1, 4), strides), min_size=3, max_size=3)
grid = st.tuples(st.integers(0, 30), st.just([(7, 32), (1, 8), (2, 1)]))
interval = st.tuples(st.integers(0, 300), st.integers(1, 9).map(lambda n: [(1, 0), (1, 4), (n, 1)]))
combs = st.lists(
    st.tuples(st.integers(0, 300), three_digits) | grid | interval, min_size=1, max_size=9
)
intervals = st.lists(interval, min_size=1, max_size=30)
grids = st.lists(grid, min_size=1, max_size=12)


def members_of_comb(comb: Comb) -> list[int]:
    base, digits = comb
    places = product(*[range(extent) for extent, _ in digits])
    return [base + sum(i * s for i, (_, s) in zip(at, digits, strict=True)) for at in places]


def sets_of(combs: list[Comb]) -> aliases.Sets:
    extent = np.array([[e for e, _ in digits] for _, digits in combs], np.int64)
    stride = np.array([[s for _, s in digits] for _, digits in combs], np.int64)
    return aliases.sets_of(np.array([base for base, _ in combs], np.int64), extent, stride)


def injective(combs: list[Comb]) -> list[Comb]:
    return [comb for comb in combs if len(set(members_of_comb(comb))) == len(members_of_comb(comb))]


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
        expected = any(
            set(members_of_comb(a)) & set(members_of_comb(b)) for a, b in combinations(combs, 2)
        )
        assert aliases.any_meet(sets_of(combs)) == expected

    @given(combs | intervals | grids, combs | intervals | grids)
    def test_sets_meet_those_of_another_group(self, a: list[Comb], b: list[Comb]) -> None:
        everything = [{n for comb in group for n in members_of_comb(comb)} for group in (a, b)]
        assert aliases.any_meet(sets_of(a), sets_of(b)) == bool(everything[0] & everything[1])


def test_a_set_whose_residues_go_round_does_not_meet_itself() -> None:
    """Ten columns of a matrix, and a set far from them with more residues than there are."""
    columns: list[Comb] = [(i, [(9, 10), (1, 0)]) for i in range(10)]
    assert not aliases.any_meet(sets_of([*columns, (1000, [(2, 10), (4, 7)])]))


@given(combs)
def test_the_bitmap_holds_the_members(combs: list[Comb]) -> None:
    numbers = sorted({n for comb in combs for n in members_of_comb(comb)})
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
    numbers = sorted(set(members_of_comb((0, digits))))
    bits = np.zeros((numbers[-1] >> 6) + 1, np.int64)
    bits[0] = 1
    for extent, stride in digits:
        native(add_multiples)(address(bits), len(bits), extent, stride)
    found = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
    assert found.tolist() == numbers
