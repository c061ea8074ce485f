"""The words that the shape of a vertex has for each field; `cycles_method` computes their values.

Priced code depends on this module alone, which imports nothing of how shapes are found in a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from poplite.frozen import frozen

if TYPE_CHECKING:
    from poplite.vertex.fields import Field
    from poplite.vertex.vertex import Vertex

ShapeKind = Literal["nothing", "length", "rows", "value"]

WORDS: dict[ShapeKind, int] = {"nothing": 0, "length": 1, "rows": 2, "value": 1}
"""Number of words of each kind; those of "rows" are rows, and elements of all rows."""


@frozen(eq=False)
class ShapeField:
    """The words of a field in a shape.

    Attributes:
        first_word: position of its first word in a shape.
    """

    name: str
    kind: ShapeKind
    first_word: int


def fields_of(cls: type[Vertex]) -> tuple[ShapeField, ...]:
    """Return the shape field of each field of a class, which is not a template, in their order.

    >>> from poplite.types import FLOAT, INT
    >>> from poplite.vertex import Input, Output, State, Vector, Vertex
    >>> class Pick(Vertex):
    ...     rows: Input[Vector[Vector[FLOAT]]]
    ...     row: State[INT]
    ...     y: Output[FLOAT]
    ...     def compute(self) -> None:
    ...         self.y = self.rows[self.row][0]
    >>> [(field.name, field.kind, field.first_word) for field in fields_of(Pick)]
    [('rows', 'rows', 0), ('row', 'value', 2), ('y', 'nothing', 3)]
    """
    found, word = [], 0
    for field in cls.fields.values():
        kind = shape_kind(field)
        found.append(ShapeField(field.name, kind, word))
        word += WORDS[kind]
    return tuple(found)


def shape_kind(field: Field) -> ShapeKind:
    """Return the kind of words that a shape has for a field."""
    if field.depth:
        return "rows" if field.depth == 2 else "length"
    # An integer may be the number of iterations of a loop.
    is_number = field.variable is None and field.element.dtype.kind != "f"
    return "value" if is_number and not field.is_edge else "nothing"
