"""What scopes take, as a table: text and comma-separated values."""

from __future__ import annotations

from poplite.viz.draw.columns import LEAST_NAME, cut, fitting, wrapped
from poplite.viz.draw.csv_text import csv_text
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text, share_text
from poplite.viz.ops.scopes import ScopeCost, ScopeTree

HEADING = ("steps", "cycles", "of all", "received B", "memory B")
LEFT_OUT = (0, 4, 3, 2)
"""Columns that are left out where there is no room: steps, memory, received, share."""

LEAST_SCOPE = 20
"""Cells that are left of scopes within scopes."""


def draw_scopes_text(tree: ScopeTree, style: Style = DEFAULT_STYLE) -> str:
    """Draw what scopes take as text."""
    lines = [style.bold(line) for line in wrapped(tree.heading, style.columns)]
    listed = list(tree.rows())
    if not listed:
        return "\n".join(lines) + "\n"
    rows = [numbers_of(scope) for _, scope in listed]
    widths = [max(map(len, column)) for column in zip(HEADING, *rows, strict=True)]
    kept = fitting(widths, style.columns - LEAST_SCOPE, LEFT_OUT)
    room = style.columns - sum(widths[k] + 2 for k in kept)
    head = "  ".join(f"{HEADING[k]:>{widths[k]}}" for k in kept)
    lines += ["", style.faint(f"{head}  scope")]
    for (level, scope), numbers in zip(listed, rows, strict=True):
        more = more_inside(tree, level, scope)
        aside = f"  (+{more:,})" if more else ""
        name = cut(name_text(scope.name), max(LEAST_NAME, room - 2 * level - len(aside)))
        begin = "  ".join(f"{numbers[k]:>{widths[k]}}" for k in kept)
        lines.append(f"{begin}  {'  ' * level}{name}{style.faint(aside)}")
    if any(more_inside(tree, *row) for row in listed):
        lines += ["", style.faint(f"(+N): more inside; --depth {tree.depth + 1} shows them")]
    return "\n".join(lines) + "\n"


def numbers_of(scope: ScopeCost) -> tuple[str, ...]:
    """Return the numbers of a row, in the order of `HEADING`."""
    return (
        f"{scope.steps:,}",
        f"{scope.cycles:,}",
        share_text(scope.share),
        f"{scope.received:,}",
        f"{scope.memory:,}",
    )


def more_inside(tree: ScopeTree, level: int, scope: ScopeCost) -> int:
    """Return how many rows of a listed scope are deeper than what is listed."""
    return scope.num_inside() if level + 1 == tree.depth else 0


def scopes_csv(tree: ScopeTree) -> str:
    """Return what scopes take as comma-separated values, a line each."""
    heading = ["level", "scope", "steps", "cycles", "share", "received_bytes", "bytes"]
    rows = [
        (
            *(level, name_text(each.path), each.steps, each.cycles),
            *(f"{each.share:.6f}", each.received, each.memory),
        )
        for level, each in tree.rows()
    ]
    return csv_text(heading, rows)
