"""Runs of consecutive addresses in a view: counted, listed, or grouped in memory order.

A run is a maximal range of the flattened view with consecutive addresses. How runs are found
depends on how many there are and on the view's space::

    at most 64 on a storage        `few_runs`: in Python, without arrays
    on the storage of a variable   `poplite.arrays.series`: from the digits alone
    on a `Cat`                     `poplite.view.contiguous_runs`: from the leaves of the space
    more than fit in memory        `chunks`: some at a time

Runs are counted without being listed. For chunks, the digits of the flattened view are cut into
parts with as many runs as fit; every part is again a strided view and is listed as such::

    digits (4, 1) (6, 4)    at most 14 runs      (2, 1) (6, 4) at 0    (2, 1) (6, 4) at 2

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

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poplite.arrays import series
from poplite.arrays.intervals import Int64, overlay
from poplite.arrays.series import Digit
from poplite.errors import SizeOverflowError, TensorIndexError
from poplite.jit.build import run_kernel
from poplite.jit.kernels_views import GROUPS, MEMBERS, form_groups
from poplite.view import contiguous_runs
from poplite.view.address_sets import (
    AddressRuns,
    Part,
    Strided,
    in_order,
    listed,
    sets_by_address,
    sorted_runs,
    span,
)
from poplite.view.concatenation import SlicedViews, concat, concat_slices
from poplite.view.view import NOWHERE, Cat, Storage, View, all_of, once


def chunks(view: View, max_runs: int = 2**20) -> Iterator[tuple[Int64, Int64]]:
    """Yield the runs of a view in parts `(begin, length)`, as `runs` returns them; no run is cut.

    `max_runs` is the number of runs in one part; two parts are in memory at once.

    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 0, 24), (6, 4)).dim_shuffle((1, 0))
    >>> [begin.tolist() for begin, _ in chunks(matrix, 14)]
    [[0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21], [2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23]]
    """
    if max_runs < 1:
        raise TensorIndexError(
            f"chunks: max_runs is {max_runs}, but the minimum is 1", fix="use 2**20, the default"
        )
    previous: tuple[Int64, Int64] | None = None
    for begin, length in _listed(view, max_runs):
        if previous is not None:
            # The last run of the previous part may continue in this one.
            before, lengths = previous
            if before[-1] + lengths[-1] == begin[0]:
                length = length.copy()
                length[0] += lengths[-1]
                begin[0] = before[-1]
                before, lengths = before[:-1], lengths[:-1]
            if len(before):
                yield before, lengths
        previous = begin, length
    if previous is not None:
        yield previous


def _listed(view: View, limit: int) -> Iterator[tuple[Int64, Int64]]:
    few = contiguous_runs.few_runs(view)
    if few is not None and len(few[0]) <= limit:
        if few[0]:
            yield contiguous_runs.runs(view)
        return
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        rest, run = series.split_run(digits)
        for part, off in _parts(rest, view.off, limit):
            yield series.strided_runs(part, run, space.base + off)
    else:
        leaves = contiguous_runs.leaves_of(space)
        for part, off in _parts_of_cat(leaves, digits, view.off, limit):
            yield contiguous_runs.runs_through(leaves, part, off)


def _parts(digits: Sequence[Digit], off: int, limit: int) -> Iterator[tuple[Sequence[Digit], int]]:
    """Cut digits into parts of at most `limit` indices."""
    size, i = 1, len(digits)
    while i and size * digits[i - 1][0] <= limit:
        i -= 1
        size *= digits[i][0]
    if not i:
        yield digits, off
        return
    outer, (extent, stride), inner = digits[: i - 1], digits[i - 1], digits[i:]
    step = limit // size
    for index in range(math.prod([e for e, _ in outer])):
        start = off + series.locate(outer, index)
        for first in range(0, extent, step):
            count = min(step, extent - first)
            part = [(count, stride), *inner] if count > 1 else inner
            yield part, start + first * stride


def _parts_of_cat(
    leaves: contiguous_runs.Leaves, digits: Sequence[Digit], off: int, limit: int
) -> Iterator[tuple[Sequence[Digit], int]]:
    """Cut a view of a space into parts of at most `limit` runs."""
    rest, run = series.split_run(digits)
    # Consecutive elements are cut at most once per shortest run, and at both ends.
    length = max(limit, (limit - 2) * leaves.shortest_run)
    if run > length:
        for part, at in _parts(digits, off, length):
            yield part, at
        return
    each = min(run, run // leaves.shortest_run + 2)
    tail = [(run, 1)] if run > 1 else []
    for part, at in _parts(rest, off, max(limit // each, 1)):
        yield series.coalesce([*part, *tail]), at


_NO_RUNS = np.empty(0, np.int64), np.empty(0, np.int64)


def runs_of_many(views: Sequence[View]) -> tuple[Int64, Int64, Int64]:
    """Return the runs of many views at once, which is much faster for small views.

    The results are `(first, begin, length)`, int64[V + 1], int64[R] and int64[R]; the runs of view
    i are `begin[first[i]:first[i + 1]]`.  Raises `SizeOverflowError` if there may be more runs
    than can be listed at once.

    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 10, 6), (6,))
    >>> [a.tolist() for a in runs_of_many([row, row.slice(0, 3, 0).reverse(0)])]
    [[0, 1, 4], [10, 12, 11, 10], [6, 1, 1, 1]]
    """
    if len(views) <= contiguous_runs.FEW or any([isinstance(view.space, Cat) for view in views]):
        listed, count = [_NO_RUNS], 0
        for view in views:
            listed.append(contiguous_runs.runs(view))
            count += len(listed[-1][0])
            contiguous_runs.check_listable(
                count, f"the first {len(listed) - 1:,} of {len(views):,} views have"
            )
        begins, lengths = zip(*listed, strict=True)
        first = np.cumsum(list(map(len, begins)))
        return first, np.concatenate(begins), np.concatenate(lengths)
    filled = [view for view in views if view.space is not NOWHERE]
    owner = [i for i, view in enumerate(views) if view.space is not NOWHERE]
    if not filled:
        return np.zeros(len(views) + 1, np.int64), *_NO_RUNS
    base, extent, stride, _ = contiguous_runs.stacked(filled, split=False)
    breaks = np.zeros(len(base) + 1, np.int64)
    np.cumsum(extent.prod(1), out=breaks[1:])
    leaves = contiguous_runs.Leaves(1, breaks, base, extent, stride, 0)
    # Views with many repeats may have more elements in total than a 64-bit integer can count.
    room = int((np.diff(breaks) // leaves.run).sum(dtype=np.float64))
    contiguous_runs.check_listable(room, f"{len(views):,} views have up to")
    begin, length, first = contiguous_runs.runs_by_owner(
        leaves, np.array(owner, np.int64), len(views), room
    )
    return first, begin, length


def num_runs(view: View) -> int:
    """Count the runs of a view without listing them.

    Over one variable, or a `Cat` read once, the time does not depend on the number of elements.

    >>> from poplite.view.view import all_of
    >>> num_runs(all_of(Storage(0, 0, 2**30), (2**15, 2**15)).dim_shuffle((1, 0)))
    1073741824
    """
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        return series.count_runs(*series.split_run(digits)) if space is not NOWHERE else 0
    if digits and digits[0][1] == 0:
        # A repeated block joins the next repetition if its end continues at its beginning.
        (times, _), *rest = digits
        part = View((view.num_elements // times,), (series.pack(rest),), view.off, space)
        closed = last_address(part) + 1 == address_at(part, 0)
        return times * num_runs(part) - (times - 1 if closed else 0)
    kids, is_whole = space.kids, digits == [(space.num_elements, 1)]
    if is_whole and space.outer == 1 and not isinstance(kids, SlicedViews) and _is_layered(space):
        # Each kid may be counted without listing the space below it.
        joins = [last_address(a) + 1 == address_at(b, 0) for a, b in pairwise(kids)]
        return sum([num_runs(kid) for kid in kids]) - sum(joins)
    return contiguous_runs.count_through(contiguous_runs.leaves_of(space), digits, view.off)


def _is_layered(cat: Cat) -> bool:
    kids = [cat.kids.template] if isinstance(cat.kids, SlicedViews) else cat.kids
    return any([isinstance(kid.space, Cat) for kid in kids])


def is_contiguous(view: View) -> bool:
    """Return whether the flattened view is one run, or empty.

    >>> from poplite.view.view import all_of
    >>> a = all_of(Storage(0, 0, 6), (2, 3))
    >>> is_contiguous(a), is_contiguous(a.slice(0, 2, 1))
    (True, False)
    """
    if isinstance(view.space, Storage):
        digits = view.flat_digits()
        return not digits or (len(digits) == 1 and digits[0][1] == 1)
    # If a view is not contiguous, a few elements nearly always show it.
    last = view.num_elements - 1
    first = address_at(view, 0)
    probes = {1, last // 2, last} if last else {0}
    if any(address_at(view, i) != first + i for i in probes):
        return False
    return num_runs(view) == 1


def addresses(view: View) -> Int64:
    """Return the address of every element: int64 in the view's shape.

    >>> from poplite.view.view import all_of
    >>> addresses(all_of(Storage(0, 10, 6), (2, 3)).reverse(1)).tolist()
    [[12, 11, 10], [15, 14, 13]]
    """
    space = view.space
    if isinstance(space, Storage):
        if space is NOWHERE:
            return np.empty(view.shape, np.int64)
        return series.grid(view.flat_digits(), space.base + view.off).reshape(view.shape)
    begin, length = contiguous_runs.runs(view)
    if len(begin) == view.num_elements:
        return begin.reshape(view.shape)
    flat = np.repeat(begin - (np.cumsum(length) - length), length)
    flat += np.arange(view.num_elements)
    return flat.reshape(view.shape)


def address_at(view: View, index: int) -> int:
    """Return the address of one element of a non-empty view, by its row-major index.

    >>> from poplite.view.view import all_of
    >>> address_at(all_of(Storage(0, 10, 6), (2, 3)).dim_shuffle((1, 0)), 1)
    13
    """
    while True:
        index = view.off + series.locate(view.flat_digits(), index)
        space = view.space
        if isinstance(space, Storage):
            return space.base + index
        repetition, rest = divmod(index, space.period)
        view, begin, end = space.kid_at(rest)
        index = repetition * (end - begin) + rest - begin


def last_address(view: View) -> int:
    """Return the address of the last element of a non-empty view."""
    return address_at(view, view.num_elements - 1)


def storages(view: View) -> tuple[Storage, ...]:
    """Return the storages from which a view reads, in order of first use."""
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    view = once(view)
    digits = view.flat_digits()
    within = _storages_within(space, *span(view.off, digits))
    if len(within) == 1 or (not _is_layered(space) and digits == [(space.num_elements, 1)]):
        return within
    by_base = sorted(within, key=lambda storage: storage.base)
    bases = np.array([storage.base for storage in by_base])
    found: dict[Storage, None] = {}
    for begin, _ in chunks(view):
        owner = np.searchsorted(bases, begin, side="right") - 1
        _, first = np.unique(owner, return_index=True)
        found.update(dict.fromkeys([by_base[owner[i]] for i in np.sort(first)]))
        if len(found) == len(within):
            break
    return tuple(found)


def _storages_within(cat: Cat, first: int, last: int, limit: int = 256) -> tuple[Storage, ...]:
    """Return the storages below the kids between two positions of a space, possibly a few more.

    Up to `limit` kids on concatenations are searched, and fewer on each level below.
    """
    if isinstance(cat.kids, SlicedViews) or cat.outer > 1:
        return cat.storages
    kids = cat.kids[bisect_right(cat.breaks, first) - 1 : bisect_right(cat.breaks, last)]
    limit //= max(1, len(kids))
    found: dict[Storage, None] = {}
    for kid in kids:
        space = kid.space
        if isinstance(space, Storage):
            found[space] = None
        elif len(space.storages) == 1 or not limit:
            found.update(dict.fromkeys(space.storages))
        else:
            bounds = span(kid.off, kid.flat_digits())
            found.update(dict.fromkeys(_storages_within(space, *bounds, limit)))
    return tuple(found)


# -- memory order ----------------------------------------------------------------------------------

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
    contiguous_runs.check_listable(
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
