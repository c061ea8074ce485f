"""How long a word travels between two tiles of an IPU, from their positions on the die.

Tiles come in pairs, and pairs fill the die column by column, up and down in turn::

               column 0        column 1  ...         8 columns left of the middle, 8 right of it
    row 22     44,45  46,47    136,137  138,139
    ...
    row 1       2, 3  88,89     94, 95  180,181
    row 0       0, 1  90,91     92, 93  182,183

A *route* is the time from the cycle in which the sender issues a word to that in which the
receiver must have selected this sender, each counted from its own release by the sync: it may be
negative.  The word is in memory some cycles later, the more the higher up the receiver is.

    >>> from poplite.machine.target import Target
    >>> machine = Target(architecture="c600")
    >>> route(machine, np.array([0, 0]), np.array([2, 1471])).tolist()
    [-31, -28]

Source: ipu-stack, topology.rs, which follows Graphcore's own model of the C600's fabric.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.jit.build import address, native
from poplite.jit.kernels.exchange import PLACE_WORDS, routes
from poplite.machine.facts import FACTS

if TYPE_CHECKING:
    from poplite.machine.target import Target

_CYCLES = (
    "column_cycles",
    "near_entry_cycles",
    "far_entry_cycles",
    "left_column_cycles",
    "right_column_cycles",
    "turn_cycles",
    "row_cycles",
    "release_cycles",
)
"""The constants of routes, in the order of the kernels."""


def has_map(target: Target) -> bool:
    """Return whether the positions of the tiles of an IPU are known."""
    facts = FACTS[target.architecture]
    return "die_rows" in facts and target.tiles_per_ipu <= facts["tiles"].value


@lru_cache(maxsize=8)
def places(target: Target) -> Int64:
    """Return where the tiles are, int64[tiles, 6].

    Columns: row, column counted from the nearer side, whether it is right of the middle, whether
    the second of its column, lane in the pair, and number of the pair. Without a map all are 0 but
    the last.
    """
    tiles = np.arange(target.tiles)
    found = np.zeros((target.tiles, PLACE_WORDS), np.int64)
    found[:, -1] = tiles // int(target.cost("pair_tiles"))
    if has_map(target):
        rows, columns = int(target.cost("die_rows")), int(target.cost("die_columns"))
        pair, lane = np.divmod(tiles % target.tiles_per_ipu, int(target.cost("pair_tiles")))
        block, row = np.divmod(pair, rows)
        column, is_second = np.divmod(block, 2)
        is_right = column >= columns // 2
        found[:, 0] = np.where(is_second, rows - 1 - row, row)
        found[:, 1] = np.where(is_right, columns - 1 - column, column)
        found[:, 2], found[:, 3], found[:, 4] = is_right, is_second, lane
    return found


@lru_cache(maxsize=8)
def route_cycles(target: Target) -> Int64:
    """Return the constants of routes, int64[8]; 0 where there is no map."""
    known = has_map(target)
    return np.array([target.cost(name) if known else 0 for name in _CYCLES]).astype(np.int64)


def route(target: Target, source: Int64, to: Int64) -> Int64:
    """Return int64[n], the routes between tiles of one IPU of a machine with a map."""
    found, pieces = np.empty(len(to), np.int64), (address(source), address(to), len(to))
    native(routes)(address(places(target)), address(route_cycles(target)), *pieces, address(found))
    return found
