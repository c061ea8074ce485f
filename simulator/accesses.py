"""The bytes of variables that each step of an executable accesses.

They are computed from the lowered steps, so that files without a graph have them as well, and only
on request.

A vertex accesses the bytes of its fields. If a field is gathered in temporaries, the bytes that are
copied to the temporaries and back count as accessed::

    vertex 0    x  [0, 16)    y  [64, 80)
    vertex 1    x  [T, T+8)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, counting
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, Moves
from poplite.executable.executable import Executable
from poplite.executable.layout import ArenaLayout, StoredVariable
from poplite.executable.steps import (
    Action,
    CodeUse,
    ComputeStep,
    CopyStep,
    Equal,
    Fail,
    HostTensor,
    NoCase,
    Print,
    RowTransfer,
    Stamp,
    Transfer,
    Undefine,
    Vertices,
    action_text,
)
from poplite.report.compilation import Access, StepAccesses, Variable
from poplite.report.per_tile import PerTile
from poplite.simulator.run.touched import field_rows, numbers_within, starts_and_lengths
from poplite.vertex.fields import Field

# -- accessed bytes --------------------------------------------------------------------------------


class Stretches(NamedTuple):
    """Stretches of bytes of the arena, adjacent to each other or not.

    Attributes:
        begin: int64[n], first byte of each stretch.
        size: int64[n], its number of bytes.
    """

    begin: Int64
    size: Int64


class FieldBytes(NamedTuple):
    """The bytes that vertices access through a field, in one form of access."""

    field: Field
    read: Stretches
    written: Stretches


NOTHING = Stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))


def bytes_of_fields(step: ComputeStep, layout: ArenaLayout) -> Iterator[FieldBytes]:
    """Yield the bytes that all vertices access, by field."""
    into, gathered = moved(step.gather)
    scattered, out_of = moved(step.scatter)
    for group in step.groups:
        for field, touched in _fields(group, layout):
            is_placed = touched.begin >= layout.temporary_base
            own = Stretches(*(side[~is_placed] for side in touched))
            placed = Stretches(*(side[is_placed] for side in touched))
            read = [own, _across(into, gathered, placed)] if field.reads else []
            written = [own, _across(out_of, scattered, placed)] if field.writes else []
            yield FieldBytes(field, _joined(read), _joined(written))


def moved(moves: Moves) -> tuple[Stretches, Stretches]:
    """Return the destinations and the sources of copies, block by block."""
    to, start, size = moves.blocks()
    return Stretches(to, size), Stretches(start, size)


def _joined(some: list[Stretches]) -> Stretches:
    if not some:
        return NOTHING
    return Stretches(*(np.concatenate(side) for side in zip(*some, strict=True)))


def _across(there: Stretches, here: Stretches, wanted: Stretches) -> Stretches:
    """Return the counterparts of `wanted` stretches by copies that pair `there` with `here`."""
    if not len(wanted.begin) or not len(there.begin):
        return NOTHING
    order = np.argsort(wanted.begin, kind="stable")
    begin, end = wanted.begin[order], (wanted.begin + wanted.size)[order]
    first = np.searchsorted(end, there.begin, side="right")
    last = np.searchsorted(begin, there.begin + there.size, side="left")
    count = np.maximum(last - first, 0)
    block = np.repeat(np.arange(len(count)), count)
    which = first[block] + numbers_within(count)
    low = np.maximum(there.begin[block], begin[which])
    high = np.minimum(there.begin[block] + there.size[block], end[which])
    return Stretches(here.begin[block] + low - there.begin[block], high - low)


def _fields(group: Vertices, layout: ArenaLayout) -> Iterator[tuple[Field, Stretches]]:
    """Yield the bytes of each field that is connected to tensors.

    Rows that are read in place count as contiguous from the first byte, although there may be gaps
    between them: the gaps are in the same variable, and only sizes matter.
    """
    rows = group.cls.strided_rows
    for found in field_rows(group):
        field, count = found.field, found.length
        if rows is not None and field.name == rows.field:
            numbers = starts_and_lengths(group)
            at, columns = numbers[rows.stride][0], numbers[rows.columns][1]
            stride = layout.state_at(at, group.cls.fields[rows.stride].element.dtype)
            count = _connected(count, columns, stride)
        some, width = count > 0, field.element.size_bytes
        yield field, Stretches(found.start[some] * width, count[some] * width)


def _connected(length: Int64, columns: Int64, stride: Int64) -> Int64:
    """Return how many elements of a field are connected; rows may have gaps between them."""
    behind, step = length - columns, np.maximum(stride, 1)
    has_gaps = (columns > 0) & (columns < stride) & (behind >= 0) & (behind % step == 0)
    return np.where(has_gaps, (behind // step + 1) * columns, length)


# -- steps -----------------------------------------------------------------------------------------


DECIDING = {op.JUMP_IF_ZERO: "If", op.JUMP_IF_NONZERO: "If", op.SWITCH: "Switch"}
"""Ops that depend on a scalar, with the program that they belong to if they do not jump back."""


def variables_of(executable: Executable) -> tuple[Variable, ...]:
    """Return the variables in ascending order of address."""
    return tuple(map(_variable, executable.layout.variables))


def _variable(variable: StoredVariable) -> Variable:
    pieces = variable.pieces
    return Variable(
        variable.name,
        variable.element_type.__name__,
        variable.shape,
        variable.constant,
        variable.location.portable,
        None if pieces is None else _listed(pieces.first),
        None if pieces is None else _listed(pieces.tile),
    )


def _listed(numbers: Series) -> PerTile:
    return PerTile(numbers.count, counting(0, numbers.count), numbers)


class _Place(NamedTuple):
    """The place of a step or a condition in a program, with its rows of the code."""

    number: int
    rows: tuple[int, ...]


def accesses_of(executable: Executable) -> tuple[StepAccesses, ...]:
    """Return the accesses of steps, in program order; equal accesses occur once."""
    found: dict[object, StepAccesses] = {}
    for name, code in executable.programs.items():
        for place in _places(code):
            step = _step(executable, code, place)
            if not step.accesses:
                continue
            step = replace(step, places=((name, place.number),))
            is_alone = step.kind not in ("execute", "copy")
            own = step.places if is_alone else ()
            key: object = step.kind, step.name, step.accesses, own
            if step.compute_set is not None:  # its results may be stored in several places
                key = step.compute_set
            if key in found:
                earlier = found[key]
                places = (*earlier.places, *step.places)
                both = dict.fromkeys((*earlier.accesses, *step.accesses))
                step = replace(earlier, places=places, accesses=tuple(both))
            found[key] = step
    return tuple(found.values())


def _places(code: Code) -> Iterator[_Place]:
    """Yield the steps and conditions of a program, in order."""
    kinds, numbers = code.ops[:, 0].tolist(), code.first_numbers.tolist()
    rows: dict[int, list[int]] = defaultdict(list)
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for row, kind in enumerate(kinds):
        if kind in (op.LAUNCH, op.CALLBACK, op.COLLECT):
            rows[numbers[row]].append(row)
        elif kind in DECIDING:
            to = int(code.ops[row, 1])
            if kinds[row + 1] == op.CALLBACK and to == row + 2:
                continue  # the row belongs to the step that ends the run
            before = to - 1 if kind != op.SWITCH and to <= row else row
            first = min(numbers[before] + 1, code.num_steps)
            found.append((first, 0, (row,)))
    found += [(number, 1, tuple(own)) for number, own in rows.items()]
    yield from (_Place(number, own) for number, _, own in sorted(found))


def _step(executable: Executable, code: Code, place: _Place) -> StepAccesses:
    """Return the step or condition at a place, with its accesses."""
    total, name = _Total(executable.layout), ""
    kind: Literal["execute", "copy", "host", "control"] = "control"
    compute_set: int | None = None
    at = code.locations[place.rows[0]].portable if code.locations else ""
    for row in place.rows:
        what, first, second = code.ops[row, :3].tolist()
        if what in DECIDING:
            is_loop = what != op.SWITCH and first <= row
            name = "RepeatWhile" if is_loop else DECIDING[what]
            total.add_scalar(second, reads=True)
        elif what == op.COLLECT:
            total.add_scalar(second, reads=False)
        elif what == op.CALLBACK:
            action = executable.actions[first]
            if not isinstance(action, Equal | CodeUse | NoCase) or not name:
                kind = "copy" if isinstance(action, Transfer | RowTransfer) else "host"
                name = action_text(action)
            total.add_action(action)
        else:
            step = executable.steps[first]
            if isinstance(step, CopyStep):
                if not name:
                    kind, name = "copy", step.name
                total.add_copy(step)
            elif compute_set is None:  # its launches are consecutive
                kind, name, compute_set = "execute", step.name, first
                at = _line_of(executable, first) or at
                total.add_compute(step)
    return StepAccesses(name, kind, (), compute_set, at, total.accesses())


def _line_of(executable: Executable, number: int) -> str:
    """Return the user's line that added the first vertices of a compute set."""
    lines = executable.origins[number].locations
    return lines[0].portable if lines else ""


class _Total:
    """Sums up the accesses of a step, by variable and field."""

    def __init__(self, layout: ArenaLayout) -> None:
        self._layout = layout
        self._read: dict[tuple[int, str], int] = defaultdict(int)
        self._written: dict[tuple[int, str], int] = defaultdict(int)

    def add_scalar(self, position: int, *, reads: bool) -> None:
        """Add the scalar at a byte of the arena."""
        (owner,) = self._layout.owners(np.array([position])).tolist()
        if owner >= 0:
            size = self._layout.variables[owner].element_type.size_bytes
            (self._read if reads else self._written)[owner, ""] += size

    def add_copy(self, step: CopyStep) -> None:
        """Add the copies."""
        written, read = moved(step.moves)
        self._add(self._read, read)
        self._add(self._written, written)

    def add_compute(self, step: ComputeStep) -> None:
        """Add the bytes that the vertices of a compute set access."""
        for field, read, written in bytes_of_fields(step, self._layout):
            self._add(self._read, read, field.name)
            self._add(self._written, written, field.name)

    def add_action(self, action: Action) -> None:
        """Add the tensors that Python reads or writes; copies before and after it are steps."""
        read: list[HostTensor | None] = []
        written: list[HostTensor | None] = []
        match action:
            case Print(tensor=tensor) | NoCase(control=tensor) | Equal(tensor=tensor):
                read = [tensor]
            case Fail(shown=shown, predicate=predicate):
                read = [shown, predicate]
            case RowTransfer(offset=offset):
                read = [offset]
            case Stamp(tensor=tensor, since=since):
                read, written = [since], [tensor]
            case Undefine(tensor=tensor):
                written = [tensor]
        for tensors, total in ((read, self._read), (written, self._written)):
            for each in tensors:
                if each is not None:
                    self._add(total, moved(each.moves)[1])

    def accesses(self) -> tuple[Access, ...]:
        """Return the sums, ordered by variable, then by field."""
        keys = sorted(dict.fromkeys((*self._read, *self._written)), key=lambda key: key[0])
        return tuple(
            Access(*key, self._read.get(key, 0), self._written.get(key, 0)) for key in keys
        )

    def _add(self, total: dict[tuple[int, str], int], some: Stretches, field: str = "") -> None:
        owner = self._layout.owners(some.begin)
        size = np.bincount(owner + 1, some.size, len(self._layout.variables) + 1)[1:]
        for number in np.flatnonzero(size).tolist():
            total[number, field] += int(size[number])
