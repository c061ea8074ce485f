"""Spreading tensors in turn, by weights and like others; the parts of workers."""

from __future__ import annotations

import numpy as np
import pytest

from poplite.errors import InvalidTileMapping, TensorCreationError
from poplite.graph import Graph
from poplite.graph.partition import (
    map_by_weights,
    map_like,
    map_round_robin,
    split_among_workers,
    split_regions,
)
from poplite.machine.target import Target


def test_round_robin_deals_grains_out() -> None:
    graph = Graph(Target(tiles=3))
    x = graph.add_variable("int32", (10,), "x")
    map_round_robin(graph, x, grain=2, first=1)
    assert graph.tile_mapping(x) == [[(4, 6)], [(0, 2), (6, 8)], [(2, 4), (8, 10)]]
    with pytest.raises(InvalidTileMapping, match="tile 3 of 3 tiles"):
        map_round_robin(graph, x, first=3)
    with pytest.raises(TensorCreationError, match="grain=0; it is at least 1"):
        map_round_robin(graph, x, grain=0)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_no_tile_has_more_than_its_share_and_the_largest_weight(dim: int) -> None:
    graph, rng = Graph(Target(tiles=7)), np.random.default_rng(0)
    x = graph.add_variable("int32", (50, 60), "x")
    size = x.shape[dim]
    weights = rng.random(size) ** 4
    map_by_weights(graph, x, weights, dim=dim)
    first = x.dim_roll(dim % 2, 0)
    tiles = [graph.tile_mapping(first[i]).tiles.tolist() for i in range(size)]
    assert all(len(each) == 1 for each in tiles)
    flat = [each[0] for each in tiles]
    assert flat == sorted(flat)
    load = np.bincount(flat, weights, 7)
    assert load.max() <= weights.sum() / 7 + weights.max()


def test_no_weight_at_all_spreads_evenly() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable("int32", (4,), "x")
    map_by_weights(graph, x, [0, 0, 0, 0])
    assert graph.tile_mapping(x) == [[(0, 2)], [(2, 4)]]


@pytest.mark.parametrize("weights", [[1, 2], [1, 2, -1], [1, np.nan, 2], [[1, 2, 3]]])
def test_weights_that_fit_no_dimension_are_refused(weights: object) -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable("int32", (3,), "x")
    with pytest.raises(TensorCreationError, match="for the 3 indices of dimension 0 of 'x'"):
        map_by_weights(graph, x, weights)  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match="dimension 1 of 'x', which has 1"):
        map_by_weights(graph, x, [1, 1, 1], dim=1)


def test_a_tensor_lies_as_another() -> None:
    graph = Graph(Target(tiles=2))
    row = graph.add_variable("int32", (4,), "row", mapping="linear")
    x = graph.add_variable("float32", (2, 4), "x")
    map_like(graph, x, row)
    assert graph.tile_mapping(x) == [[(0, 2), (4, 6)], [(2, 4), (6, 8)]]
    with pytest.raises(TensorCreationError, match=r"'x' has shape \(2, 4\), 'row' \(4,\)"):
        map_like(graph, row, x)
    bare = graph.add_variable("int32", (4,), "bare")
    with pytest.raises(InvalidTileMapping):
        map_like(graph, row, bare)


@pytest.mark.parametrize("grain", [1, 4])
@pytest.mark.parametrize("least", [1, 10])
def test_parts_of_regions_are_all_of_them_in_order(grain: int, least: int) -> None:
    regions = [(3, 9), (9, 9), (20, 21), (30, 47)]
    parts = split_regions(regions, 6, grain=grain, min_elements=least)
    elements = [i for begin, end in regions for i in range(begin, end)]
    found = [[i for begin, end in part for i in range(begin, end)] for part in parts]
    assert [i for part in found for i in part] == elements
    assert all(len(part) % grain == 0 for part in found[:-1])
    assert len(found) == 1 or min(map(len, found)) >= least
    assert split_regions([], 6) == []
    with pytest.raises(TensorCreationError, match="parts=0, grain=1"):
        split_regions(regions, 0)


def test_workers_share_what_their_tile_has() -> None:
    graph = Graph(Target(tiles=3, workers=2))
    x = graph.add_variable("int32", (4, 3), "x")
    map_round_robin(graph, x, grain=2)
    parts = split_among_workers(graph, x)
    assert parts.tile.tolist() == [0, 0, 1, 1, 2, 2]
    assert parts.worker.tolist() == [0, 1] * 3
    assert parts.intervals[:2] == [[(0, 2)], [(6, 8)]]
    views = x.flatten().slices(parts.intervals)
    assert [view.num_elements for view in views] == [2] * 6
