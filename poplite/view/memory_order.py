"""The order of memory: elements of views by address, grouped by tile; views with few regions.

In memory order, elements are ordered by address, without sorting if strides give the order.
Views are split into sets (see `address_sets`).  Sets whose spans of addresses do not overlap follow
each other; only overlapping ones are listed as runs and sorted.  One pass over the result forms
*groups*, consecutive addresses on one tile; their *members* are ranges of positions::

    a (3, 4) variable, transposed     one group, memory [0, 12)
                                      members [0, 1) [3, 4) [6, 7) [9, 10) [1, 2) [4, 5) ...

The order in which a view has the fewest regions is found as reversible steps. Over one
variable, a step reads the view by its digits and shuffles them by descending stride::

    (3, 2) with strides (1, 3)        0 3 1 4 2 5      shape (3, 2), order (1, 0)
    afterwards                        0 1 2 3 4 5

A view that reads all of a `Cat` is first put in the order of the Cat in the same way.  The
pieces of the Cat are then taken in memory order, as segments of positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poplite.arrays import series
from poplite.arrays.intervals import Int64, overlay
from poplite.errors import SizeOverflowError
from poplite.jit.build import run_kernel
from poplite.jit.kernels_views import GROUPS, MEMBERS, form_groups
from poplite.view.address_sets import (
    AddressRuns,
    Part,
    Strided,
    in_order,
    listed,
    sets_by_address,
    sorted_runs,
)
from poplite.view.concatenation import concat, concat_slices
from poplite.view.concatenation_leaves import check_listable
from poplite.view.intervals_of_view import num_runs
from poplite.view.view import NOWHERE, Cat, Storage, View, all_of

MOST_SHARED = 2**25
"""Maximum number of members that `alias_order` lists: 3 GiB while they are found."""

FARTHEST = 1 << 62
"""An address greater than all others."""

ANYWHERE = np.array([-FARTHEST, FARTHEST]), np.array([0])
"""Breaks and tiles of a mapping with all memory on one tile."""


class MemoryOrder(NamedTuple):
    """Positions of a tensor in memory order.

    Attributes:
        ptr: int64[groups + 1]; the members of group `g` are `ptr[g]` to `ptr[g + 1]`.
        address: int64[groups], first addresses of the groups.
        tile: int64[groups].
        begin: int64[members], first positions.
        length: int64[members], numbers of elements; read-only.
    """

    ptr: Int64
    address: Int64
    tile: Int64
    begin: Int64
    length: Int64


class _Rows(NamedTuple):
    """The kernel's input: addresses, from each of which equally spaced runs start."""

    address: Int64
    position: Int64
    length: Int64
    uniform: int
    times: int
    step: int
    stride: int


def memory_order(
    parts: Sequence[Part | AddressRuns],
    mapping: tuple[Int64, Int64] = ANYWHERE,
    *,
    drop: bool = False,
) -> MemoryOrder:
    """Group the elements of views in memory order; at equal addresses, by position.

    `mapping` is `(breaks, tiles)`: int64[m + 1], ascending from -FARTHEST to FARTHEST, and
    int64[m].  With `drop`, an element is listed once, however often it occurs in the views.  Raises
    `SizeOverflowError` if there are more members than can be listed at once.

    >>> from poplite.view.view import Storage
    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 0, 6), (2, 3)).dim_shuffle((1, 0))
    >>> [a.tolist() for a in memory_order([(matrix, 0)])]
    [[0, 6], [0], [0], [0, 2, 4, 1, 3, 5], [1, 1, 1, 1, 1, 1]]
    """
    breaks, tiles = mapping
    tiled = len(tiles) > 1
    sets = [found for part in parts for found in sets_by_address(part, drop=drop)]
    if not sets:
        return MemoryOrder(np.zeros(1, np.int64), *[np.empty(0, np.int64)] * 4)
    check_listable(
        sum([found.num_runs for found in sets]), "in the order of memory, a tensor has", fix=""
    )
    sets.sort(key=lambda found: found.low)
    rows = [_rows(cluster, breaks if tiled and not drop else None) for cluster in _clusters(sets)]
    uniform = len(sets) == 1 and isinstance(sets[0], Strided) and _is_uniform(sets[0], tiled)
    segment = int(np.searchsorted(breaks, sets[0].low, side="right")) - 1
    crossed = int(np.searchsorted(breaks, max([found.high for found in sets]))) - segment
    room = sum([len(r.address) * r.times for r in rows]) + crossed
    begin, start = np.empty(room, np.int64), np.empty(room, np.int64)
    first = np.empty(room + 1, np.int64)
    size = np.empty(0 if uniform else room, np.int64)
    tile = np.empty(room if tiled else 0, np.int64)
    state = np.array([0, 0, -1, -1, segment, -2], np.int64)
    flags = int(tiled), int(not uniform), int(drop)
    for r in rows:
        numbers = len(r.address), r.uniform, r.times, r.step, r.stride
        read, written = (r.address, r.position, r.length), (begin, size, first, start, tile, state)
        run_kernel(form_groups, room, *read, *numbers, breaks, tiles, *flags, *written)
    members, groups = int(state[MEMBERS]), int(state[GROUPS])
    first[groups] = members
    return MemoryOrder(
        _trimmed(first, groups + 1),
        _trimmed(start, groups),
        _trimmed(tile, groups) if tiled else np.broadcast_to(tiles[0], groups),
        _trimmed(begin, members),
        np.broadcast_to(np.int64(rows[0].uniform), members) if uniform else _trimmed(size, members),
    )


def alias_order(
    parts: Sequence[Part | AddressRuns], mapping: tuple[Int64, Int64] = ANYWHERE
) -> tuple[MemoryOrder, Int64]:
    """Group the elements of views in memory order, and find the members that share memory.

    Members are cut so that any two have the same memory or none in common.  The second result is
    int64[members]: for each member, the begin of the first one with the same memory.  Raises
    `SizeOverflowError` if there are more than `MOST_SHARED` members.

    >>> from poplite.view.view import Storage
    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 0, 4), (4,))
    >>> order, alias = alias_order([(row, 0), (row.slice(1, 3, 0), 4)])
    >>> list(zip(order.begin.tolist(), order.length.tolist(), alias.tolist()))
    [(0, 1, 0), (1, 2, 1), (4, 2, 1), (3, 1, 3)]
    """
    breaks, tiles = mapping
    low, position, length = sorted_runs(
        [
            part if isinstance(part, AddressRuns) else listed(*part)
            for part in parts
            if isinstance(part, AddressRuns) or part[0].space is not NOWHERE
        ]
    )
    points = np.unique(np.concatenate([breaks, low, low + length]))
    members = int((np.searchsorted(points, low + length) - np.searchsorted(points, low)).sum())
    if members > MOST_SHARED:
        raise SizeOverflowError(
            f"cut wherever memory is shared, a tensor has {members:,} intervals; at most "
            f"{MOST_SHARED:,} are compared",
            found=f"they come from {len(low):,} runs of consecutive elements",
            fix="use remove_aliased=True, which needs no cuts, or pass some intervals at a time",
        )
    source, _, begin, end = overlay(low, low + length, points)
    position = position[source] + begin - low[source]
    order = np.lexsort((position, begin))
    begin, end, position = begin[order], end[order], position[order]
    tile = tiles[np.searchsorted(breaks, begin, side="right") - 1]
    new = np.ones(len(begin), np.bool_)
    new[1:] = begin[1:] != begin[:-1]
    alias = position[new][np.cumsum(new) - 1]
    new[1:] = (begin[1:] != end[:-1]) | (tile[1:] != tile[:-1])
    ptr = np.append(np.flatnonzero(new), len(begin))
    return MemoryOrder(ptr, begin[new], tile[new], position, end - begin), alias


def _clusters(sets: Sequence[Strided | AddressRuns]) -> list[list[Strided | AddressRuns]]:
    """Group the sets whose spans of addresses overlap; the sets are sorted by `low`."""
    clusters: list[list[Strided | AddressRuns]] = []
    high = -1
    for found in sets:
        if found.low >= high:
            clusters.append([])
        clusters[-1].append(found)
        high = max(high, found.high)
    return clusters


def _rows(cluster: list[Strided | AddressRuns], breaks: Int64 | None) -> _Rows:
    if len(cluster) == 1 and isinstance(cluster[0], Strided):
        found = cluster[0]
        outer, run, row = found.split()
        low = series.grid([(extent, step) for extent, step, _ in outer], found.low)
        position = series.grid([(extent, stride) for extent, _, stride in outer], found.position)
        return _Rows(low, position, low, run, *row)
    low, position, length = sorted_runs(cluster)
    if breaks is not None and (low[1:] < low[:-1] + length[:-1]).any():
        # Repeated memory is in order on every tile if it is cut at every change of tile.
        source, _, begin, end = overlay(low, low + length, breaks)
        position = position[source] + begin - low[source]
        low, position, length = in_order(begin, position, end - begin)
    return _Rows(low, position, length, 0, 1, 1, 1)


def _is_uniform(found: Strided, tiled: bool) -> bool:
    """Return whether all members have the length of a run: none is cut or continues at a carry."""
    outer, run, (count, step, stride) = found.split()
    if tiled and run > 1:
        return False
    ahead, along = (count - 1) * step + run, (count - 1) * stride + run
    for extent, step, stride in reversed(outer):
        if step == ahead and stride == along:
            return False
        ahead += (extent - 1) * step
        along += (extent - 1) * stride
    return True


def _trimmed(array: Int64, size: int) -> Int64:
    """Return the used beginning of a buffer, as a copy if most of the buffer was not used."""
    return array[:size] if 2 * size > len(array) else array[:size].copy()


class Shuffle(NamedTuple):
    """A step that reads a view in a shape, reverses some dimensions and shuffles them.

    Attributes:
        backwards: the dimensions that are reversed.
        order: dimension k of the result is dimension `order[k]`.
    """

    shape: tuple[int, ...]
    backwards: tuple[int, ...]
    order: tuple[int, ...]

    def walk(self, view: View, *, forward: bool) -> View:
        """Take the step, or undo it."""
        order = self.order
        if forward:
            view = view.reshape(self.shape)
            for dim in self.backwards:
                view = view.reverse(dim)
            return view.dim_shuffle(order)
        view = view.reshape(tuple([self.shape[dim] for dim in order]))
        view = view.dim_shuffle(sorted(range(len(order)), key=order.__getitem__))
        for dim in self.backwards:
            view = view.reverse(dim)
        return view


class TakeIntervals(NamedTuple):
    """A step that takes intervals of positions one after the other.

    Attributes:
        begin: int64[n], first positions.
        length: int64[n], numbers of elements.
    """

    begin: Int64
    length: Int64

    def walk(self, view: View, *, forward: bool) -> View:
        """Take the step, or undo it."""
        begin, length = self
        if not forward:
            by_begin = np.argsort(begin)
            begin = (np.cumsum(length) - length)[by_begin]
            length = length[by_begin]
        return concat_slices(view, begin, begin + length, 0, 0)


def simplification(view: View, *, segments: bool) -> tuple[list[Shuffle | TakeIntervals], View]:
    """Find the order in which a view has the fewest regions, and the flat view in that order.

    There are no steps if they would save no regions.  With `segments`, the pieces of concatenations
    are sorted, too.

    >>> matrix = all_of(Storage(0, 0, 6), (2, 3))
    >>> steps, simple = simplification(matrix.dim_shuffle((1, 0)), segments=True)
    >>> steps, simple == matrix.reshape((6,))
    ([Shuffle(shape=(3, 2), backwards=(), order=(1, 0))], True)
    """
    now = flat = view.reshape((view.num_elements,))
    steps: list[Shuffle | TakeIntervals] = []
    while now.space is not NOWHERE and (step := _shuffle(now, segments=segments)) is not None:
        steps.append(step)
        now = walk(now, [step], forward=True)
    if segments and isinstance(now.space, Cat):
        order = memory_order([(now, 0)])
        if (order.begin[1:] < order.begin[:-1]).any():
            steps.append(TakeIntervals(order.begin, order.length))
            now = _over_variables(now.space.storages, order)
    return (steps, now) if steps and num_runs(now) < num_runs(view) else ([], flat)


def walk(view: View, steps: Sequence[Shuffle | TakeIntervals], *, forward: bool) -> View:
    """Apply steps to a view, or undo them without `forward`; the result has one dimension.

    The view must have as many elements as the one for which the steps were found.
    """
    flat = (view.num_elements,)
    view = view.reshape(flat)
    for step in steps if forward else reversed(steps):
        view = step.walk(view, forward=forward).reshape(flat)
    return view


def _over_variables(owners: Sequence[Storage], order: MemoryOrder) -> View:
    """Return the view that reads the groups of a memory order as ranges of variables."""
    owners = sorted(owners, key=lambda storage: storage.base)
    bases = np.array([storage.base for storage in owners])
    owner = np.searchsorted(bases, order.address, side="right") - 1
    first = order.address - bases[owner]
    last = first + np.add.reduceat(order.length, order.ptr[:-1])
    cuts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    parts = []
    for a, b in pairwise(cuts):
        variable = owners[owner[a]]
        flat = all_of(variable, (variable.num_elements,))
        parts.append(concat_slices(flat, first[a:b], last[a:b], 0, 0))
    return concat(parts, 0)


def _shuffle(view: View, *, segments: bool) -> Shuffle | None:
    """Return the step that puts a view in the order of its space, or None if it is in order.

    Digits of stride 0 come first, to repeat everything else; at equal strides, the longest digit is
    innermost.
    """
    digits = view.flat_digits()
    order = sorted(
        range(len(digits)),
        key=lambda i: (digits[i][1] != 0, -abs(digits[i][1]), digits[i][0]),
    )
    step = Shuffle(
        tuple([extent for extent, _ in digits]),
        tuple([i for i, (_, stride) in enumerate(digits) if stride < 0]),
        tuple(order),
    )
    space = view.space
    after = step.walk(view, forward=True).reshape((view.num_elements,))
    if isinstance(space, Storage):
        return step if num_runs(after) < num_runs(view) else None
    # Whether that saves regions depends on the pieces, which are easiest to compare in their order.
    in_order = after.flat_digits() == [(space.num_elements, 1)]
    moved = in_order and digits != [(space.num_elements, 1)] and segments
    return step if moved or after.space is not space else None
