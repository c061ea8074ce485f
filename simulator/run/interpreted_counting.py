"""Counts vertices where Python runs them: compiled code follows each, and changes nothing.

    COUNT        this: what each vertex takes, on copies of what it changes
    COMPUTE      the vertices, as plain Python (`poplite.simulator.run.interpreted_vertices`)
    SUM_SLOTS    this: what they took together is added up

The same code counts where strict checks run vertices (`poplite.simulator.counting.driver`), so
that all forms of a program report the same cycles.  Nothing is compiled unless data decide what
some vertices take.
"""

from __future__ import annotations

from collections.abc import Callable

from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, Vertices
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.variant import Variant
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.interpreted_steps import InterpretedSteps
from poplite.simulator.run.launches import LaunchTable
from poplite.simulator.run.slot_counts import SlotCounts
from poplite.vertex.vertex import Vertex


class InterpretedSlots:
    """Counts the slots of vertices that Python runs."""

    def __init__(self, executable: Executable, arena: Arena, steps: InterpretedSteps) -> None:
        self.slot_counts = SlotCounts(executable, arena.addresses, steps.classes)
        parts: dict[int, list[Vertices]] = {}
        variants: dict[type[Vertex], Variant] = {}
        for number, table in self.slot_counts.steps.items():
            step = executable.steps[number]
            assert isinstance(step, ComputeStep), "nothing else has vertices"
            parts[number] = [group for group in step.groups if group.cls in table.counting]
            variants |= {cls: Variant(counting=each) for cls, each in table.counting.items()}

        def driver(group: Vertices) -> int:
            return Driver(group.cls, group.columns, variants[group.cls]).address()

        rows, floats = len(parts) + len(self.slot_counts), arena.floats.address
        self._table = LaunchTable(rows, arena.addresses, driver, compiled_parts.mover, floats)
        self._launches = {}
        for number, groups in parts.items():
            slots = self.slot_counts.steps[number].slots
            self._launches[number] = self._table.add(groups, checked=False, slots=slots)
        self.slot_counts.add_to(self._table)

    def count(self, step: int, watch: Callable[[], None]) -> None:
        """Write down what vertices of a compute set are about to take; `watch` may end the run."""
        if step not in self._launches:
            return
        launch = self._table.launches[self._launches[step]]
        for part, chunk in zip(launch.parts, launch.chunks, strict=True):
            driver = compiled_parts.DRIVER(int(chunk[op.CHUNK_DRIVER]))
            memory, record = chunk[[op.CHUNK_ARENA, op.CHUNK_ROWS]].tolist(), chunk[op.FAULT_WORD :]
            for row, vertices in enumerate(part.vertices.tolist()):
                for vertex in range(vertices):
                    watch()
                    driver(*memory, row, row + 1, vertex, vertex + 1, record.ctypes.data)

    def add_up(self, code: Code, row: int) -> None:
        """Add up what an execution took; `row` is a launch behind that of the vertices."""
        self.slot_counts.finish(code, row)
