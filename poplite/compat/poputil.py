"""poputil: mappings, operands that are broadcast, copies.

Where a C++ function changes its arguments, the one here returns what they become.

Source: PopLibs, `poputil/TileMapping.hpp`, `poputil/Broadcast.hpp`, `poputil/Util.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Interval
from poplite.compat.arguments import bound, checked, library_codelets as _library_codelets, sizes_of
from poplite.compat.placing import dithered, linear_mapping, mapping_by_use, part_ends
from poplite.errors import TensorCreationError, TensorIndexError
from poplite.graph.graph import Graph
from poplite.graph.partition import checked_regions, cut_regions
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.fuse.placement import grain_of
from poplite.poplar.absent import shown as _shown
from poplite.program import Copy, Sequence as Steps
from poplite.program.recording import target
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
"""What a tile has at least of a small tensor."""


@checked("poputil")
def mapTensorLinearly(
    graph: Graph,
    t: Tensor,
    min_elements_per_tile: int | None = None,
    grain_size: int | None = None,
) -> None:
    """Spread elements in order over tiles, `poputil::mapTensorLinearly`.

    As few tiles are used as keep the fullest one as small as it can be, see `splitRegions`.

    Args:
        graph: of the tensor, or a virtual graph of it.
        t: any view.
        min_elements_per_tile: by default 128 bytes of them.
        grain_size: elements that stay together; by default what one load of a tile takes.

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
    """Spread elements in order over tiles from another one on; they wrap around at the last.

    `poputil::mapTensorLinearlyWithOffset`, in both forms.

    Args:
        graph: of the tensor, or a virtual graph of it.
        t: any view.
        offset: the tile of the first elements, counted from the last tile if not ascending.
        ascending: whether tile numbers rise.
        min_elements_per_tile: by default 128 bytes of them; in order, as in C++, this and the
            grain size come before the offset.
        grain_size: elements that stay together; by default what one load of a tile takes.

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

    Parts are of whole grains, and there are as few of them as keep the largest one as small as it
    can be: of 4 grains for at most 3 parts each has 2.

    Args:
        regions: intervals of elements, `(begin, end)`.
        grain_size: number of elements that stay together, counted along all intervals.
        max_partitions: the largest number of parts.
        min_elements_per_partition: minimum number of elements of a part, as far as there are
            enough; 0 for any.

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
    """Return a new tensor that is broadcast along all dimensions of another one but `dim`.

    Elements are shared evenly among the tiles that use them, `poputil::createBroadcastOperand`;
    with `dither_mapping` all tiles are moved on, by a number that follows from the shape.

    Raises:
        TensorIndexError: for a dimension that the tensor does not have.
        InvalidTileMapping: where the tensor has elements without a tile.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (4, 8), "x", mapping="linear")
    >>> bias = createBroadcastOperand(graph, x, pl.FLOAT, 1)
    >>> graph.tile_mapping(bias).tiles.tolist()
    [0, 1, 2, 3]
    """
    if not 0 <= dim < full_tensor.rank:
        raise TensorIndexError(
            f"poputil.createBroadcastOperand: dimension {dim} of '{full_tensor.name}', "
            f"which has {full_tensor.rank}",
            fix=f"a dimension from 0 to {full_tensor.rank - 1}",
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
    """Return two tensors stretched to one shape by NumPy's rule; or one, to a shape.

    Raises:
        TensorCreationError: when the shapes do not go together.

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
    """Return whether two tensors can be stretched to one shape."""
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
        f"poputil.broadcastToMatch: shapes {one} and {other}",
        found="shapes are aligned at the last dimension, and sizes are equal, or 1",
    )


def _stretched(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    t = t.reshape((1,) * (len(shape) - t.rank) + t.shape)
    for dim, size in enumerate(shape):
        if t.shape[dim] != size:
            t = t.broadcast(size, dim)
    return t
