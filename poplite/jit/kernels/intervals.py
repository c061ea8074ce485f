"""Sorting and sweeping intervals."""

from __future__ import annotations

from poplite.jit.kernels import Int64s

DIGIT_BITS = 11
"""Bits of one pass of the sort: its counters fit in a first-level cache."""


def sort_by_digit(numbers: Int64s, count: int, shift: int, places: Int64s, out: Int64s) -> int:
    """Sort stably by the `DIGIT_BITS` bits above `shift`; `places` has a number for each digit."""
    for digit in range(1 << DIGIT_BITS):
        places[digit] = 0
    for i in range(count):
        places[(numbers[i] >> shift) & ((1 << DIGIT_BITS) - 1)] += 1
    place = 0
    for digit in range(1 << DIGIT_BITS):
        size = places[digit]
        places[digit] = place
        place += size
    for i in range(count):
        digit = (numbers[i] >> shift) & ((1 << DIGIT_BITS) - 1)
        out[places[digit]] = numbers[i]
        places[digit] += 1
    return count


def topmost(
    rank: Int64s, begin: Int64s, end: Int64s, value: Int64s, count: int,
    heap: Int64s, out_begin: Int64s, out_end: Int64s, out_value: Int64s,
) -> int:  # fmt: skip
    """Paint non-empty intervals over each other, and return the number of visible stretches.

    Begins ascend; where intervals overlap, that of the highest `rank` is on top.  `heap` has room
    for every interval: those begun and not known to be over, the topmost first.  The results have
    room for two stretches per interval.
    """
    size = at = done = i = 0
    while i < count or size > 0:
        if size == 0:
            at = begin[i]
        if i < count and begin[i] == at:
            size = push(heap, size, i, rank)
            i += 1
            continue
        top = heap[0]
        stop = end[top]
        if stop <= at:
            size = pop(heap, size, rank)
            continue
        # The stretch goes up to the end of the topmost interval, or the begin of a higher one.
        if i < count and begin[i] < stop:
            if rank[i] < rank[top]:
                if end[i] > stop:
                    size = push(heap, size, i, rank)
                i += 1
                continue
            stop = begin[i]
        if done > 0 and out_end[done - 1] == at and out_value[done - 1] == value[top]:
            out_end[done - 1] = stop
        else:
            out_begin[done] = at
            out_end[done] = stop
            out_value[done] = value[top]
            done += 1
        at = stop
    return done


def push(heap: Int64s, size: int, number: int, rank: Int64s) -> int:
    """Add a number to a heap with the highest rank first, and return its new size."""
    at = size
    while at > 0 and rank[heap[(at - 1) >> 1]] < rank[number]:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = number
    return size + 1


def pop(heap: Int64s, size: int, rank: Int64s) -> int:
    """Remove the number of the highest rank, and return the heap's new size."""
    size -= 1
    number = heap[size]
    at = 0
    below = 1
    while below < size:
        if below + 1 < size and rank[heap[below + 1]] > rank[heap[below]]:
            below += 1
        if rank[heap[below]] <= rank[number]:
            break
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = number
    return size


def common(
    begin: Int64s, end: Int64s, count: int, other_begin: Int64s, other_end: Int64s, others: int,
    out_begin: Int64s, out_end: Int64s,
) -> int:  # fmt: skip
    """Write the intersection of two lists of sorted, disjoint intervals; return the count."""
    i = j = done = 0
    while i < count and j < others:
        low = begin[i] if begin[i] > other_begin[j] else other_begin[j]
        high = end[i] if end[i] < other_end[j] else other_end[j]
        out_begin[done] = low
        out_end[done] = high
        done += low < high
        if end[i] < other_end[j]:
            i += 1
        else:
            j += 1
    return done
