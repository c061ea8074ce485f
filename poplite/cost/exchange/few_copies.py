"""What a Copy of few runs takes, in plain Python: tens of microseconds, and no code to load.

The same as `poplite.cost.exchange.phases` finds: pieces, what stays on its tile, and what goes to
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from poplite.cost.exchange.copies import rows_of
from poplite.cost.exchange.internal import FEW as FEW_PIECES
from poplite.cost.exchange.internal import exchange_of_few
from poplite.cost.exchange.locations import FEW, Homes, walk
from poplite.cost.exchange.on_tile_copies import copy_phase, one_row_cycles
from poplite.cost.exchange.pieces import Pieces
from poplite.cost.spread import Spread
from poplite.cost.step_cost import Cause, Phase
from poplite.jit.kernels.locations import pair
from poplite.view.contiguous.small import few_runs

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.program import TensorCopy
    from poplite.view import View


def phases_of_few(
    target: Target, homes: Homes, copy: TensorCopy, views: tuple[View, View]
) -> tuple[Phase, ...] | None:
    """Return what a Copy takes; None where it is not so simple.

    Args:
        target: the machine.
        homes: where elements are.
        copy: within each replica.
        views: of its source and of its destination, of at least one element.
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
    what = f"'{copy.source.name}' -> '{copy.destination.name}'"
    stays = [row for row in rows if row[0] == row[1]]
    phases = []
    if stays:
        num_bytes = sum([row[4] for row in stays]) * width
        cause = Cause(what, "is copied on its tile", copy.location, num_bytes)
        phases.append(_copied(target, homes, stays, width, cause))
    if len(rows) > len(stays):
        source, to, at, into, count = zip(*rows, strict=True)
        jumps = (True, *[a[1] != b[1] or a[3] + a[4] != b[3] for a, b in pairwise(rows)])
        moved = sum([row[4] for row in rows if row[0] != row[1]]) * width
        cause = Cause(what, "goes to other tiles", copy.location, moved)
        low = min(at)
        given = source, to, tuple([place - low for place in at]), count, (width,) * found, jumps
        phases.append(exchange_of_few(target, given, (cause,), homes.exchanges))
    return tuple(phases)


def _copied(
    target: Target, homes: Homes, stays: Sequence[tuple[int, ...]], width: int, cause: Cause
) -> Phase:
    """Return the phase in which pieces are copied that stay on their tiles."""
    if len(stays) == 1:
        tile = stays[0][1]
        cycles = one_row_cycles(target, cause.bytes)
        copied = Spread.at_tile(tile, cause.bytes)
        return Phase("copy", Spread.at_tile(tile, cycles), copied=copied, causes=(cause,))
    source, to, at, into, size = np.array(stays, np.int64).T
    jumps = np.ones(len(to), np.bool_)
    pieces = Pieces(source, to, at, size, np.full(len(to), width), jumps)
    return copy_phase(target, rows_of(homes, pieces, into), (cause,))
