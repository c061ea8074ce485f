"""When the values of variables are needed: liveness over the steps of programs.

    step 0   Execute 'scale'     x -> a          a lives in steps 0 to 1
    step 1   Execute 'add'       a, x -> b       b in steps 1 to 2
    step 2   Copy 'b' -> 'y'                     x and y always

A variable is always live if one of its values outlasts a run, or may do so: it has initial values
or a host handle, or is constant; a program may read it before writing it; a step writes it and no
later step reads it, so that only the host can; or no program uses it at all.  Every other variable
is live from where it is written to where it is last read, on whatever path control takes, and
shares its memory with variables that are live at other times.

Programs are trees, so a pass up from their leaves and a pass down find this.  For each sub-tree:

    reads     pieces (`poplite.cost.memory.accesses`) that may be read before it writes them
    ends      pieces that it certainly writes, or makes undefined
    before  = reads | (after & ~ends)            live before it, from those live after

A program in several places is treated as if control continued from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import and_, or_
from typing import TYPE_CHECKING

from poplite.cost.memory.accesses import AccessBlock, AccessedPieces, Flow, places
from poplite.frozen import frozen
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
from poplite.report.memory import Steps
from poplite.view import storages

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.graph.graph import Graph


_IDLE = Flow(0, 0)
"""The flow of a program that does nothing."""


@frozen(eq=False)
class Lifetimes:
    """When variables are needed.

    Attributes:
        steps: the steps of all programs, each with the name of its program; a step that stands in
            several places of a program comes once.
        always: why variables are always live, by number of the variable.
        live: the steps in which the other variables are live, ascending, by number of the variable.
    """

    steps: Sequence[tuple[str, Step]]
    always: Mapping[int, str]
    live: Mapping[int, Steps]


def lifetimes(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: Callable[[ComputeSet], EdgeTable],
) -> Lifetimes:
    """Find when the variables of a graph, which have tiles, are needed.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
    >>> graph = pl.Graph()
    >>> a, b, c, d = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcd")
    >>> found = lifetimes(graph, {"main": pl.Sequence(pl.Copy(a, b), pl.Copy(b, c), pl.Copy(c, d))},
    ...                   edge_table)
    >>> found.always
    {0: 'read before it is written', 3: 'a result that no step reads'}
    >>> found.live
    {1: ((0, 1),), 2: ((1, 2),)}
    """
    every = [(name, step) for name, program in programs.items() for step in distinct_steps(program)]
    nodes = {name: list(children_first(program)) for name, program in programs.items()}
    deciding = (node for below in nodes.values() for node in below if node.decided_by is not None)
    leaves = dict.fromkeys(step.program for _, step in every)
    variables = graph.variables
    pieces = AccessedPieces(variables, leaves, dict.fromkeys(deciding), edges_of)
    reached = {name: _reached(below) for name, below in nodes.items()}
    steps = [(name, step) for name, step in every if id(step.program) in reached[name]]
    lasting = _lasting(graph)
    why, live = dict(lasting), dict[int, Steps]()
    for block in pieces.blocks():
        flows: dict[int, Flow] = {}
        for node in chain.from_iterable(nodes.values()):
            if id(node) not in flows:
                flows[id(node)] = _flow(node, flows, block)
        after = {name: _after(below, flows, block) for name, below in nodes.items()}
        exposed = reduce(or_, [flows[id(program)].reads for program in programs.values()], 0)
        then = [after[name][id(step.program)] for name, step in steps]
        found = _always(block, exposed, steps, then, lasting)
        why |= found
        live |= _live(block, found, steps, then)
    always = {
        number: why.get(number, "used by no program")
        for number in range(len(variables))
        if number not in live
    }
    return Lifetimes(steps, always, live)


def _flow(node: Program, flows: Mapping[int, Flow], block: AccessBlock) -> Flow:
    """Return what a program does to the live pieces, from what its children do."""
    if not node.children:
        return block.access.get(node, _IDLE)
    if isinstance(node, Repeat) and node.count == 0:
        return _IDLE
    below = [flows[id(child)] for child in node.children]
    if isinstance(node, RepeatWhile):
        test, body = Flow(below[0].before(block.of_scalar(node)), below[0].ends), below[1]
        return Flow(test.before(body.reads), test.ends)
    if isinstance(node, If | Switch):
        reads = reduce(or_, [each.reads for each in below], block.of_scalar(node))
        return Flow(reads, reduce(and_, [each.ends for each in below] or [0]))
    reads = ends = 0
    for each in reversed(below):
        if each is not _IDLE:
            reads, ends = each.before(reads), ends | each.ends
    return Flow(reads, ends) if reads or ends else _IDLE


def _reached(nodes: Sequence[Program]) -> set[int]:
    """Return the `id`s of the sub-trees that may run; the last of `nodes` is the program itself."""
    reached = {id(nodes[-1])}
    for node in reversed(nodes):
        if id(node) in reached and not (isinstance(node, Repeat) and node.count == 0):
            reached.update([id(child) for child in node.children])
    return reached


def _after(
    nodes: Sequence[Program], flows: Mapping[int, Flow], block: AccessBlock
) -> Mapping[int, int]:
    """Return, by `id`, the pieces that are live after each sub-tree, in any of its places."""
    after = {id(nodes[-1]): 0}
    for node in reversed(nodes):
        if not node.children or id(node) not in after:
            continue
        if isinstance(node, Repeat) and node.count == 0:
            continue  # its children never run
        then = after[id(node)]
        if isinstance(node, RepeatWhile):
            test, body = (flows[id(child)] for child in node.children)
            scalar = block.of_scalar(node)
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
                flow = flows[id(child)]
                if flow is not _IDLE:
                    then = flow.before(then)
    return after


def _add(after: dict[int, int], node: Program, then: int) -> None:
    known = after.get(id(node))
    after[id(node)] = then if not known else known | then


def _lasting(graph: Graph) -> dict[int, str]:
    """Return the variables that are always live whatever programs do, and why."""
    why: dict[int, str] = {}
    handles = (*graph.host_reads.values(), *graph.host_writes.values())
    by_host = {s.id for handle in handles for s in storages(handle.tensor.view)}
    for number, variable in enumerate(graph.variables):
        if variable.constant:
            why[number] = "constant"
        elif number in by_host:
            why[number] = "has a handle of the host"
        elif variable.initial_value is not None or variable.replica_values:
            why[number] = "has initial values"
    return why


def _always(
    block: AccessBlock,
    exposed: int,
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
    lasting: Mapping[int, str],
) -> dict[int, str]:
    """Return the variables of a block that are always live, and why.

    `exposed` are pieces that a program may read before it writes them, `after` the pieces that are
    live after each step, and `lasting` the variables that are always live whatever programs do.
    """
    used, unread = exposed, set[int]()
    for (_, step), then in zip(steps, after, strict=True):
        access = block.access.get(step.program)
        if access is not None:
            used |= access.touched
            if access.writes & ~then and not access.is_undefining:
                written = block.variables_of(access.writes)
                unread.update([n for n in written if not then & block.of_variable(n)])
    read, touched = (set(block.variables_of(bits)) for bits in (exposed, used))
    why: dict[int, str] = {}
    for number in block.variables:
        if number in lasting:
            why[number] = lasting[number]
        elif number in read:
            why[number] = "read before it is written"
        elif number not in touched:
            why[number] = "used by no program"
        elif number in unread:
            why[number] = "a result that no step reads"
    return why


def _live(
    block: AccessBlock,
    always: Iterable[int],
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
) -> dict[int, Steps]:
    """Return the steps in which the variables of a block that are not `always` live are live.

    `after` are the pieces that are live after each step. The steps are ascending.
    """
    kept = set(always)
    asked = reduce(or_, [block.of_variable(n) for n in block.variables if n not in kept], 0)
    pieces: dict[int, int] = {}  # live ones of each variable
    since: dict[int, int] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    before = 0
    for count, live in enumerate([*after, 0]):
        access = block.access.get(steps[count][1].program) if count < len(steps) else None
        live = (live if access is None else live | access.touched) & asked
        if live == before:
            continue
        changed = live ^ before
        for place in places(changed & live):
            number = block.variable[place]
            pieces[number] = pieces.get(number, 0) + 1
            since.setdefault(number, count)
        for place in places(changed & before):
            number = block.variable[place]
            pieces[number] -= 1
            if not pieces[number]:
                spans.setdefault(number, []).append((since.pop(number), count - 1))
        before = live
    return {number: tuple(found) for number, found in sorted(spans.items())}
