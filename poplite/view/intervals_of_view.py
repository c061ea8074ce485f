"""The intervals of addresses that a view reads: listed as runs, counted, or some at a time.

A run is a maximal range of the flattened view with consecutive addresses. How runs are found
depends on how many there are and on the view's space::

    at most 64 on a storage        `few_runs`: in Python, which is faster than arrays
    on the storage of a variable   `poplite.arrays.series`: from the digits alone
    on a `Cat`                     `poplite.view.concatenation_leaves`: from the leaves of the space
    more than fit in memory        `chunks`: some at a time

Runs are counted without being listed. For chunks, the digits of the flattened view are cut into
parts with as many runs as fit; every part is again a strided view and is listed as such::

    digits (4, 1) (6, 4)    at most 14 runs      (2, 1) (6, 4) at 0    (2, 1) (6, 4) at 2
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from poplite.arrays import series
from poplite.arrays.intervals import Int64
from poplite.arrays.series import Digit
from poplite.errors import TensorIndexError
from poplite.view.concatenation import SlicedViews
from poplite.view.concatenation_leaves import (
    Leaves,
    check_listable,
    count_through,
    leaves_of,
    runs_by_arrays,
    runs_by_owner,
    runs_through,
    stacked,
)
from poplite.view.view import NOWHERE, Cat, Storage, View

FEW = 64
"""Maximum number of runs, before any join, that are listed in Python.

Without this limit, `Copy of 10 elements with its costs` in benchmarks/compilation.py takes 2.4
times as long."""


def few_runs(view: View) -> tuple[list[int], list[int]] | None:
    """Return addresses and lengths of the maximal runs on a variable; None if there may be more.

    >>> from poplite.view.view import all_of
    >>> few_runs(all_of(Storage(0, 10, 6), (2, 3)).slice(0, 2, 1))
    ([10, 13], [2, 2])
    """
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Cat):
        return None
    if space is NOWHERE:
        return [], []
    starts, run = _starts(digits, space.base + view.off)
    if starts is None:
        return None
    # In coalesced digits, a run and a single digit never join.
    if len(digits) < 2 or (run > 1 and len(digits) == 2):
        return starts, [run] * len(starts)
    begin: list[int] = []
    length: list[int] = []
    for start in starts:
        _append(begin, length, start, run)
    return begin, length


def _starts(digits: Sequence[Digit], base: int) -> tuple[list[int] | None, int]:
    """Return the length of runs before any join, and their begins, or None if there are many."""
    run = 1
    if digits and digits[-1][1] == 1:
        run = digits[-1][0]
        digits = digits[:-1]
    count = 1
    for extent, _ in digits:
        count *= extent
        if count > FEW:
            return None, run
    starts = [base]
    for extent, stride in digits:
        if len(starts) == 1:
            base = starts[0]
            starts = [base + i * stride for i in range(extent)]
        else:
            starts = [start + i * stride for start in starts for i in range(extent)]
    return starts, run


def _append(begin: list[int], length: list[int], start: int, run: int) -> None:
    if begin and begin[-1] + length[-1] == start:
        length[-1] += run
    else:
        begin.append(start)
        length.append(run)


def runs(view: View) -> tuple[Int64, Int64]:
    """Return the maximal runs of a view, in view order, as `(begin, length)`.

    Both are int64[R]: first addresses in the graph's space, and numbers of elements, which may be
    one number broadcast and are read-only.  Raises `SizeOverflowError` if there are more than
    `MOST_RUNS` runs; `chunks` streams them.

    >>> from poplite.view.view import all_of
    >>> [a.tolist() for a in runs(all_of(Storage(0, 10, 6), (2, 3)).slice(0, 2, 1))]
    [[10, 13], [2, 2]]
    """
    few = few_runs(view)
    if few is not None:
        return np.array(few[0], np.int64), np.array(few[1], np.int64)
    return runs_by_arrays(view)


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
    few = few_runs(view)
    if few is not None and len(few[0]) <= limit:
        if few[0]:
            yield runs(view)
        return
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        rest, run = series.split_run(digits)
        for part, off in _parts(rest, view.off, limit):
            yield series.strided_runs(part, run, space.base + off)
    else:
        leaves = leaves_of(space)
        for part, off in _parts_of_cat(leaves, digits, view.off, limit):
            yield runs_through(leaves, part, off)


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
    leaves: Leaves, digits: Sequence[Digit], off: int, limit: int
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
    if len(views) <= FEW or any([isinstance(view.space, Cat) for view in views]):
        listed, count = [_NO_RUNS], 0
        for view in views:
            listed.append(runs(view))
            count += len(listed[-1][0])
            check_listable(count, f"the first {len(listed) - 1:,} of {len(views):,} views have")
        begins, lengths = zip(*listed, strict=True)
        first = np.cumsum(list(map(len, begins)))
        return first, np.concatenate(begins), np.concatenate(lengths)
    filled = [view for view in views if view.space is not NOWHERE]
    owner = [i for i, view in enumerate(views) if view.space is not NOWHERE]
    if not filled:
        return np.zeros(len(views) + 1, np.int64), *_NO_RUNS
    base, extent, stride, _ = stacked(filled, split=False)
    breaks = np.zeros(len(base) + 1, np.int64)
    np.cumsum(extent.prod(1), out=breaks[1:])
    leaves = Leaves(1, breaks, base, extent, stride, 0)
    # Views with many repeats may have more elements in total than a 64-bit integer can count.
    room = int((np.diff(breaks) // leaves.run).sum(dtype=np.float64))
    check_listable(room, f"{len(views):,} views have up to")
    begin, length, first = runs_by_owner(leaves, np.array(owner, np.int64), len(views), room)
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
    if is_whole and space.outer == 1 and not isinstance(kids, SlicedViews) and is_layered(space):
        # Each kid may be counted without listing the space below it.
        joins = [last_address(a) + 1 == address_at(b, 0) for a, b in pairwise(kids)]
        return sum([num_runs(kid) for kid in kids]) - sum(joins)
    return count_through(leaves_of(space), digits, view.off)


def is_layered(cat: Cat) -> bool:
    """Return whether views of other concatenations are among those of a concatenation."""
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
    begin, length = runs(view)
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
