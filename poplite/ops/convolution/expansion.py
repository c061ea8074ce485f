"""Taps of a kernel that count as channels of the input.

The AMP unit takes 16 channels of HALF at a time, or 8 of FLOAT, and with fewer as long; and rows of
places take it the less time each, the longer they are. So what several taps lie on may be the
channels of one place:

    x          a b c d e f          two places of output 0 and 1, kernel of three taps
    expanded   abc bcd cde def      kernel of one tap, three times the channels

A view of x says so, which is copied once to where the plan wants it; then all goes on as with an
input of so many channels. Dimensions are expanded from the last one on. So sums keep their order,
taps and then channels, and what lies side by side in x does so among the channels.

Source: PopLibs, `lib/poplin/ConvPlan.cpp`, `getExpandDimsCandidates`, and `expandSpatialDim` of
`lib/poplin/ConvTransforms.hpp`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.dimension import Dimension
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.convolution.views import by_channels, signal


def expansions(request: ConvolutionRequest) -> list[ConvolutionRequest]:
    """Return a convolution, and the same with the taps of its last dimensions as channels.

    Only the one that is asked for, if one is; up to a kernel that is longer than the input.
    """
    if request.expand is not None:
        return [expanded(request, request.expand)]
    numbers = [0]
    for number, each in enumerate(reversed(request.dimensions), 1):
        if len(each.taps) > each.size:
            break
        if len(each.taps) > 1:
            numbers.append(number)
    return [expanded(request, number) for number in numbers]


def expanded(request: ConvolutionRequest, number: int) -> ConvolutionRequest:
    """Return a convolution with the taps of its last dimensions as channels.

    >>> from poplite.ops.convolution.dimension import Spacing, forward
    >>> from poplite.types import FLOAT
    >>> dimensions = (forward(8, 3, Spacing()), forward(9, 3, Spacing(stride=2)))
    >>> print(expanded(ConvolutionRequest(1, 2, 4, 16, dimensions, FLOAT, 0.6), 1))
    2 of 8 x 4, 12 to 16 channels, kernel 3 x 1, to 6 x 4, FLOAT
    """
    if not number:
        return request
    rank = len(request.dimensions)
    last = request.dimensions[rank - number :]
    return replace(
        request,
        inputs=request.inputs * math.prod(len(each.taps) for each in last),
        dimensions=(
            *request.dimensions[: rank - number],
            *(Dimension(each.count, 1, 0, 1, each.count, (0,)) for each in last),
        ),
        expand=number,
        source=request,
    )


def expanded_input(x: Tensor, request: ConvolutionRequest, zeros: Tensor | None) -> Tensor:
    """Return an input, [batch, groups * inputs, field ...], with taps among its channels.

    `zeros` are as in `signal`.
    """
    rank = len(request.dimensions)
    x = by_taps(by_channels(x, request.read), expanded_dimensions(request), zeros)
    field = tuple(range(2, 2 + rank))
    x = x.dim_shuffle((1, 0, 3 + rank, 2 + rank, *field))
    return x.reshape((request.batch, request.groups * request.inputs, *x.shape[x.rank - rank :]))


def expanded_dimensions(request: ConvolutionRequest) -> list[tuple[int, Dimension]]:
    """Return the number of each dimension whose taps count as channels, and what it was before."""
    first = len(request.dimensions) - (request.expand or 0)
    return list(enumerate(request.read.dimensions))[first:]


def side_by_side(request: ConvolutionRequest) -> int:
    """Return how many channels of an expanded input lie side by side in x too."""
    source = request.read
    taps = source.dimensions[-1].taps
    return source.inputs * (len(taps) if taps == tuple(range(len(taps))) else 1)


def expanded_weights(weights: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return weights, [groups, outputs, inputs, taps], with taps among their channels."""
    if request.source is None:
        return weights
    groups, outputs = weights.shape[:2]
    own = request.taps
    parted = weights.reshape((groups, outputs, request.source.inputs, own, request.as_channels))
    return parted.dim_shuffle((0, 1, 4, 2, 3)).reshape((groups, outputs, request.inputs, own))


def collapsed_weights(weights: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return what `expanded_weights` was made of."""
    if request.source is None:
        return weights
    groups, outputs, _, own = weights.shape
    inputs = request.source.inputs
    parted = weights.reshape((groups, outputs, request.as_channels, inputs, own))
    shape = groups, outputs, inputs, request.source.taps
    return parted.dim_shuffle((0, 1, 3, 4, 2)).reshape(shape)


def by_taps(x: Tensor, dimensions: list[tuple[int, Dimension]], zeros: Tensor | None) -> Tensor:
    """Return what outputs read of an input, [groups, batch, field ..., inputs, taps].

    Only along some dimensions, by their number in the field; `zeros` are as in `signal`.
    """
    for d, each in dimensions:
        x = signal(x, 2 + d, each, zeros)
    parts = []
    for taps in product(*(each.taps for _, each in dimensions)):
        part = x
        for (d, each), tap in zip(dimensions, taps, strict=True):
            end = tap + (each.count - 1) * each.stride + 1
            part = part.slice(tap, end, 2 + d).sub_sample(each.stride, 2 + d)
        parts.append(part.expand([x.rank]))
    return concat(parts, x.rank)
