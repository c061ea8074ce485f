"""Concatenation: merge what continues, keep the rest as one `Cat`.

Along dimension `axis`, every piece is read as `outer` repetitions (the dimensions before
the axis) of one chunk (the axis and all after it).  Pieces are merged in this order:

1. all pieces together are one strided view (slices put back together; the nine shifted
   windows of a 3x3 convolution);
2. a piece continues its neighbour's outermost digit: `[0:2], [2:5]` -> `[0:5]`;
3. three or more equal pieces at equal distances become a digit.  Merging mere pairs
   would turn 1,024 shuffled columns into 512 odd pairs, which are harder to reason about.

A piece that is a range of another `Cat` of the same period structure is replaced by the
kids it covers, so repeated appending does not nest.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from poplite.view.digits import (
    Digit,
    Digits,
    coalesce,
    cut_points,
    flat_digits,
    pack,
    regroup,
    row_major,
    slice_digits,
)
from poplite.view.space import NOWHERE, Storage
from poplite.view.view import Cat, Shape, View, empty, flat


class _Part(NamedTuple):
    """One piece: digits of the repetitions, and of one chunk of `size` elements."""

    space: Storage | Cat
    outer: Digits
    digits: Digits
    size: int
    off: int


def concat(views: Sequence[View], axis: int) -> View:
    """Join views along one dimension.

    Args:
        views: at least one; equal shapes but for the axis.
        axis: the dimension along which they follow each other.

    Returns:
        One strided view where the pieces form one, else a view of a new `Cat`.

    >>> from poplite.view.view import whole
    >>> a = whole(Storage(0, 0, 12), (3, 4))
    >>> concat([a.slice(0, 1, 1), a.slice(1, 4, 1)], 1) == a
    True
    """
    first = views[0].shape
    total = sum([view.shape[axis] for view in views])
    shape = (*first[:axis], total, *first[axis + 1 :])
    pieces = [view for view in views if view.space is not NOWHERE]
    if len(pieces) < 2:
        return pieces[0] if pieces else empty(shape)
    outer = math.prod(shape[:axis])
    parts = _parts(pieces, axis)
    found = _rebuild(parts)
    if found is None:
        parts = _spliced(parts, outer)
        found = _rebuild(parts)
    parts = _merged(parts) if found is None else [found]
    if len(parts) == 1:
        return _single(parts[0], outer, shape)
    kids = tuple([_kid(part, outer) for part in parts])
    return View(shape, row_major(shape), 0, Cat(kids, outer))


def _parts(views: list[View], axis: int) -> list[_Part]:
    parts: list[_Part] = []
    shape, dims = views[0].shape, views[0].dims
    _, outer, digits, size, _ = _part(views[0], axis)
    for view in views:
        # Pieces are often alike: slices of one tensor, variables of one shape.
        if view.shape != shape or view.dims != dims:
            shape, dims = view.shape, view.dims
            _, outer, digits, size, _ = _part(view, axis)
        parts.append(_Part(view.space, outer, digits, size, view.off))
    return parts


def _part(view: View, axis: int) -> _Part:
    shape, dims = view.shape, view.dims
    return _Part(
        view.space,
        tuple(flat_digits(shape[:axis], dims[:axis])),
        tuple(flat_digits(shape[axis:], dims[axis:])),
        math.prod(shape[axis:]),
        view.off,
    )


def _kid(part: _Part, outer: int) -> View:
    return View((outer, part.size), (pack(part.outer), pack(part.digits)), part.off, part.space)


def _single(part: _Part, outer: int, shape: Shape) -> View:
    dims = regroup(coalesce((*part.outer, *part.digits)), shape)
    if dims is not None:
        return View(shape, dims, part.off, part.space)
    return View(shape, row_major(shape), 0, Cat((flat(_kid(part, outer)),), 1))


def _rebuild(parts: list[_Part]) -> _Part | None:
    """Recognise one strided view in all parts together.

    Place by place, innermost first: the stride is the first step, the extent is where
    equal steps end, and every part must then consist of whole places and ends of them.
    """
    space, outer, _, _, base = parts[0]
    if any(part.space is not space or part.outer != outer for part in parts):
        return None
    places: list[Digit] = []
    todo = [(part.digits, part.size, part.off) for part in parts]
    while len(todo) > 1 or todo[0][1] > 1:
        place = _innermost(todo)
        stripped = _strip(todo, *place)
        if stripped is None:
            return None
        places.append(place)
        todo = stripped
    size = math.prod([extent for extent, _ in places])
    return _Part(space, outer, tuple(coalesce(reversed(places))), size, base)


_Piece = tuple[Digits, int, int]


def _innermost(pieces: list[_Piece]) -> Digit:
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


def _strip(pieces: list[_Piece], extent: int, stride: int) -> list[_Piece] | None:
    """Replace every run of `extent` elements by one, or return None.

    A piece may begin or end inside a run; it is cut there, though not without limit.
    """
    stripped: list[_Piece] = []
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
            points = cut_points(digits, 0, min(size, room))
            points += cut_points(digits, room, size)[1:] if size > room else []
            cuts_left -= 1
            if len(points) == 2 or cuts_left < 0:
                return None
            todo += [_piece(digits, a, b, off) for a, b in pairwise(points)][::-1]
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


def _piece(digits: Digits, begin: int, end: int, off: int) -> _Piece:
    part = slice_digits(digits, begin, end)
    assert part is not None, "cut where slice_digits needs no cut"
    return tuple(part[0]), end - begin, off + part[1]


def _spliced(parts: list[_Part], outer: int) -> list[_Part]:
    spliced: list[_Part] = []
    for part in parts:
        cat = part.space
        if isinstance(cat, Cat) and _is_range(part, cat, outer):
            spliced += _kids_between(cat, part.off, part.off + part.size)
        else:
            spliced.append(part)
    return spliced


def _is_range(part: _Part, cat: Cat, outer: int) -> bool:
    """Tell whether a part is the same range of every period of a Cat."""
    period = cat.breaks[-1]
    return (
        cat.outer == outer
        and part.outer == (((outer, period),) if outer > 1 else ())
        and part.digits == (((part.size, 1),) if part.size > 1 else ())
        and part.off + part.size <= period
    )


def _kids_between(cat: Cat, begin: int, end: int) -> list[_Part]:
    breaks = cat.breaks
    parts: list[_Part] = []
    k = bisect_right(breaks, begin) - 1
    while k < len(cat.kids) and breaks[k] < end:
        low = max(begin, breaks[k]) - breaks[k]
        high = min(end, breaks[k + 1]) - breaks[k]
        part = _part(cat.kids[k].slice(low, high, 1), 1)
        inner = part.space
        if isinstance(inner, Cat) and _is_range(part, inner, cat.outer):
            parts += _kids_between(inner, part.off, part.off + part.size)
        else:
            parts.append(part)
        k += 1
    return parts


def _merged(parts: list[_Part]) -> list[_Part]:
    count = len(parts) + 1
    while len(parts) < count:
        count = len(parts)
        parts = _progressions(_continuations(parts))
    return parts


def _continuations(parts: list[_Part]) -> list[_Part]:
    merged = [parts[0]]
    for part in parts[1:]:
        joined = _continued(merged[-1], part)
        if joined is None:
            merged.append(part)
        else:
            merged[-1] = joined
    return merged


def _continued(a: _Part, b: _Part) -> _Part | None:
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
    return _Part(a.space, a.outer, ((size // inner, stride), *rest), size, a.off)


def _progressions(parts: list[_Part]) -> list[_Part]:
    merged: list[_Part] = []
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
