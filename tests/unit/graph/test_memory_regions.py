"""Regions of tensors: ranges of variables, groups in memory order, aliases, tiles, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.graph.partition import detect_innermost_grouping


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_a_transposed_matrix_is_one_group_in_the_order_of_memory(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    groups = graph.sorted_contiguous_regions(x.T)
    assert groups == [[(0, 1), (2, 3), (4, 5), (1, 2), (3, 4), (5, 6)]]
    assert pl.concat(x.T.flatten().slices(groups.intervals)) == x.flatten()
    assert (len(groups), groups.num_elements) == (1, 6)


def test_columns_put_together_are_groups_of_their_rows(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 6), "x")
    t = pl.concat([x[:, 4:], x[:, :2], x[:, 2:3]], 1)
    assert graph.sorted_contiguous_regions(t) == [[(2, 5)], [(0, 2), (7, 10)], [(5, 7)]]


def test_variables_never_share_a_group(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.FLOAT, (4,)) for _ in range(2))
    assert graph.sorted_contiguous_regions(pl.concat([y, x])) == [[(4, 8)], [(0, 4)]]


def test_intervals_may_come_in_any_order_and_touch(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (10,), "x")
    for intervals in ([(4, 6), (0, 2), (2, 4), (3, 3)], np.array([[4, 6], [0, 2], [2, 4]])):
        assert graph.sorted_contiguous_regions(x, intervals) == [[(0, 6)]]
    assert graph.sorted_contiguous_regions(x, []) == []


def test_many_intervals_of_a_matrix(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (200, 200), "x")
    rows = [(200 * i, 200 * i + 100) for i in range(200)]
    groups = graph.sorted_contiguous_regions(x.T, rows)
    assert (len(groups), groups.num_elements) == (1, 20_000)
    assert groups[0][:2] == [(0, 1), (200, 201)]
    others = graph.sorted_contiguous_regions(x.T, rows[::2])
    assert (len(others), others.num_elements) == (10_000, 10_000)
    assert others[:2] == [[(0, 1)], [(400, 401)]]


def test_repeated_memory_is_listed_each_time_or_once(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    twice = row.broadcast(2, 0)
    assert graph.sorted_contiguous_regions(twice) == [[(0, 8)], [(8, 16)]]
    assert graph.sorted_contiguous_regions(twice, remove_aliased=True) == [[(0, 8)]]
    windows = pl.concat([row[0:4], row[2:6]])
    assert graph.sorted_contiguous_regions(windows) == [[(0, 4)], [(4, 8)]]
    assert graph.sorted_contiguous_regions(windows, remove_aliased=True) == [[(0, 4), (6, 8)]]


def test_aliases_cut_intervals_until_they_are_equal_or_apart(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    windows = pl.concat([row[0:4], row[2:6]])
    groups = graph.sorted_contiguous_regions(windows, report_aliases=True)
    assert groups.aliases is not None
    cells = dict(zip(map(tuple, groups.intervals.tolist()), groups.aliases.tolist(), strict=True))
    assert cells == {(0, 2): 0, (2, 4): 2, (4, 6): 2, (6, 8): 6}
    assert graph.sorted_contiguous_regions(windows).aliases is None


def test_a_list_for_aliases_is_filled_as_in_poplar(graph: pl.Graph) -> None:
    row = graph.add_variable(pl.FLOAT, (8,), "row")
    windows = pl.concat([row[0:4], row[2:6]])
    aliases = [7]
    groups = graph.getSortedContiguousRegions(windows, [(0, 8)], False, aliases)
    cells = list(zip([tuple(i) for group in groups for i in group], aliases, strict=True))
    assert sorted(cells) == [((0, 2), 0), ((2, 4), 2), ((4, 6), 2), ((6, 8), 6)]
    once = graph.getSortedContiguousRegions(windows, [(0, 8)], True, aliases)
    assert aliases == [begin for group in once for begin, _ in group] == [0, 6]
    assert graph.sorted_contiguous_regions(row, [], False, aliases) == aliases == []


def test_an_interval_given_twice_repeats_its_memory(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    assert graph.sorted_contiguous_regions(x, [(0, 3), (1, 2)]) == [[(0, 3)], [(1, 2)]]
    assert graph.sorted_contiguous_regions(x, [(0, 3), (1, 2)], True) == [[(0, 3)]]


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_a_tensor_without_elements_has_no_groups(graph: pl.Graph, shape: tuple[int, ...]) -> None:
    t = graph.add_variable(pl.FLOAT, shape)
    for report in (False, True):
        assert graph.sorted_contiguous_regions(t, report_aliases=report) == []
    assert list(graph.sorted_contiguous_regions_by_tile(t)) == [[]] * 4


def test_groups_by_tile_follow_the_tiles_not_the_view(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 4), "x", mapping=3)
    graph.set_tile_mapping(x[:, :2], 0)
    by_tile = graph.sorted_contiguous_regions_by_tile(x.T)
    assert by_tile[0] == [[(0, 1), (2, 3)], [(1, 2), (3, 4)]]
    assert by_tile[-1] == [[(4, 5), (6, 7)], [(5, 6), (7, 8)]]
    assert by_tile.tiles.tolist() == [0, 3]
    intervals = "8 intervals: [0, 1) 2 times every 2, 2 times every 1, 2 times every 4"
    assert repr(by_tile) == f"<TileRegions 8 elements, 2 tiles, 4 groups, {intervals}>"


def test_repeated_memory_by_tile(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    twice = graph.sorted_contiguous_regions_by_tile(x.broadcast(2, 0), report_aliases=True)
    assert twice[1] == [[(1, 2)], [(5, 6)]]
    assert twice[1].aliases is not None
    assert twice[1].aliases.tolist() == [1, 1]
    once = graph.sorted_contiguous_regions_by_tile(x.broadcast(2, 0), remove_aliased=True)
    assert once[1] == [[(1, 2)]]


def test_a_billion_elements_are_asked_for_in_parts(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**15, 2**15), "x")
    assert graph.sorted_contiguous_regions(x) == [[(0, 2**30)]]
    assert len(graph.sorted_contiguous_regions(x.T, [(0, 2**15)])) == 2**15
    with pytest.raises(pl.SizeOverflowError, match="1,073,741,824 runs .* at most 134,217,728"):
        graph.sorted_contiguous_regions(x.T)


def test_an_interval_beyond_the_tensor_is_refused(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    with pytest.raises(pl.TensorIndexError, match=r"7.*6"):
        graph.sorted_contiguous_regions(x, [(0, 2), (4, 7)])


def test_elements_without_a_tile_are_refused_by_tile(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    graph.set_tile_mapping(x[:6], 0)
    with pytest.raises(pl.InvalidTileMapping, match=r"'x': elements \[6, 8\) of 8 have no tile"):
        graph.sorted_contiguous_regions_by_tile(x)


def test_a_tensor_of_another_graph_is_refused(graph: pl.Graph) -> None:
    other = pl.Graph().add_variable(pl.FLOAT, (4,), "y")
    for ask in (graph.sorted_contiguous_regions, graph.sorted_contiguous_regions_by_tile):
        with pytest.raises(pl.GraphConnectionError, match="'y' belongs to another graph"):
            ask(other)


def two_variables() -> tuple[pl.Tensor, pl.Tensor]:
    graph = pl.Graph()
    return graph.add_variable(pl.INT, (4, 6), "a"), graph.add_variable(pl.INT, (3,), "b")


def test_regions_read_as_lists_and_as_arrays() -> None:
    a, b = two_variables()
    both = pl.concat([b, a[:, 5], b[1:]])
    cuts = [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 9)]
    assert both.contiguous_regions() == cuts
    assert both.contiguous_regions()[-2:] == cuts[-2:]
    assert both.contiguous_regions() != cuts[:-1]
    regions = both.var_regions()
    assert [(v.name, begin, end) for v, begin, end in regions] == [
        ("b", 0, 3), ("a", 5, 6), ("a", 11, 12), ("a", 17, 18), ("a", 23, 24), ("b", 1, 3),
    ]  # fmt: skip
    assert [v.name for v in regions.variables] == ["a", "b"]
    assert regions.number.tolist() == [1, 0, 0, 0, 0, 1]
    assert regions[1:] == list(regions)[1:] != regions[:-1]
    assert repr(regions[:2]) == ("[<VariableInterval 'b' [0, 3)>, <VariableInterval 'a' [5, 6)>]")


def test_regions_of_other_variables_differ() -> None:
    graph = pl.Graph()
    a, b = (graph.add_variable(pl.INT, (4,), name) for name in "ab")
    assert a[:2].var_regions() == a[:2].var_regions() != b[:2].var_regions()


@deep
def test_ten_million_regions_are_arrays() -> None:
    t = pl.Graph().add_variable(pl.FLOAT, (4000, 2500), "t").T
    assert t.num_regions() == len(t.contiguous_regions()) == len(t.var_regions()) == 10**7
    assert t.var_regions()[4001] == (t.graph.variables[0], 2501, 2502)
    assert repr(t.contiguous_regions()) == (
        "<10,000,000 intervals: [0, 1) 65,536 times every 1; 9,934,464 more>"
    )
    assert repr(t.var_regions()).startswith(
        "<VarRegions 10,000,000 ranges: 't' [0, 1) 4,000 times every 2,500, 16 times every 1; "
    )
    groups = t.graph.sorted_contiguous_regions(t)
    assert groups[0][-1] == (10**7 - 1, 10**7)
    moved = t.graph.simplifying_rearranger(t).rearrange([(0, 10**7)])
    assert (moved.begin == groups[0].begin).all()


def test_regions_are_sliced_and_rearranged_without_a_list() -> None:
    a, _ = two_variables()
    (group,) = a.graph.sorted_contiguous_regions(a.T)
    flat = a.T.flatten()
    assert pl.concat(flat.slices(group)) == a.flatten()
    rearranger = a.graph.simplifying_rearranger(a.T)
    assert rearranger.undo(rearranger.rearrange([(0, 24)])) == [(k, k + 1) for k in range(24)]
    assert np.asarray(group[:2]).tolist() == [[0, 1], [4, 5]]


@pytest.mark.parametrize("most", [1, 7, 2**20])
def test_chunks_are_the_regions_in_parts(most: int) -> None:
    a, b = two_variables()
    for tensor in (pl.concat([a.T.flatten(), b, a[1]]), a.T, b[1:1]):
        parts = list(tensor.region_chunks(most))
        assert [region for part in parts for region in part] == tensor.var_regions()
        assert all(0 < len(part) <= most for part in parts)


def test_chunks_stream_more_than_is_listed() -> None:
    huge = pl.Graph().add_variable(pl.FLOAT, (2**15, 2**15), "huge").T
    assert huge.num_regions() == 2**30
    part = next(huge.region_chunks(2**16))
    assert (part.begin[:3].tolist(), len(part)) == ([0, 2**15, 2**16], 2**16)
    with pytest.raises(pl.SizeOverflowError, match=r"1,073,741,824 runs[\s\S]*t.region_chunks\(\)"):
        huge.var_regions()
    with pytest.raises(pl.TensorIndexError, match="at most 0 regions, but the least is 1"):
        huge.region_chunks(0)


def test_a_place_outside_a_list_is_refused_with_its_length() -> None:
    a, _ = two_variables()
    a.graph.set_tile_mapping(a, 0)
    with pytest.raises(pl.TensorIndexError, match=r"group 1 of 1[\s\S]*from -1 to 0"):
        a.graph.sorted_contiguous_regions(a)[1]
    with pytest.raises(pl.TensorIndexError, match=r"tile 1472 of 1,472"):
        a.graph.sorted_contiguous_regions_by_tile(a)[1472]
    with pytest.raises(pl.ElementTypeError, match="int is not a tensor"):
        detect_innermost_grouping(a.graph, 5)  # type: ignore[arg-type]
