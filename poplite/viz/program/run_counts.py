"""How often parts of a program ran that data decide, from the report of one run.

    RepeatWhile 'go_on'      entered 5 times
      body: Execute 'step'   ran 12 times, so 12/5 times each time that the loop is entered

What no step tells is left open: parts without steps of their own, and functions that several calls
share, whose steps are counted for all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from poplite.report.program_tree import BY_DATA, Program, ProgramType, children_first, repeats
from poplite.report.report import Report
from poplite.viz.program.labels import Times, product


def times_below(node: Program) -> int | None:
    """Return how often what is under a program runs each time that it runs; None by data."""
    if node.type is ProgramType.REPEAT:
        return repeats(node)
    return None if node.type in BY_DATA else 1


def times_of_run(report: Report, name: str, root: Program) -> dict[int, list[Times]]:
    """Return for programs whose parts data decide how often each part ran, by the `id`.

    Nothing where the report is not of one run, or costs are not modelled.
    """
    ran = {
        step.row: step.executions for step in report.execution.steps if step.program_name == name
    }
    if report.execution.runs != 1 or not any(ran.values()):
        return {}
    below_first = list(children_first(root))
    places = dict.fromkeys(map(id, below_first), 0)
    for node in below_first:
        for child in node.children:
            places[id(child)] += 1
    counts: dict[int, int | None] = {}
    for node in below_first:
        counts[id(node)] = _count(node, ran, counts) if places[id(node)] < 2 else None
    found: dict[int, list[Times]] = {}
    total: dict[int, Times] = dict.fromkeys(counts) | {id(root): 1}
    for node in reversed(below_first):
        entered, times = total[id(node)], times_below(node)
        each: list[Times] = [times] * len(node.children)
        if times is None and entered:
            found[id(node)] = each = _shares(node, counts, entered)
        for child, runs in zip(node.children, each, strict=True):
            total[id(child)] = product(entered, runs) if places[id(child)] == 1 else None
    return found


def _count(node: Program, ran: Mapping[int, int], counts: Mapping[int, int | None]) -> int | None:
    """Return how often a program ran, by a step in it that runs as often; None for no such."""
    if not node.children:
        return ran.get(node.row)
    times, below = times_below(node), [counts[id(child)] for child in node.children]
    known = next((each for each in below if each is not None), None)
    return known // times if times and known is not None else None


def _shares(
    node: Program, counts: Mapping[int, int | None], entered: int | Fraction
) -> list[Times]:
    """Return how often each part ran each time; what has one role runs as often."""
    by_role: dict[str, int] = {}
    for child in node.children:
        count = counts[id(child)]
        if count is not None:
            by_role.setdefault(child.role, count)
    known = (by_role.get(child.role) for child in node.children)
    return [None if count is None else Fraction(count) / entered for count in known]
