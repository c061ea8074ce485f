"""The cost of moving data between IPUs.

    tiles of IPU 0  ---links--->  tiles of IPU 1      data for several tiles there pass once

All tiles of all IPUs wait for each other first.  Then a fixed time passes, followed by the time of
the slowest link that a tile's data take: all data that pass a link share its rate.

The fixed time is what halos of a Gaussian blur on 16 Mk1 IPUs took in addition to their bytes
(thorbenlouw/lbm-graphcore, experiments); for the links see `poplite.machine.links`.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.pairs import PairSums
from poplite.cost.exchange.pieces import MovedPieces, by_place
from poplite.cost.step_cost import NOTHING, PhaseCost
from poplite.machine.links import Link, global_sync_cycles, link_bytes_per_cycle, route
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import Cause

if TYPE_CHECKING:
    from poplite.machine.target import Target


def global_phase(
    target: Target,
    pieces: MovedPieces,
    causes: tuple[Cause, ...],
    buffers: PerTile = NOTHING,
    replica_map: Sequence[int] = (0,),
) -> PhaseCost:
    """Return the phase in which pieces move, each to another IPU or replica.

    The target is one replica's part of the machine; `replica_map` has, for each replica, the
    replica that receives its pieces.
    """
    pieces = pieces.merged()
    source, to = pieces.source // target.tiles_per_ipu, pieces.to // target.tiles_per_ipu
    flow = source * target.ipus + to
    order, fresh = by_place(pieces.source * target.ipus + to, pieces.at, pieces.size)
    size = fresh * pieces.width[order]
    traffic = np.bincount(flow[order], size, target.ipus**2).astype(np.int64)
    waits = _waits(target, traffic, replica_map)[flow]
    sent = np.bincount(pieces.source[order], size, target.tiles).astype(np.int64)
    received = np.bincount(pieces.to, pieces.bytes, target.tiles).astype(np.int64)
    cycles = -(-np.maximum(sent, received) // target.exchange_bytes_per_cycle)
    for tiles in (pieces.source, pieces.to):
        np.maximum.at(cycles, tiles, waits)
    cycles[cycles > 0] += int(target.cost("global_exchange_cycles"))
    sums = PairSums(target.tiles)
    sums.add_moving(pieces)
    replicas = len(replica_map)
    whole = dataclasses.replace(target, ipus=target.ipus * replicas, tiles=target.tiles * replicas)
    return PhaseCost(
        "global exchange",
        PerTile.of(cycles),
        global_sync_cycles(whole),
        received=PerTile.of(received),
        sent=PerTile.of(sent),
        buffers=buffers,
        causes=causes,
        pairs=sums.pairs(),
    )


def _waits(target: Target, traffic: Int64, replica_map: Sequence[int]) -> Int64:
    """Return int64[ipus * ipus], the cycles until the bytes from each IPU to each have passed."""
    ipus, load = target.ipus, Counter[Link]()
    waits = np.zeros_like(traffic)
    flows = [
        (flow, route(replica * ipus + flow // ipus, other * ipus + flow % ipus))
        for flow in np.flatnonzero(traffic).tolist()
        for replica, other in enumerate(replica_map)
    ]
    for flow, links in flows:
        for link in links:
            load[link] += int(traffic[flow])
    for flow, links in flows:
        cycles = [math.ceil(load[link] / link_bytes_per_cycle(target, link)) for link in links]
        waits[flow] = max([int(waits[flow]), *cycles])
    return waits
