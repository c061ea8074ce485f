"""Which views share elements, and which are equal, however they were made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.testing import random_tensor, random_variables
from poplite.testing.addressed import AddressedTensor
from poplite.view import (
    Storage,
    View,
    address_sets,
    addresses,
    aliases,
    all_of,
    contains_aliases,
    contains_constant,
    intersects,
    one_level,
)
from poplite.view.aliases import ViewIndex

# -- aliases by each of the means ------------------------------------------------------------------


VARIABLES = random_variables(Random(0))
STORAGES = [variable.storage for variable in VARIABLES[0].tensor.graph.variables]
MARKS = {"MANY": 0, "FEW_PAIRS": 0, "ELEMENTS_PER_PAIR": 10**12, "ADDRESSES_PER_SET": 10**12}

RUNGS = {
    "as it comes": [],
    "arrays": [(aliases, {"FEW": 0})],
    "pairs": [(aliases, {"FEW": 0, "LARGEST_SPAN": 0})],
    "bitmap": [(aliases, {"FEW": 0, **MARKS})],
    "streams": [(aliases, {"FEW": 0, "MOST_RUNS": 3})],
    "compiled search": [(address_sets, {"FIRST_STEPS": 0})],
    "bit sets": [(address_sets, {"FIRST_STEPS": 0, "SEARCH_STEPS": 0})],
}


@pytest.fixture(params=RUNGS)
def rung(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the limits so that one means has to answer."""
    for module, limits in RUNGS[request.param]:
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("rung")
@given(st.randoms(use_true_random=False))
def test_every_means_has_the_answer_of_the_addresses(random: Random) -> None:
    a, b = (random_tensor(random, VARIABLES, 14) for _ in range(2))
    elements, others = np.unique(a.addresses), np.unique(b.addresses)
    view, other = a.tensor.view, b.tensor.view
    assert contains_aliases(view) == (elements.size < a.addresses.size)
    assert intersects(view, other) == (np.intersect1d(elements, others).size > 0)
    if view.shape:
        cut = random.randint(0, view.shape[0])
        parts = view.slice(0, cut, 0), view.slice(cut, view.shape[0], 0)
        shared = np.intersect1d(a.addresses[:cut], a.addresses[cut:])
        assert intersects(*parts) == (shared.size > 0)
    constants = [s for s in STORAGES if s.constant]
    assert contains_constant(view) == any(
        ((elements >= s.base) & (elements < s.base + s.num_elements)).any() for s in constants
    )


# -- equality --------------------------------------------------------------------------------------


GRAPH = VARIABLES[0].tensor.graph
WAYS = ("parts", "runs", "either")
randoms = st.randoms(use_true_random=False)


@contextmanager
def compared_by(way: str) -> Iterator[None]:
    """Take every comparison that structure and samples do not decide on one way."""
    steps = {"parts": 10**9, "runs": 0, "either": 5}[way]
    with patch.object(aliases, "STEPS", steps):
        yield


def drawn(random: Random) -> AddressedTensor:
    """A tensor of some elements after up to 9 operations."""
    while True:
        made = random_tensor(random, VARIABLES, 9)
        if made.tensor.num_elements:
            return made


def made_otherwise(random: Random, tensor: pl.Tensor, change: bool = False) -> pl.Tensor:
    """The same elements in the same shape, of pieces that are turned round one by one.

    Args:
        random: decides where they are cut.
        tensor: with elements.
        change: whether one element, at most, is another one.
    """
    flat = tensor.flatten()
    inner = [random.randrange(len(flat) + 1) for _ in range(random.randint(0, 4))]
    cuts = sorted({0, len(flat), *inner})
    pieces = [flat[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    turned = [
        pl.concat([piece[len(piece) // 2 :], piece[: len(piece) // 2]])
        if random.random() < 0.5
        else piece.reverse(0)
        for piece in pieces
    ]
    joined = pl.concat([*turned, VARIABLES[0].tensor.flatten()])
    back, begin = [], 0
    for piece, one in zip(pieces, turned, strict=True):
        size = len(piece)
        again = joined[begin : begin + size]
        half = size - size // 2
        is_reversed = one == piece.reverse(0)
        back.append(again.reverse(0) if is_reversed else pl.concat([again[half:], again[:half]]))
        begin += size
    result = pl.concat(back)
    if change:
        place = random.randrange(len(flat))
        other = VARIABLES[2].tensor.flatten()[random.randrange(60)]
        result = pl.concat([result[:place], other.expand([0]), result[place + 1 :]])
    return result.reshape(tensor.shape)


@pytest.mark.parametrize("way", WAYS)
@given(random=randoms)
def test_a_tensor_made_otherwise_is_equal_and_hashes_alike(way: str, random: Random) -> None:
    t = drawn(random).tensor
    again = made_otherwise(random, t)
    np.testing.assert_array_equal(addresses(again.view), addresses(t.view))
    with compared_by(way):
        assert again == t
        assert t == again
    assert hash(again) == hash(t)


@pytest.mark.parametrize("way", WAYS)
@given(random=randoms)
def test_tensors_of_other_elements_are_never_equal(way: str, random: Random) -> None:
    t = drawn(random).tensor
    other = made_otherwise(random, t, change=True)
    same = bool((addresses(other.view) == addresses(t.view)).all())
    with compared_by(way), patch.object(aliases, "sample", lambda view: ()):
        assert (other == t) == same
        assert (t == other) == same


@given(randoms)
def test_what_both_repeat_is_left_out(random: Random) -> None:
    t = drawn(random).tensor
    other = made_otherwise(random, t, change=random.random() < 0.5)
    for dim in range(t.rank):
        times = random.randint(1, 4)
        if random.random() < 0.5:
            t, other = t.broadcast(times, dim), other.broadcast(times, dim)
        else:
            t, other = t.upsample(times, dim), other.upsample(times, dim)
        order = random.sample(range(t.rank), t.rank)
        t, other = t.dim_shuffle(order), other.dim_shuffle(order)
    with patch.object(aliases, "sample", lambda view: ()):
        assert (t == other) == bool((addresses(t.view) == addresses(other.view)).all())


@given(randoms)
def test_a_rearrangement_undone_is_the_tensor(random: Random) -> None:
    t = drawn(random).tensor
    rearranger = GRAPH.simplifying_rearranger(random.choice([t, made_otherwise(random, t)]))
    undone = rearranger.undo(rearranger.rearrange(t)).reshape(t.shape)
    assert undone == t
    assert hash(undone) == hash(t)


@given(randoms)
def test_one_level_shows_the_elements_in_order(random: Random) -> None:
    made = drawn(random)
    level = one_level(made.tensor.view)
    assert level is not None
    np.testing.assert_array_equal(addresses(level), addresses(made.tensor.view))
    assert isinstance(level.space, Storage) or level.space.levels <= 2


# -- views found among many ------------------------------------------------------------------------


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
