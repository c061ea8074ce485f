"""Where the edges of a compute set start in the arena, and what is copied for it.

A field whose elements are one run points straight into its variable.  Any other edge gets a
temporary: gathered before the vertices run (also for outputs, whose unwritten elements keep
their value) and scattered afterwards if it is written.  An Input that overlaps an Output of
its own vertex is gathered too, so that it reads the values from before the compute set
whether or not its elements happen to be contiguous.  Rows at even distances are not gathered
where `poplite.compile.places.rows_in_place` finds that their vertices can do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.compile.places.rows_in_place import RowsInPlace
from poplite.compile.places.temporaries import Swaps
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves
from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges

TEMPORARY_ALIGNMENT = 16
"""Bytes that each gathered field is aligned to: a vector register's worth of loads."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
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
