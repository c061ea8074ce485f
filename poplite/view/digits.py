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


def digits_of(size: int, dim: Dim) -> Digits:
    """Return the digits of one dimension.

    >>> digits_of(4, 6), digits_of(1, 6)
    (((4, 6),), ())
    """
    if not isinstance(dim, int):
        return dim
    return ((size, dim),) if size != 1 else ()


def coalesce(digits: Iterable[Digit]) -> list[Digit]:
    """Merge neighbours where the outer digit continues the inner one.

    Args:
        digits: outermost first, extents above 1.

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
    merged: list[Digit] = []
    for size, dim in zip(shape, dims, strict=True):
        for extent, stride in digits_of(size, dim):
            if merged and merged[-1][1] == extent * stride:
                merged[-1] = (merged[-1][0] * extent, stride)
            else:
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
    strides: list[Dim] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def regroup(digits: Sequence[Digit], shape: Sequence[int]) -> tuple[Dim, ...] | None:
    """Cut coalesced digits into new dimensions of equal total size.

    The rule is complete: after coalescing, a boundary inside a digit that does not divide
    it lets some index carry across, which no strides express.

    Args:
        digits: coalesced, outermost first.
        shape: the new sizes; their product is the product of the extents.

    Returns:
        The dimensions, or None where no strides express them.

    >>> regroup([(6, 1), (4, 6)], (3, 8)), regroup([(6, 1), (4, 6)], (8, 3))
    ((2, ((2, 1), (4, 6))), None)
    """
    rest = list(digits)
    dims: list[Dim] = []
    for size in reversed(shape):
        group: list[Digit] = []
        while size > 1:
            extent, stride = rest.pop()
            if extent > size:
                if extent % size:
                    return None
                rest.append((extent // size, stride * size))
                extent = size
            elif size % extent:
                return None
            group.append((extent, stride))
            size //= extent
        dims.append(group[0][1] if len(group) == 1 else tuple(reversed(group)) or 0)
    return tuple(reversed(dims))


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


def slice_digits(digits: Sequence[Digit], begin: int, end: int) -> tuple[list[Digit], int] | None:
    """Select the non-empty range [begin, end) of a number.

    Args:
        digits: of the dimension, at least one.
        begin: first index.
        end: one past the last index; above `begin`.

    Returns:
        The digits and offset of the range, or None when it must be cut first.

    >>> slice_digits([(6, 1), (4, 6)], 4, 12), slice_digits([(6, 1), (4, 6)], 3, 6)
    (([(2, 1), (4, 6)], 1), None)
    """
    place = 1
    for extent, _ in digits:
        place *= extent
    offset = 0
    for i, (extent, stride) in enumerate(digits):
        place //= extent
        first = begin // place
        if first != (end - 1) // place:
            if begin % place or end % place:
                return None
            return [(end // place - first, stride), *digits[i + 1 :]], offset + first * stride
        offset += first * stride
        begin -= first * place
        end -= first * place
    return [], offset


def cut_points(digits: Sequence[Digit], begin: int, end: int) -> list[int]:
    """Return where to cut [begin, end) so that `slice_digits` takes every piece.

    A head up to the next whole outer digit, a body of whole ones, and a tail, each end
    cut again in the inner digits::

        ((2, .), (3, .), (4, .))     [5, 23)  ->  5 | 8 | 12 | 20 | 23

    >>> cut_points([(2, 50), (3, 9), (4, 1)], 5, 23)
    [5, 8, 12, 20, 23]
    """
    if slice_digits(digits, begin, end) is not None:
        return [begin, end]
    place = place_values(digits)[0]
    inner = digits[1:]
    low, high = begin // place, (end - 1) // place
    if low == high:
        base = low * place
        return [base + p for p in cut_points(inner, begin - base, end - base)]
    head = -(-begin // place) * place
    body = end // place * place
    points = [begin]
    if begin < head:
        points = [head - place + p for p in cut_points(inner, begin - head + place, place)]
    if head < body:
        points.append(body)
    if body < end:
        points += [body + p for p in cut_points(inner, 0, end - body)[1:]]
    return points


def sub_sample_digits(digits: Sequence[Digit], step: int) -> list[Digit] | None:
    """Select every step-th index of a number, from 0.

    Returns:
        The digits, or None where the step falls inside a digit without dividing it.

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


def compose(
    shape: Sequence[int],
    dims: Sequence[Dim],
    off: int,
    kid_digits: Sequence[Digit],
    kid_off: int,
) -> tuple[tuple[Dim, ...], int] | None:
    """Express a view of another view's row-major order in the other view's own space.

    Each step is written as a multiple of one place of the kid's number.  That is exact as
    long as no place carries, so the largest value every place can reach is tracked.

    Args:
        shape: sizes of the outer view.
        dims: its dimensions, as positions in the kid's row-major order.
        off: position of its first element.
        kid_digits: coalesced digits of the kid.
        kid_off: offset of the kid in its own space.

    Returns:
        Dimensions and offset in the kid's space, or None when a carry cannot be excluded.

    >>> compose((2, 4), (4, 1), 4, [(6, 1), (4, 6)], 0)
    ((1, 6), 1)
    """
    if len(kid_digits) < 2:
        scale = kid_digits[0][1] if kid_digits else 0
        if scale == 1:
            return tuple(dims), kid_off + off
        scaled = [
            d * scale if isinstance(d, int) else pack(coalesce([(e, s * scale) for e, s in d]))
            for d in dims
        ]
        return tuple(scaled), kid_off + off * scale
    return _Composition(kid_digits, kid_off).apply(shape, dims, off)


class _Composition:
    """The state of one `compose`: the largest value of every place so far."""

    __slots__ = ("base", "digits", "places", "used")

    def __init__(self, digits: Sequence[Digit], base: int) -> None:
        self.digits = digits
        self.places = place_values(digits)
        self.used = [0] * len(digits)
        self.base = base

    def apply(
        self, shape: Sequence[int], dims: Sequence[Dim], off: int
    ) -> tuple[tuple[Dim, ...], int] | None:
        numbers = [digits_of(size, dim) for size, dim in zip(shape, dims, strict=True)]
        lowest = off + sum((e - 1) * s for number in numbers for e, s in number if s < 0)
        for j in range(len(self.digits) - 1, -1, -1):
            extent, stride = self.digits[j]
            lowest, self.used[j] = divmod(lowest, extent)
            self.base += self.used[j] * stride
        packed: list[Dim] = []
        for number in reversed(numbers):
            emitted: list[Digit] = []
            for extent, step in reversed(number):
                found = self._express(extent, abs(step))
                if found is None:
                    return None
                if step < 0:
                    self.base += sum((e - 1) * s for e, s in found)
                    found = [(e, -s) for e, s in found]
                emitted += found
            packed.append(pack(coalesce(reversed(emitted))))
        return tuple(reversed(packed)), self.base

    def _express(self, extent: int, step: int) -> list[Digit] | None:
        """Write one digit in the kid's places, innermost first."""
        if step == 0:
            return [(extent, 0)]
        emitted: list[Digit] = []
        while True:
            j = next(j for j, w in enumerate(self.places) if w <= step and step % w == 0)
            count = step // self.places[j]
            size, stride = self.digits[j]
            room = size - 1 - self.used[j]
            if (extent - 1) * count <= room:
                self.used[j] += (extent - 1) * count
                emitted.append((extent, count * stride))
                return emitted
            whole = size // count
            if j == 0 or size % count or extent % whole or (whole - 1) * count > room:
                return None
            self.used[j] += (whole - 1) * count
            emitted.append((whole, count * stride))
            extent //= whole
            step = self.places[j - 1]
