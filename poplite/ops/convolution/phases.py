"""Convolutions of inputs with zeros between their elements: one for each phase, without zeros.

    input   a . b . c          distance 2, kernel of three taps
    even    ^ . ^              taps 0 and 2, of a b c
    odd       . ^ .            tap 1

Every n-th output reads elements with the same taps, and only zeros with the others. So the outputs
of a phase are a convolution of the input as it is, with some of the taps, and together they take
the products of elements alone. Their vertices run at once (`convolution_steps`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolution.dimension import DimensionPhase, phases
from poplite.ops.convolution.request import ConvolutionRequest


@dataclass(frozen=True, slots=True)
class PhaseOutputs:
    """The outputs of one phase in every dimension.

    Attributes:
        whole: the convolution that they are of.
        phases: one for each dimension.
        numbers: which ones they are.
    """

    whole: ConvolutionRequest
    phases: tuple[DimensionPhase, ...]
    numbers: tuple[int, ...]

    @property
    def request(self) -> ConvolutionRequest | None:
        """What is convolved; None where the outputs are zero."""
        dimensions = tuple(each.dimension for each in self.phases if each.dimension)
        if len(dimensions) < len(self.phases):
            return None
        # Weights of all phases lie together, so none has taps as channels.
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
        """Return the elements that the outputs of the phase stand for, [batch, channels, ...]."""
        for d, (number, each) in enumerate(zip(self.numbers, self.whole.dimensions, strict=True)):
            x = x.slice(number, x.shape[2 + d], 2 + d).sub_sample(len(phases(each)), 2 + d)
        return x

    def weights(self, weights: Tensor) -> Tensor:
        """Return the taps of the phase, of weights [groups, outputs, inputs, taps]."""
        kernel = tuple(len(each.taps) for each in self.whole.dimensions)
        weights = weights.reshape((*weights.shape[:3], *kernel))
        for d, each in enumerate(self.phases):
            first, end, step = each.taps
            weights = weights.slice(first, end, 3 + d).sub_sample(step, 3 + d)
        return weights.reshape((*weights.shape[:3], math.prod(weights.shape[3:])))


def parts(request: ConvolutionRequest) -> list[PhaseOutputs]:
    """Return the phases of a convolution; one where there are no zeros."""
    found = [phases(each) for each in request.dimensions]
    numbers = product(*(range(len(each)) for each in found))
    return [
        PhaseOutputs(request, several, which)
        for several, which in zip(product(*found), numbers, strict=True)
    ]


def joined(outputs: list[Tensor], request: ConvolutionRequest) -> Tensor:
    """Return the output of a convolution from those of its phases."""
    for d in reversed(range(len(request.dimensions))):
        count = len(phases(request.dimensions[d]))
        outputs = [
            _interleaved(outputs[n : n + count], 2 + d) for n in range(0, len(outputs), count)
        ]
    return outputs[0]


def _interleaved(several: list[Tensor], dim: int) -> Tensor:
    """Return the elements of tensors in turn, along a dimension; the first may have one more."""
    if len(several) == 1:
        return several[0]
    least = several[-1].shape[dim]
    turns = concat([each.slice(0, least, dim).expand([dim + 1]) for each in several], dim + 1)
    shape = list(several[-1].shape)
    shape[dim] = least * len(several)
    rest = [each.slice(least, each.shape[dim], dim) for each in several]
    return concat([turns.reshape(shape), *rest], dim)
