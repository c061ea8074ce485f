"""Reconstruct the trees of compiled programs from their ops.

    0  REPEAT    9 times, else 3          Repeat '9 times'
    1    LAUNCH  'blur'                     Execute 'blur'
    2  AGAIN     row 1
    3  END

A tree is built only when a report is read, so executables need not contain it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.parts import (
    Action,
    CodeLoad,
    CodeUse,
    ComputeStep,
    Equal,
    Fail,
    HostFunctionCall,
    NoCase,
    RowTransfer,
    Stamp,
    Transfer,
    action_text,
)
from poplite.report.program_tree import (
    BY_DATA,
    Program,
    ProgramType,
    children_first,
    counts_as_compiled,
)
from poplite.text import amount
from poplite.walks import bottom_up

if TYPE_CHECKING:
    from poplite.executable.executable import Executable

# -- blocks of rows --------------------------------------------------------------------------------
#
#     0  REPEAT    loop 0, else row 3        ControlBlock(REPEAT, 0, 3, parts: rows 1 to 2)
#     1    LAUNCH
#     2  AGAIN     loop 0, row 1
#     3  END
# `poplite.compile.compiler` writes each kind of program as a pattern of ops, identified by its
# first op. Rows that match these patterns are read once, in order, at any depth of nesting; all
# other rows are rejected, so that functions that follow jumps always terminate.


class Unstructured(ValueError):
    """The jumps of ops do not form a program."""


class BlockPart(NamedTuple):
    """A part of a block.

    Attributes:
        role: its role in the block: "condition", "body", "then", "else", "case 3" or "default".
        begin: the first row.
        end: the row after the last one.
        name: the value of a case, or "default"; empty for others.
    """

    role: str
    begin: int
    end: int
    name: str = ""


class ControlBlock(NamedTuple):
    """A program that contains others.

    Attributes:
        kind: its kind.
        row: its first row; for an endless loop, the first row of its body.
        behind: the row after its last one.
        parts: the rows of the programs that it contains, in ascending order.
        deciding: the row with the number of iterations, or with the scalar that decides.
    """

    kind: ProgramType
    row: int
    behind: int
    parts: tuple[BlockPart, ...]
    deciding: int


class Opened(NamedTuple):
    """Marks the first row of a block."""

    block: ControlBlock


class Entered(NamedTuple):
    """Marks the first row of a part of the innermost block."""

    part: BlockPart


class Closed(NamedTuple):
    """Marks the end of the innermost block."""

    block: ControlBlock


class RowRange(NamedTuple):
    """Rows between blocks: steps, or a single call."""

    begin: int
    end: int


Event = Opened | Entered | Closed | RowRange

_CONTROL = (
    *(op.REPEAT, op.AGAIN, op.JUMP, op.JUMP_IF_ZERO, op.JUMP_IF_NONZERO, op.SWITCH, op.CASE),
    *(op.CALL, op.AGREE, op.SAME, op.RETURN, op.END),
)
"""Ops after which execution may continue at a row other than the next one."""

_IS_CONTROL = np.isin(np.arange(op.LOOK + 1), _CONTROL)


class ControlFlow:
    """Reads the blocks of a program and of the functions that it calls.

    Args:
        ops: int64[rows, 4]; every operand that is a row must be in the section of its op.
    """

    def __init__(self, ops: npt.NDArray[np.int64]) -> None:
        kind, target = ops[:, 0], ops[:, 1]
        number = np.arange(len(ops))
        self._ops: list[list[int]] = ops.tolist()
        self._loops: dict[int, list[int]] = {}
        for row in np.flatnonzero((kind == op.JUMP) & (target <= number)).tolist():
            self._loops.setdefault(self._ops[row][1], []).append(row)
        self._tests: dict[int, int] = {}
        tests = (kind == op.JUMP_IF_ZERO) | (kind == op.JUMP_IF_NONZERO)
        tests &= target <= number
        for row in np.flatnonzero(tests).tolist():
            if self._tests.setdefault(self._ops[row][1], row) != row:
                raise Unstructured(f"two loops continue at row {self._ops[row][1]:,}")
        control = np.flatnonzero(_IS_CONTROL[kind]).tolist()
        self._stops: list[int] = sorted({*control, *self._loops})
        ends = np.flatnonzero((kind == op.END) | (kind == op.RETURN))
        self._ends: list[int] = ends.tolist()

    def sections(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last row of the program, and of each function."""
        yield from zip([0, *(end + 1 for end in self._ends[:-1])], self._ends, strict=True)

    def end_of(self, begin: int) -> int:
        """Return the row of the END or RETURN of the section that starts at a row."""
        return self._ends[bisect_left(self._ends, begin)]

    def events(self, begin: int, end: int) -> Iterator[Event]:
        """Yield the structure of the rows of a section as events, in row order.

        Raises `Unstructured` at rows that do not form a program.
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
            # Among loops that start at the same row, the outer one ends last, and is read first.
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
        """Raise `Unstructured` if a row would run more than `MOST_RUNS` times.

        Each branch counts as taken once, and no function may call itself.
        """
        calls = {begin: self._calls(begin, end) for begin, end in self.sections()}
        runs = dict.fromkeys(calls, 0) | {0: 1}
        callees_first = bottom_up([0], lambda begin: [*calls[begin][1]])
        for begin in reversed(callees_first):
            most, called = calls[begin]
            self._counted(runs[begin] * most)
            for function, times in called.items():
                runs[function] = self._counted(runs[function] + runs[begin] * times)

    def _calls(self, begin: int, end: int) -> tuple[int, dict[int, int]]:
        """Return the maximum number of runs of a section's rows, and its calls to each function."""
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
            raise Unstructured(f"a run would take more than {op.MOST_RUNS:,} steps")
        return runs

    def _behind_agreement(self, row: int, last: int) -> int:
        """Return the row after the action that reports a disagreement between replicas."""
        if self._ops[row][1] != row + 2 or row + 2 > last or self._ops[row + 1][0] != op.CALLBACK:
            raise Unstructured(f"row {row:,} must jump over exactly one action")
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
        raise Unstructured(f"row {row:,} does not belong to a loop or branch")

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
        end = self._ops[default - 1][1]  # the last case ends with a jump
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
            raise Unstructured(f"row {row:,} has a jump that does not form a program")


# -- trees -----------------------------------------------------------------------------------------


def program_trees(executable: Executable) -> dict[str, Program]:
    """Return the tree of each program."""
    return {name: _Tree(executable, code).root(name) for name, code in executable.programs.items()}


def planned_counts(code: Code, tree: Program) -> Int64:
    """Return how many times a run executes each step row as compiled, int64[rows]."""
    numbers, total = code.first_numbers, counts_as_compiled(tree)
    count_of = {
        int(numbers[node.row]): total[id(node)] for node in tree.walk() if not node.children
    }
    return np.array([count_of.get(number, 0) for number in numbers.tolist()], np.int64)


def _counted(root: Program, times: Mapping[int, int]) -> Program:
    """Return a tree with execution counts; `times` contains the counts of Repeats by row."""
    below_first = children_first(root)
    total: dict[int, int | None] = {id(node): 0 for node in below_first}
    total[id(root)] = 1
    for node in reversed(below_first):
        count = total[id(node)]
        if count and node.type in BY_DATA:
            count = None
        elif count and node.type is ProgramType.REPEAT:
            count *= times[node.row]
        for child in node.children:
            before = total[id(child)]
            total[id(child)] = None if before is None or count is None else before + count
    made: dict[int, Program] = {}
    for node in below_first:
        children = tuple(made[id(child)] for child in node.children)
        made[id(node)] = replace(node, children=children, count=total[id(node)])
    return made[id(root)]


class _Tree:
    def __init__(self, executable: Executable, code: Code) -> None:
        self._executable, self._code = executable, code
        self._flow = ControlFlow(code.ops)
        self._ops: list[list[int]] = code.ops.tolist()
        self._numbers: list[int] = code.step_numbers.tolist()
        self._works = set(code.step_rows.tolist())
        self._functions: dict[int, Program] = {}
        self._times: dict[int, int] = {}

    def root(self, name: str) -> Program:
        """Return the tree of the program."""
        calls = np.flatnonzero(self._code.ops[:, 0] == op.CALL)
        called: dict[int, dict[int, None]] = {}
        for row, begin in zip(calls.tolist(), self._code.ops[calls, 1].tolist(), strict=True):
            called.setdefault(self._flow.end_of(row), {})[begin] = None
        for begin in bottom_up([0], lambda begin: [*called.get(self._flow.end_of(begin), ())]):
            self._functions[begin] = self._section(begin)
        return _counted(replace(self._functions[0], name=name), self._times)

    def _section(self, begin: int) -> Program:
        """Return the program of a section, after the functions that it calls have been read."""
        end = self._flow.end_of(begin)
        # For each open block, the parts entered so far, with their programs.
        opened: list[list[tuple[BlockPart, list[Program]]]] = [[(BlockPart("", begin, end), [])]]
        for event in self._flow.events(begin, end):
            match event:
                case RowRange():
                    opened[-1][-1][1].extend(self._steps(*event))
                case Opened():
                    opened.append([])
                case Entered(part):
                    opened[-1].append((part, []))
                case Closed(block):
                    parts = opened.pop()
                    opened[-1][-1][1].extend(self._closed(block, parts))
        return _sequence(*opened[0][0])

    def _closed(
        self, block: ControlBlock, parts: list[tuple[BlockPart, list[Program]]]
    ) -> list[Program]:
        """Return a block as programs, usually one."""
        kind, row = block.kind, block.row
        below = [replace(each, role=part.role) for part, own in parts for each in own]
        if kind is ProgramType.IF and self._is_abort(row):
            return parts[0][1]
        name = ""
        if kind is ProgramType.REPEAT:
            self._times[row] = self._ops[row][2]
            name = amount(self._times[row], "time")
        elif kind is not ProgramType.LOOP:
            name = self._scalar(self._ops[block.deciding][2])
        if kind is ProgramType.SWITCH or len(parts) == 2 and kind is ProgramType.IF:
            below = [_sequence(*each) for each in parts]
        elif kind is ProgramType.REPEAT_WHILE:  # the condition runs first
            below.sort(key=lambda each: each.role == "body")
        line = block.deciding if kind is ProgramType.LOOP else row
        return [Program(kind, name, row, tuple(below), at=self._line(line))]

    def _line(self, row: int) -> str:
        """Return the user's line of a row."""
        return self._code.locations[row].portable if self._code.locations else ""

    def _scalar(self, position: int) -> str:
        """Return the name of the variable at a byte offset in the arena, to label a decision."""
        layout = self._executable.layout
        (owner,) = layout.owners(np.array([position])).tolist()
        return layout.variables[owner].name if owner >= 0 else ""

    def _is_abort(self, row: int) -> bool:
        kind, action = self._ops[row + 1][:2]
        if kind != op.CALLBACK or self._ops[row][1] != row + 2:
            return False
        what = self._executable.actions[action]
        return isinstance(what, Fail) and what.predicate is not None

    def _steps(self, row: int, end: int) -> Iterator[Program]:
        """Yield the programs of rows that are steps or a call."""
        while row < end:
            behind = row + 1
            while behind < end and self._numbers[behind] == self._numbers[row]:
                behind += 1
            program = self._step(range(row, behind))
            if program is not None:
                yield program
            row = behind

    def _step(self, rows: range) -> Program | None:
        """Return the step that the rows run; None if they belong to another step."""
        row = rows[0]
        if self._ops[row][0] == op.CALL:
            function = self._functions[self._ops[row][1]]
            return Program(ProgramType.CALL, "", row, (function,), at=self._line(row))
        for each in rows:
            if self._ops[each][0] == op.CALLBACK:
                program = _action(self._executable.actions[self._ops[each][1]], each)
                return program and replace(program, at=self._line(each))
        work = [each for each in rows if each in self._works]
        if not work:
            return Program(ProgramType.MARK, "", row, at=self._line(row))
        step = self._executable.steps[self._ops[work[0]][1]]
        is_execute = isinstance(step, ComputeStep)
        kind = ProgramType.EXECUTE if is_execute else ProgramType.COPY
        return Program(kind, step.name, work[0], at=self._line(work[0]))


def _sequence(part: BlockPart, programs: list[Program]) -> Program:
    return Program(ProgramType.SEQUENCE, part.name, part.begin, tuple(programs), role=part.role)


def _action(action: Action, row: int) -> Program | None:
    """Return an action as a program; None if it belongs to another program."""
    match action:
        case Equal(kind="truth" | "value") | CodeUse() | NoCase():
            return None
        case Transfer(program=name) | RowTransfer(program=name):
            return Program(ProgramType.HOST_COPY, name, row)
        case HostFunctionCall(program=name):
            return Program(ProgramType.HOST_CALL, name, row)
        case Stamp(program=name):
            return Program(ProgramType.MARK, name, row)
        case CodeLoad(function=name):
            return Program(ProgramType.HOST_COPY, name, row)
    return Program(ProgramType.HOST_ACTION, action_text(action), row)
