"""Which elements edges and tensors read, as columns: a number of a series for each.

    edges.type      element type that they are read as
    edges.rows      edges of each vertex
    edges.length    elements of each edge
    edges.start     address of the first element of each edge, and
    edges.inner     where its other elements are from there; none where they follow it
    edges.first     or, where edges are in pieces: the first piece of each edge, and
    edges.begin     for each piece its first address
    edges.size      and its number of elements

A tensor is one edge. Addresses count the elements of all variables, with a gap behind each.
"""

from __future__ import annotations

from typing import Any

from poplite.arrays.series import Series, Steps, constant
from poplite.graph.compute_sets.edges import EdgeRuns, Edges
from poplite.ipu.tables.series import NONE, SeriesTable
from poplite.ipu.tables.variables import type_number
from poplite.types import ElementType
from poplite.view import Storage, View, runs

ElementClass = type[ElementType[Any]]

_COLUMNS = "type", "rows", "length", "start", "inner", "first", "begin", "size"


class EdgesTable:
    """Edges and tensors by number.

    Attributes:
        largest: most edges of one field, with their elements.
    """

    def __init__(self, series: SeriesTable) -> None:
        self._series = series
        self._rows: dict[tuple[int, ...], int] = {}
        self.largest = 0

    def add(self, edges: Edges, element: ElementClass) -> int:
        """Return the number of the edges of a field."""
        view, kind = edges.pieces, type_number(element)
        self.largest = max(self.largest, edges.length.total() + edges.length.count)
        if edges.start is not None:
            return self._starting(kind, edges.rows, edges.length, edges.start, NONE)
        if isinstance(view, View) and len(view.shape) > 1 and isinstance(view.space, Storage):
            start = view.slice(0, 1, len(view.shape) - 1)
            inner = self._series.steps(0, _digits(view, len(view.shape) - 1))
            first = Steps(view.space.base + view.off, tuple(start.flat_digits()))
            return self._starting(kind, edges.rows, edges.length, first, inner)
        return self._in_pieces(kind, edges.rows, edges.length, edges.runs())

    def tensor(self, view: View, element: ElementClass) -> int:
        """Return the number of a tensor, in the order of its elements."""
        kind = type_number(element)
        one, count = constant(1, 1), constant(view.num_elements, 1)
        self.largest = max(self.largest, view.num_elements + 1)
        if not view.num_elements:
            return self._starting(kind, one, count, constant(0, 1), NONE)
        if isinstance(view.space, Storage):
            digits = view.flat_digits()
            is_plain = len(digits) == 1 and digits[0][1] == 1
            inner = NONE if is_plain or not digits else self._series.steps(0, digits)
            start = constant(view.space.base + view.off, 1)
            return self._starting(kind, one, count, start, inner)
        begin, size = runs(view)
        return self._row(
            type=kind,
            rows=self._series.add(one),
            length=self._series.add(count),
            first=self._series.listed([0, len(begin)]),
            begin=self._series.listed(begin),
            size=self._series.listed(size),
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns of all edges."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(_COLUMNS)
        return {f"edges.{name}": column for name, column in zip(_COLUMNS, columns, strict=True)}

    def _starting(self, kind: int, rows: Series, length: Series, start: Series, inner: int) -> int:
        add = self._series.add
        return self._row(
            type=kind, rows=add(rows), length=add(length), start=add(start), inner=inner
        )

    def _in_pieces(self, kind: int, rows: Series, length: Series, pieces: EdgeRuns) -> int:
        return self._row(
            type=kind,
            rows=self._series.add(rows),
            length=self._series.add(length),
            first=self._series.listed(pieces.first),
            begin=self._series.listed(pieces.begin),
            size=self._series.listed(pieces.size),
        )

    def _row(self, **numbers: int) -> int:
        key = tuple(numbers.get(name, NONE) for name in _COLUMNS)
        return self._rows.setdefault(key, len(self._rows))


def _digits(view: View, dim: int) -> tuple[tuple[int, int], ...]:
    stride = view.dims[dim]
    return ((view.shape[dim], stride),) if isinstance(stride, int) else stride
