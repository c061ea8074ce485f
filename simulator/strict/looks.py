"""Looks of strict checks: tables of elements, and lists of checks for compiled code.

A table lists all elements that vertices access, with the addresses of all data that kernels use::

    Pass.x     elements 0 ... 7      holes     1 1 0 0 0 0 0 0      two of them are unwritten
    Pass.y     elements 8 ... 15     old       their values before the vertices run
                                     result    their values afterwards
                                     others    their values after runs with different values

Lists run without Python. If Python has checked a step repeatedly, such as one that fills a table
row by row, its row of the program then runs a list instead of its launches (`encoding.LOOK`)::

    rows_are_written    if it returns 0, Python makes the check instead
    launches
    mark_rows           marks rows as written

A list does less than `poplite.simulator.strict.replay`: it handles only steps after which all
elements that their vertices access, or all rows that they moved, are written. In all other cases it
leaves memory unchanged, and Python makes the check. So only Python detects errors, warnings and
unwritten results.

Vertices may move rows by index, so that their indices determine the elements that they access::

    MultiUpdate     x 0 0 1 1 ... 0 0     index 3    s 1 1    row 3 of x becomes written, like s
    MultiSlice      x 0 0 1 1 ... 0 0     index 1    out      row 1 of x must be written

An iteration of a loop that fills a table row by row therefore checks one row, and vertices run
once. If they read unwritten elements, `poplite.simulator.strict.replay` finds the consequences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.executable import encoding as op
from poplite.executable.encoding import Moves
from poplite.executable.parts import ComputeStep, Vertices
from poplite.frozen import frozen
from poplite.jit import kernels_written as kernels
from poplite.jit.build import BoundKernel, address, address_of
from poplite.jit.kernels_written import VARIANTS
from poplite.simulator import compiled_parts
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.touched import FieldElements, gathered_from, ranges, starts_and_lengths
from poplite.simulator.strict.shadow import Shadow
from poplite.types import QUARTER, ElementType
from poplite.vertex.compute.data_flow import NO_LOOPS, Loops
from poplite.vertex.compute.meaning import loops_of, meaning_of
from poplite.vertices.slices import gathers_rows, needs_old_rows, updates_rows

# -- values in place of unwritten elements ---------------------------------------------------------
# A compute set runs with the actual memory, then again with different values in place of unwritten
# elements. The results classify each element that vertices may write:
#
#     first run   again   and again
#     7           7       7             written: the result is the same
#     0           -24001  24000         still unwritten: it has its previous value,
#     0           -24001  24000         or the value of another unwritten element, passed on
#     3           -23998  24003         the result depends on unwritten elements
#     1           0       1             and so does `n < 1`
# The values of the two runs differ in sign, size and parity; integers together cover all bits, and
# have no common factor. An infinite value is not lost in any sum. There are sixteen variants, so
# that comparisons of two such elements are detected as well:
#
#     integer     -24001 and 24000,  24052 and -24053,  -24105 and 24104 ...
#     unsigned    1 and 32766,  32764 and 3,  5 and 32762 ...
#     float       -inf and 24577,  24609 and -inf,  -inf and 24641 ...
# Values are not larger than this, since they may be trip counts of loops; in nested loops, values
# are about a hundred. If data determine how often a loop runs, floats are finite; if a `while` may
# wait for a particular number, as in `while n != 0`, no value is negative. An element that already
# has the chosen value gets a different one.


Values = npt.NDArray[np.int64]
"""The bits of elements of any size."""

Numbers = npt.NDArray[Any]

Mask = npt.NDArray[np.bool_]

FIRST, SECOND, OUTPUT = range(3)
"""Sets of values: for the first and second extra run, and for Outputs in any state."""

FILLS = FIRST, SECOND
"""The sets of values for unwritten elements."""

TAKEN, PUT = range(2)
"""Whether kernels read elements of the memory, or write them."""

_OUTPUTS = {"f": (-3.25, -5.25), "i": (4, 5)}

_TRUTHS = (True, False), (True, False)
_FALSE = (True, False), (False, False)
"""A truth value, and its alternative for an element that already has it. In half of the variants
the second run has only False, so that comparisons of two elements are detected."""


def _table(low: Sequence[Any], high: Sequence[Any]) -> Numbers:
    """Return an array [2, VARIANTS, 2]: low or high values, variant, value or alternative."""
    columns = [np.broadcast_to(each, VARIANTS) for each in (*low, *high)]
    return np.array(columns).reshape(2, 2, VARIANTS).swapaxes(1, 2)


# From one variant to the next, low values descend and high values ascend, or the reverse, so that
# each of two elements is the larger one in one of the runs.
_NTH = np.arange(VARIANTS)
_WIDE, _SHORT = 24001 + 52 * _NTH, 91 + 2 * _NTH
_SIGNED = _table((-_WIDE, 2 - _WIDE), (_WIDE - 1, _WIDE - 3))
_SHORT_SIGNED = _table((-_SHORT, 2 - _SHORT), (_SHORT - 1, _SHORT - 3))

# Odd numbers without a factor of 2^15 - 1, so that low and high values have no common factor.
_ODD, _OTHER = np.array([n for n in range(1, 76, 2) if n % 7 and n % 31]).reshape(2, VARIANTS)
_UNSIGNED = _table((_ODD, _OTHER), (32767 - _ODD, 32767 - _OTHER))
_SHORT_UNSIGNED = _table((_ODD, _OTHER), (127 - _ODD, 127 - _OTHER))
_QUARTERS = _table((128 + _ODD, 128 + _OTHER), (127 - _ODD, 127 - _OTHER))  # codes; 128 is the sign

# Odd numbers; HALF rounds them to even numbers, which still differ.
_LARGE = 24577 + 32 * _NTH
_INFINITE = _table((-np.inf, -32768), (_LARGE, _LARGE + 16))
_FINITE = _table((-961.5 - 4 * _NTH, -959.5 - 4 * _NTH), (_LARGE, _LARGE + 16))
_SHORT_FINITE = _table((-0.5 - _SHORT, 1.5 - _SHORT), (_SHORT - 1, _SHORT - 3))
_POSITIVE = _table((_ODD, _OTHER), (_LARGE[::-1], _LARGE[::-1] + 16))


def numbers_of(element: type[ElementType[Any]], fill: int, loops: Loops = NO_LOOPS) -> Numbers:
    """Return the values of a type, one for each variant, with an alternative for each.

    >>> from poplite.types import HALF
    >>> numbers_of(HALF, SECOND)[:2].tolist()
    [[24577.0, 24593.0], [-inf, -32768.0]]
    """
    kind = element.dtype.kind
    if kind == "b":
        return np.array(_FALSE if fill == SECOND else _TRUTHS).repeat(VARIANTS // 2, axis=0)
    if fill == OUTPUT:
        return np.broadcast_to(np.array(_OUTPUTS["f" if kind == "f" else "i"]), (VARIANTS, 2))
    if element is QUARTER:
        return np.asarray(_QUARTERS[(fill + _NTH) % 2, _NTH])
    may_be_negative = loops.ends != "perhaps"
    if kind != "f":
        has_sign = kind == "i" and may_be_negative
        tables = (_SHORT_SIGNED, _SIGNED) if has_sign else (_SHORT_UNSIGNED, _UNSIGNED)
    elif may_be_negative:
        tables = _SHORT_FINITE, _FINITE if loops.depth else _INFINITE
    else:
        tables = _SHORT_UNSIGNED, _POSITIVE
    is_short = element.size_bytes == 1 or loops.depth > 1
    return np.asarray(tables[0 if is_short else 1][(fill + _NTH) % 2, _NTH])


@cache
def passed(
    source: type[ElementType[Any]], element: type[ElementType[Any]], loops: Loops
) -> Values | None:
    """Return the values of an element to which an element of type `source` was passed on.

    For each variant, FILLS and OUTPUT have two values each; None if elements are not passed on
    unchanged.
    """
    kinds = source.dtype.kind, element.dtype.kind
    is_same_kind = kinds == ("f", "f") or set(kinds) <= {"i", "u"}
    if not is_same_kind and source.size_bytes != element.size_bytes:
        return None
    to = element if is_same_kind else source
    numbers = [numbers_of(source, fill, loops) for fill in (*FILLS, OUTPUT)]
    return np.stack([_as_bits(each, to) for each in numbers], axis=1)


def filled(element: type[ElementType[Any]], fill: int, old: Values) -> Values:
    """Return values that differ from the old ones, in the first variant."""
    one, other = _as_bits(numbers_of(element, fill), element)[0]
    return np.asarray(np.where(old == one, other, one))


def _as_bits(numbers: Numbers, element: type[ElementType[Any]]) -> Values:
    """Return numbers as the bits of elements, as C converts integers."""
    exact = numbers if element.dtype.kind in "fb" else numbers.astype(np.int64)
    size = element.size_bytes
    return exact.astype(element.dtype).view(f"u{size}").astype(np.uint64).view(np.int64)


# -- element table ---------------------------------------------------------------------------------


class ElementTable:
    """The elements of the given fields, in every replica.

    Attributes:
        parts: the elements of each field.
        total: number of elements in a replica.
        holes: bool[replicas, elements], the unwritten elements.
        old: int64[replicas, elements], the values of all elements before the vertices run; `old`,
            `result` and `others` are filled only for fields that vertices write or that have holes.
        result: the values after the actual run.
        others: the values after each of two runs with different values.
        found: uint8[replicas, elements], the verdicts on results.
    """

    def __init__(self, fields: Sequence[FieldElements], arena: Arena, shadow: Shadow) -> None:
        replicas, sizes = len(arena.parts), [len(each.elements) for each in fields]
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
        self.total = sum(sizes)
        self.parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        shape = replicas, self.total
        self.holes: Mask = np.zeros(shape, np.bool_)
        self.old, self.result, *self.others = (np.zeros(shape, np.int64) for _ in range(4))
        self.found = np.full(shape, kernels.WRITTEN, np.uint8)

        rows = [
            (end, each.size, each.field.reads, each.field.writes, 0, _passes_on(each))
            for end, each in zip(ends, fields, strict=True)
        ]
        self._rows = np.array(rows, np.int64).reshape(-1, kernels.FIELD_WORDS)
        self._passes_on = bool(self._rows[:, kernels.FIELD_PASSES].any())
        self._places = np.zeros(self.total, np.int64)
        for each, part in zip(fields, self.parts, strict=True):
            self._places[part] = each.elements * each.size
        self._fills, self._ways = _fills_of(fields)
        self._held = np.zeros(replicas * self.total, np.int64)
        self._bind(arena, shadow)

    def _bind(self, arena: Arena, shadow: Shadow) -> None:
        """Bind all addresses to kernels once, so that executions need no look-ups."""
        table = self._rows, len(self._rows), self._places, self.total
        places = arena.layout.size_bytes, len(arena.parts), *table
        memory = arena.block, *places
        fills = self._fills, self._ways
        old, result, (first, second) = self.old, self.result, self.others
        move, put_other = partial(BoundKernel, kernels.move_values, *memory), kernels.put_other
        self.take_old, self.put_old = move(0, old, TAKEN), move(0, old, PUT)
        self.take_result, self.put_result = move(0, result, TAKEN), move(0, result, PUT)
        self.take_other = [move(1, each, TAKEN) for each in self.others]
        self._put_other = BoundKernel(put_other, *memory, *fills, PUT, old)
        self.put_in_holes = [
            BoundKernel(put_other, *memory, *fills, PUT, old, fill, self.holes) for fill in FILLS
        ]
        self.find_holes = BoundKernel(kernels.find_holes, shadow.block, *places, self.holes)
        self._mark = BoundKernel(kernels.mark, shadow.block, *places, self.holes, self.found)
        rows = self._rows, len(self._rows), self.total
        tables = len(arena.parts), *rows, self._places, *fills, self.holes, self.found
        self._judge = BoundKernel(kernels.judge, *tables, old, result, first, second, self._held)
        self._gather_held = BoundKernel(kernels.gather_held, self.holes, old, old.size, self._held)
        self.mark_written = BoundKernel(kernels.mark_written, shadow.block, *places)
        kept = *memory, *fills, TAKEN, old, FILLS[0], self.holes
        self.count_kept = BoundKernel(put_other, *kept)

    def put_other(self, chosen: Mask, fill: int) -> None:
        """Write values that differ from the old ones to `chosen`, bool[replicas, elements]."""
        self._put_other(fill, chosen)

    def judge(self, runs: int) -> bool:
        """Find which results are written, after runs with different values in all holes.

        One run suffices if no hole is read; otherwise there are two. Returns whether all results
        that are not written are unwritten themselves, so that none depends on unwritten elements.
        """
        count = 0
        if runs > 1 and self._passes_on:  # otherwise no look-up is needed
            count = self._gather_held()
            self._held[:count].sort()
        return not self._judge(count, runs)

    def expect_written(self) -> None:
        """Mark all results as written."""
        self.found.fill(kernels.WRITTEN)

    def mark(self) -> int:
        """Record in the shadow which results are written.

        Returns INCOMPLETE if some elements are unwritten, LOSSY if some are no longer written.
        """
        return int(self._mark())


def _passes_on(field: FieldElements) -> bool:
    return field.field.writes and meaning_of(field.cls).flow.passes_on(field.field.name)


def _fills_of(fields: Sequence[FieldElements]) -> tuple[Values, int]:
    """Return the values of each field, in the form for kernels, and the number of variants.

    The first variants are those of the field's own type. An element may also have a value that was
    passed on from an element of a different type, possibly from itself.
    """
    loops = loops_of({each.cls for each in fields})
    types = list(dict.fromkeys(each.field.element for each in fields))
    found = []
    for each in fields:
        own = each.field.element
        sources = [own, *(other for other in types if other is not own)]
        ways = [passed(kind, own, loops) for kind in sources]
        found.append([ways[0] if way is None else way for way in ways])
    ways_of_each = kernels.VARIANTS * len(types)
    return np.array(found, np.int64).reshape(len(fields), ways_of_each, 3, 2), ways_of_each


# -- lists for compiled code -----------------------------------------------------------------------

LaunchOf = Callable[[int], int]
"""Returns the number of the launch of a phase."""

UNLIMITED = -1
"""In place of a number of looks: no limit."""


class KernelCall(NamedTuple):
    """A call to a kernel; `rule` is the meaning of its result."""

    kernel: BoundKernel
    rule: int = op.RULE_NONE

    def words(self, launch_of: LaunchOf) -> list[int]:
        """Return it as compiled code takes it."""
        places = self.kernel.places()
        room = op.LOOK_ITEM_WORDS - op.ITEM_ARGUMENTS - len(places)
        assert room >= 0, "an item has space for the arguments of every kernel"
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
    """The work of a look.

    Attributes:
        begins: the work that changes only temporaries, and so is never undone.
        runs: the launches of the vertices; a Copy, which does not fault, is one of `marks`.
        marks: the work after a step without faults.
        undoes: the work that restores memory to its state before `runs`, once `begins` is done.
        has_workers: whether it also checks a step whose elements are all written.
        trusts: whether it makes no checks; the step runs unchanged after `marks`.
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
    """Return the plan for vertices that move rows by index.

    Only the moved rows change, so they are saved instead of all elements that vertices may write.
    """
    return LookPlan(
        [*_calls(gather), *_calls(rows.checks, op.RULE_NEEDED), *_calls(rows.keeps)],
        _launches(phases, op.GATHER, op.COUNT, op.COMPUTE),
        [*_calls((*rows.marks, *scatter)), *_launches(phases, op.SCATTER)],
        _calls(rows.undoes),
    )


def trusting_plan(table: ElementTable, gather: Kernels, scatter: Kernels) -> LookPlan:
    """Return the plan that marks all results of a step as written."""
    return LookPlan(_calls(gather), marks=_calls((table.mark_written, *scatter)), trusts=True)


def plan_of_copy(checks: Kernels, moving: Kernels) -> LookPlan:
    """Return the plan for a Copy of written elements."""
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
    """Return the plan that runs vertices once, with different values in unwritten Outputs.

    If any of the different values remains, Python finds which Outputs are written. `logs` clear the
    log of elements that workers share, and count conflicts in it; `vertices` is the phase that runs
    the vertices.
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
    """Return the launches of those of `some` phases that the step has."""
    return [PhaseLaunch(each) for each in some if each in phases]


class CompiledLook:
    """A plan for compiled code; `first` is the first phase of the step.

    Attributes:
        trusts: whether it makes no checks.
        address: the address of its words.
    """

    def __init__(self, plan: LookPlan, launch_of: LaunchOf, first: int) -> None:
        self._plan = plan  # keeps the arrays alive
        self.trusts = plan.trusts
        parts = plan.begins, plan.runs, plan.marks, plan.undoes
        head = np.zeros(op.LOOK_ITEMS, np.int64)
        head[op.LOOK_FUNCTION], head[op.LOOK_LAUNCH] = compiled_parts.own("look"), launch_of(first)
        head[op.LOOK_LEFT], head[op.LOOK_WORKERS] = UNLIMITED, plan.has_workers
        head[op.LOOK_TRUSTS] = plan.trusts
        head[op.LOOK_BEGINS : op.LOOK_UNDOES + 1] = np.cumsum([len(each) for each in parts])
        items = [np.array(each.words(launch_of)) for part in parts for each in part]
        self._words = np.concatenate([head, *items])
        self._allowed = UNLIMITED
        self.address = address(self._words)

    def allow(self, looks: int) -> None:
        """Set the number of looks after which Python makes the check again."""
        self._words[op.LOOK_LEFT] = self._allowed = looks

    def take_looks(self) -> int:
        """Return the number of looks since the last call, if looks are limited."""
        left = int(self._words[op.LOOK_LEFT])
        looks, self._allowed = self._allowed - left, left
        return looks


# -- rows that are moved by index ------------------------------------------------------------------


INDEX_BYTES = 4
"""Size of an index in bytes."""


class MovedRows:
    """The rows that the vertices of a compute set move.

    Attributes:
        are_sound: whether each vertex has all elements that its rows need, so that it accesses no
            others.
        are_at_home: whether rows are checked at their places before the gather, so that their
            states are not moved.
        checks: the kernels that check rows before vertices run, in each replica; a kernel returns 0
            if vertices would read unwritten elements.
        marks: the kernels that mark rows as written, and return how many bytes were unwritten.
        keeps: the kernels that save the content of the rows that are written.
        undoes: the kernels that restore this content.
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
        """Return whether all data that vertices would read are written, and list written rows."""
        return all(call() for call in self.checks)

    def keep(self) -> None:
        """Save the content of the listed rows."""
        for call in self.keeps:
            call()

    def undo(self) -> None:
        """Restore the content of the listed rows."""
        for call in self.undoes:
            call()

    def write(self) -> int:
        """Mark the listed rows as written; return how many bytes were unwritten."""
        return sum(call() for call in self.marks)

    def count_holes(self) -> int:
        """Return the number of unwritten bytes."""
        return sum(
            end - begin - int(np.count_nonzero(part[begin:end]))
            for part in self._shadow.parts
            for rows in self._groups
            for begin, end in rows.blocks
        )


def move_rows(step: ComputeStep) -> bool:
    """Return whether all vertices of a compute set move rows by index."""
    return all(gathers_rows(group.cls) or updates_rows(group.cls) for group in step.groups)


@frozen(eq=False)
class _Rows:
    """The data that the vertices of a group access, in bytes from the start of the arena.

    Attributes:
        reads: the rows that they read, in the form for kernels.
        lookups: int64[lookups, LOOKUP_WORDS], the lookups of all vertices.
        others: elements that are always read, their number, and the size of one in bytes.
        blocks: starts and ends of the blocks of bytes that contain all edges.
        is_sound: whether edges have the elements of all rows.
    """

    reads: int
    lookups: Int64
    others: tuple[Int64, int, int]
    blocks: list[tuple[int, int]]
    is_sound: bool

    @classmethod
    def of(cls, group: Vertices, step: ComputeStep, arena: Arena) -> _Rows:
        """Find the rows of a group from its descriptor rows."""
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
        """Return the lookups with the places that rows have before the gather.

        Returns None if the rows of a table are not evenly spaced there.
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
    """Return the sources of tables' rows that moves copied to temporaries, from `base` on.

    The result is the first byte, the distance between rows in bytes, and whether all rows have this
    distance.
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
    """Return the start and the end of each block, merging adjacent blocks."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate((begin + size)[order])
    is_first = np.append(True, begin[1:] > end[:-1])
    last = np.append(end[:-1][is_first[1:]], end[-1:])
    return [*zip(begin[is_first].tolist(), last.tolist(), strict=True)]


def _ungathered(positions: Int64, step: ComputeStep, arena: Arena) -> Int64:
    """Return the places of elements before the gather, by first bytes.

    At these places, indices can be read before the gather.
    """
    found, is_gathered = positions.copy(), positions >= arena.layout.temporary_base
    if is_gathered.any():
        found[is_gathered] = gathered_from(step.gather, positions[is_gathered])
    return found
