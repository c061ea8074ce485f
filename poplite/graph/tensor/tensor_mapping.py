r"""Tiles of tensors: the runs of a view are painted onto the mappings of its variables.

Each variable has a mapping; tensors are views of any number of variables. Setting a tensor's tiles
divides the intervals of the flattened view among the variables; a query collects them again::

    view of 6 elements     0 1 2 3 4 5         intervals [0, 4) on tile 0, [4, 6) on tile 1
                           | | | \ \ \
    variables      x: . x x x    y: y y y      x[1:4] on tile 0, y[0:1] on 0, y[1:3] on 1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from poplite.arrays.intervals import Int64, merge, overlay, sorted_order
from poplite.errors import InvalidTileMapping, TensorCreationError, did_you_mean, warn
from poplite.graph.space import Space
from poplite.graph.tile_mapping import (
    AllTiles,
    TileMapping,
    TileNumbers,
    intervals_of,
    remapped,
    unmapped_error,
)
from poplite.graph.variable_mapping import Cut, Linear, cut_runs, cut_strided, split
from poplite.text import amount, clipped
from poplite.view import Storage, View, addresses, num_runs, runs, storages
from poplite.view.address_sets import in_memory_order
from poplite.view.intervals_of_view import FEW, few_runs
from poplite.view.view import NOWHERE

MANY_PIECES = 2**13
"""Number of mapping pieces from which compiled code cuts even a view of one run."""

Nested = TileMapping | Sequence[Sequence[tuple[int, int]]]
"""For each tile, intervals over a flattened view."""


def paint_view(space: Space, view: View, tile: int) -> None:
    """Put every element of a view on one tile of the top-level graph."""
    storage = view.space
    if isinstance(storage, Storage):
        if storage is NOWHERE:
            return
        mapping = space.variable_of(storage).mapping
        digits = view.flat_digits()
        if not digits or (len(digits) == 1 and digits[0][1] == 1):
            mapping.paint(view.off, view.off + (digits[0][0] if digits else 1), tile)
            return
        few = few_runs(view)
        if few is None:
            # With one tile the order does not matter: a transposed matrix is a single run.
            view = in_memory_order(view)
            few = few_runs(view)
        if few is not None:
            mapping.paint_runs([begin - storage.base for begin in few[0]], few[1], tile)
            return
    begin, length = runs(in_memory_order(view))
    _paint(space, view, begin, begin + length, np.full(len(begin), tile))


def paint_mapping(space: Space, tiles: TileNumbers, view: View, mapping: object, name: str) -> None:
    """Put elements of a view on tiles: one tile, intervals for each tile, or "linear".

    Warns when elements of a constant change their tile.
    """
    storage = view.space
    if isinstance(storage, Storage) and storage.constant and any_mapped(space, view):
        before = mapping_of(space, view)
        _paint_checked(space, tiles, view, mapping, name)
        made_at = space.variable_of(storage).location
        warning = remapped(name, made_at, before, mapping_of(space, view))
        if warning is not None:
            warn(warning)
    else:
        _paint_checked(space, tiles, view, mapping, name)


def _paint_checked(
    space: Space, tiles: TileNumbers, view: View, mapping: object, name: str
) -> None:
    if isinstance(mapping, str):
        if mapping != "linear":
            raise InvalidTileMapping(
                f"'{name}': mapping {clipped(mapping)} is not known"
                f"{did_you_mean(mapping, ['linear'])}",
                fix="pass mapping='linear', a tile number, or a list of intervals for each tile",
            )
        paint_linearly(space, tiles, view)
        return
    if not _is_nested(mapping):
        paint_view(space, view, tiles.checked(mapping, f"'{name}'"))
        return
    what = f"'{name}'"
    begin, end, tile = intervals_of(mapping, tiles.num_tiles, view.num_elements, what=what)
    if len(begin):
        _paint_flat(space, view, begin, end, tiles.to_top_level(tile))


def _is_nested(mapping: object) -> TypeGuard[Nested]:
    if isinstance(mapping, int):
        return False
    return isinstance(mapping, TileMapping | Sequence)


def paint_linearly(
    space: Space, tiles: TileNumbers, view: View, *, grain: int = 1, min_elements: int = 1
) -> None:
    """Spread the flattened elements of a view evenly and in order over all tiles of a graph.

    `grain` elements stay together; a tile gets at least `min_elements`, if there are enough.

    >>> import poplite as pl
    >>> from poplite.graph.tile_mapping import AllTiles
    >>> x = pl.Graph(pl.Target(tiles=4)).add_variable("int32", (2, 4), "x")
    >>> paint_linearly(x.graph.space, AllTiles(4), x[1].view, grain=2)
    >>> mapping_of(x.graph.space, x.view)[1]
    [Interval(begin=6, end=8)]
    """
    count = view.num_elements
    if not count:
        return
    linear = Linear.over(count, tiles.num_tiles, grain=grain, min_elements=min_elements)
    storage = view.space
    is_variable = isinstance(storage, Storage) and storage.num_elements == count
    if is_variable and isinstance(tiles, AllTiles) and num_runs(view) == 1:
        space.variable_of(storages(view)[0]).mapping.paint_linearly(linear)
        return
    breaks, numbers = linear.pieces()
    _paint_flat(space, view, breaks[:-1], breaks[1:], tiles.to_top_level(numbers))


def _paint_flat(space: Space, view: View, begin: Int64, end: Int64, tile: Int64) -> None:
    """Paint intervals of a flattened view, in order."""
    run_begin, run_length = runs(view)
    breaks = np.concatenate([[0], np.cumsum(run_length)])
    source, run, piece_begin, piece_end = overlay(begin, end, breaks)
    to_address = run_begin[run] - breaks[run]
    _paint(space, view, piece_begin + to_address, piece_end + to_address, tile[source])


def mapping_of(space: Space, view: View) -> TileMapping:
    """Return the tiles of the elements of a view; some elements may have none."""
    cut = _cut(space, view)
    if isinstance(cut, Cut):
        return TileMapping.of(space.num_tiles, cut)
    return TileMapping(space.num_tiles, *cut)


def complete_mapping(space: Space, tiles: TileNumbers, view: View, name: str) -> TileMapping:
    """Return the tiles of the elements of a view, which must all have one."""
    mapping = mapping_of(space, view)
    # A hole in the view is a hole in a variable; checking those first saves a pass over the view.
    owners = [space.variable_of(storage) for storage in storages(view)]
    holes = [variable for variable in owners if not variable.mapping.is_complete]
    if holes and not mapping.is_complete:
        line, is_view = holes[0].location, view.shape != owners[0].shape
        raise unmapped_error(name, mapping, space.num_tiles, line, shape=view.shape, view=is_view)
    own = tiles.renumbered(mapping)
    tiles.check_complete(name, own, mapping)
    return own


def variable_mapping(space: Space, view: View, name: str) -> TileMapping:
    """Return the tiles of all elements of the single variable underlying a view."""
    owners = storages(view)
    if len(owners) != 1:
        raise TensorCreationError(
            f"'{name}' views {amount(len(owners), 'variable')}, but exactly 1 is needed",
            found=f"shape {view.shape}",
            fix="call graph.tile_mapping(tensor), which accepts any view",
        )
    breaks, tiles = space.variable_of(owners[0]).mapping.pieces()
    return TileMapping(space.num_tiles, tiles, np.diff(breaks))


def any_mapped(space: Space, view: View) -> bool:
    """Return whether any element of a view of one variable has a tile."""
    storage = view.space
    if not isinstance(storage, Storage) or storage is NOWHERE:
        return False
    mapping, base = space.variable_of(storage).mapping, storage.base
    if mapping.is_new:
        return False
    few = few_runs(view)
    if few is None:
        return mapping.any_mapped(addresses(view).reshape(-1) - base)
    runs_ = zip(*few, strict=True)
    return any(mapping.any_mapped(slice(at - base, at - base + n)) for at, n in runs_)


def pieces_of(space: Space, view: View) -> tuple[Int64, Int64]:
    """Return the tile, or `NO_TILE`, and the length of each piece of a view; neighbours differ.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("int32", (4,), "x", mapping=[[(0, 3)]])
    >>> [a.tolist() for a in pieces_of(x.graph.space, x.reverse(0).view)]
    [[-1, 0], [1, 3]]
    """
    return _pieces(space, _cut(space, view))


def pieces_of_runs(space: Space, view: View, begin: Int64, length: Int64) -> tuple[Int64, Int64]:
    """Return the result of `pieces_of` for runs of addresses in the variables of a view."""
    return _pieces(space, _cut_runs(space, view, begin, length))


def _pieces(space: Space, cut: Cut | tuple[Int64, Int64]) -> tuple[Int64, Int64]:
    if isinstance(cut, Cut):
        _, tiles, end = cut.pieces(space.num_tiles)
        return tiles.astype(np.int64), np.diff(end, prepend=0)
    tile, length = cut
    end = np.cumsum(length)
    low, high, tile = merge(end - length, end, tile)
    return tile, high - low


def _cut(space: Space, view: View) -> Cut | tuple[Int64, Int64]:
    """Cut a view by tile: a `Cut`, or directly tiles and lengths if there are few pieces."""
    storage = view.space
    if isinstance(storage, Storage) and storage is not NOWHERE:
        mapping = space.variable_of(storage).mapping
        if num_runs(view) > FEW or mapping.num_pieces > MANY_PIECES:
            return cut_strided(mapping.table(), view.flat_digits(), view.off)
    return _cut_runs(space, view, *runs(view))


def _cut_runs(space: Space, view: View, begin: Int64, length: Int64) -> Cut | tuple[Int64, Int64]:
    owners = [space.variable_of(storage) for storage in storages(view)]
    if len(begin) > FEW:
        return cut_runs(space.table(owners), begin, length)
    tile, _, length = split([(v.storage.base, v.mapping) for v in owners], begin, length)
    return tile, length


def _paint(space: Space, view: View, begin: Int64, end: Int64, tile: Int64) -> None:
    """Paint intervals of addresses, each within one variable of a view, in order."""
    owners = sorted(storages(view), key=lambda storage: storage.base)
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
        mapping = space.variable_of(storage).mapping
        mapping.paint_many(begin[mine] - storage.base, end[mine] - storage.base, tile[mine])
