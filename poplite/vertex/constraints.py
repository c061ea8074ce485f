"""Memory constraints: fields that a vertex class wants in different memories.

    constraints = ("elem(*x) != elem(*y)",)

A load and a store of different memory elements can then be issued together.  What a vertex computes
does not depend on it.

Source: Poplar user guide, "Memory constraints".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from poplite.errors import MemoryElemConstraintsError, did_you_mean
from poplite.text import clipped
from poplite.vertex.fields import Field


@dataclass(frozen=True, slots=True)
class Constraint:
    """Two fields that lie in different memories: memory elements ("elem") or regions ("region")."""

    memory: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.memory} of {self.first} != {self.memory} of {self.second}"


_CONSTRAINT = re.compile(
    r"(elem|region)\s*\(\s*(\*+)\s*(\w+)\s*\)\s*!=\s*(elem|region)\s*\(\s*(\*+)\s*(\w+)\s*\)"
)


def parsed_constraints(
    name: str, texts: object, fields: Mapping[str, Field]
) -> tuple[Constraint, ...]:
    """Check and return the memory constraints of a vertex class; `texts` is its `constraints`.

    Raises `MemoryElemConstraintsError` for text that is no constraint, or names no edge of the
    class.
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise _refused(name, f"constraints is {clipped(texts)}, not a tuple of texts")
    return tuple(_parsed(name, text, fields) for text in texts)


def _parsed(name: str, text: object, fields: Mapping[str, Field]) -> Constraint:
    match = _CONSTRAINT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise _refused(name, f"{clipped(text, 80)} is no memory constraint")
    memory, stars, first, other, stars_too, second = match.groups()
    if memory != other:
        raise _refused(name, f"{text!r} compares {memory} with {other}")
    for field, found in ((first, stars), (second, stars_too)):
        declared = fields.get(field)
        if declared is None:
            guess = did_you_mean(field, fields)
            raise _refused(name, f"{text!r} names field {field!r}, but there is none{guess}")
        if not declared.is_edge or len(found) != max(declared.depth, 1):
            needed = "an edge" if not declared.is_edge else f"{'*' * max(declared.depth, 1)}{field}"
            raise _refused(
                name, f"{text!r} says {found}{field}, where {needed} is needed", f"{declared}"
            )
    if first == second:
        raise _refused(name, f"{text!r} keeps field {first!r} apart from itself")
    return Constraint(memory, first, second)


def _refused(name: str, what: str, declared: str = "") -> MemoryElemConstraintsError:
    return MemoryElemConstraintsError(
        f"vertex class '{name}': {what}",
        found=f"declared {declared}" if declared else "",
        fix='constraints = ("elem(*x) != elem(*y)", "region(*x) != region(*y)")',
    )
