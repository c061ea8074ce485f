"""Whether an expression is computed where it is reduced, or stored first: what takes fewer cycles.

    in one      the vertices of the first stage compute what they join
    stored      a map computes it, shared evenly by all workers of a tile; an element that nothing
                on its tile joins is read from there

Both are priced tile by tile, as `poplite.vertices.estimators` does, with what is copied for their
vertices first (`poplite.ops.fuse.gathering`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from poplite.cost.workers import slowest_tile
from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.fuse.gathering import ReadOperand, VectorReads, gathering_cycles
from poplite.ops.fuse.joining import Computed
from poplite.ops.reduce.pieces import repeated
from poplite.ops.reduce.plan import Plan, Problem, Stage
from poplite.ops.reduce.stage import StageWork
from poplite.vertices.estimators.reductions import Slots, columns_slots, rows_slots

ACROSS = ("groups", "final")
"""Stages that read what other tiles came to."""


class ReductionWay(NamedTuple):
    """A way of reducing an expression, or what holds it.

    Attributes:
        problem: what is reduced.
        plan: makes the plan of that.
        operands: what vertices of the first stage read.
        adds: whether elements are added up.
        before: cycles of what is done before.
        computed: what the first stage computes; None where an expression is stored.
    """

    problem: Problem
    plan: Callable[[], Plan]
    operands: tuple[ReadOperand, ...]
    adds: bool
    before: float = 0
    computed: Computed | None = None

    def cycles(self, target: Target, *, across: bool) -> float:
        """Return the cycles of stages across tiles, or of all before them."""
        plan = self.plan()
        key = across, self.operands, self.computed, self.adds
        total = plan.prices.get(key)
        if total is None:
            total = plan.prices[key] = sum(
                self._of_stage(target, stage, is_first=number == 0)
                for number, stage in enumerate(plan.stages)
                if (stage.name in ACROSS) == across
            )
        return total if across else self.before + total

    def _of_stage(self, target: Target, stage: Stage, *, is_first: bool) -> float:
        """Return the cycles of a stage."""
        work, types = stage.work, self.problem.types
        if not len(work.tile):
            return 0
        computed = self.computed if is_first else None
        element = types.source if is_first else types.partial
        operands = self.operands
        if not is_first:
            operands = (ReadOperand(((int(work.end.max()), 1),), element.size_bytes),)
        joined, slots = (element, 0.0) if computed is None else (computed.joined, computed.slots)
        made = {
            result: _slots(target, work, joined, result, slots, adds=self.adds)
            for result in (types.partial, types.result)
        }
        taken = np.where(work.is_final, made[types.result], made[types.partial])
        cycles = float(slowest_tile(work.tile, taken, target))
        if stage.name not in ACROSS:
            reads = VectorReads(work.tile, work.ptr, work.begin, work.end)
            lies = reads.in_memory(self.problem.mapping) if is_first else reads
            cycles += gathering_cycles(
                target, [(lies if _is_plain(each) else reads, each) for each in operands]
            )
        else:  # a tile puts what it has itself to what it receives
            cycles += target.cost("worker_call") + target.cost("copy_piece_cycles")
            read = (work.end - work.begin) * element.size_bytes
            received = np.bincount(work.tile[repeated(np.diff(work.ptr))[0]], read).max()
            cycles += target.cost("sync_cycles") + target.cost("latency_cycles")
            cycles += float(received) / target.exchange_bytes_per_cycle
        return cycles


def is_cheaper_in_one(target: Target, in_one: ReductionWay, stored: ReductionWay) -> bool:
    """Return whether an expression takes no more cycles where its elements are joined.

    Plans take long to make, so bounds come before: an expression takes at least the slots of the
    fullest tile; and what follows once each tile has joined its elements is the same both ways.
    """
    most = int(in_one.problem.mapping.elements_per_tile.max(initial=0))
    least = most * in_one.problem.types.slots
    if least > stored.before and least > stored.cycles(target, across=False):
        return False
    own = in_one.cycles(target, across=False)
    if own <= stored.before:
        return True
    saved = stored.cycles(target, across=False) - own
    return in_one.cycles(target, across=True) - stored.cycles(target, across=True) <= saved


def _slots(
    target: Target,
    work: StageWork,
    element: ElementClass,
    result: ElementClass,
    slots: float,
    *,
    adds: bool,
) -> Slots:
    """Return the slots of each vertex of a stage, which computes elements in some slots each."""
    outputs = work.high - work.low
    is_row = (work.stride == 1) & (outputs == 1) | work.is_rows
    read = np.add.reduceat(work.end - work.begin, work.ptr[:-1])
    if is_row.all():
        return rows_slots(element, result, outputs, read, target, slots)
    stride = np.maximum(work.stride, 1)
    rows = -(-np.maximum(read - outputs, 0) // stride) + 1
    own = np.where(work.share, np.minimum(work.share, outputs), outputs)
    taken = columns_slots(element, result, own, rows, stride, target, adds=adds, slots=slots)
    if not is_row.any():
        return taken
    return np.where(is_row, rows_slots(element, result, outputs, read, target, slots), taken)


def _is_plain(operand: ReadOperand) -> bool:
    """Return whether an operand is read in the order of its own elements."""
    return len(operand.digits) == 1 and operand.digits[0][1] == 1
