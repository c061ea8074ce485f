"""The approximate cost of moving data between tiles and the host.

    begin and end of a transfer + bytes / rate

Only the amount of data matters, not which tiles hold it.  The real time depends on the load of the
host, on its software and on other traffic on the bus; remote buffers are treated like the host.

Source: graphcore/examples, tutorials (`poplite.machine.facts` says which).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.spread import at_tiles
from poplite.cost.step_cost import PhaseCost
from poplite.graph.tensor.placement import mapping_of
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program import Program


def host_phase(graph: Graph, program: Program) -> PhaseCost:
    """Return the phase in which a program moves data from or to the host."""
    target, (reads, writes) = graph.target, (program.reads, program.writes)
    sent, received = (_bytes(graph, tensors) for tensors in (reads, writes))
    num_bytes = int(sent.sum() + received.sum())
    cycles = int(target.cost("host_exchange_cycles"))
    cycles += math.ceil(num_bytes / target.cost("host_bytes_per_cycle"))
    tiles = np.flatnonzero(sent + received) if num_bytes else np.zeros(1, np.int64)
    moved = [f"'{tensor.name}'" for tensor in (*reads, *writes)]
    why = f"{'go' if len(moved) > 1 else 'goes'} between device and host"
    cause = Cause(" and ".join(moved) or str(program), why, program.location.portable, num_bytes)
    return PhaseCost(
        "host exchange",
        at_tiles(target.tiles, tiles, np.full(len(tiles), cycles)),
        int(target.cost("sync_cycles")),
        received=PerTile.of(received),
        sent=PerTile.of(sent),
        causes=(cause,),
    )


def _bytes(graph: Graph, tensors: Sequence[Tensor]) -> Int64:
    """Return int64[tiles], the bytes of tensors on each tile."""
    total = np.zeros(graph.target.tiles, np.int64)
    for tensor in tensors:
        held = mapping_of(graph.space, tensor.view).elements_per_tile
        total += held * tensor.element_type.size_bytes
    return total
