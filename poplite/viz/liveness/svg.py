"""What a tile needs in each step, as SVG: a row each, with a bar by kind of thing.

The step that needs most is outlined.
"""

from __future__ import annotations

from poplite.viz.draw.columns import cut
from poplite.viz.draw.kinds import LOOKS
from poplite.viz.draw.legend import draw_legend, entry_width
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, box, text_width
from poplite.viz.draw.units import size_text
from poplite.viz.liveness.live_steps import LiveRow, LiveSteps

MARGIN = 20
ROW, BAR = 20, 12
WIDE = 420
MOST_ROWS = 300
"""Most steps that are drawn; the JSON has all."""

LONGEST_NAME, LONGEST_THING = 44, 40


def draw_liveness_svg(live: LiveSteps) -> SvgText:
    """Draw what a tile needs in each step as SVG."""
    rows = live.rows[:MOST_ROWS]
    heading = cut(live.heading, LONGEST_HEADING)
    titles = [cut(live.label(row), LONGEST_NAME) for row in rows]
    things = [cut(f"{row.largest} {size_text(row.largest_bytes)}", LONGEST_THING) for row in rows]
    names = MARGIN + 34 + max([text_width(title, 12) for title in titles], default=0) + 12
    left = round(
        names + max([text_width(size_text(row.bytes), 12) for row in rows], default=0) + 12
    )
    kinds = live.kinds()
    legend = MARGIN + sum(entry_width(name) for name in kinds)
    asides = [" peak" if row.is_peak else "" for row in rows]
    wide = [text_width(thing + aside, 12) for thing, aside in zip(things, asides, strict=True)]
    right = left + WIDE + 12 + max(wide, default=0)
    width = max(right, legend, MARGIN + text_width(heading, 16))
    top = MARGIN + 54
    bottom = top + ROW * len(rows)
    hidden = _hidden(live)
    canvas = Canvas(round(width + MARGIN), bottom + (ROW if hidden else 0) + 40, title=live.heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    kind = "line ink" if live.total().startswith("!") else "line soft"
    canvas.text(MARGIN, MARGIN + 34, live.total(), kind)
    most = max([row.bytes for row in rows], default=0)
    for k, row in enumerate(rows):
        y = top + ROW * k
        if row.number:
            canvas.text(MARGIN + 22, y + 14, f"{row.number:,}", "soft end")
        canvas.text(MARGIN + 34, y + 14, titles[k], "line ink", tip=row.at)
        canvas.text(left - 12, y + 14, size_text(row.bytes), "line ink end")
        _bar(canvas, row, most, left, y + (ROW - BAR) / 2)
        if row.largest:
            canvas.text(left + WIDE + 12, y + 14, things[k], "soft", aside=asides[k].strip())
    if hidden:
        canvas.text(MARGIN + 34, bottom + 14, hidden, "line soft")
        bottom += ROW
    draw_legend(canvas, [(name, LOOKS[name].kind) for name in kinds], MARGIN, bottom + 12)
    return canvas.text_of()


def _hidden(live: LiveSteps) -> str:
    left = len(live.rows) - MOST_ROWS
    return f"... {left:,} more steps" if left > 0 else live.hidden()


def _bar(canvas: Canvas, row: LiveRow, most: int, left: float, y: float) -> None:
    x = left
    for kind, size in row.kinds.items():
        wide = WIDE * size / most
        canvas.rect(x, y, wide, BAR, LOOKS[kind].kind, tip=f"{kind}: {size_text(size)}")
        x += wide
    if row.is_peak:
        canvas.path(box(left, y, WIDE, BAR), "mark")
