"""Sorted regions, rearrangements and groupings beside dense arrays of addresses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.graph.partition import detect_innermost_grouping
from poplite.graph.tensor import regions as memory_regions
from poplite.jit import build
from poplite.view import address_sets as sets, addresses, num_runs

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


def tiles_of(graph: pl.Graph, tensor: pl.Tensor) -> Int64:
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
    address, tile = addresses(tensor.view).reshape(-1), tiles_of(graph, tensor)
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
    tile = tiles_of(graph, tensor.flatten()[:size])
    changes = np.flatnonzero(np.diff(tile, prepend=-1, append=-1))
    group = math.gcd(run, int(np.diff(changes).max()))
    assert detect_innermost_grouping(graph, tensor) == (1 if size % group else group)
