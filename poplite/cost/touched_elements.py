"""The elements that the vertices of each tile touch through one field.

    edges of x      vertex 0  x[0:4]     vertex 1  x[2:6]     both on tile 5
    touched         tile 5    x[0:6]                          once, whoever reads it

Where edges are regular, what a tile touches follows from its number of vertices: the columns of a
matrix that it reads are one run of as many elements in each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.digits import Digit, coalesce, digits_of
from poplite.arrays.intervals import Int64, merge
from poplite.arrays.series import Steps, constant, split_run, strided_runs
from poplite.arrays.sweep import sorted_order, union
from poplite.cost.copies import CopiedRows
from poplite.cost.exchange_cycles import Mask, MovedPieces, by_source
from poplite.cost.locations import Locations, Segments, walk
from poplite.graph.compute_sets.edges import EdgeRuns, VertexTiles, edge_cuts
from poplite.jit.kernels.tile_table import away, crossing, stretches
from poplite.view import Storage, View, num_runs, runs

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import FieldEdges
    from poplite.graph.compute_sets.edges import Edges

_COLUMNS = "source", "to", "at", "size", "jumps"
"""The columns that the kernel fills for each piece."""

MOST_SHAPES = 64
"""Maximum number of patterns of vertices on a tile whose runs are found pattern by pattern."""


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
    """Return the elements that the vertices on these tiles touch through a field."""
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
    """Return a run for each run of tiles if edges are consecutive or all equal, else None."""
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
    """Return what tiles touch if vertices and their edges are evenly spaced, else None."""
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


# -- elements to gather ----------------------------------------------------------------------------
# An edge whose elements lie apart on their tile is gathered there:
#
#     tile 5 has      . a b . . c d .        of an edge  a b x c d, x from elsewhere
#     rows            a b to 0, c d to 3     x lands between them
#
# An edge in one stretch of memory needs nothing, nor does one that comes entirely from other tiles.
# An Input that its own vertex overwrites through an Output is copied first (`rows_to_keep`).


_ROW_COLUMNS = "edge", "at", "within", "size"
"""The columns that the kernel fills for each row."""

MOST_RUNS = 1 << 20
"""Maximum number of runs of a regular view that are processed at once."""


def rows_to_gather(
    part: FieldEdges, tiles: VertexTiles, seen: TouchedRuns, segments: Segments, homes: Locations
) -> CopiedRows | None:
    """Return the local elements that must be gathered for their vertices, or None for none.

    They are a row for each run, grouped by edge. Edges with the same elements are gathered once on
    a tile. `seen` are the elements that vertices touch, `segments` their places.
    """
    edges = part.edges
    if edges.pieces is None and not walk(segments, crossing, seen.begin, seen.end, len(seen.begin)):
        return None  # every run is in one segment, so on one tile
    tile = edge_tiles(edges, tiles)
    (edge, at, within, size), counts, sums = _apart(part, tile, segments)
    if not len(edge):
        return None
    needs = np.flatnonzero(counts)
    is_first = _is_first_of_its_kind(tile[needs], sums[needs])
    kept = np.repeat(is_first, counts[needs])
    edge = edge[kept]
    width = np.full(len(edge), part.field.element.size_bytes)
    return CopiedRows(tile[edge], edge, homes.in_memory(at[kept]), within[kept], size[kept], width)


def rows_to_keep(
    part: FieldEdges,
    own: Mask,
    gathered: CopiedRows | None,
    tiles: VertexTiles,
    segments: Segments,
    homes: Locations,
) -> CopiedRows | None:
    """Return a row for each edge that is copied because its own vertex overwrites it, or None.

    `own` are the edges of a read-only field that overlap what their vertex writes. Those that are
    gathered, or come from other tiles, are copies already.
    """
    chosen = own.copy()
    if gathered is not None:
        chosen[gathered.group] = False
    edge, at = _here(part, np.flatnonzero(chosen), edge_tiles(part.edges, tiles), segments)
    if not len(edge):
        return None
    size = part.edges.length.array()[edge]
    width = np.full(len(edge), part.field.element.size_bytes)
    into = np.zeros(len(edge), np.int64)
    return CopiedRows(
        edge_tiles(part.edges, tiles)[edge], edge, homes.in_memory(at), into, size, width
    )


def edges_in_place(
    part: FieldEdges, tiles: VertexTiles, own: Mask | None, homes: Locations
) -> tuple[Int64, Int64]:
    """Return the edges that vertices access in place, and the place of each.

    The others are copied on their tile, or come from other tiles; `own` are as in `rows_to_keep`.
    """
    first, begin, _ = part.runs
    tile, segments = edge_tiles(part.edges, tiles), homes.many(begin)
    is_copied = _apart(part, tile, segments)[1] > 0
    if own is not None:
        is_copied |= own
    return _here(part, np.flatnonzero((np.diff(first) > 0) & ~is_copied), tile, segments)


def _here(part: FieldEdges, edge: Int64, tile: Int64, segments: Segments) -> tuple[Int64, Int64]:
    """Return which of some contiguous edges are on the tile of their vertex, and where."""
    first, begin, _ = part.runs
    # An edge that needs no gathering is on the tile of its first element.
    at = begin[first[edge]]
    segment = np.searchsorted(segments.breaks, at, side="right") - 1
    here = np.flatnonzero(segments.tiles[segment] == tile[edge])
    return edge[here], at[here] + segments.places[segment[here]]


def _apart(part: FieldEdges, tile: Int64, segments: Segments) -> tuple[Int64, Int64, Int64]:
    """Return the rows of all scattered edges, how many each edge has, and its checksum."""
    done, found = 0, []
    for some in _parts(part):
        count = len(some.first) - 1
        found.append(_rows(some, tile[done : done + count], segments, done))
        done += count
    rows, counts, sums = zip(*found, strict=True)
    return np.concatenate(rows, axis=1), np.concatenate(counts), np.concatenate(sums)


def _parts(part: FieldEdges) -> Iterator[EdgeRuns]:
    """Yield the runs of all edges, in parts if a regular view has many."""
    edges = part.edges
    view, rows, size = edges.pieces, edges.rows.only, edges.length.only
    if not isinstance(view, View) or len(view.shape) < 2 or not rows or not size:
        yield part.runs
        return
    vertices, listed = view.shape[0], num_runs(view)
    if listed <= MOST_RUNS:
        yield part.runs
        return
    step = max(vertices * MOST_RUNS // listed, 1)
    for first in range(0, vertices, step):
        some = view.slice(first, min(first + step, vertices), 0)
        yield edge_cuts(*runs(some), constant(size, some.shape[0] * rows))


def _rows(
    some: EdgeRuns, tile: Int64, segments: Segments, first: int
) -> tuple[Int64, Int64, Int64]:
    """Return the rows of edges from number `first` on, how many each has, and its checksum."""
    count = len(tile)
    columns = [np.ascontiguousarray(column) for column in (*some, tile)]
    held, mixed = np.empty((2, count), np.int64)
    room = len(some.begin)
    while True:
        out = np.empty((len(_ROW_COLUMNS), room), np.int64)
        found = walk(segments, stretches, *columns, count, held, mixed, *out, room)
        if found <= room:
            out[0] += first
            return out[:, :found].copy(), held, mixed
        room = found


def _is_first_of_its_kind(tile: Int64, sums: Int64) -> Mask:
    """Return which edges are equal to no edge before them on their tile."""
    # Edges of the same elements have the same checksums; others are very unlikely to.
    order = np.lexsort((sums, tile))
    is_first = np.ones(len(order), np.bool_)
    same = (sums[order][1:] == sums[order][:-1]) & (tile[order][1:] == tile[order][:-1])
    is_first[order[1:]] = ~same
    return is_first
