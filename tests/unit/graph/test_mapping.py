"""Tile mappings: as data, and the ways to put tensors on tiles."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from helpers.depth import examples
from poplite.arrays import intervals
from poplite.errors import (
    ElementTypeError,
    InvalidTileMapping,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
)
from poplite.graph import Graph, tile_mapping as mapping_module, variable_mapping as tile_table
from poplite.graph.partitioners import (
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
from poplite.graph.tensor.concat import concat
from poplite.graph.tile_mapping import NO_TILE, TileMapping, intervals_of, ranges
from poplite.graph.variable_mapping import (
    Linear,
    TileTable,
    VariableMapping,
    Version,
    cut_strided,
    split,
)
from poplite.machine.target import Target
from poplite.view import Interval

# -- mappings as data ------------------------------------------------------------------------------


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_a_new_variable_has_no_tile() -> None:
    mapping = VariableMapping(5)
    assert not mapping.is_complete
    assert mapping.unmapped() == [(0, 5)]
    assert mapping.tiles_used().tolist() == []


def test_no_elements_are_always_complete() -> None:
    mapping = VariableMapping(0)
    assert mapping.is_complete
    assert mapping.unmapped() == []
    mapping.paint(0, 0, 3)
    assert mapping.is_complete
    assert mapping.tiles_used().tolist() == []


def test_the_last_writer_wins() -> None:
    mapping = VariableMapping(10)
    mapping.paint(0, 10, 0)
    mapping.paint(2, 8, 1)
    mapping.paint_many(ints(7, 3), ints(9, 4), ints(2, 0))
    breaks, tiles = mapping.pieces()
    assert breaks.tolist() == [0, 2, 3, 4, 7, 9, 10]
    assert tiles.tolist() == [0, 1, 0, 1, 2, 0]


def test_an_edit_after_a_query_keeps_what_was_there() -> None:
    mapping = VariableMapping(4)
    mapping.paint(0, 2, 1)
    assert mapping.unmapped() == [(2, 4)]
    mapping.paint(1, 3, 0)
    assert [a.tolist() for a in mapping.pieces()] == [[0, 1, 3, 4], [1, 0, NO_TILE]]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ((3, 0), (5, 3), ([0, 3, 5], [1, 2])),  # all elements, each once
        ((0, 2), (3, 4), ([0, 2, 4, 5], [1, 2, 0])),  # as many, but one twice and one not
        ((0, 3), (5, 3), ([0, 5], [1])),  # one interval is empty
        ((3, 3), (3, 3), ([0, 5], [0])),  # both are
    ],
)
def test_many_intervals_cover_what_lies_below(
    begin: tuple[int, int], end: tuple[int, int], expected: tuple[list[int], list[int]]
) -> None:
    mapping = VariableMapping(5, tile=0)
    tiles = ints(1, 2) if begin[0] == 0 else ints(2, 1)
    mapping.paint_many(ints(*begin), ints(*end), tiles)
    assert tuple(a.tolist() for a in mapping.pieces()) == expected


def test_equal_neighbours_are_one_piece() -> None:
    mapping = VariableMapping(6)
    for begin in range(6):
        mapping.paint(begin, begin + 1, begin // 3)
    assert [a.tolist() for a in mapping.pieces()] == [[0, 3, 6], [0, 1]]


def test_linear_pieces_are_numbers_until_edited() -> None:
    mapping = VariableMapping(2**60)
    mapping.paint_linearly(Linear.over(2**60, 1472))
    assert mapping.is_complete
    breaks, tiles = mapping.pieces_within(2**60 - 1, 2**60)
    assert breaks.tolist() == [1471 * 2**60 // 1472, 2**60]
    assert tiles.tolist() == [1471]
    mapping.paint(0, 1, 7)
    breaks, tiles = mapping.pieces_within(0, 3)
    assert breaks.tolist() == [0, 1, 2**60 // 1472]
    assert tiles.tolist() == [7, 0]
    mapping.paint(0, 2**60, 3)
    assert [a.tolist() for a in mapping.pieces()] == [[0, 2**60], [3]]
    mapping.paint_linearly(Linear.over(2**60, 2))
    assert [a.tolist() for a in mapping.pieces()] == [[0, 2**59, 2**60], [0, 1]]


def test_linear_over_nothing() -> None:
    mapping = VariableMapping(0)
    mapping.paint_linearly(Linear.over(0, 4))
    assert mapping.is_complete
    assert [a.tolist() for a in mapping.pieces()] == [[0], []]


def test_a_grain_beyond_every_element_is_all_of_them() -> None:
    assert Linear.over(10, 4, grain=2**70).pieces()[0].tolist() == [0, 10]


def test_every_edit_after_a_query_makes_a_new_version() -> None:
    version = Version()
    mapping = VariableMapping(6, version)
    edits: list[Callable[[], None]] = [
        lambda: mapping.paint(0, 2, 1),
        lambda: mapping.paint_runs([0, 4], [1, 1], 2),
        lambda: mapping.paint_many(ints(1), ints(2), ints(0)),
        lambda: mapping.paint_linearly(Linear.over(6, 3)),
        lambda: mapping.paint(0, 6, 0),
    ]
    for edit in edits:
        table, before = mapping.table(), version.number
        assert mapping.table() is table
        edit()
        assert version.number > before
        assert mapping.table() is not table
        assert mapping.table().tiles.tolist() == mapping.pieces()[1].tolist()


def test_split_walks_over_several_variables_in_the_order_of_the_runs() -> None:
    first, second = VariableMapping(4), VariableMapping(4)
    first.paint(0, 4, 1)
    second.paint(2, 4, 0)
    tile, begin, length = split([(10, second), (5, first)], ints(11, 5), ints(2, 3))
    assert tile.tolist() == [NO_TILE, 0, 1]
    assert begin.tolist() == [11, 12, 5]
    assert length.tolist() == [1, 1, 3]


class TestTileMapping:
    mapping = TileMapping(4, ints(1, 1, 0, NO_TILE, 1), ints(2, 1, 3, 5, 4))

    def test_is_a_list_of_intervals_for_each_tile(self) -> None:
        assert len(self.mapping) == 4
        assert list(self.mapping) == [[(3, 6)], [(0, 3), (11, 15)], [], []]
        assert self.mapping[1][1] == Interval(11, 15)
        assert self.mapping[-3] == self.mapping[1]
        with pytest.raises(IndexError, match="tile 4 does not exist; there are 4"):
            self.mapping[4]

    def test_counts(self) -> None:
        assert self.mapping.num_elements == 15
        assert self.mapping.elements_per_tile.tolist() == [3, 7, 0, 0]
        assert self.mapping.tiles.tolist() == [0, 1]
        assert self.mapping.num_unmapped == 5
        assert self.mapping.unmapped == [(6, 11)]
        assert not self.mapping.is_complete

    def test_intervals_read_as_a_list(self) -> None:
        held = self.mapping[1]
        assert held == [(0, 3), (11, 15)]
        assert held == self.mapping[1]
        assert held != [(0, 3)]
        assert held != [(0, 3), (11, 16)]
        assert held != "intervals"
        assert held[-1:] == [(11, 15)]
        assert held[-1].end == 15
        assert repr(held) == "[Interval(begin=0, end=3), Interval(begin=11, end=15)]"
        assert np.array(held).tolist() == [[0, 3], [11, 15]]
        with pytest.raises(IndexError):
            held[2]

    def test_equals_mappings_of_graphs_of_other_sizes(self) -> None:
        pieces = ints(1, 0, NO_TILE), ints(2, 3, 1)
        assert TileMapping(4, *pieces) == TileMapping(2, *pieces)
        assert TileMapping(4, *pieces) != TileMapping(4, ints(1, 2, NO_TILE), ints(2, 3, 1))
        assert TileMapping(4, *pieces) != TileMapping(4, ints(1, 0, NO_TILE), ints(2, 2, 2))

    def test_equals_nested_lists(self) -> None:
        assert self.mapping == [[(3, 6)], [(0, 3), (11, 15)]]
        assert self.mapping == [[(3, 6)], [(0, 3), (11, 15)], [], [], []]
        assert self.mapping != [[(3, 6)], [(0, 3)]]
        assert self.mapping != [[], [], [], [], [(0, 1)]]
        assert self.mapping != 3

    def test_repr_is_one_line_with_the_spread(self) -> None:
        full = TileMapping(1472, np.arange(32), np.full(32, 256))
        assert repr(full) == (
            "<TileMapping 8,192 elements, 32 tiles, max 256 min 256, 32 intervals>"
        )
        assert repr(self.mapping) == (
            "<TileMapping 15 elements, 2 tiles, max 7 min 3, 3 intervals, 5 unmapped>"
        )
        assert repr(TileMapping(2, ints(), ints())) == (
            "<TileMapping 0 elements, 0 tiles, 0 intervals>"
        )


class TestManyPieces:
    table = TileTable(np.arange(0, 200, 10), np.arange(19) % 2)
    every_tenth = cut_strided(table, [(10, 1), (19, 10)], 0)

    def test_are_counted_before_they_get_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _, tile, end = self.every_tenth.pieces(2)
        monkeypatch.setattr(tile_table, "CAREFREE_PIECES", 5)
        assert self.every_tenth.most == 190
        _, same_tile, same_end = self.every_tenth.pieces(2)
        assert same_tile.tolist() == tile.tolist()
        assert same_end.tolist() == end.tolist()

    def test_are_refused_past_the_limit_but_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tile_table, "CAREFREE_PIECES", 5)
        monkeypatch.setattr(tile_table, "MOST_PIECES", 180)
        mapping = TileMapping.of(2, self.every_tenth)
        assert mapping.elements_per_tile.tolist() == [100, 90]
        assert mapping.is_complete
        with pytest.raises(SizeOverflowError, match="changes tiles 181 times, more than 180"):
            mapping[0]


def test_a_few_runs_need_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_kernel(function: object) -> None:
        raise AssertionError(f"{function} was compiled")

    for module in (mapping_module, tile_table, intervals):
        monkeypatch.setattr(module, "native", no_kernel)
    graph = Graph()
    x = graph.add_variable("float32", (64, 1000), mapping="linear")
    y = graph.add_variable("float32", (64,), mapping=3)
    graph.set_tile_mapping(x[:, 5], 7)
    assert graph.tile_mapping(x).elements_per_tile.sum() == 64_000
    assert graph.tile_mapping(x[:, 5])[7] == [(0, 64)]
    assert graph.tile_mapping(concat([y, x[:8, 5]]))[7] == [(64, 72)]
    many = graph.tile_mapping(x.T)
    with pytest.raises(AssertionError, match="was compiled"):
        many.tiles  # noqa: B018  (the lookup is the test)


class TestIntervalsOf:
    def test_a_tile_mapping_is_taken_back(self) -> None:
        mapping = TileMapping(2, ints(1, 0), ints(2, 3))
        arrays = intervals_of(mapping, 2, 5, what="'a'")
        assert [a.tolist() for a in arrays] == [[0, 2], [2, 5], [1, 0]]

    def test_empty_intervals_are_dropped(self) -> None:
        assert [len(a) for a in intervals_of([[(3, 3)], []], 2, 5, what="'a'")] == [0, 0, 0]

    def test_tiles_beyond_the_graph(self) -> None:
        with pytest.raises(InvalidTileMapping, match="'a': tile 2, but the graph has 2 tiles"):
            intervals_of([[], [], [(0, 1)]], 2, 5, what="'a'")
        intervals_of([[], [], []], 2, 5, what="'a'")

    @pytest.mark.parametrize("interval", [(4, 6), (-1, 2), (3, 1), (0, 2**70), (-(2**70), 4)])
    def test_intervals_beyond_the_view(self, interval: tuple[int, int]) -> None:
        begin, end = interval
        message = rf"interval \[{begin}, {end}\) of tile 1 is not within the view's 5 elements"
        with pytest.raises(InvalidTileMapping, match=message) as caught:
            intervals_of([[], [interval]], 2, 5, what="'a'")
        beyond = max(0, -begin) + max(0, end - 5)
        assert caught.value.found.startswith(
            "it ends before it begins" if begin > end else f"{beyond:,} element"
        )

    def test_a_mapping_of_a_larger_tensor_or_graph(self) -> None:
        mapping = TileMapping(3, ints(1, 2), ints(2, 3))
        with pytest.raises(InvalidTileMapping, match=r"\[2, 5\) of tile 2 is not within .* 4 el"):
            intervals_of(mapping, 3, 4, what="'a'")
        with pytest.raises(InvalidTileMapping, match="tile 2, but the graph has 2 tiles"):
            intervals_of(mapping, 2, 5, what="'a'")

    def test_an_element_given_to_two_tiles(self) -> None:
        with pytest.raises(
            InvalidTileMapping, match="element 2 is mapped to tile 0 and to tile 1"
        ) as e:
            intervals_of([[(0, 3)], [(2, 5)]], 2, 5, what="'a'")
        assert e.value.found == "[0, 3) on tile 0, [2, 5) on tile 1"

    @pytest.mark.parametrize("mapping", [[3, 4], [[(1, 2, 3)]], [[(0.5, 2)]], 7.5])
    def test_what_is_no_mapping(self, mapping: object) -> None:
        with pytest.raises(InvalidTileMapping, match="is not a tile mapping"):
            intervals_of(mapping, 2, 5, what="'a'")  # type: ignore[arg-type]


def test_ranges() -> None:
    assert ranges([]) == "none"
    assert ranges([3]) == "3"
    assert ranges([0, 2, 4, 6, 8, 9]) == "0, 2, 4, 6, ..."


def test_a_billion_elements_in_any_order_go_to_one_tile_as_one_range() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable("float32", (2**15, 2**15), "x", mapping="linear")
    graph.set_tile_mapping(x.T.reverse(1), 3)
    assert graph.tile_mapping(x) == [[], [], [], [(0, 2**30)]]
    graph.set_tile_mapping(x[:, 2**10 :].T.broadcast(2, 0)[:, :100], 1)
    assert graph.tile_mapping(x).elements_per_tile.tolist()[1] == 100 * (2**15 - 2**10)
    assert graph.tile_mapping(x[100]).tiles.tolist() == [3]


def test_a_mapping_in_many_pieces_answers_for_views_of_one_run() -> None:
    graph = Graph(Target(tiles=64))
    x = graph.add_variable("float32", (1000, 64), "x")
    for tile in range(64):
        graph.set_tile_mapping(x[:, tile], tile)
    assert graph.variables[0].mapping.num_pieces == 64_000
    assert graph.tile_mapping(x)[7] == [(64 * row + 7, 64 * row + 8) for row in range(1000)]
    assert graph.tile_mapping(x[5, 6:8]) == [*[[]] * 6, [(0, 1)], [(1, 2)]]
    assert graph.tile_mapping(x[5, 6]).tiles.tolist() == [6]
    assert repr(x).endswith("on 64 tiles (0-63), 256,000 B>")


# -- ways to put tensors on tiles ------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("rows", "cols", "tiles", "workers", "grid"),
    [
        (427, 640, 1472, 6, (36, 40)),  # 2 rows of 16 cells, not 3 of 14
        (427, 640, 1472, 1, (23, 64)),  # 19 x 10 cells, not 14 x 14
        (12, 12, 4, 6, (2, 2)),
        (3, 3, 1472, 6, (3, 3)),
        (1, 1000, 64, 6, (1, 64)),
    ],
)
def test_grids_whose_rows_workers_share(
    rows: int, cols: int, tiles: int, workers: int, grid: tuple[int, int]
) -> None:
    assert near_square_grid(rows, cols, tiles, workers=workers) == grid


@examples(100, quick=20)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 40), st.integers(1, 8))
def test_no_worker_has_more_cells_than_in_the_grid_of_most_tiles(
    rows: int, cols: int, tiles: int, workers: int
) -> None:
    def slowest(grid: tuple[int, int]) -> int:
        parts = halo_blocks((rows, cols), grid, halo=0, workers=workers)
        return max(int(math.prod(cut.stop - cut.start for cut in own)) for _, own, _ in parts)

    grid = near_square_grid(rows, cols, tiles, workers=workers)
    assert math.prod(grid) <= tiles
    assert slowest(grid) <= slowest(near_square_grid(rows, cols, tiles))


def test_what_is_no_graph_tensor_or_pair() -> None:
    graph = Graph(Target(tiles=4))
    x = graph.add_variable("float32", (4, 4), "x")
    with pytest.raises(ElementTypeError, match="(?s)^map_linearly: str is not a tensor.*it is 'x'"):
        map_linearly(graph, "x")  # type: ignore[arg-type]
    with pytest.raises(ElementTypeError, match="^map_blocks: 3 is not a graph"):
        map_blocks(3, x)  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match=r"^grid \(2,\) is not a pair of whole numbers"):
        map_blocks(graph, x, (2,))  # type: ignore[arg-type]
    with pytest.raises(
        TensorCreationError, match=r"^grid \(2.5, 1\) is not a pair of whole numbers"
    ):
        map_blocks(graph, x, (2.5, 1))  # type: ignore[arg-type]
    with pytest.raises(TensorCreationError, match="'x': grain=1.5 and min_elements=1"):
        map_linearly(graph, x, grain=1.5)  # type: ignore[arg-type]


def test_at_least_one_part() -> None:
    with pytest.raises(TensorCreationError, match=r"cut: 10 elements into 0 parts"):
        cut(1, 10, 0)
    with pytest.raises(TensorCreationError, match="near_square_grid: 0 tiles, but at least 1"):
        near_square_grid(3, 3, 0)
    with pytest.raises(TensorCreationError, match="^near_square_grid: workers is 0"):
        near_square_grid(3, 3, 1, workers=0)


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
        TensorCreationError, match="(?s)^halo_blocks: halo is -1.*a whole number of at least 0"
    ):
        halo_blocks((4, 4), (1, 1), halo=-1)
    with pytest.raises(TensorCreationError, match="^halo_blocks: workers is 0"):
        halo_blocks((4, 4), (1, 1), workers=0)
    with pytest.raises(TensorCreationError, match=r"a grid of 3 x 1 blocks over 2 x 2 elements"):
        halo_blocks((4, 4), (3, 1))
    with pytest.raises(TensorCreationError, match=r"shape \(4,\) is not a pair of whole numbers"):
        halo_blocks((4,), (1, 1))


def test_round_robin_deals_grains_out() -> None:
    graph = Graph(Target(tiles=3))
    x = graph.add_variable("int32", (10,), "x")
    map_round_robin(graph, x, grain=2, first=1)
    assert graph.tile_mapping(x) == [[(4, 6)], [(0, 2), (6, 8)], [(2, 4), (8, 10)]]
    with pytest.raises(InvalidTileMapping, match="first=3, but the graph has 3 tiles"):
        map_round_robin(graph, x, first=3)
    with pytest.raises(TensorCreationError, match="grain=0; it must be at least 1"):
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
    with pytest.raises(TensorIndexError, match="dimension 1 of a tensor of rank 1"):
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
