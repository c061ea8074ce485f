"""The cache of native objects: files in a folder, loaded into the process.

A cache file is a checksum, one line of JSON (exported name, needed symbols) and the compiler's
object file. Its name is its key (`poplite.jit.cache_key`) and is covered by the checksum, so a file
is never wrong, only unused. Files appear complete or not at all (written under a temporary name,
then renamed), so several processes may fill one folder. Loading needs llvmlite, not Numba, and
takes well under a millisecond.

The folder is optional: if it cannot be read or written, each process compiles its code.

Modules that only this module needs are imported in functions: at the top they would take a sixth
of the time of `import poplite`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poplite.errors import CacheWarning, FileLoadError, warn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def cache_folder() -> Path:
    """Return the folder in which compiled vertices are cached.

    `POPLITE_CACHE_DIR` names it; by default it is `poplite` in the user's cache folder.

    Raises:
        RuntimeError: if the user has no home directory, and no variable names a folder.
        OSError: if its name is relative and the working directory no longer exists.

    >>> cache_folder().is_absolute()
    True
    """
    chosen = os.environ.get("POPLITE_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "poplite"


def cached_files() -> list[Path]:
    """Return the files of compiled code in the cache folder; none if there is no folder.

    Those in `ipu` were made by compilers of C++, for exported programs.
    """
    folder = cache_folder()
    return [*folder.glob("*.o"), *folder.glob("ipu/*-*")] if folder.is_dir() else []


def find(name: str) -> bytes | None:
    """Return the content of a cache file; None if there is no intact file.

    A file that is damaged, has the wrong name, or cannot be read by this user counts as missing:
    its code is compiled again, and `store` replaces the file or warns that it cannot.
    """
    try:
        folder = cache_folder()
        _look_at(folder)
        checksum, _, content = (folder / f"{name}.o").read_bytes().partition(b"\n")
    except (OSError, RuntimeError):
        return None
    return content if checksum == _checksum(name, content) else None


_looked_at: set[Path] = set()
"""Folders whose write permissions this process has checked."""


def _look_at(folder: Path) -> None:
    """Warn once if a folder exists and its code may be another user's."""
    if folder in _looked_at or not folder.exists():
        return
    _looked_at.add(folder)
    if found := danger(folder):
        reason, fix = found
        _tell(CacheWarning(f"the cache folder '{folder}' is not safe: {reason}", at=None, fix=fix))


def _tell(warning: CacheWarning) -> None:
    """Issue a warning; of the ranks of a job, only the first on each machine does."""
    if all(os.environ.get(name, "0") == "0" for name in _LOCAL_RANKS):
        warn(warning)


_LOCAL_RANKS = "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"
"""Environment variables in which MPICH and Open MPI number the ranks of a machine from 0."""


def _checksum(name: str, content: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(name.encode() + b"\n" + content).hexdigest().encode()


def danger(folder: Path) -> tuple[str, str] | None:
    """Return why code in a folder may be another user's, and a remedy; None if it cannot be.

    Owners of the parent folders, and users who may write to those, can replace the folder; if the
    sticky bit is set, only owners can. A group that shares a folder is trusted, and so is the owner
    of the system: root, or the owner of `/`.
    """
    import shlex
    import stat

    real = Path(os.path.realpath(folder))  # links and their targets may belong to different users
    system = os.stat(real.anchor).st_uid
    trusted = {0, system, os.getuid()} if sys.platform != "win32" else {system}
    elsewhere = "set POPLITE_CACHE_DIR to a folder that you own"
    for each in dict.fromkeys([folder, real, *folder.parents, *real.parents]):
        status, name = os.lstat(each), "it" if each in (folder, real) else f"'{each}'"
        mode = status.st_mode
        if status.st_uid not in trusted:
            owner = f"another user (number {status.st_uid})"
            return f"{name} belongs to {owner}, who could run code as you", elsewhere
        if stat.S_ISLNK(mode) or not mode & stat.S_IWOTH:  # the mode of a link has no effect
            continue
        reason = f"anybody can write to {name}, and so run code as you"
        if name == "it":
            return reason, f"chmod o-w {shlex.quote(str(folder))}, and delete its contents"
        if not mode & stat.S_ISVTX:
            return reason, f"chmod o-w {shlex.quote(str(each))}, or {elsewhere}"
    return None


def has(name: str) -> bool:
    """Return whether a cache file exists, damaged or not."""
    try:
        return (cache_folder() / f"{name}.o").is_file()
    except (OSError, RuntimeError):
        return False


def pack(
    code: bytes, exported: str, needed: list[str], about: Mapping[str, Any] | None = None
) -> bytes:
    """Return the content of a cache file.

    `needed` are symbols that the code needs from the process; `about` are facts as JSON values.
    """
    import json

    head = {"exported": exported, "needed": needed, "about": about or {}}
    return json.dumps(head).encode() + b"\n" + code


def about(content: bytes) -> dict[str, Any]:
    """Return the facts in the content of a cache file."""
    import json

    found: dict[str, Any] = json.loads(content.partition(b"\n")[0])["about"]
    return found


def code(content: bytes) -> bytes:
    """Return the code in the content of a cache file."""
    return content.partition(b"\n")[2]


def undefined_symbols(code: bytes) -> list[str]:
    """Return the symbols that a little-endian 64-bit ELF file needs from the process."""
    import struct

    import llvmlite.binding as llvm

    sections = {s.name(): s.data() for s in llvm.ObjectFileRef.from_data(code).sections()}
    names = sections[b".strtab"]
    undefined = (
        names[name : names.index(b"\0", name)].decode()
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", sections[b".symtab"])
        if name and not section
    )
    return sorted(name for name in undefined if name != "_GLOBAL_OFFSET_TABLE_")


def store(name: str, content: bytes) -> None:
    """Write a cache file atomically; warn once if it cannot be written."""
    try:
        with _written(name, _checksum(name, content) + b"\n" + content) as part:
            os.replace(part, part.with_name(f"{name}.o"))
        _look_at(cache_folder())  # the folder may be new
    except (OSError, RuntimeError) as error:
        _warn(error)


def write_fault() -> tuple[str, str] | None:
    """Try to write to the folder as `store` does; return an error and a remedy, or None."""
    folders = []
    try:
        folder = cache_folder()
        folders = [each for each in (folder, *folder.parents) if not each.exists()]
        with _written("check", b"poplite" * 10_000):  # an empty file fits even on a full disk
            pass
    except (OSError, RuntimeError) as error:
        return _reason(error), _remedy(error)
    finally:
        for each in folders:
            with suppress(OSError):
                each.rmdir()
    return None


@contextmanager
def _written(name: str, content: bytes) -> Iterator[Path]:
    """Write a file to the folder under a temporary name; it is deleted if not renamed."""
    from poplite.files import unfinished

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with unfinished(str(folder), name) as (part, file):
        file.write(content)
        file.close()
        yield Path(part)


_warned: set[Path | None] = set()
"""Folders about which this process has warned."""


def _warn(error: Exception) -> None:
    try:
        folder = cache_folder()
    except (OSError, RuntimeError):
        folder = None
    if folder not in _warned:
        _warned.add(folder)
        found = "programs still run, but each process compiles its vertices again"
        _tell(CacheWarning(_reason(error), at=None, found=found, fix=_remedy(error)))


def _reason(error: Exception) -> str:
    """Return text that names the folder that cannot be written, and the cause."""
    try:
        folder = cache_folder()
    except (OSError, RuntimeError) as no_folder:
        return f"there is no cache folder: {getattr(no_folder, 'strerror', None) or no_folder}"
    cause = getattr(error, "strerror", None) or str(error)
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), folder)
    if isinstance(error, FileExistsError | NotADirectoryError) and not os.path.isdir(there):
        cause = f"'{there}' is not a folder"
    elif refused := getattr(error, "filename2", None):
        cause = f"'{os.path.basename(refused)}' in it cannot be replaced: {cause}"
    return f"the cache folder '{folder}' cannot be written: {cause}"


def _remedy(error: Exception) -> str:
    import errno

    if getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT):
        return "free space there, or set POPLITE_CACHE_DIR to a folder on another disk"
    return "set POPLITE_CACHE_DIR to a folder that you own"


def load(content: bytes) -> int:
    """Load the code of a cache file into the process for good; return its C function's address.

    Raises `FileLoadError` if the process lacks a symbol that the code needs.
    """
    import json

    import llvmlite.binding as llvm

    engine = _engine()  # symbols of the process are found only once it exists
    head, _, code = content.partition(b"\n")
    described = json.loads(head)
    missing = [name for name in described["needed"] if not llvm.address_of_symbol(name)]
    if missing:
        raise FileLoadError(
            f"a compiled vertex needs {', '.join(missing)}, which this process does not have",
            at=None,
            fix=f"delete '{cache_folder()}' and run again",
        )
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(described["exported"]))


@cache
def _engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
