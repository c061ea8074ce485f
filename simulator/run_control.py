"""Runs the programs of an engine: one at a time, until it ends, is stopped, or raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.compile.options import Classes, Interpret, classes_of_steps
from poplite.errors import ControlProgramError, UnknownName, checked_truth, did_you_mean
from poplite.executable.executable import Executable
from poplite.executable.step import vertex_classes
from poplite.simulator.compiled_program import CompiledProgram
from poplite.simulator.host.actions import Host
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.binding import CompiledSteps
from poplite.simulator.run.interpreted_vertices import Compute, InterpretedSteps
from poplite.simulator.run.slot_counts import SlotCounts
from poplite.simulator.running import Peers, Progress, Recording, Running, Stopped, busy, shown
from poplite.simulator.strict.checks import StrictChecks
from poplite.text import clipped
from poplite.vertex.compute import FasterForms, check
from poplite.vertex.vertex import Vertex


class EnginePrograms:
    """The programs of an engine, ready to run.

    Attributes:
        computes: the interpreted form of each vertex class that may need one.
        counts: int64[rows] of each program, how often each row ran.
        slot_totals: returns what counted vertices took, as `Accounts` takes it.
        slot_words: the same by program and row, as it is kept.
        ended: how many runs reached their end, or were stopped.
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
        """Let other ranks reach memory, and the tables of what vertices took."""
        if self._peers is not None:
            tables = {step: list(each.slots.values()) for step, each in slot_counts.steps.items()}
            shadows = () if checks is None else checks.shadow.parts
            self._peers.connect(arena.parts, shadows, tables)

    def run(self, program: object, *, progress: bool = False) -> None:
        """Run a program, by name or position, as `Engine.run`."""
        name = program_name(program, self._names)
        if self._peers is None:
            self._run(program, name, progress)
        else:
            self._peers.run(f"engine.run({name!r})", lambda: self._run(program, name, progress))
        self.ended += 1

    def _run(self, program: object, name: str, progress: bool) -> None:
        own = Running()
        try:
            # In one step, so that Ctrl-C finds the mark either made or not.
            if self._now.setdefault("run", own) is not own:
                raise ControlProgramError(
                    f"engine.run({program!r}): the engine is running already",
                    found=f"called while {self._host.doing()} is running"
                    if self._host.doing()
                    else "called from its own print stream, or from a second thread",
                    fix="wait for the first run, or make a second engine",
                )
            # The text of the call is made where it is shown, since this is asked in every run.
            if self._steps.spoiled is not None:
                self.check_sound(f"engine.run({program!r})")
            self._host.links.check_connected(name)
            if self._recording is not None:
                self._recording.begin(name)
            bound = self.programs[name]
            self._host.where, self._host.acting = bound.where, bound.acting
            calls: Sequence[Callable[[], object]] = self._host.calls
            watch = own.watch
            if self._peers is not None:  # which end a run at one place
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
        """Forget that memory was undefined: it has been filled anew."""
        self._steps.spoiled = None

    def check_sound(self, call: str) -> None:
        """Refuse the user's `call` while memory is undefined."""
        if self._steps.spoiled is None:
            return
        raise ControlProgramError(
            f"{call}: memory is undefined since a vertex stopped",
            found=f"{self._steps.spoiled}; fast checks save nothing",
            fix='engine.load() begins anew; with checks="strict" an engine can go on',
        )

    def check_idle(self, call: str) -> None:
        """Refuse the user's `call` while a program runs, as it would change what that works on."""
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
    """Return the name of a program that the user named or counted; raises `UnknownName`."""
    if isinstance(program, str) and program in names:
        return program
    if isinstance(program, _POSITION) and 0 <= program < len(names):
        return names[program]
    if isinstance(program, str):
        listed = [repr(name) for name in names]
        hint, fix = did_you_mean(program, names), f"engine.run({names[0]!r})"
    else:
        listed = [f"{position} is {name!r}" for position, name in enumerate(names)]
        hint, fix = "", "engine.run(0), or a name"
    raise UnknownName(
        f"the engine has no program {clipped(program)}{hint}",
        found="programs: " + ", ".join(listed),
        fix=fix,
    )


def _interpreted_forms(
    executable: Executable, arena: Arena, interpreted: Sequence[Classes]
) -> dict[type[Vertex], Compute]:
    """Return the interpreted form of the classes that are interpreted, or replayed after a fault.

    They are made with the engine, so that later changes of global numbers do not affect it.
    """
    replays = arena.floats.may_trap or executable.checks == "strict"
    in_python = frozenset[type[Vertex]]().union(*interpreted)
    return {
        cls: arena.floats.form(cls)
        for cls in vertex_classes(executable.steps)
        if replays or cls in in_python or check(cls).raises
    }
