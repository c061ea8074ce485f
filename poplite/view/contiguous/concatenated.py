"""Concatenations as arrays: what the kernels read of a `Cat`, built on its first query.

A leaf is a kid on a variable: one strided set of addresses.  Its digits fill a row, those that
count the repetitions of the space first, padded with digits (1, 0)::

    concat of a (2, 3) at 0 and the columns 1 and 3 of b (2, 4) at 10, along dimension 1

    breaks   0 3 5                       outer 2, outer_columns 1
    base     0        11
    extent   2 | 3    2 | 2
    stride   3 | 1    4 | 2              position 8 = (1, 3): 11 + 1 * 4 + 0 * 2 = 15

A kid on another `Cat` becomes as many leaves as it has runs; many nested `Cat` with many runs are
first merged into one (`parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from poplite.arrays.digits import Digit, digits_of, flat_digits
from poplite.arrays.intervals import Int64
from poplite.view.parts import one_level
from poplite.view.slices import SlicedViews
from poplite.view.view import Cat, Storage, View

FEW_LEVELS = 2
"""Nested concatenations that are lowered one after the other, the lowest first."""

FEW_LEAVES = 2**18
"""Leaves for which more levels are lowered so, too: compiled loops list them in milliseconds."""


class Leaves:
    """The leaves of one space.

    Attributes:
        outer: repetitions of the space.
        breaks: int64[L + 1], positions of a period where leaves begin, and the period.
        base: int64[L], addresses of the first elements.
        extent: int64[L, K], digits of each leaf, outermost first.
        stride: int64[L, K].
        outer_columns: how many of the K digits count repetitions; none where there is one.
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
        """int64[L]: consecutive elements in each step of the other digits."""
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
        """Elements of the shortest run of a chunk."""
        return int(self.run.min())

    @cached_property
    def distance(self) -> Int64:
        """int64[L]: addresses from one repetition to the next, with one outer column or none."""
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

        There are about two entries for each leaf; the leaf at a position is that one or one of the
        next.
        """
        period = int(self.breaks[-1])
        shift = max((period // (2 * len(self))).bit_length() - 1, 0)
        # Entry i counts the breaks, after the first, at or before i << shift.
        entry = (self.breaks[1:-1] + ((1 << shift) - 1)) >> shift
        counts = np.bincount(entry, minlength=(period >> shift) + 1)
        return np.cumsum(counts).astype(np.int32), shift

    @cached_property
    def flattened(self) -> Leaves:
        """The same space as one repetition of contiguous leaves, its runs."""
        if self.contiguous and self.outer == 1:
            return self
        from poplite.view.contiguous.nested import space_runs  # which imports this module

        return contiguous_leaves(*space_runs(self))


def contiguous_leaves(begin: Int64, length: Int64) -> Leaves:
    """Return one leaf for every run; `begin` and `length` are int64[L], in addresses."""
    breaks = np.zeros(len(begin) + 1, np.int64)
    np.cumsum(length, out=breaks[1:])
    extent = np.ascontiguousarray(length).reshape(-1, 1)
    return Leaves(1, breaks, begin, extent, np.ones_like(extent), 0)


def leaves_of(cat: Cat) -> Leaves:
    """Return the leaves of a space, kept from the first call on.

    Raises `SizeOverflowError` when a Cat below it has more runs than are ever listed.

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
    """Lower a Cat and all below it, the lowest first, as long as there is room for their leaves."""
    for space in below(cat):
        if space.leaves is None:
            if room is not None:
                room -= _expected_leaves(space)
                if room < 0:
                    return False
            space.leaves = _lower(space)
    return True


def _expected_leaves(cat: Cat) -> float:
    """Estimate the leaves of a Cat, as if those of the spaces below it were spread evenly."""
    kids, times = cat.kids, 1.0
    if cat.levels == 1:
        return len(kids)
    if isinstance(kids, SlicedViews):  # alike, but for their lengths
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
    """Return a Cat and all Cats below it, each after those on which it is built.

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
    from poplite.view.contiguous.nested import runs, space_runs  # which imports this module

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
        # So far the addresses are positions of the one space on which all kids are.
        (inner,) = spaces.values()
        assert isinstance(inner, Cat)
        return contiguous_leaves(*_mapped(*space_runs(leaves), leaves_of(inner).flattened))
    listed = [runs(kid) for kid in cat.kids]
    if cat.outer > 1:
        return contiguous_leaves(*_interleaved(cat, listed))
    begins, lengths = zip(*listed, strict=True)
    return contiguous_leaves(np.concatenate(begins), np.concatenate(lengths))


def stacked(views: Sequence[View], *, split: bool) -> tuple[Int64, Int64, Int64, int]:
    """Return the digits of views, at least one, as rows.

    The results are the addresses of the first elements (positions on a Cat), int64[L]; extents and
    strides, int64[L, K]; and the number of columns for the first dimension, whose digits have
    columns of their own with `split`.
    """
    # Views are often alike: slices of one tensor, variables of one shape.
    numbers: dict[object, int] = {}
    heads: list[Sequence[Digit]] = []
    tails: list[Sequence[Digit]] = []
    kind, base = [], []
    for view in views:
        shape, dims, space = view.shape, view.dims, view.space
        number = numbers.setdefault((shape, dims), len(numbers))
        if number == len(tails):
            heads.append(digits_of(shape[0], dims[0]) if split else ())
            first = 1 if split else 0
            tails.append(flat_digits(shape[first:], dims[first:]))
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
    """Return what `stacked` would return for the same views."""
    space = pieces.template.space
    base = space.base if isinstance(space, Storage) else 0
    (outer, _, inner), (first, step, rest) = pieces.template.shape, pieces.template.dims
    assert isinstance(step, int), "pieces are cut along a single stride"
    head = digits_of(outer, first) if outer > 1 else ()
    tail = digits_of(inner, rest)
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
    """Map runs of positions of a space to runs of addresses, by its contiguous leaves."""
    end = begin + length
    first = np.searchsorted(leaves.breaks, begin, side="right") - 1
    count = np.searchsorted(leaves.breaks, end, side="left") - first
    source, within = _spread(count)
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
        source, within = _spread((end - 1) // chunk - start // chunk + 1)
        repetition = start[source] // chunk + within
        low = np.maximum(start[source], repetition * chunk)
        high = np.minimum(end[source], (repetition + 1) * chunk)
        begins.append(begin[source] + (low - start[source]))
        lengths.append(high - low)
        positions.append(repetition * cat.period + breaks[k] + low % chunk)
    order = np.argsort(np.concatenate(positions), kind="stable")
    return np.concatenate(begins)[order], np.concatenate(lengths)[order]


def _spread(count: Int64) -> tuple[Int64, Int64]:
    """Return, for counts 2, 1, the owners 0 0 1, and the number within each owner 0 1 0."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
