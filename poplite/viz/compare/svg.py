"""What changed as SVG: a bar to the left for less, to the right for more."""

from __future__ import annotations

from collections.abc import Sequence

from poplite.report.diff import Change, ReportDiff
from poplite.viz.draw.columns import cut
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.units import name_text

MARGIN = 20
ROW = 20
HALF = 200
"""Length of the longest bar, to one side."""

LONGEST_NAME = 44
LESS, MORE = "c0", "c1"


def draw_changes_svg(
    diff: ReportDiff, top: int, names: tuple[str, str], lines: Sequence[str] = ()
) -> SvgText:
    """Draw what changed, and below it lines on that and checks.

    All bars have one scale: shares of all cycles, and of the bytes of all tiles.

    >>> diff = ReportDiff((), (Change("blur", 200, 96),), (), ())
    >>> picture = draw_changes_svg(diff, 5, ("base.json", "pr.json"))
    >>> "blur: 200 -&gt; 96, -104" in picture
    True
    """
    sections = {title: changes[:top] for title, changes in diff.sections().items() if changes}
    listed = [*diff.totals, *(change for changes in sections.values() for change in changes)]
    shown = [cut(name_text(change.name), LONGEST_NAME) for change in listed]
    left = MARGIN + max((text_width(name, 12) for name in shown), default=0) + 14
    rows = len(listed) + 2 * len(sections) + (len(lines) + 1 if lines else 0)
    title = f"what changed from {names[0]} to {names[1]}"
    wide = max((text_width(line, 12) for line in (*lines, cut(title, LONGEST_HEADING))), default=0)
    width = max(420, left + 2 * HALF + 160, 2 * MARGIN + wide * 15 / 12)
    canvas = Canvas(round(width + MARGIN), MARGIN + 50 + ROW * max(2, rows), title=title)
    y: float = MARGIN + 14
    canvas.text(MARGIN, y, cut(title, LONGEST_HEADING), "head ink")
    for change in diff.totals:
        y += ROW
        _row(canvas, change, left, y)
        numbers = f"{change.before:,} -> {change.after:,}"
        canvas.text(left + HALF, y + 4, numbers, "line ink mid")
    if not sections:
        canvas.text(MARGIN, y + ROW + 4, "no change in steps, phases or memory", "line soft")
    shares = {name: [diff.share(name, each) for each in some] for name, some in sections.items()}
    most = max((abs(share) for some in shares.values() for share in some), default=1)
    for title, changes in sections.items():
        y += 2 * ROW
        canvas.text(MARGIN, y, title, "head ink")
        canvas.path(f"M{left + HALF} {y + 8}v{ROW * len(changes) + 2}", "rule")
        y = _bars(canvas, changes, [HALF * abs(share) / most for share in shares[title]], left, y)
    y += ROW
    for line in lines:
        y += ROW
        canvas.text(MARGIN, y, line, "line ink")
    return canvas.text_of()


def _row(canvas: Canvas, change: Change, left: float, y: float) -> None:
    canvas.text(left - 14, y + 4, cut(name_text(change.name), LONGEST_NAME), "line ink end")
    told = f"{change.change:+,}  {change.percent}"
    canvas.text(left + 2 * HALF + 8, y + 4, told, "line soft")


def _bars(
    canvas: Canvas, changes: Sequence[Change], lengths: Sequence[float], left: float, y: float
) -> float:
    for change, length in zip(changes, lengths, strict=True):
        y += ROW
        _row(canvas, change, left, y)
        begin = left + HALF - (length if change.change < 0 else 0)
        numbers = f"{change.before:,} -> {change.after:,}, {change.change:+,}"
        tip = f"{name_text(change.name)}: {numbers} ({change.percent})"
        canvas.rect(begin, y - 7, length, 14, LESS if change.change < 0 else MORE, tip=tip)
    return y
