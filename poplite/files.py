"""Files that are written completely or not at all.

A file is first written under a temporary name in its folder, then renamed: no process sees an
incomplete file, and a failed write leaves the old one.  A temporary file that a killed process
left is removed by the next process that writes to the same path: a writer holds a lock, which the
system releases when the process dies.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "map.txt") as file:
    ...         count = file.write(b"0123")
    ...     (Path(folder) / "map.txt").read_text()
    ...     write_text(Path(folder) / "map.txt", "4567").read_text()
    '0123'
    '4567'
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

from poplite.errors import ElementTypeError, FileLoadError
from poplite.text import clipped, of_type

MOST_TEXT_BYTES = 1 << 30
"""Maximum size of a text file that is read: a report of 10,000 steps has a hundredth of that."""

BLOCK_BYTES = 1 << 20
"""Bytes that are copied at a time."""

MOST_WRITERS = 32
"""Maximum number of concurrent writers to one path whose files are removed if they are killed."""

WRONG_CONTENT = (
    *(ValueError, TypeError, LookupError, ArithmeticError),
    *(AttributeError, RecursionError, MemoryError),
)
"""Exceptions that Python raises when unchecked data from a file are used."""

_ELSEWHERE = "write to a folder on a disk with free space that you have permission to write to"


def checked_path(path: object, call: str = "", example: str = "map.svg") -> Path:
    """Return the path of a file, or refuse a value that is not a valid path.

    Args:
        path: a string, or an object that `os.fspath` converts to one.
        call: the user's call, for the message.
        example: a file name, for the message.

    Raises:
        ElementTypeError: for anything else, including bytes.
        FileLoadError: for a string that is not a valid file name.

    >>> checked_path("map.svg").name
    'map.svg'
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    where = f"{call}: " if call else ""
    fix = f"{call}({example!r})" if call else f"pass a string or a pathlib.Path: {example!r}"
    if not isinstance(text, str):
        raise ElementTypeError(
            f"{where}{clipped(path)} is not a path", found=of_type(path), fix=fix
        )
    if not text or "\0" in text:
        raise FileLoadError(
            f"{where}no file can have the name {clipped(text)}",
            found="it contains a null character" if text else "it is empty",
            fix=fix,
        )
    return Path(text)


def check_folder(path: str | os.PathLike[str], example: str = "map.svg") -> Path:
    """Check that a file could be written at a path.

    Args:
        path: the file.
        example: a file name, for the message.

    Returns:
        The path.

    Raises:
        FileLoadError: when its folder does not exist or may not be written to, or the path is
            itself a folder.

    >>> check_folder("no/such/map.svg")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: cannot write 'no/such/map.svg': there is no folder 'no/such'...
    """
    path = checked_path(path, example=example)
    try:
        is_folder = path.is_dir()
        os.fsencode(path)
    except (OSError, UnicodeError) as error:
        raise FileLoadError(
            f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}",
            fix=f"use a shorter name of ordinary letters, for instance {example!r}",
        ) from None
    if is_folder:
        raise FileLoadError(
            f"cannot write {str(path)!r}: it is a folder",
            fix=f"name a file in it, for instance {str(path / example)!r}",
        )
    if not path.parent.is_dir():
        known = next((p for p in path.parent.parents if p.is_dir()), Path())
        raise FileLoadError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}",
            found=f"the nearest folder that exists is {str(known)!r}",
            fix=f"mkdir -p {path.parent}",
        )
    folder = os.path.dirname(os.path.realpath(path))  # for a link, the target's folder
    if (path.is_file() or not path.exists()) and not os.access(folder, os.W_OK | os.X_OK):
        raise FileLoadError(
            f"cannot write {str(path)!r}: you may not write to the folder {folder!r}",
            fix=_ELSEWHERE,
        )
    return path


@contextmanager
def replacing(path: str | os.PathLike[str], example: str = "map.svg") -> Iterator[BinaryIO]:
    """Open a temporary file that replaces a file once it is completely written.

    Args:
        path: the file. The replacement of an existing file has the same permissions; a device or
            a pipe is written to. A new file has the permissions that the umask allows.
        example: a file name, for the message.

    Yields:
        A file to write to.

    Raises:
        FileLoadError: when the folder does not exist, or the file cannot be written.
    """
    try:
        path = check_folder(path, example)
        if path.exists() and not path.is_file():  # a device or a pipe: written to, never replaced
            with _buffered(path) as file:
                yield file
            return
        real = os.path.realpath(path)  # the target of a link
        mode = stat.S_IMODE(os.stat(real).st_mode) if path.exists() else None
        folder, name = os.path.split(real)
        with unfinished(folder, f".{name[:40]}", 0o666 if mode is None else 0o600) as (part, file):
            yield file
            file.close()
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, real)
    except FileLoadError:
        raise
    except (OSError, ValueError) as error:  # ValueError: for an invalid file name
        raise FileLoadError(
            f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}",
            fix=_ELSEWHERE,
        ) from error


@contextmanager
def _buffered(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file whose content is written to a device or a pipe at the end."""
    from tempfile import TemporaryFile  # its random names load modules that engines never need

    with TemporaryFile() as file:  # the writer of an archive needs to seek in it
        yield file
        file.seek(0)
        with open(path, "wb") as device:
            while block := file.read(BLOCK_BYTES):
                device.write(block)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text to a file in UTF-8, completely or not at all.

    Args:
        path: the file; an existing one is replaced.
        text: its content.

    Returns:
        The path.

    Raises:
        FileLoadError: when the folder does not exist or the file cannot be written, and for a text
            with a lone surrogate, which is not a character.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        around = text[max(error.start - 10, 0) : error.start + 1]
        raise FileLoadError(
            f"cannot write {str(path)!r}: the text has a lone surrogate: ...{around!a}",
            at=None,
            fix="choose another name",
        ) from error
    return write_bytes(path, content)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write bytes to a file, completely or not at all.

    Args:
        path: the file; an existing one is replaced, but a device or a pipe is written to.
        content: its content.

    Returns:
        The path.

    Raises:
        FileLoadError: when the folder does not exist, or the file cannot be written.

    >>> write_bytes("no/such/map.png", b"")
    Traceback (most recent call last):
    poplite.errors.FileLoadError: cannot write 'no/such/map.png': there is no folder 'no/such'...
    """
    with replacing(path) as file:
        file.write(content)
    return Path(path)


def check_regular(path: str | os.PathLike[str]) -> int:
    """Return the size of a file in bytes; raise OSError for a folder, a device or a pipe."""
    try:
        status = os.stat(path)
    except ValueError as error:  # for an invalid file name
        raise OSError(errno.EINVAL, str(error), os.fspath(path)) from error
    if stat.S_ISREG(status.st_mode):
        return status.st_size
    what = "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is a device or a pipe"
    raise OSError(errno.EINVAL, f"{what}, not a file", os.fspath(path))


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a text file; raise OSError if it is not a file or too large."""
    size = check_regular(path)
    if size > MOST_TEXT_BYTES:
        what = f"it has {size:,} B; the maximum is {MOST_TEXT_BYTES:,} B"
        raise OSError(errno.EFBIG, what, os.fspath(path))
    return Path(path).read_bytes()


@contextmanager
def unfinished(folder: str, name: str, mode: int = 0o666) -> Iterator[tuple[str, BinaryIO]]:
    """Create a temporary file, to be renamed when complete; remove those of dead processes.

    Args:
        folder: the folder.
        name: the beginning of the temporary name; always the same for the same target.
        mode: permissions, which the umask and the folder restrict.

    Yields:
        Its path, and the file to write to; it is deleted at the end unless it was renamed.

    Raises:
        OSError: when the folder does not exist, or the file cannot be created.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, unfinished(folder, ".map") as (path, file):
    ...     os.path.basename(path)
    '.map.poplite-0.part'
    """
    begin = os.path.join(folder, name)
    paths = (f"{begin}.poplite-{n}.part" for n in count())
    path = next(paths)
    while (number := _new_locked(path, mode)) is None:  # another process writes the same
        path = next(paths)
    try:
        for other in islice(paths, MOST_WRITERS):
            _remove_left(other)
        with open(number, "wb", closefd=False) as file:
            yield path, file
    finally:
        if _is_at(number, path):  # after a rename, the path may belong to another process by now
            with contextlib.suppress(OSError):
                os.unlink(path)
        os.close(number)  # the lock is held until the file is renamed


def _new_locked(path: str, mode: int) -> int | None:
    """Create a file and lock it, replacing a left-over one; None if another process uses it."""
    _remove_left(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags, mode)
    except FileExistsError:
        return None
    if _is_locked(number) is not False and _is_at(number, path):
        return number
    os.close(number)  # another process has taken it for a left-over file
    return None


_OPEN_DIRECTLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for opening without following a link or waiting for the other end of a pipe."""


def _remove_left(path: str) -> None:
    """Remove a file unless a process is still writing it."""
    if not os.access(path, os.F_OK):  # the usual case, faster than an exception
        return
    try:
        number = os.open(path, os.O_RDWR | _OPEN_DIRECTLY)
    except OSError:  # it does not exist, or belongs to another user
        return
    try:
        if _is_locked(number) and _is_at(number, path):
            with contextlib.suppress(OSError):
                os.unlink(path)
    finally:
        os.close(number)


def _is_locked(number: int) -> bool | None:
    """Lock an open file; False if another process has the lock, None if locking is unsupported."""
    if sys.platform == "win32":  # files of killed processes are not removed there
        return None
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _is_at(number: int, path: str) -> bool:
    """Return whether an open file is still at a path; while its lock is held, it stays there."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


@contextmanager
def passing_file(name: str) -> Iterator[Path]:
    """Yield the path of a temporary file, for content that is written and read at once.

    Args:
        name: the file's name, in a folder of its own.

    >>> with passing_file("map.txt") as path:
    ...     write_text(path, "0123").read_text()
    '0123'
    >>> path.exists()
    False
    """
    from tempfile import TemporaryDirectory  # its random names load much that engines never need

    with TemporaryDirectory() as folder:
        yield Path(folder, name)


def check_stream(stream: Any, call: str, *, binary: bool = False, reading: bool = False) -> None:
    """Refuse an object that cannot be written or read, or a file of the wrong mode.

    Args:
        stream: an open file, or a file-like object.
        call: the user's call, for the message.
        binary: whether bytes are written, not text; text may be read from either kind of file.
        reading: whether it is read.

    Raises:
        ElementTypeError: for anything else.

    >>> check_stream(io.StringIO(), "graph.output_vertex_graph")
    """
    does, kind = "read" if reading else "write", "binary" if binary else "text"
    other = (io.RawIOBase, io.BufferedIOBase) if not binary else io.TextIOBase
    if callable(getattr(stream, does, None)) and (
        (reading and not binary) or not isinstance(stream, other)
    ):
        return
    mode = ("r" if reading else "w") + ("b" if binary else "")
    raise ElementTypeError(
        f"{call}: {clipped(stream, 60)} is not a {kind} file to {does}",
        found=of_type(stream),
        fix=f"with open(path, {mode!r}) as file: ...",
    )
