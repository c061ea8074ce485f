"""Where tensors lie, as users say it: what a hint may be, which is checked when it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poplite.errors import AxisError, InvalidTileMapping
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.named.axes.axes import Axes, missing
from poplite.named.axes.axis import Axis
from poplite.named.axes.changes import one_name
from poplite.named.ops.op import Op
from poplite.text import clipped, integer_or_none, of_type


def check_hint(what: str, axes: Axes, hint: Any) -> None:
    """Raise for a hint of a tensor that is none on any device.

    Raises:
        AxisError: for what is no hint, and for an axis that the tensor has not.
        InvalidTileMapping: for a tile below 0.
    """
    if hint is None or isinstance(hint, TileMapping) or _is_stored(hint):
        return
    if isinstance(hint, Mapping):
        check_by_axes(what, axes, hint)
        return
    tile = None if isinstance(hint, Op) else integer_or_none(hint)
    if tile is None or isinstance(hint, bool):
        raise AxisError(
            f"{what} {axes}: {clipped(hint)}",
            found=of_type(hint),
            fix="a tile, a pl.TileMapping, a named tensor, or what is done with its axes: "
            f'{{{one_name(axes)}: "tiles"}}, {{{one_name(axes)}: 4}}',
        )
    if tile < 0:
        raise InvalidTileMapping(
            f"{what}: tile {tile}", found=f"the axes are {axes}", fix="a tile from 0"
        )


def _is_stored(hint: Any) -> bool:
    return isinstance(hint, Op) and hint.holds_values


def check_by_axes(what: str, axes: Axes, hint: Mapping[Any, Any]) -> None:
    """Raise for a hint by axes that are not those of the tensor, or no cuts.

    Of a grid a tensor may lack an axis: it lies at the begin of that one.
    """
    for axis, count in hint.items():
        if not isinstance(axis, Axis):
            raise missing(what, axis, axes)
        if blocks_of(what, axis, count, 1) is None or axis in axes:
            continue
        if count == "tiles" or not any(each in axes for each in hint):
            raise missing(what, axis, axes)


def blocks_of(what: str, axis: Axis, count: Any, tiles: int) -> int | None:
    """Return into how many blocks a hint cuts an axis; None for one that is not cut."""
    number = tiles if isinstance(count, str) and count == "tiles" else integer_or_none(count)
    if count is not None and (number is None or number < 1 or isinstance(count, bool)):
        raise AxisError(
            f"{what}: axis '{axis.name}' in {clipped(count)} blocks",
            found=of_type(count),
            fix=f'{{{axis.name}: "tiles"}}, {{{axis.name}: 4}}, or None for one block',
        )
    return number
