"""Vectors that are filled, copied or converted; counters.

Each class writes::

    Fill, FillRows     2.5 2.5 2.5 2.5
    Iota, IotaRows     start, start + 1, ...
    Copy               x
    Cast               x as FLOAT or HALF
    CastToInteger      x as an integer, towards 0
    CountFrom          index = begin,  goes_on = begin < end
    CountOn            index += step,  goes_on = index < end       stops at end, so nothing wraps
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.machine.target import Target
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    ElementType,
)
from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex, dtype_of
from poplite.vertices.estimators import cast, fill, fill_rows, iota

T = TypeVar("T", bound=ElementType[Any])
N = TypeVar(
    "N",
    FLOAT,
    HALF,
    SIGNED_CHAR,
    CHAR,
    UNSIGNED_CHAR,
    SHORT,
    UNSIGNED_SHORT,
    INT,
    UNSIGNED_INT,
    LONGLONG,
    UNSIGNED_LONGLONG,
)
E = TypeVar(
    "E",
    FLOAT,
    HALF,
    SIGNED_CHAR,
    CHAR,
    UNSIGNED_CHAR,
    SHORT,
    UNSIGNED_SHORT,
    INT,
    UNSIGNED_INT,
    LONGLONG,
    UNSIGNED_LONGLONG,
    BOOL,
)
W = TypeVar("W", FLOAT, HALF, INT, UNSIGNED_INT, SHORT, UNSIGNED_SHORT)
F = TypeVar("F", FLOAT, HALF)
I = TypeVar("I", INT, UNSIGNED_INT, SHORT, UNSIGNED_SHORT)  # noqa: E741

Array = npt.NDArray[Any]


class Fill(Vertex, Generic[E]):
    """`out[i] = value`."""

    value: State[E]
    """one number"""
    out: Output[Vector[E]]
    """any number of elements"""

    def compute(self) -> None:
        """Store the number everywhere."""
        value = self.value
        for i in range(len(self.out)):
            self.out[i] = value

    def cycles(self, target: Target) -> int:
        """Return the slots of a worker of PopLibs' `Fill`."""
        return fill(self.fields["out"].element, len(self.out), target)

    @classmethod
    def reference(cls, value: Any, size: int) -> Array:
        """Return `np.full(size, value)`."""
        return np.full(size, value, dtype_of(cls, "out"))


class FillRows(Vertex, Generic[E]):
    """`out[r][i] = value`."""

    value: State[E]
    """one number"""
    out: Output[Vector[Vector[E]]]
    """vectors of any lengths"""

    def compute(self) -> None:
        """Store the number everywhere."""
        value = self.value
        for r in range(len(self.out)):
            out = self.out[r]
            for i in range(len(out)):
                out[i] = value

    def cycles(self, target: Target) -> int:
        """Return the slots of a worker of PopLibs' `Fill2d`."""
        return fill_rows(self.fields["out"].element, [len(row) for row in self.out], target)


class Iota(Vertex, Generic[N]):
    """`out[i] = start + i`."""

    start: State[N]
    """the first number"""
    out: Output[Vector[N]]
    """any number of elements"""

    def compute(self) -> None:
        """Count."""
        for i in range(len(self.out)):
            self.out[i] = self.start + i

    def cycles(self, target: Target) -> int:
        """Return the slots of a worker of PopLibs' `Iota`."""
        return iota(self.fields["out"].element, [len(self.out)], target)

    @classmethod
    def reference(cls, start: Any, size: int) -> Array:
        """Return `start + np.arange(size)`; HALF is computed in float32 and rounded once."""
        dtype = dtype_of(cls, "out")
        wide = np.dtype(np.float32) if dtype.kind == "f" else dtype  # integers wrap
        made: Array = (np.full(size, start, wide) + np.arange(size).astype(wide)).astype(dtype)
        return made


class IotaRows(Vertex, Generic[N]):
    """`out[r][i] = starts[r] + i`."""

    starts: State[Vector[N]]
    """the first number of each row"""
    out: Output[Vector[Vector[N]]]
    """as many vectors, of any lengths"""

    def compute(self) -> None:
        """Count in each row."""
        for r in range(len(self.out)):
            out = self.out[r]
            for i in range(len(out)):
                out[i] = self.starts[r] + i

    def cycles(self, target: Target) -> int:
        """Return the slots of a worker of PopLibs' `Iota`."""
        return iota(self.fields["out"].element, [len(row) for row in self.out], target)


class Copy(Vertex, Generic[T]):
    """`out[i] = x[i]`."""

    x: Input[Vector[T]]
    """as many elements as out"""
    out: Output[Vector[T]]
    """any number of elements"""

    def compute(self) -> None:
        """Copy element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.x[i]

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `x.copy()`."""
        return x.copy()


class Cast(MultiVertex, Generic[W, F]):
    """`out[i] = x[i]` as FLOAT or HALF, divided among the workers of the tile."""

    x: Input[Vector[W]]
    """as many elements as out"""
    out: Output[Vector[F]]
    """any number of elements"""

    def compute(self, worker: int) -> None:
        """Convert a part of the elements."""
        size, workers = len(self.out), self.num_workers
        for i in range(size * worker // workers, size * (worker + 1) // workers):
            self.out[i] = self.x[i]

    def cycles(self, target: Target) -> int:
        """Return the cycles of PopLibs' `Cast1D` on a tile."""
        return cast(self.fields["x"].element, self.fields["out"].element, len(self.out), target)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `x.astype(out.dtype)`."""
        return _converted(x, dtype_of(cls, "out"))


class CastToInteger(MultiVertex, Generic[W, I]):
    """`out[i]` is `x[i]` rounded towards 0, divided among the workers of the tile."""

    x: Input[Vector[W]]
    """as many elements as out"""
    out: Output[Vector[I]]
    """any number of elements"""

    def compute(self, worker: int) -> None:
        """Convert a part of the elements."""
        size, workers = len(self.out), self.num_workers
        for i in range(size * worker // workers, size * (worker + 1) // workers):
            self.out[i] = int(self.x[i])

    def cycles(self, target: Target) -> int:
        """Return the cycles of PopLibs' `Cast1D` on a tile."""
        return cast(self.fields["x"].element, self.fields["out"].element, len(self.out), target)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `x.astype(out.dtype)`, converted through int64."""
        return _converted(x.astype(np.int64), dtype_of(cls, "out"))


def _converted(x: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore"):
        wide = x.astype(np.float32) if dtype.kind == "f" else x
        made: Array = wide.astype(dtype)
    return made


# -- counting --------------------------------------------------------------------------------------


class CountFrom(Vertex):
    """Sets an index to its first value, and finds whether that is before the end."""

    begin: Input[UNSIGNED_INT]
    """the first number"""
    end: Input[UNSIGNED_INT]
    """the first number that is too large"""
    index: Output[UNSIGNED_INT]
    """the number counted to"""
    goes_on: Output[BOOL]
    """whether it is before the end"""

    def compute(self) -> None:
        """Set the index."""
        self.index = self.begin
        self.goes_on = self.begin < self.end

    @classmethod
    def reference(cls, begin: Any, end: Any) -> dict[str, Any]:
        """Return `begin`, and whether `begin < end`."""
        return {"index": begin, "goes_on": begin < end}

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `ForLoopCounter`, which increments."""
        return int(target.cost("loop_counter"))


class CountOn(Vertex):
    """Increments an index, at most to the end, and finds whether it is still before the end."""

    step: State[UNSIGNED_INT]
    """the increment"""
    end: Input[UNSIGNED_INT]
    """the first number that is too large"""
    index: InOut[UNSIGNED_INT]
    """the number counted to"""
    goes_on: Output[BOOL]
    """whether it is before the end"""

    def compute(self) -> None:
        """Increment the index."""
        self.goes_on = self.index + self.step < self.end
        self.index = min(self.index + self.step, self.end)

    @classmethod
    def reference(cls, step: int, end: Any, index: Any) -> dict[str, Any]:
        """Return `min(index + step, end)`, and whether `index + step < end`."""
        beyond = int(index) + int(step)
        return {"index": min(beyond, int(end)), "goes_on": beyond < int(end)}

    def cycles(self, target: Target) -> int:
        """Return the slots of PopLibs' `ForLoopCounter`."""
        return int(target.cost("loop_counter"))


def count_reference(begin: int, end: int, step: int) -> list[int]:
    """Return the values that an index takes.

    Args:
        begin: the first, unless it is `end` or beyond.
        end: the first that is too large.
        step: the number added, above 0.

    >>> count_reference(2, 9, 3)
    [2, 5, 8]
    """
    return list(range(begin, end, step))
