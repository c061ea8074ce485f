"""The product of two vectors.

Products are added up in 64 lanes, as `poplite.vertices.reduce` adds up rows.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import FLOAT, HALF
from poplite.vertex.vertex import Input, Output, Vector, Vertex
from poplite.vertices.reduce import rows_reference
from poplite.vertices.references import dtype_of

T = TypeVar("T", FLOAT, HALF)
U = TypeVar("U", FLOAT, HALF)

Array = npt.NDArray[Any]


class Dot(Vertex, Generic[T, U]):
    """`out` is the sum of `a[i] * b[i]`, made in float32 and rounded once."""

    a: Input[Vector[T]]
    """at least one element"""
    b: Input[Vector[T]]
    """as many elements as a"""
    out: Output[U]
    """one number"""

    def compute(self) -> None:
        """Add up products, 64 at a time."""
        size = len(self.a)
        rest = size % 64
        if size < 64:
            total = self.a.lanes(0, size) * self.b.lanes(0, size)
        else:
            total = self.a.lanes(0, 64) * self.b.lanes(0, 64)
            for i in range(64, size - 63, 64):
                total += self.a.lanes(i, 64) * self.b.lanes(i, 64)
            total += self.a.lanes(size - rest, rest) * self.b.lanes(size - rest, rest)
        self.out = total.sum()

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `np.dot(a, b)`, added up in the order of the vertex."""
        products = a.astype(np.float32) * b.astype(np.float32)
        total: Array = rows_reference(np.add, products[None])[0].astype(dtype_of(cls, "out"))
        return total
