"""Cycles that a layout takes at least by the cost model, in closed form.

    of one tile   its own parts of its blocks are copied            worker call + a row for each
                  the other parts arrive, in words or in controls   sync + latency + the larger
                  its blocks are multiplied                         as exact
                  its part of the sums arrives, and is added up     likewise

Only tiles with complete blocks are looked at, and the shortest way between tiles stands for all;
else it is what `poplite.ops.matmul.exact` finds on a graph. So it is near to that, never above, and
takes no graph: of several layouts few have to be priced to find the cheapest. `nearer_cycles` looks
up the ways between the tiles, and multiplies blocks at edges as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.latency import has_map, places, route
from poplite.machine.target import Target
from poplite.ops.matmul.layout import ProductLayout
from poplite.ops.matmul.passes import grain_of, part_edges
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles


def least_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles of all passes that the cost model never goes below."""
    own = layout.slots * int(amp_cycles(*layout.block, *layout.request.kinds, target))
    return layout.num_passes * (own + _operands(target, layout) + _sums(target, layout))


def nearer_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles as `least_cycles`, somewhat more of them for somewhat more work."""
    request = layout.request
    sizes = []
    for block, parts, size in zip(layout.block, layout.grid, request.sizes, strict=True):
        part = min(size, block * parts)  # of the first pass
        sizes.append(sorted({min(block, part), part % block or min(block, part)}))
    # Blocks at edges may take longer: workers wait for weights.
    height, deep, width = np.meshgrid(*sizes)
    found = amp_cycles(height, deep, width, *request.kinds, target)
    product = layout.slots * int(found.max())
    ways = _operands(target, layout, is_near=True) + _sums(target, layout, is_near=True)
    return layout.num_passes * (product + ways)


def _operands(target: Target, layout: ProductLayout, *, is_near: bool = False) -> int:
    """Return the least cycles in which tiles get the operands, and put their own parts between."""
    (height, deep, width), (tall, cuts, wide) = layout.block, layout.grid
    left = _parts(target, layout, height * deep, wide)
    right = _parts(target, layout, deep * width, tall)
    # Tiles (i, 0, l) of the first set, where blocks are complete.
    rows, columns = _complete(layout)
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
    first: Any = 0
    if is_near:
        by_row, by_column = tile.astype(np.int64), tile.T.astype(np.int64)
        # Blocks that are not complete take part as well.
        others = np.arange(wide) * cuts * tall, np.arange(tall)
        first = np.minimum(
            _first_words(target, by_row, others[0] + i[:, :1]),
            _first_words(target, by_column, others[1] + (l[:1] * cuts * tall).T).T,
        )
    return int((rows_copied + call).max()) + _exchange(
        target, size * (from_left + from_right), sources, first
    )


def _sums(target: Target, layout: ProductLayout, *, is_near: bool = False) -> int:
    """Return the least cycles in which tiles get partials, and add them up."""
    if not layout.has_partials:
        return 0
    request, (height, _, width), (_, cuts, _) = layout.request, layout.block, layout.grid
    part = _parts(target, layout, height * width, cuts)
    received = layout.slots * request.partials.size_bytes * (cuts - 1) * part
    kinds = request.partials, request.result
    added = layout.slots * partials_cycles(part, cuts - 1, *kinds, target)
    first: Any = 0
    if is_near and cuts > 1:
        rows, columns = _complete(layout)
        i, l = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")  # noqa: E741
        tall = layout.grid[0]
        tiles = np.arange(cuts) * tall + (l * cuts * tall + i).reshape(-1, 1)
        first = _first_words(target, tiles, tiles).max(axis=0)
    return int(added.max()) + _exchange(target, received, (cuts - 1) * (part > 0), first)


def _parts(target: Target, layout: ProductLayout, size: int, parts: int) -> Int64:
    """Return how many elements of a block each of its parts has."""
    grain = np.full(1, grain_of(target, layout.request))
    sizes: Int64 = np.diff(part_edges(np.full(1, size), parts, grain))[0]
    return sizes


def _received(parts: Int64, own: Int64, others: Int64, *, has_mate: Any) -> Any:
    """Return elements that tiles with parts `own` of a block receive; shared ones count half."""
    missing = parts.sum() - parts[own]
    of_mate = parts[np.minimum(others, len(parts) - 1)]
    return np.where(has_mate, (missing + of_mate) / 2, missing)


def _row(target: Target, layout: ProductLayout, elements: Int64) -> Any:
    """Return the cycles of copying a row, without the call of workers."""
    size = elements * layout.request.element_type.size_bytes
    return target.cost("copy_piece_cycles") + np.ceil(size / target.cost("memcpy_bytes_per_cycle"))


def _complete(layout: ProductLayout) -> tuple[int, int]:
    """Return how many rows and columns of tiles of the first set have complete blocks."""
    (height, _, width), (tall, _, wide) = layout.block, layout.grid
    return min(tall, layout.request.m // height), min(wide, layout.request.n // width)


def _first_words(target: Target, tiles: Int64, others: Int64) -> Any:
    """Return when tiles send or receive a first word at the earliest, beyond the shortest time.

    Tiles `[n, k]` exchange with others `[n, p]` of their row only.
    """
    if not has_map(target):
        return np.zeros(tiles.shape, np.int64)
    shape = (*tiles.shape, others.shape[1])
    one, other = (
        np.ascontiguousarray(np.broadcast_to(each, shape))
        for each in (tiles[:, :, None], others[:, None])
    )
    found = np.full(tiles.shape, np.iinfo(np.int64).max)
    for source, to in ((one, other), (other, one)):
        # A word leaves no earlier than its sender can send.
        time = np.maximum(route(target, source.ravel(), to.ravel()), 0).reshape(shape)
        time = time + int(target.cost("row_cycles")) * places(target)[to, 0]
        found = np.minimum(found, np.where(one == other, found.max(), time).min(axis=2))
    return np.where(found < np.iinfo(np.int64).max, found, 0)


def _exchange(target: Target, received: Any, sources: Int64, first: Any = 0) -> int:
    """Return the least cycles of an exchange by the bytes that tiles receive, and from how many.

    `first` is what the first word of each takes beyond the shortest time.
    """
    if not received.any():
        return 0
    start = target.cost("sync_cycles")
    if has_map(target):
        start += target.cost("setup_cycles") + target.cost("arrival_cycles")
    else:
        start += target.cost("exchange_cycles")
    words = np.ceil(received / target.exchange_bytes_per_cycle)
    work = np.maximum(words, target.cost("receive_controls") * sources)
    return int(start + np.where(received > 0, first + work, 0).max())
