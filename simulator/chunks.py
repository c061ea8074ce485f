"""Launches made ready to run: driver calls with addresses, cut into balanced chunks.

A launch with little work is one chunk per driver and runs in order.  A launch whose work
outweighs starting the threads is cut into a few chunks per thread, balanced by the weights
that lowering gave its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.compile.opcodes import CHUNK_WORDS
from poplite.compile.step import Moves, Vertices

Integers = npt.NDArray[np.int64]
Part = Moves | Vertices

PARALLEL_WEIGHT = 50_000
"""Elements of work from which threads pay: about four times the cost of starting them."""

CHUNKS_PER_THREAD = 4


@dataclass(frozen=True, slots=True)
class Launch:
    """A range of chunks.

    Attributes:
        first: first chunk.
        last: one past the last chunk.
        parallel: whether threads share them.
        checked: whether they may record faults.
        work: what they do, in elements.
    """

    first: int
    last: int
    parallel: bool
    checked: bool
    work: int


class ChunkTable:
    """All chunks of an engine.

    Args:
        arena: address of the arena.
        driver: returns the address of the driver of a group of vertices.
        mover: address of the driver that moves bytes.
    """

    def __init__(self, arena: int, driver: Callable[[Vertices], int], mover: int) -> None:
        self._arena, self._driver, self._mover = arena, driver, mover
        self._chunks: list[tuple[int, ...]] = []
        self._rows: list[Integers] = []

    def add(self, parts: Sequence[Part], *, checked: bool) -> Launch:
        """Add a launch.

        Args:
            parts: what the launch runs, in this order when it is not parallel.
            checked: whether the drivers of the vertices check indices.
        """
        total = float(sum(part.weights.sum() for part in parts))
        limit = total
        if total >= PARALLEL_WEIGHT:
            limit = total / (CHUNKS_PER_THREAD * (os.cpu_count() or 1))
            parts = [part.split(limit) for part in parts]
        first = len(self._chunks)
        for part in parts:
            if isinstance(part, Vertices):
                address, rows = self._driver(part), part.words()
            else:
                address, rows = self._mover, np.ascontiguousarray(part.records)
            self._rows.append(rows)
            for low, high in _cuts(part.weights, limit):
                call = (address, self._arena, rows.ctypes.data, low, high)
                self._chunks.append((*call, *[0] * (CHUNK_WORDS - len(call))))
        last = len(self._chunks)
        parallel = total >= PARALLEL_WEIGHT and last - first > 1
        return Launch(first, last, parallel, checked, int(total))

    def words(self) -> Integers:
        """Return the chunk rows that the interpreter reads; the table keeps what they point to."""
        return np.array(self._chunks, np.int64).reshape(-1, CHUNK_WORDS)


def _cuts(weights: Integers, limit: float) -> list[tuple[int, int]]:
    """Cut rows into ranges of about equal weight, none much above the limit."""
    if not len(weights):
        return []
    ends = np.cumsum(weights)
    pieces = max(1, min(len(weights), round(float(ends[-1] / max(limit, 1)))))
    goals = ends[-1] * np.arange(1, pieces) / pieces
    inner = np.searchsorted(ends, goals) + 1
    stops = np.unique(np.concatenate([[0], inner, [len(weights)]])).tolist()
    return list(zip(stops, stops[1:], strict=False))
