"""When the values of variables are needed: liveness over the steps of programs.

    step 0   Execute 'scale'     x -> a          a lives in steps 0 to 1
    step 1   Execute 'add'       a, x -> b       b in steps 1 to 2
    step 2   Copy 'b' -> 'y'                     x and y always

A variable is always live if a value of it outlasts a run, or may: it has initial values or a handle
of the host, or is constant; a program may read what it has not written; a step writes what no later
one reads, which can only be for the host; or no program uses it at all.  Any other lives from
where it is written to where it is read for the last time, however control gets there, and shares
its memory with what lives at other times.

Programs are trees, so one pass from their leaves up and one down find that.  For each sub-tree:

    reads     pieces (`poplite.cost.accesses`) that may be read before it writes them
    ends      pieces that it certainly writes, or makes undefined
    before  = reads | (after & ~ends)            what is live before it, from what is live after

A program that stands in several places is taken as if control went on from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.cost.accesses import Pieces, places
from poplite.program import (
    If,
    Loop,
    Program,
    Repeat,
    RepeatWhile,
    Step,
    Switch,
    children_first,
    distinct_steps,
)
from poplite.series import Series, compact, counting
from poplite.view import storages

if TYPE_CHECKING:
    from poplite.compile.edges import EdgeTable
    from poplite.compute_set import ComputeSet
    from poplite.graph import Graph


class _Flow(NamedTuple):
    """What a sub-tree does to what is live.

    Attributes:
        reads: pieces that may be read before it writes them.
        ends: pieces of which it certainly leaves nothing as it was.
    """

    reads: int
    ends: int

    def before(self, after: int) -> int:
        """Return what is live before it.

        Args:
            after: what is live after it.
        """
        return self.reads | (after & ~self.ends)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """When variables are needed.

    Attributes:
        steps: the steps of all programs, each with the name of its program; what stands in
            several places of a program is one.
        always: why variables are always live, by their number.
        live: the steps in which the others are, rising, by number of the variable.
    """

    steps: Sequence[tuple[str, Step]]
    always: Mapping[int, str]
    live: Mapping[int, Series]


def lifetimes(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: Callable[[ComputeSet], EdgeTable],
) -> Lifetimes:
    """Find when the variables of a graph are needed.

    Args:
        graph: the graph; its variables have tiles.
        programs: what can be run, by name.
        edges_of: returns the edges of a compute set.

    >>> import poplite as pl
    >>> from poplite.compile.edges import edge_table
    >>> graph = pl.Graph()
    >>> a, b, c, d = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcd")
    >>> found = lifetimes(graph, {"main": pl.Sequence(pl.Copy(a, b), pl.Copy(b, c), pl.Copy(c, d))},
    ...                   edge_table)
    >>> found.always
    {0: 'read before it is written', 3: 'a result that no step reads'}
    >>> {number: steps.array().tolist() for number, steps in found.live.items()}
    {1: [0, 1], 2: [1, 2]}
    """
    every = [(name, step) for name, program in programs.items() for step in distinct_steps(program)]
    pieces = Pieces(graph.variables, dict.fromkeys(step.program for _, step in every), edges_of)
    flows: dict[int, _Flow] = {}
    for program in programs.values():
        for node in children_first(program):
            if id(node) not in flows:
                flows[id(node)] = _flow(node, flows, pieces)
    after = {name: _after(program, flows, pieces) for name, program in programs.items()}
    steps = [(name, step) for name, step in every if id(step.program) in after[name]]
    exposed = reduce(or_, [flows[id(program)].reads for program in programs.values()], 0)
    used = pieces.used_by({step.program for _, step in steps})
    always = _always(graph, pieces, exposed, used | exposed)
    for name, step in steps:
        for number in _unread(step.program, after[name][id(step.program)], pieces):
            always.setdefault(number, "a result that no step reads")
    live = _Live(pieces, always)
    for name, step in steps:
        live.step(after[name][id(step.program)] | pieces.access[step.program].touched)
    return Lifetimes(steps, dict(sorted(always.items())), live.ended())


def _flow(node: Program, flows: Mapping[int, _Flow], pieces: Pieces) -> _Flow:
    """Return what a program does to what is live, from what those below it do."""
    below = [flows[id(child)] for child in node.children]
    if node in pieces.access:
        access = pieces.access[node]
        return _Flow(access.reads, access.ends)
    if isinstance(node, Repeat) and node.count == 0:
        return _Flow(0, 0)
    if isinstance(node, RepeatWhile):
        test, body = _Flow(below[0].before(pieces.of_scalar(node)), below[0].ends), below[1]
        return _Flow(test.before(body.reads), test.ends)
    if isinstance(node, If | Switch):
        reads = reduce(or_, [each.reads for each in below], pieces.of_scalar(node))
        return _Flow(reads, reduce(and_, [each.ends for each in below] or [0]))
    reads = ends = 0
    for each in reversed(below):
        reads, ends = each.before(reads), ends | each.ends
    return _Flow(reads, ends)


def _after(program: Program, flows: Mapping[int, _Flow], pieces: Pieces) -> Mapping[int, int]:
    """Return what is live after each sub-tree of a program, in any of its places."""
    after = {id(program): 0}
    for node in reversed(list(children_first(program))):
        if id(node) not in after or (isinstance(node, Repeat) and node.count == 0):
            continue  # it never runs, or what is below does not
        then = after[id(node)]
        if isinstance(node, RepeatWhile):
            test, body = (flows[id(child)] for child in node.children)
            scalar = pieces.of_scalar(node)
            again = test.before(scalar | then | body.reads)
            _add(after, node.body, again)
            _add(after, node.condition, scalar | then | body.before(again))
        elif isinstance(node, If | Switch):
            for child in node.children:
                _add(after, child, then)
        else:
            if isinstance(node, Loop) or (isinstance(node, Repeat) and node.count > 1):
                then |= flows[id(node.body)].reads
            for child in reversed(node.children):
                _add(after, child, then)
                then = flows[id(child)].before(then)
    return after


def _add(after: dict[int, int], node: Program, then: int) -> None:
    after[id(node)] = after.get(id(node), 0) | then


def _always(graph: Graph, pieces: Pieces, exposed: int, used: int) -> dict[int, str]:
    """Return the variables that are always live whatever their last step is, and why."""
    why: dict[int, str] = {}
    number_of = {variable.storage: number for number, variable in enumerate(graph.variables)}
    handles = (*graph.host_reads.values(), *graph.host_writes.values())
    by_host = {number_of[s] for handle in handles for s in storages(handle.tensor.view)}
    read, touched = set(pieces.variables_of(exposed)), set(pieces.variables_of(used))
    for number, variable in enumerate(graph.variables):
        if variable.constant:
            why[number] = "constant"
        elif number in by_host:
            why[number] = "has a handle of the host"
        elif variable.initial_value is not None or variable.replica_values:
            why[number] = "has initial values"
        elif number in read:
            why[number] = "read before it is written"
        elif number not in touched:
            why[number] = "used by no program"
    return why


def _unread(leaf: Program, after: int, pieces: Pieces) -> list[int]:
    """Return the variables that a step writes and nothing reads after it."""
    access = pieces.access[leaf]
    if access.is_undefining or not access.writes & ~after:
        return []
    written = pieces.variables_of(access.writes)
    return [number for number in written if not after & pieces.of_variable(number)]


class _Live:
    """Collects the steps in which variables are live.

    Args:
        pieces: of the variables.
        always: those that are not asked for.
    """

    def __init__(self, pieces: Pieces, always: Iterable[int]) -> None:
        self._variable = pieces.variable.tolist()
        self._asked = ~reduce(or_, map(pieces.of_variable, always), 0)
        self._before = self._count = 0
        self._pieces: dict[int, int] = {}  # live ones of each variable
        self._since: dict[int, int] = {}
        self._spans: dict[int, list[tuple[int, int]]] = {}

    def step(self, live: int) -> None:
        """Take the next step.

        Args:
            live: the pieces that it needs.
        """
        live &= self._asked
        for place in places(live & ~self._before).tolist():
            number = self._variable[place]
            self._pieces[number] = self._pieces.get(number, 0) + 1
            self._since.setdefault(number, self._count)
        for place in places(self._before & ~live).tolist():
            number = self._variable[place]
            self._pieces[number] -= 1
            if not self._pieces[number]:
                span = self._since.pop(number), self._count
                self._spans.setdefault(number, []).append(span)
        self._before, self._count = live, self._count + 1

    def ended(self) -> dict[int, Series]:
        """Return the steps of each variable, by rising number, after the last step."""
        self.step(0)
        return {number: _steps(spans) for number, spans in sorted(self._spans.items())}


def _steps(spans: Sequence[tuple[int, int]]) -> Series:
    if len(spans) == 1:
        first, stop = spans[0]
        return counting(first, stop - first)
    return compact(np.concatenate([np.arange(*span) for span in spans]))
