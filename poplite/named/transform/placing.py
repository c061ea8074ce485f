"""Where named tensors lie: hints by axis, and the tile mapping that they come to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poplite.errors import AxisError, InvalidTileMapping
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axes import Axes, missing, some
from poplite.named.axes.axis import Axis
from poplite.source import here
from poplite.text import clipped, integer_or_none, of_type

LEAST_BYTES = 128
"""Bytes of a tile, at least, where a tensor is spread linearly. Source: PopLibs, the default of
`poputil::mapTensorLinearly`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """How a tensor is stored.

    Attributes:
        order: its axes as they are stored, the outermost first.
        mapping: of its elements in that order, as `graph.add_variable` takes it.
        why: the reason, for `explain()`.
    """

    order: Axes
    mapping: Any
    why: str


def placed(graph: Graph, axes: Axes, lengths: tuple[int, ...], element: int, hint: Any) -> Placed:
    """Return how a tensor is stored by a hint.

    Args:
        graph: whose tiles they are.
        axes: of the tensor.
        lengths: of them.
        element: bytes of an element.
        hint: None, a tile, a `TileMapping`, or a dictionary of axes.

    Raises:
        AxisError: for an axis that the tensor has not, and what is no hint.
        InvalidTileMapping: for tiles that are not there.
    """
    tiles = graph.target.tiles
    if hint is None:
        size = math.prod(lengths)
        per_tile = max(-(-size // tiles), LEAST_BYTES // element, 1)
        count = -(-size // per_tile)
        return Placed(axes, _blocks(tiles, size, per_tile), f"linear over {count} tiles")
    if isinstance(hint, TileMapping):
        return Placed(axes, hint, "as given")
    tile = integer_or_none(hint)
    if tile is not None and not isinstance(hint, bool):
        return Placed(axes, tile, f"on tile {tile}")
    if isinstance(hint, Mapping):
        return _by_axes(tiles, axes, lengths, hint)
    raise AxisError(
        f"a place for axes {axes}: {clipped(hint)}",
        at=here(),
        found=of_type(hint),
        fix='a tile, a pl.TileMapping, {H: "tiles"}, or {H: 4, W: 8}',
    )


def _blocks(tiles: int, size: int, per_tile: int) -> TileMapping:
    bounds = np.minimum(np.arange(-(-size // per_tile) + 1) * per_tile, size)
    return TileMapping(tiles, np.arange(len(bounds) - 1), np.diff(bounds))


def _by_axes(tiles: int, axes: Axes, lengths: tuple[int, ...], hint: Mapping[Axis, Any]) -> Placed:
    """Return a mapping by blocks of axes; the axes that are cut are stored outermost."""
    cuts: list[tuple[Axis, int]] = []
    grid = 1
    for axis, count in hint.items():
        if not isinstance(axis, Axis):
            raise missing("a place", axis, axes)
        if count is None:
            continue
        number = tiles if count == "tiles" else integer_or_none(count)
        if number is None or number < 1:
            raise AxisError(
                f"a place: axis '{axis.name}' in {clipped(count)} blocks",
                at=here(),
                found=of_type(count),
                fix=f'{{{axis.name}: "tiles"}}, {{{axis.name}: 4}}, or None for one block',
            )
        grid *= number
        cuts.append((axis, number))
    if grid > tiles:
        text = " x ".join(str(number) for _, number in cuts)
        raise InvalidTileMapping(
            f"a place of {text} = {grid:,} blocks on {tiles:,} tiles",
            at=here(),
            found=f"the axes are {axes}",
            fix="fewer blocks, or more tiles",
        )
    own = [axis for axis, _ in cuts if axis in axes]
    order = some([*(axes.own(axis) for axis in own), *(axes - some(own))])
    size = {axis.root: n for axis, n in zip(axes, lengths, strict=True)}
    tile = np.zeros([size[axis.root] for axis in own] or [1], np.int64)
    stride = grid
    for axis, number in cuts:
        stride //= number
        if axis not in axes:
            continue
        length = size[axis.root]
        per = max(1, -(-length // number))
        block = np.arange(length) // per
        shape = [1] * len(own)
        shape[own.index(axis)] = length
        tile = tile + (block * stride).reshape(shape)
    inner = math.prod(size[axis.root] for axis in order[len(own) :])
    flat = tile.reshape(-1)
    text = ", ".join(f"{axis.name} in {number}" for axis, number in cuts)
    return Placed(order, TileMapping(tiles, flat, np.full(len(flat), inner)), f"blocks of {text}")


def as_axes(tensor: Tensor, order: Axes, axes: Axes) -> Tensor:
    """Return a tensor that is stored in an order, in that of its axes."""
    if order == axes:
        return tensor
    return tensor.dim_shuffle([order.roots.index(root) for root in axes.roots])
