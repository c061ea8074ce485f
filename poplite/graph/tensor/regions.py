"""Regions of a tensor: ranges of variables, in its own order or in memory order.

Ranges of variables are arrays that behave like a list of `VariableInterval`::

    t of shape (2, 6)        t[:, 2:4] reads       t [2, 4)  t [8, 10)
                             as arrays             number 0 0, begin 2 8, end 4 10

A tensor may consist of millions of ranges, and most programs use only the arrays.

Regions in memory order are found either regardless of tiles or for each tile by itself. Memory
order matters because work on a tile is divided by ranges of its memory, not of the tensor. A
*group* is a list of intervals of the flattened tensor that form, one after the other, one
contiguous range of memory::

    t = x.T, x of shape (2, 3)          memory    0 1 2 3 4 5
                                        t         0 2 4 1 3 5
    graph.sorted_contiguous_regions(t)  one group of the intervals [0, 1) [2, 3) [4, 5) [1, 2) ...

Groups and their intervals are arrays (compressed rows), never a list per group.

Semantics: Poplar API reference, `Graph::getSortedContiguousRegions`; for its use, see
`ContiguousRegionsByTile` in PopLibs' `popops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from poplite.arrays.intervals import Int64, StridedIntervals, place, strided, strided_text
from poplite.arrays.series import LikeList, OnAccess
from poplite.errors import NONE, ElementTypeError, TensorIndexError, checked_truth, made_by
from poplite.graph.tensor.arguments import is_sequence, no_interval
from poplite.graph.tensor.tensor_mapping import complete_mapping
from poplite.graph.tile_mapping import NO_TILE, TileNumbers
from poplite.text import amount, clipped, fitted, integer_or_none, of_type
from poplite.view import Cat, Interval, Intervals, View, chunks, contains_aliases, runs, storages
from poplite.view.address_sets import AddressRuns, Part, ranges_of
from poplite.view.memory_order import ANYWHERE, FARTHEST, MemoryOrder, alias_order, memory_order

if TYPE_CHECKING:
    from poplite.graph.space import Space, Variable
    from poplite.graph.tensor.tensor import Tensor


SHOWN = 6
"""Maximum number of ranges, or parts with ranges of one variable, that a repr lists."""

MOST_VIEWS = 64
"""Maximum number of intervals that become separate views.

For more intervals, all runs between the first and the last are listed. A few intervals are not
handled that way: two distant ones in a large transposed tensor can have too many runs between them.
"""


class _Elements(NamedTuple):
    variable: Variable
    begin: int
    end: int


class VariableInterval(_Elements):
    """The elements [begin, end) of a flattened variable.

    Args:
        variable: the variable.
        begin: the first element; or, as in Poplar, the interval.
        end: one past the last element.

    Raises:
        TensorIndexError: if they are not whole numbers.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (6,), "x").var_regions()[0].variable
    >>> VariableInterval(x, pl.Interval(2, 4))
    <VariableInterval 'x' [2, 4)>
    """

    __slots__ = ()

    def __new__(
        cls, variable: Variable = NONE, begin: int | Interval = NONE, end: int | None = None
    ) -> VariableInterval:
        """Return the elements of a variable."""
        first, last = (begin, end) if end is not None or not isinstance(begin, Interval) else begin
        if integer_or_none(first) is None or integer_or_none(last) is None:
            raise TensorIndexError(
                f"VariableInterval: begin and end of [{clipped(first)}, {clipped(last)}) must be "
                "whole numbers",
                found=f"of {clipped(variable, 60)}",
                fix="VariableInterval(variable, Interval(0, 4))",
            )
        return super().__new__(cls, variable, first, last)  # type: ignore[arg-type]  # checked

    @property
    def var(self) -> Variable:
        """C++ spelling of `variable`."""
        return self.variable

    @property
    def interval(self) -> Interval:
        """The elements as an interval."""
        return Interval(self.begin, self.end)

    def __repr__(self) -> str:
        return fitted(f"<VariableInterval '{{}}' [{self.begin}, {self.end})>", self.variable.name)


@made_by("tensor.var_regions()")
class VarRegions(Sequence[VariableInterval]):
    """Ranges of variables, in the order of a tensor; behaves and compares like a list.

    Attributes:
        variables: the variables read, by ascending address.
        number: int64[n], position in `variables` of each range's variable.
        begin: int64[n], first elements.
        end: int64[n], one past the last elements.

    >>> import poplite as pl
    >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")
    >>> t[:, 2:4].var_regions().end.tolist()
    [4, 10]
    """

    __slots__ = ("begin", "end", "number", "variables")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equal to lists, which are not hashable

    def __init__(
        self, variables: tuple[Variable, ...], number: Int64, begin: Int64, end: Int64
    ) -> None:
        self.variables: tuple[Variable, ...] = variables
        self.number: Int64 = number
        self.begin: Int64 = begin
        self.end: Int64 = end

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, key: int) -> VariableInterval: ...
    @overload
    def __getitem__(self, key: slice) -> VarRegions: ...

    def __getitem__(self, key: int | slice) -> VariableInterval | VarRegions:
        if isinstance(key, slice):
            return VarRegions(self.variables, self.number[key], self.begin[key], self.end[key])
        variable = self.variables[self.number[key]]
        return VariableInterval(variable, int(self.begin[key]), int(self.end[key]))

    def __iter__(self) -> Iterator[VariableInterval]:
        owners = map(self.variables.__getitem__, self.number.tolist())
        ranges = zip(owners, self.begin.tolist(), self.end.tolist(), strict=True)
        return map(VariableInterval._make, ranges)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VarRegions) and self.variables == other.variables:
            return all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("number", "begin", "end")
            )
        if not isinstance(other, VarRegions | list | tuple):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    def strided(self) -> list[tuple[Variable, StridedIntervals]]:
        """Return the same ranges, in the same order, as a few groups of evenly spaced ranges.

        >>> import poplite as pl
        >>> columns = pl.Graph().add_variable(pl.FLOAT, (8, 12)).T
        >>> columns.var_regions().strided()[0][1]
        StridedIntervals(begin=0, size=1, digits=((12, 1), (8, 12)))
        """
        return [
            (self.variables[part.number[0]], group)
            for part in self._of_one_variable()
            for group in strided(part.begin, part.end)
        ]

    def _of_one_variable(self) -> Iterator[VarRegions]:
        """Yield the maximal parts whose ranges belong to one variable."""
        ends = [*(np.flatnonzero(np.diff(self.number)) + 1).tolist(), len(self)]
        return (self[a:b] for a, b in pairwise([0, *ends]) if a < b)

    def text(self) -> str:
        """Return the first groups of ranges as text, with the names of their variables."""
        parts = list(islice(self._of_one_variable(), SHOWN))
        shown = [
            f"'{part.variables[part.number[0]].name}' {strided_text(part.begin, part.end)}"
            for part in parts
        ]
        rest = len(self) - sum(map(len, parts))
        return "; ".join([*shown, f"{rest:,} more"] if rest else shown)

    def __repr__(self) -> str:
        if len(self) <= SHOWN // 2:
            return repr(list(self))
        return f"<VarRegions {amount(len(self), 'range')}: {self.text()}>"


class _Owners:
    """The variables underlying a view, which convert addresses to their elements."""

    def __init__(self, space: Space, view: View) -> None:
        below = sorted(storages(view), key=lambda storage: storage.base)
        self.variables = tuple([space.variable_of(storage) for storage in below])
        self.bases = [storage.base for storage in below]

    def regions(self, begin: Int64, length: Int64) -> VarRegions:
        """Return runs of addresses as ranges of variables."""
        if len(self.bases) == 1:
            first, number = begin - self.bases[0], np.zeros(len(begin), np.int64)
        else:
            bases = np.array(self.bases, np.int64)
            number = np.searchsorted(bases, begin, side="right") - 1
            first = begin - bases[number]
        return VarRegions(self.variables, number, first, first + length)


def var_regions(space: Space, view: View) -> VarRegions:
    """Return the ranges of variables that a view reads."""
    return _Owners(space, view).regions(*runs(view))


def region_chunks(space: Space, view: View, most: int) -> Iterator[VarRegions]:
    """Yield the result of `var_regions` in parts of at most `most` ranges."""
    owners = _Owners(space, view)
    return (owners.regions(begin, length) for begin, length in chunks(view, most))


@made_by("graph.sorted_contiguous_regions(tensor, intervals)")
class SortedRegions(LikeList[Intervals]):
    """Groups of intervals, each one contiguous range of memory; equal to a nested list.

    Attributes:
        ptr: int64[groups + 1]; the intervals of group `g` are `ptr[g]` to `ptr[g + 1]`.
        begin: int64[n], first elements of the intervals.
        length: int64[n], numbers of elements of the intervals; read-only.
        aliases: int64[n], for each interval the begin of the first interval with the same memory;
            None unless requested.

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
        self.ptr: Int64 = ptr
        self.begin: Int64 = begin
        self.length: Int64 = length
        self.aliases: Int64 | None = aliases

    @property
    def intervals(self) -> Int64:
        """Begin and end of all intervals, int64[n, 2], as `Tensor.slices` takes them."""
        return np.stack([self.begin, self.begin + self.length], axis=1)

    @property
    def num_elements(self) -> int:
        """Total number of elements of all intervals."""
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
        self.tile_ptr: Int64 = tile_ptr
        self.groups: SortedRegions = groups

    @property
    def tiles(self) -> Int64:
        """The tiles that store an element, sorted."""
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
    """Return the number of intervals, and the first of them as evenly spaced groups."""
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
        fix="pass True, or an empty list to be filled",
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
    slices: Any = flat.slices(intervals)  # a `Slices`, for its arrays
    some = slices.end > slices.begin
    begin, end = slices.begin[some], slices.end[some]
    if len(begin) > MOST_VIEWS:
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
