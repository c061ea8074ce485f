"""Looks that need no Python: calls of kernels and launches, which compiled code does.

A step at which Python looks again and again, as one that fills a table row by row, is a row of the
program that runs such a list in place of its launches (`opcodes.LOOK`)::

    rows_are_written    0: Python looks, and finds out what follows
    launches
    mark_rows           notes that they are written

A list does less than `poplite.simulator.strict.replay`: it knows only steps after which all that
their vertices touch is written, or those rows that they moved.  Where anything is not so, it leaves
memory as it was before, and Python looks.  So all errors, warnings and unwritten results are found
by Python alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poplite.executable import opcodes as op
from poplite.jit import native
from poplite.jit.native import BoundKernel
from poplite.simulator import compiled_parts
from poplite.simulator.strict.element_table import ElementTable
from poplite.simulator.strict.moved_rows import MovedRows

LaunchOf = Callable[[int], int]
"""Returns the number of the launch of a phase."""

UNLIMITED = -1
"""In place of a number of looks."""


class KernelCall(NamedTuple):
    """A call of a kernel; `rule` says what its result means."""

    kernel: BoundKernel
    rule: int = op.RULE_NONE

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        places = self.kernel.places()
        room = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS - len(places)
        address = native.address_of(self.kernel.kernel)
        return [address, len(places), self.rule, *places, *[0] * room]


class PhaseLaunch(NamedTuple):
    """A launch of a phase of the step."""

    phase: int

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        return [0, launch_of(self.phase), *[0] * (op.LOOK_ITEM_WORDS - 2)]


Item = KernelCall | PhaseLaunch
Kernels = Sequence[BoundKernel]


@dataclass(frozen=True, slots=True, eq=False)
class LookPlan:
    """What a look does.

    Attributes:
        begins: what is done before anything changes but temporaries, and needs not be undone.
        runs: the vertices; a Copy, which does not fault, is one of `marks`.
        marks: what is done when nothing was wrong.
        undoes: what lets memory be as before `runs`, if all of `begins` was done.
        has_workers: whether it also looks at a step of which all is written.
        trusts: whether it finds out nothing; the step runs as it is after `marks`.
    """

    begins: Sequence[Item]
    runs: Sequence[Item] = ()
    marks: Sequence[Item] = ()
    undoes: Sequence[Item] = ()
    has_workers: bool = False
    trusts: bool = False


def plan_of_rows(
    rows: MovedRows, phases: Sequence[int], gather: Kernels, scatter: Kernels
) -> LookPlan:
    """Return what looks at vertices that move rows by number.

    Nothing but those rows changes, so that these are kept in place of all that is saved.
    """
    return LookPlan(
        [*_calls(gather), *_calls(rows.checks, op.RULE_NEEDED), *_calls(rows.keeps)],
        _launches(phases, op.GATHER, op.COUNT, op.COMPUTE),
        [*_calls((*rows.marks, *scatter)), *_launches(phases, op.SCATTER)],
        _calls(rows.undoes),
    )


def trusting_plan(table: ElementTable, gather: Kernels, scatter: Kernels) -> LookPlan:
    """Return what lets all that a step writes count as written."""
    return LookPlan(_calls(gather), marks=_calls((table.mark_written, *scatter)), trusts=True)


def plan_of_copy(checks: Kernels, moving: Kernels) -> LookPlan:
    """Return what looks at a Copy of written elements."""
    marks = [PhaseLaunch(op.GATHER), *_calls(moving)]
    return LookPlan(_calls(checks, op.RULE_NEEDED), marks=marks)


def plan_of_runs(
    table: ElementTable,
    logs: tuple[Kernels, Kernels],
    vertices: int,
    phases: Sequence[int],
    gather: Kernels,
    scatter: Kernels,
) -> LookPlan:
    """Return what runs vertices once, with other values in Outputs that nothing has written.

    Where one of them remains, Python finds out which are written.  `logs` clear the log of what
    workers share, and count conflicts in it; `vertices` is the phase that runs them.
    """
    clear, conflicts = logs
    begins = [
        *_calls(gather),
        KernelCall(table.find_holes, op.RULE_HOLES),
        *_launches(phases, op.GATHER),
        *_calls((table.take_old, *clear)),
    ]
    runs = [
        *_calls((table.put_in_holes[0],)),
        *_launches(phases, op.COUNT),
        PhaseLaunch(vertices),
        *_calls((*conflicts, table.count_kept), op.RULE_REFUSED),
    ]
    marks = [*_calls((table.mark_written, *scatter)), *_launches(phases, op.SCATTER)]
    return LookPlan(begins, runs, marks, _calls((table.put_old,)), has_workers=bool(conflicts))


def _calls(kernels: Kernels, rule: int = op.RULE_NONE) -> list[Item]:
    return [KernelCall(each, rule) for each in kernels]


def _launches(phases: Sequence[int], *some: int) -> list[Item]:
    """Return the launches of some phases, of those that the step has."""
    return [PhaseLaunch(each) for each in some if each in phases]


class CompiledLook:
    """A plan as compiled code takes it; `first` is the first phase of the step.

    Attributes:
        trusts: whether it finds out nothing.
        address: of its words.
    """

    def __init__(self, plan: LookPlan, launch_of: LaunchOf, first: int) -> None:
        self._plan = plan  # which keeps the arrays
        self.trusts = plan.trusts
        parts = plan.begins, plan.runs, plan.marks, plan.undoes
        head = np.zeros(op.LOOK_ITEMS, np.int64)
        head[op.LOOK_FUNCTION], head[op.LOOK_LAUNCH] = compiled_parts.looker(), launch_of(first)
        head[op.LOOK_LEFT], head[op.LOOK_WORKERS] = UNLIMITED, plan.has_workers
        head[op.LOOK_TRUSTS] = plan.trusts
        head[op.LOOK_BEGINS : op.LOOK_UNDOES + 1] = np.cumsum([len(each) for each in parts])
        items = [np.array(each.words(launch_of)) for part in parts for each in part]
        self._words = np.concatenate([head, *items])
        self._allowed = UNLIMITED
        self.address = native.address(self._words)

    def allow(self, looks: int) -> None:
        """Say how often it may look until Python does."""
        self._words[op.LOOK_LEFT] = self._allowed = looks

    def take_looks(self) -> int:
        """Return how often it looked since this was asked last, where looks are limited."""
        left = int(self._words[op.LOOK_LEFT])
        looks, self._allowed = self._allowed - left, left
        return looks
