"""Vertex classes of which only the declaration is known, in the place of those that are missing.

A graph that was saved names its vertex classes, what they declare and digests of their code, not
the code itself.  Where a class is not there, one with the same fields takes its place: what is
connected to what can be drawn and asked, but nothing can be compiled (`poplite.vertex.compute`
refuses).

    >>> from poplite.types import FLOAT
    >>> cls = stand_in("Scale", "heat", [Field("x", "inout", FLOAT, 1)], why="is not there")
    >>> [str(field) for field in cls.fields.values()], why_missing(cls)
    (['x: InOut[Vector[FLOAT]]'], 'is not there')
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from poplite.vertex.fields import ROLES, Field, Vector
from poplite.vertex.layouts import PLAIN
from poplite.vertex.vertex import MultiVertex, Vertex

_WHY, _CODE = "@why_missing", "@saved_code"  # no identifiers, so no name hides them

_BY_ROLE: dict[str, Any] = {role: cls for cls, role in ROLES.items()}


def stand_in(
    name: str,
    module: str,
    fields: Iterable[Field],
    *,
    is_multi: bool = False,
    why: str,
    code: Any = None,
) -> type[Vertex]:
    """Return a class that declares these fields; `why` says why it takes the place of another.

    `code` is what the file records of that one's code.  Raises VertexDefinitionError where no class
    can have such fields.
    """

    def compute(self: Any) -> None:
        raise NotImplementedError(why)

    def compute_of_worker(self: Any, worker: int) -> None:
        raise NotImplementedError(why)

    members = {
        "__module__": module,
        "__qualname__": name,
        "__annotations__": {f.name: _annotation(f) for f in fields if not f.is_implicit},
        "compute": compute_of_worker if is_multi else compute,
        _WHY: why,
        _CODE: code,
    }
    return type(name, (MultiVertex if is_multi else Vertex,), members)


def why_missing(cls: type[Vertex]) -> str | None:
    """Return why a class stands in for another; None for every other class."""
    why: str | None = vars(cls).get(_WHY)
    return why


def saved_code(cls: type[Vertex]) -> Any:
    """Return what the file recorded of the code of the class that this one stands in for."""
    return vars(cls)[_CODE]


def _annotation(field: Field) -> Any:
    inner: Any = field.element
    for _ in range(field.depth):
        inner = Vector[inner]
    annotation = _BY_ROLE[field.role][inner]
    return annotation if field.layout == PLAIN else Annotated[annotation, field.layout]
