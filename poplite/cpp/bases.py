"""The bases of classes, also where they depend on the arguments of a template.

    template <class T> struct V : Base<T> {...};   libclang calls the base of V<float> Base<T>

Which class that is, libclang says of a probe: a member of the same type in a template with the same
parameters, which is instantiated with the same arguments. The text is parsed again with its probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from poplite.cpp.field_types import PARAMETERS, class_name, pattern_of

if TYPE_CHECKING:
    from clang.cindex import Cursor

CLASSES = "CLASS_DECL", "STRUCT_DECL"

_PROBE = re.compile(r"poplite_base_(\d+)")
_ACCESS = re.compile(r"^(?:\s*(?:public|protected|private|virtual)\b)+")


class Bases:
    """The bases of classes, by the probes that exist so far.

    Args:
        text_of: gives the text from the begin of one cursor to the end of another.
    """

    def __init__(self, text_of: Callable[[Cursor, Cursor], str]) -> None:
        self._text_of = text_of
        self._numbers: dict[tuple[str, int], int] = {}
        self._found: dict[int, Cursor] = {}
        self.probes = ""

    def look(self, cursor: Cursor) -> None:
        """Remember what a probe says, if the class is one."""
        if match := _PROBE.fullmatch(cursor.spelling):
            for field in cursor.type.get_fields():
                self._found[int(match[1])] = field.type.get_canonical().get_declaration()

    def of(self, cursor: Cursor) -> Iterator[Cursor]:
        """Yield the bases of a class that are known; ask by probes for the others."""
        specifiers = (
            each
            for each in pattern_of(cursor).get_children()
            if each.kind.name == "CXX_BASE_SPECIFIER"
        )
        for position, each in enumerate(specifiers):
            base = each.type.get_canonical().get_declaration()
            if base.kind.name in CLASSES:
                yield base
                continue
            number = self._numbers.get((class_name(cursor), position))
            if number is None:
                self._ask(cursor, each, position)
            elif number in self._found:
                yield self._found[number]

    def _ask(self, cursor: Cursor, specifier: Cursor, position: int) -> None:
        """Add a probe for one base of a class."""
        name, pattern = class_name(cursor), pattern_of(cursor)
        number = self._numbers[name, position] = len(self._numbers)
        parameters = [each for each in pattern.get_children() if each.kind.name in PARAMETERS]
        if not parameters:
            return
        taken = self._text_of(parameters[0], parameters[-1])
        base = _ACCESS.sub("", self._text_of(specifier, specifier))
        given = name[name.index("<") :]
        rooms = _namespaces(pattern)
        probe = f"template <{taken}> struct poplite_base_{number} {{ {base} poplite_member; }};"
        probe += f" template struct poplite_base_{number}{given};"
        opened = "".join(f"namespace {room} {{ " for room in rooms)
        self.probes += f"\n{opened}{probe}{' }' * len(rooms)}"


def _namespaces(cursor: Cursor) -> list[str]:
    """Return the namespaces around a class; one without a name is ''."""
    found = []
    room = cursor.semantic_parent
    while room is not None and room.kind.name == "NAMESPACE":
        found.append("" if "(anonymous" in room.spelling else room.spelling)
        room = room.semantic_parent
    return found[::-1]
