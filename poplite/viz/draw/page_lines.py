"""A tensor on a page as text: lines of what lies on which tile.

Rows that look the same are one line; tiles too narrow for their number are joined::

         0                16               32               48
       0 │0               │1               │2               │3               │
      16 │4               │5               │6               │7               │
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.viz.draw.columns import wrapped
from poplite.viz.draw.flat_page import Page, Rectangles, tick_step
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style

SHOWN_LINES = 40
LINES_BEFORE = 3
"""Lines shown before the view's first one when there are too many."""
WIDEST_ELEMENT = 8
"""Columns of text for one element, at most."""


def page_lines(
    page: Page, tiles: Rectangles, view: Rectangles | None, style: Style = DEFAULT_STYLE
) -> list[str]:
    """Return a page as lines, with what is in a view, and what its characters mean.

    >>> from poplite.viz.draw.flat_page import fold, rectangles
    >>> page = rectangles(np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), 4)
    >>> for line in page_lines(fold((4,)), page, None, Style(ascii_only=True)):
    ...     print(line)
       0       1       2       3
    0 |0                      |///////|
    <BLANKLINE>
    numbers are tiles, / unmapped
    """
    full, part = _VIEW_MARKS[style.ascii_only]
    said = ["numbers are tiles", *(["/ unmapped"] if (tiles.value < 0).any() else [])]
    said += [f"{full} in the view", f"{part} partly in the view"] if view else []
    legend = [style.faint(line) for line in wrapped(", ".join(said), style.columns)]
    return [*_picture(page, tiles, view, style), "", *legend]


_VIEW_MARKS = {False: ("█", "▒"), True: ("#", "+")}


@frozen
class _Ruler:
    """Turns columns of the page into columns of text."""

    columns: int
    width: int

    def at(self, column: Int64) -> Int64:
        return column * self.width // self.columns

    def covered(self) -> tuple[Int64, Int64]:
        """First page column of every text column, and one past the last."""
        text = np.arange(self.width)
        if self.width >= self.columns:
            low = text * self.columns // self.width
            return low, low + 1
        edges = -(-np.arange(self.width + 1) * self.columns // self.width)
        return edges[:-1], edges[1:]


def _picture(page: Page, tiles: Rectangles, view: Rectangles | None, style: Style) -> list[str]:
    turns = [tiles.top, tiles.bottom, *([view.top, view.bottom] if view else [])]
    starts = np.unique(np.concatenate(turns))
    starts = starts[starts < page.rows]
    first, stop = (0, len(starts)) if style.full else _window(starts, view)
    labels = [page.row_label(row) for row in starts[first:stop].tolist()]
    margin = max(len(label) for label in labels)
    room = style.columns - margin - 3
    element = min(WIDEST_ELEMENT, room // page.columns)
    ruler = _Ruler(page.columns, page.columns * element if element else room)
    rows = [_across(tiles, row) for row in starts[first:stop].tolist()]
    views = [_across(view, row) if view else None for row in starts[first:stop].tolist()]
    need = _least_room(rows, ruler) + (view is not None)
    lines = [style.faint(" " * (margin + 2) + _ticks(page, ruler))]
    lines += [f"... {first:,} lines before"] if first else []
    for label, row, seen in zip(labels, rows, views, strict=True):
        lines.append(style.faint(f"{label:>{margin}} ") + _row(row, seen, ruler, need, style))
    if stop < len(starts):
        begin = page.row_label(int(starts[stop]))
        more = f"{len(starts) - stop:,} more lines, from {begin} on"
        lines += wrapped(f"... {more}; -o FILE.txt writes them all", style.columns)
    return lines


def _window(starts: Int64, view: Rectangles | None) -> tuple[int, int]:
    """Return which lines are drawn when there are too many: the first, or the view's."""
    if len(starts) <= SHOWN_LINES:
        return 0, len(starts)
    first = 0 if view is None else int(np.searchsorted(starts, view.top.min())) - LINES_BEFORE
    first = max(0, min(first, len(starts) - SHOWN_LINES))
    return first, first + SHOWN_LINES - 1


def _ticks(page: Page, ruler: _Ruler) -> str:
    extent = page.columns // page.column_unit
    step = tick_step(extent, max(1, ruler.width // 8)) * page.column_unit
    text = ""
    for column in range(0, page.columns, step):
        place = column * ruler.width // page.columns
        label = page.column_label(column)
        if place >= len(text) and place + len(label) <= ruler.width + 1:
            text = text.ljust(place) + label + " "
    return text.rstrip()


def _across(page: Rectangles, row: int) -> Rectangles:
    """Return the rectangles that a row cuts, from left to right."""
    keep = np.flatnonzero((page.top <= row) & (row < page.bottom))
    keep = keep[np.argsort(page.left[keep])]
    return Rectangles(
        page.top[keep], page.bottom[keep], page.left[keep], page.right[keep], page.value[keep]
    )


def _row(tiles: Rectangles, view: Rectangles | None, ruler: _Ruler, need: int, style: Style) -> str:
    bar = style.faint("|" if style.ascii_only else "│")
    marks = _marks(tiles, view, ruler, style)
    text = ""
    for first, last, start, stop in _segments(tiles, ruler, need):
        group = tiles.value[first:last]
        label = _label(group)[: stop - start - 1]
        body = label + "".join(marks[start + 1 + len(label) : stop])
        outside = view is not None and not body.strip("/ ").removeprefix(label)
        plain = outside or group[0] < 0
        text += bar + (style.faint(body) if plain else style.category(body, int(group[0])))
    return text + bar


def _marks(tiles: Rectangles, view: Rectangles | None, ruler: _Ruler, style: Style) -> list[str]:
    """Return for each text column whether it is in the view, unmapped or blank."""
    low, high = ruler.covered()
    lost = tiles.value < 0
    missing = _count(tiles.left[lost], tiles.right[lost], low, high)
    marks = np.where(missing * 2 >= high - low, "/", " ")
    if view is not None:
        full, part = _VIEW_MARKS[style.ascii_only]
        seen = _count(view.left, view.right, low, high)
        marks = np.where(seen >= high - low, full, np.where(seen > 0, part, marks))
    return list(marks)


def _count(left: Int64, right: Int64, low: Int64, high: Int64) -> Int64:
    """Count the elements of each `[low, high)` that lie in disjoint, rising intervals."""
    if not len(left):
        return np.zeros_like(low)
    total = np.concatenate([[0], np.cumsum(right - left)])

    def before(column: Int64) -> Int64:
        k = np.searchsorted(left, column, side="right") - 1
        inside = np.clip(column - left[k], 0, right[k] - left[k])
        return np.where(k < 0, 0, total[k] + inside)

    return before(high) - before(low)


def _least_room(rows: list[Rectangles], ruler: _Ruler) -> int:
    """Return the width of a segment at which every label fits, bar included."""
    need = 2
    while True:
        wanted = need
        for row in rows:
            for first, last, start, stop in _segments(row, ruler, need):
                length = 1 + len(_label(row.value[first:last]))
                if length > stop - start:
                    wanted = max(wanted, length)
        if wanted == need or wanted > ruler.width:
            return need
        need = wanted


def _segments(tiles: Rectangles, ruler: _Ruler, need: int) -> list[tuple[int, int, int, int]]:
    """Join neighbours until each segment is as wide as needed.

    Each is `(first, last, start, stop)`: rectangles `first:last`, text columns `start:stop`.
    """
    left = ruler.at(tiles.left)
    cuts = np.flatnonzero(np.diff(left, prepend=-1))
    bounds = [*cuts.tolist(), len(left)]
    places = [*left[cuts].tolist(), int(ruler.at(tiles.right[-1:])[0])]
    segments: list[tuple[int, int, int, int]] = []
    begin = 0
    for k in range(1, len(bounds)):
        if places[k] - places[begin] >= need:
            segments.append((bounds[begin], bounds[k], places[begin], places[k]))
            begin = k
    if begin < len(cuts):  # the rest has no room of its own
        first, _, start, _ = segments.pop() if segments else (0, 0, 0, 0)
        segments.append((first, bounds[-1], start, places[-1]))
    return segments


def _label(tiles: Int64) -> str:
    """Return the tile of a segment, or its tiles in short."""
    if len(tiles) == 1:
        return f"{tiles[0]}" if tiles[0] >= 0 else ""
    if (np.diff(tiles) == 1).all() and tiles[0] >= 0:
        return f"{tiles[0]}-{tiles[-1]}"
    known = np.unique(tiles[tiles >= 0])
    return f"{len(known):,} tiles" if len(known) > 1 else f"{known[0]}.." if len(known) else ""
