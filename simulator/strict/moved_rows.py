"""Compute sets whose vertices move rows by number: their indices say which elements they touch.

    MultiUpdate     x 0 0 1 1 ... 0 0     index 3    s 1 1    rows of x: 3 becomes written, as s is
    MultiSlice      x 0 0 1 1 ... 0 0     index 1    out      row 1 of x has to be written

So a turn of a loop that fills a table row by row looks at a row, and vertices run once.  Where
something that they read is not written, `poplite.simulator.strict.replay` finds out what follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.executable.step import ComputeStep, Vertices
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.interpreted_vertices import described
from poplite.simulator.run.touched import ranges
from poplite.simulator.strict.shadow import Shadow
from poplite.vertices.slices import gathers_rows, needs_old_rows, updates_rows

Integers = npt.NDArray[np.int64]

INDEX_BYTES = 4
"""Bytes of an index."""


class MovedRows:
    """The rows that the vertices of a compute set move."""

    def __init__(self, step: ComputeStep, arena: Arena, shadow: Shadow) -> None:
        self._arena, self._shadow = arena, shadow
        self._groups = [_Rows.of(group, arena.bytes) for group in step.groups]

    def are_written(self) -> bool:
        """Return whether all that the vertices would read now is written."""
        self._touched = [
            (part, rows.size, *rows.touched(memory))
            for memory, part in zip(self._arena.parts, self._shadow.parts, strict=True)
            for rows in self._groups
            if _are_written(part, INDEX_BYTES, rows.index)
        ]
        return len(self._touched) == len(self._groups) * len(self._arena.parts) and all(
            _are_written(part, size, read) for part, size, read, _ in self._touched
        )

    def write(self) -> int:
        """Note that what they write is written; return how many elements were not."""
        gained = 0
        for part, size, _, written in self._touched:
            places = _bytes_of(written, size)
            gained += len(places) - int(np.count_nonzero(part[places]))
            part[places] = 1
        return gained


def move_rows(step: ComputeStep) -> bool:
    """Return whether all vertices of a compute set move rows by number."""
    return all(gathers_rows(group.cls) or updates_rows(group.cls) for group in step.groups)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the vertices of a group touch; elements count from the start of the arena.

    Attributes:
        size: bytes of an element.
        writes_table: whether they write the rows of x that they touch.
        reads_table: whether they read these.
        index: int64[lookups], elements of all vertices; the next arrays are of the same lookups.
        near: first element of the row that is no part of x.
        table: first element of x.
        rows: rows of x.
        first: number of the first.
        width: elements of a row.
        others: elements that are read in any case.
    """

    size: int
    writes_table: bool
    reads_table: bool
    index: Integers
    near: Integers
    table: Integers
    rows: Integers
    first: Integers
    width: Integers
    others: Integers

    @classmethod
    def of(cls, group: Vertices, memory: Bytes) -> _Rows:
        """Read the rows of a group off its descriptor rows."""
        size = group.cls.fields["x"].element.size_bytes
        begin = memory.ctypes.data
        is_update = updates_rows(group.cls)
        found, others = [], []
        for _, fields in described(group, memory):
            x, index, near = fields["x"], fields["index"], fields["s" if is_update else "out"]
            columns = int(fields["width"][0])
            begins = [(each.ctypes.data - begin) // each.itemsize for each in (index, near, x)]
            for k in range(len(index)):
                places = begins[0] + k, begins[1] + k * columns, begins[2]
                found.append((*places, len(x) // columns, int(fields["first"][0]), columns))
            if "scale" in fields:
                others.append((fields["scale"].ctypes.data - begin) // size)
        reads_table = not is_update or needs_old_rows(group.cls)
        index, at, table, rows, first, width = np.array(found, np.int64).reshape(-1, 6).T
        read = np.array(others, np.int64)
        return cls(size, is_update, reads_table, index, at, table, rows, first, width, read)

    def touched(self, memory: Bytes) -> tuple[Integers, Integers]:
        """Return the elements that they read now, except for indices, and those that they write."""
        row = _indices(memory, self.index) - self.first
        here = np.flatnonzero((row >= 0) & (row < self.rows))
        width = self.width[here]
        rows = ranges(self.table[here] + row[here] * width, width)
        if not self.writes_table:
            return rows, ranges(self.near, self.width)
        table = [rows] if self.reads_table else []
        return np.concatenate([ranges(self.near[here], width), *table, self.others]), rows


def _indices(memory: Bytes, elements: Integers) -> Integers:
    words: npt.NDArray[Any] = memory[: len(memory) // INDEX_BYTES * INDEX_BYTES].view(np.uint32)
    return words[elements].astype(np.int64)


def _are_written(part: Bytes, size: int, elements: Integers) -> bool:
    return bool(part[_bytes_of(elements, size)].all())


def _bytes_of(elements: Integers, size: int) -> Integers:
    """Return the places of all bytes of elements."""
    return (elements[:, np.newaxis] * size + np.arange(size)).ravel()
