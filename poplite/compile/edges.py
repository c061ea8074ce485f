"""All edges of a compute set in one table: who touches which elements.

An edge is one (vertex, field, row): a scalar or vector field has one, a list field one for
each of its rows.  The checks and the lowering both start from this table, which holds every
edge as its *runs*, stretches of consecutive element addresses::

    edge    vertex field row length    runs (begin, count)
    0       0      x     0   4         (128, 4)
    1       0      x     1   4         (160, 2) (170, 2)      not contiguous: a gather
    2       0      y     0   1         (512, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.tensor import Tensor
from poplite.view import Storage, View, runs

if TYPE_CHECKING:
    from poplite.graph import ComputeSet

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """The edges of a compute set: by vertex, then field as declared, then row.

    Attributes:
        vertex: int64[edges], position in the compute set.
        field: int64[edges], position in the vertex class's fields.
        row: int64[edges], row of a list field, else 0.
        length: int64[edges], elements.
        ptr: int64[edges + 1]; the runs of edge e are `ptr[e]` to `ptr[e + 1]`.
        begin: int64[runs], element address of the first element.
        count: int64[runs], elements.
    """

    vertex: Integers
    field: Integers
    row: Integers
    length: Integers
    ptr: Integers
    begin: Integers
    count: Integers

    def __len__(self) -> int:
        return len(self.vertex)


class _Collector:
    def __init__(self) -> None:
        self.vertex: list[int] = []
        self.field: list[int] = []
        self.row: list[int] = []
        self.length: list[int] = []
        self.num_runs: list[int] = []
        self.begin: list[int] = []
        self.count: list[int] = []

    def add(self, vertex: int, field: int, row: int, view: View) -> None:
        """Add one edge."""
        self.vertex.append(vertex)
        self.field.append(field)
        self.row.append(row)
        size = view.num_elements
        self.length.append(size)
        stride = view.dims[0] if len(view.shape) == 1 else 1 if not view.shape else None
        if isinstance(view.space, Storage) and size and (size == 1 or stride == 1):
            self.num_runs.append(1)
            self.begin.append(view.space.base + view.off)
            self.count.append(size)
            return
        begin, count = runs(view)
        self.num_runs.append(len(begin))
        self.begin.extend(begin.tolist())
        self.count.extend(count.tolist())

    def add_rows(self, vertex: int, field: int, view: View) -> None:
        """Add the rows of a 2-D view as edges."""
        rows, size = view.shape
        step, stride = view.dims or (None, None)
        even = isinstance(step, int) and (stride == 1 or size == 1)
        if not (isinstance(view.space, Storage) and even and rows and size):
            for row in range(rows):
                self.add(vertex, field, row, view.index(row))
            return
        assert isinstance(step, int)
        first = view.space.base + view.off
        self.vertex.extend([vertex] * rows)
        self.field.extend([field] * rows)
        self.row.extend(range(rows))
        self.length.extend([size] * rows)
        self.num_runs.extend([1] * rows)
        self.begin.extend(first + row * step for row in range(rows))
        self.count.extend([size] * rows)

    def table(self) -> EdgeTable:
        """Return what was added."""
        ptr = np.zeros(len(self.vertex) + 1, np.int64)
        np.cumsum(self.num_runs, out=ptr[1:])
        return EdgeTable(
            vertex=np.array(self.vertex, np.int64),
            field=np.array(self.field, np.int64),
            row=np.array(self.row, np.int64),
            length=np.array(self.length, np.int64),
            ptr=ptr,
            begin=np.array(self.begin, np.int64),
            count=np.array(self.count, np.int64),
        )


def edge_table(compute_set: ComputeSet) -> EdgeTable:
    """Collect the edges of a compute set; fields that are not connected have none.

    Args:
        compute_set: any compute set; zero vertices give an empty table.
    """
    collected = _Collector()
    for number, vertex in enumerate(compute_set.vertices):
        for position, field in enumerate(vertex.vertex_class.fields.values()):
            connected = vertex.connections.get(field.name)
            if connected is None:
                continue
            if field.depth < 2:
                assert isinstance(connected, Tensor)
                collected.add(number, position, 0, connected.view)
            else:
                _add_list(collected, number, position, connected)
    return collected.table()


def _add_list(
    collected: _Collector, vertex: int, field: int, connected: Tensor | Sequence[Tensor]
) -> None:
    if isinstance(connected, Tensor):
        collected.add_rows(vertex, field, connected.view)
        return
    for row, tensor in enumerate(connected):
        collected.add(vertex, field, row, tensor.view)
