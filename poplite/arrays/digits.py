"""Mixed-radix arithmetic on dimensions.

A dimension is a number written in *digits*, outermost first, each an (extent, stride)
pair; its index moves the offset by the sum of digit * stride.  A matrix of shape (4, 6),
transposed and flattened, is one dimension of 24 elements with two digits::

    ((6, 1), (4, 6))        index 9 = 2 * 4 + 1  ->  offset 2 * 1 + 1 * 6 = 8

Digits stay loops: no element is ever visited here, so every function costs the number
of digits.  A dimension of one digit is kept as its plain stride.  Extents of digits are
above 1, and neighbours are merged where the outer one continues the inner one
(outer stride == inner extent * inner stride).  Names: "hierarchical layouts" in CuTe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Digit = tuple[int, int]
Digits = tuple[Digit, ...]
Dim = int | Digits
"""The stride of a one-digit (or one-element) dimension, or its two or more digits."""
Piece = tuple[Digits, int, int]
"""A range of a number: its digits, its number of elements, the offset of its first."""


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
    """Cut coalesced digits into new dimensions of equal total size; None where no strides do.

    The rule is complete: after coalescing, a boundary inside a digit that does not divide it lets
    some index carry across, which no strides express.

    >>> regroup([(6, 1), (4, 6)], (3, 8)), regroup([(6, 1), (4, 6)], (8, 3))
    ((2, ((2, 1), (4, 6))), None)
    """
    if len(shape) == 1:
        return (pack(digits),)
    rest = list(digits)
    dims: list[Dim] = []
    extent, stride = 1, 0  # the rest of a digit
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
    """Return how far one step of each digit moves the number they write.

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
    """Return the offset of an index written in these digits.

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
    ones, and a tail; head and tail are cut again in the inner digits::

        ((2, .), (3, .), (4, .))     [5, 23)  ->  5 | 8 | 12 | 20 | 23

    `offset` is that of index 0. There is one piece where no end falls inside a digit.

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
    """Select every step-th index from 0; None where a step ends inside a digit without dividing it.

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
