"""Concatenation: pieces that continue each other are merged, the others become one `Cat`.

Along dimension `axis`, every piece is read as `outer` repetitions (the dimensions before
the axis) of one chunk (the axis and all after it).  Pieces are merged in this order:

1. all pieces form one strided view: one mixed-radix number is recognised in consecutive
   pieces, so that a view that is cut and joined again becomes the original view, and the nine
   shifted windows of a 3x3 convolution become one view::

       0 1 2 | 3 4 5 6 7 | 8            begins at 0, steps of 1: ((9, 1),)
       2 3 | 100 101 102 103 | 200 201  ((2, 100), (2, 98), (2, 1))

2. a piece continues its neighbour's outermost digit: `[0:2], [2:5]` -> `[0:5]`;
3. three or more equal pieces at equal distances become a digit.  Merging mere pairs
   would turn 1,024 shuffled columns into 512 irregular pairs, which are harder to reason about.

A piece that is a range of another `Cat` with the same period structure is replaced by the
kids it covers, so that repeated appending does not nest.

Many slices of one view are joined by `concat_slices` without a Python object for each. They are
arrays of begins and ends, merged by the same rules, but all at once:

1. slices that begin where the previous one ends are joined;
2. equal pieces, equally spaced at each place, are one strided view;
3. otherwise, pieces that continue their neighbour are joined, and the second rule is tried again;
4. if few are left, counting each progression as one, they become views and are passed to `concat`;
5. the rest is stored as arrays: a `Cat` of `SlicedViews`.

Pieces differ only in their begin and length, so two numbers describe each piece.  The
template is the view from which they are cut, with dimensions (outer, axis, inner)::

    a = all_of(storage, (4, 6))              rows 1 to 3, row 0, rows 2 to 3
    template    shape (1, 4, 6), dims (0, 6, 1)
    extent      2  1  1                     of each piece along the axis
    off         6  0  12                    of its first element in the space

A piece becomes a `View` only when it is accessed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from poplite.arrays.intervals import Int64, repeated
from poplite.arrays.series import (
    Digit,
    Digits,
    Piece,
    coalesce,
    cut_digits,
    digits_of,
    flat_digits,
    pack,
    regroup,
    row_major,
)
from poplite.view.view import NOWHERE, Cat, Shape, Storage, View, empty, flat, placed


class ConcatPart(NamedTuple):
    """One piece: the digits of its repetitions, and of one chunk of `size` elements."""

    space: Storage | Cat
    outer: Digits
    digits: Digits
    size: int
    off: int


def concat(views: Sequence[View], axis: int) -> View:
    """Join at least one view along a dimension; their shapes are equal except for `axis`.

    The result is one strided view if the pieces form one, otherwise a view of a new `Cat`.

    >>> from poplite.view.view import all_of
    >>> a = all_of(Storage(0, 0, 12), (3, 4))
    >>> concat([a.slice(0, 1, 1), a.slice(1, 4, 1)], 1) == a
    True
    """
    first = views[0].shape
    total = sum([view.shape[axis] for view in views])
    shape = (*first[:axis], total, *first[axis + 1 :])
    pieces = [view for view in views if view.space is not NOWHERE]
    if len(pieces) < 2:
        return pieces[0] if pieces else empty(shape)
    return joined(_parts(pieces, axis), math.prod(shape[:axis]), shape)


def joined(parts: list[ConcatPart], outer: int, shape: Shape) -> View:
    """Join non-empty parts, each repeated `outer` times, into a view of this shape."""
    found = _rebuild(parts)
    if found is None and any(isinstance(part.space, Cat) for part in parts):
        parts = _spliced(parts, outer)
        found = _rebuild(parts)
    if found is None:
        parts = _merged(parts)
    if found is not None or len(parts) == 1:
        return _single(found or parts[0], outer, shape)
    kids = tuple([_kid(part, outer) for part in parts])
    return View(shape, row_major(shape), 0, Cat(kids, outer))


def cut(view: View, pieces: list[Piece], shape: Shape, dim: int) -> View:
    """Join the two or more pieces of dimension `dim` of a view that `cut_digits` returned.

    >>> from poplite.view.view import all_of
    >>> columns = all_of(Storage(0, 0, 24), (4, 6)).dim_shuffle((1, 0)).reshape((24,))
    >>> columns.slice(3, 9, 0).space
    <Cat of 3 views, 1 times, 6 elements>
    """
    space = view.space
    before, after = shape[:dim], shape[dim + 1 :]
    if isinstance(space, Cat):
        dims = [(*view.dims[:dim], pack(digits), *view.dims[dim + 1 :]) for digits, _, _ in pieces]
        return concat(
            [
                placed((*before, size, *after), d, off, space)
                for d, (_, size, off) in zip(dims, pieces, strict=True)
            ],
            dim,
        )
    repetitions, outer = math.prod(before), tuple(flat_digits(before, view.dims[:dim]))
    if after:
        inner, chunk = flat_digits(after, view.dims[dim + 1 :]), math.prod(after)
        pieces = [(tuple(coalesce((*d, *inner))), size * chunk, off) for d, size, off in pieces]
    digits = _one_number(pieces)
    if digits is not None:
        part = ConcatPart(space, outer, digits, math.prod(shape[dim:]), pieces[0][2])
        return _single(part, repetitions, shape)
    first = pack(outer)
    kids = [View((repetitions, size), (first, pack(d)), off, space) for d, size, off in pieces]
    return View(shape, row_major(shape), 0, Cat(tuple(kids), repetitions))


def _parts(views: list[View], axis: int) -> list[ConcatPart]:
    parts: list[ConcatPart] = []
    shape, dims = views[0].shape, views[0].dims
    _, outer, digits, size, _ = part_of(views[0], axis)
    for view in views:
        # Pieces often have the same form: slices of one tensor, variables of one shape.
        if view.shape != shape or view.dims != dims:
            shape, dims = view.shape, view.dims
            _, outer, digits, size, _ = part_of(view, axis)
        parts.append(ConcatPart(view.space, outer, digits, size, view.off))
    return parts


def part_of(view: View, axis: int) -> ConcatPart:
    """Read a view as repetitions (the dimensions before the axis) of a chunk (the others)."""
    shape, dims = view.shape, view.dims
    return ConcatPart(
        view.space,
        tuple(flat_digits(shape[:axis], dims[:axis])),
        tuple(flat_digits(shape[axis:], dims[axis:])),
        math.prod(shape[axis:]),
        view.off,
    )


def _kid(part: ConcatPart, outer: int) -> View:
    return View((outer, part.size), (pack(part.outer), pack(part.digits)), part.off, part.space)


def _single(part: ConcatPart, outer: int, shape: Shape) -> View:
    dims = regroup(coalesce((*part.outer, *part.digits)), shape)
    if dims is not None:
        return View(shape, dims, part.off, part.space)
    return View(shape, row_major(shape), 0, Cat((flat(_kid(part, outer)),), 1))


def _rebuild(parts: list[ConcatPart]) -> ConcatPart | None:
    """Recognise one strided view in all parts; None if there is none."""
    space, outer, _, _, base = parts[0]
    if any([part.space is not space or part.outer != outer for part in parts]):
        return None
    digits = _one_number([part[2:] for part in parts])
    if digits is None:
        return None
    return ConcatPart(space, outer, digits, sum([part.size for part in parts]), base)


def _one_number(todo: list[Piece]) -> Digits | None:
    """Express one or more pieces as the digits of one number, or return None.

    Places are found one by one, innermost first: the stride is the first step, and the extent ends
    where the step changes; every piece must then consist of complete places and ends of places.

    >>> _one_number([((), 1, 7), (((2, 3),), 2, 10)])
    ((3, 3),)
    """
    places: list[Digit] = []
    while len(todo) > 1 or todo[0][1] > 1:
        place = _innermost(todo)
        stripped = _strip(todo, *place)
        if stripped is None:
            return None
        places.append(place)
        todo = stripped
    return tuple(coalesce(reversed(places)))


def _innermost(pieces: list[Piece]) -> Digit:
    digits, size, base = pieces[0]
    stride = digits[-1][1] if digits else pieces[1][2] - base
    position = 0
    for digits, size, off in pieces:
        if off != base + position * stride:
            return position, stride
        if digits and digits[-1][1] != stride:
            return position + 1, stride
        if len(digits) > 1:
            return position + digits[-1][0], stride
        position += size
    return position, stride


def _strip(pieces: list[Piece], extent: int, stride: int) -> list[Piece] | None:
    """Replace every run of `extent` elements by one, or return None.

    A piece that begins or ends inside a run is cut there, but only a limited number of times.
    """
    stripped: list[Piece] = []
    todo = pieces[::-1]
    cuts_left = 4 * len(pieces)
    filled, start = 0, 0
    while todo:
        digits, size, off = todo.pop()
        if filled == 0 and digits[-1:] == ((extent, stride),):
            stripped.append((digits[:-1], size // extent, off))
            continue
        room = extent - filled
        if size > room or digits not in ((), ((size, stride),)):
            cut = cut_digits(digits, 0, min(size, room), off)
            cut += cut_digits(digits, room, size, off) if size > room else []
            cuts_left -= 1
            if len(cut) == 1 or cuts_left < 0:
                return None
            todo += cut[::-1]
            continue
        if filled == 0:
            start = off
        if off != start + filled * stride:
            return None
        filled += size
        if filled == extent:
            stripped.append(((), 1, start))
            filled = 0
    return stripped if filled == 0 else None


def _spliced(parts: list[ConcatPart], outer: int) -> list[ConcatPart]:
    spliced: list[ConcatPart] = []
    for part in parts:
        cat = part.space
        if isinstance(cat, Cat) and _is_range(part, cat, outer):
            spliced += _kids_between(cat, part.off, part.off + part.size)
        else:
            spliced.append(part)
    return spliced


def _is_range(part: ConcatPart, cat: Cat, outer: int) -> bool:
    """Return whether a part is the same range of every period of a Cat."""
    period = cat.period
    return (
        cat.outer == outer
        and part.outer == (((outer, period),) if outer > 1 else ())
        and part.digits == (((part.size, 1),) if part.size > 1 else ())
        and part.off + part.size <= period
    )


def _kids_between(cat: Cat, begin: int, end: int) -> list[ConcatPart]:
    parts: list[ConcatPart] = []
    at = begin
    while at < end:
        kid, first, last = cat.kid_at(at)
        part = part_of(kid.slice(at - first, min(end, last) - first, 1), 1)
        at = last
        inner = part.space
        if isinstance(inner, Cat) and _is_range(part, inner, cat.outer):
            parts += _kids_between(inner, part.off, part.off + part.size)
        else:
            parts.append(part)
    return parts


def _merged(parts: list[ConcatPart]) -> list[ConcatPart]:
    count = len(parts) + 1
    while len(parts) < count:
        count = len(parts)
        parts = _progressions(_continuations(parts))
    return parts


def _continuations(parts: list[ConcatPart]) -> list[ConcatPart]:
    merged = [parts[0]]
    for part in parts[1:]:
        joined = _continued(merged[-1], part)
        if joined is None:
            merged.append(part)
        else:
            merged[-1] = joined
    return merged


def _continued(a: ConcatPart, b: ConcatPart) -> ConcatPart | None:
    if a.space is not b.space or a.outer != b.outer:
        return None
    digits = a.digits if len(a.digits) >= len(b.digits) else b.digits
    if not digits:
        digits = ((1, 1),)
    (_, stride), rest = digits[0], digits[1:]
    if a.digits and a.digits[1:] == rest and a.digits[0][1] == stride:
        count = a.digits[0][0]
    elif a.digits == rest:
        count = 1
    else:
        return None
    inner = a.size // count
    if b.size % inner or b.off - a.off != count * stride:
        return None
    if b.digits != rest and (b.digits[:1] != ((b.size // inner, stride),) or b.digits[1:] != rest):
        return None
    size = a.size + b.size
    return ConcatPart(a.space, a.outer, ((size // inner, stride), *rest), size, a.off)


def _progressions(parts: list[ConcatPart]) -> list[ConcatPart]:
    merged: list[ConcatPart] = []
    i = 0
    while i < len(parts):
        first = parts[i]
        j = i + 1
        while j < len(parts) and parts[j][:4] == first[:4]:
            if parts[j].off - parts[j - 1].off != parts[i + 1].off - first.off:
                break
            j += 1
        count = j - i
        if count < 3:
            merged.append(first)
            i += 1
            continue
        step = parts[i + 1].off - first.off
        digits = tuple(coalesce(((count, step), *first.digits)))
        merged.append(first._replace(digits=digits, size=count * first.size))
        i = j
    return merged


# -- many slices of one view -----------------------------------------------------------------------

FEW = 64
"""Maximum number of pieces that become separate views, with more structure than `SlicedViews`."""

MOST_CUTS = 8
"""Maximum average number of pieces per slice when slices are cut at digits."""


def concat_slices(view: View, begin: Int64, end: Int64, dim: int, axis: int) -> View:
    """Join the slices [begin, end) of dimension `dim` of a view along `axis`.

    `begin` and `end` are int64[P].  Unless `axis` is `dim`, all slices have equal sizes.  The
    result is the view that `concat` returns for the slices, except for how its space is cut.

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
    """Join slices that begin where the previous one ends."""
    starts = np.ones(len(begin) + 1, np.bool_)
    np.not_equal(begin[1:], end[:-1], out=starts[1:-1])
    return begin[starts[:-1]], end[starts[1:]]


class SlicedViews(Sequence[View]):
    """Views of shape (outer, extent * inner), created one by one when indexed.

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
        self.template: View = template
        self.extent: Int64 = extent
        self.off: Int64 = off

    def breaks(self) -> Int64:
        """Return int64[P + 1]: the begin of each piece in a repetition, and its length."""
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
        """Return whether other pieces have the same positions in their space."""
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
    """Return the slices as arrays, or None if they cross digits and cannot be cut there."""
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
    """Return pieces of steps along one digit, repeated by the dimensions before an axis."""
    outer = pack(flat_digits(view.shape[:axis], view.dims[:axis]))
    size, stride = along
    sizes = (math.prod(view.shape[:axis]), size, math.prod([extent for extent, _ in inner]))
    return SlicedViews(View(sizes, (outer, stride, pack(inner)), view.off, view.space), extent, off)


def _cut_at_digits(view: View, begin: Int64, end: Int64, dim: int) -> SlicedViews | None:
    """Cut slices where they cross digits of their dimension; None if there are too many pieces.

    The pieces consist of steps of the outermost digit at which all slices begin and end::

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
    source, within = repeated(count)
    row = first[source] + within
    low, high = np.maximum(begin[source], row * size), np.minimum(end[source], (row + 1) * size)
    off = view.off + (low - row * size) * stride
    for extent, step in reversed(digits[:level]):
        row, digit = np.divmod(row, extent)
        off += digit * step
    inner = coalesce([*digits[level + 1 :], *flat_digits(shape[dim + 1 :], dims[dim + 1 :])])
    return _of_steps(view, dim, digits[level], inner, high - low, off)


def _continued_pieces(pieces: SlicedViews) -> SlicedViews:
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
        pieces = _continued_pieces(pieces)
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
    """Express the offsets of equal pieces as digits, or return None if they are not regular."""
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
    """Return (first, count) of progressions and single pieces, or None if there are too many.

    As in `concat`, a progression has at least three pieces.
    """
    last = len(pieces) - 2
    is_equal = pieces.extent[1:] == pieces.extent[:-1]
    steps = np.diff(pieces.off)
    continues = is_equal[1:] & is_equal[:-1] & (steps[1:] == steps[:-1])
    ends = np.flatnonzero(~continues)
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
