"""Which steps an action may concern that lets a variable be unwritten, as `WriteUndef` does.

    variable        partials
    steps           those that read or write some of it; all others remain as they were
    scalars         what decides, where it is one of its elements

Variables are counted as a whole: a step that touches other elements of one is looked at once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.actions import Print, Stamp
from poplite.executable.executable import Executable
from poplite.executable.host_tensor import HostTensor
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep
from poplite.simulator.run.touched import field_rows, ranges

Integers = npt.NDArray[np.int64]

Variables = frozenset[int]
"""Variables by number, as in the layout."""

SCALARS = {op.COLLECT: 2, op.ALL: 1, **dict.fromkeys(op.DECIDING, 2)}
"""The word of an op that is a scalar which strict checks look at, or note as written."""


@dataclass(frozen=True, eq=False)
class Loss:
    """Variables that are unwritten now and then, and the steps that touch them, by number."""

    variables: Variables
    steps: tuple[int, ...]
    layout: ArenaLayout

    def rows(self, code: Code, looked_at: Integers) -> Integers:
        """Return the rows of a program that it concerns, of those that are looked at."""
        kinds, numbers = code.ops[looked_at, 0], code.ops[looked_at, 1]
        concerned = (kinds == op.LAUNCH) & np.isin(numbers, self.steps)
        concerned |= (kinds == op.CALLBACK) | self._is_scalar(code)[looked_at]
        return np.asarray(looked_at[concerned])

    def has_scalars(self, code: Code) -> bool:
        """Return whether a row of a program reads or writes one of its elements as a scalar."""
        return bool(self._is_scalar(code).any())

    def _is_scalar(self, code: Code) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(code.ops), np.bool_)
        for kind, word in SCALARS.items():
            owners = self.layout.owners(code.ops[:, word])
            found |= (code.ops[:, 0] == kind) & np.isin(owners, [*self.variables])
        return found


class Losses:
    """The variables of all steps of an executable, found once one of them is lost again."""

    def __init__(self, executable: Executable) -> None:
        self._executable = executable
        layout = self._layout = executable.layout
        self._variables = [_variables_of(step, layout) for step in executable.steps]

    def of(self, tensor: HostTensor) -> Loss:
        """Return what becomes unwritten with a tensor."""
        lost = self._variables_behind(tensor)
        steps = [n for n, own in enumerate(self._variables) if not own.isdisjoint(lost)]
        return Loss(lost, tuple(steps), self._layout)

    def concerns_launches_only(self, loss: Loss) -> bool:
        """Return whether nothing but steps has to be looked at after a loss."""
        shown = [each.tensor for each in self._executable.actions if isinstance(each, Print)]
        stamps = [each for each in self._executable.actions if isinstance(each, Stamp)]
        shown += [each for stamp in stamps for each in (stamp.tensor, stamp.since) if each]
        return all(
            self._variables_behind(each).isdisjoint(loss.variables) for each in shown
        ) and not any(map(loss.has_scalars, self._executable.programs.values()))

    def _variables_behind(self, tensor: HostTensor) -> Variables:
        return _owners(self._layout, [_blocks(tensor.moves, 1)])


def _variables_of(step: ComputeStep | CopyStep, layout: ArenaLayout) -> Variables:
    """Return the variables of all elements that a step reads or writes."""
    if isinstance(step, CopyStep):
        return _owners(layout, [_blocks(step.moves, side) for side in (0, 1)])
    blocks = [_blocks(moves, side) for moves in (step.gather, step.scatter) for side in (0, 1)]
    return _owners(layout, [*blocks, *_edges(step)])


def _edges(step: ComputeStep) -> Iterator[Integers]:
    """Yield first and last byte of all edges of a compute set, field by field."""
    for group in step.groups:
        for rows in field_rows(group):
            some = rows.length > 0
            first, size = rows.start[some], rows.field.element.size_bytes
            yield np.stack([first, first + rows.length[some]]) * size - [[0], [1]]


def _blocks(moves: Moves, side: int) -> Integers:
    """Return first and last byte of what moves write, side 0, or read: int64[2, blocks]."""
    found = [np.zeros((2, 0), np.int64)]
    for record in moves.records.tolist():
        first, rows, size, far = record[side], record[2], record[3], record[4]
        if size:
            last = first + (rows - 1) * record[4 + side] + size - 1
            found.append(np.array([[first], [last]]))
        else:
            pieces = moves.pieces[far : far + rows].astype(np.int64)
            begin = first + pieces[:, side]
            found.append(np.stack([begin, begin + pieces[:, 2] - 1]))
    return np.concatenate(found, axis=1)


def _owners(layout: ArenaLayout, blocks: list[Integers]) -> Variables:
    """Return the variables that blocks of bytes touch, by first and last bytes."""
    every = np.sort(np.concatenate(blocks, axis=1), axis=0)  # distances may be negative
    first, last = (layout.owners(each) for each in every)
    last = np.where(last < 0, len(layout.variables) - 1, last)[first >= 0]
    found = np.unique(np.stack([first[first >= 0], last]), axis=1)
    return frozenset(np.unique(ranges(found[0], found[1] - found[0] + 1)).tolist())
