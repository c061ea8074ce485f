"""Gradients, biases and updates of poplin's convolutions, for `poplite.compat.poplin`.

    poplin::convolution(graph, z, weights, poplin::getGradientParams(params), true, prog)
    poplin.convolution(graph, z, weights, poplin.getGradientParams(params), True, prog)

Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvUtil.hpp`.
"""

from __future__ import annotations

from typing import Any

from poplite import ops
from poplite.compat.convolutions import (
    ConvParams,
    InputTransform,
    Options,
    OutputTransform,
    check_options,
    convolution,
    of_dimensions,
    seen_input,
    sides_of,
)
from poplite.errors import TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Sequence as Steps
from poplite.source import here


def getGradientParams(params: ConvParams) -> ConvParams:
    """Return the parameters of the convolution that makes the gradient by the input.

    Its operands are the gradient of the output, and the weights with `transposeAndFlipWeights`.

    Args:
        params: of the convolution.

    Raises:
        TensorCreationError: for transforms of another number of dimensions.

    >>> by_two = OutputTransform(stride=[2])
    >>> params = ConvParams("half", 1, [8], [3], 2, 4, 1, outputTransform=by_two)
    >>> back = getGradientParams(params)
    >>> params.getOutputFieldShape(), back.getOutputFieldShape(), back.getNumOutputChans()
    ([3], [8], 2)
    """
    own, kernel, out = (
        sides_of(params, each)
        for each in (params.inputTransform, params.kernelTransform, params.outputTransform)
    )
    padding = []
    for d, each in enumerate(of_dimensions(params)):
        reach = (each.taps - 1) * each.dilation + sum(kernel.padding[d])
        room = 1 + (each.size - 1) * each.between + sum(own.padding[d])
        kept = room - reach - sum(out.truncation[d])
        before, behind = out.truncation[d]
        # Behind the last element that a stride keeps there may be some that nothing depends on.
        padding.append((reach + before, reach + behind + (kept - 1) % each.stride))
    lower, upper = ([pair[side] for pair in padding] for side in (0, 1))
    return ConvParams(
        params.dataType,
        params.batchSize,
        params.getOutputFieldShape(),
        params.kernelShape,
        params.outputChannelsPerConvGroup,
        params.inputChannelsPerConvGroup,
        params.numConvGroups,
        InputTransform(*_split(out.padding), out.distance, lower, upper, own.flip),
        InputTransform(
            *_split([pair[::-1] for pair in kernel.truncation]),
            kernel.distance,
            *_split([pair[::-1] for pair in kernel.padding]),
            [one != other for one, other in zip(kernel.flip, own.flip, strict=True)],
        ),
        OutputTransform(*_split(own.padding), own.distance, *_split(own.truncation)),
    )


def calculateWeightDeltas(
    graph: Graph,
    zDeltas: Tensor,
    activations: Tensor,
    params: ConvParams,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Record the gradient of a convolution by its weights, `poplin::calculateWeightDeltas`.

    Args:
        graph: of the operands.
        zDeltas: the gradient of the output.
        activations: the input.
        params: of the convolution.
        prog: where the steps go.
        debug_context: name of the result.
        options: as of `convolution`.
        cache: of plans, which poplite keeps by itself.

    Returns:
        A tensor [groups, output channels, input channels, kernel ...].

    Raises:
        the errors of `poplite.ops.convolution_weights_gradient`, and InvalidOption for an unknown
        option.
    """
    memory = check_options("calculateWeightDeltas", options)
    after = sides_of(params, params.outputTransform).padding
    how = of_dimensions(params)
    for d, (low, high) in enumerate(after):
        zDeltas = zDeltas.slice(low, zDeltas.shape[2 + d] - high, 2 + d)
    made = ops.convolution_weights_gradient(
        zDeltas,
        seen_input(params, activations),
        [each.taps for each in how],
        stride=[each.stride for each in how],
        padding=[each.padding for each in how],
        dilation=[each.dilation for each in how],
        input_dilation=[each.between for each in how],
        flip=[each.flip for each in how],
        groups=params.numConvGroups,
        memory=memory,
        name=debug_context or "weightDeltas",
        program=prog,
    )
    shape = params.numConvGroups, params.outputChannelsPerConvGroup, *made.shape[1:]
    cut = sides_of(params, params.kernelTransform).truncation
    found = made.reshape(shape)
    return ops.pad(found, [(0, 0)] * 3 + cut) if any(map(any, cut)) else found


def convolutionWeightUpdate(
    graph: Graph,
    zDeltas: Tensor,
    weights: Tensor,
    activations: Tensor,
    params: ConvParams,
    scale: Tensor | float,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> None:
    """Record `weights += scale * deltas`, `poplin::convolutionWeightUpdate`.

    A step of descent has a negative scale: a number, or a tensor of one element.

    Raises:
        the errors of `calculateWeightDeltas`.
    """
    name = debug_context or "weightUpdate"
    deltas = calculateWeightDeltas(
        graph, zDeltas, activations, params, prog, f"{name}/deltas", options, cache
    )
    ops.assign(weights, weights + _scalar(scale) * deltas, name=name, program=prog)


def createBiases(
    graph: Graph, activations: Tensor, debug_context: str = "", options: Options = None
) -> Tensor:
    """Make a variable for biases of an output, one for each channel, `poplin::createBiases`.

    Raises:
        TensorCreationError: for an output without channels, and InvalidOption for an unknown
            option.
    """
    check_options("createBiases", options)
    if activations.rank < 2:
        raise TensorCreationError(
            f"poplin.createBiases: '{activations.name}' is of shape {activations.shape}",
            at=here(),
            fix="[batch, channels, field ...]",
        )
    return graph.add_variable(
        activations.element_type,
        (activations.shape[1],),
        debug_context or "biases",
        mapping="linear",
    )


def addBias(
    graph: Graph,
    in_: Tensor,
    biases: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None:
    """Record `in += biases` by channel, in place, `poplin::addBias`.

    Raises:
        the errors of `poplite.ops.assign`, and InvalidOption for an unknown option.
    """
    check_options("addBias", options)
    along = biases.reshape((len(biases), *[1] * (in_.rank - 2)))
    ops.assign(in_, in_ + along, name=debug_context or "addBias", program=prog)


def convolutionBiasUpdate(
    graph: Graph,
    zDeltas: Tensor,
    biases: Tensor,
    scale: Tensor | float,
    options: Options,
    prog: Steps,
    debug_context: str = "",
) -> None:
    """Record `biases += scale * (sum of deltas by channel)`, `poplin::convolutionBiasUpdate`.

    Raises:
        the errors of `poplite.ops.assign`, and InvalidOption for an unknown option.
    """
    check_options("convolutionBiasUpdate", options)
    total = ops.sum(zDeltas, [0, *range(2, zDeltas.rank)])
    name = debug_context or "biasUpdate"
    ops.assign(biases, biases + _scalar(scale) * total, name=name, program=prog)


def convolutionWithOutput(
    graph: Graph,
    in_: Tensor,
    weights: Tensor,
    out: Tensor,
    params: ConvParams,
    transposeAndFlipWeights: bool,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> None:
    """Record a convolution that goes into a tensor, `poplin::convolutionWithOutput`.

    Raises:
        the errors of `convolution`.
    """
    name = debug_context or "conv"
    made = convolution(
        graph, in_, weights, params, transposeAndFlipWeights, prog, f"{name}/made", options, cache
    )
    ops.copy(made, out, program=prog)


def createConvOutput(
    graph: Graph,
    params: ConvParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Make a variable for an output, linear over tiles, `poplin::createConvOutput`.

    Raises:
        the errors of `graph.add_variable`, and InvalidOption for an unknown option.
    """
    check_options("createConvOutput", options)
    shape = params.batchSize, params.getNumOutputChans(), *params.getOutputFieldShape()
    return graph.add_variable(params.dataType, shape, debug_context or "out", mapping="linear")


def weightsTransposeChansFlipXY(
    graph: Graph, weightsIn: Tensor, weightsOut: Tensor, prog: Steps, debug_context: str = ""
) -> None:
    """Record a copy of weights with channels swapped and the kernel turned around.

    Raises:
        the errors of `poplite.ops.copy`.
    """
    turned = weightsIn.dim_shuffle((0, 2, 1, *range(3, weightsIn.rank)))
    for d in range(3, weightsIn.rank):
        turned = turned.reverse(d)
    ops.copy(turned, weightsOut, program=prog)


def _scalar(scale: Tensor | float) -> Any:
    """Return a scale as an operand that any shape takes."""
    return scale.flatten()[0] if isinstance(scale, Tensor) else scale


def _split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the first and the second numbers of pairs."""
    return [low for low, _ in pairs], [high for _, high in pairs]
