"""How the vertices of a tile share its workers.

    slots 5 3 4 4 2 on a tile with three workers    worker 0   5 . . . .
                                                    worker 1   3 . . 4 . . .
                                                    worker 2   4 . . . 2 .

Vertices start in the order of their numbers, each on the worker that is free first.  Workers take
turns, so a slot of one lasts as many cycles as there are workers, busy or not: the tile above is
done after 3 * 7 cycles.  A `MultiVertex` has the tile to itself, for a known number of cycles.

The start of a compute set is not counted: the known costs (`worker_call`, `amp_launch`) are those
of single kernels called one at a time, and are part of their formulas.

Sources: IPU Programmer's Guide, "Programming model"; idle slots are as in Graphcore's model
(graphcore/examples, tut6_matrix_vector_opt: 3,802 cycles for 8 rounds of 77 and 2 of 9 slots).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.step_cost import VertexCosts
from poplite.graph.variable_mapping import Int32
from poplite.jit.build import address, native
from poplite.jit.kernels.exchange import finish, pack
from poplite.report.per_tile import PerTile
from poplite.vertex.vertex import MultiVertex

if TYPE_CHECKING:
    from poplite.machine.target import Target


def tile_cycles(
    vertices: Sequence[VertexCosts], slots: Sequence[Series], target: Target
) -> PerTile:
    """Return the cycles that each tile takes to run its vertices of a compute set.

    `slots` holds one series for each family: worker slots of each vertex, or tile cycles of a
    MultiVertex.
    """
    ran = [(each, taken) for each, taken in zip(vertices, slots, strict=True) if taken.count]
    if not ran:
        return PerTile.nothing(target.tiles)
    cycles = np.zeros(target.tiles, np.int64)
    shared = []
    for family, taken in ran:
        if issubclass(family.cls, MultiVertex):
            _add_one_by_one(cycles, family, taken)
        else:
            shared.append((family, taken))
    if shared:
        _add_shared(cycles, shared, target.workers)
    return PerTile.of(cycles)


def _add_one_by_one(cycles: Int64, family: VertexCosts, taken: Series) -> None:
    if taken.only is not None:
        cycles += family.tiles.counts() * taken.only
    else:
        np.add.at(cycles, family.tiles.array(), taken.array())


def _add_shared(
    cycles: Int64, families: Sequence[tuple[VertexCosts, Series]], workers: int
) -> None:
    if len({taken.only for _, taken in families}) == 1 and families[0][1].only is not None:
        counts = np.sum([family.tiles.counts() for family, _ in families], axis=0)
        cycles += -(-counts // workers) * workers * families[0][1].only
        return
    tiles = np.concatenate([family.tiles.array() for family, _ in families])
    slots = np.concatenate([taken.array() for _, taken in families])
    numbers = [family.numbers for family, _ in families]
    if not all(a.high < b.low for a, b in zip(numbers, numbers[1:], strict=False)):
        order = np.argsort(np.concatenate([each.array() for each in numbers]), kind="stable")
        tiles, slots = tiles[order], slots[order]
    pack_on(cycles, tiles.astype(np.int32), slots, workers)


def pack_on(cycles: Int64, tiles: Int32, slots: Int64, workers: int) -> None:
    """Add the cycles of vertices that share the workers of their tiles to int64[tiles].

    `tiles`, int32[vertices], is in the order in which the vertices start; `slots` is
    int64[vertices].

    >>> cycles = np.zeros(1, np.int64)
    >>> pack_on(cycles, np.zeros(5, np.int32), np.array([5, 3, 4, 4, 2]), 3)
    >>> cycles.tolist()
    [21]
    """
    busy_slots = np.zeros(len(cycles) * workers, np.int64)
    native(pack)(address(tiles), address(slots), len(tiles), workers, address(busy_slots))
    native(finish)(address(busy_slots), len(cycles), workers, address(cycles))


def slowest_tile(tiles: Int64, slots: npt.ArrayLike, target: Target) -> int:
    """Return the cycles of the tile that takes longest, for vertices that are not made yet.

    Args:
        tiles: int64[n], where each runs, in the order in which they start.
        slots: [n], of a worker; of a `MultiVertex`, which has its tile to itself, of its slowest.
        target: the machine.

    >>> from poplite.machine.target import Target
    >>> slowest_tile(np.array([0, 0, 1]), [10, 30, 35], Target())
    210
    """
    taken = np.ceil(slots).astype(np.int64)
    if not len(taken):
        return 0
    if np.bincount(tiles).max() <= target.workers:
        return int(taken.max()) * target.workers
    cycles = np.zeros(target.tiles, np.int64)
    pack_on(cycles, tiles.astype(np.int32), taken, target.workers)
    return int(cycles.max())
