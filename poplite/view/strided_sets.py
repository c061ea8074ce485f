"""Sets of integers base + x0*s0 + x1*s1 + ..., 0 <= xi < ei: do they repeat, do they meet?

Both questions are one: does a bounded sum reach a target (a bounded Diophantine
equation, hard in general, nearly always easy in practice)?  Answers are exact, and the cheapest
method comes first: nesting, counting and divisibility decide ordinary strides in microseconds; a
bounded search decides most of the rest; bit sets, shifted and merged, whatever is left::

    strides 7, 4, extents 3, 4     sums of the set {0, 4, 8, 12} shifted by 0, 7, 14

A question that is too large for both is refused, never guessed.  The problem and its search:
NumPy's `shares_memory` manual page and `mem_overlap.c`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.jit.build import address, native
from poplite.jit.kernels.aliasing import FOUND, GAVE_UP, add_multiples, reaches

FIRST_STEPS = 100
"""Nodes searched before compiled code takes over."""

SEARCH_STEPS = 200_000
"""Nodes searched before bit sets: milliseconds, as long as bit sets of 10^7 numbers take."""

LAST_STEPS = 4_000_000
"""Nodes searched where the bit sets would be too large: under a second."""

LARGEST_SPAN = 2**33
"""Bits of the largest bit set: one GiB."""


def repeats(digits: Sequence[Digit]) -> bool:
    """Return whether two indices of a number (extents above 1, any strides) have the same offset.

    Raises `SizeOverflowError` for the rare set that is too hard and too wide for bit sets.

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
    # Only a stride of 0 is not above the reach of nothing.
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

    Raises `SizeOverflowError` for the rare pair that is too hard and too wide for bit sets.

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
    """Return the least and the greatest number of a strided set.

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
    """Return whether a step of one digit is a few steps of a finer one."""
    return any(
        coarse % fine == 0 and coarse // fine < extent
        for i, (fine, extent) in enumerate(ordered)
        for coarse, _ in ordered[i + 1 :]
    )


def _search_repeat(ordered: Sequence[tuple[int, int]]) -> bool | None:
    """Look for two indices of equal offset by the coarsest digit in which they differ.

    The result is None when the search used up its steps.
    """
    width = sum([(e - 1) * s for s, e in ordered]) + 1
    gave_up = False
    for i, (stride, extent) in enumerate(ordered):
        # The differences of the finer digits, moved to start at 0; at least one step of this.
        digits = [*[(s, 2 * e - 1) for s, e in ordered[:i]], (stride, extent - 1)]
        target = sum([(e - 1) * s for s, e in ordered[:i]]) - stride
        found = _reaches(digits, target, width)
        if found:
            return True
        gave_up = gave_up or found is None
    return None if gave_up else False


def _reaches(ordered: Sequence[tuple[int, int]], target: int, width: int) -> bool | None:
    """Return whether sum(x * stride), 0 <= x < extent, can be the target; None: gave up.

    `ordered` has (stride, extent), strides rising; `width` is that of the bit set that would be the
    alternative to searching.
    """
    # Up to each place: reach, divisor of all sums, whether they are all its multiples.
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
        least = -((facts[i - 1][0] - target) // stride)
        most = target // stride
        least, most = max(0, least), min(extent - 1, most)
        if least != most:
            return least < most and _search(ordered[:i], facts, target, width)
        target -= least * stride
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
    """Return the set, its least number 0, as bits of words: log2(extent) shifts a digit."""
    width = sum([(e - 1) * s for e, s in digits]) + 1
    if width > LARGEST_SPAN:
        raise SizeOverflowError(
            f"too hard to compare: strides that do not nest, over {width:,} addresses "
            f"(at most {LARGEST_SPAN:,} are compared one by one)",
            found=f"digits (extent, stride): {list(digits)}",
            fix="work on smaller slices, or copy the view to a variable of its own",
        )
    bits = np.zeros((width >> 6) + 1, np.int64)
    bits[0] = 1
    reach = 0
    # Narrow digits first, while there are few words to shift.
    for extent, stride in sorted(digits, key=lambda digit: (digit[0] - 1) * digit[1]):
        reach += (extent - 1) * stride
        native(add_multiples)(address(bits), (reach >> 6) + 1, extent, stride)
    return bits


def _common_bit(a: Int64, b: Int64, shift: int) -> bool:
    """Return whether some number of b plus the shift is a number of a."""
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
