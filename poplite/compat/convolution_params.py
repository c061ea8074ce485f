"""Parameters of poplin's convolutions: what users say, and what of it there is along a dimension.

    truncate, dilate, pad, flip     of the input, and of the kernel
    convolve                        places of the input, less those of the kernel, and 1
    truncate, stride, pad           of the output

Zeros beside the kernel, and outputs that are left out, are less padding of the input; so
`poplite.ops.convolution` needs no parameters for them.

Source: PopLibs, `poplin/ConvParams.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from poplite.compat.arguments import sizes_of
from poplite.compat.options import check_params
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError, checked_truth
from poplite.expr.tree import ElementClass
from poplite.ops.convolution.arguments import MOST_DIMENSIONS, float_type
from poplite.ops.convolution.call import check_number
from poplite.ops.convolution.dimension import dilated
from poplite.ops.operands import count_of
from poplite.source import here
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import ElementTypeLike, element_type


@dataclass(frozen=True, slots=True)
class InputTransform:
    """What becomes of an input, or a kernel, before it is convolved, in this order.

    Empty lists stand for nothing that is done; a number alone is that of dimensions, as in C++:
    one to three.

    Attributes:
        truncationLower: elements that are left out before.
        truncationUpper: and behind.
        dilation: distance between elements.
        paddingLower: zeros before.
        paddingUpper: and behind.
        flip: whether it is turned around.
    """

    truncationLower: Sequence[int] | int = ()
    truncationUpper: Sequence[int] = ()
    dilation: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()
    flip: Sequence[bool] = ()

    def __post_init__(self) -> None:
        _of_dimensions(self)


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

    truncationLower: Sequence[int] | int = ()
    truncationUpper: Sequence[int] = ()
    stride: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()

    def __post_init__(self) -> None:
        _of_dimensions(self)


_Input: TypeAlias = InputTransform
_Output: TypeAlias = OutputTransform


@dataclass(frozen=True, slots=True)
class ConvParamsOfOneType:
    """Parameters of a convolution whose tensors are all of one element type.

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


@dataclass(frozen=True, slots=True, init=False)
class ConvParams(ConvParamsOfOneType):
    """Parameters of a convolution, `poplin::ConvParams`.

    Args:
        dataType: of input, weights and output; or, as in C++, two types that are the same: of
            the input and of the output.
        batchSize: inputs.
        inputFieldShape: sizes of the input.
        kernelShape: sizes of the kernel.
        inputChannelsPerConvGroup: channels of a group of the input.
        outputChannelsPerConvGroup: channels of a group of the output.
        numConvGroups: groups.
        inputTransform: of the input.
        kernelTransform: of the kernel.
        outputTransform: of the output.

    Raises:
        ElementTypeError: for an output of another type than the input, and arguments that are
            missing or too many.

    >>> sizes = [8, 5], [3, 3], 1, 1, 1
    >>> ConvParams("half", 1, *sizes) == ConvParams("half", "half", 1, *sizes)
    True
    """

    InputTransform: ClassVar[type[_Input]] = _Input
    OutputTransform: ClassVar[type[_Output]] = _Output

    @overload
    def __init__(
        self,
        dataType: ElementTypeLike,
        batchSize: int,
        inputFieldShape: Sequence[int],
        kernelShape: Sequence[int],
        inputChannelsPerConvGroup: int,
        outputChannelsPerConvGroup: int,
        numConvGroups: int,
        inputTransform: _Input = ...,
        kernelTransform: _Input = ...,
        outputTransform: _Output = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        inputType: ElementTypeLike,
        outputType: ElementTypeLike,
        batchSize: int,
        inputFieldShape: Sequence[int],
        kernelShape: Sequence[int],
        inputChannelsPerConvGroup: int,
        outputChannelsPerConvGroup: int,
        numConvGroups: int,
        inputTransform: _Input = ...,
        kernelTransform: _Input = ...,
        outputTransform: _Output = ...,
        /,
    ) -> None: ...
    def __init__(self, *arguments: Any, **named: Any) -> None:
        if len(arguments) > 1 and isinstance(arguments[1], str | type | np.dtype):
            _check_one_type(*map(element_type, arguments[:2]))
            arguments = (arguments[0], *arguments[2:])
        try:
            given = signature(ConvParamsOfOneType).bind(*arguments, **named)
        except TypeError as error:
            raise ElementTypeError(
                f"poplin.ConvParams: {error}",
                at=here(),
                fix="ConvParams(pl.HALF, batch, [height, width], [3, 3], channels, channels, 1)",
            ) from None
        ConvParamsOfOneType.__init__(self, *given.args, **given.kwargs)

    @property
    def inputType(self) -> ElementTypeLike:
        """The type of the input."""
        return self.dataType

    @property
    def outputType(self) -> ElementTypeLike:
        """The type of the output, which is that of the input."""
        return self.dataType

    def getOutputFieldShape(self) -> list[int]:
        """Return the sizes of the output.

        Raises:
            TensorCreationError: for a kernel that is larger than the input, both as transforms
                make them, for truncations of more than there is, and for lists of another length
                than the field.
            InvalidOption: for negative truncations and paddings, and distances that are none.
            ElementTypeError: for transforms that are none, and flips that are no truth values.

        >>> ConvParams("half", 1, [8, 5], [3, 3], 1, 1, 1).getOutputFieldShape()
        [6, 3]
        """
        asked = resolved("ConvParams.getOutputFieldShape", self)
        return list(asked.output_shape[2:])

    def getNumOutputChans(self) -> int:
        """Return the channels of the output in all groups."""
        return self.numConvGroups * self.outputChannelsPerConvGroup

    def getNumInputChans(self) -> int:
        """Return the channels of the input in all groups."""
        return self.numConvGroups * self.inputChannelsPerConvGroup


def _check_one_type(of_input: ElementClass, of_output: ElementClass) -> None:
    if of_input is not of_output:
        raise ElementTypeError(
            f"poplin.ConvParams: inputType {of_input.__name__}, outputType {of_output.__name__}",
            at=here(),
            found="the output of a convolution has the type of its input",
            fix="two types that are the same, and popops.cast of the output",
        )


def _of_dimensions(transform: _Input | _Output) -> None:
    """Complete a transform that is made with a number of dimensions alone: it changes nothing."""
    if integer_or_none(transform.truncationLower) is None:
        return
    rank = count_of(
        f"poplin.{type(transform).__name__}",
        "the number of dimensions",
        transform.truncationLower,
        1,
        MOST_DIMENSIONS + 1,
    )
    unchanged = {"dilation": 1, "stride": 1, "flip": False}
    for each in fields(transform):
        object.__setattr__(transform, each.name, [unchanged.get(each.name, 0)] * rank)


@dataclass(frozen=True, slots=True)
class Sides:
    """A transform with a number for every dimension and side."""

    truncation: list[tuple[int, int]]
    padding: list[tuple[int, int]]
    distance: list[int]
    flip: list[bool]


@dataclass(frozen=True, slots=True)
class Along:
    """What a convolution does along one dimension.

    Attributes:
        size: elements of the input that are left.
        taps: of the kernel that are left.
        stride: distance between outputs.
        padding: zeros before and behind the input; negative numbers leave elements out.
        dilation: distance between taps.
        between: distance between elements of the input.
        flip: whether the kernel is turned around.
        places: of the kernel with its padding.
        left: outputs before a stride that are not left out.
        count: outputs without padding.
    """

    size: int
    taps: int
    stride: int
    padding: tuple[int, int]
    dilation: int
    between: int
    flip: bool
    places: int
    left: int
    count: int

    @property
    def is_empty(self) -> bool:
        """Whether no output reads an element of the input with a weight."""
        beyond = -min(self.padding) >= dilated(self.size, self.between)
        return not (self.size and self.taps and self.count) or beyond


@dataclass(frozen=True, slots=True)
class Resolved:
    """Parameters that are checked, and complete.

    Attributes:
        element: the type of all tensors.
        groups: of channels.
        input_shape: [batch, channels, field ...].
        weights_shape: [groups, output channels, input channels, kernel ...].
        output_shape: [batch, channels, field ...].
        own: the transform of the input.
        kernel: that of the kernel.
        out: that of the output.
        dimensions: what they do together.
    """

    element: ElementClass
    groups: int
    input_shape: tuple[int, ...]
    weights_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    own: Sides
    kernel: Sides
    out: Sides
    dimensions: list[Along]

    @property
    def is_empty(self) -> bool:
        """Whether all outputs are 0, as none reads an element with a weight."""
        return any(each.is_empty for each in self.dimensions)

    @property
    def spacing(self) -> dict[str, Any]:
        """The parameters of `ops.convolution` that say how a kernel goes over an input."""
        return {
            "stride": [each.stride for each in self.dimensions],
            "padding": [each.padding for each in self.dimensions],
            "dilation": [each.dilation for each in self.dimensions],
            "input_dilation": [each.between for each in self.dimensions],
            "flip": [each.flip for each in self.dimensions],
        }


def resolved(what: str, params: ConvParams) -> Resolved:
    """Return parameters, complete, or raise; `what` is the call."""
    check_params(what, params, ConvParams)
    element = float_type(what, element_type(params.dataType))
    field, taps = (
        tuple(count_of(what, name, size) for size in sizes_of(what, name, getattr(params, name)))
        for name in ("inputFieldShape", "kernelShape")
    )
    check_number(what, "kernelShape", taps, len(field))
    batch, inputs, outputs = (
        count_of(what, name, getattr(params, name))
        for name in ("batchSize", "inputChannelsPerConvGroup", "outputChannelsPerConvGroup")
    )
    groups = count_of(what, "numConvGroups", params.numConvGroups, 1)
    own, kernel = (
        _sides(what, name, getattr(params, name), InputTransform, len(field))
        for name in ("inputTransform", "kernelTransform")
    )
    out = _sides(what, "outputTransform", params.outputTransform, OutputTransform, len(field))
    found = [_along(what, d, field[d], taps[d], own, kernel, out) for d in range(len(field))]
    made = (each.count + sum(out.padding[d]) for d, each in enumerate(found))
    return Resolved(
        element,
        groups,
        (batch, groups * inputs, *field),
        (groups, outputs, inputs, *taps),
        (batch, groups * outputs, *made),
        own,
        kernel,
        out,
        found,
    )


def _along(what: str, d: int, size: int, taps: int, own: Sides, kernel: Sides, out: Sides) -> Along:
    """Return what a convolution does along a dimension; refuse what PopLibs' formula does not."""
    size = _left(what, d, "inputTransform", size, own)
    taps = _left(what, d, "kernelTransform", taps, kernel)
    room = dilated(size, own.distance[d]) + sum(own.padding[d])
    places = dilated(taps, kernel.distance[d]) + sum(kernel.padding[d])
    if not 0 < places <= room:
        raise TensorCreationError(
            f"{what}: along dimension {d} of the field, the kernel has {places:,} places, "
            f"the input {room:,}",
            at=here(),
            found=f"with dilation and padding; of {taps:,} taps and {size:,} elements that "
            "truncations leave",
            fix="a kernel of at least one place, and at most as many as the input",
        )
    left = _left(what, d, "outputTransform", room - places + 1, out)
    before, behind = own.padding[d][:: -1 if own.flip[d] else 1]
    low, high = kernel.padding[d][:: -1 if kernel.flip[d] else 1]
    return Along(
        size,
        taps,
        out.distance[d],
        (before - low - out.truncation[d][0], behind - high - out.truncation[d][1]),
        kernel.distance[d],
        own.distance[d],
        kernel.flip[d],
        places,
        left,
        -(-left // out.distance[d]),
    )


def _left(what: str, d: int, name: str, size: int, given: Sides) -> int:
    """Return how many elements a truncation leaves; one of more than there are is refused."""
    lower, upper = given.truncation[d]
    if lower + upper > size:
        raise TensorCreationError(
            f"{what}: along dimension {d}, {name} leaves out {lower + upper:,} of {size:,}",
            at=here(),
            found=f"truncationLower {lower:,}, truncationUpper {upper:,}",
            fix=f"truncations of at most {size:,}",
        )
    return size - lower - upper


def _sides(what: str, role: str, given: Any, kind: Any, rank: int) -> Sides:
    """Return a transform, complete, or raise."""
    check_params(what, given, kind, role)

    def numbers(name: str, least: int) -> list[int]:
        value = getattr(given, name)
        found = sizes_of(what, f"{kind.__name__}.{name}", value)
        if any(each < least for each in found):
            raise InvalidOption(
                f"{what}: {kind.__name__}.{name} is {clipped(value)}",
                at=here(),
                found=f"of {role}",
                fix=f"whole numbers of at least {least}",
            )
        return _complete(what, f"{kind.__name__}.{name}", list(found), least, rank)

    def pairs(name: str) -> list[tuple[int, int]]:
        return list(zip(numbers(f"{name}Lower", 0), numbers(f"{name}Upper", 0), strict=True))

    apart = "stride" if kind is OutputTransform else "dilation"
    flips = _flips(what, given.flip, rank) if kind is InputTransform else []
    return Sides(pairs("truncation"), pairs("padding"), numbers(apart, 1), flips)


def _flips(what: str, value: object, rank: int) -> list[bool]:
    name = "InputTransform.flip"
    given = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InvalidOption(
            f"{what}: {name} is {clipped(value)}",
            at=here(),
            found=of_type(value),
            fix="a list of truth values",
        )
    flips = [checked_truth(each, f"{what}: {name}") for each in given]
    return _complete(what, name, flips, False, rank)


def _complete(what: str, name: str, given: list[Any], left_out: Any, rank: int) -> list[Any]:
    """Return one item for each dimension; a list of another length is refused."""
    found = given or [left_out] * rank
    if len(found) != rank:
        raise TensorCreationError(
            f"{what}: {name} is {clipped(given)}",
            at=here(),
            found=f"{len(given)} items, a field of {rank} dimensions",
            fix="one for each dimension, or none",
        )
    return found
