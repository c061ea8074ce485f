"""What compute sets took whose vertices were counted while they ran.

    table     slots of each vertex     written by drivers (`poplite.simulator.counting.driver`)
    record    where everything is      read by `poplite.simulator.counting.slot_sums`
    totals    of all executions        read by the accounts

Vertices of the same compute set that need not be counted have their slots in the table from the
beginning.  In a replicated graph, each tile takes as long as in the slowest replica; slots are
those of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant
from poplite.cost.step_cost import StepCost, VertexCosts
from poplite.executable.executable import Executable
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.phase_parts import Source
from poplite.simulator.codegen.compute_code import Counting
from poplite.simulator.counting import record_words as at
from poplite.simulator.pricing.slot_function import MOST_COUNTED
from poplite.vertex.vertex import MultiVertex, Vertex


@frozen(eq=False)
class SlotTotals:
    """What a row took over all its executions.

    Attributes:
        slowest: cycles of the slowest tile, summed over executions.
        elapsed: the same with the phases before and after that no sync separates from it.
        tile_cycles: int64[tiles], summed.
        slots: worker slots of each family of the step, summed; for a MultiVertex tile cycles.
        is_counted: whether a family was counted; the slots of the others were known.
        is_cut: whether a vertex of a family took more than `MOST_COUNTED` slots, and counts as that
            many.
    """

    executions: int
    slowest: int
    elapsed: int
    tile_cycles: Int64
    slots: tuple[int, ...]
    is_counted: tuple[bool, ...]
    is_cut: tuple[bool, ...]


class SlotTable:
    """The table of a compute set some of whose vertices are counted.

    Attributes:
        counting: how each class that is counted is counted.
        slots: address of the table, by the address of the replica's arena.
    """

    def __init__(
        self,
        executable: Executable,
        number: int,
        arenas: Sequence[int],
        counting: Mapping[type[Vertex], Counting],
    ) -> None:
        self._executable, self._cost = executable, executable.costs[number]
        self.counting = counting
        families, target = self._cost.vertices, executable.target
        self._is_counted = [f.cls in counting and f.source == "automatic" for f in families]
        numbers = [family.numbers.array() for family in families]
        count = 1 + max(int(each.max()) for each in numbers)
        # The table is in the order of the vertices' numbers in the step. A driver writes there
        # what all vertices of its class take, so those whose slots the user set stand behind.
        places = np.arange(count)
        are_behind = [f.cls in counting and f.source == "given" for f in families]
        behind = np.concatenate([np.zeros(0, np.int64), *compress(numbers, are_behind)])
        places[behind] = count + np.arange(len(behind))
        # The word before each table is the size of the arena.
        self._tables = np.zeros((len(arenas), 1 + count + len(behind)), np.int64)
        self._tables[:, 0] = executable.layout.size_bytes
        # What a driver writes for these is not to be added up: it belongs to an extra family.
        family_of = np.full(count + len(behind), len(families))
        tiles = np.zeros(count, np.int64)
        alone = np.zeros(count, np.bool_)
        for k, (family, own) in enumerate(zip(families, numbers, strict=True)):
            family_of[places[own]], tiles[own] = k, family.tiles.array()
            alone[own] = issubclass(family.cls, MultiVertex)
            if not self._is_counted[k]:
                self._tables[:, 1 + places[own]] = known_slots(family, target)[0].array()
        changes = np.flatnonzero(np.diff(family_of)) + 1
        self._run_ends = np.append(changes, len(family_of))
        self._run_families = family_of[self._run_ends - 1]
        limits = [
            _limit(f, target) if own else _NO_LIMIT
            for f, own in zip(families, self._is_counted, strict=True)
        ]
        self._run_limits = np.array([*limits, _NO_LIMIT])[self._run_families]
        self._used, compact = np.unique(tiles, return_inverse=True)
        # The vertices of a tile start in the order of their numbers.
        order = np.flatnonzero(~alone)
        order = order[np.argsort(compact[order], kind="stable")]
        self._shared, self._alone = places[order], places[alone]
        self._shared_ends = np.cumsum(np.bincount(compact[order], minlength=len(self._used)))
        self._alone_tiles = compact[alone]
        self._scratch = np.zeros(target.workers + 2 * len(self._used), np.int64)
        around = cycles_around(self._cost, target.tiles)
        self._beside = around[self._used]
        others = np.delete(around, self._used)
        self._least = int(others.max(initial=0))
        step = self._tables.strides[0]
        first = self._tables.ctypes.data + 8
        self.slots = {arena: first + step * k for k, arena in enumerate(arenas)}

    def record(self) -> tuple[Int64, Int64]:
        """Return a record with totals of its own, and these totals."""
        used, workers = len(self._used), self._executable.target.workers
        families = len(self._is_counted) + 1
        totals = np.zeros(at.TOTAL_WORDS + used + 2 * families, np.int64)
        busy = self._scratch.ctypes.data
        cycles = busy + 8 * workers
        words = {
            at.REPLICAS: len(self._tables),
            at.TABLE: self._tables.ctypes.data + 8,
            at.STRIDE: self._tables.shape[1],
            at.RUNS: len(self._run_ends),
            at.RUN_ENDS: self._run_ends.ctypes.data,
            at.RUN_FAMILIES: self._run_families.ctypes.data,
            at.RUN_LIMITS: self._run_limits.ctypes.data,
            at.SHARED: self._shared.ctypes.data,
            at.SHARED_ENDS: self._shared_ends.ctypes.data,
            at.WORKERS: workers,
            at.BUSY: busy,
            at.TILES: used,
            at.ALONE: self._alone.ctypes.data,
            at.ALONE_COUNT: len(self._alone),
            at.ALONE_TILES: self._alone_tiles.ctypes.data,
            at.CYCLES: cycles,
            at.MOST: cycles + 8 * used,
            at.BESIDE: self._beside.ctypes.data,
            at.LEAST: self._least,
            at.FAMILIES: families,
            at.TOTALS: totals.ctypes.data,
        }
        return np.array([words[word] for word in range(at.RECORD_WORDS)], np.int64), totals

    def totals(self, words: Int64) -> SlotTotals:
        """Return what totals say that `record` returned."""
        tile_cycles = np.zeros(self._executable.target.tiles, np.int64)
        tile_cycles[self._used] = words[at.TOTAL_WORDS : at.TOTAL_WORDS + len(self._used)]
        slots, times_cut = words[at.TOTAL_WORDS + len(self._used) :].reshape(2, -1)[:, :-1].tolist()
        return SlotTotals(
            int(words[at.TOTAL_EXECUTIONS]),
            int(words[at.TOTAL_SLOWEST]),
            int(words[at.TOTAL_SEGMENT]),
            tile_cycles,
            tuple(slots),
            tuple(self._is_counted),
            tuple(map(bool, times_cut)),
        )


_NO_LIMIT = np.iinfo(np.int64).max


def _limit(family: VertexCosts, target: Target) -> int:
    """Return what drivers write for vertices of a family that took more than is counted."""
    if issubclass(family.cls, MultiVertex):
        return int(target.cost("supervisor_overhead")) + target.workers * MOST_COUNTED
    return MOST_COUNTED


def cycles_around(cost: StepCost, num_tiles: int) -> Int64:
    """Return the cycles of each tile in phases that no sync separates from the vertices."""
    cycles = np.zeros(num_tiles, np.int64)
    for phase in cost.before:
        if phase.sync:
            cycles[:] = 0
        cycles += phase.cycles.array()
    for phase in cost.after:
        if phase.sync:
            break
        cycles += phase.cycles.array()
    return cycles


def known_slots(family: VertexCosts, target: Target) -> tuple[Series, Source]:
    """Return what each vertex of a family that is not counted takes, and who says so."""
    if family.slots is not None:
        return family.slots, "given" if family.source == "given" else "formula"
    from poplite.simulator.pricing import slots_of  # many programs only have formulas

    assert family.shapes is not None, "of automatic ones"
    assert family.shape is not None, "of automatic ones"
    priced, shape = slots_of(family.cls, family.shapes, target), family.shape
    if shape.only is None:
        return compact(priced.slots[shape.array()]), priced.source
    return constant(int(priced.slots[shape.only]), shape.count), priced.source
