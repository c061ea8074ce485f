"""Arrays of integers: arithmetic on digits, intervals, sequences that take little memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from helpers.made import made
from poplite.arrays import series
from poplite.arrays.intervals import (
    Intervals,
    StridedIntervals,
    intersection,
    merge,
    overlay,
    paint,
    union,
)
from poplite.arrays.series import (
    Listed,
    Series,
    Steps,
    compact,
    constant,
    counting,
    cut_digits,
    locate,
    regroup,
    sub_sample_digits,
    taken,
)
from poplite.compile.places import affine_runs
from poplite.graph.compute_sets import edge_table as crossings
from poplite.graph.compute_sets.vertex_block import Edges, VertexTiles, edge_cuts
from poplite.jit import build
from poplite.view import Cat, Storage, View, all_of, concat, num_runs, runs
from poplite.view.view import compose

# -- digits ----------------------------------------------------------------------------------------


DIGITS = [(2, 50), (3, 9), (4, 1)]
VALUES = [locate(DIGITS, i) for i in range(24)]


def values(digits: Sequence[tuple[int, int]], size: int, offset: int = 0) -> list[int]:
    return [offset + locate(digits, i) for i in range(size)]


@pytest.mark.parametrize("end", range(1, 25))
def test_the_pieces_of_a_range_are_all_of_the_range(end: int) -> None:
    for begin in range(end):
        pieces = cut_digits(tuple(DIGITS), begin, end, 1000)
        assert len(pieces) <= 2 * len(DIGITS) - 1
        found = [value for digits, size, offset in pieces for value in values(digits, size, offset)]
        assert found == [1000 + value for value in VALUES[begin:end]]


def test_a_range_of_whole_digits_is_one_piece() -> None:
    assert cut_digits(tuple(DIGITS), 4, 12) == [(((2, 9), (4, 1)), 8, 9)]
    assert cut_digits(tuple(DIGITS), 17, 20) == [(((3, 1),), 3, 60)]
    assert cut_digits((), 0, 1, 7) == [((), 1, 7)]
    assert [size for _, size, _ in cut_digits(tuple(DIGITS), 5, 23)] == [3, 4, 8, 3]


@pytest.mark.parametrize("step", range(1, 30))
def test_every_step_th_value_or_none_where_the_step_does_not_divide(step: int) -> None:
    digits = sub_sample_digits(DIGITS, step)
    expected = VALUES[::step]
    if step in {1, 2, 4, 12, 24}:
        assert digits is not None
        assert values(digits, len(expected)) == expected
    else:
        assert digits is None


def test_regroup_needs_boundaries_that_divide() -> None:
    assert regroup([(6, 1), (4, 6)], (2, 3, 4)) == (3, 1, 6)
    assert regroup([(6, 1), (4, 6)], (12, 2)) == (((6, 1), (2, 12)), 6)
    assert regroup([(6, 1), (4, 6)], (3, 8)) == (2, ((2, 1), (4, 6)))
    assert regroup([(6, 1), (4, 6)], (8, 3)) is None
    assert regroup([], (1, 1)) == (0, 0)


KID = [(4, 100), (6, 10), (2, 1)]
KID_VALUES = values(KID, 48)


@pytest.mark.parametrize(
    ("shape", "dims", "off"),
    [
        ((4, 12), (12, 1), 0),
        ((2, 3), (-12, 4), 36),
        ((3, 2), (0, -1), 7),
        ((3, 5), (0, 2), 2),
        ((24,), (2,), 0),
        ((12,), (-4,), 44),
        ((4,), (((2, -24), (2, 4)),), 24),
        ((1, 2), (7, 24), 5),
    ],
)
def test_a_composition_shows_what_both_views_show(
    shape: tuple[int, ...], dims: tuple[int, ...], off: int
) -> None:
    found = compose(shape, dims, off, KID, 1000)
    assert found is not None
    space = Storage(0, 0, 2000)
    for index in product(*map(range, shape)):
        view = View(shape, dims, off, space)
        place = View(shape, found[0], found[1], space)
        for i in index:
            view, place = view.index(i), place.index(i)
        assert place.off == 1000 + KID_VALUES[view.off]


def test_a_composition_that_may_carry_is_refused() -> None:
    assert compose((5,), (3,), 0, KID, 0) is None
    assert compose((2,), (1,), 1, KID, 0) is None
    assert compose((7,), (2,), 4, KID, 0) is None


def test_pieces_that_join_but_fit_no_shape_get_a_layer() -> None:
    rows = all_of(Storage(0, 0, 300), (3, 100)).slice(0, 4, 1)
    a, b, c = (rows.index(i) for i in range(3))
    first = concat([a, b.slice(0, 2, 0)], 0).reshape((1, 6))
    second = concat([b.slice(2, 4, 0), c], 0).reshape((1, 6))
    joined = concat([first, second], 0)
    assert isinstance(joined.space, Cat)
    assert len(joined.space.kids) == 1
    assert joined.reshape((3, 4)) == rows


def test_equal_lengths_of_many_runs_take_no_memory() -> None:
    begin, length = runs(all_of(Storage(0, 0, 10_000), (100, 100)).dim_shuffle((1, 0)))
    assert len(begin) == len(length) == 10_000
    assert length.strides == (0,)


def test_views_print_what_they_are_made_of() -> None:
    constant = Storage(3, 40, 12, constant=True)
    assert repr(constant) == "<Storage constant 3, 12 elements at 40>"
    view = all_of(constant, (3, 4)).dim_shuffle((1, 0)).slice(1, 4, 0)
    assert repr(view) == f"View(shape=(3, 3), dims=(1, 4), off=1, space={constant!r})"
    joined = concat([view, view.reverse(0)], 0)
    assert repr(joined.space) == "<Cat of 2 views, 1 times, 18 elements>"
    assert view != "view"
    assert num_runs(joined) == 18


# -- intervals -------------------------------------------------------------------------------------


def test_overlay_cuts_at_breaks_only() -> None:
    pieces = overlay(np.array([0, 4, 9]), np.array([4, 9, 10]), np.array([0, 4, 6, 10]))
    assert [a.tolist() for a in pieces] == [
        [0, 1, 1, 2],
        [0, 1, 2, 2],
        [0, 4, 6, 9],
        [4, 6, 9, 10],
    ]


def test_paint_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert [len(a) for a in paint(none, none, none)] == [0, 0, 0]


def test_paint_of_many_nested_intervals_shows_each_rim() -> None:
    n = 100
    begin, end = np.arange(n), 2 * n - np.arange(n)
    first, last, value = paint(begin, end, np.arange(n))
    assert value.tolist() == [*range(n), *range(n - 2, -1, -1)]
    assert first[n - 1] == n - 1
    assert last[n - 1] == n + 1


def test_paint_covers_what_is_below_for_good() -> None:
    arrays = paint(np.array([2, 0]), np.array([3, 9]), np.array([1, 2]))
    assert [a.tolist() for a in arrays] == [[0], [9], [2]]


def test_merge_joins_only_what_touches_and_is_equal() -> None:
    arrays = merge(np.array([0, 2, 5, 6]), np.array([2, 4, 6, 7]), np.array([1, 1, 1, 2]))
    assert [a.tolist() for a in arrays] == [[0, 5, 6], [4, 6, 7], [1, 1, 2]]


def test_union_joins_what_touches_or_lies_inside() -> None:
    arrays = union(np.array([8, 0, 2, 5, 1]), np.array([9, 2, 4, 5, 3]))
    assert [a.tolist() for a in arrays] == [[0, 8], [4, 9]]


def test_intersection_with_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert [len(a) for a in intersection(none, none, np.array([0]), np.array([9]))] == [0, 0]
    apart = intersection(np.array([0, 6]), np.array([2, 9]), np.array([2]), np.array([6]))
    assert [len(a) for a in apart] == [0, 0]


def listed(groups: list[StridedIntervals]) -> list[tuple[int, int]]:
    """All intervals of groups, one by one."""
    found = []
    for begin, size, digits in groups:
        starts = np.array([begin])
        for count, step in digits:
            starts = np.add.outer(starts, np.arange(count) * step).ravel()
        found += [(int(start), int(start) + size) for start in starts]
    return found


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 2)), max_size=30))
def test_groups_are_the_same_intervals_in_the_same_order(pairs: list[tuple[int, int]]) -> None:
    begin = np.array([b for b, _ in pairs], np.int64)
    intervals = made(Intervals, begin, begin + np.array([size for _, size in pairs], np.int64))
    groups = intervals.strided()
    assert listed(groups) == intervals
    assert sum([group.count for group in groups]) == len(pairs)


@pytest.mark.parametrize(
    ("begin", "shown"),
    [
        (np.arange(96).reshape(8, 12).T, "[0, 1) 8 times every 12, 12 times every 1"),
        (
            np.arange(60).reshape(3, 4, 5).transpose(2, 0, 1),
            "[0, 1) 12 times every 5, 5 times every 1",
        ),
        (np.array([0, 2, 4, 9, 7]), "[0, 1) 3 times every 2; [9, 10); [7, 8)"),
        (np.array([3, 3, 3, 3]), "[3, 4) 4 times"),
        (np.arange(20) ** 2, "[0, 1); [1, 2); [4, 5); [9, 10); [16, 17); [25, 26); 14 more"),
    ],
)
def test_many_intervals_print_as_groups(begin: npt.NDArray[np.int64], shown: str) -> None:
    flat = begin.ravel()
    assert repr(made(Intervals, flat, flat + 1)) == f"<{len(flat)} intervals: {shown}>"


def test_few_intervals_print_as_a_list() -> None:
    assert repr(made(Intervals, np.array([0, 6]), np.array([3, 8]))) == (
        "[Interval(begin=0, end=3), Interval(begin=6, end=8)]"
    )


# -- series ----------------------------------------------------------------------------------------


digits = st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), max_size=3)
numbers = st.lists(st.integers(-5, 2**34), min_size=1, max_size=12)


def expected(first: int, made: list[tuple[int, int]]) -> list[int]:
    values = [first]
    for extent, stride in made:
        values = [value + k * stride for value in values for k in range(extent)]
    return values


def check(found: Series, values: list[int]) -> None:
    assert found.array().tolist() == values
    assert (found.count, found.total()) == (len(values), sum(values))
    assert [found.at(k) for k in range(len(values))] == values
    if values:
        assert (found.low, found.high) == (min(values), max(values))
        steps = {b - a for a, b in zip(values, values[1:], strict=False)}
        assert found.step == (steps.pop() if len(steps) == 1 else 0 if not steps else None)
        assert found.only == (values[0] if len(set(values)) == 1 else None)
        assert found.moved(7).array().tolist() == [value + 7 for value in values]


@given(st.integers(-50, 50), digits)
def test_steps(first: int, made: list[tuple[int, int]]) -> None:
    steps = Steps(first, tuple(made))
    values = expected(first, made)
    check(steps, values)
    assert steps.times(3).array().tolist() == [3 * value for value in values]
    for parts in {1, *(extent for extent, _ in made)}:
        split = steps.split(parts) if len(values) % parts == 0 else None
        if split is not None:
            outer, inner = split
            assert Steps(first, (*outer, *inner)).array().tolist() == values
            assert Steps(0, outer).count == parts


@given(numbers)
def test_compact_numbers_are_the_numbers(values: list[int]) -> None:
    found = compact(np.array(values, np.int64))
    check(found, values)
    if isinstance(found, Listed):
        narrow = max(values) - min(values) < 2**32
        assert found.offset.dtype == (np.uint32 if narrow else np.int64)
    chosen = np.arange(0, len(values), 2)
    check(taken(found, chosen), values[::2])


@pytest.mark.parametrize("last", [2**32 - 1, 2**32])
def test_offsets_are_narrow_as_long_as_they_fit(last: int) -> None:
    found = compact(np.array([0, last, 1]))
    assert isinstance(found, Listed)
    assert found.offset.dtype == (np.uint32 if last < 2**32 else np.int64)


def test_a_step_that_only_wrapping_makes_is_none() -> None:
    step = 2**29
    offsets = (np.arange(12) * step % 2**32).astype(np.uint32)
    assert series.progression(offsets[:8]) == step
    assert series.progression(offsets) is None


def test_what_is_regular_takes_no_room() -> None:
    for found in (compact(np.arange(0, 10**6, 5)), compact(np.full(10**6, 3)), counting(0, 10**6)):
        assert isinstance(found, Steps)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=5), st.data())
def test_cut_runs_hold_every_edge(runs: list[tuple[int, int]], data: st.DataObject) -> None:
    elements = [begin + k for begin, size in runs for k in range(size)]
    ends = data.draw(st.lists(st.integers(0, len(elements)), max_size=8).map(sorted))
    lengths = np.diff([0, *ends, len(elements)]).tolist()
    begin, size = (
        (np.array(column, np.int64) for column in zip(*runs, strict=True))
        if runs
        else (
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
        )
    )
    found = edge_cuts(begin, size, compact(np.array(lengths, np.int64)))
    at = 0
    for edge, length in enumerate(lengths):
        low, high = found.first[edge : edge + 2].tolist()
        own = zip(found.begin[low:high].tolist(), found.size[low:high].tolist(), strict=True)
        assert [b + k for b, n in own for k in range(n)] == elements[at : at + length]
        at += length
    assert (found.size > 0).all()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-12, 12)), max_size=3), st.integers(1, 4))
def test_edges_said_to_be_apart_are(made: list[tuple[int, int]], size: int) -> None:
    start = Steps(100, tuple(made))
    edges = Edges(constant(1, start.count), constant(size, start.count), start)
    touched = (start.array()[:, None] + np.arange(size)).ravel()
    if edges.surely_disjoint():
        assert len(set(touched.tolist())) == len(touched)
    assert edges.envelope() == (touched.min(), touched.max() + 1)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40))
def test_tiles(tiles: list[int]) -> None:
    found = VertexTiles.of(np.array(sorted(tiles) if tiles[0] % 2 else tiles), 301)
    given_tiles = sorted(tiles) if tiles[0] % 2 else tiles
    assert found.array().tolist() == [found.at(k) for k in range(found.count)] == given_tiles
    assert found.counts().tolist() == np.bincount(given_tiles, minlength=301).tolist()
    assert found.used().tolist() == sorted(set(tiles))
    begin, end, tile = found.runs()
    assert np.repeat(tile, end - begin).tolist() == given_tiles


def test_many_rows_are_cut_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    moving = np.cumsum(random.integers(0, 2, (5000, 2)) * 3, axis=0)
    fixed = random.integers(0, 9, (5000, 1)) // 8
    compiled = affine_runs(moving, fixed)
    monkeypatch.setattr(build, "FEW", 10**6)
    for one, other in zip(compiled, affine_runs(moving, fixed), strict=True):
        assert np.array_equal(one, other)


def test_many_reads_are_swept_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    stops = np.cumsum(random.integers(1, 6, 12_000))
    begin, end = stops[::2], stops[1::2]
    writes = crossings._Sorted(np.arange(6000), begin, end)
    low = np.sort(random.integers(0, stops[-1], 9000))
    reads = crossings._Sorted(np.arange(9000), low, low + random.integers(1, 4, 9000))
    compiled = crossings._meet_writes(writes, reads)
    monkeypatch.setattr(build, "FEW", 10**6)
    for one, other in zip(compiled, crossings._meet_writes(writes, reads), strict=True):
        assert np.array_equal(one, other)
    met = [((begin < b) & (end > a)).any() for a, b in zip(low, reads.end, strict=True)]
    assert np.array_equal(compiled[0], np.flatnonzero(met))
