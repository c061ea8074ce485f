"""The addresses of everything on every tile; tiles that hold the same have the same addresses.

held     on tiles 0 1 2 3      kinds of tiles      addresses on tile 0 and on tile 2
code        64 64 64 64        0 0 1 1              0    0
weights     80 80  0  0                            64
out          0  0 16 16                                 64

Each thing lies at the lowest address that is free for it.  Things that are always live come first,
one after the other; those that are needed only in some steps share the rest.  Things that are
needed in the same step never overlap::

    step 0   |always|  a  |        |
    step 1   |always|  a  |   b    |
    step 2   |always| c   |   b    |        c is put where a was

Things that need interleaved memory lie in its region; the others may go there too, behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Steps
from poplite.arrays.sweep import sorted_order
from poplite.cost.step_cost import few
from poplite.jit.build import run_kernel
from poplite.jit.kernels.exchange import ALWAYS, first_fit
from poplite.machine.target import Target
from poplite.report.memory import Held, Steps as Stretches
from poplite.report.per_tile import PerTile


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
        # The work of a tile grows with the square of its things, at most.
        work = isqrt(sum([count * count for count in counts]))
        active = np.empty(max(counts, default=0), np.int64)
        for count in counts:
            here = slice(stop, stop := stop + count)
            things = slice(None) if places is None else places[here]
            own = sizes[here], *(column[things] for column in self._columns)
            room = count, self._border, self._limit
            used.append(run_kernel(first_fit, work, *own, *room, active, found[here]))
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


class TileAddresses(NamedTuple):
    """What lies where, on one tile of each kind.

    Attributes:
        kinds: int64[tiles], the kind of each tile.
        kind: int64[n], the kind of the tile that a thing lies on; ascending.
        thing: int64[n], its position among all things.
        address: int64[n], where it begins.
        used: int64[kinds], bytes of a tile, with gaps.
    """

    kinds: Int64
    kind: Int64
    thing: Int64
    address: Int64
    used: Int64

    def of_each(self, num_things: int) -> tuple[PerTile, ...]:
        """Return the address of each thing on each tile; 0 where it is not, or begins the tile."""
        order = np.argsort(self.thing, kind="stable")
        kind, address = self.kind[order], self.address[order]
        ends = np.cumsum(np.bincount(self.thing, minlength=num_things)).tolist()
        found, of_kind = [], np.zeros(len(self.used), np.int64)
        for begin, end in zip([0, *ends], ends, strict=False):
            there = kind[begin:end]
            of_kind[there] = address[begin:end]
            found.append(PerTile.of(of_kind[self.kinds]))
            of_kind[there] = 0
        return tuple(found)


def addresses_of(held: Sequence[Held], target: Target) -> tuple[PerTile, ...]:
    """Return where each thing begins on each tile; 0 where it is not there."""
    return placed(held, target).of_each(len(held))


def placed(held: Sequence[Held], target: Target) -> TileAddresses:
    """Place everything in the memory of the tiles."""
    sizes = [each.bytes for each in held]
    keys = list(map(id, sizes))
    spreads = dict(zip(keys, sizes, strict=True))  # few: many things have the same
    number = dict(zip(spreads, range(len(spreads)), strict=True))
    which = np.array(list(map(number.__getitem__, keys)), np.int64)
    several = list(spreads.values())
    tiles, kinds = alike(several, target.tiles)
    row = np.full(target.tiles, -1)
    row[tiles] = np.arange(len(tiles))
    placing = placing_of(held, target)
    on, place, size = _listed(several, which[placing.order], row)
    counts = np.bincount(on, minlength=len(tiles)).tolist()
    addresses, used = placing.addresses(size, counts, place)
    return TileAddresses(kinds, on, placing.order[place], addresses, used)


def placing_of(held: Sequence[Held], target: Target) -> Placing:
    """Return how things are placed."""
    border, limit = int(target.cost("interleaved_begin_bytes")), target.tile_memory_bytes
    if border >= limit:
        border = 0  # a model of a small tile: all of its memory is the same
    return Placing(
        [each.align for each in held],
        [each.interleaved for each in held],
        [each.steps for each in held],
        border,
        limit,
    )


def _listed(spreads: Sequence[PerTile], which: Int64, row: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the numbers of the tiles that have a row, of many things.

    `which`, int64[things], says which of the spreads each thing has. Returns the row, the thing and
    the number of each, sorted by row and then by thing.
    """
    found_few: list[int] = []  # row, number and value of each, one after the other
    many = [np.zeros((3, 0), np.int64)]
    row_of = row.tolist()
    for number, spread in enumerate(spreads):
        some = few(spread)
        if some is not None:
            for tile, value in some:
                if row_of[tile] >= 0:
                    found_few += (row_of[tile], number, value)
        else:
            on = row[spread.tiles.array()]
            chosen = np.flatnonzero(on >= 0)
            values = spread.values.array()[chosen]
            many.append(np.stack([on[chosen], np.full(len(chosen), number), values]))
    found = np.concatenate([np.array(found_few, np.int64).reshape(-1, 3).T, *many], axis=1)
    found = found[:, sorted_order(found[1])]
    end = np.cumsum(np.bincount(found[1], minlength=len(spreads)))
    count = np.diff(end, prepend=0)[which]
    thing = np.repeat(np.arange(len(which)), count)
    of_thing = np.repeat(end[which] - np.cumsum(count), count) + np.arange(len(thing))
    on, value = found[0][of_thing], found[2][of_thing]
    order = sorted_order(on)
    return on[order], thing[order], value[order]
