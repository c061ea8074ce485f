"""Descriptor rows of vertices: few runs where they are regular, tables where they are not.

    starts 0 64 128 ...       one row for all
    starts in stretches       a row each
    starts in any order       one row and the table that the graph keeps them in

Runs are used as long as they have `LEAST_RUN` vertices on average: a driver that looks up starts in
a table reads four bytes for each, and is compiled in addition to the one for runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import MOST_NARROW, NARROW, Listed, Series
from poplite.arrays.sweep import FEW
from poplite.executable.descriptor import (
    COUNT,
    Column,
    Columns,
    Forms,
    Kind,
    columns,
    positions,
    width,
)
from poplite.executable.step import Vertices
from poplite.jit.kernels.crossings import go_on
from poplite.jit.native import address, native
from poplite.vertex.vertex import Vertex

LEAST_RUN = 4
"""Vertices of a run, on average, below which tables are faster."""

FEW_VERTICES = 4096
"""Vertices up to which runs are used in any case: so few are not worth a driver of their own."""

FLAT_ROW = 4096
"""Vertices of a row with tables, where their work differs; only balances chunks."""

Values = Mapping[tuple[int, str], Series]
"""The numbers of each column without a table, by field and part."""

Tables = Mapping[int, npt.NDArray[Any]]
"""The table of each list field that has one, by position of the field."""


def vertices_of(
    cls: type[Vertex], forms: Forms, values: Values, tables: Tables, work: Int64 | int
) -> Vertices:
    """Return the descriptor rows of vertices.

    `work` is that of each vertex, in elements: one number where all are alike.
    """
    described = columns(list(cls.fields.values()), forms)
    series = [None if c.kind == "table" else values[c.field, c.part] for c in described]
    kept = {n: tables[c.field] for n, c in enumerate(described) if c.kind == "table"}
    if all(_is_even(c, s) for c, s in zip(described, series, strict=True)):
        rows = _first_row(described, series)
        return Vertices(cls, described, rows, kept, _work(work, rows[:, COUNT]))
    flat = _flat(described, series)
    if flat is not None and _least_runs(described, series) * LEAST_RUN > _count(series):
        return _with_tables(cls, flat, series, kept, work)
    runs = _runs(described, series)
    if flat is not None and len(runs) * LEAST_RUN > _count(series):
        return _with_tables(cls, flat, series, kept, work)
    return Vertices(cls, described, runs, kept, _work(work, runs[:, COUNT]))


def _count(series: Sequence[Series | None]) -> int:
    assert series[0] is not None, "the first column is the vertex's number"
    return series[0].count


def _is_even(column: Column, series: Series | None) -> bool:
    """Tell whether one word, or two, describe the numbers of all vertices."""
    if series is None:
        return True
    return series.step is not None and (column.kind == "affine" or series.step == 0)


def _first_row(described: Columns, series: Sequence[Series | None]) -> Int64:
    """Return one row: the first number of each column, the step of affine ones, else zeros."""
    row = [0] * width(described)
    row[COUNT] = _count(series)
    for (column, at), numbers in zip(positions(described), series, strict=True):
        if numbers is None or column.kind == "flat":
            continue
        row[at] = numbers.at(0)
        if column.kind == "affine":
            row[at + 1] = numbers.step or 0
    return np.array([row], np.int64)


def _work(work: Int64 | int, count: Int64) -> Int64:
    """Return the work of runs that have `count` vertices each, one after the other."""
    if isinstance(work, int):
        return count * work
    return np.add.reduceat(work, np.cumsum(count) - count)


# -- runs ------------------------------------------------------------------------------------


def affine_runs(moving: Int64, fixed: Int64) -> tuple[Int64, Int64, Int64]:
    """Cut rows into runs in which `moving` steps evenly and `fixed` stays.

    The runs are maximal, found greedily from the top::

        start  length        first  count  step of start
          0      4
         64      4             0      3         64
        128      4
        500      4             3      2         10
        510      4

    Takes int64[rows, m] and int64[rows, f]. Returns the first row of each run, the rows of each
    run, and int64[runs, m] of steps; the step of a run of one row is 0.

    >>> first, count, step = affine_runs(np.array([[0], [64], [128], [9]]), np.ones((4, 1)))
    >>> first.tolist(), count.tolist(), step.tolist()
    ([0, 3], [3, 1], [[64], [0]])
    """
    if not len(moving):
        none = np.zeros(0, np.int64)
        return none, none.copy(), np.zeros((0, moving.shape[1]), np.int64)
    steps = np.diff(moving, axis=0)
    joins = (np.diff(fixed, axis=0) == 0).all(axis=1)
    alike = joins[1:] & joins[:-1] & (steps[1:] == steps[:-1]).all(axis=1)
    begin, last = _run_ends(joins, alike)
    stepped = np.zeros((len(begin), moving.shape[1]), np.int64)
    several = last > begin
    stepped[several] = steps[begin[several]]
    return begin, last - begin + 1, stepped


def _run_ends(joins: npt.NDArray[np.bool_], alike: npt.NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """Return the first and the last row of each run."""
    rows = len(joins) + 1
    if rows <= FEW:
        first, last = [0] * rows, [0] * rows
        count = go_on(joins.tolist(), alike.tolist(), rows, first, last)
        return np.array(first[:count], np.int64), np.array(last[:count], np.int64)
    out = np.empty((2, rows), np.int64)
    flags = address(joins.view(np.uint8)), address(alike.view(np.uint8))
    count = native(go_on)(*flags, rows, address(out[0]), address(out[1]))
    return out[0, :count].copy(), out[1, :count].copy()


def _runs(described: Columns, series: Sequence[Series | None]) -> Int64:
    """Return a row for each run of vertices that are even in all columns."""
    arrays = [None if numbers is None else numbers.array() for numbers in series]
    by_kind: dict[Kind, list[Int64]] = {"affine": [], "fixed": [], "table": []}
    for column, array in zip(described, arrays, strict=True):
        if array is not None:
            by_kind[column.kind].append(array)
    count = _count(series)
    moving = np.stack(by_kind["affine"], axis=1)
    fixed = np.stack([np.zeros(count, np.int64), *by_kind["fixed"]], axis=1)
    first, length, steps = affine_runs(moving, fixed)
    rows = np.zeros((len(first), width(described)), np.int64)
    rows[:, COUNT] = length
    step = iter(steps.T)
    for (column, at), array in zip(positions(described), arrays, strict=True):
        if array is not None:
            rows[:, at] = array[first]
        if column.kind == "affine":
            rows[:, at + 1] = next(step)
    return rows


def _least_runs(described: Columns, series: Sequence[Series | None]) -> int:
    """Return a lower bound of the number of runs, without listing any."""
    most = 1
    for column, numbers in zip(described, series, strict=True):
        if isinstance(numbers, Listed):
            change = np.diff(numbers.offset)
            if column.kind == "affine":
                # Two steps in a row differ at most twice where one run ends.
                most = max(most, int(np.count_nonzero(change[1:] != change[:-1])) // 2 + 1)
            else:
                most = max(most, int(np.count_nonzero(change)) + 1)
    return most


# -- tables ----------------------------------------------------------------------------------


def _flat(described: Columns, series: Sequence[Series | None]) -> Columns | None:
    """Return the columns with tables in place of uneven ones; None where they will not do."""
    if _count(series) <= FEW_VERTICES:
        return None
    changed: list[Column] = []
    for column, numbers in zip(described, series, strict=True):
        if numbers is None or _is_even(column, numbers):
            changed.append(column)
        elif numbers.high - numbers.low < MOST_NARROW:
            changed.append(Column(column.field, column.part, "flat"))
        else:
            return None
    return tuple(changed)


def _with_tables(
    cls: type[Vertex],
    described: Columns,
    series: Sequence[Series | None],
    kept: Mapping[int, npt.NDArray[Any]],
    work: Int64 | int,
) -> Vertices:
    tables = dict(kept)
    row = _first_row(described, series)
    for number, ((column, at), numbers) in enumerate(
        zip(positions(described), series, strict=True)
    ):
        if column.kind == "flat":
            assert numbers is not None
            row[0, at], tables[number] = _table(numbers)
    count = _count(series)
    if isinstance(work, int):
        return Vertices(cls, described, row, tables, np.array([count * work]))
    first = np.arange(0, count, FLAT_ROW)
    rows = np.repeat(row, len(first), axis=0)
    rows[:, COUNT] = np.minimum(FLAT_ROW, count - first)
    for column, at in positions(described):
        if column.kind == "affine":
            rows[:, at] += first * row[0, at + 1]
        elif column.kind == "flat":
            rows[:, at + 1] = first
    return Vertices(cls, described, rows, tables, _work(work, rows[:, COUNT]))


def _table(numbers: Series) -> tuple[int, npt.NDArray[np.uint32]]:
    """Return the base of a table, and the table: the graph's own array where possible."""
    if isinstance(numbers, Listed) and numbers.offset.dtype == NARROW:
        return numbers.base, np.ascontiguousarray(numbers.offset)
    array = numbers.array()
    low = int(array.min())
    return low, (array - low).astype(NARROW)
