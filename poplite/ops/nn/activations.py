"""Gradients of activations, and an activation that is made of others.

Those of sigmoid, relu and tanh take what the activation returned, the others what it was given, as
in PopLibs. Each is computed in FLOAT and rounded once.

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/NonLinearityDef.hpp`.
"""

from __future__ import annotations

import math

from poplite.errors import TensorCreationError
from poplite.expr.build import cast
from poplite.expr.formula import formula
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr, labelled
from poplite.ops.elementwise import absolute, clamp, where
from poplite.ops.mathematics import erfc, exp, sigmoid
from poplite.ops.reductions.expressions import float_operand
from poplite.types import FLOAT

_FAR = 16.0
"""Where the gradients of gelu are 0 and 1 in FLOAT: 1 - erf(16 / sqrt 2) is 1e-57."""

_FARTHER = 112.0
"""Where that of swish is: exp(-112) is 2e-49, and the least FLOAT 1e-45."""

_GELU = math.sqrt(2 / math.pi), 0.044715
"""u = a * (x + b * x**3) of gelu."""


def hard_sigmoid(x: Operand) -> Expr:
    """Return `0.2 * x + 0.5`, but at least 0 and at most 1.

    PopLibs: `HARD_SIGMOID`.

    Args:
        x: FLOAT or HALF.

    Raises:
        ElementTypeError: for elements that are no floats.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> hard_sigmoid(x).shape
    (4,)
    """
    operand = float_operand(x, "ops.nn.hard_sigmoid")
    found = clamp(cast(operand, FLOAT) * 0.2 + 0.5, 0.0, 1.0)
    return labelled(cast(found, operand.element_type), "hard_sigmoid")


def hard_sigmoid_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `hard_sigmoid` by its operand: `0.2 * g` for x from -2.5 to 2.5.

    Elsewhere 0, and so it is for NaN, as in PopLibs (`lib/popnn/HardSigmoid.cpp`).

    Args:
        x: what `hard_sigmoid` was given.
        gradient: g, of its shape and element type.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: for a gradient of another shape or type.

    >>> import poplite as pl
    >>> x, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xg")
    >>> hard_sigmoid_gradient(x, g).shape
    (4,)
    """
    wide, g, element = _both("hard_sigmoid_gradient", x, gradient)
    found = where(absolute(wide) <= 2.5, 0.2 * g, 0.0)
    return labelled(cast(found, element), "hard_sigmoid_gradient")


def sigmoid_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.sigmoid` by its operand: `g * y * (1 - y)`.

    Args:
        result: y, what `ops.sigmoid` returned.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> sigmoid_gradient(y, g)
    <Expr g * y * (1.0 - y) float32[4]>
    """
    y, g, element = _both("sigmoid_gradient", result, gradient)
    return labelled(cast(g * y * (1.0 - y), element), "sigmoid_gradient")


def tanh_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.tanh` by its operand: `g * (1 - y * y)`.

    Args:
        result: y, what `ops.tanh` returned.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> tanh_gradient(y, g)
    <Expr g * (1.0 - y * y) float32[4]>
    """
    y, g, element = _both("tanh_gradient", result, gradient)
    return labelled(cast(g * (1.0 - y * y), element), "tanh_gradient")


def relu_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.relu` by its operand: g where y is above 0, else 0.

    It is 0 for a y that is NaN too, as in PopLibs (`relu_derivative` of
    `lib/popnn/codelets/NonLinearity.hpp`).

    Args:
        result: y, what `ops.relu` returned, or what it was given.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> relu_gradient(y, g)
    <Expr select(g, 0.0, y > 0.0) float32[4]>
    """
    y, g, element = _both("relu_gradient", result, gradient)
    return labelled(cast(where(y > 0.0, g, 0.0), element), "relu_gradient")


def swish_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.swish` by its operand: `g * s * (1 + x * (1 - s))`.

    Args:
        x: what `ops.swish` was given; s is its sigmoid.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> x, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xg")
    >>> swish_gradient(x, g).shape
    (4,)
    """
    wide, g, element = _both("swish_gradient", x, gradient)
    near = clamp(wide, -_FARTHER, _FARTHER)  # an infinite x times 0 would be NaN
    s = sigmoid(near)
    return labelled(cast(g * (s * (1.0 + near * (1.0 - s))), element), "swish_gradient")


def gelu_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.gelu`, the approximation with tanh, by its operand.

    `g * s * (1 + 2 * x * (1 - s) * u')`, for `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)` and s the
    sigmoid of `2 * u`.

    Args:
        x: what `ops.gelu` was given.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> x, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xg")
    >>> gelu_gradient(x, g).shape
    (4,)
    """
    wide, g, element = _both("gelu_gradient", x, gradient)
    near = clamp(wide, -_FAR, _FAR)
    a, b = _GELU
    cubes = near * near * b
    s = sigmoid(2 * a * near * (1.0 + cubes))
    found = g * (s * (1.0 + 2 * a * near * (1.0 - s) * (1.0 + 3.0 * cubes)))
    return labelled(cast(found, element), "gelu_gradient")


def gelu_erf_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.gelu_erf` by its operand.

    `g * ((1 + erf(x / sqrt 2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * pi))`.

    Args:
        x: what `ops.gelu_erf` was given.
        gradient: g, of its shape and element type.

    Raises:
        the errors of `hard_sigmoid_gradient`.

    >>> import poplite as pl
    >>> x, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xg")
    >>> gelu_erf_gradient(x, g).shape
    (4,)
    """
    wide, g, element = _both("gelu_erf_gradient", x, gradient)
    near = clamp(wide, -_FAR, _FAR)
    share = 0.5 * erfc(near * -math.sqrt(0.5))
    density = exp(-0.5 * (near * near)) * (1 / math.sqrt(2 * math.pi))
    return labelled(cast(g * (share + near * density), element), "gelu_erf_gradient")


def _both(what: str, x: Operand, gradient: Operand) -> tuple[Expr, Expr, ElementClass]:
    """Return an operand and the gradient of the result in FLOAT, and the type of the operand."""
    what = f"ops.nn.{what}"
    operand = float_operand(x, what)
    result = by_result(what, gradient, operand)
    return cast(operand, FLOAT), cast(result, FLOAT), operand.element_type


# -- gradients by results --------------------------------------------------------------------------


def by_result(what: str, gradient: Operand, like: Expr) -> Expr:
    """Return a gradient by what has the shape and the type of `like`, or raise."""
    made = float_operand(gradient, what)
    if made.shape != like.shape or made.element_type is not like.element_type:
        pair = [f"{each.element_type!r} {list(each.shape)}" for each in (made, like)]
        raise TensorCreationError(
            f"{what}: a gradient of {pair[0]} for {pair[1]}",
            found=f"{formula(made)} and {formula(like)}",
            fix=f"a gradient of {pair[1]}",
        )
    return made
