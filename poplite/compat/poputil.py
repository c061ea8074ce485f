"""poputil: mappings, broadcast operands, copies.

Where a C++ function changes its arguments, the one here returns the new values.

Source: PopLibs, `poputil/TileMapping.hpp`, `poputil/Broadcast.hpp`, `poputil/Util.hpp`;
`popops::createOutputForElementWiseOp` and `poputil::TensorUseTracker` for the mappings of results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

from poplite.arrays.intervals import Int64, Interval
from poplite.compat.arguments import bound, checked, library_codelets as _library_codelets, sizes_of
from poplite.errors import InvalidOption, TensorCreationError, TensorIndexError
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.partitioners import checked_regions, cut_regions
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.maps import grain_of
from poplite.poplar.absent import shown as _shown
from poplite.program import Copy, Sequence as Steps
from poplite.program.recording import target
from poplite.text import clipped, integer_or_none
from poplite.types import ElementTypeLike

__all__ = _shown(
    globals(),
    """
    addCodelets broadcastToMatch canBroadcastToMatch createBroadcastOperand duplicate
    mapTensorLinearly mapTensorLinearlyWithOffset splitRegions splitRegionsBetweenWorkers
    """,
    "poputil",
)


addCodelets = _library_codelets("poputil")


_LEAST_BYTES = 128
"""Minimum number of bytes of a small tensor on each of its tiles."""


@checked("poputil")
def mapTensorLinearly(
    graph: Graph,
    t: Tensor,
    min_elements_per_tile: int | None = None,
    grain_size: int | None = None,
) -> None:
    """Spread elements in order over tiles, `poputil::mapTensorLinearly`.

    The fewest tiles are used that minimise the largest part, see `splitRegions`.

    Args:
        graph: the graph of the tensor, or a virtual graph of it.
        t: any view.
        min_elements_per_tile: by default, the number of elements that fill 128 bytes.
        grain_size: parts are cut at multiples of this number; by default, the number of elements
            that a tile loads at once.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=8))
    >>> t = graph.add_variable(pl.FLOAT, (64,), "t")
    >>> mapTensorLinearly(graph, t)
    >>> graph.tile_mapping(t).tiles.tolist()
    [0, 1]
    """
    least, grain = min_elements_per_tile, grain_size
    mapTensorLinearlyWithOffset(graph, t, min_elements_per_tile=least, grain_size=grain)


@bound("poputil")
def mapTensorLinearlyWithOffset(
    graph: Graph,
    t: Tensor,
    offset: int = 0,
    ascending: bool = True,
    *,
    min_elements_per_tile: int | None = None,
    grain_size: int | None = None,
) -> None:
    """Spread elements in order over tiles, starting at a given tile and wrapping around.

    `poputil::mapTensorLinearlyWithOffset`, in both forms.

    Args:
        graph: the graph of the tensor, or a virtual graph of it.
        t: any view.
        offset: the tile of the first elements, counted from the last tile if not ascending.
        ascending: whether tile numbers ascend.
        min_elements_per_tile: by default, the number that fills 128 bytes; as positional arguments,
            this and the grain size come before the offset, as in C++.
        grain_size: parts are cut at multiples of this number; by default, the number of elements
            that a tile loads at once.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=8))
    >>> t = graph.add_variable(pl.FLOAT, (64,), "t")
    >>> mapTensorLinearlyWithOffset(graph, t, 7)
    >>> graph.tile_mapping(t)[0]
    [Interval(begin=32, end=64)]
    """
    least, grain, element = min_elements_per_tile, grain_size, t.element_type
    least = -(-_LEAST_BYTES // element.size_bytes) if least is None else least
    grain = grain_of(element) if grain is None else grain
    tiles, size = graph.target.tiles, t.num_elements
    mapping = linear_mapping(tiles, size, grain, least, offset, ascending=ascending)
    graph.set_tile_mapping(t, mapping)


@checked("poputil")
def splitRegions(
    regions: Sequence[tuple[int, int]],
    grain_size: int,
    max_partitions: int,
    min_elements_per_partition: int = 0,
) -> list[list[Interval]]:
    """Return intervals cut into parts of nearly equal size, `poputil::splitRegions`.

    Parts consist of whole grains, and there are as few as possible without enlarging the largest:
    4 grains in at most 3 parts give 2 parts of 2 grains.

    Args:
        regions: intervals of elements, `(begin, end)`.
        grain_size: parts are cut at multiples of this number, counted along all intervals.
        max_partitions: the largest number of parts.
        min_elements_per_partition: minimum number of elements of a part, if there are enough; 0
            for no minimum.

    Returns:
        The intervals of each part; no part is empty.

    Raises:
        InvalidOption: for a number that is not positive; the minimum may be 0.

    >>> splitRegions([(0, 8)], 2, 3)
    [[Interval(begin=0, end=4)], [Interval(begin=4, end=8)]]
    """
    held = checked_regions("poputil.splitRegions", regions)
    size = sum(end - begin for begin, end in held)
    least = min_elements_per_partition
    ends = part_ends("splitRegions", size, grain_size, max_partitions, least)
    return cut_regions(held, ends)


@checked("poputil")
def splitRegionsBetweenWorkers(
    target: Target,
    regions: Sequence[tuple[int, int]],
    grain_size: int,
    min_elements_per_partition: int = 0,
) -> list[list[Interval]]:
    """Return intervals cut into a part for each worker, `poputil::splitRegionsBetweenWorkers`.

    >>> import poplite as pl
    >>> len(splitRegionsBetweenWorkers(pl.Target(), [(0, 100)], 2))
    6
    """
    return splitRegions(regions, grain_size, target.workers, min_elements_per_partition)


@checked("poputil")
def createBroadcastOperand(
    graph: Graph,
    full_tensor: Tensor,
    element_type: ElementTypeLike,
    dim: int,
    dither_mapping: bool = False,
    name: str = "",
) -> Tensor:
    """Return a new vector, to be broadcast along all dimensions of a tensor except `dim`.

    Elements are divided evenly among the tiles that use them, `poputil::createBroadcastOperand`;
    with `dither_mapping` all tiles are shifted by a number derived from the shape.

    Raises:
        TensorIndexError: for a dimension that the tensor does not have.
        InvalidTileMapping: if the tensor has elements without a tile.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (4, 8), "x", mapping="linear")
    >>> bias = createBroadcastOperand(graph, x, pl.FLOAT, 1)
    >>> graph.tile_mapping(bias).tiles.tolist()
    [0, 1, 2, 3]
    """
    if not 0 <= dim < full_tensor.rank:
        raise TensorIndexError(
            f"poputil.createBroadcastOperand: there is no dimension {dim} in "
            f"'{full_tensor.name}', which has {full_tensor.rank}",
            fix=f"pass a dimension from 0 to {full_tensor.rank - 1}",
        )
    made = graph.add_variable(element_type, (full_tensor.shape[dim],), name)
    if not full_tensor.num_elements:
        mapTensorLinearly(graph, made)
        return made
    mapping = mapping_by_use(graph, full_tensor, dim, made.element_type)
    mapping = dithered(mapping, full_tensor.shape) if dither_mapping else mapping
    graph.set_tile_mapping(made, mapping)
    return made


@checked("poputil")
def broadcastToMatch(a: Tensor, b: Tensor | Sequence[int]) -> tuple[Tensor, Tensor] | Tensor:
    """Return two tensors broadcast to a common shape by NumPy's rule, or one to a given shape.

    Raises:
        TensorCreationError: if the shapes are not compatible.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = (graph.add_variable(pl.FLOAT, s, "x") for s in ((4, 1), (3,)))
    >>> [each.shape for each in broadcastToMatch(x, y)]
    [(4, 3), (4, 3)]
    """
    other = b.shape if isinstance(b, Tensor) else sizes_of("poputil.broadcastToMatch", "b", b)
    shape = _common(a.shape, other)
    if isinstance(b, Tensor):
        return _stretched(a, shape), _stretched(b, shape)
    if shape != other:
        raise _unfit(a.shape, other)
    return _stretched(a, shape)


@checked("poputil")
def canBroadcastToMatch(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors can be broadcast to a common shape."""
    try:
        _common(a.shape, b.shape)
    except TensorCreationError:
        return False
    return True


@checked("poputil")
def duplicate(graph: Graph, in_: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record a copy to a new tensor on the same tiles, `poputil::duplicate`."""
    steps = target(graph, prog, "poputil.duplicate(graph, in_, prog)")
    made = graph.clone(in_, debug_context or f"{in_.name}/duplicate")
    steps.add(Copy(in_, made))
    return made


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise _unfit(one, other) from None


def _unfit(one: tuple[int, ...], other: tuple[int, ...]) -> TensorCreationError:
    return TensorCreationError(
        f"poputil.broadcastToMatch: shapes {one} and {other} cannot be broadcast",
        found="shapes are aligned at the last dimension, and sizes must be equal, or 1",
    )


def _stretched(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    t = t.reshape((1,) * (len(shape) - t.rank) + t.shape)
    for dim, size in enumerate(shape):
        if t.shape[dim] != size:
            t = t.broadcast(size, dim)
    return t


# -- mappings --------------------------------------------------------------------------------------


def part_ends(what: str, size: int, grain: int, most: int, least: int) -> Int64:
    """Return the ends of parts of nearly equal size, the fewest that minimise the largest part."""
    numbers = {"grain": grain, "parts": most, "minimum": least}
    for name, number in numbers.items():
        if integer_or_none(number) is None or number < (name != "minimum"):
            raise InvalidOption(
                f"poputil.{what}: {name} is {clipped(number)}",
                found=", ".join(f"{each} {clipped(n)}" for each, n in numbers.items()),
                fix="pass whole numbers of at least 1; the minimum may be 0",
            )
    grain = min(grain, max(1, size))
    grains = -(-size // grain)
    largest = -(-grains // most)
    if least:
        largest = max(largest, -(-grains // max(1, grains // -(-least // grain))))
    parts = -(-grains // max(1, largest))
    return np.minimum(np.arange(1, parts + 1) * grains // max(1, parts) * grain, size)


def linear_mapping(
    tiles: int, size: int, grain: int, least: int, offset: int = 0, *, ascending: bool = True
) -> TileMapping:
    """Return a mapping of elements in order, starting at a tile and wrapping around."""
    ends = part_ends("mapTensorLinearly", size, grain, tiles, least)
    tile = (np.arange(len(ends)) + offset % tiles) % tiles
    tile = tile if ascending else tiles - 1 - tile
    return TileMapping(tiles, tile, np.diff(ends, prepend=0))


def output_mapping(graph: Graph, inputs: Iterable[object], result: Tensor | Expr) -> TileMapping:
    """Return the mapping of the result of an elementwise function, a tensor or an expression.

    It is the mapping of the input whose fullest tile has the fewest elements; ties go to the input
    on the most tiles, then to the one with the fewest pieces. Inputs that are broadcast, or contain
    an element twice, are not considered.
    """
    tensors = [each for each in inputs if isinstance(each, Tensor)]
    sized = [each for each in tensors if each.shape == result.shape]
    chosen = [each for each in sized if not each.contains_aliases()]
    if not chosen and sized and sized[0].num_elements == 1:
        chosen = sized[:1]
    if chosen:
        found = [graph.tile_mapping(each) for each in chosen]
        return min(
            found,
            key=lambda mapping: (
                mapping.elements_per_tile.max(initial=0),
                -len(mapping.tiles),
                len(mapping.begin),
            ),
        )
    grain = grain_of(result.element_type)
    return linear_mapping(graph.target.tiles, result.num_elements, grain, 0)


def mapping_by_use(graph: Graph, full: Tensor, dim: int, element: ElementClass) -> TileMapping:
    """Return the mapping of a vector that is broadcast along all dimensions of a tensor but one.

    Elements are divided among the tiles that use them; adjacent ranges with a tile in common are
    divided among the tiles of both.
    """
    size = full.shape[dim]
    mapping = graph.tile_mapping(full.dim_roll(dim, full.rank - 1))
    tile = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    groups: dict[tuple[int, ...], list[Interval]] = {}
    for low, high, users in _joined(_uses(tile, mapping.begin, mapping.end, size)):
        groups.setdefault(tuple(sorted(users)), []).append(Interval(low, high))
    owner = np.zeros(size, np.int64)
    for tiles, held in groups.items():
        count = sum(end - begin for begin, end in held)
        ends = part_ends("createBroadcastOperand", count, grain_of(element), len(tiles), 0)
        for each, part in zip(tiles, cut_regions(held, ends), strict=False):
            for begin, end in part:
                owner[begin:end] = each
    return TileMapping(len(mapping), owner, np.ones(size, np.int64))


def dithered(mapping: TileMapping, shape: Sequence[int]) -> TileMapping:
    """Return a mapping whose tiles are shifted by a number derived from a shape."""
    tiles = len(mapping)
    by = crc32(str(tuple(shape)).encode())
    return mapping.renumbered((np.arange(tiles) + by) % tiles, tiles)


def _uses(tile: Int64, begin: Int64, end: Int64, size: int) -> list[tuple[int, int, set[int]]]:
    """Return ranges of the vector that the same tiles use, in order; positions wrap at `size`."""
    changes: dict[int, list[tuple[int, int]]] = {0: []}
    for at, first, last in zip(tile.tolist(), begin.tolist(), end.tolist(), strict=True):
        low, high = first % size, (last - 1) % size + 1
        whole = last - first >= size
        ranges = [(0, size)] if whole else [(low, high)] if low < high else [(low, size), (0, high)]
        for each, stop in ranges:
            changes.setdefault(each, []).append((at, 1))
            changes.setdefault(stop, []).append((at, -1))
    counts: dict[int, int] = {}
    found = []
    breaks = sorted({*changes, size})
    for low, high in zip(breaks[:-1], breaks[1:], strict=True):
        for at, by in changes.get(low, ()):
            counts[at] = counts.get(at, 0) + by
            if not counts[at]:
                del counts[at]
        found.append((low, high, set(counts)))
    return found


def _joined(uses: list[tuple[int, int, set[int]]]) -> list[tuple[int, int, set[int]]]:
    """Merge adjacent ranges that have a user in common, and their users."""
    found: list[tuple[int, int, set[int]]] = []
    for low, high, users in uses:
        if found and found[-1][2] & users:
            begin, _, before = found[-1]
            found[-1] = begin, high, before | users
        else:
            found.append((low, high, users))
    return found
