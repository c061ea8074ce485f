"""Requests for convolutions: how outputs read the input, dimension by dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, InvalidOption, SizeOverflowError, TensorCreationError
from poplite.expr.tree import ElementClass
from poplite.frozen import frozen
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import (
    Given,
    called,
    counts_of,
)
from poplite.ops.products.matmul_layout import MOST_PRODUCTS, checked_share
from poplite.text import clipped, integer_or_none
from poplite.types import FLOAT, HALF, ElementType

# -- one dimension ---------------------------------------------------------------------------------
# A convolution along one dimension of its field.
#
#     signal     a . b . c          `size` elements, `dilation` apart, with zeros between and around
#     output 0   ^   ^              starts at `origin` and reads at the positions `taps` from there
#     output 1       ^   ^          starts `stride` positions later
#
# The gradient with respect to the input reads the gradient of the output in the same way: strides
# become dilations, and vice versa. So both use the same description and the same planner.
#
# Source: PopLibs, `poplin/ConvParams.hpp`, for the sizes of outputs.


MOST_UNEVEN = 1.25
"""Maximum ratio of the largest owned part of a signal to the largest of equal parts."""


@frozen
class Dimension:
    """How outputs read a signal along a dimension.

    Attributes:
        size: number of elements of the signal.
        dilation: distance between elements.
        origin: the position at which the first output starts to read; positions before 0 hold
            zeros.
        stride: distance between outputs.
        count: number of outputs.
        taps: the position that each weight is multiplied with, relative to the start of the output;
            not negative.
    """

    size: int
    dilation: int
    origin: int
    stride: int
    count: int
    taps: tuple[int, ...]

    @property
    def span(self) -> int:
        """The number of positions from the first to the last that an output reads."""
        return max(self.taps) + 1

    def places(self, outputs: Any) -> Any:
        """Return the number of positions from the first to the last that adjacent outputs read.

        >>> forward(8, 3, Spacing(stride=2)).places(2)
        5
        """
        return (outputs - 1) * self.stride + self.span

    @property
    def reads_zeros(self) -> bool:
        """Whether outputs read zeros, between elements or around the signal."""
        end = self.origin + self.places(self.count)
        return self.dilation > 1 or self.origin < 0 or bool(end > self.size)

    def owner(self, part: int) -> Int64:
        """Return the starts of the elements owned by each part of outputs, and the last end.

        A part has `part` outputs. Elements that several parts read belong to the last of these
        parts. If the last part would get many more elements than others, elements are divided
        nearly evenly instead, so that each part still owns only elements that it reads.

        >>> forward(8, 3, Spacing(padding=(1, 1))).owner(4).tolist()
        [0, 3, 8]
        >>> forward(12, 3, Spacing()).owner(2).tolist()
        [0, 2, 4, 7, 9, 12]
        """
        count = -(-max(1, self.count) // part)
        numbers = np.arange(1, count)
        begins = self.origin + numbers * (part * self.stride)
        first, last = self._elements(begins), self._elements(begins + (self.span - self.stride))
        even = np.minimum(np.maximum(numbers * self.size // count, first), np.maximum(first, last))
        edges, others = (np.concatenate(([0], each, [self.size])) for each in (first, even))
        is_even = np.diff(edges).max() <= MOST_UNEVEN * np.diff(others).max()
        return edges if is_even else others

    def _elements(self, places: Int64) -> Int64:
        """Return the indices of the first elements at or after the given positions."""
        found: Int64 = np.minimum(np.maximum(-(-places // self.dilation), 0), self.size)
        return found

    @property
    def inverse(self) -> Dimension:
        """The dimension of the gradient: how signal elements read the gradients of the outputs.

        >>> forward(8, 3, Spacing(stride=2)).inverse
        Dimension(size=3, dilation=2, origin=-2, stride=1, count=8, taps=(2, 1, 0))
        """
        last = self.span - 1
        taps = tuple(last - tap for tap in self.taps)
        return Dimension(
            self.count, self.stride, -self.origin - last, self.dilation, self.size, taps
        )


@frozen
class Spacing:
    """How a kernel moves over an input along a dimension.

    Attributes:
        stride: distance between outputs.
        padding: zeros before and after the input; negative padding omits elements.
        dilation: distance between taps of the kernel.
        input_dilation: distance between elements of the input, with zeros between.
        flip: whether the kernel is flipped.
    """

    stride: int = 1
    padding: tuple[int, int] = (0, 0)
    dilation: int = 1
    input_dilation: int = 1
    flip: bool = False


def dilated(size: int, dilation: int) -> int:
    """Return the size of a signal with zeros between its elements.

    >>> dilated(3, 2)
    5
    """
    return 1 + (size - 1) * dilation if size else 0


def forward(size: int, kernel: int, how: Spacing) -> Dimension:
    """Return the dimension of a convolution; the kernel must fit the input.

    >>> forward(8, 3, Spacing(stride=2, padding=(1, 0)))
    Dimension(size=8, dilation=1, origin=-1, stride=2, count=4, taps=(0, 1, 2))
    """
    long = dilated(kernel, how.dilation)
    taps = tuple(range(0, long, how.dilation))
    room = dilated(size, how.input_dilation) + sum(how.padding) - long + 1
    return Dimension(
        size,
        how.input_dilation,
        -how.padding[0],
        how.stride,
        -(-room // how.stride),
        taps[::-1] if how.flip else taps,
    )


def one_to_one(size: int) -> Dimension:
    """Return a dimension in which each output reads its own element."""
    return Dimension(size, 1, 0, 1, size, (0,))


def outputs_per_row(dimensions: Sequence[Dimension], parts: Sequence[Any]) -> Any:
    """Return how many outputs of a block read consecutive positions, so that they form one row.

    A row is along the last dimension, or consists of several such rows if nothing is read between
    them. `parts` are the sizes of the block, integers or arrays.

    >>> tall = forward(7, 3, Spacing(padding=(1, 1)))
    >>> outputs_per_row([tall, tall], (7, 7))
    7
    >>> outputs_per_row([tall, forward(7, 1, Spacing())], (7, 7))
    49
    """
    found = parts[-1]
    for each, inner, part in zip(dimensions[-2::-1], dimensions[:0:-1], parts[-2::-1], strict=True):
        if each.stride > 1 or inner.stride > 1 or inner.span > 1:
            break
        found = found * part
    return found


@frozen
class DimensionPhase:
    """Every n-th output along a dimension, as reads of a signal without zeros between elements.

    Attributes:
        dimension: how the outputs read the signal; None if they read only zeros.
        taps: start, stop and step of the indices of the taps that do not fall on zeros.
        count: number of outputs.
    """

    dimension: Dimension | None
    taps: tuple[int, int, int]
    count: int


def phases(dim: Dimension) -> tuple[DimensionPhase, ...]:
    """Return the phases of outputs: within a phase, the same taps fall on elements, not zeros.

    With n phases, phase p has the outputs p, p + n, p + 2 n, ...

    >>> [phase.taps for phase in phases(forward(4, 3, Spacing(stride=2)).inverse)]
    [(0, 3, 2), (1, 2, 1)]
    """
    distance = dim.dilation // math.gcd(dim.stride, dim.dilation)
    return tuple(_phase(dim, first, distance) for first in range(min(distance, dim.count)))


def _phase(dim: Dimension, first: int, distance: int) -> DimensionPhase:
    count = -(-(dim.count - first) // distance)
    origin = dim.origin + first * dim.stride
    kept = [n for n, tap in enumerate(dim.taps) if not (origin + tap) % dim.dilation]
    if not kept:
        return DimensionPhase(None, (0, 0, 1), count)
    places = [(origin + dim.taps[n]) // dim.dilation for n in kept]
    taps = tuple(place - min(places) for place in places)
    stride = dim.stride * distance // dim.dilation
    step = kept[1] - kept[0] if len(kept) > 1 else 1
    return DimensionPhase(
        Dimension(dim.size, 1, min(places), stride, count, taps),
        (kept[0], kept[-1] + 1, step),
        count,
    )


# -- all dimensions --------------------------------------------------------------------------------


@frozen
class ConvolutionRequest:
    """A convolution of `batch` inputs, in groups of channels.

    Attributes:
        groups: number of groups of channels, which are convolved separately.
        batch: number of inputs.
        inputs: channels of the input in a group.
        outputs: channels of the output in a group.
        dimensions: number of dimensions of the field.
        element_type: element type of the input, the weights and the output.
        memory: the fraction of a tile's memory that blocks and partials may take.
        expand: number of last dimensions whose taps are treated as channels of the input; None if
            the plan chooses.
        source: the original convolution, if taps are treated as channels
            (`poplite.ops.products.convolution_layout`); otherwise None.
    """

    groups: int
    batch: int
    inputs: int
    outputs: int
    dimensions: tuple[Dimension, ...]
    element_type: type[ElementType[Any]]
    memory: float
    expand: int | None = None
    source: ConvolutionRequest | None = None

    @property
    def read(self) -> ConvolutionRequest:
        """The convolution without taps as channels, which describes the original input."""
        return self.source or self

    @property
    def as_channels(self) -> int:
        """The number of taps treated as channels, for each of the remaining taps."""
        return self.read.taps // self.taps

    @property
    def taps(self) -> int:
        """Number of taps of the kernel."""
        return math.prod(self.kernel)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Number of taps of the kernel along each dimension."""
        return tuple(len(each.taps) for each in self.dimensions)

    @property
    def field(self) -> tuple[int, ...]:
        """Sizes of the output."""
        return tuple(each.count for each in self.dimensions)

    @property
    def elements(self) -> int:
        """Number of elements of the input."""
        sizes = math.prod(each.size for each in self.dimensions)
        return self.groups * self.batch * self.inputs * sizes

    @property
    def products(self) -> int:
        """The number of multiplications of an element by a weight."""
        channels = self.groups * self.inputs * self.outputs
        return channels * self.batch * math.prod(self.field) * self.taps

    @property
    def is_empty(self) -> bool:
        """Whether there are no multiplications."""
        return self.products == 0

    @property
    def inverse(self) -> ConvolutionRequest:
        """The convolution from the gradient of the output to that of the input."""
        return replace(
            self,
            inputs=self.outputs,
            outputs=self.inputs,
            dimensions=tuple(each.inverse for each in self.dimensions),
            expand=None,
        )

    @property
    def is_rounded(self) -> bool:
        """Whether the FLOAT sums are rounded at the end."""
        return self.element_type is not FLOAT

    def __str__(self) -> str:
        field = " x ".join(f"{each.size:,}" for each in self.dimensions)
        kernel = " x ".join(f"{taps:,}" for taps in self.kernel)
        made = " x ".join(f"{size:,}" for size in self.field)
        groups = f"{self.groups:,} groups of " if self.groups != 1 else ""
        return (
            f"{self.batch:,} of {field}, {groups}{self.inputs:,} to {self.outputs:,} channels, "
            f"kernel {kernel}, to {made}, {self.element_type!r}"
        )


# -- phases of an input with zeros between its elements --------------------------------------------
# A convolution of an input with zeros between its elements is divided into phases without zeros.
#
#     input   a . b . c          distance 2, kernel of three taps
#     even    ^ . ^              taps 0 and 2, of a b c
#     odd       . ^ .            tap 1
#
# Every n-th output reads elements with the same taps, and zeros with the other taps. So the outputs
# of a phase are a convolution of the original input with only these taps, and zeros are not
# multiplied. The vertices of all phases run at the same time (`convolution_layout`).


@frozen
class PhaseOutputs:
    """The outputs that belong to a given phase in every dimension.

    Attributes:
        whole: the convolution.
        phases: the phase in each dimension.
        numbers: the index of the phase in each dimension.
    """

    whole: ConvolutionRequest
    phases: tuple[DimensionPhase, ...]
    numbers: tuple[int, ...]

    @property
    def request(self) -> ConvolutionRequest | None:
        """The convolution of the phase; None if its outputs are zero."""
        dimensions = tuple(each.dimension for each in self.phases if each.dimension)
        if len(dimensions) < len(self.phases):
            return None
        # The weights of all phases are one tensor, so no phase has taps as channels.
        dilated = any(each.dilation > 1 for each in self.whole.dimensions)
        return replace(
            self.whole, dimensions=dimensions, expand=0 if dilated else self.whole.expand
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the outputs, [batch, groups * outputs, field ...]."""
        whole = self.whole
        field = tuple(each.count for each in self.phases)
        return whole.batch, whole.groups * whole.outputs, *field

    def own(self, x: Tensor) -> Tensor:
        """Return the elements of a whole output that are in the phase, [batch, channels, ...]."""
        for d, (number, each) in enumerate(zip(self.numbers, self.whole.dimensions, strict=True)):
            x = x.slice(number, x.shape[2 + d], 2 + d).sub_sample(len(phases(each)), 2 + d)
        return x

    def weights(self, weights: Tensor) -> Tensor:
        """Return the taps of the phase from weights [groups, outputs, inputs, taps]."""
        kernel = tuple(len(each.taps) for each in self.whole.dimensions)
        weights = weights.reshape((*weights.shape[:3], *kernel))
        for d, each in enumerate(self.phases):
            first, end, step = each.taps
            weights = weights.slice(first, end, 3 + d).sub_sample(step, 3 + d)
        return weights.reshape((*weights.shape[:3], math.prod(weights.shape[3:])))


def parts(request: ConvolutionRequest) -> list[PhaseOutputs]:
    """Return the phases of a convolution: only one if there are no zeros between elements."""
    found = [phases(each) for each in request.dimensions]
    numbers = product(*(range(len(each)) for each in found))
    return [
        PhaseOutputs(request, several, which)
        for several, which in zip(product(*found), numbers, strict=True)
    ]


def joined_phases(outputs: list[Tensor], request: ConvolutionRequest) -> Tensor:
    """Return the output of a convolution from the outputs of its phases."""
    for d in reversed(range(len(request.dimensions))):
        count = len(phases(request.dimensions[d]))
        outputs = [
            _interleaved(outputs[n : n + count], 2 + d) for n in range(0, len(outputs), count)
        ]
    return outputs[0]


def _interleaved(several: list[Tensor], dim: int) -> Tensor:
    """Interleave tensors along a dimension; the first ones may have one more element."""
    if len(several) == 1:
        return several[0]
    least = several[-1].shape[dim]
    turns = concat([each.slice(0, least, dim).expand([dim + 1]) for each in several], dim + 1)
    shape = list(several[-1].shape)
    shape[dim] = least * len(several)
    rest = [each.slice(least, each.shape[dim], dim) for each in several]
    return concat([turns.reshape(shape), *rest], dim)


# -- parameters ------------------------------------------------------------------------------------
# Checks of the parameters of a convolution; messages name the invalid parameter.


Number = int | Sequence[int]
"""One number for all dimensions, or one for each."""

Padding = int | Sequence[int | tuple[int, int]]
"""One number for all sides, one for each dimension, or a pair (before, after) for each."""

Flag = bool | Sequence[bool]

MOST_DIMENSIONS = 3
"""Maximum rank of a field."""

LONGEST = 2**31
"""Maximum distance, so that positions fit in 64 bits."""


def spacings(
    what: str,
    rank: int,
    stride: object,
    padding: object,
    dilation: object,
    input_dilation: object = 1,
    flip: object = False,
) -> tuple[Spacing, ...]:
    """Return how a kernel moves over an input along each dimension; messages name `what`."""
    return tuple(
        Spacing(
            _natural(what, "stride", stride, rank, d),
            _pair(what, padding, rank, d),
            _natural(what, "dilation", dilation, rank, d),
            _natural(what, "input_dilation", input_dilation, rank, d),
            _flag(what, flip, rank, d),
        )
        for d in range(rank)
    )


def _of_dimension(what: str, name: str, value: Any, rank: int, d: int) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    if len(value) != rank:
        raise InvalidOption(
            f"{what}: {name} is {clipped(value)} for {rank} dimensions",
            found=f"it has {len(value)} items",
            fix="pass one number for all dimensions, or one for each",
        )
    return value[d]


def _natural(what: str, name: str, value: object, rank: int, d: int) -> int:
    number = integer_or_none(_of_dimension(what, name, value, rank, d))
    if number is None or not 1 <= number <= LONGEST:
        raise InvalidOption(
            f"{what}: {name} is {clipped(value)}",
            found=f"it must be a distance from 1 to {LONGEST:,}",
            fix=f"pass {name}=1",
        )
    return number


def _pair(what: str, value: object, rank: int, d: int) -> tuple[int, int]:
    own = _of_dimension(what, "padding", value, rank, d)
    pair = own if isinstance(own, Sequence) and not isinstance(own, str) else (own, own)
    numbers = [integer_or_none(each) for each in pair]
    if len(numbers) != 2 or None in numbers:
        raise InvalidOption(
            f"{what}: padding is {clipped(value)}",
            found="it must be whole numbers of zeros before and after the input; negative numbers "
            "leave elements out",
            fix="pass padding=1, or padding=[(1, 0), (1, 0)] for two dimensions",
        )
    return numbers[0] or 0, numbers[1] or 0


def _flag(what: str, value: object, rank: int, d: int) -> bool:
    flag = _of_dimension(what, "flip", value, rank, d)
    if not isinstance(flag, bool):
        raise InvalidOption(
            f"{what}: flip is {clipped(value)}",
            fix="pass True, which reverses the kernel, or False",
        )
    return flag


def check_fields(
    what: str, field: Sequence[int], kernel: Sequence[int], how: Sequence[Spacing]
) -> None:
    """Reject an input that is smaller than the kernel; the message names the first dimension."""
    for d, (size, taps, each) in enumerate(zip(field, kernel, how, strict=True)):
        signal = dilated(size, each.input_dilation)
        long, padded = dilated(taps, each.dilation), signal + sum(each.padding)
        cut = -sum(min(0, side) for side in each.padding)
        if taps and long <= padded and cut <= signal:
            continue
        about = f"input {size:,}, kernel {taps:,}, padding {each.padding}, dilation {each.dilation}"
        if cut > signal:
            fault = f"padding leaves out {cut:,} of {signal:,} elements"
        elif taps:
            fault = f"the kernel has {long:,} places, but the input has {padded:,}"
        else:
            fault = "the kernel has no taps"
        raise TensorCreationError(
            f"{what}: along dimension {d} of the field, {fault}",
            found=f"{about}, input dilation {each.input_dilation}",
            fix=f"use a padding of at least {-(-(long - signal) // 2)} on both sides"
            if taps and cut <= signal
            else "use a smaller input or kernel",
        )


def request_of(
    what: str,
    batch: int,
    channels: tuple[int, int, int],
    field: Sequence[int],
    kernel: Sequence[int],
    how: Sequence[Spacing],
    element: ElementClass,
    memory: object,
) -> ConvolutionRequest:
    """Return the request; `channels` are groups, input channels and output channels of a group."""
    share = checked_share(what, memory)
    check_fields(what, field, kernel, how)
    dimensions = tuple(
        forward(size, taps, each) for size, taps, each in zip(field, kernel, how, strict=True)
    )
    request = ConvolutionRequest(channels[0], batch, *channels[1:], dimensions, element, share)
    if request.products > MOST_PRODUCTS:
        raise SizeOverflowError(
            f"{what}: {request} is too large",
            found=f"it needs {request.products:,} multiplications; the maximum is "
            f"{MOST_PRODUCTS:,}",
            fix="use a smaller batch",
        )
    return request


def checked_expansion(what: str, expand: object, request: ConvolutionRequest) -> int | None:
    """Return the number of last dimensions whose taps are treated as channels, or raise."""
    if expand is None:
        return None
    number, rank = integer_or_none(expand), len(request.dimensions)
    between = max(each.dilation for each in request.dimensions)
    fits = number is not None and 0 <= number <= rank
    if fits and (between == 1 or not number):
        return number
    raise InvalidOption(
        f"{what}: expand is {clipped(expand)} for {rank} dimensions",
        found=f"input_dilation is {between:,}: zeros between elements are left out phase by phase"
        if fits
        else "it must be the number of last dimensions whose taps count as channels",
        fix="pass expand=0" if fits else "pass expand=1, or None for the cheapest",
    )


def check_rank(what: str, shape: Sequence[int]) -> int:
    """Return the rank of the field of an input or of weights, or raise."""
    rank = len(shape) - 2
    if not 1 <= rank <= MOST_DIMENSIONS:
        raise TensorCreationError(
            f"{what}: shape {tuple(shape)} is not that of an input or of weights",
            found="expected a batch, channels, and one to three dimensions",
            fix="pass x.reshape((batch, channels, height, width))",
        )
    return rank


def check_channels(what: str, groups: object, inputs: int, outputs: int) -> int:
    """Return the number of groups, which divides both numbers of channels, or raise."""
    number = integer_or_none(groups)
    if number is None or number < 1 or inputs % number or outputs % number:
        raise InvalidOption(
            f"{what}: groups is {clipped(groups)} for {inputs:,} input and {outputs:,} output "
            "channels",
            found="all groups must have the same number of channels",
            fix=f"pass a divisor of {math.gcd(inputs, outputs):,}",
        )
    return number


def float_type(what: str, element: ElementClass) -> ElementClass:
    """Return an element type that the AMP unit multiplies, or raise."""
    if element not in (FLOAT, HALF):
        raise ElementTypeError(
            f"{what}: {element!r} is not supported",
            found="the AMP unit multiplies HALF or FLOAT",
            fix="use ops.cast(x, FLOAT) for integers, exact up to 2**24",
        )
    return element


# -- operands of a call ----------------------------------------------------------------------------
# Checks of the operands of operations on inputs with channels.


def rank_of_field(what: str, one: Given, other: Given) -> int:
    """Return the rank of the field of an input, or raise for operands of different ranks."""
    rank = check_rank(what, one.shape)
    if one.rank != other.rank:
        raise TensorCreationError(
            f"{what}: {called(one)} has shape {one.shape}, but {called(other)} has {other.shape}",
            found=f"they have {one.rank} and {other.rank} dimensions",
            fix="pass [batch, channels, size ...], and weights [channels, channels, size ...]",
        )
    return rank


def check_number(what: str, name: str, sizes: tuple[int, ...], rank: int) -> None:
    """Reject sizes whose number differs from that of the dimensions."""
    if len(sizes) != rank:
        raise TensorCreationError(
            f"{what}: {name} is {sizes}",
            found=f"it has {len(sizes)} sizes for {rank} dimensions",
            fix="pass a size for each dimension",
        )


def sizes_of(what: str, name: str, values: object, rank: int) -> tuple[int, ...]:
    """Return a size for each dimension, or raise."""
    sizes = counts_of(what, name, values)
    check_number(what, name, sizes, rank)
    return sizes


def check_gradient(what: str, gradient: Given, request: ConvolutionRequest) -> None:
    """Reject a gradient whose shape differs from that of the output."""
    shape = request.batch, request.groups * request.outputs, *request.field
    if gradient.shape != shape:
        raise TensorCreationError(
            f"{what}: {called(gradient)} has shape {gradient.shape}, but the output has {shape}",
            found=str(request),
            fix="pass the gradient of the output, and the parameters of the convolution",
        )
