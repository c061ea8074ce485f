"""The ranks of a job: calls that all of them make, and what they tell each other about them.

    rank 0    engine.run('main')    ...  done    -> all
    rank 1    engine.run('main')    ...  failed  -> all, which then end the run too

Words go as Python objects on a communicator of their own, apart from data.  Nobody waits inside of
MPI, so that Ctrl-C works and a rank that never comes is found after a time.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.source import here

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request

T = TypeVar("T")

EAGER_S, SLEEP_S = 2e-3, 50e-6
"""How long ranks that wait for each other only let others run, and the pause between later
looks."""


@dataclass(frozen=True, slots=True)
class Word:
    """What one rank says.

    Attributes:
        call: what the user called.
        value: what it says about it.
        failed: why the rank cannot go on; empty where it can.
        is_last: whether the rank has ended the call.
        is_stop: whether the rank wants to stop the run.
    """

    call: str
    value: Any = None
    failed: str = ""
    is_last: bool = True
    is_stop: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        # What `dataclasses` does for slots takes ten times as long, and ranks wait for each word.
        return Word, (self.call, self.value, self.failed, self.is_last, self.is_stop)


class Ranks:
    """The ranks of a communicator, for all engines of a device.

    Attributes:
        number: of this rank.
        count: of all ranks.
        data: the communicator of data.
        generation: how often the communicator of data was another one.
        stops: what ranks said that want to stop the run in progress.
    """

    def __init__(self, comm: Comm, timeout: float) -> None:
        self._comm, self._timeout = comm.Dup(), timeout
        self.number, self.count = comm.Get_rank(), comm.Get_size()
        self.data, self.generation = self._new_data(), 0
        self._inbox: list[deque[Word]] = [deque() for _ in range(self.count)]
        self._sent: list[Request] = []
        self.stops: dict[int, Word] = {}
        self._heard_at = -math.inf

    def _new_data(self) -> Comm:
        from mpi4py import MPI

        data = self._comm.Dup()
        data.Set_errhandler(MPI.ERRORS_ARE_FATAL)  # compiled code looks at no codes
        return data

    def renew(self) -> None:
        """Take a new communicator for data: what is under way on the old one never arrives."""
        self.data, self.generation = self._new_data(), self.generation + 1

    def are_those_of(self, other: Ranks) -> bool:
        """Tell whether the ranks of another device are the same processes in the same order."""
        from mpi4py import MPI

        return MPI.Comm.Compare(self._comm, other._comm) in (MPI.IDENT, MPI.CONGRUENT)

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host."""
        return self.number == 0

    def tell(self, word: Word) -> None:
        """Say something to all other ranks, without waiting."""
        self._is_sent()
        for rank in range(self.count):
            if rank != self.number:
                self._sent.append(self._comm.isend(word, rank))

    def _is_sent(self) -> bool:
        """Tell whether all that was said has left."""
        self._sent = [each for each in self._sent if not each.Test()]
        return not self._sent

    def look(self) -> None:
        """Take in what others have said."""
        while (message := self._comm.improbe()) is not None:
            from mpi4py import MPI

            status = MPI.Status()
            word, rank = message.recv(status), status.Get_source()
            self._heard_at = time.monotonic()
            if word.is_stop:
                self.stops[rank] = word
            else:
                self._inbox[rank].append(word)

    def has_said(self, rank: int) -> bool:
        """Tell whether there is a word of a rank."""
        self.look()
        return bool(self._inbox[rank])

    def has_ended(self, rank: int) -> bool:
        """Tell whether a rank has ended the call in progress."""
        return any(word.is_last for word in self._inbox[rank])

    def failure(self) -> tuple[int, str] | None:
        """Return a rank that has said that it cannot go on, and why."""
        self.look()
        for rank, words in enumerate(self._inbox):
            for word in words:
                if word.failed:
                    return rank, word.failed
        return None

    def share(self, word: Word) -> list[Word]:
        """Return what each rank says about the same call, by rank.

        Raises:
            ControlProgramError: when the user called something else on another rank.
        """
        self.tell(word)
        return [
            word if rank == self.number else self._last_word(rank, word.call)
            for rank in range(self.count)
        ]

    def _last_word(self, rank: int, call: str) -> Word:
        """Return the last word of a rank about a call; what it said before is of no more use."""
        while not (word := self.next_word(rank, call)).is_last:
            pass
        return word

    def next_word(self, rank: int, call: str) -> Word:
        """Return the next word of a rank, about this call."""
        self.wait(lambda: self.has_said(rank), call, lambda: f"rank {rank}")
        word = self._inbox[rank].popleft()
        if word.call != call:
            raise ControlProgramError(
                f"rank {self.number} called {call}, but rank {rank} called {word.call}",
                at=here(),
                found="all ranks make the same calls of an engine, in the same order",
                fix="call it on all ranks; engine.read(x, root=0) gives values to one of them",
            )
        return word

    def from_host(self, call: str, value: T) -> T:
        """Return what rank 0 says about a call that all make."""
        if self.is_host:
            self.tell(Word(call, value))
            self.wait(self._is_sent, call, lambda: "all other ranks")
            return value
        found: T = self.next_word(0, call).value
        return found

    def together(self, call: str, function: Callable[[], T]) -> T:
        """Do something on all ranks; where it fails on one, it fails on all."""
        try:
            value = function()
        except Exception as error:
            self.share(Word(call, failed=text_of(error)))
            raise
        for rank, word in enumerate(self.share(Word(call))):
            if word.failed:
                raise stopped_by(rank, word.failed, call)
        return value

    def host_first(self, call: str, function: Callable[[], T]) -> T:
        """Do something on rank 0, then on all others; where it fails on one, it fails on all."""
        if self.is_host:
            try:
                value = function()
            except Exception as error:
                self.tell(Word(call, failed=text_of(error)))
                raise
            self.tell(Word(call))
            return self.together(call, lambda: value)
        word = self.next_word(0, call)
        if word.failed:
            raise stopped_by(0, word.failed, call)
        return self.together(call, function)

    def wait(self, is_done: Callable[[], bool], call: str, whom: Callable[[], str]) -> None:
        """Wait until something is done; a rank that never comes ends the job."""
        begin = time.monotonic()
        while not is_done():
            waited = time.monotonic() - begin
            if waited > EAGER_S:
                time.sleep(SLEEP_S)
            else:
                os.sched_yield()
            self.check_patience(waited, call, whom)

    def check_patience(self, waited_s: float, call: str, whom: Callable[[], str]) -> None:
        """End the job when it has waited too long, and as long nobody has said anything."""
        waited_s = min(waited_s, time.monotonic() - self._heard_at)
        if self._timeout and waited_s > self._timeout:
            self.abort(
                f"rank {self.number} waited {waited_s:.0f} s for {whom()} in {call}\n"
                "  all ranks make the same calls of an engine, in the same order\n"
                f"  try: pl.mpi.Device(timeout=...) where a step takes longer than that"
            )

    def abort(self, message: str) -> None:
        """End all ranks, with a message."""
        print(f"poplite: {message}", file=sys.stderr, flush=True)
        self._comm.Abort(1)


class StoppedElsewhere(DeviceRuntimeError):
    """An error that another rank knows more about."""

    is_told = True


def stopped_by(rank: int, why: str, call: str) -> DeviceRuntimeError:
    """Return the error for a rank that stopped a call of all."""
    return StoppedElsewhere(
        f"{call}: rank {rank} stopped",
        at=here(),
        found=why,
        fix="its own error says more; engine.load() begins anew",
    )


def text_of(error: BaseException) -> str:
    """Return an exception as other ranks show it."""
    return f"{type(error).__name__}: {error}"
