"""Non-linearities of popnn with their gradients.

C++ takes `nonLinearityScaling` by reference; here it is always `SOFTMAX_SCALING` for SOFTMAX_SCALED
and 1 for all others. Softmax is along the innermost dimension.

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/NonLinearityDef.hpp`, `popnn/LogSoftmax.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable

from poplite import ops
from poplite.compat.arguments import Place, checked, one_set, with_first
from poplite.compat.poputil import output_mapping
from poplite.errors import (
    ControlProgramError,
    Enumeration,
    checked_member,
)
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import nn
from poplite.ops.nn.expressions import by_result
from poplite.ops.reductions.expressions import float_operand
from poplite.program import Sequence as Steps
from poplite.types import FLOAT

Forward = Callable[[Tensor], Expr]
Backward = Callable[[Tensor, Tensor], Expr]

SOFTMAX_SCALING = 62000.0
"""The scale of results of SOFTMAX_SCALED, so that HALF can hold small results."""


class NonLinearityType(Enumeration):
    """A function applied to each element, or to rows for softmax."""

    SIGMOID = "sigmoid"
    HARD_SIGMOID = "hard_sigmoid"
    RELU = "relu"
    TANH = "tanh"
    GELU = "gelu"
    GELU_ERF = "gelu_erf"
    SWISH = "swish"
    SOFTMAX = "softmax"
    SOFTMAX_STABLE = "softmax_stable"
    SOFTMAX_SCALED = "softmax_scaled"


@checked("popnn")
def nonLinearity(
    graph: Graph,
    non_linearity_type: NonLinearityType | str,
    t: Tensor,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record a non-linearity into a new tensor, `popnn::nonLinearity`.

    Args:
        graph: the graph of the tensor.
        non_linearity_type: the non-linearity.
        t: FLOAT or HALF.
        prog: where the steps go.
        debug_context: name of the result.

    Raises:
        ElementTypeError: for an unknown type or elements that are not floats.
    """
    made = _functions(non_linearity_type, "nonLinearity")[0](t)
    name = debug_context or NonLinearityType(non_linearity_type).value
    mapping = output_mapping(graph, [t], t)
    return ops.map(made, mapping=mapping, name=name, program=prog)


@checked("popnn")
def nonLinearityInPlace(
    graph: Graph,
    non_linearity_type: NonLinearityType | str,
    t: Tensor,
    prog: Place,
    debug_context: str = "",
) -> None:
    """Record a non-linearity in place, `popnn::nonLinearityInPlace`; see `nonLinearity`.

    `prog` may be a compute set to which the vertices are added; softmax is rejected there.
    """
    made = _functions(non_linearity_type, "nonLinearityInPlace")[0](t)
    steps = _in_one_step("popnn.nonLinearityInPlace", graph, non_linearity_type, prog)
    ops.assign(
        t, made, name=debug_context or NonLinearityType(non_linearity_type).value, program=steps
    )


@checked("popnn")
def nonLinearityInputGradient(
    graph: Graph,
    non_linearity_type: NonLinearityType | str,
    act: Tensor,
    out_gradient: Tensor,
    prog: Place,
    debug_context: str = "",
) -> Tensor:
    """Record the gradient of the input, `popnn::nonLinearityInputGradient`.

    Args:
        graph: the graph of the tensors.
        non_linearity_type: the non-linearity.
        act: the input of GELU, GELU_ERF, SWISH and HARD_SIGMOID; the output of all others.
        out_gradient: the gradient with respect to the output.
        prog: where the steps go; or a compute set to which the vertices are added.
        debug_context: name of the result.

    Returns:
        A new tensor of the shape and type of `act`.

    Raises:
        whatever `nonLinearity` raises; TensorCreationError for a gradient of a different shape;
        ControlProgramError for softmax in a compute set.
    """
    what = "nonLinearityInputGradient"
    gradient = _functions(non_linearity_type, what)[1](act, out_gradient)
    steps = _in_one_step(f"popnn.{what}", graph, non_linearity_type, prog)
    mapping = output_mapping(graph, [act], act)
    return ops.map(gradient, mapping=mapping, name=debug_context or what, program=steps)


@checked("popnn")
def logSoftmax(graph: Graph, t: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record the logarithm of softmax into a new tensor, `popnn::logSoftmax`."""
    return ops.map(nn.log_softmax(t), name=debug_context or "logSoftmax", program=prog)


@checked("popnn")
def logSoftmaxInPlace(graph: Graph, t: Tensor, prog: Steps, debug_context: str = "") -> None:
    """Record the logarithm of softmax in place, `popnn::logSoftmaxInPlace`."""
    ops.assign(t, nn.log_softmax(t), name=debug_context or "logSoftmax", program=prog)


@checked("popnn")
def scaledSoftmaxStable(
    graph: Graph, t: Tensor, prog: Steps, debug_context: str = ""
) -> tuple[Tensor, float]:
    """Record SOFTMAX_SCALED into a new tensor, and return it with the scale."""
    made = nonLinearity(graph, NonLinearityType.SOFTMAX_SCALED, t, prog, debug_context)
    return made, SOFTMAX_SCALING


@checked("popnn")
def scaledSoftmaxStableInPlace(
    graph: Graph, t: Tensor, prog: Steps, debug_context: str = ""
) -> float:
    """Record SOFTMAX_SCALED in place, and return the scale."""
    nonLinearityInPlace(graph, NonLinearityType.SOFTMAX_SCALED, t, prog, debug_context)
    return SOFTMAX_SCALING


def _plain_softmax(x: Tensor) -> Expr:
    """Return softmax without subtracting the largest element."""
    operand = float_operand(x, "popnn.nonLinearity")
    powers = ops.exp(ops.cast(operand, FLOAT))
    return ops.cast(powers / ops.sum(powers, -1, keepdims=True), operand.element_type)


def _scaled_softmax(x: Tensor) -> Expr:
    operand = float_operand(x, "popnn.nonLinearity")
    made = nn.softmax(ops.cast(operand, FLOAT)) * SOFTMAX_SCALING
    return ops.cast(made, operand.element_type)


def _scaled_softmax_gradient(act: Tensor, gradient: Tensor) -> Expr:
    """Return `y * (g - sum(y * g))` for y without the scale, times the scale."""
    what = "popnn.nonLinearityInputGradient"
    scaled = float_operand(act, what)
    g = ops.cast(by_result(what, gradient, scaled), FLOAT)
    made = nn.softmax_gradient(ops.cast(scaled, FLOAT) / SOFTMAX_SCALING, g) * SOFTMAX_SCALING
    return ops.cast(made, scaled.element_type)


_SOFTMAX = (
    NonLinearityType.SOFTMAX,
    NonLinearityType.SOFTMAX_STABLE,
    NonLinearityType.SOFTMAX_SCALED,
)

_FORWARD_AND_BACKWARD: dict[NonLinearityType, tuple[Forward, Backward]] = {
    NonLinearityType.SIGMOID: (ops.sigmoid, nn.sigmoid_gradient),
    NonLinearityType.HARD_SIGMOID: (nn.hard_sigmoid, nn.hard_sigmoid_gradient),
    NonLinearityType.RELU: (ops.relu, nn.relu_gradient),
    NonLinearityType.TANH: (ops.tanh, nn.tanh_gradient),
    NonLinearityType.GELU: (ops.gelu, nn.gelu_gradient),
    NonLinearityType.GELU_ERF: (ops.gelu_erf, nn.gelu_erf_gradient),
    NonLinearityType.SWISH: (ops.swish, nn.swish_gradient),
    NonLinearityType.SOFTMAX: (_plain_softmax, nn.softmax_gradient),
    NonLinearityType.SOFTMAX_STABLE: (nn.softmax, nn.softmax_gradient),
    NonLinearityType.SOFTMAX_SCALED: (_scaled_softmax, _scaled_softmax_gradient),
}


def _in_one_step(
    what: str, graph: Graph, kind: NonLinearityType | str, place: Place
) -> Steps | None:
    """Return the place for the steps; softmax needs a program, as its sums are separate steps."""
    member = NonLinearityType(kind)
    if isinstance(place, ComputeSet) and member in _SOFTMAX:
        raise ControlProgramError(
            f"{what}: {member.name} cannot be added to compute set '{place.name}'",
            found="the sums of its rows need earlier steps",
            fix=f"use the form with a program: {what}(graph, type, ..., prog)",
        )
    return one_set(what, graph, place)


def _functions(kind: NonLinearityType | str, what: str) -> tuple[Forward, Backward]:
    return _FORWARD_AND_BACKWARD[checked_member(kind, NonLinearityType, f"popnn.{what}")]


def _new(
    kind: NonLinearityType, graph: Graph, t: Tensor, prog: Steps, debug_context: str = ""
) -> Tensor:
    """Record a non-linearity into a new tensor, `popnn::{name}`; see `nonLinearity`."""
    return nonLinearity(graph, kind, t, prog, debug_context)


def _in_place(
    kind: NonLinearityType, graph: Graph, t: Tensor, prog: Steps, debug_context: str = ""
) -> None:
    """Record a non-linearity in place, `popnn::{name}`; see `nonLinearity`."""
    nonLinearityInPlace(graph, kind, t, prog, debug_context)


def _named(name: str, kind: NonLinearityType) -> tuple[Callable[..., Tensor], Callable[..., None]]:
    """Return the functions that are named after a type: `f(graph, t, prog, debug_context)`."""
    new, in_place = with_first(_new, kind), with_first(_in_place, kind)
    return checked("popnn", name)(new), checked("popnn", f"{name}InPlace")(in_place)


sigmoid, sigmoidInPlace = _named("sigmoid", NonLinearityType.SIGMOID)
relu, reluInPlace = _named("relu", NonLinearityType.RELU)
tanh, tanhInPlace = _named("tanh", NonLinearityType.TANH)
gelu, geluInPlace = _named("gelu", NonLinearityType.GELU)
geluErf, geluErfInPlace = _named("geluErf", NonLinearityType.GELU_ERF)
swish, swishInPlace = _named("swish", NonLinearityType.SWISH)
softmax, softmaxInPlace = _named("softmax", NonLinearityType.SOFTMAX)
softmaxStable, softmaxStableInPlace = _named("softmaxStable", NonLinearityType.SOFTMAX_STABLE)
