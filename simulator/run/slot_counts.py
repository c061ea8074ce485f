"""Count the slots of vertices during runs, if their cycles depend on data.

Vertex classes whose cycles depend on data are counted::

    while self.x[i] > limit        counted
    while i < len(self.x)          not counted: cycles depend on lengths, so each shape is priced
    after set_perf_estimate(...)   not counted; other vertices of the class are
    print(...)                     not counted: such a class is never compiled
    QUARTER                        not counted, nor HALF without hardware support: the code that is
                                   priced differs from the code that runs

The slots of their compute sets are kept in three places::

    table     slots of each vertex     written by drivers of `poplite.simulator.pricing`
    record    addresses and sizes      read by `poplite.simulator.codegen.launcher`
    totals    of all executions        read by the accounts

Vertices of the same compute set that need not be counted have their slots in the table from the
start. In a replicated graph, each tile takes the time of the slowest replica; slots are those of
the first replica.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant
from poplite.cost.step_cost import StepCost, VertexCosts
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep
from poplite.frozen import frozen
from poplite.machine.facts import CODE_FACTS
from poplite.machine.target import Target
from poplite.report.execution import Source
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.compute_code import MOST_COUNTED, Counting, modes_of
from poplite.simulator.run.launches import LaunchTable
from poplite.types import HALF, QUARTER
from poplite.vertex.compute.mathematics import KERNELS
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import MultiVertex, Vertex

# -- counted classes -------------------------------------------------------------------------------


def counting_of(
    executable: Executable,
    number: int,
    interpreted: Collection[type[Vertex]],
    checked: Collection[type[Vertex]],
) -> Mapping[type[Vertex], Counting]:
    """Return how each class of a compute set whose cycles depend on data is counted."""
    target = executable.target
    return {
        cls: Counting(
            on_copies=(separately := cls in interpreted or _is_counted_separately(executable, cls)),
            costs=_costs(target),
            checked=cls in checked and not separately,
        )
        for cls in _candidates(executable, number)
        if _is_data_dependent(cls, target, is_uneven=_has_uneven_rows(executable, number, cls))
    }


def counting_candidates(executable: Executable) -> Iterator[type[Vertex]]:
    """Yield the classes that are counted if the cycles of their code depend on data."""
    for number in range(len(executable.costs)):
        yield from _candidates(executable, number)


def deciding_fields(executable: Executable, number: int) -> Mapping[type[Vertex], frozenset[str]]:
    """Return the edges on whose data the cycles of a compute set depend, by class."""
    from poplite.simulator.pricing.class_slots import deciding_fields

    target, is_uneven = executable.target, partial(_has_uneven_rows, executable, number)
    return {
        cls: deciding_fields(cls, target, is_uneven=is_uneven(cls))
        for cls in _candidates(executable, number)
    }


def _candidates(executable: Executable, number: int) -> Iterator[type[Vertex]]:
    if number < len(executable.costs) and isinstance(executable.steps[number], ComputeStep):
        vertices = executable.costs[number].vertices
        for cls in dict.fromkeys(each.cls for each in vertices if each.source == "automatic"):
            if meaning_of(cls).flow.may_depend_on_data and _is_priced_as_run(cls):
                yield cls


def _is_priced_as_run(cls: type[Vertex]) -> bool:
    """Return whether the priced code loads and stores elements as the code that runs does."""
    elements = {field.element for field in cls.fields.values()}
    return QUARTER not in elements and (HALF not in elements or _has_half())


def _has_uneven_rows(executable: Executable, number: int, cls: type[Vertex]) -> bool:
    """Return whether vertices of a class have a list field with unevenly spaced rows."""
    step = executable.steps[number]
    groups = step.groups if isinstance(step, ComputeStep) else ()
    forms = {form for group in groups if group.cls is cls for form in group.forms}
    return not forms.isdisjoint(("pairs", "wide"))


def _is_data_dependent(cls: type[Vertex], target: Target, *, is_uneven: bool) -> bool:
    from poplite.simulator.pricing.class_slots import is_data_dependent

    return is_data_dependent(cls, target, is_uneven=is_uneven)


def _has_half() -> bool:
    """Return whether the processor for which code is compiled converts halves."""
    import llvmlite.binding as llvm

    from poplite.simulator.codegen.codecs import half_in_hardware

    chosen = any(os.environ.get(f"NUMBA_CPU_{choice}") for choice in ("NAME", "FEATURES"))
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    return half_in_hardware(llvm.get_process_triple(), features)


def _is_counted_separately(executable: Executable, cls: type[Vertex]) -> bool:
    """Return whether a separate driver counts a class, because its code does more than is priced.

    A function of `math` is priced as a call to the C library, whose results can differ in bits.
    """
    meaning = meaning_of(cls)
    does_more = meaning.raises or meaning.returns or not meaning.kernels.isdisjoint(KERNELS)
    modes = modes_of(cls, executable.float_modes)
    return executable.checks == "strict" or bool(modes) or does_more


def _costs(target: Target) -> tuple[tuple[str, float], ...]:
    names = (*CODE_FACTS, "supervisor_overhead", "workers")
    return tuple((name, target.cost(name)) for name in names)


# -- the table of a compute set --------------------------------------------------------------------


@frozen(eq=False)
class SlotTotals:
    """The totals of a row over all its executions.

    Attributes:
        slowest: cycles of the slowest tile, summed over executions.
        elapsed: like `slowest`, but including adjacent phases that no sync separates from the
            vertices.
        tile_cycles: int64[tiles], cycles of each tile, summed over executions.
        slots: worker slots of each family of the step, summed; for a MultiVertex, tile cycles.
        is_counted: for each family, whether it was counted; otherwise its slots were known.
        is_cut: for each family, whether a vertex exceeded `MOST_COUNTED` slots, which then count as
            `MOST_COUNTED`.
    """

    executions: int
    slowest: int
    elapsed: int
    tile_cycles: Int64
    slots: tuple[int, ...]
    is_counted: tuple[bool, ...]
    is_cut: tuple[bool, ...]


class SlotTable:
    """The table of slots of a compute set with counted vertices.

    Attributes:
        counting: the counting of each counted class.
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
        # The table is ordered by the numbers of vertices in the step. A driver writes the slots
        # of all vertices of its class to it, so vertices whose slots the user set are last.
        places = np.arange(count)
        are_behind = [f.cls in counting and f.source == "given" for f in families]
        behind = np.concatenate([np.zeros(0, np.int64), *compress(numbers, are_behind)])
        places[behind] = count + np.arange(len(behind))
        # The word before each table is the size of the arena.
        self._tables = np.zeros((len(arenas), 1 + count + len(behind)), np.int64)
        self._tables[:, 0] = executable.layout.size_bytes
        # The slots that a driver writes for vertices with user-set slots must not be added up, so
        # they belong to an extra family.
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
        # The vertices of a tile start in order of their numbers.
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
        """Return a record with its own totals, and these totals."""
        used, workers = len(self._used), self._executable.target.workers
        families = len(self._is_counted) + 1
        totals = np.zeros(op.TOTAL_WORDS + used + 2 * families, np.int64)
        busy = self._scratch.ctypes.data
        cycles = busy + 8 * workers
        words = {
            op.SLOTS_REPLICAS: len(self._tables),
            op.SLOTS_TABLE: self._tables.ctypes.data + 8,
            op.SLOTS_STRIDE: self._tables.shape[1],
            op.SLOTS_RUNS: len(self._run_ends),
            op.SLOTS_RUN_ENDS: self._run_ends.ctypes.data,
            op.SLOTS_RUN_FAMILIES: self._run_families.ctypes.data,
            op.SLOTS_RUN_LIMITS: self._run_limits.ctypes.data,
            op.SLOTS_SHARED: self._shared.ctypes.data,
            op.SLOTS_SHARED_ENDS: self._shared_ends.ctypes.data,
            op.SLOTS_WORKERS: workers,
            op.SLOTS_BUSY: busy,
            op.SLOTS_TILES: used,
            op.SLOTS_ALONE: self._alone.ctypes.data,
            op.SLOTS_ALONE_COUNT: len(self._alone),
            op.SLOTS_ALONE_TILES: self._alone_tiles.ctypes.data,
            op.SLOTS_CYCLES: cycles,
            op.SLOTS_MOST: cycles + 8 * used,
            op.SLOTS_BESIDE: self._beside.ctypes.data,
            op.SLOTS_LEAST: self._least,
            op.SLOTS_FAMILIES: families,
            op.SLOTS_TOTALS: totals.ctypes.data,
        }
        return np.array([words[word] for word in range(op.SLOTS_WORDS)], np.int64), totals

    def totals(self, words: Int64) -> SlotTotals:
        """Return the contents of totals that `record` returned."""
        tile_cycles = np.zeros(self._executable.target.tiles, np.int64)
        tile_cycles[self._used] = words[op.TOTAL_WORDS : op.TOTAL_WORDS + len(self._used)]
        slots, times_cut = words[op.TOTAL_WORDS + len(self._used) :].reshape(2, -1)[:, :-1].tolist()
        return SlotTotals(
            int(words[op.TOTAL_EXECUTIONS]),
            int(words[op.TOTAL_SLOWEST]),
            int(words[op.TOTAL_SEGMENT]),
            tile_cycles,
            tuple(slots),
            tuple(self._is_counted),
            tuple(map(bool, times_cut)),
        )


_NO_LIMIT = np.iinfo(np.int64).max


def _limit(family: VertexCosts, target: Target) -> int:
    """Return the number of slots that drivers write for vertices that exceed the counting limit."""
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
    """Return the slots of each vertex of an uncounted family, and their source."""
    if family.slots is not None:
        return family.slots, "given" if family.source == "given" else "formula"
    from poplite.simulator.pricing.class_slots import slots_of  # not needed with formulas only

    assert family.shapes is not None, "automatic families have shapes"
    assert family.shape is not None, "automatic families have shapes"
    priced, shape = slots_of(family.cls, family.shapes, target), family.shape
    if shape.only is None:
        return compact(priced.slots[shape.array()]), priced.source
    return constant(int(priced.slots[shape.only]), shape.count), priced.source


def known_flops(family: VertexCosts, target: Target) -> int | None:
    """Return the floating-point operations of all vertices of a family; None if unknown."""
    if family.shapes is None or family.shape is None:
        return None if family.flops is None else family.flops.total()
    from poplite.simulator.pricing.class_slots import flops_of

    flops, shape = flops_of(family.cls, family.shapes, target), family.shape
    if flops is None or shape.only is None:
        return None if flops is None else int(flops[shape.array()].sum())
    return int(flops[shape.only]) * shape.count


# -- the tables of an engine -----------------------------------------------------------------------


class SlotCounts:
    """The counting of vertices in an engine; `steps` are the tables of counted steps."""

    def __init__(
        self,
        executable: Executable,
        arenas: Sequence[int],
        interpreted: Sequence[frozenset[type[Vertex]]],
        checked: frozenset[type[Vertex]] = frozenset(),
    ) -> None:
        self._programs = executable.programs
        rows = list(_rows(executable))
        found = {
            number: counting_of(executable, number, interpreted[number], checked)
            for number in sorted({number for _, _, number in rows})
        }
        self.steps = {
            number: SlotTable(executable, number, arenas, counting)
            for number, counting in found.items()
            if counting
        }
        self._rows = [row for row in rows if row[2] in self.steps]
        self._totals: dict[tuple[str, int], tuple[SlotTable, Int64]] = {}
        self._records: dict[int, Int64] = {}
        self._launches: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """Return the number of launches to add."""
        return len(self._rows)

    def counting(self, step: int) -> Mapping[type[Vertex], Counting]:
        """Return the counting of a step's classes; for most steps it is empty."""
        return self.steps[step].counting if step in self.steps else {}

    def add_to(self, table: LaunchTable) -> None:
        """Add a launch to the table for each row that sums slots."""
        for name, row, number in self._rows:
            code = self._programs[name]
            record, totals = self.steps[number].record()
            work_row = int(code.step_rows[code.step_rows < row].max())
            self._totals[name, work_row] = self.steps[number], totals
            launch = table.add_call(compiled_parts.own("sum_slots"), record)
            self._launches[id(code), row] = launch
            self._records[launch] = record

    def launch_of(self, code: Code, row: int) -> int | None:
        """Return the launch of a row; None if it does not sum slots."""
        return self._launches.get((id(code), row))

    def finish(self, code: Code, row: int) -> None:
        """Add up the slots of an execution that was interrupted at `row`, after its vertices."""
        while code.ops[row, 2] < op.SUM_SLOTS and code.goes_on[row + 1]:
            row += 1
        launch = self.launch_of(code, row)
        if launch is not None:
            compiled_parts.DRIVER(compiled_parts.own("sum_slots"))(
                0, self._records[launch].ctypes.data, 0, 1, 0, 1, 0
            )

    @property
    def words(self) -> dict[tuple[str, int], Int64]:
        """The totals of each row with counted vertices, keyed by program and row; not copies."""
        return {row: totals for row, (_, totals) in self._totals.items()}

    def totals(self, program: str, row: int) -> SlotTotals | None:
        """Return the totals of the counted vertices of the step at a row; None for other rows."""
        found = self._totals.get((program, row))
        return None if found is None else found[0].totals(found[1])


def _rows(executable: Executable) -> Iterator[tuple[str, int, int]]:
    """Yield the program, the row and the step of each launch that sums slots."""
    for name, code in executable.programs.items():
        is_sum = (code.ops[:, 0] == op.LAUNCH) & (code.ops[:, 2] == op.SUM_SLOTS)
        for row in np.flatnonzero(is_sum).tolist():
            yield name, row, int(code.ops[row, 1])
