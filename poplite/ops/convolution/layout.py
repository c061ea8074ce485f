"""Which tile convolves which blocks of an input with which weights.

    output [batch, field ..., outputs]      cut along all dimensions into blocks
    inputs                                  cut too: then each block comes in partials

A vertex makes a block of the output from the part of the input that it reads, which overlaps with
those of its neighbours, and from a block of the weights. Vertices are numbered; those that follow
each other share the input, and differ in their outputs. A tile has `turns` of them, one behind the
other, and as many at a time as its memory holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.ops.convolution.request import ConvolutionRequest

SHORTEST = 8
"""Neighbouring elements below which an operand is copied."""


@dataclass(frozen=True, slots=True)
class EqualParts:
    """Parts of equal size of a dimension that is cut.

    Attributes:
        begin: of the first.
        end: of the last.
        part: size of each.
        first: number of the first.
    """

    begin: int
    end: int
    part: int
    first: int

    @property
    def count(self) -> int:
        """How many parts."""
        return (self.end - self.begin) // self.part


def segments(size: int, part: int) -> tuple[EqualParts, ...]:
    """Return where parts of a dimension are complete, and the rest.

    >>> segments(7, 3)
    (EqualParts(begin=0, end=6, part=3, first=0), EqualParts(begin=6, end=7, part=1, first=2))
    """
    complete = size // part * part
    found = (
        EqualParts(0, complete, part, 0),
        EqualParts(complete, size, size - complete, size // part),
    )
    return tuple(each for each in found if each.begin < each.end)


@dataclass(frozen=True, slots=True)
class ConvolutionLayout:
    """One way to share a convolution among tiles, and what it takes.

    Attributes:
        request: what is convolved.
        batch: inputs of a block.
        field: outputs of a block along each dimension.
        outputs: channels of the output of a block.
        inputs: channels of the input of a block.
        turns: vertices of a tile.
        at_once: vertices of a tile in a pass.
        cycles: by formulas: exchange, products, and the addition of partials.
        held: bytes of a tile: of the input, the weights, partials, and partials that arrive.
        exact: cycles by the cost model; None where they were not asked for.
        operands: bytes of the fullest tile, about, of an input, weights and an output as the plan
            makes them.
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
    exact: int | None = None
    operands: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups, batch, outputs of the field, input channels and output channels."""
        request = self.request
        return request.groups, request.batch, *request.field, request.inputs, request.outputs

    @property
    def block(self) -> tuple[int, ...]:
        """The same, of a block."""
        return 1, self.batch, *self.field, self.inputs, self.outputs

    @property
    def cuts(self) -> tuple[int, ...]:
        """Into how many blocks each of these is cut."""
        return tuple(-(-size // part) for size, part in zip(self.sizes, self.block, strict=True))

    @property
    def depth(self) -> int:
        """Partials of each output."""
        return self.cuts[-2]

    @property
    def vertices(self) -> int:
        """Blocks that are convolved."""
        return math.prod(self.cuts)

    @property
    def tiles(self) -> int:
        """Tiles that take part."""
        return -(-self.vertices // self.turns)

    @property
    def passes(self) -> int:
        """How many steps of products there are."""
        return -(-self.turns // self.at_once)

    @property
    def total_cycles(self) -> int:
        """Cycles of all passes: by the cost model, or by the formulas of the search."""
        return sum(self.cycles) if self.exact is None else self.exact

    @property
    def bytes(self) -> int:
        """Bytes of the blocks and partials of a tile."""
        return sum(self.held)

    @property
    def has_partials(self) -> bool:
        """Whether tiles write partials, which are added up or rounded afterwards."""
        return self.depth > 1 or self.request.is_rounded

    @property
    def unexpanded(self) -> ConvolutionLayout:
        """Where an input lies of which no taps count as channels yet; itself where none do."""
        source = self.request.source
        if source is None:
            return self
        part = max(-(-source.inputs // self.depth), min(source.inputs, SHORTEST))
        return replace(self, request=source, inputs=part)

    def number(self, blocks: tuple[Int64, ...]) -> Int64:
        """Return the numbers of vertices, by the blocks of each dimension that they are for."""
        number: Int64 = np.ravel_multi_index(blocks, self.cuts)
        return number

    def kinds(self) -> list[EqualBlocks]:
        """Return the vertices, those with blocks of equal sizes together."""
        cut = [segments(size, part) for size, part in zip(self.sizes, self.block, strict=True)]
        return [EqualBlocks(self, each) for each in product(*cut)]


@dataclass(frozen=True, slots=True)
class EqualBlocks:
    """Vertices whose blocks have equal sizes.

    Attributes:
        layout: that they are of.
        parts: of each dimension of `layout.sizes`.
    """

    layout: ConvolutionLayout
    parts: tuple[EqualParts, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks there are along each dimension."""
        return tuple(each.count for each in self.parts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of a block along each."""
        return tuple(each.part for each in self.parts)

    def blocks(self) -> tuple[Int64, ...]:
        """Return the blocks of each dimension that the vertices are for, in their order."""
        within = np.unravel_index(np.arange(math.prod(self.counts)), self.counts)
        return tuple(numbers + each.first for numbers, each in zip(within, self.parts, strict=True))
