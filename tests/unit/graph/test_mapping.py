"""Tile mappings as data: painting, the answer for a tensor, nested lists, ranges."""

from collections.abc import Callable

import numpy as np
import pytest

from poplite.arrays import sweep
from poplite.errors import InvalidTileMapping, SizeOverflowError
from poplite.graph import Graph
from poplite.graph.mapping import tile_mapping as mapping_module, variable_mapping as tile_table
from poplite.graph.mapping.tile_mapping import NO_TILE, TileMapping, intervals_of, ranges
from poplite.graph.mapping.variable_mapping import (
    Linear,
    TileTable,
    VariableMapping,
    Version,
    cut_strided,
    split,
)
from poplite.graph.tensor.concat import concat
from poplite.machine.target import Target
from poplite.view import Interval


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
        with pytest.raises(IndexError, match="tile 4 of 4"):
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

    for module in (mapping_module, tile_table, sweep):
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
            InvalidTileMapping, match="element 2 is given to tile 0 and to tile 1"
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
