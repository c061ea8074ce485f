"""The compute set for a map: an elementwise expression, computed where its result is mapped.

Dimensions of the result are joined if all operands traverse them in the same way. The result is
then a vector or a list of matrices, and each operand has rows, one row, one column, or one number
for each matrix::

    (x - b) * c      x (10000, 1000)    b (1000,)     c (10000, 1)
                     rows               one row       a column
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from poplite import cost
from poplite.arrays.intervals import Int64
from poplite.expr.tree import ElementClass, Leaf, Shape
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.placement import Cuts, Mappings, Rects, cuts, grain_of, held, rects
from poplite.ops.fuse.pricing import (
    KINDS,
    HeldShare,
    ReadOperand,
    VectorReads,
    gathering_cycles,
    held_elements,
    steps_of,
)
from poplite.ops.fuse.recipe import MapRecipe, OperandPart, Straight, straight
from poplite.program import Copy
from poplite.program.recording import Recorder
from poplite.vertices.estimators import MapOperation, least_slots, map_slots


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
