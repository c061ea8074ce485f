"""The file of an engine's state: a zip of a JSON text and of the bytes of memory.

    accounts          int64: how often each row ran, then what vertices took that were counted
    manifest.json     which graph it is of, streams, random bits, and what the members are
    memory/0          all variables of replica 0, one behind the other as in the arena
    remote/0/0        the rows of the first remote buffer, replica 0
    written/0         with strict checks: a bit for each byte of memory/0
    written/0/0       with strict checks: a bit for each element of remote/0/0

Members are stored, and each has a checksum.  Nothing tells how many ranks there were: equal states
are equal bytes.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.codec.archive import (
    MANIFEST,
    ArrayReader,
    opened,
    undamaged,
    write_members,
)
from poplite.codec.loading import Format, Malformed
from poplite.files import replacing

if TYPE_CHECKING:
    from poplite.codec.coders import Coder


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """What a file says beside the bytes of its members.

    Attributes:
        graph: what the parts of the programs are called, and their digests.
        variables: name, element type, shape and first byte of each.
        replicas: how many there are.
        counted: program, row and words of what vertices took that are counted.
        remote: handle, element type, rows and their elements of each remote buffer.
        words: floating-point words (`poplite.executable.opcodes`).
        ended: runs that reached their end.
        runs_again: how often strict checks ran vertices again.
        streams: the next block of each stream, by replica.
        loaded: functions whose code is loaded.
    """

    graph: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str, tuple[int, ...], int], ...]
    replicas: int
    counted: tuple[tuple[str, int, int], ...]
    remote: tuple[tuple[str, str, int, int], ...]
    words: tuple[int, ...]
    ended: int
    runs_again: int
    streams: Mapping[str, list[int | None]]
    loaded: tuple[str, ...]


STATES = Format("poplite state", (2,), "no state of an engine", "engine.save_state(path)")

CHUNK_BYTES = 1 << 26
"""Bytes that are read or written at once."""

_MEMBER = re.compile(r"accounts|memory/\d+|remote/\d+/\d+|written/\d+(/\d+)?")

Bytes = npt.NDArray[np.uint8]
Members = Mapping[str, tuple[int, Iterable[Any]]]
"""The size of each member, and the blocks of bytes that it comes in."""


def chunks_of(size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the chunks of some bytes."""
    for begin in range(0, size, CHUNK_BYTES):
        yield begin, min(begin + CHUNK_BYTES, size)


@cache
def _coder() -> Coder:
    # Few engines are saved, and all start sooner without the codec.
    from poplite.codec.codec import Codec
    from poplite.codec.coders import ScalarCoder

    counts = ScalarCoder(int, range(1 << 63), "is no count")
    return Codec({int: counts}).coder_of(SavedState)


def write_state(path: str, saved: SavedState, members: Members) -> None:
    """Write a state; it takes the place of an older one when all of it is on the disk."""
    from poplite.codec.coders import Writer

    text = STATES.text(_coder().encode(saved, Writer()), path).encode()
    with replacing(path, "run.state") as file:
        write_members(file, {MANIFEST: (len(text), [text]), **members})
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fsync(file.fileno())
    if os.name == "posix":  # so that the new name is on the disk too
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@dataclass(frozen=True, slots=True, eq=False)
class StateFile:
    """A state that is open for reading.

    Attributes:
        saved: what it says of itself, of the right types.
    """

    saved: SavedState
    _archive: zipfile.ZipFile

    def check_members(self, sizes: Mapping[str, int]) -> None:
        """Refuse a file that has other members, or of another size."""
        found = {info.filename: info.file_size for info in self._archive.infolist()}
        for name in sorted((found.keys() ^ sizes.keys()) - {MANIFEST}):
            raise Malformed(f"its member '{name}' is {'' if name in found else 'not '}there")
        for name, size in sizes.items():
            if found[name] != size:
                raise Malformed(f"its member '{name}' is of {found[name]:,} B in place of {size:,}")

    def chunks(self, name: str) -> Iterator[Bytes]:
        """Yield the bytes of a member; at the end its checksum has been compared."""
        with undamaged():
            member = self._archive.open(name)
        with member:
            while True:
                with undamaged():
                    data = member.read(CHUNK_BYTES)
                if not data:
                    return
                yield np.frombuffer(data, np.uint8)

    def bytes_of(self, name: str) -> Bytes:
        """Return all bytes of a member."""
        return np.concatenate([np.zeros(0, np.uint8), *self.chunks(name)])


@contextmanager
def reading(path: str) -> Iterator[StateFile]:
    """Open a state; what is malformed in a `with` statement is a `FileLoadError`."""
    with (
        STATES.loading(repr(path)),
        opened(path, STATES, lambda name: bool(_MEMBER.fullmatch(name))) as (manifest, zipped),
    ):
        from poplite.codec.coders import Reader

        of = Reader(ArrayReader({}), (), (), ())
        saved: SavedState = _coder().decode(STATES.parts(manifest), of)
        yield StateFile(saved, zipped)
