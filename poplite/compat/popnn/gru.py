"""GRU of popnn.

    auto output = popnn::gru::gruFwd(graph, params, state, in, weights, &kept, prog)
    output = popnn.gru.gruFwd(graph, params, state, in_, weights, kept, prog)

Source: PopLibs, `popnn/Gru.hpp`, `popnn/GruDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    BASIC_GRU_CELL_CANDIDATE BASIC_GRU_CELL_RESET_GATE BASIC_GRU_CELL_UPDATE_GATE
    BasicGruCellUnit GruParams GruWeights Intermediates createInitialState createInput
    createWeights getDefaultBasicGruCellOrder gruBwdWithWU gruFwd
    """,
    "popnn.gru",
)


GruWeights = Weights


class BasicGruCellUnit(Enumeration):
    """The gates of a cell, in their default order."""

    BASIC_GRU_CELL_RESET_GATE = 0
    BASIC_GRU_CELL_UPDATE_GATE = 1
    BASIC_GRU_CELL_CANDIDATE = 2


(
    BASIC_GRU_CELL_RESET_GATE,
    BASIC_GRU_CELL_UPDATE_GATE,
    BASIC_GRU_CELL_CANDIDATE,
) = BasicGruCellUnit


@dataclass(slots=True)
class GruParams:
    """Parameters of a layer, `popnn::gru::GruParams`.

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
        resetAfter: whether the reset gate comes after the product, with two biases.
        varTimeSteps: how many of the steps each sequence has, UNSIGNED_INT [batchSize] or [1];
            None where all have all of them. Outputs behind the end of a sequence are 0.
    """

    dataType: ElementTypeLike
    batchSize: int
    timeSteps: int
    layerSizes: Sequence[int]
    activation: NonLinearityType = NonLinearityType.TANH
    recurrentActivation: NonLinearityType = NonLinearityType.SIGMOID
    outputFullSequence: bool = True
    calcInputGradients: bool = True
    cellOrder: Sequence[BasicGruCellUnit] = tuple(BasicGruCellUnit)
    resetAfter: bool = False
    varTimeSteps: Tensor | None = None


def getDefaultBasicGruCellOrder() -> list[BasicGruCellUnit]:
    """Return the default order of the gates: reset, update, candidate."""
    return list(BasicGruCellUnit)


@checked("popnn.gru")
def createInput(
    graph: Graph,
    params: GruParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Make the inputs of a sequence, [timeSteps, batch, inputs], `popnn::gru::createInput`."""
    check_recurrent_options("gru.createInput", options)
    return _plan("gru.createInput", graph, params).create_input(
        params.timeSteps, debug_context or "input"
    )


@checked("popnn.gru")
def createInitialState(
    graph: Graph,
    params: GruParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Make the output before the first step, `popnn::gru::createInitialState`."""
    check_recurrent_options("gru.createInitialState", options)
    element, (_, batch, _, units) = sizes_of("gru.createInitialState", params, GruParams)
    return state_like(graph, element, (batch, units), debug_context or "state")


@checked("popnn.gru")
def createWeights(
    graph: Graph,
    params: GruParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> GruWeights:
    """Make the weights, `popnn::gru::createWeights`."""
    check_recurrent_options("gru.createWeights", options)
    plan = _plan("gru.createWeights", graph, params)
    return GruWeights(*plan.create_weights(debug_context or "weights"))


@checked("popnn.gru")
def gruFwd(
    graph: Graph,
    params: GruParams,
    state_init: Tensor,
    in_: Tensor,
    weights: GruWeights,
    intermediates: Intermediates | None,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Record a layer, `popnn::gru::gruFwd`.

    Args:
        graph: of the tensors.
        params: of the layer.
        state_init: the output before the first step.
        in_: [timeSteps, batch, inputs].
        weights: in the order of `params.cellOrder`.
        intermediates: takes what the backward pass needs; None for inference.
        prog: where the steps go.
        debug_context: name of the outputs.
        options: those of PopLibs, which change no result.
        cache: is not used.

    Returns:
        The outputs [timeSteps, batch, units], or the last one.

    Raises:
        the errors of `poplite.ops.nn.gru`; InvalidOption for parameters that are not there.
    """
    what = "gru.gruFwd"
    check_recurrent_options(what, options)
    element, (steps, batch, inputs, units) = sizes_of(what, params, GruParams)
    check_like_params(what, "in", in_, element, (steps, batch, inputs))
    check_like_params(what, "stateInit", state_init, element, (batch, units))
    places = gate_order(what, params.cellOrder, BasicGruCellUnit)
    kept = None if intermediates is None else intermediates_of(what, intermediates)
    made = nn.gru(
        in_,
        weights_of(what, weights, places),
        state_init,
        reset_after=params.resetAfter,
        lengths=lengths_of(what, params),
        inference=kept is None,
        name=debug_context or "gru",
        program=prog,
    )
    if kept is not None:
        kept.forward = made
    return made.outputs if params.outputFullSequence else made.output


@checked("popnn.gru")
def gruBwdWithWU(
    graph: Graph,
    params: GruParams,
    prog: Steps,
    fwd_output_init: Tensor,
    fwd_intermediates: Intermediates,
    weights: GruWeights,
    input: Tensor,  # noqa: A002
    output: Tensor,
    output_grad: Tensor,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> tuple[Tensor, Tensor | None, GruWeights]:
    """Record the gradients of a layer, `popnn::gru::gruBwdWithWU`.

    Args:
        graph: of the tensors.
        params: of the layer.
        prog: where the steps go.
        fwd_output_init: as in `gruFwd`.
        fwd_intermediates: what `gruFwd` filled.
        weights: as in `gruFwd`.
        input: likewise.
        output: what `gruFwd` returned.
        output_grad: the gradient by it.
        debug_context: name of the steps.
        options: those of PopLibs, which change no result.
        cache: is not used.

    Returns:
        The gradients by the first output, by the inputs (None where the parameters ask for none),
        and by the weights. C++ returns the first, and stores the others in arguments.

    Raises:
        the errors of `poplite.ops.nn.gru_gradient`, and of `gruFwd`.
    """
    what = "gru.gruBwdWithWU"
    check_recurrent_options(what, options)
    element, (steps, batch, inputs, units) = sizes_of(what, params, GruParams)
    check_like_params(what, "input", input, element, (steps, batch, inputs))
    shape = (steps, batch, units) if params.outputFullSequence else (batch, units)
    for role, each in zip(("output", "outputGrad"), (output, output_grad), strict=True):
        check_like_params(what, role, each, element, shape)
    check_like_params(what, "fwdOutputInit", fwd_output_init, element, (batch, units))
    places = gate_order(what, params.cellOrder, BasicGruCellUnit)
    name = debug_context or "gru_gradient"
    by_outputs, end = sequence_gradient(
        graph, params.outputFullSequence, output_grad, (steps, batch, units), name
    )
    made = nn.gru_gradient(
        input,
        weights_of(what, weights, places),
        intermediates_of(what, fwd_intermediates).forward,
        by_outputs,
        by_output=end,
        reset_after=params.resetAfter,
        name=name,
        program=prog,
    )
    by_weights = GruWeights(*ordered_gates(made.weights, inverse(places)))
    return made.output, made.x if params.calcInputGradients else None, by_weights


def _plan(what: str, graph: Graph, params: GruParams) -> nn.RecurrentPlan:
    element, (_, batch, inputs, units) = sizes_of(what, params, GruParams)
    how = {"batch": batch, "inputs": inputs, "units": units}
    return nn.plan_gru(graph, **how, reset_after=params.resetAfter, type=element)
