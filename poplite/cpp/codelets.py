"""What is known of the C++ codelets of a file, as data.

A file is compiled as one unit. Its text, the files that it includes, the flags and the compiler
determine everything here.
"""

from __future__ import annotations

from typing import Any

from poplite.frozen import frozen
from poplite.source import SourceLocation
from poplite.types import ElementType
from poplite.vertex.compute.identity import digest
from poplite.vertex.fields import Field, Layout, Role, VectorLayout


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

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.path or "<C++ text>"

    def at(self, line: int, function: str) -> SourceLocation:
        """Return a place in it."""
        return SourceLocation(self.shown, line, function)


@frozen
class Refusal:
    """Why no vertex of a class can be added, and the line of the text that is the reason."""

    why: str
    line: int


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
        layout = Layout(VectorLayout[self.layout], self.min_align, self.interleaved)
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
        line: its line.
        constraints: its memory constraints.
        refused: why it cannot be used; None if it can.
        may_not_end: whether it has a loop that might never end.
    """

    name: str
    spelled: str
    is_multi: bool
    fields: tuple[CodeletField, ...]
    returns: bool
    line: int
    constraints: tuple[str, ...]
    refused: Refusal | None
    may_not_end: bool


@frozen
class IncludedFile:
    """A file that a text includes, with the digest of its content."""

    path: str
    digest: str


@frozen
class CodeletUnit:
    """The codelets of a text.

    Attributes:
        trapped: the extents, in bytes of the text, of the bodies of functions that cannot run here.
        includes: the files of the user that it includes.
        notes: what a user should know of the text.
    """

    source: CodeletSource
    codelets: tuple[Codelet, ...]
    trapped: tuple[tuple[int, int], ...]
    includes: tuple[IncludedFile, ...]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A digest of all the text that determines the meaning of its classes."""
        included = [each.digest for each in self.includes]
        return digest(self.source.text, self.source.flags, included)
