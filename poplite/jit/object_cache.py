"""Native objects: loaded into the process, kept in a cache folder.

A cache file is one line of JSON (exported name, needed symbols, checksum) followed by an
object file as the compiler emitted it.  Its name is a hash of everything the code depends
on, so a file is never wrong, only unused.  Files appear whole or not at all (written
beside, then renamed), so several processes may fill one folder.  Loading needs llvmlite,
not Numba, and takes well under a millisecond.

Nothing needs the folder: where it cannot be read or written, code is compiled by each process.

Modules that only this needs are imported where they are used: they would be a sixth of the
time that `import poplite` takes.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poplite.errors import CacheWarning, FileLoadError, warn
from poplite.jit.sources import digest_of_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def cache_folder() -> Path:
    """Return the folder that compiled vertices are kept in.

    `POPLITE_CACHE_DIR` names it; otherwise it is `poplite` in the user's cache folder.

    Raises:
        RuntimeError: when the user has no home, and no variable names another folder.
        OSError: when it is named from a working directory that is no longer there.

    >>> cache_folder().is_absolute()
    True
    """
    chosen = os.environ.get("POPLITE_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "poplite"


def digest(makers: Sequence[str], *parts: object) -> str:
    """Return a name for code made from these parts on this machine with these versions.

    Args:
        makers: names of the modules that make the code; the name follows their text, and that of
            all modules of poplite that they import, directly and indirectly.
        parts: anything whose `repr` is the same whenever the code is the same.

    Raises:
        ModuleNotFoundError: when a module is not there.

    >>> digest([__name__], "driver", 1) == digest([__name__], "driver", 2)
    False
    """
    import hashlib

    sources = digest_of_sources(*makers)
    text = repr((_machine(), _choices(), sources, parts))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _machine() -> tuple[str, ...]:
    from importlib.util import find_spec

    import llvmlite
    import llvmlite.binding as llvm

    numba = find_spec("numba")  # importing it, or importlib.metadata, takes long
    assert numba is not None, "poplite is installed without Numba"
    assert numba.origin is not None, "Numba has no __init__.py"
    return (
        sys.version,
        Path(numba.origin).with_name("_version.py").read_text(),
        llvmlite.__version__,
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


_CHOICES = (
    *("CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    "DISABLE_INTEL_SVML",
)
"""What may be chosen of Numba, as variables of the environment, that changes code made here.

All others are about arrays, objects that are counted, debugging, or what Numba prints.
"""


def _choices() -> tuple[object, ...]:
    """Return what is chosen now: Numba looks at the environment each time it compiles."""
    try:
        file = Path(".numba_config.yaml").read_bytes()
    except OSError:
        file = b""
    return (*(os.environ.get(f"NUMBA_{choice}", "") for choice in _CHOICES), file)


def find(name: str) -> bytes | None:
    """Return the content of a cache file, or None where there is none that is whole.

    A file that is damaged, or that another user may read alone, counts as none: what was in it is
    compiled again, and `store` replaces it or says why not.

    Args:
        name: what `digest` returned.
    """
    try:
        content = (cache_folder() / f"{name}.o").read_bytes()
    except (OSError, RuntimeError):
        return None
    return content if _is_whole(content) else None


def has(name: str) -> bool:
    """Tell whether there is a cache file, whole or not.

    Args:
        name: what `digest` returned.
    """
    try:
        return (cache_folder() / f"{name}.o").is_file()
    except (OSError, RuntimeError):
        return False


def _is_whole(content: bytes) -> bool:
    import hashlib
    import json

    head, _, code = content.partition(b"\n")
    try:
        return bool(json.loads(head)["checksum"] == hashlib.sha256(code).hexdigest())
    except (ValueError, KeyError, TypeError):
        return False


def pack(
    code: bytes, exported: str, needed: list[str], about: Mapping[str, Any] | None = None
) -> bytes:
    """Return the content of a cache file.

    Args:
        code: the object file.
        exported: name of the C function in it.
        needed: symbols it takes from the process.
        about: what is known of it, in values that JSON has.
    """
    import hashlib
    import json

    checksum = hashlib.sha256(code).hexdigest()
    head = {"exported": exported, "needed": needed, "checksum": checksum, "about": about or {}}
    return json.dumps(head).encode() + b"\n" + code


def about(content: bytes) -> dict[str, Any]:
    """Return what is known of a cache file's code.

    Args:
        content: what `pack` returned.
    """
    import json

    found: dict[str, Any] = json.loads(content.partition(b"\n")[0])["about"]
    return found


def code(content: bytes) -> bytes:
    """Return a cache file's code.

    Args:
        content: what `pack` returned.
    """
    return content.partition(b"\n")[2]


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names that an object file takes from the process.

    Args:
        code: an ELF file of 64 bits, least byte first.
    """
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
    """Write a cache file, whole or not at all; warn once where it cannot be written.

    Args:
        name: what `digest` returned.
        content: what `pack` returned.
    """
    try:
        with _written(content) as part:
            os.replace(part, part.with_name(f"{name}.o"))
    except (OSError, RuntimeError) as error:
        _warn(error)


def write_fault() -> tuple[str, str] | None:
    """Write to the folder as `store` does, and leave it as it was.

    Returns:
        Why that failed, and what to do; None when it did not.
    """
    folders = []
    try:
        folder = cache_folder()
        folders = [each for each in (folder, *folder.parents) if not each.exists()]
        with _written(b"poplite" * 10_000):  # an empty file has room on a full disk
            pass
    except (OSError, RuntimeError) as error:
        return _reason(error), _remedy(error)
    finally:
        for each in folders:
            with suppress(OSError):
                each.rmdir()
    return None


@contextmanager
def _written(content: bytes) -> Iterator[Path]:
    """Write a file to the folder under a name of its own; it is gone unless it is renamed."""
    from poplite.files import new_file

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    number, name = new_file(str(folder), "")
    try:
        with open(number, "wb") as file:
            file.write(content)
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)


_warned: set[Path | None] = set()
"""Folders that this process has warned of."""


def _warn(error: Exception) -> None:
    try:
        folder = cache_folder()
    except (OSError, RuntimeError):
        folder = None
    if folder not in _warned:
        _warned.add(folder)
        found = "programs run all the same, but each process compiles its vertices again"
        warn(CacheWarning(_reason(error), found=found, fix=_remedy(error)))


def _reason(error: Exception) -> str:
    """Say which folder cannot be written, and why."""
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
        return "make room there, or set POPLITE_CACHE_DIR to a folder on another disk"
    return "set POPLITE_CACHE_DIR to a folder of yours"


def load(content: bytes) -> int:
    """Load a cache file's code into the process.

    Args:
        content: what `pack` returned.

    Returns:
        Address of the exported C function; the code stays loaded.

    Raises:
        FileLoadError: when the process lacks a symbol the code needs.
    """
    import json

    import llvmlite.binding as llvm

    engine = _engine()  # from now on symbols of the process are found
    head, _, code = content.partition(b"\n")
    described = json.loads(head)
    missing = [name for name in described["needed"] if not llvm.address_of_symbol(name)]
    if missing:
        raise FileLoadError(
            f"compiled vertex needs {', '.join(missing)}, which this process does not have",
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
