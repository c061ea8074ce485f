"""How pooling is shared among tiles: the cheapest of all blocks by batch, field and channels.

A block of channels stands as a group of a convolution: all that a convolution says about blocks,
and what they read, is for pooling too. Costs are the bytes that blocks read beside their own part,
and PopLibs' estimate of the vertices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.errors import GraphMemoryAllocationError
from poplite.machine.target import Target
from poplite.ops.convolution.layout import ConvolutionLayout
from poplite.ops.convolution.request import ConvolutionRequest
from poplite.ops.convolution.search import combined
from poplite.ops.matmul.search import parts_of
from poplite.vertices.pooling import How, pooling_cycles


@lru_cache(maxsize=256)
def pooling_layout(target: Target, request: ConvolutionRequest, how: How) -> ConvolutionLayout:
    """Return the cheapest layout.

    Args:
        target: whose tiles share the work.
        request: of one group of channels, as many of the output as of the input.
        how: what vertices do.
    """
    channels = request.inputs
    found = [
        _best(target, replace(request, groups=channels // part, inputs=part, outputs=part), how)
        for part in range(1, channels + 1)
        if channels % part == 0
    ]
    rank, layout = min(found, key=lambda each: each[0])
    limit = int(request.memory * target.tile_memory_bytes)
    if rank[0]:
        raise GraphMemoryAllocationError(
            f"pooling of {request} does not fit: a tile needs at least {layout.bytes:,} B of "
            f"{limit:,} B ({request.memory:g} of its {target.tile_memory_bytes:,} B)",
            found="what a block reads and its output",
            fix="more tiles, or a smaller window",
        )
    return layout


def _best(
    target: Target, request: ConvolutionRequest, how: How
) -> tuple[tuple[int, ...], ConvolutionLayout]:
    """Return the cheapest layout of blocks of some channels, and what it is compared by."""
    size = request.element_type.size_bytes
    lists = [
        parts_of(whole, 1, 1, target.tiles_per_ipu)[0] for whole in (request.batch, *request.field)
    ]
    batch, *field = combined(lists)
    cuts = [
        -(-whole // part)
        for whole, part in zip((request.batch, *request.field), (batch, *field), strict=True)
    ]
    turns: Any = -(-request.groups * math.prod(cuts) // target.tiles_per_ipu)
    operands = 2 if how == "backward" else 1
    reach: Any = batch * request.inputs * size * operands
    own = reach
    for part, each in zip(field, request.dimensions, strict=True):
        places = each.places(part)
        reach, own = reach * places, own * np.minimum(places, part * each.stride)
    positions: Any = batch * math.prod(field)
    made = positions * request.outputs * size * operands
    limit = int(request.memory * target.tile_memory_bytes)
    at_once: Any = np.clip((limit - turns * made) // reach, 1, turns)
    cost, passes = target.cost, -(-turns // at_once)
    start = cost("sync_cycles") + cost("latency_cycles") + cost("worker_call")
    exchange = turns * (reach - own) / target.exchange_bytes_per_cycle
    exchange = exchange + turns * reach / cost("memcpy_bytes_per_cycle") + passes * start
    width = target.vector_width(request.element_type)
    rows, vectors = (positions // field[-1], field[-1]), -(-request.inputs // width)
    work = turns * pooling_cycles(how, rows, request.taps, vectors, target)
    total: Any = at_once * reach + turns * made
    rank = np.where(total > limit, total, 0), np.ceil(exchange) + work, turns, total
    way = int(np.lexsort(rank[::-1])[0])
    layout = ConvolutionLayout(
        request,
        int(batch[way]),
        tuple(int(part[way]) for part in field),
        request.outputs,
        request.inputs,
        int(turns[way]),
        int(at_once[way]),
        (int(exchange[way]), int(work[way]), 0),
        (int(at_once[way] * reach[way]), 0, int(turns[way] * made[way]), 0),
    )
    return tuple(int(each[way]) for each in rank), layout
