"""How the vertices of one compute set are written down for a driver.

Vertices of one class are listed in *runs*: n vertices whose fields start at equal distances
and have equal lengths.  One run is one row of int64 words::

    n | number, step | per field: its columns ...
    3 |   12     1   | x.start 0, +64   x.length 64 | y.start 9000, +1 | ...

An *affine* column takes two words (value of the first vertex, step from one vertex to the
next), a *fixed* column one.  All positions count elements of the field's type from the
start of the arena.  A list field whose rows are evenly spaced is described by start, rows,
stride and length; any other list by the position of its table of (start, length) pairs.  The
tables lie behind the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from poplite.vertex import Field

RowForm = Literal["stride", "table"]
Forms = tuple[RowForm | None, ...]
"""For each declared field: how its rows are found, None for other fields."""

PREFIX = 3
"""Words before the first column: vertices in the run, number of the first, step."""


@dataclass(frozen=True, slots=True)
class Column:
    """One number that describes a field.

    Attributes:
        field: position of the field in the class.
        part: "start", "length", "rows", "stride" or "table".
        affine: whether it may change from vertex to vertex within a run.
    """

    field: int
    part: str
    affine: bool


def columns(fields: Sequence[Field], forms: Forms) -> list[Column]:
    """Return the columns of a vertex class, in the order of the words of a row."""
    return [
        Column(number, part, part in ("start", "table"))
        for number, (field, form) in enumerate(zip(fields, forms, strict=True))
        for part in _parts(field, form)
    ]


def _parts(field: Field, form: RowForm | None) -> Iterator[str]:
    if field.depth == 2:
        yield from ("table", "rows") if form == "table" else ("start", "rows", "stride", "length")
    else:
        yield from ("start",) if field.depth == 0 else ("start", "length")


def width(described: Sequence[Column]) -> int:
    """Return the number of words of a row."""
    return PREFIX + sum(2 if column.affine else 1 for column in described)


def positions(described: Sequence[Column]) -> Iterator[tuple[Column, int]]:
    """Yield each column with the position of its first word in a row."""
    at = PREFIX
    for column in described:
        yield column, at
        at += 2 if column.affine else 1
