"""The compiled engine: steps bound to addresses, programs bound to the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import Columns
from poplite.compile.emit import COMPUTE, Code
from poplite.compile.executable import Executable
from poplite.compile.moves import Moves
from poplite.compile.opcodes import (
    CALLED,
    DONE,
    FAULTED,
    LAUNCH,
    LAUNCH_COST,
    LAUNCH_SPENT,
    STATE_CALLBACK,
    STATE_CUT,
    STATE_DEADLINE,
    STATE_DEPTH,
    STATE_ENTRIES,
    STATE_REASON,
    STATE_ROW,
    STATE_WORDS,
)
from poplite.compile.step import ComputeStep, Vertices, phases_of
from poplite.simulator import native, threads
from poplite.simulator.chunks import LaunchTable
from poplite.simulator.faults import Record, raise_fault
from poplite.simulator.memory import Arena
from poplite.simulator.plain import Compute
from poplite.simulator.progress import Progress
from poplite.vertex import Vertex

ELEMENTS_PER_NS = 10
"""Work of simple vertices in a nanosecond: a guess at what a launch takes, until it has run."""

PATIENCE_NS = 250_000_000
"""Running time after which threads are started for launches that were guessed too low."""

SLOW_NS = 5_000_000
"""A run that takes longer is looked at for such launches."""


class CompiledSteps:
    """The steps of an executable as launches.

    Args:
        executable: what to run.
        arena: its memory.
        computes: the interpreted form of each vertex class, to replay faults with.
        progress: where drivers are counted as they are ready.

    Attributes:
        table: the launches; phase p of step s is in `launches[s, p]`.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
        progress: Progress,
    ) -> None:
        self.executable, self.arena, self.computes = executable, arena, computes
        phases = [phases_of(step) for step in executable.steps]
        drivers = _drivers(executable, progress)

        def driver(group: Vertices) -> int:
            return drivers[group.cls, group.columns]

        self.table = LaunchTable(sum(map(len, phases)), arena.address, driver, native.mover)
        self.launches: dict[tuple[int, int], int] = {}
        for number, step in enumerate(executable.steps):
            may_fault = isinstance(step, ComputeStep) and step.may_fault
            for phase, parts in enumerate(phases[number]):
                checked = may_fault and phase == COMPUTE
                self.launches[number, phase] = self.table.add(parts, checked=checked)
        self._ran_ns = 0
        self._may_share = np.ones(len(self.table.words), np.bool_)
        guesses = np.array([launch.work for launch in self.table.launches]) / ELEMENTS_PER_NS
        self._share(guesses)

    def share_slow(self, ran_ns: int) -> None:
        """Let threads share the launches that turned out to take long on one.

        Args:
            ran_ns: how long the engine ran since the last call.
        """
        self._ran_ns += ran_ns
        if threads.started() or self._ran_ns > PATIENCE_NS:
            words = self.table.words
            self._share(np.maximum(words[:, LAUNCH_COST], words[:, LAUNCH_SPENT]))

    def _share(self, taken_ns: npt.NDArray[np.float64 | np.int64]) -> None:
        """Cut launches for threads.

        Args:
            taken_ns: what each launch takes on one thread.
        """
        count = threads.count()
        candidates = np.flatnonzero((taken_ns >= threads.LEAST_NS) & self._may_share)
        self._may_share[candidates] = [self.table.is_shareable(n) for n in candidates.tolist()]
        candidates = candidates[self._may_share[candidates]]
        if count > 1 and len(candidates):
            pays = threads.pays_ns()
            for number in candidates[taken_ns[candidates] >= pays].tolist():
                self.table.share(number, count)
                self._may_share[number] = False

    def take_fault(self, step: int, phase: int) -> Record:
        """Return the fault of the first vertex that faulted in a launch, and forget all."""
        return Record(*min(self.table.take_faults(self.launches[step, phase])))

    def settle(self, step: int, phase: int) -> None:
        """Make memory well defined after a launch was left in the middle.

        A compute set of which anything was saved is undone; of another one, each vertex has
        run or has not.

        Args:
            step: the step.
            phase: the phase that was running.
        """
        number, lowered = self.launches[step, phase], self.executable.steps[step]
        self.table.take_faults(number)
        self.table.words[number, LAUNCH_SPENT] = 0
        if isinstance(lowered, ComputeStep) and phase >= COMPUTE:
            is_undone = phase == COMPUTE and lowered.may_fault
            self._move(lowered.restore if is_undone else lowered.scatter)

    def _move(self, moves: Moves) -> None:
        rows = moves.words()
        native.move()(self.arena.address, rows.ctypes.data, len(moves.records))


def _drivers(executable: Executable, progress: Progress) -> dict[tuple[type[Vertex], Columns], int]:
    """Return the addresses of the drivers that an executable needs, compiled where they are not."""
    steps = [step for step in executable.steps if isinstance(step, ComputeStep)]
    kinds = dict.fromkeys((group.cls, group.columns) for step in steps for group in step.groups)
    progress.total = len(kinds)
    addresses: dict[tuple[type[Vertex], Columns], int] = {}
    for kind in kinds:
        place = f"{len(addresses) + 1:,} of {len(kinds):,}"
        addresses[kind] = native.driver(*kind, executable.checks == "strict", place)
        progress.update(lambda: len(addresses))
    return addresses


class CompiledProgram:
    """One program, ready for the interpreter.

    Args:
        steps: the bound steps.
        code: the program's ops.
        counts: int64[rows], increased for each time a launch runs.
    """

    def __init__(self, steps: CompiledSteps, code: Code, counts: npt.NDArray[np.int64]) -> None:
        self._steps, self._code = steps, code
        self._ops = code.ops.copy()
        is_launch = code.ops[:, 0] == LAUNCH
        goes_on = is_launch[1:] & (code.step_numbers[1:] == code.step_numbers[:-1])
        for row in np.flatnonzero(is_launch).tolist():
            step, phase = code.ops[row, 1:3].tolist()
            self._ops[row, 1:3] = steps.launches[step, phase], goes_on[row]
        self._state = np.zeros(STATE_WORDS, np.int64)
        self._state[STATE_ENTRIES] = threads.entries().ctypes.data
        self._loops = np.zeros(max(1, code.num_loops), np.int64)
        self._returns = np.zeros(max(1, code.num_functions), np.int64)
        self._interpreter = native.interpreter()
        tables = self._ops, steps.table.words, steps.arena.bytes
        self._arrays = (*tables, self._state, self._loops, self._returns, counts)
        self._arguments = [array.ctypes.data for array in self._arrays]

    def run(self, actions: Sequence[Callable[[], None]], watch: Callable[[], None]) -> None:
        """Run to the end.

        Args:
            actions: what Python does, by number.
            watch: called now and then while the program runs.

        Raises:
            TensorIndexError: when a checked vertex indexed outside a field.
            ApplicationRuntimeError: when a vertex raised an exception.
        """
        state = self._state
        state[:STATE_DEADLINE] = 0
        begin = time.perf_counter_ns()
        try:
            while self._step() != DONE:
                if state[STATE_REASON] == CALLED:
                    actions[state[STATE_CALLBACK]]()
                elif state[STATE_REASON] == FAULTED:
                    self._raise_fault()
                else:
                    now = time.perf_counter_ns()
                    self._steps.share_slow(now - begin)
                    begin = now
                    watch()
        # Also KeyboardInterrupt, wherever Python notices it.
        except BaseException:
            if state[STATE_CUT] or state[STATE_REASON] == FAULTED:
                self._steps.settle(*self._code.ops[state[STATE_ROW], 1:3].tolist())
            raise
        if (ran_ns := time.perf_counter_ns() - begin) > SLOW_NS or threads.is_doubtful():
            self._steps.share_slow(ran_ns)

    def _step(self) -> int:
        if (lock := threads.lock_of_layer()) is None:
            return self._interpreter(*self._arguments)
        with lock:
            return self._interpreter(*self._arguments)

    def _raise_fault(self) -> None:
        row, steps = int(self._state[STATE_ROW]), self._steps
        record = steps.take_fault(*self._code.ops[row, 1:3].tolist())
        calls = self._returns[: self._state[STATE_DEPTH]] - 1
        code = self._code.called_from(calls.tolist())
        raise_fault(steps.executable, code, row, record, steps.arena, steps.computes)
