"""Vertices that read rows: which field, and which number says how far from each other they lie.

    x        0 1 2 . . 5 6 7 . . 10 11 12        stride 5, 3 columns

Rows that are scattered over memory are copied side by side, for a vertex to read them.  Where it
declares its rows, they are read where they lie, with another stride.
"""

from __future__ import annotations

from typing import NamedTuple


class StridedRows(NamedTuple):
    """What `compute` reads of a field: `field[r * stride + i]`, `i` below the number of columns.

    It uses stride and length of the field for nothing else than to find rows and to count them.

    Attributes:
        field: an Input vector.
        stride: the State number that says how many elements lie from row to row.
        columns: the vector that has as many elements as there are columns.
        offset: a State number that is not 0 where the first row is not complete; None where it
            always is.
    """

    field: str
    stride: str
    columns: str
    offset: str | None = None
