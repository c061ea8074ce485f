"""Runs of a program on all ranks, as the simulator of one rank takes part: they end together.

    EXCHANGE    persistent requests, started and polled by compiled code
    CALLBACK    run by the host, rank 0, which sends the outcome to the other ranks
    end of run  each rank sends its outcome to all others

A callback that raises, `engine.stop()` and Ctrl-C end the run after the same step on all ranks, as
below, and their engines can run again. Any other cause is known to one rank only, while others may
be a step ahead: it ends the run on all ranks, and engines then need `load()`.

    rank 0    step 1  2  3  4 | Ctrl-C      sent: 4     limit 6     5  6 | stopped
    rank 1    step 1  2  3  4  5  6 |       sent: 6     limit 6          | stopped

A rank that must stop announces how many rows it has started. Each other rank does the same the next
time that Python is entered. All ranks continue to the largest announced number, the limit, and end
before the next step. Control flow is the same on all ranks, so they end at the same place. If one
rank stopped alone, its peers would wait forever. Ranks that exchange nothing may be far apart: a
rank that has not reached the limit repeats its announcement, and those at the limit wait for it.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.errors import ControlProgramError, DeviceRuntimeError
from poplite.executable import encoding as op
from poplite.executable.parts import Action, HostFunctionCall, Print, RowTransfer, Transfer
from poplite.jit.build import processors
from poplite.mpi.message_packing import KeptExchange, Messages, message_tag, requests
from poplite.mpi.rank_plan import Exchange
from poplite.mpi.ranks import Ranks, Word, last_step, stopped_by, text_of
from poplite.simulator.running import Running, Stopped

if TYPE_CHECKING:
    from mpi4py.MPI import Prequest


T = TypeVar("T")
Bytes = npt.NDArray[np.uint8]

SPINS = 200
"""Number of polls before the processor is yielded, if each rank has its own processor."""


class RanksDiffer(Exception):
    """Ends a run because of a message from another rank; the user sees `error`."""

    def __init__(self, error: DeviceRuntimeError) -> None:
        super().__init__(error)
        self.error = error


class OtherRanks:
    """The other ranks of a program.

    Attributes:
        own: the byte ranges that this rank owns or has a copy of: their starts and their ends.
        broken: why memory is undefined; empty if it is defined.
    """

    def __init__(
        self,
        ranks: Ranks,
        exchanges: Sequence[Exchange],
        actions: Sequence[Action],
        own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    ) -> None:
        self.own = own
        self._ranks, self._exchanges, self._actions = ranks, exchanges, actions
        self._spins = SPINS if ranks.on_machine <= processors() else 0
        self._kept: list[KeptExchange] = []
        self._series = ranks.series
        weakref.finalize(self, _free, self._kept)
        self._call = ""
        self._is_agreed = False
        self._stops = Stops(ranks)
        self._last_step = last_step(ranks.number)
        self._step: Callable[[], str] = str
        self._waits_for, self._since = (-1, -1), 0.0
        self.broken = ""

    @property
    def is_host(self) -> bool:
        """Whether this is the rank of the host."""
        return self._ranks.is_host

    @property
    def sent_bytes(self) -> int:
        """Number of bytes that this rank sends if each exchange runs once."""
        number = self._ranks.number
        sent = (each.messages for each in self._exchanges)
        return sum(int(each.pieces.size[each.sender == number].sum()) for each in sent)

    def is_sent(self, exchange: int) -> bool:
        """Return whether an exchange sends anything: tables of uncounted vertices are not sent."""
        table = self._exchanges[exchange].table
        return table is None or bool(self._slots.get(table))

    # -- exchanges ---------------------------------------------------------------------------------

    def connect(
        self,
        parts: Sequence[Bytes],
        shadows: Sequence[Bytes],
        slots: Mapping[int, Sequence[int]],
    ) -> None:
        """Make the requests for all exchanges."""
        self._parts, self._shadows, self._slots = parts, shadows, slots
        for exchange in self._exchanges:
            self._kept.append(KeptExchange(self._spins))
            self._kept[-1].take(self._made(exchange))

    def _made(self, exchange: Exchange) -> list[tuple[int, Prequest]]:
        memory = self._shadows if exchange.is_shadow else self._parts
        if exchange.table is not None:
            size = int((exchange.messages.pieces.to + exchange.messages.pieces.size).max())
            memory = [_bytes_at(at, size) for at in self._slots.get(exchange.table, ())]
        if not memory:  # for a table of uncounted vertices
            return []
        data = self._ranks.data
        makers = data.Recv_init, data.Send_init
        tag = message_tag(self._series, is_kept=True)
        return requests(exchange.messages, self._ranks.number, memory, makers, tag)

    def load(self) -> None:
        """Mark memory as defined, because it has been filled again on all ranks."""
        self.broken = ""

    def _renew(self) -> None:
        """Make new requests, which never receive messages from the old ones."""
        if self._series == self._ranks.series:
            return
        self._series = self._ranks.series
        for kept, exchange in zip(self._kept, self._exchanges, strict=True):
            kept.free()
            kept.take(self._made(exchange))

    def address(self, exchange: int) -> int:
        """Return the address of an exchange's state words, which compiled code reads."""
        return int(self._kept[exchange].words.ctypes.data)

    def move(self, messages: Messages, memory: Sequence[Bytes], call: str) -> None:
        """Exchange pieces of memory once."""
        ranks, data = self._ranks, self._ranks.data
        tag = message_tag(ranks.series, is_kept=False)
        made = requests(messages, ranks.number, memory, (data.Irecv, data.Isend), tag)
        peers = sorted({rank for rank, _ in made})
        left = [request for _, request in made]

        def is_done() -> bool:
            left[:] = [each for each in left if not each.Test()]
            return not left

        ranks.wait(is_done, call, lambda: peers)

    def waiting(self, exchange: int) -> None:
        """Check that the ranks that an exchange waits for are still running."""
        self.check_peers()
        self.look()
        kept, now = self._kept[exchange], time.monotonic()
        which = exchange, int(kept.words[op.EXCHANGE_DONE])
        if self._waits_for != which:
            self._waits_for, self._since = which, now
        self._ranks.check_patience(now - self._since, self._call, lambda: _missing(kept))

    def follow(self, ticks: Callable[[], int], step: Callable[[], str]) -> None:
        """Set the functions that return how many rows a run has started, and its current step."""
        self._stops.ticks, self._step = ticks, step

    def look(self) -> None:
        """Check whether a rank asks to stop the run."""
        if self._last_step.is_read:
            self._last_step.note(f"{self._call} at {self._step()}")
        self._stops.look()

    @property
    def limit(self) -> int | None:
        """Number of rows after which the run ends on all ranks; None if no rank requests a stop."""
        return self._stops.limit

    def stop_here(self) -> None:
        """End the run if it has reached the limit."""
        if self._stops.is_reached:
            self._is_agreed = True
            self._stops.end()

    def check_peers(self) -> None:
        """Raise if another rank has stopped."""
        if (found := self._ranks.failure()) is not None:
            raise RanksDiffer(stopped_by(*found, self._call))

    # -- work of the host --------------------------------------------------------------------------

    def from_host(self, call: str, value: T) -> T:
        """Return the host's value in a call that all ranks make."""
        return self._ranks.from_host(call, value)

    def calls(
        self, calls: Sequence[Callable[[], object]], running: Running
    ) -> Sequence[Callable[[], object]]:
        """Return the actions of a run, by number, wrapped so that all ranks learn the outcome."""
        self._stops.watch(running)
        return [self._agreed(*each) for each in zip(self._actions, calls, strict=True)]

    def _agreed(self, action: Action, call: Callable[[], object]) -> Callable[[], None]:
        if isinstance(action, Print | Transfer | RowTransfer | HostFunctionCall):
            return lambda: self._hosted(call)
        return lambda: self._by_all(call)

    def _hosted(self, call: Callable[[], object]) -> None:
        """Perform an action on the host only, and send the outcome to the other ranks."""
        if not self.is_host:
            word = self._next_word(0)
            if word.value:
                self._is_agreed = True
                raise RanksDiffer(stopped_by(0, word.value, self._call))
            return
        try:
            with self._ranks.calling_back(self._call):
                call()
        except BaseException as error:
            self._ranks.tell(Word(self._call, text_of(error), is_last=False))
            self._is_agreed = True
            raise
        self._ranks.tell(Word(self._call, is_last=False))

    def agreed(self, error: Exception | None, count: int) -> tuple[Exception | None, int]:
        """Return the error that all ranks raise after a step, once all have reported theirs.

        Also returns the largest of the ranks' counts.
        """
        ranks, own = self._ranks, "" if error is None else text_of(error)
        ranks.tell(Word(self._call, (own, count), is_last=False))
        for rank in range(ranks.count):
            if rank != ranks.number:
                text, theirs = self._next_word(rank).value
                count = max(count, theirs)
                if text and error is None:
                    error = RanksDiffer(stopped_by(rank, text, self._call))
        self._is_agreed |= error is not None
        return error, count

    def _next_word(self, rank: int) -> Word:
        """Return the next message of a rank during a run."""

        def is_said() -> bool:
            self.check_peers()
            self.look()
            return self._ranks.has_said(rank)

        self._ranks.wait(is_said, self._call, lambda: [rank])
        return self._ranks.next_word(rank, self._call)

    def _by_all(self, call: Callable[[], object]) -> None:
        """Perform an action that every rank performs."""
        try:
            call()
        except Exception:
            self._is_agreed = True
            raise

    def check_sound(self, call: str) -> None:
        """Reject the user's `call` while memory is undefined."""
        if self.broken:
            raise ControlProgramError(
                f"{call}: memory is undefined since a run ended on one rank",
                found=self.broken,
                fix="call engine.load() on all ranks to begin again",
            )

    # -- runs --------------------------------------------------------------------------------------

    def run(self, call: str, run: Callable[[], None]) -> None:
        """Run a program; all ranks end it in the same way."""
        self._ranks.check_host_is_free(call)
        self.check_sound(call)
        self._renew()
        self._call, self._is_agreed, error = call, False, None
        with self._stops.of_run(call):
            try:
                run()
            except BaseException as found:  # raised below, once the other ranks know
                error = found
            is_alone = error is not None and not self._is_agreed
            failed = text_of(error) if error is not None and is_alone else ""
            words = self._ranks.share(Word(call, self._stops.is_interrupted, failed=failed))
            self._stops.is_interrupted |= any(word.value for word in words)
        self._ranks.stops.clear()
        if any(word.failed for word in words):
            self._ranks.renew()
        for rank, word in enumerate(words):
            if word.failed:
                self.broken = f"rank {rank}: {word.failed.splitlines()[0]}"
        if isinstance(error, RanksDiffer):
            raise error.error from None
        if error is not None and not isinstance(error, Stopped):
            raise error
        for rank, word in enumerate(words):
            if word.failed:
                raise stopped_by(rank, word.failed, call)
        if self._stops.is_interrupted:
            raise KeyboardInterrupt  # it came too late to end the run
        if error is not None:
            raise error


def _free(kept: list[KeptExchange]) -> None:
    """Free requests, unless MPI is finalized."""
    from mpi4py import MPI

    if not MPI.Is_finalized():
        for each in kept:
            each.free()


def _bytes_at(address: int, size: int) -> Bytes:
    """Return memory as an array; the caller must keep the memory alive."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _missing(kept: KeptExchange) -> Sequence[int]:
    """Return which ranks an exchange waits for."""
    return sorted({rank for rank, each in kept.requests if not each.Get_status()})


# -- stops -----------------------------------------------------------------------------------------


INTERRUPTED, STOPPED = "interrupted", "stopped"

AGAIN_S = 0.5
"""Seconds after which a rank announces again that it has not reached the limit."""

SAME_S = 1.0
"""Seconds within which one Ctrl-C reaches all ranks."""


class SameInterrupt:
    """Handles SIGINT after a run ended by Ctrl-C on another rank: it may be the same Ctrl-C."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SAME_S

    def takes_it(self) -> bool:
        """Return whether a SIGINT is this rank's part of the same Ctrl-C."""
        is_same, self._until = time.monotonic() < self._until, 0.0
        return is_same

    def __call__(self, number: int, frame: object) -> None:
        """Do nothing if it is the same Ctrl-C, else raise as Python does."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not self.takes_it():
            raise KeyboardInterrupt


class Stops:
    """The requests of ranks to stop the run in progress.

    Attributes:
        limit: number of rows after which the run ends; None if no rank requests a stop.
        is_interrupted: whether the request comes from Ctrl-C, on any rank.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.limit: int | None = None
        self._reset("")

    def _reset(self, call: str) -> None:
        self._call = call
        self._running = Running()
        self.is_interrupted = self._is_pressed = self._is_told = False
        self.limit = None
        self.ticks: Callable[[], int] = lambda: 0

    @contextmanager
    def of_run(self, call: str) -> Iterator[None]:
        """Treat the first Ctrl-C in a `with` statement as a request to stop; Python handles others.

        One Ctrl-C reaches all ranks, but some of them later than others, even after the run.
        """
        self._reset(call)
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        before = signal.getsignal(signal.SIGINT)
        same = before if isinstance(before, SameInterrupt) else None
        if same is None and before is not signal.default_int_handler:
            yield
            return

        def interrupt(number: int, frame: object) -> None:
            if same is not None and same.takes_it():
                return
            if self._is_pressed:
                raise KeyboardInterrupt
            self._is_pressed = self.is_interrupted = True

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            is_open = self.is_interrupted and not self._is_pressed
            signal.signal(signal.SIGINT, SameInterrupt() if is_open else before)

    def watch(self, running: Running) -> None:
        """Treat `engine.stop()`, which stops `running`, as a request."""
        self._running = running

    def look(self) -> None:
        """Send this rank's request to the others, and receive theirs; wait for the limit."""
        if self._is_told:
            self._say_again()
            return
        self._ranks.look()
        if not (self.is_interrupted or self._running.is_stopped or self._ranks.stops):
            return
        why = INTERRUPTED if self.is_interrupted else STOPPED
        own = self.ticks()
        self._is_told, self._told_at = True, time.monotonic()
        self._word = Word(self._call, (own, why), is_last=False, is_stop=True)
        self._ranks.tell(self._word)
        others = self._ranks.others

        def unknown() -> list[int]:
            self._ranks.look()
            known = self._ranks.stops
            return [r for r in others if r not in known and not self._ranks.has_ended(r)]

        self._ranks.wait(lambda: not unknown(), self._call, unknown)
        said = self._ranks.stops
        self.is_interrupted |= any(word.value[1] == INTERRUPTED for word in said.values())
        # If any rank has already ended the run, all ranks end it, and there is no limit to set.
        if len(said) == len(others):
            self.limit = max([own, *(word.value[0] for word in said.values())])

    def _say_again(self) -> None:
        """Announce again, so that others wait longer, if this rank has not reached the limit."""
        now = time.monotonic()
        if self.limit is not None and now > self._told_at + AGAIN_S and not self.is_reached:
            self._told_at = now
            self._ranks.tell(self._word)

    @property
    def is_reached(self) -> bool:
        """Whether the run ends before the next step."""
        return self.limit is not None and self.ticks() >= self.limit

    def end(self) -> None:
        """End the run: raise `Stopped`, or `KeyboardInterrupt`, on every rank."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        raise Stopped
