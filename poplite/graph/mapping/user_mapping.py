"""Users' tile mappings, checked and converted to arrays, and the errors for wrong ones."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order
from poplite.errors import SHOWN_FAULTS, InvalidTileMapping
from poplite.graph.mapping.tile_mapping import TileMapping, ranges
from poplite.source import SourceLocation
from poplite.text import amount, clipped, element_range, integer_or_none


def intervals_of(
    mapping: TileMapping | Iterable[Iterable[tuple[int, int]]],
    num_tiles: int,
    num_elements: int,
    *,
    what: str,
) -> tuple[Int64, Int64, Int64]:
    """Return a nested mapping as arrays `(begin, end, tile)` after checking it.

    They are sorted by begin, without empty intervals. `what` is the name in the message.

    >>> [a.tolist() for a in intervals_of([[(3, 4)], [(0, 3)]], 2, 4, what="'a'")]
    [[0, 3], [3, 4], [1, 0]]
    """
    if isinstance(mapping, TileMapping):
        begin, end, tile = mapping.in_order()
        if not len(tile) or (tile.max() < num_tiles and end[-1] <= num_elements):
            return begin, end, tile
    else:
        tile, begin, end = _listed(mapping, what)
    some = begin != end
    tile, begin, end = tile[some], begin[some], end[some]
    wrong = (tile >= num_tiles) | (begin < 0) | (begin > end) | (end > num_elements)
    if wrong.any():
        at_fault = np.flatnonzero(wrong)[np.argmin(begin[wrong])]
        row = int(tile[at_fault]), int(begin[at_fault]), int(end[at_fault])
        raise _unfit(row, num_tiles, num_elements, what)
    order = sorted_order(begin)
    tile, begin, end = tile[order], begin[order], end[order]
    twice = np.flatnonzero(begin[1:] < end[:-1])
    if len(twice):
        i = twice[0]
        raise InvalidTileMapping(
            f"{what}: element {begin[i + 1]} is given to tile {tile[i]} and to tile {tile[i + 1]}",
            found=f"[{begin[i]}, {end[i]}) on tile {tile[i]}, "
            f"[{begin[i + 1]}, {end[i + 1]}) on tile {tile[i + 1]}",
            fix="intervals of one mapping may not overlap; set the second one afterwards",
        )
    return begin, end, tile


def _listed(mapping: Iterable[Iterable[tuple[int, int]]], what: str) -> tuple[Int64, Int64, Int64]:
    try:
        rows = [(t, index(a), index(b)) for t, held in enumerate(mapping) for a, b in held]
    except (TypeError, ValueError):
        raise InvalidTileMapping(
            f"{what}: {clipped(mapping, 60)} is not a tile mapping",
            found=f"its type is {type(mapping).__name__}",
            fix="a tile number, or for each tile a list of intervals: [[(0, 4)], [(4, 8)]]",
        ) from None
    try:
        table = np.array(rows, np.int64).reshape(-1, 3)
    except OverflowError:  # the caller refuses it, with the number in the message
        table = np.array(rows, np.object_)
    return table[:, 0], table[:, 1], table[:, 2]


def _unfit(
    row: tuple[int, int, int],
    num_tiles: int,
    num_elements: int,
    what: str,
) -> InvalidTileMapping:
    tile, begin, end = row
    if tile >= num_tiles:
        return no_such_tile(what, tile, num_tiles)
    return InvalidTileMapping(
        f"{what}: interval [{begin}, {end}) of tile {tile} is not within "
        f"the view's {amount(num_elements, 'element')}",
        found="it ends before it begins"
        if begin > end
        else f"{amount(max(0, -begin) + max(0, end - num_elements), 'element')} too many",
        fix=f"intervals count elements of the flattened view, 0 to {num_elements}",
    )


def tile_number(tile: object, what: str, num_tiles: int) -> int:
    """Return a tile number after checking it."""
    number = integer_or_none(tile)
    if number is None:
        raise InvalidTileMapping(
            f"{what}: {clipped(tile, 60)} is neither a tile number nor a list of intervals",
            fix=f"a tile from 0 to {num_tiles - 1}, or [[(0, 4)], [(4, 8)]]",
        )
    if not 0 <= number < num_tiles:
        raise no_such_tile(what, number, num_tiles)
    return number


def unmapped_error(
    name: str,
    mapping: TileMapping,
    num_tiles: int,
    at: SourceLocation | None,
    where: str = "",
    *,
    shape: tuple[int, ...],
    view: bool = False,
) -> InvalidTileMapping:
    """Return the error for elements without a tile.

    `at` is the line that made the variable, `where` the program step that uses it; `view` tells
    whether the mapping counts the elements of a view, not of the entire variable.

    >>> answer = TileMapping(4, np.array([0, -1]), np.array([96, 32]))
    >>> print(unmapped_error("bias", answer, 4, None, shape=(128,)))
    'bias': elements [96, 128) of 128 have no tile
      mapped so far: [0, 96) on tile 0; the graph has 4 tiles
      try: graph.set_tile_mapping(bias.flatten()[96:128], tile), or mapping="linear"
    """
    first = mapping.unmapped[0]
    tensor = "view" if view else name.rpartition("/")[2]
    holes = ", ".join(
        _range(hole.begin, hole.end, shape) for hole in mapping.unmapped[:SHOWN_FAULTS]
    )
    more = len(mapping.unmapped) - SHOWN_FAULTS
    mapped = [
        _range(int(a), int(b), shape)
        for a, b in zip(mapping.begin[:3], mapping.end[:3], strict=True)
    ] + ["..."] * (len(mapping.begin) > 3)
    at_fault = _range(first.begin, first.end, shape)
    if len(shape) < 2 or " to " in at_fault:
        at_fault = f".flatten()[{first.begin}:{first.end}]"
    so_far = f"{', '.join(mapped)} on {_tiles(mapping)}" if mapped else "nothing"
    title = f"view of '{name}'" if view else f"'{name}'"
    rest = f" and {amount(more, 'more interval')}" if more > 0 else ""
    return InvalidTileMapping(
        f"{title}: elements {holes}{rest} of {mapping.num_elements:,} have no tile",
        at=at,
        where=where,
        found=f"mapped so far: {so_far}; the graph has {amount(num_tiles, 'tile')}",
        fix=f'graph.set_tile_mapping({tensor}{at_fault}, tile), or mapping="linear"',
    )


def _range(begin: int, end: int, shape: tuple[int, ...]) -> str:
    """Return a range of elements in the indices of a shape; for a vector, as an interval."""
    if len(shape) < 2:
        return f"[{begin}, {end})"
    return element_range("", shape, begin, end).replace("''", "")


def _tiles(mapping: TileMapping) -> str:
    return f"tile{'s' * (len(mapping.tiles) != 1)} {ranges(mapping.tiles)}"


def no_such_tile(what: str, tile: object, num_tiles: int) -> InvalidTileMapping:
    """Return the error for a tile the graph does not have.

    >>> print(no_such_tile("'a'", 4, 4))
    'a': tile 4, but the graph has 4 tiles  (...)
      tiles are 0-3
      try: a smaller tile number, or a graph of 5 tiles, such as Graph(Target(tiles=5))
    """
    larger = isinstance(tile, int) and 0 <= tile < 2**32
    return InvalidTileMapping(
        f"{what}: tile {clipped(tile)}, but the graph has {amount(num_tiles, 'tile')}",
        found=f"tiles are {ranges(range(num_tiles))}",
        fix=f"a smaller tile number, or a graph of {tile + 1} tiles, "  # type: ignore[operator]
        f"such as Graph(Target(tiles={tile + 1}))"  # type: ignore[operator]
        if larger
        else "a whole number from 0",
    )
