"""Matrix products by the accumulating matrix product (AMP) unit of a tile.

The unit holds weights of 16 outputs by 32 bytes of inputs: 16 halves, or 8 floats.  For halves
accumulated in floats it computes 8 outputs at once, as a Mk1 does for all types.  It loads the
weights, streams the columns of x past them, and adds to the outputs of each column; then come the
next outputs, then the next inputs::

                 columns of x, shared by the workers
                 [ . . . . . . . . . . . . ]   inputs 0 to 15       first
                 [ . . . . . . . . . . . . ]   inputs 16 to 31      then
    weights
    [ a ][ b ]   [ . . . . . . . . . . . . ]   outputs 0 to 15
    [ c ][ d ]   [ . . . . . . . . . . . . ]   outputs 16 to 31     a, c, then b, d

So with few columns or few outputs, the unit is partly idle: 1 output takes as long as 16.

The cycles are PopLibs' estimate (lib/poplin/PerformanceEstimation.hpp, the supervisor vertex of
1 x 1 convolutions) plus a launch that the estimate omits.  Measured on a Bow (tessellate-ipu,
notebooks/IPU Peak Flops.ipynb), for 16 outputs of 16 halves, accumulated in halves: 1,352 cycles
for 256 columns, 8,525 for 2,048.  In the estimate a worker streams three columns of floats as fast
as one; measured products contradict that (sparsity-benchmarks), so here each column is charged.

    >>> from poplite.machine.target import Target
    >>> bow = Target(architecture="bow")
    >>> [int(amp_cycles(16, 16, columns, HALF, HALF, bow)) for columns in (256, 2048)]
    [1350, 8526]
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, UNSIGNED_INT, ElementType
from poplite.vertex.compute import lanes
from poplite.vertex.compute.number_functions import fma
from poplite.vertex.vertex import Input, MultiVertex, Output, State, Vector, faster

T = TypeVar("T", FLOAT, HALF)

Array = npt.NDArray[Any]

GROUP = 16
"""Inputs whose products are summed before a store: a HALF output is rounded once per group."""

ROWS = 4
"""Number of outputs that a worker computes at a time on the simulator, if the columns are long."""


def first_of(total: float, _: float) -> float:
    """Return the first of two numbers; mapped over lanes, drops lanes that only one has."""
    return total


class AmpMatMul(MultiVertex, Generic[T]):
    """`out = weights @ x`, matrices in row-major order: [outputs, inputs] times [inputs, columns].

    Each sum is computed in the order of the inputs, in float32, by `pl.fma`.
    """

    weights: Input[Vector[T]]
    """the left matrix, in row-major order"""
    x: Input[Vector[T]]
    """the right matrix, in row-major order"""
    out: Output[Vector[FLOAT]]
    """the product, in row-major order"""
    columns: State[UNSIGNED_INT]
    """columns of x and of out"""
    LANES = 16

    def compute(self, worker: int) -> None:
        """Compute the worker's rows of the output."""
        columns = self.columns
        outputs, inputs = len(self.out) // columns, len(self.x) // columns
        strips = (outputs + ROWS - 1) // ROWS
        first = strips * worker // self.num_workers * ROWS
        end = min(outputs, strips * (worker + 1) // self.num_workers * ROWS)
        for row in range(first, end):
            for column in range(columns):
                total = 0.0
                for k in range(inputs):
                    weight = self.weights[row * inputs + k]
                    total = fma(weight, self.x[k * columns + column], total)
                self.out[row * columns + column] = total

    @faster(bits="equal", wide={"LANES": 64})
    def in_registers(self, worker: int) -> None:
        """One worker computes columns of six or four rows at a time: each sum in a lane, in order.

        The sums of 16 columns of six rows fill 12 of 16 registers of eight floats, in addition to
        two for x and one for a weight; the sums of 64 columns fill 24 of 32 registers of 16 floats.
        All columns of x are loaded from the second cache again for each group of rows, which is
        what limits four rows of many columns. The weights of a group stay in the first cache. The
        last columns and rows are computed again together with some before them, with the same
        result; a single remaining row is computed alone.

        Rows 13 and 14 of `benchmarks/ops.py` measure this form, and its recurrent layers do.
        """
        columns = self.columns
        outputs, inputs = len(self.out) // columns, len(self.x) // columns
        sixes = outputs // 6 if columns >= self.LANES else 0
        if sixes > 0 and 1 < outputs % 6 < 4:
            sixes -= 1  # two groups of four instead
        fours = (outputs - 6 * sixes + 2) // 4 if outputs >= 4 else 0
        if worker == 0 and inputs == 0:
            for i in range(outputs * columns):
                self.out[i] = 0.0
        elif worker == 0:
            for each in range(sixes):
                self.six_rows(6 * each, inputs, columns)
            for four in range(fours):
                row = min(6 * sixes + 4 * four, outputs - 4)
                if columns >= self.LANES:
                    self.four_rows(row, inputs, columns)
                else:
                    for strip in range((columns + 15) // 16):
                        self.four_short_rows(row, 16 * strip, inputs, columns)
            for row in range(6 * sixes + 4 * fours, outputs):
                for column in range(0, columns - 63, 64):
                    self.one_row(row, column, inputs, columns)
                if columns < 64:
                    self.short_row(row, inputs, columns)
                elif columns % 64 > 0:
                    self.one_row(row, columns - 64, inputs, columns)

    def six_rows(self, row: int, inputs: int, columns: int) -> None:
        """Compute six rows, as `four_rows` computes four."""
        weight = row * inputs
        for strip in range((columns + self.LANES - 1) // self.LANES):
            column = max(0, min(self.LANES * strip, columns - self.LANES))
            x = self.x.lanes(column, self.LANES)
            one = fma(self.weights[weight], x, 0.0)
            two = fma(self.weights[weight + inputs], x, 0.0)
            three = fma(self.weights[weight + 2 * inputs], x, 0.0)
            four = fma(self.weights[weight + 3 * inputs], x, 0.0)
            five = fma(self.weights[weight + 4 * inputs], x, 0.0)
            six = fma(self.weights[weight + 5 * inputs], x, 0.0)
            for k in range(1, inputs):
                x = self.x.lanes(k * columns + column, self.LANES)
                one = fma(self.weights[weight + k], x, one)
                two = fma(self.weights[weight + inputs + k], x, two)
                three = fma(self.weights[weight + 2 * inputs + k], x, three)
                four = fma(self.weights[weight + 3 * inputs + k], x, four)
                five = fma(self.weights[weight + 4 * inputs + k], x, five)
                six = fma(self.weights[weight + 5 * inputs + k], x, six)
            to = row * columns + column
            self.out.set_lanes(to, one)
            self.out.set_lanes(to + columns, two)
            self.out.set_lanes(to + 2 * columns, three)
            self.out.set_lanes(to + 3 * columns, four)
            self.out.set_lanes(to + 4 * columns, five)
            self.out.set_lanes(to + 5 * columns, six)

    def four_rows(self, row: int, inputs: int, columns: int) -> None:
        """Compute four rows, `LANES` columns at a time; the last block overlaps the one before."""
        weight = row * inputs
        for strip in range((columns + self.LANES - 1) // self.LANES):
            column = max(0, min(self.LANES * strip, columns - self.LANES))
            x = self.x.lanes(column, self.LANES)
            one = fma(self.weights[weight], x, 0.0)
            two = fma(self.weights[weight + inputs], x, 0.0)
            three = fma(self.weights[weight + 2 * inputs], x, 0.0)
            four = fma(self.weights[weight + 3 * inputs], x, 0.0)
            for k in range(1, inputs):
                x = self.x.lanes(k * columns + column, self.LANES)
                one = fma(self.weights[weight + k], x, one)
                two = fma(self.weights[weight + inputs + k], x, two)
                three = fma(self.weights[weight + 2 * inputs + k], x, three)
                four = fma(self.weights[weight + 3 * inputs + k], x, four)
            to = row * columns + column
            self.out.set_lanes(to, one)
            self.out.set_lanes(to + columns, two)
            self.out.set_lanes(to + 2 * columns, three)
            self.out.set_lanes(to + 3 * columns, four)

    def one_row(self, row: int, column: int, inputs: int, columns: int) -> None:
        """Compute 64 columns of a row."""
        total = lanes.full(0.0)
        for k in range(inputs):
            total = fma(
                self.weights[row * inputs + k], self.x.lanes(k * columns + column, 64), total
            )
        self.out.set_lanes(row * columns + column, total)

    def four_short_rows(self, row: int, column: int, inputs: int, columns: int) -> None:
        """Compute 16 columns of four rows, or as many as are left.

        Lanes past the end of a row hold the elements that follow in memory, as far as there are
        any; they are dropped at the end. The last inputs have a separate loop, because lanes whose
        number is not known at compile time do not stay in registers.
        """
        one = lanes.full(0.0)
        two = lanes.full(0.0)
        three = lanes.full(0.0)
        four = lanes.full(0.0)
        weight = row * inputs
        most, left = len(self.x) - 16 - column, min(16, columns - column)
        full = min(inputs, most // columns + 1) if most >= 0 else 0
        for k in range(full):
            x = self.x.lanes(k * columns + column, 16)
            one = fma(self.weights[weight + k], x, one)
            two = fma(self.weights[weight + inputs + k], x, two)
            three = fma(self.weights[weight + 2 * inputs + k], x, three)
            four = fma(self.weights[weight + 3 * inputs + k], x, four)
        for k in range(full, inputs):
            x = self.x.lanes(k * columns + column, left)
            one = fma(self.weights[weight + k], x, one)
            two = fma(self.weights[weight + inputs + k], x, two)
            three = fma(self.weights[weight + 2 * inputs + k], x, three)
            four = fma(self.weights[weight + 3 * inputs + k], x, four)
        present = self.x.lanes(column, left)
        to = row * columns + column
        self.out.set_lanes(to, lanes.map(first_of, one, present))
        self.out.set_lanes(to + columns, lanes.map(first_of, two, present))
        self.out.set_lanes(to + 2 * columns, lanes.map(first_of, three, present))
        self.out.set_lanes(to + 3 * columns, lanes.map(first_of, four, present))

    def short_row(self, row: int, inputs: int, columns: int) -> None:
        """Compute a row of fewer than 64 columns."""
        total = fma(self.weights[row * inputs], self.x.lanes(0, columns), 0.0)
        for k in range(1, inputs):
            total = fma(self.weights[row * inputs + k], self.x.lanes(k * columns, columns), total)
        self.out.set_lanes(row * columns, total)

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of the tile."""
        columns, element = max(1, self.columns), self.fields["x"].element
        sizes = len(self.out) // columns, len(self.x) // columns, columns
        return _estimate(sizes, element, FLOAT, target)

    @classmethod
    def reference(cls, weights: Array, x: Array, columns: int) -> Array:
        """Return `(weights @ x).ravel()` of the matrices, summed in the order of the inputs."""
        return _product(weights, x, columns, np.float32)


class AmpMatMulInHalf(MultiVertex):
    """`AmpMatMul` of halves whose partial sums are rounded to HALF.

    They are rounded after the inputs that do not fill a group of 16, and after each group.
    """

    weights: Input[Vector[HALF]]
    """the left matrix, in row-major order"""
    x: Input[Vector[HALF]]
    """the right matrix, in row-major order"""
    out: Output[Vector[HALF]]
    """the product, in row-major order"""
    columns: State[UNSIGNED_INT]
    """columns of x and of out"""

    def compute(self, worker: int) -> None:
        """Compute the worker's rows of the output."""
        columns = self.columns
        outputs, inputs = len(self.out) // columns, len(self.x) // columns
        rest = inputs % GROUP
        first = outputs * worker // self.num_workers
        end = outputs * (worker + 1) // self.num_workers
        for row in range(first, end):
            for column in range(columns):
                total: Any = 0.0
                for k in range(inputs):
                    weight = self.weights[row * inputs + k]
                    total = fma(weight, self.x[k * columns + column], total)
                    if (k + 1) % GROUP == rest:
                        total = HALF(total)
                self.out[row * columns + column] = total

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of the tile."""
        columns = max(1, self.columns)
        sizes = len(self.out) // columns, len(self.x) // columns, columns
        return _estimate(sizes, HALF, HALF, target)

    @classmethod
    def reference(cls, weights: Array, x: Array, columns: int) -> Array:
        """Return `(weights @ x).ravel()` of the matrices, rounded as the vertex rounds."""
        return _product(weights, x, columns, np.float16)


def _estimate(
    sizes: tuple[int, int, int],
    element: type[ElementType[Any]],
    partials: type[ElementType[Any]],
    target: Target,
) -> VertexPerfEstimate:
    cycles = int(amp_cycles(*sizes, element, partials, target))
    return VertexPerfEstimate(cycles, 2 * math.prod(sizes))


def vertex_of(partials: type[ElementType[Any]]) -> type[MultiVertex]:
    """Return the vertex whose sums have the given type."""
    return AmpMatMul if partials is FLOAT else AmpMatMulInHalf


def amp_cycles(
    outputs: int | Int64,
    inputs: int | Int64,
    columns: int | Int64,
    element: type[ElementType[Any]],
    partials: type[ElementType[Any]],
    target: Target,
) -> Int64:
    """Return the tile cycles of a product on one tile; for several products, as arrays.

    There is at least one output, and columns are divided among the workers. Weights and x are of
    `element`, HALF or FLOAT, and the unit accumulates in `partials`.

    >>> amp_cycles(np.array([1, 16, 17]), 64, 100, FLOAT, FLOAT, Target(tiles=1)).tolist()
    [9900, 9900, 19584]
    """
    cost = target.cost
    kind = "float" if element is FLOAT else "half"
    groups = np.maximum(1, np.ceil(inputs * element.size_bytes / cost("amp_inputs_bytes")))
    at_once = target.getNumConvUnits(element, partials)
    passes = np.ceil(outputs / at_once)
    load = at_once * cost("amp_inputs_bytes") / cost("weight_load_bytes_per_cycle")
    most, least = -(-columns // target.workers), columns // target.workers

    def streamed(is_last: bool) -> Any:
        """Return the cycles of streaming all columns past the loaded weights."""
        slots = [_half_slots, _float_slots][kind == "float"]
        longest, other = (target.workers * slots(n, is_last, target) for n in (most, least))
        shortest = np.where(least > 0, np.minimum(longest, other), 0)  # some workers have no column
        longest = np.where(least > 0, np.maximum(longest, other), longest)
        return np.maximum(longest, shortest + cost("amp_wait"))

    one = cost("amp_pass") + load
    cycles = cost("amp_launch") + cost("amp_supervisor") + (groups - 1) * cost("amp_depth")
    cycles = cycles + passes * ((groups - 1) * (one + streamed(False)) + one + streamed(True))
    if kind == "half":
        kept = cost("amp_half_kept") + cost("amp_half_kept_inputs") * (groups - 1)
        cycles = cycles + target.workers * kept
    found: Int64 = np.asarray(cycles, np.int64)
    return found


def _half_slots(rows: Any, is_last: bool, target: Target) -> Any:
    """Return the slots of a worker that streams this number of rows of halves."""
    cost = target.cost
    names = ("amp_half_no_row", "amp_half_one_row", "amp_half_two_rows")
    more = cost("amp_half_three_rows") + (rows - 3) * cost("amp_half_row_cycles")
    slots = np.select([rows == n for n in range(3)], [cost(name) for name in names], more)
    return slots - cost("amp_half_kept") - (cost("amp_half_last") if is_last else 0)


def _float_slots(rows: Any, is_last: bool, target: Target) -> Any:
    """Return the slots of a worker that streams this number of rows of floats."""
    cost = target.cost
    slots = cost("amp_float_one_row") + (rows - 1) * cost("amp_float_row_cycles")
    if is_last:
        slots = slots + cost("amp_float_zero") + rows * cost("amp_float_zero_row")
    return np.where(rows > 0, slots, cost("amp_float_no_row"))


def _product(weights: Array, x: Array, columns: int, dtype: npt.DTypeLike) -> Array:
    right = x.reshape(-1, columns)
    return amp_reference(weights.reshape(-1, len(right)), right, dtype).ravel()


def amp_reference(weights: Array, x: Array, dtype: npt.DTypeLike) -> Array:
    """Compute in NumPy, bit for bit, what a vertex writes: dtype[outputs, columns].

    `weights` is [outputs, inputs], `x` [inputs, columns]; all are float32 or float16.

    >>> amp_reference(np.float32([[1, 2], [3, 4]]), np.float32([[5], [6]]), np.float32)
    array([[17.],
           [39.]], dtype=float32)
    """
    out: Array = np.zeros((len(weights), x.shape[1]), dtype)
    a, b = weights.astype(np.float32), x.astype(np.float32)
    rest = len(x) % GROUP
    for first, end in [(0, rest), *((k, k + GROUP) for k in range(rest, len(x), GROUP))]:
        total = out.astype(np.float32)
        for k in range(first, end):
            total = fma(a[:, k : k + 1], b[k], total)
        out = total.astype(dtype)
    return out
