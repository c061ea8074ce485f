"""What is convolved: sizes, channels and types, all checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from poplite.ops.convolution.dimension import Dimension
from poplite.types import FLOAT, ElementType


@dataclass(frozen=True, slots=True)
class ConvolutionRequest:
    """A convolution of `batch` inputs, in groups of channels.

    Attributes:
        groups: of channels, convolved one by one.
        batch: inputs.
        inputs: channels of the input, of a group.
        outputs: channels of the output, of a group.
        dimensions: of the field.
        element_type: of the input, the weights and the output.
        memory: share of a tile's memory that blocks and partials may take.
        expand: of how many of the last dimensions the taps count as channels of the input; None
            where the plan says so.
        source: the convolution before they did (`poplite.ops.convolution.expansion`); None where
            none do.
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
        """The same with all taps as taps: it says what lies where in an input."""
        return self.source or self

    @property
    def as_channels(self) -> int:
        """Taps that count as channels, for each of the others."""
        return self.read.taps // self.taps

    @property
    def taps(self) -> int:
        """Taps of the kernel."""
        return math.prod(self.kernel)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Taps of the kernel along each dimension."""
        return tuple(len(each.taps) for each in self.dimensions)

    @property
    def field(self) -> tuple[int, ...]:
        """Sizes of the output."""
        return tuple(each.count for each in self.dimensions)

    @property
    def elements(self) -> int:
        """Elements of the input."""
        sizes = math.prod(each.size for each in self.dimensions)
        return self.groups * self.batch * self.inputs * sizes

    @property
    def products(self) -> int:
        """Multiplications of an element by a weight."""
        channels = self.groups * self.inputs * self.outputs
        return channels * self.batch * math.prod(self.field) * self.taps

    @property
    def is_empty(self) -> bool:
        """Whether nothing is multiplied."""
        return self.products == 0

    @property
    def inverse(self) -> ConvolutionRequest:
        """The convolution that makes the gradient by the input of that by the output."""
        return replace(
            self,
            inputs=self.outputs,
            outputs=self.inputs,
            dimensions=tuple(each.inverse for each in self.dimensions),
            expand=None,
        )

    @property
    def is_rounded(self) -> bool:
        """Whether sums, which are FLOAT, are rounded at the end."""
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
