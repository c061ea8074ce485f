"""The common part of popnn's recurrent layers: parameters, weights, options.

Source: PopLibs, `popnn/Lstm.hpp`, `popnn/Gru.hpp`, `popnn/Rnn.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from poplite.compat.arguments import (
    Options as Options,
    check_known,
    check_params,
    memory_share,
)
from poplite.compat.popnn.functions import NonLinearityType
from poplite.errors import InvalidOption, TensorCreationError, checked_member, checked_truth
from poplite.expr.tree import ElementClass
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops import nn
from poplite.ops.operands import count_of, invalid_value, the_tensor
from poplite.ops.products.convolution_request import float_type
from poplite.text import clipped, of_type
from poplite.types import ElementTypeLike, element_type

Params = TypeVar("Params", bound="RecurrentParams")
State = TypeVar("State")

_TRUTHS, _TYPES = ("true", "false"), ("half", "float")

_KNOWN = {
    "availableMemoryProportion": (),
    "inferenceOnly": _TRUTHS,
    "partialsType": _TYPES,
    "preCalcWeights": _TRUTHS,
    "recomputationMode": ("none", "cellAndTanh", "full"),
    "weightAccumulatorsType": _TYPES,
}
"""Options of both layers, and their values; empty for options that are numbers."""

_FLAGS = ("outputFullSequence", "calcInputGradients", "resetAfter", "preserveFinalState")


class Weights(NamedTuple):
    """Weights of a layer, or their gradients; gates are in the order of its parameters.

    Attributes:
        inputWeights: [gates, inputs, units].
        outputWeights: [gates, units, units].
        biases: [gates, units]; for a GRU that resets after the product, [gates, 2, units].
    """

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


class Intermediates:
    """Values that a forward pass stores for the backward pass; empty when created.

    Attributes:
        forward: the result of `ops.nn.lstm` or `ops.nn.gru`; None before the forward pass.
    """

    forward: Any = None


@dataclass(slots=True)
class RecurrentParams:
    """Parameters common to layers of all cells.

    Attributes:
        dataType: element type of all tensors.
        batchSize: number of sequences processed at once.
        timeSteps: number of steps of a sequence.
        layerSizes: numbers of inputs and units.
        activation: must be TANH.
        recurrentActivation: must be SIGMOID.
        outputFullSequence: whether all outputs are returned, or only the last one.
        calcInputGradients: whether gradients of the inputs are returned.
    """

    dataType: ElementTypeLike
    batchSize: int
    timeSteps: int
    layerSizes: Sequence[int]
    activation: NonLinearityType = NonLinearityType.TANH
    recurrentActivation: NonLinearityType = NonLinearityType.SIGMOID
    outputFullSequence: bool = True
    calcInputGradients: bool = True


@frozen
class RecurrentCell(Generic[Params, State]):
    """The cell that a recurrent layer repeats.

    Attributes:
        name: name of its namespace.
        params: the class of its parameters.
        gates: the gates in their default order.
        plan: makes a plan from a graph, parameters, and sizes by name.
        state: makes a state from a function that creates a named tensor, and a name.
    """

    name: str
    params: type[Params]
    gates: type[Enum]
    plan: Callable[..., nn.RecurrentPlan]
    state: Callable[[Callable[[str], Tensor], str], State]


def create_input(
    cell: RecurrentCell[Params, Any],
    graph: Graph,
    params: Params,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Create the inputs of a sequence, mapped as planned, `{name}`: [time, batch, inputs]."""
    plan = RecurrentCall(cell, "createInput", params, options).plan(graph)
    return plan.create_input(params.timeSteps, debug_context or "input")


def create_weights(
    cell: RecurrentCell[Params, Any],
    graph: Graph,
    params: Params,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Weights:
    """Create the weights, mapped as planned, `{name}`."""
    plan = RecurrentCall(cell, "createWeights", params, options).plan(graph)
    return Weights(*plan.create_weights(debug_context or "weights"))


def create_state(
    cell: RecurrentCell[Params, State],
    graph: Graph,
    params: Params,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> State:
    """Create the initial state, `{name}`: the output, and for an LSTM also the cell state."""
    call = RecurrentCall(cell, "createInitialState", params, options)

    def tensor(name: str) -> Tensor:
        return graph.add_variable(call.element, call.of_step, name, mapping="linear")

    return cell.state(tensor, debug_context or "state")


class RecurrentCall:
    """A call to a function of a cell, with its options and parameters checked.

    Attributes:
        what: the function, for messages.
        params: parameters of the layer.
        element: the type of all tensors.
        inputs: the shape of the inputs of all steps.
        of_step: the shape of the output of a step.
        outputs: the shape of the outputs of all steps.
    """

    def __init__(
        self, cell: RecurrentCell[Any, Any], function: str, params: Any, options: Options = None
    ) -> None:
        self.what = what = f"popnn.{cell.name}.{function}"
        self.cell, self.params = cell, params
        _check_options(what, options)
        check_params(what, params, cell.params)
        self.element, sizes = _type_and_sizes(what, params)
        self.steps, self.batch, inputs, self.units = sizes
        self.inputs = self.steps, self.batch, inputs
        self.of_step = self.batch, self.units
        self.outputs = self.steps, self.batch, self.units

    def plan(self, graph: Graph) -> nn.RecurrentPlan:
        """Return the plan, which has the best mappings of the layer's operands."""
        how = {"batch": self.batch, "inputs": self.inputs[2], "units": self.units}
        return self.cell.plan(graph, self.params, **how, type=self.element)

    def check(self, role: str, x: object, shape: Sequence[int]) -> None:
        """Reject a value that is not a tensor, or does not fit the parameters."""
        made = the_tensor(self.what, role, x)
        if made.shape != tuple(shape) or made.element_type is not self.element:
            raise TensorCreationError(
                f"{self.what}: {role} '{made.name}' is {type_and_shape(made)}, "
                f"but the parameters say {self.element!r} {list(shape)}",
                fix="pass parameters that match the tensors",
            )

    def check_results(self, output: object, gradient: object) -> None:
        """Reject an output and a gradient that do not match those of a forward pass."""
        shape = self.outputs if self.params.outputFullSequence else self.of_step
        self.check("output", output, shape)
        self.check("outputGrad", gradient, shape)

    def state(self, role: str, given: object, kind: Any) -> list[Tensor]:
        """Return the tensors of a state, or raise."""
        state = self.tensors(role, given, kind)
        for name, each in zip(kind._fields, state, strict=True):
            self.check(f"{role}.{name}", each, self.of_step)
        return state

    def tensors(self, role: str, given: object, kind: Any) -> list[Tensor]:
        """Return the tensors of a named tuple of the given class, or raise."""
        fields = kind._fields
        if not isinstance(given, tuple) or len(given) != len(fields):
            raise TensorCreationError(
                f"{self.what}: {role} is {clipped(given)}",
                found=of_type(given),
                fix=f"pass {len(fields)} tensors: {', '.join(fields)}",
            )
        return [
            the_tensor(self.what, f"{role}.{name}", each)
            for name, each in zip(fields, given, strict=True)
        ]

    @cached_property
    def places(self) -> list[int]:
        """The index in `cellOrder` of each gate of the default order."""
        order, units = self.params.cellOrder, self.cell.gates
        names = units.__members__
        named = list(order) if isinstance(order, Sequence) else []
        gates = [units[each] if isinstance(each, str) and each in names else each for each in named]
        if len(gates) != len(units) or any(each not in gates for each in units):
            raise InvalidOption(
                f"{self.what}: cellOrder is {clipped(order)}",
                fix=f"list each of {', '.join(str(each) for each in units)} once",
            )
        return [gates.index(each) for each in units]

    def weights(self, weights: object) -> nn.RecurrentWeights:
        """Return weights with their gates in the default order; reject other values."""
        return _reordered(self.tensors("weights", weights, Weights), self.places)

    def by_weights(self, gradients: nn.RecurrentWeights) -> Weights:
        """Return gradients with their gates in the order of the parameters."""
        undone = [self.places.index(n) for n in range(len(self.places))]
        return Weights(*_reordered(gradients, undone))

    def lengths(self) -> Tensor | None:
        """Return the length of each sequence, or one length for all; None if all have all steps."""
        if self.params.varTimeSteps is None:
            return None
        steps = the_tensor(self.what, "varTimeSteps", self.params.varTimeSteps)
        return steps.broadcast(self.params.batchSize, 0) if steps.shape == (1,) else steps

    def kept(self, intermediates: object) -> Intermediates:
        """Return the intermediates of a forward pass, or raise."""
        if not isinstance(intermediates, Intermediates):
            raise TensorCreationError(
                f"{self.what}: intermediates is {clipped(intermediates)}",
                found=of_type(intermediates),
                fix="pass one Intermediates() to the forward pass, which fills it, and then to the "
                "backward pass",
            )
        return intermediates

    def by_outputs(self, graph: Graph, gradient: Tensor, name: str) -> tuple[Tensor, Tensor | None]:
        """Return the gradients of all outputs, and of the last one if only that was returned."""
        if self.params.outputFullSequence:
            return gradient, None
        zeros = graph.add_constant(
            gradient.element_type, self.outputs, 0, f"{name}/zeros", mapping="linear"
        )
        return zeros, gradient


def _type_and_sizes(what: str, params: Any) -> tuple[ElementClass, tuple[int, int, int, int]]:
    """Return the type, steps, batch, inputs and units; reject parameters of other cells."""
    layers = params.layerSizes
    if not isinstance(layers, Sequence) or len(layers) != 2:
        raise InvalidOption(
            f"{what}: layerSizes is {clipped(layers)}",
            found=f"{len(layers)} sizes" if isinstance(layers, Sequence) else of_type(layers),
            fix="pass [inputs, units]; there is only one layer",
        )
    for flag in _FLAGS:
        if hasattr(params, flag):
            checked_truth(getattr(params, flag), f"{what}: {flag}")
    for role, given, needed in (
        ("activation", params.activation, NonLinearityType.TANH),
        ("recurrentActivation", params.recurrentActivation, NonLinearityType.SIGMOID),
    ):
        given = checked_member(given, NonLinearityType, f"{what}: {role}", error=InvalidOption)
        if given is not needed:
            raise InvalidOption(
                f"{what}: {role} is {clipped(given)}",
                found="other activations are not supported",
                fix=f"pass {needed}",
            )
    steps, batch, inputs, units = (
        count_of(what, name, size)
        for name, size in (
            ("timeSteps", params.timeSteps),
            ("batchSize", params.batchSize),
            ("layerSizes[0]", layers[0]),
            ("layerSizes[1]", layers[1]),
        )
    )
    return float_type(what, element_type(params.dataType)), (steps, batch, inputs, units)


def _check_options(what: str, options: Options) -> None:
    """Reject options and values that popnn does not know; the others do not change results."""
    check_known(what, options, _KNOWN)
    memory_share(what, options)
    for name, value in (options or {}).items():
        values = _KNOWN[name]
        if values and value not in values:
            raise invalid_value(what, name, value, " or ".join(map(repr, values)))


def _reordered(weights: Sequence[Tensor], places: Sequence[int]) -> nn.RecurrentWeights:
    """Return views of weights with their gates reordered."""
    if list(places) == sorted(places):
        return nn.RecurrentWeights(*weights)
    return nn.RecurrentWeights(*(concat([w[n : n + 1] for n in places]) for w in weights))
