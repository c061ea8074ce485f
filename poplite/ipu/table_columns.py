r"""A file of named columns of integers, which the host program reads in place.

    "poplite\0", version, number of columns, CRC-32 of all other bytes
    name in 40 bytes, type, offset, count         64 bytes for each column
    the columns, each at a multiple of 64 bytes

The type of a column is the smallest that fits all its numbers, so that equal numbers give equal
bytes; it is named as in Python's `struct`. Columns named `.bytes` are stored unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct, pack
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact

MAGIC = b"poplite\0"
VERSION = 2
ALIGNMENT = 64

HEAD = Struct("<8sQQQ32x")
SUM = Struct("<24xQ")
ROW = Struct("<40sc7xQQ")
_ENDS = [(kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "BbHhIiQq"]
"""Types by increasing size, with their limits; for equal sizes, unsigned types come first."""

_SHORT = 64
"""Maximum length of a list whose limits Python finds faster than NumPy."""

Values = Sequence[int] | npt.NDArray[Any]


def file_of(columns: Mapping[str, Values | bytes | bytearray]) -> bytes:
    """Return a file of columns.

    >>> list(file_of({"tile": [3, 200], "text.bytes": b"ab"})[192:194])
    [3, 200]
    """
    begin = at = aligned_size(HEAD.size + ROW.size * len(columns))
    rows, parts = [HEAD.pack(MAGIC, VERSION, len(columns), 0)], []
    for name, values in columns.items():
        kind, count, data = _narrow(values)
        rows.append(ROW.pack(name.encode(), kind.encode(), at, count))
        parts += [data, bytes(-len(data) % ALIGNMENT)]
        at += aligned_size(len(data))
    head, parts = b"".join(rows).ljust(begin, b"\0"), [part for part in parts if part]
    return b"".join([with_checksum(head, parts), *parts])


def with_checksum(data: bytes, more: Iterable[bytes | memoryview] = ()) -> bytes:
    """Return a file with its checksum, computed over its other bytes followed by `more`."""
    begin, end = SUM.size - 8, SUM.size
    found = crc32(memoryview(data)[end:], crc32(data[:begin]))
    for part in more:
        found = crc32(part, found)
    return data[:begin] + pack("<Q", found) + data[end:]


def _narrow(values: Values | bytes | bytearray) -> tuple[str, int, bytes | memoryview]:
    """Return the type of a column, its length, and its bytes."""
    count = len(values)
    if isinstance(values, bytes | bytearray) or count == 0:
        return "B", count, bytes(values)
    if count <= _SHORT:
        kind = _smallest_type(min(values), max(values))
        return kind, count, pack(f"<{count}{kind}", *values)
    array = np.asarray(values)
    kind = _smallest_type(array.min(), array.max())
    return kind, count, np.ascontiguousarray(array, f"<{kind}").data.cast("B")


def _smallest_type(low: int, high: int) -> str:
    """Return the smallest type that fits numbers from `low` to `high`."""
    for kind, least, most in _ENDS:
        if least <= low and high <= most:
            return kind
    raise AssertionError(f"no type fits numbers from {low} to {high}")


def aligned_size(size: int) -> int:
    """Return the size of a column including its padding."""
    return -(-size // ALIGNMENT) * ALIGNMENT


# -- texts, series of numbers, values --------------------------------------------------------------
#     text       text.end, text.bytes                   all texts, concatenated
#     series     first, and digits (extent, stride)     as `poplite.arrays.series.Steps`
#                first, and a list                      as `Listed`, at most four bytes per number
#     values     values.bytes                           elements in memory format
#
# Equal texts and equal steps are written once.


NONE = -1
"""Marks a missing number of a series."""


class Texts:
    """Numbered texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, added on first use."""
        return self._numbers.setdefault(text, len(self._numbers))

    def columns(self) -> dict[str, Any]:
        """Return the columns of all texts."""
        encoded = [text.encode() for text in self._numbers]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return {"text.end": ends, "text.bytes": b"".join(encoded)}


class SeriesTable:
    """Numbered series of numbers.

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
        """Add a series, and return its number; equal steps have one number."""
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
        """Return the number of a series of arbitrary numbers."""
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


class ColumnRows:
    """Rows of several tables, with a column for each name."""

    names: ClassVar[str]
    """The names of all columns, "table.name", in order."""

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {name: [] for name in self.names.split()}

    def columns(self) -> dict[str, list[int]]:
        """Return the columns of all rows."""
        return self._columns

    def row(self, table: str, **numbers: int) -> int:
        """Add a row, and return its number."""
        for name, number in numbers.items():
            column = self._columns[f"{table}.{name}"]
            column.append(number)
        return len(column) - 1


class ElementBytes:
    """Elements in memory format, with each array at a multiple of eight bytes."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, array: npt.NDArray[Any]) -> int:
        """Add an array, and return the offset of its first byte."""
        self._data += bytes(-len(self._data) % 8)
        at = len(self._data)
        self._data += np.ascontiguousarray(array).tobytes()
        return at

    def columns(self) -> dict[str, Any]:
        """Return the column of all values."""
        return {"values.bytes": self._data}


class Stored:
    """Data that rows of all tables refer to by number or offset."""

    def __init__(self) -> None:
        self.texts, self.series, self.values = Texts(), SeriesTable(), ElementBytes()

    def columns(self) -> dict[str, Any]:
        """Return the columns of all these data."""
        return {**self.series.columns(), **self.texts.columns(), **self.values.columns()}


def _shortest(offsets: npt.NDArray[Any], low: int) -> npt.NDArray[Any]:
    """Return offsets relative to `low`, the least one, in the smallest type that fits them."""
    highest = int(offsets.max()) - low
    kind = next(kind for kind in ("u1", "<u2", "<u4", "<u8") if highest <= np.iinfo(kind).max)
    shortest: npt.NDArray[Any] = (offsets - offsets.dtype.type(low)).astype(kind)
    return shortest
