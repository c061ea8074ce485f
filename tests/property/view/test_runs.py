"""Runs of random strided sets and random concatenations, beside dense address arrays.

Views are built from digits, not by operations, so that every kind of leaf, step and carry turns
up.  The limits below which no kernel is used are lowered, so that small views meet all kernels.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.arrays.digits import Digit, coalesce, pack
from poplite.arrays.intervals import Int64
from poplite.view import (
    Storage,
    View,
    address_at,
    addresses,
    chunks,
    empty,
    is_contiguous,
    num_runs,
    run_lists,
    runs,
    runs_of_many,
    storages,
)
from poplite.view.slices import SlicedViews
from poplite.view.view import Cat

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
        mock.patch("poplite.view.contiguous_runs.FEW", few),
        mock.patch("poplite.jit.build.FEW", few),
        mock.patch("poplite.arrays.progressions.SMALL", small),
        mock.patch("poplite.arrays.progressions.BLOCK", block),
        mock.patch("poplite.view.contiguous_runs.ELEMENTS_PER_RUN", per_run),
        mock.patch("poplite.view.contiguous_runs.FEW_LEVELS", 1),
        mock.patch("poplite.view.contiguous_runs.FEW_LEAVES", leaves),
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
    assert run_lists(view) == (begins, lengths)
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
