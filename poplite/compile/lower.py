"""From a compute set to launches: pointers where fields are contiguous, copies where not.

A field whose elements are one run points straight into its variable.  Any other field gets a
temporary: gathered before the vertices run (also for outputs, whose unwritten elements keep
their value) and scattered afterwards if it is written.  An Input that overlaps an Output of
its own vertex is gathered too, so that it reads the values from before the compute set
whether or not its elements happen to be contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.compile.affine import affine_runs
from poplite.compile.descriptor import Forms, RowForm, columns, positions, width
from poplite.compile.edges import EdgeTable
from poplite.compile.layout import ArenaLayout
from poplite.compile.records import copy_records
from poplite.compile.step import ComputeStep, CopyStep, Moves, Vertices
from poplite.view import View, runs

if TYPE_CHECKING:
    from poplite.graph import ComputeSet
    from poplite.program import Copy
    from poplite.vertex import Field, Vertex

Integers = npt.NDArray[np.int64]

VERTEX_OVERHEAD = 8
"""Work of starting one vertex, in elements; only balances chunks."""

TEMPORARY_ALIGNMENT = 16
"""Bytes that each gathered field is aligned to: a vector register's worth of loads."""

_NONE = np.zeros(0, np.int64)


def lower_copy(copy: Copy, layout: ArenaLayout) -> CopyStep:
    """Lower a Copy: pair the runs of source and destination.

    Args:
        copy: the program step.
        layout: where variables lie.
    """
    size = copy.source.element_type.size_bytes
    destination, source = (
        _byte_runs(view, size, layout) for view in (copy.destination.view, copy.source.view)
    )
    name = f"{copy.source.name} to {copy.destination.name}"
    return CopyStep(name, Moves(copy_records(destination, source)))


def _byte_runs(view: View, size: int, layout: ArenaLayout) -> tuple[Integers, Integers]:
    begin, count = runs(view)
    return layout.byte_positions(begin), count * size


def lower_compute_sets(
    compute_sets: Iterable[tuple[ComputeSet, EdgeTable]], layout: ArenaLayout, *, checked: bool
) -> list[ComputeStep]:
    """Lower compute sets that have passed their checks.

    Args:
        compute_sets: each with its edges.
        layout: where variables lie; state is placed and temporaries are reserved in it.
        checked: whether indices are checked, so that what is written is saved first.
    """
    lowerings = [_Lowering(*each, layout, checked) for each in compute_sets]
    # Temporaries begin where state ends, so all state is placed first.
    for lowering in lowerings:
        lowering.place_state()
    return [lowering.step() for lowering in lowerings]


class _Lowering:
    """The arrays that lowering one compute set goes through."""

    def __init__(
        self, compute_set: ComputeSet, edges: EdgeTable, layout: ArenaLayout, checked: bool
    ) -> None:
        self.compute_set, self.edges, self.layout = compute_set, edges, layout
        self.checked = checked
        self.classes = list(dict.fromkeys(v.vertex_class for v in compute_set.vertices))
        numbers = {cls: number for number, cls in enumerate(self.classes)}
        self.class_of = np.array([numbers[v.vertex_class] for v in compute_set.vertices], np.int64)
        most = max((len(cls.fields) for cls in self.classes), default=0)
        sizes = np.zeros((len(self.classes), most), np.int64)
        writes = np.zeros_like(sizes, bool)
        for number, cls in enumerate(self.classes):
            for position, field in enumerate(cls.fields.values()):
                sizes[number, position] = field.element.size_bytes
                writes[number, position] = field.writes
        edge_class = self.class_of[edges.vertex]
        self.size = sizes[edge_class, edges.field]
        self.writes = writes[edge_class, edges.field]
        self.weight = np.full(len(compute_set.vertices), VERTEX_OVERHEAD, np.int64)
        np.add.at(self.weight, edges.vertex, edges.length)

    def place_state(self) -> None:
        """Put the values of state fields into the arena."""
        self.state = [self._state_columns(cls) for cls in self.classes]

    def step(self) -> ComputeStep:
        """Place edges and write down the launches."""
        groups = tuple(self._groups())
        gather, scatter = self._moves()
        save, restore = self._saves()
        return ComputeStep(
            name=self.compute_set.name,
            num_vertices=len(self.compute_set.vertices),
            gather=gather,
            save=save,
            groups=groups,
            scatter=scatter,
            restore=restore,
        )

    # -- where edges start -------------------------------------------------------------------

    def _groups(self) -> Iterable[Vertices]:
        self._place_edges()
        for number, columns_of_state in enumerate(self.state):
            yield from self._class_groups(number, columns_of_state)

    def _place_edges(self) -> None:
        edges = self.edges
        num_runs = np.diff(edges.ptr)
        self.temporary = (num_runs > 1) | self._reads_own_output()
        self.position = np.zeros(len(edges), np.int64)
        direct = (num_runs == 1) & ~self.temporary
        self.position[direct] = self.layout.byte_positions(edges.begin[edges.ptr[:-1][direct]])
        room = np.where(self.temporary, edges.length * self.size, 0)
        room = (room + TEMPORARY_ALIGNMENT - 1) // TEMPORARY_ALIGNMENT * TEMPORARY_ALIGNMENT
        ends = np.cumsum(room)
        self.temporary_end = int(ends[-1]) if len(ends) else 0
        first = self.layout.temporary_base + ends - room
        self.position[self.temporary] = first[self.temporary]
        self.layout.reserve_temporaries(self.temporary_end)

    def _reads_own_output(self) -> npt.NDArray[np.bool_]:
        """Which edges only read, and overlap what is written in this compute set.

        The race check has passed, so what they overlap belongs to their own vertex.
        """
        edges = self.edges
        of_run = np.repeat(np.arange(len(edges)), np.diff(edges.ptr))
        written = self.writes[of_run]
        order = np.argsort(edges.begin[written])
        begin = edges.begin[written][order]
        end = begin + edges.count[written][order]
        overlapping = np.zeros(len(edges), bool)
        if len(begin):
            first, last = edges.begin, edges.begin + edges.count
            # Written runs are disjoint: the last that starts before `last` decides.
            before = np.searchsorted(begin, last, side="left") - 1
            hit = (before >= 0) & (end[before] > first) & (edges.count > 0)
            overlapping[of_run[hit & ~written]] = True
        return overlapping

    # -- descriptor rows ---------------------------------------------------------------------

    def _class_groups(
        self, number_of_class: int, state: dict[tuple[int, str], Integers]
    ) -> Iterable[Vertices]:
        cls = self.classes[number_of_class]
        members = np.flatnonzero(self.class_of == number_of_class)
        in_class = self.class_of[self.edges.vertex] == number_of_class
        fields = list(cls.fields.values())
        parts, tables = dict(state), {}
        regular = np.ones((len(members), len(fields)), bool)
        for number, field in enumerate(fields):
            if not field.is_edge:
                continue
            chosen = np.flatnonzero(in_class & (self.edges.field == number))
            start = self.position[chosen] // field.element.size_bytes
            length = self.edges.length[chosen]
            if field.depth < 2:
                parts[number, "start"], parts[number, "length"] = start, length
            else:
                rows = np.searchsorted(self.edges.vertex[chosen], members, side="right")
                rows = np.diff(np.concatenate([np.zeros(1, np.int64), rows]))
                lists = _RowLists(start, length, rows)
                parts |= {(number, part): values for part, values in lists.parts().items()}
                tables[number] = np.stack([start, length], axis=1).ravel()
                regular[:, number] = lists.regular
        for forms, chosen in _by_form(fields, regular):
            yield self._group(cls, forms, members, chosen, parts, tables)

    def _group(
        self,
        cls: type[Vertex],
        forms: Forms,
        members: Integers,
        chosen: Integers,
        parts: dict[tuple[int, str], Integers],
        tables: dict[int, Integers],
    ) -> Vertices:
        described = columns(list(cls.fields.values()), forms)
        values = {c: parts[c.field, c.part][chosen] for c in described}
        moving = [members[chosen], *(values[c] for c in described if c.affine)]
        fixed = [np.zeros(len(chosen), np.int64)]
        fixed += [values[c] for c in described if not c.affine]
        first, count, steps = affine_runs(np.stack(moving, 1), np.stack(fixed, 1))
        rows = np.empty((len(first), width(described)), np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = count, members[chosen][first], steps[:, 0]
        used = {number: table for number, table in tables.items() if forms[number] == "table"}
        table_at = dict(zip(used, _starts(used.values()), strict=True))
        step = 1
        for column, at in positions(described):
            rows[:, at] = values[column][first]
            if column.part == "table":
                rows[:, at] += table_at[column.field]
            if column.affine:
                rows[:, at + 1] = steps[:, step]
                step += 1
        weights = np.add.reduceat(self.weight[members[chosen]], first)
        return Vertices(cls, forms, rows, np.concatenate([_NONE, *used.values()]), weights)

    def _state_columns(self, cls: type[Vertex]) -> dict[tuple[int, str], Integers]:
        vertices = [v for v in self.compute_set.vertices if v.vertex_class is cls]
        placed: dict[tuple[int, str], Integers] = {}
        for number, field in enumerate(cls.fields.values()):
            if field.is_edge:
                continue
            given = [vertex.state[field.name] for vertex in vertices]
            if field.depth == 0:
                placed[number, "start"] = self._place_scalars(field, given)
            else:
                vectors: list[npt.NDArray[Any]] = [np.asarray(v) for v in given]
                length = np.array([len(v) for v in vectors], np.int64)
                values = np.concatenate(vectors).astype(field.element.dtype)
                at = self.layout.place_state(values) // field.element.size_bytes
                placed[number, "start"] = at + np.cumsum(length) - length
                placed[number, "length"] = length
        return placed

    def _place_scalars(self, field: Field, given: list[Any]) -> Integers:
        values = np.array(given, field.element.dtype)
        alike = bool(
            (values.view(np.uint8) == np.tile(values[:1].view(np.uint8), len(values))).all()
        )
        at = self.layout.place_state(values[:1] if alike else values) // field.element.size_bytes
        return at + (np.zeros(len(values), np.int64) if alike else np.arange(len(values)))

    # -- gathers and scatters ----------------------------------------------------------------

    def _moves(self) -> tuple[Moves, Moves]:
        edges = self.edges
        of_run = np.repeat(np.arange(len(edges)), np.diff(edges.ptr))
        moved = np.flatnonzero(self.temporary[of_run])
        edge, size = of_run[moved], edges.count[moved] * self.size[of_run[moved]]
        there = self.layout.byte_positions(edges.begin[moved])
        # A run's place in its temporary: bytes of the runs before it in the same edge.
        before = np.cumsum(size) - size
        is_first = np.concatenate([[True], edge[1:] != edge[:-1]]) if len(edge) else edge == 0
        base = before[is_first][np.cumsum(is_first) - 1] if len(edge) else before
        here = self.position[edge] + before - base
        back = self.writes[edge]
        gather = copy_records((here, size), (there, size))
        scatter = copy_records((there[back], size[back]), (here[back], size[back]))
        return Moves(gather), Moves(scatter)

    def _saves(self) -> tuple[Moves, Moves]:
        """Copies of what vertices write in place, behind the temporaries, and back.

        After a fault they make memory what it was before the compute set.
        """
        kept = self.writes & ~self.temporary & (self.edges.length > 0)
        kept &= self.checked
        there, size = self.position[kept], (self.edges.length * self.size)[kept]
        here = self.layout.temporary_base + self.temporary_end + np.cumsum(size) - size
        self.layout.reserve_temporaries(self.temporary_end + int(size.sum()))
        save = copy_records((here, size), (there, size))
        return Moves(save), Moves(copy_records((there, size), (here, size)))


class _RowLists:
    """The rows of one list field over all vertices of a class.

    Args:
        start: int64[all rows], first element of each row.
        length: int64[all rows].
        rows: int64[vertices], rows of each vertex.
    """

    def __init__(self, start: Integers, length: Integers, rows: Integers) -> None:
        self.start, self.length, self.rows = start, length, rows
        self.offset = np.cumsum(rows) - rows
        some = rows > 0
        self.first = np.zeros(len(rows), np.int64)
        self.first[some] = start[self.offset[some]]
        self.row_length = np.zeros(len(rows), np.int64)
        self.row_length[some] = length[self.offset[some]]
        several = rows > 1
        self.stride = np.zeros(len(rows), np.int64)
        self.stride[several] = start[self.offset[several] + 1] - self.first[several]
        vertex = np.repeat(np.arange(len(rows)), rows)
        row = np.arange(len(start)) - self.offset[vertex]
        even = (start == self.first[vertex] + row * self.stride[vertex]) & (
            length == self.row_length[vertex]
        )
        self.regular = np.ones(len(rows), bool)
        np.logical_and.at(self.regular, vertex, even)

    def parts(self) -> dict[str, Integers]:
        """Return the columns of both forms."""
        return {
            "start": self.first,
            "rows": self.rows,
            "stride": self.stride,
            "length": self.row_length,
            "table": 2 * self.offset,
        }


def _by_form(
    fields: list[Field], regular: npt.NDArray[np.bool_]
) -> Iterable[tuple[Forms, Integers]]:
    """Group vertices by the forms of their list fields, in order of first appearance."""
    kinds, first, inverse = np.unique(regular, axis=0, return_index=True, return_inverse=True)
    for kind in np.argsort(first):
        forms = tuple(_form(f, bool(even)) for f, even in zip(fields, kinds[kind], strict=True))
        yield forms, np.flatnonzero(inverse.ravel() == kind)


def _form(field: Field, regular: bool) -> RowForm | None:
    if field.depth < 2:
        return None
    return "stride" if regular else "table"


def _starts(arrays: Iterable[Integers]) -> list[int]:
    starts, at = [], 0
    for array in arrays:
        starts.append(at)
        at += len(array)
    return starts
