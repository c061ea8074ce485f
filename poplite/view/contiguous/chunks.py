"""Runs of views that are too big to list, some at a time.

The digits of the flattened view are cut where a part has as many runs as fit; every part is
again a strided view and listed as such::

    digits (4, 1) (6, 4)    at most 14 runs      (2, 1) (6, 4) at 0    (2, 1) (6, 4) at 2
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from poplite.arrays.digits import Digit, coalesce, locate
from poplite.arrays.intervals import Int64
from poplite.arrays.progressions import split_run, strided_runs
from poplite.errors import TensorIndexError
from poplite.view.contiguous.concatenated import Leaves, leaves_of
from poplite.view.contiguous.few_runs import few_runs
from poplite.view.contiguous.nested import runs, runs_through
from poplite.view.view import Storage, View


def chunks(view: View, max_runs: int = 2**20) -> Iterator[tuple[Int64, Int64]]:
    """Yield the runs of a view in parts `(begin, length)`, as `runs` returns them, none cut in two.

    `max_runs` is the number of runs of one part; two parts are in memory at once.

    >>> from poplite.view.view import all_of
    >>> matrix = all_of(Storage(0, 0, 24), (6, 4)).dim_shuffle((1, 0))
    >>> [begin.tolist() for begin, _ in chunks(matrix, 14)]
    [[0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21], [2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23]]
    """
    if max_runs < 1:
        raise TensorIndexError(
            f"chunks: max_runs is {max_runs}, but the least is 1", fix="2**20, the default"
        )
    held: tuple[Int64, Int64] | None = None
    for begin, length in _listed(view, max_runs):
        if held is not None:
            # The last run of the part before may continue in this one.
            before, lengths = held
            if before[-1] + lengths[-1] == begin[0]:
                length = length.copy()
                length[0] += lengths[-1]
                begin[0] = before[-1]
                before, lengths = before[:-1], lengths[:-1]
            if len(before):
                yield before, lengths
        held = begin, length
    if held is not None:
        yield held


def _listed(view: View, limit: int) -> Iterator[tuple[Int64, Int64]]:
    few = few_runs(view)
    if few is not None and len(few[0]) <= limit:
        if few[0]:
            yield runs(view)
        return
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        rest, run = split_run(digits)
        for part, off in _parts(rest, view.off, limit):
            yield strided_runs(part, run, space.base + off)
    else:
        leaves = leaves_of(space)
        for part, off in _parts_of_cat(leaves, digits, view.off, limit):
            yield runs_through(leaves, part, off)


def _parts(digits: Sequence[Digit], off: int, limit: int) -> Iterator[tuple[Sequence[Digit], int]]:
    """Cut digits into parts of at most `limit` indices."""
    size, i = 1, len(digits)
    while i and size * digits[i - 1][0] <= limit:
        i -= 1
        size *= digits[i][0]
    if not i:
        yield digits, off
        return
    outer, (extent, stride), inner = digits[: i - 1], digits[i - 1], digits[i:]
    most = limit // size
    for index in range(math.prod([e for e, _ in outer])):
        start = off + locate(outer, index)
        for first in range(0, extent, most):
            count = min(most, extent - first)
            part = [(count, stride), *inner] if count > 1 else inner
            yield part, start + first * stride


def _parts_of_cat(
    leaves: Leaves, digits: Sequence[Digit], off: int, limit: int
) -> Iterator[tuple[Sequence[Digit], int]]:
    """Cut a view of a space into parts of at most `limit` runs."""
    rest, run = split_run(digits)
    # Consecutive elements are cut at most once in every shortest run, and at both ends.
    most = max(limit, (limit - 2) * leaves.shortest_run)
    if run > most:
        for part, at in _parts(digits, off, most):
            yield part, at
        return
    each = min(run, run // leaves.shortest_run + 2)
    tail = [(run, 1)] if run > 1 else []
    for part, at in _parts(rest, off, max(limit // each, 1)):
        yield coalesce([*part, *tail]), at
