"""Views cut into parts on variables, in order, a few at a time.

A view of a `Cat` is cut where it leaves a kid, then each part where it leaves a kid of the space
below, and so on.  A part on a variable stays as it is, however many runs it has::

    (a0 a1 a2 a3) (b0 b1 b2) read backwards      b2 b1 b0 | a3 a2 a1 a0

Nothing is listed before it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from poplite.arrays.digits import Digit, cut_digits, pack
from poplite.view.concat import ConcatPart, joined
from poplite.view.view import Cat, Storage, View, placed

MOST_LEVELS = 128
"""Nested concatenations that are kept as they are."""

MOST_STEPS = 2**16
"""Cuts and descents that may be spent on replacing many levels by one: half a second."""


def flat(digits: Sequence[Digit], off: int, space: Storage | Cat) -> View:
    """Return the one-dimensional view that coalesced digits describe."""
    size = math.prod([extent for extent, _ in digits])
    return View((size,), (pack(digits),), off, space)


def cut(view: View, begin: int, end: int) -> list[View]:
    """Cut a range out of a one-dimensional view, in parts on the same space.

    >>> [part.shape for part in cut(flat(((3, 1), (4, 6)), 0, Storage(0, 0, 24)), 2, 12)]
    [(2,), (8,)]
    """
    if end - begin == view.shape[0]:
        return [view]
    pieces = cut_digits(tuple(view.flat_digits()), begin, end, view.off)
    return [View((size,), (pack(digits),), off, view.space) for digits, size, off in pieces]


def opened(view: View) -> Iterator[View]:
    """Cut a one-dimensional view of a `Cat` one step further.

    The views follow each other; each has fewer digits, or is on a space below.
    """
    space = view.space
    assert isinstance(space, Cat)
    below = placed(view.shape, view.dims, view.off, space)
    if below.space is not space:
        yield flat(below.flat_digits(), below.off, below.space)
        return
    digits = view.flat_digits()
    if len(digits) > 1:
        (extent, stride), inner = digits[0], digits[1:]
        for i in range(extent):
            yield flat(inner, view.off + i * stride, space)
        return
    (left, step), position = digits[0], view.off
    while left:
        kid, begin, end = space.kid_at(position % space.period)
        start = position - position % space.period
        room = start + end - 1 - position if step > 0 else position - start - begin
        count = min(left, room // abs(step) + 1) if step else left
        yield from _within(kid, start // space.period, begin, end, position, count, step, space)
        position += count * step
        left -= count


def _within(
    kid: View, repetition: int, begin: int, end: int, position: int, count: int, step: int, cat: Cat
) -> Iterator[View]:
    """Cut steps inside one chunk of a kid at the digits of the kid."""
    if abs(step) == 1:
        first = repetition * (end - begin) + position % cat.period - begin
        low = first if step > 0 else first - count + 1
        pieces = cut_digits(tuple(kid.flat_digits()), low, low + count, kid.off)
        for digits, _, off in pieces if step > 0 else pieces[::-1]:
            if step > 0:
                yield flat(digits, off, kid.space)
            else:
                reach = sum([(extent - 1) * stride for extent, stride in digits])
                back = tuple([(extent, -stride) for extent, stride in digits])
                yield flat(back, off + reach, kid.space)
        return
    below = placed((count,), (step,), position, cat)
    if below.space is not cat:
        yield flat(below.flat_digits(), below.off, below.space)
        return
    for i in range(count):
        yield placed((1,), (0,), position + i * step, cat)


def one_level(view: View) -> View | None:
    """Return an equal view with at most one level of concatenation, or None if it takes too long.

    >>> from poplite.view.view import all_of, layer
    >>> one_level(layer(layer(all_of(Storage(0, 0, 6), (6,)).reverse(0)))).space
    <Storage variable 0, 6 elements at 0>
    """
    found: list[ConcatPart] = []
    everything = flat(view.flat_digits(), view.off, view.space)
    stack, steps = [(levels(view.space), iter([everything]))], 0
    while stack:
        level, rest = stack[-1]
        part = next(rest, None)
        if part is None:
            stack.pop()
            continue
        steps += 1 + level - levels(part.space)
        if steps > MOST_STEPS:
            return None
        if isinstance(part.space, Storage):
            found.append(
                ConcatPart(part.space, (), tuple(part.flat_digits()), part.shape[0], part.off)
            )
        else:
            stack.append((levels(part.space), opened(part)))
    return joined(found, 1, (view.num_elements,)).reshape(view.shape)


def levels(space: Storage | Cat) -> int:
    """Return how many concatenations are nested."""
    return 0 if isinstance(space, Storage) else space.levels
