"""Going through a program step by step.

Steps are the leaves, numbered from 1 in the order they are written down (the body of a
Repeat once, both bodies of an If, a function in each place that calls it), so that a message
can say `step 3 of 5: Execute 'blur'`.  No recursion: a program built as
`program = Sequence(program, next)` may be as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poplite.errors import made_by
from poplite.program.base import Program
from poplite.text import fitted


@made_by("pl.program.walk(program)")
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Step:
    """One leaf of a program, in one place; or a program in which a scalar decides what runs.

    Attributes:
        number: its number, from 1; of what decides, that of the first step under it.
        total: steps of the program.
        program: the leaf, or what decides.
    """

    number: int
    total: int
    program: Program

    def __repr__(self) -> str:
        return fitted("<Step {}>", str(self))

    def __str__(self) -> str:
        first, last = self.number, self.number + self.program.num_steps - 1
        if not self.program.children:
            return f"step {first:,} of {self.total:,}: {self.program}"
        if last < first:
            return str(self.program)
        steps = f"step {first:,}" if last == first else f"steps {first:,}-{last:,}"
        return f"{steps} of {self.total:,}, which {self.program} decides on"


def walk(program: Program) -> Iterator[Step]:
    """Yield every step of a program; a shared sub-tree in each of its places.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in walk(Sequence(blur, Repeat(9, blur)))]
    ["step 1 of 2: Execute 'blur'", "step 2 of 2: Execute 'blur'"]
    """
    return _steps(program, once=False)


def distinct_steps(program: Program) -> Iterator[Step]:
    """Yield every leaf of a program once, where it stands first.

    Costs the number of distinct sub-trees, however often they are shared.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in distinct_steps(Sequence(blur, Sequence(blur)))]
    ["step 1 of 2: Execute 'blur'"]
    """
    return _steps(program, once=True)


def distinct_decisions(program: Program) -> Iterator[Step]:
    """Yield every program in which a scalar decides once, where it stands first.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, If, Program, Sequence
    >>> graph = Graph()
    >>> blur = Execute(graph.add_compute_set("blur"))
    >>> large = graph.add_variable("bool", (), "large")
    >>> list(distinct_decisions(Sequence(blur, If(large, blur, Program()))))
    [<Step step 2 of 2, which If 'large' decides on>]
    """
    for number, node in _nodes(program, once=True):
        if node.decided_by is not None:
            yield Step(number, program.num_steps, node)


def _steps(program: Program, once: bool) -> Iterator[Step]:
    for number, node in _nodes(program, once):
        if node.num_steps and not node.children:
            yield Step(number, program.num_steps, node)


def children_first(program: Program) -> Iterator[Program]:
    """Yield each distinct sub-tree once, after those below it.

    >>> from poplite.program import Repeat, Sequence
    >>> list(children_first(Sequence(part := Repeat(2, Program()), part)))
    [<Program empty>, <Repeat 2 times, 0 steps>, <Sequence 0 steps>]
    """
    seen: set[int] = set()
    pending = [(program, False)]
    while pending:
        node, below_done = pending.pop()
        if below_done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            below = node.children
            if below:
                pending.append((node, True))
                pending.extend([(child, False) for child in reversed(below)])
            else:
                yield node


def _nodes(program: Program, once: bool) -> Iterator[tuple[int, Program]]:
    """Yield every node, before what is under it, with the number of its first step."""
    seen: set[int] = set()
    number = 1
    pending = [program]
    while pending:
        node = pending.pop()
        if once and id(node) in seen:
            number += node.num_steps
            continue
        seen.add(id(node))
        yield number, node
        if node.children:
            pending.extend(reversed(node.children))
        else:
            number += node.num_steps
