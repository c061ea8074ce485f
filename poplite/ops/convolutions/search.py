"""The ways to share a convolution among tiles: all are priced at once, the cheapest few are kept.

What a way costs: bytes at the rate of the exchange, and what goes before them; the AMP unit as in
`poplite.vertices.convolution`; the vertices that add up. Inputs are assumed to have the plan's
mapping: of a block's input, its tile has the part that no block before it reads, shared with the
tiles that make other outputs of it. An input whose taps count as channels is exchanged and
copied before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.ops.convolutions.layout import ConvolutionLayout, expansions, side_by_side
from poplite.ops.convolutions.request import ConvolutionRequest, together
from poplite.ops.planning import PricedWays, blocks_of_all, cheapest, exchanged, too_large
from poplite.types import FLOAT
from poplite.vertices.convolution import convolution_cycles
from poplite.vertices.reduce import partials_cycles

CODE_BYTES = 16 << 10
"""Approximate bytes of the code and stacks of a tile, besides operands and blocks."""

TERMS = ("the input of a block", "its weights", "partials", "partials that arrive")
"""What the memory of a tile is for."""

Way = tuple[Any, ...]
"""Sizes of blocks of each way: batch, field ..., inputs, outputs."""


def cheapest_ways(target: Target, request: ConvolutionRequest) -> list[ConvolutionLayout]:
    """Return up to 8 ways that fit, the cheapest first.

    Of equal ones the one with the fewest vertices of a tile, then the least memory, then the
    longest rows. Raises GraphMemoryAllocationError where none fits.
    """
    found = cheapest([_Search(target, each).ways for each in expansions(request)])
    if not found[0].fits:
        held = found[0].layout.held
        tries = ["more tiles", "a smaller batch"]
        raise too_large(f"convolution of {request}", target, request.memory, held, TERMS, tries)
    return [each.layout for each in found if each.fits]


def way_with_blocks(
    target: Target, request: ConvolutionRequest, like: ConvolutionLayout
) -> ConvolutionLayout | None:
    """Return the way with the blocks of another convolution, on the same tiles, where it fits."""
    sizes = request.batch, *request.field, request.inputs, request.outputs
    blocks = like.batch, *like.field, like.inputs, like.outputs
    parts = tuple(np.array([min(part, size)]) for part, size in zip(blocks, sizes, strict=True))
    ways = _Search(target, request, parts).ways
    made = ways.layout(0)
    return None if ways.rank[0][0] or made.cuts != like.cuts else made


class _Search:
    """Prices the ways to make one convolution: all, or those with blocks of some sizes."""

    def __init__(
        self, target: Target, request: ConvolutionRequest, parts: Way | None = None
    ) -> None:
        self.target, self.request = target, request
        size, tiles = request.element_type.size_bytes, target.tiles_per_ipu
        self.parts = parts or _parts(target, request)
        batch, *field, inputs, outputs = self.parts
        cuts = [
            -(-whole // part)
            for whole, part in zip(
                (request.batch, *request.field, request.inputs, request.outputs),
                self.parts,
                strict=True,
            )
        ]
        deep, wide = cuts[-2:]
        self.turns: Int64 = -(-request.groups * math.prod(cuts) // tiles)
        # Bytes of a vertex.
        reach = own = read = batch * inputs * size
        for part, each in zip(field, request.dimensions, strict=True):
            places = each.places(part)
            reach = reach * places
            own = own * np.minimum(places, part * each.stride)
            read = read * np.minimum(places, each.size)
        weights = request.taps * inputs * outputs * size
        positions, columns = batch * math.prod(field), together(request.dimensions, field)
        has_partials = (deep > 1) | request.is_rounded
        made = positions * outputs * FLOAT.size_bytes * has_partials
        arriving = -(-made * (deep - 1) // deep)
        held = [reach, weights, self.turns * made, self.turns * arriving]
        # Blocks of a pass: those that fit, besides operands as the plan makes them.
        self.operands = self._operands(cuts, positions * outputs)
        limit = int(request.memory * target.tile_memory_bytes)
        whole = target.tile_memory_bytes - CODE_BYTES
        expanded = self._expanded(math.prod(cuts))
        block, kept = held[0] + held[1], expanded + held[2] + held[3]
        room = np.maximum(limit - kept, 0) // block
        others = (whole - self.operands - kept) // block
        room = np.where(others > 0, np.minimum(room, others), room)
        self.at_once = np.clip(room, 1, self.turns)
        self.held = [self.at_once * held[0] + expanded, self.at_once * held[1], *held[2:]]
        users = math.prod(cuts[:-2])
        pair = np.where(wide % int(target.cost("pair_tiles")) == 0, target.cost("pair_tiles"), 1)
        received = (reach - own / wide) / pair + weights * (1 - 1 / users)
        self.cycles = (
            self._exchange(received, own / wide + reach - read) + self._expansion(expanded),
            self.turns
            * convolution_cycles(
                outputs,
                inputs,
                (
                    request.taps // len(request.dimensions[-1].taps),
                    len(request.dimensions[-1].taps),
                ),
                (positions // columns, columns),
                request.element_type,
                target,
            ),
            self._addition(positions * outputs, deep, has_partials),
        )
        total: Any = sum(self.held)
        cycles = self.cycles[0] + self.cycles[1] + self.cycles[2]
        over, crowded = np.where(total > limit, total, 0), total + self.operands > whole
        rank = over, crowded, cycles, self.turns, total, cuts[-3]
        self.ways = PricedWays(rank, self.layout)

    def _operands(self, cuts: Sequence[Any], made: Any) -> Int64:
        """Return the bytes of input, weights and output on the fullest tile, about."""
        request, size = self.request, self.request.element_type.size_bytes
        *shared, wide = cuts
        blocks = request.groups * math.prod(shared)
        uneven = np.ones(1)
        for part, count, each in zip(self.parts[1:-2], cuts[1:-2], request.dimensions, strict=True):
            sizes, which = np.unique(part, return_inverse=True)
            largest = np.array([max(np.diff(each.owner(int(n)))) for n in sizes])[which]
            uneven = np.maximum(uneven, largest * count / max(1, each.size))
        taps = request.taps * request.inputs * request.outputs
        share = (
            request.read.elements / blocks / wide * uneven
            + taps / math.prod(shared[:-1]) / shared[-1] / wide
        )
        found: Int64 = np.ceil(self.turns * size * (share + made / shared[-1])).astype(np.int64)
        return found

    def _expanded(self, blocks: Any) -> Any:
        """Return the bytes on a tile of an input with taps as channels, which it gets first."""
        request = self.request
        if request.source is None:
            return np.zeros_like(blocks)
        places = request.batch * math.prod(each.size for each in request.dimensions)
        size = request.groups * places * request.inputs * request.element_type.size_bytes
        return -(-size // -(-request.groups * blocks // self.turns))

    def _expansion(self, held: Any) -> Any:
        """Return the cycles of making such an input: all is exchanged and copied."""
        request, cost = self.request, self.target.cost
        if request.source is None:
            return np.zeros_like(held)
        together = side_by_side(request) * request.element_type.size_bytes
        copied = held / cost("memcpy_bytes_per_cycle") + held / together * cost("copy_piece_cycles")
        copied = np.ceil(copied + cost("worker_call")).astype(np.int64)
        return exchanged(self.target, held) + copied

    def _exchange(self, received: Any, gathered: Any) -> Any:
        """Return the cycles in which tiles get their operands, and put what they have between."""
        cost, passes = self.target.cost, -(-self.turns // self.at_once)
        copied = np.ceil(self.turns * gathered / cost("memcpy_bytes_per_cycle"))
        copied = copied + passes * cost("worker_call")
        return exchanged(self.target, self.turns * received, passes) + copied.astype(np.int64)

    def _addition(self, outputs: Any, deep: Any, has_partials: Any) -> Any:
        """Return the cycles of adding up partials, on the tiles that made them."""
        share = np.ceil(self.turns * outputs / deep)
        received = share * FLOAT.size_bytes * (deep - 1)
        kinds = FLOAT, self.request.element_type
        added = partials_cycles(share, deep - 1, *kinds, self.target)
        return exchanged(self.target, received) + np.where(has_partials, added, 0)

    def layout(self, way: int) -> ConvolutionLayout:
        """Return a way."""
        batch, *field, inputs, outputs = (int(part[way]) for part in self.parts)
        exchange, products, addition = (int(each[way]) for each in self.cycles)
        arrive, weights, made, arriving = (int(each[way]) for each in self.held)
        return ConvolutionLayout(
            self.request,
            batch,
            tuple(field),
            outputs,
            inputs,
            int(self.turns[way]),
            int(self.at_once[way]),
            (exchange, products, addition),
            (arrive, weights, made, arriving),
            operands=int(self.operands[way]),
        )


def _parts(target: Target, request: ConvolutionRequest) -> Way:
    """Return the sizes of the blocks of all ways."""
    inputs = int(target.cost("amp_inputs_bytes")) // request.element_type.size_bytes
    outputs = target.getNumConvUnits(request.element_type, FLOAT)
    sizes = request.batch, *request.field, request.inputs, request.outputs
    grains = *(1 for _ in sizes[:-2]), inputs, outputs
    return blocks_of_all(sizes, grains, target.tiles_per_ipu)
