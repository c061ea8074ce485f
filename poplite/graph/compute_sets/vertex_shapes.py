"""The *shape* of a vertex: the few integers that its slots may depend on.

    x: Input[Vector[FLOAT]]             its length
    rows: Input[Vector[Vector[HALF]]]   number of rows, elements of all rows together
    taps: State[Vector[INT]]            its length
    first: State[INT]                   its value
    a: Input[FLOAT], k: State[FLOAT]    nothing

Vertices of equal shape take the same number of slots, unless their work depends on data. So a
million vertices are priced by pricing each of their few shapes once. The rows of a list are assumed
to be equally long, with the same total number of elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant
from poplite.errors import GraphConnectionError
from poplite.graph.compute_sets.shape_fields import fields_of, shape_kind
from poplite.graph.compute_sets.vertex_block import Vectors
from poplite.jit.build import run_kernel
from poplite.jit.kernels.intervals import distinct as distinct_kernel

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import VertexInstance
    from poplite.graph.compute_sets.edge_table import Family
    from poplite.graph.compute_sets.edges import Edges
    from poplite.graph.compute_sets.vertex_block import StateValues

Column = int | Int64
"""A word of many vertices: one number for all, or int64[vertices]."""


def shapes_of(columns: Sequence[Column], count: int) -> tuple[Int64, Series]:
    """Return the distinct shapes of vertices, and which of them each vertex has.

    The shapes are int64[shapes, words], in the order in which they first occur.

    >>> shapes, shape = shapes_of([7, np.array([5, 4, 5])], 3)
    >>> shapes.tolist(), shape.array().tolist()
    ([[7, 5], [7, 4]], [0, 1, 0])
    """
    first, index = distinct(columns, count)
    shapes = np.empty((len(first), len(columns)), np.int64)
    for word, column in enumerate(columns):
        shapes[:, word] = column if isinstance(column, int) else column[first]
    return shapes, index


def words_of(family: Family) -> list[Column]:
    """Return the words of the shapes of all vertices of a family, at least one."""
    edges = {part.field.name: part.edges for part in family.fields}
    columns: list[Column] = []
    for name, field in family.cls.fields.items():
        kind = shape_kind(field)
        if kind == "value":
            columns.append(_values(family.state[name]))
        elif kind != "nothing" and field.is_edge:
            columns += _lengths(edges[name]) if kind == "length" else _rows(edges[name])
        elif kind == "length":
            vectors = family.state[name]
            assert isinstance(vectors, Vectors)
            columns.append(_column(vectors.length))
    return columns


def words_of_vertex(vertex: VertexInstance) -> list[int]:
    """Return the words of the shape of one vertex."""
    words = []
    for field in fields_of(vertex.vertex_class):
        if field.kind == "nothing":
            continue
        data = vertex.field_info(field.name)
        if field.kind == "value":
            if data.initial_value is None:
                raise GraphConnectionError(
                    f"{vertex}: field '{field.name}' has no value",
                    found=f"declared {vertex.vertex_class.fields[field.name]}",
                    fix=f"graph.set_initial_value(vertex['{field.name}'], value)",
                )
            words.append(_word(data.initial_value))
        else:
            words.append(data.size)
        if field.kind == "rows":
            words.append(int(data.sizes.sum()))
    return words


def distinct(columns: Sequence[Column], count: int) -> tuple[Int64, Series]:
    """Distinguish vertices, at least one, by some words.

    Returns the first vertex of each kind, int64[kinds], ascending, and the kind of each vertex.
    """
    varied = [column for column in columns if not isinstance(column, int)]
    if not varied:
        return np.zeros(1, np.int64), constant(0, count)
    table = np.full(2 << count.bit_length(), -1, np.int32)
    first, index = np.empty(count, np.int64), np.empty(count, np.int64)
    together = np.concatenate(varied)
    words, mask = len(varied), len(table) - 1
    found = run_kernel(
        distinct_kernel, len(together), together, words, count, table, mask, first, index
    )
    return first[:found].copy(), compact(index)


def _word(value: float) -> int:
    """Return an integer of state as a signed 64-bit word; larger ones wrap around."""
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def _values(values: StateValues) -> Column:
    assert not isinstance(values, Vectors), "those have a length"
    if not isinstance(values, np.ndarray):
        return _word(values)
    numbers = values.astype(np.int64)
    return int(numbers[0]) if (numbers == numbers[0]).all() else numbers


def _column(series: Series) -> Column:
    only = series.only
    return series.array() if only is None else only


def _lengths(edges: Edges) -> Iterator[Column]:
    yield _column(edges.length)


def _rows(edges: Edges) -> Iterator[Column]:
    rows, length = _column(edges.rows), edges.length.only
    yield rows
    if length is not None:
        yield rows * length
        return
    elements = np.zeros(edges.length.count + 1, np.int64)
    np.cumsum(edges.length.array(), out=elements[1:])
    ends = np.cumsum(edges.rows.array())
    yield np.diff(elements[ends], prepend=0)
