"""The summary as text: the verdict, then a row for each thing there is to say."""

from __future__ import annotations

from poplite.viz.draw.columns import wrapped
from poplite.viz.draw.terminal import LEAST_COLUMNS, Style
from poplite.viz.summary import Summary


def draw_summary_text(summary: Summary, *, width: int = 80, style: Style | None = None) -> str:
    """Draw a summary as text.

    Args:
        summary: the numbers.
        width: columns to fit; under 60 counts as 60.
        style: colours; none when omitted.

    Returns:
        Lines, the last one ended.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.summary import summary_of
    >>> print(draw_summary_text(summary_of(Graph())).splitlines()[0])
    summary: fits
    """
    style, width = style or Style(), max(width, LEAST_COLUMNS)
    emphasis = style.bold if summary.fits else style.warning
    mark = "" if summary.fits else "! "
    lines = [emphasis(line) for line in wrapped(f"{mark}summary: {summary.verdict}", width)]
    lines.append("")
    rows = summary.rows()
    label_width = max(len(label) for label, _ in rows)
    for label, text in rows:
        paint = style.warning if text.startswith("!") else str
        first, *rest = wrapped(text, width - label_width - 4)
        lines.append(f"  {style.faint(f'{label:<{label_width}}')}  {paint(first)}")
        lines += [f"  {'':<{label_width}}  {paint(line)}" for line in rest]
    return "\n".join(lines) + "\n"
