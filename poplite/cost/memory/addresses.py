"""The addresses of everything on every tile; tiles that hold the same have the same addresses.

held     on tiles 0 1 2 3      kinds of tiles      addresses on tile 0 and on tile 2
code        64 64 64 64        0 0 1 1              0    0
weights     80 80  0  0                            64
out          0  0 16 16                                 64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_order
from poplite.cost.memory.allocation import Placing, alike
from poplite.cost.spread import few
from poplite.machine.target import Target
from poplite.report.memory import Held
from poplite.report.per_tile import PerTile


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
    spreads = {id(each.bytes): each.bytes for each in held}  # few: many things have the same
    number = dict(zip(spreads, range(len(spreads)), strict=True))
    which = np.array([number[id(each.bytes)] for each in held], np.int64)
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
