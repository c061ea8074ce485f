"""A program tree written down as ops (`poplite.compile.opcodes`).

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poplite.compile.layout import ArenaLayout
from poplite.compile.opcodes import (
    AGAIN,
    CALL,
    CALLBACK,
    CASE,
    END,
    JUMP,
    JUMP_IF_NONZERO,
    JUMP_IF_ZERO,
    LAUNCH,
    REPEAT,
    RETURN,
    SWITCH,
)
from poplite.compile.step import ComputeStep, CopyStep
from poplite.program import (
    Call,
    Copy,
    Execute,
    Function,
    If,
    Program,
    Repeat,
    RepeatWhile,
    Switch,
    children_first,
)
from poplite.tensor import Tensor
from poplite.view import addresses

GATHER, SAVE, COMPUTE, SCATTER = range(4)
"""Phases of a compute set; a copy has the first only."""

_Later = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Code:
    """One program as ops.

    Attributes:
        ops: int64[rows, 4]; a LAUNCH names step and phase in its first two operands.
        step_numbers: int64[rows], number of the program's step that a row belongs to; in a
            function counted from its beginning.
        step_rows: int64[...], the rows that do the work of an Execute or a Copy.
        num_steps: steps of the program.
        num_runs: how often Executes and Copies run in one run of it; None where data decide.
        num_loops: Repeats in it.
        num_functions: functions that it calls, none of them twice at a time.
    """

    ops: npt.NDArray[np.int64]
    step_numbers: npt.NDArray[np.int64]
    step_rows: npt.NDArray[np.int64]
    num_steps: int
    num_runs: int | None
    num_loops: int
    num_functions: int

    def called_from(self, rows: Sequence[int]) -> Code:
        """Return the code with the step numbers that a function has in one place.

        Args:
            rows: the CALL rows that have not returned.
        """
        before = int(self.step_numbers[np.array(rows, np.int64)].sum())
        return replace(self, step_numbers=self.step_numbers + before)


class Emitter:
    """Writes programs down as ops.

    Args:
        steps: the lowered steps.
        number_of: step number of compute sets and copies, action number of what Python does.
        layout: where the scalars lie that decide.
    """

    def __init__(
        self,
        steps: Sequence[ComputeStep | CopyStep],
        number_of: Mapping[object, int],
        layout: ArenaLayout,
    ) -> None:
        self._steps, self._number_of, self._layout = steps, number_of, layout

    def code(self, program: Program) -> Code:
        """Return a program as ops."""
        self._ops: list[list[int]] = []
        self._step_numbers: list[int] = []
        self._step_rows: list[int] = []
        self._step = self._loops = 0
        self._calls: list[tuple[int, Function]] = []
        self._write(program)
        self._emit(END)
        begins: dict[Function, int] = {}
        for row, function in self._calls:  # which grows, as functions call others
            if function not in begins:
                begins[function], self._step = len(self._ops), 0
                self._write(function.program)
                self._emit(RETURN)
            self._aim([row], begins[function])
        return Code(
            np.array(self._ops, np.int64),
            np.array(self._step_numbers, np.int64),
            np.array(self._step_rows, np.int64),
            program.num_steps,
            _num_runs(program),
            self._loops,
            len(begins),
        )

    def _write(self, program: Program) -> None:
        # A stack instead of recursion: programs may be as deep as they are long.
        pending: list[Program | _Later] = [program]
        while pending:
            item = pending.pop()
            if not isinstance(item, Program):
                item()
            elif item.is_empty:
                self._step += item.num_steps
            else:
                pending.extend(reversed(self._open(item)))

    def _open(self, node: Program) -> list[Program | _Later]:
        """Write the beginning of a program; return what is to be written behind it."""
        match node:
            case Repeat():
                return self._repeat(node)
            case RepeatWhile():
                return self._repeat_while(node)
            case If():
                return self._if(node)
            case Switch():
                return self._switch(node)
            case Call(function=function):
                self._calls.append((self._emit(CALL), function))
                self._step += node.num_steps
                return []
        if not node.children:
            self._step += node.num_steps
            self._leaf(node)
        return list(node.children)

    def _emit(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        self._ops.append([op, a, b, c])
        self._step_numbers.append(self._step)
        return len(self._ops) - 1

    def _aim(self, rows: Sequence[int], target: int | None = None, word: int = 1) -> None:
        """Let rows that jump go to a row, by default the next one."""
        for row in rows:
            self._ops[row][word] = len(self._ops) if target is None else target

    def _scalar(self, tensor: Tensor) -> tuple[int, int]:
        """Return position and bytes of a scalar."""
        where = self._layout.byte_positions(addresses(tensor.view).ravel())
        return int(where[0]), tensor.element_type.size_bytes

    def _repeat(self, node: Repeat) -> list[Program | _Later]:
        loop, self._loops = self._loops, self._loops + 1
        row = self._emit(REPEAT, loop, node.count)

        def close() -> None:
            self._emit(AGAIN, loop, row + 1)
            self._aim([row], word=3)

        return [node.body, close]

    def _repeat_while(self, node: RepeatWhile) -> list[Program | _Later]:
        begin = self._step
        jump = self._emit(JUMP)
        # The body is written first, but its steps count behind those of the condition.
        self._step += node.condition.num_steps

        def condition() -> None:
            self._aim([jump])
            self._step = begin

        def test() -> None:
            op = JUMP_IF_NONZERO if node.goes_on_if else JUMP_IF_ZERO
            self._emit(op, jump + 1, *self._scalar(node.predicate))
            self._step = begin + node.num_steps

        return [node.body, condition, node.condition, test]

    def _if(self, node: If) -> list[Program | _Later]:
        test = self._emit(JUMP_IF_ZERO, 0, *self._scalar(node.predicate))
        ends: list[int] = []

        def otherwise() -> None:
            if not node.false_body.is_empty:
                ends.append(self._emit(JUMP))
            self._aim([test])

        return [node.true_body, otherwise, node.false_body, lambda: self._aim(ends)]

    def _switch(self, node: Switch) -> list[Program | _Later]:
        switch = self._emit(SWITCH, len(node.cases), self._scalar(node.control)[0])
        # Values are compared as the signed number of the same 32 bits.
        signed = {(value + (1 << 31)) % (1 << 32) - (1 << 31): value for value in node.cases}
        rows = {value: self._emit(CASE, number) for number, value in sorted(signed.items())}
        ends: list[int] = []

        def case(value: int) -> _Later:
            return lambda: self._aim([rows[value]], word=2)

        def leave() -> None:
            ends.append(self._emit(JUMP))

        def default() -> None:
            self._aim([switch], word=3)
            if node.unmatched != "default":
                self._emit(CALLBACK, self._number_of[node])

        written: list[Program | _Later] = []
        for value, program in node.cases.items():
            written += [case(value), program, leave]
        return [*written, default, node.default, lambda: self._aim(ends)]

    def _leaf(self, leaf: Program) -> None:
        if isinstance(leaf, Execute):
            number = self._number_of[leaf.compute_set]
            step = self._steps[number]
            assert isinstance(step, ComputeStep)
            optional = {GATHER: step.gather, SAVE: step.save, SCATTER: step.scatter}
            for phase in (GATHER, SAVE, COMPUTE, SCATTER):
                if phase == COMPUTE:
                    self._step_rows.append(self._emit(LAUNCH, number, phase))
                elif len(optional[phase].records):
                    self._emit(LAUNCH, number, phase)
        elif isinstance(leaf, Copy):
            self._step_rows.append(self._emit(LAUNCH, self._number_of[leaf], GATHER))
        else:
            self._emit(CALLBACK, self._number_of[leaf])


def _num_runs(program: Program) -> int | None:
    """Return how often Executes and Copies run in a program; None where data decide."""
    runs: dict[int, int | None] = {}
    for node in children_first(program):
        below = [runs[id(part)] for part in node.children]
        known = [number for number in below if number is not None]
        number = sum(known) if len(known) == len(below) else None
        if isinstance(node, Execute | Copy):
            number = 1
        elif isinstance(node, Repeat):
            number = 0 if node.count == 0 else number and number * node.count
        elif node.decided_by is not None and number != 0:
            number = None
        runs[id(node)] = number
    return runs[id(program)]
