"""Reducing many elements to few: sums, products, extremes, all or any.

The elements of an output lie in the memory of a tile in one of two ways::

    Rows       x   0 0 0 0 1 1 1 1 2 2 2 2       one output after the other
    Columns    x   0 1 2 . . 0 1 2 . . 0 1 2     row after row, `stride` apart, outputs 0 to 2

`SumRows` and `SumColumns` have the loops; the other classes replace `join`, which makes one number
from two.  Inputs and outputs may be of different types: HALF is added up in FLOAT.

Order matters to float sums.  `Columns` joins an output's elements from the first to the last,
as NumPy does along axis 0.  `Rows` of 16 elements or more keeps eight running results, number k
for elements k, k + 8, ..., joins them in pairs, then takes the remaining elements, at most seven;
so a processor joins eight numbers at a time.  NaN is the least and the greatest number, as in
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import BOOL, UNSIGNED_INT, ElementType
from poplite.vertex.vertex import Input, Output, State, Vector, Vertex
from poplite.vertices.estimators.poplibs import reduce_columns, reduce_one, reduce_rows

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Array = npt.NDArray[Any]

LANES = 8
"""Running results of `Rows`, and columns that `Columns` takes at a time."""


class SumRows(Vertex, Generic[T, U]):
    """`out[i]` is the sum of the i-th of equally long parts of x, of at least one element each."""

    x: Input[Vector[T]]
    out: Output[Vector[U]]

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two."""
        return a + b

    def compute(self) -> None:
        """Reduce part by part."""
        length = len(self.x) // len(self.out)
        for row in range(len(self.out)):
            first = row * length
            end = first + length
            total = self.x[first]
            if length >= 16:
                b, c, d = self.x[first + 1], self.x[first + 2], self.x[first + 3]
                e, f, g = self.x[first + 4], self.x[first + 5], self.x[first + 6]
                h = self.x[first + 7]
                for i in range(first + 8, end - 7, 8):
                    total = self.join(total, self.x[i])
                    b = self.join(b, self.x[i + 1])
                    c = self.join(c, self.x[i + 2])
                    d = self.join(d, self.x[i + 3])
                    e = self.join(e, self.x[i + 4])
                    f = self.join(f, self.x[i + 5])
                    g = self.join(g, self.x[i + 6])
                    h = self.join(h, self.x[i + 7])
                total = self.join(self.join(total, b), self.join(c, d))
                total = self.join(total, self.join(self.join(e, f), self.join(g, h)))
                for i in range(end - length % 8, end):
                    total = self.join(total, self.x[i])
            else:
                for i in range(first + 1, end):
                    total = self.join(total, self.x[i])
            self.out[row] = total

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `Reduce` of one vector, or of continuous regions."""
        element, result = self.fields["x"].element, self.fields["out"].element
        outputs, elements = len(self.out), len(self.x)
        flops = max(0, elements - outputs) if element.is_floating_point else 0
        if outputs == 1:
            return VertexPerfEstimate(reduce_one(element, result, elements, target), flops)
        length = elements // outputs if outputs else 0
        return VertexPerfEstimate(reduce_rows(element, outputs, length, target), flops)


class SumColumns(Vertex, Generic[T, U]):
    """`out[i]` is the sum of `x[i], x[i + stride], x[i + 2 * stride], ...`."""

    x: Input[Vector[T]]
    out: Output[Vector[U]]
    stride: State[UNSIGNED_INT]
    ADDS = True

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two."""
        return a + b

    def compute(self) -> None:
        """Reduce eight columns at a time, then what is left."""
        stride = self.stride
        rows = (len(self.x) - len(self.out)) // stride + 1
        whole = len(self.out) // 8 * 8
        for i in range(0, whole, 8):
            a, b, c, d = self.x[i], self.x[i + 1], self.x[i + 2], self.x[i + 3]
            e, f, g, h = self.x[i + 4], self.x[i + 5], self.x[i + 6], self.x[i + 7]
            for row in range(1, rows):
                at = row * stride + i
                a = self.join(a, self.x[at])
                b = self.join(b, self.x[at + 1])
                c = self.join(c, self.x[at + 2])
                d = self.join(d, self.x[at + 3])
                e = self.join(e, self.x[at + 4])
                f = self.join(f, self.x[at + 5])
                g = self.join(g, self.x[at + 6])
                h = self.join(h, self.x[at + 7])
            self.out[i] = a
            self.out[i + 1] = b
            self.out[i + 2] = c
            self.out[i + 3] = d
            self.out[i + 4] = e
            self.out[i + 5] = f
            self.out[i + 6] = g
            self.out[i + 7] = h
        for i in range(whole, len(self.out)):
            total = self.x[i]
            for row in range(1, rows):
                total = self.join(total, self.x[row * stride + i])
            self.out[i] = total

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `StridedReduce`."""
        element, result = self.fields["x"].element, self.fields["out"].element
        outputs, stride = len(self.out), self.stride
        rows = (len(self.x) - outputs) // stride + 1
        slots = reduce_columns(element, result, outputs, rows, stride, target, adds=self.ADDS)
        return VertexPerfEstimate(slots, outputs * (rows - 1) if element.is_floating_point else 0)


class ProductRows(SumRows[T, U]):
    """`SumRows` with products."""

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two."""
        return a * b


class ProductColumns(SumColumns[T, U]):
    """`SumColumns` with products."""

    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two."""
        return a * b


class LeastRows(SumRows[T, U]):
    """`SumRows` with the least element."""

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two; only NaN differs from itself."""
        return a if a < b or a != a else b


class LeastColumns(SumColumns[T, U]):
    """`SumColumns` with the least element."""

    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two; only NaN differs from itself."""
        return a if a < b or a != a else b


class GreatestRows(SumRows[T, U]):
    """`SumRows` with the greatest element."""

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two; only NaN differs from itself."""
        return a if a > b or a != a else b


class GreatestColumns(SumColumns[T, U]):
    """`SumColumns` with the greatest element."""

    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Make one number of two; only NaN differs from itself."""
        return a if a > b or a != a else b


class AllRows(SumRows[BOOL, BOOL]):
    """`SumRows` with whether all elements are true."""

    def join(self, a: bool, b: bool) -> bool:
        """Make one truth value of two."""
        return a & b


class AllColumns(SumColumns[BOOL, BOOL]):
    """`SumColumns` with whether all elements are true."""

    ADDS = False

    def join(self, a: bool, b: bool) -> bool:
        """Make one truth value of two."""
        return a & b


class AnyRows(SumRows[BOOL, BOOL]):
    """`SumRows` with whether any element is true."""

    def join(self, a: bool, b: bool) -> bool:
        """Make one truth value of two."""
        return a | b


class AnyColumns(SumColumns[BOOL, BOOL]):
    """`SumColumns` with whether any element is true."""

    ADDS = False

    def join(self, a: bool, b: bool) -> bool:
        """Make one truth value of two."""
        return a | b


Join = Callable[[Array, Array], Array]
"""Makes one array from two, element by element."""


def columns_reference(join: Join, x: Array) -> Array:
    """Return what the classes of columns write, in NumPy, with equal bits: dtype[columns].

    `join` works on arrays, such as `np.add`; `x` is [rows, columns], at least one row.

    >>> columns_reference(np.add, np.float32([[1, 2], [3, 4], [5, 6]]))
    array([ 9., 12.], dtype=float32)
    """
    total: Array = x[0]
    for row in x[1:]:
        total = join(total, row)
    return total


def rows_reference(join: Join, x: Array) -> Array:
    """Return what the classes of rows write, in NumPy, with equal bits: dtype[rows].

    `x` is [rows, length], at least one element each.

    >>> rows_reference(np.add, np.float32([[1, 2, 3], [4, 5, 6]]))
    array([ 6., 15.], dtype=float32)
    """
    length = x.shape[1]
    if length < 2 * LANES:
        return columns_reference(join, x.T)
    lanes = x[:, : length - length % LANES].reshape(len(x), -1, LANES)
    total = columns_reference(join, lanes.transpose(1, 2, 0))
    while len(total) > 1:
        total = join(total[::2], total[1::2])
    return columns_reference(join, np.concatenate([total, x[:, length - length % LANES :].T]))
