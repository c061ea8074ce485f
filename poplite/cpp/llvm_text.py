"""C++ codelets as LLVM text: the function of each class that runs it, and what compiles it.

For each class, a function behind the user's text makes an object without calling a constructor,
fills its members, and calls `compute`::

    long long run_0(float *x, word x_length, ..., void *about)       named vertex.run.0 in LLVM
      object.x.__poplite_fill(x, x_length, 0, about);
      object.a = a_value;
      return returned(object, ...);

Bodies of functions that cannot run here are replaced by a trap, with as many lines.

Everything is kept on disk by the text, the files that it includes, the flags, our headers and the
compiler; nothing of it is run when it is found.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from poplite.codec.archive import ArrayReader
from poplite.codec.codec import Reader, Writer, coder_of, decoded
from poplite.cpp.codelets import Codelet, CodeletSource, CodeletUnit
from poplite.cpp.compilers import CodeletCompiler, codelet_compiler
from poplite.cpp.discover import ELEMENTS, HEADERS, discovered
from poplite.errors import VertexCompileError
from poplite.jit import digest
from poplite.jit.build import is_kept, kept_text
from poplite.source import SourceLocation
from poplite.types import BOOL

FLAGS = (
    "-std=c++17", "-O1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-g0", "-fPIC",
    "-fno-exceptions", "-fno-rtti", "-fno-access-control", "-fno-strict-aliasing",
    "-ffp-contract=off", "-Xclang", "-ffloat16-excess-precision=none", "-fno-sanitize=undefined",
    "-fno-stack-protector", "-fno-math-errno", "-Wno-everything", "-ferror-limit=5", "-D__POPC__",
)  # fmt: skip
"""Flags of codelets: no assumptions about types of memory, no contraction or wider intermediate
results, each half rounded after each operation."""

NAME = "@"
"""The name of the text itself in places of faults, so that what is kept does not depend on it."""

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
        return json.dumps(codec.encode(discovered(source, compiler.folders), Writer()))

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
    _check_embedded(file, name)
    if file.digest in _embedded and codelet_unit(file.source).codelets != file.codelets:
        raise VertexCompileError(
            f"the description of C++ codelets of {file.source.shown} is not that of their text",
            at=file.source.at(1, "<module>"),
            fix="save the file again",
        )
    return kept_text(name, lambda: _compiled(file, codelet_compiler()))


_allowed: set[str] = set()
"""Digests of texts that a caller of this process gave, or allowed to be compiled."""

_embedded: set[str] = set()
"""Digests of texts that come from files, whose descriptions may be wrong."""


def may_compile(unit: CodeletUnit) -> None:
    """Allow the text of a unit to be compiled."""
    _allowed.add(unit.digest)


def only_read(unit: CodeletUnit) -> None:
    """Note that a unit comes from a file, so that its text is only found in the cache."""
    _embedded.add(unit.digest)


def _check_embedded(unit: CodeletUnit, name: str) -> None:
    """Refuse a unit of a file if nobody asked for its text, or if it describes another text."""
    if unit.digest in _allowed or unit.digest not in _embedded:
        return
    if not (is_kept(name) and is_kept(_name_of(unit.source))):
        raise VertexCompileError(
            f"C++ codelets of {unit.source.shown} were never compiled on this machine",
            at=unit.source.at(1, "<module>"),
            found="the file has their text, which loading does not compile",
            fix="pass codelets=True to load, or give the text to graph.add_codelets first",
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
    texts = [(str(f.relative_to(HEADERS)), f.read_text()) for f in files if f.is_file()]
    return digest([__name__], texts)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


# -- a compiler ------------------------------------------------------------------------------------


def _compiled(file: CodeletUnit, compiler: CodeletCompiler) -> str:
    source = file.source
    quoted = [] if source.path is None else ["-iquote", str(Path(source.path).parent)]
    zig = ["-mcpu=baseline"] if "ziglang" in compiler.words else []
    command = [*compiler.words, *FLAGS, *zig, f"-I{HEADERS}", *quoted, *source.flags]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "codelets.ll"
        done = subprocess.run(
            [*command, "-x", "c++", "-", "-o", str(written)],
            input=full_text(file),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise _refused(source, done.stderr)
        return written.read_text()


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


# -- the text behind the user's --------------------------------------------------------------------


def full_text(file: CodeletUnit) -> str:
    """Return the C++ text to compile: the user's, and the functions that run its classes."""
    standard = re.search(
        r"#\s*include\s*<(algorithm|numeric|iterator|vector|utility)>", file.source.text
    )
    head = ["#define POPLITE_STANDARD_ITERATORS"] if standard else []
    head += ["#include <poplar/Vertex.hpp>", f'#line 1 "{NAME}"']
    usable = [(n, each) for n, each in enumerate(file.codelets) if each.refused is None]
    functions = (line for number, each in usable for line in _function(number, each))
    return "\n".join([*head, _with_traps(file), f'#line 1 "{NAME}"', *functions, ""])


def _with_traps(file: CodeletUnit) -> str:
    """Return the user's text without the bodies that cannot run here."""
    text = file.source.text.encode()
    for begin, end in sorted(file.trapped, reverse=True):
        lines = b"\n" * text[begin:end].count(b"\n")
        text = text[:begin] + b"{ __builtin_trap(); " + lines + b"}" + text[end:]
    return text.decode()


_NAMES = {element: name for name, element in ELEMENTS.items()}


def _function(number: int, codelet: Codelet) -> Iterator[str]:
    """Yield the lines of the function that runs a class."""
    names = (f"__poplite_a{n}" for n in range(1 << 30))
    first = [("int *", next(names)), ("__poplite::word ", next(names))] if codelet.is_multi else []
    parameters, lines = list(first), list[str]()
    buffers = []
    for position, field in enumerate(codelet.fields, len(first) > 0):
        kind = _NAMES[field.element]
        own = [(f"{kind} *__restrict ", next(names))]
        words = ("__poplite::word ",) * {0: 0, 1: 1, 2: 3}[field.depth]
        if field.depth == 0 and field.role == "state":
            words = ("float ",) if field.element.is_floating_point else ("__poplite::word ",)
        own += zip(words, islice(names, len(words)), strict=True)
        if field.depth == 2:
            own.append(("void *", next(names)))
            buffers.append(("void *", next(names)))
        parameters += own
        given = [name for _, name in own]
        member = f"__poplite_of.self.{field.name}"
        if field.depth:
            room = [buffers[-1][1]] if field.depth == 2 else []
            arguments = ", ".join([*given, str(position), "__poplite_about", *room])
            lines.append(f"  {member}.__poplite_fill({arguments});")
        elif field.role == "state":
            value = f"{given[1]} != 0" if field.element is BOOL else given[1]
            lines.append(f"  __poplite::value({member}) = static_cast<{kind}>({value});")
        else:
            lines.append(f"  {member}.__poplite_fill({given[0]});")
    parameters.append(("void *", "__poplite_about"))
    call = "__poplite_of.self.compute()"
    if codelet.is_multi:
        parameters.append(("__poplite::word ", "__poplite_worker"))
        lines.append(
            f"  __poplite_of.self.__poplite_workers = static_cast<unsigned>({first[1][1]});"
        )
        call = "__poplite_of.self.compute(static_cast<unsigned>(__poplite_worker))"
    parameters += buffers
    listed = ", ".join(f"{kind}{name}" for kind, name in parameters)
    name = f"__poplite_run_{number}"
    yield f'extern "C" __poplite::word {name}({listed}) __asm__("vertex.run.{number}");'
    yield f'extern "C" __poplite::word {name}({listed}) {{'
    yield f"  union Of {{ {codelet.spelled} self; Of() {{}} ~Of() {{}} }} __poplite_of;"
    yield from lines
    yield f"  return {call};" if codelet.returns else f"  {call}; return 1;"
    yield "}"
