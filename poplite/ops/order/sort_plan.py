"""How rows are cut for sorting: the way of the fewest modelled cycles.

A row is cut into blocks, one a tile, and a block into runs, which workers sort. Sorted blocks
become lists of two blocks, of four, and so on, in `levels` merges; then the lists are sorted by a
network, in which two of them are merged at a time. Merges to ever longer lists are few stages, but
each of their tiles receives both lists; a network has more stages of shorter lists::

    blocks  levels  merged                                            then exchanged
    8       3       0+1 2+3 4+5 6+7, 01+23 45+67, 0123+4567           nothing
    8       1       0+1 2+3 4+5 6+7                                   four lists of two blocks
    8       0       nothing                                           eight lists of one block
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from poplite.machine.target import Target
from poplite.vertices.order import merge_slots, sort_slots, value_slots

BYTES_A_WORD = 64
"""Of a tile's memory, for each word of a row that one tile sorts."""

WORD = 8
"""Bytes of a word."""

SHARE = 4
"""A quarter of a tile's memory, at most, is for lists that come from other tiles; no more than half
of what elements to sort leave free on the fullest tile, as that holds sorted words, too."""


@dataclass(frozen=True, slots=True)
class SortPlan:
    """How each row is sorted.

    Attributes:
        blocks: of a row, a multiple of those of a list where there are several lists.
        run: words of a run.
        levels: merges of blocks before lists are exchanged; a list has `2 ** levels` blocks.
        alternates: whether a block goes from one tile to another one and back: then all that it
            is made of comes from other tiles, and nothing is copied beside it.
        cycles: by the cost model.
    """

    blocks: int
    run: int
    levels: int
    alternates: bool
    cycles: int


@lru_cache(maxsize=256)
def sort_plan(
    target: Target, count: int, size: int, element_bytes: int, held_bytes: int = 0
) -> SortPlan:
    """Return the cheapest plan.

    Args:
        target: the machine.
        count: number of rows, at least one.
        size: elements of a row, at least one.
        element_bytes: of an element.
        held_bytes: of the memory of a tile, what elements to sort take at most.
    """
    pricing = _Pricing(target, count, size, element_bytes, held_bytes)
    found = [pricing.plan(*way) for way in pricing.ways()]
    return min(found, key=lambda each: (each.cycles, each.blocks, each.levels))


class _Pricing:
    """The cycles of plans for equal rows."""

    def __init__(
        self, target: Target, count: int, size: int, element_bytes: int, held_bytes: int
    ) -> None:
        self.target, self.count, self.size, self.bytes = target, count, size, element_bytes
        self.held_bytes = held_bytes

    def ways(self) -> Iterator[tuple[int, int, bool]]:
        """Yield numbers of blocks and levels, and whether blocks alternate, that fit the memory."""
        target, size = self.target, self.size
        least = -(-size // max(1, target.tile_memory_bytes // BYTES_A_WORD))
        here = target.tiles_per_ipu  # links between IPUs are far slower than an exchange
        most = max(least, min(size, here // self.count))
        sizes = {least, most, most // 2, *(1 << k for k in range(most.bit_length()))}
        memory = target.tile_memory_bytes
        limit = min(memory // SHARE, (memory - self.held_bytes) // 2)
        for wished in sorted(each for each in sizes if least <= each <= most):
            for levels in range((wished - 1).bit_length() + 1):
                length = 1 << levels
                blocks = wished if length >= wished else wished // length * length
                received = WORD * min(2 * length, blocks) * -(-size // blocks)
                if levels and (received > limit or blocks < least):
                    break
                yield blocks, levels, False
                if blocks > 1 and 2 * blocks * self.count <= here:
                    yield blocks, levels, True

    def plan(self, blocks: int, levels: int, alternates: bool) -> SortPlan:
        """Return a plan with its cycles."""
        block = -(-self.size // blocks)
        a_tile = -(-self.count * blocks // self.target.tiles)
        workers = self._workers
        several = [*range(1, workers + 1), 2 * workers, 4 * workers]
        cycles, run = min(self._block(block, a_tile, runs) for runs in several)
        length = block
        for _ in range(levels):
            cycles += self._merged(block, length, a_tile, alternates=alternates)
            length *= 2
        lists = -(-blocks >> levels) if blocks > 1 else 1
        depth = (lists - 1).bit_length()
        stages = depth * (depth + 1) // 2
        if stages:
            cycles += stages * self._merged(block, length, a_tile, alternates=alternates)
        cycles += a_tile * workers * value_slots(-(-block // workers))
        return SortPlan(blocks, run, levels, alternates, cycles)

    @property
    def _workers(self) -> int:
        return self.target.workers

    def _block(self, block: int, a_tile: int, runs: int) -> tuple[int, int]:
        """Return the cycles of sorting the blocks of a tile, each in so many runs, and the run."""
        run = -(-block // runs)
        runs = -(-block // run)
        cycles = self._received(a_tile * block * self.bytes)
        cycles += self._workers * -(-a_tile * runs // self._workers) * sort_slots(run)
        length = run
        while length < block:
            pairs = -(-block // (2 * length))
            cycles += pairs * a_tile * self._merge(min(2 * length, block), length)
            length *= 2
        return cycles, run

    def _merged(self, block: int, length: int, a_tile: int, *, alternates: bool) -> int:
        """Return the cycles of a stage that makes blocks of two lists of so many words."""
        cost = self.target.cost
        cycles = a_tile * self._merge(block, length)
        if length == block and not alternates:  # one list is there
            return cycles + self._received(a_tile * WORD * length)
        if not alternates:
            copied = math.ceil(WORD * block / cost("memcpy_bytes_per_cycle"))
            cycles += int(cost("worker_call") + a_tile * (cost("copy_piece_cycles") + copied))
        both = 2 * length / (cost("pair_tiles") if length > block else 1)  # what neighbours share
        return cycles + self._received(a_tile * WORD * both)

    def _merge(self, words: int, length: int) -> int:
        """Return the cycles of a vertex that makes so many words of two such lists."""
        return self._workers * merge_slots(-(-words // self._workers), length)

    def _received(self, size: float) -> int:
        cost = self.target.cost
        start = cost("sync_cycles") + cost("latency_cycles")
        return math.ceil(start + size / self.target.exchange_bytes_per_cycle)
