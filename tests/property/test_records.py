"""Compression of descriptor rows and copies: expanding gives back what went in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

import poplite as pl
from poplite.compile.affine import affine_runs
from poplite.compile.records import copy_records
from poplite.compile.step import Moves, Vertices

Integers = npt.NDArray[np.int64]

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


@st.composite
def runs_of(draw: st.DrawFn, total: int) -> tuple[Integers, Integers]:
    inner = draw(st.lists(st.integers(0, total), max_size=5))
    size = np.diff(np.unique([0, total, *inner])).astype(np.int64)
    gaps = np.array([draw(small) for _ in size], np.int64)
    return np.cumsum(size + gaps) - size, size


@given(st.data(), st.integers(0, 40))
def test_copy_records_move_every_byte_in_order(data: st.DataObject, total: int) -> None:
    destination, source = data.draw(runs_of(total)), data.draw(runs_of(total))
    expected = [_bytes(*runs) for runs in (destination, source)]
    to: list[int] = []
    start: list[int] = []
    for at, begin, rows, size, far, near in copy_records(destination, source).tolist():
        for row in range(rows):
            to += range(at + row * far, at + row * far + size)
            start += range(begin + row * near, begin + row * near + size)
    assert [to, start] == expected


@given(st.data(), st.integers(1, 3000), st.floats(1, 60))
def test_split_moves_move_the_same_bytes(data: st.DataObject, total: int, limit: float) -> None:
    destination, source = data.draw(runs_of(total)), data.draw(runs_of(total))
    whole = Moves(copy_records(destination, source))
    assert _moved(whole.split(limit)) == _moved(whole)
    assert (whole.split(limit).weights <= np.maximum(limit + 16, 64 // 4 + 8)).all()


def _moved(moves: Moves) -> list[tuple[int, int]]:
    return sorted(
        (to + r * far + i, start + r * near + i)
        for to, start, rows, size, far, near in moves.records.tolist()
        for r in range(rows)
        for i in range(size)
    )


class Pair(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.rows[0][0]


@given(st.integers(1, 20), st.floats(8, 200))
def test_split_vertices_are_the_same_vertices(count: int, limit: float) -> None:
    rows = np.array([[count, 5, 1, 100, 6, 2, 50, 1], [1, 99, 0, 0, 0, 3, 7, 0]], np.int64)
    weights = np.array([count * 16, 16], np.int64)
    whole = Vertices(Pair, ("table", None), rows, np.arange(500), weights)
    split = whole.split(limit)
    assert _vertices(split) == _vertices(whole)
    assert (split.weights <= max(limit, 16)).all()


def _vertices(group: Vertices) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for n, number, step, table, table_step, length, start, start_step in group.rows.tolist():
        for k in range(n):
            fields = table + k * table_step, length, start + k * start_step
            found.append((number + k * step, *fields))
    return found


def _bytes(begin: Integers, size: Integers) -> list[int]:
    return [b + i for b, n in zip(begin.tolist(), size.tolist(), strict=True) for i in range(n)]
