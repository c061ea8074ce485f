"""Cycles that a layout takes at least by the cost model, in closed form.

    of one tile   its own parts of its blocks are copied            worker call + a row for each
                  the other parts arrive, in words or in controls   sync + latency + the larger
                  its blocks are multiplied                         as exact
                  its part of the sums arrives, and is added up     likewise

Only tiles with complete blocks are looked at, and the shortest way between tiles stands for all;
else it is what `poplite.ops.matmul.exact` finds on a graph. So it is near to that, never above, and
takes no graph: of several layouts few have to be priced to find the cheapest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.latency import has_map
from poplite.machine.target import Target
from poplite.ops.matmul.layout import Layout
from poplite.ops.matmul.passes import grain_of, part_edges
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles


def least_cycles(target: Target, layout: Layout) -> int:
    """Return cycles of all passes that the cost model never goes below."""
    request = layout.request
    own = layout.slots * int(amp_cycles(*layout.block, request.element_type.size_bytes, target))
    return layout.num_passes * (own + _operands(target, layout) + _sums(target, layout))


def _operands(target: Target, layout: Layout) -> int:
    """Return the least cycles in which tiles get the operands, and put their own parts between."""
    (height, deep, width), (tall, cuts, wide) = layout.block, layout.grid
    left = _parts(target, layout, height * deep, wide)
    right = _parts(target, layout, deep * width, tall)
    # Tiles (i, 0, l) of the first set, where blocks are complete.
    rows = min(tall, layout.request.m // height)
    columns = min(wide, layout.request.n // width)
    i, l = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")  # noqa: E741
    tile = l * cuts * tall + i
    mate = tile ^ 1
    # Both tiles of a pair take what both want from others together, half of the words each.
    from_left = _received(left, l, mate, has_mate=(tall * cuts == 1) & (mate < wide))
    from_right = _received(right, i, mate % tall, has_mate=mate // tall == tile // tall)
    size = layout.slots * layout.request.element_type.size_bytes
    sources = np.count_nonzero(left) - (left[l] > 0) + np.count_nonzero(right) - (right[i] > 0)
    copied = [
        np.where((part > 0) & (part < whole.sum()), layout.slots * _row(target, layout, part), 0)
        for whole, part in ((left, left[l]), (right, right[i]))
    ]
    rows_copied = copied[0] + copied[1]
    call = np.where(rows_copied > 0, target.cost("worker_call"), 0)
    return int((rows_copied + call).max()) + _exchange(
        target, size * (from_left + from_right), sources
    )


def _sums(target: Target, layout: Layout) -> int:
    """Return the least cycles in which tiles get partials, and add them up."""
    if not layout.has_partials:
        return 0
    request, (height, _, width), (_, cuts, _) = layout.request, layout.block, layout.grid
    part = _parts(target, layout, height * width, cuts)
    received = layout.slots * request.partials.size_bytes * (cuts - 1) * part
    kinds = request.partials, request.result
    added = layout.slots * partials_cycles(part, cuts - 1, *kinds, target)
    return int(added.max()) + _exchange(target, received, (cuts - 1) * (part > 0))


def _parts(target: Target, layout: Layout, size: int, parts: int) -> Int64:
    """Return how many elements of a block each of its parts has."""
    grain = np.full(1, grain_of(target, layout.request))
    sizes: Int64 = np.diff(part_edges(np.full(1, size), parts, grain))[0]
    return sizes


def _received(parts: Int64, own: Int64, others: Int64, *, has_mate: Any) -> Any:
    """Return elements that tiles with parts `own` of a block receive; shared ones count half."""
    missing = parts.sum() - parts[own]
    of_mate = parts[np.minimum(others, len(parts) - 1)]
    return np.where(has_mate, (missing + of_mate) / 2, missing)


def _row(target: Target, layout: Layout, elements: Int64) -> Any:
    """Return the cycles of copying a row, without the call of workers."""
    size = elements * layout.request.element_type.size_bytes
    return target.cost("copy_piece_cycles") + np.ceil(size / target.cost("memcpy_bytes_per_cycle"))


def _exchange(target: Target, received: Any, sources: Int64) -> int:
    """Return the least cycles of an exchange by the bytes that tiles receive, and from how many."""
    if not received.any():
        return 0
    start = target.cost("sync_cycles")
    if has_map(target):
        start += target.cost("setup_cycles") + target.cost("arrival_cycles")
    else:
        start += target.cost("exchange_cycles")
    words = np.ceil(received / target.exchange_bytes_per_cycle)
    return int(start + np.maximum(words, target.cost("receive_controls") * sources).max())
