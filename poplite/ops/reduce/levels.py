"""In how many levels partial results are joined across tiles: the cheapest of some ways by a model.

    one level       a tile reads the partial results of an output from all tiles that have one
    two levels      the tiles are cut into groups: a tile joins what its group has of an output,
                    and another one what the groups came to
    three levels    groups of groups

    cycles of a level = start of an exchange + bytes that a tile receives, at its rate
                      + the vertices of a tile

All tiles do the same in this model: each output has as many partial results, on as many tiles,
which follow each other or are apart by as many as others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.reduce.stage import LEAST_WORK
from poplite.vertices.estimators.poplibs import reduce_columns, reduce_one

MOST_OF_TWO, MOST_OF_THREE = 60, 6
"""Numbers of groups that are tried for two levels, and for each but the last of three."""


Levels = tuple[int, ...]
"""Into how many groups the tiles are cut, in each level but the last, falling."""


class RemainingPartials(NamedTuple):
    """Partial results that are left.

    Attributes:
        element: their type.
        rows: of an output, where it has most.
        elements: of all outputs together.
        tiles: where they are.
        final_tiles: where outputs are wanted; 0 for anywhere.
        span: tiles from the first to the last that has some of an output, as many as rows where
            these follow each other; 0 for as many.
    """

    element: ElementClass
    rows: int
    elements: int
    tiles: int
    final_tiles: int = 0
    span: int = 0


@lru_cache(maxsize=1 << 10)
def cheapest_levels(target: Target, spread: RemainingPartials) -> Levels:
    """Return the way of the fewest modelled cycles; of equal ones that with the fewest levels.

    >>> from poplite.types import FLOAT
    >>> cheapest_levels(Target(), RemainingPartials(FLOAT, rows=3, elements=3, tiles=3))
    ()
    """
    ways = levels_to_try(spread)
    return min(ways, key=lambda way: (cycles_of(target, spread, way), len(way), way))


def levels_to_try(spread: RemainingPartials) -> list[Levels]:
    """Return the ways that are tried: one level, two, and three."""
    most = min(spread.rows, spread.tiles) // 2
    few = MOST_OF_THREE
    two = [(size,) for size in _sizes(most, MOST_OF_TWO)]
    three = [(a, b) for a in _sizes(most, few) for b in _sizes(a // 2, few)]
    return [(), *two, *three]


def cycles_of(target: Target, spread: RemainingPartials, way: Levels) -> int:
    """Return the modelled cycles of joining partial results in some levels."""
    rows, places, span = spread.rows, spread.tiles, max(spread.span, spread.rows)
    width, cycles = -(-spread.elements // spread.tiles), 0
    grain = _grain(target, spread.element)
    for groups in way:
        size = -(-places // groups)
        joined = min(rows, -(-rows * size // span))
        tiles = _tiles(joined, width, grain)
        width = -(-width // tiles)
        cycles += _level(target, spread.element, joined, width)
        span = -(-span // size)
        rows, places = min(rows, span), groups
    if spread.final_tiles:
        width = -(-spread.elements // (spread.rows * spread.final_tiles))
    else:
        width = -(-width // _tiles(rows, width, grain))
    return cycles + _level(target, spread.element, rows, width)


def _grain(target: Target, element: ElementClass) -> int:
    """Return how many outputs a load brings at once."""
    return max(1, int(target.cost("load_bytes_per_cycle")) // element.size_bytes)


def _tiles(rows: int, width: int, grain: int) -> int:
    """Return how many tiles share the outputs of a group, as `stage` deals them out."""
    return min(max(rows * width // LEAST_WORK, 1), rows, -(-width // grain))


def _level(target: Target, element: ElementClass, rows: int, width: int) -> int:
    """Return the cycles of a tile that joins rows of partial results, with what it receives."""
    cost = target.cost
    columns, grain = width, _grain(target, element)
    if rows * width > LEAST_WORK:  # workers share them
        columns = min(width, -(-width // (target.workers * grain)) * grain)
    start = cost("sync_cycles") + cost("latency_cycles")
    received = rows * width * element.size_bytes / target.exchange_bytes_per_cycle
    slots = (
        reduce_one(element, element, rows, target)
        if columns == 1
        else reduce_columns(element, element, columns, rows, columns, target, adds=True)
    )
    return math.ceil(start + received) + slots * target.workers


def _sizes(most: int, count: int) -> Iterator[int]:
    """Yield some numbers from 2 up to one, each a certain factor above the one before.

    >>> list(_sizes(50, 5)), list(_sizes(1, 5))
    ([2, 4, 10, 22, 50], [])
    """
    last = 1
    for k in range(count):
        size = round(2 * (most / 2) ** (k / (count - 1)))
        if last < size <= most:
            last = size
            yield size
