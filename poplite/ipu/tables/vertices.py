"""Compute sets as columns: families of vertices of one class, and their fields.

cs.name, cs.families_end
family.class, .count      the class in C++, and how many vertices
family.stops, .tiles      one past the last vertex of each run on one tile, and its tile
family.cycles, .flops     what each takes, where the user said so
family.fields_end
field.name, .kind, .type  its name in C++
field.of                  by kind: a number of `edges`, of a series, or where values begin
field.length              of a State field of vectors, elements of each vertex
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np

from poplite.arrays.series import Series, compact, progression
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges
from poplite.graph.compute_sets.edges import Edges
from poplite.graph.compute_sets.vertex_block import StateValues, Vectors, VertexBlock
from poplite.ipu.codelets.class_text import declared_fields
from poplite.ipu.codelets.function import member
from poplite.ipu.tables.edges import EdgesTable
from poplite.ipu.tables.series import NONE, ElementBytes, SeriesTable, Texts
from poplite.ipu.tables.variables import type_number
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex


class FieldForm(IntEnum):
    """What stands behind a field."""

    SCALAR_EDGE = 0
    VECTOR_EDGE = 1
    LIST_OF_EDGES = 2
    ONE_VALUE = 3
    SERIES = 4
    """A State field of integers at regular distances."""
    VALUES = 5
    VECTORS = 6


class VertexColumns:
    """Writes down compute sets.

    Args:
        names: the name of each vertex class in C++.
        num_tiles: tiles of the graph.
    """

    def __init__(
        self,
        names: Mapping[type[Vertex], str],
        num_tiles: int,
        texts: Texts,
        series: SeriesTable,
        edges: EdgesTable,
        values: ElementBytes,
    ) -> None:
        self._names, self._num_tiles = names, num_tiles
        self._texts, self._series, self._edges, self._values = texts, series, edges, values
        self._columns: defaultdict[str, list[int]] = defaultdict(list)

    def add(
        self, compute_set: ComputeSet, table: EdgeTable, copied: Mapping[FieldEdges, Edges]
    ) -> None:
        """Write down a compute set; `copied` are edges in place of those of some fields."""
        for family in table.families:
            self._family(family, copied)
        self._row("cs", name=self._texts.number(compute_set.name), families_end=self._count())

    def columns(self) -> dict[str, Sequence[int]]:
        """Return the columns of all compute sets."""
        names = (
            "cs.name cs.families_end family.class family.count family.stops family.tiles "
            "family.cycles family.flops family.fields_end field.name field.kind field.type "
            "field.of field.length"
        )
        return {name: self._columns[name] for name in names.split()}

    def _family(self, family: Family, copied: Mapping[FieldEdges, Edges]) -> None:
        edges = {each.field.name: copied.get(each, each.edges) for each in family.fields}
        for field in declared_fields(family.cls):
            if field.is_edge:
                kind = FieldForm(field.depth)
                self._field(field, kind, self._edges.add(edges[field.name], field.element))
            else:
                self._state(field, family.state[field.name])
        begin, stops, tiles = family.tiles(self._num_tiles).runs()
        estimates = _estimates(family) or (None, None)
        cycles, flops = (NONE if each is None else self._series.add(each) for each in estimates)
        self._row(
            "family",
            **{"class": self._texts.number(self._names[family.cls])},
            count=len(family.vertices),
            stops=self._series.listed(stops),
            tiles=self._series.listed(tiles),
            cycles=cycles,
            flops=flops,
            fields_end=len(self._columns["field.name"]),
        )

    def _state(self, field: Field, state: StateValues) -> None:
        if isinstance(state, Vectors):
            lengths = self._series.add(state.length)
            self._field(field, FieldForm.VECTORS, self._values.add(state.values), lengths)
            return
        array = np.asarray(state, field.element.dtype).reshape(-1)
        if (array.view(f"u{array.itemsize}") == array[:1].view(f"u{array.itemsize}")).all():
            self._field(field, FieldForm.ONE_VALUE, self._values.add(array[:1]))
        elif array.dtype.kind in "iu" and progression(array) is not None:
            number = self._series.add(compact(array.astype(np.int64)))
            self._field(field, FieldForm.SERIES, number)
        else:
            self._field(field, FieldForm.VALUES, self._values.add(array))

    def _field(self, field: Field, kind: FieldForm, of: int, length: int = NONE) -> None:
        self._row(
            "field",
            name=self._texts.number(member(field.name)),
            kind=kind,
            type=type_number(field.element),
            of=of,
            length=length,
        )

    def _row(self, table: str, **numbers: int) -> None:
        for name, number in numbers.items():
            self._columns[f"{table}.{name}"].append(number)

    def _count(self) -> int:
        return len(self._columns["family.class"])


def _estimates(family: Family) -> tuple[Series, Series] | None:
    """Return cycles and flops of each vertex, 0 where the user did not say; None where never."""
    vertices = family.vertices
    if isinstance(vertices, VertexBlock):
        if vertices.estimates is None:
            return None
        cycles, flops = vertices.estimates
        return compact(cycles), compact(flops)
    estimates = [vertex.estimate for vertex in vertices]
    if not any(estimates):
        return None
    pairs = [(each.cycles, each.flops) if each else (0, 0) for each in estimates]
    both = np.array(pairs, np.int64)
    return compact(both[:, 0]), compact(both[:, 1])
