"""Convolutions by the accumulating matrix product (AMP) unit of a tile; pooling of such windows.

Each tap of a kernel is a matrix product: the weights of the tap times the elements of x at the
places that the tap covers. So x is stored once, and read at shifted places::

    x        0 1 2 3 4 5       places, each with its inputs
    tap 0    ^ ^ ^ ^           out[p] += weights[0] @ x[p]
    tap 1      ^ ^ ^ ^         out[p] += weights[1] @ x[p + 1]
    tap 2        ^ ^ ^ ^       out[p] += weights[2] @ x[p + 2]

Positions form rows: those of a row are `step` places apart, and rows may start anywhere, depending
on strides and the ends of rows of x. A dilated kernel has its taps further apart.

The cycles are PopLibs' estimate (lib/poplin/PerformanceEstimation.hpp, the supervisor vertex of
n x 1 convolutions, with a filter height of 1) plus the launch of a matrix product; a kernel of one
tap is such a product. Sums are floats; the unit computes 8 of halves at once, or 16 of floats.

    >>> from poplite.machine.target import Target
    >>> int(convolution_cycles(16, 16, (1, 9), (4, 12), HALF, Target()))
    10402
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.compute.number_functions import fma
from poplite.vertex.vertex import Input, MultiVertex, Output, State, Vector, faster
from poplite.vertices.amp import amp_cycles, first_of

T = TypeVar("T", FLOAT, HALF)

Array = npt.NDArray[Any]


class AmpConvolution(MultiVertex, Generic[T]):
    """`out[p] = sum of weights[t] @ x[place of p + taps[t]]`, tap after tap.

    `weights` is [taps, inputs, outputs], `x` [places, inputs] and `out` [positions, outputs], all
    in row-major order. Position p is number `p % columns` of row `p // columns`, which begins at
    place `rows[p // columns]`. Each sum is computed in the order of taps, then inputs, in float32,
    by `pl.fma`.
    """

    weights: Input[Vector[T]]
    x: Input[Vector[T]]
    out: Output[Vector[FLOAT]]
    taps: State[Vector[UNSIGNED_INT]]
    rows: State[Vector[UNSIGNED_INT]]
    columns: State[UNSIGNED_INT]
    step: State[UNSIGNED_INT]
    outputs: State[UNSIGNED_INT]
    inputs: State[UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        """Compute some positions of the output."""
        outputs, inputs = self.outputs, self.inputs
        positions = len(self.out) // outputs
        first = positions * worker // self.num_workers
        end = positions * (worker + 1) // self.num_workers
        for position in range(first, end):
            place = self.rows[position // self.columns] + position % self.columns * self.step
            for output in range(outputs):
                total = 0.0
                for tap in range(len(self.taps)):
                    at = (place + self.taps[tap]) * inputs
                    for i in range(inputs):
                        weight = self.weights[(tap * inputs + i) * outputs + output]
                        total = fma(self.x[at + i], weight, total)
                self.out[position * outputs + output] = total

    @faster(bits="equal")
    def in_registers(self, worker: int) -> None:
        """Let one worker compute 16 outputs of six positions at a time: each sum in a lane.

        The last outputs and positions are computed again together with some before them, with the
        same result. 16 outputs and fewer have separate loops: a common loop takes 1.3 times as
        long in the row of `benchmarks/ops.py`.
        """
        outputs = self.outputs
        positions = len(self.out) // outputs
        if worker == 0:
            if positions < 6 or outputs < 4 or len(self.taps) * self.inputs == 0:
                for position in range(positions):
                    for output in range(outputs):
                        self.one_output(position, output)
            elif outputs < 16:
                for six in range((positions + 5) // 6):
                    self.few_outputs(min(6 * six, positions - 6))
            else:
                for strip in range((outputs + 15) // 16):
                    output = min(16 * strip, outputs - 16)
                    for six in range((positions + 5) // 6):
                        self.six_positions(min(6 * six, positions - 6), output)

    def place(self, position: int) -> int:
        """Return the place in x at which a position starts."""
        return self.rows[position // self.columns] + position % self.columns * self.step

    def six_positions(self, position: int, output: int) -> None:
        """Compute 16 outputs of six positions."""
        inputs, outputs = self.inputs, self.outputs
        one = lanes.map(self.zero, self.weights.lanes(output, 16))
        two = one
        three = one
        four = one
        five = one
        six = one
        first = self.place(position)
        second = self.place(position + 1)
        third = self.place(position + 2)
        fourth = self.place(position + 3)
        fifth = self.place(position + 4)
        sixth = self.place(position + 5)
        for tap in range(len(self.taps)):
            shift = self.taps[tap]
            a = (first + shift) * inputs
            b = (second + shift) * inputs
            c = (third + shift) * inputs
            d = (fourth + shift) * inputs
            e = (fifth + shift) * inputs
            f = (sixth + shift) * inputs
            weight = tap * inputs * outputs + output
            for i in range(inputs):
                w = self.weights.lanes(weight + i * outputs, 16)
                one = fma(self.x[a + i], w, one)
                two = fma(self.x[b + i], w, two)
                three = fma(self.x[c + i], w, three)
                four = fma(self.x[d + i], w, four)
                five = fma(self.x[e + i], w, five)
                six = fma(self.x[f + i], w, six)
        to = position * outputs + output
        self.out.set_lanes(to, one)
        self.out.set_lanes(to + outputs, two)
        self.out.set_lanes(to + 2 * outputs, three)
        self.out.set_lanes(to + 3 * outputs, four)
        self.out.set_lanes(to + 4 * outputs, five)
        self.out.set_lanes(to + 5 * outputs, six)

    def few_outputs(self, position: int) -> None:
        """Compute all outputs, fewer than 16, of six positions.

        Lanes past the last output hold the elements that follow in memory, as far as there are
        any; they are dropped at the end. The last inputs have a separate loop, because lanes whose
        number is not known at compile time do not stay in registers.
        """
        inputs, outputs = self.inputs, self.outputs
        full = (len(self.weights) - 16) // outputs + 1 if len(self.weights) > 15 else 0
        one = lanes.full(0.0)
        two = one
        three = one
        four = one
        five = one
        six = one
        first = self.place(position)
        second = self.place(position + 1)
        third = self.place(position + 2)
        fourth = self.place(position + 3)
        fifth = self.place(position + 4)
        sixth = self.place(position + 5)
        for tap in range(len(self.taps)):
            shift = self.taps[tap]
            a = (first + shift) * inputs
            b = (second + shift) * inputs
            c = (third + shift) * inputs
            d = (fourth + shift) * inputs
            e = (fifth + shift) * inputs
            f = (sixth + shift) * inputs
            weight = tap * inputs * outputs
            wide = max(0, min(inputs, full - tap * inputs))
            for i in range(wide):
                w = self.weights.lanes(weight + i * outputs, 16)
                one = fma(self.x[a + i], w, one)
                two = fma(self.x[b + i], w, two)
                three = fma(self.x[c + i], w, three)
                four = fma(self.x[d + i], w, four)
                five = fma(self.x[e + i], w, five)
                six = fma(self.x[f + i], w, six)
            for i in range(wide, inputs):
                w = self.weights.lanes(weight + i * outputs, outputs)
                one = fma(self.x[a + i], w, one)
                two = fma(self.x[b + i], w, two)
                three = fma(self.x[c + i], w, three)
                four = fma(self.x[d + i], w, four)
                five = fma(self.x[e + i], w, five)
                six = fma(self.x[f + i], w, six)
        present = self.weights.lanes(0, outputs)
        to = position * outputs
        self.out.set_lanes(to, lanes.map(first_of, one, present))
        self.out.set_lanes(to + outputs, lanes.map(first_of, two, present))
        self.out.set_lanes(to + 2 * outputs, lanes.map(first_of, three, present))
        self.out.set_lanes(to + 3 * outputs, lanes.map(first_of, four, present))
        self.out.set_lanes(to + 4 * outputs, lanes.map(first_of, five, present))
        self.out.set_lanes(to + 5 * outputs, lanes.map(first_of, six, present))

    def one_output(self, position: int, output: int) -> None:
        """Compute one output of a position."""
        inputs, outputs = self.inputs, self.outputs
        place = self.place(position)
        total = 0.0
        for tap in range(len(self.taps)):
            at = (place + self.taps[tap]) * inputs
            weight = tap * inputs * outputs + output
            for i in range(inputs):
                total = fma(self.x[at + i], self.weights[weight + i * outputs], total)
        self.out[position * outputs + output] = total

    @staticmethod
    def zero(_: float) -> float:
        """Return 0."""
        return 0.0

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of the tile."""
        positions, taps = len(self.out) // max(1, self.outputs), len(self.taps)
        cycles = convolution_cycles(
            self.outputs,
            self.inputs,
            (1, taps),
            (-(-positions // max(1, self.columns)), self.columns),
            self.fields["x"].element,
            target,
        )
        return VertexPerfEstimate(int(cycles), 2 * positions * self.outputs * self.inputs * taps)


def convolution_cycles(
    outputs: int | Int64,
    inputs: int | Int64,
    taps: tuple[int | Int64, int | Int64],
    rows: tuple[int | Int64, int | Int64],
    element: type[ElementType[Any]],
    target: Target,
) -> Int64:
    """Return the tile cycles of a convolution on one tile; for several convolutions, as arrays.

    Args:
        outputs: number of outputs, at least 1.
        inputs: number of inputs of a place.
        taps: rows of the kernel, and taps of a row.
        rows: rows of positions, and positions of each.
        element: element type of weights and x, HALF or FLOAT; sums are floats.
        target: the machine.

    >>> convolution_cycles(np.array([1, 16, 17]), 8, (3, 3), (4, 12), FLOAT, Target()).tolist()
    [7325, 7325, 14370]
    """
    cost, workers = target.cost, target.workers
    outputs, inputs = np.asarray(outputs), np.asarray(inputs)
    kind = "float" if element is FLOAT else "half"
    positions = rows[0] * rows[1]
    depth = np.maximum(1, np.ceil(inputs * element.size_bytes / cost("amp_inputs_bytes")))
    at_once = target.getNumConvUnits(element, FLOAT)
    passes = np.ceil(outputs / at_once)
    load = at_once * cost("amp_inputs_bytes") / cost("weight_load_bytes_per_cycle")
    slots = [_slots(share, rows[1], kind, target) for share in shares(positions, workers)]
    most, least = workers * np.maximum.reduce(slots), workers * np.minimum.reduce(slots)
    streamed = np.maximum(most, np.where(positions < workers, 0, least) + cost("conv_wait"))
    streamed = cost("conv_tap") + load + cost("conv_pass") + streamed
    inner = taps[0] * (cost("conv_kernel_row") + taps[1] * streamed)
    vectors = np.ceil(at_once * -(-positions // workers) * 4 / cost("data_path_bytes"))
    zeroed = workers * (vectors + cost("conv_zero") - cost("conv_zero_kept"))
    cycles: Any = cost("amp_launch") + cost("conv_supervisor")
    cycles = cycles + workers * (cost("conv_kept") + cost("conv_zero_kept"))
    cycles = cycles + passes * (cost("conv_zero_pass") + zeroed)
    cycles = cycles + depth * (cost("conv_depth") + passes * (cost("conv_depth") + inner))
    single = amp_cycles(outputs, inputs, positions, element, FLOAT, target)
    found: Int64 = np.where(taps[0] * taps[1] == 1, single, cycles).astype(np.int64)
    return found


def shares(positions: int | Int64, workers: int) -> list[tuple[Any, Any]]:
    """Return the first position and the end of each worker.

    >>> shares(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    return [(positions * w // workers, positions * (w + 1) // workers) for w in range(workers)]


def _slots(share: tuple[Any, Any], columns: int | Int64, kind: str, target: Target) -> Any:
    """Return the slots in which a worker streams its positions past the weights of a tap."""
    cost = target.cost

    def streamed(places: Any) -> Any:
        """Return the slots for adjacent positions in a row."""
        few = [cost(f"conv_{kind}_{name}") for name in ("one", "two")]
        more = cost(f"conv_{kind}_three") + (places - 3) * cost(f"amp_{kind}_row_cycles")
        slots = np.select([places == 0, places == 1, places == 2], [0, *few], more)
        entry = cost("conv_stretch") - cost("conv_kept")
        return slots + np.where(places > 0, entry, 0)

    return cost("conv_worker") + stretches(*share, columns, streamed)


def stretches(first: Any, end: Any, columns: int | Int64, cost: Callable[[Any], Any]) -> Any:
    """Return the total cost of the row segments between two positions.

    >>> int(stretches(10, 37, 12, lambda places: places**2))  # 2, 12, 12 and 1
    293
    """
    head = np.minimum(-first % columns, end - first)
    complete, tail = np.divmod(end - first - head, columns)
    return cost(head) + complete * cost(np.asarray(columns)) + cost(tail)


def convolution_reference(
    weights: Array, x: Array, taps: Array, places: Array, dtype: npt.DTypeLike
) -> Array:
    """Compute in NumPy, bit for bit, what a vertex writes: dtype[positions, outputs].

    `weights` is [taps, inputs, outputs] and `x` [places, inputs], both float32 or float16; `places`
    has the place in x at which each position starts.

    >>> weights = np.float32([[[1]], [[10]]])
    >>> convolution_reference(weights, np.float32([[1], [2], [3]]), [0, 1], [0, 1], np.float32)
    array([[21.],
           [32.]], dtype=float32)
    """
    a, b = weights.astype(np.float32), x.astype(np.float32)
    total = np.zeros((len(places), weights.shape[2]), np.float32)
    for tap, shift in enumerate(taps):
        for i in range(weights.shape[1]):
            total = fma(b[np.asarray(places) + shift, i, None], a[tap, i], total)
    result: Array = total.astype(dtype)
    return result


# -- pooling: the largest element, or the sum, of windows of a kernel's size ----------------------
#
#     x        0 1 2 3 4 5       places, each with its channels
#     tap 0    ^   ^             out[p] = join(x[p], x[p + 1]), positions two places apart
#     tap 1      ^   ^
#
# Places, positions, taps and rows are those of convolutions. NaN is the largest number, as in
# NumPy; sums are computed in the order of taps, in float32.


U = TypeVar("U", FLOAT, HALF)

How = Literal["max", "sum", "backward"]
"""What a vertex computes: the largest element, the sum, or the gradient of the largest element."""


class PoolMax(MultiVertex, Generic[T, U]):
    """`out[p]` is the largest `x[place of p + taps[t]]` over at least one tap, for each channel."""

    x: Input[Vector[T]]
    out: Output[Vector[U]]
    taps: State[Vector[UNSIGNED_INT]]
    rows: State[Vector[UNSIGNED_INT]]
    columns: State[UNSIGNED_INT]
    step: State[UNSIGNED_INT]
    channels: State[UNSIGNED_INT]

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes."""
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
        """Combine lanes."""
        return a + b

    def cycles(self, target: Target) -> int:
        """Return the cycles of the tile."""
        return _of_vertex(self, "sum", target)


class PoolMaxGradient(MultiVertex, Generic[T]):
    """The gradient of `PoolMax`: each element gets those of the windows whose maximum it equals.

    `x` is [positions, channels] for elements, `pooled` and `gradient` are [places, channels] for
    the windows that may contain them.
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
        """Compute the gradients of the worker's elements."""
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
        """Return the gradient if an element equals the maximum of its window, else 0."""
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
    """Return the tile cycles of pooling on one tile; for several poolings, as an array.

    They are PopLibs' estimate (lib/popnn/PerformanceEstimation.hpp, getPoolingCycles) for one
    group of channels, in which each segment of a row is a work item for every tap.

    Args:
        how: what the vertex does.
        rows: rows of positions, and positions of each.
        taps: number of taps of a window.
        vectors: number of 64-bit vectors that the channels of a place fill.
        target: the machine.

    >>> int(pooling_cycles("max", (4, 12), 9, 8, Target()))
    18127
    >>> pooling_cycles("sum", (np.array([1, 4]), 12), 9, 8, Target()).tolist()
    [7015, 18997]
    """
    cost, backward = target.cost, how == "backward"
    loop = cost("pool_backward_loop" if backward else "pool_loop")
    item = cost("pool_item") + (cost("pool_item_backward") if backward else 0)
    start = cost("pool_start") + (cost("pool_backward") if backward else 0)
    start += cost("pool_sum_start") if how == "sum" else 0

    def pooled(places: Any) -> Any:
        """Return the slots for adjacent positions in a row."""
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
    """Compute in NumPy what `PoolMax` or `PoolSum` writes, before rounding.

    `x` is [places, channels]; `places` contains the place at which each position starts.

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
    """Compute in NumPy what `PoolMaxGradient` writes, before rounding.

    `x` is [positions, channels], `pooled` and `gradient` are [places, channels], and `places` gives
    the place in these where each position begins.

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
