"""PopLibs' names for sorting, the largest elements, padding, and linear mappings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import popops, poputil
from poplite.compat.popops import SortOrder, TopKParams

KEYS = np.array([[3, 1, 2, 3, -1], [0, -0.0, 5, 4, 5]], np.float32)
VALUES = np.arange(10, dtype=np.int32).reshape(2, 5)


def made() -> tuple[pl.Graph, pl.Sequence, pl.Tensor, pl.Tensor]:
    """Return a graph, a program, keys and values."""
    graph = pl.Graph(pl.Target(tiles=4))
    keys = graph.add_variable(pl.FLOAT, KEYS.shape, "k", mapping="linear", initial_value=KEYS)
    values = graph.add_variable(pl.INT, (2, 5), "v", mapping="linear", initial_value=VALUES)
    return graph, pl.Sequence(), keys, values


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("order", list(SortOrder))
def test_top_k_in_each_order(largest: bool, order: SortOrder) -> None:
    graph, prog, keys, values = made()
    params = TopKParams(3, largest, order)
    best, places = popops.topKWithPermutation(graph, prog, keys, params)
    _, chosen = popops.topKKeyValue(graph, prog, keys, values, params)
    alone = popops.topK(graph, prog, keys, params)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    found = engine.read(best)
    expected = np.sort(KEYS)[:, -3:] if largest else np.sort(KEYS)[:, :3]
    np.testing.assert_array_equal(np.sort(found), expected)
    if order is not SortOrder.NONE:
        rising = found if order is SortOrder.ASCENDING else found[:, ::-1]
        np.testing.assert_array_equal(rising, expected)
    np.testing.assert_array_equal(np.take_along_axis(KEYS, engine.read(places), 1), found)
    np.testing.assert_array_equal(
        np.take_along_axis(VALUES, engine.read(places), 1), engine.read(chosen)
    )
    np.testing.assert_array_equal(engine.read(alone), found)


@pytest.mark.parametrize("dim", [0, 1])
def test_sorts(dim: int) -> None:
    graph, prog, keys, values = made()
    copies = poputil.duplicate(graph, keys, prog), poputil.duplicate(graph, values, prog)
    alone = poputil.duplicate(graph, keys, prog)
    y = popops.sort(graph, keys, dim, prog)
    moved = popops.sortKeyValue(graph, keys, values, dim, prog)
    popops.sortInPlace(graph, alone, dim, prog)
    popops.sortKeyValueInPlace(graph, *copies, dim, prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    order = np.argsort(KEYS, axis=dim, kind="stable")
    for each in (y, alone, copies[0]):
        np.testing.assert_array_equal(engine.read(each), np.take_along_axis(KEYS, order, dim))
    for each in (moved, copies[1]):
        np.testing.assert_array_equal(engine.read(each), np.take_along_axis(VALUES, order, dim))


def test_pad() -> None:
    graph, prog, keys, _ = made()
    found = pl.ops.map(popops.pad(graph, keys, [1, -2], [0, 1], 7.0), program=prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    expected = np.pad(KEYS[:, 2:], [(1, 0), (0, 1)], constant_values=7)
    np.testing.assert_array_equal(engine.read(found), expected)
    with pytest.raises(pl.InvalidOption, match="1 lower and 2 upper widths"):
        popops.pad(graph, keys, [1], [0, 1])


def test_linear_mappings_begin_elsewhere_and_may_fall() -> None:
    graph = pl.Graph(pl.Target(tiles=5))
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    poputil.mapTensorLinearlyWithOffset(graph, x, 2, 2, 3, True)
    assert graph.tile_mapping(x) == [[(4, 6)], [(6, 8)], [], [(0, 2)], [(2, 4)]]
    poputil.mapTensorLinearlyWithOffset(graph, x, 2, 2, 3, False)
    assert graph.tile_mapping(x) == [[(2, 4)], [(0, 2)], [], [(6, 8)], [(4, 6)]]
    poputil.mapTensorLinearlyWithOffset(graph, x, 4, False)
    assert graph.tile_mapping(x) == [[(0, 8)], [], [], [], []]
    with pytest.raises(pl.ElementTypeError, match="Order is 2, not true or false"):
        poputil.mapTensorLinearlyWithOffset(graph, x, 3, True, 2, 2)


def test_linear_mappings_use_as_few_tiles_as_are_as_fast() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (5,), "x")
    poputil.mapTensorLinearly(graph, x, 1, 1)
    assert graph.tile_mapping(x) == [[(0, 1)], [(1, 3)], [(3, 5)]]
    y = graph.add_variable(pl.FLOAT, (5,), "y")
    poputil.mapTensorLinearlyWithOffset(graph, y, 1, 1, 2)
    assert graph.tile_mapping(y) == [[(3, 5)], [], [(0, 1)], [(1, 3)]]
    none = graph.add_variable(pl.FLOAT, (0,), "none")
    poputil.mapTensorLinearly(graph, none)
    with pytest.raises(pl.InvalidOption, match=r"mapTensorLinearly: grain 0"):
        poputil.mapTensorLinearly(graph, x, 1, 0)


@given(
    st.lists(st.integers(0, 9), max_size=4),
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(0, 12),
)
def test_regions_are_split_as_poplibs_does(
    sizes: list[int], grain: int, most: int, least: int
) -> None:
    ends = np.cumsum([size + 3 for size in sizes]).tolist()
    regions = [(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    elements = [each for begin, end in regions for each in range(begin, end)]
    grains = math.ceil(len(elements) / grain)
    largest = math.ceil(grains / most)
    if least:
        largest = max(largest, math.ceil(grains / max(1, grains // math.ceil(least / grain))))
    parts = math.ceil(grains / largest) if grains else 0
    found = poputil.splitRegions(regions, grain, most, least)
    assert len(found) == parts
    for part, intervals in enumerate(found):
        begin, end = (part * grains // parts * grain, (part + 1) * grains // parts * grain)
        held = [each for low, high in intervals for each in range(low, high)]
        assert held == elements[begin:end]


def test_regions_are_split() -> None:
    parts = poputil.splitRegions([(0, 3)], 2, 5, 1)
    assert parts == [[(0, 2)], [(2, 3)]]
    parts = poputil.splitRegions([(0, 5), (8, 11)], 2, 3)
    assert parts == [[(0, 4)], [(4, 5), (8, 11)]]
    parts = poputil.splitRegions([(0, 10), (15, 20), (33, 60)], 4, 8, 6)
    assert [sum(end - begin for begin, end in part) for part in parts] == [8, 12, 12, 10]
    assert parts[:2] == [[(0, 8)], [(8, 10), (15, 20), (33, 38)]]
    with pytest.raises(pl.InvalidOption, match="splitRegions: parts 0"):
        poputil.splitRegions([(0, 8)], 1, 0)
    parts = poputil.splitRegionsBetweenWorkers(pl.Target(workers=4), [(0, 8)], 1, 4)
    assert parts == [[(0, 4)], [(4, 8)]]
