"""Ranks that end: the others hear of it, and so does who started the job.

    an exception that nothing catches    its traceback, and the end of the job
    the end of the script, sys.exit      a word to the others: who waits for this rank ends the job
    os._exit, os.execv and its like      a message, and the end of the job

A script that ends on one rank would otherwise leave the others waiting for ever, or, by `os._exit`,
end the job as if all were well.  A rank that learns of an error from another one gives that rank
time to report it.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from poplite.source import here
from poplite.text import clipped

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

PATIENCE_S = 2.0
"""Seconds in which the rank that knows why may end the job."""

SAID_S = 0.1
"""Seconds in which `mpiexec` passes on what a rank has printed before it ends the job."""

LEAVES = "_exit", "execv", "execve"
"""Functions of `os`, which others of it call, that end a process at once, as far as MPI knows."""

INTERRUPTED = 130
"""Exit code of a job that Ctrl-C ended."""


def end_job(message: str, status: int = 1) -> None:
    """End all ranks, with a message."""
    from mpi4py import MPI

    sys.stderr.write(f"poplite: {message}\n")  # at once, as other ranks write too
    sys.stderr.flush()
    _abort(MPI.COMM_WORLD, status)


def _abort(comm: Comm, status: int) -> None:
    time.sleep(SAID_S)
    comm.Abort(status)


@cache
def watch_own_end(say_end: Callable[[], None]) -> None:
    """Let others hear of the end of this rank; once for a process.  `say_end` tells them."""
    from mpi4py import MPI

    comm, before, process = MPI.COMM_WORLD, sys.excepthook, os.getpid()

    def is_running() -> bool:
        return os.getpid() == process and not MPI.Is_finalized()

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not is_running():
            before(kind, error, trace)
            return
        if getattr(error, "is_told", False):
            time.sleep(PATIENCE_S)
        print(f"poplite: rank {comm.rank} of {comm.size} raised:", file=sys.stderr)
        before(kind, error, trace)
        sys.stderr.flush()
        _abort(comm, INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)

    def say_how(call: str, status: int) -> None:
        if is_running():
            how = f"{call}  ({here()})"
            end_job(f"rank {comm.rank} of {comm.size} ended by {how}", status % 256 or 1)

    def end() -> None:
        if is_running():
            say_end()

    sys.excepthook = hook
    for name in LEAVES:
        _leave_loudly(name, say_how)
    atexit.register(end)


def _leave_loudly(name: str, say_how: Callable[[str, int], None]) -> None:
    """Let a function that ends a process, or makes another program of it, say so first."""
    leave: Any = getattr(os, name)

    @wraps(leave)
    def loudly(*args: Any, **kwargs: Any) -> NoReturn:
        first = args[0] if args else next(iter(kwargs.values()), "")
        say_how(f"os.{name}({clipped(first)})", first if isinstance(first, int) else 1)
        leave(*args, **kwargs)
        raise AssertionError("a process that has ended continues")

    for module in [*sys.modules.values()]:  # a script may have it from `from os import _exit`
        if getattr(module, "__dict__", {}).get(name) is leave:
            setattr(module, name, loudly)
