"""Runs that are stopped from outside end behind the same step on all ranks.

    rank 0    step 1  2  3  4 | Ctrl-C      told: 4     limit 6     5  6 | stopped
    rank 1    step 1  2  3  4  5  6 |       told: 6     limit 6          | stopped

A rank that wants to stop says how many rows it has begun.  Each of the others, wherever Python is
entered next, says the same of itself, and all go on until the greatest of these numbers, to the
next step that has not begun.  Control flow is the same everywhere, so that is one place.  A rank
that leaves alone would let its neighbours wait for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from poplite.mpi.ranks import Ranks, Word
from poplite.simulator.stopping import Running, Stopped

INTERRUPTED, STOPPED = "interrupted", "stopped"


class Stops:
    """The wishes of ranks to stop the run that is in progress.

    Attributes:
        limit: rows behind which the run ends; None where nobody wants that.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.limit: int | None = None
        self._reset("")

    def _reset(self, call: str) -> None:
        self._call = call
        self._running = Running()
        self._is_interrupted = self._is_told = False
        self.limit = None
        self._is_late = False
        self.ticks: Callable[[], int] = lambda: 0

    @contextmanager
    def of_run(self, call: str) -> Iterator[None]:
        """Take Ctrl-C as a wish in a `with` statement, the second one as Python does."""
        self._reset(call)
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: object) -> None:
            if self._is_interrupted:
                raise KeyboardInterrupt
            self._is_interrupted = True

        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def watch(self, running: Running) -> None:
        """Take `engine.stop()` as a wish, which sets this."""
        self._running = running

    def look(self) -> None:
        """Tell others of a wish, and take in theirs; wait until the limit is known."""
        if self._is_told or self._is_late:
            return
        self._ranks.look()
        if not (self._is_interrupted or self._running.is_stopped or self._ranks.stops):
            return
        why = INTERRUPTED if self._is_interrupted else STOPPED
        own = self.ticks()
        self._is_told = True
        self._ranks.tell(Word(self._call, (own, why), is_last=False, is_stop=True))
        others = [rank for rank in range(self._ranks.count) if rank != self._ranks.number]

        def is_known() -> bool:
            self._ranks.look()
            return all(rank in self._ranks.stops or self._ranks.has_ended(rank) for rank in others)

        self._ranks.wait(is_known, self._call, lambda: "all ranks to stop")
        said = self._ranks.stops
        self._is_interrupted |= any(word.value[1] == INTERRUPTED for word in said.values())
        # Who has ended the run cannot stop it: then all end it.
        self._is_late = len(said) < len(others)
        if not self._is_late:
            self.limit = max([own, *(word.value[0] for word in said.values())])

    @property
    def is_reached(self) -> bool:
        """Whether the run ends before the next step."""
        return self.limit is not None and self.ticks() >= self.limit

    def end(self) -> None:
        """End the run: raise `Stopped`, or `KeyboardInterrupt` on all ranks alike."""
        if self._is_interrupted:
            raise KeyboardInterrupt
        raise Stopped

    def check_interrupt(self) -> None:
        """Raise `KeyboardInterrupt` where it came too late to stop the run."""
        if self._is_late and self._is_interrupted:
            raise KeyboardInterrupt
