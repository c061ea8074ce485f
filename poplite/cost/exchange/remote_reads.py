"""What the vertices of each tile touch behind one field, and which of it lives on other tiles.

    edges of x      vertex 0  x[0:4]     vertex 1  x[2:6]     both on tile 5
    touched         tile 5    x[0:6]                          once, whoever reads it

Where edges are regular, what a tile touches follows from its number of vertices: the columns of a
matrix that it reads are one run of as many elements in each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.digits import Digit, coalesce, digits_of
from poplite.arrays.intervals import Int64, merge
from poplite.arrays.progressions import split_run, strided_runs
from poplite.arrays.series import Steps
from poplite.arrays.sweep import sorted_order, union
from poplite.cost.exchange.locations import Segments, walk
from poplite.cost.exchange.pieces import MovedPieces, by_source
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.jit.kernels.tile_table import away
from poplite.view import Storage, View

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import FieldEdges
    from poplite.graph.compute_sets.edges import Edges

_COLUMNS = "source", "to", "at", "size", "jumps"
"""What the kernel finds of each piece."""

MOST_SHAPES = 64
"""Most different patterns of vertices on a tile for which runs are found pattern by pattern."""


class TouchedRuns(NamedTuple):
    """Runs of elements that vertices touch, each element once for a tile.

    Attributes:
        tile: int64[n], the tile of the vertices; ascending.
        begin: int64[n], address of the first element; ascending for each tile.
        end: int64[n], one past the last; the next run of the tile begins behind it.
    """

    tile: Int64
    begin: Int64
    end: Int64


def touched(part: FieldEdges, tiles: VertexTiles) -> TouchedRuns:
    """Return what the vertices on these tiles touch behind a field."""
    found = _in_a_row(part.edges, tiles)
    if found is None:
        regular = _regular(part.edges, tiles)
        if regular is not None:
            return regular
        first, begin, size = part.runs
        tile = np.repeat(edge_tiles(part.edges, tiles), np.diff(first))
        begin, end, tile = merge(begin, begin + size, tile)
        found = TouchedRuns(tile, begin, end)
    if len(found.tile) == 1:
        return found
    tile, begin, end = found
    span = int(end.max()) + 1
    begin, end = union(tile * span + begin, tile * span + end)
    tile = begin // span
    return TouchedRuns(tile, begin - tile * span, end - tile * span)


def _in_a_row(edges: Edges, tiles: VertexTiles) -> TouchedRuns | None:
    """Return a run for each run of tiles, where edges follow each other or are all the same."""
    start, size, rows = edges.start, edges.length.only, edges.rows.only
    if not isinstance(start, Steps) or not size or not rows:
        return None
    step = start.step
    if step not in (0, size):
        return None
    first, last, tile = tiles.runs()
    begin = start.first + first * rows * step
    return TouchedRuns(tile, begin, start.first + (last * rows - 1) * step + size)


def _regular(edges: Edges, tiles: VertexTiles) -> TouchedRuns | None:
    """Return what tiles touch where both vertices and their edges are at even distances."""
    digits = _digits(edges)
    if digits is None:
        return None
    low, stride, inner = digits
    every = tiles.array()
    order = sorted_order(every)
    tile = every[order]
    first = np.flatnonzero(np.diff(tile, prepend=-1))
    count = np.diff(first, append=len(tile))
    # The distance from each vertex to the next of its tile is that of its first two.
    gap = np.diff(order, append=0)
    pace = np.where(count > 1, gap[first], 1)
    is_even = gap == np.repeat(pace, count)
    is_even[first + count - 1] = True
    if not is_even.all():
        return None
    shapes, shape = np.unique(np.stack([count, pace]), axis=1, return_inverse=True)
    if shapes.shape[1] > MOST_SHAPES:
        return None
    patterns = [_pattern([(n, each * stride), *inner]) for n, each in shapes.T.tolist()]
    if any(pattern is None for pattern in patterns):
        return None
    shape = shape.reshape(-1)
    sizes = np.array([len(pattern[0]) for pattern in patterns if pattern])[shape]
    top = np.cumsum(sizes) - sizes
    begin, end = np.empty((2, int(sizes.sum())), np.int64)
    for number, pattern in enumerate(patterns):
        assert pattern is not None, "checked above"
        chosen = np.flatnonzero(shape == number)
        offset = low + order[first[chosen]] * stride
        if stride < 0:
            offset += (count[chosen] - 1) * pace[chosen] * stride
        for start, at in zip(offset.tolist(), top[chosen].tolist(), strict=True):
            stop = at + len(pattern[0])
            np.add(pattern[0], start, out=begin[at:stop])
            np.add(pattern[1], start, out=end[at:stop])
    return TouchedRuns(np.repeat(tile[first], sizes), begin, end)


def _digits(edges: Edges) -> tuple[int, int, list[Digit]] | None:
    """Return the least address of the first vertex, the stride of vertices and other digits."""
    rows, size, view = edges.rows.only, edges.length.only, edges.pieces
    if isinstance(edges.start, Steps) and rows and size and edges.start.step:
        step = edges.start.step
        low, vertex, digits = edges.start.first, rows * step, [(rows, step), (size, 1)]
    elif isinstance(view, View) and isinstance(view.space, Storage) and len(view.shape) > 1:
        stride = view.dims[0]
        if not isinstance(stride, int) or not stride:
            return None
        low, vertex = view.space.base + view.off, stride
        inner = zip(view.shape[1:], view.dims[1:], strict=True)
        digits = [digit for pair in inner for digit in digits_of(*pair)]
    else:
        return None
    low += sum((extent - 1) * stride for extent, stride in digits if stride < 0)
    return low, vertex, [(extent, abs(stride)) for extent, stride in digits if stride]


def _pattern(digits: Sequence[Digit]) -> tuple[Int64, Int64] | None:
    """Return the ascending runs of a strided set, counted from its least address.

    None where elements may coincide.

    >>> [a.tolist() for a in _pattern([(2, 1), (3, 10)])]
    [[0, 10, 20], [2, 12, 22]]
    """
    nested = sorted(((e, abs(s)) for e, s in digits if e > 1), key=lambda digit: -digit[1])
    reach = 1
    for extent, stride in reversed(nested):
        if stride < reach:
            return None
        reach += stride * (extent - 1)
    begin, size = strided_runs(*split_run(coalesce(nested)), 0)
    return begin, begin + size


def edge_tiles(edges: Edges, tiles: VertexTiles) -> Int64:
    """Return int64[edges], the tile of each edge's vertex."""
    every = tiles.array()
    return every if edges.rows.only == 1 else np.repeat(every, edges.rows.array())


class RemoteElements:
    """The elements that vertices touch and that live on other tiles.

    Attributes:
        count: how many pieces there are.
        held: int64[tiles], how many of them live on each tile.
    """

    def __init__(self, seen: TouchedRuns, segments: Segments, width: int, num_tiles: int) -> None:
        self._seen, self._segments, self._width = seen, segments, width
        # The least source of all pieces that reach each tile.
        self.held, self._least = np.zeros(num_tiles, np.int64), np.full(num_tiles, num_tiles)
        none = [self.held[:0]] * len(_COLUMNS)
        self.count = self._walk(0, 0, none, 0)

    def _walk(self, low: int, high: int, columns: Sequence[Int64], room: int) -> int:
        seen, sums = self._seen, (self.held, self._least)
        return walk(self._segments, away, *seen, len(seen.tile), *sums, low, high, *columns, room)

    def pieces(self, low: int, high: int) -> MovedPieces:
        """Return the pieces that live on tiles [low, high), each once per tile that touches it."""
        room = int(self.held[low:high].sum())
        found = np.empty((len(_COLUMNS), room), np.int64)
        if room:
            self._walk(low, high, [*found], room)
        source, to, at, size, jumps = found
        width = np.full(room, self._width)
        pieces = by_source(MovedPieces(source, to, at, size, width, jumps.astype(np.bool_)))
        # The first of all pieces of a tile, not just of these, does not land directly behind a
        # piece of another field.
        is_first = np.diff(pieces.to, prepend=-1) != 0
        is_first &= pieces.source == self._least[pieces.to]
        return pieces._replace(jumps=pieces.jumps | is_first)
