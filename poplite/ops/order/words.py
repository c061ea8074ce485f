"""From sorted words to elements and positions."""

from __future__ import annotations

from operator import index as whole_number

import numpy as np

from poplite.errors import InvalidOption, SizeOverflowError
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.order.rows import Rows, bits_of, ranges
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.types import UNSIGNED_INT
from poplite.vertices.order import POSITIONS, KeyRule, Positions, Values


def check_positions(rows: Rows) -> None:
    """Refuse rows that are too long for positions."""
    if rows.size > POSITIONS:
        raise SizeOverflowError(
            f"{rows.what}: {rows.size:,} elements along dimension {rows.dim} of '{rows.x.name}'",
            at=here(),
            fix=f"at most {POSITIONS:,}",
        )


def count_of(what: str, name: str, value: object, least: int = 0) -> int:
    """Return a whole number of at least `least`."""
    try:
        number = whole_number(value)  # type: ignore[arg-type]  # checked by this very call
    except TypeError:
        raise InvalidOption(
            f"{what}: {name}={clipped(value)}",
            at=here(),
            found=of_type(value),
            fix=f"a whole number, such as {name}=1",
        ) from None
    if number < least:
        raise SizeOverflowError(
            f"{what}: {name} is {number}", at=here(), fix=f"{name} of at least {least}"
        )
    return number


def write(
    rows: Rows, words: Tensor, count: int, rule: KeyRule | None, *, positions: bool = True
) -> list[Tensor]:
    """Record the values (with a rule) and the positions of the first words of each row.

    Words are [rows, at least count]; a tile writes those that it has.
    """
    first = words[:, :count]
    mapping = rows.graph.tile_mapping(first)
    tile = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    order = np.argsort(mapping.begin)
    tile, begin, length = tile[order], mapping.begin[order], (mapping.end - mapping.begin)[order]
    workers = rows.graph.target.workers
    parts = np.clip(length // 64, 1, workers)  # a worker has 64 words at least
    source = np.repeat(np.arange(len(tile)), parts)
    part = np.arange(len(source)) - np.repeat(np.cumsum(parts) - parts, parts)
    low, high = (length[source] * (part + end) // parts[source] for end in (0, 1))
    tile, begin, length = tile[source], begin[source] + low, high - low
    made = []
    for name, vertex, element_type, state in (
        ("/values", Values, rows.x.element_type, {} if rule is None else rule._asdict()),
        ("/indices", Positions, UNSIGNED_INT, {}),
    ):
        if (vertex is Values and rule is None) or (vertex is Positions and not positions):
            continue
        out = rows.variable(element_type, name, tile, length)
        made.append(rows.back(out.reshape((rows.count, count))))
        if len(tile):
            fields = {
                "words": ranges(first, begin, length),
                "out": ranges(bits_of(out), begin, length),
            }
            rows.execute(name, vertex, tile, **fields, **state)
    return made
