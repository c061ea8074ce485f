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
_ENDS = [
    (np.dtype(f"<{kind}"), int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in "BbHhIiQq"
]
"""Types by rising size, each with its ends; an unsigned one before the signed one of its size."""

_SHORT = 64
"""Lists up to here have their ends found by Python, which is faster then."""

Values = Sequence[int] | npt.NDArray[Any]


def file_of(columns: Mapping[str, Values | bytes | bytearray]) -> bytes:
    """Return a file of columns.

    >>> read(file_of({"tile": [3, 200], "text.bytes": b"ab"}))
    {'tile': array([  3, 200], dtype=uint8), 'text.bytes': array([97, 98], dtype=uint8)}
    """
    arrays = {name: _narrow(values) for name, values in columns.items()}
    rows = [_HEAD.pack(MAGIC, VERSION, len(arrays), 0)]
    parts: list[bytes | memoryview] = []
    at = _aligned(_HEAD.size + _ROW.size * len(arrays))
    for name, array in arrays.items():
        rows.append(_ROW.pack(name.encode(), array.dtype.char.encode(), at, len(array)))
        parts += [np.ascontiguousarray(array).data, bytes(-array.nbytes % ALIGNMENT)]
        at += _aligned(array.nbytes)
    head = b"".join(rows)
    head = head.ljust(_aligned(len(head)), b"\0")
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


def _narrow(values: Values | bytes | bytearray) -> npt.NDArray[Any]:
    if isinstance(values, bytes | bytearray):
        return np.frombuffer(bytes(values), np.uint8)
    if len(values) == 0:
        return np.zeros(0, np.uint8)
    if len(values) <= _SHORT:
        low, high = min(values), max(values)
    else:
        values = np.asarray(values)
        low, high = values.min(), values.max()
    for kind, least, most in _ENDS:
        if least <= low and high <= most:
            return np.asarray(values, kind)
    raise AssertionError(f"{low} to {high} fit no type")


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
