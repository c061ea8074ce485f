"""Plans for tables whose rows are accessed by index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64, overlay
from poplite.errors import InvalidOption
from poplite.frozen import frozen
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.variables import values_for
from poplite.ops.fuse.maps import held as intervals_of
from poplite.ops.operands import check_parts, invalid_value
from poplite.ops.planning import received_cycles
from poplite.ops.slices.grid import (
    INDEX_BYTES,
    Changing,
    Reading,
    RowOwners,
    Table,
    added_up,
    best_changing,
    best_reading,
    blocks_to_try,
    changings,
    first_tiles,
    home_mapping,
    in_blocks,
    in_pairs,
    is_in_blocks,
    of_blocks,
    owned,
    rank,
    received_of_parts,
)
from poplite.program.control import check_graph
from poplite.text import amount, clipped, integer_or_none
from poplite.types import FLOAT, ElementTypeLike, element_type
from poplite.vertices.estimators import gather_rows

MOST_SHOWN = 3
"""Maximum number of alternatives in a printed plan."""


@frozen
class EmbeddingPlan:
    """The layout of a table [entries, width] whose rows are read and changed by index.

    Attributes:
        graph: the graph of the table.
        table: the sizes of the table.
        lookups: the number of rows that are read or changed at a time.
        columns: the number of blocks of columns, each stored row by row.
        reading: how rows are read; None if they are only changed.
        changing: how rows are changed; None if they are only read.
        others: the cheapest alternatives with other numbers of blocks, best first.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan = pl.ops.plan_embedding(graph, entries=1000, width=16, lookups=64)
    >>> plan.create_table().shape, plan.create_updates().shape
    ((1000, 16), (64, 16))
    """

    graph: Graph
    table: Table
    lookups: int
    columns: int
    reading: Reading | None
    changing: Changing | None
    others: tuple[EmbeddingPlan, ...] = field(repr=False, default=())

    def __post_init__(self) -> None:
        check_parts("EmbeddingPlan", "plan_embedding", self.graph, "table", self.table, Table)

    @property
    def cycles(self) -> int:
        """Estimated cycles of reading and changing rows."""
        return sum(way.cycles for way in (self.reading, self.changing) if way is not None)

    @property
    def bytes(self) -> int:
        """Bytes on the fullest tile."""
        return max(way.bytes for way in (self.reading, self.changing) if way is not None)

    def create_table(self, name: str = "table", *, initial_value: Any = None) -> Tensor:
        """Create the table, as a variable with the layout of the plan.

        Args:
            name: the name of the variable.
            initial_value: an array of [entries, width], or a number.

        Returns:
            The variable, [entries, width].

        Raises:
            TensorCreationError: for an invalid name, or an initial value of another size.
        """
        entries, width = self.table.entries, self.table.width
        return self._create(name, entries, width, initial_value)

    def create_updates(self, name: str = "updates", *, initial_value: Any = None) -> Tensor:
        """Create a variable for the new rows of a change to the table, [lookups, width].

        With this plan, `ops.multi_slice` returns rows with the same layout.
        """
        return self._create(name, self.lookups, self.table.width, initial_value)

    def _create(self, name: str, rows: int, width: int, initial_value: Any) -> Tensor:
        if not isinstance(initial_value, int | float | None):
            given = values_for(self.table.element, (rows, width), initial_value, None, name)
            blocks = given.reshape(rows, self.columns, width // self.columns)
            initial_value = np.ascontiguousarray(blocks.transpose(1, 0, 2))
        made = self.graph.add_variable(
            self.table.element,
            (self.columns, rows, width // self.columns),
            name,
            initial_value=initial_value,
            mapping=home_mapping(self.graph, rows, width, self.columns),
        )
        return of_blocks(made)

    def __str__(self) -> str:
        table = self.table
        lines = [
            f"{self.lookups:,} rows of {table.entries:,} x {table.width:,} {table.element!r}",
            *(f"  {way}" for way in (self.reading, self.changing) if way is not None),
        ]
        for other in self.others[:MOST_SHOWN]:
            blocks = f"{amount(other.columns, 'block')} of columns"
            lines.append(f"  not    {blocks}: {other.cycles:,} cycles, {other.bytes:,} B")
        return "\n".join(lines)


def plan_embedding(
    graph: Graph,
    *,
    entries: int,
    width: int,
    lookups: int,
    type: ElementTypeLike = FLOAT,  # noqa: A002  (as add_variable's first argument is called)
    used_for: str = "both",
    memory: float = 0.8,
    columns: int | None = None,
) -> EmbeddingPlan:
    """Return the cheapest way to distribute a table among tiles.

    Args:
        graph: the graph of the table.
        entries: the number of rows.
        width: the number of elements in a row.
        lookups: the number of rows that are read or changed at a time.
        type: the element type.
        used_for: "read", "change" or "both".
        memory: the fraction of a tile's memory that the table, indices and rows may take. If no
            plan fits, the plan that takes the least memory is returned.
        columns: the number of blocks of columns, a divisor of the width; by default, the best.

    Returns:
        The plan, which is the same for equal arguments; `print(plan)` also shows alternatives.

    Raises:
        InvalidOption: for sizes below 1, an unknown `used_for`, a `memory` that is not positive, or
            `columns` that do not divide the width.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=16))
    >>> print(plan_embedding(graph, entries=1000, width=8, lookups=50, used_for="read"))
    50 rows of 1,000 x 8 FLOAT
      read   8 x 1 x 2 columns, rows, shares: 2,059 cycles, 6,200 B
      not    4 blocks of columns: 2,295 cycles, 10,156 B
      not    2 blocks of columns: 3,187 cycles, 18,140 B
      not    1 block of columns: 3,725 cycles, 7,940 B
    """
    check_graph("ops.plan_embedding(graph, entries=, width=, lookups=)", graph)
    sizes = {"entries": entries, "width": width, "lookups": lookups}
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or not 1 <= size < 2**63:
            raise _option(f"{name} is {clipped(size)}", f"pass a positive whole number: {name}=1")
    if not isinstance(used_for, str) or used_for not in ("read", "change", "both"):
        raise _option(f"used_for is {clipped(used_for)}", 'pass "read", "change" or "both"')
    if not isinstance(memory, int | float | np.number) or not 0 < memory < 2**63:
        raise _option(f"memory is {clipped(memory)}", "pass a share above 0, such as memory=0.8")
    table = Table(graph.target, element_type(type), int(entries), int(width), float(memory))
    choices = blocks_to_try(table.width, graph.target.tiles)
    if columns is not None:
        number = integer_or_none(columns)
        if number not in choices:
            raise _option(
                f"columns is {clipped(columns)}, which does not divide the width {width}",
                "pass one of " + ", ".join(str(n) for n in choices),
            )
        choices = [number]
    plans = [planned(graph, table, int(lookups), n, used_for) for n in choices]
    plans.sort(key=lambda plan: (table.excess(plan.bytes), plan.cycles, plan.columns))
    best, *others = plans
    return EmbeddingPlan(
        graph, table, best.lookups, best.columns, best.reading, best.changing, tuple(others)
    )


def planned(graph: Graph, table: Table, lookups: int, columns: int, used_for: str) -> EmbeddingPlan:
    """Return the plan for one number of blocks of columns."""
    reading = best_reading(table, columns, lookups) if used_for != "change" else None
    changing = best_changing(table, columns, lookups) if used_for != "read" else None
    return EmbeddingPlan(graph, table, lookups, columns, reading, changing)


def _option(found: str, fix: str) -> InvalidOption:
    return InvalidOption(f"ops.plan_embedding: {found}", fix=fix)


# -- ways for the current mapping of a table -------------------------------------------------------
# How a table is distributed: according to its plan, or in the cheapest way for its mapping.
#
# A table without a plan can be read and changed in place, each part on the tile with most of it.
#
#     rows of x [6, 4] on tiles      0 0 0 0          three parts, on tiles 0, 1, 2: other tiles
#                                    0 0 1 1          send what the tile of a part lacks
#                                    1 1 1 1
#                                    1 1 2 2          ...
#
# A part consists of consecutive rows of a block of columns. Elements of a part that are not on its
# tile are sent there for every read, and back after every change; elements in several pieces are
# gathered.


W = TypeVar("W", Reading, Changing)


@frozen(eq=False)
class Shared(Generic[W]):
    """How a table is distributed among tiles.

    Attributes:
        graph: the graph of the tiles.
        way: how rows are read or changed.
        tile: the tile of each part if the table is used in place; None if parts are spread over
            all tiles, and a table with a different layout is copied.
    """

    graph: Graph
    way: W
    tile: Int64 | None = None


def way_to_read(
    graph: Graph, matrix: Tensor, indices: Tensor, plan: EmbeddingPlan | None
) -> Shared[Reading]:
    """Return the way in which rows of a matrix are read."""
    lookups = indices.num_elements
    if plan is not None:
        way = best_reading(plan.table, plan.columns, lookups)
        return Shared(working_graph(plan.graph), way)
    only, ways = only_tile(graph, indices), Ways[Reading](graph, matrix)
    table = ways.table
    for columns in blocks_to_try(table.width, table.target.tiles):
        reading = best_reading(table, columns, lookups, only is None)
        is_home = reading.shares == 1 and table.is_home(columns, reading.parts)
        there, _ = ways.brought(columns, reading.parts, is_home)
        ways.add(reading, there)
    for reading, tile in readings_in_place(graph, table, matrix, lookups, only, ways.most):
        ways.add(reading, 0, tile)
    return ways.best()


def way_to_change(
    graph: Graph, matrix: Tensor, rows: Tensor, indices: Tensor, plan: EmbeddingPlan | None
) -> Shared[Changing]:
    """Return the way in which rows of a matrix are changed."""
    lookups = indices.num_elements
    if plan is not None:
        way = best_changing(plan.table, plan.columns, lookups)
        return Shared(working_graph(plan.graph), way)
    only, ways = only_tile(graph, rows), Ways[Changing](graph, matrix)
    apart = only is None or only_tile(graph, indices) is None
    table, new = ways.table, Ways[Changing](graph, rows)
    for columns in blocks_to_try(table.width, table.target.tiles):
        changing = best_changing(table, columns, lookups, apart)
        _, owners = owned(table.entries, changing.parts, table.target)
        is_home = owners >= min(table.entries, table.tiles(columns))
        moved = sum(ways.brought(columns, changing.parts, is_home))
        ways.add(changing, moved + new.copied(columns))
    in_place = changings_in_place(graph, table, matrix, lookups, only, apart, ways.most)
    for changing, tile in in_place:
        ways.add(changing, new.copied(changing.columns), tile)
    return ways.best()


def only_tile(graph: Graph, tensor: Tensor) -> int | None:
    """Return the only tile of a tensor; None if it is on several tiles or unmapped."""
    tiles: list[int] = graph.tile_mapping(tensor, require_complete=False).tiles[:2].tolist()
    return tiles[0] if len(tiles) == 1 else None


class Ways(Generic[W]):
    """The priced ways to read or change rows of a matrix.

    Attributes:
        table: the sizes of the matrix.
        fullest: the bytes of the matrix on its fullest tile.
        found: pairs of rank and way; the best way has the smallest rank.
    """

    graph: Graph
    matrix: Tensor

    def __init__(self, graph: Graph, matrix: Tensor) -> None:
        self.graph, self.matrix = graph, matrix
        self.table: Table = Table(graph.target, matrix.element_type, *matrix.shape)
        mapping = graph.tile_mapping(matrix, require_complete=False)
        self.fullest: int = int(mapping.elements_per_tile.max()) * self.table.element.size_bytes
        self._is_mapped = not mapping.unmapped
        self.found: list[tuple[tuple[float, ...], Shared[W]]] = []

    @property
    def most(self) -> float:
        """The cycles of the best way so far, if it fits."""
        excess, cycles, _ = min(each[0] for each in self.found)
        return math.inf if excess else cycles

    def add(self, way: W, cycles: float, tile: Int64 | None = None) -> None:
        """Add a way that takes `cycles` in addition to its own."""
        excess, own, *_ = rank(self.table, way)
        self.found.append(((excess, own + cycles, way.columns), Shared(self.graph, way, tile)))

    def best(self) -> Shared[W]:
        """Return the way with the smallest rank: the fewest cycles, if it fits."""
        return min(self.found, key=lambda each: each[0])[1]

    def copied(self, columns: int) -> float:
        """Return the cycles of copying the matrix to blocks; 0 if it already has that layout."""
        if is_in_blocks(self.matrix, columns):
            return 0
        return self.table.copied(self.fullest, columns)

    def brought(self, columns: int, parts: int, is_home: bool) -> tuple[float, float]:
        """Return the cycles of moving a matrix without a plan to its parts, and of moving it back.

        If the matrix is copied to blocks, parts are read from the copy; their price includes that.
        """
        table, rate = self.table, self.table.target.exchange_bytes_per_cycle
        if not is_in_blocks(self.matrix, columns):
            back = table.copied(self.fullest, columns, back=True)
            return table.copied(self.fullest, columns), back
        if not is_home or not self._is_mapped:
            part = -(-table.entries // parts) * table.width // columns * table.element.size_bytes
            sent = max(0, self.fullest - part) / rate
            return sent, sent
        placed = ColumnBlocks(self.graph, table, self.matrix, columns).home()
        back = received_cycles(table.target, placed.returned) if placed.returned else 0
        return placed.moved / rate + placed.gathered, back + placed.gathered


def check_plan(what: str, plan: EmbeddingPlan | None, matrix: Tensor) -> None:
    """Raise an error for a plan that was made for a different table."""
    if plan is None:
        return
    if not isinstance(plan, EmbeddingPlan):
        raise invalid_value(what, "plan", plan, "plan=ops.plan_embedding(graph, ...)")
    table = plan.table
    if (table.entries, table.width) != matrix.shape or table.element is not matrix.element_type:
        raise InvalidOption(
            f"{what}: the plan is for {table.element!r} {[table.entries, table.width]}",
            found=f"as rows, x '{matrix.name}' is {type_and_shape(matrix)}",
            fix="pass a plan from ops.plan_embedding with these sizes",
        )


# -- in place --------------------------------------------------------------------------------------


MOST_PIECES = 1 << 17
"""Maximum number of pieces of memory that are examined for one number of blocks."""

FEW_PIECES = 1 << 13
"""Maximum number of pieces for which each part is placed on the tile that has most of it; with more
pieces, no tile has much of a part."""

MOST_VERTICES = 64
"""Maximum number of vertices on a tile."""

BLOCKS_TRIED = 3
"""How many numbers of blocks of columns to try: those that are best for tables with a plan."""


@frozen(eq=False)
class PlacedParts:
    """The cost of placing parts of a table on tiles.

    Attributes:
        tile: the tile of each part, sorted by block of columns.
        moved: the maximum number of bytes, in whole words, that a tile receives or sends.
        returned: the same for sending parts back, including a change of sender for each piece.
        gathered: the maximum number of cycles in which a tile gathers its pieces of parts.
        held: the maximum number of bytes of parts on a tile.
    """

    tile: Int64
    moved: int
    returned: int
    gathered: int
    held: int

    @property
    def most(self) -> int:
        """The maximum number of parts on a tile."""
        return int(np.bincount(self.tile).max())

    def are_on(self, tile: int | None) -> bool:
        """Return whether all parts are on a tile."""
        return tile is not None and bool((self.tile == tile).all())


class ColumnBlocks:
    """The layout of a matrix in blocks of columns, as intervals each contiguous on one tile."""

    table: Table
    columns: int
    begin: Int64
    end: Int64

    def __init__(self, graph: Graph, table: Table, matrix: Tensor, columns: int) -> None:
        self.table, self.columns = table, columns
        flat = in_blocks(matrix, columns)
        tile, begin, end = intervals_of(graph.tile_mapping(flat))
        order = np.argsort(begin)
        memory = np.append(0, flat.contiguous_regions().end)
        source, _, self.begin, self.end = overlay(begin[order], end[order], memory)
        self.tile: Int64 = tile[order][source]

    def placed(self, first: Int64) -> list[PlacedParts]:
        """Return ways to place the parts that start at the rows `first` of each block.

        Parts are spread over all tiles, or each is placed on the tile with most of it.
        """
        table, width = self.table, self.table.width // self.columns
        tiles, size = table.target.tiles, table.element.size_bytes
        begins = (np.arange(self.columns)[:, None] * table.entries + first).ravel() * width
        edges = np.append(begins, table.entries * table.width)
        count = len(begins)
        source, part, begin, end = overlay(self.begin, self.end, edges)
        tile, num_bytes = self.tile[source], (end - begin) * size
        room, numbers = table.tiles(self.columns), np.arange(count)
        columns, parts = numbers // len(first), numbers % len(first)
        spread = first_tiles(tiles, self.columns)[columns] + parts * room // len(first)
        found = [spread]
        if len(source) <= FEW_PIECES:
            found.append(_most(part, tile, num_bytes))
        return [self._placed(own, part, tile, num_bytes, np.diff(edges) * size) for own in found]

    def home(self) -> PlacedParts:
        """Return the parts of a table with the layout of a plan."""
        parts = min(self.table.entries, self.table.tiles(self.columns))
        return self.placed(np.arange(parts) * self.table.entries // parts)[0]

    def _placed(
        self, own: Int64, part: Int64, tile: Int64, num_bytes: Int64, whole: Int64
    ) -> PlacedParts:
        target, count = self.table.target, len(own)
        is_near = tile == own[part]
        missing = np.bincount(part[~is_near], num_bytes[~is_near], count).astype(np.int64)
        words = -(-num_bytes[~is_near] // INDEX_BYTES) * INDEX_BYTES
        controls = target.cost("receive_controls") + target.cost("pointer_controls")
        turned = target.exchange_bytes_per_cycle * int(controls)
        ends = tile[~is_near], own[part[~is_near]]
        moved, returned = (
            int(max(np.bincount(end, each, target.tiles).max() for end in ends))
            for each in (words, np.maximum(words, turned))
        )
        return PlacedParts(
            own,
            moved,
            returned,
            self._gathered(own, missing, part[is_near], num_bytes[is_near]),
            int(np.bincount(own, whole, target.tiles).max()),
        )

    def _gathered(self, own: Int64, missing: Int64, part: Int64, num_bytes: Int64) -> int:
        """Return the maximum number of cycles in which a tile gathers its pieces of parts."""
        cost = self.table.target.cost
        pieces = np.bincount(part, minlength=len(own)) + (missing > 0)
        several = pieces[part] > 1
        word = int(cost("data_path_bytes"))
        few = num_bytes <= word  # single elements at even distances, for nearly all pieces
        strided = word / cost("strided_copy_bytes_per_cycle")
        each = cost("copy_piece_cycles") + num_bytes / cost("memcpy_bytes_per_cycle")
        cycles = np.where(few, strided, each)[several]
        found = np.bincount(own[part[several]], cycles, self.table.target.tiles).max()
        return math.ceil(found + cost("worker_call")) if several.any() else 0


def _most(part: Int64, tile: Int64, num_bytes: Int64) -> Int64:
    """Return the tile that has most of each part; among equals, the first."""
    order = np.lexsort((tile, part))
    part, tile = part[order], tile[order]
    first = np.flatnonzero(np.append(True, (np.diff(part) != 0) | (np.diff(tile) != 0)))
    has = np.add.reduceat(num_bytes[order], first)
    best = np.lexsort((-tile[first], has, part[first]))
    last = np.append(np.diff(part[first][best]) > 0, True)
    found: Int64 = tile[first][best][last]
    return found


def readings_in_place(
    graph: Graph, table: Table, matrix: Tensor, lookups: int, only: int | None, most: float
) -> Iterator[tuple[Reading, Int64]]:
    """Yield ways to read `lookups` rows in place, and the tiles of their parts.

    `only` is the only tile of the indices, if there is one. Ways that take `most` or more cycles
    even without the exchange are omitted.
    """
    workers, apart = table.target.workers, only is None

    def least(columns: int, parts: int) -> float:
        own, width = -(-lookups // workers), table.width // columns
        slots = gather_rows(table.element, own, width, table.target)
        return workers * slots + added_up(table, columns, parts, 1, lookups)

    ways = [
        best_reading(table, n, lookups, apart)
        for n in blocks_to_try(table.width, table.target.tiles)
    ]
    for blocks, parts in _tried(graph, table, matrix, ways, least, most):
        width = table.width // blocks.columns
        received = received_of_parts(table, blocks.columns, parts, lookups)
        for placed in blocks.placed(np.arange(parts) * table.entries // parts):
            shares = min(lookups, max(1, workers // placed.most))
            slots = gather_rows(table.element, -(-lookups // shares), width, table.target)
            moved = placed.moved + (0 if placed.are_on(only) else lookups * INDEX_BYTES)
            cycles = received_cycles(table.target, moved) if moved else 0
            cycles += max(placed.gathered, table.gathered(INDEX_BYTES, INDEX_BYTES) * apart)
            cycles += workers * -(-placed.most * shares // workers) * slots
            cycles += added_up(table, blocks.columns, parts, 1, lookups)
            made = placed.most * lookups * width * table.element.size_bytes + received
            held = placed.held + lookups * INDEX_BYTES + made
            yield Reading(blocks.columns, parts, shares, int(cycles), held), placed.tile


def changings_in_place(
    graph: Graph,
    table: Table,
    matrix: Tensor,
    lookups: int,
    only: int | None,
    apart: bool,
    most: float,
) -> Iterator[tuple[Changing, Int64]]:
    """Yield ways to change `lookups` rows in place, and the tiles of their owners.

    `only` is the only tile of the new rows, if there is one; `apart` is as in `changings`. Ways
    that take `most` or more cycles even without the exchange are omitted.
    """

    def least(columns: int, parts: int) -> float:
        ways = changings(table, columns, lookups, parts, RowOwners(near=True, paired=True), apart)
        return min(way.cycles for way in ways)

    ways = [
        best_changing(table, n, lookups, apart)
        for n in blocks_to_try(table.width, table.target.tiles)
    ]
    for blocks, parts in _tried(graph, table, matrix, ways, least, most):
        share, count = owned(table.entries, parts, table.target)
        block = np.repeat(np.arange(blocks.columns), count)
        for placed in blocks.placed(np.arange(0, table.entries, share)):
            owners = RowOwners(
                placed.moved,
                placed.returned,
                placed.gathered,
                placed.held,
                -(-placed.most // table.target.workers),
                _blocks_of_a_tile(block, placed.tile),
                blocks.columns == 1 and placed.are_on(only),
                only is None and in_pairs(block, placed.tile, table.target),
            )
            for way in changings(table, blocks.columns, lookups, parts, owners, apart):
                yield way, placed.tile


def _blocks_of_a_tile(block: Int64, tile: Int64) -> int:
    """Return the number of blocks on the tile that has parts of most blocks."""
    pairs = np.unique(np.stack([tile, block]), axis=1)
    return int(np.bincount(pairs[0]).max())


def _tried(
    graph: Graph,
    table: Table,
    matrix: Tensor,
    ways: Sequence[Reading | Changing],
    least: Callable[[int, int], float],
    most: float,
) -> Iterator[tuple[ColumnBlocks, int]]:
    """Yield layouts of a matrix in blocks, each with a number of parts to try.

    The candidates are the best ways with a plan, preferring few pieces; whole rows, with one part
    for each tile that has elements of the matrix; and single columns, if tiles have several.
    """
    mapping = graph.tile_mapping(matrix, require_complete=False)
    if mapping.unmapped:
        return
    tried = {1: {min(table.entries, len(mapping.tiles))}}
    for way in sorted(ways, key=lambda each: rank(table, each))[:BLOCKS_TRIED]:
        tried.setdefault(way.columns, set()).add(way.parts)
    if table.target.tiles < table.width <= MOST_VERTICES * table.target.tiles:
        tried[table.width] = {1}
    for columns, several in tried.items():
        numbers = [parts for parts in several if least(columns, parts) < most]
        if numbers and in_blocks(matrix, columns).num_regions() <= MOST_PIECES:
            blocks = ColumnBlocks(graph, table, matrix, columns)
            yield from ((blocks, parts) for parts in sorted(numbers))
