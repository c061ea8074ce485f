"""Aliases of large views: by each means, at 2**30 elements, nested, and within limits."""

from __future__ import annotations

import functools
import io
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from poplite import FLOAT, Graph, concat as concat_tensors
from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.graph.partitioners import detect_innermost_grouping
from poplite.view import (
    MOST_LEVELS,
    Storage,
    View,
    address_sets,
    addresses,
    aliases,
    all_of,
    chunks,
    concat,
    concat as concat_views,
    concat_slices,
    contains_aliases,
    contains_constant,
    intersects,
    is_contiguous,
    num_runs,
    runs_of_many,
    storages,
)

# -- concatenations of many pieces -----------------------------------------------------------------


SPACE = Storage(0, 0, 64 * 256)
MATRIX = all_of(SPACE, (64, 256))


def shuffled(pieces: list[View], axis: int, seed: int = 1) -> View:
    """The pieces in an order that no stride describes."""
    order = list(pieces)
    Random(seed).shuffle(order)
    return concat(order, axis)


def columns(begin: int, end: int) -> list[View]:
    return [MATRIX.slice(i, i + 1, 1) for i in range(begin, end)]


def rows(begin: int, end: int) -> list[View]:
    return [MATRIX.slice(i, i + 1, 0) for i in range(begin, end)]


def ragged(begin: int, end: int) -> list[View]:
    """Every 251st element from each begin: no common step with the matrix's rows."""
    flat = MATRIX.reshape((64 * 256,))
    return [flat.slice(i, 64 * 256, 0).sub_sample(251, 0) for i in range(begin, end)]


@pytest.fixture
def no_bitmap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a test should be answered without marking elements."""

    def refuse(*_: object, **__: object) -> bool:
        raise AssertionError("marked elements")

    monkeypatch.setattr(aliases, "marks_meet", refuse)


def test_pieces_whose_spans_are_apart(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(rows(0, 64), 0))
    assert contains_aliases(shuffled([*rows(0, 64), MATRIX.slice(9, 10, 0)], 0))
    assert not intersects(shuffled(rows(0, 30), 0), shuffled(rows(30, 64), 0))
    assert intersects(shuffled(rows(0, 31), 0), shuffled(rows(30, 64), 0))


def test_columns_are_apart_by_their_residues(no_bitmap: None) -> None:
    assert not contains_aliases(shuffled(columns(0, 256), 1))
    assert not intersects(shuffled(columns(0, 100), 1), shuffled(columns(100, 256), 1))


def test_overlapping_columns_are_found(no_bitmap: None) -> None:
    assert contains_aliases(shuffled([*columns(0, 256), MATRIX.slice(7, 8, 1)], 1))
    assert intersects(shuffled(columns(0, 101), 1), shuffled(columns(100, 256), 1))


def test_irregular_pieces_are_compared_exactly() -> None:
    apart = [*ragged(0, 120), *ragged(120, 251)]
    assert not contains_aliases(shuffled(apart, 0))
    assert contains_aliases(shuffled([*apart, MATRIX.index(3)], 0))
    assert not intersects(shuffled(ragged(0, 120), 0), shuffled(ragged(120, 251), 0))
    assert intersects(shuffled(ragged(0, 121), 0), shuffled(ragged(120, 251), 0))
    row = shuffled([*ragged(0, 120), MATRIX.index(3).slice(0, 1, 0)], 0)
    assert contains_aliases(row) == (3 * 256 % 251 < 120)


def test_many_overlapping_spans_are_marked_in_a_bitmap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "FEW_PAIRS", 0)
    monkeypatch.setattr(aliases, "ELEMENTS_PER_PAIR", 10**9)
    test_irregular_pieces_are_compared_exactly()


def test_part_of_an_aliased_concatenation_is_judged_by_itself() -> None:
    joined = shuffled([*rows(0, 20), MATRIX.slice(5, 6, 0)], 0)
    assert contains_aliases(joined)
    assert not contains_aliases(joined.slice(0, 100, 1).sub_sample(7, 1).slice(0, 3, 0))
    assert contains_aliases(joined.slice(0, 100, 1))


def test_parts_of_concatenations_intersect_by_their_runs() -> None:
    joined = shuffled(rows(0, 20), 0)
    left, right = joined.slice(0, 100, 1), joined.slice(100, 256, 1)
    assert not intersects(left, right)
    assert intersects(left, joined.slice(99, 256, 1))
    assert not intersects(left, shuffled(rows(20, 64), 0).slice(0, 100, 1))
    assert not contains_aliases(concat([left, right], 1))
    assert contains_aliases(concat([left, right, joined.slice(40, 45, 1)], 1))


def test_a_single_repeated_element_counts_for_concatenations_of_variables() -> None:
    other = all_of(Storage(1, 64 * 256 + 1, 256), (1, 256))
    assert not contains_aliases(concat([MATRIX, other], 0))
    assert contains_aliases(concat([MATRIX, other, MATRIX.slice(63, 64, 0)], 0))
    assert intersects(concat([MATRIX, other], 0), other.slice(0, 1, 1))


def permuted(size: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).permutation(size)


def test_many_shuffled_slices() -> None:
    line = all_of(Storage(0, 0, 2**17), (2**17,))
    begin = permuted(2**13) * 16
    assert not contains_aliases(concat_slices(line, begin, begin + 16, 0, 0))
    some, others = (concat_slices(line, b, b + 16, 0, 0) for b in np.split(begin, [5000]))
    assert not intersects(some, others)
    begin[77] = begin[4321] + 15
    assert contains_aliases(concat_slices(line, begin, begin + 16, 0, 0))
    some, others = (concat_slices(line, b, b + 16, 0, 0) for b in np.split(begin, [4000]))
    assert intersects(some, others)


def test_slices_of_different_lengths() -> None:
    line = all_of(Storage(0, 0, 2**17), (2**17,))
    begin = permuted(2**13) * 16
    end = begin + np.random.default_rng(2).integers(1, 17, begin.size)
    assert not contains_aliases(concat_slices(line, begin, end, 0, 0))
    end[begin == 160] = 177
    assert contains_aliases(concat_slices(line, begin, end, 0, 0))


@pytest.mark.parametrize("axis", [0, 1])
def test_pieces_of_a_matrix_too_large_to_mark(no_bitmap: None, axis: int) -> None:
    matrix = all_of(Storage(0, 0, 2**40), (2**20, 2**20))
    begin = permuted(2**10) * 1024
    pieces = concat_slices(matrix, begin, begin + 5, axis, axis)
    assert not contains_aliases(pieces)
    assert not intersects(pieces, matrix.slice(5, 1024, axis))
    assert intersects(pieces, matrix.slice(4, 1024, axis))
    assert contains_aliases(concat([pieces, matrix.slice(1028, 1029, axis)], axis))


def test_views_of_a_space_without_aliases_are_compared_by_position(no_bitmap: None) -> None:
    matrix = all_of(Storage(0, 0, 2**40), (2**20, 2**20))
    begin = permuted(2**10) * 1024
    space = concat_slices(matrix, begin, begin + 5, 1, 1)
    left, right = space.slice(0, 99, 1), space.slice(99, 5120, 1)
    assert not intersects(left, right)
    assert intersects(left, space.slice(98, 5120, 1))
    assert not contains_aliases(concat([right, left, left.slice(0, 0, 1)], 1))
    assert contains_aliases(concat([right, left, left.slice(7, 8, 1)], 1))
    order = permuted(1024, seed=2) * 5
    assert not contains_aliases(concat_slices(space, order, order + 3, 1, 1))
    assert contains_aliases(concat_slices(space, order, order + np.where(order, 3, 6), 1, 1))


def test_positions_say_nothing_where_the_space_has_aliases() -> None:
    order = [*rows(0, 10), *rows(10, 20)[::-1], MATRIX.slice(5, 6, 0)]
    space = concat([order[i] for i in (3, 0, 7, 5, 1, 9, 2, 4, 8, 6, *range(10, 21))], 0)
    first, second = (space.slice(a, b, 0).slice(0, 100, 1) for a, b in ((0, 10), (10, 21)))
    assert not contains_aliases(first)
    assert not contains_aliases(second)
    assert contains_aliases(concat([second, first], 0))
    assert intersects(first, second)


def test_overlapping_windows_of_a_space_do_not_read_all_of_it() -> None:
    space = shuffled(rows(0, 12), 0).reshape((12 * 256,))
    windows = concat([space.slice(0, 6 * 256, 0), space.slice(3 * 256, 9 * 256, 0)], 0)
    assert windows.num_elements == space.num_elements
    assert intersects(windows, space.slice(8 * 256, 12 * 256, 0).reshape((4, 256)).slice(3, 9, 1))
    last = concat([space.slice(9 * 256, 10 * 256, 0), MATRIX.index(60), space.slice(0, 0, 0)], 0)
    assert not intersects(windows, last)


def test_one_longer_slice_of_overlapping_windows() -> None:
    line = all_of(Storage(0, 0, 2**12), (2**12,))
    windows = concat([line.slice(i, i + 5, 0).reshape((1, 5)) for i in range(2**11)], 0)
    begin = permuted(200) * 10
    assert not contains_aliases(concat_slices(windows, begin, begin + 1, 0, 0))
    end = begin + np.where(begin == 70, 2, 1)
    assert contains_aliases(concat_slices(windows, begin, end, 0, 0))


def test_parts_with_too_many_runs_to_list_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MOST_RUNS", 10)
    test_part_of_an_aliased_concatenation_is_judged_by_itself()
    test_parts_of_concatenations_intersect_by_their_runs()


def test_constants_that_a_view_may_reach() -> None:
    constant = all_of(Storage(1, 2**41, 256, constant=True), (256,))
    line = all_of(Storage(0, 0, 2**40), (2**40,))
    joined = concat([line, constant, line], 0)
    assert contains_constant(joined)
    assert contains_constant(joined.slice(5, 2**40 + 1, 0).sub_sample(2**40 - 5, 0))
    assert not contains_constant(joined.sub_sample(2**40 + 300, 0))


def test_pieces_too_many_and_too_wide_raise_with_the_numbers() -> None:
    """A thousand combs without a common step, over 2^40 addresses."""
    line = all_of(Storage(0, 0, 2**40), (2**40,))
    combs = [line.slice(i, 2**40, 0).sub_sample(2**20 + i, 0) for i in range(1500)]
    fix = "compare smaller slices"
    with pytest.raises(
        SizeOverflowError,
        match=r"too hard to compare: 1,500 strided pieces over 1,09\d.* "
        r"\(at most 1,048,576 overlapping pairs",
    ) as caught:
        contains_aliases(concat(combs, 0))
    assert fix in str(caught.value)
    with pytest.raises(
        SizeOverflowError, match="too hard to compare: .* over 8,589,934,593 addresses"
    ):
        aliases.marks_meet([[]], 0, address_sets.LARGEST_SPAN)


# -- 2**30 elements --------------------------------------------------------------------------------
# Nothing here may allocate by the element, so every test holds its memory below a few MiB.


SIDE = 2**15
MOST_BYTES = 4 * 2**20


@pytest.fixture
def _small_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES, f"{peak:,} bytes"


@functools.cache
def square(id: int = 0) -> View:
    return all_of(Storage(id, 2**31 * id, SIDE * SIDE), (SIDE, SIDE))


@pytest.mark.usefixtures("_small_memory")
def test_a_transposed_square_is_counted_and_not_listed() -> None:
    transposed = square().dim_shuffle((1, 0))
    flat = transposed.reshape((2**30,))
    assert num_runs(flat) == 2**30
    assert num_runs(flat.slice(SIDE, 5 * SIDE, 0)) == 4 * SIDE
    assert not is_contiguous(flat)
    assert is_contiguous(square())
    assert not contains_aliases(flat)
    assert not contains_constant(flat)


@pytest.mark.usefixtures("_small_memory")
def test_runs_that_join_only_at_a_carry_are_counted() -> None:
    rows = square().slice(1, SIDE, 1)
    assert num_runs(rows) == SIDE
    assert num_runs(square().reshape((2**30,)).upsample(2, 0)) == 2**30 + 1
    assert num_runs(rows.broadcast(2, 0)) == 2 * SIDE


@pytest.mark.usefixtures("_small_memory")
def test_aliases_of_strided_views_are_known() -> None:
    windows = concat_views([square().slice(i, i + SIDE - 8, 1) for i in range(9)], 0)
    assert isinstance(windows.space, Storage)
    assert contains_aliases(windows)
    assert contains_aliases(square().broadcast(3, 1))
    assert not contains_aliases(square().sub_sample(3, 1).reverse(0))


@pytest.mark.usefixtures("_small_memory")
def test_a_layered_reshape_is_answered_without_lowering_it() -> None:
    layered = square().dim_shuffle((1, 0)).slice(0, SIDE - 1, 1).reshape((SIDE - 1, SIDE))
    assert not isinstance(layered.space, Storage)
    assert not contains_aliases(layered.dim_shuffle((1, 0)))
    assert contains_aliases(layered.upsample(2, 0))
    assert not is_contiguous(layered)
    assert num_runs(layered) == SIDE * (SIDE - 1)


@pytest.mark.usefixtures("_small_memory")
def test_halves_phases_and_columns_are_told_apart() -> None:
    a = square()
    flat = a.reshape((2**30,))
    even, odd = flat.sub_sample(2, 0), flat.slice(1, 2**30, 0).sub_sample(2, 0)
    assert not intersects(even, odd)
    assert intersects(even, flat.sub_sample(3, 0))
    assert not intersects(a.slice(0, 100, 1), a.slice(100, SIDE, 1).dim_shuffle((1, 0)))
    assert intersects(a.slice(0, 101, 1), a.slice(100, SIDE, 1).reverse(0))
    assert not intersects(square(0), square(1))


@pytest.mark.usefixtures("_small_memory")
def test_a_concatenation_of_large_variables_is_answered() -> None:
    wide = concat_views([square(i) for i in range(8)], 1)
    assert wide.shape == (SIDE, 8 * SIDE)
    assert len(storages(wide)) == 8
    assert not contains_aliases(wide.dim_shuffle((1, 0)))
    assert intersects(wide, square(7))
    assert not is_contiguous(wide)


@pytest.mark.usefixtures("_small_memory")
def test_equality_walks_no_elements() -> None:
    graph = Graph()
    a, b = graph.add_variable(FLOAT, (10**6, 10**6)), graph.add_variable(FLOAT, (10**6, 10**6))
    wide = concat_tensors([a, b], 1)
    assert wide == concat_tensors([a.T, b.T], 0).T
    assert concat_tensors([a.T, b.T], 1) == concat_tensors([a, b], 0).T
    three = concat_tensors([a.T, b, a], 0)
    assert three[: 2 * 10**6].T == concat_tensors([a.T, b], 0).T
    assert wide.reverse(1) == concat_tensors([b.reverse(1), a.reverse(1)], 1)


@pytest.mark.usefixtures("_small_memory")
def test_one_other_element_among_many_is_found() -> None:
    graph = Graph()
    a = graph.add_variable(FLOAT, (10**6, 10**6)).T.flatten()
    one = graph.add_variable(FLOAT, (1,))
    place = 123_456_789_012
    other = concat_tensors([a[:place], one, a[place + 1 :]])
    same = concat_tensors([other[: place + 1], other[place + 1 :]])
    assert other != a
    assert hash(other) == hash(a)  # nothing is sampled there
    assert same == other
    undone = concat_tensors([other[place:].reverse(0), other[:place].reverse(0)]).reverse(0)
    assert undone == other
    assert undone != a


@pytest.mark.usefixtures("_small_memory")
def test_repetitions_of_both_are_compared_once() -> None:
    graph = Graph()
    x = graph.add_variable(FLOAT, (100,))
    r = x.reverse(0)
    one, other = concat_tensors([r, x]), concat_tensors([x[50:].reverse(0), x[:50].reverse(0), x])
    wrong = concat_tensors([x[50:].reverse(0), x[48:49], x[49:50], x[:48].reverse(0), x])
    for t, equal in ((other, True), (wrong, False)):
        assert (t.broadcast(10**12, 0) == one.broadcast(10**12, 0)) == equal
        assert (t.upsample(10**12, 0) == one.upsample(10**12, 0)) == equal
        assert (
            concat_tensors([one.broadcast(10**9, 0), t]) == one.broadcast(10**9 + 1, 0)
        ) == equal


@pytest.mark.usefixtures("_small_memory")
def test_a_repr_is_cheap() -> None:
    tensor = Graph().add_variable(FLOAT, (SIDE, SIDE), "big")
    assert repr(tensor.T) == "<Tensor 'big'.T float32[32768, 32768] on no tile, 4,294,967,296 B>"
    assert repr(tensor.T[1:]) == "<Tensor 'big'[:, 1:].T float32[32767, 32768], 4,294,836,224 B>"
    assert "float32[65536, 32768]" in repr(concat_tensors([tensor, tensor.T]))


@pytest.mark.usefixtures("_small_memory")
def test_more_elements_than_an_index_can_count_are_refused() -> None:
    tensor = Graph().add_variable(FLOAT, (SIDE, SIDE))
    most = tensor.broadcast(2**32, 0)
    assert most.num_elements == 2**62
    with pytest.raises(SizeOverflowError, match=r"9,223,372,036,854,775,808 .*4,611,686,018,427,"):
        most.broadcast(2, 1)
    with pytest.raises(SizeOverflowError, match=r"13,835,058,055,282,163,712 elements"):
        most.upsample(3, 1)


@pytest.mark.usefixtures("_small_memory")
def test_repetitions_of_different_lengths_or_phases_are_compared_once() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = graph.add_variable(pl.INT, (7,), "a"), graph.add_variable(pl.INT, (5,), "b")
    s, many = pl.concat([a, b]), 2**40

    def shifted(t: pl.Tensor, times: int) -> pl.Tensor:
        turned = pl.concat([t[3:], t[:3]])
        return pl.concat([t[:3], turned.broadcast(times - 1, 0), t[3:]])

    assert a.broadcast(many, 0) == shifted(a, many)
    assert s.broadcast(2**26, 0) == shifted(s, 2**26)
    assert s.broadcast(many, 0) == pl.concat([a, b, a, b]).broadcast(many // 2, 0)
    other = pl.concat([a[:6], a[:1]])
    assert a.broadcast(many, 0) != pl.concat([shifted(a, many - 1), other])
    assert s.broadcast(many, 0) != pl.concat([a, b, other, b]).broadcast(many // 2, 0)


@pytest.mark.usefixtures("_small_memory")
def test_views_too_long_to_compare_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poplite.view.aliases.STEPS", 0)
    monkeypatch.setattr("poplite.view.aliases.MOST_STEPS", 0)
    monkeypatch.setattr("poplite.view.aliases.MOST_STREAMED", 0)
    a = pl.Graph(pl.Target(tiles=1)).add_variable(pl.INT, (2,), "a")
    with pytest.raises(pl.SizeOverflowError, match="too long to compare"):
        assert pl.concat([a.reverse(0), a]) == pl.concat([a[1:2], a[:1], a])


# -- limits ----------------------------------------------------------------------------------------


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
        with pytest.raises(pl.TensorIndexError, match=r"there are \d|not a whole number"):
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
        with pytest.raises(pl.TensorIndexError, match=f"max_runs is {limit}, but the minimum is 1"):
            list(chunks(x.view, limit))


# -- thousands of levels ---------------------------------------------------------------------------


ROWS, COLUMNS = 7, 11


def turned(t: pl.Tensor, z: pl.Tensor, times: int) -> pl.Tensor:
    """One more element in front, the others backwards, so many times."""
    for _ in range(times):
        t = pl.concat([z, t.reverse(0)])
    return t


def reshaped(t: pl.Tensor, z: pl.Tensor, times: int) -> pl.Tensor:
    """Columns read as rows, so many times."""
    for _ in range(times):
        t = t.T.reshape(t.shape)
    return t


def turned_oracle(oracle: Int64, z: int, times: int) -> Int64:
    for _ in range(times):
        oracle = np.append(z, oracle[::-1])
    return oracle


def reshaped_oracle(oracle: Int64, _: int, times: int) -> Int64:
    for _ in range(times):
        oracle = oracle.T.reshape(oracle.shape)
    return oracle


@pytest.mark.parametrize("times", thinned([500, 10_000], keep=[500]))
@pytest.mark.parametrize(
    ("make", "oracle", "shape"),
    [(turned, turned_oracle, (2,)), (reshaped, reshaped_oracle, (ROWS, COLUMNS))],
)
def test_thousands_of_levels_answer_everything(
    make: Callable[[pl.Tensor, pl.Tensor, int], pl.Tensor],
    oracle: Callable[[Int64, int, int], Int64],
    shape: tuple[int, ...],
    times: int,
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    first = graph.add_variable(pl.FLOAT, shape, "t", mapping=0)
    z = graph.add_variable(pl.FLOAT, (1,), "z", mapping=1)
    before, again = make(first, z, times - 1), make(first, z, times)
    t = make(before, z, 1)
    expected = oracle(addresses(first.view), int(addresses(z.view)[0]), times)
    np.testing.assert_array_equal(addresses(t.view), expected)
    assert t == again
    assert hash(t) == hash(again)
    assert t != before
    flat = expected.reshape(-1)
    assert t.num_regions() == 1 + int((np.diff(flat) != 1).sum())
    assert t.contains_aliases() == (np.unique(flat).size < flat.size)
    assert t.is_contiguous() == (t.num_regions() == 1)
    assert not t.contains_constant()
    assert t.intersects_with(first)
    assert repr(t).startswith("<Tensor ")
    assert t.output(io.StringIO()).tell() > 100
    assert str(t.explain())
    assert graph.tile_mapping(t).num_unmapped == 0
    assert len(t.var_regions()) == t.num_regions()
    assert graph.clone(t).shape == t.shape


def test_rows_below_levels_are_counted_and_not_listed() -> None:
    row = pl.Graph().add_variable(pl.FLOAT, (1, 10**9))
    t = row
    for _ in range(500):
        t = pl.concat([row, t.reverse(0).reverse(1)])
    assert t.num_regions() == 251 + 250 * 10**9


def test_levels_that_cannot_be_joined_are_refused_when_they_are_made() -> None:
    t = pl.Graph().add_variable(pl.FLOAT, (701, 1103))
    with pytest.raises(pl.SizeOverflowError, match=rf"more than {MOST_LEVELS} concat.*\n.*773,203"):
        reshaped(t, t, 2 * MOST_LEVELS)


def test_the_text_of_parts_within_parts_is_cut_off() -> None:
    t = pl.Graph(pl.Target(tiles=1)).add_variable(pl.INT, (60,), "t")
    for _ in range(100):
        t = pl.concat([t[::2], t[1::2]])
    stream = io.StringIO()
    t.output(stream)
    assert len(stream.getvalue()) < 101_000
    assert stream.getvalue().endswith("...\n")
