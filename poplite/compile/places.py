"""Places of a compute set's edges in the arena: temporaries, copies, and descriptor rows.

A field whose elements are one run points directly into its variable.  Any other edge gets a
temporary: it is gathered before the vertices run (also for outputs, whose unwritten elements must
retain their values) and scattered afterwards if it is written. An Input that overlaps an Output of
its own vertex is gathered as well, so that it reads the values from before the compute set whether
or not its elements are contiguous. Evenly spaced rows are not gathered if their vertices can read
them in place. The graph's description of the edge does not change, nor do cycles and tile memory,
since on a real machine the exchange makes rows contiguous on their tile::

    edge        x[0:3], x[8:11], x[16:19]        three runs: a temporary of 9 elements, stride 3
    in place    x[0:19]                          no copy, stride 8

Elements are copied to temporaries and back; so is memory that must be restored after a fault::

    x[0:4] x[8:12]      ->   t[0:8]       gather, save
    y[0:4] y[8:12]      <-   u[0:8]       scatter, restore

If both sides are regular, no run is listed.

Descriptor rows contain the positions of the vertices' fields: a few runs for regular positions,
tables for others::

    starts 0 64 128 ...       one row for all
    starts in stretches       a row for each stretch
    starts in any order       one row and the graph's table of starts

Runs are used if they have `LEAST_RUN` vertices on average: a driver that looks up starts in
a table reads four bytes for each vertex, and is compiled in addition to the driver for runs.

Lists of edges are evenly spaced, or have tables of pairs::

    start 0, 64, 128  length 16        even: start 0, rows 3, stride 64, length 16
    start 0, 70, 500  length 16        pairs (0, 16) (70, 16) (500, 16)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
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
from poplite.compile.lower_copies import NO_MOVES, Side, copied_runs, copied_views
from poplite.executable.encoding import (
    COUNT_WORD,
    Column,
    Columns,
    Forms,
    Kind,
    Moves,
    RowForm,
    columns,
    positions,
    width,
)
from poplite.executable.parts import ArenaLayout, Vertices
from poplite.frozen import frozen
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges
from poplite.jit.build import run_kernel
from poplite.jit.kernels_intervals import go_on
from poplite.vertex.vertex import Vertex

# -- rows in place ---------------------------------------------------------------------------------


@frozen(eq=False)
class RowsInPlace:
    """The edges of one field of a family, some of which are read in place.

    Attributes:
        stride_name: the State field with the stride.
        chosen: bool[edges], whether each edge is read in place.
        length: int64[edges], number of elements from the first to the last of each edge, as
            vertices see it.
        stride: dtype[edges], the stride of each edge.
    """

    stride_name: str
    chosen: npt.NDArray[np.bool_]
    length: Int64
    stride: npt.NDArray[np.integer]


InPlace = Mapping[FieldEdges, RowsInPlace]
"""The fields of a compute set with edges that are read in place."""


def rows_in_place(
    table: EdgeTable, layout: ArenaLayout, known: Mapping[EdgeTable, InPlace] = MappingProxyType({})
) -> InPlace:
    """Return the rows of a compute set that are read in place; `known` contains earlier results."""
    alike = table.alike
    rows = None if alike is None else known.get(alike)
    if alike is not None and rows is not None and all(_same_state(alike, table)):
        pairs = zip(_fields_of_rows(alike), _fields_of_rows(table), strict=True)
        return {own: rows[field] for (_, field), (_, own) in pairs if field in rows}
    every = {
        field: _in_place(family, field, table, layout) for family, field in _fields_of_rows(table)
    }
    return {field: rows for field, rows in every.items() if rows is not None}


def _same_state(table: EdgeTable, other: EdgeTable) -> Iterator[bool]:
    """Yield for each family whether the state that defines the rows is equal."""
    for family, its in zip(table.families, other.families, strict=True):
        rows = family.cls.strided_rows
        for name in () if rows is None else (rows.stride, rows.offset):
            if name is not None:
                values = np.asarray(family.state[name]), np.asarray(its.state[name])
                yield np.array_equal(*values)


def _fields_of_rows(table: EdgeTable) -> list[tuple[Family, FieldEdges]]:
    found = ((family, _field_of_rows(family)) for family in table.families)
    return [(family, field) for family, field in found if field is not None]


def _field_of_rows(family: Family) -> FieldEdges | None:
    """Return the field of a family that has rows; None if none of them would be copied."""
    rows = family.cls.strided_rows
    if rows is None:
        return None
    field = _field(family, rows.field)
    is_copied = field.edges.start is None and field.edges.num_elements
    return field if is_copied else None


def _field(family: Family, name: str) -> FieldEdges:
    return next(each for each in family.fields if each.field.name == name)


def _in_place(
    family: Family, field: FieldEdges, table: EdgeTable, layout: ArenaLayout
) -> RowsInPlace | None:
    rows = family.cls.strided_rows
    assert rows is not None
    first, begin, size = field.runs
    kind: np.dtype[Any] = family.cls.fields[rows.stride].element.dtype
    stride = np.full(len(first) - 1, family.state[rows.stride], kind)
    is_several = np.diff(first) > 1
    is_several &= _field(family, rows.columns).edges.length.array() <= stride
    if (own := table.crossings.own.get(field)) is not None:
        is_several &= ~own
    if rows.offset is not None:
        is_several &= np.asarray(family.state[rows.offset]) == 0
    some = np.flatnonzero(is_several)
    if not len(some):
        return None
    begin = layout.byte_positions(begin) // field.field.element.size_bytes
    head, last = first[some], first[some + 1] - 1
    distance = begin[head + 1] - begin[head]
    is_even = (stride[some] == size[head]) & (distance > size[head])
    is_even &= distance <= np.iinfo(kind).max

    # Pairs of adjacent runs of an edge; every pair must have the same spacing as the first.
    of = np.repeat(np.arange(len(some)), last - head)
    run = head[of] + np.arange(len(of)) - (np.cumsum(last - head) - (last - head))[of]
    differs = (begin[run + 1] - begin[run] != distance[of]) | (size[run + 1] != size[head][of])
    is_even[of[differs]] = False
    if not is_even.any():
        return None
    chosen, length = np.zeros(len(first) - 1, np.bool_), field.edges.length.array().copy()
    some, head, last = some[is_even], head[is_even], last[is_even]
    chosen[some], stride[some] = True, distance[is_even]
    length[some] = begin[last] - begin[head] + size[last]
    return RowsInPlace(rows.stride, chosen, length, stride)


# -- copies to temporaries -------------------------------------------------------------------------

_Columns = tuple[Int64, Int64, Int64]


class Swaps:
    """Collects copies by field, and turns them into moves."""

    def __init__(self) -> None:
        self._moves: tuple[list[Moves], list[Moves]] = [], []
        self._runs: tuple[list[_Columns], list[_Columns]] = [], []

    def add_regular(self, here: Steps, there: Steps, size: int, *, back: bool) -> bool:
        """Add evenly spaced elements, and return whether that was possible.

        Elements are copied from `there` to `here`, and with `back` also in the opposite direction.
        Positions are in elements of `size` bytes from the start of the arena.
        """
        sides = _side(here, size), _side(there, size)
        into = copied_views(*sides, size)
        out = copied_views(*sides[::-1], size) if back else into
        if into is None or out is None:
            return False
        self._moves[0].append(into)
        if back:
            self._moves[1].append(out)
        return True

    def add_runs(self, here: Int64, there: Int64, size: Int64, *, back: bool) -> None:
        """Add runs that are copied from `there` to `here`, and with `back` also from here to there.

        All arrays are int64[runs]: first bytes, and sizes in bytes.
        """
        self._runs[0].append((here, there, size))
        if back:
            self._runs[1].append((here, there, size))

    def moves(self) -> tuple[Moves, Moves]:
        """Return the copies from `there` to `here`, and the copies back."""
        into, back = NO_MOVES, NO_MOVES
        if self._runs[0]:
            here, there, size = joined_columns(self._runs[0])
            into = copied_runs((here, size), (there, size))
        if self._runs[1]:
            here, there, size = joined_columns(self._runs[1])
            back = copied_runs((there, size), (here, size))
        return _together(into, self._moves[0]), _together(back, self._moves[1])


def _side(elements: Steps, size: int) -> Side:
    digits = [(extent, stride * size) for extent, stride in elements.digits if extent != 1]
    return elements.first * size, digits


def joined_columns(columns: Sequence[_Columns]) -> _Columns:
    """Return the concatenated columns of several tables."""
    first, second, third = (np.concatenate(column) for column in zip(*columns, strict=True))
    return first, second, third


def _together(runs: Moves, views: list[Moves]) -> Moves:
    """Append the moves of views to those of runs, which alone have a list of pieces."""
    if not views:
        return runs
    if len(views) == 1 and not len(runs.records):
        return views[0]
    return Moves(np.concatenate([runs.records, *(each.records for each in views)]), runs.pieces)


# -- places ----------------------------------------------------------------------------------------

TEMPORARY_ALIGNMENT = 16
"""Alignment of each gathered field in bytes: the size of a vector register."""

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class PlacedEdges:
    """The edges of one field, placed.

    Attributes:
        field: the field.
        start: the start of each edge, in elements of its type from the start of the arena.
        gathered: whether each edge is a temporary; a single bool if it is the same for all.
        length: number of elements of each edge as vertices see it; larger for rows read in place.
    """

    field: FieldEdges
    start: Series
    gathered: Mask | bool
    length: Series

    @property
    def size(self) -> int:
        """Size of an element in bytes."""
        return self.field.field.element.size_bytes


class Places:
    """The places of all edges of a compute set; temporaries are reserved in the layout."""

    def __init__(
        self,
        table: EdgeTable,
        layout: ArenaLayout,
        in_place: Mapping[FieldEdges, RowsInPlace],
    ) -> None:
        self._table, self._layout, self._in_place = table, layout, in_place
        self._end = 0
        self._placed = {
            field: self._place(field) for family in table.families for field in family.fields
        }
        layout.reserve_temporaries(self._end)

    def __getitem__(self, field: FieldEdges) -> PlacedEdges:
        return self._placed[field]

    def _place(self, field: FieldEdges) -> PlacedEdges:
        gathered = self._gathered(field)
        if gathered is False:
            return PlacedEdges(field, direct(field, self._layout), False, field.edges.length)
        size, length = field.field.element.size_bytes, field.edges.length
        first = self._layout.temporary_base + self._end
        if gathered is True and length.only is not None:
            room = _aligned(length.only * size)
            self._end += room * length.count
            return PlacedEdges(
                field, Steps(first // size, ((length.count, room // size),)), True, length
            )
        rooms = np.where(gathered, _aligned(length.array() * size), 0)
        at = first + np.cumsum(rooms) - rooms
        self._end += int(rooms.sum())
        if gathered is not True:
            first_run, begin, _ = field.runs
            straight = ~gathered & (np.diff(first_run) > 0)
            at[straight] = self._layout.byte_positions(begin[first_run[:-1][straight]])
        rows = self._in_place.get(field)
        seen = length if rows is None else compact(rows.length)
        return PlacedEdges(field, compact(at // size), gathered, seen)

    def _gathered(self, field: FieldEdges) -> Mask | bool:
        """Return which edges are not contiguous, or read elements that their vertex writes."""
        edges, own = field.edges, self._table.crossings.own.get(field)
        if edges.start is not None:
            return False if own is None else True if own.all() else own
        rows = self._in_place.get(field)
        if edges.have_equal_strides and rows is None:
            return True
        scattered = np.diff(field.runs.first) > 1
        if rows is not None:
            scattered &= ~rows.chosen
        if own is not None:
            scattered |= own
        return True if rows is None and scattered.all() else scattered

    def moves(self) -> tuple[Moves, Moves]:
        """Return the copies to temporaries, and the copies from written temporaries."""
        swaps = Swaps()
        for placed in self._placed.values():
            if placed.gathered is False or not placed.field.edges.num_elements:
                continue
            back, there = placed.field.field.writes, self._elements(placed.field)
            here, size = placed.start, placed.field.edges.length.only
            if there and size and placed.gathered is True and isinstance(here, Steps):
                into = Steps(here.first, (*here.digits, (size, 1)))
                if swaps.add_regular(into, there, placed.size, back=back):
                    continue
            swaps.add_runs(*self._gathered_runs(placed), back=back)
        return swaps.moves()

    def _elements(self, field: FieldEdges) -> Steps | None:
        """Return the positions of a field's elements in the arena, if they are regular."""
        elements = field.edges.elements()
        shift = None if elements is None else self._layout.shift(elements.low, elements.high)
        return None if elements is None or shift is None else elements.moved(shift)

    def _gathered_runs(self, placed: PlacedEdges) -> tuple[Int64, Int64, Int64]:
        """Return the first bytes of gathered runs in temporaries and variables, and their sizes."""
        runs = placed.field.runs
        edge = runs.edge()
        size = runs.size * placed.size
        # A run's offset in its temporary: the bytes of earlier runs of the same edge.
        before = np.cumsum(size) - size
        before -= before[runs.first[:-1][edge]]
        chosen = np.flatnonzero(np.broadcast_to(placed.gathered, len(runs.first) - 1)[edge])
        here = placed.start.array()[edge[chosen]] * placed.size + before[chosen]
        return here, self._layout.byte_positions(runs.begin[chosen]), size[chosen]

    def saves(self) -> tuple[Moves, Moves]:
        """Return the copies that save elements written in place after the temporaries, and back.

        After a fault, the copies back restore the memory from before the compute set.
        """
        swaps = Swaps()
        for placed in self._placed.values():
            edges = placed.field.edges
            if placed.gathered is True or not placed.field.field.writes or not edges.num_elements:
                continue
            first = _aligned(self._layout.temporary_base + self._end)
            there, size, count = self._elements(placed.field), placed.size, edges.num_elements
            self._end = first + count * size - self._layout.temporary_base
            into = Steps(first // size, ((count, 1),))
            straight = there if placed.gathered is False else None
            if straight and swaps.add_regular(into, straight, size, back=True):
                continue
            kept = ~np.broadcast_to(placed.gathered, edges.length.count)
            sizes = edges.length.array()[kept] * size
            here = first + np.cumsum(sizes) - sizes
            swaps.add_runs(here, placed.start.array()[kept] * size, sizes, back=True)
        self._layout.reserve_temporaries(self._end)
        return swaps.moves()


def direct(field: FieldEdges, layout: ArenaLayout) -> Series:
    """Return the starts of a field's edges in the arena, if none of them is gathered."""
    edges = field.edges
    assert edges.start is not None
    if not edges.num_elements:
        return constant(0, edges.length.count)
    shift = layout.shift(edges.start.low, edges.start.high)
    if shift is not None:
        return edges.start.moved(shift)
    size = field.field.element.size_bytes
    return compact(layout.byte_positions(edges.start.array()) // size)


def _aligned(size: Any) -> Any:
    return (size + TEMPORARY_ALIGNMENT - 1) // TEMPORARY_ALIGNMENT * TEMPORARY_ALIGNMENT


# -- lists of edges --------------------------------------------------------------------------------


class RowLists:
    """The rows of one list field of a family.

    Attributes:
        even: which vertices have evenly spaced rows of equal length; one bool if all are the same.
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
        """Return the columns for evenly spaced rows, or for tables."""
        assert self._columns is not None
        if even:
            return self._columns
        return {
            "base": constant(self._base, self.rows.count),
            "first": self._first,
            "rows": self.rows,
        }

    def _regular(self) -> dict[str, Series] | None:
        """Return the columns, without expanding a list, if all lists have the same even spacing."""
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
        """The index of each vertex's first pair."""
        if self.rows.only is not None:
            return counting(0, self.rows.count).times(self.rows.only)
        rows = self.rows.array()
        return compact(np.cumsum(rows) - rows)

    @property
    def form(self) -> RowForm:
        """The storage form of the pairs."""
        start, length = self._placed.start, self._placed.field.edges.length
        if self._shared is not None or max(start.high - start.low, length.high) < MOST_NARROW:
            return "pairs"
        return "wide"

    @property
    def _base(self) -> int:
        """The value that is subtracted from the starts of pairs."""
        start = self._placed.start
        return start.base if self._shared is not None and isinstance(start, Listed) else start.low

    @property
    def _shared(self) -> npt.NDArray[np.uint32] | None:
        """The graph's own pairs, if all have moved by the same distance in the arena."""
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
"""Average number of vertices per run below which tables are faster."""

FEW_VERTICES = 4096
"""Maximum number of vertices for which runs are always used, without a separate driver."""

FLAT_ROW = 4096
"""Number of vertices in a row with tables if their work differs; used only to balance chunks."""

Values = Mapping[tuple[int, str], Series]
"""The values of each column without a table, by field and part."""

Tables = Mapping[int, npt.NDArray[Any]]
"""The table of each list field that has one, by position of the field."""


def vertices_of(
    cls: type[Vertex], forms: Forms, values: Values, tables: Tables, work: Int64 | int
) -> Vertices:
    """Return the descriptor rows of vertices.

    `work` is the work of each vertex, in elements: a single number if it is the same for all.
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
    """Return whether one or two words suffice for the values of all vertices."""
    if series is None:
        return True
    return series.step is not None and (column.kind == "affine" or series.step == 0)


def _first_row(described: Columns, series: Sequence[Series | None]) -> Int64:
    """Return one row: first value of each column, step of affine columns, zeros elsewhere."""
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
    """Return the work of consecutive runs that have `count` vertices each."""
    if isinstance(work, int):
        return count * work
    return np.add.reduceat(work, np.cumsum(count) - count)


# -- runs ------------------------------------------------------------------------------------------


def affine_runs(moving: Int64, fixed: Int64) -> tuple[Int64, Int64, Int64]:
    """Cut rows into runs in which `moving` changes by a constant step and `fixed` is constant.

    The runs are as long as possible, found greedily from the first row::

        start  length        first  count  step of start
          0      4
         64      4             0      3         64
        128      4
        500      4             3      2         10
        510      4

    Takes int64[rows, m] and int64[rows, f]. Returns the first row of each run, the number of rows
    of each run, and the steps, int64[runs, m]; the step of a run of one row is 0.

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
    """Return a row for each run of vertices with constant steps in all columns."""
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
    """Return a lower bound for the number of runs, without listing any."""
    most = 1
    for column, numbers in zip(described, series, strict=True):
        if isinstance(numbers, Listed):
            change = np.diff(numbers.offset)
            if column.kind == "affine":
                # Consecutive steps differ at most twice at the end of a run.
                most = max(most, int(np.count_nonzero(change[1:] != change[:-1])) // 2 + 1)
            else:
                most = max(most, int(np.count_nonzero(change)) + 1)
    return most


# -- tables ----------------------------------------------------------------------------------------


def _flat(described: Columns, series: Sequence[Series | None]) -> Columns | None:
    """Return the columns, with tables for uneven ones; None if tables are not suitable."""
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
    """Return the base of a table, and the table: the graph's own array if possible."""
    if isinstance(numbers, Listed) and numbers.offset.dtype == NARROW:
        return numbers.base, np.ascontiguousarray(numbers.offset)
    array = numbers.array()
    low = int(array.min())
    return low, (array - low).astype(NARROW)
