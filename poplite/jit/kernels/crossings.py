"""Reads that meet what is written, and rows that go on evenly: passes of the compiler."""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s

OWN = -1
"""What `foreign_writes` finds of a read that meets no write but those of its own vertex."""


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
    """Find the reads that meet some write, and return how many there are.

    Args:
        begin: first addresses of writes, ascending; none of them overlap.
        end: one past the last addresses.
        count: how many writes.
        read_begin: first addresses of reads, ascending.
        read_end: one past the last addresses.
        reads: how many reads.
        met: numbers of the reads that meet a write.
        first: the first write that each of them meets.
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
    """Find, for reads that meet writes, the first one of another vertex, and count those.

    Args:
        begin: first addresses of writes, ascending; none of them overlap.
        vertex: who writes.
        count: how many writes.
        first: the first write that each read meets.
        read_end: one past the last address of each read.
        read_vertex: who reads.
        reads: how many reads.
        found: for each read the number of a write, or OWN.
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
    """Cut rows into runs, greedily from the top, and return how many.

    Args:
        joins: whether a row and the next may be in one run.
        alike: whether the step behind a row is the step behind the next.
        rows: how many rows, at least one.
        first: first row of each run.
        last: last row of each run.
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
