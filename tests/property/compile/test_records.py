"""Compression of descriptor rows: expanding gives back what went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from poplite.compile.rows import affine_runs

small = st.integers(0, 3)


@given(st.lists(st.tuples(small, small, st.integers(0, 1)), max_size=12))
def test_affine_runs_expand_to_the_rows(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    moving, fixed = np.cumsum(table[:, :2], axis=0), table[:, 2:]
    first, count, steps = affine_runs(moving, fixed)
    numbers = np.repeat(np.arange(len(first)), count)
    k = np.arange(len(rows)) - first[numbers]
    assert np.array_equal(moving[first[numbers]] + k[:, None] * steps[numbers], moving)
    assert np.array_equal(fixed[first[numbers]], fixed)


def test_even_rows_are_one_run() -> None:
    first, count, steps = affine_runs(np.arange(0, 6400, 64)[:, None], np.ones((100, 1), np.int64))
    assert (first.tolist(), count.tolist(), steps.tolist()) == ([0], [100], [[64]])
