"""The interpreted engine: programs bound to memory, every vertex as plain Python.

It walks the ops that the compiled interpreter would run, so that both engines do the same work in
the same order.  Where data decide what vertices take, compiled code follows each, and changes
nothing::

    COUNT        compiled code: what each vertex takes, on copies of what it changes
    COMPUTE      the vertices, as plain Python (`poplite.simulator.run.interpreted_vertices`)
    SUM_SLOTS    compiled code: what they took together is added up

The same code counts where strict checks run vertices (`poplite.simulator.counting.driver`), so
that all forms of a program report the same cycles.  No vertex is compiled unless data decide what
some take; strict checks have kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep, Vertices, phases_of
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.compute_code import Variant
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.faults import StoppedLaunch
from poplite.simulator.run.interpreted_vertices import InterpretedSteps, VertexFault, move
from poplite.simulator.run.launches import LaunchTable
from poplite.simulator.run.slot_counts import SlotCounts
from poplite.simulator.running import Peers, Recording
from poplite.simulator.strict.checks import StrictChecks
from poplite.vertex.vertex import Vertex

# -- counting ----------------------------------------------------------------------------------


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


# -- programs ----------------------------------------------------------------------------------


class InterpretedProgram:
    """One program, ready to run as plain Python; `counts`, int64[rows], counts runs of each row."""

    def __init__(
        self,
        executable: Executable,
        code: Code,
        counts: npt.NDArray[np.int64],
        arena: Arena,
        steps: InterpretedSteps,
        slots: InterpretedSlots,
        checks: StrictChecks | None = None,
        peers: Peers | None = None,
    ) -> None:
        self._peers, self._is_begun = peers, False
        self._executable, self._code, self._counts = executable, code, counts
        self._arena, self._steps, self._slots = arena, steps, slots
        self._actions: Sequence[Callable[[], object]] = ()
        self._at = 0, list[int]()
        self._acting: int | None = None
        self._row = 0
        self._checks = checks
        self._goes_on = code.goes_on
        self._recording: Recording | None = None

    def record(self, recording: Recording | None) -> None:
        """Let the rows that run be recorded; None ends that."""
        self._recording = recording

    def run(self, actions: Sequence[Callable[[], object]], watch: Callable[[], None]) -> None:
        """Run to the end, with Python's actions by number; what `watch` raises ends the run.

        Raises `TensorIndexError` or `ApplicationRuntimeError` when a vertex stopped.
        """
        self._actions, self._watch = actions, watch
        self._acting, self._is_begun = None, False
        if self._peers is not None:
            self._peers.follow(lambda: int(self._counts.sum()) + self._is_begun, self._step)
        self._run_ops()

    def _step(self) -> str:
        """Return which step is running, for messages."""
        return self._code.step_text(int(self._code.first_numbers[self._row]), "")

    def acting(self) -> int | None:
        """Return the number of the action that Python is running; None when it runs none."""
        return self._acting

    def where(self, what: str, decides: bool) -> str:
        """Return which step called Python, or that `what` decides what runs next, for messages."""
        row, calls = self._at
        code = self._code.called_from(calls)
        return code.step_text(int(code.step_numbers[row]), what, decides=decides)

    # The part that strict checks use: `poplite.simulator.strict.replay.Runner`.

    def run_launches(self, code: Code) -> None:
        """Run a few launches, written as a program."""
        counts = np.zeros(len(code.ops), np.int64)
        program = InterpretedProgram(
            self._executable, code, counts, self._arena, self._steps, self._slots
        )
        program._goes_on[:] = True  # all rows are parts of one step
        self._steps.remember(code)
        program.run((), self._watch)

    def returned(self, step: int) -> list[bool]:
        """Tell for each replica whether no vertex of a compute set returned false."""
        return self._steps.returned(step)

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Set what the vertices of a compute set returned, for each replica."""
        self._steps.set_returned(step, returned)

    # -- ops ---------------------------------------------------------------------------------

    def _run_ops(self) -> None:
        """Run the ops; count the launches, callbacks and marks that ran."""
        ops, counts, parts = self._code.ops, self._counts, self._arena.parts
        left: dict[int, int] = {}
        calls: list[int] = []
        row = 0
        while True:
            kind, a, b, c = ops[row].tolist()
            if kind == op.END:
                return
            self._look_out(row)
            if (end := self._look(row, calls)) != row:
                row = end
                continue
            next_row = row + 1
            if kind == op.LAUNCH:
                self._launch(row, calls)
                counts[row] += 1
            elif kind == op.REPEAT:
                left[a] = b
                next_row = row + 1 if b > 0 else c
            elif kind == op.AGAIN:
                left[a] -= 1
                next_row = b if left[a] > 0 else row + 1
            elif kind == op.JUMP:
                next_row = a
            elif kind == op.JUMP_IF_ZERO:
                next_row = row + 1 if self._scalar(b, c) else a
            elif kind == op.JUMP_IF_NONZERO:
                next_row = a if self._scalar(b, c) else row + 1
            elif kind == op.SWITCH:
                targets = dict(ops[row + 1 : row + 1 + a, 1:3].tolist())
                next_row = targets.get(self._scalar(b, 4), c)
            elif kind == op.CALL:
                calls.append(row)
                next_row = a
            elif kind == op.RETURN:
                next_row = calls.pop() + 1
            elif kind == op.CALLBACK:
                counts[row] += 1
                self._act(a, row, calls)
            elif kind in (op.AGREE, op.SAME):
                next_row = a if self._agree(b, c, kind == op.SAME) else row + 1
            elif kind == op.MARK:
                counts[row] += 1
            elif kind == op.FLOATS:
                self._arena.floats.change(a, b, c)
            elif kind == op.EXPECT:
                self.set_returned(a, [True] * len(parts))
            elif kind == op.COLLECT:
                for memory, returned in zip(parts, self.returned(a), strict=True):
                    memory[b] = returned
            elif kind == op.EXCHANGE:
                self._exchange(a)
                counts[row] += 1
            elif kind == op.ALL:
                for memory in parts:
                    memory[a] = memory[b : b + c].all()
            row = next_row

    def _look(self, row: int, calls: Sequence[int]) -> int:
        """Return the row to go on with, which is this one unless strict checks ran it."""
        if self._checks is None:
            return row
        self._is_begun = True
        try:
            end = self._checks.look(self._code, row, calls, self)
        except BaseException:  # KeyboardInterrupt too
            if self._checks.has_run:
                self._count_looked(row, self._code.end_of_launches(row))
                self._slots.slot_counts.finish(self._code, row)
            raise
        finally:
            self._steps.forget()
        self._is_begun = False
        self._count_looked(row, end)
        return end

    def _count_looked(self, row: int, end: int) -> None:
        self._counts[row:end] += 1
        self._note(range(row, end))

    def _look_out(self, row: int) -> None:
        """Note that a row is to run; what it raises ends the run between two steps."""
        self._row = row
        if not self._goes_on[row]:
            self._watch()
            if self._peers is not None:
                self._peers.look()
                if self._code.ops[row, 0] in op.COUNTED:
                    self._peers.stop_here()

    def _act(self, action: int, row: int, calls: Sequence[int]) -> None:
        """Do the numbered action of Python at a row."""
        self._note((row,))
        self._at = row, list(calls)
        self._acting = action
        self._actions[action]()
        self._acting = None

    def _agree(self, position: int, size: int, same: bool) -> bool:
        """Tell whether a number is the same in all replicas, or true in all or none."""
        numbers = {self._scalar(position, size, memory) for memory in self._arena.parts}
        return len(numbers if same else set(map(bool, numbers))) == 1

    def _exchange(self, number: int) -> None:
        """Do an exchange with other ranks."""
        assert self._peers is not None, "only ranks exchange"
        self._is_begun = True
        self._peers.exchange(number)
        self._is_begun = False

    def _scalar(self, position: int, size: int, memory: Bytes | None = None) -> int:
        """Return the number of `size` bytes at a byte position, by default of replica 0."""
        memory = self._arena.bytes if memory is None else memory
        stored = memory[position : position + size]
        return int(stored.view(np.uint8 if size == 1 else np.int32)[0])

    def _launch(self, row: int, calls: Sequence[int]) -> None:
        """Run the launch of a row, in a function called from the rows `calls`."""
        number, phase = self._code.ops[row, 1:3].tolist()
        step, runs_vertices = self._executable.steps[number], phase in (op.COMPUTE, op.DEFINED)
        first: VertexFault | None = None
        try:
            if phase == op.COUNT:
                self._slots.count(number, self._watch)
            elif phase == op.SUM_SLOTS:
                self._slots.slot_counts.finish(self._code, row)
            if runs_vertices and isinstance(step, ComputeStep):
                first = self._steps.run(number, self._watch)
            else:
                self._move(step, phase)
        except BaseException:  # KeyboardInterrupt above all
            if isinstance(step, ComputeStep) and phase >= op.COMPUTE:
                move(step.restore if runs_vertices else step.scatter, self._arena)
                if phase == op.SCATTER:
                    self._slots.slot_counts.finish(self._code, row)
            raise
        if first is not None:
            code = self._code.called_from(calls)
            stopped = StoppedLaunch(self._executable, code, row, self._arena)
            stopped.raise_interpreted_fault(first)
        self._note((row,))

    def _move(self, step: ComputeStep | CopyStep, phase: int) -> None:
        to = step.replica_map if isinstance(step, CopyStep) else None
        for part in phases_of(step)[phase]:
            assert isinstance(part, Moves), "vertices run in COMPUTE"
            move(part, self._arena, to)

    def _note(self, rows: Iterable[int]) -> None:
        """Record rows that ran."""
        if self._recording is not None:
            self._recording.add(rows)
