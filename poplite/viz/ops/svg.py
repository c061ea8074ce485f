"""What scopes take as SVG: a row each, with a bar for its share of all cycles."""

from __future__ import annotations

from poplite.viz.draw.columns import cut
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.units import name_text
from poplite.viz.ops.scopes import ScopeCost, ScopeTree
from poplite.viz.ops.text import HEADING, more_inside, numbers_of

MARGIN, ROW, GAP = 20, 20, 20
INDENT = 16
BAR = 320
"""Length of the bar of all cycles."""

LONGEST_NAME = 44
MOST_ROWS = 300
"""Most scopes that are drawn; the JSON has all."""


def draw_scopes_svg(tree: ScopeTree) -> SvgText:
    """Draw what scopes take as SVG.

    >>> nothing = ScopeCost("", "", 0, 0, 0.0, 0, 0, ())
    >>> "operations: 0 steps, 0 cycles" in draw_scopes_svg(ScopeTree("", nothing, 2))
    True
    """
    listed = list(tree.rows())
    rows = listed[:MOST_ROWS]
    numbers = [numbers_of(scope) for _, scope in rows]
    columns = list(zip(HEADING, *numbers, strict=True))
    widths = [max(text_width(text, 12) for text in column) for column in columns]
    left = MARGIN + sum(widths) + GAP * len(widths)
    names = [cut(name_text(scope.name), LONGEST_NAME) for _, scope in rows]
    asides = [f"+{more:,}" if (more := more_inside(tree, *row)) else "" for row in rows]
    ends = [
        level * INDENT + text_width(f"{name}  {aside}", 12)
        for (level, _), name, aside in zip(rows, names, asides, strict=True)
    ]
    bars = left + max(ends, default=0) + GAP
    height = MARGIN + 62 + ROW * (len(rows) + (len(rows) < len(listed)))
    width = max(bars + BAR, MARGIN + text_width(tree.heading, 15)) + MARGIN
    canvas = Canvas(round(width), height, title=tree.heading)
    canvas.text(MARGIN, MARGIN + 14, cut(tree.heading, LONGEST_HEADING), "head ink")
    y = MARGIN + 44
    if rows:
        _numbers(canvas, HEADING, widths, y, "soft")
        canvas.text(left, y, "scope", "line soft")
    for (level, scope), texts, name, aside in zip(rows, numbers, names, asides, strict=True):
        y += ROW
        _numbers(canvas, texts, widths, y, "ink")
        canvas.text(left + level * INDENT, y, name, "line ink", aside=aside, tip=_tip(scope))
        canvas.rect(bars, y - 11, BAR, 14, "none")
        shade = f"q{max(4, 8 - 2 * level)}"
        canvas.rect(bars, y - 11, BAR * scope.share, 14, shade, tip=_tip(scope))
    if len(rows) < len(listed):
        canvas.text(left, y + ROW, f"... {len(listed) - len(rows):,} more", "line soft")
    return canvas.text_of()


def _numbers(
    canvas: Canvas, texts: tuple[str, ...], widths: list[float], y: float, ink: str
) -> None:
    right: float = MARGIN
    for text, width in zip(texts, widths, strict=True):
        right += width
        canvas.text(right, y, text, f"line {ink} end")
        right += GAP


def _tip(scope: ScopeCost) -> str:
    numbers = zip(HEADING, numbers_of(scope), strict=True)
    return f"{name_text(scope.path)}: {', '.join(f'{name} {text}' for name, text in numbers)}"
