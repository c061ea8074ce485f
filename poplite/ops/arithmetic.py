"""Arithmetic of elements, as expressions: nothing is computed until `ops.map` records it.

Operands are tensors and expressions of one element type, and numbers of Python's, which take it;
shapes are broadcast as NumPy does. Operators of Python stand for most of these functions. They
mean what NumPy means; where PopLibs means something else, there is a function of that meaning.

All raise ElementTypeError for operands of different types or of one that the operation does not
take, SizeOverflowError for a number that the type cannot hold, and TensorCreationError for shapes
that cannot be broadcast.

Source: NumPy's functions of these names; PopLibs, `popops/ElementWise.hpp`.
"""

from __future__ import annotations

from poplite.expr.build import apply
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr


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
    """Return `a / b` of floats; by 0 it is an infinity or NaN.

    Integers are refused: `//` rounds down, `divide_trunc` towards zero.

    PopLibs: `Divide, of floats`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x / 2
    <Expr x / 2.0 float32[4]>
    """
    return apply("divide", a, b)


def floor_divide(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a // b`, rounded down; integers by 0 give 0.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x // 2
    <Expr x // 2.0 float32[4]>
    """
    return apply("floor_divide", a, b)


def remainder(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a % b`, which has the sign of `b`; integers by 0 give 0.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> x % 3
    <Expr x % 3.0 float32[4]>
    """
    return apply("remainder", a, b)


def divide_trunc(a: Operand | float, b: Operand | float) -> Expr:
    """Return the quotient of integers, rounded towards zero; by 0 it is 0.

    PopLibs: `Divide, of integers`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> divide_trunc(i, 2)
    <Expr divide_trunc(i, 2) int32[4]>
    """
    return apply("divide_trunc", a, b)


def remainder_trunc(a: Operand | float, b: Operand | float) -> Expr:
    """Return what `a` leaves when divided by `b`, with the sign of `a`, as C's `%` and `fmod`.

    PopLibs: `Remainder`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> remainder_trunc(x, 3)
    <Expr remainder_trunc(x, 3.0) float32[4]>
    """
    return apply("remainder_trunc", a, b)


def power(a: Operand | float, b: Operand | float) -> Expr:
    """Return `a ** b`.

    A power by 2 or 3 is products, and of integers one up to 64; by 0.5 it is `sqrt`, by -1
    `reciprocal`, and by other numbers the kernel of powers, within 1.5 ulp. Of integers, a negative
    power is 0, and refused where it is a number.

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
    """Return `abs(a)`; the least integer stays what it is.

    PopLibs: `Absolute`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> abs(x)
    <Expr absolute(x) float32[4]>
    """
    return apply("absolute", a)


def reciprocal(a: Operand) -> Expr:
    """Return `1 / a` of floats.

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
    """Return the greater element; NaN is the greatest.

    PopLibs: `Maximum`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> maximum(x, 0)
    <Expr maximum(x, 0.0) float32[4]>
    """
    return apply("maximum", a, b)


def minimum(a: Operand | float, b: Operand | float) -> Expr:
    """Return the lesser element; NaN is the least.

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
