"""The executable of one rank, with exchanges, in which all ranks take part.

executable of the graph      the same on all ranks
-> owners                    by the tiles of elements and vertices
-> steps of the rank         own vertices and parts of copies, messages around them
-> programs                  with an EXCHANGE where a step, a decision or the host needs
                             data of other ranks

Rows come before and after others, the same on all ranks; what jumped to a row jumps to the first
row before it::

    REPEAT      10 times, else row 3          REPEAT      10 times, else row 5
      LAUNCH    'blur', COMPUTE                 EXCHANGE  0: what 'blur' touches elsewhere
    AGAIN       row 1                           LAUNCH    'blur', COMPUTE
    END                                         EXCHANGE  1: what it wrote elsewhere
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

from poplite.executable import opcodes as op
from poplite.executable.actions import (
    Action,
    Equal,
    Fail,
    HostTensor,
    NoCase,
    Print,
    RowTransfer,
    Stamp,
    Transfer,
)
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import CopyStep
from poplite.frozen import frozen
from poplite.mpi.messages import (
    EVERYONE,
    HOST,
    CopiedPieces,
    Messages,
    Owners,
    in_tree,
    messages,
    to_everyone,
    to_rank,
)
from poplite.mpi.rank_steps import RankStep, rank_steps

Integers = npt.NDArray[np.int64]
_SHADOW = object()
"""Suffix of the key of an exchange: that of the shadow."""

_Ops = defaultdict[int, list[tuple[int, int, int, int]]]

POISON = 0xFF
"""Every byte of what tests overwrite: NaN, -1, or a BOOL that is neither true nor false."""

FEW_RANKS = 8
"""Most ranks to which the owner of a scalar sends it itself; more of them hand it on in a tree."""

POISON_BYTES = 4096
"""Bytes that are overwritten by one piece of a copy."""

WORD_BYTES = 8
"""Bytes of a word in a table of slots."""


@frozen(eq=False)
class Exchange:
    """What ranks send each other at one place of a program.

    Attributes:
        messages: the pieces of memory; of a table, where that is given.
        table: the compute step in whose table of slots they lie; None for the arena.
        is_shadow: whether they lie in the shadow of the arena, which strict checks keep.
    """

    messages: Messages
    table: int | None = None
    is_shadow: bool = False


@frozen(eq=False)
class RankPlan:
    """What one rank runs.

    Attributes:
        executable: its own.
        exchanges: by the number in EXCHANGE ops; the same on all ranks.
        poison: the bytes of the arena that are to be `POISON`; empty where nothing is poisoned.
        rows: for each program, the new position of each row of the original: int64[rows].
        places: for each program, the row of the original to which each EXCHANGE belongs, and the
            number of the exchange.
    """

    executable: Executable
    exchanges: tuple[Exchange, ...]
    rows: Mapping[str, Integers]
    places: Mapping[str, tuple[tuple[int, int], ...]]
    poison: slice


def rank_plan(
    executable: Executable, owners: Owners, rank: int, *, is_poisoned: bool = False
) -> RankPlan:
    """Return what a rank runs.

    Where it is poisoned, all that the rank does not own is overwritten before each step, so that
    an exchange that is missing changes results.
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
        own_steps.append(CopyStep("poison", _poisoning(owners, rank, poison)))
    own = replace(executable, steps=tuple(own_steps), programs=programs, layout=layout)
    return RankPlan(own, tuple(planner.exchanges), rows, places, poison)


def _poisoning(owners: Owners, rank: int, poison: slice) -> Moves:
    """Return the copies that overwrite all that a rank does not own."""
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
    """Finds the rows that programs need.

    Attributes:
        exchanges: those that rows name.
        first_flag: see below.

    After the temporaries, each compute set that returns something has a byte for each rank:
    whether all vertices of the rank returned true.
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
        """Return the rows before others, those after them, and those that change."""
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
        """Add what brings a scalar to all ranks before it decides."""
        if self._owners.num_ranks <= FEW_RANKS:
            self._add(rows, ("scalar", begin, begin + size))
            return
        for number in range(len(in_tree(begin, begin + size, self._owners))):
            self._add(rows, ("tree", begin, begin + size, number))

    def _add(self, rows: list[tuple[int, int, int, int]], key: tuple[object, ...]) -> None:
        """Add an EXCHANGE to rows, if anything is sent; equal ones have one number."""
        if key not in self._known:
            exchange = self._exchange(*key)
            self._known[key] = len(self.exchanges) if len(exchange.messages) else None
            self.exchanges += [exchange] if len(exchange.messages) else []
        if (number := self._known[key]) is not None:
            rows.append((op.EXCHANGE, number, 0, 0))
            if key[-1] is not _SHADOW and self._has_shadow and key[0] != "slots":
                self._add(rows, (*key, _SHADOW))

    def _exchange(self, kind: object, *which: Any) -> Exchange:
        if which[-1] is _SHADOW:  # of the same bytes
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
            case "scalar", begin, end:
                return Exchange(to_everyone(np.array([begin]), np.array([end]), self._owners))
            case "tree", begin, end, number:
                return Exchange(in_tree(begin, end, self._owners)[number])
        return Exchange(self._action(self._executable.actions[which[0]]))

    def _ranks_of(self, number: int) -> Integers:
        """Return the ranks that have vertices of a step."""
        return np.unique(self._steps[number].vertex_ranks)

    def _flag(self, ranks: Integers) -> int:
        """Return which byte says what own vertices returned; one that nobody reads, if any."""
        found = np.flatnonzero(ranks == self._rank)
        return int(found[0]) if len(found) else len(ranks)

    def _flags(self, number: int, scalar: int) -> Messages:
        """Return the messages to the owner of a scalar, of what the vertices of ranks returned."""
        ranks = self._ranks_of(number)
        place = self.first_flag + np.arange(len(ranks))
        owner = np.full(len(ranks), self._owners.of_byte(scalar))
        return messages(ranks, owner, CopiedPieces(place, place, np.ones(len(ranks), np.int64)))

    def _slots(self, number: int) -> Messages:
        """Return the messages to all ranks of what vertices took: one word each in a table."""
        ranks = self._steps[number].vertex_ranks
        first = np.append(0, np.flatnonzero(np.diff(ranks)) + 1)
        size = np.diff(np.append(first, len(ranks))) * WORD_BYTES
        count = self._owners.num_ranks
        receiver, run = np.divmod(np.arange(count * len(first)), len(first))
        place = first[run] * WORD_BYTES
        return messages(ranks[first[run]], receiver, CopiedPieces(place, place, size[run]))

    def _action(self, action: Action) -> Messages:
        """Return the messages that bring what an action reads to the ranks that do it."""
        tensors: list[HostTensor | None] = []
        bytes_read: list[int | None] = []
        match action:
            case Print(tensor=tensor) | Equal(tensor=tensor):
                tensors = [tensor]
            case Fail(shown=shown, predicate=predicate):
                tensors = [shown, predicate]
            case NoCase(control=control):
                tensors = [control]
            case Stamp(since=since):
                tensors = [since]
            case RowTransfer(offset=offset):
                tensors = [offset]
            case Transfer(metadata=metadata):
                bytes_read = [metadata]
        known = [each for each in tensors if each is not None]
        bytes_read += [each.metadata for each in known]
        at = np.array([each for each in bytes_read if each is not None], np.int64)
        pieces = [CopiedPieces(*each.moves.blocks()) for each in known]
        begin = np.concatenate([at, *(each.start for each in pieces)])
        end = np.concatenate([at + 1, *(each.start + each.size for each in pieces)])
        if isinstance(action, Print | Transfer | RowTransfer):
            return to_rank(HOST, begin, end, self._owners)
        return to_everyone(begin, end, self._owners)


def _goes_on(code: Code, row: int) -> bool:
    """Return whether a row is a launch of the same execution as the row before it."""
    if not row:
        return False
    ops, numbers = code.ops[row - 1 : row + 1], code.step_numbers[row - 1 : row + 1]
    is_same = bool((ops[:, :2] == ops[0, :2]).all() and (numbers == numbers[0]).all())
    return is_same and ops[0, 0] == op.LAUNCH and int(ops[0, 2]) < int(ops[1, 2])


# -- rank code ---------------------------------------------------------------------------------


Rows = Mapping[int, Sequence[Sequence[int]]]
"""Ops by the row before or after which they are inserted."""


@frozen(eq=False)
class RankCode:
    """A program with exchanges.

    Attributes:
        code: the program.
        row: int64[rows], the new position of each row of the program without them.
        of: int64[rows of the program], the row without them to which each one belongs.
    """

    code: Code
    row: Integers
    of: Integers


def with_rows(
    code: Code, before: Rows, after: Rows, changed: Mapping[int, Sequence[int]]
) -> RankCode:
    """Return a program with more rows, each of the same step as the row to which it belongs.

    `changed` are ops that replace others.
    """
    ops: list[Sequence[int]] = []
    of: list[int] = []  # the row to which each new row belongs
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
