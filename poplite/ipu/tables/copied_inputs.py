"""Inputs that share elements with an Output of their own vertex: a copy is read in their place.

The simulator reads the values from before the compute set. A machine does not promise that, so what
such a field reads is copied before the compute set runs, edge behind edge, into a variable on the
tiles of its vertices::

    vertex 0   x: v[0:4]   y: v[2:6]        copy v[0:4], v[4:8] -> before
    vertex 1   x: v[4:8]   y: v[6:10]       vertex 0   x: before[0:4]   y: v[2:6]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact, constant
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges
from poplite.graph.compute_sets.edges import EdgeRuns, Edges
from poplite.graph.graph import Graph
from poplite.types import ElementType


@dataclass(frozen=True, slots=True, eq=False)
class CopiedInput:
    """A field whose vertices read a copy.

    Attributes:
        name: of the variable that holds the copy.
        base: its first address.
        edges: what the vertices read there.
        source: the elements that are copied, as pieces of one edge.
        tiles: the tile of each edge.
    """

    field: FieldEdges
    name: str
    base: int
    edges: Edges
    source: EdgeRuns
    tiles: Int64

    @property
    def element_type(self) -> type[ElementType[Any]]:
        """The element type that the vertices read."""
        return self.field.field.element

    @property
    def destination(self) -> Edges:
        """All of the variable, as one edge."""
        count = self.num_elements
        return Edges(constant(1, 1), constant(count, 1), constant(self.base, 1))

    @property
    def taken(self) -> Edges:
        """What is copied, as one edge."""
        return Edges(constant(1, 1), constant(self.num_elements, 1), None, self.source)

    @property
    def breaks(self) -> Int64:
        """Where the part of each edge begins in the variable, and the end."""
        return _breaks(self.edges)

    @property
    def num_elements(self) -> int:
        """Elements that are copied."""
        return self.edges.num_elements


def copied_inputs(
    graph: Graph, compute_set: ComputeSet, table: EdgeTable, base: int
) -> list[CopiedInput]:
    """Return the fields of a compute set whose vertices read a copy, from an address on."""
    if not table.crossings.own:
        return []
    copied = []
    tiles = np.zeros(len(compute_set.vertices), np.int64)
    for family in table.families:
        tiles[family.numbers.array()] = family.tiles(graph.target.tiles).array()
    for field in table.crossings.own:
        edges = field.edges
        begins = base + _breaks(edges)[:-1]
        runs = field.runs
        own = CopiedInput(
            field,
            f"{compute_set.name}/{field.field.name}/before",
            base,
            Edges(edges.rows, edges.length, compact(begins)),
            EdgeRuns(np.array([0, len(runs.begin)]), runs.begin, runs.size),
            tiles[field.vertex()],
        )
        copied.append(own)
        base += own.num_elements + 1
    return copied


def _breaks(edges: Edges) -> Int64:
    return np.append(0, np.cumsum(edges.length.array()))
