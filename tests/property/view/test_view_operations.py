"""View operations against NumPy address arrays: chains, what they show of themselves, slices."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.arrays.intervals import Int64
from poplite.graph.tensor.tensor_text import made_from
from poplite.testing import random_shape, random_step, random_tensor, random_variables
from poplite.testing.addressed import check_view
from poplite.view import (
    Storage,
    View,
    addresses,
    concat,
    concatenation,
    contains_aliases,
    contains_constant,
    intersects,
    is_contiguous,
    num_runs,
    runs,
    storages,
)
from poplite.view.view import Cat

# -- chains of operations --------------------------------------------------------------------------
# An oracle array holds, at each index, the address of the element that the view shows there;
# every question about a view has an obvious answer on that array.


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


# -- the expression that a tensor shows ------------------------------------------------------------


WORLD = {"concat": pl.concat, "INT": pl.INT, **{v.text: v.tensor for v in SOURCES}}


def made_again(text: str) -> pl.Tensor:
    """The tensor that an expression with quoted names makes."""
    made = eval(re.sub(r"'(\w+)'", r"\1", text), dict(WORLD))
    assert isinstance(made, pl.Tensor)
    return made


@examples(400)
@given(st.randoms(use_true_random=False))
def test_the_expression_makes_the_tensor(random: Random) -> None:
    tensor = random_tensor(random, SOURCES, 5).tensor
    if tensor.num_elements:
        text = made_from(tensor)
        if " region" not in text:
            assert made_again(text) == tensor


def test_most_tensors_after_three_operations_have_an_expression() -> None:
    drawn = [random_tensor(Random(seed), SOURCES, 3).tensor for seed in range(300)]
    lost = [t for t in drawn if t.num_elements and " region" in made_from(t)]
    assert len(lost) < 60


x = pl.Graph(pl.Target(tiles=16)).add_variable(pl.FLOAT, (8, 12), "x", mapping="linear")


@pytest.mark.parametrize(
    ("tensor", "shown"),
    [
        (x, "'x' float32[8, 12] on 16 tiles (0-15), 384 B"),
        (x.dim_shuffle([1, 0]), "'x'.T float32[12, 8] on 16 tiles (0-15), 384 B"),
        (
            x.sub_sample(2, 1).upsample(2, 1),
            "'x'[:, ::2].upsample(2, 1) float32[8, 12] on 16 tiles (0-15), "
            "48 distinct elements, 192 B",
        ),
        (
            x[0].expand([0]).broadcast(8, 0),
            "'x'[0].expand([0]).broadcast(8, 0) float32[8, 12] on 2 tiles (0-1), "
            "12 distinct elements, 48 B",
        ),
        (x[3], "'x'[3] float32[12] on 2 tiles (6-7), 48 B"),
        (x[5:2:-2, 3], "'x'[5:2:-2, 3] float32[2] on 2 tiles (6, 10), 8 B"),
        (x.flatten()[5:40], "'x'.flatten()[5:40] float32[35] on 7 tiles (0-6), 140 B"),
        (
            x.flatten()[10:14].reshape((2, 2)),
            "'x'.flatten()[10:14].reshape((2, 2)) float32[2, 2] on 2 tiles (1-2), 16 B",
        ),
        (x.reinterpret(pl.INT), "'x'.reinterpret(INT) int32[8, 12] on 16 tiles (0-15), 384 B"),
        (
            pl.concat([x[:2].T, x[5:].T], 1),
            "concat(['x'[:2].T, 'x'[5:].T], 1) float32[12, 5] on 10 tiles (0-3, 10-15), 240 B",
        ),
        (x.T.reshape((8, 12)), "'x'.T.reshape((8, 12)) float32[8, 12] on 16 tiles (0-15), 384 B"),
        (
            x[2:5].T.reshape((4, 9)),
            "'x'[2:5].T.reshape((4, 9)) float32[4, 9] on 6 tiles (4-9), 144 B",
        ),
        (
            x.T.reshape((2, 2, 24)),
            "'x'.T.reshape((2, 2, 24)) float32[2, 2, 24] on 16 tiles (0-15), 384 B",
        ),
        (
            x.upsample(3, 0).flatten(),
            "'x'.upsample(3, 0).flatten() float32[288] on 16 tiles (0-15), "
            "96 distinct elements, 384 B",
        ),
        (
            x[::-1].reshape((6, 16)),
            "'x'[::-1].reshape((6, 16)) float32[6, 16] on 16 tiles (0-15), 384 B",
        ),
        (
            x.broadcast(2**20, 0),
            "'x'.broadcast(1048576, 0) float32[8388608, 12] on 16 tiles (0-15), "
            "96 distinct elements, 384 B",
        ),
        (x[0:0], "'x' float32[0, 12], no elements"),
        (x[:, 3:3].T, "'x' float32[0, 8], no elements"),
        (
            pl.concat([x[k, k : k + 2] for k in range(6)]),
            "'x' in 6 regions float32[12] on 7 tiles (0, 2, 4, ...), 48 B",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_repr_says_how_a_view_is_made(tensor: pl.Tensor, shown: str) -> None:
    assert repr(tensor) == f"<Tensor {shown}>"


def test_a_view_of_many_regions_has_its_tiles() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    large = graph.add_variable(pl.FLOAT, (400, 500), "large", mapping="linear")
    order = np.random.default_rng(0).permutation(200_000)[:100_000]
    shuffled = pl.concat(large.flatten().slices(np.stack([order, order + 1], axis=1)))
    regions = len(shuffled.contiguous_regions())
    shown = f"'large' in {regions:,} regions float32[100000] on 16 tiles (0-15), 400,000 B"
    assert repr(shuffled) == f"<Tensor {shown}>"


def test_a_view_of_several_variables_names_the_first_of_them() -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    image = graph.add_variable(pl.FLOAT, (8, 12), "im", mapping="linear")
    padded = pl.ops.pad(image, 1)
    names = "'im/padding_2', 'im/padding', 'im' and 2 more"
    size = "float32[10, 14] on 16 tiles (0-15), 100 distinct elements, 400 B"
    assert repr(padded) == f"<Tensor {names} in 52 regions {size}>"
    again = pl.ops.pad(padded, 1)
    assert [v.name for v in graph.variables][5:] == [
        "pad/padding",
        *(f"pad/padding_{n}" for n in (1, 2, 3)),
    ]
    assert "in 104 regions" in repr(again)


def test_an_explanation_calls_regions_of_memory_regions_alone() -> None:
    text = pl.concat([x[k, k : k + 1 + k % 2] for k in range(6)]).explain()
    view, layers = (re.search(f"{label} +(.*)", text) for label in ("view", "layers"))
    assert view is not None
    assert layers is not None
    assert (view[1], layers[1]) == ("'x' in 6 regions", "6 pieces")


# -- slices joined as arrays -----------------------------------------------------------------------


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
        patch.setattr(concatenation, "FEW", few)  # arrays also for as few pieces as are drawn here
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
    for _ in range(concatenation.FEW + random.randint(1, 8)):
        begin = random.choice([end, random.randint(0, last)])  # often where the last one ends
        end = random.randint(begin, last)
        intervals.append((begin * unit, end * unit))
    joined = pl.concat(flat.slices(intervals))
    check_view(joined, np.concatenate([places[begin:end] for begin, end in intervals]))


def test_slices_across_digits_stay_arrays() -> None:
    view = View((24,), (((2, 4), (3, 8), (4, 1)),), 0, Storage(0, 0, 24))
    begin = 4 * np.random.default_rng(0).permutation(np.repeat(np.arange(4), 30))
    joined = concatenation.concat_slices(view, begin, begin + 8, 0, 0)
    assert isinstance(joined.space, Cat)
    assert isinstance(joined.space.kids, concatenation.SlicedViews)
    crossing = np.count_nonzero(begin == 8)  # they end in the second half, as no others do
    assert len(begin) < len(joined.space.kids) <= len(begin) + crossing
    places = np.array([0, 8, 16, 4, 12])[:, None] + np.arange(4)
    found = [places[k : k + 2].reshape(-1) for k in (begin // 4).tolist()]
    assert addresses(joined).tolist() == np.concatenate(found).tolist()


def test_slices_of_many_digits_are_joined_one_by_one() -> None:
    view = View((128,), (((64, 1), (2, 64)),), 0, Storage(0, 0, 128))
    begin, end = np.array([1] * 70), np.array([127] * 70)
    joined = concatenation.concat_slices(view, begin, end, 0, 0)
    found = np.arange(128).reshape(2, 64).T.reshape(-1)[1:127]
    assert addresses(joined).tolist() == found.tolist() * 70


def test_slices_that_follow_each_other_are_the_view() -> None:
    view = View((24,), (((2, 4), (3, 8), (4, 1)),), 0, Storage(0, 0, 24))
    cuts = np.repeat(np.arange(25), 4)  # three of four slices are empty
    assert concatenation.concat_slices(view, cuts[:-1], cuts[1:], 0, 0) == view
    turns = np.tile([0, 7, 19], 30)  # [0, 7) [7, 19) [19, 24) [0, 7) ...
    joined = concatenation.concat_slices(view, turns, np.tile([7, 19, 24], 30), 0, 0)
    assert joined == view.broadcast(30, 0)
