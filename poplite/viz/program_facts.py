"""What is known of a program before it is laid out: lines, runs, and steps that match.

Each is counted once for every distinct sub-tree, from the leaves up, so that sharing costs
nothing; and without recursion.

>>> runs_of(Program())
0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from poplite.program import Program
from poplite.viz.program_words import MOST, line_of, times_of


class Facts(NamedTuple):
    """What is known of a sub-tree; no number is above `MOST`.

    Attributes:
        lines: nodes, each place counted.
        matched: steps that were asked for.
        runs: how often those run, with what repeats in the sub-tree.
    """

    lines: int
    matched: int
    runs: int


def runs_of(program: Program) -> int:
    """Count how often the steps of a program run, with what repeats.

    Args:
        program: the whole program.

    Returns:
        At most `MOST`.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Execute, Repeat
    >>> runs_of(Repeat(9, Execute(Graph().add_compute_set("blur"))))
    9
    """
    return facts_of(program)[id(program)].runs


def facts_of(program: Program, wanted: re.Pattern[str] | None = None) -> dict[int, Facts]:
    """Find the facts of every sub-tree.

    Args:
        program: the whole program.
        wanted: what is searched in the lines of steps; without it, all are asked for.

    Returns:
        Facts by the `id` of the sub-tree.

    >>> from poplite.program import Sequence
    >>> facts_of(program := Sequence(Program()))[id(program)]
    Facts(lines=2, matched=0, runs=0)
    """
    facts: dict[int, Facts] = {}
    for node in _children_first(program):
        if not node.children:
            matched = node.num_steps if wanted is None or wanted.search(line_of(node)) else 0
            facts[id(node)] = Facts(1, matched, matched)
            continue
        below = [facts[id(child)] for child in node.children]
        lines, matched, runs = map(sum, zip(*below, strict=True))
        times = times_of(node)
        facts[id(node)] = Facts(min(lines + 1, MOST), min(matched, MOST), min(runs * times, MOST))
    return facts


def _children_first(program: Program) -> Iterator[Program]:
    """Yield each distinct sub-tree once, after those below it."""
    seen: set[int] = set()
    pending = [(program, False)]
    while pending:
        node, below_done = pending.pop()
        if below_done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            pending.extend((child, False) for child in node.children)
