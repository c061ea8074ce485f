"""From ops back to a tree: the program as it was compiled.

    0  REPEAT    9 times, else 3          Repeat '9 times'
    1    LAUNCH  'blur'                     Execute 'blur'
    2  AGAIN     row 1
    3  END

`poplite.compile.emit` writes each kind of program as a pattern of ops that its first op identifies.
A tree is only made for a report that somebody looks at; executables need not hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.actions import Action, Equal, Fail, Stamp, action_text
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.executable.transfers import CodeLoad, CodeUse, HostFunctionCall, RowTransfer, Transfer
from poplite.report.program_tree import Program, ProgramType, children_first
from poplite.text import amount


def program_trees(executable: Executable) -> dict[str, Program]:
    """Return the tree of each program."""
    return {name: _Tree(executable, code).root(name) for name, code in executable.programs.items()}


def planned_counts(code: Code, tree: Program) -> Int64:
    """Return how often a run executes each row of its steps, 1 where data decide: int64[rows]."""
    numbers = code.first_numbers
    count_of = {
        int(numbers[node.row]): 1 if node.count is None else node.count
        for node in tree.walk()
        if not node.children
    }
    return np.array([count_of.get(number, 0) for number in numbers.tolist()], np.int64)


def _counted(root: Program, times: Mapping[int, int]) -> Program:
    """Return a tree with how often each program runs; `times` has the Repeats by row."""
    below_first = list(children_first(root))
    total: dict[int, int | None] = {id(node): 0 for node in below_first}
    total[id(root)] = 1
    for node in reversed(below_first):
        count = total[id(node)]
        if count and node.type in _BY_DATA:
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


_BY_DATA = (ProgramType.REPEAT_WHILE, ProgramType.LOOP, ProgramType.IF, ProgramType.SWITCH)
"""What runs its programs as often as data, or whoever stops it, decide."""


class _Tree:
    def __init__(self, executable: Executable, code: Code) -> None:
        self._executable, self._code = executable, code
        self._ops: list[list[int]] = code.ops.tolist()
        self._numbers: list[int] = code.step_numbers.tolist()
        self._works = set(code.step_rows.tolist())
        self._ends = np.flatnonzero(np.isin(code.ops[:, 0], [op.END, op.RETURN]))
        self._functions: dict[int, Program] = {}
        self._times: dict[int, int] = {}
        back = [row for row, kind in enumerate(self._ops) if kind[0] == op.JUMP and kind[1] <= row]
        self._loops: dict[int, list[int]] = {}
        for row in back:  # of two loops that begin together, the outer ends later
            self._loops.setdefault(self._ops[row][1], []).append(row)

    def root(self, name: str) -> Program:
        """Return the tree of the program."""
        tree = replace(self._sequence(0, int(self._ends[0])), name=name)
        return _counted(tree, self._times)

    def _sequence(self, row: int, end: int, role: str = "") -> Program:
        return Program(ProgramType.SEQUENCE, "", row, tuple(self._in(row, end)), role=role)

    def _node(
        self, kind: ProgramType, row: int, children: Iterable[Program] = (), name: str = ""
    ) -> Program:
        return Program(kind, name, row, tuple(children), at=self._line(row))

    def _line(self, row: int) -> str:
        """Return the user's line of a row."""
        return self._code.locations[row].portable if self._code.locations else ""

    def _in(self, row: int, end: int, role: str = "") -> Iterator[Program]:
        """Yield the programs of some rows."""
        while row < end:
            program, row = self._next(row, end)
            if program is not None:
                yield replace(program, role=role) if role else program

    def _next(self, row: int, end: int) -> tuple[Program | None, int]:
        """Return the program that begins at a row, and the row behind it."""
        kind, a, b, c = self._ops[row]
        ends = self._loops.get(row, [])
        if ends and ends[-1] < end:
            last = ends.pop()
            loop = Program(
                ProgramType.LOOP, "", row, tuple(self._in(row, last)), at=self._line(last)
            )
            return loop, last + 1
        if kind == op.REPEAT:
            below = self._in(row + 1, c - 1)
            repeat = self._node(ProgramType.REPEAT, row, below, amount(b, "time"))
            self._times[row] = b
            return repeat, c
        if kind == op.JUMP:
            return self._repeat_while(row, a)
        if kind in (op.AGREE, op.SAME):  # behind it, Python reports replicas that do not agree
            return None, a
        if kind == op.JUMP_IF_ZERO and not self._is_abort(row):
            return self._if(row, a)
        if kind == op.SWITCH:
            return self._switch(row, a, c)
        if kind == op.CALL:
            return self._node(ProgramType.CALL, row, [self._function(a)]), row + 1
        return self._leaf(row, end)

    def _repeat_while(self, row: int, condition: int) -> tuple[Program, int]:
        test = condition
        while self._ops[test][:2] not in (
            [op.JUMP_IF_ZERO, row + 1],
            [op.JUMP_IF_NONZERO, row + 1],
        ):
            test += 1
        below = [*self._in(condition, test, "condition"), *self._in(row + 1, condition, "body")]
        name = self._scalar(self._ops[test][2])
        return self._node(ProgramType.REPEAT_WHILE, row, below, name), test + 1

    def _if(self, row: int, otherwise: int) -> tuple[Program, int]:
        kind, end = self._ops[otherwise - 1][:2]
        name = self._scalar(self._ops[row][2])
        if kind != op.JUMP or end <= otherwise:
            only = self._in(row + 1, otherwise, "then")
            return self._node(ProgramType.IF, row, only, name), otherwise
        then = self._sequence(row + 1, otherwise - 1, "then")
        below = [then, self._sequence(otherwise, end, "else")]
        return self._node(ProgramType.IF, row, below, name), end

    def _switch(self, row: int, cases: int, default: int) -> tuple[Program, int]:
        name = self._scalar(self._ops[row][2])
        if not cases:
            return self._node(ProgramType.SWITCH, row, name=name), row + 1
        rows = self._ops[row + 1 : row + 1 + cases]
        begins = sorted([(target, str(value)) for _, value, target, _ in rows])
        end = self._ops[default - 1][1]  # the last case leaves
        parts = [
            replace(self._sequence(first, behind - 1, f"case {name}"), name=name)
            for (first, name), (behind, _) in pairwise([*begins, (default, "")])
        ]
        if default < end:
            parts.append(replace(self._sequence(default, end, "default"), name="default"))
        return self._node(ProgramType.SWITCH, row, parts, name), end

    def _scalar(self, position: int) -> str:
        """Return the name of the variable that decides, by a byte of the arena."""
        layout = self._executable.layout
        (owner,) = layout.owners(np.array([position])).tolist()
        return layout.variables[owner].name if owner >= 0 else ""

    def _function(self, begin: int) -> Program:
        if begin not in self._functions:
            end = int(self._ends[np.searchsorted(self._ends, begin)])
            self._functions[begin] = self._sequence(begin, end)
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
                return program and replace(program, at=self._line(each)), behind
        if work:
            step = self._executable.steps[self._ops[work[0]][1]]
            is_execute = isinstance(step, ComputeStep)
            kind = ProgramType.EXECUTE if is_execute else ProgramType.COPY
            return self._node(kind, work[0], name=step.name), behind
        return self._node(ProgramType.MARK, row), behind


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
    return Program(ProgramType.HOST_ACTION, action_text(action), row)
