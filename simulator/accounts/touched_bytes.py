"""Which bytes of the arena a step touches, found in what it was lowered to.

vertex 0    x  [0, 16)    y  [64, 80)           a field that lies in one piece
vertex 1    x  [T, T+8)                         a gathered one lies in temporaries: what is
                                                copied there, and back, is what it touches
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable.descriptor import COUNT, positions
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep, Vertices
from poplite.vertex.fields import Field


class Stretches(NamedTuple):
    """Bytes of the arena, one stretch behind the other or not.

    Attributes:
        begin: int64[n], first bytes.
        size: int64[n], how many.
    """

    begin: Int64
    size: Int64


class FieldBytes(NamedTuple):
    """What vertices touch by a field, in one form of access."""

    field: Field
    read: Stretches
    written: Stretches


NOTHING = Stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))


def bytes_of_fields(step: ComputeStep, layout: ArenaLayout) -> Iterator[FieldBytes]:
    """Yield what the fields of all vertices touch."""
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
    """Return where copies write, and where they read, block by block."""
    to, source, count, size, far, near = moves.records.T
    blocks = size > 0
    row = np.repeat(np.arange(len(size)), np.where(blocks, count, 0))
    within = _within(np.where(blocks, count, 0))
    parts = [(to[row] + within * far[row], source[row] + within * near[row], size[row])]
    for record in np.flatnonzero(~blocks).tolist():
        pieces = moves.pieces[far[record] : far[record] + count[record]].astype(np.int64)
        parts.append((pieces[:, 0] + to[record], pieces[:, 1] + source[record], pieces[:, 2]))
    begins, ends, sizes = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Stretches(begins, sizes), Stretches(ends, sizes)


def _joined(some: list[Stretches]) -> Stretches:
    if not some:
        return NOTHING
    return Stretches(*(np.concatenate(side) for side in zip(*some, strict=True)))


def _across(there: Stretches, here: Stretches, wanted: Stretches) -> Stretches:
    """Return what lies opposite to stretches that are wanted: copies pair `there` with `here`."""
    if not len(wanted.begin) or not len(there.begin):
        return NOTHING
    order = np.argsort(wanted.begin, kind="stable")
    begin, end = wanted.begin[order], (wanted.begin + wanted.size)[order]
    first = np.searchsorted(end, there.begin, side="right")
    last = np.searchsorted(begin, there.begin + there.size, side="left")
    count = np.maximum(last - first, 0)
    block = np.repeat(np.arange(len(count)), count)
    which = first[block] + _within(count)
    low = np.maximum(there.begin[block], begin[which])
    high = np.minimum(there.begin[block] + there.size[block], end[which])
    return Stretches(here.begin[block] + low - there.begin[block], high - low)


def _within(count: Int64) -> Int64:
    """Return 0, 1, ... for each of several counts, one behind the other."""
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)


def _fields(group: Vertices, layout: ArenaLayout) -> Iterator[tuple[Field, Stretches]]:
    """Yield the bytes of each field that is connected to tensors.

    Of rows that are read where they lie, what is between them counts as their first bytes: it is
    in the same variable, and only sizes are of interest.
    """
    numbers = _numbers(group)
    rows = group.cls.strided_rows
    places = {name: position for position, name in enumerate(group.cls.fields)}
    for position, field in enumerate(group.cls.fields.values()):
        if field.role == "state":
            continue
        own = {part: values for (at, part), values in numbers.items() if at == position}
        begin, count = _elements(own, group, position)
        if rows is not None and field.name == rows.field:
            columns = numbers[places[rows.columns], "length"]
            at = numbers[places[rows.stride], "start"]
            stride = layout.state_at(at, group.cls.fields[rows.stride].element.dtype)
            count = _connected(count, columns, stride)
        some, width = count > 0, field.element.size_bytes
        yield field, Stretches(begin[some] * width, count[some] * width)


def _connected(length: Int64, columns: Int64, stride: Int64) -> Int64:
    """Return how many elements of a field are connected, where rows may have gaps between them."""
    behind, step = length - columns, np.maximum(stride, 1)
    has_gaps = (columns > 0) & (columns < stride) & (behind >= 0) & (behind % step == 0)
    return np.where(has_gaps, (behind // step + 1) * columns, length)


def _elements(own: dict[str, Int64], group: Vertices, position: int) -> tuple[Int64, Int64]:
    """Return the first element and the length of each row of a field, of all vertices."""
    if "base" in own:
        kind = "pairs" if "pairs" in own else "wide"
        vertex = np.repeat(np.arange(len(own["rows"])), own["rows"])
        at = own[kind][vertex] + own["first"][vertex] + _within(own["rows"])
        number = next(
            number
            for number, column in enumerate(group.columns)
            if (column.field, column.part) == (position, kind)
        )
        start, length = group.tables[number][at].astype(np.int64).T
        return own["base"][vertex] + start, length
    if "stride" in own:
        vertex = np.repeat(np.arange(len(own["rows"])), own["rows"])
        begin = own["start"][vertex] + own["stride"][vertex] * _within(own["rows"])
        return begin, own["length"][vertex]
    return own["start"], own.get("length", np.ones(len(own["start"]), np.int64))


def _numbers(group: Vertices) -> dict[tuple[int, str], Int64]:
    """Return what each column says of all vertices, by field and part."""
    count = group.rows[:, COUNT]
    row, within = np.repeat(np.arange(len(count)), count), _within(count)
    found = {}
    for number, (column, at) in enumerate(positions(group.columns)):
        first = group.rows[row, at]
        if column.kind == "affine":
            first = first + group.rows[row, at + 1] * within
        elif column.kind == "flat":
            first = first + group.tables[number][group.rows[row, at + 1] + within]
        found[column.field, column.part] = first
    return found
