"""Programs of an engine that are ready to run: ops bound to launches or to Python.

If some vertices of a compute set are interpreted, its launch calls Python, which runs them, and
then runs the compiled vertices of the compute set as a program with a single launch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.compile.options import Classes, Interpret, classes_of_steps
from poplite.errors import (
    ControlProgramError,
    TensorIndexError,
    UnknownName,
    checked_truth,
    did_you_mean,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep, vertex_classes
from poplite.simulator import compiled_parts
from poplite.simulator.run import launches
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.binding import CompiledSteps
from poplite.simulator.run.host_actions import Host
from poplite.simulator.run.interpreted_vertices import (
    Compute,
    InterpretedSteps,
    StoppedLaunch,
    VertexFault,
    move,
)
from poplite.simulator.run.slot_counts import SlotCounts
from poplite.simulator.running import Peers, Progress, Recording, Running, Stopped, busy, shown
from poplite.simulator.strict.checks import StrictChecks
from poplite.simulator.strict.error_texts import ProgramRow
from poplite.text import clipped
from poplite.vertex.compute.meaning import FasterForms, meaning_of
from poplite.vertex.vertex import Vertex

SLOW_NS = 5_000_000
"""Time of a run above which threads may share its slow launches."""

MOST_PAUSES = 3
"""Number of pauses without a step after which a loop counts as empty: a run may stop anywhere
in it."""

IN_PYTHON, STOP = -2, -3
"""In place of the number of an action, like `encoding.LOOK_IN_PYTHON`. For IN_PYTHON, Python runs
interpreted vertices of the row's step, or collects their return values; at STOP, the run ends on
all ranks."""


class CompiledProgram:
    """One program for the interpreter; `counts`, int64[rows], counts the runs of each row."""

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
        self._fault: VertexFault | None = None  # from vertices that ran before this program
        if checks is not None:
            self._rows = np.array(checks.rows(code), np.int64)
            self._looked = self._bound.copy()  # the rows while they are checked
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
        self._arguments = np.array([*arguments, compiled_parts.own("interpret")], np.int64)
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
        """Return the rows before which a run may end on all ranks, bool[rows]."""
        return np.isin(self._code.ops[:, 0], op.COUNTED) & ~self._goes_on

    def _rows_in_python(self, code: Code) -> list[int]:
        """Return the rows with interpreted vertices."""
        steps = list(self._steps.interpreted)
        if not steps:
            return []
        kinds, number, phase = code.ops[:, :3].T
        vertices = (kinds == op.LAUNCH) & np.isin(phase, (op.COMPUTE, op.DEFINED))
        asked = vertices | (kinds == op.EXPECT) | (kinds == op.COLLECT)
        return np.flatnonzero(asked & np.isin(number, steps)).tolist()

    def record(self, recording: Recording | None) -> None:
        """Record the rows that run; None stops recording."""
        self._recording = recording
        self._state[op.STATE_TRACE] = 0 if recording is None else recording.words.ctypes.data

    def run(self, actions: Sequence[Callable[[], object]], watch: Callable[[], None]) -> None:
        """Run to the end; Python performs the numbered actions; an error in `watch` ends the run.

        Raises `TensorIndexError` or `ApplicationRuntimeError` if a vertex stopped.
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
        # Includes KeyboardInterrupt, wherever Python raises it.
        except BaseException:
            if state[op.STATE_CUT] or state[op.STATE_REASON] == op.FAULTED:
                self._steps.settle(self._code, int(state[op.STATE_ROW]))
            raise
        if (ran_ns := time.perf_counter_ns() - begin) > SLOW_NS or launches.is_cost_doubtful():
            self._steps.share_slow(ran_ns)

    def _finish_step(self) -> None:
        """Run the rest of the step that called Python, such as the copy of a stream's block."""
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
            if self._checks is not None:  # checks may have been armed in the meantime
                self._arm()

    # -- other ranks -------------------------------------------------------------------------------

    def _has_begun(self) -> bool:
        """Return whether the next row has started."""
        is_waiting = self._state[op.STATE_REASON] == op.WAITING
        return bool(self._state[op.STATE_CUT] or is_waiting or self._is_looking)

    def _begun_rows(self) -> int:
        """Return the number of rows that have started, in all runs."""
        return int(self._counts.sum()) + self._has_begun()

    def _step(self) -> str:
        """Return the current step as text, for messages."""
        code = self._called()
        return code.step_text(int(code.step_numbers[self._state[op.STATE_ROW]]), "")

    def _look_after_peers(self, reason: int) -> None:
        """Check that other ranks are alive, and whether one of them requests to stop."""
        assert self._peers is not None, "only ranks exchange"
        if reason == op.WAITING:
            self._peers.waiting(int(self._code.ops[self._words[op.STATE_ROW], 1]))
        else:
            self._peers.look()
        self._pauses = self._pauses + 1 if reason == op.PAUSED and self._is_armed else 0
        if self._pauses > MOST_PAUSES and not self._has_begun():
            self._peers.stop_here()

    def _head_for(self, limit: int) -> None:
        """Make compiled code run until `limit` rows have run, and end before the next step."""
        left = limit - int(self._counts.sum())
        self._words[op.STATE_LEFT] = left if left > 0 else op.UNLIMITED
        if left <= 0 and not self._is_armed:  # the limit is within the current step
            self._ops[self._may_end, :2] = op.CALLBACK, STOP
            self._is_armed = True

    def _disarm(self) -> None:
        """Stop checking at each row whether the run ends."""
        if self._is_armed:
            self._ops[...] = self._bound
            self._is_armed = False
            if self._checks is not None:
                self._arm()

    def _may_stop(self, peers: Peers) -> None:
        """End the run before the row that called Python, if ranks agree to end it there."""
        row = self._words[op.STATE_ROW] - 1
        if self._may_end[row]:
            self._words[op.STATE_ROW] = row
            peers.stop_here()
            self._words[op.STATE_ROW] = row + 1

    def _entry(self) -> Callable[[], int]:
        """Return a function that runs the interpreter until new launches are shared by threads."""
        if (lock := launches.lock_of_layer()) is None:
            return self._enter

        def locked() -> int:
            with lock:
                return self._enter()

        return locked

    def _entry_of_run(self) -> Callable[[], int]:
        """Return a function that runs the interpreter up to the place where all ranks end."""
        enter, peers = self._entry(), self._peers
        if peers is None:
            return enter

        def heading() -> int:
            if (limit := peers.limit) is not None:
                self._head_for(limit)
            return enter()

        return heading

    def _do_own(self, action: int, watch: Callable[[], None]) -> None:
        """Perform an action of this class in Python."""
        if self._peers is not None:  # another rank may have just requested the end of the run
            self._may_stop(self._peers)
        assert action != STOP, "rows ask when the limit is reached"
        if action == op.LOOK_IN_PYTHON:
            self._look()
        else:
            self._do_in_python(watch)

    # -- interpreted vertices ----------------------------------------------------------------------

    def _do_in_python(self, watch: Callable[[], None]) -> None:
        """Do the work of a row for interpreted vertices, and for compiled ones of the same step."""
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
        assert isinstance(step, ComputeStep), "only compute sets have vertices"
        try:
            fault = steps.interpreted.run(number, watch)
            if steps.table.launches[steps.launches[number, phase]].parts:
                self._run_compiled(code, row, fault, watch)
        except BaseException:  # mainly KeyboardInterrupt
            move(step.restore, steps.arena)
            raise
        if fault is not None:
            launch = StoppedLaunch(steps.executable, code, row, steps.arena)
            launch.raise_interpreted_fault(fault)

    def _run_compiled(
        self, code: Code, row: int, fault: VertexFault | None, watch: Callable[[], None]
    ) -> None:
        """Run the compiled vertices of a row; `fault` is from the interpreted vertices, if any.

        `code` contains the step numbers of the running functions.
        """
        launch = ProgramRow(self._steps.executable, code, row, ()).launches(int(code.ops[row, 2]))
        program = CompiledProgram(self._steps, launch, np.zeros(len(launch.ops), np.int64))
        program._ops[0] = op.LAUNCH, self._steps.launch_of(launch, 0), 0, 0
        program._fault = fault
        program.run((), watch)

    # -- strict checks -----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Arrange that rows are checked before they run, except those where the run may end."""
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
            self._arm()  # written data may have become unwritten on another rank
        self._is_looking = True
        try:
            end = self._checks.look(self._code, row, calls, self)
        except BaseException:  # includes KeyboardInterrupt
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
        """Arrange that compiled code makes the next check of a row, if possible."""
        assert self._checks is not None
        kind, number = self._code.ops[row, :2].tolist()
        if kind != op.LAUNCH or number in self._steps.interpreted:
            return False
        look = self._checks.compiled_look(number, partial(self._steps.launches.item, number))
        if look is None:
            return False
        end = self._code.end_of_launches(row)
        self._looked[row] = op.LOOK, self._goes_on[end], end - row, look.address
        if look.trusts:
            self._steps.end_looks(number)
        return True

    def run_launches(self, code: Code) -> None:
        """Run launches that are given as a program."""
        size = len(code.ops)
        if size not in self._inner:  # programs of one size share an inner program
            self._inner[size] = CompiledProgram(self._steps, code, np.zeros(size, np.int64))
        inner = self._inner[size]
        if inner._code is not code:
            if (launches := code.ops.tobytes()) not in self._inner_ops:
                inner._bind(code)
                self._inner_ops[launches] = inner._ops.copy()
            inner._code, inner._ops[...] = code, self._inner_ops[launches]
        self._steps.interpreted.remember(code)
        inner.run((), self._watch)

    def returned(self, step: int) -> list[bool]:
        """Return, for each replica, whether no vertex of a compute set returned false."""
        false: set[int] = set()
        for chunks in self._steps.chunks_of_vertices(step):
            if np.count_nonzero(chunks[:, op.CHUNK_FALSE]):
                false.update(chunks[chunks[:, op.CHUNK_FALSE] != 0, op.CHUNK_ARENA].tolist())
        compiled = [address not in false for address in self._addresses]
        pairs = zip(compiled, self._steps.interpreted.returned(step), strict=True)
        return [one and other for one, other in pairs]

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Set the result of the vertices of a compute set, for each replica."""
        self._steps.interpreted.set_returned(step, returned)
        for chunks in self._steps.chunks_of_vertices(step):
            chunks[:, op.CHUNK_FALSE] = 0
            for address, own in zip(self._addresses, returned, strict=True):
                if not own:
                    chunks[chunks[:, op.CHUNK_ARENA] == address, op.CHUNK_FALSE] = 1

    # ----------------------------------------------------------------------------------------

    def where(self, what: str, decides: bool) -> str:
        """Return the step that called Python, or the decision based on `what`, as text."""
        code = self._called()
        return code.step_text(
            int(code.step_numbers[self._state[op.STATE_ROW] - 1]), what, decides=decides
        )

    def acting(self) -> int | None:
        """Return the number of the action that Python is running; None if it runs none."""
        action = int(self._state[op.STATE_CALLBACK])
        return action if self._state[op.STATE_REASON] == op.CALLED and action >= 0 else None

    def _called(self) -> Code:
        """Return the code with the step numbers of the running functions."""
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
            if not launch.step.may_fault:  # else memory is as before the compute set
                steps.spoiled = error.what
            raise


# -- programs of an engine, which run one at a time ------------------------------------------------


class EnginePrograms:
    """The programs of an engine that are ready to run.

    Attributes:
        computes: the interpreted form of each vertex class that may need one.
        counts: for each program, int64[rows]: how often each row ran.
        slot_totals: returns the totals of counted vertices, for `Accounts`.
        slot_words: the totals of counted vertices by program and row, in stored form.
        ended: the number of runs that reached their end or were stopped.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        host: Host,
        checks: StrictChecks | None,
        *,
        interpret: Interpret,
        forms: FasterForms,
        progress: Progress,
        peers: Peers | None = None,
    ) -> None:
        self._peers = peers
        self._host, self._codes = host, executable.programs
        self._names = tuple(self._codes)
        self.ended = 0
        self._now: dict[str, Running] = {}
        self._recording: Recording | None = None
        classes = classes_of_steps(interpret, executable.steps)
        self.computes = _interpreted_forms(executable, arena, classes)
        interpreted = InterpretedSteps(executable, arena, self.computes, classes)
        self.counts: dict[str, Int64] = {
            name: np.zeros(len(code.ops), np.int64) for name, code in self._codes.items()
        }
        self._steps = CompiledSteps(executable, arena, self.computes, interpreted, forms, progress)
        slot_counts = self._steps.slot_counts
        self._connect(arena, checks, slot_counts)
        self.programs = {
            name: CompiledProgram(self._steps, code, self.counts[name], checks, peers)
            for name, code in self._codes.items()
        }
        self.slot_totals, self.slot_words = slot_counts.totals, slot_counts.words

    @property
    def forms(self) -> FasterForms:
        """The faster forms that run."""
        return self._steps.forms

    def _connect(self, arena: Arena, checks: StrictChecks | None, slot_counts: SlotCounts) -> None:
        """Give other ranks access to memory, and to the tables of slots."""
        if self._peers is not None:
            tables = {step: list(each.slots.values()) for step, each in slot_counts.steps.items()}
            shadows = () if checks is None else checks.shadow.parts
            self._peers.connect(arena.parts, shadows, tables)

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position, as for `Engine.run`."""
        name = program_name(program, self._names)
        if self._peers is None:
            self._run(program, name, progress)
        else:
            self._peers.run(f"engine.run({name!r})", lambda: self._run(program, name, progress))
        self.ended += 1

    def _run(self, program: object, name: str, progress: bool) -> None:
        own = Running()
        try:
            # Atomic with respect to Ctrl-C.
            if self._now.setdefault("run", own) is not own:
                raise ControlProgramError(
                    f"engine.run({program!r}): the engine is already running",
                    found=f"it was called while {self._host.doing()} is running"
                    if self._host.doing()
                    else "it was called from its own print stream, or from a second thread",
                    fix="wait for the first run, or make a second engine",
                )
            # The text of the call is made only if it is shown, since every run executes this code.
            if self._steps.spoiled is not None:
                self.check_sound(f"engine.run({program!r})")
            self._host.links.check_connected(name)
            if self._recording is not None:
                self._recording.begin(name)
            bound = self.programs[name]
            self._host.where, self._host.acting = bound.where, bound.acting
            calls: Sequence[Callable[[], object]] = self._host.calls
            watch = own.watch
            if self._peers is not None:  # all ranks end a run at the same place
                calls, watch = self._peers.calls(calls, own), lambda: None
            if progress is not False and checked_truth(progress, "engine.run: progress"):
                self._run_shown(name, watch, calls)
            else:
                bound.run(calls, watch)
        except Stopped:
            pass
        except Exception as error:
            if self._now.get("run") is own:
                self._host.note(error)
            raise
        finally:
            if self._now.get("run") is own:
                del self._now["run"]

    def stop(self) -> None:
        """End the run that is in progress, if there is one."""
        running = self._now.get("run")
        if running is not None:
            running.stop()

    def load(self) -> None:
        """Mark memory as defined, because it has been filled again."""
        self._steps.spoiled = None

    def check_sound(self, call: str) -> None:
        """Reject the user's `call` while memory is undefined."""
        if self._steps.spoiled is None:
            return
        raise ControlProgramError(
            f"{call}: memory is undefined since a vertex stopped",
            found=f"{self._steps.spoiled}; fast checks do not save memory",
            fix='call engine.load() to begin again, or use checks="strict", which can continue',
        )

    def check_idle(self, call: str) -> None:
        """Reject the user's `call` while a program runs, since it would change its data."""
        if self._now:
            raise busy(call)

    @contextmanager
    def recorded(self, recording: Recording) -> Iterator[None]:
        """Record the rows that run in a `with` statement, instead of in an outer recording."""
        before, self._recording = self._recording, recording
        try:
            for program in self.programs.values():
                program.record(recording)
            yield
        finally:
            self._recording = before
            for program in self.programs.values():
                program.record(before)

    def _run_shown(
        self, name: str, own: Callable[[], None], calls: Sequence[Callable[[], object]]
    ) -> None:
        code, counts = self._codes[name], self.counts[name]
        before = int(counts[code.step_rows].sum())
        with shown(f"run {name!r}", "steps", code.num_runs, wanted=True) as bar:

            def done() -> int:
                return int(counts[code.step_rows].sum()) - before

            def watch() -> None:
                bar.update(done)
                own()

            try:
                self.programs[name].run(calls, watch)
            finally:
                bar.update(done)


_POSITION = int, np.integer


def program_name(program: object, names: tuple[str, ...]) -> str:
    """Return the name of a program given by name or position; raises `UnknownName`."""
    if isinstance(program, str) and program in names:
        return program
    if isinstance(program, _POSITION) and 0 <= program < len(names):
        return names[program]
    if isinstance(program, str):
        listed = [repr(name) for name in names]
        hint, fix = did_you_mean(program, names), f"engine.run({names[0]!r})"
    else:
        listed = [f"{position} is {name!r}" for position, name in enumerate(names)]
        hint, fix = "", "call engine.run(0), or pass a name"
    raise UnknownName(
        f"the engine has no program {clipped(program)}{hint}",
        found="programs: " + ", ".join(listed),
        fix=fix,
    )


def _interpreted_forms(
    executable: Executable, arena: Arena, interpreted: Sequence[Classes]
) -> dict[type[Vertex], Compute]:
    """Return the interpreted form of classes that are interpreted, or replayed after a fault.

    They are made with the engine, so that later changes to global variables do not affect it.
    """
    replays = arena.floats.may_trap or executable.checks == "strict"
    in_python = frozenset[type[Vertex]]().union(*interpreted)
    return {
        cls: arena.floats.form(cls)
        for cls in vertex_classes(executable.steps)
        if replays or cls in in_python or meaning_of(cls).raises
    }
