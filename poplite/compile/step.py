"""Lowered steps: launches of drivers over descriptor rows, without any address in them.

A compute set becomes up to four launches, which run one after the other::

    gather      copy fields whose elements are not contiguous into temporaries
    save        when indices are checked: copy what vertices write in place
    vertices    run the drivers
    scatter     copy written temporaries back

A Copy becomes one launch.  The engine turns launches into chunks once it knows where the
arena and the compiled drivers are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import Column, Forms, columns, positions
from poplite.vertex import Vertex

Integers = npt.NDArray[np.int64]


BLOCK_OVERHEAD = 8
"""Work of starting one block of a copy, in elements; only balances chunks."""

BYTES_PER_ELEMENT = 4
"""Bytes that cost as much to copy as one element costs to compute."""

SPLIT_BYTES = 64
"""One block of a copy is split at multiples of a cache line."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Copy records (`poplite.compile.records`).

    Attributes:
        records: int64[records, 6].
    """

    records: Integers

    @property
    def weights(self) -> Integers:
        """Work of each record, in elements."""
        _, _, rows, size, _, _ = self.records.T
        return np.asarray(rows * (size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD))

    @property
    def size_bytes(self) -> int:
        """Bytes moved."""
        return int((self.records[:, 2] * self.records[:, 3]).sum())

    def split(self, limit: float) -> Moves:
        """Return the same moves in records of at most about `limit` work each."""
        pieces = np.maximum(1, np.ceil(self.weights / limit).astype(np.int64))
        if (pieces == 1).all():
            return self
        split: list[tuple[int, ...]] = []
        for record, parts in zip(self.records.tolist(), pieces.tolist(), strict=True):
            to, start, rows, size, far, near = record
            if rows == 1:  # one block: cut into lines, and the rest
                lines = max(SPLIT_BYTES, -(-size // parts) // SPLIT_BYTES * SPLIT_BYTES)
                split += [
                    (to + at, start + at, 1, min(lines, size - at), 0, 0)
                    for at in range(0, size, lines)
                ]
            else:
                most = -(-rows // parts)
                split += [
                    (to + r * far, start + r * near, min(most, rows - r), size, far, near)
                    for r in range(0, rows, most)
                ]
        return Moves(np.array(split, np.int64))


@dataclass(frozen=True, slots=True)
class Vertices:
    """Runs of vertices of one class whose list fields have one form.

    Attributes:
        cls: the vertex class.
        forms: form of each list field.
        rows: int64[runs, width], descriptor rows (`poplite.compile.descriptor`).
        tables: int64[...], the tables that rows refer to, by position in here.
        weights: int64[runs], work of each run, in elements.
    """

    cls: type[Vertex]
    forms: Forms
    rows: Integers
    tables: Integers
    weights: Integers

    @property
    def columns(self) -> list[Column]:
        """What the words of a row mean."""
        return columns(list(self.cls.fields.values()), self.forms)

    def words(self) -> Integers:
        """Return rows and tables as the driver reads them, in one array."""
        rows = self.rows.copy()
        for column, at in positions(self.columns):
            if column.part == "table":
                rows[:, at] += rows.size
        return np.concatenate([rows.ravel(), self.tables])

    def split(self, limit: float) -> Vertices:
        """Return the same vertices in runs of at most about `limit` work each."""
        count = self.rows[:, 0]
        most = np.maximum(1, (limit * count / self.weights).astype(np.int64))
        pieces = -(-count // most)
        if (pieces == 1).all():
            return self
        run = np.repeat(np.arange(len(count)), pieces)
        piece = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first = piece * most[run]
        rows = self.rows[run]
        rows[:, 0] = np.minimum(most[run], count[run] - first)
        rows[:, 1] += first * rows[:, 2]
        for column, at in positions(self.columns):
            if column.affine:
                rows[:, at] += first * rows[:, at + 1]
        weights = self.weights[run] * rows[:, 0] // count[run]
        return Vertices(self.cls, self.forms, rows, self.tables, weights)


@dataclass(frozen=True, slots=True)
class ComputeStep:
    """A lowered compute set.

    Attributes:
        name: the compute set's name.
        num_vertices: how many vertices it has.
        gather: copies into temporaries.
        save: copies of what vertices write in place; none when indices are not checked.
        groups: its vertices.
        scatter: copies back from temporaries.
        restore: copies back of what was saved, for after a fault.
    """

    name: str
    num_vertices: int
    gather: Moves
    save: Moves
    groups: tuple[Vertices, ...]
    scatter: Moves
    restore: Moves


@dataclass(frozen=True, slots=True)
class CopyStep:
    """A lowered Copy.

    Attributes:
        name: what is copied where.
        moves: the copies.
    """

    name: str
    moves: Moves


def phases_of(step: ComputeStep | CopyStep) -> list[tuple[Moves | Vertices, ...]]:
    """Return what each launch of a step runs, in order.

    Args:
        step: a lowered step.
    """
    if isinstance(step, CopyStep):
        return [(step.moves,)]
    return [(step.gather,), (step.save,), step.groups, (step.scatter,)]
