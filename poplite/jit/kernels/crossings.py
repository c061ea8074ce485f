"""Reads that meet writes, and rows that form even runs: passes of the compiler."""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s

OWN = -1
"""The result of `foreign_writes` for a read that meets only writes of its own vertex."""


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

    Addresses begin and end (one past the last); begins ascend, and writes do not overlap.  Written
    are the numbers of these reads, `met`, and the `first` write that each of them meets.
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
    """Find, for reads that meet writes, the first write of another vertex, and count those.

    `begin` of writes ascend, and they do not overlap; `first` is the first write that each read
    meets; `found` is for each read the number of a write, or OWN.
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
    """Cut rows, at least one, into runs, greedily from the top, and return how many.

    `joins` says whether a row and the next may be in one run, `alike` whether the step after a row
    is the step after the next.  Written are the `first` and `last` row of each run.
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
