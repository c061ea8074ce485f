"""Where the indices of an axis lead to, as digits: numbers of one or more places.

(12, 1)            index i at i: one stride
(3, 8), (4, 1)     index i at i // 4 * 8 + i % 4: the joined axis of 3 x 4 in room for 8

Digits are listed from the outermost: pairs of a length and a stride.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Digits = tuple[tuple[int, int], ...]


def merged(digits: Sequence[tuple[int, int]]) -> Digits:
    """Return the same in as few digits as there can be.

    Digits of length 1 go; two neighbours are one where `stride == inner length * inner stride`.
    Source: seed 003, on flattening; the condition is by lengths, never by sizes.
    """
    found: list[tuple[int, int]] = []
    for length, stride in digits:
        if length == 1:
            continue
        if not length:
            return ((0, 0),)
        if found and found[-1][1] == length * stride:
            found[-1] = found[-1][0] * length, stride
        else:
            found.append((length, stride))
    return tuple(found) or ((1, 0),)


def parted(digits: Digits, lengths: Sequence[int]) -> list[Digits]:
    """Return the digits of parts of an axis, whose lengths have its length as a product."""
    if 0 in lengths:
        return [((length, 0),) for length in lengths]
    left = list(digits)
    found: list[Digits] = []
    for length in reversed(lengths):
        own: list[tuple[int, int]] = []
        need = length
        while need > 1:
            have, stride = left.pop()
            taken = math.gcd(have, need)
            assert taken in (have, need), (digits, lengths)
            own.insert(0, (taken, stride))
            if have > taken:
                left.append((have // taken, stride * taken))
            need //= taken
        found.insert(0, tuple(own) or ((1, 0),))
    return found


def address(digits: Digits, index: int) -> int:
    """Return where an index leads to."""
    found = 0
    for length, stride in reversed(digits):
        index, own = divmod(index, length)
        found += own * stride
    return found


def taken(digits: Digits, part: range) -> Digits | None:
    """Return the digits of some indices of an axis; None where these have none."""
    if len(part) < 2:
        return ((len(part), 0),)
    if len(digits) == 1:
        ((_, stride),) = digits
        return ((len(part), stride * part.step),)
    if part == range(math.prod(length for length, _ in digits)):
        return digits
    return None
