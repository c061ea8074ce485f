"""The summary as SVG: the verdict, the rows, and how full the worst tile is."""

from __future__ import annotations

from poplite.viz.draw.columns import wrapped
from poplite.viz.draw.svg import Canvas, SvgText, box, text_width
from poplite.viz.draw.units import size_text
from poplite.viz.summary import Summary

MARGIN = 20
ROW = 20
LETTERS = 84
"""Letters of a line of text."""
BAR_HEIGHT = 14


def draw_summary_svg(summary: Summary) -> SvgText:
    """Draw a summary as SVG.

    Args:
        summary: the numbers.

    Returns:
        The picture.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.summary import summary_of
    >>> "summary: fits" in draw_summary_svg(summary_of(Graph()))
    True
    """
    mark = "" if summary.fits else "! "
    heading = wrapped(f"{mark}summary: {summary.verdict}", LETTERS - 10)
    rows = [(label, wrapped(text, LETTERS)) for label, text in summary.rows()]
    left = MARGIN + max(text_width(label, 12) for label, _ in rows) + 12
    wide = max(text_width(line, 12) for _, lines in rows for line in lines)
    right = max(left + wide, MARGIN + max(text_width(line, 16) for line in heading))
    top = MARGIN + 14 + 20 * len(heading) + 12
    height = top + ROW * sum(len(lines) for _, lines in rows) + BAR_HEIGHT + 8 + MARGIN
    canvas = Canvas(round(right + MARGIN), round(height), title=" ".join(heading))
    for k, line in enumerate(heading):
        canvas.text(MARGIN, MARGIN + 14 + 20 * k, line, "head ink")
    y = top
    for label, lines in rows:
        canvas.text(MARGIN, y, label, "line soft")
        for line in lines:
            canvas.text(left, y, line, "line ink")
            y += ROW
    _bar(canvas, summary, round(left), y, round(right - left))
    return canvas.text_of()


def _bar(canvas: Canvas, summary: Summary, left: float, y: float, width: float) -> None:
    """Draw the worst tile's bytes against its memory; what is over goes beyond the limit."""
    used, limit = summary.worst_bytes, summary.target.tile_memory_bytes
    scale = width / max(used, limit)
    tip = f"tile {summary.worst_tile}: {size_text(used)} of {size_text(limit)}"
    canvas.rect(left, y, limit * scale, BAR_HEIGHT, "none", tip=tip)
    canvas.rect(left, y, min(used, limit) * scale, BAR_HEIGHT, "q7", tip=tip)
    if used > limit:
        canvas.rect(left + limit * scale, y, (used - limit) * scale, BAR_HEIGHT, "over", tip=tip)
    canvas.path(box(left + limit * scale - 1, y - 3, 1, BAR_HEIGHT + 6), "mark")
    canvas.text(left, y + BAR_HEIGHT + 16, f"tile {summary.worst_tile}", "soft")
    canvas.text(left + limit * scale, y + BAR_HEIGHT + 16, size_text(limit), "soft end")
