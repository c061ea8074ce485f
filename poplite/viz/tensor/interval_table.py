"""The interval table of a tensor: for each tile its elements, bytes and intervals.

Tiles that follow each other share a line when their intervals do: one after the other, or
the same ones moved by the same distance::

    tile      elements    bytes  intervals
    0-31  742-743 each  2,968-2,972 B  [0, 23,776) end to end
     0-3      512 each        2,048 B  [0, 32) [128, 160), then +32 a tile
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE
from poplite.viz.draw.columns import folded
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.tensor.ownership import Ownership

SHOWN_TILES = 40
LEAST_ROOM = 30
"""Cells; where the last column has less room, intervals take a line of their own."""
INDENT = 8


@frozen(eq=False)
class TileRow:
    """The intervals of one tile.

    Attributes:
        tile: its number, -1 for elements without a tile.
        begin: int64[n], first elements.
        length: int64[n], elements of each interval.
        in_view: how many of the elements are in the view.
    """

    tile: int
    begin: Int64
    length: Int64
    in_view: int

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        return int(self.length.sum())


def tile_rows(owned: Ownership) -> list[TileRow]:
    """Return a row for each tile that has elements, by number; elements without a tile last.

    >>> owned = Ownership(
    ...     "v", "int32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([5, 2]), None
    ... )
    >>> [(row.tile, row.elements) for row in tile_rows(owned)]
    [(2, 1), (5, 3)]
    """
    last = np.int64(np.iinfo(np.int64).max)
    order = np.argsort(np.where(owned.tile < 0, last, owned.tile), kind="stable")
    tile, begin, length = owned.tile[order], owned.begin[order], owned.length[order]
    cuts = np.flatnonzero(np.diff(tile, prepend=tile[:1] - 1)).tolist()
    viewed_tile, viewed_length = owned.pieces_in_view()
    seen = np.bincount(viewed_tile + 1, viewed_length, int(tile.max(initial=0)) + 2)
    return [
        TileRow(int(tile[a]), begin[a:b], length[a:b], int(seen[tile[a] + 1]))
        for a, b in zip(cuts, [*cuts[1:], len(tile)], strict=True)
    ]


def interval_table(owned: Ownership, style: Style = DEFAULT_STYLE) -> list[str]:
    """Return a heading, and a line for each tile or series of tiles.

    >>> runs = np.arange(0, 8, 2), np.full(4, 2), np.arange(4)
    >>> for line in interval_table(Ownership("v", "int32", 4, (8,), *runs, None)):
    ...     print(line)
      tile  elements  bytes  intervals
       0-3    2 each    8 B  [0, 8) end to end
    """
    width, groups = style.columns, list(_series(tile_rows(owned)))
    shown = groups
    if not style.full and len(groups) > SHOWN_TILES:
        groups.sort(key=lambda group: group[0].in_view == 0)  # those in the view are kept
        shown = groups[: SHOWN_TILES - 1]
    heading = ["tile", "elements", "bytes", *(["in view"] if owned.view else [])]
    body = [_cells(group, owned) for group in shown]
    widths = [max(len(row[k]) for row in [heading, *body]) for k in range(len(heading))]
    lead = [_aligned(row, widths) for row in [heading, *body]]
    beside = width - len(lead[0]) - 2 >= LEAST_ROOM
    gap = "  " if beside else "\n" + " " * INDENT
    room = width - (len(lead[0]) + 2 if beside else INDENT)
    texts = [f"{lead[0]}{gap}intervals"]
    texts += [
        f"{t}{gap}{_intervals(group, room)}" for t, group in zip(lead[1:], shown, strict=True)
    ]
    table = [[part for line in t.splitlines() for part in folded(line, width)] for t in texts]
    lines = [*map(style.faint, table[0]), *(line for row in table[1:] for line in row)]
    hidden = sum(len(group) for group in groups[len(shown) :])
    if hidden:
        lines += folded(f"  ... {hidden:,} more tiles; -o FILE.txt writes them all", width)
    return lines


def _aligned(cells: list[str], widths: list[int]) -> str:
    padded = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  " + "  ".join(padded)


def _series(rows: list[TileRow]) -> Iterator[list[TileRow]]:
    """Group tiles that follow each other and whose intervals make a series."""
    group: list[TileRow] = []
    for row in rows:
        if group and not _joins(group, row):
            yield from _worthwhile(group)
            group = []
        group.append(row)
    yield from _worthwhile(group)


def _joins(group: list[TileRow], row: TileRow) -> bool:
    last = group[-1]
    if row.tile != last.tile + 1:
        return False
    if _follows(last, row):
        return len(group) == 1 or _follows(group[-2], last)
    distance = _distance(last, row)
    return distance is not None and (len(group) == 1 or _distance(group[-2], last) == distance)


def _follows(row: TileRow, after: TileRow) -> bool:
    """Whether one interval ends where the other begins; both in the view, or neither."""
    single = len(row.begin) == 1 == len(after.begin)
    if not single or row.begin[0] + row.length[0] != after.begin[0]:
        return False
    nothing = row.in_view == 0 == after.in_view
    return nothing or (row.in_view == row.elements and after.in_view == after.elements)


def _distance(row: TileRow, after: TileRow) -> int | None:
    """Return how far the intervals are moved, or None when they differ otherwise."""
    if row.in_view != after.in_view or not np.array_equal(row.length, after.length):
        return None
    moved = after.begin - row.begin
    return int(moved[0]) if (moved == moved[0]).all() else None


def _worthwhile(group: list[TileRow]) -> list[list[TileRow]]:
    """Keep two tiles separate unless they join: a series of two says little."""
    if len(group) == 2 and not _follows(*group):
        return [[row] for row in group]
    return [group] if group else []


def _cells(group: list[TileRow], owned: Ownership) -> list[str]:
    row = group[0]
    several = len(group) > 1
    sizes = [member.elements for member in group]
    tiles = f"{row.tile}-{group[-1].tile}" if several else f"{row.tile}"
    cells = [
        tiles if row.tile != NO_TILE else "none",
        f"{_span(sizes)}{' each' if several else ''}",
        f"{_span([size * owned.element_bytes for size in sizes])} B",
    ]
    return [*cells, _span([member.in_view for member in group])] if owned.view else cells


def _span(values: list[int]) -> str:
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,}-{most:,}"


def _intervals(group: list[TileRow], room: int) -> str:
    """Write as many intervals as there is room for, and count the rest."""
    row, count = group[0], len(group[0].begin)
    if len(group) > 1 and _follows(*group[:2]):
        end = group[-1].begin[0] + group[-1].length[0]
        return f"[{row.begin[0]:,}, {end:,}) end to end"[:room]
    moved = f", then {group[1].begin[0] - row.begin[0]:+,} a tile" if len(group) > 1 else ""
    text = ""
    for k in range(count):
        interval = f"[{row.begin[k]:,}, {row.begin[k] + row.length[k]:,})"
        longer = f"{text} {interval}" if text else interval
        rest = f" and {count - k - 1:,} more" if k + 1 < count else ""
        if text and len(longer) + len(rest) + len(moved) > room:
            text += f" and {count - k:,} more"
            break
        text = longer
    text += moved
    return text if len(text) <= room else f"{text[: room - 3]}..."
