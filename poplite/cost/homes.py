"""Where elements lie in the memory of tiles: a *place* for each, in the order of memory.

    addresses    x  0 1 2 3 4 5     tiles   0 0 1 1 0 1
    places          0 1 4 5 2 6             tile 0  x0 x1 x4  .  tile 1  x2 x3 x5  .

Elements of a variable that live on one tile lie there one after the other, in the order of the
variable: rows of a block that a tile has are next to each other.  What has places one after the
other is one stretch of a tile's memory.  Between variables there is a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from poplite.intervals import Int64
from poplite.sweep import sorted_order
from poplite.tile_table import NO_TILE, TileTable
from poplite.view.kernels.homes import crossing
from poplite.view.native import address, native

if TYPE_CHECKING:
    from poplite.graph import Graph

FEW = 32
"""Pieces of runs that are visited without compiled code."""


class Homes(NamedTuple):
    """The tiles and places of all addresses.

    Attributes:
        table: the tiles.
        shift: int64[m], from addresses of each segment of the table to places.
    """

    table: TileTable
    shift: Int64


_known: WeakKeyDictionary[Graph, Homes] = WeakKeyDictionary()


def homes_of(graph: Graph) -> Homes:
    """Return where the elements of a graph are; kept until its mapping changes.

    Args:
        graph: all of whose elements that are connected or copied have a tile.
    """
    table, known = graph.directory.whole(), _known.get(graph)
    if known is None or known.table is not table:
        known = _known[graph] = homes(table)
    return known


def homes(table: TileTable) -> Homes:
    """Find the places of all addresses.

    Args:
        table: their tiles; none between two variables.

    >>> table = TileTable(np.array([0, 2, 4, 5, 6]), np.array([0, 1, 0, 1]))
    >>> homes(table).shift.tolist()
    [0, 2, -2, 1]
    """
    tiles, size = table.tiles.astype(np.int64), np.diff(table.breaks)
    variable = np.cumsum(tiles == NO_TILE)
    key = (tiles + 1) * (int(variable[-1]) + 1) + variable
    order = sorted_order(key)
    place = np.empty_like(size)
    place[order] = np.cumsum(size[order]) - size[order]
    place[order] += np.cumsum(np.diff(key[order], prepend=key[order[0]]) != 0)
    return Homes(table, place - table.breaks[:-1])


def walk(homes: Homes, kernel: Callable[..., int], *given: Any) -> int:
    """Run a kernel of `poplite.view.kernels.homes`: as it is on lists, else compiled.

    Args:
        homes: of the graph, given to it first.
        kernel: the kernel.
        given: its other arguments: lists and numbers, or contiguous arrays and numbers.
    """
    table, shift = homes
    segments: list[Any] = [table.breaks, table.buckets, table.shift, table.tiles, shift]
    if isinstance(given[0], list):
        plain = [each if isinstance(each, int) else memoryview(each) for each in segments]
        return int(kernel(*plain, *given))
    segments += given
    return native(kernel)(*[each if isinstance(each, int) else address(each) for each in segments])


def are_few(homes: Homes, begin: Int64, end: Int64) -> bool:
    """Tell whether runs have so few pieces that they are visited without compiled code.

    Args:
        homes: of the graph.
        begin: int64[n], first addresses.
        end: int64[n], one past the last.
    """
    if len(begin) > FEW:
        return False
    breaks = homes.table.breaks
    inside = breaks.searchsorted(end) - breaks.searchsorted(begin, "right")
    return len(begin) + int(inside.sum()) <= FEW


def cross_homes(homes: Homes, begin: Int64, end: Int64) -> bool:
    """Tell whether any run has elements of several stretches of memory.

    Args:
        homes: of the graph.
        begin: int64[n], first addresses.
        end: int64[n], one past the last.

    >>> found = homes(TileTable(np.array([0, 3, 6]), np.array([0, 1])))
    >>> cross_homes(found, np.array([0, 2]), np.array([3, 4]))
    True
    """
    if len(begin) <= FEW:
        breaks = homes.table.breaks
        return bool((end > breaks[breaks.searchsorted(begin, "right")]).any())
    return walk(homes, crossing, begin, end, len(begin)) > 0
