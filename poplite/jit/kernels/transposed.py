"""Addresses of a transposed concatenation, a tile of rows and columns at a time.

Where the innermost step of a view jumps from leaf to leaf, a look-up for every element costs ten
times as much as the store.  Neighbours in a leaf are neighbours in the digit outside the innermost
one, so one look-up serves `ABREAST` of them::

    rows of the space      a0 a1 b0 b1          look up a0: a0, a1 go to columns 0, 1
                           c0 c1 d0 d1          look up c0: c0, c1 go to columns 0, 1

    out                    a0 c0 | a1 c1 | b0 d0 | b1 d1

A tile is written column by column from a scratch copy: columns of the result often lie a power of
two apart, and so many places at once would share a few lines of the cache.
"""

from __future__ import annotations

from poplite.jit.kernels import Int32s, Int64s
from poplite.jit.kernels.concatenated import leaf_at

ABREAST = 16
"""Columns of a tile."""

TALL = 64
"""Rows of a tile."""


def transposed(
    top_extent: Int64s,
    top_stride: Int64s,
    tops: int,
    counter: Int64s,
    position: int,
    breaks: Int64s,
    leaves: int,
    directory: Int32s,
    shift: int,
    base: Int64s,
    distance: Int64s,
    tile: Int64s,
    out: Int64s,
) -> int:
    """Write the address of every element of a view of contiguous leaves.

    The arrays are those of `poplite.jit.kernels.concatenated.through`, but `top_stride` of the last
    but one digit is 1, and there are at least two; `distance` is int64[leaves], from one repetition
    of a leaf to the next; `tile` has room for ABREAST * TALL numbers, and `out` for all elements.
    Returned is how many elements of a column follow the one before in memory.
    """
    period = breaks[leaves]
    columns, rows, step = top_extent[tops - 2], top_extent[tops - 1], top_stride[tops - 1]
    for c in range(tops):
        counter[c] = 0
    joins, repetition, begin = 0, 0, 0
    digit = 0
    while digit >= 0:
        for first in range(0, rows, TALL):
            height = rows - first if rows - first < TALL else TALL
            for column in range(0, columns, ABREAST):
                width = columns - column if columns - column < ABREAST else ABREAST
                for row in range(height):
                    at_position = position + column + (first + row) * step
                    rest = at_position - repetition * period
                    if rest < 0 or rest >= period:
                        repetition = at_position // period
                        rest = at_position - repetition * period
                    leaf = leaf_at(rest, breaks, directory, shift)
                    at = base[leaf] + repetition * distance[leaf] + rest - breaks[leaf]
                    if breaks[leaf + 1] - rest >= ABREAST:
                        for j in range(ABREAST):
                            tile[j * TALL + row] = at + j
                    else:
                        for j in range(width):
                            if rest == breaks[leaf + 1]:
                                if rest == period:
                                    repetition += 1
                                    rest = 0
                                leaf = leaf_at(rest, breaks, directory, shift)
                                at = base[leaf] + repetition * distance[leaf] + rest - breaks[leaf]
                            tile[j * TALL + row] = at
                            at += 1
                            rest += 1
                for j in range(width):
                    place = begin + (column + j) * rows + first
                    if first > 0 and tile[j * TALL] == out[place - 1] + 1:
                        joins += 1
                    for row in range(1, height):
                        joins += tile[j * TALL + row] == tile[j * TALL + row - 1] + 1
                    for row in range(height):
                        out[place + row] = tile[j * TALL + row]
        begin += columns * rows
        digit = tops - 3
        while digit >= 0:
            counter[digit] += 1
            position += top_stride[digit]
            if counter[digit] < top_extent[digit]:
                break
            position -= top_extent[digit] * top_stride[digit]
            counter[digit] = 0
            digit -= 1
    return joins
