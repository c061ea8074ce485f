"""A vertex that takes long, and what interrupts it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import poplite as pl


class Long(pl.Vertex):
    """Takes a while, for as long as a number says."""

    n: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        number = 1
        for _ in range(self.n):
            number = number * 5 % 10007 if number % 7 != 3 else number + 1
        self.y = number


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Interrupt what runs in a `with` statement, as Ctrl-C does.

    Args:
        seconds: after which.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
