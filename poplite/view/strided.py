"""Sets of integers base + x0*s0 + x1*s1 + ..., 0 <= xi < ei: do they repeat, do they meet?

Both questions are one: does a bounded sum reach a target (a bounded Diophantine
equation, hard in general, nearly always easy in practice)?  Answers are exact and climb a
ladder: nesting, counting and divisibility decide ordinary strides in microseconds; a
bounded search most of the rest; bit sets, shifted and merged, whatever is left::

    strides 7, 4, extents 3, 4     sums of the set {0, 4, 8, 12} shifted by 0, 7, 14

The problem and its search: NumPy's `shares_memory` manual page and `mem_overlap.c`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from poplite.errors import SizeOverflowError
from poplite.view.digits import Digit

SEARCH_STEPS = 20_000
"""Steps of the search, about as long as the bit sets of a set of 10^7 numbers take."""

LARGEST_SPAN = 2**33
"""Bits of the largest bit set: one GiB."""


class _TooLong(Exception):
    """The search used up its steps."""


def repeats(digits: Sequence[Digit]) -> bool:
    """Tell whether two indices of a number have the same offset.

    Args:
        digits: extents above 1, any strides.

    Raises:
        SizeOverflowError: for the rare set that is too hard and too wide for bit sets.

    >>> repeats([(4, 1), (3, 4)]), repeats([(4, 1), (3, 3)]), repeats([(4, 3), (3, 4)])
    (False, True, False)
    """
    if any([stride == 0 for _, stride in digits]):
        return True
    ordered = sorted([(abs(stride), extent) for extent, stride in digits])
    reach = 0
    nested = True
    for stride, extent in ordered:
        nested = nested and stride > reach
        reach += (extent - 1) * stride
    if nested:
        return False
    count = math.prod([extent for extent, _ in digits])
    common = math.gcd(*[stride for stride, _ in ordered])
    if count > reach // common + 1 or _commensurable(ordered):
        return True
    try:
        return _search_repeat(ordered)
    except _TooLong:
        return _sums([(e, s // common) for s, e in ordered]).bit_count() < count


def meet(base_a: int, digits_a: Sequence[Digit], base_b: int, digits_b: Sequence[Digit]) -> bool:
    """Tell whether two strided sets share a number.

    Args:
        base_a: offset of the first set.
        digits_a: its digits.
        base_b: offset of the second set.
        digits_b: its digits.

    Raises:
        SizeOverflowError: for the rare pair that is too hard and too wide for bit sets.

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
            extents[abs(stride)] = extents.get(abs(stride), 1) + extent - 1
    ordered = sorted(extents.items())
    try:
        return _reaches(ordered, high_b - low_a)
    except _TooLong:
        low = max(low_a, low_b)
        bits_a = _sums(_positive(digits_a)) >> (low - low_a)
        bits_b = _sums(_positive(digits_b)) >> (low - low_b)
        return bits_a & bits_b != 0


def span(base: int, digits: Sequence[Digit]) -> tuple[int, int]:
    """Return the least and greatest number of a strided set.

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
    """Tell whether a step of one digit is a few steps of a finer one."""
    return any(
        coarse % fine == 0 and coarse // fine < extent
        for i, (fine, extent) in enumerate(ordered)
        for coarse, _ in ordered[i + 1 :]
    )


def _search_repeat(ordered: Sequence[tuple[int, int]]) -> bool:
    """Look for two indices of equal offset by the coarsest digit in which they differ."""
    budget = [SEARCH_STEPS]
    for i in range(len(ordered) - 1, 0, -1):
        stride, extent = ordered[i]
        # The differences of the finer digits, moved to start at 0.
        finer = [(s, 2 * e - 1) for s, e in ordered[:i]]
        reach = sum([(e - 1) * s for s, e in ordered[:i]])
        for step in range(1, min(extent - 1, reach // stride) + 1):
            if _reaches(finer, reach - step * stride, budget):
                return True
    return False


def _reaches(
    ordered: Sequence[tuple[int, int]], target: int, budget: list[int] | None = None
) -> bool:
    """Tell whether sum(x * stride), 0 <= x < extent, can be the target.

    Args:
        ordered: (stride, extent), strides rising.
        target: the sum wanted.
        budget: search steps left, shared between calls.
    """
    # Below each place: reach, gcd of the strides, whether every multiple of it is reached.
    reaches, commons, dense = [0], [0], [True]
    for stride, extent in ordered:
        common = math.gcd(commons[-1], stride)
        finest = ordered[0][0]
        dense.append(dense[-1] and common == finest and stride <= reaches[-1] + finest)
        commons.append(common)
        reaches.append(reaches[-1] + (extent - 1) * stride)
    left = budget or [SEARCH_STEPS]
    stack = [(len(ordered), target)]
    while stack:
        i, rest = stack.pop()
        left[0] -= 1
        if left[0] < 0:
            raise _TooLong
        if rest < 0 or rest > reaches[i] or (rest % commons[i] if commons[i] else rest):
            continue
        if dense[i]:
            return True
        stride, extent = ordered[i - 1]
        most = min(extent - 1, rest // stride)
        least = max(0, -(-(rest - reaches[i - 1]) // stride))
        # x * stride = rest modulo the gcd below: every period-th x.
        period = max(commons[i - 1] // commons[i], 1)
        first = rest // commons[i] * pow(stride // commons[i], -1, period)
        chosen = range(least + (first - least) % period, most + 1, period)
        if dense[i - 1] and chosen:
            return True
        if len(chosen) > left[0]:
            raise _TooLong
        stack += [(i - 1, rest - x * stride) for x in chosen]
    return False


def _sums(digits: Sequence[Digit]) -> int:
    """Return the set as bits of one integer: log2(extent) shifts a digit."""
    width = sum([(e - 1) * s for e, s in digits]) + 1
    if width > LARGEST_SPAN:
        raise SizeOverflowError(
            f"a view over {width:,} addresses has strides too irregular to compare exactly "
            f"(at most {LARGEST_SPAN:,})",
            found=f"digits (extent, stride): {list(digits)}",
            fix="work on smaller slices, or copy the view to a variable of its own",
        )
    bits = 1
    for extent, stride in digits:
        done = 1
        while done < extent:
            step = min(done, extent - done)
            bits |= bits << (step * stride)
            done += step
    return bits
