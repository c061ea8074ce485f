"""Texts, series of numbers, and values as columns; each is named by its number.

    text       text.end, text.bytes                   all texts, one behind the other
    series     first, and digits (extent, stride)     as `poplite.arrays.series.Steps`
               first, and a list                      as `Listed`, four bytes or fewer a number
    values     values.bytes                           elements as they lie in memory

Equal texts and equal steps are written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact

NONE = -1
"""In place of a number of a series: there is none."""


class Texts:
    """Texts by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all texts."""
        encoded = [text.encode() for text in self._numbers]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return {"text.end": ends, "text.bytes": b"".join(encoded)}


class SeriesTable:
    """Series of numbers by number.

    >>> table = SeriesTable()
    >>> table.steps(0, ((1000, 64),)), table.listed([5, 1, 4]), table.steps(0, ((1000, 64),))
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._steps: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        self._first: list[int] = []
        self._digits_end: list[int] = []
        self._digits: list[tuple[int, int]] = []
        self._list: list[int] = []
        self._lists: list[npt.NDArray[Any]] = []

    def add(self, series: Series) -> int:
        """Return the number of a series."""
        if isinstance(series, Steps):
            return self.steps(series.first, series.digits)
        low = int(series.offset.min())
        self._lists.append(_shortest(series.offset, low))
        return self._row(series.base + low, (), len(self._lists) - 1)

    def steps(self, first: int, digits: Iterable[tuple[int, int]]) -> int:
        """Return the number of a series of steps."""
        key = first, tuple(digit for digit in digits if digit[0] != 1)
        if key not in self._steps:
            self._steps[key] = self._row(*key, NONE)
        return self._steps[key]

    def listed(self, numbers: Iterable[int] | Int64) -> int:
        """Return the number of a series of any numbers."""
        return self.add(compact(np.asarray(numbers, np.int64)))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all series."""
        ends, data = [], bytearray()
        for each in self._lists:
            data += bytes(-len(data) % each.itemsize)
            ends.append(len(data))
            data += each.tobytes()
        return {
            "series.first": self._first,
            "series.digits_end": self._digits_end,
            "series.list": self._list,
            "digit.extent": [extent for extent, _ in self._digits],
            "digit.stride": [stride for _, stride in self._digits],
            "list.begin": ends,
            "list.width": [each.itemsize for each in self._lists],
            "list.bytes": data,
        }

    def _row(self, first: int, digits: Iterable[tuple[int, int]], number: int) -> int:
        self._first.append(first)
        self._digits += digits
        self._digits_end.append(len(self._digits))
        self._list.append(number)
        return len(self._first) - 1


class ElementBytes:
    """Elements as they lie in memory, each array at a multiple of eight bytes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, array: npt.NDArray[Any]) -> int:
        """Return the first byte of an array."""
        self._data += bytes(-len(self._data) % 8)
        at = len(self._data)
        self._data += np.ascontiguousarray(array).tobytes()
        return at

    def columns(self) -> dict[str, Any]:
        """Return the column of all values."""
        return {"values.bytes": self._data}


def _shortest(offsets: npt.NDArray[Any], low: int) -> npt.NDArray[Any]:
    """Return offsets from the least one, in the fewest bytes that hold them."""
    highest = int(offsets.max()) - low
    kind = next(kind for kind in ("u1", "<u2", "<u4", "<u8") if highest <= np.iinfo(kind).max)
    shortest: npt.NDArray[Any] = (offsets - offsets.dtype.type(low)).astype(kind)
    return shortest
