"""The compiled engine: steps bound to addresses, programs bound to the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from poplite.compile.executable import COMPUTE, Code, Executable
from poplite.compile.opcodes import (
    CALLED,
    CHECKED,
    DONE,
    FAULT_WORD,
    FAULT_WORDS,
    FAULTED,
    FLAG_BITS,
    LAUNCH,
    PARALLEL,
    STATE_CALLBACK,
    STATE_ROW,
    STATE_WORDS,
    UNFINISHED,
)
from poplite.compile.step import Vertices, phases_of
from poplite.simulator import native
from poplite.simulator.chunks import ChunkTable, Launch
from poplite.simulator.faults import Record, raise_fault
from poplite.simulator.memory import Arena
from poplite.simulator.plain import Compute
from poplite.vertex import Vertex

WORK_BUDGET = 20_000_000
"""Elements of work, some hundredths of a second, between two returns to Python.

There signals such as Ctrl-C are seen; one launch is never cut short.
"""


class CompiledSteps:
    """The steps of an executable as chunks.

    Args:
        executable: what to run.
        arena: its memory.
        computes: the interpreted form of each vertex class, to replay faults with.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
    ) -> None:
        self.executable, self.arena, self.computes = executable, arena, computes
        checked = executable.checks == "strict"

        def driver(group: Vertices) -> int:
            return native.driver(group.cls, group.forms, checked)

        self._table = ChunkTable(arena.address, driver, native.mover())
        self._launches: dict[tuple[int, int], Launch] = {}
        for number, step in enumerate(executable.steps):
            for phase, parts in enumerate(phases_of(step)):
                self._launches[number, phase] = self._table.add(
                    parts, checked=checked and phase == COMPUTE
                )
        self.chunks = self._table.words()
        self.parallel = any(launch.parallel for launch in self._launches.values())

    def launch(self, step: int, phase: int) -> Launch:
        """Return the launch of a phase of a step."""
        return self._launches[step, phase]

    def take_fault(self, first: int, last: int) -> Record:
        """Return the fault of the first vertex that faulted in a launch, and forget all.

        Args:
            first: first chunk of the launch.
            last: one past the last chunk.
        """
        records = self.chunks[first:last, FAULT_WORD : FAULT_WORD + FAULT_WORDS]
        faults = records[records[:, 0] != 0, 1:].tolist()
        records[...] = 0
        return Record(*min(faults))


class CompiledProgram:
    """One program, ready for the interpreter.

    Args:
        steps: the bound steps.
        code: the program's ops.
        counts: int64[rows], increased for each time a row runs.
    """

    def __init__(self, steps: CompiledSteps, code: Code, counts: np.ndarray) -> None:
        self._steps, self._code = steps, code
        self._ops = code.ops.copy()
        is_launch = code.ops[:, 0] == LAUNCH
        for row in np.flatnonzero(is_launch).tolist():
            launch = steps.launch(int(code.ops[row, 1]), int(code.ops[row, 2]))
            flags = PARALLEL * launch.parallel | CHECKED * launch.checked
            same_step = code.step_numbers[row + 1] == code.step_numbers[row]
            flags |= UNFINISHED * bool(same_step and is_launch[row + 1])
            flags |= launch.work << FLAG_BITS
            self._ops[row, 1:] = launch.first, launch.last, flags
        self._state = np.zeros(STATE_WORDS, np.int64)
        self._loops = np.zeros(max(1, code.num_loops), np.int64)
        self._interpreter = native.interpreter()
        threads = native.thread_entry_points() if steps.parallel else np.zeros(2, np.int64)
        arrays = (self._ops, steps.chunks, self._state, self._loops, counts, threads)
        self._arrays = arrays  # keeps what the addresses point to
        kernel = native.chunk_kernel() if steps.parallel else 0
        self._arguments = (*(array.ctypes.data for array in arrays), kernel, WORK_BUDGET)

    def run(self, callback: Callable[[int], None]) -> None:
        """Run to the end.

        Args:
            callback: runs a host callback by number.

        Raises:
            TensorIndexError: when a checked vertex indexed outside a field.
        """
        self._state[STATE_ROW] = 0
        while (reason := self._interpreter(*self._arguments)) != DONE:
            if reason == CALLED:
                callback(int(self._state[STATE_CALLBACK]))
            elif reason == FAULTED:
                row = int(self._state[STATE_ROW])
                first, last = self._ops[row, 1:3].tolist()
                record = self._steps.take_fault(first, last)
                steps = self._steps
                raise_fault(steps.executable, self._code, row, record, steps.arena, steps.computes)
