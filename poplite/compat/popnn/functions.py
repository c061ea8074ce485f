"""Functions of popnn on activations: non-linearities, losses, with their gradients.

C++ takes `nonLinearityScaling` by reference; here it is always `SOFTMAX_SCALING` for SOFTMAX_SCALED
and 1 for all others. Softmax is along the innermost dimension.

Source: PopLibs, `popnn/NonLinearity.hpp`, `popnn/NonLinearityDef.hpp`, `popnn/LogSoftmax.hpp`,
`popnn/Loss.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplite import ops
from poplite.compat.arguments import Place, bound, check_tensors, checked, one_set, with_first
from poplite.compat.poputil import output_mapping
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    Enumeration,
    TensorCreationError,
    checked_member,
)
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops import nn
from poplite.ops.reductions.expressions import by_result, float_operand
from poplite.program import Sequence as Steps
from poplite.types import FLOAT, HALF, INT, UNSIGNED_INT

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


# -- losses ----------------------------------------------------------------------------------------


MASKED_LABEL_CODE = 0xFFFFFFFF
"""The label of rows that are not counted; -1 for INT labels."""

_LEAST = {FLOAT: 1.17549435e-38, HALF: 5.9604644775390625e-08}
"""Added to probabilities before their logarithm: the smallest positive number of their type."""


class LossType(Enumeration):
    """The kind of a loss."""

    SUM_SQUARED_LOSS = "sum_squared"
    CROSS_ENTROPY_LOSS = "cross_entropy"


SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS = LossType


@bound("popnn")
def calcLoss(
    graph: Graph,
    model_outputs: Tensor,
    expected: Tensor,
    loss: Tensor,
    deltas: Tensor,
    loss_type: LossType | str,
    debug_context: str = "",
    *,
    deltas_scale: Tensor | None = None,
    model_output_scaling: Tensor | None = None,
    num_correct: Tensor | None = None,
) -> Steps:
    """Return a program that computes a loss and its gradient, `popnn::calcLoss`.

    Rows with the label `MASKED_LABEL_CODE` have no loss and no gradient. With a scale m of the
    outputs and a scale s of the gradients, cross entropy is `-ln(p / m)`, and its gradient with
    respect to the input of softmax is `(p / m - t) * s`; other losses have no scales.

    Args:
        graph: the graph of the tensors.
        model_outputs: [batch, classes] of FLOAT or HALF; probabilities for cross entropy.
        expected: [batch] of INT or UNSIGNED_INT: the label of each row.
        loss: receives the loss of each row, [batch].
        deltas: receives the gradient, [batch, classes].
        loss_type: the kind of loss.
        debug_context: name of the steps.
        deltas_scale: s; as positional arguments, this and the following come before the type, as
            in C++.
        model_output_scaling: m.
        num_correct: a tensor to which the number of correct rows is added.

    Raises:
        TensorCreationError: if the shapes do not match.
        ElementTypeError: for labels that are not integers, and other arguments of the wrong type.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=1))
    >>> p = graph.add_variable(pl.FLOAT, (1, 2), "p", mapping=0, initial_value=[[0.75, 0.25]])
    >>> label = graph.add_variable(pl.INT, (1,), "label", mapping=0, initial_value=0)
    >>> loss = graph.add_variable(pl.FLOAT, (1,), "loss", mapping=0)
    >>> deltas = graph.add_variable(pl.FLOAT, (1, 2), "deltas", mapping=0)
    >>> program = calcLoss(graph, p, label, loss, deltas, LossType.CROSS_ENTROPY_LOSS)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(deltas).tolist()
    [[-0.25, 0.25]]
    """
    what, name = "calcLoss", debug_context or "calcLoss"
    kind = checked_member(loss_type, LossType, f"popnn.{what}")
    scales = {"deltas_scale": deltas_scale, "model_output_scaling": model_output_scaling}
    given = {**scales, "num_correct": num_correct}
    check_tensors(f"popnn.{what}", **{k: each for k, each in given.items() if each is not None})
    is_label, is_kept = _labels(what, model_outputs, expected)
    for role, each, shape in (("loss", loss, expected.shape), ("deltas", deltas, is_label.shape)):
        if each.shape != shape:
            raise TensorCreationError(
                f"popnn.{what}: {role} '{each.name}' has shape {each.shape}",
                found=f"modelOutputs is {type_and_shape(model_outputs)}",
                fix=f"pass {role} of shape {shape}",
            )
    p = ops.cast(model_outputs, FLOAT)
    scale: Any
    m: Any
    scale, m = (
        1.0 if each is None else ops.cast(each.reshape(()), FLOAT) for each in scales.values()
    )
    if kind is LossType.CROSS_ENTROPY_LOSS:
        logarithm = ops.log(p + _LEAST[_float(what, model_outputs)])
        likely = logarithm if model_output_scaling is None else logarithm - ops.log(m)
        lost = -ops.sum(ops.where(is_label, likely, 0.0), 1)
        by = (p / m - ops.cast(is_label, FLOAT)) * scale
    else:
        _float(what, model_outputs)
        target = ops.cast(is_label, FLOAT)
        lost, by = ops.sum(nn.squared_error(p, target), 1), p - target
    lost = ops.where(is_kept, lost, 0.0)
    by = ops.where(ops.not_equal(_column(expected), _masked(expected)), by, 0.0)
    program = Steps()
    roots = [
        ops.Root(ops.cast(lost, loss.element_type), out=loss, name=f"{name}/loss"),
        ops.Root(ops.cast(by, deltas.element_type), out=deltas, name=f"{name}/deltas"),
    ]
    ops.lower(graph, roots, program)
    if num_correct is not None:
        program.add(calcAccuracy(graph, model_outputs, expected, num_correct, name))
    return program


@checked("popnn")
def calcAccuracy(
    graph: Graph,
    model_outputs: Tensor,
    expected: Tensor,
    num_correct: Tensor,
    debug_context: str = "",
) -> Steps:
    """Return a program that counts correctly classified rows, `popnn::calcAccuracy`.

    The count is added to `num_correct`, so that it accumulates over several batches. Rows
    with the label `MASKED_LABEL_CODE` are not counted.

    Args:
        graph: the graph of the tensors.
        model_outputs: [batch, classes].
        expected: [batch] of INT or UNSIGNED_INT.
        num_correct: one element of UNSIGNED_INT, to which the count is added.
        debug_context: name of the steps.

    Raises:
        whatever `calcLoss` raises.
    """
    what = "calcAccuracy"
    _, is_kept = _labels(what, model_outputs, expected)
    if num_correct.num_elements != 1:
        raise TensorCreationError(
            f"popnn.{what}: numCorrect '{num_correct.name}' has shape {num_correct.shape}",
            fix="pass a tensor of one element",
        )
    best = ops.argmax(model_outputs, 1)
    label = expected.reinterpret(UNSIGNED_INT) if expected.element_type is INT else expected
    right = ops.cast(ops.equal(best, label) & is_kept, UNSIGNED_INT)
    program = Steps()
    out = num_correct.reshape(())
    name = debug_context or what
    total = out + ops.cast(ops.sum(right), out.element_type)
    ops.lower(graph, [ops.Root(total, out, name=name)], program)
    return program


@checked("popnn")
def argMax(graph: Graph, input: Tensor, prog: Steps, debug_context: str = "") -> Tensor:  # noqa: A002
    """Record the position of the largest element of each row, `popnn::argMax`."""
    return ops.map(ops.argmax(input, 1), name=debug_context or "argMax", program=prog)


@checked("popnn")
def argMin(graph: Graph, input: Tensor, prog: Steps, debug_context: str = "") -> Tensor:  # noqa: A002
    """Record the position of the smallest element of each row, `popnn::argMin`."""
    return ops.map(ops.argmin(input, 1), name=debug_context or "argMin", program=prog)


def _best(
    found: tuple[str, Callable[..., Expr], Callable[..., Expr]],
    graph: Graph,
    input: Tensor,  # noqa: A002
    prog: Steps,
    debug_context: str = "",
) -> tuple[Tensor, Tensor]:
    """Record the largest or smallest element of each row and its position, `popnn::{name}`."""
    name, value, position = found
    name = debug_context or name
    best = ops.map(value(input, 1), name=name, program=prog)
    return best, ops.map(position(input, 1), name=f"{name}/position", program=prog)


maxAndArgMax, minAndArgMin = (
    checked("popnn", each[0])(with_first(_best, each))
    for each in (("maxAndArgMax", ops.max, ops.argmax), ("minAndArgMin", ops.min, ops.argmin))
)


@checked("popnn")
def topK(
    graph: Graph,
    input: Tensor,  # noqa: A002
    K: int,
    sort: bool,
    prog: Steps,
    debug_context: str = "",
) -> tuple[Tensor, Tensor]:
    """Record the K largest elements of each row and their positions, `popnn::topK`."""
    top = ops.top_k(input, K, 1, sorted=sort, name=debug_context or "topK", program=prog)
    return top.values, top.indices


def _labels(what: str, outputs: Tensor, expected: Tensor) -> tuple[Expr, Expr]:
    """Return masks of the elements that labels select, and of the rows that count."""
    if expected.element_type not in (INT, UNSIGNED_INT):
        raise ElementTypeError(
            f"popnn.{what}: expected '{expected.name}' is {expected.element_type!r}",
            fix="pass labels of INT or UNSIGNED_INT",
        )
    if outputs.rank != 2 or expected.shape != outputs.shape[:1]:
        raise TensorCreationError(
            f"popnn.{what}: expected '{expected.name}' has shape {expected.shape}, "
            f"but modelOutputs '{outputs.name}' has shape {outputs.shape}",
            fix="pass modelOutputs of shape [batch, classes], and expected of shape [batch]",
        )
    classes = ops.iota((outputs.shape[1],), expected.element_type)
    return ops.equal(classes, _column(expected)), ops.not_equal(expected, _masked(expected))


def _column(expected: Tensor) -> Tensor:
    return expected.reshape((*expected.shape, 1))


def _masked(expected: Tensor) -> int:
    """Return the label of rows that are not counted."""
    return -1 if expected.element_type is INT else MASKED_LABEL_CODE


def _float(what: str, x: Tensor) -> Any:
    if x.element_type not in _LEAST:
        raise ElementTypeError(
            f"popnn.{what}: modelOutputs '{x.name}' is {x.element_type!r}",
            fix="pass modelOutputs of FLOAT or HALF",
        )
    return x.element_type
