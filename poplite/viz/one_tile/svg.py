"""One tile as SVG: a strip of its memory by address, and tables of what lies and runs there."""

from __future__ import annotations

from collections.abc import Sequence

from poplite.viz.colours import SPENT
from poplite.viz.draw.columns import cut
from poplite.viz.draw.kinds import LOOKS
from poplite.viz.draw.legend import draw_legend
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.units import share_text, size_text
from poplite.viz.one_tile.tile_contents import PlacedItem, TileContents

MARGIN = 20
WIDE, HIGH = 768, 44
ROW = 20
BAR = 12
TOP = 40
"""Things that are listed, the largest ones; the JSON has all."""

LONGEST_NAME = 70
TICKS = 4


def draw_tile_svg(tile: TileContents) -> SvgText:
    """Draw a tile as SVG."""
    heading = cut(tile.heading, LONGEST_HEADING)
    moment = tile.moment() + tile.note
    things = tile.largest(TOP)
    addressed = bool(tile.things) and tile.is_addressed
    strip = HIGH + 62 if addressed else 0
    rows = len(things) + len(tile.vertices) + len(tile.cycles)
    height = MARGIN + 70 + strip + ROW * (rows + 4) + MARGIN
    width = max(WIDE, text_width(heading, 16), text_width(moment, 12)) + 2 * MARGIN
    canvas = Canvas(round(width), height, title=tile.heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    canvas.text(MARGIN, MARGIN + 34, moment, "line soft")
    y = MARGIN + 54.0
    if addressed:
        _strip(canvas, tile, y)
    y += strip + ROW / 2
    y = _things(canvas, tile, things, y) + ROW
    y = _vertices(canvas, tile, y) + ROW
    _cycles(canvas, tile, y)
    return canvas.text_of()


def _strip(canvas: Canvas, tile: TileContents, y: float) -> None:
    """Draw what is live, each thing where it lies."""
    canvas.rect(MARGIN, y, WIDE, HIGH, "none")
    scale = WIDE / tile.extent
    for thing in tile.things:
        if thing.is_live and thing.address is not None:
            x, wide = MARGIN + thing.address * scale, thing.bytes * scale
            tip = f"{thing.address:,}: {thing.what}, {size_text(thing.bytes)}, {thing.when}"
            canvas.rect(x, y, wide, HIGH, f"{LOOKS[thing.kind].kind} seam", tip=tip)
            name = thing.name if text_width(thing.name, 10) + 8 < wide else ""
            if name:
                canvas.text(x + 4, y + HIGH / 2 + 4, name, f"small {LOOKS[thing.kind].ink}")
    if tile.extent > tile.limit_bytes:
        x = MARGIN + tile.limit_bytes * scale
        canvas.rect(x, y + HIGH, WIDE - (x - MARGIN), 6, "over")
        canvas.text(MARGIN + WIDE, y + HIGH + 32, "! over the limit", "small ink end")
    for k in range(TICKS + 1):
        kind = "small soft" + ("" if k == 0 else " end" if k == TICKS else " mid")
        x = MARGIN + WIDE * k / TICKS
        canvas.text(x, y + HIGH + 18, f"{tile.extent * k // TICKS:,}", kind)
    kinds = [kind for kind in LOOKS if any(t.kind == kind and t.is_live for t in tile.things)]
    draw_legend(canvas, [(kind, LOOKS[kind].kind) for kind in kinds], MARGIN, y + HIGH + 30)


def _things(canvas: Canvas, tile: TileContents, things: Sequence[PlacedItem], y: float) -> float:
    columns = ("address", "bytes")
    for k, title in enumerate(columns):
        canvas.text(MARGIN + 60 + 70 * k, y, title, "small soft end")
    canvas.text(MARGIN + 164, y, "what lies there", "small soft")
    for thing in things:
        y += ROW
        ink = "ink" if thing.is_live else "soft"
        address = "" if thing.address is None else f"{thing.address:,}"
        canvas.text(MARGIN + 60, y, address, "line soft end")
        canvas.text(MARGIN + 130, y, f"{thing.bytes:,}", f"line {ink} end")
        canvas.rect(MARGIN + 144, y - 9, 10, 10, LOOKS[thing.kind].kind)
        name = cut(thing.what, LONGEST_NAME)
        canvas.text(MARGIN + 164, y, name, f"line {ink}", aside=thing.when, tip=thing.at)
    if left := len(tile.things) - len(things):
        y += ROW
        canvas.text(MARGIN + 164, y, f"... {left:,} more", "line soft")
    return y + ROW / 2


def _vertices(canvas: Canvas, tile: TileContents, y: float) -> float:
    title = "vertices" if tile.vertices else "no vertices"
    canvas.text(MARGIN + 130, y, title, "small soft end")
    for each in tile.vertices:
        y += ROW
        canvas.text(MARGIN + 130, y, f"{each.count:,}", "line ink end")
        name = cut(f"{each.type} in '{each.compute_set}'", LONGEST_NAME)
        canvas.text(MARGIN + 164, y, name, "line ink")
    return y + ROW / 2


def _cycles(canvas: Canvas, tile: TileContents, y: float) -> None:
    if not tile.elapsed:
        canvas.text(MARGIN + 130, y, "no cycles", "small soft end")
        return
    canvas.text(MARGIN + 130, y, "cycles", "small soft end")
    canvas.text(MARGIN + 164, y, f"of {tile.scope}", "small soft")
    left = MARGIN + 330
    for part, cycles in tile.cycles.items():
        y += ROW
        canvas.text(MARGIN + 64, y, share_text(cycles / tile.elapsed), "line soft end")
        canvas.text(MARGIN + 130, y, f"{cycles:,}", "line ink end")
        canvas.text(MARGIN + 164, y, SPENT[part].words, "line ink")
        room = WIDE + MARGIN - left
        canvas.rect(left, y - 10, room, BAR, "none")
        canvas.rect(left, y - 10, room * cycles / tile.elapsed, BAR, SPENT[part].kind)
