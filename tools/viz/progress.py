"""Progress of a command on standard error: its current work, once it takes longer than a second.

    poplite-viz: reading run.json
    poplite-viz: running program 'main' of heat.py:build

A line is written for each work that is current after the first second, so that a quick command
writes none.
"""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from typing import Self

PATIENCE = 1.0
"""Seconds after which the current work is written."""


class CurrentWork:
    """The current work of a command.

    >>> with CurrentWork("poplite-viz", is_shown=False):
    ...     doing("reading run.json")
    """

    def __init__(self, command: str, *, is_shown: bool) -> None:
        self._command, self._is_shown = command, is_shown
        self._what = self._written = ""
        self._is_late = False
        self._lock = threading.Lock()  # the timer's thread and the command's both write
        self._timer = threading.Timer(PATIENCE, self._write)
        self._timer.daemon = True

    def note(self, what: str) -> None:
        """Set the current work, and write it if the command already takes long."""
        self._what = what
        if self._is_late:
            self._write()

    def _write(self) -> None:
        with self._lock:
            self._is_late = True
            if self._written != self._what and sys.stderr is not None:
                self._written = self._what
                sys.stderr.write(f"{self._command}: {self._what}\n")
                sys.stderr.flush()

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        if self._is_shown:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
        self._timer.cancel()


_current: ContextVar[CurrentWork | None] = ContextVar("progress", default=None)


def doing(what: str) -> None:
    """Set the current work of the command, if one runs."""
    progress = _current.get()
    if progress is not None:
        progress.note(what)
