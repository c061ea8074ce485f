"""Which rows ran, in what order: written by the interpreter while a trace is wanted.

    | room | used | row | row | row | ...

Both engines write the same words; the compiled one finds them by their address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from poplite.executable import opcodes as op


class Recording:
    """The rows that ran, up to `room` of them, one run after the other.

    >>> recording = Recording(2)
    >>> recording.begin("main")
    >>> recording.add([5, 7, 7])
    >>> list(recording.rows()), recording.is_full
    ([('main', 5), ('main', 7)], True)
    """

    def __init__(self, room: int) -> None:
        self.words = np.zeros(op.TRACE_ROWS + room, np.int64)
        self.words[op.TRACE_ROOM] = room
        self._begins: list[tuple[int, str]] = []

    def begin(self, program: str) -> None:
        """Note the program whose rows are recorded next."""
        self._begins.append((int(self.words[op.TRACE_USED]), program))

    def add(self, rows: Iterable[int]) -> None:
        """Add rows in order, as long as there is room."""
        for row in rows:
            used = int(self.words[op.TRACE_USED])
            if used < self.words[op.TRACE_ROOM]:
                self.words[op.TRACE_ROWS + used] = row
                self.words[op.TRACE_USED] = used + 1

    @property
    def is_full(self) -> bool:
        """Whether there is no room left."""
        return bool(self.words[op.TRACE_USED] == self.words[op.TRACE_ROOM])

    def rows(self) -> Iterator[tuple[str, int]]:
        """Yield program and row of all that ran, in order."""
        rows = self.words[op.TRACE_ROWS : op.TRACE_ROWS + int(self.words[op.TRACE_USED])].tolist()
        edges = [*(begin for begin, _ in self._begins), len(rows)]
        for (begin, program), end in zip(self._begins, edges[1:], strict=True):
            yield from ((program, row) for row in rows[begin:end])
