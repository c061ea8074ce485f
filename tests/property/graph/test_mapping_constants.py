"""Constants mapped piece by piece: a warning where elements move, and only there."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl

ROWS, COLUMNS, TILES = 70, 3, 4  # a column has more runs than are looked at one by one


@given(seed=st.integers(0, 10**9))
def test_a_warning_where_elements_move(seed: int) -> None:
    random = Random(seed)
    graph = pl.Graph(pl.Target(tiles=TILES))
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
        where, tile = where.reshape(-1), random.randrange(TILES)
        moved = (expected[where] >= 0) & (expected[where] != tile)
        kind = random.randrange(4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if kind == 0:
                intervals = [
                    [(k, k + 1) for k in range(len(where))] if t == tile else []
                    for t in range(TILES)
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
