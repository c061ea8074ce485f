"""A program tree written down as ops (`poplite.executable.encoding`).

    Sequence                      0  REPEAT           loop 0, 9 times, else row 3
      Repeat 9 times              1    LAUNCH         'blur'
        Execute 'blur'            2  AGAIN            loop 0, row 1
      RepeatWhileTrue 'go_on'     3  JUMP             row 5
        Execute 'test'            4    LAUNCH         'work'
        Execute 'work'            5    LAUNCH         'test'
      Call 'f'                    6  JUMP_IF_NONZERO  row 4
                                  7  CALL             row 9
                                  8  END
                                  9    LAUNCH         of 'f'
                                 10  RETURN

Loops test at their end, so that going on costs one op.  A function is written down once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.layout import ArenaLayout
from poplite.executable.steps import ComputeStep, CopyStep
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    AbortOnCondition,
    Block,
    Call,
    Copy,
    CrossReplicaCopy,
    Execute,
    Function,
    If,
    Loop,
    Mark,
    Program,
    RemoteCopy,
    Repeat,
    RepeatWhile,
    Sequence as Steps,
    SetMode,
    StreamCopy,
    Switch,
    TensorCopy,
    children_first,
)
from poplite.program.base import unknown_kind
from poplite.source import SourceLocation
from poplite.view import addresses

if TYPE_CHECKING:
    from poplite.compile.program_parts import Numbers, Place

_Later = Callable[[], None]


class Emitter:
    """Writes programs down as ops.

    Args:
        steps: the lowered steps.
        numbers: the numbers of steps and actions.
        layout: where the scalars lie that decide.
        is_random: whether results depend on how many compute sets have run.
        data_dependent: numbers of the steps whose vertices are counted while they run.
    """

    def __init__(
        self,
        steps: Sequence[ComputeStep | CopyStep],
        numbers: Numbers,
        layout: ArenaLayout,
        *,
        is_random: bool = False,
        data_dependent: Collection[int] = (),
    ) -> None:
        self._steps, self._numbers, self._layout = steps, numbers, layout
        self._data_dependent = data_dependent
        self._is_random = is_random

    def code(self, program: Program) -> Code:
        """Return a program as ops."""
        self._ops: list[list[int]] = []
        self._step_numbers: list[int] = []
        self._step_rows: list[int] = []
        self._locations: list[SourceLocation] = []
        self._location = program.location
        self._step = self._loops = 0
        self._calls: list[tuple[int, Function]] = []
        self._write(program)
        self._emit(op.END)
        begins: dict[Function, int] = {}
        for row, function in self._calls:  # which grows, as functions call others
            if function not in begins:
                begins[function], self._step = len(self._ops), 0
                self._write(function.program)
                self._emit(op.RETURN)
            self._aim([row], begins[function])
        return Code(
            np.array(self._ops, np.int64),
            np.array(self._step_numbers, np.int64),
            np.array(self._step_rows, np.int64),
            program.num_steps,
            _num_runs(program),
            self._loops,
            len(begins),
            tuple(self._locations),
        )

    def _write(self, program: Program) -> None:
        # A stack instead of recursion: programs may be as deep as they are long.
        pending: list[tuple[Program | _Later, SourceLocation]] = [(program, program.location)]
        while pending:
            item, self._location = pending.pop()
            if not isinstance(item, Program):
                item()
            elif _is_written(item):
                self._location = at = item.location
                pending += [(each, at) for each in reversed(self._open(item))]

    def _open(self, node: Program) -> list[Program | _Later]:
        """Write the beginning of a program; return its end, to be written later."""
        match node:
            case Repeat():
                return self._repeat(node)
            case Loop():
                begin = len(self._ops)
                return [node.body, lambda: self._aim([self._emit(op.JUMP)], begin)]
            case RepeatWhile():
                return self._repeat_while(node)
            case If():
                return self._if(node)
            case Switch():
                return self._switch(node)
            case Call(function=Function() as function):
                if node in self._numbers.actions:  # the code has to be there
                    self._emit(op.CALLBACK, self._numbers.actions[node])
                self._calls.append((self._emit(op.CALL), function))
                self._step += node.num_steps
                return []
        if not node.children:
            self._step += node.num_steps
            self._leaf(node)
        elif not isinstance(node, Steps | Block):
            raise unknown_kind(node, "no op does what {} does")
        return list(node.children)

    def _emit(self, kind: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        self._ops.append([kind, a, b, c])
        self._step_numbers.append(self._step)
        self._locations.append(self._location)
        return len(self._ops) - 1

    def _aim(self, rows: Sequence[int], target: int | None = None, word: int = 1) -> None:
        """Let rows that jump go to a row, by default the next one."""
        for row in rows:
            self._ops[row][word] = len(self._ops) if target is None else target

    def _scalar(self, tensor: Tensor) -> tuple[int, int]:
        """Return position and bytes of a scalar."""
        where = self._layout.byte_positions(addresses(tensor.view).ravel())
        return int(where[0]), tensor.element_type.size_bytes

    def _agree(self, scalar: Tensor, otherwise: int | None, kind: int = op.AGREE) -> None:
        """Let an action run where replicas do not agree on a scalar."""
        if self._layout.replicas > 1 and otherwise is not None:
            row = self._emit(kind, 0, *self._scalar(scalar))
            self._emit(op.CALLBACK, otherwise)
            self._aim([row])

    def _repeat(self, node: Repeat) -> list[Program | _Later]:
        loop, self._loops = self._loops, self._loops + 1
        row = self._emit(op.REPEAT, loop, node.count)

        def close() -> None:
            self._emit(op.AGAIN, loop, row + 1)
            self._aim([row], word=3)

        return [node.body, close]

    def _repeat_while(self, node: RepeatWhile) -> list[Program | _Later]:
        begin = self._step
        jump = self._emit(op.JUMP)
        # The body is written first, but its steps count behind those of the condition.
        self._step += node.condition.num_steps

        def condition() -> None:
            self._aim([jump])
            self._step = begin

        def test() -> None:
            self._agree(node.predicate, self._numbers.agreements.get(node))
            kind = op.JUMP_IF_NONZERO if node.goes_on_if else op.JUMP_IF_ZERO
            self._emit(kind, jump + 1, *self._scalar(node.predicate))
            self._step = begin + node.num_steps

        return [node.body, condition, node.condition, test]

    def _if(self, node: If) -> list[Program | _Later]:
        self._agree(node.predicate, self._numbers.agreements.get(node))
        test = self._emit(op.JUMP_IF_ZERO, 0, *self._scalar(node.predicate))
        ends: list[int] = []

        def otherwise() -> None:
            if _is_written(node.false_body):
                ends.append(self._emit(op.JUMP))
            self._aim([test])

        return [node.true_body, otherwise, node.false_body, lambda: self._aim(ends)]

    def _switch(self, node: Switch) -> list[Program | _Later]:
        self._agree(node.control, self._numbers.agreements.get(node), op.SAME)
        switch = self._emit(op.SWITCH, len(node.cases), self._scalar(node.control)[0])
        # Values are compared as the signed number of the same 32 bits.
        signed = {(value + (1 << 31)) % (1 << 32) - (1 << 31): value for value in node.cases}
        rows = {value: self._emit(op.CASE, number) for number, value in sorted(signed.items())}
        ends: list[int] = []

        def case(value: int) -> _Later:
            return lambda: self._aim([rows[value]], word=2)

        def leave() -> None:
            ends.append(self._emit(op.JUMP))

        def default() -> None:
            self._aim([switch], word=3)
            if node.unmatched != "default":
                self._emit(op.CALLBACK, self._numbers.actions[node])

        written: list[Program | _Later] = []
        for value, program in node.cases.items():
            written += [case(value), program, leave]
        return [*written, default, node.default, lambda: self._aim(ends)]

    def _leaf(self, leaf: Program) -> None:
        if isinstance(leaf, Execute):
            number = self._numbers.steps[leaf.compute_set]
            step = self._steps[number]
            assert isinstance(step, ComputeStep)
            if self._is_random:
                self._emit(op.FLOATS, 0, 0, 1)
            optional = {op.GATHER: step.gather, op.SAVE: step.save, op.SCATTER: step.scatter}
            wanted = {phase for phase, moves in optional.items() if len(moves.records)}
            wanted.add(op.COMPUTE)
            wanted |= {op.COUNT, op.SUM_SLOTS} if number in self._data_dependent else set()
            if leaf.result is not None:
                self._emit(op.EXPECT, number)
            for phase in sorted(wanted):
                row = self._emit(op.LAUNCH, number, phase)
                self._step_rows += [row] if phase == op.COMPUTE else []
            if leaf.result is not None:
                self._emit(op.COLLECT, number, self._scalar(leaf.result)[0])
        elif isinstance(leaf, TensorCopy | CrossReplicaCopy):
            self._step_rows.append(self._emit(op.LAUNCH, self._numbers.steps[leaf], op.GATHER))
        elif isinstance(leaf, Mark) and leaf not in self._numbers.actions:
            self._emit(op.MARK)
        elif isinstance(leaf, SetMode):
            self._emit(op.FLOATS, leaf.clear, leaf.set)
        elif isinstance(leaf, AbortOnCondition):
            self._agree(leaf.predicate, self._numbers.actions[leaf])
            test = self._emit(op.JUMP_IF_ZERO, 0, *self._scalar(leaf.predicate))
            self._emit(op.CALLBACK, self._numbers.actions[leaf])
            self._aim([test])
        elif leaf not in self._numbers.actions:
            raise unknown_kind(leaf, "no op does what {} does")
        else:
            self._copies(leaf, "before")
            self._emit(op.CALLBACK, self._numbers.actions[leaf])
            self._copies(leaf, "after")

    def _copies(self, leaf: Program, place: Place) -> None:
        """Write the copies before or after Python does its part, if there are any."""
        if (number := self._numbers.host_copies.get((leaf, place))) is not None:
            row = self._emit(op.LAUNCH, number, op.GATHER)
            self._step_rows += [row] if isinstance(leaf, Copy) else []


def _is_written(program: Program) -> bool:
    """Return whether a program has ops: its steps have them, even where it repeats them 0 times."""
    return program.num_steps > 0 or not program.is_empty


_WORK = Execute | TensorCopy | StreamCopy | RemoteCopy | CrossReplicaCopy
"""Programs that have one of the rows that do the work."""


def _num_runs(program: Program) -> int | None:
    """Return how often Executes and Copies run in a program; None where data decide."""
    runs: dict[int, int | None] = {}
    for node in children_first(program):
        below = [runs[id(part)] for part in node.children]
        known = [number for number in below if number is not None]
        number = sum(known) if len(known) == len(below) else None
        if isinstance(node, _WORK):
            number = 1
        elif isinstance(node, Repeat):
            number = 0 if node.count == 0 else number and number * node.count
        elif (node.decided_by is not None or isinstance(node, Loop)) and number != 0:
            number = None
        runs[id(node)] = number
    return runs[id(program)]
