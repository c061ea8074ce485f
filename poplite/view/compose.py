"""Composition: a view of another view's row-major order, in the other view's own space.

The other view, the kid, counts its elements in digits with place values.  Each step of the
outer view is written as a multiple of one place::

    kid digits ((6, 1), (4, 6)), places 4 and 1      a step of 4 is one step of the digit (6, 1)

Source: Shah, "A Note on the Algebra of CuTe Layouts", with offsets and signs.
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite.arrays.digits import Digit, Dim, coalesce, digits_of, pack, place_values


def compose(
    shape: Sequence[int],
    dims: Sequence[Dim],
    off: int,
    kid_digits: Sequence[Digit],
    kid_off: int,
) -> tuple[tuple[Dim, ...], int] | None:
    """Express a view of another view's row-major order in the other view's own space.

    Each step is written as a multiple of one place of the kid's number.  That is exact as long as
    no place carries, so the largest value that every place can reach is tracked; the result is None
    when a carry cannot be excluded.  `dims` and `off` are positions in the kid's row-major order;
    `kid_digits` are coalesced; `kid_off` and the result are in the kid's space.

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
            # The steps fill this place completely and continue in the next coarser one.
            filled = size // count
            if j == 0 or size % count or extent % filled or (filled - 1) * count > room:
                return None
            self.used[j] += (filled - 1) * count
            emitted.append((filled, count * stride))
            extent //= filled
            step = self.places[j - 1]
