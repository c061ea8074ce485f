"""What every tile needs, as SVG: a bar for each tile, and a table of the fullest one.

Bars are stacked from what they are made of; the limit is a dashed line, and what is over it is
vermilion.  Many tiles are drawn as areas without gaps, each column the fullest of its tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.viz.draw.columns import cut
from poplite.viz.draw.legend import draw_legend, entry_width
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, number, text_width
from poplite.viz.draw.units import share_text, size_text
from poplite.viz.memory.memory_bars import BarPart, MemoryBars

MARGIN = 20
WIDE, HIGH = 768, 220
ROW = 20
DASH = 5

SEPARATE = 128
"""Most tiles whose bars stand apart, with tooltips."""

LEAST_SHARE = 0.5
"""Share of its memory from which on the fullest tile is drawn against all of it."""

LONGEST_NAME = 70


def draw_memory_svg(bars: MemoryBars, *, top: int) -> SvgText:
    """Draw what every tile needs as SVG, with the `top` largest things of the fullest tile."""
    heading = cut(bars.heading, LONGEST_HEADING)
    most, limit = int(bars.needed.max()), bars.limit_bytes
    scale = max(most, limit) if most > LEAST_SHARE * limit else max(most, 1)
    labels = [size_text(scale), *([f"limit {size_text(limit)}"] if limit < scale else [])]
    left = round(MARGIN + 8 + max(text_width(label, 10) for label in labels))
    top_edge = MARGIN + 58
    bottom = top_edge + HIGH
    things = bars.things[:top]
    names = [cut(" ".join(filter(None, (t.name, t.form))), LONGEST_NAME) for t in things]
    table = bottom + 84
    height = table + round(ROW * (len(bars.parts) + len(things) + 1.5))
    legend = left + sum(entry_width(part.name) for part in bars.parts)
    width = max(left + WIDE, legend, MARGIN + text_width(heading, 16)) + MARGIN
    canvas = Canvas(round(width), height, title=bars.heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    canvas.text(MARGIN, MARGIN + 34, bars.summary(), "line soft")
    canvas.rect(left, top_edge, WIDE, HIGH, "none")
    for share in (0, 0.5, 1):
        y = bottom - HIGH * share
        canvas.text(left - 8, y + 4, size_text(round(scale * share)), "small soft end")
    columns = bars.columns(WIDE)
    if len(columns) <= SEPARATE:
        _separate(canvas, bars, scale, left, bottom)
    else:
        _areas(canvas, bars, columns, scale, left, bottom)
    if limit <= scale:
        y = bottom - HIGH * limit / scale
        canvas.path(
            f"M{number(left)} {number(y)}" + f"h{DASH}m{DASH} 0" * -(-WIDE // (2 * DASH)), "mark"
        )
        if limit < 0.95 * scale:
            canvas.text(left - 8, y + 4, f"limit {size_text(limit)}", "small ink end")
    for k, text in enumerate(bars.axis()):
        canvas.text(left + WIDE * k / 2, bottom + 16, text, f"small soft {('', 'mid', 'end')[k]}")
    draw_legend(canvas, [(part.name, part.kind) for part in bars.parts], left, bottom + 30)
    _tables(canvas, bars, names, table)
    return canvas.text_of()


def _separate(canvas: Canvas, bars: MemoryBars, scale: int, left: float, bottom: float) -> None:
    """Draw a bar for each tile, with tooltips."""
    side = WIDE / len(bars.order)
    gap = min(2.0, side / 5)
    for place, tile in enumerate(bars.order.tolist()):
        x, y = left + place * side, float(bottom)
        for part in bars.parts:
            high = HIGH * int(part.sizes[tile]) / scale
            if high:
                y -= high
                tip = f"tile {tile}: {part.name} {size_text(int(part.sizes[tile]))}"
                canvas.rect(x, y, side - gap, high, part.kind, tip=tip)
        over = int(bars.needed[tile]) - bars.limit_bytes
        if over > 0:
            tip = f"tile {tile}: {size_text(over)} over the limit"
            canvas.rect(x, y, side - gap, HIGH * over / scale, "over", tip=tip)
            if side >= 8:
                canvas.text(x + (side - gap) / 2, y - 3, "!", "over mid")


def _areas(
    canvas: Canvas,
    bars: MemoryBars,
    columns: Sequence[Int64],
    scale: int,
    left: float,
    bottom: float,
) -> None:
    """Draw the parts as areas, the whole of each below the next: a few lines for all tiles."""
    shown = np.array([tiles[bars.needed[tiles].argmax()] for tiles in columns])
    side = WIDE / len(columns)
    heights = np.cumsum([part.sizes[shown] for part in bars.parts], axis=0) * (HIGH / scale)
    for part, high in reversed([*zip(bars.parts, heights, strict=True)]):
        canvas.path(_stairs(high.round(1).tolist(), side, left, bottom), f"{part.kind} flush")
    over = np.maximum(0, bars.needed[shown] - bars.limit_bytes) * (HIGH / scale)
    if over.any():
        limit = bottom - HIGH * bars.limit_bytes / scale
        canvas.path(_stairs(over.round(1).tolist(), side, left, limit), "over flush")


def _stairs(heights: Sequence[float], side: float, left: float, bottom: float) -> str:
    """Return path commands of an area: its columns are that high, equal ones in one piece."""
    return "".join(
        [f"M{number(left)} {number(bottom)}", *_steps(heights, side, left, bottom)]
        + [f"V{number(bottom)}z"]
    )


def _steps(heights: Sequence[float], side: float, left: float, bottom: float) -> Iterator[str]:
    before = 0.0
    for k, height in enumerate(heights):
        if height != before:
            at = f"H{number(left + k * side)}" if k else ""
            yield f"{at}V{number(bottom - height)}"
        before = height
    yield f"H{number(left + len(heights) * side)}"


def _tables(canvas: Canvas, bars: MemoryBars, names: Sequence[str], y: float) -> None:
    """Write what the fullest tile holds: its parts, then its largest things."""
    tile = bars.tile
    needed = int(bars.needed[tile])
    canvas.text(MARGIN, y, bars.place(), "line ink")
    y += ROW + 2
    for part in reversed(bars.parts):
        _row(canvas, y, int(part.sizes[tile]), needed, part)
        canvas.text(MARGIN + 160, y, part.name, "line ink")
        y += ROW
    y += ROW / 2
    for thing, name in zip(bars.things, names, strict=False):
        _row(canvas, y, thing.bytes, needed)
        aside = ", ".join(filter(None, ["always" if thing.always else "then", thing.place]))
        canvas.text(MARGIN + 160, y, name, "line ink", aside=aside, tip=thing.at)
        y += ROW


def _row(canvas: Canvas, y: float, size: int, whole: int, part: BarPart | None = None) -> None:
    canvas.text(MARGIN + 72, y, f"{size:,}", "line ink end")
    canvas.text(MARGIN + 128, y, share_text(size / whole), "line soft end")
    if part is not None:
        canvas.rect(MARGIN + 139, y - 9, 10, 10, part.kind)
