"""Whether an expression is computed where it is reduced, or stored first: what takes fewer cycles.

    in one      the vertices of the first stage compute what they join
    stored      a map computes it, shared evenly by all workers of a tile; an element that nothing
                on its tile joins is read from there

Both are priced tile by tile, as `poplite.vertices.estimators` does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.ops.reduce.pieces import repeated
from poplite.ops.reduce.plan import Plan, Problem, Stage, Types, plan_for
from poplite.ops.reduce.ranges import Mask
from poplite.types import FLOAT, HALF

SAVED = 1.25
"""How many times longer it may take to stretch operands than to store an expression of them."""

Slots = npt.NDArray[np.float64]


def is_cheaper_in_one(
    graph: Graph,
    problem: Problem,
    in_one: Plan,
    element: ElementClass,
    map_cycles: float,
    copied: float,
) -> bool:
    """Return whether to compute elements of a type takes no more cycles where they are joined.

    `in_one` is the plan of that, `map_cycles` those of the vertices that store them, `copied` those
    of operands that are stretched for the others: as these are stretched once for each vertex, and
    storing takes memory on all tiles, that must save a quarter.
    """
    target = graph.target
    if (
        _cycles(target, in_one.stages[0], problem.types.source, problem.types.slots) + copied
        <= map_cycles
    ):
        return True
    types = replace(problem.types, source=element, is_expression=False, slots=0)
    stored = plan_for(graph, replace(problem, types=types, agree=True))
    least = map_cycles + _total(target, stored, types)
    return _total(target, in_one, problem.types) + copied <= least * (SAVED if copied else 1)


def _total(target: Target, plan: Plan, types: Types) -> float:
    """Return the cycles of the stages of a plan."""
    total = 0.0
    for number, stage in enumerate(plan.stages):
        is_first = number == 0
        element = types.source if is_first else types.partial
        total += _cycles(target, stage, element, types.slots if is_first else 0)
    return total


def _cycles(target: Target, stage: Stage, element: ElementClass, slots: float) -> float:
    """Return the cycles of a stage whose vertices take slots to compute each element."""
    work, cost = stage.work, target.cost
    if not len(work.tile):
        return 0
    loaded = target.vector_width(element) if element in (FLOAT, HALF) else 1
    outputs = work.high - work.low
    is_row = (work.stride == 1) & (outputs == 1) | work.is_rows
    read = np.add.reduceat(work.end - work.begin, work.ptr[:-1])
    rows = -(-np.maximum(read - outputs, 0) // np.maximum(work.stride, 1)) + 1
    elements = np.where(is_row, read, rows * outputs)  # between rows there may be others
    taken = cost("reduce_one_entry") + elements / loaded
    taken += np.where(outputs > 1, outputs * cost("reduce_rows_output"), 0)
    own = np.where(work.share, np.minimum(work.share, outputs), outputs)
    column = sum(cost(f"reduce_columns_{part}") for part in ("outer", "inner", "sum"))
    vectors = -(-own // np.where(is_row, loaded, np.gcd(loaded, work.stride)))
    columns = cost("reduce_columns_entry") + vectors * (column + rows - 1)
    taken = np.where(is_row, taken, columns)
    if slots:
        computed = np.where(is_row, elements, vectors * rows * loaded)
        taken = taken + computed * (slots - 1 / loaded)
    cycles = _slowest(work.tile, taken, work.share > 0, target.workers) * target.workers
    cycles += _copied(target, stage, element)
    if stage.name in ("groups", "final"):
        received = float(np.bincount(work.tile, elements * element.size_bytes).max())
        cycles += cost("sync_cycles") + cost("latency_cycles")
        cycles += received / target.exchange_bytes_per_cycle
    return cycles


def _copied(target: Target, stage: Stage, element: ElementClass) -> float:
    """Return the cycles of putting together what vertices read in several places."""
    work = stage.work
    vertex, _ = repeated(np.diff(work.ptr))
    size = (work.end - work.begin) * (np.diff(work.ptr) > 1)[vertex]
    if not size.any():
        return 0
    rows = size * element.size_bytes / target.cost("memcpy_bytes_per_cycle")
    rows += np.where(size > 0, target.cost("copy_piece_cycles"), 0)
    return target.cost("worker_call") + float(np.bincount(work.tile[vertex], rows).max())


def _slowest(tile: Int64, slots: Slots, is_shared: Mask, workers: int) -> float:
    """Return the slots of the busiest worker of all tiles; all take a part of what is shared."""
    total = np.bincount(tile, np.where(is_shared, slots * workers, slots))
    longest = np.zeros_like(total)
    np.maximum.at(longest, tile, slots)
    is_many = np.bincount(tile) > workers  # the last of them begin late
    return float(np.where(is_many, total / workers + longest / 2, longest).max())
