"""Insights as lines of text."""

from __future__ import annotations

from poplite.report.execution import Cause
from poplite.report.insights import Insights
from poplite.text import shortened

NAME = 40
"""Characters of a name in a table."""


def insights_text(insights: Insights) -> list[str]:
    """Return what to look at first, a line each.

    Args:
        insights: of a report.

    >>> print(*insights_text(Insights(None, None, (), (), (), (), ("Search",))))
    guessed: the cycles of Search hang on data that was not counted; its `cycles` can tell them
    """
    lines = []
    if (busiest := insights.busiest) is not None:
        mean = f"{busiest.mean:,.1f} on average"
        lines.append(f"busiest: tile {busiest.tile:,} computes {busiest.most:,} cycles; {mean}")
    if (fullest := insights.fullest) is not None:
        mean = f"{fullest.mean:,.1f} B on average"
        lines.append(f"fullest: tile {fullest.tile:,} holds {fullest.most:,} B; {mean}")
    for each in insights.imbalances:
        lines.append(
            f"waiting: {each.lost:,} cycles in {shortened(each.step, NAME)} for tile "
            f"{each.worst_tile:,}, as tiles have {100 * each.balance:.1f}% of its work on average"
            f"{where(each.at)}"
        )
    for idle in insights.idle_workers:
        lines.append(
            f"idle workers: {100 * idle.idle:.1f}% of the time in {shortened(idle.step, NAME)}: "
            f"more vertices a tile of equal work, or a MultiVertex, would use it{where(idle.at)}"
        )
    for moved in insights.exchanges:
        due = "" if moved.cause is None else f": {_cause(moved.cause)}"
        what = f"{moved.cycles:,} cycles for {moved.bytes:,} B in {shortened(moved.step, NAME)}"
        lines.append(f"{moved.kind}: {what}{due}")
    for copy in insights.copies:
        what = f"{copy.cause.bytes:,} B in {shortened(copy.step, NAME)}"
        lines.append(f"copied on its tile: {what}: {_cause(copy.cause)}")
    for name in insights.guessed:
        why = "hang on data that was not counted; its `cycles` can tell them"
        lines.append(f"guessed: the cycles of {name} {why}")
    return lines or ["none"]


def _cause(cause: Cause) -> str:
    return f"{cause.what} {cause.why}{where(cause.at)}"


def where(line: str) -> str:
    """Return a line of the user's as it stands behind what it is about.

    Args:
        line: the line; empty where there is none.

    >>> f"sums{where('model.py:12')}"
    'sums (model.py:12)'
    """
    return f" ({line})" if line else ""
