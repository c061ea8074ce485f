"""Runs that are stopped from outside end behind the same step on all ranks.

    rank 0    step 1  2  3  4 | Ctrl-C      told: 4     limit 6     5  6 | stopped
    rank 1    step 1  2  3  4  5  6 |       told: 6     limit 6          | stopped

A rank that wants to stop says how many rows it has begun.  Each of the others, wherever Python is
entered next, says the same of itself, and all go on until the greatest of these numbers, to the
next step that has not begun.  Control flow is the same everywhere, so that is one place.  A rank
that leaves alone would let its neighbours wait for ever.  Ranks that exchange nothing may be far
apart: one that is on its way says so again, and those at the limit wait for it.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from poplite.mpi.ranks import Ranks, Word
from poplite.simulator.stopping import Running, Stopped

INTERRUPTED, STOPPED = "interrupted", "stopped"

AGAIN_S = 0.5
"""Seconds after which a rank says again that it is on its way to the limit."""

SAME_S = 1.0
"""Seconds in which one Ctrl-C reaches all ranks."""


class SameInterrupt:
    """Takes SIGINT behind a run that Ctrl-C on another rank has ended: it may be the same one."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SAME_S

    def takes_it(self) -> bool:
        """Tell whether a SIGINT is the same, of which each rank gets one."""
        is_same, self._until = time.monotonic() < self._until, 0.0
        return is_same

    def __call__(self, number: int, frame: object) -> None:
        """Do nothing if it is the same, else what Python does."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not self.takes_it():
            raise KeyboardInterrupt


class Stops:
    """The wishes of ranks to stop the run that is in progress.

    Attributes:
        limit: rows behind which the run ends; None where nobody wants that.
        is_interrupted: whether Ctrl-C is to end it, on whatever rank.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.limit: int | None = None
        self._reset("")

    def _reset(self, call: str) -> None:
        self._call = call
        self._running = Running()
        self.is_interrupted = self._is_pressed = self._is_told = False
        self.limit = None
        self.ticks: Callable[[], int] = lambda: 0

    @contextmanager
    def of_run(self, call: str) -> Iterator[None]:
        """Take Ctrl-C as a wish in a `with` statement, the second one as Python does.

        One Ctrl-C reaches all ranks, some of them later than others and behind the run.
        """
        self._reset(call)
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        before = signal.getsignal(signal.SIGINT)
        same = before if isinstance(before, SameInterrupt) else None
        if same is None and before is not signal.default_int_handler:
            yield
            return

        def interrupt(number: int, frame: object) -> None:
            if same is not None and same.takes_it():
                return
            if self._is_pressed:
                raise KeyboardInterrupt
            self._is_pressed = self.is_interrupted = True

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            is_open = self.is_interrupted and not self._is_pressed
            signal.signal(signal.SIGINT, SameInterrupt() if is_open else before)

    def watch(self, running: Running) -> None:
        """Take `engine.stop()` as a wish, which sets this."""
        self._running = running

    def look(self) -> None:
        """Tell others of a wish, and take in theirs; wait until the limit is known."""
        if self._is_told:
            self._say_again()
            return
        self._ranks.look()
        if not (self.is_interrupted or self._running.is_stopped or self._ranks.stops):
            return
        why = INTERRUPTED if self.is_interrupted else STOPPED
        own = self.ticks()
        self._is_told, self._told_at = True, time.monotonic()
        self._word = Word(self._call, (own, why), is_last=False, is_stop=True)
        self._ranks.tell(self._word)
        others = self._ranks.others

        def unknown() -> list[int]:
            self._ranks.look()
            known = self._ranks.stops
            return [r for r in others if r not in known and not self._ranks.has_ended(r)]

        self._ranks.wait(lambda: not unknown(), self._call, unknown)
        said = self._ranks.stops
        self.is_interrupted |= any(word.value[1] == INTERRUPTED for word in said.values())
        # Who has ended the run cannot stop it: then all end it.
        if len(said) == len(others):
            self.limit = max([own, *(word.value[0] for word in said.values())])

    def _say_again(self) -> None:
        """Let others wait longer, if this rank is still on its way."""
        now = time.monotonic()
        if self.limit is not None and now > self._told_at + AGAIN_S and not self.is_reached:
            self._told_at = now
            self._ranks.tell(self._word)

    @property
    def is_reached(self) -> bool:
        """Whether the run ends before the next step."""
        return self.limit is not None and self.ticks() >= self.limit

    def end(self) -> None:
        """End the run: raise `Stopped`, or `KeyboardInterrupt` on all ranks alike."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        raise Stopped
