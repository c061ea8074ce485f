"""The channel that all devices of one communicator share; initialization of MPI.

    the user's            used only to make the two others, and to find missing ranks on a timeout
    words                 messages about calls; the tag is the number of the device
    data                  data of programs; the tag is a number that no other device has

MPI allows about two thousand communicators, and a device may be freed on one rank earlier than on
another. `words` and `data` are therefore made once, with the first device of the user's
communicator, and exist as long as that communicator.

A rank that never arrives, or has ended, is reported::

    rank 0    pl.mpi.Device()  MPI_Init ................ rank 1 has ended: the job ends
    rank 1    raises before it
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from poplite.errors import DeviceRuntimeError
from poplite.mpi.endings import SAID_S, end_job

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request


CALL = "pl.mpi.Device()"


# -- initialization of MPI -------------------------------------------------------------------------
# MPI_Init waits inside the library for all ranks of the job. It runs without the interpreter lock;
# meanwhile a thread watches the clock, and the processes that `mpiexec` has started on this
# machine. A rank that waits here has an abstract socket with a name that the other ranks know. This
# needs Linux, for abstract sockets, and MPICH's `mpiexec`; elsewhere only the clock is watched.


LOOK_S = 0.2
"""Seconds between two checks of the processes of other ranks."""


def started_mpi(timeout_s: float) -> ModuleType:
    """Return mpi4py's module `MPI`, with the library initialized; 0 s means no time limit.

    Raises:
        DeviceRuntimeError: if mpi4py or an MPI library is missing.
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
            found="pl.mpi needs mpi4py and an MPI library",
            fix="run pip install 'poplite[mpi]', which installs both",
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
    """End the job if a rank ends or the time runs out during a `with` statement."""
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
                    f"{CALL}\n  all ranks of a job must make their device\n"
                    f"  try: pass pl.mpi.Device(timeout=...) if a rank needs longer"
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
    """End this process with a message, whereupon `mpiexec` ends the others."""
    sys.stderr.write(f"poplite: {message}\n")
    sys.stderr.flush()
    time.sleep(SAID_S)
    os._exit(1)


def _all(ranks: list[str]) -> str:
    return ", ".join(ranks) or "all other ranks"


class _Siblings:
    """The processes of other ranks that are visible on this machine.

    Attributes:
        own: the name of this rank in messages.
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
            with suppress(OSError):  # if the rank has passed its name to a child process
                self._socket.bind(self._name(self._rank))

    def close(self) -> None:
        """Release the name."""
        if self._socket is not None:
            self._socket.close()

    def _name(self, rank: str) -> str:
        return f"\0poplite.mpi.{self._parent}.{rank}"

    def ended(self) -> list[str]:
        """Return the ranks whose process has ended."""
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
        """Return the ranks that are not waiting in this call."""
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
    """Return the process of `mpiexec` that started this one; empty if unknown."""
    with suppress(OSError, IndexError):
        while process > 1:
            name, _, facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")
            if "hydra" in name:
                return str(process)
            process = int(facts.split()[1])
    return ""


# -- communicators ---------------------------------------------------------------------------------

PAUSE_S = 50e-6
"""Seconds between two polls."""

ANSWER_S = 1.0
"""Seconds within which a rank that waits at the same point answers a roll call."""

_END = 0
"""The tag of the message of a rank that has ended."""


class Channel:
    """The communicators that all devices of a user's communicator share.

    Attributes:
        words: the communicator for messages about calls.
        data: the communicator for data of programs.
        ended: when this rank learned that another one has ended, by rank.
        called_in: the run during which rank 0 executes a user's callback; empty if it does not.
    """

    def __init__(self, words: Comm, data: Comm) -> None:
        from mpi4py import MPI

        self.words, self.data = words, data
        self.data.Set_errhandler(MPI.ERRORS_ARE_FATAL)  # compiled code checks no error codes
        self.ended: dict[int, float] = {}
        self.called_in = ""
        self._most = _greatest_tag(words) // 2
        self._number = 0
        self._said: list[Request] = []
        weakref.finalize(self, _free, words, data).atexit = False
        _open.add(self)

    def new_number(self) -> int:
        """Return a number for tags, from 1; ranks that make the same calls get the same number."""
        self._number = self._number % (self._most - 1) + 1
        return self._number

    def say_end(self) -> None:
        """Tell the other ranks that this one makes no more calls."""
        self.look_for_ends()
        for rank in {*range(self.words.size)} - {self.words.rank, *self.ended}:
            self._said.append(self.words.isend(None, rank, _END))

    def look_for_ends(self) -> None:
        """Receive the messages of ranks that have ended."""
        from mpi4py import MPI

        status = MPI.Status()
        while (message := self.words.improbe(tag=_END, status=status)) is not None:
            message.recv()
            self.ended[status.Get_source()] = time.monotonic()


_open: weakref.WeakSet[Channel] = weakref.WeakSet()


def say_end() -> None:
    """Tell all other ranks that this one makes no more calls."""
    for channel in _open:
        channel.say_end()


def _free(*comms: Comm) -> None:
    """Free communicators; other ranks need not take part."""
    from mpi4py import MPI

    if not MPI.Is_finalized():
        for comm in comms:
            comm.Free()


def channel_of(comm: Comm, timeout_s: float) -> Channel:
    """Return the channel of a communicator; the first call for it is collective.

    The job ends if a rank does not arrive in time.
    """
    found = comm.Get_attr(_key())
    if not isinstance(found, Channel):
        words, data = (_copied(comm, timeout_s) for _ in range(2))
        found = Channel(words, data)
        comm.Set_attr(_key(), found)
    return found


@cache
def _key() -> int:
    from mpi4py import MPI

    return MPI.Comm.Create_keyval()


def _greatest_tag(comm: Comm) -> int:
    from mpi4py import MPI

    greatest = comm.Get_attr(MPI.TAG_UB)
    assert isinstance(greatest, int), "MPI has this value for each communicator"
    return greatest


def _copied(comm: Comm, timeout_s: float) -> Comm:
    """Return a copy of a communicator; the call is collective."""
    copied, request = comm.Idup()
    begin, roll = time.monotonic(), _RollCall(comm)
    while not request.Test():
        time.sleep(PAUSE_S)
        roll.answer()
        waited = time.monotonic() - begin
        if timeout_s and waited > timeout_s:
            absent = ", ".join(map(str, roll.absent()))
            end_job(
                f"rank {comm.rank} waited {waited:.0f} s for rank {absent} in {CALL}\n"
                "  all ranks of a communicator must make their device\n"
                "  try: pass pl.mpi.Device(timeout=...) if a rank needs longer"
            )
    return copied


class _RollCall:
    """Finds the ranks that wait at the same point before a job ends; uses the two largest tags."""

    def __init__(self, comm: Comm) -> None:
        self._comm, self._ask = comm, _greatest_tag(comm)
        self._said: list[Request] = []
        self._here = self._ask - 1

    def answer(self) -> None:
        """Answer the roll calls of other ranks: this one is present."""
        for rank in self._heard(self._ask):
            self._said.append(self._comm.isend(None, rank, self._here))

    def absent(self) -> list[int]:
        """Return the ranks that do not answer."""
        missing = {*range(self._comm.size)} - {self._comm.rank}
        self._said += [self._comm.isend(None, rank, self._ask) for rank in missing]
        end = time.monotonic() + ANSWER_S
        while missing and time.monotonic() < end:
            self.answer()
            missing -= {*self._heard(self._here)}
            time.sleep(PAUSE_S)
        return sorted(missing)

    def _heard(self, tag: int) -> list[int]:
        """Return the ranks that have sent a message with this tag."""
        from mpi4py import MPI

        found, status = [], MPI.Status()
        while (message := self._comm.improbe(tag=tag, status=status)) is not None:
            message.recv()
            found.append(status.Get_source())
        return found
