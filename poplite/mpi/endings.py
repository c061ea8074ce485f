"""The end of a rank, which the other ranks learn about at once.

    an uncaught exception                prints its traceback, and ends the job
    the end of the script, sys.exit      tell the others: a rank that waits for this one ends the
                                         job
    os._exit, os.execv and the like      print a message, and end the job

Otherwise, a script that ends on one rank would leave the others waiting forever, or, with
`os._exit`, would end the job as if it had succeeded. A rank that learns of an error on another rank
gives that rank time to report it.
"""

from __future__ import annotations

import atexit
import os
import re
import select
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from poplite.source import here
from poplite.text import clipped

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


PATIENCE_S = 2.0
"""Seconds within which the rank that knows the reason must end the job."""

SAID_S = 0.1
"""Seconds within which `mpiexec` forwards the output of a rank before it ends the job."""

LEAVES = "_exit", "execv", "execve"
"""Functions of `os`, called by its other functions, that end a process at once for MPI."""

INTERRUPTED = 130
"""Exit code of a job that was ended by Ctrl-C."""


def end_job(message: str, status: int = 1) -> None:
    """Print a message, and end all ranks."""
    from mpi4py import MPI

    sys.stderr.write(f"poplite: {message}\n")  # in one call, since other ranks also write
    sys.stderr.flush()
    _abort(MPI.COMM_WORLD, status)


def _abort(comm: Comm, status: int) -> None:
    time.sleep(SAID_S)
    comm.Abort(status)


@cache
def watch_own_end(say_end: Callable[[], None]) -> None:
    """Arrange, once per process, that `say_end` tells other ranks about the end of this one."""
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
    """Make a function that ends or replaces the process report this before it does so."""
    leave: Any = getattr(os, name)

    @wraps(leave)
    def loudly(*args: Any, **kwargs: Any) -> NoReturn:
        first = args[0] if args else next(iter(kwargs.values()), "")
        say_how(f"os.{name}({clipped(first)})", first if isinstance(first, int) else 1)
        leave(*args, **kwargs)
        raise AssertionError("a process that has ended continues")

    for module in [*sys.modules.values()]:  # a script may have used `from os import _exit`
        if getattr(module, "__dict__", {}).get(name) is leave:
            setattr(module, name, loudly)


# -- the last step of each rank --------------------------------------------------------------------
# The last step of each rank of `poplite run`, for the message if a rank is lost.
#
# A rank that is killed cannot report anything, and `mpiexec` names only its process. So each rank
# writes its process number and step to its own file whenever Python is entered during a run:
#
#     0     8122 engine.run('main') at step 2 of 7
#     1     8123 engine.run('main') at step 3 of 7
# As soon as one rank is killed, `mpiexec` kills the others, and may name any of them. So each rank
# keeps a pipe open, and on Linux, which reports closed pipes in order, a watcher notes the first.
# Pipes are used since a process closes its files at the same time as the socket by which `mpiexec`
# notices its end, whereas the end itself is visible only once all its threads have ended, possibly
# after the end of the processes that `mpiexec` kills.

FOLDER = "POPLITE_LAST_STEPS"
"""The environment variable that names the folder of these files; if unset, none are written."""

LENGTH = 256
"""Size of a file in bytes, fixed so that a file is always complete."""


ENDED = "at its end"
"""The step noted for a rank that has run everything."""


class LastStep:
    """The file of one rank, which exists only if it was requested."""

    def __init__(self, rank: int) -> None:
        folder, self._file = os.environ.get(FOLDER), -1
        if folder:
            flags = os.O_WRONLY | os.O_CREAT
            self._file = os.open(Path(folder, str(rank)), flags)
            if (pipe := _pipe(Path(folder), rank)).exists():
                os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # until the process ends
            self.note("before its first run")

    @property
    def is_read(self) -> bool:
        """Whether a process reads it."""
        return self._file >= 0

    def note(self, where: str) -> None:
        """Write the current step of the rank."""
        text = f"{os.getpid()} {where}".encode()[:LENGTH]
        os.pwrite(self._file, text.ljust(LENGTH), 0)


def _pipe(folder: Path, rank: int) -> Path:
    """Return the pipe that a rank keeps open while it runs."""
    return folder / f"{rank}.pipe"


@cache
def last_step(rank: int) -> LastStep:
    """Return the file of this rank, which all engines share."""
    return LastStep(rank)


class FirstEnd:
    """Watches the pipes of ranks, and notes which of them is closed first.

    `count` is the number of ranks, and `output` the pipe that `mpiexec` prints to.

    Attributes:
        rank: the number of the first rank that ended, as text; empty while all run, or if unknown.
    """

    def __init__(self, folder: Path, count: int, output: int) -> None:
        self._output, self._ranks = output, dict[int, str]()
        self.rank = ""
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is None:
            return
        self._epoll.register(output, select.EPOLLIN)
        for rank in range(count):
            os.mkfifo(pipe := _pipe(folder, rank))
            number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._ranks[number] = str(rank)
            self._epoll.register(number, 0)  # reports when its writer ends

    def wait(self) -> None:
        """Wait until there is output to read, or the output ends."""
        is_ready = self._epoll is None
        while self._epoll is not None and not is_ready:
            for number, _ in self._epoll.poll():  # in the order of their ends
                if number == self._output:
                    is_ready = True
                else:
                    rank = self._ranks.pop(number)
                    self.rank = self.rank or rank
                    self._epoll.unregister(number)
                    os.close(number)

    def close(self) -> None:
        """Stop watching."""
        if self._epoll is not None:
            self._epoll.close()
        for number in self._ranks:
            os.close(number)


def left(folder: Path, count: int, first: str = "") -> str:
    """Return text that names a rank that ended before it had run everything; empty if none did.

    `mpiexec` then ends the others, and reports nothing if the rank had exit status 0. `first` is
    the rank that ended first, if known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "0").write_text(f"8122 {ENDED}".ljust(LENGTH))
    ...     left(Path(folder), 2)
    'rank 1 ended early with exit status 0, last seen before its pl.mpi.Device()'
    """
    found = {}
    for number in range(count):
        file = folder / str(number)
        text = file.read_text(errors="replace") if file.exists() else ""
        found[str(number)] = text.partition(" ")[2].strip() or "before its pl.mpi.Device()"
    missing = [rank for rank, where in found.items() if where != ENDED]
    if not missing:
        return ""
    rank = first if first in missing else missing[0]
    seen = found[rank]
    return f"rank {rank} ended early with exit status 0, last seen " + (
        f"in {seen}" if seen.startswith("engine.") else seen
    )


def lost(said: str, folder: Path, first: str = "") -> str:
    """Return which rank was lost, with its last step, from the output of `mpiexec`, or "".

    `first` is the rank that ended first, if known; otherwise the lost rank is the one that
    `mpiexec` names.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "1")
    ...     count = file.write_text("8123 engine.run('main') at step 3 of 7   ")
    ...     lost("=   PID 8123 RUNNING AT host", Path(folder))
    "rank 1 was lost, last seen in engine.run('main') at step 3 of 7"
    """
    found = re.search(r"PID (\d+) RUNNING AT", said)
    for file in sorted(folder.glob("*[0-9]")) if found else ():
        process, _, where = file.read_text(errors="replace").partition(" ")
        if found and (file.name == first if first else process == found[1]):
            seen = where.strip()
            return f"rank {file.name} was lost, last seen " + (
                f"in {seen}" if seen.startswith("engine.") else seen
            )
    return ""
