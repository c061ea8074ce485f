"""Training of networks: activations, softmax, losses, with their gradients; updates by gradients.

Activations and losses are expressions, each computed in FLOAT and rounded once; `sgd` and `adam`
record steps.

Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2014), algorithm 1; I.
Loshchilov, F. Hutter, "Decoupled weight decay regularization" (2017), for `decay`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    TensorCreationError,
    checked_items,
)
from poplite.expr.build import as_expr, cast, iota
from poplite.expr.operand import Operand, as_read
from poplite.expr.operations import kind_of
from poplite.expr.tree import ElementClass, Expr, Weak, formula, labelled
from poplite.graph.graph import home_graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.elements import (
    absolute,
    add,
    clamp,
    divide,
    equal,
    erfc,
    exp,
    log,
    minimum,
    sigmoid,
    softplus,
    sqrt,
    square,
    where,
)
from poplite.ops.fuse.storing import Root
from poplite.ops.operands import check_name, dimension, invalid_value
from poplite.ops.record import lower, map as stored
from poplite.ops.reductions.expressions import by_result, float_operand, max, sum
from poplite.program import Sequence
from poplite.public import arguments_of
from poplite.types import FLOAT

_FAR = 16.0
"""Beyond this, the gradients of gelu are 0 or 1 in FLOAT: 1 - erf(16 / sqrt 2) is 1e-57."""

_FARTHER = 112.0
"""Beyond this the gradient of swish is 0 or 1: exp(-112) is 2e-49, and the smallest FLOAT 1e-45."""

_GELU = math.sqrt(2 / math.pi), 0.044715
"""a and b in u = a * (x + b * x**3) of gelu."""


def hard_sigmoid(x: Operand) -> Expr:
    """Return `0.2 * x + 0.5`, limited to the range from 0 to 1.

    PopLibs: `HARD_SIGMOID`.

    Args:
        x: FLOAT or HALF.

    Raises:
        ElementTypeError: for elements that are not floats.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> hard_sigmoid(x).shape
    (4,)
    """
    operand = float_operand(x, "ops.nn.hard_sigmoid")
    found = clamp(cast(operand, FLOAT) * 0.2 + 0.5, 0.0, 1.0)
    return labelled(cast(found, operand.element_type), "hard_sigmoid")


def hard_sigmoid_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `hard_sigmoid` with respect to x: `0.2 * g` for x from -2.5 to 2.5.

    It is 0 for any other x, and for NaN, as in PopLibs (`lib/popnn/HardSigmoid.cpp`).

    Args:
        x: the operand of `hard_sigmoid`.
        gradient: g, of its shape and element type.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for a gradient of a different shape or type.

    >>> import poplite as pl
    >>> x, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xg")
    >>> hard_sigmoid_gradient(x, g).shape
    (4,)
    """
    wide, g, element = _both("hard_sigmoid_gradient", x, gradient)
    found = where(absolute(wide) <= 2.5, 0.2 * g, 0.0)
    return labelled(cast(found, element), "hard_sigmoid_gradient")


def sigmoid_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.sigmoid` with respect to its operand: `g * y * (1 - y)`.

    Args:
        result: y, the result of `ops.sigmoid`.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> sigmoid_gradient(y, g)
    <Expr g * y * (1.0 - y) float32[4]>
    """
    y, g, element = _both("sigmoid_gradient", result, gradient)
    return labelled(cast(g * y * (1.0 - y), element), "sigmoid_gradient")


def tanh_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.tanh` with respect to its operand: `g * (1 - y * y)`.

    Args:
        result: y, the result of `ops.tanh`.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> tanh_gradient(y, g)
    <Expr g * (1.0 - y * y) float32[4]>
    """
    y, g, element = _both("tanh_gradient", result, gradient)
    return labelled(cast(g * (1.0 - y * y), element), "tanh_gradient")


def relu_gradient(result: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.relu` with respect to its operand: g where y is above 0, else 0.

    It is also 0 where y is NaN, as in PopLibs (`relu_derivative` of
    `lib/popnn/codelets/NonLinearity.hpp`).

    Args:
        result: y, the result of `ops.relu`, or its operand.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

    >>> import poplite as pl
    >>> y, g = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "yg")
    >>> relu_gradient(y, g)
    <Expr select(g, 0.0, y > 0.0) float32[4]>
    """
    y, g, element = _both("relu_gradient", result, gradient)
    return labelled(cast(where(y > 0.0, g, 0.0), element), "relu_gradient")


def swish_gradient(x: Operand, gradient: Operand) -> Expr:
    """Return the gradient of `ops.swish` with respect to x: `g * s * (1 + x * (1 - s))`.

    Args:
        x: the operand of `ops.swish`; s is its sigmoid.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

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
    """Return the gradient of `ops.gelu`, the approximation with tanh, with respect to x.

    `g * s * (1 + 2 * x * (1 - s) * u')`, for `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)` and s the
    sigmoid of `2 * u`.

    Args:
        x: the operand of `ops.gelu`.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

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
    """Return the gradient of `ops.gelu_erf` with respect to x.

    `g * ((1 + erf(x / sqrt 2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * pi))`.

    Args:
        x: the operand of `ops.gelu_erf`.
        gradient: g, of its shape and element type.

    Raises:
        whatever `hard_sigmoid_gradient` raises.

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


# -- softmax ---------------------------------------------------------------------------------------
# Source: PopLibs, `popnn/NonLinearity.hpp` (SOFTMAX_STABLE) and `popnn/LogSoftmax.hpp`.


def softmax(x: Operand, dim: int = -1) -> Expr:
    """Return `exp(x) / sum(exp(x))` along a dimension.

    The largest element is subtracted first, so that no exponential is larger than 1.

    Args:
        x: FLOAT or HALF.
        dim: the dimension along which the results sum to 1.

    Raises:
        ElementTypeError: for elements that are not floats.
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
    """Return the gradient of `softmax` with respect to its operand: `y * (g - sum(y * g))`.

    Args:
        result: y, the result of `softmax`.
        gradient: g, of its shape and element type.
        dim: as in `softmax`.

    Raises:
        ElementTypeError: for elements that are not floats.
        TensorCreationError: for a gradient of a different shape or type.
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
        dim: as in `softmax`.

    Raises:
        whatever `softmax` raises.

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
    """Return the gradient of `log_softmax` with respect to its operand: `g - exp(y) * sum(g)`.

    Args:
        result: y, the result of `log_softmax`.
        gradient: g, of its shape and element type.
        dim: as in `softmax`.

    Raises:
        whatever `softmax_gradient` raises.

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
    """Return each element minus the largest element along a dimension, in FLOAT."""
    wide = cast(x, FLOAT)
    return wide - max(wide, dim, keepdims=True)


# -- losses ----------------------------------------------------------------------------------------


def cross_entropy(logits: Operand, labels: Tensor, *, ignored: int | None = None) -> Expr:
    """Return the negated logarithm of the softmax at each label, one number per row.

    Args:
        logits: FLOAT or HALF; classes along the last dimension.
        labels: the class of each row, of an integer type and the shape of the other dimensions. A
            class that does not exist makes the loss infinite.
        ignored: a label of rows whose loss is 0.

    Returns:
        FLOAT, of the shape of the labels.

    Raises:
        ElementTypeError: for logits that are not floats, or labels that are not integers.
        TensorCreationError: for labels of the wrong shape.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> logits = graph.add_variable(pl.FLOAT, (2, 3), "logits", mapping="linear", initial_value=0)
    >>> labels = graph.add_variable(pl.INT, (2,), "labels", mapping=0, initial_value=[2, -1])
    >>> loss = pl.ops.map(cross_entropy(logits, labels, ignored=-1), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(loss)
    array([1.0986123, 0.       ], dtype=float32)
    """
    operand, _, is_label = _labelled(logits, labels, "ops.nn.cross_entropy")
    likely = log_softmax(cast(operand, FLOAT))
    loss = -max(where(is_label, likely, -float("inf")), -1)
    kept = loss if ignored is None else where(equal(labels, ignored), 0, loss)
    return labelled(kept, "cross_entropy")


def cross_entropy_gradient(logits: Operand, labels: Tensor, *, ignored: int | None = None) -> Expr:
    """Return the gradient of the sum of `cross_entropy` with respect to the logits.

    It is the softmax minus 1 at the label.

    Args:
        logits: as in `cross_entropy`.
        labels: as in `cross_entropy`. A class that does not exist makes its row NaN.
        ignored: a label of rows whose gradient is 0.

    Returns:
        The gradient, of the shape and type of the logits.

    Raises:
        whatever `cross_entropy` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> logits = graph.add_variable(pl.FLOAT, (2, 4), "logits", mapping="linear", initial_value=0)
    >>> labels = graph.add_variable(pl.INT, (2,), "labels", mapping=0, initial_value=[2, 0])
    >>> gradient = pl.ops.map(cross_entropy_gradient(logits, labels), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(gradient)
    array([[ 0.25,  0.25, -0.75,  0.25],
           [-0.75,  0.25,  0.25,  0.25]], dtype=float32)
    """
    operand, column, is_label = _labelled(logits, labels, "ops.nn.cross_entropy_gradient")
    classes = operand.shape[-1]
    gradient = softmax(cast(operand, FLOAT)) - cast(is_label, FLOAT)
    gradient = where((column >= 0) & (column < classes), gradient, float("nan"))
    if ignored is not None:
        gradient = where(equal(column, ignored), 0, gradient)
    return labelled(cast(gradient, operand.element_type), "cross_entropy_gradient")


def binary_cross_entropy(logits: Operand, targets: Operand) -> Expr:
    """Return `log(1 + exp(x)) - x * t` for logits x and probabilities t, in FLOAT.

    It is the cross entropy of t and sigmoid(x), in a form that does not overflow for any x.

    Args:
        logits: FLOAT or HALF.
        targets: probabilities, of the type of the logits and a shape that broadcasts with theirs.

    Raises:
        ElementTypeError: for elements that are not floats, or of different types.
        TensorCreationError: for shapes that do not match.

    >>> import poplite as pl
    >>> x, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xt")
    >>> binary_cross_entropy(x, t)
    <Expr softplus(x) - x * t float32[4]>
    """
    x = cast(float_operand(logits, "ops.nn.binary_cross_entropy"), FLOAT)
    t = cast(float_operand(targets, "ops.nn.binary_cross_entropy"), FLOAT)
    return labelled(softplus(x) - x * t, "binary_cross_entropy")


@arguments_of(binary_cross_entropy)
def binary_cross_entropy_gradient(logits: Operand, targets: Operand) -> Expr:
    """Return the gradient of `binary_cross_entropy` with respect to the logits: `sigmoid(x) - t`.

    Raises:
        whatever `binary_cross_entropy` raises.

    >>> import poplite as pl
    >>> x, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xt")
    >>> binary_cross_entropy_gradient(x, t)
    <Expr sigmoid(x) - t float32[4]>
    """
    called = "ops.nn.binary_cross_entropy_gradient"
    operand, target = float_operand(logits, called), float_operand(targets, called)
    gradient = sigmoid(cast(operand, FLOAT)) - cast(target, FLOAT)
    return labelled(cast(gradient, operand.element_type), "binary_cross_entropy_gradient")


def squared_error(predictions: Operand, targets: Operand) -> Expr:
    """Return half of the squared difference of predictions and targets, in FLOAT.

    PopLibs: `SUM_SQUARED_LOSS`, which returns the sum along the last dimension.

    Args:
        predictions: HALF or FLOAT of any shape.
        targets: HALF or FLOAT; shapes are broadcast.

    Raises:
        ElementTypeError: for a type that is not floating-point.
        TensorCreationError: for shapes that cannot be broadcast.

    >>> import poplite as pl
    >>> p, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "pt")
    >>> squared_error(p, t)
    <Expr (p - t) ** 2 * 0.5 float32[4]>
    """
    p = cast(float_operand(predictions, "ops.nn.squared_error"), FLOAT)
    t = cast(float_operand(targets, "ops.nn.squared_error"), FLOAT)
    return labelled((p - t) ** 2 * 0.5, "squared_error")


def squared_error_gradient(predictions: Operand, targets: Operand) -> Expr:
    """Return the gradient of `squared_error` with respect to the predictions: `p - t`.

    Args:
        predictions: HALF or FLOAT of any shape.
        targets: of the same type; shapes are broadcast.

    Raises:
        ElementTypeError: for different types, or one that is not floating-point.
        TensorCreationError: for shapes that cannot be broadcast.

    >>> import poplite as pl
    >>> p, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "pt")
    >>> squared_error_gradient(p, t)
    <Expr p - t float32[4]>
    """
    distance = float_operand(predictions, "ops.nn.squared_error_gradient") - targets
    return labelled(distance, "squared_error_gradient")


def _labelled(logits: Operand, labels: Tensor, called: str) -> tuple[Expr, Tensor, Expr]:
    """Return the logits, the labels as a column, and a mask of the logits at the labels."""
    operand, labels = float_operand(logits, called), as_read(labels)
    if not isinstance(labels, Tensor):
        raise no_tensor(f"{called}, labels", labels, "pass a tensor, such as ops.map(labels)")
    if kind_of(labels.element_type) not in ("int", "uint"):
        raise ElementTypeError(
            f"{called}: labels '{labels.name}' are {labels.element_type!r}",
            fix="pass pl.INT or pl.UNSIGNED_INT: the number of a class",
        )
    if operand.shape[:-1] != labels.shape or not operand.shape:
        raise TensorCreationError(
            f"{called}: labels have shape {labels.shape}, but logits have {operand.shape}",
            found=type_and_shape(labels),
            fix=f"pass labels of shape {operand.shape[:-1]}: one for each row",
        )
    column = labels.reshape((*labels.shape, 1))
    return operand, column, equal(iota((operand.shape[-1],), labels.element_type), column)


# -- updates of parameters -------------------------------------------------------------------------


def sgd(
    parameter: Tensor,
    gradient: Operand,
    rate: Operand | float,
    *,
    velocity: Tensor | None = None,
    momentum: Operand | float = 0.9,
    decay: Operand | float = 0.0,
    name: str = "sgd",
    program: Sequence | None = None,
) -> Tensor:
    """Record a step of gradient descent: `w -= rate * (g + decay * w)`.

    With a velocity, it is `v = momentum * v + g + decay * w`, then `w -= rate * v`.

    Args:
        parameter: w, FLOAT or HALF.
        gradient: g, a tensor of the shape of the parameter.
        rate: a number, or a scalar of FLOAT that the program or the host may change.
        velocity: v, FLOAT of the shape of the parameter, whose initial value should be 0; by
            default, there is no momentum.
        momentum: the factor by which the velocity is multiplied in each step.
        decay: the multiple of the parameter that is added to its gradient.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The parameter.

    Raises:
        ElementTypeError: for a parameter that is not a tensor of floats.
        TensorCreationError: for a gradient or a velocity of a different shape.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> w = graph.add_variable(pl.FLOAT, (2,), "w", mapping="linear", initial_value=[1, -3])
    >>> _ = sgd(w, 2 * w, rate=0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(w)
    array([ 0.5, -1.5], dtype=float32)
    """
    check_name("ops.nn.sgd", name)
    w, g = _operands(parameter, gradient, "ops.nn.sgd")
    if not _is_zero(decay):
        g = g + decay * w
    roots = []
    if velocity is not None:
        _check_state(parameter, velocity, "velocity", "ops.nn.sgd")
        roots.append(Root(momentum * velocity + g, velocity, name=f"{name}/velocity"))
        g = as_expr(velocity, "ops.nn.sgd")
    changed = cast(w - rate * g, parameter.element_type)
    lower(parameter.graph, [*roots, Root(changed, parameter, name=name)], program)
    return parameter


class Clipped(NamedTuple):
    """The results of `clip_by_global_norm`.

    Attributes:
        gradients: the gradients, scaled; in the type of each.
        norm: their norm before, FLOAT[].

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> g = graph.add_variable(pl.FLOAT, (8,), "g", mapping=0)
    >>> pl.ops.nn.clip_by_global_norm([g], 1, program=pl.Sequence()).norm.shape
    ()
    """

    gradients: tuple[Expr, ...]
    norm: Tensor


def clip_by_global_norm(
    gradients: Iterable[Operand],
    limit: Operand | float,
    *,
    name: str = "clip_by_global_norm",
    program: Sequence | None = None,
) -> Clipped:
    """Record the norm of all gradients together, by which they are scaled down to a limit.

    `g * min(1, limit / norm)` for each gradient, with the root of the sum of all squares as norm,
    in FLOAT. A gradient with an infinity or NaN makes the results NaN: test with
    `ops.has_nan_or_inf(norm)`, which is true also if squares overflow.

    Args:
        gradients: tensors or expressions of FLOAT or HALF, one or more.
        limit: the largest norm: a positive number, or a scalar of FLOAT.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Expressions of the scaled gradients, and the norm, which is stored.

    Raises:
        ElementTypeError: for gradients that are not floats.
        TensorCreationError: without gradients, or for a limit that is not a scalar.
        InvalidOption: for a number that is not positive.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> v = graph.add_variable(pl.FLOAT, (2,), "v", mapping=0, initial_value=[3, 0])
    >>> w = graph.add_variable(pl.FLOAT, (1,), "w", mapping=1, initial_value=4)
    >>> clipped, norm = clip_by_global_norm([v, w], 1, program=program)
    >>> first = pl.ops.map(clipped[0], program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(first)[0], float(engine.read(norm))
    (np.float32(0.6), 5.0)
    """
    what = "ops.nn.clip_by_global_norm"
    listed = checked_items(gradients, f"{what}: gradients", f"{what}([g, h], 1.0)")
    given = [float_operand(each, what) for each in listed]
    if not given:
        raise TensorCreationError(f"{what}: there are no gradients", fix=f"{what}([g, h], 1.0)")
    most = as_expr(limit, f"{what}, limit")
    if isinstance(most, Weak):
        if isinstance(most.value, bool) or not most.value > 0:
            raise InvalidOption(f"{what}: limit is {most.value}", fix="pass a positive number")
    elif most.is_open or most.shape != () or most.element_type is not FLOAT:
        raise TensorCreationError(
            f"{what}: limit is {formula(most)}, not a scalar of FLOAT", fix="pass limit=1.0"
        )
    squares = [sum(square(cast(each, FLOAT))) for each in given]
    norm = stored(sqrt(reduce(add, squares)), name=name, program=program)
    factor = minimum(divide(limit, norm), 1.0)
    scaled = (cast(cast(each, FLOAT) * factor, each.element_type) for each in given)
    return Clipped(tuple(scaled), norm)


class AdamState(NamedTuple):
    """The state of Adam for a parameter, with the initial values of `adam_state`.

    Attributes:
        first: running mean of gradients, FLOAT of the shape of the parameter.
        second: running mean of the squares of gradients, FLOAT of the shape of the parameter.
        shares: FLOAT[2], the weight of the gradients in each mean, as opposed to its initial 0.

    >>> import poplite as pl
    >>> w = pl.Graph(pl.Target(tiles=2)).add_variable(pl.HALF, (6,), "w", mapping="linear")
    >>> [(each.element_type, each.shape) for each in pl.ops.nn.adam_state(w)]
    [(FLOAT, (6,)), (FLOAT, (6,)), (FLOAT, (2,))]
    """

    first: Tensor
    second: Tensor
    shares: Tensor


def adam_state(parameter: Tensor, name: str = "") -> AdamState:
    """Create the state of Adam for a parameter: variables with the mapping of the parameter.

    Args:
        parameter: a tensor of floats.
        name: name of the variables; by default, that of the parameter.

    Raises:
        ElementTypeError: for a parameter that is not a tensor of floats.
        InvalidTileMapping: if an element of the parameter is not mapped to a tile.

    >>> import poplite as pl
    >>> w = pl.Graph(pl.Target(tiles=2)).add_variable(pl.HALF, (6,), "w", mapping="linear")
    >>> adam_state(w).second
    <Tensor 'w/second' float32[6] on 2 tiles (0-1), 24 B>
    """
    _operands(parameter, parameter, "ops.nn.adam_state")
    check_name("ops.nn.adam_state", name)
    name = name or parameter.name
    mapping = parameter.graph.tile_mapping(parameter)
    tile = int(mapping.tiles[0]) if len(mapping.tiles) else 0
    graph, shape = home_graph(parameter.graph, [parameter]), parameter.shape
    first, second, shares = (
        graph.add_variable(FLOAT, sizes, f"{name}/{each}", initial_value=0)
        for each, sizes in (("first", shape), ("second", shape), ("shares", (2,)))
    )
    for made, place in ((first, mapping), (second, mapping), (shares, tile)):
        parameter.graph.set_tile_mapping(made, place)
    return AdamState(first, second, shares)


def adam(
    parameter: Tensor,
    gradient: Operand,
    state: AdamState,
    rate: Operand | float = 1e-3,
    *,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    decay: Operand | float = 0.0,
    name: str = "adam",
    program: Sequence | None = None,
) -> Tensor:
    """Record a step of Adam: a gradient step whose size depends on how the gradients vary.

    With the running means m and v of gradients and of their squares, corrected for their initial
    zeros, `w -= rate * (m / (sqrt(v) + epsilon) + decay * w)`.

    Args:
        parameter: w, FLOAT or HALF.
        gradient: a tensor of the shape of the parameter.
        state: the result of `adam_state` for the parameter.
        rate: a number, or a scalar of FLOAT that the program or the host may change.
        betas: the factors by which the two running means are multiplied in each step.
        epsilon: a number added to the root.
        decay: the multiple of the parameter that is subtracted from it, times the rate.
        name: name of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The parameter.

    Raises:
        InvalidOption: for a state that is not from `adam_state`, or betas that are not a pair.
        whatever `sgd` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> w = graph.add_variable(pl.FLOAT, (2,), "w", mapping="linear", initial_value=[1, -3])
    >>> _ = adam(w, 2 * w, adam_state(w), rate=0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(w)
    array([ 0.75, -2.75], dtype=float32)
    """
    check_name("ops.nn.adam", name)
    w, g = _operands(parameter, gradient, "ops.nn.adam")
    if not isinstance(state, AdamState):
        raise invalid_value("ops.nn.adam", "state", state, f"ops.nn.adam_state({parameter.name})")
    first, second, shares = state
    for tensor, role in ((first, "state.first"), (second, "state.second")):
        _check_state(parameter, tensor, role, "ops.nn.adam")
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise invalid_value(
            "ops.nn.adam", "betas", betas, "two numbers, such as betas=(0.9, 0.999)"
        )
    one, other = betas
    change = first / shares[0] / (sqrt(second / shares[1]) + epsilon)
    if not _is_zero(decay):
        change = change + decay * w
    roots = [
        Root(one * shares[0] + (1 - one), shares[0], name=f"{name}/share"),
        Root(other * shares[1] + (1 - other), shares[1], name=f"{name}/share"),
        Root(one * first + (1 - one) * g, first, name=f"{name}/first"),
        Root(other * second + (1 - other) * (g * g), second, name=f"{name}/second"),
        Root(cast(w - rate * change, parameter.element_type), parameter, name=name),
    ]
    lower(parameter.graph, roots, program)
    return parameter


def _operands(parameter: Tensor, gradient: Operand, called: str) -> tuple[Operand, Operand]:
    """Return a parameter and its gradient in FLOAT."""
    if not isinstance(parameter, Tensor):
        raise no_tensor(f"{called}, parameter", parameter)
    if not parameter.element_type.is_floating_point:
        raise ElementTypeError(
            f"{called}: parameter '{parameter.name}' is {parameter.element_type!r}",
            fix="pass a parameter of pl.FLOAT or pl.HALF",
        )
    operand = as_expr(gradient, f"{called}, gradient")
    if operand.shape != parameter.shape:
        raise TensorCreationError(
            f"{called}: the gradient has shape {operand.shape}, but '{parameter.name}' has "
            f"{parameter.shape}",
            found=repr(operand),
            fix="use ops.sum along the dimensions that the parameter was broadcast over",
        )
    return cast(parameter, FLOAT), cast(operand, FLOAT)


def _check_state(parameter: Tensor, state: Tensor, role: str, called: str) -> None:
    if not isinstance(state, Tensor):
        raise no_tensor(f"{called}, {role}", state)
    if state.element_type is not FLOAT or state.shape != parameter.shape:
        raise TensorCreationError(
            f"{called}: {role} '{state.name}' is {type_and_shape(state)}",
            fix=f"pass FLOAT of shape {parameter.shape}, mapped like '{parameter.name}'",
        )


def _is_zero(value: Operand | float) -> bool:
    return isinstance(value, int | float) and value == 0
