"""Checked executions of a compute set, whose vertices run more than once.

    gather, save, count    as always
    vertices               the actual run; workers log accesses             -> do workers race?
    vertices, again        with different values in unwritten elements      -> are these needed?
    vertices, again        with different values in Outputs, the first time -> are they unwritten?
    vertices, again        in the user's faster forms, the first time       -> equal results?
    scatter                memory is then as after the first run

Unwritten connected elements are harmless as long as no result depends on them: a vertex may pass
them on, and the copies are then unwritten as well.

All of these runs execute `compute`, except the run with faster forms.

Between the runs, kernels save, change and compare elements. Python examines single elements only
after a fault.

With different values a vertex might never end. Only a `while` loop may run forever, and compiled
code cannot be stopped in such a loop::

    while i != self.n: i += 2      ends for n = 0, the value in memory, but never for n = 75

Before vertices with such loops run with different values, those that read any of the changed
elements run in Python, which counts iterations. The vertices of the library end for all values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import PopliteError, PopliteWarning, UninitializedReadError
from poplite.executable import encoding as op
from poplite.executable.encoding import Code
from poplite.executable.parts import ComputeStep
from poplite.jit.build import BoundKernel
from poplite.jit.kernels_written import (
    DEPENDENT,
    INCOMPLETE,
    LOSSY,
    PASSED,
    WRITTEN,
    clear_log,
    count_conflicts,
)
from poplite.simulator.run.arena import Arena, Floats
from poplite.simulator.run.binding import is_of_library, is_put_off
from poplite.simulator.run.interpreted_vertices import Values, described
from poplite.simulator.run.touched import FieldElements, edges_of, elements_of, numbers_and_rows
from poplite.simulator.running import Peers
from poplite.simulator.strict.error_texts import ProgramRow
from poplite.simulator.strict.looks import (
    FILLS,
    OUTPUT,
    CompiledLook,
    ElementTable,
    Kernels,
    LaunchOf,
    Mask,
    MovedRows,
    filled,
    move_rows,
    plan_of_rows,
    plan_of_runs,
    trusting_plan,
)
from poplite.simulator.strict.shadow import Shadow
from poplite.vertex.compute.interpret import MOST_TURNS, TooManyTurns
from poplite.vertex.compute.interpreted_fields import InterpretedSelf
from poplite.vertex.compute.meaning import FasterForms, meaning_of
from poplite.vertex.vertex import MultiVertex, Vertex

TURNS, ELEMENTS_PER_TURN = 256, 256
"""For vertices that move rows: the minimum number of executions between two counts of the unwritten
bytes of their tables, and the number of elements that adds one execution to it. The cost of an
execution thus does not grow with the tables."""


_NONE = np.zeros(0, np.int64)


class Runner(Protocol):
    """A program, for code that runs during it."""

    def run_launches(self, code: Code) -> None:
        """Run launches that are given as a program."""

    def returned(self, step: int) -> list[bool]:
        """Return, for each replica, whether no vertex of a compute set returned false."""

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Set the result of the vertices of a compute set, for each replica."""


class Replay:
    """A compute set that is checked.

    Attributes:
        size: the number of elements that it accesses, in all replicas.
        has_workers: whether it has elements that workers share, whose accesses are checked.
        looks_first: whether its first execution is always checked: it has Outputs, or faster forms
            to be compared.
        runs_again: how often its vertices ran again in the last execution.
        is_complete: whether all elements that it accesses are written, before an execution or, once
            it has run, afterwards.
        is_lossy: whether elements became unwritten since the caller reset this attribute.
        has_run: whether an execution was completed since the caller reset this attribute, even if
            an error followed.
        warnings: the warnings to be shown.
    """

    def __init__(
        self,
        step: ComputeStep,
        arena: Arena,
        shadow: Shadow,
        forms: FasterForms,
        *,
        runs_once: bool,
        peers: Peers | None = None,
    ) -> None:
        self._looks, self._peers = not runs_once, peers
        self._step, self._arena, self._shadow = step, arena, shadow
        self._gather, self._scatter = shadow.moving(step.gather), shadow.moving(step.scatter)
        self._edges = edges_of(step)
        self.size = len(arena.parts) * sum(int(rows.length.sum()) for _, rows in self._edges)
        classes = dict.fromkeys(group.cls for group in step.groups)
        self._forms = {cls: forms[cls] for cls in classes if cls in forms}
        self._compared = {cls: f for cls, f in self._forms.items() if not is_put_off(f)}
        has_outputs = any(not rows.field.reads for _, rows in self._edges)
        self.looks_first = self._looks and (has_outputs or bool(self._compared))
        # Most vertices return nothing, so no result needs to be restored.
        self._returns = any(meaning_of(cls).returns for cls in classes)
        self._returned = self._all_true = [True] * len(arena.parts)
        self._log = arena.accesses
        self.has_workers = any(
            rows.field.writes and issubclass(cls, MultiVertex) for cls, rows in self._edges
        )
        self._vertices = op.DEFINED if self._forms or self.has_workers else op.COMPUTE
        self._moves_rows = peers is None and move_rows(step) and self._rows.are_sound
        self._turns = self._lacking = (
            0  # executions until unwritten bytes are counted; the number of unwritten bytes
        )
        self.is_complete = self.is_lossy = self.has_run = False
        # The elements that the last execution passed on, and the looks at its table.
        self._passed: tuple[object, tuple[Int64, Int64]] | None = None

    # For vertices that move rows, these are needed only after a fault.

    @cached_property
    def _fields(self) -> list[FieldElements]:
        return [elements_of(cls, rows) for cls, rows in self._edges]

    @cached_property
    def _table(self) -> ElementTable:
        return ElementTable(self._fields, self._arena, self._shadow)

    @cached_property
    def _loops(self) -> WhileLoops:
        return WhileLoops(self._step, self._arena)

    @cached_property
    def _writing(self) -> list[int]:
        return [n for n, each in enumerate(self._fields) if each.field.writes]

    @cached_property
    def _outputs(self) -> list[int]:
        return [n for n in self._writing if not self._fields[n].field.reads]

    @cached_property
    def _shared(self) -> dict[int, npt.NDArray[np.int64]]:
        """The bytes of elements that workers share, by field number."""
        parts = len(self._arena.parts)
        begins = self._arena.layout.size_bytes * np.arange(parts)[:, np.newaxis]
        return {
            n: begins + self._fields[n].elements * self._fields[n].size
            for n in self._writing
            if issubclass(self._fields[n].cls, MultiVertex)
        }

    @cached_property
    def _logs(self) -> tuple[list[BoundKernel], list[BoundKernel]]:
        """The kernels that clear the log of these elements, and count conflicts."""
        places = [each.ravel() for each in self._shared.values()]
        kinds = clear_log, count_conflicts
        clear, count = (
            [BoundKernel(kind, self._log.words, each, len(each)) for each in places]
            for kind in kinds
        )
        return clear, count

    @cached_property
    def _rows(self) -> MovedRows:
        return MovedRows(self._step, self._arena, self._shadow)

    def run_by_rows(self, place: ProgramRow, runner: Runner, *, is_first: bool) -> bool:
        """Run vertices once if they move only written rows; return whether they ran.

        Returns False if all tables are written, which `run` detects.
        """
        if not self._moves_rows or (is_first and self.looks_first):
            return False
        self._place, self._runner = place, runner
        self._gather()
        if 0 in (self._turns, self._lacking):  # other steps also change the written data
            self._turns = TURNS + self.size // ELEMENTS_PER_TURN
            self._lacking = self._rows.count_holes()
        if self._lacking == 0:
            return False
        if self._gather.calls:
            self._launch(op.GATHER)
        if not self._rows.are_written():
            return False
        self._turns -= 1
        self._rows.keep()
        try:
            self._launch(*(each for each in self._phases if each not in (op.GATHER, op.SCATTER)))
            self.has_run = True
            self._finish_rows()
        except BaseException:
            self._leave(self._rows.undo, self._finish_rows)
            raise
        return True

    def _finish_rows(self) -> None:
        self._lacking = max(0, self._lacking - self._rows.write())
        self.is_lossy |= not self._rows.are_at_home and bool(self._scatter() & LOSSY)
        if self._scatter.calls:
            self._launch(op.SCATTER)

    def _leave(self, undo: Callable[[], object], finish: Callable[[], object]) -> None:
        """Complete or undo an execution that was ended by an error or Ctrl-C."""
        if self.has_run:
            finish()
            self.is_lossy = True  # the safe assumption
            self.recount()
        else:
            undo()

    def compile_look(
        self, place: ProgramRow, launch_of: LaunchOf, *, is_trusted: bool
    ) -> CompiledLook | None:
        """Return the compiled check that can replace Python's check at `place`, if any."""
        if not self._looks or self._returns:
            return None
        self._place = place
        moving: tuple[Kernels, Kernels] = (self._gather.calls, self._scatter.calls)
        if self._moves_rows:
            moving = ((), ()) if self._rows.are_at_home else moving
            plan = plan_of_rows(self._rows, self._phases, *moving)
        elif is_trusted:
            plan = trusting_plan(self._table, *moving)
        else:
            logs = self._logs if self.has_workers else ((), ())
            plan = plan_of_runs(self._table, logs, self._vertices, self._phases, *moving)
        return CompiledLook(plan, launch_of, self._phases[0])

    @property
    def _phases(self) -> list[int]:
        """The phases of the step, except the sum of slots."""
        place = self._place
        phases: list[int] = place.code.ops[place.row : place.end, 2].tolist()
        return phases

    @property
    def looks_by_rows(self) -> int:
        """The number of compiled checks of rows before the whole table is checked."""
        return TURNS + self.size // ELEMENTS_PER_TURN if self._moves_rows else 0

    def recount(self) -> None:
        """Check the whole table the next time, since compiled code has checked its rows."""
        self._turns = 0

    def begin(self, place: ProgramRow, runner: Runner) -> None:
        """Check which data are written before an execution at `place`."""
        self._place, self._runner, self._number = place, runner, place.step
        self.runs_again = self._runs_on_ranks = 0
        self.warnings: list[PopliteWarning] = []
        self._gather()
        # A table that was not needed before is not made as long as all elements are written.
        has_table = not self._moves_rows or "_table" in vars(self)
        self._runs = self._table.find_holes() if has_table or self._rows.count_holes() else 0
        self.is_complete = not self._runs

    @property
    def runs_on_ranks(self) -> int:
        """How often vertices ran again, on the rank on which they did so most often."""
        return max(self.runs_again, self._runs_on_ranks)

    def trust(self) -> None:
        """Mark all elements that it writes as written."""
        self._table.expect_written()
        self._table.mark()
        self._scatter()
        self._runs = 0

    def run(self, *, is_first: bool) -> None:
        """Run it, for the first time or again; raise faults after restoring memory."""
        table = self._table
        if self._gather.calls:
            self._launch(op.GATHER)
        table.take_old()
        self._set_returned(self._all_true)
        table.expect_written()
        try:
            self._in_agreement(is_first=is_first)
            self.has_run = True
            self._finish()
        except BaseException:
            self._leave(table.put_old, self._finish)
            raise

    def run_for_outputs(self) -> dict[int, Mask]:
        """Run it, and return which unwritten Outputs were left unwritten.

        The result contains a mask, bool[replicas, elements], by field number.
        """
        table = self._table
        chosen = np.zeros_like(table.holes)
        for n in self._outputs:
            chosen[:, table.parts[n]] = table.holes[:, table.parts[n]]
        self._launch(op.GATHER)
        table.take_old()
        self._set_returned(self._all_true)
        self._launch(op.SAVE, op.COUNT, self._vertices)
        table.take_result()
        if self._returns:
            self._returned = self._runner.returned(self._number)
        kept = self._kept_outputs(chosen)
        table.put_result()
        self._set_returned(self._returned)
        self._launch(op.SCATTER)
        return kept

    @property
    def has_unwritten_outputs(self) -> bool:
        """Whether vertices that may run again have unwritten Outputs."""
        holes, parts = self._table.holes, self._table.parts
        return self._looks and any(holes[:, parts[n]].any() for n in self._outputs)

    def _in_agreement(self, *, is_first: bool) -> None:
        """Run and check the vertices; a fault on one rank is raised on all."""
        if self._peers is None:
            self._run_and_look(is_first=is_first)
            return
        error: Exception | None = None
        try:
            self._run_and_look(is_first=is_first)
        except Exception as found:  # raised once all ranks know
            error = found
        error, self._runs_on_ranks = self._peers.agreed(error, self.runs_again)
        if error is not None:
            raise error

    def _run_and_look(self, *, is_first: bool) -> None:
        """Run the vertices, and again if checks require it; raise faults."""
        is_filled = self._looks and self._runs == 1 and not is_first
        if is_filled and self._fills_all():
            return
        self._run_once()
        if self._looks and self._runs:
            self._look_at_holes(is_filled=is_filled)
        if self._looks and is_first:
            self._look_at_outputs()
            self._look_at_forms()

    def _run_once(self) -> None:
        """Run the vertices, and check their workers."""
        for places in self._shared.values():
            self._log.clear(places)
        self._launch(op.SAVE, op.COUNT, self._vertices)
        self._table.take_result()
        if self._returns:
            self._returned = self._runner.returned(self._number)
        if self.has_workers:
            self._look_at_workers()

    def _fills_all(self) -> bool:
        """Run with different values in unwritten Outputs; return whether no such value remains.

        If none remain, no more checks are needed, since vertices do not read Outputs. Otherwise
        this was the run with different values, and memory is as before.
        """
        self._table.put_in_holes[0]()
        self._run_once()
        if not self._table.count_kept():
            return True
        self.runs_again += 1
        self._table.take_other[0]()
        self._table.put_old()
        self._set_returned(self._all_true)
        return False

    def _finish(self) -> None:
        """Record the written data, and restore memory to its state after the first run."""
        flags = self._table.mark()
        self.is_complete = not flags & INCOMPLETE
        self.is_lossy |= bool((flags | self._scatter()) & LOSSY)
        if self.runs_again:
            self._table.put_result()
            self._set_returned(self._returned)
        if self._scatter.calls:
            self._launch(op.SCATTER)

    def _launch(self, *phases: int) -> None:
        self._runner.run_launches(self._place.launches(*phases))

    def _set_returned(self, returned: Sequence[bool]) -> None:
        if self._returns:
            self._runner.set_returned(self._number, returned)

    def _again(
        self, number: int, put_other: Callable[[], object] | None, phase: int | None = None
    ) -> PopliteError | None:
        """Run the vertices after a change of their memory; return the error that they raise.

        Their results are in memory, and in the table's `others` at index `number`.
        """
        table = self._table
        self.runs_again += 1
        table.put_old()
        if put_other is not None:
            put_other()
            if self._goes_on(put_other):
                return PopliteError(
                    f"compute does not end within {MOST_TURNS:,} iterations", at=None
                )
        try:
            self._set_returned(self._all_true)
            self._launch(self._vertices if phase is None else phase)
            if self._returns and self._runner.returned(self._number) != self._returned:
                return PopliteError("compute returns a different value", at=None)
        except PopliteError as error:
            return error
        table.take_other[number]()
        return None

    def _goes_on(self, put_other: Callable[[], object]) -> bool:
        """Return whether vertices would never end after a change of memory, which is kept.

        Vertices that also take very long without the change may continue.
        """
        if not self._loops.classes:
            return False
        table, places = self._table, self._with_holes()
        while places and (place := self._loops.first_endless(places)) is not None:
            table.put_old()
            takes_long = self._loops.first_endless({place}) is not None
            table.put_old()
            put_other()
            if not takes_long:
                return True
            places.remove(place)
        if places:
            table.put_old()
            put_other()
        return False

    def _with_holes(self) -> set[Place]:
        """Return the vertices with `while` loops that read unwritten elements."""
        holes, found = self._table.holes, set[Place]()
        for field, part in zip(self._fields, self._table.parts, strict=True):
            if field.field.reads and field.cls in self._loops.classes:
                replicas, numbers = np.nonzero(holes[:, part])
                found.update(
                    (replica, field.vertex_of(number))
                    for replica, number in zip(replicas.tolist(), numbers.tolist(), strict=True)
                )
        return found

    # -- unwritten elements ------------------------------------------------------------------------

    def _look_at_holes(self, *, is_filled: bool) -> None:
        """Find which results are written; the others are holes, or passed on from holes.

        With `is_filled`, the run with different values has been made, by filling Outputs.
        """
        changes = () if is_filled else self._table.put_in_holes[: self._runs]
        error = self._without(changes)
        if error is not None:
            raise self._blamed(error)
        if not self._table.judge(self._runs):
            for n in self._writing:
                bad = self._table.found[:, self._table.parts[n]] == DEPENDENT
                if bad.any():
                    replica, number = np.argwhere(bad)[0].tolist()
                    raise self._blamed((n, replica, number))

    def _without(self, changes: Sequence[Callable[[], object]]) -> PopliteError | None:
        """Run with different values in holes: twice, unless all are Outputs, which are not read."""
        for number, put_other in enumerate(changes):
            error = self._again(number, put_other)
            if error is not None:
                return error
        return None

    def _blamed(self, changed: tuple[int, int, int] | PopliteError) -> UninitializedReadError:
        """Return the error for the first hole that a result depends on, found by bisection."""
        table = self._table
        # Outputs last, as codelets in C++ can read them, but are not meant to.
        order = [n for n, each in enumerate(self._fields) if each.field.reads]
        order += [
            n for n in self._outputs if not meaning_of(self._fields[n].cls).writes_outputs_only
        ]
        found = [np.nonzero(table.holes[:, table.parts[n]]) for n in order]
        replicas, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        fields = np.repeat(order, [len(own) for own, _ in found])
        places = np.array([part.start for part in table.parts])[fields] + numbers

        def matters(count: int) -> bool:
            """Return whether the result changes with only the first holes."""
            some = np.zeros_like(table.holes)
            some[replicas[:count], places[:count]] = True
            error = self._without([partial(table.put_other, some, each) for each in FILLS])
            if error is not None or isinstance(changed, PopliteError):
                return error is not None
            n, replica, number = changed
            at = replica, table.parts[n].start + number
            return any(other[at] != table.result[at] for other in table.others)

        low, high = 0, len(fields)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if matters(middle) else (middle, high)
        n, number, there = int(fields[low]), int(numbers[low]), int(replicas[low])
        count = int(table.holes[:, table.parts[n]].any(axis=0).sum())
        if isinstance(changed, PopliteError):
            why = f"with a different value there: {changed.what}"
            return self._place.needed_hole(self._fields[n], number, there, count, why)
        result, replica, at = changed
        value = self._value(result, table.result[replica, table.parts[result].start + at])
        why = self._place.dependent(self._fields[result], at, value)
        vertex = self._fields[result].vertex_of(at)
        return self._place.needed_hole(*self._same(n, number, vertex), there, count, why)

    def _same(self, n: int, number: int, vertex: int) -> tuple[FieldElements, int]:
        """Return an element through the field by which a vertex accesses it."""
        field = self._fields[n]
        element = field.elements[number]
        for other in self._fields:
            if other.size == field.size:
                for found in np.flatnonzero(other.elements == element).tolist():
                    if other.vertex_of(found) == vertex:
                        return other, found
        return field, number

    def _value(self, n: int, stored: np.int64) -> str:
        element = self._fields[n].field.element
        value = np.array(stored).astype(f"u{element.size_bytes}").view(element.dtype)
        return str(value[()])

    def passed_on(self) -> tuple[Int64, Int64]:
        """Return the results that have unwritten elements, and the unwritten elements read.

        Both are given by first bytes; of the elements that vertices read, there is one for each
        edge. Results that retain their previous values are omitted, except those of Outputs. If
        they equal those of the previous execution, the same arrays are returned.
        """
        if self._runs < 2:  # vertices did not run with other values
            return _NONE, _NONE
        seen = self._table.found.tobytes(), self._table.holes.tobytes()
        if self._passed is None or self._passed[0] != seen:  # most executions pass on the same
            found = self._newly_passed_on()
            if self._passed is not None and all(map(np.array_equal, found, self._passed[1])):
                found = self._passed[1]
            self._passed = seen, found
        return self._passed[1]

    def _newly_passed_on(self) -> tuple[Int64, Int64]:
        """Return the results of `passed_on` for the current table."""
        table, results, holes = self._table, [_NONE], [_NONE]
        for field, part in zip(self._fields, table.parts, strict=True):
            places, was = field.elements * field.size, table.holes[:, part]
            if field.field.writes:
                found = table.found[:, part]
                lacks = found == PASSED if field.field.reads else found != WRITTEN
                results.append(places[lacks.any(axis=0)])
            if field.field.reads:
                numbers = np.flatnonzero(was.any(axis=0))
                edges = np.searchsorted(field.end, numbers, side="right")
                holes.append(places[numbers[np.unique(edges, return_index=True)[1]]])
        return np.concatenate(results), np.concatenate(holes)

    # -- kept Outputs, faster forms, races ---------------------------------------------------------

    def _look_at_outputs(self) -> None:
        """Warn of Outputs that were written and retain their old values."""
        written = {n: ~self._table.holes[:, self._table.parts[n]] for n in self._outputs}
        is_compared = bool(written and self._compared)
        if not is_compared and not any(each.any() for each in written.values()):
            return
        for n, kept in self._kept_outputs(self._all_outputs).items():
            kept &= written[n]
            if kept.any():
                self.warnings.append(
                    self._place.kept_output(self._fields[n], np.asarray(kept.any(axis=0)))
                )

    @property
    def _all_outputs(self) -> Mask:
        """Return which elements belong to Outputs."""
        chosen = np.zeros_like(self._table.holes)
        for n in self._outputs:
            chosen[:, self._table.parts[n]] = True
        return chosen

    def _kept_outputs(self, chosen: Mask) -> dict[int, Mask]:
        """Run with different values in chosen elements of Outputs; return the retained ones.

        Raises the error for a `compute` that reads them, which only C++ codelets can.
        """
        table, found = self._table, {}
        error = self._again(0, partial(table.put_other, chosen, OUTPUT))
        if error is not None:
            n = self._outputs[0]
            raise self._place.read_output(self._fields[n], 0, f"with other values: {error.what}")
        for n in self._outputs:
            part = table.parts[n]
            old, result, other = (
                each[:, part] for each in (table.old, table.result, table.others[0])
            )
            is_kept = (result == old) & (
                other == filled(self._fields[n].field.element, OUTPUT, old)
            )
            found[n] = np.asarray(chosen[:, part] & is_kept)
        self._refuse_reads_of_outputs(found)
        return found

    def _refuse_reads_of_outputs(self, kept: dict[int, Mask]) -> None:
        """Raise an error if a result changed with Outputs, other than those that were retained."""
        table = self._table
        for n in self._writing:
            part = table.parts[n]
            differs = table.result[:, part] != table.others[0][:, part]
            if n in kept:
                differs &= ~kept[n]
            if differs.any():
                _, number = np.argwhere(differs)[0].tolist()
                why = "it changes with the values that were there before"
                raise self._place.read_output(self._fields[n], number, why)

    def _look_at_forms(self) -> None:
        """Compare the faster forms with the definitions, with different values in Outputs.

        Outputs are zero before a first run, so a form that adds to them would appear correct.
        """
        if not self._compared:
            return
        table, defined, put_other = self._table, self._table.result, None
        if self._outputs:  # `compute` has run with the same values in Outputs
            defined = table.others[0]
            put_other = partial(table.put_other, self._all_outputs, OUTPUT)
        error = self._again(1, put_other, op.COMPUTE)
        if error is not None:
            raise self._place.faster_fault(list(self._compared.values()), error)
        for n in self._writing:
            field, part = self._fields[n], table.parts[n]
            if (form := self._compared.get(field.cls)) is None:
                continue
            kind, dtype = f"u{field.size}", field.field.element.dtype
            before = filled(field.field.element, OUTPUT, table.old[:, part])
            values = defined[:, part], table.others[1][:, part], before
            results = [each.astype(kind).view(dtype) for each in values]
            differs = differing(results[0], results[1], form.rtol)
            if differs.any():
                replica, number = np.argwhere(differs)[0].tolist()
                texts = [str(each[replica, number]) for each in results]
                count = int(differs.any(axis=0).sum())
                raise self._place.other_form(form, field, number, replica, count, *texts)

    def _look_at_workers(self) -> None:
        """Raise the error for a conflict between workers at an element, if there is one."""
        for n, places in self._shared.items():
            wrong = self._log.conflicts(places)
            if wrong.any():
                replica, number = np.argwhere(wrong)[0].tolist()
                found = self._log.conflict(int(places[replica, number]))
                count = int(wrong.any(axis=0).sum())
                raise self._place.worker_race(self._fields[n], number, replica, count, found)


def differing(
    defined: npt.NDArray[Any], faster: npt.NDArray[Any], rtol: float
) -> npt.NDArray[np.bool_]:
    """Return a mask of the results whose faster form differs by more than the tolerance.

    NaN payloads are not significant: the NaN that an addition of two returns depends on the
    processor.

    >>> nan, zero = np.float32(np.nan), np.float32(0)
    >>> differing(np.array([nan, zero]), np.array([-nan, -zero]), 0.0).tolist()
    [False, True]
    """
    if defined.dtype.kind != "f":
        return np.asarray(defined != faster)
    if rtol:
        with np.errstate(invalid="ignore"):
            is_close = np.isclose(faster, defined, rtol=rtol, atol=0.0, equal_nan=True)
        return np.asarray(~is_close)
    bits = f"u{defined.itemsize}"
    are_nan = np.isnan(defined) & np.isnan(faster)
    return np.asarray((defined.view(bits) != faster.view(bits)) & ~are_nan)


# -- vertices that may not end ---------------------------------------------------------------------


Place = tuple[int, int]
"""The replica of a vertex, and its position in the compute set."""


class WhileLoops:
    """The vertices of a compute set that may never end."""

    def __init__(self, step: ComputeStep, arena: Arena) -> None:
        self._arena = arena
        self._groups = [
            (group, numbers_and_rows(group, with_state=True))
            for group in step.groups
            if meaning_of(group.cls).flow.may_not_end and not is_of_library(group.cls)
        ]
        self.classes = {group.cls for group, _ in self._groups}

    def first_endless(self, places: Collection[Place]) -> Place | None:
        """Run the vertices at `places`; return the first with too many iterations, if any."""
        for replica, memory in enumerate(self._arena.parts):
            for group, rows in self._groups:
                for number, values in described(group, memory, rows=rows):
                    place = replica, number
                    if place in places and _goes_on(group.cls, values, number, self._arena.floats):
                        return place
        return None


def _goes_on(cls: type[Vertex], values: Values, number: int, floats: Floats) -> bool:
    """Run a vertex; return whether it makes too many iterations."""
    form, turns = meaning_of(cls).bounded()
    turns.reset()
    try:
        with np.errstate(all="ignore"):
            vertex = InterpretedSelf(cls, values, floats.stores(number, 0))
            if not issubclass(cls, MultiVertex):
                form(vertex)
                return False
            for worker in range(vertex.num_workers):
                form(InterpretedSelf(cls, values, floats.stores(number, worker)), worker)
    except TooManyTurns:
        return True
    except Exception:
        return False  # the compiled form also stops
    return False
