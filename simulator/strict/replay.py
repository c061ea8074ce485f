"""Executions of a compute set that are looked at: its vertices run more than once.

    gather, save, count    as always
    vertices               the result that counts
    vertices, again        with other values where nothing was written      -> are they needed?
    vertices, again        with other values in Outputs, the first time     -> who keeps them?
    vertices, again        in their faster forms, the first time            -> the same results?
    vertices, again        workers in falling order, of MultiVertex classes -> who races?
    vertices, again        each worker by itself, now and then              -> who reads of others?
    scatter                memory is then what it is after the first run

Connected elements that were not written change nothing as long as no result depends on them: a
vertex may be connected to them, and may pass them on, which leaves them unwritten.

All of them run `compute`, except for that of faster forms.

Between the runs kernels save, change and compare elements.  Python looks at single ones only when
something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Protocol

import numpy as np

from poplite.errors import PopliteError, PopliteWarning, UninitializedReadError
from poplite.executable import opcodes as op
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep
from poplite.jit.kernels.written import DEPENDENT, INCOMPLETE, LOSSY
from poplite.simulator.peers import Peers
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.faster_forms import Forms, differing
from poplite.simulator.run.touched import Touched, touched
from poplite.simulator.strict.element_table import ElementTable
from poplite.simulator.strict.messages import Place
from poplite.simulator.strict.patterns import FILLS, OUTPUT, Mask, Values, filled
from poplite.simulator.strict.shadow import Shadow
from poplite.vertex.compute import check
from poplite.vertex.vertex import MultiVertex


class Runner(Protocol):
    """A program, as seen by what runs in the middle of it."""

    def run_launches(self, code: Code) -> None:
        """Run a few launches, written as a program."""

    def choose_worker(self, step: int, worker: int | None) -> None:
        """Let FALLING run one worker of each MultiVertex of a step only; None for all again."""

    def returned(self, step: int) -> list[bool]:
        """Tell for each replica whether no vertex of a compute set returned false."""

    def set_returned(self, step: int, returned: Sequence[bool]) -> None:
        """Set what the vertices of a compute set returned, for each replica."""


class Replay:
    """A compute set that is looked at.

    Attributes:
        size: how many elements it touches, in all replicas.
        has_workers: whether the order of workers is looked at, each time.
        looks_first: whether its first execution is looked at in any case: it has Outputs, or faster
            forms.
        runs_again: how often its vertices ran again, in the last execution.
        is_complete: whether all elements that it touches are written: at first before it runs,
            then afterwards.
        is_lossy: whether something became unwritten.
        warnings: to be shown.
    """

    def __init__(
        self,
        step: ComputeStep,
        arena: Arena,
        shadow: Shadow,
        forms: Forms,
        *,
        runs_once: bool,
        workers: int = 1,
        peers: Peers | None = None,
    ) -> None:
        self._looks, self._peers = not runs_once, peers
        self._fields = touched(step)
        self._table = ElementTable(self._fields, arena, shadow)
        self._gather, self._scatter = shadow.moving(step.gather), shadow.moving(step.scatter)
        self._writing = [n for n, each in enumerate(self._fields) if each.field.writes]
        self._outputs = [n for n in self._writing if not self._fields[n].field.reads]
        classes = {group.cls for group in step.groups}
        self.has_workers = self._looks and any(issubclass(cls, MultiVertex) for cls in classes)
        self._forms = {cls: forms[cls] for cls in classes if cls in forms}
        self._vertices = op.DEFINED if self._forms else op.COMPUTE
        has_outputs = any(not each.field.reads for each in self._fields)
        self.looks_first = self._looks and (has_outputs or bool(self._forms))
        # Most vertices return nothing, so that there is nothing to restore.
        self._returns = any(check(cls).result is not None for cls in classes)
        self._returned = self._all_true = [True] * len(arena.parts)
        self._workers, self._executions = workers, 0
        self.size = self._table.holes.size

    def begin(self, place: Place, runner: Runner) -> None:
        """Look at what is written before an execution at `place`."""
        self._place, self._runner, self._number = place, runner, place.step
        self.runs_again = self._runs_on_ranks = 0
        self.is_lossy = False
        self.warnings: list[PopliteWarning] = []
        self._gather()
        self._runs = self._table.find_holes()
        self.is_complete = not self._runs

    @property
    def runs_on_ranks(self) -> int:
        """How often vertices ran again, on the rank where they did so most."""
        return max(self.runs_again, self._runs_on_ranks)

    def trust(self) -> None:
        """Let everything that it writes count as written."""
        self._table.expect_written()
        self._table.mark()
        self._scatter()
        self._runs = 0

    def run(self, *, is_first: bool) -> None:
        """Run it, for the first time or again; raise faults, with memory then as before."""
        table = self._table
        if self._gather.calls:
            self._launch(op.GATHER)
        table.take_old()
        self._set_returned(self._all_true)
        table.expect_written()
        try:
            self._in_agreement(is_first=is_first)
        except BaseException:
            table.put_old()
            raise
        try:
            self._finish()
        except BaseException:  # KeyboardInterrupt too: the execution that began is completed
            self._finish()
            raise

    def _in_agreement(self, *, is_first: bool) -> None:
        """Run the vertices and look at them; a fault on one rank is one on all."""
        if self._peers is None:
            self._run_and_look(is_first=is_first)
            return
        error: Exception | None = None
        try:
            self._run_and_look(is_first=is_first)
        except Exception as found:  # it is raised when all ranks know
            error = found
        error, self._runs_on_ranks = self._peers.agreed(error, self.runs_again)
        if error is not None:
            raise error

    def _run_and_look(self, *, is_first: bool) -> None:
        """Run the vertices, and again where something is to be found out; raise faults."""
        self._launch(op.SAVE, op.COUNT, self._vertices)
        self._table.take_result()
        if self._returns:
            self._returned = self._runner.returned(self._number)
        if self._looks and self._runs:
            self._look_at_holes()
        if self._looks and is_first:
            self._look_at_outputs()
            self._look_at_forms()
        if self.has_workers:
            self._look_at_workers()
            self._executions += 1
            if not self._executions & (self._executions - 1):  # 1, 2, 4, 8 ...
                self._look_at_each_worker()

    def _finish(self) -> None:
        """Note what is written, and restore memory to its state after the first run."""
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
        """Run the vertices after a change of their memory; return what they raise.

        What they write is in the table's `others`, under the number; memory stays so.
        """
        table = self._table
        self.runs_again += 1
        table.put_old()
        if put_other is not None:
            put_other()
        try:
            self._set_returned(self._all_true)
            self._launch(self._vertices if phase is None else phase)
            is_asked = self._returns and phase != op.FALLING
            if is_asked and self._runner.returned(self._number) != self._returned:
                return PopliteError("compute returns another value")
        except PopliteError as error:
            return error
        table.take_other[number]()
        return None

    # -- what nothing has written --------------------------------------------------------------

    def _look_at_holes(self) -> None:
        """Find out which results are written; the others are holes, or passed on from holes."""
        error = self._without(self._table.put_in_holes[: self._runs])
        if error is not None:
            raise self._blamed(error)
        if not self._table.judge(self._runs):
            for n in self._writing:
                bad = self._table.found[:, self._table.parts[n]] == DEPENDENT
                if bad.any():
                    replica, number = np.argwhere(bad)[0].tolist()
                    raise self._blamed((n, replica, number))

    def _without(self, changes: Sequence[Callable[[], object]]) -> PopliteError | None:
        """Run with other values in holes: twice, unless all are Outputs, which are not read."""
        for number, put_other in enumerate(changes):
            error = self._again(number, put_other)
            if error is not None:
                return error
        return None

    def _blamed(self, changed: tuple[int, int, int] | PopliteError) -> UninitializedReadError:
        """Return the error of the first hole that a result depends on, found by halving."""
        table = self._table
        order = [n for n, each in enumerate(self._fields) if each.field.reads]
        found = [np.nonzero(table.holes[:, table.parts[n]]) for n in order]
        replicas, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        fields = np.repeat(order, [len(own) for own, _ in found])
        places = np.array([part.start for part in table.parts])[fields] + numbers

        def matters(count: int) -> bool:
            """Tell whether the result changes with the first holes alone."""
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
            why = f"with another value there: {changed.what}"
            return self._place.needed_hole(self._fields[n], number, there, count, why)
        result, replica, at = changed
        value = self._value(result, table.result[replica, table.parts[result].start + at])
        why = self._place.dependent(self._fields[result], at, value)
        vertex = self._fields[result].vertex_of(at)
        return self._place.needed_hole(*self._same(n, number, vertex), there, count, why)

    def _same(self, n: int, number: int, vertex: int) -> tuple[Touched, int]:
        """Return an element by the field through which a vertex accesses it, of several fields."""
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

    # -- what is kept, and who races -----------------------------------------------------------

    def _look_at_outputs(self) -> None:
        """Warn of Outputs that keep their old values."""
        table = self._table
        chosen = np.zeros_like(table.holes)
        for n in self._outputs:
            chosen[:, table.parts[n]] = ~table.holes[:, table.parts[n]]
        if not chosen.any():
            return
        error = self._again(0, partial(table.put_other, chosen, OUTPUT))
        assert error is None, "compute never reads an Output"
        for n in self._outputs:
            part = table.parts[n]
            old, result, other = (
                each[:, part] for each in (table.old, table.result, table.others[0])
            )
            is_kept = (result == old) & (
                other == filled(self._fields[n].field.element, OUTPUT, old)
            )
            kept = np.asarray((chosen[:, part] & is_kept).any(axis=0))
            if kept.any():
                self.warnings.append(self._place.kept_output(self._fields[n], kept))

    def _look_at_forms(self) -> None:
        """Compare the faster forms with the definitions."""
        if not self._forms:
            return
        table = self._table
        error = self._again(0, None, op.COMPUTE)
        if error is not None:
            raise self._place.faster_fault(next(iter(self._forms.values())), error)
        for n in self._writing:
            field, part = self._fields[n], table.parts[n]
            if (form := self._forms.get(field.cls)) is None:
                continue
            results = table.result[:, part], table.others[0][:, part]
            kind, dtype = f"u{field.size}", field.field.element.dtype
            defined, faster = (each.astype(kind).view(dtype) for each in results)
            differs = differing(defined, faster, form.rtol)
            if differs.any():
                replica, number = np.argwhere(differs)[0].tolist()
                texts = (self._value(n, each[replica, number]) for each in results)
                count = int(differs.any(axis=0).sum())
                raise self._place.other_form(form, field, number, replica, count, *texts)

    def _look_at_workers(self) -> None:
        """Compare with a run in which workers come in falling order."""
        table = self._table
        error = self._again(0, None, op.FALLING)
        if error is not None:
            raise self._place.falling_fault(error)
        differs = table.others[0] != table.result
        if differs.any():
            n, replica, number, count = self._first(differs)
            at = replica, table.parts[n].start + number
            values = (self._value(n, each[at]) for each in (table.result, table.others[0]))
            pair = self._pair(at)
            raise self._place.worker_race(self._fields[n], number, replica, count, pair, *values)

    def _look_at_each_worker(self) -> None:
        """Compare with what each worker does alone, with memory as it was before the vertices.

        Sums and maxima, of which the order does not matter, are found by this alone.
        """
        table = self._table
        merged, clashes = table.old.copy(), np.zeros_like(table.holes)
        for worker in range(self._workers):
            alone = self._alone(worker)
            changed = alone != table.old
            clashes |= changed & (merged != table.old) & (alone != merged)
            merged = np.where(changed, alone, merged)
        written = np.zeros_like(table.holes)
        for n in self._writing:
            written[:, table.parts[n]] = True
        differs = written & (clashes | (merged != table.result))
        if differs.any():
            n, replica, number, count = self._first(differs)
            at = replica, table.parts[n].start + number
            value, pair = self._value(n, table.result[at]), self._pair(at)
            field = self._fields[n]
            raise self._place.shared_by_workers(field, number, replica, count, pair, value)

    def _alone(self, *workers: int) -> Values:
        """Return what all elements hold after runs of some workers, one after the other."""
        table, chosen = self._table, self._runner.choose_worker
        table.put_old()
        try:
            for worker in workers:
                chosen(self._number, worker)
                self._launch(op.FALLING)
        except PopliteError as error:
            raise self._place.fault_alone(workers[-1], error) from error
        finally:
            chosen(self._number, None)
        table.take_other[1]()
        return table.others[1].copy()

    def _pair(self, at: tuple[int, int]) -> tuple[int, int] | None:
        """Return two workers that leave something else in an element than each by itself would."""
        old, alone = self._table.old[at], [self._alone(w)[at] for w in range(self._workers)]
        for one, other in combinations(range(self._workers), 2):
            own = {alone[w] for w in (one, other)} - {old} or {old}
            if {self._alone(one, other)[at], self._alone(other, one)[at]} != own or len(own) > 1:
                return one, other
        return None

    def _first(self, differs: Mask) -> tuple[int, int, int, int]:
        """Return field, replica and number of the first result chosen, and how many its field has.

        `differs` is bool[replicas, elements].
        """
        n = next(n for n in self._writing if differs[:, self._table.parts[n]].any())
        own = differs[:, self._table.parts[n]]
        replica, number = np.argwhere(own)[0].tolist()
        return n, replica, number, int(own.any(axis=0).sum())
