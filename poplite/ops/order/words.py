"""From sorted words to elements and positions."""

from __future__ import annotations

import numpy as np

from poplite.errors import SizeOverflowError
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import called, ordered_bits
from poplite.ops.order.rows import Rows, ranges
from poplite.types import UNSIGNED_INT
from poplite.vertices.order import POSITIONS, KeyRule, Positions, Values

LEAST = 8
"""Words of a worker, at least, where several share those of a tile."""


def check_positions(rows: Rows) -> None:
    """Refuse rows that are too long for positions."""
    if rows.size > POSITIONS:
        raise SizeOverflowError(
            f"{rows.what}: {rows.size:,} elements along dimension {rows.dim} of "
            f"{called(rows.given)}",
            fix=f"at most {POSITIONS:,}",
        )


def write(
    rows: Rows, words: Tensor, count: int, rule: KeyRule | None, *, positions: bool = True
) -> list[Tensor]:
    """Record the values (with a rule) and the positions of the first words of each row.

    Words are [rows, at least count]; a tile writes those that it has.
    """
    first = words[:, :count]
    mapping = rows.graph.tile_mapping(first)
    begin, stop, tile = mapping.in_order()
    length = stop - begin
    workers = rows.graph.target.workers
    parts = np.clip(length // LEAST, 1, workers)
    source = np.repeat(np.arange(len(tile)), parts)
    part = np.arange(len(source)) - np.repeat(np.cumsum(parts) - parts, parts)
    low, high = (length[source] * (part + end) // parts[source] for end in (0, 1))
    tile, begin, length = tile[source], begin[source] + low, high - low
    made = []
    for name, vertex, element_type, state in (
        ("/values", Values, rows.element_type, {} if rule is None else rule._asdict()),
        ("/indices", Positions, UNSIGNED_INT, {}),
    ):
        if (vertex is Values and rule is None) or (vertex is Positions and not positions):
            continue
        out = rows.variable(element_type, name, tile, length)
        made.append(rows.back(out.reshape((rows.count, count))))
        if len(tile):
            fields = {
                "words": ranges(first, begin, length),
                "out": ranges(ordered_bits(out), begin, length),
            }
            rows.execute(name, vertex, tile, **fields, **state)
    return made
