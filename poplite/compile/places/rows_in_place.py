"""Rows that vertices read where they lie, in place of a copy of them side by side.

    edge        x[0:3], x[8:11], x[16:19]        three runs: a temporary of 9 elements, stride 3
    in place    x[0:19]                          no copy, stride 8

What the graph says of the edge stays as it is, and with it cycles and memory of tiles: there the
exchange brings rows to a tile, side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.executable.layout import ArenaLayout
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges


@dataclass(frozen=True, slots=True, eq=False)
class RowsInPlace:
    """The edges of one field of a family, some of which are read in place.

    Attributes:
        stride_name: the State field with the stride.
        chosen: bool[edges], which are read in place.
        length: int64[edges], elements from the first to the last of each edge as vertices see it.
        stride: dtype[edges], the stride of each.
    """

    stride_name: str
    chosen: npt.NDArray[np.bool_]
    length: Int64
    stride: npt.NDArray[np.integer]


InPlace = Mapping[FieldEdges, RowsInPlace]
"""The fields of a compute set of which some edges are read in place."""


def rows_in_place(
    table: EdgeTable, layout: ArenaLayout, known: Mapping[EdgeTable, InPlace] = MappingProxyType({})
) -> InPlace:
    """Return what of a compute set is read in place; `known` has that of earlier ones."""
    alike = table.alike
    rows = None if alike is None else known.get(alike)
    if alike is not None and rows is not None and all(_same_state(alike, table)):
        pairs = zip(_fields_of_rows(alike), _fields_of_rows(table), strict=True)
        return {own: rows[field] for (_, field), (_, own) in pairs if field in rows}
    every = {
        field: _in_place(family, field, table, layout) for family, field in _fields_of_rows(table)
    }
    return {field: rows for field, rows in every.items() if rows is not None}


def _same_state(table: EdgeTable, other: EdgeTable) -> Iterator[bool]:
    """Yield whether the state that says where rows are is equal, family by family."""
    for family, its in zip(table.families, other.families, strict=True):
        rows = family.cls.strided_rows
        for name in () if rows is None else (rows.stride, rows.offset):
            if name is not None:
                values = np.asarray(family.state[name]), np.asarray(its.state[name])
                yield np.array_equal(*values)


def _fields_of_rows(table: EdgeTable) -> list[tuple[Family, FieldEdges]]:
    found = ((family, _field_of_rows(family)) for family in table.families)
    return [(family, field) for family, field in found if field is not None]


def _field_of_rows(family: Family) -> FieldEdges | None:
    """Return the field of a family that has rows, where some are copied."""
    rows = family.cls.strided_rows
    if rows is None:
        return None
    field = _field(family, rows.field)
    is_copied = field.edges.start is None and field.edges.num_elements
    return field if is_copied else None


def _field(family: Family, name: str) -> FieldEdges:
    return next(each for each in family.fields if each.field.name == name)


def _in_place(
    family: Family, field: FieldEdges, table: EdgeTable, layout: ArenaLayout
) -> RowsInPlace | None:
    rows = family.cls.strided_rows
    assert rows is not None
    first, begin, size = field.runs
    kind: np.dtype[Any] = family.cls.fields[rows.stride].element.dtype
    stride = np.full(len(first) - 1, family.state[rows.stride], kind)
    is_several = np.diff(first) > 1
    is_several &= _field(family, rows.columns).edges.length.array() <= stride
    if (own := table.crossings.own.get(field)) is not None:
        is_several &= ~own
    if rows.offset is not None:
        is_several &= np.asarray(family.state[rows.offset]) == 0
    some = np.flatnonzero(is_several)
    if not len(some):
        return None
    begin = layout.byte_positions(begin) // field.field.element.size_bytes
    head, last = first[some], first[some + 1] - 1
    distance = begin[head + 1] - begin[head]
    is_even = (stride[some] == size[head]) & (distance > size[head])
    is_even &= distance <= np.iinfo(kind).max

    # Runs next to each other in an edge, of which each has to be like the first two.
    of = np.repeat(np.arange(len(some)), last - head)
    run = head[of] + np.arange(len(of)) - (np.cumsum(last - head) - (last - head))[of]
    differs = (begin[run + 1] - begin[run] != distance[of]) | (size[run + 1] != size[head][of])
    is_even[of[differs]] = False
    if not is_even.any():
        return None
    chosen, length = np.zeros(len(first) - 1, np.bool_), field.edges.length.array().copy()
    some, head, last = some[is_even], head[is_even], last[is_even]
    chosen[some], stride[some] = True, distance[is_even]
    length[some] = begin[last] - begin[head] + size[last]
    return RowsInPlace(rows.stride, chosen, length, stride)
