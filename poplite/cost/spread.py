"""Numbers of tiles as costs make them and add them up: most are of few tiles, or equal on many.

from a dense array     0 7 0 5
tiles                   1 3
values                  7 5

>>> spread = PerTile.of(np.array([0, 7, 0, 5]))
>>> few(spread), times(spread, 2).array().tolist()
([(1, 7), (3, 5)], [0, 14, 0, 10])
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.report.per_tile import PerTile

FEW = 8
"""Most numbers that are handled without arrays.

Kept for benchmarks/building.py: `100,000 compute sets of one vertex, built and compiled`.
"""

_ONE = ((1, 0),)
"""The digits of a series of one number."""


def at_tiles(num_tiles: int, tiles: Int64, values: Int64) -> PerTile:
    """Return the numbers of some tiles; `tiles` and `values` are int64[n], tiles ascending."""
    if len(values) <= FEW:
        return at_few(num_tiles, tiles.tolist(), values.tolist())
    some = np.flatnonzero(values)
    if len(some) < len(values):
        tiles, values = tiles[some], values[some]
    return PerTile(num_tiles, compact(tiles), compact(values))


def at_few(num_tiles: int, tiles: Sequence[int], values: Sequence[int]) -> PerTile:
    """Return the numbers of a few tiles, in ascending order of the tiles.

    >>> found = at_few(4, [1, 2, 3], [7, 0, 5])
    >>> found.tiles, found.values
    (Steps(first=1, digits=((2, 2),)), Steps(first=7, digits=((2, -2),)))
    """
    if 0 in values:
        tiles = [tile for tile, value in zip(tiles, values, strict=True) if value]
        values = [value for value in values if value]
    return PerTile(num_tiles, _few(tiles), _few(values))


def at_tile(num_tiles: int, tile: int, value: int) -> PerTile:
    """Return the number of one tile; it is not zero."""
    return PerTile(num_tiles, Steps(tile, _ONE), Steps(value, _ONE))


def add_to(dense: Int64, spread: PerTile, times: int = 1) -> None:
    """Add numbers, multiplied by a factor, to those of int64[tiles].

    >>> total = np.array([1, 1, 1, 1])
    >>> add_to(total, PerTile.of(np.array([0, 7, 0, 5])), -1)
    >>> total.tolist()
    [1, -6, 1, -4]
    """
    tiles, values = spread.tiles, spread.values
    if isinstance(tiles, Steps) and tiles.digits == _ONE:
        dense[tiles.first] += times * values.at(0)
        return
    amount = values.array() if (only := _only(values)) is None else only
    if isinstance(tiles, Steps) and len(tiles.digits) == 1 and tiles.digits[0][1] == 1:
        dense[tiles.first : tiles.first + tiles.count] += times * amount
    else:
        dense[tiles.array()] += times * amount


def add_each_to(dense: Int64, spread: PerTile, number: int) -> None:
    """Add one number to int64[tiles] at every tile whose own number is not zero."""
    if spread.num_used:
        numbers = constant(number, spread.num_used)
        add_to(dense, PerTile(spread.num_tiles, spread.tiles, numbers))


def times(spread: PerTile, factor: int) -> PerTile:
    """Return the numbers multiplied by a factor that is not negative."""
    if not factor or not spread.num_used:
        return PerTile.nothing(spread.num_tiles)
    values = spread.values
    product = (
        values.times(factor) if isinstance(values, Steps) else compact(values.array() * factor)
    )
    return PerTile(spread.num_tiles, spread.tiles, product)


def few(spread: PerTile) -> Sequence[tuple[int, int]] | None:
    """Return the tiles with their numbers, or None where there are more than `FEW`."""
    tiles, values = spread.tiles, spread.values
    if isinstance(tiles, Steps) and tiles.digits == _ONE:
        return [(tiles.first, values.at(0))]
    if tiles.count > FEW:
        return None
    return list(zip(tiles.array().tolist(), values.array().tolist(), strict=True))


def _few(numbers: Sequence[int]) -> Series:
    """Return the same as `compact`, for a few numbers."""
    count = len(numbers)
    if count < 2:
        return Steps(numbers[0], _ONE) if count else constant(0, 0)
    step = numbers[1] - numbers[0]
    if count == 2 or all([b - a == step for a, b in pairwise(numbers)]):
        return Steps(numbers[0], ((count, step),))
    return compact(np.array(numbers, np.int64))


def _only(values: Series) -> int | None:
    """Return the number that all values equal, where their form shows it, else None."""
    if isinstance(values, Steps) and len(values.digits) == 1 and values.digits[0][1] == 0:
        return values.first
    return None
