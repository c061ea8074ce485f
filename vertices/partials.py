"""Adding up partial results: those of the tile itself, and those that others sent.

    partials    a0 a1 a2 a3
                b0 b1 b2 b3
                c0 c1 c2 c3
    out         a0 + b0 + c0, a1 + b1 + c1, ...

The cycles are PopLibs' estimate for `ReduceAdd` of a single input
(lib/poplin/PerformanceEstimation.hpp): 16 bytes of outputs at a time, 8 bytes loaded in a cycle.

    >>> from poplite.machine.target import Target
    >>> int(partials_cycles(96, 7, FLOAT, FLOAT, Target()))     # 4 loops a worker, of 8 + 2 * 7
    681
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, ElementType
from poplite.vertex.faster import faster
from poplite.vertex.vertex import Input, MultiVertex, Output, Vector
from poplite.vertices.references import dtype_of

T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)

Array = npt.NDArray[Any]


class AddPartials(MultiVertex, Generic[T, U]):
    """`out = partials[0] + partials[1] + ...`, of vectors, rounded once, at the end."""

    partials: Input[Vector[Vector[T]]]
    """at least one vector, each as long as out"""
    out: Output[Vector[U]]
    """any number of elements"""

    def compute(self, worker: int) -> None:
        """Add up a part of the outputs."""
        size, workers = len(self.out), self.num_workers
        first, end = size * worker // workers, size * (worker + 1) // workers
        for low in range(first, end, 64):
            count = min(64, end - low)
            total = self.partials[0].lanes(low, count)
            for row in range(1, len(self.partials)):
                total += self.partials[row].lanes(low, count)
            self.out.set_lanes(low, total)

    @faster(bits="equal")
    def by_one_worker(self, worker: int) -> None:
        """Let one worker add up 64 outputs at a time, of which the last begin early to be 64."""
        size = len(self.out)
        if worker == 0 and 0 < size < 64:
            total = self.partials[0].lanes(0, size)
            for row in range(1, len(self.partials)):
                total += self.partials[row].lanes(0, size)
            self.out.set_lanes(0, total)
        elif worker == 0 and size > 0:
            for block in range(0, size, 64):
                low = min(block, size - 64)
                total = self.partials[0].lanes(low, 64)
                for row in range(1, len(self.partials)):
                    total += self.partials[row].lanes(low, 64)
                self.out.set_lanes(low, total)

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of the tile."""
        outputs, others = len(self.out), len(self.partials) - 1
        kinds = self.fields["partials"].element, self.fields["out"].element
        cycles = int(partials_cycles(outputs, others, *kinds, target))
        return VertexPerfEstimate(cycles, outputs * others)

    @classmethod
    def reference(cls, partials: Array) -> Array:
        """Return `np.sum(partials, axis=0)`, from the first to the last in float32."""
        return partials_reference(partials, dtype_of(cls, "out"))


def partials_cycles(
    outputs: int | Int64,
    others: int | Int64,
    partials: type[ElementType[Any]],
    result: type[ElementType[Any]],
    target: Target,
) -> Int64:
    """Return the tile cycles of adding up partials; of several additions, as arrays.

    `outputs` are all results of the tile, `others` the partials of each besides the tile's own;
    `partials` and `result` are element types, HALF or FLOAT.
    """
    cost = target.cost
    at_once = cost("add_partials_bytes")
    loops = np.ceil(outputs * partials.size_bytes / (at_once * target.workers))
    each = cost("add_partials_float" if partials is FLOAT else "add_partials_half")
    each += cost("add_partials_to_float") if result is FLOAT else 0
    slots = loops * (each + others * at_once / cost("load_bytes_per_cycle"))
    start = cost("add_partials_supervisor") + target.workers * cost("add_partials_entry")
    cycles: Int64 = np.asarray(start + target.workers * slots, np.int64)
    return cycles


def sum_cycles(
    outputs: int,
    others: int,
    partials: type[ElementType[Any]],
    result: type[ElementType[Any]],
    slots: float,
    target: Target,
) -> int:
    """Return the tile cycles of adding up partials, and of what is computed of each sum.

    That takes `slots` for each 64 bits of results, beside those of `partials_cycles`.

    >>> sum_cycles(96, 7, FLOAT, FLOAT, 2, Target())     # 8 pairs a worker
    777
    """
    cycles = int(partials_cycles(outputs, others, partials, result, target))
    share = -(-outputs * result.size_bytes // (8 * target.workers))
    return cycles + target.workers * math.ceil(share * slots)


def partials_reference(partials: Array, dtype: npt.DTypeLike) -> Array:
    """Return what `AddPartials` writes, in NumPy, with equal bits: dtype[n].

    `partials` is float32[partials, n] or float16.

    >>> partials_reference(np.float16([[1, 2], [3, 4], [5, 6]]), np.float32)
    array([ 9., 12.], dtype=float32)
    """
    total = partials[0].astype(np.float32)
    for partial in partials[1:]:
        total = total + partial.astype(np.float32)
    result: Array = total.astype(dtype)
    return result
