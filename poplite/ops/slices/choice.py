"""Which way a table is shared: as its plan says, or as is cheapest where it lies."""

from __future__ import annotations

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
from poplite.ops.slices.plan import EmbeddingPlan
from poplite.source import here


def way_to_read(
    graph: Graph, matrix: Tensor, lookups: int, plan: EmbeddingPlan | None
) -> tuple[Graph, Reading]:
    """Return how rows of a matrix are read, and the graph whose tiles share it."""
    graph, table, columns = _chosen(graph, matrix, lookups, plan, is_read=True)
    return graph, best_reading(table, columns, lookups)


def way_to_change(
    graph: Graph, matrix: Tensor, lookups: int, plan: EmbeddingPlan | None
) -> tuple[Graph, Changing]:
    """Return how rows of a matrix are changed, and the graph whose tiles share it."""
    graph, table, columns = _chosen(graph, matrix, lookups, plan, is_read=False)
    return graph, best_changing(table, columns, lookups)


def _chosen(
    graph: Graph, matrix: Tensor, lookups: int, plan: EmbeddingPlan | None, *, is_read: bool
) -> tuple[Graph, Table, int]:
    if plan is not None:
        return working_graph(plan.graph), plan.table, plan.columns
    table = Table(graph.target, matrix.element_type, *matrix.shape)
    return graph, table, _columns(table, matrix, lookups, is_read=is_read)


def _columns(table: Table, matrix: Tensor, lookups: int, *, is_read: bool) -> int:
    """Return into how many blocks of columns a table is cut that nobody planned."""
    found = []
    for columns in blocks_to_try(table.width, table.target.tiles):
        way: Reading | Changing = (best_reading if is_read else best_changing)(
            table, columns, lookups
        )
        excess, cycles, *_ = rank(table, way)
        if not lies_in_blocks(matrix, columns):
            share = matrix.num_elements * table.element.size_bytes / table.target.tiles
            cycles += (2 if is_read else 4) * table.moved(share)
        found.append((excess, cycles, columns))
    return min(found)[2]


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
