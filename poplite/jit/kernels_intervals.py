"""Kernels for lists of integers: intervals, progressions, equal or evenly spaced rows.

A block of the inner digits of a strided view is repeated at the bases of the outer digits. A block
of about a thousand runs stays in the first-level cache, so that a repetition costs one store for
each run::

    digits (2, 100) (2, 10) (3, 2)     block 0 2 4 10 12 14, bases 0 100
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

DIGIT_BITS = 11
"""Bits per pass of the sort: its counters fit in the first-level cache."""


def sort_by_digit(numbers: Int64s, count: int, shift: int, places: Int64s, out: Int64s) -> int:
    """Sort stably by the `DIGIT_BITS` bits above `shift`; `places` has room for all digits."""
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
    """Lay non-empty intervals over each other, and return the number of visible segments.

    Starts ascend; if intervals overlap, the one with the highest `rank` is on top. `heap` has room
    for every interval; it contains those that have started and are not known to have ended, the
    topmost first. The results have room for two segments per interval.
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
        # The segment ends at the end of the topmost interval, or at the start of a higher one.
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
    """Remove the number with the highest rank, and return the heap's new size."""
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


# -- runs of one strided view ----------------------------------------------------------------------


def repeat_pattern(
    pattern: Int64s, size: int, base: Int64s, blocks: int, out: Int64s, total: int
) -> int:
    """Write `pattern + base[k]` for each k in sequence, `total` numbers, and return `total`.

    `pattern` is int64[size], `base` int64[blocks], `out` int64[total]; `total` is greater than
    (blocks - 1) * size, so the last block may be partial.
    """
    done = 0
    for k in range(blocks):
        shift = base[k]
        here = size if size < total - done else total - done
        for j in range(here):
            out[done + j] = pattern[j] + shift
        done += here
    return done


def repeat_joining(
    begin: Int64s,
    length: Int64s,
    size: int,
    base: Int64s,
    joins: Bytes,
    blocks: int,
    last_size: int,
    out_begin: Int64s,
    out_length: Int64s,
) -> int:
    """Write a block of runs at every base; its first run may join the block before.

    `begin` and `length` of the block are int64[size], `size` at least two; `base` is int64[blocks],
    and `joins` is uint8[blocks]: whether the first run of a block continues the block before.  The
    last block has `last_size` runs, at least two, and its last run is the same as in every block.
    The results have room for size * blocks runs; the number of runs is returned.
    """
    count = 0
    for k in range(blocks):
        shift = base[k]
        here = size if k < blocks - 1 else last_size
        first = 0
        if joins[k]:
            out_length[count - 1] += length[0]
            first = 1
        for j in range(first, here):
            out_begin[count + j - first] = begin[j] + shift
        for j in range(first, here):
            out_length[count + j - first] = length[j]
        count += here - first
    out_length[count - 1] = length[size - 1]
    return count


# -- rows that occur more than once ----------------------------------------------------------------


def alike(columns: Int64s, words: int, count: int, row: int, other: int) -> int:
    """Return 1 if two rows are equal, else 0."""
    for word in range(words):
        if columns[word * count + row] != columns[word * count + other]:
            return 0
    return 1


def distinct(
    columns: Int64s, words: int, count: int, table: Int32s, mask: int, first: Int64s, index: Int64s
) -> int:
    """Number the distinct rows in the order of their first occurrence, and return their count.

    `columns` are [words, count], at least one word. `table`, a hash table, has mask + 1 places,
    all -1; mask + 1 is a power of two, greater than the number of rows. The results are the `first`
    row of each number, and `index`, the number of each row.
    """
    found = 0
    for row in range(count):
        if row > 0 and alike(columns, words, count, row, row - 1):
            index[row] = index[row - 1]
            continue
        mixed = 0
        for word in range(words):
            number = columns[word * count + row]
            # Products are less than 2**63, so that Python and compiled code agree.
            folded = (number ^ (number >> 32) * 0x9E3779B1) & 0xFFFFFFFF
            mixed = (mixed & 0xFFFFFFFF ^ folded) * 0x5BD1E995
            mixed ^= mixed >> 29
        place = mixed & mask
        while table[place] >= 0 and not alike(columns, words, count, row, first[table[place]]):
            place = place + 1 & mask
        if table[place] < 0:
            table[place] = found
            first[found] = row
            found += 1
        index[row] = table[place]
    return found


# -- reads that overlap writes, and rows that form evenly spaced runs ------------------------------


OWN = -1
"""The result of `foreign_writes` for a read that overlaps only writes of its own vertex."""


def meet_writes(
    begin: Int64s,
    end: Int64s,
    count: int,
    read_begin: Int64s,
    read_end: Int64s,
    reads: int,
    met: Int64s,
    first: Int64s,
) -> int:
    """Find the reads that overlap any write, and return their count.

    Ends are one past the last address; starts ascend, and writes do not overlap each other. The
    results are `met`, the numbers of the reads found, and `first`, the first write that each of
    them overlaps.
    """
    done = write = 0
    for read in range(reads):
        low, high = read_begin[read], read_end[read]
        while write < count and end[write] <= low:
            write += 1
        if write < count and begin[write] < high:
            met[done], first[done] = read, write
            done += 1
    return done


def foreign_writes(
    begin: Int64s,
    vertex: Int64s,
    count: int,
    first: Int64s,
    read_end: Int64s,
    read_vertex: Int64s,
    reads: int,
    found: Int64s,
) -> int:
    """Find the first write by another vertex that each read overlaps; return the number of finds.

    The starts of writes ascend, and writes do not overlap each other. `first` contains the first
    write that each read overlaps; the result `found` contains, for each read, the number of a
    write, or OWN.
    """
    done = 0
    for read in range(reads):
        number = OWN
        write = first[read]
        while write < count and begin[write] < read_end[read]:
            if vertex[write] != read_vertex[read]:
                number = write
                done += 1
                break
            write += 1
        found[read] = number
    return done


def go_on(joins: Bytes, alike: Bytes, rows: int, first: Int64s, last: Int64s) -> int:
    """Cut rows, at least one, into runs, greedily from the first row, and return their count.

    `joins` says whether a row and the next one may be in one run, `alike` whether the step after a
    row equals the step after the next row. The results are the `first` and `last` row of each run.
    """
    count = row = 0
    while row < rows:
        end = row
        if row < rows - 1 and joins[row]:
            end += 1
            while end < rows - 1 and alike[end - 1]:
                end += 1
        first[count] = row
        last[count] = end
        count += 1
        row = end + 1
    return count
