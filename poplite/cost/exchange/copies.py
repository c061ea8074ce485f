"""What a Copy moves: pieces from tile to tile, and rows that stay on theirs.

source        x x x x x x x x        on tiles    0 0 0 0 1 1 1 1
destination   y y y   y y y y y                  1 1 1   1 2 2 2 2
pieces        3 from 0 to 1, 1 from 0 to 1, 4 from 1 to 2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order
from poplite.cost.exchange.locations import FEW, Locations, walk
from poplite.cost.exchange.on_tile_copies import CopiedRows, copy_phase, one_row_cycles
from poplite.cost.exchange.pieces import MovedPieces, sum_of_pairs
from poplite.cost.exchange.within_ipu import FEW as FEW_PIECES, exchange_of_few, has_map
from poplite.cost.step_cost import PhaseCost, at_tile
from poplite.jit.kernels.tile_table import pair
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import Cause
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


# -- few runs --------------------------------------------------------------------------------


def phases_of_few(
    target: Target, homes: Locations, copy: TensorCopy, views: tuple[View, View]
) -> tuple[PhaseCost, ...] | None:
    """Return the phases of a Copy of few runs within each replica; None where it is not so simple.

    The result is that of `poplite.cost.exchange.phases`, found in plain Python: it takes tens of
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
