"""Many strided sets of addresses at once, as arrays: does any share an address with another?

A set is a least address and digits, all steps upward; the order of its elements is forgotten.
Tests over all sets together are tried from the cheapest on::

    spans        |--a--|    |--b--|      do not overlap: apart; exact where sets have no gaps
    residues     a.b.a.b.a.b.            modulo the coarsest steps, the same for what is left
    pairs        a.....b.a               one by one, where few spans overlap
    bitmap       11.1..11                every element marked once

Sets are compared with each other, or those of one group with those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.jit.kernels.aliasing import MARK, TEST, visit
from poplite.jit.native import address, native
from poplite.view.strided_sets import LARGEST_SPAN, meet

Mask = npt.NDArray[np.bool_]

FEW_PAIRS = 1024
"""So few pairs are always compared one by one: a few milliseconds."""

ELEMENTS_PER_PAIR = 2048
"""Elements that are marked in the time that comparing one pair takes."""

MOST_PAIRS = 2**20
"""Pairs that are compared where a bitmap would be too large: a few seconds."""

MANY = 4096
"""More sets without gaps than this are marked in a bitmap rather than sorted ..."""

ADDRESSES_PER_SET = 512
"""... unless they lie farther apart than this."""


class Sets(NamedTuple):
    """Strided sets of addresses.

    Attributes:
        low: int64[N], the least address of each.
        high: int64[N], the greatest.
        extent: int64[N, K], extents of the digits, at least one column; 1 where there is none.
        stride: int64[N, K], not negative; 0 only where the extent is 1.
    """

    low: Int64
    high: Int64
    extent: Int64
    stride: Int64

    def digits(self, i: int) -> list[Digit]:
        """Return the digits of one set."""
        rows = zip(self.extent[i].tolist(), self.stride[i].tolist(), strict=True)
        return [(extent, stride) for extent, stride in rows if extent > 1]


def sets_of(base: Int64, extent: Int64, stride: Int64) -> Sets:
    """Return sets from digits of any sign; repeated elements count once.

    `base`: int64[N], addresses with all digits 0; `extent` and `stride`: int64[N, K], K at least 1.

    >>> one = sets_of(np.array([9]), np.array([[3, 2]]), np.array([[-4, 0]]))
    >>> one.low.tolist(), one.high.tolist(), one.digits(0)
    ([1], [9], [(3, 4)])
    """
    low, high = base.copy(), base.copy()
    for column in range(extent.shape[1]):
        reach = (extent[:, column] - 1) * stride[:, column]
        low += np.minimum(reach, 0)
        high += np.maximum(reach, 0)
    steps = stride != 0
    if not steps.all():
        extent = np.where(steps, extent, 1)
    return Sets(low, high, extent, np.abs(stride))


def intervals(begin: Int64, length: Int64) -> Sets:
    """Return sets of consecutive addresses."""
    extent = length.reshape(-1, 1)
    return Sets(begin, begin + (length - 1), extent, np.ones_like(extent))


def joined(parts: Sequence[Sets]) -> Sets:
    """Put sets behind each other."""
    if len(parts) == 1:
        return parts[0]
    columns = max([part.extent.shape[1] for part in parts])

    def widened(digits: Int64, filler: int) -> Int64:
        missing = columns - digits.shape[1]
        return np.insert(digits, [0] * missing, filler, axis=1) if missing else digits

    return Sets(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([widened(part.extent, 1) for part in parts]),
        np.concatenate([widened(part.stride, 0) for part in parts]),
    )


def any_meet(a: Sets, b: Sets | None = None) -> bool:
    """Return whether two sets share an address: one of `a` and one of `b`, neither of them empty.

    Without `b`, the sets of `a` are compared with each other, and none may repeat an address.
    Raises `SizeOverflowError` when too many sets overlap over too many addresses, or two sets are
    too hard to compare.

    >>> sets = sets_of(np.array([0, 1]), np.array([[5], [5]]), np.array([[2], [2]]))
    >>> any_meet(sets), any_meet(sets, intervals(np.array([8]), np.array([1])))
    (False, True)
    """
    parts = [a] if b is None else [a, b]
    low, high = min([int(s.low.min()) for s in parts]), max([int(s.high.max()) for s in parts])
    number = sum([len(s.low) for s in parts])
    without_gaps = all([_is_without_gaps(s) for s in parts])
    if without_gaps and number > MANY and high - low < ADDRESSES_PER_SET * number:
        return marks_meet([[part] for part in parts], low, high)
    sets = joined(parts)
    first = None if b is None else np.arange(number) < len(a.low)
    overlaps = _overlaps(sets.low, sets.high + 1, first)
    if without_gaps or not overlaps.number:
        return overlaps.number > 0
    residues = _residue_overlaps(sets, first)
    if residues is not None and residues.number < overlaps.number:
        overlaps = residues
    elements = float(sets.extent.prod(axis=1, dtype=np.float64).sum())
    too_many = max(high - low + 1, 0 if b is None else elements) > LARGEST_SPAN
    most = MOST_PAIRS if too_many else max(FEW_PAIRS, elements / ELEMENTS_PER_PAIR)
    if overlaps.number <= most:
        return any(
            meet(int(sets.low[i]), sets.digits(i), int(sets.low[j]), sets.digits(j))
            for i, j in overlaps.pairs()
        )
    if too_many:
        raise SizeOverflowError(
            f"too hard to compare: {number:,} strided pieces over {high - low + 1:,} addresses "
            f"(at most {MOST_PAIRS:,} pairs that overlap, or {LARGEST_SPAN:,} addresses)",
            found=f"{overlaps.number:,} pairs; the first piece has digits (extent, stride) "
            f"{sets.digits(0)}",
            fix="compare smaller slices, or copy the view to a variable of its own",
        )
    return marks_meet([[part] for part in parts], low, high)


def _is_without_gaps(sets: Sets) -> bool:
    """Return whether every set is a range of addresses."""
    width = np.ones_like(sets.low)
    for column in range(sets.extent.shape[1] - 1, -1, -1):
        extent = sets.extent[:, column]
        if not ((extent == 1) | (sets.stride[:, column] == width)).all():
            return False
        width *= extent
    return True


class _Overlaps(NamedTuple):
    """Which intervals begin inside which: for each of `inside`, a row of others.

    Attributes:
        number: how many pairs.
        rows: (inside, others, first, count); `others[first[k] : first[k] + count[k]]` begin inside
            `inside[k]`.
    """

    number: int
    rows: Sequence[tuple[Int64, ...]]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the two intervals of each pair."""
        for inside, others, first, count in self.rows:
            owner = np.repeat(inside, count)
            number = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count - first, count)
            yield from zip(owner.tolist(), others[number].tolist(), strict=True)


def _overlaps(begin: Int64, end: Int64, first: Mask | None) -> _Overlaps:
    """Find the pairs of intervals that overlap, one of them `first` and the other not."""
    rows = []
    if first is None:
        order = np.argsort(begin, kind="stable")
        at = np.arange(1, len(order) + 1)
        rows.append((order, order, at, np.searchsorted(begin[order], end[order]) - at))
    else:
        ours, theirs = np.flatnonzero(first), np.flatnonzero(~first)
        ours, theirs = (part[np.argsort(begin[part], kind="stable")] for part in (ours, theirs))
        # The later of a pair begins inside the earlier; ours counts as later where both begin.
        at = np.searchsorted(begin[ours], begin[theirs])
        rows.append((theirs, ours, at, np.searchsorted(begin[ours], end[theirs]) - at))
        at = np.searchsorted(begin[theirs], begin[ours], side="right")
        rows.append((ours, theirs, at, np.searchsorted(begin[theirs], end[ours]) - at))
    return _Overlaps(sum([int(count.sum()) for *_, count in rows]), rows)


def _residue_overlaps(sets: Sets, first: Mask | None) -> _Overlaps | None:
    """Find the pairs that overlap modulo the coarsest steps, or return None if all may.

    Example: each of 64 shuffled columns of a matrix with 64 columns has one residue, so no two do.
    """
    modulus = int(np.gcd.reduce(sets.stride.max(axis=1)))
    if modulus < 2:
        return None
    fine = sets.stride % modulus != 0
    width = ((sets.extent - 1) * sets.stride).sum(axis=1, where=fine) + 1
    if int(width.max()) > modulus:
        return None
    begin = sets.low % modulus
    end = begin + width
    # A range that crosses the end of the circle continues at its beginning.
    owner = np.append(np.arange(len(end)), np.flatnonzero(end > modulus))
    over = owner[len(end) :]
    begin = np.append(begin, np.zeros(len(over), np.int64))
    end = np.append(np.minimum(end, modulus), end[over] - modulus)
    number, rows = _overlaps(begin, end, None if first is None else first[owner])
    return _Overlaps(number, [(owner[a], owner[b], *rest) for a, b, *rest in rows])


def marks_meet(groups: Sequence[Iterable[Sets]], low: int, high: int) -> bool:
    """Return whether two sets share an address by marking every element in a bitmap.

    One group: its sets are compared with each other; two groups: the first with the second.  All
    addresses are in [low, high].  Raises `SizeOverflowError` when the bitmap would have more than
    `LARGEST_SPAN` bits.

    >>> sets = intervals(np.array([0, 9]), np.array([4, 2]))
    >>> marks_meet([[sets]], 0, 10), marks_meet([[sets], [sets]], 0, 10)
    (False, True)
    """
    if high - low >= LARGEST_SPAN:
        raise SizeOverflowError(
            f"too hard to compare: irregular pieces over {high - low + 1:,} addresses "
            f"(at most {LARGEST_SPAN:,} are compared one by one)",
            found=f"{sum(len(sets.low) for group in groups for sets in group):,} pieces",
            fix="compare smaller slices, or copy the view to a variable of its own",
        )
    bits = np.zeros((high - low >> 3) + 1, np.uint8)
    *before, last = groups
    for group in before:
        for sets in group:
            _visit(bits, low, sets, MARK)
    return any(_visit(bits, low, sets, TEST if before else TEST | MARK) for sets in last)


def _visit(bits: npt.NDArray[np.uint8], low: int, sets: Sets, action: int) -> bool:
    first, extent, stride = (np.ascontiguousarray(part) for part in (sets.low, *sets[2:]))
    number, columns = extent.shape
    index = np.empty(columns, np.int64)
    where = [address(part) for part in (first, extent, stride)]
    arguments = (address(bits), low, *where, number, columns, address(index), action)
    return bool(native(visit)(*arguments))
