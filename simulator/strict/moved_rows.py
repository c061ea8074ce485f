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
from poplite.jit.kernels import written as kernels
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.field_elements import moved_from
from poplite.simulator.run.touched import ranges, starts_and_lengths
from poplite.simulator.strict.shadow import Shadow
from poplite.vertices.slices import gathers_rows, needs_old_rows, updates_rows

Integers = npt.NDArray[np.int64]

INDEX_BYTES = 4
"""Bytes of an index."""


class MovedRows:
    """The rows that the vertices of a compute set move.

    Attributes:
        checks: what looks at them before vertices run, in each replica; it returns 0 where
            something that they would read is not written.
        marks: what notes that they are written, and returns how many bytes were not.
    """

    def __init__(self, step: ComputeStep, arena: Arena, shadow: Shadow) -> None:
        self._shadow = shadow
        self._groups = [_Rows.of(group, step, arena) for group in step.groups]
        pairs = zip(arena.parts, shadow.parts, strict=True)
        places = [(*each, rows) for each in pairs for rows in self._groups]
        bind = shadow.forms.bind
        self.checks = [
            bind(kernels.rows_are_written, memory, part, *rows.arguments, *rows.others)
            for memory, part, rows in places
        ]
        self.marks = [
            bind(kernels.mark_rows, memory, part, *rows.arguments) for memory, part, rows in places
        ]

    def are_written(self) -> bool:
        """Return whether all that the vertices would read now is written."""
        return all(call() for call in self.checks)

    def write(self) -> int:
        """Note that what they write is written; return how many bytes were not."""
        return sum(call() for call in self.marks)

    def count_holes(self) -> int:
        """Return how many bytes nothing has written."""
        return sum(
            end - begin - int(np.count_nonzero(part[begin:end]))
            for part in self._shadow.parts
            for rows in self._groups
            for begin, end in rows.blocks
        )


def move_rows(step: ComputeStep) -> bool:
    """Return whether all vertices of a compute set move rows by number."""
    return all(gathers_rows(group.cls) or updates_rows(group.cls) for group in step.groups)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the vertices of a group touch, by bytes from the start of the arena.

    Attributes:
        reads: which rows they read, as kernels take it.
        lookups: int64[lookups, LOOKUP_WORDS], of all vertices.
        others: elements that are read in any case, their number, and the bytes of one.
        blocks: begin and end of blocks of bytes that all edges take.
    """

    reads: int
    lookups: Integers
    others: tuple[Integers, int, int]
    blocks: list[tuple[int, int]]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What both kernels take."""
        return self.lookups, len(self.lookups), self.reads

    @classmethod
    def of(cls, group: Vertices, step: ComputeStep, arena: Arena) -> _Rows:
        """Read the rows of a group off its descriptor rows."""
        size, places = group.cls.fields["x"].element.size_bytes, starts_and_lengths(group)
        words = arena.bytes[: len(arena.bytes) // INDEX_BYTES * INDEX_BYTES].view(np.uint32)
        first, width = (words[places[name][0]].astype(np.int64) for name in ("first", "width"))
        is_update = updates_rows(group.cls)
        (table, length), (index, count) = places["x"], places["index"]
        near, far = places["s" if is_update else "out"]
        vertex = np.repeat(np.arange(len(count)), count)
        number = ranges(np.zeros_like(count), count)
        wide = width[vertex]
        lookups = np.stack(
            [
                _ungathered((index[vertex] + number) * INDEX_BYTES, step, arena),
                (near[vertex] + number * wide) * size,
                table[vertex] * size,
                (length // width)[vertex],
                first[vertex],
                wide * size,
            ],
            axis=1,
        )
        others = places["scale"][0] * size if "scale" in places else np.zeros(0, np.int64)
        near_reads = kernels.READS_NEAR if is_update else 0
        table_reads = kernels.READS_TABLE if not is_update or needs_old_rows(group.cls) else 0
        begins = [table * size, near * size, index * INDEX_BYTES, others]
        sizes = [length * size, far * size, count * INDEX_BYTES, np.full(len(others), size)]
        blocks = _joined(np.concatenate(begins), np.concatenate(sizes))
        return cls(near_reads | table_reads, lookups, (others, len(others), size), blocks)


def _joined(begin: Integers, size: Integers) -> list[tuple[int, int]]:
    """Return begin and end of blocks, with those as one that touch each other."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate((begin + size)[order])
    is_first = np.append(True, begin[1:] > end[:-1])
    last = np.append(end[:-1][is_first[1:]], end[-1:])
    return [*zip(begin[is_first].tolist(), last.tolist(), strict=True)]


def _ungathered(positions: Integers, step: ComputeStep, arena: Arena) -> Integers:
    """Return where elements are before anything is gathered, by first bytes.

    So indices may be read before.
    """
    base = arena.layout.temporary_base
    found = moved_from(step.gather, positions) if (positions >= base).any() else positions
    return np.where(positions < base, positions, found)
