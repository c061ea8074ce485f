"""Pooling: the greatest element, or the sum, of what windows of a kernel's size have.

    x        0 1 2 3 4 5       places, each with its channels
    tap 0    ^   ^             out[p] = join(x[p], x[p + 1]), positions two places apart
    tap 1      ^   ^

Places, positions, taps and rows are those of `poplite.vertices.convolution`. NaN is the greatest
number, as in NumPy; sums are made in the order of taps, in float32.

The cycles are PopLibs' estimate (lib/popnn/PerformanceEstimation.hpp, getPoolingCycles), for one
group of channels, in which each stretch of a row is a work item for every tap.

    >>> from poplite.machine.target import Target
    >>> int(pooling_cycles("max", (4, 12), 9, 8, Target()))
    18127
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT
from poplite.vertex.compute import lanes
from poplite.vertex.vertex import Input, MultiVertex, Output, State, Vector
from poplite.vertices.convolution import shares, stretches

T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)

Array = npt.NDArray[Any]

How = Literal["max", "sum", "backward"]
"""What a vertex does: with the greatest element, with the sum, or back from the greatest."""


class PoolMax(MultiVertex, Generic[T, U]):
    """`out[p]` is the greatest of `x[place of p + taps[t]]`, of at least one tap, by channel."""

    x: Input[Vector[T]]
    out: Output[Vector[U]]
    taps: State[Vector[UNSIGNED_INT]]
    rows: State[Vector[UNSIGNED_INT]]
    columns: State[UNSIGNED_INT]
    step: State[UNSIGNED_INT]
    channels: State[UNSIGNED_INT]

    def join(self, a: Any, b: Any) -> Any:
        """Make lanes of two."""
        return np.maximum(a, b)

    def compute(self, worker: int) -> None:
        """Pool some positions."""
        channels = self.channels
        positions = len(self.out) // channels
        first = positions * worker // self.num_workers
        end = positions * (worker + 1) // self.num_workers
        for position in range(first, end):
            place = self.rows[position // self.columns] + position % self.columns * self.step
            for channel in range(0, channels, 64):
                count = min(64, channels - channel)
                total = self.x.lanes((place + self.taps[0]) * channels + channel, count)
                for tap in range(1, len(self.taps)):
                    at = (place + self.taps[tap]) * channels + channel
                    total = self.join(total, self.x.lanes(at, count))
                self.out.set_lanes(position * channels + channel, total)

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        return _of_vertex(self, "max", target)


class PoolSum(PoolMax[T, U]):
    """`PoolMax` with the sum."""

    def join(self, a: Any, b: Any) -> Any:
        """Make lanes of two."""
        return a + b

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        return _of_vertex(self, "sum", target)


class PoolMaxGradient(MultiVertex, Generic[T]):
    """The gradient of `PoolMax`: each element gets those of the windows whose greatest it equals.

    `x` is [positions, channels] of elements, `pooled` and `gradient` are [places, channels] of the
    windows that they may be in.
    """

    x: Input[Vector[T]]
    pooled: Input[Vector[T]]
    gradient: Input[Vector[T]]
    out: Output[Vector[T]]
    taps: State[Vector[UNSIGNED_INT]]
    rows: State[Vector[UNSIGNED_INT]]
    columns: State[UNSIGNED_INT]
    step: State[UNSIGNED_INT]
    channels: State[UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        """Find the gradients of some elements."""
        channels = self.channels
        positions = len(self.out) // channels
        first = positions * worker // self.num_workers
        end = positions * (worker + 1) // self.num_workers
        for position in range(first, end):
            place = self.rows[position // self.columns] + position % self.columns * self.step
            for channel in range(0, channels, 64):
                count = min(64, channels - channel)
                x = self.x.lanes(position * channels + channel, count)
                total = lanes.map(self.none, x)
                for tap in range(len(self.taps)):
                    at = (place + self.taps[tap]) * channels + channel
                    pooled = self.pooled.lanes(at, count)
                    total += lanes.map(self.passed, self.gradient.lanes(at, count), pooled, x)
                self.out.set_lanes(position * channels + channel, total)

    @staticmethod
    def none(_: float) -> float:
        """Return 0."""
        return 0.0

    @staticmethod
    def passed(gradient: float, pooled: float, x: float) -> float:
        """Return the gradient of an element by the greatest one of its window."""
        return gradient if pooled == x else 0.0

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        return _of_vertex(self, "backward", target)


def _of_vertex(vertex: Any, how: How, target: Target) -> int:
    channels, columns = max(1, vertex.channels), max(1, vertex.columns)
    positions = len(vertex.out) // channels
    width = target.vector_width(vertex.fields["x"].element)
    rows = -(-positions // columns), columns
    return int(pooling_cycles(how, rows, len(vertex.taps), -(-channels // width), target))


def pooling_cycles(
    how: How, rows: tuple[Any, Any], taps: int, vectors: Any, target: Target
) -> Int64:
    """Return the tile cycles of pooling on one tile; of several, as an array.

    Args:
        how: what the vertex does.
        rows: of positions, and positions of each.
        taps: of a window.
        vectors: of 64 bits that the channels of a place have.
        target: whose cycles.

    >>> pooling_cycles("sum", (np.array([1, 4]), 12), 9, 8, Target()).tolist()
    [7015, 18997]
    """
    cost, backward = target.cost, how == "backward"
    loop = cost("pool_backward_loop" if backward else "pool_loop")
    item = cost("pool_item") + (cost("pool_item_backward") if backward else 0)
    start = cost("pool_start") + (cost("pool_backward") if backward else 0)
    start += cost("pool_sum_start") if how == "sum" else 0

    def pooled(places: Any) -> Any:
        """Return the slots for neighbours in a row."""
        each = cost("pool_vector") + cost(f"pool_{how}_entry") + loop * (places - 1)
        return np.where(places > 0, cost("pool_row") + taps * (item + vectors * each), 0)

    found = [
        np.where(end > first, start, 0) + stretches(first, end, rows[1], pooled)
        for first, end in shares(rows[0] * rows[1], target.workers)
    ]
    slots = cost("pool_worker") + np.maximum.reduce(np.broadcast_arrays(*found))
    cycles: Int64 = np.asarray(cost("pool_launch") + target.workers * slots, np.int64)
    return cycles


def pooling_reference(how: How, x: Array, taps: Array, places: Array) -> Array:
    """Return what `PoolMax` or `PoolSum` writes, in NumPy, before it is rounded.

    `x` is [places, channels], `places` says where each position begins in it.

    >>> pooling_reference("sum", np.float32([[1], [2], [4]]), [0, 1], [0, 1])
    array([[3.],
           [6.]], dtype=float32)
    """
    join = np.maximum if how == "max" else np.add
    wide, at = x.astype(np.float32), np.asarray(places)
    total: Array = wide[at + taps[0]]
    for tap in taps[1:]:
        total = join(total, wide[at + tap])
    return total


def gradient_reference(x: Array, pooled: Array, gradient: Array, taps: Array, places: Array) -> Any:
    """Return what `PoolMaxGradient` writes, in NumPy, before it is rounded.

    `x` is [positions, channels], `pooled` and `gradient` are [places, channels], and `places` says
    where each position begins in these.

    >>> x, most, given = np.float32([[5], [2]]), np.float32([[5], [2]]), np.float32([[0.5], [3]])
    >>> gradient_reference(x, most, given, [0], [0, 1])
    array([[0.5],
           [3. ]], dtype=float32)
    """
    total, at = np.zeros(x.shape, np.float32), np.asarray(places)
    for tap in taps:
        is_most = pooled[at + tap] == x
        total += np.where(is_most, gradient[at + tap].astype(np.float32), np.float32(0))
    return total
