"""Convolutions of poplin, for `poplite.compat.poplin`.

    poplin::convolution(graph, in, weights, params, false, prog, "conv", options, &cache)
    poplin.convolution(graph, in_, weights, params, False, prog, "conv", options, cache)

All that `poplin::ConvParams` says is done: what `poplite.ops.convolution` has no parameter for is a
view of an operand, or another padding.

Source: PopLibs, `poplin/Convolution.hpp`, `poplin/ConvParams.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from poplite import ops
from poplite.compat.options import Options as Options, check_known, memory_share
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.arguments import check_fields, spacings
from poplite.ops.convolution.call import check_number
from poplite.ops.convolution.dimension import forward
from poplite.program import Sequence as Steps
from poplite.source import here
from poplite.text import clipped
from poplite.types import ElementTypeLike, element_type

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


@dataclass(frozen=True, slots=True)
class InputTransform:
    """What becomes of an input, or a kernel, before it is convolved, in this order.

    Empty lists stand for nothing that is done.

    Attributes:
        truncationLower: elements that are left out before.
        truncationUpper: and behind.
        dilation: distance between elements.
        paddingLower: zeros before.
        paddingUpper: and behind.
        flip: whether it is turned around.
    """

    truncationLower: Sequence[int] = ()
    truncationUpper: Sequence[int] = ()
    dilation: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()
    flip: Sequence[bool] = ()


@dataclass(frozen=True, slots=True)
class OutputTransform:
    """What becomes of an output, in this order.

    Attributes:
        truncationLower: elements that are left out before.
        truncationUpper: and behind.
        stride: distance between elements that are kept.
        paddingLower: zeros before.
        paddingUpper: and behind.
    """

    truncationLower: Sequence[int] = ()
    truncationUpper: Sequence[int] = ()
    stride: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ConvParams:
    """Parameters of a convolution, `poplin::ConvParams`.

    Attributes:
        dataType: of input, weights and output.
        batchSize: inputs.
        inputFieldShape: sizes of the input.
        kernelShape: sizes of the kernel.
        inputChannelsPerConvGroup: channels of a group of the input.
        outputChannelsPerConvGroup: channels of a group of the output.
        numConvGroups: groups.
        inputTransform: of the input.
        kernelTransform: of the kernel.
        outputTransform: of the output.
    """

    dataType: ElementTypeLike
    batchSize: int
    inputFieldShape: Sequence[int]
    kernelShape: Sequence[int]
    inputChannelsPerConvGroup: int
    outputChannelsPerConvGroup: int
    numConvGroups: int
    inputTransform: InputTransform = field(default_factory=InputTransform)
    kernelTransform: InputTransform = field(default_factory=InputTransform)
    outputTransform: OutputTransform = field(default_factory=OutputTransform)

    def getOutputFieldShape(self) -> list[int]:
        """Return the sizes of the output.

        Raises:
            TensorCreationError: for a kernel that is larger than the input, both as transforms
                make them, and for lists of another length than the field.
            InvalidOption: for distances that are none.

        >>> ConvParams("half", 1, [8, 5], [3, 3], 1, 1, 1).getOutputFieldShape()
        [6, 3]
        """
        what, rank = "ConvParams.getOutputFieldShape", len(self.inputFieldShape)
        check_number(what, "kernelShape", tuple(self.kernelShape), rank)
        _check_truncation(what, self)
        found, after = of_dimensions(self), sides_of(self, self.outputTransform)
        how = spacings(
            what,
            rank,
            [each.stride for each in found],
            [each.padding for each in found],
            [each.dilation for each in found],
            [each.between for each in found],
        )
        sizes, taps = [each.size for each in found], [each.taps for each in found]
        check_fields(what, sizes, taps, how)
        made = [forward(*each).count for each in zip(sizes, taps, how, strict=True)]
        return [size + sum(each) for size, each in zip(made, after.padding, strict=True)]

    def getNumOutputChans(self) -> int:
        """Return the channels of the output in all groups."""
        return self.numConvGroups * self.outputChannelsPerConvGroup

    def getNumInputChans(self) -> int:
        """Return the channels of the input in all groups."""
        return self.numConvGroups * self.inputChannelsPerConvGroup


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
    if transposeAndFlipWeights:
        weights = weights.dim_shuffle((0, 2, 1, *range(3, weights.rank)))
        for d in range(3, weights.rank):
            weights = weights.reverse(d)
    _check_shapes(params, in_, weights)
    how, kernel = of_dimensions(params), sides_of(params, params.kernelTransform)
    in_ = seen_input(params, in_)
    for d, each in enumerate(how):
        weights = _cut(weights, 3 + d, kernel.truncation[d], flip=False)
        assert (in_.shape[2 + d], weights.shape[3 + d]) == (each.size, each.taps)
    shape = params.getNumOutputChans(), *weights.shape[2:]
    made = ops.convolution(
        in_,
        weights.reshape(shape),
        stride=[each.stride for each in how],
        padding=[each.padding for each in how],
        dilation=[each.dilation for each in how],
        input_dilation=[each.between for each in how],
        flip=[each.flip for each in how],
        groups=params.numConvGroups,
        memory=check_options("convolution", options),
        name=debug_context or "conv",
        program=prog,
    )
    after = sides_of(params, params.outputTransform).padding
    return ops.pad(made, [(0, 0), (0, 0), *after]) if any(map(any, after)) else made


def seen_input(params: ConvParams, x: Tensor) -> Tensor:
    """Return what a convolution sees of its input, before padding: a part, perhaps turned."""
    own = sides_of(params, params.inputTransform)
    for d, sides in enumerate(own.truncation):
        x = _cut(x, 2 + d, sides, flip=own.flip[d])
    return x


def createInput(
    graph: Graph,
    params: ConvParams,
    debug_context: str = "",
    options: Options = None,
    cache: object = None,
) -> Tensor:
    """Make an input where a plan wants it, `poplin::createInput`: [batch, channels, field ...].

    Raises:
        the errors of `poplite.ops.plan_convolution`, and InvalidOption for an unknown option.
    """
    plan = _planned("createInput", graph, params, options)
    return plan.create_input(debug_context or "in")


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
    made = _planned("createWeights", graph, params, options).create_weights(
        debug_context or "weights"
    )
    outputs = params.outputChannelsPerConvGroup
    return made.reshape((params.numConvGroups, outputs, *made.shape[1:]))


@dataclass(frozen=True, slots=True)
class _Sides:
    """A transform with a number for every dimension and side."""

    truncation: list[tuple[int, int]]
    padding: list[tuple[int, int]]
    distance: list[int]
    flip: list[bool]


def sides_of(params: ConvParams, given: InputTransform | OutputTransform) -> _Sides:
    """Return a transform, complete; lists of another length are refused."""
    rank = len(params.inputFieldShape)

    def complete(name: str, left_out: Any) -> list[Any]:
        numbers = list(getattr(given, name, ())) or [left_out] * rank
        if len(numbers) != rank:
            raise TensorCreationError(
                f"poplin: {type(given).__name__}.{name} is {clipped(numbers)}",
                at=here(),
                found=f"{len(numbers)} numbers, a field of {rank} dimensions",
                fix="one for each dimension, or none",
            )
        return numbers

    def sides(name: str) -> list[tuple[int, int]]:
        both = complete(f"{name}Lower", 0), complete(f"{name}Upper", 0)
        return list(zip(*both, strict=True))

    apart = "stride" if isinstance(given, OutputTransform) else "dilation"
    return _Sides(
        sides("truncation"), sides("padding"), complete(apart, 1), complete("flip", False)
    )


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What `ops.convolution` is asked along a dimension."""

    size: int
    taps: int
    stride: int
    padding: tuple[int, int]
    dilation: int
    between: int
    flip: bool


def of_dimensions(params: ConvParams) -> list[_Parameters]:
    """Return the parameters of `ops.convolution` for each dimension.

    Zeros beside the kernel, and outputs that are left out, are less padding of the input.
    """
    own, kernel = (
        sides_of(params, each) for each in (params.inputTransform, params.kernelTransform)
    )
    out, found = sides_of(params, params.outputTransform), []
    for d, (size, taps) in enumerate(zip(params.inputFieldShape, params.kernelShape, strict=True)):
        before, behind = own.padding[d][:: -1 if own.flip[d] else 1]
        low, high = kernel.padding[d][:: -1 if kernel.flip[d] else 1]
        found.append(
            _Parameters(
                size - sum(own.truncation[d]),
                taps - sum(kernel.truncation[d]),
                out.distance[d],
                (before - low - out.truncation[d][0], behind - high - out.truncation[d][1]),
                kernel.distance[d],
                own.distance[d],
                bool(kernel.flip[d]),
            )
        )
    return found


def _check_truncation(what: str, params: ConvParams) -> None:
    """Refuse transforms that leave out more of an input, or of a kernel, than there is."""
    for name, shape, given in (
        ("inputTransform", params.inputFieldShape, params.inputTransform),
        ("kernelTransform", params.kernelShape, params.kernelTransform),
    ):
        for d, (size, sides) in enumerate(
            zip(shape, sides_of(params, given).truncation, strict=True)
        ):
            if sum(sides) > size:
                raise TensorCreationError(
                    f"{what}: along dimension {d}, {name} leaves out {sum(sides):,} of {size:,}",
                    at=here(),
                    found=f"truncationLower {sides[0]:,}, truncationUpper {sides[1]:,}",
                    fix=f"truncations of at most {size:,}",
                )


def _cut(x: Tensor, dim: int, sides: tuple[int, int], *, flip: bool) -> Tensor:
    """Return a tensor without some elements at its ends, perhaps turned around."""
    x = x.slice(sides[0], x.shape[dim] - sides[1], dim)
    return x.reverse(dim) if flip else x


def _planned(what: str, graph: Graph, params: ConvParams, options: Options) -> ops.ConvolutionPlan:
    """Return a plan of the convolution of whole operands, of which it may leave parts out."""
    own, kernel = (
        sides_of(params, each) for each in (params.inputTransform, params.kernelTransform)
    )
    how = of_dimensions(params)
    return ops.plan_convolution(
        graph,
        batch=params.batchSize,
        field=params.inputFieldShape,
        inputs=params.getNumInputChans(),
        outputs=params.getNumOutputChans(),
        kernel=params.kernelShape,
        stride=[each.stride for each in how],
        padding=[
            (each.padding[0] - before[0], each.padding[1] - before[1])
            for each, before in zip(how, _whole(own, kernel, how), strict=True)
        ],
        dilation=kernel.distance,
        input_dilation=own.distance,
        groups=params.numConvGroups,
        type=params.dataType,
        memory=check_options(what, options),
    )


def _whole(own: _Sides, kernel: _Sides, how: list[_Parameters]) -> list[tuple[int, int]]:
    """Return by how much padding is less where nothing is left out of input and kernel."""
    return [
        (
            own.truncation[d][0] * each.between - kernel.truncation[d][0] * each.dilation,
            own.truncation[d][1] * each.between - kernel.truncation[d][1] * each.dilation,
        )
        for d, each in enumerate(how)
    ]


def _check_shapes(params: ConvParams, in_: Tensor, weights: Tensor) -> None:
    field, kernel = tuple(params.inputFieldShape), tuple(params.kernelShape)
    shapes = (
        (params.batchSize, params.getNumInputChans(), *field),
        (
            params.numConvGroups,
            params.outputChannelsPerConvGroup,
            params.inputChannelsPerConvGroup,
            *kernel,
        ),
    )
    for tensor, shape in zip((in_, weights), shapes, strict=True):
        if tensor.shape != shape:
            raise TensorCreationError(
                f"poplin.convolution: '{tensor.name}' has shape {tensor.shape}, the parameters "
                f"say {shape}",
                at=here(),
                fix="the parameters of the operands",
            )
        if tensor.element_type is not element_type(params.dataType):
            raise ElementTypeError(
                f"poplin.convolution: '{tensor.name}' is {tensor.element_type!r}, the parameters "
                f"say {element_type(params.dataType)!r}",
                at=here(),
                fix="the parameters of the operands",
            )


def check_options(what: str, options: Options) -> float:
    """Return the share of memory that options say; unknown ones are refused."""
    check_known(f"poplin.{what}", options, _KNOWN)
    return memory_share(f"poplin.{what}", options)
