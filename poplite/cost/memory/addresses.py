"""The addresses of everything on every tile; tiles that hold the same have the same addresses.

held     on tiles 0 1 2 3      kinds of tiles      addresses on tile 0 and on tile 2
code        64 64 64 64        0 0 1 1              0    0
weights     80 80  0  0                            64
out          0  0 16 16                                 64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order
from poplite.cost.memory.allocation import Placing, alike
from poplite.cost.spread import Spread

if TYPE_CHECKING:
    from poplite.cost.memory.plan import PlannedItem


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

    def of_each(self, num_things: int) -> list[Spread]:
        """Return the address of each thing on each tile; 0 where it is not, or begins the tile."""
        order = np.argsort(self.thing, kind="stable")
        kind, address = self.kind[order], self.address[order]
        ends = np.cumsum(np.bincount(self.thing, minlength=num_things)).tolist()
        found, of_kind = [], np.zeros(len(self.used), np.int64)
        for begin, end in zip([0, *ends], ends, strict=False):
            there = kind[begin:end]
            of_kind[there] = address[begin:end]
            found.append(Spread.of(of_kind[self.kinds]))
            of_kind[there] = 0
        return found


def placed(held: Sequence[PlannedItem], num_tiles: int, border: int, limit: int) -> TileAddresses:
    """Place everything; interleaved memory begins at `border`, and a tile has `limit` bytes."""
    number: dict[Spread, int] = {}  # few: all variables of a size on a tile have the same
    which = np.array([number.setdefault(each.bytes, len(number)) for each in held], np.int64)
    spreads = list(number)
    tiles, kinds = alike(spreads, num_tiles)
    row = np.full(num_tiles, -1)
    row[tiles] = np.arange(len(tiles))
    placing = placing_of(held, border, limit)
    on, place, size = _listed(spreads, which[placing.order], row)
    counts = np.bincount(on, minlength=len(tiles)).tolist()
    addresses, used = placing.addresses(size, counts, place)
    return TileAddresses(kinds, on, placing.order[place], addresses, used)


def placing_of(held: Sequence[PlannedItem], border: int, limit: int) -> Placing:
    """Return how things are placed; `border` is the address at which interleaved memory begins."""
    return Placing(
        [each.align for each in held],
        [each.interleaved for each in held],
        [each.steps for each in held],
        border,
        limit,
    )


def _listed(spreads: Sequence[Spread], which: Int64, row: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the numbers of the tiles that have a row, of many things.

    `which`, int64[things], says which of the spreads each thing has. Returns the row, the thing and
    the number of each, sorted by row and then by thing.
    """
    few: list[int] = []  # row, number and value of each, one after the other
    many = [np.zeros((3, 0), np.int64)]
    row_of = row.tolist()
    for number, spread in enumerate(spreads):
        some = spread.few()
        if some is not None:
            for tile, value in some:
                if row_of[tile] >= 0:
                    few += (row_of[tile], number, value)
        else:
            on = row[spread.tiles.array()]
            chosen = np.flatnonzero(on >= 0)
            values = spread.values.array()[chosen]
            many.append(np.stack([on[chosen], np.full(len(chosen), number), values]))
    found = np.concatenate([np.array(few, np.int64).reshape(-1, 3).T, *many], axis=1)
    found = found[:, sorted_order(found[1])]
    end = np.cumsum(np.bincount(found[1], minlength=len(spreads)))
    count = np.diff(end, prepend=0)[which]
    thing = np.repeat(np.arange(len(which)), count)
    of_thing = np.repeat(end[which] - np.cumsum(count), count) + np.arange(len(thing))
    on, value = found[0][of_thing], found[2][of_thing]
    order = sorted_order(on)
    return on[order], thing[order], value[order]
