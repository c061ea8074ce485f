"""Softmax, its logarithm, and their gradients.

Source: PopLibs, `popnn/NonLinearity.hpp` (SOFTMAX_STABLE) and `popnn/LogSoftmax.hpp`.
"""

from __future__ import annotations

from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, labelled
from poplite.ops.mathematics import exp, log
from poplite.ops.nn.by_result import by_result
from poplite.ops.operands import dimension
from poplite.ops.reductions import float_operand, max, sum
from poplite.types import FLOAT


def softmax(x: Operand, dim: int = -1) -> Expr:
    """Return `exp(x) / sum(exp(x))` along a dimension.

    The greatest element is subtracted first, so that no power is larger than 1.

    Args:
        x: FLOAT or HALF.
        dim: along which the results add up to 1.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorIndexError: for a dimension that does not exist.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 10), "x")
    >>> softmax(x)
    <Expr exp(x - max(x, 1)) / sum(exp(x - max(x, 1)), 1) float32[4, 10]>
    """
    operand = float_operand(x, "ops.nn.softmax")
    along = dimension("ops.nn.softmax", operand, dim)
    powers = exp(_below_zero(operand, along))
    shares = powers / sum(powers, along, keepdims=True)
    return labelled(cast(shares, operand.element_type), "softmax")


def softmax_gradient(result: Operand, gradient: Operand, dim: int = -1) -> Expr:
    """Return the gradient of `softmax` by its operand: `y * (g - sum(y * g))`.

    Args:
        result: y, what `softmax` returned.
        gradient: g, of its shape and element type.
        dim: of the softmax.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: for a gradient of another shape or type.
        TensorIndexError: for a dimension that does not exist.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4, 10), name) for name in "yg")
    >>> softmax_gradient(y, g)
    <Expr y * (g - sum(y * g, 1)) float32[4, 10]>
    """
    what = "ops.nn.softmax_gradient"
    operand = float_operand(result, what)
    y, g = (cast(each, FLOAT) for each in (operand, by_result(what, gradient, operand)))
    along = dimension(what, operand, dim)
    found = y * (g - sum(y * g, along, keepdims=True))
    return labelled(cast(found, operand.element_type), "softmax_gradient")


def log_softmax(x: Operand, dim: int = -1) -> Expr:
    """Return the logarithm of `softmax`: `x - max - log(sum(exp(x - max)))`.

    Args:
        x: FLOAT or HALF.
        dim: as of `softmax`.

    Raises:
        the errors of `softmax`.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 10), "x")
    >>> log_softmax(x)
    <Expr x - max(x, 1) - log(sum(exp(x - max(x, 1)), 1)) float32[4, 10]>
    """
    operand = float_operand(x, "ops.nn.log_softmax")
    along = dimension("ops.nn.log_softmax", operand, dim)
    less = _below_zero(operand, along)
    found = less - log(sum(exp(less), along, keepdims=True))
    return labelled(cast(found, operand.element_type), "log_softmax")


def log_softmax_gradient(result: Operand, gradient: Operand, dim: int = -1) -> Expr:
    """Return the gradient of `log_softmax` by its operand: `g - exp(y) * sum(g)`.

    Args:
        result: y, what `log_softmax` returned.
        gradient: g, of its shape and element type.
        dim: of the softmax.

    Raises:
        the errors of `softmax_gradient`.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4, 10), name) for name in "yg")
    >>> log_softmax_gradient(y, g)
    <Expr g - exp(y) * sum(g, 1) float32[4, 10]>
    """
    what = "ops.nn.log_softmax_gradient"
    operand = float_operand(result, what)
    y, g = (cast(each, FLOAT) for each in (operand, by_result(what, gradient, operand)))
    total = sum(g, dimension(what, operand, dim), keepdims=True)
    return labelled(cast(g - exp(y) * total, operand.element_type), "log_softmax_gradient")


def _below_zero(x: Expr, dim: int) -> Expr:
    """Return the distance of each element to the greatest one, in FLOAT."""
    wide = cast(x, FLOAT)
    return wide - max(wide, dim, keepdims=True)
