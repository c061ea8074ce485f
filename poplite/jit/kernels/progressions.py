"""Runs of one strided view: a block of inner digits, repeated at the bases of the outer ones.

A block of about a thousand runs stays in the nearest cache, so that a repetition costs one
store for each run::

    digits (2, 100) (2, 10) (3, 2)     block 0 2 4 10 12 14, bases 0 100
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s


def repeat_pattern(
    pattern: Int64s, size: int, base: Int64s, blocks: int, out: Int64s, total: int
) -> int:
    """Write `pattern + base[k]` one after the other, `total` numbers, which are returned.

    `pattern` is int64[size], `base` int64[blocks], `out` int64[total]; `total` is above
    (blocks - 1) * size: the last block may be cut.
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
    """Write a block of runs at every base, where its first run may join the block before.

    `begin` and `length` of the block are int64[size], `size` at least two; `base` is int64[blocks],
    and `joins` uint8[blocks], whether the first run of a block continues the block before.  The
    last block has `last_size` runs, at least two, and ends as every block ends.  The results have
    room for size * blocks runs; their number is returned.
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
