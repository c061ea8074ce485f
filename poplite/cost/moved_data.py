"""The data that steps move: by a Copy, or for a field that the vertices on each tile access.

A Copy moves pieces between tiles, and rows on each tile::

    source        x x x x x x x x        on tiles    0 0 0 0 1 1 1 1
    destination   y y y   y y y y y                  1 1 1   1 2 2 2 2
    pieces        3 from 0 to 1, 1 from 0 to 1, 4 from 1 to 2

Elements that vertices on a tile access are moved to the tile once::

    edges of x      vertex 0  x[0:4]     vertex 1  x[2:6]     both on tile 5
    touched         tile 5    x[0:6]                          once, for both vertices

For regular edges, the elements that a tile accesses follow from its number of vertices: if each of
n vertices reads a column of a matrix, they are one run of n elements in each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64, merge, sorted_order, union
from poplite.arrays.series import (
    Digit,
    Steps,
    coalesce,
    constant,
    digits_of,
    split_run,
    strided_runs,
)
from poplite.cost.exchange_cycles import (
    FEW as FEW_PIECES,
    Mask,
    MovedPieces,
    by_source,
    exchange_of_few,
    has_map,
    sum_of_pairs,
)
from poplite.cost.locations import FEW, Locations, Segments, walk
from poplite.cost.step_cost import NOTHING, PhaseCost, at_tile
from poplite.graph.compute_sets.vertex_block import EdgeRuns, Edges, VertexTiles, edge_cuts
from poplite.jit.kernels_tiles import away, crossing, pair, stretches
from poplite.report.execution import Cause
from poplite.report.per_tile import PerTile
from poplite.view import Storage, View, num_runs, runs
from poplite.view.intervals_of_view import few_runs

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import FieldEdges
    from poplite.machine.target import Target
    from poplite.program import CrossReplicaCopy, TensorCopy


# -- Copies ----------------------------------------------------------------------------------------

_CUT_COLUMNS = "source", "to", "at", "into", "size"
"""The columns that the kernel computes for each piece."""

MOST_RUNS = 1 << 20
"""Maximum number of runs of a view that are processed at a time."""


def parts_of(copy: TensorCopy | CrossReplicaCopy) -> Iterator[tuple[View, View]]:
    """Yield the source and the destination of a Copy, in parts if there are very many runs."""
    count, ends = copy.source.num_elements, (copy.source, copy.destination)
    if count <= MOST_RUNS:
        if count:
            yield copy.source.view, copy.destination.view
        return
    parts = -(-max(num_runs(end.view) for end in ends) // MOST_RUNS)
    source, destination = (end.flatten() for end in ends)
    for part in range(parts):
        cut = slice(count * part // parts, count * (part + 1) // parts)
        yield source[cut].view, destination[cut].view


def sum_of_parts(target: Target, phases: Sequence[PhaseCost]) -> PhaseCost:
    """Return the sum of the phases of one kind from the parts of a Copy."""
    first = phases[0]
    if len(phases) == 1:
        return first
    fixed = {
        "copy": "worker_call",
        "exchange": "latency_cycles" if has_map(target) else "exchange_cycles",
        "global exchange": "global_exchange_cycles",
    }
    again = int(target.cost(fixed[first.kind]))
    num_tiles, cause = target.tiles, first.causes[0]
    sums = {
        name: sum(getattr(phase.causes[0], name) for phase in phases)
        for name in ("bytes", "pieces")
    }
    cycles = [phase.cycles.array() for phase in phases]
    cycles[1:] = [np.maximum(each - again, 0) for each in cycles[1:]]
    return PhaseCost(
        first.kind,
        PerTile.of(np.sum(cycles, axis=0)),
        first.sync,
        received=_total([phase.received for phase in phases]),
        sent=_total([phase.sent for phase in phases]),
        copied=_total([phase.copied for phase in phases]),
        causes=(replace(cause, **sums),),
        pairs=sum_of_pairs(num_tiles, [phase.pairs for phase in phases]),
    )


def _total(spreads: Sequence[PerTile]) -> PerTile:
    return PerTile.of(np.sum([spread.array() for spread in spreads], axis=0))


def pieces_between(
    homes: Locations, source: View, destination: View, width: int
) -> tuple[MovedPieces, Int64]:
    """Return the pieces that move from one view to another, by receiving tile, and where they land.

    Both views have the same number of elements; the elements of the destination are distinct.
    Pieces that stay on their tile are included; the second result is int64[n], the place where
    each piece lands.
    """
    both = [np.ascontiguousarray(a) for view in (source, destination) for a in runs(view)]
    source_tile, tile, at, into, size = _cut(homes, both)
    if not (tile[1:] >= tile[:-1]).all() or not (into[1:] > into[:-1]).all():
        order = sorted_order(tile * (int(into.max()) + 1) + into)
        source_tile, tile, at, into, size = (
            column[order] for column in (source_tile, tile, at, into, size)
        )
    jumps = np.ones(len(tile), np.bool_)
    jumps[1:] = (tile[1:] != tile[:-1]) | (into[1:] != into[:-1] + size[:-1])
    return MovedPieces(source_tile, tile, at, size, np.full(len(tile), width), jumps), into


def _cut(homes: Locations, both: Sequence[Int64]) -> Int64:
    """Cut two lists of runs where a run ends or its tile changes; return `_CUT_COLUMNS`."""
    begin, _, others, _ = both
    room = len(begin) + len(others)
    segments = homes.many(np.concatenate([begin, others]))
    while True:
        out = np.empty((len(_CUT_COLUMNS), room), np.int64)
        found = walk(segments, pair, *both, len(begin), *out, room)
        if found <= room:
            return out[:, :found]
        room = found


def rows_of(homes: Locations, pieces: MovedPieces, into: Int64) -> CopiedRows:
    """Return the pieces that stay on their tile as rows to copy to `into`, int64[n]."""
    # Elements contiguous in the memory of the tile are one row, wherever they are in a variable.
    starts = np.ones(len(into), np.bool_)
    starts[1:] = (pieces.to[1:] != pieces.to[:-1]) | (into[1:] != (into + pieces.size)[:-1])
    starts[1:] |= pieces.at[1:] != (pieces.at + pieces.size)[:-1]
    first = np.flatnonzero(starts)
    size = np.add.reduceat(pieces.size, first)
    _, tile, at, _, width, _ = pieces.ordered(first)
    at, into = homes.in_memory(at), homes.in_memory(into[first])
    return CopiedRows(tile, tile, at, into, size, width)


# -- a few runs ------------------------------------------------------------------------------------


def phases_of_few(
    target: Target, homes: Locations, copy: TensorCopy, views: tuple[View, View]
) -> tuple[PhaseCost, ...] | None:
    """Return the phases of a Copy of a few runs within each replica; None for any other Copy.

    The result equals that of `poplite.cost.exchange_phases`. Plain Python takes tens of
    microseconds here, and loads no compiled code.
    """
    runs, other_runs = few_runs(views[0]), few_runs(views[1])
    if runs is None or other_runs is None:
        return None
    (begin, size), (others, sizes) = runs, other_runs
    if len(begin) + len(others) > FEW:
        return None
    ends = [first + count for first, count in zip(begin, size, strict=True)]
    ends += [first + count for first, count in zip(others, sizes, strict=True)]
    segments = homes.few([*begin, *others], ends)
    if segments is None:
        return None
    columns = [[0] * FEW_PIECES for _ in range(5)]
    found = walk(segments, pair, begin, size, others, sizes, len(begin), *columns, FEW_PIECES)
    if found > FEW_PIECES:
        return None
    rows = list(islice(zip(*columns, strict=True), found))
    if found > 1:
        rows.sort(key=lambda row: (row[1], row[3]))
    own = target.tiles_per_ipu
    if target.ipus > 1 and any(row[0] // own != row[1] // own for row in rows):
        return None
    width = copy.source.element_type.size_bytes
    what, at = f"'{copy.source.name}' -> '{copy.destination.name}'", copy.location.portable
    stays = [row for row in rows if row[0] == row[1]]
    phases = []
    if stays:
        num_bytes = sum([row[4] for row in stays]) * width
        cause = Cause(what, "is copied on its tile", at, num_bytes, len(stays))
        phases.append(_copied(target, homes, stays, width, cause))
    if len(rows) > len(stays):
        source, to, begin_at, into, count = zip(*rows, strict=True)
        jumps = (True, *[a[1] != b[1] or a[3] + a[4] != b[3] for a, b in pairwise(rows)])
        moved = sum([row[4] for row in rows if row[0] != row[1]]) * width
        cause = Cause(what, "goes to other tiles", at, moved, len(rows) - len(stays))
        low = min(begin_at)
        # Places are relative to the lowest one, so that the cache also serves other Copies.
        pieces = (
            source,
            to,
            tuple([place - low for place in begin_at]),
            count,
            (width,) * found,
            jumps,
        )
        phases.append(exchange_of_few(target, pieces, (cause,), homes.exchanges))
    return tuple(phases)


def _copied(
    target: Target,
    homes: Locations,
    stays: Sequence[tuple[int, ...]],
    width: int,
    cause: Cause,
) -> PhaseCost:
    """Return the phase that copies the pieces that stay on their tiles."""
    if len(stays) == 1:
        tile = stays[0][1]
        cycles = one_row_cycles(target, cause.bytes)
        took, copied = (at_tile(target.tiles, tile, each) for each in (cycles, cause.bytes))
        return PhaseCost("copy", took, copied=copied, causes=(cause,))
    source, to, at, into, size = np.array(stays, np.int64).T
    jumps = np.ones(len(to), np.bool_)
    pieces = MovedPieces(source, to, at, size, np.full(len(to), width), jumps)
    return copy_phase(target, rows_of(homes, pieces, into), (cause,))


# -- copies on tiles -------------------------------------------------------------------------------
# A vector that a vertex reads, but that is not contiguous, is gathered on its tile.
#
#     on its tile              . . . a a a . . . b b b . . .      columns of a block
#     from elsewhere           c                 d                a halo
#                                   c a a a d b b b               `self.x`
# The exchange puts elements from other tiles directly in their places. All other elements are
# copied, row by row, before each execution of the compute set; results with several places are
# copied back after it has run. A contiguous vector costs nothing, and neither does a vector that
# comes entirely from other tiles.
#
#     cycles of a tile = call to its workers + cycles per row + bytes / 8
# Evenly spaced single elements are one strided copy. With one fitted constant, the cycles per row,
# the model is within 6 % of the four copies on the largest tile of a Gaussian blur
# (thorbenlouw/lbm-graphcore, experiments: 282 rows of up to 10 pixels gathered for six workers that
# share 45 columns, and 282 rows of 8 scattered) and of two copies measured alone (ipu-stack,
# cost.rs: 8 B, 8 KiB).

_Bytes = TypeVar("_Bytes", int, Int64)


class CopiedRows(NamedTuple):
    """Rows that are copied on their tiles.

    Attributes:
        tile: int64[n], the tile.
        group: int64[n], a number that consecutive rows of one vector share.
        at: int64[n], the place of each row.
        into: int64[n], the place to which it is copied, on the same scale as `at`.
        size: int64[n], number of elements.
        width: int64[n], size of an element in bytes.
    """

    tile: Int64
    group: Int64
    at: Int64
    into: Int64
    size: Int64
    width: Int64

    @property
    def bytes(self) -> Int64:
        """int64[n], the bytes of each row."""
        return self.size * self.width


def joined_rows(several: Sequence[CopiedRows]) -> CopiedRows:
    """Return the rows of several fields."""
    numbers = np.cumsum([0, *(int(rows.group.max()) + 1 for rows in several)])
    distinct = [
        rows._replace(group=rows.group + number)
        for rows, number in zip(several, numbers.tolist(), strict=False)
    ]
    return CopiedRows(*(np.concatenate(column) for column in zip(*distinct, strict=True)))


def copy_phase(
    target: Target, rows: CopiedRows, causes: tuple[Cause, ...], buffers: PerTile = NOTHING
) -> PhaseCost:
    """Return the phase in which rows are copied; `buffers` contains the bytes to gather them in."""
    cycles, copied = cycles_of_rows(target, rows), _sums(rows.tile, rows.bytes, target.tiles)
    return PhaseCost(
        "copy", PerTile.of(cycles), copied=PerTile.of(copied), buffers=buffers, causes=causes
    )


def cycles_of_rows(target: Target, rows: CopiedRows) -> Int64:
    """Return int64[tiles], the cycles in which each tile copies its rows."""
    cycles = _sums(rows.tile, cycles_of(target, rows), target.tiles)
    cycles[cycles > 0] += _row_costs(target)[0]
    return cycles


def cycles_of(target: Target, rows: CopiedRows) -> Int64:
    """Return int64[n], the cycles of each row.

    >>> from poplite.machine.target import Target
    >>> one = np.ones(4, np.int64)                   # four floats of a column, then a row of four
    >>> column = CopiedRows(one, one, 100 * np.arange(4), np.arange(4), one, 4 * one)
    >>> cycles_of(Target(), column).tolist()
    [10, 2, 2, 2]
    >>> row = CopiedRows(one[:1], one[:1], one[:1], one[:1], 4 * one[:1], 4 * one[:1])
    >>> cycles_of(Target(), row).tolist()
    [11]
    """
    num_bytes = rows.bytes
    separate = _row_cycles(target, num_bytes)
    word = int(target.cost("data_path_bytes"))
    alike = np.zeros(len(num_bytes), np.bool_)
    alike[1:] = (num_bytes[1:] <= word) & (num_bytes[1:] == num_bytes[:-1])
    alike[1:] &= (rows.group[1:] == rows.group[:-1]) & (rows.tile[1:] == rows.tile[:-1])
    # The first two rows of a series determine its spacing; the others must have the same.
    steps, paces = np.diff(rows.at), np.diff(rows.into)
    goes_on = alike.copy()
    goes_on[2:] &= (steps[1:] == steps[:-1]) & (paces[1:] == paces[:-1]) | ~alike[1:-1]
    strided = -(-word // int(target.cost("strided_copy_bytes_per_cycle")))
    return np.where(goes_on, strided, separate)


def one_row_cycles(target: Target, num_bytes: int) -> int:
    """Return the cycles in which a tile copies one row of `num_bytes` bytes."""
    return _row_costs(target)[0] + _row_cycles(target, num_bytes)


def _row_cycles(target: Target, num_bytes: _Bytes) -> _Bytes:
    """Return the cycles of the rows alone, without the call to the workers."""
    _, piece, bytes_per_cycle = _row_costs(target)
    return piece - (-num_bytes // bytes_per_cycle)


@lru_cache(maxsize=8)
def _row_costs(target: Target) -> tuple[int, int, int]:
    names = "worker_call", "copy_piece_cycles", "memcpy_bytes_per_cycle"
    call, piece, bytes_per_cycle = (int(target.cost(name)) for name in names)
    return call, piece, bytes_per_cycle


def _sums(tile: Int64, values: Int64, num_tiles: int) -> Int64:
    return np.bincount(tile, values, num_tiles).astype(np.int64)


# -- elements that vertices access -----------------------------------------------------------------

_COLUMNS = "source", "to", "at", "size", "jumps"
"""The columns that the kernel fills for each piece."""

MOST_SHAPES = 64
"""Maximum number of patterns of vertices on a tile for which runs are found by pattern."""


class TouchedRuns(NamedTuple):
    """Runs of elements that vertices access, each element once per tile.

    Attributes:
        tile: int64[n], the tile of the vertices; ascending.
        begin: int64[n], address of the first element; ascending on each tile.
        end: int64[n], one past the last address; the tile's next run starts after it.
    """

    tile: Int64
    begin: Int64
    end: Int64


def touched(part: FieldEdges, tiles: VertexTiles) -> TouchedRuns:
    """Return the elements that vertices access through a field; `tiles` are those of vertices."""
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
    """Return one run per run of tiles if edges are consecutive or all equal, else None."""
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
    """Return the runs on each tile if vertices and their edges are evenly spaced, else None."""
    digits = _digits(edges)
    if digits is None:
        return None
    low, stride, inner = digits
    every = tiles.array()
    order = sorted_order(every)
    tile = every[order]
    first = np.flatnonzero(np.diff(tile, prepend=-1))
    count = np.diff(first, append=len(tile))
    # The distance between adjacent vertices of a tile is that of the tile's first two vertices.
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
    """Return the first vertex's lowest address, the stride of vertices, and the other digits."""
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
    """Return the ascending runs of a strided set, relative to its lowest address.

    Returns None if elements may coincide.

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
    """The elements on other tiles that vertices access.

    Attributes:
        count: the number of pieces.
        held: int64[tiles], the number of pieces on each tile.
    """

    def __init__(self, seen: TouchedRuns, segments: Segments, width: int, num_tiles: int) -> None:
        self._seen, self._segments, self._width = seen, segments, width
        # The lowest source among the pieces that reach each tile.
        self.held, self._least = np.zeros(num_tiles, np.int64), np.full(num_tiles, num_tiles)
        none = [self.held[:0]] * len(_COLUMNS)
        self.count = self._walk(0, 0, none, 0)

    def _walk(self, low: int, high: int, columns: Sequence[Int64], room: int) -> int:
        seen, sums = self._seen, (self.held, self._least)
        return walk(self._segments, away, *seen, len(seen.tile), *sums, low, high, *columns, room)

    def pieces(self, low: int, high: int) -> MovedPieces:
        """Return the pieces on tiles [low, high), each once per tile that accesses it."""
        room = int(self.held[low:high].sum())
        found = np.empty((len(_COLUMNS), room), np.int64)
        if room:
            self._walk(low, high, [*found], room)
        source, to, at, size, jumps = found
        width = np.full(room, self._width)
        pieces = by_source(MovedPieces(source, to, at, size, width, jumps.astype(np.bool_)))
        # Every piece lands directly after another piece of the field, except the first piece that
        # reaches a tile.
        is_first = np.diff(pieces.to, prepend=-1) != 0
        is_first &= pieces.source == self._least[pieces.to]
        return pieces._replace(jumps=pieces.jumps | is_first)


# -- elements to gather ----------------------------------------------------------------------------
# An edge whose elements are not contiguous on the vertex's tile is gathered there:
#
#     tile 5 has      . a b . . c d .        of an edge  a b x c d, x from elsewhere
#     rows            a b to 0, c d to 3     x lands between them
# A contiguous edge needs no copy, nor does one that comes entirely from other tiles.
# An Input that its own vertex overwrites through an Output is copied first (`rows_to_keep`).


_ROW_COLUMNS = "edge", "at", "within", "size"
"""The columns that the kernel fills for each row."""


def rows_to_gather(
    part: FieldEdges, tiles: VertexTiles, seen: TouchedRuns, segments: Segments, homes: Locations
) -> CopiedRows | None:
    """Return the local elements that must be gathered for their vertices, or None.

    There is a row for each run, grouped by edge. Edges with the same elements are gathered once on
    a tile. `seen` are the elements that vertices access, `segments` their places.
    """
    edges = part.edges
    if edges.pieces is None and not walk(segments, crossing, seen.begin, seen.end, len(seen.begin)):
        return None  # every run is in one segment, and so on one tile
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

    `own` are the edges of a read-only field that overlap elements that their vertex writes. Edges
    that are gathered, or come from other tiles, are copies already.
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

    All other edges are copied on their tile, or come from other tiles; for `own` see
    `rows_to_keep`.
    """
    first, begin, _ = part.runs
    tile, segments = edge_tiles(part.edges, tiles), homes.many(begin)
    is_copied = _apart(part, tile, segments)[1] > 0
    if own is not None:
        is_copied |= own
    return _here(part, np.flatnonzero((np.diff(first) > 0) & ~is_copied), tile, segments)


def _here(part: FieldEdges, edge: Int64, tile: Int64, segments: Segments) -> tuple[Int64, Int64]:
    """Return which of the given contiguous edges are on their vertex's tile, and their places."""
    first, begin, _ = part.runs
    # An edge that needs no gathering is on the tile of its first element.
    at = begin[first[edge]]
    segment = np.searchsorted(segments.breaks, at, side="right") - 1
    here = np.flatnonzero(segments.tiles[segment] == tile[edge])
    return edge[here], at[here] + segments.places[segment[here]]


def _apart(part: FieldEdges, tile: Int64, segments: Segments) -> tuple[Int64, Int64, Int64]:
    """Return the rows of all scattered edges, and each edge's number of rows and checksum."""
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
    """Return the rows of edges from number `first`, and each edge's row count and checksum."""
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
    """Return which edges equal no earlier edge on their tile."""
    # Edges with the same elements have the same checksums; other edges very rarely do.
    order = np.lexsort((sums, tile))
    is_first = np.ones(len(order), np.bool_)
    same = (sums[order][1:] == sums[order][:-1]) & (tile[order][1:] == tile[order][:-1])
    is_first[order[1:]] = ~same
    return is_first
