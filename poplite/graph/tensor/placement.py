r"""Tiles of tensors: a view's runs painted on the mappings of the variables below it.

Mappings are kept by variable, tensors are views of any number of them.  Setting goes down,
interval by interval of the flattened view; asking goes the same way and comes back up::

    view of 6 elements     0 1 2 3 4 5         intervals [0, 4) on tile 0, [4, 6) on tile 1
                           | | | \ \ \
    variables      x: . x x x    y: y y y      x[1:4] on tile 0, y[0:1] on 0, y[1:3] on 1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64, merge, overlay
from poplite.arrays.sweep import sorted_order
from poplite.errors import InvalidTileMapping
from poplite.graph.mapping.linear import Linear
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.mapping.tile_table import Cut, cut_runs, cut_strided, split
from poplite.graph.mapping.user_mapping import intervals_of, no_such_tile
from poplite.source import SourceLocation
from poplite.text import clipped, integer_or_none
from poplite.view import Storage, View, addresses, num_runs, runs, storages
from poplite.view.address_sets import in_memory_order
from poplite.view.contiguous.small import FEW, few_runs
from poplite.view.view import NOWHERE

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor

MANY_PIECES = 2**13
"""Pieces of a variable's mapping from which on compiled code cuts even a view of one run."""

Nested = TileMapping | Sequence[Sequence[tuple[int, int]]]
"""For each tile, intervals over a flattened view."""


def tile_number(tile: object, what: str, num_tiles: int, at: SourceLocation) -> int:
    """Return a tile number after checking it.

    Args:
        tile: what the user gave.
        what: the name of what is put there, for the message.
        num_tiles: tiles of the graph.
        at: the user's line.

    Raises:
        InvalidTileMapping: when it is no whole number, or the graph has no such tile.

    >>> from poplite.source import here
    >>> tile_number(np.int32(3), "'x'", 4, here())
    3
    """
    number = integer_or_none(tile)
    if number is None:
        raise InvalidTileMapping(
            f"{what}: {clipped(tile, 60)} is neither a tile number nor a list of intervals",
            at=at,
            fix=f"a tile from 0 to {num_tiles - 1}, or [[(0, 4)], [(4, 8)]]",
        )
    if not 0 <= number < num_tiles:
        raise no_such_tile(what, number, num_tiles, at)
    return number


def paint_tensor(tensor: Tensor, tile: int) -> None:
    """Put every element of a tensor on one tile.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4,), "x")
    >>> paint_tensor(x[::2], 7)
    >>> mapping_of(x.graph, x.view)[7]
    [Interval(begin=0, end=1), Interval(begin=2, end=3)]
    """
    view = tensor.view
    space = view.space
    if isinstance(space, Storage):
        if space is NOWHERE:
            return
        mapping = tensor.graph.variable_of(space).mapping
        digits = view.flat_digits()
        if not digits or (len(digits) == 1 and digits[0][1] == 1):
            mapping.paint(view.off, view.off + (digits[0][0] if digits else 1), tile)
            return
        few = few_runs(view)
        if few is None:
            # On one tile the order does not matter: a transposed matrix is a single run.
            view = in_memory_order(view)
            few = few_runs(view)
        if few is not None:
            mapping.paint_runs([begin - space.base for begin in few[0]], few[1], tile)
            return
    begin, length = runs(in_memory_order(view))
    _paint(tensor, begin, begin + length, np.full(len(begin), tile))


def paint_linearly(graph: Graph, tensor: Tensor, *, grain: int = 1, min_elements: int = 1) -> None:
    """Spread the flattened elements of a tensor evenly and in order over all tiles of a graph.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: whole or a view.
        grain: elements that stay together.
        min_elements: least elements of a tile, as far as there are enough.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (2, 4), "x")
    >>> paint_linearly(x.graph, x[1], grain=2)
    >>> mapping_of(x.graph, x.view)[1]
    [Interval(begin=6, end=8)]
    """
    view, count = tensor.view, tensor.num_elements
    if not count:
        return
    linear = Linear.over(count, graph.target.tiles, grain=grain, min_elements=min_elements)
    space = view.space
    is_own = isinstance(space, Storage) and graph is tensor.graph
    if is_own and space.num_elements == count and num_runs(view) == 1:
        graph.variable_of(storages(view)[0]).mapping.paint_linearly(linear)
        return
    breaks, numbers = linear.pieces()
    _paint_flat(tensor, breaks[:-1], breaks[1:], graph._top_level_tiles(numbers))


def paint_intervals(
    graph: Graph, tensor: Tensor, mapping: Nested, what: str, at: SourceLocation
) -> None:
    """Put intervals of a flattened tensor on tiles; other elements stay where they are.

    Args:
        graph: the tensor's graph, or a virtual graph of it, whose tiles are meant.
        tensor: whole or a view.
        mapping: for each tile, intervals.
        what: the tensor's name, for the message.
        at: the user's line.

    Raises:
        InvalidTileMapping: as `intervals_of`.

    >>> from poplite.graph import Graph
    >>> from poplite.source import here
    >>> x = Graph().add_variable("int32", (2, 2), "x")
    >>> paint_intervals(x.graph, x.T, [[(0, 2)], [(2, 4)]], "'x'", here())
    >>> mapping_of(x.graph, x.view)[0]
    [Interval(begin=0, end=1), Interval(begin=2, end=3)]
    """
    num_tiles = graph.target.tiles
    begin, end, tile = intervals_of(mapping, num_tiles, tensor.num_elements, what=what, at=at)
    if len(begin):
        _paint_flat(tensor, begin, end, graph._top_level_tiles(tile))


def _paint_flat(tensor: Tensor, begin: Int64, end: Int64, tile: Int64) -> None:
    """Paint intervals of a flattened tensor, in order."""
    run_begin, run_length = runs(tensor.view)
    breaks = np.concatenate([[0], np.cumsum(run_length)])
    source, run, piece_begin, piece_end = overlay(begin, end, breaks)
    to_address = run_begin[run] - breaks[run]
    _paint(tensor, piece_begin + to_address, piece_end + to_address, tile[source])


def mapping_of(graph: Graph, view: View) -> TileMapping:
    """Return where the elements of a view live, whether or not all have a tile.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4,), "x")
    >>> mapping_of(x.graph, x.view)
    <TileMapping 4 elements, 0 tiles, 0 intervals, 4 unmapped>
    """
    cut = _cut(graph, view)
    if isinstance(cut, Cut):
        return TileMapping.of(graph.target.tiles, cut)
    return TileMapping(graph.target.tiles, *cut)


def any_mapped(tensor: Tensor) -> bool:
    """Tell whether any element of a view of one variable has a tile.

    Args:
        tensor: whole or a view.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4,), "x", mapping=[[(0, 3)]])
    >>> any_mapped(x[2:]), any_mapped(x[3:])
    (True, False)
    """
    view, space = tensor.view, tensor.view.space
    if not isinstance(space, Storage) or space is NOWHERE:
        return False
    mapping, base = tensor.graph.variable_of(space).mapping, space.base
    if mapping.is_new:
        return False
    few = few_runs(view)
    if few is None:
        return mapping.any_mapped(addresses(view).reshape(-1) - base)
    runs_ = zip(*few, strict=True)
    return any(mapping.any_mapped(slice(at - base, at - base + n)) for at, n in runs_)


def pieces_of(graph: Graph, view: View) -> tuple[Int64, Int64]:
    """Return the tile, or `NO_TILE`, and the length of each piece of a view; neighbours differ.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4,), "x", mapping=[[(0, 3)]])
    >>> [a.tolist() for a in pieces_of(x.graph, x.reverse(0).view)]
    [[-1, 0], [1, 3]]
    """
    cut = _cut(graph, view)
    if isinstance(cut, Cut):
        _, tiles, end = cut.pieces(graph.target.tiles)
        return tiles.astype(np.int64), np.diff(end, prepend=0)
    tile, length = cut
    end = np.cumsum(length)
    low, high, tile = merge(end - length, end, tile)
    return tile, high - low


def _cut(graph: Graph, view: View) -> Cut | tuple[Int64, Int64]:
    """Cut a view by tile; where there is little to cut, into tiles and lengths at once."""
    space = view.space
    if isinstance(space, Storage) and space is not NOWHERE:
        mapping = graph.variable_of(space).mapping
        if num_runs(view) > FEW or mapping.num_pieces > MANY_PIECES:
            return cut_strided(mapping.table(), view.flat_digits(), view.off)
    begin, length = runs(view)
    owners = [graph.variable_of(storage) for storage in storages(view)]
    if len(begin) > FEW:
        return cut_runs(graph.directory.table(owners), begin, length)
    tile, _, length = split([(v.storage.base, v.mapping) for v in owners], begin, length)
    return tile, length


def _paint(tensor: Tensor, begin: Int64, end: Int64, tile: Int64) -> None:
    """Paint intervals of addresses, each within one variable of a tensor, in order."""
    owners = sorted(storages(tensor.view), key=lambda storage: storage.base)
    bases = np.array([storage.base for storage in owners])
    if len(owners) > 1:
        number = np.searchsorted(bases, begin, side="right") - 1
        order = sorted_order(number)
        begin, end, tile = begin[order], end[order], tile[order]
        cuts = np.searchsorted(number[order], np.arange(len(owners) + 1))
    else:
        cuts = np.array([0, len(begin)])
    for storage, (first, last) in zip(owners, pairwise(cuts.tolist()), strict=True):
        mine = slice(first, last)
        mapping = tensor.graph.variable_of(storage).mapping
        mapping.paint_many(begin[mine] - storage.base, end[mine] - storage.base, tile[mine])
