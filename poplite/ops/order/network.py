"""Sorting rows of words that may lie on several tiles.

A row is cut into blocks of equal size, one a tile, and a block into runs, one a worker::

    sort        SortElements    each run of each block
    merge 0     MergeWords      neighbouring runs of a block: 6 -> 3 -> 2 -> 1
    exchange 0  MergeWords      two blocks: the lesser half of their words, and the others

The exchanges are those of Batcher's odd-even merge sort, in which a comparison of two elements
becomes a merge of two blocks. Every block has two places, and moves from one to the other whenever
it takes part, as no vertex may write what another one of its compute set reads.

Source: D. Knuth, "The Art of Computer Programming", volume 3, 5.2.2, algorithm M, for any number of
elements; 5.3.4, exercise 38, for blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import ordered_bits
from poplite.ops.order.rows import Rows, ranges
from poplite.types import LONGLONG
from poplite.vertices.order import KeyRule, MergeWords, SortElements

BYTES_A_WORD = 64
"""Of a tile's memory, for each word of a row that one tile sorts."""

BLOCK = 1024
"""Words of a block, at least, where a row is sorted by several tiles."""

RUN = 32
"""Words of a run, at least."""


def exchanges(count: int) -> Iterator[tuple[Int64, Int64]]:
    """Yield the stages of a network that sorts: of each, the lower and the higher places.

    >>> [(low.tolist(), high.tolist()) for low, high in exchanges(4)]
    [([0, 1], [2, 3]), ([0, 2], [1, 3]), ([1], [2])]
    """
    top = 1 << max(0, (count - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            low = np.arange(max(0, count - d))
            low = low[(low & p) == r]
            yield low, low + d
            if q == p:
                break
            q, r, d = q // 2, p, q - p
        p //= 2


def sorted_words(rows: Rows, rule: KeyRule) -> Tensor:
    """Record the sorting of all rows; return their words, [count, at least size], on few tiles."""
    return Blocks(rows, rule).sort()


class Blocks:
    """The blocks of all rows, and their two places each."""

    def __init__(self, rows: Rows, rule: KeyRule) -> None:
        self.rows, self.rule = rows, rule
        target = rows.graph.target
        fitting = max(RUN, target.tile_memory_bytes // BYTES_A_WORD)
        self.blocks = 1  # of a row
        if rows.size > fitting:
            least = -(-rows.size // fitting)
            wished = min(rows.size // BLOCK, target.tiles // max(rows.count, 1))
            self.blocks = max(least, wished)
        size = -(-rows.size // self.blocks)
        count = rows.count * self.blocks
        idle = target.tiles * target.workers // max(count, 1)
        runs = max(1, min(target.workers, idle, size // RUN))
        self.run = -(-size // runs)
        self.runs = -(-size // max(self.run, 1))
        self.size = self.run * self.runs
        self.tile = np.arange(count) * target.tiles // max(count, 1)
        lengths = np.full(2 * count, self.size)
        self.words = rows.variable(LONGLONG, "/words", np.tile(self.tile, 2), lengths)
        self.place = np.zeros(count, np.int64)
        """Which of its places a block is in: 0 or 1."""

    def sort(self) -> Tensor:
        """Record all stages; return the words [count, at least size]."""
        count, rows = len(self.tile), self.rows
        shape = (rows.count, self.blocks * self.size)
        if not count * self.size:
            return self.words[: count * self.size].reshape(shape)
        self._sort_runs()
        length, level = self.run, 0
        while length < self.size:
            self._merge_runs(length, level)
            length, level = 2 * length, level + 1
        for number, (low, high) in enumerate(exchanges(self.blocks)):
            self._exchange(low, high, number)
        parts = self.words.reshape((2, count, self.size))
        if not self.place.any() or self.place.all():
            return parts[int(self.place[0])].reshape(shape)
        blocks = [parts[place, block] for block, place in enumerate(self.place.tolist())]
        return concat(blocks).reshape(shape)

    def _sort_runs(self) -> None:
        """Record the sorting of runs; those behind the end of a row have no elements."""
        rows = self.rows
        row, within = np.divmod(np.arange(len(self.tile) * self.runs), self.blocks * self.runs)
        begin = np.minimum(within * self.run, rows.size)
        end = np.minimum(begin + self.run, rows.size)
        rows.execute(
            "/sort",
            SortElements,
            np.repeat(self.tile, self.runs),
            x=ranges(ordered_bits(rows.rows), row * rows.size + begin, end - begin),
            words=self.words[: len(row) * self.run].reshape((len(row), self.run)),
            first=begin,
            **self.rule._asdict(),
        )

    def _merge_runs(self, length: int, level: int) -> None:
        """Record merges of neighbouring runs of so many words within all blocks."""
        pairs = -(-self.size // (2 * length))
        block, pair = np.divmod(np.arange(len(self.tile) * pairs), pairs)
        begin = pair * 2 * length
        middle, end = (np.minimum(begin + k * length, self.size) for k in (1, 2))
        source, target = self._at(block), self._at(block, moved=True)
        self.rows.execute(
            f"/merge {level}",
            MergeWords,
            self.tile[block],
            left=ranges(self.words, source + begin, middle - begin),
            right=ranges(self.words, source + middle, end - middle),
            out=ranges(self.words, target + begin, end - begin),
            first=np.zeros(len(block), np.int64),
        )
        self.place = 1 - self.place

    def _exchange(self, low: Int64, high: Int64, number: int) -> None:
        """Record that pairs of blocks of each row share out their words."""
        if not len(low):
            return
        first = np.arange(self.rows.count)[:, None] * self.blocks
        lower, higher = (first + low).ravel(), (first + high).ravel()
        taker = np.concatenate([lower, higher])
        size = np.full(len(taker), self.size)
        self.rows.execute(
            f"/exchange {number}",
            MergeWords,
            self.tile[taker],
            left=ranges(self.words, self._at(np.tile(lower, 2)), size),
            right=ranges(self.words, self._at(np.tile(higher, 2)), size),
            out=ranges(self.words, self._at(taker, moved=True), size),
            first=np.repeat([0, self.size], len(lower)),
        )
        self.place[taker] = 1 - self.place[taker]

    def _at(self, block: Int64, *, moved: bool = False) -> Int64:
        """Return where blocks begin, in the place they are in or the other one."""
        place = 1 - self.place[block] if moved else self.place[block]
        begin: Int64 = (place * len(self.tile) + block) * self.size
        return begin
