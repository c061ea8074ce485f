"""What reaches into a run from outside: `engine.stop()`, recordings, and other ranks.

Each run has a `Running` of its own, so a stop that comes too late ends no later run.  While a trace
is wanted, both interpreters write down which rows ran, in what order; the compiled one finds the
words by their address::

    | room | used | row | row | row | ...

On several ranks each runs an executable of its own, with EXCHANGE ops at the same places.  A device
brings what it needs of the others: the simulator knows neither MPI nor who owns what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from poplite.errors import ControlProgramError
from poplite.executable import opcodes as op

if TYPE_CHECKING:
    import numpy.typing as npt

# -- recording a run ---------------------------------------------------------------------------


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


# -- other ranks -------------------------------------------------------------------------------


# -- ending a run ------------------------------------------------------------------------------


class Stopped(Exception):
    """Ends a run; it never reaches the user."""


class Running:
    """One run of a program.

    >>> running = Running()
    >>> running.watch()
    >>> running.stop()
    >>> try:
    ...     running.watch()
    ... except Stopped:
    ...     print("ended")
    ended
    """

    __slots__ = ("_is_stopped",)

    def __init__(self) -> None:
        self._is_stopped = False

    def stop(self) -> None:
        """Let the run end; may be called from any thread, any number of times."""
        self._is_stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether the run is to end."""
        return self._is_stopped

    def watch(self) -> None:
        """Raise `Stopped` when the run is to end."""
        if self._is_stopped:
            raise Stopped


def busy(call: str) -> ControlProgramError:
    """Return the error for a `call` of the user's that would change what a running program uses."""
    return ControlProgramError(f"{call}: a program is running", fix="wait for the end of the run")


T = TypeVar("T")


class Peers(Protocol):
    """The other ranks.

    Attributes:
        own: begin and end of the runs of bytes that this rank fills with initial values, rising
            and disjoint; all others come from other ranks before they are used.
    """

    own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host, which fills and takes blocks of bytes."""

    def connect(
        self,
        parts: Sequence[npt.NDArray[np.uint8]],
        shadows: Sequence[npt.NDArray[np.uint8]],
        slots: Mapping[int, Sequence[int]],
    ) -> None:
        """Make exchanges of memory, and of its shadow with strict checks, by replica.

        `slots` are addresses of tables, by step and replica, of what each vertex of it took.
        """

    def address(self, exchange: int) -> int:
        """Return the address of the words of an exchange (`poplite.executable.opcodes`)."""

    def follow(self, ticks: Callable[[], int], step: Callable[[], str]) -> None:
        """Note what tells how many rows a run has begun, of all runs of its program.

        `step` tells which step it is at, in words.
        """

    def look(self) -> None:
        """Look whether a rank wants to stop the run, wherever Python is entered."""

    @property
    def limit(self) -> int | None:
        """Counted rows behind which the run ends on all ranks; None where nobody wants that."""

    def stop_here(self) -> None:
        """End the run, if this is the place: a step that has not begun."""

    def waiting(self, exchange: int) -> None:
        """Look after the ranks that an exchange waits for; raise when they are gone."""

    def calls(
        self, calls: Sequence[Callable[[], object]], running: Running
    ) -> Sequence[Callable[[], object]]:
        """Return the actions of a run, by number, as all ranks do them."""

    def agreed(self, error: Exception | None, count: int) -> tuple[Exception | None, int]:
        """Return what a step raises on all ranks, its own error or another's.

        Also the greatest count of all ranks.
        """

    def from_host(self, call: str, value: T) -> T:
        """Return the host's value of something that all ranks call."""

    def run(self, call: str, run: Callable[[], None]) -> None:
        """Run a program on all ranks, which end it alike."""
