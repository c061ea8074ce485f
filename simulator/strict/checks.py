"""The strict checks of an engine, which detect reads of unwritten elements by steps.

An engine with strict checks maintains the shadow of its memory (`poplite.simulator.strict.shadow`).
Each step is *armed* at first: Python runs it. A Copy then moves the shadow as well, and a compute
set runs several times (`poplite.simulator.strict.replay`). A step whose elements are then all
written is disarmed, and costs nothing from then on. If elements become unwritten, because unwritten
elements are copied over them, all steps are armed again. A step that was checked `MOST_LOOKS` times
is trusted: its results count as written. Moves of unwritten elements are recorded in the shadow, so
that messages can give their origin.

In loops, Python soon leaves a step that it checks repeatedly to compiled code, which handles the
case that all elements are written afterwards (`poplite.simulator.strict.looks`).

A scalar that control flow depends on is checked in the same way before it is used. With
`ends_loops`, each Loop ends as soon as an iteration leaves the same elements written as an earlier
one.

On several ranks all steps remain armed, since elements may become unwritten on other ranks, and all
ranks agree on the result of each compute set before the next step starts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

import numpy as np

from poplite.compile.options import Interpret
from poplite.errors import warn
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep, CopyStep, Undefine, vertex_classes
from poplite.jit.kernels_written import INCOMPLETE, LOSSY
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.host_tensors import HostAccess
from poplite.simulator.running import Peers
from poplite.simulator.strict.error_texts import ProgramRow
from poplite.simulator.strict.looks import UNLIMITED, CompiledLook, LaunchOf, plan_of_copy
from poplite.simulator.strict.replay import Replay, Runner
from poplite.simulator.strict.shadow import (
    Moving,
    Read,
    Shadow,
    UnwrittenCopies,
    are_written,
    look_at_action,
    shadow_of_written,
    uninitialized,
)
from poplite.source import SourceLocation, here
from poplite.vertex.compute.meaning import FasterForms, meaning_of

DECIDING = (op.JUMP_IF_ZERO, op.JUMP_IF_NONZERO, op.SWITCH, op.AGREE, op.SAME)
"""Ops that read a scalar."""

LOOKED_AT = (op.LAUNCH, *DECIDING, op.COLLECT, op.ALL, op.CALLBACK)
"""Ops that are checked, except for the sums of slots."""

MOST_LOOKS = 1_000
"""Maximum number of checked executions of a step, so that checks do not slow down a long loop."""

LOOKS_IN_PYTHON = 2
"""Number of executions of a step that Python checks before compiled code does, if possible."""

MOST_KEPT = 1 << 22
"""Maximum number of elements in tables that are stored for steps no longer checked."""


class StrictChecks:
    """The strict checks of an engine.

    `interpret` contains the vertices that run as plain Python, `forms` the faster forms. With
    `ends_loops`, a Loop ends when further iterations cannot detect new faults, except those that
    depend on data.

    Attributes:
        shadow: which bytes of the memory are written.
        copies: the origins of unwritten elements.
        runs_again: the number of repeated runs of the vertices of compute sets.
        has_run: whether the last checked step ran, even if an error followed.
        on_armed: called when all steps are armed again.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        *,
        interpret: Interpret,
        forms: FasterForms,
        peers: Peers | None = None,
        ends_loops: bool = False,
    ) -> None:
        self._ends_loops = ends_loops
        self._rounds: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
        self._executable, self._arena, self._forms = executable, arena, forms
        self._peers = peers
        classes = vertex_classes(executable.steps) if interpret else ()
        self._shown = frozenset(cls for cls in classes if meaning_of(cls).shows)
        self.shadow = Shadow(executable.layout)
        self.copies = UnwrittenCopies(executable, self.shadow)
        self.runs_again, self.has_run = 0, False
        self.on_armed: list[Callable[[], None]] = []
        self._armed = [True] * len(executable.steps)
        self._places: dict[int, ProgramRow] = {}
        self._replays: dict[int, Replay] = {}
        self._moving: dict[int, Moving] = {}
        self._undefining: dict[int, Moving] = {}
        self._kept = 0
        self._looks = [0] * len(executable.steps)
        self._in_python = [0] * len(executable.steps)  # number of checks in Python
        self._compiled: dict[int, CompiledLook] = {}
        self._former: list[CompiledLook] = []  # rows of programs may still contain their addresses
        self._warned: set[int] = set()
        self._warned_lines: set[tuple[SourceLocation, str]] = set()

    def arm(self) -> None:
        """Check all steps again, since elements became unwritten."""
        self._armed = [True] * len(self._armed)
        for call in self.on_armed:
            call()

    def load(self) -> None:
        """Reset the shadow; only initial contents count as written."""
        self.shadow.load()
        self.copies.forget()
        self.arm()

    def look(self, code: Code, row: int, calls: Sequence[int], runner: Runner) -> int:
        """Run a row that is checked, if still needed; return the row at which to continue.

        The result is `row` itself if the row needs no further checks. `calls` are the open CALLs.
        Raises the faults that are detected, and the errors of vertices.
        """
        self.has_run = False
        kind, number, scalar, size = code.ops[row].tolist()
        if kind == op.COLLECT:
            self.shadow.write_scalar(scalar)
        elif kind == op.CALLBACK:
            return row + self._undefined(code, row, calls, number)
        elif kind == op.ALL:
            self.shadow.write_scalar(number)
        elif kind in DECIDING:
            if not self.shadow.holds(scalar, 4 if kind == op.SWITCH else size):
                error = self._place(code, row, calls).undecided(scalar)
                # All ranks have the same scalar, so they report the same error.
                if self._peers is not None:
                    self._peers.agreed(error, 0)
                raise error
        elif kind == op.LAUNCH and scalar != op.SUM_SLOTS and self._armed[number]:
            if number not in self._places or not self._places[number].is_at(code, row, calls):
                self._places[number] = self._place(code, row, calls)
            return self._places[number].end if self._ran_here(number, runner) else row
        elif self._ends_loops and kind == op.JUMP and number <= row:
            return number if self._is_new_round((id(code), row)) else row + 1
        return row

    def _place(self, code: Code, row: int, calls: Sequence[int]) -> ProgramRow:
        return ProgramRow(self._executable, code, row, tuple(calls), self.copies)

    def rows(self, code: Code) -> list[int]:
        """Return the rows of a program that are checked before they run if all steps are armed."""
        ops, found, row = code.ops, [], 0
        while row < len(ops):
            kind, number, phase = ops[row, :3].tolist()
            is_sum = kind == op.LAUNCH and phase == op.SUM_SLOTS
            is_loop = kind == op.JUMP and number <= row  # all other jumps go forward
            if (kind in LOOKED_AT and not is_sum) or (is_loop and self._ends_loops):
                found.append(row)
            row = code.end_of_launches(row) if kind == op.LAUNCH else row + 1
        return found

    def _is_new_round(self, loop: tuple[int, int]) -> bool:
        """Return whether the last iteration of a Loop left a new set of written elements."""
        written = blake2b(
            b"".join(np.packbits(part).tobytes() for part in self.shadow.parts)
        ).digest()
        is_new = written not in self._rounds[loop]
        self._rounds[loop].add(written)
        return is_new

    def read(self, access: HostAccess, *, has_run: bool) -> None:
        """Warn of unwritten elements that the host reads, once for each user's line."""
        line, place = (here(), access.call), access.place
        if line in self._warned_lines:
            return
        shadows = (place.read(self.shadow, replica) for replica in access.replicas)
        bytes_of = partial(place.bytes_of, self._executable.layout)
        read = Read(access.call, None, [are_written(each) for each in shadows], bytes_of)
        warning = uninitialized(read, self.copies, has_run=has_run)
        if warning is not None:
            self._warned_lines.add(line)
            warn(warning)

    def write(self, access: HostAccess) -> None:
        """Record that the host writes elements."""
        written = shadow_of_written(access.place.element_type)
        for replica in access.replicas:
            access.place.write(self.shadow, written, replica)

    def _undefined(self, code: Code, row: int, calls: Sequence[int], number: int) -> bool:
        """Check an action; return whether it only undefines elements and so must run each time."""
        action = self._executable.actions[number]
        if isinstance(action, Undefine):
            self._undefine(number, action)
            self.copies.note(action)
            self.arm()
            return True
        reads = look_at_action(self.shadow, action)
        if number not in self._warned:
            place = str(self._place(code, row, calls))
            found = [uninitialized(read, self.copies, place) for read in reads]
            warnings = [each for each in found if each is not None]
            self._warned |= {number} if warnings else set()
            is_host = self._peers is None or self._peers.is_host
            for warning in warnings if is_host else ():  # only the host's rank has the data
                warn(warning)
        return False

    def _undefine(self, number: int, action: Undefine) -> int:
        """Mark the elements of an action as unwritten; return flags as for moves."""
        if number not in self._undefining:
            self._undefining[number] = self.shadow.undefining(action.tensor)
        return self._undefining[number]()

    def compiled_look(self, number: int, launch_of: LaunchOf) -> CompiledLook | None:
        """Return the compiled check that can replace Python's check of a step from now on, if any.

        Python has just checked the step.
        """
        if self._in_python[number] < LOOKS_IN_PYTHON or self._peers is not None:
            return None
        if number not in self._places:
            return None
        step = self._executable.steps[number]
        if isinstance(step, CopyStep):
            return self._look_of_copy(number, step, launch_of)
        return self._look_of_compute_set(number, step, launch_of)

    def _look_of_copy(
        self, number: int, step: CopyStep, launch_of: LaunchOf
    ) -> CompiledLook | None:
        if number not in self._compiled and number in self._moving:
            plan = plan_of_copy(self.shadow.checking(step.moves), self._moving[number].calls)
            self._compiled[number] = CompiledLook(plan, launch_of, op.GATHER)
        return self._compiled.get(number)

    def _look_of_compute_set(
        self, number: int, step: ComputeStep, launch_of: LaunchOf
    ) -> CompiledLook | None:
        replay, left = self._replays.get(number), MOST_LOOKS - self._looks[number]
        if replay is None or not (replay.looks_by_rows or self._kept <= MOST_KEPT):
            return None
        is_trusted = not left and not replay.looks_by_rows
        if not (replay.looks_by_rows or is_trusted or replay.is_complete):
            return None  # elements remain unwritten, as after the next execution in most cases
        look = self._compiled.get(number)
        if look is None or is_trusted != look.trusts:
            self._former += [] if look is None else [look]
            place = self._places[number]
            look = replay.compile_look(place, launch_of, is_trusted=is_trusted)
            if look is None:
                return None
            self._compiled[number] = look
        look.allow(replay.looks_by_rows or left or UNLIMITED)
        return look

    def _collect(self, number: int, replay: Replay) -> None:
        """Record how often compiled code checked a step."""
        if (look := self._compiled.get(number)) is not None:
            self._looks[number] = min(MOST_LOOKS, self._looks[number] + look.take_looks())
            replay.recount()

    def _ran_here(self, number: int, runner: Runner) -> bool:
        """Run a step unless no check is needed; return whether it ran."""
        step = self._executable.steps[number]
        self._in_python[number] += 1
        if isinstance(step, ComputeStep):
            return self._executed(number, step, runner)
        return self._copied(number, step, runner)

    def _copied(self, number: int, step: CopyStep, runner: Runner) -> bool:
        is_trusted = self._looks[number] == MOST_LOOKS
        if number not in self._moving:
            self._moving[number] = self.shadow.moving(step.moves, step.replica_map)
        moving = self._moving[number]
        if is_trusted:
            moving = self.shadow.moving(step.moves, step.replica_map, known=1)
        runner.run_launches(self._places[number].launches(op.GATHER))
        self.has_run = True
        try:
            flags = moving()
        except BaseException:  # includes KeyboardInterrupt: the elements have moved
            moving()
            self.copies.note(step)
            self.arm()
            raise
        is_armed = not is_trusted and bool(flags & INCOMPLETE)
        self._armed[number] = is_armed or self._peers is not None
        if is_armed:
            self._looks[number] += 1
            self.copies.note(step)
        if flags & LOSSY:
            self.arm()
        return True

    def _executed(self, number: int, step: ComputeStep, runner: Runner) -> bool:
        replay = self._replay(number, step)
        replay.has_run = replay.is_lossy = False
        try:
            return self._replayed(number, replay, runner)
        finally:
            self.has_run = replay.has_run

    def _replayed(self, number: int, replay: Replay, runner: Runner) -> bool:
        self._collect(number, replay)
        is_first = not self._looks[number]
        is_trusted = self._looks[number] == MOST_LOOKS
        try:
            has_run = replay.run_by_rows(self._places[number], runner, is_first=is_first)
        finally:
            if replay.is_lossy:
                self.arm()
        if has_run:
            self._looks[number] += not is_trusted
            return True
        replay.begin(self._places[number], runner)
        if is_trusted:
            replay.trust()
        is_known = is_trusted or (
            replay.is_complete and not replay.has_workers and not (is_first and replay.looks_first)
        )
        if is_known and self._peers is None:
            self._disarm(number, replay)
            return False
        try:
            replay.run(is_first=is_first)
        finally:
            self.runs_again += replay.runs_on_ranks
            if replay.has_run:
                self.copies.note_passed(number, *replay.passed_on())
            if replay.is_lossy:
                self.arm()
        self._looks[number] += not is_known
        if replay.is_complete and not replay.has_workers and self._peers is None:
            self._disarm(number, replay)
        for warning in replay.warnings:
            warn(warning)
        return True

    def _replay(self, number: int, step: ComputeStep) -> Replay:
        if number not in self._replays:
            # Vertices that print run once: a second run would be visible.
            shows = any(group.cls in self._shown for group in step.groups)
            replay = Replay(
                step,
                self._arena,
                self.shadow,
                self._forms,
                runs_once=shows,
                peers=self._peers,
            )
            self._replays[number] = replay
            self._kept += replay.size
        return self._replays[number]

    def _disarm(self, number: int, replay: Replay) -> None:
        self._armed[number] = False
        if self._kept > MOST_KEPT and number not in self._compiled:
            self._kept -= replay.size
            del self._replays[number]
