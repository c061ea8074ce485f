"""Looks of strict checks that compiled code does without Python.

A step at which Python looks again and again, as one that fills a table row by row, is a row of the
program that runs such a list in place of its launches (`opcodes.LOOK`)::

    rows_are_written    0: Python looks, and finds out what follows
    launches
    mark_rows           notes that they are written

A list does less than `poplite.simulator.strict.replay`: it knows only steps after which all that
their vertices touch is written, or those rows that they moved.  Where anything is not so, it leaves
memory as it was before, and Python looks.  So all errors, warnings and unwritten results are found
by Python alone.

Vertices may move rows by number: their indices say which elements they touch::

    MultiUpdate     x 0 0 1 1 ... 0 0     index 3    s 1 1    rows of x: 3 becomes written, as s is
    MultiSlice      x 0 0 1 1 ... 0 0     index 1    out      row 1 of x has to be written

So a turn of a loop that fills a table row by row looks at a row, and vertices run once.  Where
something that they read is not written, `poplite.simulator.strict.replay` finds out what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.executable import opcodes as op
from poplite.executable.rows import Moves
from poplite.executable.step import ComputeStep, Vertices
from poplite.frozen import frozen
from poplite.jit.build import BoundKernel, address, address_of
from poplite.jit.kernels import written as kernels
from poplite.simulator import compiled_parts
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.touched import gathered_from, ranges, starts_and_lengths
from poplite.simulator.strict.element_table import ElementTable
from poplite.simulator.strict.shadow import Shadow
from poplite.vertices.slices import gathers_rows, needs_old_rows, updates_rows

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
        assert room >= 0, "an item has room for the arguments of every kernel"
        return [address_of(self.kernel.kernel), len(places), self.rule, *places, *[0] * room]


class PhaseLaunch(NamedTuple):
    """A launch of a phase of the step."""

    phase: int

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        return [0, launch_of(self.phase), *[0] * (op.LOOK_ITEM_WORDS - 2)]


Item = KernelCall | PhaseLaunch
Kernels = Sequence[BoundKernel]


@frozen(eq=False)
class LookPlan:
    """What a look does.

    Attributes:
        begins: the work before anything but temporaries changes, which needs no undoing.
        runs: the vertices; a Copy, which does not fault, is one of `marks`.
        marks: the work after a step without faults.
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
        self.address = address(self._words)

    def allow(self, looks: int) -> None:
        """Say how often it may look until Python does."""
        self._words[op.LOOK_LEFT] = self._allowed = looks

    def take_looks(self) -> int:
        """Return how often it looked since this was asked last, where looks are limited."""
        left = int(self._words[op.LOOK_LEFT])
        looks, self._allowed = self._allowed - left, left
        return looks


# -- rows that are moved by number -----------------------------------------------------------------


INDEX_BYTES = 4
"""Bytes of an index."""


class MovedRows:
    """The rows that the vertices of a compute set move.

    Attributes:
        are_sound: whether each vertex has as many elements as its rows need, so that it touches
            no others.
        are_at_home: whether they are looked at where they are gathered from and scattered to, so
            that their states are not moved.
        checks: what looks at them before vertices run, in each replica; it returns 0 where
            something that they would read is not written.
        marks: what notes that they are written, and returns how many bytes were not.
        keeps: what saves the content of the rows that are written.
        undoes: what puts that back.
    """

    def __init__(self, step: ComputeStep, arena: Arena, shadow: Shadow) -> None:
        self._shadow = shadow
        self._groups = [_Rows.of(group, step, arena) for group in step.groups]
        homes = [rows.homes(step, arena) for rows in self._groups]
        self.are_at_home = all(each is not None for each in homes)
        if self.are_at_home:
            self._groups = [
                replace(rows, lookups=home) if home is not None else rows
                for rows, home in zip(self._groups, homes, strict=True)
            ]
        self.are_sound = all(rows.is_sound for rows in self._groups)
        self.checks: list[BoundKernel] = []
        self.marks: list[BoundKernel] = []
        self.keeps: list[BoundKernel] = []
        self.undoes: list[BoundKernel] = []
        for memory, part in zip(arena.parts, shadow.parts, strict=True):
            for rows in self._groups:
                self._bind(memory, part, rows)

    def _bind(self, memory: Bytes, part: Bytes, rows: _Rows) -> None:
        """Bind the kernels for a group in the memory of a replica."""
        lookups = rows.lookups
        listed = np.zeros(1 + 2 * len(lookups), np.int64)
        kept = np.zeros(int(lookups[:, kernels.LOOKUP_BYTES].sum()), np.uint8)
        arguments = lookups, len(lookups), rows.reads, *rows.others, listed
        self.checks.append(BoundKernel(kernels.rows_are_written, memory, part, *arguments))
        self.marks.append(BoundKernel(kernels.mark_rows, part, lookups, listed))
        self.keeps.append(BoundKernel(kernels.keep_rows, memory, lookups, listed, kept, 0))
        self.undoes.append(BoundKernel(kernels.keep_rows, memory, lookups, listed, kept, 1))

    def are_written(self) -> bool:
        """Return whether all that the vertices would read now is written; list what they write."""
        return all(call() for call in self.checks)

    def keep(self) -> None:
        """Save the content of the rows that are listed."""
        for call in self.keeps:
            call()

    def undo(self) -> None:
        """Put that back."""
        for call in self.undoes:
            call()

    def write(self) -> int:
        """Note that what was listed is written; return how many bytes were not."""
        return sum(call() for call in self.marks)

    def count_holes(self) -> int:
        """Return how many bytes nothing has written."""
        return sum(
            end - begin - int(np.count_nonzero(part[begin:end]))
            for part in self._shadow.parts
            for rows in self._groups
            for begin, end in rows.blocks
        )


def move_rows(step: ComputeStep) -> bool:
    """Return whether all vertices of a compute set move rows by number."""
    return all(gathers_rows(group.cls) or updates_rows(group.cls) for group in step.groups)


@frozen(eq=False)
class _Rows:
    """What the vertices of a group touch, by bytes from the start of the arena.

    Attributes:
        reads: which rows they read, as kernels take it.
        lookups: int64[lookups, LOOKUP_WORDS], of all vertices.
        others: elements that are read in any case, their number, and the bytes of one.
        blocks: begin and end of blocks of bytes that all edges take.
        is_sound: whether edges have the elements of all rows.
    """

    reads: int
    lookups: Int64
    others: tuple[Int64, int, int]
    blocks: list[tuple[int, int]]
    is_sound: bool

    @classmethod
    def of(cls, group: Vertices, step: ComputeStep, arena: Arena) -> _Rows:
        """Read the rows of a group off its descriptor rows."""
        size, places = group.cls.fields["x"].element.size_bytes, starts_and_lengths(group)
        words = arena.bytes[: len(arena.bytes) // INDEX_BYTES * INDEX_BYTES].view(np.uint32)
        first, width = (words[places[name][0]].astype(np.int64) for name in ("first", "width"))
        is_update = updates_rows(group.cls)
        (table, length), (index, count) = places["x"], places["index"]
        near, far = places["s" if is_update else "out"]
        vertex = np.repeat(np.arange(len(count)), count)
        number = ranges(np.zeros_like(count), count)
        is_sound = bool(((width > 0) & (length >= width) & (far == count * width)).all())
        wide = width[vertex]
        lookups = np.stack(
            [
                _ungathered((index[vertex] + number) * INDEX_BYTES, step, arena),
                (near[vertex] + number * wide) * size,
                table[vertex] * size,
                wide * size,
                (length // np.maximum(width, 1))[vertex],
                first[vertex],
                wide * size,
                np.cumsum(wide * size) - wide * size,
            ],
            axis=1,
        )
        others = places["scale"][0] * size if "scale" in places else np.zeros(0, np.int64)
        near_reads = kernels.READS_NEAR if is_update else 0
        table_reads = kernels.READS_TABLE if not is_update or needs_old_rows(group.cls) else 0
        begins = [table * size, near * size, index * INDEX_BYTES, others]
        sizes = [length * size, far * size, count * INDEX_BYTES, np.full(len(others), size)]
        blocks = _joined(np.concatenate(begins), np.concatenate(sizes))
        return cls(near_reads | table_reads, lookups, (others, len(others), size), blocks, is_sound)

    def homes(self, step: ComputeStep, arena: Arena) -> Int64 | None:
        """Return the lookups with rows where they are when nothing is gathered; None if it fails.

        It does where the rows of a table are then not at even distances.
        """
        if not len(step.gather.records) and not len(step.scatter.records):
            return self.lookups
        is_update, base = bool(self.reads & kernels.READS_NEAR), arena.layout.temporary_base
        if len(self.others[0]) and (self.others[0] >= base).any():
            return None
        found = self.lookups.copy()
        near, table, size = (
            found[:, word]
            for word in (kernels.LOOKUP_NEAR, kernels.LOOKUP_TABLE, kernels.LOOKUP_BYTES)
        )
        rows, one = found[:, kernels.LOOKUP_ROWS], np.ones(len(found), np.int64)
        back = step.scatter.reversed()
        first, stride, is_even = _home(step.gather, table, rows, size, base)
        if is_update:
            other, step_back, is_even_back = _home(back, table, rows, size, base)
            is_even &= is_even_back & (other == first) & (step_back == stride)
        at, _, is_whole = _home(step.gather if is_update else back, near, one, size, base)
        if not (is_even & is_whole).all():
            return None
        near[...], table[...], found[:, kernels.LOOKUP_STRIDE] = at, first, stride
        return found


def _home(
    moves: Moves, begin: Int64, rows: Int64, size: Int64, base: int
) -> tuple[Int64, Int64, npt.NDArray[np.bool_]]:
    """Return where rows of some tables are that moves copied to temporaries, from `base` on.

    These are first byte, bytes from one row to the next, and whether that is so for all rows.
    """
    records = moves.records[(moves.records[:, 3] > 0) & (moves.records[:, 4] >= 0)]
    none = np.array([[-1, 0, 1, 0, 0, 0]])  # for addresses below all records
    records = np.concatenate([none, records[np.argsort(records[:, 0], kind="stable")]])
    at = np.searchsorted(records[:, 0], begin, side="right") - 1
    to, start, blocks, length, far, near = records[at].T
    far = np.maximum(np.where(blocks > 1, far, 0), 1)
    block = np.where(blocks > 1, (begin - to) // far, 0)
    offset = begin - to - block * far
    is_inside = (block < blocks) & (offset + rows * size <= length)
    is_row_each = (offset == 0) & (length == size) & (far == size) & (block + rows <= blocks)
    is_local = begin < base
    first = np.where(is_local, begin, start + block * near + offset)
    stride = np.where(is_local | is_inside, size, near)
    return first, stride, is_local | is_inside | is_row_each


def _joined(begin: Int64, size: Int64) -> list[tuple[int, int]]:
    """Return begin and end of blocks, with those as one that touch each other."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate((begin + size)[order])
    is_first = np.append(True, begin[1:] > end[:-1])
    last = np.append(end[:-1][is_first[1:]], end[-1:])
    return [*zip(begin[is_first].tolist(), last.tolist(), strict=True)]


def _ungathered(positions: Int64, step: ComputeStep, arena: Arena) -> Int64:
    """Return where elements are before anything is gathered, by first bytes.

    So indices may be read before.
    """
    found, is_gathered = positions.copy(), positions >= arena.layout.temporary_base
    if is_gathered.any():
        found[is_gathered] = gathered_from(step.gather, positions[is_gathered])
    return found
