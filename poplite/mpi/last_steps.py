"""Where each rank of `poplite run` was last, for when one is lost.

A rank that is killed says nothing more, and `mpiexec` names its process alone.  So each rank
writes to a file of its own, wherever Python is entered in a run, which process it is and where:

    0     8122 engine.run('main') at step 2 of 7
    1     8123 engine.run('main') at step 3 of 7
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

FOLDER = "POPLITE_LAST_STEPS"
"""The variable that names the folder of these files; without it nothing is written."""

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


def lost(said: str, folder: Path) -> str:
    """Return which rank was lost and where it was, from what `mpiexec` said; empty for none.

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
        if found and process == found[1]:
            seen = where.strip()
            return f"rank {file.name} was lost, last seen " + (
                f"in {seen}" if seen.startswith("engine.") else seen
            )
    return ""
