"""Sets of elements by address: strided if the digits of a view allow it, else lists of runs.

If a view contains no element twice and its strides nest, then its digits, sorted by descending
stride, give the memory order.  The position in the tensor has separate strides::

    (3, 4) transposed, flattened      digits (extent, address step, position step)
    in tensor order                   (4, 1, 3) (3, 4, 1)
    in memory order                   (3, 4, 1) (4, 1, 3)         positions 0 3 6 9 | 1 4 7 10 | ...

A `Cat` whose elements are all read becomes one such set per view.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, overlay
from poplite.arrays.series import Digit, coalesce, grid, pack
from poplite.errors import SizeOverflowError
from poplite.jit.build import address, native
from poplite.jit.kernels_views import FOUND, GAVE_UP, add_multiples, reaches
from poplite.view.concatenation import SlicedViews
from poplite.view.intervals_of_view import chunks, is_layered, runs
from poplite.view.view import NOWHERE, Cat, Storage, View, once

# -- strided sets ----------------------------------------------------------------------------------
# For sets of integers base + x0*s0 + x1*s1 + ..., 0 <= xi < ei: does a set contain a number twice,
# and do two sets share a number?
#
# Both are the same question: does a bounded sum reach a target (a bounded Diophantine
# equation, hard in general, nearly always easy in practice)?  Answers are exact, and the cheapest
# method comes first: nesting, counting and divisibility decide ordinary strides in microseconds; a
# bounded search decides most other cases; bit sets, shifted and merged, decide the rest::
#
#     strides 7, 4, extents 3, 4     sums of the set {0, 4, 8, 12} shifted by 0, 7, 14
#
# A question that is too large for both raises an error.  Source of the problem and its search:
# NumPy's `shares_memory` manual page and `mem_overlap.c`.

FIRST_STEPS = 100
"""Nodes searched before compiled code takes over."""

SEARCH_STEPS = 200_000
"""Nodes searched before bit sets are used; takes milliseconds, like bit sets of 10^7 numbers."""

LAST_STEPS = 4_000_000
"""Nodes searched if the bit sets would be too large: under a second."""

LARGEST_SPAN = 2**33
"""Bits of the largest bit set: one GiB."""


def repeats(digits: Sequence[Digit]) -> bool:
    """Return whether two indices of a number (extents above 1, any strides) have the same offset.

    Raises `SizeOverflowError` for the rare set that is too hard to search and too wide for bit
    sets.

    >>> repeats([(4, 1), (3, 4)]), repeats([(4, 1), (3, 3)]), repeats([(4, 3), (3, 4)])
    (False, True, False)
    """
    if len(digits) < 2:
        return bool(digits) and digits[0][1] == 0
    ordered = sorted([(abs(stride), extent) for extent, stride in digits])
    reach = 0
    nested = True
    for stride, extent in ordered:
        if stride <= reach:
            nested = False
        reach += (extent - 1) * stride
    # With no finer digits the reach is 0, which every stride but 0 exceeds.
    if nested or not ordered[0][0]:
        return not nested
    count = math.prod([extent for _, extent in ordered])
    common = math.gcd(*[stride for stride, _ in ordered])
    if count > reach // common + 1 or _commensurable(ordered):
        return True
    found = _search_repeat(ordered)
    if found is None:
        bits = _sums([(e, s // common) for s, e in ordered])
        return int.from_bytes(bits, "little").bit_count() < count
    return found


def meet(base_a: int, digits_a: Sequence[Digit], base_b: int, digits_b: Sequence[Digit]) -> bool:
    """Return whether two strided sets share a number.

    Raises `SizeOverflowError` for the rare pair that is too hard to search and too wide for bit
    sets.

    >>> meet(0, [(8, 2)], 1, [(8, 2)]), meet(0, [(8, 2)], 1, [(8, 3)])
    (False, True)
    """
    low_a, high_a = span(base_a, digits_a)
    low_b, high_b = span(base_b, digits_b)
    if high_a < low_b or high_b < low_a:
        return False
    # Mirror b, so that a's steps and b's add up to the distance of their ends.
    extents: dict[int, int] = {}
    for extent, stride in (*digits_a, *digits_b):
        if stride:
            stride = abs(stride)
            extents[stride] = extents.get(stride, 1) + extent - 1
    width = max(high_a - low_a, high_b - low_b) + 1
    found = _reaches(sorted(extents.items()), high_b - low_a, width)
    if found is None:
        bits_a, bits_b = _sums(_positive(digits_a)), _sums(_positive(digits_b))
        return _common_bit(bits_a, bits_b, low_b - low_a)
    return found


def span(base: int, digits: Sequence[Digit]) -> tuple[int, int]:
    """Return the smallest and the largest number of a strided set.

    >>> span(10, [(3, -4), (2, 1)])
    (2, 11)
    """
    low = high = base
    for extent, stride in digits:
        if stride > 0:
            high += (extent - 1) * stride
        else:
            low += (extent - 1) * stride
    return low, high


def _positive(digits: Sequence[Digit]) -> list[Digit]:
    return [(extent, abs(stride)) for extent, stride in digits if stride]


def _commensurable(ordered: Sequence[tuple[int, int]]) -> bool:
    """Return whether a step of one digit equals a few steps, within the extent, of a finer one."""
    return any(
        coarse % fine == 0 and coarse // fine < extent
        for i, (fine, extent) in enumerate(ordered)
        for coarse, _ in ordered[i + 1 :]
    )


def _search_repeat(ordered: Sequence[tuple[int, int]]) -> bool | None:
    """Search for two indices with equal offsets, by the coarsest digit in which they differ.

    The result is None if the search takes too many steps.
    """
    width = sum([(e - 1) * s for s, e in ordered]) + 1
    gave_up = False
    for i, (stride, extent) in enumerate(ordered):
        # Differences of the finer digits, shifted to start at 0, and at least one step of it.
        digits = [*[(s, 2 * e - 1) for s, e in ordered[:i]], (stride, extent - 1)]
        target = sum([(e - 1) * s for s, e in ordered[:i]]) - stride
        found = _reaches(digits, target, width)
        if found:
            return True
        gave_up = gave_up or found is None
    return None if gave_up else False


def _reaches(ordered: Sequence[tuple[int, int]], target: int, width: int) -> bool | None:
    """Return whether sum(x * stride), 0 <= x < extent, can be the target; None if it gave up.

    `ordered` has (stride, extent), by ascending stride; `width` is the width of the bit set that
    would replace the search.
    """
    # Up to each place: the reach, the divisor of all sums, and whether they are all its multiples.
    facts = [(0, 0, True)]
    reach, common, dense = facts[0]
    for stride, extent in ordered:
        common = math.gcd(common, stride)
        finest = ordered[0][0]
        dense = dense and common == finest and stride <= reach + finest
        reach += (extent - 1) * stride
        facts.append((reach, common, dense))
    for i in range(len(ordered), 0, -1):
        reach, common, dense = facts[i]
        if target < 0 or target > reach or target % common:
            return False
        if dense:
            return True
        stride, extent = ordered[i - 1]
        low = max(0, -((facts[i - 1][0] - target) // stride))
        high = min(extent - 1, target // stride)
        if low != high:
            return low < high and _search(ordered[:i], facts, target, width)
        target -= low * stride
    return target == 0


def _search(
    ordered: Sequence[tuple[int, int]],
    facts: Sequence[tuple[int, int, bool]],
    target: int,
    width: int,
) -> bool | None:
    words: list[int] = []
    for i, (stride, extent) in enumerate(ordered):
        reach, common, dense = facts[i + 1]
        period = max(facts[i][1] // common, 1)
        inverse = pow(stride // common, -1, period)
        words += [stride, extent, reach, common, dense, period, inverse, 0, 0, 0]
    found = reaches(words, len(ordered), target, FIRST_STEPS)
    if found == GAVE_UP:
        places = np.array(words, np.int64)
        steps = SEARCH_STEPS if width <= LARGEST_SPAN else LAST_STEPS
        found = native(reaches)(address(places), len(ordered), target, steps)
    return None if found == GAVE_UP else found == FOUND


def _sums(digits: Sequence[Digit]) -> Int64:
    """Return the set, shifted to start at 0, as a bit set; each digit takes log2(extent) shifts."""
    width = sum([(e - 1) * s for e, s in digits]) + 1
    if width > LARGEST_SPAN:
        raise SizeOverflowError(
            f"too hard to compare: strides that do not nest, over {width:,} addresses "
            f"(at most {LARGEST_SPAN:,} are compared one by one)",
            found=f"digits (extent, stride): {list(digits)}",
            fix="work on smaller slices, or copy the view to a new variable",
        )
    bits = np.zeros((width >> 6) + 1, np.int64)
    bits[0] = 1
    reach = 0
    # Narrow digits come first, while there are few words to shift.
    for extent, stride in sorted(digits, key=lambda digit: (digit[0] - 1) * digit[1]):
        reach += (extent - 1) * stride
        native(add_multiples)(address(bits), (reach >> 6) + 1, extent, stride)
    return bits


def _common_bit(a: Int64, b: Int64, shift: int) -> bool:
    """Return whether a number in b plus the shift is in a."""
    if shift < 0:
        return _common_bit(b, a, -shift)
    words, part = divmod(shift, 64)
    ours = a[words:].view(np.uint64)
    theirs = b.view(np.uint64)
    count = min(len(ours), len(theirs))
    if (ours[:count] & (theirs[:count] << np.uint64(part))).any():
        return True
    if not part:
        return False
    carried = theirs[: min(count, len(ours) - 1)] >> np.uint64(64 - part)
    return bool((ours[1 : len(carried) + 1] & carried).any())


# -- sets by address -------------------------------------------------------------------------------

RUNS_PER_KID = 128
"""Runs per view below which a Cat's views are listed and sorted, which is cheaper than sets."""

_POSITIONS = Storage(-1, 0, 1 << 62)

Part = tuple[View, int]
"""A view, and the position of its first element in the tensor that contains it."""

Walk = tuple[int, int, int]
"""A digit of addresses and positions: extent, address stride, position stride."""


class Strided(NamedTuple):
    """Elements whose memory order follows from their digits.

    Attributes:
        high: one past the largest address.
        position: position of the element at `low`.
        digits: by descending address stride; all address strides are positive, and digits nest.
    """

    low: int
    high: int
    position: int
    digits: list[Walk]

    def split(self) -> tuple[list[Walk], int, Walk]:
        """Return the digits of the rows, the length of a run, and the digit of a row's runs."""
        rest = list(self.digits)
        run = rest.pop()[0] if rest and rest[-1][1:] == (1, 1) else 1
        row = rest.pop() if rest else (1, run, run)
        return rest, run, row

    @property
    def num_runs(self) -> int:
        """Number of runs, provided that none continues in the next one."""
        outer, _, row = self.split()
        return math.prod([extent for extent, *_ in outer]) * row[0]


class AddressRuns(NamedTuple):
    """Elements listed as runs, in any order.

    Attributes:
        high: one past the largest address.
        address: int64[R], first addresses.
        position: int64[R], positions of the first elements.
        length: int64[R], numbers of elements.
    """

    low: int
    high: int
    address: Int64
    position: Int64
    length: Int64

    @property
    def num_runs(self) -> int:
        """Number of runs."""
        return len(self.address)


def in_memory_order(view: View) -> View:
    """Return a view of the elements of a view of one variable, sorted by stride, without repeats.

    The view must have elements. If the strides nest, this is the memory order.

    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 10, 6), (2, 3))
    >>> in_memory_order(matrix.dim_shuffle((1, 0)).reverse(0).broadcast(4, 1)).shape
    (6,)
    """
    digits = view.flat_digits()
    low = view.off + sum([(extent - 1) * stride for extent, stride in digits if stride < 0])
    rising = sorted([(-abs(stride), extent) for extent, stride in digits if stride])
    size = math.prod([extent for _, extent in rising])
    dim = pack(coalesce([(extent, -stride) for stride, extent in rising]))
    return View((size,), (dim,), low, view.space)


def ranges_of(view: View, begin: Int64, end: Int64) -> AddressRuns:
    """List the ranges [begin, end) of positions of a one-dimensional view as runs.

    `begin` and `end` are int64[n], n at least 1, in any order; no range is empty.

    >>> from poplite.view.view import all_of
    >>> ranges_of(all_of(Storage(0, 10, 6), (6,)), np.array([4, 0]), np.array([5, 3])).address
    array([14, 10])
    """
    low = int(begin.min())
    address, length = runs(view.slice(low, int(end.max()), 0))
    breaks = np.zeros(len(length) + 1, np.int64)
    np.cumsum(length, out=breaks[1:])
    breaks += low
    _, run, first, last = overlay(begin, end, breaks)
    return _spanned(address[run] + first - breaks[run], first, last - first)


def _spanned(address: Int64, position: Int64, length: Int64) -> AddressRuns:
    low, high = int(address.min()), int((address + length).max())
    return AddressRuns(low, high, address, position, length)


def sets_by_address(part: Part | AddressRuns, *, drop: bool) -> Sequence[Strided | AddressRuns]:
    """Return sets whose union contains the elements of a part.

    With `drop`, repeats of an element within a view may be left out, except the first occurrence.

    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 10, 6), (2, 3)).dim_shuffle((1, 0))
    >>> sets_by_address((matrix, 0), drop=False)
    [Strided(low=10, high=16, position=0, digits=[(2, 3, 1), (3, 1, 2)])]
    """
    if isinstance(part, AddressRuns):
        return [part]
    if part[0].space is NOWHERE:
        return []
    return _strided_sets(*part, drop) or [listed(*part)]


def listed(view: View, position: int) -> AddressRuns:
    """List the runs of a view with elements, the first of which has this position."""
    begin, length = runs(view)
    end = np.cumsum(length) + position
    return _spanned(begin, end - length, length)


def _strided_sets(view: View, position: int, drop: bool) -> list[Strided] | None:
    """Split a view into strided sets, or return None if the digits of some do not nest.

    Each view is accompanied by a view of positions in the same order.  A Cat that is read
    completely is put in the order of its own space, together with the positions; the positions of
    its kids are then slices.
    """
    found: list[Strided] = []
    flat = View((view.num_elements,), (1,), position, _POSITIONS)
    todo = [(view, flat)]
    while todo:
        view, places = todo.pop()
        space = view.space
        base = space.base if isinstance(space, Storage) else 0
        ordered = _ordered(view, places, base, drop)
        if ordered is None:
            return None
        if isinstance(space, Storage):
            found.append(ordered)
            continue
        count, size = len(space.kids), space.num_elements
        read = math.prod([extent for extent, *_ in ordered.digits])
        if ordered.low or ordered.high != size or read != size:
            return None  # part of the space is not read
        if count > 1 and count * RUNS_PER_KID * min(_run(view), _run(space.kids[0])) > size:
            return None
        dim = pack(coalesce([(extent, step) for extent, _, step in ordered.digits]))
        places = View((size,), (dim,), ordered.position, _POSITIONS)
        places = places.reshape((space.outer, size // space.outer))
        breaks = space.breaks
        todo += [
            (kid, places.slice(int(breaks[k]), int(breaks[k + 1]), 1))
            for k, kid in enumerate(space.kids)
        ]
    return found


def _run(view: View) -> int:
    """Return the number of elements of the innermost run."""
    digits = view.flat_digits()
    return digits[-1][0] if digits and digits[-1][1] == 1 else 1


def _ordered(view: View, places: View, base: int, drop: bool) -> Strided | None:
    """Sort the digits of a view and of its positions by descending address step."""
    if places.space is not _POSITIONS:
        return None  # the positions are cut into pieces
    pairs = _common(view.flat_digits(), places.flat_digits())
    if pairs is None:
        return None
    low, position = base + view.off, places.off
    digits = []
    for extent, step, stride in pairs:
        if step < 0 or (step == 0 and stride < 0):
            low += (extent - 1) * step
            position += (extent - 1) * stride
            step, stride = -step, -stride
        if step:
            digits.append((extent, step, stride))
        elif not drop:
            return None
    digits.sort(key=lambda digit: -digit[1])
    merged: list[Walk] = []
    reach = sum([(extent - 1) * step for extent, step, _ in digits])
    high = low + reach + 1
    for extent, step, stride in digits:
        reach -= (extent - 1) * step
        if step <= reach:
            return None
        if merged and merged[-1][1:] == (extent * step, extent * stride):
            extent *= merged.pop()[0]
        merged.append((extent, step, stride))
    return Strided(low, high, position, merged)


def _common(a: list[Digit], b: list[Digit]) -> list[Walk] | None:
    """Split the digits of two ranges of equal size into common extents.

    Each digit of the result is (extent, stride in a, stride in b).
    """
    pairs = []
    while a and b:
        (extent_a, stride_a), (extent_b, stride_b) = a.pop(), b.pop()
        extent = min(extent_a, extent_b)
        if extent_a % extent or extent_b % extent:
            return None
        if extent_a > extent:
            a.append((extent_a // extent, stride_a * extent))
        if extent_b > extent:
            b.append((extent_b // extent, stride_b * extent))
        pairs.append((extent, stride_a, stride_b))
    return pairs[::-1]


def sorted_runs(sets: Sequence[Strided | AddressRuns]) -> tuple[Int64, Int64, Int64]:
    """Return the runs of all sets, sorted by address, then by position.

    The results are int64[R]: addresses, positions, lengths.

    >>> row = Strided(4, 9, 0, [(2, 4, 1)])
    >>> [a.tolist() for a in sorted_runs([row, row._replace(low=2, position=2)])]
    [[2, 4, 6, 8], [2, 0, 3, 1], [1, 1, 1, 1]]
    """
    if not sets:
        return (np.empty(0, np.int64),) * 3
    lists: list[tuple[Int64, Int64, Int64]] = []
    for found in sets:
        if isinstance(found, AddressRuns):
            lists.append((found.address, found.position, found.length))
            continue
        outer, run, row = found.split()
        digits = [*outer, row] if row[0] > 1 else outer
        address = grid([(extent, step) for extent, step, _ in digits], found.low)
        position = grid([(extent, stride) for extent, _, stride in digits], found.position)
        lists.append((address, position, np.broadcast_to(np.int64(run), address.shape)))
    address, position, length = (np.concatenate(arrays) for arrays in zip(*lists, strict=True))
    return in_order(address, position, length)


def in_order(address: Int64, position: Int64, length: Int64) -> tuple[Int64, Int64, Int64]:
    """Sort runs by address, then by position.

    >>> [a.tolist() for a in in_order(np.array([4, 1]), np.array([0, 2]), np.array([2, 3]))]
    [[1, 4], [2, 0], [3, 2]]
    """
    if (address[1:] > address[:-1]).all():
        return address, position, length
    order = np.argsort(address, kind="stable")
    tied = not np.diff(address[order]).all()
    if tied and (position[1:] < position[:-1]).any():
        order = np.lexsort((position, address))
    return address[order], position[order], length[order]


# -- storages --------------------------------------------------------------------------------------


def storages(view: View) -> tuple[Storage, ...]:
    """Return the storages from which a view reads, in order of first use."""
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    view = once(view)
    digits = view.flat_digits()
    within = _storages_within(space, *span(view.off, digits))
    if len(within) == 1 or (not is_layered(space) and digits == [(space.num_elements, 1)]):
        return within
    by_base = sorted(within, key=lambda storage: storage.base)
    bases = np.array([storage.base for storage in by_base])
    found: dict[Storage, None] = {}
    for begin, _ in chunks(view):
        owner = np.searchsorted(bases, begin, side="right") - 1
        _, first = np.unique(owner, return_index=True)
        found.update(dict.fromkeys([by_base[owner[i]] for i in np.sort(first)]))
        if len(found) == len(within):
            break
    return tuple(found)


def _storages_within(cat: Cat, first: int, last: int, limit: int = 256) -> tuple[Storage, ...]:
    """Return the storages below the kids between two positions of a space, possibly a few more.

    Up to `limit` kids on concatenations are searched, and fewer on each level below.
    """
    if isinstance(cat.kids, SlicedViews) or cat.outer > 1:
        return cat.storages
    kids = cat.kids[bisect_right(cat.breaks, first) - 1 : bisect_right(cat.breaks, last)]
    limit //= max(1, len(kids))
    found: dict[Storage, None] = {}
    for kid in kids:
        space = kid.space
        if isinstance(space, Storage):
            found[space] = None
        elif len(space.storages) == 1 or not limit:
            found.update(dict.fromkeys(space.storages))
        else:
            bounds = span(kid.off, kid.flat_digits())
            found.update(dict.fromkeys(_storages_within(space, *bounds, limit)))
    return tuple(found)
