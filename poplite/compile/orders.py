"""Strict checks for the order of the steps that an operation recorded.

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
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from poplite.arrays.intervals import Int64, Interval, intersection, union
from poplite.errors import UninitializedReadError
from poplite.graph.compute_sets.edge_table import EdgeTables
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.program import Block, Execute, Program, Sequence, WriteUndef, children_first
from poplite.view import runs, storages

MOST_ELEMENTS = 1 << 24
"""Maximum number of elements of a variable, or of a tensor connected to it, that are checked."""

Region = tuple[Int64, Int64]
"""Sorted, disjoint intervals of addresses: their starts and ends."""


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
            if isinstance(node, Sequence) and node._made and id(node) not in seen:
                seen.add(id(node))
                _check(graph, node, programs, edges_of)


def _check(
    graph: Graph, recorded: Sequence, programs: Iterable[Program], edges_of: EdgeTables
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
        if variable.num_elements <= MOST_ELEMENTS and not _has_values(variable):
            _check_variable(graph, variable, recorded, used, programs, edges_of)


def _in_order(recorded: Sequence) -> Iterator[Program]:
    """Yield the steps of a recording; those of a repeated part only the first time."""
    pending: list[Program] = [recorded]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if not isinstance(node, Sequence | Block):
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.extend(reversed(node.children))


def _step(program: Program, recorded: Sequence, edges_of: EdgeTables) -> _Step:
    step = _Step(program, [*children_first(program)])
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
    recorded: Sequence,
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


def _has_values(variable: Variable) -> bool:
    return variable.initial_value is not None or bool(variable.replica_values)


def _of_nobody_else(
    graph: Graph,
    variable: Variable,
    region: Region,
    recorded: Sequence,
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
    variable: Variable, late: Region, recorded: Sequence, reads: Program, writes: Program
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
