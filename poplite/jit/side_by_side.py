"""Parallel compilation of native code in helper processes.

Numba compiles one function at a time in a process, and LLVM runs under one lock. The work after
typing and lowering needs only data (`poplite.jit.build`), so other processes do it in parallel:

    this process      lower A   lower B   lower C   optimize C   load A, B, C
    helper process              optimize A    optimize B

A helper runs `poplite.jit.side_by_side`; it imports none of the user's modules.  If no helper can
be started, or if it ends early, this process does the work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

from poplite.jit.build import Job, processors

LEAST_WAITING = 3
"""Number of waiting jobs for which a helper is started; starting one for fewer (0.2 s) does not
pay.
"""

MOST_HELPERS = 7


class _Made:
    """A job in progress, here or in a helper."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.content: bytes | None = None
        self.done = threading.Event()


class SideBySide:
    """Compiles native code in this process and in helpers, which are started on demand."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Made | None] = SimpleQueue()
        self._most_helpers = min(processors() - 1, MOST_HELPERS) if _is_python() else 0
        self._helpers = 0

    def add(self, job: Job) -> Callable[[], bytes]:
        """Submit a job; return a function that waits for the content of its cache file."""
        made = _Made(job)
        self._waiting.put(made)
        if self._helpers < self._most_helpers and self._waiting.qsize() >= LEAST_WAITING:
            self._start()
        return lambda: self._content(made)

    def end(self) -> None:
        """Make helpers end after their current jobs."""
        with suppress(Empty):  # after an error, jobs remain
            while True:
                self._waiting.get_nowait()
        for _ in range(self._helpers):
            self._waiting.put(None)

    def _start(self) -> None:
        try:
            threading.Thread(target=_serve, args=[self._waiting], daemon=True).start()
        except RuntimeError:  # no more threads: this thread does all jobs
            self._most_helpers = 0
        else:
            self._helpers += 1

    def _content(self, made: _Made) -> bytes:
        while not made.done.is_set():
            try:
                other = self._waiting.get_nowait()
            except Empty:  # a helper runs the job
                made.done.wait()
                break
            assert other is not None, "only `end` adds None"
            try:
                # An error is raised when the caller needs that job, which is then run again.
                with suppress(Exception):
                    other.content = other.job.content()
            finally:
                other.done.set()
        return made.job.content() if made.content is None else made.content


def _serve(waiting: SimpleQueue[_Made | None]) -> None:
    """Pass jobs to a helper process until there are no more, or until it ends."""
    try:
        helper = Helper()
    except OSError:  # no process can be started: the jobs remain in the queue
        return
    with helper:
        while helper.is_alive() and (made := waiting.get()) is not None:
            try:
                made.content = helper.content(made.job)
            finally:
                made.done.set()  # otherwise waiting threads would never continue


_PLACE = str(Path(__file__).parents[2])

_MAIN = """
import sys
sys.path.append(sys.argv[2])
from poplite.jit.side_by_side import main
main()
"""


class Helper:
    """A process that compiles native code; it answers through a separate pipe.

    Output printed at interpreter start-up is discarded. Raises `OSError` if no process can be
    started.
    """

    def __init__(self) -> None:
        answers, pipe = os.pipe()
        self._answers = open(answers, "rb")  # noqa: SIM115  (closed with this object)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(pipe), _PLACE],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[pipe],
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
        except OSError:
            self._answers.close()
            raise
        finally:
            os.close(pipe)

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def content(self, job: Job) -> bytes | None:
        """Return the content of a job's cache file; None if the helper cannot compile it."""
        assert self._process.stdin is not None, "it is a pipe"
        request = json.dumps([job.name, job.maker, job.arguments])
        try:
            self._process.stdin.write(request.encode() + b"\n")
            self._process.stdin.flush()
            size = int(self._answers.readline() or -1)
            content = self._answers.read(max(0, size))
        except (OSError, ValueError):  # the process has ended, or its answer is not valid
            return None
        return content if len(content) == size else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._answers.close()
        with suppress(OSError), self._process:  # if it has ended, its pipe is closed
            pass


def _is_python() -> bool:
    """Return whether the executable is a Python, not a program that embeds one."""
    is_frozen = getattr(sys, "frozen", False)
    return not is_frozen and Path(sys.executable or "").name.startswith(("python", "pypy"))


# -- a helper --------------------------------------------------------------------------------------


def main() -> None:
    """Run jobs until standard input ends.

    The arguments of the process are the file descriptor of the pipe, and the path of poplite, since
    a different version of poplite would make different code.
    """
    pipe, place = sys.argv[1:]
    if str(Path(__file__).parents[2]) != place:
        return
    with open(int(pipe), "wb") as answers:
        for line in sys.stdin.buffer:
            name, maker, arguments = json.loads(line)
            try:
                content = Job(name, maker, tuple(arguments)).content()
            except Exception:  # the parent process runs the job again, and reports the fault
                answers.write(b"-1\n")
            else:
                answers.write(b"%d\n%b" % (len(content), content))
            answers.flush()
