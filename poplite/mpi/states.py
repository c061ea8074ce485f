"""The state of an engine on ranks, as one file that rank 0 writes and reads.

    saving     chunk by chunk: all ranks send rank 0 what they own of it, and rank 0 writes it
    loading    rank 0 checks all of the file; then, chunk by chunk, it reads and all get their own

A chunk never lies in the memory of rank 0, which would else hold all variables of the graph.  The
file need not be where other ranks can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Protocol

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.codec.loading import Malformed
from poplite.files import checked_path
from poplite.mpi.other_ranks import OtherRanks
from poplite.mpi.plan.messages import Messages, returned, to_rank
from poplite.mpi.plan.moved_pieces import CopiedPieces
from poplite.mpi.plan.owners import HOST, Owners
from poplite.mpi.ranks import Ranks, as_others_raise
from poplite.simulator.states.engine_state import EngineState, Taken
from poplite.simulator.states.state_file import (
    STATES,
    Bytes,
    StateFile,
    chunks_of,
    reading,
    write_state,
)

Planned = Callable[[int, Int64, Int64, Owners], Messages]
"""Returns the messages that bring runs of bytes to a rank, or from it."""

Which = tuple[int, int, int, int]
"""A chunk: 0 of memory and 1 of its shadow, the replica, begin and end."""

_SAVE, _LOAD = "engine.save_state", "engine.load_state"


class RestoredPrograms(Protocol):
    """The programs, as what restores them sees them."""

    def load(self) -> None:
        """Restore memory and streams to their state in the beginning."""

    def forget_sent(self) -> None:
        """Count anew what is sent, where counts are those of a file."""

    def check_idle(self, call: str) -> None:
        """Refuse the user's `call` while a program runs."""


class StatesOnRanks:
    """Saves and restores what the programs hold; all ranks make the same calls."""

    def __init__(
        self,
        loaded: RestoredPrograms,
        state: EngineState,
        memories: Sequence[Sequence[Bytes]],
        ranks: Ranks,
        peers: OtherRanks,
        owners: Owners,
    ) -> None:
        self._loaded, self._state, self._memories = loaded, state, memories
        self._ranks, self._peers, self._owners = ranks, peers, owners

    def save(self, path: object) -> None:
        """Write a file on rank 0."""
        name = str(checked_path(path, _SAVE, "run.state"))
        self._loaded.check_idle(_SAVE)
        self._peers.check_sound(_SAVE)
        if self._ranks.is_host:
            self._write(name)
        else:
            while (which := self._next()) is not None:
                self._pass(_SAVE, which, None, to_rank)

    def _write(self, name: str) -> None:
        """Write the file, and tell the others how that ended."""
        said: tuple[Which | None, Exception | None]

        def collected(kind: int, replica: int, begin: int, end: int) -> Bytes:
            which = kind, replica, begin, end
            self._ranks.from_host(_SAVE, (which, None))
            found, memory = np.zeros(end - begin, np.uint8), self._memories[kind][replica]
            for first, last in self._own_within(begin, end):
                found[first - begin : last - begin] = memory[first:last]
            self._pass(_SAVE, which, found, to_rank)
            return found

        members = self._state.members(partial(collected, 0), partial(collected, 1))

        try:
            write_state(name, self._state.saved(), members)
        except BaseException as error:
            said = None, as_others_raise(error, _SAVE)
            self._ranks.from_host(_SAVE, said)
            raise
        said = None, None
        self._ranks.from_host(_SAVE, said)

    def _next(self) -> Which | None:
        """Return the chunk that rank 0 needs next; None where it has written all."""
        said: tuple[Which | None, Exception | None] = None, None
        which, error = self._ranks.from_host(_SAVE, said)
        if error is not None:
            raise error
        return which

    def load(self, path: object) -> None:
        """Read a file on rank 0; where that refuses it, all ranks do."""
        name = str(checked_path(path, _LOAD, "run.state"))
        self._loaded.check_idle(_LOAD)
        with STATES.loading(repr(name)), ExitStack() as stack:

            def checked() -> tuple[StateFile, Taken]:
                file = stack.enter_context(reading(name))
                return file, self._state.checked(file, name, _LOAD)

            read = self._ranks.on_host(_LOAD, checked)
            taken = self._ranks.from_host(_LOAD, None if read is None else read[1])
            assert taken is not None, "rank 0 has read it"
            self._loaded.load()
            try:
                self._state.take(taken)
                self._loaded.forget_sent()
                self._fill(None if read is None else read[0], taken)
            except (OSError, Malformed):  # of the disk: no memory of which half is old
                self._loaded.load()
                raise

    def _fill(self, file: StateFile | None, taken: Taken) -> None:
        """Restore memory, and what only rank 0 has, from a file that has been checked."""

        def filled() -> None:
            if file is not None:
                self._state.take_host(file, taken)

        self._ranks.on_host(_LOAD, filled)
        for kind, parts in enumerate(self._memories):
            for replica in range(len(parts)):
                chunks = iter(()) if file is None else self._state.chunks(file, kind, replica)
                for begin, end in chunks_of(self._state.size):
                    chunk = self._ranks.on_host(_LOAD, partial(next, chunks))
                    self._spread((kind, replica, begin, end), chunk)

    def _spread(self, which: Which, chunk: Bytes | None) -> None:
        """Bring a chunk that rank 0 has read to its owners."""
        kind, replica, begin, end = which
        if chunk is not None:
            for first, last in self._own_within(begin, end):
                self._memories[kind][replica][first:last] = chunk[first - begin : last - begin]
        self._pass(_LOAD, which, chunk, _from_rank)

    def _own_within(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield what lies between two positions of the runs of bytes of this rank."""
        begins, ends = self._peers.own
        some = slice(ends.searchsorted(begin, "right"), begins.searchsorted(end, "left"))
        for first, last in zip(begins[some].tolist(), ends[some].tolist(), strict=True):
            yield max(first, begin), min(last, end)

    def _pass(self, call: str, which: Which, chunk: Bytes | None, planned: Planned) -> None:
        """Send and get the bytes of a chunk: of memory, on rank 0 of the chunk itself."""
        kind, replica, begin, end = which
        found = planned(HOST, np.array([begin]), np.array([end]), self._owners)
        if chunk is None:
            self._peers.move(found, [self._memories[kind][replica]], call)
            return
        pieces = found.pieces
        moved = CopiedPieces(pieces.start - begin, pieces.to - begin, pieces.size)
        self._peers.move(Messages(found.sender, found.receiver, moved), [chunk], call)


def _from_rank(rank: int, begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that bring runs of bytes from a rank to their owners."""
    return returned(np.full(len(begin), rank), begin, end, owners)
