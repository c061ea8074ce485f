"""Races: vertices of one compute set that touch the same element, one of them writing.

Nothing orders the vertices of a compute set, so what one writes no other may read or
write.  One vertex may read what it writes itself::

    heat, one buffer   vertex 0  reads [0, 5)   writes [0, 4)
                       vertex 1  reads [3, 8)   writes [4, 8)     elements 3 and 4 race

The check is on what is connected, not on what `compute` does.  Written runs are sorted and
compared with the one before that reaches furthest; once they are known to be disjoint, the
written runs that a read run meets lie next to each other, found by two binary searches:
O(n log n) in the number of runs, no pair is ever listed that does not race.

Source: Poplar user guide, "Compute sets"; SDK error texts for the words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.compile.edges import EdgeTable
from poplite.compute_set import ComputeSet, VertexInstance
from poplite.graph import Graph
from poplite.intervals import Int64
from poplite.source import SourceLocation
from poplite.tensor_text import elements
from poplite.vertex import Vertex


class Race(NamedTuple):
    """Two edges of different vertices that share elements, the first one writing.

    Attributes:
        writer: the vertex that writes.
        writer_field: its field, with the row for a list.
        other: the vertex that reads or writes too.
        other_field: its field.
        verb: "read" or "written".
        begin: address of the first element shared by the first two runs that meet.
        end: one past the last one.
    """

    writer: VertexInstance
    writer_field: str
    other: VertexInstance
    other_field: str
    verb: str
    begin: int
    end: int

    @property
    def at(self) -> SourceLocation:
        """The user's line that added the writer."""
        return self.writer.location

    def describe(self, graph: Graph) -> str:
        """Return one line that names the elements, both vertices and both source lines."""
        return (
            f"{elements(graph, self.begin, self.end)}: "
            f"written by {self.writer}, field '{self.writer_field}' ({self.writer.location}); "
            f"{self.verb} by {self.other}, field '{self.other_field}' ({self.other.location})"
        )


class _Runs(NamedTuple):
    """Runs of addresses with the vertex and the edge behind each; never empty runs."""

    vertex: Int64
    edge: Int64
    begin: Int64
    end: Int64

    def take(self, chosen: Int64 | npt.NDArray[np.bool_]) -> _Runs:
        return _Runs(*(column[chosen] for column in self))


def races(compute_set: ComputeSet, table: EdgeTable) -> list[Race]:
    """Return the races of a compute set: writes that meet, or else reads that meet writes.

    Args:
        compute_set: any compute set whose edges are connected.
        table: its edges.

    Returns:
        Empty when there is none. Otherwise at least one race for each edge that races; an
        edge that meets several others is not listed with all of them.

    >>> import poplite as pl
    >>> from poplite.compile.edges import edge_table
    >>> class Zero(pl.Vertex):
    ...     x: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 0.0
    >>> graph = pl.Graph()
    >>> x, cs = graph.add_variable(pl.FLOAT, (), "x"), graph.add_compute_set("zero")
    >>> for tile in range(2):
    ...     vertex = graph.add_vertex(cs, Zero, tile=tile, x=x)
    >>> [(race.writer.tile, race.other.tile) for race in races(cs, edge_table(cs))]
    [(0, 1)]
    """
    written, read = _written_and_read(compute_set, table)
    first, second = _double_writes(written)
    if len(first):
        return _described(compute_set, table, written.take(first), written.take(second), "written")
    first, second = _foreign_reads(written, read)
    return _described(compute_set, table, written.take(first), read.take(second), "read")


def _written_and_read(compute_set: ComputeSet, table: EdgeTable) -> tuple[_Runs, _Runs]:
    """Return written runs, sorted, and the runs of edges that only read."""
    ids: dict[type[Vertex], int] = {}
    kinds = [ids.setdefault(v.vertex_class, len(ids)) for v in compute_set.vertices]
    width = max((len(cls.fields) for cls in ids), default=0)
    writes = np.zeros((len(ids), width), np.bool_)
    for cls, number in ids.items():
        for position, field in enumerate(cls.fields.values()):
            writes[number, position] = field.writes
    edge = np.repeat(np.arange(len(table)), np.diff(table.ptr))
    runs = _Runs(table.vertex[edge], edge, table.begin, table.begin + table.count)
    is_written = writes[np.array(kinds, np.int64)[runs.vertex], table.field[edge]]
    written = runs.take(is_written)
    return written.take(np.argsort(written.begin, kind="stable")), runs.take(~is_written)


def _double_writes(written: _Runs) -> tuple[Int64, Int64]:
    """Return pairs of written runs of different vertices that overlap."""
    if not len(written.begin):
        return _none()
    furthest = np.maximum.accumulate(written.end)
    new = np.concatenate([[True], written.end[1:] > furthest[:-1]])
    holder = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    second = np.flatnonzero(written.begin[1:] < furthest[:-1]) + 1
    first = holder[second - 1]
    apart = written.vertex[first] != written.vertex[second]
    return first[apart], second[apart]


def _foreign_reads(written: _Runs, read: _Runs) -> tuple[Int64, Int64]:
    """Return, for each read run that meets another vertex's write, the first such write.

    The written runs are sorted and disjoint.
    """
    if not len(written.begin):
        return _none()
    low = np.searchsorted(written.end, read.begin, side="right")
    high = np.searchsorted(written.begin, read.end, side="left")
    reader = np.flatnonzero(low < high)
    low, high = low[reader], high[reader]
    changes = np.flatnonzero(np.diff(written.vertex)) + 1
    other = np.append(changes, len(written.vertex))[np.searchsorted(changes, low, side="right")]
    first = np.where(written.vertex[low] != read.vertex[reader], low, other)
    met = first < high
    return first[met], reader[met]


def _none() -> tuple[Int64, Int64]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _described(
    compute_set: ComputeSet, table: EdgeTable, writers: _Runs, others: _Runs, verb: str
) -> list[Race]:
    """Return one race for each pair of edges, in the order of the other's edge."""
    pairs = np.stack([others.edge, writers.edge], axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    vertices = compute_set.vertices
    return [
        Race(
            vertices[writers.vertex[k]],
            _field(compute_set, table, int(writers.edge[k])),
            vertices[others.vertex[k]],
            _field(compute_set, table, int(others.edge[k])),
            verb,
            int(max(writers.begin[k], others.begin[k])),
            int(min(writers.end[k], others.end[k])),
        )
        for k in first
    ]


def _field(compute_set: ComputeSet, table: EdgeTable, edge: int) -> str:
    fields = compute_set.vertices[table.vertex[edge]].vertex_class.fields
    field = list(fields.values())[table.field[edge]]
    return f"{field.name}[{table.row[edge]}]" if field.depth == 2 else field.name
