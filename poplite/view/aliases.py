"""Who shares elements: aliases inside a view, intersections of views, constants.

Over one variable a view is a strided set of addresses and `strided` answers.  A view of a
`Cat` is taken apart into the strided sets of its kids, as long as it reads the whole Cat
once; what is left over after that is compared as sorted runs::

    view of a Cat
      repeats a position          -> aliases
      else, kids never overlap    -> none               (found once per Cat)
      else, reads all of the Cat  -> aliases
      else                        -> sort its runs

Sets that overlap in span are told apart by their residues (columns, phases, channel
groups), then in pairs, then by marking elements in a bitmap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poplite.view.digits import Digits
from poplite.view.regions import Int64, below, runs, storages
from poplite.view.space import NOWHERE, Storage
from poplite.view.strided import meet, repeats, span
from poplite.view.view import Cat, View

PAIRS_PER_SET = 16
"""Pairs compared one by one, for each set, before a bitmap is cheaper."""


class _Set(NamedTuple):
    """A strided set of addresses, from least to greatest; all steps positive."""

    low: int
    high: int
    digits: Digits


def contains_aliases(view: View) -> bool:
    """Tell whether some element occurs twice in a view.

    >>> from poplite.view.view import whole
    >>> row = whole(Storage(0, 0, 6), (1, 6))
    >>> contains_aliases(row), contains_aliases(row.broadcast(2, 0))
    (False, True)
    """
    digits, space = view.flat_digits(), view.space
    if repeats(digits):
        return True
    if isinstance(space, Storage) or _alias_free(space):
        return False
    if view.num_elements == space.num_elements:
        return True
    return _runs_overlap(*runs(view))


def intersects(a: View, b: View) -> bool:
    """Tell whether two views share an element.

    >>> from poplite.view.view import whole
    >>> row = whole(Storage(0, 0, 6), (6,))
    >>> even, odd = row.sub_sample(2, 0), row.slice(1, 6, 0).sub_sample(2, 0)
    >>> intersects(row, odd), intersects(even, odd)
    (True, False)
    """
    if a.space is NOWHERE or b.space is NOWHERE:
        return False
    if isinstance(a.space, Storage) and isinstance(b.space, Storage):
        return a.space is b.space and meet(a.off, a.flat_digits(), b.off, b.flat_digits())
    if not set(_below(a)) & set(_below(b)):
        return False
    sets_a, sets_b = _sets(a), _sets(b)
    if sets_a is None or sets_b is None:
        return _runs_meet(_union(*runs(a)), _union(*runs(b)))
    return _sets_meet(sets_a, sets_b)


def contains_constant(view: View) -> bool:
    """Tell whether some element of a view belongs to a constant.

    >>> from poplite.view.view import whole
    >>> contains_constant(whole(Storage(0, 0, 6, constant=True), (6,)))
    True
    """
    kinds = {storage.constant for storage in _below(view)}
    if len(kinds) < 2:
        return True in kinds
    return any(storage.constant for storage in storages(view))


def _below(view: View) -> tuple[Storage, ...]:
    """The storages below a view's space, whether or not the view reaches them."""
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    return space.storages


def _alias_free(cat: Cat) -> bool:
    if cat.alias_free is None:
        for space in below(cat):
            if space.alias_free is None:
                space.alias_free = _kids_apart(space)
    assert cat.alias_free is not None
    return cat.alias_free


def _kids_apart(cat: Cat) -> bool:
    """Tell whether no element occurs twice in a Cat, all Cats below it being known."""
    if any(contains_aliases(kid) for kid in cat.kids):
        return False
    if len(cat.kids) == 1:
        return True
    sets: list[_Set] = []
    for kid in cat.kids:
        below_kid = _sets(kid)
        if below_kid is None:
            pieces = [runs(kid) for kid in cat.kids]
            begin, length = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
            return not _runs_overlap(begin, length)
        sets += below_kid
    return not _any_meet(sets, [0] * len(sets), same_side=True)


def _sets(view: View) -> list[_Set] | None:
    """Return strided sets of addresses that make up a view, or None where it needs runs."""
    found: list[_Set] = []
    todo = [view]
    while todo:
        view = todo.pop()
        space, digits = view.space, view.flat_digits()
        if isinstance(space, Storage):
            low, high = span(space.base + view.off, digits)
            steps = tuple(sorted([(e, abs(s)) for e, s in digits if s], key=lambda d: -d[1]))
            found.append(_Set(low, high, steps))
        elif view.num_elements == space.num_elements and not repeats(digits):
            todo += space.kids
        else:
            return None
    return found


def _sets_meet(a: list[_Set], b: list[_Set]) -> bool:
    return _any_meet([*a, *b], [0] * len(a) + [1] * len(b), same_side=False)


def _any_meet(sets: list[_Set], sides: list[int], *, same_side: bool) -> bool:
    """Tell whether two sets share an address: any two, or two of different sides."""
    pairs = _overlapping_spans(sets, sides, same_side)
    if pairs is None:
        if _residues_apart(sets):
            return False
        return _marks_meet(sets, sides, same_side)
    return any(meet(sets[i].low, sets[i].digits, sets[j].low, sets[j].digits) for i, j in pairs)


def _overlapping_spans(
    sets: list[_Set], sides: list[int], same_side: bool
) -> list[tuple[int, int]] | None:
    """List the pairs whose spans overlap, or return None when they are very many."""
    pairs: list[tuple[int, int]] = []
    active: list[int] = []
    for i in sorted(range(len(sets)), key=lambda i: sets[i].low):
        low = sets[i].low
        active = [j for j in active if sets[j].high >= low]
        pairs += [(j, i) for j in active if same_side or sides[i] != sides[j]]
        if len(pairs) > PAIRS_PER_SET * len(sets) or len(active) > PAIRS_PER_SET * 4:
            return None
        active.append(i)
    return pairs


def _residues_apart(sets: list[_Set]) -> bool:
    """Tell whether the sets lie in disjoint ranges of residues modulo their coarsest steps.

    A sufficient test: 64 columns of a matrix with 64 columns have one residue each.
    """
    modulus = math.gcd(*[s.digits[0][1] for s in sets if s.digits])
    if modulus < 2:
        return False
    ranges = []
    for s in sets:
        fine = [(e, step) for e, step in s.digits if step % modulus]
        width = sum([(e - 1) * step for e, step in fine]) + 1
        ranges.append((s.low % modulus, width))
    ranges.sort()
    ends = [low + width for low, width in ranges]
    starts = [low for low, _ in ranges[1:]] + [ranges[0][0] + modulus]
    return all(end <= start for end, start in zip(ends, starts, strict=True))


def _marks_meet(sets: list[_Set], sides: list[int], same_side: bool) -> bool:
    """Mark every set in a bitmap of the addresses between the least and the greatest."""
    low = min(s.low for s in sets)
    marks = np.zeros(max(s.high for s in sets) - low + 1, np.uint8)
    for i in sorted(range(len(sets)), key=lambda i: sides[i]):
        s = sets[i]
        seen = np.lib.stride_tricks.as_strided(
            marks[s.low - low :], [e for e, _ in s.digits], [step for _, step in s.digits]
        )
        if (same_side or sides[i]) and seen.any():
            return True
        if same_side or not sides[i]:
            seen[...] = 1
    return False


def _runs_overlap(begin: Int64, length: Int64) -> bool:
    order = np.argsort(begin)
    begin = begin[order]
    return bool((begin[1:] < begin[:-1] + length[order][:-1]).any())


def _union(begin: Int64, length: Int64) -> tuple[Int64, Int64]:
    """Return the begins and ends of the disjoint intervals that runs cover, in order."""
    order = np.argsort(begin)
    begin, end = begin[order], (begin + length)[order]
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.append(True, begin[1:] > reach[:-1]))
    return begin[first], reach[np.append(first[1:] - 1, len(begin) - 1)]


def _runs_meet(a: tuple[Int64, Int64], b: tuple[Int64, Int64]) -> bool:
    """Tell whether two sorted lists of disjoint intervals share an element."""
    next_b = np.searchsorted(b[1], a[0], side="right")
    inside = next_b < len(b[0])
    return bool((b[0][next_b[inside]] < a[1][inside]).any())
