"""Ending a run from outside: what `engine.stop()` sets, and the run looks at.

Each run has a `Running` of its own, so a stop that comes too late ends no later run.
"""

from __future__ import annotations

from poplite.errors import ControlProgramError


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
