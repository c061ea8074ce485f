"""What every tile needs, as text: bars, then what is on the fullest tile.

       16,744 B │▅▅▄▄▆▆▄▄▄▄██│
        8,372 B │████████████│

Where tiles are more than columns, a column shows the fullest of its tiles.  What is over the limit
stands above a line, as exclamation marks.
"""

from __future__ import annotations

from poplite.viz.draw.columns import cells, table_lines, widest, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import share_text, size_text
from poplite.viz.memory.kinds import painted
from poplite.viz.memory.memory_bars import MemoryBars

COLUMNS = (64, 32, 24, 16)
"""Columns of bars; the most that fit."""

WIDEST = 8
"""Columns of the bar of one tile."""

HIGH = 4
"""Lines of bars up to the limit."""

LEAST_SHARE = 0.5
"""Share of its memory from which on the fullest tile is drawn against all of it."""

EIGHTHS = " ▁▂▃▄▅▆▇█"
ASCII_EIGHTHS = " ..::==##"
FULL, ASCII_FULL = "█", "#"

WIDE = 72
"""Columns from which on the table tells of other tiles too."""

SHARE = 20
"""Columns of the largest bar in the table."""


def draw_memory_text(bars: MemoryBars, style: Style = DEFAULT_STYLE, *, top: int) -> str:
    """Draw what every tile needs as text, with the `top` largest things of the fullest tile."""
    width = style.columns
    emphasis = style.bold if bars.fits else style.warning
    lines = [emphasis(line) for line in wrapped(bars.heading, width)]
    lines += wrapped(bars.summary(), width)
    lines += ["", *_bars(bars, style), ""]
    lines += [style.bold(line) for line in wrapped(bars.place(), width)]
    lines += _parts(bars, style)
    lines += ["", *_things(bars, style, top)]
    return "\n".join(lines) + "\n"


class _Grid:
    """Where the bars are: rows of bytes, and columns of tiles."""

    def __init__(self, bars: MemoryBars, style: Style) -> None:
        most, limit = int(bars.needed.max()), bars.limit_bytes
        self.limit, self.style = limit, style
        self.scale = limit if most > LEAST_SHARE * limit else max(most, 1)
        self.above = min(HIGH, -(-max(0, most - limit) * HIGH // limit))
        rows = range(HIGH + self.above, 0, -1)
        self.labels = {row: size_text(self.scale * row // HIGH) for row in rows}
        if (top := HIGH + self.above) > HIGH and most * HIGH > limit * top:
            self.labels[top] = size_text(most)  # the highest bars are cut
        self.indent = max(map(len, self.labels.values())) + 2
        room = style.columns - self.indent - 2
        self.tiles = bars.columns(widest(COLUMNS, room))
        self.across = min(WIDEST, min(COLUMNS[0], room) // len(self.tiles))
        self.needed = [int(bars.needed[tiles].max()) for tiles in self.tiles]

    @property
    def length(self) -> int:
        """Cells of a line of bars."""
        return self.across * len(self.tiles)

    def line(self, row: int) -> str:
        """Return a line of bars; row 1 is the lowest."""
        cells = "".join(self._cell(size, row) * self.across for size in self.needed)
        return self.framed(self.labels[row], self.style.shade(cells))

    def framed(self, label: str, cells: str) -> str:
        """Return a line between walls, behind its label."""
        wall = self.style.faint("|" if self.style.ascii_only else "│")
        return f"{self.style.faint(label.rjust(self.indent - 1))} {wall}{cells}{wall}"

    def below(self, text: str) -> str:
        """Return a line below the bars."""
        indent = max(0, min(self.indent + 1, self.style.columns - len(text)))
        return self.style.faint(f"{'':>{indent}}{text}")

    def _cell(self, size: int, row: int) -> str:
        if row > HIGH:
            return "!" if size > self.limit and size * HIGH > self.limit * (row - 1) else " "
        eighths = ASCII_EIGHTHS if self.style.ascii_only else EIGHTHS
        filled = -(-size * HIGH * 8 // self.scale) - (row - 1) * 8
        return eighths[min(8, max(0, filled))]


def _bars(bars: MemoryBars, style: Style) -> list[str]:
    grid = _Grid(bars, style)
    lines = [grid.line(row) for row in grid.labels]
    if grid.scale == grid.limit:
        rule = ("-" if style.ascii_only else "╌") * grid.length
        lines.insert(grid.above, grid.framed("limit", style.faint(rule)))
    left, middle, right = bars.axis()
    room = max(len(middle) + 2, grid.length - len(left) - len(right))
    lines.append(grid.below(f"{left}{middle:^{room}}{right}"))
    if len(grid.tiles[0]) > 1:
        lines.append(grid.below(f"each column is the fullest of {len(grid.tiles[0]):,} tiles"))
    return lines


def _parts(bars: MemoryBars, style: Style) -> list[str]:
    tile, parts = bars.tile, bars.parts[::-1]
    here = [int(part.sizes[tile]) for part in parts]
    rows = [("bytes", "share", "mean of all", "most on a tile", "")]
    narrow = style.columns < WIDE
    for part, size in zip(parts, here, strict=True):
        most = int(part.sizes.argmax())
        share = share_text(size / int(bars.needed[tile]))
        mean = f"{round(float(part.sizes.mean())):,}"
        rows.append((f"{size:,}", share, mean, f"{part.sizes[most]:,} ({most:,})", part.name))
    shown = [(*row[:2], row[4]) if narrow else row for row in rows]
    heading, *lines = table_lines(shown, style.columns)
    wide = max(map(cells, lines)) + 2
    room = min(SHARE, style.columns - wide)
    full = ASCII_FULL if style.ascii_only else FULL
    for k, (part, size) in enumerate(zip(parts, here, strict=True)):
        bar = full * (-(-size * room // max(here)))
        if bar:
            painted_bar = painted(bar, part.category, style)
            lines[k] = f"{lines[k]}{' ' * (wide - cells(lines[k]))}{painted_bar}"
    return [style.faint(heading), *lines]


def _things(bars: MemoryBars, style: Style, top: int) -> list[str]:
    shown = bars.things[:top]
    rows = [("bytes", "live", "what lies there")]
    for thing in shown:
        what = " ".join(filter(None, [thing.name, thing.form, thing.place and f"({thing.place})"]))
        rows.append((f"{thing.bytes:,}", "always" if thing.always else "then", what))
    heading, *lines = table_lines(rows, style.columns)
    if hidden := bars.things[len(shown) :]:
        size = size_text(sum(thing.bytes for thing in hidden))
        lines.append(f"  ... {len(hidden):,} more, {size} in all")
    return [style.faint(heading), *lines]
