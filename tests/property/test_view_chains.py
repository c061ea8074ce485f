"""Random chains of view operations, beside the same operations on NumPy address arrays.

An oracle array holds, at each index, the address of the element that the view shows there;
every question about a view has an obvious answer on that array.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

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
    whole,
)

Int64 = npt.NDArray[np.int64]
Pair = tuple[View, Int64]

STORAGES = (
    Storage(0, 0, 24),
    Storage(1, 25, 36, constant=True),
    Storage(2, 62, 60),
    Storage(3, 123, 1),
    Storage(4, 125, 24),
)
MOST_ELEMENTS = 600


def random_shape(random: Random, size: int, most: int = 4) -> tuple[int, ...]:
    """A shape of `size` elements, at most `most` dimensions when the size allows."""
    if size == 0:
        shape = [random.randint(0, 3) for _ in range(random.randint(0, 2))] + [0]
        random.shuffle(shape)
        return tuple(shape)
    shape = []
    while size > 1 and len(shape) < most - 1 and random.random() < 0.8:
        extent = random.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(extent)
        size //= extent
    if size > 1 or random.random() < 0.3:
        shape.append(size)
    random.shuffle(shape)
    return tuple(shape)


def random_whole(random: Random) -> Pair:
    """A variable in a random shape."""
    storage = random.choice(STORAGES)
    shape = random_shape(random, storage.num_elements)
    oracle = np.arange(storage.base, storage.base + storage.num_elements).reshape(shape)
    return whole(storage, shape), oracle


def _slice(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    size = view.shape[dim]
    begin = random.randint(0, size // 2)
    end = random.randint(min(begin + 1, size), size) if random.random() < 0.98 else begin
    return view.slice(begin, end, dim), oracle.take(range(begin, end), dim)


def _index(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    if not view.shape[0] or (oracle.size < 9 and random.random() < 0.8):
        return view, oracle
    i = random.randrange(view.shape[0])
    return view.index(i), oracle[i]


def _shuffle(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    order = list(range(len(view.shape)))
    random.shuffle(order)
    return view.dim_shuffle(order), oracle.transpose(order)


def _sub_sample(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    step = random.randint(1, 5)
    return view.sub_sample(step, dim), oracle.take(range(0, view.shape[dim], step), dim)


def _reverse(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    return view.reverse(dim), np.flip(oracle, dim)


def _broadcast(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    n = _factor(random, oracle)
    return view.broadcast(n, dim), np.concatenate([oracle] * n, dim) if n else oracle.take([], dim)


def _upsample(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    n = _factor(random, oracle)
    return view.upsample(n, dim), np.repeat(oracle, n, dim)


def _factor(random: Random, oracle: Int64) -> int:
    if random.random() < 0.02:
        return 0
    return random.randint(1, 3) if 3 * oracle.size <= MOST_ELEMENTS else 1


def _reshape(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    shape = random_shape(random, oracle.size)
    return view.reshape(shape), oracle.reshape(shape)


def _flatten(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    return view.reshape((oracle.size,)), oracle.reshape(-1)


def _expand(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    if len(view.shape) > 4:
        ones = [i for i, size in enumerate(view.shape) if size == 1]
        return view.squeeze(ones), oracle.squeeze(tuple(ones))
    i = random.randint(0, len(view.shape))
    return view.expand([i]), np.expand_dims(oracle, i)


def _cut_and_shuffled(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    """Concatenate pieces of the view, in order, shuffled, or some of them."""
    size = view.shape[dim]
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(random.randint(0, 5)))})
    ranges = list(zip(cuts, cuts[1:], strict=False)) or [(0, 0)]
    if random.random() < 0.5:
        random.shuffle(ranges)
        ranges = ranges[: random.randint(1, len(ranges))]
    pieces = [view.slice(a, b, dim) for a, b in ranges]
    return concat(pieces, dim), np.concatenate(
        [oracle.take(range(a, b), dim) for a, b in ranges], dim
    )


def _with_itself(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    count = random.randint(1, 4)
    if count * oracle.size > MOST_ELEMENTS:
        return view, oracle
    flipped = [random.random() < 0.3 for _ in range(count)]
    views = [view.reverse(dim) if flip else view for flip in flipped]
    oracles = [np.flip(oracle, dim) if flip else oracle for flip in flipped]
    return concat(views, dim), np.concatenate(oracles, dim)


def _with_others(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    """Concatenate with other variables, or constants, cut to a shape that fits."""
    views, oracles = [view], [oracle]
    for _ in range(random.randint(1, 3)):
        other, numbers = random_whole(random)
        chunk = math.prod(view.shape) // max(view.shape[dim], 1)
        rows = numbers.size // chunk if chunk else 0
        if not rows or sum(o.size for o in oracles) + numbers.size > MOST_ELEMENTS:
            continue
        shape = (*view.shape[:dim], rows, *view.shape[dim + 1 :])
        take = rows * chunk
        views.append(other.reshape((numbers.size,)).slice(0, take, 0).reshape(shape))
        oracles.append(numbers.reshape(-1)[:take].reshape(shape))
    order = list(range(len(views)))
    random.shuffle(order)
    return concat([views[i] for i in order], dim), np.concatenate([oracles[i] for i in order], dim)


def _windows(random: Random, view: View, oracle: Int64, dim: int) -> Pair:
    """Concatenate equal, shifted windows, as a convolution does."""
    size = view.shape[dim]
    if size < 2:
        return view, oracle
    width = random.randint(1, size - 1)
    step = random.randint(1, 2)
    starts = list(range(0, size - width + 1, step))
    if len(starts) * width * (oracle.size // size) > MOST_ELEMENTS:
        return view, oracle
    return concat([view.slice(a, a + width, dim) for a in starts], dim), np.concatenate(
        [oracle.take(range(a, a + width), dim) for a in starts], dim
    )


WITH_A_DIMENSION = (
    _slice, _slice, _index, _shuffle, _sub_sample, _reverse, _broadcast, _upsample,
    _cut_and_shuffled, _cut_and_shuffled, _with_itself, _with_others, _windows,
)  # fmt: skip
WITHOUT = (_reshape, _reshape, _flatten, _expand)


def random_step(random: Random, view: View, oracle: Int64) -> Pair:
    """One random operation, on the view and on its oracle."""
    operations = (*WITHOUT, *WITH_A_DIMENSION) if view.shape else WITHOUT
    operation = random.choice(operations)
    dim = random.randrange(len(view.shape)) if view.shape else 0
    return operation(random, view, oracle, dim)


def random_view(random: Random, steps: int) -> Pair:
    """A view after up to `steps` random operations, with its oracle."""
    view, oracle = random_whole(random)
    for _ in range(random.randint(0, steps)):
        view, oracle = random_step(random, view, oracle)
    return view, oracle


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
    view, oracle = random_whole(random)
    check(view, oracle)
    for _ in range(14):
        view, oracle = random_step(random, view, oracle)
        check(view, oracle)


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
