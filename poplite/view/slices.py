"""Concatenation of many slices of one view, without a Python object for each.

The slices are arrays of begins and ends.  They are merged as in `concat`, but all at once:

1. slices that begin where the one before them ends are one;
2. equal pieces at regular distances, place by place, are one strided view;
3. otherwise pieces that continue their neighbour are joined, and the second rule is tried again;
4. if few are left, each progression counted as one, they become views and go through `concat`;
5. the rest stays arrays: a `Cat` of `SlicedViews`.

Pieces differ only in where they begin and how long they are: two numbers describe each.  The
template is the view from which they are cut, as (outer, axis, inner)::

    a = all_of(storage, (4, 6))              rows 1 to 3, row 0, rows 2 to 3
    template    shape (1, 4, 6), dims (0, 6, 1)
    extent      2  1  1                     of each piece along the axis
    off         6  0  12                    of its first element in the space

A piece becomes a `View` only when it is asked for.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import overload

import numpy as np

from poplite.arrays.digits import Digit, coalesce, digits_of, flat_digits, pack, row_major
from poplite.arrays.intervals import Int64
from poplite.view.concat import concat, joined, part_of
from poplite.view.view import NOWHERE, Cat, Shape, View, empty, placed

FEW = 64
"""So few pieces become views of their own, of which more is known than of `SlicedViews`."""

MOST_CUTS = 8
"""Pieces for each slice, on average, into which digits may cut them."""


def concat_slices(view: View, begin: Int64, end: Int64, dim: int, axis: int) -> View:
    """Join the slices [begin, end) of dimension `dim` of a view along `axis`.

    `begin` and `end` are int64[P].  Unless `axis` is `dim`, all slices have equal sizes.  The
    result is the view that `concat` makes of the slices, up to how its space is cut into pieces.

    >>> from poplite.view.view import Storage
    >>> from poplite.view.view import all_of
    >>> rows = all_of(Storage(0, 0, 24), (4, 6))
    >>> concat_slices(rows, np.array([2, 0, 3]), np.array([3, 1, 4]), 0, 0).shape
    (3, 6)
    """
    shape = list(view.shape)
    if not len(begin):
        shape[dim] = 0
        return empty(tuple(shape))
    size = end - begin
    if axis != dim:
        shape[dim] = int(size[0])
    else:  # sizes of a view without elements may have any sum
        shape[dim] = int(size.sum()) if view.num_elements else sum(size.tolist())
    if axis != dim:
        shape[axis] *= len(begin)
    if view.space is NOWHERE or 0 in shape:
        return empty(tuple(shape))
    filled = end > begin
    begin, end = begin[filled], end[filled]
    if axis == dim:
        begin, end = _following(begin, end)
    pieces = _pieces(view, begin, end, dim, axis) if len(begin) > FEW else None
    if pieces is None:
        bounds = zip(begin.tolist(), end.tolist(), strict=True)
        return concat([view.slice(a, b, dim) for a, b in bounds], axis)
    result = _joined(pieces, math.prod(shape[:axis]), tuple(shape))
    return placed(result.shape, result.dims, result.off, result.space)


def _following(begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Join slices that begin where the one before them ends."""
    starts = np.ones(len(begin) + 1, np.bool_)
    np.not_equal(begin[1:], end[:-1], out=starts[1:-1])
    return begin[starts[:-1]], end[starts[1:]]


class SlicedViews(Sequence[View]):
    """Views of shape (outer, extent * inner), made one by one when indexed.

    Attributes:
        template: shape (outer, axis, inner); `dims[1]` is a single stride.
        extent: int64[P], at least 1, sizes along the axis.
        off: int64[P], positions of the first elements in the template's space.

    >>> from poplite.view.view import Storage
    >>> from poplite.view.view import all_of
    >>> rows = all_of(Storage(0, 0, 24), (1, 4, 6))
    >>> pieces = SlicedViews(rows, np.array([2, 1]), np.array([6, 0]))
    >>> len(pieces), pieces[1].shape, pieces[1].off
    (2, (1, 6), 0)
    """

    __slots__ = ("extent", "off", "template")

    def __init__(self, template: View, extent: Int64, off: Int64) -> None:
        self.template = template
        self.extent = extent
        self.off = off

    def breaks(self) -> Int64:
        """Return int64[P + 1]: where each piece begins in a repetition, and its length."""
        breaks = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.extent * self.template.shape[2], out=breaks[1:])
        return breaks

    def __len__(self) -> int:
        return len(self.off)

    @overload
    def __getitem__(self, key: int) -> View: ...
    @overload
    def __getitem__(self, key: slice) -> SlicedViews: ...

    def __getitem__(self, key: int | slice) -> View | SlicedViews:
        if isinstance(key, slice):
            return SlicedViews(self.template, self.extent[key], self.off[key])
        (outer, _, inner), (first, stride, rest) = self.template.shape, self.template.dims
        extent = int(self.extent[key])
        digits = coalesce([*digits_of(extent, stride), *digits_of(inner, rest)])
        return View(
            (outer, extent * inner), (first, pack(digits)), int(self.off[key]), self.template.space
        )

    def are_cut_as(self, other: SlicedViews) -> bool:
        """Return whether other pieces are at the same places of their space."""
        return (
            len(self) == len(other)
            and self._cut() == other._cut()
            and bool((self.off == other.off).all() and (self.extent == other.extent).all())
        )

    def _cut(self) -> tuple[object, ...]:
        (outer, _, inner), dims = self.template.shape, self.template.dims
        return outer, inner, dims

    def __repr__(self) -> str:
        return f"<{len(self):,} SlicedViews of {self.template!r}>"


def _pieces(view: View, begin: Int64, end: Int64, dim: int, axis: int) -> SlicedViews | None:
    """Return the slices as arrays, or None where they cross digits and cannot be cut there."""
    shape, dims = list(view.shape), list(view.dims)
    off = np.full(len(begin), view.off)
    low, high, stride, place = begin, end, 0, shape[dim]
    for extent, stride in digits_of(shape[dim], dims[dim]):
        place //= extent
        if place == 1:
            off += low * stride
            break
        step = low // place
        if ((high - 1) // place != step).any():
            return _cut_at_digits(view, begin, end, dim) if dim == axis else None
        off += step * stride
        low, high = low - step * place, high - step * place
    if dim == axis:
        inner = flat_digits(shape[dim + 1 :], dims[dim + 1 :])
        return _of_steps(view, dim, (shape[dim], stride), inner, high - low, off)
    shape[dim], dims[dim] = int(high[0] - low[0]), stride
    along, *inner = flat_digits(shape[axis:], dims[axis:]) or [(1, 1)]
    before = View((*shape[:axis], 1), (*dims[:axis], 0), view.off, view.space)
    return _of_steps(before, axis, along, inner, np.full(len(off), along[0]), off)


def _of_steps(
    view: View, axis: int, along: Digit, inner: Sequence[Digit], extent: Int64, off: Int64
) -> SlicedViews:
    """Return pieces that repeat as the dimensions before an axis, of steps along one digit."""
    outer = pack(flat_digits(view.shape[:axis], view.dims[:axis]))
    size, stride = along
    sizes = (math.prod(view.shape[:axis]), size, math.prod([extent for extent, _ in inner]))
    return SlicedViews(View(sizes, (outer, stride, pack(inner)), view.off, view.space), extent, off)


def _cut_at_digits(view: View, begin: Int64, end: Int64, dim: int) -> SlicedViews | None:
    """Cut slices where they cross digits of their dimension; None where the pieces are many.

    They consist of steps of the outermost digit in which all of them begin and end::

        ((2, .), (3, .), (4, .))     [4, 8) [8, 20)  ->  [4, 8) [8, 12) [12, 20), steps of 4
    """
    shape, dims = view.shape, view.dims
    digits = digits_of(shape[dim], dims[dim])
    unit, level, place = np.gcd.reduce(np.concatenate([begin, end])), 0, shape[dim] // digits[0][0]
    while unit % place:
        level += 1
        place //= digits[level][0]
    size, stride = digits[level]
    begin, end = begin // place, end // place
    first = begin // size
    count = (end - 1) // size - first + 1
    if count.sum() > MOST_CUTS * len(begin):
        return None
    source = np.repeat(np.arange(len(begin)), count)
    row = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count) + first[source]
    low, high = np.maximum(begin[source], row * size), np.minimum(end[source], (row + 1) * size)
    off = view.off + (low - row * size) * stride
    for extent, step in reversed(digits[:level]):
        row, digit = np.divmod(row, extent)
        off += digit * step
    inner = coalesce([*digits[level + 1 :], *flat_digits(shape[dim + 1 :], dims[dim + 1 :])])
    return _of_steps(view, dim, digits[level], inner, high - low, off)


def _continued(pieces: SlicedViews) -> SlicedViews:
    """Join pieces that continue their neighbour along the axis."""
    stride = pieces.template.dims[1]
    starts = np.ones(len(pieces), np.bool_)
    np.not_equal(np.diff(pieces.off), pieces.extent[:-1] * stride, out=starts[1:])
    if starts.all():
        return pieces
    first = np.flatnonzero(starts)
    return SlicedViews(pieces.template, np.add.reduceat(pieces.extent, first), pieces.off[first])


def _joined(pieces: SlicedViews, outer: int, shape: Shape) -> View:
    places = _places(pieces)
    if places is None:
        pieces = _continued(pieces)
        places = _places(pieces)
    groups = [(0, len(pieces))] if places is not None else _groups(pieces)
    if groups is None:
        return View(shape, row_major(shape), 0, Cat(pieces, outer))
    parts = []
    for first, count in groups:
        kid = pieces[first]
        part = part_of(placed(kid.shape, kid.dims, kid.off, kid.space) if count == 1 else kid, 1)
        if count > 1:
            step = int(pieces.off[first + 1] - pieces.off[first])
            digits = coalesce([*(places or [(count, step)]), *part.digits])
            part = part._replace(digits=tuple(digits), size=count * part.size)
        parts.append(part)
    return joined(parts, outer, shape)


def _places(pieces: SlicedViews) -> list[Digit] | None:
    """Write the offsets of equal pieces as digits, or return None where they are not regular."""
    if (pieces.extent != pieces.extent[0]).any():
        return None
    digits: list[Digit] = []
    off = pieces.off
    while len(off) > 1:
        step = off[1] - off[0]
        differ = np.diff(off) != step
        count = int(differ.argmax()) + 1 if differ.any() else len(off)
        if len(off) % count or (np.diff(off.reshape(-1, count)) != step).any():
            return None
        digits.append((count, int(step)))
        off = off[::count]
    return digits[::-1]


def _groups(pieces: SlicedViews) -> list[tuple[int, int]] | None:
    """Return (first, count) of progressions and of single pieces, or None when they are many.

    As in `concat`, a progression has at least three pieces.
    """
    last = len(pieces) - 2
    alike = pieces.extent[1:] == pieces.extent[:-1]
    steps = np.diff(pieces.off)
    goes_on = alike[1:] & alike[:-1] & (steps[1:] == steps[:-1])
    ends = np.flatnonzero(~goes_on)
    if len(ends) > 3 * FEW:
        return None
    stops = [*ends.tolist(), last, last + 1]
    groups = []
    first = 0
    while first <= last + 1:
        stop = stops[bisect_left(stops, first)]
        groups.append((first, stop - first + 2 if stop > first else 1))
        first += groups[-1][1]
    return groups if len(groups) <= FEW else None
