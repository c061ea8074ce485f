"""The structure of a program's ops: the rows of each loop, branch, switch.

    0  REPEAT    loop 0, else row 3        ControlBlock(REPEAT, 0, 3, parts: rows 1 to 2)
    1    LAUNCH
    2  AGAIN     loop 0, row 1
    3  END

`poplite.compile.compiler` writes each kind of program as a pattern of ops that its first op
identifies. Rows that keep to these patterns are read once, in their order, however deep programs
are nested; rows that do not are refused, so that code which follows jumps always ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.report.program_tree import ProgramType


class Unstructured(ValueError):
    """Jumps lead elsewhere than those of any program."""


class BlockPart(NamedTuple):
    """Rows below a block.

    Attributes:
        role: what they are to it: "condition", "body", "then", "else", "case 3" or "default".
        begin: the first row.
        end: the row behind the last.
        name: the value of a case, or "default"; empty for others.
    """

    role: str
    begin: int
    end: int
    name: str = ""


class ControlBlock(NamedTuple):
    """A program that holds others.

    Attributes:
        kind: what it is.
        row: its first row; of a loop without end, the first row of its body.
        behind: the row behind its last one.
        parts: the rows of the programs that it holds, in the order of their rows.
        decided: the row that has the number of repetitions or the scalar that decides.
    """

    kind: ProgramType
    row: int
    behind: int
    parts: tuple[BlockPart, ...]
    decided: int


class Opened(NamedTuple):
    """The rows of a block begin."""

    block: ControlBlock


class Entered(NamedTuple):
    """The rows of a part of the innermost block begin."""

    part: BlockPart


class Closed(NamedTuple):
    """The rows of the innermost block end."""

    block: ControlBlock


class RowRange(NamedTuple):
    """Rows between blocks: steps, and calls, each of which is alone."""

    begin: int
    end: int


Event = Opened | Entered | Closed | RowRange

_CONTROL = (
    *(op.REPEAT, op.AGAIN, op.JUMP, op.JUMP_IF_ZERO, op.JUMP_IF_NONZERO, op.SWITCH, op.CASE),
    *(op.CALL, op.AGREE, op.SAME, op.RETURN, op.END),
)
"""Ops after which another row may follow than the next one."""


class ControlFlow:
    """Reads the blocks of a program and of the functions that it calls.

    Args:
        ops: int64[rows, 4]; every operand that is a row is in the section of its op.
    """

    def __init__(self, ops: npt.NDArray[np.int64]) -> None:
        kind, target = ops[:, 0], ops[:, 1]
        number = np.arange(len(ops))
        self._ops: list[list[int]] = ops.tolist()
        self._loops: dict[int, list[int]] = {}
        for row in np.flatnonzero((kind == op.JUMP) & (target <= number)).tolist():
            self._loops.setdefault(self._ops[row][1], []).append(row)
        self._tests: dict[int, int] = {}
        tests = np.isin(kind, [op.JUMP_IF_ZERO, op.JUMP_IF_NONZERO]) & (target <= number)
        for row in np.flatnonzero(tests).tolist():
            if self._tests.setdefault(self._ops[row][1], row) != row:
                raise Unstructured(f"two loops continue at row {self._ops[row][1]:,}")
        control = np.flatnonzero(np.isin(kind, _CONTROL)).tolist()
        self._stops: list[int] = sorted({*control, *self._loops})
        ends = np.flatnonzero(np.isin(kind, [op.END, op.RETURN]))
        self._ends: list[int] = ends.tolist()

    def sections(self) -> Iterator[tuple[int, int]]:
        """Yield first row and end of the program, and of each function."""
        yield from zip([0, *(end + 1 for end in self._ends[:-1])], self._ends, strict=True)

    def end_of(self, begin: int) -> int:
        """Return the row of the END or RETURN of the section that begins at a row."""
        return self._ends[bisect_left(self._ends, begin)]

    def events(self, begin: int, end: int) -> Iterator[Event]:
        """Yield what the rows of a section are, in the order of rows.

        Raises `Unstructured` at rows that no program is written as.
        """
        used: dict[int, int] = {}
        pending: list[Event] = [RowRange(begin, end)]
        while pending:
            item = pending.pop()
            if not isinstance(item, RowRange):
                yield item
                continue
            row, last = item
            if row >= last:
                continue
            # Of loops that begin together the outer ends later, and is read first.
            loops = self._loops.get(row, [])
            left = len(loops) - used.get(row, 0)
            kind = self._ops[row][0]
            if not left and kind not in _CONTROL:
                stop = min(self._stops[bisect_left(self._stops, row + 1)], last)
                yield RowRange(row, stop)
                pending.append(RowRange(stop, last))
            elif not left and kind == op.CALL:
                yield RowRange(row, row + 1)
                pending.append(RowRange(row + 1, last))
            elif not left and kind in (op.AGREE, op.SAME):
                pending.append(RowRange(self._behind_agreement(row, last), last))
            else:
                block = self._loop(row, loops[left - 1], last) if left else self._block(row, last)
                used[row] = used.get(row, 0) + bool(left)
                pending += [RowRange(block.behind, last), Closed(block)]
                for part in reversed(block.parts):
                    pending += [RowRange(part.begin, part.end), Entered(part)]
                pending.append(Opened(block))

    def check_counts(self) -> None:
        """Raise `Unstructured` where a row would run more than `MOST_RUNS` times.

        Each branch is taken once, and no function may call itself.
        """
        calls = {begin: self._calls(begin, end) for begin, end in self.sections()}
        runs = dict.fromkeys(calls, 0) | {0: 1}
        for begin in reversed(_callees_first(calls)):
            most, called = calls[begin]
            self._counted(runs[begin] * most)
            for function, times in called.items():
                runs[function] = self._counted(runs[function] + runs[begin] * times)

    def _calls(self, begin: int, end: int) -> tuple[int, dict[int, int]]:
        """Return how often a section runs a row at most, and how often each function."""
        times, most = [1], 1
        called: dict[int, int] = {}
        for event in self.events(begin, end):
            match event:
                case Opened(block):
                    is_repeat = block.kind is ProgramType.REPEAT
                    count = max(self._ops[block.row][2], 1) if is_repeat else 1
                    times.append(self._counted(times[-1] * count))
                    most = max(most, times[-1])
                case Closed():
                    times.pop()
                case RowRange(row, _) if self._ops[row][0] == op.CALL:
                    function = self._ops[row][1]
                    called[function] = self._counted(called.get(function, 0) + times[-1])
        return most, called

    @staticmethod
    def _counted(runs: int) -> int:
        if runs > op.MOST_RUNS:
            raise Unstructured(f"one run takes more than {op.MOST_RUNS:,} steps")
        return runs

    def _behind_agreement(self, row: int, last: int) -> int:
        """Return the row behind the action that reports replicas which do not agree."""
        if self._ops[row][1] != row + 2 or row + 2 > last or self._ops[row + 1][0] != op.CALLBACK:
            raise Unstructured(f"row {row:,} jumps over more than one action")
        return row + 2

    def _loop(self, row: int, end: int, last: int) -> ControlBlock:
        self._check(end < last, row)
        return ControlBlock(ProgramType.LOOP, row, end + 1, (BlockPart("", row, end),), end)

    def _block(self, row: int, last: int) -> ControlBlock:
        """Return the block whose first op is at a row."""
        kind, a, _, c = self._ops[row]
        if kind == op.REPEAT:
            self._check(row + 2 <= c <= last, row)
            self._check(self._ops[c - 1][:3] == [op.AGAIN, a, row + 1], row)
            return ControlBlock(ProgramType.REPEAT, row, c, (BlockPart("", row + 1, c - 1),), row)
        if kind == op.JUMP:
            test = self._tests.get(row + 1, -1)
            self._check(row < a <= test < last, row)
            parts = BlockPart("body", row + 1, a), BlockPart("condition", a, test)
            return ControlBlock(ProgramType.REPEAT_WHILE, row, test + 1, parts, test)
        if kind == op.JUMP_IF_ZERO:
            return self._if(row, a, last)
        if kind == op.SWITCH:
            return self._switch(row, a, c, last)
        raise Unstructured(f"row {row:,} belongs to no loop and no branch")

    def _if(self, row: int, otherwise: int, last: int) -> ControlBlock:
        self._check(row < otherwise <= last, row)
        kind, end = self._ops[otherwise - 1][:2]
        if kind != op.JUMP or end <= otherwise:
            then = BlockPart("then", row + 1, otherwise)
            return ControlBlock(ProgramType.IF, row, otherwise, (then,), row)
        self._check(row + 1 < otherwise and end <= last, row)
        parts = BlockPart("then", row + 1, otherwise - 1), BlockPart("else", otherwise, end)
        return ControlBlock(ProgramType.IF, row, end, parts, row)

    def _switch(self, row: int, cases: int, default: int, last: int) -> ControlBlock:
        first = row + 1 + cases
        self._check(first <= default <= last, row)
        if not cases:
            self._check(default == first, row)
            return ControlBlock(ProgramType.SWITCH, row, first, (), row)
        begins = sorted((target, str(value)) for _, value, target, _ in self._ops[row + 1 : first])
        end = self._ops[default - 1][1]  # the last case leaves
        self._check(begins[0][0] == first and default <= end <= last, row)
        parts = []
        for (begin, value), (behind, _) in pairwise([*begins, (default, "")]):
            self._check(begin < behind <= default, row)
            self._check(self._ops[behind - 1][:2] == [op.JUMP, end], row)
            parts.append(BlockPart(f"case {value}", begin, behind - 1, value))
        if default < end:
            parts.append(BlockPart("default", default, end, "default"))
        return ControlBlock(ProgramType.SWITCH, row, end, tuple(parts), row)

    @staticmethod
    def _check(is_right: bool, row: int) -> None:
        if not is_right:
            raise Unstructured(f"row {row:,} jumps elsewhere than any program does")


def _callees_first(calls: Mapping[int, tuple[int, Mapping[int, int]]]) -> list[int]:
    """Return the sections that the program reaches, each behind those that it calls."""
    found: dict[int, None] = {}
    pending = [0]
    while pending:
        missing = [begin for begin in calls[pending[-1]][1] if begin not in found]
        pending += missing
        if not missing:
            found[pending.pop()] = None
    return list(found)
