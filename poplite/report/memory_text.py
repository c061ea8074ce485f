"""The memory of tiles as lines of text: totals, by category, and how many tiles hold how much.

Range (KB) Histogram                                Count (tiles)
     4 - 5 *******                                              1
     5 - 6 ****************************************             6
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from poplite.report.memory import Memory
from poplite.report.tile_memory import MemoryCategories

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation

STARS = 40
"""Of the longest bar of a histogram."""

MOST_BARS = 10

UNBALANCED = 1.25
"""What the fullest tile holds, of the mean, beyond which the fullest tiles are shown."""

FULLEST, LARGEST = 5, 4
"""How many tiles, and how many kinds of what lies there."""


def rows_text(rows: Mapping[str, str]) -> list[str]:
    """Return names and values in two columns, values to the right.

    Args:
        rows: values by name.

    >>> rows_text({"Tiles": "1,472", "Clock": "1,330.0 MHz"})
    ['Tiles:   1,472', 'Clock: 1,330.0 MHz']
    """
    width = max(len(name) for name in rows) + 2
    number = max(len(value.split(" ")[0]) for value in rows.values())
    return [
        f"{name + ':':<{width}}{' ' * (number - len(value.split(' ')[0]))}{value}"
        for name, value in rows.items()
    ]


def memory_text(compilation: Compilation) -> list[str]:
    """Return what the memory of tiles holds, a line each.

    Args:
        compilation: of a report in which memory is modelled.
    """
    memory, limit = compilation.memory, compilation.target.tile_memory_bytes
    totals = {
        "Including Gaps": f"{memory.including_gaps.total:,} B",
        "Excluding Gaps": f"{memory.excluding_gaps.total:,} B",
    }
    used = {name: each.total for name, each in memory.categories().items() if each.total}
    by_type = {name.replace("_", " "): f"{total:,} B" for name, total in used.items()}
    return [
        "Total:",
        *(f"  {line}" for line in rows_text(totals)),
        *(["By Data Type:"] if by_type else []),
        *(f"  {line}" for line in (rows_text(by_type) if by_type else [])),
        "By Tile (Including Gaps):",
        *(f"  {line}" for line in _histogram(memory)),
        *(f"  {line}" for line in _fullest(memory)),
        f"  {memory.num_over(limit):,} tile(s) out of memory",
        *_fullest_tiles(memory),
    ]


def _fullest_tiles(memory: Memory) -> list[str]:
    """Return what lies on the fullest tiles, where some hold much more than others."""
    used = memory.including_gaps
    if used.most <= UNBALANCED * used.mean:
        return []
    order, tiles = np.argsort(-used.array(), kind="stable"), memory.tiles()
    rows = {
        f"Tile {tile:,}": f"{used[tile]:,} B: {_largest(tiles[tile].category)}"
        for tile in order[:FULLEST].tolist()
    }
    return ["Fullest Tiles (Including Gaps):", *(f"  {line}" for line in rows_text(rows))]


def _largest(kinds: MemoryCategories) -> str:
    """Return the kinds of things that take most of a tile."""
    found = sorted(kinds.items(), key=lambda kind: -kind[1].total)[:LARGEST]
    return ", ".join(f"{name.replace('_', ' ')} {each.total:,}" for name, each in found)


def _fullest(memory: Memory) -> Iterator[str]:
    for name, each in (
        ("Including Gaps", memory.including_gaps),
        ("Excluding Gaps", memory.excluding_gaps),
        ("Always Live", memory.always_live),
        ("Not Always Live", memory.not_always_live),
    ):
        where = "" if each.worst_tile is None else f" on tile {each.worst_tile:,}"
        yield f"Maximum ({name}): {each.most:,} B{where}"


def _histogram(memory: Memory) -> list[str]:
    """Return bars of how many tiles hold how much."""
    kilobytes = memory.including_gaps.array() / 1024
    width = _bar_width(float(kilobytes.min()), float(kilobytes.max()))
    number, counts = np.unique((kilobytes // width).astype(np.int64), return_counts=True)
    first = int(number[0])
    tiles = np.zeros(int(number[-1]) - first + 1, np.int64)
    tiles[number - first] = counts
    bars = [f"{(first + k) * width:,} - {(first + k + 1) * width:,}" for k in range(len(tiles))]
    left = max(len("Range (KB)"), *map(len, bars))
    lines = [f"{'Range (KB)':>{left}} {'Histogram':<{STARS}} Count (tiles)"]
    for bar, count in zip(bars, tiles.tolist(), strict=True):
        stars = "*" * -(-count * STARS // int(tiles.max()))
        lines.append(f"{bar:>{left}} {stars:<{STARS}} {count:>13,}")
    return lines


def _bar_width(least: float, most: float) -> int:
    """Return the least of 1, 2, 5, 10, 20, ... kilobytes that leaves few bars."""
    width = 1
    for factor in (2, 2.5, 2) * 12:
        if most // width - least // width < MOST_BARS:
            break
        width = round(width * factor)
    return width
