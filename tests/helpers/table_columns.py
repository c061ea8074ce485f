"""Tables of an exported graph, read by Python as the host program reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import FileLoadError
from poplite.ipu.tables.columns import HEAD, MAGIC, ROW, VERSION, with_checksum


def read_columns(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a file by name.

    Raises `FileLoadError` if it is not such a file.
    """
    if len(data) < HEAD.size or not data.startswith(MAGIC):
        raise FileLoadError("no file of tables", at=None, fix="make it with poplite export")
    _, version, count, _ = HEAD.unpack_from(data)
    if version != VERSION:
        raise FileLoadError(
            f"tables of version {version}, but {VERSION} is read here",
            at=None,
            fix="export once more",
        )
    if with_checksum(data) != data:
        raise FileLoadError(
            "tables are damaged: their checksum differs", at=None, fix="export once more"
        )
    columns = {}
    for number in range(count):
        name, kind, at, size = ROW.unpack_from(data, HEAD.size + number * ROW.size)
        kind = np.dtype(kind.decode()).newbyteorder("<")
        columns[name.rstrip(b"\0").decode()] = np.frombuffer(data, kind, size, at)
    return columns
