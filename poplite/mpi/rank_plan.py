"""Plan the executable of one rank, with the exchanges in which all ranks take part.

    executable of the graph      the same on all ranks
    -> owners                    from the tiles of elements and vertices
    -> steps of the rank         own vertices and parts of copies, messages before and after them
    -> programs                  with an EXCHANGE where a step, a decision or the host needs
                                 data of other ranks

Rows are inserted before and after others, the same on all ranks; a jump to a row becomes a jump to
the first row inserted before it::

    REPEAT      10 times, else row 3          REPEAT      10 times, else row 5
      LAUNCH    'blur', COMPUTE                 EXCHANGE  0: remote data that 'blur' accesses
    AGAIN       row 1                           LAUNCH    'blur', COMPUTE
    END                                         EXCHANGE  1: remote data that it wrote
                                              AGAIN       row 1
                                              END
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.compile.lower_copies import NO_MOVES
from poplite.compile.places import joined_columns
from poplite.cost.step_cost import tile_cycles
from poplite.executable import encoding as op, parts as compiled
from poplite.executable.encoding import COUNT_WORD, Code, Moves, joined_moves, positions
from poplite.executable.executable import Executable
from poplite.frozen import frozen
from poplite.mpi.message_packing import (
    EVERYONE,
    HOST,
    NOTHING,
    CopiedPieces,
    Messages,
    Owners,
    brought,
    crossings,
    in_tree,
    messages,
    reach,
    return_messages,
    to_everyone,
    to_rank,
    united,
)
from poplite.simulator.run.slot_counts import known_slots
from poplite.simulator.run.touched import numbers_and_rows, numbers_within, vertex_numbers

# -- tiles of each rank ----------------------------------------------------------------------------
# Each rank gets a contiguous range of tiles, all with about equal work.
#     work of tiles    5 5 5 5 20 5 5 10        60, or 20 per rank
#     3 ranks          [5 5 5 5][20][5 5 10]    cut at 4 and 5
# Work is the modelled cycles of vertices, times the counts of Repeats; for classes whose cycles
# depend on data, it is a guess. If costs are not modelled, it is the number of elements that
# vertices access. A boundary between IPUs is preferred if it is near.

NEAR = 0.05
"""A boundary between IPUs is preferred if it moves at most this fraction of a rank's work."""


def equal_cut(executable: Executable, count: int) -> list[int]:
    """Return the first tile of each rank except rank 0, so that ranks get about equal work."""
    target = executable.target
    work = _work(executable, target.tiles)
    if not work.any():
        work[:] = 1
    return cut_of_work(work, count, target.tiles_per_ipu)


def cut_of_work(work: npt.NDArray[np.float64], count: int, tiles_per_ipu: int) -> list[int]:
    """Return the first tile of each rank except rank 0, from the work of tiles.

    >>> cut_of_work(np.array([5.0, 5, 5, 5, 20, 5, 5, 10]), 3, 8)
    [4, 5]
    """
    total = np.append(0, np.cumsum(work))
    goals = total[-1] * np.arange(1, count) / count
    cut = np.searchsorted(total, goals)
    # The tile in which a target sum is reached goes to the side that is nearer to the target.
    cut -= total[cut] - goals > goals - total[np.maximum(cut - 1, 0)]
    of_ipu = np.round(cut / tiles_per_ipu).astype(np.int64) * tiles_per_ipu
    of_ipu = np.clip(of_ipu, 0, len(work))
    is_near = np.abs(total[of_ipu] - total[cut]) <= NEAR * total[-1] / count
    cut = np.where(is_near & (of_ipu > 0) & (of_ipu < len(work)), of_ipu, cut)
    return [int(tile) for tile in np.maximum.accumulate(cut)]


def _work(executable: Executable, tiles: int) -> npt.NDArray[np.float64]:
    """Return the work of each tile."""
    work = np.zeros(tiles)
    origins = iter(executable.origins)
    for number, (step, times) in enumerate(zip(executable.steps, _times(executable), strict=True)):
        if not isinstance(step, compiled.ComputeStep):
            continue
        tile_of = next(origins).tile_of
        if executable.costs:
            vertices, target = executable.costs[number].vertices, executable.target
            slots = [known_slots(each, target)[0] for each in vertices]
            work += times * tile_cycles(vertices, slots, target).array()
            continue
        for group in step.groups:
            counts = group.rows[:, COUNT_WORD]
            each = np.repeat(group.weights / np.maximum(counts, 1), counts)
            at = tile_of.array()[vertex_numbers(group)]
            work += times * np.bincount(at, each, minlength=tiles)
    return work


def _times(executable: Executable) -> npt.NDArray[np.float64]:
    """Return how often each step runs if all programs run once, for control flow without data."""
    times = np.zeros(len(executable.steps))
    for code in executable.programs.values():
        rows = code.step_rows
        np.add.at(times, code.ops[rows, 1], _executions(code.ops)[rows])
    return times


def _executions(ops: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return how often each row runs, from the counts of Repeats and the calls to functions."""
    kinds, rows = ops[:, 0], np.arange(len(ops))
    within = np.ones(len(ops))
    for row in np.flatnonzero(kinds == op.REPEAT).tolist():
        within[row + 1 : ops[row, 3]] *= ops[row, 2]
    calls = np.flatnonzero(kinds == op.CALL)
    begins = np.unique(ops[calls, 1])
    function = np.searchsorted(begins, rows, "right")  # 0 for the program
    called = 1 + np.searchsorted(begins, ops[calls, 1])
    entered = np.append(1.0, np.zeros(len(begins)))
    for _ in begins:  # calls are nested at most as deep as there are functions
        before = entered.copy()
        entered[1:] = 0
        np.add.at(entered, called, (within * before[function])[calls])
    times: npt.NDArray[np.float64] = within * entered[function]
    return times


# -- the steps of one rank -------------------------------------------------------------------------
# compute set    messages before    remote data that vertices read or write: the whole of an Output,
#                                   since it is sent back whole and may be partly unwritten
#                gather ... scatter for own vertices
#                messages after     elements that own vertices wrote on other ranks
# copy           messages before    from the owner of the source directly to the destination
#                pieces that stay on this rank


@frozen(eq=False)
class RankStep:
    """The part of a step that one rank runs.

    Attributes:
        before: the messages between ranks before it.
        after: the messages between ranks after it.
        vertex_ranks: int64[vertices], the rank of each vertex; empty for a Copy.
    """

    step: compiled.ComputeStep | compiled.CopyStep
    before: Messages
    after: Messages
    vertex_ranks: Int64


def rank_steps(executable: Executable, owners: Owners, rank: int) -> list[RankStep]:
    """Return the parts of all steps of an executable that a rank runs."""
    found: list[RankStep] = []
    origins = iter(executable.origins)
    for step in executable.steps:
        if isinstance(step, compiled.CopyStep):
            found.append(_copy_of_rank(step, owners, rank))
        else:
            found.append(_compute_of_rank(step, owners, owners.of_vertices(next(origins)), rank))
    return found


# -- compute sets ----------------------------------------------------------------------------------


@frozen(eq=False)
class _Touched:
    """Runs of bytes that vertices access.

    Attributes:
        rank: int64[runs], rank of the vertex.
        begin: int64[runs], first byte.
        end: int64[runs], the byte after the last.
        writes: bool[runs], whether the vertex may write there.
    """

    rank: Int64
    begin: Int64
    end: Int64
    writes: npt.NDArray[np.bool_]


def _compute_of_rank(
    step: compiled.ComputeStep, owners: Owners, vertex_ranks: Int64, rank: int
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
            subset(group, vertex_ranks[own] == rank)
            for group, own in zip(step.groups, numbers, strict=True)
        ),
        gather=_moves(step.gather, gathered[rank]),
        scatter=_moves(step.scatter, scattered[rank]),
        save=_moves(step.save, _cut(step.save, own_writes, at_source=True)),
        restore=_moves(step.restore, _cut(step.restore, own_writes, at_source=False)),
    )
    before = brought(*joined_columns(reads), owners)
    after = return_messages(*joined_columns(writes), owners)
    return RankStep(own, before, after, vertex_ranks)


def _touched(
    step: compiled.ComputeStep, vertex_ranks: Int64, owners: Owners
) -> tuple[list[Int64], _Touched]:
    """Return the numbers of each group's vertices, and the runs that they access.

    Runs on a vertex's own rank are omitted, unless they are saved before they are written.
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
) -> list[tuple[Int64, Int64]]:
    """Return starts and ends of the selected runs of each rank, ascending and disjoint."""
    rank, begin, end = united(touched.rank[which], touched.begin[which], touched.end[which])
    bounds = np.searchsorted(rank, np.arange(count + 1))
    spans = [slice(bounds[number], bounds[number + 1]) for number in range(count)]
    return [(begin[span], end[span]) for span in spans]


def _cut(moves: Moves, runs: tuple[Int64, Int64], *, at_source: bool) -> CopiedPieces:
    """Return the pieces that copies move from the given runs, or to them."""
    pieces = CopiedPieces(*moves.blocks())
    found = pieces.cut_at_sources(*runs) if at_source else pieces.cut_at_destinations(*runs)
    return found[0]


def _moves(whole: Moves, own: CopiedPieces) -> Moves:
    """Return the copies of own pieces; `whole` unchanged if all pieces are own."""
    if not len(own):
        return NO_MOVES
    return whole if int(own.size.sum()) == whole.size_bytes else own.moves()


# -- copies ----------------------------------------------------------------------------------------


def _copy_of_rank(step: compiled.CopyStep, owners: Owners, rank: int) -> RankStep:
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
    moves = joined_moves(parts) if len(parts) > 1 else kept
    sent = messages(sender, receiver, pieces, step.replica_map)
    return RankStep(replace(step, moves=moves), sent, NOTHING, np.zeros(0, np.int64))


def _whole_records(moves: Moves, owners: Owners) -> tuple[Int64, Int64]:
    """Return the owner of each record's destination, and of its source; -2 for several owners."""
    to, to_end, start, start_end = reach(moves)
    return _only_owner(to, to_end, owners), _only_owner(start, start_end, owners)


def _only_owner(begin: Int64, end: Int64, owners: Owners) -> Int64:
    first = np.searchsorted(owners.begin, begin, side="right") - 1
    last = np.searchsorted(owners.begin, end, side="left") - 1
    return np.where(first == last, owners.rank[first], -2)


# -- subsets of vertices ---------------------------------------------------------------------------
# Descriptor rows are cut at the first and last vertices of a rank.
#
#     row        6 vertices from number 10, x.start 0, +64      ranks 0 0 0 1 1 1
#     rank 1     3 vertices from number 13, x.start 192, +64
# Starts of affine columns and table positions of flat columns advance; tables are unchanged.


def subset(group: compiled.Vertices, is_taken: npt.NDArray[np.bool_]) -> compiled.Vertices:
    """Return the vertices of a group for which `is_taken`, bool[vertices], is true, by run.

    The result may be empty, but still has the class of the group.
    """
    counts = group.rows[:, COUNT_WORD]
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
    rows[:, COUNT_WORD] = count
    weights = np.maximum(group.weights[row[first]] * count // counts[row[first]], 1)
    return replace(group, rows=rows, weights=weights)


# -- executable of one rank ------------------------------------------------------------------------

_SHADOW = object()
"""Suffix of the key of an exchange that moves shadow bytes."""

_Ops = defaultdict[int, list[tuple[int, int, int, int]]]

POISON = 0xFF
"""The byte that tests write: NaN, -1, or a BOOL that is neither true nor false."""

POISON_BYTES = 4096
"""Number of bytes that one piece of a copy overwrites."""

WORD_BYTES = 8
"""Size of a word in a table of slots, in bytes."""


@frozen(eq=False)
class Exchange:
    """The messages between ranks at one place of a program.

    Attributes:
        messages: the pieces, in the arena or in `table`.
        table: the compute step whose table of slots contains the pieces; None for the arena.
        is_shadow: whether they are in the shadow of the arena, which strict checks maintain.
    """

    messages: Messages
    table: int | None = None
    is_shadow: bool = False


@frozen(eq=False)
class RankPlan:
    """The executable and exchanges of one rank.

    Attributes:
        executable: the executable of the rank.
        exchanges: the exchanges, by the number in EXCHANGE ops; the same on all ranks.
        poison: the bytes of the arena to be filled with `POISON`; empty without poisoning.
        rows: for each program, the new position of each row of the original: int64[rows].
        places: for each program, the row of the original to which each EXCHANGE belongs, and the
            number of the exchange.
    """

    executable: Executable
    exchanges: tuple[Exchange, ...]
    rows: Mapping[str, Int64]
    places: Mapping[str, tuple[tuple[int, int], ...]]
    poison: slice


def rank_plan(
    executable: Executable, owners: Owners, rank: int, *, is_poisoned: bool = False
) -> RankPlan:
    """Return the plan of a rank.

    With poison, all bytes that the rank does not own are overwritten before each step, so that a
    missing exchange changes results.
    """
    steps = rank_steps(executable, owners, rank)
    planner = _Planner(executable, owners, rank, steps, is_poisoned=is_poisoned)
    programs, rows, places = {}, {}, {}
    for name, code in executable.programs.items():
        made = with_rows(code, *planner.rows(code))
        programs[name], rows[name] = made.code, made.row
        found = np.flatnonzero(made.code.ops[:, 0] == op.EXCHANGE)
        numbers = made.code.ops[found, 1].tolist()
        places[name] = tuple(zip(made.of[found].tolist(), numbers, strict=True))
    layout = replace(executable.layout)
    end = planner.first_flag + owners.num_ranks + 1
    poison = slice(end, end + POISON_BYTES * is_poisoned)
    layout.reserve_temporaries(poison.stop - layout.temporary_base)
    own_steps = [each.step for each in steps]
    if is_poisoned:
        own_steps.append(compiled.CopyStep("poison", _poisoning(owners, rank, poison)))
    own = replace(executable, steps=tuple(own_steps), programs=programs, layout=layout)
    return RankPlan(own, tuple(planner.exchanges), rows, places, poison)


def _poisoning(owners: Owners, rank: int, poison: slice) -> Moves:
    """Return copies that overwrite all bytes that a rank does not own."""
    others = np.flatnonzero((owners.rank != rank) & (owners.rank != EVERYONE))
    begin, size = owners.begin[others], (owners.stops - owners.begin)[others]
    count = -(-size // POISON_BYTES)
    run = np.repeat(np.arange(len(count)), count)
    before = (np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)) * POISON_BYTES
    to = begin[run] + before
    return CopiedPieces(
        to, np.full(len(to), poison.start), np.minimum(size[run] - before, POISON_BYTES)
    ).moves()


class _Planner:
    """Finds the rows to insert into programs.

    Attributes:
        exchanges: the exchanges that rows refer to.
        first_flag: the first byte of the flags below.

    After the temporaries, each compute set that returns a value has a flag for each rank, one
    byte: whether all vertices of the rank returned true.
    """

    def __init__(
        self,
        executable: Executable,
        owners: Owners,
        rank: int,
        steps: list[RankStep],
        *,
        is_poisoned: bool,
    ) -> None:
        self._is_poisoned = is_poisoned
        self._has_shadow = executable.checks == "strict"
        self._executable, self._owners, self._rank = executable, owners, rank
        self._steps = steps
        self.exchanges: list[Exchange] = []
        self._known: dict[tuple[object, ...], int | None] = {}
        self.first_flag = executable.layout.size_bytes

    def rows(self, code: Code) -> tuple[_Ops, _Ops, dict[int, tuple[int, int, int, int]]]:
        """Return the rows to insert before each row, the rows to insert after, and changed rows."""
        before: _Ops = defaultdict(list)
        after: _Ops = defaultdict(list)
        changed: dict[int, tuple[int, int, int, int]] = {}
        for row, (kind, a, b, c) in enumerate(code.ops.tolist()):
            if kind == op.LAUNCH:
                self._launch(code, row, before, after)
            elif kind in (op.JUMP_IF_ZERO, op.JUMP_IF_NONZERO, op.AGREE, op.SAME, op.SWITCH):
                self._decide(before[row], b, 4 if kind == op.SWITCH else c)
            elif kind == op.CALLBACK:
                self._add(before[row], ("action", a))
            elif kind == op.COLLECT and len(ranks := self._ranks_of(a)):
                place = self.first_flag + self._flag(ranks)
                changed[row] = (op.COLLECT, a, place, 0)
                self._add(after[row], ("flags", a, b))
                after[row].append((op.ALL, b, self.first_flag, len(ranks)))
        return before, after, changed

    def _launch(self, code: Code, row: int, before: _Ops, after: _Ops) -> None:
        number, phase = code.ops[row, 1:3].tolist()
        if phase == op.SUM_SLOTS:
            self._add(before[row], ("slots", number))
        if not _goes_on(code, row):
            if self._is_poisoned:
                before[row].append((op.LAUNCH, len(self._steps), op.GATHER, 0))
            self._add(before[row], ("before", number))
        if not _goes_on(code, row + 1):
            self._add(after[row], ("after", number))

    def _decide(self, rows: list[tuple[int, int, int, int]], begin: int, size: int) -> None:
        """Add the exchange that sends a scalar to all ranks before control flow depends on it."""
        for number in range(len(in_tree(begin, begin + size, self._owners))):
            self._add(rows, ("tree", begin, begin + size, number))

    def _add(self, rows: list[tuple[int, int, int, int]], key: tuple[object, ...]) -> None:
        """Add an EXCHANGE to rows if it sends anything; equal exchanges share one number."""
        if key not in self._known:
            exchange = self._exchange(*key)
            self._known[key] = len(self.exchanges) if len(exchange.messages) else None
            self.exchanges += [exchange] if len(exchange.messages) else []
        if (number := self._known[key]) is not None:
            rows.append((op.EXCHANGE, number, 0, 0))
            if key[-1] is not _SHADOW and self._has_shadow and key[0] != "slots":
                self._add(rows, (*key, _SHADOW))

    def _exchange(self, kind: object, *which: Any) -> Exchange:
        if which[-1] is _SHADOW:  # the messages for the same bytes of the arena
            return replace(self._exchange(kind, *which[:-1]), is_shadow=True)
        match kind, *which:
            case "before", number:
                return Exchange(self._steps[number].before)
            case "after", number:
                return Exchange(self._steps[number].after)
            case "slots", number:
                return Exchange(self._slots(number), number)
            case "flags", number, scalar:
                return Exchange(self._flags(number, scalar))
            case "tree", begin, end, number:
                return Exchange(in_tree(begin, end, self._owners)[number])
        return Exchange(self._action(self._executable.actions[which[0]]))

    def _ranks_of(self, number: int) -> Int64:
        """Return the ranks that have vertices of a step."""
        return np.unique(self._steps[number].vertex_ranks)

    def _flag(self, ranks: Int64) -> int:
        """Return the byte for the result of own vertices; if possible, one that no step reads."""
        found = np.flatnonzero(ranks == self._rank)
        return int(found[0]) if len(found) else len(ranks)

    def _flags(self, number: int, scalar: int) -> Messages:
        """Return the messages with the results of the ranks' vertices to the owner of a scalar."""
        ranks = self._ranks_of(number)
        place = self.first_flag + np.arange(len(ranks))
        owner = np.full(len(ranks), self._owners.of_byte(scalar))
        return messages(ranks, owner, CopiedPieces(place, place, np.ones(len(ranks), np.int64)))

    def _slots(self, number: int) -> Messages:
        """Return the messages that send the slots of vertices, one word each, to all ranks."""
        ranks = self._steps[number].vertex_ranks
        first = np.append(0, np.flatnonzero(np.diff(ranks)) + 1)
        size = np.diff(np.append(first, len(ranks))) * WORD_BYTES
        count = self._owners.num_ranks
        receiver, run = np.divmod(np.arange(count * len(first)), len(first))
        place = first[run] * WORD_BYTES
        return messages(ranks[first[run]], receiver, CopiedPieces(place, place, size[run]))

    def _action(self, action: compiled.Action) -> Messages:
        """Return the messages that send the data an action reads to the ranks that perform it."""
        tensors: list[compiled.HostTensor | None] = []
        bytes_read: list[int | None] = []
        match action:
            case compiled.Print(tensor=tensor) | compiled.Equal(tensor=tensor):
                tensors = [tensor]
            case compiled.Fail(shown=shown, predicate=predicate):
                tensors = [shown, predicate]
            case compiled.NoCase(control=control):
                tensors = [control]
            case compiled.Stamp(since=since):
                tensors = [since]
            case compiled.RowTransfer(offset=offset):
                tensors = [offset]
            case compiled.Transfer(metadata=metadata):
                bytes_read = [metadata]
        known = [each for each in tensors if each is not None]
        bytes_read += [each.metadata for each in known]
        at = np.array([each for each in bytes_read if each is not None], np.int64)
        pieces = [CopiedPieces(*each.moves.blocks()) for each in known]
        begin = np.concatenate([at, *(each.start for each in pieces)])
        end = np.concatenate([at + 1, *(each.start + each.size for each in pieces)])
        if isinstance(action, compiled.Print | compiled.Transfer | compiled.RowTransfer):
            return to_rank(HOST, begin, end, self._owners)
        return to_everyone(begin, end, self._owners)


def _goes_on(code: Code, row: int) -> bool:
    """Return whether a row is a launch in the same execution as the row before it."""
    if not row:
        return False
    ops, numbers = code.ops[row - 1 : row + 1], code.step_numbers[row - 1 : row + 1]
    is_same = bool((ops[:, :2] == ops[0, :2]).all() and (numbers == numbers[0]).all())
    return is_same and ops[0, 0] == op.LAUNCH and int(ops[0, 2]) < int(ops[1, 2])


# -- rank code -------------------------------------------------------------------------------------


Rows = Mapping[int, Sequence[Sequence[int]]]
"""Ops, by the row before or after which they are inserted."""


@frozen(eq=False)
class RankCode:
    """A program with exchanges.

    Attributes:
        code: the program.
        row: int64[original rows], the new position of each row of the original program.
        of: int64[new rows], the row of the original to which each row belongs.
    """

    code: Code
    row: Int64
    of: Int64


def with_rows(
    code: Code, before: Rows, after: Rows, changed: Mapping[int, Sequence[int]]
) -> RankCode:
    """Return a program with inserted rows, each in the step of the row it belongs to.

    `changed` are ops that replace others.
    """
    ops: list[Sequence[int]] = []
    of: list[int] = []  # the original row to which each new row belongs
    first, place = (np.zeros(len(code.ops), np.int64) for _ in range(2))
    for row, words in enumerate(code.ops.tolist()):
        first[row] = len(ops)
        ops += before.get(row, ())
        place[row] = len(ops)
        ops += [changed.get(row, words), *after.get(row, ())]
        of += [row] * (len(ops) - len(of))
    made = np.array(ops, np.int64)
    for kind, word in op.TARGETS.items():
        rows = np.flatnonzero(made[:, 0] == kind)
        made[rows, word] = first[made[rows, word]]
    with_exchanges = replace(
        code,
        ops=made,
        step_numbers=code.step_numbers[of],
        step_rows=place[code.step_rows],
        locations=tuple(code.locations[row] for row in of) if code.locations else (),
    )
    return RankCode(with_exchanges, place, np.array(of, np.int64))
