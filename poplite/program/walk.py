"""Going through a program step by step.

Steps are the leaves, numbered from 1 in the order they are written down (the body of a
Repeat once), so that a message can say `step 3 of 5: Execute 'blur'`.  No recursion: a
program built as `program = Sequence(program, next)` may be as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from poplite.program.base import Program
from poplite.words import fitted


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """One leaf of a program, in one place.

    Attributes:
        number: its number, from 1.
        total: steps of the whole program.
        program: the leaf.
    """

    number: int
    total: int
    program: Program

    def __repr__(self) -> str:
        return fitted("<Step {}>", str(self))

    def __str__(self) -> str:
        return f"step {self.number:,} of {self.total:,}: {self.program}"


def walk(program: Program) -> Iterator[Step]:
    """Yield every step of a program; a shared sub-tree in each of its places.

    Args:
        program: the whole program.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in walk(Sequence(blur, Repeat(9, blur)))]
    ["step 1 of 2: Execute 'blur'", "step 2 of 2: Execute 'blur'"]
    """
    yield from _walk(program, once=False)


def distinct_steps(program: Program) -> Iterator[Step]:
    """Yield every leaf of a program once, where it stands first.

    Costs the number of distinct sub-trees, however often they are shared.

    Args:
        program: the whole program.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Sequence
    >>> blur = Execute(Graph().add_compute_set("blur"))
    >>> [str(step) for step in distinct_steps(Sequence(blur, Sequence(blur)))]
    ["step 1 of 2: Execute 'blur'"]
    """
    yield from _walk(program, once=True)


def _walk(program: Program, once: bool) -> Iterator[Step]:
    seen: set[int] = set()
    number = 1
    pending = [program]
    while pending:
        node = pending.pop()
        if once and id(node) in seen:
            number += node.num_steps
            continue
        seen.add(id(node))
        if node.children:
            pending.extend(reversed(node.children))
        elif node.num_steps:
            yield Step(number, program.num_steps, node)
            number += 1
