"""From ops back to a tree: the program as it was compiled.

    0  REPEAT    9 times, else 3          Repeat '9 times'
    1    LAUNCH  'blur'                     Execute 'blur'
    2  AGAIN     row 1
    3  END

`poplite.compile.emit` writes each kind of program as a pattern of ops that its first op identifies.
A tree is only made for a report that somebody looks at; executables need not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from poplite.executable import opcodes as op
from poplite.executable.actions import Action, Equal, Fail, Stamp
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.executable.transfers import CodeLoad, CodeUse, HostFunctionCall, RowTransfer, Transfer
from poplite.report.program_tree import Program, ProgramType
from poplite.text import amount

_Range = tuple[int, int]
"""The first row, and the row behind the last."""


def program_trees(executable: Executable) -> dict[str, Program]:
    """Return the tree of each program."""
    return {name: _Tree(executable, code).root(name) for name, code in executable.programs.items()}


class _Tree:
    def __init__(self, executable: Executable, code: Code) -> None:
        self._executable, self._code = executable, code
        self._ops: list[list[int]] = code.ops.tolist()
        self._numbers: list[int] = code.step_numbers.tolist()
        self._works = set(code.step_rows.tolist())
        self._ends = np.flatnonzero(np.isin(code.ops[:, 0], [op.END, op.RETURN]))
        self._functions: dict[int, Program] = {}
        back = [row for row, kind in enumerate(self._ops) if kind[0] == op.JUMP and kind[1] <= row]
        self._loops: dict[int, list[int]] = {}
        for row in back:  # of two loops that begin together, the outer ends later
            self._loops.setdefault(self._ops[row][1], []).append(row)

    def root(self, name: str) -> Program:
        """Return the tree of the program."""
        return self._program(ProgramType.SEQUENCE, name, 0, (0, int(self._ends[0])))

    def _program(self, kind: ProgramType, name: str, row: int, *ranges: _Range) -> Program:
        return Program(kind, name, row, tuple(each for part in ranges for each in self._in(*part)))

    def _in(self, row: int, end: int) -> Iterator[Program]:
        """Yield the programs of some rows."""
        while row < end:
            program, row = self._next(row, end)
            if program is not None:
                yield program

    def _next(self, row: int, end: int) -> tuple[Program | None, int]:
        """Return the program that begins at a row, and the row behind it."""
        kind, a, b, c = self._ops[row]
        ends = self._loops.get(row, [])
        if ends and ends[-1] < end:
            last = ends.pop()
            return self._program(ProgramType.LOOP, "", row, (row, last)), last + 1
        if kind == op.REPEAT:
            name = amount(b, "time")
            return self._program(ProgramType.REPEAT, name, row, (row + 1, c - 1)), c
        if kind == op.JUMP:
            return self._repeat_while(row, a)
        if kind in (op.AGREE, op.SAME):  # behind it, Python reports replicas that do not agree
            return None, a
        if kind == op.JUMP_IF_ZERO and not self._is_abort(row):
            return self._if(row, a)
        if kind == op.SWITCH:
            return self._switch(row, a, c)
        if kind == op.CALL:
            return Program(ProgramType.CALL, "", row, (self._function(a),)), row + 1
        return self._leaf(row, end)

    def _repeat_while(self, row: int, condition: int) -> tuple[Program, int]:
        test = condition
        while self._ops[test][:2] not in (
            [op.JUMP_IF_ZERO, row + 1],
            [op.JUMP_IF_NONZERO, row + 1],
        ):
            test += 1
        kind = ProgramType.REPEAT_WHILE
        return self._program(kind, "", row, (condition, test), (row + 1, condition)), test + 1

    def _if(self, row: int, otherwise: int) -> tuple[Program, int]:
        kind, end = self._ops[otherwise - 1][:2]
        if kind != op.JUMP or end <= otherwise:
            return self._program(ProgramType.IF, "", row, (row + 1, otherwise)), otherwise
        parts = (row + 1, otherwise - 1), (otherwise, end)
        both = [self._program(ProgramType.SEQUENCE, "", part[0], part) for part in parts]
        return Program(ProgramType.IF, "", row, tuple(both)), end

    def _switch(self, row: int, cases: int, default: int) -> tuple[Program, int]:
        if not cases:
            return Program(ProgramType.SWITCH, "", row), row + 1
        rows = self._ops[row + 1 : row + 1 + cases]
        begins = sorted([(target, str(value)) for _, value, target, _ in rows])
        end = self._ops[default - 1][1]  # the last case leaves
        parts = [
            self._program(ProgramType.SEQUENCE, name, first, (first, behind - 1))
            for (first, name), (behind, _) in pairwise([*begins, (default, "")])
        ]
        if default < end:
            part = self._program(ProgramType.SEQUENCE, "default", default, (default, end))
            parts.append(part)
        return Program(ProgramType.SWITCH, "", row, tuple(parts)), end

    def _function(self, begin: int) -> Program:
        if begin not in self._functions:
            end = int(self._ends[np.searchsorted(self._ends, begin)])
            program = self._program(ProgramType.SEQUENCE, "", begin, (begin, end))
            self._functions[begin] = program
        return self._functions[begin]

    def _is_abort(self, row: int) -> bool:
        kind, action = self._ops[row + 1][:2]
        if kind != op.CALLBACK or self._ops[row][1] != row + 2:
            return False
        what = self._executable.actions[action]
        return isinstance(what, Fail) and what.predicate is not None

    def _leaf(self, row: int, end: int) -> tuple[Program | None, int]:
        """Return the step whose rows begin here, and the row behind them."""
        behind = row + 1
        arranging = (op.REPEAT, op.JUMP, op.JUMP_IF_ZERO, op.SWITCH, op.CALL, op.AGREE, op.SAME)
        while (
            behind < end
            and self._numbers[behind] == self._numbers[row]
            and (self._ops[behind][0] not in arranging)
        ):
            behind += 1
        rows = range(row, behind)
        work = [each for each in rows if each in self._works]
        for each in rows:
            if self._ops[each][0] == op.CALLBACK:
                action = self._executable.actions[self._ops[each][1]]
                program = _action(action, each)
                return program, behind
        if work:
            step = self._executable.steps[self._ops[work[0]][1]]
            is_execute = isinstance(step, ComputeStep)
            kind = ProgramType.EXECUTE if is_execute else ProgramType.COPY
            return Program(kind, step.name, work[0]), behind
        return Program(ProgramType.MARK, "", row), behind


def _action(action: Action, row: int) -> Program | None:
    """Return what Python does as a program; None for what belongs to another."""
    match action:
        case Equal(kind="truth" | "value") | CodeUse():
            return None
        case Transfer(program=name) | RowTransfer(program=name):
            return Program(ProgramType.HOST_COPY, name, row)
        case HostFunctionCall(program=name):
            return Program(ProgramType.HOST_CALL, name, row)
        case Stamp(program=name):
            return Program(ProgramType.MARK, name, row)
        case CodeLoad(function=name):
            return Program(ProgramType.HOST_COPY, name, row)
    return Program(ProgramType.HOST_ACTION, type(action).__name__, row)
