"""The data that a Copy moves: pieces between tiles, rows on each tile.

source        x x x x x x x x        on tiles    0 0 0 0 1 1 1 1
destination   y y y   y y y y y                  1 1 1   1 2 2 2 2
pieces        3 from 0 to 1, 1 from 0 to 1, 4 from 1 to 2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order
from poplite.cost.exchange_cycles import (
    FEW as FEW_PIECES,
    MovedPieces,
    exchange_of_few,
    has_map,
    sum_of_pairs,
)
from poplite.cost.locations import FEW, Locations, walk
from poplite.cost.step_cost import NOTHING, PhaseCost, at_tile
from poplite.jit.kernels.tile_table import pair
from poplite.report.execution import Cause
from poplite.report.per_tile import PerTile
from poplite.view import num_runs, runs
from poplite.view.contiguous_runs import few_runs

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.program import CrossReplicaCopy, TensorCopy
    from poplite.view import View


_COLUMNS = "source", "to", "at", "into", "size"
"""What the kernel finds of each piece."""

MOST_RUNS = 1 << 20
"""Most runs of a view that are handled together."""


def parts_of(copy: TensorCopy | CrossReplicaCopy) -> Iterator[tuple[View, View]]:
    """Yield source and destination of a Copy, in parts where they have very many runs."""
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
    """Return the sum of phases of one kind, parts of a Copy; each part sends its elements once."""
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
    cycles = [phase.cycles.array() for phase in phases]
    cycles[1:] = [np.maximum(each - again, 0) for each in cycles[1:]]
    return PhaseCost(
        first.kind,
        PerTile.of(np.sum(cycles, axis=0)),
        first.sync,
        received=_total([phase.received for phase in phases]),
        sent=_total([phase.sent for phase in phases]),
        copied=_total([phase.copied for phase in phases]),
        causes=(replace(cause, bytes=sum(phase.causes[0].bytes for phase in phases)),),
        pairs=sum_of_pairs(num_tiles, [phase.pairs for phase in phases]),
    )


def _total(spreads: Sequence[PerTile]) -> PerTile:
    return PerTile.of(np.sum([spread.array() for spread in spreads], axis=0))


def pieces_between(
    homes: Locations, source: View, destination: View, width: int
) -> tuple[MovedPieces, Int64]:
    """Return what moves from a view to another, sorted by receiving tile, and where it lands.

    Both views have as many elements, the destination each once. The pieces include those that stay
    on their tile; the second result is int64[n], the place where each lands.
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
    """Cut two lists of runs where either changes run or tile; return `_COLUMNS`, int64[5, n]."""
    begin, _, others, _ = both
    room = len(begin) + len(others)
    segments = homes.many(np.concatenate([begin, others]))
    while True:
        out = np.empty((len(_COLUMNS), room), np.int64)
        found = walk(segments, pair, *both, len(begin), *out, room)
        if found <= room:
            return out[:, :found]
        room = found


def rows_of(homes: Locations, pieces: MovedPieces, into: Int64) -> CopiedRows:
    """Return pieces that stay on their tile, landing at int64[n], as rows to be copied there."""
    # Elements contiguous in the memory of the tile are one row, wherever they are in the variables.
    starts = np.ones(len(into), np.bool_)
    starts[1:] = (pieces.to[1:] != pieces.to[:-1]) | (into[1:] != (into + pieces.size)[:-1])
    starts[1:] |= pieces.at[1:] != (pieces.at + pieces.size)[:-1]
    first = np.flatnonzero(starts)
    size = np.add.reduceat(pieces.size, first)
    _, tile, at, _, width, _ = pieces.ordered(first)
    at, into = homes.in_memory(at), homes.in_memory(into[first])
    return CopiedRows(tile, tile, at, into, size, width)


# -- few runs --------------------------------------------------------------------------------------


def phases_of_few(
    target: Target, homes: Locations, copy: TensorCopy, views: tuple[View, View]
) -> tuple[PhaseCost, ...] | None:
    """Return the phases of a Copy of few runs within each replica; None where it is not so simple.

    The result is that of `poplite.cost.exchange_phases`, found in plain Python: it takes tens of
    microseconds, and loads no compiled code.
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
        cause = Cause(what, "is copied on its tile", at, num_bytes)
        phases.append(_copied(target, homes, stays, width, cause))
    if len(rows) > len(stays):
        source, to, begin_at, into, count = zip(*rows, strict=True)
        jumps = (True, *[a[1] != b[1] or a[3] + a[4] != b[3] for a, b in pairwise(rows)])
        moved = sum([row[4] for row in rows if row[0] != row[1]]) * width
        cause = Cause(what, "goes to other tiles", at, moved)
        low = min(begin_at)
        # Counted from the least place, so that other Copies find the same pieces.
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
    """Return the phase in which pieces are copied that stay on their tiles."""
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
# Copies on tiles: a vector that a vertex reads, but that lies in several places, is gathered.
#
#     on its tile              . . . a a a . . . b b b . . .      columns of a block
#     from elsewhere           c                 d                a halo
#                                   c a a a d b b b               what `self.x` is
#
# Exchange puts elements from other tiles directly in their places.  The others are copied, row by
# row, each time before the compute set runs; what a vertex writes to several places is copied back
# after it has run.  A vector in one place costs nothing, and neither does one that comes entirely
# from other tiles.
#
#     cycles of a tile = call of its workers + cycles per row + bytes / 8
#
# Single elements at even distances are one strided copy.  With one fitted constant, the cycles per
# row, the model is within 6 % of the four copies on the largest tile of a Gaussian blur
# (thorbenlouw/lbm-graphcore, experiments: 282 rows of up to 10 pixels gathered for six workers that
# share 45 columns, and 282 of 8 scattered) and of two copies measured alone (ipu-stack, cost.rs: 8
# B, 8 KiB).

_Bytes = TypeVar("_Bytes", int, Int64)


class CopiedRows(NamedTuple):
    """Copies on tiles, row by row.

    Attributes:
        tile: int64[n], the tile.
        group: int64[n], a number for rows that belong together, which follow each other.
        at: int64[n], the place where each row lies.
        into: int64[n], the place where it is put, on the same scale as `at`.
        size: int64[n], elements.
        width: int64[n], bytes of an element.
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
    """Return the phase in which rows are copied; `buffers` are bytes to gather them in."""
    num_bytes = _sums(rows.tile, rows.bytes, target.tiles)
    cycles = _sums(rows.tile, cycles_of(target, rows), target.tiles)
    cycles[num_bytes > 0] += _row_costs(target)[0]
    return PhaseCost(
        "copy", PerTile.of(cycles), copied=PerTile.of(num_bytes), buffers=buffers, causes=causes
    )


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
    # The first two rows of a series set its distances; the others must have the same.
    steps, paces = np.diff(rows.at), np.diff(rows.into)
    goes_on = alike.copy()
    goes_on[2:] &= (steps[1:] == steps[:-1]) & (paces[1:] == paces[:-1]) | ~alike[1:-1]
    strided = -(-word // int(target.cost("strided_copy_bytes_per_cycle")))
    return np.where(goes_on, strided, separate)


def one_row_cycles(target: Target, num_bytes: int) -> int:
    """Return the cycles in which a tile copies one row of so many bytes."""
    return _row_costs(target)[0] + _row_cycles(target, num_bytes)


def _row_cycles(target: Target, num_bytes: _Bytes) -> _Bytes:
    """Return the cycles of rows by themselves, without the call of workers."""
    _, piece, bytes_per_cycle = _row_costs(target)
    return piece - (-num_bytes // bytes_per_cycle)


@lru_cache(maxsize=8)
def _row_costs(target: Target) -> tuple[int, int, int]:
    names = "worker_call", "copy_piece_cycles", "memcpy_bytes_per_cycle"
    call, piece, bytes_per_cycle = (int(target.cost(name)) for name in names)
    return call, piece, bytes_per_cycle


def _sums(tile: Int64, values: Int64, num_tiles: int) -> Int64:
    return np.bincount(tile, values, num_tiles).astype(np.int64)
