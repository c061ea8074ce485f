"""Mathematical functions of floating-point elements, as expressions.

HALF is computed in float32 and rounded once. Results are those of `compute`
(docs/arithmetic.md), with equal bits on every processor: `sqrt` and the functions that round are
exact, `exp` is within 1 unit in the last place of float32, `rsqrt` within 1.5, as it rounds twice,
and the others are within 0.51. Operands and errors are those of `poplite.ops.elementwise`.

Source: NumPy's functions of these names; PopLibs, `popops/ElementWise.hpp`.
"""

from __future__ import annotations

from poplite.expr.build import apply
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr


def sqrt(x: Operand) -> Expr:
    """Return the square root of floats; NaN below 0.

    PopLibs: `Sqrt, of floats`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sqrt(x)
    <Expr sqrt(x) float32[4]>
    """
    return apply("sqrt", x)


def sqrt_trunc(x: Operand) -> Expr:
    """Return the square root of integers, rounded down; 0 below 0.

    PopLibs: `Sqrt, of integers`.

    >>> import poplite as pl
    >>> i = pl.Graph().add_variable(pl.INT, (4,), "i")
    >>> sqrt_trunc(i)
    <Expr sqrt_trunc(i) int32[4]>
    """
    return apply("sqrt_trunc", x)


def rsqrt(x: Operand) -> Expr:
    """Return `1 / sqrt(x)`: both are rounded, to within 1.5 units in the last place.

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
    """Return `exp(x) - 1`, exact also near 0.

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
    """Return `log(1 + x)`, exact also near 0.

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
    """Return the angle in radians of the point (x, y).

    PopLibs: `Atan2`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, (4,), n) for n in "xy")
    >>> atan2(y, x)
    <Expr atan2(y, x) float32[4]>
    """
    return apply("atan2", y, x)


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
    """Return 1 less the error function.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> erfc(x)
    <Expr erfc(x) float32[4]>
    """
    return apply("erfc", x)


def floor(x: Operand) -> Expr:
    """Return the greatest whole number that is not above x, as a float.

    PopLibs: `Floor`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> floor(x)
    <Expr floor(x) float32[4]>
    """
    return apply("floor", x)


def ceil(x: Operand) -> Expr:
    """Return the least whole number that is not below x, as a float.

    PopLibs: `Ceil`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> ceil(x)
    <Expr ceil(x) float32[4]>
    """
    return apply("ceil", x)


def trunc(x: Operand) -> Expr:
    """Return x without its fraction, as a float.

    PopLibs: `Trunc`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> trunc(x)
    <Expr trunc(x) float32[4]>
    """
    return apply("trunc", x)


def round(x: Operand) -> Expr:  # noqa: A001  (NumPy's name)
    """Return the nearest whole number as a float, of two the even one.

    PopLibs: `NearbyInt`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> round(x)
    <Expr round(x) float32[4]>
    """
    return apply("round", x)


def round_half_away(x: Operand) -> Expr:
    """Return the nearest whole number as a float, of two the one away from zero.

    PopLibs: `Round`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> round_half_away(x)
    <Expr round_half_away(x) float32[4]>
    """
    return apply("round_half_away", x)


def sigmoid(x: Operand) -> Expr:
    """Return `1 / (1 + exp(-x))`.

    Below 0 it is computed as `exp(x) / (1 + exp(x))`, which loses nothing where `exp(-x)` is too
    large. Error: at most 2.5 units in the last place. PopLibs: `Sigmoid`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> sigmoid(x)
    <Expr sigmoid(x) float32[4]>
    """
    return apply("sigmoid", x)


def relu(x: Operand) -> Expr:
    """Return x where it is above 0, else 0; NaN stays NaN.

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
    """Return `x * sigmoid(x)`, which goes to -0.0 far below.

    Computed as `sigmoid`. Error: at most 3.5 units in the last place, and 60 below -87, where
    `exp(x)` is not a normal number.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> swish(x)
    <Expr swish(x) float32[4]>
    """
    return apply("swish", x)


def gelu(x: Operand) -> Expr:
    """Return the Gaussian error linear unit, by its approximation with tanh.

    `0.5 * x * (1 + tanh(u))` for `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)`, computed as the same
    `x * sigmoid(2 * u)`. Error: at most 4 units in the last place above -1; below, it grows to 250
    at -10, where the result is 1e-38.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> gelu(x)
    <Expr gelu(x) float32[4]>
    """
    return apply("gelu", x)


def gelu_erf(x: Operand) -> Expr:
    """Return the Gaussian error linear unit: `x (1 + erf(x / sqrt 2)) / 2`.

    Computed as `0.5 * x * erfc(-x / sqrt 2)`. Error: at most 4 units in the last place above -1;
    below, it grows to 220 at -13, where the result is 1e-37. PopLibs: `GeluErf`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> gelu_erf(x)
    <Expr gelu_erf(x) float32[4]>
    """
    return apply("gelu_erf", x)
