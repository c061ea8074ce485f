"""How the vertices of one compute set are written down for a driver.

Vertices of one class are listed in *runs* of n vertices.  One run is one row of int64 words,
the columns of which say where the fields of its vertices are::

    3 | number 12, +1 | x.start 0, +64 | x.length 64 | y.start 9000, table + 16 | ...

A column takes one of four forms.  Where all vertices are regular, all are affine or fixed, and a
million of them are one row; irregular numbers stay in the tables that the graph keeps them in::

    affine   value, step         of vertex k: value + k * step
    fixed    value               of all vertices of the run
    flat     value, address      value + table[k], a table of uint32
    table    address             of a table, for the driver

All positions count elements of the field's type from the start of the arena.  A list field
whose rows are evenly spaced is described by start, rows, stride and length; any other list by
the first of its pairs (start, length) in a table, starts counted from `base`.  Pairs are uint32,
or int64 where that is not enough.

Rows in an executable hold positions in tables; they become addresses when an engine is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.frozen import frozen
from poplite.vertex.fields import Field

RowForm = Literal["stride", "pairs", "wide"]
"""How the rows of a list field are found: evenly spaced, or by pairs of uint32 or of int64."""

Forms = tuple[RowForm | None, ...]
"""For each declared field: how its rows are found, None for other fields."""

Kind = Literal["affine", "fixed", "flat", "table"]

WORDS: dict[Kind, int] = {"affine": 2, "fixed": 1, "flat": 2, "table": 1}

NUMBER = -1
"""In place of the position of a field: the vertex's own."""

COUNT = 0
"""The first word of a row: vertices in the run."""


@frozen
class Column:
    """One number that describes a vertex or one of its fields.

    Attributes:
        field: position of the field in the class, or NUMBER.
        part: "number", "start", "length", "rows", "stride", "base", "pairs", "wide" or "first".
        kind: the form.
    """

    field: int
    part: str
    kind: Kind


Columns = tuple[Column, ...]


def columns(fields: Sequence[Field], forms: Forms) -> Columns:
    """Return the columns of a vertex class in affine form, in the order of the words of a row."""
    return (
        Column(NUMBER, "number", "affine"),
        *(
            Column(position, part, kind)
            for position, (field, form) in enumerate(zip(fields, forms, strict=True))
            for part, kind in _parts(field, form)
        ),
    )


def _parts(field: Field, form: RowForm | None) -> Iterator[tuple[str, Kind]]:
    if form in ("pairs", "wide"):
        yield from (("base", "fixed"), (form, "table"), ("first", "affine"), ("rows", "fixed"))
        return
    yield "start", "affine"
    if field.depth == 2:
        yield from (("rows", "fixed"), ("stride", "fixed"))
    if field.depth:
        yield "length", "fixed"


def forms_of(described: Columns, num_fields: int) -> Forms:
    """Return how the rows of each declared field are found; None for fields that are not lists."""
    found: dict[int, RowForm] = {}
    for column in described:
        match column.part:
            case "pairs" | "wide" | "stride" as form:
                found[column.field] = form
    return tuple(found.get(position) for position in range(num_fields))


def width(described: Columns) -> int:
    """Return the number of words of a row."""
    return COUNT + 1 + sum(WORDS[column.kind] for column in described)


def positions(described: Columns) -> Iterator[tuple[Column, int]]:
    """Yield each column with the position of its first word in a row."""
    at = COUNT + 1
    for column in described:
        yield column, at
        at += WORDS[column.kind]


Rows = npt.NDArray[np.int64]


def bound_rows(rows: Rows, described: Columns, tables: Mapping[int, npt.NDArray[Any]]) -> Rows:
    """Return rows with addresses in place of positions in tables, which the caller keeps alive.

    `tables` are by number of the column.
    """
    if not tables:
        return np.ascontiguousarray(rows)
    bound = rows.copy()
    for number, (column, at) in enumerate(positions(described)):
        if column.kind in ("flat", "table"):
            word = at + WORDS[column.kind] - 1
            bound[:, word] *= tables[number].strides[0]
            bound[:, word] += tables[number].ctypes.data
    return bound
