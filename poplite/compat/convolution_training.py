"""Gradients, biases and updates of poplin's convolutions, for `poplite.compat.poplin`.

    poplin::convolution(graph, z, weights, poplin::getGradientParams(params), true, prog)
    poplin.convolution(graph, z, weights, poplin.getGradientParams(params), True, prog)

Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvUtil.hpp`.
"""

from __future__ import annotations

from poplite import ops
from poplite.compat.arguments import channels_of, checked, number_of
from poplite.compat.convolution_params import (
    ConvParams,
    InputTransform,
    OutputTransform,
    resolved,
)
from poplite.compat.convolutions import (
    Options,
    check_like_params,
    check_options,
    convolution,
    seen_input,
    transposed,
    zeros,
)
from poplite.errors import TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.convolution.request import dilated
from poplite.ops.operands import beside
from poplite.program import Sequence as Steps


@checked("poplin")
def getGradientParams(params: ConvParams) -> ConvParams:
    """Return the parameters of the convolution that makes the gradient by the input.

    Its operands are the gradient of the output, and the weights with `transposeAndFlipWeights`.

    Args:
        params: of the convolution.

    Raises:
        the errors of `ConvParams.getOutputFieldShape`.

    >>> by_two = OutputTransform(stride=[2])
    >>> params = ConvParams("half", 1, [8], [3], 2, 4, 1, outputTransform=by_two)
    >>> back = getGradientParams(params)
    >>> params.getOutputFieldShape(), back.getOutputFieldShape(), back.getNumOutputChans()
    ([3], [8], 2)
    """
    asked = resolved("poplin.getGradientParams", params)
    own, kernel, out, padding = asked.own, asked.kernel, asked.out, []
    for d, each in enumerate(asked.dimensions):
        before, behind = (each.places - 1 + side for side in out.truncation[d])
        # Behind the last element that a stride keeps there may be some that nothing depends on.
        padding.append((before, behind + each.left - dilated(each.count, each.stride)))
    lower, upper = ([pair[side] for pair in padding] for side in (0, 1))
    return ConvParams(
        params.inputType,
        params.batchSize,
        asked.output_shape[2:],
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


@checked("poplin")
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
        the errors of `poplite.ops.convolution_weights_gradient`; TensorCreationError for operands
        of other shapes than the parameters say, and InvalidOption for an unknown option.
    """
    what, name = "calculateWeightDeltas", debug_context or "weightDeltas"
    asked, memory = resolved(f"poplin.{what}", params), check_options(what, options)
    check_like_params(what, "zDeltas", zDeltas, asked.output_shape, asked.element)
    check_like_params(what, "activations", activations, asked.input_shape, asked.element)
    if asked.is_empty:
        return zeros(graph, asked, asked.weights_shape, name, prog)
    for d, (low, high) in enumerate(asked.out.padding):
        zDeltas = zDeltas.slice(low, zDeltas.shape[2 + d] - high, 2 + d)
    made = ops.convolution_weights_gradient(
        zDeltas,
        seen_input(asked, activations),
        [each.taps for each in asked.dimensions],
        **asked.spacing,
        groups=asked.groups,
        memory=memory,
        name=name,
        program=prog,
    )
    found = made.reshape((*asked.weights_shape[:2], *made.shape[1:]))
    cut = asked.kernel.truncation
    return ops.pad(found, [(0, 0)] * 3 + cut) if any(map(any, cut)) else found


@checked("poplin")
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
        the errors of `calculateWeightDeltas`, for weights too; InvalidOption for another scale.
    """
    what, name = "convolutionWeightUpdate", debug_context or "weightUpdate"
    factor, asked = _scalar(what, scale, weights), resolved(f"poplin.{what}", params)
    check_like_params(what, "weights", weights, asked.weights_shape, asked.element)
    deltas = calculateWeightDeltas(
        graph, zDeltas, activations, params, prog, f"{name}/deltas", options, cache
    )
    ops.assign(weights, weights + factor * deltas, name=name, program=prog)


@checked("poplin")
def createBiases(
    graph: Graph, activations: Tensor, debug_context: str = "", options: Options = None
) -> Tensor:
    """Make a variable for biases of an output, one for each channel, `poplin::createBiases`.

    Raises:
        TensorCreationError: for an output without channels, and InvalidOption for an unknown
            option.
    """
    check_options("createBiases", options)
    channels_of("poplin.createBiases", "activations", activations)
    return graph.add_variable(
        activations.element_type,
        (activations.shape[1],),
        debug_context or "biases",
        mapping="linear",
    )


@checked("poplin")
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
        the errors of `poplite.ops.assign`; TensorCreationError for other biases than one for each
        channel, and InvalidOption for an unknown option.
    """
    check_options("addBias", options)
    _check_biases("addBias", in_, biases)
    along = biases.reshape((len(biases), *[1] * (in_.rank - 2)))
    ops.assign(in_, in_ + along, name=debug_context or "addBias", program=prog)


@checked("poplin")
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
        the errors of `addBias`, and InvalidOption for a scale of more than one number.
    """
    check_options("convolutionBiasUpdate", options)
    factor = _scalar("convolutionBiasUpdate", scale, biases)
    _check_biases("convolutionBiasUpdate", zDeltas, biases)
    total = ops.sum(zDeltas, [0, *range(2, zDeltas.rank)])
    name = debug_context or "biasUpdate"
    ops.assign(biases, biases + factor * total, name=name, program=prog)


@checked("poplin")
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


@checked("poplin")
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
    asked, name = resolved("poplin.createConvOutput", params), debug_context or "out"
    return graph.add_variable(asked.element, asked.output_shape, name, mapping="linear")


@checked("poplin")
def weightsTransposeChansFlipXY(
    graph: Graph, weightsIn: Tensor, weightsOut: Tensor, prog: Steps, debug_context: str = ""
) -> None:
    """Record a copy of weights with channels swapped and the kernel turned around.

    Raises:
        the errors of `poplite.ops.copy`; TensorCreationError for weights without a kernel.
    """
    if weightsIn.rank < 3:
        raise TensorCreationError(
            f"poplin.weightsTransposeChansFlipXY: '{weightsIn.name}' is of shape {weightsIn.shape}",
            fix="[groups, output channels, input channels, kernel ...]",
        )
    ops.copy(transposed(weightsIn), weightsOut, program=prog)


def _check_biases(what: str, x: Tensor, biases: Tensor) -> None:
    """Refuse biases of another shape than one for each channel."""
    if biases.shape != (channels := channels_of(f"poplin.{what}", "x", x),):
        raise TensorCreationError(
            f"poplin.{what}: biases '{biases.name}' have shape {biases.shape}, '{x.name}' has "
            f"{channels:,} channels",
            fix=f"biases of shape ({channels},)",
        )


def _scalar(what: str, scale: object, like: Tensor) -> Tensor | float:
    """Return a scale as an operand that any shape takes, or refuse one that is not one number."""
    if isinstance(scale, Tensor):
        if scale.num_elements != 1 or scale.element_type is not like.element_type:
            raise TensorCreationError(
                f"poplin.{what}: scale '{scale.name}' is {type_and_shape(scale)}",
                found=f"'{like.name}' is {type_and_shape(like)}",
                fix=f"a number, or a tensor of one element of {like.element_type!r}",
            )
        return scale.reshape(())
    if isinstance(scale, str):
        raise beside(f"poplin.{what}", "scale", scale, "a number, or a tensor of one element")
    return number_of(f"poplin.{what}", "scale", scale)


def _split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the first and the second numbers of pairs."""
    return [low for low, _ in pairs], [high for _, high in pairs]
