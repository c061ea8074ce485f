"""Runs of consecutive addresses in a view, counted or listed, only when asked.

A run is a maximal range of the flattened view whose addresses follow each other.  Over
the storage of one variable, runs follow from the digits alone.  A carry into a digit moves
the address by its stride less what the inner digits had reached, and joins two runs where
that is one step::

    digits (3, 4) (2, 1)      0 1 | 4 5 | 8 9       4 - 1 = 3: three runs
    digits (3, 1) (2, 0)      0 | 0 1 | 1 2 | 2     1 - 0 = 1: the carry joins, four runs

Over a `Cat`, the space is lowered once to its own list of runs, and the view's runs of
positions are cut at its breaks.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from poplite.view.digits import Digit, locate
from poplite.view.space import NOWHERE, Storage
from poplite.view.view import Cat, View

Int64 = npt.NDArray[np.int64]

SMALL = 4096
"""Runs whose equal lengths are written out, which is faster than a stride of 0."""


def runs(view: View) -> tuple[Int64, Int64]:
    """Return the maximal runs of a view, in view order.

    Args:
        view: any view.

    Returns:
        `(begin, length)`: int64[R] first addresses in the graph's space, and int64[R]
        element counts; to be read, not written.

    >>> from poplite.view.view import whole
    >>> [a.tolist() for a in runs(whole(Storage(0, 10, 6), (2, 3)).slice(0, 2, 1))]
    [[10, 13], [2, 2]]
    """
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        if space is NOWHERE:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return _strided_runs(digits, space.base + view.off)
    position, address = _lowered(space)
    if digits == [(space.num_elements, 1)]:
        return address, np.diff(position)
    return _through(*_strided_runs(digits, view.off), position, address)


def num_runs(view: View) -> int:
    """Count the runs of a view; over one variable, without listing them.

    >>> from poplite.view.view import whole
    >>> num_runs(whole(Storage(0, 0, 2**30), (2**15, 2**15)).dim_shuffle((1, 0)))
    1073741824
    """
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        return _count(digits) if space is not NOWHERE else 0
    if space.outer == 1 and digits == [(space.num_elements, 1)]:
        kids = space.kids
        joins = [last_address(a) + 1 == address_at(b, 0) for a, b in pairwise(kids)]
        return sum([num_runs(kid) for kid in kids]) - sum(joins)
    return len(runs(view)[0])


def is_contiguous(view: View) -> bool:
    """Tell whether the flattened view is one run, or empty.

    >>> from poplite.view.view import whole
    >>> a = whole(Storage(0, 0, 6), (2, 3))
    >>> is_contiguous(a), is_contiguous(a.slice(0, 2, 1))
    (True, False)
    """
    if isinstance(view.space, Storage):
        digits = view.flat_digits()
        return not digits or (len(digits) == 1 and digits[0][1] == 1)
    # A few elements decide nearly every view that is not contiguous.
    last = view.num_elements - 1
    first = address_at(view, 0)
    probes = {1, last // 2, last} if last else {0}
    if any(address_at(view, i) != first + i for i in probes):
        return False
    return num_runs(view) == 1


def addresses(view: View) -> Int64:
    """Return the address of every element.

    Args:
        view: any view.

    Returns:
        int64 in the view's shape.

    >>> from poplite.view.view import whole
    >>> addresses(whole(Storage(0, 10, 6), (2, 3)).reverse(1)).tolist()
    [[12, 11, 10], [15, 14, 13]]
    """
    space = view.space
    if isinstance(space, Storage):
        if space is NOWHERE:
            return np.empty(view.shape, np.int64)
        return _grid(view.flat_digits(), space.base + view.off).reshape(view.shape)
    begin, length = runs(view)
    flat = np.repeat(begin - (np.cumsum(length) - length), length)
    flat += np.arange(view.num_elements)
    return flat.reshape(view.shape)


def address_at(view: View, index: int) -> int:
    """Return the address of one element of a view with elements.

    Args:
        view: the view.
        index: number of the element in row-major order.

    >>> from poplite.view.view import whole
    >>> address_at(whole(Storage(0, 10, 6), (2, 3)).dim_shuffle((1, 0)), 1)
    13
    """
    while True:
        index = view.off + locate(view.flat_digits(), index)
        space = view.space
        if isinstance(space, Storage):
            return space.base + index
        breaks = space.breaks
        repetition, rest = divmod(index, breaks[-1])
        k = bisect_right(breaks, rest) - 1
        view = space.kids[k]
        index = repetition * (breaks[k + 1] - breaks[k]) + rest - breaks[k]


def last_address(view: View) -> int:
    """Return the address of the last element of a view with elements."""
    return address_at(view, view.num_elements - 1)


def storages(view: View) -> tuple[Storage, ...]:
    """Return the storages a view touches, in order of first use.

    >>> from poplite.view.view import whole
    >>> len(storages(whole(Storage(0, 10, 6), (2, 3))))
    1
    """
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    known = space.storages
    plain = all([isinstance(kid.space, Storage) for kid in space.kids])
    if len(known) == 1 or (plain and view.flat_digits() == [(space.num_elements, 1)]):
        return known
    by_base = sorted(known, key=lambda storage: storage.base)
    begin, _ = runs(view)
    owner = np.searchsorted([storage.base for storage in by_base], begin, side="right") - 1
    _, first = np.unique(owner, return_index=True)
    return tuple([by_base[owner[i]] for i in np.sort(first)])


def _grid(digits: Sequence[Digit], base: int) -> Int64:
    if not digits:
        return np.array([base], np.int64)
    extent, stride = digits[0]
    values = np.arange(extent, dtype=np.int64) * stride + base
    for extent, stride in digits[1:]:
        values = (values[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
    return values


def _split_run(digits: Sequence[Digit]) -> tuple[Sequence[Digit], int]:
    if digits and digits[-1][1] == 1:
        return digits[:-1], digits[-1][0]
    return digits, 1


def _carries(digits: Sequence[Digit], run: int) -> list[tuple[int, int, bool]]:
    """Return (extent, product of the inner extents, joins) of each digit, innermost first."""
    found = []
    reach, inner = run - 1, 1
    for extent, stride in reversed(digits):
        found.append((extent, inner, stride - reach == 1))
        reach += (extent - 1) * stride
        inner *= extent
    return found


def _count(digits: Sequence[Digit]) -> int:
    rest, run = _split_run(digits)
    total = math.prod([extent for extent, _ in rest])
    joined = [
        total // (inner * extent) * (extent - 1)
        for extent, inner, joins in _carries(rest, run)
        if joins
    ]
    return total - sum(joined)


def _strided_runs(digits: Sequence[Digit], base: int) -> tuple[Int64, Int64]:
    rest, run = _split_run(digits)
    begin = _grid(rest, base)
    # Coalesced, a run and one digit never join; most views end here.
    carries = _carries(rest, run) if len(rest) > 1 else []
    if not any([joins for _, _, joins in carries]):
        if len(begin) <= SMALL:
            return begin, np.full(len(begin), run, np.int64)
        return begin, np.broadcast_to(np.int64(run), begin.shape)
    starts = np.ones(len(begin), np.bool_)
    for extent, inner, joins in carries:
        if joins:
            starts.reshape(-1, extent, inner)[:, 1:, 0] = False
    first = np.flatnonzero(starts)
    return begin[first], np.diff(first, append=len(begin)) * run


def joined(begin: Int64, length: Int64) -> tuple[Int64, Int64]:
    """Join neighbouring runs that continue each other.

    >>> [a.tolist() for a in joined(np.array([0, 2, 9]), np.array([2, 3, 1]))]
    [[0, 9], [5, 1]]
    """
    starts = np.ones(len(begin), np.bool_)
    np.not_equal(begin[1:], begin[:-1] + length[:-1], out=starts[1:])
    if starts.all():
        return begin, length
    first = np.flatnonzero(starts)
    return begin[first], np.add.reduceat(length, first)


def _through(begin: Int64, length: Int64, position: Int64, address: Int64) -> tuple[Int64, Int64]:
    """Map runs of positions of a lowered space to runs of addresses."""
    end = begin + length
    first = np.searchsorted(position, begin, side="right") - 1
    count = np.searchsorted(position, end, side="left") - first
    source, within = _spread(count)
    segment = first[source] + within
    low = np.maximum(begin[source], position[segment])
    high = np.minimum(end[source], position[segment + 1])
    return joined(address[segment] + (low - position[segment]), high - low)


def _spread(count: Int64) -> tuple[Int64, Int64]:
    """For counts 2, 1: the owners 0 0 1, and the number within each owner 0 1 0."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)


def below(cat: Cat) -> list[Cat]:
    """Return a Cat and all Cats below it, every one after those it stands on.

    >>> below(Cat((), 1))
    [<Cat of 0 views, 1 times, 0 elements>]
    """
    order: dict[int, Cat] = {}
    stack = [(cat, False)]
    while stack:
        at, done = stack.pop()
        if done:
            order.setdefault(id(at), at)
        elif id(at) not in order:
            stack.append((at, True))
            stack += [(kid.space, False) for kid in at.kids if isinstance(kid.space, Cat)]
    return list(order.values())


def _lowered(cat: Cat) -> tuple[Int64, Int64]:
    """Return the runs of a space: int64[R + 1] positions of their ends, int64[R] addresses."""
    if cat.lowered is None:
        for space in below(cat):
            if space.lowered is None:
                space.lowered = _lower(space)
    assert cat.lowered is not None
    return cat.lowered


def _lower(cat: Cat) -> tuple[Int64, Int64]:
    pieces = [] if _has_plain_chunks(cat) else [runs(kid) for kid in cat.kids]
    if not pieces:
        begin, length = _plain_chunks(cat)
    elif cat.outer > 1:
        begin, length = _interleaved(cat, pieces)
    else:
        begin = np.concatenate([piece[0] for piece in pieces])
        length = np.concatenate([piece[1] for piece in pieces])
    begin, length = joined(begin, length)
    position = np.zeros(len(begin) + 1, np.int64)
    np.cumsum(length, out=position[1:])
    return position, begin


def _has_plain_chunks(cat: Cat) -> bool:
    """Tell whether each chunk of each kid is one run, at equal distances."""
    return all(
        [
            isinstance(kid.space, Storage)
            and isinstance(kid.dims[0], int)
            and (kid.dims[1] == 1 or kid.shape[1] == 1)
            for kid in cat.kids
        ]
    )


def _plain_chunks(cat: Cat) -> tuple[Int64, Int64]:
    kids = [(kid, kid.space) for kid in cat.kids if isinstance(kid.space, Storage)]
    first = np.array([space.base + kid.off for kid, space in kids], np.int64)
    step = np.array([kid.dims[0] for kid, _ in kids], np.int64)
    begin = first + np.arange(cat.outer, dtype=np.int64)[:, None] * step
    length = np.broadcast_to(np.diff(cat.breaks), begin.shape)
    return begin.reshape(-1), length.reshape(-1)


def _interleaved(cat: Cat, pieces: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    """Cut each kid's runs at its chunks, and order them by position in the Cat."""
    begins, lengths, positions = [], [], []
    for k, (begin, length) in enumerate(pieces):
        chunk = cat.breaks[k + 1] - cat.breaks[k]
        end = np.cumsum(length)
        start = end - length
        source, within = _spread((end - 1) // chunk - start // chunk + 1)
        repetition = start[source] // chunk + within
        low = np.maximum(start[source], repetition * chunk)
        high = np.minimum(end[source], (repetition + 1) * chunk)
        begins.append(begin[source] + (low - start[source]))
        lengths.append(high - low)
        positions.append(repetition * cat.breaks[-1] + cat.breaks[k] + low % chunk)
    order = np.argsort(np.concatenate(positions), kind="stable")
    return np.concatenate(begins)[order], np.concatenate(lengths)[order]
