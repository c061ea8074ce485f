"""What ranks send each other at one place of a program.

    from  to   source   destination   bytes
    0     1    4096     4096          512        a row that a vertex of rank 1 reads
    1     0    8192     8192          512

The rows are in one order on all ranks, so that sender and receiver agree without a word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.mpi.plan.moved_pieces import CopiedPieces
from poplite.mpi.plan.owners import EVERYONE, Owners
from poplite.mpi.plan.runs import crossings, joined

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Pieces of bytes that are sent, by sender, receiver and destination.

    Attributes:
        sender: int64[pieces], rank.
        receiver: int64[pieces], rank.
        pieces: where they come from and go to.
        replica_map: for each replica the one that gets its pieces; None where each keeps them.
    """

    sender: Integers
    receiver: Integers
    pieces: CopiedPieces
    replica_map: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.sender)


_NO_RANKS = np.zeros(0, np.int64)

NOTHING = Messages(_NO_RANKS, _NO_RANKS, CopiedPieces(_NO_RANKS, _NO_RANKS, _NO_RANKS))


def messages(
    sender: Integers,
    receiver: Integers,
    pieces: CopiedPieces,
    replica_map: tuple[int, ...] | None = None,
) -> Messages:
    """Return messages in their order; pieces that stay on their rank are left out."""
    leaves = np.flatnonzero((sender != receiver) & (sender != EVERYONE))
    order = leaves[np.lexsort((pieces.to[leaves], receiver[leaves], sender[leaves]))]
    return Messages(sender[order], receiver[order], pieces.chosen(order), replica_map)


def brought(rank: Integers, begin: Integers, end: Integers, owners: Owners) -> Messages:
    """Return the messages that bring runs of bytes from their owners to ranks, each byte once."""
    owner, reader, first, last = _with_owners(rank, begin, end, owners)
    return messages(owner, reader, CopiedPieces(first, first, last - first))


def returned(rank: Integers, begin: Integers, end: Integers, owners: Owners) -> Messages:
    """Return the messages that bring runs of bytes from ranks to their owners."""
    owner, writer, first, last = _with_owners(rank, begin, end, owners)
    return messages(writer, owner, CopiedPieces(first, first, last - first))


def _with_owners(
    rank: Integers, begin: Integers, end: Integers, owners: Owners
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return owner, rank, begin and end of what ranks touch elsewhere."""
    found = crossings(begin, end, owners.begin, owners.stops)
    owner, other = owners.rank[found.run], rank[found.piece]
    leaves = np.flatnonzero((owner != other) & (owner != EVERYONE))
    count = owners.num_ranks
    key = owner[leaves] * count + other[leaves]
    key, first, last = joined(key, found.begin[leaves], found.end[leaves])
    return key // count, key % count, first, last


def to_everyone(begin: Integers, end: Integers, owners: Owners) -> Messages:
    """Return the messages that bring runs of bytes to all ranks."""
    count = owners.num_ranks
    ranks = np.repeat(np.arange(count), len(begin))
    return brought(ranks, np.tile(begin, count), np.tile(end, count), owners)


def in_tree(begin: int, end: int, owners: Owners) -> list[Messages]:
    """Return what brings a run of bytes of one owner to all ranks, each time to twice as many.

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


def to_rank(rank: int, begin: Integers, end: Integers, owners: Owners) -> Messages:
    """Return the messages that bring runs of bytes to one rank."""
    return brought(np.full(len(begin), rank), begin, end, owners)


def handed_on(before: Owners, after: Owners, size: int) -> Messages:
    """Return the messages that bring the first bytes from their owners to others."""
    ends = np.minimum(before.stops, size)
    found = crossings(before.begin, ends, after.begin, after.stops)
    pieces = CopiedPieces(found.begin, found.begin, found.end - found.begin)
    return messages(before.rank[found.piece], after.rank[found.run], pieces)
