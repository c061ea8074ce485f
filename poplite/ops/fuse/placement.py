"""Where a result lies that nobody placed.

It lies as the operand of its shape whose fullest tile holds least, the first of equals: so most of
what is read is on the tile that reads it. It is spread linearly over all tiles where all operands
are broadcast; where that operand uses less than half of the tiles that a linear mapping would use;
and where the fullest tile holds twice as much as it would then, and spreading takes fewer cycles:

    x[:n/2] + x[n/2:]        x on tiles 0 to 7, so an operand on 0 to 3, the other on 4 to 7
    as the first             tiles 0 to 3 get all of the other and add n/8 elements each
    spread                   all tiles get as much, a part of either, and add n/16 each

Over a virtual graph these are its tiles, and operands elsewhere count as if they lay on them.

Source: PopLibs, `poputil::createOutputForElementWiseOp`, for the choice among operands; that
operands on few tiles are not followed is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Int64, overlay
from poplite.expr.tree import ElementClass, Shape
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.mapping.variable_mapping import Linear
from poplite.graph.partition import map_linearly
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor

VECTOR_BYTES = 8
"""What one load of a tile takes at once; cuts fall on multiples of as many elements."""

LEAST_BYTES = 128
"""What a tile has at least of a tensor that is spread linearly."""


class Mappings:
    """The tile mappings of tensors, each found once for an operation."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[Tensor, TileMapping] = {}

    def of(self, tensor: Tensor) -> TileMapping:
        """Return the mapping of a tensor; raises where an element has no tile."""
        found = self._known.get(tensor)
        if found is None:
            found = self._known[tensor] = self.graph.tile_mapping(tensor)
        return found

    def lay(self, tensor: Tensor, mapping: TileMapping) -> None:
        """Put a tensor on tiles."""
        self.graph.set_tile_mapping(tensor, mapping)
        self._known[tensor] = mapping

    def suppose(self, tensor: Tensor, mapping: TileMapping) -> None:
        """Take a tensor to lie on other tiles than it does, for vertices that write it there."""
        self._known[tensor] = mapping

    def is_complete(self, tensor: Tensor) -> bool:
        """Tell whether all elements have tiles."""
        if tensor in self._known:
            return True
        return not len(self.graph.tile_mapping(tensor, require_complete=False).unmapped)


def grain_of(element: ElementClass) -> int:
    """Return the elements of one load."""
    return max(1, VECTOR_BYTES // element.size_bytes)


def _least_of(element: ElementClass) -> int:
    """Return the elements that a tile has at least."""
    return max(1, LEAST_BYTES // element.size_bytes)


def place(mappings: Mappings, out: Tensor, shape: Shape, operands: Sequence[Tensor]) -> str:
    """Put a tensor without tiles on tiles; return where it is."""
    graph, chosen = mappings.graph, _chosen(mappings, shape, operands, out.element_type)
    if chosen is None:
        element = out.element_type
        map_linearly(graph, out, grain=grain_of(element), min_elements=_least_of(element))
        return "linear"
    mappings.lay(out, mappings.of(chosen))
    return f"like {chosen.name}"


def variable(
    mappings: Mappings, element: ElementClass, shape: Shape, name: str, operands: Sequence[Tensor]
) -> Tensor:
    """Return a new variable where `place` puts it; none is made where an operand has no tile."""
    like(mappings, shape, operands)
    made = mappings.graph.add_variable(element, shape, name)
    place(mappings, made, made.shape, operands)
    return made


def complete(mappings: Mappings, out: Tensor, operands: Sequence[Tensor]) -> None:
    """Put elements that have no tile where `place` would put them; the others stay."""
    if mappings.is_complete(out):
        return
    graph = mappings.graph
    bare = [tuple(part) for part in graph.tile_mapping(out, require_complete=False).unmapped]
    if bare == [(0, out.num_elements)]:
        place(mappings, out, out.shape, operands)
        return
    chosen = like(mappings, out.shape, operands)
    views = [
        concat([tensor.flatten()[begin:end] for begin, end in bare])
        for tensor in (out, out if chosen is None else chosen)
    ]
    if chosen is None:
        map_linearly(graph, views[0], grain=grain_of(out.element_type))
    else:
        graph.set_tile_mapping(views[0], graph.tile_mapping(views[1]))


def _chosen(
    mappings: Mappings, shape: Shape, operands: Sequence[Tensor], element: ElementClass
) -> Tensor | None:
    """Return the operand that the result lies with; None for a linear mapping."""
    best = like(mappings, shape, operands)
    if best is None:
        return None
    count, tiles, size = best.num_elements, mappings.graph.target.tiles, element.size_bytes
    linear, own = min(tiles, -(-count * size // LEAST_BYTES)), mappings.of(best)
    if 2 * len(own.tiles) < linear:
        return None
    if not linear or own.elements_per_tile.max() < 2 * -(-count // linear):
        return best
    read = [each for each in operands if each.shape == shape]
    breaks, numbers = _linear(mappings.graph, count, element)
    tile, begin, _ = _in_order(own)
    spread = _cycles(mappings, read, breaks, numbers, size)
    return None if spread < _cycles(mappings, read, np.append(begin, count), tile, size) else best


def spread(
    mappings: Mappings, shape: Shape, operands: Sequence[Tensor], element: ElementClass
) -> tuple[TileMapping, float] | None:
    """Return where a new result lies that follows none of its operands; else None.

    With it come the cycles of sending its tiles what the operands have elsewhere.
    """
    if _chosen(mappings, shape, operands, element) is not None:
        return None
    breaks, tile = _linear(mappings.graph, math.prod(shape), element)
    read = [each for each in operands if each.shape == shape]
    mapping = TileMapping(mappings.graph.target.tiles, tile, np.diff(breaks))
    return mapping, _moved_cycles(mappings, read, breaks, tile)


def _linear(graph: Graph, count: int, element: ElementClass) -> tuple[Int64, Int64]:
    """Return where tiles begin in elements that are spread over all tiles, and the tiles."""
    tiles, least = graph.target.tiles, _least_of(element)
    return Linear.over(count, tiles, grain=grain_of(element), min_elements=least).pieces()


def _in_order(mapping: TileMapping) -> tuple[Int64, Int64, Int64]:
    """Return tile, begin and end of the intervals of a mapping, in the order of the elements."""
    tile, begin, end = held(mapping)
    order = np.argsort(begin)
    return tile[order], begin[order], end[order]


def _cycles(
    mappings: Mappings, operands: Sequence[Tensor], breaks: Int64, tile: Int64, size: int
) -> float:
    """Return the cycles of a map whose result lies on tiles from break to break.

    What operands have elsewhere is sent, and each tile loads and stores by words.
    """
    loaded = size + sum(each.element_type.size_bytes for each in operands)
    most = int(np.bincount(tile, np.diff(breaks)).max())
    words = most * loaded / mappings.graph.target.cost("data_path_bytes")
    return _moved_cycles(mappings, operands, breaks, tile) + words


def _moved_cycles(
    mappings: Mappings, operands: Sequence[Tensor], breaks: Int64, tile: Int64
) -> float:
    """Return the cycles of sending what operands have elsewhere to tiles from break to break."""
    target = mappings.graph.target
    sent, received = np.zeros(target.tiles), np.zeros(target.tiles)
    for operand in operands:
        width = operand.element_type.size_bytes
        owner, begin, end = held(mappings.of(operand))
        source, segment, begin, end = overlay(begin, end, breaks)
        moves = owner[source] != tile[segment]
        num_bytes = (end - begin)[moves] * width
        sent += np.bincount(owner[source][moves], num_bytes, target.tiles)
        received += np.bincount(tile[segment][moves], num_bytes, target.tiles)
    moved = max(sent.max(), received.max()) / target.exchange_bytes_per_cycle
    start = target.cost("sync_cycles") + target.cost("latency_cycles") if moved else 0
    return float(start + moved)


def like(mappings: Mappings, shape: Shape, operands: Sequence[Tensor]) -> Tensor | None:
    """Return the operand of a shape whose fullest tile holds least; None for none of that shape."""
    best: Tensor | None = None
    fewest = 0
    for operand in operands:
        if operand.shape != shape or operand.contains_aliases():
            continue
        fullest = int(mappings.of(operand).elements_per_tile.max(initial=0))
        if best is None or fullest < fewest:
            best, fewest = operand, fullest
    return best


def held(mapping: TileMapping) -> tuple[Int64, Int64, Int64]:
    """Return tile, begin and end of the intervals of a mapping, sorted by tile."""
    return np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr)), mapping.begin, mapping.end
