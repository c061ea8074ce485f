"""The control of runs: progress, stopping, recording, other ranks.

Each run has its own `Running`, so a late request to stop does not end a later run. During tracing,
both interpreters record the rows that ran, in order; the compiled interpreter gets the address of
these words::

    | room | used | row | row | row | ...

On several ranks, each runs its own executable, with EXCHANGE ops at the same places. A device
provides the other ranks (`Peers`): the simulator depends neither on MPI nor on which rank owns
which data.

Progress is written to standard error, never to standard output::

    poplite: compiling vertex class 3 of 17: Blur       if compilation takes longer than a second
    poplite: run 'main': 1,200 of 5,000 steps, 12 s     with progress=True

On a terminal, `rich` draws a bar; otherwise lines are written, at most one per second. A notebook
shows standard error as red blocks, so it gets one changing line below the cell.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from poplite.errors import ControlProgramError
from poplite.executable import encoding as op

if TYPE_CHECKING:
    import numpy.typing as npt

    from poplite.vertex.vertex import Vertex

# -- recording a run -------------------------------------------------------------------------------


class Recording:
    """The rows that ran, at most `room` of them, run by run.

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
        """Set the program whose rows are recorded next."""
        self._begins.append((int(self.words[op.TRACE_USED]), program))

    def add(self, rows: Iterable[int]) -> None:
        """Add rows in order, while there is space."""
        for row in rows:
            used = int(self.words[op.TRACE_USED])
            if used < self.words[op.TRACE_ROOM]:
                self.words[op.TRACE_ROWS + used] = row
                self.words[op.TRACE_USED] = used + 1

    @property
    def is_full(self) -> bool:
        """Whether there is no more space."""
        return bool(self.words[op.TRACE_USED] == self.words[op.TRACE_ROOM])

    def rows(self) -> Iterator[tuple[str, int]]:
        """Yield program and row of all rows that ran, in order."""
        rows = self.words[op.TRACE_ROWS : op.TRACE_ROWS + int(self.words[op.TRACE_USED])].tolist()
        edges = [*(begin for begin, _ in self._begins), len(rows)]
        for (begin, program), end in zip(self._begins, edges[1:], strict=True):
            yield from ((program, row) for row in rows[begin:end])


# -- ending a run ----------------------------------------------------------------------------------


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

    __slots__ = ("is_stopped",)

    def __init__(self) -> None:
        self.is_stopped = False

    def stop(self) -> None:
        """Request the end of the run; may be called from any thread, any number of times."""
        self.is_stopped = True

    def watch(self) -> None:
        """Raise `Stopped` if the run is to end."""
        if self.is_stopped:
            raise Stopped


def busy(call: str) -> ControlProgramError:
    """Return the error for a user's `call` that would change data of a running program."""
    return ControlProgramError(f"{call}: a program is running", fix="wait for the end of the run")


# -- other ranks -----------------------------------------------------------------------------------


T = TypeVar("T")


class Peers(Protocol):
    """The other ranks.

    Attributes:
        own: the byte ranges that this rank fills with initial values, ascending and disjoint:
            their starts and their ends; other bytes come from other ranks before they are used.
    """

    own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host, which fills and reads blocks of bytes."""

    def connect(
        self,
        parts: Sequence[npt.NDArray[np.uint8]],
        shadows: Sequence[npt.NDArray[np.uint8]],
        slots: Mapping[int, Sequence[int]],
    ) -> None:
        """Set up exchanges of memory, and of its shadow with strict checks, by replica.

        `slots` are addresses of tables, by step and replica, of the slots of each vertex.
        """

    def address(self, exchange: int) -> int:
        """Return the address of the words of an exchange (`poplite.executable.encoding`)."""

    def follow(self, ticks: Callable[[], int], step: Callable[[], str]) -> None:
        """Set the function that returns how many rows have started in all runs of the program.

        `step` returns the current step as text.
        """

    def look(self) -> None:
        """Check whether a rank requests to stop the run; called whenever Python is entered."""

    @property
    def limit(self) -> int | None:
        """Number of rows after which the run ends on all ranks; None if no rank requests a stop."""

    def stop_here(self) -> None:
        """End the run if ranks have agreed to end it here, before a step."""

    def waiting(self, exchange: int) -> None:
        """Raise if a rank that an exchange waits for has ended."""

    def calls(
        self, calls: Sequence[Callable[[], object]], running: Running
    ) -> Sequence[Callable[[], object]]:
        """Return the actions of a run, by number, wrapped so that all ranks learn the outcome."""

    def agreed(self, error: Exception | None, count: int) -> tuple[Exception | None, int]:
        """Return the error that a step raises on all ranks, from this rank or another one.

        Also returns the largest of the ranks' counts.
        """

    def from_host(self, call: str, value: T) -> T:
        """Return the host's value in a call that all ranks make."""

    def run(self, call: str, run: Callable[[], None]) -> None:
        """Run a program on all ranks, which end it in the same way."""


# -- progress --------------------------------------------------------------------------------------

PATIENCE = 1.0
"""Seconds of compilation after which progress is shown."""


class Progress:
    """Progress that is not shown; base class of the forms that are shown.

    >>> with Progress() as progress:
    ...     progress.update(lambda: 3)
    """

    is_shown: ClassVar[bool] = False
    total: int | None = None

    def note(self, text: str) -> None:
        """Report the current work."""

    def update(self, done: Callable[[], int]) -> None:
        """Report how many steps are done; `done` is called only if this is shown."""

    def close(self) -> None:
        """Report the final number of steps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Lines(Progress):
    """Progress as lines on standard error; `unit` is the counted noun, in the plural."""

    is_shown = True
    period: ClassVar[float] = 1.0
    """Seconds between two updates of the steps."""

    def __init__(self, title: str, unit: str, total: int | None) -> None:
        self.title, self.unit, self.total = title, unit, total
        self.begin = self._last = monotonic()
        self._done: Callable[[], int] | None = None

    def note(self, text: str) -> None:
        """Write the current work."""
        _write(f"{self.title}: {text}")

    def update(self, done: Callable[[], int]) -> None:
        """Show how many steps are done, if enough time has passed since the last update."""
        self._done = done
        if monotonic() - self._last >= self.period:
            self._last = monotonic()
            self.draw(done())

    def close(self) -> None:
        """Show the final number of steps."""
        if self._done is not None:
            self.draw(self._done())

    def steps_done(self, done: int) -> str:
        """Return text for the number of steps that are done."""
        return f"{done:,}{'' if self.total is None else f' of {self.total:,}'} {self.unit}"

    def draw(self, done: int) -> None:
        """Write how many steps are done."""
        _write(f"{self.title}: {self.steps_done(done)}, {monotonic() - self.begin:.0f} s")


class Bar(Lines):
    """Progress as a bar, drawn by rich."""

    period = 0.1

    def __init__(self, title: str, unit: str, total: int | None, console: Any) -> None:
        from rich import progress as rich

        super().__init__(title, unit, total)
        words = rich.TextColumn("{task.description}"), rich.TextColumn("{task.fields[counted]}")
        self._bar = rich.Progress(
            words[0], rich.BarColumn(), words[1], rich.TimeElapsedColumn(), console=console
        )
        self._task = self._bar.add_task(title, total=total, counted="")
        self._bar.start()

    def note(self, text: str) -> None:
        """Show the current work."""
        self._bar.update(self._task, description=f"{self.title}: {text}")

    def close(self) -> None:
        """Draw the bar for the last time."""
        super().close()
        self._bar.stop()

    def draw(self, done: int) -> None:
        """Draw how many steps are done."""
        counted = self.steps_done(done)
        self._bar.update(self._task, completed=done, total=self.total, counted=counted)


def shown(title: str, unit: str, total: int | None = None, *, wanted: bool) -> Progress:
    """Return the form of progress for this process; `unit` is the counted noun, in the plural."""
    if not wanted:
        return Progress()
    if sys.stderr.isatty():
        try:
            from rich.console import Console
        except ImportError:
            return Lines(title, unit, total)
        console = Console(stderr=True)
        if not console.is_dumb_terminal:
            return Bar(title, unit, total, console)
    return Lines(title, unit, total)


class Announcer:
    """Announces compiled classes, if that takes over a second or progress is shown."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._classes: list[type[Vertex]] = []
        self._what = self._announced = ""
        self._is_late = False
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()  # the timer's thread and the compiling thread both announce

    def expect(self, classes: Iterable[type[Vertex]]) -> None:
        """Set the vertex classes that will be compiled, in order."""
        self._classes = list(classes)

    def tell_class(self, cls: type[Vertex]) -> None:
        """Announce the compilation of a vertex class; a faster form is named by its method."""
        place = ""
        if cls in self._classes:
            place = f" {self._classes.index(cls) + 1:,} of {len(self._classes):,}:"
        method = cls.compute.__name__
        form = "" if method == "compute" else f".{method}"
        self.tell(f"vertex class{place} {cls.__name__}{form}")

    def tell(self, what: str) -> None:
        """Announce what is being compiled."""
        self._what = what
        if self._progress.is_shown:
            self._progress.note(f"compiling {what}")
        elif self._is_late:
            self._write()
        elif self._timer is None:
            self._timer = threading.Timer(PATIENCE, self._write)
            self._timer.daemon = True
            self._timer.start()

    def _write(self) -> None:
        with self._lock:
            self._is_late = True
            if self._announced != self._what:
                self._announced = self._what
                _write(f"compiling {self._what}")

    def __enter__(self) -> Self:
        self._token = _announcer.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _announcer.reset(self._token)
        self._classes.clear()  # a timer may keep this object alive a little longer
        if self._timer is not None:
            self._timer.cancel()


_announcer: ContextVar[Announcer | None] = ContextVar("announcer", default=None)


def announcer() -> Announcer | None:
    """Return the announcer of compilation while an engine is made; None at other times."""
    return _announcer.get()


def _write(text: str) -> None:
    shell = _kernel_shell()
    if shell is not None:
        _show_below_cell(shell, f"poplite: {text}")
        return
    sys.stderr.write(f"poplite: {text}\n")  # in one call: print() writes the line end separately
    sys.stderr.flush()


def _kernel_shell() -> Any | None:
    """Return the shell that runs the cells of a notebook; None outside notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


_shown_cell: str | None = None
"""The display of the cell that has a line below it."""


def _show_below_cell(shell: Any, text: str) -> None:
    """Show a line below the running cell, or update the existing one."""
    global _shown_cell
    cell = f"poplite-{os.getpid()}-{shell.execution_count}"
    is_there, _shown_cell = cell == _shown_cell, cell
    place = {"display_id": cell}
    shell.display_pub.publish({"text/plain": text}, transient=place, update=is_there)
