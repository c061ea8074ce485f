"""Exceptions that nothing catches end the job on all ranks, with one message.

A script that raises on one rank would else leave the others waiting for ever.  A rank that was
only told gives the one that knows more time to say it.
"""

from __future__ import annotations

import sys
import time
from functools import cache
from types import TracebackType

PATIENCE_S = 2.0
"""Seconds in which the rank that knows why may end the job."""

INTERRUPTED = 130
"""Exit code of a job that Ctrl-C ended."""


@cache
def end_job_on_uncaught() -> None:
    """Let exceptions that nothing catches end the job; once for a process."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        from mpi4py import MPI

        if MPI.Is_finalized():
            before(kind, error, trace)
            return
        comm = MPI.COMM_WORLD
        if getattr(error, "is_told", False):
            time.sleep(PATIENCE_S)
        print(f"poplite: rank {comm.rank} of {comm.size} raised:", file=sys.stderr)
        before(kind, error, trace)
        sys.stderr.flush()
        comm.Abort(INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = hook
