"""Lower copies to moves: source, destination and size of their blocks of bytes.

Two views, each of one variable, are two mixed-radix numbers. Once their digits are split so that
extents are equal, they are nested loops; the innermost two loops become one record of any size::

    source        (2, 4) (4, 8)      4 x 2 floats, transposed
    destination   (8, 4)             8 floats              digits are (extent, stride in bytes)
    loops         2 x (to + 16, from + 4), 4 x (to + 4, from + 8)           2 records of 4 rows

Any other pair of views, and gathers, are lists of runs, which are paired in order.  The common
pieces are joined where both sides continue; long evenly spaced stretches become records, and the
other pieces are listed. Pieces are first sorted by destination if that reduces their number::

    source       [-----)[---)[---)
    destination  [---)[----)[----)
    pieces       [---)[)[--)[)[--)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.executable.encoding import PIECE_WORDS, RECORD_WORDS, Moves
from poplite.executable.parts import ArenaLayout, CopyStep
from poplite.program import CrossReplicaCopy, TensorCopy
from poplite.view import Storage, View, runs

Runs = tuple[Int64, Int64]
"""Byte position and size in bytes of each run, in view order."""
Side = tuple[int, Sequence[tuple[int, int]]]
"""First byte of a view, and (extent, stride in bytes) of its digits, outermost first."""
Columns = tuple[Int64, Int64, Int64]
"""Destinations, sources and sizes of pieces."""
Loop = tuple[int, int, int]
"""Extent, stride of destinations, stride of sources."""

LEAST_ROWS = 4
"""Minimum number of blocks for which a record is smaller than a list of them."""

LEAST_STRETCH = 16
"""Minimum number of blocks for which an evenly spaced stretch among uneven pieces gets its own
record: a record leaves a gap in the list, and memory is written fastest without gaps (a minimum of
4 is a third slower)."""

LARGEST_PIECE = 4096
"""Minimum size in bytes of a piece that becomes a record, since a record can be split."""

LIST_SPAN = 1 << 32
"""Number of bytes that a list of pieces can address."""

_NO_PIECES = np.zeros((0, PIECE_WORDS), np.uint32)

NO_MOVES = Moves(np.zeros((0, RECORD_WORDS), np.int64), _NO_PIECES)


def lower_copy(copy: TensorCopy | CrossReplicaCopy, layout: ArenaLayout) -> CopyStep:
    """Lower a Copy to moves between runs of the source and the destination."""
    size = copy.source.element_type.size_bytes
    views = copy.destination.view, copy.source.view
    to, start = (_byte_digits(view, size, layout) for view in views)
    moves = copied_views(to, start, size) if to and start else None
    if moves is None:
        moves = copied_runs(*(_byte_runs(view, size, layout) for view in views))
    replica_map = copy.replica_map if isinstance(copy, CrossReplicaCopy) else None
    return CopyStep(f"{copy.source.name} to {copy.destination.name}", moves, replica_map)


def dense_moves(view: View, size: int, layout: ArenaLayout) -> Moves:
    """Return the moves from a view to a block of bytes that starts at 0, in row-major order.

    `size` is the size of an element in bytes.
    """
    if not view.num_elements:
        return NO_MOVES
    start = _byte_digits(view, size, layout)
    digits = [(view.num_elements, size)] if start and start[1] else []
    moves = copied_views((0, digits), start, size) if start else None
    if moves is None:
        dense = np.array([0]), np.array([view.num_elements * size])
        moves = copied_runs(dense, _byte_runs(view, size, layout))
    return moves


def _byte_digits(view: View, size: int, layout: ArenaLayout) -> Side | None:
    """Return the first byte of a view of one variable, and its digits in bytes."""
    if not isinstance(view.space, Storage) or not view.num_elements:
        return None
    first = layout.byte_position(view.space.base + view.off)
    return first, [(extent, stride * size) for extent, stride in view.flat_digits()]


def _byte_runs(view: View, size: int, layout: ArenaLayout) -> tuple[Int64, Int64]:
    begin, count = runs(view)
    return layout.byte_positions(begin), count * size


def copied_views(destination: Side, source: Side, size: int) -> Moves | None:
    """Return the moves between two views of one variable each, with the same number of elements.

    An element has `size` bytes, and no element of the destination occurs twice. Returns None if
    the digits of one view do not divide those of the other, or if all digits are small.

    >>> copied_views((0, [(8, 4)]), (100, [(2, 4), (4, 8)]), 4).records.tolist()
    [[0, 100, 4, 4, 4, 8], [16, 104, 4, 4, 4, 8]]
    """
    loops = _side_by_side(destination[1], source[1])
    if loops is None:
        return None
    to, start = destination[0], source[0]
    forward = []
    for extent, far, near in loops:
        if far < 0:  # the order is irrelevant: start at the other end
            to, start = to + (extent - 1) * far, start + (extent - 1) * near
            far, near = -far, -near
        forward.append((extent, far, near))
    loops = _merged(sorted(forward, key=lambda loop: loop[1]))
    if loops and loops[0][1:] == (size, size):
        size *= loops.pop(0)[0]
    rows, far, near = max(loops, key=lambda loop: loop[0], default=(1, 0, 0))
    offsets = np.array([[to, start]], np.int64)
    outer = [loop for loop in loops if loop[1] != far]
    if outer and rows < LEAST_ROWS:
        return None
    for extent, *steps in outer:
        along = np.arange(extent)[:, None, None] * np.array(steps)
        offsets = (along + offsets).reshape(-1, 2)
    records = np.empty((len(offsets), RECORD_WORDS), np.int64)
    records[:, :2], records[:, 2:] = offsets, (rows, size, far, near)
    return Moves(records, _NO_PIECES)


def _side_by_side(
    destination: Sequence[tuple[int, int]], source: Sequence[tuple[int, int]]
) -> list[Loop] | None:
    """Split digits until their extents are equal; innermost first."""
    one, other, loops = list(destination), list(source), []
    while one:
        (m, far), (n, near) = one.pop(), other.pop()
        extent = min(m, n)
        if m % extent or n % extent:
            return None
        loops.append((extent, far, near))
        if m > extent:
            one.append((m // extent, far * extent))
        if n > extent:
            other.append((n // extent, near * extent))
    return loops


def _merged(loops: Sequence[Loop]) -> list[Loop]:
    """Merge adjacent loops where the outer one continues the inner one; innermost first."""
    merged: list[Loop] = []
    for extent, far, near in loops:
        if merged and (far, near) == (merged[-1][0] * merged[-1][1], merged[-1][0] * merged[-1][2]):
            merged[-1] = (extent * merged[-1][0], *merged[-1][1:])
        else:
            merged.append((extent, far, near))
    return merged


def copied_runs(destination: Runs, source: Runs) -> Moves:
    """Return the moves between two lists of runs with equal total bytes; destinations are disjoint.

    >>> source = np.array([50, 58, 90, 97]), np.array([4, 5, 4, 4])
    >>> moves = copied_runs((np.array([200]), np.array([17])), source)
    >>> moves.records.tolist()
    [[200, 50, 4, 0, 0, 0]]
    >>> moves.pieces.tolist()
    [[0, 0, 4], [4, 8, 5], [9, 40, 4], [13, 47, 4]]
    """
    (to, start, size), (first, rows) = _fewest(_joined(*_paired(destination, source)))
    single = np.zeros(len(to) + 1, np.int64)
    single[first] += 1
    single[first + rows] -= 1
    single = np.flatnonzero(np.cumsum(single)[:-1] == 0)
    listed = single[size[single] <= LARGEST_PIECE]
    if len(listed) < LEAST_ROWS or max(np.ptp(to[listed]), np.ptp(start[listed])) >= LIST_SPAN:
        listed = single[:0]
    alone = np.setdiff1d(single, listed, assume_unique=True)
    records = np.zeros((len(first) + len(alone), RECORD_WORDS), np.int64)
    at = np.append(first, alone)
    records[:, 0], records[:, 1], records[:, 2], records[:, 3] = to[at], start[at], 1, size[at]
    even = records[: len(first)]
    even[:, 2] = rows
    even[:, 4], even[:, 5] = to[first + 1] - to[first], start[first + 1] - start[first]
    if not len(listed):
        return Moves(records, _NO_PIECES)
    base = to[listed].min(), start[listed].min()
    columns = (to[listed] - base[0], start[listed] - base[1], size[listed])
    record = np.array([[*base, len(listed), 0, 0, 0]], np.int64)
    return Moves(np.concatenate([records, record]), np.stack(columns, axis=1).astype(np.uint32))


def _paired(destination: Runs, source: Runs) -> Columns:
    """Return destination, source and size of the common pieces of two sequences of runs."""
    ends = to_ends, start_ends = np.cumsum(destination[1]), np.cumsum(source[1])
    if np.array_equal(to_ends, start_ends):
        return destination[0], source[0], destination[1]
    both = np.concatenate(ends)
    both.sort(kind="stable")  # merges ascending stretches in one pass
    stops = both[np.append(both[1:] != both[:-1], True)]
    starts = np.append(0, stops[:-1])
    to, start = (
        _position(runs, end, starts) for runs, end in zip((destination, source), ends, strict=True)
    )
    return to, start, stops - starts


def _position(runs: Runs, ends: Int64, starts: Int64) -> Int64:
    begin, size = runs
    run = np.searchsorted(ends, starts, side="right")
    return np.asarray(begin[run] + starts - (ends[run] - size[run]))


def _fewest(pieces: Columns) -> tuple[Columns, tuple[Int64, Int64]]:
    """Return pieces and their stretches: as given, or sorted by destination if there are fewer.

    The edges of many blocks are given as evenly spaced columns, which sorting would mix; shuffled
    pieces become contiguous when sorted, and memory is written fastest in order.
    """
    stretches = _stretches(*pieces)
    to, start, size = pieces
    if (to[1:] >= to[:-1]).all():
        return pieces, stretches
    order = np.argsort(to, kind="stable")
    in_order = _joined(to[order], start[order], size[order])
    in_order_stretches = _stretches(*in_order)
    if _units(pieces, stretches) < _units(in_order, in_order_stretches):
        return pieces, stretches
    return in_order, in_order_stretches


def _units(pieces: Columns, stretches: tuple[Int64, Int64]) -> int:
    first, rows = stretches
    return len(pieces[0]) + len(first) - int(rows.sum())


def _joined(to: Int64, start: Int64, size: Int64) -> Columns:
    """Join adjacent pieces where both sides continue; drop empty pieces."""
    if not size.all():
        some = size > 0
        to, start, size = to[some], start[some], size[some]
    goes_on = (to[1:] == to[:-1] + size[:-1]) & (start[1:] == start[:-1] + size[:-1])
    if not goes_on.any():
        return to, start, size
    first = np.flatnonzero(np.append(True, ~goes_on))
    return to[first], start[first], np.add.reduceat(size, first)


def _stretches(to: Int64, start: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return the first piece and the number of pieces of each evenly spaced stretch."""
    if len(to) < LEAST_STRETCH:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    far, near, alike = np.diff(to), np.diff(start), size[1:] == size[:-1]
    joins = alike[1:] & alike[:-1] & (far[1:] == far[:-1]) & (near[1:] == near[:-1])
    first = np.flatnonzero(np.append(True, ~joins))
    rows = np.diff(first, append=len(far)) + 1
    long = alike[first] & (rows >= LEAST_STRETCH)
    first, rows = first[long], rows[long]
    # If two stretches share a piece, it belongs to the first.
    shared = first[1:] == first[:-1] + rows[:-1] - 1
    first[1:] += shared
    rows[1:] -= shared
    return first, rows
