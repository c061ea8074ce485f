"""The regions picture as text: a block a frame, with its elements and its intervals.

2  reverse(0): float32[4], 4 intervals of 1 element (were 1 of 4)
   on 1 tile (0); not contiguous: a vertex field is gathered from 4 places

   3 2 1 0

   elements  interval  tile
   [0, 1)    x[3, 4)      0
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.viz.draw.columns import cells, cut, wrapped
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.regions.frames import Frame, RegionFrames, Strip
from poplite.viz.regions.words import captions

INDENT = 3

MOST_ELEMENTS = 256
"""Elements of the largest result that is written out."""

SHOWN_INTERVALS = 12


def draw_regions_text(shown: RegionFrames, style: Style = DEFAULT_STYLE) -> str:
    """Draw frames as text.

    >>> from poplite.graph import Graph
    >>> from poplite.viz.regions.frames import frames_of, read_operation
    >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
    >>> text = draw_regions_text(frames_of(x, [read_operation("reverse 0")]))
    >>> print(text.splitlines()[-4])
       [0, 1)    x[3, 4)      0
    """
    width = style.columns
    lines = [style.bold(line) for line in wrapped(shown.title, width)]
    times = "x" if style.ascii_only else "\u00d7"
    for number, frame in enumerate(shown.frames):
        head, *more = captions(shown, number, times=times)
        first, *rest = wrapped(head, width - INDENT)
        lines += ["", f"{number + 1:<{INDENT}}{style.bold(first)}"]
        body = [*(style.bold(line) for line in rest)]
        body += [part for line in more for part in wrapped(line, width - INDENT)]
        body += _elements(frame, shown.strip, style)
        body += _table(frame, shown.strip, style)
        lines += [f"{' ' * INDENT}{line}".rstrip() for line in body]
    return "\n".join(lines) + "\n"


def _elements(frame: Frame, strip: Strip, style: Style) -> list[str]:
    """Return the result as numbers of the elements of its variable, where it has room."""
    if not 0 < frame.num_elements <= MOST_ELEMENTS:
        return []
    ends = zip(frame.begin.tolist(), frame.length.tolist(), strict=True)
    labels = [element_text(strip, p) for b, n in ends for p in range(b, b + n)]
    columns = frame.shape[-1] if frame.shape else 1
    room = max(map(len, labels))
    if columns * (room + 1) - 1 > style.columns - INDENT:
        return []
    rows = [labels[k : k + columns] for k in range(0, len(labels), columns)]
    block = frame.shape[-2] if len(frame.shape) > 2 else len(rows)
    lines = []
    for k, row in enumerate(rows):
        lines += [""] if k % block == 0 else []
        lines.append(" ".join(f"{label:>{room}}" for label in row))
    return lines


def element_text(strip: Strip, position: int) -> str:
    """Return the number of an element in its variable; of several variables, with its name.

    >>> from poplite.viz.regions.frames import TileRuns
    >>> nothing = np.empty(0, np.int64)
    >>> element_text(Strip(("a", "b"), np.array([0, 6, 9]), TileRuns(nothing, nothing, nothing)), 7)
    'b1'
    """
    variable = strip.variable_at(position)
    number = position - int(strip.first[variable])
    if len(strip.names) == 1:
        return f"{number}"
    return f"{cut(strip.names[variable].rpartition('/')[2], 6)}{number}"


def _table(frame: Frame, strip: Strip, style: Style) -> list[str]:
    count = frame.num_intervals
    if not count:
        return []
    shown = count if style.full or count <= SHOWN_INTERVALS else SHOWN_INTERVALS - 1
    begin, length = frame.begin[:shown], frame.length[:shown]
    at = np.cumsum(length) - length
    columns = [
        ("elements", *_intervals(at, length)),
        ("interval", *strip.interval_texts(begin, length)),
        ("tile", *strip.tiles_texts(begin, length)),
    ]
    room = style.columns - INDENT
    wide = [max(map(cells, column)) for column in columns]
    wide[1] = min(wide[1], room - wide[0] - wide[2] - 4)
    own, interval, on = columns
    lines = [
        f"{_padded(a, wide[0])}  {_padded(cut(b, wide[1]), wide[1])}  {c:>{wide[2]}}"
        for a, b, c in zip(own, interval, on, strict=True)
    ]
    more = f"... {count - shown:,} more; -o FILE.txt writes them all" if shown < count else ""
    return ["", style.faint(lines[0]), *lines[1:], *(wrapped(more, room) if more else [])]


def _intervals(begin: Int64, length: Int64) -> list[str]:
    ends = zip(begin.tolist(), (begin + length).tolist(), strict=True)
    return [f"[{low:,}, {high:,})" for low, high in ends]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))
