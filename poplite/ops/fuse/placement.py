"""Where a result lies that nobody placed.

It lies as the operand of its shape whose fullest tile holds least, the first of equals: so most of
what is read is on the tile that reads it. Where all operands are broadcast, or that operand uses
less than half of the tiles that a linear mapping would use, it is spread linearly over all tiles.

Source: PopLibs, `poputil::createOutputForElementWiseOp`, for the choice among operands; that
operands on few tiles are not followed is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.expr.tree import ElementClass, Shape
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.partition import map_linearly
from poplite.graph.tensor.tensor import Tensor

VECTOR_BYTES = 8
"""What one load of a tile takes at once; cuts fall on multiples of as many elements."""

LEAST_BYTES = 128
"""What a tile has at least of a tensor that is spread linearly."""


def grain_of(element: ElementClass) -> int:
    """Return the elements of one load."""
    return max(1, VECTOR_BYTES // element.size_bytes)


def place(graph: Graph, out: Tensor, shape: Shape, operands: Sequence[Tensor]) -> str:
    """Put a new tensor, or the elements of one without tiles, on tiles; return where they are."""
    chosen = _chosen(graph, shape, operands, out.element_type)
    if chosen is None:
        grain = grain_of(out.element_type)
        least = max(1, LEAST_BYTES // out.element_type.size_bytes)
        map_linearly(graph, out, grain=grain, min_elements=least)
        return "linear"
    graph.set_tile_mapping(out, graph.tile_mapping(chosen))
    return f"like {chosen.name}"


def _chosen(
    graph: Graph, shape: Shape, operands: Sequence[Tensor], element: ElementClass
) -> Tensor | None:
    """Return the operand that the result lies with; None for a linear mapping."""
    best = like(graph, shape, operands)
    if best is None:
        return None
    size = best.num_elements * element.size_bytes
    linear = min(graph.target.tiles, -(-size // LEAST_BYTES))
    return best if 2 * len(graph.tile_mapping(best).tiles) >= linear else None


def like(graph: Graph, shape: Shape, operands: Sequence[Tensor]) -> Tensor | None:
    """Return the operand of a shape whose fullest tile holds least; None for none of that shape."""
    best: Tensor | None = None
    fewest = 0
    for operand in operands:
        if operand.shape != shape or operand.contains_aliases():
            continue
        fullest = int(graph.tile_mapping(operand).elements_per_tile.max(initial=0))
        if best is None or fullest < fewest:
            best, fewest = operand, fullest
    return best


def held(mapping: TileMapping) -> tuple[Int64, Int64, Int64]:
    """Return tile, begin and end of the intervals of a mapping, sorted by tile."""
    return np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr)), mapping.begin, mapping.end
