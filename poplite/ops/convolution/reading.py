"""What the vertices of convolutions and pooling read of their input, and where it lies.

Their input may lie anywhere. Where its channels do not stand together it is copied first, to where
a plan would make it: else what vertices read were single elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.storage.room import check_room
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.dimension import together
from poplite.ops.convolution.expansion import expanded_dimensions, expanded_input
from poplite.ops.convolution.layout import SHORTEST, ConvolutionLayout, EqualBlocks
from poplite.ops.convolution.views import by_channels, input_blocks, signal
from poplite.program import Copy
from poplite.program.recording import Recorder
from poplite.source import here


def tiles_of(layout: ConvolutionLayout, *blocks: Any) -> Int64:
    """Return the tiles of the vertices for blocks of each dimension, which are broadcast."""
    tiles: Int64 = layout.number(tuple(np.broadcast_arrays(*blocks))) // layout.turns
    return tiles


def input_of(graph: Graph, layout: ConvolutionLayout, name: str) -> Tensor:
    """Make a variable for the input on the tiles that use it.

    Its channels stand together, those of a block on one of the tiles that make outputs of it.
    """
    request = layout.request
    fields = tuple(each.size for each in request.dimensions)
    shape = request.batch, *fields, request.groups * request.inputs
    if request.is_empty:
        made = graph.add_variable(request.element_type, shape, name, mapping="linear")
        return made.dim_roll(made.rank - 1, 1)
    check_room(graph.space, request.element_type, shape, "the input of a convolution", here())
    blocks = []
    for part, each in zip(layout.field, request.dimensions, strict=True):
        edges = np.array(each.owner(part))
        blocks.append(np.repeat(np.arange(len(edges) - 1), np.diff(edges)))
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
    """Return which of the tiles that use a place has it, int64[field ...].

    Each has whole rows of a block, or neighbours of a row where it has fewer rows than users.
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
    """Return an input whose channels stand together: itself, or a copy that is recorded."""
    if not is_scattered(x.dim_roll(1, x.rank - 1), layout.inputs):
        return x
    made = input_of(graph, layout, name)
    recorder.add(_copied(x, made))
    return made


def with_taps(
    graph: Graph, recorder: Recorder, layout: ConvolutionLayout, x: Tensor, name: str
) -> Tensor:
    """Record a copy of an input with taps among its channels, where a layout wants it."""
    around = None
    if any(each.reads_zeros for _, each in expanded_dimensions(layout.request)):
        around = _around(graph, layout.unexpanded, 0, f"{name}/zeros")
    made = input_of(graph, layout, name)
    recorder.add(_copied(expanded_input(x, layout.request, around), made))
    return made


def _copied(x: Tensor, made: Tensor) -> Copy:
    """Return a Copy of an input whose channels stand together, in their order: of few pieces."""
    return Copy(x.dim_roll(1, x.rank - 1), made.dim_roll(1, made.rank - 1))


def signal_of(
    graph: Graph, layout: ConvolutionLayout, x: Tensor, value: float, name: str
) -> Tensor:
    """Return an input with a number between and around, [groups, batch, field ..., inputs].

    What is around each channel lies on a tile that uses it.
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
    """Return a number for each channel, [groups, batch, 1 ..., inputs]."""
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
    """Return what some of the vertices of a kind read of a signal."""
    at = np.unravel_index(chosen, kind.counts)
    return rows_of(input_blocks(whole, kind), np.ravel_multi_index(at[:-1], kind.counts[:-1]))


def windows_of(kind: EqualBlocks, count: int) -> dict[str, object]:
    """Return the fields of vertices of a kind that say what their positions read."""
    taps, rows = _places(kind)
    columns = together(kind.layout.request.dimensions, kind.sizes[2:-2])
    rows = rows[:: columns // kind.sizes[-3]]
    return {
        "taps": np.broadcast_to(taps, (count, len(taps))),
        "rows": np.broadcast_to(rows, (count, len(rows))),
        "columns": columns,
        "step": kind.layout.request.dimensions[-1].stride,
    }


def is_scattered(x: Tensor, channels: int) -> bool:
    """Tell whether channels, along the last dimension, do not stand together."""
    return x.flatten().num_regions() * min(channels, SHORTEST) > x.num_elements


def _places(kind: EqualBlocks) -> tuple[Int64, Int64]:
    """Return the places of the taps of a block, and those where its rows begin."""
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
    """Return some of the blocks in the last dimension of a tensor, by their number."""
    size = blocks.shape[-1]
    return Slices(blocks.flatten(), 0, chosen * size, (chosen + 1) * size)
