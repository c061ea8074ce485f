"""Reducing many elements to few: sums, products, dot products, extremes, all or any.

The elements of an output are stored in the memory of a tile in one of two ways::

    Rows       x   0 0 0 0 1 1 1 1 2 2 2 2       one output after the other
    Columns    x   0 1 2 . . 0 1 2 . . 0 1 2     row after row, `stride` apart, outputs 0 to 2

`SumRows` and `SumColumns` have the loops; the other classes override `join`, which combines lanes
pairwise, and `fold`, which reduces lanes to a number.  Inputs and outputs may have different types:
HALF is summed in FLOAT.

`SumColumnsOfTile` and similar classes divide columns among the workers of a tile, and may start in
the middle of a row::

    ColumnsOfTile  x   2 0 1 2 0 1 2 0           `first` 2, outputs 0 to 2

Order matters to float sums. `Columns` and `ColumnsOfTile` combine an output's elements from the
first to the last, as NumPy does along axis 0. `Rows` keeps 64 running results in lanes
(`poplite.vertex.compute.lanes`), lane k for elements k, k + 64, ... of the row, and then repeatedly
combines the second half of the lanes with the first half: 32, 16, ... 1. NaN counts both as the
smallest and as the largest number, as in NumPy.

`Dot` sums products in the same order as `Rows` sums elements. `FirstGreatestRows` and similar
classes find an extreme and its position: those for rows search whole rows, `FirstGreatest` and
`FirstLeast` search the results of several vertices for one row, in any order. Among several NaNs,
the first is the result::

    x   3 9 2 9 | 1 1 0 5      parts of two rows, both starting at position 8 of their row
        9 9     | 5 11         the largest element of each, and its position

They take as long as PopLibs' `ReduceMaxClassGather` and `ReduceMaxClassSparse`, whose loop takes
three instructions per element of FLOAT and HALF; other types are priced by the compiled code.

`AddPartials` sums partial results, those of the tile itself and those received from other tiles::

    partials    a0 a1 a2 a3
                b0 b1 b2 b3
                c0 c1 c2 c3
    out         a0 + b0 + c0, a1 + b1 + c1, ...

Its cycles are PopLibs' estimate for `ReduceAdd` of a single input
(lib/poplin/PerformanceEstimation.hpp): 16 bytes of outputs at a time, 8 bytes loaded per cycle.

    >>> from poplite.machine.target import Target
    >>> int(partials_cycles(96, 7, FLOAT, FLOAT, Target()))     # 4 loops a worker, of 8 + 2 * 7
    681
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
    ElementType,
)
from poplite.vertex.vertex import (
    Input,
    MultiVertex,
    Output,
    State,
    StridedRows,
    Vector,
    Vertex,
    dtype_of,
    faster,
)
from poplite.vertices.estimators import of_columns, of_rows, reduce_columns

F = TypeVar("F", FLOAT, HALF)
G = TypeVar("G", FLOAT, HALF)
T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])
V = TypeVar(
    "V", BOOL, CHAR, FLOAT, INT, SHORT, SIGNED_CHAR, UNSIGNED_CHAR, UNSIGNED_INT, UNSIGNED_SHORT
)

TYPES_OF_TILE: tuple[type[ElementType[Any]], ...] = V.__constraints__
"""Types whose columns are divided among all workers of a tile; for others each has its own rows."""

Array = npt.NDArray[Any]

FEW = 3
"""Maximum number of columns without lanes: a partial load takes as long as a full load."""


class SumRows(Vertex, Generic[T, U]):
    """`out[i]` is the sum of the i-th of equally long parts of x, of at least one element each."""

    x: Input[Vector[T]]
    """the parts, one after another"""
    out: Output[Vector[U]]
    """one element for each part"""
    UFUNC: ClassVar[Any] = np.add

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes."""
        return a + b

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.sum()

    def compute(self) -> None:
        """Reduce part by part."""
        length = len(self.x) // len(self.out)
        for row in range(len(self.out)):
            first = row * length
            if length < 64:
                self.out[row] = self.fold(self.x.lanes(first, length))
            else:
                end = first + length
                rest = length % 64
                total = self.x.lanes(first, 64)
                for i in range(first + 64, end - 63, 64):
                    total = self.join(total, self.x.lanes(i, 64))
                total = self.join(total, self.x.lanes(end - rest, rest))
                self.out[row] = self.fold(total)  # 64 lanes, known at compile time

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `Reduce` of one vector, or of continuous regions."""
        element, result = self.fields["x"].element, self.fields["out"].element
        return of_rows(element, result, len(self.out), len(self.x), target)

    @classmethod
    def reference(cls, x: Array, size: int) -> Array:
        """Return `ufunc.reduce(x.reshape(size, -1), axis=1)`, in the order of the vertex."""
        rows = _wide(x).reshape(size, -1)
        with np.errstate(over="ignore"):
            return rows_reference(cls.UFUNC, rows).astype(dtype_of(cls, "out"))


class SumColumns(Vertex, Generic[T, U]):
    """`out[i]` is the sum of `x[i], x[i + stride], x[i + 2 * stride], ...`."""

    x: Input[Vector[T]]
    """the rows, one after another; the last may end with its last column"""
    out: Output[Vector[U]]
    """one element for each column"""
    stride: State[UNSIGNED_INT]
    """distance in elements between rows"""
    ADDS = True
    UFUNC: ClassVar[Any] = np.add
    strided_rows = StridedRows("x", "stride", columns="out")

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return a + b

    def compute(self) -> None:
        """Reduce 64 columns at a time, then the rest."""
        stride, columns = self.stride, len(self.out)
        rows = (len(self.x) - columns) // stride + 1
        rest = columns % 64
        for i in range(0, columns - 63, 64):
            total = self.x.lanes(i, 64)
            for row in range(1, rows):
                total = self.join(total, self.x.lanes(row * stride + i, 64))
            self.out.set_lanes(i, total)
        last = columns - rest
        if rest <= FEW:
            for i in range(last, columns):
                number = self.x[i]
                for row in range(1, rows):
                    number = self.join(number, self.x[row * stride + i])
                self.out[i] = number
        else:
            total = self.x.lanes(last, rest)
            for row in range(1, rows):
                total = self.join(total, self.x.lanes(row * stride + last, rest))
            self.out.set_lanes(last, total)

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `StridedReduce`."""
        element, result = self.fields["x"].element, self.fields["out"].element
        sizes = len(self.out), len(self.x), self.stride
        return of_columns(element, result, *sizes, target, adds=self.ADDS)

    @classmethod
    def reference(cls, x: Array, stride: int, size: int) -> Array:
        """Return `ufunc.reduce(x.reshape(-1, stride)[:, :size], axis=0)`."""
        first = np.arange(0, len(x) - size + 1, stride)
        rows = _wide(x)[first[:, None] + np.arange(size)]
        with np.errstate(over="ignore"):
            return columns_reference(cls.UFUNC, rows).astype(dtype_of(cls, "out"))


def within(column: int, low: int, high: int) -> int:
    """Return the column, clamped to a range."""
    return max(low, min(column, high))


class SumColumnsOfTile(MultiVertex, Generic[V]):
    """`out[i]` is the sum of `x[k], x[k + stride], ...`, where `k` is `(i - first) % stride`.

    A worker reduces `share` columns. If `first` is above 0, `out` has `stride` elements, and x at
    least as many.
    """

    x: Input[Vector[V]]
    out: Output[Vector[V]]
    stride: State[UNSIGNED_INT]
    first: State[UNSIGNED_INT]
    share: State[UNSIGNED_INT]
    ADDS = True
    strided_rows = StridedRows("x", "stride", columns="out", offset="first")

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return a + b

    def compute(self, worker: int) -> None:
        """Reduce the columns of a worker."""
        self.reduce_share(worker)

    def reduce_share(self, worker: int) -> None:
        """Reduce the columns of a worker, in up to three parts with equal numbers of rows."""
        low = worker * self.share
        high = min(low + self.share, len(self.out))
        if low < high:
            end = (self.first + len(self.x)) % self.stride
            one = within(min(self.first, end), low, high)
            two = within(max(self.first, end), low, high)
            self.reduce_part(low, one)
            self.reduce_part(one, two)
            self.reduce_part(two, high)

    def reduce_part(self, low: int, high: int) -> None:
        """Reduce columns with the same number of rows, 64 at a time."""
        stride = self.stride
        if low < high:
            start = (low - self.first) % stride
            rows = (len(self.x) - start - (high - low)) // stride + 1
            for i in range(0, high - low, 64):
                count = min(64, high - low - i)
                total = self.x.lanes(start + i, count)
                for row in range(1, rows):
                    total = self.join(total, self.x.lanes(row * stride + start + i, count))
                self.out.set_lanes(low + i, total)

    @faster(bits="equal")
    def in_order(self, worker: int) -> None:
        """Worker 0 does all the work if it can: it adds rows to `out`, or reduces few columns.

        Sums of columns in `benchmarks/ops.py` measure this form.
        """
        columns, stride, first = len(self.out), self.stride, self.first
        is_all = columns <= self.share * self.num_workers and columns <= len(self.x)
        if not is_all or columns > stride or (first > 0 and (first >= stride or columns < stride)):
            self.reduce_share(worker)
        elif worker == 0 and columns > 0:
            if columns < 64 and first == 0 and (len(self.x) - columns) % stride == 0:
                self.reduce_few()
            else:
                self.reduce_rows()

    def reduce_few(self) -> None:
        """Reduce few columns in two blocks of 8 at a time; the last blocks overlap earlier ones."""
        columns, stride = len(self.out), self.stride
        rows = (len(self.x) - columns) // stride + 1
        last = columns - 8
        if last < 0:
            for i in range(columns):
                number = self.x[i]
                for row in range(1, rows):
                    number = self.join(number, self.x[row * stride + i])
                self.out[i] = number
        for i in range(0, columns if last >= 0 else 0, 16):
            one, two = min(i, last), min(i + 8, last)
            total, other = self.x.lanes(one, 8), self.x.lanes(two, 8)
            for row in range(1, rows):
                total = self.join(total, self.x.lanes(row * stride + one, 8))
                other = self.join(other, self.x.lanes(row * stride + two, 8))
            self.out.set_lanes(one, total)
            self.out.set_lanes(two, other)

    def reduce_rows(self) -> None:
        """Combine `out` with row after row, in memory order, since a single stream is fastest."""
        columns, stride, first = len(self.out), self.stride, self.first
        second = stride - first  # the start of row 1
        for i in range(first, columns):
            self.out[i] = self.x[i - first]
        for i in range(first):
            self.out[i] = self.x[second + i]
        for i in range(first, min(columns, len(self.x) - second)):
            self.out[i] = self.join(self.out[i], self.x[second + i])
        for row in range(2, (first + len(self.x) - 1) // stride + 1):
            base = row * stride - first
            count = min(columns, len(self.x) - base)
            for i in range(0, count - 63, 64):
                total = self.join(self.out.lanes(i, 64), self.x.lanes(base + i, 64))
                self.out.set_lanes(i, total)
            for i in range(count // 64 * 64, count):
                self.out[i] = self.join(self.out[i], self.x[base + i])

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of PopLibs' `StridedReduce`, once for each part of a worker."""
        element, stride, first = self.fields["x"].element, self.stride, self.first
        one, two = sorted((first, (first + len(self.x)) % stride))
        longest = flops = 0
        for low in range(0, len(self.out), self.share):
            high = min(low + self.share, len(self.out))
            ends = [low, within(one, low, high), within(two, low, high), high]
            slots = 0
            for begin, end in itertools.pairwise(ends):
                if begin < end:
                    start = (begin - first) % stride
                    rows = (len(self.x) - start - (end - begin)) // stride + 1
                    slots += reduce_columns(
                        element, element, end - begin, rows, stride, target, adds=self.ADDS
                    )
                    flops += (end - begin) * (rows - 1)
            longest = max(longest, slots)
        return VertexPerfEstimate(
            longest * target.workers, flops if element.is_floating_point else 0
        )


# -- other operations ------------------------------------------------------------------------------


class _Product(Vertex):
    """Multiplies."""

    UFUNC: ClassVar[Any] = np.multiply
    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return a * b

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.prod()


class _Min(Vertex):
    """Finds the smallest element; NaN if one is."""

    UFUNC: ClassVar[Any] = np.minimum
    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return np.minimum(a, b)

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.min()


class _Max(Vertex):
    """Finds the largest element; NaN if one is."""

    UFUNC: ClassVar[Any] = np.maximum
    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return np.maximum(a, b)

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.max()


class _All(Vertex):
    """Finds whether all are true."""

    UFUNC: ClassVar[Any] = np.logical_and
    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return a & b

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.all()


class _Any(Vertex):
    """Finds whether any is true."""

    UFUNC: ClassVar[Any] = np.logical_or
    ADDS = False

    def join(self, a: Any, b: Any) -> Any:
        """Combine lanes, or numbers."""
        return a | b

    def fold(self, a: Any) -> Any:
        """Reduce lanes to a number."""
        return a.any()


class ProductRows(_Product, SumRows[T, U]):
    """`out[i]` is the product of the i-th of equally long parts of x."""


class ProductColumns(_Product, SumColumns[T, U]):
    """`out[i]` is the product of `x[i], x[i + stride], x[i + 2 * stride], ...`."""


class ProductColumnsOfTile(_Product, SumColumnsOfTile[V]):
    """`SumColumnsOfTile` with products."""

    in_order = SumColumnsOfTile.in_order


class MinRows(_Min, SumRows[T, U]):
    """`out[i]` is the smallest element of the i-th of equally long parts of x; NaN if one is."""


class MinColumns(_Min, SumColumns[T, U]):
    """`out[i]` is the smallest of `x[i], x[i + stride], x[i + 2 * stride], ...`; NaN if one is."""


class MinColumnsOfTile(_Min, SumColumnsOfTile[V]):
    """`SumColumnsOfTile` with the smallest element."""

    in_order = SumColumnsOfTile.in_order


class MaxRows(_Max, SumRows[T, U]):
    """`out[i]` is the largest element of the i-th of equally long parts of x; NaN if one is."""


class MaxColumns(_Max, SumColumns[T, U]):
    """`out[i]` is the largest of `x[i], x[i + stride], ...`; NaN if one is."""


class MaxColumnsOfTile(_Max, SumColumnsOfTile[V]):
    """`SumColumnsOfTile` with the largest element."""

    in_order = SumColumnsOfTile.in_order


class AllRows(_All, SumRows[BOOL, BOOL]):
    """`out[i]` says whether all elements of the i-th of equally long parts of x are true."""


class AllColumns(_All, SumColumns[BOOL, BOOL]):
    """`out[i]` says whether `x[i], x[i + stride], x[i + 2 * stride], ...` are all true."""


class AllColumnsOfTile(_All, SumColumnsOfTile[BOOL]):
    """`SumColumnsOfTile` with whether all elements are true."""

    in_order = SumColumnsOfTile.in_order


class AnyRows(_Any, SumRows[BOOL, BOOL]):
    """`out[i]` says whether an element of the i-th of equally long parts of x is true."""


class AnyColumns(_Any, SumColumns[BOOL, BOOL]):
    """`out[i]` says whether one of `x[i], x[i + stride], x[i + 2 * stride], ...` is true."""


class AnyColumnsOfTile(_Any, SumColumnsOfTile[BOOL]):
    """`SumColumnsOfTile` with whether any element is true."""

    in_order = SumColumnsOfTile.in_order


def _wide(x: Array) -> Array:
    """Return elements as `compute` reads them."""
    kinds = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}
    return x if x.dtype == np.uint64 else x.astype(kinds[x.dtype.kind])


Join = Callable[[Array, Array], Array]
"""Combines two arrays element by element."""


def columns_reference(join: Join, x: Array) -> Array:
    """Compute in NumPy, bit for bit, what classes that reduce columns write: dtype[columns].

    `join` works on arrays, such as `np.add`; `x` is [rows, columns], at least one row.

    >>> columns_reference(np.add, np.float32([[1, 2], [3, 4], [5, 6]]))
    array([ 9., 12.], dtype=float32)
    """
    total: Array = x[0]
    for row in x[1:]:
        total = join(total, row)
    return total


def rows_reference(join: Join, x: Array) -> Array:
    """Compute in NumPy, bit for bit, what classes that reduce rows write: dtype[rows].

    `x` is [rows, length], at least one element each.

    >>> rows_reference(np.add, np.float32([[1, 2, 3], [4, 5, 6]]))
    array([ 6., 15.], dtype=float32)
    """
    lanes = x[:, :64].T.copy()
    for i in range(64, x.shape[1], 64):
        more = x[:, i : i + 64].T
        lanes[: len(more)] = join(lanes[: len(more)], more)
    for half in (32, 16, 8, 4, 2, 1):
        above = lanes[half:]
        lanes[: len(above)] = join(lanes[: len(above)], above)
        lanes = lanes[:half]
    total: Array = lanes[0]
    return total


# -- the product of two vectors --------------------------------------------------------------------


class Dot(Vertex, Generic[F, G]):
    """`out` is the sum of `a[i] * b[i]`, computed in float32 and rounded once."""

    a: Input[Vector[F]]
    """at least one element"""
    b: Input[Vector[F]]
    """as many elements as a"""
    out: Output[G]
    """one number"""

    def compute(self) -> None:
        """Sum products, 64 at a time."""
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
        """Return `np.dot(a, b)`, summed in the order of the vertex."""
        products = a.astype(np.float32) * b.astype(np.float32)
        total: Array = rows_reference(np.add, products[None])[0].astype(dtype_of(cls, "out"))
        return total


# -- the largest or smallest element, with its position --------------------------------------------


class _Greatest(Vertex):
    """Finds the largest element."""

    FIND: ClassVar[Any] = np.argmax

    def is_beyond(self, a: float, b: float) -> bool:
        """Return whether one number replaces the other as the result."""
        return a > b


class _Least(Vertex):
    """Finds the smallest element."""

    FIND: ClassVar[Any] = np.argmin

    def is_beyond(self, a: float, b: float) -> bool:
        """Return whether one number replaces the other as the result."""
        return a < b


class FirstGreatestRows(_Greatest, Generic[F]):
    """The largest elements of equally long, non-empty parts of x, and their positions."""

    x: Input[Vector[F]]
    """the parts, one after another"""
    value: Output[Vector[F]]
    """one element for each part"""
    position: Output[Vector[UNSIGNED_INT]]
    """its position, the first among equals"""
    first: State[UNSIGNED_INT]
    """position of the first element of each part"""

    def compute(self) -> None:
        """Search part after part."""
        length = len(self.x) // len(self.value)
        for row in range(len(self.value)):
            begin = row * length
            best = self.x[begin]
            place = 0
            for i in range(1, length):
                if best == best:  # not a NaN, which is final
                    element = self.x[begin + i]
                    if self.is_beyond(element, best) or element != element:
                        best = element
                        place = i
            self.value[row] = best
            self.position[row] = self.first + place

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `ReduceMaxClassGather`, part by part."""
        rows, elements = len(self.value), len(self.x)
        cost = target.cost
        slots = cost("extreme_entry") + rows * cost("extreme_row")
        slots += (elements - rows) * cost("extreme_element")
        return VertexPerfEstimate(int(slots), elements)

    @classmethod
    def reference(cls, x: Array, first: int, size: int) -> dict[str, Array]:
        """Return the extremes of `x.reshape(size, -1)` along its rows, and their positions."""
        rows = x.reshape(size, -1)
        place = cls.FIND(rows, axis=1)
        value = rows[np.arange(size), place]
        return {"value": value, "position": (place + first).astype(np.uint32)}


class FirstLeastRows(_Least, FirstGreatestRows[F]):
    """The smallest elements of equally long, non-empty parts of x, and their positions."""


class FirstGreatest(_Greatest, Generic[F]):
    """The largest of several elements of a row with known positions, and its position."""

    values: Input[Vector[F]]
    """at least one element"""
    positions: Input[Vector[UNSIGNED_INT]]
    """their positions"""
    value: Output[Vector[F]]
    """one element"""
    position: Output[Vector[UNSIGNED_INT]]
    """its position, the smallest among equals"""

    def compute(self) -> None:
        """Search all elements."""
        best = self.values[0]
        place = self.positions[0]
        for i in range(1, len(self.values)):
            element = self.values[i]
            position = self.positions[i]
            is_same = element == best or (element != element and best != best)
            is_new = best == best and (self.is_beyond(element, best) or element != element)
            if is_new or (is_same and position < place):
                best = element
                place = position
        self.value[0] = best
        self.position[0] = place

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of PopLibs' `ReduceMaxClassSparse`."""
        elements, cost = len(self.values), target.cost
        slots = cost("extreme_sparse_entry") + (elements - 1) * cost("extreme_element")
        return VertexPerfEstimate(int(slots), elements)

    @classmethod
    def reference(cls, values: Array, positions: Array) -> dict[str, Array]:
        """Return the extreme of `values` in the order of `positions`, and its position."""
        order = np.argsort(positions, kind="stable")
        place = order[cls.FIND(values[order])]
        return {"value": values[[place]], "position": positions[[place]]}


class FirstLeast(_Least, FirstGreatest[F]):
    """The smallest of several elements of a row with known positions, and its position."""


# -- partial results: those of the tile itself and those from other tiles --------------------------


class AddPartials(MultiVertex, Generic[F, G]):
    """`out = partials[0] + partials[1] + ...` for vectors, rounded once, at the end."""

    partials: Input[Vector[Vector[F]]]
    """at least one vector, each as long as out"""
    out: Output[Vector[G]]
    """any number of elements"""

    def compute(self, worker: int) -> None:
        """Sum a part of the outputs."""
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
        """One worker sums 64 outputs at a time; the last block overlaps the previous one.

        For up to 300 outputs that takes half to two thirds of the time of six workers.
        """
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
    """Return the tile cycles of summing partials; for several sums, as arrays.

    `outputs` is the number of results of the tile, `others` the number of partials per result
    besides the tile's own; `partials` and `result` are element types, HALF or FLOAT.
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
    """Return the tile cycles of summing partials and of the computations on each sum.

    The latter take `slots` for each 64 bits of results, in addition to `partials_cycles`.

    >>> sum_cycles(96, 7, FLOAT, FLOAT, 2, Target())     # 8 pairs a worker
    777
    """
    cycles = int(partials_cycles(outputs, others, partials, result, target))
    share = -(-outputs * result.size_bytes // (8 * target.workers))
    return cycles + target.workers * math.ceil(share * slots)


def partials_reference(partials: Array, dtype: npt.DTypeLike) -> Array:
    """Compute in NumPy, bit for bit, what `AddPartials` writes: dtype[n].

    `partials` is float32[partials, n] or float16.

    >>> partials_reference(np.float16([[1, 2], [3, 4], [5, 6]]), np.float32)
    array([ 9., 12.], dtype=float32)
    """
    total = partials[0].astype(np.float32)
    for partial in partials[1:]:
        total = total + partial.astype(np.float32)
    result: Array = total.astype(dtype)
    return result
