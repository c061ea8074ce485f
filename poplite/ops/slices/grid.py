"""How tiles share a table whose rows are read or changed by number: the cheapest way is searched.

    columns = 2, parts = 3                     a table [entries, width]

        +-------+-------+                      a block of columns lies row after row in memory; a
        | 0, 0  | 1, 0  |                      part of its rows is what a tile has
        +-------+-------+
        | 0, 1  | 1, 1  |                      reading   each part gives rows of 0 for others, and
        +-------+-------+                                their bits are added up; or one part is
        | 0, 2  | 1, 2  |                                sent to several tiles, which share indices
        +-------+-------+                      changing  each part looks at all indices, or at its
                                                         own ones of a list

Prices are those of the vertices, and bytes at the rate of the exchange. What does not fit into a
tile's memory is taken only where nothing does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.machine.target import Target
from poplite.types import UNSIGNED_INT, UNSIGNED_SHORT, ElementType
from poplite.vertices.estimators.rows import gather_rows, list_rows, update_listed, update_rows

Element = type[ElementType[Any]]

INDEX_BYTES = UNSIGNED_INT.size_bytes

SIZES_TRIED = 14
"""Numbers of parts that are tried, from 1 up to all tiles."""

LISTS_TRIED = (1, 2, 4, 8, 16)
"""Parts of the list of each pass: more of them are sorted at once, and take longer to read."""

LISTED_BYTES = 2 * UNSIGNED_SHORT.size_bytes
"""Of an index in a list: its row, and its place."""

MOST_LISTED = 1 << 16
"""Rows of an owner, and indices of a part of a list."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is known of a table before it is shared out.

    Attributes:
        target: the machine.
        element: the element type.
        entries: its rows.
        width: elements of a row.
        memory: the share of a tile's memory that may be used.
    """

    target: Target
    element: Element
    entries: int
    width: int
    memory: float = 0.8

    def tiles(self, columns: int) -> int:
        """Return the tiles that there are for each block of columns."""
        return max(1, self.target.tiles // columns)

    def parts_to_try(self, columns: int) -> list[int]:
        """Return numbers of parts of the rows."""
        most = min(self.entries, self.tiles(columns))
        sizes: list[int] = (
            np.unique(np.geomspace(1, most, SIZES_TRIED).round()).astype(int).tolist()
        )
        return sizes

    def moved(self, received: float) -> float:
        """Return the cycles in which a tile receives some bytes."""
        cost = self.target.cost
        start = cost("sync_cycles") + cost("latency_cycles")
        return float(start + received / self.target.exchange_bytes_per_cycle)

    def excess(self, held: float) -> float:
        """Return the bytes of a tile, where they are too many, else 0."""
        return held if held > self.memory * self.target.tile_memory_bytes else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to read rows.

    Attributes:
        columns: blocks of columns.
        parts: of the rows; above 1, results are added up.
        shares: of the indices, each with a copy of the part.
        cycles: of all.
        bytes: of the fullest tile.
    """

    columns: int
    parts: int
    shares: int
    cycles: int
    bytes: int

    def __str__(self) -> str:
        by = f"{self.columns:,} x {self.parts:,} x {self.shares:,}"
        return f"read   {by} columns, rows, shares: {self.cycles:,} cycles, {self.bytes:,} B"


@dataclass(frozen=True, slots=True)
class Changing:
    """A way to change rows.

    Attributes:
        columns: blocks of columns.
        parts: of the rows.
        passes: over the indices, one after the other.
        lists: parts of the list of a pass; 0 where each vertex looks at all indices.
        cycles: of all.
        bytes: of the fullest tile.
    """

    columns: int
    parts: int
    passes: int
    lists: int
    cycles: int
    bytes: int

    def __str__(self) -> str:
        by = f"{self.columns:,} x {self.parts:,} x {self.passes:,}"
        how = f"{self.lists:,} lists each" if self.lists else "looking at all indices"
        return f"change {by} columns, rows, passes, {how}: {self.cycles:,} cycles, {self.bytes:,} B"


def rank(table: Table, way: Reading | Changing) -> tuple[float, ...]:
    """Return what is least for the best way."""
    return table.excess(way.bytes), way.cycles, way.columns * way.parts, way.bytes


def blocks_to_try(width: int, tiles: int) -> list[int]:
    """Return numbers of blocks of columns: those of equal width.

    >>> blocks_to_try(12, 1472)
    [1, 2, 3, 4, 6, 12]
    """
    return [n for n in range(1, min(width, tiles) + 1) if width % n == 0]


@lru_cache(maxsize=1024)
def best_reading(table: Table, columns: int, lookups: int) -> Reading:
    """Return the best way to read some rows, for one number of blocks of columns."""
    return min(_readings(table, columns, lookups), key=lambda way: rank(table, way))


@lru_cache(maxsize=1024)
def best_changing(table: Table, columns: int, lookups: int) -> Changing:
    """Return the best way to change some rows, for one number of blocks of columns."""
    return min(_changings(table, columns, lookups), key=lambda way: rank(table, way))


def _readings(table: Table, columns: int, lookups: int) -> Iterator[Reading]:
    element, target, width = table.element, table.target, table.width // columns
    tiles, size, workers = table.tiles(columns), element.size_bytes, target.workers
    home = -(-table.entries // tiles) * width * size
    for parts in table.parts_to_try(columns):
        most = min(tiles // parts, lookups)
        for shares in sorted({1, max(1, most // 4), max(1, most // 2), max(1, most)}):
            part, mine = -(-table.entries // parts) * width * size, -(-lookups // shares)
            is_home = shares == 1 and parts == min(table.entries, tiles)
            cycles = table.moved(mine * INDEX_BYTES + (0 if is_home else part))
            cycles += workers * gather_rows(element, -(-mine // workers), width, target)
            added, received = summed_parts(table, parts, lookups)
            cycles += added
            made = mine * width * size + received
            held = part + made + mine * INDEX_BYTES + (0 if is_home else home)
            yield Reading(columns, parts, shares, int(cycles), held)


def summed_parts(table: Table, parts: int, lookups: int) -> tuple[float, int]:
    """Return the cycles in which bits of parts are added up, and the bytes that a tile gets."""
    if parts == 1:
        return 0, 0
    target = table.target
    received = parts * lookups * table.width / target.tiles * table.element.size_bytes
    levels = math.ceil(math.log(parts, 40))
    return levels * (table.moved(received) + target.workers * 60) + received, int(received)


def _changings(table: Table, columns: int, lookups: int) -> Iterator[Changing]:
    row = table.width // columns * table.element.size_bytes
    home = -(-table.entries // table.tiles(columns)) * row
    for parts in table.parts_to_try(columns):
        part = -(-table.entries // parts) * row
        is_home = parts == min(table.entries, table.tiles(columns))
        moved = 0 if is_home else 2 * part / table.target.exchange_bytes_per_cycle
        held = part + (0 if is_home else home)
        yield from changings(table, columns, lookups, parts, moved, held)


def changings(
    table: Table, columns: int, lookups: int, parts: int, moved: float, held: int, rounds: int = 1
) -> Iterator[Changing]:
    """Yield the ways to change some rows of a number of parts.

    Args:
        table: what is changed.
        columns: blocks of columns.
        lookups: rows that are changed.
        parts: of the rows.
        moved: the cycles in which parts come to tiles, and go back.
        held: bytes of the fullest tile for them.
        rounds: vertices of a worker.
    """
    element, target, width = table.element, table.target, table.width // columns
    size, workers = element.size_bytes, target.workers
    row, limit = width * size, table.memory * target.tile_memory_bytes
    owners = parts * workers
    for lists in (0, *LISTS_TRIED):
        each = row + (LISTED_BYTES if lists else INDEX_BYTES)
        left = max(limit - held - lists * owners * INDEX_BYTES, limit / 16)
        most = min(lookups, target.tiles)
        passes = min(lookups, math.ceil(lookups * each / left))
        if not lists:
            passes = min(passes, most)  # which may not fit, where nothing does
        elif passes * lists > most:
            continue
        own = -(-lookups // passes)
        largest = max(-(-table.entries // owners), -(-own // max(1, lists)))
        if lists and largest > MOST_LISTED:
            continue
        cycles = passes * table.moved(own * each + lists * owners * INDEX_BYTES)
        cycles += moved
        if lists:
            block = -(-own // lists)
            cycles += table.moved(block * INDEX_BYTES) + workers * list_rows(block, owners)
            slots = update_listed(element, own, owners, lists, width, target)
        else:
            inside = -(-own // owners)
            slots = update_rows(element, inside, own - inside, width, target)
        cycles += passes * workers * rounds * slots
        bytes_ = held + own * each + lists * owners * INDEX_BYTES
        yield Changing(columns, parts, passes, lists, int(cycles), bytes_)
