"""Rows of numbers that compiled code reads: of vertices, of copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.vertex.fields import Field

# -- descriptor rows of vertices -------------------------------------------------------------------
# They describe the vertices of one compute set to a driver.  Vertices of one class are listed in
# *runs* of n vertices.  One run is one row of int64 words, the columns of which say where the
# fields of its vertices are::
#
#     3 | number 12, +1 | x.start 0, +64 | x.length 64 | y.start 9000, table + 16 | ...
#
# A column takes one of four forms.  Where all vertices are regular, all are affine or fixed, and a
# million of them are one row; irregular numbers stay in the tables that the graph keeps them in::
#
#     affine   value, step         of vertex k: value + k * step
#     fixed    value               of all vertices of the run
#     flat     value, address      value + table[k], a table of uint32
#     table    address             of a table, for the driver
#
# All positions count elements of the field's type from the start of the arena.  A list field
# whose rows are evenly spaced is described by start, rows, stride and length; any other list by
# the first of its pairs (start, length) in a table, starts counted from `base`.  Pairs are uint32,
# or int64 where that is not enough.
#
# Rows in an executable hold positions in tables; they become addresses when an engine is made.

RowForm = Literal["stride", "pairs", "wide"]
"""How the rows of a list field are found: evenly spaced, or by pairs of uint32 or of int64."""

Forms = tuple[RowForm | None, ...]
"""For each declared field: how its rows are found, None for other fields."""

Kind = Literal["affine", "fixed", "flat", "table"]

WORDS: dict[Kind, int] = {"affine": 2, "fixed": 1, "flat": 2, "table": 1}

NUMBER = -1
"""In place of the position of a field: the vertex's own."""

COUNT = 0
"""The first word of a row: vertices in the run."""


@frozen
class Column:
    """One number that describes a vertex or one of its fields.

    Attributes:
        field: position of the field in the class, or NUMBER.
        part: "number", "start", "length", "rows", "stride", "base", "pairs", "wide" or "first".
        kind: the form.
    """

    field: int
    part: str
    kind: Kind


Columns = tuple[Column, ...]


def columns(fields: Sequence[Field], forms: Forms) -> Columns:
    """Return the columns of a vertex class in affine form, in the order of the words of a row."""
    return (
        Column(NUMBER, "number", "affine"),
        *(
            Column(position, part, kind)
            for position, (field, form) in enumerate(zip(fields, forms, strict=True))
            for part, kind in _parts(field, form)
        ),
    )


def _parts(field: Field, form: RowForm | None) -> Iterator[tuple[str, Kind]]:
    if form in ("pairs", "wide"):
        yield from (("base", "fixed"), (form, "table"), ("first", "affine"), ("rows", "fixed"))
        return
    yield "start", "affine"
    if field.depth == 2:
        yield from (("rows", "fixed"), ("stride", "fixed"))
    if field.depth:
        yield "length", "fixed"


def forms_of(described: Columns, num_fields: int) -> Forms:
    """Return how the rows of each declared field are found; None for fields that are not lists."""
    found: dict[int, RowForm] = {}
    for column in described:
        match column.part:
            case "pairs" | "wide" | "stride" as form:
                found[column.field] = form
    return tuple(found.get(position) for position in range(num_fields))


def width(described: Columns) -> int:
    """Return the number of words of a row."""
    return COUNT + 1 + sum(WORDS[column.kind] for column in described)


def positions(described: Columns) -> Iterator[tuple[Column, int]]:
    """Yield each column with the position of its first word in a row."""
    at = COUNT + 1
    for column in described:
        yield column, at
        at += WORDS[column.kind]


Rows = npt.NDArray[np.int64]


def bound_rows(rows: Rows, described: Columns, tables: Mapping[int, npt.NDArray[Any]]) -> Rows:
    """Return rows with addresses in place of positions in tables, which the caller keeps alive.

    `tables` are by number of the column.
    """
    if not tables:
        return np.ascontiguousarray(rows)
    bound = rows.copy()
    for number, (column, at) in enumerate(positions(described)):
        if column.kind in ("flat", "table"):
            word = at + WORDS[column.kind] - 1
            bound[:, word] *= tables[number].strides[0]
            bound[:, word] += tables[number].ctypes.data
    return bound


# -- the bytes that a copy moves -------------------------------------------------------------------
# Evenly spaced blocks become records, all others a list.  A *record* is six words (destination,
# source, rows, bytes, far, near), all positions and distances in bytes: block r goes from
# `source + r * near` to `destination + r * far`.  Pieces at uneven distances are listed in three
# uint32 words each, which is a quarter of a record.  One record represents a list; its `bytes` are
# 0, and `far` is where the list begins::
#
#     records    100   0   8   64   256   64       8 blocks of 64 bytes
#                  0 500   3    0     0    0       3 pieces, from number 0 of the list
#     pieces       0   0  12                       12 bytes from 500 + 0 to 0 + 0
#                 12  40   4                       ...
#                 16  52   4

Pieces = npt.NDArray[np.uint32]

RECORD_WORDS = 6

PIECE_WORDS = 3

BLOCK_OVERHEAD = 8
"""Work of starting one block, in elements; only balances chunks."""

BYTES_PER_ELEMENT = 4
"""Bytes that cost as much to copy as one element costs to compute."""

_NO_WEIGHTS = np.zeros(0, np.int64)

SPLIT_BYTES = 64
"""One block is split at multiples of a cache line."""


@frozen(eq=False)
class Moves:
    """Copies that may run in any order: none writes what another reads or writes.

    Attributes:
        records: int64[records, 6].
        pieces: uint32[pieces, 3], (destination, source, bytes) from those of their record.
    """

    records: Int64
    pieces: Pieces

    @property
    def weights(self) -> Int64:
        """Work of each record, in elements."""
        if not len(self.records):
            return _NO_WEIGHTS
        _, _, rows, size, far, _ = self.records.T
        weights = rows * (size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD)
        for record in np.flatnonzero(size == 0) if len(self.pieces) else ():
            weights[record] = self._piece_weights(far[record], rows[record]).sum()
        return np.asarray(weights)

    @property
    def size_bytes(self) -> int:
        """Bytes moved."""
        return int((self.records[:, 2] * self.records[:, 3]).sum() + self._listed())

    def blocks(self) -> tuple[Int64, Int64, Int64]:
        """Return first bytes of destination and source, and the bytes, of each block or piece.

        >>> record = np.array([[100, 0, 2, 8, 64, 16]])
        >>> found = Moves(record, np.zeros((0, PIECE_WORDS), np.uint32)).blocks()
        >>> [each.tolist() for each in found]
        [[100, 164], [0, 16], [8, 8]]
        """
        to, start, rows, size, far, near = self.records.T
        record = np.repeat(np.arange(len(rows)), rows)
        row = np.arange(len(record)) - np.repeat(np.cumsum(rows) - rows, rows)
        pieces = np.stack([row * far[record], row * near[record], size[record]])
        is_listed = pieces[2] == 0
        pieces[:, is_listed] = self.pieces[(far[record] + row)[is_listed]].T
        return to[record] + pieces[0], start[record] + pieces[1], pieces[2]

    def moved(self, distance: int) -> Moves:
        """Return the same copies with all destinations so many bytes further on."""
        records = self.records.copy()
        records[:, 0] += distance
        return Moves(records, self.pieces)

    def _listed(self) -> int:
        return int(self.pieces[:, 2].sum(dtype=np.int64))

    def _piece_weights(self, first: int, count: int) -> Int64:
        size = self.pieces[first : first + count, 2].astype(np.int64)
        return np.asarray(size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD)

    def words(self) -> Int64:
        """Return records and pieces as the driver reads them, in one array.

        There, `far` of a list is the distance in bytes from the first record to its pieces.
        """
        if not len(self.pieces):
            return np.ascontiguousarray(self.records).reshape(-1)
        records = self.records.copy()
        listed = records[:, 3] == 0
        records[listed, 4] = records.nbytes + records[listed, 4] * PIECE_WORDS * 4
        pieces = np.zeros(-(-self.pieces.size // 2), np.int64)
        pieces.view(np.uint32)[: self.pieces.size] = self.pieces.ravel()
        return np.concatenate([records.ravel(), pieces])

    def reversed(self) -> Moves:
        """Return the moves back, from the destinations to the sources."""
        records = self.records.copy()
        records[:, :2] = self.records[:, 1::-1]
        blocks = records[:, 3] != 0  # the words of a list are not distances
        records[blocks, 4:] = self.records[blocks, :3:-1]
        return Moves(records, self.pieces[:, [1, 0, 2]])

    def split(self, limit: float) -> Moves:
        """Return the same moves in records of at most about `limit` work each."""
        weights = self.weights
        if weights.max(initial=0) <= limit:
            return self
        parts = np.ceil(weights / limit).astype(np.int64)
        heavy = parts > 1
        many = self.records[heavy].tolist(), parts[heavy].tolist()
        cut = [self._cut(record, into) for record, into in zip(*many, strict=True)]
        return Moves(np.concatenate([self.records[~heavy], *cut]), self.pieces)

    def _cut(self, record: list[int], parts: int) -> Int64:
        to, start, rows, size, far, near = record
        if size == 0:
            ends = np.cumsum(self._piece_weights(far, rows))
            goals = ends[-1] * np.arange(1, parts) // parts
            first = np.unique(np.append(0, np.searchsorted(ends, goals) + 1))
            first = first[first < rows]
            cut = _alike(record, len(first))
            cut[:, 2], cut[:, 4] = np.diff(first, append=rows), far + first
            return cut
        if rows == 1:  # one block: cut into lines, and the rest
            most = max(SPLIT_BYTES, -(-size // parts) // SPLIT_BYTES * SPLIT_BYTES)
            at = np.arange(0, size, most)
            cut = _alike(record, len(at))
            cut[:, 0], cut[:, 1], cut[:, 3] = to + at, start + at, np.minimum(most, size - at)
            return cut
        most = -(-rows // parts)
        row = np.arange(0, rows, most)
        cut = _alike(record, len(row))
        cut[:, 0], cut[:, 1] = to + row * far, start + row * near
        cut[:, 2] = np.minimum(most, rows - row)
        return cut


def joined_moves(several: Sequence[Moves]) -> Moves:
    """Return the moves of several together, none of which writes what another reads or writes."""
    records = [np.zeros((0, RECORD_WORDS), np.int64)]
    pieces = [np.zeros((0, PIECE_WORDS), np.uint32)]
    for moves in several:
        own = moves.records.copy()
        own[own[:, 3] == 0, 4] += sum(map(len, pieces))
        records.append(own)
        pieces.append(moves.pieces)
    return Moves(np.concatenate(records), np.concatenate(pieces))


def _alike(record: list[int], count: int) -> Int64:
    return np.tile(np.array(record, np.int64), (count, 1))
