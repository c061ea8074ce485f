"""Native code made on all processors at once.

Numba compiles one function at a time in a process, and LLVM runs under one lock.  What comes after
typing and lowering is plain data (`poplite.jit.job`), so other processes do it meanwhile:

    this process      lower A   lower B   lower C   optimize C   load A, B, C
    helper process              optimize A    optimize B

A helper is `python -m poplite.jit.helper`; it imports nothing of the user's.  Where none can be
started, or where it ends early, this process does the work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from poplite.jit.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_WAITING = 3
"""Jobs that wait when a helper is started; what fewer would gain, it takes to start (0.2 s)."""

MOST_HELPERS = 7


class _Made:
    """A job that is being done: here, or by a helper."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.content: bytes | None = None
        self.done = threading.Event()


class SideBySide:
    """Makes native code in this process and in helpers, which are started when they are needed."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Made | None] = SimpleQueue()
        self._most_helpers = min(_processors() - 1, MOST_HELPERS) if _is_python() else 0
        self._helpers = 0

    def add(self, job: Job) -> Callable[[], bytes]:
        """Have a job done.

        Args:
            job: the job.

        Returns:
            Returns the content of its cache file, or raises what went wrong.
        """
        made = _Made(job)
        self._waiting.put(made)
        if self._helpers < self._most_helpers and self._waiting.qsize() >= LEAST_WAITING:
            self._helpers += 1
            _Helper(self._waiting).start()
        return lambda: self._content(made)

    def _content(self, made: _Made) -> bytes:
        while not made.done.is_set():
            try:
                other = self._waiting.get_nowait()
            except Empty:  # a helper does it
                made.done.wait()
                break
            assert other is not None, "only the end adds that"
            try:
                # What goes wrong has a name when this job is asked for, and done again.
                with suppress(Exception):
                    other.content = other.job.content()
            finally:
                other.done.set()
        return made.job.content() if made.content is None else made.content

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(Empty):  # after a fault there are more
            while True:
                self._waiting.get_nowait()
        for _ in range(self._helpers):
            self._waiting.put(None)


class _Helper(threading.Thread):
    """A process, and the thread that gives it jobs until there are no more."""

    def __init__(self, waiting: SimpleQueue[_Made | None]) -> None:
        super().__init__(daemon=True, name="poplite helper")
        self._waiting = waiting

    def run(self) -> None:
        """Hand over jobs until there are no more, or until the process ends."""
        try:
            process = _started()
        except OSError:  # no process can be started here: the jobs stay where they are
            return
        with suppress(OSError), process:  # one that has ended has closed its pipes
            while process.poll() is None and (made := self._waiting.get()) is not None:
                try:
                    made.content = _answer(process, made.job)
                finally:
                    made.done.set()  # nobody waits for ever


def _answer(process: subprocess.Popen[bytes], job: Job) -> bytes | None:
    """Return what a helper makes of a job; None where it cannot."""
    assert process.stdin is not None
    assert process.stdout is not None
    request = json.dumps([job.name, job.maker, job.arguments])
    try:
        process.stdin.write(request.encode() + b"\n")
        process.stdin.flush()
        size = int(process.stdout.readline() or -1)
        content = process.stdout.read(max(0, size))
        return content if len(content) == size else None
    except OSError:  # it has ended
        return None


def _started() -> subprocess.Popen[bytes]:
    place = str(Path(__file__).parents[2])
    paths = [place, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "poplite.jit.helper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"},
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_python() -> bool:
    """Tell whether the executable is an interpreter; one that embeds it would start as a whole."""
    is_frozen = getattr(sys, "frozen", False)
    return not is_frozen and Path(sys.executable or "").name.startswith(("python", "pypy"))
