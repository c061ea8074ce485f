"""Convolutions of poplin, for `poplite.compat.poplin`.

    poplin::convolution(graph, in, weights, params, false, prog, "conv", options, &cache)
    poplin.convolution(graph, in_, weights, params, False, prog, "conv", options, cache)

All that `poplin::ConvParams` says is done: what `poplite.ops.convolution` has no parameter for is a
view of an operand, or another padding.

Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvParams.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite import ops
from poplite.compat.arguments import checked
from poplite.compat.convolution_params import (
    Along,
    ConvParams,
    Resolved,
    resolved,
)
from poplite.compat.options import Options as Options, check_known, memory_share
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
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
        graph: of the operands.
        in_: [batch, channels, field ...].
        weights: [groups, output channels, input channels, kernel ...]; transposed, with the two
            channels swapped.
        params: what is convolved.
        transposeAndFlipWeights: whether the channels of weights are swapped and the kernel is
            turned around.
        prog: where the steps go.
        debug_context: name of the result.
        options: those of PopLibs; `availableMemoryProportion` is used, the others change nothing.
        cache: of plans, which poplite keeps by itself.

    Returns:
        A new tensor [batch, output channels, output field ...].

    Raises:
        the errors of `poplite.ops.convolution`; TensorCreationError for operands of other shapes
        than the parameters say, and InvalidOption for an unknown option.
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
    """Return what a convolution sees of its input, before padding: a part, perhaps turned."""
    for d, sides in enumerate(asked.own.truncation):
        x = _cut(x, 2 + d, sides, flip=asked.own.flip[d])
    return x


def transposed(weights: Tensor) -> Tensor:
    """Return weights with their channels swapped, and the kernel turned around."""
    weights = weights.dim_shuffle((0, 2, 1, *range(3, weights.rank)))
    for d in range(3, weights.rank):
        weights = weights.reverse(d)
    return weights


def zeros(graph: Graph, asked: Resolved, shape: tuple[int, ...], name: str, prog: Steps) -> Tensor:
    """Return a new tensor, and record the step that makes its elements 0."""
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
    """Make an input where a plan wants it, `poplin::createInput`: [batch, channels, field ...].

    It is linear over tiles where all outputs are 0, as none reads an element with a weight.

    Raises:
        the errors of `poplite.ops.plan_convolution`, and InvalidOption for an unknown option.
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
    """Make weights where a plan wants them, `poplin::createWeights`.

    Returns:
        A new tensor [groups, output channels, input channels, kernel ...].

    Raises:
        the errors of `createInput`.
    """
    asked, name = resolved("poplin.createWeights", params), debug_context or "weights"
    memory = check_options("createWeights", options)
    if asked.is_empty:
        return graph.add_variable(asked.element, asked.weights_shape, name, mapping="linear")
    return _planned(graph, asked, memory).create_weights(name).reshape(asked.weights_shape)


def _cut(x: Tensor, dim: int, sides: tuple[int, int], *, flip: bool) -> Tensor:
    """Return a tensor without some elements at its ends, perhaps turned around."""
    x = x.slice(sides[0], x.shape[dim] - sides[1], dim)
    return x.reverse(dim) if flip else x


def _planned(graph: Graph, asked: Resolved, memory: float) -> ops.ConvolutionPlan:
    """Return a plan of the convolution of whole operands, of which it may leave parts out."""
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
    """Return the padding that gives as many outputs with nothing left out of the operands."""
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
    """Refuse a tensor that parameters describe otherwise."""
    if x.shape != tuple(shape):
        raise TensorCreationError(
            f"poplin.{what}: '{x.name}' has shape {x.shape}, the parameters say {tuple(shape)}",
            found=f"it is given for {role}",
            fix="the parameters of the operands",
        )
    if x.element_type is not element:
        raise ElementTypeError(
            f"poplin.{what}: '{x.name}' is {x.element_type!r}, the parameters say {element!r}",
            found=f"it is given for {role}",
            fix="the parameters of the operands",
        )


def check_options(what: str, options: Options) -> float:
    """Return the share of memory that options say; unknown ones are refused."""
    check_known(f"poplin.{what}", options, _KNOWN)
    return memory_share(f"poplin.{what}", options)
