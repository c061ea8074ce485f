"""The compute sets of a convolution, divided among tiles by a layout.

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
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.convolutions.layout import (
    ConvolutionLayout,
    EqualBlocks,
    arranged,
    blocks_of,
    is_scattered,
    output_of_blocks,
    rows_of,
    signal_of,
    tiles_of,
    weight_blocks,
    weights_of_blocks,
    windows_of,
    with_taps,
)
from poplite.ops.planning import part_edges, segments
from poplite.program import Copy, WriteUndef
from poplite.program.recording import Recorder
from poplite.types import FLOAT
from poplite.vertices.convolution import AmpConvolution
from poplite.vertices.reduce import AddPartials


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
