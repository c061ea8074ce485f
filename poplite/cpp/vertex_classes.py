"""Vertex classes of C++ codelets: their fields, and their meaning as LLVM text.

The text of a class has one function, `vertex.compute`, with the arguments that drivers pass; it
runs `compute` of the C++ class on an object whose members are these arguments. From there on, the
simulator treats it like the text of a Python class.
"""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from weakref import WeakValueDictionary

from poplite.cpp.codelets import Codelet, CodeletUnit, Refusal
from poplite.cpp.llvm_text import NAME, llvm_text, text_identity
from poplite.cpp.native_vertices import RUN, one_vertex, with_entry
from poplite.errors import VertexDefinitionError
from poplite.source import SourceLocation
from poplite.vertex.compute.data_flow import DataFlow, Loops
from poplite.vertex.compute.identity import ClassCode, FunctionCode, digest
from poplite.vertex.compute.interpret import Turns
from poplite.vertex.compute.meaning import Form, Meaning, set_meaning
from poplite.vertex.compute.typed_facts import Checked
from poplite.vertex.from_source import class_of_fields, refuse_vertices
from poplite.vertex.vertex import Vertex


class UnknownFlow(DataFlow):
    """The data flow of a class whose text is not analysed: everything may depend on data."""

    def __init__(self, *, may_not_end: bool) -> None:
        self.may_not_end = may_not_end

    varies = may_depend_on_data = True

    @cached_property
    def loops(self) -> Loops:
        """The loops, which depend on data and may not end, for all that is known."""
        return Loops("perhaps" if self.may_not_end else "always", 1)

    @cached_property
    def indices(self) -> Mapping[str, frozenset[int]]:
        """Nothing: no index is known to be a constant."""
        return {}

    def passes_on(self, field: str) -> bool:
        """Return True: any field may get an element of another field."""
        return True


class CppMeaning(Meaning):
    """The meaning of a C++ `compute`.

    Attributes:
        codelet: what is known of its text.
        file: the text of the class.
        beside: texts that were given together with it, whose functions it may call.
    """

    raises = shows = writes_outputs_only = False
    may_lack_price = indices_follow_shapes = True
    kernels: frozenset[str] = frozenset()
    conditions: list[ast.expr] | None = None

    def __init__(
        self,
        vertex: type[Vertex],
        codelet: Codelet,
        file: CodeletUnit,
        beside: Sequence[CodeletUnit],
    ) -> None:
        super().__init__()
        self._vertex, self.codelet, self.file, self.beside = vertex, codelet, file, beside

    def is_current(self) -> bool:
        """Return True: its text does not change."""
        return True

    @property
    def returns(self) -> bool:
        """Whether `compute` returns a truth value."""
        return self.codelet.returns

    @cached_property
    def flow(self) -> UnknownFlow:
        """The data flow, of which only whether all loops are counted is known."""
        return UnknownFlow(may_not_end=self.codelet.may_not_end)

    @cached_property
    def code(self) -> ClassCode:
        """Its record, with the digest of its file."""
        fields = tuple(str(field) for field in self._vertex.fields.values())
        text = digest([each.digest for each in (self.file, *self.beside)])
        functions = (FunctionCode(self.codelet.name, text, {}),)
        return ClassCode(self._vertex._arguments, fields, functions)

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """The key of its compiled code, which also contains the paths of its files."""
        texts = [text_identity(each) for each in (self.file, *self.beside)]
        return "C++", self.code, tuple(texts)

    @cached_property
    def operations(self) -> int:
        """The number of instructions of its text, with all that it calls."""
        from poplite.jit.native_code import instructions

        return instructions(self._text, RUN)

    def interpreted(self, traps: int = 0) -> Form:
        """Return a function that runs one vertex, with checked indices."""
        return self.remembered("one vertex", lambda: one_vertex(self._vertex, self))

    def bounded(self) -> tuple[Form, Turns]:
        """Return a function that runs one vertex, and counts the iterations of its loops."""
        turns = Turns()
        return one_vertex(self._vertex, self, turns), turns

    def lowered(self, lower: Callable[[Checked], str]) -> str:
        """Return the text of the class, with the function that drivers call."""
        return with_entry(self._vertex, self._text)

    def place(self, file: int, line: int) -> SourceLocation | None:
        """Return the line of a fault, given the address of the name of its file."""
        path = ctypes.string_at(file).decode(errors="replace") if file else NAME
        return SourceLocation(self.file.source.shown if path == NAME else path, line, "compute")

    @cached_property
    def _text(self) -> str:
        from poplite.jit.native_code import narrowed

        number = self.file.codelets.index(self.codelet)
        others = [llvm_text(each) for each in self.beside]
        return narrowed(llvm_text(self.file), f"vertex.run.{number}", RUN, others)


_known: WeakValueDictionary[tuple[object, ...], type[Vertex]] = WeakValueDictionary()
"""The classes made so far, by name and texts, so that equal texts have the same class."""


def vertex_classes(file: CodeletUnit, beside: Sequence[CodeletUnit]) -> dict[str, type[Vertex]]:
    """Return the vertex classes of a file by name; those that cannot be used are included."""
    found = {}
    for codelet in file.codelets:
        key = codelet.name, file.source, file.digest, *(each.digest for each in beside)
        cls = _known.get(key)
        if cls is None:
            cls = _known[key] = _vertex_class(codelet, file, beside)
        found[codelet.name] = cls
    return found


def _refused_beside(codelet: Codelet, beside: Sequence[CodeletUnit]) -> Refusal | None:
    """Return why a class cannot be used because of the texts that are given with its own."""
    for other in beside:
        if set(codelet.needs) & set(other.unusable):
            why = f"it calls a function of {other.source.shown} that only a tile can run"
            return Refusal(why, codelet.at)
    for usr in sorted(set(codelet.needs).difference(*(each.defines for each in beside))):
        name = "::".join(re.findall(r"@(?:N|S|F)@(\w+)", usr))
        why = f"it calls {name}, which no text that was given with it defines"
        return Refusal(why, codelet.at)
    return None


def _vertex_class(
    codelet: Codelet, file: CodeletUnit, beside: Sequence[CodeletUnit]
) -> type[Vertex]:
    location = file.source.at(codelet.at, codelet.name)
    made = class_of_fields(
        codelet.name,
        f"C++ {file.source.shown}",
        [each.declared() for each in codelet.fields],
        is_multi=codelet.is_multi,
        members={"constraints": codelet.constraints},
        of_graph=True,
    )
    made.location = location
    refused = codelet.refused or _refused_beside(codelet, beside)
    if refused is not None:
        refuse_vertices(
            made,
            VertexDefinitionError(
                f"vertex class '{codelet.name}' cannot run here: {refused.why}",
                at=file.source.at(refused.at, codelet.name),
                fix="use another class of the file, or write the function in plain C++",
            ),
        )
    set_meaning(made, CppMeaning(made, codelet, file, beside))
    return made
