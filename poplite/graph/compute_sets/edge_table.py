"""All edges of a compute set: the elements that its vertices access.

Vertices of one class form *families*: each block is one, and all single vertices of the class are
another. The edges of each field of a family are arrays (`poplite.graph.compute_sets.edges`), so
that a regular block costs the same at any size::

    family   vertices    field   start              length
    Add      0 ... 99    x       0, 16, 32 ...      16
                         y       1601, 1617 ...     16
    Sum      100, 101    x       1601, 1701         (1601, 100) (1701, 50) (1800, 50): a gather

Both the checks and the lowering start from this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.arrays.digits import digits_of
from poplite.arrays.intervals import Int64
from poplite.arrays.progressions import grid
from poplite.arrays.series import Series, compact, constant, counting
from poplite.graph.compute_sets.edges import EdgeRuns, Edges, cut, listed, of_views
from poplite.graph.compute_sets.vertex_block import StateValues, Vectors, VertexBlock
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.graph.tensor.tensor import Tensor
from poplite.view import Storage, View, runs_of_many
from poplite.view.contiguous.nested import MOST_RUNS

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
    from poplite.graph.compute_sets.crossings import Crossings
    from poplite.vertex.fields import Field
    from poplite.vertex.vertex import Vertex


class FieldEdges:
    """The edges of one field of a family.

    Attributes:
        numbers: position of each vertex in the compute set.
        position: position of the field in the vertex class.
    """

    def __init__(self, numbers: Series, position: int, field: Field, edges: Edges) -> None:
        self.numbers, self.position, self.field, self.edges = numbers, position, field, edges

    @cached_property
    def runs(self) -> EdgeRuns:
        """The runs of all edges; computed on first access."""
        return self.edges.runs()

    @cached_property
    def envelope(self) -> tuple[int, int]:
        """An interval of addresses that contains all elements; there must be some."""
        spread = self.edges.spread()
        if spread is not None:
            return spread
        _, begin, size = self.runs
        return int(begin.min()), int((begin + size).max())

    def vertex(self) -> Int64:
        """Return int64[edges], the position of each edge's vertex in the compute set."""
        vertex = self.numbers.array()
        return vertex if self.edges.rows.only == 1 else np.repeat(vertex, self.edges.rows.array())

    def row(self) -> Int64:
        """Return int64[edges], the row of each edge in its list."""
        rows = self.edges.rows.array()
        first = np.cumsum(rows) - rows
        return np.arange(int(rows.sum())) - np.repeat(first, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Vertices of one class, described together.

    Attributes:
        cls: their class.
        vertices: the vertices; a block makes each on access.
        numbers: position of each in the compute set.
        fields: the edges of each edge field.
        state: the values of each state field, by name.
    """

    cls: type[Vertex]
    vertices: Sequence[VertexInstance]
    numbers: Series
    fields: tuple[FieldEdges, ...]
    state: Mapping[str, StateValues]

    def tiles(self, num_tiles: int) -> VertexTiles:
        """Return the tile of each vertex; all must have one."""
        vertices = self.vertices
        if isinstance(vertices, VertexBlock):
            return vertices.tiles
        if len(vertices) == 1:
            kind = np.min_scalar_type(num_tiles - 1)
            return VertexTiles(num_tiles, None, np.array([vertices[0].tile], kind))
        return VertexTiles.of(np.array([vertex.tile for vertex in vertices], np.int64), num_tiles)


class EdgeTable:
    """The edges of a compute set, by family: single vertices by class, then blocks.

    Attributes:
        families: the families.
        alike: a table whose compute set is equal but for its variables
            (`poplite.graph.compute_sets.forms`); None without one.
    """

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = tuple(families)
        self.alike: EdgeTable | None = None

    @cached_property
    def fields(self) -> tuple[FieldEdges, ...]:
        """The edges of every field that is connected to any elements."""
        parts = chain.from_iterable(family.fields for family in self.families)
        return tuple([part for part in parts if part.edges.num_elements])

    @cached_property
    def num_elements(self) -> int:
        """Connected elements, including repetitions."""
        return sum([part.edges.num_elements for part in self.fields])

    @cached_property
    def crossings(self) -> Crossings:
        """Overlapping edges of the compute set; computed on first access."""
        # `crossings` imports this module.
        from poplite.graph.compute_sets.crossings import find_crossings

        theirs = None if self.alike is None else self.alike.crossings
        if self.alike is not None and theirs is not None and theirs.are_harmless:
            return theirs.of_fields(dict(zip(self.alike.fields, self.fields, strict=True)))
        return find_crossings(self.fields)


def edge_table(compute_set: ComputeSet) -> EdgeTable:
    """Collect the edges of a compute set whose fields are all connected."""
    by_class: dict[type[Vertex], list[VertexInstance]] = {}
    for vertex in compute_set.vertices.singles():
        by_class.setdefault(vertex.vertex_class, []).append(vertex)
    families = [_family_of_singles(cls, vertices) for cls, vertices in by_class.items()]
    families += [_family_of_block(block) for block in compute_set.vertices.blocks() if len(block)]
    return EdgeTable(families)


def _family_of_block(block: VertexBlock) -> Family:
    numbers = counting(block.first, len(block))
    return _family(block.vertex_class, block, numbers, block.edges, block.state)


def _family_of_singles(cls: type[Vertex], vertices: Sequence[VertexInstance]) -> Family:
    numbers = compact(np.array([vertex.index for vertex in vertices], np.int64))
    edges: dict[str, Edges] = {}
    state: dict[str, StateValues] = {}
    for name, field in cls.fields.items():
        if field.is_edge:
            edges[name] = _edges(field, [vertex.connections[name] for vertex in vertices])
        else:
            state[name] = _state(field, [vertex.state[name] for vertex in vertices])
    return _family(cls, vertices, numbers, edges, state)


def _family(
    cls: type[Vertex],
    vertices: Sequence[VertexInstance],
    numbers: Series,
    edges: Mapping[str, Edges],
    state: Mapping[str, StateValues],
) -> Family:
    fields = tuple(
        FieldEdges(numbers, position, field, edges[name])
        for position, (name, field) in enumerate(cls.fields.items())
        if field.is_edge
    )
    return Family(cls, vertices, numbers, fields, state)


def _edges(field: Field, connected: Sequence[Tensor | tuple[Tensor, ...]]) -> Edges:
    if field.depth < 2:
        views = [tensor.view for tensor in connected if isinstance(tensor, Tensor)]
        return of_views(views, constant(1, len(views)))
    return _edges_of_lists(
        [
            [rows.view] if isinstance(rows, Tensor) else [row.view for row in rows]
            for rows in connected
        ]
    )


def _edges_of_lists(lists: Sequence[Sequence[View]]) -> Edges:
    """Return the edges of vertices that have several each.

    For each vertex, `lists` has the rows of its list, or one 2-D view with all of them.
    """
    views = list(chain.from_iterable(lists))
    counts = [sum([_num_rows(view) for view in several]) for several in lists]
    rows = compact(np.array(counts, np.int64))
    sizes = [size for view in views for size in [view.shape[-1]] * _num_rows(view)]
    length = compact(np.array(sizes, np.int64))
    begins = _plain(views)
    if begins is not None:
        return Edges(rows, length, compact(np.array(begins, np.int64)))
    if length.total() > MOST_RUNS:  # pass rows one by one: the error for too many counts them
        each = [[v.index(k) for k in range(v.shape[0])] if len(v.shape) > 1 else [v] for v in views]
        return of_views(list(chain.from_iterable(each)), rows)
    _, begin, count = runs_of_many(views)
    runs = cut(begin, count, length)
    if (np.diff(runs.first) > 1).any():
        return Edges(rows, length, None, runs)
    return listed(runs.begin, length, rows)


def _num_rows(view: View) -> int:
    return view.shape[0] if len(view.shape) > 1 else 1


def _plain(views: Sequence[View]) -> list[int] | None:
    """Return the starts of rows with consecutive elements; None where that is not easy to see."""
    begins: list[int] = []
    for view in views:
        space, shape, dims = view.space, view.shape, view.dims
        if not isinstance(space, Storage) or 0 in shape or (shape[-1] > 1 and dims[-1] != 1):
            return None
        first = space.base + view.off
        if len(shape) == 1:
            begins.append(first)
        elif isinstance(dims[0], int) and dims[0]:
            begins += range(first, first + shape[0] * dims[0], dims[0])
        else:
            begins += grid(digits_of(shape[0], dims[0]), first).tolist()
    return begins


def _state(field: Field, values: Sequence[Any]) -> StateValues:
    if field.depth == 0:
        return np.array(values, field.element.dtype)
    vectors = [np.asarray(value) for value in values]
    lengths = compact(np.array([len(vector) for vector in vectors], np.int64))
    return Vectors(np.concatenate(vectors).astype(field.element.dtype), lengths)
