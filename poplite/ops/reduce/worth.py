"""Whether an expression is computed where it is reduced, or stored first: what takes fewer cycles.

    in one      the vertices of the first stage compute what they join
    stored      a map computes it, shared evenly by all workers of a tile; an element that nothing
                on its tile joins is read from there

Both are priced tile by tile, as `poplite.vertices.estimators` does. What vertices read in several
places is copied for them first; so are repeated elements, one by one, for each vertex that has
others of them::

    y of shape (5, 1) for (5, 6)      vertices of two rows read 0 0 0 0 0 0 1 1 1 1 1 1, ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64
from poplite.cost.workers import slowest_tile
from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.fuse.joining import Computed
from poplite.ops.reduce.pieces import repeated
from poplite.ops.reduce.plan import Plan, Problem, Stage
from poplite.ops.reduce.ranges import Mask
from poplite.ops.reduce.stage import StageWork
from poplite.vertices.estimators.reductions import Slots, columns_slots, rows_slots

ACROSS = ("groups", "final")
"""Stages that read what other tiles came to."""


class ReadOperand(NamedTuple):
    """What vertices read of a tensor, flattened as they reduce it.

    Attributes:
        digits: extent and stride of each digit, the outermost first.
        size_bytes: of an element.
        share: how much of what it reads a tile has itself; what others send is put in its place.
    """

    digits: tuple[Digit, ...]
    size_bytes: int
    share: float = 1

    @property
    def is_gathered(self) -> bool:
        """Whether a tile has a part of what is sent to all."""
        return 0 < self.share < 1


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
            cycles += _copied(target, work, operands)
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


def _copied(target: Target, work: StageWork, operands: Sequence[ReadOperand]) -> float:
    """Return the cycles of putting together what vertices read in several places."""
    cycles = np.zeros(target.tiles)
    for each in operands:
        cycles += _copied_of(target, work, each)
    return float(target.cost("worker_call") + cycles.max()) if cycles.any() else 0


def _copied_of(target: Target, work: StageWork, operand: ReadOperand) -> Slots:
    """Return float64[tiles], the cycles of copying what vertices read of an operand.

    As in `poplite.cost.exchange.on_tile_copies`: a row is copied by itself, single words one after
    the other at equal distances. Vertices of a tile that read the same have one copy.
    """
    vertex, _ = repeated(np.diff(work.ptr))
    length, stride = operand.digits[-1] if operand.digits else (1, 0)
    begin, end = work.begin, work.end
    runs = (end - 1) // length - begin // length + 1
    runs[1:] -= (vertex[1:] == vertex[:-1]) & (begin[1:] == end[:-1]) & (begin[1:] % length > 0)
    cycles = _row_cycles(target, runs, end - begin, length, stride, operand.size_bytes)
    taken, pieces = (_totals(vertex, each, len(work.tile)) for each in (cycles, runs))
    if not operand.is_gathered:
        taken[(pieces == 1) & (stride == 1)] = 0  # it lies in one place
    first = np.arange(len(taken))
    if any(each == 0 for _, each in operand.digits):
        first = _distinct_reads(work, operand.digits, pieces <= np.diff(work.ptr))
    return _totals(work.tile[first], taken[first] * operand.share, target.tiles)


def _totals(of: Int64, values: Slots | Int64, count: int) -> Slots:
    """Return float64[count], the sums of the values of each number."""
    return np.bincount(of, values, count).astype(np.float64)


def _row_cycles(
    target: Target, runs: Int64, elements: Int64, length: int, stride: int, size_bytes: int
) -> Slots:
    """Return the cycles of copying elements that are in some runs, of at most a length each."""
    cost = target.cost
    piece = cost("copy_piece_cycles") + 1
    word = cost("data_path_bytes") / cost("strided_copy_bytes_per_cycle")
    if stride != 1:  # each run is a series, whose first two elements are copied by themselves
        return elements * word + np.minimum(2 * runs, elements) * (piece - word)
    if length * size_bytes <= cost("data_path_bytes"):
        return runs * word + np.minimum(2, runs) * (piece - word)
    return runs * (piece - 1) + elements * size_bytes / cost("memcpy_bytes_per_cycle")


def _distinct_reads(work: StageWork, digits: Sequence[Digit], is_within: Mask) -> Int64:
    """Return a vertex of each that reads the same elements of an operand on the same tile.

    `is_within` says of which vertices all intervals are within runs.
    """
    period = _period(digits)
    length, stride = digits[-1]
    begin = work.begin[work.ptr[:-1]] % period
    begin = np.where(is_within & (stride == 0), begin // length * length, begin)
    read = np.add.reduceat(work.end - work.begin, work.ptr[:-1])
    keys = work.tile, begin, read, np.diff(work.ptr)
    order = np.lexsort(keys)
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return order[is_new]


def _period(digits: Sequence[Digit]) -> int:
    """Return after how many elements an operand begins again.

    >>> _period([(5, 0), (3, 2), (2, 0)])
    6
    """
    extents = [extent for extent, _ in digits]
    outer = next((k for k, (_, stride) in enumerate(digits) if stride), len(digits) - 1)
    return int(np.prod(extents[outer:]))
