"""The common part of popnn's LSTM, GRU: parameters, weights, options.

Source: PopLibs, `popnn/Lstm.hpp`, `popnn/Gru.hpp`, `popnn/Rnn.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from poplite.compat.arguments import (
    Options as Options,
    check_known,
    check_params,
    memory_share,
)
from poplite.compat.popnn.nonlinearities import NonLinearityType
from poplite.errors import InvalidOption, TensorCreationError, checked_member, checked_truth
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops import nn
from poplite.ops.convolutions.request import float_type
from poplite.ops.operands import beside, count_of, the_tensor
from poplite.text import clipped, of_type
from poplite.types import ElementTypeLike, element_type

_TRUTHS, _TYPES = ("true", "false"), ("half", "float")

_KNOWN = {
    "availableMemoryProportion": (),
    "inferenceOnly": _TRUTHS,
    "partialsType": _TYPES,
    "preCalcWeights": _TRUTHS,
    "recomputationMode": ("none", "cellAndTanh", "full"),
    "weightAccumulatorsType": _TYPES,
}
"""Options of both layers, and their values; none of that of a number."""

_FLAGS = ("outputFullSequence", "calcInputGradients", "resetAfter", "preserveFinalState")


class Weights(NamedTuple):
    """Weights of a layer, or gradients by them, in the order of gates of its parameters.

    Attributes:
        inputWeights: [gates, inputs, units].
        outputWeights: [gates, units, units].
        biases: [gates, units]; of a GRU that resets after the product [gates, 2, units].
    """

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


class Intermediates:
    """What a forward pass keeps for the backward pass, which takes it; made empty.

    Attributes:
        forward: what `ops.nn.lstm` or `ops.nn.gru` returned; None before.
    """

    forward: Any = None


def sizes_of(what: str, params: Any, kind: type) -> tuple[ElementClass, tuple[int, int, int, int]]:
    """Return the type, and steps, batch, inputs and units of parameters; refuse others' layers."""
    check_params(f"popnn.{what}", params, kind)
    layers = params.layerSizes
    if not isinstance(layers, Sequence) or len(layers) != 2:
        raise InvalidOption(
            f"popnn.{what}: layerSizes is {clipped(layers)}",
            found=f"{len(layers)} sizes" if isinstance(layers, Sequence) else of_type(layers),
            fix="[inputs, units]: one layer",
        )
    for flag in _FLAGS:
        if hasattr(params, flag):
            checked_truth(getattr(params, flag), f"popnn.{what}: {flag}")
    for role, given, needed in (
        ("activation", params.activation, NonLinearityType.TANH),
        ("recurrentActivation", params.recurrentActivation, NonLinearityType.SIGMOID),
    ):
        given = checked_member(
            given, NonLinearityType, f"popnn.{what}: {role}", error=InvalidOption
        )
        if given is not needed:
            raise InvalidOption(
                f"popnn.{what}: {role} is {clipped(given)}",
                found="other activations are not there",
                fix=str(needed),
            )
    steps, batch, inputs, units = (
        count_of(f"popnn.{what}", name, size)
        for name, size in (
            ("timeSteps", params.timeSteps),
            ("batchSize", params.batchSize),
            ("layerSizes[0]", layers[0]),
            ("layerSizes[1]", layers[1]),
        )
    )
    element = float_type(f"popnn.{what}", element_type(params.dataType))
    return element, (steps, batch, inputs, units)


def lengths_of(what: str, params: Any) -> Tensor | None:
    """Return the steps of each sequence, or one number for all; None if all have all steps."""
    if params.varTimeSteps is None:
        return None
    steps = the_tensor(f"popnn.{what}", "varTimeSteps", params.varTimeSteps)
    return steps.broadcast(params.batchSize, 0) if steps.shape == (1,) else steps


def check_recurrent_options(what: str, options: Options) -> None:
    """Refuse options and values that popnn does not know; those it knows change no result."""
    check_known(f"popnn.{what}", options, _KNOWN)
    memory_share(f"popnn.{what}", options)
    for name, value in (options or {}).items():
        values = _KNOWN[name]
        if values and value not in values:
            raise beside(f"popnn.{what}", name, value, " or ".join(map(repr, values)))


def check_like_params(
    what: str, role: str, x: object, element: ElementClass, shape: Sequence[int]
) -> None:
    """Refuse a value that is not a tensor, or does not fit the parameters."""
    made = the_tensor(f"popnn.{what}", role, x)
    if made.shape != tuple(shape) or made.element_type is not element:
        raise TensorCreationError(
            f"popnn.{what}: {role} '{made.name}' is {type_and_shape(made)}, the parameters say "
            f"{element!r} {list(shape)}",
            fix="the parameters of the tensors",
        )


def gate_order(what: str, order: Sequence[Enum | str], units: type[Enum]) -> list[int]:
    """Return which gate of `order` is each gate of the default order."""
    names = units.__members__
    named = list(order) if isinstance(order, Sequence) else []
    gates = [units[each] if isinstance(each, str) and each in names else each for each in named]
    if len(gates) != len(units) or any(each not in gates for each in units):
        raise InvalidOption(
            f"popnn.{what}: cellOrder is {clipped(order)}",
            fix=f"each of {', '.join(str(each) for each in units)} once",
        )
    return [gates.index(each) for each in units]


def weights_of(what: str, weights: object, places: Sequence[int]) -> nn.RecurrentWeights:
    """Return weights with their gates reordered; refuse other values."""
    return ordered_gates(_tensors(what, "weights", weights, Weights), places)


def state_of(what: str, role: str, state: object, kind: type) -> Sequence[Tensor]:
    """Return the tensors of a state, or raise."""
    return _tensors(what, role, state, kind)


def intermediates_of(what: str, intermediates: object) -> Intermediates:
    """Return what keeps a forward pass, or raise."""
    if not isinstance(intermediates, Intermediates):
        raise TensorCreationError(
            f"popnn.{what}: intermediates is {clipped(intermediates)}",
            found=of_type(intermediates),
            fix="one Intermediates() for the forward pass, which fills it, and the backward pass",
        )
    return intermediates


def _tensors(what: str, role: str, given: object, kind: Any) -> list[Tensor]:
    fields = kind._fields
    if not isinstance(given, tuple) or len(given) != len(fields):
        raise TensorCreationError(
            f"popnn.{what}: {role} is {clipped(given)}",
            found=of_type(given),
            fix=f"{len(fields)} tensors: {', '.join(fields)}",
        )
    return [
        the_tensor(f"popnn.{what}", f"{role}.{name}", each)
        for name, each in zip(fields, given, strict=True)
    ]


def ordered_gates(weights: Sequence[Tensor], places: Sequence[int]) -> nn.RecurrentWeights:
    """Return weights with gates at other places, as views."""
    if list(places) == sorted(places):
        return nn.RecurrentWeights(*weights)
    return nn.RecurrentWeights(*(concat([w[n : n + 1] for n in places]) for w in weights))


def inverse(places: Sequence[int]) -> list[int]:
    """Return the places that undo others."""
    return [list(places).index(n) for n in range(len(places))]


def state_like(graph: Graph, element: ElementTypeLike, shape: Sequence[int], name: str) -> Tensor:
    """Make a variable for a state."""
    return graph.add_variable(element, tuple(shape), name, mapping="linear")


def sequence_gradient(
    graph: Graph, is_full: bool, gradient: Tensor, shape: Sequence[int], name: str
) -> tuple[Tensor, Tensor | None]:
    """Return the gradient by all outputs, and by the last one where only that was returned."""
    if is_full:
        return gradient, None
    zeros = graph.add_constant(
        gradient.element_type, tuple(shape), 0, f"{name}/zeros", mapping="linear"
    )
    return zeros, gradient
