"""Mapping edits and answers against a dense array of one tile number per element."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from random import Random
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, strategies as st

import poplite as pl
from poplite.arrays import intervals
from poplite.arrays.intervals import paint
from poplite.arrays.series import coalesce
from poplite.errors import InvalidTileMapping
from poplite.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import NO_TILE, TileMapping, intervals_of
from poplite.graph.variable_mapping import (
    Cut,
    Linear,
    TileTable,
    VariableMapping,
    cut_runs,
    cut_strided,
)
from poplite.jit import build
from poplite.machine.target import Target

TILES = 5
Dense = npt.NDArray[np.int64]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3)), max_size=30),
)
def test_paint_against_a_dense_array(edits: list[tuple[int, int, int]]) -> None:
    dense = np.full(40, -1)
    for begin, end, value in edits:
        dense[begin:end] = value
    columns = np.array(edits, np.int64).reshape(-1, 3).T
    begins, ends, values = paint(*columns)
    painted = np.full(40, -1)
    for begin, end, value in zip(begins, ends, values, strict=True):
        assert begin < end
        painted[begin:end] = value
    assert painted.tolist() == dense.tolist()
    touching = begins[1:] == ends[:-1]
    assert (begins[1:] >= ends[:-1]).all()
    assert not (touching & (values[1:] == values[:-1])).any()


@st.composite
def views(draw: st.DrawFn, sources: Sequence[tuple[Tensor, Dense]]) -> tuple[Tensor, Dense]:
    """Draw a view of some variables, and the same view of their element numbers."""
    tensor, numbers = draw(st.sampled_from(sources))
    for _ in range(draw(st.integers(0, 4))):
        op = draw(st.sampled_from(["slice", "step", "reverse", "transpose", "repeat", "join"]))
        if op == "transpose":
            tensor, numbers = tensor.T, numbers.T
        elif op == "join":
            tensor, numbers = tensor.flatten(), numbers.reshape(-1)
            other, more = draw(st.sampled_from(sources))
            tensor = concat([tensor, other.flatten()])
            numbers = np.concatenate([numbers, more.reshape(-1)])
        elif numbers.ndim:
            dim = draw(st.integers(0, numbers.ndim - 1))
            size = numbers.shape[dim]
            key: list[slice] = [slice(None)] * numbers.ndim
            if op == "slice":
                begin = draw(st.integers(0, size))
                key[dim] = slice(begin, draw(st.integers(begin, size)))
            elif op == "step":
                key[dim] = slice(None, None, draw(st.integers(1, 3)))
            elif op == "reverse":
                key[dim] = slice(None, None, -1)
            else:
                tensor, numbers = tensor.broadcast(2, dim), np.concatenate([numbers] * 2, dim)
                continue
            tensor, numbers = tensor[tuple(key)], numbers[tuple(key)]
    return tensor, numbers


@st.composite
def mappings(draw: st.DrawFn, size: int) -> list[list[tuple[int, int]]]:
    """Draw disjoint intervals over a view for each tile."""
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=8)))
    mapping: list[list[tuple[int, int]]] = [[] for _ in range(TILES)]
    for begin, end in zip(cuts, cuts[1:], strict=False):
        tile = draw(st.integers(-1, TILES - 1))
        if tile >= 0:
            mapping[tile].append((begin, end))
    return mapping


@given(st.data())
def test_edits_and_answers_against_a_dense_array(data: st.DataObject) -> None:
    graph = Graph(Target(tiles=TILES))
    shapes = [(4, 6), (7,), (2, 3, 2)]
    sources = []
    total = 0
    for shape in shapes:
        size = math.prod(shape)
        numbers = np.arange(total, total + size).reshape(shape)
        sources.append((graph.add_variable("float32", shape), numbers))
        total += size
    dense = np.full(total, NO_TILE)
    for _ in range(data.draw(st.integers(0, 6))):
        tensor, numbers = data.draw(views(sources))
        if data.draw(st.booleans()):
            tile = data.draw(st.integers(0, TILES - 1))
            graph.set_tile_mapping(tensor, tile)
            dense[numbers] = tile
        else:
            mapping = data.draw(mappings(numbers.size))
            graph.set_tile_mapping(tensor, mapping)
            paint_dense(dense, numbers, mapping)
        check_mapping(graph, *data.draw(views(sources)), dense)
    for tensor, numbers in sources:
        check_mapping(graph, tensor, numbers, dense)
        assert graph.variable_tile_mapping(tensor) == graph.tile_mapping(tensor, False)


def paint_dense(dense: Dense, numbers: Dense, mapping: list[list[tuple[int, int]]]) -> None:
    flat = numbers.reshape(-1)
    painted = sorted((a, b, tile) for tile, held in enumerate(mapping) for a, b in held)
    for begin, end, tile in painted:
        dense[flat[begin:end]] = tile


def check_mapping(graph: Graph, tensor: Tensor, numbers: Dense, dense: Dense) -> None:
    """The answer is exact, sorted, and its intervals are as long as they can be."""
    expected = dense[numbers.reshape(-1)]
    answer = graph.tile_mapping(tensor, require_complete=False)
    got = np.full(len(expected), NO_TILE)
    for tile, held in enumerate(answer):
        for begin, end in held:
            assert (got[begin:end] == NO_TILE).all()
            got[begin:end] = tile
        assert all(a.end < b.begin for a, b in zip(held, held[1:], strict=False))
    assert got.tolist() == expected.tolist()
    assert answer.num_elements == len(expected)
    assert answer.num_unmapped == np.count_nonzero(expected == NO_TILE)
    counts = np.bincount(expected[expected >= 0], minlength=TILES)
    assert answer.elements_per_tile.tolist() == counts.tolist()
    assert answer == list(answer)
    if answer.is_complete:
        assert graph.tile_mapping(tensor) == answer
    else:
        with pytest.raises(InvalidTileMapping, match=f"of {len(expected):,} have no tile"):
            graph.tile_mapping(tensor)


# -- constants mapped piece by piece ---------------------------------------------------------------


ROWS, COLUMNS, COLUMN_TILES = 70, 3, 4  # a column has more runs than are looked at one by one


@given(seed=st.integers(0, 10**9))
def test_a_warning_where_elements_move(seed: int) -> None:
    random = Random(seed)
    graph = pl.Graph(pl.Target(tiles=COLUMN_TILES))
    whole = graph.add_constant(pl.INT, (ROWS, COLUMNS), 1, "c")
    numbers = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    expected = np.full(numbers.size, -1)
    for _ in range(6):
        low = random.randrange(ROWS)
        high, column = random.randint(low + 1, ROWS), random.randrange(COLUMNS)
        view, where = random.choice(
            [
                (whole[low:high], numbers[low:high]),
                (whole[low:high, column], numbers[low:high, column]),
                (whole.T[column:], numbers.T[column:]),
                (whole[low, column], numbers[low, column]),
                (whole[low].reverse(0), numbers[low, ::-1]),
            ]
        )
        where, tile = where.reshape(-1), random.randrange(COLUMN_TILES)
        moved = (expected[where] >= 0) & (expected[where] != tile)
        kind = random.randrange(4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if kind == 0:
                intervals = [
                    [(k, k + 1) for k in range(len(where))] if t == tile else []
                    for t in range(COLUMN_TILES)
                ]
                graph.set_tile_mapping(view, intervals)
            else:
                graph.set_tile_mapping(view, tile)
        expected[where] = tile
        assert len(caught) == moved.any()
        for each in caught:
            assert f"'c': {moved.sum()} of {len(where)} element" in str(each.message)
        if kind == 1:  # what is asked in between makes no difference
            mapping = graph.tile_mapping(whole, require_complete=False)
            assert mapping.num_unmapped == (expected < 0).sum()


# -- compiled sweeps and cuts ----------------------------------------------------------------------


SIZE = 120


@pytest.fixture(scope="module")
def compiled() -> Iterator[None]:
    """Use kernels however few intervals there are."""
    with mock.patch.object(intervals, "FEW", 0), mock.patch.object(build, "FEW", 0):
        yield


edits = st.lists(
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE), st.integers(0, TILES - 1)), max_size=30
)


def dense(rows: list[tuple[int, int, int]], size: int = SIZE) -> Dense:
    """Paint the slow way."""
    painted = np.full(size, NO_TILE)
    for begin, end, tile in rows:
        painted[begin:end] = tile
    return painted


def columns(rows: list[tuple[int, int, int]]) -> tuple[Dense, Dense, Dense]:
    begin, end, value = np.array(rows, np.int64).reshape(-1, 3).T
    return begin, end, value


@pytest.mark.usefixtures("compiled")
@given(edits)
def test_paint(rows: list[tuple[int, int, int]]) -> None:
    begin, end, value = intervals.paint(*columns(rows))
    found = list(zip(begin.tolist(), end.tolist(), value.tolist(), strict=True))
    assert dense(found).tolist() == dense(rows).tolist()
    assert (begin < end).all()
    assert (begin[1:] >= end[:-1]).all()
    assert not ((begin[1:] == end[:-1]) & (value[1:] == value[:-1])).any()


@pytest.mark.usefixtures("compiled")
def test_paint_of_many_as_of_few() -> None:
    random = np.random.default_rng(3)
    for reach in (3, 400, 100_000):  # side by side, some on top of others, deep below each other
        begin = random.integers(0, 100_000, 3_000)
        given = begin, begin + random.integers(0, reach, 3_000), random.integers(0, 9, 3_000)
        compiled = intervals.paint(*given)
        with mock.patch.object(build, "FEW", 10_000):
            plain = intervals.paint(*given)
        for one, other in zip(compiled, plain, strict=True):
            assert np.array_equal(one, other)
        rows, found = (np.stack(arrays, axis=1).tolist() for arrays in (given, compiled))
        assert np.array_equal(dense(found, 200_000), dense(rows, 200_000))


@pytest.mark.usefixtures("compiled")
@given(edits, edits)
def test_union_and_intersection(
    rows: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    first, second = intervals.union(*columns(rows)[:2]), intervals.union(*columns(others)[:2])
    assert (first[0][1:] > first[1][:-1]).all()
    both = intervals.intersection(*first, *second)
    assert (both[0] < both[1]).all()
    for found, expected in (
        (first, dense(rows) >= 0),
        (both, (dense(rows) >= 0) & (dense(others) >= 0)),
    ):
        covered = np.zeros(SIZE, np.int64)
        for begin, end in zip(*found, strict=True):
            covered[begin:end] += 1
        assert covered.tolist() == expected.astype(np.int64).tolist()


@pytest.mark.usefixtures("compiled")
@given(st.integers(0, 62), st.integers(0, 40), st.integers(0, 2**32))
def test_sorting(bits: int, count: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 1 << bits, count)
    assert np.array_equal(intervals.sorted_order(numbers), np.argsort(numbers, kind="stable"))
    assert np.array_equal(intervals.ascending(numbers), np.sort(numbers))


@pytest.mark.usefixtures("compiled")
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
def tables(draw: st.DrawFn) -> tuple[TileTable, Dense]:
    """Draw a mapping, and the same one dense; some of it far finer than the rest."""
    rows = draw(edits)
    mapping = VariableMapping(SIZE)
    for begin, end, tile in rows:
        mapping.paint(min(begin, end), max(begin, end), tile)
    expected = dense([(min(a, b), max(a, b), tile) for a, b, tile in rows])
    return mapping.table(), expected


@pytest.mark.usefixtures("compiled")
@given(
    tables(),
    st.lists(st.tuples(st.integers(2, 5), st.integers(-12, 12)), max_size=3),
    st.integers(1, 9),
    st.integers(0, SIZE),
)
def test_strided_views(
    drawn: tuple[TileTable, Dense], outer: list[tuple[int, int]], run: int, shift: int
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
    check_cut(cut_strided(table, digits, first), tiles[addresses])


@pytest.mark.usefixtures("compiled")
@given(
    tables(),
    st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)), min_size=1, max_size=9),
    st.booleans(),
)
def test_runs(drawn: tuple[TileTable, Dense], runs: list[tuple[int, int]], equal: bool) -> None:
    table, tiles = drawn
    begin, length = np.array(runs).T.copy()
    length = (
        np.broadcast_to(np.int64(1), begin.shape) if equal else np.minimum(length, SIZE - begin)
    )
    elements = [np.arange(a, a + n) for a, n in zip(begin, length, strict=True)]
    check_cut(cut_runs(table, begin, length), tiles[np.concatenate(elements)])


def check_cut(cut: Cut, expected: Dense) -> None:
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


@pytest.mark.usefixtures("compiled")
def test_a_mapping_much_finer_in_one_place_is_searched() -> None:
    breaks = np.concatenate([np.arange(1000), [2**40]])
    tiles = np.arange(1000) % TILES
    table = TileTable(breaks, tiles)
    begin = np.array([2**40 - 1, 0, 998, 500, 2**39, 3])
    assert table.buckets[1] == 1000
    check_cut(cut_runs(table, begin, np.ones(6, np.int64)), tiles[[999, 0, 998, 500, 999, 3]])


@pytest.mark.usefixtures("compiled")
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
