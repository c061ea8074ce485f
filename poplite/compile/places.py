"""Places of a compute set's edges in the arena, with the copies for them.

A field whose elements are one run points straight into its variable.  Any other edge gets a
temporary: gathered before the vertices run (also for outputs, whose unwritten elements keep
their value) and scattered afterwards if it is written.  An Input that overlaps an Output of
its own vertex is gathered too, so that it reads the values from before the compute set
whether or not its elements happen to be contiguous.  Rows at even distances are not gathered
where their vertices can do without: what the graph says of the edge stays as it is, and with it
cycles and memory of tiles, as there the exchange brings rows to a tile, side by side::

    edge        x[0:3], x[8:11], x[16:19]        three runs: a temporary of 9 elements, stride 3
    in place    x[0:19]                          no copy, stride 8

Elements are copied to temporaries and back; so is memory that a fault must not change::

    x[0:4] x[8:12]      ->   t[0:8]       gather, save
    y[0:4] y[8:12]      <-   u[0:8]       scatter, restore

Where both sides are regular, no run is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.compile.copies import NO_MOVES, Side, copied_runs, copied_views
from poplite.executable.encoding import Moves
from poplite.executable.layout import ArenaLayout
from poplite.frozen import frozen
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges

# -- rows in place ---------------------------------------------------------------------------------


@frozen(eq=False)
class RowsInPlace:
    """The edges of one field of a family, some of which are read in place.

    Attributes:
        stride_name: the State field with the stride.
        chosen: bool[edges], which are read in place.
        length: int64[edges], elements from the first to the last of each edge as vertices see it.
        stride: dtype[edges], the stride of each.
    """

    stride_name: str
    chosen: npt.NDArray[np.bool_]
    length: Int64
    stride: npt.NDArray[np.integer]


InPlace = Mapping[FieldEdges, RowsInPlace]
"""The fields of a compute set of which some edges are read in place."""


def rows_in_place(
    table: EdgeTable, layout: ArenaLayout, known: Mapping[EdgeTable, InPlace] = MappingProxyType({})
) -> InPlace:
    """Return what of a compute set is read in place; `known` has that of earlier ones."""
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
    """Yield whether the state that says where rows are is equal, family by family."""
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
    """Return the field of a family that has rows, where some are copied."""
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

    # Runs next to each other in an edge, of which each has to be like the first two.
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
    """Collects copies, field by field, and turns them into moves."""

    def __init__(self) -> None:
        self._moves: tuple[list[Moves], list[Moves]] = [], []
        self._runs: tuple[list[_Columns], list[_Columns]] = [], []

    def add_regular(self, here: Steps, there: Steps, size: int, *, back: bool) -> bool:
        """Add elements at regular distances, and return whether that was possible.

        They are copied from `there` to `here`, and `back` where asked: positions in elements of
        `size` bytes from the start of the arena.
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
        """Add runs that are copied from `there` to `here`, and `back` where asked.

        All are int64[runs]: first bytes, and bytes.
        """
        self._runs[0].append((here, there, size))
        if back:
            self._runs[1].append((here, there, size))

    def moves(self) -> tuple[Moves, Moves]:
        """Return the copies to the other place, and those back."""
        into, back = NO_MOVES, NO_MOVES
        if self._runs[0]:
            here, there, size = _joined(self._runs[0])
            into = copied_runs((here, size), (there, size))
        if self._runs[1]:
            here, there, size = _joined(self._runs[1])
            back = copied_runs((there, size), (here, size))
        return _together(into, self._moves[0]), _together(back, self._moves[1])


def _side(elements: Steps, size: int) -> Side:
    digits = [(extent, stride * size) for extent, stride in elements.digits if extent != 1]
    return elements.first * size, digits


def _joined(columns: list[_Columns]) -> _Columns:
    here, there, size = (np.concatenate(column) for column in zip(*columns, strict=True))
    return here, there, size


def _together(runs: Moves, views: list[Moves]) -> Moves:
    """Put moves of views behind those of runs, which alone have a list of pieces."""
    if not views:
        return runs
    if len(views) == 1 and not len(runs.records):
        return views[0]
    return Moves(np.concatenate([runs.records, *(each.records for each in views)]), runs.pieces)


# -- places ----------------------------------------------------------------------------------------


TEMPORARY_ALIGNMENT = 16
"""Bytes that each gathered field is aligned to: a vector register's worth of loads."""

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class PlacedEdges:
    """The edges of one field, placed.

    Attributes:
        field: the field.
        start: where each edge starts, in elements of its type from the start of the arena.
        gathered: which of them are temporaries; one answer where all are alike.
        length: elements of each as vertices see it: more where rows are read in place.
    """

    field: FieldEdges
    start: Series
    gathered: Mask | bool
    length: Series

    @property
    def size(self) -> int:
        """Bytes of an element."""
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
        """Return which edges of a field are not contiguous, or read what their vertex writes."""
        edges, own = field.edges, self._table.crossings.own.get(field)
        if edges.start is not None:
            return False if own is None else True if own.all() else own
        rows = self._in_place.get(field)
        if edges.are_alike and rows is None:
            return True
        scattered = np.diff(field.runs.first) > 1
        if rows is not None:
            scattered &= ~rows.chosen
        if own is not None:
            scattered |= own
        return True if rows is None and scattered.all() else scattered

    def moves(self) -> tuple[Moves, Moves]:
        """Return the copies into temporaries, and those from temporaries that are written."""
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
        """Return where the elements of a field are in the arena, where they are regular."""
        elements = field.edges.elements()
        shift = None if elements is None else self._layout.shift(elements.low, elements.high)
        return None if elements is None or shift is None else elements.moved(shift)

    def _gathered_runs(self, placed: PlacedEdges) -> tuple[Int64, Int64, Int64]:
        """Return first bytes of gathered runs in temporaries and in variables, and their bytes."""
        runs = placed.field.runs
        edge = runs.edge()
        size = runs.size * placed.size
        # A run's place in its temporary: bytes of the runs before it in the same edge.
        before = np.cumsum(size) - size
        before -= before[runs.first[:-1][edge]]
        chosen = np.flatnonzero(np.broadcast_to(placed.gathered, len(runs.first) - 1)[edge])
        here = placed.start.array()[edge[chosen]] * placed.size + before[chosen]
        return here, self._layout.byte_positions(runs.begin[chosen]), size[chosen]

    def saves(self) -> tuple[Moves, Moves]:
        """Return copies of what vertices write in place, behind the temporaries, and back.

        After a fault they make memory what it was before the compute set.
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
    """Return where the edges of a field start in the arena, if none of them is gathered."""
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
