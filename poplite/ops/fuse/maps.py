"""Where an elementwise expression is computed: the mapping of its result, and its compute set.

The result is mapped like the operand of its shape whose fullest tile holds the fewest elements
(among equals, the first), so that most elements are on the tile that reads them. It is spread
linearly over all tiles instead in three cases: if all operands are broadcast; if that operand uses
fewer than half of the tiles that a linear mapping would use; or if the fullest tile holds at least
twice as many elements as in a linear mapping, and spreading takes fewer cycles:

    x[:n/2] + x[n/2:]        x on tiles 0 to 7, so one operand on 0 to 3, the other on 4 to 7
    like the first           tiles 0 to 3 receive all of the other and add n/8 elements each
    spread                   all tiles receive equal parts of both, and add n/16 elements each

In a virtual graph, "all tiles" are its tiles; operands on other tiles are treated as if they were
on its tiles.

Source: PopLibs, `poputil::createOutputForElementWiseOp`, for the choice among operands; the
exception for operands on few tiles is poplite's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import poplite.cost as cost
from poplite.arrays.intervals import Int64, distinct, overlay, repeated
from poplite.expr.tree import ElementClass, IotaExpr, Leaf, Number, Shape
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.partitioners import map_linearly
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.graph.variable_mapping import Linear
from poplite.machine.target import Target
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.pricing import (
    KINDS,
    HeldShare,
    ReadOperand,
    VectorReads,
    common_share,
    exchange_cycles,
    gathering_cycles,
    held_elements,
    moves_of,
    steps_of,
)
from poplite.ops.fuse.recipe import MapRecipe, OperandPart, Straight, straight
from poplite.program import Copy
from poplite.program.recording import Recorder
from poplite.types import BOOL
from poplite.vertices import filling as library
from poplite.vertices.estimators import MapOperation, least_slots, map_slots

VECTOR_BYTES = 8
"""Bytes of one load; elements are divided at multiples of it."""

LEAST_BYTES = 128
"""Minimum number of bytes of a linearly spread tensor on each tile."""

MOST_INTERVALS = 1 << 14
"""Maximum number of intervals of the mappings in a key, which limits memory."""


class Sending(NamedTuple):
    """The cycles of an exchange: a tile continues once it has received and sent all of its data.

    Attributes:
        received: cycles until all receiving tiles are done.
        sent: cycles until all sending tiles are done.
    """

    received: float = 0
    sent: float = 0

    @property
    def cycles(self) -> float:
        """Cycles until everything is sent and received."""
        return max(self)


class Mappings:
    """The tile mappings of tensors, each found once for an operation."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[Tensor, TileMapping] = {}

    def of(self, tensor: Tensor) -> TileMapping:
        """Return the mapping of a tensor; raises if an element is not mapped."""
        found = self._known.get(tensor)
        if found is None:
            found = self._known[tensor] = self.graph.tile_mapping(tensor)
        return found

    def key(self, *tensors: Tensor) -> object:
        """Return a key for the mappings of tensors; None if they are long or not contiguous."""
        mappings = [self.of(each) for each in tensors]
        is_short = sum(len(each.begin) for each in mappings) <= MOST_INTERVALS
        if not is_short or not all(each.is_contiguous() for each in tensors):
            return None
        return tuple(
            [
                (
                    each.shape,
                    each.element_type,
                    own.ptr.tobytes(),
                    own.begin.tobytes(),
                    own.end.tobytes(),
                )
                for each, own in zip(tensors, mappings, strict=True)
            ]
        )

    def lay(self, tensor: Tensor, mapping: TileMapping) -> None:
        """Map a tensor to tiles."""
        self.graph.set_tile_mapping(tensor, mapping)
        self._known[tensor] = mapping

    def suppose(self, tensor: Tensor, mapping: TileMapping) -> None:
        """Assume a mapping for a tensor, without changing the graph."""
        self._known[tensor] = mapping

    def is_complete(self, tensor: Tensor) -> bool:
        """Return whether all elements are mapped."""
        if tensor in self._known:
            return True
        return not len(self.graph.tile_mapping(tensor, require_complete=False).unmapped)


def grain_of(element: ElementClass) -> int:
    """Return the number of elements in one load."""
    return max(1, VECTOR_BYTES // element.size_bytes)


def _least_of(element: ElementClass) -> int:
    """Return the minimum number of elements on each tile."""
    return max(1, LEAST_BYTES // element.size_bytes)


def place(mappings: Mappings, out: Tensor, shape: Shape, operands: Sequence[Tensor]) -> str:
    """Map a tensor without a mapping, and return a description of the mapping."""
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
    """Return a new variable mapped by `place`; none is created if an operand is not mapped."""
    like(mappings, shape, operands)
    made = mappings.graph.add_variable(element, shape, name)
    place(mappings, made, made.shape, operands)
    return made


def complete(mappings: Mappings, out: Tensor, operands: Sequence[Tensor]) -> None:
    """Map the unmapped elements as `place` would; the others keep their tiles."""
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
    """Return the operand whose mapping the result takes; None for a linear mapping."""
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
) -> tuple[TileMapping, Sending] | None:
    """Return the linear mapping of a new result, or None if it is mapped like an operand.

    The second value is the exchange that brings the operands to the tiles of the mapping.
    """
    if _chosen(mappings, shape, operands, element) is not None:
        return None
    read = [each for each in operands if each.shape == shape]
    return spread_evenly(mappings, math.prod(shape), read, element)


def sent_to(mappings: Mappings, main: Tensor, operands: Sequence[Tensor]) -> Sending:
    """Return the exchange that brings operands to the tiles of `main`."""
    tile, begin, _ = _in_order(mappings.of(main))
    read = [each for each in operands if each.num_elements == main.num_elements]
    return _sending(mappings, read, np.append(begin, main.num_elements), tile)


def share_of(mappings: Mappings, tensor: Tensor, main: Tensor) -> HeldShare:
    """Return the fraction of a tensor on the tiles of `main`, to whose shape it broadcasts."""
    if tensor.contains_aliases():  # assume that all are there: a search could take long
        return HeldShare(1)
    mapping, main_mapping = mappings.of(tensor), mappings.of(main)
    tiles = tuple(mapping.tiles.tolist())
    if tensor.shape == main.shape:
        if mapping == main_mapping:
            return HeldShare(1)
        share = 1 if len(tiles) == 1 else common_share(mapping, main_mapping)
        return HeldShare(share, tiles, mapping=mapping)
    share, read = (
        int(each.elements_per_tile.max()) / each.num_elements for each in (mapping, main_mapping)
    )
    return HeldShare(share, tiles, read, mapping)


def spread_evenly(
    mappings: Mappings, count: int, read: Sequence[Tensor], element: ElementClass
) -> tuple[TileMapping, Sending]:
    """Return a mapping over all tiles, and the exchange that brings the operands to them."""
    breaks, tile = _linear(mappings.graph, count, element)
    mapping = TileMapping(mappings.graph.target.tiles, tile, np.diff(breaks))
    return mapping, _sending(mappings, read, breaks, tile)


def _linear(graph: Graph, count: int, element: ElementClass) -> tuple[Int64, Int64]:
    """Return the first element of each tile in a linear mapping, and the tiles."""
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
    """Return the cycles of a map whose result is on the given tiles, from break to break.

    Elements of operands on other tiles are sent, and each tile loads and stores by words.
    """
    loaded = size + sum(each.element_type.size_bytes for each in operands)
    most = int(np.bincount(tile, np.diff(breaks)).max())
    words = most * loaded / mappings.graph.target.cost("data_path_bytes")
    return _sending(mappings, operands, breaks, tile).cycles + words


def _sending(mappings: Mappings, operands: Sequence[Tensor], breaks: Int64, tile: Int64) -> Sending:
    """Return the exchange that brings operands to the given tiles, from break to break."""
    target = mappings.graph.target
    sent, received, pieces = np.zeros((3, target.tiles))
    for operand in operands:
        width = _sent_bytes(target, operand)
        own = moves_of(target.tiles, *held(mappings.of(operand)), breaks, tile)
        sent += own.sent * width
        received += own.received * width
        pieces += own.pieces
    if not received.any():
        return Sending()
    goes_on = np.bincount(tile, minlength=target.tiles) > 0
    received = np.maximum(received, np.where(goes_on, sent, 0))
    return Sending(exchange_cycles(target, received, pieces), exchange_cycles(target, 0, 0, sent))


def _sent_bytes(target: Target, operand: Tensor) -> int:
    """Return the bytes sent for an element: a word if its neighbours are not adjacent in memory."""
    size, digits = operand.element_type.size_bytes, operand.view.flat_digits()
    is_apart = bool(digits) and digits[-1][1] != 1
    return max(size, int(target.cost("word_bytes"))) if is_apart else size


def like(mappings: Mappings, shape: Shape, operands: Sequence[Tensor]) -> Tensor | None:
    """Return the operand of a shape whose fullest tile holds the fewest elements, or None."""
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


# -- cuts ------------------------------------------------------------------------------------------
# The elements that each worker of each tile computes, as arrays that do not depend on a graph.
#
# A tile's elements are divided evenly among its workers, at multiples of the grain, in the order
# of the elements. The cuts depend only on the mapping and the target::
#
#     tile 0 holds [0, 20)       grain 2, 6 workers       [0, 4) [4, 8) [8, 12) [12, 16) [16, 20)
#     tile 1 holds [20, 24) and [40, 44)                  [20, 22) [22, 24) [40, 42) [42, 44)


class Cuts(NamedTuple):
    """Ranges of elements, sorted by tile and worker; all int64[n].

    Attributes:
        tile: the tile of each range.
        vertex: the index of the vertex that computes the range, in ascending order from 0.
        begin: the first element.
        end: one past the last.
    """

    tile: Int64
    vertex: Int64
    begin: Int64
    end: Int64

    @property
    def first(self) -> Int64:
        """The index of the first range of each vertex."""
        return np.flatnonzero(np.diff(self.vertex, prepend=-1))


def cuts(tile: Int64, begin: Int64, end: Int64, workers: int, grain: int) -> Cuts:
    """Cut intervals of elements, sorted by tile, among the workers of their tiles.

    >>> held = [np.array(column) for column in ([0, 1, 1], [0, 20, 40], [20, 24, 44])]
    >>> [column.tolist() for column in cuts(*held, workers=2, grain=2)]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 10, 20, 40], [10, 20, 24, 44]]
    """
    length = end - begin
    ends = np.cumsum(length)
    place = ends - length  # the start of each interval, if all are concatenated
    is_new = np.ones(len(tile), np.bool_)
    is_new[1:] = tile[1:] != tile[:-1]
    new = np.flatnonzero(is_new)
    first = place[new]  # the start of each tile
    total = np.append(first[1:], ends[-1:]) - first
    share = -(-total // (workers * grain)) * grain
    count = -(-total // share)
    source, copy = repeated(count)
    at = first[source] + copy * share[source]  # the start of each vertex
    breaks = distinct(np.concatenate([place, at]))
    owner = np.searchsorted(place, breaks, "right") - 1
    low = begin[owner] + breaks - place[owner]
    high = low + np.append(breaks[1:], ends[-1:]) - breaks
    return Cuts(tile[owner], np.searchsorted(at, breaks, "right") - 1, low, high)


class Rects(NamedTuple):
    """Ranges of rows and columns of matrices, each of one vertex; all int64[n].

    Attributes:
        tile: the tile of each range.
        matrix: the index of the matrix.
        top: the first row.
        bottom: one past the last row.
        left: the first column.
        right: one past the last column.
    """

    tile: Int64
    matrix: Int64
    top: Int64
    bottom: Int64
    left: Int64
    right: Int64


def rects(found: Cuts, rows: int, columns: int, workers: int) -> Rects:
    """Cut ranges of elements of concatenated matrices into rectangles.

    A range becomes the end of a row, a block of whole rows, and the start of a row. If a tile has
    more rectangles than workers, the largest come first, so that small ones fill the remaining
    time.

    >>> one = Cuts(*(np.array([k]) for k in (7, 0, 3, 14)))
    >>> [column.tolist() for column in rects(one, rows=4, columns=4, workers=6)]
    [[7, 7, 7], [0, 0, 0], [0, 1, 3], [1, 3, 4], [3, 0, 0], [4, 4, 2]]
    >>> [column.tolist() for column in rects(one, rows=4, columns=4, workers=2)]
    [[7, 7, 7], [0, 0, 0], [1, 3, 0], [3, 4, 1], [0, 0, 3], [4, 2, 4]]
    """
    size = rows * columns
    matrix = found.begin // size
    count = (found.end - 1) // size - matrix + 1
    source, copy = repeated(count)
    matrix = matrix[source] + copy
    low = np.maximum(found.begin[source] - matrix * size, 0)
    high = np.minimum(found.end[source] - matrix * size, size)
    whole, top = -(-low // columns), high // columns  # rows that are complete
    is_within = whole > top  # a part of one row, cut at both ends
    tile, parts = found.tile[source], []
    for chosen, first, last, left, right in (
        (is_within, low // columns, low // columns + 1, low % columns, high - top * columns),
        (~is_within & (low % columns > 0), whole - 1, whole, low % columns, columns),
        (whole < top, whole, top, 0, columns),
        (~is_within & (high % columns > 0), top, top + 1, 0, high % columns),
    ):
        some = np.flatnonzero(chosen)
        columns_of = (tile, matrix, first, last, left, right)
        parts.append([np.broadcast_to(each, tile.shape)[some] for each in columns_of])
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    made = Rects(*joined)
    area = (made.bottom - made.top) * (made.right - made.left)
    first = np.where(np.bincount(made.tile)[made.tile] > workers, -area, 0)
    order = np.lexsort((made.left, made.top, made.matrix, first, made.tile))
    return Rects(*(each[order] for each in made))


# -- filling ---------------------------------------------------------------------------------------
# Numbers that do not depend on a tensor: each worker computes its own, so nothing is sent.
#
#     zero of x[4, 10] on two tiles       Fill      out = x[0, 0:4], ...
#     of its columns 2 to 5               FillRows  out = [x[0, 2:5], x[1, 2:5]], ...
#
# Source: PopLibs, `lib/popops/Fill.cpp`: results of up to 4 B are copies of a constant.


FEW_BYTES = 4
"""Maximum number of bytes for which PopLibs copies a constant."""

EXACT = 1 << 24
"""Integers up to this limit are exact in float32, so that counting in float32 does not round."""


def is_made_in_place(expr: Number | IotaExpr, out: Tensor) -> bool:
    """Return whether vertices store the numbers; otherwise they are copied from a constant."""
    if isinstance(expr, Number):
        return out.num_elements * out.element_type.size_bytes > FEW_BYTES
    largest = max(abs(expr.start), abs(expr.start + expr.num_elements))
    if expr.element_type is BOOL or (expr.element_type.is_floating_point and largest > EXACT):
        return False
    is_long = 2 * out.num_regions() <= out.num_elements  # otherwise each number is a separate row
    return is_long and 0 < expr.num_elements == out.num_elements


def add_filling(
    mappings: Mappings, compute_set: ComputeSet, expr: Number | IotaExpr, out: Tensor
) -> str:
    """Add the vertices that store numbers in a tensor, and return the name of their class."""
    graph = mappings.graph
    tile, begin, end = held(mappings.of(out))
    memory = np.append(0, out.contiguous_regions().end)
    source, _, begin, end = overlay(begin, end, memory)
    found = cuts(tile[source], begin, end, graph.target.workers, grain_of(out.element_type))
    first = found.first
    ranges = Slices(out.flatten(), 0, found.begin, found.end)
    is_listed = len(first) < len(found.vertex)  # some vertices have several ranges
    ends = np.append(first, len(found.vertex))
    fields: dict[str, Any] = {"out": SliceLists(ranges, ends) if is_listed else ranges}
    if isinstance(expr, Number):
        template: Any = library.FillRows if is_listed else library.Fill
        fields["value"] = expr.value
    else:
        template = library.IotaRows if is_listed else library.Iota
        starts = _counted(expr, found.begin)
        fields["starts" if is_listed else "start"] = (
            np.split(starts, first[1:]) if is_listed else starts
        )
    cls = template[out.element_type]
    graph.add_vertices(compute_set, cls, tile=found.tile[first], **fields)
    return str(cls.__name__)


def positions(expr: IotaExpr) -> npt.NDArray[Any]:
    """Return the numbers of an `ops.iota`."""
    return _counted(expr, np.arange(expr.num_elements))


def _counted(expr: IotaExpr, places: Int64) -> npt.NDArray[Any]:
    """Return the numbers at the given positions; integers wrap at every step."""
    dtype: np.dtype[Any] = expr.element_type.dtype
    if dtype.kind == "f":
        return (places + float(expr.start)).astype(dtype)
    numbers: npt.NDArray[Any] = places.astype(dtype)
    numbers += dtype.type(expr.start)
    return numbers


# -- compute sets ----------------------------------------------------------------------------------
# Dimensions of the result are joined if all operands traverse them in the same way. The result is
# then a vector or a list of matrices, and each operand has rows, one row, one column, or one number
# for each matrix:
#
#     (x - b) * c      x (10000, 1000)    b (1000,)     c (10000, 1)
#                      rows               one row       a column


class Grid(NamedTuple):
    """A result as a list of matrices, `[matrices, rows, columns]`.

    Attributes:
        sizes: the sizes of the three dimensions.
        parts: the part of each operand that a vertex reads.
        tensors: the operands, reshaped to lists of such parts.
    """

    sizes: tuple[int, int, int]
    parts: list[OperandPart]
    tensors: list[Tensor]

    @property
    def is_vector(self) -> bool:
        """Whether all operands traverse all dimensions of the result in the same way."""
        return self.sizes[:2] == (1, 1)


def add_map(mappings: Mappings, compute_set: ComputeSet, body: Straight, out: Tensor) -> str:
    """Add the vertices of a map to a compute set, and return the name of their class.

    All elements of `out` must be mapped. An operand that is exactly `out` is updated in place.
    """
    in_place = next((n for n, each in enumerate(body.tensors) if each == out), None)
    grid = _grid(body.tensors, out.shape)
    if in_place is not None and grid.parts[in_place] is OperandPart.NUMBER:
        grid.parts[in_place] = OperandPart.ELEMENTS  # a single element, which is written
    graph = mappings.graph
    found = cuts(*held(mappings.of(out)), graph.target.workers, grain_of(out.element_type))
    if not grid.is_vector:
        return _add_matrices(graph, compute_set, body, out, in_place, grid, found)
    return _add_vectors(graph, compute_set, body, out, in_place, grid, found)


def map_cycles(
    body: Straight,
    shape: Shape,
    element: ElementClass,
    mapping: TileMapping,
    target: Target,
    shares: Sequence[HeldShare],
) -> float:
    """Return the cycles of a map on its slowest tile; 0 if an operation cannot be priced.

    Args:
        body: the expression that the map computes.
        shape: the shape of the result.
        element: the element type of the result.
        mapping: the mapping of the result.
        target: the machine.
        shares: the fraction of each operand that its tiles hold themselves.
    """
    grid = _grid(body.tensors, shape)
    priced = _priced(body, grid, element)
    if priced is None:
        return 0
    steps, loads = priced

    def of_tile(tile: int) -> float:
        found = _cuts_of(mapping, tile, target, grain_of(element))
        rows = _rows(grid, found, target.workers)
        is_listed = OperandPart.ROWS in grid.parts or any(len(each) > 1 for each in rows)
        price = {
            each: map_slots(each, steps, loads, target, is_listed=is_listed)
            for each in dict.fromkeys(rows)
        }
        slots = [price[each] for each in rows]
        computed = cost.slowest_tile(np.zeros(len(rows), np.int64), slots, target)
        return computed + gathering_cycles(target, [*_reads(grid, found, target, tile, shares)])

    slow = _slow_tiles(mapping, grid, shares)
    slow |= _gathering_tiles(mapping, grid, shares, target, grain_of(element))
    return max(of_tile(tile) for tile in slow)


def least_map_cycles(
    body: Straight, shape: Shape, element: ElementClass, mapping: TileMapping, target: Target
) -> float:
    """Return a lower bound on the cycles of a map: the loops on its fullest tile."""
    priced = _priced(body, _grid(body.tensors, shape), element)
    if priced is None:
        return 0
    steps, loads = priced
    share = max(1, int(mapping.elements_per_tile.max()) // target.workers)
    return target.workers * least_slots(share, steps, loads, target)


def _priced(
    body: Straight, grid: Grid, element: ElementClass
) -> tuple[list[MapOperation], list[ElementClass]] | None:
    """Return the operations of a map if all can be priced, and the element types that it loads."""
    steps = steps_of(body.body, [KINDS[part] for part in grid.parts])
    if steps is None:
        return None
    types = zip(body.body.tensors, grid.parts, strict=True)
    return steps, [each for each, part in types if KINDS[part] == "v"] or [element]


def _slow_tiles(mapping: TileMapping, grid: Grid, shares: Sequence[HeldShare]) -> set[int]:
    """Return the tiles that may be the slowest.

    These are the fullest tile, each tile that holds a whole operand, and the fullest tile with
    partial rows, where the ranges of workers consist of more rectangles.
    """
    begin, end, count = mapping.begin, mapping.end, mapping.elements_per_tile
    columns = grid.sizes[2]
    is_parted = (begin % columns > 0) | (end % columns > 0)
    is_parted &= begin // columns < (end - 1) // columns
    parted = np.unique(np.searchsorted(mapping.ptr, np.flatnonzero(is_parted), "right") - 1)
    found = {int(count.argmax()), *parted[count[parted].argsort()[-1:]].tolist()}
    alone = [each.tiles[0] for each in shares if each.tiles is not None and len(each.tiles) == 1]
    return found | {tile for tile in alone if count[tile]}


def _gathering_tiles(
    mapping: TileMapping, grid: Grid, shares: Sequence[HeldShare], target: Target, grain: int
) -> set[int]:
    """Return the tiles that hold the most elements of ranges that they hold only in part."""
    found = where = None
    tiles = set()
    for tensor, part, own in zip(grid.tensors, grid.parts, shares, strict=True):
        if own.mapping is None or len(own.tiles or ()) < 2 or not _may_hold(own, tensor, part):
            continue
        if found is None:
            found = cuts(*held(mapping), target.workers, grain)
            where = None if grid.is_vector else rects(found, *grid.sizes[1:], target.workers)
        tile, begin, end = _read(tensor, part, found, where)
        there = held_elements(own.mapping, tile, begin, end)
        there[there == end - begin] = 0
        if there.any():
            tiles.add(int(np.bincount(tile, there).argmax()))
    return tiles


def _may_hold(own: HeldShare, tensor: Tensor, part: OperandPart) -> bool:
    """Return whether vertices read an operand in parts whose tiles are known."""
    known = own.mapping is not None and own.mapping.num_elements == tensor.num_elements
    return known and part is not OperandPart.NUMBER


def _read(
    tensor: Tensor, part: OperandPart, found: Cuts, where: Rects | None
) -> tuple[Int64, Int64, Int64]:
    """Return the intervals of an operand that vertices read, as tile, begin and end."""
    if where is None:
        return found.tile, found.begin, found.end
    begin, end, first = _ranges(tensor, part, where)
    tile = where.tile if first is None else np.repeat(where.tile, np.diff(first))
    return tile, begin, end


def _cuts_of(mapping: TileMapping, tile: int, target: Target, grain: int) -> Cuts:
    """Return the ranges of the vertices of a tile."""
    own = slice(mapping.ptr[tile], mapping.ptr[tile + 1])
    begin, end = mapping.begin[own], mapping.end[own]
    return cuts(np.zeros_like(begin), begin, end, target.workers, grain)


def _rows(grid: Grid, found: Cuts, workers: int) -> list[tuple[int, ...]]:
    """Return the lengths of the rows of each vertex."""
    if grid.is_vector:
        vertices = np.split(found.end - found.begin, found.first[1:])
        return [tuple(each.tolist()) for each in vertices]
    where = rects(found, *grid.sizes[1:], workers)
    width, count = where.right - where.left, where.bottom - where.top
    return [(w,) * n for w, n in zip(width.tolist(), count.tolist(), strict=True)]


def _reads(
    grid: Grid, found: Cuts, target: Target, tile: int, shares: Sequence[HeldShare]
) -> Iterator[tuple[VectorReads, ReadOperand]]:
    """Yield the vectors that the vertices of a tile read from operands that the tile itself holds.

    If a tile holds part of a column, it is usually the part for its own rows.
    """
    where = None if grid.is_vector else rects(found, *grid.sizes[1:], target.workers)
    for tensor, part, own in zip(grid.tensors, grid.parts, shares, strict=True):
        is_elsewhere = own.tiles is not None and tile not in own.tiles
        if is_elsewhere or not own.share or part is OperandPart.NUMBER:
            continue
        _, begin, end = _read(tensor, part, found, where)
        reads = VectorReads(np.full_like(begin, tile), np.arange(len(begin) + 1), begin, end)
        digits, size = tuple(tensor.view.flat_digits()), tensor.element_type.size_bytes
        mapping = own.mapping if _may_hold(own, tensor, part) else None
        yield reads, ReadOperand(digits, size, mapping=mapping)


def add_copy(
    recorder: Recorder, mappings: Mappings, source: Tensor, out: Tensor, name: str
) -> None:
    """Record a broadcasting copy; vertices make it if only compute sets can be recorded."""
    if recorder.takes_programs:
        recorder.add(Copy(broadcast_to(source, out.shape), out))
    else:
        add_map(mappings, recorder.compute_set(name), straight(Leaf(source), {}), out)


def _add_vectors(
    graph: Graph,
    compute_set: ComputeSet,
    body: Straight,
    out: Tensor,
    in_place: int | None,
    grid: Grid,
    found: Cuts,
) -> str:
    parts = grid.parts
    # Elements of an operand give the lengths of rows; without them, each range has its own vertex.
    first = found.first if OperandPart.ELEMENTS in parts else np.arange(len(found.vertex))
    tile, count = found.tile[first], len(first)
    is_listed = count < len(found.vertex)  # some vertices have several ranges
    if is_listed:
        parts = [OperandPart.ROWS if each is OperandPart.ELEMENTS else each for each in parts]
    cls = class_of(MapRecipe(body.body, tuple(parts), out.element_type, in_place))
    fields: dict[str, object] = {}
    ends = np.append(first, len(found.vertex))
    for name, tensor, part in _fields(out, in_place, parts, grid.tensors):
        if part is OperandPart.NUMBER:
            fields[name] = tensor.reshape((1,)).broadcast(count, 0)
            continue
        ranges = Slices(tensor.flatten(), 0, found.begin, found.end)
        fields[name] = SliceLists(ranges, ends) if is_listed else ranges
    graph.add_vertices(compute_set, cls, tile=tile, **fields, **_numbers(body))
    return cls.__name__


def _add_matrices(
    graph: Graph,
    compute_set: ComputeSet,
    body: Straight,
    out: Tensor,
    in_place: int | None,
    grid: Grid,
    found: Cuts,
) -> str:
    _, rows, columns = grid.sizes
    where = rects(found, rows, columns, graph.target.workers)
    cls = class_of(MapRecipe(body.body, tuple(grid.parts), out.element_type, in_place))
    fields = {
        name: _cut(tensor, part, where)
        for name, tensor, part in _fields(
            out.reshape(grid.sizes), in_place, grid.parts, grid.tensors
        )
    }
    graph.add_vertices(compute_set, cls, tile=where.tile, **fields, **_numbers(body))
    return cls.__name__


def _cut(tensor: Tensor, part: OperandPart, where: Rects) -> Slices | SliceLists:
    """Return the slice of an operand for each rectangle."""
    begin, end, first = _ranges(tensor, part, where)
    ranges = Slices(tensor.flatten(), 0, begin, end)
    return ranges if first is None else SliceLists(ranges, first)


def _ranges(tensor: Tensor, part: OperandPart, where: Rects) -> tuple[Int64, Int64, Int64 | None]:
    """Return the ranges of an operand that rectangles read, and with rows the first of each."""
    matrix, top, bottom, left, right = where[1:]
    if part is OperandPart.NUMBER:
        return matrix, matrix + 1, None
    if part is not OperandPart.ROWS:
        begin, end = (left, right) if part is OperandPart.ROW else (top, bottom)
        before = matrix * tensor.shape[1]
        return before + begin, before + end, None
    count = bottom - top
    first = np.append(0, np.cumsum(count))
    row = np.arange(first[-1]) - np.repeat(first[:-1] - matrix * tensor.shape[1] - top, count)
    begin, end = (row * tensor.shape[2] + np.repeat(each, count) for each in (left, right))
    return begin, end, first


def _fields(
    out: Tensor,
    in_place: int | None,
    parts: Sequence[OperandPart],
    tensors: Sequence[Tensor],
) -> list[tuple[str, Tensor, OperandPart]]:
    """Return the name, tensor and part of each edge."""
    own = OperandPart.ELEMENTS
    if any(part not in (OperandPart.ELEMENTS, OperandPart.NUMBER) for part in parts):
        own = OperandPart.ROWS
    operands = [
        (f"x{n}", tensor, part)
        for n, (tensor, part) in enumerate(zip(tensors, parts, strict=True))
        if n != in_place
    ]
    return [("out", out, own), *operands]


def _numbers(body: Straight) -> dict[str, object]:
    return {f"k{n}": number.value.item() for n, number in enumerate(body.numbers)}


def _grid(tensors: Sequence[Tensor], shape: Shape) -> Grid:
    """Join the dimensions of a result that all operands traverse in the same way."""
    rank = len(shape)
    views = [tensor.reshape((1,) * (rank - tensor.rank) + tensor.shape) for tensor in tensors]
    groups: list[tuple[list[int], list[bool]]] = []  # dimensions, and which operands have them
    for d in range(rank):
        if shape[d] == 1:
            continue
        has = [view.shape[d] > 1 for view in views]
        if groups and groups[-1][1] == has:
            groups[-1][0].append(d)
        else:
            groups.append(([d], has))
    if len(groups) <= 1:
        one = [
            OperandPart.ELEMENTS if groups and has else OperandPart.NUMBER
            for has in _which_have(groups, views)
        ]
        return Grid((1, 1, math.prod(shape)), one, [view.flatten() for view in views])
    *outer, across, along = groups
    rows, columns = (math.prod(shape[d] for d in dims) for dims, _ in (across, along))
    matrices = math.prod(shape[d] for dims, _ in outer for d in dims)
    parts, made = [], []
    for n, view in enumerate(views):
        has_rows, has_columns = across[1][n], along[1][n]
        parts.append(_PARTS[has_rows, has_columns])
        for dims, has in outer:
            if not has[n]:
                for d in dims:
                    view = view.broadcast(shape[d], d)
        sizes = [size for size, some in ((rows, has_rows), (columns, has_columns)) if some]
        made.append(view.reshape((matrices, *sizes)))
    return Grid((matrices, rows, columns), parts, made)


def _which_have(groups: list[tuple[list[int], list[bool]]], views: list[Tensor]) -> list[bool]:
    """Return which operands have the only joined dimension; none if there is no such dimension."""
    return groups[0][1] if groups else [False] * len(views)


_PARTS = {
    (True, True): OperandPart.ROWS,
    (True, False): OperandPart.COLUMN,
    (False, True): OperandPart.ROW,
    (False, False): OperandPart.NUMBER,
}
"""The part of an operand, keyed by whether it has the dimensions of rows and of columns."""


def broadcast_to(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor broadcast to a shape as in NumPy."""
    view = tensor.reshape((1,) * (len(shape) - tensor.rank) + tensor.shape)
    for d, size in enumerate(shape):
        if view.shape[d] != size:
            view = view.broadcast(size, d)
    return view
