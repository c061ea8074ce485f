"""The compute sets of an engine whose vertices are counted, and the rows that add them up.

Vertex classes are counted whose cycles depend on data::

    while self.x[i] > limit        counted
    while i < len(self.x)          not: lengths decide, so that each shape is priced once
    set_perf_estimate(...)         not; other vertices of the class are
    print(...)                     not: such a class is never compiled
    QUARTER                        not, nor HALF where the processor has none: the code that is
                                   priced differs from the code that runs
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.machine.facts import CODE_FACTS
from poplite.machine.target import Target
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.compute_code import Counting, modes_of
from poplite.simulator.counting.slot_tables import SlotTable, SlotTotals
from poplite.simulator.run.launches import LaunchTable
from poplite.types import HALF, QUARTER
from poplite.vertex.compute import check, flow_of
from poplite.vertex.compute.mathematics.functions import KERNELS
from poplite.vertex.vertex import Vertex

# -- which classes -----------------------------------------------------------------------------


def counting_of(
    executable: Executable,
    number: int,
    interpreted: Collection[type[Vertex]],
    checked: Collection[type[Vertex]],
) -> Mapping[type[Vertex], Counting]:
    """Return how to count each class of a compute set whose cycles depend on data."""
    target = executable.target
    return {
        cls: Counting(
            on_copies=(separately := cls in interpreted or _is_counted_separately(executable, cls)),
            costs=_costs(target),
            checked=cls in checked and not separately,
        )
        for cls in _candidates(executable, number)
        if _is_data_dependent(cls, target)
    }


def counting_candidates(executable: Executable) -> Iterator[type[Vertex]]:
    """Yield the classes that are counted if the cycles of their code depend on data."""
    for number in range(len(executable.costs)):
        yield from _candidates(executable, number)


def deciding_fields(executable: Executable, number: int) -> Mapping[type[Vertex], frozenset[str]]:
    """Return the edges whose data decide the cycles of a compute set, by class."""
    from poplite.simulator.pricing import deciding_fields

    candidates = _candidates(executable, number)
    return {cls: deciding_fields(cls, executable.target) for cls in candidates}


def _candidates(executable: Executable, number: int) -> Iterator[type[Vertex]]:
    if number < len(executable.costs) and isinstance(executable.steps[number], ComputeStep):
        vertices = executable.costs[number].vertices
        for cls in dict.fromkeys(each.cls for each in vertices if each.source == "automatic"):
            if flow_of(cls).may_depend_on_data and _has_code(cls):
                yield cls


def _has_code(cls: type[Vertex]) -> bool:
    """Return whether the priced code loads and stores elements as the code that runs does."""
    elements = {field.element for field in cls.fields.values()}
    return QUARTER not in elements and (HALF not in elements or _has_half())


def _is_data_dependent(cls: type[Vertex], target: Target) -> bool:
    from poplite.simulator.pricing import is_data_dependent

    return is_data_dependent(cls, target)


def _has_half() -> bool:
    """Return whether the processor for which code is compiled converts halves."""
    import llvmlite.binding as llvm

    from poplite.simulator.codegen.codecs import half_in_hardware

    chosen = any(os.environ.get(f"NUMBA_CPU_{choice}") for choice in ("NAME", "FEATURES"))
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    return half_in_hardware(llvm.get_process_triple(), features)


def _is_counted_separately(executable: Executable, cls: type[Vertex]) -> bool:
    """Return whether a driver of its own counts a class, since more runs than is priced.

    A function of `math` is priced as a call of the C library, whose bits are others.
    """
    checked = check(cls)
    calls = {name for each in checked.functions() for name in each.facts.calls.values()}
    does_more = checked.raises or checked.result is not None or not KERNELS.keys().isdisjoint(calls)
    modes = modes_of(cls, executable.float_modes)
    return executable.checks == "strict" or bool(modes) or does_more


def _costs(target: Target) -> tuple[tuple[str, float], ...]:
    names = (*CODE_FACTS, "supervisor_overhead", "workers")
    return tuple((name, target.cost(name)) for name in names)


# -- tables ------------------------------------------------------------------------------------


class SlotCounts:
    """What an engine needs to count vertices: `steps` are the tables of steps that are counted."""

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
        """Return how many launches there will be."""
        return len(self._rows)

    def counting(self, step: int) -> Mapping[type[Vertex], Counting]:
        """Return how classes of a step are counted; most steps have none."""
        return self.steps[step].counting if step in self.steps else {}

    def add_to(self, table: LaunchTable) -> None:
        """Add a launch to the table for each row that sums slots."""
        for name, row, number in self._rows:
            code = self._programs[name]
            record, totals = self.steps[number].record()
            work_row = int(code.step_rows[code.step_rows < row].max())
            self._totals[name, work_row] = self.steps[number], totals
            launch = table.add_call(compiled_parts.slot_summer(), record)
            self._launches[id(code), row] = launch
            self._records[launch] = record

    def launch_of(self, code: Code, row: int) -> int | None:
        """Return the launch of a row; None where it adds nothing up."""
        return self._launches.get((id(code), row))

    def finish(self, code: Code, row: int) -> None:
        """Add up what an execution took that was left at `row`, behind the vertices."""
        while code.ops[row, 2] < op.SUM_SLOTS and code.goes_on[row + 1]:
            row += 1
        launch = self.launch_of(code, row)
        if launch is not None:
            compiled_parts.DRIVER(compiled_parts.slot_summer())(
                0, self._records[launch].ctypes.data, 0, 1, 0, 1, 0
            )

    @property
    def words(self) -> dict[tuple[str, int], Int64]:
        """The totals of each row whose vertices are counted, by program and row, in place."""
        return {row: totals for row, (_, totals) in self._totals.items()}

    def totals(self, program: str, row: int) -> SlotTotals | None:
        """Return what the counted vertices of the step at a row took; None for other rows."""
        found = self._totals.get((program, row))
        return None if found is None else found[0].totals(found[1])


def _rows(executable: Executable) -> Iterator[tuple[str, int, int]]:
    """Yield the program, the row and the step of each launch that sums slots."""
    for name, code in executable.programs.items():
        is_sum = (code.ops[:, 0] == op.LAUNCH) & (code.ops[:, 2] == op.SUM_SLOTS)
        for row in np.flatnonzero(is_sum).tolist():
            yield name, row, int(code.ops[row, 1])
