"""One program, ready to run: its ops bound to launches or to Python.

Where vertices of a compute set are interpreted, the launch of its vertices calls Python.  It
runs them, and the compiled vertices of the same compute set as a program of one launch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorIndexError
from poplite.executable import opcodes as op
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.simulator import compiled_parts
from poplite.simulator.run import launches
from poplite.simulator.run.binding import CompiledSteps
from poplite.simulator.run.faults import StoppedLaunch
from poplite.simulator.run.interpreted_vertices import VertexFault, move
from poplite.simulator.running import Peers, Recording
from poplite.simulator.strict.checks import StrictChecks
from poplite.simulator.strict.messages import ProgramRow

SLOW_NS = 5_000_000
"""After a run that takes longer, threads may share its slow launches."""

MOST_PAUSES = 3
"""Pauses without a step after which a loop is one of nothing, in which a run may stop anywhere."""

IN_PYTHON, STOP = -2, -3
"""In place of the number of an action, like `opcodes.LOOK_IN_PYTHON`: Python runs interpreted
vertices of its step, or collects what they returned; the run ends here, on all ranks."""


class CompiledProgram:
    """One program, ready for the interpreter; `counts`, int64[rows], counts runs of each row."""

    def __init__(
        self,
        steps: CompiledSteps,
        code: Code,
        counts: npt.NDArray[np.int64],
        checks: StrictChecks | None = None,
        peers: Peers | None = None,
    ) -> None:
        self._steps, self._counts, self._checks = steps, counts, checks
        self._peers, self._is_armed, self._pauses = peers, False, 0
        self._is_looking = False
        self._ops = code.ops.copy()
        self._bind(code)
        self._bound = self._ops.copy()
        self._inner: dict[int, CompiledProgram] = {}
        self._inner_ops: dict[bytes, npt.NDArray[np.int64]] = {}
        self._addresses = steps.arena.addresses
        self._fault: VertexFault | None = None  # of vertices that ran before this program
        if checks is not None:
            self._rows = np.array(checks.rows(code), np.int64)
            self._looked = self._bound.copy()  # what rows are while they are looked at
            self._looked[self._rows, :2] = op.CALLBACK, op.LOOK_IN_PYTHON
            checks.on_armed.append(self._arm)
            self._arm()
        self._state = np.zeros(op.STATE_WORDS, np.int64)
        self._state[op.STATE_ENTRIES] = launches.thread_entries().ctypes.data
        self._state[op.STATE_FLOATS] = steps.arena.floats.address
        layout = steps.executable.layout
        self._state[[op.STATE_REPLICAS, op.STATE_STRIDE]] = layout.replicas, layout.size_bytes
        self._state[op.STATE_LEFT] = op.UNLIMITED
        self._loops = np.zeros(max(1, code.num_loops), np.int64)
        self._returns = np.zeros(max(1, code.num_functions), np.int64)
        tables = self._ops, steps.table.words, steps.arena.bytes
        self._arrays = (*tables, self._state, self._loops, self._returns, counts)
        arguments = [array.ctypes.data for array in self._arrays]
        self._arguments = np.array([*arguments, compiled_parts.interpreter_address()], np.int64)
        self._enter = partial(compiled_parts.enter(), self._arguments.ctypes.data)
        self._words = self._state.data  # Python reads a memoryview faster than an array
        self._recording: Recording | None = None

    def _bind(self, code: Code) -> None:
        self._code, self._goes_on = code, code.goes_on
        self._ops[...] = code.ops
        kinds, launches = code.ops[:, 0], self._steps.launches
        for row in np.flatnonzero(kinds == op.LAUNCH).tolist():
            self._ops[row, 1:3] = self._steps.launch_of(code, row), self._goes_on[row + 1]
        for row in np.flatnonzero((kinds == op.EXPECT) | (kinds == op.COLLECT)).tolist():
            self._ops[row, 1] = launches[int(code.ops[row, 1]), op.COMPUTE]
        for row in np.flatnonzero(kinds == op.EXCHANGE).tolist():
            assert self._peers is not None, "only ranks exchange"
            self._ops[row, 1] = self._peers.address(int(code.ops[row, 1]))
            self._ops[row, 2] = self._goes_on[row + 1]
        for row in self._rows_in_python(code):
            self._ops[row, :2] = op.CALLBACK, IN_PYTHON

    @property
    def _may_end(self) -> npt.NDArray[np.bool_]:
        """The rows before which a run may end, on all ranks: bool[rows]."""
        return np.isin(self._code.ops[:, 0], op.COUNTED) & ~self._goes_on

    def _rows_in_python(self, code: Code) -> list[int]:
        """Return the rows that concern interpreted vertices."""
        steps = list(self._steps.interpreted)
        if not steps:
            return []
        kinds, number, phase = code.ops[:, :3].T
        vertices = (kinds == op.LAUNCH) & np.isin(phase, (op.COMPUTE, op.DEFINED))
        asked = vertices | (kinds == op.EXPECT) | (kinds == op.COLLECT)
        return np.flatnonzero(asked & np.isin(number, steps)).tolist()

    def record(self, recording: Recording | None) -> None:
        """Let the rows that run be recorded; None ends that."""
        self._recording = recording
        self._state[op.STATE_TRACE] = 0 if recording is None else recording.words.ctypes.data

    def run(self, actions: Sequence[Callable[[], object]], watch: Callable[[], None]) -> None:
        """Run to the end; Python does the numbered actions, and what `watch` raises ends the run.

        Raises `TensorIndexError` or `ApplicationRuntimeError` when a vertex stopped.
        """
        self._watch = watch
        state = self._state
        state[: op.STATE_DEADLINE] = 0
        if self._peers is not None:
            self._peers.follow(self._begun_rows, self._step)
            self._disarm()
            self._words[op.STATE_LEFT] = op.UNLIMITED
        begin = time.perf_counter_ns()
        try:
            enter = self._entry_of_run()
            while (reason := enter()) != op.DONE:
                if self._peers is not None and reason != op.FAULTED:
                    self._look_after_peers(reason)
                if reason == op.CALLED:
                    if (action := self._words[op.STATE_CALLBACK]) >= 0:
                        actions[action]()
                        if self._peers is not None:
                            self._look_after_peers(reason)
                    else:
                        self._do_own(action, watch)
                    try:
                        watch()
                    except BaseException:
                        self._finish_step()
                        raise
                elif reason == op.FAULTED:
                    self._raise_fault()
                else:
                    now = time.perf_counter_ns()
                    self._steps.share_slow(now - begin)
                    enter, begin = self._entry_of_run(), now
                    watch()
        # KeyboardInterrupt too, wherever Python notices it.
        except BaseException:
            if state[op.STATE_CUT] or state[op.STATE_REASON] == op.FAULTED:
                self._steps.settle(self._code, int(state[op.STATE_ROW]))
            raise
        if (ran_ns := time.perf_counter_ns() - begin) > SLOW_NS or launches.is_cost_doubtful():
            self._steps.share_slow(ran_ns)

    def _finish_step(self) -> None:
        """Run the rest of the step that called Python, such as moving what a stream supplied."""
        row = end = int(self._state[op.STATE_ROW])
        while self._goes_on[end]:
            end += 1
        if end == row:
            return
        behind = self._ops[end].copy()
        self._ops[end, 0] = op.END
        self._words[op.STATE_LEFT] = op.UNLIMITED
        try:
            enter = self._entry()
            while (reason := enter()) != op.DONE:
                if reason == op.CALLED:
                    self._do_own(self._words[op.STATE_CALLBACK], lambda: None)
                elif self._peers is not None:
                    self._look_after_peers(reason)
        finally:
            self._ops[end] = behind
            if self._checks is not None:  # they may have been armed meanwhile
                self._arm()

    # -- other ranks -------------------------------------------------------------------------------

    def _has_begun(self) -> bool:
        """Return whether the next row has begun."""
        is_waiting = self._state[op.STATE_REASON] == op.WAITING
        return bool(self._state[op.STATE_CUT] or is_waiting or self._is_looking)

    def _begun_rows(self) -> int:
        """Return how many rows have begun, in all runs."""
        return int(self._counts.sum()) + self._has_begun()

    def _step(self) -> str:
        """Return which step is running, for messages."""
        code = self._called()
        return code.step_text(int(code.step_numbers[self._state[op.STATE_ROW]]), "")

    def _look_after_peers(self, reason: int) -> None:
        """Make sure that other ranks are there, and see whether one of them wants to stop."""
        assert self._peers is not None, "only ranks exchange"
        if reason == op.WAITING:
            self._peers.waiting(int(self._code.ops[self._words[op.STATE_ROW], 1]))
        else:
            self._peers.look()
        self._pauses = self._pauses + 1 if reason == op.PAUSED and self._is_armed else 0
        if self._pauses > MOST_PAUSES and not self._has_begun():
            self._peers.stop_here()

    def _head_for(self, limit: int) -> None:
        """Let compiled code run until so many rows have run, then end before the next step."""
        left = limit - int(self._counts.sum())
        self._words[op.STATE_LEFT] = left if left > 0 else op.UNLIMITED
        if left <= 0 and not self._is_armed:  # no step has begun but the one of which it is a part
            self._ops[self._may_end, :2] = op.CALLBACK, STOP
            self._is_armed = True

    def _disarm(self) -> None:
        """Let rows run without a question whether the run ends."""
        if self._is_armed:
            self._ops[...] = self._bound
            self._is_armed = False
            if self._checks is not None:
                self._arm()

    def _may_stop(self, peers: Peers) -> None:
        """End the run before the row that called Python, if this is the place."""
        row = self._words[op.STATE_ROW] - 1
        if self._may_end[row]:
            self._words[op.STATE_ROW] = row
            peers.stop_here()
            self._words[op.STATE_ROW] = row + 1

    def _entry(self) -> Callable[[], int]:
        """Return what runs the interpreter until new launches are shared by threads."""
        if (lock := launches.lock_of_layer()) is None:
            return self._enter

        def locked() -> int:
            with lock:
                return self._enter()

        return locked

    def _entry_of_run(self) -> Callable[[], int]:
        """Return what runs the interpreter, to the end that ranks agree on and no further."""
        enter, peers = self._entry(), self._peers
        if peers is None:
            return enter

        def heading() -> int:
            if (limit := peers.limit) is not None:
                self._head_for(limit)
            return enter()

        return heading

    def _do_own(self, action: int, watch: Callable[[], None]) -> None:
        """Do what Python does for the program itself."""
        if self._peers is not None:  # Python may know only now that the run ends here
            self._may_stop(self._peers)
        assert action != STOP, "rows ask when the limit is reached"
        if action == op.LOOK_IN_PYTHON:
            self._look()
        else:
            self._do_in_python(watch)

    # -- vertices that are interpreted -------------------------------------------------------------

    def _do_in_python(self, watch: Callable[[], None]) -> None:
        """Do what a row does for interpreted vertices, and for the compiled ones of its step."""
        row = int(self._state[op.STATE_ROW]) - 1
        kind, number, *words = self._code.ops[row].tolist()
        if kind == op.LAUNCH:
            self._run_vertices(row, number, words[0], watch)
            self._counts[row] += 1
            if self._recording is not None:
                self._recording.add((row,))
            return
        parts = self._steps.arena.parts
        if kind == op.EXPECT:
            self.set_returned(number, [True] * len(parts))
            return
        for memory, returned in zip(parts, self.returned(number), strict=True):
            memory[words[0]] = returned

    def _run_vertices(self, row: int, number: int, phase: int, watch: Callable[[], None]) -> None:
        steps = self._steps
        code, step = self._called(), steps.executable.steps[number]
        assert isinstance(step, ComputeStep), "nothing else has vertices"
        try:
            fault = steps.interpreted.run(number, watch)
            if steps.table.launches[steps.launches[number, phase]].parts:
                self._run_compiled(code, row, fault, watch)
        except BaseException:  # KeyboardInterrupt above all
            move(step.restore, steps.arena)
            raise
        if fault is not None:
            launch = StoppedLaunch(steps.executable, code, row, steps.arena)
            launch.raise_interpreted_fault(fault)

    def _run_compiled(
        self, code: Code, row: int, fault: VertexFault | None, watch: Callable[[], None]
    ) -> None:
        """Run the compiled vertices of a row; `fault` is that of the interpreted ones, if any.

        `code` has the step numbers of the functions that are running.
        """
        launch = ProgramRow(self._steps.executable, code, row, ()).launches(int(code.ops[row, 2]))
        program = CompiledProgram(self._steps, launch, np.zeros(len(launch.ops), np.int64))
        program._ops[0] = op.LAUNCH, self._steps.launch_of(launch, 0), 0, 0
        program._fault = fault
        program.run((), watch)

    # -- strict checks -----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Let rows be looked at before they run, but for those where the run may end."""
        rows = self._rows
        if self._is_armed:
            is_stop = (self._ops[rows, 0] == op.CALLBACK) & (self._ops[rows, 1] == STOP)
            rows = rows[~is_stop]
        self._ops[rows] = self._looked[rows]

    def _look(self) -> None:
        assert self._checks is not None
        row, depth = self._words[op.STATE_ROW] - 1, self._words[op.STATE_DEPTH]
        calls = [each - 1 for each in self._returns[:depth].tolist()] if depth else []
        if self._peers is not None:
            self._arm()  # what was written may not be any more, on another rank
        self._is_looking = True
        try:
            end = self._checks.look(self._code, row, calls, self)
        except BaseException:  # KeyboardInterrupt too
            if self._checks.has_run:
                self._count_looked(row, self._code.end_of_launches(row))
                self._steps.slot_counts.finish(self._code, row)
            raise
        finally:
            self._is_looking = False
            self._steps.interpreted.forget()
        if end == row:
            self._ops[row] = self._bound[row]
            if self._code.ops[row, 0] == op.LAUNCH:
                self._steps.end_looks(int(self._code.ops[row, 1]))
        self._count_looked(row, end)
        self._words[op.STATE_ROW] = end
        if self._compile_look(row) and end > row:
            self._ops[row] = self._looked[row]

    def _count_looked(self, row: int, end: int) -> None:
        self._counts[row:end] += 1
        if self._recording is not None:
            self._recording.add(range(row, end))

    def _compile_look(self, row: int) -> bool:
        """Let compiled code look at a row when it is looked at again, if it can."""
        assert self._checks is not None
        kind, number = self._code.ops[row, :2].tolist()
        if kind != op.LAUNCH or number in set(self._steps.interpreted):
            return False
        launches = self._steps.launches[number].tolist()
        look = self._checks.compiled_look(number, launches.__getitem__)
        if look is None:
            return False
        end = self._code.end_of_launches(row)
        self._looked[row] = op.LOOK, self._goes_on[end], end - row, look.address
        if look.trusts:
            self._steps.end_looks(number)
        return True

    def run_launches(self, code: Code) -> None:
        """Run a few launches, written as a program."""
        size, launches = len(code.ops), code.ops.tobytes()
        if size not in self._inner:  # programs of one size take turns in one
            self._inner[size] = CompiledProgram(self._steps, code, np.zeros(size, np.int64))
        inner = self._inner[size]
        if launches not in self._inner_ops:
            inner._bind(code)
            self._inner_ops[launches] = inner._ops.copy()
        inner._code, inner._ops[...] = code, self._inner_ops[launches]
        self._steps.interpreted.remember(code)
        inner.run((), self._watch)

    def returned(self, step: int) -> list[bool]:
        """Tell for each replica whether no vertex of a compute set returned false."""
        false: set[int] = set()
        for chunks in self._steps.chunks_of_vertices(step):
            if np.count_nonzero(chunks[:, op.CHUNK_FALSE]):
                false.update(chunks[chunks[:, op.CHUNK_FALSE] != 0, op.CHUNK_ARENA].tolist())
        compiled = [address not in false for address in self._addresses]
        pairs = zip(compiled, self._steps.interpreted.returned(step), strict=True)
        return [one and other for one, other in pairs]

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Set what the vertices of a compute set returned, for each replica."""
        self._steps.interpreted.set_returned(step, returned)
        for chunks in self._steps.chunks_of_vertices(step):
            chunks[:, op.CHUNK_FALSE] = 0
            for address, own in zip(self._addresses, returned, strict=True):
                if not own:
                    chunks[chunks[:, op.CHUNK_ARENA] == address, op.CHUNK_FALSE] = 1

    # ----------------------------------------------------------------------------------------

    def where(self, what: str, decides: bool) -> str:
        """Return which step called Python, or that `what` decides what runs next, for messages."""
        code = self._called()
        return code.step_text(
            int(code.step_numbers[self._state[op.STATE_ROW] - 1]), what, decides=decides
        )

    def acting(self) -> int | None:
        """Return the number of the action that Python is running; None when it runs none."""
        action = int(self._state[op.STATE_CALLBACK])
        return action if self._state[op.STATE_REASON] == op.CALLED and action >= 0 else None

    def _called(self) -> Code:
        """Return the code with the step numbers of the functions that are running."""
        calls = self._returns[: self._state[op.STATE_DEPTH]] - 1
        return self._code.called_from(calls.tolist())

    def _raise_fault(self) -> None:
        row, steps = int(self._state[op.STATE_ROW]), self._steps
        record = steps.take_fault(*self._code.ops[row, 1:3].tolist())
        launch = StoppedLaunch(steps.executable, self._called(), row, steps.arena)
        before = self._fault
        if before is not None and before.place < (record.replica, record.vertex):
            launch.raise_interpreted_fault(before)
        forms = steps.forms_of(*self._code.ops[row, 1:3].tolist())
        try:
            launch.raise_fault(record, steps.computes, forms)
        except TensorIndexError as error:
            if not launch.is_undone:
                steps.spoiled = error.what
            raise
