"""The interval table of a tensor: for each tile its elements, bytes and intervals.

Tiles that follow each other with the same intervals, moved by the same distance, share a
line::

      tile  elements    bytes  intervals
      0-31  256 each  1,024 B  [0, 256), then +256 a tile
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.mapping import NO_TILE
from poplite.viz.ownership import Ownership
from poplite.viz.terminal import Style
from poplite.viz.words import size_text

Int64 = npt.NDArray[np.int64]

SHOWN_TILES = 40


@dataclass(frozen=True, slots=True, eq=False)
class TileRow:
    """The intervals of one tile.

    Attributes:
        tile: its number, -1 for elements without a tile.
        begin: int64[n], first elements.
        length: int64[n], elements of each interval.
        in_view: elements in the view.
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
    """Sort the runs of a tensor by tile.

    Args:
        owned: the tiles of its elements.

    Returns:
        A row for each tile that has elements, by number; elements without a tile last.

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


def interval_table(
    owned: Ownership, *, width: int = 80, style: Style | None = None, full: bool = False
) -> list[str]:
    """Return the table as lines.

    Args:
        owned: the tiles of a tensor's elements.
        width: columns to fit.
        style: colours; none when omitted.
        full: list all tiles, however many.

    Returns:
        A heading and a line for each tile or series of tiles.

    >>> runs = np.arange(0, 8, 2), np.full(4, 2), np.arange(4)
    >>> for line in interval_table(Ownership("v", "int32", 4, (8,), *runs, None)):
    ...     print(line)
      tile  elements     bytes  intervals
       0-3    2 each  8 B each  [0, 2), then +2 a tile
    """
    style = style or Style()
    groups = list(_series(tile_rows(owned)))
    shown = groups if full or len(groups) <= SHOWN_TILES else groups[: SHOWN_TILES - 1]
    heading = ["tile", "elements", "bytes", *(["in view"] if owned.view else [])]
    body = [_cells(group, owned) for group in shown]
    widths = [max(len(row[k]) for row in [heading, *body]) for k in range(len(heading))]
    lead = [_aligned(row, widths) for row in [heading, *body]]
    room = max(12, width - len(lead[0]) - 2)
    lines = [style.faint(f"{lead[0]}  intervals")]
    lines += [
        f"{text}  {_intervals(group, room)}" for text, group in zip(lead[1:], shown, strict=True)
    ]
    hidden = sum(len(group) for group in groups[len(shown) :])
    if hidden:
        lines.append(f"  ... {hidden:,} more tiles; -o FILE.txt writes them all")
    return lines


def _aligned(cells: list[str], widths: list[int]) -> str:
    padded = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  " + "  ".join(padded)


def _series(rows: list[TileRow]) -> Iterator[list[TileRow]]:
    """Group tiles that follow each other with the same intervals, evenly moved."""
    group: list[TileRow] = []
    for row in rows:
        if group and not _continues(group, row):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _continues(group: list[TileRow], row: TileRow) -> bool:
    last = group[-1]
    if row.tile != last.tile + 1 or row.in_view != last.in_view or last.tile == NO_TILE:
        return False
    if not np.array_equal(row.length, last.length):
        return False
    moved = row.begin - last.begin
    step = moved[0] if len(group) == 1 else last.begin[0] - group[-2].begin[0]
    return bool((moved == step).all())


def _cells(group: list[TileRow], owned: Ownership) -> list[str]:
    row = group[0]
    each = " each" if len(group) > 1 else ""
    tiles = f"{row.tile}-{group[-1].tile}" if each else f"{row.tile}"
    cells = [
        tiles if row.tile >= 0 else "none",
        f"{row.elements:,}{each}",
        f"{size_text(row.elements * owned.element_bytes)}{each}",
    ]
    return [*cells, f"{row.in_view:,}{each}"] if owned.view else cells


def _intervals(group: list[TileRow], room: int) -> str:
    """Write as many intervals as there is room for, and count the rest."""
    row = group[0]
    moved = f", then {group[1].begin[0] - row.begin[0]:+,} a tile" if len(group) > 1 else ""
    text, count = "", len(row.begin)
    for k in range(count):
        interval = f"[{row.begin[k]:,}, {row.begin[k] + row.length[k]:,})"
        longer = f"{text} {interval}" if text else interval
        rest = f" and {count - k - 1:,} more" if k + 1 < count else ""
        if text and len(longer) + len(rest) + len(moved) > room:
            return f"{text} and {count - k:,} more{moved}"
        text = longer
    return text + moved
