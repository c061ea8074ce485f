"""Messages between ranks at one place of a program, packed for MPI.

    from  to   source   destination   bytes
    0     1    4096     4096          512        a row that a vertex on rank 1 reads
    1     0    8192     8192          512

The rows are in the same order on all ranks, so that sender and receiver agree without
communication. Pieces are cut where runs start and end::

    pieces      [--------)     [---)           0: 0-9     1: 15-19
    runs        [---)[-----------)             0: 0-4     1: 4-17
    crossings   [---)[---)     [-)             0, 0    0, 1    1, 1

Each byte of the arena has an owner, whose arena contains the authoritative value::

    tiles        0 ... 367          368 ... 735        736 ... 1471
    ranks        0                  1                  2
    variables    by the tiles of their elements
    blocks       0: the data that the host reads and writes
    constants    owned by all, since they never change; so is the state of vertices

MPI packs them: it sends pieces of memory in place, a single piece as bytes, several pieces as a
datatype of blocks. `poplite.mpi.joint_runs` starts the requests.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.compile.lower_copies import copied_runs
from poplite.executable import encoding as op
from poplite.executable.encoding import Moves
from poplite.executable.parts import ArenaLayout, Origins, StoredVariable
from poplite.frozen import frozen

if TYPE_CHECKING:
    from mpi4py.MPI import Prequest

T = TypeVar("T")
Bytes = npt.NDArray[np.uint8]

# -- runs ------------------------------------------------------------------------------------------


@frozen(eq=False)
class RunOverlaps:
    """The intersections of pieces with runs.

    Attributes:
        piece: int64[n], number of the piece, ascending.
        run: int64[n], number of the run.
        begin: int64[n], first byte.
        end: int64[n], the byte after the last.
    """

    piece: Int64
    run: Int64
    begin: Int64
    end: Int64


def crossings(begin: Int64, end: Int64, starts: Int64, stops: Int64) -> RunOverlaps:
    """Return the intersections of pieces, in any order, with ascending disjoint runs.

    >>> pieces = np.array([0, 15]), np.array([9, 19])
    >>> found = crossings(*pieces, np.array([0, 4]), np.array([4, 17]))
    >>> found.piece.tolist(), found.run.tolist()
    ([0, 0, 1], [0, 1, 1])
    >>> found.begin.tolist(), found.end.tolist()
    ([0, 4, 15], [4, 9, 17])
    """
    first = np.searchsorted(stops, begin, side="right")
    last = np.searchsorted(starts, end, side="left")
    count = np.where(end > begin, np.maximum(last - first, 0), 0)
    piece = np.repeat(np.arange(len(begin)), count)
    run = first[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    return RunOverlaps(
        piece, run, np.maximum(begin[piece], starts[run]), np.minimum(end[piece], stops[run])
    )


def united(key: Int64, begin: Int64, end: Int64) -> tuple[Int64, Int64, Int64]:
    """Return pieces in ascending order of key and begin, merged if they overlap or are adjacent.

    >>> begin, end = np.array([4, 0, 0]), np.array([9, 5, 2])
    >>> [each.tolist() for each in united(np.array([1, 1, 0]), begin, end)]
    [[0, 1], [0, 0], [2, 9]]
    """
    order = np.lexsort((begin, key))
    key, begin, end = key[order], begin[order], end[order]
    if not len(key):
        return key, begin, end
    room = int(end.max()) + 1  # keeps pieces of different keys from being adjacent
    reached = np.maximum.accumulate(end + key * room)
    is_first = np.append(True, begin[1:] + key[1:] * room > reached[:-1])
    first = np.flatnonzero(is_first)
    stops = reached[np.append(first[1:], len(key)) - 1] - key[first] * room
    return key[first], begin[first], stops


# -- owners ----------------------------------------------------------------------------------------


EVERYONE = -1
"""In place of a rank, for bytes that never change: each rank has its own copy."""

HOST = 0
"""The rank of the host; it also owns data without a tile."""


@frozen(eq=False)
class Owners:
    """The owner of every byte before the temporaries.

    Attributes:
        begin: int64[runs], first byte of each run; all bytes up to the next run have one owner.
        rank: int64[runs], the owner of each run.
        end: the byte after all runs.
        cut: the first tile of each rank except rank 0, ascending.
    """

    begin: Int64
    rank: Int64
    end: int
    cut: Int64

    @property
    def stops(self) -> Int64:
        """The byte after each run: int64[runs]."""
        return np.append(self.begin[1:], self.end)

    @property
    def num_ranks(self) -> int:
        """Number of ranks."""
        return len(self.cut) + 1

    def runs_of(self, rank: int) -> tuple[Int64, Int64]:
        """Return the starts and ends of the runs that a rank owns, or has a copy of."""
        own = (self.rank == rank) | (self.rank == EVERYONE)
        return self.begin[own], self.stops[own]

    def hold(self, rank: Int64, begin: Int64, end: Int64) -> npt.NDArray[np.bool_]:
        """Return which runs of bytes are within runs that their ranks own, or have a copy of."""
        run = np.searchsorted(self.begin, begin, side="right") - 1
        owner = self.rank[run]
        return np.asarray((end <= self.stops[run]) & ((owner == rank) | (owner == EVERYONE)))

    def of_byte(self, position: int) -> int:
        """Return the owner of one byte."""
        return int(self.rank[np.searchsorted(self.begin, position, side="right") - 1])

    def of_vertices(self, origins: Origins) -> Int64:
        """Return the rank of each vertex of a compute set, int64[vertices]."""
        return ranks_of(origins.tile_of.array(), self.cut)


def owners_of(layout: ArenaLayout, cut: Sequence[int]) -> Owners:
    """Return the owners of the bytes of an arena; `cut` is the first tile of ranks 1, 2, ..."""
    firsts = np.array(cut, np.int64)
    bases = layout.byte_positions(np.array([v.base for v in layout.variables], np.int64))
    begins, ranks = [np.zeros(1, np.int64)], [np.full(1, HOST)]
    for variable, base in zip(layout.variables, bases.tolist(), strict=True):
        if variable.num_elements:
            first, rank = _pieces(variable, firsts)
            begins.append(base + first * variable.element_type.size_bytes)
            ranks.append(rank)
    blocks = layout.blocks
    begins.append(np.array([blocks.start, blocks.stop]))
    ranks.append(np.array([HOST, EVERYONE]))
    begin, rank = np.concatenate(begins), np.concatenate(ranks)
    # Among empty runs, the last one gives the owner of the bytes that follow.
    is_last = np.append(begin[1:] > begin[:-1], True)
    begin, rank = begin[is_last], rank[is_last]
    changes = np.append(True, rank[1:] != rank[:-1])
    return Owners(begin[changes], rank[changes], layout.temporary_base, firsts)


def _pieces(variable: StoredVariable, cut: Int64) -> tuple[Int64, Int64]:
    """Return the first element and the rank of each piece of a variable."""
    if variable.constant:
        return np.zeros(1, np.int64), np.full(1, EVERYONE)
    if variable.pieces is None:
        return np.zeros(1, np.int64), np.full(1, HOST)
    tile = variable.pieces.tile.array()
    return variable.pieces.first.array(), np.where(tile < 0, HOST, ranks_of(tile, cut))


def ranks_of(tiles: Int64, cut: Int64) -> Int64:
    """Return the ranks that own tiles.

    >>> ranks_of(np.array([0, 5, 3]), np.array([3, 5])).tolist()
    [0, 2, 1]
    """
    return np.searchsorted(cut, tiles, side="right")


# -- moved pieces ----------------------------------------------------------------------------------


@frozen(eq=False)
class CopiedPieces:
    """Pieces of bytes that are copied.

    Attributes:
        to: int64[pieces], first byte of each destination.
        start: int64[pieces], first byte of each source.
        size: int64[pieces], number of bytes of each piece.
    """

    to: Int64
    start: Int64
    size: Int64

    def __len__(self) -> int:
        return len(self.size)

    def chosen(self, which: npt.NDArray[np.bool_] | Int64) -> CopiedPieces:
        """Return the selected pieces."""
        return CopiedPieces(self.to[which], self.start[which], self.size[which])

    def cut_at_sources(self, starts: Int64, stops: Int64) -> tuple[CopiedPieces, Int64]:
        """Return the pieces that come from the given runs, each with the number of its run."""
        found = crossings(self.start, self.start + self.size, starts, stops)
        before = found.begin - self.start[found.piece]
        to = self.to[found.piece] + before
        return CopiedPieces(to, found.begin, found.end - found.begin), found.run

    def cut_at_destinations(self, starts: Int64, stops: Int64) -> tuple[CopiedPieces, Int64]:
        """Return the pieces that go to the given runs, each with the number of its run."""
        there, run = CopiedPieces(self.start, self.to, self.size).cut_at_sources(starts, stops)
        return CopiedPieces(there.start, there.to, there.size), run

    def moves(self) -> Moves:
        """Return the copies as moves with few records."""
        return copied_runs((self.to, self.size), (self.start, self.size))


def reach(moves: Moves) -> tuple[Int64, Int64, Int64, Int64]:
    """Return, for each record, the first byte and one past the last: of destination, of source."""
    records = moves.records
    if not len(records):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    found = []
    to, start, rows, size, far, near = records.T
    for first, step in ((to, far), (start, near)):
        across = np.where(size == 0, 0, (rows - 1) * step)
        found += [first + np.minimum(across, 0), first + np.maximum(across, 0) + size]
    for record in np.flatnonzero(size == 0).tolist():
        listed = moves.pieces[far[record] : far[record] + rows[record]].astype(np.int64)
        for side, first in enumerate((to, start)):
            found[2 * side + 1][record] = first[record] + (listed[:, side] + listed[:, 2]).max()
    return found[0], found[1], found[2], found[3]


# -- messages --------------------------------------------------------------------------------------


@frozen(eq=False)
class Messages:
    """Pieces of bytes to send, ordered by sender, receiver and destination.

    Attributes:
        sender: int64[pieces], the rank that sends.
        receiver: int64[pieces], the rank that receives.
        pieces: sources and destinations.
        replica_map: for each replica, the one that receives its pieces; None if each replica sends
            to itself.
    """

    sender: Int64
    receiver: Int64
    pieces: CopiedPieces
    replica_map: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.sender)


_NO_RANKS = np.zeros(0, np.int64)

NOTHING = Messages(_NO_RANKS, _NO_RANKS, CopiedPieces(_NO_RANKS, _NO_RANKS, _NO_RANKS))


def messages(
    sender: Int64,
    receiver: Int64,
    pieces: CopiedPieces,
    replica_map: tuple[int, ...] | None = None,
) -> Messages:
    """Return messages in order; pieces that stay on their rank are omitted."""
    leaves = np.flatnonzero((sender != receiver) & (sender != EVERYONE))
    order = leaves[np.lexsort((pieces.to[leaves], receiver[leaves], sender[leaves]))]
    return Messages(sender[order], receiver[order], pieces.chosen(order), replica_map)


def brought(rank: Int64, begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that send runs of bytes from their owners to ranks, each byte once."""
    owner, reader, first, last = _with_owners(rank, begin, end, owners)
    return messages(owner, reader, CopiedPieces(first, first, last - first))


def return_messages(rank: Int64, begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that send runs of bytes from ranks to their owners."""
    owner, writer, first, last = _with_owners(rank, begin, end, owners)
    return messages(writer, owner, CopiedPieces(first, first, last - first))


def _with_owners(
    rank: Int64, begin: Int64, end: Int64, owners: Owners
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return owner, rank, start and end of each run of bytes that a rank accesses on another."""
    found = crossings(begin, end, owners.begin, owners.stops)
    owner, other = owners.rank[found.run], rank[found.piece]
    leaves = np.flatnonzero((owner != other) & (owner != EVERYONE))
    count = owners.num_ranks
    key = owner[leaves] * count + other[leaves]
    key, first, last = united(key, found.begin[leaves], found.end[leaves])
    return key // count, key % count, first, last


def to_everyone(begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that send runs of bytes to all ranks."""
    count = owners.num_ranks
    ranks = np.repeat(np.arange(count), len(begin))
    return brought(ranks, np.tile(begin, count), np.tile(end, count), owners)


def in_tree(begin: int, end: int, owners: Owners) -> list[Messages]:
    """Return rounds of messages that send a run to all ranks; each doubles the ranks that have it.

    owner 3 of 6 ranks    3 -> 4     3 -> 5, 4 -> 0     3 -> 1, 4 -> 2
    """
    owner, count = owners.of_byte(begin), owners.num_ranks
    if owner == EVERYONE:
        return []
    found, known = [], 1
    while known < count:
        distance = np.arange(min(known, count - known))  # from the owner
        ranks = (owner + distance) % count, (owner + distance + known) % count
        place, size = np.full(len(distance), begin), np.full(len(distance), end - begin)
        found.append(messages(*ranks, CopiedPieces(place, place, size)))
        known *= 2
    return found


def to_rank(rank: int, begin: Int64, end: Int64, owners: Owners) -> Messages:
    """Return the messages that send runs of bytes to one rank."""
    return brought(np.full(len(begin), rank), begin, end, owners)


def handed_on(before: Owners, after: Owners, size: int) -> Messages:
    """Return the messages that send the first `size` bytes from their owners to new owners."""
    ends = np.minimum(before.stops, size)
    found = crossings(before.begin, ends, after.begin, after.stops)
    pieces = CopiedPieces(found.begin, found.begin, found.end - found.begin)
    return messages(before.rank[found.piece], after.rank[found.run], pieces)


# -- MPI requests ----------------------------------------------------------------------------------


@frozen(eq=False)
class RankMessage:
    """A message that this rank sends to another one, or receives from it.

    Attributes:
        rank: the other rank.
        is_sent: whether it is sent.
        begin: int64[pieces], position of each piece's first byte.
        size: int64[pieces], number of bytes of each piece.
    """

    rank: int
    is_sent: bool
    begin: Int64
    size: Int64


def parts_of(messages: Messages, rank: int) -> Iterator[RankMessage]:
    """Yield the messages that a rank receives and sends, in order of the other rank."""
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
    """Return the tag for messages of programs, which are persistent, or of single calls."""
    return 2 * series + is_kept


def requests(
    messages: Messages,
    rank: int,
    memory: Sequence[Bytes],
    makers: tuple[Callable[..., T], Callable[..., T]],
    tag: int,
) -> list[tuple[int, T]]:
    """Return the requests of a rank, each with its peer.

    `memory` contains the bytes of each replica; `makers` are the methods of a communicator that
    make requests to receive and to send.
    """
    found = []
    to = messages.replica_map or range(len(memory))
    for part in parts_of(messages, rank):
        make = makers[part.is_sent]
        for source in range(len(memory)):  # sender and receiver use the source's order
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
    kind.Free()  # the request keeps it alive
    return request


class KeptExchange:
    """An exchange of a program; compiled code reads `words` (`poplite.executable.encoding`)."""

    def __init__(self, spins: int) -> None:
        self.words = np.zeros(op.EXCHANGE_WORDS, np.int64)
        self.words[op.EXCHANGE_STARTALL : op.EXCHANGE_SLEEP + 1] = _addresses()
        self.words[op.EXCHANGE_SPINS] = spins
        self.requests: list[tuple[int, Prequest]] = []

    def take(self, made: Sequence[tuple[int, Prequest]]) -> None:
        """Use the given requests from now on."""
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
        """Free the requests; MPI completes those in progress."""
        if not self.words[op.EXCHANGE_STARTED]:
            for _, request in self.requests:
                request.Free()
        self.requests = []


@cache
def _addresses() -> tuple[int, ...]:
    """Return the addresses of the functions that compiled code calls, in mpi4py's library."""
    from mpi4py import MPI

    library, system = ctypes.CDLL(MPI.__file__), ctypes.CDLL(None)
    functions = library.MPI_Startall, library.MPI_Testall, system.sched_yield, system.usleep
    return tuple(ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
