"""The bytes of vertices on their tile, besides the elements that they are connected to.

    class Dot(Vertex):                                     bytes of a vertex
        x: Input[Vector[FLOAT]]                            8   pointer and count
        rows: Input[Vector[Vector[FLOAT]]]                 8   pointer and count, and a descriptor:
                                                               pointer and count for each row
        scale: State[FLOAT]                                4
        taps: State[Vector[HALF]]                          8   pointer and count, and the values
        total: Output[FLOAT]                               4   pointer

Fields lie in the order of the class, each at a multiple of its own size, as in C++.  A tile has the
code of a class once, and a table that points to the state and the code of each of its vertices.

Source: Poplar user guide, "Vertex vector types"; PopVision, "Vertex data".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, constant
from poplite.graph.compute_sets.vertex_block import Vectors, VertexBlock
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.jit.kernels.allocation import aligned
from poplite.report.memory import Category
from poplite.source import SourceLocation
from poplite.vertex.fields import Field
from poplite.vertex.layouts import VectorLayout, VectorListLayout
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.machine.target import Target


class VertexBytes:
    """Adds up the bytes of vertices, class by class.

    Attributes:
        found: int64[tiles], bytes of each category, by class.
        at: the user's line that adds the first vertices of a class.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.found: dict[type[Vertex], dict[Category, Int64]] = {}
        self.at: dict[type[Vertex], SourceLocation] = {}
        self._entry = int(target.cost("vertex_entry_bytes"))
        self._instances: dict[type[Vertex], int] = {}

    def add(self, table: EdgeTable) -> Int64:
        """Add the vertices of a compute set; return int64[n], the tiles that run some of them."""
        running = [np.zeros(0, np.int64)]
        for family in table.families:
            cls, tiles, made = family.cls, family.tiles(self._target.tiles), family.vertices
            first = made if isinstance(made, VertexBlock) else made[0]
            self.at.setdefault(cls, first.location)
            running.append(tiles.array() if tiles.count == 1 else tiles.used())
            each = constant(1, tiles.count)
            self._add(cls, "vertex_instance_state", tiles, each, self._instance(cls))
            self._add(cls, "control_table", tiles, each, self._entry)
            for part in family.fields:
                if part.field.depth == 2:
                    size = self._pointer(part.field, of_row=True)
                    self._add(cls, "vector_list_descriptor", tiles, part.edges.rows, size)
            for name, values in family.state.items():
                if isinstance(values, Vectors):
                    size = cls.fields[name].element.size_bytes
                    self._add(cls, "vertex_field_data", tiles, values.length, size)
        return running[-1] if len(running) == 2 else np.unique(np.concatenate(running))

    def _add(
        self, cls: type[Vertex], category: Category, tiles: VertexTiles, numbers: Series, size: int
    ) -> None:
        """Add bytes of vertices that have these numbers of things of `size` bytes."""
        found = self.found.setdefault(cls, {})
        if category not in found:
            found[category] = np.zeros(self._target.tiles, np.int64)
        if tiles.count == 1:
            found[category][tiles.at(0)] += numbers.at(0) * size
        else:
            found[category] += by_tile(tiles, numbers) * size

    def _instance(self, cls: type[Vertex]) -> int:
        """Return the bytes of a vertex, with the gaps between its fields."""
        if cls not in self._instances:
            self._instances[cls] = self._size(cls)
        return self._instances[cls]

    def _size(self, cls: type[Vertex]) -> int:
        end = widest = 0
        for field in cls.fields.values():
            if field.is_edge or field.depth:
                size = self._pointer(field)
                align = min(size, int(self._target.cost("pointer_bytes")))
            else:
                size = align = field.element.size_bytes
            end, widest = aligned(end, align) + size, max(widest, align)
        return aligned(end, max(widest, 1))

    def _pointer(self, field: Field, *, of_row: bool = False) -> int:
        """Return the bytes stored for an edge, a vector, or a row of a list of vectors."""
        pointer, count = (int(self._target.cost(name)) for name in ("pointer_bytes", "count_bytes"))
        if field.depth == 0:
            return pointer
        layout = field.layout.vector
        if isinstance(layout, VectorListLayout):
            delta = int(self._target.cost("delta_bytes"))
            return delta if of_row else pointer + pointer + count
        if field.depth == 2 and not of_row:
            return pointer + count
        if layout is VectorLayout.SPAN:
            return pointer + count
        if layout in (VectorLayout.SHORT_SPAN, VectorLayout.ONE_PTR, VectorLayout.COMPACT_PTR):
            return pointer
        return int(self._target.cost("scaled_pointer_bytes"))


def by_tile(tiles: VertexTiles, numbers: Series) -> Int64:
    """Return int64[tiles], the sum over each tile of a number for each vertex.

    >>> from poplite.arrays.series import compact
    >>> tiles = VertexTiles.of(np.array([0, 2, 2]), 4)
    >>> by_tile(tiles, compact(np.array([5, 1, 7]))).tolist()
    [5, 0, 8, 0]
    """
    if (only := numbers.only) is not None:
        return tiles.counts() * only
    total = np.zeros(tiles.num_tiles, np.int64)
    np.add.at(total, tiles.array(), numbers.array())
    return total
