"""Order of tensors' elements against dense arrays: sorted regions, clones, indices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import poplite as pl
from poplite import FLOAT, Graph, TensorIndexError
from poplite.arrays.intervals import Int64
from poplite.graph.partitioners import detect_innermost_grouping
from poplite.graph.tensor import regions as memory_regions
from poplite.jit import build
from poplite.testing import AddressedTensor, check_tensor, tensors, tiles_of
from poplite.view import address_sets as sets, addresses, num_runs

# -- sorted regions, rearrangements, groupings -----------------------------------------------------


TILES = 4
KINDS = ("slice", "shuffle", "reverse", "repeat", "sample", "reshape", "pieces", "join")
randoms = st.randoms(use_true_random=False)


@contextmanager
def ways(random: Random) -> Iterator[None]:
    """Take small tensors on the ways of large ones, now and then."""
    with (
        patch.object(build, "FEW", random.choice([0, 512])),
        patch.object(memory_regions, "MOST_VIEWS", random.choice([0, 64])),
        patch.object(sets, "RUNS_PER_KID", random.choice([0, 4, 128])),
    ):
        yield


def random_graph(random: Random) -> pl.Graph:
    """Three variables, whose elements are on tiles at random."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    for shape in ((4, 6), (3, 4, 2), (30,)):
        x = graph.add_variable(pl.FLOAT, shape, mapping=random.randrange(TILES)).flatten()
        for _ in range(random.randint(0, 6)):
            begin = random.randrange(len(x))
            part = x[begin : begin + random.randint(1, 9)]
            graph.set_tile_mapping(part, random.randrange(TILES))
    return graph


def random_tensor(random: Random, graph: pl.Graph, steps: int = 7) -> pl.Tensor:
    """A view of some of the variables."""
    t = whole(random, graph)
    for _ in range(random.randint(0, steps)):
        dim = random.randrange(t.rank)
        kind = random.choice(KINDS)
        size = t.dim(dim)
        if kind == "slice":
            begin = random.randrange(size)
            t = t.slice(begin, random.randint(begin + 1, size), dim)
        elif kind == "shuffle":
            t = t.dim_shuffle(random.sample(range(t.rank), t.rank))
        elif kind == "reverse":
            t = t.reverse(dim)
        elif kind == "repeat" and t.num_elements < 100:
            n = random.randint(1, 3)
            t = t.broadcast(n, dim) if random.random() < 0.5 else t.upsample(n, dim)
        elif kind == "sample":
            t = t.sub_sample(random.randint(1, 3), dim)
        elif kind == "reshape":
            first = random.choice(
                [n for n in range(1, t.num_elements + 1) if not t.num_elements % n]
            )
            t = t.reshape((first, t.num_elements // first))
        elif kind == "pieces":
            cuts = sorted({0, size, *[random.randint(0, size) for _ in range(3)]})
            parts = [t.slice(a, b, dim) for a, b in pairwise(cuts)]
            t = pl.concat(random.sample(parts, len(parts)), dim)
        elif kind == "join" and t.num_elements < 100:
            t = pl.concat([t.flatten(), whole(random, graph).flatten()])
    return t


def whole(random: Random, graph: pl.Graph) -> pl.Tensor:
    """A variable, as the tensor that `add_variable` returned."""
    variable = random.choice(graph.variables)
    return pl.Tensor(graph, variable.element_type, pl.view.all_of(variable.storage, variable.shape))


def positions(groups: pl.SortedRegions) -> list[Int64]:
    """For each group, the positions of its elements in the tensor."""
    return [np.concatenate([np.arange(a, b) for a, b in group]) for group in groups]


def check_groups(groups: pl.SortedRegions, address: Int64, tile: Int64 | None = None) -> Int64:
    """Every group is one range of memory on one tile, in as few intervals as can be.

    Returns:
        All positions listed, in order.
    """
    listed = positions(groups)
    for group, at in zip(groups, listed, strict=True):
        assert (np.diff(address[at]) == 1).all()
        assert tile is None or len(set(tile[at])) == 1
        if groups.aliases is None:
            assert all(end != begin for (_, end), (begin, _) in pairwise(group))
    firsts = [(address[at[0]], at[0]) for at in listed]
    assert firsts == sorted(firsts)
    return np.concatenate([*listed, np.empty(0, np.int64)]).astype(np.int64)


def ranges(address: Int64) -> int:
    """How many ranges of memory some addresses form."""
    return int((np.diff(np.unique(address)) != 1).sum()) + (address.size > 0)


def tile_of_each_element(graph: pl.Graph, tensor: pl.Tensor) -> Int64:
    """The tile of every element."""
    tile = np.empty(tensor.num_elements, np.int64)
    for number, held in enumerate(graph.tile_mapping(tensor)):
        for begin, end in held:
            tile[begin:end] = number
    return tile


@given(randoms)
def test_groups_are_ranges_of_memory_and_list_every_element_asked_for(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    address, asked = addresses(tensor.view).reshape(-1), None
    wanted = np.arange(address.size)
    if random.random() < 0.5:
        cuts = sorted([random.randint(0, address.size) for _ in range(2 * random.randint(0, 4))])
        asked = list(zip(cuts[::2], cuts[1::2], strict=True))
        random.shuffle(asked)
        wanted = np.concatenate([np.arange(a, b) for a, b in [(0, 0), *asked]])
    with ways(random):
        groups = graph.sorted_contiguous_regions(tensor, asked)
        listed = check_groups(groups, address)
        assert sorted(listed.tolist()) == sorted(wanted.tolist())
        once = graph.sorted_contiguous_regions(tensor, asked, remove_aliased=True)
        kept = check_groups(once, address)
    assert address[kept].tolist() == np.unique(address[wanted]).tolist()
    assert len(once) == ranges(address[wanted])
    if len(set(address[wanted].tolist())) == len(wanted):
        assert groups == list(once)


@given(randoms)
def test_intervals_of_equal_alias_hold_equal_memory(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    address = addresses(tensor.view).reshape(-1)
    with ways(random):
        groups = graph.sorted_contiguous_regions(tensor, report_aliases=True)
    listed = check_groups(groups, address)
    assert sorted(listed.tolist()) == list(range(address.size))
    first: dict[int, int] = {}
    for i, a in enumerate(address.tolist()):
        first.setdefault(a, i)
    assert groups.aliases is not None
    for (begin, end), alias in zip(groups.intervals.tolist(), groups.aliases.tolist(), strict=True):
        assert [first[a] for a in address[begin:end].tolist()] == [
            *range(alias, alias + end - begin)
        ]


@given(randoms)
def test_groups_by_tile_are_those_of_every_tile(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    address, tile = addresses(tensor.view).reshape(-1), tile_of_each_element(graph, tensor)
    aliased = tensor.contains_aliases()
    for remove, report in ((False, False), (True, False), (False, True)):
        with ways(random):
            by_tile = graph.sorted_contiguous_regions_by_tile(tensor, remove, report)
        assert len(by_tile) == TILES
        for number, groups in enumerate(by_tile):
            (mine,) = np.nonzero(tile == number)
            listed = check_groups(groups, address, tile)
            assert (tile[listed] == number).all()
            if remove:
                assert address[listed].tolist() == np.unique(address[mine]).tolist()
            else:
                assert sorted(listed.tolist()) == mine.tolist()
            if remove or not aliased:
                assert len(groups) == ranges(address[mine])
            if not aliased and not report:
                asked = graph.tile_mapping(tensor)[number]
                assert groups == list(graph.sorted_contiguous_regions(tensor, asked))


@given(randoms)
def test_a_rearranger_permutes_alike_and_back(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    numbers = graph.add_variable(pl.FLOAT, tensor.shape).T.reshape(tensor.shape)
    address, other = addresses(tensor.view).reshape(-1), addresses(numbers.view).reshape(-1)
    with ways(random):
        rearranger = graph.simplifying_rearranger(tensor)
        simple, moved = (rearranger.rearrange(t) for t in (tensor, numbers))
        back = rearranger.undo(moved)
    permutation = np.argsort(other)[np.searchsorted(np.sort(other), addresses(moved.view))]
    assert sorted(permutation.tolist()) == list(range(address.size))
    assert addresses(simple.view).tolist() == address[permutation].tolist()
    assert addresses(back.view).tolist() == other.tolist()
    assert num_runs(simple.view) <= num_runs(tensor.view)
    if not tensor.contains_aliases():
        assert num_runs(simple.view) == ranges(address)


@given(randoms)
def test_rearranged_intervals_are_the_slices_of_the_rearranged_tensor(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    rearranger = graph.simplifying_rearranger(tensor)
    size = tensor.num_elements
    data = graph.add_variable(pl.FLOAT, (size + 9,))
    cuts = sorted({0, size, *[random.randint(0, size) for _ in range(4)]})
    shift = random.randint(0, 9)
    intervals = [(a + shift, b + shift) for a, b in pairwise(cuts)]
    random.shuffle(intervals)
    given_order = pl.concat(data.slices(intervals))
    there, back = rearranger.rearrange(intervals), rearranger.undo(intervals)
    for found, moved in (
        (there, rearranger.rearrange(given_order)),
        (back, rearranger.undo(given_order)),
    ):
        sliced = pl.concat(data.slices(found))
        assert addresses(sliced.view).tolist() == addresses(moved.view).tolist()
    assert all(any(a <= begin < end <= b for a, b in intervals) for begin, end in (*there, *back))


@given(randoms)
def test_reordering_by_strides_alone_adds_no_regions(random: Random) -> None:
    graph = random_graph(random)
    tensor, other = random_tensor(random, graph), random_tensor(random, graph)
    alike = [tensor, tensor.reverse(0), other] if other.num_elements == tensor.num_elements else []
    for simplest in (False, True):
        first, *_ = found = graph.reorder_to_simplify(tensor, alike, simplest)
        assert [t.num_elements for t in found] == [tensor.num_elements] * (1 + len(alike))
        assert num_runs(first.view) <= num_runs(tensor.view)


@given(randoms)
def test_what_a_tensor_is_a_broadcast_of_gives_it_back(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph, 4)
    factors = [random.randint(1, 3) for _ in tensor.shape]
    wide = tensor
    for dim, factor in enumerate(factors):
        wide = wide.broadcast(factor, dim)
    found = graph.find_unbroadcast_tensor(wide)
    narrow = wide if found is None else found
    assert all(small <= size for small, size in zip(narrow.shape, tensor.shape, strict=True))
    again = narrow
    for dim, (size, small) in enumerate(zip(wide.shape, narrow.shape, strict=True)):
        again = again.broadcast(size // small, dim)
    assert addresses(again.view).tolist() == addresses(wide.view).tolist()


@given(randoms)
def test_grouping_is_that_of_the_addresses_and_tiles_of_the_first_row(random: Random) -> None:
    graph = random_graph(random)
    tensor = random_tensor(random, graph)
    size = tensor.shape[-1]
    row = addresses(tensor.view).reshape(-1, size)[0]
    breaks = np.flatnonzero(np.diff(row) != 1) + 1
    run = int(breaks[0]) if len(breaks) else size
    tile = tile_of_each_element(graph, tensor.flatten()[:size])
    changes = np.flatnonzero(np.diff(tile, prepend=-1, append=-1))
    group = math.gcd(run, int(np.diff(changes).max()))
    assert detect_innermost_grouping(graph, tensor) == (1 if size % group else group)


# -- clones ----------------------------------------------------------------------------------------


Method = pl.TensorCloneMethod

KEEPS_ALIASES = (
    Method.PRESERVE_ORDER_AND_ALIASES,
    Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
)
BY_TILE = pl.TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION


def ranks(numbers: Int64) -> Int64:
    """The place of each number among the different numbers."""
    return np.unique(numbers, return_inverse=True)[1].reshape(numbers.shape)


def expected_order(t: AddressedTensor, method: pl.TensorCloneMethod) -> Int64:
    """Where, in the clone's variable, each element of a tensor lies."""
    flat = t.addresses.reshape(-1)
    aliased = len(np.unique(flat)) < len(flat)
    if method is Method.CREATE_NEW_ORDER or (
        method is Method.PRESERVE_ORDER_UNLESS_ALIASES and aliased
    ):
        return np.arange(len(flat))
    if method is Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES:
        tile = tiles_of(t.tensor.graph)[flat]
        return ranks(np.where(tile < 0, 1 << 20, tile) * (1 << 20) + flat)
    return ranks(flat)


def tiles(tensor: pl.Tensor) -> Int64:
    """The tile of each element, through the public answer."""
    found = np.full(tensor.num_elements, -1)
    for tile, held in enumerate(tensor.graph.tile_mapping(tensor, require_complete=False)):
        for begin, end in held:
            found[begin:end] = tile
    return found


@given(tensors(), st.sampled_from(Method))
def test_a_clone_is_new_has_no_gaps_and_keeps_shape_tiles_and_order(
    t: AddressedTensor, method: pl.TensorCloneMethod
) -> None:
    graph, source = t.tensor.graph, t.tensor
    order = expected_order(t, method)
    clone = graph.clone(source, method=method)
    variable = graph.variables[-1]
    assert variable.num_elements == len(np.unique(order))
    assert clone.shape == source.shape
    assert not clone.contains_constant()
    assert not clone.intersects_with(source)
    check_tensor(clone, variable.storage.base + order.reshape(source.shape))
    assert tiles(clone).tolist() == tiles(source).tolist()


@given(tensors(max_steps=5), st.integers(0, 3), st.sampled_from(Method))
def test_clones_by_outer_dimension_are_clones_one_after_the_other(
    t: AddressedTensor, n: int, method: pl.TensorCloneMethod
) -> None:
    graph, before = t.tensor.graph, len(t.tensor.graph.variables)
    clones = graph.clone_n(t.tensor, n, method=method)
    bases = [variable.storage.base for variable in graph.variables[before:]]
    assert len(bases) == n
    order = expected_order(t, method).reshape(t.tensor.shape)
    expected = np.array([base + order for base in bases], np.int64)
    check_tensor(clones, expected.reshape(n, *order.shape))
    assert tiles(clones).tolist() == tiles(t.tensor).tolist() * n


@given(tensors(max_steps=5), st.integers(0, 3), st.sampled_from(KEEPS_ALIASES))
def test_clones_by_region_lie_side_by_side_for_each_range_on_one_tile(
    t: AddressedTensor, n: int, method: pl.TensorCloneMethod
) -> None:
    graph = t.tensor.graph
    clones = graph.clone_n(t.tensor, n, method=method, duplication=BY_TILE)
    base = graph.variables[-1].storage.base
    order = expected_order(t, method)
    size = len(np.unique(order))
    tile = np.full(size, -1)
    tile[order] = tiles(t.tensor)
    first = np.flatnonzero(np.append(True, np.diff(tile) != 0)[:size])
    length = np.diff(first, append=size)
    region = np.searchsorted(first, order, side="right") - 1
    begin = n * first[region] + order - first[region]
    expected = base + begin + np.arange(n)[:, None] * length[region]
    check_tensor(clones, expected.reshape(n, *t.tensor.shape))
    assert tiles(clones).tolist() == tiles(t.tensor).tolist() * n


@given(tensors(), st.sampled_from([Method.CREATE_NEW_ORDER, Method.PRESERVE_ORDER_UNLESS_ALIASES]))
def test_copies_by_region_are_refused_where_a_clone_would_have_a_new_order(
    t: AddressedTensor, method: pl.TensorCloneMethod
) -> None:
    graph, before = t.tensor.graph, len(t.tensor.graph.variables)
    if method is Method.PRESERVE_ORDER_UNLESS_ALIASES and not t.tensor.contains_aliases():
        kept = graph.clone_n(t.tensor, 2, method=method, duplication=BY_TILE)
        same = graph.clone_n(t.tensor, 2, method=KEEPS_ALIASES[0], duplication=BY_TILE)
        offset = graph.variables[-1].storage.base - graph.variables[-2].storage.base
        assert (addresses(kept.view) + offset == addresses(same.view)).all()
        return
    with pytest.raises(pl.TensorCreationError, match=f"but {method.name} creates a new order"):
        graph.clone_n(t.tensor, 2, method=method, duplication=BY_TILE)
    assert len(graph.variables) == before


# -- indices ---------------------------------------------------------------------------------------


shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@given(st.data(), shapes)
def test_a_key_selects_what_numpy_selects(data: st.DataObject, shape: tuple[int, ...]) -> None:
    key: Any = data.draw(basic_indices(shape, allow_newaxis=True, max_dims=6))
    tensor = Graph().add_variable(FLOAT, shape)
    expected = addresses(tensor.view)[key]
    selected = addresses(tensor[key].view)
    assert selected.shape == np.shape(expected)
    np.testing.assert_array_equal(selected, expected)


@given(shapes, st.lists(st.integers(-7, 7), max_size=5))
def test_numbers_outside_raise_where_numpy_raises(shape: tuple[int, ...], key: list[int]) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    try:
        expected = addresses(tensor.view)[tuple(key)]
    except IndexError:
        with pytest.raises(TensorIndexError, match=r"index|indices"):
            tensor[tuple(key)]
    else:
        np.testing.assert_array_equal(addresses(tensor[tuple(key)].view), expected)


@given(st.data(), array_shapes(max_dims=3, max_side=4))
def test_iteration_yields_the_indices_of_dimension_0(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    order = data.draw(st.permutations(range(len(shape))))
    tensor = tensor.dim_shuffle(order)
    assert len(tensor) == tensor.shape[0]
    assert list(tensor) == [tensor[i] for i in range(tensor.shape[0])]


@given(shapes.filter(bool), st.none() | st.integers(-7, 7), st.none() | st.integers(-7, 7))
def test_a_range_alone_is_the_view_that_it_is_with_others(
    shape: tuple[int, ...], begin: int | None, end: int | None
) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    alone, others = tensor[begin:end].view, tensor[begin:end, ...].view
    assert (alone.shape, alone.dims, alone.off) == (others.shape, others.dims, others.off)
    assert alone.space is others.space
    np.testing.assert_array_equal(addresses(alone), addresses(tensor.view)[begin:end])
