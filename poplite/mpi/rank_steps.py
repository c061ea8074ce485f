"""The steps of one rank: its own vertices, its own parts of copies, and what surrounds them.

compute set    messages before    what vertices read or write elsewhere; a vertex may leave
                                  elements of an Output, and all of it comes back
               gather ... scatter of own vertices
               messages after     elements that they wrote on other ranks
copy           messages before    from the owner of the source straight to the destination
               what stays on this rank

The vertices of one rank: descriptor rows cut where its vertices begin and end.

    row        6 vertices from number 10, x.start 0, +64      ranks 0 0 0 1 1 1
    rank 1     3 vertices from number 13, x.start 192, +64

Affine columns begin later, flat ones later in their table; tables stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poplite.compile.copies import NO_MOVES
from poplite.executable.descriptor import COUNT, positions
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves, joined
from poplite.executable.step import ComputeStep, CopyStep, Vertices
from poplite.frozen import frozen
from poplite.mpi.messages import (
    EVERYONE,
    NOTHING,
    CopiedPieces,
    Messages,
    Owners,
    brought,
    crossings,
    merged,
    messages,
    reach,
    returned,
)
from poplite.simulator.run.touched import numbers_and_rows, numbers_within

Integers = npt.NDArray[np.int64]


@frozen(eq=False)
class RankStep:
    """A step as one rank runs it.

    Attributes:
        before: the messages between ranks before it.
        after: the messages between ranks after it.
        vertex_ranks: int64[vertices], the rank of each vertex; none for a Copy.
    """

    step: ComputeStep | CopyStep
    before: Messages
    after: Messages
    vertex_ranks: Integers


def rank_steps(executable: Executable, owners: Owners, rank: int) -> list[RankStep]:
    """Return all steps of an executable as a rank runs them."""
    found: list[RankStep] = []
    origins = iter(executable.origins)
    for step in executable.steps:
        if isinstance(step, CopyStep):
            found.append(_copy_of_rank(step, owners, rank))
        else:
            found.append(_compute_of_rank(step, owners, owners.of_vertices(next(origins)), rank))
    return found


# -- compute sets ----------------------------------------------------------------------------


@frozen(eq=False)
class _Touched:
    """Runs of bytes that vertices touch.

    Attributes:
        rank: int64[runs], rank of the vertex.
        begin: int64[runs], first byte.
        end: int64[runs], the byte after the last.
        writes: bool[runs], whether the vertex may write there.
    """

    rank: Integers
    begin: Integers
    end: Integers
    writes: npt.NDArray[np.bool_]


def _compute_of_rank(
    step: ComputeStep, owners: Owners, vertex_ranks: Integers, rank: int
) -> RankStep:
    numbers, touched = _touched(step, vertex_ranks, owners)
    here = owners.end
    is_direct, is_temporary = touched.begin < here, touched.begin >= here
    temporaries = _by_rank(touched, is_temporary, owners.num_ranks)
    gathered = [_cut(step.gather, each, at_source=False) for each in temporaries]
    scattered = [_cut(step.scatter, each, at_source=True) for each in temporaries]

    reads = [(touched.rank[is_direct], touched.begin[is_direct], touched.end[is_direct])]
    is_written = is_direct & touched.writes
    writes = [(touched.rank[is_written], touched.begin[is_written], touched.end[is_written])]
    for number, (into, back) in enumerate(zip(gathered, scattered, strict=True)):
        reads.append((np.full(len(into), number), into.start, into.start + into.size))
        writes.append((np.full(len(back), number), back.to, back.to + back.size))
    own_writes = _by_rank(touched, is_written, owners.num_ranks)[rank]
    own = replace(
        step,
        num_vertices=int(np.count_nonzero(vertex_ranks == rank)),
        groups=tuple(
            taken(group, vertex_ranks[own] == rank)
            for group, own in zip(step.groups, numbers, strict=True)
        ),
        gather=_moves(step.gather, gathered[rank]),
        scatter=_moves(step.scatter, scattered[rank]),
        save=_moves(step.save, _cut(step.save, own_writes, at_source=True)),
        restore=_moves(step.restore, _cut(step.restore, own_writes, at_source=False)),
    )
    before, after = brought(*_columns(reads), owners), returned(*_columns(writes), owners)
    return RankStep(own, before, after, vertex_ranks)


def _touched(
    step: ComputeStep, vertex_ranks: Integers, owners: Owners
) -> tuple[list[Integers], _Touched]:
    """Return the numbers of each group's vertices, and what they touch.

    What a vertex touches of its own rank is left out, unless it is saved before it is written.
    """
    numbers, ranks, begins, ends, writes = [], [], [], [], []
    for group in step.groups:
        own, fields = numbers_and_rows(group)
        numbers.append(own)
        for rows in fields:
            size = rows.field.element.size_bytes
            begin, rank = rows.start * size, vertex_ranks[rows.vertex]
            end = begin + rows.length * size
            some = end > begin
            if not (rows.field.writes and len(step.save.records)):
                some &= ~owners.hold(rank, begin, end)
            ranks.append(rank[some])
            begins.append(begin[some])
            ends.append(end[some])
            writes.append(np.full(len(begins[-1]), rows.field.writes))
    none = np.zeros(0, np.int64)
    return numbers, _Touched(
        np.concatenate([none, *ranks]),
        np.concatenate([none, *begins]),
        np.concatenate([none, *ends]),
        np.concatenate([np.zeros(0, np.bool_), *writes]),
    )


def _by_rank(
    touched: _Touched, which: npt.NDArray[np.bool_], count: int
) -> list[tuple[Integers, Integers]]:
    """Return begin and end of some of the runs of each rank, rising and disjoint."""
    rank, begin, end = merged(touched.rank[which], touched.begin[which], touched.end[which])
    bounds = np.searchsorted(rank, np.arange(count + 1))
    spans = [slice(bounds[number], bounds[number + 1]) for number in range(count)]
    return [(begin[span], end[span]) for span in spans]


def _cut(moves: Moves, runs: tuple[Integers, Integers], *, at_source: bool) -> CopiedPieces:
    """Return what copies bring from some runs, or to them."""
    pieces = CopiedPieces(*moves.blocks())
    found = pieces.cut_at_sources(*runs) if at_source else pieces.cut_at_destinations(*runs)
    return found[0]


def _moves(whole: Moves, own: CopiedPieces) -> Moves:
    """Return the copies of own pieces; as they were, where that is all of them."""
    if not len(own):
        return NO_MOVES
    return whole if int(own.size.sum()) == whole.size_bytes else own.moves()


def _columns(
    parts: Sequence[tuple[Integers, Integers, Integers]],
) -> tuple[Integers, Integers, Integers]:
    rank, begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rank, begin, end


# -- copies ----------------------------------------------------------------------------------


def _copy_of_rank(step: CopyStep, owners: Owners, rank: int) -> RankStep:
    to, start = _whole_records(step.moves, owners)
    is_whole = (to >= 0) & ((start == to) | (start == EVERYONE))
    kept = Moves(step.moves.records[is_whole & (to == rank)], step.moves.pieces)
    pieces = CopiedPieces(*Moves(step.moves.records[~is_whole], step.moves.pieces).blocks())
    pieces, run = pieces.cut_at_sources(owners.begin, owners.stops)
    sender = owners.rank[run]
    found = crossings(pieces.to, pieces.to + pieces.size, owners.begin, owners.stops)
    sender = sender[found.piece]
    receiver = owners.rank[found.run]
    before = found.begin - pieces.to[found.piece]
    pieces = CopiedPieces(found.begin, pieces.start[found.piece] + before, found.end - found.begin)
    stays = (receiver == rank) & ((sender == rank) | (sender == EVERYONE))
    own = pieces.chosen(stays)
    parts = [kept, own.moves()] if len(own) else [kept]
    moves = joined(parts) if len(parts) > 1 else kept
    sent = messages(sender, receiver, pieces, step.replica_map)
    return RankStep(replace(step, moves=moves), sent, NOTHING, np.zeros(0, np.int64))


def _whole_records(moves: Moves, owners: Owners) -> tuple[Integers, Integers]:
    """Return the owner of all of each record's destination, and of its source.

    Several owners are -2.
    """
    to, to_end, start, start_end = reach(moves)
    return _only_owner(to, to_end, owners), _only_owner(start, start_end, owners)


def _only_owner(begin: Integers, end: Integers, owners: Owners) -> Integers:
    first = np.searchsorted(owners.begin, begin, side="right") - 1
    last = np.searchsorted(owners.begin, end, side="left") - 1
    return np.where(first == last, owners.rank[first], -2)


# -- taken vertices --------------------------------------------------------------------------------


def taken(group: Vertices, is_taken: npt.NDArray[np.bool_]) -> Vertices:
    """Return some vertices of a group: bool[vertices], run by run; there may be none.

    A group without vertices still names its class.
    """
    counts = group.rows[:, COUNT]
    if is_taken.all():
        return group
    row = np.repeat(np.arange(len(counts)), counts)
    within = numbers_within(counts)
    goes_on = np.append(False, (row[1:] == row[:-1]) & is_taken[:-1]) if len(row) else is_taken
    first = np.flatnonzero(is_taken & ~goes_on)
    count = np.diff(np.append(np.cumsum(is_taken)[first] - 1, np.count_nonzero(is_taken)))
    rows, skipped = group.rows[row[first]], within[first]
    for column, at in positions(group.columns):
        if column.kind == "affine":
            rows[:, at] += skipped * rows[:, at + 1]
        elif column.kind == "flat":
            rows[:, at + 1] += skipped
    rows[:, COUNT] = count
    weights = np.maximum(group.weights[row[first]] * count // counts[row[first]], 1)
    return replace(group, rows=rows, weights=weights)
