"""Softmax, the losses between predictions and labels, and their gradients.

Source: PopLibs, `popnn/Loss.hpp`; cross entropy there takes probabilities, and here logits.
"""

from __future__ import annotations

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.build import cast, iota
from poplite.expr.operand import Operand, as_read
from poplite.expr.operations import kind_of
from poplite.expr.tree import Expr, labelled
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.elementwise import equal, where
from poplite.ops.mathematics import exp, log, sigmoid, softplus
from poplite.ops.nn.activations import by_result
from poplite.ops.operands import dimension
from poplite.ops.reductions.expressions import float_operand, max, sum
from poplite.types import FLOAT

# -- softmax ---------------------------------------------------------------------------------------
# Softmax, its logarithm, and their gradients.
#
# Source: PopLibs, `popnn/NonLinearity.hpp` (SOFTMAX_STABLE) and `popnn/LogSoftmax.hpp`.


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


# -- losses ----------------------------------------------------------------------------------------


def cross_entropy(logits: Operand, labels: Tensor, *, ignored: int | None = None) -> Expr:
    """Return the negative logarithm of the softmax of each label: one number for each row.

    Args:
        logits: FLOAT or HALF; classes along the last dimension.
        labels: the class of each row, of an integer type and the shape of the other dimensions. A
            class that is not there makes the loss infinite.
        ignored: a label of rows whose loss is 0.

    Returns:
        FLOAT, of the shape of the labels.

    Raises:
        ElementTypeError: for logits that are no floats, or labels that are no integers.
        TensorCreationError: for labels of another shape.

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
    """Return the gradient of the sum of `cross_entropy` by the logits: softmax less 1 at the label.

    Args:
        logits: as in `cross_entropy`.
        labels: as in `cross_entropy`. A class that is not there makes its row NaN.
        ignored: a label of rows whose gradient is 0.

    Returns:
        Of the shape and type of the logits.

    Raises:
        the errors of `cross_entropy`.

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

    It is the cross entropy of t and sigmoid(x), in a form that no x makes overflow.

    Args:
        logits: FLOAT or HALF.
        targets: from 0 to 1, of a shape that is broadcast with that of the logits, and their type.

    Raises:
        ElementTypeError: for elements that are no floats, or of two types.
        TensorCreationError: for shapes that do not fit.

    >>> import poplite as pl
    >>> x, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "xt")
    >>> binary_cross_entropy(x, t)
    <Expr softplus(x) - x * t float32[4]>
    """
    x = cast(float_operand(logits, "ops.nn.binary_cross_entropy"), FLOAT)
    t = cast(float_operand(targets, "ops.nn.binary_cross_entropy"), FLOAT)
    return labelled(softplus(x) - x * t, "binary_cross_entropy")


def binary_cross_entropy_gradient(logits: Operand, targets: Operand) -> Expr:
    """Return the gradient of `binary_cross_entropy` by the logits: `sigmoid(x) - t`.

    Raises:
        the errors of `binary_cross_entropy`.

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
    """Return half of the squared distance of predictions to targets, in FLOAT.

    PopLibs: `SUM_SQUARED_LOSS`, whose sum along the last dimension it returns.

    >>> import poplite as pl
    >>> p, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "pt")
    >>> squared_error(p, t)
    <Expr (p - t) ** 2 * 0.5 float32[4]>
    """
    p = cast(float_operand(predictions, "ops.nn.squared_error"), FLOAT)
    t = cast(float_operand(targets, "ops.nn.squared_error"), FLOAT)
    return labelled((p - t) ** 2 * 0.5, "squared_error")


def squared_error_gradient(predictions: Operand, targets: Operand) -> Expr:
    """Return the gradient of `squared_error` by the predictions: `p - t`.

    >>> import poplite as pl
    >>> p, t = (pl.Graph().add_variable(pl.FLOAT, (4,), name) for name in "pt")
    >>> squared_error_gradient(p, t)
    <Expr p - t float32[4]>
    """
    distance = float_operand(predictions, "ops.nn.squared_error_gradient") - targets
    return labelled(distance, "squared_error_gradient")


def _labelled(logits: Operand, labels: Tensor, called: str) -> tuple[Expr, Tensor, Expr]:
    """Return the logits, the labels as a column, and which logits are those of labels."""
    operand, labels = float_operand(logits, called), as_read(labels)
    if not isinstance(labels, Tensor):
        raise no_tensor(f"{called}, labels", labels, "ops.map(labels), a tensor")
    if kind_of(labels.element_type) not in ("int", "uint"):
        raise ElementTypeError(
            f"{called}: labels '{labels.name}' are {labels.element_type!r}",
            fix="pl.INT or pl.UNSIGNED_INT: the number of a class",
        )
    if operand.shape[:-1] != labels.shape or not operand.shape:
        raise TensorCreationError(
            f"{called}: labels of shape {labels.shape} for logits of shape {operand.shape}",
            found=type_and_shape(labels),
            fix=f"labels of shape {operand.shape[:-1]}: one for each row",
        )
    column = labels.reshape((*labels.shape, 1))
    return operand, column, equal(iota((operand.shape[-1],), labels.element_type), column)
