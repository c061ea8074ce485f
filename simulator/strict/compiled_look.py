"""Looks at steps that need no Python: calls of kernels and launches, which compiled code does.

A step that has to be looked at each time, as one that fills a table row by row, is a row of the
program that runs such a list in place of its launches (`opcodes.LOOK`)::

    rows_are_written    0: Python looks, and finds out what follows
    launches
    mark_rows           so many bytes fewer are missing
    carry               of the scatter; Python hears of it when something written is lost

The list does what `poplite.simulator.strict.replay` does in Python, in the same order.  Where a
result is not what it has to be, Python puts memory back and does it all again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poplite.executable import opcodes as op
from poplite.jit import native
from poplite.simulator import compiled_parts
from poplite.simulator.strict.element_table import ElementTable
from poplite.simulator.strict.kernel_forms import BoundKernel

LaunchOf = Callable[[int], int]
"""Returns the number of the launch of a phase."""

UNLIMITED = -1
"""In place of a number of bytes, or of times."""


class KernelCall(NamedTuple):
    """A call of a kernel.

    Attributes:
        rule: what its result means.
        modes: those in which it is done.
    """

    kernel: BoundKernel
    rule: int = op.RULE_NONE
    modes: int = op.MODES

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        places = self.kernel.places()
        room = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS - len(places)
        address = native.address_of(self.kernel.kernel)
        return [address, len(places), self.rule, self.modes, *places, *[0] * room]


class PhaseLaunch(NamedTuple):
    """A launch of a phase of the step.

    Attributes:
        again: whether its vertices run again in it.
        modes: those in which it is done.
    """

    phase: int
    again: bool = False
    modes: int = op.MODES

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        room = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS
        return [0, launch_of(self.phase), int(self.again), self.modes, *[0] * room]


Item = KernelCall | PhaseLaunch

_HOLES = op.MODE_OUTPUTS | op.MODE_READ
_LOOKS = _HOLES | op.MODE_WORKERS
"""Modes in which something is unwritten, and in which there is something to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What a look did since Python asked last.

    Attributes:
        times: how often the step was allowed to run, where there was something to look at.
        runs_again: how often vertices ran again.
        lacking: how many bytes it may mark until Python looks.
        is_lossy: whether something written was lost.
        has_begun: whether memory is not as it was before the step.
    """

    times: int
    runs_again: int
    lacking: int
    is_lossy: bool
    has_begun: bool


NOTHING = Passed(0, 0, UNLIMITED, is_lossy=False, has_begun=False)


@dataclass(frozen=True, slots=True, eq=False)
class LookPlan:
    """What a look does.

    Attributes:
        items: calls and launches, in order.
        begins: how many of them leave memory as it is, but for temporaries.
        has_workers: whether it also looks at a step of which all is written.
        trusts: whether it finds out nothing any more.
    """

    items: Sequence[Item]
    begins: int
    has_workers: bool = False
    trusts: bool = False


Kernels = Sequence[BoundKernel]


def plan_of_rows(
    checks: Kernels, marks: Kernels, phases: Sequence[int], gather: Kernels, scatter: Kernels
) -> LookPlan:
    """Return what looks at vertices that move rows by number."""
    before = [*map(KernelCall, gather), *(KernelCall(each, op.RULE_NEEDED) for each in checks)]
    launches = [PhaseLaunch(each) for each in phases if each not in (op.SAVE, op.SCATTER)]
    after = [KernelCall(each, op.RULE_MARKED) for each in marks]
    after += [KernelCall(each, op.RULE_FLAGS) for each in scatter]
    last = [PhaseLaunch(each) for each in phases if each == op.SCATTER]
    return LookPlan([*before, *launches, *after, *last], len(before))


def trusting_plan(
    table: ElementTable, phases: Sequence[int], gather: Kernels, scatter: Kernels
) -> LookPlan:
    """Return what lets all that a step writes count as written."""
    marks = table.find_holes, table.expect_written, table.mark
    before = [*map(KernelCall, gather), *map(KernelCall, marks), *map(KernelCall, scatter)]
    return LookPlan([*before, *map(PhaseLaunch, phases)], len(before), trusts=True)


def plan_of_copy(moving: Kernels, *, is_trusted: bool) -> LookPlan:
    """Return what looks at a Copy; if it `is_trusted`, what it moves counts as written."""
    rule = op.RULE_NONE if is_trusted else op.RULE_WRITTEN
    return LookPlan(
        [*(KernelCall(each, rule) for each in moving), PhaseLaunch(op.GATHER)], len(moving)
    )


def plan_of_mark(undefining: Kernels) -> LookPlan:
    """Return what lets elements be unwritten."""
    return LookPlan([*map(KernelCall, undefining)], len(undefining))


def plan_of_runs(
    table: ElementTable,
    logs: tuple[Kernels, Kernels],
    vertices: int,
    phases: Sequence[int],
    gather: Kernels,
    scatter: Kernels,
) -> LookPlan:
    """Return what runs vertices again where something is unwritten.

    `logs` clear the log of what workers share, and count conflicts in it; `vertices` is the phase
    that runs them.
    """
    clear, conflicts = logs
    before: list[Item] = [*map(KernelCall, gather), KernelCall(table.find_holes, op.RULE_HOLES)]
    before += [PhaseLaunch(each) for each in phases if each == op.GATHER]
    begins = (table.take_old, table.expect_written, *clear)
    before += [KernelCall(each, op.RULE_NONE, _LOOKS) for each in begins]
    first: list[Item] = [PhaseLaunch(each) for each in phases if op.GATHER < each < op.COMPUTE]
    first += [
        PhaseLaunch(op.COMPUTE, False, op.MODE_COMPLETE),
        PhaseLaunch(vertices, False, _LOOKS),
    ]
    first += [KernelCall(table.take_result, op.RULE_NONE, _LOOKS)]
    first += [KernelCall(each, op.RULE_REFUSED, _LOOKS) for each in conflicts]
    again = _run_with_others(table, vertices, 0, _HOLES)
    again += _run_with_others(table, vertices, 1, op.MODE_READ)
    for dependent, mode in zip(table.find_dependent, (op.MODE_OUTPUTS, op.MODE_READ), strict=True):
        again.append(KernelCall(dependent, op.RULE_REFUSED, mode))
    after: list[Item] = [KernelCall(table.mark, op.RULE_FLAGS, _LOOKS)]
    after += [KernelCall(each, op.RULE_FLAGS) for each in scatter]
    after += [KernelCall(each, op.RULE_NONE, _HOLES) for each in (table.put_old, table.put_result)]
    after += [PhaseLaunch(each) for each in phases if each == op.SCATTER]
    return LookPlan([*before, *first, *again, *after], len(before), has_workers=bool(conflicts))


def _run_with_others(table: ElementTable, vertices: int, number: int, modes: int) -> list[Item]:
    """Return a run of vertices with other values where nothing is written."""
    return [
        KernelCall(table.put_old, op.RULE_NONE, modes),
        KernelCall(table.put_in_holes[number], op.RULE_NONE, modes),
        PhaseLaunch(vertices, True, modes),
        KernelCall(table.take_other[number], op.RULE_NONE, modes),
    ]


class CompiledLook:
    """A plan as compiled code takes it."""

    def __init__(self, plan: LookPlan, launch_of: LaunchOf) -> None:
        self.plan = plan  # which keeps the arrays
        head = np.zeros(op.LOOK_ITEMS, np.int64)
        head[op.LOOK_FUNCTION] = compiled_parts.looker()
        head[op.LOOK_COUNT], head[op.LOOK_BEGINS] = len(plan.items), plan.begins
        head[op.LOOK_WORKERS] = plan.has_workers
        head[[op.LOOK_LACKING, op.LOOK_LEFT]] = UNLIMITED
        items = [np.array(each.words(launch_of)) for each in plan.items]
        self._words = np.concatenate([head, *items])
        self.address = native.address(self._words)

    def allow(self, *, lacking: int = UNLIMITED, times: int = UNLIMITED, complete: bool) -> None:
        """Say how many bytes it may mark and how often it may let the step run, until Python looks.

        `complete` says whether that includes steps of which all is written.
        """
        self._words[[op.LOOK_LACKING, op.LOOK_LEFT, op.LOOK_HELD]] = lacking, times, complete

    def take_passed(self) -> Passed:
        """Return what it did, and forget that."""
        words = self._words
        taken = [op.LOOK_PASSED, op.LOOK_AGAIN, op.LOOK_LACKING, op.LOOK_LOST, op.LOOK_BEGUN]
        times, again, lacking, lost, begun = words[taken].tolist()
        words[[op.LOOK_PASSED, op.LOOK_AGAIN, op.LOOK_LOST, op.LOOK_BEGUN]] = 0
        return Passed(times, again, lacking, bool(lost), bool(begun))

    @property
    def launch(self) -> int:
        """The number of the launch that was cut or faulted."""
        item = int(self._words[op.LOOK_AT])
        return int(self._words[op.LOOK_ITEMS + op.LOOK_ITEM_WORDS * item + op.ITEM_COUNT])

    @property
    def has_faulted(self) -> bool:
        """Whether a vertex of its last launch faulted."""
        return bool(self._words[op.LOOK_FAULTED])

    def forget(self) -> None:
        """Begin anew the next time."""
        self._words[[op.LOOK_AT, op.LOOK_FAULTED]] = 0
