"""Where things lie in the memory of a tile: each at the lowest address that is free for it.

Things that are always live come first, one after the other; those that are needed only in some
steps share the rest.  Things that are needed in the same step never overlap::

    step 0   |always|  a  |        |
    step 1   |always|  a  |   b    |
    step 2   |always| c   |   b    |        c is put where a was

Things that need interleaved memory lie in its region; the others may go there too, behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Steps
from poplite.cost.spread import few
from poplite.jit.kernels.allocation import ALWAYS, first_fit
from poplite.jit.native import address, native
from poplite.report.memory import Steps as Stretches
from poplite.report.per_tile import PerTile

FEW = 1000
"""Most things on a tile that are placed without compiled code; on several tiles, as many squared.

Kept for benchmarks/startup.py: `first engine on a machine / one @njit(parallel=True)`.
"""


class Placing:
    """Things to be placed, whatever their sizes on a tile.

    `aligns` are bytes that each address must be a multiple of; `steps` are the steps in which each
    thing is needed, or None for always. Interleaved memory begins at the address
    `border`; `limit` is the bytes of a tile's memory.

    Attributes:
        order: int64[things], the numbers of the things in the order in which they are placed.

    >>> steps = [((0, 1),), None, ((2, 2),)]
    >>> placing = Placing([8, 8, 8], [False] * 3, steps, 1024, 4096)
    >>> placing.order.tolist()
    [1, 0, 2]
    >>> [found.tolist() for found in placing.addresses(np.array([20, 100, 50]), [3])]
    [[0, 24, 24], [124]]
    """

    def __init__(
        self,
        aligns: Sequence[int],
        interleaved: Sequence[bool],
        steps: Sequence[Stretches | None],
        border: int,
        limit: int,
    ) -> None:
        first = np.array([ALWAYS if each is None else each[0][0] for each in steps], np.int64)
        last = np.array([ALWAYS if each is None else each[-1][1] for each in steps], np.int64)
        upper = np.array(interleaved, np.int64)
        # Always before sometimes; of those always there, interleaved ones keep their region.
        self.order: Int64 = np.lexsort((1 - upper, first))
        columns = np.array(aligns, np.int64), upper, first, last
        self._columns = tuple(each[self.order] for each in columns)
        self._border, self._limit = border, limit

    def addresses(
        self, sizes: Int64, counts: Sequence[int], places: Int64 | None = None
    ) -> tuple[Int64, Int64]:
        """Return addresses of things, int64[n], and bytes in use with gaps, int64[tiles].

        `sizes` is int64[n], bytes of the things on the first tile, then on the next one, and so on;
        `counts` has the number of things on each tile. `places`, int64[n], says which things they
        are, as positions in `order`, ascending on each tile; by default there is one tile, with all
        things.
        """
        found, used, stop = np.zeros(len(sizes), np.int64), [], 0
        is_compiled = sum([count * count for count in counts]) > FEW * FEW
        active = np.empty(max(counts, default=0), np.int64)
        for count in counts:
            here = slice(stop, stop := stop + count)
            things = slice(None) if places is None else places[here]
            own = sizes[here], *(column[things] for column in self._columns)
            room = count, self._border, self._limit
            if is_compiled:
                used.append(native(first_fit)(
                    *map(address, own), *room, address(active), address(found[here])
                ))  # fmt: skip
            else:
                at = [0] * count
                size, align, upper, first, last = (each.tolist() for each in own)
                used.append(first_fit(size, align, upper, first, last, *room, [0] * count, at))
                found[here] = at
        return found, np.array(used, np.int64)


def alike(spreads: Sequence[PerTile], num_tiles: int) -> tuple[Int64, Int64]:
    """Find the tiles that have equal numbers in each of some spreads.

    Returns one tile of each kind, and int64[num_tiles], the kind of each tile.

    >>> halves, last = PerTile.of(np.array([4, 4, 4, 4])), PerTile.of(np.array([0, 0, 0, 8]))
    >>> [found.tolist() for found in alike([halves, last], 4)]
    [[0, 3], [0, 0, 0, 1]]
    """
    kinds, sizes = np.zeros(num_tiles, np.int64), [num_tiles]
    seen: set[object] = set()
    for spread in spreads:
        if len(sizes) == num_tiles:
            break  # no two are alike
        some = few(spread)
        if some is not None:
            _part_few(kinds, sizes, some)
            continue
        regular = isinstance(spread.tiles, Steps) and isinstance(spread.values, Steps)
        key = (spread.tiles, spread.values) if regular else spread.array().tobytes()
        if key in seen:
            continue
        seen.add(key)
        _, number = np.unique(spread.array(), return_inverse=True)
        _, kinds = np.unique(kinds * (int(number.max()) + 1) + number, return_inverse=True)
        sizes = np.bincount(kinds).tolist()
    _, tiles, kinds = np.unique(kinds, return_index=True, return_inverse=True)
    return tiles, kinds


def _part_few(kinds: Int64, sizes: list[int], few: Sequence[tuple[int, int]]) -> None:
    """Split kinds of tiles, and their sizes, by the numbers of a few of the tiles."""
    alike: dict[tuple[int, int], list[int]] = {}
    for tile, value in few:
        alike.setdefault((int(kinds[tile]), value), []).append(tile)
    for (kind, _), tiles in alike.items():
        if len(tiles) < sizes[kind]:
            kinds[tiles] = len(sizes)
            sizes[kind] -= len(tiles)
            sizes.append(len(tiles))
