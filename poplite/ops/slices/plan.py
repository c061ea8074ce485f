"""Plans of tables whose rows are read and changed by number: embeddings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poplite.errors import InvalidOption
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.variables import values_for
from poplite.ops.operands import check_parts
from poplite.ops.slices.blocks import home_mapping, of_blocks
from poplite.ops.slices.grid import (
    Changing,
    Reading,
    Table,
    best_changing,
    best_reading,
    blocks_to_try,
)
from poplite.program.control import check_graph
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none
from poplite.types import FLOAT, ElementTypeLike, element_type

MOST_SHOWN = 3
"""Ways that were not taken, of those that a plan prints."""


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """How a table of [entries, width] lies on tiles, for rows that are read and changed by number.

    Attributes:
        graph: that of the table.
        table: its sizes.
        lookups: rows that are read or changed at a time.
        columns: blocks of columns, each of which lies row after row.
        reading: how rows are read; None where they are only changed.
        changing: how rows are changed; None where they are only read.
        others: what was cheapest of other numbers of blocks, best first.
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
        """Cycles of reading and changing, as far as the plan knows."""
        return sum(way.cycles for way in (self.reading, self.changing) if way is not None)

    @property
    def bytes(self) -> int:
        """Bytes of the fullest tile."""
        return max(way.bytes for way in (self.reading, self.changing) if way is not None)

    def create_table(self, name: str = "table", *, initial_value: Any = None) -> Tensor:
        """Make the table, as a variable that lies as the plan wants it.

        Args:
            name: of the variable.
            initial_value: an array of [entries, width], or a number.

        Returns:
            [entries, width].

        Raises:
            TensorCreationError: for a name that is none, and another number of values.
        """
        entries, width = self.table.entries, self.table.width
        return self._create(name, entries, width, initial_value)

    def create_updates(self, name: str = "updates", *, initial_value: Any = None) -> Tensor:
        """Make a variable for the rows that the table is changed by, [lookups, width].

        `ops.multi_slice` with this plan returns rows that lie likewise.
        """
        return self._create(name, self.lookups, self.table.width, initial_value)

    def _create(self, name: str, rows: int, width: int, initial_value: Any) -> Tensor:
        if not isinstance(initial_value, int | float | None):
            given = values_for(self.table.element, (rows, width), initial_value, None, name, here())
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
    """Return the cheapest way to share a table among tiles.

    Args:
        graph: of the table.
        entries: its rows.
        width: elements of a row.
        lookups: how many rows are read or changed at a time.
        type: the element type.
        used_for: "read", "change" or "both".
        memory: the share of a tile's memory that tables, indices and rows may take. Where no way
            takes less, it is that with the least.
        columns: blocks of columns, a divisor of the width; left out, the best.

    Returns:
        The plan, for equal arguments the same; `print(plan)` shows what else was priced.

    Raises:
        InvalidOption: for sizes below 1, another `used_for`, a `memory` that is not above 0, and
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
            raise _option(f"{name} is {clipped(size)}", f"{name}= a whole number from 1")
    if not isinstance(used_for, str) or used_for not in ("read", "change", "both"):
        raise _option(f"used_for is {clipped(used_for)}", '"read", "change" or "both"')
    if not isinstance(memory, int | float | np.number) or not 0 < memory < 2**63:
        raise _option(f"memory is {clipped(memory)}", "a share above 0, such as memory=0.8")
    table = Table(graph.target, element_type(type), int(entries), int(width), float(memory))
    choices = blocks_to_try(table.width, graph.target.tiles)
    if columns is not None:
        number = integer_or_none(columns)
        if number not in choices:
            raise _option(
                f"{clipped(columns)} blocks of columns, of rows of {width}",
                "columns= one of " + ", ".join(str(n) for n in choices),
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
