"""Slices joined as arrays, of all kinds of tensors, beside the slices of NumPy arrays."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.testing.check import check_view
from poplite.testing.random_tensors import random_tensor, random_variables
from poplite.view import slices


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
