"""Operands of a convolution as blocks that lie one behind the other: nothing is stored.

    input      [batch, groups * inputs, field ...]          weights  [groups, outputs, inputs, taps]
    signal     zeros between its elements and around
    windows    for each block what it reads; they overlap
    block      [batch, field ..., inputs]                   block    [taps, inputs, outputs]

In a block, what is multiplied with the weights of a tap stands together.
"""

from __future__ import annotations

import math
from itertools import product

from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.dimension import Dimension
from poplite.ops.convolution.layout import ConvolutionLayout, EqualBlocks, EqualParts, segments
from poplite.ops.convolution.request import ConvolutionRequest


def by_channels(x: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return an input as [groups, batch, field ..., inputs]."""
    fields = x.shape[2:]
    x = x.reshape((request.batch, request.groups, request.inputs, *fields))
    return x.dim_shuffle((1, 0, *range(3, 3 + len(fields)), 2))


def signal(x: Tensor, dim: int, how: Dimension, zeros: Tensor | None) -> Tensor:
    """Return exactly what all outputs read along a dimension of an input.

    `zeros` is [groups, batch, 1 ..., inputs]; None where none are read.
    """
    if how.dilation > 1 and x.shape[dim]:
        shape = list(x.shape)
        between = _zeros(zeros, [*shape, how.dilation - 1])
        joined = concat([x.expand([x.rank]), between], x.rank)
        order = [*range(dim + 1), x.rank, *range(dim + 1, x.rank)]
        shape[dim] *= how.dilation
        x = joined.dim_shuffle(order).reshape(shape)
    begin, end = how.origin, how.origin + how.places(how.count)
    kept = x.slice(min(max(begin, 0), x.shape[dim]), min(max(end, 0), x.shape[dim]), dim)
    before, shape = min(max(0, -begin), end - begin), list(x.shape)
    behind = end - begin - before - kept.shape[dim]
    parts = [kept]
    if before:
        shape[dim] = before
        parts.insert(0, _zeros(zeros, shape))
    if behind:
        shape[dim] = behind
        parts.append(_zeros(zeros, shape))
    return concat(parts, dim)


def _zeros(zeros: Tensor | None, shape: list[int]) -> Tensor:
    """Return zeros of a shape, each channel with its own."""
    assert zeros is not None, "zeros are read"
    for d, size in enumerate(shape):
        if d == zeros.rank:
            zeros = zeros.expand([d])
        if zeros.shape[d] != size:
            zeros = zeros.broadcast(size, d)
    return zeros


def windows(x: Tensor, dim: int, part: EqualParts, how: Dimension) -> Tensor:
    """Return what blocks of outputs read along a dimension, [..., blocks, places, ...]."""
    places, distance = how.places(part.part), part.part * how.stride
    begin = part.begin * how.stride
    if places == distance:
        kept = x.slice(begin, begin + part.count * places, dim)
        return kept.reshape_partial(dim, dim + 1, (part.count, places))
    found = [
        x.slice(begin + number * distance, begin + number * distance + places, dim)
        for number in range(part.count)
    ]
    return concat([each.expand([dim]) for each in found], dim)


def input_blocks(x: Tensor, kind: EqualBlocks) -> Tensor:
    """Return what the vertices of a kind read, [groups, batch, field ..., inputs, elements].

    `x` is the signal of all dimensions, [groups, batch, field ..., inputs].
    """
    request, parts = kind.layout.request, kind.parts
    rank = len(request.dimensions)
    x = x.slice(parts[-2].begin, parts[-2].end, 2 + rank)
    x = x.reshape_partial(2 + rank, 3 + rank, (parts[-2].count, parts[-2].part))
    for d in reversed(range(rank)):
        x = windows(x, 2 + d, parts[2 + d], request.dimensions[d])
    x = x.slice(parts[1].begin, parts[1].end, 1)
    x = x.reshape_partial(1, 2, (parts[1].count, parts[1].part))
    outer = [0, *range(1, x.rank, 2)]
    x = x.dim_shuffle([*outer, *range(2, x.rank, 2)])
    return x.reshape((*x.shape[: len(outer)], math.prod(x.shape[len(outer) :])))


def weight_blocks(weights: Tensor, kind: EqualBlocks) -> Tensor:
    """Return the weights that the vertices of a kind read, [groups, inputs, outputs, elements].

    `weights` are [groups, outputs, inputs, taps].
    """
    deep, wide = kind.parts[-2:]
    part = weights[:, wide.begin : wide.end, deep.begin : deep.end]
    groups, taps = part.shape[0], part.shape[3]
    part = part.reshape((groups, wide.count, wide.part, deep.count, deep.part, taps))
    part = part.dim_shuffle((0, 3, 1, 5, 4, 2))
    return part.reshape((groups, deep.count, wide.count, taps * deep.part * wide.part))


def weights_of_blocks(flat: Tensor, layout: ConvolutionLayout, taps: int) -> Tensor:
    """Return [groups, outputs, inputs, taps] of weights that lie in blocks, kind after kind."""
    request, begin, rows = layout.request, 0, []
    for wide in segments(request.outputs, layout.outputs):
        row = []
        for deep in segments(request.inputs, layout.inputs):
            shape = request.groups, deep.count, wide.count, taps, deep.part, wide.part
            part = flat[begin : begin + math.prod(shape)].reshape(shape)
            begin += math.prod(shape)
            part = part.dim_shuffle((0, 2, 5, 1, 4, 3))
            row.append(
                part.reshape((request.groups, wide.end - wide.begin, deep.end - deep.begin, taps))
            )
        rows.append(concat(row, 2))
    return concat(rows, 1)


def output_of_blocks(flat: Tensor, layout: ConvolutionLayout) -> Tensor:
    """Return [batch, groups * outputs, field ...] of blocks, kind after kind."""
    request, begin = layout.request, 0
    sizes = request.batch, *request.field, request.outputs
    blocks = layout.batch, *layout.field, layout.outputs
    cut = [segments(size, part) for size, part in zip(sizes, blocks, strict=True)]
    pieces: list[Tensor] = []
    for parts in product(*cut):
        shape = [each.count for each in parts] + [each.part for each in parts]
        count = request.groups * math.prod(shape)
        piece = flat[begin : begin + count].reshape((request.groups, *shape))
        begin += count
        rank = len(parts)
        order = [0, *(d for n in range(rank) for d in (1 + n, 1 + n + rank))]
        whole = [each.end - each.begin for each in parts]
        pieces.append(piece.dim_shuffle(order).reshape((request.groups, *whole)))
    for d in reversed(range(len(cut))):
        several = len(cut[d])
        pieces = [concat(pieces[n : n + several], 1 + d) for n in range(0, len(pieces), several)]
    out = pieces[0]  # [groups, batch, field ..., outputs]
    last = out.rank - 1
    out = out.dim_shuffle((1, 0, last, *range(2, last)))
    return out.reshape((request.batch, request.groups * request.outputs, *request.field))
