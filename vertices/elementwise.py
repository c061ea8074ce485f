"""Adding element by element: the vertex behind `poplite.ops.add`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, INT, UNSIGNED_INT
from poplite.vertex.vertex import Input, Output, Vector, Vertex
from poplite.vertices.estimators.poplibs import binary

T = TypeVar("T", FLOAT, HALF, INT, UNSIGNED_INT)


class Add(Vertex, Generic[T]):
    """`out[i] = a[i] + b[i]`; all three of one length.  Ints wrap."""

    a: Input[Vector[T]]
    b: Input[Vector[T]]
    out: Output[Vector[T]]

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `BinaryOp1D`."""
        element, elements = self.fields["out"].element, len(self.out)
        flops = elements if element.is_floating_point else 0
        return VertexPerfEstimate(binary("add", element, elements, target), flops)


def add_reference(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what `Add` writes, in NumPy.

    Args:
        a: any shape, of the dtype of an element type.
        b: the same shape and dtype.

    Returns:
        The same shape and dtype, with equal bits.

    >>> add_reference(np.float32([1, 2]), np.float32([3, 4]))
    array([4., 6.], dtype=float32)
    """
    total: npt.NDArray[Any] = np.add(a, b, dtype=a.dtype)
    return total
