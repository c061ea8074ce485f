"""Ends of ranks, of which the other ranks hear at once.

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


# -- where each rank was last ----------------------------------------------------------------------
# Where each rank of `poplite run` was last, for when one is lost.
#
# A rank that is killed says nothing more, and `mpiexec` names its process alone.  So each rank
# writes to a file of its own, wherever Python is entered in a run, which process it is and where:
#
#     0     8122 engine.run('main') at step 2 of 7
#     1     8123 engine.run('main') at step 3 of 7
#
# As soon as one is killed `mpiexec` kills the others, and may name any of them.  So each rank has a
# pipe open, and it is watched which is closed first, where Linux tells that in order.  A process
# closes files at the same time as the socket by which `mpiexec` knows; that it ended is seen only
# when its threads have, which may be after the end of those that `mpiexec` kills.

FOLDER = "POPLITE_LAST_STEPS"
"""The variable that names the folder of these files; without it nothing is written."""

LENGTH = 256
"""Bytes of a file, so that it is always whole."""


ENDED = "at its end"
"""Where a rank is that has run all."""


class LastStep:
    """The file of one rank; it exists where somebody asks for it."""

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
        """Whether anybody reads it."""
        return self._file >= 0

    def note(self, where: str) -> None:
        """Write where the rank is."""
        text = f"{os.getpid()} {where}".encode()[:LENGTH]
        os.pwrite(self._file, text.ljust(LENGTH), 0)


def _pipe(folder: Path, rank: int) -> Path:
    """Return the pipe that a rank has open as long as it runs."""
    return folder / f"{rank}.pipe"


@cache
def last_step(rank: int) -> LastStep:
    """Return the file of this rank, one for all engines."""
    return LastStep(rank)


class FirstEnd:
    """Watches the pipes of ranks, and notes which of them is closed first.

    `count` is how many there will be, and `output` what `mpiexec` prints to.

    Attributes:
        rank: the number of that rank, as text; empty while all run, and where nobody can tell.
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
            self._epoll.register(number, 0)  # for the end of its writer

    def wait(self) -> None:
        """Wait until there is something to read, or nothing more to come."""
        is_ready = self._epoll is None
        while self._epoll is not None and not is_ready:
            for number, _ in self._epoll.poll():  # in their order
                if number == self._output:
                    is_ready = True
                else:
                    rank = self._ranks.pop(number)
                    self.rank = self.rank or rank
                    self._epoll.unregister(number)
                    os.close(number)

    def close(self) -> None:
        """Watch no more."""
        if self._epoll is not None:
            self._epoll.close()
        for number in self._ranks:
            os.close(number)


def left(folder: Path, count: int, first: str = "") -> str:
    """Return which rank ended before it had run all; empty where none did.

    `mpiexec` ends the others then, and says nothing where the rank ended with status 0.  `first` is
    the rank that ended first, where that is known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "0").write_text(f"8122 {ENDED}".ljust(LENGTH))
    ...     left(Path(folder), 2)
    'rank 1 ended as if all were well, last seen before its pl.mpi.Device()'
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
    return f"rank {rank} ended as if all were well, last seen " + (
        f"in {seen}" if seen.startswith("engine.") else seen
    )


def lost(said: str, folder: Path, first: str = "") -> str:
    """Return which rank was lost and where it was, from what `mpiexec` said; empty for none.

    `first` is the rank that ended first, where that is known; else it is the one that is named.

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
