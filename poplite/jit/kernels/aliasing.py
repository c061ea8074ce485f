"""Kernels that find addresses which strided sets share."""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s

STRIDE, EXTENT, REACH, COMMON, DENSE, PERIOD, INVERSE, STEP, LAST, REST, PLACE_WORDS = range(11)
"""Words of a digit: extent and stride, facts about the sums up to it, its steps, the search."""

FOUND, NOWHERE_FOUND, GAVE_UP = 1, 0, -1

TEST, MARK = 1, 2
"""What to do with a set: look for a marked element, then mark all of it; either or both."""


def reaches(places: Int64s, count: int, target: int, nodes: int) -> int:
    """Search a value for each digit so that the sum of value * stride is the target.

    Depth first, coarsest digit first.  The rest, for the finer digits, must lie in their
    reach and be a multiple of their common divisor, so the values of a digit are a range with
    a step, mostly empty or of one value.

    `places` are PLACE_WORDS of each of `count` digits, strides rising; the last three of each are
    scratch.  The search gives up after so many `nodes`.
    """
    i = count - 1
    places[i * PLACE_WORDS + REST] = target
    for _ in range(nodes):
        at = i * PLACE_WORDS
        rest = places[at + REST]
        reach = places[at + REACH]
        common = places[at + COMMON]
        places[at + LAST] = -1
        if 0 <= rest <= reach and rest % common == 0:
            if places[at + DENSE]:
                return FOUND
            stride = places[at + STRIDE]
            finer = reach - (places[at + EXTENT] - 1) * stride
            first = (rest - finer + stride - 1) // stride if rest > finer else 0
            # value * stride modulo the divisor of the finer digits remains.
            period = places[at + PERIOD]
            residue = _product(rest // common % period, places[at + INVERSE], period)
            places[at + STEP] = first + (residue - first) % period
            last, most = rest // stride, places[at + EXTENT] - 1
            places[at + LAST] = last if last < most else most
        # The next value of this digit, or of the finest coarser digit that has one.
        while i < count and places[i * PLACE_WORDS + STEP] > places[i * PLACE_WORDS + LAST]:
            i += 1
        if i == count:
            return NOWHERE_FOUND
        at = i * PLACE_WORDS
        value = places[at + STEP]
        places[at + STEP] = value + places[at + PERIOD]
        places[at - PLACE_WORDS + REST] = places[at + REST] - value * places[at + STRIDE]
        i -= 1
    return GAVE_UP


def _product(a: int, b: int, modulus: int) -> int:
    """Multiply numbers below the modulus, which is below 2**62, without overflow."""
    if modulus < 2147483648:
        return a * b % modulus
    product = 0
    while b:
        if b & 1:
            product = (product + a) % modulus
        a = (a + a) % modulus
        b >>= 1
    return product


def add_multiples(bits: Int64s, words: int, extent: int, stride: int) -> int:
    """Replace a set by the sums of its members and 0, stride, ... (extent - 1) * stride.

    Number j is bit j % 64 of word j // 64; there are enough `words` for the sums.
    """
    done = 1
    while done < extent:
        # Shift by as many steps as there are already; downwards, as it happens in place.
        step = done if done < extent - done else extent - done
        far = step * stride >> 6
        part = step * stride & 63
        if part == 0:
            for i in range(words - 1, far - 1, -1):
                bits[i] |= bits[i - far]
        else:
            low = (1 << part) - 1
            for i in range(words - 1, far, -1):
                carried = bits[i - far - 1] >> (64 - part) & low
                bits[i] |= bits[i - far] << part | carried
            if far < words:
                bits[far] |= bits[0] << part
        done += step
    return done


def visit(
    bits: Bytes,
    low: int,
    first: Int64s,
    extent: Int64s,
    stride: Int64s,
    sets: int,
    places: int,
    index: Int64s,
    action: int,
) -> int:
    """Test and mark the members of strided sets in a bitmap; return 1 where one was marked, else 0.

    Address low + j is bit j % 8 of byte j // 8.  `first` has the least address of each set;
    `extent` and `stride` are [sets, places], `places` at least 1, a stride 0 only where the extent
    is 1; `index` is scratch, a word for each digit.
    """
    for i in range(sets):
        row = i * places
        inner = row + places - 1
        at = first[i] - low
        for k in range(places):
            index[k] = 0
        k = 0
        while k >= 0:
            if stride[inner] < 2:
                if _visit_run(bits, at, at + extent[inner] - 1, action):
                    return 1
            elif _visit_steps(bits, at, extent[inner], stride[inner], action):
                return 1
            k = places - 2
            while k >= 0:
                index[k] += 1
                if index[k] < extent[row + k]:
                    at += stride[row + k]
                    break
                index[k] = 0
                at -= (extent[row + k] - 1) * stride[row + k]
                k -= 1
    return 0


def _visit_steps(bits: Bytes, at: int, extent: int, stride: int, action: int) -> int:
    for _ in range(extent):
        byte = bits[at >> 3]
        mask = 1 << (at & 7)
        if action & TEST and byte & mask:
            return 1
        if action & MARK:
            bits[at >> 3] = byte | mask
        at += stride
    return 0


def _visit_run(bits: Bytes, first: int, last: int, action: int) -> int:
    left, right = first >> 3, last >> 3
    head = 255 << (first & 7) & 255
    tail = 255 >> (7 - (last & 7))
    if left == right:
        head &= tail
        tail = head
    if action & TEST:
        found = bits[left] & head | bits[right] & tail
        for i in range(left + 1, right):
            found |= bits[i]
        if found:
            return 1
    if action & MARK:
        bits[left] = bits[left] | head
        for i in range(left + 1, right):
            bits[i] = 255
        bits[right] = bits[right] | tail
    return 0
