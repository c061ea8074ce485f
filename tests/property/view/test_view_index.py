"""Views that share elements with another one, found among many: all of them, few compared."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.testing import random_tensor, random_variables
from poplite.view import Storage, View, aliases, all_of
from poplite.view.aliases import ViewIndex

VARIABLES = random_variables(Random(0))


@given(st.randoms(use_true_random=False))
def test_those_are_found_that_have_an_address_of_the_view(random: Random) -> None:
    drawn = [random_tensor(random, VARIABLES, 14) for _ in range(9)]
    one, *others = [(each.tensor.view, np.unique(each.addresses)) for each in drawn]
    index = ViewIndex[int]()
    for number, (view, _) in enumerate(others):
        index.add(view, number)
    shared = [np.intersect1d(one[1], addresses).size for _, addresses in others]
    assert list(index.meeting(one[0])) == [n for n, count in enumerate(shared) if count]


def parts(shape: tuple[int, ...], *dims: int) -> list[View]:
    """Return the views of a tensor's storage by all indices of some of its dimensions."""
    whole = all_of(Storage(0, 0, int(np.prod(shape))), shape)
    found = []
    for index in np.ndindex(*(shape[dim] for dim in dims)):
        view = whole
        for dim, at in zip(dims, index, strict=True):
            view = view.slice(at, at + 1, dim)
        found.append(view)
    return found


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1), (1, 2), (0, 1, 2)])
def test_parts_that_share_nothing_are_hardly_compared(
    dims: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def counted(a: View, b: View) -> bool:
        compared.append((a, b))
        return a is b

    monkeypatch.setattr(aliases, "intersects", counted)
    views = parts((30, 6, 20), *dims)
    index = ViewIndex[View]()
    for each in views:
        index.add(each, each)
    for each in views:
        assert list(index.meeting(each)) == [each]
    assert len(compared) < 9 * len(views)
