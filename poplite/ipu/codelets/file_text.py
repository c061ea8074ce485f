"""Codelets of vertex classes as one C++ file that needs nothing but Poplar's headers.

#include <poplar/Vertex.hpp>        Poplar's types
namespace pl { ... }                the arithmetic; exp and the others, where they are called
class Axpy : public poplar::Vertex  a class for each vertex class
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from poplite.ipu.codelets.class_text import class_text
from poplite.ipu.codelets.mathematics import HELPERS, math_function
from poplite.ipu.codelets.spelling import identifier, unused
from poplite.vertex.compute.typing.kinds import Kind
from poplite.vertex.vertex import Vertex

_HEAD = """\
// Made by poplite: the codelets of vertex classes written in Python.
// Compile without contraction, with -ffp-contract=off.

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
"""


class CodeletFile(NamedTuple):
    """A C++ file, and the name of each vertex class in it."""

    text: str
    names: Mapping[type[Vertex], str]


def codelet_file(classes: Iterable[type[Vertex]], *, stops_outside: bool = False) -> CodeletFile:
    """Return the codelets of vertex classes as a file.

    With `stops_outside`, an index outside of a field stops the vertex; bodies that classes give in
    C++ are taken as they are.

    Raises `VertexCompileError` for what a codelet cannot have.
    """
    names: dict[type[Vertex], str] = {}
    texts: list[str] = []
    mathematics: set[tuple[str, Kind]] = set()
    for cls in classes:
        if cls in names:
            continue
        plain = (
            cls.__qualname__.rpartition(".")[2]
            .replace("[", "_")
            .replace(", ", "_")
            .replace("]", "")
        )
        names[cls] = unused(identifier(plain), names.values())
        texts.append(class_text(cls, names[cls], mathematics, stops_outside=stops_outside))
    parts = [_HEAD, shipped("arithmetic.hpp")]
    if any("pl::Lanes<" in text or "pl::load<" in text for text in texts):
        parts.append(shipped("lanes.hpp"))
    if mathematics:
        functions = [math_function(name, kind) for name, kind in sorted(mathematics)]
        parts += [
            HELPERS,
            "\n".join(["namespace pl {", "", *_apart(functions), "} // namespace pl\n"]),
        ]
    return CodeletFile("\n".join([*parts, *(f"{text}\n" for text in texts)]), names)


@cache
def shipped(name: str) -> str:
    """Return a text that comes with the package."""
    return files("poplite.ipu").joinpath("text", name).read_text(encoding="utf-8")


def _apart(texts: list[str]) -> list[str]:
    return [f"{text}\n" for text in texts]
