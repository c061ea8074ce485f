"""Runs of views of concatenations, by compiled kernels.

The space of the view is lowered once to `Leaves`.  How its runs are then found depends on where
the view's innermost step leads::

    through the complete space, once     leaf after leaf
    from leaf to leaf, beside a digit    some columns at a time, one look-up for each
    of neighbours in the space
    anywhere else                        stretches inside a digit of a leaf

A space of strided leaves with far fewer runs than the view has elements is lowered once more, to
contiguous leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.arrays.digits import Digit
from poplite.arrays.intervals import Int64
from poplite.arrays.progressions import count_runs, split_run, strided_runs
from poplite.errors import SizeOverflowError
from poplite.jit.kernels.concatenated import leaf_runs, through
from poplite.jit.kernels.transposed import ABREAST, TALL, transposed
from poplite.jit.native import address, native
from poplite.view.contiguous.concatenated import Leaves, leaves_of
from poplite.view.contiguous.few_runs import few_runs
from poplite.view.view import Storage, View

MOST_RUNS = 2**27
"""Runs that are listed at once: 2 GiB with their lengths."""

MOST_COUNTED = 2**28
"""Runs that are still counted for the message that there are too many: a few seconds."""

ELEMENTS_PER_RUN = 8
"""Elements of a view, for each run of its space, from which on the space is lowered to runs."""


def runs(view: View) -> tuple[Int64, Int64]:
    """Return the maximal runs of a view, in view order, as `(begin, length)`.

    Both are int64[R]: first addresses in the graph's space, and element counts, which may be one
    number repeated and are read-only.  Raises `SizeOverflowError` when there are more than
    `MOST_RUNS`; `chunks` streams them.

    >>> from poplite.view.view import all_of
    >>> [a.tolist() for a in runs(all_of(Storage(0, 10, 6), (2, 3)).slice(0, 2, 1))]
    [[10, 13], [2, 2]]
    """
    few = few_runs(view)
    if few is not None:
        return np.array(few[0], np.int64), np.array(few[1], np.int64)
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        rest, run = split_run(digits)
        check_listable(count_runs(rest, run), "a view has")
        return strided_runs(rest, run, space.base + view.off)
    return runs_through(leaves_of(space), digits, view.off)


def runs_through(leaves: Leaves, digits: Sequence[Digit], off: int) -> tuple[Int64, Int64]:
    """Return the runs of a view of a space: int64[R] begins and lengths.

    `digits` and `off` are those of the view, in positions, coalesced.  Lengths are one number
    repeated where all are equal.  Raises `SizeOverflowError` when there are more than `MOST_RUNS`.
    """
    leaves = _suited(leaves, digits)
    if _is_transposed(leaves, digits):
        return _transposed(leaves, digits, off)
    room = _most_runs(leaves, digits)
    if room > MOST_RUNS:
        room = count_through(leaves, digits, off, MOST_COUNTED)
        check_listable(room, "a view has" if room <= MOST_COUNTED else "a view has at least")
    if _is_whole(leaves, digits) and leaves.outer == 1 and not leaves.contiguous:
        return runs_by_owner(leaves, np.zeros(len(leaves), np.int64), 1, room)[:2]
    begin, length = np.empty(room, np.int64), np.empty(room, np.int64)
    return _fitted(begin, length, _walk(leaves, digits, off, begin, length))


def count_through(leaves: Leaves, digits: Sequence[Digit], off: int, most: int = 2**63 - 1) -> int:
    """Count the runs of a view of a space; arguments as of `runs_through`.

    They are visited, except those of a complete space whose repetitions are regular; the count
    stops soon after `most`.
    """
    count = _count_whole(leaves) if _is_whole(leaves, digits) else None
    if count is not None:
        return count
    return _walk(_suited(leaves, digits), digits, off, _NONE, _NONE, most)


def space_runs(leaves: Leaves) -> tuple[Int64, Int64]:
    """Return the runs of a complete space."""
    elements = leaves.outer * int(leaves.breaks[-1])
    return runs_through(leaves, [(elements, 1)], 0)


def _count_whole(leaves: Leaves) -> int | None:
    """Count the runs of a complete space, or return None where its repetitions are irregular.

    What the last run of a leaf joins is known in closed form: the distance to the next leaf
    changes by the same amount from one repetition to the next.
    """
    if leaves.outer_columns > 1:
        return None
    chunk = np.diff(leaves.breaks)
    total = chunk // leaves.run
    joins = np.zeros_like(total)
    reach, inner = leaves.run - 1, np.ones_like(total)
    for c in range(leaves.columns - 1, leaves.outer_columns - 1, -1):
        extent, stride = leaves.extent[:, c], leaves.stride[:, c]
        if c == leaves.columns - 1:
            extent = extent // leaves.run
        inner *= extent
        joins += np.where(stride - reach == 1, total // inner * (extent - 1), 0)
        reach += (extent - 1) * stride
    outer, distance = leaves.outer, leaves.distance
    gap = np.roll(leaves.base, -1) - leaves.base - reach - 1
    gap[-1] += distance[0]
    drift = distance - np.roll(distance, -1)
    # A leaf is followed by the next one in every repetition, the last by the first of the next.
    times = np.full(len(leaves), outer)
    times[-1] -= 1
    steady = (drift == 0) & (gap == 0)
    step = np.where(drift == 0, 1, drift)
    once = (drift != 0) & (gap % step == 0) & (gap // step >= 0) & (gap // step < times)
    between = times[steady].sum() + once.sum()
    return int((total - joins).sum() * outer - between)


def runs_by_owner(
    leaves: Leaves, owner: Int64, owners: int, room: int
) -> tuple[Int64, Int64, Int64]:
    """Return the runs of every leaf, one after the other, and where those of each owner begin.

    `owner`: int64[L], not falling; only leaves of one owner join.  `room` is at least the number of
    runs.  The results are begins and lengths, int64[R], and int64[owners + 1].
    """
    begin, length = np.empty(room, np.int64), np.empty(room, np.int64)
    ends = np.zeros(owners + 1, np.int64)
    counter = np.empty(leaves.columns, np.int64)
    count = native(leaf_runs)(
        address(leaves.base),
        address(leaves.extent),
        address(leaves.stride),
        leaves.columns,
        address(owner),
        len(leaves),
        address(counter),
        address(begin),
        address(length),
        address(ends) + 8,
    )
    # An owner without leaves ends where the one before it does.
    return *_fitted(begin, length, count), np.maximum.accumulate(ends)


_NONE = np.empty(0, np.int64)


def _walk(
    leaves: Leaves,
    digits: Sequence[Digit],
    off: int,
    begin: Int64,
    length: Int64,
    most: int = 2**63 - 1,
) -> int:
    """Count the runs of a view, and write them where there is room."""
    top = _top(digits)
    return native(through)(
        *_places(*top, off, leaves),
        address(leaves.extent),
        address(leaves.stride),
        leaves.outer_columns,
        leaves.columns,
        address(leaves.has_one_digit),
        address(begin),
        address(length),
        len(begin),
        most,
    )


def _transposed(leaves: Leaves, digits: Sequence[Digit], off: int) -> tuple[Int64, Int64]:
    top = _top(digits)
    out, tile = np.empty(_elements(digits), np.int64), np.empty(ABREAST * TALL, np.int64)
    joins = native(transposed)(
        *_places(*top, off, leaves),
        address(leaves.distance),
        address(tile),
        address(out),
    )
    rows = digits[-1][0]
    length = np.broadcast_to(np.int64(1), out.shape)
    if joins or (out[rows::rows] == out[rows - 1 : -1 : rows] + 1).any():
        return joined(out, length)
    return out, length


def _top(digits: Sequence[Digit]) -> tuple[Int64, Int64, Int64]:
    rows = digits or ((1, 0),)
    extent = np.array([e for e, _ in rows], np.int64)
    return extent, np.array([s for _, s in rows], np.int64), np.empty(len(rows), np.int64)


def _places(
    extent: Int64, stride: Int64, counter: Int64, off: int, leaves: Leaves
) -> tuple[int, ...]:
    """Return what both kernels take first: the view, and how leaves are found."""
    directory, shift = leaves.directory
    view = address(extent), address(stride), len(extent), address(counter), off
    space = address(leaves.breaks), len(leaves), address(directory), shift, address(leaves.base)
    return *view, *space


def joined(begin: Int64, length: Int64) -> tuple[Int64, Int64]:
    """Join neighbouring runs that continue each other.

    >>> [a.tolist() for a in joined(np.array([0, 2, 9]), np.array([2, 3, 1]))]
    [[0, 9], [5, 1]]
    """
    starts = np.ones(len(begin), np.bool_)
    np.not_equal(begin[1:], begin[:-1] + length[:-1], out=starts[1:])
    first = np.flatnonzero(starts)
    return begin[first], np.add.reduceat(length, first)


def _fitted(begin: Int64, length: Int64, count: int) -> tuple[Int64, Int64]:
    """Cut arrays to their runs; pages that were never touched cost nothing."""
    if 2 * count < len(begin):
        return begin[:count].copy(), length[:count].copy()
    return begin[:count], length[:count]


def _suited(leaves: Leaves, digits: Sequence[Digit]) -> Leaves:
    """Return the leaves, or the runs of the space where these are less work."""
    if leaves.contiguous or _is_whole(leaves, digits):
        return leaves
    if _elements(digits) < ELEMENTS_PER_RUN * leaves.most_runs:
        return leaves
    return leaves.flattened


def _is_whole(leaves: Leaves, digits: Sequence[Digit]) -> bool:
    return digits == [(leaves.outer * int(leaves.breaks[-1]), 1)]


def _is_transposed(leaves: Leaves, digits: Sequence[Digit]) -> bool:
    """Return whether the innermost step leads from leaf to leaf, beside a step to neighbours."""
    if len(digits) < 2 or digits[-2][1] != 1 or digits[-2][0] < ABREAST:
        return False
    period, step = int(leaves.breaks[-1]), digits[-1][1]
    leads_on = step % period != 0 and abs(step) * len(leaves) >= period
    return (
        leads_on
        and leaves.contiguous
        and leaves.outer_columns < 2
        and _elements(digits) <= MOST_RUNS
    )


def _most_runs(leaves: Leaves, digits: Sequence[Digit]) -> int:
    """Return a number that the runs of a view do not exceed."""
    if _is_whole(leaves, digits):
        return leaves.most_runs
    rest, run = split_run(digits)
    return _elements(rest) * min(run, run // leaves.shortest_run + 2)


def _elements(digits: Sequence[Digit]) -> int:
    return math.prod([extent for extent, _ in digits])


def check_listable(count: int, what: str, fix: str = "t.region_chunks() streams them; or ") -> None:
    """Raise `SizeOverflowError` when there are more runs than are listed at once.

    `what` is subject and verb of the message; `fix` is advised before slices of the tensor.
    """
    if count > MOST_RUNS:
        raise SizeOverflowError(
            f"{what} {count:,} runs of consecutive elements; at most {MOST_RUNS:,} are listed at "
            "once",
            found=f"their begins and lengths would fill {16 * count / 2**30:,.0f} GiB",
            fix=f"{fix}take slices of the tensor in turn",
        )
