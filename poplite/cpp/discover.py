"""The vertex classes of a C++ text, found by libclang.

libclang parses the text against our headers and those of the compiler that will compile it. It may
be older than that compiler: errors in standard headers are ignored, and errors in the user's text
are reported only if the compiler finds them, too.

A class of a template is taken where it is explicitly instantiated. Its types are those of the
instantiation; its text is that of the template.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poplite.cpp.bases import CLASSES, Bases
from poplite.cpp.bodies import Bodies, FunctionBody, Store, is_constant
from poplite.cpp.codelets import (
    HEADERS,
    Codelet,
    CodeletField,
    CodeletSource,
    CodeletUnit,
    CppLine,
    IncludedFile,
    Refusal,
    ReplacedFile,
)
from poplite.cpp.compilers import CodeletCompiler
from poplite.cpp.field_types import Unsupported, class_name, field_of, pattern_of, qualified
from poplite.errors import FileLoadError, VertexCompileError

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit

BASES = {"poplar::Vertex": False, "poplar::SupervisorVertex": False, "poplar::MultiVertex": True}
"""Bases of vertex classes, and whether they run once for each worker."""

ERROR = 3
"""The severity of errors in libclang; fatal ones, such as of a missing file, are above."""

_METHODS = "CXX_METHOD", "FUNCTION_TEMPLATE"
_FUNCTIONS = (
    *_METHODS,
    *("FUNCTION_DECL", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION"),
)
_ROOMS = (
    *("NAMESPACE", "LINKAGE_SPEC", "FRIEND_DECL", "UNEXPOSED_DECL", *CLASSES),
    *("CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"),
)

_CONSTRAINT = re.compile(rb"poplar\s*::\s*constraint\s*\(((?:\s*\"[^\"]*\"\s*,?)+)\)")
_OF_TILES = re.compile(rb"^[ \t]*#[ \t]*(?:ifdef|if|elif)\b(?!.*!).*\b__IPU__\b", re.MULTILINE)
_QUOTED = re.compile(rb"\"([^\"]*)\"")
_MISSING = re.compile(r"'(.+)' file not found")

_PRELUDE_PATH = "/poplite_prelude.h"

# Functions that newer standard headers call, and libclang 18 does not have.
_PRELUDE = """#pragma GCC system_header
template <class T> constexpr int __builtin_clzg(T value, int zero = 0) { return value ? 1 : zero; }
template <class T> constexpr int __builtin_ctzg(T value, int zero = 0) { return value ? 1 : zero; }
template <class T> constexpr int __builtin_popcountg(T value) { return value ? 1 : 0; }
"""


def discovered(source: CodeletSource, compiler: CodeletCompiler) -> CodeletUnit:
    """Return the codelets of a text.

    Raises `FileLoadError` if libclang or an included file is missing, `VertexCompileError` if a
    class writes to an Input.
    """
    try:
        import clang.cindex  # noqa: F401
    except ImportError as error:
        raise FileLoadError(
            "C++ codelets need the package libclang",
            found=f"it cannot be imported: {error}",
            fix='run pip install "poplite[cpp]"',
        ) from None
    return _Unit(source, compiler).unit()


class _Unit:
    """One parsed text."""

    def __init__(self, source: CodeletSource, compiler: CodeletCompiler) -> None:
        self.source = source
        self._path = source.path or "/codelet text/codelet.cpp"
        self._content = source.text.encode()
        self._contents = {self._path: self._content}
        self._arguments = [*("-x", "c++", "-nostdinc", "-nostdinc++", "-ferror-limit=0", "-w")]
        self._arguments += [*source.meaning(), *compiler_view(compiler)]
        self.bases = Bases(lambda first, last: self.text_of(first, last).decode())
        self._parsed = self._parse()
        self._check_includes()

    def _parse(self) -> TranslationUnit:
        """Return the parsed text, with a probe for each base that depends on arguments."""
        from clang.cindex import Index, TranslationUnitLoadError

        while True:
            probes = self.bases.probes
            texts = [(self._path, self._content + probes.encode()), (_PRELUDE_PATH, _PRELUDE)]
            try:
                self._parsed = Index.create().parse(self._path, self._arguments, texts)
            except TranslationUnitLoadError:
                raise VertexCompileError(
                    f"C++ codelets of {self.source.shown} cannot be read",
                    at=self.source.at(1, "<module>"),
                    found=f"flags {' '.join(self.source.flags)!r}",
                    fix="give flags of a compiler, such as -Ifolder and -DNAME=3",
                ) from None
            classes = [each for each in self._declared(self._parsed.cursor) if _is_class(each)]
            for each in classes:
                self.bases.look(each)
            for each in classes:
                _ClassView(self, each)  # asks for its bases
            if self.bases.probes == probes:
                return self._parsed

    def unit(self) -> CodeletUnit:
        """Return everything that is known of the text."""
        bodies = Bodies()
        self._read_bodies(bodies)
        includes = self._includes()
        return CodeletUnit(
            self.source,
            tuple(self._codelets(bodies)),
            tuple(sorted(each.span for each in bodies.refused() if not each.at.file)),
            tuple(sorted(bodies.by_usr)),
            tuple(bodies.unusable()),
            tuple(self._replaced(includes, bodies)),
            tuple(IncludedFile(path, _digest(path)) for path in includes),
            tuple(self._notes(bodies)),
        )

    def place(self, at: Any) -> CppLine:
        """Return a place of libclang as one of ours."""
        path = str(at.file) if at.file else self._path
        return CppLine("" if path == self._path else path, at.line)

    def _replaced(self, includes: Sequence[str], bodies: Bodies) -> Iterator[ReplacedFile]:
        """Yield the included files that have functions which cannot run here."""
        for path in includes:
            spans = [each.span for each in bodies.refused() if each.at.file == path]
            if spans:
                text = Path(path).read_bytes()
                yield ReplacedFile(path, without_bodies(text, spans).decode(errors="replace"))

    def _includes(self) -> list[str]:
        """Return the paths of the user's included files."""
        from clang.cindex import SourceLocation as ClangLocation

        # The place of the directive is not valid any more when libclang returns.
        files = {str(each.include.name): each.include for each in self._parsed.get_includes()}
        begins = {
            path: ClangLocation.from_position(self._parsed, file, 1, 1)
            for path, file in files.items()
        }
        return [p for p, begin in begins.items() if p != _PRELUDE_PATH and not _is_system(begin)]

    def _check_includes(self) -> None:
        for each in self._parsed.diagnostics:
            missing = _MISSING.match(each.spelling)
            if each.severity > ERROR and missing and not _is_system(each.location):
                raise FileLoadError(
                    f"C++ codelets of {self.source.shown}: '{missing[1]}' is not found",
                    at=self.source.at(self.place(each.location), "<module>"),
                    fix="give its folder as a flag: -Ifolder",
                )

    # -- functions

    def _read_bodies(self, bodies: Bodies) -> None:
        """Read all functions that the user's files define."""
        for cursor in self._declared(self._parsed.cursor):
            if cursor.kind.name in _FUNCTIONS:
                bodies.add(cursor, self._content_of(cursor), self.place)

    def _declared(self, parent: Cursor) -> Iterator[Cursor]:
        """Yield what the user declares, inside namespaces and classes too."""
        for cursor in parent.get_children():
            if _is_system(cursor.location):
                continue
            yield cursor
            if cursor.kind.name in _ROOMS:
                yield from self._declared(cursor)

    # -- classes

    def _codelets(self, bodies: Bodies) -> Iterator[Codelet]:
        """Yield the vertex classes, in the order of the text."""
        for cursor in self._declared(self._parsed.cursor):
            if not _is_class(cursor):
                continue
            view = _ClassView(self, cursor)
            if view.is_multi is not None and view.compute is not None:
                yield view.codelet(bodies)

    def text_of(self, first: Cursor, last: Cursor) -> bytes:
        """Return the text from one declaration to another."""
        content = self._content_of(first)
        return content[first.extent.start.offset : last.extent.end.offset]

    def _content_of(self, cursor: Cursor) -> bytes:
        path = str(cursor.location.file)
        if path not in self._contents:
            self._contents[path] = Path(path).read_bytes()
        return self._contents[path]

    def constraints(self, pattern: Cursor) -> tuple[str, ...]:
        """Return the texts of `[[poplar::constraint]]` of a class."""
        head = self.text_of(pattern, pattern).partition(b"{")[0]
        found = (text for match in _CONSTRAINT.findall(head) for text in _QUOTED.findall(match))
        return tuple(text.decode() for text in found)

    # -- notes

    def _notes(self, bodies: Bodies) -> Iterator[str]:
        """Yield what the user should know of the text."""
        if hidden := _OF_TILES.search(self._content):
            line = self._content[: hidden.start()].count(b"\n") + 1
            yield f"text behind #ifdef __IPU__ is not compiled here (line {line})"
        shared = [at for each in bodies.by_usr.values() for at in each.statics]
        shared += [self.place(each.location) for each in self._variables()]
        lines = ", ".join(map(str, sorted(at.line for at in shared if not at.file)))
        if lines:
            yield (
                "all tiles share a static variable here; on a machine each tile has its own "
                f"(line {lines})"
            )

    def _variables(self) -> Iterator[Cursor]:
        for cursor in self._declared(self._parsed.cursor):
            if cursor.kind.name == "VAR_DECL" and not is_constant(cursor.type):
                yield cursor


def compiler_view(compiler: CodeletCompiler) -> list[str]:
    """Return the arguments by which libclang sees the headers of a compiler."""
    found = [f"-D{macro}" for macro in compiler.macros]
    if compiler.major > 18:
        found += ["-include", _PRELUDE_PATH]
    for folder in (str(HEADERS), *compiler.folders):
        found += ["-isystem", folder]
    return [*found, "-include", "poplar/Vertex.hpp"]


def without_bodies(text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return a text in which bodies of functions are a trap; lines keep their numbers."""
    for start, end in sorted(spans, reverse=True):
        lines = b"\n" * text[start:end].count(b"\n")
        text = text[:start] + b"{ __builtin_trap(); " + lines + b"}" + text[end:]
    return text


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _is_class(cursor: Cursor) -> bool:
    return cursor.kind.name in CLASSES and bool(cursor.is_definition())


def _is_system(location: Any) -> bool:
    return location.file is None or bool(location.is_in_system_header)


# -- one class -------------------------------------------------------------------------------------


class _ClassView:
    """A class with its bases."""

    def __init__(self, unit: _Unit, cursor: Cursor) -> None:
        self._unit, self._cursor = unit, cursor
        self.pattern = pattern_of(cursor)
        self.is_multi: bool | None = None
        self._line: list[Cursor] = []
        self._problem: Refusal | None = None
        self._add_line(cursor)

    def _add_line(self, cursor: Cursor) -> None:
        """Add a class after its bases."""
        for base in self._unit.bases.of(cursor):
            name = qualified(base)
            if name in BASES:
                self.is_multi = BASES[name]
            else:
                self._add_line(base)
        self._line.append(cursor)

    @property
    def compute(self) -> Cursor | None:
        """The declaration of `compute`, in the class or in its nearest base."""
        for cursor in reversed(self._line):
            for child in pattern_of(cursor).get_children():
                if child.kind.name in _METHODS and child.spelling == "compute":
                    return child
        return None

    def codelet(self, bodies: Bodies) -> Codelet:
        """Return what is known of the class.

        Raises `VertexCompileError` if it writes to an Input.
        """
        compute = self.compute
        assert compute is not None
        assert self.is_multi is not None
        reached = bodies.reached_from([compute.get_usr()])
        stores = [store for each in reached if self._owns(each) for store in each.stores]
        fields = self._fields()
        self._refuse_writes(fields, stores)
        name = class_name(self._cursor)
        return Codelet(
            name=name.replace(" ", ""),
            spelled=f"::{name}",
            is_multi=self.is_multi,
            fields=tuple(fields),
            returns=compute.result_type.get_canonical().spelling == "bool",
            at=self._unit.place(self.pattern.location),
            constraints=self._unit.constraints(self.pattern),
            refused=self._refusal(reached, fields, stores, compute),
            may_not_end=any(each.may_not_end for each in reached) or bodies.recurs(reached),
            needs=tuple(bodies.needed(reached)),
        )

    def _owns(self, body: FunctionBody) -> bool:
        owners = {
            usr for each in self._line for usr in (each.get_usr(), pattern_of(each).get_usr())
        }
        return body.parent in owners

    def _fields(self) -> list[CodeletField]:
        """Return the fields; an unsupported one is the reason to refuse the class."""
        found = []
        for cursor in (field for each in self._line for field in each.type.get_fields()):
            try:
                found.append(field_of(cursor))
            except Unsupported as error:
                at = self._unit.place(cursor.location)
                self._problem = self._problem or Refusal(str(error), at)
        return found

    def _refuse_writes(self, fields: Sequence[CodeletField], stores: Sequence[Store]) -> None:
        """Raise an error for a write to an Input."""
        inputs = {field.name for field in fields if field.role == "input"}
        for store in stores:
            if store.is_member and store.is_subscripted and store.name in inputs:
                raise VertexCompileError(
                    f"'{class_name(self._cursor)}.{store.name}' is an Input, and is written",
                    at=self._unit.source.at(store.at, "compute"),
                    fix=f"declare {store.name} as InOut, or write to another field",
                )

    def _refusal(
        self,
        reached: Sequence[FunctionBody],
        fields: Sequence[CodeletField],
        stores: Sequence[Store],
        compute: Cursor,
    ) -> Refusal | None:
        """Return why the class cannot be used."""
        if self._problem is not None:
            return self._problem
        state = {field.name for field in fields if field.role == "state"}
        for store in stores:
            if store.is_member and store.name in state:
                why = f"compute changes its member '{store.name}', which no state can be"
                return Refusal(why, store.at)
        if self._is_external() or not reached:
            why = "it is an external codelet: compute is not defined in C++"
            return Refusal(why, self._unit.place(compute.location))
        return next((each.refused for each in reached if each.refused), None)

    def _is_external(self) -> bool:
        """Return whether the class says so by `static const bool isExternalCodelet = true`."""
        for child in self.pattern.get_children():
            if child.kind.name == "VAR_DECL" and child.spelling == "isExternalCodelet":
                return b"true" in self._unit.text_of(child, child)
        return False
