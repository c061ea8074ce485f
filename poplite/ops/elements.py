"""Operations on elements: computed one by one, as expressions, or moved.

Nothing is computed until `ops.map` records it. Operands are tensors and expressions of the same
element type, and Python numbers, which take that type; shapes are broadcast as in NumPy. Many of
these functions are also Python operators. They behave as in NumPy; where PopLibs behaves
differently, there is a separate function.

All functions raise ElementTypeError for operands of different types or of a type that the
operation does not support, SizeOverflowError for a number that the type cannot hold, and
TensorCreationError for shapes that cannot be broadcast.

Source: NumPy's functions of these names; PopLibs, `popops/ElementWise.hpp`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence as List
from operator import index as whole_number
from typing import Any

import poplite.ops.operands as checks
from poplite.errors import ElementTypeError, InvalidOption, SizeOverflowError, TensorCreationError
from poplite.expr.build import apply, as_expr, cast as _cast, iota as _iota
from poplite.expr.operand import Operand
from poplite.expr.operations import OPERATIONS
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.concat import concat, stack as stack
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import argument as _argument
from poplite.ops.record import map as stored
from poplite.program import Sequence
from poplite.program.recording import deciding_tiles, graph_for
from poplite.text import clipped, integer_or_none, items_or_none, of_type
from poplite.types import BOOL, FLOAT, INT, ElementTypeLike

# -- arithmetic ------------------------------------------------------------------------------------


def add(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a + b`; integers wrap.

    PopLibs: `Add`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x + 1
    <Expr x + 1.0 float32[4]>
    """
    return apply("add", a, b)


def subtract(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a - b`; integers wrap.

    PopLibs: `Subtract`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x - 1
    <Expr x - 1.0 float32[4]>
    """
    return apply("subtract", a, b)


def multiply(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a * b`; integers wrap.

    PopLibs: `Multiply`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x * 2
    <Expr x * 2.0 float32[4]>
    """
    return apply("multiply", a, b)


def divide(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a / b` for floats; division by 0 gives an infinity or NaN.

    Integers are rejected: `//` rounds down, `divide_trunc` towards zero.

    PopLibs: `Divide, of floats`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x / 2
    <Expr x / 2.0 float32[4]>
    """
    return apply("divide", a, b)


def floor_divide(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a // b`, rounded down; for integers, division by 0 gives 0.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x // 2
    <Expr x // 2.0 float32[4]>
    """
    return apply("floor_divide", a, b)


def remainder(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a % b`, which has the sign of `b`; for integers, division by 0 gives 0.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x % 3
    <Expr x % 3.0 float32[4]>
    """
    return apply("remainder", a, b)


def divide_trunc(a: Operand | float, b: Operand | float) -> Expr:
    """Return the quotient of integers, rounded towards zero; division by 0 gives 0.

    PopLibs: `Divide, of integers`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> divide_trunc(i, 2)
    <Expr divide_trunc(i, 2) int32[4]>
    """
    return apply("divide_trunc", a, b)


def remainder_trunc(a: Operand | float, b: Operand | float) -> Expr:
    """Return the remainder of `a` divided by `b`, with the sign of `a`, like C's `%` and `fmod`.

    PopLibs: `Remainder`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> remainder_trunc(x, 3)
    <Expr remainder_trunc(x, 3.0) float32[4]>
    """
    return apply("remainder_trunc", a, b)


def power(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a ** b`.

    A square or cube is computed by products, as are powers of integers up to 64; for 0.5 it is
    `sqrt`, for -1 `reciprocal`, and for other exponents the power kernel, within 1.5 ulp. For
    integers, a negative exponent gives 0, and is rejected if it is a Python number.

    PopLibs: `Power`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x ** 2
    <Expr x ** 2 float32[4]>
    """
    return apply("power", a, b)


def square(a: Operand) -> Expr:
    """Return `a * a`.

    PopLibs: `Square`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> square(x)
    <Expr x ** 2 float32[4]>
    """
    return apply("square", a)


def negative(a: Operand) -> Expr:
    """Return `-a`; unsigned integers wrap.

    PopLibs: `Negate`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> -x
    <Expr -x float32[4]>
    """
    return apply("negative", a)


def absolute(a: Operand) -> Expr:
    """Return `abs(a)`; the smallest integer is unchanged.

    PopLibs: `Absolute`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> abs(x)
    <Expr absolute(x) float32[4]>
    """
    return apply("absolute", a)


def reciprocal(a: Operand) -> Expr:
    """Return `1 / a` for floats.

    PopLibs: `Inverse`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> reciprocal(x)
    <Expr reciprocal(x) float32[4]>
    """
    return apply("reciprocal", a)


def sign(a: Operand) -> Expr:
    """Return -1, 0 or 1; NaN stays NaN.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sign(x)
    <Expr sign(x) float32[4]>
    """
    return apply("sign", a)


def sign_popops(a: Operand) -> Expr:
    """Return -1, 0 or 1, and 0 for NaN.

    PopLibs: `Signum`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sign_popops(x)
    <Expr sign_popops(x) float32[4]>
    """
    return apply("sign_popops", a)


def maximum(a: Operand | float, b: Operand | float) -> Expr:
    """Return the larger element, or NaN if either is NaN.

    PopLibs: `Maximum`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> maximum(x, 0)
    <Expr maximum(x, 0.0) float32[4]>
    """
    return apply("maximum", a, b)


def minimum(a: Operand | float, b: Operand | float) -> Expr:
    """Return the smaller element, or NaN if either is NaN.

    PopLibs: `Minimum`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> minimum(x, 0)
    <Expr minimum(x, 0.0) float32[4]>
    """
    return apply("minimum", a, b)


def clamp(x: Operand | float, lower: Operand | float, upper: Operand | float) -> Expr:
    """Return `x`, raised to `lower`, then lowered to `upper`; NaN stays NaN.

    PopLibs: `Clamp`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> clamp(x, -1, 1)
    <Expr clamp(x, -1.0, 1.0) float32[4]>
    """
    return apply("clamp", x, lower, upper)


def clip(
    x: Operand | float, min: Operand | float | None = None, max: Operand | float | None = None
) -> Expr:
    """Return `x`, raised to `min`, then lowered to `max`: NumPy's `clamp` with optional bounds.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> clip(x, 0), clip(x, max=1)
    (<Expr maximum(x, 0.0) float32[4]>, <Expr minimum(x, 1.0) float32[4]>)
    """
    if min is None and max is None:
        raise ElementTypeError(
            "ops.clip: neither min nor max is given", fix="ops.clip(x, 0), or ops.clip(x, max=1)"
        )
    if max is None:
        return apply("maximum", x, min)
    return apply("minimum", x, max) if min is None else clamp(x, min, max)


def variance_to_inv_std_dev(variance: Operand | float, epsilon: Operand | float) -> Expr:
    """Return `1 / sqrt(variance + epsilon)`.

    PopLibs: `VarianceToInvStdDev`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> variance_to_inv_std_dev(x, 1e-5)
    <Expr variance_to_inv_std_dev(x, 9.999999747378752e-06) float32[4]>
    """
    return apply("variance_to_inv_std_dev", variance, epsilon)


def inv_std_dev_to_variance(inv_std_dev: Operand | float, epsilon: Operand | float) -> Expr:
    """Return `1 / inv_std_dev ** 2 - epsilon`.

    PopLibs: `InvStdDevToVariance`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> inv_std_dev_to_variance(x, 1e-5)
    <Expr inv_std_dev_to_variance(x, 9.999999747378752e-06) float32[4]>
    """
    return apply("inv_std_dev_to_variance", inv_std_dev, epsilon)


# -- comparisons -----------------------------------------------------------------------------------
# Elementwise comparisons and logic, as expressions of BOOL.
#
# NaN is unequal to everything, and all other comparisons with it are false.


def equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return whether `a` and `b` are equal.

    PopLibs: `Equal`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> equal(x, y)
    <Expr equal(x, y) bool[4]>
    """
    return apply("equal", a, b)


def not_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return whether `a` and `b` differ.

    PopLibs: `NotEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> not_equal(x, y)
    <Expr not_equal(x, y) bool[4]>
    """
    return apply("not_equal", a, b)


def less(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a < b`.

    PopLibs: `LessThan`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x < y
    <Expr x < y bool[4]>
    """
    return apply("less", a, b)


def less_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a <= b`.

    PopLibs: `LessThanEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x <= y
    <Expr x <= y bool[4]>
    """
    return apply("less_equal", a, b)


def greater(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a > b`.

    PopLibs: `GreaterThan`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x > y
    <Expr x > y bool[4]>
    """
    return apply("greater", a, b)


def greater_equal(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a >= b`.

    PopLibs: `GreaterThanEqual`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> x >= y
    <Expr x >= y bool[4]>
    """
    return apply("greater_equal", a, b)


def is_finite(a: Operand) -> Expr:
    """Return whether floats are neither infinite nor NaN.

    PopLibs: `IsFinite`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_finite(x)
    <Expr is_finite(x) bool[4]>
    """
    return apply("is_finite", a)


def is_inf(a: Operand) -> Expr:
    """Return whether floats are infinite.

    PopLibs: `IsInf`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_inf(x)
    <Expr is_inf(x) bool[4]>
    """
    return apply("is_inf", a)


def is_nan(a: Operand) -> Expr:
    """Return whether floats are NaN.

    PopLibs: `IsNaN`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> is_nan(x)
    <Expr is_nan(x) bool[4]>
    """
    return apply("is_nan", a)


def logical_and(a: Operand | float, b: Operand | float) -> Expr:
    """Return whether both elements are true, for BOOL.

    PopLibs: `LogicalAnd`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_and(x > 0, y > 0)
    <Expr logical_and(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_and", a, b)


def logical_or(a: Operand | float, b: Operand | float) -> Expr:
    """Return whether at least one of the elements is true, for BOOL.

    PopLibs: `LogicalOr`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_or(x > 0, y > 0)
    <Expr logical_or(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_or", a, b)


def logical_xor(a: Operand | float, b: Operand | float) -> Expr:
    """Return whether exactly one of the elements is true, for BOOL.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> logical_xor(x > 0, y > 0)
    <Expr logical_xor(x > 0.0, y > 0.0) bool[4]>
    """
    return apply("logical_xor", a, b)


def logical_not(a: Operand) -> Expr:
    """Return whether an element is false, for BOOL.

    PopLibs: `LogicalNot`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> logical_not(x > 0)
    <Expr logical_not(x > 0.0) bool[4]>
    """
    return apply("logical_not", a)


# -- bits ------------------------------------------------------------------------------------------
# Bitwise operations on integers, as expressions.
#
# A shift by the width of the type or more, or by a negative amount, shifts out all bits: the result
# is 0, or -1 if a negative number is shifted to the right.


def bitwise_and(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a & b`, for integers or BOOL.

    PopLibs: `BitwiseAnd`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i & 7
    <Expr i & 7 int32[4]>
    """
    return apply("bitwise_and", a, b)


def bitwise_or(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a | b`, for integers or BOOL.

    PopLibs: `BitwiseOr`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i | 8
    <Expr i | 8 int32[4]>
    """
    return apply("bitwise_or", a, b)


def bitwise_xor(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a ^ b`, for integers or BOOL.

    PopLibs: `BitwiseXor`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i ^ 1
    <Expr i ^ 1 int32[4]>
    """
    return apply("bitwise_xor", a, b)


def bitwise_xnor(a: Operand | float, b: Operand | float) -> Expr:
    """Return the bits in which `a` and `b` agree, for integers or BOOL.

    PopLibs: `BitwiseXnor`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> bitwise_xnor(i, 1)
    <Expr bitwise_xnor(i, 1) int32[4]>
    """
    return apply("bitwise_xnor", a, b)


def bitwise_not(a: Operand) -> Expr:
    """Return `~a` for integers; for BOOL, the logical negation.

    PopLibs: `BitwiseNot`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> ~i
    <Expr ~i int32[4]>
    """
    return apply("bitwise_not", a)


def shift_left(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a << amount`.

    PopLibs: `ShiftLeft`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i << 2
    <Expr i << 2 int32[4]>
    """
    return apply("shift_left", a, amount)


def shift_right(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a >> amount`, which keeps the sign.

    PopLibs: `ShiftRightSignExtend`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> i >> 2
    <Expr i >> 2 int32[4]>
    """
    return apply("shift_right", a, amount)


def shift_right_logical(a: Operand | float, amount: Operand | float) -> Expr:
    """Return `a` shifted to the right, filled with zeros from the left.

    PopLibs: `ShiftRight`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> shift_right_logical(i, 2)
    <Expr shift_right_logical(i, 2) int32[4]>
    """
    return apply("shift_right_logical", a, amount)


def popcount(a: Operand) -> Expr:
    """Return the number of set bits, in the type of `a`.

    PopLibs: `Popcount`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> popcount(i)
    <Expr popcount(i) int32[4]>
    """
    return apply("popcount", a)


def count_leading_zeros(a: Operand) -> Expr:
    """Return the number of zero bits before the first set bit; for 0, all bits.

    PopLibs: `CountLeadingZeros`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> count_leading_zeros(i)
    <Expr count_leading_zeros(i) int32[4]>
    """
    return apply("count_leading_zeros", a)


# -- choices ---------------------------------------------------------------------------------------
# Selection of elements, conversion, and positions, as expressions.


def select(a: Operand | float, b: Operand | float, predicate: Operand) -> Expr:
    """Return `a` where the predicate is true, else `b`; both are computed.

    PopLibs: `Select`, with the predicate last; `where` has NumPy's order.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> select(x, 0, x > 0)
    <Expr select(x, 0.0, x > 0.0) float32[4]>
    """
    return apply("select", a, b, predicate)


def where(predicate: Operand, a: Operand | float, b: Operand | float) -> Expr:
    """Return `a` where the predicate is true, else `b`: `select` in NumPy's order.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> where(x > 0, x, 0)
    <Expr select(x, 0.0, x > 0.0) float32[4]>
    """
    return apply("select", a, b, predicate)


def cast(x: Operand | float, element_type: ElementTypeLike) -> Expr:
    """Return elements converted to another type.

    A conversion from floats to integers truncates, and saturates at -2^63 and 2^63 - 1, for
    UNSIGNED_LONGLONG at -2^63 and 2^64 - 1; NaN gives 0. Integers keep the low bits that fit the
    type; for BOOL, all values but 0 are true; for floats, numbers are rounded to nearest.

    Args:
        x: a tensor or expression of any type except QUARTER, or a number, which must fit.
        element_type: the new type, or its NumPy dtype.

    Raises:
        ElementTypeError: for an unknown type, or QUARTER.
        SizeOverflowError: for a number that does not fit.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> cast(i, pl.FLOAT) / 2
    <Expr cast(i, FLOAT) / 2.0 float32[4]>
    """
    return _cast(x, element_type)


def iota(
    shape: int | Iterable[int], element_type: ElementTypeLike = INT, *, start: int = 0
) -> Expr:
    """Return consecutive integers by position in row-major order: start, start + 1, ...

    Args:
        shape: sizes of the dimensions; a number is a shape of rank 1.
        element_type: a numeric type.
        start: the first number.

    Raises:
        SizeOverflowError: if the last number does not fit the type.
        TensorCreationError: for a size or a start that is not an integer, or for QUARTER.

    >>> iota((2, 3))
    <Expr iota([2, 3]) int32[2, 3]>
    """
    return _iota(shape, element_type, start)


def arg(index: int) -> Expr:
    """Return a placeholder for a tensor, so that an expression can be used for several tensors.

    Args:
        index: 0 for the first of the tensors that are passed to `ops.map`.

    Raises:
        TensorIndexError: if it is not a non-negative integer.

    >>> 0.9 * arg(0) + 0.1 * arg(1)
    <Expr 0.9 * arg(0) + 0.1 * arg(1)>
    """
    return _argument(index)


# -- mathematical functions ------------------------------------------------------------------------
# HALF is computed in float32 and rounded once. Results are those of `compute`
# (docs/arithmetic.md), bit-identical on every processor: `sqrt` and the rounding functions are
# exact, `exp` is within 1 unit in the last place of float32, and the others within 0.51.


def sqrt(x: Operand) -> Expr:
    """Return the square root of floats; NaN for negative numbers.

    PopLibs: `Sqrt, of floats`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sqrt(x)
    <Expr sqrt(x) float32[4]>
    """
    return apply("sqrt", x)


def sqrt_trunc(x: Operand) -> Expr:
    """Return the square root of integers, rounded down; 0 for negative numbers.

    PopLibs: `Sqrt, of integers`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> sqrt_trunc(i)
    <Expr sqrt_trunc(i) int32[4]>
    """
    return apply("sqrt_trunc", x)


def rsqrt(x: Operand) -> Expr:
    """Return `1 / sqrt(x)`.

    PopLibs: `Rsqrt`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> rsqrt(x)
    <Expr rsqrt(x) float32[4]>
    """
    return apply("rsqrt", x)


def cbrt(x: Operand) -> Expr:
    """Return the cube root.

    PopLibs: `Cbrt`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> cbrt(x)
    <Expr cbrt(x) float32[4]>
    """
    return apply("cbrt", x)


def exp(x: Operand) -> Expr:
    """Return e to the power of x.

    PopLibs: `Exponent`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> exp(x)
    <Expr exp(x) float32[4]>
    """
    return apply("exp", x)


def exp2(x: Operand) -> Expr:
    """Return 2 to the power of x.

    PopLibs: `Exponent2`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> exp2(x)
    <Expr exp2(x) float32[4]>
    """
    return apply("exp2", x)


def expm1(x: Operand) -> Expr:
    """Return `exp(x) - 1`, accurate even near 0.

    PopLibs: `ExponentMinusOne`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> expm1(x)
    <Expr expm1(x) float32[4]>
    """
    return apply("expm1", x)


def log(x: Operand) -> Expr:
    """Return the natural logarithm.

    PopLibs: `Logarithm`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> log(x)
    <Expr log(x) float32[4]>
    """
    return apply("log", x)


def log2(x: Operand) -> Expr:
    """Return the logarithm to base 2.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> log2(x)
    <Expr log2(x) float32[4]>
    """
    return apply("log2", x)


def log10(x: Operand) -> Expr:
    """Return the logarithm to base 10.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> log10(x)
    <Expr log10(x) float32[4]>
    """
    return apply("log10", x)


def log1p(x: Operand) -> Expr:
    """Return `log(1 + x)`, accurate even near 0.

    PopLibs: `LogarithmOnePlus`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> log1p(x)
    <Expr log1p(x) float32[4]>
    """
    return apply("log1p", x)


def sin(x: Operand) -> Expr:
    """Return the sine of x in radians.

    PopLibs: `Sin`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sin(x)
    <Expr sin(x) float32[4]>
    """
    return apply("sin", x)


def cos(x: Operand) -> Expr:
    """Return the cosine of x in radians.

    PopLibs: `Cos`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> cos(x)
    <Expr cos(x) float32[4]>
    """
    return apply("cos", x)


def tan(x: Operand) -> Expr:
    """Return the tangent of x in radians.

    PopLibs: `Tan`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> tan(x)
    <Expr tan(x) float32[4]>
    """
    return apply("tan", x)


def asin(x: Operand) -> Expr:
    """Return the angle in radians whose sine is x; NaN outside [-1, 1].

    PopLibs: `Asin`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> asin(x)
    <Expr asin(x) float32[4]>
    """
    return apply("asin", x)


def acos(x: Operand) -> Expr:
    """Return the angle in radians whose cosine is x; NaN outside [-1, 1].

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> acos(x)
    <Expr acos(x) float32[4]>
    """
    return apply("acos", x)


def atan(x: Operand) -> Expr:
    """Return the angle in radians whose tangent is x.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> atan(x)
    <Expr atan(x) float32[4]>
    """
    return apply("atan", x)


def atan2(y: Operand | float, x: Operand | float) -> Expr:
    """Return the angle of the point (x, y), in radians.

    PopLibs: `Atan2`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> atan2(y, x)
    <Expr atan2(y, x) float32[4]>
    """
    return apply("atan2", y, x)


def hypot(a: Operand | float, b: Operand | float) -> Expr:
    """Return `sqrt(a * a + b * b)`, which does not overflow unless the result does.

    It is computed from the longer side and the ratio of both; with an infinity it is infinite,
    even beside a NaN. Error: at most 2 units in the last place.

    >>> import poplite as pl
    >>> x, y = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xy")
    >>> hypot(x, y)
    <Expr hypot(x, y) float32[4]>
    """
    return apply("hypot", a, b)


def logaddexp(a: Operand | float, b: Operand | float) -> Expr:
    """Return `log(exp(a) + exp(b))`, computed from the larger operand and their distance.

    Error: at most 2 units in the last place of the result or of the larger operand, whichever is
    larger.

    >>> import poplite as pl
    >>> x, y = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xy")
    >>> logaddexp(x, y)
    <Expr logaddexp(x, y) float32[4]>
    """
    return apply("logaddexp", a, b)


def sinh(x: Operand) -> Expr:
    """Return the hyperbolic sine.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sinh(x)
    <Expr sinh(x) float32[4]>
    """
    return apply("sinh", x)


def cosh(x: Operand) -> Expr:
    """Return the hyperbolic cosine.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> cosh(x)
    <Expr cosh(x) float32[4]>
    """
    return apply("cosh", x)


def tanh(x: Operand) -> Expr:
    """Return the hyperbolic tangent.

    PopLibs: `Tanh`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> tanh(x)
    <Expr tanh(x) float32[4]>
    """
    return apply("tanh", x)


def erf(x: Operand) -> Expr:
    """Return the error function.

    PopLibs: `Erf`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> erf(x)
    <Expr erf(x) float32[4]>
    """
    return apply("erf", x)


def erfc(x: Operand) -> Expr:
    """Return 1 minus the error function.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> erfc(x)
    <Expr erfc(x) float32[4]>
    """
    return apply("erfc", x)


def floor(x: Operand) -> Expr:
    """Return the largest integer that is at most x, as a float.

    PopLibs: `Floor`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> floor(x)
    <Expr floor(x) float32[4]>
    """
    return apply("floor", x)


def ceil(x: Operand) -> Expr:
    """Return the smallest integer that is at least x, as a float.

    PopLibs: `Ceil`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> ceil(x)
    <Expr ceil(x) float32[4]>
    """
    return apply("ceil", x)


def trunc(x: Operand) -> Expr:
    """Return x rounded towards zero, as a float.

    PopLibs: `Trunc`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> trunc(x)
    <Expr trunc(x) float32[4]>
    """
    return apply("trunc", x)


def round(x: Operand) -> Expr:  # noqa: A001  (NumPy's name)
    """Return the nearest integer as a float; ties go to the even integer.

    PopLibs: `NearbyInt`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> round(x)
    <Expr round(x) float32[4]>
    """
    return apply("round", x)


def round_half_away(x: Operand) -> Expr:
    """Return the nearest integer as a float; ties go away from zero.

    PopLibs: `Round`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> round_half_away(x)
    <Expr round_half_away(x) float32[4]>
    """
    return apply("round_half_away", x)


def sigmoid(x: Operand) -> Expr:
    """Return `1 / (1 + exp(-x))`.

    Below 0 it is computed as `exp(x) / (1 + exp(x))`, which is accurate even if `exp(-x)`
    overflows. Error: at most 2.5 units in the last place. PopLibs: `Sigmoid`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sigmoid(x)
    <Expr sigmoid(x) float32[4]>
    """
    return apply("sigmoid", x)


def relu(x: Operand) -> Expr:
    """Return x where it is greater than 0, else 0; NaN stays NaN.

    PopLibs: `Relu`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> relu(x)
    <Expr relu(x) float32[4]>
    """
    return apply("relu", x)


def softplus(x: Operand) -> Expr:
    """Return `log(1 + exp(x))`, computed as `max(x, 0) + log1p(exp(-abs(x)))`.

    Error: at most 1.5 units in the last place.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> softplus(x)
    <Expr softplus(x) float32[4]>
    """
    return apply("softplus", x)


def swish(x: Operand) -> Expr:
    """Return `x * sigmoid(x)`, which tends to -0.0 for large negative x.

    It is computed as in `sigmoid`. Error: at most 3.5 units in the last place, and 60 below -87,
    where `exp(x)` is subnormal.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> swish(x)
    <Expr swish(x) float32[4]>
    """
    return apply("swish", x)


def gelu(x: Operand) -> Expr:
    """Return the Gaussian error linear unit, by its approximation with tanh.

    `0.5 * x * (1 + tanh(u))` for `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)`, computed in the
    equivalent form `x * sigmoid(2 * u)`. Error: at most 4 units in the last place above -1; below,
    it grows to 250 at -10, where the result is 1e-38.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> gelu(x)
    <Expr gelu(x) float32[4]>
    """
    return apply("gelu", x)


def gelu_erf(x: Operand) -> Expr:
    """Return the Gaussian error linear unit: `x (1 + erf(x / sqrt 2)) / 2`.

    It is computed as `0.5 * x * erfc(-x / sqrt 2)`. Error: at most 4 units in the last place above
    -1; below, it grows to 220 at -13, where the result is 1e-37. PopLibs: `GeluErf`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> gelu_erf(x)
    <Expr gelu_erf(x) float32[4]>
    """
    return apply("gelu_erf", x)


# -- moves -----------------------------------------------------------------------------------------
# Operations that move elements: as views, by steps, or in expressions.
#
#     roll(x, 1)              a view: x[-1], x[0], x[1], ...
#     pad(x, (1, 1))          a view of x and a constant
#     tril(x)                 an expression: 0 above the diagonal
#     transpose(x)            a step: a copy that is mapped linearly in its own order

MODES = ("constant", "edge", "reflect")

concatenate = concat  # NumPy's name


def roll(x: Tensor, shift: int | List[int], dim: int | List[int] | None = None) -> Tensor:
    """Return a view with elements shifted along dimensions; the last elements wrap to the front.

    Args:
        x: a tensor.
        shift: the number of positions, negative to shift back; a list for a list of dimensions.
        dim: one or several dimensions; None means all elements in row-major order.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorIndexError: for a dimension that x does not have.
        InvalidOption: for shifts that are not integers, or not one for each dimension.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (5,), "x")
    >>> roll(x, 2)[0] == x[3]
    <same elements: True (not ops.equal)>
    """
    _check_tensor("ops.roll", x)
    shifts = _numbers("ops.roll", "shift", shift)
    if dim is None:
        return _rolled(x.flatten(), sum(shifts), 0).reshape(x.shape)
    dims = _numbers("ops.roll", "dim", dim)
    if len(shifts) == 1:
        shifts *= len(dims)
    if len(shifts) != len(dims):
        raise InvalidOption(
            f"ops.roll: {len(shifts)} shifts for {len(dims)} dimensions",
            fix="pass a shift for each dimension",
        )
    for each, by in zip(dims, shifts, strict=True):
        x = _rolled(x, by, checks.dimension("ops.roll", x, each))
    return x


def pad(
    x: Tensor,
    widths: int | List[Any],
    mode: str = "constant",
    *,
    value: bool | int | float = 0,
) -> Tensor:
    """Return a view with elements added before and after each dimension: `numpy.pad`.

    No element is computed or copied: the padding is a constant on tile 0, or repeats elements of
    the tensor. A negative width removes elements.

    Args:
        x: a tensor.
        widths: a number for all sides; a pair (before, after) for all dimensions; or a list with a
            pair for each.
        mode: "constant"; "edge", which repeats the first and the last element; or "reflect", which
            mirrors the elements at them, without repeating them.
        value: the value of the constant.

    Raises:
        ElementTypeError: for an x that is not a tensor, or a value that its type cannot hold.
        InvalidOption: for an unknown mode, or widths that are not pairs of integers.
        TensorCreationError: if there are too few elements to reflect, repeat, or remove.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[1, 2, 3])
    >>> y = pl.ops.map(pad(x, (1, 2), "reflect"), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [2, 1, 2, 3, 2, 1]
    """
    _check_tensor("ops.pad", x)
    if not isinstance(mode, str) or mode not in MODES:
        fix = f"pass one of {', '.join(MODES)}"
        raise InvalidOption(f"ops.pad: mode is {clipped(mode)}", fix=fix)
    # Concatenations made below do not name the padding.
    of = "pad" if x.name.startswith("concat(") else x.name
    for dim, (before, after) in enumerate(_widths(x, widths)):
        cut = max(0, -before), max(0, -after)
        size = x.shape[dim]
        if sum(cut) > size:
            raise _too_many(x, dim, f"remove {sum(cut)}", size)
        x = x.slice(cut[0], size - cut[1], dim)
        parts = [_added(x, dim, max(0, before), mode, value, 0, of), x]
        x = concat([*parts, _added(x, dim, max(0, after), mode, value, -1, of)], dim)
    return x


def tile(x: Tensor, repeats: int | List[int]) -> Tensor:
    """Return a view that repeats a tensor: `numpy.tile`.

    Args:
        x: a tensor.
        repeats: the count along each dimension, or along the last ones; more numbers than
            dimensions add leading dimensions.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        InvalidOption: for repeats that are not integers.
        SizeOverflowError: for negative repeats.

    >>> import poplite as pl
    >>> tile(pl.Graph().add_variable(pl.FLOAT, (2, 3), "x"), (2, 1, 4)).shape
    (2, 2, 12)
    """
    _check_tensor("ops.tile", x)
    counts = _numbers("ops.tile", "repeats", repeats)
    x = x.reshape((1,) * (len(counts) - x.rank) + x.shape)
    for dim, count in enumerate(counts, x.rank - len(counts)):
        if count < 0:
            raise SizeOverflowError(
                f"ops.tile: repeats is {count} for dimension {dim}", fix="pass 0 or more"
            )
        x = x.broadcast(count, dim)
    return x


def repeat_elements(x: Tensor, repeats: int, dim: int) -> Tensor:
    """Return a view that repeats each index of a dimension in place: 1 2 -> 1 1 2 2.

    Args:
        x: a tensor.
        repeats: the count, at least 0.
        dim: the dimension; negative ones count from the last.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorIndexError: for a dimension that x does not have, or a negative count.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    >>> repeat_elements(x, 2, -1)[0, 5] == x[0, 2]
    <same elements: True (not ops.equal)>
    """
    _check_tensor("ops.repeat_elements", x)
    return x.upsample(repeats, checks.dimension("ops.repeat_elements", x, dim))


def flip(x: Tensor, dims: int | List[int] | None = None) -> Tensor:
    """Return a view with the elements in reverse order along dimensions: `numpy.flip`.

    Args:
        x: a tensor.
        dims: a dimension or a list of them; by default all.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorIndexError: for a dimension that x does not have.
        InvalidOption: for a dimension that is listed twice, or not an integer.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    >>> flip(x)[0, 0] == x[1, 2]
    <same elements: True (not ops.equal)>
    """
    what = "ops.flip"
    _check_tensor(what, x)
    listed = _numbers(what, "dims", range(x.rank) if dims is None else dims)
    each = [checks.dimension(what, x, dim) for dim in listed]
    if len({*each}) < len(each):
        raise checks.invalid_value(what, "dims", dims, "each dimension once")
    for dim in each:
        x = x.reverse(dim)
    return x


def meshgrid(*vectors: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return views of vectors along the dimensions of a grid: `numpy.meshgrid`.

    Args:
        *vectors: tensors of rank 1, or 0 for one element.
        indexing: "ij", with the first vector along dimension 0; or "xy", with the first vector
            along dimension 1, and the second along dimension 0.

    Raises:
        ElementTypeError: for a vector that is not a tensor.
        TensorCreationError: for a tensor of a higher rank.
        InvalidOption: for another `indexing`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (size,), "xy"[size - 2]) for size in (2, 3))
    >>> [each.shape for each in meshgrid(x, y)]
    [(3, 2), (3, 2)]
    """
    what = "ops.meshgrid"
    if not isinstance(indexing, str) or indexing not in ("xy", "ij"):
        raise checks.invalid_value(what, "indexing", indexing, '"xy" or "ij"')
    for each in vectors:
        _check_tensor(what, each)
        if each.rank > 1:
            raise TensorCreationError(
                f"{what}: {checks.called(each)} has rank {each.rank}",
                found=f"shape {each.shape}",
                fix="pass vectors, such as x.flatten()",
            )
    order = list(range(len(vectors)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    found = []
    for dim, each in zip(order, vectors, strict=True):
        grid = each.reshape([each.num_elements if d == dim else 1 for d in range(len(order))])
        for other, vector in zip(order, vectors, strict=True):
            grid = grid if other == dim else grid.broadcast(vector.num_elements, other)
        found.append(grid)
    return tuple(found)


def diag(x: Tensor, k: int = 0) -> Tensor | Expr:
    """Return a diagonal of a matrix, or the matrix with a vector on a diagonal: `numpy.diag`.

    Args:
        x: a tensor [rows, columns], whose diagonal is a view; or a tensor [n] of any type except
            QUARTER, for an expression with zeros beside its elements.
        k: the diagonal: above the main one, or below it if negative.

    Raises:
        ElementTypeError: for an x that is not a tensor.
        TensorCreationError: for a rank other than 1 and 2.
        InvalidOption: for a k that is not an integer.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=[3, 4])
    >>> y = pl.ops.map(diag(x, 1), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[0, 3, 0], [0, 0, 4], [0, 0, 0]]
    >>> diag(y, 1).shape
    (2,)
    """
    _check_tensor("ops.diag", x)
    by = _diagonal_number("ops.diag", k)
    if x.rank not in (1, 2):
        raise TensorCreationError(
            f"ops.diag: {checks.called(x)} has rank {x.rank}",
            found=f"shape {x.shape}",
            fix="pass a tensor of rank 1 or 2",
        )
    below, above = max(0, -by), max(0, by)
    if x.rank == 1:
        size = x.shape[0] + below + above
        placed = pad(x, (above, below), value=False if x.element_type is BOOL else 0)
        is_on = equal(iota((size, 1)) + by, iota((size,)))
        return where(is_on, placed, False if x.element_type is BOOL else 0)
    rows, columns = x.shape
    count = max(0, min(rows - below, columns - above))
    square = x[below : below + count, above : above + count] if count else x[:0, :0]
    return square.flatten().sub_sample(count + 1, 0)


def eye(n: int, m: int | None = None, k: int = 0, element_type: ElementTypeLike = FLOAT) -> Expr:
    """Return a matrix with ones on a diagonal and zeros elsewhere: `numpy.eye`.

    Args:
        n: the number of rows.
        m: the number of columns; by default, that of rows.
        k: the diagonal: above the main one, or below it if negative.
        element_type: the type of the elements.

    Raises:
        SizeOverflowError: for a negative size.
        InvalidOption: for a size or a k that is not an integer.
        ElementTypeError: for QUARTER.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (2, 2), "x", mapping=0, initial_value=7)
    >>> y = pl.ops.map(x * eye(2), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[7.0, 0.0], [0.0, 7.0]]
    """
    what = "ops.eye"
    rows = checks.count_of(what, "n", n)
    columns = rows if m is None else checks.count_of(what, "m", m)
    by = _diagonal_number(what, k, max(rows, columns))
    return cast(equal(iota((rows, 1)) + by, iota((columns,))), element_type)


def tril(x: Operand, k: int = 0) -> Expr:
    """Return the lower triangle of the last two dimensions, with 0 above it: `numpy.tril`.

    Args:
        x: a tensor or an expression of rank 2 or more, of any type except QUARTER.
        k: the last diagonal that is kept: above the main one, or below it if negative.

    Raises:
        TensorCreationError: for a lower rank.
        InvalidOption: for a k that is not an integer.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=1)
    >>> y = pl.ops.map(tril(x), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    rows, columns, by = _triangle("ops.tril", x, k)
    return where(rows + by >= columns, x, False if x.element_type is BOOL else 0)


def triu(x: Operand, k: int = 0) -> Expr:
    """Return the upper triangle of the last two dimensions, with 0 below it: `numpy.triu`.

    Args:
        x: a tensor or an expression of rank 2 or more.
        k: the first diagonal that is kept: 0 is the main one, positive ones are above it.

    Raises:
        TensorCreationError: for a rank below 2.
        PopliteError: for a k that is not a whole number, or an x that is not an operand.

    >>> import poplite as pl
    >>> triu(pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")).shape
    (4, 6)
    """
    rows, columns, by = _triangle("ops.triu", x, k)
    return where(rows + by <= columns, x, False if x.element_type is BOOL else 0)


def transpose(
    x: Operand,
    permutation: List[int] | None = None,
    *,
    name: str = "transpose",
    program: Sequence | None = None,
) -> Tensor:
    """Record a copy with permuted dimensions, mapped linearly over all tiles in its own order.

    `x.T` and `x.dim_shuffle(...)` are views and cost nothing, but their consecutive elements may
    be on different tiles, and are gathered whenever they are read.

    Args:
        x: a tensor. An expression is stored first.
        permutation: the dimension of x for each dimension of the result; by default, in reverse
            order.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Raises:
        TensorIndexError: for a `permutation` that is not a permutation of the dimensions.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping="linear", initial_value=[[1, 2, 3]] * 2)
    >>> y = transpose(x, program=program)
    >>> graph.tile_mapping(y)[0]
    [Interval(begin=0, end=3)]
    """
    what = "ops.transpose"
    given = checks.operand(what, x, program)
    reversed_ = range(given.rank)[::-1]
    order = _numbers(what, "permutation", reversed_ if permutation is None else permutation)
    graph = checks.graph_of(what, given, program)
    if isinstance(given, Expr):
        checks.steps_for(what, graph, name, program)
        # A variable of this shape for inspection: nothing is added to the graph.
        like = Graph(graph.target).add_variable(given.element_type, given.shape, name)
        like.dim_shuffle(order)
        given = stored(given, name=f"{name}/x", program=program)
    turned = given.dim_shuffle(order)
    with deciding_tiles(graph):
        return stored(turned, mapping="linear", name=name, program=program)


def _check_tensor(what: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise no_tensor(what, x)


def _numbers(what: str, name: str, value: Any) -> list[int]:
    """Return the integers in a number or a list."""
    try:
        parts = [value] if hasattr(value, "__index__") else list(value)
        return [whole_number(each) for each in parts]
    except TypeError:
        raise InvalidOption(
            f"{what}: {name} is {clipped(value)}",
            found=of_type(value),
            fix=f"pass a whole number, such as {name}=1, or a list of them",
        ) from None


def _rolled(x: Tensor, shift: int, dim: int) -> Tensor:
    size = x.shape[dim]
    if not size:
        return x
    at = -shift % size
    return concat([x.slice(at, size, dim), x.slice(0, at, dim)], dim)


def _widths(x: Tensor, widths: Any) -> list[tuple[int, int]]:
    """Return the number of elements to add before and after each dimension."""
    if hasattr(widths, "__index__"):
        widths = (widths, widths)
    parts = items_or_none(widths) or []
    if len(parts) == 2 and all(hasattr(each, "__index__") for each in parts):
        parts = [parts] * x.rank
    pairs = [_numbers("ops.pad", "widths", each) for each in parts]
    if len(pairs) != x.rank or any(len(pair) != 2 for pair in pairs):
        raise InvalidOption(
            f"ops.pad: widths is {clipped(widths)} for '{x.name}', which has rank {x.rank}",
            fix=f"pass a number, (before, after), or a list of {x.rank} such pairs",
        )
    return [(before, after) for before, after in pairs]


def _added(x: Tensor, dim: int, count: int, mode: str, value: Any, side: int, of: str) -> Tensor:
    """Return the padding on one side of a dimension: `side` is 0 at the start, -1 at the end.

    `of` is the name of the padded tensor, for the names of constants.
    """
    size = x.shape[dim]
    if not count:
        return x.slice(0, 0, dim)
    if mode == "constant":
        shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
        graph = graph_for(x.graph, [x], None)
        one = graph.add_constant(x.element_type, (), value, f"{of}/padding", mapping=0)
        return one.reshape((1,)).broadcast(math.prod(shape), 0).reshape(shape)
    if mode == "edge":
        if not size:
            raise _too_many(x, dim, f"repeat {count}", size)
        begin = 0 if side == 0 else size - 1
        return x.slice(begin, begin + 1, dim).broadcast(count, dim)
    if count >= size:
        raise _too_many(x, dim, f"reflect {count}", size)
    begin = 1 if side == 0 else size - 1 - count
    return x.slice(begin, begin + count, dim).reverse(dim)


def _too_many(x: Tensor, dim: int, what: str, size: int) -> TensorCreationError:
    return TensorCreationError(
        f"ops.pad: cannot {what} elements along dimension {dim} of '{x.name}', which has {size}",
        found=f"shape {x.shape}",
        fix="use smaller widths",
    )


def _triangle(what: str, x: Operand, k: int) -> tuple[Expr, Expr, int]:
    """Return the row indices, the column indices, and the index of the diagonal."""
    expr = as_expr(x, what)
    checks.check_closed(what, expr)
    shape = expr.shape
    if len(shape) < 2:
        raise TensorCreationError(
            f"{what}: x has rank {len(shape)}",
            found=f"shape {shape}",
            fix="pass a tensor of rank 2 or more",
        )
    by = _diagonal_number(what, k, max(shape[-2:]))
    return iota((shape[-2], 1)), iota((shape[-1],)), by


def _diagonal_number(what: str, k: object, most: int | None = None) -> int:
    """Return the number of a diagonal, up to the first one that has no elements."""
    by = integer_or_none(k)
    if by is None:
        raise checks.invalid_value(what, "k", k, "a whole number, such as k=1")
    return by if most is None else max(-most, min(by, most))


# -- docstrings ------------------------------------------------------------------------------------


_NAMED = {"clip": "clamp", "where": "select"}
"""The operations of functions that have other names."""

_KINDS = {"float": "HALF, FLOAT", "int": "an integer type", "bool": "BOOL"}


def _operands(names: list[str], types: str) -> list[str]:
    """Return the descriptions of the operands of an elementwise function."""
    made = [f"{name}: the same, of the same type; shapes are broadcast." for name in names]
    first = names.index("a") if "predicate" in names else 0
    number = ", or a number, which takes the type of the others" if len(names) > 1 else ""
    made[first] = f"{names[first]}: a tensor or an expression of {types}{number}."
    if "predicate" in names:
        made[names.index("predicate")] = "predicate: a tensor or an expression of BOOL."
    return made


def _sections(function: Any) -> str:
    """Return the Args and Raises of an elementwise function, which follow from its operation."""
    operation = OPERATIONS[_NAMED.get(function.__name__, function.__name__)]
    kinds = ", ".join(text for kind, text in _KINDS.items() if kind in operation.text)
    names = [*inspect.signature(function).parameters]
    raises = ["ElementTypeError: for another element type, or a number."]
    if len(names) > 1:
        raises = [
            "ElementTypeError: for different or other element types, or numbers alone.",
            "SizeOverflowError: for a number that the type cannot hold.",
            "TensorCreationError: for shapes that cannot be broadcast.",
        ]
    operands = _operands(names, " or ".join(kinds.rsplit(", ", 1)))
    parts = (["Args:", *operands], ["Raises:", *raises])
    return "".join("\n    ".join(lines) + "\n\n" for lines in parts)


def _complete_docstrings() -> None:
    """Add Args and Raises to the docstrings of the elementwise functions, before the examples."""
    for name in (*OPERATIONS, *_NAMED):
        function = globals()[name]
        if function.__doc__:  # Python may have been told to omit it
            text, _, example = inspect.cleandoc(function.__doc__).partition(">>>")
            function.__doc__ = f"{text}{_sections(function)}>>>{example}"


_complete_docstrings()
