r"""A file of named columns of integers: little-endian, and read in place by the host program.

    "poplite\0", version, number of columns, CRC-32 of all other bytes
    name in 40 bytes, type, offset, count         64 bytes for each column
    the columns, each at a multiple of 64 bytes

The type of a column is the smallest that holds all its numbers, named as in Python's `struct`, so
that equal numbers give equal bytes. Columns named `.bytes` are taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct, pack
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from poplite.errors import FileLoadError

MAGIC = b"poplite\0"
VERSION = 2
ALIGNMENT = 64

_HEAD = Struct("<8sQQQ32x")
_SUM = Struct("<24xQ")
_ROW = Struct("<40sc7xQQ")
_ENDS = [(kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "BbHhIiQq"]
"""Types by rising size, each with its ends; an unsigned one before the signed one of its size."""

_SHORT = 64
"""Lists up to here have their ends found by Python, which is faster then."""

Values = Sequence[int] | npt.NDArray[Any]


def file_of(columns: Mapping[str, Values | bytes | bytearray]) -> bytes:
    """Return a file of columns.

    >>> read(file_of({"tile": [3, 200], "text.bytes": b"ab"}))
    {'tile': array([  3, 200], dtype=uint8), 'text.bytes': array([97, 98], dtype=uint8)}
    """
    begin = at = _aligned(_HEAD.size + _ROW.size * len(columns))
    rows, parts = [_HEAD.pack(MAGIC, VERSION, len(columns), 0)], []
    for name, values in columns.items():
        kind, count, data = _narrow(values)
        rows.append(_ROW.pack(name.encode(), kind.encode(), at, count))
        parts += [data, bytes(-len(data) % ALIGNMENT)]
        at += _aligned(len(data))
    head, parts = b"".join(rows).ljust(begin, b"\0"), [part for part in parts if part]
    return b"".join([with_checksum(head, parts), *parts])


def with_checksum(data: bytes, more: Iterable[bytes | memoryview] = ()) -> bytes:
    """Return a file with the checksum of all its other bytes in its place, and of `more` behind."""
    begin, end = _SUM.size - 8, _SUM.size
    return data[:begin] + pack("<Q", _checksum(data, more)) + data[end:]


def _checksum(data: bytes, more: Iterable[bytes | memoryview] = ()) -> int:
    found = crc32(memoryview(data)[_SUM.size :], crc32(data[: _SUM.size - 8]))
    for part in more:
        found = crc32(part, found)
    return found


def read(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a file by name.

    Raises `FileLoadError` for what is no such file.
    """
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        raise FileLoadError("no file of tables", at=None, fix="make it with poplite export")
    _, version, count, checksum = _HEAD.unpack_from(data)
    if version != VERSION:
        raise FileLoadError(
            f"tables of version {version}, but {VERSION} is read here",
            at=None,
            fix="export once more",
        )
    if checksum != _checksum(data):
        raise FileLoadError(
            "tables are damaged: their checksum differs", at=None, fix="export once more"
        )
    columns = {}
    for number in range(count):
        name, kind, at, size = _ROW.unpack_from(data, _HEAD.size + number * _ROW.size)
        kind = np.dtype(kind.decode()).newbyteorder("<")
        columns[name.rstrip(b"\0").decode()] = np.frombuffer(data, kind, size, at)
    return columns


def _narrow(values: Values | bytes | bytearray) -> tuple[str, int, bytes | memoryview]:
    """Return the type of a column, how many numbers it has, and its bytes."""
    count = len(values)
    if isinstance(values, bytes | bytearray) or count == 0:
        return "B", count, bytes(values)
    if count <= _SHORT:
        kind = _holding(min(values), max(values))
        return kind, count, pack(f"<{count}{kind}", *values)
    array = np.asarray(values)
    kind = _holding(array.min(), array.max())
    return kind, count, np.ascontiguousarray(array, f"<{kind}").data.cast("B")


def _holding(low: int, high: int) -> str:
    """Return the smallest type that holds numbers from one to another."""
    for kind, least, most in _ENDS:
        if least <= low and high <= most:
            return kind
    raise AssertionError(f"{low} to {high} fit no type")


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
