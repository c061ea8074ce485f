"""Runs of views that have few, in Python: faster than any array, and no code to load.

Over a `Cat`, a range of positions is cut at the kids it meets, and each part at the digits of its
kid, until all parts are on variables::

    positions 2 to 5 of (a0 a1 a2) (b2 b1 b0)      a2 | b2 | b1
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from poplite.arrays.digits import Digit, cut_digits
from poplite.view.view import NOWHERE, Cat, Storage, View

FEW = 64
"""Most runs, before any join, that are listed here."""


def few_runs(view: View) -> tuple[list[int], list[int]] | None:
    """Return addresses and lengths of the maximal runs, or None if there may be more than `FEW`.

    >>> from poplite.view.view import all_of
    >>> few_runs(all_of(Storage(0, 10, 6), (2, 3)).slice(0, 2, 1))
    ([10, 13], [2, 2])
    """
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Cat):
        return _of_cat(space, digits, view.off)
    if space is NOWHERE:
        return [], []
    starts, run = _starts(digits, space.base + view.off)
    if starts is None:
        return None
    # Coalesced, a run and one digit never join.
    if len(digits) < 2 or (run > 1 and len(digits) == 2):
        return starts, [run] * len(starts)
    begin: list[int] = []
    length: list[int] = []
    for start in starts:
        _append(begin, length, start, run)
    return begin, length


def _starts(digits: Sequence[Digit], base: int) -> tuple[list[int] | None, int]:
    """List where runs begin before any join, or None where they are many; and their length."""
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


def _of_cat(cat: Cat, digits: Sequence[Digit], off: int) -> tuple[list[int], list[int]] | None:
    begin: list[int] = []
    length: list[int] = []
    left = FEW
    # Parts that remain, the first one last.
    todo: list[tuple[Cat | Storage, Sequence[Digit], int]] = [(cat, digits, off)]
    while todo:
        space, digits, off = todo.pop()
        starts, run = _starts(digits, off)
        if starts is None:
            return None
        left -= len(starts)
        if left < 0:
            return None
        if isinstance(space, Storage):
            for start in starts:
                _append(begin, length, space.base + start, run)
        else:
            parts = _parts(space, starts, run, left)
            if parts is None:
                return None
            todo += parts[::-1]
    return begin, length


def _parts(
    cat: Cat, starts: list[int], run: int, most: int
) -> list[tuple[Cat | Storage, Sequence[Digit], int]] | None:
    """Cut ranges of positions at the kids of a space; None if there were more than `most` parts."""
    parts: list[tuple[Cat | Storage, Sequence[Digit], int]] = []
    if run // cat.period * len(cat.kids) > most:
        return None
    for position in starts:
        left = run
        rest = position % cat.period
        last = bisect_left(cat.breaks, min(rest + run, cat.period))
        if last - bisect_right(cat.breaks, rest) > most:
            return None
        while left:
            if len(parts) > most:
                return None
            repetition, rest = divmod(position, cat.period)
            kid, begin, end = cat.kid_at(rest)
            take = min(left, end - rest)
            first = repetition * (end - begin) + rest - begin
            digits = tuple(kid.flat_digits())
            for inside, _, off in cut_digits(digits, first, first + take, kid.off):
                parts.append((kid.space, inside, off))
            position += take
            left -= take
    return parts
