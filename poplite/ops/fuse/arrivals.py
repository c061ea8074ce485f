"""The cycles of a product of matrices whose operands lie elsewhere than its plan has them.

    block (i, j) of the left matrix, for tile t       has a part of it itself, which is put in place
                                                      receives the rest from others

Products and sums are those of the plan (`poplite.ops.matmul.search`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, overlay
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.fuse.gathering import ReadOperand, copied_cycles
from poplite.ops.fuse.placement import Mappings
from poplite.ops.matmul.layout import MatrixBlocks, ProductLayout
from poplite.vertices.estimators.reductions import Slots


class Arrivals(NamedTuple):
    """What an operand takes, by tile.

    Attributes:
        received: float64[tiles], bytes from other tiles.
        sent: float64[tiles], bytes for other tiles, each for all of them at once.
        copied: float64[tiles], cycles of putting its own part in place.
    """

    received: Slots
    sent: Slots
    copied: Slots


def cycles_of_product(
    mappings: Mappings, layout: ProductLayout, left: Tensor, right: Tensor
) -> float:
    """Return the cycles of products of matrices, [groups, m, k] and [groups, k, n], as they lie."""
    target, (tall, _, wide) = mappings.graph.target, layout.grid
    group, i, j = (numbers[:, None] for numbers in layout.left.all())
    of_left = layout.tile(group, i, j, np.arange(wide))
    group, j, l = (numbers[:, None] for numbers in layout.right.all())  # noqa: E741
    of_right = layout.tile(group, np.arange(tall), j, l)
    one, other = (
        _arrivals(mappings, blocks, matrices, tiles)
        for blocks, matrices, tiles in (
            (layout.left, left, of_left),
            (layout.right, right, of_right),
        )
    )
    _, product, sums = layout.cycles
    copied = one.copied + other.copied
    cycles = layout.num_passes * (product + sums) + float(copied.max())
    if copied.any():
        cycles += layout.num_passes * target.cost("worker_call")
    moved = max((one.received + other.received).max(), (one.sent + other.sent).max())
    if moved:
        start = target.cost("sync_cycles") + target.cost("latency_cycles")
        cycles += layout.num_passes * start + float(moved) / target.exchange_bytes_per_cycle
    return float(cycles)


def _arrivals(mappings: Mappings, blocks: MatrixBlocks, matrices: Tensor, tiles: Int64) -> Arrivals:
    """Return what blocks of matrices take that tiles use, int64[blocks, copies]."""
    target, size = mappings.graph.target, matrices.element_type.size_bytes
    begin, end = blocks.spans(*blocks.all())
    whole, copies = (end - begin)[:, None], tiles.shape[1]
    low, high, tile = mappings.of(blocks.flat(matrices)).in_order()
    source, block, low, high = overlay(low, high, np.append(begin, end[-1]))
    is_own = tile[source][:, None] == tiles[block]
    elements = (high - low)[:, None] * is_own
    own = np.zeros(tiles.shape)
    np.add.at(own, block, elements)
    leaves = (high - low) * (is_own.sum(1) < copies)
    width = blocks.sizes(*blocks.all()[1:])[1][:, None]
    copied = _copied(target, matrices, own, whole, width)

    def by_tile(tiles: Int64, values: Slots) -> Slots:
        return np.bincount(tiles.ravel(), values.ravel(), target.tiles).astype(np.float64)

    return Arrivals(
        by_tile(tiles, (whole - own) * size),
        by_tile(tile[source], leaves * float(size)),
        by_tile(tiles, copied),
    )


def _copied(target: Target, matrices: Tensor, own: Slots, whole: Int64, width: Int64) -> Slots:
    """Return the cycles of putting in place what tiles have of blocks with rows of some width."""
    digits = matrices.view.flat_digits()
    length, stride = digits[-1] if digits else (1, 1)
    is_one = (width == matrices.shape[2]) & (length == matrices.num_elements) & (stride == 1)
    runs = np.where(is_one, 1, np.ceil(own / width))
    operand = ReadOperand(((0, 0), (0, stride)), matrices.element_type.size_bytes)
    is_put = (own > 0) & ((own < whole) | (runs > 1))
    copied = copied_cycles(target, np.maximum(runs, 1), np.maximum(own, 1), operand)
    return np.where(is_put, copied, 0)
