"""From ops back to a tree: the program as it was compiled.

    0  REPEAT    9 times, else 3          Repeat '9 times'
    1    LAUNCH  'blur'                     Execute 'blur'
    2  AGAIN     row 1
    3  END

`poplite.executable.control_flow` says which rows each loop and branch holds.  A tree is only made
for a report that somebody looks at; executables need not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.actions import (
    Action,
    CodeLoad,
    CodeUse,
    Equal,
    Fail,
    HostFunctionCall,
    NoCase,
    RowTransfer,
    Stamp,
    Transfer,
    action_text,
)
from poplite.executable.control_flow import (
    BlockPart,
    Closed,
    ControlBlock,
    ControlFlow,
    Entered,
    Opened,
    RowRange,
)
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.report.program_tree import (
    BY_DATA,
    Program,
    ProgramType,
    children_first,
    counts_as_compiled,
)
from poplite.text import amount


def program_trees(executable: Executable) -> dict[str, Program]:
    """Return the tree of each program."""
    return {name: _Tree(executable, code).root(name) for name, code in executable.programs.items()}


def planned_counts(code: Code, tree: Program) -> Int64:
    """Return how often a run executes each row of its steps, as compiled: int64[rows]."""
    numbers, total = code.first_numbers, counts_as_compiled(tree)
    count_of = {
        int(numbers[node.row]): total[id(node)] for node in tree.walk() if not node.children
    }
    return np.array([count_of.get(number, 0) for number in numbers.tolist()], np.int64)


def _counted(root: Program, times: Mapping[int, int]) -> Program:
    """Return a tree with how often each program runs; `times` has the Repeats by row."""
    below_first = list(children_first(root))
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
        pending = [0]
        while pending:  # those that a function calls are read before it
            own = called.get(self._flow.end_of(pending[-1]), {})
            unread = [begin for begin in own if begin not in self._functions]
            pending += unread
            if not unread and (begin := pending.pop()) not in self._functions:
                self._functions[begin] = self._section(begin)
        return _counted(replace(self._functions[0], name=name), self._times)

    def _section(self, begin: int) -> Program:
        """Return what a section runs; the functions that it calls have been read."""
        end = self._flow.end_of(begin)
        # Of each block that is open the parts that have been entered, with their programs.
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
            name = self._scalar(self._ops[block.decided][2])
        if kind is ProgramType.SWITCH or len(parts) == 2 and kind is ProgramType.IF:
            below = [_sequence(*each) for each in parts]
        elif kind is ProgramType.REPEAT_WHILE:  # the condition runs first
            below.sort(key=lambda each: each.role == "body")
        line = block.decided if kind is ProgramType.LOOP else row
        return [Program(kind, name, row, tuple(below), at=self._line(line))]

    def _line(self, row: int) -> str:
        """Return the user's line of a row."""
        return self._code.locations[row].portable if self._code.locations else ""

    def _scalar(self, position: int) -> str:
        """Return the name of the variable that decides, by a byte of the arena."""
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
        """Yield the programs of rows that are steps, or of a call."""
        while row < end:
            behind = row + 1
            while behind < end and self._numbers[behind] == self._numbers[row]:
                behind += 1
            program = self._step(range(row, behind))
            if program is not None:
                yield program
            row = behind

    def _step(self, rows: range) -> Program | None:
        """Return the step of some rows; None for what belongs to another."""
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
    """Return what Python does as a program; None for what belongs to another."""
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
