"""Questions whose work or memory would grow with what a tensor repeats, and wrong arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from poplite.graph.partition import detect_innermost_grouping
from poplite.view import chunks, num_runs, runs_of_many, storages

TIMES = 2**40


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


@pytest.fixture
def repeated(graph: pl.Graph) -> pl.Tensor:
    """Part of a concatenation, repeated: columns of `a` and `b`, none of the constant."""
    a = graph.add_variable(pl.FLOAT, (4, 8), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (4, 4), "b", mapping=0)
    k = graph.add_constant(pl.FLOAT, (4, 4), 1.0, "k", mapping=0)
    return pl.concat([a, b.reverse(1), k], 1)[:, 4:10].broadcast(TIMES, 0)


def test_what_is_repeated_costs_nothing(graph: pl.Graph, repeated: pl.Tensor) -> None:
    assert num_runs(repeated.view) == 12 * TIMES
    assert [storage.id for storage in storages(repeated.view)] == [0, 1]
    assert not repeated.contains_constant()
    assert not repeated.intersects_with(graph.clone(repeated[:4]))
    assert repeated.intersects_with(repeated[4:5])
    graph.set_tile_mapping(repeated, 3)
    assert graph.tile_mapping(repeated[:4]).elements_per_tile.tolist() == [0, 0, 0, 24]


def test_repeated_runs_that_join_are_counted(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (6,), "x")
    t = pl.concat([x[3:], x[:3].reverse(0), x[2:3]])[1:]  # 4 5 2 1 0 2, then again
    for times in (1, 2, 5):
        t2 = pl.concat([t[1:], t[:1]]).broadcast(times, 0)
        assert num_runs(t2.view) == len(t2.var_regions())


def test_too_many_runs_are_refused_without_counting_all(
    graph: pl.Graph, repeated: pl.Tensor
) -> None:
    with pytest.raises(pl.SizeOverflowError, match="has at least 268,435,457 runs"):
        repeated.var_regions()


def test_one_tile_for_a_transposed_tensor_of_10_9_elements(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**15, 2**15), "x")
    graph.set_tile_mapping(x.T, 2)
    halves = pl.concat([x[: 2**14].reverse(0), x[2**14 :]], 1)
    graph.set_tile_mapping(halves.T, 3)
    assert graph.tile_mapping(x).elements_per_tile.tolist() == [0, 0, 0, 2**30]


def test_many_views_of_more_than_2_64_elements_together(graph: pl.Graph) -> None:
    view = graph.add_variable(pl.FLOAT, (2,)).reverse(0).broadcast(2**61, 0).view
    with pytest.raises(pl.SizeOverflowError, match="68 views have up to 313,594,"):
        runs_of_many([view] * 68)


def test_shared_memory_that_would_be_cut_too_often(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**15,), "x")
    begin = np.arange(2**14)
    windows = pl.concat(x.slices(np.stack([begin, begin + 2**14], axis=1)))
    with pytest.raises(pl.SizeOverflowError, match="has 268,435,456 intervals; at most 33,554,432"):
        graph.sorted_contiguous_regions(windows, report_aliases=True)


def test_slices_of_nothing_have_any_size(graph: pl.Graph) -> None:
    t = graph.add_variable(pl.FLOAT, (2**61, 0))
    assert pl.concat(t.slices([(0, 2**61)] * 16)).shape == (2**65, 0)


@deep
def test_constants_far_apart_are_found_by_position(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2**40,), "x")
    k = graph.add_constant(pl.FLOAT, (8,), 1.0, "k")
    t = pl.concat([x[::3][: 2**30], x[1::7][: 2**28], k])
    assert t[5:].contains_constant()
    assert not t[5:-8].contains_constant()
    assert "not known: too hard to compare: irregular pieces" in " ".join(t[5:].explain().split())


@pytest.mark.parametrize("given", [5, 1.5, zip([0], [2], strict=True), {0: 1}, b"ab"])
def test_intervals_are_a_list(graph: pl.Graph, given: object) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x")
    with pytest.raises(pl.TensorIndexError, match="is not an interval"):
        graph.sorted_contiguous_regions(x, given)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [4, -5, "a", 1.0, None, True])
def test_items_of_answers(graph: pl.Graph, key: object) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear")
    answers: tuple[Any, ...] = (
        graph.tile_mapping(x),
        graph.tile_mapping(x)[0],
        graph.sorted_contiguous_regions(x),
        graph.sorted_contiguous_regions_by_tile(x),
        x.slices([(0, 1)]),
    )
    for answer in answers:
        with pytest.raises(pl.TensorIndexError, match=r"of \d|not a whole number"):
            answer[key]


def test_other_wrong_arguments(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping=0)
    with pytest.raises(pl.ElementTypeError, match="concat: int is not a tensor"):
        pl.concat(5)  # type: ignore[call-overload]
    with pytest.raises(pl.ElementTypeError, match="others is <Tensor .*, not a list of tensors"):
        graph.reorder_to_simplify(x, x)  # type: ignore[arg-type]
    with pytest.raises(pl.ElementTypeError, match="detect_innermost_grouping: 5 is not a graph"):
        detect_innermost_grouping(5, x)  # type: ignore[arg-type]
    with pytest.raises(
        pl.SizeOverflowError, match="a tensor of 7,083,549,724,304,467,820,544 elements"
    ):
        graph.clone_n(x, 2**70)
    for limit in (0, -1):
        with pytest.raises(pl.TensorIndexError, match=f"max_runs is {limit}, but the least is 1"):
            list(chunks(x.view, limit))
