"""Races: elements accessed in no order by vertices, or in a wrong order by steps.

The vertices of a compute set run in no particular order, so elements that one vertex writes must
not be read or written by any other.  A vertex may read elements that it also writes through an
Output: the Input then gets a copy.  It must not read elements that it also accesses through an
InOut, which is read and written in place::

    heat, one buffer   vertex 0  reads [0, 5)   writes [0, 4)
                       vertex 1  reads [3, 8)   writes [4, 8)     elements 3 and 4 race

    heat, in place     vertex 0  reads [0, 5)   InOut [0, 4)       rejected: elements 0 to 3

These checks consider connections, not the code of `compute`.
`poplite.graph.compute_sets.edge_table` finds overlapping edges; this module adds names and lines.

Strict checks also consider the order of the steps that an operation recorded::

    Copy(grad/partials -> grad), Execute 'grad/tiles'     rejected: the copy runs before the step
                                                          that writes grad/partials, which in a
                                                          second run still holds old values
    Execute 'grad/tiles', Copy(grad/partials -> grad)     accepted

While a program runs, an element counts as written from its first write on, so that only the first
run would detect a read of old values. This module checks the variables that an operation made, in
each recording separately: no step may read elements that only later steps, or the step itself,
write. Elements that other steps or the host also write, or that have initial values, may hold
values of an earlier run.

A loop or a branch is one step, which may read everything that it writes: an earlier iteration may
have written it. An InOut field does not count as a read, since a vertex may write it first; if it
does not, the first run finds the read of unwritten elements.

Source: Poplar user guide, "Compute sets"; SDK error texts for the wording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Interval, intersection, union
from poplite.arrays.series import OnAccess
from poplite.errors import (
    SHOWN_FAULTS,
    GraphConnectionError,
    GraphCycleError,
    UninitializedReadError,
    listed,
)
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.edge_table import EdgeTable, EdgeTables, FieldRuns
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor_text import element_text
from poplite.program import Block, Execute, Program, Sequence as InOrder, WriteUndef, children_first
from poplite.source import SourceLocation
from poplite.view import runs, storages

MOST_ELEMENTS = 1 << 24
"""Maximum number of elements of a variable, or of a tensor connected to it, that are checked."""

Region = tuple[Int64, Int64]
"""Sorted, disjoint intervals of addresses: their starts and ends."""


# -- races -----------------------------------------------------------------------------------------


class Race(NamedTuple):
    """Two edges of different vertices that share elements; the first edge is written.

    Attributes:
        writer: the vertex that writes.
        writer_field: its field, with the row for a list.
        other: the vertex that also reads or writes.
        other_field: its field.
        verb: "read" or "written".
        begin: address of the first element shared by the first two overlapping runs.
        end: one past the last shared address.
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
        """Return one line with the elements, both vertices and both source lines."""
        return (
            f"{element_text(graph.variables, self.begin, self.end)}: "
            f"written by {self.writer}, field '{self.writer_field}' ({self.writer.location}); "
            f"{self.verb} by {self.other}, field '{self.other_field}' ({self.other.location})"
        )


def check_races(
    graph: Graph, tables: Mapping[ComputeSet, EdgeTable], steps: Mapping[ComputeSet, object]
) -> None:
    """Reject compute sets whose vertices race; `steps` contains the steps that execute each."""
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
        "compute set; use InOut where only one vertex accesses an element"
        if first.verb == "read"
        else "give every element one writer, or put the vertices in two compute sets",
    )


def check_in_place(
    graph: Graph, tables: Mapping[ComputeSet, EdgeTable], steps: Mapping[ComputeSet, object]
) -> None:
    """Reject an Input that shares elements with an InOut of the same vertex.

    The compute sets do not race; `steps` contains the steps that execute each.
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
    more = f"; {count:,} such pairs of fields" if count > 1 else ""
    shown = islice(chain.from_iterable(some for _, some in found), SHOWN_FAULTS)
    lines = [
        f"{element_text(graph.variables, pair.begin, pair.end)}: in Input '{pair.other_field}' and "
        f"in InOut '{pair.writer_field}' of {pair.writer} ({pair.at})"
        for pair in shown
    ]
    raise GraphConnectionError(
        f"compute set '{compute_set.name}': Input '{other}' of {first.writer} shares elements "
        f"with its InOut '{field}'{more}",
        at=first.at,
        where=str(steps[compute_set]),
        found=listed(lines + [""] * (count - len(lines)), "pairs")
        + "\nother fields may read elements before or after they are overwritten in place",
        fix=f"read the elements through '{field}', or make it an Output and read through "
        f"'{other}', "
        "which then has the values from before",
    )


def races(compute_set: ComputeSet, table: EdgeTable) -> Sequence[Race]:
    """Return the races of a compute set: overlapping writes or, if none, reads that overlap writes.

    There is at least one race for each edge that races; an edge that overlaps several others is
    not listed with each of them.

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
    """Races, each constructed on access, since there may be millions.

    Args:
        compute_set: the compute set whose vertices race.
        written: runs that are written.
        writers: int64[n], the writing run of each pair.
        touched: the other runs, which are read or written.
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
        # One race for each pair of edges, in order of the other vertex's edge.
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


# -- orders of steps -------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Step:
    """A step of a recording: a leaf, or a loop or branch as a whole.

    Attributes:
        program: the step.
        parts: the step and the programs in it.
        reads: the numbers of the operation's variables that it reads.
        writes: the numbers of the operation's variables that it writes.
    """

    program: Program
    parts: list[Program]
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)

    @property
    def is_leaf(self) -> bool:
        """Whether it is a single program, not a loop or a branch."""
        return len(self.parts) == 1


def check_orders(graph: Graph, programs: Collection[Program], edges_of: EdgeTables) -> None:
    """Reject recordings that read elements of their own variables before they write them.

    Raises:
        UninitializedReadError: for the first such variable.
    """
    seen: set[int] = set()
    for program in programs:
        for node in children_first(program):
            if isinstance(node, InOrder) and node._made and id(node) not in seen:
                seen.add(id(node))
                _check(graph, node, programs, edges_of)


def _check(
    graph: Graph, recorded: InOrder, programs: Iterable[Program], edges_of: EdgeTables
) -> None:
    """Reject a recording that reads elements of its own variables before it writes them."""
    steps = [_step(program, recorded, edges_of) for program in _in_order(recorded)]
    last_write = {number: at for at, step in enumerate(steps) for number in step.writes}
    suspects = {
        number
        for at, step in enumerate(steps)
        for number in step.reads
        if at <= last_write.get(number, -1)
    }
    for number in sorted(suspects):
        variable = graph.space.variables[number]
        used = [step for step in steps if number in step.reads or number in step.writes]
        has_values = variable.initial_value is not None or variable.replica_values
        if variable.num_elements <= MOST_ELEMENTS and not has_values:
            _check_variable(graph, variable, recorded, used, programs, edges_of)


def _in_order(recorded: InOrder) -> Iterator[Program]:
    """Yield the steps of a recording; those of a repeated part only the first time."""
    pending: list[Program] = [recorded]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if not isinstance(node, InOrder | Block):
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.extend(reversed(node.children))


def _step(program: Program, recorded: InOrder, edges_of: EdgeTables) -> _Step:
    step = _Step(program, children_first(program))
    for part in step.parts:
        if isinstance(part, WriteUndef):
            continue
        step.reads.update(each.id for tensor in part.reads for each in storages(tensor.view))
        step.writes.update(each.id for tensor in part.writes for each in storages(tensor.view))
        if isinstance(part, Execute):
            table = edges_of(part.compute_set)
            step.reads.update(edges_of.owners(table, "input"))
            step.writes.update(edges_of.owners(table, "written"))
    step.reads.intersection_update(recorded._made)
    step.writes.intersection_update(recorded._made)
    return step


def _check_variable(
    graph: Graph,
    variable: Variable,
    recorded: InOrder,
    steps: Iterable[_Step],
    programs: Iterable[Program],
    edges_of: EdgeTables,
) -> None:
    """Reject a recording that reads elements of a variable before it writes them."""
    held = _union([])
    early: list[tuple[Region, Program]] = []
    for step in steps:
        read, wrote = (_region(step.parts, variable, edges_of, w) for w in (False, True))
        if read is None or wrote is None:
            return
        before = held if step.is_leaf else _union([held, wrote])
        unread = _without(read, before)
        if len(unread[0]):
            early.append((unread, step.program))
        for region, reader in early:
            late = intersection(*region, *wrote)
            if len(late[0]):
                late = _of_nobody_else(graph, variable, late, recorded, programs, edges_of)
            if len(late[0]):
                raise _early(variable, late, recorded, reader, step.program)
        held = _union([held, wrote])


def _region(
    parts: Iterable[Program], variable: Variable, edges_of: EdgeTables, written: bool
) -> Region | None:
    """Return the elements of a variable that programs read or write; None for too many."""
    found = []
    base, number = variable.storage.base, variable.storage.id
    for part in parts:
        if isinstance(part, WriteUndef):
            continue
        for tensor in part.writes if written else part.reads:
            if any(each.id == number for each in storages(tensor.view)):
                if tensor.num_elements > MOST_ELEMENTS:
                    return None
                begin, size = runs(tensor.view)
                found.append((begin, begin + size))
        if not isinstance(part, Execute):
            continue
        for each in edges_of(part.compute_set).fields:
            low, high = each.envelope
            counts = each.field.writes if written else not each.field.writes
            if counts and low < base + variable.num_elements and base < high:
                if each.edges.num_elements > MOST_ELEMENTS:
                    return None
                _, begin, size = each.runs
                found.append((begin, begin + size))
    end = base + variable.num_elements
    return intersection(*_union(found), np.array([base]), np.array([end]))


def _union(regions: list[Region]) -> Region:
    none = np.zeros(0, np.int64)
    begins, ends = zip((none, none), *regions, strict=True)
    return union(np.concatenate(begins), np.concatenate(ends))


def _without(region: Region, other: Region) -> Region:
    """Return the part of a region that is not in another region."""
    if not len(region[0]) or not len(other[0]):
        return region
    last = max(region[1][-1], other[1][-1])
    gaps = np.concatenate([[0], other[1]]), np.concatenate([other[0], [last]])
    some = gaps[0] < gaps[1]
    return intersection(*region, gaps[0][some], gaps[1][some])


def _of_nobody_else(
    graph: Graph,
    variable: Variable,
    region: Region,
    recorded: InOrder,
    programs: Iterable[Program],
    edges_of: EdgeTables,
) -> Region:
    """Return the elements of a region that get values only from the recording."""
    own = {id(program) for program in children_first(recorded)}
    others = [
        each for program in programs for each in children_first(program) if id(each) not in own
    ]
    written = _region(others, variable, edges_of, written=True)
    if written is None:
        return _union([])
    from_host = [runs(handle.tensor.view) for handle in graph.host_writes.values()]
    return _without(region, _union([written, *[(begin, begin + n) for begin, n in from_host]]))


def _early(
    variable: Variable, late: Region, recorded: InOrder, reads: Program, writes: Program
) -> UninitializedReadError:
    base, name = variable.storage.base, f"'{variable.name}'"
    first = Interval(int(late[0][0]) - base, int(late[1][0]) - base)
    if first != (0, variable.num_elements):
        name += f"[{first.begin}:{first.end}]"
    later = "the step itself" if writes is reads else f"{writes}, a later step,"
    return UninitializedReadError(
        f"{recorded}: {reads} reads {name} before any step writes it",
        at=recorded.location,
        found=f"{later} writes it: a second run would read what the first one left",
        fix="report it with the expression: the operation, not your program, orders these steps; "
        "ops.map for each part of the expression by itself avoids it",
    )
