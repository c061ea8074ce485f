"""Random chains of view operations, beside the same operations on NumPy address arrays.

An oracle array holds, at each index, the address of the element that the view shows there;
every question about a view has an obvious answer on that array.
"""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, strategies as st

from poplite.arrays.intervals import Int64
from poplite.testing import random_shape, random_step, random_tensor, random_variables
from poplite.view import (
    Storage,
    View,
    addresses,
    concat,
    contains_aliases,
    contains_constant,
    intersects,
    is_contiguous,
    num_runs,
    runs,
    storages,
)

Pair = tuple[View, Int64]


SOURCES = random_variables(Random(0))
STORAGES = tuple(variable.storage for variable in SOURCES[0].tensor.graph.variables)


def random_whole(random: Random) -> Pair:
    """A variable in a random shape."""
    return random_view(random, 0)


def random_view(random: Random, steps: int) -> Pair:
    """A view after up to `steps` random operations, with its oracle."""
    made = random_tensor(random, SOURCES, steps)
    return made.tensor.view, made.addresses


def runs_of(oracle: Int64) -> tuple[list[int], list[int]]:
    """First addresses and lengths of the maximal runs of an address array."""
    flat = oracle.reshape(-1)
    if not flat.size:
        return [], []
    first = np.flatnonzero(np.append(True, np.diff(flat) != 1))
    return flat[first].tolist(), np.diff(first, append=flat.size).tolist()


randoms = st.randoms(use_true_random=False)


def storages_of(oracle: Int64) -> tuple[Storage, ...]:
    """The storages of an address array, in order of first use."""
    owners = [
        next(s for s in STORAGES if s.base <= address < s.base + s.num_elements)
        for address in oracle.reshape(-1).tolist()
    ]
    return tuple(dict.fromkeys(owners))


def check(view: View, oracle: Int64) -> None:
    """Every question about a view has the oracle's answer."""
    assert view.shape == oracle.shape
    np.testing.assert_array_equal(addresses(view), oracle)
    begin, length = runs(view)
    assert (begin.tolist(), length.tolist()) == runs_of(oracle)
    assert num_runs(view) == len(begin)
    assert is_contiguous(view) == (len(begin) < 2)
    assert contains_aliases(view) == (np.unique(oracle).size < oracle.size)
    assert storages(view) == storages_of(oracle)
    assert contains_constant(view) == any(s.constant for s in storages_of(oracle))


@given(randoms)
def test_every_view_of_a_chain_answers_like_its_addresses(random: Random) -> None:
    made = random_tensor(random, SOURCES, 0)
    check(made.tensor.view, made.addresses)
    for _ in range(14):
        made = random_step(random, made, SOURCES)
        check(made.tensor.view, made.addresses)


@given(randoms)
def test_views_intersect_where_they_share_an_address(random: Random) -> None:
    seen = [random_view(random, 7) for _ in range(4)]
    for a, oracle_a in seen:
        for b, oracle_b in seen:
            assert intersects(a, b) == (np.intersect1d(oracle_a, oracle_b).size > 0)


@given(randoms)
def test_views_of_one_variable_are_equal_where_their_addresses_are(random: Random) -> None:
    a, oracle_a = random_view(random, 3)
    b, oracle_b = random_view(random, 3)
    assert a == a.reshape((oracle_a.size,)).reshape(a.shape)
    if isinstance(a.space, Storage) and isinstance(b.space, Storage):
        same = a.shape == b.shape and bool((oracle_a == oracle_b).all())
        assert (a == b) == same
        assert hash(a) == hash(b) or not same


@given(randoms)
def test_operations_that_undo_each_other_give_the_view_back(random: Random) -> None:
    view, _ = random_view(random, 7)
    order = random.sample(range(len(view.shape)), len(view.shape))
    back = [order.index(d) for d in range(len(order))]
    assert view.dim_shuffle(order).dim_shuffle(back) == view
    assert view.reshape(random_shape(random, view.num_elements)).reshape(view.shape) == view
    assert view.expand([0, len(view.shape)]).squeeze([0, len(view.shape) + 1]) == view
    for dim, size in enumerate(view.shape):
        assert view.reverse(dim).reverse(dim) == view
        if isinstance(view.space, Storage):
            assert view.upsample(3, dim).sub_sample(3, dim) == view
            assert view.broadcast(2, dim).slice(size, 2 * size, dim) == view


@given(randoms)
def test_all_slices_of_a_view_of_one_variable_concatenate_to_that_view(random: Random) -> None:
    view, _ = random_view(random, 7)
    if not isinstance(view.space, Storage):
        view, _ = random_whole(random)
        view = view.dim_shuffle(range(len(view.shape))[::-1]).reshape((view.num_elements,))
    for dim, size in enumerate(view.shape):
        cuts = sorted({0, size, *(random.randint(0, size) for _ in range(4))})
        pieces = [view.slice(a, b, dim) for a, b in zip(cuts, cuts[1:], strict=False)]
        if size:
            singles = [view.slice(i, i + 1, dim) for i in range(size)]
            for joined in (concat(pieces, dim), concat(singles, dim)):
                assert joined == view
                assert (joined.off, joined.space) == (view.off, view.space)


@given(randoms)
def test_all_slices_of_any_view_concatenate_to_the_same_elements(random: Random) -> None:
    view, oracle = random_view(random, 9)
    for dim, size in enumerate(view.shape):
        if size:
            pieces = [view.slice(i, i + 1, dim) for i in range(size)]
            check(concat(pieces, dim), oracle)
