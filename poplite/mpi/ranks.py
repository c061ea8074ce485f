"""The ranks of a job, and their agreement about each call.

    rank 0    engine.run('main')    ...  done    -> all
    rank 1    engine.run('main')    ...  failed  -> all, which then end the run too

Messages about calls, `Word`, are Python objects on a different communicator than data. No rank
waits inside MPI, so that Ctrl-C works, and a rank that never arrives is detected after a timeout.
"""

from __future__ import annotations

import math
import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.frozen import frozen
from poplite.mpi.channel import CALL, channel_of, end_job

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request

T = TypeVar("T")

EAGER_S, SLEEP_S = 2e-3, 50e-6
"""Seconds for which a waiting rank only yields the processor; seconds between later polls."""

END_S = 1.0
"""Seconds to wait for a rank that has ended, since its last messages may still arrive."""


@frozen
class Word:
    """A message of one rank about a call.

    Attributes:
        call: the user's call.
        value: the content.
        failed: why the rank cannot continue; empty if it can.
        is_last: whether the rank has ended the call.
        is_stop: whether the rank requests to stop the run.
    """

    call: str
    value: Any = None
    failed: str = ""
    is_last: bool = True
    is_stop: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        # Pickling the slots of `dataclasses` takes ten times as long, and ranks wait for each word.
        return Word, (self.call, self.value, self.failed, self.is_last, self.is_stop)


class Ranks:
    """The ranks of a communicator, shared by all engines of a device.

    Attributes:
        number: the number of this rank.
        count: the number of ranks.
        data: the communicator for data.
        series: the number of the messages of programs, unique to this device.
        stops: messages of ranks that request to stop the run in progress.
        on_machine: how many of the ranks are on this machine.
    """

    def __init__(self, comm: Comm, timeout: float) -> None:
        from mpi4py import MPI

        self.number, self.count = comm.Get_rank(), comm.Get_size()
        self._timeout = timeout
        self._channel = channel_of(comm, timeout)
        self.check_host_is_free(CALL)
        self.data, self._comm = self._channel.data, self._channel.words
        self.series = self._tag = self._channel.new_number()
        self._inbox: list[deque[Word]] = [deque() for _ in range(self.count)]
        self._sent: list[Request] = []
        self.stops: dict[int, Word] = {}
        self._heard_at = -math.inf
        machine = MPI.Get_processor_name()
        self.on_machine = [each.value for each in self.share(Word(CALL, machine))].count(machine)

    def renew(self) -> None:
        """Take a new series number for messages; messages with the old one are never received."""
        self.series = self._channel.new_number()

    def are_those_of(self, other: Ranks) -> bool:
        """Return whether the ranks of another device are the same processes in the same order."""
        from mpi4py import MPI

        return MPI.Comm.Compare(self._comm, other._comm) in (MPI.IDENT, MPI.CONGRUENT)

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host."""
        return self.number == 0

    def tell(self, word: Word) -> None:
        """Send a message to all other ranks, without waiting."""
        self._is_sent()
        for rank in range(self.count):
            if rank != self.number:
                self._sent.append(self._comm.isend(word, rank, self._tag))

    def _is_sent(self) -> bool:
        """Return whether all messages have been sent."""
        self._sent = [each for each in self._sent if not each.Test()]
        return not self._sent

    def look(self) -> None:
        """Receive the messages of other ranks."""
        while (message := self._comm.improbe(tag=self._tag)) is not None:
            from mpi4py import MPI

            status = MPI.Status()
            word, rank = message.recv(status), status.Get_source()
            self._heard_at = time.monotonic()
            if word.is_stop:
                self.stops[rank] = word
            else:
                self._inbox[rank].append(word)

    def has_said(self, rank: int) -> bool:
        """Return whether a message of a rank has arrived."""
        self.look()
        return bool(self._inbox[rank])

    def has_ended(self, rank: int) -> bool:
        """Return whether a rank has ended the call in progress."""
        return any(word.is_last for word in self._inbox[rank])

    def failure(self) -> tuple[int, str] | None:
        """Return a rank that cannot continue, and the reason; None if all can."""
        self.look()
        for rank, words in enumerate(self._inbox):
            for word in words:
                if word.failed:
                    return rank, word.failed
        return None

    def share(self, word: Word) -> list[Word]:
        """Exchange words about the same call; return them by rank.

        Raises:
            ControlProgramError: if the user made a different call on another rank, or made this
                call in a callback.
        """
        self.check_host_is_free(word.call)
        self.tell(word)
        return [
            word if rank == self.number else self._last_word(rank, word.call)
            for rank in range(self.count)
        ]

    def _last_word(self, rank: int, call: str) -> Word:
        """Return the last word of a rank about a call; earlier ones are obsolete."""
        while not (word := self.next_word(rank, call)).is_last:
            pass
        return word

    def next_word(self, rank: int, call: str) -> Word:
        """Return the next word of a rank about the given call."""
        self.wait(lambda: self.has_said(rank), call, lambda: [rank])
        word = self._inbox[rank].popleft()
        if word.call != call:
            raise ControlProgramError(
                f"rank {self.number} called {call}, but rank {rank} called {word.call}",
                found="all ranks must make the same calls of an engine, in the same order",
                fix="make the call on all ranks; engine.read(x, root=0) returns values on one of "
                "them",
            )
        return word

    def from_host(self, call: str, value: T) -> T:
        """Return the value that rank 0 has in a call that all ranks make."""
        if self.is_host:
            self.check_host_is_free(call)
            self.tell(Word(call, value))
            self.wait(self._is_sent, call, lambda: self.others)
            return value
        found: T = self.next_word(0, call).value
        return found

    def on_host(self, call: str, function: Callable[[], T]) -> T | None:
        """Return the result of a function on rank 0, None elsewhere; all raise its error."""
        value: T | None = None
        error: BaseException | None = None
        if self.is_host:
            self.check_host_is_free(call)
            try:
                value = function()
            except BaseException as found:  # raised below, once the other ranks know
                error = found
        said = None if error is None else as_others_raise(error, call)
        said = self.from_host(call, said)
        if error is not None:
            raise error
        if said is not None:
            raise said
        return value

    def together(self, call: str, function: Callable[[], T]) -> T:
        """Call a function on all ranks; if it fails on one, it fails on all."""
        try:
            value = function()
        except BaseException as error:
            self.share(Word(call, failed=text_of(error)))
            raise
        for rank, word in enumerate(self.share(Word(call))):
            if word.failed:
                raise stopped_by(rank, word.failed, call)
        return value

    def host_first(self, call: str, function: Callable[[], T]) -> T:
        """Call a function on rank 0, then on all others; if it fails on one, it fails on all."""
        if self.is_host:
            self.check_host_is_free(call)
            try:
                value = function()
            except BaseException as error:
                self.tell(Word(call, failed=text_of(error)))
                raise
            self.tell(Word(call))
            return self.together(call, lambda: value)
        word = self.next_word(0, call)
        if word.failed:
            raise stopped_by(0, word.failed, call)
        return self.together(call, function)

    @property
    def others(self) -> Sequence[int]:
        """The numbers of all other ranks."""
        return [rank for rank in range(self.count) if rank != self.number]

    @contextmanager
    def calling_back(self, call: str) -> Iterator[None]:
        """Reject collective calls in a `with` statement, in which only the host executes `call`."""
        before, self._channel.called_in = self._channel.called_in, call
        try:
            yield
        finally:
            self._channel.called_in = before

    def check_host_is_free(self, call: str) -> None:
        """Reject a collective call that is made in a callback."""
        if within := self._channel.called_in:
            raise ControlProgramError(
                f"{call}: all ranks must make this call, but callbacks run on rank 0 alone",
                found=f"rank 0 is in a callback of {within}",
                fix="use the arrays that are passed to the callback, or make the call after the "
                "run",
            )

    def wait(
        self, is_done: Callable[[], bool], call: str, whom: Callable[[], Sequence[int]]
    ) -> None:
        """Wait until `is_done` returns true; end the job if the ranks `whom` never respond."""
        begin = time.monotonic()
        while not is_done():
            waited = time.monotonic() - begin
            if waited > EAGER_S:
                time.sleep(SLEEP_S)
            else:
                os.sched_yield()
            self.check_patience(waited, call, whom)

    def check_patience(self, waited_s: float, call: str, whom: Callable[[], Sequence[int]]) -> None:
        """End the job if this rank waits for ranks that have ended, or has waited too long.

        The timeout counts from the last message of any rank.
        """
        if waited_s > EAGER_S:
            self._check_ends(call, whom)
        waited_s = min(waited_s, time.monotonic() - self._heard_at)
        if self._timeout and waited_s > self._timeout:
            end_job(
                f"rank {self.number} waited {waited_s:.0f} s for {ranks_text(whom())} in {call}\n"
                "  all ranks must make the same calls of an engine, in the same order\n"
                f"  try: pass pl.mpi.Device(timeout=...) if a step takes longer than that"
            )

    def _check_ends(self, call: str, whom: Callable[[], Sequence[int]]) -> None:
        """End the job if a rank that this one waits for has ended."""
        self._channel.look_for_ends()
        if not self._channel.ended:
            return
        before = time.monotonic() - END_S
        ended = [rank for rank in whom() if self._channel.ended.get(rank, math.inf) < before]
        if ended:
            end_job(
                f"rank {self.number} waited for {ranks_text(ended)} in {call}, but it has ended\n"
                "  all ranks must make the same calls of an engine, in the same order\n"
                "  try: read its output; a script may end only after the last call of all ranks"
            )


class StoppedElsewhere(DeviceRuntimeError):
    """An error whose cause another rank reports."""

    is_told = True


def stopped_by(rank: int, why: str, call: str) -> DeviceRuntimeError:
    """Return the error for a rank that stopped a collective call."""
    return StoppedElsewhere(
        f"{call}: rank {rank} stopped",
        found=why,
        fix="see the error of that rank; call engine.load() to begin again",
    )


def as_others_raise(error: BaseException, call: str) -> Exception:
    """Return the exception that other ranks raise for rank 0's exception: the same if sendable."""
    if isinstance(error, Exception):
        with suppress(Exception):
            copied = pickle.loads(pickle.dumps(error))
            if type(copied) is type(error):
                return error
    return stopped_by(0, text_of(error), call)


def text_of(error: BaseException) -> str:
    """Return the text with which other ranks show an exception."""
    try:
        text = str(error)
    except Exception as fault:  # raised by the user's class; the original error matters more
        text = f"its text cannot be produced: {type(fault).__name__}"
    return f"{type(error).__name__}: {text}"


def ranks_text(ranks: Sequence[int]) -> str:
    """Return the numbers of ranks as text for messages."""
    return "rank " + ", ".join(map(str, ranks))
