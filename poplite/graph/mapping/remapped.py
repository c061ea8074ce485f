"""Constants that are mapped twice: most often a loop that names the wrong tensor.

before   0 0 0 0 . .        tile of each element, or none
after    0 0 3 3 3 3
moved        3 3            what had another tile before
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ConstantRemappedWarning
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.mapping.tile_table import NO_TILE
from poplite.source import SourceLocation
from poplite.text import counted


def remapped(
    name: str, made_at: SourceLocation, before: TileMapping, after: TileMapping, at: SourceLocation
) -> ConstantRemappedWarning | None:
    """Return the warning of a constant that moves to other tiles; None where nothing moves.

    Args:
        name: the view that is mapped.
        made_at: the user's line that made the constant.
        before: the tiles of the view, before it is mapped.
        after: and then.
        at: the user's line that maps it.

    >>> from poplite.source import here
    >>> from_tile_1, to_tile_2 = (TileMapping(3, np.array([t]), np.array([4])) for t in (1, 2))
    >>> print(remapped("taps", here(), from_tile_1, to_tile_2, here()).what)
    constant 'taps': 4 of 4 elements move to another tile
    """
    cuts = np.unique(np.concatenate([before.begin, before.end, after.begin, after.end]))
    old, new = _tiles(before, cuts[:-1]), _tiles(after, cuts[:-1])
    moved = np.flatnonzero((old != NO_TILE) & (old != new))
    if not len(moved):
        return None
    count, first = int(np.diff(cuts)[moved].sum()), moved[0]
    return ConstantRemappedWarning(
        f"constant '{name}': {count:,} of {counted(before.num_elements, 'element')} "
        f"{'moves' if count == 1 else 'move'} to another tile",
        at=at,
        found=f"element {cuts[first]:,} was on tile {old[first]} and is on tile {new[first]} now; "
        f"the constant was made at {made_at}",
        fix="map each element once; for the same values on several tiles make several constants",
    )


def _tiles(mapping: TileMapping, elements: Int64) -> Int64:
    """Return the tile of each of some elements, or `NO_TILE`."""
    order = np.argsort(mapping.begin)
    begin, end = mapping.begin[order], mapping.end[order]
    tile = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))[order]
    at = np.searchsorted(begin, elements, side="right") - 1
    return np.asarray(np.where((at >= 0) & (elements < end[at]), tile[at], NO_TILE))
