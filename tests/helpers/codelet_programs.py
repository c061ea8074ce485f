"""Vertex classes that are hard to write in C++: each has something that it does otherwise."""

from __future__ import annotations

import math
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

import poplite as pl

T = TypeVar("T", bound=pl.ElementType[Any])
U = TypeVar("U", bound=pl.ElementType[Any])


class Versions(pl.Vertex):
    """A local is a Python float or a float32, depending on the path."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.INT]
    flag: pl.Input[pl.BOOL]
    y: pl.Output[pl.FLOAT]
    z: pl.Output[pl.FLOAT]
    w: pl.Output[pl.BOOL]

    def compute(self) -> None:
        t = 0.1
        w = t * 3
        if self.flag:
            t = self.x[0]
        total = 0.1
        for i in range(self.n % 4):
            total += self.x[i]
        self.y = t * 3
        self.z = total * 3
        self.w = w == 0.30000000000000004
        t = self.n
        self.z = t * self.x[1] if t > 3 else total


class Loops(pl.Vertex):
    """Bounds are evaluated once, a body may change the variable, `else` runs without a break."""

    first: pl.State[pl.INT]
    count: pl.State[pl.SIGNED_CHAR]
    n: pl.Input[pl.INT]
    z: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        end = self.n % 9
        for i in range(end):
            end = 3
            self.z[0] += i
            i = i * 2
            self.z[1] += i
        for i in range(20, self.first % 50, -3):
            if i % 7 == 3:
                break
            self.z[2] += i
        else:
            self.z[2] = -1
        for i in range(self.first % 50):
            if i == 4:
                continue
            self.z[3] += i
        for step in range(self.count):
            self.z[3] += step
        for i in range(2, len(self.z), 3):
            self.z[i] += i
        j = 0
        for j in range(7, len(self.z), 2):
            self.z[j] -= 1
        n = self.n
        while True:
            n = n // 2
            if n <= 1:
                break
        self.z[4] = n + j
        self.z[5] %= 1000
        while n > 3 or self.z[5] > 100:
            n -= 1
            self.z[5] -= 50
        else:
            self.z[6] = n
        for e in self.z:
            if e < 0:
                return
            self.z[7] += 1


class Order(pl.Vertex):
    """Helpers that store are called from left to right, each once, and only where they count."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    n: pl.InOut[pl.INT]

    def next(self) -> Any:
        self.n += 1
        return self.n

    def next_float(self, by: Any) -> Any:
        self.n = self.n * 3 + 1
        self.x[0] += by
        return self.x[0]

    def compute(self) -> None:
        self.n = self.n % 4
        self.x[1] = self.next() - self.next() * 2 + self.n
        self.x[self.next() % 3] += self.next()
        self.x[2] = self.x[0] - self.next_float(1.5)
        if self.next() > 5 and self.next() > 8 or self.next() < 3:
            self.x[3] = self.next_float(self.next())
        self.x[4] = self.next() if self.n > 9 else self.next_float(0.1)
        self.x[5] = self.next() or self.x[1]
        while self.next() < 60 < self.next() + 50 <= self.next() + 70:
            self.x[6] += 1
        self.n += self.next()
        self.x[7], self.x[8] = self.next(), self.next_float(self.x[7])


class Names(pl.Vertex):
    """Names that C++ keeps for itself, and locals named as fields and helpers."""

    float: pl.Input[pl.FLOAT]
    new: pl.State[pl.INT]
    operator: pl.InOut[pl.Vector[pl.INT]]
    half: pl.InOut[pl.HALF]
    größe: pl.Input[pl.SHORT]

    @staticmethod
    def double(int_: Any, auto: Any = 2) -> Any:
        return int_ * auto

    def compute(self) -> None:
        operator, new = self.new, self.float
        this = self.double(operator)
        at = self.double(auto=new, int_=3)
        for k, e in enumerate(self.operator):
            self.operator[k] = e + this + self.größe
        for delete in range(len(self.operator)):
            self.operator[delete] -= operator
        self.half = at + self.half * self.double(0.1, 0.5)


class Rows(pl.Vertex):
    """Rows of lists as locals, as arguments, and changed from turn to turn."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.InOut[pl.Vector[pl.Vector[pl.HALF]]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def dot(self, left: Any, right: Any) -> Any:
        total = 0.0
        for a, b in zip(left, right):  # noqa: B905
            total += a * b
        return total

    def whole(self, many: Any, one: Any) -> Any:
        total = 0
        for r in range(len(many)):
            total += self.dot(many[r], one)
        return total

    def compute(self) -> None:
        last = self.rows[0]
        for r in range(len(self.out)):
            row = self.out[r]
            other = self.rows[r]
            for i in range(min(len(row), len(other), len(last))):
                row[i] += other[i] * last[i]
            last = other
        self.y = (
            self.whole(self.rows, self.x) + self.dot(self.x, self.x) - self.dot(last, self.rows[0])
        )


SHORT: Any = pl.SHORT
UNSIGNED_CHAR: Any = pl.UNSIGNED_CHAR
CHAR: Any = pl.CHAR
HALF: Any = pl.HALF
maximum: Any = np.maximum


class Choices(pl.Vertex):
    """`and`, `or` and conditional expressions of numbers of different kinds."""

    x: pl.Input[pl.FLOAT]
    n: pl.Input[pl.INT]
    u: pl.Input[pl.UNSIGNED_LONGLONG]
    flag: pl.Input[pl.BOOL]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    k: pl.Output[pl.Vector[pl.LONGLONG]]

    def compute(self) -> None:
        self.y[0] = self.n and self.x
        self.y[1] = self.n or self.x or 0.1
        self.y[2] = self.n if self.flag else self.x
        self.y[3] = -self.x if self.n > 3 else -(-self.n)  # noqa: B002
        self.k[0] = (self.flag or self.n) + 1
        self.k[1] = 0 <= self.n < 7 != self.u
        self.k[2] = (
            (self.n < self.u) + 2 * (self.u <= 5) + 4 * (self.u == self.n) + 8 * (self.n < -3)
        )
        self.k[3] = not (self.x > 0 and self.n > 2 or not self.flag)
        self.k[4] = -self.n - -3 - (self.n - 5) * (2 - self.n) // (self.n - 1) % 7
        self.k[5] = (self.n & 7 | 8) ^ ~self.n << 3 >> 1
        self.k[6] = self.u >> 3 ^ self.n if self.flag else self.u // 3
        self.k[7] = SHORT(self.n * 70001) + UNSIGNED_CHAR(self.n) - (self.n == 5) - CHAR(self.n)


class Cast(pl.Vertex, Generic[T, U]):
    """Every element type stored as every other."""

    x: pl.Input[pl.Vector[T]]
    first: pl.State[T]
    weights: pl.State[pl.Vector[T]]
    y: pl.Output[pl.Vector[U]]
    z: pl.InOut[U]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]
        self.z = max(self.first, self.weights[0])


class Shared(pl.MultiVertex):
    """Workers share a vector; the last ones do less."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    partials: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        total = 0.0
        for i in range(worker, len(self.x), self.num_workers):
            self.y[i] = self.x[i] * worker
            total += self.x[i]
        self.partials[worker] = total
        share = len(self.x) // self.num_workers
        for i in range(worker * share, (worker + 1) * share):
            self.partials[worker] = self.x[i] + i


class ChangedWorker(pl.MultiVertex):
    """The number of the worker is a local like others."""

    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> bool:
        worker = worker * 2 % 6
        self.y[worker] += self.num_workers
        return self.y[worker] > 3


class Raised(pl.Vertex):
    """Stops on some data."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.INT]

    def checked(self, value: Any) -> Any:
        if value > 3:
            raise ValueError(f"{value} is too large")
        return value

    def compute(self) -> None:
        assert self.n % 5 > 0, f"n is {self.n}"
        bad = self.n
        if bad % 7 == 0:
            raise ArithmeticError(bad)
        for i in range(len(self.x)):
            self.x[i] = self.checked(self.x[i]) + self.checked(self.x[0])


class InLanes(pl.Vertex):
    """Lanes of floats, of ints and of truth values, with and without all of them."""

    x: pl.Input[pl.Vector[pl.HALF]]
    n: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.HALF]]
    m: pl.InOut[pl.Vector[pl.SHORT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]
    k: pl.Output[pl.Vector[pl.LONGLONG]]

    @staticmethod
    def positive(a: Any, least: Any) -> Any:
        return a > least

    @staticmethod
    def scaled(a: Any, by: Any) -> Any:
        return a * by

    def sums(self, total: Any) -> Any:
        for i in range(0, len(self.x), 64):
            total += self.x.lanes(i) * 0.1 - abs(self.x.lanes(i))
            total = pl.fma(self.x.lanes(i), 0.3, total)
        return total

    def compute(self) -> None:
        total = self.sums(pl.lanes.full(0.5))
        self.out[0] = total.sum()
        self.out[1] = total.max() + total.min() * total.prod()
        ints = pl.lanes.full(self.n[0])
        for i in range(0, len(self.n), 64):
            ints = ints + self.n.lanes(i)
        self.k[0] = ints.sum()
        self.k[1] = (ints & 15 | 3).max() - ints.min() + (-ints).prod()
        truth = pl.lanes.map(self.positive, ints, self.n[0] * 3)
        self.k[2] = truth.all() + 2 * truth.any()
        few = self.x.lanes(0, 5)
        few = pl.fma(self.x.lanes(0, 7), 0.5, pl.fma(few, few, 2))
        self.y.set_lanes(1, maximum(few, 0.25) / few)
        self.m.set_lanes(2, pl.lanes.map(self.scaled, self.n.lanes(3, 4), self.n[1]))
        self.out[2] = pl.lanes.map(math.exp, few).sum() + pl.lanes.map(self.scaled, few, 0.3).sum()


class Mathematics(pl.Vertex, Generic[T]):
    """Every function of `math`, of float32 and of doubles."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[T]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            a = self.x[i]
            b = self.y[i]
            n = 31 * i
            self.out[n] = math.acos(b) + math.asin(b) * 2
            self.out[n + 1] = math.atan(b)
            self.out[n + 2] = math.atan2(b, i + 1)
            self.out[n + 3] = math.cbrt(b)
            self.out[n + 4] = math.cos(b)
            self.out[n + 5] = math.cosh(b)
            self.out[n + 6] = math.erf(b)
            self.out[n + 7] = math.erfc(b)
            self.out[n + 8] = math.exp(b)
            self.out[n + 9] = math.exp2(b)
            self.out[n + 10] = math.expm1(b)
            self.out[n + 11] = math.log(b)
            self.out[n + 12] = math.log10(b)
            self.out[n + 13] = math.log1p(b)
            self.out[n + 14] = math.log2(b)
            self.out[n + 15] = math.pow(b, i)
            self.out[n + 16] = math.sin(b)
            self.out[n + 17] = math.sinh(b)
            self.out[n + 18] = math.tan(b)
            self.out[n + 19] = math.tanh(b)
            self.out[n + 20] = math.sqrt(b)
            self.out[n + 21] = math.fabs(b)
            self.out[n + 22] = math.floor(a) - math.ceil(b)
            self.out[n + 23] = np.floor(b) + np.ceil(b)
            self.out[n + 24] = np.trunc(b) - np.rint(a)
            self.out[n + 25] = np.maximum(a, b)
            self.out[n + 26] = np.minimum(a, b)
            self.out[n + 27] = int(a) + float(b)
            self.out[n + 28] = a // b
            self.out[n + 29] = a % b
            self.out[n + 30] = (
                (b / 3) ** 2 + (i / 7) ** 5 - HALF(a) * (i / 3 // 0.4) * (i / 3 % 0.4)
            )


class Laid(pl.Vertex):
    """Layouts and constraints."""

    x: Annotated[pl.Input[pl.Vector[pl.FLOAT]], pl.Layout(pl.VectorLayout.SHORT_SPAN, min_align=8)]
    y: Annotated[pl.Output[pl.Vector[pl.FLOAT]], pl.Layout(interleaved=True)]
    z: Annotated[pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]], pl.Layout(pl.VectorLayout.ONE_PTR)]
    constraints = ("elem(*x) != elem(*y)",)

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i] + self.z[0][i]


class OwnText(pl.Vertex):
    """A `compute` with C++ of its own."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    cpp = """
        for (auto i = x.size(); i != 0; --i) x[i - 1] = 2.0f * x[i - 1];
        return true;
    """

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2.0


PROGRAMS: tuple[type[pl.Vertex], ...] = (
    *(Versions, Loops, Order, Names, Rows, Choices, Shared, ChangedWorker, Raised, InLanes),
    *(Mathematics[pl.FLOAT], Mathematics[pl.INT], Laid, OwnText),
)
