"""A number for each tile, stored in few bytes.

from a dense array     0 7 0 5
tiles                   1 3
values                  7 5

>>> spread = Spread.of(np.array([0, 7, 0, 5]))
>>> spread.most, spread.total, spread.dense(4).tolist()
(7, 12, [0, 7, 0, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A number for each of some tiles, ascending and none of them zero; other tiles have zero."""

    tiles: Series
    values: Series

    @classmethod
    def of(cls, dense: Int64) -> Spread:
        """Return the shortest form of dense numbers, int64[tiles]."""
        tiles = np.flatnonzero(dense)
        return cls(compact(tiles), compact(dense[tiles]))

    @classmethod
    def at_tiles(cls, tiles: Int64, values: Int64) -> Spread:
        """Return the numbers of some tiles; `tiles` and `values` are int64[n], tiles ascending."""
        if len(values) <= FEW:
            return cls.at_few(tiles.tolist(), values.tolist())
        some = np.flatnonzero(values)
        if len(some) < len(values):
            tiles, values = tiles[some], values[some]
        return cls(compact(tiles), compact(values))

    @classmethod
    def at_few(cls, tiles: Sequence[int], values: Sequence[int]) -> Spread:
        """Return the numbers of a few tiles, in ascending order of the tiles.

        >>> Spread.at_few([1, 2, 3], [7, 0, 5])
        Spread(tiles=Steps(first=1, digits=((2, 2),)), values=Steps(first=7, digits=((2, -2),)))
        """
        if 0 in values:
            tiles = [tile for tile, value in zip(tiles, values, strict=True) if value]
            values = [value for value in values if value]
        return cls(_few(tiles), _few(values))

    @classmethod
    def at_tile(cls, tile: int, value: int) -> Spread:
        """Return the number of one tile; it is not zero."""
        return cls(Steps(tile, _ONE), Steps(value, _ONE))

    def dense(self, num_tiles: int) -> Int64:
        """Return int64[num_tiles]."""
        numbers = np.zeros(num_tiles, np.int64)
        self.add_to(numbers)
        return numbers

    def per_tile(self, num_tiles: int) -> PerTile:
        """Return the same as reports have it."""
        return PerTile(num_tiles, self.tiles, self.values)

    def add_to(self, dense: Int64, times: int = 1) -> None:
        """Add the numbers, multiplied by a factor, to those of int64[tiles].

        >>> total = np.array([1, 1, 1, 1])
        >>> Spread.of(np.array([0, 7, 0, 5])).add_to(total, -1)
        >>> total.tolist()
        [1, -6, 1, -4]
        """
        tiles, values = self.tiles, self.values
        if isinstance(tiles, Steps) and tiles.digits == _ONE:
            dense[tiles.first] += times * values.at(0)
            return
        amount = values.array() if (only := _only(values)) is None else only
        if isinstance(tiles, Steps) and len(tiles.digits) == 1 and tiles.digits[0][1] == 1:
            dense[tiles.first : tiles.first + tiles.count] += times * amount
        else:
            dense[tiles.array()] += times * amount

    def add_each_to(self, dense: Int64, number: int) -> None:
        """Add one number to int64[tiles] at every tile whose own number is not zero."""
        if self.values.count:
            Spread(self.tiles, constant(number, self.tiles.count)).add_to(dense)

    def at(self, tile: int) -> int:
        """Return the number of one tile.

        >>> Spread.of(np.array([0, 7, 0, 5])).at(3)
        5
        """
        tiles = self.tiles.array()
        place = int(np.searchsorted(tiles, tile))
        found = place < len(tiles) and int(tiles[place]) == tile
        return self.values.at(place) if found else 0

    def times(self, factor: int) -> Spread:
        """Return the numbers multiplied by a factor that is not negative."""
        if not factor or self.is_empty:
            return NOTHING
        if isinstance(self.values, Steps):
            return Spread(self.tiles, self.values.times(factor))
        return Spread(self.tiles, compact(self.values.array() * factor))

    def few(self) -> Sequence[tuple[int, int]] | None:
        """Return the tiles with their numbers, or None where there are more than `FEW`.

        >>> Spread.of(np.array([0, 7, 0, 5])).few()
        [(1, 7), (3, 5)]
        """
        tiles, values = self.tiles, self.values
        if isinstance(tiles, Steps) and tiles.digits == _ONE:
            return [(tiles.first, values.at(0))]
        if tiles.count > FEW:
            return None
        return list(zip(tiles.array().tolist(), values.array().tolist(), strict=True))

    @property
    def most(self) -> int:
        """The greatest number of all tiles; 0 where there are none."""
        return max(0, self.values.high) if self.values.count else 0

    @property
    def total(self) -> int:
        """The sum."""
        return self.values.total()

    @property
    def is_empty(self) -> bool:
        """Whether the numbers of all tiles are zero."""
        return not self.values.count


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


NOTHING = Spread.of(np.zeros(0, np.int64))
"""Zero on every tile."""
