"""In which stages windows are pooled, and how each is made: the way of the fewest modelled cycles.

    windows of 8, 4 apart        parts of 4 side by side, then windows of 2 parts, 1 apart
    windows of 9 x 9, 1 apart    windows of 1 x 9, then of 9 x 1
    windows of 4 x 4, 4 apart    a reduction, of x as [batch, channels, windows, 4, windows, 4]

Vertices of pooling never share a window. A reduction does, where windows lie side by side, or where
there is one: then it is of all elements of the field that are in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from poplite.errors import GraphMemoryAllocationError
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.convolution.dimension import Dimension, alone
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.pooling.search import pooling_layout
from poplite.ops.reduce.levels import RemainingPartials, cheapest_levels, cycles_of
from poplite.types import FLOAT
from poplite.vertices.estimators.poplibs import reduce_columns, reduce_one
from poplite.vertices.pooling import How


@dataclass(frozen=True, slots=True)
class PoolingStage:
    """Windows that are pooled at once.

    Attributes:
        request: what they have.
        is_reduced: whether by a reduction; otherwise by vertices of pooling.
    """

    request: ConvolutionRequest
    is_reduced: bool


@dataclass(frozen=True, slots=True)
class Way:
    """Stages, one after the other, and the modelled cycles of all."""

    cycles: int
    stages: tuple[PoolingStage, ...]


@lru_cache(maxsize=256)
def cheapest_way(target: Target, request: ConvolutionRequest, how: How) -> Way:
    """Return the way of the fewest modelled cycles; of equal ones that with the fewest stages.

    Args:
        target: whose tiles share the work.
        request: windows of a signal without zeros between its elements.
        how: "max" or "sum".

    Raises:
        GraphMemoryAllocationError: where no way fits the memory.
    """
    request = replace(request, dimensions=tuple(_inside(each) for each in request.dimensions))
    found, failure = [], None
    try:
        layout = pooling_layout(target, request, how)
        found.append(Way(sum(layout.cycles), (PoolingStage(request, is_reduced=False),)))
    except GraphMemoryAllocationError as error:
        failure = error
    if all(_is_side_by_side(each) for each in request.dimensions):
        found.append(
            Way(reduced_cycles(target, request, how), (PoolingStage(request, is_reduced=True),))
        )
    for first, second in _in_two(request, how):
        try:
            both = [cheapest_way(target, each, how) for each in (first, second)]
        except GraphMemoryAllocationError:
            continue
        stages = tuple(stage for way in both for stage in way.stages)
        if any(one.is_reduced and two.is_reduced for one, two in pairwise(stages)):
            continue  # reductions have stages of their own
        found.append(Way(sum(way.cycles for way in both), stages))
    if failure and not found:
        raise failure
    return min(found, key=lambda way: (way.cycles, len(way.stages)))


def reduced_cycles(target: Target, request: ConvolutionRequest, how: How) -> int:
    """Return the modelled cycles of a reduction of windows side by side, of x that lies linearly.

    Each tile has a stretch of x, and pools what it has of each window, which is copied together if
    it is not one stretch; then partial results go to where the windows' results are.
    """
    cost, element, taps = target.cost, request.element_type, request.taps
    held = -(-request.elements // target.tiles)
    met, size, columns, stretches = _met(request, held)
    if columns > 1:
        width = -(-columns // target.workers)
        slots = reduce_columns(element, FLOAT, width, size, width, target, adds=how == "sum")
        cycles = slots * target.workers * math.ceil(met / columns)
    else:
        slots = reduce_one(element, FLOAT, size, target)
        cycles = slots * target.workers * math.ceil(met / target.workers)
        if stretches > met:
            copied = held * element.size_bytes / cost("memcpy_bytes_per_cycle")
            rows = math.ceil(stretches * cost("copy_piece_cycles") + copied)
            cycles += int(cost("worker_call")) + rows
    partials = -(-taps // size)
    if partials > 1 and target.tiles > 1:
        wide = FLOAT if how == "sum" else element
        tiles = min(target.tiles, -(-request.elements // held))
        spread = RemainingPartials(wide, min(partials, tiles), math.ceil(met * tiles), tiles)
        cycles += cycles_of(target, spread, cheapest_levels(target, spread))
    return cycles


def _met(request: ConvolutionRequest, held: int) -> tuple[float, int, int, float]:
    """Return what a stretch of x has of windows, on average.

    How many windows it meets; how many elements of each; how many of these windows have elements
    side by side, instead of each window its own; and in how many stretches their elements lie.
    """
    met, columns, rest, row, is_row = 1.0, 1, float(held), 1.0, True
    for each in request.dimensions[::-1]:
        taps, covered = len(each.taps), min(rest, each.size)
        windows = each.size / taps if covered == each.size else (covered + taps - 1) / taps
        met *= windows
        if taps == 1 and columns == met / windows:
            columns = max(1, round(met))
        if is_row:
            row *= min(taps, covered)
            is_row = taps == each.size
        rest = max(1.0, rest / each.size)
    met = max(1.0, met * rest)
    return met, max(1, round(held / met)), columns, held / row


def as_rows(x: Tensor, request: ConvolutionRequest) -> tuple[Tensor, list[int]]:
    """Return x with a dimension for the places in each window, and which dimensions these are."""
    shape, places = list(x.shape[:2]), []
    for d, each in enumerate(request.dimensions, start=2):
        taps = len(each.taps)
        x = x.slice(each.origin, each.origin + each.count * taps, d)
        places.append(len(shape) + 1)
        shape += [each.count, taps]
    return x.reshape(shape), places


def _inside(each: Dimension) -> Dimension:
    """Return a dimension of one window without the places that are no elements."""
    if each.count != 1 or not _is_contiguous(each):
        return each
    begin, end = max(0, each.origin), min(each.size, each.origin + len(each.taps))
    if begin >= end:
        return each
    return Dimension(each.size, 1, begin, 1, 1, tuple(range(end - begin)))


def _is_contiguous(each: Dimension) -> bool:
    return each.dilation == 1 and each.taps == tuple(range(len(each.taps)))


def _is_side_by_side(each: Dimension) -> bool:
    taps = len(each.taps)
    follow = each.count == 1 or each.stride == taps
    inside = each.origin >= 0 and each.origin + each.count * taps <= each.size
    return follow and inside and _is_contiguous(each)


def _in_two(
    request: ConvolutionRequest, how: How
) -> Iterator[tuple[ConvolutionRequest, ConvolutionRequest]]:
    """Yield ways to pool in two stages: parts of windows, or one dimension before the others."""
    whole = request.dimensions
    parts = [_part(each) for each in whole]
    if math.prod(parts) > 1 and parts != [len(each.taps) for each in whole]:
        cuts = [_cut(each, part) for each, part in zip(whole, parts, strict=True)]
        yield _two(request, how, cuts)
    wide = [d for d, each in enumerate(whole) if len(each.taps) > 1]
    if len(wide) > 1:
        for first in wide:
            cuts = [_one_of(each, d == first) for d, each in enumerate(whole)]
            yield _two(request, how, cuts)


Cut = tuple[Dimension, Dimension]
"""What two stages do along a dimension."""


def _part(each: Dimension) -> int:
    """Return the size of equal parts of all windows and of padding; 1 for none."""
    if not _is_contiguous(each):
        return 1
    taps = len(each.taps)
    return taps if each.count == 1 else math.gcd(each.stride, taps, min(each.origin, 0))


def _cut(each: Dimension, part: int) -> Cut:
    taps, stride = len(each.taps) // part, each.stride // part if each.count > 1 else 1
    begin, padding = max(each.origin, 0), max(-each.origin, 0) // part
    parts = (each.count - 1) * stride + taps - padding
    parts = min(parts, -(-(each.size - begin) // part))  # none of padding alone
    first = Dimension(each.size, 1, begin, part, parts, tuple(range(part)))
    return first, Dimension(parts, 1, -padding, stride, each.count, tuple(range(taps)))


def _one_of(each: Dimension, is_first: bool) -> Cut:
    return (each, alone(each.count)) if is_first else (alone(each.size), each)


def _two(
    request: ConvolutionRequest, how: How, cuts: list[Cut]
) -> tuple[ConvolutionRequest, ConvolutionRequest]:
    one, two = (tuple(cut[k] for cut in cuts) for k in (0, 1))
    wide = FLOAT if how == "sum" else request.element_type
    return (
        replace(request, dimensions=one),
        replace(request, dimensions=two, element_type=wide),
    )
