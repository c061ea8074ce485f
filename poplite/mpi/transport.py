"""Messages as MPI sends them: requests for pieces of memory, where they lie.

    one piece      its bytes
    several        an MPI datatype of blocks, so that nothing is packed by hand

A request may be kept: it is started as often as the program gets to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.mpi.plan.messages import Messages

if TYPE_CHECKING:
    from mpi4py.MPI import Prequest

T = TypeVar("T")
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class RankMessage:
    """What this rank sends to another one, or gets from it.

    Attributes:
        rank: the other one.
        is_sent: whether it is sent.
        begin: int64[pieces], first bytes.
        size: int64[pieces], bytes.
    """

    rank: int
    is_sent: bool
    begin: Integers
    size: Integers


def parts_of(messages: Messages, rank: int) -> Iterator[RankMessage]:
    """Yield what a rank gets and sends, by the other rank."""
    pieces = messages.pieces
    sides = (messages.receiver, messages.sender, pieces.to), (
        messages.sender, messages.receiver, pieces.start
    )  # fmt: skip
    for is_sent, (own, other, begin) in enumerate(sides):
        mine = np.flatnonzero(own == rank)
        for peer in np.unique(other[mine]).tolist():
            chosen = mine[other[mine] == peer]
            yield RankMessage(peer, bool(is_sent), begin[chosen], pieces.size[chosen])


def message_tag(series: int, *, is_kept: bool) -> int:
    """Return the tag of messages of programs, which are kept, or of those of single calls."""
    return 2 * series + is_kept


def requests(
    messages: Messages,
    rank: int,
    memory: Sequence[Bytes],
    makers: tuple[Callable[..., T], Callable[..., T]],
    tag: int,
) -> list[tuple[int, T]]:
    """Return the requests of a rank, each with the other rank.

    `memory` are the bytes of each replica; `makers` of a communicator get and send.
    """
    found = []
    to = messages.replica_map or range(len(memory))
    for part in parts_of(messages, rank):
        make = makers[part.is_sent]
        for source in range(len(memory)):  # sender and receiver go by the source
            own = source if part.is_sent else to[source]
            found.append((part.rank, _made(make, memory[own], part, tag)))
    return found


def _made(make: Callable[..., T], memory: Bytes, part: RankMessage, tag: int) -> T:
    from mpi4py import MPI

    begin, size = part.begin, part.size
    if len(begin) == 1:
        return make([memory[begin[0] : begin[0] + size[0]], MPI.BYTE], part.rank, tag)
    low, high = int(begin.min()), int((begin + size).max())
    kind = MPI.BYTE.Create_hindexed(size.tolist(), (begin - low).tolist()).Commit()
    request = make([memory[low:high], 1, kind], part.rank, tag)
    kind.Free()  # the request keeps it
    return request


class KeptExchange:
    """An exchange of a program; `words` are for compiled code (`poplite.executable.opcodes`)."""

    def __init__(self, spins: int) -> None:
        self.words = np.zeros(op.EXCHANGE_WORDS, np.int64)
        self.words[op.EXCHANGE_STARTALL : op.EXCHANGE_SLEEP + 1] = _addresses()
        self.words[op.EXCHANGE_SPINS] = spins
        self.requests: list[tuple[int, Prequest]] = []

    def take(self, made: Sequence[tuple[int, Prequest]]) -> None:
        """Send and get by these requests from now on."""
        from mpi4py import MPI

        self.requests = list(made)
        handle = MPI._sizeof(MPI.Request)
        self._handles = np.zeros(max(1, handle * len(made)), np.uint8)
        for number, (_, request) in enumerate(made):
            place = self._handles.ctypes.data + handle * number
            ctypes.memmove(place, MPI._addressof(request), handle)
        self._statuses = np.zeros(max(1, len(made)) * MPI._sizeof(MPI.Status), np.uint8)
        self._flag = np.zeros(1, np.int32)
        self.words[op.EXCHANGE_STARTED], self.words[op.EXCHANGE_COUNT] = 0, len(made)
        self.words[op.EXCHANGE_REQUESTS] = self._handles.ctypes.data
        self.words[op.EXCHANGE_STATUSES] = self._statuses.ctypes.data
        self.words[op.EXCHANGE_FLAG] = self._flag.ctypes.data

    def free(self) -> None:
        """Give the requests back to MPI; those that are under way stay with it."""
        if not self.words[op.EXCHANGE_STARTED]:
            for _, request in self.requests:
                request.Free()
        self.requests = []


@cache
def _addresses() -> tuple[int, ...]:
    """Return the addresses of what compiled code calls, of the library that mpi4py has loaded."""
    from mpi4py import MPI

    library, system = ctypes.CDLL(MPI.__file__), ctypes.CDLL(None)
    functions = library.MPI_Startall, library.MPI_Testall, system.sched_yield, system.usleep
    return tuple(ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
