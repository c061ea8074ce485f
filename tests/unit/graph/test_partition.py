"""Ways to put tensors on tiles: linearly, in turn, by weights, like others; parts of workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from poplite.errors import (
    ElementTypeError,
    InvalidTileMapping,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.graph import Graph
from poplite.graph.partition import (
    cut,
    grid_blocks,
    halo_blocks,
    map_blocks,
    map_by_weights,
    map_like,
    map_linearly,
    map_round_robin,
    near_square_grid,
    split_among_workers,
    split_regions,
    spread,
)
from poplite.machine.target import Target


@pytest.mark.parametrize(("n", "parts"), [(0, 3), (1, 3), (10, 4), (12, 4), (2**40 + 7, 1472)])
def test_cuts_cover_everything_and_differ_by_at_most_one(n: int, parts: int) -> None:
    cuts = [cut(i, n, parts) for i in range(parts + 1)]
    sizes = [b - a for a, b in zip(cuts, cuts[1:], strict=False)]
    assert (cuts[0], cuts[-1]) == (0, n)
    assert max(sizes) - min(sizes) <= 1


def test_fewer_elements_than_tiles_use_the_first_tiles() -> None:
    begin, end, tile = spread(3, 8)
    assert begin.tolist() == [0, 1, 2]
    assert end.tolist() == [1, 2, 3]
    assert tile.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: spread(2**40, 2**40), "spread: tiles is 1099511627776"),
        (lambda: near_square_grid(2**40, 2**40, 2**40), "near_square_grid: tiles is 1099511627776"),
        (lambda: grid_blocks((2**40,) * 2, (2**30, 2**10)), "grid_blocks: tiles is 1099511627776"),
    ],
)
def test_there_are_no_more_tiles_than_a_target_may_have(
    call: Callable[[], object], what: str
) -> None:
    with pytest.raises(SizeOverflowError, match=what) as caught:
        call()
    assert caught.value.found == "a target has at most 4,194,304"


def test_nothing_uses_no_tile() -> None:
    assert [len(a) for a in spread(0, 8)] == [0, 0, 0]


@pytest.mark.parametrize("grain", [1, 3, 4])
@pytest.mark.parametrize("least", [1, 5, 8, 100])
@pytest.mark.parametrize("n", [1, 7, 16, 64, 100])
def test_grains_stay_together_and_tiles_get_the_minimum(n: int, least: int, grain: int) -> None:
    begin, end, tile = spread(n, 4, grain=grain, min_elements=least)
    assert begin[0] == 0
    assert end[-1] == n
    assert (begin[1:] == end[:-1]).all()
    assert (begin % grain == 0).all()
    assert len(tile) <= 4
    assert len(tile) == 1 or (end - begin).min() >= least


def test_map_linearly_maps_a_view_in_its_own_order() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable("int32", (2, 3), "x")
    map_linearly(graph, x.T)
    assert graph.tile_mapping(x.T) == [[(0, 3)], [(3, 6)]]
    assert graph.tile_mapping(x) == [[(0, 2), (3, 4)], [(2, 3), (4, 6)]]


def test_map_linearly_refuses_grain_zero() -> None:
    graph = Graph(Target(tiles=2))
    x = graph.add_variable("int32", (4,), "x")
    with pytest.raises(TensorCreationError, match="'x': grain=0 and min_elements=1"):
        map_linearly(graph, x, grain=0)


def test_map_blocks_puts_block_t_on_tile_t_with_all_channels() -> None:
    graph = Graph(Target(tiles=4))
    image = graph.add_variable("float32", (5, 4, 3), "image")
    blocks = map_blocks(graph, image, (2, 2))
    assert blocks[2] == (slice(2, 5), slice(0, 2))
    for tile, block in enumerate(blocks):
        piece = image[block]
        assert graph.tile_mapping(piece)[tile] == [(0, piece.num_elements)]


def test_map_blocks_chooses_a_grid() -> None:
    graph = Graph(Target(tiles=6))
    image = graph.add_variable("float32", (40, 60), "image")
    assert len(map_blocks(graph, image)) == 6
    assert graph.tile_mapping(image).elements_per_tile.tolist() == [400] * 6


def test_map_blocks_needs_two_dimensions_and_enough_tiles() -> None:
    graph = Graph(Target(tiles=3))
    line = graph.add_variable("float32", (5,), "line")
    with pytest.raises(TensorCreationError, match="'line': rank 1, but blocks need rank 2"):
        map_blocks(graph, line)
    image = graph.add_variable("float32", (5, 5), "image")
    with pytest.raises(InvalidTileMapping, match="tile 3, but the graph has 3 tiles"):
        map_blocks(graph, image, (2, 2))


@pytest.mark.parametrize("grid", [(0, 1), (4, 1), (1, 5)])
def test_grids_that_do_not_fit(grid: tuple[int, int]) -> None:
    message = f"a grid of {grid[0]} x {grid[1]} blocks over 3 x 4 elements leaves blocks empty"
    with pytest.raises(TensorCreationError, match=message):
        grid_blocks((3, 4), grid)


def test_blocks_cover_the_plane_once() -> None:
    cells = [
        (i, j)
        for rows, cols in grid_blocks((7, 5), (3, 2))
        for i in range(rows.start, rows.stop)
        for j in range(cols.start, cols.stop)
    ]
    assert sorted(cells) == [(i, j) for i in range(7) for j in range(5)]


@pytest.mark.parametrize(
    ("rows", "cols", "tiles", "grid"),
    [
        (427, 640, 1472, (32, 46)),
        (640, 427, 1472, (46, 32)),
        (1000, 1000, 1471, (35, 42)),  # a prime: one tile stays idle
        (5, 5, 64, (5, 5)),
        (1, 1000, 64, (1, 64)),
        (1, 1, 1472, (1, 1)),
        (0, 4, 8, (1, 4)),
        (100, 100, 1, (1, 1)),
    ],
)
def test_near_square_grids(rows: int, cols: int, tiles: int, grid: tuple[int, int]) -> None:
    assert near_square_grid(rows, cols, tiles) == grid


def test_what_is_no_graph_tensor_or_pair() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable("float32", (4, 4), "x")
    with pytest.raises(ElementTypeError, match="(?s)^map_linearly: str is not a tensor.*given 'x'"):
        map_linearly(graph, "x")  # type: ignore[arg-type]
    with pytest.raises(ElementTypeError, match="^map_blocks: 3 is not a graph"):
        map_blocks(3, x)  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match=r"^grid \(2,\) is not two whole numbers"):
        map_blocks(graph, x, (2,))  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match=r"^grid \(2.5, 1\) is not two whole numbers"):
        map_blocks(graph, x, (2.5, 1))  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match="'x': grain=1.5 and min_elements=1"):
        map_linearly(graph, x, grain=1.5)  # type: ignore[arg-type]


def test_at_least_one_part() -> None:
    with pytest.raises(TensorCreationError, match=r"cut of 10 elements into 0 parts"):
        cut(1, 10, 0)
    with pytest.raises(TensorCreationError, match="a grid over 0 tiles, but at least 1"):
        near_square_grid(3, 3, 0)


@pytest.mark.parametrize(
    ("shape", "grid", "halo", "workers"),
    [
        ((7, 8), (1, 1), 1, 1),
        ((9, 12, 4), (2, 3), 1, 6),
        ((13, 9), (3, 2), 2, 2),
        ((4, 5), (2, 5), 0, 3),
    ],
)
def test_parts_with_their_halo_are_what_a_stencil_needs(
    shape: tuple[int, ...], grid: tuple[int, int], halo: int, workers: int
) -> None:
    """Each cell within the edge has one owner, which sees all of its neighbours and no more."""
    graph = Graph(Target(tiles=6 if grid == (2, 3) else grid[0] * grid[1]))
    x = graph.add_variable("float32", shape, "x")
    blocks = map_blocks(graph, x, grid, halo=halo)
    assert graph.tile_mapping(x).is_complete
    parts = halo_blocks(x.shape, grid, halo=halo, workers=workers)
    owners = np.zeros(shape[:2], int)
    cells = np.arange(owners.size).reshape(owners.shape)
    for tile, own, around in parts:
        owners[own] += 1
        seen = sliding_window_view(cells, (2 * halo + 1, 2 * halo + 1))
        inner = tuple(slice(each.start - halo, each.stop - halo) for each in own)
        assert np.array_equal(np.unique(cells[around]), np.unique(seen[inner]))
        assert graph.tile_mapping(x[own]).tiles == [tile]
    inside = tuple(slice(halo, length - halo) for length in shape[:2])
    assert owners.sum() == owners[inside].sum() == owners[inside].size
    heights = [rows.stop - rows.start for rows, _ in blocks]
    assert [part.tile for part in parts] == [
        tile for tile, height in enumerate(heights) for _ in range(min(height, workers))
    ]


def test_the_edge_lies_with_the_block_next_to_it() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable("float32", (6, 10), "x")
    assert map_blocks(graph, x, (2, 2), halo=1)[3] == (slice(3, 5), slice(5, 9))
    tiles = np.empty((6, 10), int)
    for tile in range(4):
        for begin, end in graph.tile_mapping(x)[tile]:
            tiles.reshape(-1)[begin:end] = tile
    assert np.array_equal(tiles, np.repeat([[0] * 5 + [1] * 5, [2] * 5 + [3] * 5], 3, 0))


def test_a_halo_that_does_not_fit() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable("float32", (4, 2), "x")
    with pytest.raises(TensorCreationError, match="a halo of 1 cell leaves nothing of 4 x 2 cells"):
        map_blocks(graph, x, (1, 1), halo=1)
    with pytest.raises(
        TensorCreationError, match="(?s)^halo_blocks: halo is -1.*a whole number from 0"
    ):
        halo_blocks((4, 4), (1, 1), halo=-1)
    with pytest.raises(TensorCreationError, match="^halo_blocks: workers is 0"):
        halo_blocks((4, 4), (1, 1), workers=0)
    with pytest.raises(TensorCreationError, match=r"a grid of 3 x 1 blocks over 2 x 2 elements"):
        halo_blocks((4, 4), (3, 1))
    with pytest.raises(TensorCreationError, match=r"shape \(4,\) is not two whole numbers"):
        halo_blocks((4,), (1, 1))


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
