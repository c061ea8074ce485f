"""Colours by which tiles that lie beside each other on a page are told apart.

Up to six tiles have a colour each.  More share the six: a tile takes the one of its place among the
tiles, unless a neighbour has it already; then the next that no neighbour has::

     0  1  2  3          colours of a 4 x 4 grid       0 1 2 3
     4  5  6  7                                        4 5 0 1
     8  9 10 11                                        2 3 4 5
    12 13 14 15                                        0 1 2 3

>>> from poplite.viz.tensor.flat_page import rectangles
>>> page = rectangles(np.arange(0, 32, 4), np.full(8, 4), np.arange(8), 8)
>>> tile_colors(page, np.arange(8))
[0, 1, 2, 3, 4, 5, 0, 1]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.viz.colours import CATEGORIES
from poplite.viz.tensor.flat_page import Rectangles


def tile_colors(page: Rectangles, tiles: Int64) -> list[int]:
    """Return the category of each of the tiles, rising, that own rectangles of a page.

    Where all six are taken, the one that touches least of the tile's own sides is used again.
    """
    beside = _neighbours(page)
    color: dict[int, int] = {}
    for rank, tile in enumerate(tiles.tolist()):
        taken = [0] * len(CATEGORIES)
        for other, sides in beside.get(tile, {}).items():
            if other in color:
                taken[color[other]] += sides
        turned = [(rank + k) % len(CATEGORIES) for k in range(len(CATEGORIES))]
        color[tile] = min(turned, key=taken.__getitem__)
    return list(color.values())


def _neighbours(page: Rectangles) -> dict[int, dict[int, int]]:
    """Return for each value the others that share sides with it, and how many sides."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    across = _touching(page.left, page.right, page.top, page.bottom)
    down = _touching(page.top, page.bottom, page.left, page.right)
    value = page.value.tolist()
    for sides in (across, down):
        for k, j in sides:
            a, b = value[k], value[j]
            if a != b:
                found[a][b] += 1
                found[b][a] += 1
    return found


def _touching(near: Int64, far: Int64, low: Int64, high: Int64) -> Iterator[tuple[int, int]]:
    """Yield pairs of intervals [low, high) that overlap, one of which ends where the other begins.

    Rectangles do not overlap, so those that begin at one place are disjoint.
    """
    begins: dict[int, list[int]] = defaultdict(list)
    for k in np.lexsort((low, near)).tolist():
        begins[near[k].item()].append(k)
    lows = {place: low[members] for place, members in begins.items()}
    highs = {place: high[members] for place, members in begins.items()}
    for k, place in enumerate(far.tolist()):
        if place in begins:
            first = int(np.searchsorted(highs[place], low[k], side="right"))
            last = int(np.searchsorted(lows[place], high[k], side="left"))
            yield from ((k, other) for other in begins[place][first:last])
