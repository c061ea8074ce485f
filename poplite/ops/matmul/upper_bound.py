"""Cycles that a layout takes at most by the cost model, in closed form.

As the lower one in `poplite.ops.matmul.plan`, but blocks at the edges count as well, every stretch
counts as put down in a place of its own, and the ways between tiles are looked up::

    operands    to tile (i, j, l) from tiles (i, j, *) and (*, j, l)
    sums        from tiles (i, *, l)

Where one layout takes at most what another takes at least, neither has to be built and priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.latency import has_map, places, route
from poplite.machine.target import Target
from poplite.ops.matmul.layout import ProductLayout
from poplite.ops.matmul.matmul_steps import grain_of, part_edges
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles


class _Load(NamedTuple):
    """What tiles receive of blocks, at most: in each of the layout's slots.

    Attributes:
        words: that come in.
        sent: that go out.
        pieces: stretches that come in; as many go out at most.
        longest: elements of a tile's own part.
    """

    words: int
    sent: int
    pieces: int
    longest: int


class _Way(NamedTuple):
    """From where tiles receive something.

    Attributes:
        tiles: those along the last axis receive from each other.
        is_whole: whether each of them surely sends something to every other one.
    """

    tiles: Int64
    is_whole: bool


def most_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles of all passes that the cost model never goes above."""
    # A block at an edge may take longer: its workers may have to wait for weights.
    height, deep, width = np.meshgrid(*_sizes(layout))
    found = amp_cycles(height, deep, width, *layout.request.kinds, target)
    own = layout.slots * int(found.max())
    return layout.num_passes * (own + _operands(target, layout) + _sums(target, layout))


def _operands(target: Target, layout: ProductLayout) -> int:
    """Return the most cycles in which tiles get the operands, and put their own parts between."""
    request, (tall, cuts, wide) = layout.request, layout.grid
    size, (heights, depths, widths) = request.element_type.size_bytes, _sizes(layout)
    down, across = -(-request.m // layout.block[0]), -(-request.n // layout.block[2])
    # Both tiles of a pair want the same parts of the right block, or of the left one. Parts of
    # several slots may be joined on their way to one of them only.
    is_alone = layout.slots == 1
    is_left_shared = is_alone and tall * cuts == 1 and wide % 2 == 0 and across >= wide
    is_right_shared = is_alone and tall % 2 == 0 and down >= tall
    left = _most(
        [
            _gathered(target, layout, height * depth, wide, size, is_shared=is_left_shared)
            for height, depth in product(heights, depths)
        ]
    )
    right = _most(
        [
            _gathered(target, layout, depth * width, tall, size, is_shared=is_right_shared)
            for depth, width in product(depths, widths)
        ]
    )
    rows = [layout.slots * _row(target, size * part.longest) for part in (left, right)]
    copied = rows[0] * (left.pieces > 0) + rows[1] * (right.pieces > 0)
    call = int(target.cost("worker_call")) if copied else 0
    both = _Load(*(a + b for a, b in zip(left, right, strict=True)))
    grain, least = grain_of(target, request), (heights[0] * depths[0], depths[0] * widths[0])
    tiles = np.arange(layout.tiles).reshape(-1, wide, cuts, tall)
    ways = [
        _Way(order, -(-elements // grain) >= order.shape[-1])
        for order, elements, part in zip(
            (tiles.transpose(0, 2, 3, 1), tiles), least, (left, right), strict=True
        )
        if part.pieces
    ]
    return copied + call + _exchange(target, layout, both, size, ways)


def _sums(target: Target, layout: ProductLayout) -> int:
    """Return the most cycles in which tiles get partials, and add them up."""
    if not layout.has_partials:
        return 0
    request, (tall, cuts, wide) = layout.request, layout.grid
    (heights, _, widths), size = _sizes(layout), request.partials.size_bytes
    every = []
    for height, width in product(heights, widths):
        part = _parts(target, layout, height * width, cuts)
        words = _words(target, part * size)
        sent = int(words.sum() - words.min())
        every.append(_Load(int(words.max()) * (cuts - 1), sent, cuts - 1, int(part.max())))
    load, kinds = _most(every), (request.partials, request.result)
    added = layout.slots * int(partials_cycles(load.longest, cuts - 1, *kinds, target))
    tiles = np.arange(layout.tiles).reshape(-1, wide, cuts, tall)
    is_whole = -(-heights[0] * widths[0] // grain_of(target, request)) >= cuts
    ways = [_Way(tiles.transpose(0, 1, 3, 2), is_whole)]
    return added + _exchange(target, layout, load, size, ways)


def _sizes(layout: ProductLayout) -> list[list[int]]:
    """Return the rows, depths and columns of blocks: of complete ones, and of those at edges."""
    sizes = zip(layout.block, layout.request.sizes, strict=True)
    return [sorted({min(block, size), size % block or min(block, size)}) for block, size in sizes]


def _most(every: Sequence[_Load]) -> _Load:
    return _Load(*(max(column) for column in zip(*every, strict=True)))


def _gathered(
    target: Target, layout: ProductLayout, elements: int, parts: int, size: int, *, is_shared: bool
) -> _Load:
    """Return what tiles have to get of a block of which each of them has a part."""
    part = _parts(target, layout, elements, parts)
    words = _words(target, part * size)
    missing = words.sum() - words
    if is_shared:
        mate = np.arange(parts) ^ 1
        half = -(-words // 2)
        missing = half.sum() - half - half[mate] + words[mate]
    others = int(np.count_nonzero(part))
    pieces = others if others < parts or not part.any() else others - 1
    sent = int(words.max()) if parts > 1 else 0
    return _Load(int(missing.max()), sent, pieces if parts > 1 else 0, int(part.max()))


def _parts(target: Target, layout: ProductLayout, size: int, parts: int) -> Int64:
    """Return how many elements of a block each of its parts has."""
    grain = np.full(1, grain_of(target, layout.request))
    sizes: Int64 = np.diff(part_edges(np.full(1, size), parts, grain))[0]
    return sizes


def _words(target: Target, num_bytes: Int64) -> Int64:
    return -(-num_bytes // int(target.cost("word_bytes")))


def _row(target: Target, num_bytes: int) -> int:
    """Return the cycles of copying a row, without the call of workers."""
    per_cycle = int(target.cost("memcpy_bytes_per_cycle"))
    return int(target.cost("copy_piece_cycles")) - (-num_bytes // per_cycle)


def _exchange(
    target: Target, layout: ProductLayout, load: _Load, size: int, ways: Sequence[_Way]
) -> int:
    """Return the most cycles of an exchange of elements of a size in bytes."""
    if not load.pieces:
        return 0
    cost, slots = target.cost, layout.slots
    # The tiles of a pair may send over one lane.
    lanes = max(1, int(cost("pair_tiles")) // int(cost("send_lanes")))
    words = slots * max(load.words, lanes * load.sent)
    payload = -(-words * int(cost("word_bytes")) // target.exchange_bytes_per_cycle)
    sends = 1 + words // int(cost("longest_send_words"))
    each = int(cost("receive_controls") + cost("pointer_controls") + cost("send_controls"))
    controls = slots * load.pieces * each + sends * int(cost("send_controls"))
    first, last = _latencies(target, layout, ways)
    longest = -(-slots * load.longest * size // int(cost("word_bytes")))
    return int(cost("sync_cycles")) + max(first + max(payload, controls), last + longest)


def _latencies(target: Target, layout: ProductLayout, ways: Sequence[_Way]) -> tuple[int, int]:
    """Return the longest times until the first word of a tile arrives, and until any one does."""
    if not has_map(target):
        return (int(target.cost("exchange_cycles")),) * 2
    first, last = np.full(layout.tiles, np.iinfo(np.int64).max), 0
    for tiles, is_whole in ways:
        some = tiles.reshape(-1, tiles.shape[-1])
        source, to = (
            np.ascontiguousarray(a) for a in np.broadcast_arrays(some[:, :, None], some[:, None])
        )
        time = route(target, source.ravel(), to.ravel()).reshape(source.shape)
        arrived = time + int(target.cost("row_cycles")) * places(target)[to, 0]
        arrived -= np.minimum(time.min(axis=2), 0)[:, :, None]
        last = max(last, int(arrived.max()))
        if is_whole:
            arrived[:, range(some.shape[1]), range(some.shape[1])] = last  # none from itself
        first[some] = np.minimum(first[some], arrived.min(1) if is_whole else arrived.max(1))
    start = int(target.cost("setup_cycles") + target.cost("arrival_cycles"))
    return start + int(first.max()), start + last
