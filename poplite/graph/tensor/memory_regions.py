"""Regions of a tensor in the order of memory, for all tiles together or for each tile.

Work on a tile is divided by ranges of its memory, not of the tensor. A *group* is a list of
intervals of the flattened tensor that together, one after the other, are one contiguous range of
memory::

    t = x.T, x of shape (2, 3)          memory    0 1 2 3 4 5
                                        t         0 2 4 1 3 5
    graph.sorted_contiguous_regions(t)  one group of the intervals [0, 1) [2, 3) [4, 5) [1, 2) ...

Groups and their intervals are arrays (compressed rows), never a list for each group.

Semantics: Poplar API reference, `Graph::getSortedContiguousRegions`; for its use, see
`ContiguousRegionsByTile` in PopLibs' `popops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64, place, strided_text
from poplite.arrays.on_access import LikeList, OnAccess
from poplite.errors import ElementTypeError, checked_truth, made_by
from poplite.graph.mapping.tile_mapping import NO_TILE
from poplite.graph.tensor.indexing import is_sequence, no_interval
from poplite.graph.tensor.placement import complete_mapping
from poplite.graph.tensor.slices import slices_of
from poplite.text import amount, clipped, of_type
from poplite.view import Cat, Intervals, View, contains_aliases, storages
from poplite.view.address_sets import AddressRuns, Part, ranges_of
from poplite.view.memory_order import (
    ANYWHERE,
    FARTHEST,
    FEW,
    MemoryOrder,
    alias_order,
    memory_order,
)

if TYPE_CHECKING:
    from poplite.graph.storage.space import Space
    from poplite.graph.storage.tile_numbers import TileNumbers
    from poplite.graph.tensor.tensor import Tensor


@made_by("graph.sorted_contiguous_regions(tensor, intervals)")
class SortedRegions(LikeList[Intervals]):
    """Groups of intervals, each one contiguous range of memory; equal to a nested list.

    Attributes:
        ptr: int64[groups + 1]; the intervals of group `g` are `ptr[g]` to `ptr[g + 1]`.
        begin: int64[n], first elements of the intervals.
        length: int64[n], numbers of elements of the intervals; read-only.
        aliases: int64[n], for each interval the begin of the first interval with the same
            memory; None unless requested.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.FLOAT, (2, 2), "x")
    >>> graph.sorted_contiguous_regions(x.T)
    <SortedRegions 4 elements, 1 group, 4 intervals: [0, 1) 2 times every 2, 2 times every 1>
    """

    __slots__ = ("aliases", "begin", "length", "ptr")

    def __init__(
        self, ptr: Int64, begin: Int64, length: Int64, aliases: Int64 | None = None
    ) -> None:
        self.ptr = ptr
        self.begin = begin
        self.length = length
        self.aliases = aliases

    @property
    def intervals(self) -> Int64:
        """Begin and end of all intervals, int64[n, 2], as `Tensor.slices` takes them."""
        return np.stack([self.begin, self.begin + self.length], axis=1)

    @property
    def num_elements(self) -> int:
        """Number of elements of all intervals together."""
        return int(self.length.sum())

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def _item(self, key: int) -> Intervals:
        group = place(key, len(self), "group")
        mine = slice(self.ptr[group], self.ptr[group + 1])
        begin = self.begin[mine]
        return Intervals(begin, begin + self.length[mine])

    def __repr__(self) -> str:
        return (
            f"<SortedRegions {amount(self.num_elements, 'element')}, "
            f"{amount(len(self), 'group')}, {_intervals(self)}>"
        )


@made_by("graph.sorted_contiguous_regions_by_tile(tensor)")
class TileRegions(OnAccess[SortedRegions]):
    """For each tile, the groups of its elements.

    Attributes:
        tile_ptr: int64[tiles + 1]; the groups of tile `t` are `tile_ptr[t]` to
            `tile_ptr[t + 1]`.
        groups: the groups of all tiles, one tile after the other.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (2, 2), "x", mapping="linear")
    >>> graph.sorted_contiguous_regions_by_tile(x.T)[1]
    <SortedRegions 2 elements, 1 group, 2 intervals: [1, 2); [3, 4)>
    """

    __slots__ = ("groups", "tile_ptr")

    def __init__(self, tile_ptr: Int64, groups: SortedRegions) -> None:
        self.tile_ptr = tile_ptr
        self.groups = groups

    @property
    def tiles(self) -> Int64:
        """The tiles that hold an element, sorted."""
        return np.flatnonzero(np.diff(self.tile_ptr))

    def __len__(self) -> int:
        return len(self.tile_ptr) - 1

    def _item(self, key: int) -> SortedRegions:
        tile, all_ = place(key, len(self), "tile"), self.groups
        ptr = all_.ptr[self.tile_ptr[tile] : self.tile_ptr[tile + 1] + 1]
        mine = slice(ptr[0], ptr[-1])
        aliases = None if all_.aliases is None else all_.aliases[mine]
        return SortedRegions(ptr - ptr[0], all_.begin[mine], all_.length[mine], aliases)

    def __repr__(self) -> str:
        return (
            f"<TileRegions {amount(self.groups.num_elements, 'element')}, "
            f"{amount(len(self.tiles), 'tile')}, {amount(len(self.groups), 'group')}, "
            f"{_intervals(self.groups)}>"
        )


def _intervals(regions: SortedRegions) -> str:
    """Return how many intervals there are, and the first of them as groups at regular distances."""
    begin = regions.begin
    count = amount(len(begin), "interval")
    return f"{count}: {strided_text(begin, begin + regions.length)}" if len(begin) else count


def reports_aliases(given: object) -> bool:
    """Return whether aliases are reported: True, or a list to be filled."""
    if isinstance(given, bool | np.bool_ | list):
        return isinstance(given, list) or bool(given)
    raise ElementTypeError(
        f"sorted_contiguous_regions: report_aliases is {clipped(given)}, neither a bool nor a list",
        found=of_type(given),
        fix="pass an empty list, which is filled, or True",
    )


def sorted_regions(
    tensor: Tensor,
    intervals: Sequence[tuple[int, int]] | Int64 | None,
    remove_aliased: bool,
    report_aliases: bool,
) -> SortedRegions:
    """Group elements of a tensor in memory order; see `Graph.sorted_contiguous_regions`."""
    parts = _parts(tensor, intervals)
    remove = checked_truth(remove_aliased, "sorted_contiguous_regions: remove_aliased")
    order, aliases = _ordered(parts, ANYWHERE, remove, report_aliases)
    return SortedRegions(order.ptr, order.begin, order.length, aliases)


def tile_regions(
    tiles: TileNumbers,
    tensor: Tensor,
    remove_aliased: bool,
    report_aliases: bool,
) -> TileRegions:
    """Group the elements of a tensor in memory order on each tile."""
    space, view = tensor.graph.space, tensor.view
    remove, report = (
        checked_truth(value, f"sorted_contiguous_regions_by_tile: {name}")
        for name, value in (("remove_aliased", remove_aliased), ("report_aliases", report_aliases))
    )
    order, aliases = _ordered([(view, 0)], _tile_breaks(space, view), remove, report)
    ptr, _, tile, begin, length = order
    tile = tiles.from_top_level(tile)
    if (tile == NO_TILE).any():
        complete_mapping(space, tiles, view, tensor.name)  # raises the error
    if (tile[1:] < tile[:-1]).any():
        by_tile = np.argsort(tile, kind="stable")
        count = np.diff(ptr)[by_tile]
        end = np.cumsum(count)
        members = np.repeat(ptr[by_tile] - (end - count), count) + np.arange(len(begin))
        ptr, tile = np.append(0, end), tile[by_tile]
        begin, length = begin[members], length[members]
        aliases = None if aliases is None else aliases[members]
    tile_ptr = np.searchsorted(tile, np.arange(tiles.num_tiles + 1))
    return TileRegions(tile_ptr, SortedRegions(ptr, begin, length, aliases))


def _ordered(
    parts: list[Part | AddressRuns], mapping: tuple[Int64, Int64], remove: bool, report: bool
) -> tuple[MemoryOrder, Int64 | None]:
    if report and not remove and (len(parts) > 1 or any(map(_may_repeat, parts))):
        return alias_order(parts, mapping)
    order = memory_order(parts, mapping, drop=bool(remove))
    return order, order.begin if report else None


def _may_repeat(part: Part | AddressRuns) -> bool:
    return isinstance(part, AddressRuns) or contains_aliases(part[0])


def _parts(
    tensor: Tensor, intervals: Sequence[tuple[int, int]] | Int64 | None
) -> list[Part | AddressRuns]:
    if intervals is None:
        return [(tensor.view, 0)]
    flat = tensor.flatten()
    if not is_sequence(intervals):
        raise no_interval(intervals, flat)
    asked = slices_of(flat, intervals, 0)
    some = asked.end > asked.begin
    begin, end = asked.begin[some], asked.end[some]
    if len(begin) > FEW:
        return [ranges_of(flat.view, begin, end)]
    return [
        (flat.view.slice(a, b, 0), a) for a, b in zip(begin.tolist(), end.tolist(), strict=True)
    ]


def _tile_breaks(space: Space, view: View) -> tuple[Int64, Int64]:
    """Return where tiles change in memory, within the variables of a view."""
    below = view.space.storages if isinstance(view.space, Cat) else storages(view)
    if not below:
        return ANYWHERE
    table = space.table([space.variable_of(storage) for storage in below])
    return (
        np.concatenate([[-FARTHEST], table.breaks, [FARTHEST]]),
        np.concatenate([[NO_TILE], table.tiles, [NO_TILE]]),
    )
