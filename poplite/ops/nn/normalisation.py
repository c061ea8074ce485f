"""Layer normalisation and its gradients.

Source: J. Ba, J. Kiros, G. Hinton, "Layer Normalization" (2016); PopLibs, `popnn/LayerNorm.hpp`.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite.errors import TensorCreationError
from poplite.expr.build import as_expr, cast
from poplite.expr.formula import formula
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, labelled
from poplite.ops.mathematics import rsqrt
from poplite.ops.nn.by_result import by_result
from poplite.ops.reductions import float_operand, mean, sum, variance
from poplite.types import FLOAT


def layer_norm(
    x: Operand, gain: Operand | float = 1.0, bias: Operand | float = 0.0, epsilon: float = 1e-5
) -> Expr:
    """Return each row with mean 0 and variance 1, times a gain, plus a bias.

    `(x - mean) / sqrt(variance + epsilon) * gain + bias`, along the last dimension.

    Args:
        x: FLOAT or HALF.
        gain: one for each element of a row, or a number.
        bias: likewise.
        epsilon: what the variance is raised by.

    Raises:
        ElementTypeError: for elements that are no floats.
        TensorCreationError: for a gain and a bias of another shape.
        TensorIndexError: for an x of one element without dimensions.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (1, 2), "x", mapping=0, initial_value=[[3, 5]])
    >>> y = pl.ops.map(layer_norm(x, gain=2, epsilon=0), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y)
    array([[-2.,  2.]], dtype=float32)
    """
    what = "ops.nn.layer_norm"
    operand = float_operand(x, what)
    by, plus = (_wide(what, role, each, operand) for role, each in (("gain", gain), ("bias", bias)))
    whitened, _ = _whitened(operand, epsilon)
    return labelled(cast(whitened * by + plus, operand.element_type), "layer_norm")


class LayerNormGradient(NamedTuple):
    """The gradients of a layer normalisation.

    Attributes:
        x: by the operand, of its shape.
        gain: by the gain, of the shape of a row.
        bias: by the bias, of the shape of a row.
    """

    x: Expr
    gain: Expr
    bias: Expr


def layer_norm_gradient(
    x: Operand, gradient: Operand, gain: Operand | float = 1.0, epsilon: float = 1e-5
) -> LayerNormGradient:
    """Return the gradients of `layer_norm` by its operands.

    Args:
        x: as in `layer_norm`.
        gradient: that of the result, of its shape and type.
        gain: as in `layer_norm`.
        epsilon: as in `layer_norm`.

    Raises:
        TensorCreationError: for a gradient of another shape or type.
        the errors of `layer_norm`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, g = (graph.add_variable(pl.FLOAT, (8, 16), name) for name in "xg")
    >>> layer_norm_gradient(x, g).bias
    <Expr sum(g, 0) float32[16]>
    """
    what = "ops.nn.layer_norm_gradient"
    operand = float_operand(x, what)
    result = cast(by_result(what, gradient, operand), FLOAT)
    whitened, inverse = _whitened(operand, epsilon)
    inner = result * _wide(what, "gain", gain, operand)
    along = whitened * mean(inner * whitened, -1, keepdims=True)
    by_x = inverse * (inner - mean(inner, -1, keepdims=True) - along)
    rows = [*range(len(operand.shape) - 1)]
    made = (by_x, sum(result * whitened, rows), sum(result, rows))
    return LayerNormGradient(*(cast(each, operand.element_type) for each in made))


def _whitened(operand: Expr, epsilon: float) -> tuple[Expr, Expr]:
    """Return rows of mean 0 and variance 1, and what divided them, inverted; both in FLOAT."""
    wide = cast(operand, FLOAT)
    inverse = rsqrt(variance(wide, -1, keepdims=True) + epsilon)
    return (wide - mean(wide, -1, keepdims=True)) * inverse, inverse


def _wide(what: str, role: str, value: Operand | float, x: Expr) -> Expr | float:
    """Return a number for each element of a row, or one for all, in FLOAT."""
    if not isinstance(value, Operand):
        return value
    own = as_expr(value, what)
    if own.shape not in ((), x.shape[-1:]):
        raise TensorCreationError(
            f"{what}: a {role} of shape {own.shape} for x of {x.shape}",
            found=f"{formula(own)} beside {formula(x)}",
            fix=f"a number for each element of a row, of shape {x.shape[-1:]}",
        )
    return cast(own, FLOAT)
