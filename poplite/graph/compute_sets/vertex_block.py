"""Blocks of vertices: many of one class, stored as arrays with their edges and tiles.

    block = graph.add_vertices(cs, Add, tile=tiles, x=x, y=y, out=out)      10^6 vertices

    block.edges["x"]     start and length of every edge
    block.tiles          runs of tiles
    block[5]             a VertexInstance and its tensors, created on access

There is no Python object for a vertex until it is accessed.

Edges are numbered by vertex, then by row of a list. An edge with consecutive elements is an address
and a length; regular edges take the same memory for any number of vertices::

    x[i]                of shape (n,)           start  5, 6, 7 ...          length 1
    x[i, :]             of shape (n, 16)        start  0, 16, 32 ...        length 16
    x.slices(random)                            start  uint32[n]            length as given
    x.T[i, :]           not consecutive         the view itself

    >>> from poplite.view import Storage, all_of
    >>> matrix = all_of(Storage(0, 100, 12), (3, 4))
    >>> of_view(matrix, 1).start
    Steps(first=100, digits=((3, 4),))
    >>> of_view(matrix.dim_shuffle((1, 0)), 1).start is None
    True
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, repeated
from poplite.arrays.series import (
    MOST_NARROW,
    NARROW,
    Listed,
    OnAccess,
    Series,
    Steps,
    compact,
    constant,
    digits_of,
    grid,
    locate,
    pack,
)
from poplite.errors import GraphConnectionError, made_by
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import (
    ComputeSet,
    StateValues,
    Vectors,
    VertexInstance,
    new_vertex,
    vertex_number,
)
from poplite.graph.compute_sets.perf_estimates import (
    VertexPerfEstimate,
    checked_estimate,
    checked_estimates,
)
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.text import amount, fitted
from poplite.view import Storage, View, addresses, concat, empty, runs, runs_of_many

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.vertex.vertex import Field, Vertex


class EdgeRuns(NamedTuple):
    """The elements of edges as runs of consecutive addresses.

    Attributes:
        first: int64[edges + 1]; the runs of edge e are `first[e]` to `first[e + 1]`.
        begin: int64[runs], address of the first element.
        size: int64[runs], number of elements, at least one.
    """

    first: Int64
    begin: Int64
    size: Int64

    def edge(self) -> Int64:
        """Return int64[runs], the edge of each run."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))


@frozen(eq=False)
class Edges:
    """The edges of one field of many vertices.

    Attributes:
        rows: number of edges of each vertex: 1, or the rows of a list.
        length: number of elements of each edge.
        start: address of each edge's first element; None unless the elements of every edge are
            consecutive. An edge without elements may have the address of any other edge.
        pieces: if `start` is None: a view of shape (vertices, ...), a 1-D view of all elements in
            order, or their runs.
        pairs: uint32[edges, 2], the values of `start` and `length` in adjacent columns, the form
            in which drivers read irregular lists: offset and length.
    """

    rows: Series
    length: Series
    start: Series | None
    pieces: View | EdgeRuns | None = None
    pairs: npt.NDArray[np.uint32] | None = None

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.rows.count

    @property
    def num_elements(self) -> int:
        """Total number of elements of all edges, including repetitions."""
        return self.length.total()

    @property
    def have_equal_strides(self) -> bool:
        """Whether all edges have the same strides, and their elements are not consecutive."""
        view = self.pieces
        if not isinstance(view, View) or len(view.shape) == 1:
            return False
        return isinstance(view.space, Storage)

    def runs(self) -> EdgeRuns:
        """Return the runs of all edges."""
        if isinstance(self.pieces, EdgeRuns):
            return self.pieces
        if self.pieces is not None:
            return edge_cuts(*runs(self.pieces), self.length)
        assert self.start is not None
        begin, count = self.start.array(), self.length.array()
        if not len(count) or self.length.low > 0:
            return EdgeRuns(np.arange(len(count) + 1), begin, count)
        filled = count > 0
        first = np.zeros(len(count) + 1, np.int64)
        np.cumsum(filled, out=first[1:])
        return EdgeRuns(first, begin[filled], count[filled])

    def elements(self) -> Steps | None:
        """Return the addresses of all elements, edge by edge, if they are regular; else None."""
        size = self.length.only
        if isinstance(self.start, Steps) and size is not None:
            return Steps(self.start.first, (*self.start.digits, (size, 1)))
        view = self.pieces
        if isinstance(view, View) and isinstance(view.space, Storage):
            return Steps(view.space.base + view.off, tuple(view.flat_digits()))
        return None

    def spread(self) -> tuple[int, int] | None:
        """Return an interval that contains all elements; None if that would require their runs."""
        elements = self.elements()
        if elements is not None:
            return elements.low, elements.high + 1
        if self.start is not None:
            return self.start.low, self.start.high + self.length.high
        return None

    def envelope(self) -> tuple[int, int]:
        """Return an interval of addresses that contains all elements, one or more."""
        spread = self.spread()
        if spread is not None:
            return spread
        _, begin, size = self.runs()
        return int(begin.min()), int((begin + size).max())

    def surely_disjoint(self) -> bool:
        """Return whether a cheap test shows that no two edges share an element."""
        elements = self.elements()
        if elements is not None:
            return _surely_disjoint(elements.digits)
        return isinstance(self.start, Steps) and _surely_disjoint(
            (*self.start.digits, (self.length.high, 1))
        )


def _surely_disjoint(digits: Sequence[tuple[int, int]]) -> bool:
    """Return whether a cheap test shows that no address occurs twice."""
    reach = 1
    for extent, stride in sorted(digits, key=lambda digit: abs(digit[1])):
        if extent > 1 and abs(stride) < reach:
            return False
        reach += abs(stride) * (extent - 1)
    return True


def edge_cuts(begin: Int64, count: Int64, length: Series) -> EdgeRuns:
    """Cut the runs of all elements where one edge ends and the next begins.

    `begin` and `count`, int64[runs], are the runs in the order of the edges, each with at least one
    element; `length` is the number of elements of each edge, with the same total.

    >>> [a.tolist() for a in edge_cuts(np.array([0, 9]), np.array([4, 2]), constant(3, 2))]
    [[0, 1, 3], [0, 3, 9], [3, 1, 2]]
    """
    size = length.only
    each = int(count[0]) if len(count) else 1
    if size and not size % each and (count == each).all():
        return EdgeRuns(np.arange(0, len(count) + 1, size // each), begin, count)
    ends = np.cumsum(length.array())
    run_ends = np.cumsum(count)
    both = np.concatenate([run_ends, ends])
    both.sort(kind="stable")  # merges two ascending sequences in one pass
    stops = both[np.diff(both, prepend=0) > 0]
    starts = np.concatenate([np.zeros(min(1, len(stops)), np.int64), stops[:-1]])
    run = np.searchsorted(run_ends, starts, side="right")
    first = np.searchsorted(starts, np.concatenate([[0], ends]))
    return EdgeRuns(first, begin[run] + starts - (run_ends - count)[run], stops - starts)


def of_view(view: View, depth: int) -> Edges:
    """Return the edges of vertices that each get one index of a tensor's first dimension.

    The view has shape (n,), (n, length) or (n, rows, length), for a field of depth 0, 1 or 2.
    """
    count, *inner = view.shape
    num_rows, size = (inner[0] if depth == 2 else 1), (inner[-1] if depth else 1)
    rows, length = constant(num_rows, count), constant(size, count * num_rows)
    if not view.num_elements:
        return Edges(rows, length, constant(0, count * num_rows))
    if isinstance(view.space, Storage):
        of_edges = view.dims[: 2 if depth == 2 else 1]
        digits = [digits_of(n, dim) for n, dim in zip(view.shape, of_edges, strict=False)]
        if size == 1 or view.dims[-1] == 1:
            flat = tuple(digit for each in digits for digit in each)
            return Edges(rows, length, Steps(view.space.base + view.off, flat or ((1, 0),)))
        return Edges(rows, length, None, view)
    if size == 1:
        return Edges(rows, length, compact(addresses(view).reshape(-1)))
    begin, in_run = runs(view)
    if (in_run % size != 0).any():
        return Edges(rows, length, None, view)
    return Edges(rows, length, compact(_split_evenly(begin, in_run // size, size)))


def _split_evenly(begin: Int64, times: Int64, size: int) -> Int64:
    """Return the first addresses of edges of equal size, with `times` edges in each run."""
    if (times == 1).all():
        return begin
    source, within = repeated(times)
    return begin[source] + within * size


def edges_of_views(views: Sequence[View], rows: Series) -> Edges:
    """Return one edge per view; each view has rank 1, or one element."""
    plain = edges_of_rows(views, rows)
    if plain is not None:
        return plain
    first, begin, count = runs_of_many(views)
    length = compact(np.array([view.num_elements for view in views], np.int64))
    if (np.diff(first) > 1).any():
        return Edges(rows, length, None, EdgeRuns(first, begin, count))
    return listed_edges(begin, length, rows)


def edges_of_rows(views: Sequence[View], rows: Series) -> Edges | None:
    """Return the edges of rows in a fast way, or None for lists that it does not cover.

    A view of rank 2 is several rows, any other view is one row.
    """
    begins: list[int] = []
    sizes: list[int] = []
    for view in views:
        space, shape, dims = view.space, view.shape, view.dims
        rank = len(shape)
        if rank > 2 or 0 in shape or not isinstance(space, Storage):
            return None
        size = shape[-1] if rank else 1
        if size > 1 and dims[-1] != 1:
            return None
        first = space.base + view.off
        if rank < 2:
            begins.append(first)
            sizes.append(size)
            continue
        if isinstance(dims[0], int) and dims[0]:
            begins += range(first, first + shape[0] * dims[0], dims[0])
        else:
            begins += grid(digits_of(shape[0], dims[0]), first).tolist()
        sizes += [size] * shape[0]
    return Edges(rows, compact(np.array(sizes, np.int64)), compact(np.array(begins, np.int64)))


def listed_edges(begin: Int64, length: Series, rows: Series) -> Edges:
    """Return edges with consecutive elements, from the address of each edge that is not empty."""
    if len(begin) < length.count:
        every = np.full(length.count, begin.min() if len(begin) else 0)
        every[length.array() > 0] = begin
        begin = every
    return Edges(rows, length, compact(begin))


def of_slices(view: View, begin: Int64, end: Int64, depth: int) -> Edges | None:
    """Return the edges of vertices that get slices of one view, from int64[n] begins and ends.

    The view has the rank of the field, or rank 1 for a scalar field. The result is None if the
    elements of an edge are not consecutive, or the view reads several variables.
    """
    stride = view.dims[0]
    last = 1 if depth < 2 or view.shape[1] == 1 else view.dims[1]
    if not isinstance(view.space, Storage) or not isinstance(stride, int) or last != 1:
        return None
    length = compact(end - begin)
    if depth < 2 and stride != 1 and length.count and length.high > 1:
        return None
    start = begin * stride
    start += view.space.base + view.off
    if depth < 2:
        return listed_edges(start[end > begin], length, constant(1, len(start)))
    counts = end - begin
    source, within = repeated(counts)
    every = start[source] + within * stride
    size = constant(view.shape[1], len(every))
    return listed_edges(every if size.count and view.shape[1] else every[:0], size, length)


def paired(edges: Edges) -> Edges:
    """Return edges of lists with `pairs` if irregular and consecutive, others unchanged."""
    start, length = edges.start, edges.length
    if not isinstance(start, Listed) or max(start.high - start.base, length.high) >= MOST_NARROW:
        return edges
    pairs = np.empty((start.count, 2), NARROW)
    pairs[:, 0], pairs[:, 1] = start.offset, length.array()
    if isinstance(length, Listed):
        length = Listed(0, pairs[:, 1])
    return Edges(edges.rows, length, Listed(start.base, pairs[:, 0]), None, pairs)


# -- tiles of many vertices ------------------------------------------------------------------------
# Stored as runs where neighbouring vertices share a tile, else in the smallest integer type::
#
#     0 0 0 0 1 1 1 1 1 2      stops 4 9 10, tiles 0 1 2
#     17 3 1400 22 ...         uint16[vertices]

Numbers = npt.NDArray[np.integer[Any]]


@frozen(eq=False)
class VertexTiles:
    """The tile of each of many vertices.

    Attributes:
        stops: int64[runs], one past the last vertex of each run; None if each vertex has its own
            entry.
        tiles: unsigned[runs] or [vertices].

    >>> tiles = VertexTiles.of(np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]), 4)
    >>> tiles.at(8), tiles.counts().tolist()
    (1, [4, 5, 7, 0])
    """

    num_tiles: int
    stops: Int64 | None
    tiles: Numbers

    @classmethod
    def of(cls, tiles: Numbers, num_tiles: int) -> VertexTiles:
        """Return the most compact form of the tiles, int[vertices]."""
        kind = np.min_scalar_type(num_tiles - 1)
        changes = np.flatnonzero(tiles[1:] != tiles[:-1])
        if (len(changes) + 1) * (8 + kind.itemsize) >= len(tiles) * kind.itemsize:
            return cls(num_tiles, None, tiles.astype(kind))
        stops = np.append(changes + 1, len(tiles))
        return cls(num_tiles, stops, tiles[stops - 1].astype(kind))

    @classmethod
    def constant(cls, tile: int, count: int, num_tiles: int) -> VertexTiles:
        """Return one tile for all vertices."""
        kind = np.min_scalar_type(num_tiles - 1)
        return cls(num_tiles, np.array([count]), np.array([tile], kind))

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.tiles) if self.stops is None else int(self.stops[-1])

    def at(self, vertex: int) -> int:
        """Return the tile of one vertex."""
        if self.stops is not None:
            vertex = int(np.searchsorted(self.stops, vertex, side="right"))
        return int(self.tiles[vertex])

    def runs(self) -> tuple[Int64, Int64, Int64]:
        """Return the vertices of each run of equal tiles: begin, end and tile, int64[runs]."""
        stops = self.stops
        if stops is None:
            stops = np.arange(1, len(self.tiles) + 1)
        return np.append(0, stops[:-1]), stops, self.tiles.astype(np.int64)

    def array(self) -> Int64:
        """Return the tile of each vertex, int64[vertices]."""
        tiles = self.tiles.astype(np.int64)
        return tiles if self.stops is None else np.repeat(tiles, np.diff(self.stops, prepend=0))

    def used(self) -> Int64:
        """Return the tiles that run at least one vertex, ascending."""
        return np.flatnonzero(self.counts())

    def counts(self) -> Int64:
        """Return the number of vertices on each tile, int64[num_tiles]."""
        if self.stops is None:
            return np.bincount(self.tiles, minlength=self.num_tiles)
        counts = np.zeros(self.num_tiles, np.int64)
        np.add.at(counts, self.tiles, np.diff(self.stops, prepend=0))
        return counts


# -- blocks ----------------------------------------------------------------------------------------


@made_by("graph.add_vertices(cs, V, tile=[0, 1], ...)")
class VertexBlock(OnAccess[VertexInstance]):
    """Vertices that one call of `graph.add_vertices` added.

    Attributes:
        graph: the graph they belong to.
        compute_set: their compute set.
        vertex_class: their class.
        first: position of the first one in the compute set.
        location: the user's line that added them.
        tiles: the tile of each vertex.
        edges: the edges of each edge field, by name.
        state: the values of each state field, by name.
        constants: constants created for plain numbers.
        estimates: cycles and flops of each vertex, int64[vertices], if set.

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
    compute_set: ComputeSet
    edges: dict[str, Edges]
    graph: Graph
    location: SourceLocation
    state: dict[str, StateValues]
    tiles: VertexTiles
    vertex_class: type[Vertex]

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
        self.first: int = len(compute_set.vertices)
        self.tiles, self.edges, self.state = tiles, dict(edges), dict(state)
        self.constants: tuple[Tensor, ...] = tuple(constants)
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
        """Number of connected tensors; each row of a list of tensors counts as one."""
        fields = self.vertex_class.fields
        return sum(
            len(self)
            if fields[name].depth < 2 or self._matrices(edges) is not None
            else edges.rows.total()
            for name, edges in self.edges.items()
        )

    # Connections and state of one vertex

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
        """Return the shape of the matrices connected to lists of edges, or None."""
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
        """Return the begin and end of part `k` of consecutive parts with these sizes."""
        if counts.only is not None:
            return k * counts.only, (k + 1) * counts.only
        if key not in self._offsets:  # cached on first access
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
            fix="call graph.set_perf_estimate(block, cycles), with one number or one for each",
        )
    else:
        vertex.estimate = checked_estimate(f"{vertex}", cycles, flops)
