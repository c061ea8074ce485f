"""Layouts of convolutions: which tile convolves which blocks of an input with which weights.

    output [batch, field ..., outputs]      cut into blocks along all dimensions
    inputs                                  may also be cut: blocks are then sums of partials

A vertex makes a block of the output from a block of the weights and a part of the input, which
overlaps with the parts of its neighbours. Vertices are numbered: consecutive vertices read the same
input, but have different output channels. A tile has `turns` consecutive vertices, and runs as many
of them at a time as fit its memory. The compute sets of a layout:

    copies      copy operands whose channels are not adjacent to the plan's mapping, since
                vertices would otherwise read single elements; and inputs whose taps are treated
                as channels
    products    multiply the input of each block by its weights, in several passes if the blocks
                of a tile do not fit its memory together
    sums        add the partials of each block, divided among the tiles that made them; only if
                input channels are cut, or sums are rounded

Operands may have any mapping. Operands created by a plan are on the tiles that use them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.planning import EqualParts, part_edges, segments
from poplite.ops.products.convolution_request import ConvolutionRequest, Dimension, outputs_per_row
from poplite.program import Copy, WriteUndef
from poplite.program.recording import Recorder
from poplite.types import FLOAT
from poplite.vertices.convolution import AmpConvolution
from poplite.vertices.reduce import AddPartials

SHORTEST = 8
"""An operand with fewer adjacent elements than this is copied."""


@frozen
class ConvolutionLayout:
    """One way to divide a convolution among tiles, with its cost.

    Attributes:
        request: the convolution.
        batch: number of inputs in a block.
        field: number of outputs in a block along each dimension.
        outputs: number of output channels in a block.
        inputs: number of input channels in a block.
        turns: number of vertices on a tile.
        at_once: number of vertices on a tile in one pass.
        cycles: estimates for exchange, products, and the addition of partials.
        held: bytes on a tile for the input, the weights, its partials, and received partials.
        operands: approximate bytes on the fullest tile for input, weights and output with the
            plan's mapping.
    """

    request: ConvolutionRequest
    batch: int
    field: tuple[int, ...]
    outputs: int
    inputs: int
    turns: int
    at_once: int
    cycles: tuple[int, int, int]
    held: tuple[int, int, int, int]
    operands: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups, batch, outputs of the field, input channels and output channels."""
        request = self.request
        return request.groups, request.batch, *request.field, request.inputs, request.outputs

    @property
    def block(self) -> tuple[int, ...]:
        """The sizes of a block, in the same order."""
        return 1, self.batch, *self.field, self.inputs, self.outputs

    @property
    def cuts(self) -> tuple[int, ...]:
        """The number of blocks along each dimension, in the order of `sizes`."""
        return tuple(-(-size // part) for size, part in zip(self.sizes, self.block, strict=True))

    @property
    def depth(self) -> int:
        """Number of partials of each output."""
        return self.cuts[-2]

    @property
    def vertices(self) -> int:
        """Number of vertices, each of which convolves a block."""
        return math.prod(self.cuts)

    @property
    def tiles(self) -> int:
        """Number of tiles that take part."""
        return -(-self.vertices // self.turns)

    @property
    def passes(self) -> int:
        """The number of compute sets of products."""
        return -(-self.turns // self.at_once)

    @property
    def bytes(self) -> int:
        """Bytes of the blocks and partials on a tile."""
        return sum(self.held)

    @property
    def has_partials(self) -> bool:
        """Whether tiles write partials, which are added up or rounded afterwards."""
        return self.depth > 1 or self.request.is_rounded

    @property
    def unexpanded(self) -> ConvolutionLayout:
        """The layout of the input before taps are treated as channels, if any are."""
        source = self.request.source
        if source is None:
            return self
        part = max(-(-source.inputs // self.depth), min(source.inputs, SHORTEST))
        return replace(self, request=source, inputs=part)

    def number(self, blocks: tuple[Int64, ...]) -> Int64:
        """Return the numbers of the vertices for blocks, given by an index in each dimension."""
        number: Int64 = np.ravel_multi_index(blocks, self.cuts)
        return number

    def kinds(self) -> list[EqualBlocks]:
        """Return the vertices, grouped by the sizes of their blocks."""
        cut = [segments(size, part) for size, part in zip(self.sizes, self.block, strict=True)]
        return [EqualBlocks(self, each) for each in product(*cut)]


@frozen
class EqualBlocks:
    """Vertices whose blocks have equal sizes.

    Attributes:
        layout: the layout that they belong to.
        parts: the blocks of the vertices along each dimension of `layout.sizes`.
    """

    layout: ConvolutionLayout
    parts: tuple[EqualParts, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of blocks along each dimension."""
        return tuple(each.count for each in self.parts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of a block along each dimension."""
        return tuple(each.part for each in self.parts)

    def blocks(self) -> tuple[Int64, ...]:
        """Return the indices of blocks along each dimension, in the order of the vertices."""
        within = np.unravel_index(np.arange(math.prod(self.counts)), self.counts)
        return tuple(numbers + each.first for numbers, each in zip(within, self.parts, strict=True))


# -- operands as views of blocks -------------------------------------------------------------------
#     input      [batch, groups * inputs, field ...]        weights  [groups, outputs, inputs, taps]
#     signal     the input with zeros between its elements and around them
#     windows    the part that each block reads; they overlap
#     block      [batch, field ..., inputs]                   block    [taps, inputs, outputs]
#
# In a block, the elements multiplied with the weights of a tap are adjacent.


def by_channels(x: Tensor, request: ConvolutionRequest) -> Tensor:
    """Return an input as [groups, batch, field ..., inputs]."""
    fields = x.shape[2:]
    x = x.reshape((request.batch, request.groups, request.inputs, *fields))
    return x.dim_shuffle((1, 0, *range(3, 3 + len(fields)), 2))


def signal(x: Tensor, dim: int, how: Dimension, zeros: Tensor | None) -> Tensor:
    """Return the part of an input's signal that outputs read along a dimension.

    `zeros` is [groups, batch, 1 ..., inputs]; None if no zeros are read.
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
    after = end - begin - before - kept.shape[dim]
    parts = [kept]
    if before:
        shape[dim] = before
        parts.insert(0, _zeros(zeros, shape))
    if after:
        shape[dim] = after
        parts.append(_zeros(zeros, shape))
    return concat(parts, dim)


def _zeros(zeros: Tensor | None, shape: list[int]) -> Tensor:
    """Return `zeros`, which has one element per channel, broadcast to a shape."""
    assert zeros is not None, "zeros are read"
    for d, size in enumerate(shape):
        if d == zeros.rank:
            zeros = zeros.expand([d])
        if zeros.shape[d] != size:
            zeros = zeros.broadcast(size, d)
    return zeros


def windows(x: Tensor, dim: int, part: EqualParts, how: Dimension) -> Tensor:
    """Return the positions that blocks read along a dimension, [..., blocks, positions, ...]."""
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
    """Return the input of the vertices of a kind, [groups, batch, field ..., inputs, elements].

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
    """Return the weights of the vertices of a kind, [groups, inputs, outputs, elements].

    `weights` are [groups, outputs, inputs, taps].
    """
    deep, wide = kind.parts[-2:]
    part = weights[:, wide.begin : wide.end, deep.begin : deep.end]
    groups, taps = part.shape[0], part.shape[3]
    part = part.reshape((groups, wide.count, wide.part, deep.count, deep.part, taps))
    part = part.dim_shuffle((0, 3, 1, 5, 4, 2))
    return part.reshape((groups, deep.count, wide.count, taps * deep.part * wide.part))


def weights_of_blocks(flat: Tensor, layout: ConvolutionLayout, taps: int) -> Tensor:
    """Return weights as [groups, outputs, inputs, taps] from their blocks, sorted by kind."""
    request, begin, rows = layout.request, 0, []
    for wide in segments(request.outputs, layout.outputs):
        row = []
        for deep in segments(request.inputs, layout.inputs):
            shape = request.groups, deep.count, wide.count, taps, deep.part, wide.part
            part = flat[begin : begin + math.prod(shape)].reshape(shape)
            begin += math.prod(shape)
            part = part.dim_shuffle((0, 2, 5, 1, 4, 3))
            row.append(part.reshape((request.groups, wide.size, deep.size, taps)))
        rows.append(concat(row, 2))
    return concat(rows, 1)


def output_of_blocks(flat: Tensor, layout: ConvolutionLayout) -> Tensor:
    """Return the output, [batch, groups * outputs, field ...], from blocks sorted by kind."""
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
        whole = [each.size for each in parts]
        pieces.append(piece.dim_shuffle(order).reshape((request.groups, *whole)))
    for d in reversed(range(len(cut))):
        several = len(cut[d])
        pieces = [concat(pieces[n : n + several], 1 + d) for n in range(0, len(pieces), several)]
    out = pieces[0]  # [groups, batch, field ..., outputs]
    last = out.rank - 1
    out = out.dim_shuffle((1, 0, last, *range(2, last)))
    return out.reshape((request.batch, request.groups * request.outputs, *request.field))


# -- taps treated as channels ----------------------------------------------------------------------
# The AMP unit multiplies 16 channels of HALF at a time, or 8 of FLOAT, and takes as long for fewer;
# it takes less time per position if rows are long. So the elements under several taps may be
# treated as the channels of one position:
#
#     x          a b c d e f          positions with one channel, kernel of three taps
#     expanded   abc bcd cde def      positions with three channels, kernel of one tap
#
# This is a view of x, which is copied once to the plan's mapping; apart from that, it is treated as
# an input with that many channels. Dimensions are expanded from the last one backwards, so that
# the order of sums (taps, then channels) is kept, and adjacent elements of x are adjacent channels.
#
# Source: PopLibs, `lib/poplin/ConvPlan.cpp`, `getExpandDimsCandidates`, and `expandSpatialDim` of
# `lib/poplin/ConvTransforms.hpp`.


def expansions(request: ConvolutionRequest) -> list[ConvolutionRequest]:
    """Return the versions of a convolution with the taps of its last dimensions as channels.

    If the request fixes the number of these dimensions, only that version is returned; otherwise
    all versions, up to a dimension whose kernel is longer than the input.
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

    >>> from poplite.ops.products.convolution_request import Spacing, forward
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
    """Return the dimensions whose taps are channels: indices and original dimensions."""
    first = len(request.dimensions) - (request.expand or 0)
    return list(enumerate(request.read.dimensions))[first:]


def num_adjacent_channels(request: ConvolutionRequest) -> int:
    """Return the number of adjacent channels of an expanded input that are also adjacent in x."""
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
    """Return the original weights from those of `expanded_weights`."""
    if request.source is None:
        return weights
    groups, outputs, _, own = weights.shape
    inputs = request.source.inputs
    parted = weights.reshape((groups, outputs, request.as_channels, inputs, own))
    shape = groups, outputs, inputs, request.source.taps
    return parted.dim_shuffle((0, 1, 3, 4, 2)).reshape(shape)


def by_taps(x: Tensor, dimensions: list[tuple[int, Dimension]], zeros: Tensor | None) -> Tensor:
    """Return the input elements of each output, [groups, batch, field ..., inputs, taps].

    Only the given dimensions have taps; they are given with their index in the field. `zeros` is as
    in `signal`.
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


# -- inputs of vertices ----------------------------------------------------------------------------
# The parts of an input that the vertices of convolutions and pooling read, and the input's mapping.
#
# An input may have any mapping. If its channels are not adjacent, it is first copied to the plan's
# mapping, since otherwise vertices would read single elements.


def tiles_of(layout: ConvolutionLayout, *blocks: Any) -> Int64:
    """Return the tiles of the vertices for blocks, given by an index array in each dimension."""
    tiles: Int64 = layout.number(tuple(np.broadcast_arrays(*blocks))) // layout.turns
    return tiles


def input_of(graph: Graph, layout: ConvolutionLayout, name: str) -> Tensor:
    """Create a variable for the input on the tiles that use it.

    Its channels are adjacent. The channels of a block are on one of the tiles that use them.
    """
    request = layout.request
    fields = tuple(each.size for each in request.dimensions)
    shape = request.batch, *fields, request.groups * request.inputs
    if request.is_empty:
        made = graph.add_variable(request.element_type, shape, name, mapping="linear")
        return made.dim_roll(made.rank - 1, 1)
    check_room(graph.space, request.element_type, shape, "the input of a convolution")
    blocks = []
    for part, each in zip(layout.field, request.dimensions, strict=True):
        sizes = np.diff(each.owner(part))
        blocks.append(np.repeat(np.arange(len(sizes)), sizes))
    batch = np.arange(request.batch) // layout.batch
    deep = np.arange(layout.cuts[-2])
    axes = np.ix_(batch, *blocks, np.arange(request.groups), deep)
    user = _users(layout)[..., None, None]
    tile = tiles_of(layout, axes[-2], *axes[:-2], axes[-1], user)
    edges = np.minimum(np.arange(layout.cuts[-2] + 1) * layout.inputs, request.inputs)
    length = np.broadcast_to(np.diff(edges), tile.shape)
    mapping = TileMapping(graph.target.tiles, tile.ravel(), length.ravel())
    made = graph.add_variable(request.element_type, shape, name, mapping=mapping)
    return made.dim_roll(made.rank - 1, 1)


def _users(layout: ConvolutionLayout) -> Int64:
    """Return which of the tiles that use a position holds it, int64[field ...].

    Each tile holds whole rows of a block, or parts of rows if there are fewer rows than tiles.
    """
    wide = layout.cuts[-1]
    *rows, columns = (
        max(1, min(part * each.stride, each.size))
        for part, each in zip(layout.field, layout.request.dimensions, strict=True)
    )
    parts = -(-wide // math.prod(rows))
    *field, size = (each.size for each in layout.request.dimensions)
    row = np.arange(math.prod(field)).reshape((*field, 1))
    users: Int64 = (row * parts + np.arange(size) * parts // columns) % wide
    return users


def arranged(
    graph: Graph, recorder: Recorder, layout: ConvolutionLayout, x: Tensor, name: str
) -> Tensor:
    """Return an input whose channels are adjacent: x itself, or a recorded copy."""
    if not is_scattered(x.dim_roll(1, x.rank - 1), layout.inputs):
        return x
    made = input_of(graph, layout, name)
    recorder.add(_copied(x, made))
    return made


def with_taps(
    graph: Graph, recorder: Recorder, layout: ConvolutionLayout, x: Tensor, name: str
) -> Tensor:
    """Record a copy of an input with taps among its channels, with the mapping of a layout."""
    around = None
    if any(each.reads_zeros for _, each in expanded_dimensions(layout.request)):
        around = _around(graph, layout.unexpanded, 0, f"{name}/zeros")
    made = input_of(graph, layout, name)
    recorder.add(_copied(expanded_input(x, layout.request, around), made))
    return made


def _copied(x: Tensor, made: Tensor) -> Copy:
    """Return a Copy of an input, with few pieces, in the order of its adjacent channels."""
    return Copy(x.dim_roll(1, x.rank - 1), made.dim_roll(1, made.rank - 1))


def signal_of(
    graph: Graph, layout: ConvolutionLayout, x: Tensor, value: float, name: str
) -> Tensor:
    """Return an input with `value` between and around elements, [groups, batch, field ..., inputs].

    The element that holds `value` for a channel is on a tile that uses it.
    """
    request = layout.request
    around = None
    if any(each.reads_zeros for each in request.dimensions):
        around = _around(graph, layout, value, name)
    x = by_channels(x, request)
    for d, each in enumerate(request.dimensions):
        x = signal(x, 2 + d, each, around)
    return x


def _around(graph: Graph, layout: ConvolutionLayout, value: float, name: str) -> Tensor:
    """Return a constant with `value` for each channel, [groups, batch, 1 ..., inputs]."""
    request = layout.request
    group, batch, channel = np.ix_(
        *(np.arange(size) for size in (request.groups, request.batch, request.inputs))
    )
    first = [np.zeros(1, np.int64)] * len(request.dimensions)
    tile = tiles_of(layout, group, batch // layout.batch, *first, channel // layout.inputs, 0)
    mapping = TileMapping(graph.target.tiles, tile.ravel(), np.ones(tile.size, np.int64))
    made = graph.add_constant(request.element_type, tile.shape, value, name, mapping=mapping)
    return made.reshape((*tile.shape[:2], *(1 for _ in first), tile.shape[2]))


def blocks_of(whole: Tensor, kind: EqualBlocks, chosen: Int64) -> Slices:
    """Return the parts of a signal that the chosen vertices of a kind read."""
    at = np.unravel_index(chosen, kind.counts)
    return rows_of(input_blocks(whole, kind), np.ravel_multi_index(at[:-1], kind.counts[:-1]))


def windows_of(kind: EqualBlocks, count: int) -> dict[str, object]:
    """Return the fields of `count` vertices that locate the elements that each output reads."""
    taps, rows = _places(kind)
    columns = outputs_per_row(kind.layout.request.dimensions, kind.sizes[2:-2])
    rows = rows[:: columns // kind.sizes[-3]]
    return {
        "taps": np.broadcast_to(taps, (count, len(taps))),
        "rows": np.broadcast_to(rows, (count, len(rows))),
        "columns": columns,
        "step": kind.layout.request.dimensions[-1].stride,
    }


def is_scattered(x: Tensor, channels: int) -> bool:
    """Return whether channels, along the last dimension, are not adjacent."""
    return x.flatten().num_regions() * min(channels, SHORTEST) > x.num_elements


def _places(kind: EqualBlocks) -> tuple[Int64, Int64]:
    """Return the positions of the taps in a block, and the starts of its rows."""
    batch, *field = kind.sizes[1:-2]
    taps, rows, pitch = np.zeros(1, np.int64), np.zeros(1, np.int64), 1
    for d, (part, each) in reversed(
        list(enumerate(zip(field, kind.layout.request.dimensions, strict=True)))
    ):
        taps = (np.array(each.taps)[:, None] * pitch + taps).ravel()
        if d < len(field) - 1:
            starts = np.arange(part) * each.stride * pitch
            rows = (starts[:, None] + rows).ravel()
        pitch *= each.places(part)
    rows = (np.arange(batch)[:, None] * pitch + rows).ravel()
    return taps, rows


def rows_of(blocks: Tensor, chosen: Int64) -> Slices:
    """Return slices of the chosen blocks of a tensor [..., elements], given by flat indices."""
    size = blocks.shape[-1]
    return Slices(blocks.flatten(), 0, chosen * size, (chosen + 1) * size)


# -- compute sets ----------------------------------------------------------------------------------


def weights_of(
    graph: Graph, layout: ConvolutionLayout, name: str, count: int | None = None
) -> Tensor:
    """Create a variable for weights, [groups, outputs, inputs, taps], on the tiles that use them.

    Each block is spread over all tiles that use it. `count` is the number of taps of all phases of
    a convolution if the layout is for one phase.
    """
    request = layout.request
    taps = request.taps if count is None else count
    if request.is_empty:
        shape = request.groups, request.outputs, request.inputs, taps
        return graph.add_variable(request.element_type, shape, name, mapping="linear")
    users = [np.arange(count) for count in layout.cuts[1:-2]]
    tiles, lengths = [], []
    for wide in segments(request.outputs, layout.outputs):
        for deep in segments(request.inputs, layout.inputs):
            blocks = np.ix_(
                np.arange(request.groups),
                np.arange(deep.first, deep.first + deep.count),
                np.arange(wide.first, wide.first + wide.count),
                *users,
            )
            tile = tiles_of(layout, blocks[0], *blocks[3:], blocks[1], blocks[2])
            size = taps * deep.part * wide.part
            edges = part_edges(size, math.prod(tile.shape[3:]), grain_of(graph.target))
            tiles.append(tile.ravel())
            lengths.append(np.tile(np.diff(edges), math.prod(tile.shape[:3])))
    mapping = TileMapping(graph.target.tiles, np.concatenate(tiles), np.concatenate(lengths))
    size = request.groups * request.outputs * request.inputs * taps
    flat = graph.add_variable(request.element_type, (size,), name, mapping=mapping)
    return weights_of_blocks(flat, layout, taps)


def grain_of(target: Target) -> int:
    """Return the number of sums that are added at a time."""
    return int(target.cost("add_partials_bytes")) // FLOAT.size_bytes


def record_convolutions(recorder: Recorder, several: Sequence[Convolution]) -> list[Tensor]:
    """Record the steps of several convolutions of one input in common compute sets.

    Returns the outputs, [batch, groups * outputs, field ...].
    """
    name = several[0].name
    _arrange(recorder, several)
    summed = [each for each in several if each.layout.has_partials]
    for each in summed:
        # Partials start from zero, so other variables may use their memory until then.
        recorder.add(WriteUndef(each.partials))
    for at in range(max(each.layout.passes for each in several)):
        step = recorder.compute_set(f"{name}/products")
        for each in several:
            each.add_products(step, at)
    if summed:
        step = recorder.compute_set(f"{name}/sums")
        for each in summed:
            each.add_sums(step)
    return [output_of_blocks(each.out, each.layout) for each in several]


def _arrange(recorder: Recorder, several: Sequence[Convolution]) -> None:
    """Copy operands whose channels are not adjacent."""
    graph, layout, name = several[0].graph, several[0].layout, several[0].name
    x = arranged(graph, recorder, layout.unexpanded, several[0].x, f"{name}/input")
    if layout.request.source:
        x = with_taps(graph, recorder, layout, x, f"{name}/expanded")
    scattered, made = [], []
    for each in several:
        each.x = x
        if is_scattered(each.weights.dim_roll(1, 3), each.layout.outputs):
            scattered.append(each.weights.flatten())
            each.weights = weights_of(graph, each.layout, f"{name}/weights")
            made.append(each.weights.flatten())
    if made:
        to, read = graph.reorder_to_simplify(concat(made), [concat(scattered)])
        recorder.add(Copy(read, to))


@dataclass(eq=False)
class Convolution:
    """The operands of a convolution, and its vertices.

    Attributes:
        graph: the graph of the tiles.
        layout: how the convolution is divided among tiles.
        x: the input, [batch, groups * inputs, field ...].
        weights: [groups, outputs, inputs, taps], with the sizes of the layout's request.
        name: name of the steps and of the result.
    """

    graph: Graph
    layout: ConvolutionLayout
    x: Tensor
    weights: Tensor
    name: str

    @cached_property
    def _signal(self) -> Tensor:
        """The input with zeros between and around elements, [groups, batch, field ..., inputs]."""
        return signal_of(self.graph, self.layout, self.x, 0, f"{self.name}/zeros")

    @cached_property
    def _room(self) -> int:
        """The number of elements of the largest block of the output."""
        return self.layout.batch * math.prod(self.layout.field) * self.layout.outputs

    @cached_property
    def partials(self) -> Tensor:
        """A variable for the partials of every vertex."""
        layout = self.layout
        tile = np.arange(layout.vertices) // layout.turns
        length = np.full(layout.vertices, self._room)
        mapping = TileMapping(self.graph.target.tiles, tile, length)
        size = (layout.vertices * self._room,)
        return self.graph.add_variable(FLOAT, size, f"{self.name}/partials", mapping=mapping)

    @cached_property
    def out(self) -> Tensor:
        """The output, block after block, each spread over the tiles that add its partials."""
        request, tiles, lengths = self.layout.request, [], []
        for blocks, size in self._outputs():
            tile = self._adders(blocks)
            edges = part_edges(size, self.layout.depth, grain_of(self.graph.target))
            tiles.append(tile.ravel())
            lengths.append(np.tile(np.diff(edges), len(tile)))
        mapping = TileMapping(
            self.graph.target.tiles, np.concatenate(tiles), np.concatenate(lengths)
        )
        size = request.batch * math.prod(request.field) * request.groups * request.outputs
        return self.graph.add_variable(request.element_type, (size,), self.name, mapping=mapping)

    def _outputs(self) -> Iterator[tuple[tuple[Int64, ...], int]]:
        """Yield groups of output blocks of equal size, by index in each dimension, and the size."""
        sizes, parts = self.layout.sizes, self.layout.block
        which = [d for d in range(len(sizes)) if d != len(sizes) - 2]
        for kind in product(*(segments(sizes[d], parts[d]) for d in which)):
            counts = [each.count for each in kind]
            within = np.unravel_index(np.arange(math.prod(counts)), counts)
            blocks = [each.first + at for at, each in zip(within, kind, strict=True)]
            yield tuple(blocks), math.prod(each.part for each in kind)

    def _numbers(self, blocks: tuple[Int64, ...]) -> Int64:
        """Return the vertices that make partials of blocks of the output, [blocks, depth]."""
        *others, wide = (each[:, None] for each in blocks)
        deep = np.arange(self.layout.depth)
        return self.layout.number(tuple(np.broadcast_arrays(*others, deep, wide)))

    def _adders(self, blocks: tuple[Int64, ...]) -> Int64:
        """Return the tiles that each add a part of a block of the output, [blocks, depth]."""
        return self._numbers(blocks) // self.layout.turns

    @cached_property
    def _vertices(self) -> list[tuple[EqualBlocks, Int64, Int64, int]]:
        """The vertices of each kind: their numbers, the starts of their outputs, and their size."""
        layout, begin, found = self.layout, 0, []
        for kind in layout.kinds():
            sizes, number = kind.sizes, layout.number(kind.blocks())
            size = math.prod(sizes[:-2]) * sizes[-1]
            place = number * self._room
            if not layout.has_partials:  # in the order of the kinds
                place = begin + np.arange(len(number)) * size
                begin += len(number) * size
            found.append((kind, number, place, size))
        return found

    def add_products(self, step: ComputeSet, at: int) -> None:
        """Add the vertices that multiply the blocks of pass `at`, if there are any."""
        layout = self.layout
        out = self.partials if layout.has_partials else self.out
        for kind, number, place, size in self._vertices:
            (chosen,) = np.nonzero(number % layout.turns // layout.at_once == at)
            if len(chosen):
                self.graph.add_vertices(
                    step,
                    AmpConvolution,
                    tile=number[chosen] // layout.turns,
                    out=Slices(out, 0, place[chosen], place[chosen] + size),
                    **self._fields(kind, chosen),
                )

    def _fields(self, kind: EqualBlocks, chosen: Int64) -> dict[str, object]:
        """Return the fields of vertices of a kind, except for their output."""
        counts = kind.counts
        at = np.unravel_index(chosen, counts)
        weights = weight_blocks(self.weights, kind)
        used = np.ravel_multi_index((at[0], *at[-2:]), (counts[0], *counts[-2:]))
        return {
            "x": blocks_of(self._signal, kind, chosen),
            "weights": rows_of(weights, used),
            "outputs": kind.sizes[-1],
            "inputs": kind.sizes[-2],
            **windows_of(kind, len(chosen)),
        }

    def add_sums(self, step: ComputeSet) -> None:
        """Add the vertices that sum partials, a part of each block on each of its tiles."""
        begin, depth = 0, self.layout.depth
        for blocks, size in self._outputs():
            number = self._numbers(blocks)
            edges = part_edges(size, depth, grain_of(self.graph.target))
            (parts,) = np.nonzero(np.diff(edges))  # small blocks leave tiles without a part
            low, high = edges[parts], edges[parts + 1]
            made = number[:, None, :] * self._room + low[:, None]
            end = made + (high - low)[:, None]
            lists = SliceLists(
                Slices(self.partials, 0, made.ravel(), end.ravel()),
                np.arange(len(number) * len(parts) + 1) * depth,
            )
            first = begin + np.arange(len(number))[:, None] * size
            begin += len(number) * size
            self.graph.add_vertices(
                step,
                AddPartials,
                tile=(number[:, parts] // self.layout.turns).ravel(),
                partials=lists,
                out=Slices(self.out, 0, (first + low).ravel(), (first + high).ravel()),
            )
