"""Elementwise operations of one, two or three arguments.

    Unary       out[i] = f(x[i])               Negative, Exp, ...: classes that replace `of`
    Binary      out[i] = f(a[i], b[i])         Add, Maximum, ...

One worker processes all elements. HALF is computed in FLOAT and rounded once; integers wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.target import Target
from poplite.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, ElementType
from poplite.vertex.compute.mathematics import evaluate
from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, Vector, Vertex
from poplite.vertices.estimators import binary, broadcast, scaled_add, unary

T = TypeVar("T", bound=ElementType[Any])
F = TypeVar("F", FLOAT, HALF)
S = TypeVar("S", FLOAT, HALF, INT)
N = TypeVar("N", FLOAT, HALF, INT, UNSIGNED_INT)

Array = npt.NDArray[Any]


Cycles = Callable[[Any, Target], VertexPerfEstimate]


def unary_cycles(operation: str) -> Cycles:
    """Return the method `cycles` for an operation of one argument."""

    def cycles(self: Any, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `UnaryOp1D`."""
        element, elements = self.fields["out"].element, len(self.out)
        flops = elements if element.is_floating_point else 0
        return VertexPerfEstimate(unary(operation, element, elements, target), flops)

    return cycles


def binary_cycles(operation: str) -> Cycles:
    """Return the method `cycles` for an operation of two arguments."""

    def cycles(self: Any, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `BinaryOp1D`."""
        element, elements = self.fields["out"].element, len(self.out)
        flops = elements if element.is_floating_point else 0
        return VertexPerfEstimate(binary(operation, element, elements, target), flops)

    return cycles


# -- one argument ----------------------------------------------------------------------------------


class Unary(Vertex, Generic[T]):
    """`out[i]` is a function of `x[i]`."""

    x: Input[Vector[T]]
    """as many elements as out"""
    out: Output[Vector[T]]
    """any number of elements"""

    def of(self, x: Any) -> Any:
        """Return the result for an element."""
        return x

    def compute(self) -> None:
        """Compute element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.of(self.x[i])


class Negative(Unary[S]):
    """`out[i] = -x[i]`."""

    cycles = unary_cycles("negate")

    def of(self, x: Any) -> Any:
        """Return the negated element."""
        return -x

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `-x`."""
        return np.negative(x)


class Absolute(Unary[S]):
    """`out[i] = abs(x[i])`."""

    cycles = unary_cycles("abs")

    def of(self, x: Any) -> Any:
        """Return the magnitude."""
        return abs(x)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.abs(x)`."""
        return np.abs(x)


class Square(Unary[N]):
    """`out[i] = x[i] * x[i]`."""

    cycles = unary_cycles("square")

    def of(self, x: Any) -> Any:
        """Return the square."""
        return x * x

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.square(x)`."""
        with np.errstate(over="ignore"):
            return np.square(x)


class Sqrt(Unary[F]):
    """`out[i]` is the square root of `x[i]`; NaN for negative numbers."""

    cycles = unary_cycles("sqrt")

    def of(self, x: Any) -> Any:
        """Return the root."""
        return math.sqrt(x)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.sqrt(x)`."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)


class Exp(Unary[F]):
    """`out[i] = e ** x[i]`."""

    cycles = unary_cycles("exp")

    def of(self, x: Any) -> Any:
        """Return the power."""
        return math.exp(x)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.exp(x)`, bit for bit as poplite's own kernel."""
        return _evaluated("exp", x)


class Log(Unary[F]):
    """`out[i]` is the natural logarithm of `x[i]`; NaN for negative numbers."""

    cycles = unary_cycles("log")

    def of(self, x: Any) -> Any:
        """Return the logarithm."""
        return math.log(x)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.log(x)`, bit for bit as poplite's own kernel."""
        return _evaluated("log", x)


class Tanh(Unary[F]):
    """`out[i] = tanh(x[i])`."""

    cycles = unary_cycles("tanh")

    def of(self, x: Any) -> Any:
        """Return the hyperbolic tangent."""
        return math.tanh(x)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.tanh(x)`, bit for bit as poplite's own kernel."""
        return _evaluated("tanh", x)


class Sigmoid(Unary[F]):
    """`out[i] = 1 / (1 + exp(-x[i]))`."""

    cycles = unary_cycles("sigmoid")

    def of(self, x: Any) -> Any:
        """Return the logistic function."""
        return 1.0 / (1.0 + math.exp(-x))

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `1 / (1 + np.exp(-x))`, bit for bit as poplite's own kernel."""
        power = evaluate("exp", -x.astype(np.float32))
        made: Array = (np.float32(1) / (np.float32(1) + power)).astype(x.dtype)
        return made


class Relu(Unary[F]):
    """`out[i] = max(x[i], 0)`; NaN is kept."""

    cycles = unary_cycles("relu")

    def of(self, x: Any) -> Any:
        """Return the element if it is positive, else 0."""
        return np.maximum(x, 0.0)

    @classmethod
    def reference(cls, x: Array) -> Array:
        """Return `np.maximum(x, 0)`."""
        made: Array = np.maximum(x, x.dtype.type(0))
        return made


def _evaluated(name: str, x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(evaluate(name, x.astype(np.float32))).astype(x.dtype)


# -- two arguments ---------------------------------------------------------------------------------


class Binary(Vertex, Generic[T]):
    """`out[i]` is a function of `a[i]` and `b[i]`."""

    a: Input[Vector[T]]
    """as many elements as out"""
    b: Input[Vector[T]]
    """as many elements as out"""
    out: Output[Vector[T]]
    """any number of elements"""

    def join(self, a: Any, b: Any) -> Any:
        """Return the result for two elements."""
        return a

    def compute(self) -> None:
        """Compute element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.join(self.a[i], self.b[i])


class Add(Binary[N]):
    """`out[i] = a[i] + b[i]`."""

    cycles = binary_cycles("add")

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `a + b`."""
        return np.add(a, b)


class Subtract(Binary[N]):
    """`out[i] = a[i] - b[i]`."""

    cycles = binary_cycles("subtract")

    def join(self, a: Any, b: Any) -> Any:
        """Return the difference."""
        return a - b

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `a - b`."""
        return np.subtract(a, b)


class Multiply(Binary[N]):
    """`out[i] = a[i] * b[i]`."""

    cycles = binary_cycles("multiply")

    def join(self, a: Any, b: Any) -> Any:
        """Return the product."""
        return a * b

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `a * b`."""
        with np.errstate(over="ignore"):
            return np.multiply(a, b)


class Divide(Binary[F]):
    """`out[i] = a[i] / b[i]`."""

    cycles = binary_cycles("divide")

    def join(self, a: Any, b: Any) -> Any:
        """Return the quotient."""
        return a / b

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `a / b`."""
        with np.errstate(all="ignore"):
            return np.divide(a, b)


class Maximum(Binary[N]):
    """`out[i]` is the larger of `a[i]` and `b[i]`; NaN if one is."""

    cycles = binary_cycles("maximum")

    def join(self, a: Any, b: Any) -> Any:
        """Return the larger element."""
        return np.maximum(a, b)

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `np.maximum(a, b)`."""
        return np.maximum(a, b)


class Minimum(Binary[N]):
    """`out[i]` is the smaller of `a[i]` and `b[i]`; NaN if one is."""

    cycles = binary_cycles("minimum")

    def join(self, a: Any, b: Any) -> Any:
        """Return the smaller element."""
        return np.minimum(a, b)

    @classmethod
    def reference(cls, a: Array, b: Array) -> Array:
        """Return `np.minimum(a, b)`."""
        return np.minimum(a, b)


# -- a number, and three arguments -----------------------------------------------------------------


class Scale(Vertex, Generic[N]):
    """`out[i] = factor * x[i]`."""

    factor: Input[N]
    """one number"""
    x: Input[Vector[N]]
    """as many elements as out"""
    out: Output[Vector[N]]
    """any number of elements"""

    def compute(self) -> None:
        """Multiply element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.factor * self.x[i]

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of PopLibs' `BroadcastScalar1D`."""
        element, elements = self.fields["out"].element, len(self.out)
        flops = elements if element.is_floating_point else 0
        return VertexPerfEstimate(broadcast("multiply", element, elements, target), flops)

    @classmethod
    def reference(cls, factor: Any, x: Array) -> Array:
        """Return `factor * x`."""
        with np.errstate(over="ignore"):
            made: Array = np.multiply(x.dtype.type(factor), x)
        return made


class ScaledAdd(MultiVertex, Generic[F]):
    """`y[i] += factor * x[i]`, divided among the workers of the tile."""

    factor: Input[F]
    """one number"""
    x: Input[Vector[F]]
    """as many elements as y"""
    y: InOut[Vector[F]]
    """any number of elements"""

    def compute(self, worker: int) -> None:
        """Add to a part of the elements."""
        size, workers = len(self.y), self.num_workers
        for i in range(size * worker // workers, size * (worker + 1) // workers):
            self.y[i] += self.factor * self.x[i]

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the cycles of PopLibs' `ScaledAdd` on a tile."""
        element, elements = self.fields["y"].element, len(self.y)
        return VertexPerfEstimate(scaled_add(element, elements, target), 2 * elements)

    @classmethod
    def reference(cls, factor: Any, x: Array, y: Array) -> Array:
        """Return `y + factor * x`; HALF is computed in float32 and rounded once."""
        wide = np.float32(y.dtype.type(factor)) * x.astype(np.float32)
        made: Array = (y.astype(np.float32) + wide).astype(y.dtype)
        return made


class Clamp(Vertex, Generic[N]):
    """`out[i]` is `x[i]` clamped to the range from `low` to `high`; NaN is kept."""

    x: Input[Vector[N]]
    """as many elements as out"""
    low: Input[N]
    """one number"""
    high: Input[N]
    """one number, at least low"""
    out: Output[Vector[N]]
    """any number of elements"""

    def compute(self) -> None:
        """Clamp element by element."""
        for i in range(len(self.out)):
            self.out[i] = np.maximum(self.low, np.minimum(self.x[i], self.high))

    @classmethod
    def reference(cls, x: Array, low: Any, high: Any) -> Array:
        """Return `np.clip(x, low, high)`."""
        return np.clip(x, x.dtype.type(low), x.dtype.type(high))


class Select(Vertex, Generic[T]):
    """`out[i]` is `a[i]` where `condition[i]` is true, else `b[i]`."""

    condition: Input[Vector[BOOL]]
    """as many elements as out"""
    a: Input[Vector[T]]
    """as many elements as out"""
    b: Input[Vector[T]]
    """as many elements as out"""
    out: Output[Vector[T]]
    """any number of elements"""

    def compute(self) -> None:
        """Choose element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] if self.condition[i] else self.b[i]

    @classmethod
    def reference(cls, condition: Array, a: Array, b: Array) -> Array:
        """Return `np.where(condition, a, b)`."""
        return np.where(condition, a, b)
