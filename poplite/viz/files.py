"""Writing a picture: whole or not at all.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     write_text(Path(folder) / "map.txt", "0123").read_text()
'0123'
"""

from __future__ import annotations

import os
from pathlib import Path

from poplite.files import replacing


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text to a file, UTF-8, whole or not at all.

    Args:
        path: the file; one that exists is replaced.
        text: its content.

    Returns:
        The path.

    Raises:
        FileLoadError: when the folder does not exist or refuses the file.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write bytes to a file, whole or not at all.

    Args:
        path: the file; one that exists is replaced, but a device or a pipe is written to.
        content: what it is to hold.

    Returns:
        The path.

    Raises:
        FileLoadError: when the folder does not exist or refuses the file.

    >>> write_bytes("no/such/map.png", b"")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: cannot write 'no/such/map.png': there is no folder 'no/such'...
    """
    with replacing(path) as file:
        file.write(content)
    return Path(path)
