"""Runs of a strided set of addresses, from its digits alone.

A carry into a digit moves the address by its stride less what the inner digits had reached, and
joins two runs where that is one step::

    digits (3, 4) (2, 1)      0 1 | 4 5 | 8 9       4 - 1 = 3: three runs
    digits (3, 1) (2, 0)      0 | 0 1 | 1 2 | 2     1 - 0 = 1: the carry joins, four runs

Beyond a few thousand runs the inner digits are expanded to a block, which a kernel repeats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64
from poplite.jit.build import address, native
from poplite.jit.kernels.intervals import repeat_joining, repeat_pattern

BLOCK = 1024
"""Least runs of a block that is repeated; it stays in the nearest cache."""

SMALL = 4096
"""Runs up to which NumPy is fast enough, and equal lengths are written out."""


def split_run(digits: Sequence[Digit]) -> tuple[Sequence[Digit], int]:
    """Take the consecutive elements off the digits of a view.

    >>> split_run([(3, 4), (2, 1)]), split_run([(3, 4)])
    (([(3, 4)], 2), ([(3, 4)], 1))
    """
    if digits and digits[-1][1] == 1:
        return digits[:-1], digits[-1][0]
    return digits, 1


def carries(digits: Sequence[Digit], run: int) -> list[tuple[int, int, bool]]:
    """Return (extent, product of the inner extents, joins) of each digit, innermost first.

    >>> carries([(3, 1), (2, 0)], 1)
    [(2, 1, False), (3, 2, True)]
    """
    found = []
    reach, inner = run - 1, 1
    for extent, stride in reversed(digits):
        found.append((extent, inner, stride - reach == 1))
        reach += (extent - 1) * stride
        inner *= extent
    return found


def count_runs(digits: Sequence[Digit], run: int) -> int:
    """Count the runs of a strided set; `run` is the length of each before any are joined.

    >>> count_runs([(3, 4)], 2), count_runs([(3, 1), (2, 0)], 1)
    (3, 4)
    """
    total = math.prod([extent for extent, _ in digits])
    joined = [
        total // (inner * extent) * (extent - 1)
        for extent, inner, joins in carries(digits, run)
        if joins
    ]
    return total - sum(joined)


def strided_runs(digits: Sequence[Digit], run: int, base: int) -> tuple[Int64, Int64]:
    """Return begins and lengths of the runs of a strided set, int64[runs] each.

    Digits are coalesced; `run` is the length of each before any are joined. The lengths are one
    number repeated where all are equal.

    >>> [a.tolist() for a in strided_runs([(3, 1), (2, 0)], 1, 10)]
    [[10, 10, 11, 12], [1, 2, 2, 1]]
    """
    # Coalesced, a run and one digit never join; most views end here.
    if len(digits) < 2 or not any([joins for _, _, joins in carries(digits, run)]):
        begin = grid(digits, base)
        if len(begin) <= SMALL:
            return begin, np.full(len(begin), run, np.int64)
        return begin, np.broadcast_to(np.int64(run), begin.shape)
    if math.prod([extent for extent, _ in digits]) <= SMALL:
        return _marked(digits, run, base)
    return _repeated(digits, run, base)


def grid(digits: Sequence[Digit], base: int) -> Int64:
    """Return the number that digits write for every index.

    >>> grid([(2, 10), (3, 1)], 5).tolist()
    [5, 6, 7, 15, 16, 17]
    """
    if len(digits) < 2:
        extent, stride = digits[0] if digits else (1, 1)
        return _progression(base, extent, stride)
    total = math.prod([extent for extent, _ in digits])
    if total <= SMALL:
        values = _progression(base, *digits[0])
        for extent, stride in digits[1:]:
            values = (values[:, None] + _progression(0, extent, stride)).reshape(-1)
        return values
    outer, block = _cut(digits)
    if outer:
        pattern, bases = grid(block, base), grid(outer, 0)
    else:
        (extent, stride), inner = digits[0], digits[1:]
        copies = _copies(inner)
        pattern = grid([(copies, stride), *inner], base)
        bases = _progression(0, -(-extent // copies), copies * stride)
    values = np.empty(total, np.int64)
    native(repeat_pattern)(
        address(pattern), len(pattern), address(bases), len(bases), address(values), total
    )
    return values


def _progression(first: int, count: int, step: int) -> Int64:
    if step == 1:
        return np.arange(first, first + count, dtype=np.int64)
    values = np.arange(count, dtype=np.int64)
    values *= step
    values += first
    return values


def _cut(digits: Sequence[Digit]) -> tuple[Sequence[Digit], Sequence[Digit]]:
    """Split digits before the innermost ones that make a block."""
    size, i = 1, len(digits)
    while i and size < BLOCK:
        i -= 1
        size *= digits[i][0]
    return digits[:i], digits[i:]


def _copies(inner: Sequence[Digit]) -> int:
    """How many steps of a digit make a block, where the digits inside it do not."""
    return -(-BLOCK // math.prod([extent for extent, _ in inner]))


def _marked(digits: Sequence[Digit], run: int, base: int) -> tuple[Int64, Int64]:
    """List joining runs by marking, among all of them, those that begin one."""
    begin = grid(digits, base)
    starts = np.ones(len(begin), np.bool_)
    for extent, inner, joins in carries(digits, run):
        if joins:
            starts.reshape(-1, extent, inner)[:, 1:, 0] = False
    first = np.flatnonzero(starts)
    return begin[first], np.diff(first, append=len(begin)) * run


def _repeated(digits: Sequence[Digit], run: int, base: int) -> tuple[Int64, Int64]:
    """List joining runs by repeating a block of them."""
    outer, block = _cut(digits)
    if outer:
        begin, length = strided_runs(block, run, base)
        last_size = len(begin)
        bases = grid(outer, 0)
        joins = np.zeros(len(bases), np.uint8)
        blocks = 1
        for extent, _, joining in carries(digits, run)[len(block) :]:
            if joining:
                joins.reshape(-1, extent, blocks)[:, 1:, 0] = 1
            blocks *= extent
    else:
        (extent, stride), inner = digits[0], digits[1:]
        copies = _copies(inner)
        begin, length = _marked([(copies, stride), *inner], run, base)
        bases = _progression(0, -(-extent // copies), copies * stride)
        last_size = count_runs([(extent - (len(bases) - 1) * copies, stride), *inner], run)
        joins = np.full(len(bases), carries(digits, run)[-1][2], np.uint8)
        joins[0] = 0
    length = np.ascontiguousarray(length)
    count = count_runs(digits, run)
    out_begin, out_length = np.empty(count, np.int64), np.empty(count, np.int64)
    native(repeat_joining)(
        address(begin),
        address(length),
        len(begin),
        address(bases),
        address(joins),
        len(bases),
        last_size,
        address(out_begin),
        address(out_length),
    )
    return out_begin, out_length
