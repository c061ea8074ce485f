"""Sorting rows of words that may lie on several tiles.

A row is cut into blocks of equal size, one a tile, and a block into runs, as a plan says::

    sort        SortElements    each run of each block
    merge 0     MergeWords      neighbouring runs of a block: 6 -> 3 -> 2 -> 1
    join 0      MergeWords      neighbouring lists of blocks: 0+1 2+3, then 01+23
    exchange 0  MergeWords      two lists: the lesser half of their words, and the others

The exchanges are those of Batcher's odd-even merge sort, in which a comparison of two elements
becomes a merge of two lists. Each tile makes the words of its own block of what two lists become,
and reads both. Every block has two places, and moves from one to the other whenever it takes part,
as no vertex may write what another one of its compute set reads.

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
from poplite.ops.order.sort_plan import SortPlan, sort_plan
from poplite.types import LONGLONG
from poplite.vertices.order import KeyRule, MergeWords, SortElements

NO_TILES = np.empty(0, np.int64)


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


def plan_of(rows: Rows) -> SortPlan:
    """Return how rows are sorted, of at least one element, beside what their tiles hold of them."""
    graph, size = rows.graph, rows.element_type.size_bytes
    held = size * int(graph.tile_mapping(rows.rows).elements_per_tile.max())
    return sort_plan(graph.target, rows.count, rows.size, size, held)


def sorted_words(rows: Rows, rule: KeyRule) -> Tensor:
    """Record the sorting of all rows; return their words, [count, at least size], on few tiles."""
    if not rows.count * rows.size:
        return rows.variable(LONGLONG, "/words", NO_TILES, NO_TILES).reshape((rows.count, 0))
    return NetworkBlocks(rows, rule, plan_of(rows)).sort()


class NetworkBlocks:
    """The blocks of all rows, and their two places each."""

    def __init__(self, rows: Rows, rule: KeyRule, plan: SortPlan) -> None:
        self.rows, self.rule, self.plan = rows, rule, plan
        self.blocks, self.run = plan.blocks, plan.run
        self.runs = -(-rows.size // (plan.blocks * plan.run))
        self.size = self.run * self.runs
        count, tiles = rows.count * self.blocks, rows.graph.target.tiles
        self.count, number = count, np.arange(2 * count)
        if plan.alternates:
            self.tile = number
        elif self.blocks > 1 and count <= tiles:
            self.tile = number % count
        else:
            self.tile = number % count * tiles // count
        lengths = np.full(2 * count, self.size)
        self.words = rows.variable(LONGLONG, "/words", self.tile, lengths)
        self.place = np.zeros(count, np.int64)
        """Which of its places a block is in: 0 or 1."""

    def sort(self) -> Tensor:
        """Record all stages; return the words [count, at least size]."""
        rows, plan = self.rows, self.plan
        self._sort_runs()
        length, level = self.run, 0
        while length < self.size:
            self._merge_runs(length, level)
            length, level = 2 * length, level + 1
        for number in range(plan.levels):
            begin = np.arange(0, self.blocks, 2 << number)
            middle, end = (np.minimum(begin + (k << number), self.blocks) for k in (1, 2))
            other = np.minimum(middle, self.blocks - 1)  # a list without another one moves, too
            self._join(begin, middle, other, other + end - middle, f"/join {number}")
        list_size = 1 << plan.levels
        for number, (low, high) in enumerate(exchanges(-(-self.blocks // list_size))):
            one, other = low * list_size, high * list_size
            if len(low):
                self._join(one, one + list_size, other, other + list_size, f"/exchange {number}")
        parts = self.words.reshape((2, self.count, self.size))
        shape = (rows.count, self.blocks * self.size)
        if not self.place.any() or self.place.all():
            return parts[int(self.place[0])].reshape(shape)
        blocks = [parts[place, block] for block, place in enumerate(self.place.tolist())]
        return concat(blocks).reshape(shape)

    def _sort_runs(self) -> None:
        """Record the sorting of runs; those behind the end of a row have no elements."""
        rows = self.rows
        row, within = np.divmod(np.arange(self.count * self.runs), self.blocks * self.runs)
        begin = np.minimum(within * self.run, rows.size)
        end = np.minimum(begin + self.run, rows.size)
        rows.execute(
            "/sort",
            SortElements,
            np.repeat(self.tile[: self.count], self.runs),
            x=ranges(ordered_bits(rows.rows), row * rows.size + begin, end - begin),
            words=self.words[: len(row) * self.run].reshape((len(row), self.run)),
            first=begin,
            **self.rule._asdict(),
        )

    def _merge_runs(self, length: int, level: int) -> None:
        """Record merges of neighbouring runs of so many words within all blocks."""
        pairs = -(-self.size // (2 * length))
        block, pair = np.divmod(np.arange(self.count * pairs), pairs)
        begin = pair * 2 * length
        middle, end = (np.minimum(begin + k * length, self.size) for k in (1, 2))
        source, target = self._at(block), self._at(block, moved=True)
        self._merge(
            f"/merge {level}",
            self._tile_of(block, moved=True),
            (source + begin, middle - begin),
            (source + middle, end - middle),
            (target + begin, end - begin),
            np.zeros(len(block), np.int64),
        )
        self.place = 1 - self.place

    def _join(self, begin: Int64, end: Int64, other: Int64, last: Int64, part: str) -> None:
        """Record that two lists of blocks of each row are merged; each block takes its words.

        Args:
            begin: the first block of the first lists, of row 0.
            end: where these lists end.
            other: the first block of the second lists.
            last: where these end.
            part: name of the step.
        """
        blocks = end - begin + last - other
        pair = np.repeat(np.arange(len(begin)), blocks)
        number = np.arange(len(pair)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        is_first = number < (end - begin)[pair]
        taker = np.where(is_first, begin[pair] + number, other[pair] + number - (end - begin)[pair])
        row = np.arange(self.rows.count)[:, None] * self.blocks
        left, right, taker = ((row + each).ravel() for each in (begin[pair], other[pair], taker))
        lengths = (
            np.tile((x - y)[pair], self.rows.count) for x, y in ((end, begin), (last, other))
        )
        one, two = (each * self.size for each in lengths)
        self._merge(
            part,
            self._tile_of(taker, moved=True),
            (self._at(left), one),
            (self._at(right), two),
            (self._at(taker, moved=True), np.full(len(taker), self.size)),
            np.tile(number * self.size, self.rows.count),
        )
        self.place[taker] = 1 - self.place[taker]

    def _merge(
        self,
        part: str,
        tile: Int64,
        left: tuple[Int64, Int64],
        right: tuple[Int64, Int64],
        out: tuple[Int64, Int64],
        first: Int64,
    ) -> None:
        """Record a step of merges; each range of words is its begin and its length."""
        workers = self.rows.graph.target.workers
        self.rows.execute(
            part,
            MergeWords,
            tile,
            left=ranges(self.words, *left),
            right=ranges(self.words, *right),
            out=ranges(self.words, *out),
            first=first,
            share=-(-out[1] // workers),
        )

    def _at(self, block: Int64, *, moved: bool = False) -> Int64:
        """Return where blocks begin, in the place they are in or the other one."""
        begin: Int64 = self._number(block, moved) * self.size
        return begin

    def _tile_of(self, block: Int64, *, moved: bool) -> Int64:
        tile: Int64 = self.tile[self._number(block, moved)]
        return tile

    def _number(self, block: Int64, moved: bool) -> Int64:
        place = 1 - self.place[block] if moved else self.place[block]
        number: Int64 = place * self.count + block
        return number
