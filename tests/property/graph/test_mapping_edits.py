"""Mapping edits and answers against a dense array of one tile number per element."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.arrays.sweep import paint
from poplite.errors import InvalidTileMapping
from poplite.graph import Graph
from poplite.graph.mapping.tile_mapping import NO_TILE
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
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
