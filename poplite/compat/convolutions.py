"""Poplin's convolutions, which `poplite.compat.poplin` exports.

    poplin::convolution(graph, in, weights, params, false, prog, "conv", options, &cache)
    poplin.convolution(graph, in_, weights, params, False, prog, "conv", options, cache)

All of `poplin::ConvParams` is supported: where `poplite.ops.convolution` has no parameter, a view
of an operand or a different padding has the same effect.

Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvParams.hpp`, `poplin/ConvUtil.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite import ops
from poplite.compat.arguments import (
    Options as Options,
    channels_of,
    check_known,
    checked,
    memory_share,
    number_of,
)
from poplite.compat.convolution_params import (
    Along,
    ConvParams,
    InputTransform,
    OutputTransform,
    Resolved,
    resolved,
)
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.operands import invalid_value
from poplite.ops.products.convolution_request import dilated
from poplite.program import Sequence as Steps

_KNOWN = (
    "availableMemoryProportion",
    "enableConvDithering",
    "enableFastReduce",
    "enableMultiStageReduce",
    "partialsType",
    "partialsType.interIPU",
    "partialsType.interTile",
    "pass",
    "remapOutputTensor",
    "use128BitConvUnitLoad",
)


@checked("poplin")
def convolution(
    graph: Graph,
    in_: Tensor,
    weights: Tensor,
    params: ConvParams,
    transposeAndFlipWeights: bool,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Record a convolution, `poplin::convolution`.

    Args:
        graph: the graph of the operands.
        in_: [batch, channels, field ...].
        weights: [groups, output channels, input channels, kernel ...]; with
            `transposeAndFlipWeights`, the two channel dimensions are swapped.
        params: parameters of the convolution.
        transposeAndFlipWeights: whether the channels of the weights are swapped and the kernel is
            reversed.
        prog: where the steps go.
        debug_context: name of the result.
        options: those of PopLibs; `availableMemoryProportion` is used, the others have no effect.
        cache: PopLibs' cache of plans; not used, since poplite has its own.

    Returns:
        A new tensor [batch, output channels, output field ...].

    Raises:
        whatever `poplite.ops.convolution` raises; TensorCreationError for operands whose shapes do
        not match the parameters, and InvalidOption for an unknown option.
    """
    asked = resolved("poplin.convolution", params)
    memory, name = check_options("convolution", options), debug_context or "conv"
    groups, outputs, inputs, *taps = asked.weights_shape
    channels = (inputs, outputs) if transposeAndFlipWeights else (outputs, inputs)
    check_like_params("convolution", "in", in_, asked.input_shape, asked.element)
    check_like_params("convolution", "weights", weights, (groups, *channels, *taps), asked.element)
    if asked.is_empty:
        return zeros(graph, asked, asked.output_shape, name, prog)
    if transposeAndFlipWeights:
        weights = transposed(weights)
    for d, sides in enumerate(asked.kernel.truncation):
        weights = _cut(weights, 3 + d, sides, flip=False)
    made = ops.convolution(
        seen_input(asked, in_),
        weights.reshape((groups * outputs, *weights.shape[2:])),
        **asked.spacing,
        groups=groups,
        memory=memory,
        name=name,
        program=prog,
    )
    after = asked.out.padding
    return ops.pad(made, [(0, 0), (0, 0), *after]) if any(map(any, after)) else made


def seen_input(asked: Resolved, x: Tensor) -> Tensor:
    """Return the view of its input that a convolution reads: truncated, perhaps reversed."""
    for d, sides in enumerate(asked.own.truncation):
        x = _cut(x, 2 + d, sides, flip=asked.own.flip[d])
    return x


def transposed(weights: Tensor) -> Tensor:
    """Return weights with their channels swapped and the kernel reversed."""
    weights = weights.dim_shuffle((0, 2, 1, *range(3, weights.rank)))
    for d in range(3, weights.rank):
        weights = weights.reverse(d)
    return weights


def zeros(graph: Graph, asked: Resolved, shape: tuple[int, ...], name: str, prog: Steps) -> Tensor:
    """Return a new tensor, and record the step that sets its elements to 0."""
    made = graph.add_variable(asked.element, shape, name, mapping="linear")
    return ops.zero(made, name=name, program=prog)


@checked("poplin")
def createInput(
    graph: Graph,
    params: ConvParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Create an input mapped as planned, `poplin::createInput`: [batch, channels, field ...].

    It is linear over tiles if no output reads an element with a weight, so that all outputs are 0.

    Raises:
        whatever `poplite.ops.plan_convolution` raises, and InvalidOption for an unknown option.
    """
    asked, name = resolved("poplin.createInput", params), debug_context or "in"
    memory = check_options("createInput", options)
    if asked.is_empty:
        return graph.add_variable(asked.element, asked.input_shape, name, mapping="linear")
    return _planned(graph, asked, memory).create_input(name)


@checked("poplin")
def createWeights(
    graph: Graph,
    params: ConvParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Create weights mapped as planned, `poplin::createWeights`.

    Returns:
        A new tensor [groups, output channels, input channels, kernel ...].

    Raises:
        whatever `createInput` raises.
    """
    asked, name = resolved("poplin.createWeights", params), debug_context or "weights"
    memory = check_options("createWeights", options)
    if asked.is_empty:
        return graph.add_variable(asked.element, asked.weights_shape, name, mapping="linear")
    return _planned(graph, asked, memory).create_weights(name).reshape(asked.weights_shape)


def _cut(x: Tensor, dim: int, sides: tuple[int, int], *, flip: bool) -> Tensor:
    """Return a tensor truncated at its ends, and perhaps reversed."""
    x = x.slice(sides[0], x.shape[dim] - sides[1], dim)
    return x.reverse(dim) if flip else x


def _planned(graph: Graph, asked: Resolved, memory: float) -> ops.ConvolutionPlan:
    """Return a plan for the whole operands, although the convolution may omit parts of them."""
    spacing = asked.spacing
    del spacing["flip"]
    spacing["padding"] = [_whole(asked, d, each) for d, each in enumerate(asked.dimensions)]
    groups, outputs, _, *taps = asked.weights_shape
    return ops.plan_convolution(
        graph,
        batch=asked.input_shape[0],
        field=asked.input_shape[2:],
        inputs=asked.input_shape[1],
        outputs=groups * outputs,
        kernel=taps,
        **spacing,
        groups=groups,
        type=asked.element,
        memory=memory,
    )


def _whole(asked: Resolved, d: int, each: Along) -> tuple[int, int]:
    """Return the padding that gives the same number of outputs for operands without truncation."""
    lower, upper = (
        each.padding[side]
        - asked.own.truncation[d][side] * each.between
        + asked.kernel.truncation[d][side] * each.dilation
        for side in (0, 1)
    )
    return lower, upper


def check_like_params(
    what: str, role: str, x: Tensor, shape: Sequence[int], element: ElementClass
) -> None:
    """Reject a tensor that does not match the parameters."""
    if x.shape != tuple(shape):
        raise TensorCreationError(
            f"poplin.{what}: '{x.name}' has shape {x.shape}, but the parameters say {tuple(shape)}",
            found=f"it was passed as {role}",
            fix="pass parameters that match the operands",
        )
    if x.element_type is not element:
        raise ElementTypeError(
            f"poplin.{what}: '{x.name}' is {x.element_type!r}, but the parameters say {element!r}",
            found=f"it was passed as {role}",
            fix="pass parameters that match the operands",
        )


def check_options(what: str, options: Options) -> float:
    """Return the fraction of memory given in options; reject unknown options."""
    check_known(f"poplin.{what}", options, _KNOWN)
    return memory_share(f"poplin.{what}", options)


# -- gradients, biases and updates -----------------------------------------------------------------
#
#     poplin::convolution(graph, z, weights, poplin::getGradientParams(params), true, prog)
#     poplin.convolution(graph, z, weights, poplin.getGradientParams(params), True, prog)
#
# Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvUtil.hpp`.


@checked("poplin")
def getGradientParams(params: ConvParams) -> ConvParams:
    """Return the parameters of the convolution that computes the gradient of the input.

    Its operands are the gradient of the output, and the weights with `transposeAndFlipWeights`.

    Args:
        params: parameters of the convolution.

    Raises:
        whatever `ConvParams.getOutputFieldShape` raises.

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
        # No output may depend on the elements after the last one that a stride selects.
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
    """Record the gradient of a convolution's weights, `poplin::calculateWeightDeltas`.

    Args:
        graph: the graph of the operands.
        zDeltas: the gradient of the output.
        activations: the input.
        params: parameters of the convolution.
        prog: where the steps go.
        debug_context: name of the result.
        options: as for `convolution`.
        cache: PopLibs' cache of plans; not used, since poplite has its own.

    Returns:
        A tensor [groups, output channels, input channels, kernel ...].

    Raises:
        whatever `poplite.ops.convolution_weights_gradient` raises; TensorCreationError for operands
        whose shapes do not match the parameters, and InvalidOption for an unknown option.
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

    The scale is a number or a tensor of one element; it is negative for gradient descent.

    Raises:
        whatever `calculateWeightDeltas` raises, for weights too; InvalidOption for a wrong scale.
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
    """Create a variable for biases of an output, one for each channel, `poplin::createBiases`.

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
    """Record `in += biases` per channel, in place, `poplin::addBias`.

    Raises:
        whatever `poplite.ops.assign` raises; TensorCreationError unless there is one bias for each
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
    """Record `biases += scale * (sum of deltas per channel)`, `poplin::convolutionBiasUpdate`.

    Raises:
        whatever `addBias` raises, and InvalidOption for a scale of more than one number.
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
    """Record a convolution into an existing tensor, `poplin::convolutionWithOutput`.

    Raises:
        whatever `convolution` raises.
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
    """Create a variable for an output, linear over tiles, `poplin::createConvOutput`.

    Raises:
        whatever `graph.add_variable` raises, and InvalidOption for an unknown option.
    """
    check_options("createConvOutput", options)
    asked, name = resolved("poplin.createConvOutput", params), debug_context or "out"
    return graph.add_variable(asked.element, asked.output_shape, name, mapping="linear")


@checked("poplin")
def weightsTransposeChansFlipXY(
    graph: Graph, weightsIn: Tensor, weightsOut: Tensor, prog: Steps, debug_context: str = ""
) -> None:
    """Record a copy of weights with channels swapped and the kernel reversed.

    Raises:
        whatever `poplite.ops.copy` raises; TensorCreationError for weights without a kernel.
    """
    if weightsIn.rank < 3:
        raise TensorCreationError(
            f"poplin.weightsTransposeChansFlipXY: '{weightsIn.name}' has shape {weightsIn.shape}",
            fix="pass weights of shape [groups, output channels, input channels, kernel ...]",
        )
    ops.copy(transposed(weightsIn), weightsOut, program=prog)


def _check_biases(what: str, x: Tensor, biases: Tensor) -> None:
    """Reject biases unless there is one for each channel."""
    if biases.shape != (channels := channels_of(f"poplin.{what}", "x", x),):
        raise TensorCreationError(
            f"poplin.{what}: biases '{biases.name}' have shape {biases.shape}, but '{x.name}' has "
            f"{channels:,} channels",
            fix=f"pass biases of shape ({channels},)",
        )


def _scalar(what: str, scale: object, like: Tensor) -> Tensor | float:
    """Return a scale as an operand that broadcasts to any shape; reject all but one number."""
    if isinstance(scale, Tensor):
        if scale.num_elements != 1 or scale.element_type is not like.element_type:
            raise TensorCreationError(
                f"poplin.{what}: scale '{scale.name}' is {type_and_shape(scale)}",
                found=f"'{like.name}' is {type_and_shape(like)}",
                fix=f"pass a number, or a tensor of one element of {like.element_type!r}",
            )
        return scale.reshape(())
    if isinstance(scale, str):
        raise invalid_value(
            f"poplin.{what}", "scale", scale, "a number, or a tensor of one element"
        )
    return number_of(f"poplin.{what}", "scale", scale)


def _split(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the first and the second numbers of pairs."""
    return [low for low, _ in pairs], [high for _, high in pairs]
