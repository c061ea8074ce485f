"""Compiled sweeps and cuts against dense arrays, at every size and shape they take."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, strategies as st

from poplite.arrays import sweep
from poplite.arrays.digits import coalesce
from poplite.graph import Graph
from poplite.graph.mapping.tile_mapping import NO_TILE, TileMapping, intervals_of
from poplite.graph.mapping.variable_mapping import (
    Cut,
    Linear,
    TileTable,
    VariableMapping,
    cut_runs,
    cut_strided,
)
from poplite.graph.tensor.concat import concat
from poplite.jit import build
from poplite.machine.target import Target

Ints = npt.NDArray[np.int64]
TILES = 5
SIZE = 120


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[None]:
    """Use kernels however few intervals there are."""
    with mock.patch.object(sweep, "FEW", 0), mock.patch.object(build, "FEW", 0):
        yield


edits = st.lists(
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE), st.integers(0, TILES - 1)), max_size=30
)


def dense(rows: list[tuple[int, int, int]], size: int = SIZE) -> Ints:
    """Paint the slow way."""
    painted = np.full(size, NO_TILE)
    for begin, end, tile in rows:
        painted[begin:end] = tile
    return painted


def columns(rows: list[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    begin, end, value = np.array(rows, np.int64).reshape(-1, 3).T
    return begin, end, value


@given(edits)
def test_paint(rows: list[tuple[int, int, int]]) -> None:
    begin, end, value = sweep.paint(*columns(rows))
    found = list(zip(begin.tolist(), end.tolist(), value.tolist(), strict=True))
    assert dense(found).tolist() == dense(rows).tolist()
    assert (begin < end).all()
    assert (begin[1:] >= end[:-1]).all()
    assert not ((begin[1:] == end[:-1]) & (value[1:] == value[:-1])).any()


def test_paint_of_many_as_of_few() -> None:
    random = np.random.default_rng(3)
    for reach in (3, 400, 100_000):  # side by side, some on top of others, deep below each other
        begin = random.integers(0, 100_000, 3_000)
        given = begin, begin + random.integers(0, reach, 3_000), random.integers(0, 9, 3_000)
        compiled = sweep.paint(*given)
        with mock.patch.object(build, "FEW", 10_000):
            plain = sweep.paint(*given)
        for one, other in zip(compiled, plain, strict=True):
            assert np.array_equal(one, other)
        rows, found = (np.stack(arrays, axis=1).tolist() for arrays in (given, compiled))
        assert np.array_equal(dense(found, 200_000), dense(rows, 200_000))


@given(edits, edits)
def test_union_and_intersection(
    rows: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    first, second = sweep.union(*columns(rows)[:2]), sweep.union(*columns(others)[:2])
    assert (first[0][1:] > first[1][:-1]).all()
    both = sweep.intersection(*first, *second)
    assert (both[0] < both[1]).all()
    for found, expected in (
        (first, dense(rows) >= 0),
        (both, (dense(rows) >= 0) & (dense(others) >= 0)),
    ):
        covered = np.zeros(SIZE, np.int64)
        for begin, end in zip(*found, strict=True):
            covered[begin:end] += 1
        assert covered.tolist() == expected.astype(np.int64).tolist()


@given(st.integers(0, 62), st.integers(0, 40), st.integers(0, 2**32))
def test_sorting(bits: int, count: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 1 << bits, count)
    assert np.array_equal(sweep.sorted_order(numbers), np.argsort(numbers, kind="stable"))
    assert np.array_equal(sweep.ascending(numbers), np.sort(numbers))


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 70), st.integers(1, 70))
def test_the_closed_form_is_the_formula_of_cuts(
    size: int, tiles: int, grain: int, least: int
) -> None:
    linear = Linear.over(size, tiles, grain=grain, min_elements=least)
    grains = -(-size // grain)
    parts = linear.tiles
    assert parts <= tiles
    assert (parts == 0) == (size == 0)
    breaks, numbers = linear.pieces()
    assert breaks.tolist() == [
        min(i * grains // max(parts, 1) * grain, size) for i in range(parts + 1)
    ]
    assert [linear.tile_of(i) for i in range(size)] == np.repeat(numbers, np.diff(breaks)).tolist()
    # No tile but the last, which may get what is left of a grain, has too few.
    assert parts < 2 or (np.diff(breaks)[:-1] >= min(least, size)).all()


@st.composite
def tables(draw: st.DrawFn) -> tuple[TileTable, Ints]:
    """Draw a mapping, and the same one dense; some of it far finer than the rest."""
    rows = draw(edits)
    mapping = VariableMapping(SIZE)
    for begin, end, tile in rows:
        mapping.paint(min(begin, end), max(begin, end), tile)
    expected = dense([(min(a, b), max(a, b), tile) for a, b, tile in rows])
    return mapping.table(), expected


@given(
    tables(),
    st.lists(st.tuples(st.integers(2, 5), st.integers(-12, 12)), max_size=3),
    st.integers(1, 9),
    st.integers(0, SIZE),
)
def test_strided_views(
    drawn: tuple[TileTable, Ints], outer: list[tuple[int, int]], run: int, shift: int
) -> None:
    table, tiles = drawn
    digits = coalesce([*outer, (run, 1)] if run > 1 else outer)
    low = sum(min(0, (extent - 1) * stride) for extent, stride in digits)
    high = sum(max(0, (extent - 1) * stride) for extent, stride in digits)
    assume(high - low < SIZE)
    first = -low + shift % (SIZE - (high - low))
    addresses = np.array([first])
    for extent, stride in digits:
        addresses = (addresses[:, None] + np.arange(extent) * stride).reshape(-1)
    check(cut_strided(table, digits, first), tiles[addresses])


@given(
    tables(),
    st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)), min_size=1, max_size=9),
    st.booleans(),
)
def test_runs(drawn: tuple[TileTable, Ints], runs: list[tuple[int, int]], equal: bool) -> None:
    table, tiles = drawn
    begin, length = np.array(runs).T.copy()
    length = (
        np.broadcast_to(np.int64(1), begin.shape) if equal else np.minimum(length, SIZE - begin)
    )
    elements = [np.arange(a, a + n) for a, n in zip(begin, length, strict=True)]
    check(cut_runs(table, begin, length), tiles[np.concatenate(elements)])


def check(cut: Cut, expected: Ints) -> None:
    """Every answer about a cut view is that about its elements one by one."""
    assert cut.num_elements == len(expected)
    totals, tile, end = cut.pieces(TILES)
    assert len(tile) <= cut.most
    assert np.repeat(tile, np.diff(end, prepend=0)).tolist() == expected.tolist()
    assert (tile[1:] != tile[:-1]).all()
    assert np.array_equal(cut.totals(TILES), totals)
    lazy = TileMapping.of(TILES, cut)
    plain = TileMapping(TILES, expected, np.ones(len(expected), np.int64))
    assert repr(lazy) == repr(plain)
    assert lazy.elements_per_tile.tolist() == plain.elements_per_tile.tolist()
    assert lazy == plain
    assert lazy.unmapped == list(plain.unmapped)
    rows = [list(row) for row in lazy]
    assert plain == rows
    back = intervals_of(lazy, TILES, len(expected), what="view")
    again = intervals_of(rows, TILES, len(expected), what="view")
    assert [a.tolist() for a in back] == [a.tolist() for a in again]
    number = np.array([2, NO_TILE, 0, 1, NO_TILE])
    renumbered = np.append(number, NO_TILE)[expected]
    assert lazy.renumbered(number, 3) == TileMapping(3, renumbered, np.ones_like(expected))


def test_a_mapping_much_finer_in_one_place_is_searched() -> None:
    breaks = np.concatenate([np.arange(1000), [2**40]])
    tiles = np.arange(1000) % TILES
    table = TileTable(breaks, tiles)
    begin = np.array([2**40 - 1, 0, 998, 500, 2**39, 3])
    assert table.buckets[1] == 1000
    check(cut_runs(table, begin, np.ones(6, np.int64)), tiles[[999, 0, 998, 500, 999, 3]])


@given(st.integers(0, 2**32))
def test_views_of_many_variables_between_edits(seed: int) -> None:
    """A table is never older than the last edit, whichever one answers."""
    random = np.random.default_rng(seed)
    graph = Graph(Target(tiles=TILES))
    variables = [graph.add_variable("float32", (6, 20)) for _ in range(6)]
    expected = np.full((6, 6, 20), NO_TILE)
    for _ in range(8):
        which = int(random.integers(6))
        step, tile = int(random.integers(1, 4)), int(random.integers(TILES))
        graph.set_tile_mapping(variables[which][:, ::step], tile)
        expected[which][:, ::step] = tile
        some = random.permutation(6)[: random.integers(1, 7)]
        tensor = concat([variables[i].T for i in some], 1)
        numbers = np.concatenate([expected[i].T for i in some], 1).reshape(-1)
        answer = graph.tile_mapping(tensor, require_complete=False)
        plain = TileMapping(TILES, numbers, np.ones(len(numbers), np.int64))
        assert answer.elements_per_tile.tolist() == plain.elements_per_tile.tolist()
        assert answer == plain
        assert answer.unmapped == plain.unmapped
