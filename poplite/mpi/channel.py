"""The channel that all devices of one communicator share.

    the user's            asked only for these, and who is missing where that takes too long
    words                 what ranks say; the tag is the number of the device
    data                  what programs send; the tag is a number that no other device has

MPI has some two thousand communicators, and a device may be gone on one rank earlier than on
another: so the two are made once, with the first device of a communicator, and last as long as it.
"""

from __future__ import annotations

import time
import weakref
from functools import cache
from typing import TYPE_CHECKING

from poplite.mpi.endings import end_job
from poplite.mpi.starting import CALL

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request

PAUSE_S = 50e-6
"""The pause between two looks."""

ANSWER_S = 1.0
"""Seconds in which a rank that waits for the same answers who is there."""

_END = 0
"""The tag of the word of a rank that has ended."""


class Channel:
    """The communicators of all devices of one communicator of the user's.

    Attributes:
        words: of what ranks say.
        data: of what programs send.
        ended: when this rank heard that another one has ended, by its number.
        called_in: the run in which rank 0 is in a callback of the user's; empty where it is not.
    """

    def __init__(self, words: Comm, data: Comm) -> None:
        from mpi4py import MPI

        self.words, self.data = words, data
        self.data.Set_errhandler(MPI.ERRORS_ARE_FATAL)  # compiled code looks at no codes
        self.ended: dict[int, float] = {}
        self.called_in = ""
        self._most = _greatest_tag(words) // 2
        self._number = 0
        self._said: list[Request] = []
        weakref.finalize(self, _free, words, data).atexit = False
        _open.add(self)

    def new_number(self) -> int:
        """Return a number for tags, from 1: all ranks get the same, as they make the same calls."""
        self._number = self._number % (self._most - 1) + 1
        return self._number

    def say_end(self) -> None:
        """Tell the others that this rank makes no more calls."""
        self.look_for_ends()
        for rank in {*range(self.words.size)} - {self.words.rank, *self.ended}:
            self._said.append(self.words.isend(None, rank, _END))

    def look_for_ends(self) -> None:
        """Take in which ranks have ended."""
        from mpi4py import MPI

        status = MPI.Status()
        while (message := self.words.improbe(tag=_END, status=status)) is not None:
            message.recv()
            self.ended[status.Get_source()] = time.monotonic()


_open: weakref.WeakSet[Channel] = weakref.WeakSet()


def say_end() -> None:
    """Tell all that this rank makes no more calls."""
    for channel in _open:
        channel.say_end()


def _free(*comms: Comm) -> None:
    """Give communicators back to MPI, which needs no other rank for it."""
    from mpi4py import MPI

    if not MPI.Is_finalized():
        for comm in comms:
            comm.Free()


def channel_of(comm: Comm, timeout_s: float) -> Channel:
    """Return the channel of a communicator; with the first call for it, all ranks make it.

    A rank that does not come within the time ends the job.
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
    assert isinstance(greatest, int), "MPI has it for each communicator"
    return greatest


def _copied(comm: Comm, timeout_s: float) -> Comm:
    """Return a copy of a communicator, which all ranks make."""
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
                "  all ranks of a communicator make their device\n"
                "  try: pl.mpi.Device(timeout=...) where a rank needs longer until then"
            )
    return copied


class _RollCall:
    """Finds out who waits in the same place, when a job is about to end: by two last tags."""

    def __init__(self, comm: Comm) -> None:
        self._comm, self._ask = comm, _greatest_tag(comm)
        self._said: list[Request] = []
        self._here = self._ask - 1

    def answer(self) -> None:
        """Say that this rank is here, to those that ask."""
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
        """Return the ranks that have sent this."""
        from mpi4py import MPI

        found, status = [], MPI.Status()
        while (message := self._comm.improbe(tag=tag, status=status)) is not None:
            message.recv()
            found.append(status.Get_source())
        return found
