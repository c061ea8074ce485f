"""Vertices in numbers: their edges, their classes, and how many run on each tile.

>>> from poplite.graph import Graph
>>> vertices_map(Graph().add_compute_set("blur")).notes
['0 vertices on 0 of 1,472 tiles']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.tile_mapping import ranges
from poplite.text import amount
from poplite.viz.draw.columns import cut
from poplite.viz.draw.units import name_text
from poplite.viz.tile_map import TileMap

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.tensor.tensor import Tensor
    from poplite.vertex.vertex import Field, Vertex

Vertices = VertexInstance | VertexBlock

SHOWN_CLASSES = 6
LONGEST_CLASS = 32


def edges_of(vertex: VertexInstance) -> Iterator[tuple[Field, Tensor]]:
    """Yield the connected edges of a vertex: the field, and the tensor behind it.

    Each row of a list of edges is one.

    >>> import poplite as pl
    >>> class Sum(pl.Vertex):
    ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    ...     def compute(self) -> None:
    ...         pass
    >>> graph = pl.Graph()
    >>> vertex = graph.add_vertex(graph.add_compute_set("sum"), Sum)
    >>> graph.connect(vertex["rows"][1], graph.add_variable(pl.FLOAT, (4,), "x"))
    >>> [tensor.name for _, tensor in edges_of(vertex)]
    ['x']
    """
    fields = vertex.vertex_class.fields
    for name, value in vertex.connections.items():
        if name not in vertex.rows:
            for tensor in value if isinstance(value, tuple) else (value,):
                yield fields[name], tensor
    for name, rows in vertex.rows.items():  # connected one by one, perhaps with gaps
        for tensor in rows.values():
            yield fields[name], tensor


def num_edges(vertices: Iterable[Vertices]) -> int:
    """Count the edges of vertices, single ones and blocks.

    >>> num_edges([])
    0
    """
    return sum(
        vertex.num_edges if isinstance(vertex, VertexBlock) else sum(1 for _ in edges_of(vertex))
        for vertex in vertices
    )


def class_counts(vertices: Iterable[Vertices]) -> tuple[tuple[str, int], ...]:
    """Return name and vertices of each class, most first, else in the order met.

    Classes that have the same name are counted separately.

    >>> class_counts([])
    ()
    """
    counts: Counter[type[Vertex]] = Counter()
    for vertex in vertices:
        counts[vertex.vertex_class] += len(vertex) if isinstance(vertex, VertexBlock) else 1
    return tuple((cls.__name__, count) for cls, count in counts.most_common())


def classes_text(counts: Sequence[tuple[str, int]]) -> str:
    """Return the largest classes in words; `counts` begins with them.

    >>> classes_text([("Blur", 2000), ("Add", 4)])
    'Blur 2,000, Add 4'
    """
    shown = [
        f"{cut(name_text(name), LONGEST_CLASS)} {count:,}" for name, count in counts[:SHOWN_CLASSES]
    ]
    hidden = len(counts) - len(shown)
    return ", ".join(shown + ([amount(hidden, "more class", "more classes")] if hidden else []))


def vertices_map(compute_set: ComputeSet) -> TileMap:
    """Return the tile map of a compute set, in vertices."""
    vertices, tiles = compute_set.vertices, compute_set.graph.target.tiles
    placed = [vertex.tile for vertex in vertices.singles() if vertex.tile is not None]
    count = np.bincount(np.array(placed, np.int64), minlength=tiles)
    for block in vertices.blocks():
        count += block.tiles.counts()
    used = np.flatnonzero(count)
    where = f" ({ranges(used)})" if 0 < len(used) < len(count) else ""
    on = f"on {len(used):,} of {amount(len(count), 'tile')}{where}"
    missing = len(vertices) - int(count.sum())
    have = "has" if missing == 1 else "have"
    return TileMap(
        f"vertices per tile: '{name_text(compute_set.name)}'",
        [f"{_vertices(int(count.sum()))} {on}"]
        + ([f"! {_vertices(missing)} {have} no tile"] if missing else []),
        count,
        count < 0,
        [_vertices(n) for n in count.tolist()],
        _vertices,
        ipus=compute_set.graph.target.ipus,
    )


def _vertices(count: int) -> str:
    return amount(count, "vertex", "vertices")
