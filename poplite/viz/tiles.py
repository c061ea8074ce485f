"""The tile map: every tile of the target, shaded by what lies on it.

As text, 64 tiles a line::

       0 │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅        ▂▂▂▂▂▂▂▂│
      64 │██!

As SVG, a square a tile with a tooltip.  Both draw a `TileLoad` and compute nothing.
"""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from poplite.viz.colors import RAMP, ramp_step
from poplite.viz.load import TileLoad
from poplite.viz.svg import Canvas, SvgText, text_width
from poplite.viz.terminal import LEAST_COLUMNS, Style
from poplite.viz.words import size_text
from poplite.words import counted

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII_BLOCKS = " .:-=+*%#"
LONGEST_LINE = 64

MARGIN = 20
MAP_WIDTH = 768
SCALE_WIDTH = 430
NUMBERED_SIDE = 30
"""Side of a square, in pixels, from which its tile number is written into it."""


def draw_tiles_text(load: TileLoad, *, width: int = 80, style: Style | None = None) -> str:
    """Draw a tile map as text.

    Args:
        load: what lies on the tiles.
        width: columns to fit; under 60 counts as 60.
        style: colours and character set; plain UTF-8 when omitted.

    Returns:
        Lines, the last one ended.

    >>> load = TileLoad("x", np.array([1, 0, 2, 4]), np.array([4, 0, 8, 16]), 0, 12)
    >>> print(draw_tiles_text(load, style=Style(ascii_only=True)))
    bytes per tile: x
    28 B on 3 of 4 tiles (0, 2-3)
    most 16 B (tile 3), least 4 B (tile 0), mean 9 B a used tile
    ! 1 tile over its 12 B (3)
    <BLANKLINE>
      0 |: =!|
    <BLANKLINE>
    scale: blank 0 B, . up to 2 B, # up to 16 B, ! over 12 B
    <BLANKLINE>
    """
    style, width = style or Style(), max(width, LEAST_COLUMNS)
    ramp = ASCII_BLOCKS if style.ascii_only else BLOCKS
    bar = "|" if style.ascii_only else "│"
    tiles = len(load.size_bytes)
    label_width = max(3, len(f"{tiles - 1:,}"))
    room = width - label_width - 3
    a_line = next(n for n in (LONGEST_LINE, 32) if n <= room)
    cells = _shades(load, ramp)
    lines = [style.bold(line) for line in wrap(_heading(load), width)]
    lines += wrap(load.summary(), width) + wrap(load.balance(), width)
    lines += [style.warning(part) for line in load.warnings() for part in wrap(line, width)]
    lines.append("")
    for first in range(0, tiles, a_line):
        label = style.faint(f"{first:>{label_width},} {bar}")
        row = style.shade(cells[first : first + a_line])
        lines.append(f"{label}{row}{style.faint(bar)}")
    lines += ["", *(style.faint(line) for line in wrap(_scale_text(load, ramp), width))]
    return "\n".join(lines) + "\n"


def _heading(load: TileLoad) -> str:
    return f"bytes per tile: {load.title}"


def _shades(load: TileLoad, ramp: str) -> str:
    largest = max(1, int(load.size_bytes.max(initial=0)))
    level = -(-load.size_bytes * (len(ramp) - 1) // largest)
    marks = np.array(list(ramp))[level]
    return "".join(np.where(load.over, "!", marks))


def _scale_text(load: TileLoad, ramp: str) -> str:
    largest = int(load.size_bytes.max(initial=0))
    if not largest:
        return "scale: blank 0 B"
    first = size_text(max(1, largest // (len(ramp) - 1)))
    return (
        f"scale: blank 0 B, {ramp[1]} up to {first}, {ramp[-1]} up to {size_text(largest)}, "
        f"! over {size_text(load.limit_bytes)}"
    )


def draw_tiles_svg(load: TileLoad) -> SvgText:
    """Draw a tile map as SVG.

    Args:
        load: what lies on the tiles.

    Returns:
        The picture.

    >>> load = TileLoad("x", np.array([1, 0]), np.array([4, 0]), 0, 12)
    >>> "tile 0: 4 B, 1 element" in draw_tiles_svg(load)
    True
    """
    tiles = len(load.size_bytes)
    across = _tiles_across(tiles)
    down = -(-tiles // across)
    side = min(36, MAP_WIDTH // across)
    notes = [load.summary(), *filter(None, [load.balance()]), *load.warnings()]
    left = round(MARGIN + 8 + text_width(f"{tiles - 1:,}", 11))
    top = MARGIN + 48 + 18 * len(notes)
    heading = _heading(load)
    widest = max(text_width(heading, 16), *(text_width(line, 12) for line in notes))
    inner = max(across * side, SCALE_WIDTH, widest - left + MARGIN)
    canvas = Canvas(round(left + inner + MARGIN), top + down * side + 62, title=heading)
    canvas.text(MARGIN, MARGIN + 14, heading, "head ink")
    for k, line in enumerate(notes):
        kind = "line ink" if line.startswith("!") else "line soft"
        canvas.text(MARGIN, MARGIN + 36 + 18 * k, line, kind)
    for column in range(0, across, 8 if across > 16 else 4):
        canvas.text(left + column * side + side / 2, top - 6, f"+{column}", "small soft mid")
    for row in range(down):
        canvas.text(left - 8, top + row * side + side / 2 + 3, f"{row * across:,}", "soft end")
    _squares(canvas, load, across, side, left, top)
    _scale(canvas, load, left, top + down * side + 24)
    return canvas.text_of()


def _tiles_across(tiles: int) -> int:
    if tiles <= 16:
        return tiles
    return 16 if tiles <= 256 else 32 if tiles <= 1024 else LONGEST_LINE


def _squares(
    canvas: Canvas, load: TileLoad, across: int, side: int, left: float, top: float
) -> None:
    largest = int(load.size_bytes.max(initial=0))
    gap = 1 if side < 20 else 2
    numbers = zip(load.size_bytes.tolist(), load.elements.tolist(), load.over.tolist(), strict=True)
    for tile, (size, elements, over) in enumerate(numbers):
        x, y = left + tile % across * side, top + tile // across * side
        kind = "over" if over else f"q{ramp_step(size, largest)}" if size else "none"
        tip = f"tile {tile}: {size_text(size)}, {counted(elements, 'element')}"
        canvas.rect(x, y, side - gap, side - gap, kind, tip=tip)
        if over or side >= NUMBERED_SIDE:
            label = f"{tile}!" if over and side >= NUMBERED_SIDE else "!" if over else f"{tile}"
            ink = "bang" if over else f"i{kind[1:]}" if size else "soft"
            canvas.text(x + (side - gap) / 2, y + side / 2 + 3, label, f"{ink} mid")


def _scale(canvas: Canvas, load: TileLoad, left: float, y: float) -> None:
    largest = int(load.size_bytes.max(initial=0))
    step, bar_left = 18, left + 44
    canvas.rect(left, y, 12, 12, "none")
    canvas.text(left + 17, y + 10, "0 B", "soft")
    if largest:
        for k in range(len(RAMP)):
            canvas.rect(bar_left + k * step, y, step, 12, f"q{k}")
        low = max(1, largest // len(RAMP))
        canvas.text(bar_left, y + 26, f"up to {size_text(low)}", "soft")
        canvas.text(bar_left + len(RAMP) * step, y + 26, size_text(largest), "soft end")
    over_left = bar_left + len(RAMP) * step + 24
    canvas.rect(over_left, y, 12, 12, "over")
    canvas.text(over_left + 6, y + 10, "!", "bang mid")
    canvas.text(over_left + 17, y + 10, f"over {size_text(load.limit_bytes)}", "soft")
