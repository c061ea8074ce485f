"""The interpreted engine: programs bound to memory, every vertex as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep, phases_of
from poplite.simulator.peers import Peers
from poplite.simulator.run import faults, interpreted_vertices
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.interpreted_counting import InterpretedSlots
from poplite.simulator.run.interpreted_steps import InterpretedSteps
from poplite.simulator.run.recording import Recording
from poplite.simulator.strict.checks import StrictChecks


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
        interpreted_vertices.run_ops(self._code.ops, self._counts, self)

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

    # The part that ops use: `poplite.simulator.run.interpreted_vertices.OpHandlers`.

    def look(self, row: int, calls: Sequence[int]) -> int:
        """Return the row to go on with, which is this one unless strict checks ran it."""
        if self._checks is None:
            return row
        self._is_begun = True
        try:
            end = self._checks.look(self._code, row, calls, self)
        finally:
            self._steps.forget()
        self._is_begun = False
        self._counts[row:end] += 1
        self._note(range(row, end))
        return end

    def watch(self, row: int) -> None:
        """Note that a row is to run; what it raises ends the run between two steps."""
        self._row = row
        if not self._goes_on[row]:
            self._watch()
            if self._peers is not None:
                self._peers.look()
                if self._code.ops[row, 0] in op.COUNTED:
                    self._peers.stop_here()

    def act(self, action: int, row: int, calls: Sequence[int]) -> None:
        """Do the numbered action of Python at a row."""
        self._note((row,))
        self._at = row, list(calls)
        self._acting = action
        self._actions[action]()
        self._acting = None

    def agree(self, position: int, size: int, same: bool) -> bool:
        """Tell whether a number is the same in all replicas, or true in all or none."""
        numbers = {self.scalar(position, size, memory) for memory in self._arena.parts}
        return len(numbers if same else set(map(bool, numbers))) == 1

    def change_floats(self, clear: int, set: int, executions: int) -> None:
        """Change how floating-point arithmetic behaves."""
        self._arena.floats.change(clear, set, executions)

    def expect(self, step: int) -> None:
        """Forget what the vertices of a step returned."""
        self._steps.set_returned(step, [True] * len(self._arena.parts))

    def collect(self, step: int, position: int) -> None:
        """Store at a byte position whether no vertex of a step returned false since `expect`."""
        for memory, returned in zip(self._arena.parts, self._steps.returned(step), strict=True):
            memory[position] = returned

    def exchange(self, number: int) -> None:
        """Do an exchange with other ranks."""
        assert self._peers is not None, "only ranks exchange"
        self._is_begun = True
        self._peers.exchange(number)
        self._is_begun = False

    def all_true(self, position: int, first: int, count: int) -> None:
        """Store at a byte position whether some bytes are all true."""
        for memory in self._arena.parts:
            memory[position] = memory[first : first + count].all()

    def scalar(self, position: int, size: int, memory: Bytes | None = None) -> int:
        """Return the number of `size` bytes at a byte position, by default of replica 0."""
        memory = self._arena.bytes if memory is None else memory
        stored = memory[position : position + size]
        return int(stored.view(np.uint8 if size == 1 else np.int32)[0])

    def launch(self, row: int, calls: Sequence[int]) -> None:
        """Run the launch of a row, in a function called from the rows `calls`."""
        number, phase = self._code.ops[row, 1:3].tolist()
        step, runs_vertices = self._executable.steps[number], phase in (op.COMPUTE, op.DEFINED)
        first: interpreted_vertices.VertexFault | None = None
        try:
            if phase == op.COUNT:
                self._slots.count(number, self._watch)
            elif phase == op.SUM_SLOTS:
                self._slots.add_up(self._code, row)
            if runs_vertices and isinstance(step, ComputeStep):
                first = self._steps.run(number, self._watch)
            else:
                self._move(step, phase)
        except BaseException:  # KeyboardInterrupt above all
            if isinstance(step, ComputeStep) and phase >= op.COMPUTE:
                interpreted_vertices.move(
                    step.restore if runs_vertices else step.scatter, self._arena
                )
                if phase == op.SCATTER:
                    self._slots.add_up(self._code, row)
            raise
        if first is not None:
            code = self._code.called_from(calls)
            faults.raise_interpreted_fault(self._executable, code, row, first, self._arena)
        self._note((row,))

    def _move(self, step: ComputeStep | CopyStep, phase: int) -> None:
        to = step.replica_map if isinstance(step, CopyStep) else None
        for part in phases_of(step)[phase]:
            assert isinstance(part, Moves), "vertices run in COMPUTE"
            interpreted_vertices.move(part, self._arena, to)

    def _note(self, rows: Iterable[int]) -> None:
        """Record rows that ran."""
        if self._recording is not None:
            self._recording.add(rows)
