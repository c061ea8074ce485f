"""Parameters of poplin's convolutions: `ConvParams`.

    truncate, dilate, pad, flip     the input, and the kernel
    convolve                        size of the input - size of the kernel + 1 outputs
    truncate, stride, pad           the output

Padding the kernel and truncating the output have the same effect as padding the input less; so
`poplite.ops.convolution` needs no parameters for them.

Source: PopLibs, `poplin/ConvParams.hpp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np

from poplite.compat.arguments import check_params, sizes_of
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError, checked_truth
from poplite.expr.tree import ElementClass
from poplite.frozen import frozen
from poplite.ops.operands import count_of, invalid_value
from poplite.ops.products.convolution_request import (
    MOST_DIMENSIONS,
    check_number,
    dilated,
    float_type,
)
from poplite.text import clipped, integer_or_none
from poplite.types import ElementTypeLike, element_type


@dataclass(slots=True)
class InputTransform:
    """Transforms of an input or a kernel before the convolution, applied in this order.

    Empty lists leave it unchanged; a single number from one to three is the number of dimensions,
    as in C++.

    Attributes:
        truncationLower: number of elements omitted at the start.
        truncationUpper: number of elements omitted at the end.
        dilation: distance between elements.
        paddingLower: number of zeros added at the start.
        paddingUpper: number of zeros added at the end.
        flip: whether the elements are reversed.
    """

    truncationLower: Sequence[int] | int = ()
    truncationUpper: Sequence[int] = ()
    dilation: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()
    flip: Sequence[bool] = ()

    def __post_init__(self) -> None:
        _complete_lists(self)


@dataclass(slots=True)
class OutputTransform:
    """Transforms of an output, applied in this order.

    Attributes:
        truncationLower: number of elements omitted at the start.
        truncationUpper: number of elements omitted at the end.
        stride: distance between the elements that remain.
        paddingLower: number of zeros added at the start.
        paddingUpper: number of zeros added at the end.
    """

    truncationLower: Sequence[int] | int = ()
    truncationUpper: Sequence[int] = ()
    stride: Sequence[int] = ()
    paddingLower: Sequence[int] = ()
    paddingUpper: Sequence[int] = ()

    def __post_init__(self) -> None:
        _complete_lists(self)


_Input: TypeAlias = InputTransform
_Output: TypeAlias = OutputTransform


@dataclass(slots=True, init=False)
class ConvParams:
    """Parameters of a convolution, `poplin::ConvParams`.

    As in C++ they may be created without arguments and then assigned one by one; they hold copies
    of the transforms given. `dataclasses.replace(params, batchSize=2)` returns changed parameters.

    Args:
        dataType: element type of input, weights and output; or, as in C++, two types, of the input
            and of the output, which must be equal.
        batchSize: number of inputs.
        inputFieldShape: sizes of the input.
        kernelShape: sizes of the kernel.
        inputChannelsPerConvGroup: number of input channels per group.
        outputChannelsPerConvGroup: number of output channels per group.
        numConvGroups: number of groups.
        inputTransform: transform of the input.
        kernelTransform: transform of the kernel.
        outputTransform: transform of the output.

    Attributes:
        inputType: element type of the input; None until it is assigned, as are all others but the
            transforms.
        outputType: element type of the output, equal to `inputType`.

    Raises:
        ElementTypeError: if input and output types differ, or arguments are missing or too many.

    >>> params = ConvParams()
    >>> params.inputType = params.outputType = "half"
    >>> params.batchSize = params.numConvGroups = 1
    >>> params.inputFieldShape, params.kernelShape = [8, 5], [3, 3]
    >>> params.inputChannelsPerConvGroup = params.outputChannelsPerConvGroup = 4
    >>> params.outputTransform.stride = [2, 2]
    >>> params.getOutputFieldShape()
    [3, 2]
    >>> ConvParams("half", 1, [8, 5], [3, 3], 4, 4, 1).getOutputFieldShape()
    [6, 3]
    """

    inputType: ElementTypeLike
    outputType: ElementTypeLike
    batchSize: int
    inputFieldShape: Sequence[int]
    kernelShape: Sequence[int]
    inputChannelsPerConvGroup: int
    outputChannelsPerConvGroup: int
    numConvGroups: int
    inputTransform: _Input
    kernelTransform: _Input
    outputTransform: _Output

    InputTransform: ClassVar[type[_Input]] = _Input
    OutputTransform: ClassVar[type[_Output]] = _Output

    @overload
    def __init__(self) -> None: ...
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
        given = _fields_of(arguments, named)
        for each in fields(self):
            setattr(self, each.name, given[each.name])

    def getOutputFieldShape(self) -> list[int]:
        """Return the sizes of the output.

        Raises:
            TensorCreationError: if the transformed kernel is larger than the transformed input, a
                truncation omits more elements than exist, or a list does not have one item for each
                dimension of the field.
            InvalidOption: for negative truncations and paddings, and invalid distances.
            ElementTypeError: for transforms of the wrong class, and flips that are not bool.

        >>> ConvParams("half", 1, [8, 5], [3, 3], 1, 1, 1).getOutputFieldShape()
        [6, 3]
        """
        asked = resolved("ConvParams.getOutputFieldShape", self)
        return list(asked.output_shape[2:])

    def getNumOutputChans(self) -> int:
        """Return the number of output channels in all groups."""
        return self._in_all_groups("outputChannelsPerConvGroup")

    def getNumInputChans(self) -> int:
        """Return the number of input channels in all groups."""
        return self._in_all_groups("inputChannelsPerConvGroup")

    def _in_all_groups(self, name: str) -> int:
        groups, channels = (
            count_of("ConvParams", each, getattr(self, each)) for each in ("numConvGroups", name)
        )
        return groups * channels


_SIZES = (
    *("batchSize", "inputFieldShape", "kernelShape"),
    *("inputChannelsPerConvGroup", "outputChannelsPerConvGroup", "numConvGroups"),
)
_TRANSFORMS: dict[str, Any] = {
    "inputTransform": _Input,
    "kernelTransform": _Input,
    "outputTransform": _Output,
}


def _fields_of(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of parameters created with arguments, or without any; or raise."""
    found: dict[str, Any] = dict.fromkeys(("inputType", "outputType", *_SIZES))
    if arguments or named:
        found |= _bound(arguments, named)
    for name, kind in _TRANSFORMS.items():
        given = found.get(name)
        own = replace(given) if isinstance(given, kind) else given
        found[name] = kind() if own is None else own
    return found


def _bound(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by field name; they may have one type or two equal types."""
    has_two = len(arguments) > 1 and isinstance(arguments[1], str | type | np.dtype)
    types = ("inputType", "outputType") if has_two or "outputType" in named else ("dataType",)
    either = Parameter.POSITIONAL_OR_KEYWORD
    form = [Parameter(name, either) for name in (*types, *_SIZES)]
    form += [Parameter(name, either, default=None) for name in _TRANSFORMS]
    try:
        given = Signature(form).bind(*arguments, **named).arguments
    except TypeError as error:
        raise ElementTypeError(
            f"poplin.ConvParams: {error}",
            fix="ConvParams(pl.HALF, batch, [height, width], [3, 3], channels, channels, 1)",
        ) from None
    if "dataType" in given:
        one = given.pop("dataType")
        return {"inputType": one, "outputType": one, **given}
    of_input, of_output = given["inputType"], given["outputType"]
    if of_input is None or of_output is None:
        return given
    one = _one_type(of_input, of_output)
    return {**given, "inputType": one, "outputType": one}


def _type_of(what: str, params: ConvParams) -> ElementClass:
    """Return the type of all tensors, or raise."""
    for name in ("inputType", "outputType"):
        if getattr(params, name) is None:
            raise ElementTypeError(
                f"{what}: {name} of the parameters is None",
                found="nothing was assigned to it",
                fix="params.inputType = params.outputType = pl.FLOAT",
            )
    return float_type(what, _one_type(params.inputType, params.outputType))


def _one_type(of_input: ElementTypeLike, of_output: ElementTypeLike) -> ElementClass:
    """Return the type of input and output, or raise if they differ."""
    one, other = element_type(of_input), element_type(of_output)
    if one is not other:
        raise ElementTypeError(
            f"poplin.ConvParams: inputType is {one.__name__}, but outputType is {other.__name__}",
            found="the output of a convolution has the type of its input",
            fix="pass the same type twice, and apply popops.cast to the output",
        )
    return one


def _complete_lists(transform: _Input | _Output) -> None:
    """Copy a transform's lists; replace a number of dimensions by lists that have no effect."""
    if integer_or_none(transform.truncationLower) is None:
        for each in fields(transform):
            value = getattr(transform, each.name)
            setattr(transform, each.name, [*value] if isinstance(value, list) else value)
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
        setattr(transform, each.name, [unchanged.get(each.name, 0)] * rank)


@frozen
class Sides:
    """A transform with a number for every dimension and side."""

    truncation: list[tuple[int, int]]
    padding: list[tuple[int, int]]
    distance: list[int]
    flip: list[bool]


@frozen
class Along:
    """The parameters of a convolution along one dimension.

    Attributes:
        size: number of input elements after truncation.
        taps: number of kernel elements after truncation.
        stride: distance between outputs.
        padding: zeros before and after the input; negative numbers omit elements.
        dilation: distance between taps.
        between: distance between elements of the input.
        flip: whether the kernel is reversed.
        places: size of the kernel with its padding.
        left: number of outputs after truncation, before the stride.
        count: number of outputs without padding.
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


@frozen
class Resolved:
    """Checked and complete parameters.

    Attributes:
        element: the type of all tensors.
        groups: number of channel groups.
        input_shape: [batch, channels, field ...].
        weights_shape: [groups, output channels, input channels, kernel ...].
        output_shape: [batch, channels, field ...].
        own: the transform of the input.
        kernel: the transform of the kernel.
        out: the transform of the output.
        dimensions: their combined effect along each dimension.
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
        """Whether all outputs are 0 because no output reads an element with a weight."""
        return any(each.is_empty for each in self.dimensions)

    @property
    def spacing(self) -> dict[str, Any]:
        """The parameters of `ops.convolution` that describe how a kernel moves over an input."""
        return {
            "stride": [each.stride for each in self.dimensions],
            "padding": [each.padding for each in self.dimensions],
            "dilation": [each.dilation for each in self.dimensions],
            "input_dilation": [each.between for each in self.dimensions],
            "flip": [each.flip for each in self.dimensions],
        }


def resolved(what: str, params: ConvParams) -> Resolved:
    """Return complete parameters, or raise; `what` is the call."""
    check_params(what, params, ConvParams)
    element = _type_of(what, params)
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
    """Return the parameters of a convolution along one dimension; reject what PopLibs rejects."""
    size = _left(what, d, "inputTransform", size, own)
    taps = _left(what, d, "kernelTransform", taps, kernel)
    room = dilated(size, own.distance[d]) + sum(own.padding[d])
    places = dilated(taps, kernel.distance[d]) + sum(kernel.padding[d])
    if not 0 < places <= room:
        raise TensorCreationError(
            f"{what}: along dimension {d} of the field, the kernel has size {places:,}, "
            f"but the input has size {room:,}",
            found="both after dilation and padding; truncation leaves "
            f"{taps:,} kernel elements and {size:,} input elements",
            fix="use a kernel of size 1 or more, and at most the size of the input",
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
    """Return how many elements a truncation keeps, or raise if it omits more than exist."""
    lower, upper = given.truncation[d]
    if lower + upper > size:
        raise TensorCreationError(
            f"{what}: along dimension {d}, {name} truncates {lower + upper:,} of {size:,} elements",
            found=f"truncationLower {lower:,}, truncationUpper {upper:,}",
            fix=f"pass truncations with a sum of at most {size:,}",
        )
    return size - lower - upper


def _sides(what: str, role: str, given: Any, kind: Any, rank: int) -> Sides:
    """Return a complete transform, or raise."""
    check_params(what, given, kind, role)

    def numbers(name: str, least: int) -> list[int]:
        value = getattr(given, name)
        found = sizes_of(what, f"{kind.__name__}.{name}", value)
        if any(each < least for each in found):
            raise InvalidOption(
                f"{what}: {kind.__name__}.{name} is {clipped(value)}",
                found=f"in {role}",
                fix=f"pass whole numbers of at least {least}",
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
        raise invalid_value(what, name, value, "a list of bools")
    flips = [checked_truth(each, f"{what}: {name}") for each in given]
    return _complete(what, name, flips, False, rank)


def _complete(what: str, name: str, given: list[Any], left_out: Any, rank: int) -> list[Any]:
    """Return one item for each dimension; reject a list of the wrong length."""
    found = given or [left_out] * rank
    if len(found) != rank:
        raise TensorCreationError(
            f"{what}: {name} is {clipped(given)}",
            found=f"it has {len(given)} items, but the field has {rank} dimensions",
            fix="pass one item for each dimension, or an empty list",
        )
    return found
