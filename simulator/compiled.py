"""The compiled engine: steps bound to addresses, programs bound to the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from poplite.compile.code import COMPUTE, FALLING, Code
from poplite.compile.descriptor import Columns
from poplite.compile.executable import Executable
from poplite.compile.moves import Moves
from poplite.compile.opcodes import (
    CALLBACK,
    CALLED,
    CHUNK_ARENA,
    CHUNK_FALSE,
    COLLECT,
    DONE,
    END,
    EXPECT,
    FAULTED,
    LAUNCH,
    LAUNCH_COST,
    LAUNCH_SPENT,
    STATE_CALLBACK,
    STATE_CUT,
    STATE_DEADLINE,
    STATE_DEPTH,
    STATE_ENTRIES,
    STATE_FLOATS,
    STATE_REASON,
    STATE_REPLICAS,
    STATE_ROW,
    STATE_STRIDE,
    STATE_WORDS,
)
from poplite.compile.step import ComputeStep, CopyStep, Vertices, phases_of
from poplite.simulator import native, threads
from poplite.simulator.chunks import LaunchTable
from poplite.simulator.faults import Record, raise_fault
from poplite.simulator.memory import Arena
from poplite.simulator.plain import Compute
from poplite.simulator.progress import Progress
from poplite.simulator.strict import StrictChecks, lookable
from poplite.simulator.variant import Variant, modes_of
from poplite.vertex import MultiVertex, Vertex

ELEMENTS_PER_NS = 10
"""Work of simple vertices in a nanosecond: a guess at what a launch takes, until it has run."""

PATIENCE_NS = 250_000_000
"""Running time after which threads are started for launches that were guessed too low."""

LOOK = -1
"""In place of the number of an action: strict checks look at the row."""

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

        has_workers = [n for n, step in enumerate(executable.steps) if _may_race(executable, step)]
        falling = False

        def driver(group: Vertices) -> int:
            is_falling = falling and issubclass(group.cls, MultiVertex)
            return drivers[group.cls, group.columns, is_falling]

        rows = sum(map(len, phases)) + len(has_workers)
        floats = arena.floats.address
        self.table = LaunchTable(rows, arena.addresses, driver, native.mover, floats)
        self.launches: dict[tuple[int, int], int] = {}
        for number, step in enumerate(executable.steps):
            may_fault = isinstance(step, ComputeStep) and step.may_fault
            for phase, parts in enumerate(phases[number]):
                checked = may_fault and phase == COMPUTE
                to = step.replica_map if isinstance(step, CopyStep) else None
                launch = self.table.add(parts, checked=checked, replica_map=to)
                self.launches[number, phase] = launch
        falling = True
        for number in has_workers:
            parts = phases[number][COMPUTE]
            self.launches[number, FALLING] = self.table.add(parts, checked=True)
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
            is_undone = phase in (COMPUTE, FALLING) and lowered.may_fault
            self._move(lowered.restore if is_undone else lowered.scatter)

    def _move(self, moves: Moves) -> None:
        rows = moves.words()
        for address in self.arena.addresses:
            native.move()(address, rows.ctypes.data, len(moves.records))


def _may_race(executable: Executable, step: ComputeStep | CopyStep) -> bool:
    """Tell whether workers are to run in falling order as well."""
    if executable.checks != "strict" or not isinstance(step, ComputeStep):
        return False
    return any(issubclass(group.cls, MultiVertex) for group in step.groups)


_Kind = tuple[type[Vertex], Columns, bool]
"""Vertex class, columns, and whether workers run in falling order."""


def _drivers(executable: Executable, progress: Progress) -> dict[_Kind, int]:
    """Return the addresses of the drivers that an executable needs, compiled where they are not."""
    groups = [
        (group, _may_race(executable, step) and issubclass(group.cls, MultiVertex))
        for step in executable.steps
        if isinstance(step, ComputeStep)
        for group in step.groups
    ]
    kinds = dict.fromkeys((group.cls, group.columns, False) for group, _ in groups)
    kinds |= dict.fromkeys((group.cls, group.columns, True) for group, races in groups if races)
    progress.total = len(kinds)
    addresses: dict[_Kind, int] = {}
    for kind in kinds:
        cls, columns, falling = kind
        place = f"{len(addresses) + 1:,} of {len(kinds):,}"
        modes = modes_of(cls, executable.float_modes)
        variant = Variant(executable.checks == "strict", falling, modes)
        addresses[kind] = native.driver(cls, columns, variant, place)
        progress.update(lambda: len(addresses))
    return addresses


class CompiledProgram:
    """One program, ready for the interpreter.

    Args:
        steps: the bound steps.
        code: the program's ops.
        counts: int64[rows], increased for each time a launch runs.
        checks: the strict checks, if there are any.
    """

    def __init__(
        self,
        steps: CompiledSteps,
        code: Code,
        counts: npt.NDArray[np.int64],
        checks: StrictChecks | None = None,
    ) -> None:
        self._steps, self._counts, self._checks = steps, counts, checks
        self._ops = code.ops.copy()
        self._bind(code)
        self._bound = self._ops.copy()
        self._inner: dict[int, CompiledProgram] = {}
        if checks is not None:
            self._rows = lookable(code)
            checks.on_armed.append(self._arm)
            self._arm()
        self._state = np.zeros(STATE_WORDS, np.int64)
        self._state[STATE_ENTRIES] = threads.entries().ctypes.data
        self._state[STATE_FLOATS] = steps.arena.floats.address
        layout = steps.executable.layout
        self._state[[STATE_REPLICAS, STATE_STRIDE]] = layout.replicas, layout.size_bytes
        self._loops = np.zeros(max(1, code.num_loops), np.int64)
        self._returns = np.zeros(max(1, code.num_functions), np.int64)
        tables = self._ops, steps.table.words, steps.arena.bytes
        self._arrays = (*tables, self._state, self._loops, self._returns, counts)
        arguments = [array.ctypes.data for array in self._arrays]
        self._arguments = np.array([*arguments, native.interpreter_address()], np.int64)
        self._enter = partial(native.enter(), self._arguments.ctypes.data)
        self._words = self._state.data  # which Python reads faster

    def _bind(self, code: Code) -> None:
        self._code, self._goes_on = code, code.goes_on
        self._ops[...] = code.ops
        op, launches = code.ops[:, 0], self._steps.launches
        for row in np.flatnonzero(op == LAUNCH).tolist():
            step, phase = code.ops[row, 1:3].tolist()
            self._ops[row, 1:3] = launches[step, phase], self._goes_on[row + 1]
        for row in np.flatnonzero((op == EXPECT) | (op == COLLECT)).tolist():
            self._ops[row, 1] = launches[int(code.ops[row, 1]), COMPUTE]

    def run(self, actions: Sequence[Callable[[], object]], watch: Callable[[], None]) -> None:
        """Run to the end.

        Args:
            actions: what Python does, by number.
            watch: called now and then while the program runs; what it raises ends it.

        Raises:
            TensorIndexError: when a checked vertex indexed outside a field.
            ApplicationRuntimeError: when a vertex raised an exception.
        """
        self._watch = watch
        state = self._state
        state[:STATE_DEADLINE] = 0
        begin = time.perf_counter_ns()
        try:
            enter = self._entry()
            while (reason := enter()) != DONE:
                if reason == CALLED:
                    if (action := self._words[STATE_CALLBACK]) == LOOK:
                        self._look()
                    else:
                        actions[action]()
                    try:
                        watch()
                    except BaseException:
                        self._finish_step()
                        raise
                elif reason == FAULTED:
                    self._raise_fault()
                else:
                    now = time.perf_counter_ns()
                    self._steps.share_slow(now - begin)
                    enter, begin = self._entry(), now
                    watch()
        # Also KeyboardInterrupt, wherever Python notices it.
        except BaseException:
            if state[STATE_CUT] or state[STATE_REASON] == FAULTED:
                self._steps.settle(*self._code.ops[state[STATE_ROW], 1:3].tolist())
            raise
        if (ran_ns := time.perf_counter_ns() - begin) > SLOW_NS or threads.is_doubtful():
            self._steps.share_slow(ran_ns)

    def _finish_step(self) -> None:
        """Run what is left of the step that called Python, such as moving what a stream gave."""
        row = end = int(self._state[STATE_ROW])
        while self._goes_on[end]:
            end += 1
        if end == row:
            return
        behind = self._ops[end].copy()
        self._ops[end, 0] = END
        try:
            enter = self._entry()
            while (reason := enter()) != DONE:
                if reason == CALLED:
                    self._look()
        finally:
            self._ops[end] = behind
            if self._checks is not None:  # they may have armed it meanwhile
                self._arm()

    def _entry(self) -> Callable[[], int]:
        """Return what runs the interpreter, while nothing new is shared by threads."""
        if (lock := threads.lock_of_layer()) is None:
            return self._enter

        def alone() -> int:
            with lock:
                return self._enter()

        return alone

    # -- strict checks -----------------------------------------------------------------------

    def _arm(self) -> None:
        """Let Python look at rows before they run."""
        self._ops[self._rows, :2] = CALLBACK, LOOK

    def _look(self) -> None:
        assert self._checks is not None
        row = int(self._state[STATE_ROW]) - 1
        calls = self._returns[: self._state[STATE_DEPTH]] - 1
        end = self._checks.look(self._code, row, calls.tolist(), self)
        if end == row:
            self._ops[row] = self._bound[row]
        self._counts[row:end] += 1
        self._state[STATE_ROW] = end

    def run_launches(self, code: Code) -> None:
        """Run a few launches, written as a program."""
        size = len(code.ops)  # programs of one size take turns in one
        if size not in self._inner:
            self._inner[size] = CompiledProgram(self._steps, code, np.zeros(size, np.int64))
        self._inner[size]._bind(code)
        self._inner[size].run((), self._watch)

    def returned(self, step: int) -> list[bool]:
        """Tell for each replica whether no vertex of a compute set returned false."""
        launch = self._steps.table.launches[self._steps.launches[step, COMPUTE]]
        chunks = np.concatenate([launch.chunks, launch.shares])
        false = set(chunks[chunks[:, CHUNK_FALSE] != 0, CHUNK_ARENA].tolist())
        return [address not in false for address in self._steps.arena.addresses]

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Let it be as if the vertices had returned this."""
        launch = self._steps.table.launches[self._steps.launches[step, COMPUTE]]
        for chunks in (launch.chunks, launch.shares):
            chunks[:, CHUNK_FALSE] = 0
            for address, own in zip(self._steps.arena.addresses, returned, strict=True):
                if not own:
                    chunks[chunks[:, CHUNK_ARENA] == address, CHUNK_FALSE] = 1

    # ----------------------------------------------------------------------------------------

    def where(self) -> str:
        """Return which step called Python, for messages."""
        return self._called().step_text(int(self._state[STATE_ROW]) - 1)

    def acting(self) -> int | None:
        """Return the number of the action that Python is running; None when it runs none."""
        is_called = self._state[STATE_REASON] == CALLED and self._state[STATE_CALLBACK] != LOOK
        return int(self._state[STATE_CALLBACK]) if is_called else None

    def _called(self) -> Code:
        """Return the code with the step numbers of the functions that are running."""
        calls = self._returns[: self._state[STATE_DEPTH]] - 1
        return self._code.called_from(calls.tolist())

    def _raise_fault(self) -> None:
        row, steps = int(self._state[STATE_ROW]), self._steps
        record = steps.take_fault(*self._code.ops[row, 1:3].tolist())
        code = self._called()
        raise_fault(steps.executable, code, row, record, steps.arena, steps.computes)
