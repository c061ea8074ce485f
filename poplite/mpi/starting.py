"""MPI begins for all ranks at once: a rank that never comes, or has ended, is named.

    rank 0    pl.mpi.Device()  MPI_Init ................ rank 1 has ended: the job ends
    rank 1    raises before it

MPI_Init waits inside of the library for all ranks of the job.  It runs without the interpreter's
lock, and a thread looks meanwhile at the clock, and at the processes that `mpiexec` has started on
this machine.  Who waits here has an abstract socket of a name that the others know.  Only Linux has
these, and only MPICH's `mpiexec` is known: elsewhere the clock alone counts.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from poplite.errors import DeviceRuntimeError
from poplite.mpi.endings import SAID_S

CALL = "pl.mpi.Device()"

LOOK_S = 0.2
"""Seconds between two looks at the processes of other ranks."""


def started_mpi(timeout_s: float) -> ModuleType:
    """Return mpi4py's module `MPI`, of a library that is initialized; 0 s are as long as it takes.

    Raises:
        DeviceRuntimeError: where mpi4py or an MPI library is missing.
    """
    try:
        import mpi4py

        if "mpi4py.MPI" in sys.modules or not mpi4py.rc.initialize:
            from mpi4py import MPI

            return MPI
        mpi4py.rc.initialize = False
        if mpi4py.rc.finalize is None:
            mpi4py.rc.finalize = True
        try:
            from mpi4py import MPI
        finally:
            mpi4py.rc.initialize = True
    except (ImportError, RuntimeError) as error:
        raise DeviceRuntimeError(
            f"MPI cannot be used: {error}",
            found="pl.mpi needs mpi4py, and an MPI library",
            fix="pip install 'poplite[mpi]', which brings both",
        ) from error
    if not MPI.Is_initialized():
        levels = MPI.THREAD_SINGLE, MPI.THREAD_FUNNELED, MPI.THREAD_SERIALIZED, MPI.THREAD_MULTIPLE
        names = "single", "funneled", "serialized", "multiple"
        level = levels[names.index(mpi4py.rc.thread_level) if mpi4py.rc.threads else 0]
        with _watched(timeout_s):
            ctypes.CDLL(MPI.__file__).MPI_Init_thread(None, None, level, ctypes.byref(_INT()))
        if mpi4py.rc.errors == "exception":
            for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
                comm.Set_errhandler(MPI.ERRORS_RETURN)
    return MPI


_INT = ctypes.c_int


@contextmanager
def _watched(timeout_s: float) -> Iterator[None]:
    """End the job when a rank has ended in a `with` statement, or the time is over."""
    siblings, is_over = _Siblings(), threading.Event()

    def watch() -> None:
        begin, gone = time.monotonic(), list[str]()
        while not is_over.wait(LOOK_S):
            before, gone = gone, siblings.ended()
            if both := [name for name in gone if name in before]:
                _give_up(f"{siblings.own} waited for {_all(both)} in {CALL}, but it has ended")
            if timeout_s and time.monotonic() - begin > timeout_s:
                _give_up(
                    f"{siblings.own} waited {timeout_s:.0f} s for {_all(siblings.absent())} in "
                    f"{CALL}\n  all ranks of a job make their device\n"
                    f"  try: pl.mpi.Device(timeout=...) where a rank needs longer until then"
                )

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        siblings.close()


def _give_up(message: str) -> None:
    """End this process, on which `mpiexec` ends the others."""
    sys.stderr.write(f"poplite: {message}\n")
    sys.stderr.flush()
    time.sleep(SAID_S)
    os._exit(1)


def _all(ranks: list[str]) -> str:
    return ", ".join(ranks) or "all other ranks"


class _Siblings:
    """The processes of other ranks, as far as this machine shows them.

    Attributes:
        own: this rank, as messages name it.
    """

    def __init__(self) -> None:
        self._rank = os.environ.get("PMI_RANK", "")
        self.own = f"rank {self._rank}" if self._rank else "a rank"
        self._size = int(os.environ.get("PMI_SIZE", "1"))
        is_one_machine = os.environ.get("MPI_LOCALNRANKS") == str(self._size)
        self._parent = _mpiexec_of(os.getpid()) if is_one_machine else ""
        self._socket: socket.socket | None = None
        if self._parent:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            with suppress(OSError):  # of a rank that has left the name to a child
                self._socket.bind(self._name(self._rank))

    def close(self) -> None:
        """Give the name back."""
        if self._socket is not None:
            self._socket.close()

    def _name(self, rank: str) -> str:
        return f"\0poplite.mpi.{self._parent}.{rank}"

    def ended(self) -> list[str]:
        """Return the ranks that have no process any more."""
        if not self._parent:
            return []
        running = set()
        with suppress(OSError):
            parent = Path("/proc", self._parent, "task", self._parent, "children")
            for process in parent.read_text().split():
                with suppress(OSError):  # it has just ended
                    lines = Path("/proc", process, "environ").read_bytes().split(b"\0")
                    running |= {line[9:].decode() for line in lines if line[:9] == b"PMI_RANK="}
        if self._rank not in running:  # these are not the processes of this job
            return []
        return [f"rank {rank}" for rank in range(self._size) if str(rank) not in running]

    def absent(self) -> list[str]:
        """Return the ranks that are not waiting here."""
        if not self._parent:
            return []
        found = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
            for rank in range(self._size):
                try:
                    asking.connect(self._name(str(rank)))
                except OSError:
                    found.append(f"rank {rank}")
        return found


def _mpiexec_of(process: int) -> str:
    """Return the process of `mpiexec` that has started this one; empty where that is not known."""
    with suppress(OSError, IndexError):
        while process > 1:
            name, _, facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")
            if "hydra" in name:
                return str(process)
            process = int(facts.split()[1])
    return ""
