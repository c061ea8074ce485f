"""Which elements of vectors must be gathered on their tile, because they lie apart.

    tile 5 has      . a b . . c d .        of an edge  a b x c d, x from elsewhere
    rows            a b to 0, c d to 3     x lands between them

An edge that is one stretch of memory needs nothing, and neither does one that comes entirely from
other tiles; but an Input that its own vertex overwrites through an Output is copied first
(`rows_to_keep`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import constant
from poplite.cost.exchange.locations import Locations, Segments, walk
from poplite.cost.exchange.on_tile_copies import CopiedRows
from poplite.cost.exchange.pieces import Mask
from poplite.cost.exchange.remote_reads import TouchedRuns, edge_tiles
from poplite.graph.compute_sets.edges import EdgeRuns, edge_cuts
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.jit.kernels.tile_table import crossing, stretches
from poplite.view import View, num_runs, runs

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import FieldEdges

_COLUMNS = "edge", "at", "within", "size"
"""What the kernel finds of each row."""

MOST_RUNS = 1 << 20
"""Most runs of a regular view that are handled together."""


def rows_to_gather(
    part: FieldEdges, tiles: VertexTiles, seen: TouchedRuns, segments: Segments, homes: Locations
) -> CopiedRows | None:
    """Return the parts of vectors that lie on the tile of their vertex, which must be gathered.

    A row for each such run, grouped by edge, or None without any. Edges with the same elements are
    gathered once on a tile. `seen` is what the vertices touch, `segments` where it lies.
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
    """Return the edges that vertices access where their elements lie, and the place of each.

    The others are copied on their tile, or come from other tiles; `own` are as in `rows_to_keep`.
    """
    first, begin, _ = part.runs
    tile, segments = edge_tiles(part.edges, tiles), homes.many(begin)
    is_copied = _apart(part, tile, segments)[1] > 0
    if own is not None:
        is_copied |= own
    return _here(part, np.flatnonzero((np.diff(first) > 0) & ~is_copied), tile, segments)


def _here(part: FieldEdges, edge: Int64, tile: Int64, segments: Segments) -> tuple[Int64, Int64]:
    """Return which of some edges in one stretch lie on the tile of their vertex, and where."""
    first, begin, _ = part.runs
    # What needs no gathering lies on one tile, that of its first element.
    at = begin[first[edge]]
    segment = np.searchsorted(segments.breaks, at, side="right") - 1
    here = np.flatnonzero(segments.tiles[segment] == tile[edge])
    return edge[here], at[here] + segments.places[segment[here]]


def _apart(part: FieldEdges, tile: Int64, segments: Segments) -> tuple[Int64, Int64, Int64]:
    """Return the rows of all edges that lie apart, how many each edge has, and its checksum."""
    done, found = 0, []
    for some in _parts(part):
        count = len(some.first) - 1
        found.append(_rows(some, tile[done : done + count], segments, done))
        done += count
    rows, counts, sums = zip(*found, strict=True)
    return np.concatenate(rows, axis=1), np.concatenate(counts), np.concatenate(sums)


def _parts(part: FieldEdges) -> Iterator[EdgeRuns]:
    """Yield the runs of all edges, those of a regular view some at a time."""
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
        out = np.empty((len(_COLUMNS), room), np.int64)
        found = walk(segments, stretches, *columns, count, held, mixed, *out, room)
        if found <= room:
            out[0] += first
            return out[:, :found].copy(), held, mixed
        room = found


def _is_first_of_its_kind(tile: Int64, sums: Int64) -> Mask:
    """Tell which edges are equal to no edge before them on their tile."""
    # Edges of the same elements have the same checksums; others are very unlikely to.
    order = np.lexsort((sums, tile))
    is_first = np.ones(len(order), np.bool_)
    same = (sums[order][1:] == sums[order][:-1]) & (tile[order][1:] == tile[order][:-1])
    is_first[order[1:]] = ~same
    return is_first
