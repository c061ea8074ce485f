"""Where each rank of `poplite run` was last, for when one is lost.

A rank that is killed says nothing more, and `mpiexec` names its process alone.  So each rank
writes to a file of its own, wherever Python is entered in a run, which process it is and where:

    0     8122 engine.run('main') at step 2 of 7
    1     8123 engine.run('main') at step 3 of 7

As soon as one is killed `mpiexec` kills the others, and may name any of them.  So it is watched
which of the processes ends first, where Linux tells that in order.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
from functools import cache
from pathlib import Path

FOLDER = "POPLITE_LAST_STEPS"
"""The variable that names the folder of these files; without it nothing is written."""

LOOK_S = 0.1
"""Pause between looks for ranks that have begun."""

LENGTH = 256
"""Bytes of a file, so that it is always whole."""


class LastStep:
    """The file of one rank; it exists where somebody wants it."""

    def __init__(self, rank: int) -> None:
        folder, self._file = os.environ.get(FOLDER), -1
        if folder:
            flags = os.O_WRONLY | os.O_CREAT
            self._file = os.open(Path(folder, str(rank)), flags)
            self.note("before its first run")

    @property
    def is_read(self) -> bool:
        """Whether anybody reads it."""
        return self._file >= 0

    def note(self, where: str) -> None:
        """Write where the rank is."""
        text = f"{os.getpid()} {where}".encode()[:LENGTH]
        os.pwrite(self._file, text.ljust(LENGTH), 0)


@cache
def last_step(rank: int) -> LastStep:
    """Return the file of this rank, one for all engines."""
    return LastStep(rank)


class FirstEnd:
    """Watches the processes of ranks, and notes which of them ends first.

    `count` is how many there will be, and `output` what `mpiexec` prints to.

    Attributes:
        rank: the number of that rank, as text; empty while all run, and where nobody can tell.
    """

    def __init__(self, folder: Path, count: int, output: int) -> None:
        self._folder, self._count, self._output = folder, count, output
        self._known: set[str] = set()
        self._ranks: dict[int, str] = {}
        self.rank = ""
        self._epoll = select.epoll() if hasattr(os, "pidfd_open") else None
        if self._epoll is not None:
            self._epoll.register(output, select.EPOLLIN)

    def wait(self) -> None:
        """Wait until there is something to read, or nothing more to come."""
        if self._epoll is None:
            return
        is_ready = False
        while not is_ready:
            self._find(self._epoll)
            are_all = len(self._known) == self._count
            for number, _ in self._epoll.poll(None if are_all else LOOK_S):  # in their order
                if number == self._output:
                    is_ready = True
                else:
                    rank = self._ranks.pop(number)
                    self.rank = self.rank or rank
                    self._epoll.unregister(number)
                    os.close(number)

    def _find(self, epoll: select.epoll) -> None:
        """Watch ranks that have begun meanwhile."""
        for file in self._folder.iterdir():
            process = file.read_text(errors="replace").partition(" ")[0]
            if process and file.name not in self._known:
                self._known.add(file.name)
                with contextlib.suppress(OSError):  # it has ended, or an old kernel does not tell
                    number = os.pidfd_open(int(process))
                    self._ranks[number] = file.name
                    epoll.register(number, select.EPOLLIN)

    def close(self) -> None:
        """Watch no more."""
        if self._epoll is not None:
            self._epoll.close()
        for number in self._ranks:
            os.close(number)


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
    for file in sorted(folder.iterdir()) if found else ():
        process, _, where = file.read_text(errors="replace").partition(" ")
        if found and (file.name == first if first else process == found[1]):
            seen = where.strip()
            return f"rank {file.name} was lost, last seen " + (
                f"in {seen}" if seen.startswith("engine.") else seen
            )
    return ""
