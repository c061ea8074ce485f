"""Equality: whether two views have the same elements in the same order, however they were created.

    a, r = all_of(storage, (2,)), a.reverse(0)      concat([r, a]) and concat([a[1], a[0], a])

There are three tests, the quickest first:

1. Do they have the same structure?  On one variable that decides, since digits are unique;
2. Do they agree at a few positions, those used for the hash?
3. Do they agree everywhere?  Both are cut further and further, until parts of equal sizes have
   the same structure, or are on variables and differ.  If that takes many steps, the runs of
   addresses of both are compared, some at a time.

Nothing is listed after the first difference, and common repetitions are compared once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Digit, coalesce, locate, place_values, regroup
from poplite.errors import SizeOverflowError
from poplite.view.contiguous_runs import cut, flat, levels, opened
from poplite.view.regions import address_at, chunks
from poplite.view.view import NOWHERE, Cat, Storage, View

Pair = tuple[View, View]

STEPS = 2**12
"""Maximum comparisons of parts before runs are compared: about 20 ms."""

MOST_STEPS = 2**21
"""Maximum comparisons of parts of views that are too long for runs: about ten seconds."""

MOST_STREAMED = 2**30
"""Maximum number of elements of views whose runs are compared: about ten seconds."""


def sample(view: View) -> tuple[int, ...]:
    """Return the addresses of at most eight elements: both ends, and some in between.

    >>> from poplite.view.view import all_of
    >>> sample(all_of(Storage(0, 10, 100), (100,)))
    (10, 11, 35, 43, 60, 76, 108, 109)
    """
    space = view.space
    if space is NOWHERE:
        return ()
    last = view.num_elements - 1
    if last < 8:
        places: Iterable[int] = range(last + 1)
    else:
        size = last + 1
        places = (0, 1, size // 4, size // 3, size // 2, size * 2 // 3, last - 1, last)
    if isinstance(space, Storage):
        digits, base = view.flat_digits(), space.base + view.off
        return tuple([base + locate(digits, i) for i in places])
    return tuple([address_at(view, i) for i in places])


def same_elements(a: View, b: View) -> bool:
    """Return whether two views of one graph have the same elements in the same shape.

    Views without elements are the same if their shapes are equal.

    Raises:
        SizeOverflowError: when they are too long to compare.

    >>> from poplite.view.concatenation import concat
    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 2), (2,))
    >>> r = x.reverse(0)
    >>> same_elements(concat([r, x], 0), concat([x.slice(1, 2, 0), x.slice(0, 1, 0), x], 0))
    True
    """
    if a == b:
        return True
    if a.shape != b.shape:
        return False
    # On a variable, digits are unique.
    if isinstance(a.space, Storage) and isinstance(b.space, Storage):
        return False
    if NOWHERE in (a.space, b.space) or sample(a) != sample(b):
        return False
    one, other = (flat(view.flat_digits(), view.off, view.space) for view in (a, b))
    found = _compared(one, other, STEPS)
    if found is None and one.shape[0] <= MOST_STREAMED:
        try:
            return _same_runs(one, other)
        except SizeOverflowError:  # a space below has too many runs to be listed
            pass
    found = _compared(one, other, MOST_STEPS) if found is None else found
    if found is None:
        raise SizeOverflowError(
            f"two views of {one.shape[0]:,} elements are too long to compare",
            found=f"their structures differ; {MOST_STEPS:,} parts of them were compared",
            fix="compare slices of them",
        )
    return found


def _compared(a: View, b: View, limit: int) -> bool | None:
    """Compare part by part; None if that would take more than `limit` steps."""
    stack: list[Iterator[Pair]] = [iter([(a, b)])]
    steps = 0
    while stack:
        pair = next(stack[-1], None)
        if pair is None:
            stack.pop()
            continue
        if steps == limit:
            return None
        steps += 1
        one, other = _without_repeats(*pair)
        if one == other:
            continue
        if isinstance(one.space, Storage) and isinstance(other.space, Storage):
            return False
        stack.append(
            _periodic(one, other)
            or _ordered(one, other)
            or _columns(one, other)
            or _opened(one, other)
        )
    return True


def _without_repeats(a: View, b: View) -> Pair:
    """Remove the repetitions that both views have in the same places."""
    digits, others = a.flat_digits(), b.flat_digits()
    if not any([stride == 0 for _, stride in digits]):
        return a, b
    repeated = dict(zip(place_values(others), others, strict=True))
    dropped: dict[int, int] = {}
    for place, (extent, stride) in zip(place_values(digits), digits, strict=True):
        times, step = repeated.get(place, (1, 1))
        if stride == 0 == step:
            dropped[place] = math.gcd(extent, times)
    if not dropped:
        return a, b
    return _dropped(a, digits, dropped), _dropped(b, others, dropped)


def _dropped(view: View, digits: list[Digit], times: dict[int, int]) -> View:
    places = place_values(digits)
    left = [(e // times.get(p, 1), s) for p, (e, s) in zip(places, digits, strict=True)]
    return flat(coalesce([digit for digit in left if digit[0] > 1]), view.off, view.space)


def _ordered(a: View, b: View) -> Iterator[Pair] | None:
    """If both read each position of their spaces once, in the same order, compare the spaces."""
    digits = a.flat_digits()
    if digits != b.flat_digits() or digits[:1] == [(a.shape[0], 1)]:
        return None
    upwards = sorted([(abs(stride), extent) for extent, stride in digits], reverse=True)
    if coalesce([(extent, stride) for stride, extent in upwards]) != [(a.shape[0], 1)]:
        return None
    below = sum([(extent - 1) * stride for extent, stride in digits if stride < 0])
    one, other = (View(v.shape, (1,), v.off + below, v.space) for v in (a, b))
    return iter([(one, other)])


def _columns(a: View, b: View) -> Iterator[Pair] | None:
    """If one reads rows of concatenated chunks, compare chunk by chunk, all rows at once."""
    for one, other in ((a, b), (b, a)):
        space, digits = one.space, one.flat_digits()
        if not isinstance(space, Cat) or space.outer == 1 or one.off % space.period:
            continue
        rows, rest = divmod(one.shape[0], space.period)
        if rest or digits != [(one.shape[0], 1)] or rows == 1:
            continue
        dims = regroup(other.flat_digits(), (rows, space.period))
        if dims is None:
            continue
        lines = View((rows, space.period), dims, other.off, other.space)
        return _chunks(one, lines, rows)
    return None


def _chunks(one: View, lines: View, rows: int) -> Iterator[Pair]:
    space = one.space
    assert isinstance(space, Cat)
    first = one.off // space.period
    for k in range(len(space.kids)):
        begin, end = int(space.breaks[k]), int(space.breaks[k + 1])
        kid = space.kids[k].slice(first, first + rows, 0)
        other = lines.slice(begin, end, 1)
        yield (
            flat(kid.flat_digits(), kid.off, kid.space),
            flat(other.flat_digits(), other.off, other.space),
        )


def _opened(a: View, b: View) -> Iterator[Pair]:
    """Cut the view with more levels further, and the other view at the same positions."""
    if levels(a.space) < levels(b.space):
        a, b = b, a
    begin = 0
    for part in opened(a):
        end = begin + part.shape[0]
        yield from _merged([part], cut(b, begin, end))
        begin = end


def _merged(left: list[View], right: list[View]) -> Iterator[Pair]:
    """Cut two lists of views, with equally many elements, into pairs of views of equal sizes."""
    # Each view is stored with the position up to which it is compared, and is not cut there, since
    # that would lose its period.
    lefts, rights = ([(view, 0) for view in reversed(views)] for views in (left, right))
    while lefts:
        (one, i), (other, j) = lefts.pop(), rights.pop()
        size, others = one.shape[0] - i, other.shape[0] - j
        count = min(size, others)
        if i == j and size == others == one.shape[0]:
            yield one, other
            continue
        if size > count:
            lefts.append((one, i + count))
        if others > count:
            rights.append((other, j + count))
        enough = _enough(one, other, count)
        if enough is not None:
            yield from _merged(cut(one, i, i + enough), cut(other, j, j + enough))
        else:
            lefts += [(part, 0) for part in reversed(cut(one, i, i + count))]
            rights += [(part, 0) for part in reversed(cut(other, j, j + count))]


def _periodic(a: View, b: View) -> Iterator[Pair] | None:
    """If both views are periodic, compare only as many elements as decide equality."""
    enough = _enough(a, b, a.shape[0])
    return None if enough is None else _merged(cut(a, 0, enough), cut(b, 0, enough))


def _enough(a: View, b: View, count: int) -> int | None:
    """Return how many of `count` elements decide equality, or None if all are needed.

    Sequences with periods p and q that agree in p + q elements agree everywhere (Fine and Wilf).
    """
    sizes = [_period(view) for view in (a, b)]
    return sum(sizes) if all(sizes) and sum(sizes) < count else None


def _period(view: View) -> int:
    """Return the number of elements after which a view repeats; 0 if it is not periodic."""
    digits = view.flat_digits()
    if not digits or digits[0][1]:
        return 0
    return view.shape[0] // digits[0][0]


def _same_runs(a: View, b: View) -> bool:
    """Compare all runs of addresses, some at a time; equal elements have equal runs."""
    nothing = np.empty(0, np.int64)
    streams = chunks(a), chunks(b)
    left: tuple[Int64, Int64] = nothing, nothing
    right = left
    while True:
        if not len(left[0]):
            left = next(streams[0], left)
        if not len(right[0]):
            right = next(streams[1], right)
        count = min(len(left[0]), len(right[0]))
        if not count:
            return len(left[0]) == len(right[0])
        for one, other in zip(left, right, strict=True):
            if not np.array_equal(one[:count], other[:count]):
                return False
        left = left[0][count:], left[1][count:]
        right = right[0][count:], right[1][count:]
