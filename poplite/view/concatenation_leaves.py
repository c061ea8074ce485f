"""The leaves of a concatenation, through which the runs of its views are found by kernels.

The space of a view is lowered once to `Leaves`; how runs are found through them depends on the
view's innermost step::

    through the complete space, once     leaf after leaf
    from leaf to leaf, next to a digit   some columns at a time, one look-up for each
    with steps of 1 in the space
    all others                           sections inside a digit of a leaf

If a space of strided leaves has far fewer runs than the view has elements, it is lowered once more,
to contiguous leaves.

A leaf is a kid on a variable: one strided set of addresses. Its digits form a row, padded with
digits (1, 0); those that count the repetitions of the space come first::

    concat of a (2, 3) at 0 and the columns 1 and 3 of b (2, 4) at 10, along dimension 1

    breaks   0 3 5                       outer 2, outer_columns 1
    base     0        11
    extent   2 | 3    2 | 2
    stride   3 | 1    4 | 2              position 8 = (1, 3): 11 + 1 * 4 + 0 * 2 = 15

A kid on another `Cat` becomes as many leaves as it has runs; deeply nested `Cat`s with many runs
are first merged into one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.arrays import series
from poplite.arrays.intervals import Int64, repeated
from poplite.arrays.series import Digit
from poplite.errors import SizeOverflowError
from poplite.jit.build import run_kernel
from poplite.jit.kernels_views import ABREAST, TALL, leaf_runs, through, transposed
from poplite.view.concatenation import ConcatPart, SlicedViews, joined as joined_parts
from poplite.view.view import Cat, Storage, View, placed

if TYPE_CHECKING:
    from poplite.jit.build import Argument


# -- parts on variables ----------------------------------------------------------------------------
# A view of a `Cat` is cut where it leaves a kid, then each part where it leaves a kid of the space
# below, and so on.  A part on a variable is not cut, however many runs it has::
#
#     (a0 a1 a2 a3) (b0 b1 b2) read backwards      b2 b1 b0 | a3 a2 a1 a0
#
# Parts are found only as they are needed.

MOST_LEVELS = 128
"""Maximum levels of nested concatenations; more are replaced by one."""

MOST_STEPS = 2**16
"""Maximum number of steps for replacing many levels by one; takes half a second."""


def flat(digits: Sequence[Digit], off: int, space: Storage | Cat) -> View:
    """Return the one-dimensional view with these coalesced digits."""
    size = math.prod([extent for extent, _ in digits])
    return View((size,), (series.pack(digits),), off, space)


def cut(view: View, begin: int, end: int) -> list[View]:
    """Cut a range out of a one-dimensional view, as parts on the same space.

    >>> [part.shape for part in cut(flat(((3, 1), (4, 6)), 0, Storage(0, 0, 24)), 2, 12)]
    [(2,), (8,)]
    """
    if end - begin == view.shape[0]:
        return [view]
    pieces = series.cut_digits(tuple(view.flat_digits()), begin, end, view.off)
    return [View((size,), (series.pack(digits),), off, view.space) for digits, size, off in pieces]


def opened(view: View) -> Iterator[View]:
    """Cut a one-dimensional view of a `Cat` one step further.

    The views follow each other; each has fewer digits, or is on a space below.
    """
    space = view.space
    assert isinstance(space, Cat)
    below = placed(view.shape, view.dims, view.off, space)
    if below.space is not space:
        yield flat(below.flat_digits(), below.off, below.space)
        return
    digits = view.flat_digits()
    if len(digits) > 1:
        (extent, stride), inner = digits[0], digits[1:]
        for i in range(extent):
            yield flat(inner, view.off + i * stride, space)
        return
    (left, step), position = digits[0], view.off
    while left:
        kid, begin, end = space.kid_at(position % space.period)
        start = position - position % space.period
        room = start + end - 1 - position if step > 0 else position - start - begin
        count = min(left, room // abs(step) + 1) if step else left
        yield from _within(kid, start // space.period, begin, end, position, count, step, space)
        position += count * step
        left -= count


def _within(
    kid: View, repetition: int, begin: int, end: int, position: int, count: int, step: int, cat: Cat
) -> Iterator[View]:
    """Cut steps inside one chunk of a kid at the digits of the kid."""
    if abs(step) == 1:
        first = repetition * (end - begin) + position % cat.period - begin
        low = first if step > 0 else first - count + 1
        pieces = series.cut_digits(tuple(kid.flat_digits()), low, low + count, kid.off)
        for digits, _, off in pieces if step > 0 else pieces[::-1]:
            if step > 0:
                yield flat(digits, off, kid.space)
            else:
                reach = sum([(extent - 1) * stride for extent, stride in digits])
                back = tuple([(extent, -stride) for extent, stride in digits])
                yield flat(back, off + reach, kid.space)
        return
    below = placed((count,), (step,), position, cat)
    if below.space is not cat:
        yield flat(below.flat_digits(), below.off, below.space)
        return
    for i in range(count):
        yield placed((1,), (0,), position + i * step, cat)


def one_level(view: View) -> View | None:
    """Return an equal view with at most one level of concatenation, or None if it takes too long.

    >>> from poplite.view.view import all_of, layer
    >>> one_level(layer(layer(all_of(Storage(0, 0, 6), (6,)).reverse(0)))).space
    <Storage variable 0, 6 elements at 0>
    """
    found: list[ConcatPart] = []
    everything = flat(view.flat_digits(), view.off, view.space)
    stack, steps = [(levels(view.space), iter([everything]))], 0
    while stack:
        level, rest = stack[-1]
        part = next(rest, None)
        if part is None:
            stack.pop()
            continue
        steps += 1 + level - levels(part.space)
        if steps > MOST_STEPS:
            return None
        if isinstance(part.space, Storage):
            found.append(
                ConcatPart(part.space, (), tuple(part.flat_digits()), part.shape[0], part.off)
            )
        else:
            stack.append((levels(part.space), opened(part)))
    return joined_parts(found, 1, (view.num_elements,)).reshape(view.shape)


def levels(space: Storage | Cat) -> int:
    """Return the number of nested concatenations."""
    return 0 if isinstance(space, Storage) else space.levels


# -- runs ------------------------------------------------------------------------------------------

MOST_RUNS = 2**27
"""Maximum number of runs that are listed at once: 2 GiB with their lengths."""

MOST_COUNTED = 2**28
"""Maximum number of runs that are counted for the message about too many; takes a few seconds."""

ELEMENTS_PER_RUN = 8
"""Elements of a view per run of its space from which the space is lowered to runs."""


def runs_by_arrays(view: View) -> tuple[Int64, Int64]:
    """Return the runs of a view as `runs` does, without its short way for few runs."""
    space, digits = view.space, view.flat_digits()
    if isinstance(space, Storage):
        rest, run = series.split_run(digits)
        check_listable(series.count_runs(rest, run), "a view has")
        return series.strided_runs(rest, run, space.base + view.off)
    return runs_through(leaves_of(space), digits, view.off)


def runs_through(leaves: Leaves, digits: Sequence[Digit], off: int) -> tuple[Int64, Int64]:
    """Return the runs of a view of a space: int64[R] begins and lengths.

    `digits` and `off` are those of the view, in positions; the digits are coalesced.  Equal lengths
    are one number broadcast.  Raises `SizeOverflowError` if there are more than `MOST_RUNS` runs.
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


def count_through(leaves: Leaves, digits: Sequence[Digit], off: int, limit: int = 2**63 - 1) -> int:
    """Count the runs of a view of a space; the arguments are those of `runs_through`.

    Runs are visited, except for a complete space whose repetitions are regular; counting stops
    soon after `limit`.
    """
    count = _count_whole(leaves) if _is_whole(leaves, digits) else None
    if count is not None:
        return count
    return _walk(_suited(leaves, digits), digits, off, _NONE, _NONE, limit)


def space_runs(leaves: Leaves) -> tuple[Int64, Int64]:
    """Return the runs of a complete space."""
    elements = leaves.outer * int(leaves.breaks[-1])
    return runs_through(leaves, [(elements, 1)], 0)


def _count_whole(leaves: Leaves) -> int | None:
    """Count the runs of a complete space, or return None if its repetitions are irregular.

    How often the last run of a leaf joins the next leaf is known in closed form: the distance to
    the next leaf changes by the same amount from one repetition to the next.
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
    # Each leaf is followed by the next one, and the last leaf by the first of the next repetition.
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
    """Return the runs of every leaf, one after the other, and where the runs of each owner begin.

    `owner`: int64[L], ascending; only leaves of the same owner join.  `room` is at least the number
    of runs.  The results are begins and lengths, int64[R], and int64[owners + 1].
    """
    begin, length = np.empty(room, np.int64), np.empty(room, np.int64)
    ends = np.zeros(owners + 1, np.int64)
    counter = np.empty(leaves.columns, np.int64)
    count = run_kernel(
        leaf_runs,
        room,
        leaves.base,
        leaves.extent.reshape(-1),
        leaves.stride.reshape(-1),
        leaves.columns,
        owner,
        len(leaves),
        counter,
        begin,
        length,
        ends[1:],
    )
    # An owner without leaves ends where the previous one does.
    return *_fitted(begin, length, count), np.maximum.accumulate(ends)


_NONE = np.empty(0, np.int64)


def _walk(
    leaves: Leaves,
    digits: Sequence[Digit],
    off: int,
    begin: Int64,
    length: Int64,
    limit: int = 2**63 - 1,
) -> int:
    """Count the runs of a view, and write as many as there is room for."""
    return run_kernel(
        through,
        _most_runs(leaves, digits),
        *_places(digits, off, leaves),
        leaves.extent.reshape(-1),
        leaves.stride.reshape(-1),
        leaves.outer_columns,
        leaves.columns,
        leaves.has_one_digit,
        begin,
        length,
        len(begin),
        limit,
    )


def _transposed(leaves: Leaves, digits: Sequence[Digit], off: int) -> tuple[Int64, Int64]:
    out, tile = np.empty(_elements(digits), np.int64), np.empty(ABREAST * TALL, np.int64)
    places = _places(digits, off, leaves)
    joins = run_kernel(transposed, len(out), *places, leaves.distance, tile, out)
    rows = digits[-1][0]
    length = np.broadcast_to(np.int64(1), out.shape)
    if joins or (out[rows::rows] == out[rows - 1 : -1 : rows] + 1).any():
        return joined(out, length)
    return out, length


def _places(digits: Sequence[Digit], off: int, leaves: Leaves) -> tuple[Argument, ...]:
    """Return the first arguments of both kernels: the view, and the directory of leaves."""
    directory, shift = leaves.directory
    extent, stride = np.array(digits or ((1, 0),), np.int64).T.copy()
    view = extent, stride, len(extent), np.empty_like(extent), off
    return *view, leaves.breaks, len(leaves), directory, shift, leaves.base


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
    """Cut arrays to the number of runs; pages that were never touched cost nothing."""
    if 2 * count < len(begin):
        return begin[:count].copy(), length[:count].copy()
    return begin[:count], length[:count]


def _suited(leaves: Leaves, digits: Sequence[Digit]) -> Leaves:
    """Return the leaves, or the space's contiguous leaves if these are less work."""
    if leaves.contiguous or _is_whole(leaves, digits):
        return leaves
    if _elements(digits) < ELEMENTS_PER_RUN * leaves.most_runs:
        return leaves
    return leaves.flattened


def _is_whole(leaves: Leaves, digits: Sequence[Digit]) -> bool:
    return digits == [(leaves.outer * int(leaves.breaks[-1]), 1)]


def _is_transposed(leaves: Leaves, digits: Sequence[Digit]) -> bool:
    """Return whether the innermost step leads from leaf to leaf, and the next digit has step 1."""
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
    """Return an upper bound for the number of runs of a view."""
    if _is_whole(leaves, digits):
        return leaves.most_runs
    rest, run = series.split_run(digits)
    return _elements(rest) * min(run, run // leaves.shortest_run + 2)


def _elements(digits: Sequence[Digit]) -> int:
    return math.prod([extent for extent, _ in digits])


def check_listable(count: int, what: str, fix: str = "stream t.region_chunks(), or ") -> None:
    """Raise `SizeOverflowError` if there are more runs than can be listed at once.

    `what` is the subject and verb of the message; `fix` is advice that precedes that of slicing.
    """
    if count > MOST_RUNS:
        raise SizeOverflowError(
            f"{what} {count:,} runs of consecutive elements; at most {MOST_RUNS:,} are listed at "
            "once",
            found=f"their begins and lengths would fill {16 * count / 2**30:,.0f} GiB",
            fix=f"{fix}use slices of the tensor one after the other",
        )


FEW_LEVELS = 2
"""Maximum levels of nested concatenations that are lowered one by one, the lowest first."""

FEW_LEAVES = 2**18
"""Maximum leaves for which more levels are lowered so: kernels list them in milliseconds."""


class Leaves:
    """The leaves of one space.

    Attributes:
        outer: number of repetitions of the space.
        breaks: int64[L + 1], positions in a period at which leaves begin, and the period.
        base: int64[L], addresses of the first elements.
        extent: int64[L, K], digits of each leaf, outermost first.
        stride: int64[L, K].
        outer_columns: how many of the K digits are for repetitions; 0 for a single repetition.
    """

    def __init__(
        self,
        outer: int,
        breaks: Int64,
        base: Int64,
        extent: Int64,
        stride: Int64,
        outer_columns: int,
    ) -> None:
        self.outer = outer
        self.breaks = breaks
        self.base = base
        self.extent = extent
        self.stride = stride
        self.outer_columns = outer_columns

    def __len__(self) -> int:
        return len(self.base)

    @property
    def columns(self) -> int:
        """Number of digits in a row."""
        return int(self.extent.shape[1])

    @cached_property
    def run(self) -> Int64:
        """int64[L]: number of consecutive elements at each step of the other digits."""
        return np.where(self.stride[:, -1] == 1, self.extent[:, -1], 1)

    @cached_property
    def has_one_digit(self) -> npt.NDArray[np.uint8]:
        """uint8[L]: whether one digit counts the elements of a chunk."""
        is_one: npt.NDArray[np.bool_] = self.extent[:, -1] == np.diff(self.breaks)
        return is_one.astype(np.uint8)

    @cached_property
    def contiguous(self) -> bool:
        """Whether every chunk is one run."""
        return bool((self.run == np.diff(self.breaks)).all())

    @cached_property
    def shortest_run(self) -> int:
        """Number of elements of the shortest run of a chunk."""
        return int(self.run.min())

    @cached_property
    def distance(self) -> Int64:
        """int64[L]: distance in addresses between repetitions, with at most one outer column."""
        if not self.outer_columns:
            return np.zeros(len(self), np.int64)
        return np.ascontiguousarray(self.stride[:, 0])

    @cached_property
    def most_runs(self) -> int:
        """Number of runs of the space before any join."""
        chunks = np.diff(self.breaks) // self.run
        return int(chunks.sum()) * self.outer

    @cached_property
    def directory(self) -> tuple[npt.NDArray[np.int32], int]:
        """A leaf at or before each position `i << shift` of a period, and the shift.

        There are about two entries per leaf; the leaf at a position is the entry's leaf or one of
        those after it.
        """
        period = int(self.breaks[-1])
        shift = max((period // (2 * len(self))).bit_length() - 1, 0)
        # Entry i counts the breaks, after the first, at or before i << shift.
        entry = (self.breaks[1:-1] + ((1 << shift) - 1)) >> shift
        counts = np.bincount(entry, minlength=(period >> shift) + 1)
        return np.cumsum(counts).astype(np.int32), shift

    @cached_property
    def flattened(self) -> Leaves:
        """The same space as one repetition of contiguous leaves, one for each run."""
        if self.contiguous and self.outer == 1:
            return self
        return contiguous_leaves(*space_runs(self))


def contiguous_leaves(begin: Int64, length: Int64) -> Leaves:
    """Return one leaf for every run; `begin` and `length` are int64[L], in addresses."""
    breaks = np.zeros(len(begin) + 1, np.int64)
    np.cumsum(length, out=breaks[1:])
    extent = np.ascontiguousarray(length).reshape(-1, 1)
    return Leaves(1, breaks, begin, extent, np.ones_like(extent), 0)


def leaves_of(cat: Cat) -> Leaves:
    """Return the leaves of a space, cached after the first call.

    Raises `SizeOverflowError` if a Cat below it has more runs than can be listed.

    >>> leaves = leaves_of(Cat((View((1, 6), (0, 2), 0, Storage(0, 10, 12)),), 1))
    >>> leaves.base.tolist(), leaves.extent.tolist(), leaves.stride.tolist()
    ([10], [[6]], [[2]])
    """
    if cat.leaves is None and cat.levels > FEW_LEVELS and not _lowered(cat, FEW_LEAVES):
        single = one_level(View((1, cat.num_elements), (0, 1), 0, cat))
        if single is not None:
            space = single.space
            cat.leaves = _lower(space if isinstance(space, Cat) else Cat((single,), 1))
    if cat.leaves is None:
        _lowered(cat, None)
    assert isinstance(cat.leaves, Leaves)
    return cat.leaves


def _lowered(cat: Cat, room: float | None) -> bool:
    """Lower a Cat and all Cats below it, the lowest first, while there is room for their leaves."""
    for space in below(cat):
        if space.leaves is None:
            if room is not None:
                room -= _expected_leaves(space)
                if room < 0:
                    return False
            space.leaves = _lower(space)
    return True


def _expected_leaves(cat: Cat) -> float:
    """Estimate the leaves of a Cat, assuming that the leaves below it are spread evenly."""
    kids, times = cat.kids, 1.0
    if cat.levels == 1:
        return len(kids)
    if isinstance(kids, SlicedViews):  # they differ only in their lengths
        kids = (kids[0],)
        times = cat.num_elements / kids[0].num_elements
    found = 0.0
    for kid in kids:
        digits, space = kid.flat_digits(), kid.space
        run = digits[-1][0] if digits and abs(digits[-1][1]) == 1 else 1
        if isinstance(space, Storage):
            found += kid.num_elements / run
        else:
            assert isinstance(space.leaves, Leaves)
            met = space.leaves.most_runs / space.num_elements
            found += kid.num_elements * min(1.0, 1 / run + met)
    return times * found


def below(cat: Cat) -> list[Cat]:
    """Return a Cat and all Cats below it, each after those that it uses.

    >>> storage = Storage(0, 0, 6)
    >>> below(Cat((View((1, 6), (0, 1), 0, storage),), 1))
    [<Cat of 1 views, 1 times, 6 elements>]
    """
    order: dict[int, Cat] = {}
    stack = [(cat, False)]
    while stack:
        at, done = stack.pop()
        if done:
            order.setdefault(id(at), at)
        elif id(at) not in order:
            stack.append((at, True))
            kids = [at.kids.template] if isinstance(at.kids, SlicedViews) else at.kids
            stack += [(kid.space, False) for kid in kids if isinstance(kid.space, Cat)]
    return list(order.values())


def _lower(cat: Cat) -> Leaves:
    if isinstance(cat.kids, SlicedViews):
        spaces = {id(cat.kids.template.space): cat.kids.template.space}
    else:
        spaces = {id(kid.space): kid.space for kid in cat.kids}
    on_variables = all([isinstance(space, Storage) for space in spaces.values()])
    if on_variables or (len(spaces) == 1 and len(cat.kids) > 1):
        if isinstance(cat.kids, SlicedViews):
            rows = _pieces(cat.kids)
        else:
            rows = stacked(cat.kids, split=cat.outer > 1)
        leaves = Leaves(cat.outer, np.asarray(cat.breaks, np.int64), *rows)
        if on_variables:
            return leaves
        # So far the addresses are positions in the only space, on which all kids are.
        (inner,) = spaces.values()
        assert isinstance(inner, Cat)
        return contiguous_leaves(*_mapped(*space_runs(leaves), leaves_of(inner).flattened))
    listed = [runs_by_arrays(kid) for kid in cat.kids]
    if cat.outer > 1:
        return contiguous_leaves(*_interleaved(cat, listed))
    begins, lengths = zip(*listed, strict=True)
    return contiguous_leaves(np.concatenate(begins), np.concatenate(lengths))


def stacked(views: Sequence[View], *, split: bool) -> tuple[Int64, Int64, Int64, int]:
    """Return the digits of one or more views as rows.

    The results are the addresses of the first elements (positions on a Cat), int64[L]; extents and
    strides, int64[L, K]; and the number of columns for the first dimension.  With `split`, the
    digits of the first dimension have separate columns.
    """
    # Views often have the same form: slices of one tensor, variables of one shape.
    numbers: dict[object, int] = {}
    heads: list[Sequence[Digit]] = []
    tails: list[Sequence[Digit]] = []
    kind, base = [], []
    for view in views:
        shape, dims, space = view.shape, view.dims, view.space
        number = numbers.setdefault((shape, dims), len(numbers))
        if number == len(tails):
            heads.append(series.digits_of(shape[0], dims[0]) if split else ())
            first = 1 if split else 0
            tails.append(series.flat_digits(shape[first:], dims[first:]))
        kind.append(number)
        base.append(space.base + view.off if isinstance(space, Storage) else view.off)
    head_columns = max(map(len, heads))
    columns = head_columns + max(1, max(map(len, tails)))
    extent = np.ones((len(tails), columns), np.int64)
    stride = np.zeros((len(tails), columns), np.int64)
    for i, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        for digits, end in ((head, head_columns), (tail, columns)):
            for c, digit in enumerate(digits, end - len(digits)):
                extent[i, c], stride[i, c] = digit
    return np.array(base, np.int64), extent[kind], stride[kind], head_columns


def _pieces(pieces: SlicedViews) -> tuple[Int64, Int64, Int64, int]:
    """Return the same result as `stacked` for the same views."""
    space = pieces.template.space
    base = space.base if isinstance(space, Storage) else 0
    (outer, _, inner), (first, step, rest) = pieces.template.shape, pieces.template.dims
    assert isinstance(step, int), "pieces are cut along a single stride"
    head = series.digits_of(outer, first) if outer > 1 else ()
    tail = series.digits_of(inner, rest)
    if tail and step == tail[0][0] * tail[0][1]:
        # The axis continues the digit below it.
        width, step, tail = tail[0][0], tail[0][1], tail[1:]
    else:
        width = 1
    strides = [s for _, s in head] + [step] + [s for _, s in tail]
    columns = len(strides)
    extent = np.empty((len(pieces), columns), np.int64)
    extent[:, : len(head)] = [e for e, _ in head]
    extent[:, len(head)] = pieces.extent * width
    extent[:, len(head) + 1 :] = [e for e, _ in tail]
    stride = np.empty_like(extent)
    stride[:] = strides
    return base + pieces.off, extent, stride, len(head)


def _mapped(begin: Int64, length: Int64, leaves: Leaves) -> tuple[Int64, Int64]:
    """Map runs of positions in a space to runs of addresses, by its contiguous leaves."""
    end = begin + length
    first = np.searchsorted(leaves.breaks, begin, side="right") - 1
    count = np.searchsorted(leaves.breaks, end, side="left") - first
    source, within = repeated(count)
    leaf = first[source] + within
    low = np.maximum(begin[source], leaves.breaks[leaf])
    high = np.minimum(end[source], leaves.breaks[leaf + 1])
    return leaves.base[leaf] + (low - leaves.breaks[leaf]), high - low


def _interleaved(cat: Cat, pieces: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    """Cut each kid's runs at its chunks, and order them by position in the Cat."""
    begins, lengths, positions = [], [], []
    breaks = np.asarray(cat.breaks, np.int64)
    for k, (begin, length) in enumerate(pieces):
        chunk = breaks[k + 1] - breaks[k]
        end = np.cumsum(length)
        start = end - length
        source, within = repeated((end - 1) // chunk - start // chunk + 1)
        repetition = start[source] // chunk + within
        low = np.maximum(start[source], repetition * chunk)
        high = np.minimum(end[source], (repetition + 1) * chunk)
        begins.append(begin[source] + (low - start[source]))
        lengths.append(high - low)
        positions.append(repetition * cat.period + breaks[k] + low % chunk)
    order = np.argsort(np.concatenate(positions), kind="stable")
    return np.concatenate(begins)[order], np.concatenate(lengths)[order]
