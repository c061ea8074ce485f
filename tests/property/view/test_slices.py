"""Slices joined as arrays, of all kinds of tensors, beside the slices of NumPy arrays."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.testing.check import check_view
from poplite.testing.random_tensors import random_tensor, random_variables
from poplite.view import Storage, View, addresses, slices
from poplite.view.view import Cat


def intervals_of(random: Random, size: int, equal: bool) -> list[tuple[int, int]]:
    """Draw intervals of a dimension, regular or not."""
    count = random.randint(1, 12)
    if equal or random.random() < 0.5:
        width = random.randint(0, min(size, 3))
        step = random.choice([0, 1, 2, width])
        last = size - width
        begins = [min(i * step, last) if step else random.randint(0, last) for i in range(count)]
        return [(begin, begin + width) for begin in begins]
    bounds = [sorted(random.choices(range(size + 1), k=2)) for _ in range(count)]
    return [(begin, end) for begin, end in bounds]


@pytest.mark.parametrize("few", [0, 1, 3])
@given(random=st.randoms(use_true_random=False))
def test_slices_show_what_the_arrays_show(few: int, random: Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "FEW", few)  # arrays also for as few pieces as are drawn here
        made = random_tensor(random, random_variables(random), random.randint(0, 8))
        rank = made.tensor.rank
        if not rank:
            return
        dim = random.randrange(rank)
        axis = random.choice([dim, random.randrange(rank)])
        intervals = intervals_of(random, made.tensor.shape[dim], axis != dim)
        joined = pl.concat(made.tensor.slices(intervals, dim), axis)
    expected = [made.addresses.take(range(begin, end), dim) for begin, end in intervals]
    check_view(joined, np.concatenate(expected, axis))


@given(random=st.randoms(use_true_random=False))
def test_slices_across_digits_show_what_the_arrays_show(random: Random) -> None:
    blocks, rows, columns = (random.choice(sizes) for sizes in ([2, 3], [2, 4, 5], [1, 3, 8]))
    x = pl.Graph().add_variable(pl.INT, (rows, blocks, columns), "x")
    flat = x.dim_shuffle((1, 0, 2)).flatten()  # block after block, as products have them
    places = np.arange(x.num_elements).reshape(x.shape).transpose(1, 0, 2).reshape(-1)
    unit = random.choice([1, columns])
    last = len(places) // unit
    intervals, end = [], 0
    for _ in range(slices.FEW + random.randint(1, 8)):
        begin = random.choice([end, random.randint(0, last)])  # often where the last one ends
        end = random.randint(begin, last)
        intervals.append((begin * unit, end * unit))
    joined = pl.concat(flat.slices(intervals))
    check_view(joined, np.concatenate([places[begin:end] for begin, end in intervals]))


def test_slices_across_digits_stay_arrays() -> None:
    view = View((24,), (((2, 4), (3, 8), (4, 1)),), 0, Storage(0, 0, 24))
    begin = 4 * np.random.default_rng(0).permutation(np.repeat(np.arange(4), 30))
    joined = slices.concat_slices(view, begin, begin + 8, 0, 0)
    assert isinstance(joined.space, Cat)
    assert isinstance(joined.space.kids, slices.SlicedViews)
    crossing = np.count_nonzero(begin == 8)  # they end in the second half, as no others do
    assert len(begin) < len(joined.space.kids) <= len(begin) + crossing
    places = np.array([0, 8, 16, 4, 12])[:, None] + np.arange(4)
    found = [places[k : k + 2].reshape(-1) for k in (begin // 4).tolist()]
    assert addresses(joined).tolist() == np.concatenate(found).tolist()


def test_slices_of_many_digits_are_joined_one_by_one() -> None:
    view = View((128,), (((64, 1), (2, 64)),), 0, Storage(0, 0, 128))
    begin, end = np.array([1] * 70), np.array([127] * 70)
    joined = slices.concat_slices(view, begin, end, 0, 0)
    found = np.arange(128).reshape(2, 64).T.reshape(-1)[1:127]
    assert addresses(joined).tolist() == found.tolist() * 70


def test_slices_that_follow_each_other_are_the_view() -> None:
    view = View((24,), (((2, 4), (3, 8), (4, 1)),), 0, Storage(0, 0, 24))
    cuts = np.repeat(np.arange(25), 4)  # three of four slices are empty
    assert slices.concat_slices(view, cuts[:-1], cuts[1:], 0, 0) == view
    turns = np.tile([0, 7, 19], 30)  # [0, 7) [7, 19) [19, 24) [0, 7) ...
    joined = slices.concat_slices(view, turns, np.tile([7, 19, 24], 30), 0, 0)
    assert joined == view.broadcast(30, 0)
