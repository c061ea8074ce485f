"""poputil: mappings, operands that are broadcast, copies.

Where a C++ function changes its arguments, the one here returns what they become.

Source: PopLibs, `poputil/TileMapping.hpp`, `poputil/Broadcast.hpp`, `poputil/Util.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.errors import TensorCreationError, TensorIndexError
from poplite.graph.graph import Graph
from poplite.graph.partition import map_linearly
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Copy, Sequence as Steps
from poplite.source import here
from poplite.types import ElementTypeLike

_VECTOR_BYTES, _LEAST_BYTES = 8, 128
"""What one load of a tile takes, and what a tile has at least of a small tensor."""


def mapTensorLinearly(
    graph: Graph,
    t: Tensor,
    min_elements_per_tile: int | None = None,
    grain_size: int | None = None,
) -> None:
    """Spread elements in order over all tiles, `poputil::mapTensorLinearly`.

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
    size = t.element_type.size_bytes
    least = -(-_LEAST_BYTES // size) if min_elements_per_tile is None else min_elements_per_tile
    grain = max(1, _VECTOR_BYTES // size) if grain_size is None else grain_size
    map_linearly(graph, t, grain=grain, min_elements=least)


def createBroadcastOperand(
    graph: Graph,
    full_tensor: Tensor,
    element_type: ElementTypeLike,
    dim: int,
    dither_mapping: bool = False,
    name: str = "",
) -> Tensor:
    """Return a new tensor that is broadcast along all dimensions of another one but `dim`.

    Each element lies on the tile of the first element that it meets, for
    `poputil::createBroadcastOperand`, where PopLibs may choose another tile that has one; with
    `dither_mapping` the elements are spread linearly over all tiles.

    Raises:
        TensorIndexError: for a dimension that the tensor does not have.
        InvalidTileMapping: where the tensor has elements without a tile.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    >>> bias = createBroadcastOperand(graph, x, pl.FLOAT, 0)
    >>> graph.tile_mapping(bias).tiles.tolist()
    [0, 1, 2, 3]
    """
    if not 0 <= dim < full_tensor.rank:
        raise TensorIndexError(
            f"poputil.createBroadcastOperand: dimension {dim} of '{full_tensor.name}', "
            f"which has {full_tensor.rank}",
            at=here(),
            fix=f"a dimension from 0 to {full_tensor.rank - 1}",
        )
    made = graph.add_variable(element_type, (full_tensor.shape[dim],), name)
    if dither_mapping or not full_tensor.num_elements:
        mapTensorLinearly(graph, made)
        return made
    size = full_tensor.shape[dim]
    first = full_tensor.dim_roll(dim, 0).reshape((size, full_tensor.num_elements // size))[:, 0]
    graph.set_tile_mapping(made, graph.tile_mapping(first))
    return made


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
    other = b.shape if isinstance(b, Tensor) else tuple(b)
    shape = _common(a.shape, other)
    if isinstance(b, Tensor):
        return _stretched(a, shape), _stretched(b, shape)
    if shape != other:
        raise _unfit(a.shape, other)
    return _stretched(a, shape)


def canBroadcastToMatch(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors can be stretched to one shape."""
    try:
        _common(a.shape, b.shape)
    except TensorCreationError:
        return False
    return True


def duplicate(graph: Graph, in_: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record a copy to a new tensor on the same tiles, `poputil::duplicate`."""
    made = graph.clone(in_, debug_context or f"{in_.name}/duplicate")
    prog.add(Copy(in_, made))
    return made


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise _unfit(one, other) from None


def _unfit(one: tuple[int, ...], other: tuple[int, ...]) -> TensorCreationError:
    return TensorCreationError(
        f"poputil.broadcastToMatch: shapes {one} and {other}",
        at=here(),
        found="shapes are aligned at the last dimension, and sizes are equal, or 1",
    )


def _stretched(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    t = t.reshape((1,) * (len(shape) - t.rank) + t.shape)
    for dim, size in enumerate(shape):
        if t.shape[dim] != size:
            t = t.broadcast(size, dim)
    return t
