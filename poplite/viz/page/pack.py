"""Numbers per tile in few bytes, for a page: each array once, in the narrowest type.

    [7, 7, 7, 7]        {"c": 7}     nothing else is stored
    [0, 3, 9, 1]        {"a": 0}     array 0, which `table` says is ["u1", 0, 4]: where in the block
    the same again      {"a": 0}
    [5, 12345]          {"a": 1, "tens": 1}     5 and 2123 for 123 x 10^2, where it is rounded

The block is compressed by gzip without a date, and written in base64, so that equal numbers are
equal bytes.  The page unpacks it by `DecompressionStream`.

>>> arrays = Arrays()
>>> arrays.add(np.array([0, 3, 9, 1])), arrays.add(np.full(4, 7)), arrays.add([0, 3, 9, 1])
({'a': 0}, {'c': 7}, {'a': 0})
>>> arrays.table
[['u1', 0, 4]]
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64

TYPES = {"u1": 0xFF, "u2": 0xFFFF, "u4": 0xFFFFFFFF}
"""Types of non-negative integers, with their maxima; all other numbers are "f8"."""

ALIGN = 8
"""Alignment of arrays in bytes, which JavaScript's views require."""

LEVEL = 6
"""Compression level: the maximum takes four times as long and saves less than 1 %."""

THOUSAND = 1000
POWERS = THOUSAND * 10 ** np.arange(16)
"""Numbers from which on a number that is rounded is divided by ten once more."""

BLOCKS = 64
"""Number of values kept of an array that is stored coarsely."""


class Arrays:
    """The arrays of a page.

    Attributes:
        table: type, first byte and count of each array in the block.
    """

    def __init__(self) -> None:
        self.table: list[list[Any]] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._numbers: dict[tuple[str, bytes], int] = {}

    def add(self, numbers: Int64 | Sequence[int]) -> dict[str, int]:
        """Keep an array, and return the reference by which the page finds it."""
        array = np.asarray(numbers)
        if len(array) and (array == array[0]).all():
            return {"c": array[0].item()}
        return self._kept(_kind(array), array)

    def add_rounded(self, numbers: Int64 | Sequence[int]) -> dict[str, int]:
        """Keep three digits of each number: they are what is left of 1000, above them the power.

        [5, 12345, 999500]      [5, 2123, 4100]     5, 123 x 10^2, 100 x 10^4
        """
        array = np.asarray(numbers)
        is_other = array.dtype.kind == "f" or array.min(initial=0) < 0
        if is_other or array.max(initial=0) < THOUSAND or (array == array[0]).all():
            return self.add(array)
        power = np.searchsorted(POWERS, array, side="right")
        digits = np.rint(array / 10.0**power).astype(np.int64)
        is_next = digits == THOUSAND
        digits[is_next], power[is_next] = THOUSAND // 10, power[is_next] + 1
        if (digits == digits[0]).all() and (power == power[0]).all():
            return {"c": int(digits[0]) * 10 ** int(power[0])}
        return {**self._kept("u2", digits + THOUSAND * power), "tens": 1}

    def add_roughly(self, numbers: Int64 | Sequence[int]) -> dict[str, int]:
        """Keep the means of at most `BLOCKS` equal runs of neighbours, rounded."""
        array = np.asarray(numbers)
        run = -(-len(array) // BLOCKS)
        if run < 2:
            return self.add(array)
        begins = np.arange(0, len(array), run)
        counts = np.diff(begins, append=len(array))
        means = np.rint(np.add.reduceat(array, begins) / counts).astype(np.int64)
        found = self.add(means)
        return found if "c" in found else {**found, "run": run}

    def add_text(self, text: str) -> dict[str, int]:
        """Keep a text that is worth compressing, as the bytes of UTF-8."""
        return self._kept("u1", np.frombuffer(text.encode(), np.uint8))

    def block(self, last: str) -> tuple[str, int]:
        """Return all arrays and a text after them, compressed, and where the text begins.

        >>> Arrays().block("{}")[1]
        0
        """
        parts = [*self._parts, last.encode()]
        return b64encode(gzip.compress(b"".join(parts), LEVEL, mtime=0)).decode(), self._size

    def _kept(self, kind: str, array: npt.NDArray[Any]) -> dict[str, int]:
        data = array.astype("<" + kind).tobytes()
        number = self._numbers.setdefault((kind, data), len(self.table))
        if number == len(self.table):
            self.table.append([kind, self._size, len(array)])
            padded = data + bytes(-len(data) % ALIGN)
            self._parts.append(padded)
            self._size += len(padded)
        return {"a": number}


def _kind(array: npt.NDArray[Any]) -> str:
    if not len(array) or array.dtype.kind != "f" and array.min() >= 0:
        high = array.max(initial=0)
        return next((kind for kind, most in TYPES.items() if high <= most), "f8")
    return "f8"
