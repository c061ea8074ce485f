"""Blocks of vertices: many of one class, stored as arrays.

    block = graph.add_vertices(cs, Add, tile=tiles, x=x, y=y, out=out)      10^6 vertices

    block.edges["x"]     start and length of every edge (`poplite.graph.compute_sets.edges`)
    block.tiles          runs of tiles
    block[5]             a VertexInstance and its tensors, made on access

There is no Python object for a vertex until it is accessed, and a regular field takes as much
memory for a million vertices as for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.digits import locate, pack
from poplite.arrays.intervals import Int64
from poplite.arrays.series import OnAccess, Series, Steps
from poplite.errors import GraphConnectionError, made_by
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import (
    ComputeSet,
    VertexInstance,
    new_vertex,
    vertex_number,
)
from poplite.graph.compute_sets.edges import EdgeRuns, Edges, VertexTiles
from poplite.graph.compute_sets.perf_estimates import (
    VertexPerfEstimate,
    checked_estimate,
    checked_estimates,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.text import amount, fitted
from poplite.view import Storage, View, concat, empty

if TYPE_CHECKING:
    from poplite.vertex.vertex import Field, Vertex


@frozen(eq=False)
class Vectors:
    """The values of a State field of vectors: of all vertices in order, and the number of each."""

    values: npt.NDArray[Any]
    length: Series


StateValues = bool | int | float | npt.NDArray[Any] | Vectors
"""One number for all vertices, an array with one for each, or vectors."""


@made_by("graph.add_vertices(cs, V, tile=[0, 1], ...)")
class VertexBlock(OnAccess[VertexInstance]):
    """Vertices that one call of `graph.add_vertices` added.

    Attributes:
        graph: the graph they belong to.
        compute_set: their compute set.
        vertex_class: their class.
        first: position of the first one in the compute set.
        location: the user's line that added them.
        tiles: the tile of each.
        edges: the edges of each edge field, by name.
        state: the values of each state field, by name.
        constants: tensors made for plain numbers.
        estimates: cycles and flops of each vertex, int64[vertices], where they were set.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (1000,), "x", mapping="linear")
    >>> block = graph.add_vertices(graph.add_compute_set("double"), Double, tile=0, x=x)
    >>> block[7], block[7].connections["x"] == x[7]
    (<VertexInstance 7 of 'Double' on tile 0 of 'double'>, <same elements: True (not ops.equal)>)
    """

    __slots__ = (
        "_offsets",
        "compute_set",
        "constants",
        "edges",
        "estimates",
        "first",
        "graph",
        "location",
        "state",
        "tiles",
        "vertex_class",
    )

    def __init__(
        self,
        compute_set: ComputeSet,
        vertex_class: type[Vertex],
        tiles: VertexTiles,
        edges: Mapping[str, Edges],
        state: Mapping[str, StateValues],
        constants: Sequence[Tensor],
        location: SourceLocation,
    ) -> None:
        self.compute_set, self.graph = compute_set, compute_set.graph
        self.vertex_class, self.location = vertex_class, location
        self.first = len(compute_set.vertices)
        self.tiles, self.edges, self.state = tiles, dict(edges), dict(state)
        self.constants = tuple(constants)
        self.estimates: tuple[Int64, Int64] | None = None
        self._offsets: dict[str, Int64] = {}

    def __len__(self) -> int:
        return self.tiles.count

    def _item(self, key: int) -> VertexInstance:
        k = vertex_number(key, len(self))
        index = self.first + k
        vertex = new_vertex(self.compute_set, self.vertex_class, self.location, index)
        vertex.block, vertex.tile = self, self.tiles.at(k)
        fields = self.vertex_class.fields
        for name, edges in self.edges.items():
            vertex.connections[name] = self._connected(fields[name], edges, k)
        for name, values in self.state.items():
            vertex.state[name] = self._state(name, values, k)
        if self.estimates is not None:
            vertex.estimate = VertexPerfEstimate(*(int(each[k]) for each in self.estimates))
        return vertex

    def __repr__(self) -> str:
        on = amount(len(self.tiles.used()), "tile")
        what = f"{len(self):,} {self.vertex_class.__name__} on {on}"
        return fitted(f"<VertexBlock {what} of '{{}}'>", self.compute_set.name)

    @property
    def num_edges(self) -> int:
        """Tensors connected to all vertices; each row of a list of tensors counts as one."""
        fields = self.vertex_class.fields
        return sum(
            len(self)
            if fields[name].depth < 2 or self._matrices(edges) is not None
            else edges.rows.total()
            for name, edges in self.edges.items()
        )

    # What one vertex has

    def _connected(self, field: Field, edges: Edges, k: int) -> Tensor | tuple[Tensor, ...]:
        if field.depth < 2:
            return self._tensor(field, self._edge(field, edges, k))
        shape = self._matrices(edges)
        if shape is not None:
            return self._tensor(field, self._matrix(edges, shape, k))
        low, high = self._part(f"{field.name} rows", edges.rows, k)
        views = [self._edge(field, edges, edge) for edge in range(low, high)]
        return tuple(self._tensor(field, view) for view in views)

    def _matrices(self, edges: Edges) -> tuple[int, int] | None:
        """Return the shape of the matrices connected to lists of edges; None if there are none."""
        rows, size, steps = edges.rows.only, edges.length.only, edges.start
        if rows is None or size is None:
            return None
        if rows * size == 0 or (isinstance(edges.pieces, View) and len(edges.pieces.shape) == 3):
            return rows, size
        if not isinstance(steps, Steps) or steps.split(len(self)) is None:
            return None
        # Variables of equal sizes are evenly spaced too, but are not a matrix.
        is_one = self._storage(steps.low) is self._storage(steps.high)
        return (rows, size) if is_one else None

    def _matrix(self, edges: Edges, shape: tuple[int, int], k: int) -> View:
        """Return the view that is connected to the list of edges of one vertex."""
        if not math.prod(shape):
            return empty(shape)
        if isinstance(edges.pieces, View):
            return edges.pieces.index(k)
        assert isinstance(edges.start, Steps)
        outer, inner = edges.start.split(len(self)) or ((), ())
        address = edges.start.first + locate(outer, k)
        storage = self._storage(address)
        return View(shape, (pack(inner), 1), address - storage.base, storage)

    def _edge(self, field: Field, edges: Edges, edge: int) -> View:
        """Return the view that is connected to one edge."""
        size = edges.length.at(edge)
        shape = (size,) if field.depth else ()
        if not size:
            return empty(shape)
        if edges.start is not None:
            return self._view(edges.start.at(edge), shape)
        if isinstance(edges.pieces, EdgeRuns):
            low, high = edges.pieces.first[edge : edge + 2].tolist()
            parts = zip(edges.pieces.begin[low:high], edges.pieces.size[low:high], strict=True)
            return concat([self._view(int(begin), (int(count),)) for begin, count in parts], 0)
        assert edges.pieces is not None
        if len(edges.pieces.shape) > 1:
            return edges.pieces.index(edge)
        low, high = self._part(f"{field.name} elements", edges.length, edge)
        return edges.pieces.slice(low, high, 0)

    def _part(self, key: str, counts: Series, k: int) -> tuple[int, int]:
        """Return begin and end of part `k` of consecutive parts with these sizes."""
        if counts.only is not None:
            return k * counts.only, (k + 1) * counts.only
        if key not in self._offsets:  # kept after the first access
            self._offsets[key] = np.concatenate([[0], np.cumsum(counts.array())])
        low, high = self._offsets[key][k : k + 2].tolist()
        return low, high

    def _view(self, address: int, shape: tuple[int, ...]) -> View:
        storage = self._storage(address)
        return View(shape, (1,) * len(shape), address - storage.base, storage)

    def _storage(self, address: int) -> Storage:
        space = self.graph.space
        return space.variables[space.owner(address)].storage

    def _tensor(self, field: Field, view: View) -> Tensor:
        return Tensor(self.graph, field.element, view)

    def _state(self, name: str, values: StateValues, k: int) -> Any:
        if isinstance(values, Vectors):
            low, high = self._part(f"{name} values", values.length, k)
            return values.values[low:high]
        return values[k].item() if isinstance(values, np.ndarray) else values


def set_estimate(vertex: VertexInstance | VertexBlock, cycles: Any, flops: Any) -> None:
    """Set the cost of a vertex, or of each vertex of a block; see `Graph.set_perf_estimate`."""
    if isinstance(vertex, VertexBlock):
        if isinstance(cycles, VertexPerfEstimate):
            cycles, flops = cycles.cycles, cycles.flops
        name = vertex.vertex_class.__name__
        vertex.estimates = checked_estimates(name, cycles, flops, len(vertex))
    elif vertex.block is not None:
        raise GraphConnectionError(
            f"{vertex} is one of {len(vertex.block):,} vertices that were added together",
            found=f"added by add_vertices at {vertex.location}",
            fix="graph.set_perf_estimate(block, cycles), one number or one for each",
        )
    else:
        vertex.estimate = checked_estimate(f"{vertex}", cycles, flops)
