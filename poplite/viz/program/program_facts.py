"""What is known of a program before it is laid out: lines, runs, and steps that match.

Each is counted once for every distinct sub-tree, from the leaves up, so that sharing costs
nothing; and without recursion.

>>> runs_of(Program())
0
"""

from __future__ import annotations

import re
from typing import NamedTuple

from poplite.program import Program, children_first
from poplite.viz.program.labels import MOST, line_of, product, times_of


class Facts(NamedTuple):
    """What is known of a sub-tree; no number is above `MOST`.

    Attributes:
        lines: nodes, each place counted.
        matched: steps that were asked for.
        runs: how often those run, with what repeats in the sub-tree; None where data decide.
    """

    lines: int
    matched: int
    runs: int | None


def runs_of(program: Program) -> int | None:
    """Count how often the steps of a program run, with what repeats.

    Args:
        program: the whole program.

    Returns:
        At most `MOST`; None where data decide.

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
    for node in children_first(program):
        if not node.children:
            matched = node.num_steps if wanted is None or wanted.search(line_of(node)) else 0
            facts[id(node)] = Facts(1, matched, matched)
            continue
        below = [facts[id(child)] for child in node.children]
        lines, matched = (sum(each) for each in list(zip(*below, strict=True))[:2])
        known = [fact.runs for fact in below if fact.runs is not None]
        runs = sum(known) if len(known) == len(below) else None
        runs = product(runs, times_of(node))
        facts[id(node)] = Facts(min(lines + 1, MOST), min(matched, MOST), runs)
    return facts
