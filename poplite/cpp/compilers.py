"""C++ compilers of this machine: any for exported programs, clang for codelets.

    any_compiler()        $CXX, c++, g++, clang++, or the package ziglang
    codelet_compiler()    $POPLITE_CXX, clang++, the newest clang++-N, or the package ziglang

The text of a clang that is newer than llvmlite's LLVM cannot be read, so versions are compared
before anything is compiled.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from poplite.errors import FileLoadError
from poplite.frozen import frozen
from poplite.jit import digest
from poplite.jit.build import kept_text
from poplite.text import clipped

NAMES = ("c++", "g++", "clang++")

ZIG = (sys.executable, "-m", "ziglang", "c++")

EXTRA = 'pip install "poplite[cpp]"'


def any_compiler() -> tuple[str, ...]:
    """Return the command of a C++ compiler, as words.

    Raises `FileLoadError` if none is found, or if `$CXX` names one that is not on PATH.
    """
    if chosen := os.environ.get("CXX"):
        return _named("CXX", chosen, "g++")
    for name in NAMES:
        if found := shutil.which(name):
            return (found,)
    if find_spec("ziglang") is not None:
        return ZIG
    raise FileLoadError(
        "no C++ compiler was found",
        found=f"CXX is not set, none of {', '.join(NAMES)} is on PATH, ziglang is not installed",
        fix=f"install one, or run {EXTRA}",
    )


def _named(variable: str, chosen: str, example: str) -> tuple[str, ...]:
    """Return the words of a compiler that an environment variable names."""
    words = shlex.split(chosen)
    if words and shutil.which(words[0]):
        return tuple(words)
    raise FileLoadError(
        f"{variable} names {chosen!r}, which is not on PATH",
        fix=f"set {variable}={example}, or unset {variable} to search PATH",
    )


OLDEST = 15
"""The first clang whose text has the pointers that llvmlite reads."""

_OF_LIBRARY = re.compile(r"^#define (_LIBCPP\w+|__GCC_\w+_SIZE) (\S+)$", re.MULTILINE)


# -- compilers of codelets -------------------------------------------------------------------------


@frozen
class CodeletCompiler:
    """A clang.

    Attributes:
        words: its command.
        identity: distinguishes its versions, without running it.
        major: the major version of its LLVM.
        most: the newest version whose text llvmlite reads.
        folders: where it looks for standard headers.
        macros: what its standard library is configured by, such as `_LIBCPP_ABI_VERSION=1`.
    """

    words: tuple[str, ...]
    identity: str
    major: int
    most: int
    folders: tuple[str, ...]
    macros: tuple[str, ...]


def codelet_compiler() -> CodeletCompiler:
    """Return the first clang found that writes text which llvmlite reads.

    Raises `FileLoadError` if there is none, with the versions of those that were found.
    """
    others = list[CodeletCompiler]()
    for words in _clangs():
        found = _described(words, version("llvmlite"))
        if OLDEST <= found.major <= found.most:
            return found
        others.append(found)
    if others:
        most = others[0].most
        versions = [f"{shlex.join(each.words)} is clang {each.major}" for each in others]
        where = f"llvmlite reads the text of LLVM {most} and older, from {OLDEST} on"
        relation = "too old for" if others[0].major < OLDEST else "newer than"
        raise FileLoadError(
            f"the C++ compiler is {relation} llvmlite",
            found="\n".join([*versions, where]),
            fix=f"run apt install clang-{most}, or {EXTRA}, or install a newer Numba",
        )
    raise FileLoadError(
        "no C++ compiler for codelets was found",
        found="POPLITE_CXX is not set, no clang++ is on PATH, and ziglang is not installed; g++ "
        "does not write LLVM text",
        fix=f"run {EXTRA}, or apt install clang",
    )


def _clangs() -> Iterator[tuple[str, ...]]:
    """Yield the commands of clangs, in the order in which they are tried."""
    if chosen := os.environ.get("POPLITE_CXX"):
        yield _named("POPLITE_CXX", chosen, "clang++")
        return
    if plain := shutil.which("clang++"):
        yield (plain,)
    numbered: dict[int, str] = {}
    for folder in os.get_exec_path():
        for file in Path(folder).glob("clang++-*") if os.path.isdir(folder) else ():
            if match := re.fullmatch(r"clang\+\+-(\d+)", file.name):
                numbered.setdefault(int(match[1]), str(file))
    yield from ((numbered[number],) for number in sorted(numbered, reverse=True))
    if find_spec("ziglang") is not None:
        yield ZIG


@cache
def _described(words: tuple[str, ...], llvmlite: str) -> CodeletCompiler:
    """Return a compiler with its version; it is run once on a machine for a version of llvmlite."""
    identity = _identity(words)
    text = kept_text(digest([__name__], "compiler", identity, llvmlite), lambda: _asked(words))
    major, most, *others = text.splitlines()
    macros = [each.removeprefix("-D") for each in others if each.startswith("-D")]
    folders = [each for each in others if not each.startswith("-D")]
    return CodeletCompiler(words, identity, int(major), int(most), tuple(folders), tuple(macros))


def _identity(words: Sequence[str]) -> str:
    if tuple(words) == ZIG:
        return f"ziglang {version('ziglang')} {ZIG[0]}"
    file = os.path.realpath(shutil.which(words[0]) or words[0])
    about = os.stat(file)
    return f"{shlex.join(words)} {file} {about.st_size} {about.st_mtime_ns}"


def _asked(words: Sequence[str]) -> str:
    """Return lines: its version, the newest that can be read, its folders, macros as -DNAME=1."""
    import llvmlite.binding as llvm

    done = subprocess.run(
        [*words, "-x", "c++", "-v", "-dM", "-E", "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = re.search(r"#define __clang_major__ (\d+)", done.stdout)
    if found is None:
        raise FileLoadError(
            f"{shlex.join(words)} is not a clang",
            found=clipped(done.stderr.strip(), 200),
            fix="set POPLITE_CXX=clang++, or unset it to search PATH",
        )
    _, _, listed = done.stderr.partition("#include <...> search starts here:\n")
    folders = [line.strip() for line in listed.partition("End of search")[0].splitlines()]
    macros = [f"-D{name}={value}" for name, value in _OF_LIBRARY.findall(done.stdout)]
    return "\n".join([found[1], str(llvm.llvm_version_info[0]), *folders, *macros])
