"""Ending a run from outside: what `engine.stop()` sets, and the run looks at.

Each run has a `Running` of its own, so a stop that comes too late ends no later run.
"""

from __future__ import annotations


class Stopped(Exception):
    """A run was told to end; it never reaches the user."""


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
        """Let the run end; from any thread, as often as one likes."""
        self._is_stopped = True

    def watch(self) -> None:
        """Go on, unless the run is to end.

        Raises:
            Stopped: when it is.
        """
        if self._is_stopped:
            raise Stopped
