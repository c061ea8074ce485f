"""GRU of popnn.

    auto output = popnn::gru::gruFwd(graph, params, state, in, weights, &kept, prog)
    output = popnn.gru.gruFwd(graph, params, state, in_, weights, kept, prog)

Source: PopLibs, `popnn/Gru.hpp`, `popnn/GruDef.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    BASIC_GRU_CELL_CANDIDATE BASIC_GRU_CELL_RESET_GATE BASIC_GRU_CELL_UPDATE_GATE
    BasicGruCellUnit GruParams GruWeights Intermediates createInitialState createInput
    createWeights getDefaultBasicGruCellOrder gruBwdWithWU gruFwd
    """,
    "popnn.gru",
)


GruWeights = recurrent.Weights


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
class GruParams(recurrent.RecurrentParams):
    """Parameters of a layer, `popnn::gru::GruParams`.

    All cells have the first eight: `dataType`, `batchSize`, `timeSteps`, `layerSizes`,
    `activation`, `recurrentActivation`, `outputFullSequence` and `calcInputGradients`.

    Attributes:
        cellOrder: the order of the gates in weights.
        resetAfter: whether the reset gate comes after the product, with two biases.
        varTimeSteps: the number of steps of each sequence, UNSIGNED_INT [batchSize] or [1];
            None if all sequences have all steps. Outputs after the end of a sequence are 0.
    """

    cellOrder: Sequence[BasicGruCellUnit] = tuple(BasicGruCellUnit)
    resetAfter: bool = False
    varTimeSteps: Tensor | None = None


def getDefaultBasicGruCellOrder() -> list[BasicGruCellUnit]:
    """Return the default order of the gates: reset, update, candidate."""
    return list(BasicGruCellUnit)


_CELL = recurrent.RecurrentCell(
    "gru",
    GruParams,
    BasicGruCellUnit,
    lambda graph, params, **how: nn.plan_gru(graph, reset_after=params.resetAfter, **how),
    lambda tensor, name: tensor(name),
)

createInput = checked("popnn.gru", "createInput")(with_first(recurrent.create_input, _CELL))
createInitialState = checked("popnn.gru", "createInitialState")(
    with_first(recurrent.create_state, _CELL)
)
createWeights = checked("popnn.gru", "createWeights")(with_first(recurrent.create_weights, _CELL))


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
    options: recurrent.Options = None,
    cache: object = None,
) -> Tensor:
    """Record a layer, `popnn::gru::gruFwd`.

    Args:
        graph: the graph of the tensors.
        params: parameters of the layer.
        state_init: the output before the first step.
        in_: the inputs, [timeSteps, batch, inputs].
        weights: the weights, with gates in the order of `params.cellOrder`.
        intermediates: receives the values that the backward pass needs; None for inference.
        prog: where the steps go.
        debug_context: name of the outputs.
        options: PopLibs' options, which do not change results.
        cache: not used.

    Returns:
        The outputs [timeSteps, batch, units], or the last one.

    Raises:
        whatever `poplite.ops.nn.gru` raises; InvalidOption for unsupported parameters.
    """
    call = recurrent.RecurrentCall(_CELL, "gruFwd", params, options)
    call.check("in", in_, call.inputs)
    call.check("stateInit", state_init, call.of_step)
    kept = Intermediates() if intermediates is None else call.kept(intermediates)
    made = kept.forward = nn.gru(
        in_,
        call.weights(weights),
        state_init,
        reset_after=params.resetAfter,
        lengths=call.lengths(),
        inference=intermediates is None,
        name=debug_context or "gru",
        program=prog,
    )
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
    options: recurrent.Options = None,
    cache: object = None,
) -> tuple[Tensor, Tensor | None, GruWeights]:
    """Record the gradients of a layer, `popnn::gru::gruBwdWithWU`.

    Args:
        graph: the graph of the tensors.
        params: parameters of the layer.
        prog: where the steps go.
        fwd_output_init: as in `gruFwd`.
        fwd_intermediates: the intermediates that `gruFwd` filled.
        weights: as in `gruFwd`.
        input: as in `gruFwd`.
        output: the outputs that `gruFwd` returned.
        output_grad: the gradient with respect to the output.
        debug_context: name of the steps.
        options: PopLibs' options, which do not change results.
        cache: not used.

    Returns:
        The gradients with respect to the initial output, the inputs (None if the parameters ask
        for none), and the weights. C++ returns the first, and stores the others in arguments.

    Raises:
        whatever `poplite.ops.nn.gru_gradient` and `gruFwd` raise.
    """
    call = recurrent.RecurrentCall(_CELL, "gruBwdWithWU", params, options)
    call.check("input", input, call.inputs)
    call.check_results(output, output_grad)
    call.check("fwdOutputInit", fwd_output_init, call.of_step)
    given, name = call.weights(weights), debug_context or "gru_gradient"
    by_outputs, end = call.by_outputs(graph, output_grad, name)
    made = nn.gru_gradient(
        input,
        given,
        call.kept(fwd_intermediates).forward,
        by_outputs,
        by_output=end,
        reset_after=params.resetAfter,
        name=name,
        program=prog,
    )
    by_input = made.x if params.calcInputGradients else None
    return made.output, by_input, call.by_weights(made.weights)
