"""Running sums, products or maxima of rows that are cut into parts.

    x          1 2 3 | 4 5 6 | 7 8
    totals     6       15                sums of all parts but the last: TotalSum
    before     6       21                running sums of these, for the next parts: CumulativeSum
    out        1 3 6 | 10 15 21 | 28 36  the sum before a part, plus the running sum in it

HALF is summed and multiplied in FLOAT, and rounded once; integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.types import BOOL, ElementType
from poplite.vertex.vertex import Input, Output, State, Vector, Vertex

T = TypeVar("T", bound=ElementType[Any])
U = TypeVar("U", bound=ElementType[Any])

Array = npt.NDArray[Any]


class TotalSum(Vertex, Generic[T, U]):
    """The sum of at least one element, from the first to the last."""

    x: Input[Vector[T]]
    total: Output[U]

    def join(self, a: Any, b: Any) -> Any:
        """Return a sum."""
        return a + b

    def compute(self) -> None:
        """Sum all elements."""
        total = self.x[0]
        for i in range(1, len(self.x)):
            total = self.join(total, self.x[i])
        self.total = total


class TotalProduct(TotalSum[T, U]):
    """`TotalSum` with products."""

    def join(self, a: Any, b: Any) -> Any:
        """Return a product."""
        return a * b


class TotalMax(TotalSum[T, U]):
    """The largest element, or NaN if there is one."""

    def join(self, a: Any, b: Any) -> Any:
        """Return the larger number."""
        return np.maximum(a, b)


class CumulativeSum(Vertex, Generic[T, U]):
    """Running sums of at least one element, added to `before`, which has one element or none.

    With `excludes`, each is the sum of the elements before it: the first is `before`, or 0.
    """

    x: Input[Vector[T]]
    """at least one element"""
    before: Input[Vector[U]]
    """one number, or none: x[:0]; FLOAT if x is HALF"""
    out: Output[Vector[T]]
    """as many elements as x"""
    excludes: State[BOOL]
    """whether each result excludes its own element"""
    NONE = 0
    UFUNC: ClassVar[Any] = np.add

    def join(self, a: Any, b: Any) -> Any:
        """Return a sum."""
        return a + b

    def compute(self) -> None:
        """Compute and store each running sum."""
        shift = 0
        if self.excludes:
            shift = 1
            if len(self.before) > 0:
                self.out[0] = self.before[0]
            else:
                self.out[0] = self.NONE
        total = self.x[0]
        for i in range(len(self.x)):
            if i > 0:
                total = self.join(total, self.x[i])
            if i + shift < len(self.out):
                if len(self.before) > 0:
                    self.out[i + shift] = self.join(self.before[0], total)
                else:
                    self.out[i + shift] = total

    @classmethod
    def reference(cls, x: Array, before: Array, excludes: bool) -> Array:  # noqa: FBT001
        """Return `ufunc.accumulate(x)`, combined with `before`."""
        wide = x.astype(np.float32) if x.dtype.kind == "f" else x
        with np.errstate(over="ignore"):
            made = cls.UFUNC.accumulate(wide)
            if len(before):
                made = cls.UFUNC(np.asarray(before).astype(wide.dtype)[0], made)
            if excludes:
                first = np.asarray(before[:1] if len(before) else [cls.NONE]).astype(wide.dtype)
                made = np.concatenate([first, made[:-1]])
            result: Array = made.astype(x.dtype)
        return result


class CumulativeProduct(CumulativeSum[T, U]):
    """Running products of at least one element, times `before`, which has one element or none.

    With `excludes`, each is the product of the elements before it: the first is `before`, or 1.
    """

    NONE = 1
    UFUNC = np.multiply

    def join(self, a: Any, b: Any) -> Any:
        """Return a product."""
        return a * b


class CumulativeMax(CumulativeSum[T, U]):
    """Running maxima of at least one element and of `before`, without `excludes`."""

    UFUNC = np.maximum

    def join(self, a: Any, b: Any) -> Any:
        """Return the larger number."""
        return np.maximum(a, b)


def part_length(size: int) -> int:
    """Return the length of the parts of a row: at least 64, and at least its square root.

    >>> part_length(100), part_length(10**6), part_length(10**6 + 1)
    (64, 1000, 1001)
    """
    root = int(np.sqrt(size))
    while root * root < size:
        root += 1
    while root > 0 and (root - 1) ** 2 >= size:
        root -= 1
    return max(64, root)


def running_slots(elements: int) -> int:
    """Return the approximate slots of `CumulativeSum`.

    >>> running_slots(10)
    170
    """
    return 30 + 14 * elements


def running_reference(
    join: Callable[[Any, Any], Any], x: Array, *, exclusive: bool = False, none: int = 0
) -> Array:
    """Compute running sums or products along the last dimension in NumPy, bit for bit.

    Args:
        join: `np.add`, `np.multiply` or `np.maximum`.
        x: array of any shape and any type of numbers.
        exclusive: whether each result excludes its own element.
        none: the value before the first.

    >>> running_reference(np.add, np.float32([1, 2, 3]))
    array([1., 3., 6.], dtype=float32)
    """
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    size = x.shape[-1]
    length = part_length(size)
    out = np.empty_like(wide)
    before: Array | None = None
    for begin in range(0, size, length):
        total: Array | None = None
        for i in range(begin, min(begin + length, size)):
            total = wide[..., i] if total is None else join(total, wide[..., i])
            out[..., i] = total if before is None else join(before, total)
        part = total
        before = part if before is None else join(before, part)
    if exclusive:
        out = np.concatenate([np.full_like(out[..., :1], none), out[..., :-1]], axis=-1)[..., :size]
    with np.errstate(over="ignore"):
        return out.astype(x.dtype)
