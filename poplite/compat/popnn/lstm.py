"""LSTM of popnn.

    std::tie(output, cell) = popnn::lstm::lstmFwd(graph, params, state, in, weights, &kept, prog)
    output, cell = popnn.lstm.lstmFwd(graph, params, state, in_, weights, kept, prog)

Source: PopLibs, `popnn/Lstm.hpp`, `popnn/LstmDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from poplite.compat.arguments import checked, with_first
from poplite.compat.popnn import recurrent
from poplite.compat.popnn.recurrent import Intermediates as Intermediates
from poplite.errors import Enumeration
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import nn
from poplite.poplar.absent import shown as _shown
from poplite.program import Sequence as Steps

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


LstmWeights = recurrent.Weights


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
    """The state that a cell keeps between steps, or its gradients; both [batch, units]."""

    output: Tensor
    cellState: Tensor


@dataclass(slots=True)
class LstmParams(recurrent.RecurrentParams):
    """Parameters of a layer, `popnn::lstm::LstmParams`.

    All cells have the first eight: `dataType`, `batchSize`, `timeSteps`, `layerSizes`,
    `activation`, `recurrentActivation`, `outputFullSequence` and `calcInputGradients`.

    Attributes:
        cellOrder: the order of the gates in weights.
        varTimeSteps: the number of steps of each sequence, UNSIGNED_INT [batchSize] or [1];
            None if all sequences have all steps. Outputs after the end of a sequence are 0.
        preserveFinalState: no effect: the last state is always that after the last step of each
            sequence, which PopLibs guarantees only if this is set.
    """

    cellOrder: Sequence[BasicLstmCellUnit] = tuple(BasicLstmCellUnit)
    varTimeSteps: Tensor | None = None
    preserveFinalState: bool = False


def getDefaultBasicLstmCellOrder() -> list[BasicLstmCellUnit]:
    """Return the default order of the gates: forget, input, candidate, output."""
    return list(BasicLstmCellUnit)


_CELL = recurrent.RecurrentCell(
    "lstm",
    LstmParams,
    BasicLstmCellUnit,
    lambda graph, params, **how: nn.plan_lstm(graph, **how),
    lambda tensor, name: LstmState(tensor(f"{name}/output"), tensor(f"{name}/cell")),
)

createInput = checked("popnn.lstm", "createInput")(with_first(recurrent.create_input, _CELL))
createInitialState = checked("popnn.lstm", "createInitialState")(
    with_first(recurrent.create_state, _CELL)
)
createWeights = checked("popnn.lstm", "createWeights")(with_first(recurrent.create_weights, _CELL))


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
    options: recurrent.Options = None,
    cache: object = None,
) -> tuple[Tensor, Tensor]:
    """Record a layer, `popnn::lstm::lstmFwd`.

    Args:
        graph: the graph of the tensors.
        params: parameters of the layer.
        state_init: the state before the first step.
        in_: the inputs, [timeSteps, batch, inputs].
        weights: the weights, with gates in the order of `params.cellOrder`.
        intermediates: receives the values that the backward pass needs; None for inference.
        prog: where the steps go.
        debug_context: name of the outputs.
        options: PopLibs' options, which do not change results.
        cache: not used.

    Returns:
        The outputs [timeSteps, batch, units], or the last one, and the last cell state.

    Raises:
        whatever `poplite.ops.nn.lstm` raises; InvalidOption for unsupported parameters.
    """
    call = recurrent.RecurrentCall(_CELL, "lstmFwd", params, options)
    call.check("in", in_, call.inputs)
    state = call.state("stateInit", state_init, LstmState)
    kept = Intermediates() if intermediates is None else call.kept(intermediates)
    made = kept.forward = nn.lstm(
        in_,
        call.weights(weights),
        nn.LstmState(*state),
        lengths=call.lengths(),
        inference=intermediates is None,
        name=debug_context or "lstm",
        program=prog,
    )
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
    options: recurrent.Options = None,
    cache: object = None,
) -> tuple[LstmState, Tensor | None, LstmWeights]:
    """Record the gradients of a layer, `popnn::lstm::lstmBwdWithWU`.

    Args:
        graph: the graph of the tensors.
        params: parameters of the layer.
        prog: where the steps go.
        fwd_state_init: as in `lstmFwd`.
        fwd_intermediates: the intermediates that `lstmFwd` filled.
        weights: as in `lstmFwd`.
        input: as in `lstmFwd`.
        output: the outputs that `lstmFwd` returned.
        output_grad: the gradient with respect to the output.
        last_cell_state_grad: the gradient with respect to the last cell state.
        debug_context: name of the steps.
        options: PopLibs' options, which do not change results.
        cache: not used.

    Returns:
        The gradients with respect to the initial state, the inputs (None if the parameters request
        none), and the weights. C++ returns the first and stores the others in arguments.

    Raises:
        whatever `poplite.ops.nn.lstm_gradient` and `lstmFwd` raise.
    """
    call = recurrent.RecurrentCall(_CELL, "lstmBwdWithWU", params, options)
    call.check("input", input, call.inputs)
    call.check_results(output, output_grad)
    call.state("fwdStateInit", fwd_state_init, LstmState)
    given, name = call.weights(weights), debug_context or "lstm_gradient"
    by_outputs, end = call.by_outputs(graph, output_grad, name)
    by_state = None
    if end is not None or last_cell_state_grad is not None:
        zero = graph.add_constant(call.element, call.of_step, 0, f"{name}/zero", mapping="linear")
        by_state = nn.LstmState(
            zero if end is None else end,
            zero if last_cell_state_grad is None else last_cell_state_grad,
        )
    made = nn.lstm_gradient(
        input,
        given,
        call.kept(fwd_intermediates).forward,
        by_outputs,
        by_state=by_state,
        name=name,
        program=prog,
    )
    by_input = made.x if params.calcInputGradients else None
    return LstmState(*made.state), by_input, call.by_weights(made.weights)
