"""LSTM of popnn.

    std::tie(output, cell) = popnn::lstm::lstmFwd(graph, params, state, in, weights, &kept, prog)
    output, cell = popnn.lstm.lstmFwd(graph, params, state, in_, weights, kept, prog)

Source: PopLibs, `popnn/Lstm.hpp`, `popnn/LstmDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from poplite.compat.arguments import checked
from poplite.compat.popnn.nonlinearities import NonLinearityType
from poplite.compat.popnn.recurrent import (
    Intermediates as Intermediates,
    Options,
    Weights,
    check_like_params,
    check_recurrent_options,
    gate_order,
    intermediates_of,
    inverse,
    lengths_of,
    ordered_gates,
    sequence_gradient,
    sizes_of,
    state_like,
    state_of,
    weights_of,
)
from poplite.errors import Enumeration
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import nn
from poplite.poplar.absent import shown as _shown
from poplite.program import Sequence as Steps
from poplite.types import ElementTypeLike

__all__ = _shown(
    globals(),
    """
    BASIC_LSTM_CELL_CANDIDATE BASIC_LSTM_CELL_FORGET_GATE BASIC_LSTM_CELL_INPUT_GATE
    BASIC_LSTM_CELL_OUTPUT_GATE BasicLstmCellUnit Intermediates LstmParams LstmState LstmWeights
    createInitialState createInput createWeights getDefaultBasicLstmCellOrder lstmBwdWithWU
    lstmFwd
    """,
    "popnn.lstm",
)


LstmWeights = Weights


class BasicLstmCellUnit(Enumeration):
    """The gates of a cell, in their default order."""

    BASIC_LSTM_CELL_FORGET_GATE = 0
    BASIC_LSTM_CELL_INPUT_GATE = 1
    BASIC_LSTM_CELL_CANDIDATE = 2
    BASIC_LSTM_CELL_OUTPUT_GATE = 3


(
    BASIC_LSTM_CELL_FORGET_GATE,
    BASIC_LSTM_CELL_INPUT_GATE,
    BASIC_LSTM_CELL_CANDIDATE,
    BASIC_LSTM_CELL_OUTPUT_GATE,
) = BasicLstmCellUnit


class LstmState(NamedTuple):
    """What a cell keeps from step to step, or gradients by it; both [batch, units]."""

    output: Tensor
    cellState: Tensor


@dataclass(slots=True)
class LstmParams:
    """Parameters of a layer, `popnn::lstm::LstmParams`.

    Attributes:
        dataType: of all tensors.
        batchSize: sequences that run side by side.
        timeSteps: of a sequence.
        layerSizes: inputs and units.
        activation: TANH.
        recurrentActivation: SIGMOID.
        outputFullSequence: whether all outputs are returned, or the last one.
        calcInputGradients: whether gradients by the inputs are returned.
        cellOrder: the order of the gates in weights.
        varTimeSteps: how many of the steps each sequence has, UNSIGNED_INT [batchSize] or [1];
            None where all have all of them. Outputs behind the end of a sequence are 0.
        preserveFinalState: changes nothing: the last state is that behind the last step of each
            sequence, which PopLibs promises where this is set.
    """

    dataType: ElementTypeLike
    batchSize: int
    timeSteps: int
    layerSizes: Sequence[int]
    activation: NonLinearityType = NonLinearityType.TANH
    recurrentActivation: NonLinearityType = NonLinearityType.SIGMOID
    outputFullSequence: bool = True
    calcInputGradients: bool = True
    cellOrder: Sequence[BasicLstmCellUnit] = tuple(BasicLstmCellUnit)
    varTimeSteps: Tensor | None = None
    preserveFinalState: bool = False


def getDefaultBasicLstmCellOrder() -> list[BasicLstmCellUnit]:
    """Return the default order of the gates: forget, input, candidate, output."""
    return list(BasicLstmCellUnit)


@checked("popnn.lstm")
def createInput(
    graph: Graph,
    params: LstmParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Make the inputs of a sequence, [timeSteps, batch, inputs], `popnn::lstm::createInput`."""
    check_recurrent_options("lstm.createInput", options)
    return _plan("lstm.createInput", graph, params).create_input(
        params.timeSteps, debug_context or "input"
    )


@checked("popnn.lstm")
def createInitialState(
    graph: Graph,
    params: LstmParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> LstmState:
    """Make the state before the first step, `popnn::lstm::createInitialState`."""
    check_recurrent_options("lstm.createInitialState", options)
    element, (_, batch, _, units) = sizes_of("lstm.createInitialState", params, LstmParams)
    name = debug_context or "state"
    output, cell = (
        state_like(graph, element, (batch, units), f"{name}/{each}") for each in ("output", "cell")
    )
    return LstmState(output, cell)


@checked("popnn.lstm")
def createWeights(
    graph: Graph,
    params: LstmParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> LstmWeights:
    """Make the weights, `popnn::lstm::createWeights`."""
    check_recurrent_options("lstm.createWeights", options)
    plan = _plan("lstm.createWeights", graph, params)
    return LstmWeights(*plan.create_weights(debug_context or "weights"))


@checked("popnn.lstm")
def lstmFwd(
    graph: Graph,
    params: LstmParams,
    state_init: LstmState,
    in_: Tensor,
    weights: LstmWeights,
    intermediates: Intermediates | None,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> tuple[Tensor, Tensor]:
    """Record a layer, `popnn::lstm::lstmFwd`.

    Args:
        graph: of the tensors.
        params: of the layer.
        state_init: before the first step.
        in_: [timeSteps, batch, inputs].
        weights: in the order of `params.cellOrder`.
        intermediates: takes what the backward pass needs; None for inference.
        prog: where the steps go.
        debug_context: name of the outputs.
        options: those of PopLibs, which change no result.
        cache: is not used.

    Returns:
        The outputs [timeSteps, batch, units], or the last one, and the last cell state.

    Raises:
        the errors of `poplite.ops.nn.lstm`; InvalidOption for parameters that are not there.
    """
    what = "lstm.lstmFwd"
    check_recurrent_options(what, options)
    element, (steps, batch, inputs, units) = sizes_of(what, params, LstmParams)
    check_like_params(what, "in", in_, element, (steps, batch, inputs))
    state = state_of(what, "stateInit", state_init, LstmState)
    for role, each in zip(LstmState._fields, state, strict=True):
        check_like_params(what, f"stateInit.{role}", each, element, (batch, units))
    places = gate_order(what, params.cellOrder, BasicLstmCellUnit)
    kept = None if intermediates is None else intermediates_of(what, intermediates)
    made = nn.lstm(
        in_,
        weights_of(what, weights, places),
        nn.LstmState(*state),
        lengths=lengths_of(what, params),
        inference=kept is None,
        name=debug_context or "lstm",
        program=prog,
    )
    if kept is not None:
        kept.forward = made
    return (made.outputs if params.outputFullSequence else made.state.output), made.state.cell


@checked("popnn.lstm")
def lstmBwdWithWU(
    graph: Graph,
    params: LstmParams,
    prog: Steps,
    fwd_state_init: LstmState,
    fwd_intermediates: Intermediates,
    weights: LstmWeights,
    input: Tensor,  # noqa: A002
    output: Tensor,
    output_grad: Tensor,
    last_cell_state_grad: Tensor | None = None,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> tuple[LstmState, Tensor | None, LstmWeights]:
    """Record the gradients of a layer, `popnn::lstm::lstmBwdWithWU`.

    Args:
        graph: of the tensors.
        params: of the layer.
        prog: where the steps go.
        fwd_state_init: as in `lstmFwd`.
        fwd_intermediates: what `lstmFwd` filled.
        weights: as in `lstmFwd`.
        input: likewise.
        output: what `lstmFwd` returned.
        output_grad: the gradient by it.
        last_cell_state_grad: the gradient by the last cell state.
        debug_context: name of the steps.
        options: those of PopLibs, which change no result.
        cache: is not used.

    Returns:
        The gradients by the first state, by the inputs (None where the parameters ask for none),
        and by the weights. C++ returns the first, and stores the others in arguments.

    Raises:
        the errors of `poplite.ops.nn.lstm_gradient`, and of `lstmFwd`.
    """
    what = "lstm.lstmBwdWithWU"
    check_recurrent_options(what, options)
    element, (steps, batch, inputs, units) = sizes_of(what, params, LstmParams)
    check_like_params(what, "input", input, element, (steps, batch, inputs))
    shape = (steps, batch, units) if params.outputFullSequence else (batch, units)
    for role, each in zip(("output", "outputGrad"), (output, output_grad), strict=True):
        check_like_params(what, role, each, element, shape)
    state = state_of(what, "fwdStateInit", fwd_state_init, LstmState)
    for role, each in zip(LstmState._fields, state, strict=True):
        check_like_params(what, f"fwdStateInit.{role}", each, element, (batch, units))
    places = gate_order(what, params.cellOrder, BasicLstmCellUnit)
    name = debug_context or "lstm_gradient"
    by_outputs, end = sequence_gradient(
        graph, params.outputFullSequence, output_grad, (steps, batch, units), name
    )
    by_state = None
    if end is not None or last_cell_state_grad is not None:
        zero = graph.add_constant(element, (batch, units), 0, f"{name}/zero", mapping="linear")
        by_state = nn.LstmState(
            zero if end is None else end,
            zero if last_cell_state_grad is None else last_cell_state_grad,
        )
    made = nn.lstm_gradient(
        input,
        weights_of(what, weights, places),
        intermediates_of(what, fwd_intermediates).forward,
        by_outputs,
        by_state=by_state,
        name=name,
        program=prog,
    )
    by_weights = LstmWeights(*ordered_gates(made.weights, inverse(places)))
    by_input = made.x if params.calcInputGradients else None
    return LstmState(*made.state), by_input, by_weights


def _plan(what: str, graph: Graph, params: LstmParams) -> nn.RecurrentPlan:
    element, (_, batch, inputs, units) = sizes_of(what, params, LstmParams)
    return nn.plan_lstm(graph, batch=batch, inputs=inputs, units=units, type=element)
