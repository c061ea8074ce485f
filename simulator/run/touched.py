"""The elements that vertices of a compute set access, by field, from descriptor rows.

    field        its edges: vertex, row, first element, length
    Sum.x        0  0  128  16        elements   128 ... 143, 144 ... 159
                 1  0  144  16
    Sum.total    0  0  512   1                   512, 513
                 1  0  513   1

Elements are numbered as in the rows, from the start of the arena, in units of the field's type.
Gathered elements are in temporaries.

Messages name them as elements of the graph's tensors::

    contiguous      the bytes of the field are those of a variable    'cells'[95, 0:32]
    gathered        the bytes are a copy in temporaries; the copy's   'cells'[0:8, 3]
                    moves give the source of each byte
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ApplicationRuntimeError
from poplite.executable.encoding import COUNT_WORD, NUMBER, Moves, positions
from poplite.executable.parts import ArenaLayout, ComputeStep, StoredVariable, Vertices
from poplite.frozen import frozen
from poplite.text import element_range, indexed
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex


@frozen(eq=False)
class FieldRows:
    """The edges of one field in vertices of one class, in elements of the field's type.

    Attributes:
        vertex: int64[edges], position of each edge's vertex in its compute set.
        row: int64[edges], row of each edge in its list.
        start: int64[edges], first element, from the start of the arena.
        length: int64[edges], number of elements.
    """

    field: Field
    vertex: Int64
    row: Int64
    start: Int64
    length: Int64


@frozen(eq=False)
class FieldElements:
    """The elements of one field in vertices of one class.

    Attributes:
        vertex: int64[edges], position of each edge's vertex in its compute set.
        row: int64[edges], row of each edge in its list.
        end: int64[edges], number of elements of all edges up to and including this one.
        elements: int64[elements], positions of the elements, edge by edge.
    """

    cls: type[Vertex]
    field: Field
    vertex: Int64
    row: Int64
    end: Int64
    elements: Int64

    @property
    def size(self) -> int:
        """Size of an element in bytes."""
        return self.field.element.size_bytes

    def vertex_of(self, number: int) -> int:
        """Return the vertex, by its position in the compute set, of `elements[number]`."""
        return int(self.vertex[self._edge(number)])

    def _edge(self, number: int) -> int:
        return int(np.searchsorted(self.end, number, side="right"))

    def name(self, number: int) -> str:
        """Return the name of `elements[number]` in `compute`: `'Sum.x'[3]`."""
        edge = self._edge(number)
        begin = int(self.end[edge - 1]) if edge else 0
        index = "" if self.field.depth == 0 else f"[{number - begin:,}]"
        row = f"[{int(self.row[edge]):,}]" if self.field.depth == 2 else ""
        return f"'{self.cls.__name__}.{self.field.name}'{row}{index}"


def touched(step: ComputeStep) -> list[FieldElements]:
    """Return the elements that vertices access, except metadata and empty fields."""
    return [elements_of(cls, rows) for cls, rows in edges_of(step)]


def edges_of(step: ComputeStep) -> list[tuple[type[Vertex], FieldRows]]:
    """Return all edges of a compute set, except those of metadata and of empty fields."""
    return [
        (group.cls, rows)
        for group in step.groups
        for rows in field_rows(group)
        if not rows.field.is_implicit and rows.length.any()
    ]


def elements_of(cls: type[Vertex], rows: FieldRows) -> FieldElements:
    """Return the elements of the given edges of one field of a class."""
    elements = ranges(rows.start, rows.length)
    ends = np.cumsum(rows.length)
    return FieldElements(cls, rows.field, rows.vertex, rows.row, ends, elements)


def vertex_numbers(group: Vertices) -> Int64:
    """Return the position of each vertex of a group in its compute set, run by run."""
    return numbers_of(group, numbers_only=True)[0][NUMBER]["number"]


def starts_and_lengths(group: Vertices) -> dict[str, tuple[Int64, Int64]]:
    """Return the first element and the number of elements of each field, int64[vertices].

    Lists are omitted.
    """
    parts, _ = numbers_of(group)
    one = np.ones(len(parts[NUMBER]["number"]), np.int64)
    return {
        field.name: (part["start"], part.get("length", one))
        for position, field in enumerate(group.cls.fields.values())
        if field.depth < 2 and "start" in (part := parts.get(position, {}))
    }


def field_rows(group: Vertices) -> list[FieldRows]:
    """Return the edges of a group by field, including metadata."""
    return numbers_and_rows(group)[1]


GroupRows = tuple[Int64, list[FieldRows]]
"""The positions of the vertices of a group in their compute set, and their edges by field."""


def numbers_and_rows(group: Vertices, *, with_state: bool = False) -> GroupRows:
    """Return the results of `vertex_numbers` and `field_rows`, optionally with state fields."""
    parts, tables = numbers_of(group)
    vertex = parts[NUMBER]["number"]
    return vertex, [
        _of_field(field, vertex, parts[position], tables.get(position))
        for position, field in enumerate(group.cls.fields.values())
        if field.is_edge or with_state
    ]


def numbers_of(
    group: Vertices, *, numbers_only: bool = False
) -> tuple[dict[int, dict[str, Int64]], dict[int, Int64]]:
    """Return the descriptor words of all vertices by field and part, and list fields' tables."""
    counts = group.rows[:, COUNT_WORD]
    within = numbers_within(counts)
    # A single run needs no look-up.
    run = np.repeat(np.arange(len(counts)), counts) if len(counts) != 1 else np.zeros(1, np.int64)
    parts: dict[int, dict[str, Int64]] = {}
    tables: dict[int, Int64] = {}
    for number, (column, at) in enumerate(positions(group.columns)):
        if numbers_only and column.field != NUMBER:
            continue
        words = group.rows[run, at]
        if column.kind == "affine":
            words = words + within * group.rows[run, at + 1]
        elif column.kind == "flat":
            words = words + group.tables[number][group.rows[run, at + 1] + within]
        elif column.kind == "table":
            tables[column.field] = group.tables[number]
        if len(words) != len(within):
            words = np.full(len(within), words[0])
        parts.setdefault(column.field, {})[column.part] = words
    return parts, tables


def _of_field(
    field: Field, vertex: Int64, part: dict[str, Int64], table: Int64 | None
) -> FieldRows:
    if table is None and "rows" not in part:  # one edge for each vertex
        length = part["length"] if "length" in part else np.ones(len(vertex), np.int64)
        return FieldRows(field, vertex, np.zeros(len(vertex), np.int64), part["start"], length)
    rows = part.get("rows", np.ones(len(vertex), np.int64))
    edge = np.repeat(np.arange(len(vertex)), rows)
    row = numbers_within(rows)
    if table is None:
        one = np.ones(len(vertex), np.int64)
        start = part["start"][edge] + row * part.get("stride", one)[edge]
        length = part.get("length", one)[edge]
    else:
        at = part["pairs" if "pairs" in part else "wide"] + part["first"]
        start, length = table[at[edge] + row].astype(np.int64).T
        start = start + part["base"][edge]
    return FieldRows(field, vertex[edge], row, start, length)


def ranges(start: Int64, length: Int64) -> Int64:
    """Return the integers in ranges, concatenated; starts and lengths are int64[n].

    >>> ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    return np.repeat(start, length) + numbers_within(length)


def numbers_within(lengths: Int64) -> Int64:
    """Return 0, 1, ..., length - 1 for each length, concatenated."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)


# -- names of elements -----------------------------------------------------------------------------


MOST_ELEMENTS = 1 << 16
"""Maximum number of elements of a field that a message examines one by one.

Of a larger field only the first and the last element are examined.
"""


def behind_field(
    step: ComputeStep, vertex: int, field: str, row: int | None, layout: ArenaLayout
) -> str:
    """Return text for the elements of a vertex's field, or of one row; empty if there are none."""
    for edges in (each for group in step.groups for each in field_rows(group)):
        own = (edges.vertex == vertex) & (edges.length > 0)
        if row is not None:
            own &= edges.row == row
        if edges.field.name == field and own.any():
            start, length = edges.start[own], edges.length[own]
            count, found = int(length.sum()), np.array([start[0], start[-1] + length[-1] - 1])
            if count <= MOST_ELEMENTS:
                found = ranges(start, length)
            positions = found * edges.field.element.size_bytes
            return _named(positions, count, step.gather, layout)
    return ""


def _named(positions: Int64, count: int, gather: Moves, layout: ArenaLayout) -> str:
    """Return text for the elements at byte positions: all `count`, or the first and the last."""
    if positions[0] >= layout.temporary_base:
        positions = gathered_from(gather, positions)
    (first, begin), (last, end) = (layout.variable_at(int(positions[k])) for k in (0, -1))
    size = first.element_type.size_bytes
    at = begin + (positions - positions[0]) // size
    if first is not last or at.min() < 0 or at.max() >= first.num_elements:
        return f"{element_name(first, begin)} to {element_name(last, end)}, gathered"
    is_all = len(at) == count
    if count == end - begin + 1 and (not is_all or (np.diff(at) == 1).all()):
        return element_range(first.name, first.shape, begin, end + 1)
    if not is_all:
        return f"{element_name(first, begin)} to {element_name(first, end)}"
    return _box(first, at) or (
        f"{element_name(first, begin)} to {element_name(first, end)}, gathered"
    )


def _box(variable: StoredVariable, at: Int64) -> str:
    """Return text for elements that form a slice in every dimension; otherwise an empty text."""
    dims = [np.unique(part) for part in np.unravel_index(at, variable.shape)]
    steps = [np.unique(np.diff(part)) for part in dims]
    is_box = int(np.prod([len(part) for part in dims])) == len(at) == len(np.unique(at))
    if not is_box or max(map(len, steps), default=0) > 1:
        return ""
    texts = []
    for part, step in zip(dims, steps, strict=True):
        by = f":{step[0]}" if len(step) and step[0] > 1 else ""
        texts.append(f"{part[0]}:{part[-1] + 1}{by}" if len(part) > 1 else str(part[0]))
    return indexed(variable.name, texts)


def element_name(variable: StoredVariable, index: int) -> str:
    """Return the name of an element in the graph, `'x'[3, 1]`."""
    return element_range(variable.name, variable.shape, index, index + 1)


def gathered_from(gather: Moves, positions: Int64) -> Int64:
    """Return the sources from which bytes of temporaries, int64[n], were gathered."""
    found = moved_from(gather, positions)
    if (found < 0).any():  # only in a modified file: compiled code gathers all of them
        raise ApplicationRuntimeError(
            "a vertex has elements to which no data are copied",
            found="the program was modified after compilation",
            fix="compile it again, and save it: executable.save(path)",
        )
    return found


def moved_from(moves: Moves, positions: Int64) -> Int64:
    """Return the sources of bytes, int64[n], that copies write; -1 for other bytes."""
    blocks = moves.blocks()
    if not len(blocks[0]):
        return np.full(len(positions), -1)
    order = np.argsort(blocks[0], kind="stable")
    to, start, size = (each[order] for each in blocks)
    block = np.maximum(np.searchsorted(to, positions, side="right") - 1, 0)
    offset = positions - to[block]
    is_here = (offset >= 0) & (offset < size[block])
    return np.where(is_here, start[block] + offset, -1)
