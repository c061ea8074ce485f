"""Regions as arrays that read as lists: of millions nothing is made for each."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.graph.partition import detect_innermost_grouping


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
