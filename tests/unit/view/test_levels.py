"""Tensors of thousands of concatenations and reshapes within each other."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.arrays.intervals import Int64
from poplite.view import MOST_LEVELS, addresses

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
