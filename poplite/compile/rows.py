"""Descriptor rows of vertices: few runs where they are regular, tables where they are not.

    starts 0 64 128 ...       one row for all
    starts in stretches       a row each
    starts in any order       one row and the table that the graph keeps them in

Runs are used as long as they have `LEAST_RUN` vertices on average: a driver that looks up starts in
a table reads four bytes for each, and is compiled in addition to the one for runs.

Lists of edges are evenly spaced, or have tables of pairs::

    start 0, 64, 128  length 16        even: start 0, rows 3, stride 64, length 16
    start 0, 70, 500  length 16        pairs (0, 16) (70, 16) (500, 16)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import (
    MOST_NARROW,
    NARROW,
    Listed,
    Series,
    Steps,
    compact,
    constant,
    counting,
)
from poplite.compile.places import PlacedEdges
from poplite.executable.encoding import (
    COUNT_WORD,
    Column,
    Columns,
    Forms,
    Kind,
    RowForm,
    columns,
    positions,
    width,
)
from poplite.executable.steps import Vertices
from poplite.jit.build import run_kernel
from poplite.jit.kernels.intervals import go_on
from poplite.vertex.vertex import Vertex

# -- lists of edges --------------------------------------------------------------------------------


Mask = npt.NDArray[np.bool_]


class RowLists:
    """The rows of one list field of a family.

    Attributes:
        even: which vertices have evenly spaced rows of one length; one answer where all are alike.
    """

    def __init__(self, placed: PlacedEdges) -> None:
        self._placed = placed
        self.rows = placed.field.edges.rows
        self._columns = self._regular()
        self.even: bool | Mask = True
        if self._columns is None:
            self._columns, even = self._listed()
            self.even = bool(even[0]) if (even == even[0]).all() else even

    def columns(self, even: bool) -> dict[str, Series]:
        """Return the columns of one form."""
        assert self._columns is not None
        if even:
            return self._columns
        return {
            "base": constant(self._base, self.rows.count),
            "first": self._first,
            "rows": self.rows,
        }

    def _regular(self) -> dict[str, Series] | None:
        """Return the columns where all lists are alike and evenly spaced, without listing any."""
        rows, length = self.rows.only, self._placed.field.edges.length.only
        start, count = self._placed.start, self.rows.count
        if rows is None or length is None or not isinstance(start, Steps):
            return None
        parts = start.split(count)
        if parts is None or len(parts[1]) > 1:
            return None
        return {
            "start": Steps(start.first, parts[0] or ((count, 0),)),
            "rows": self.rows,
            "stride": constant(parts[1][0][1] if parts[1] else 0, count),
            "length": constant(length, count),
        }

    def _listed(self) -> tuple[dict[str, Series], Mask]:
        start, length = self._placed.start.array(), self._placed.field.edges.length.array()
        rows = self.rows.array()
        offset = np.cumsum(rows) - rows
        some, several = np.flatnonzero(rows > 0), np.flatnonzero(rows > 1)
        first, first_length, stride = (np.zeros(len(rows), np.int64) for _ in range(3))
        first[some], first_length[some] = start[offset[some]], length[offset[some]]
        stride[several] = start[offset[several] + 1] - first[several]
        vertex = np.repeat(np.arange(len(rows)), rows)
        row = np.arange(len(start)) - offset[vertex]
        uneven = (start != first[vertex] + row * stride[vertex]) | (length != first_length[vertex])
        even = np.ones(len(rows), np.bool_)
        even[vertex[uneven]] = False
        columns = {"start": compact(first), "rows": self.rows}
        columns |= {"stride": compact(stride), "length": compact(first_length)}
        return columns, even

    # -- the table ---------------------------------------------------------------------------------

    @cached_property
    def _first(self) -> Series:
        """The first pair of each vertex."""
        if self.rows.only is not None:
            return counting(0, self.rows.count).times(self.rows.only)
        rows = self.rows.array()
        return compact(np.cumsum(rows) - rows)

    @property
    def form(self) -> RowForm:
        """How the pairs are kept."""
        start, length = self._placed.start, self._placed.field.edges.length
        if self._shared is not None or max(start.high - start.low, length.high) < MOST_NARROW:
            return "pairs"
        return "wide"

    @property
    def _base(self) -> int:
        """What the starts of pairs count from."""
        start = self._placed.start
        return start.base if self._shared is not None and isinstance(start, Listed) else start.low

    @property
    def _shared(self) -> npt.NDArray[np.uint32] | None:
        """The graph's own pairs, where the arena moves them all by the same distance."""
        pairs, start = self._placed.field.edges.pairs, self._placed.start
        if pairs is None or not isinstance(start, Listed) or start.offset.base is not pairs:
            return None
        return pairs

    @cached_property
    def table(self) -> npt.NDArray[Any]:
        """The pairs of all vertices."""
        if self._shared is not None:
            return self._shared
        kind = NARROW if self.form == "pairs" else np.dtype(np.int64)
        start = self._placed.start.array() - self._base
        length = self._placed.field.edges.length.array()
        return np.stack([start, length], axis=1).astype(kind)


# -- rows ------------------------------------------------------------------------------------------


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
        return Vertices(cls, described, rows, kept, _work(work, rows[:, COUNT_WORD]))
    flat = _flat(described, series)
    if flat is not None and _least_runs(described, series) * LEAST_RUN > _count(series):
        return _with_tables(cls, flat, series, kept, work)
    runs = _runs(described, series)
    if flat is not None and len(runs) * LEAST_RUN > _count(series):
        return _with_tables(cls, flat, series, kept, work)
    return Vertices(cls, described, runs, kept, _work(work, runs[:, COUNT_WORD]))


def _count(series: Sequence[Series | None]) -> int:
    assert series[0] is not None, "the first column is the vertex's number"
    return series[0].count


def _is_even(column: Column, series: Series | None) -> bool:
    """Return whether one word, or two, describe the numbers of all vertices."""
    if series is None:
        return True
    return series.step is not None and (column.kind == "affine" or series.step == 0)


def _first_row(described: Columns, series: Sequence[Series | None]) -> Int64:
    """Return one row: the first number of each column, the step of affine ones, else zeros."""
    row = [0] * width(described)
    row[COUNT_WORD] = _count(series)
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


# -- runs ------------------------------------------------------------------------------------------


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
    out = np.empty((2, rows), np.int64)
    count = run_kernel(go_on, rows, joins, alike, rows, *out)
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
    rows[:, COUNT_WORD] = length
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


# -- tables ----------------------------------------------------------------------------------------


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
    rows[:, COUNT_WORD] = np.minimum(FLAT_ROW, count - first)
    for column, at in positions(described):
        if column.kind == "affine":
            rows[:, at] += first * row[0, at + 1]
        elif column.kind == "flat":
            rows[:, at + 1] = first
    return Vertices(cls, described, rows, tables, _work(work, rows[:, COUNT_WORD]))


def _table(numbers: Series) -> tuple[int, npt.NDArray[np.uint32]]:
    """Return the base of a table, and the table: the graph's own array where possible."""
    if isinstance(numbers, Listed) and numbers.offset.dtype == NARROW:
        return numbers.base, np.ascontiguousarray(numbers.offset)
    array = numbers.array()
    low = int(array.min())
    return low, (array - low).astype(NARROW)
