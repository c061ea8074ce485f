"""What a tile needs in each step, as text: a row each, with a bar and its largest thing.

liveness of tile 0, the fullest: 6,922 B always live, and
  3  Execute 'expand'        96 B         █████████████████▊    'hit' 48 B
  4  Execute 'reach/final'  108 B ◂ peak  ████████████████████  'hit' 48 B
"""

from __future__ import annotations

from poplite.viz.draw.columns import LEAST_NAME, LEFT_TO_RIGHT, cells, cut, folded, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import size_text
from poplite.viz.liveness.live_steps import LiveRow, LiveSteps

BAR = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
NARROW = 60
"""Columns below which there is no room for the largest things."""

MOST_ROWS = 40
"""Steps that are written to a terminal."""


def draw_liveness_text(live: LiveSteps, style: Style = DEFAULT_STYLE) -> str:
    """Draw what a tile needs in each step as text."""
    width = style.columns
    lines = [style.bold(line) for line in wrapped(live.heading, width)]
    shown = live.rows if style.full else live.rows[:MOST_ROWS]
    if live.rows:
        lines += _rows(live, shown, style)
    if left := len(live.rows) - len(shown):
        lines += folded(f"  ... {left:,} more steps; --top {MOST_ROWS} shows the largest", width)
    lines += [f"  {live.hidden()}"] if live.hidden() else []
    paint = style.warning if live.total().startswith("!") else str
    lines += [paint(line) for line in wrapped(live.total(), width)]
    return "\n".join(lines) + "\n"


def _rows(live: LiveSteps, rows: tuple[LiveRow, ...], style: Style) -> list[str]:
    most = max(max(row.bytes for row in live.rows), 1)
    is_narrow = style.columns < NARROW
    peak = ("<" if style.ascii_only else "◂") + " peak" * (not is_narrow)
    numbers = [f"{row.number:,}" if row.number else "" for row in rows]
    sizes = [size_text(row.bytes) for row in rows]
    wide = (max(map(len, numbers)), max(map(len, sizes)))
    titles = [live.label(row) for row in rows]
    longest = max(map(cells, titles))
    largest = max(cells(row.largest) + len(size_text(row.largest_bytes)) + 1 for row in rows)
    largest, bars = (0, (BAR // 4,)) if is_narrow else (largest, (BAR, BAR // 2))
    room = style.columns - sum(wide) - len(peak) - 10 + 2 * is_narrow
    bar = next((n for n in bars if longest + largest + n <= room), bars[-1])
    room -= bar
    name = min(longest, max(room * 3 // 5, room - largest))
    lines = []
    for row, number, title, size in zip(rows, numbers, titles, sizes, strict=True):
        what = _largest(row, room - name) if row.largest and not is_narrow else ""
        mark = style.bold(peak) if row.is_peak else " " * len(peak)
        lines.append(
            f"  {style.faint(f'{number:>{wide[0]}}')}  {_padded(title, name)}  {size:>{wide[1]}} "
            f"{mark} {_bar(row.bytes, most, bar, style)}  {what}".rstrip()
        )
    return lines


def _largest(row: LiveRow, room: int) -> str:
    """Return the largest thing with its size; nothing where not even the size fits."""
    size = size_text(row.largest_bytes)
    left = room - cells(size) - 1
    return f"{cut(row.largest, left)} {size}" if left >= LEAST_NAME else ""


def _padded(text: str, room: int) -> str:
    shown = cut(text, room)
    return shown.replace(LEFT_TO_RIGHT, "") + " " * (room - cells(shown))


def _bar(size: int, most: int, room: int, style: Style) -> str:
    if style.ascii_only:
        filled = -(-size * room // most)
        return style.shade("#" * filled) + " " * (room - filled)
    eighths = -(-size * room * 8 // most)
    text = EIGHTHS[8] * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")
    return style.shade(text) + " " * (room - len(text))
