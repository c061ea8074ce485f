"""Integers written as digits: dimensions of views, and long sequences in few bytes.

A dimension is a number written in *digits*, outermost first, each an (extent, stride)
pair; its index moves the offset by the sum of digit * stride.  A matrix of shape (4, 6),
transposed and flattened, is one dimension of 24 elements with two digits::

    ((6, 1), (4, 6))        index 9 = 2 * 4 + 1  ->  offset 2 * 1 + 1 * 6 = 8

Digits are never expanded: no element is visited here, so the cost of every function is linear in
the number of digits.  A dimension with one digit is stored as its plain stride.  Extents of digits
are above 1, and neighbours are merged where the outer one continues the inner one
(outer stride == inner extent * inner stride).  CuTe calls them "hierarchical layouts".

Long sequences are stored as steps if they are regular, as offsets otherwise::

    0 64 128 192 ...                    Steps(0, ((1000000, 64),))        nothing of that size
    0 1 2  100 101 102                  Steps(0, ((2, 100), (3, 1)))
    5007 5001 5044 ...                  Listed(5001, uint32[6 0 43 ...])  four bytes each

Starts, lengths and rows of the fields of a million vertices are stored in this form; the vertices
themselves are created on access (`OnAccess`).

    >>> compact(np.array([7, 7, 7]))
    Steps(first=7, digits=((3, 0),))
    >>> compact(np.array([5007, 5001, 5044])).array().tolist()
    [5007, 5001, 5044]
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.jit.build import address, native
from poplite.jit.kernels_intervals import repeat_joining, repeat_pattern

T = TypeVar("T")

# -- digits ----------------------------------------------------------------------------------------

Digit = tuple[int, int]
Digits = tuple[Digit, ...]
Dim = int | Digits
"""The stride of a one-digit (or one-element) dimension, or its two or more digits."""
Piece = tuple[Digits, int, int]
"""A range of a number: its digits, number of elements, and offset of the first element."""


def digits_of(size: int, dim: Dim) -> Digits:
    """Return the digits of one dimension.

    >>> digits_of(4, 6), digits_of(1, 6)
    (((4, 6),), ())
    """
    if not isinstance(dim, int):
        return dim
    return ((size, dim),) if size != 1 else ()


def coalesce(digits: Iterable[Digit]) -> list[Digit]:
    """Merge neighbours where the outer digit continues the inner one; extents are above 1.

    >>> coalesce([(2, 12), (3, 4), (4, 1)])
    [(24, 1)]
    """
    merged: list[Digit] = []
    for extent, stride in digits:
        if merged and merged[-1][1] == extent * stride:
            merged[-1] = (merged[-1][0] * extent, stride)
        else:
            merged.append((extent, stride))
    return merged


def flat_digits(shape: Sequence[int], dims: Sequence[Dim]) -> list[Digit]:
    """Return the coalesced digits of all dimensions, read as one row-major number.

    >>> flat_digits((2, 3, 4), (12, 4, 1)), flat_digits((4, 3), (1, 4))
    ([(24, 1)], [(4, 1), (3, 4)])
    """
    if len(shape) == 1 and isinstance(dims[0], int):
        return [(shape[0], dims[0])] if shape[0] != 1 else []
    merged: list[Digit] = []
    extent, stride = 1, -1  # the digit that may still grow
    for size, dim in zip(shape, dims):  # noqa: B905  (strict takes longer than a digit)
        for e, s in ((size, dim),) if isinstance(dim, int) else dim:
            if e == 1:
                continue
            if stride == e * s and extent != 1:
                extent *= e
            else:
                if extent != 1:
                    merged.append((extent, stride))
                extent = e
            stride = s
    if extent != 1:
        merged.append((extent, stride))
    return merged


def pack(digits: Sequence[Digit]) -> Dim:
    """Turn coalesced digits into a dimension.

    >>> pack([]), pack([(4, 6)]), pack([(6, 1), (4, 6)])
    (0, 6, ((6, 1), (4, 6)))
    """
    if len(digits) > 1:
        return tuple(digits)
    return digits[0][1] if digits else 0


def row_major(shape: Sequence[int]) -> tuple[Dim, ...]:
    """Return the strides of consecutive elements in row-major order.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    if len(shape) < 2:
        return (1,) * len(shape)
    strides: list[Dim] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def regroup(digits: Sequence[Digit], shape: Sequence[int]) -> tuple[Dim, ...] | None:
    """Cut coalesced digits into new dimensions of equal total size; None if no strides express it.

    The rule is complete: after coalescing, if a boundary inside a digit does not divide it, some
    index carries across the boundary, which no strides can express.

    >>> regroup([(6, 1), (4, 6)], (3, 8)), regroup([(6, 1), (4, 6)], (8, 3))
    ((2, ((2, 1), (4, 6))), None)
    """
    if len(shape) == 1:
        return (pack(digits),)
    rest = list(digits)
    dims: list[Dim] = []
    extent, stride = 1, 0  # the remainder of a digit
    for size in reversed(shape):
        if size == 1:
            dims.append(0)
            continue
        if extent == 1:
            extent, stride = rest.pop()
        if extent % size == 0:
            dims.append(stride)
            extent, stride = extent // size, stride * size
            continue
        group: list[Digit] = []
        while size > 1:
            if extent == 1:
                extent, stride = rest.pop()
            taken = extent if extent < size else size
            if extent % taken or size % taken:
                return None
            group.append((taken, stride))
            extent, stride, size = extent // taken, stride * taken, size // taken
        dims.append(tuple(group[::-1]))
    return tuple(dims[::-1])


def place_values(digits: Sequence[Digit]) -> list[int]:
    """Return by how much one step of each digit changes the number.

    >>> place_values([(2, 9), (3, 9), (4, 9)])
    [12, 4, 1]
    """
    values = []
    place = 1
    for extent, _ in reversed(digits):
        values.append(place)
        place *= extent
    return values[::-1]


def locate(digits: Sequence[Digit], index: int) -> int:
    """Return the offset for an index written in these digits.

    >>> locate([(6, 1), (4, 6)], 9)
    8
    """
    offset = 0
    for extent, stride in reversed(digits):
        index, digit = divmod(index, extent)
        offset += digit * stride
    return offset


def cut_digits(digits: Digits, begin: int, end: int, offset: int = 0) -> list[Piece]:
    """Select the non-empty range [begin, end) of a number.

    An end inside a digit cuts the range into a head up to the next full outer digit, a body of full
    outer digits, and a tail; head and tail are cut again at the inner digits::

        ((2, .), (3, .), (4, .))     [5, 23)  ->  5 | 8 | 12 | 20 | 23

    `offset` is the offset of index 0. There is one piece if no end falls inside a digit.

    >>> cut_digits(((6, 1), (4, 6)), 4, 12)
    [(((2, 1), (4, 6)), 8, 1)]
    >>> cut_digits(((6, 1), (4, 6)), 3, 6)
    [((), 1, 18), (((2, 6),), 2, 1)]
    """
    if not digits:
        return [((), 1, offset)]
    (_, stride), inner = digits[0], digits[1:]
    if not inner:
        size = end - begin
        return [(((size, stride),) if size > 1 else (), size, offset + begin * stride)]
    place = 1
    for extent, _ in inner:
        place *= extent
    low, head = divmod(begin, place)
    high, tail = divmod(end, place)
    if low == high:
        return cut_digits(inner, head, tail, offset + low * stride)
    pieces = []
    if head:
        pieces = cut_digits(inner, head, place, offset + low * stride)
        low += 1
    if low < high:
        body = inner if high - low == 1 else ((high - low, stride), *inner)
        pieces.append((body, (high - low) * place, offset + low * stride))
    if tail:
        pieces += cut_digits(inner, 0, tail, offset + high * stride)
    return pieces


def sub_sample_digits(digits: Sequence[Digit], step: int) -> list[Digit] | None:
    """Select every step-th index from 0; None if a step within a digit does not divide it.

    >>> sub_sample_digits([(6, 1), (4, 6)], 2), sub_sample_digits([(6, 1), (4, 6)], 8)
    ([(6, 1), (2, 12)], [(3, 2)])
    >>> sub_sample_digits([(6, 1), (4, 6)], 3) is None
    True
    """
    taken: list[Digit] = []
    for i in range(len(digits) - 1, -1, -1):
        extent, stride = digits[i]
        if i == 0:
            extent, stride = -(-extent // step), stride * step
        elif extent % step == 0:
            extent, stride, step = extent // step, stride * step, 1
        elif step % extent == 0:
            step //= extent
            continue
        else:
            return None
        if extent > 1:
            taken.append((extent, stride))
    return coalesce(reversed(taken))


# -- runs of digits --------------------------------------------------------------------------------
# The runs of a strided set of addresses follow from its digits alone.  A carry into a digit moves
# the address by its stride minus the reach of the inner digits, and joins two runs if that is 1::
#
#     digits (3, 4) (2, 1)      0 1 | 4 5 | 8 9       4 - 1 = 3: three runs
#     digits (3, 1) (2, 0)      0 | 0 1 | 1 2 | 2     1 - 0 = 1: the carry joins, four runs
#
# Beyond a few thousand runs the inner digits are expanded to a block, which a kernel repeats.

BLOCK = 1024
"""Minimum number of runs of a block that is repeated; it fits the L1 cache."""

SMALL = 4096
"""Maximum number of runs for which NumPy is fast enough, and equal lengths are written out."""


def split_run(digits: Sequence[Digit]) -> tuple[Sequence[Digit], int]:
    """Split the run of consecutive elements off the digits of a view.

    >>> split_run([(3, 4), (2, 1)]), split_run([(3, 4)])
    (([(3, 4)], 2), ([(3, 4)], 1))
    """
    if digits and digits[-1][1] == 1:
        return digits[:-1], digits[-1][0]
    return digits, 1


def carries(digits: Sequence[Digit], run: int) -> list[tuple[int, int, bool]]:
    """Return (extent, product of the inner extents, whether it joins) per digit, innermost first.

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
    """Count the runs of a strided set; `run` is the length of each run before any join.

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
    """Return begins and lengths of the runs of a strided set, both int64[runs].

    Digits are coalesced; `run` is the length of each run before any join. Equal lengths are one
    number broadcast.

    >>> [a.tolist() for a in strided_runs([(3, 1), (2, 0)], 1, 10)]
    [[10, 10, 11, 12], [1, 2, 2, 1]]
    """
    # In coalesced digits, a run and a single digit never join; most views end here.
    if len(digits) < 2 or not any([joins for _, _, joins in carries(digits, run)]):
        begin = grid(digits, base)
        if len(begin) <= SMALL:
            return begin, np.full(len(begin), run, np.int64)
        return begin, np.broadcast_to(np.int64(run), begin.shape)
    if math.prod([extent for extent, _ in digits]) <= SMALL:
        return _marked(digits, run, base)
    return _repeated(digits, run, base)


def grid(digits: Sequence[Digit], base: int) -> Int64:
    """Return the value of the digits for every index.

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
    """Split digits before the innermost ones that form a block."""
    size, i = 1, len(digits)
    while i and size < BLOCK:
        i -= 1
        size *= digits[i][0]
    return digits[:i], digits[i:]


def _copies(inner: Sequence[Digit]) -> int:
    """Return how many steps of a digit form a block, if the digits inside it do not."""
    return -(-BLOCK // math.prod([extent for extent, _ in inner]))


def _marked(digits: Sequence[Digit], run: int, base: int) -> tuple[Int64, Int64]:
    """List runs with joins by marking those unjoined runs that begin a joined one."""
    begin = grid(digits, base)
    starts = np.ones(len(begin), np.bool_)
    for extent, inner, joins in carries(digits, run):
        if joins:
            starts.reshape(-1, extent, inner)[:, 1:, 0] = False
    first = np.flatnonzero(starts)
    return begin[first], np.diff(first, append=len(begin)) * run


def _repeated(digits: Sequence[Digit], run: int, base: int) -> tuple[Int64, Int64]:
    """List runs with joins by repeating a block of them."""
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


# -- series ----------------------------------------------------------------------------------------

NARROW = np.dtype(np.uint32)
"""Type of offsets, if they fit."""

FEW = 64
"""Equal numbers that are written out."""

MOST_NARROW = 2**32
"""Limit of offsets that are stored in 32 bits."""


@frozen
class Steps:
    """Nested arithmetic progressions.

    Attributes:
        first: the number at index 0.
        digits: (extent, stride) outermost first, as in `poplite.arrays.series`; extents may be 1.
    """

    first: int
    digits: Digits

    @property
    def count(self) -> int:
        """How many numbers."""
        digits = self.digits
        return digits[0][0] if len(digits) == 1 else math.prod([extent for extent, _ in digits])

    @property
    def step(self) -> int | None:
        """The common distance between neighbours, or None."""
        if len(self.digits) == 1 and self.digits[0][0]:
            extent, stride = self.digits[0]
            return stride if extent > 1 else 0
        digits = coalesce([digit for digit in self.digits if digit[0] != 1])
        return None if len(digits) > 1 else digits[0][1] if digits else 0

    @property
    def only(self) -> int | None:
        """The common value, or None."""
        return self.first if self.step == 0 else None

    @property
    def low(self) -> int:
        """The least number; there is one."""
        if len(self.digits) == 1:
            extent, stride = self.digits[0]
            return self.first + (extent - 1) * stride if stride < 0 else self.first
        return self.first + sum([min(0, (extent - 1) * stride) for extent, stride in self.digits])

    @property
    def high(self) -> int:
        """The greatest number; there is one."""
        if len(self.digits) == 1:
            extent, stride = self.digits[0]
            return self.first + (extent - 1) * stride if stride > 0 else self.first
        return self.first + sum([max(0, (extent - 1) * stride) for extent, stride in self.digits])

    def total(self) -> int:
        """Return the sum."""
        count = self.count
        # Each digit takes its values equally often, so its mean enters the sum.
        return self.first * count + sum([count * (e - 1) * s // 2 for e, s in self.digits])

    def at(self, index: int) -> int:
        """Return one number."""
        return self.first + locate(self.digits, index)

    def split(self, count: int) -> tuple[Digits, Digits] | None:
        """Return the digits of `count` equal parts, and those within a part, or None.

        >>> Steps(0, ((6, 4),)).split(2)
        (((2, 12),), ((3, 4),))
        """
        if not self.count:
            return ((count, 0),), ()
        dims = regroup(
            coalesce([digit for digit in self.digits if digit[0] != 1]),
            (count, self.count // count),
        )
        if dims is None:
            return None
        return digits_of(count, dims[0]), digits_of(self.count // count, dims[1])

    def array(self) -> Int64:
        """Return int64[count], read-only, since it may be one number broadcast."""
        if self.step == 0:
            count = self.count
            if count <= FEW:  # a view would take longer
                return np.full(count, self.first, np.int64)
            return np.broadcast_to(np.int64(self.first), count)
        return grid([digit for digit in self.digits if digit[0] != 1] or [(1, 0)], self.first)

    def times(self, factor: int) -> Steps:
        """Return each number multiplied by a factor."""
        digits = tuple([(extent, factor * stride) for extent, stride in self.digits])
        return Steps(factor * self.first, digits)

    def moved(self, distance: int) -> Steps:
        """Return the numbers with a distance added to each."""
        return Steps(self.first + distance, self.digits)


@frozen(eq=False)
class Listed:
    """Arbitrary numbers, as offsets from a base.

    Attributes:
        base: added to each offset.
        offset: integers[count]; uint32 if they fit.
    """

    base: int
    offset: npt.NDArray[np.integer[Any]]

    @property
    def count(self) -> int:
        """How many numbers."""
        return len(self.offset)

    @property
    def step(self) -> int | None:
        """The common distance between neighbours, or None."""
        return progression(self.offset)

    @property
    def only(self) -> int | None:
        """The common value, or None."""
        return self.base + int(self.offset[0]) if self.step == 0 else None

    @property
    def low(self) -> int:
        """The least number; there is one."""
        return self.base + int(self.offset.min())

    @property
    def high(self) -> int:
        """The greatest number; there is one."""
        return self.base + int(self.offset.max())

    def total(self) -> int:
        """Return the sum."""
        return self.base * self.count + int(self.offset.sum(dtype=np.int64))

    def at(self, index: int) -> int:
        """Return one number."""
        return self.base + int(self.offset[index])

    def array(self) -> Int64:
        """Return int64[count], read-only."""
        values = self.offset.astype(np.int64)
        values += self.base
        return values

    def moved(self, distance: int) -> Listed:
        """Return the numbers with a distance added to each, sharing the offsets."""
        return Listed(self.base + distance, self.offset)


Series = Steps | Listed


def limits(numbers: Series) -> tuple[int, int]:
    """Return a lower and an upper bound for the numbers, without reading many.

    For unsigned offsets they are the limits of the type. Both are 0 for an empty series.

    >>> limits(Listed(5, np.array([1, 3], np.uint8))), limits(Steps(5, ((3, 2),)))
    ((5, 260), (5, 9))
    """
    if isinstance(numbers, Listed) and numbers.offset.dtype.kind == "u":
        return numbers.base, numbers.base + (1 << 8 * numbers.offset.dtype.itemsize) - 1
    return (numbers.low, numbers.high) if numbers.count else (0, 0)


@frozen(eq=False)
class Runs:
    """Ascending runs of consecutive numbers, written out only on demand.

    Attributes:
        begin: int64[runs], the first number of each run.
        end: int64[runs], one past the last number of each run.

    >>> Runs(np.array([0, 7]), np.array([3, 9])).array().tolist()
    [0, 1, 2, 7, 8]
    """

    begin: Int64
    end: Int64

    @property
    def count(self) -> int:
        """How many numbers."""
        return int((self.end - self.begin).sum())

    def at(self, index: int) -> int:
        """Return one number."""
        before = np.cumsum(self.end - self.begin)
        run = int(np.searchsorted(before, index, "right"))
        return int(self.end[run] - before[run]) + index

    def array(self) -> Int64:
        """Return int64[count]."""
        size = self.end - self.begin
        return np.repeat(self.end - np.cumsum(size), size) + np.arange(int(size.sum()))


@frozen(eq=False)
class Rising:
    """Ascending numbers, stored as the distances between them, written out only on demand.

    Attributes:
        distances: integers[count]; the first number's distance is from 0.

    >>> Rising(np.array([5, 1, 3], np.uint8)).array().tolist()
    [5, 6, 9]
    """

    distances: npt.NDArray[np.integer[Any]]

    @property
    def count(self) -> int:
        """How many numbers."""
        return len(self.distances)

    def at(self, index: int) -> int:
        """Return one number."""
        return int(self.distances[: index + 1].sum(dtype=np.int64))

    def array(self) -> Int64:
        """Return int64[count]."""
        return np.cumsum(self.distances, dtype=np.int64)


def taken(series: Series, chosen: Int64) -> Series:
    """Return the numbers at the chosen positions.

    >>> taken(counting(5, 100), np.array([1, 40])).array().tolist()
    [6, 45]
    """
    if isinstance(series, Steps):
        if series.step == 0:
            return constant(series.first, len(chosen))
        return compact(series.array()[chosen])
    return Listed(series.base, series.offset[chosen])


def progression(values: npt.NDArray[np.integer[Any]]) -> int | None:
    """Return the common distance between neighbours, or None; 0 for a single number.

    >>> progression(np.array([3, 5, 7])), progression(np.array([3, 5, 8]))
    (2, None)
    """
    if len(values) < 2:
        return 0
    first = int(values[0])
    step = int(values[1]) - first
    if int(values[-1]) - first != step * (len(values) - 1):
        return None  # the case of nearly all irregular sequences
    # Differences of unsigned numbers wrap around, as does the step; the check of both ends above
    # excludes numbers that are reached only by wrapping around.
    same = values[1:] - values[:-1] == np.array(step).astype(values.dtype)
    return step if same.all() else None


def constant(value: int, count: int) -> Steps:
    """Return one number repeated.

    >>> constant(4, 1000000).total()
    4000000
    """
    return Steps(value, ((count, 0),))


def counting(first: int, count: int) -> Steps:
    """Return consecutive numbers.

    >>> counting(5, 3).array().tolist()
    [5, 6, 7]
    """
    return Steps(first, ((count, 1),))


def compact(values: Int64) -> Series:
    """Return the array in its most compact form."""
    if not len(values):
        return constant(0, 0)
    first, step = int(values[0]), progression(values)
    if step is not None:
        return Steps(first, ((len(values), step),))
    low, high = int(values.min()), int(values.max())
    if high - low >= MOST_NARROW:
        return Listed(0, values)
    return Listed(low, (values - low).astype(NARROW))


# -- lists whose items are created on access -------------------------------------------------------


class OnAccess(Sequence[T], Generic[T]):
    """A list whose items are created on access, by `_item`."""

    __slots__ = ()

    @abstractmethod
    def _item(self, key: int) -> T:
        """Return an item, or raise; negative keys count from the end."""

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...

    def __getitem__(self, key: int | slice) -> T | list[T]:
        if isinstance(key, slice):
            return [self._item(k) for k in range(len(self))[key]]
        return self._item(key)

    def __iter__(self) -> Iterator[T]:
        return map(self._item, range(len(self)))


class LikeList(OnAccess[T]):
    """Such a list that compares equal to a list of equal items, and is therefore not hashable."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self) | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
