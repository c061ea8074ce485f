"""The bytes that a copy moves, in few rows: blocks at even distances, and a list of all others.

A *record* is six words (destination, source, rows, bytes, far, near), all positions and distances
in bytes: block r goes from `source + r * near` to `destination + r * far`.  Pieces at uneven
distances are listed in three uint32 words each, which is a quarter of a record.  One record
represents a list; its `bytes` are 0, and `far` is where the list begins::

    records    100   0   8   64   256   64       8 blocks of 64 bytes
                 0 500   3    0     0    0       3 pieces, from number 0 of the list
    pieces       0   0  12                       12 bytes from 500 + 0 to 0 + 0
                12  40   4                       ...
                16  52   4
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poplite.frozen import frozen

Integers = npt.NDArray[np.int64]
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

    records: Integers
    pieces: Pieces

    @property
    def weights(self) -> Integers:
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

    def blocks(self) -> tuple[Integers, Integers, Integers]:
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

    def _piece_weights(self, first: int, count: int) -> Integers:
        size = self.pieces[first : first + count, 2].astype(np.int64)
        return np.asarray(size // BYTES_PER_ELEMENT + BLOCK_OVERHEAD)

    def words(self) -> Integers:
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

    def _cut(self, record: list[int], parts: int) -> Integers:
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


def joined(several: Sequence[Moves]) -> Moves:
    """Return the moves of several together, none of which writes what another reads or writes."""
    records = [np.zeros((0, RECORD_WORDS), np.int64)]
    pieces = [np.zeros((0, PIECE_WORDS), np.uint32)]
    for moves in several:
        own = moves.records.copy()
        own[own[:, 3] == 0, 4] += sum(map(len, pieces))
        records.append(own)
        pieces.append(moves.pieces)
    return Moves(np.concatenate(records), np.concatenate(pieces))


def _alike(record: list[int], count: int) -> Integers:
    return np.tile(np.array(record, np.int64), (count, 1))
