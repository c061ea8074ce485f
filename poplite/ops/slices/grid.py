"""A search for the cheapest way to distribute a table whose rows are read or changed by index.

    columns = 2, parts = 3                     a table [entries, width]

        +-------+-------+                      a block of columns is contiguous in memory, row
        | 0, 0  | 1, 0  |                      after row; a tile has a part of its rows
        +-------+-------+
        | 0, 1  | 1, 1  |                      reading   each part returns zeros for rows of other
        +-------+-------+                                parts, and the bits of all parts are added;
        | 0, 2  | 1, 2  |                                or a part is copied to several tiles, and
        +-------+-------+                                each reads a share of the indices
                                               changing  each part reads all indices, or only its
                                                         own from a sorted list

The price of a way consists of the vertices, the bytes exchanged, and the copies that gather data on
a tile. A way that exceeds a tile's memory is chosen only if all ways do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.operands import BITS
from poplite.ops.planning import received_cycles
from poplite.ops.reductions.plan import RemainingPartials, cheapest_levels, cycles_of
from poplite.program import Copy
from poplite.program.recording import Recorder
from poplite.types import UNSIGNED_INT, UNSIGNED_SHORT, ElementType
from poplite.vertices.estimators import gather_rows, list_rows, update_listed, update_rows

# -- blocks of columns -----------------------------------------------------------------------------
# Matrices in blocks of columns: their layout in memory, and their tiles.
#
#     [rows, width]        0 1 | 2 3            in memory
#                          4 5 | 6 7            0 1 4 5 8 9, 2 3 6 7 10 11
#                          8 9 | 10 11


def home_mapping(graph: Graph, rows: int, width: int, columns: int) -> TileMapping:
    """Return the mapping of blocks in which the rows of each block are spread over its own tiles.

    It is the mapping of a variable [columns, rows, width / columns].
    """
    tiles = max(1, graph.target.tiles // columns)
    parts = max(1, min(rows, tiles))
    ends = np.arange(1, parts + 1) * rows // parts
    length = np.diff(ends, prepend=0) * (width // columns)
    tile = np.arange(parts) * tiles // parts + first_tiles(graph.target.tiles, columns)[:, None]
    lengths = np.broadcast_to(length, tile.shape)
    return TileMapping(graph.target.tiles, tile.ravel(), lengths.ravel())


def first_tiles(tiles: int, columns: int) -> Int64:
    """Return the first tile of each block: blocks share tiles if there are fewer tiles than blocks.

    >>> first_tiles(9, 4).tolist(), first_tiles(2, 4).tolist()
    ([0, 2, 4, 6], [0, 0, 1, 1])
    """
    numbers: Int64 = np.arange(columns)
    return numbers * (tiles // columns) if columns <= tiles else numbers * tiles // columns


def of_blocks(variable: Tensor) -> Tensor:
    """Return a variable of [columns, rows, block width] as a matrix of [rows, width]."""
    columns, rows, width = variable.shape
    return variable.dim_shuffle((1, 0, 2)).reshape((rows, columns * width))


def in_blocks(matrix: Tensor, columns: int) -> Tensor:
    """Return a matrix as a vector, one block of columns after another."""
    rows, width = matrix.shape
    return matrix.reshape((rows, columns, width // columns)).dim_shuffle((1, 0, 2)).flatten()


def is_in_blocks(matrix: Tensor, columns: int) -> bool:
    """Return whether each block of columns is contiguous in memory."""
    view, size = in_blocks(matrix, columns), matrix.num_elements // columns
    if view.num_regions() > columns:
        return False
    return bool((view.contiguous_regions().end % size == 0).all())


def moved_to_blocks(recorder: Recorder, matrix: Tensor, columns: int, name: str) -> Tensor:
    """Return a matrix in blocks: the given matrix, or a new variable to which it is copied."""
    if is_in_blocks(matrix, columns):
        return matrix
    made = like_blocks(recorder.graph, matrix, columns, name)
    recorder.add(Copy(matrix, made))
    return made


def unshared(recorder: Recorder, x: Tensor, changed: Tensor, name: str) -> Tensor:
    """Return a tensor that does not share elements with `changed`: the given one, or a copy."""
    if not x.intersects_with(changed):
        return x
    made = recorder.graph.clone(x, name)
    recorder.add(Copy(x, made))
    return made


def like_blocks(graph: Graph, matrix: Tensor, columns: int, name: str) -> Tensor:
    """Return a new variable for a matrix, in blocks."""
    rows, width = matrix.shape
    mapping = home_mapping(graph, rows, width, columns)
    shape = (columns, rows, width // columns)
    return of_blocks(graph.add_variable(matrix.element_type, shape, name, mapping=mapping))


# -- ways to read and to change --------------------------------------------------------------------


Element = type[ElementType[Any]]

INDEX_BYTES = UNSIGNED_INT.size_bytes

SIZES_TRIED = 14
"""How many numbers of parts to try, from 1 up to the number of tiles."""

LISTS_TRIED = (1, 2, 4, 8, 16)
"""Numbers of parts of the list per pass: more parts are sorted in parallel but take longer to read.
"""

LISTED_BYTES = 2 * UNSIGNED_SHORT.size_bytes
"""Bytes of an index, and of each of the two entries for it in a list: its row and its position."""

MOST_LISTED = 1 << 16
"""Maximum number of rows of an owner, and of indices in a part of a list."""


@frozen
class Table:
    """A table before it is distributed.

    Attributes:
        target: the machine.
        element: the element type.
        entries: the number of rows.
        width: the number of elements in a row.
        memory: the fraction of a tile's memory that may be used.
    """

    target: Target
    element: Element
    entries: int
    width: int
    memory: float = 0.8

    def tiles(self, columns: int) -> int:
        """Return the number of tiles for each block of columns."""
        return max(1, self.target.tiles // columns)

    def parts_to_try(self, columns: int) -> list[int]:
        """Return the numbers of parts of the rows to try."""
        most = min(self.entries, self.tiles(columns))
        sizes: list[int] = (
            np.unique(np.geomspace(1, most, SIZES_TRIED).round()).astype(int).tolist()
        )
        return sizes

    def home(self, columns: int) -> int:
        """Return the bytes on the fullest tile if the rows of each block are spread over tiles."""
        rows = -(-self.entries // self.tiles(columns))
        return rows * (self.width // columns) * self.element.size_bytes

    def is_home(self, columns: int, parts: int) -> bool:
        """Return whether spreading the rows over tiles gives exactly `parts` parts."""
        return parts == min(self.entries, self.tiles(columns))

    def gathered(self, held: float, piece: float) -> float:
        """Return the cycles in which a tile gathers `held` bytes from pieces of `piece` bytes."""
        if not held:
            return 0
        cost = self.target.cost
        word = cost("data_path_bytes")
        if piece <= word:  # single elements at even distances, for nearly all pieces
            each = word / cost("strided_copy_bytes_per_cycle")
        else:
            each = cost("copy_piece_cycles") + piece / cost("memcpy_bytes_per_cycle")
        return float(cost("worker_call") + max(1, held / piece) * each)

    def copied(self, fullest: float, columns: int, *, back: bool = False) -> float:
        """Return the cycles of copying a table to blocks or back, on the fullest tile.

        Pieces of rows are sent, each at least a word long; on the way back, the tile also changes
        the sender for each piece. Each block is on only some of the tiles, so few elements stay on
        their tile.
        """
        rate, home = self.target.exchange_bytes_per_cycle, self.home(columns)
        piece = self.width // columns * self.element.size_bytes
        sent = -(-piece // INDEX_BYTES) * INDEX_BYTES
        if back:
            turns = self.target.cost("receive_controls") + self.target.cost("pointer_controls")
            sent = max(sent, int(turns) * rate)
        stays = self.gathered(min(home, fullest / columns), piece)
        return received_cycles(self.target, max(home, fullest / piece * sent)) + stays

    def excess(self, held: float) -> float:
        """Return the bytes held on a tile if they exceed its limit, otherwise 0."""
        return held if held > self.memory * self.target.tile_memory_bytes else 0


@frozen
class Reading:
    """A way to read rows.

    Attributes:
        columns: the number of blocks of columns.
        parts: the number of parts of the rows; if there are several, their results are added.
        shares: the number of shares of the indices, each read with its own copy of a part.
        cycles: the total cycles.
        bytes: the bytes on the fullest tile.
    """

    columns: int
    parts: int
    shares: int
    cycles: int
    bytes: int

    def __str__(self) -> str:
        by = f"{self.columns:,} x {self.parts:,} x {self.shares:,}"
        return f"read   {by} columns, rows, shares: {self.cycles:,} cycles, {self.bytes:,} B"


@frozen
class Changing:
    """A way to change rows.

    Attributes:
        columns: the number of blocks of columns.
        parts: the number of parts of the rows.
        passes: the number of successive passes over the indices.
        lists: the number of parts of the list in a pass; 0 if each vertex reads all indices.
        cycles: the total cycles.
        bytes: the bytes on the fullest tile.
    """

    columns: int
    parts: int
    passes: int
    lists: int
    cycles: int
    bytes: int

    def __str__(self) -> str:
        by = f"{self.columns:,} x {self.parts:,} x {self.passes:,}"
        how = f"{self.lists:,} lists each" if self.lists else "reading all indices"
        return f"change {by} columns, rows, passes, {how}: {self.cycles:,} cycles, {self.bytes:,} B"


def rank(table: Table, way: Reading | Changing) -> tuple[float, ...]:
    """Return the sort key of a way; the best way has the smallest."""
    return table.excess(way.bytes), way.cycles, way.columns * way.parts, way.bytes


def blocks_to_try(width: int, tiles: int) -> list[int]:
    """Return the numbers of blocks of columns to try, which give blocks of equal width.

    >>> blocks_to_try(12, 1472)
    [1, 2, 3, 4, 6, 12]
    """
    return [n for n in range(1, min(width, tiles) + 1) if width % n == 0]


@lru_cache(maxsize=1024)
def best_reading(table: Table, columns: int, lookups: int, apart: bool = True) -> Reading:
    """Return the best way to read `lookups` rows with a given number of blocks of columns.

    `apart` means that the indices are on several tiles.
    """
    best: Reading | None = None
    ways = _readings(table, columns, lookups, apart)
    for way in sorted(ways, key=lambda each: rank(table, each)):
        if best is not None and rank(table, way) >= rank(table, best):
            break
        added = added_up(table, way.columns, way.parts, way.shares, lookups)
        found = replace(way, cycles=way.cycles + int(added))
        if best is None or rank(table, found) < rank(table, best):
            best = found
    assert best is not None, "there is one part at least"
    return best


@lru_cache(maxsize=1024)
def best_changing(table: Table, columns: int, lookups: int, apart: bool = True) -> Changing:
    """Return the best way to change `lookups` rows with a given number of blocks of columns."""
    ways = _changings(table, columns, lookups, apart)
    return min(ways, key=lambda way: rank(table, way))


def _readings(table: Table, columns: int, lookups: int, apart: bool) -> Iterator[Reading]:
    """Yield ways to read `lookups` rows, without the cycles of adding the results of parts."""
    element, target, width = table.element, table.target, table.width // columns
    tiles, size, workers = table.tiles(columns), element.size_bytes, target.workers
    home = table.home(columns)
    for parts in table.parts_to_try(columns):
        most = min(tiles // parts, lookups)
        for shares in sorted({1, max(1, most // 4), max(1, most // 2), max(1, most)}):
            part, mine = -(-table.entries // parts) * width * size, -(-lookups // shares)
            is_home = shares == 1 and table.is_home(columns, parts)
            received = 0 if is_home else max(0, part - home)
            if tiles % 2 == shares % 2 == 0 and parts * shares == tiles:
                received = part // _sharing(target)  # both tiles of a pair receive it
            cycles = received_cycles(table.target, mine * INDEX_BYTES + received)
            if apart or not is_home:
                near = INDEX_BYTES if is_home else home
                cycles += table.gathered(near, near)
            cycles += workers * gather_rows(element, -(-mine // workers), width, target)
            made = mine * width * size + received_of_parts(table, columns, parts, lookups)
            held = part + made + mine * INDEX_BYTES + (0 if is_home else home)
            yield Reading(columns, parts, shares, int(cycles), held)


def received_of_parts(table: Table, columns: int, parts: int, lookups: int) -> int:
    """Return the number of bytes that a tile receives to add the results of parts."""
    if parts == 1:
        return 0
    rows = -(-lookups // table.tiles(columns))
    return parts * rows * (table.width // columns) * table.element.size_bytes


@lru_cache(maxsize=4096)
def added_up(table: Table, columns: int, parts: int, shares: int, lookups: int) -> float:
    """Return the cycles of adding the bits of the results of parts.

    The result of each part is divided by rows among `shares` tiles. If there are several, groups of
    tiles would divide outputs differently from tiles, so only one level is priced.
    """
    if parts == 1:
        return 0
    element = BITS[table.element.size_bytes]
    final = columns * min(lookups, table.tiles(columns))
    received = received_of_parts(table, columns, parts, lookups)
    elements = received // element.size_bytes * final
    spread = RemainingPartials(element, parts, elements, columns * parts * shares, final)
    levels = cheapest_levels(table.target, spread) if shares == 1 else ()
    own = received // parts
    return cycles_of(table.target, spread, levels) + (len(levels) + 1) * table.gathered(own, own)


@frozen
class RowOwners:
    """The exchange of rows that are not on the tiles of their owners.

    Attributes:
        received: the maximum number of bytes that a tile receives.
        returned: the maximum number of bytes that are sent back to a tile.
        gathered: the cycles in which a tile gathers its rows before the change, and again after it.
        held: the bytes of rows on the fullest tile.
        rounds: the maximum number of vertices per worker.
        blocks: the maximum number of blocks of columns on a tile.
        near: whether all owners and all new rows are on the same tile.
        paired: whether both tiles of every pair receive the same new rows.
    """

    received: int = 0
    returned: int = 0
    gathered: float = 0
    held: int = 0
    rounds: int = 1
    blocks: int = 1
    near: bool = False
    paired: bool = False


def owned(entries: int, parts: int, target: Target) -> tuple[int, int]:
    """Return the number of rows that a worker owns, and the number of owners.

    >>> owned(100, 3, Target())
    (6, 17)
    """
    rows = -(-entries // (parts * target.workers))
    return rows, -(-entries // rows)


def in_pairs(block: Int64, tile: Int64, target: Target) -> bool:
    """Return whether both tiles of each pair have parts of the same block of columns."""
    at, other = (block * target.tiles + each for each in (tile, tile ^ 1))
    return _sharing(target) == 2 and bool(np.isin(other, at).all())


def _sharing(target: Target) -> int:
    """Return the number of tiles that can receive the same words at once."""
    return int(target.cost("pair_tiles"))


def _changings(table: Table, columns: int, lookups: int, apart: bool) -> Iterator[Changing]:
    for parts in table.parts_to_try(columns):
        yield from changings(table, columns, lookups, parts, _spread(table, columns, parts), apart)


def _spread(table: Table, columns: int, parts: int) -> RowOwners:
    """Return the exchange for owners in a block that are spread over its tiles like its rows."""
    target, tiles = table.target, table.tiles(columns)
    row = table.width // columns * table.element.size_bytes
    homes = min(table.entries, tiles)
    here = np.arange(homes) * tiles // homes
    first, last = np.zeros((2, tiles), np.int64)
    first[here] = np.arange(homes) * table.entries // homes
    last[here] = np.arange(1, homes + 1) * table.entries // homes
    rows, count = owned(table.entries, parts, target)
    tile, begin = np.arange(count) * tiles // count, np.arange(count) * rows
    end = np.minimum(begin + rows, table.entries)
    own = np.maximum(0, np.minimum(end, last[tile]) - np.maximum(begin, first[tile]))
    missing = end - begin - own
    received, stays, home = (
        row * int(each.max())
        for each in (
            np.bincount(tile, missing),
            np.bincount(tile, np.where(missing > 0, own, 0)),
            last - first,
        )
    )
    held = home + (received + stays if received else 0)
    paired = tiles % 2 == 0 and in_pairs(np.zeros_like(tile), tile, target)
    gathered = table.gathered(stays, stays)
    return RowOwners(received, received, gathered, held, paired=paired)


def changings(
    table: Table, columns: int, lookups: int, parts: int, owners: RowOwners, apart: bool
) -> Iterator[Changing]:
    """Yield the ways to change rows with a given number of parts.

    Args:
        table: the table to change.
        columns: the number of blocks of columns.
        lookups: the number of rows that are changed.
        parts: the number of parts of the rows.
        owners: the exchange of rows that are not on their owners' tiles.
        apart: whether new rows or their indices are on several tiles.
    """
    target, width = table.target, table.width // columns
    row, limit = width * table.element.size_bytes, table.memory * target.tile_memory_bytes
    rows, count = owned(table.entries, parts, target)
    least = table.gathered(INDEX_BYTES, INDEX_BYTES) if apart else 0
    for lists in (0, *LISTS_TRIED):
        each, ends = row + (LISTED_BYTES if lists else INDEX_BYTES), lists * count * INDEX_BYTES
        left = max(limit - owners.held - ends, limit / 16)
        most = min(lookups, target.tiles)
        passes = min(lookups, math.ceil(lookups * each / left))
        if not lists:
            passes = min(passes, most)  # may exceed the memory, if every way does
        elif passes * lists > most:
            continue
        own = -(-lookups // passes)
        if lists and max(rows, -(-own // lists)) > MOST_LISTED:
            continue
        new = 0 if owners.near else own * row
        if lists or apart or not owners.near:
            new += own * (each - row) + ends
        moved = owners.received + owners.blocks * new / (2 if owners.paired else 1)
        cycles = (received_cycles(table.target, moved) if moved else 0) + max(
            owners.gathered, least
        )
        if owners.returned:
            cycles += received_cycles(table.target, owners.returned) + owners.gathered
        if lists:
            slots = update_listed(table.element, own, count, lists, width, target)
        else:
            inside = min(own, rows)
            slots = update_rows(table.element, inside, own - inside, width, target)
        cycles = passes * (cycles + target.workers * owners.rounds * slots)
        if lists:
            block = -(-own // lists)
            cycles += received_cycles(table.target, block * INDEX_BYTES) + least
            cycles += target.workers * list_rows(block, count)
        yield Changing(columns, parts, passes, lists, int(cycles), owners.held + own * each + ends)
