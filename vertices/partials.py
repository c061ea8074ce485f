"""Adding up partial results: those of the tile itself, and those that others sent.

    own       a0 a1 a2 a3                     on the tile already
    others    b0 b1 b2 b3  c0 c1 c2 c3        as they arrive, one behind the other
    out       a0 + b0 + c0, a1 + b1 + c1, ...

The cycles are PopLibs' estimate for `ReduceAdd` of a single input
(lib/poplin/PerformanceEstimation.hpp): 16 bytes of outputs at a time, 8 bytes loaded in a cycle.

    >>> from poplite.machine.target import Target
    >>> int(partials_cycles(96, 7, FLOAT, FLOAT, Target()))     # 4 loops a worker, of 8 + 2 * 7
    681
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, ElementType
from poplite.vertex.vertex import Input, MultiVertex, Output, Vector

T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)

Array = npt.NDArray[Any]


class AddPartials(MultiVertex, Generic[T, U]):
    """`out = own + others[0] + others[1] + ...`, vectors of equal length; rounded once, at the end.

    `others` holds them one behind the other.
    """

    own: Input[Vector[T]]
    others: Input[Vector[T]]
    out: Output[Vector[U]]

    def compute(self, worker: int) -> None:
        """Add up a part of the outputs."""
        size = len(self.out)
        for i in range(size * worker // self.num_workers, size * (worker + 1) // self.num_workers):
            total = self.own[i]
            for k in range(len(self.others) // size):
                total += self.others[k * size + i]
            self.out[i] = total

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of the tile."""
        outputs, added = len(self.out), len(self.others)
        kinds = self.fields["own"].element, self.fields["out"].element
        others = added // outputs if outputs else 0
        return VertexPerfEstimate(int(partials_cycles(outputs, others, *kinds, target)), added)


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


def partials_reference(own: Array, others: Array, dtype: npt.DTypeLike) -> Array:
    """Return what `AddPartials` writes, in NumPy, with equal bits: dtype[n].

    `own` is float32[n] or float16[n], `others` the same type, [partials, n].

    >>> partials_reference(np.float16([1, 2]), np.float16([[3, 4], [5, 6]]), np.float32)
    array([ 9., 12.], dtype=float32)
    """
    total = own.astype(np.float32)
    for partial in others:
        total = total + partial.astype(np.float32)
    result: Array = total.astype(dtype)
    return result
