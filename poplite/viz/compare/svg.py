"""What changed as SVG: a bar to the left for less, to the right for more."""

from __future__ import annotations

from collections.abc import Sequence

from poplite.report.diff import Change, ReportDiff
from poplite.viz.draw.columns import cut
from poplite.viz.draw.svg import Canvas, SvgText, text_width
from poplite.viz.draw.units import name_text

MARGIN = 20
ROW = 20
HALF = 200
"""Length of the longest bar, to one side."""

LONGEST_NAME = 44
LESS, MORE = "c0", "c1"


def draw_changes_svg(diff: ReportDiff, top: int) -> SvgText:
    """Draw what changed; the bars of one kind of number have one scale.

    >>> picture = draw_changes_svg(ReportDiff((), (Change("blur", 200, 96),), (), ()), 5)
    >>> "blur: 200 -&gt; 96, -104" in picture
    True
    """
    sections = {title: changes[:top] for title, changes in diff.sections().items() if changes}
    listed = [change for changes in sections.values() for change in changes]
    names = [cut(name_text(change.name), LONGEST_NAME) for change in listed]
    left = MARGIN + max((text_width(name, 12) for name in names), default=0) + 14
    rows = len(listed) + 2 * len(sections)
    height = MARGIN + 40 + ROW * max(1, rows)
    canvas = Canvas(round(max(420, left + 2 * HALF + 160 + MARGIN)), height, title="what changed")
    y: float = MARGIN + 14
    if not sections:
        canvas.text(MARGIN, y, "no change in steps, phases or memory", "head ink")
    for title, changes in sections.items():
        canvas.text(MARGIN, y, title, "head ink")
        canvas.path(f"M{left + HALF} {y + 8}v{ROW * len(changes) + 2}", "rule")
        y = _bars(canvas, changes, left, y) + 2 * ROW
    return canvas.text_of()


def _bars(canvas: Canvas, changes: Sequence[Change], left: float, y: float) -> float:
    scale = HALF / max(abs(change.change) for change in changes)
    for change in changes:
        y += ROW
        name = name_text(change.name)
        canvas.text(left - 14, y + 4, cut(name, LONGEST_NAME), "line ink end")
        length = abs(change.change) * scale
        begin = left + HALF - (length if change.change < 0 else 0)
        numbers = f"{change.before:,} -> {change.after:,}, {change.change:+,}"
        kind = LESS if change.change < 0 else MORE
        canvas.rect(begin, y - 7, length, 14, kind, tip=f"{name}: {numbers} ({change.percent})")
        told = f"{change.change:+,}  {change.percent}"
        canvas.text(left + 2 * HALF + 8, y + 4, told, "line soft")
    return y
