"""One execution of a compute set that is looked at: its vertices run more than once.

    gather, save, count    as always
    vertices               the result that counts
    vertices, again        with other values where nothing was written      -> who needs them?
    vertices, again        with other values in Outputs, the first time     -> who keeps them?
    vertices, again        workers in falling order, of MultiVertex classes -> who races?
    scatter                memory is then what it is after the first run

What connected elements hold that were not written changes nothing as long as no result depends on
it: a vertex may be connected to them, and may pass them on, which leaves them unwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from poplite.errors import PopliteError, PopliteWarning, UninitializedReadError
from poplite.executable.opcodes import COMPUTE, COUNT, FALLING, GATHER, SAVE, SCATTER, Code
from poplite.executable.step import ComputeStep
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.touched import Touched
from poplite.simulator.strict.messages import Place
from poplite.simulator.strict.patterns import FILLS, Bits, Fill, Mask, filled, is_passed_on
from poplite.simulator.strict.shadow import Shadow, bits

Masks = Mapping[int, Mask]
"""Some elements of some fields, by the field's position: bool[replicas, elements]."""

Results = dict[int, Bits]
"""What the fields that are written hold, by the field's position."""

_Outcome = Results | PopliteError


class Runner(Protocol):
    """A program, for what runs in the middle of it."""

    def run_launches(self, code: Code) -> None:
        """Run a few launches, written as a program."""

    def returned(self, step: int) -> list[bool]:
        """Tell for each replica whether no vertex of a compute set returned false."""

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Let it be as if the vertices had returned this."""


class Execution:
    """One execution of a compute set.

    Args:
        step: the compute set.
        fields: what its vertices touch.
        arena: the memory.
        shadow: what is written of it.
        place: where it stands in the program.
        runner: the program that runs.

    Attributes:
        runs_again: how often its vertices ran again.
        is_complete: whether all that it touches is written, first before it runs, then afterwards.
        is_lossy: whether something became unwritten.
        warnings: what is to be told.
    """

    def __init__(
        self,
        step: ComputeStep,
        fields: Sequence[Touched],
        arena: Arena,
        shadow: Shadow,
        place: Place,
        runner: Runner,
    ) -> None:
        self._step, self._fields, self._arena, self._shadow = step, fields, arena, shadow
        self._place, self._runner = place, runner
        self._writing = [n for n, each in enumerate(fields) if each.field.writes]
        self.runs_again = 0
        self.is_lossy = False
        self.warnings: list[PopliteWarning] = []

        self._shadow.move(step.gather)
        self._before = [shadow.written(each) for each in fields]
        self.is_complete = all(bool(known.all()) for known in self._before)

    def trust(self) -> None:
        """Let all that it writes count as written."""
        for n in self._writing:
            self._shadow.mark(self._fields[n], np.ones_like(self._before[n]))
        self._shadow.move(self._step.scatter)

    def run(self, *, looks: bool, is_first: bool, has_workers: bool) -> None:
        """Run it.

        Args:
            looks: whether its vertices may run more than once.
            is_first: whether it has not run before.
            has_workers: whether some of them are MultiVertex.

        Raises:
            PopliteError: what was found, or what the vertices raise; memory is then as before.
        """
        step, before = self._step, self._before
        holes = {n: ~known for n, known in enumerate(before) if not known.all()}
        self._launch(*([GATHER] if len(step.gather.records) else []), SAVE, COUNT)
        self._old = {n: self._get(n) for n in {*self._writing, *holes}}
        self._runner.set_returned(self._place.step, [True] * len(self._arena.parts))
        written = {n: np.ones_like(before[n]) for n in self._writing}
        try:
            self._launch(COMPUTE)
            self._result = {n: self._get(n) for n in self._writing}
            self._returned = self._runner.returned(self._place.step)
            if looks and holes:
                written = self._look_at_holes(holes)
            if looks and is_first:
                self._look_at_outputs()
            if looks and has_workers:
                self._look_at_workers()
        except BaseException:
            self._put(self._old)
            raise
        for n, known in written.items():
            self.is_lossy |= bool((before[n] & ~known).any())
            self._shadow.mark(self._fields[n], known)
        self.is_lossy |= self._shadow.move(step.scatter).is_lossy
        after = {**dict(enumerate(before)), **written}
        self.is_complete = all(bool(known.all()) for known in after.values())
        try:
            self._finish()
        except BaseException:  # KeyboardInterrupt: what has begun comes to its end
            self._finish()
            raise

    def _finish(self) -> None:
        """Make memory what it is after the first run."""
        self._put(self._result)
        if len(self._step.scatter.records):
            self._launch(SCATTER)

    def _launch(self, *phases: int) -> None:
        self._runner.run_launches(self._place.launches(*phases))

    # -- memory ------------------------------------------------------------------------------

    def _get(self, n: int) -> Bits:
        """Return uint[replicas, elements], what the elements of a field hold."""
        field = self._fields[n]
        return np.stack([bits(p, field.size)[field.elements] for p in self._arena.parts])

    def _put(self, values: Mapping[int, Bits]) -> None:
        for n, rows in values.items():
            field = self._fields[n]
            for part, row in zip(self._arena.parts, rows, strict=True):
                bits(part, field.size)[field.elements] = row

    def _again(self, chosen: Masks, fill: Fill = "first", phase: int = COMPUTE) -> _Outcome:
        """Run the vertices with other values in some elements; put memory back afterwards."""
        self.runs_again += 1
        self._put(self._old)
        for n, mask in chosen.items():
            field = self._fields[n]
            for part, own, new in zip(self._arena.parts, mask, self._filled(n, fill), strict=True):
                bits(part, field.size)[field.elements[own]] = new[own]
        try:
            self._runner.set_returned(self._place.step, [True] * len(self._returned))
            self._launch(phase)
            if phase == COMPUTE and self._runner.returned(self._place.step) != self._returned:
                return PopliteError("compute returns another value")
            return {n: self._get(n) for n in self._writing}
        except PopliteError as error:
            return error
        finally:
            self._put(self._old)
            self._runner.set_returned(self._place.step, self._returned)

    def _filled(self, n: int, fill: Fill) -> Bits:
        return filled(self._fields[n].field.element, fill, self._old[n])

    def _kept(self, n: int, chosen: Masks, fill: Fill, result: Bits) -> Mask:
        """Return which elements still hold the other value, as they held the old one before."""
        if n not in chosen:
            return np.zeros_like(result, np.bool_)
        is_old = self._result[n] == self._old[n]
        return np.asarray(chosen[n] & is_old & (result == self._filled(n, fill)))

    # -- what nothing has written --------------------------------------------------------------

    def _look_at_holes(self, holes: Masks) -> dict[int, Mask]:
        """Return which results are written; the others are still holes, or passed on from some."""
        runs = self._without(holes)
        if isinstance(runs, PopliteError):
            raise self._blamed(holes, runs)
        old = np.unique(np.concatenate([self._old[n][mask] for n, mask in holes.items()]))
        found = {}
        for n in self._writing:
            results = [run[n] for run in runs]
            written = np.all([self._result[n] == result for result in results], axis=0)
            pairs = zip(FILLS, results, strict=False)
            is_hole = np.all([self._kept(n, holes, *pair) for pair in pairs], axis=0)
            if len(runs) == len(FILLS):
                element = self._fields[n].field.element
                is_hole |= is_passed_on(element, old, self._result[n], results)
            if (bad := ~(written | is_hole)).any():
                replica, number = np.argwhere(bad)[0].tolist()
                raise self._blamed(holes, (n, replica, number))
            found[n] = written
        return found

    def _without(self, holes: Masks) -> list[Results] | PopliteError:
        """Run with other values in the holes: twice, unless all are Outputs, which are not read."""
        is_read = any(self._fields[n].field.reads for n in holes)
        runs: list[Results] = []
        for fill in FILLS if is_read else FILLS[:1]:
            outcome = self._again(holes, fill)
            if isinstance(outcome, PopliteError):
                return outcome
            runs.append(outcome)
        return runs

    def _blamed(
        self, holes: Masks, changed: tuple[int, int, int] | PopliteError
    ) -> UninitializedReadError:
        """Return the error of the first hole that a result depends on, found by halving."""
        order = [n for n in holes if self._fields[n].field.reads]
        parts = [(np.full(holes[n].sum(), n), *np.nonzero(holes[n])) for n in order]
        fields, replicas, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))

        def matters(count: int) -> bool:
            """Tell whether the result changes with the first holes alone."""
            some = {n: np.zeros_like(holes[n]) for n in order}
            for n in order:
                own = fields[:count] == n
                some[n][replicas[:count][own], numbers[:count][own]] = True
            runs = self._without(some)
            if isinstance(runs, PopliteError) or isinstance(changed, PopliteError):
                return isinstance(runs, PopliteError)
            n, *place = changed
            return any(run[n][*place] != self._result[n][*place] for run in runs)

        low, high = 0, len(fields)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if matters(middle) else (middle, high)
        n, number, there = int(fields[low]), int(numbers[low]), int(replicas[low])
        count = int(holes[n].any(axis=0).sum())
        if isinstance(changed, PopliteError):
            why = f"with another value there: {changed.what}"
            return self._place.needed_hole(self._fields[n], number, there, count, why)
        result, replica, at = changed
        value = self._value(result, self._result[result][replica, at])
        why = self._place.dependent(self._fields[result], at, value)
        vertex = self._fields[result].vertex_of(at)
        return self._place.needed_hole(*self._same(n, number, vertex), there, count, why)

    def _same(self, n: int, number: int, vertex: int) -> tuple[Touched, int]:
        """Return an element as a vertex calls it, to which another may be connected as well."""
        field = self._fields[n]
        element = field.elements[number]
        for other in self._fields:
            if other.size == field.size:
                for found in np.flatnonzero(other.elements == element).tolist():
                    if other.vertex_of(found) == vertex:
                        return other, found
        return field, number

    def _value(self, n: int, stored: Any) -> str:
        return str(np.array(stored).view(self._fields[n].field.element.dtype)[()])

    # -- what is kept, and who races -----------------------------------------------------------

    def _look_at_outputs(self) -> None:
        """Tell of Outputs that keep what they held."""
        outputs = (n for n in self._writing if not self._fields[n].field.reads)
        chosen = {n: self._before[n] for n in outputs if self._before[n].any()}
        if not chosen:
            return
        outcome = self._again(chosen, "output")
        assert not isinstance(outcome, PopliteError), "compute never reads an Output"
        for n in chosen:
            kept = np.asarray(self._kept(n, chosen, "output", outcome[n]).any(axis=0))
            if kept.any():
                self.warnings.append(self._place.kept_output(self._fields[n], kept))

    def _look_at_workers(self) -> None:
        outcome = self._again({}, phase=FALLING)
        if isinstance(outcome, PopliteError):
            raise self._place.falling_fault(outcome)
        for n, result in outcome.items():
            if (differs := result != self._result[n]).any():
                replica, number = np.argwhere(differs)[0].tolist()
                values = (
                    self._value(n, each[replica, number]) for each in (self._result[n], result)
                )
                count = int(differs.any(axis=0).sum())
                raise self._place.worker_race(self._fields[n], number, replica, count, *values)
