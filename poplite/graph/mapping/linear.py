"""The linear mapping in closed form: elements spread evenly and in order over tiles.

Part `i` of `parts` begins at grain `i * grains // parts`, so that neither the tile of an
element nor the elements of a tile need a list::

    10 elements in grains of 2 on 3 tiles      0 1 | 2 3 4 5 | 6 7 8 9
    begin_of(i)                                0     2         6         10

    >>> linear = Linear.over(10, 3, grain=2)
    >>> linear.begin_of(np.arange(4)).tolist(), linear.tile_of(5)
    ([0, 2, 6, 10], 1)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64


class Linear(NamedTuple):
    """Elements spread evenly and in order over the first tiles.

    Attributes:
        num_elements: how many elements.
        tiles: how many tiles hold some.
        grain: elements that stay together.
    """

    num_elements: int
    tiles: int
    grain: int

    @classmethod
    def over(
        cls, num_elements: int, tiles: int, *, grain: int = 1, min_elements: int = 1
    ) -> Linear:
        """Spread elements over as many tiles as there are elements for.

        Args:
            num_elements: how many elements.
            tiles: how many tiles there are.
            grain: elements that stay together; cuts fall on its multiples.
            min_elements: least elements of a tile, as far as there are enough; fewer
                elements use fewer tiles.

        >>> Linear.over(10, 3, min_elements=4)
        Linear(num_elements=10, tiles=2, grain=1)
        """
        least = -(-min_elements // grain) * grain
        used = min(tiles, num_elements // least or min(1, num_elements))
        return cls(num_elements, used, min(grain, max(num_elements, 1)))

    def begin_of(self, tile: Int64) -> Int64:
        """Return the first elements of tiles; of `tiles` itself, the end."""
        whole, rest = divmod(-(-self.num_elements // self.grain), self.tiles)
        grains = tile * whole + tile * rest // self.tiles  # no product beyond the elements
        begin: Int64 = np.minimum(grains * self.grain, self.num_elements)
        return begin

    def tile_of(self, element: int) -> int:
        """Return the tile of an element."""
        grains = -(-self.num_elements // self.grain)
        return ((element // self.grain + 1) * self.tiles - 1) // grains

    def pieces(self) -> tuple[Int64, Int64]:
        """Return the breaks, int64[tiles + 1], and the tiles, int64[tiles].

        >>> [a.tolist() for a in Linear.over(10, 3, grain=2).pieces()]
        [[0, 2, 6, 10], [0, 1, 2]]
        """
        numbers = np.arange(self.tiles + 1)
        return (self.begin_of(numbers) if self.tiles else np.zeros(1, np.int64)), numbers[:-1]
