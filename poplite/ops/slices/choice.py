"""Which way a table is shared: as its plan says, or as is cheapest where it lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.virtual import working_graph
from poplite.ops.operands import beside
from poplite.ops.slices.blocks import lies_in_blocks
from poplite.ops.slices.grid import (
    Changing,
    Reading,
    Table,
    best_changing,
    best_reading,
    blocks_to_try,
    owned,
    rank,
)
from poplite.ops.slices.in_place import ColumnBlocks, changings_in_place, readings_in_place
from poplite.ops.slices.plan import EmbeddingPlan

W = TypeVar("W", Reading, Changing)


@dataclass(frozen=True, slots=True, eq=False)
class Shared(Generic[W]):
    """How tiles share a table.

    Attributes:
        graph: over whose tiles.
        way: how rows are read, or changed.
        tile: of each part, where the table is used as it lies; None where parts are spread over
            all tiles, and a table that lies otherwise is copied.
    """

    graph: Graph
    way: W
    tile: Int64 | None = None


def way_to_read(
    graph: Graph, matrix: Tensor, indices: Tensor, plan: EmbeddingPlan | None
) -> Shared[Reading]:
    """Return how rows of a matrix are read."""
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
    """Return how rows of a matrix are changed to others."""
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
    """Return the one tile of a tensor; None where there are several, or none."""
    tiles: list[int] = graph.tile_mapping(tensor, require_complete=False).tiles[:2].tolist()
    return tiles[0] if len(tiles) == 1 else None


class Ways(Generic[W]):
    """The ways to read or change rows of a matrix that were priced.

    Attributes:
        table: the matrix.
        fullest: bytes of it on its fullest tile.
        found: the ways, each behind what is least for the best one.
    """

    def __init__(self, graph: Graph, matrix: Tensor) -> None:
        self.graph, self.matrix = graph, matrix
        self.table = Table(graph.target, matrix.element_type, *matrix.shape)
        mapping = graph.tile_mapping(matrix, require_complete=False)
        self.fullest = int(mapping.elements_per_tile.max()) * self.table.element.size_bytes
        self._is_mapped = not mapping.unmapped
        self.found: list[tuple[tuple[float, ...], Shared[W]]] = []

    @property
    def most(self) -> float:
        """The cycles of the best way so far, if it fits."""
        excess, cycles, _ = min(each[0] for each in self.found)
        return math.inf if excess else cycles

    def add(self, way: W, cycles: float, tile: Int64 | None = None) -> None:
        """Add a way that takes so many cycles beyond its own."""
        excess, own, *_ = rank(self.table, way)
        self.found.append(((excess, own + cycles, way.columns), Shared(self.graph, way, tile)))

    def best(self) -> Shared[W]:
        """Return the one with the fewest cycles of those that fit."""
        return min(self.found, key=lambda each: each[0])[1]

    def copied(self, columns: int) -> float:
        """Return the cycles of copying the matrix to blocks, unless it lies so."""
        if lies_in_blocks(self.matrix, columns):
            return 0
        return self.table.copied(self.fullest, columns)

    def brought(self, columns: int, parts: int, is_home: bool) -> tuple[float, float]:
        """Return the cycles in which a matrix that no plan made comes to its parts, and goes back.

        Where it is copied, parts come from the copy; that is priced with them.
        """
        table, rate = self.table, self.table.target.exchange_bytes_per_cycle
        if not lies_in_blocks(self.matrix, columns):
            back = table.copied(self.fullest, columns, back=True)
            return table.copied(self.fullest, columns), back
        if not is_home or not self._is_mapped:
            part = -(-table.entries // parts) * table.width // columns * table.element.size_bytes
            sent = max(0, self.fullest - part) / rate
            return sent, sent
        placed = ColumnBlocks(self.graph, table, self.matrix, columns).home()
        back = table.moved(placed.returned) if placed.returned else 0
        return placed.moved / rate + placed.gathered, back + placed.gathered


def check_plan(what: str, plan: EmbeddingPlan | None, matrix: Tensor) -> None:
    """Refuse a plan of another table."""
    if plan is None:
        return
    if not isinstance(plan, EmbeddingPlan):
        raise beside(what, "plan", plan, "plan=ops.plan_embedding(graph, ...)")
    table = plan.table
    if (table.entries, table.width) != matrix.shape or table.element is not matrix.element_type:
        raise InvalidOption(
            f"{what}: the plan is of {table.element!r} {[table.entries, table.width]}",
            found=f"x '{matrix.name}' is {type_and_shape(matrix)} as rows",
            fix="a plan of ops.plan_embedding with these sizes",
        )
