"""The arguments of `compute` when it is priced, and where a shape contains them.

    x: Input[Vector[FLOAT]]             ptr x, its length
    rows: Input[Vector[Vector[HALF]]]   ptr rows, how many, elements from one to the next, length
        where they are uneven           ptr rows, how many, ptr to a table of start and length
    first: State[INT]                   its value
    a: Input[FLOAT], k: State[FLOAT]    ptr
    worker of a MultiVertex             its number

Shapes are those of `poplite.graph.compute_sets.vertex_shapes`.  The rows of a list are taken as
equally long, except in vertices that are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from poplite.executable.descriptor import Forms
from poplite.graph.compute_sets.shape_fields import ShapeKind, fields_of
from poplite.vertex.vertex import MultiVertex, Vertex

PRICED = "priced"
"""Name of the function that is priced."""

What = Literal["data", "length", "rows", "stride", "pairs", "wide", "value", "worker"]

POINTERS: tuple[What, ...] = ("data", "pairs", "wide")
"""Parameters that are addresses; all others are numbers."""

_OF: dict[ShapeKind, tuple[What, ...]] = {
    "nothing": ("data",),
    "length": ("data", "length"),
    "rows": ("data", "rows", "stride", "length"),
    "value": ("value",),
}


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """One argument of the function that is priced.

    Attributes:
        field: name of the field; "self" for the number of a worker.
        what: which of the field's numbers or addresses it is.
        kind: what a shape says about the field.
        word: the first word of the field in a shape.
    """

    field: str
    what: What
    kind: ShapeKind
    word: int

    @property
    def name(self) -> str:
        """Its name in the function: that of the field if the field has no other argument."""
        return self.field if self.what in ("data", "value") else f"{self.field}.{self.what}"

    @property
    def declared(self) -> str:
        """Its type and name, as LLVM writes them."""
        return f"{'ptr' if self.what in POINTERS else 'i64'} %{self.name}"


def parameters_of(cls: type[Vertex], forms: Forms = ()) -> tuple[Parameter, ...]:
    """Return the arguments of the function that is priced; rows are evenly spaced by default."""
    parameters = [
        Parameter(field.name, what, field.kind, field.first_word)
        for field, form in zip_longest(fields_of(cls), forms)
        for what in (("data", "rows", form) if form in ("pairs", "wide") else _OF[field.kind])
    ]
    if issubclass(cls, MultiVertex):
        parameters.append(Parameter("self", "worker", "nothing", 0))
    return tuple(parameters)
