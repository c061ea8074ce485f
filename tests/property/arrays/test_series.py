"""Compact sequences of numbers, and edges made of them, against plain arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.arrays import series
from poplite.arrays.series import Listed, Series, Steps, compact, constant, counting, taken
from poplite.compile.rows import affine_runs
from poplite.graph.compute_sets import edge_table as crossings
from poplite.graph.compute_sets.edges import Edges, VertexTiles, edge_cuts
from poplite.jit import build

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
