"""What users say about a convolution, checked: every illegal parameter is named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from poplite.errors import ElementTypeError, InvalidOption, SizeOverflowError, TensorCreationError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolutions.request import ConvolutionRequest, Spacing, dilated, forward
from poplite.ops.operands import (
    FLOATS,
    Given,
    called,
    check_placed,
    check_type,
    counts_of,
    described,
    graph_of,
    operand,
    own_operand,
    steps_for,
)
from poplite.ops.products.layout import MOST_PRODUCTS, checked_share
from poplite.ops.record import map as stored, zero
from poplite.program import Sequence as Steps
from poplite.text import clipped, integer_or_none
from poplite.types import FLOAT, HALF

Number = int | Sequence[int]
"""One for all dimensions, or one for each."""

Padding = int | Sequence[int | tuple[int, int]]
"""For both sides of all dimensions, of each, or a pair (before, after) for each."""

Flag = bool | Sequence[bool]

MOST_DIMENSIONS = 3
"""Of a field."""

LONGEST = 2**31
"""The longest distance: places are counted with 64 bits."""


def spacings(
    what: str,
    rank: int,
    stride: object,
    padding: object,
    dilation: object,
    input_dilation: object = 1,
    flip: object = False,
) -> tuple[Spacing, ...]:
    """Return how a kernel goes over an input, for each dimension; `what` is the call."""
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
            f"{what}: {name}={clipped(value)} for {rank} dimensions",
            found=f"{len(value)} items",
            fix="one number for all dimensions, or one for each",
        )
    return value[d]


def _natural(what: str, name: str, value: object, rank: int, d: int) -> int:
    number = integer_or_none(_of_dimension(what, name, value, rank, d))
    if number is None or not 1 <= number <= LONGEST:
        raise InvalidOption(
            f"{what}: {name}={clipped(value)}",
            found=f"it is a distance from 1 to {LONGEST:,}",
            fix=f"{name}=1",
        )
    return number


def _pair(what: str, value: object, rank: int, d: int) -> tuple[int, int]:
    own = _of_dimension(what, "padding", value, rank, d)
    pair = own if isinstance(own, Sequence) and not isinstance(own, str) else (own, own)
    numbers = [integer_or_none(each) for each in pair]
    if len(numbers) != 2 or None in numbers:
        raise InvalidOption(
            f"{what}: padding={clipped(value)}",
            found="zeros before and after the input, whole numbers; negative ones leave out",
            fix="padding=1, or padding=[(1, 0), (1, 0)] for two dimensions",
        )
    return numbers[0] or 0, numbers[1] or 0


def _flag(what: str, value: object, rank: int, d: int) -> bool:
    flag = _of_dimension(what, "flip", value, rank, d)
    if not isinstance(flag, bool):
        raise InvalidOption(
            f"{what}: flip={clipped(value)}", fix="True, which turns the kernel around"
        )
    return flag


def check_fields(
    what: str, field: Sequence[int], kernel: Sequence[int], how: Sequence[Spacing]
) -> None:
    """Refuse an input that is smaller than the kernel, along the first such dimension."""
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
            fault = f"the kernel has {long:,} places, the input {padded:,}"
        else:
            fault = "the kernel has no taps"
        raise TensorCreationError(
            f"{what}: along dimension {d} of the field, {fault}",
            found=f"{about}, input dilation {each.input_dilation}",
            fix=f"padding of at least {-(-(long - signal) // 2)} on both sides"
            if taps and cut <= signal
            else "a smaller input or kernel",
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
    """Return the request; channels are groups, those of a group's input, and of its output."""
    share = checked_share(what, memory)
    check_fields(what, field, kernel, how)
    dimensions = tuple(
        forward(size, taps, each) for size, taps, each in zip(field, kernel, how, strict=True)
    )
    request = ConvolutionRequest(channels[0], batch, *channels[1:], dimensions, element, share)
    if request.products > MOST_PRODUCTS:
        raise SizeOverflowError(
            f"{what} of {request}",
            found=f"that multiplies {request.products:,} times, but the most is {MOST_PRODUCTS:,}",
            fix="a smaller batch",
        )
    return request


def checked_expansion(what: str, expand: object, request: ConvolutionRequest) -> int | None:
    """Return of how many of the last dimensions taps count as channels, or refuse it."""
    if expand is None:
        return None
    number, rank = integer_or_none(expand), len(request.dimensions)
    between = max(each.dilation for each in request.dimensions)
    fits = number is not None and 0 <= number <= rank
    if fits and (between == 1 or not number):
        return number
    raise InvalidOption(
        f"{what}: expand={clipped(expand)} of {rank} dimensions",
        found=f"input_dilation is {between:,}: zeros between elements are left out phase by phase"
        if fits
        else "it says of how many of the last dimensions the taps count as channels",
        fix="expand=0" if fits else "expand=1, or None for the cheapest",
    )


def check_rank(what: str, shape: Sequence[int]) -> int:
    """Return the rank of the field of an input or of weights, or refuse it."""
    rank = len(shape) - 2
    if not 1 <= rank <= MOST_DIMENSIONS:
        raise TensorCreationError(
            f"{what}: shape {tuple(shape)}",
            found="a batch and channels, then one to three dimensions",
            fix="x.reshape((batch, channels, height, width))",
        )
    return rank


def check_channels(what: str, groups: object, inputs: int, outputs: int) -> int:
    """Return the number of groups, which divides both numbers of channels, or refuse it."""
    number = integer_or_none(groups)
    if number is None or number < 1 or inputs % number or outputs % number:
        raise InvalidOption(
            f"{what}: groups={clipped(groups)} of {inputs:,} channels to {outputs:,}",
            found="groups have equally many channels",
            fix=f"a divisor of {math.gcd(inputs, outputs):,}",
        )
    return number


def float_type(what: str, element: ElementClass) -> ElementClass:
    """Return an element type that the AMP unit multiplies, or refuse it."""
    if element not in (FLOAT, HALF):
        raise ElementTypeError(
            f"{what} of {element!r}",
            found="the AMP unit multiplies HALF or FLOAT",
            fix="ops.cast(x, FLOAT) of integers, exact up to 2**24",
        )
    return element


# -- operands of a call ----------------------------------------------------------------------------
# A call of an operation on inputs with channels: what its operands have to be.


class ConvolutionCall:
    """A call of an operation: all is checked before anything is recorded."""

    def __init__(self, what: str, name: str, program: Steps | None) -> None:
        self.what, self.name, self.program = what, name, program

    def operands(self, *given: tuple[Operand, str]) -> list[Given]:
        """Return operands of one graph and one type of floats."""
        (x, role), *others = given
        first = operand(self.what, x, self.program, role)
        self.graph: Graph = graph_of(self.what, first, self.program, *(each for each, _ in others))
        check_type(self.what, first, FLOATS, role)
        check_placed(first)
        found = [first, *(self.another(other, name, first) for other, name in others)]
        self.steps = steps_for(self.what, self.graph, self.name, self.program)
        return found

    def another(self, x: Operand, role: str, first: Given) -> Given:
        """Return an operand of the same graph, and of the type of the first one."""
        found = own_operand(self.what, self.graph, x, self.program, role)
        check_placed(found)
        if found.element_type is not first.element_type:
            raise ElementTypeError(
                f"{self.what}: {called(first)} and {called(found)} differ in type",
                found=f"{described(first)} and {described(found)}",
                fix="ops.cast",
            )
        return found

    def stored(self, x: Given, role: str) -> Tensor:
        """Return a tensor: an expression is stored first."""
        if isinstance(x, Expr):
            return stored(x, name=f"{self.name}/{role}", program=self.program)
        return x

    def zeros(self, element: ElementClass, shape: tuple[int, ...], name: str) -> Tensor:
        """Return a new tensor, and record the steps that make its elements 0, if it has some."""
        made = self.graph.add_variable(element, shape, name, mapping="linear")
        return zero(made, name=name, program=self.program) if made.num_elements else made


def rank_of_field(what: str, one: Given, other: Given) -> int:
    """Return the rank of the field of an input, or refuse operands of different ranks."""
    rank = check_rank(what, one.shape)
    if one.rank != other.rank:
        raise TensorCreationError(
            f"{what}: {called(one)} has shape {one.shape}, {called(other)} {other.shape}",
            found=f"{one.rank} and {other.rank} dimensions",
            fix="as many: inputs [batch, channels, size ...], weights [channels, channels, ...]",
        )
    return rank


def check_number(what: str, name: str, sizes: tuple[int, ...], rank: int) -> None:
    """Refuse sizes that are not as many as there are dimensions."""
    if len(sizes) != rank:
        raise TensorCreationError(
            f"{what}: {name} is {sizes}",
            found=f"{len(sizes)} sizes, {rank} dimensions",
            fix="as many sizes",
        )


def sizes_of(what: str, name: str, values: object, rank: int) -> tuple[int, ...]:
    """Return a size for each dimension, or raise."""
    sizes = counts_of(what, name, values)
    check_number(what, name, sizes, rank)
    return sizes


def check_gradient(what: str, gradient: Given, request: ConvolutionRequest) -> None:
    """Refuse a gradient of another shape than the output."""
    shape = request.batch, request.groups * request.outputs, *request.field
    if gradient.shape != shape:
        raise TensorCreationError(
            f"{what}: {called(gradient)} has shape {gradient.shape}, the output {shape}",
            found=str(request),
            fix="the gradient of the output, with the parameters of the convolution",
        )
