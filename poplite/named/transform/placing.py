"""Where named tensors lie: hints by axis, and the layout and tile mapping that they come to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poplite.errors import AxisError, InvalidTileMapping
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.named.axes.axes import Axes, some
from poplite.named.axes.axis import Axis
from poplite.named.description.layout import Layout, row_major
from poplite.named.ops.hints import blocks_of, check_by_axes
from poplite.text import amount, clipped, integer_or_none, of_type

LEAST_BYTES = 128
"""Bytes of a tile, at least, where a tensor is spread linearly. Source: PopLibs, the default of
`poputil::mapTensorLinearly`."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """How a tensor is stored.

    Attributes:
        layout: in which order its axes are stored, and with how much room.
        mapping: of its elements in that order, as `graph.add_variable` takes it.
        why: the reason, for `explain()`.
    """

    layout: Layout
    mapping: Any
    why: str


def placed(
    graph: Graph,
    name: str,
    axes: Axes,
    element: int,
    hint: Any,
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return how a tensor is stored by a hint.

    Args:
        graph: whose tiles they are.
        name: of the tensor.
        axes: of the tensor.
        element: bytes of an element.
        hint: None, a tile, a `TileMapping`, or a dictionary of axes.
        layout: that a user gave; None for one whose outermost axes are those that are cut.
        inner: the axis that is the innermost where there is a choice; None for the listed order.

    Raises:
        MissingAxisError: for an axis of another tensor's hint that this one has not.
        InvalidTileMapping: for tiles that are not there.
    """
    tiles = graph.target.tiles
    if hint is None:
        stored = layout or _layout(axes, [], inner)
        per_tile = max(-(-stored.size // tiles), LEAST_BYTES // element, 1)
        count = -(-stored.size // per_tile)
        why = f"linear over {amount(count, 'tile')}"
        return StoredTensor(stored, _blocks(tiles, stored.size, per_tile), why)
    if isinstance(hint, TileMapping):
        return StoredTensor(layout or row_major(axes), hint, "as given")
    tile = integer_or_none(hint)
    if tile is not None:
        return StoredTensor(layout or _layout(axes, [], inner), tile, f"on tile {tile}")
    return _by_axes(tiles, name, axes, hint, layout, inner)


def check_hints(hints: Mapping[Any, Any]) -> None:
    """Raise AxisError for hints of a transformer that are not by axis."""
    for axis, count in hints.items():
        if not isinstance(axis, Axis):
            raise AxisError(
                f"make_transformer: map has {clipped(axis)}, which is no axis",
                found=of_type(axis),
                fix='the axis itself: map={N: "tiles"}',
            )
        blocks_of("make_transformer: map", axis, count, 1)


def _layout(axes: Axes, cut: list[Axis], inner: Axis | None) -> Layout:
    """Return the layout that has the axes that are cut outermost, and one innermost."""
    outer = [axes.own(axis) for axis in cut]
    last = [axes.own(inner)] if inner is not None and inner not in some(outer) else []
    return Layout(some([*outer, *(axes - some(outer) - some(last)), *last])).by(axes)


def _blocks(tiles: int, size: int, per_tile: int) -> TileMapping:
    bounds = np.minimum(np.arange(-(-size // per_tile) + 1) * per_tile, size)
    return TileMapping(tiles, np.arange(len(bounds) - 1), np.diff(bounds))


def _by_axes(
    tiles: int,
    name: str,
    axes: Axes,
    hint: Mapping[Axis, Any],
    layout: Layout | None,
    inner: Axis | None,
) -> StoredTensor:
    """Return a mapping by blocks of axes."""
    cuts = _cuts(tiles, f"map of '{name}'", axes, hint)
    own = [axis for axis, _ in cuts if axis in axes]
    stored = layout or _layout(axes, own, inner)
    outer = 1 + max([stored.order.index(axis) for axis in own], default=-1)
    shape = stored.stored_shape
    tile = np.zeros(shape[:outer] or (1,), np.int64)
    stride = math.prod(number for _, number in cuts)
    for axis, number in cuts:
        stride //= number
        if axis not in axes:
            continue
        dim = stored.order.index(axis)
        length = axes.own(axis).known_length("a place")
        # What is room only lies with the last index.
        index = np.minimum(np.arange(shape[dim]), max(length - 1, 0))
        block = index // max(1, -(-length // number))
        tile = tile + (block * stride).reshape([-1 if d == dim else 1 for d in range(outer)])
    flat = tile.reshape(-1)
    text = ", ".join(f"{axis.name} in {number}" for axis, number in cuts)
    mapping = TileMapping(tiles, flat, np.full(len(flat), math.prod(shape[outer:])))
    return StoredTensor(stored, mapping, f"blocks of {text}")


def _cuts(tiles: int, what: str, axes: Axes, hint: Mapping[Axis, Any]) -> list[tuple[Axis, int]]:
    """Return into how many blocks a hint cuts which axes."""
    check_by_axes(what, axes, hint)  # those of another tensor, where that is the hint
    cuts: list[tuple[Axis, int]] = []
    for axis, count in hint.items():
        number = blocks_of(what, axis, count, tiles)
        if number is not None:
            cuts.append((axis, number))
    grid = math.prod(number for _, number in cuts)
    if grid > tiles:
        text = " x ".join(str(number) for _, number in cuts)
        raise InvalidTileMapping(
            f"{what}: {text} = {grid:,} blocks on {tiles:,} tiles",
            found=f"the axes are {axes}",
            fix="fewer blocks, or more tiles",
        )
    return cuts
