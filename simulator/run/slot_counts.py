"""The compute sets of an engine whose vertices are counted, and the rows that add them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.variant import Counting
from poplite.simulator.counting.data_dependent import counting_of
from poplite.simulator.counting.slot_tables import SlotTable, SlotTotals
from poplite.simulator.run.launches import LaunchTable
from poplite.vertex.vertex import Vertex


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
