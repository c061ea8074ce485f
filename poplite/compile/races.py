"""Races: vertices of one compute set that touch the same element, one of them writing.

Nothing orders the vertices of a compute set, so what one writes no other may read or
write.  One vertex may read what it writes itself, through an Output: the Input has a copy of its
own then.  It may not through an InOut, which has one place for what is read and written::

    heat, one buffer   vertex 0  reads [0, 5)   writes [0, 4)
                       vertex 1  reads [3, 8)   writes [4, 8)     elements 3 and 4 race

    heat, in place     vertex 0  reads [0, 5)   InOut [0, 4)       refused: elements 0 to 3

The check looks at what is connected, not at what `compute` does.
`poplite.graph.compute_sets.edge_table` finds edges that meet; here they get names and lines.

Source: Poplar user guide, "Compute sets"; SDK error texts for the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.on_access import OnAccess
from poplite.errors import SHOWN_FAULTS, GraphConnectionError, GraphCycleError, listed
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.edge_table import EdgeTable, FieldRuns
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor_text import elements
from poplite.source import SourceLocation


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
            f"{elements(graph.variables, self.begin, self.end)}: "
            f"written by {self.writer}, field '{self.writer_field}' ({self.writer.location}); "
            f"{self.verb} by {self.other}, field '{self.other_field}' ({self.other.location})"
        )


def check_races(
    graph: Graph, tables: Mapping[ComputeSet, EdgeTable], steps: Mapping[ComputeSet, object]
) -> None:
    """Refuse compute sets whose vertices race; `steps` says where each is executed."""
    found = [(cs, races(cs, table)) for cs, table in tables.items()]
    count = sum(len(some) for _, some in found)
    if not count:
        return
    compute_set, first = next((cs, some[0]) for cs, some in found if some)
    what = f"writes what {first.other} {'reads' if first.verb == 'read' else 'also writes'}"
    more = f"; {count:,} races found" if count > 1 else ""
    shown = islice(chain.from_iterable(some for _, some in found), SHOWN_FAULTS)
    lines = [race.describe(graph) for race in shown]
    raise GraphCycleError(
        f"compute set '{compute_set.name}': {first.writer} {what}{more}",
        at=first.at,
        where=str(steps[compute_set]),
        found=listed(lines + [""] * (count - len(lines)), "races"),
        fix="use two buffers: read one variable, write another, and swap them in the next "
        "compute set; InOut where only one vertex touches an element"
        if first.verb == "read"
        else "give every element one writer, or put the vertices in two compute sets",
    )


def check_in_place(
    graph: Graph, tables: Mapping[ComputeSet, EdgeTable], steps: Mapping[ComputeSet, object]
) -> None:
    """Refuse an Input that shares elements with an InOut of the same vertex.

    The compute sets do not race; `steps` says where each is executed.
    """
    found = [
        (cs, Races(cs, crossings.written, written, crossings.read, read, "read"))
        for cs, crossings in ((cs, table.crossings) for cs, table in tables.items())
        for written, read in [crossings.shared]
        if len(read)
    ]
    if not found:
        return
    count = sum(len(some) for _, some in found)
    compute_set, first = next((cs, some[0]) for cs, some in found)
    field, other = first.writer_field, first.other_field
    more = f"; {count:,} pairs of fields do" if count > 1 else ""
    shown = islice(chain.from_iterable(some for _, some in found), SHOWN_FAULTS)
    lines = [
        f"{elements(graph.variables, pair.begin, pair.end)}: in Input '{pair.other_field}' and "
        f"in InOut '{pair.writer_field}' of {pair.writer} ({pair.at})"
        for pair in shown
    ]
    raise GraphConnectionError(
        f"compute set '{compute_set.name}': Input '{other}' of {first.writer} shares elements "
        f"with its InOut '{field}'{more}",
        at=first.at,
        where=str(steps[compute_set]),
        found=listed(lines + [""] * (count - len(lines)), "pairs")
        + "\nwhat is written in place is gone for other fields, before or after they read it",
        fix=f"read them through '{field}', or make it an Output and read through '{other}', which "
        "then keeps the values from before",
    )


def races(compute_set: ComputeSet, table: EdgeTable) -> Sequence[Race]:
    """Return the races of a compute set: writes that meet, or else reads that meet writes.

    There is at least one for each edge that races; an edge that meets several others is not listed
    with all of them.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
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
    found = table.crossings
    (writers, others), other_runs, verb = found.double, found.written, "written"
    if not len(writers):
        (writers, others), other_runs, verb = found.foreign, found.read, "read"
    if not len(writers):
        return ()
    return Races(compute_set, found.written, writers, other_runs, others, verb)


class Races(OnAccess[Race]):
    """Races, described when they are asked for: there may be millions.

    Args:
        compute_set: the one whose vertices race.
        written: runs that are written.
        writers: int64[n], the writing run of each pair.
        touched: runs that are read or written too.
        others: int64[n], the other run of each pair.
        verb: "read" or "written".
    """

    def __init__(
        self,
        compute_set: ComputeSet,
        written: FieldRuns,
        writers: Int64,
        touched: FieldRuns,
        others: Int64,
        verb: str,
    ) -> None:
        self._compute_set, self._verb = compute_set, verb
        self._written, self._touched = written, touched
        pairs = np.hstack([touched.edges(others), written.edges(writers)])
        # One race for each pair of edges, in the order of the other's edge.
        self._edges, first = np.unique(pairs, axis=0, return_index=True)
        self._writers, self._others = writers[first], others[first]

    def __len__(self) -> int:
        return len(self._edges)

    def _item(self, key: int) -> Race:
        edges = self._edges[key].tolist()
        (other, other_field), (writer, field) = self._named(*edges[:3]), self._named(*edges[3:])
        both = (self._written, self._writers[key]), (self._touched, self._others[key])
        begin = max(runs.begin[run] for runs, run in both)
        end = min(runs.begin[run] + runs.size[run] for runs, run in both)
        return Race(writer, field, other, other_field, self._verb, int(begin), int(end))

    def _named(self, vertex: int, position: int, row: int) -> tuple[VertexInstance, str]:
        instance = self._compute_set.vertices[vertex]
        field = list(instance.vertex_class.fields.values())[position]
        return instance, f"{field.name}[{row}]" if field.depth == 2 else field.name
