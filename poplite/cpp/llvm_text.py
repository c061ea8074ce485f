"""C++ codelets as LLVM text: the function of each class that runs it, and what compiles it.

For each class, a function behind the user's text makes an object without calling a constructor,
fills its members, and calls `compute` (`poplite.cpp.shim`).

Bodies of functions that cannot run here are replaced by a trap, with as many lines.

Everything is kept on disk by the text, the files that it includes, the flags, our headers and the
compiler; nothing of it is run when it is found.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from poplite.codec.archive import ArrayReader
from poplite.codec.codec import Reader, Writer, coder_of, decoded
from poplite.cpp.codelets import HEADERS, CodeletSource, CodeletUnit
from poplite.cpp.compilers import CodeletCompiler, codelet_compiler
from poplite.errors import VertexCompileError
from poplite.jit import digest
from poplite.jit.build import is_kept, kept_text
from poplite.source import SourceLocation

FLAGS = (
    "-O1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-g0", "-fPIC",
    "-fno-exceptions", "-fno-rtti", "-fno-access-control", "-fno-strict-aliasing",
    "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno", "-fno-sanitize=undefined",
    "-fno-stack-protector", "-fno-threadsafe-statics", "-Wno-everything", "-ferror-limit=5",
)  # fmt: skip
"""Flags of codelets: no assumptions about types of memory, no contraction or wider intermediate
results, each half rounded after each operation."""

NAME = "@"
"""The name of the text itself in places of faults, so that what is kept does not depend on it."""

OF_LIBRARY = "~"
"""The start of names of standard headers in places of faults (`include/poplar/Vertex.hpp`)."""

MOST_ERRORS = 5
"""Number of a compiler's errors that are shown."""


def codelet_unit(source: CodeletSource) -> CodeletUnit:
    """Return the codelets of a text, found by libclang or kept from before.

    Raises `VertexCompileError` for errors of the text, and `FileLoadError` if libclang or a
    compiler is missing.
    """
    compiler = codelet_compiler()
    name = _name_of(source)
    codec, reader = coder_of(CodeletUnit), Reader(ArrayReader({}), (), (), ())

    def made() -> str:
        from poplite.cpp.discover import discovered  # what is kept is found sooner without it

        return json.dumps(codec.encode(discovered(source, compiler), Writer()))

    while True:
        file: CodeletUnit = decoded(codec, json.loads(kept_text(name, made)), reader)
        if all(_digest(each.path) == each.digest for each in file.includes):
            return file
        name = digest([__name__], "codelets again", name, [_digest(e.path) for e in file.includes])


def _name_of(source: CodeletSource) -> str:
    """Return the name under which the codelets of a text are kept."""
    return digest([__name__], "codelets", _key(source, codelet_compiler()), source.path)


def llvm_text(file: CodeletUnit) -> str:
    """Return the text that a compiler makes of a file, or that is kept from before.

    Raises `VertexCompileError` for errors of the C++ text, with the first lines that it writes.
    """
    name = digest([__name__], "text", text_identity(file))
    if file in _embedded:
        _check_embedded(file, name)
    return kept_text(name, lambda: _compiled(file, codelet_compiler()))


_allowed: set[CodeletUnit] = set()
"""Units that a caller of this process gave, or allowed to be compiled."""

_embedded: set[CodeletUnit] = set()
"""Units that come from files, so that what they say of their text may be wrong."""


def may_compile(unit: CodeletUnit) -> None:
    """Allow the text of a unit to be compiled."""
    _allowed.add(unit)


def from_file(unit: CodeletUnit) -> None:
    """Note that a unit comes from a file."""
    _embedded.add(unit)


def _check_embedded(unit: CodeletUnit, name: str) -> None:
    """Refuse a unit of a file if nobody asked for its text, or if it does not describe its text."""
    at = unit.source.at(1, "<module>")
    if unit not in _allowed and not (is_kept(name) and is_kept(_name_of(unit.source))):
        raise VertexCompileError(
            f"C++ codelets of {unit.source.shown} were never compiled on this machine",
            at=at,
            found="the file has their text, which loading does not compile",
            fix="pass codelets=True to load, or give the text to graph.add_codelets first",
        )
    for each in unit.includes:
        if _digest(each.path) != each.digest:
            raise VertexCompileError(
                f"{each.path!r} is not the file that C++ codelets of {unit.source.shown} included",
                at=at,
                found="it has changed, or is missing, since they were saved",
                fix="restore it, or save the program again",
            )
    # All of it, since it also has texts that are compiled in place of included files.
    if codelet_unit(unit.source) != unit:
        raise VertexCompileError(
            f"the description of C++ codelets of {unit.source.shown} is not that of their text",
            at=at,
            fix="save the file again",
        )


def text_identity(file: CodeletUnit) -> tuple[object, ...]:
    """Return everything on which the text of a file depends."""
    included = tuple((each.path, each.digest) for each in file.includes)
    return *_key(file.source, codelet_compiler()), included


def _key(source: CodeletSource, compiler: CodeletCompiler) -> tuple[object, ...]:
    folder = None if source.path is None else str(Path(source.path).parent)
    return source.text, folder, source.flags, compiler.identity, FLAGS, _headers()


@cache
def _headers() -> str:
    """Return the digest of our headers."""
    files = sorted(HEADERS.rglob("*"))
    texts = [(str(f.relative_to(HEADERS)), f.read_text("utf-8")) for f in files if f.is_file()]
    return digest([__name__], texts)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


# -- a compiler ------------------------------------------------------------------------------------


def _compiled(file: CodeletUnit, compiler: CodeletCompiler) -> str:
    source = file.source
    command = [*compiler.words, *source.meaning(), *FLAGS]
    if compiler.major > 15:  # clang 15 rounds each half by itself
        command += ["-Xclang", "-ffloat16-excess-precision=none"]
    command += ["-mcpu=baseline"] if "ziglang" in compiler.words else []
    command += [f"-fmacro-prefix-map={folder}={OF_LIBRARY}" for folder in compiler.folders]
    command += ["-isystem", str(HEADERS), "-include", "poplar/Vertex.hpp"]
    with tempfile.TemporaryDirectory() as folder:
        # Not from standard input: quoted includes would be sought in the working directory.
        unit, written = Path(folder) / "codelets.cpp", Path(folder) / "codelets.ll"
        unit.write_text(full_text(file), "utf-8")
        done = subprocess.run(
            [*command, *_overlay(file, Path(folder)), str(unit), "-o", str(written)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise _refused(source, done.stderr)
        return written.read_text("utf-8")


def _refused(source: CodeletSource, said: str) -> VertexCompileError:
    """Return the error for a text that a compiler refuses, with its first errors."""
    found = re.findall(r"^(\S+?):(\d+):\d+: (?:fatal )?error: (.*)$", said, re.MULTILINE)
    errors = [(source.shown if name == NAME else name, int(n), text) for name, n, text in found]
    if not errors:
        lines = said.strip().splitlines()[-MOST_ERRORS:]
        return VertexCompileError(
            f"C++ codelets of {source.shown} cannot be compiled",
            at=source.at(1, "<module>"),
            found="\n".join(lines),
            fix="see docs/cpp.md for what codelets can use",
        )
    (path, line, text), *others = errors[:MOST_ERRORS]
    return VertexCompileError(
        f"C++ codelets of {source.shown} cannot be compiled: {text}",
        at=SourceLocation(path, line, "<module>"),
        found="\n".join(f"{path}:{line}: {text}" for path, line, text in others),
        fix="mend the C++ text",
    )


# -- the text to compile ---------------------------------------------------------------------------


def full_text(file: CodeletUnit) -> str:
    """Return the C++ text to compile: the user's, and the functions that run its classes."""
    from poplite.cpp.discover import without_bodies
    from poplite.cpp.shim import shim

    text = without_bodies(file.source.text.encode(), file.trapped).decode()
    return "\n".join([f'#line 1 "{NAME}"', text, *shim(file.codelets), ""])


def _overlay(file: CodeletUnit, folder: Path) -> list[str]:
    """Return the flags by which a compiler reads changed texts in place of included files."""
    roots = []
    for number, each in enumerate(file.replaced):
        copy = folder / f"{number}.txt"
        copy.write_text(each.text, "utf-8")
        name = os.path.abspath(each.path)
        roots.append({"type": "file", "name": name, "external-contents": str(copy)})
    listed = folder / "overlay.yaml"
    listed.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
    return ["-ivfsoverlay", str(listed)] if roots else []
