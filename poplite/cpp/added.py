"""Adds C++ codelets to a graph: reads files, compiles them, and refuses names that are taken."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from poplite.cpp.codelets import CodeletSource, CodeletUnit
from poplite.cpp.llvm_text import codelet_unit, llvm_text, may_compile
from poplite.cpp.vertex_classes import vertex_classes
from poplite.errors import (
    ElementTypeError,
    FileLoadError,
    PopliteWarning,
    VertexDefinitionError,
    did_you_mean,
    listed,
    warn,
)
from poplite.text import clipped, of_type
from poplite.vertex.vertex import Vertex


class Readable(Protocol):
    """A stream of text."""

    def read(self) -> str:
        """Return the rest of the text."""


OneSource: TypeAlias = "str | os.PathLike[str] | Readable"
"""A path, a text of several lines, or a stream of text."""

CodeletSources: TypeAlias = "OneSource | Sequence[OneSource]"

_EXTENSIONS = (".cpp", ".cxx", ".cc", ".c++", ".C", ".ii", ".hpp")

_OTHERS = {
    ".gp": "holds code for tiles",
    ".elf": "holds code for tiles",
    ".o": "holds code for tiles",
    ".s": "is assembly",
    ".S": "is assembly",
    ".c": "is C",
    ".ll": "is LLVM text",
    ".cl": "is OpenCL",
}


def added_codelets(
    known: dict[str, type[Vertex]],
    source: CodeletSources,
    flags: str,
) -> Mapping[str, type[Vertex]]:
    """Add the classes of C++ texts to those that a graph has by name, and return the new ones."""
    options = _options(flags)
    given: Any = source if isinstance(source, list | tuple) else [source]
    files = [codelet_unit(_source_of(each, options)) for each in given]
    found: dict[str, type[Vertex]] = {}
    for number, file in enumerate(files):
        beside = [other for n, other in enumerate(files) if n != number]
        may_compile(file)
        llvm_text(file)  # raises the errors of the text
        classes = vertex_classes(file, beside)
        if not classes:
            raise _no_classes(file)
        for name, cls in classes.items():
            _refuse_taken(name, cls, {**known, **found})
            found[name] = known.get(name, cls)
        for note in file.notes if set(classes) - set(known) else ():
            warn(PopliteWarning(f"C++ codelets of {file.source.shown}: {note}"))
    known.update(found)
    return found


def _refuse_taken(name: str, cls: type[Vertex], known: Mapping[str, type[Vertex]]) -> None:
    """Refuse a class with the name of another one, unless both have the same text."""
    other = known.get(name)
    if other is None or other is cls:
        return
    raise VertexDefinitionError(
        f"add_codelets: the graph already has a vertex class '{name}'",
        at=cls.location,
        found=f"the other one is defined at {other.location}",
        fix="give one of them another name, or put it in a namespace",
    )


def _no_classes(file: CodeletUnit) -> VertexDefinitionError:
    return VertexDefinitionError(
        f"add_codelets: {file.source.shown} defines no vertex class",
        at=file.source.at(1, "<module>"),
        found="templates count only where they are instantiated",
        fix="class Scale : public poplar::Vertex { ... void compute() { ... } }; for a template "
        "also: template class Scale<float>;",
    )


def _options(flags: object) -> tuple[str, ...]:
    """Return the words of the compiler's options."""
    try:
        if isinstance(flags, str):
            return tuple(shlex.split(flags))
        found = of_type(flags)
    except ValueError as error:  # a quote that is not closed
        found = str(error)
    raise ElementTypeError(
        f"add_codelets: flags {clipped(flags, 80)} are not options of a compiler",
        found=found,
        fix="graph.add_codelets('codelets.cpp', '-O3 -DN=4')",
    )


# -- sources ---------------------------------------------------------------------------------------


def _source_of(source: OneSource, flags: tuple[str, ...]) -> CodeletSource:
    read = getattr(source, "read", None)
    text = read() if callable(read) else source
    if callable(read) or (isinstance(text, str) and "\n" in text):
        if not isinstance(text, str):
            what = f"add_codelets: the stream contains {of_type(text)}, not text"
            raise ElementTypeError(what, fix="open the file in text mode, or pass its path")
        return CodeletSource(text, None, flags)
    if not isinstance(source, str | os.PathLike):
        raise ElementTypeError(
            f"add_codelets: {clipped(source)} is not the path of a file",
            found=of_type(source),
            fix="graph.add_codelets('codelets.cpp'), or pass the text of a file",
        )
    return CodeletSource(_text_of(Path(source)), os.path.abspath(source), flags)


def _text_of(path: Path) -> str:
    """Return the text of a file; refuse one that is missing, or in another language."""
    if path.suffix in _OTHERS:
        raise FileLoadError(
            f"add_codelets: '{path}' {_OTHERS[path.suffix]}, which does not run here",
            fix="pass the .cpp file from which it was made",
        )
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        folder = path.parent
        near = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        files = sorted(each for each in near if each.endswith(_EXTENSIONS))
        raise FileLoadError(
            f"add_codelets: cannot read '{path}': {error.strerror}{did_you_mean(path.name, files)}",
            found=listed(files, "files") if files else "",
            fix="pass the path of a C++ file, or its text",
        ) from None
