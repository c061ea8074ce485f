"""Which way a table is shared: as its plan says, or as is cheapest where it lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import type_and_shape
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
    rank,
)
from poplite.ops.slices.in_place import (
    changings_in_place,
    readings_in_place,
)
from poplite.ops.slices.plan import EmbeddingPlan
from poplite.source import here

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
    graph: Graph, matrix: Tensor, lookups: int, plan: EmbeddingPlan | None
) -> Shared[Reading]:
    """Return how rows of a matrix are read."""
    return _cheapest(graph, matrix, lookups, plan, best_reading, readings_in_place, 2)


def way_to_change(
    graph: Graph, matrix: Tensor, lookups: int, plan: EmbeddingPlan | None
) -> Shared[Changing]:
    """Return how rows of a matrix are changed."""
    return _cheapest(graph, matrix, lookups, plan, best_changing, changings_in_place, 4)


def _cheapest(
    graph: Graph,
    matrix: Tensor,
    lookups: int,
    plan: EmbeddingPlan | None,
    best: Callable[[Table, int, int], W],
    in_place: Callable[[Graph, Table, Tensor, int, float], Iterator[tuple[W, Int64]]],
    copies: int,
) -> Shared[W]:
    """Return the cheapest way; `copies` is how often a tile moves its share of a copied table."""
    if plan is not None:
        return Shared(working_graph(plan.graph), best(plan.table, plan.columns, lookups))
    table = Table(graph.target, matrix.element_type, *matrix.shape)
    size = table.element.size_bytes
    mapping = graph.tile_mapping(matrix, require_complete=False)
    fullest = int(mapping.elements_per_tile.max()) * size
    uneven = max(0, fullest - matrix.num_elements * size // table.target.tiles)
    found: list[tuple[tuple[float, ...], Shared[W]]] = []
    for columns in blocks_to_try(table.width, table.target.tiles):
        way = best(table, columns, lookups)
        excess, cycles, *_ = rank(table, way)
        if lies_in_blocks(matrix, columns):
            cycles += copies * uneven / table.target.exchange_bytes_per_cycle
        else:
            cycles += copies * (table.moved(fullest) + table.target.cost("worker_call"))
        found.append(((excess, cycles, columns), Shared(graph, way)))
    excess, cycles, _ = min(each[0] for each in found)
    for way, tile in in_place(graph, table, matrix, lookups, math.inf if excess else cycles):
        excess, cycles, *_ = rank(table, way)
        found.append(((excess, cycles, way.columns), Shared(graph, way, tile)))
    return min(found, key=lambda each: each[0])[1]


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
            at=here(),
            found=f"x '{matrix.name}' is {type_and_shape(matrix)} as rows",
            fix="a plan of ops.plan_embedding with these sizes",
        )
