"""Spreading tensors in other ways than linearly, and splitting what a tile has among its workers.

    map_round_robin     0 1 2 3 0 1 2 3 0    grains are dealt out
    map_by_weights      0 0 0 0 1 1 2 3 3    tiles have about equal weight
    map_like            as another tensor lies

    split_among_workers     of each tile, the intervals of each worker, by split_regions

Source: PopLibs `poputil::splitRegions` for how regions are split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index as whole_number
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, Interval
from poplite.arrays.masked import unmasked
from poplite.errors import ElementTypeError, InvalidTileMapping, TensorCreationError, checked_items
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.partition import check_counts, check_pair, is_count, spread
from poplite.graph.tensor.tensor import Tensor
from poplite.text import amount, clipped, integer_or_none, items_or_none, of_type


def map_round_robin(graph: Graph, tensor: Tensor, *, grain: int = 1, first: int = 0) -> None:
    """Deal the flattened elements of a tensor out to all tiles in turn.

    Work that grows or shrinks along a tensor is spread evenly so; but neighbours are on different
    tiles.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view.
        grain: number of elements that a tile gets at a time.
        first: the tile that gets the first ones.

    Raises:
        TensorCreationError: when `grain` is no positive integer.
        InvalidTileMapping: for a first tile that the graph does not have.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=3))
    >>> x = graph.add_variable(pl.FLOAT, (10,), "x")
    >>> map_round_robin(graph, x, grain=2)
    >>> graph.tile_mapping(x)[0]
    [Interval(begin=0, end=2), Interval(begin=6, end=8)]
    """
    check_pair("map_round_robin", graph, tensor)
    check_counts(tensor, grain=grain)
    number = integer_or_none(first)
    if number is None or not 0 <= number < graph.target.tiles:
        raise InvalidTileMapping(
            f"map_round_robin: tile {clipped(first)} of {amount(graph.target.tiles, 'tile')}",
            fix=f"first from 0 to {graph.target.tiles - 1}",
        )
    size, step = tensor.num_elements, whole_number(grain)
    begin = np.arange(0, size, step)
    tile = (number + np.arange(len(begin))) % graph.target.tiles
    length = np.minimum(begin + step, size) - begin
    graph.set_tile_mapping(tensor, TileMapping(graph.target.tiles, tile, length))


def map_by_weights(graph: Graph, tensor: Tensor, weights: npt.ArrayLike, *, dim: int = 0) -> None:
    """Spread the indices of a dimension in order, so that tiles have about equal weight.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view of rank 1 or more.
        weights: what each index weighs, such as the elements of a row of a sparse matrix: as many
            as the dimension has, not negative. No tile gets more than its share and the largest
            weight. Without any weight indices are spread evenly.
        dim: the dimension; negative ones count from the last.

    Raises:
        TensorCreationError: for other weights, or a tensor without that dimension.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (4, 10), "x")
    >>> map_by_weights(graph, x, [5, 1, 1, 3])
    >>> graph.tile_mapping(x)[0]
    [Interval(begin=0, end=10)]
    """
    check_pair("map_by_weights", graph, tensor)
    number = integer_or_none(dim)
    if number is None or not -tensor.rank <= number < tensor.rank:
        raise TensorCreationError(
            f"map_by_weights: dimension {clipped(dim)} of '{tensor.name}', which has {tensor.rank}",
            found=f"shape {tensor.shape}",
        )
    size, weight = tensor.shape[number], _weights(weights)
    if weight.shape != (size,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise TensorCreationError(
            f"map_by_weights: weights of shape {weight.shape} for the {size} indices of dimension "
            f"{dim} of '{tensor.name}'",
            found=f"the least weight is {weight.min(initial=np.inf)}",
            fix=f"{size} finite numbers of at least 0",
        )
    if not weight.any():
        weight = np.ones(size)
    middle = np.cumsum(weight) - weight / 2  # an index goes where its middle falls
    tiles = graph.target.tiles
    tile = np.minimum((middle * tiles / weight.sum()).astype(np.int64), tiles - 1)
    each = tensor.num_elements // max(size, 1)
    rows = tensor.dim_roll(number % tensor.rank, 0)
    graph.set_tile_mapping(rows, TileMapping(tiles, tile, np.full(size, each)))


def _weights(weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return numbers, or none where weights are no numbers."""
    unmasked(weights, "map_by_weights")
    try:
        given = np.asarray(weights)
        if given.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        return np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TensorCreationError(
            f"map_by_weights: weights are {clipped(weights)}",
            found=str(error),
            fix="numbers of at least 0, one for each index",
        ) from error


def map_like(graph: Graph, tensor: Tensor, other: Tensor) -> None:
    """Put each element of a tensor on the tile of the element of another one.

    Args:
        graph: the graph of both, or a virtual graph of it.
        tensor: any view.
        other: of the same shape, or one that NumPy's rule broadcasts to it; with a tile for each
            element.

    Raises:
        TensorCreationError: for another shape.
        InvalidTileMapping: for elements without a tile.
        ElementTypeError: for anything but a graph and tensors.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear")
    >>> y = graph.add_variable(pl.HALF, (2, 3), "y")
    >>> map_like(graph, y, x)
    >>> graph.tile_mapping(y) == graph.tile_mapping(x)
    True
    """
    check_pair("map_like", graph, tensor)
    check_pair("map_like", graph, other)
    sizes = (1,) * (tensor.rank - other.rank) + other.shape
    fits = len(sizes) == tensor.rank and all(
        size in (1, wide) for size, wide in zip(sizes, tensor.shape, strict=True)
    )
    if not fits:
        raise TensorCreationError(
            f"map_like: '{other.name}' has shape {other.shape}, '{tensor.name}' {tensor.shape}",
            fix=f"a tensor of shape {tensor.shape}, or one that is broadcast to it",
        )
    wide = other.reshape(sizes)
    for dim, size in enumerate(tensor.shape):
        if sizes[dim] != size:
            wide = wide.broadcast(size, dim)
    graph.set_tile_mapping(tensor, graph.tile_mapping(wide))


def split_regions(
    regions: Iterable[tuple[int, int]], parts: int, *, grain: int = 1, min_elements: int = 1
) -> list[list[Interval]]:
    """Cut intervals into parts of nearly equal size, in order.

    Args:
        regions: intervals of elements, `(begin, end)`.
        parts: the largest number of parts.
        grain: number of elements that stay together, counted along all intervals.
        min_elements: minimum number of elements of a part, as far as there are enough.

    Returns:
        The intervals of each part; no part is empty.

    Raises:
        TensorCreationError: when `parts`, `grain` or `min_elements` is no positive integer.

    >>> split_regions([(0, 5), (8, 11)], 2)
    [[Interval(begin=0, end=4)], [Interval(begin=4, end=5), Interval(begin=8, end=11)]]
    """
    counts = {"parts": parts, "grain": grain, "min_elements": min_elements}
    if not all(map(is_count, counts.values())):
        raise TensorCreationError(
            "split_regions: " + ", ".join(f"{name}={clipped(n)}" for name, n in counts.items()),
            fix="all of them are at least 1",
        )
    held = checked_regions("split_regions", regions)
    size = sum(end - begin for begin, end in held)
    _, high, _ = spread(size, parts, grain=grain, min_elements=min_elements)
    return cut_regions(held, high)


def checked_regions(what: str, regions: object) -> list[tuple[int, int]]:
    """Return intervals of elements without those that are empty, or raise.

    >>> checked_regions("split_regions", [(0, 5), (8, 8)])
    [(0, 5)]
    """
    fix = "a list of intervals, such as [(0, 4), (6, 8)]"
    listed = [items_or_none(each) for each in checked_items(regions, f"{what}: regions", fix)]
    pairs = [[integer_or_none(number) for number in each or ()] for each in listed]
    if any(len(pair) != 2 or None in pair for pair in pairs):
        raise ElementTypeError(
            f"{what}: regions is {clipped(regions)}", found=of_type(regions), fix=fix
        )
    return [(begin, end) for begin, end in pairs if end > begin]  # type: ignore[operator, misc]


def cut_regions(held: Sequence[tuple[int, int]], ends: Int64) -> list[list[Interval]]:
    """Return intervals cut into parts; `ends` count the elements of all intervals, in order."""
    stops = np.cumsum([end - begin for begin, end in held], dtype=np.int64)
    found: list[list[Interval]] = [[] for _ in ends]
    for begin, end in pairwise(sorted({0, *stops.tolist(), *ends.tolist()})):
        source = int(np.searchsorted(stops, begin, "right"))
        shift = held[source][1] - int(stops[source])
        part = int(np.searchsorted(ends, begin, "right"))
        found[part].append(Interval(begin + shift, end + shift))
    return found


class WorkerParts(NamedTuple):
    """What `split_among_workers` returns; one item for each worker that has elements.

    Attributes:
        tile: int64[n].
        worker: int64[n], from 0 on each tile.
        intervals: of each, over the flattened tensor.
    """

    tile: Int64
    worker: Int64
    intervals: list[list[Interval]]


def split_among_workers(
    graph: Graph, tensor: Tensor, *, grain: int = 1, min_elements: int = 1
) -> WorkerParts:
    """Cut what each tile has of a tensor into parts of nearly equal size, one for each worker.

    The parts are for `graph.add_vertices`::

        parts = pl.split_among_workers(graph, x, grain=2)
        graph.add_vertices(work, Scale, tile=parts.tile, x=x.flatten().slices(parts.intervals))

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view, all of whose elements have tiles.
        grain: number of elements that stay together.
        min_elements: minimum number of elements of a worker; small tensors then use fewer.

    Raises:
        TensorCreationError: when `grain` or `min_elements` is no positive integer.
        InvalidTileMapping: for elements without a tile.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, workers=3))
    >>> x = graph.add_variable(pl.FLOAT, (12,), "x", mapping="linear")
    >>> parts = split_among_workers(graph, x, grain=2)
    >>> parts.tile.tolist(), parts.worker.tolist(), parts.intervals[1]
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [Interval(begin=2, end=4)])
    """
    check_pair("split_among_workers", graph, tensor)
    mapping = graph.tile_mapping(tensor)
    tile: list[int] = []
    worker: list[int] = []
    intervals: list[list[Interval]] = []
    workers = graph.target.workers
    for number in mapping.tiles.tolist():
        parts = split_regions(mapping[number], workers, grain=grain, min_elements=min_elements)
        tile += [number] * len(parts)
        worker += range(len(parts))
        intervals += parts
    return WorkerParts(np.array(tile, np.int64), np.array(worker, np.int64), intervals)
