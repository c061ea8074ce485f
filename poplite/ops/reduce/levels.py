"""How many compute sets join what tiles came to: one for all, or one for groups of tiles before.

    1,472 partial results of 1 output    one step     1,472 on one tile
                                         two steps    44 on each of 34 tiles, then 34 on one

What a step takes is a synchronisation, the bytes that its fullest tile gets, and what its vertices
take (`reduce_columns` of PopLibs). The cheapest of some dozens of group numbers is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.vertices.estimators.poplibs import reduce_columns

MOST_TRIED = 24
"""Group numbers that are tried."""


class Partials(NamedTuple):
    """Partial results that are to be joined.

    Attributes:
        most: of an output, at most.
        outputs: how many outputs there are.
        tiles: that hold some.
        element: their type.
    """

    most: int
    outputs: int
    tiles: int
    element: ElementClass


def cheapest_groups(partials: Partials, target: Target) -> int:
    """Return into how many groups tiles are best divided for a step before the last; 1 for none.

    >>> from poplite.types import FLOAT
    >>> cheapest_groups(Partials(1472, 1, 1472, FLOAT), Target())
    34
    >>> cheapest_groups(Partials(20, 1, 20, FLOAT), Target())
    1
    """
    return min(_tried(partials.most), key=lambda groups: (cycles(partials, groups, target), groups))


def cycles(partials: Partials, groups: int, target: Target) -> int:
    """Return what joining takes where tiles are divided into so many groups before the last."""
    most, outputs, tiles, element = partials
    if groups == 1:
        return _step(most, outputs, tiles, element, target)
    each = -(-most // groups)
    first = _step(each, outputs, -(-tiles // groups), element, target)
    return first + _step(groups, outputs, tiles, element, target)


def _tried(most: int) -> Iterable[int]:
    """Yield 1, and numbers between 2 and half of the partial results of an output."""
    found = {1}
    for k in range(MOST_TRIED if most >= 4 else 0):
        found.add(round(2 * (most / 4) ** (k / (MOST_TRIED - 1))))
    return sorted(found)


def _step(rows: int, outputs: int, tiles: int, element: ElementClass, target: Target) -> int:
    """Return the cycles of joining `rows` partial results of outputs that are spread over tiles."""
    on_tile = -(-outputs // tiles)
    received = on_tile * rows * element.size_bytes / target.cost("exchange_bytes_per_cycle")
    width = max(1, int(target.cost("load_bytes_per_cycle")) // element.size_bytes)
    own = min(on_tile, -(-on_tile // (width * target.workers)) * width)
    slots = reduce_columns(element, element, own, rows, own, target, adds=True)
    sync = target.cost("sync_cycles") + target.cost("sync_stagger_cycles")
    return math.ceil(sync + received) + slots * target.workers
