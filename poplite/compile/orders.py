"""Strict checks of the order of steps that an operation recorded.

    Copy(grad/partials -> grad), Execute 'grad/tiles'     refused: the copy runs before what makes
                                                          grad/partials, which in a second run
                                                          still holds what the first one left
    Execute 'grad/tiles', Copy(grad/partials -> grad)     right

While a program runs, a variable counts as written from its first write on, so only the first run
would show such a read. Here the variables that an operation made are looked at in each recording by
itself: no step may read one before the first step that writes it. A variable that other steps or
the host write as well, or that has initial values, may hold what a run before left there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from poplite.errors import UninitializedReadError
from poplite.graph.compute_sets.forms import EdgeTables
from poplite.graph.graph import Graph
from poplite.program import (
    Execute,
    Program,
    Sequence,
    WriteUndef,
    children_first,
    distinct_steps,
)
from poplite.view import storages


def check_orders(graph: Graph, programs: Collection[Program], edges_of: EdgeTables) -> None:
    """Refuse recordings that read a variable of their own before they write it.

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
    """Refuse one recording that reads a variable of its own before it writes it."""
    written: set[int] = set()
    early: dict[int, Program] = {}  # by variable: the step that reads what no step wrote yet
    for program in _leaves(recorded):
        writes = {each for each in _written(program, edges_of) if each in recorded._made}
        late = sorted(writes & early.keys())
        for number in late:
            if not _may_hold(graph, number, recorded, programs, edges_of):
                raise _early(graph, number, recorded, early[number], program)
        written |= writes
        for number in _touched(program, edges_of):
            if number in recorded._made and number not in written:
                early.setdefault(number, program)


def _leaves(program: Program) -> Iterator[Program]:
    """Yield the steps that move or compute something."""
    for step in distinct_steps(program):
        if not isinstance(step.program, WriteUndef):
            yield step.program


def _touched(program: Program, edges_of: EdgeTables) -> set[int]:
    """Return the numbers of the variables that a step reads or writes."""
    found = {each.id for tensor in program.reads for each in storages(tensor.view)}
    if isinstance(program, Execute):
        found.update(edges_of.owners(edges_of(program.compute_set)))
    return found


def _written(program: Program, edges_of: EdgeTables) -> set[int]:
    """Return the numbers of the variables that a step writes."""
    found = {each.id for tensor in program.writes for each in storages(tensor.view)}
    if isinstance(program, Execute):
        found.update(edges_of.owners(edges_of(program.compute_set), written=True))
    return found


def _may_hold(
    graph: Graph, number: int, recorded: Sequence, programs: Iterable[Program], edges_of: EdgeTables
) -> bool:
    """Return whether anything but a recording gives values to a variable."""
    variable = graph.space.variables[number]
    if variable.initial_value is not None or variable.replica_values:
        return True
    from_host = [handle.tensor for handle in graph.host_writes.values()]
    if any(each.id == number for tensor in from_host for each in storages(tensor.view)):
        return True
    own = {id(program) for program in _leaves(recorded)}
    others = (each for program in programs for each in _leaves(program) if id(each) not in own)
    return any(number in _written(each, edges_of) for each in others)


def _early(
    graph: Graph, number: int, recorded: Sequence, reads: Program, writes: Program
) -> UninitializedReadError:
    name = graph.space.variables[number].name
    return UninitializedReadError(
        f"{recorded}: {reads} reads '{name}' before any step writes it",
        at=recorded.location,
        found=f"{writes}, a later step, writes it: a second run would read what the first one left",
        fix="report it with the expression: the operation, not your program, orders these steps; "
        "ops.map for each part of the expression by itself avoids it",
    )
