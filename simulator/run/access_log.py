"""What the workers of vertices read and wrote: a word for each element, see `opcodes.LOG_BITS`.

    worker 0    total = total + x[0]    total: worker 0 read it, worker 0 wrote it
    worker 1    total = total + x[1]           worker 1 read what worker 0 wrote

Workers run one after the other here, and on a machine at once.  Where none reads what another one
writes, and none changes it, they do the same in any order.  Values that are stored are compared
with those that are there, so that several workers may store equal ones.

Only fields that vertices write are noted: fields do not overlap, so nothing writes the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.vertex.vertex import Vertex

Words = npt.NDArray[np.uint32]
_WORKER = (1 << op.LOG_BITS) - 1


class Conflict(NamedTuple):
    """What a worker did to an element that another one accessed before."""

    worker: int
    other: int
    kind: int


class AccessLog:
    """The log of a block of bytes: the word of an element is that of its first byte.

    The system provides memory for it only where elements are noted.

    Attributes:
        words: uint32[bytes].
        shift: address of the word of address 0, as compiled code takes it.
    """

    def __init__(self, block: npt.NDArray[np.uint8]) -> None:
        self.words: Words = np.zeros(len(block), np.uint32)
        self._begin = int(block.ctypes.data)
        self.shift = int(self.words.ctypes.data) - self.words.itemsize * self._begin

    def clear(self, places: npt.NDArray[np.int64]) -> None:
        """Forget what was done to elements at some byte positions of the block."""
        self.words[places] = 0

    def conflicts(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which elements a worker accessed in spite of another one, in the places' shape."""
        return np.asarray(self.words[places] >> 2 * op.LOG_BITS != 0)

    def conflict(self, place: int) -> Conflict:
        """Return the first that was done to an element in spite of another worker."""
        word = int(self.words[place])
        writer, reader, worker = (word >> n * op.LOG_BITS & _WORKER for n in range(3))
        kind = word >> 3 * op.LOG_BITS
        return Conflict(worker - 1, (reader if kind == op.WROTE_READ else writer) - 1, kind)

    def of_worker(
        self, cls: type[Vertex], values: Mapping[str, Any], worker: int
    ) -> dict[str, WorkerAccesses | list[WorkerAccesses]]:
        """Return what notes a worker's accesses to the fields of an interpreted vertex."""
        found: dict[str, WorkerAccesses | list[WorkerAccesses]] = {}
        noted = min(worker + 1, _WORKER)
        for name, field in cls.fields.items():
            if field.writes:
                memory = values[name]
                found[name] = (
                    [WorkerAccesses(self._of(row), noted) for row in memory]
                    if field.depth == 2
                    else WorkerAccesses(self._of(memory), noted)
                )
        return found

    def _of(self, memory: npt.NDArray[Any]) -> Words:
        begin = int(memory.ctypes.data) - self._begin
        return self.words[begin : begin + memory.nbytes : memory.itemsize]


class WorkerAccesses:
    """Notes what a worker, numbered from 1, does to the elements of a vector.

    Compiled code does the same (`poplite.simulator.codegen.accessors`).
    """

    __slots__ = ("_worker", "_words")

    def __init__(self, words: Words, worker: int) -> None:
        self._words, self._worker = words, worker

    def loaded(self, index: int) -> None:
        """Note that the worker read an element."""
        word = int(self._words[index])
        if not word >> op.LOG_BITS & _WORKER:
            word |= self._worker << op.LOG_BITS
        self._note(index, word, op.READ_WRITTEN if self._is_other(word) else 0)

    def stored(self, index: int, *, differs: bool) -> None:
        """Note that the worker stored an element; `differs` from what was there."""
        word, kind = int(self._words[index]), 0
        if self._is_other(word >> op.LOG_BITS):
            kind = op.WROTE_READ
        if self._is_other(word) and differs:
            kind = op.CHANGED_WRITTEN
        self._note(index, word if word & _WORKER else word | self._worker, kind)

    def _is_other(self, word: int) -> bool:
        return word & _WORKER not in (0, self._worker)

    def _note(self, index: int, word: int, kind: int) -> None:
        if kind and not word >> 2 * op.LOG_BITS:
            word |= (kind << op.LOG_BITS | self._worker) << 2 * op.LOG_BITS
        self._words[index] = word
