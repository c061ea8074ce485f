"""What is known of the C++ codelets of a file, as data.

A file is compiled as one unit. Its text, the files that it includes, the flags and the compiler
determine everything here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from poplite.frozen import frozen
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.vertex.compute.identity import digest
from poplite.vertex.fields import Field, Layout, Role, VectorLayout, VectorListLayout

HEADERS = Path(__file__).with_name("include")
"""The folder of Poplar's headers."""


@frozen
class CodeletSource:
    """C++ text.

    Attributes:
        text: the text.
        path: its file; None for text that is not in a file.
        flags: options of the compiler, such as `-I` and `-D`.
    """

    text: str
    path: str | None
    flags: tuple[str, ...] = ()

    def meaning(self) -> list[str]:
        """Return the flags of a compiler that determine what the text means."""
        found = ["-std=c++17", "-D__POPC__", *self.flags]
        # Quoted includes are sought beside the file, although a copy of it is compiled.
        return [*found, "-iquote", str(Path(self.path).parent)] if self.path else found

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.path or "<C++ text>"

    def at(self, line: int | CppLine, function: str) -> SourceLocation:
        """Return a place in it, or in a file that it includes."""
        if isinstance(line, int):
            return SourceLocation(self.shown, line, function)
        return SourceLocation(line.file or self.shown, line.line, function)


@frozen
class CppLine:
    """A line of C++; `file` is the path of an included file, or "" for the text itself."""

    file: str
    line: int


@frozen
class Refusal:
    """Why no vertex of a class can be added, and the line of the text that is the reason."""

    why: str
    at: CppLine


@frozen
class CodeletField:
    """A field of a vertex class, as `Field`; the layout by its name."""

    name: str
    role: Role
    element: type[ElementType[Any]]
    depth: int
    layout: str
    min_align: int
    interleaved: bool

    def declared(self) -> Field:
        """Return it as a field of a Python class."""
        kinds = VectorLayout if self.layout in VectorLayout.__members__ else VectorListLayout
        layout = Layout(kinds[self.layout], self.min_align, self.interleaved)
        return Field(self.name, self.role, self.element, self.depth, layout=layout)


@frozen
class Codelet:
    """A vertex class of a file.

    Attributes:
        name: its name in C++, with arguments of templates, without blanks: "ns::Blur<half>".
        spelled: its name as C++ code.
        is_multi: whether it is a `MultiVertex`.
        fields: its fields, those of bases first.
        returns: whether `compute` returns a truth value.
        at: its line.
        constraints: its memory constraints.
        refused: why it cannot be used; None if it can.
        may_not_end: whether it has a loop that might never end.
        needs: functions that it calls, which the text only declares, by clang's names (USR).
    """

    name: str
    spelled: str
    is_multi: bool
    fields: tuple[CodeletField, ...]
    returns: bool
    at: CppLine
    constraints: tuple[str, ...]
    refused: Refusal | None
    may_not_end: bool
    needs: tuple[str, ...]


@frozen
class IncludedFile:
    """A file that a text includes, with the digest of its content."""

    path: str
    digest: str


@frozen
class ReplacedFile:
    """A text that is compiled in place of an included file."""

    path: str
    text: str


@frozen
class CodeletUnit:
    """The codelets of a text.

    Attributes:
        trapped: the extents, in bytes of the text, of the bodies of functions that cannot run here.
        defines: all functions of the text and of its included files, by clang's names (USR).
        unusable: such functions, and those that call them, by clang's names (USR).
        replaced: included files with such functions.
        includes: the files of the user that it includes.
        notes: what a user should know of the text.
    """

    source: CodeletSource
    codelets: tuple[Codelet, ...]
    trapped: tuple[tuple[int, int], ...]
    defines: tuple[str, ...]
    unusable: tuple[str, ...]
    replaced: tuple[ReplacedFile, ...]
    includes: tuple[IncludedFile, ...]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A digest of all the text that determines the meaning of its classes."""
        included = [each.digest for each in self.includes]
        return digest(self.source.text, self.source.flags, included)
