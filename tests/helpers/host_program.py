"""The host program, built against the stand-in of Poplar, and talked to as a device does.

    sdk/bin/popc    codelets to a library that the stand-in loads
    sdk/include     the stand-in's headers
    sdk/lib         libpoplar.so, which records and executes

Both are built once for equal texts, in pytest's cache folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from helpers.codelets import EXACT, NATIVE, STAND_IN, WARNINGS, compiler
from poplite.errors import FileLoadError
from poplite.ipu.building import Sdk
from poplite.ipu.table_columns import HEAD, MAGIC, ROW, VERSION, Place, with_checksum
from poplite.ipu.tables import Tables

CLEAN = (*WARNINGS, "-Wno-init-list-lifetime")
FLAGS = ("-std=c++17", "-O0", *CLEAN)  # compiling takes longer than what it runs

Answer = Callable[[str, npt.NDArray[Any]], bool]
"""What the other side does for a stream: it fills or takes a block, and says whether to go on."""


def stand_in_sdk(cache: Path) -> Path:
    """Return the root of an SDK that is the stand-in; built where it is not there yet."""
    folders = (STAND_IN, NATIVE)
    sources = [each for own in folders for each in sorted(own.rglob("*")) if each.is_file()]
    key = _key(each.read_text(encoding="utf-8") for each in sources)
    root = cache / f"stand_in_{key}"
    if not root.exists():
        made = cache / f"stand_in_{key}_{os.getpid()}"
        for folder in ("bin", "lib"):
            (made / folder).mkdir(parents=True, exist_ok=True)
        for own in folders:
            shutil.copytree(own, made / "include", dirs_exist_ok=True)
        (made / "bin" / "popc").symlink_to("../include/popc")
        models = sorted(each.name for each in (STAND_IN / "model").glob("*.cpp"))
        whole = made / "include" / "model" / "whole.cpp"  # one unit reads the headers once
        whole.write_text("".join(f'#include "{name}"\n' for name in models), encoding="utf-8")
        library = made / "lib" / "libpoplar.so"
        shared = ["-shared", "-fPIC", "-I", made / "include", whole, "-o", library, "-ldl"]
        _run([*compiler(), *FLAGS, *shared])
        _put(made, root)
    return root


@contextmanager
def building(cache: Path, flags: tuple[str, ...] = ()) -> Iterator[Sdk]:
    """Let poplite build with the stand-in, without a warning, what it keeps in a folder."""
    with pytest.MonkeyPatch.context() as environment:
        words = [*compiler(), *flags]
        environment.setenv("CXX", shlex.join(words))
        sdk = Sdk.at(stand_in_sdk(cache))  # one for all that have these flags, here and elsewhere
        environment.setenv("POPLITE_CACHE_DIR", str(cache))
        environment.setenv("CXX", shlex.join([*words, *CLEAN]))
        yield sdk


def host_binary(cache: Path, flags: tuple[str, ...] = ()) -> Path:
    """Return the host program, compiled for the stand-in as poplite compiles it for an SDK."""
    with building(cache, flags) as sdk:
        return sdk.host(sdk.version())


def library_of(tables: Tables, cache: Path, flags: tuple[str, ...] = EXACT) -> Path:
    """Return the codelets of tables as a library that the stand-in loads."""
    sdk = stand_in_sdk(cache)
    library = cache / f"codelets_{_key([tables.codelets.text, sdk.name, *flags])}.gp"
    if not library.exists():
        source = cache / f"{library.stem}_{os.getpid()}.cpp"
        source.write_text(tables.codelets.text, encoding="utf-8")
        made = source.with_suffix(".gp")
        _run([sdk / "bin" / "popc", *flags, source, "-o", made])
        source.unlink()
        _put(made, library)
    return library


Call = Callable[[str, list[npt.NDArray[Any]]], bool]
"""What the other side does for a function: it fills the last arrays, and says whether to go on."""


class Session:
    """A host program that runs tables.

    Attributes:
        recorded: what the stand-in recorded, once it has started.
    """

    def __init__(
        self, process: int, ends: tuple[int, int], tables: Tables, block: mmap.mmap
    ) -> None:
        self._process, self.tables, self._block = process, tables, block
        self.recorded: Any = None
        self._to, self._from = os.fdopen(ends[0], "w"), os.fdopen(ends[1], "rb")

    def ask(
        self,
        command: str,
        answer: Answer = lambda name, block: False,
        call: Call = lambda name, arrays: False,
    ) -> str:
        """Return the last reply to a command; `answer` serves its streams, `call` its functions."""
        self._say(command)
        while True:
            reply = self._from.readline().decode().removesuffix("\n")
            word, _, rest = reply.partition(" ")
            if word == "call":
                arrays = [self._view(place) for place in self.tables.functions[rest]]
                self._say("ok" if call(rest, arrays) else "stop")
                continue
            if word not in ("fetch", "sink"):
                break
            block = self._view(self.tables.streams[rest])
            self._say("ok" if answer(rest, block) else "stop")
        if word == "error":
            reply += ": " + self._from.read(int(rest.split(" ")[1])).decode()
        return reply

    def read(self, handle: str) -> npt.NDArray[Any]:
        """Return what is behind a handle."""
        assert self.ask(f"read {handle}") == "ok"
        return self._view(self.tables.reads[handle]).copy()

    def write(self, handle: str, values: npt.ArrayLike) -> None:
        """Write what is behind a handle."""
        self._view(self.tables.writes[handle])[...] = values
        assert self.ask(f"write {handle}") == "ok"

    def _view(self, place: Place) -> npt.NDArray[Any]:
        flat = np.frombuffer(
            self._block, place.element_type.dtype, place.num_elements, place.offset
        )
        return flat.reshape(place.shape)

    def _say(self, line: str) -> None:
        self._to.write(f"{line}\n")
        self._to.flush()

    def end(self) -> int:
        """Let the program end, and return its status."""
        self._to.close()
        self._from.close()
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


@contextmanager
def session(
    tables: Tables,
    cache: Path,
    folder: Path,
    *,
    device: str = "hardware",
    environment: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = (),
) -> Iterator[Session]:
    """Start the host program on tables; its files are in a folder."""
    tables.write(folder / "tables.bin")
    mapping = folder / "mapping"
    mapping.write_bytes(bytes(tables.mapping_bytes))
    with mapping.open("r+b") as file:
        block = mmap.mmap(file.fileno(), 0)
    words = [host_binary(cache, flags), folder / "tables.bin", library_of(tables, cache), mapping]
    commands, replies = _pipe(), _pipe()
    process = os.posix_spawn(
        words[0],
        [*map(str, words), "--device", device],
        {**os.environ, **(environment or {})},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, commands[0], 3),
            (os.POSIX_SPAWN_DUP2, replies[1], 4),
        ],
    )
    os.close(commands[0])
    os.close(replies[1])
    made = Session(process, (commands[1], replies[0]), tables, block)
    try:
        yield made
    finally:
        status = made.end()
    assert status == 0


def _pipe() -> tuple[int, int]:
    """Return a pipe whose ends are above those that the host program has."""
    low = os.pipe()
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return ends[0], ends[1]


@contextmanager
def recorded(
    tables: Tables, cache: Path, folder: Path, flags: tuple[str, ...] = ()
) -> Iterator[tuple[Session, Any]]:
    """Start the host program, and read what the stand-in recorded."""
    path = folder / "recorded.json"
    environment = {"STAND_IN_RECORD": str(path)}
    with session(tables, cache, folder, environment=environment, flags=flags) as made:
        reply = made.ask("start")
        assert reply.startswith("ready "), reply
        yield made, json.loads(path.read_text(encoding="utf-8"))


def _key(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join([*compiler(), *texts]).encode()).hexdigest()[:16]


def _run(command: list[Any]) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def _put(made: Path, at: Path) -> None:
    """Give a thing its name; another process may have been faster."""
    try:
        made.rename(at)
    except OSError:
        shutil.rmtree(made)


# -- its tables, read by Python as it reads them ---------------------------------------------------


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
