"""The tile map: every tile of the target, shaded by a quantity, mostly bytes.

As text, 64 tiles a line::

       0 │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅        ▂▂▂▂▂▂▂▂│
      64 │██!

Tiles of several IPUs stand under the number of their IPU.

As SVG, each tile is a square with a tooltip.  Both draw a `TileMap` and compute nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from poplite.frozen import frozen
from poplite.text import amount
from poplite.viz.draw.colors import RAMP, ramp_step
from poplite.viz.draw.columns import cut, widest, wrapped
from poplite.viz.draw.svg import LONGEST_HEADING, Canvas, SvgText, text_width
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS = " .:-=+*%#"
LONGEST_LINE = 64

MARGIN = 20
MAP_WIDTH = 768
SCALE_WIDTH = 430
IPU_CAPTION = 24
BARS = 40
"""Height of a histogram in pixels."""

HISTOGRAM = 32
"""Bars of a histogram."""

NUMBERED_SIDE = 30
"""Side of a square, in pixels, from which its tile number is written into it."""

_Number = TypeVar("_Number", int, npt.NDArray[np.int64])


@frozen(eq=False)
class TileMap:
    """What a tile map shows.

    Attributes:
        heading: what the quantity is.
        notes: lines below it; those that begin with `!` warn.
        value: int64[tiles], the quantity.
        over: bool[tiles], whether it is more than a tile may have.
        tips: what to say about each tile, after its number.
        unit: how a value is written.
        limit: what a tile may have, as words; empty when there is no limit.
        ipus: IPUs that the tiles are on, each with as many.
        base: the quantity at which colours begin.
        first: number of the first tile.
        has_histogram: whether to draw how many tiles have how much.
    """

    heading: str
    notes: list[str]
    value: npt.NDArray[np.int64]
    over: npt.NDArray[np.bool_]
    tips: list[str]
    unit: Callable[[int], str]
    limit: str = ""
    ipus: int = 1
    base: int = 0
    first: int = 0
    has_histogram: bool = False

    @property
    def largest(self) -> int:
        """The largest quantity."""
        return int(self.value.max(initial=0))

    def bins(self, count: int) -> list[int]:
        """Return how many tiles have how much, from the least to the most in as many parts.

        >>> TileMap("", [], np.array([4, 4, 5, 8]), np.zeros(4) > 1, [""] * 4, str).bins(2)
        [3, 1]
        """
        least = int(self.value.min())  # from which numbers are counted, as floats tell few bits
        counts, _ = np.histogram(self.value - least, count, (0, max(self.largest, 1) - least))
        return [int(each) for each in counts]

    def rows(self, across: int) -> list[tuple[int, int, int]]:
        """Return the lines of a map, of at most `across` tiles.

        Each is the number of its IPU, its first tile, and one past its last.

        >>> TileMap("", [], np.arange(6), np.arange(6) > 9, [""] * 6, str, ipus=2).rows(2)
        [(0, 0, 2), (0, 2, 3), (1, 3, 5), (1, 5, 6)]
        """
        each = len(self.value) // self.ipus
        return [
            (ipu, first, min(first + across, ipu * each + each))
            for ipu in range(self.ipus)
            for first in range(ipu * each, ipu * each + each, across)
        ]


def draw_map_text(tiles: TileMap, style: Style = DEFAULT_STYLE) -> str:
    """Draw a tile map as text."""
    width = style.columns
    ramp = ASCII_BLOCKS if style.ascii_only else BLOCKS
    bar = "|" if style.ascii_only else "│"
    count = len(tiles.value)
    label_width = max(3, len(f"{tiles.first + count - 1:,}"))
    room = width - label_width - 3
    a_line = next(n for n in (LONGEST_LINE, 32) if n <= room)
    cells = _shades(tiles, ramp)
    lines = [style.bold(line) for line in wrapped(tiles.heading, width)]
    for note in tiles.notes:
        lines += [style.warning(s) if note.startswith("!") else s for s in wrapped(note, width)]
    lines.append("")
    for ipu, first, stop in tiles.rows(a_line):
        if tiles.ipus > 1 and first == ipu * (count // tiles.ipus):
            lines.append(style.faint(f"IPU {ipu}"))
        label = style.faint(f"{tiles.first + first:>{label_width},} {bar}")
        row = style.shade(cells[first:stop])
        lines.append(f"{label}{row}{style.faint(bar)}")
    lines += ["", *(style.faint(line) for line in wrapped(_scale_text(tiles, ramp), width))]
    lines += _histogram_text(tiles, ramp, style) if tiles.has_histogram else []
    return "\n".join(lines) + "\n"


def _shades(tiles: TileMap, ramp: str) -> str:
    marks = np.array(list(ramp))[_level(tiles.value, max(1, tiles.largest), ramp, tiles.base)]
    marks[tiles.value == 0] = " "
    return "".join(np.where(tiles.over, "!", marks))


def _level(value: _Number, largest: int, ramp: str, base: int = 0) -> _Number:
    """Return which character of a ramp stands for a value; the first one is for 0 alone."""
    level: _Number = -(-(value - base) * (len(ramp) - 1) // (largest - base))
    return np.maximum(level, 1) if base else level


def _histogram_text(tiles: TileMap, ramp: str, style: Style) -> list[str]:
    least, most = (tiles.unit(int(each)) for each in (tiles.value.min(), tiles.value.max()))
    if least == most:
        return [style.faint(f"all tiles: {least}")]
    room = style.columns - len(f"tiles: {least} || {most}")
    in_line = room >= HISTOGRAM // 2
    counts = tiles.bins(widest((HISTOGRAM, HISTOGRAM // 2), room))
    highest = max(counts)
    bars = "".join(ramp[_level(count, highest, ramp)] for count in counts)
    wall = style.faint("|" if style.ascii_only else "│")
    drawn = f"{wall}{style.shade(bars)}{wall}"
    most_tiles = f"the highest bar is {amount(highest, 'tile')}"
    if not in_line:
        below = wrapped(f"from {least} to {most}; {most_tiles}", style.columns)
        return [f"{style.faint('tiles:')} {drawn}", *map(style.faint, below)]
    line = f"{style.faint('tiles:')} {least} {drawn} {most}"
    indent = min(len(f"tiles: {least} |"), style.columns - len(most_tiles))
    return [line, style.faint(f"{'':>{indent}}{most_tiles}")]


def _scale_text(tiles: TileMap, ramp: str) -> str:
    largest, unit = tiles.largest, tiles.unit
    if not largest:
        return f"scale: blank {unit(0)}"
    if tiles.base:
        parts = [f"{ramp[1]} from {unit(tiles.base)}", f"{ramp[-1]} up to {unit(largest)}"]
        parts += [f"! over {tiles.limit}"] if tiles.limit else []
        return f"scale from the least: {', '.join(parts)}"
    first = max(1, largest // (len(ramp) - 1))
    parts = [f"blank {unit(0)}"]
    if first < largest:
        parts.append(f"{ramp[_level(first, largest, ramp)]} up to {unit(first)}")
    parts.append(f"{ramp[-1]} up to {unit(largest)}")
    parts += [f"! over {tiles.limit}"] if tiles.limit else []
    return f"scale: {', '.join(parts)}"


def draw_map_svg(tiles: TileMap) -> SvgText:
    """Draw a tile map as SVG."""
    count = len(tiles.value)
    across = _tiles_across(count // tiles.ipus)
    rows = tiles.rows(across)
    side = min(36, MAP_WIDTH // across)
    left = round(MARGIN + 8 + text_width(f"{tiles.first + count - 1:,}", 11))
    top = MARGIN + 48 + 18 * len(tiles.notes)
    caption = IPU_CAPTION if tiles.ipus > 1 else 0
    tops = [top + number * side + (ipu + 1) * caption for number, (ipu, _, _) in enumerate(rows)]
    bottom = tops[-1] + side
    heading = cut(tiles.heading, LONGEST_HEADING)
    widest = max(text_width(heading, 16), *(text_width(s, 12) for s in tiles.notes))
    inner = max(across * side, SCALE_WIDTH, widest - left + MARGIN)
    below = BARS + 44 if tiles.has_histogram else 0
    canvas = Canvas(round(left + inner + MARGIN), bottom + 62 + below, title=tiles.heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    for k, line in enumerate(tiles.notes):
        kind = "line ink" if line.startswith("!") else "line soft"
        canvas.text(MARGIN, MARGIN + 36 + 18 * k, line, kind)
    for column in range(0, across, 8 if across > 16 else 4):
        canvas.text(left + column * side + side / 2, top - 6, f"+{column}", "small soft mid")
    for (ipu, first, _), y in zip(rows, tops, strict=True):
        if caption and first == ipu * (count // tiles.ipus):
            canvas.text(left, y - 7, f"IPU {ipu}", "soft")
        canvas.text(left - 8, y + side / 2 + 3, f"{tiles.first + first:,}", "soft end")
    for (_, first, stop), y in zip(rows, tops, strict=True):
        _squares(canvas, tiles, range(first, stop), side, left, y)
    _scale(canvas, tiles, left, bottom + 24)
    if tiles.has_histogram:
        canvas.open("aside")  # of no tile: Home and End in a page go past it
        _histogram(canvas, tiles, left, bottom + 72)
        canvas.close()
    return canvas.text_of()


def _tiles_across(tiles: int) -> int:
    if tiles <= 16:
        return tiles
    return 16 if tiles <= 256 else 32 if tiles <= 1024 else LONGEST_LINE


def _squares(canvas: Canvas, tiles: TileMap, row: range, side: int, left: float, y: float) -> None:
    largest = tiles.largest
    gap = 1 if side < 20 else 2
    for tile in row:
        value, over, tip = int(tiles.value[tile]), bool(tiles.over[tile]), tiles.tips[tile]
        x = left + (tile - row.start) * side
        kind = "over" if over else f"q{ramp_step(value, largest, tiles.base)}" if value else "none"
        number = tiles.first + tile
        canvas.rect(x, y, side - gap, side - gap, kind, tip=f"tile {number}: {tip}")
        if over or side >= NUMBERED_SIDE:
            label = f"{number}!" if over else f"{number}"
            label = label if side >= NUMBERED_SIDE else "!"
            ink = "bang" if over else f"i{kind[1:]}" if value else "soft"
            canvas.text(x + (side - gap) / 2, y + side / 2 + 3, label, f"{ink} mid")


def _histogram(canvas: Canvas, tiles: TileMap, left: float, y: float) -> None:
    """Draw how many tiles have how much, each bar in the colour of its tiles."""
    counts, least, most = tiles.bins(HISTOGRAM), int(tiles.value.min()), tiles.largest
    highest, side = max(counts), 12
    canvas.text(left, y, f"tiles by quantity; the highest bar is {amount(highest, 'tile')}", "soft")
    bottom = y + 10 + BARS
    for k, count in enumerate(counts):
        middle = least + (most - least) * (2 * k + 1) // (2 * HISTOGRAM)
        kind = f"q{ramp_step(middle, most, tiles.base)}" if most > tiles.base else "none"
        high = BARS * count / highest
        tip = f"{amount(count, 'tile')} near {tiles.unit(middle)}"
        canvas.rect(left + k * side, bottom - high, side - 1, high, kind, tip=tip)
    canvas.text(left, bottom + 14, tiles.unit(least), "small soft")
    canvas.text(left + HISTOGRAM * side, bottom + 14, tiles.unit(most), "small soft end")


def _scale(canvas: Canvas, tiles: TileMap, left: float, y: float) -> None:
    largest, unit = tiles.largest, tiles.unit
    step, bar_left = 18, left + 25 + round(text_width(unit(0), 11))
    canvas.rect(left, y, 12, 12, "none")
    canvas.text(left + 17, y + 10, unit(0), "soft")
    low = tiles.base or max(1, largest // len(RAMP))
    first = (
        ramp_step(low, largest, tiles.base) if largest else 0
    )  # few distinct integers take few of the steps
    bar_right = bar_left + (len(RAMP) - first) * step
    if largest:
        for k in range(first, len(RAMP)):
            canvas.rect(bar_left + (k - first) * step, y, step, 12, f"q{k}")
        label = f"up to {unit(low)}" if first == 0 and not tiles.base else unit(low)
        canvas.text(bar_left, y + 26, label, "soft")
        if low < largest:
            canvas.text(bar_right, y + 26, unit(largest), "soft end")
    if tiles.limit:
        over_left = bar_right + 24
        canvas.rect(over_left, y, 12, 12, "over")
        canvas.text(over_left + 6, y + 10, "!", "bang mid")
        canvas.text(over_left + 17, y + 10, f"over {tiles.limit}", "soft")
